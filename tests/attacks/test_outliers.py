"""Telling outliers by a release: the theorems' scores, what is certain, and what plain releases give away."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.commands import incrowd
from support.golden import vectors
from support.night import NIGHT
from twins import density
from twins.attack_outliers import Attack, Subspace, Values, agreeing_values

from incrowd.attacks.distinguish import (
    CERTAIN,
    Distinguished,
    Distinguisher,
    ShownClass,
    classes_of,
    distinguish,
    inside,
    shown_classes,
)
from incrowd.attacks.outlier_subspaces import Subspaces
from incrowd.commands.attack import attack
from incrowd.distance_outliers import Setting, Space
from incrowd.encode import encode
from incrowd.errors import InputError
from incrowd.flow import Microdata, Partition, Table
from incrowd.generalize import generalize
from incrowd.measures import published_from_regions
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to
from incrowd.schema import Column, Kind, Role, Schema

GOLDEN = vectors("outliers")
PEOPLE = GOLDEN["figure_boxes"]["input"]
JUSTIN, BILL = 2, 5
CONFIGS = {
    "A": (("Age", "Zip", "Income"), "0.65", "0.86"),
    "B": (("Age", "Income"), "0.75", "0.55"),
}


def numbers(quasi: Sequence[Values], sensitive: Sequence[Values]) -> Microdata:
    """A table of numbers q0, q1, … and s0, s1, …"""
    named = {f"q{j}": [row[j] for row in quasi] for j in range(len(quasi[0]))}
    named |= {f"s{j}": [row[j] for row in sensitive] for j in range(len(sensitive[0]))}
    texts = {name: ["" if x is None else str(x) for x in column] for name, column in named.items()}
    roles = {name: Role.QUASI if name.startswith("q") else Role.SENSITIVE for name in texts}
    schema = Schema(tuple(Column(name, role, Kind.NUMERIC) for name, role in roles.items()))
    return encode(Table.of(texts), schema)


def space_of(data: Microdata, p: str, d: str, **more: Any) -> Space:
    return Space.of(data, Setting(**{"p": p, "d": d, "distinct": 2, "margin": 0, "removal": "none", **more}))


def told(found: Distinguished) -> dict[tuple[str, int, int], tuple[Fraction, Fraction]]:
    return {(t.rule, t.where, t.who): (t.presence, t.association) for t in found.inferences}


# ---- against the slow twin

VALUE = st.one_of(st.none(), *[st.integers(0, 6)] * 5)


@st.composite
def parted(draw: st.DrawFn) -> tuple[list[Values], list[Values], list[list[int]], str, str]:
    n, wide = draw(st.integers(4, 9)), draw(st.integers(1, 2))
    quasi: list[Values] = [tuple(draw(VALUE) for _ in range(wide)) for _ in range(n)]
    sensitive: list[Values] = [(draw(st.integers(0, 9)),) for _ in range(n)]
    order = draw(st.permutations(range(n)))
    cut = draw(st.integers(1, n - 1))
    p = draw(st.sampled_from(["0.3", "0.5", "0.6", "0.8"]))
    return (
        quasi,
        sensitive,
        [sorted(order[:cut]), sorted(order[cut:])],
        p,
        draw(st.sampled_from(["0.4", "0.6", "0.9"])),
    )


@given(parted())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_inferences_are_those_of_the_definitions(table: Any) -> None:
    quasi, sensitive, groups, p, d = table
    naive = Attack(quasi, sensitive, groups, Fraction(p), Fraction(d))
    space = space_of(numbers(quasi, sensitive), p, d)
    found = distinguish(classes_of(space, [np.array(group) for group in groups]), space)
    assert found.outliers.tolist() == naive.outliers()
    if found.classes == len(groups):  # groups that say the same are one class
        assert told(found) == naive.told()
        scene = Distinguisher(space, space.outliers())
        for group, shown in zip(groups, classes_of(space, [np.array(g) for g in groups]), strict=True):
            for i in filter(lambda i: naive.fits(i, group), naive.everyone):
                constrained = scene.constrained(i, shown.cells)
                assert constrained == naive.constrained(i, group)
                corner = all(x in naive.cell(group, j) for j, x in enumerate(quasi[i]))
                assert corner or not constrained  # golden: distance_constrained_is_corner
    assert found.right("candidate-row").share == (1.0 if found.certain_classes else 0.0)  # it is certain


def test_a_class_with_an_outlier_by_its_value_is_certain_too() -> None:
    """Removed records are in no matrix, but where they have rows the value's owner is an outlier anyway."""
    data = numbers([(20,), (21,), (22,), (30,), (31,), (32,)], [(1,), (2,), (3,), (2,), (1,), (900,)])
    space = space_of(data, "0.7", "0.9", removal="once")
    assert space.removed.tolist() == [False] * 5 + [True]
    known = space.outliers() | space.removed
    found = distinguish(classes_of(space, [np.arange(3), np.arange(3, 6)]), space, known)
    assert (found.certain_classes, found.right("candidate-row").share) == (1, 1.0)
    assert 5 in found.persons(CERTAIN)


