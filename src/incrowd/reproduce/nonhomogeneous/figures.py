"""Figures 9 to 15 of Wong, Mamoulis, Cheung, "Non-homogeneous Generalization", SIGMOD 2010."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from incrowd.errors import InputError
from incrowd.long_work import Watch
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.nonhomogeneous import trials
from incrowd.reproduce.nonhomogeneous.trials import (
    AT,
    HP,
    HR,
    HS,
    NAMES,
    NH,
    PRINTED,
    Plan,
    SampleFigure,
    SampleSetting,
)
from incrowd.reproduce.outcome import Figure, OneRun, Outcome, Sheet
from incrowd.reproduce.stored import ADULT_TABLE, CENSUS_TABLE, SEED
from incrowd.reproduce.trend import ends, falls, inside, named, ratios, rises, span, spread

# The paper prints its figures without numbers and speaks of a huge gap, a slight difference, a steady
# improvement. What such words mean here are these bounds. They were set when a first run had been seen, so
# every statement also shows the numbers that decided it.
MARGINAL = 0.1  # loses at most so much less
SLIGHT = 0.05  # differs at most by this share of what HR loses, the height of the picture
LARGE = 2.0  # a huge or big gap, a large factor; a jump, a spike, an effect that is not slight
ALIKE = (1 / LARGE, LARGE)  # about as much, about as long
LINEAR = (0.8, 1.2)  # powers of n with which a time grows linearly
SUPERLINEAR = 1.1  # the power of k from which on it grows faster
STRAIGHT = 0.95  # the share of the variance that a straight line explains
NEAR = 0.2  # of a printed number
PRINTED_ROWS = 100_000  # the sample at which numbers are printed
PRINTED_SECONDS = 2.95  # NH at k=100
PRINTED_PART = 11.2  # NH at l=5, d=2
FOUR = (HR, HS, HP, NH)
TIMED = (HS, HP, NH)
Found = tuple[str, bool, str]  # what the paper says, whether it held, the numbers


def statements(figures: Sequence[SampleFigure]) -> tuple[OneRun, ...]:
    """Every statement about a figure that was run."""
    plain = [figure for figure in figures if not figure.plan.diverse]
    found = [lowest(plain)] if plain else []
    for figure in figures:
        number = figure.plan.number
        for says, held, detail in ABOUT[number](figure):
            found.append(OneRun(f"Figure {number}: {says}", held, detail))
    return tuple(found)


def lowest(figures: Sequence[SampleFigure]) -> OneRun:
    """Of the paper this is said for k; here it is asked for everywhere."""
    above, ties, many = [], [], 0
    for figure in figures:
        for value in figure.plan.values:
            others = min(figure.at(name, value).loss for name in (HR, HS, HP))
            ours = figure.at(NH, value).loss
            where = f"Figure {figure.plan.number} {figure.plan.letter}={value:,}"
            many += 1
            if ours > others or (ours == others and ours > 0):
                above.append(f"{where}: {_percent(ours)} against {_percent(others)}")
            elif ours == others:
                ties.append(where)
    says = "Figures 9 to 13: NH loses least of the four at every point"
    if above:
        return OneRun(says, False, f"not at {len(above)} of {many} points: {'; '.join(above)}")
    lost_nothing = f"; where nothing is lost by any: {', '.join(ties)}" if ties else ""
    return OneRun(says, True, f"at all {many} points{lost_nothing}")


# Words and pairs of lines


def _points(figure: SampleFigure, *names: str) -> Iterable[tuple[float, ...]]:
    """The losses of some lines, value by value."""
    return zip(*(figure.line(name) for name in names), strict=True)


def _all(figure: SampleFigure, names: Iterable[str], test: Callable[[Sequence[float]], bool]) -> bool:
    return all(test(figure.line(name)) for name in names)


def _gaps(figure: SampleFigure) -> dict[int, float]:
    """How much more HS loses than NH."""
    pairs = _points(figure, HS, NH)
    return {value: hs - nh for value, (hs, nh) in zip(figure.plan.values, pairs, strict=True)}


def _seconds(figure: SampleFigure, name: str, other: str) -> list[float]:
    return ratios(figure.line(name, "seconds"), figure.line(other, "seconds"))


def _percent(loss: float) -> str:
    return f"{100 * loss:.3g}%"


def _ends(figure: SampleFigure, names: Iterable[str]) -> str:
    """Each line at the first and the last value."""
    lines = {name: [100 * loss for loss in figure.line(name)] for name in names}
    return named(lines, lambda line: ends(line, "{:.3g}%"))


def _times(factors: Sequence[float]) -> str:
    return f"{span(factors)} times" if factors else "0 times"


def _less(gains: Sequence[float]) -> str:
    return f"loses {span(gains, '{:.1%}')} less" if gains else "loses nothing, like the other"


# What is said of each figure


def _over_n(figure: SampleFigure) -> Iterator[Found]:
    yield "every method loses less the larger n is", _all(figure, FOUR, falls), _ends(figure, FOUR)
    gains = [1 - hs / hr for hr, hs in _points(figure, HR, HS) if hr]
    held = bool(gains) and min(gains) > 0 and max(gains) <= MARGINAL
    yield "sets (HS) lose less than ranges (HR), but only marginally", held, _less(gains)
    yield _big_gap(figure)
    shares = [(hp - nh) / hr for hr, hp, nh in _points(figure, HR, HP, NH) if hr]
    gains = [1 - nh / hp for hp, nh in _points(figure, HP, NH) if hp]
    detail = f"the difference is {max(shares, default=0):.1%} of what HR loses, at most; NH {_less(gains)}"
    yield "HP and NH differ only slightly", bool(shares) and max(shares) <= SLIGHT, detail
    values = figure.plan.values
    if values[0] >= PRINTED_ROWS:  # with fewer rows, what does not depend on n would still count
        powers = {name: trials.exponent(values, figure.line(name, "seconds")) for name in TIMED}
        detail = "as powers of n: " + named(powers, "{:.2f}".format)
        yield "times are linear in n", inside([*powers.values()], LINEAR), detail
    factors = {name: _seconds(figure, name, HS) for name in (HP, NH)}
    held = all(max(each) < 1 for each in factors.values())
    detail = named(factors, lambda each: f"{_times(each)} the time of HS")
    yield "NH and HP take slightly less time than HS", held, detail


def _census_over_d(figure: SampleFigure) -> Iterator[Found]:
    names = (HP, NH)
    yield "HP and NH lose more the larger d is", _all(figure, names, rises), _ends(figure, names)
    lines = {name: figure.line(name) for name in (HR, HS)}
    least = {name: figure.plan.values[line.index(min(line))] for name, line in lines.items()}
    nothing = any(min(line) == 0 for line in lines.values())
    detail = named(least, "at d={}".format)
    detail += ": nothing is lost where everybody has k-1 equals" if nothing else ""
    yield "HR and HS lose least at d=3", set(least.values()) == {3}, detail
    yield _big_gap(figure)
    # from d=3 on: before that it must fall, if HS loses least at d=3 and NH more with d
    gaps = [gap for value, gap in _gaps(figure).items() if value >= 3]
    detail = f"{_percent(gaps[0])} at d=3, most {_percent(max(gaps))}, {_percent(gaps[-1])} in the end"
    yield "the gap between HS and NH grows with d, from d=3 on", rises(gaps), detail
    yield from _times_over_d(figure, [*figure.plan.values])


def _adult_over_d(figure: SampleFigure) -> Iterator[Found]:
    names = (HR, HS, NH)
    held = _all(figure, names, rises) and min(_gaps(figure).values()) > 0
    yield "HR, HS and NH follow the trends of CENSUS: more with d, NH least", held, _ends(figure, names)
    values = figure.plan.values
    if 5 in values:
        hr, hs, hp = (figure.at(name, 5).loss for name in (HR, HS, HP))
        part = f"mean part {figure.at(HP, 5).part:.1f}"
        detail = (
            f"HP {_percent(hp)}, HR {_percent(hr)}, HS {_percent(hs)}, {part}; "
            "a part of 2k or more that Figure 8 makes has equal records only, so large parts cost nothing"
        )
        yield "HP jumps at d=5, above HR and HS", hp > max(hr, hs), detail
    yield from _times_over_d(figure, [d for d in values if d != 5])  # the paper's own exception
    if 5 in values:
        place, times = values.index(5), figure.line(NH, "seconds")
        beside = [*times[max(0, place - 1) : place], *times[place + 1 : place + 2]]
        detail = f"{times[place]:.3f} s, beside it {', '.join(f'{time:.3f}' for time in beside)} s"
        yield "NH takes far longer at d=5", times[place] >= LARGE * max(beside), detail


def _times_over_d(figure: SampleFigure, ds: Sequence[int]) -> Iterator[Found]:
    times = {name: [figure.at(name, d).seconds or 0.0 for d in ds] for name in TIMED}
    spreads = {name: spread(each) for name, each in times.items()}
    detail = "slowest to quickest d: " + named(spreads, "{:.1f}".format)
    yield "times depend only slightly on d", max(spreads.values()) <= LARGE, detail
    factors = ratios(times[NH], times[HS])
    yield "NH takes about as long as HS", inside(factors, ALIKE), f"{_times(factors)} the time"


def _over_k(figure: SampleFigure) -> Iterator[Found]:
    values = figure.plan.values
    fits = {name: trials.straightness(values, figure.line(name)) for name in FOUR}
    detail = "share of the variance that a straight line explains: " + named(fits, "{:.3f}".format)
    yield "the loss of all grows linearly with k", min(fits.values()) >= STRAIGHT, detail
    gaps = {value: gap for value, gap in _gaps(figure).items() if value >= 10}
    shares = [gap / figure.at(HS, value).loss for value, gap in gaps.items() if gap]
    low, high = min(gaps.values()), max(gaps.values())
    detail = f"for k >= 10 HS loses {_percent(low)} to {_percent(high)} more; NH {_less(shares)}"
    yield "the absolute improvement over HS is steady in k", 0 < high <= LARGE * low, detail
    times = dict(zip(values, figure.line(NH, "seconds"), strict=True))
    powers = {}
    for least in (10, 40):  # what does not depend on k hides growth at small k: the steeper range decides
        ks = [k for k in times if k >= least]
        powers[f"k >= {least}"] = trials.exponent(ks, [times[k] for k in ks])
    whole = ends([*times.values()], "{:.3f}")
    detail = f"as powers of k: {named(powers, '{:.2f}'.format)}; {whole} s in all"
    yield "the time of NH grows faster than linearly with k", max(powers.values()) > SUPERLINEAR, detail
    large = {f"k={k}": figure.at(NH, k) for k in values if k >= 40}
    drawn = {name: point.drawing / (point.seconds or 1.0) for name, point in large.items()}
    held = bool(drawn) and min(drawn.values()) > 0.5
    detail = "share of the draw: " + named(drawn, "{:.0%}".format)
    yield "for k >= 40 the draw takes most of the time of NH", held, detail
    if 100 in values and figure.plan.fixed.n == PRINTED_ROWS:
        seconds, says = times[100], f"NH takes no more than {PRINTED_SECONDS} s at k=100"
        yield says, seconds <= PRINTED_SECONDS, f"{seconds:.2f} s; machines differ"


def _diverse(figure: SampleFigure) -> Iterator[Found]:
    factors = {name: [other / nh for other, nh in _points(figure, name, NH) if nh] for name in (HS, AT)}
    held = all(each and min(each) >= LARGE for each in factors.values())
    detail = named(factors, lambda each: f"{_times(each)} as much")
    yield "NH beats HS and AT by a large factor", held, detail
    alike = [at / hs for at, hs in _points(figure, AT, HS) if hs]
    held = bool(alike) and inside(alike, ALIKE)
    yield "HS loses about as much as AT", held, f"AT {_times(alike)} as much as HS"
    rivals = {name: _seconds(figure, name, AT) for name in (HS, NH)}
    held = all(min(each) > 1 for each in rivals.values())
    yield "AT is the fastest", held, named(rivals, lambda each: f"{_times(each)} the time of AT")
    if figure.plan.over == "d" and 2 in figure.plan.values and figure.plan.fixed.n == PRINTED_ROWS:
        uncut, cut = figure.at(PRINTED, 2), figure.at(NH, 2)
        held = any(abs(point.part / PRINTED_PART - 1) <= NEAR for point in (uncut, cut))
        detail = (  # decided by parts that are made; how else they might be cut was looked for afterwards
            f"{uncut.part:.1f} as printed, {cut.part:.1f} as we cut them; a guess made afterwards: "
            f"{uncut.once:.1f} if they were cut just so far that no value occurs in one twice"
        )
        yield f"parts of NH have {PRINTED_PART} records on average at l=5, d=2", held, detail


def _big_gap(figure: SampleFigure) -> Found:
    factors = [min(hr, hs) / max(hp, nh) for hr, hs, hp, nh in _points(figure, *FOUR) if hp or nh]
    held = bool(factors) and min(factors) >= LARGE
    return "HR and HS lose far more than HP and NH", held, f"{_times(factors)} as much"


ABOUT: Mapping[int, Callable[[SampleFigure], Iterator[Found]]] = {
    9: _over_n,
    10: _census_over_d,
    11: _adult_over_d,
    12: _over_k,
    13: _over_k,
    14: _diverse,
    15: _diverse,
}


TITLE = "Non-homogeneous Generalization: Figures 9 to 15"
LOOKS = [name for name in NAMES if name != PRINTED]  # which shares that of NH
GCP, SECONDS = "GCP, share of the domain per cell", "processor seconds"
ROWS = 100_000
ADULT_ROWS = 32_561
QUICK_ROWS = 20_000
SIZES = (100_000, 200_000, 300_000, 400_000, 500_000)
DIMENSIONS = (2, 3, 4, 5, 6, 7)
KS = (2, 4, 6, 8, 10, 20, 40, 60, 80, 100)
LS = (2, 3, 4, 5, 6, 7, 8, 9)


def plans(quick: bool) -> tuple[Plan, ...]:
    """Every figure; with `quick`, fewer people and fewer points."""
    n = QUICK_ROWS if quick else ROWS
    sizes = (n // 4, n // 2, n) if quick else SIZES
    ds, ks, ls = ((2, 3, 5, 7), (2, 10, 40, 100), (2, 5, 9)) if quick else (DIMENSIONS, KS, LS)
    census, adult = CENSUS_TABLE.name, ADULT_TABLE.name
    return (
        Plan(9, census, "n", sizes, SampleSetting(0, 3, 10)),
        Plan(10, census, "d", ds, SampleSetting(n, 0, 10)),
        Plan(11, adult, "d", ds, SampleSetting(ADULT_ROWS, 0, 10)),
        Plan(12, census, "k", ks, SampleSetting(n, 3, 0)),
        Plan(13, adult, "k", ks, SampleSetting(ADULT_ROWS, 4, 0)),
        Plan(14, census, "d", ds, SampleSetting(n, 0, 5), diverse=True),
        Plan(15, census, "k", ls, SampleSetting(n, 3, 0), diverse=True),
    )


def reproduce(quick: bool, folder: Path | None, watch: Watch, kept: Keeper = NOTHING_KEPT) -> Outcome:
    """Run all figures whose table is there; the paper has no artificial one, so with none it is an error."""
    why = {stored.name: stored.missing_from(folder) for stored in (CENSUS_TABLE, ADULT_TABLE)}
    skipped = [reason for reason in why.values() if reason]
    if folder is None or len(skipped) == len(why):
        raise InputError(f"nonhomogeneous needs a real table; {'; '.join(skipped)}")
    people = _people(folder, why)
    asked = [plan for plan in plans(quick) if (plan.table, plan.diverse) in people]
    found = [trials.figure(plan, people[plan.table, plan.diverse], watch(plan.title), kept) for plan in asked]
    if quick:
        skipped.append(f"more than {QUICK_ROWS:,} people of CENSUS, and most points: left out by --quick")
    return outcome(found, skipped)


def _people(folder: Path, why: Mapping[str, str]) -> dict[tuple[str, bool], trials.SampledTable]:
    """Tables by name, and whether they have a sensitive value."""
    found = {}
    if not why[CENSUS_TABLE.name]:
        found[CENSUS_TABLE.name, False], found[CENSUS_TABLE.name, True] = trials.load_census(folder)
    if not why[ADULT_TABLE.name]:
        found[ADULT_TABLE.name, False] = trials.load_adult(folder)
    return found


def outcome(figures: Sequence[SampleFigure], skipped: Sequence[str]) -> Outcome:
    """Tables, statements and charts of what was run."""
    loss = "GCP: the mean share of its domain that a cell covers, in hundredths."
    time = "Processor seconds from codes to cells and, for NH, the draw. HR takes as long as HS."
    parts = "How many records share a group, or are in one ring, on average."
    sheets = (
        _sheet("Loss", loss, figures, lambda point: f"{100 * point.loss:.3g}"),
        _sheet("Time", time, figures, lambda point: "" if point.seconds is None else f"{point.seconds:.3f}"),
        _sheet("Parts", parts, figures, lambda point: f"{point.part:.1f}"),
    )
    facts = {"seed": SEED, "figures": [each.to_dict() for each in figures]}
    charts = {
        f"figure{drawn.name}.svg": drawn.chart(LOOKS, PRINTED.removeprefix(NH))
        for each in figures
        for drawn in (_drawn(each, "a", "loss", GCP), _drawn(each, "b", "seconds", SECONDS))
    }
    held = statements(figures)
    return Outcome("nonhomogeneous", TITLE, sheets, held, facts, charts, skipped=tuple(skipped))


def _sheet(
    title: str, about: str, figures: Sequence[SampleFigure], text: Callable[[trials.SamplePoint], str]
) -> Sheet:
    """One row for each point of each figure."""
    names = [name for name in NAMES if any(name in each.lines for each in figures)]
    rows = []
    for each in figures:
        for value in each.plan.values:
            texts = [text(each.at(name, value)) if name in each.lines else "" for name in names]
            rows.append((f"{each.plan.number} {each.plan.table}", f"{each.plan.letter}={value:,}", *texts))
    return Sheet(title, ("figure", "at", *names), tuple(rows), about)


def _drawn(each: SampleFigure, part: str, field: str, unit: str) -> Figure:
    lines = {name: line for name in NAMES if name in each.lines and (line := each.line(name, field))}
    plan = each.plan
    return Figure(f"{plan.number}{part}", plan.title, plan.letter, plan.values, unit, lines)
