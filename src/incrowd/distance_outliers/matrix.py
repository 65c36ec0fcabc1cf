"""Plain groups, which disclose no outlier: which nodes of a group's box are bad, and is it plain?

A group has a row for each of its different sensitive values, and a column for each corner of its box (or for
each combination of quasi-identifiers that somebody inside the box has). A node is bad if it would be an
outlier. If a whole row is bad, whoever has that value is an outlier; if a whole column is bad, whoever is
there is one. A plain group has neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.distance_outliers.cloud import Bools, distinct
from incrowd.distance_outliers.corners import CellPlaces, Closing
from incrowd.distance_outliers.space import Space
from incrowd.errors import PolicyError
from incrowd.flow import Codes
from incrowd.kernels import boxtree
from incrowd.kernels import outliers as kernel

MOST_CORNERS = 2**16
States = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class BadLines:
    """Rows and columns that are all bad, as texts: sensitive values, quasi-identifiers."""

    bad_rows: tuple[tuple[str, ...], ...]
    bad_columns: tuple[tuple[str, ...], ...]

    def __bool__(self) -> bool:
        return bool(self.bad_rows or self.bad_columns)


@dataclass(frozen=True, slots=True)
class GroupPlainness:
    """Why a group is plain, or why not: its different values, and what is all bad in each form asked for."""

    distinct: int
    corner: BadLines | None
    candidate: BadLines | None
    plain: bool


@dataclass(frozen=True, eq=False)
class Matrix:
    """Looks at groups of a space's records.

    Examples
    --------
    >>> from incrowd.distance_outliers import Setting
    >>> from incrowd.encode import encode
    >>> from incrowd.flow import Table
    >>> from incrowd.schema import Column, Kind, Role, Schema
    >>> age, pay = (Column(n, r, Kind.NUMERIC) for n, r in (("age", Role.QUASI), ("pay", Role.SENSITIVE)))
    >>> people = Table.of({"age": ["20", "21", "22", "90"], "pay": ["3", "5", "4", "3"]})
    >>> setting = Setting(p="0.75", d="0.9", distinct=2, margin=0)
    >>> space = Space.of(encode(people, Schema((age, pay))), setting)
    >>> matrix = Matrix(space)
    >>> matrix.plain(np.array([0, 1, 2])), matrix.plain(np.array([2, 3]))
    (True, False)
    >>> matrix.look(np.array([2, 3])).corner
    BadLines(bad_rows=(), bad_columns=(('90',),))
    """

    space: Space

    def plain(self, rows: NDArray[np.integer]) -> bool:
        """Are these records (indices) as a group plain?"""
        values = self.values(rows)
        return len(values) >= self.space.setting.distinct and self.plain_cells(self.cells(rows), values)

    def plain_cells(self, cells: Sequence[CellPlaces], values: Codes) -> bool:
        """Does a class with these cells and these different values (s, …) keep the forms asked for?"""
        return all(self._kept(columns, values) for columns in self._forms(cells))

    def look(self, rows: NDArray[np.integer]) -> GroupPlainness:
        """What is all bad in a group, in each form that the setting asks for."""
        return self.look_cells(self.cells(rows), self.values(rows))

    def look_cells(self, cells: Sequence[CellPlaces], values: Codes) -> GroupPlainness:
        form = self.space.setting.form
        corner = self._lines(self.corners(cells), values) if form != "candidate" else None
        candidate = self._lines(self.people(cells), values) if form != "corner" else None
        enough = len(values) >= self.space.setting.distinct
        return GroupPlainness(len(values), corner, candidate, enough and not corner and not candidate)

    def bad(self, columns: Codes, values: Codes) -> Bools:
        """The whole matrix (s, c): is the node of each value and each column an outlier?"""
        s, c = len(values), len(columns)
        points = np.hstack([np.tile(columns, (s, 1)), np.repeat(values, c, axis=0)])
        return self.space.bad(points.astype(np.int32)).reshape(s, c)

    def values(self, rows: NDArray[np.integer]) -> Codes:
        """The different combinations of sensitive values of these records (s, sensitive axes), as codes."""
        first = np.unique(self.space.values[rows], return_index=True)[1]
        sensitive = self.space.axes[self.space.quasi :]
        return np.stack([axis.codes[rows[first]] for axis in sensitive], axis=1)

    def cells(self, rows: NDArray[np.integer]) -> tuple[CellPlaces, ...]:
        """The cells that a row over these records would have, one for each quasi-identifier."""
        codes = self.space.data.codes[rows]
        return tuple(closing.over(codes[:, j]) for j, closing in enumerate(self._closings))

    def corners(self, cells: Sequence[CellPlaces]) -> Codes:
        """The corners of a class (c, quasi axes), as codes; the last column varies fastest.

        Raises
        ------
        PolicyError
            There are more than 65536 of them.
        """
        taking = [axis.index for axis in self.space.axes[: self.space.quasi]]
        nodes = [np.array(cells[index].nodes, np.int32) for index in taking]
        count = prod(len(column) for column in nodes)
        if count > MOST_CORNERS:
            raise PolicyError(
                f"plain: more than {MOST_CORNERS} corners in a group; leave columns out of 'columns', or say "
                'form = "candidate"'
            )
        if not nodes:
            return np.zeros((1, 0), np.int32)
        grid = np.meshgrid(*nodes, indexing="ij")
        return np.stack([column.ravel() for column in grid], axis=1)

    def people(self, cells: Sequence[CellPlaces]) -> Codes:
        """The combinations (i, quasi axes) that people of the rest inside all these cells have, as codes."""
        tree, which, codes = self._inside
        if any(not cell.runs for cell in cells) or not which.size:
            return codes[:0]
        runs = [run for cell in cells for run in cell.runs]
        ends = np.cumsum([len(cell.runs) for cell in cells])[None, :]
        begins = ends - [[len(cell.runs) for cell in cells]]
        low = np.array([[cell.runs[0][0] for cell in cells]], np.int32)
        high = np.array([[cell.runs[-1][1] for cell in cells]], np.int32)
        first, last = (np.array(side, np.int32) for side in zip(*runs, strict=True))
        regions = boxtree.BoxRegions(low, high, begins.astype(np.int64), ends.astype(np.int64), first, last)
        found = boxtree.report_inside(tree, regions)[1]
        inside: Codes = codes[np.unique(which[found])]
        return inside

    @cached_property
    def _closings(self) -> tuple[Closing, ...]:
        return Closing.of(self.space.data, self.space.axes)

    @cached_property
    def _inside(self) -> tuple[Any, Codes, Codes]:
        """A tree over the quasi-identifiers of the rest; which combination of taking ones each point has."""
        data, taking = self.space.data, [axis.index for axis in self.space.axes[: self.space.quasi]]
        codes, sizes = data.codes[self.space.rest], [len(attribute) for attribute in data.attributes]
        points = codes[distinct(list(codes.T), sizes)[0]]
        if not taking:
            return boxtree.build(points), np.zeros(len(points), np.int32), np.zeros((1, 0), np.int32)
        first, which, _ = distinct([points[:, j] for j in taking], [sizes[j] for j in taking])
        return boxtree.build(points), which.astype(np.int32), points[first][:, taking]

    def _forms(self, cells: Sequence[CellPlaces]) -> Any:
        form = self.space.setting.form
        if form != "candidate":
            yield self.corners(cells)
        if form != "corner":
            yield self.people(cells)

    def _kept(self, columns: Codes, values: Codes) -> bool:
        of_column, of_row = self._settle(columns, values, whole=False)
        return not (of_column.any() or of_row.any())  # GOOD is 0

    def _lines(self, columns: Codes, values: Codes) -> BadLines:
        of_column, of_row = self._settle(columns, values, whole=True)
        split = self.space.quasi
        return BadLines(
            self._texts(values[of_row != 0], slice(split, None)),
            self._texts(columns[of_column != 0], slice(split)),
        )

    def _texts(self, points: Codes, axes: slice) -> tuple[tuple[str, ...], ...]:
        taking = self.space.axes[axes]
        return tuple(
            tuple(axis.texts[code] for axis, code in zip(taking, point, strict=True))
            for point in points.tolist()
        )

    def _settle(self, columns: Codes, values: Codes, whole: bool) -> tuple[States, States]:
        """States of columns and rows; what floats leave open is settled in whole numbers, a few at a time."""
        space, cloud, split = self.space, self.space.cloud, self.space.quasi
        if space.density is not None:
            bad = self.bad(columns, values)
            return np.asarray(bad.all(axis=0), np.int8), np.asarray(bad.all(axis=1), np.int8)  # BAD is 1
        at, across = cloud.coordinates(columns, slice(split)), cloud.coordinates(values, slice(split, None))
        settled = kernel.NOTHING_SETTLED
        while True:
            of_column, of_row, unsure = kernel.settle(
                cloud.forest, space.bound, at, across, settled, whole, cloud.room
            )
            lines = np.concatenate([of_column, of_row])
            if not unsure.size or not lines.any() or (not whole and (lines == kernel.BAD).any()):
                return of_column, of_row
            keys = np.unique(unsure)
            points = np.hstack([columns[keys % len(columns)], values[keys // len(columns)]])
            found = [cloud.far(point, space.radius) >= space.least for point in points]
            keys, bad = np.concatenate([settled.keys, keys]), np.concatenate([settled.bad, np.array(found)])
            order = np.argsort(keys)
            settled = kernel.Settled(keys[order], bad[order])
