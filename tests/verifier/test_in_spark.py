"""The verifier on Spark: a good release passes, and what memory rejects is rejected, by the same SQL.

By night (`INCROWD_SEEDS=all`) all forgeries that the verifier in DuckDB is tried with, of classes and of
joined tables; by day two of them. DuckDB runs the same SQL then, too, and `engines/test_spark.py` sees a good
release pass in Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.classes import FORGERIES, METHOD, Release
from support.night import NIGHT
from support.spark_sessions import by_night, needs_spark, sql_session
from verifier.test_in_engine import SPOILERS, plain, rejected, witness_of
from verifier.test_in_engine_join import FORGED, spoiled
from verifier.test_in_engine_join import verified as verified_join
from verifier.test_join import verified_folder

from incrowd.engines.spark_session import SparkSqlSession
from incrowd.schema import Verdict
from incrowd.verifier import CsvRows, Expected
from incrowd.verifier.in_engine import EngineFiles, verify_in_engine

pytestmark = needs_spark
BY_DAY = [
    next(name for name in SPOILERS if FORGERIES[name][0] == check) for check in ("truth", "k-anonymity")
]


@pytest.fixture(scope="module")
def session(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSqlSession]:
    """One for all: tables of one verification are replaced by the next."""
    with sql_session(spark, tmp_path_factory.mktemp("own")) as opened:
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


@pytest.mark.parametrize("name", SPOILERS if NIGHT else BY_DAY)
def test_no_forgery_is_accepted(name: str, tmp_path: Path, session: SparkSqlSession) -> None:
    caught_by, spoil = FORGERIES[name]
    release = plain()
    spoil(release)
    verdict = verified(release, tmp_path, session)
    assert rejected(verdict, caught_by)


@by_night
def test_rows_in_the_order_of_the_original_are_rejected(tmp_path: Path, session: SparkSqlSession) -> None:
    """Places are those in the files, whatever task reads them."""
    release = plain()
    order = np.argsort(release.truth, kind="stable")
    release.rows = [release.rows[place] for place in order]
    release.truth = [release.truth[place] for place in order]
    verdict = verified(release, tmp_path, session)
    assert rejected(verdict, "order")


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


@by_night
@pytest.mark.parametrize("name", WITNESSES)
def test_a_witness_is_not_trusted(name: str, tmp_path: Path, session: SparkSqlSession) -> None:
    verdict = verified(plain(), tmp_path, session, name)
    assert next(check.name for check in verdict.failures) == "truth"


@by_night
@pytest.mark.parametrize("name", ["", *FORGED])
def test_forged_joins_are_rejected_and_a_good_one_is_not(
    name: str, tmp_path: Path, session: SparkSqlSession
) -> None:
    release = spoiled(name)
    assert release is not None
    in_memory = verified_folder(release, tmp_path, hinted=True)
    verdict = verified_join(release, tmp_path, session)
    if name:
        assert in_memory.passed or not verdict.passed
    else:
        assert verdict.passed, verdict.failures
        assert verdict.facts == in_memory.facts
