"""Learning from a release: who is trained on, what rows leave possible, and what cannot be asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import incrowd

from incrowd import Policy, publish
from incrowd.attacks.registry import Rate
from incrowd.commands.learn import (
    AMONG,
    APART,
    BY_TOTALS,
    EVENLY,
    Learned,
    Lesson,
    Predicted,
    _predicted,
    held_out,
    learn,
    sample,
)
from incrowd.commands.learn_features import Learnable, generalised
from incrowd.errors import InputError
from incrowd.flow import Attribute, Microdata, Table
from incrowd.measures import Published
from incrowd.measures.cells import parse_cells
from incrowd.schema import Kind, Shape

ROWS = 400
QUASI: dict[str, Any] = {"age": {"type": "numeric"}, "city": {"type": "categorical"}}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Who is over 50 is ill, but for every tenth; the note says nothing; nobody's age depends on the city."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    lines = ["name,age,city,ill,level,note"]
    for i in range(ROWS):
        age = 20 + i * 37 % 61
        ill = (age > 50) != (i % 10 == 0)
        sick, level = ("yes" if ill else "no") if i % 29 else "", age // 10
        lines.append(f"p{i},{age},{'ABCD'[i % 4] if i % 23 else ''},{sick},{level},same")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def released(people: Path, folder: Path, k: int, method: str = "mondrian", **more: Any) -> Path:
    said = {
        "quasi_identifiers": QUASI,
        "sensitive": ["ill"],
        "keep": ["level", "note"],
        "identifiers": ["name"],
        "privacy": {"k": k},
        **more,
    }
    publish(people, Policy.from_dict({**said, "method": method})).write(folder)
    return folder


@pytest.fixture(scope="module")
def by_method(people: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Classes, also with links, one class of all, rows of one's own, values apart. Nobody may change them."""
    home = tmp_path_factory.mktemp("releases")
    means = {**QUASI, "age": {"type": "numeric", "mean": True}}
    alone: dict[str, Any] = {"keep": [], "drop": ["level", "note"]}
    exact: dict[str, Any] = {"privacy": {"k": 2, "l": 2}, "accept": ["all"], "missing": ["?"]}
    return {
        "classes": released(people, home / "classes", 5),
        "links": released(people, home / "links", 5, quasi_identifiers=means),
        "one": released(people, home / "one", ROWS, **alone),
        "ring": released(people, home / "ring", 5, "ring", **alone),
        "apart": released(people, home / "apart", 2, "anatomy", **alone, **exact),
    }


def test_what_is_published_is_learnt(by_method: dict[str, Path], people: Path) -> None:
    (lesson,) = learn(by_method["classes"], people, ["ill"]).lessons
    assert lesson.classes == 2  # missing is none
    assert lesson.original.accuracy.tried == lesson.majority.accuracy.tried == lesson.release.accuracy.tried
    assert lesson.majority.accuracy.share < 0.65
    assert min(lesson.original.accuracy.share, lesson.release.accuracy.share) > 0.8
    low, high = lesson.interval()
    assert low <= lesson.drop <= high


def test_one_class_of_all_teaches_nothing_but_the_majority(by_method: dict[str, Path], people: Path) -> None:
    (lesson,) = learn(by_method["one"], people, ["ill"]).lessons
    assert lesson.release == lesson.majority
    assert lesson.original.accuracy.share > 0.8
    assert lesson.interval()[0] > 0


def test_rows_of_test_people_are_left_out_with_links_and_without(
    by_method: dict[str, Path], people: Path
) -> None:
    trained = int((~held_out(np.arange(ROWS))).sum())
    by_fit = learn(by_method["classes"], people, ["ill", "age"])
    by_links = learn(by_method["links"], people, ["ill", "age"])
    assert by_fit == by_links
    assert (by_fit.rows, by_fit.tested, by_fit.note) == (trained, ROWS - trained, "")


