"""Attacks: each succeeds on its control, keeps within the bound on a good release, and breaks a weak one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graph.test_graph import fraction, ring
from hypothesis import given
from hypothesis import strategies as st
from support.anonymity_classes import classes
from support.golden import golden
from support.measure_tables import box, flat, microdata, ranged, release, treed
from support.places import TESTS
from support.series_tables import months, table
from support.series_tables import policy as series_policy

from incrowd import tables
from incrowd.assign import one_of_disjoint_matchings
from incrowd.attacks.beliefs import fewest_values
from incrowd.attacks.candidates import degree, equal_rows, likeliest, matching, order, probability, rerun
from incrowd.attacks.corruption import Accomplices, corruption, known_counts
from incrowd.attacks.registry import (
    NEEDS,
    Attack,
    AttackResult,
    Context,
    NotTried,
    Outcome,
    Rate,
    attack,
    attacks,
    every_result,
)
from incrowd.attacks.target import Target, as_they_are
from incrowd.commands.attack import attack as run
from incrowd.commands.publish import publish
from incrowd.encode import encode
from incrowd.errors import TableError
from incrowd.examples import write_example
from incrowd.flow import Microdata, Table
from incrowd.graph import chances, components, consistency, posterior
from incrowd.measures import Published, published
from incrowd.policy import Policy


def again(target: Target) -> AttackResult:
    """`rerun` where the method's rows are the published ones in the order of the original."""
    place = np.where(target.truth >= 0, target.truth, 0)
    rows = tuple(column[place] for column in target.published.rows)
    return rerun(target, replace(target.published, rows=rows))


NAMING_ROWS: tuple[Callable[[Target], AttackResult], ...] = (
    *(order, degree, matching, probability, corruption, again),
)
EACH = pytest.mark.parametrize("attack", NAMING_ROWS, ids=lambda attack: attack.__name__)
NOT_BROKEN = (Outcome.HELD, Outcome.INCONCLUSIVE)
REGISTERED = pytest.mark.parametrize("entry", attacks(), ids=lambda entry: entry.name)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """A k-anonymous release of the clinic, and the truth about it."""
    folder = write_example(tmp_path_factory.mktemp("clinic"), rows=1000)
    policy = Policy.load(folder / "policy.toml").with_(k=10)
    table = tables.read(folder / "patients.csv")
    made = publish(table, policy)
    data = encode(table, policy.schema(table))
    truth = np.empty(len(table), dtype=np.int64)
    truth[made._draft.assignment.private] = np.arange(len(table))
    return Target(published(made.table, data), data, truth, 10)


@pytest.fixture(scope="module")
def weak(clinic: Target) -> Target:
    """Everybody as they are, in the order of the original, and k = 10 claimed."""
    return Target(as_they_are(clinic.data), clinic.data, np.arange(len(clinic.data)), 10)


# ---- what all attacks share


@EACH
def test_an_attack_succeeds_on_its_control(attack: Callable[[Target], AttackResult], clinic: Target) -> None:
    found = attack(clinic)
    assert found.control is not None
    assert found.works
    assert found.guess.share < 0.02


@EACH
def test_an_attack_keeps_within_the_bound_on_a_good_release(
    attack: Callable[[Target], AttackResult], clinic: Target
) -> None:
    found = attack(clinic)
    assert found.outcome is not Outcome.BROKEN
    assert found.outcome is Outcome.HELD or not found.attack.exact or found.bound is None
    low, high = found.attack.interval()
    assert low <= found.attack.share <= high
    assert found.attack.share <= 0.3
    assert found.attack.tried in (1000, 200)


@EACH
def test_a_weak_release_is_broken(attack: Callable[[Target], AttackResult], weak: Target) -> None:
    found = attack(weak)
    if attack is corruption:  # people who share no row cannot be accomplices
        assert found.attack.tried < 200
    else:
        assert found.outcome is Outcome.BROKEN
        assert found.attack.share > 0.9


