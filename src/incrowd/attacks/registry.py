"""The catalogue of attacks: what each adversary needs, in which order they are tried, what a result is.

To add an attack, write a function in a module of this package, name what it needs, and describe it in
docs/attacks.md. Whoever attacks offers a `Context`; an attack whose needs are not met does not apply. A
result has three rates with their intervals: with the release, blind, and where the attack must succeed. It
ends as held, broken or inconclusive (`Outcome`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from importlib import import_module
from itertools import groupby, product
from math import ceil, exp, lgamma, log, log1p, sqrt
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import catalogue, register
from incrowd.long_work import Progress, silent

USUAL = 1.959964  # 95 % of a normal distribution lie this near its mean
CAREFUL = 3.290527  # 99.9 %
LUCK = 1e-6  # who keeps a bound to the letter is accused with at most this probability


class Outcome(StrEnum):
    """How an attack ends: what is promised is kept, or is not, or that cannot be told.

    Where nothing is promised there is no bound. An attack on what a method does not make does not apply.
    """

    HELD = "held"
    BROKEN = "broken"
    INCONCLUSIVE = "inconclusive"
    NO_BOUND = "no bound"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Rate:
    """`won` of `tried`; `exact` if chance has no say in it, so that its interval has no width.

    Of what is exact but for some, ``luck`` has their rate, and how many they are.

    Examples
    --------
    >>> [round(end, 3) for end in Rate(0, 100).interval()]
    [0.0, 0.037]
    >>> Rate(Fraction(5, 2), 10, exact=True).interval()
    (0.25, 0.25)
    """

    won: int | Fraction
    tried: int
    exact: bool = False
    luck: tuple[Rate, int] | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.won <= self.tried:
            raise ValueError("nobody wins more often than they try")

    @property
    def share(self) -> float:
        return float(self.won / self.tried) if self.tried else 0.0

    def interval(self, z: float = USUAL) -> tuple[float, float]:
        """Wilson's interval, of 95 % unless told otherwise; from 0 to 1 if nothing was tried."""
        if self.exact:
            return self.share, self.share
        if self.luck is not None:
            rate, many = self.luck
            sure = float(self.won) - rate.share * many
            low, high = rate.interval(z)
            return (sure + low * many) / self.tried, min((sure + high * many) / self.tried, 1.0)
        if not self.tried:
            return 0.0, 1.0
        n, p = self.tried, self.share
        middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        reach = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        low = 0.0 if self.won == 0 else middle - reach
        return low, 1.0 if self.won == self.tried else middle + reach

    def above(self, bound: Fraction) -> bool:
        """Is it certainly above a bound?

        Chance would win so often once in a million, by the exact binomial: each release meets several
        attacks, each of its readers may repeat them, and it may keep its promise to the letter. What is
        broken is so by far more.

        Examples
        --------
        >>> Rate(38, 116).above(Fraction(1, 5)), Rate(50, 116).above(Fraction(1, 5))
        (False, True)
        """
        if self.exact:
            return self.won > bound * self.tried
        if self.luck is not None:
            rate, many = self.luck
            sure = self.won - Fraction(rate.won) * many / rate.tried if rate.tried else Fraction(self.won)
            return rate.above((bound * self.tried - sure) / many)
        if not 0 <= bound < 1 or self.won <= bound * self.tried:
            return bound < 0
        return by_chance(int(self.won), self.tried, float(bound)) < LUCK

    def within(self, bound: Fraction) -> bool:
        """Is it certainly not above a bound? If its interval reaches over the bound, nobody knows."""
        return self.won <= bound * self.tried if self.exact else self.interval()[1] <= bound

    def enough(self, bound: Fraction) -> int | None:
        """How many tries would be within a bound with this share; None if no number would.

        Wilson's interval ends where the bound b is as far from the share as z deviations of b.

        Examples
        --------
        >>> Rate(0, 2).enough(Fraction(1, 10)), Rate(1, 10).enough(Fraction(1, 10))
        (35, None)
        """
        left = float(bound) - self.share
        return ceil(USUAL**2 * float(bound * (1 - bound)) / left**2) if left > 0 else None

    def to_dict(self) -> dict[str, float | int]:
        low, high = self.interval()
        won = self.won if isinstance(self.won, int) else float(self.won)
        ends = {"share": self.share, "low": low, "high": high}
        return {"won": won, "tried": self.tried, **ends, "exact": self.exact}


def by_chance(won: int, tried: int, share: float) -> float:
    """How likely so many or more of `tried` win, each by itself with a chance; for more than are expected.

    Examples
    --------
    >>> round(by_chance(3, 4, 0.5), 12)
    0.3125
    """
    if not share:
        return float(not won)
    ways = lgamma(tried + 1) - lgamma(won + 1) - lgamma(tried - won + 1)
    term = exp(ways + won * log(share) + (tried - won) * log1p(-share))
    odds, found = share / (1 - share), 0.0
    while term > 1e-17 * found and won <= tried:  # each term is a smaller part of the one before
        found += term
        term *= odds * (tried - won) / (won + 1)
        won += 1
    return found


