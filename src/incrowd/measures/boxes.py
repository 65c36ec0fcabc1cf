"""Boxes of range-count queries: sides by column, and boxes drawn at random.

A side is no condition of a `Predicate`: it is drawn, not written, in the unit of positions or by codes, and
it may ask for missing values, which satisfy no condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError, unknown
from incrowd.flow import Attribute, Microdata
from incrowd.schema import Kind, Shape

How = Literal["continuous", "discrete"]
Ways = How | Mapping[str, How]  # of all columns, or by name; columns that are not named are continuous
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Between:
    """From lower to upper, both inside, in the unit of the column's positions.

    With `missing`, people without a value are asked for too.
    """

    lower: float
    upper: float
    missing: bool = False

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise PolicyError("the lower end of a box must not lie above its upper end")


@dataclass(frozen=True, slots=True, eq=False)
class Among:
    """The values whose codes are marked: an array of shape (m,), missing being one of the codes."""

    allowed: Flags


@dataclass(frozen=True, slots=True, eq=False)
class RangeCount:
    """How many people lie in a box? The side of each column by name; other columns may be anything."""

    sides: Mapping[str, Between | Among]


def random_boxes(
    data: Microdata, share: float, count: int, draw: Callable[[], float], how: Ways = "continuous"
) -> list[RangeCount]:
    """Boxes that cover a share of the domain's volume, anywhere in it.

    Each side is ``share ** (1 / d)`` of its column, d being the number of columns with more than one value,
    and lies anywhere with the same chance. Where values are counted it is rounded to whole values, at least
    one. A box of numbers asks for nobody whose number is missing; of categories, missing is one. `draw` gives
    numbers from 0 to below 1, such as ``random.Random(7).random``.
    """
    if not 0 < share <= 1:
        raise PolicyError(f"the share of the domain must lie above 0 and be at most 1, got {share}")
    check_ways([a.name for a in data.attributes], how)
    wide = sum(_extent(attribute) for attribute in data.attributes)
    side = share ** (1 / max(wide, 1))
    return [
        RangeCount({a.name: _random_side(a, side, draw, how) for a in data.attributes}) for _ in range(count)
    ]


def _extent(attribute: Attribute) -> bool:
    """Has a column more than one value to choose from?"""
    return (attribute.span > 0) if on_a_line(attribute) else len(attribute) > 1


def _random_side(attribute: Attribute, side: float, draw: Callable[[], float], how: Ways) -> Between | Among:
    if on_a_line(attribute) and attribute.position[attribute.real].size:
        places = attribute.position[attribute.real]
        if by_length(attribute, how):
            slack, at = attribute.span * (1 - side), draw()  # measured from both ends: no slack, no rounding
            return Between(float(places[0]) + at * slack, float(places[-1]) - (1 - at) * slack)
        first, last = _window(places.size, side, draw)
        return Between(float(places[first]), float(places[last]))
    first, last = _window(len(attribute), side, draw)
    codes = np.arange(len(attribute))
    return Among((first <= codes) & (codes <= last))


def _window(size: int, side: float, draw: Callable[[], float]) -> tuple[int, int]:
    """First and last of neighbouring values that are about this share of all."""
    length = min(max(int(side * size + 0.5), 1), size)
    first = int(draw() * (size - length + 1))
    return first, first + length - 1


def on_a_line(attribute: Attribute) -> bool:
    """Are values numbers or dates, published as ranges? Then widths mean something."""
    return attribute.shape is Shape.RANGE and attribute.kind in (Kind.NUMERIC, Kind.DATE)


def by_length(attribute: Attribute, how: Ways) -> bool:
    way = how if isinstance(how, str) else how.get(attribute.name, "continuous")
    return way == "continuous" and on_a_line(attribute)


def check_names(known: Sequence[str], named: Sequence[str]) -> None:
    strange = sorted(set(named) - set(known))
    if strange:
        raise PolicyError(unknown("a quasi-identifier", strange, known))


def check_ways(known: Sequence[str], how: Ways) -> None:
    ways = {how} if isinstance(how, str) else set(how.values())
    if ways - {"continuous", "discrete"}:
        raise PolicyError("a column is counted as continuous or as discrete, and in no other way")
    check_names(known, [] if isinstance(how, str) else list(how))


def allowed_codes(attribute: Attribute, side: Between | Among) -> Flags:
    """Which codes a side asks for."""
    if isinstance(side, Among):
        if side.allowed.shape != (len(attribute),):
            raise PolicyError(f"a side of {attribute.name} must say yes or no to each of its values")
        return side.allowed
    if attribute.tree is not None or (
        attribute.shape is not Shape.RANGE and attribute.kind is Kind.CATEGORICAL
    ):
        raise PolicyError(f"the values of {attribute.name} lie on no line, so a side must name them")
    inside = (attribute.position >= side.lower) & (attribute.position <= side.upper)
    if attribute.missing >= 0:
        inside[attribute.missing] = side.missing
    return inside


def asked_columns(attributes: Sequence[Attribute], queries: Sequence[RangeCount]) -> list[int]:
    """The columns that some query asks about."""
    names = {name for query in queries for name in query.sides}
    return [j for j, attribute in enumerate(attributes) if attribute.name in names]