@EACH
def test_a_result_can_be_written(attack: Callable[[Target], AttackResult], clinic: Target) -> None:
    said = attack(clinic).to_dict()
    assert set(said) == {
        *("name", "adversary", "knows", "attack", "guess", "control", "bound", "works", "details"),
        *("outcome", "holds", "reason", "remedy"),
    }
    assert said["holds"] == (said["outcome"] == "held")
    assert bool(said["reason"]) == bool(said["remedy"]) == (said["outcome"] == "inconclusive")
    assert said["bound"] == (None if attack is corruption else "1/10")
    assert set(said["attack"]) == {"won", "tried", "share", "low", "high", "exact"}
    assert all(isinstance(value, int | float | str) for value in said["details"].values())


@EACH
def test_without_truth_nobody_is_scored_but_by_candidates(
    attack: Callable[[Target], AttackResult], clinic: Target
) -> None:
    blind = replace(clinic, truth=np.full(1000, -1))
    found = attack(blind)
    if found.attack.exact:  # whoever picks one of the candidates needs no truth to be scored
        assert (found.attack.tried, found.outcome) == (1000, Outcome.HELD)
    else:
        assert found.outcome is (Outcome.NO_BOUND if found.bound is None else Outcome.INCONCLUSIVE)
        assert found.attack.tried == 0 or found.attack.luck is not None  # of some it is known all the same


def test_names_are_different(clinic: Target) -> None:
    names = [attack(clinic).name for attack in NAMING_ROWS]
    assert len(set(names)) == len(names)


# ---- everything that is registered


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[AttackResult]:
    """Every attack, on a release of one table and on one of two."""
    one = clinic_with_everything(tmp_path_factory.mktemp("one"))
    two = town_with_everything(tmp_path_factory.mktemp("two"))
    three = some_left_out(tmp_path_factory.mktemp("three"))
    four = with_totals(tmp_path_factory.mktemp("four"))
    five = of_a_series(tmp_path_factory.mktemp("five"))
    six = by_density(tmp_path_factory.mktemp("six"))
    seven = with_outliers(tmp_path_factory.mktemp("seven"))
    every = (*one, *two, *three, *four, *five, *six, *seven)
    return [found for found in every if isinstance(found, AttackResult)]


def of_a_series(folder: Path) -> list[AttackResult]:
    """The second release of a series, in which some have left and some are new."""
    first = {f"p{number}": (number, "abc"[number % 3]) for number in range(40)}
    second = dict(list(first.items())[3:]) | {f"q{number}": (7 * number, "a") for number in range(5)}
    months(folder, [first, second], series_policy())
    return [found for found in run(folder / "m1", table(second)).results if found.name.startswith("series")]


def with_totals(folder: Path) -> list[AttackResult]:
    """Most are 20, the others of any age: in a wide cell 20 is the best guess."""
    ages = [20 if i % 3 else 20 + i * 7 % 40 for i in range(200)]
    (folder / "people.csv").write_text("\n".join(["age", *map(str, ages), ""]), encoding="utf-8")
    policy = Policy(quasi_identifiers={"age": {}}, privacy={"k": 5}, totals=True)
    publish(folder / "people.csv", policy).write(folder / "out")
    found = run(folder / "out", folder / "people.csv").results
    return [result for result in found if result.name == "totals"]


def some_left_out(folder: Path) -> list[AttackResult]:
    """Twenty of 200 people are alone at their age, and suppressed."""
    ages = [*(20 + i % 18 for i in range(180)), *(100 + i for i in range(20))]
    (folder / "people.csv").write_text("\n".join(["age", *map(str, ages), ""]), encoding="utf-8")
    policy = Policy(
        quasi_identifiers={"age": {}}, method="incognito", privacy={"k": 5, "max_suppression": "0.1"}
    )
    publish(folder / "people.csv", policy).write(folder / "out")
    found = run(folder / "out", folder / "people.csv").results
    return [result for result in found if result.name.startswith("suppression")]


