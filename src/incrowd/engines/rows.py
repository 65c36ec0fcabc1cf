"""Rows that are read by incrowd itself, copied into Parquet files of the private folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.session import DuckSession, quoted_text
from incrowd.engines.table_files import TableFiles, TextTable
from incrowd.engines.texts import Blocks
from incrowd.errors import TableError, option
from incrowd.flow import Table
from incrowd.tables.checked_files import NotThisEncoding, check_names
from incrowd.tables.texts import cell_text
from incrowd.values import same_name

AT_ONCE = 50_000
ROWS_A_PART = 1_000_000
Texts = list[NDArray[Any]]  # a column each, of texts and None


def copied_rows(session: DuckSession, files: TableFiles, folder: Path, wanted: Sequence[str]) -> TextTable:
    """The wanted columns of a table, copied; of the others the names stay, and no cell."""
    target = folder / "rows"
    target.mkdir(mode=0o700)
    if files.kind == "texts":
        return _copied_texts(session, Blocks(files.given), target, wanted)
    names, batches, note = _sqlite(files) if files.kind == "sqlite" else _postgres(files)
    check_names(names, files.name)
    copy = _Copy(session, target, names, wanted)
    for batch in batches:
        copy.take([batch[place] for place in copy.places])
    return copy.table([note])


def _copied_texts(session: DuckSession, blocks: Blocks, target: Path, wanted: Sequence[str]) -> TextTable:
    try:
        return _copied_once(session, blocks, target, wanted)
    except NotThisEncoding:
        if not blocks.may_be_western:
            raise
    for part in target.iterdir():
        part.unlink()
    return _copied_once(session, blocks, target, wanted)


def _copied_once(session: DuckSession, blocks: Blocks, target: Path, wanted: Sequence[str]) -> TextTable:
    copy: _Copy | None = None
    for block in blocks:
        copy = copy or _Copy(session, target, block.names, wanted)
        copy.take([_spread(block, place) for place in copy.places])
    if copy is None:
        raise TableError(f"{blocks.name} has column names but no rows; there is nothing to publish")
    return copy.table(blocks.notes)


def _spread(block: Table, place: int) -> NDArray[Any]:
    column = block.columns[place]
    texts = np.empty(len(column.texts), object)
    texts[:] = column.texts
    return texts[column.codes]


class _Copy:
    """The Parquet files of a copy, one for each million rows."""

    def __init__(
        self, session: DuckSession, target: Path, names: Sequence[str], wanted: Sequence[str]
    ) -> None:
        self._session, self._target, self._names = session, target, tuple(names)
        self.places = [place for place, name in enumerate(names) if same_name(name) in wanted] or [0]
        self._columns = [f"c{place}" for place in self.places]
        self._waiting, self._rows, self._parts = 0, 0, 0
        columns = ", ".join(f"{name} VARCHAR" for name in self._columns)
        session.run(f"CREATE OR REPLACE TEMP TABLE waiting_ ({columns})")

    def take(self, texts: Texts) -> None:
        cells = dict(zip(self._columns, texts, strict=True))
        self._session.append("waiting_", cells, dict.fromkeys(cells, "VARCHAR"))
        self._waiting += texts[0].size
        if self._waiting >= ROWS_A_PART:
            self._write()

    def _write(self) -> None:
        path = quoted_text(str((self._target / f"{self._parts:06}.parquet").absolute()))
        self._session.run(f"COPY waiting_ TO {path} (FORMAT parquet)")
        self._session.run("DELETE FROM waiting_")
        self._parts, self._rows, self._waiting = self._parts + 1, self._rows + self._waiting, 0

    def table(self, notes: Sequence[str]) -> TextTable:
        if self._waiting or not self._parts:
            self._write()
        self._session.run("DROP TABLE waiting_")
        shown = ", ".join(
            f"c{place}" if place in self.places else f"NULL::VARCHAR AS c{place}"
            for place in range(len(self._names))
        )
        pattern = quoted_text(f"{self._target.absolute()}/*.parquet")
        relation = f"(SELECT {shown} FROM read_parquet({pattern}, hive_partitioning = false)) t"
        return TextTable(self._names, relation, ("VARCHAR",) * len(self._names), self._rows, list(notes))


def _batches(rows: Iterator[Sequence[Any]], names: Sequence[str], source: str) -> Iterator[Texts]:
    """Rows of values as columns of texts, some at a time."""
    while block := list(islice(rows, AT_ONCE)):
        columns = []
        for name, values in zip(names, zip(*block, strict=True), strict=True):
            texts = np.empty(len(block), object)
            texts[:] = _cell_texts(values, name, source)
            columns.append(texts)
        yield columns


def _cell_texts(values: Sequence[Any], name: str, source: str) -> list[str | None]:
    try:
        return [*map(cell_text, values)]
    except TypeError:
        pass  # raised below, where no exception that holds a cell is around
    raise TableError(f"{source}: column {name!r} is not of a plain type; cast it to text, numbers or dates")


def _sqlite(files: TableFiles) -> tuple[list[str], Iterator[Texts], str]:
    path, problem = files.files[0], ""
    with ExitStack() as opened:
        try:
            uri = f"file:{quote(str(path.resolve()))}?mode=ro"
            session = opened.enter_context(closing(sqlite3.connect(uri, uri=True)))
            session.execute("PRAGMA query_only = ON")
            listed = session.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
            tables = [name for (name,) in listed if not name.startswith("sqlite_")]
            query, note = _query(files.given.sql, tables, files.name)
            found = session.execute(query)
            names = [column[0] for column in found.description]
        except sqlite3.Error as fault:
            problem = type(fault).__name__
        if problem:
            raise TableError(f"{files.name} cannot be read, or the query is wrong ({problem})")
        opened.pop_all()  # whoever reads the rows closes it

    def batches() -> Iterator[Texts]:
        with closing(session):
            yield from _batches(found, names, files.name)

    return names, batches(), note


def _postgres(files: TableFiles) -> tuple[list[str], Iterator[Texts], str]:
    try:
        import psycopg
    except ImportError:
        raise TableError("to read from PostgreSQL, run: pip install 'incrowd[postgres]'") from None
    problem = ""
    try:
        session = psycopg.connect(str(files.given.path), connect_timeout=30)
        session.read_only = True
        listed = session.execute(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        query, note = _query(files.given.sql, [row[0] for row in listed], files.name)
        found = session.cursor("incrowd")
        found.itersize = AT_ONCE
        found.execute(query)  # a query of the user's own
        names = [column.name for column in found.description or ()]
    except psycopg.Error as fault:
        problem = type(fault).__name__
    if problem:
        raise TableError(f"{files.name} cannot be read, or the query is wrong ({problem})")

    def batches() -> Iterator[Texts]:
        with session, found:
            yield from _batches(iter(found), names, files.name)

    return names, batches(), note


def _query(sql: str, tables: Sequence[str], source: str) -> tuple[str, str]:
    """The query to run, and what to say of it."""
    chosen = sql or (tables[0] if len(tables) == 1 else "")
    if chosen in tables:
        doubled = chosen.replace('"', '""')
        return f'SELECT * FROM "{doubled}"', f"{source}: table {chosen}"
    if not chosen or not chosen.lstrip().upper().startswith(("SELECT", "WITH")):
        shown = ", ".join(sorted(tables)[:20]) or "none"
        raise TableError(
            f"{source} has {len(tables)} tables: {shown}; say which, or a query, with {option('sql')}"
        )
    return chosen, f"{source}: a query"
