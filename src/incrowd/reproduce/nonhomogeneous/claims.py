"""Every quantitative or ordering statement of "Non-homogeneous Generalization", and how it is judged.

The paper prints its figures without numbers and speaks of a huge gap, a slight difference, a steady
improvement. What such words mean here are the bounds below. They were set when a first run had been seen, so
every statement also shows the numbers that decided it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from incrowd.reproduce.judging import Claim
from incrowd.reproduce.nonhomogeneous import examples
from incrowd.reproduce.nonhomogeneous.trials import (
    AT,
    HP,
    HR,
    HS,
    NH,
    PRINTED,
    SampledFigure,
    exponent,
    straightness,
)
from incrowd.reproduce.rules import Finding, above, below, not_run, within
from incrowd.reproduce.samples import Points, difference, ratio, steps
from incrowd.reproduce.stored import ADULT_TABLE, CENSUS_TABLE

MARGINAL = 0.1  # loses at most so much less
SLIGHT = 0.05  # differs at most by this share of what HR loses, the height of the picture
LOW = 0.1  # a loss that is low in all cases
LARGE = 2.0  # a huge or big gap, a large factor; a jump, a spike, an effect that is not slight
LINEAR = (0.8, 1.2)  # powers of n with which a time grows linearly
SUPERLINEAR = 1.1  # the power of k from which on it grows faster
STRAIGHT = 0.95  # the share of the variance that a straight line explains
NEAR = 0.2  # of a printed number
PRINTED_ROWS = 100_000  # the sample at which numbers are printed
PRINTED_SECONDS = 2.95  # NH at k=100
PRINTED_PART = 11.2  # NH at l=5, d=2
FOUR = (HR, HS, HP, NH)
TIMED = (HS, HP, NH)
CENSUS, ADULT = CENSUS_TABLE.name, ADULT_TABLE.name

Of = Callable[[SampledFigure], Finding]
NHClaim = Claim[Any]


def _named(lines: Mapping[str, Points]) -> dict[str, list[float]]:
    """Points of several lines, each under the line's name."""
    return {f"{name} {at}": [*samples] for name, line in lines.items() for at, samples in line.items()}


def _lines(figure: SampledFigure, names: Iterable[str], of: Callable[[Points], Points]) -> Points:
    return _named({name: of(figure.line(name)) for name in names})


def _shares(figure: SampledFigure, less: str, more: str) -> Points:
    """By which share one loses less than the other."""
    pairs = ratio(figure.line(less), figure.line(more))
    return {at: [1 - each for each in samples] for at, samples in pairs.items()}


def _from(points: Points, least: int) -> dict[str, Sequence[float]]:
    """The points at a value of at least this, like "k=40"."""
    return {at: samples for at, samples in points.items() if int(at.split("=")[1]) >= least}


def _over_samples(points: Points, of: Callable[[Sequence[float]], float]) -> list[float]:
    """A number of each sample's whole line."""
    return [of(line) for line in zip(*points.values(), strict=True)]


# What is said of losses


def lowest(figure: SampledFigure) -> Finding:
    return below(
        _named({f"NH/{name}": ratio(figure.line(NH), figure.line(name)) for name in (HR, HS, HP)}), 1.0
    )


def low(figure: SampledFigure) -> Finding:
    return within(_lines(figure, FOUR, lambda line: line), high=LOW)


def falls(figure: SampledFigure) -> Finding:
    return below(_lines(figure, FOUR, steps), 0.0)


def grows(*names: str) -> Of:
    return lambda figure: above(_lines(figure, names, steps), 0.0)


def sets_marginally(figure: SampledFigure) -> Finding:
    return within(_shares(figure, HS, HR), 0.0, MARGINAL)


def sets_better(figure: SampledFigure) -> Finding:
    return within(ratio(figure.line(HS), figure.line(HR)), high=1.0)


def big_gap(figure: SampledFigure) -> Finding:
    return above(
        _named({f"{a}/{b}": ratio(figure.line(a), figure.line(b)) for a in (HR, HS) for b in (HP, NH)}), LARGE
    )