# ---- worked examples of the paper, and where its theorems fail


def counterexample(name: str) -> tuple[Distinguished, dict[str, Any]]:
    given = GOLDEN[name]["input"]
    rows = list(given["D(QI1,QI2,S)"].values())
    space = space_of(
        numbers([row[:2] for row in rows], [row[2:] for row in rows]), str(given["p"]), str(given["d"])
    )
    found = distinguish(classes_of(space, [np.array(sorted(given["group"]))]), space)
    assert found.outliers.tolist() == GOLDEN[name]["expected"]["all_outliers_of_D"]
    return found, given


@pytest.mark.parametrize(
    ("name", "rule"), [("thm41_counterexample", "row"), ("thm42_counterexample", "column")]
)
def test_the_theorems_name_somebody_who_is_not_there(name: str, rule: str) -> None:
    found, given = counterexample(name)
    assert given["o"] in found.persons([rule])
    assert found.right(rule).won == 0
    assert not set(given["group"]) & set(found.outliers.tolist())
    assert "candidate-row" not in {t.rule for t in found.inferences}  # what is certain says nothing false


@pytest.mark.quick
@pytest.mark.parametrize("case", ["unsafe", "over_conservative"])
def test_candidates_tell_what_corners_do_not_and_the_other_way_round(case: str) -> None:
    given = GOLDEN["corner_vs_candidates"]["input"][case]
    rows = list(given["D"].values())
    data = numbers([row[:2] for row in rows], [row[2:] for row in rows])
    space = space_of(data, str(given["p"]), str(given["d"]))
    found = distinguish(classes_of(space, [np.array(given["group"])]), space)
    assert (found.bad_rows + found.bad_columns > 0) == (case == "over_conservative")
    assert (found.certain_classes > 0) == (case == "unsafe")
    assert found.right("candidate-row").won == found.certain_classes


@cache
def fig_1(config: str) -> Space:
    """The paper's nine people under one of the two settings in which its statements hold."""
    columns, p, d = CONFIGS[config]
    rows, named = PEOPLE["rows"], {"Age": 2, "Sex": 3, "Zip": 4, "Income": 5}
    table = Table.of({name: [str(row[j]) for row in rows] for name, j in named.items()})
    kinds = {name: Kind.CATEGORICAL if name == "Sex" else Kind.NUMERIC for name in named}
    roles = {name: Role.SENSITIVE if name == "Income" else Role.QUASI for name in named}
    schema = Schema(tuple(Column(name, roles[name], kinds[name]) for name in named))
    space = Space.of(encode(table, schema), Setting(p=p, d=d, distinct=2, margin=0, columns=columns))
    assert np.flatnonzero(space.removed).tolist() == [BILL]
    assert np.flatnonzero(space.outliers()).tolist() == [JUSTIN]
    return space


def figure(config: str, which: str) -> tuple[ShownClass, ...]:
    """The classes of a figure, without Bill."""
    groups = [np.array([i - 1 for i in group if i - 1 != BILL]) for group in PEOPLE["groupings"][which]]
    return classes_of(fig_1(config), groups)


def with_justin(which: str) -> ShownClass:
    return next(shown for shown in figure("A", which) if JUSTIN in shown.records)


