"""Does what "k-Anonymity in the Presence of External Databases" concludes from its figures hold in ours?

The paper prints its figures without numbers, but its text names some. What "about", "almost identical" or
"not sensitive" mean here are the bounds below. They were set when single points had been seen, and no figure;
every statement also shows the numbers that it was judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from incrowd.reproduce.kja.panels import RATIO, TIME, Panel
from incrowd.reproduce.outcome import Statement

ALMOST = 1.1  # almost identical: larger to smaller
STEADY = 2.0  # not sensitive, unaffected, stable, roughly the same time: largest to smallest
TWICE = (1.5, 3.0)  # about two times as slow
SIX_TIMES = (4.0, 9.0)  # about six times
TWO_TO_FOUR = (2.0, 4.0)
ERROR_GAIN = (1.66, 3.04)
MINUTES = 300.0  # "a few minutes", in seconds


def judge(panels: Sequence[Panel]) -> tuple[Statement, ...]:
    """Every statement about a figure that was run."""
    by_name = {panel.name: panel for panel in panels}
    found: list[Statement] = []
    for number in dict.fromkeys(panel.number for panel in panels):
        whole = [panel for panel in panels if panel.number == number]
        found += [state(whole) for state in WHOLE.get(number, ())]
        found += [state(panel) for panel in whole for state in ABOUT.get(panel.name, ())]
        if number == 15 and "14a" in by_name:
            found.append(_more_accurate(by_name["14a"], by_name["15a"]))
        if number == 17 and "12a" in by_name:
            found.append(_narrower(by_name["17a"], by_name["12a"]))
    times = [panel for panel in panels if panel.shows == TIME]
    return (*found, *([_never_long(times)] if times else []))


# Loss and error


def _below(figure: Sequence[Panel]) -> Statement:
    """At every point; where the public table has nobody else all ways are one."""
    shares: dict[str, dict[str, float]] = {}
    for panel in figure:
        for name, line in panel.joined.items():
            shares.setdefault(name, {}).update(_compared(panel, line, panel.plain))
    who = "Refinement is" if len(shares) == 1 else "Direct and Refinement are"
    says = f"{who} below the conventional way at every point"
    held = all(share < 1 for each in shares.values() for share in each.values())
    detail = "; ".join(f"{name} {_extremes(each)} of it" for name, each in shares.items())
    return _said_of(figure, says, held, detail)


def _direct_first(figure: Sequence[Panel]) -> Statement:
    shares = _joint(figure, lambda panel: _compared(panel, panel.direct, panel.refined))
    return _first(figure, "Direct is better than Refinement", shares)


def _refined_first(figure: Sequence[Panel]) -> Statement:
    shares = _joint(figure, lambda panel: _compared(panel, panel.refined, panel.direct))
    return _first(figure, "Refinement is better than Direct", shares)


def _first(figure: Sequence[Panel], says: str, shares: Mapping[str, float]) -> Statement:
    better = sum(share < 1 for share in shares.values())
    detail = f"at {better} of {len(shares)} points; {_extremes(shares)} of the other"
    return _said_of(figure, says, better == len(shares), detail)


def _joint(figure: Sequence[Panel], of: Callable[[Panel], dict[str, float]]) -> dict[str, float]:
    return {where: value for panel in figure for where, value in of(panel).items()}


def _compared(panel: Panel, line: Sequence[float], other: Sequence[float]) -> dict[str, float]:
    """Which share of another line a line is, by point."""
    points = zip(panel.values, line, other, strict=True)
    return {
        f"{panel.over}={value}": mine / theirs
        for value, mine, theirs in points
        if panel.over != RATIO or value > 1
    }


def _extremes(shares: Mapping[str, float]) -> str:
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    return f"{shares[least]:.0%} ({least}) to {shares[most]:.0%} ({most})"


def _falls_with_ratio(panel: Panel) -> Statement:
    falling = all(_falls(line) for line in panel.joined.values())
    gains = {name: _gains(panel, line) for name, line in panel.joined.items()}
    detail = "gain: " + ", ".join(f"{name} {_list(each)}" for name, each in gains.items())
    return _said(panel, "the gain grows with the ratio", falling, detail)


def _rises_with(panel: Panel) -> Statement:
    rising = all(_rises(line) for line in panel.lines.values())
    return _said(panel, f"{panel.shows} of all grows with {panel.over}", rising, _ends(panel))


def _steady_over_d(panel: Panel) -> Statement:
    spread = {name: max(line) / min(line) for name, line in panel.lines.items()}
    says = f"{panel.shows} is not sensitive to {panel.over}"
    return _said(panel, says, max(spread.values()) <= STEADY, f"largest to smallest: {_each(spread)}")


def _six_times(panel: Panel) -> Statement:
    growth = {name: line[-1] / line[0] for name, line in panel.joined.items()}
    held = all(_inside(each, SIX_TIMES) for each in growth.values())
    first, last = panel.values[0], panel.values[-1]
    return _said(panel, f"DM at k={last} is about six times that at k={first}", held, _each(growth))


def _falls_with_range(panel: Panel) -> Statement:
    falling = all(_falls(line) for line in panel.lines.values())
    return _said(panel, "larger queries are estimated better", falling, _ends(panel))


def _two_to_four(panel: Panel) -> Statement:
    gains = _gains(panel, panel.refined)
    held = all(_inside(gain, TWO_TO_FOUR) for gain in gains)
    return _said(panel, "Refinement is two to four times as accurate", held, f"{_list(gains)} times")


def _error_gain(panel: Panel) -> Statement:
    gains = _gains(panel, panel.refined)
    low, high = ERROR_GAIN
    held = all(_inside(gain, ERROR_GAIN) for gain in gains)
    return _said(panel, f"Refinement is {low} to {high} times as accurate", held, f"{_list(gains)} times")


def _gains(panel: Panel, line: Sequence[float]) -> list[float]:
    """How many times below the conventional way a line lies."""
    return [1 / share for share in _compared(panel, line, panel.plain).values()]


def _more_accurate(mondrian: Panel, topdown: Panel) -> Statement:
    pairs = {"conventional": (mondrian.plain, topdown.plain), "REF": (mondrian.refined, topdown.refined)}
    held = all(theirs[-1] < ours[-1] for ours, theirs in pairs.values())
    detail = ", ".join(
        f"{name} {theirs[-1]:.3g} against {ours[-1]:.3g}" for name, (ours, theirs) in pairs.items()
    )
    return _said(topdown, "TopDown is more accurate than Mondrian, at the default", held, detail)


def _almost_equal(figure: Sequence[Panel]) -> Statement:
    margins = _joint(figure, lambda panel: _compared(panel, panel.refined, panel.direct))
    held = all(1 / ALMOST <= margin <= ALMOST for margin in margins.values())
    detail = f"Refinement {_extremes(margins)} of Direct"
    return _said_of(figure, "Direct and Refinement lose almost the same", held, detail)


def _narrower(uniform: Panel, real: Panel) -> Statement:
    """At the largest ratio that each has."""
    ours, theirs = _margins(uniform)[-1], _margins(real)[-1]
    detail = f"the larger is {ours:.3g} times the smaller, on {real.source} {theirs:.3g} times"
    return _said(
        uniform,
        "the margin between Direct and Refinement is narrower than on real people",
        ours < theirs,
        detail,
    )


def _margins(panel: Panel) -> list[float]:
    """How many times the smaller of both ways the larger is."""
    shares = _compared(panel, panel.direct, panel.refined).values()
    return [max(share, 1 / share) for share in shares]


# Time


def _slower_with_ratio(panel: Panel) -> Statement:
    rising = all(line[-1] > line[0] for line in panel.joined.values())
    return _said(panel, "times of k-join-anonymity grow with the ratio", rising, _ends(panel))


def _twice(panel: Panel) -> Statement:
    factor = panel.refined[-1] / panel.direct[-1]
    held = _inside(factor, TWICE)
    return _said(panel, "Refinement takes about twice as long as Direct", held, f"{factor:.3g} times")


def _as_long(panel: Panel) -> Statement:
    factors = _margins(panel)
    return _said(
        panel, "both take roughly the same time", max(factors) <= STEADY, f"{_span(factors)} times as long"
    )


def _quicker_with_k(panel: Panel) -> Statement:
    falling = all(_falls(line) for line in panel.lines.values())
    return _said(panel, "times of all fall with k", falling, _ends(panel))


def _plain_quicker_with_k(panel: Panel) -> Statement:
    return _said(
        panel, "the time of the conventional way falls with k", _falls(panel.plain), _line(panel.plain)
    )


def _plain_slower_with_d(panel: Panel) -> Statement:
    return _said(
        panel, "the time of the conventional way grows with d", _rises(panel.plain), _line(panel.plain)
    )


def _joined_steady(panel: Panel) -> Statement:
    spread = {name: max(line) / min(line) for name, line in panel.joined.items()}
    says = f"times of k-join-anonymity are stable over {panel.over}"
    return _said(panel, says, max(spread.values()) <= STEADY, f"slowest to quickest: {_each(spread)}")


def _unaffected(panel: Panel) -> Statement:
    spread = {name: max(line) / max(min(line), 1e-6) for name, line in panel.lines.items()}
    detail = f"slowest to quickest: {_each(spread)}"
    return _said(panel, f"times do not depend on {panel.over}", max(spread.values()) <= STEADY, detail)


def _never_long(panels: Sequence[Panel]) -> Statement:
    longest = max(max(line) for panel in panels for line in panel.lines.values())
    says = "Figures 18 and 19: nothing takes more than a few minutes"
    return Statement(says, longest <= MINUTES, f"at most {longest:.2f} s")


WHOLE: Mapping[int, Sequence[Callable[[Sequence[Panel]], Statement]]] = {
    10: (_below, _direct_first),
    11: (_below, _direct_first),
    12: (_below, _refined_first),
    13: (_below, _refined_first),
    14: (_below,),
    15: (_below,),
    16: (_below, _almost_equal),
    17: (_below,),
}
ABOUT: Mapping[str, Sequence[Callable[[Panel], Statement]]] = {
    "10a": (_falls_with_ratio,),
    "10b": (_rises_with,),
    "10c": (_rises_with,),
    "11a": (_falls_with_ratio,),
    "11b": (_rises_with, _six_times),
    "11c": (_steady_over_d,),
    "12a": (_falls_with_ratio,),
    "12b": (_rises_with,),
    "12c": (_rises_with,),
    "13a": (_falls_with_ratio,),
    "13b": (_rises_with,),
    "14a": (_falls_with_ratio,),
    "14b": (_rises_with,),
    "14c": (_falls_with_range, _two_to_four),
    "15a": (_falls_with_ratio,),
    "15b": (_rises_with, _error_gain),
    "15c": (_falls_with_range, _error_gain),
    "16a": (_falls_with_ratio,),
    "16b": (_rises_with,),
    "16c": (_rises_with,),
    "17a": (_falls_with_ratio,),
    "17b": (_rises_with,),
    "17c": (_rises_with,),
    "18a": (_slower_with_ratio, _twice),
    "18b": (_quicker_with_k,),
    "18c": (_unaffected,),
    "19a": (_slower_with_ratio, _as_long),
    "19b": (_plain_quicker_with_k, _joined_steady),
    "19c": (_plain_slower_with_d, _joined_steady),
}


# Words


def _said(panel: Panel, says: str, held: bool, detail: str) -> Statement:
    return Statement(f"Figure {panel.name}: {says}", held, detail)


def _said_of(figure: Sequence[Panel], says: str, held: bool, detail: str) -> Statement:
    return Statement(f"Figure {figure[0].number}: {says}", held, detail)


def _rises(values: Sequence[float]) -> bool:
    return all(b > a for a, b in pairwise(values))


def _falls(values: Sequence[float]) -> bool:
    return all(b < a for a, b in pairwise(values))


def _inside(value: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= value <= bounds[1]


def _each(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in values.items())


def _line(values: Sequence[float]) -> str:
    return f"{values[0]:.3g} to {values[-1]:.3g}"


def _ends(panel: Panel) -> str:
    """Each line at the first and the last value."""
    return ", ".join(f"{name} {_line(line)}" for name, line in panel.lines.items())


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}"


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)