def slight(figure: SampledFigure) -> Finding:
    gap = difference(figure.line(HP), figure.line(NH))
    return within(ratio(gap, figure.line(HR)), 0.0, SLIGHT)


def least_at_three(figure: SampledFigure) -> Finding:
    others = [at for at in figure.line(HS) if at != "d=3"]
    lines = {name: figure.line(name) for name in (HR, HS)}
    return below(
        {
            f"{name} d=3 - {at}": [a - b for a, b in zip(line["d=3"], line[at], strict=True)]
            for name, line in lines.items()
            for at in others
        },
        0.0,
    )


def gap_grows(least: int) -> Of:
    return lambda figure: above(steps(_from(difference(figure.line(HS), figure.line(NH)), least)), 0.0)


def jump(figure: SampledFigure) -> Finding:
    """HP at d=5, against HR and HS, and against its own neighbours."""
    line = figure.line(HP)
    if "d=5" not in line:
        return not_run("d=5 was not run")
    rivals = {
        f"HP/{name}": [a / b for a, b in zip(line["d=5"], figure.line(name)["d=5"], strict=True)]
        for name in (HR, HS)
    }
    return above(rivals, 1.0)


def parts_jump(figure: SampledFigure) -> Finding:
    return above(_beside(figure.line(HP, "part"), "d=5"), LARGE)


def spike(figure: SampledFigure) -> Finding:
    return above(_beside(figure.line(NH, "seconds"), "d=5"), LARGE)


def _beside(line: Points, there: str) -> Points:
    """How many times as much a line has at one value as at its neighbours."""
    names = [*line]
    if there not in names:
        return {}
    place = names.index(there)
    near = [*names[max(0, place - 1) : place], *names[place + 1 : place + 2]]
    return {f"{there} / {at}": [a / b for a, b in zip(line[there], line[at], strict=True)] for at in near}


def linear(figure: SampledFigure) -> Finding:
    values = figure.plan.values
    fits = {name: _over_samples(figure.line(name), partial(straightness, values)) for name in FOUR}
    return within(fits, low=STRAIGHT)


def steady(name: str) -> Of:
    """The absolute improvement, largest to smallest."""

    def judge(figure: SampledFigure) -> Finding:
        gaps = _from(difference(figure.line(name), figure.line(NH)), 10)
        return within(
            {"most to least": _over_samples(gaps, lambda line: max(line) / max(min(line), 1e-9))}, 1, LARGE
        )

    return judge


# Of times


def time_linear(figure: SampledFigure) -> Finding:
    if figure.plan.values[0] < PRINTED_ROWS:
        return not_run("with fewer people, what does not depend on n would still count")
    powers = {
        name: _over_samples(figure.line(name, "seconds"), partial(exponent, figure.plan.values))
        for name in TIMED
    }
    return within(powers, *LINEAR)


def as_long(*without: str) -> Of:
    """NH against HS, but for some values."""

    def judge(figure: SampledFigure) -> Finding:
        pairs = ratio(figure.line(NH, "seconds"), figure.line(HS, "seconds"))
        return within({at: each for at, each in pairs.items() if at not in without}, 1 / LARGE, LARGE)

    return judge


def times_less(figure: SampledFigure) -> Finding:
    return below(
        _named(
            {
                f"{name}/HS": ratio(figure.line(name, "seconds"), figure.line(HS, "seconds"))
                for name in (HP, NH)
            }
        ),
        1.0,
    )


def times_alike(*without: str) -> Of:
    def judge(figure: SampledFigure) -> Finding:
        lines = {name: figure.line(name, "seconds") for name in TIMED}
        kept = {name: {at: s for at, s in line.items() if at not in without} for name, line in lines.items()}
        return within(
            {name: _over_samples(line, lambda each: max(each) / min(each)) for name, line in kept.items()},
            high=LARGE,
        )

    return judge


