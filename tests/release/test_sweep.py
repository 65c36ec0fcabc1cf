"""Stages that a crash left behind are removed; living ones, and what belongs to others, are not."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest
from support.staged import dead_stage, fill, put, said, stages

from incrowd.release.stage import LOCK, PREFIX, commit, stage, sweep


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_a_dead_stage_is_swept_by_the_next_run(destination: Path) -> None:
    dead_stage(destination.parent)
    put(destination, "one")
    assert stages(destination.parent) == []


def test_a_living_stage_is_not_swept(destination: Path) -> None:
    with stage(destination) as folder:
        fill(folder, "one")
        assert sweep(destination.parent) == 0
        put(destination.with_name("other"), "two")
        commit(folder, destination)
    assert said(destination) == ("one", "one")


def test_a_stage_killed_before_its_lock_was_made_is_swept(tmp_path: Path) -> None:
    (tmp_path / (PREFIX + "0")).mkdir()
    assert sweep(tmp_path) == 1
    assert stages(tmp_path) == []


def test_a_folder_that_only_looks_like_a_stage_is_left(tmp_path: Path) -> None:
    """A stage without a lock is empty, so this is none."""
    mine = tmp_path / (PREFIX + "mine")
    mine.mkdir()
    (mine / "notes").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / (PREFIX + "link")).symlink_to(elsewhere)
    (tmp_path / (PREFIX + "file")).touch()
    assert sweep(tmp_path) == 0
    assert (mine / "notes").exists()
    assert len(stages(tmp_path)) == 3


def test_stages_of_other_users_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = dead_stage(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert sweep(tmp_path) == 0
    assert (dead / "release" / "data.csv").exists()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    dead = dead_stage(tmp_path)
    (dead / LOCK).unlink()
    (tmp_path / "precious").touch()
    (dead / LOCK).symlink_to(tmp_path / "precious")
    assert sweep(tmp_path) == 0


@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_stage_swept_while_it_is_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Another run comes between the folder and its lock, or between the lock and holding it."""
    swept: list[int] = []
    os_open, flock = os.open, fcntl.flock

    def opening(path: object, flags: int, *rest: int) -> int:
        if moment == "before" and not swept and flags & os.O_EXCL:
            swept.append(0)
            swept.append(sweep(tmp_path))
        return os_open(path, flags, *rest)  # type: ignore[arg-type]

    def locking(handle: int, how: int) -> None:
        if moment == "between" and not swept and how == fcntl.LOCK_EX:
            swept.append(0)
            swept.append(sweep(tmp_path))
        flock(handle, how)

    monkeypatch.setattr(os, "open", opening)
    monkeypatch.setattr(fcntl, "flock", locking)
    put(tmp_path / "out", "one")
    assert swept == [0, 1]
    assert said(tmp_path / "out") == ("one", "one")


def test_many_runs_at_once_do_not_harm_each_other(tmp_path: Path) -> None:
    """All sweep, one destination each and one shared: every own one is there, one shared one won whole."""
    problems: list[BaseException] = []

    def work(who: int) -> None:
        try:
            for i in range(10):
                put(tmp_path / f"own-{who}-{i}", f"{who} {i}")
                put(tmp_path / "shared", f"{who} {i}", replace=True)
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert all(said(tmp_path / f"own-{w}-{i}") == (f"{w} {i}",) * 2 for w in range(4) for i in range(10))
    release, audit = said(tmp_path / "shared")
    assert release == audit != ""
    assert stages(tmp_path) == []
