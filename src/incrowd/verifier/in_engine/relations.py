"""Tables inside a database: what a session can be asked, and CSV files that are brought into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.columns import Ints, Restoring, RowSource, blocks_of
from incrowd.verifier.failure import CheckFailed, require

ROWS_AT_ONCE = 1_000_000
BITS_A_WORD = 62


class SqlSession(Protocol):
    """A database session. Names of tables are the verifier's own, and end in an underscore."""

    @property
    def joined_at_once(self) -> int:
        """How many rows of a few numbers one side of a join may have."""
        ...

    def run(self, sql: str, *parameters: object) -> None: ...

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]: ...

    def number(self, sql: str) -> int: ...

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]: ...

    def load(
        self, name: str, columns: Mapping[str, NDArray[Any]], types: Mapping[str, str] | None = None
    ) -> None: ...

    def append(
        self, name: str, columns: Mapping[str, NDArray[Any]], types: Mapping[str, str] | None = None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Relation:
    """Rows of texts, as they stand after FROM; ``columns`` are the SQL names of some of the `names`."""

    sql: str
    names: tuple[str, ...]
    columns: Mapping[str, str]
    joined: Mapping[str, str] = field(
        default_factory=dict
    )  # the tables that a column needs, after the relation

    @property
    def source(self) -> str:
        """With all that the columns need."""
        return self.sql + "".join(self.joined.values())

    @property
    def placed(self) -> str:
        """The same, with the place of each row as `place_`: numbered before anything is joined to it.

        A join may hand on rows in another order.
        """
        alias = self.sql.split()[-1]
        alias = alias if alias.isidentifier() else "rows_in_place"
        numbered = f"SELECT *, row_number() OVER () - 1 AS place_ FROM {self.sql}"
        return f"({numbered}) {alias}" + "".join(self.joined.values())

    def source_of(self, name: str) -> str:
        """With all that one of the columns needs."""
        return self.sql + self.joined.get(name, "")


@dataclass(frozen=True, slots=True, eq=False)
class DistinctTexts:
    """The distinct texts of a column, None for NULL, and how many rows have each."""

    texts: Sequence[str | None]
    counts: Ints

    @classmethod
    def of(cls, session: SqlSession, relation: Relation, name: str) -> DistinctTexts:
        found = session.arrays(
            f"SELECT {relation.columns[name]} AS t, count(*) AS n FROM {relation.source_of(name)} GROUP BY 1"
        )
        return cls(found["t"].tolist(), found["n"].astype(np.int64))


def has_both(session: SqlSession, relation: Relation, name: str) -> bool:
    """Are there NULL and the empty text in a column?"""
    text = relation.columns[name]
    found = session.rows(
        f"SELECT count(*) FILTER (WHERE {text} IS NULL), count(*) FILTER (WHERE {text} = '') "
        f"FROM {relation.source_of(name)}"
    )
    return all(found[0])


def text_sql(text: str) -> str:
    """A text where a statement must carry it."""
    return "'" + text.replace("'", "''") + "'"


def parquet_relation(session: SqlSession, files: Sequence[Path]) -> Relation:
    """The rows of Parquet files; columns that are no texts become cells without sense."""
    listed = "[" + ", ".join(text_sql(str(path)) for path in files) + "]"
    source = f"read_parquet({listed}, hive_partitioning = false)"
    described = session.rows(f"DESCRIBE SELECT * FROM {source}")
    columns = {}
    for name, kind, *_ in described:
        quoted = '"' + name.replace('"', '""') + '"'
        columns[name] = quoted if kind == "VARCHAR" else "'['"
    return Relation(source, tuple(row[0] for row in described), columns)


def rows_relation(session: SqlSession, rows: RowSource, numbers: Mapping[str, Any], table: str) -> Relation:
    """A file by the verifier's own reader, as numbers of texts; the texts stand in tables of their own.

    `numbers` gives each wanted column its `Numbering`, or a `Restoring` that undoes a protection.
    """
    places = [(list(rows.names).index(name), each) for name, each in numbers.items()]
    columns = [f"x{place}" for place in range(len(places))]
    types = ", ".join(f"{column} INTEGER" for column in columns)
    session.run(f"CREATE OR REPLACE TEMP TABLE {table} ({types})")
    waiting: list[list[NDArray[np.int32]]] = []
    size = 0
    for block in blocks_of(rows, places, "the file"):
        waiting.append(block)
        size += block[0].size
        if size >= ROWS_AT_ONCE:
            _append(session, table, columns, waiting)
            waiting, size = [], 0
    _append(session, table, columns, waiting)
    shown, joins = {}, {}
    for column, (name, each) in zip(columns, numbers.items(), strict=True):
        met = each.numbers if isinstance(each, Restoring) else each
        _load_texts(session, f"{table}{column}_", list(met))
        joins[name] = f" JOIN {table}{column}_ ON {table}{column}_.number = {table}.{column}"
        shown[name] = f"{table}{column}_.t"
    return Relation(table, tuple(rows.names), shown, joins)


def _append(
    session: SqlSession, table: str, columns: Sequence[str], blocks: Sequence[Sequence[NDArray[np.int32]]]
) -> None:
    if blocks:
        session.append(table, dict(zip(columns, map(np.concatenate, zip(*blocks, strict=True)), strict=True)))


def _load_texts(session: SqlSession, table: str, texts: Sequence[str | None]) -> None:
    found = np.empty(len(texts), object)
    found[:] = texts
    session.load(table, {"number": np.arange(len(texts), dtype=np.int32), "t": found}, {"t": "VARCHAR"})


def load_numbers(session: SqlSession, table: str, texts: Sequence[str | None], numbers: Ints) -> None:
    """A table that gives each text its number; NULL has one, too, where it occurs."""
    found = np.empty(len(texts), object)
    found[:] = texts
    session.load(
        table, {"t": found, "number": numbers.astype(np.int64)}, {"t": "VARCHAR", "number": "BIGINT"}
    )


def joins(tables: Sequence[str], columns: Sequence[str], nulls: Sequence[bool]) -> str:
    """Join tables of numbers by the texts of columns."""
    return "".join(
        f" JOIN {table} ON {table}.t {'IS NOT DISTINCT FROM' if null else '='} {column}"
        for table, column, null in zip(tables, columns, nulls, strict=True)
    )


@dataclass(frozen=True, slots=True)
class Packing:
    """Several numbers in a few words of 62 bits."""

    words: tuple[tuple[tuple[int, int], ...], ...]  # for each word: which number, and its shift

    @classmethod
    def of(cls, sizes: Sequence[int]) -> Packing:
        """For numbers below these sizes.

        Examples
        --------
        >>> len(Packing.of([2**40, 2**30, 5]).words)
        2
        """
        words: list[list[tuple[int, int]]] = [[]]
        used = 0
        if not sizes:
            return cls(())
        for place, size in enumerate(sizes):
            bits = max(1, (size - 1).bit_length())
            require(bits <= BITS_A_WORD, "a column has too many values")
            if used + bits > BITS_A_WORD:
                words.append([])
                used = 0
            words[-1].append((place, used))
            used += bits
        return cls(tuple(map(tuple, words)))

    def sql(self, numbers: Sequence[str], name: str) -> str:
        """The words of some columns, called name0, name1, …"""
        return ", ".join(
            " | ".join(f"({numbers[place]} << {shift})" for place, shift in word) + f" AS {name}{at}"
            for at, word in enumerate(self.words)
        )

    def field(self, place: int, name: str) -> str:
        """One of the numbers, from the words name0, name1, …"""
        for at, word in enumerate(self.words):
            shifts = dict(word)
            if place in shifts:
                above = [shift for shift in shifts.values() if shift > shifts[place]]
                bits = min(above, default=BITS_A_WORD) - shifts[place]
                return f"(({name}{at} >> {shifts[place]}) & {(1 << bits) - 1})"
        raise CheckFailed("there is no such number")

    def names(self, name: str) -> list[str]:
        return [f"{name}{at}" for at in range(len(self.words))]
