"""Does what "Non-homogeneous Generalization" concludes from its figures hold in ours?

The paper prints its figures without numbers and speaks of a huge gap, a slight difference, a steady
improvement. What such words mean here are the bounds below. They were set when a first run had been seen, so
every statement also shows the numbers that it was judged by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from incrowd.reproduce.nonhomogeneous.trials import (
    AT,
    HP,
    HR,
    HS,
    NH,
    PRINTED,
    Figure,
    exponent,
    straightness,
)
from incrowd.reproduce.outcome import Statement

MARGINAL = 0.1  # loses at most so much less
SLIGHT = 0.05  # differs at most by this share of what HR loses, the height of the picture
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


def judge(figures: Sequence[Figure]) -> tuple[Statement, ...]:
    """Every statement about a figure that was run."""
    by_number = {figure.plan.number: figure for figure in figures}
    found = []
    for number, statements in ABOUT.items():
        if number in by_number:
            found += [state(by_number[number]) for state in statements]
    plain = [figure for figure in figures if not figure.plan.diverse]
    return (*([lowest(plain)] if plain else []), *filter(None, found))


def lowest(figures: Sequence[Figure]) -> Statement:
    """Of the paper this is said for k; here it is asked for everywhere."""
    above, ties, many = [], [], 0
    for figure in figures:
        for i, value in enumerate(figure.plan.values):
            others = min(figure.losses(name)[i] for name in (HR, HS, HP))
            ours = figure.losses(NH)[i]
            where = f"Figure {figure.plan.number} {figure.plan.letter}={value:,}"
            many += 1
            if ours > others or (ours == others and ours > 0):
                above.append(f"{where}: {_percent(ours)} against {_percent(others)}")
            elif ours == others:
                ties.append(where)
    says = "Figures 9 to 13: NH loses least of the four at every point"
    if above:
        return Statement(says, False, f"not at {len(above)} of {many} points: {'; '.join(above)}")
    lost_nothing = f"; where nothing is lost by any: {', '.join(ties)}" if ties else ""
    return Statement(says, True, f"at all {many} points{lost_nothing}")


# Loss


def _falls_with_n(figure: Figure) -> Statement:
    rising = [name for name in FOUR if any(b >= a for a, b in pairwise(figure.losses(name)))]
    return _said(figure, "every method loses less the larger n is", not rising, _ends(figure, FOUR))


def _sets_beat_ranges(figure: Figure) -> Statement:
    gains = [1 - s / r for s, r in zip(figure.losses(HS), figure.losses(HR), strict=True) if r]
    held = bool(gains) and min(gains) > 0 and max(gains) <= MARGINAL
    return _said(figure, "sets (HS) lose less than ranges (HR), but only marginally", held, _less(gains))


def _big_gap(figure: Figure) -> Statement:
    factors = [
        min(hr, hs) / max(hp, nh)
        for hr, hs, hp, nh in zip(*(figure.losses(name) for name in FOUR), strict=True)
        if hp or nh
    ]
    held = bool(factors) and min(factors) >= LARGE
    return _said(figure, "HR and HS lose far more than HP and NH", held, f"{_times(factors)} as much")


def _hp_near_nh(figure: Figure) -> Statement:
    lines = [figure.losses(name) for name in (HR, HP, NH)]
    shares = [(hp - nh) / hr for hr, hp, nh in zip(*lines, strict=True) if hr]
    gains = [1 - nh / hp for _, hp, nh in zip(*lines, strict=True) if hp]
    held = bool(shares) and max(shares) <= SLIGHT
    detail = f"the difference is {max(shares, default=0):.1%} of what HR loses, at most; NH {_less(gains)}"
    return _said(figure, "HP and NH differ only slightly", held, detail)


def _grows_with_d(figure: Figure) -> Statement:
    falling = [name for name in (HP, NH) if not _rises(figure.losses(name))]
    return _said(figure, "HP and NH lose more the larger d is", not falling, _ends(figure, (HP, NH)))


def _hilbert_least_at_three(figure: Figure) -> Statement:
    least = {name: _least_at(figure, name) for name in (HR, HS)}
    held = all(value == 3 for value in least.values())
    detail = ", ".join(f"{name} at d={value}" for name, value in least.items())
    zero = [name for name in least if min(figure.losses(name)) == 0]
    detail += ": nothing is lost where everybody has k-1 equals" if zero else ""
    return _said(figure, "HR and HS lose least at d=3", held, detail)


def _gap_grows(figure: Figure) -> Statement:
    """From d=3 on: before that it must fall, if HS loses least at d=3 and NH more with d."""
    gaps = [gap for value, gap in zip(figure.plan.values, _gaps(figure, HS), strict=True) if value >= 3]
    held = _rises(gaps)
    detail = f"{_percent(gaps[0])} at d=3, most {_percent(max(gaps))}, {_percent(gaps[-1])} in the end"
    return _said(figure, "the gap between HS and NH grows with d, from d=3 on", held, detail)


def _as_on_census(figure: Figure) -> Statement:
    rising = all(_rises(figure.losses(name)) for name in (HR, HS, NH))
    held = rising and min(_gaps(figure, HS)) > 0
    says = "HR, HS and NH follow the trends of CENSUS: more with d, NH least"
    return _said(figure, says, held, _ends(figure, (HR, HS, NH)))


def _hp_jumps(figure: Figure) -> Statement | None:
    if 5 not in figure.plan.values:
        return None
    hr, hs, hp = (figure.at(name, 5).loss for name in (HR, HS, HP))
    detail = (
        f"HP {_percent(hp)}, HR {_percent(hr)}, HS {_percent(hs)}, mean part {figure.at(HP, 5).part:.1f}; "
        "a part of 2k or more that Figure 8 makes has equal records only, so large parts cost nothing"
    )
    return _said(figure, "HP jumps at d=5, above HR and HS", hp > max(hr, hs), detail)


def _linear_in_k(figure: Figure) -> Statement:
    fits = {name: straightness(figure.plan.values, figure.losses(name)) for name in FOUR}
    detail = "share of the variance that a straight line explains: " + _each(fits, "{:.3f}")
    return _said(figure, "the loss of all grows linearly with k", min(fits.values()) >= STRAIGHT, detail)


def _steady_in_k(figure: Figure) -> Statement:
    gaps = {
        value: gap for value, gap in zip(figure.plan.values, _gaps(figure, HS), strict=True) if value >= 10
    }
    shares = [gap / figure.at(HS, value).loss for value, gap in gaps.items() if gap]
    low, high = min(gaps.values()), max(gaps.values())
    detail = f"for k >= 10 HS loses {_percent(low)} to {_percent(high)} more; NH {_less(shares)}"
    return _said(figure, "the absolute improvement over HS is steady in k", 0 < high <= LARGE * low, detail)


def _far_below(figure: Figure) -> Statement:
    factors = {
        name: [other / nh for other, nh in zip(figure.losses(name), figure.losses(NH), strict=True) if nh]
        for name in (HS, AT)
    }
    held = all(each and min(each) >= LARGE for each in factors.values())
    detail = ", ".join(f"{name} {_times(each)} as much" for name, each in factors.items())
    return _said(figure, "NH beats HS and AT by a large factor", held, detail)


def _hs_like_at(figure: Figure) -> Statement:
    factors = [at / hs for at, hs in zip(figure.losses(AT), figure.losses(HS), strict=True) if hs]
    held = bool(factors) and min(factors) >= 1 / LARGE and max(factors) <= LARGE
    return _said(figure, "HS loses about as much as AT", held, f"AT {_times(factors)} as much as HS")


def _part_size(figure: Figure) -> Statement | None:
    """Judged by parts that are made here. How they would have to be cut to fit was looked for afterwards."""
    if 2 not in figure.plan.values or figure.plan.fixed.n != PRINTED_ROWS:
        return None
    uncut, cut = figure.at(PRINTED, 2), figure.at(NH, 2)
    held = any(abs(point.part / PRINTED_PART - 1) <= NEAR for point in (uncut, cut))
    detail = (
        f"{uncut.part:.1f} as printed, {cut.part:.1f} as we cut them; a guess made afterwards: "
        f"{uncut.once:.1f} if they were cut just so far that no value occurs in one twice"
    )
    return _said(figure, f"parts of NH have {PRINTED_PART} records on average at l=5, d=2", held, detail)


# Time


def _linear_in_n(figure: Figure) -> Statement | None:
    if figure.plan.values[0] < PRINTED_ROWS:
        return None  # what does not depend on n would still count
    powers = {name: exponent(figure.plan.values, figure.seconds(name)) for name in TIMED}
    held = all(LINEAR[0] <= power <= LINEAR[1] for power in powers.values())
    return _said(figure, "times are linear in n", held, "as powers of n: " + _each(powers, "{:.2f}"))


def _cheaper_than_hs(figure: Figure) -> Statement:
    factors = {name: _ratios(figure, name, HS) for name in (HP, NH)}
    held = all(max(each) < 1 for each in factors.values())
    detail = ", ".join(f"{name} {_times(each)} the time of HS" for name, each in factors.items())
    return _said(figure, "NH and HP take slightly less time than HS", held, detail)


def _slightly_by_d(figure: Figure) -> Statement:
    times = {name: _without_spike(figure, figure.seconds(name)) for name in TIMED}
    spread = {name: max(each) / max(min(each), 1e-6) for name, each in times.items()}
    detail = "slowest to quickest d: " + _each(spread, "{:.1f}")
    return _said(figure, "times depend only slightly on d", max(spread.values()) <= LARGE, detail)


def _nh_like_hs(figure: Figure) -> Statement:
    factors = _without_spike(figure, _ratios(figure, NH, HS))
    held = min(factors) >= 1 / LARGE and max(factors) <= LARGE
    return _said(figure, "NH takes about as long as HS", held, f"{_times(factors)} the time")


def _without_spike(figure: Figure, values: Sequence[float]) -> list[float]:
    """The paper itself makes an exception of ADULT at d=5."""
    spared = 5 if figure.plan.number == 11 else 0
    return [each for d, each in zip(figure.plan.values, values, strict=True) if d != spared]


def _spike(figure: Figure) -> Statement | None:
    if 5 not in figure.plan.values:
        return None
    place = figure.plan.values.index(5)
    times = figure.seconds(NH)
    beside = [*times[max(0, place - 1) : place], *times[place + 1 : place + 2]]
    detail = f"{times[place]:.3f} s, beside it {', '.join(f'{time:.3f}' for time in beside)} s"
    return _said(figure, "NH takes far longer at d=5", times[place] >= LARGE * max(beside), detail)


def _superlinear(figure: Figure) -> Statement:
    """What does not depend on k hides growth at small k: of two ranges the steeper one decides."""
    powers = {f"k >= {least}": _power_from(figure, least) for least in (10, 40)}
    ends = figure.seconds(NH)
    detail = f"as powers of k: {_each(powers, '{:.2f}')}; {ends[0]:.3f} to {ends[-1]:.3f} s in all"
    held = max(powers.values()) > SUPERLINEAR
    return _said(figure, "the time of NH grows faster than linearly with k", held, detail)


def _power_from(figure: Figure, least: int) -> float:
    pairs = [pair for pair in zip(figure.plan.values, figure.seconds(NH), strict=True) if pair[0] >= least]
    return exponent([k for k, _ in pairs], [time for _, time in pairs])


def _draw_dominates(figure: Figure) -> Statement:
    shares = {
        f"k={value}": point.drawing / (point.seconds or 1.0)
        for value, point in zip(figure.plan.values, figure.lines[NH], strict=True)
        if value >= 40
    }
    held = bool(shares) and min(shares.values()) > 0.5
    says = "for k >= 40 the draw takes most of the time of NH"
    return _said(figure, says, held, "share of the draw: " + _each(shares, "{:.0%}"))


def _seconds_at_hundred(figure: Figure) -> Statement | None:
    if 100 not in figure.plan.values or figure.plan.fixed.n != PRINTED_ROWS:
        return None
    seconds = figure.at(NH, 100).seconds or 0.0
    says = f"NH takes no more than {PRINTED_SECONDS} s at k=100"
    return _said(figure, says, seconds <= PRINTED_SECONDS, f"{seconds:.2f} s; machines differ")


def _at_fastest(figure: Figure) -> Statement:
    rivals = {name: _ratios(figure, name, AT) for name in (HS, NH)}
    held = all(min(each) > 1 for each in rivals.values())
    detail = ", ".join(f"{name} {_times(each)} the time of AT" for name, each in rivals.items())
    return _said(figure, "AT is the fastest", held, detail)


About = Mapping[int, Sequence[Callable[[Figure], Statement | None]]]
_K = (_linear_in_k, _steady_in_k, _superlinear, _draw_dominates, _seconds_at_hundred)
_L = (_far_below, _hs_like_at, _at_fastest)
ABOUT: About = {
    9: (_falls_with_n, _sets_beat_ranges, _big_gap, _hp_near_nh, _linear_in_n, _cheaper_than_hs),
    10: (_grows_with_d, _hilbert_least_at_three, _big_gap, _gap_grows, _slightly_by_d, _nh_like_hs),
    11: (_as_on_census, _hp_jumps, _slightly_by_d, _nh_like_hs, _spike),
    12: _K,
    13: _K,
    14: (*_L, _part_size),
    15: _L,
}


# Words


def _said(figure: Figure, says: str, held: bool, detail: str) -> Statement:
    return Statement(f"Figure {figure.plan.number}: {says}", held, detail)


def _rises(values: Sequence[float]) -> bool:
    return all(b > a for a, b in pairwise(values))


def _gaps(figure: Figure, name: str) -> list[float]:
    return [other - nh for other, nh in zip(figure.losses(name), figure.losses(NH), strict=True)]


def _least_at(figure: Figure, name: str) -> int:
    losses = figure.losses(name)
    return figure.plan.values[losses.index(min(losses))]


def _ratios(figure: Figure, name: str, other: str) -> list[float]:
    return [a / max(b, 1e-6) for a, b in zip(figure.seconds(name), figure.seconds(other), strict=True)]


def _percent(loss: float) -> str:
    return f"{100 * loss:.3g}%"


def _ends(figure: Figure, names: Iterable[str]) -> str:
    """Each line at the first and the last value."""
    lines = ((name, figure.losses(name)) for name in names)
    return ", ".join(f"{name} {_percent(loss[0])} to {_percent(loss[-1])}" for name, loss in lines)


def _each(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items())


def _times(factors: Sequence[float]) -> str:
    return f"{min(factors):.3g} to {max(factors):.3g} times" if factors else "0 times"


def _less(gains: Sequence[float]) -> str:
    return f"loses {min(gains):.1%} to {max(gains):.1%} less" if gains else "loses nothing, like the other"
