"""The domain of a published column in parts, each of which a cell covers wholly or not at all.

Of categories a part is a value. Of numbers and dates it is a stretch of the line between the ends that some
cell has; it holds as many values as there are steps in it, a step being a day, or one unit of the last
decimal that the column has. So whoever reads `[20,29]` of whole numbers gets ten values, as `query` does.
Missing is a part that holds one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Codes
from incrowd.measures.bins import Bins
from incrowd.measures.boxes import Among, Between, allowed_codes
from incrowd.measures.cells import CellCoverage
from incrowd.schema import Kind, Shape

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Side = Between | Among

_MOST_STEPS = 2**52  # steps up to here are exact as floats


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What c cells cover of v parts.

    ``values`` (v,) is how many values each part holds. Cell i covers the parts ``first[r]..last[r]`` for r in
    ``starts[i]..starts[i+1]-1``; runs of a cell do not overlap, and every cell has one.
    """

    values: Floats
    starts: Ints
    first: Ints
    last: Ints

    def __len__(self) -> int:
        return self.starts.size - 1

    def shares(self, weights: Floats, of: Ints, size: int) -> Floats:
        """How much of each cell lies in each bin: (c, size), rows sum to 1.

        A value of a part counts by the part's weight (v,), all ones being even. A cell whose parts weigh
        nothing is spread evenly. ``of`` (v,) is the bin of each part.
        """
        spread = self._in_bins(self.values * weights, of, size)
        total = spread.sum(axis=1)
        lost = total <= 0
        if lost.any():
            spread[lost] = self._in_bins(self.values, of, size)[lost]
            total = spread.sum(axis=1)
        shares: Floats = spread / total[:, None]
        return shares

    def _in_bins(self, mass: Floats, of: Ints, size: int) -> Floats:
        from incrowd.kernels import spread

        found = np.zeros((len(self), size))
        spread.in_bins(mass, of, self.starts, self.first, self.last, found)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PartedColumn:
    """A published column in parts: what its cells cover, and which part each of some sides and bins has.

    ``bin`` (v,) is the bin of each part, ``side`` (v,) the number of the side that names it, -1 for none.
    """

    parts: Parts
    bin: Ints
    side: Ints


def parted(attribute: Attribute, cells: CellCoverage, bins: Bins, sides: Sequence[Side] = ()) -> PartedColumn:
    """Part a column by its cells, its bins and, if given, the sides that one-way totals are about.

    Examples
    --------
    >>> from incrowd.measures.cells import parse_cells
    >>> from incrowd.schema import Kind, Shape
    >>> age = Attribute("age", Kind.NUMERIC, Shape.RANGE, ("20", "30", "60"), np.array([0.0, 10.0, 40.0]))
    >>> found = parted(age, parse_cells(age, ["[20,60]", "30"]), Bins(np.array([0, 1, 1]), 2))
    >>> found.parts.values.tolist(), found.bin.tolist()
    ([10.0, 1.0, 30.0], [0, 1, 1])
    >>> found.parts.shares(np.ones(3), found.bin, 2).round(2).tolist()
    [[0.24, 0.76], [0.0, 1.0]]
    """
    if attribute.shape is not Shape.RANGE:
        side = np.full(len(attribute), -1, np.int64)
        for number, one in enumerate(sides):
            side[allowed_codes(attribute, one)] = number
        runs = cells.first.astype(np.int64), cells.last.astype(np.int64)
        return PartedColumn(Parts(np.ones(len(attribute)), cells.starts, *runs), bins.of, side)
    return _on_the_line(attribute, cells, bins, sides)


