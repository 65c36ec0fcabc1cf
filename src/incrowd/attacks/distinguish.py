"""Who is an outlier, inferred from equivalence classes: by the paper's theorems, and by candidates.

The adversary knows everyone's quasi-identifiers, who is an outlier, and for every combination of values
whether somebody who had it would be one. A class of equal rows is a matrix: a row for each of its different
sensitive values, a column for each corner of its box (or for each combination that people inside have).

The theorems are unsound: where they say that somebody is in a class, that need not be so, and no outlier
need be there. What they give are scores. What follows from candidates is certain: the owner of a value is
one of the people inside, or an outlier by the sensitive values alone.

References
----------
Wang, Liu, "Hiding distinguished ones into crowd: privacy-preserving publishing data with outliers", EDBT
2009, section 4.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.registry import Rate
from incrowd.attacks.target import Flags, Ints
from incrowd.distance_outliers import BadLines, CellPlaces, Matrix, Space
from incrowd.distance_outliers.axes import Axis
from incrowd.errors import PolicyError
from incrowd.flow import Attribute, Codes, distinct_rows
from incrowd.measures import CellCoverage, Published

ROW = "row"  # theorem 4.1
COLUMN = "column"  # theorem 4.2
CANDIDATE_ROW = "candidate-row"
CANDIDATE_COLUMN = "candidate-column"
SCORES = (ROW, COLUMN)
CERTAIN = (CANDIDATE_ROW, CANDIDATE_COLUMN)
RULES = (*SCORES, *CERTAIN)
NOTHING = BadLines((), ())


@dataclass(frozen=True, slots=True, eq=False)
class ShownClass:
    """A class of equal rows: its cells, its different sensitive values (s, sensitive axes) as codes.

    ``records`` are those behind its rows, as far as that is known; ``whole`` says that it is, of all rows.
    """

    cells: tuple[CellPlaces, ...]
    values: Codes
    records: Ints
    whole: bool


@dataclass(frozen=True, slots=True)
class Inference:
    """What one rule says about a person and a class: ``who`` is a record, -1 where no known outlier fits.

    ``presence`` is 1/h, h the known outliers who fit the class, ``association`` 1/l, l the values with which
    this person would be an outlier; 0 for who is none. ``right``: is the person's row in that class? Of a
    ``candidate-row``: is there an outlier in it? None if that is not known.
    """

    rule: str
    where: int
    who: int
    presence: Fraction
    association: Fraction
    right: bool | None


@dataclass(frozen=True, eq=False)
class Distinguished:
    """What the adversary infers from the classes of a release.

    ``outliers`` are the records that are known to be some. ``bad_rows`` and ``bad_columns`` count classes
    that have such a line of corners, ``suspects`` are all classes with a bad line of any kind, and ``unread``
    counts those that have too many corners to look at.
    """

    classes: int
    outliers: Ints
    bad_rows: int
    bad_columns: int
    unread: int
    suspects: tuple[int, ...]
    inferences: tuple[Inference, ...]

    def persons(self, rules: Collection[str] = RULES) -> Ints:
        """The records that these rules name, each once."""
        named = {found.who for found in self.inferences if found.rule in rules and found.who >= 0}
        return np.array(sorted(named), np.int64)

    @property
    def certain_classes(self) -> int:
        """In how many classes there certainly is an outlier."""
        return len({found.where for found in self.inferences if found.rule == CANDIDATE_ROW})

    @property
    def presence(self) -> Fraction:
        """The highest score of a person's presence."""
        return max((found.presence for found in self.inferences), default=Fraction(0))

    @property
    def association(self) -> Fraction:
        """The highest score of a person's value."""
        return max((found.association for found in self.inferences), default=Fraction(0))

    def right(self, *rules: str) -> Rate:
        """How often these rules are right, where that is known. A class with an outlier counts once."""
        found = {
            (t.rule, t.where, -1 if t.rule == CANDIDATE_ROW else t.who): t.right
            for t in self.inferences
            if t.rule in rules and t.right is not None
        }
        return Rate(sum(found.values()), len(found))

    def rate(self, rules: Collection[str] = RULES) -> Rate:
        """How many are named, of all known outliers and whoever else is; who stays unnamed counts too."""
        named = self.persons(rules)
        unnamed = len({found.where for found in self.inferences if found.rule in rules and found.who < 0})
        return Rate(named.size + unnamed, np.union1d(named, self.outliers).size + unnamed)


