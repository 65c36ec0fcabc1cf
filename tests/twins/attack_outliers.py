"""The distinguishability attack in plain Python and without incrowd, as the paper's section 4 says it.

A record is a tuple of quasi-identifiers and one of sensitive values: whole numbers, None for missing. All
columns are ranges and take part with weight 1. Groups are lists of records, and cover the rest of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

Values = tuple[int | None, ...]


@dataclass(frozen=True)
class Attack:
    """Quasi-identifiers and sensitive values of each record, the groups, and what makes an outlier."""

    quasi: Sequence[Values]
    sensitive: Sequence[Values]
    groups: Sequence[Sequence[int]]
    p: Fraction
    d: Fraction
    gone: frozenset[int] = frozenset()
    spans: list[int] = field(default_factory=list)

    @property
    def everyone(self) -> range:
        return range(len(self.quasi))

    @property
    def rest(self) -> list[int]:
        return [i for i in self.everyone if i not in self.gone]

    def bad(self, quasi: Values, sensitive: Values) -> bool:
        """Are at least p of all records, counted among the rest, further than d?"""
        if not self.spans:
            for column in zip(*((*self.quasi[i], *self.sensitive[i]) for i in self.rest), strict=True):
                known = [x for x in column if x is not None]
                self.spans.append(max(max(known) - min(known), 1) if known else 1)
        far = sum(
            sum(
                _buckets(a, b, span) ** 2
                for a, b, span in zip(
                    (*quasi, *sensitive), (*self.quasi[i], *self.sensitive[i]), self.spans, strict=True
                )
            )
            > self.d * self.d
            for i in self.rest
        )
        return far >= self.p * len(self.quasi)

    def outliers(self) -> list[int]:
        return [i for i in self.rest if self.bad(self.quasi[i], self.sensitive[i])]

    def cell(self, group: Sequence[int], j: int) -> list[int | None]:
        """The ends of a column's range, and missing if somebody's value is."""
        met = {self.quasi[i][j] for i in group}
        known = sorted(x for x in met if x is not None)
        return [*sorted({*known[:1], *known[-1:]}), *([None] if None in met else [])]

    def fits(self, i: int, group: Sequence[int]) -> bool:
        return all(_holds(self.cell(group, j), x) for j, x in enumerate(self.quasi[i]))

    def constrained(self, i: int, group: Sequence[int]) -> bool:
        """Definition 4.3, one record and one column after the other."""
        for j, here in enumerate(self.quasi[i]):
            ends = [x for x in self.cell(group, j) if x is not None]
            for other in self.everyone:
                there = self.quasi[other][j]
                if here is None or there is None or not ends:
                    continue
                if not (here + min(ends) >= 2 * there or here + max(ends) <= 2 * there):
                    return False
        return True

    def no_farther(self, node: Values, i: int) -> bool:
        """Is a node nowhere farther from anybody than record i?"""
        return all(
            _buckets(o, t, span) >= _buckets(n, t, span)
            for other in self.everyone
            for o, n, t, span in zip(self.quasi[i], node, self.quasi[other], self.spans, strict=False)
        )

    def told(self) -> dict[tuple[str, int, int], tuple[Fraction, Fraction]]:
        """Rule, group and record (-1 for nobody) -> scores of presence and association."""
        found: dict[tuple[str, int, int], tuple[Fraction, Fraction]] = {}
        outliers = self.outliers()
        for g, group in enumerate(self.groups):
            values = sorted({self.sensitive[i] for i in group}, key=repr)
            corners = list(product(*(self.cell(group, j) for j in range(len(self.quasi[0])))))
            known = [o for o in outliers if self.fits(o, group)]
            people = [i for i in self.rest if self.fits(i, group)]
            named: list[tuple[str, int]] = []
            if any(all(self.bad(corner, s) for corner in corners) for s in values):
                named += [("row", o) for o in known if self.constrained(o, group)]
            nodes = [corner for corner in corners if all(self.bad(corner, s) for s in values)]
            named += [("column", o) for o in known if any(self.no_farther(node, o) for node in nodes)]
            if any(all(self.bad(self.quasi[i], s) for i in people) for s in values):
                named += [("candidate-row", o) for o in known or [-1]]
            marked = [i for i in people if all(self.bad(self.quasi[i], s) for s in values)]
            named += [("candidate-column", i) for i in marked]
            for rule, who in named:
                made = sum(self.bad(self.quasi[who], s) for s in values)
                scores = (Fraction(1, len(known)), Fraction(1, made)) if who in known else (Fraction(0),) * 2
                found[rule, g, who] = (scores[0], scores[1])
        return found


@dataclass(frozen=True)
class Subspace(Attack):
    """The same where distance is over some quasi-identifiers (their numbers) and the sensitive columns."""

    columns: tuple[int, ...] = ()

    def bad(self, quasi: Values, sensitive: Values) -> bool:
        super().bad(quasi, sensitive)  # which finds the spans
        split = len(self.quasi[0])
        taking = [*self.columns, *range(split, split + len(sensitive))]

        def far(i: int) -> bool:
            here, there = (*quasi, *sensitive), (*self.quasi[i], *self.sensitive[i])
            square = sum(_buckets(here[j], there[j], self.spans[j]) ** 2 for j in taking)
            return square > self.d * self.d

        return sum(map(far, self.rest)) >= self.p * len(self.quasi)

    def constrained(self, i: int, group: Sequence[int]) -> bool:
        for j in self.columns:
            here, ends = self.quasi[i][j], [x for x in self.cell(group, j) if x is not None]
            for other in self.everyone:
                there = self.quasi[other][j]
                if here is None or there is None or not ends:
                    continue
                if not (here + min(ends) >= 2 * there or here + max(ends) <= 2 * there):
                    return False
        return True

    def no_farther(self, node: Values, i: int) -> bool:
        return all(
            _buckets(self.quasi[i][j], self.quasi[other][j], self.spans[j])
            >= _buckets(node[j], self.quasi[other][j], self.spans[j])
            for other in self.everyone
            for j in self.columns
        )


def agreeing_values(whole: Attack, subspaces: Sequence[Subspace], who: int) -> tuple[int, int, int]:
    """Different values of the groups that somebody fits: all, those of an outlier, those that fit all."""
    fitting = [group for group in whole.groups if whole.fits(who, group)]
    values = {whole.sensitive[i] for group in fitting for i in group}
    outlier = {s for s in values if whole.bad(whole.quasi[who], s)}
    agreeing = {
        s
        for s in outlier
        if all(
            sub.bad(whole.quasi[who], s) == sub.bad(whole.quasi[who], whole.sensitive[who])
            for sub in subspaces
        )
    }
    return len(values), len(outlier), len(agreeing)


def _buckets(a: int | None, b: int | None, span: int) -> Fraction:
    if a is None or b is None:
        return Fraction(0 if a is b else 1)
    return abs(Fraction(a - b, span))


def _holds(cell: list[int | None], x: int | None) -> bool:
    known = [end for end in cell if end is not None]
    return None in cell if x is None else bool(known) and min(known) <= x <= max(known)
