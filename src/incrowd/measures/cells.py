"""The values that a published cell covers, read back from its text.

A cell is read against the column it generalises: every text becomes the set of codes it leaves possible,
kept as runs of neighbouring codes. A value, a range and a tree node are one run, a set is several, and
missing is a code like any other. Texts of other tools are read too: ends of a range need not be values
of the column, blanks may stand around them, and values may stand without the escapes of our own files.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from incrowd.cells import range_ends, set_body, split_atoms
from incrowd.errors import TableError
from incrowd.flow import Attribute, Codes
from incrowd.schema import EVERYTHING, MISSING, Kind, Shape
from incrowd.values import Number, escaped, offsets, read_date, read_number

Run = tuple[int, int]
_MIXING = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15], np.uint64)  # all odd
_COMPARED = 1_000_000  # cells at a time: what is compared is in memory several times over


@dataclass(frozen=True, slots=True, eq=False)
class CellCoverage:
    """What c texts of one column cover.

    ``low``, ``high`` are the smallest and largest real code, -1 where only missing is covered.
    ``lower``, ``upper`` are the ends as written, in the column's own unit (0 where only missing is
    covered, and in columns that are not published as ranges). ``missing`` says whether missing is among
    the covered codes, ``count`` how many codes there are. ``node`` is the tree node (-1 without a tree,
    and for a missing value outside it). Cell i covers the runs ``first[r]..last[r]`` for r in
    ``starts[i]..starts[i+1]-1``, sorted and never touching. ``same[i]`` is the first cell that says the
    same as cell i.
    """

    low: Codes
    high: Codes
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    missing: NDArray[np.bool_]
    count: NDArray[np.int64]
    node: Codes
    starts: NDArray[np.int64]
    first: Codes
    last: Codes
    same: Codes

    def __len__(self) -> int:
        return self.low.size

    def __repr__(self) -> str:
        return f"CellCoverage({len(self)})"

    @property
    def owner(self) -> NDArray[np.int64]:
        """The cell that each run belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @classmethod
    def of_runs(
        cls,
        attribute: Attribute,
        starts: NDArray[np.int64],
        runs: NDArray[np.int32],
        ends: NDArray[np.float64],
        node: Codes,
    ) -> CellCoverage:
        """Cells that cover runs (r, 2) of codes, with the ends (c, 2) that ranges say and the nodes (c,)."""
        size = starts.size - 1
        low, high = _real_ends(runs, starts, attribute.missing)
        owner = np.repeat(np.arange(size), np.diff(starts))
        unknown = (runs[:, 0] <= attribute.missing) & (attribute.missing <= runs[:, 1])
        ends = np.where(((low < 0) | (attribute.shape is not Shape.RANGE))[:, None], 0.0, ends)
        return cls(
            low=low,
            high=high,
            lower=ends[:, 0],
            upper=ends[:, 1],
            missing=np.bincount(owner[unknown], minlength=size) > 0,
            count=np.bincount(owner, runs[:, 1] - runs[:, 0] + 1, size).astype(np.int64),
            node=node,
            starts=starts,
            first=runs[:, 0],
            last=runs[:, 1],
            same=_first_alike(starts, runs, ends, node),
        )

    def codes(self, cell: int) -> list[int]:
        """Every code that a cell covers, from low to high."""
        runs = range(self.starts[cell], self.starts[cell + 1])
        return [code for r in runs for code in range(self.first[r], self.last[r] + 1)]


