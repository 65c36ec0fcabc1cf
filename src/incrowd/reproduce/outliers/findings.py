"""Does what "Hiding Distinguished Ones into Crowd" concludes from its figures hold in ours?

The paper prints its figures without numbers and says that a time is dominant, negligible or considerable, and
that a loss is the same. What such words mean here are the bounds below; every statement also shows the
numbers that decided it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from incrowd.reproduce.figure import Figure
from incrowd.reproduce.outcome import Statement
from incrowd.reproduce.outliers.trials import EXPANSION, EXPC, GNOF, GOF, INCOGNITO, LOCAL, REMOVED, RESIDUES
from incrowd.reproduce.trend import TINY, falls, inside, listed, named, ratios, rises, span

DOMINANT = 0.5  # takes more than this share of the time
CONSIDERABLE = 0.1  # takes at least this share
NEGLIGIBLE = 0.05  # takes at most this share
VERY_SMALL = 0.01  # at most this share of all records
TWICE = (1.5, 2.5)
TWICE_AT = 50_000  # people
SAME, SIMILAR = 0.02, 0.1  # the largest is at most so much above the least
RIVALS = (GNOF, GOF)
THREE = (EXPC, *RIVALS)
COMPONENTS_OF = {EXPC: "9a", GNOF: "9b", GOF: "9c"}


def statements(figures: Sequence[Figure], residue: Mapping[str, Sequence[float]]) -> tuple[Statement, ...]:
    """Every statement of section 8; `residue` is the share of records that were left over, by n."""
    by_name = {figure.name: figure for figure in figures}
    size, loss = by_name["11"], by_name["13a"]
    return (
        *_time(by_name["8"]),
        *_components(by_name, residue),
        _below(by_name["10"], "expansion of ExpC takes less time than that of GNOF and GOF, always"),
        _below(size, "ExpC always makes the smallest groups"),
        _small_groups_lose_least(size, loss),
        *_times(by_name["12a"], "d"),
        *_times(by_name["12b"], "p"),
        _below(loss, "ExpC always loses least of all four", (*RIVALS, REMOVED)),
        _removal_worst(loss),
        *_losses(by_name["13b"], "p", "always the same", SAME),
        *_losses(by_name["13c"], "d", "similar", SIMILAR),
    )


# Approaches


def _points(figure: Figure, names: Sequence[str] = THREE) -> list[tuple[float, ...]]:
    """Of these approaches, value by value."""
    return list(zip(*(figure.lines[name] for name in names), strict=True))


def _ratios(figure: Figure, names: Sequence[str] = RIVALS) -> dict[str, list[float]]:
    """How many times as much as ExpC others have."""
    return {name: ratios(figure.lines[name], figure.lines[EXPC]) for name in names}


def _below(figure: Figure, says: str, rivals: Sequence[str] = RIVALS) -> Statement:
    """ExpC has less than each of the others at each value."""
    won = {name: sum(a < b for a, b in _points(figure, (EXPC, name))) for name in rivals}
    many = len(figure.values)
    detail = "; ".join(
        f"{name} {span(each)} times as much, more at {won[name]} of {many}"
        for name, each in _ratios(figure, rivals).items()
    )
    return figure.states(says, min(won.values()) == many, detail)


def _time(figure: Figure) -> Iterator[Statement]:
    others, ours, expc = [*map(min, _points(figure))], figure.lines[INCOGNITO], figure.lines[EXPC]
    held = all(a < b for a, b in zip(ours, others, strict=True))
    detail = f"{span(ours)} s, the quickest of the others {span(others)} s"
    yield figure.states("Incognito is always the fastest", held, detail)
    yield _below(figure, "ExpC is faster than GNOF and GOF at every n")
    gains = _ratios(figure)
    held = all(each[-1] > max(1.0, each[0]) for each in gains.values())
    detail = named(gains, lambda each: f"{listed(each)} times", "; ")
    says = "the gain of ExpC grows with n"
    yield figure.states(says, held, f"time of the others by that of ExpC: {detail}")
    if TWICE_AT in figure.values:
        there = {name: each[figure.values.index(TWICE_AT)] for name, each in gains.items()}
        says = f"with {TWICE_AT:,} people ExpC is around twice as fast"
        detail = named(there, "{:.2f} times the time".format)
        yield figure.states(says, inside([*there.values()], TWICE), detail)
    yield figure.states("the time of ExpC grows with n", rises(expc), f"{listed(expc)} s")


def _components(by_name: Mapping[str, Figure], residue: Mapping[str, Sequence[float]]) -> Iterator[Statement]:
    """What takes how much of the time of each approach."""
    looking, growing, settling = (
        {name: _shares(by_name[COMPONENTS_OF[name]], part) for name in names}
        for part, names in ((LOCAL, RIVALS), (EXPANSION, THREE), (RESIDUES, THREE))
    )
    says = "Figure 9: outlier detection takes considerable time in GNOF and GOF"
    yield Statement(says, min(map(min, looking.values())) >= CONSIDERABLE, _percents(looking))
    says = "Figure 9: expansion dominates the time of all three"
    yield Statement(says, min(map(min, growing.values())) > DOMINANT, _percents(growing))
    says = "Figure 9: residue processing is always negligible"
    yield Statement(says, max(map(max, settling.values())) <= NEGLIGIBLE, _percents(settling))
    says = "Figure 9: residue tuples are always very few compared with the table"
    few = max(map(max, residue.values())) <= VERY_SMALL
    yield Statement(says, few, _percents(residue) + " of all records")


def _shares(figure: Figure, part: str) -> list[float]:
    totals = [max(sum(values), TINY) for values in zip(*figure.lines.values(), strict=True)]
    return [value / total for value, total in zip(figure.lines[part], totals, strict=True)]


def _percents(shares: Mapping[str, Sequence[float]]) -> str:
    return named(shares, lambda each: span(each, "{:.1%}"))


def _small_groups_lose_least(sizes: Figure, loss: Figure) -> Statement:
    """Of the three approaches that keep outliers."""
    pairs = zip(_points(sizes), _points(loss), strict=True)
    same = sum(size.index(min(size)) == lost.index(min(lost)) for size, lost in pairs)
    many = len(sizes.values)
    detail = f"whoever has the smallest groups loses least at {same} of {many}"
    return sizes.states("smaller groups result in smaller loss", same == many, detail)


def _removal_worst(figure: Figure) -> Statement:
    others, ours = [max(point) for point in _points(figure)], figure.lines[REMOVED]
    worse = sum(a > b for a, b in zip(ours, others, strict=True))
    detail = f"at {worse} of {len(ours)}: {listed(ours)}, the worst of the others {listed(others)}"
    return figure.states("removing outliers always loses most", worse == len(ours), detail)


# Parameters of ExpC


def _times(figure: Figure, letter: str) -> list[Statement]:
    lines = [*figure.lines.values()]
    steps = [(a, b) for one, next_one in pairwise(lines) for a, b in zip(one, next_one, strict=True)]
    quicker = sum(b < a for a, b in steps)
    says = f"in most cases ExpC gets faster as {letter} grows"
    detail = "; ".join(f"{name}: {listed(line)} s" for name, line in figure.lines.items())
    return [
        figure.states(says, 2 * quicker > len(steps), f"in {quicker} of {len(steps)} steps"),
        figure.states("ExpC gets faster as k grows", all(map(falls, lines)), detail),
    ]


def _losses(figure: Figure, letter: str, word: str, bound: float) -> list[Statement]:
    lines = [*figure.lines.values()]
    every = [value for line in lines for value in line]
    above = [max(values) / min(values) - 1 for values in zip(*lines, strict=True)]
    detail = "; ".join(f"{name}: {listed(line)}" for name, line in figure.lines.items())
    apart = ", ".join(f"k={k} {each:.1%}" for k, each in zip(figure.values, above, strict=True))
    says = f"the loss is {word} with larger {letter}"
    return [
        figure.states("ExpC always loses less than 1", max(every) < 1, span(every)),
        figure.states("ExpC loses more as k grows", all(map(rises, lines)), detail),
        figure.states(says, max(above) <= bound, f"most to least: {apart}"),
    ]