def test_of_a_large_table_a_sample_is_used_and_said_to_be_one(
    by_method: dict[str, Path], people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = learn(by_method["links"], people, ["ill"])
    assert (whole.sampled, whole.trained + whole.tested) == (False, ROWS)
    monkeypatch.setattr("incrowd.commands.learn.sample", lambda whose: sample(whose, ROWS // 2))
    some = learn(by_method["links"], people, ["ill"])
    chosen, held = sample(np.arange(ROWS), ROWS // 2), held_out(np.arange(ROWS))
    assert (some.sampled, some.to_dict()["sampled"], some.records) == (True, True, ROWS)
    assert (some.trained, some.tested) == (int((chosen & ~held).sum()), int((chosen & held).sum()))
    assert some.rows == some.trained
    assert some.lessons[0].original.accuracy.tried == some.tested


@pytest.mark.parametrize("target", ["ill", "age", "city"])
def test_rows_of_ones_own(by_method: dict[str, Path], people: Path, target: str) -> None:
    learned = learn(by_method["ring"], people, [target])
    assert (learned.rows, learned.note) == (ROWS - learned.tested, "")
    assert learned.lessons[0].classes == {"ill": 2, "age": 2, "city": 4}[target]


def test_without_links_rows_that_differ_are_all_trained_on(
    by_method: dict[str, Path], people: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "ring"
    for name in ("ring", "ring.audit"):
        (tmp_path / name).mkdir()
        for file in by_method["ring"].with_name(name).iterdir():
            if file.name != "links.json":
                (tmp_path / name / file.name).write_bytes(file.read_bytes())
    learned = learn(copy, people, ["ill"])
    assert (learned.rows, learned.note) == (ROWS, AMONG)


def test_values_apart_are_learnt_by_the_counts_of_their_group(
    by_method: dict[str, Path], people: Path
) -> None:
    learned = learn(by_method["apart"], people, ["ill", "age"])
    assert (learned.rows, learned.note) == (ROWS - learned.tested, APART)
    ill, age = learned.lessons
    assert ill.classes == 3  # here the empty text is a value
    assert ill.original.accuracy.share > 0.75
    assert age.lost == age.gained == 0  # rows are exact, so both see the same


VALUES = ("a", "b", "c", "d", "e")


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sets(st.sampled_from(range(5)), min_size=1).map(sorted), min_size=1, max_size=6),
    st.lists(st.integers(-1, 2), min_size=5, max_size=5),
)
def test_cells_are_counted_as_by_hand(sets: Sequence[Sequence[int]], kind: Sequence[int]) -> None:
    attribute = Attribute("x", Kind.CATEGORICAL, Shape.SET, VALUES, np.arange(5.0))
    texts = ["{" + "|".join(VALUES[c] for c in s) + "}" if len(s) > 1 else VALUES[s[0]] for s in sets]
    cells = parse_cells(attribute, texts)
    everyone = np.arange(5, dtype=np.int32)
    column = Learnable("x", everyone, np.ones(5, np.bool_), None, cells.same, cells, attribute)
    kinds = np.array([[float(of == q) for q in range(3)] for of in kind])
    by_hand = [[sum(kind[c] == q for c in s) for q in range(3)] for s in sets]
    assert column.tally(kinds).tolist() == by_hand
    _, described = column.features(np.ones(5, np.bool_))
    assert described.tolist() == [[(c in s) / len(s) for c in range(5)] for s in sets]


def test_numbers_are_split_at_the_median_and_always_in_two() -> None:
    known = np.ones(4, np.bool_)
    place = np.array([1.0, 2.0, 3.0, np.nan])
    for at, classes in (([0, 1, 2, 3], [0, 0, 1, -1]), ([0, 2, 2, 2], [0, 0, 1, -1])):
        codes = np.array(at, np.int32)
        column = Learnable("x", codes, known, place, codes)
        assert column.classes(known).tolist() == classes


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        pytest.param([], "say which column", id="none"),
        pytest.param(["agee"], "did you mean 'age'", id="misspelt"),
        pytest.param(["name"], "not published, so nothing can be learnt about it: name", id="not-published"),
        pytest.param(["note"], "note has one value only", id="one-value"),
    ],
)
def test_targets_that_are_refused(
    by_method: dict[str, Path], people: Path, targets: list[str], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        learn(by_method["classes"], people, targets)


def test_joined_releases_are_refused(by_method: dict[str, Path], people: Path, tmp_path: Path) -> None:
    manifest = json.loads((by_method["classes"] / "release.json").read_text(encoding="utf-8"))
    (tmp_path / "release.json").write_text(json.dumps({**manifest, "public": {}}), encoding="utf-8")
    with pytest.raises(InputError, match="was made with a public table"):
        learn(tmp_path, people, ["ill"])


def test_the_extra_is_named_where_it_is_not_there(
    by_method: dict[str, Path], people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    ran = incrowd("learn", by_method["classes"], "--original", people, "--target", "ill")
    assert (ran.code, ran.out) == (2, "")
    assert "pip install 'incrowd[learn]'" in ran.err


def test_the_command_says_what_python_says(by_method: dict[str, Path], people: Path) -> None:
    words = ("learn", by_method["classes"], "--original", people, "--target", "ill,age")
    learned: Learned = learn(by_method["classes"], people, ["ill", "age"])
    assert incrowd(*words, "--json").json == json.loads(json.dumps(learned.to_dict()))
    shown = " ".join(incrowd(*words).out.split())
    for lesson in learned.lessons:
        found = (lesson.majority, lesson.original, lesson.release)
        assert " ".join([lesson.target, "accuracy", *(f"{one.accuracy.share:.1%}" for one in found)]) in shown
        assert " ".join(["balanced accuracy", *(f"{one.balanced_accuracy:.1%}" for one in found)]) in shown
        assert " ".join(["AUC", *(f"{one.auc:.3f}" for one in found)]) in shown
        assert " ".join(["F1 (macro)", *(f"{one.f1:.3f}" for one in found)]) in shown
    assert learned.spread in shown


# Four measures


def by_hand(truth: list[int], chances: list[list[float]]) -> tuple[float, float, float | None, float]:
    """Accuracy, balanced accuracy, AUC and F1 by their definitions."""
    named = [max(range(len(row)), key=lambda one: (row[one], -one)) for row in chances]
    there = sorted(set(truth))
    right = [own == said for own, said in zip(truth, named, strict=True)]
    found, areas, f1 = [], [], []
    for one in there:
        found.append(sum(r for r, own in zip(right, truth, strict=True) if own == one) / truth.count(one))
        pairs = [
            (chances[i][one], chances[j][one])
            for i in range(len(truth))
            for j in range(len(truth))
            if truth[i] == one != truth[j]
        ]
        areas.append(sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs) if pairs else 0.0)
    for one in sorted({*truth, *named}):
        both = sum(own == said == one for own, said in zip(truth, named, strict=True))
        f1.append(2 * both / (truth.count(one) + named.count(one)))
    auc = sum(areas) / len(areas) if len(there) > 1 else None
    return sum(right) / len(right), sum(found) / len(found), auc, sum(f1) / len(f1)


@settings(max_examples=60)
@given(
    st.integers(2, 4).flatmap(
        lambda classes: st.lists(
            st.tuples(
                st.integers(0, classes - 1),
                st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=classes, max_size=classes),
            ),
            min_size=1,
            max_size=12,
        )
    )
)
def test_measures_are_those_of_their_definitions(rows: list[tuple[int, list[float]]]) -> None:
    truth, chances = [own for own, _ in rows], [row for _, row in rows]
    found = _predicted(np.array(truth), np.array(chances))
    accuracy, balanced, auc, f1 = by_hand(truth, chances)
    assert (found.accuracy.share, found.balanced_accuracy, found.f1) == pytest.approx(
        (accuracy, balanced, f1)
    )
    assert found.auc == (None if auc is None else pytest.approx(auc))


def test_a_target_that_even_the_original_does_not_teach_is_called_that(
    by_method: dict[str, Path], people: Path
) -> None:
    learned = learn(by_method["classes"], people, ["city", "ill"])
    city, ill = learned.lessons
    assert (city.learnable, ill.learnable, ill.remark) == (False, True, "")
    assert "says nothing; choose another target" in city.remark
    assert city.remark in learned.headline()
    ran = incrowd("learn", by_method["classes"], "--original", people, "--target", "city")
    assert city.remark in " ".join(ran.out.split())


def test_ranks_may_say_something_where_nothing_but_the_commonest_value_is_named() -> None:
    same = Predicted(Rate(95, 100), 0.5, 0.8, 0.49)
    lesson = Lesson("rare", 2, same, same, same, lost=0, gained=0, won=0, missed=0)
    assert lesson.remark.endswith("so accuracy says nothing here; compare AUC, or choose another target")


# Totals


def test_cells_are_spread_by_totals_where_a_release_states_them(people: Path, tmp_path: Path) -> None:
    plain, stated = (released(people, tmp_path / str(totals), 40, totals=totals) for totals in (False, True))
    assert learn(plain, people, "ill").spread == EVENLY
    assert learn(stated, people, "ill").spread == BY_TOTALS
    assert (
        incrowd("learn", stated, "--original", people, "--target", "ill", "--json").json["spread"]
        == BY_TOTALS
    )


def test_weights_of_values_give_the_totals() -> None:
    """Four rows say {a|b}, three of them are of a; two rows say b."""
    column = attribute("a", "b")
    cells = parse_cells(column, ["{a|b}", "b", "*"])
    of = np.array([0, 0, 0, 0, 1, 1], np.int32)
    published = Published((column,), (cells,), (of,))
    data = Microdata(np.array([[0], [0], [0], [1], [1], [1]], np.int32), (column,))
    totals = Table.of({"column": ["c", "c"], "value": ["a", "b"], "rows": ["3", "3"]})
    (learnable,) = generalised(published, data, totals)
    points, regions = learnable.features(np.ones(6, np.bool_))
    assert points.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert regions[:2] == pytest.approx(np.array([[0.75, 0.25], [0.0, 1.0]]), abs=1e-5)
    assert generalised(published, data)[0].features(np.ones(6, np.bool_))[1][0].tolist() == [0.5, 0.5]


def test_a_range_is_described_by_its_mean_under_totals() -> None:
    texts = ("20", "30", "40")
    column = Attribute("c", Kind.NUMERIC, Shape.RANGE, texts, np.array([20.0, 30.0, 40.0]))
    cells = parse_cells(column, ["[20,40]", "*"])
    published = Published((column,), (cells,), (np.zeros(4, np.int32),))
    data = Microdata(np.array([[0], [0], [0], [2]], np.int32), (column,))
    totals = Table.of({"column": ["c", "c"], "value": ["20", "[30,40]"], "rows": ["3", "1"]})
    points, regions = generalised(published, data, totals)[0].features(np.ones(4, np.bool_))
    assert points.tolist() == [[20.0], [30.0], [40.0]]
    assert regions[0].tolist() == [pytest.approx(0.75 * 20 + 0.25 * 35, abs=1e-3)]


def attribute(*texts: str) -> Attribute:
    return Attribute("c", Kind.CATEGORICAL, Shape.SET, texts, np.arange(float(len(texts))))