def distinguish(
    classes: Sequence[ShownClass],
    space: Space,
    known: Flags | None = None,
    among: Collection[int] | None = None,
) -> Distinguished:
    """What can be inferred from classes, at the p and d of a space of all records, removed ones included.

    `known` (n,) says who is known to be an outlier; if not given, those of the rest who are. For releases in
    which removed records have rows, they belong here too. With `among`, only these classes are looked at: bad
    nodes get fewer as p and d grow, so the suspects of a smaller p and d are enough.
    """
    adversary = Distinguisher(space, space.outliers() if known is None else known)
    places = range(len(classes)) if among is None else sorted(among)
    looked = [(where, *adversary.look(classes[where])) for where in places]
    suspects = [line for line in looked if line[1] or line[2]]
    inferences = [
        inference
        for where, corner, candidate in suspects
        for inference in adversary.inferred(where, classes[where], corner or NOTHING, candidate)
    ]
    return Distinguished(
        len(classes),
        np.flatnonzero(adversary.known),
        sum(bool(corner and corner.bad_rows) for _, corner, _ in looked),
        sum(bool(corner and corner.bad_columns) for _, corner, _ in looked),
        sum(corner is None for _, corner, _ in looked),
        tuple(where for where, _, _ in suspects),
        tuple(inferences),
    )


@dataclass(frozen=True, eq=False)
class Distinguisher:
    """A space, who is known to be an outlier, and what is looked up again and again."""

    space: Space
    known: Flags

    @cached_property
    def corner(self) -> Matrix:
        return _formed(self.space, "corner")

    @cached_property
    def candidate(self) -> Matrix:
        return _formed(self.space, "candidate")

    @cached_property
    def doubled(self) -> tuple[list[int], ...]:
        """Twice the places that occur, ascending, for each quasi-identifier that takes part."""
        return tuple(
            sorted({2 * place for code in np.unique(axis.codes) if (place := axis.places[code]) is not None})
            for axis in self.space.axes[: self.space.quasi]
        )

    @cached_property
    def outlying(self) -> Flags:
        """Everybody who is an outlier by any way of counting."""
        return self.known | self.space.removed | self.space.outliers()

    def look(self, shown: ShownClass) -> tuple[BadLines | None, BadLines]:
        """Bad lines of corners (None: too many corners) and of candidates."""
        try:
            corner = self.corner.look_cells(shown.cells, shown.values).corner
        except PolicyError:
            corner = None
        return corner, self.candidate.look_cells(shown.cells, shown.values).candidate or NOTHING

    def inferred(
        self, where: int, shown: ShownClass, corner: BadLines, candidate: BadLines
    ) -> Iterator[Inference]:
        """Everything that follows from the bad lines of one class."""
        fitting = np.flatnonzero(inside(shown.cells, self.space.data.codes))
        outliers = fitting[self.known[fitting]]
        many = self._values_of(outliers, shown.values)
        score = Fraction(1, max(outliers.size, 1))
        scored = {
            o: (score, Fraction(1, made) if made else Fraction(0))
            for o, made in zip(outliers.tolist(), many.tolist(), strict=True)
        }
        nothing = (Fraction(0), Fraction(0))
        for rule, persons in self._named(shown, fitting, outliers, corner, candidate):
            for who in persons:
                yield Inference(
                    rule, where, who, *scored.get(who, nothing), right=self._right(rule, shown, who)
                )

    def _named(
        self, shown: ShownClass, fitting: Ints, outliers: Ints, corner: BadLines, candidate: BadLines
    ) -> Iterator[tuple[str, list[int]]]:
        """For each rule the persons that it names."""
        split = self.space.quasi
        if corner.bad_rows:
            yield ROW, [o for o in outliers.tolist() if self.constrained(o, shown.cells)]
        if corner.bad_columns:  # for a record, only its own corner is nowhere farther from anybody
            yield COLUMN, outliers[self._at(outliers, corner.bad_columns, split)].tolist()
        if candidate.bad_rows:
            yield CANDIDATE_ROW, outliers.tolist() or [-1]
        if candidate.bad_columns:
            rest = fitting[~self.space.removed[fitting]]
            yield CANDIDATE_COLUMN, rest[self._at(rest, candidate.bad_columns, split)].tolist()

    def constrained(self, record: int, cells: Sequence[CellPlaces]) -> bool:
        """Is a record distance-constrained in a class (definition 4.3)?

        In each column no value of the original may lie strictly between the middles from the record to both
        ends of the cell. A missing value, of either, is at no place between others.
        """
        for axis, doubled in zip(self.space.axes[: self.space.quasi], self.doubled, strict=True):
            here = axis.places[axis.codes[record]]
            nodes = [axis.places[code] for code in cells[axis.index].nodes]
            ends = [place for place in nodes if place is not None]
            if here is None or not ends:
                continue
            if bisect_right(doubled, here + min(ends)) < bisect_left(doubled, here + max(ends)):
                return False
        return True

    def _values_of(self, outliers: Ints, values: Codes) -> Ints:
        """With how many of these values each of these records would be an outlier."""
        quasi = self.space.points(outliers)[:, : self.space.quasi]
        return self.corner.bad(quasi, values).sum(axis=0) if outliers.size else outliers

    def _at(self, records: Ints, columns: Sequence[tuple[str, ...]], split: int) -> Flags:
        """Which of these records have one of these combinations, given as texts."""
        wanted = set(columns)
        axes = self.space.axes[:split]
        texts = [tuple(axis.texts[axis.codes[record]] for axis in axes) for record in records.tolist()]
        return np.array([text in wanted for text in texts], np.bool_)

    def _right(self, rule: str, shown: ShownClass, who: int) -> bool | None:
        there = shown.records if rule != CANDIDATE_ROW else np.flatnonzero(self.outlying[shown.records])
        if (there.size > 0) if rule == CANDIDATE_ROW else (who in there):
            return True
        return False if shown.whole else None


