"""Runs that are killed, or whose n-th operation fails: a complete release, or none.

Real runs of `publish_to`, forked from a warm process that has everything imported and compiled. Started as
a script, this file is that process.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from incrowd.commands.verify import verify
from incrowd.errors import InputError, NotVerified
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.release import stage
from incrowd.release.stage import PREFIX, audit_folder, sweep

KILLS = int(os.environ.get("INCROWD_KILLS", "200"))
POLICY = Policy(
    quasi_identifiers=["age", "sex"], sensitive=["ill"], privacy={"k": 3, "l": 2}, identifiers=["name"]
)
Order = dict[str, Any]
# What Python announces before it does it (sys.addaudithook); fsync and the rename are announced below.
OPERATIONS = {"open", "os.mkdir", "os.rename", "os.chmod", "os.utime", "os.remove", "os.rmdir", "fcntl.flock"}


# The warm process


def serve() -> NoReturn:
    """Fork a run for each order on standard input, kill it if so ordered, and tell how it ended."""
    table = Path(sys.argv[1])
    publish_to(table, POLICY, table.with_name("warm"))
    print(json.dumps("ready"), flush=True)  # noqa: T201
    for line in sys.stdin:
        print(json.dumps(_run(table, json.loads(line))), flush=True)  # noqa: T201
    sys.exit(0)


def _run(table: Path, order: Order) -> dict[str, Any]:
    started = time.perf_counter()
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        _child(table, order, tell)
    os.close(tell)
    if order.get("kill_after") is not None:
        time.sleep(order["kill_after"])
        os.kill(child, signal.SIGKILL)
    with os.fdopen(told) as file:
        said = file.read()
    status = os.waitpid(child, 0)[1]
    end = {"killed": os.WIFSIGNALED(status), "seconds": time.perf_counter() - started}
    return end | (json.loads(said) if said else {})


def _child(table: Path, order: Order, tell: int) -> NoReturn:
    destination = Path(order["out"])
    said: dict[str, Any] = {"error": ""}
    if "room" in order:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["room"], order["room"]))
    if "at" in order:
        _watch_operations(destination.parent, order["at"], order.get("errno", 0))
    try:
        publish_to(table, POLICY, destination, Form(order["format"], replace=order["replace"]))
    except BaseException as problem:
        said = {"error": type(problem).__name__, "words": str(problem)}
        said["expected"] = isinstance(problem, InputError | NotVerified)
    os.write(tell, json.dumps(said).encode())
    os._exit(0)


def _watch_operations(parent: Path, at: int, code: int) -> None:
    """Die before the given operation on a file below the folder; with a code, let it fail with that."""
    left = at

    def happen() -> None:
        nonlocal left
        left -= 1
        if left == 0 and not code:
            os.kill(os.getpid(), signal.SIGKILL)
        if left == 0:
            raise OSError(code, os.strerror(code))

    def listen(event: str, arguments: tuple[object, ...]) -> None:
        where = arguments[0] if arguments else None
        here = isinstance(where, str | bytes | Path) and os.fsdecode(where).startswith(str(parent))
        if event in OPERATIONS and (here or event == "fcntl.flock"):
            happen()

    def announced(call: Callable[..., Any]) -> Callable[..., Any]:
        def first_told(*arguments: Any) -> Any:
            happen()
            return call(*arguments)

        return first_told

    os.fsync = announced(os.fsync)
    stage._renameat2 = announced(stage._renameat2)
    sys.addaudithook(listen)


# Talking to it


class Server:
    """The warm process."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(table)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._answer() == "ready"

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def run(self, out: Path, format: str = "csv", replace: bool = False, **order: Any) -> Any:
        assert self._process.stdin is not None
        order |= {"out": str(out), "format": format, "replace": replace}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def stop(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    rng = random.Random(7)
    table = tmp_path_factory.mktemp("kills") / "table.csv"
    rows = [
        f"p{i},{rng.randint(20, 80)},{rng.choice('FM')},{rng.choice(['flu', 'cough', 'ulcer'])}"
        for i in range(80)
    ]
    table.write_text("\n".join(["name,age,sex,ill", *rows, ""]))
    warm = Server(table)
    yield warm
    warm.stop()


def stages(parent: Path) -> list[Path]:
    return list(parent.glob(PREFIX + "*"))


ACCEPTED: set[str] = set()  # what the verifier has seen, by a digest of every file


def assert_complete(release: Path, table: Path) -> None:
    """The verifier accepts it; the same bytes, which most kills leave, are verified once."""
    files = sorted(path for folder in (release, audit_folder(release)) for path in folder.glob("**/*"))
    seen = [(str(path.relative_to(release.parent)), path.is_file() and path.read_bytes()) for path in files]
    digest = hashlib.sha256(repr((table.read_bytes(), seen)).encode()).hexdigest()
    if digest not in ACCEPTED:
        verdict = verify(release, table, POLICY)
        assert verdict.passed, verdict.failures
        ACCEPTED.add(digest)


def assert_one_run(release: Path, table: Path) -> None:
    """Release and audit are complete and of one and the same run."""
    assert_complete(release, table)
    audit = json.loads((audit_folder(release) / "audit.json").read_text())
    assert audit["manifest"] == json.loads((release / "release.json").read_text())


def delays(server: Server, spare: Path, count: int) -> Iterator[float]:
    """Moments spread evenly over a run and a little beyond, in a random order.

    How long a run takes is measured again and again: other programs may come and go.
    """
    rng = random.Random(11)
    shares = [1.15 * (i + rng.random()) / count for i in range(count)]
    rng.shuffle(shares)
    for i, share in enumerate(shares):
        if i % 10 == 0:
            seconds = min(server.run(spare / f"timed-{i}-{again}")["seconds"] for again in range(2))
        yield share * seconds


# Kills


def test_killed_at_any_moment_a_run_leaves_a_complete_release_or_none(tmp_path: Path, server: Server) -> None:
    ends: Counter[str] = Counter()
    spare = tmp_path / "spare"
    spare.mkdir()
    for i, delay in enumerate(delays(server, spare, KILLS)):
        parent = tmp_path / str(i)
        parent.mkdir()
        server.run(parent / "out", kill_after=delay)
        left = len(stages(parent))
        ends["stage"] += left
        if (parent / "out").exists():
            ends["release"] += 1
            assert_one_run(parent / "out", server.table)
        assert sweep(parent) == left
        names = {path.name for path in parent.iterdir()}
        assert names in (set(), {"out", "out.audit"})
    # else the moments were badly spread and nothing was tried
    assert ends["stage"] > KILLS // 10
    assert ends["release"] > 0


def test_killed_while_replacing_the_old_or_the_new_one_is_there(tmp_path: Path, server: Server) -> None:
    out, spare = tmp_path / "here" / "out", tmp_path / "spare"
    spare.mkdir()
    out.parent.mkdir()
    server.run(out)
    changed = 0
    for delay in delays(server, spare, KILLS // 2):
        before = (out / "release.json").read_bytes()
        server.run(out, replace=True, kill_after=delay)
        assert_complete(out, server.table)
        sweep(out.parent)
        assert_one_run(out, server.table)
        assert stages(out.parent) == []
        changed += before != (out / "release.json").read_bytes()
    assert 0 < changed < KILLS // 2


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
def test_killed_before_each_operation(tmp_path: Path, server: Server, replace: bool) -> None:
    """The same without chance: once before every single operation on a file."""
    out = tmp_path / "out"
    if replace:
        server.run(out)
    for at in range(1, 500):
        old = (out / "release.json").read_bytes() if replace else b""
        end = server.run(out, replace=replace, at=at)
        if replace:
            assert_complete(out, server.table)
        if not end["killed"]:
            break
        committed = out.exists() and (out / "release.json").read_bytes() != old
        if committed:
            assert_one_run(out, server.table)
        sweep(tmp_path)
        assert stages(tmp_path) == []
        if out.exists():
            assert_one_run(out, server.table)
        else:
            assert list(tmp_path.iterdir()) == []
        if committed and not replace:
            clear(out)
    assert at > 30
    assert_one_run(out, server.table)


def clear(release: Path) -> None:
    for folder in (release, audit_folder(release)):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def test_the_next_run_sweeps_what_a_killed_one_left(tmp_path: Path, server: Server) -> None:
    for i in range(3):
        while not stages(tmp_path):
            server.run(tmp_path / "dead", at=25 + i)
        assert server.run(tmp_path / f"out-{i}")["error"] == ""
        assert stages(tmp_path) == []


# Failures


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=errno.errorcode.get)
def test_whichever_operation_fails_nothing_is_published(
    tmp_path: Path, server: Server, code: int, replace: bool
) -> None:
    """The n-th operation fails, for n = 1, 2, 3, … until the run gets through."""
    out = tmp_path / "out"
    if replace:
        server.run(out)
    failed = 0
    for at in range(1, 500):
        old = (out / "release.json").read_bytes() if replace else b""
        end = server.run(out, replace=replace, at=at, errno=code)
        if not end["error"]:
            if not stages(tmp_path) and failed > 20:
                break
            sweep(tmp_path)  # it failed to tidy up, after the release was there
            assert_one_run(out, server.table)
            if not replace:
                clear(out)
            continue
        failed += 1
        assert end["expected"], end
        assert end["error"] == "NotVerified" or "\n" not in end["words"]
        assert stages(tmp_path) == []
        if replace:
            assert (out / "release.json").read_bytes() == old
            assert_one_run(out, server.table)
        else:
            assert list(tmp_path.iterdir()) == []
    assert failed > 20


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, server: Server, format: str) -> None:
    """Real writes that fail half way: no file may grow beyond so many bytes."""
    whole = server.run(tmp_path / "whole", format)
    assert whole["error"] == ""
    largest = max(path.stat().st_size for path in tmp_path.glob("whole*/*"))
    for room in (0, 1, 100, largest // 2, largest - 1):
        end = server.run(tmp_path / "other", format, room=room)
        assert end["expected"], end
        assert "\n" not in end["words"]
        assert {path.name for path in tmp_path.iterdir()} == {"whole", "whole.audit"}
    assert server.run(tmp_path / "other", format, room=10 * largest)["error"] == ""


if __name__ == "__main__":
    serve()
