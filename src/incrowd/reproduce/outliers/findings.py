"""Does what "Hiding Distinguished Ones into Crowd" concludes from its figures hold in ours?

The paper prints its figures without numbers and says that a time is dominant, negligible or considerable, and
that a loss is the same. What such words mean here are the bounds below; every statement also shows the
numbers that it was judged by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from incrowd.reproduce.outcome import Statement
from incrowd.reproduce.outliers.trials import EXPANSION, EXPC, GNOF, GOF, INCOGNITO, LOCAL, REMOVED, RESIDUES

DOMINANT = 0.5  # takes more than this share of the time
CONSIDERABLE = 0.1  # takes at least this share
NEGLIGIBLE = 0.05  # takes at most this share
VERY_SMALL = 0.01  # at most this share of all records
TWICE = (1.5, 2.5)
TWICE_AT = 50_000  # people
SAME, SIMILAR = 0.02, 0.1  # the largest is at most so much above the least
RIVALS = (GNOF, GOF)
COMPONENTS_OF = {EXPC: "9a", GNOF: "9b", GOF: "9c"}


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: lines over values, all of one unit."""

    name: str
    title: str
    over: str
    values: tuple[int, ...]
    unit: str
    lines: Mapping[str, tuple[float, ...]]

    def as_dict(self) -> dict[str, Any]:
        return {
            "figure": self.name,
            "over": self.over,
            "values": list(self.values),
            "unit": self.unit,
            "lines": {name: list(line) for name, line in self.lines.items()},
        }


def judge(panels: Sequence[Panel], residue: Mapping[str, Sequence[float]]) -> tuple[Statement, ...]:
    """Every statement of section 8; `residue` is the share of records that were left over, by n."""
    by_name = {panel.name: panel for panel in panels}
    time, loss = by_name["8"], by_name["13a"]
    found = [
        _incognito_fastest(time),
        _below_rivals(time, "ExpC is faster than GNOF and GOF at every n"),
        _gain_grows(time),
        *_twice(time),
        *_components(by_name),
        _few_residues(residue),
        _below_rivals(by_name["10"], "expansion of ExpC takes less time than that of GNOF and GOF, always"),
        _below_rivals(by_name["11"], "ExpC always makes the smallest groups"),
        _small_groups_lose_least(by_name["11"], loss),
        _grows(time),
        *_times(by_name["12a"], "d"),
        *_times(by_name["12b"], "p"),
        _below_rivals(loss, "ExpC always loses least of all four", (*RIVALS, REMOVED)),
        _removal_worst(loss),
        *_losses(by_name["13b"], "p", "always the same", SAME),
        *_losses(by_name["13c"], "d", "similar", SIMILAR),
    ]
    return tuple(found)


# Approaches


def _incognito_fastest(panel: Panel) -> Statement:
    others = [min(panel.lines[name][i] for name in (EXPC, *RIVALS)) for i in range(len(panel.values))]
    ours = panel.lines[INCOGNITO]
    held = all(a < b for a, b in zip(ours, others, strict=True))
    detail = f"{_span(ours)} s, the quickest of the others {_span(others)} s"
    return _said(panel, "Incognito is always the fastest", held, detail)


def _below_rivals(panel: Panel, says: str, rivals: Sequence[str] = RIVALS) -> Statement:
    """ExpC has less than each of the others at each value."""
    ours = panel.lines[EXPC]
    won = {name: sum(a < b for a, b in zip(ours, panel.lines[name], strict=True)) for name in rivals}
    many = len(panel.values)
    detail = "; ".join(
        f"{name} {_span(_ratios(panel, name))} times as much, more at {won[name]} of {many}"
        for name in rivals
    )
    return _said(panel, says, all(count == many for count in won.values()), detail)


def _gain_grows(panel: Panel) -> Statement:
    gains = {name: _ratios(panel, name) for name in RIVALS}
    held = all(each[-1] > max(1.0, each[0]) for each in gains.values())
    detail = "; ".join(f"{name} {_list(each)} times" for name, each in gains.items())
    return _said(
        panel, "the gain of ExpC grows with n", held, f"time of the others by that of ExpC: {detail}"
    )


def _twice(panel: Panel) -> list[Statement]:
    if TWICE_AT not in panel.values:
        return []
    at = panel.values.index(TWICE_AT)
    gains = {name: _ratios(panel, name)[at] for name in RIVALS}
    held = all(TWICE[0] <= gain <= TWICE[1] for gain in gains.values())
    detail = ", ".join(f"{name} {gain:.2f} times the time" for name, gain in gains.items())
    return [_said(panel, f"with {TWICE_AT:,} people ExpC is around twice as fast", held, detail)]


