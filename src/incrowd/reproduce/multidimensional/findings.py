"""Does what the multidimensional paper says of quality hold on larger tables?

It says that its model is "often" better and prints no numbers. Often means here: at more than half of the
points that were run; for predicates that match, on average over them. Every statement also shows the numbers
that decided it.
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
    CutPoint,
    CutSetting,
    CutTrials,
    bound,
)
from incrowd.reproduce.outcome import Statement
from incrowd.reproduce.trend import named

OFTEN = 0.5


def statements(found: CutTrials) -> tuple[Statement, ...]:
    """Every statement on every table; then the bounds, on all of them."""
    settings = list(dict.fromkeys(setting for _, setting in found))
    names = dict.fromkeys(setting.table for setting in settings)
    quality = [
        each
        for name in names
        for each in _quality(found, name, [setting for setting in settings if setting.table == name])
    ]
    return (*quality, *_bounds(found, settings))


def _quality(found: CutTrials, name: str, settings: Sequence[CutSetting]) -> list[Statement]:
    def often(says: str, measures: Mapping[str, Callable[[CutPoint], float]]) -> Statement:
        pairs = {
            what: [(of(found[STRICT, setting]), of(found[SINGLE, setting])) for setting in settings]
            for what, of in measures.items()
        }
        held = all(_better(each) > OFTEN * len(each) for each in pairs.values())
        return Statement(f"{name}: {says}", held, named(pairs, _compared, "; "))

    general, error = "multidimensional classes are often better by general measures", "relative error"
    return [
        often(general, {"C_DM": lambda point: point.dm, "C_AVG": lambda point: point.avg}),
        often("predicates on all columns are often answered better", {error: lambda p: p.errors[ALL]}),
        often("predicates on one column are often answered better", {error: lambda p: p.errors[ONE]}),
        _matching(found, name, settings),
    ]


def _better(pairs: Sequence[tuple[float, float]]) -> int:
    return sum(a < b for a, b in pairs)


def _compared(pairs: Sequence[tuple[float, float]]) -> str:
    ratios = [a / max(b, 1e-9) for a, b in pairs]
    return f"less at {_better(pairs)} of {len(pairs)}, {min(ratios):.2f} to {max(ratios):.2f} times as much"


def _matching(found: CutTrials, name: str, settings: Sequence[CutSetting]) -> Statement:
    """By the mean over all points: at most of them few predicates match in any way."""
    means = {
        load: [fmean(found[way, each].matched[load] for each in settings) for way in (STRICT, SINGLE)]
        for load in (ALL, ONE)
    }
    held = all(ours > theirs for ours, theirs in means.values())
    detail = named(means, lambda pair: "{:.1%} against {:.1%}".format(*pair), "; ")
    return Statement(f"{name}: more predicates match the classes", held, detail)


def _bounds(found: CutTrials, settings: Sequence[CutSetting]) -> list[Statement]:
    strict = [(found[STRICT, each], each) for each in settings]
    relaxed = [(found[RELAXED, each], 2 * each.k - 1) for each in settings]
    single = [(found[SINGLE, each], each) for each in settings]
    near = max(point.largest / bound(each.d, each.k, point.copies) for point, each in strict)
    past = sum(point.largest > bound(each.d, each.k, point.copies) for point, each in single)
    merged = sum(point.largest_class > most for point, most in relaxed)
    many = len(settings)
    full = f"at {many} points; the largest part is at most {near:.0%} of that"
    larger = (
        f"classes of equal rows are larger at {merged}, since parts around copies of a point say the same"
    )
    strictly = "Section 2.3: strict cuts leave at most 2d(k-1)+m, on these tables"
    loosely = "Section 2.3: relaxed cuts leave at most 2k-1, on these tables"
    apart = "Section 2.2.1: single-dimensional classes can be larger than strict ones may be"
    small = all(point.largest <= most for point, most in relaxed)
    return [
        Statement(strictly, all(point.room >= 0 for point, _ in strict), full),
        Statement(loosely, small, f"at {many} points; {larger}"),
        Statement(apart, past > 0, f"at {past} of {many} points"),
    ]