def one_of(sizes: NDArray[np.int64]) -> Rate:
    """How many are found if each is picked at random out of so many; nobody is found among none.

    The sum of 1/size, so that no luck is in it.

    Examples
    --------
    >>> one_of(np.array([2, 2, 4, 0])).won
    Fraction(5, 4)
    """
    size, people = np.unique(sizes[sizes > 0], return_counts=True)
    chances = map(Fraction, people.tolist(), size.tolist())
    return Rate(sum(chances, Fraction(0)), sizes.size, exact=True)


Details = dict[str, int | float | str]


@dataclass(frozen=True)
class AttackResult:
    """One adversary against one release.

    ``attack`` is the success with the release, ``guess`` without looking at it, ``control`` on a release
    that the attack must break. ``bound`` is what the promise allows; None if nothing is promised about this
    adversary. ``control_needs`` says what would let the control succeed, or be there.
    """

    name: str
    adversary: str
    knows: str
    attack: Rate
    guess: Rate
    control: Rate | None = None
    bound: Fraction | None = None
    details: Mapping[str, int | float | str] = field(default_factory=dict)
    control_needs: str = "a larger table, in which the control differs more from guessing"

    @property
    def outcome(self) -> Outcome:
        if self.bound is None:
            return Outcome.NO_BOUND
        if self.attack.above(self.bound):
            return Outcome.BROKEN
        return Outcome.INCONCLUSIVE if self.doubt is not None else Outcome.HELD

    @property
    def doubt(self) -> tuple[str, str] | None:
        """Why a success that is not above its bound proves nothing, and what would; None if it does."""
        rate, bound = self.attack, self.bound
        if bound is None or rate.above(bound):
            return None
        if not rate.tried and not rate.exact:
            return "nobody was scored, since no true row is known", MORE_TRUTH
        if not rate.within(bound):
            reason = f"up to {rate.interval()[1]:.2%} is possible, above the bound of {float(bound):.2%}"
            return reason, _to_decide(rate, bound)
        if self.control is None:
            return "its control could not be run", self.control_needs
        if not self.works:
            where = f"{self.control.share:.1%}, guessing {self.guess.share:.1%}"
            return f"its control did not break ({where})", self.control_needs
        return None

    @property
    def works(self) -> bool:
        """Does the attack beat blind guessing where it must? If not, its failure elsewhere proves nothing."""
        return self.control is not None and self.control.interval()[0] > self.guess.interval()[1]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "adversary": self.adversary,
            "knows": self.knows,
            "attack": self.attack.to_dict(),
            "guess": self.guess.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            "bound": None if self.bound is None else str(self.bound),
            **_ending(self.outcome, self.doubt),
            "works": self.works,
            "details": dict(self.details),
        }


MORE_TRUTH = "the audit's links beside the release, or more records with private values of their own"


def _to_decide(rate: Rate, bound: Fraction) -> str:
    """What would narrow an interval that reaches over the bound."""
    enough = rate.enough(bound)
    if enough is None:
        return "nothing here: success lies at the bound; incrowd audit counts everybody's matches exactly"
    return f"about {enough:,} scored persons ({rate.tried:,} were)"


def _ending(outcome: Outcome, doubt: tuple[str, str] | None) -> dict[str, str | bool]:
    """How an attack ended, for JSON."""
    reason, remedy = doubt or ("", "")
    holds = outcome is Outcome.HELD
    return {"outcome": str(outcome), "holds": holds, "reason": reason, "remedy": remedy}


NEEDS: Mapping[str, str] = {
    "release": "the published rows, the people, and whose row each is as far as that is known (`Target`)",
    "records": "the same where all rows are those of one table's records (`Target`)",
    "hierarchical": "the same where some quasi-identifier has a hierarchy (`Target`)",
    "everyone": "the same with the records that were suppressed (`Target`)",
    "left_out": "the same where some were suppressed, and it is known who (`Target`)",
    "left_out_again": "who is left out if the method is run again on quasi-identifiers alone (array)",
    "stated": "the same where the release states totals (`StatedTotals`)",
    "remade": "what the method makes of the original, run again, a row for each record (`Published`)",
    "rings": "the rings that the method lays, run again, and how they are assigned (`LaidRings`)",
    "outliers": "who is an outlier, at a setting that is promised or asked for (`OutlierHunt`)",
    "density": "who is an outlier by density, where that is asked for (`OutlierHunt`)",
    "series": "everybody's class in every release of a series (`SeriesTarget`)",
    "others": "other releases of the same people (list of `Target`)",
    "shared": "the private values that all these releases show (`SharedValues`)",
    "joined": "the release of people of two tables (`JoinTarget`)",
    "bucketed": "the same where sensitive values are published in buckets (`JoinTarget`)",
    "trimmed": "the same classes, people of the public table left out as printed (`JoinTarget`)",
    "classes": "the class in which each person has a row, -1 for nobody's (array)",
    "planted": "who of the public table does not exist (array)",
    "columns": "a context for each sensitive column",
    # of one sensitive column
    "values": "its value in each record and each row, and what is promised of it (`SensitiveValues`)",
    "beliefs": "what everybody's candidates say of it (`Beliefs`)",
    "beliefs_within_t": "the same where t-closeness is promised of it (`Beliefs`)",
    "control_beliefs": "what they say where all who can be mistaken for each other share a value (`Beliefs`)",
    "value_groups": "groups of exact rows, and which values each group has (`ValueGroups`)",
    "bucket_values": "the values of each bucket (`BucketValues`)",
}


