"""Systems that lack what Linux has: played here by taking it away, which tells much but not all."""

from __future__ import annotations

import ast
import contextlib
import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.parsed import parsed
from support.places import ROOT
from typer.testing import CliRunner

from incrowd import system
from incrowd.cli.app import app
from incrowd.errors import InputError, TableError
from incrowd.examples import write_example
from incrowd.kernels import kept
from incrowd.release import stage
from incrowd.studio import links
from incrowd.tables import parquet_reader
from incrowd.tables.checked_files import open_regular

# What no Windows has, taken away before the package is imported; its lock of a byte is played by flock, and
# text whose line end nobody names gets the one of Windows.
LIKE_WINDOWS = """
import fcntl, types, sys, os, ctypes, signal, asyncio, subprocess, tempfile, duckdb, numba, scipy.stats
import builtins, io
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
plainly = io.open
def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *rest):
    translated = "b" not in mode and newline is None and set(mode) & set("wax+")
    return plainly(file, mode, buffering, encoding, errors, "\\r\\n" if translated else newline, *rest)
io.open = builtins.open = opened
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


def test_a_release_made_like_that_is_verified_elsewhere(clinic: Path) -> None:
    """Its files have one form, byte for byte, wherever they were written."""
    line = "publish tour/patients.csv -p tour/policy.toml --method mondrian -o"
    assert as_on_windows(clinic, f"{line} theirs").returncode == 0
    here = ["verify", "theirs", "--original", "tour/patients.csv", "-p", "tour/policy.toml"]
    with contextlib.chdir(clinic):
        done = CliRunner().invoke(app, here)
    assert (done.exit_code, "All claims of the release hold." in done.output) == (0, True), done.output


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("inspect tour/patients.csv -o found.toml", "Wrote found.toml"),
        ("policy role tour/policy.toml education=drop", "Wrote tour/policy.toml"),
        ("demo --folder other", "The files of this tour are in other."),
    ],
)
def test_commands_that_write_do_so_without_what_windows_lacks(clinic: Path, line: str, said: str) -> None:
    done = as_on_windows(clinic, line)
    assert (done.returncode, done.stderr if done.returncode else "") == (0, "")
    assert said in done.stdout
    assert not [path for path in clinic.rglob("*") if path.is_file() and b"\r\n" in path.read_bytes()]


def texts_without_line_ends(tree: ast.AST) -> list[int]:
    """Lines that write text and leave its line ends to the system: a file is not the same everywhere."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        words = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
        modes = [
            word for word in words if isinstance(word, str) and re.fullmatch("[rwaxt+]*[wax+][t+]*", word)
        ]
        writes = name == "write_text" or (name in ("open", "fdopen", "NamedTemporaryFile") and modes)
        if writes and "newline" not in {keyword.arg for keyword in node.keywords}:
            found.append(node.lineno)
    return found


def test_text_is_written_with_line_ends_that_are_named() -> None:
    trees = parsed(ROOT / "src" / "incrowd")
    assert len(trees) > 200
    assert not [(path.name, line) for path, tree in trees.items() for line in texts_without_line_ends(tree)]


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("path.write_text(text, encoding='utf-8')", True),
        ("path.write_text(text, encoding='utf-8', newline='\\n')", False),
        ("os.fdopen(handle, 'w', encoding='utf-8')", True),
        ("path.open('x')", True),
        ("path.open('wb')", False),
        ("open(path, encoding='utf-8')", False),
    ],
)
def test_text_without_a_named_line_end_is_seen(source: str, seen: bool) -> None:
    assert bool(texts_without_line_ends(ast.parse(source))) is seen


@pytest.mark.parametrize(("encoding", "line"), [("cp1252", "---"), ("utf-8", "───")])
def test_lines_of_tables_are_signs_that_the_terminal_can_show(clinic: Path, encoding: str, line: str) -> None:
    words = [sys.executable, "-c", "import incrowd; incrowd._command_line()", "inspect", "tour/patients.csv"]
    told = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(words, cwd=clinic, env=told, capture_output=True)
    assert done.returncode == 0
    assert line in done.stdout.decode(encoding)
    assert b"\\u" not in done.stdout


# What the library reference says is not there on Windows, or on Linux alone, and could be of use here.
NOT_EVERYWHERE = {
    *(
        "fcntl",
        "flock",
        "lockf",
        "resource",
        "setrlimit",
        "getrusage",
        "pwd",
        "grp",
        "termios",
        "pty",
        "syslog",
    ),
    *("fork", "forkpty", "posix_spawn", "wait4", "waitid", "setsid", "killpg", "nice", "getpgid", "mkfifo"),
    *("geteuid", "getuid", "getegid", "getgid", "setuid", "chown", "fchown", "lchown", "fchmod", "chroot"),
    *(
        "sched_getaffinity",
        "sched_setaffinity",
        "sysconf",
        "statvfs",
        "fdatasync",
        "posix_fadvise",
        "sendfile",
    ),
    *(
        "copy_file_range",
        "memfd_create",
        "eventfd",
        "pidfd_open",
        "openpty",
        "getxattr",
        "setxattr",
        "splice",
    ),
    *("O_NOFOLLOW", "O_NONBLOCK", "O_DIRECTORY", "O_TMPFILE", "O_PATH", "O_NOATIME", "O_SYNC", "O_DSYNC"),
    *(
        "SIGHUP",
        "SIGKILL",
        "SIGALRM",
        "SIGUSR1",
        "SIGUSR2",
        "SIGCHLD",
        "SIGPIPE",
        "SIGQUIT",
        "setitimer",
        "alarm",
    ),
    *(
        "RLIMIT_AS",
        "RLIMIT_CPU",
        "RLIMIT_CORE",
        "RLIMIT_NOFILE",
        "RLIMIT_FSIZE",
        "RLIMIT_DATA",
        "RLIMIT_NPROC",
    ),
    *(
        "pass_fds",
        "preexec_fn",
        "start_new_session",
        "dir_fd",
        "fchdir",
        "AF_UNIX",
        "set_blocking",
        "madvise",
    ),
    *("prctl", "renameat2", "seccomp", "unshare", "inotify_init", "malloc_trim", "add_signal_handler"),
    *("/proc", "/dev/fd", "/dev/shm", "/dev/stdout", "/dev/stdin", "/sys/fs/cgroup"),
}


def not_everywhere(tree: ast.AST) -> set[str]:
    """Calls, arguments and places of a module that not every system has."""
    used: set[Any] = {getattr(node, "attr", None) or getattr(node, "arg", None) for node in ast.walk(tree)}
    words = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = " ".join(word for word in words if isinstance(word, str))
    places = {name for name in NOT_EVERYWHERE if name.startswith("/") and re.search(rf"{name}\\b", texts)}
    return (used | {word for word in words if isinstance(word, str)}) & NOT_EVERYWHERE | places


def test_every_call_that_not_all_systems_have_is_on_the_page() -> None:
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    used = {name for tree in parsed(ROOT / "src" / "incrowd").values() for name in not_everywhere(tree)}
    assert {"flock", "renameat2", "pass_fds", "/proc", "O_NOFOLLOW"} <= used
    assert not [name for name in sorted(used) if not re.search(rf"`[^`]*{name}[^`]*`", page)]


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
