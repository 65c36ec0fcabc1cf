"""Is a statement of a paper true here? Judged on samples, by intervals; the rules and the nouns.

How a paper declares what it says: one `Claim` for each statement, in a tuple called `CLAIMS`,

    Claim("table1.order", "VII, Table I", "(k,k) loses less than the best agglomerative, for every k",
          lambda found: below(found.ratios(KK, BEST), 1.0), data="ART", printed=None)

and `judged(paper, CLAIMS, found, …)` makes `Statement`s of them. `judge` gets what was measured and returns a
`Finding`, computed by one of the rules below; nothing else says what held:

* `within`, `below`, `above`: a number for each sample at each point (a loss, a difference, a ratio of two
  lines on the same sample, a share of cases), and where the paper says that it lies. An order at every k is
  one point for each k; "grows with k" one point for each step (`steps`); "usually" is a share above 1/2.
* `exact`: nothing is drawn: a worked example, a formula. With a counterexample it is false as printed.
* `unbroken`: something said of everybody: one counterexample refutes it.
* `all_of`: several such parts, of which each must hold.

A claim on a table that is not there, or that was left out, is undecided and says why.

**The rule.** A point is estimated by the mean over its samples with Student's interval of 95 %. A statement
is held if all intervals lie where the paper says: if it is false, this happens with 5 % at most, however many
points there are. It is not held if one lies wholly outside; since one of many does so by chance more often,
this interval is wider, 1 - 5 %/points. All else is undecided, and so is what has fewer than five samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from math import atan2, cos, inf, isfinite, nextafter, pi, sin, sqrt
from statistics import fmean, stdev
from typing import Any, Generic, TypeVar

from incrowd.reproduce.trend import ratios, span

LEVEL = 0.95
LEAST_SAMPLES = 5
SHOWN = 4  # so many points are named in a reason
Samples = Sequence[float]
Points = Mapping[str, Samples]  # by name ("k=5"), a number for each sample
R = TypeVar("R")


class Verdict(StrEnum):
    """What became of a statement."""

    HELD = "held"
    NOT_HELD = "not held"
    UNDECIDED = "undecided"
    FALSE = "false as printed"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of ours: the mean over samples and its interval."""

    at: str
    mean: float
    low: float
    high: float
    samples: int

    @classmethod
    def of(cls, at: str, samples: Samples, level: float = LEVEL) -> Estimate:
        """Student's interval; with one sample it is unknown, from -inf to inf.

        Examples
        --------
        >>> Estimate.of("k=5", [1.0, 2.0, 3.0, 4.0, 5.0]).words
        'k=5: 3 (1.04 to 4.96)'
        """
        mean = fmean(samples)
        if len(samples) < 2:
            return cls(at, mean, -inf, inf, len(samples))
        half = student(level, len(samples) - 1) * stdev(samples) / sqrt(len(samples))
        return cls(at, mean, mean - half, mean + half, len(samples))

    @property
    def words(self) -> str:
        known = f" ({self.low:.3g} to {self.high:.3g})" if isfinite(self.low) else ""
        return f"{self.at}: {self.mean:.3g}{known}"

    def to_dict(self) -> dict[str, Any]:
        ends = {"low": self.low, "high": self.high} if isfinite(self.low) else {"low": None, "high": None}
        return {"at": self.at, "mean": self.mean, **ends, "samples": self.samples}


@lru_cache(maxsize=256)
def student(level: float, freedom: int) -> float:
    """Student's t: |t| is below it with probability `level`; by bisection of the exact distribution.

    Examples
    --------
    >>> round(student(0.95, 4), 3)
    2.776
    """
    low, high = 0.0, 1e6
    while high - low > 1e-9 * (1 + low):
        middle = (low + high) / 2
        low, high = (low, middle) if _inside(middle, freedom) >= level else (middle, high)
    return high


def _inside(t: float, freedom: int) -> float:
    """How likely |T| is at most t: Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = atan2(t, sqrt(freedom))
    odd = freedom % 2
    term, total = (cos(angle) if odd else 1.0), 0.0
    for i in range(odd + 2, freedom + 1, 2):
        total += term
        term *= cos(angle) ** 2 * (i - 1) / i
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with the numbers behind it: estimates, or words where numbers are exact."""

    verdict: Verdict
    reason: str
    ours: tuple[Estimate, ...] = ()
    words: str = ""
    counterexample: str = ""


