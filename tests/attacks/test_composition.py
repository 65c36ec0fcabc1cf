"""Releases of the same people: what they tell together, and that one alone, or a copy, tells less."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import Ran, asked, incrowd
from support.measure_tables import flat, microdata, release
from support.series_tables import crowd, months, policy, table
from twins import attacks as naive
from twins import attacks_two_releases as more

from incrowd.attacks.composition import compositions, expected, intersect
from incrowd.attacks.linked import SharedValues, fitting_all, shared_values
from incrowd.attacks.registry import AttackResult
from incrowd.attacks.target import Target
from incrowd.cli.attack import show as show_attacks
from incrowd.commands.attack import attack
from incrowd.commands.publish import publish
from incrowd.errors import InputError
from incrowd.examples import write_example
from incrowd.flow import Table

LETTERS = "abcd"
Cell = frozenset[int]


def target(
    codes: Sequence[int], cells: Sequence[Cell], behind: Sequence[int], k: int | None = None
) -> Target:
    """Row r is about record behind[r], and says cells[behind[r]]."""
    data = microdata([flat("q", LETTERS)], [(LETTERS[code],) for code in codes])
    texts = ["{" + "|".join(LETTERS[c] for c in sorted(cells[i])) + "}" for i in behind]
    truth = np.empty(len(codes), dtype=np.int64)
    truth[list(behind)] = np.arange(len(behind))
    return Target(release(data, [(text,) for text in texts]), data, truth, k)


def private(values: Sequence[tuple[str, ...]], *behind: Sequence[int]) -> SharedValues:
    names = [f"s{j}" for j in range(len(values[0]))]
    table, *releases = [
        Table.of({name: [values[i][j] for i in who] for j, name in enumerate(names)})
        for who in (range(len(values)), *behind)
    ]
    return shared_values(table, releases, names)


# ---- against the twin


@st.composite
def releases_of_some(draw: st.DrawFn) -> dict[str, Any]:
    """Up to five people, two to four releases, two private columns, rows that hold their person."""
    n = draw(st.integers(1, 5))
    each = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    more_codes = st.lists(st.frozensets(st.integers(0, 3)), min_size=n, max_size=n)
    value = st.tuples(st.sampled_from("xyz"), st.sampled_from("uv"))
    codes = draw(st.lists(each, min_size=2, max_size=4))  # quasi-identifiers may differ
    cells = [[cell | {code} for cell, code in zip(draw(more_codes), mine, strict=True)] for mine in codes]
    values = draw(st.lists(value, min_size=n, max_size=n))
    behind = [draw(st.permutations(range(n))) for _ in codes]
    return {"codes": codes, "cells": cells, "values": values, "behind": behind}


@given(releases_of_some())
def test_releases_agree_with_naive(made: dict[str, Any]) -> None:
    """Rows that are left, values that are left, rows that are linked, and who fits them."""
    codes, cells, values, behind = made["codes"], made["cells"], made["values"], made["behind"]
    n, several = len(values), range(len(codes))
    targets = [target(codes[r], cells[r], behind[r]) for r in several]
    met = intersect(targets, numbered := private(values, *behind))
    held = [
        naive.candidates([[codes[r][i] in cells[r][who] for who in behind[r]] for i in range(n)])
        for r in several
    ]
    said = [[values[i] for i in behind[r]] for r in several]
    for i in range(n):
        rows = more.left([held[r][i] for r in several], said)
        assert met.candidates[:, i].tolist() == [len(each) for each in rows]
        for j, name in enumerate(numbered.parts):
            left = {said[0][row][j] for row in rows[0]}
            assert met.likely[name].different[i] == len(left)
            for r in several:
                alone = Counter(said[r][row][j] for row in held[r][i])
                one = met.alone[name][r]
                assert one.different[i] == len(alone)
                assert one.share[i] == pytest.approx(max(alone.values()) / alone.total())
    links = more.linked(said)
    assert met.linked.combination.size == len(links)
    for combination, people, person in zip(
        met.linked.combination, met.linked.people, met.linked.person, strict=True
    ):
        (who,) = [i for i in range(n) if numbered.own[i] == combination]
        fits = more.who_fits(held, links[values[who]])
        assert who in fits
        assert people == len(fits)
        assert person == (who if len(fits) == 1 else -1)


@given(
    st.integers(2, 4).flatmap(
        lambda r: st.lists(
            st.tuples(st.tuples(*[st.integers(0, 3)] * r), st.sampled_from("xyz")), min_size=1, max_size=12
        )
    )
)
def test_the_likeliest_value_agrees_with_naive(people: list[tuple[tuple[int, ...], str]]) -> None:
    """Everybody with their classes in all releases, by letters, and a value."""
    order, several = list(range(len(people))), range(len(people[0][0]))
    sides = [[classes[r] for classes, _ in people] for r in several]
    targets = [target(side, [frozenset({code}) for code in side], order) for side in sides]
    numbered = private([(value,) for _, value in people], *[order] * len(sides))
    told = intersect(targets, numbered).likely["s0"]
    table = Counter(value for _, value in people)
    for i, (own, _) in enumerate(people):
        groups = [Counter(value for classes, value in people if classes[r] == own[r]) for r in several]
        common = [sum(classes[: r + 1] == own[: r + 1] for classes, _ in people) for r in several]
        weights = more.expected_in_all(groups, common[1:], table)
        values = sorted(table)  # as they are numbered
        assert told.share[i] == pytest.approx(max(weights.values()) / sum(weights.values()), abs=1e-9)
        assert weights[values[int(told.top[i])]] == pytest.approx(max(weights.values()), abs=1e-9)


def test_expected_numbers_by_hand() -> None:
    """One group inside the other: the smaller count. Strangers: nearly c1 c2 / q. Else x q = (c1-x)(c2-x)."""
    one, two, q = np.array([3, 3, 4]), np.array([5, 5, 6]), np.array([0.0, 1e9, 7.5])
    found = expected(one, two, q)
    assert found[0] == 3
    assert found[1] * 1e9 == pytest.approx(15)
    assert found[2] * 7.5 == pytest.approx((4 - found[2]) * (6 - found[2]))


# ---- in parts


def test_much_work_is_done_in_parts_and_too_much_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [i % 4 for i in range(60)]
    other = [i // 15 for i in range(60)]
    values = [(f"{i * 7 % 23}",) for i in range(60)]
    order = list(range(60))
    both = [target(side, [frozenset({code}) for code in side], order) for side in (codes, other)]
    numbered = private(values, order, order)
    whole = intersect(both, numbered)
    monkeypatch.setattr(sys.modules["incrowd.attacks.linked"], "AT_ONCE", 20)
    parts = intersect(both, numbered)
    assert (whole.candidates == parts.candidates).all()
    assert (whole.likely["s0"].share == parts.likely["s0"].share).all()
    assert (whole.linked.people == parts.linked.people).all()
    monkeypatch.setattr(sys.modules["incrowd.attacks.composition"], "MOST_WORK", 20)
    monkeypatch.setattr(sys.modules["incrowd.attacks.composition"], "VICTIMS", 10)
    some = intersect(both, numbered)
    assert some.victims.tolist() == list(range(0, 60, 6))
    assert (some.candidates == whole.candidates[:, some.victims]).all()
    assert (some.likely["s0"].share == whole.likely["s0"].share[some.victims]).all()


def test_who_fits_is_looked_up_in_the_longer_list() -> None:
    """One row holds everybody, the other two: from both sides the same two."""
    everybody = target([0, 1, 2, 3], [frozenset(range(4))] * 4, range(4))
    pairs = target([0, 0, 1, 1], [frozenset({c}) for c in (0, 0, 1, 1)], range(4))
    for one, two in ((everybody, pairs), (pairs, everybody)):
        rows = np.array([[0, 0], [0, 1]]) if one is everybody else np.array([[0, 0], [1, 0]])
        people, person = fitting_all([one, two], rows)
        assert (people.tolist(), person.tolist()) == ([2, 2], [-1, -1])


# ---- what is told


def of(results: Sequence[AttackResult]) -> dict[str, AttackResult]:
    return {result.name: result for result in results}


@pytest.fixture(scope="module")
def grid() -> tuple[Target, Target, SharedValues, SharedValues]:
    """Sixteen people in a square, classes by line and by column of it; values of their own, and all alike."""
    lines, columns = [i // 4 for i in range(16)], [i % 4 for i in range(16)]
    order = list(range(16))
    both = [target(side, [frozenset({c}) for c in side], order, 4) for side in (lines, columns)]
    different = private([(f"{i:02}",) for i in order], order, order)
    alike = private([("x",) for _ in order], order, order)
    return both[0], both[1], different, alike


def test_crossing_classes_give_everybody_away(
    grid: tuple[Target, Target, SharedValues, SharedValues],
) -> None:
    first, second, different, _ = grid
    found = of(compositions(first, [second], different))
    rows, values = found["composition"], found["composition-s0"]
    assert (rows.attack.won, rows.attack.tried, rows.guess.won) == (16, 16, 0)
    assert rows.details["persons_with_one_candidate"] == rows.details["rows_linked_to_one_person"] == 16
    assert rows.details["of_them_right"] == 16
    assert rows.details["the_same_by_one_release"] == 0
    assert values.details["persons_with_one_value"] == values.details["of_them_right"] == 16
    assert values.details["with_one_value_by_one_release"] == 0
    assert values.attack.won == 16
    assert all(result.works and result.outcome == "no bound" for result in found.values())


def test_values_that_all_share_link_nothing(grid: tuple[Target, Target, SharedValues, SharedValues]) -> None:
    first, second, _, alike = grid
    rows = of(compositions(first, [second], alike))["composition"]
    assert (rows.attack.won, rows.details["rows_linked"]) == (0, 0)
    assert not rows.works  # with these values it wins nowhere, so it proves nothing


def test_a_third_release_gives_away_whom_two_leave_alone() -> None:
    """Sixteen people: a line and a half of it leave two, and the third release tells these apart."""
    lines, columns = [i // 4 for i in range(16)], [i % 4 // 2 for i in range(16)]
    halves, order = [i % 2 for i in range(16)], list(range(16))
    first, second, third = (
        target(side, [frozenset({c}) for c in side], order, 2) for side in (lines, columns, halves)
    )
    two = of(compositions(first, [second], private([(f"{i:02}",) for i in order], order, order)))
    three = of(
        compositions(first, [second, third], private([(f"{i:02}",) for i in order], order, order, order))
    )
    assert (two["composition"].attack.won, three["composition"].attack.won) == (0, 16)
    assert (two["composition"].details["releases"], three["composition"].details["releases"]) == (2, 3)
    assert three["composition-s0"].details["of_them_right"] == 16
    assert two["composition-s0"].details["persons_with_one_value"] == 0
    assert all(result.works for result in three.values())


def test_a_copy_tells_no_more_than_the_release(
    grid: tuple[Target, Target, SharedValues, SharedValues],
) -> None:
    first, _, different, _ = grid
    found = of(compositions(first, [first], different))
    assert found["composition"].attack.won == 0
    assert found["composition"].details["fewest_candidates"] == 4
    assert found["composition-s0"].details["persons_with_one_value"] == 0
    met = intersect([first, first], different)
    assert (met.likely["s0"].share == met.alone["s0"][0].share).all()


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases of the same patients. Nobody may change them."""
    folder = write_example(tmp_path_factory.mktemp("clinic"), rows=300)
    for name, words in {"one": (), "two": ("--method", "hilbert", "-k", "8")}.items():
        assert incrowd("publish", *asked(folder), "-o", folder / name, *words).code == 0
    return folder


