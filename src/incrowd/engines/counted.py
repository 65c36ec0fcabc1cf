"""Tables that are asked for counts alone: distinct values and how often they occur come into memory, no rows.

Commands that look at a release do not need its rows, but how often each value, each pair of values or each
combination occurs. Columns become codes once, in a file of a private folder; counts are made there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.engines.base import Frequencies, Lookup, TooMany, Tuples
from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session, parquet_sql
from incrowd.engines.sources import BYTES_A_TEXT, FAR_TOO_MANY, frequencies, opened
from incrowd.engines.table_files import TableFiles, TextTable
from incrowd.errors import TableError, option, unknown
from incrowd.flow import Table, TextColumn
from incrowd.tables import protected, unprotected
from incrowd.values import same_name

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CodedRows:
    """The rows of a table as codes, in the columns q0, q1, … of a file."""

    session: DuckSession
    relation: str
    rows: int

    def check(self, rows: int) -> None:
        """No row may come or go on the way."""
        if rows != self.rows:
            raise TableError(
                f"{rows:,} rows were counted, and there were {self.rows:,}; did a table change meanwhile? "
                "Nothing is said about it"
            )

    def pairs(self, first: int, second: int, limit: int) -> tuple[Ints, Ints, Ints]:
        """The pairs of codes of two columns that occur, and how many rows have each."""
        found = self.session.arrays(
            f"SELECT q{first} AS a, q{second} AS b, count(*) AS n FROM {self.relation} GROUP BY a, b "
            f"LIMIT {limit + 1}"
        )
        if found["n"].size > limit:
            raise TableError(
                f"two columns have more than {limit:,} pairs of cells, too many for the memory; raise "
                f"{option('memory')}"
            )
        return found["a"].astype(np.int64), found["b"].astype(np.int64), found["n"].astype(np.int64)

    def distinct(self, columns: Sequence[int], limit: int) -> Tuples | TooMany:
        """The combinations of codes of these columns that occur, if they are at most so many."""
        named = ", ".join(f"q{place}" for place in columns)
        about = self.session.number(f"SELECT approx_count_distinct(hash({named})) FROM {self.relation}")
        if about > FAR_TOO_MANY * limit:
            return TooMany(about)
        found = self.session.arrays(
            f"SELECT {named}, count(*) AS n FROM {self.relation} GROUP BY {named} LIMIT {limit + 1}"
        )
        if found["n"].size > limit:
            return TooMany(int(found["n"].size))
        codes = np.stack([found[f"q{place}"].astype(np.int32) for place in columns], axis=1)
        self.check(int(found["n"].sum(dtype=np.int64)))
        return Tuples(codes, found["n"].astype(np.int32))

    def class_sizes(self, columns: Sequence[int]) -> tuple[Ints, Ints]:
        """The sizes that groups of equal rows have, ascending, and how many groups have each."""
        named = ", ".join(f"q{place}" for place in columns)
        found = self.session.arrays(
            f"SELECT n, count(*) AS classes FROM (SELECT count(*) AS n FROM {self.relation} "
            f"GROUP BY {named}) GROUP BY n ORDER BY n"
        )
        return found["n"].astype(np.int64), found["classes"].astype(np.int64)

    def values_by_class(self, columns: Sequence[int], value: int) -> tuple[int, int]:
        """How many codes of another column a group of equal rows has at the fewest; rows of groups with one.

        Counted in two steps: a group may have very many values, and none is held twice.
        """
        named = ", ".join(f"q{place}" for place in columns)
        pairs = f"SELECT {named}, q{value}, count(*) AS n FROM {self.relation} GROUP BY {named}, q{value}"
        groups = f"SELECT count(*) AS v, sum(n) AS n FROM ({pairs}) GROUP BY {named}"
        fewest, alone = self.session.rows(f"SELECT min(v), sum(n) FILTER (v = 1) FROM ({groups})")[0]
        return int(fewest or 0), int(alone or 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Met:
    """The distinct texts of a column as a file has them, and which text each of them means."""

    raw: tuple[str | None, ...]
    means: Ints
    found: Frequencies


@dataclass(eq=False)
class CountedTable:
    """A table whose rows stay where they are, by the names that its columns have for readers.

    Of a CSV file of a release (``written_by_us``), what is protected from spreadsheets is read as it was.
    """

    session: DuckSession
    table: TextTable
    source: str
    most: int  # distinct texts of a column
    folder: Path
    written_by_us: bool = False
    _met: dict[str, _Met] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(self._read, self.table.names))

    @property
    def rows(self) -> int:
        return self.table.rows

    def _read(self, text: str) -> str:
        return unprotected(text) if self.written_by_us else text

    def texts(self, column: str) -> Frequencies:
        """The distinct texts of a column, and how many rows have each."""
        return self._distinct(column).found

    def _distinct(self, column: str) -> _Met:
        if column not in self._met:
            raw = frequencies(self.session, self.table, self._own(column), self.most, self.source)
            place: dict[str | None, int] = {}
            read = (None if text is None else self._read(text) for text in raw.texts)
            means = np.fromiter((place.setdefault(text, len(place)) for text in read), np.int64)
            counts = np.bincount(means, raw.counts, len(place)).astype(np.int64)  # exact below 2^53
            self._met[column] = _Met(raw.texts, means, Frequencies(tuple(place), counts))
        return self._met[column]

    def lookup(self, column: str) -> Lookup:
        """Every text of a column has a code of its own."""
        texts = self.texts(column).texts
        return Lookup(column, texts, np.arange(len(texts), dtype=np.int32), len(texts))

    def _own(self, column: str) -> str:
        """The name that the file has for a column."""
        if column not in self.names:
            raise TableError(unknown(f"in {self.source}", [column], self.names))
        return self.table.names[self.names.index(column)]

    def coded(self, lookups: Sequence[Lookup], name: str) -> CodedRows:
        """Rows as codes; the texts of each lookup are those of `texts`, in their order."""
        cells, joins = [], ""
        for place, lookup in enumerate(lookups):
            met, here = self._distinct(lookup.name), f"{name}{place}_"
            texts = np.empty(len(met.raw), object)
            texts[:] = met.raw
            columns = {"text": texts, "code": lookup.codes[met.means]}
            self.session.load(here, columns, {"text": "VARCHAR", "code": "INTEGER"})
            same = "IS NOT DISTINCT FROM" if None in met.raw else "="
            joins += f" JOIN {here} ON {here}.text {same} {self.table.text(self._own(lookup.name))}"
            cells.append(f"{here}.code AS q{place}")
        path = self.folder / f"{name}.parquet"
        relation = self.table.joined(dict.fromkeys(self._own(lookup.name) for lookup in lookups))
        self.session.save(f"SELECT {', '.join(cells)} FROM {relation}{joins}", path)
        for place in range(len(lookups)):
            self.session.run(f"DROP TABLE {name}{place}_")
        rows = CodedRows(self.session, parquet_sql(path), self.rows)
        rows.check(self.session.number(f"SELECT count(*) FROM {rows.relation}"))
        return rows

    def combined(self, columns: Sequence[str], limit: int) -> tuple[Table, Ints] | TooMany:
        """The distinct combinations of texts, and how many rows have each, if they are at most so many."""
        met = {name: self.texts(name) for name in columns}
        lookups = [self.lookup(name) for name in columns]
        found = self.coded(lookups, "combined").distinct(range(len(lookups)), limit)
        if isinstance(found, TooMany):
            return found
        codes = [np.ascontiguousarray(found.codes[:, place]) for place in range(len(lookups))]
        texts = [TextColumn(*each) for each in zip(codes, (each.texts for each in met.values()), strict=True)]
        return Table(tuple(met), tuple(texts)), found.weights.astype(np.int64)

    def first(self, columns: Sequence[str], count: int) -> Table:
        """So many rows, as they come."""
        own = [self._own(name) for name in columns]
        cells = ", ".join(f"{self.table.text(name)} AS t{place}" for place, name in enumerate(own))
        found = self.session.arrays(f"SELECT {cells} FROM {self.table.joined(own)} LIMIT {count}")
        texts = ([text and self._read(text) for text in array.tolist()] for array in found.values())
        return Table.of(dict(zip(columns, texts, strict=True)))


@dataclass(frozen=True, slots=True)
class CountedFiles:
    """What is to be counted: the files, the columns that are asked about, and what they are called."""

    files: TableFiles
    columns: Sequence[str]
    name: str
    written_by_us: bool = False


@contextmanager
def counted_tables(
    asked: Sequence[CountedFiles], folder: Path, resources: Resources
) -> Iterator[list[CountedTable]]:
    """Tables in one session of DuckDB, which may touch their files and a private folder."""
    attached = [each.files.files[0] for each in asked if each.files.kind == "duckdb"]
    reading = [path for each in asked if each.files.kind != "duckdb" for path in each.files.files]
    with duck_session(folder, resources, reading, attached=next(iter(attached), None)) as session:
        found = []
        for place, each in enumerate(asked):
            here = folder / str(place)
            here.mkdir(mode=0o700)
            wanted = {same_name(form) for name in each.columns for form in (name, protected(name))}
            table = opened(session, session, each.files, here, sorted(wanted), f"texts{place}_")
            most = resources.memory // BYTES_A_TEXT
            found.append(CountedTable(session, table, each.name, most, here, each.written_by_us))
        yield found
