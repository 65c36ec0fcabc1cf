"""A folder appears all at once or not at all, and nothing of others is harmed on the way."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.staged import dead_stage, fill, put, raising, said, stages

from incrowd.errors import InputError, Refused
from incrowd.release import stage as module
from incrowd.release.stage import EPOCH, LOCK, NOTE, audit_folder, described, stage, sweep
from incrowd.tables import checked_files


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def plain_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filesystem (or a C library) without renameat2."""
    monkeypatch.setattr(module, "_renameat2", lambda *_: errno.EINVAL)


@pytest.fixture(params=["renameat2", "plain"])
def renames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "plain":
        plain_only(monkeypatch)


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "out"


# What a commit leaves


@pytest.mark.usefixtures("renames")
def test_commit_gives_release_and_audit_their_names(destination: Path) -> None:
    put(destination, "one")
    assert said(destination) == ("one", "one")
    assert sorted(path.name for path in destination.parent.iterdir()) == ["out", "out.audit"]
    assert sorted(path.name for path in destination.iterdir()) == ["data.csv", "release.json"]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000], ids=oct)
def test_modes_do_not_depend_on_the_umask(destination: Path, mask: int) -> None:
    with umask(mask):
        put(destination, "one")
    assert mode(destination) == 0o755
    assert mode(destination / "data.csv") == 0o644
    assert mode(audit_folder(destination)) == 0o700
    assert mode(audit_folder(destination) / "audit.json") == 0o600


def test_a_stage_is_private_while_it_is_written(destination: Path) -> None:
    with umask(0), stage(destination) as folder:
        assert mode(folder) == 0o700
        assert mode(folder / "release") == 0o700
        assert mode(folder / LOCK) == 0o600


@pytest.mark.usefixtures("renames")
@pytest.mark.parametrize("replace", [False, True], ids=["new", "replaced"])
def test_times_tell_nothing(destination: Path, replace: bool) -> None:
    if replace:
        put(destination, "old")
    put(destination, "one", replace)
    for folder in (destination, audit_folder(destination)):
        assert {path.stat().st_mtime for path in (folder, *folder.iterdir())} == {EPOCH}


def test_without_commit_nothing_is_left(destination: Path) -> None:
    with stage(destination) as folder:
        fill(folder, "one")
    assert list(destination.parent.iterdir()) == []


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), ValueError("x"), MemoryError()], ids=repr)
def test_a_problem_passes_and_nothing_is_left(destination: Path, problem: BaseException) -> None:
    with pytest.raises(type(problem)):
        put(destination, "one", meanwhile=raising(problem))
    assert list(destination.parent.iterdir()) == []


def test_an_os_error_becomes_one_sentence(destination: Path) -> None:
    full = OSError(errno.ENOSPC, "whatever", "a/file")
    with pytest.raises(InputError, match=r"cannot write into .*: No space left on device") as caught:
        put(destination, "one", meanwhile=raising(full))
    assert "\n" not in str(caught.value)
    assert list(destination.parent.iterdir()) == []


# What is refused


def test_an_existing_release_is_not_overwritten(destination: Path) -> None:
    put(destination, "one")
    with pytest.raises(InputError, match="exists; name a new folder"):
        put(destination, "two")
    assert said(destination) == ("one", "one")


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
@pytest.mark.parametrize("there", ["folder", "file", "link", "dangling"])
def test_what_is_no_release_is_never_replaced(destination: Path, there: str, replace: bool) -> None:
    other = destination.with_name("other")
    if there == "file":
        destination.write_text("mine")
    elif there == "folder":
        destination.mkdir()
        (destination / "mine").touch()
    else:
        if there == "link":
            put(other, "one")
        destination.symlink_to(other)
    before = sorted(path.name for path in destination.parent.iterdir())
    with pytest.raises(InputError, match=r"is no release|exists|is a link"):
        put(destination, "two", replace)
    assert sorted(path.name for path in destination.parent.iterdir()) == before


@pytest.mark.parametrize("there", ["folder", "file", "link"])
def test_what_is_no_audit_is_never_replaced(destination: Path, there: str) -> None:
    private = audit_folder(destination)
    if there == "folder":
        private.mkdir()
        (private / "my holidays").touch()
    elif there == "file":
        private.write_text("mine")
    else:
        private.symlink_to(destination.parent)
    with pytest.raises(InputError, match="is no audit"):
        put(destination, "one")
    assert not destination.exists()
    assert os.path.lexists(private)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no/such/out", "does not exist"),
        ("a" * 252, "cannot write into .*: File name too long"),
        ("a\0b", "a folder of its own"),
        ("..", "a folder of its own"),
    ],
    ids=["no-parent", "too-long", "nul", "dots"],
)
def test_a_bad_destination_is_refused_at_once(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words), stage(tmp_path / name):
        pytest.fail("the stage was made")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [".", "/"])
def test_a_destination_without_a_name_is_refused(
    tmp_path: Path, bad: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="a folder of its own"), stage(Path(bad), replace=True):
        pytest.fail("the stage was made")


@pytest.mark.usefixtures("renames")
def test_what_appears_meanwhile_is_not_overwritten(destination: Path) -> None:
    with pytest.raises(Refused, match="appeared while"):
        put(destination, "late", meanwhile=lambda: put(destination, "early"))
    assert said(destination) == ("early", "early")
    assert stages(destination.parent) == []