def _formed(space: Space, form: str) -> Matrix:
    return Matrix(replace(space, setting=replace(space.setting, form=form)))


def inside(cells: Sequence[CellPlaces], codes: Codes) -> Flags:
    """Which records (n, d) of codes all these cells hold.

    Examples
    --------
    >>> inside([CellPlaces((1, 3), ((1, 3),))], np.array([[0], [2], [3]], np.int32)).tolist()
    [False, True, True]
    """
    held = np.ones(len(codes), np.bool_)
    for cell, column in zip(cells, codes.T, strict=True):
        some = np.zeros(len(codes), np.bool_)
        for first, last in cell.runs:
            some |= (first <= column) & (column <= last)
        held &= some
    return held


def classes_of(space: Space, groups: Sequence[NDArray[np.integer]]) -> tuple[ShownClass, ...]:
    """The classes that groups of records (indices) make; groups that say the same are one."""
    matrix = Matrix(space)
    alike: dict[tuple[CellPlaces, ...], list[NDArray[np.integer]]] = {}
    for rows in groups:
        alike.setdefault(matrix.cells(rows), []).append(rows)
    found = [(cells, np.concatenate(parts).astype(np.int64)) for cells, parts in alike.items()]
    return tuple(ShownClass(cells, matrix.values(rows), rows, whole=True) for cells, rows in found)


def shown_classes(published: Published, space: Space, values: Codes, truth: Ints) -> tuple[ShownClass, ...]:
    """The classes of a release.

    `values` (rows, sensitive axes) are the codes of each row in the sensitive columns that take part, `truth`
    (n,) is the row of each record, -1 if that is not known or it has none.
    """
    which = distinct_rows(published.rows, [len(cells) for cells in published.cells], len(published))[1]
    order = np.argsort(which, kind="stable")
    behind = np.full(len(published), -1, np.int64)
    known = np.flatnonzero(truth >= 0)
    behind[truth[known]] = known
    by_index = {axis.index: axis for axis in space.axes[: space.quasi]}
    columns = enumerate(zip(published.attributes, published.cells, strict=True))
    read = [_MatrixCells(attribute, cells, by_index.get(j)) for j, (attribute, cells) in columns]
    made = []
    for rows in np.split(order, np.cumsum(np.bincount(which))[:-1]) if order.size else []:
        cells = tuple(
            one.cell(int(column[rows[0]])) for one, column in zip(read, published.rows, strict=True)
        )
        records = behind[rows]
        there = np.unique(values[rows], axis=0).astype(np.int32)
        made.append(ShownClass(cells, there, records[records >= 0], bool((records >= 0).all())))
    return tuple(made)


class _MatrixCells:
    """The cells of one published column as those of a matrix, each made once."""

    def __init__(self, attribute: Attribute, cells: CellCoverage, axis: Axis | None) -> None:
        self.attribute, self.cells, self.axis = attribute, cells, axis
        self.made: dict[int, CellPlaces] = {}

    def cell(self, i: int) -> CellPlaces:
        if i not in self.made:
            some = slice(int(self.cells.starts[i]), int(self.cells.starts[i + 1]))
            runs = zip(self.cells.first[some].tolist(), self.cells.last[some].tolist(), strict=True)
            self.made[i] = CellPlaces(self._nodes(i), tuple(runs))
        return self.made[i]

    def _nodes(self, i: int) -> tuple[int, ...]:
        if self.axis is None:
            return ()
        missing, places = self.attribute.missing, self.axis.places
        gone = missing >= 0 and bool(self.cells.missing[i])
        if gone and self.cells.count[i] == len(self.attribute) > 1:  # everything: the original says
            gone = bool((self.axis.codes == missing).any())
        placed = [(place, code) for code in self.cells.codes(i) if (place := places[code]) is not None]
        ends = dict.fromkeys((min(placed)[1], max(placed)[1])) if placed else {}
        return (*ends, missing) if gone else tuple(ends)