def _components(by_name: Mapping[str, Panel]) -> list[Statement]:
    """What takes how much of the time of each approach."""

    def shares(part: str, names: Sequence[str]) -> dict[str, list[float]]:
        return {name: _shares(by_name[COMPONENTS_OF[name]], part) for name in names}

    looking, growing = shares(LOCAL, RIVALS), shares(EXPANSION, [*COMPONENTS_OF])
    settling = shares(RESIDUES, [*COMPONENTS_OF])
    least = [min(each) for each in looking.values()]
    return [
        Statement(
            "Figure 9: outlier detection takes considerable time in GNOF and GOF",
            min(least) >= CONSIDERABLE,
            _percents(looking),
        ),
        Statement(
            "Figure 9: expansion dominates the time of all three",
            min(map(min, growing.values())) > DOMINANT,
            _percents(growing),
        ),
        Statement(
            "Figure 9: residue processing is always negligible",
            max(map(max, settling.values())) <= NEGLIGIBLE,
            _percents(settling),
        ),
    ]


def _few_residues(residue: Mapping[str, Sequence[float]]) -> Statement:
    held = max(map(max, residue.values())) <= VERY_SMALL
    says = "Figure 9: residue tuples are always very few compared with the table"
    return Statement(says, held, _percents(residue) + " of all records")


def _small_groups_lose_least(sizes: Panel, loss: Panel) -> Statement:
    """Of the three approaches that keep outliers."""
    names = (EXPC, *RIVALS)
    same = 0
    for i in range(len(sizes.values)):
        smallest = min(names, key=lambda name, i=i: sizes.lines[name][i])  # type: ignore[misc]
        least = min(names, key=lambda name, i=i: loss.lines[name][i])  # type: ignore[misc]
        same += smallest == least
    detail = f"whoever has the smallest groups loses least at {same} of {len(sizes.values)}"
    return _said(sizes, "smaller groups result in smaller loss", same == len(sizes.values), detail)


def _grows(panel: Panel) -> Statement:
    held = all(b > a for a, b in pairwise(panel.lines[EXPC]))
    return _said(panel, "the time of ExpC grows with n", held, f"{_list(panel.lines[EXPC])} s")


def _removal_worst(panel: Panel) -> Statement:
    names = (EXPC, *RIVALS)
    others = [max(panel.lines[name][i] for name in names) for i in range(len(panel.values))]
    ours = panel.lines[REMOVED]
    worse = sum(a > b for a, b in zip(ours, others, strict=True))
    detail = f"at {worse} of {len(ours)}: {_list(ours)}, the worst of the others {_list(others)}"
    return _said(panel, "removing outliers always loses most", worse == len(ours), detail)


# Parameters of ExpC


def _times(panel: Panel, letter: str) -> list[Statement]:
    lines = [*panel.lines.values()]
    steps = [(a, b) for one, next_one in pairwise(lines) for a, b in zip(one, next_one, strict=True)]
    falls = sum(b < a for a, b in steps)
    by_k = [sum(b < a for a, b in pairwise(line)) for line in lines]
    ends = "; ".join(f"{name}: {_list(line)} s" for name, line in panel.lines.items())
    says = f"in most cases ExpC gets faster as {letter} grows"
    return [
        _said(panel, says, 2 * falls > len(steps), f"in {falls} of {len(steps)} steps"),
        _said(panel, "ExpC gets faster as k grows", all(count == len(lines[0]) - 1 for count in by_k), ends),
    ]


def _losses(panel: Panel, letter: str, word: str, bound: float) -> list[Statement]:
    lines = [*panel.lines.values()]
    every = [value for line in lines for value in line]
    rising = all(b > a for line in lines for a, b in pairwise(line))
    apart = [max(values) / min(values) - 1 for values in zip(*lines, strict=True)]
    ends = "; ".join(f"{name}: {_list(line)}" for name, line in panel.lines.items())
    spread = ", ".join(f"k={k} {each:.1%}" for k, each in zip(panel.values, apart, strict=True))
    return [
        _said(panel, "ExpC always loses less than 1", max(every) < 1, f"{_span(every)}"),
        _said(panel, "ExpC loses more as k grows", rising, ends),
        _said(
            panel,
            f"the loss is {word} with larger {letter}",
            max(apart) <= bound,
            f"most to least: {spread}",
        ),
    ]


# Words


def _said(panel: Panel, says: str, held: bool, detail: str) -> Statement:
    return Statement(f"Figure {panel.name}: {says}", held, detail)


def _ratios(panel: Panel, name: str) -> list[float]:
    return [b / max(a, 1e-6) for a, b in zip(panel.lines[EXPC], panel.lines[name], strict=True)]


def _shares(panel: Panel, part: str) -> list[float]:
    totals = [max(sum(values), 1e-6) for values in zip(*panel.lines.values(), strict=True)]
    return [value / total for value, total in zip(panel.lines[part], totals, strict=True)]


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}"


def _list(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def _percents(shares: Mapping[str, Sequence[float]]) -> str:
    return ", ".join(f"{name} {min(each):.1%} to {max(each):.1%}" for name, each in shares.items())
