"""Does what "k-Anonymity in the Presence of External Databases" concludes from its figures hold in ours?

The paper prints its figures without numbers, but its text names some. What "about", "almost identical" or
"not sensitive" mean here are the bounds below. They were set when single points had been seen, and no figure;
every statement also shows the numbers that decided it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from incrowd.reproduce.kja.trials import DIR, REF
from incrowd.reproduce.outcome import Figure, OneRun
from incrowd.reproduce.trend import ends, falls, inside, listed, named, number, rises, span, spread

NCP, DM, ERROR, TIME = "NCP", "DM", "ARE", "seconds"  # what a figure shows
RATIO, RANGE = "ratio", "|R|"
ALMOST = 1.1  # almost identical: larger to smaller
STEADY = 2.0  # not sensitive, unaffected, stable, roughly the same time: largest to smallest
TWICE = (1.5, 3.0)  # about two times as slow
SIX_TIMES = (4.0, 9.0)  # about six times
TWO_TO_FOUR = (2.0, 4.0)
ERROR_GAIN = (1.66, 3.04)
MINUTES = 300.0  # "a few minutes", in seconds
WAYS = {DIR: "Direct", REF: "Refinement"}


@dataclass(frozen=True, slots=True)
class JoinFigure(Figure):
    """What a figure shows of which base on which table."""

    data: str = ""
    base: str = ""
    shows: str = ""

    @property
    def number(self) -> int:
        """Of the whole figure, of which this is a part."""
        return int(self.name[:-1])

    def line(self, way: str = "") -> tuple[float, ...]:
        """Of DIR, REF, or the conventional way."""
        return self.lines[self.base + way]

    @property
    def joined(self) -> Mapping[str, tuple[float, ...]]:
        """The lines of k-join-anonymity, which are one if people are counted."""
        return {name: line for name, line in self.lines.items() if name != self.base}

    def shares(self, line: Sequence[float], other: Sequence[float]) -> dict[str, float]:
        """Which share of another line a line is, where the public table has somebody else."""
        points = zip(self.values, line, other, strict=True)
        return {f"{self.over}={at}": a / b for at, a, b in points if self.over != RATIO or at > 1}

    def gains(self, line: Sequence[float]) -> list[float]:
        """How many times below the conventional way a line lies."""
        return [1 / share for share in self.shares(line, self.line()).values()]

    def margins(self) -> list[float]:
        """How many times the smaller of both ways the larger is."""
        return [max(share, 1 / share) for share in self.shares(self.line(DIR), self.line(REF)).values()]


Part = Callable[[JoinFigure], OneRun]
Whole = Callable[[Sequence[JoinFigure]], OneRun]
Lines = Callable[[JoinFigure], Mapping[str, tuple[float, ...]]]  # that a statement is about
_all: Lines = attrgetter("lines")
_joined: Lines = attrgetter("joined")


def _plain(figure: JoinFigure) -> Mapping[str, tuple[float, ...]]:
    return {figure.base: figure.line()}


def statements(figures: Sequence[JoinFigure]) -> tuple[OneRun, ...]:
    """Every statement about a figure that was run."""
    by_name = {figure.name: figure for figure in figures}
    found: list[OneRun] = []
    for which in dict.fromkeys(figure.number for figure in figures):
        whole = [figure for figure in figures if figure.number == which]
        found += [state(whole) for state in WHOLE.get(which, ())]
        found += [state(figure) for figure in whole for state in ABOUT.get(figure.name, ())]
        if which == 15 and "14a" in by_name:
            found.append(_more_accurate(by_name["14a"], by_name["15a"]))
        if which == 17 and "12a" in by_name:
            found.append(_narrower(by_name["17a"], by_name["12a"]))
    times = [max(line) for figure in figures if figure.shows == TIME for line in figure.lines.values()]
    says = "Figures 18 and 19: nothing takes more than a few minutes"
    never = [OneRun(says, max(times) <= MINUTES, f"at most {max(times):.2f} s")] if times else []
    return (*found, *never)


# Whole figures


def _states(parts: Sequence[JoinFigure], says: str, held: bool, detail: str) -> OneRun:
    return OneRun(f"Figure {parts[0].number}: {says}", held, detail)


def _extremes(shares: Mapping[str, float]) -> str:
    least, most = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    return f"{shares[least]:.0%} ({least}) to {shares[most]:.0%} ({most})"


def _below(parts: Sequence[JoinFigure]) -> OneRun:
    """At every point; where the public table has nobody else all ways are one."""
    shares: dict[str, dict[str, float]] = {}
    for part in parts:
        for name, line in part.joined.items():
            shares.setdefault(name, {}).update(part.shares(line, part.line()))
    who = "Refinement is" if len(shares) == 1 else "Direct and Refinement are"
    held = all(share < 1 for each in shares.values() for share in each.values())
    detail = named(shares, lambda each: f"{_extremes(each)} of it", "; ")
    return _states(parts, f"{who} below the conventional way at every point", held, detail)


def _shares(parts: Sequence[JoinFigure], way: str, other: str) -> dict[str, float]:
    return {at: x for part in parts for at, x in part.shares(part.line(way), part.line(other)).items()}


def _better(way: str, other: str) -> Whole:
    def state(parts: Sequence[JoinFigure]) -> OneRun:
        shares = _shares(parts, way, other)
        better = sum(share < 1 for share in shares.values())
        detail = f"at {better} of {len(shares)} points; {_extremes(shares)} of the other"
        return _states(parts, f"{WAYS[way]} is better than {WAYS[other]}", better == len(shares), detail)

    return state


def _almost_equal(parts: Sequence[JoinFigure]) -> OneRun:
    shares = _shares(parts, REF, DIR)
    held = inside([*shares.values()], (1 / ALMOST, ALMOST))
    detail = f"Refinement {_extremes(shares)} of Direct"
    return _states(parts, "Direct and Refinement lose almost the same", held, detail)


# Two figures


def _more_accurate(mondrian: JoinFigure, topdown: JoinFigure) -> OneRun:
    last = {"conventional": "", "REF": REF}
    pairs = {name: (topdown.line(way)[-1], mondrian.line(way)[-1]) for name, way in last.items()}
    held = all(ours < theirs for ours, theirs in pairs.values())
    detail = named(pairs, lambda pair: f"{number(pair[0])} against {number(pair[1])}")
    return topdown.states("TopDown is more accurate than Mondrian, at the default", held, detail)


def _narrower(uniform: JoinFigure, real: JoinFigure) -> OneRun:
    """At the largest ratio that each has."""
    ours, theirs = uniform.margins()[-1], real.margins()[-1]
    says = "the margin between Direct and Refinement is narrower than on real people"
    detail = f"the larger is {ours:.3g} times the smaller, on {real.data} {theirs:.3g} times"
    return uniform.states(says, ours < theirs, detail)


# Parts of figures


def _trend(says: str, test: Callable[[Sequence[float]], bool], of: Lines = _all) -> Part:
    """Some lines go one way; shown by their ends."""

    def state(figure: JoinFigure) -> OneRun:
        detail = ends(figure.line()) if of is _plain else named(figure.lines, ends)
        return figure.states(says.format(figure), all(map(test, of(figure).values())), detail)

    return state


def _steady(says: str, word: str, of: Lines = _all) -> Part:
    def state(figure: JoinFigure) -> OneRun:
        spreads = {name: spread(line) for name, line in of(figure).items()}
        held = max(spreads.values()) <= STEADY
        return figure.states(says.format(figure), held, f"{word}: {named(spreads, number)}")

    return state


def _accurate(says: str, bounds: tuple[float, float]) -> Part:
    def state(figure: JoinFigure) -> OneRun:
        gains = figure.gains(figure.line(REF))
        says_all = f"Refinement is {says} times as accurate"
        return figure.states(says_all, inside(gains, bounds), f"{listed(gains)} times")

    return state


def _gain_grows(figure: JoinFigure) -> OneRun:
    gains = {name: figure.gains(line) for name, line in figure.joined.items()}
    held = all(map(falls, figure.joined.values()))
    return figure.states("the gain grows with the ratio", held, f"gain: {named(gains, listed)}")


def _six_times(figure: JoinFigure) -> OneRun:
    growth = {name: line[-1] / line[0] for name, line in figure.joined.items()}
    first, last = figure.values[0], figure.values[-1]
    says = f"DM at k={last} is about six times that at k={first}"
    return figure.states(says, inside([*growth.values()], SIX_TIMES), named(growth, number))


def _twice(figure: JoinFigure) -> OneRun:
    factor = figure.line(REF)[-1] / figure.line(DIR)[-1]
    says = "Refinement takes about twice as long as Direct"
    return figure.states(says, inside([factor], TWICE), f"{factor:.3g} times")


def _as_long(figure: JoinFigure) -> OneRun:
    factors = figure.margins()
    held = max(factors) <= STEADY
    return figure.states("both take roughly the same time", held, f"{span(factors)} times as long")


_grows = _trend("{0.shows} of all grows with {0.over}", rises)
_estimated = _trend("larger queries are estimated better", falls)
_slower = _trend("times of k-join-anonymity grow with the ratio", lambda line: line[-1] > line[0], _joined)
_stable = _steady("times of k-join-anonymity are stable over {0.over}", "slowest to quickest", _joined)
_two_to_four = _accurate("two to four", TWO_TO_FOUR)
_error_gain = _accurate("{} to {}".format(*ERROR_GAIN), ERROR_GAIN)
WHOLE: Mapping[int, Sequence[Whole]] = {
    **dict.fromkeys((10, 11), (_below, _better(DIR, REF))),
    **dict.fromkeys((12, 13), (_below, _better(REF, DIR))),
    **dict.fromkeys((14, 15, 17), (_below,)),
    16: (_below, _almost_equal),
}
ABOUT: Mapping[str, Sequence[Part]] = {
    **{f"{number}a": (_gain_grows,) for number in range(10, 18)},
    **{f"{number}{part}": (_grows,) for number in (10, 12, 16, 17) for part in "bc"},
    "11b": (_grows, _six_times),
    "11c": (_steady("{0.shows} is not sensitive to {0.over}", "largest to smallest"),),
    "13b": (_grows,),
    "14b": (_grows,),
    "14c": (_estimated, _two_to_four),
    "15b": (_grows, _error_gain),
    "15c": (_estimated, _error_gain),
    "18a": (_slower, _twice),
    "18b": (_trend("times of all fall with k", falls),),
    "18c": (_steady("times do not depend on {0.over}", "slowest to quickest"),),
    "19a": (_slower, _as_long),
    "19b": (_trend("the time of the conventional way falls with k", falls, _plain), _stable),
    "19c": (_trend("the time of the conventional way grows with d", rises, _plain), _stable),
}