def clinic_with_everything(folder: Path) -> tuple[AttackResult, ...]:
    """k, l and t are promised, and there is another release."""
    write_example(folder, rows=800)
    source, asked = folder / "patients.csv", Policy.load(folder / "policy.toml")
    for name, policy in {"one": asked.with_(k=4, l=2, t="0.9"), "two": asked.with_(k=8)}.items():
        publish(source, policy).write(folder / name)
    return run(folder / "one", source, also=folder / "two").results


def with_outliers(folder: Path) -> list[AttackResult]:
    """Outliers in all subspaces are asked for: of a smaller table, since there are many subspaces."""
    write_example(folder, rows=150)
    source = folder / "patients.csv"
    publish(source, Policy.load(folder / "policy.toml").with_(k=4)).write(folder / "out")
    without = {result.name for result in run(folder / "out", source).results}
    found = run(folder / "out", source, outliers="0.8,0.5").results
    return [result for result in found if result.name not in without]


def by_density(folder: Path) -> list[AttackResult]:
    """Outliers by density are asked for."""
    write_example(folder, rows=200)
    source = folder / "patients.csv"
    publish(source, Policy.load(folder / "policy.toml").with_(k=4)).write(folder / "out")
    found = run(folder / "out", source, outliers="lof:20,1.2").results
    return [result for result in found if result.name == "density"]


def town_with_everything(folder: Path) -> tuple[AttackResult, ...]:
    """300 of 900 voters are patients, in buckets of illnesses; ten voters do not exist."""
    rng = np.random.default_rng(3)
    voters = [f"v{i},{rng.integers(18, 90)},{rng.integers(100)}" for i in range(900)]
    ill = [f"{voter},{rng.choice(['flu', 'cold', 'gout', 'none'])}" for voter in voters[::3]]
    for name, lines in {
        "voters": ["id,age,zip", *voters],
        "patients": ["id,age,zip,ill", *ill],
        "planted": ["id", *(f"v{i}" for i in range(1, 31, 3))],
    }.items():
        (folder / f"{name}.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    policy = Policy.from_dict(
        {
            "identifiers": ["id"],
            "sensitive": ["ill"],
            "method": "kja-refine",
            "quasi_identifiers": {name: {"type": "numeric"} for name in ("age", "zip")},
            "privacy": {"k": 5, "l": 2, "l_kind": "frequency"},
            "public": {"table": "voters.csv", "id": "id", "membership_secret": True},
        },
        folder,
    )
    publish(folder / "patients.csv", policy).write(folder / "out")
    return run(folder / "out", folder / "patients.csv", policy, planted=folder / "planted.csv").results


@REGISTERED
def test_a_registered_attack_breaks_its_control(entry: Attack, results: list[AttackResult]) -> None:
    mine = [found for found in results if found.name.partition("-")[0] == entry.name]
    assert mine, "no release of this test meets its needs"
    assert all(found.control is not None and found.works for found in mine)


@REGISTERED
def test_a_registered_attack_ends_in_each_way(entry: Attack, results: list[AttackResult]) -> None:
    """As it is it is not broken; where it succeeds as on its control, it is; and each doubt is said."""
    mine = [found for found in results if found.name.partition("-")[0] == entry.name]
    for found in mine:
        assert found.outcome in ((Outcome.NO_BOUND,) if found.bound is None else NOT_BROKEN)
        control = found.control
        if found.bound is None or control is None:
            assert replace(found, attack=Rate(0, 0)).doubt is None
            continue
        held = replace(found, attack=Rate(0, 10**6, exact=not found.bound))  # 0 is kept by counting only
        assert held.outcome is Outcome.HELD
        if control.above(found.bound):  # whole classes leave one in k to who runs the method again
            assert replace(found, attack=control).outcome is Outcome.BROKEN
        for doubtful, words in (
            (replace(held, attack=Rate(0, 0)), "nobody was scored"),
            (replace(held, control=None), "could not be run"),
            (replace(held, control=replace(found.guess, won=0)), "did not break"),
        ):
            assert doubtful.outcome is Outcome.INCONCLUSIVE
            assert doubtful.doubt is not None
            assert words in doubtful.doubt[0]
            assert doubtful.doubt[1]
        if found.bound:  # of few nobody knows whether they would stay within it
            assert replace(held, attack=Rate(0, 1)).outcome is Outcome.INCONCLUSIVE


