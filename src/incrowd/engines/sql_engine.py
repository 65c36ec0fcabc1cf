"""What all engines do in SQL: rows are coded, counted, cut and joined where they are.

Rows are coded once: the codes of all quasi-identifiers in a few whole numbers (fields of bits), sensitive and
kept columns as they are. Everything that is written lies in a private folder, until the release is published.
Statements are DuckDB's; a session of another database translates them. Files of the private folder are also
read here, beside the program, by DuckDB: distinct records on their way to the kernels, and the rows of the
release on their way to its files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.assign import Entropy, system
from incrowd.engines.base import (
    ALL_CODES,
    Block,
    Bounds,
    ClassCells,
    CutTree,
    Frequencies,
    Histogram,
    Ints,
    Lookup,
    OpenedTable,
    SampledRows,
    TallyOf,
    TooMany,
    Tuples,
    Zone,
    ZonesOf,
)
from incrowd.engines.lookups import Coded, write_codes
from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, Session, parquet_sql, remove
from incrowd.engines.sources import BYTES_A_TEXT, FAR_TOO_MANY, frequencies, opened
from incrowd.engines.table_files import TableFiles, TextTable
from incrowd.engines.writing import ShuffledRows, write_rows, write_witness
from incrowd.errors import TableError
from incrowd.flow import Codes

BITS_A_WORD = 62


@dataclass(frozen=True, slots=True)
class Field:
    """The bits of one column: those of a word from `shift` on."""

    word: int
    shift: int
    bits: int

    @property
    def read(self) -> str:
        return f"CAST({self.wide} AS INTEGER)"

    @property
    def wide(self) -> str:
        """The same as it is, of 64 bits: where rows are only counted, the narrower form costs more."""
        return f"((k{self.word} >> {self.shift}) & {(1 << self.bits) - 1})"


def fields_of(bits: Sequence[int]) -> list[Field]:
    """Columns side by side in as few words as hold them.

    Examples
    --------
    >>> [field.word for field in fields_of([30, 30, 3])]
    [0, 0, 1]
    """
    found: list[Field] = []
    word, used = 0, 0
    for each in bits:
        if used + each > BITS_A_WORD:
            word, used = word + 1, 0
        found.append(Field(word, used, each))
        used += each
    return found


class SqlEngine(ABC):
    """An `Engine` over a session whose private folder is given; `local` is DuckDB beside the program."""

    name = "duckdb"
    row_number = ""  # a column row_ of the coded rows, where an engine needs it

    def __init__(
        self,
        session: Session,
        local: DuckSession,
        files: TableFiles,
        folder: Path,
        resources: Resources,
        wanted: Sequence[str],
        entropy: Entropy = system,
    ) -> None:
        self.session, self.local, self.folder = session, local, folder
        self.files, self._resources, self._wanted, self._entropy = files, resources, wanted, entropy
        self.table: TextTable
        self._fields: list[Field] = []
        self._values = 0
        self.private: tuple[str, ...] = ()
        self._tuple_words: list[Ints] = []
        self._tuple_weights: Codes = np.zeros(0, np.int32)
        self._without_row = 0

    # What the table holds

    def open(self) -> OpenedTable:
        self.table = opened(self.session, self.local, self.files, self.folder, self._wanted)
        return OpenedTable(self.table.names, self.table.rows, tuple(self.table.notes))

    def beside(self, files: TableFiles, name: str, wanted: Sequence[str]) -> TextTable:
        """Another table, which people of this one are joined with; what must be copied is, under a name."""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        return opened(self.session, self.local, files, folder, wanted, name)

    def domain(self, column: str, table: TextTable | None = None) -> Frequencies:
        """The distinct texts of a column with their counts, of the table or of one beside it."""
        most = self._resources.memory // BYTES_A_TEXT
        return frequencies(self.session, table or self.table, column, most, self.files.name)

    # Codes

    @property
    def _words(self) -> list[str]:
        return [f"k{word}" for word in range(self._fields[-1].word + 1)]

    @property
    def coded(self) -> str:
        return parquet_sql(self.folder / "coded.parquet")

    def encode(self, quasi: Sequence[Lookup], values: Sequence[Lookup], private: Sequence[str]) -> None:
        self._fields = fields_of([lookup.bits for lookup in quasi])
        self._values, self.private = len(values), tuple(private)
        words = [
            " | ".join(
                f"({{{j}}}::BIGINT << {field.shift})"
                for j, field in enumerate(self._fields)
                if field.word == word
            )
            for word in range(self._fields[-1].word + 1)
        ]
        shown = [f"{word} AS k{place}" for place, word in enumerate(words)]
        shown += [f"{{{len(quasi) + place}}} AS s{place}" for place in range(len(values))]
        kept = [f"{self.table.text(name)} AS p{place}" for place, name in enumerate(private)]
        kept += [self.row_number] if self.row_number else []
        write_codes(
            self.session,
            self.table,
            (*quasi, *values),
            Coded(tuple(shown), tuple(kept), tuple(private)),
            self.folder / "coded.parquet",
        )
        self._check(self.session.number(f"SELECT count(*) FROM {self.coded}"), "coding the rows")

    def distinct(self, limit: int) -> Tuples | TooMany:
        keys = [*self._words, *(f"s{place}" for place in range(self._values))]
        shown = ", ".join(keys)
        about = self.session.number(f"SELECT approx_count_distinct(hash({shown})) FROM {self.coded}")
        if about > FAR_TOO_MANY * limit:
            return TooMany(about)
        self.session.run(
            f"CREATE OR REPLACE TEMP TABLE tuples AS SELECT {shown}, count(*)::INTEGER AS w "
            f"FROM {self.coded} GROUP BY {shown}"
        )
        many = self.session.number("SELECT count(*) FROM tuples")
        if many > limit:
            self.session.run("DROP TABLE tuples")
            return TooMany(many)
        found = self.session.arrays("SELECT * FROM tuples")
        self.session.run("DROP TABLE tuples")
        self._check(int(found["w"].sum(dtype=np.int64)), "counting distinct records")
        return self._tuples(found)

    def _tuples(self, found: Mapping[str, NDArray[Any]]) -> Tuples:
        self._tuple_words = [found[word].astype(np.int64, copy=False) for word in self._words]
        values = tuple(found[f"s{place}"].astype(np.int32) for place in range(self._values))
        weights = self._tuple_weights = found["w"].astype(np.int32, copy=False)
        return Tuples(self._unpacked(self._tuple_words), weights, values)

    def _unpacked(self, words: Sequence[Ints]) -> Codes:
        codes = np.empty((words[0].size, len(self._fields)), np.int32)
        for j, field in enumerate(self._fields):
            codes[:, j] = (words[field.word] >> field.shift) & ((1 << field.bits) - 1)
        return codes

    def assign(self, classes: Codes, node: int | None = None) -> None:
        """The map of tuples to classes, as a file: of all, or of one block; those of class -1 have no row."""
        without = np.flatnonzero(classes < 0)
        self._without_row += int(self._tuple_weights[without].sum(dtype=np.int64))
        columns = dict(zip(self._words, self._tuple_words, strict=True)) | {"g": classes}
        self.local.load("map_", columns, {"g": "INTEGER"})
        folder = self.folder / "classes"
        folder.mkdir(mode=0o700, exist_ok=True)
        name = "all" if node is None else str(node)
        # with sensitive values several lines may say the same of one tuple
        only = "SELECT DISTINCT" if self._values else "SELECT"
        self.local.save(f"{only} * FROM map_ WHERE g >= 0", folder / f"{name}.parquet")
        self.local.run("DROP TABLE map_")
        self._tuple_words = []

    @property
    def classes(self) -> str:
        """The class g of every tuple, by its words."""
        return parquet_sql(self.folder / "classes" / "*.parquet")

    # Cutting where the rows are

    def _node(self, tree: CutTree, said: Mapping[int, str] | None = None, node: int = 0) -> str:
        """The leaf of a row, as SQL; or what is `said` at some leaves, and NULL at others."""
        cut = tree.cuts.get(node)
        if cut is None:
            return str(node) if said is None else said.get(node, "NULL")
        spans = " ".join(
            f"WHEN q{cut.column} BETWEEN {span.low} AND {span.high} THEN {self._node(tree, said, span.child)}"
            for span in cut.spans
        )
        return f"CASE {spans} ELSE {self._node(tree, said, cut.otherwise)} END"

    def _rows(self) -> str:
        """All rows as codes."""
        codes = ", ".join(f"{field.wide} AS q{j}" for j, field in enumerate(self._fields))
        values = "".join(f", s{place}" for place in range(self._values))
        return f"(SELECT {codes}{values} FROM {self.coded}) c"

    def _in_nodes(self, tree: CutTree, nodes: Sequence[int]) -> str:
        """The rows of some leaves, with node and codes."""
        every = set(tree.leaves()) <= set(nodes)  # to filter takes longer than to count
        said = None if every else {node: str(node) for node in nodes}
        noded = f"(SELECT {self._node(tree, said)} AS node, * FROM {self._rows()}) n"
        return noded if every else f"(SELECT * FROM {noded} WHERE node IS NOT NULL) r"

    def node_stats(self, tree: CutTree, nodes: Sequence[int]) -> Bounds:
        d = len(self._fields)
        ends = ", ".join(f"min(q{j}), max(q{j})" for j in range(d))
        found = self.session.rows(
            f"SELECT node, count(*), {ends} FROM {self._in_nodes(tree, nodes)} GROUP BY node"
        )
        by_node = {row[0]: row[1:] for row in found}
        table = np.array([by_node[node] for node in nodes], np.int64)
        return Bounds(table[:, 0], table[:, 1::2], table[:, 2::2])

    def node_tallies(self, tree: CutTree, wanted: Sequence[TallyOf]) -> list[tuple[Ints, Ints]]:
        """What is counted is said where the row's leaf is found: to compare leaves again takes longer."""
        said = {ask.node: _counted(place, ask) for place, ask in enumerate(wanted)}
        if len(said) < len(wanted):
            raise ValueError("a node is asked about one column at a time")
        found = self.session.arrays(
            f"SELECT x, count(*) AS n FROM (SELECT {self._node(tree, said)} AS x FROM {self._rows()}) "
            "WHERE x IS NOT NULL GROUP BY x ORDER BY x"
        )
        key, count = found["x"].astype(np.int64), found["n"].astype(np.int64)
        ends = np.searchsorted(key, np.arange(len(wanted) + 1) << 32)
        return [
            (key[a:b] & 0xFFFFFFFF, count[a:b])
            for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]

    def node_zones(self, tree: CutTree, wanted: Sequence[ZonesOf]) -> Mapping[int, list[Zone]]:
        d = len(self._fields)
        nodes = list(dict.fromkeys(ask.node for ask in wanted))
        slots = max(sum(ask.node == node for ask in wanted) for node in nodes)
        zones = []
        for slot in range(slots):
            cases = " ".join(
                f"WHEN {node} THEN {_zone(own[slot])}"
                for node in nodes
                if len(own := [ask for ask in wanted if ask.node == node]) > slot
            )
            zones.append(f"CASE node {cases} ELSE 0 END AS z{slot}")
        names = ", ".join(f"z{slot}" for slot in range(slots))
        ends = ", ".join(f"min(q{j}), max(q{j})" for j in range(d))
        found = self.session.rows(
            f"SELECT node, {names}, {ends} FROM (SELECT *, {', '.join(zones)} "
            f"FROM {self._in_nodes(tree, nodes)}) GROUP BY node, {names}"
        )
        by_node: dict[int, list[Zone]] = {node: [] for node in nodes}
        for node, *rest in found:
            ends_of = rest[slots:]
            by_node[node].append(Zone(tuple(rest[:slots]), tuple(ends_of[::2]), tuple(ends_of[1::2])))
        return by_node

    def node_values(
        self, tree: CutTree, wanted: Sequence[ZonesOf], column: int
    ) -> Mapping[int, Mapping[int, frozenset[int]]]:
        nodes = [ask.node for ask in wanted]
        zones = " ".join(f"WHEN {ask.node} THEN {_zone(ask)}" for ask in wanted)
        found = self.session.arrays(
            f"SELECT DISTINCT node, CASE node {zones} END AS zone, q{column} AS code "
            f"FROM {self._in_nodes(tree, nodes)}"
        )
        codes: dict[int, dict[int, set[int]]] = {node: {} for node in nodes}
        for node, zone, code in zip(
            *(found[name].tolist() for name in ("node", "zone", "code")), strict=True
        ):
            codes[node].setdefault(zone, set()).add(code)
        return {node: {zone: frozenset(met) for zone, met in zones.items()} for node, zones in codes.items()}

    def node_histograms(self, tree: CutTree, nodes: Sequence[int], value: int) -> Mapping[int, Histogram]:
        found = self.session.arrays(
            f"SELECT node, s{value} AS code, count(*) AS n FROM {self._in_nodes(tree, nodes)} "
            "GROUP BY node, code ORDER BY node, code"
        )
        node, code, count = (found[name].astype(np.int64) for name in ("node", "code", "n"))
        ends = [(node.searchsorted(each), node.searchsorted(each, "right")) for each in nodes]
        return {each: Histogram(code[a:b], count[a:b]) for each, (a, b) in zip(nodes, ends, strict=True)}

    def blocks(self, tree: CutTree) -> Iterator[Block]:
        codes = ", ".join(f"{field.read} AS q{j}" for j, field in enumerate(self._fields))
        folder = self.folder / "blocks"
        words = ", ".join([*self._words, *(f"s{place}" for place in range(self._values))])
        self.session.save(
            f"SELECT {words}, {self._node(tree)} AS node FROM (SELECT {words}, {codes} FROM {self.coded}) c",
            folder,
            by="node",
        )
        done = 0
        for node in tree.leaves():
            rows = parquet_sql(folder / f"node={node}" / "*.parquet")
            found = self.local.arrays(f"SELECT {words}, count(*)::INTEGER AS w FROM {rows} GROUP BY {words}")
            block = Block(node, self._tuples(found))
            done += int(block.tuples.weights.sum(dtype=np.int64))
            yield block
            for part in (folder / f"node={node}").iterdir():
                part.unlink()
        self._check(done, "cutting block by block")

    # Rows of the release

    @property
    def _class_key(self) -> str:
        """The columns of the coded rows by which `classes` gives each its class."""
        return ", ".join(self._words)

    def sample(self, about: int) -> SampledRows:
        return self._sampled(f"{{}} c JOIN {self.classes} m USING ({self._class_key})", self.coded, about)

    def _sampled(self, rows: str, drawn_from: str, about: int, session: Session | None = None) -> SampledRows:
        """Rows with words, g and private texts; `rows` says what is joined to those that are drawn."""
        asked, share = session or self.session, about / max(self.table.rows, 1)
        drawn = "drawn_" if share < 1 else drawn_from
        if share < 1:  # first, so that the few rows look up the many classes, and not the other way round
            some = f"SELECT * FROM {drawn_from} WHERE random() < {share:.12f}"
            asked.run(f"CREATE OR REPLACE TEMP TABLE drawn_ AS {some}")
        private = [f"p{place}" for place in range(len(self.private))]
        found = asked.arrays(f"SELECT {', '.join([*self._words, 'g', *private])} FROM {rows.format(drawn)}")
        if share < 1:
            asked.run("DROP TABLE drawn_")
        texts = {name: found[cell].tolist() for name, cell in zip(self.private, private, strict=True)}
        codes = self._unpacked([found[word].astype(np.int64, copy=False) for word in self._words])
        return SampledRows(codes, found["g"].astype(np.int32), texts)

    def shuffle(self) -> None:
        self._shuffle()
        rows = self.local.number(f"SELECT count(*) FROM {self._shuffled.sql}")
        self._check(rows, "shuffling the rows", self.table.rows - self._without_row)

    @abstractmethod
    def _shuffle(self) -> None:
        """Write `shuffled.parquet`, a file or a folder of files: class g and private texts p0, p1, …"""

    def publish(self, classes: ClassCells, columns: Sequence[str], target: Path, form: str) -> Sequence[Path]:
        return write_rows(self._shuffled, classes, columns, target, form)

    def single_valued(self, column: str) -> int:
        """How many rows are in classes with a single text of a private column, NULL being the empty one."""
        text = f"coalesce(p{self.private.index(column)}, '')"
        return self.local.number(
            f"SELECT sum(n) FROM (SELECT count(*) AS n FROM {self._shuffled.sql} GROUP BY g "
            f"HAVING min({text}) = max({text}))"
        )

    def witness(self, classes: ClassCells, target: Path) -> None:
        codes = ", ".join(f"{field.read} AS q{j}" for j, field in enumerate(self._fields))
        write_witness(self.local, classes, f"(SELECT {codes}, g FROM {self.classes}) d", target)

    @property
    def _shuffled(self) -> ShuffledRows:
        return ShuffledRows(self.local, self.folder, self.private)

    def forget(self) -> None:
        """Remove the codes and sorted rows: what follows reads the table and the release alone."""
        for path in (self.folder / "coded.parquet", self._shuffled.path):
            remove(path)

    def _check(self, rows: int, step: str, wanted: int | None = None) -> None:
        """No row may come or go on the way."""
        if rows != (there := self.table.rows if wanted is None else wanted):
            raise TableError(
                f"after {step} there are {rows:,} rows, and there were {there:,}; "
                "did the table change meanwhile? Nothing was published"
            )


def _counted(place: int, ask: TallyOf) -> str:
    """What a row of a node counts as, as SQL: the place of the question and the code, or nothing."""
    code = f"q{ask.column} >> {ask.shift}" if ask.shift else f"q{ask.column}"
    counted = f"{place}::BIGINT << 32 | ({code})"
    if (ask.first, ask.last) == (0, ALL_CODES):
        return f"({counted})"
    return f"CASE WHEN q{ask.column} BETWEEN {ask.first} AND {ask.last} THEN {counted} END"


def _zone(ask: ZonesOf) -> str:
    """The number of the zone of a row, as SQL."""
    return " + ".join(f"(q{ask.column} >= {start})::INTEGER" for start in ask.starts) or "0"
