"""The verifier on Spark: a good release passes, and what memory rejects is rejected, by the same SQL.

By day a few forgeries, by night (`INCROWD_SEEDS=all`) all that the verifier in DuckDB is tried with. That a
good release passes is seen by day where one is published (`engines/test_spark.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.classes import FORGERIES, METHOD, Release
from support.spark_sessions import NIGHT, by_night, needs_spark, one_spark, sql_session
from verifier.test_in_engine import SPOILERS, plain, witness_of

from incrowd.engines.spark_session import SparkSqlSession
from incrowd.schema import Verdict
from incrowd.verifier import CsvRows, Expected
from incrowd.verifier.in_engine import EngineFiles, verify_in_engine

pytestmark = needs_spark
TRIED = SPOILERS if NIGHT else [name for name in SPOILERS if name in ("column_left_out", "cell_two_labels")]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSqlSession]:
    """One for all: tables of one verification are replaced by the next."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "own").mkdir(mode=0o700)
    with one_spark(folder) as spark, sql_session(spark, folder / "own") as opened:
        yield opened


def verified(release: Release, folder: Path, session: Any, spoiled: str = "") -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    expected = Expected(release.schema, release.claims, release.accepted, None, METHOD, release.levels)
    original, witness = CsvRows(folder / "original.csv"), witness_of(release, session)
    if spoiled:
        WITNESSES[spoiled](session)
    return verify_in_engine(session, EngineFiles(folder / "release"), original, expected, witness)


@by_night
def test_a_good_release_is_accepted(tmp_path: Path, session: SparkSqlSession) -> None:
    verdict = verified(plain(), tmp_path, session)
    assert verdict.passed, verdict.failures
    assert verdict.facts["smallest_class"] == 4
    assert verdict.facts["reached"]["distinct-l-diversity (ill)"] == 4


@pytest.mark.parametrize("name", TRIED)
def test_no_forgery_is_accepted(name: str, tmp_path: Path, session: SparkSqlSession) -> None:
    caught_by, spoil = FORGERIES[name]
    release = plain()
    spoil(release)
    verdict = verified(release, tmp_path, session)
    assert not verdict.passed
    assert caught_by in [check.name for check in verdict.failures]


@by_night
def test_rows_in_the_order_of_the_original_are_rejected(tmp_path: Path, session: SparkSqlSession) -> None:
    """Places are those in the files, whatever task reads them."""
    release = plain()
    order = np.argsort(release.truth, kind="stable")
    release.rows = [release.rows[place] for place in order]
    release.truth = [release.truth[place] for place in order]
    verdict = verified(release, tmp_path, session)
    assert "order" in [check.name for check in verdict.failures]


def _no_class(session: SparkSqlSession) -> None:
    found = session.arrays("SELECT * FROM w_records")
    kept = found["class"] != 3
    texts = {name: "VARCHAR" for name in found if name != "class"}
    session.load("w_records", {name: array[kept] for name, array in found.items()}, texts)


def _another_class(session: SparkSqlSession) -> None:
    found = session.arrays("SELECT * FROM w_records")
    found["class"] = (found["class"] + 1) % 60
    session.load("w_records", found, {name: "VARCHAR" for name in found if name != "class"})


WITNESSES = {"a record is in no class": _no_class, "a record is in the class of another": _another_class}


@pytest.mark.parametrize("name", WITNESSES if NIGHT else [*WITNESSES][:1])
def test_a_witness_is_not_trusted(name: str, tmp_path: Path, session: SparkSqlSession) -> None:
    verdict = verified(plain(), tmp_path, session, name)
    assert next(check.name for check in verdict.failures) == "truth"
