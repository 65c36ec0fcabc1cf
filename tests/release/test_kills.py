"""Runs that are killed, or whose n-th operation fails: a complete release, or none.

Real runs of `publish_to`, forked from a warm process that has everything imported and compiled. Started as
a script, this file is that process. Kills come before the n-th system call that writes
(`support.writing_calls`) or, where calls cannot be counted, before the n-th operation that Python announces.
"""

from __future__ import annotations

import errno
import gc
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from support.night import NIGHT
from support.writing_calls import reason_not_to_run, traced

from incrowd import tables
from incrowd.commands.verify import verify
from incrowd.engines.resources import Resources
from incrowd.errors import InputError, NotVerified
from incrowd.policy import Policy
from incrowd.publishing.large import publish_large
from incrowd.publishing.large_series import publish_large_next
from incrowd.publishing.pipeline import Form, publish_next, publish_to
from incrowd.publishing.series import Continued
from incrowd.release import stage
from incrowd.release.stage import PREFIX, SUCCESSOR, audit_folder, sweep

Order = dict[str, Any]
KILLS = int(os.environ.get("INCROWD_KILLS", "4"))  # of each kind of run; 0 kills it at every single call
# By day every fourth operation is killed or fails; by night all.
STEP = 4 if KILLS else 1
ROLES: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "sensitive": ["ill"], "identifiers": ["name"]}
POLICY = Policy(**ROLES, privacy={"k": 3, "l": 2})
WIDEST = Policy(**ROLES, privacy={"k": 3}, options={"choose": "widest"})
BUCKETS = Policy(**ROLES, privacy={"k": 2, "l": 2}, method="anatomy", accept=["exact-rows"])
SERIES = Policy(**{**ROLES, "identifiers": []}, entity="name", privacy={"k": 3}, series={})
POLICIES = {"plain": POLICY, "widest": WIDEST, "buckets": BUCKETS, "series": SERIES}
# Every kind of run that writes in a way of its own: what is read, by which policy, in which format.
KINDS: dict[str, Order] = {
    "csv": {},
    "parquet": {"format": "parquet"},
    "typed": {"format": "parquet", "typed": True},
    "engine": {"source": "table.parquet", "policy": "widest", "engine": True},
    "buckets": {"policy": "buckets"},
    "from-parquet": {"source": "table.parquet", "policy": "widest", "format": "parquet"},
}
# What Python announces before it does it (sys.addaudithook); fsync and the rename are announced below.
OPERATIONS = {"open", "os.mkdir", "os.rename", "os.chmod", "os.utime", "os.remove", "os.rmdir", "fcntl.flock"}


# The warm process


def serve() -> NoReturn:
    """Fork a run for each order on standard input, kill it if so ordered, and tell how it ended."""
    table = Path(sys.argv[1])
    for name, kind in KINDS.items():
        _publish(table, kind | {"out": table.with_name(f"warm-{name}"), "replace": False})
    gc.freeze()  # a run that looks for garbage would copy every page of this process
    print(json.dumps("ready"), flush=True)  # noqa: T201
    for line in sys.stdin:
        print(json.dumps(_run(table, json.loads(line))), flush=True)  # noqa: T201
    sys.exit(0)


def _run(table: Path, order: Order) -> dict[str, Any]:
    told, tell = os.pipe()
    if "call" in order:
        os.close(told)
        seen = traced(lambda: _child(table, order, tell), order["call"])
        os.close(tell)
        return {"killed": seen.killed, "calls": seen.calls, "made": seen.made, "last": seen.last}
    child = os.fork()
    if child == 0:
        _child(table, order, tell)
    os.close(tell)
    with os.fdopen(told) as file:
        said = file.read()
    status = os.waitpid(child, 0)[1]
    return {"killed": os.WIFSIGNALED(status)} | (json.loads(said) if said else {})


def _child(table: Path, order: Order, tell: int) -> NoReturn:
    destination = Path(order["out"])
    said: dict[str, Any] = {"error": ""}
    if "room" in order:
        resource.setrlimit(resource.RLIMIT_FSIZE, (order["room"], order["room"]))
    if "at" in order:
        _watch_operations(destination.parent, order["at"], order.get("errno", 0))
    try:
        _publish(table, order)
    except BaseException as problem:
        said = {"error": type(problem).__name__, "words": str(problem)}
        said["expected"] = isinstance(problem, InputError | NotVerified)
    os.write(tell, json.dumps(said).encode())
    os._exit(0)


