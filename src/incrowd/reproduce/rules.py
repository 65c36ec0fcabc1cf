"""Is what a paper says true of what was measured? The rules, each of which gives a verdict with its reason.

* `within`, `below`, `above`: a number for each sample at each point (a loss, a difference, a ratio of two
  lines on the same sample, a share of cases), and where the paper says that it lies. An order at every k is
  one point for each k; "grows with k" one point for each step (`steps`); "usually" is a share above 1/2.
* `exact`: nothing is drawn: a worked example, a formula. With a counterexample it is false as printed.
* `unbroken`: something said of everybody: one counterexample refutes it.
* `all_of`: several such parts, of which each must hold.

A point is estimated by the mean over its samples with Student's interval of 95 %. A statement is held if all
intervals lie where the paper says: if it is false, this happens with 5 % at most, however many points there
are. It is not held if one lies wholly outside; since one of many does so by chance more often, this interval
is wider, 1 - 5 %/points. All else is undecided, and so is what has fewer than five samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf, nextafter

from incrowd.reproduce.samples import LEVEL, MeanOfSamples, Points

LEAST_SAMPLES = 5
SHOWN = 4  # so many points are named in a reason


class Verdict(StrEnum):
    """What became of a statement."""

    HELD = "held"
    NOT_HELD = "not held"
    UNDECIDED = "undecided"
    FALSE = "false as printed"


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with the numbers behind it: estimates, or words where numbers are exact."""

    verdict: Verdict
    reason: str
    ours: tuple[MeanOfSamples, ...] = ()
    words: str = ""
    counterexample: str = ""


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
    ours = tuple(MeanOfSamples.of(at, samples) for at, samples in points.items())
    where = words or _ends(low, high)
    if min(len(samples) for samples in points.values()) < LEAST_SAMPLES:
        return Finding(Verdict.UNDECIDED, f"fewer than {LEAST_SAMPLES} samples", ours)
    wide = [MeanOfSamples.of(at, each, 1 - (1 - LEVEL) / len(points)) for at, each in points.items()]
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
    reason = f"in all {len(parts)} parts" if len(parts) > 1 else found.reason
    if found.verdict != Verdict.HELD:
        reason = f"{worst}: {found.reason}"
    ours = tuple(
        MeanOfSamples(f"{name} {each.at}".strip(), each.mean, each.low, each.high, each.samples)
        for name, part in parts.items()
        for each in part.ours
    )
    words = "; ".join(f"{name}: {part.words}" for name, part in parts.items() if part.words)
    return Finding(found.verdict, reason, ours, words, found.counterexample)


ORDER = (Verdict.FALSE, Verdict.NOT_HELD, Verdict.UNDECIDED, Verdict.HELD)


def not_run(why: str) -> Finding:
    """Nobody can say."""
    return Finding(Verdict.UNDECIDED, why)


def _ends(low: float, high: float) -> str:
    if low == -inf:
        return f"at most {high:.3g}"
    return f"at least {low:.3g}" if high == inf else f"between {low:.3g} and {high:.3g}"


def _all(many: int) -> str:
    return "the only point" if many == 1 else f"all {many} points"


def _some(found: Sequence[MeanOfSamples]) -> str:
    return "; ".join(each.words for each in found[:SHOWN]) + ("; …" if len(found) > SHOWN else "")