@REGISTERED
def test_a_registered_attack_is_documented(entry: Attack, results: list[AttackResult]) -> None:
    """In a section of its own, with its adversary."""
    text = (TESTS.parent / "docs" / "attacks.md").read_text(encoding="utf-8")
    assert f"\n### {entry.name}\n" in text
    section = text.partition(f"\n### {entry.name}\n")[2].partition("\n#")[0]
    assert all(found.adversary in section for found in results if found.name.partition("-")[0] == entry.name)


def test_every_result_belongs_to_a_registered_attack(results: list[AttackResult]) -> None:
    assert {found.name.partition("-")[0] for found in results} == {entry.name for entry in attacks()}


def test_attacks_stand_in_one_order() -> None:
    places = [entry.place for entry in attacks()]
    assert places == sorted(set(places))


def test_what_nobody_offers_cannot_be_needed() -> None:
    with pytest.raises(ValueError, match="nobody offers: luck"):
        attack("lucky", 1, ("luck",))
    with pytest.raises(ValueError, match="nobody needs luck"):
        Context(luck=lambda: None)
    used = {need for entry in attacks() for need in (*entry.needs, *entry.uses)} | {"columns"}
    assert used == {*NEEDS}


def test_a_need_is_made_once_and_only_if_asked_for() -> None:
    made = []
    context = Context(release=lambda: made.append("release"), remade=lambda: made.append("remade"))
    assert context.offers(["release"])
    assert not context.offers(["release", "others"])
    assert (context.get("release"), context.get("release"), context.get("others")) == (None, None, None)
    assert made == ["release"]


def test_a_need_that_is_not_met_is_said_or_skipped(clinic: Target) -> None:
    context = Context(
        records=lambda: None, remade=lambda: NotTried("rerun", "no method"), release=lambda: clinic
    )
    found = list(every_result(context))
    assert [each.reason for each in found if isinstance(each, NotTried)] == ["no method"]
    assert [each.name for each in found if isinstance(each, AttackResult)] == ["order"]


# ---- by hand


def test_whole_classes_give_one_winner_each(clinic: Target) -> None:
    """Everybody in a class names the same row, and one of them is right."""
    found = again(clinic)
    assert found.attack.won == len(clinic.published.class_sizes)
    assert found.details["persons_whose_row_is_there"] == 1000


def test_corruption_of_whole_classes_gives_what_they_promise(clinic: Target) -> None:
    assert list(known_counts(clinic)) == [1, 2, 3, 4, 5]
    for known in (1, 5):
        found = corruption(clinic, known)
        assert found.details["largest_posterior"] == str(Fraction(1, 10 - known))
        assert found.details["whole_classes_give"] == str(Fraction(1, 10 - known))
        assert found.control == Rate(200, 200)
        assert found.attack.interval(3.29)[0] <= 1 / (10 - known)


def test_known_people_are_not_chosen_by_their_rows() -> None:
    """In a class of ten the insider who knows one other is right in one case of nine, whatever the draw."""
    n, draws = 10, 60
    rng = np.random.default_rng(3)
    wins = sum(corruption(ring_target(n, n, rng.permutation(n)), 1).attack.won for _ in range(draws))
    low, high = Rate(wins, n * draws).interval(3.29)
    assert low <= 1 / 9 <= high


# ---- rates


