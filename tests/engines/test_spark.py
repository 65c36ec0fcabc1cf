"""Spark makes the classes and the releases that memory makes, and leaves nothing behind.

By day one release is published from a DataFrame and verified, and what must be is refused: every question to
Spark takes a tenth of a second. By night (`INCROWD_SEEDS=all`) come cuts by Spark, other methods, texts of
all types, the verifier's forgeries (`verifier/test_in_spark.py`) and a cluster of two workers.
"""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import pytest
from engines.test_joined_tables import same_outcome, written
from engines.test_ordered import METHODS, by, cells_alone, distinct
from engines.test_ordered import PEOPLE as ORDERED_PEOPLE
from engines.test_ordered import POLICY as ORDERED_POLICY
from engines.test_same_classes import PEOPLE, POLICY
from hypothesis import HealthCheck, given, settings
from publishing.test_join import asked, tables_of
from support.engine_tables import _source, draft_and_classes, engine_tables, in_memory
from support.joined_tables import JoinCase, join_cases
from support.night import NIGHT
from support.spark_sessions import SMALL, by_night, needs_spark, sql_session

import incrowd
from incrowd import tables
from incrowd.engines import in_spark, spark_session, spark_start
from incrowd.engines.in_spark import SparkEngine, spark_engine, spark_table
from incrowd.engines.ordered import RowOrder
from incrowd.engines.resources import Resources
from incrowd.engines.table_files import Inputs
from incrowd.errors import IncrowdError, InputError, TableError
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.policy import Policy
from incrowd.publishing import large_stages
from incrowd.publishing.large import published_names, request_for_engine
from incrowd.publishing.large_spark import FrameRelease
from incrowd.schema import Source

pytestmark = needs_spark
PARTITIONS = "spark.sql.shuffle.partitions"
Rows = Counter[tuple[str | None, ...]]


def classes_by_spark(table: Table, policy: Policy, folder: Path, tuples: int | None = None) -> Rows:
    """The cells of each class and how many rows it has, as Spark makes them; nothing is written."""
    resources, wanted = Resources(1_000_000_000, 2, tuples, "spark"), published_names(policy)
    files = spark_table(_source(table, folder, "parquet"), wanted)
    with (
        TemporaryDirectory(dir=folder) as work,
        spark_engine(Inputs(files, wanted), Path(work), (), resources) as engine,
    ):
        return draft_and_classes(engine, request_for_engine(policy), resources, unwatched)[1]


def wanted_classes(table: Table, policy: Policy) -> Rows:
    found: Rows = Counter()
    for row, count in in_memory(table, policy).items():
        found[row[: len(policy.quasi_identifiers)]] += count
    return found


MIXED = Table.of(
    {
        "age": [str(20 + i * 7 % 50) if i % 9 else "" for i in range(150)],
        "zip": [f"0{i % 4}{i % 7}00" for i in range(150)],
        "job": [f"job {i * i % 11}" for i in range(150)],
        "born": [f"19{50 + i % 40}-0{1 + i % 9}-11" for i in range(150)],
        "ill": [("flu", "cold", "x,y", "=1", "")[i * i % 5] for i in range(150)],
    }
)
SAID = {"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [5, 2]}}, "job": {}, "born": {}}


@by_night
@pytest.mark.parametrize("choose", ["gain", "widest", "round-robin"])
def test_classes_are_those_of_memory_cut_at_once_and_by_spark(
    choose: str, spark: Any, tmp_path: Path
) -> None:
    """Ranges, gaps, a hierarchy, sets, dates; Spark makes the first cuts the second time."""
    policy = Policy(quasi_identifiers=SAID, sensitive=["ill"], privacy={"k": 5}, options={"choose": choose})
    wanted = wanted_classes(MIXED, policy)
    assert classes_by_spark(MIXED, policy, tmp_path) == wanted
    assert classes_by_spark(MIXED, policy, tmp_path, tuples=60) == wanted


@by_night
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=engine_tables())
def test_classes_of_random_tables_are_those_of_memory(case: tuple[Table, Policy], spark: Any) -> None:
    table, policy = case
    wanted = wanted_classes(table, policy)
    with TemporaryDirectory() as folder:
        assert classes_by_spark(table, policy, Path(folder)) == wanted
        assert classes_by_spark(table, policy, Path(folder), tuples=3) == wanted