def test_a_folder_that_appears_between_check_and_rename_stays(
    destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_check_again", lambda *_: destination.mkdir())
    monkeypatch.setattr(module._Move, "forth", lambda move: module._rename(move.source, move.target, 1))
    with pytest.raises(Refused, match="appeared while"):
        put(destination, "late")
    assert list(destination.iterdir()) == []
    assert not audit_folder(destination).exists()


# Replacing


@pytest.mark.usefixtures("renames")
def test_replace_swaps_both_folders(destination: Path) -> None:
    put(destination, "old")
    put(destination, "new", replace=True)
    assert said(destination) == ("new", "new")
    assert sorted(path.name for path in destination.parent.iterdir()) == ["out", "out.audit"]


@pytest.mark.usefixtures("renames")
def test_replace_may_find_nothing_to_replace(destination: Path) -> None:
    put(destination, "new", replace=True)
    assert said(destination) == ("new", "new")


@pytest.mark.usefixtures("renames")
def test_an_orphaned_audit_is_replaced(destination: Path) -> None:
    put(destination, "old")
    (destination / "data.csv").unlink()
    (destination / "release.json").unlink()
    destination.rmdir()
    put(destination, "new")
    assert said(destination) == ("new", "new")


def test_two_commits_do_not_mix(destination: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the two renames of one run, another wants to replace the same release: it must wait."""
    others: list[threading.Thread] = []
    real = module._Move.forth

    def forth(move: module._Move) -> None:
        real(move)
        if move.source.name == "audit" and not others:
            others.append(threading.Thread(target=put, args=(destination, "two", True)))
            others[0].start()
            others[0].join(0.3)

    put(destination, "old")
    monkeypatch.setattr(module._Move, "forth", forth)
    put(destination, "one", replace=True)
    others[0].join()
    assert said(destination) == ("two", "two")


# Taking back


@pytest.mark.usefixtures("renames")
@pytest.mark.parametrize("old", ["", "old"], ids=["new", "replace"])
@pytest.mark.parametrize("step", ["audit", "release", "flush"])
def test_a_commit_that_fails_half_way_is_taken_back(
    destination: Path, monkeypatch: pytest.MonkeyPatch, old: str, step: str
) -> None:
    if old:
        put(destination, old)

    def forth(move: module._Move) -> None:
        if move.source.name == step:
            raise OSError(errno.EIO, "")
        real(move)

    def flush(path: Path) -> None:
        if step == "flush" and path == destination.parent:
            raise OSError(errno.EIO, "")

    real = module._Move.forth
    monkeypatch.setattr(module._Move, "forth", forth)
    monkeypatch.setattr(module, "_sync", flush)
    with pytest.raises(InputError, match="Input/output error"):
        put(destination, "new", replace=bool(old))
    assert said(destination) == (old, old)
    assert stages(destination.parent) == []


def die_in_rename(destination: Path, step: int, plain: bool) -> None:
    """Replace a release and die right before the given rename."""
    left = step
    call, os_rename = module._renameat2, os.rename

    def dying(source: Path, target: Path, how: int) -> int:
        nonlocal left
        if plain:
            return errno.EINVAL
        left -= 1
        return call(source, target, how) if left else os._exit(9)

    def dying_plainly(source: Path, target: Path) -> None:
        nonlocal left
        left -= 1
        return os_rename(source, target) if left else os._exit(9)

    module._renameat2 = dying
    os.rename = dying_plainly  # type: ignore[assignment]
    put(destination, "new", replace=True)
    os._exit(0)


@pytest.mark.parametrize("old", ["", "old"], ids=["new", "replace"])
@pytest.mark.parametrize(
    ("plain", "step"), [(False, 1), (False, 2), (False, 3), *((True, step) for step in range(1, 8))]
)
def test_the_next_run_takes_back_what_a_crash_left_by_half(
    destination: Path, old: str, plain: bool, step: int
) -> None:
    """Whatever rename a run dies before: after a sweep release and audit are of one run, and none is lost."""
    if old:
        put(destination, old)
    child = multiprocessing.get_context("spawn").Process(
        target=die_in_rename, args=(destination, step, plain)
    )
    child.start()
    child.join()
    assert child.exitcode in (0, 9)
    assert child.exitcode == 9 or step > 2
    if not plain:  # one step each: the old release, or the new one, at every moment
        assert said(destination)[0] in ((old,) if child.exitcode else ("new",))
    assert len(stages(destination.parent)) == (child.exitcode == 9)
    sweep(destination.parent)
    assert said(destination) in ((old, old), ("new", "new"))
    assert (child.exitcode == 0) <= (said(destination) == ("new", "new"))
    assert stages(destination.parent) == []


def test_a_note_cut_short_means_that_nothing_was_moved(destination: Path) -> None:
    put(destination, "old")
    dead = dead_stage(destination.parent)
    (dead / NOTE).write_text('{"destination": "ou')
    assert sweep(destination.parent) == 1
    assert said(destination) == ("old", "old")


def test_a_stage_that_cannot_be_taken_back_is_kept(
    destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old release may be inside; the next run tries again."""
    dead = dead_stage(destination.parent)
    monkeypatch.setattr(module, "_take_back", lambda _: raising(OSError(errno.EIO, ""))())
    assert sweep(destination.parent) == 0
    assert dead.exists()


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 12, 1000])
def test_what_a_manifest_says_of_a_file_is_of_all_bytes(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are read at once."""
    monkeypatch.setattr(checked_files, "HASHED_AT_ONCE", 4)
    data = bytes(number % 251 for number in range(size))
    (tmp_path / "file").write_bytes(data)
    assert described(tmp_path / "file") == {"sha256": hashlib.sha256(data).hexdigest(), "bytes": size}