def test_no_success_in_a_hundred() -> None:
    assert Rate(0, 100).interval() == pytest.approx((0.0, 0.037), abs=5e-5)
    assert Rate(0, 0).interval() == (0.0, 1.0)
    assert Rate(0, 0).share == 0


@given(st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_holds_its_share(rate: tuple[int, int]) -> None:
    found = Rate(*rate)
    low, high = found.interval()
    assert 0 <= low <= found.share <= high <= 1
    wide = found.interval(3.29)
    assert wide[0] <= low
    assert high <= wide[1]


def test_a_rate_cannot_be_won_more_often_than_tried() -> None:
    with pytest.raises(ValueError, match="more often"):
        Rate(2, 1)


# ---- targets


def test_truth_must_be_possible() -> None:
    data = microdata([flat("job", ["a", "b"])], [("a",), ("b",)])
    shown = release(data, [("*",), ("*",)])
    for wrong in ([0], [0, 0], [0, 2]):
        with pytest.raises(TableError, match="truth"):
            Target(shown, data, np.array(wrong))


def test_as_they_are_is_what_was_read() -> None:
    """Missing and hierarchies too: each row holds exactly the records that are equal to its own."""
    age = ranged("age", [20, 30], missing=True)
    zip_ = treed("zip", [["x1", "x", "*"], ["x2", "x", "*"]], beside=True)
    records = [("20", "x1"), ("", "x2"), ("30", ""), ("20", "x1"), ("", "")]
    data = microdata([age, zip_], records)
    graph = consistency(as_they_are(data), data)
    assert graph.degrees().records[graph.record_of].tolist() == [2, 1, 1, 2, 1]
    read = release(data, [tuple(cell or None for cell in record) for record in records])
    assert sorted(consistency(read, data).degrees().rows.tolist()) == [1, 1, 1, 2]


def ring_target(n: int, k: int, truth: Any = None, claimed: int | None = None) -> Target:
    """Row i holds the records i .. i+k-1, as sets."""
    names = [f"r{i:02d}" for i in range(n)]
    data = microdata([flat("who", names)], [(name,) for name in names])
    rows = [("{" + "|".join(names[(i + s) % n] for s in range(k)) + "}",) for i in range(n)]
    truth = np.arange(n) if truth is None else np.asarray(truth)
    return Target(release(data, rows), data, truth, claimed or k)


# ---- the papers' graphs


@pytest.mark.quick
def test_table_4_has_one_person_with_one_match() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "table4")
    data = microdata([ranged("a", given_["T"])], [[value] for value in given_["T"]])
    target = Target(release(data, [[box(*ends)] for ends in given_["ranges"]]), data, np.arange(5), 2)
    near, sure = degree(target), matching(target)
    assert near.details["fewest_candidates"] == min(len(rows) for rows in expected["matches_1based"])
    assert near.details["persons_below_k"] == 0
    assert sure.details["fewest_candidates"] == min(expected["effective_per_t"]) == 1
    assert sure.details["persons_with_one"] == sure.details["persons_below_k"] == 1
    likely = probability(target)
    assert likely.details["largest_posterior"] == expected["max_prob"]
    assert likely.details["persons_above_1_in_k"] == 1


@pytest.mark.quick
def test_the_ring_is_not_even() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "figure5_ring")
    target = ring_target(given_["n"], given_["k"])
    found = probability(target)
    worst = fraction(expected["P(t_i=t'_{i-1})"])
    assert worst == Fraction(5, 13)
    assert found.details["largest_posterior"] == pytest.approx(float(worst))
    assert found.details["persons_above_1_in_k"] == 5
    assert likeliest(target, chances(target.graph)).tolist() == [4, 0, 1, 2, 3]
    assert matching(target).details["persons_below_k"] == 0


