"""How an attack ends: held, broken, or inconclusive with a reason and what would decide it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.measure_tables import box, flat, microdata, ranged, release

from incrowd.attacks.candidates import degree, matching
from incrowd.attacks.linked import known_rows
from incrowd.attacks.registry import LUCK, AttackResult, NotTried, Outcome, Rate, by_chance, one_of
from incrowd.attacks.target import Target
from incrowd.commands.attack import Attacked
from incrowd.flow import Table
from incrowd.graph import consistency

TENTH = Fraction(1, 10)
GOOD = AttackResult("a", "b", "c", Rate(50, 1000), Rate(1, 1000), Rate(900, 1000), TENTH)
RATES = st.integers(0, 2000).flatmap(lambda n: st.builds(Rate, st.integers(0, n), st.just(n), st.booleans()))
BOUNDS = st.fractions(0, 1, max_denominator=60)


def attacked(*results: AttackResult, untried: tuple[NotTried, ...] = ()) -> Attacked:
    named = tuple(replace(result, name=f"{result.name}{i}") for i, result in enumerate(results))
    return Attacked(10, 10, 10, "mondrian", "links", 10, named, untried, ())


# ---- one attack


@pytest.mark.parametrize(
    ("changed", "outcome"),
    [
        ({}, "held"),
        ({"attack": Rate(200, 1000)}, "broken"),
        ({"attack": Rate(200, 1000), "control": None}, "broken"),
        ({"attack": Rate(200, 1000), "bound": None}, "no bound"),
        ({"attack": Rate(100, 1000)}, "inconclusive"),
        ({"attack": Rate(100, 1000, exact=True)}, "held"),
        ({"attack": Rate(101, 1000, exact=True)}, "broken"),
        ({"attack": Rate(0, 0)}, "inconclusive"),
        ({"attack": Rate(0, 2)}, "inconclusive"),
        ({"attack": Rate(0, 0, exact=True)}, "held"),
        ({"control": None}, "inconclusive"),
        ({"control": Rate(1, 1000)}, "inconclusive"),
    ],
)
def test_how_an_attack_ends(changed: dict[str, object], outcome: str) -> None:
    found = replace(GOOD, **changed)  # type: ignore[arg-type]
    assert found.outcome == outcome
    assert (found.doubt is not None) == (outcome == "inconclusive")


@pytest.mark.parametrize(
    ("changed", "reason", "remedy"),
    [
        ({"attack": Rate(0, 0)}, "nobody was scored", "the audit's links"),
        ({"attack": Rate(0, 2)}, "up to 65.76% is possible, above the bound of 10.00%", "about 35 scored"),
        ({"attack": Rate(105, 1000)}, "above the bound", "success lies at the bound"),
        ({"control": None}, "could not be run", "a larger table"),
        ({"control": None, "control_needs": "links"}, "could not be run", "links"),
        ({"control": Rate(1, 1000)}, "did not break (0.1%, guessing 0.1%)", "a larger table"),
    ],
)  # fmt: skip
def test_doubts_say_why_and_what_would_decide(changed: dict[str, object], reason: str, remedy: str) -> None:
    doubt = replace(GOOD, **changed).doubt  # type: ignore[arg-type]
    assert doubt is not None
    assert reason in doubt[0]
    assert remedy in doubt[1]


@given(RATES, BOUNDS)
def test_nothing_is_called_held_whose_interval_reaches_over_the_bound(rate: Rate, bound: Fraction) -> None:
    found = replace(GOOD, attack=rate, bound=bound)
    if found.outcome is Outcome.HELD:
        assert rate.won <= bound * rate.tried if rate.exact else rate.interval()[1] <= bound
    if found.outcome is Outcome.BROKEN:
        assert rate.won > bound * rate.tried if rate.exact else rate.interval()[0] > bound


@given(RATES, BOUNDS)
def test_no_rate_is_both_within_a_bound_and_above_it(rate: Rate, bound: Fraction) -> None:
    assert not (rate.within(bound) and rate.above(bound))


@pytest.mark.parametrize("tried", [100, 120, 1000, 30_000])
@pytest.mark.parametrize("k", [2, 5, 10, 50])
def test_who_keeps_the_bound_to_the_letter_is_hardly_ever_accused(tried: int, k: int) -> None:
    """Counted by the exact binomial: Wilson's interval is too narrow where few win."""
    bound = Fraction(1, k)
    accused = [won for won in range(tried + 1) if Rate(won, tried).above(bound)]
    assert accused
    assert binom.sf(accused[0] - 1, tried, 1 / k) < LUCK  # and one less would not be enough
    assert binom.sf(accused[0] - 2, tried, 1 / k) >= LUCK


@given(st.integers(1, 3000), st.floats(1e-6, 0.999), st.data())
def test_chance_is_that_of_the_binomial(tried: int, share: float, data: st.DataObject) -> None:
    won = data.draw(st.integers(min(int(share * tried) + 1, tried), tried))
    assert by_chance(won, tried, share) == pytest.approx(
        binom.sf(won - 1, tried, share), rel=1e-6, abs=1e-300
    )


def test_those_who_are_certain_are_no_luck() -> None:
    """40 of 60 counted exactly, of the others 20 of 40 by luck: these must be above 1/2 by themselves."""
    certain = Rate(40, 60, exact=True)
    for won, above in ((20, False), (38, True)):
        rate = Rate(certain.won + won, 100, luck=(Rate(won, 40), 40))
        assert rate.above(Fraction(6, 10)) is above
    assert Rate(60, 100, luck=(Rate(20, 40), 40)).above(Fraction(39, 100))  # the certain ones alone are


