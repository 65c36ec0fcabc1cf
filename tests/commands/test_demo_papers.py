"""The running examples of the papers: what is told is what the papers print, and follows from runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import incrowd

from incrowd.algorithms.partitions.mondrian import Mondrian
from incrowd.commands.demo.papers import PAPERS, paper_story
from incrowd.commands.demo.story import Story
from incrowd.flow import Partition
from incrowd.release.folder import ReleaseFolder


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    return {name: paper_story(name, tmp_path_factory.mktemp(name)) for name in PAPERS}


def words(story: Story, title: str) -> str:
    """All sentences of the step that begins so."""
    return " ".join(*(step.says for step in story.steps if step.title.startswith(title)))


def test_every_story_goes_from_the_table_to_the_adversary(stories: dict[str, Story]) -> None:
    for story in stories.values():
        assert story.steps[0].table is not None
        assert any(step.title.startswith("What the method does") for step in story.steps)
        assert story.steps[-1].title == "What an adversary then gets"
        assert sum(bool(step.command) for step in story.steps) >= 2


def test_one_voter_is_found_and_later_fits_two_rows(stories: dict[str, Story]) -> None:
    """Tables 1 and 3 of the Mondrian paper."""
    told = stories["multidimensional"]
    assert (
        words(told, "What goes wrong")
        == "Lee is the only voter with a patient's age, sex and zip, and has flu."
    )
    assert "3 classes of 2: the classes of the paper's Table 3" in words(told, "What the method does")
    assert words(told, "What an adversary").startswith("Lee now fits 2 rows: aids or flu.")


def test_the_notions_of_anonymity_are_told_apart_by_counting(stories: dict[str, Story]) -> None:
    """Proposition 4.5: (1,2) and (2,1) fail on the other side, (2,2) on none."""
    step = next(step for step in stories["revisited"].steps if step.title.startswith("Four tables"))
    assert step.table is not None
    assert [row[1:] for row in step.table.rows] == [
        ("3", "3", "3"),
        ("2", "1", "1"),
        ("1", "2", "1"),
        ("2", "2", "2"),
    ]
    assert "probability 2/3" in words(stories["revisited"], "What an adversary")
    assert "likelier than 1/2" in words(stories["revisited"], "What an adversary")


def test_the_ring_over_the_classes_of_table_2_is_table_3(stories: dict[str, Story]) -> None:
    step = next(
        step for step in stories["nonhomogeneous"].steps if step.title.startswith("What the method does")
    )
    assert step.table is not None
    assert sorted(row[:3] for row in step.table.rows) == [
        ("90115_", "*", "[28,30]"),
        ("901___", "*", "[15,28]"),
        ("901___", "M", "[15,30]"),
        ("9023__", "M", "[20,48]"),
        ("9023__", "M", "[20,48]"),
    ]


def test_a_join_finds_five_and_d_is_refused(stories: dict[str, Story]) -> None:
    """Figure 1 of the KJA paper; discernibility falls from 25 to 13, as with the groups of Figure 5."""
    told = stories["kja"]
    assert words(told, "What goes wrong").startswith("A, B, C, E, F are the only ones")
    assert "So publish refuses: everybody of the table" in words(told, "A person whom")
    assert "discernibility 13 instead of 25" in words(told, "What the method does")


def test_no_class_reveals_an_outlier(stories: dict[str, Story]) -> None:
    told = stories["outliers"]
    assert "in 1 an income makes an outlier" in words(told, "What goes wrong")
    assert "1 record cannot be hidden" in words(told, "What the method does")
    assert "in 0 an income makes an outlier of whoever has it, in 0 somebody" in words(
        told, "What an adversary"
    )


def test_what_is_told_follows_from_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a Mondrian that cuts nothing, Table 3 is not reached, and it is said so."""
    monkeypatch.setattr(
        Mondrian, "group", lambda self, data, guards, progress: Partition(np.zeros(len(data), np.int32))
    )
    assert "not those of the paper's Table 3" in words(
        paper_story("multidimensional", tmp_path), "What the method"
    )


def test_files_are_kept_where_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = incrowd("demo", "--paper", "kja", "--folder", "example")
    assert ran.code == 0
    assert "$ incrowd publish private.csv -p joined.toml -o joined" in ran.out
    assert ReleaseFolder.open(tmp_path / "example" / "joined").k == 3
    assert incrowd("demo", "--paper", "kaj").code == 2
