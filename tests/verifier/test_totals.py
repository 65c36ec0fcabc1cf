"""The verifier on totals, hierarchies and the datasheet: a good release passes, no spoiled one does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from forgeries.beside import BESIDE, WithTotals, with_datasheet, with_totals
from forgeries.classes import METHOD
from support.verifier_cases import assert_rejected, long_texts

from incrowd.schema import Verdict
from incrowd.verifier import CsvRows, Expected, ReleaseFiles, verify


def verified(release: WithTotals, folder: Path, totals: bool = True) -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    expected = Expected(release.schema, release.claims, max_suppression=None, method=METHOD, totals=totals)
    files = ReleaseFiles(folder / "release", datasheet=words)
    return verify(files, CsvRows(folder / "original.csv"), expected)


def words(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['rows']['published']} rows\n"


def test_a_good_release_with_totals_is_accepted(tmp_path: Path) -> None:
    verdict = verified(with_totals(), tmp_path)
    assert verdict.passed, verdict.failures
    assert {"totals", "hierarchies"} <= {check.name for check in verdict.checks}


@pytest.mark.parametrize("name", BESIDE)
def test_nothing_false_stands_beside_the_rows(tmp_path: Path, name: str) -> None:
    caught_by, spoil = BESIDE[name]
    release = with_totals()
    private = long_texts(release.original)
    spoil(release)
    assert_rejected(verified(release, tmp_path), caught_by, private)


def test_totals_that_nobody_asked_for_are_rejected(tmp_path: Path) -> None:
    assert_rejected(verified(with_totals(), tmp_path, totals=False), "files", ())


def test_a_datasheet_must_be_the_one_of_its_manifest(tmp_path: Path) -> None:
    release = with_totals()
    release.after.append(with_datasheet("60 rows\n"))
    verdict = verified(release, tmp_path)
    assert verdict.passed, verdict.failures
