"""What Wang, Liu, "Hiding Distinguished Ones into Crowd" say, and how it is judged.

The paper prints its figures without numbers and says that a time is dominant, negligible or considerable, and
that a loss is the same. What such words mean here are the bounds below; every statement also shows the
numbers that decided it. What is said of time is judged by processor seconds, and once more by two counts that
no machine and no cleverness in the search changes: around how many points records were counted, where what is
known is not counted again, and how often it was asked whether a point is an outlier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from incrowd.attacks.distinguish import COLUMN, ROW
from incrowd.reproduce.judging import Claim
from incrowd.reproduce.outliers import examples
from incrowd.reproduce.outliers.scale import RIVALS, THREE, MeasuredPoints, Of
from incrowd.reproduce.outliers.trials import (
    EXPANSION,
    EXPC,
    INCOGNITO,
    LOCAL,
    MEASURES,
    REMOVED,
    RESIDUES,
    GroupingPoint,
)
from incrowd.reproduce.rules import Finding, above, all_of, below, not_run, within
from incrowd.reproduce.samples import TINY, Points, ratio, shares, steps

DOMINANT = 0.5  # takes more than this share
CONSIDERABLE = 0.1  # takes at least this share
NEGLIGIBLE = 0.05  # takes at most this share
VERY_SMALL = 0.01  # at most this share of all records
TWICE = (1.5, 2.5)
TWICE_AT = 50_000  # people
MOST_CASES = 0.5  # more than this share of them
SAME, SIMILAR = 0.02, 0.1  # one is at most so much above the other
CENSUS = "CENSUS"
BY = {"seconds": "", "counted": ", by points counted", "asked": ", by checks asked"}
Judge = Callable[[MeasuredPoints], Finding]


def took(measure: str) -> Of:
    return lambda point: point.took(measure)


def part(measure: str, component: str) -> Of:
    return lambda point: float(getattr(point, measure)[component])


def share(measure: str, component: str) -> Of:
    return lambda point: part(measure, component)(point) / max(point.took(measure), TINY)


def size(point: GroupingPoint) -> float:
    return point.size


def loss(point: GroupingPoint) -> float:
    return point.loss


def less_than(rival: str, of: Of) -> Judge:
    """ExpC has less than a rival, at every place."""
    return lambda found: below(ratio(found.over(EXPC, of), found.over(rival, of)), 1.0)


def _extreme(found: MeasuredPoints, names: Sequence[str], of: Of, pick: Callable[..., float]) -> Points:
    lines = [found.over(name, of) for name in names]
    return {
        place: [pick(*each) for each in zip(*(line[place] for line in lines), strict=True)]
        for place in lines[0]
    }


def incognito_fastest(found: MeasuredPoints) -> Finding:
    seconds = took("seconds")
    return below(ratio(found.over(INCOGNITO, seconds), _extreme(found, THREE, seconds, min)), 1.0)


def gain_grows(rival: str, measure: str) -> Judge:
    """From the smallest to the largest of the sizes that are run in one way."""

    def judge(found: MeasuredPoints) -> Finding:
        sizes = found.scale.growing()
        ends, of = (sizes[0], sizes[-1]), took(measure)
        if len(sizes) < 2:
            return not_run("only one size is run with the same limits")
        return above(steps(ratio(found.over(rival, of, ends), found.over(EXPC, of, ends))), 0.0)

    return judge


def twice(rival: str, measure: str) -> Judge:
    def judge(found: MeasuredPoints) -> Finding:
        if TWICE_AT not in found.scale.sizes:
            return not_run(f"{TWICE_AT:,} people: left out by --quick")
        of, at = took(measure), (TWICE_AT,)
        return within(ratio(found.over(rival, of, at), found.over(EXPC, of, at)), *TWICE)

    return judge


def shared(names: Sequence[str], measure: str, component: str, rule: Callable[[Points], Finding]) -> Judge:
    """What share a component takes, for each approach and at each place."""
    of = share(measure, component)
    return lambda found: all_of({name: rule(found.over(name, of)) for name in names})


def few_residues(found: MeasuredPoints) -> Finding:
    n = {place: at.n for place, at in found.scale.places().items()}
    lines = {name: found.over(name, lambda point: float(point.residue)) for name in THREE}
    parts = {
        name: within({place: [x / n[place] for x in each] for place, each in line.items()}, high=VERY_SMALL)
        for name, line in lines.items()
    }
    return all_of(parts)


def smaller_groups_lose_less(found: MeasuredPoints) -> Finding:
    """Whoever has the smallest groups loses least, in most places of a sample."""
    sizes, losses = ([found.over(name, of) for name in THREE] for of in (size, loss))
    cases: list[list[bool]] = [[] for _ in range(found.scale.samples)]
    for place in sizes[0]:
        for s, case in enumerate(cases):
            smallest, least = ([line[place][s] for line in lines] for lines in (sizes, losses))
            case.append(smallest.index(min(smallest)) == least.index(min(least)))
    return above({"share of places": shares(cases)}, MOST_CASES)


def grows_with_n(measure: str) -> Judge:
    return lambda found: above(steps(found.over(EXPC, took(measure), found.scale.growing())), 0.0)


def faster_with(letter: str, measure: str) -> Judge:
    """In most of the steps from one p or d to the next, at every k."""

    def judge(found: MeasuredPoints) -> Finding:
        lines = [found.over_k(line, took(measure)) for line in found.scale.lines(letter).values()]
        cases: list[list[bool]] = [[] for _ in range(found.scale.samples)]
        for one, next_one in pairwise(lines):
            for k in one:
                for case, a, b in zip(cases, one[k], next_one[k], strict=True):
                    case.append(b < a)
        return above({"share of steps": shares(cases)}, MOST_CASES)

    return judge


def over_k(letter: str, of: Of, rule: Callable[[Points], Finding]) -> Judge:
    """A rule for every line over k."""

    def judge(found: MeasuredPoints) -> Finding:
        lines = found.scale.lines(letter).items()
        return all_of({name: rule(found.over_k(line, of)) for name, line in lines})

    return judge


def same_loss(letter: str, most: float) -> Judge:
    """The loss at the larger p or d by that at the smaller, step by step."""

    def judge(found: MeasuredPoints) -> Finding:
        lines = {name: found.over_k(line, loss) for name, line in found.scale.lines(letter).items()}
        parts = {
            f"{a} to {b}": within(ratio(lines[b], lines[a]), 1 - most, 1 + most) for a, b in pairwise(lines)
        }
        return all_of(parts)

    return judge


def removal_worst(found: MeasuredPoints) -> Finding:
    return above(ratio(found.over(REMOVED, loss), _extreme(found, THREE, loss, max)), 1.0)


def _timed(
    id: str, section: str, says: str, judge: Callable[[str], Judge], measures: Sequence[str] = MEASURES
) -> Iterator[Claim[MeasuredPoints]]:
    """What is said of time, once for each measure; the counts are a conclusion of ours."""
    for measure in measures:
        name = id if measure == "seconds" else f"{id}.{measure}"
        inferred = measure != "seconds"
        yield Claim(name, section, says + BY[measure], judge(measure), CENSUS, inferred=inferred)


def _claims() -> Iterator[Claim[MeasuredPoints]]:
    eight, nine, ten = "8.2.1, Figure 8", "8.2.1, Figure 9", "8.2.1, Figure 10"
    yield Claim("8.incognito", eight, "Incognito is always the fastest", incognito_fastest, CENSUS)
    for rival in RIVALS:
        yield from _timed(
            f"8.{rival.lower()}",
            eight,
            f"ExpC is faster than {rival}",
            lambda measure, rival=rival: less_than(rival, took(measure)),  # type: ignore[misc]
        )
        yield from _timed(
            f"8.gain.{rival.lower()}",
            eight,
            f"the gain of ExpC over {rival} grows with n",
            lambda measure, rival=rival: gain_grows(rival, measure),  # type: ignore[misc]
        )
        yield from _timed(
            f"8.twice.{rival.lower()}",
            eight,
            f"with 50,000 people ExpC is around twice as fast as {rival}",
            lambda measure, rival=rival: twice(rival, measure),  # type: ignore[misc]
        )
    yield from _timed(
        "8.detection",
        eight,
        "outlier detection, which ExpC avoids, takes considerable time",
        lambda measure: shared(RIVALS, measure, LOCAL, lambda points: within(points, low=CONSIDERABLE)),
    )
    yield from _timed(
        "9.expansion",
        nine,
        "expansion dominates the time of all three",
        lambda measure: shared(THREE, measure, EXPANSION, lambda points: above(points, DOMINANT)),
    )
    yield from _timed(
        "9.residues",
        nine,
        "residue processing is always negligible",
        lambda measure: shared(THREE, measure, RESIDUES, lambda points: within(points, high=NEGLIGIBLE)),
    )
    yield Claim("9.few", nine, "residue tuples are always very few", few_residues, CENSUS)
    for rival in RIVALS:
        yield from _timed(
            f"10.{rival.lower()}",
            ten,
            f"expansion of ExpC always costs less than that of {rival}",
            lambda measure, rival=rival: less_than(rival, part(measure, EXPANSION)),  # type: ignore[misc]
        )
    for rival in RIVALS:
        says = f"ExpC always makes smaller groups than {rival}"
        yield Claim(f"11.{rival.lower()}", "8.2.1, Figure 11", says, less_than(rival, size), CENSUS)
    says = "smaller groups result in smaller loss"
    yield Claim("11.loss", "8.2.1, Figure 11", says, smaller_groups_lose_less, CENSUS)
    yield from _timed("9.grows", "8.2.2, Figure 9", "the time of ExpC grows with n", grows_with_n)
    for figure, letter in (("12a", "d"), ("12b", "p")):
        section = f"8.2.2, Figure {figure}"
        yield from _timed(
            f"{figure}.{letter}",
            section,
            f"in most cases ExpC gets faster as {letter} grows",
            lambda measure, letter=letter: faster_with(letter, measure),  # type: ignore[misc]
        )
        yield from _timed(
            f"{figure}.k",
            section,
            f"ExpC gets faster as k grows, for every {letter}",
            lambda measure, letter=letter: over_k(  # type: ignore[misc]
                letter, took(measure), lambda points: below(steps(points), 0.0)
            ),
        )
    for rival in (*RIVALS, REMOVED):
        what = "removing all outliers" if rival == REMOVED else rival
        says = f"ExpC always loses less than {what}"
        yield Claim(f"13a.{rival.lower()}", "8.3.1, Figure 13a", says, less_than(rival, loss), CENSUS)
    says = "removing outliers loses most"
    yield Claim("13a.worst", "8.3.1, Figure 13a", says, removal_worst, CENSUS)
    for figure, letter, word, most in (
        ("13b", "p", "always the same", SAME),
        ("13c", "d", "similar", SIMILAR),
    ):
        section = f"8.3.2, Figure {figure}"
        judge = over_k(letter, loss, lambda points: below(points, 1.0))
        says = "the loss of ExpC is always less than 1"
        yield Claim(f"{figure}.small", section, says, judge, CENSUS, printed="< 1")
        judge = over_k(letter, loss, lambda points: above(steps(points), 0.0))
        yield Claim(f"{figure}.k", section, "ExpC loses more as k grows", judge, CENSUS)
        says = f"the loss is {word} with larger {letter}"
        yield Claim(f"{figure}.{letter}", section, says, same_loss(letter, most), CENSUS)


def _examples() -> Iterator[Claim[MeasuredPoints]]:
    """What is shown on nine people, or proved: exact, or tried on drawn tables."""
    nine, drawn = "Figure 1", "drawn tables of 5 or 6 records"

    def claim(
        id: str, section: str, says: str, judge: Callable[[], Finding], data: str = nine, **more: Any
    ) -> Claim[MeasuredPoints]:
        return Claim(id, section, says, lambda _: judge(), data, **more)

    yield claim("1.two", "1.1", "the outliers of Figure 1 are Justin and Bill", examples.two_outliers)
    says = "Bill is an outlier by income alone, Justin by several columns; nobody else is one"
    yield claim("3.kinds", "3.1", says, examples.both_kinds)
    says = "Figure 2(a) reveals Justin, with his income"
    yield claim("2a.named", "1.1, 4", says, partial(examples.named, "2a", True), printed="1, 1")
    says = "the probability of Justin's income in Figure 2(a) is 1"
    judge = partial(examples.association, "2a", Fraction(1), 0)
    yield claim("2a.association", "4", says, judge, printed="1")
    says = "Justin is distance-constrained in Figure 2(a)"
    yield claim("2a.constrained", "4", says, examples.constrained)
    says = "Figure 2(b) reveals that Justin is there"
    yield claim("2b.named", "1.1, 4", says, partial(examples.named, "2b", True), printed="1")
    says = "the probability of Justin's income in Figure 2(b) is 1/3"
    judge = partial(examples.association, "2b", Fraction(1, 3), 1)
    yield claim("2b.association", "4", says, judge, printed="1/3")
    says = "Figure 3 hides Justin"
    yield claim("3.hidden", "1.1, 5", says, partial(examples.named, "3", False))
    says = "a lower bound on ranges, as by (k,e) and (epsilon,m), does not hide Justin"
    yield claim("2a.ranges", "1.1, 2", says, examples.lower_bound_fails)
    says = "ranges between 30K and 60K do not hide Justin"
    yield claim("2b.ranges", "1.1", says, examples.upper_bound_fails, printed="30K to 60K")
    for number in (5, 7):
        says = f"with tuple {number} the group of tuples 1, 2 and 3 becomes plain"
        judge = partial(examples.expansion_makes_plain, number)
        yield claim(f"7.1.plain{number}", "7.2, Example 7.1", says, judge)
    says = "tuple 7 costs less than tuple 5"
    yield claim("7.1.cheaper", "7.2, Example 7.1", says, examples.cheaper_candidate)
    says = "theorem 4.1: who is named by a hypercube is in the group"
    yield claim("4.1", "4", says, partial(examples.theorem_4, ROW), drawn)
    says = "theorem 4.2: who is named by hypercubes together is in the group"
    yield claim("4.2", "4", says, partial(examples.theorem_4, COLUMN), drawn)
    says = "theorem 5.1: where no row or column of nodes is all bad, nothing is inferred"
    yield claim("5.1", "5", says, examples.theorem_5_1, drawn)
    says = "theorem 6.1: a sensitive-attribute outlier is in no plain group"
    yield claim("6.1", "6", says, partial(examples.theorem_6, True), drawn)
    says = "theorem 6.2: every multi-attribute outlier is in some plain group"
    yield claim("6.2", "6", says, partial(examples.theorem_6, False), drawn)
    says = "a group that is plain at some d is plain at every larger d"
    yield claim("13.plain", "8.3.2", says, partial(examples.plain_for_larger_d, "once"), drawn)
    says += ", if nobody is removed"
    judge = partial(examples.plain_for_larger_d, "none")
    yield claim("13.plain.all", "8.3.2", says, judge, drawn, inferred=True)


CLAIMS: tuple[Claim[MeasuredPoints], ...] = (*_examples(), *_claims())
BOUNDS: Mapping[str, object] = {
    "dominant": DOMINANT,
    "considerable": CONSIDERABLE,
    "negligible": NEGLIGIBLE,
    "very few": VERY_SMALL,
    "twice": TWICE,
    "the same": SAME,
    "similar": SIMILAR,
}