def test_justin_is_not_distance_constrained() -> None:
    scene = Distinguisher(fig_1("A"), fig_1("A").outliers())
    assert not scene.constrained(JUSTIN, with_justin("2a").cells)
    assert not scene.constrained(JUSTIN, with_justin("2b").cells)


@pytest.mark.quick
@pytest.mark.parametrize("config", CONFIGS)
def test_the_values_that_make_justin_an_outlier(config: str) -> None:
    """Golden fig2b_association: they are counted, and not all three of the text."""
    space, expected = fig_1(config), GOLDEN["fig2b_association"]["expected"][f"config{config}"]
    scene = Distinguisher(space, space.outliers())
    made = scene._values_of(np.array([JUSTIN]), with_justin("2b").values)
    assert made.tolist() == [expected["l"]]


@pytest.mark.parametrize(
    ("config", "which", "rules", "association"),
    [
        # Justin is not distance-constrained in Figure 2(a): theorem 4.1 is silent, candidates are not
        ("A", "2a", {"candidate-row"}, Fraction(1)),
        ("B", "2a", {"row", "candidate-row"}, Fraction(1)),
        # the bad corner is at another zip code than Justin's: nothing names him
        ("A", "2b", set(), Fraction(0)),
        ("B", "2b", {"column", "candidate-column"}, Fraction(1, 4)),
        ("A", "3", set(), Fraction(0)),
        ("B", "3", set(), Fraction(0)),
    ],
)
def test_the_figures_tell_of_justin(config: str, which: str, rules: set[str], association: Fraction) -> None:
    found = distinguish(figure(config, which), fig_1(config))
    assert {t.rule for t in found.inferences} == rules
    named = np.intersect1d(found.persons(), found.outliers)
    assert named.tolist() == ([JUSTIN] if rules else [])
    assert (found.presence, found.association) == (Fraction(bool(rules)), association)
    assert all(t.right for t in found.inferences if t.who == JUSTIN)
    # Alice and Bob would be outliers there; who knows that they are none knows that they are elsewhere
    others = [t.who for t in found.inferences if t.who != JUSTIN]
    assert others == ([0, 1] if (config, which) == ("B", "2b") else [])


# ---- who knows in which columns somebody is an outlier


@given(parted())
@settings(max_examples=300 if NIGHT else 40, deadline=None, derandomize=True)
def test_subspaces_reveal_what_the_definitions_say_and_nothing_that_all_columns_do_not(table: Any) -> None:
    quasi, sensitive, groups, p, d = table
    space = space_of(numbers(quasi, sensitive), p, d)
    classes = classes_of(space, [np.array(group) for group in groups])
    assume(len(classes) == len(groups))
    sub = Subspaces(space, space.outliers())
    wide = len(quasi[0])
    columns = [(), *((j,) for j in range(wide)), *([(0, 1)] if wide == 2 else [])]
    assert sub.names == tuple(tuple(f"q{j}" for j in some) for some in columns)
    given = (quasi, sensitive, groups, Fraction(p), Fraction(d))
    whole, naive = Attack(*given), [Subspace(*given, columns=some) for some in columns]
    whole_lines = {(where, rule) for rule, where, _ in whole.told()}
    outliers = whole.outliers()
    for one, found, outlying in zip(naive, sub.distinguished(classes), sub.outlying, strict=True):
        assert np.flatnonzero(outlying).tolist() == one.outliers()
        assert set(one.outliers()) <= set(outliers)
        assert told(found) == one.told()
        certain = {(t.where, t.rule) for t in found.inferences if t.rule in CERTAIN}
        assert certain <= whole_lines
    counts = [agreeing_values(whole, naive, who) for who in outliers]
    assert [tuple(map(int, each)) for each in zip(*sub.values(classes), strict=True)] == counts
    assert all(a >= b >= c >= 1 for a, b, c in counts)  # the true value always agrees