def superlinear(figure: SampledFigure) -> Finding:
    """From k=40 on: what does not depend on k hides growth at small k."""
    line = _from(figure.line(NH, "seconds"), 40)
    ks = [int(at.split("=")[1]) for at in line]
    return above({"power of k": _over_samples(line, partial(exponent, ks))}, SUPERLINEAR)


def mostly_drawing(figure: SampledFigure) -> Finding:
    return above(_from(ratio(figure.line(NH, "drawing"), figure.line(NH, "seconds")), 40), 0.5)


def three_seconds(figure: SampledFigure) -> Finding:
    if figure.plan.fixed.n != PRINTED_ROWS or "k=100" not in figure.line(NH, "seconds"):
        return not_run(f"needs {PRINTED_ROWS:,} people")
    return within({"k=100": figure.line(NH, "seconds")["k=100"]}, high=PRINTED_SECONDS)


# With l-diversity the paper's NH is the printed form


def beats(ours: str) -> Of:
    def judge(figure: SampledFigure) -> Finding:
        if ours not in figure.names:
            return not_run("left out by --quick")
        return above(
            _named({f"{name}/NH": ratio(figure.line(name), figure.line(ours)) for name in (HS, AT)}), LARGE
        )

    return judge


def alike(figure: SampledFigure) -> Finding:
    return within(ratio(figure.line(AT), figure.line(HS)), 1 / LARGE, LARGE)


def fastest(figure: SampledFigure) -> Finding:
    return above(
        _named(
            {
                f"{name}/AT": ratio(figure.line(name, "seconds"), figure.line(AT, "seconds"))
                for name in (HS, PRINTED)
            }
        ),
        1.0,
    )


def mean_part(figure: SampledFigure) -> Finding:
    if figure.plan.fixed.n != PRINTED_ROWS:
        return not_run(f"needs {PRINTED_ROWS:,} people")
    return within(
        {"d=2": figure.line(PRINTED, "part")["d=2"]}, PRINTED_PART * (1 - NEAR), PRINTED_PART * (1 + NEAR)
    )


def mean_part_cut(figure: SampledFigure) -> Finding:
    """Parts cut just so far that no value occurs in one twice, as the paper does with huge ones."""
    if figure.plan.fixed.n != PRINTED_ROWS:
        return not_run(f"needs {PRINTED_ROWS:,} people")
    return within(
        {"d=2": figure.line(PRINTED, "once")["d=2"]}, PRINTED_PART * (1 - NEAR), PRINTED_PART * (1 + NEAR)
    )


def _of(
    number: int,
    name: str,
    section: str,
    says: str,
    judge: Of,
    data: str,
    printed: str | float | None = None,
    inferred: bool = False,
) -> NHClaim:
    return Claim(
        f"figure{number}.{name}",
        f"{section}, Figure {number}",
        says,
        lambda figures: judge(figures[number]),
        data,
        printed,
        inferred,
    )


def _figure_9() -> Iterator[NHClaim]:
    claim = partial(_of, 9, data=CENSUS, section="7.1")
    yield claim("low", says="the loss of all methods is low in all cases", judge=low)
    yield claim("falls", says="every method loses less the larger n is", judge=falls)
    yield claim("gap", says="HR and HS lose far more than HP and NH", judge=big_gap)
    yield claim("sets", says="sets (HS) always lose less than ranges (HR)", judge=sets_better)
    yield claim("marginal", says="but only marginally", judge=sets_marginally)
    yield claim("slight", says="HP and NH differ only slightly", judge=slight)
    yield claim("time", says="times are linear in n", judge=time_linear)
    yield claim("time.less", says="NH and HP take slightly less time than HS", judge=times_less)