def _on_the_line(
    attribute: Attribute, cells: CellCoverage, bins: Bins, sides: Sequence[Side]
) -> PartedColumn:
    """Stretches of the line are half open, in steps; missing is the part before them."""
    scale, gap = _steps(attribute), int(attribute.missing == 0)
    place = np.rint(attribute.position * scale).astype(np.int64)
    owner, low, high = _stretches(attribute, cells, place, scale)
    real = np.arange(gap, len(attribute))
    begins = real[np.append(True, np.diff(bins.of[real]) != 0)[: real.size]]
    asked = [_side_stretches(attribute, side, place, scale) for side in sides]
    ends = [end for stretches in asked for stretch in stretches for end in stretch]
    edges = np.unique(np.concatenate([low, high, place[begins], np.array(ends, np.int64)]))
    where = gap + np.searchsorted(edges, low), gap + np.searchsorted(edges, high) - 1
    missing = np.flatnonzero(cells.missing)
    owner = np.concatenate([owner, missing])
    order = np.argsort(owner, kind="stable")
    first, last = (np.append(ends, np.zeros(missing.size, np.int64))[order] for ends in where)
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(cells)))])
    values = np.concatenate([np.ones(gap), np.diff(edges).astype(np.float64)])
    bin_of = bins.of[begins][np.maximum(np.searchsorted(place[begins], edges[:-1], side="right") - 1, 0)]
    bin = np.concatenate([bins.of[:gap], bin_of]) if begins.size else bins.of[:gap]
    side_of = np.full(values.size, -1, np.int64)
    for number, (one, stretches) in enumerate(zip(sides, asked, strict=True)):
        for begin, end in stretches:
            side_of[gap + np.searchsorted(edges, begin) : gap + np.searchsorted(edges, end)] = number
        if gap and (one.missing if isinstance(one, Between) else bool(one.allowed[0])):
            side_of[0] = number
    return PartedColumn(Parts(values, starts, first, last), bin, side_of)


def _steps(attribute: Attribute) -> float:
    """How many steps make one unit of the column: a power of ten, as many as its decimals ask for."""
    if attribute.kind is not Kind.NUMERIC:
        return 1.0
    decimals = max((len(text.partition(".")[2]) for text in attribute.texts if "." in text), default=0)
    while decimals and attribute.span * 10**decimals > _MOST_STEPS:
        decimals -= 1
    return float(10**decimals)


def _stretches(
    attribute: Attribute, cells: CellCoverage, place: Ints, scale: float
) -> tuple[Ints, Ints, Ints]:
    """The cell of each stretch, where it begins and where it ends, in steps.

    Ends count as written; where numbers are named one by one, nobody is in the gaps between them.
    """
    first = cells.first + (cells.first == attribute.missing)
    real = first <= cells.last
    owner, first, last = cells.owner[real], first[real], cells.last[real]
    alone = np.bincount(owner, minlength=len(cells))[owner] == 1
    whole, one_by_one = owner[alone], ~alone
    written = np.ceil(cells.lower * scale - 0.25), np.floor(cells.upper * scale + 0.25)
    low = np.minimum(written[0][whole], place[first[alone]]).astype(np.int64)
    high = np.maximum(written[1][whole], place[last[alone]]).astype(np.int64)
    lengths = (last - first + 1)[one_by_one]
    before = np.cumsum(lengths) - lengths
    codes = np.arange(lengths.sum()) + np.repeat(first[one_by_one] - before, lengths)
    return (
        np.concatenate([whole, np.repeat(owner[one_by_one], lengths)]),
        np.concatenate([low, place[codes]]),
        np.concatenate([high, place[codes]]) + 1,
    )


def _side_stretches(attribute: Attribute, side: Side, place: Ints, scale: float) -> list[tuple[int, int]]:
    """Where a side begins and ends, in steps; values that are named one by one have stretches of a step."""
    if isinstance(side, Between):
        begin, end = int(np.ceil(side.lower * scale - 0.25)), int(np.floor(side.upper * scale + 0.25)) + 1
        return [(begin, end)] if begin < end else []
    codes: Codes = np.flatnonzero(side.allowed).astype(np.int32)
    real = codes[codes != attribute.missing]
    cuts = np.flatnonzero(np.append(True, np.diff(real) != 1)).tolist() if real.size else []
    return [(int(place[real[a]]), int(place[real[b - 1]]) + 1) for a, b in pairwise([*cuts, real.size])]