@pytest.mark.quick
def test_one_known_person_in_a_ring() -> None:
    """The largest posterior over all single pairs, if all assignments are equally likely, is 3/4."""
    given_, expected = golden("nonhomogeneous_graphs", "corruption_53")
    uniform = fraction(expected["worst_posterior_uniform_over_all_assignments"])
    n, k = given_["n"], given_["k"]
    seen = []
    for shift in range(k):
        target = ring_target(n, k, [(i - shift) % n for i in range(n)])
        found = corruption(target, 1)
        assert found.control == Rate(n, n)
        seen.append(Fraction(str(found.details["largest_posterior"])))
    assert max(seen) <= uniform
    graph = target.graph
    pairs = [(i, (i - s) % n) for i in range(n) for s in range(k)]
    assert max(posterior(graph.without([pair])).worst or Fraction(0) for pair in pairs) == uniform


@pytest.mark.quick
@pytest.mark.parametrize("size", [3, 5])
def test_one_known_person_in_a_class(size: int) -> None:
    _, expected = golden("nonhomogeneous_graphs", "corruption_53")
    found = corruption(ring_target(size, size), 1)
    said = fraction(expected[f"homogeneous_group_of_{size}"])
    assert found.details["largest_posterior"] == str(said)
    assert found.details["whole_classes_give"] == str(said)


def tiny() -> tuple[Microdata, Published]:
    """The rows that Algorithms 4, 5 and 6 make of the nine records, row i for record i."""
    given_, expected = golden("revisited", "algorithms_tiny")
    data = microdata([ranged("a", [1, 2, 3, 4]), ranged("b", [1, 2, 3, 4, 5])], given_["D"])
    rows = expected["LM,k=3"]["alg4+5+6"]["table"]
    return data, release(data, [[box(cell[0], cell[-1]) for cell in row] for row in rows])


@pytest.mark.quick
def test_a_known_algorithm_tells_who_is_behind_its_rows() -> None:
    given_, expected = golden("synthesis", "known_algorithm_attack")
    data, made = tiny()
    k = given_["k"]
    printed = Target(made, data, np.arange(9), k)
    sizes = np.bincount(printed.graph.row_of)
    alone = np.flatnonzero(sizes[printed.graph.row_of] == 1)
    assert alone.tolist() == expected["rows_with_unique_generalised_value"]
    found = rerun(printed, made)
    assert found.details["persons_with_a_row_of_their_own"] == alone.size
    assert found.attack.won == len(set(printed.graph.row_of.tolist()))  # the first of each kind
    linked = [
        replace(printed, truth=np.where(np.arange(9) == i, i, -1)).won(rerun_guess(made)) for i in alone
    ]
    assert [rate.share for rate in linked] == [expected["P_link_if_adversary_reruns_the_algorithm"]]
    assert classes(printed.graph, k)["k_factor"] is expected["k_factor_exists"]


def test_a_drawn_assignment_answers_the_known_algorithm() -> None:
    """Over many draws of one of k disjoint matchings, the re-runner is right in one case of k."""
    given_, expected = golden("synthesis", "known_algorithm_attack")
    data, made = tiny()
    k, draws = given_["k"], 600
    graph = consistency(made, data)
    factor = three_factor(graph, k)
    rng = np.random.default_rng(11)
    wins = 0
    for _ in range(draws):
        truth = one_of_disjoint_matchings(factor, rng.bytes)
        wins += int(truth[3] == rerun_guess(made)[3])
    low, high = Rate(wins, draws).interval(3.29)
    assert low <= float(fraction(expected["P_after_random_factor_assignment"])) <= high


def three_factor(graph: Any, k: int) -> Any:
    """The rows of each record in a k-factor, by trying: k disjoint assignments, one after the other."""
    import itertools

    from graph.test_graph import expanded
    from twins import definitions as naive

    worlds = naive.assignments(expanded(graph), len(graph))
    for some in itertools.combinations(worlds, k):
        if all(len(set(rows)) == k for rows in zip(*some, strict=True)):
            return np.array(some, dtype=np.int32).T.copy()
    raise AssertionError("there is none")