def test_justins_income_is_found_where_it_is_known_that_age_and_income_make_him_an_outlier() -> None:
    """Figure 2(b): by the class alone his income is one of four; so it is if he is known to be an outlier."""
    space = fig_1("B")
    sub = Subspaces(space, space.outliers())
    assert [some for some, who in zip(sub.names, sub.outlying, strict=True) if who[JUSTIN]] == [("Age",)]
    assert [each.tolist() for each in sub.values(figure("B", "2b"))] == [[4], [4], [4]]
    assert [each.tolist() for each in sub.values(figure("B", "2a"))] == [[3], [1], [1]]
    named = [each.persons().tolist() for each in sub.distinguished(figure("B", "2a"))]
    assert named == [[], [JUSTIN]]
    assert not any(each.inferences for each in sub.distinguished(figure("B", "3")))


# ---- releases

COLUMNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "age": ({"type": "numeric"}, ["", "7", "20", "20.5", "31", "-4"]),
    "day": ({"type": "date"}, ["2024-02-01", "2024-02-29", "1999-12-31"]),
    "sex": ({"type": "categorical"}, ["", "F", "M", "a|b"]),
    "zip": ({"type": "categorical", "hierarchy": {"prefix": [4, 2]}}, ["", "0123", "0199", "9000", "9010"]),
    "floor": ({"type": "numeric", "publish": "set"}, ["", "1", "2", "3"]),
}


@given(st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_classes_of_a_release_are_read_as_they_were_made(data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 9))
    texts = {
        name: [values[-1], *data.draw(st.lists(st.sampled_from(values), min_size=n - 1, max_size=n - 1))]
        for name, (_, values) in COLUMNS.items()
    }
    labels = np.array(
        [0, 1, *data.draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))], np.int32
    )
    table = Table.of({**texts, "pay": [str(i % 3) for i in range(n)]})
    roles = {name: described for name, (described, _) in COLUMNS.items()}
    policy = Policy(quasi_identifiers=roles, sensitive=["pay"], privacy={"k": 2})
    made = encode(table, policy.schema(table))
    space = space_of(made, "0.5", "0.5")
    partition = Partition(labels)
    shown = published_from_regions(generalize(made, partition), made.attributes)
    values = made.sensitive[0].codes[:, None]
    read = shown_classes(shown, space, values, np.arange(n))
    by_hand = classes_of(space, [np.flatnonzero(labels == label) for label in (0, 1)])
    assert len(read) == len(by_hand)
    for one in read:
        other = next(each for each in by_hand if one.records[0] in each.records)
        assert sorted(one.records) == sorted(other.records)
        assert one.whole
        assert [set(cell.nodes) for cell in one.cells] == [set(cell.nodes) for cell in other.cells]
        assert inside(one.cells, made.codes).tolist() == inside(other.cells, made.codes).tolist()
        assert sorted(one.values.tolist()) == sorted(other.values.tolist())