# The rules


def within(points: Points, low: float = -inf, high: float = inf, words: str = "") -> Finding:
    """Every point's number lies between both ends, which belong to it; `words` say where that is.

    Examples
    --------
    >>> within({"k=5": [0.5, 0.6, 0.5, 0.6, 0.5]}, high=1).verdict
    <Verdict.HELD: 'held'>
    >>> within({"k=5": [0.5, 1.6, 0.5, 1.6, 0.5]}, high=1).verdict
    <Verdict.UNDECIDED: 'undecided'>
    """
    if not points or any(not samples for samples in points.values()):
        return not_run("nothing was measured")
    ours = tuple(Estimate.of(at, samples) for at, samples in points.items())
    where = words or _ends(low, high)
    if min(len(samples) for samples in points.values()) < LEAST_SAMPLES:
        return Finding(Verdict.UNDECIDED, f"fewer than {LEAST_SAMPLES} samples", ours)
    wide = [Estimate.of(at, each, 1 - (1 - LEVEL) / len(points)) for at, each in points.items()]
    outside = [each for each in wide if each.low > high or each.high < low]
    if outside:
        reason = f"not {where} at {len(outside)} of {len(ours)}: {_some(outside)}"
        return Finding(Verdict.NOT_HELD, reason, ours)
    open_ones = [each for each in ours if each.low < low or each.high > high]
    if open_ones:
        reason = f"{where} or not: intervals leave it open at {len(open_ones)} of {len(ours)}: "
        return Finding(Verdict.UNDECIDED, reason + _some(open_ones), ours)
    return Finding(Verdict.HELD, f"{where} at {_all(len(ours))}", ours)


def below(points: Points, bound: float) -> Finding:
    """Every point's number is less."""
    return within(points, high=nextafter(bound, -inf), words=f"below {bound:.3g}")


def above(points: Points, bound: float) -> Finding:
    """Every point's number is more."""
    return within(points, low=nextafter(bound, inf), words=f"above {bound:.3g}")


def exact(held: bool, words: str, reason: str = "", counterexample: str = "") -> Finding:
    """Nothing is drawn, so there is no interval; false as printed if there is a counterexample."""
    no = Verdict.FALSE if counterexample else Verdict.NOT_HELD
    return Finding(Verdict.HELD if held else no, reason or "exact", (), words, "" if held else counterexample)


def unbroken(checked: int, counterexample: str, words: str = "") -> Finding:
    """Said of everything, and looked for in `checked` cases: a counterexample, or none (an empty text)."""
    if counterexample:
        return Finding(Verdict.FALSE, "one counterexample is enough", (), words, counterexample)
    if not checked:
        return not_run("nothing was checked")
    return Finding(Verdict.HELD, f"no counterexample among {checked:,}", (), words)


def all_of(parts: Mapping[str, Finding]) -> Finding:
    """Each part must hold; the first that does not, or is not decided, gives the reason."""
    worst = min(parts, key=lambda name: ORDER.index(parts[name].verdict))
    found = parts[worst]
    reason = f"{worst}: {found.reason}" if found.verdict != Verdict.HELD else f"in all {len(parts)} parts"
    ours = tuple(
        Estimate(f"{name} {each.at}".strip(), each.mean, each.low, each.high, each.samples)
        for name, part in parts.items()
        for each in part.ours
    )
    words = "; ".join(f"{name}: {part.words}" for name, part in parts.items() if part.words)
    return Finding(found.verdict, reason, ours, words, found.counterexample)


ORDER = (Verdict.FALSE, Verdict.NOT_HELD, Verdict.UNDECIDED, Verdict.HELD)


def not_run(why: str) -> Finding:
    """Nobody can say."""
    return Finding(Verdict.UNDECIDED, why)


# Numbers of samples


def ratio(line: Points, other: Points) -> dict[str, list[float]]:
    """How many times as much a line has as another on the same sample, at the points of both.

    Points with a sample where neither has anything are left out: nobody wins there.
    """
    pairs = {at: list(zip(line[at], other[at], strict=True)) for at in line if at in other}
    return {at: ratios(line[at], other[at]) for at, both in pairs.items() if all(map(any, both))}


