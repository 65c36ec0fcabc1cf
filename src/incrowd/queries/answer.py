"""The answer to a query: certain bounds, an estimate, and what the estimate assumes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any

from incrowd.results import Result, Row

Bound = int | Fraction | date


@dataclass(frozen=True, repr=False)
class Answer(Result):
    """An aggregate: certain bounds, and an estimate with what it takes for granted.

    ``lower`` and ``upper`` hold for every table that the release may be about; None is unknown. ``nobody``
    says whether it may be that no known value is asked about: then SUM is 0, and AVG, MIN and MAX, which
    are NULL, have bounds for the case that there is one. ``estimate`` is None where nothing can be taken
    for granted; ``assumption`` says what was, or why nothing. ``matches`` says that no region is cut: how
    many people are asked about is certain. ``rows`` is how many rows may be theirs, ``about`` whom the
    answer speaks of. ``groups`` has an answer for each value of GROUP BY.
    """

    aggregate: str
    lower: Bound | None
    upper: Bound | None
    estimate: float | None
    assumption: str
    matches: bool
    nobody: bool
    rows: int
    about: str
    groups: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def exact(self) -> bool:
        """Is the answer certain?"""
        return self.lower is not None and self.lower == self.upper and not (self.nobody and self._needs_one)

    @property
    def _needs_one(self) -> bool:
        return self.aggregate in ("AVG", "MIN", "MAX")

    def headline(self) -> str:
        if self.exact:
            return f"{self.aggregate} is exactly {exact_text(self.lower)}"
        if self.lower is None or self.upper is None:
            return f"{self.aggregate} is unknown"
        guess = "" if self.estimate is None else f", estimated {self.estimate:,.4g}"
        return f"{self.aggregate} is from {exact_text(self.lower)} to {exact_text(self.upper)}{guess}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        answers = self.groups or {"": self}
        rows = (
            (value, exact_text(one.lower), exact_text(one.upper), one.estimate)
            for value, one in answers.items()
        )
        return ("value", "at least", "at most", "estimate"), rows

    def to_dict(self) -> dict[str, Any]:
        """In words that JSON knows: fractions and days are texts."""
        found: dict[str, Any] = {
            "aggregate": self.aggregate,
            "lower": exact_text(self.lower),
            "upper": exact_text(self.upper),
            "estimate": self.estimate,
            "assumption": self.assumption,
            "exact": self.exact,
            "matches": self.matches,
            "nobody": self.nobody,
            "rows": self.rows,
            "about": self.about,
        }
        groups = [{"value": value, **answer.to_dict()} for value, answer in self.groups.items()]
        return {**found, **({"groups": groups} if self.groups else {})}


def exact_text(bound: Bound | None) -> int | str | None:
    """A bound for JSON.

    Examples
    --------
    >>> exact_text(Fraction(73, 2)), exact_text(Fraction(4)), exact_text(None)
    ('73/2', 4, None)
    """
    if isinstance(bound, date):
        return bound.isoformat()
    if isinstance(bound, Fraction):
        return int(bound) if bound.denominator == 1 else str(bound)
    return bound
