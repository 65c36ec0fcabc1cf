"""Does what the multidimensional paper says of quality hold on larger tables?

It says that its model is "often" better and prints no numbers. Often means here: at more than half of the
points that were run; for predicates that match, on average over them. Every statement also shows the numbers
that it was judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from incrowd.reproduce.multidimensional.trials import (
    ALL,
    ONE,
    RELAXED,
    SINGLE,
    STRICT,
    Ask,
    Point,
    Trials,
    bound,
)
from incrowd.reproduce.outcome import Statement

OFTEN = 0.5


def judge(found: Trials) -> tuple[Statement, ...]:
    """Every statement on every table; then the bounds, on all of them."""
    asks = list(dict.fromkeys(ask for _, ask in found))
    names = list(dict.fromkeys(ask.table for ask in asks))
    quality = [each for name in names for each in _quality(found, name, [a for a in asks if a.table == name])]
    return (*quality, *_bounds(found, asks))


def _quality(found: Trials, name: str, asks: Sequence[Ask]) -> list[Statement]:
    def often(says: str, of: Mapping[str, Callable[[Point], float]]) -> Statement:
        pairs = {
            what: [(measure(found[STRICT, ask]), measure(found[SINGLE, ask])) for ask in asks]
            for what, measure in of.items()
        }
        held = all(_better(each) > OFTEN * len(each) for each in pairs.values())
        told = [f"{what} {_compared(each)}" for what, each in pairs.items()]
        return Statement(f"{name}: {says}", held, "; ".join(told))

    error = "relative error"
    return [
        often(
            "multidimensional classes are often better by general measures",
            {"C_DM": lambda point: point.dm, "C_AVG": lambda point: point.avg},
        ),
        often("predicates on all columns are often answered better", {error: lambda p: p.errors[ALL]}),
        often("predicates on one column are often answered better", {error: lambda p: p.errors[ONE]}),
        _matching(found, name, asks),
    ]


def _better(pairs: Sequence[tuple[float, float]]) -> int:
    return sum(a < b for a, b in pairs)


def _compared(pairs: Sequence[tuple[float, float]]) -> str:
    ratios = [a / max(b, 1e-9) for a, b in pairs]
    return f"less at {_better(pairs)} of {len(pairs)}, {min(ratios):.2f} to {max(ratios):.2f} times as much"


def _matching(found: Trials, name: str, asks: Sequence[Ask]) -> Statement:
    """By the mean over all points: at most of them few predicates match in any way."""
    held, told = [], []
    for load in (ALL, ONE):
        ours, theirs = (fmean(found[way, ask].matched[load] for ask in asks) for way in (STRICT, SINGLE))
        held.append(ours > theirs)
        told.append(f"{load} {ours:.1%} against {theirs:.1%}")
    return Statement(f"{name}: more predicates match the classes", all(held), "; ".join(told))


def _bounds(found: Trials, asks: Sequence[Ask]) -> list[Statement]:
    strict = [found[STRICT, ask] for ask in asks]
    relaxed = [(found[RELAXED, ask], 2 * ask.k - 1) for ask in asks]
    near = max(p.largest / bound(a.d, a.k, p.copies) for a, p in zip(asks, strict, strict=True))
    past = [ask for ask in asks if (p := found[SINGLE, ask]).largest > bound(ask.d, ask.k, p.copies)]
    merged = [point for point, most in relaxed if point.largest_class > most]
    return [
        Statement(
            "Section 2.3: strict cuts leave at most 2d(k-1)+m, on these tables",
            all(point.room >= 0 for point in strict),
            f"at {len(asks)} points; the largest part is at most {near:.0%} of that",
        ),
        Statement(
            "Section 2.3: relaxed cuts leave at most 2k-1, on these tables",
            all(point.largest <= most for point, most in relaxed),
            f"at {len(asks)} points; classes of equal rows are larger at {len(merged)}, since parts around "
            "copies of a point say the same",
        ),
        Statement(
            "Section 2.2.1: single-dimensional classes can be larger than strict ones may be",
            bool(past),
            f"at {len(past)} of {len(asks)} points",
        ),
    ]