def parse_cells(attribute: Attribute, texts: Sequence[str | None]) -> CellCoverage:
    """Read the distinct texts of one published column, against the column of the original.

    Texts are without the protection against formulas that a CSV file adds; None is read as missing.

    Examples
    --------
    >>> age = Attribute("age", Kind.NUMERIC, Shape.RANGE, ("20", "30", "40"), np.array([20.0, 30.0, 40.0]))
    >>> cells = parse_cells(age, ["30", "[20, 35]", "*"])
    >>> cells.low.tolist(), cells.high.tolist(), cells.upper.tolist()
    ([1, 0, 0], [1, 1, 2], [30.0, 35.0, 40.0])
    """
    reader = _Reader(attribute)
    read = [reader.cell(text) for text in texts]
    known = [part for part in read if part is not None]
    if len(known) < len(read):
        raise TableError(
            f"{len(read) - len(known)} distinct cells of the published column {attribute.name} are no "
            "values, ranges, sets or labels of the original column, or cover none of its values; "
            "was this table made from that original, with these hierarchies?"
        )
    return _columns(attribute, known)


class _CellRuns(NamedTuple):
    """What a text covers; without a real value the ends are the wrong way round, so that they join well."""

    runs: tuple[Run, ...]
    lower: float
    upper: float
    node: int


class _Reader:
    """Reads the cells of one column."""

    def __init__(self, attribute: Attribute) -> None:
        self.attribute = attribute
        real = [code for code in range(len(attribute)) if code != attribute.missing]
        self.line = _ValueLine(attribute, real)
        self.commas = max((attribute.texts[code].count(",") for code in real), default=0)  # of one end
        self.values = {escaped(attribute.texts[code]): code for code in real}
        self.nodes = _nodes(attribute, escaped)
        self._known: dict[str, _CellRuns | None] = {}
        # Other tools do not escape. Their texts are tried last, so that ours keep their meaning.
        self.plain_values = {attribute.texts[code]: code for code in real}
        self.plain_nodes = _nodes(attribute, str)

    def cell(self, text: str | None) -> _CellRuns | None:
        """What a cell covers, or None if it cannot be read."""
        if text is None or text == MISSING:
            return self._missing() or self._plain(text)
        if text == EVERYTHING:
            return self._everything()
        body = set_body(text)
        if body is not None:
            return self._set(body) or self._plain(text)
        return self._member(text) or self._plain(text)

    def _member(self, text: str) -> _CellRuns | None:
        """A value, a range, a label or missing: what may also stand inside a set."""
        if text == MISSING:
            return self._missing()
        if text in self.values:
            return self._value(self.values[text])
        if text in self.nodes:
            return self.nodes[text]
        if text.startswith("[") and text.endswith("]"):
            return self._range(text)
        place = self.line.place(text)
        return None if place is None else self._between(place, place)

    def _plain(self, text: str | None) -> _CellRuns | None:
        if text in self.plain_values:
            return self._value(self.plain_values[text])
        if text in self.plain_nodes:
            return self.plain_nodes[text]
        return self._missing() if text == "" else None

    def _missing(self) -> _CellRuns | None:
        code = self.attribute.missing
        return None if code < 0 else self._covering(((code, code),), np.inf, -np.inf)

    def _everything(self) -> _CellRuns | None:
        places = self.line.sorted_places
        ends = (places[0], places[-1]) if places else (np.inf, -np.inf)
        return self._covering(((0, len(self.attribute) - 1),), *ends)

    def _value(self, code: int) -> _CellRuns:
        place = float(self.attribute.position[code])
        return self._covering(((code, code),), place, place)

    def _range(self, text: str) -> _CellRuns | None:
        for ends in range_ends(text, self.commas):
            lower, upper = map(self._place, ends)
            if lower is not None and upper is not None:
                return self._between(lower, upper)
        return None

    def _place(self, end: str) -> float | None:
        text = end.strip()
        code = self.values.get(text, self.plain_values.get(text, -1))
        return self.line.places[code] if code in self.line.places else self.line.place(text)

    def _between(self, lower: float, upper: float) -> _CellRuns | None:
        order, inside = self.line.order, self.line.between(lower, upper)
        if not inside:
            return None
        if self.attribute.shape is Shape.RANGE:  # codes in the order of their places: one run
            return self._covering(((order[inside[0]], order[inside[-1]]),), lower, upper)
        return self._covering(_joined((order[i], order[i]) for i in inside), lower, upper)

    def _set(self, body: str) -> _CellRuns | None:
        if self.attribute.shape is Shape.SET and "\\" not in body:
            codes = [code for text in body.split("|") if (code := self.values.get(text)) is not None]
            if len(codes) > body.count("|"):  # by far the most common kind, and ends mean nothing here
                return self._covering(_joined((code, code) for code in codes), 0.0, 0.0)
        parts = [self._remembered(text) for text in split_atoms(body)]
        known = [part for part in parts if part is not None]
        if not body or len(known) < len(parts):
            return None
        if len(known) == 1:
            return known[0]
        runs = _joined(run for part in known for run in part.runs)
        return self._covering(runs, min(p.lower for p in known), max(p.upper for p in known))

    def _remembered(self, text: str) -> _CellRuns | None:
        """A member of a set, read once however many sets it is in."""
        if text not in self._known:
            self._known[text] = self._member(text) or self._plain(text)
        return self._known[text]

    def _covering(self, runs: tuple[Run, ...], lower: float, upper: float) -> _CellRuns:
        """The part with these runs, under the smallest node that holds them.

        A missing value beside the tree has no node; with anything else, only the whole covers both.
        """
        tree = self.attribute.tree
        if tree is None or runs[0][0] >= len(tree.leaves):
            return _CellRuns(runs, lower, upper, -1)
        high = runs[-1][1]
        return _CellRuns(
            runs, lower, upper, tree.covering(runs[0][0], high) if high < len(tree.leaves) else 0
        )


