"""INT, TERM and HUP at chosen points: one sentence, exit code 1, nothing left; or the release is all there.

Nothing depends on time: a process sends itself the signal at the n-th function that Python calls, from the
first import to the last line at exit, or at a place that a test names.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from incrowd.commands.verify import verify
from incrowd.examples import write_example
from incrowd.long_work import STOPPED
from incrowd.system import SIGNALS

SENTENCE = f"incrowd: {STOPPED}\n"
POINTS = int(os.environ.get("INCROWD_SIGNALS", "5"))  # of a run, for each command

# Count calls of Python functions and send the signal at one of them; 0 only counts.
AT_CALL = """
import atexit, os, signal, sys
import incrowd.long_work
number, at = int(sys.argv[1]), int(sys.argv[2])
sys.argv[:] = ["incrowd", *sys.argv[3:]]
seen = 0
def count(frame, event, argument):
    global seen
    if event == "call":
        seen += 1
        if seen == at:
            sys.setprofile(None)
            os.kill(os.getpid(), number)
if at == 0:
    atexit.register(lambda: os.write(1, f"calls {seen}".encode()))
incrowd.long_work.install()
sys.setprofile(count)
from incrowd import _command_line
_command_line()
"""

# Around what a script does before the command runs: `send` sends the signal, and waits for it to be noticed.
AROUND = """
import atexit, os, sys
from incrowd import _command_line
from incrowd.publishing import draft, pipeline
from incrowd.release import stage
number = int(sys.argv.pop(1))
def send():
    os.kill(os.getpid(), number)
    for _ in range(1000):
        pass
def before(module, name, do):
    real = getattr(module, name)
    def changed(*words):
        do()
        return real(*words)
    setattr(module, name, changed)
{}
_command_line()
"""

# Send the signal inside a destructor, where Python would swallow the interrupt and go on.
IN_DESTRUCTOR = AROUND.format("""
class Torn:
    def __del__(self):
        send()
before(draft, "encode", Torn)
""")

# Others' code that swallows everything: the interrupt is noticed before the release gets its name.
SWALLOWED = AROUND.format("""
def swallow():
    try:
        send()
    except BaseException:
        pass
before(pipeline, "_verified", swallow)
""")

# In the middle of a commit: it waits, and then it is too late.
IN_COMMIT = AROUND.format("""
before(stage, "_rename", lambda: os.kill(os.getpid(), number))
""")

# Twice: the second one comes while the first is being answered.
TWICE = AROUND.format("""
def first():
    before(stage, "_discard", lambda: os.kill(os.getpid(), number))
    send()
before(pipeline, "_verified", first)
""")

AT_EXIT = AROUND.format("""
atexit.register(lambda: os.kill(os.getpid(), number))
""")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example(tmp_path_factory.mktemp("clinic"), rows=60)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def run(script: str, place: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=place,
        env={**os.environ, "TMPDIR": str(place.parent / "tmp")},
        start_new_session=True,
    )


def left(place: Path) -> list[str]:
    return sorted(path.name for path in [*place.iterdir(), *(place.parent / "tmp").iterdir()])


def publishing(clinic: Path) -> tuple[object, ...]:
    few = ("-k", 3, "--accept", "near-unique-sensitive")
    return "publish", clinic / "patients.csv", "-p", clinic / "policy.toml", *few, "-o", "out"


def assert_stopped(ran: subprocess.CompletedProcess[str], place: Path) -> None:
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", SENTENCE)
    assert left(place) == []


def assert_published(ran: subprocess.CompletedProcess[str], place: Path, clinic: Path) -> None:
    assert (ran.returncode, ran.stderr) == (0, "")
    assert left(place) == ["out", "out.audit"]
    assert verify(place / "out", clinic / "patients.csv").passed


@pytest.fixture(scope="module")
def calls(clinic: Path, tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many functions a run calls to which no signal is sent."""
    parent = tmp_path_factory.mktemp("whole")
    (parent / "work").mkdir()
    (parent / "tmp").mkdir()
    whole = run(AT_CALL, parent / "work", int(signal.SIGINT), 0, *publishing(clinic))
    return int(whole.stdout.split("calls ")[1])


@pytest.mark.parametrize("sent", SIGNALS, ids=lambda sent: sent.name)
def test_wherever_a_signal_comes_it_is_one_sentence_or_a_whole_release(
    clinic: Path, place: Path, calls: int, sent: signal.Signals
) -> None:
    """From the first import over the last line: points spread evenly over all calls of a run."""
    assert calls > 10_000
    wanted = max(POINTS // 3, 2)
    ends = []
    for point in range(wanted):
        parent = place.parent / f"{sent.name}-{point}"
        (parent / "work").mkdir(parents=True)
        (parent / "tmp").mkdir()
        at = 1 + point * (calls - 1) // (wanted - 1)
        ran = run(AT_CALL, parent / "work", int(sent), at, *publishing(clinic))
        assert "Traceback" not in ran.stderr, at
        if ran.returncode == 0:
            assert_published(ran, parent / "work", clinic)
        else:
            assert_stopped(ran, parent / "work")
        ends.append(ran.returncode)
    assert 1 in ends


SWALLOWERS = {
    "destructor": (IN_DESTRUCTOR, signal.SIGINT),
    "swallowed": (SWALLOWED, signal.SIGTERM),
    "twice": (TWICE, signal.SIGHUP),
}


@pytest.mark.parametrize("how", SWALLOWERS)
def test_an_interrupt_that_python_would_swallow_still_ends_the_run(
    clinic: Path, place: Path, how: str
) -> None:
    script, sent = SWALLOWERS[how]
    assert_stopped(run(script, place, int(sent), *publishing(clinic)), place)


@pytest.mark.parametrize("script", [IN_COMMIT, AT_EXIT], ids=["commit", "exit"])
def test_after_the_last_step_has_begun_a_signal_comes_too_late(
    clinic: Path, place: Path, script: str
) -> None:
    assert_published(run(script, place, int(signal.SIGINT), *publishing(clinic)), place, clinic)


def test_a_signal_that_the_parent_ignores_is_ignored(clinic: Path, place: Path) -> None:
    """As nohup does for HUP."""
    sent = int(signal.SIGHUP)
    ignoring = f"import signal; signal.signal({sent}, signal.SIG_IGN)\n" + IN_DESTRUCTOR
    assert_published(run(ignoring, place, sent, *publishing(clinic)), place, clinic)


def test_a_parquet_reader_does_not_outlive_a_run_that_was_killed(tmp_path: Path) -> None:
    """The kernel ends it with its parent; nobody else could."""
    script = (
        "import os, signal, subprocess, sys\n"
        "from incrowd.tables import parquet_child\n"
        "child = subprocess.Popen([sys.executable, '-c', 'from incrowd.tables import parquet_child as p\\n"
        "p.end_with_parent(); print(flush=True)\\nwhile True: pass'], stdout=-1)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    child = int(ran.stdout)
    try:
        for _ in range(10_000_000):
            if Path(f"/proc/{child}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                break
    except FileNotFoundError:
        pass
    else:
        state = Path(f"/proc/{child}/stat")
        assert not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z"