@given(st.integers(2, 60))
def test_enough_is_the_least_that_decides(k: int) -> None:
    bound = Fraction(1, k)
    enough = Rate(0, 1).enough(bound)
    assert enough is not None
    assert Rate(0, enough).within(bound)
    assert not Rate(0, enough - 1).within(bound)


@given(st.integers(1, 99), st.integers(100, 2000), st.integers(1, 20))
def test_enough_decides_at_the_same_share(won: int, tried: int, above: int) -> None:
    bound = min(Fraction(won, tried) + Fraction(above, 100), Fraction(1))
    enough = Rate(won, tried).enough(bound)
    assert enough is not None
    times = -(-enough // tried)
    assert Rate(won * times, tried * times).interval()[1] <= bound + Fraction(1, 10**9)


@given(st.lists(st.integers(0, 40), max_size=30))
def test_one_of_is_a_sum_of_shares(sizes: list[int]) -> None:
    found = one_of(np.array(sizes, np.int64))
    assert found.won == sum((Fraction(1, size) for size in sizes if size), Fraction(0))
    assert (found.tried, found.exact) == (len(sizes), True)


# ---- all of them


BROKEN, OPEN = replace(GOOD, attack=Rate(200, 1000)), replace(GOOD, attack=Rate(0, 2))
FREE = replace(GOOD, bound=None)
RERUN = NotTried("rerun", "the method is gone", "the method", Outcome.INCONCLUSIVE)
IDLE = NotTried("rerun", "rows are published as they are")


@pytest.mark.parametrize(
    ("found", "headline"),
    [
        (attacked(GOOD, GOOD, FREE), "HELD: 2 attacks held, 0 broke, 0 inconclusive"),
        (attacked(GOOD, untried=(IDLE,)), "HELD: 1 attack held, 0 broke, 0 inconclusive"),
        (attacked(GOOD, BROKEN, OPEN), "BROKEN: 1 attack held, 1 broke, 1 inconclusive"),
        (attacked(GOOD, OPEN), "INCONCLUSIVE: 1 attack held, 0 broke, 1 inconclusive"),
        (attacked(GOOD, untried=(RERUN,)), "INCONCLUSIVE: 1 attack held, 0 broke, 1 inconclusive"),
        (attacked(FREE, untried=(IDLE,)), "INCONCLUSIVE: 0 attacks held, 0 broke, 0 inconclusive"),
        (attacked(), "INCONCLUSIVE: 0 attacks held, 0 broke, 0 inconclusive"),
    ],
)
def test_a_release_is_held_if_all_with_a_bound_are(found: Attacked, headline: str) -> None:
    assert found.headline() == headline
    assert found.holds == headline.startswith("HELD")
    said = found.to_dict()
    assert (said["outcome"], said["holds"]) == (str(found.outcome), found.holds)
    assert bool(said["inconclusive"]) == (
        " 0 inconclusive" not in headline or found.outcome == "inconclusive"
    )
    assert all(doubt["reason"] and doubt["remedy"] for doubt in said["inconclusive"].values())


def test_an_attack_that_was_not_tried_says_so() -> None:
    (said,) = attacked(GOOD, untried=(RERUN,)).to_dict()["untried"]
    assert said == {
        "name": "rerun",
        "outcome": "inconclusive",
        "holds": False,
        "reason": "the method is gone",
        "remedy": "the method",
    }
    (idle,) = attacked(GOOD, untried=(IDLE,)).to_dict()["untried"]
    assert (idle["outcome"], idle["remedy"]) == ("not applicable", "")


# ---- scoring everybody


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=2, max_size=14), st.data())
def test_known_rows_are_right_up_to_rows_that_say_the_same(
    people: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Groups of neighbours are published as ranges, in any order."""
    people = sorted(people)
    n = len(people)
    cuts = data.draw(st.sets(st.integers(1, n - 1)))
    groups = np.split(np.arange(n), sorted(cuts))
    group_of = {int(i): group for group in groups for i in group}
    order = data.draw(st.permutations(range(n)))  # row j is about record order[j]
    micro = microdata([ranged("age", list(range(6)))], [(str(age),) for age, _ in people])
    cells = [box(people[group_of[i][0]][0], people[group_of[i][-1]][0]) for i in order]
    graph = consistency(release(micro, [(cell,) for cell in cells]), micro)
    ill, shown = [str(v) for _, v in people], [str(people[i][1]) for i in order]
    truth = known_rows(graph, Table.of({"ill": ill}), Table.of({"ill": shown}), ["ill"])
    told = [(record, row) for record, row in enumerate(truth.tolist()) if row >= 0]
    assert len({row for _, row in told}) == len(told)
    for record, row in told:
        own = order.index(record)
        assert (cells[row], shown[row]) == (cells[own], ill[record])
    ends = [(people[group[0]][0], people[group[-1]][0]) for group in groups]
    apart = all(one[1] < two[0] for one, two in pairwise(ends))
    assert not apart or len(told) == n  # where nobody fits two ranges, everybody's row is known


@pytest.mark.parametrize("attack", [degree, matching])
def test_who_picks_a_candidate_at_random_is_scored_exactly(attack: Callable[[Target], AttackResult]) -> None:
    """Two classes of two and one of three, whoever is behind which row."""
    jobs = ["a", "a", "b", "b", "c", "c", "c"]
    data = microdata([flat("job", ["a", "b", "c"])], [(job,) for job in jobs])
    shown = release(data, [(job,) for job in jobs])
    for truth in (np.arange(7), np.full(7, -1)):
        found = attack(Target(shown, data, truth, 2))
        assert found.attack == Rate(Fraction(3), 7, exact=True)
        assert found.guess == Rate(Fraction(1), 7, exact=True)
        assert found.outcome is Outcome.HELD
    assert attack(Target(shown, data, np.arange(7), 3)).outcome is Outcome.BROKEN
