"""Attacking a written release by its outliers: at the promised p and d, nearby, and where somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.catalogue import method
from incrowd.attacks import (
    AttackResult,
    Distinguished,
    Rate,
    ShownClass,
    classes_of,
    distinguish,
    shown_classes,
    values_of,
)
from incrowd.attacks.outliers import CERTAIN, COLUMN, ROW, RULES, SCORES
from incrowd.contracts import Watch, silent
from incrowd.distance_outliers import Setting, Space
from incrowd.errors import IncrowdError, InputError
from incrowd.flow import Codes, Microdata, Partition, Table
from incrowd.measures import Published
from incrowd.models import Plain
from incrowd.publishing.suppression import data_of_kept
from incrowd.schema import Claim

Ints = NDArray[np.int64]
Point = tuple[Decimal, Decimal]

KNOWS = "everyone's quasi-identifiers, who is an outlier, and with which values somebody would be one"
NEARBY = Decimal("0.05")  # where the claim has no margin
RULES_OF = {"corner": SCORES, "candidate": CERTAIN, "both": RULES}
NOT_SHOWN = "outliers was not tried: a sensitive column of the distance is not published with the rows"


@dataclass(frozen=True, eq=False)
class Scene:
    """A release and its whole original, also who has no row; ``truth`` is the row of each record."""

    table: Table
    data: Microdata
    shown: Table
    published: Published
    truth: Ints
    k: int | None

    def values(self, space: Space) -> Codes | None:
        """What each row says in the sensitive columns that take part; None if it does not say it."""
        columns = [self.data.sensitive[axis.index] for axis in space.axes[space.quasi :]]
        if any(column.name not in self.shown.names for column in columns):
            return None
        read = [values_of(c, self.table.column(c.name), self.shown.column(c.name)).shown for c in columns]
        return np.stack(read, axis=1).astype(np.int32)


def attack_outliers(
    scene: Scene, claims: Sequence[Claim], asked: str | None, watch: Watch
) -> tuple[tuple[AttackResult, ...], tuple[str, ...]]:
    """What outliers lose by a release that promises them something, or where `asked` (``p,d``); and notes."""
    claim = next((claim for claim in claims if claim.model == Plain.name), None)
    wanted = None if asked is None else _asked(asked)
    setting = wanted if claim is None else _claimed(claim)
    if setting is None:
        return (), ()
    watch("attack: outliers")
    space = Space.of(scene.data, setting)
    values = scene.values(space)
    if values is None:
        return (), (NOT_SHOWN,)
    shown = shown_classes(scene.published, space, values, scene.truth)
    hunt = _Hunt(space, shown, scene.k, claimed=claim is not None)
    results = hunt.promised() if claim is not None else ()
    return results if wanted is None else (*results, hunt.asked(wanted)), ()


def _claimed(claim: Claim) -> Setting:
    try:
        return Setting(**claim.parameters)  # type: ignore[arg-type]
    except (IncrowdError, TypeError, ValueError):
        raise InputError(
            "the manifest does not say what plain means: its parameters cannot be read"
        ) from None


def _asked(text: str) -> Setting:
    """The setting that --outliers asks for.

    Examples
    --------
    >>> _asked("0.8,0.85").d
    '0.85'
    """
    p, _, d = text.partition(",")
    try:
        return Setting(p=p.strip(), d=d.strip(), distinct=2, margin=0)
    except (IncrowdError, ArithmeticError, ValueError):
        raise InputError(
            "--outliers takes p and d with a comma, as in 0.8,0.85: p above 0 and at most 1, d above 0"
        ) from None


@dataclass(frozen=True, eq=False)
class _Hunt:
    """The classes of a release in their space. If nothing is claimed, removed records have rows too."""

    space: Space
    shown: tuple[ShownClass, ...]
    k: int | None
    claimed: bool

    def promised(self) -> tuple[AttackResult, ...]:
        """Three lines: where it was promised, around it as far as the promise goes, and beyond."""
        setting = self.space.setting
        here = (Decimal(setting.p), Decimal(setting.d))
        rules, around = RULES_OF[setting.form], neighbours(setting)
        near = [at for at in around if at[0] >= setting.p0 and at[1] >= setting.d0]
        beyond = [at for at in around if at not in near]
        lines = [self._line("outliers", [here], rules, Fraction(0))]
        if near:
            lines.append(self._line("outliers-nearby", near, rules, Fraction(0)))
        if beyond:
            lines.append(self._line("outliers-beyond", beyond, rules, None))
        return tuple(lines)

    def asked(self, wanted: Setting) -> AttackResult:
        """One line, of which nothing is promised."""
        return self._line("outliers-asked", [(Decimal(wanted.p), Decimal(wanted.d))], RULES, None)

    @cached_property
    def control(self) -> tuple[ShownClass, ...]:
        """Classes of plain Mondrian with the same k over the same people."""
        space = self.space
        people = space.rest if self.claimed else np.arange(space.size)
        if self.k is None or people.size < self.k:
            return ()
        partition = method("mondrian").grouper(self.k, {}).group(data_of_kept(space.data, people), (), silent)
        if not isinstance(partition, Partition):
            return ()
        order, starts = partition.members()
        return classes_of(space, np.split(people[order], starts[1:-1]))

    def _line(
        self, name: str, points: Sequence[Point], rules: Sequence[str], bound: Fraction | None
    ) -> AttackResult:
        found = self._at(points, self.shown)
        control = self._at(points, self.control)
        people = self.space.rest.size if self.claimed else self.space.size
        return AttackResult(
            name,
            "outlier-aware",
            KNOWS,
            _sum([each.rate(rules) for each in found]),
            Rate(0, people * len(points)),  # without classes nobody is told of
            _sum([each.rate(rules) for each in control]) if self.control else None,
            bound,
            _details(points, found, rules),
        )

    def _at(self, points: Sequence[Point], classes: Sequence[ShownClass]) -> list[Distinguished]:
        """At each point; classes that tell nothing at the smallest p and d tell nothing at larger ones."""
        low = self._distinguished((min(p for p, _ in points), min(d for _, d in points)), classes, None)
        if len(points) == 1:
            return [low]
        return [self._distinguished(point, classes, low.suspects) for point in points]

    def _distinguished(
        self, point: Point, classes: Sequence[ShownClass], among: Sequence[int] | None
    ) -> Distinguished:
        space = self.space.at(str(point[0]), str(point[1]))
        known = space.outliers() if self.claimed else space.outliers() | space.removed
        return distinguish(classes, space, known, among)


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


def _sum(rates: Sequence[Rate]) -> Rate:
    return Rate(sum(rate.won for rate in rates), sum(rate.tried for rate in rates))


def _details(
    points: Sequence[Point], found: Sequence[Distinguished], rules: Sequence[str]
) -> dict[str, int | float | str]:
    if len(found) > 1:
        told = zip(points, (each.rate(rules) for each in found), strict=True)
        return {f"at_{p},{d}": f"{rate.won} of {rate.tried}" for (p, d), rate in told}
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
        "scores_right": _said(one.right(*SCORES)),
        "certain_right": _said(one.right(*CERTAIN)),
    }
    return {"p": str(p), "d": str(d), "outliers": one.outliers.size, **counts, **more, **scores}


def _said(rate: Rate) -> str:
    return f"{rate.won} of {rate.tried}"
