"""deFinetti's attack: learns where values go with columns, and nothing where they do not."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import incrowd
from support.measure_tables import flat, microdata, release
from twins import attacks as naive

from incrowd.attacks.definetti import ValueGroups, buckets_as_groups, definetti, learned
from incrowd.attacks.target import Target
from incrowd.commands.attack import attack
from incrowd.errors import TableError
from incrowd.flow import Sensitive, Table
from incrowd.schema import Kind


def dealt(
    rng: np.random.Generator, n: int, many: int, going: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Groups of so many rows and values, of 8; a share `going` of the codes goes with the value."""
    value = np.concatenate([rng.permutation(8)[:many] for _ in range(n // many)])
    group = np.arange(value.size) // many
    own = value[:, None] * 3 + rng.integers(0, 3, (value.size, 4))
    any_ = rng.integers(0, 24, (value.size, 4))
    return np.where(rng.random((value.size, 4)) < going, own, any_), group, value


@pytest.mark.parametrize("l", [2, 4, 6])
def test_nothing_is_learned_where_nothing_goes_together(rng: np.random.Generator, l: int) -> None:  # noqa: E741
    codes, group, value = dealt(rng, 6000, l, 0.0)
    found = definetti(codes, [24] * 4, group, value)
    assert found.rate.interval()[0] <= 1 / l
    assert found.rate.share < 1.15 / l
    assert found.blind.share == pytest.approx(1 / l, abs=0.03)


@pytest.mark.parametrize("l", [2, 4, 6])
def test_nearly_all_is_learned_where_values_go_with_columns(rng: np.random.Generator, l: int) -> None:  # noqa: E741
    codes, group, value = dealt(rng, 6000, l, 0.6)
    found = definetti(codes, [24] * 4, group, value)
    assert found.rate.share > 1.5 / l
    assert found.rate.share > 0.9


def test_only_the_values_of_whole_groups_are_looked_at(rng: np.random.Generator) -> None:
    """Other rows of a group may hold its values: the guesses are the same."""
    codes, group, value = dealt(rng, 1200, 4, 0.5)
    turned = value.reshape(-1, 4)[:, [2, 3, 1, 0]].ravel()
    plain, other = definetti(codes, [24] * 4, group, value), definetti(codes, [24] * 4, group, turned, value)
    assert (plain.guesses == other.guesses).all()
    assert plain.rate == other.rate


def test_rows_whose_truth_is_not_known_do_not_count(rng: np.random.Generator) -> None:
    codes, group, value = dealt(rng, 400, 2, 0.5)
    truth = np.where(np.arange(400) % 4 == 0, value, -1)
    assert definetti(codes, [24] * 4, group, value, truth).rate.tried == 100


@settings(max_examples=30)
@given(st.data())
def test_agrees_with_naive(draw: st.DataObject) -> None:
    n, d = draw.draw(st.integers(2, 10)), draw.draw(st.integers(1, 3))
    numbers = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    codes = np.array([draw.draw(numbers) for _ in range(d)]).T
    group, value = draw.draw(numbers), draw.draw(numbers)
    found = definetti(codes, [4] * d, np.array(group), np.array(value))
    slow = naive.learned(codes.tolist(), [4] * d, group, value, found.rounds)
    for guess, chances in zip(found.guesses.tolist(), slow, strict=True):
        assert chances[guess] >= max(chances.values()) - 1e-6


def test_gaps_in_the_numbers_do_not_matter(rng: np.random.Generator) -> None:
    codes, group, value = dealt(rng, 600, 3, 0.6)
    plain = definetti(codes, [24] * 4, group, value)
    spread = definetti(codes, [24] * 4, group * 7 + 3, value * 1000 + 5)
    assert (spread.guesses == plain.guesses * 1000 + 5).all()


def test_many_codes_take_little_memory(rng: np.random.Generator) -> None:
    """Combinations that do not occur are not counted; the guesses are the same."""
    codes, group, value = dealt(rng, 600, 3, 0.6)
    few, many = definetti(codes, [24] * 4, group, value), definetti(codes * 50_000, [24] * 4, group, value)
    assert (few.guesses == many.guesses).all()


def test_the_result_is_told_with_its_control(rng: np.random.Generator) -> None:
    found = learned(ValueGroups("disease", *_parts(dealt(rng, 1200, 3, 0.0))))
    assert (found.name, found.bound, found.works) == ("definetti-disease", None, True)
    assert found.control is not None
    assert found.control.share > 0.9
    assert found.details["groups"] == 400


def _parts(made: tuple[np.ndarray, ...]) -> tuple[np.ndarray, list[int], np.ndarray, np.ndarray]:
    codes, group, value = made
    return codes, [24] * 4, group, value


def test_too_much_is_skipped(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["incrowd.attacks.definetti"], "MOST_CHOICES", 100)
    found = learned(ValueGroups("disease", *_parts(dealt(rng, 1200, 3, 0.0))))
    assert (found.attack.tried, found.outcome) == (0, "no bound")
    assert "3,600" in str(found.details["skipped"])


def test_no_rows_are_skipped_too() -> None:
    none = np.zeros(0, np.int64)
    assert (
        learned(ValueGroups("disease", np.zeros((0, 1), np.int64), [1], none, none)).details["skipped"]
        == "no rows"
    )


# ---- values that stand apart


APART = {"group": ["1", "1", "2", "2"], "disease": ["flu", "", "flu", "cold"], "count": ["1", "1", "1", "1"]}


def stood_apart(buckets: dict[str, list[str]], rows: str = "abcd") -> tuple[Target, Table, Sensitive, Table]:
    data = microdata([flat("q", "abcd")], [(letter,) for letter in "abcd"])
    target = Target(release(data, [(letter,) for letter in rows]), data, np.full(4, -1))
    original = Table.of({"disease": ["flu", None, "cold", "flu"]})
    column = Sensitive("disease", Kind.CATEGORICAL, np.array([0, 1, 2, 0], np.int32), 3)
    return target, original, column, Table.of(buckets)


def test_guesses_about_exact_rows_are_judged_by_who_is_alone() -> None:
    target, original, column, buckets = stood_apart(APART, "dcba")
    group = Table.of({"group": ["2", "2", "1", "1"]}).column("group")
    found = learned(buckets_as_groups(target, group, buckets, column, original.column("disease")))
    assert (found.attack.tried, found.details["groups"]) == (4, 2)


@pytest.mark.parametrize(
    ("key", "texts"),
    [
        ("count", ["2", "1", "1", "1"]),
        ("group", ["1", "1", "1", "2"]),
        ("group", ["1", "1", "2", "3"]),
        ("disease", ["flu", "", "flu", "gout"]),
    ],
    ids=["one-too-many", "wrong-group", "strange-group", "strange-value"],
)
def test_values_that_do_not_fit_the_rows_are_refused(key: str, texts: list[str]) -> None:
    target, original, column, buckets = stood_apart({**APART, key: texts})
    group = Table.of({"group": ["1", "1", "2", "2"]}).column("group")
    with pytest.raises(TableError):
        buckets_as_groups(target, group, buckets, column, original.column("disease"))


def test_rows_must_be_exact() -> None:
    target, original, column, buckets = stood_apart(APART)
    data = target.data
    wide = Target(release(data, [("{a|b}",), ("{a|b}",), ("c",), ("d",)]), data, np.full(4, -1))
    group = Table.of({"group": ["1", "1", "2", "2"]}).column("group")
    with pytest.raises(TableError, match="as they are"):
        buckets_as_groups(wide, group, buckets, column, original.column("disease"))


@pytest.fixture(scope="module")
def anatomy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table whose values go with a column, and its release by anatomy."""
    from incrowd.commands.publish import publish
    from incrowd.policy import Policy

    folder = tmp_path_factory.mktemp("anatomy")
    rng = np.random.default_rng(11)
    value = rng.integers(0, 6, 600)
    job = np.where(rng.random(600) < 0.8, value, rng.integers(0, 6, 600))
    lines = [f"{rng.integers(20, 60)},job{j},disease{v}" for j, v in zip(job, value, strict=True)]
    (folder / "people.csv").write_text("age,job,disease\n" + "\n".join(lines) + "\n")
    policy = Policy(quasi_identifiers=["age", "job"], sensitive=["disease"], method="anatomy")
    asked = policy.with_(k=3, l=3, accept=["all"])
    publish(folder / "people.csv", asked).write(folder / "release")
    return folder


def test_anatomy_is_attacked_by_its_groups(anatomy: Path) -> None:
    found = attack(anatomy / "release", anatomy / "people.csv")
    of = {result.name: result for result in found.results}
    learner = of["definetti-disease"]
    assert learner.works
    assert learner.attack.share > 1.5 / 3 > learner.guess.share
    assert "homogeneity-disease" not in of
    assert of["rows"].attack.won > 0


def test_the_story_says_what_was_learned(anatomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    ran = incrowd("attack", anatomy / "release", "--original", anatomy / "people.csv")
    assert (ran.code, ran.err) == (0, "")
    assert "Note: all groups together reveal disease of" in ran.out
    assert "Note: the release alone reveals the exact quasi-identifiers of" in ran.out
    assert "of its claims 100.0% are right" in ran.out
    assert ran.out.splitlines()[-1] == "HELD: 1 attack held, 0 broke, 0 inconclusive."  # groups


def test_without_links_only_rows_of_their_own_are_judged(anatomy: Path, tmp_path: Path) -> None:
    for name in ("release", "release.audit"):
        shutil.copytree(anatomy / name, tmp_path / name)
    (tmp_path / "release.audit" / "links.json").unlink()
    found = attack(tmp_path / "release", anatomy / "people.csv")
    learner = {result.name: result for result in found.results}["definetti-disease"]
    assert 0 < learner.attack.tried < 600
    assert json.dumps(learner.to_dict())
