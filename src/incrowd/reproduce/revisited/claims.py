"""Every quantitative or ordering statement of "k-Anonymization Revisited", and how it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import linear_regression

import numpy as np

from incrowd.reproduce.judging import Claim
from incrowd.reproduce.revisited import examples
from incrowd.reproduce.revisited.graphs import TIMED, GraphPoint, TimePoint
from incrowd.reproduce.revisited.trials import (
    BEST,
    EXPANSION,
    FOREST,
    KK,
    KS,
    MEASURES,
    NEAREST,
    ROWS,
    TABLE,
    VARIANTS,
    LossTrial,
)
from incrowd.reproduce.rules import Finding, above, all_of, below, not_run, unbroken, within
from incrowd.reproduce.samples import Points, ratio

ART_ROWS = 5000  # the paper does not say how many; so many lose about what is printed
DATA = ("ART", "ADT", "CMC")
FORESTS_GAIN, KK_GAIN = (0.2, 0.5), (0.1, 0.3)
NEAR = 0.1  # of a printed number: at most so much more or less
NEGLIGIBLE = 0.02  # of the loss
SAME = 1.25  # roughly the same: largest to smallest
MUCH = 0.1  # much better: loses at least so much less
SLIGHTLY = 0.1  # slightly better: loses at most so much less
LIKELY = 0.99  # "might be true": of so many records
ALMOST_ALL = 0.9
GROWTH = 2.2  # the power of n that a time of O(n^2) may show
GOOD = ("(10)", "(11)")


@dataclass(frozen=True, slots=True)
class LossTrials:
    """All that was measured: trials by table and measure, one for each sample; graphs by table and k."""

    trials: Mapping[tuple[str, str], Sequence[LossTrial]]
    graphs: Mapping[tuple[str, int], Sequence[GraphPoint]] = field(default_factory=dict)
    times: Mapping[int, Mapping[int, TimePoint]] = field(default_factory=dict)  # by seed and n

    def line(self, data: str, measure: str, name: str) -> Points:
        """What an algorithm, or a row of Table I, loses: by k, for each sample."""
        some = self.trials[data, measure]
        return {
            f"{measure} k={k}": [(each.table if name in ROWS else each.losses)[name][i] for each in some]
            for i, k in enumerate(some[0].ks)
        }

    def ratios(self, data: str, name: str, other: str) -> Points:
        """How many times as much one loses as another, by both measures."""
        lines = [
            ratio(self.line(data, measure, name), self.line(data, measure, other)) for measure in MEASURES
        ]
        return {at: samples for line in lines for at, samples in line.items()}


Judge = Callable[[LossTrials], Finding]


def _gain(data: str, more: str, less: str, bounds: tuple[float, float]) -> Judge:
    """By which share one loses less than the other."""
    return lambda found: within(
        {at: [1 - each for each in samples] for at, samples in found.ratios(data, less, more).items()},
        *bounds,
    )


def _variants(data: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        return below(
            {
                f"{name} {at}": samples
                for name in VARIANTS
                for at, samples in found.ratios(data, name, FOREST).items()
            },
            1.0,
        )

    return judge


def _sums(found: LossTrials, data: str, measure: str, names: Sequence[str]) -> list[float]:
    """The least sum over all k of some variants, for each sample."""
    return [min(sum(each.losses[name]) for name in names) for each in found.trials[data, measure]]


def _of(*distances: str) -> list[str]:
    return [name for name in VARIANTS if name.startswith(distances)]


def _best_distances(data: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        good, rest = _of(*GOOD), [name for name in VARIANTS if not name.startswith(GOOD)]
        return below(
            ratio(
                {measure: _sums(found, data, measure, good) for measure in MEASURES},
                {measure: _sums(found, data, measure, rest) for measure in MEASURES},
            ),
            1.0,
        )

    return judge


def _distance(data: str, better: str, worse: str, least: float = 0.0) -> Judge:
    """One distance loses less than another over all k, by at most 1 - least."""
    return lambda found: within(
        ratio(
            {measure: _sums(found, data, measure, _of(better)) for measure in MEASURES},
            {measure: _sums(found, data, measure, _of(worse)) for measure in MEASURES},
        ),
        least,
        np.nextafter(1.0, 0.0),
    )


def _modified(found: LossTrials, data: str, names: Sequence[str]) -> Points:
    """How many times as much Algorithm 2 loses as Algorithm 1."""
    return {
        f"{name[:4]} {at}": samples
        for name in names
        for at, samples in found.ratios(data, name.replace("Algorithm 1", "Algorithm 2"), name).items()
    }


def _usually(data: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        cases = _modified(found, data, [name for name in VARIANTS if name.endswith("1")])
        by_sample = zip(*cases.values(), strict=True)
        shares = [sum(x < 1 for x in each) / len(each) for each in by_sample]
        return above({f"share of {len(cases)} cases": shares}, 0.5)

    return judge


def _negligible(data: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        names = [name for name in _of(*GOOD) if name.endswith("1")]
        return within(_modified(found, data, names), 1 - NEGLIGIBLE, 1 + NEGLIGIBLE)

    return judge


def _near(data: str, measure: str, row: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        if data == "ART" and found.trials[data, measure][0].rows != ART_ROWS:
            return not_run(f"needs {ART_ROWS:,} records: fewer lose more")
        line = found.line(data, measure, row)
        printed = zip(line.items(), TABLE[data, measure][row], strict=True)
        points = {at: [each / theirs for each in samples] for (at, samples), theirs in printed}
        return within(points, 1 - NEAR, 1 + NEAR)

    return judge


def _about(measure: str, row: str, value: float) -> Judge:
    """At k=5, in all data sets."""

    def judge(found: LossTrials) -> Finding:
        lines = {data: found.line(data, measure, row) for data in DATA if (data, measure) in found.trials}
        if len(lines) < len(DATA):
            return not_run(f"needs all of {', '.join(DATA)}")
        points = {data: next(iter(line.values())) for data, line in lines.items()}
        return within(points, value * (1 - NEAR), value * (1 + NEAR))

    return judge


def _same_everywhere(row: str) -> Judge:
    """The largest to the smallest mean over the data sets, at each k; a sample of each is taken together."""

    def judge(found: LossTrials) -> Finding:
        if any((data, measure) not in found.trials for data in DATA for measure in MEASURES):
            return not_run(f"needs all of {', '.join(DATA)}")
        points = {}
        for measure in MEASURES:
            lines = [found.line(data, measure, row) for data in DATA]
            for at in lines[0]:
                together = zip(*(line[at] for line in lines), strict=True)
                points[at] = [max(each) / min(each) for each in together]
        return within(points, high=SAME)

    return judge


def _degrees(data: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        points = {k: some for (name, k), some in found.graphs.items() if name == data}
        worst = {k: max(some, key=lambda point: point.above) for k, some in points.items()}
        over = {k: point for k, point in worst.items() if point.most > 2 * k}
        against = "; ".join(
            f"k={k}: {point.above:.1%} of a sample fit more than {2 * k} rows, one {point.most}"
            for k, point in over.items()
        )
        return unbroken(sum(map(len, points.values())), against)

    return judge


def _global(data: str, epsilon: float) -> Judge:
    def judge(found: LossTrials) -> Finding:
        points = {
            f"k={k}": [point.matched[epsilon] for point in some]
            for (name, k), some in found.graphs.items()
            if name == data
        }
        return within(points, low=LIKELY)

    return judge


def _one_step(data: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        points = {
            f"k={k}": [point.one for point in some if point.one is not None]
            for (name, k), some in found.graphs.items()
            if name == data
        }
        return within({at: samples for at, samples in points.items() if samples}, low=ALMOST_ALL)

    return judge


def _quadratic(name: str) -> Judge:
    def judge(found: LossTrials) -> Finding:
        if not found.times:
            return not_run("left out by --quick")
        powers = []
        for by_size in found.times.values():
            seconds = [np.log(max(point.seconds[name], 1e-6)) for point in by_size.values()]
            powers.append(linear_regression(np.log([*by_size]), seconds).slope)
        return within({"power of n": powers}, high=GROWTH)

    return judge


def _exact(judge: Callable[[], Finding]) -> Judge:
    return lambda _found: judge()


def _examples() -> Iterator[Claim[LossTrials]]:
    def claim(
        name: str, section: str, says: str, judge: Callable[[], Finding], printed: str = ""
    ) -> Claim[LossTrials]:
        return Claim(name, section, says, _exact(judge), printed=printed or None)

    for name, keeps, says in (
        ("2", (True, True, True), "the first is 2-anonymous"),
        ("(1,2)", (True, False, False), "the second is (1,2) and not (2,1)"),
        ("(2,1)", (False, True, False), "the third is (2,1) and not (1,2)"),
        ("(2,2)", (True, True, False), "the last is (2,2) and not 2-anonymous"),
    ):
        judge = partial(examples.proposition_45, name, keeps)
        yield claim(f"prop4.5.{name}", "IV, Proposition 4.5", f"of the four printed tables {says}", judge)
    says = "global (1,k) lies inside (k,k)"
    yield claim("figure1", "IV, Proposition 4.7, Figure 1", says, examples.global_inside_kk)
    says = "in a global (1,k)-anonymization the k matches of a record are equally probable, as in k-anonymity"
    yield claim("equal", "IV-A", says, examples.equally_probable, "1/k")
    says = "leaving n-k records as they are and suppressing k is (1,k) and reveals most people"
    yield claim("one-k", "IV-A", says, examples.one_k_reveals)
    says = "the forest loses at most 3k-3 times the optimum (LM, k=3)"
    yield claim("forest.ratio", "V", says, examples.forest_ratio, "3k-3")
    says = "dividing by log|A ∪ B|, (10) gives priority to the larger cluster"
    yield claim("distance10", "V-A.2", says, examples.larger_first)
    says = "Algorithm 3 is within a factor of k-1 of the optimum, by {} (k=3)"
    yield claim("prop5.1.lm", "V-B, Proposition 5.1", says.format("LM"), examples.factor_lm, "k-1")
    yield claim("prop5.1.em", "V-B, Proposition 5.1", says.format("entropy"), examples.factor_em, "k-1")
    judge = partial(examples.own_percentages, FOREST, BEST, FORESTS_GAIN)
    says = "in its own Table I the best agglomerative loses 20 to 50 % less than the forest"
    yield claim("own.forest", "VI-A", says, judge, "20 to 50 %")
    judge = partial(examples.own_percentages, BEST, KK, KK_GAIN)
    says = "in its own Table I (k,k) loses 10 to 30 % less than the best agglomerative"
    yield claim("own.kk", "VI-A", says, judge, "10 to 30 %")


def _on(data: str) -> Iterator[Claim[LossTrials]]:
    def claim(name: str, section: str, says: str, judge: Judge, printed: str = "") -> Claim[LossTrials]:
        return Claim(f"{name}.{data.lower()}", section, says, judge, data, printed or None)

    for measure in MEASURES:
        for row in ROWS:
            numbers = ", ".join(f"{value:.2f}" for value in TABLE[data, measure][row])
            yield claim(
                f"table1.{measure.lower()}.{row.split()[0]}",
                "VI-A, Table I",
                f"{data} {measure}, {row}: the loss at k = {', '.join(map(str, KS))}, ours by the printed",
                _near(data, measure, row),
                numbers,
            )
    says = f"{data}: the best agglomerative loses less than the forest and (k,k) less than that, for every k"
    yield claim(
        "order",
        "VI-A, Figures 2 and 3",
        says,
        lambda found: all_of(
            {
                "best/forest": below(found.ratios(data, BEST, FOREST), 1.0),
                "(k,k)/best": below(found.ratios(data, KK, BEST), 1.0),
            }
        ),
    )
    says = f"{data}: every agglomerative variant loses less than the forest"
    yield claim("variants", "VI-A", says, _variants(data))
    says = f"{data}: the best agglomerative loses 20 to 50 % less than the forest"
    yield claim("gain.forest", "VI-A", says, _gain(data, FOREST, BEST, FORESTS_GAIN), "20 to 50 %")
    says = f"{data}: (k,k) loses 10 to 30 % less than the best agglomerative"
    yield claim("gain.kk", "VI-A", says, _gain(data, BEST, KK, KK_GAIN), "10 to 30 %")
    says = f"{data}: distances (10) and (11) bring the best results"
    yield claim("distances", "VI-A", says, _best_distances(data))
    says = f"{data}: growing clusters one by one, (9), loses less than balanced ones, (8)"
    yield claim("unbalanced", "V-A.2", says, _distance(data, "(9)", "(8)"))
    says = f"{data}: (10) loses slightly less than (9)"
    yield claim("slightly", "V-A.2", says, _distance(data, "(10)", "(9)", 1 - SLIGHTLY))
    says = f"{data}: Algorithm 4 with 5 loses less than Algorithm 3 with 5"
    yield claim("expansion", "VI-A", says, lambda found: below(found.ratios(data, EXPANSION, NEAREST), 1.0))
    says = f"{data}: Algorithm 4 performs much better than Algorithm 3"
    yield claim("much", "V-B", says, lambda found: below(found.ratios(data, EXPANSION, NEAREST), 1 - MUCH))
    says = f"{data}: Algorithm 2 usually loses less than Algorithm 1"
    yield claim("modified", "VI-A", says, _usually(data))
    says = f"{data}: with (10) and (11) what Algorithm 2 gains is negligible"
    yield claim("negligible", "VI-A", says, _negligible(data))
    says = f"{data}: in (k,k) every record fits between k and 2k rows"
    yield claim("degrees", "V-C", says, _degrees(data), "k to 2k")
    says = f"{data}: in almost all cases one step of Algorithm 6 gives a record k matches"
    yield claim("one-step", "V-C", says, _one_step(data))
    says = f"{data}: (k,k) is mostly global (1,k): records have k matches"
    yield claim("global", "VII", says, _global(data, 0.0))
    says = f"{data}: ((1+e)k,(1+e)k) with e = 1/2 is mostly global (1,k)"
    yield claim("global.half", "VII", says, _global(data, 0.5))


def _together() -> Iterator[Claim[LossTrials]]:
    for row in ROWS:
        says = f"{row}: the loss per entry is roughly the same in all data sets"
        name = f"same.{row.split()[0]}"
        yield Claim(name, "VI-A", says, _same_everywhere(row), "ART, ADT, CMC")
    for measure, value in (("EM", 0.66), ("LM", 0.13)):
        says = f"the best agglomerative loses about {value} per entry by {measure} in all data sets (k=5)"
        name = f"about.{measure.lower()}"
        yield Claim(name, "VI-A", says, _about(measure, BEST, value), "ART, ADT, CMC", value)
    for name in TIMED:
        says = f"the time of the {name} algorithm grows with n squared at most"
        yield Claim(f"time.{name}", "V", says, _quadratic(name), "ART of several sizes", "O(n^2)")


CLAIMS = (*_examples(), *(claim for data in DATA for claim in _on(data)), *_together())