@by_night
@pytest.mark.parametrize("name", METHODS)
def test_methods_over_a_sorted_row_are_those_of_memory(
    name: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorted by Spark in several parts, cut on the driver, and verified by Spark."""
    monkeypatch.setattr(spark_session, "FOR_FEW", {**spark_session.FOR_FEW, PARTITIONS: "3"})
    monkeypatch.setattr(in_spark, "ROWS_AT_ONCE", 23)
    files: list[int] = []
    real = SparkEngine.sort

    def sort(engine: SparkEngine, order: RowOrder) -> None:
        real(engine, order)
        files.append(len(engine._files))

    monkeypatch.setattr(SparkEngine, "sort", sort)
    policy = by(ORDERED_POLICY, name)
    source = _source(ORDERED_PEOPLE, tmp_path, "parquet")
    incrowd.publish(source, policy, tmp_path / "release", engine="spark", memory="1GB")
    wanted = cells_alone(in_memory(ORDERED_PEOPLE, policy), 3)
    assert cells_alone(rows_in(tmp_path / "release"), 3) == wanted
    assert files == [3]
    assert incrowd.verify(tmp_path / "release", source, policy, engine="duckdb").passed


@by_night
def test_without_equal_records_hilbert_is_memory_to_the_last_value(spark: Any, tmp_path: Path) -> None:
    policy = Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], privacy={"k": 3}, method="hilbert")
    table = distinct(90)
    source = _source(table, tmp_path, "parquet")
    incrowd.publish(source, policy, tmp_path / "release", engine="spark", memory="1GB")
    assert rows_in(tmp_path / "release") == in_memory(table, policy)


@by_night
@pytest.mark.parametrize("as_frames", [True, False], ids=["frames", "files"])
def test_a_public_table_is_joined_as_in_memory(as_frames: bool, spark: Any, tmp_path: Path) -> None:
    private, public = tables_of(60, 300)
    places = written(private, public, tmp_path, "parquet")
    wanted = incrowd.publish(private, asked("kja-direct"), public=public)
    given = [spark.read.parquet(f"file://{place}") if as_frames else place for place in places]
    folder = tmp_path / "release"
    release = incrowd.publish(given[0], asked("kja-direct"), folder, public=given[1], engine="spark")
    assert rows_in(folder) == Counter(wanted.table)
    assert (release.verdict.facts, release.told) == (wanted.verdict.facts, wanted.told)
    again = incrowd.verify(folder, given[0], asked("kja-direct"), public=given[1], engine="spark")
    assert again.passed, again.failures


@by_night
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=join_cases())
def test_joins_of_random_tables_end_as_in_memory(case: JoinCase, spark: Any) -> None:
    same_outcome(case, "spark")


def rows_in(folder: Path) -> Rows:
    return Counter(tables.read(folder / "data"))


FEW = Table.of({name: PEOPLE.column(name).rows()[:40] for name in ("age", "zip", "ill")})
FEWER = Policy(
    quasi_identifiers={"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [5, 2]}}},
    sensitive=["ill"],
    privacy={"k": 4},
)


def test_a_small_frame_gives_a_frame_and_a_folder(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Published from a DataFrame, verified by Spark and by DuckDB, read back as a DataFrame.

    What it is worth is seen on some of the rows, as of a large table.
    """
    monkeypatch.setattr(large_stages, "SAMPLE", 40)
    source = _source(FEW, tmp_path, "parquet")
    release = incrowd.publish(spark.read.parquet(f"file://{source}"), FEWER, tmp_path / "release")
    wanted = in_memory(FEW, FEWER)
    assert rows_in(tmp_path / "release") == wanted
    assert Counter(map(tuple, release.table.collect())) == wanted
    assert release.to_dict()["engine"] == {"name": "spark", "blocks": 0}
    assert left_in(tmp_path) == {"table.parquet", "release", "release.audit"}
    assert incrowd.verify(tmp_path / "release", source, FEWER).passed


@by_night
def test_a_frame_gives_a_frame_and_a_folder(spark: Any, tmp_path: Path) -> None:
    """Published from a DataFrame, verified by Spark and in memory, read back as a DataFrame."""
    source = _source(PEOPLE, tmp_path, "parquet")
    frame = spark.read.parquet(f"file://{source}")
    release = incrowd.publish(frame, POLICY, tmp_path / "release", memory="1GB")
    wanted = in_memory(PEOPLE, POLICY)
    assert rows_in(tmp_path / "release") == wanted
    assert Counter(map(tuple, release.table.collect())) == wanted
    assert release.to_dict()["engine"] == {"name": "spark", "blocks": 0}
    beside = {"README.md", "data", "hierarchies.csv", "release.json", "totals.csv"}
    assert {path.name for path in (tmp_path / "release").iterdir()} == beside
    assert "data/part-00000.parquet" in release.manifest["files"]
    assert left_in(tmp_path) == {"table.parquet", "release", "release.audit"}
    for engine in ("duckdb", "auto"):
        assert incrowd.verify(tmp_path / "release", source, POLICY, engine=engine).passed
    measured = incrowd.measure(tmp_path / "release", source).to_dict()["loss"]["gcp"]
    assert measured == pytest.approx(release.loss()["gcp"])
    assert incrowd.report(tmp_path / "release").sound


def left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@by_night
def test_without_a_folder_the_files_go_with_the_result(spark: Any, tmp_path: Path) -> None:
    """A table of the session's catalog; written later, and gone when nobody has the result."""
    spark.read.parquet(f"file://{_source(PEOPLE, tmp_path, 'parquet')}").createOrReplaceTempView("people")
    release = incrowd.publish(Source("spark:", sql="SELECT * FROM people WHERE age < 60"), POLICY)
    assert release.verdict.passed
    assert release.table.count() == sum(int(age or 0) < 60 for age in PEOPLE.column("age").rows())
    assert "release" not in release.to_dict()
    release.write(tmp_path / "later")
    original = Source("spark:", sql="SELECT * FROM people WHERE age < 60")
    assert incrowd.verify(tmp_path / "later", original, POLICY).passed
    with pytest.raises(InputError, match="written as Parquet"):
        release.write(tmp_path / "other", "csv")
    place = cast(FrameRelease, release).folder
    del release
    assert not place.exists()


@by_night
def test_csv_in_and_csv_out(spark: Any, tmp_path: Path) -> None:
    source = _source(PEOPLE, tmp_path, "csv")
    release = incrowd.publish(source, POLICY, tmp_path / "release", engine="spark", format="csv")
    rows = Counter(tables.unprotected_table(tables.read(tmp_path / "release" / "data.csv")))
    assert rows == in_memory(PEOPLE, POLICY)
    assert release.verdict.passed


@by_night
def test_texts_of_types_are_those_of_memory(spark: Any, tmp_path: Path) -> None:
    """Numbers, dates, moments, truths: the same texts as reading the file into memory gives."""
    import duckdb

    path = tmp_path / "typed [x] {y}.parquet"
    duckdb.sql(
        "COPY (SELECT i::TINYINT AS a, (i / 7)::DOUBLE AS b, (i / 7)::FLOAT AS c, "
        "(i * 1.5)::DECIMAL(9, 3) AS d, DATE '2024-01-01' + i::INTEGER AS e, "
        "TIMESTAMP '2024-01-01 10:00:00' + INTERVAL (i) MINUTE AS f, i % 2 = 0 AS g, "
        "nullif(i, 3)::UBIGINT AS h, "
        "CASE WHEN i = 1 THEN 'NaN' WHEN i = 2 THEN '-inf' ELSE '1e300' END::DOUBLE AS j "
        f"FROM range(8) t(i)) TO '{path}'"
    )
    wanted, names = list(tables.read(path)), list("abcdefghj")
    files = spark_table(path, names)
    with spark_engine(Inputs(files, names), _new(tmp_path / "work"), (), SMALL) as engine:
        engine.open()
        shown = ", ".join(engine.table.text(name) for name in names)
        found = engine.session.rows(f"SELECT {shown} FROM {engine.table.joined(names)}")
    assert Counter(found) == Counter(wanted)


def _new(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


REFUSED = {
    "moments with a zone": ("time zone", "current_timestamp() AS age"),
    "lists": ("not of a plain type", "array(1) AS age"),
    "a frame that is never the same": ("changed while", "unix_micros(current_timestamp()) % 1000003 AS age"),
}


@pytest.mark.parametrize("name", REFUSED if NIGHT else [*REFUSED][:1])
def test_what_cannot_be_published_is_refused(name: str, spark: Any, tmp_path: Path) -> None:
    words, column = REFUSED[name]
    frame = spark.range(40).selectExpr(column, "'x' AS ill")
    policy = Policy(quasi_identifiers=["age"], sensitive=["ill"], privacy={"k": 2})
    with pytest.raises(IncrowdError, match=words):
        incrowd.publish(frame, policy, tmp_path / "never")
    assert left_in(tmp_path) == set()


def test_what_is_asked_wrongly_is_said(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(3)
    with pytest.raises(InputError, match="published by Spark"):
        incrowd.publish(frame, POLICY, tmp_path / "never", engine="duckdb")
    with pytest.raises(InputError, match="is for engine=spark"):
        incrowd.publish(_source(PEOPLE, tmp_path, "csv"), POLICY, tmp_path / "never", master="local[2]")
    with pytest.raises(InputError, match="running already"):
        incrowd.publish(frame, POLICY, tmp_path / "never", master="local[2]")
    with pytest.raises(InputError, match="which table of Spark"):
        incrowd.publish("spark:", POLICY, tmp_path / "never")
    with pytest.raises(InputError, match="say where"):
        incrowd.publish(tmp_path / "table.csv", POLICY, engine="spark")


@by_night
def test_rows_that_get_lost_on_the_way_are_noticed(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of codes that another program empties meanwhile: Spark itself would not notice."""
    real = SparkEngine._shuffle

    def emptied(engine: SparkEngine) -> None:
        for part in (engine.folder / "coded.parquet").glob("*.parquet"):
            engine.local.run(f"COPY (FROM '{part}' LIMIT 0) TO '{part}' (FORMAT parquet, USE_TMP_FILE false)")
        real(engine)

    monkeypatch.setattr(SparkEngine, "_shuffle", emptied)
    with pytest.raises((TableError, InputError), match=r"after shuffling the rows there are|Spark stopped"):
        incrowd.publish(_source(PEOPLE, tmp_path, "parquet"), POLICY, tmp_path / "never", engine="spark")
    assert left_in(tmp_path) == {"table.parquet"}


def test_statements_mean_what_they_mean_in_duckdb(spark: Any, tmp_path: Path) -> None:
    """Numbers of rows have 64 bits, sums in HAVING are those of the inner column, places follow files."""
    with sql_session(spark, _new(tmp_path / "work")) as session:
        numbers = {"a": np.arange(6) % 3, "n": np.arange(6)}
        session.load("some_", numbers)
        session.local.load("some_", numbers)
        for sql in (
            "SELECT (row_number() OVER (ORDER BY n) - 1) << 40 FROM some_ ORDER BY 1",
            "SELECT a, sum(n) AS n FROM some_ GROUP BY ALL HAVING sum(n) > 4 ORDER BY 1",
            "SELECT count(*) FILTER (WHERE n > 2), count(*) FILTER (WHERE a = 9) FROM some_",
            "SELECT a::BIGINT << 35 | (n >> 1) FROM some_ ORDER BY 1",
        ):
            assert session.rows(sql) == session.local.rows(sql)
        session.run("CREATE OR REPLACE TEMP TABLE grown_ (x INTEGER)")
        for part in ([3, 1], [2]):
            session.append("grown_", {"x": np.array(part, np.int32)})
        placed = "SELECT x, row_number() OVER () - 1 AS place FROM (SELECT x FROM grown_) g"
        assert [x for x, _ in sorted(session.rows(placed), key=lambda row: row[1])] == [3, 1, 2]


def test_words_of_spark_reach_nobody(spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with sql_session(spark, _new(tmp_path / "work")) as session:
        with pytest.raises(TableError) as caught:
            session.rows("SELECT CAST('a secret' AS INTEGER)")
        with pytest.raises(TableError):
            session.rows("SELECT * FROM nowhere_")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert "secret" not in "".join(capfd.readouterr())


def test_without_java_or_pyspark_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="Spark needs Java 17 or later; install it"):
        spark_start.check_installed()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'incrowd\[spark\]'"):
        spark_start.check_installed()
