"""The best of several methods: which one wins, what counts as tried, and that more time is never worse."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.requested import people
from support.tables_of_codes import CodeTable, code_tables
from typer.testing import CliRunner

from incrowd.algorithms import deadline
from incrowd.algorithms.base import watched
from incrowd.algorithms.costs import priced
from incrowd.algorithms.partitions import agglomerative, best
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.best import LATE, NOT_BEGUN, Best, Candidate
from incrowd.algorithms.partitions.cells import Cells
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.cli.app import app
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.contracts import Guard, Partitioner
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Microdata, Partition, Table
from incrowd.long_work import Progress, silent
from incrowd.results import Attempt
from incrowd.tables import write_csv

LONG = 10_000
LINE = CodeTable([(code,) for code in range(8)], [("range", [*range(7), 100])])
HALVES, PAIRS = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]
TOGETHER = [0] * 8
FAR_PAIR = [0, 0, 0, 0, 0, 0, 1, 1]  # few rows are wide, but many leave more values open


@dataclass(frozen=True)
class Fixed:
    """Makes these classes, whatever the table; `before` is called with the progress first."""

    k: int
    labels: Any = ()
    before: Callable[[Progress], None] = field(default=lambda _: None)

    def group(self, _data: Microdata, _guards: tuple[Guard, ...], progress: Progress) -> Partition:
        self.before(progress)
        return Partition(np.array(self.labels, np.int32))


def fixed(name: str, labels: list[int], **options: Any) -> Candidate:
    return Candidate(Fixed, name, {"labels": labels, **options})


def slow(seconds: float, clock: list[float]) -> Callable[[Progress], None]:
    """Takes so many seconds, and reports after each."""

    def takes(progress: Progress) -> None:
        for done in range(int(seconds)):
            clock[0] += 1
            progress(done / seconds)

    return takes


def among(patch: pytest.MonkeyPatch, *candidates: Candidate) -> Callable[..., Partition]:
    """Choose among these, with any options."""
    patch.setattr(best, "CANDIDATES", candidates)
    return lambda **options: Best(2, **options).group(LINE.data, (), silent)


def winner(found: Partition) -> Attempt:
    (won,) = (each for each in found.tried if each.won)
    return won


@given(table=code_tables(), k=st.integers(1, 5))
@settings(max_examples=40)
def test_the_least_loss_of_all_wins(table: CodeTable, k: int) -> None:
    data = table.data
    asked = Best(k, seconds=LONG)
    if len(data) < k:
        with pytest.raises(Infeasible):
            asked.group(data, (), silent)
    else:
        alone: list[Partitioner] = [
            StrictMondrian(k),
            StrictMondrian(k, polish=True),
            Agglomerative(k, distance="10", polish=True),
            Cells(k),
        ]
        losses = [asked.loss(method.group(data, (), silent), data) for method in alone]
        found = asked.group(data, (), silent)
        assert [each.loss for each in found.tried] == losses
        assert asked.loss(found, data) == min(losses) == winner(found).loss


BUDGETS = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted)


@given(table=code_tables(), k=st.integers(1, 5), seconds=BUDGETS)
@settings(max_examples=40)
def test_more_time_is_never_worse(table: CodeTable, k: int, seconds: list[int]) -> None:
    """By a clock that goes on by one second whenever somebody looks at it."""
    k, data = min(k, len(table.points)), table.data
    with pytest.MonkeyPatch.context() as patch:
        losses = []
        for budget in seconds:
            patch.setattr(deadline, "monotonic", count().__next__)
            asked = Best(k, seconds=budget)
            losses.append(asked.loss(asked.group(data, (), silent), data))
    assert losses[1] <= losses[0]


@given(
    takes=st.lists(st.integers(1, 25), min_size=4, max_size=4),
    makes=st.permutations([HALVES, PAIRS, FAR_PAIR, TOGETHER]),
    seconds=BUDGETS,
)
@settings(max_examples=300)
def test_more_time_is_never_worse_however_long_methods_take(
    takes: list[int], makes: list[list[int]], seconds: list[int]
) -> None:
    clock = [0.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deadline, "monotonic", lambda: clock[0])
        methods = [
            fixed(str(number), labels, before=slow(time, clock))
            for number, (labels, time) in enumerate(zip(makes, takes, strict=True))
        ]
        group = among(patch, *methods)
        less, more = (winner(group(seconds=budget)).loss for budget in seconds)
    assert less is not None
    assert more is not None
    assert more <= less


def test_without_time_mondrian_runs_to_its_end() -> None:
    table = people().table
    found = publish(table, people().policy, method="best", options={"seconds": 0})
    assert [each.reason for each in found.tried] == ["", NOT_BEGUN, NOT_BEGUN, NOT_BEGUN]
    assert found.loss() == publish(table, people().policy, method="mondrian").loss()


def test_with_time_it_loses_less_than_mondrian() -> None:
    table = people().table
    found = publish(table, people().policy, method="best", options={"seconds": LONG})
    assert found.loss()["gcp"] < publish(table, people().policy, method="mondrian").loss()["gcp"]
    assert found.loss()["gcp"] == pytest.approx(min(each.loss or 1 for each in found.tried))


def test_of_equal_ones_the_first_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    found = among(monkeypatch, fixed("one", HALVES), fixed("two", HALVES))()
    assert winner(found).method == "one"


def test_the_measure_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    group = among(monkeypatch, fixed("halves", HALVES), fixed("far pair", FAR_PAIR))
    assert winner(group(measure="gcp")).method == "far pair"
    assert winner(group(measure="entropy")).method == "halves"


def test_what_is_late_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it would lose less; the first counts whenever it ends."""
    clock = [0.0]
    monkeypatch.setattr(deadline, "monotonic", lambda: clock[0])
    first, late = fixed("first", HALVES, before=slow(20, clock)), fixed("late", PAIRS, before=slow(20, clock))
    found = among(monkeypatch, first, late)(seconds=30)
    assert [each.reason for each in found.tried] == ["", LATE]
    assert [each.loss is None for each in found.tried] == [False, True]
    assert found.labels.tolist() == HALVES
    found = among(monkeypatch, first, late)(seconds=10)
    assert [each.reason for each in found.tried] == ["", NOT_BEGUN]
    assert among(monkeypatch, first, late)(seconds=41).labels.tolist() == PAIRS


