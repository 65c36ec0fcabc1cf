"""A Spark session of an engine: DuckDB's SQL in, rows or arrays out; Spark's words reach nobody.

Whatever is kept under a name is Parquet in the private folder: what tasks wrote once is not computed again
when one of them is repeated. Numbers and texts come and go by such files too, written and read by DuckDB
beside the program, so that no query has to fit into the memory of Spark's driver.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.session import Arrays, DuckSession, remove
from incrowd.engines.spark_dialect import PLACE, SparkStatement, translated
from incrowd.errors import InputError, TableError, option

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_BROADCAST = 4_000_000  # rows of a table that every task gets a copy of
FEW_ROWS = 100_000
FILE_BITS = 40  # of the place of a row: its number in the file, below the number of the file
NAMED = {"string": "VARCHAR", "timestamp_ntz": "TIMESTAMP", "timestamp": "TIMESTAMP WITH TIME ZONE"}
SPARKS = {"VARCHAR": "STRING", "INTEGER": "INT", "UBIGINT": "DECIMAL(20,0)"}
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.mergeSchema": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
}
FOR_FEW = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
_GLOB = re.compile(r"([\\\[\]{}*?])")
P = ParamSpec("P")
T = TypeVar("T")


def in_our_words(question: Callable[P, T]) -> Callable[P, T]:
    """Spark's own words may quote data; ours are raised where no exception that holds them is around."""

    @wraps(question)
    def asked(*args: P.args, **words: P.kwargs) -> T:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            return question(*args, **words)
        except (PySparkException, Py4JError, ConnectionError) as problem:
            said = _said(problem)
        raise said

    return asked


