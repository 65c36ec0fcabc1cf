"""Published columns under a predicate: which cells satisfy it for certain, perhaps or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.predicate import Condition, Intervals, canonical, check_measured, intervals
from incrowd.schema import EVERYTHING, Kind

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
Wholes = NDArray[Any]  # whole numbers: int64, or Python's own where they are too large for it

LARGEST = 2**38  # in half units; times thirty million people it still fits an int64
_POSITIVE = ("=", "IN")


def wholes(numbers: Sequence[int]) -> Wholes:
    """Whole numbers as an array; beyond what adds up in 64 bits, Python's own."""
    large = any(abs(number) >= LARGEST // 2 for number in numbers)
    return np.array(numbers, dtype=object if large else np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CellMatch:
    """Which of c cells satisfy a predicate for certain, or perhaps; `share` is how much of each.

    A missing value satisfies nothing. Where nobody can say how much, ``share`` is None.
    """

    certain: Flags
    possible: Flags
    share: Floats | None


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Between which numbers the values of c cells lie that satisfy a predicate, and their middle.

    Numbers are in units of 10^-scale; of days, ``scale`` is 0. ``open`` marks cells that may hold values
    which nobody named: they have no ends.
    """

    low: Wholes
    high: Wholes
    middle: Floats
    open: Flags
    scale: int


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """How common values are along the line: ``weight[i]`` from ``edges[i]`` up to ``edges[i+1]``.

    Edges are in the column's own units, 10^-scale; ``missing`` is the weight of a missing value.
    """

    edges: Floats
    weight: Floats
    missing: float

    def between(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """How much lies from low up to high, and its first moment."""
        amount = np.concatenate([[0.0], np.cumsum(self.weight * np.diff(self.edges))])
        squares = np.concatenate([[0.0], np.cumsum(self.weight * np.diff(self.edges**2) / 2)])
        ends = np.clip(low, self.edges[0], self.edges[-1]), np.clip(high, self.edges[0], self.edges[-1])
        parts = [
            np.clip(np.searchsorted(self.edges, end, "right") - 1, 0, self.weight.size - 1) for end in ends
        ]
        upto = [
            (
                amount[part] + self.weight[part] * (end - self.edges[part]),
                squares[part] + self.weight[part] * (end**2 - self.edges[part] ** 2) / 2,
            )
            for part, end in zip(parts, ends, strict=True)
        ]
        (before, first), (after, last) = upto
        return np.maximum(after - before, 0.0), last - first


@dataclass(frozen=True, slots=True, eq=False)
class RangeColumn:
    """Cells that are values or ranges of numbers or days.

    ``low``, ``high`` (c,) are ends in units of 10^-scale, 0 where a cell is only missing, so that ``real`` is
    not set; ``unit`` is how many of them make one step if values are taken to be whole, 0 if they lie
    anywhere between. Values lie evenly in their cells, or by the ``density`` that totals give.
    """

    name: str
    kind: Kind
    low: Wholes
    high: Wholes
    real: Flags
    missing: Flags
    scale: int
    unit: int
    density: Density | None = None

    def __len__(self) -> int:
        return self.low.size

    def match(self, conditions: Sequence[Condition]) -> CellMatch:
        """Which cells satisfy all conditions; without any, which are known."""
        asked = intervals(conditions, self.kind, self.name, self.scale)
        low, high, unit = self._at(asked.scale)
        certain, possible = np.zeros(len(self), np.bool_), np.zeros(len(self), np.bool_)
        inside = np.zeros(len(self))
        for first, last in self._clipped(asked, low, high):
            some = self.real & (low <= last) & (high >= first)
            possible |= some
            certain |= some & (first <= low) & (high <= last)
            cut = np.maximum(low[some], first), np.minimum(high[some], last)
            inside[some] += self._spread(*cut, unit, asked.scale)[0]
        known = self._spread(low, high, unit, asked.scale)[0]
        if self.density is None:
            all_of_it = known + (self.missing & (unit > 0))
        else:
            all_of_it = known + self.missing * self.density.missing
        point = all_of_it == 0
        share = np.where(point, possible, inside / np.where(point, 1.0, all_of_it))
        return CellMatch(certain & ~self.missing, possible, np.where(self.real, share, 0.0))

    def ends(self, conditions: Sequence[Condition]) -> Ends:
        """Where the values lie that satisfy all conditions."""
        asked = intervals(conditions, self.kind, self.name, self.scale)
        low, high, unit = self._at(asked.scale)
        least, most = high + 1, low - 1
        weight, total = np.zeros(len(self)), np.zeros(len(self))
        for first, last in self._clipped(asked, low, high):
            some = self.real & (low <= last) & (high >= first)
            lower, upper = np.maximum(low, first), np.minimum(high, last)
            least = np.where(some, np.minimum(least, lower), least)
            most = np.where(some, np.maximum(most, upper), most)
            amount, middle = self._spread(lower, upper, unit, asked.scale)
            weight += np.where(some, amount, 0)
            total += np.where(some, amount * middle, 0)
        halfway = (least.astype(np.float64) + most.astype(np.float64)) / 4
        middle = np.where(weight > 0, total / np.where(weight > 0, weight, 1) / 2, halfway)
        low, high = least // 2, (most + 1) // 2  # half units outside the cell's values: still bounds
        return Ends(low, high, middle, np.zeros(len(self), np.bool_), asked.scale)

    def values(self) -> list[str]:
        raise InputError(
            f"the cells of {self.name} are ranges, so GROUP BY has no values to group by; ask for each range "
            f"by itself, as with {self.name} BETWEEN 20 AND 29"
        )

    def _spread(self, low: Wholes, high: Wholes, unit: int, scale: int) -> tuple[Floats, Floats]:
        """How much lies from low to high in half units of 10^-scale, and its middle.

        Whole values are stretches of a step, from themselves up to the next.
        """
        if self.density is None:
            return _spread(low, high, unit)
        half_units = 2 * 10 ** (scale - self.scale)
        step = self.unit
        if unit:
            first, last = (
                (-(-low // unit) * step).astype(np.float64),
                (high // unit * step + step).astype(float),
            )
        else:
            first, last = low.astype(np.float64) / half_units, high.astype(np.float64) / half_units
        amount, moment = self.density.between(first, np.maximum(first, last))
        middle = np.where(amount > 0, moment / np.where(amount > 0, amount, 1.0), (first + last) / 2)
        return amount / (step or 1), (middle - step / 2) * half_units

    def _at(self, scale: int) -> tuple[Wholes, Wholes, int]:
        """Both ends in half units of 10^-scale, and the step."""
        factor = 2 * 10 ** (scale - self.scale)
        if factor > 2:
            largest = max(abs(int(self.low.min(initial=0))), abs(int(self.high.max(initial=0))))
            exact = np.int64 if max(largest, 1) * factor < LARGEST else object
            return self.low.astype(exact) * factor, self.high.astype(exact) * factor, self.unit * factor
        return self.low * 2, self.high * 2, self.unit * 2

    def _clipped(self, asked: Intervals, low: Wholes, high: Wholes) -> list[tuple[int, int]]:
        """Intervals without ends that lie far outside all cells, so that they fit the cells' numbers."""
        if not self.real.any():
            return []
        bottom, top = int(low[self.real].min()) - 1, int(high[self.real].max()) + 1
        found = []
        for first, last in asked.ends:
            least = bottom if first is None else max(first, bottom)
            most = top if last is None else min(last, top)
            if least <= most:
                found.append((least, most))
        return found


def _spread(low: Wholes, high: Wholes, unit: int) -> tuple[Floats, Floats]:
    """How much lies from low to high: steps of a unit, or length if there is none; and its middle."""
    if unit:
        first, last = -(-low // unit), high // unit
        amount = np.maximum(last - first + 1, 0)
        return amount.astype(np.float64), (first + last).astype(np.float64) * (unit / 2)
    lower, upper = low.astype(np.float64), high.astype(np.float64)
    return np.maximum(upper - lower, 0.0), (lower + upper) / 2


@dataclass(frozen=True, slots=True, eq=False)
class ValuesColumn:
    """Cells that name values: one, several, or a node of a hierarchy by its leaves.

    Cell i holds the values ``member[start[i]:start[i+1]]``. ``missing`` (c,) says whether it may be missing,
    ``open`` (c,) whether values that no cell names may be in it. ``known`` (m,) is not set for values that
    mean missing. ``number`` (m,) are values in units of 10^-scale, where they have such. ``meant`` says for
    each name which values it stands for: itself, or the leaves under a label. With ``loose``, names are
    labels of a hierarchy that is not at hand: what lies under which is not known. Values of a cell are
    equally common, or by their ``weight`` (m,), and missing by ``missing_weight``, where totals give such.
    ``unnamed`` (m,) marks those that stand for values without a name, of which nobody knows how many there
    are; where that matters and nothing gives them a weight, there is no share.
    """

    name: str
    kind: Kind
    texts: tuple[str, ...]
    start: NDArray[np.int64]
    member: NDArray[np.int64]
    missing: Flags
    open: Flags
    known: Flags
    meant: Mapping[str, Sequence[int]]
    number: Wholes | None = None
    scale: int = 0
    loose: bool = False
    weight: Floats | None = None
    missing_weight: float = 1.0
    unnamed: Flags | None = None

    def __len__(self) -> int:
        return self.missing.size

    @property
    def named(self) -> frozenset[str]:
        """What can be asked for by name: values and labels of cells, hierarchies and totals."""
        return frozenset(self.meant) - {EVERYTHING}

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.start)

    def match(self, conditions: Sequence[Condition]) -> CellMatch:
        allowed, others = self.allowed(conditions)
        hits = self._per_cell(allowed)
        if self.loose:
            return self._match_labels(conditions, hits > 0)
        size = self.sizes
        certain = (hits == size) & (size > 0) & ~self.missing & ~self.open
        possible = (hits > 0) | (self.open & others)
        share: Floats | None = self._share(allowed)
        if self.unnamed is not None:
            nameless = self._per_cell(self.unnamed) > 0
            if self.unknown(conditions):
                certain, possible, share = certain & ~nameless, possible | nameless, None
            doubt = possible & ~certain & nameless
            share = None if self.weight is None and doubt.any() else share
        return CellMatch(certain, possible, share)

    def unknown(self, conditions: Sequence[Condition]) -> bool:
        """Is something asked for by a name that the release does not know, or by the size of its labels?"""
        names = [self._name(text) for one in conditions if one.by_name for text in one.literals]
        return any(name not in self.meant for name in names) or self.compares_labels(conditions)

    def compares_labels(self, conditions: Sequence[Condition]) -> bool:
        """Are numbers or dates asked for by < or >, though cells are labels that do not say how large?"""
        labels = self.loose or self.unnamed is not None
        ordered = labels and self.kind in (Kind.NUMERIC, Kind.DATE)
        return ordered and any(not one.by_name for one in conditions)

    def _share(self, allowed: Flags) -> Floats:
        """How much of each cell has an allowed value; a cell that weighs nothing counts evenly."""
        size = np.maximum(self.sizes + self.missing, 1)
        even: Floats = self._per_cell(allowed) / size
        if self.weight is None:
            return even
        total = self._weighed(np.ones(len(self.texts), np.bool_)) + self.missing * self.missing_weight
        weighed: Floats = np.where(total > 0, self._weighed(allowed) / np.where(total > 0, total, 1.0), even)
        return weighed

    def _weighed(self, flags: Flags) -> Floats:
        weight = np.ones(len(self.texts)) if self.weight is None else self.weight
        upto = np.concatenate([[0.0], np.cumsum((weight * flags)[self.member])])
        found: Floats = np.maximum(upto[self.start[1:]] - upto[self.start[:-1]], 0.0)
        return found

    def _match_labels(self, conditions: Sequence[Condition], named: Flags) -> CellMatch:
        """A label that is asked for is certain; what another one holds is not known."""
        positive = bool(conditions) and all(one.operator in _POSITIVE for one in conditions)
        labelled = self.sizes > 0
        certain = named & ~self.missing & ~self.open & positive
        refused = [one for one in conditions if one.operator == "<>"]
        possible = (labelled & (self._per_cell(self.allowed(refused)[0]) > 0)) | self.open
        return CellMatch(
            certain, possible, None if (possible & ~certain).any() else certain.astype(np.float64)
        )

    def ends(self, conditions: Sequence[Condition]) -> Ends:
        check_measured(self.name, self.kind)
        if self.number is None or self.unnamed is not None:
            raise InputError(f"{not_at_hand(self.name)}, so its numbers are not known; {remedy(self.name)}")
        allowed, others = self.allowed(conditions)
        taken = allowed[self.member]
        owner = np.repeat(np.arange(len(self)), self.sizes)[taken]
        numbers = self.number[self.member[taken]]
        bottom, top = (int(self.number.min()), int(self.number.max())) if self.number.size else (0, 0)
        low = np.full(len(self), top, self.number.dtype)
        high = np.full(len(self), bottom, self.number.dtype)
        np.minimum.at(low, owner, numbers)
        np.maximum.at(high, owner, numbers)
        weight = np.ones(owner.size) if self.weight is None else self.weight[self.member[taken]]
        hits = np.bincount(owner, weight, minlength=len(self))
        total = np.bincount(owner, numbers.astype(np.float64) * weight, len(self))
        return Ends(low, high, total / np.where(hits > 0, hits, 1.0), self.open & others, self.scale)

    def values(self) -> list[str]:
        if self.loose or (self.number is not None and self.unnamed is not None):
            raise InputError(f"{not_at_hand(self.name)}, so GROUP BY has no values; {remedy(self.name)}")
        listed = self.known if self.unnamed is None else self.known & ~self.unnamed
        named = [text for text, known in zip(self.texts, listed, strict=True) if known]
        return sorted(set(named))

    def _per_cell(self, flags: Flags) -> NDArray[np.int64]:
        upto = np.concatenate([[0], np.cumsum(flags[self.member])])
        return upto[self.start[1:]] - upto[self.start[:-1]]  # type: ignore[no-any-return]

    def allowed(self, conditions: Sequence[Condition]) -> tuple[Flags, bool]:
        """Which values satisfy all conditions, and whether one that no cell names might."""
        if self.number is not None and self.kind in (Kind.NUMERIC, Kind.DATE):
            return self._on_the_line(conditions)
        allowed, others = self.known.copy(), True
        for one in conditions:
            if not one.by_name:
                if not self.loose:
                    check_measured(self.name, self.kind)
                continue
            names = [canonical(text, self.kind) for text in one.literals]
            allowed &= self._named(names, one.operator)
            others &= one.operator == "<>" or any(name not in self.meant for name in names)
        return allowed, others

    def _on_the_line(self, conditions: Sequence[Condition]) -> tuple[Flags, bool]:
        by_label = [one for one in conditions if self._is_label(one)]
        asked = intervals([c for c in conditions if c not in by_label], self.kind, self.name, self.scale)
        factor = 2 * 10 ** (asked.scale - self.scale)
        number = self.number if factor == 2 or self.number is None else self.number.astype(object)
        allowed = np.zeros(len(self.texts), np.bool_)
        for first, last in asked.ends:
            above = True if first is None else number * factor >= first
            allowed |= above & (True if last is None else number * factor <= last)
        if self.unnamed is not None and len(by_label) < len(conditions):
            allowed &= ~self.unnamed  # which have no number: `match` takes them for possible
        for one in by_label:
            allowed &= self._named([self._name(text) for text in one.literals], one.operator)
        return allowed & self.known, bool(asked.ends)

    def _name(self, text: str) -> str:
        """A label as it stands; a value as it would be published."""
        return text if text in self.meant else canonical(text, self.kind)

    def _named(self, names: Sequence[str], operator: str) -> Flags:
        """The values that names stand for, or all others."""
        chosen = np.zeros(len(self.texts), np.bool_)
        chosen[[place for name in names for place in self.meant.get(name, ())]] = True
        return ~chosen if operator == "<>" else chosen

    def _is_label(self, one: Condition) -> bool:
        """Does a comparison of numbers name labels of their hierarchy instead?

        Where values have no name, those that have one are looked up, too: the hierarchy says where each is.
        """
        if self.unnamed is not None:
            return one.by_name and all(self._name(text) in self.meant for text in one.literals)
        return one.by_name and all(name in self.meant and name not in self.texts for name in one.literals)


def not_at_hand(name: str) -> str:
    return f"the cells of {name} are labels of a hierarchy of which the release has only a part, or nothing"


def remedy(name: str) -> str:
    """How labels of numbers and dates get a meaning for readers."""
    file = "or, if its hierarchy is a file, pass the policy that names it"
    return f"publish with public = true on {name} in the policy, {file}"


PublishedColumn = RangeColumn | ValuesColumn  # its distinct cells, numbered