class Context:
    """What adversaries may ask for by the names of `NEEDS`; each is made when first asked for, and kept."""

    def __init__(self, **makers: Callable[[], object]) -> None:
        if strange := makers.keys() - NEEDS.keys():
            raise ValueError(f"nobody needs {', '.join(sorted(strange))}")
        self._makers = makers
        self._made: dict[str, Any] = {}

    def offers(self, needs: Iterable[str]) -> bool:
        return self._makers.keys() >= {*needs}

    def get(self, need: str) -> Any:
        """None, or `NotTried` with a reason, if it is not there after all."""
        if need not in self._made:
            self._made[need] = self._makers[need]() if need in self._makers else None
        return self._made[need]


@dataclass(frozen=True, slots=True)
class NotTried:
    """Why an attack cannot be run, and what it would take: inconclusive, or it does not apply at all."""

    name: str
    reason: str
    remedy: str = ""
    outcome: Outcome = Outcome.NOT_APPLICABLE

    @property
    def doubt(self) -> tuple[str, str]:
        return (f"it was not tried: {self.reason}", self.remedy)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, **_ending(self.outcome, (self.reason, self.remedy))}


Run = TypeVar("Run", bound=Callable[..., "AttackResult | tuple[AttackResult, ...]"])


@dataclass(frozen=True, slots=True)
class Attack:
    """An adversary: a function of what it `needs`, then of what it `uses` where that is there (else None).

    Attacks are tried by ascending `place`. One of each sensitive column is run in the context of each. One
    that is `watched` takes a `progress`.
    """

    name: str
    place: int
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    each_column: bool
    watched: bool
    run: Callable[..., AttackResult | tuple[AttackResult, ...]]


def attack(
    name: str,
    place: int,
    needs: tuple[str, ...],
    uses: tuple[str, ...] = (),
    *,
    each_column: bool = False,
    watched: bool = False,
) -> Callable[[Run], Run]:
    """Enter a function into the catalogue of attacks."""
    if strange := {*needs, *uses} - NEEDS.keys():
        raise ValueError(f"{name} needs what nobody offers: {', '.join(sorted(strange))}")

    def enter(run: Run) -> Run:
        register("attack", name)(Attack(name, place, needs, uses, each_column, watched, run))
        return run

    return enter


def attacks() -> tuple[Attack, ...]:
    """Every attack, in the order in which they are tried."""
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"incrowd.attacks.{module.name}")
    return tuple(sorted(catalogue("attack").values(), key=lambda entered: entered.place))


@dataclass(frozen=True, slots=True)
class PlannedAttack:
    """An attack, and the context in which it is run; `about` is the sensitive column, if it is of one."""

    attack: Attack
    context: Context
    about: str = ""

    @property
    def name(self) -> str:
        return f"{self.attack.name}-{self.about}" if self.about else self.attack.name

    def run(self, progress: Progress = silent) -> Iterator[AttackResult | NotTried]:
        """Its results; why it was not tried, if a need has a reason not to be there, else nothing."""
        attack, context = self.attack, self.context
        given = [context.get(need) for need in attack.needs]
        untried = [need for need in given if isinstance(need, NotTried)]
        if untried or any(need is None for need in given):
            yield from untried
            return
        more = {"progress": progress} if attack.watched else {}
        found = attack.run(*given, *(context.get(use) for use in attack.uses), **more)
        yield from found if isinstance(found, tuple) else (found,)

    def stopped(self) -> NotTried:
        """For one that was never come to: it may not apply, but nobody knows."""
        return NotTried(self.name, STOPPED, TO_THE_END, Outcome.INCONCLUSIVE)


STOPPED = "the attacks were stopped before it"
TO_THE_END = "attacks that run to their end"


def planned_attacks(context: Context) -> Iterator[PlannedAttack]:
    """Every attack for which a context offers all that it needs, in the order in which they are tried."""
    for each_column, some in groupby(attacks(), lambda attack: attack.each_column):
        contexts = (context.get("columns") or ()) if each_column else (context,)
        for here, attack in product(contexts, list(some)):
            if here.offers(attack.needs):
                yield PlannedAttack(attack, here, here.get("values").name if each_column else "")


def every_result(context: Context) -> Iterator[AttackResult | NotTried]:
    """The results of every attack whose needs a context meets, and why others were not tried."""
    for planned in planned_attacks(context):
        yield from planned.run()
