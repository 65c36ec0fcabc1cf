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
from incrowd.commands.learn import AMONG, APART, Learned, held_out, learn
from incrowd.commands.learn_features import Learnable
from incrowd.errors import InputError
from incrowd.flow import Attribute
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
    assert lesson.original.tried == lesson.majority.tried == lesson.release.tried
    assert lesson.majority.share < 0.65
    assert min(lesson.original.share, lesson.release.share) > 0.8
    low, high = lesson.interval()
    assert low <= lesson.drop <= high


def test_one_class_of_all_teaches_nothing_but_the_majority(by_method: dict[str, Path], people: Path) -> None:
    (lesson,) = learn(by_method["one"], people, ["ill"]).lessons
    assert lesson.release == lesson.majority
    assert lesson.original.share > 0.8
    assert lesson.interval()[0] > 0


def test_rows_of_test_people_are_left_out_with_links_and_without(
    by_method: dict[str, Path], people: Path
) -> None:
    trained = int((~held_out(np.arange(ROWS))).sum())
    by_fit = learn(by_method["classes"], people, ["ill", "age"])
    by_links = learn(by_method["links"], people, ["ill", "age"])
    assert by_fit == by_links
    assert (by_fit.rows, by_fit.tested, by_fit.note) == (trained, ROWS - trained, "")


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
    assert ill.original.share > 0.75
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
        rates = (lesson.majority, lesson.original, lesson.release)
        assert " ".join([lesson.target, *(f"{rate.share:.1%}" for rate in rates)]) in shown