def test_what_is_late_leaves_half_of_the_time_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else whoever allows more time might get less."""
    clock = [0.0]
    monkeypatch.setattr(deadline, "monotonic", lambda: clock[0])
    late, quick = fixed("late", PAIRS, before=slow(21, clock)), fixed("quick", PAIRS, before=slow(9, clock))
    found = among(monkeypatch, fixed("first", HALVES), late, quick)(seconds=40)
    assert [each.reason for each in found.tried] == ["", LATE, ""]
    assert winner(found).method == "quick"


def test_what_progress_raises_ends_a_compiled_run() -> None:
    """It is raised where the method was called, not in the thread that reports."""
    clock = np.zeros(2, np.int64)

    def fails(done: float) -> None:
        assert done == 0
        raise PolicyError("late")

    def waits() -> None:
        for _ in range(1000):  # at most ten seconds, should nobody stop it
            if clock[0] < 0:
                return
            threading.Event().wait(0.01)

    with pytest.raises(PolicyError, match="late"), watched(fails, clock, 1):
        waits()
    assert clock[0] < 0


@pytest.mark.parametrize("stop", [False, True])
def test_agglomerative_clustering_ends_early_if_it_is_stopped(
    stop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock that is watched, which counts the records of clusters that are done."""
    done = []

    @contextmanager
    def stopped(_progress: Progress, clock: NDArray[np.int64], _rows: int) -> Iterator[None]:
        clock[0] = -int(stop)
        yield
        done.append(int(clock[1]))

    monkeypatch.setattr(agglomerative, "watched", stopped)
    Agglomerative(2).clusters(priced(LINE.data, "lm"), silent)
    assert done == [0 if stop else len(LINE.points)]


def test_a_refusal_is_told_and_others_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_progress: Progress) -> None:
        raise PolicyError("age: too many categories")

    refused, fine = fixed("refused", PAIRS, before=refuses), fixed("fine", PAIRS)
    found = among(monkeypatch, fixed("first", HALVES), refused, fine)()
    assert found.tried[1].reason == "refused: age: too many categories"
    assert winner(found).method == "fine"
    with pytest.raises(PolicyError, match="too many"):
        among(monkeypatch, refused, fine)()


def test_what_was_tried_is_kept_when_records_are_left_out() -> None:
    policy = people().policy.with_(method="best", max_suppression="0.05")
    found = publish(people().table, policy)
    assert found.manifest["rows"]["suppressed"] > 0
    assert [each.method for each in found.tried] == ["mondrian", "mondrian", "agglomerative", "cells"]


def test_what_was_tried_is_kept_when_classes_are_made_plain() -> None:
    table = Table.of(
        {"age": [str(20 + i % 9) for i in range(36)], "pay": [str(i * i % 7) for i in range(36)]}
    )
    policy = {"quasi_identifiers": ["age"], "sensitive": {"pay": {"type": "numeric"}}, "method": "best"}
    found = publish(table, {**policy, "privacy": {"k": 3, "plain": {"p": "0.9", "d": "0.6"}}})
    assert len(found.tried) == len(best.CANDIDATES)


def test_the_release_tells_the_rule_and_the_publisher_the_losses(tmp_path: Path) -> None:
    """Losses and times are of the private table: they are on the screen and in the audit alone."""
    write_csv(people().table, tmp_path / "people.csv")
    made = publish(
        tmp_path / "people.csv",
        people().policy.with_(method="best", options={"measure": "entropy"}),
        tmp_path / "release",
    )
    stated = json.loads((tmp_path / "release" / "release.json").read_text(encoding="utf-8"))
    assert stated["method"]["name"] == "best"
    assert stated["method"]["options"] == {"measure": "entropy"}
    for file in (tmp_path / "release").iterdir():
        assert "tried" not in file.read_text(encoding="utf-8")
    kept = json.loads((tmp_path / "release.audit" / "audit.json").read_text(encoding="utf-8"))
    assert kept["tried"] == made.to_dict()["tried"] == [each.to_dict() for each in made.tried]
    assert [each["won"] for each in kept["tried"]].count(True) == 1
    assert verify(tmp_path / "release", tmp_path / "people.csv").passed


def test_the_screen_shows_what_was_tried(tmp_path: Path) -> None:
    write_csv(people(quasi=("age", "sex")).table, tmp_path / "people.csv")
    line = ["publish", str(tmp_path / "people.csv"), "--qi", "age,sex", "--sa", "ill", "--drop", "name,tag"]
    line += ["-k", "4", "--method", "best", "--set", "seconds=0", "-o", str(tmp_path / "release")]
    shown = CliRunner().invoke(app, line)
    assert shown.exit_code == 0, shown.output
    assert "chosen by the least gcp among:" in shown.output
    assert " s; published" in shown.output
    assert f"cells: {NOT_BEGUN}" in shown.output
