"""The policy and its history: any edits, then undo all, give the first bytes back; crashes, restarts."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import InputError
from incrowd.policy import PolicyText
from incrowd.studio.project import Project, TableFile, opened
from incrowd.studio.session import OUTSIDE, Conflict, ReadOnly, StudioSession

FIRST = """\ufeff# written by hand; stays
keep = [
  "visit",  # harmless
]
drop = []
descriptions = {age = "in years"}   # a key without a control\r
[quasi_identifiers]
age = {type = "numeric"}  # neighbours know it
zip = {}
[privacy]
k = 5   # at least
"""


def project(folder: Path) -> Project:
    (folder / "t.csv").write_text("age,zip,visit\n1,2,3\n")
    return opened(folder / "t.incrowd", TableFile(folder / "t.csv"))


def begun(folder: Path, text: str = FIRST) -> StudioSession:
    session = StudioSession(project(folder))
    session.begin(text)
    return session


ROLES = st.sampled_from(["identifier", "quasi_identifier", "sensitive", "keep", "drop", "undecided"])
EDITS = st.one_of(
    st.tuples(st.just("role"), st.sampled_from(["age", "zip", "visit"]), ROLES),
    st.tuples(st.just("k"), st.integers(2, 50), st.none()),
    st.tuples(st.just("l"), st.one_of(st.none(), st.integers(2, 9)), st.none()),
    st.tuples(st.just("undo"), st.none(), st.none()),
    st.tuples(st.just("redo"), st.none(), st.none()),
    st.tuples(st.just("restart"), st.none(), st.none()),
)


@settings(max_examples=60)
@given(st.lists(EDITS, max_size=14))
def test_any_edits_then_undo_all_give_the_first_bytes(edits: list[tuple[str, object, object]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        session = begun(Path(name))
        seen = {FIRST}
        for what, first, second in edits:
            if what == "undo":
                session.undo()
            elif what == "redo":
                session.redo()
            elif what == "restart":
                session = StudioSession(session.project)
            else:
                text = PolicyText(session.text)
                if what == "role":
                    text = text.role(str(first), str(second))
                else:
                    text = text.set(f"privacy.{what}", first)
                session.write(text.text, f"{what} {first} {second}")
                seen.add(text.text)
            assert session.project.policy.read_bytes() == session.text.encode()
            assert "a key without a control" in session.text
            assert "written by hand; stays" in session.text
        last, steps = session.text, 0
        while session.undo():
            steps += 1
        assert session.project.policy.read_bytes() == FIRST.encode()
        kept = {json.loads(path.read_bytes())["text"] for path in _steps(session)}
        assert kept == seen  # no text that ever was is lost
        for _ in range(steps):
            assert session.redo()
        assert session.text == last


def _steps(session: StudioSession) -> list[Path]:
    return sorted(session.project.inside("history").glob("0*.json"))


def test_a_choice_after_undo_opens_a_branch_and_keeps_the_other(tmp_path: Path) -> None:
    session = begun(tmp_path, "a = 1\n")
    session.write("a = 2\n", "two")
    session.undo()
    assert session.redoes == "two"
    session.write("a = 3\n", "three")
    assert (session.undoes, session.redoes, session.branches) == ("three", "", 1)
    again = StudioSession(session.project)
    assert (again.undoes, again.redoes, again.branches, again.text) == ("three", "", 1, "a = 3\n")
    assert [json.loads(path.read_bytes())["text"] for path in _steps(again)] == [
        "a = 1\n",
        "a = 2\n",
        "a = 3\n",
    ]


@pytest.mark.parametrize("left_out", ["where", "where and policy"])
def test_a_crash_between_the_writes_of_one_choice_loses_nothing(left_out: str, tmp_path: Path) -> None:
    session = begun(tmp_path, "a = 1\n")
    session.write("a = 2\n", "two")
    where = session.project.inside("history") / "where.json"
    before = where.read_bytes()
    session.write("a = 3\n", "three")
    where.write_bytes(before)
    if left_out == "where and policy":
        session.project.policy.write_text("a = 2\n")
    after = StudioSession(session.project)
    assert after.outside() is None
    assert after.text == ("a = 3\n" if left_out == "where" else "a = 2\n")
    assert after.undo()
    while after.undo():
        pass
    assert after.text == "a = 1\n"


def test_a_crash_in_an_undo_is_followed_too(tmp_path: Path) -> None:
    session = begun(tmp_path, "a = 1\n")
    session.write("a = 2\n", "two")
    session.project.policy.write_text("a = 1\n")  # undone on disk, not yet noted
    after = StudioSession(session.project)
    assert (after.text, after.redoes, after.outside()) == ("a = 1\n", "two", None)


def test_a_change_outside_is_noticed_before_it_is_overwritten(tmp_path: Path) -> None:
    session = begun(tmp_path, "a = 1\n")
    session.project.policy.write_text("a = 9  # by hand\n")
    for change in (lambda: session.write("a = 2\n", "two"), session.undo, session.redo):
        with pytest.raises(Conflict):
            change()
    assert session.project.policy.read_text() == "a = 9  # by hand\n"
    session.take_outside()
    assert (session.text, session.undoes) == ("a = 9  # by hand\n", OUTSIDE)
    session.undo()
    assert session.text == "a = 1\n"


def test_mine_can_count_and_theirs_is_kept(tmp_path: Path) -> None:
    session = begun(tmp_path, "a = 1\n")
    session.project.policy.write_text("a = 9\n")
    session.keep_mine()
    assert session.project.policy.read_text() == session.text == "a = 1\n"
    assert "a = 9\n" in [json.loads(path.read_bytes())["text"] for path in _steps(session)]
    session.project.policy.unlink()
    assert session.outside() == ""
    session.keep_mine()
    assert session.project.policy.read_text() == "a = 1\n"


def test_the_second_opener_only_looks(tmp_path: Path) -> None:
    session = begun(tmp_path, "a = 1\n")
    second = StudioSession(opened(session.project.folder))
    assert second.project.read_only
    assert second.text == "a = 1\n"
    for change in (
        lambda: second.write("a = 2\n", "two"),
        second.undo,
        second.take_outside,
        second.keep_mine,
    ):
        with pytest.raises(ReadOnly):
            change()
    session.write("a = 5\n", "five")
    assert second.outside() is None
    assert second.text == "a = 5\n"
    session.project.close()
    third = opened(session.project.folder)
    assert not third.read_only


def test_the_last_change_is_marked(tmp_path: Path) -> None:
    session = begun(tmp_path, "a = 1\nb = 2\n")
    assert session.marked() == [("a = 1", False), ("b = 2", False)]
    session.write("a = 1\nb = 3\nc = 4\n", "more")
    assert session.marked() == [("a = 1", False), ("b = 3", True), ("c = 4", True)]
    assert session.before == "a = 1\nb = 2\n"


def test_a_project_is_of_one_table_and_for_its_owner_alone(tmp_path: Path) -> None:
    found = project(tmp_path)
    assert found.folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in found.folder.rglob("*"))
    (tmp_path / "other.csv").write_text("a\n1\n")
    with pytest.raises(InputError, match="project of another table"):
        opened(found.folder, TableFile(tmp_path / "other.csv"))
    (found.folder / "project.toml").write_text("[table\n")
    with pytest.raises(InputError, match="cannot be read"):
        opened(found.folder)


def test_a_policy_that_is_no_text_is_refused(tmp_path: Path) -> None:
    found = project(tmp_path)
    found.policy.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        StudioSession(found)