def rerun_guess(made: Published) -> Any:
    return equal_rows(made, made)


def test_a_method_must_make_a_row_for_everyone() -> None:
    target = ring_target(5, 3)
    short = release(target.data, [("*",)])
    with pytest.raises(TableError, match="one row for each record"):
        rerun(target, short)


def test_rows_that_the_method_would_not_make_are_nobody_s() -> None:
    target = ring_target(5, 3)
    found = rerun(target, as_they_are(target.data))
    assert (found.attack.won, found.details["persons_whose_row_is_there"]) == (0, 0)


# ---- what is hard


def test_corruption_when_rows_were_left_out() -> None:
    data = microdata([flat("job", ["a", "b"])], [("a",), ("a",), ("a",), ("b",), ("b",)])
    target = Target(release(data, [("a",), ("*",), ("b",), ("a",)]), data, np.array([0, -1, 3, 2, 1]), 2)
    found = corruption(target, 1)
    assert found.attack.tried == 4
    assert found.control is not None
    assert found.control.tried == 4


def test_an_unknown_truth_has_a_world_that_could_be_true(clinic: Target) -> None:
    some = np.where(np.arange(1000) % 3 == 0, clinic.truth, -1)
    target = replace(clinic, truth=some)
    world = Accomplices(target).world
    assert sorted(world.tolist()) == list(range(1000))
    graph = target.graph
    assert (graph.edge(graph.record_of, graph.row_of[world]) >= 0).all()
    found = corruption(target, 2)
    assert found.control == Rate(found.attack.tried, found.attack.tried)


def test_large_components_get_fewer_victims(monkeypatch: pytest.MonkeyPatch, clinic: Target) -> None:
    monkeypatch.setattr(sys.modules["incrowd.attacks.corruption"], "EDGES", 3)  # a function has its name
    found = corruption(clinic, 1)
    assert found.attack.tried < 200
    assert "too many edges" in str(found.details["skipped"])


def test_the_order_of_the_original_is_an_attack(clinic: Target) -> None:
    kept = Target(clinic.published, clinic.data, np.arange(1000), 10)
    assert order(kept).attack == Rate(1000, 1000)
    assert order(kept).outcome is Outcome.BROKEN
    assert order(clinic).outcome is Outcome.HELD


def test_a_ring_of_many_is_sampled() -> None:
    target = ring_target(40, 3)
    found = probability(target)
    assert found.details["persons_sampled"] == 40
    high = found.details["largest_posterior_high"]
    assert isinstance(high, float)
    assert 1 / 3 < high < 0.7
    assert corruption(target, 1).attack.tried == 40


# ---- sensitive values


def test_fewest_values_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows 0 and 1 are one class with one illness; rows 2 to 4 one with two."""
    data = microdata([flat("job", ["a", "b"])], [("a",), ("a",), ("b",), ("b",), ("b",)])
    graph = consistency(release(data, [("a",), ("a",), ("b",), ("b",), ("b",)]), data)
    shown = Table.of({"ill": ["x", "x", "x", "y", "y"], "pay": ["1", "2", "3", "4", "5"]})
    for most in (5_000_000, 1):
        monkeypatch.setattr("incrowd.attacks.beliefs.AT_ONCE", most)
        found = fewest_values(graph, components(graph), shown, ["ill", "pay", "absent"])
        assert found == {"ill": 1, "pay": 2}


def test_ring_of_the_tests_is_the_ring_of_the_paper() -> None:
    target = ring_target(5, 3)
    lists = [
        target.graph.indices[a:b].tolist()
        for a, b in zip(target.graph.indptr, target.graph.indptr[1:], strict=False)
    ]
    named = [
        sorted(int(np.flatnonzero(target.graph.row_of == v)[0]) for v in lists[u])
        for u in target.graph.record_of
    ]
    assert named == ring(5, 3)
