"""The engine for clusters: Spark counts, joins and shuffles; DuckDB beside the program writes the files.

Tables are Parquet files that all executors see, or a DataFrame, which is copied once. Everything that is
decided, is decided where the program runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.engines.base import OpenedTable
from incrowd.engines.ordered import RowOrder
from incrowd.engines.resources import Resources
from incrowd.engines.session import duck_session, parquet_sql, remove
from incrowd.engines.sorted_rows import SortingEngine, parts_of
from incrowd.engines.sources import as_texts
from incrowd.engines.spark_session import SparkSqlSession, exact_address, in_our_words, to_every_task
from incrowd.engines.spark_start import running_session, spark_session
from incrowd.engines.spark_tables import is_frame, is_listed
from incrowd.engines.table_files import Inputs, TableFiles, TextTable
from incrowd.errors import InputError, option
from incrowd.kernels import hilbert
from incrowd.schema import Source
from incrowd.tables.checked_files import check_names
from incrowd.values import same_name

KEY_BYTES = 32
SEEN = "seen.parquet"
KEYED = "keyed_"  # the column that rows are shuffled by
ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class SparkFrame(TableFiles):
    """A DataFrame of Spark. Of the `wanted` columns a fingerprint can be taken."""

    frame: Any = None
    wanted: tuple[str, ...] = ()

    @property
    def read_in_place(self) -> bool:
        return False

    def columns(self) -> list[str]:
        """The columns of the frame that are published."""
        return [name for name in self.frame.columns if same_name(name) in self.wanted]

    @in_our_words
    def fingerprint(self) -> dict[str, Any]:
        """Rows, and the sum of their hashes: the frame is computed once more for it."""
        listed = ", ".join(f"`{name.replace('`', '``')}`" for name in self.columns()) or "1"
        hashed = self.frame.selectExpr(f"CAST(xxhash64({listed}) AS DECIMAL(38,0)) AS h")
        rows, total = hashed.selectExpr("count(*)", "sum(h)").collect()[0]
        return {"kind": self.name, "rows": rows, "hash": str(total)}


def spark_table(source: object, wanted: Sequence[str]) -> TableFiles:
    """What Spark can take as a table: its own frames, tables of its catalog, files; refused is the rest."""
    if is_frame(source):
        if type(source).__module__.startswith("pyspark.sql.connect"):
            raise InputError(
                "a DataFrame of Spark Connect cannot be published; run the program on the cluster itself"
            )
        return SparkFrame("frame", (), Source("the Spark DataFrame"), source, tuple(wanted))
    given = Source.of(source)
    if given is not None and is_listed(source):
        if not given.sql:
            raise InputError(f"say which table of Spark's catalog, or a query, with {option('sql')}")
        found, running = TableFiles("catalog", (), given), running_session()
        return found if running is None else _of_catalog(running, found, wanted)
    files = TableFiles.of(source)
    if files.kind == "duckdb":
        raise InputError(
            f"{files.name}: Spark does not read DuckDB's databases; take {option('engine', 'duckdb')}, or "
            "export the table as Parquet"
        )
    return files


@in_our_words
def frame_of(session: Any, files: Sequence[Path]) -> Any:
    """Parquet files as a DataFrame of a session."""
    return session.read.parquet(*map(exact_address, files))


@contextmanager
def spark_engine(
    inputs: Inputs, work: Path, folders: Sequence[Path], resources: Resources
) -> Iterator[SparkEngine]:
    """An engine on the Spark of the frame, on the one that is running, or on a new one."""
    files = inputs.table
    given = next((each.frame.sparkSession for each in inputs.all if isinstance(each, SparkFrame)), None)
    reading = [path for each in inputs.all for path in each.files]
    with (
        spark_session(work, resources, given) as spark,
        duck_session(work, resources.beside_spark, reading, folders) as local,
    ):
        if files.kind == "catalog":
            files = _of_catalog(spark, files, inputs.columns)
        session = SparkSqlSession(spark, local, work)
        engine = SparkEngine(session, local, files, work, resources, inputs.columns)
        engine.check_disk()
        yield engine


@in_our_words
def _of_catalog(spark: Any, files: TableFiles, wanted: Sequence[str]) -> SparkFrame:
    """A table, a view or a query of the session's catalog as a frame."""
    query = files.given.sql.strip().rstrip(";")
    is_query = query.upper().startswith(("SELECT", "WITH", "FROM"))
    frame = spark.sql(query) if is_query else spark.table(query)
    return SparkFrame("frame", (), Source("a table of Spark", sql=query), frame, tuple(wanted))


