"""Does what "k-Anonymization Revisited" concludes from its experiments hold in ours?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from incrowd.reproduce.outcome import Statement
from incrowd.reproduce.revisited.data import BEST, FOREST, KK, printed
from incrowd.reproduce.revisited.trials import EXPANSION, NEAREST, VARIANTS, LossTrial
from incrowd.reproduce.trend import inside, span

PRINTED_ROWS = 5000  # the size of ART at which ours are held beside the printed numbers
FOREST_GAIN = (0.18, 0.51)  # of the paper's own table; its text rounds this to 20 to 50 %
KK_GAIN = (0.08, 0.36)  # and this to 10 to 30 %


def statements(trials: Sequence[LossTrial]) -> tuple[Statement, ...]:
    """Every statement on every table that was run; those on ART come first."""
    names = dict.fromkeys(trial.data for trial in trials)
    by_name = {name: [trial for trial in trials if trial.data == name] for name in names}
    return tuple(each for name, some in by_name.items() for each in _about(some, name))


def _about(trials: Sequence[LossTrial], name: str) -> Iterator[Statement]:
    cases = {}
    for trial in trials:
        for k, (best, forest, own) in zip(trial.ks, _rows(trial, BEST, FOREST, KK), strict=True):
            cases[f"{trial.measure} k={k}"] = forest > best > own
    yield _always(f"{name}: the forest loses most, (k,k) least, for every k and measure", cases)
    # only ART has the paper's own sets; of ART only a size near the paper's
    yield from (_not_above(each) for each in trials if (each.data, each.rows) == ("ART", PRINTED_ROWS))
    says = f"{name}: the best agglomerative loses 20-50 % less than the forest"
    yield _gain(says, [pair for each in trials for pair in _rows(each, BEST, FOREST)], FOREST_GAIN)
    says = f"{name}: (k,k) loses 10-30 % less than the best agglomerative"
    yield _gain(says, [pair for each in trials for pair in _rows(each, KK, BEST)], KK_GAIN)
    cases = {
        f"{each.measure} {variant} k={each.ks[i]}": each.losses[variant][i] < each.losses[FOREST][i]
        for each, variant, i in _cases(trials, VARIANTS)
    }
    yield _always(f"{name}: every agglomerative variant loses less than the forest", cases)
    cases = {
        f"{each.measure} k={each.ks[i]}": each.losses[EXPANSION][i] < each.losses[NEAREST][i]
        for each, _, i in _cases(trials, [EXPANSION])
    }
    yield _always(f"{name}: Algorithm 4 with 5 loses less than Algorithm 3 with 5", cases)
    held = all(each.best.startswith(("(10)", "(11)")) for each in trials)
    detail = "; ".join(f"{each.measure}: best is {each.best}" for each in trials)
    yield Statement(f"{name}: distances (10) and (11) bring the best results", held, detail)
    plain = _cases(trials, [variant for variant in VARIANTS if variant.endswith("Algorithm 1")])
    better = 0
    for each, variant, i in plain:
        better += each.losses[variant.replace("Algorithm 1", "Algorithm 2")][i] < each.losses[variant][i]
    says = f"{name}: Algorithm 2 usually loses less than Algorithm 1"
    yield Statement(says, 2 * better > len(plain), f"in {better} of {len(plain)} cases")


def _rows(trial: LossTrial, *rows: str) -> list[tuple[float, ...]]:
    """Rows of Table I, for each k."""
    return list(zip(*(trial.table[row] for row in rows), strict=True))


def _always(says: str, cases: Mapping[str, bool]) -> Statement:
    """Held in every case, each under its name."""
    wrong = [case for case, held in cases.items() if not held]
    shown = ", ".join(wrong[:4]) + (", …" if len(wrong) > 4 else "")
    detail = f"not in {len(wrong)} cases: {shown}" if wrong else f"in all {len(cases)} cases"
    return Statement(says, not wrong, detail)


def _not_above(trial: LossTrial) -> Statement:
    """Ours, rounded as the printed numbers are, against them."""
    above = []
    for row in (BEST, KK):
        for k, ours in zip(trial.ks, trial.table[row], strict=True):
            theirs = printed(trial.data, trial.measure, row, k)
            if theirs is not None and round(ours, 2) > theirs:
                above.append((ours / theirs - 1, f"{row} k={k}: {ours:.3f}/{theirs:.2f}"))
    says = f"{trial.data} {trial.measure}: best agglomerative and (k,k) at or below the printed loss"
    if not above:
        return Statement(says, True, f"with {trial.rows:,} records, to two digits")
    worst = max(above)
    detail = f"{len(above)} of 8 above, by {worst[0]:.1%} at most ({worst[1]}); see how loss depends on n"
    return Statement(says, False, detail)


def _gain(says: str, pairs: Sequence[tuple[float, ...]], printed: tuple[float, float]) -> Statement:
    gains = [1 - less / more for less, more in pairs]
    held = inside([round(min(gains), 2), round(max(gains), 2)], printed)
    own = span(printed, "{:.0%}")
    return Statement(says, held, f"{span(gains, '{:.0%}')} (the paper's own table: {own})")


def _cases(trials: Sequence[LossTrial], names: Iterable[str]) -> list[tuple[LossTrial, str, int]]:
    """Each trial with each algorithm and each place among the k."""
    listed = list(names)
    return [(trial, name, i) for trial in trials for name in listed for i in range(len(trial.ks))]
