"""How near the numbers of a class lie to each other: (k,e)-anonymity, (epsilon,m)-anonymity, ranges.

The models that Wang and Liu hold plain classes against. All three ask that a class's sensitive numbers are
far enough apart, so that nobody's number is known roughly; none of them sees that one number is far from
what its owner's like have. They are measured here, and not promised.

References
----------
Zhang, Koudas, Srivastava, Yu, "Aggregate query answering on anonymized tables", ICDE 2007: (k,e).
Li, Tao, Xiao, "Preservation of proximity privacy in publishing numerical sensitive data", SIGMOD 2008.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class Proximity:
    """What the classes of a table reach in one numeric sensitive column.

    The table is (k,e)-anonymous for k up to ``values`` and e up to ``least_range``. For ``epsilon`` it is
    (epsilon,m)-anonymous for m up to ``m``, None if no epsilon is asked. ``largest_range`` is that of the
    widest class, ``known`` how many numbers were there.
    """

    values: int
    least_range: Fraction
    largest_range: Fraction
    known: int
    epsilon: Fraction | None = None
    m: Fraction | None = None

    def to_dict(self) -> dict[str, Any]:
        near = {} if self.m is None else {"epsilon": _text(self.epsilon), "m": _text(self.m)}
        ends = {"least_range": _text(self.least_range), "largest_range": _text(self.largest_range)}
        return {"distinct": self.values, **ends, "known": self.known, **near}


def proximity(classes: Iterable[Sequence[Fraction]], epsilon: Fraction | None = None) -> Proximity | None:
    """What classes of numbers reach; None if there are none. A class without numbers counts for nothing.

    Examples
    --------
    >>> figure_2a = [[20, 25, 120], [30, 50], [100, 110, 130]]
    >>> found = proximity([[Fraction(x) for x in each] for each in figure_2a], Fraction(5))
    >>> found.values, found.least_range, found.largest_range, found.m
    (2, Fraction(20, 1), Fraction(100, 1), Fraction(3, 2))
    """
    some = [sorted(numbers) for numbers in classes if numbers]
    if not some:
        return None
    ranges = [numbers[-1] - numbers[0] for numbers in some]
    return Proximity(
        min(len(set(numbers)) for numbers in some),
        min(ranges),
        max(ranges),
        sum(map(len, some)),
        epsilon,
        None if epsilon is None else min(_apart(numbers, epsilon) for numbers in some),
    )


def _apart(numbers: Sequence[Fraction], epsilon: Fraction) -> Fraction:
    """The largest m such that at most 1/m of these sorted numbers lie within epsilon of any of them."""
    most, first, last = 0, 0, 0
    for x in numbers:
        while numbers[first] < x - epsilon:
            first += 1
        while last < len(numbers) and numbers[last] <= x + epsilon:
            last += 1
        most = max(most, last - first)
    return Fraction(len(numbers), most)


def _text(number: Fraction | None) -> str:
    """As a decimal if it is one of at most six places, else as a fraction."""
    whole = None if number is None else number * 10**6
    if whole is None or whole.denominator != 1:
        return str(number)
    return f"{float(number):.6f}".rstrip("0").rstrip(".") if number is not None else ""
