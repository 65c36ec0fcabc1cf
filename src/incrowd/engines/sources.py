"""Where an engine's table comes from, and its rows as texts: the same texts as reading into memory gives.

Parquet files and DuckDB databases are read by DuckDB where they lie. CSV files, SQLite and PostgreSQL are
read by the readers that incrowd has, and copied once into the private folder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.engines.base import Frequencies
from incrowd.engines.rows import copied_rows
from incrowd.engines.session import DuckSession, Session, quoted, quoted_text
from incrowd.engines.table_files import TableFiles, TextTable
from incrowd.errors import TableError, option
from incrowd.tables.checked_files import (
    check_names,
    check_size,
    check_texts,
    check_width,
)
from incrowd.tables.texts import cell_text, float_text, moment_texts
from incrowd.values import same_name

BYTES_A_TEXT = 400  # of a distinct value of a column while it is read
FAR_TOO_MANY = 1.3  # an estimate that is so much above the limit settles it
MOST_TYPED = 5_000_000  # distinct floats or moments of a column, which are turned into texts one by one
FLOATS = {"FLOAT": np.float32, "DOUBLE": np.float64}
MOMENTS = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
PLAIN = (
    *("VARCHAR", "JSON", "UUID", "BOOLEAN", "TIME", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT", "DATE"),
)


def opened(
    session: Session,
    local: DuckSession,
    files: TableFiles,
    folder: Path,
    wanted: Sequence[str],
    called: str = "texts",
) -> TextTable:
    """The table of some files; of columns that are not `wanted` only names and types are looked at.

    What the session does not read where it lies is copied into the folder, by `local`. Tables that texts are
    looked up in begin with the word that it is `called`.
    """
    if files.kind == "parquet":
        table = _parquet(session, local, files.files, files.name)
    elif files.kind == "duckdb":
        table = _database(local, files.given.sql, files.name)
    else:
        table = copied_rows(local, files, folder, wanted)
    table.called = called
    return as_texts(session, table, files, wanted)


def as_texts(session: Session, table: TextTable, files: TableFiles, wanted: Sequence[str]) -> TextTable:
    """A table whose wanted columns have texts; what cannot be published is refused."""
    check_names(table.names, files.name)
    check_size(table.rows, files.name)
    for name, kind in zip(table.names, table.types, strict=True):
        check_type(kind, name, files.name)
    table.published = frozenset(name for name in table.names if same_name(name) in wanted)
    for name in table.names:
        if name in table.published:
            _look_up(session, table, name, files)
    return table


def frequencies(session: Session, table: TextTable, column: str, most: int, source: str) -> Frequencies:
    """The distinct texts of a column with their counts, if they are at most so many."""
    found = session.arrays(
        f"SELECT CAST(x AS VARCHAR) AS t, n FROM (SELECT {table.compared(column)} AS x, count(*) AS n "
        f"FROM {table.joined([column])} GROUP BY 1 LIMIT {most + 1}) counted"
    )
    if found["n"].size > most:
        raise TableError(
            f"{column} has more than {most:,} different values, too many for the memory; round it, "
            f"drop it, or raise {option('memory')}"
        )
    texts, counts = found["t"].tolist(), found["n"].astype(np.int64)
    check_texts(texts, column, source)
    if (rows := int(counts.sum())) != table.rows:
        raise TableError(
            f"after counting the values of a column there are {rows:,} rows, and there were {table.rows:,}; "
            "did the table change meanwhile? Nothing was published"
        )
    return Frequencies(tuple(texts), counts)


def _parquet(session: Session, local: DuckSession, files: Sequence[Path], source: str) -> TextTable:
    listed = "[" + ", ".join(quoted_text(str(path.absolute())) for path in files) + "]"
    found = local.rows(
        f"SELECT file_name, name, num_children, type, converted_type, CAST(logical_type AS VARCHAR) "
        f"FROM parquet_schema({listed})"
    )
    columns: dict[str, list[tuple[Any, ...]]] = {}
    for file, *element in found:
        columns.setdefault(file, []).append(tuple(element))
    tops = [_top(elements) for elements in columns.values()]
    if any(dict(top) != dict(tops[0]) for top in tops):
        raise TableError(f"{source}: its files have other columns, or columns of other types, than the first")
    names = [name for name, _ in tops[0]]
    check_width(len(names), source)
    shown = ", ".join(f"{quoted(name)} AS c{place}" for place, name in enumerate(names))
    relation = f"(SELECT {shown} FROM read_parquet({listed}, hive_partitioning = false)) t"
    types = tuple(row[1] for row in session.rows(f"DESCRIBE SELECT * FROM {relation}"))
    rows = local.number(f"SELECT sum(num_rows) FROM parquet_file_metadata({listed})")
    notes = [f"{source}: {len(files)} Parquet files"] if len(files) > 1 else []
    return TextTable(tuple(names), relation, types, rows, notes)


def _top(elements: Sequence[tuple[Any, ...]]) -> list[tuple[str, tuple[Any, ...]]]:
    """The columns among the elements of a schema, each of which is followed by its own elements."""
    found, inside = [], 0
    for name, children, *kind in elements[1:]:
        if inside == 0:
            found.append((name, tuple(kind)))
        else:
            inside -= 1
        inside += children or 0
    return found


def _database(session: DuckSession, sql: str, source: str) -> TextTable:
    """A table or a query of the attached database."""
    listed = session.rows(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source' AND NOT internal "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
        "WHERE database_name = 'source' AND NOT internal"
    )
    tables = {name: f"source.{quoted(schema)}.{quoted(name)}" for schema, name in listed}
    chosen = sql or (next(iter(tables)) if len(tables) == 1 else "")
    if not chosen:
        shown = ", ".join(sorted(tables)[:20]) or "none"
        raise TableError(
            f"{source} has {len(tables)} tables: {shown}; say which, or a query, with {option('sql')}"
        )
    if chosen in tables:
        inner = f"SELECT * FROM {tables[chosen]}"
    elif chosen.lstrip().upper().startswith(("SELECT", "WITH", "FROM")):
        session.run("USE source")
        inner = chosen.rstrip().rstrip(";")
    else:
        raise TableError(f"{source} has no table of that name; say which, or a query, with {option('sql')}")
    described = session.rows(f"DESCRIBE SELECT * FROM ({inner}) q")
    names, types = tuple(row[0] for row in described), tuple(row[1] for row in described)
    shown = ", ".join(f"{quoted(name)} AS c{place}" for place, name in enumerate(names))
    relation = f"(SELECT {shown} FROM ({inner}) q) t"
    return TextTable(names, relation, types, session.number(f"SELECT count(*) FROM {relation}"))


def check_type(kind: str, name: str, source: str) -> None:
    """Refuse cells that are no plain values."""
    if kind.endswith("WITH TIME ZONE"):
        raise TableError(
            f"{source}: column {name!r} has moments with a time zone; convert them to local time without one"
        )
    if kind not in (*PLAIN, *FLOATS, *MOMENTS) and not kind.startswith("DECIMAL("):
        raise TableError(
            f"{source}: column {name!r} is not of a plain type (it holds lists, records, bytes or "
            "durations); convert it to text, numbers or dates, or leave it out"
        )


def _look_up(session: Session, table: TextTable, name: str, files: TableFiles) -> None:
    """Texts of floats and moments as they are read into memory, each distinct one once."""
    place = table.names.index(name)
    kind, cell = table.types[place], f"c{place}"
    if kind == "DATE":
        outside = f"{cell} < DATE '0001-01-01' OR {cell} > DATE '9999-12-31'"
        if session.number(f"SELECT count(*) FROM {table.relation} WHERE {outside}"):
            raise TableError(f"{files.name}: column {name!r} holds a date outside the years 1 to 9999")
    if kind not in FLOATS and kind not in MOMENTS:
        return
    raw = session.arrays(
        f"SELECT DISTINCT CAST({cell} AS VARCHAR) AS raw FROM {table.relation} WHERE {cell} IS NOT NULL "
        f"LIMIT {MOST_TYPED + 1}"
    )["raw"]
    if raw.size > MOST_TYPED:
        raise TableError(
            f"{files.name}: column {name!r} has more than {MOST_TYPED:,} different numbers or moments of "
            f"type {kind}; round it, or convert it to decimals or text"
        )
    lookup = f"{table.called}_{place}"
    texts = np.empty(raw.size, object)
    texts[:] = _texts(raw.tolist(), kind, name, files)
    session.load(lookup, {"raw": raw.astype(object), "text": texts}, {"raw": "VARCHAR", "text": "VARCHAR"})
    table.looked_up[name] = lookup


def _texts(raw: list[str], kind: str, name: str, files: TableFiles) -> list[str | None]:
    if kind in FLOATS:
        texts = [float_text(FLOATS[kind](text)) for text in raw]
        of_values = files.kind == "duckdb"  # there a number that is none is a gap
        return [None if of_values and text == "NaN" else text for text in texts]
    unit = "ns" if kind == "TIMESTAMP_NS" else "us"
    moments = None
    with contextlib.suppress(ValueError):  # before the year 1, or infinite
        moments = np.array(raw, dtype=f"datetime64[{unit}]")
    if moments is None:
        raise TableError(f"{files.name}: column {name!r} holds a date outside the years 1 to 9999")
    if files.kind == "duckdb":
        return [cell_text(moment) for moment in moments.astype("datetime64[us]").tolist()]
    return [*moment_texts(moments, name, files.name)]