def _figures_10_11() -> Iterator[NHClaim]:
    claim = partial(_of, 10, data=CENSUS, section="7.2")
    yield claim("grows", says="HP and NH lose more the larger d is", judge=grows(HP, NH))
    yield claim("three", says="HR and HS lose least at d=3", judge=least_at_three)
    yield claim("gap", says="NH and HP sustain a big improvement over HS and HR", judge=big_gap)
    yield claim("widens", says="the gap between HS and NH grows with d", judge=gap_grows(0))
    says = "the gap between HS and NH grows with d, from d=3 on, where HS loses least"
    yield claim("widens.three", says=says, judge=gap_grows(3), inferred=True)
    yield claim("time", says="times depend only slightly on d", judge=times_alike())
    yield claim("time.alike", says="NH takes about as long as HS", judge=as_long())
    claim = partial(_of, 11, data=ADULT, section="7.2")
    says = "HR, HS and NH lose more the larger d is, as on CENSUS"
    yield claim("grows", says=says, judge=grows(HR, HS, NH))
    says = "NH loses less than HR and HS"
    yield claim(
        "less",
        says=says,
        judge=lambda figure: below(
            _named({name: ratio(figure.line(NH), figure.line(name)) for name in (HR, HS)}), 1.0
        ),
    )
    yield claim("jump", says="HP jumps at d=5, above HR and HS", judge=jump)
    yield claim("parts", says="the average partition suddenly grows at d=5", judge=parts_jump)
    yield claim(
        "consistent",
        says="NH consistently achieves a low loss",
        judge=lambda figure: within(figure.line(NH), high=LOW),
    )
    says = "times depend only slightly on d, but for NH at d=5"
    yield claim("time", says=says, judge=times_alike("d=5"))
    yield claim("time.alike", says="NH takes about as long as HS, but for d=5", judge=as_long("d=5"))
    yield claim("spike", says="NH takes far longer at d=5", judge=spike)


def _figures_12_13() -> Iterator[NHClaim]:
    for number, data in ((12, CENSUS), (13, ADULT)):
        claim = partial(_of, number, data=data, section="7.3")
        yield claim("linear", says="the loss of all grows linearly with k", judge=linear)
        yield claim("lowest", says="NH loses least of the four at every k", judge=lowest)
        yield claim("steady.hs", says="the absolute improvement over HS is steady in k", judge=steady(HS))
        yield claim("steady.hr", says="the absolute improvement over HR is steady in k", judge=steady(HR))
        says = "the time of NH grows faster than linearly with k"
        yield claim("time", says=says, judge=superlinear)
        says = "for k >= 40 the draw takes most of the time of NH"
        yield claim("draw", says=says, judge=mostly_drawing)
    says = f"NH takes no more than {PRINTED_SECONDS} s at k=100"
    yield _of(12, "seconds", "7.3", says, three_seconds, CENSUS, PRINTED_SECONDS)


def _lowest_elsewhere() -> Iterator[NHClaim]:
    """The paper says it for k; here it is asked for n and d as well."""
    for number, data, section in ((9, CENSUS, "7.1"), (10, CENSUS, "7.2"), (11, ADULT, "7.2")):
        says = "NH loses least of the four at every point"
        yield _of(number, "lowest", section, says, lowest, data, inferred=True)


def _figures_14_15() -> Iterator[NHClaim]:
    for number in (14, 15):
        claim = partial(_of, number, data=f"{CENSUS}, occupation", section="7.4")
        yield claim("beats", says="NH beats HS and AT by a large factor", judge=beats(PRINTED))
        says = (
            "the transparent ring, which is published here in place of NH, beats both by a large factor, too"
        )
        yield claim("beats.published", says=says, judge=beats(NH), inferred=True)
        yield claim("alike", says="HS loses about as much as AT", judge=alike)
        yield claim("time", says="AT is the fastest", judge=fastest)
    says = f"partitions of NH have {PRINTED_PART} records on average at l=5, d=2"
    data = f"{CENSUS}, occupation"
    yield _of(14, "part", "7.4", says, mean_part, data, PRINTED_PART)
    says = f"they would have {PRINTED_PART} if cut just so far that no value occurs in one twice"
    yield _of(14, "part.cut", "7.4", says, mean_part_cut, data, PRINTED_PART, True)


CLAIMS = (
    *examples.CLAIMS,
    *_figure_9(),
    *_figures_10_11(),
    *_figures_12_13(),
    *_lowest_elsewhere(),
    *_figures_14_15(),
)