def _publish(table: Path, order: Order) -> None:
    source = table.with_name(order.get("source", table.name))
    form = Form(order.get("format", "csv"), order.get("typed", False), order["replace"])
    policy = POLICIES[order.get("policy", "plain")]
    if order.get("engine") and policy.series is not None:
        after = Continued(Path(order["after"]) if "after" in order else None)
        publish_large_next(source, policy, order["out"], after, form, Resources(512_000_000, 1))
    elif order.get("engine"):
        publish_large(source, policy, order["out"], form, Resources(512_000_000, 1))
    elif "after" in order:
        publish_next(source, policy, order["out"], Continued(Path(order["after"])), form)
    else:
        publish_to(source, policy, order["out"], form)


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
        self.elsewhere = table.with_name("elsewhere")
        for name in ("cwd", "tmp", "home"):
            (self.elsewhere / name).mkdir(parents=True)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(table)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.elsewhere / "cwd",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **self._folders()},
        )
        assert self._answer() == "ready"

    def _folders(self) -> dict[str, str]:
        """Where a program would leave things: all of them are looked at after a kill."""
        names = {"TMPDIR": "tmp", "TMP": "tmp", "TEMP": "tmp", "HOME": "home", "XDG_CACHE_HOME": "home"}
        return {name: str(self.elsewhere / folder) for name, folder in names.items()}

    def left_elsewhere(self) -> list[Path]:
        """What lies in the common folders: for temporary files, at home, and where it was started."""
        return [path for folder in self.elsewhere.iterdir() for path in folder.iterdir()]

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
    tables.write_parquet(tables.read(table), table.with_suffix(".parquet"))
    warm = Server(table)
    yield warm
    warm.stop()


def stages(parent: Path) -> list[Path]:
    return list(parent.glob(PREFIX + "*"))


ACCEPTED: set[str] = set()  # what the verifier has seen, by a digest of every file


def assert_complete(release: Path, table: Path, policy: Policy = POLICY) -> None:
    """The verifier accepts it; the same bytes, which most kills leave, are verified once."""
    files = sorted(path for folder in (release, audit_folder(release)) for path in folder.glob("**/*"))
    seen = [(str(path.relative_to(release.parent)), path.is_file() and path.read_bytes()) for path in files]
    digest = hashlib.sha256(repr((table.read_bytes(), seen)).encode()).hexdigest()
    if digest not in ACCEPTED:
        verdict = verify(release, table, policy)
        assert verdict.passed, verdict.failures
        ACCEPTED.add(digest)


def assert_one_run(release: Path, table: Path, policy: Policy = POLICY) -> None:
    """Release and audit are complete and of one and the same run."""
    assert_complete(release, table, policy)
    audit = json.loads((audit_folder(release) / "audit.json").read_text())
    assert audit["manifest"] == json.loads((release / "release.json").read_text())


# Kills at every system call that writes


