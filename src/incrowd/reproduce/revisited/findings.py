"""Does what "k-Anonymization Revisited" concludes from its experiments hold in ours?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from incrowd.reproduce.outcome import Statement
from incrowd.reproduce.revisited.printed import printed
from incrowd.reproduce.revisited.trials import BEST, EXPANSION, FOREST, KK, NEAREST, VARIANTS, Trial

PRINTED_ROWS = 5000  # the size of ART at which ours are held beside the printed numbers
FOREST_GAIN = (0.18, 0.51)  # of the paper's own table; its text rounds this to 20 to 50 %
KK_GAIN = (0.08, 0.36)  # and this to 10 to 30 %
FORMS = {True: "Algorithm 2", False: "Algorithm 1"}


def judge(trials: Sequence[Trial]) -> tuple[Statement, ...]:
    """Every statement on every table that was run; those on ART come first."""
    names = dict.fromkeys(trial.data for trial in trials)
    found: list[Statement] = []
    for name in names:
        found += _about([trial for trial in trials if trial.data == name], name)
    return tuple(found)


def _about(trials: Sequence[Trial], name: str) -> list[Statement]:
    found = [_order(trials, name), *(_not_above(trial) for trial in trials if _comparable(trial))]
    found += [
        _gain(trials, f"{name}: the best agglomerative loses 20-50 % less than the forest", _of_forest),
        _gain(trials, f"{name}: (k,k) loses 10-30 % less than the best agglomerative", _of_best),
        _all_beat_the_forest(trials, name),
        _four_beats_three(trials, name),
        _best_distances(trials, name),
        _modified_helps(trials, name),
    ]
    return found


def _comparable(trial: Trial) -> bool:
    """Only ART has the paper's own sets; of ART only a size near the paper's."""
    return trial.data == "ART" and trial.rows == PRINTED_ROWS


def _order(trials: Sequence[Trial], name: str) -> Statement:
    wrong = [
        f"{trial.measure} k={k}"
        for trial in trials
        for k, best, forest, own in zip(
            trial.ks, trial.table[BEST], trial.table[FOREST], trial.table[KK], strict=True
        )
        if not forest > best > own
    ]
    many = sum(len(trial.ks) for trial in trials)
    says = f"{name}: the forest loses most, (k,k) least, for every k and measure"
    return Statement(says, not wrong, _but(wrong) if wrong else f"in all {many} cases")


def _not_above(trial: Trial) -> Statement:
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


Pair = Callable[[Trial], Iterable[tuple[float, float]]]


def _of_forest(trial: Trial) -> Iterable[tuple[float, float]]:
    return zip(trial.table[BEST], trial.table[FOREST], strict=True)


def _of_best(trial: Trial) -> Iterable[tuple[float, float]]:
    return zip(trial.table[KK], trial.table[BEST], strict=True)


def _gain(trials: Sequence[Trial], says: str, pairs: Pair) -> Statement:
    low, high = FOREST_GAIN if pairs is _of_forest else KK_GAIN
    gains = [1 - less / more for trial in trials for less, more in pairs(trial)]
    held = low <= round(min(gains), 2) and round(max(gains), 2) <= high
    detail = f"{min(gains):.0%} to {max(gains):.0%} (the paper's own table: {low:.0%} to {high:.0%})"
    return Statement(says, held, detail)


def _all_beat_the_forest(trials: Sequence[Trial], name: str) -> Statement:
    cases = _cases(trials, VARIANTS)
    wrong = [
        f"{trial.measure} {variant} k={trial.ks[i]}"
        for trial, variant, i in cases
        if trial.losses[variant][i] >= trial.losses[FOREST][i]
    ]
    says = f"{name}: every agglomerative variant loses less than the forest"
    return Statement(says, not wrong, _but(wrong) if wrong else f"in all {len(cases)} cases")


def _four_beats_three(trials: Sequence[Trial], name: str) -> Statement:
    cases = _cases(trials, [EXPANSION])
    wrong = [
        f"{trial.measure} k={trial.ks[i]}"
        for trial, _, i in cases
        if trial.losses[EXPANSION][i] >= trial.losses[NEAREST][i]
    ]
    says = f"{name}: Algorithm 4 with 5 loses less than Algorithm 3 with 5"
    return Statement(says, not wrong, _but(wrong) if wrong else f"in all {len(cases)} cases")


def _best_distances(trials: Sequence[Trial], name: str) -> Statement:
    held = all(trial.best.startswith(("(10)", "(11)")) for trial in trials)
    detail = "; ".join(f"{trial.measure}: best is {trial.best}" for trial in trials)
    return Statement(f"{name}: distances (10) and (11) bring the best results", held, detail)


def _modified_helps(trials: Sequence[Trial], name: str) -> Statement:
    plain = [variant for variant in VARIANTS if variant.endswith(FORMS[False])]
    cases = _cases(trials, plain)
    better = sum(
        trial.losses[variant.replace(FORMS[False], FORMS[True])][i] < trial.losses[variant][i]
        for trial, variant, i in cases
    )
    says = f"{name}: Algorithm 2 usually loses less than Algorithm 1"
    return Statement(says, 2 * better > len(cases), f"in {better} of {len(cases)} cases")


def _cases(trials: Sequence[Trial], names: Iterable[str]) -> list[tuple[Trial, str, int]]:
    """Each trial with each algorithm and each place among the k."""
    listed = list(names)
    return [(trial, name, i) for trial in trials for name in listed for i in range(len(trial.ks))]


def _but(wrong: Sequence[str]) -> str:
    shown = ", ".join(wrong[:4]) + (", …" if len(wrong) > 4 else "")
    return f"not in {len(wrong)} cases: {shown}"
