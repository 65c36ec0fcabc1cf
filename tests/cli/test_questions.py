"""`inspect --ask`: questions on a terminal, answers in the policy, one sentence where there is none."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.commands import incrowd

QUESTIONS = 3
BREAK = b"\x03"  # Ctrl-C
PATIENCE, MOST_WAITS = 3, 40  # seconds, and how often so many
# The terminal becomes that of the process, so that Ctrl-C is a signal, also where tests ignore it.
PROGRAM = """
import fcntl, signal, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from incrowd.cli import main
main()
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [
        f"{20 + i % 40},{i % 5},{['red', 'blue'][i % 2]},{i % 7},{['flu', 'cold'][i % 2]}" for i in range(120)
    ]
    path = tmp_path / "t.csv"
    path.write_text("age,q17,colour,q18x,diagnosis\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def at_a_terminal(words: list[object], answers: bytes) -> tuple[int, str]:
    """Run the command line in a terminal; an answer is typed whenever it asks."""
    try:
        ours, theirs = pty.openpty()
    except OSError:
        pytest.skip("this machine has no pseudo-terminals: questions are not checked")
    program = [sys.executable, "-c", PROGRAM, *map(str, words)]
    ran = subprocess.Popen(program, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    seen, typed, last, waits = b"", answers.split(b"|"), b"", 0
    while True:
        ready, _, _ = select.select([ours], [], [], PATIENCE)
        if not ready and waits < MOST_WAITS:
            waits += 1
            if last == BREAK:  # before the answer is read, Python takes note of a signal and goes on to read
                os.write(ours, BREAK)
            continue
        if not ready:
            ran.kill()
            ran.wait()
            pytest.fail(f"it neither asks nor ends: {seen.decode(errors='replace')}")
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
        if seen.endswith(b"hold back] ") and typed:
            last = typed.pop(0)
            os.write(ours, last)
    os.close(ours)
    return ran.wait(), seen.decode().replace("\r\n", "\n")


def test_answers_are_recorded_in_the_policy(table: Path, tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    code, seen = at_a_terminal(["inspect", table, "-o", policy, "--ask"], b"k\n|maybe\n|p\n|\n")
    assert code == 0, seen
    assert f"(1 of {QUESTIONS}) q17 (numeric, 5 values): could a neighbour" in " ".join(seen.split())
    assert seen.count("hold back] ") == QUESTIONS + 1  # what nobody understands is asked again
    text = policy.read_text(encoding="utf-8")
    said = tomllib.loads(text)
    assert list(said["quasi_identifiers"]) == ["age", "q17"]
    assert said["sensitive"] == ["colour", "diagnosis"]
    assert said["undecided"] == ["q18x"]
    assert "# answered: somebody could know it" in text
    assert "# answered: nobody knows it, it is private" in text
    ran = incrowd("publish", table, "-p", policy, "-o", tmp_path / "out")
    assert ran.code == 0
    assert "not published: q18x; undecided" in ran.out


def test_whoever_leaves_holds_back_the_rest(table: Path, tmp_path: Path) -> None:
    code, seen = at_a_terminal(["inspect", table, "-o", tmp_path / "p.toml", "--ask"], b"d\n|\x04")
    assert code == 0, seen
    said = tomllib.loads((tmp_path / "p.toml").read_text(encoding="utf-8"))
    assert said["drop"] == ["q17"]
    assert said["undecided"] == ["colour", "q18x"]


def test_whoever_breaks_off_gets_no_policy(table: Path, tmp_path: Path) -> None:
    code, seen = at_a_terminal(["inspect", table, "-o", tmp_path / "p.toml", "--ask"], b"k\n|" + BREAK)
    assert code == 1, seen
    assert "Traceback" not in seen
    assert not (tmp_path / "p.toml").exists()


def test_without_a_terminal_nobody_is_asked(table: Path, tmp_path: Path) -> None:
    for more in ((), ("--json",)):
        ran = incrowd("inspect", table, "-o", tmp_path / "p.toml", "--ask", *more)
        assert ran.code == 2
        assert "--ask needs a terminal, where somebody answers" in ran.err + ran.out
    assert not (tmp_path / "p.toml").exists()


def test_answers_need_a_policy_to_be_recorded_in(table: Path) -> None:
    code, seen = at_a_terminal(["inspect", table, "--ask"], b"")
    assert code == 2
    assert "name its file with -o" in " ".join(seen.split())


def test_a_plain_list_of_what_is_undecided(table: Path) -> None:
    ran = incrowd("inspect", table)
    shown = " ".join(ran.out.split())
    assert "Held back, not published until you say what they are: q17, colour, q18x." in shown


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Ten coded answers, the year of birth among them, and a column without a number."""
    names = [f"q{i}" for i in range(1, 11)]
    lines = [",".join(["age", *names, "colour"])]
    for i in range(120):
        answers = [str(1930 + i % 60) if name == "q4" else str(1 + (i + len(name)) % 5) for name in names]
        lines.append(",".join([str(20 + i % 40), *answers, ["red", "blue"][i % 2]]))
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_coded_answers_of_one_series_are_asked_about_at_once(survey: Path, tmp_path: Path) -> None:
    """What has many values is asked about by itself: it is no answer like the others."""
    code, seen = at_a_terminal(["inspect", survey, "-o", tmp_path / "p.toml", "--ask"], b"p\n|k\n|\n")
    assert code == 0, seen
    shown = " ".join(seen.split())
    assert "(1 of 11) q1, q2, q3, q5 to q10 (9 columns of at most 5 values): could a neighbour" in shown
    assert "(10 of 11) q4 (numeric, 60 values): could a neighbour" in shown
    said = tomllib.loads((tmp_path / "p.toml").read_text(encoding="utf-8"))
    assert said["sensitive"] == [f"q{i}" for i in (1, 2, 3, *range(5, 11))]
    assert list(said["quasi_identifiers"]) == ["age", "q4"]
    assert said["undecided"] == ["colour"]


def test_a_series_can_be_asked_about_one_by_one(survey: Path, tmp_path: Path) -> None:
    answers = b"e\n|k\n|" + b"p\n|" * 8 + b"d\n|d\n"
    code, seen = at_a_terminal(["inspect", survey, "-o", tmp_path / "p.toml", "--ask"], answers)
    assert code == 0, seen
    assert "(2 of 11) q2 (numeric, 5 values)" in " ".join(seen.split())
    said = tomllib.loads((tmp_path / "p.toml").read_text(encoding="utf-8"))
    assert list(said["quasi_identifiers"]) == ["age", "q1"]
    assert said["sensitive"] == [f"q{i}" for i in (2, 3, *range(5, 11))]
    assert said["drop"] == ["q4", "colour"]