def _nodes(attribute: Attribute, spell: Callable[[str], str]) -> dict[str, _CellRuns]:
    """What each label covers. Of nodes with one label, which all mean the same leaves, the lowest stays."""
    tree, place = attribute.tree, attribute.position
    if tree is None:
        return {}
    ends = zip(tree.low.tolist(), tree.high.tolist(), strict=True)
    return {
        spell(tree.labels[node]): _CellRuns(((low, high),), float(place[low]), float(place[high]), node)
        for node, (low, high) in enumerate(ends)
    }


class _ValueLine:
    """The real values of a column where they lie on a line; without an order of values the line is empty."""

    def __init__(self, attribute: Attribute, real: Sequence[int]) -> None:
        self.kind = attribute.kind
        self.places = places_of(attribute, real)
        self.order = sorted(self.places, key=self.places.__getitem__)
        self.sorted_places = [self.places[code] for code in self.order]
        self.zero = _quantity(attribute.texts[self.order[0]], attribute.kind) if self.order else None

    def place(self, text: str) -> float | None:
        """Where a number or date lies that is no text of the column: by its distance from the first value."""
        value = _quantity(text, self.kind)
        if value is None or self.zero is None:
            return None
        return self.sorted_places[0] + offsets([self.zero, value])[1]

    def between(self, lower: float, upper: float) -> range:
        """Which values, counted in their order, lie from lower to upper."""
        return range(bisect_left(self.sorted_places, lower), bisect_right(self.sorted_places, upper))


def places_of(attribute: Attribute, real: Sequence[int]) -> dict[int, float]:
    """Where each real code lies. Leaves are numbered by their tree, so there the texts must say it."""
    if attribute.tree is None:
        ordered = attribute.shape is Shape.RANGE or attribute.kind is not Kind.CATEGORICAL
        return {code: float(attribute.position[code]) for code in real} if ordered else {}
    values = [_quantity(attribute.texts[code], attribute.kind) for code in real]
    known = [value for value in values if value is not None]
    return dict(zip(real, offsets(known), strict=True)) if known and len(known) == len(real) else {}


def _quantity(text: str, kind: Kind) -> Number | date | None:
    if kind is Kind.NUMERIC:
        return read_number(text)
    return read_date(text) if kind is Kind.DATE else None


