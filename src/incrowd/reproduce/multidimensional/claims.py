"""Every quantitative or ordering statement of the multidimensional paper, and how it is judged.

It has worked tables, bounds and claims, but no experiments. It says that its model is "often" better, by
general measures and, for predicates on several attributes, by answers. Often means here: at more than half of
the points that were run. What else can be asked of the same points, it does not say: those are inferences of
ours and marked so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from statistics import fmean, linear_regression

from incrowd.reproduce.judging import Claim
from incrowd.reproduce.multidimensional import bounds, patients
from incrowd.reproduce.multidimensional import trials as cuts
from incrowd.reproduce.multidimensional.trials import ALL, ONE, RELAXED, SINGLE, STRICT, CutPoint, CutTrials
from incrowd.reproduce.rules import Finding, above, all_of, exact, not_run, unbroken, within
from incrowd.reproduce.samples import shares

OFTEN = 0.5
GROWTH = 1.2  # the power of n that a time of O(n log n) may show
TABLES = ("UNIFORM", "NORMAL", "ADULT")


@dataclass(frozen=True, slots=True)
class CutResults:
    """All that was found: the patients, the worst cases, trials by table and sample, times by n."""

    patients: patients.Patients
    worst: Sequence[bounds.WorstCase]
    trials: Mapping[str, Sequence[CutTrials]]
    seconds: Mapping[int, Sequence[float]] = field(default_factory=dict)

    @property
    def every(self) -> Iterator[tuple[CutTrials, cuts.CutSetting]]:
        """Each sample at each setting."""
        for samples in self.trials.values():
            for found in samples:
                for setting in dict.fromkeys(setting for _, setting in found):
                    yield found, setting


Judge = Callable[[CutResults], Finding]
CutClaim = Claim[CutResults]


def _better(found: CutTrials, of: Callable[[CutPoint], float]) -> list[bool]:
    """At which points strict cuts are better than single-dimensional ones."""
    settings = dict.fromkeys(setting for _, setting in found)
    return [of(found[STRICT, each]) < of(found[SINGLE, each]) for each in settings]


def _often(table: str, of: Callable[[CutPoint], float]) -> Judge:
    def judge(results: CutResults) -> Finding:
        cases = [_better(found, of) for found in results.trials[table]]
        return above({f"share of {len(cases[0])} points": shares(cases)}, OFTEN)

    return judge


def _general(table: str) -> Judge:
    def judge(results: CutResults) -> Finding:
        by = {"C_DM": _often(table, lambda point: point.dm), "C_AVG": _often(table, lambda point: point.avg)}
        return all_of({name: judge(results) for name, judge in by.items()})

    return judge


def _match(table: str) -> Judge:
    """How many more predicates match, on average over all points: at most of them few do in any way."""

    def judge(results: CutResults) -> Finding:
        points: dict[str, list[float]] = {}
        for load in (ALL, ONE):
            points[load] = [
                fmean(
                    found[STRICT, each].matched[load] - found[SINGLE, each].matched[load]
                    for each in dict.fromkeys(setting for _, setting in found)
                )
                for found in results.trials[table]
            ]
        return above(points, 0.0)

    return judge


def strict_bound(results: CutResults) -> Finding:
    points = [found[STRICT, at] for found, at in results.every]
    broken = [point for point in points if point.room < 0]
    return unbroken(len(points), f"{len(broken)} points" if broken else "", "every part of every sample")


def relaxed_bound(results: CutResults) -> Finding:
    points = [(found[RELAXED, at], 2 * at.k - 1) for found, at in results.every]
    broken = [point for point, most in points if point.largest > most]
    merged = sum(point.largest_class > most for point, most in points)
    words = f"classes of equal rows are larger at {merged}: parts around copies of a point say the same"
    return unbroken(len(points), f"{len(broken)} points" if broken else "", words)


def single_larger(results: CutResults) -> Finding:
    points = [(found[SINGLE, at], at) for found, at in results.every]
    past = sum(point.largest > cuts.bound(at.d, at.k, point.copies) for point, at in points)
    return exact(past > 0, f"at {past} of {len(points)} points")


def linearithmic(results: CutResults) -> Finding:
    if not results.seconds:
        return not_run("left out by --quick")
    sizes = [log(n) for n in results.seconds]
    by_sample = zip(*results.seconds.values(), strict=True)
    powers = [linear_regression(sizes, [log(max(each, 1e-6)) for each in times]).slope for times in by_sample]
    return within({"power of n": powers}, high=GROWTH)


def _examples() -> Iterator[CutClaim]:
    def claim(
        name: str, section: str, says: str, judge: Callable[[patients.Patients], Finding], printed: str = ""
    ) -> CutClaim:
        return Claim(
            name, section, says, lambda results: judge(results.patients), "the six patients", printed or None
        )

    yield claim(
        "table1", "1, Table 1", "joining both tables gives Lee's illness away", patients.lee_found, "Lee"
    )
    yield claim("table2", "2.2, Table 2", "Table 2 is 2-anonymous", patients.two_anonymous, "2")
    says = "C_DM, the sum of |E|/2, measures how good a table is: it tells Table 2 from Table 3"
    yield claim("cdm", "2.1", says, patients.told_apart)
    says = "the multidimensional Table 3 is better than Table 2 by C_DM and C_AVG"
    yield claim("table3.better", "2.1, 2.2", says, patients.multidimensional_better)
    says = "the algorithms give the classes of Tables 2 and 3"
    yield claim("classes", "2.2, 2.3", f"{says}, with the first order of zip codes", patients.classes_given)
    yield claim(
        "classes.printed",
        "2.2, 2.3",
        f"{says}, with zip codes as printed",
        patients.classes_with_printed_codes,
    )
    says = "Table 3 is not permissible in the single-dimensional model: age 35 has two ranges"
    yield claim("table3.single", "2.2", says, patients.not_single)
    says = f"the first cut, at {patients.PRINTED_CUT}, is allowable"
    yield claim("figure1.cut", "2.2.1, Figure 1", says, patients.first_cut, str(patients.PRINTED_CUT))
    says = "after the first cut, multidimensional cuts go on and single-dimensional ones do not"
    yield claim("figure1.on", "2.2.1, Figure 1", says, patients.cuts_go_on)
    says = "with means, the mean age of males is answered precisely"
    yield claim("table4.mean", "2.4, Table 4", says, patients.mean_answered, "36.5")
    says = "the same from the means that are printed"
    yield claim("table4.printed", "2.4, Table 4", says, patients.printed_mean_answers, patients.PRINTED_MEAN)
    says = "the males of at most 36 are counted precisely"
    yield claim("table4.count", "2.4, Table 4", says, patients.count_answered, "2")
    says = "they cannot be counted precisely from the single-dimensional table"
    yield claim("table2.count", "2.4", says, patients.count_unanswered)


def _bounds() -> Iterator[CutClaim]:
    def claim(
        name: str,
        says: str,
        judge: Callable[[bounds.Cases], Finding],
        printed: str = "",
        section: str = "2.3",
    ) -> CutClaim:
        return Claim(
            name, section, says, lambda results: judge(results.worst), "worst cases", printed or None
        )

    says = "where a cut is allowable, the one at the median is"
    yield claim("median", says, bounds.median_allowable)
    says = "strict cuts at the median leave at most 2d(k-1)+m together"
    yield claim("strict", says, bounds.strict_as_printed, "2d(k-1)+m")
    yield claim(
        "strict.below", f"{says}, if also tried below the median", bounds.strict_below_too, "2d(k-1)+m"
    )
    yield claim("relaxed", "relaxed cuts leave at most 2k-1 together", bounds.relaxed_bound, "2k-1")
    says = "single-dimensional classes may grow linearly with the table"
    yield claim("linear", says, bounds.single_linear, section="2.2.1")
    tables = "UNIFORM, NORMAL, ADULT"
    says = "strict cuts leave at most 2d(k-1)+m together"
    yield Claim("strict.tables", "2.3", says, strict_bound, tables, "2d(k-1)+m")
    yield Claim(
        "relaxed.tables", "2.3", "relaxed cuts leave at most 2k-1 together", relaxed_bound, tables, "2k-1"
    )
    says = "single-dimensional classes can be larger than strict ones may be"
    yield Claim("single.tables", "2.2.1", says, single_larger, tables)
    says = "the time of the greedy algorithm grows as n log n"
    yield Claim("time", "2.3", says, linearithmic, "UNIFORM of several sizes", "O(n log n)")


def _quality() -> Iterator[CutClaim]:
    for table in TABLES:
        name, says = table.lower(), f"{table}: multidimensional classes are often better by general measures"
        yield Claim(f"often.{name}", "Abstract", says, _general(table), table)
        says = f"{table}: predicates on several columns are often answered better"
        yield Claim(f"answers.{name}", "5", says, _often(table, lambda point: point.errors[ALL]), table)
        says = f"{table}: predicates on one column are often answered better"
        judge = _often(table, lambda point: point.errors[ONE])
        yield Claim(f"answers.one.{name}", "5", says, judge, table, inferred=True)
        says = f"{table}: more predicates match the classes"
        yield Claim(f"match.{name}", "2.4", says, _match(table), table, inferred=True)


CLAIMS = (*_examples(), *_bounds(), *_quality())