class SparkSqlSession:
    """What `engines.session.Session` asks for, and the verifier's `SqlSession`, on a session of its own."""

    joined_at_once = 2**62  # Spark parts large joins itself

    def __init__(self, spark: SparkSession, local: DuckSession, folder: Path) -> None:
        self.spark, self.local = spark, local
        self._folder = folder / "tables"
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._made = 0
        self._views: dict[tuple[str, ...], str] = {}
        self._files: dict[str, list[Path]] = {}  # of each view

    @in_our_words
    def expect(self, rows: int) -> None:
        """So many rows are coming: for few of them, neither compiling queries nor parting the work pays."""
        if rows < FEW_ROWS:
            for name, value in FOR_FEW.items():
                self.spark.conf.set(name, value)

    # What is asked

    @in_our_words
    def run(self, sql: str, *_parameters: object) -> None:
        asked = translated(sql, self)
        if asked.kind == "make":
            self._make(asked)
        elif asked.kind == "empty":
            self._empty(asked)
        elif asked.kind == "drop":
            self._drop(asked.name)
        else:
            raise TableError("Spark is asked to run what gives rows")

    @in_our_words
    def rows(self, sql: str, *_parameters: object) -> list[tuple[Any, ...]]:
        asked = translated(sql, self)
        found = self.spark.sql(asked.query)
        if asked.kind == "describe":
            return [(each.name, _type_name(each.dataType)) for each in found.schema.fields]
        return [tuple(row) for row in found.collect()]

    def number(self, sql: str) -> int:
        """The one number that a query gives; 0 for NULL."""
        return int(self.rows(sql)[0][0] or 0)

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Columns by name; NULL in a column of texts is None."""
        own = re.fullmatch(r"SELECT \* FROM (\w+)", sql)
        if own and own[1] in self._files:
            return self._read(self._files[own[1]])
        path = self._new("found")
        self.save(sql, path)
        try:
            return self._read(sorted(path.glob("*.parquet")))
        finally:
            remove(path)

    @in_our_words
    def save(self, query: str, path: Path, by: str = "") -> None:
        """Write the rows of a query: a folder of Parquet files, or `by` a column a folder of each value."""
        self.keep(self.frame(query), path, by)

    def frame(self, query: str) -> DataFrame:
        """A query of ours, not run yet."""
        return self.spark.sql(translated(query, self).query)

    @in_our_words
    def load(self, name: str, columns: Arrays, types: Mapping[str, str] | None = None) -> None:
        """Make a table of arrays."""
        self._drop(name)
        self.local.load("loaded_", columns, types)
        self._keep(name)

    @in_our_words
    def append(self, name: str, columns: Arrays, types: Mapping[str, str] | None = None) -> None:
        """Add rows to a table."""
        self.local.load("loaded_", columns, types)
        self._keep(name)

    # Tables of ours

    def _new(self, name: str) -> Path:
        self._made += 1
        return self._folder / f"{self._made:06}-{name}"

    def keep(self, frame: DataFrame, path: Path, by: str = "") -> None:
        """Write a frame into a folder that nobody else may enter."""
        writer = (frame.repartition(by) if by else frame).write
        (writer.partitionBy(by) if by else writer).parquet(address(path))
        for each in (path, *path.rglob("*")):
            each.chmod(0o700 if each.is_dir() else 0o600)

    def _read(self, files: Sequence[Path]) -> dict[str, NDArray[Any]]:
        listed = ", ".join(f"'{str(path).replace(chr(39), chr(39) * 2)}'" for path in files)
        return self.local.arrays(f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false)")

    def _make(self, asked: SparkStatement) -> None:
        path = self._new(asked.name)
        frame = self.spark.sql(asked.query)
        self.keep(frame, path)
        self._drop(asked.name)
        self._files[asked.name] = sorted(path.glob("*.parquet"))
        self._show(asked.name, frame.schema)

    def _empty(self, asked: SparkStatement) -> None:
        self._drop(asked.name)
        columns = ", ".join(f"{name} {kind}" for name, kind in asked.columns)
        self.local.run(f"CREATE OR REPLACE TEMP TABLE loaded_ ({columns})")
        self._keep(asked.name)

    def _keep(self, name: str) -> None:
        """What was loaded beside the program, as another file of a table."""
        path = self._new(name).with_suffix(".parquet")
        described = self.local.rows("DESCRIBE SELECT * FROM loaded_")
        types = ", ".join(f"`{column}` {SPARKS.get(kind, kind)}" for column, kind, *_ in described)
        rows = self.local.number("SELECT count(*) FROM loaded_")
        self.local.save("SELECT * FROM loaded_", path)
        self.local.run("DROP TABLE loaded_")
        files = self._files.setdefault(name, [])
        files.append(path)
        self._show(name, types, rows if len(files) == 1 else None)

    def _show(self, name: str, schema: Any, rows: int | None = None) -> None:
        paths = [exact_address(path) for path in self._files[name]]
        frame = self.spark.read.schema(schema).parquet(*paths)
        to_every_task(frame, rows).createOrReplaceTempView(name)

    def _drop(self, name: str) -> None:
        files = self._files.pop(name, None)
        if files is None:
            return
        self.spark.catalog.dropTempView(name)
        self.spark.catalog.dropTempView(f"{name}_placed")
        for path in {each if each.parent == self._folder else each.parent for each in files}:
            remove(path)

    # What `spark_dialect` asks: files in the place of tables

    @in_our_words
    def of_files(self, patterns: Sequence[str]) -> str:
        """A view of Parquet files; of those that a pattern means, in the order of their names."""
        files = tuple(path for pattern in patterns for path in _meant(pattern))
        if not files:
            raise TableError("a file that the engine needs is gone; nothing was published")
        if files not in self._views:
            name = f"files_{len(self._views)}"
            frame = self.spark.read.parquet(*(exact_address(Path(path)) for path in files))
            frame.createOrReplaceTempView(name)
            self._views[files], self._files[name] = name, [Path(path) for path in files]
        return self._views[files]

    @in_our_words
    def with_places(self, view: str) -> str:
        """A view that says, beside each row, where in its files it stands: a number that grows with it."""
        from pyspark.sql.functions import coalesce, col, raise_error
        from pyspark.sql.functions import lit as constant

        files = self._files[view]
        names = np.empty(len(files), object)
        names[:] = [path.name for path in files]
        firsts = np.arange(len(files), dtype=np.int64) << FILE_BITS
        self.load(f"{view}_firsts", {"file_": names, "first_": firsts}, {"file_": "VARCHAR"})
        rows = self.spark.read.schema(self.spark.table(view).schema).parquet(*map(exact_address, files))
        placed = rows.select("*", col("_metadata.file_name").alias("file_"), "_metadata.row_index")
        firsts_ = self.spark.table(f"{view}_firsts")
        first = coalesce(col("first_"), raise_error(constant("a file has another name")))
        found = placed.join(firsts_, "file_", "left").withColumn(PLACE, first + col("row_index"))
        found.drop("file_", "first_", "row_index").createOrReplaceTempView(f"{view}_placed")
        return f"{view}_placed"


def to_every_task(frame: DataFrame, rows: int | None) -> DataFrame:
    """A small table is not joined by shuffling the large one."""
    from pyspark.sql.functions import broadcast

    return frame if rows is None or rows > MOST_BROADCAST else broadcast(frame)


def _meant(pattern: str) -> list[str]:
    """The files of a path, a folder or a pattern."""
    path = Path(pattern)
    if path.is_dir():
        return sorted(map(str, path.glob("*.parquet")))
    return [pattern] if path.exists() else sorted(glob.glob(pattern))


def address(path: Path) -> str:
    """A path as Spark wants it, on the machine's own disk."""
    return f"file://{path.absolute()}"


def exact_address(path: Path) -> str:
    """A path that is read, and is no pattern."""
    return _GLOB.sub(r"\\\1", address(path))


def _type_name(kind: Any) -> str:
    """The name that DuckDB has for a type of Spark."""
    name = str(kind.simpleString())
    return NAMED.get(name, {"INT": "INTEGER"}.get(name.upper(), name.upper()))


def _said(problem: Exception) -> InputError:
    words = str(problem)
    if "No space left" in words:
        return InputError("the disk of the release, or of an executor, is full; make room")
    if "OutOfMemory" in words or "memory limit" in words:
        return InputError(f"Spark needs more memory: raise {option('memory')}, or that of its executors")
    if re.search(r"FileNotFound|PATH_NOT_FOUND|FILE_NOT_EXIST|does not exist|Permission denied", words):
        return InputError(
            "a file cannot be read or written: the table and the folder of the release must be on a disk "
            "that all executors see and may use, and must not change meanwhile"
        )
    return TableError(f"Spark stopped at a step of the engine ({type(problem).__name__})")
