"""Tables and queries of databases: SQLite and DuckDB files, PostgreSQL servers. Nothing is ever written.

`sql` is the name of a table or a query. Without it, a database of a single table is that table.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from incrowd.errors import TableError, option
from incrowd.flow import Table
from incrowd.tables.checked_files import check_names, check_size, check_texts, chosen
from incrowd.tables.texts import cell_text, column_of
from incrowd.tables.typed_rows import TypedRows

_QUERY = re.compile(r"\s*(?:SELECT|WITH|FROM|VALUES|TABLE)\b", re.IGNORECASE)
_MOST_NAMED = 20
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_ROWS_AT_ONCE = 10_000


def _statement(sql: str, tables: Sequence[str], source: str) -> tuple[str, str]:
    """The query to run, and what to say of it."""
    if not sql and len(tables) == 1:
        sql = tables[0]
    if not sql:
        shown = ", ".join(sorted(tables)[:_MOST_NAMED]) or "none"
        raise TableError(
            f"{source} has {len(tables)} tables: {shown}; say which, or a query, with {option('sql')}"
        )
    if sql in tables:
        quoted = sql.replace('"', '""')
        return f'SELECT * FROM "{quoted}"', f"table {sql}"  # noqa: S608 -- a name of the database, quoted
    if not _QUERY.match(sql):
        raise TableError(f"{source} has no table of the name that {option('sql')} gives, and it is no query")
    return sql, "the result of a query"


def read_sqlite(path: Path, source: str, columns: Sequence[str] | None, sql: str) -> Table:
    """Read from an SQLite file, which is opened so that nothing can be written or attached."""
    with _named(source, sqlite3.Error):
        uri = f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1"
        session = sqlite3.connect(uri, uri=True)
        with contextlib.closing(session):
            session.execute("PRAGMA trusted_schema = OFF")
            session.set_authorizer(_only_reading)
            listed = session.execute(
                "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')"
            ).fetchall()
            tables = [name for (name,) in listed if not name.startswith("sqlite_")]
            query, note = _statement(sql, tables, source)
            found = session.execute(query)
            names = [column[0] for column in found.description]
            return _table(names, found, source, columns, note)


def _only_reading(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READS else sqlite3.SQLITE_DENY


def read_duckdb(descriptor: int, sql: str) -> TypedRows:
    """Read from a DuckDB file; only run inside the child of `isolated_reader`."""
    import duckdb

    from incrowd.tables.parquet_child import connection

    path = f"/dev/fd/{descriptor}"
    try:
        with connection(path, attached=path) as session:
            listed = session.execute(
                "SELECT table_name FROM duckdb_tables() WHERE NOT internal "
                "UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
            ).fetchall()
            tables = [name for (name,) in listed]
            query, note = _statement(sql, tables, "")
            found = session.execute(query)
            names = [column[0] for column in found.description or ()]
            return TypedRows(names, found.fetchall(), [note])
    except duckdb.Error:
        pass
    raise TableError("is not a DuckDB database of a version that is read, or the query is wrong")


def read_postgres(address: str, columns: Sequence[str] | None, sql: str) -> Table:
    """Read from a PostgreSQL server, in a transaction that may only read."""
    try:
        import psycopg
    except ImportError:
        raise TableError("to read from PostgreSQL, run: pip install 'incrowd[postgres]'") from None
    source = "the database"
    with _named(source, psycopg.Error), psycopg.connect(address, connect_timeout=30) as session:
        session.read_only = True
        listed = session.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        query, note = _statement(sql, [row[0] for row in listed], source)
        with session.cursor("incrowd") as found:
            found.itersize = _ROWS_AT_ONCE
            found.execute(query)  # a query of the user's own
            names = [column.name for column in found.description or ()]
            return _table(names, found, source, columns, note)


@contextlib.contextmanager
def _named(source: str, *errors: type[Exception]) -> Iterator[None]:
    """A database's own words may quote data, or the password of an address."""
    kind = ""
    try:
        yield
    except errors as problem:
        kind = type(problem).__name__
    if kind:
        raise TableError(f"{source} cannot be read, or the query is wrong ({kind})")


def _table(
    names: Sequence[str], rows: Iterable[Sequence[Any]], source: str, columns: Sequence[str] | None, note: str
) -> Table:
    check_names(names, source)
    coders = [_Coder(name, source) for name in names]
    codes: list[list[int]] = [[] for _ in names]
    for row in rows:
        for place, value in enumerate(row):
            codes[place].append(coders[place](value))
    check_size(len(codes[0]), source)
    places = chosen(names, columns)
    read = []
    for place in places:
        texts = list(coders[place].texts)
        check_texts(texts, names[place], source)
        read.append(column_of(np.array(codes[place], np.int64), texts))
    return Table(tuple(names[place] for place in places), tuple(read), (f"{source}: {note}",))


class _Coder:
    """Numbers the values of a column by their texts."""

    def __init__(self, name: str, source: str) -> None:
        self._name, self._source = name, source
        self._known: dict[tuple[type, Any], int] = {}
        self.texts: dict[str | None, int] = {}

    def __call__(self, value: Any) -> int:
        try:
            known = self._known.get((type(value), value))
            if known is None:
                known = self.texts.setdefault(cell_text(value), len(self.texts))
                self._known[type(value), value] = known
            return known
        except TypeError:
            pass
        raise TableError(
            f"{self._source}: column {self._name!r} is not of a plain type; cast it to text, numbers or dates"
        )