class SparkEngine(SortingEngine):
    """An `OrderedEngine` over a Spark session."""

    name = "spark"
    session: SparkSqlSession
    _keys_drawn = 0
    row_number = "monotonically_increasing_id() AS row_"  # written once, so the same when a task is repeated

    def check_disk(self) -> None:
        """Do executors see the private folder? Else hours might pass before the first one says no."""
        self.local.run("CREATE OR REPLACE TEMP TABLE seen_ AS SELECT 1 AS x")
        self.local.save("SELECT * FROM seen_", self.folder / SEEN)
        self.session.number(f"SELECT count(x) FROM {parquet_sql(self.folder / SEEN)}")

    def open(self) -> OpenedTable:
        if isinstance(self.files, SparkFrame):
            copy = self._copied(self.files, self.folder)
            self.table = as_texts(self.session, copy, self.files, self._wanted)
            found = OpenedTable(self.table.names, self.table.rows, tuple(self.table.notes))
        else:
            found = super().open()
        self.session.expect(found.rows)
        return found

    def beside(self, files: TableFiles, name: str, wanted: Sequence[str]) -> TextTable:
        if not isinstance(files, SparkFrame):
            return super().beside(files, name, wanted)
        (self.folder / name).mkdir(mode=0o700)
        copy = replace(self._copied(files, self.folder / name), called=name)
        return as_texts(self.session, copy, files, wanted)

    @in_our_words
    def _copied(self, files: SparkFrame, folder: Path) -> TextTable:
        """The published columns of a frame, computed once; of the others the names stay, and no cell.

        A frame may be computed from others, at a cost, and not twice the same.
        """
        path, names, taken = folder / "rows.parquet", tuple(files.frame.columns), files.columns()
        check_names(names, files.name)
        chosen = files.frame.select(*(files.frame[f"`{name.replace('`', '``')}`"] for name in taken))
        self.session.keep(chosen.toDF(*(f"c{names.index(name)}" for name in taken)), path)
        listed = ", ".join(
            f"c{place}" if name in taken else f"CAST(NULL AS VARCHAR) AS c{place}"
            for place, name in enumerate(names)
        )
        relation = f"(SELECT {listed} FROM {parquet_sql(path)}) t"
        types = tuple(row[1] for row in self.session.rows(f"DESCRIBE SELECT * FROM {relation}"))
        rows = self.session.number(f"SELECT count(*) FROM {parquet_sql(path)}")
        return TextTable(names, relation, types, rows)

    @in_our_words
    def _shuffle(self) -> None:
        """Rows in the order of a keyed hash of their numbers, with a key of the operating system."""
        shown = ["g", *(f"p{place}" for place in range(len(self.private)))]
        if self._in_order:
            self._check(self._labelled, "cutting the sorted rows")
            placed = self.folder / "placed.parquet"
            numbered = (
                f"SELECT *, row_number() OVER () AS row_ FROM (SELECT {', '.join(shown)} FROM {self._placed})"
            )
            self.local.save(numbered, placed)
            joined = self.session.frame(f"SELECT * FROM {parquet_sql(placed)}")
        else:
            frames = (self.session.frame(f"SELECT * FROM {each}") for each in (self.coded, self.classes))
            coded, classes = frames
            many = self.local.number(f"SELECT count(*) FROM {self.classes}")
            joined = coded.join(to_every_task(classes, many), self._words)
        placed_rows = self._keyed(joined).select(*shown, KEYED)
        ordered = placed_rows.repartition(KEYED).sortWithinPartitions(KEYED).drop(KEYED)
        self.session.keep(ordered, self._shuffled.path)

    def _keyed(self, rows: Any) -> Any:
        """Rows beside a keyed hash of their numbers, row_, with a fresh key of the operating system.

        Fresh chance for each row would be another one when a task is repeated. The key goes by a file, since
        Spark may log its queries.
        """
        key, self._keys_drawn = np.empty(1, object), self._keys_drawn + 1
        key[0], table = self._entropy(KEY_BYTES).hex(), f"key{self._keys_drawn}_"
        self.session.load(table, {"key": key}, {"key": "VARCHAR"})
        hashed = f"unhex(substr(sha2(concat(key, CAST(row_ AS STRING)), 256), 1, 32)) AS {KEYED}"
        return rows.crossJoin(self.session.spark.table(table)).selectExpr("*", hashed).drop("key")

    # Rows in an order

    @in_our_words
    def _sort(self, order: RowOrder) -> None:
        """One order over all executors: Spark parts rows by ranges of their keys, and sorts each part.

        Places on the curve are computed where the program runs, for each distinct record once.
        """
        coded = self.session.frame(f"SELECT * FROM {self.coded}")
        keys = [f"q{j}" for j in order.columns]
        if order.bits:
            keys = [f"h{w}" for w in range(self._curve_words(order))]
            curve, many = self._curve(order)
            rows = coded.join(to_every_task(curve, many), self._words)
        else:
            rows = coded.selectExpr("*", *(self._field(j) for j in order.columns))
        ordered = self._keyed(rows).orderBy(*keys, KEYED).select(*self._kept)
        self.session.keep(ordered, self._sorted)

    def _field(self, j: int) -> str:
        field = self._fields[j]
        return f"shiftright(k{field.word}, {field.shift}) & {(1 << field.bits) - 1} AS q{j}"

    def _curve(self, order: RowOrder) -> tuple[Any, int]:
        """The words on the curve of every distinct record, and how many there are."""
        distinct, folder = self.folder / "distinct.parquet", self.folder / "order"
        words = ", ".join(self._words)
        self.session.save(f"SELECT DISTINCT {words} FROM {self.coded}", distinct)
        folder.mkdir(mode=0o700)
        many = 0
        for file in sorted(distinct.glob("*.parquet")):
            rows = self.local.number(f"SELECT count(*) FROM {parquet_sql(file)}")
            for first in range(0, rows, ROWS_AT_ONCE):
                found = self._piece(file, words, first, min(first + ROWS_AT_ONCE, rows))
                held = [found[word].astype(np.int64, copy=False) for word in self._words]
                places = np.zeros((self._curve_words(order), held[0].size), np.int64)
                hilbert.curve_words(self._unpacked(held), order.bits, places)
                columns = dict(zip(self._words, held, strict=True))
                columns |= {f"h{w}": place for w, place in enumerate(places)}
                self._save("order_", columns, folder / f"{many:012}.parquet")
                many += held[0].size
        remove(distinct)
        return self.session.frame(f"SELECT * FROM {parts_of(folder)}"), many

    def forget(self) -> None:
        super().forget()
        remove(self.folder / "placed.parquet")
        remove(self.folder / "order")
