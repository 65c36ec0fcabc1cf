"""Outliers: the distinguishability attack on a release, at the promised p and d, nearby, and where asked.

References
----------
Wang, Liu, "Hiding distinguished ones into crowd: privacy-preserving publishing data with outliers", EDBT
2009, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from incrowd.attacks.beliefs import values_of
from incrowd.attacks.distinguish import (
    CERTAIN,
    COLUMN,
    ROW,
    RULES,
    SCORES,
    Distinguished,
    ShownClass,
    classes_of,
    distinguish,
    shown_classes,
)
from incrowd.attacks.registry import AttackResult, Details, NotTried, Outcome, Rate, attack
from incrowd.attacks.target import Ints, Target
from incrowd.distance_outliers import Setting, Space
from incrowd.errors import IncrowdError, InputError, option
from incrowd.flow import Codes, Table
from incrowd.schema import Claim

Point = tuple[Decimal, Decimal]

KNOWS = "everyone's quasi-identifiers, who is an outlier, and with which values somebody would be one"
PLAIN = "plain"  # the model that promises something about outliers
NEARBY = Decimal("0.05")  # where the claim has no margin
RULES_OF = {"corner": SCORES, "candidate": CERTAIN, "both": RULES}
NOT_SHOWN = "a sensitive column that distance is measured over is not beside the rows"
SOME_OUTLIERS = "a p and d at which plain Mondrian discloses an outlier (incrowd outliers proposes some)"


def asked_setting(text: str) -> Setting:
    """The p and d that somebody asks for, and over which columns; over all if none is named.

    Examples
    --------
    >>> asked_setting("0.8,0.85").d
    '0.85'
    >>> asked_setting("0.8,0.85,age+cost").columns
    ('age', 'cost')
    """
    p, d, columns = (*text.split(",", 2), "", "")[:3]
    over = tuple(name.strip() for name in columns.split("+")) if columns else ()
    try:
        return Setting(p=p.strip(), d=d.strip(), distinct=2, margin=0, columns=over)
    except (IncrowdError, ArithmeticError, ValueError):
        raise InputError(
            f"{option('outliers')} takes p and d with a comma, as in 0.8,0.85: p above 0 and at most 1, "
            "d above 0; perhaps the columns to measure over, as in 0.8,0.85,age+cost"
        ) from None


def claimed_setting(claims: Sequence[Claim]) -> Setting | None:
    """What a release promises about outliers; None if nothing."""
    claim = next((claim for claim in claims if claim.model == PLAIN), None)
    try:
        return None if claim is None else Setting(**claim.parameters)  # type: ignore[arg-type]
    except (IncrowdError, TypeError, ValueError):
        raise InputError(
            "the manifest does not say what plain means: its parameters cannot be read"
        ) from None


@dataclass(frozen=True, eq=False)
class OutlierHunt:
    """The classes of a release in their space, with the setting that is claimed, or asked for, or both.

    ``control`` makes classes of these people (numbers of records) by plain Mondrian. If nothing is claimed,
    removed records have rows too.
    """

    space: Space
    shown: tuple[ShownClass, ...]
    claimed: Setting | None
    asked: Setting | None
    mondrian: Callable[[Ints], Sequence[Ints]]

    @classmethod
    def of(
        cls,
        everyone: Target,
        tables: tuple[Table, Table],
        claimed: Setting | None,
        asked: Setting | None,
        mondrian: Callable[[Ints], Sequence[Ints]],
    ) -> OutlierHunt | NotTried | None:
        """None where nothing is claimed or asked; `tables` are the original and the published rows."""
        setting = claimed or asked
        if setting is None:
            return None
        space = Space.of(everyone.data, setting)
        values = _values(space, *tables)
        if values is None:
            promised = Outcome.NOT_APPLICABLE if claimed is None else Outcome.INCONCLUSIVE
            return NotTried("outliers", NOT_SHOWN, "its values beside the rows", promised)
        shown = shown_classes(everyone.published, space, values, everyone.truth)
        return cls(space, shown, claimed, asked, mondrian)

    @cached_property
    def people(self) -> Ints:
        """Who takes part: removed records too, if nothing is claimed."""
        return np.arange(self.space.size) if self.claimed is None else self.space.rest

    @cached_property
    def control(self) -> tuple[ShownClass, ...]:
        """Classes of plain Mondrian with the same k over the same people."""
        groups = self.mondrian(self.people)
        return classes_of(self.space, groups) if groups else ()

    def result(
        self, name: str, points: Sequence[Point], rules: Sequence[str] = RULES, bound: Fraction | None = None
    ) -> AttackResult:
        """What is inferred at some p and d together."""
        found, control = self._at(points, self.shown), self._at(points, self.control)
        won, checked = (_sum([each.rate(rules) for each in some]) for some in (found, control))
        guess = Rate(0, self.people.size * len(points), exact=True)  # without classes nobody is named
        rates, details = (won, guess, checked if self.control else None), _details(points, found, rules)
        return AttackResult(name, "outlier-aware", KNOWS, *rates, bound, details, SOME_OUTLIERS)

    def _at(self, points: Sequence[Point], classes: Sequence[ShownClass]) -> list[Distinguished]:
        """At each point, by removal and scale of the claim: who is hidden at p and d is at larger ones."""
        low = self._distinguished((min(p for p, _ in points), min(d for _, d in points)), classes, None)
        if len(points) == 1:
            return [low]
        return [self._distinguished(point, classes, low.suspects) for point in points]

    def _distinguished(
        self, point: Point, classes: Sequence[ShownClass], among: Sequence[int] | None
    ) -> Distinguished:
        space = self.space.at(str(point[0]), str(point[1]))
        known = space.outliers() | space.removed if self.claimed is None else space.outliers()
        return distinguish(classes, space, known, among)


@attack("outliers", 300, ("outliers",))
def outliers(hunt: OutlierHunt) -> tuple[AttackResult, ...]:
    """Where it was promised, around it as far as the promise goes, and beyond; and where somebody asks."""
    results = [] if hunt.claimed is None else _promised(hunt, hunt.claimed)
    if hunt.asked is not None:
        here = (Decimal(hunt.asked.p), Decimal(hunt.asked.d))
        results.append(hunt.result("outliers-asked", [here]))
    return tuple(results)


def _promised(hunt: OutlierHunt, setting: Setting) -> list[AttackResult]:
    rules, around = RULES_OF[setting.form], neighbours(setting)
    near = [at for at in around if at[0] >= setting.p0 and at[1] >= setting.d0]
    beyond = [at for at in around if at not in near]
    results = [hunt.result("outliers", [(Decimal(setting.p), Decimal(setting.d))], rules, Fraction(0))]
    if near:
        results.append(hunt.result("outliers-nearby", near, rules, Fraction(0)))
    if beyond:
        results.append(hunt.result("outliers-beyond", beyond, rules))
    return results


def neighbours(setting: Setting) -> list[Point]:
    """The eight p and d around those of a setting, a margin away; without those that mean nothing.

    Examples
    --------
    >>> [f"{p} {d}" for p, d in neighbours(Setting(p="0.98", d="0.5", distinct=2))]
    ['0.93 0.45', '0.93 0.50', '0.93 0.55', '0.98 0.45', '0.98 0.55']
    """
    step = Decimal(setting.margin) or NEARBY
    p, d = Decimal(setting.p), Decimal(setting.d)
    around = [(p + i * step, d + j * step) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
    return [(p, d) for p, d in around if 0 < p <= 1 and d > 0]


def _values(space: Space, original: Table, rows: Table) -> Codes | None:
    """The codes of each row in the sensitive columns that take part; None if one is not published there."""
    columns = [space.data.sensitive[axis.index] for axis in space.axes[space.quasi :]]
    if any(column.name not in rows.names for column in columns):
        return None
    read = [values_of(c, original.column(c.name), rows.column(c.name)).shown for c in columns]
    return np.stack(read, axis=1).astype(np.int32)


def _sum(rates: Sequence[Rate]) -> Rate:
    return Rate(sum(rate.won for rate in rates), sum(rate.tried for rate in rates), exact=True)


def _details(points: Sequence[Point], found: Sequence[Distinguished], rules: Sequence[str]) -> Details:
    if len(found) > 1:
        rates = zip(points, (each.rate(rules) for each in found), strict=True)
        return {f"at_{p},{d}": _of(rate) for (p, d), rate in rates}
    one, (p, d) = found[0], points[0]
    counts = {
        "classes": one.classes,
        "with_a_bad_row": one.bad_rows,
        "with_a_bad_column": one.bad_columns,
        "persons_by_rows": one.persons([ROW]).size,
        "persons_by_columns": one.persons([COLUMN]).size,
        "certain_classes": one.certain_classes,
        "certain_persons": one.persons(CERTAIN).size,
    }
    more = {"classes_with_too_many_corners": one.unread} if one.unread else {}
    scores = {
        "highest_presence_score": str(one.presence),
        "highest_association_score": str(one.association),
        "scores_right": _of(one.right(*SCORES)),
        "certain_right": _of(one.right(*CERTAIN)),
    }
    return {"p": str(p), "d": str(d), "outliers": one.outliers.size, **counts, **more, **scores}


def _of(rate: Rate) -> str:
    return f"{rate.won} of {rate.tried}"