def sampled(calls: int, wanted: int) -> list[int]:
    """The calls to be killed at: all, or some spread evenly over the run, the last ones of which commit."""
    if wanted == 0 or calls <= wanted:
        return list(range(1, calls + 1))
    last = wanted // 2
    spread = [1 + i * (calls - last) // (wanted - last) for i in range(wanted - last)]
    return [*spread, *range(calls - last + 1, calls + 1)]


@pytest.fixture(scope="module")
def _counted() -> None:
    if reason := reason_not_to_run():
        pytest.skip(f"{reason}; kills at system calls are not tried")


@pytest.mark.usefixtures("_counted")
@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_a_call_that_writes_a_run_leaves_a_complete_release_or_none(
    tmp_path: Path, server: Server, kind: str, replace: bool
) -> None:
    """A stage beside the destination at most, nothing elsewhere, and the next run sweeps it."""
    order, spare = KINDS[kind], tmp_path / "spare"
    spare.mkdir()
    if replace:
        server.run(spare / "out", **order)
    whole = server.run(spare / "out", replace=replace, call=0, **order)
    assert not whole["killed"]
    assert whole["calls"] > 20
    outside = {path for path in whole["made"] if not path.startswith(str(spare)) and path != "/dev/null"}
    assert not outside - {"/dev/stdout"}, "something is written elsewhere"
    table = server.table.with_name(order.get("source", server.table.name))
    policy = POLICIES[order.get("policy", "plain")]
    released = killed = 0
    wanted = min(KILLS, 2) if "parquet" in str(order) else KILLS  # Parquet takes a second to start
    for call in sampled(whole["calls"], wanted):
        parent = tmp_path / str(call)
        parent.mkdir()
        out = parent / "out"
        if replace:
            shutil.copytree(spare / "out", out)
            shutil.copytree(audit_folder(spare / "out"), audit_folder(out))
        ended = server.run(out, replace=replace, call=call, **order)
        killed += ended["killed"]
        assert ended["killed"] or order.get("engine")  # DuckDB may need a call more or less than before
        assert server.left_elsewhere() == []
        names = {path.name for path in parent.iterdir() if not path.name.startswith(PREFIX)}
        assert names <= {"out", "out.audit"}
        assert len(stages(parent)) <= 1
        if out.exists() and contents(out) != contents(spare / "out"):  # visible, and not the old one
            assert_complete(out, table, policy)
        left = len(stages(parent))
        assert sweep(parent) == left
        assert not stages(parent)
        if out.exists():
            assert_one_run(out, table, policy)
            released += 1
        else:
            assert not list(parent.iterdir())
        shutil.rmtree(parent)
    assert killed > 0
    assert released > 0, "no kill came after the commit: the calls were badly counted"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.usefixtures("_counted")
def test_the_counting_sees_what_a_run_writes_elsewhere(tmp_path: Path) -> None:
    """A control: a file in the common folder for temporary files would be noticed."""
    stray = tmp_path / "stray"
    seen = traced(lambda: stray.write_text("codes of quasi-identifiers"), 0)
    assert seen.made == [str(stray)]
    assert traced(lambda: stray.write_text("x"), 2).last == "write"


@pytest.mark.parametrize("engine", [False, True] if NIGHT else [False], ids=str)
def test_killed_anywhere_release_ledger_and_mark_are_all_there_or_none(
    tmp_path: Path, server: Server, engine: bool
) -> None:
    """The next release of a series, in memory or with DuckDB: a kill leaves the old state or the new one."""
    first, out = tmp_path / "first", tmp_path / "out"
    how: Order = {"engine": True, "source": "table.parquet"} if engine else {}
    server.run(first, policy="series", **how)
    killed = 0
    for at in range(1, 1000, STEP):
        end = server.run(out, at=at, policy="series", after=str(first), **how)
        killed += end["killed"]
        sweep(tmp_path)
        there = [out.exists(), audit_folder(out).exists(), (audit_folder(first) / SUCCESSOR).exists()]
        assert all(there) or not any(there)
        if out.exists():
            assert_one_run(out, server.table.with_name(how.get("source", server.table.name)), SERIES)
            break
    assert killed > 10
    assert out.exists()


@pytest.mark.usefixtures("_counted")
def test_killed_at_a_call_that_writes_the_next_release_of_a_series_is_whole_or_none(
    tmp_path: Path, server: Server
) -> None:
    """Release, ledger and the mark in the parent's audit: all new, or all old and the parent as it was."""
    spare = tmp_path / "spare"
    order: Order = {"policy": "series"}
    spare.mkdir()
    server.run(spare / "first", **order)
    shutil.copytree(spare, tmp_path / "kept")
    whole = server.run(spare / "out", call=0, after=str(spare / "first"), **order)
    assert not whole["killed"]
    released = killed = 0
    for call in sampled(whole["calls"], KILLS):
        parent = tmp_path / str(call)
        shutil.copytree(tmp_path / "kept", parent)
        first, out = parent / "first", parent / "out"
        killed += server.run(out, call=call, after=str(first), **order)["killed"]
        assert server.left_elsewhere() == []
        sweep(parent)
        assert not stages(parent)
        mark = audit_folder(first) / SUCCESSOR
        there = [out.exists(), audit_folder(out).exists(), mark.exists()]
        assert all(there) or not any(there)
        if out.exists():
            assert_one_run(out, server.table, SERIES)
            assert json.loads(mark.read_text())["folder"] == "out"
            mark.unlink()
            released += 1
        for name in ("first", "first.audit"):
            assert contents(parent / name) == contents(tmp_path / "kept" / name)
        shutil.rmtree(parent)
    assert killed > 0
    assert released > 0, "no kill came after the commit: the calls were badly counted"


# Kills at every operation that Python announces: the same where calls cannot be counted


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
def test_killed_before_each_operation(tmp_path: Path, server: Server, replace: bool) -> None:
    """The same without chance: before every single operation on a file, if system calls cannot be counted."""
    step = 1 if reason_not_to_run() else STEP
    out = tmp_path / "out"
    if replace:
        server.run(out)
    for at in range(1, 500, step):
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
    out, step = tmp_path / "out", STEP
    if replace:
        server.run(out)
    failed = 0
    for at in range(1, 500, step):
        old = (out / "release.json").read_bytes() if replace else b""
        end = server.run(out, replace=replace, at=at, errno=code)
        if not end["error"]:
            if not stages(tmp_path) and failed > 20 // step:
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
    assert failed > 20 // step


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, server: Server, format: str) -> None:
    """Real writes that fail half way: no file may grow beyond so many bytes."""
    whole = server.run(tmp_path / "whole", format)
    assert whole["error"] == ""
    largest = max(path.stat().st_size for path in tmp_path.glob("whole*/*"))
    # A little less than the largest: some files hold times and draws, and differ by a few bytes.
    for room in (0, 1, 100, largest // 2, largest - largest // 20):
        end = server.run(tmp_path / "other", format, room=room)
        assert end["expected"], end
        assert "\n" not in end["words"]
        assert {path.name for path in tmp_path.iterdir()} == {"whole", "whole.audit"}
    assert server.run(tmp_path / "other", format, room=10 * largest)["error"] == ""


if __name__ == "__main__":
    serve()