def _joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Sorted runs, with those that touch or overlap made one.

    Examples
    --------
    >>> _joined([(4, 5), (0, 1), (2, 2), (5, 7)])
    ((0, 2), (4, 7))
    """
    joined: list[Run] = []
    for first, last in sorted(runs):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def _first_alike(
    starts: NDArray[np.int64], runs: NDArray[np.int32], ends: NDArray[np.float64], node: Codes
) -> Codes:
    """For each cell the first that says the same.

    Each cell is compared with the first one that has its hash. Those that differ from it are few.
    """
    mixed = _mixed(runs[:, 0].astype(np.uint64) << np.uint64(32) ^ runs[:, 1].astype(np.uint64))
    hashed = np.add.reduceat(mixed, starts[:-1]) ^ _mixed(node.astype(np.uint64))
    for end in (ends + 0.0).T:  # which makes -0.0 the same as 0.0
        hashed = _mixed(hashed ^ np.ascontiguousarray(end).view(np.uint64))
    _, first, which = np.unique(hashed, return_index=True, return_inverse=True)
    same: Codes = first[which].astype(np.int32)
    met: dict[tuple[object, ...], int] = {}
    for some in range(0, same.size, _COMPARED):
        cells = np.arange(some, min(some + _COMPARED, same.size))
        alike = (node[cells] == node[same[cells]]) & (ends[cells] == ends[same[cells]]).all(axis=1)
        alike &= _runs_alike(starts, runs, cells, same[cells])
        for cell in cells[~alike].tolist():
            span = runs[starts[cell] : starts[cell + 1]].tobytes()
            same[cell] = met.setdefault((span, int(node[cell]), *ends[cell].tolist()), cell)
    return same


def _runs_alike(
    starts: NDArray[np.int64], runs: NDArray[np.int32], cells: NDArray[np.int64], others: Codes
) -> NDArray[np.bool_]:
    """Whether each cell has the runs of another one."""
    size = starts[cells + 1] - starts[cells]
    alike: NDArray[np.bool_] = size == starts[others + 1] - starts[others]
    size = size[alike]
    ends = np.cumsum(size)
    within = np.arange(size.sum()) - np.repeat(ends - size, size)
    mine = np.repeat(starts[cells[alike]], size) + within
    theirs = np.repeat(starts[others[alike]], size) + within
    if size.size:
        alike[alike] = np.logical_and.reduceat((runs[mine] == runs[theirs]).all(axis=1), ends - size)
    return alike


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hashes of numbers."""
    for factor in _MIXING:
        mixed: NDArray[np.uint64] = (numbers ^ (numbers >> np.uint64(31))) * factor
        numbers = mixed
    return numbers


def _real_ends(runs: NDArray[np.int32], starts: NDArray[np.int64], missing: int) -> tuple[Codes, Codes]:
    """Smallest and largest code of each cell that is not missing, both -1 if there is none."""
    first = runs[:, 0] + (runs[:, 0] == missing)
    last = runs[:, 1] - (runs[:, 1] == missing)
    real = first <= last
    low = np.minimum.reduceat(np.where(real, first, np.iinfo(np.int32).max), starts[:-1])
    high = np.maximum.reduceat(np.where(real, last, -1), starts[:-1])
    return np.where(high < 0, -1, low).astype(np.int32), high.astype(np.int32)


def _columns(attribute: Attribute, parts: Sequence[_CellRuns]) -> CellCoverage:
    starts = np.concatenate([[0], np.cumsum([len(part.runs) for part in parts], dtype=np.int64)])
    runs = np.array([run for part in parts for run in part.runs], dtype=np.int32).reshape(-1, 2)
    ends = np.array([(part.lower, part.upper) for part in parts], dtype=np.float64).reshape(-1, 2)
    return CellCoverage.of_runs(
        attribute, starts, runs, ends, np.array([part.node for part in parts], np.int32)
    )
