"""kja-direct by an engine: two tables are joined and cut as in memory, or refused in the same words."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from publishing.test_join import asked, tables_of
from support.joined_tables import JoinCase, by_draft, by_memory, join_cases, outcome

import incrowd
from incrowd import tables
from incrowd.engines.resources import Resources
from incrowd.errors import Exposure, InputError, PolicyError, TableError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.large import LargeRelease, publish_large
from incrowd.publishing.pipeline import Form
from incrowd.schema import Check

ROW = re.compile(r", first in row \d+ \(the header not counted\)")  # an engine does not know it


def same_outcome(case: JoinCase, engine: str = "duckdb") -> str:
    """Memory and an engine come to the same end, at once and in blocks; which one."""
    kind, wanted = outcome(lambda: by_memory(case))
    for tuples in (None, 3):
        with TemporaryDirectory() as folder:
            found, got = outcome(lambda place=Path(folder), many=tuples: by_draft(case, place, many, engine))
        assert found == kind, got
        if kind != "made":
            assert got == ROW.sub("", wanted)
            continue
        assert got[0] == wanted[0]
        assert got[1] == wanted[1]
        assert {name: wanted[2][name] for name in got[2]} == pytest.approx(got[2])
    return kind


@settings(max_examples=8)
@given(case=join_cases())
def test_classes_and_refusals_are_those_of_memory(case: JoinCase) -> None:
    """Hierarchies, sets, missing values, ids that are alike, a second source; by night many more tables."""
    same_outcome(case)


def written(private: Table, public: Table, folder: Path, form: str) -> tuple[Path, Path]:
    write = tables.write_csv if form == "csv" else tables.write_parquet
    places = folder / f"private.{form}", folder / f"public.{form}"
    for table, place in zip((private, public), places, strict=True):
        write(table, place)
    return places


def by_duckdb(
    folder: Path, form: str, tuples: int | None = None, policy: Policy | None = None
) -> LargeRelease:
    private, public = written(*tables_of(60, 300), folder, form)
    resources = Resources(512_000_000, 1, tuples)
    asked_for = policy or asked("kja-direct")
    return publish_large(private, asked_for, folder / "release", Form(form), resources, public=public)


@pytest.mark.parametrize(("form", "tuples"), [("csv", None), ("parquet", 20)], ids=["at-once", "in-blocks"])
def test_a_release_is_that_of_memory_and_verified_again(
    form: str, tuples: int | None, tmp_path: Path
) -> None:
    release, policy = by_duckdb(tmp_path, form, tuples), asked("kja-direct")
    private, public = tables_of(60, 300)
    wanted = incrowd.publish(private, policy, public=public)
    assert Counter(tables.read(release.folder / f"data.{form}")) == Counter(wanted.table)
    assert bool(release.blocks) == (tuples is not None)
    facts = release.verdict.facts
    assert (facts["own"], facts["external"]) == (60, facts["rows"] - 60)
    assert facts["presence"] == wanted.verdict.facts["presence"]
    assert [check.name for check in release.verdict.checks] == [c.name for c in wanted_checks(wanted)]
    assert (release.warnings, release.told) == (wanted.warnings, wanted.told)
    assert release.two_way.to_dict() == wanted.two_way.to_dict()
    both = tmp_path / f"private.{form}", tmp_path / f"public.{form}"
    for engine in ("auto", "duckdb", *(["memory"] if form == "csv" else [])):
        for said in (policy, None):
            again = incrowd.verify(release.folder, both[0], said, public=both[1], engine=engine)
            assert again.passed, again.failures
    with pytest.raises(InputError, match="pass that table with public="):
        incrowd.verify(release.folder, both[0], engine="duckdb")


def wanted_checks(release: incrowd.Release) -> list[Check]:
    """Those of memory, with the three that a folder has besides."""
    files = [Check(name, True, "") for name in ("files", "manifest")]
    rest = [check for check in release.verdict.checks if check.name != "domains"]
    at = next(place for place, check in enumerate(rest) if check.name == "order") + 1
    return [*files, *rest[:at], Check("domains", True, ""), *rest[at:], Check("bytes", True, "")]


def test_another_public_table_is_not_confirmed(tmp_path: Path) -> None:
    release = by_duckdb(tmp_path, "parquet")
    _, other = tables_of(60, 301)
    tables.write_parquet(other, tmp_path / "other.parquet")
    private = tmp_path / "private.parquet"
    verdict = incrowd.verify(release.folder, private, asked("kja-direct"), public=tmp_path / "other.parquet")
    assert next(check.name for check in verdict.failures) == "manifest"


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "base": ({"options": {"base": "hilbert"}}, "groups both tables by mondrian alone"),
    "trim": ({"options": {"trim": "exact"}, "accept": ["unsafe-trimming"]}, "leaves everybody of a group"),
    "kja-refine": ({"method": "kja-refine"}, "take kja-direct, or publish it in memory"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_engine_does_is_refused(name: str, tmp_path: Path) -> None:
    more, words = REFUSED[name]
    with pytest.raises(PolicyError, match=words):
        by_duckdb(tmp_path, "parquet", policy=Policy.from_dict({**asked("kja-direct").to_dict(), **more}))
    assert not (tmp_path / "release").exists()


def test_a_public_table_in_several_files_is_refused(tmp_path: Path) -> None:
    private, public = written(*tables_of(10, 20), tmp_path, "parquet")
    (tmp_path / "several").mkdir()
    for name in ("a", "b"):
        (tmp_path / "several" / f"{name}.parquet").write_bytes(public.read_bytes())
    with pytest.raises(InputError, match="the public table must be one file"):
        incrowd.publish(
            private, asked("kja-direct"), tmp_path / "never", public=tmp_path / "several", engine="duckdb"
        )


def test_a_public_table_that_changes_meanwhile_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from incrowd.publishing import large

    real = large.written

    def changed(*given: object) -> LargeRelease:
        made = real(*given)  # type: ignore[arg-type]
        with (tmp_path / "public.csv").open("a") as file:
            file.write("F,q1,chess,33\n")
        return made

    monkeypatch.setattr(large, "written", changed)
    with pytest.raises(TableError, match=r"public\.csv changed while the release was made"):
        by_duckdb(tmp_path, "csv")
    assert not (tmp_path / "release").exists()


def test_where_nobody_else_has_a_row_it_is_refused(tmp_path: Path) -> None:
    private, public = written(*tables_of(8, 0), tmp_path, "csv")
    policy = asked("kja-direct", accept=[])
    with pytest.raises(Exposure, match="nobody else has a row"):
        incrowd.publish(private, policy, tmp_path / "never", public=public, engine="duckdb")