def test_two_releases_of_the_clinic(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = attack(clinic / "one", clinic / "patients.csv", also=clinic / "two")
    said = of([result for result in found.results if result.name.startswith("composition")])
    assert set(said) == {"composition", *(f"composition-{c}" for c in ("visit_type", "diagnosis", "cost"))}
    assert all(result.works and result.outcome == "no bound" for result in said.values())
    rows, values = said["composition"], said["composition-diagnosis"]
    assert rows.details["k"] == 8
    assert rows.attack.share > 0.5
    assert rows.details["the_same_by_one_release"] == 0
    assert values.details["persons_with_one_value"] == values.details["of_them_right"] != 0
    assert values.attack.share > values.details["success_by_one_release"]  # type: ignore[operator]
    show_attacks(found)
    shown = capsys.readouterr().out
    assert "nothing is promised about two releases" in shown
    assert "two releases together leave one value of diagnosis to" in shown


def test_any_number_of_releases_by_the_command_line(clinic: Path, tmp_path: Path) -> None:
    """Three at once; one of a series is refused."""
    words = ("attack", clinic / "one", "--original", clinic / "patients.csv", "--also", clinic / "two")
    ran = incrowd(*words, "--also", clinic / "one", "--json")
    (rows,) = [each for each in ran.json["attacks"] if each["name"] == "composition"]
    assert rows["details"]["releases"] == 3
    months(tmp_path, [crowd()], policy())
    ran = incrowd(*words, "--also", tmp_path / "m0")
    assert (ran.code, "is of a series" in " ".join(ran.err.split())) == (2, True)


def test_a_release_of_another_table_is_refused(tmp_path: Path) -> None:
    """Seen by rows that describe nobody, or not whom the links name, or are too many."""
    plain, people = {**policy(), "series": None}, crowd()
    ages = [age for age, _ in people.values()]
    moved = {who: (ages[-i], ill) for i, (who, (_, ill)) in enumerate(people.items(), 1)}
    fewer = dict(list(people.items())[:12])
    for name, some in {"one": people, "moved": moved, "fewer": fewer}.items():
        publish(table(some), plain, tmp_path / name)
    held = attack(tmp_path / "one", table(people), also=[tmp_path / "one", tmp_path / "one"])
    assert of(held.results)["composition"].details["releases"] == 3
    with pytest.raises(InputError, match="was not made from this table"):
        attack(tmp_path / "one", table(people), also=tmp_path / "moved")
    with pytest.raises(InputError, match="at most one row for each record"):
        attack(tmp_path / "fewer", table(fewer), also=tmp_path / "one")


def test_the_other_release_is_read_before_anything_is_attacked(clinic: Path, tmp_path: Path) -> None:
    def attacked(*words: object) -> Ran:
        return incrowd("attack", clinic / "one", "--original", clinic / "patients.csv", "--also", *words)

    shutil.copytree(clinic / "two", tmp_path / "bare")
    ran = attacked(tmp_path / "bare")
    assert (ran.code, "-p" in ran.err) == (2, True)
    audited, by_policy = (
        attack(clinic / "one", clinic / "patients.csv", clinic / "policy.toml", also=also).to_dict()
        for also in (clinic / "two", tmp_path / "bare")
    )
    assert audited == by_policy
    ran = attacked(tmp_path)
    assert (ran.code, "is no release" in ran.err) == (2, True)
    manifest = json.loads((tmp_path / "bare" / "release.json").read_text())
    (tmp_path / "bare" / "release.json").write_text(json.dumps({**manifest, "public": {}}))
    ran = attacked(tmp_path / "bare", "-p", clinic / "policy.toml")
    assert (ran.code, "leave out --also" in ran.err) == (2, True)
