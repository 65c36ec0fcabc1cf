"""Systems that lack what Linux has: played here by taking it away, which tells much but not all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from incrowd import system
from incrowd.errors import InputError, TableError
from incrowd.examples import write_example
from incrowd.kernels import kept
from incrowd.release import stage
from incrowd.studio import links
from incrowd.tables import parquet_reader
from incrowd.tables.checked_files import open_regular

# What no Windows has, taken away before the package is imported; its lock of a byte is played by flock.
LIKE_WINDOWS = """
import fcntl, types, sys, os, ctypes, signal, asyncio, subprocess, tempfile, duckdb, numba, scipy.stats
real = fcntl.flock
def locking(handle, how, size):
    real(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
sys.modules["msvcrt"] = types.SimpleNamespace(locking=locking, LK_NBLCK=2)
sys.modules["fcntl"] = sys.modules["resource"] = None
for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY", "geteuid", "getuid", "sysconf",
             "sched_getaffinity", "fchmod"):
    delattr(os, name)
del signal.SIGHUP
library = ctypes.CDLL
ctypes.CDLL = lambda name, *rest, **more: library(name + "", *rest, **more)  # no name, no library
import incrowd
incrowd._command_line()
"""


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    write_example(tmp_path / "tour", rows=300)
    return tmp_path


def as_on_windows(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", LIKE_WINDOWS, *line.split()]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True)


def test_a_table_is_published_without_what_windows_lacks(clinic: Path) -> None:
    done = as_on_windows(clinic, "publish tour/patients.csv -p tour/policy.toml --method mondrian -o release")
    assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    assert "promised and verified" in done.stdout
    assert sorted(path.name for path in clinic.iterdir()) == ["release", "release.audit", "tour"]
    done = as_on_windows(clinic, "verify release --original tour/patients.csv -p tour/policy.toml")
    assert "All claims of the release hold." in done.stdout


def test_the_studio_says_which_systems_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "user", lambda: None)
    with pytest.raises(InputError, match="Linux or macOS"):
        links._home()


def test_files_that_are_read_apart_are_refused_where_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_reader, "APART", False)
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1....PAR1")
    with path.open("rb") as file, pytest.raises(TableError, match="save it as CSV"):
        parquet_reader.read_parquet(file, path.name, None)


def test_links_are_refused_where_the_system_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("a\n1\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    monkeypatch.setattr(system, "READ", system.READ & ~system.NO_LINK)
    monkeypatch.setattr(system, "NO_LINK", 0)
    open_regular(tmp_path / "t.csv").close()
    with pytest.raises(TableError, match="is a symbolic link"):
        open_regular(tmp_path / "link.csv")


def test_a_lock_of_windows_is_waited_for_only_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def locking(*words: int) -> None:
        tries.append(words)
        if len(tries) < 3:
            raise OSError(errno.EACCES, "held")

    monkeypatch.setattr(system, "fcntl", None)
    monkeypatch.setattr(system, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    with pytest.raises(OSError, match="held"):
        system.lock(7, wait=False)
    system.lock(7)
    assert tries == [(7, 2, 1)] * 3
    monkeypatch.setattr(system, "msvcrt", None)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSYS)):
        system.lock(7)


def test_nobody_is_believed_where_users_have_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / f"{stage.PREFIX}0"
    left.mkdir()
    monkeypatch.delattr(os, "geteuid")
    assert system.user() is None
    assert stage.sweep(tmp_path) == 0
    assert left.is_dir()
    home = tmp_path / "kept"
    home.mkdir()
    home.chmod(0o777)  # as every folder looks there
    assert kept.danger(home)


def test_what_a_machine_has_is_guessed_where_it_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert system.memory() > 2**28
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.delattr(os, "sched_getaffinity")
    assert system.memory() == system.ASSUMED_MEMORY
    assert system.processors() == os.cpu_count()


def test_a_limit_that_macos_does_not_know_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise ValueError("current limit exceeds maximum limit")

    asked = SimpleNamespace(RLIMIT_AS=1, RLIM_INFINITY=-1, getrlimit=lambda _: (5, 5), setrlimit=never)
    monkeypatch.setattr(system, "resource", asked)
    with pytest.raises(ValueError, match="exceeds"):
        system.limit("RLIMIT_AS", 3)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert system.limit("RLIMIT_AS", 3) is None  # type: ignore[func-returns-value]
    monkeypatch.setattr(system, "resource", None)
    assert system.limit("RLIMIT_AS", 3) is None  # type: ignore[func-returns-value]


def test_a_file_that_is_open_is_flushed_and_a_folder_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "KEEPS_OPEN_FILES", True)
    opened: list[tuple[Path, int]] = []
    (tmp_path / "t").touch()
    os_open = os.open

    def watched(path: Path, how: int) -> int:
        opened.append((path, how))
        return os_open(path, how)

    monkeypatch.setattr(os, "open", watched)
    system.flush(tmp_path)
    system.flush(tmp_path / "t")
    assert opened == [(tmp_path / "t", os.O_RDWR | system.PRIVATE)]