def difference(line: Points, other: Points) -> dict[str, list[float]]:
    """How much more a line has than another on the same sample."""
    return {at: [a - b for a, b in zip(line[at], other[at], strict=True)] for at in line if at in other}


def steps(line: Points) -> dict[str, list[float]]:
    """How much a line grows from one point to the next, on each sample."""
    return {f"{a} to {b}": [y - x for x, y in zip(line[a], line[b], strict=True)] for a, b in pairwise(line)}


def shares(cases: Iterable[Sequence[bool]]) -> list[float]:
    """Of each sample the share of its cases that are so."""
    return [fmean(map(float, each)) for each in cases]


def _ends(low: float, high: float) -> str:
    if low == -inf:
        return f"at most {high:.3g}"
    return f"at least {low:.3g}" if high == inf else f"between {low:.3g} and {high:.3g}"


def _all(many: int) -> str:
    return "the only point" if many == 1 else f"all {many} points"


def _some(found: Sequence[Estimate]) -> str:
    return "; ".join(each.words for each in found[:SHOWN]) + ("; …" if len(found) > SHOWN else "")


# Statements


@dataclass(frozen=True)  # a generic class with slots cannot be called as Claim[R](…)
class Claim(Generic[R]):
    """What a paper says, and how it is judged.

    `id` is its name within the paper, `data` the table that it is judged on. `inferred`: the paper does not
    say it in so many words; it is a conclusion of ours. `command` is another one that shows it.
    """

    id: str
    section: str
    says: str
    judge: Callable[[R], Finding]
    data: str = ""
    printed: float | str | None = None
    inferred: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that a paper says, what was found, and the verdict."""

    id: str
    paper: str
    section: str
    says: str
    printed: float | str | None
    data: str
    found: Finding
    command: str
    inferred: bool = False

    @property
    def verdict(self) -> Verdict:
        return self.found.verdict

    @property
    def ours(self) -> str:
        """Numbers with their intervals, in words."""
        return "; ".join(
            [*([self.found.words] if self.found.words else []), *(e.words for e in self.found.ours)]
        )

    @property
    def interval(self) -> str:
        """Which interval this is."""
        return f"Student-t, {LEVEL:.0%}, of the mean over samples" if self.found.ours else "exact"

    @property
    def word(self) -> str:
        """The verdict, as it stands in a table."""
        return str(self.verdict)

    @property
    def detail(self) -> str:
        """What was found, from the least to the most, and why that decides it."""
        means = [each.mean for each in self.found.ours]
        least_and_most = [span(means)] if means else []
        shown = "; ".join([*([self.found.words] if self.found.words else []), *least_and_most])
        return f"{shown} ({self.reason})" if shown else self.reason

    @property
    def reason(self) -> str:
        against = self.found.counterexample
        return f"{self.found.reason}: {against}" if against else self.found.reason

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "paper": self.paper,
            "section": self.section,
            "says": self.says,
            "inferred": self.inferred,
            "printed": self.printed,
            "ours": {
                "words": self.found.words,
                "points": [each.to_dict() for each in self.found.ours],
                "interval": self.interval,
            },
            "data": self.data,
            "verdict": str(self.verdict),
            "reason": self.found.reason,
            "counterexample": self.found.counterexample or None,
            "command": self.command,
        }


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a run: those used, each in words (samples, records), and why others were not."""

    used: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def judged(
    paper: str, claims: Sequence[Claim[R]], found: R, tables: Tables, quick: bool = False
) -> tuple[Statement, ...]:
    """Every claim as a statement with its verdict, in the order that they are declared in."""
    command = f"incrowd reproduce {paper}" + " --quick" * quick

    def state(claim: Claim[R]) -> Statement:
        why = tables.missing.get(claim.data)
        finding = not_run(why) if why else claim.judge(found)
        data = tables.used.get(claim.data, claim.data)
        identity = f"{paper}.{claim.id}"
        shown = claim.command or command
        return Statement(
            identity, paper, claim.section, claim.says, claim.printed, data, finding, shown, claim.inferred
        )

    stated = tuple(state(claim) for claim in claims)
    if len({each.id for each in stated}) < len(stated):
        raise ValueError(f"two statements of {paper} have the same name")
    return stated