PLAIN = {"p": "0.8", "d": "0.7"}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Incomes that rise with age, but for eight young ones; published with and without a promise."""
    folder = tmp_path_factory.mktemp("planted")
    lines = ["age,zip,income"]
    for i in range(320):
        age, area = 18 + i * 7 % 63, 6000 + i * 11 % 61
        income = 20 + (age - 18) + i * 13 % 31
        lines.append(f"{18 + i % 7},{area},{95 + 2 * i}" if i < 8 else f"{age},{area},{income}")
    lines.append("44,6030,90000")  # an outlier by income alone: removed, and the others are measured anew
    (folder / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    roles = {"age": {"type": "numeric"}, "zip": {"type": "numeric"}}
    for name, privacy in {"plain": {"k": 8, "plain": PLAIN}, "mondrian": {"k": 8}}.items():
        policy = Policy(quasi_identifiers=roles, sensitive=["income"], privacy=privacy)
        publish_to(folder / "people.csv", policy, folder / name)
    return folder


def test_a_plain_release_tells_of_no_outlier_and_plain_mondrian_does(planted: Path) -> None:
    found = attack(planted / "plain", planted / "people.csv")
    assert found.holds
    assert found.rows < found.records  # the attack still counts by all
    of = {result.name: result for result in found.results}
    here, near = of["outliers"], of["outliers-nearby"]
    assert len(near.details) == 8  # a margin away, all of them promised
    for result in (here, near):
        assert result.bound == 0
        assert (result.attack.won, result.works) == (0, True)
        assert result.control is not None
        assert result.control.won > 0
    assert here.details["outliers"] == here.attack.tried > 0
    where, value = of["subspaces"], of["subspaces-values"]
    assert [where.bound, where.attack.won, where.works, str(where.outcome)] == [0, 0, True, "held"]
    assert where.details["subspaces"] == 4
    assert (value.bound, value.outcome) == (None, "no bound")
    assert value.control is not None
    alone, without = (
        float(value.details[f"rate_{how}"]) for how in ("by_the_class_alone", "without_the_columns")
    )
    assert alone <= without <= round(value.attack.share, 4)


def test_a_promise_about_outliers_that_is_not_kept(planted: Path, tmp_path: Path) -> None:
    """Plain Mondrian says that it is plain, at exactly p and d: with one form, then with the other."""
    told = json.loads((planted / "plain" / "release.json").read_text("utf-8"))["claims"]
    shutil.copytree(planted / "mondrian", tmp_path / "forged")
    shutil.copytree(planted / "mondrian.audit", tmp_path / "forged.audit")
    manifest = json.loads((tmp_path / "forged" / "release.json").read_text("utf-8"))
    said = next(claim for claim in told if claim["model"] == "plain")
    found = {}
    for form in ("corner", "candidate"):
        said["parameters"] |= {"margin": "0", "form": form}
        text = json.dumps(manifest | {"claims": told})
        (tmp_path / "forged" / "release.json").write_text(text, encoding="utf-8")
        results = attack(tmp_path / "forged", planted / "people.csv").results
        lines = [result for result in results if result.name.startswith("outliers")]
        assert [line.name for line in lines] == ["outliers", "outliers-nearby", "outliers-beyond"]
        assert [line.bound for line in lines] == [0, 0, None]
        assert [len(line.details) for line in lines[1:]] == [3, 5]
        found[form] = lines[0]
    # no outlier is distance-constrained there, so theorem 4.1 is silent although a row is bad
    assert found["corner"].details["with_a_bad_row"] == found["candidate"].details["certain_classes"] == 1
    assert found["corner"].attack.won == 0
    assert "did not break" in (found["corner"].doubt or ("",))[0]  # its control names nobody either
    # it is the class of the one who should have been removed: nobody who is known fits, and yet it counts
    assert (found["candidate"].outcome, found["candidate"].attack.won) == ("broken", 1)
    assert found["candidate"].details["certain_persons"] == 0


def test_outliers_by_density_on_demand(planted: Path) -> None:
    found = attack(planted / "mondrian", planted / "people.csv", outliers="lof:10,1.5,age+income")
    (result,) = [each for each in found.results if each.name == "density"]
    assert (result.name, result.bound) == ("density", None)
    assert result.attack.exact
    assert 0 < result.attack.won <= result.attack.tried
    assert result.control is not None
    assert result.control.won > 0
    rows = [line.split(",") for line in (planted / "people.csv").read_text("utf-8").splitlines()[1:]]
    records = [(int(row[0]), int(row[2])) for row in rows]
    factors = density.local_outlier_factors(records, 10)
    assert result.details["outliers"] == sum(factor > 1.5 for factor in factors)
    plain = attack(planted / "plain", planted / "people.csv", outliers="lof:10,1.5").results
    assert {each.name for each in plain} >= {"outliers", "subspaces", "density"}
    with pytest.raises(InputError, match=r"as in lof:20,1\.5"):
        attack(planted / "plain", planted / "people.csv", outliers="lof:0,1.5")


def test_outliers_of_any_release_on_demand(planted: Path) -> None:
    words = ("attack", planted / "mondrian", "--original", planted / "people.csv")
    ran = incrowd(*words, "--outliers", "0.8,0.7", "--json")
    assert ran.code == 0  # nothing was promised
    line = next(found for found in ran.json["attacks"] if found["name"] == "outliers-asked")
    assert (line["bound"], line["attack"]["won"] > 0) == (None, True)
    assert line["attack"] == line["control"]  # it is plain Mondrian itself
    for wrong in ("0.8", "0.8,0", "1.2,0.5", "a,b"):
        refused = incrowd(*words, "--outliers", wrong)
        assert (refused.code, "--outliers" in refused.err) == (2, True)
