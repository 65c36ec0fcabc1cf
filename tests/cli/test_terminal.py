"""The command line in processes and terminals of its own: streams, progress, Ctrl-C."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.commands import asked, incrowd

from incrowd import long_work
from incrowd.cli import screen
from incrowd.examples import write_example
from incrowd.long_work import Progress, silent
from incrowd.policy import Policy
from incrowd.publishing.pipeline import publish_to


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Patients and their policy, and a release. Nobody may change them."""
    folder = write_example(tmp_path_factory.mktemp("clinic"), rows=400)
    assert incrowd("publish", *asked(folder), "-o", folder / "csv").code == 0
    return folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: object, script: str = "main()", **more: Any) -> subprocess.Popen[str]:
    """The command line in a process of its own, after some lines of Python."""
    lines = f"from incrowd.cli import main, screen\n{script}"
    return subprocess.Popen(
        [sys.executable, "-c", lines, *map(str, words)], text=True, **{"stdout": -1, "stderr": -1, **more}
    )


def test_a_reader_that_leaves_does_not_change_the_exit_code(clinic: Path) -> None:
    good = run("verify", clinic / "csv", "--original", clinic / "patients.csv")
    assert good.stdout is not None
    good.stdout.close()
    assert good.stderr is not None
    assert (good.stderr.read(), good.wait()) == ("", 0)
    good.stderr.close()


def test_a_terminal_that_knows_no_accents(place: Path) -> None:
    Path("t.csv").write_text("\u00e2ge\n" + "1\n" * 5, encoding="utf-8")
    words = ("publish", "t.csv", "--qi", "\u00e2ge", "-k", "2", "-o")
    poor = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"}
    for more in ((), ("--json",)):
        ran = run(*words, f"out{len(more)}", *more, env=poor)
        out, err = ran.communicate()
        assert (ran.returncode, err) == (0, "")
        assert out.isascii()
    assert json.loads(out)["manifest"]["columns"][0]["name"] == "\u00e2ge"


def test_a_full_disk_behind_standard_output_is_told() -> None:
    for more in ((), ("--json",)):
        with open("/dev/full", "w") as full:
            ran = run("methods", *more, stdout=full)
            assert "No space left" in ran.communicate()[1]
        assert ran.returncode == 2


# Names that are not ours


NASTY = "a\x1b[2J\x1b]0:x\x07[/bold]:smile:"


def test_names_do_not_command_the_terminal(place: Path) -> None:
    """A header may hold escape sequences, or what a library takes for markup."""
    table = Path("[red]\x1b[2J.csv")
    table.write_text(f"{NASTY},age\n" + "".join(f"x,{i % 9}\n" for i in range(40)))
    Path("p.toml").write_text(f"quasi_identifiers = [{json.dumps(NASTY)}, 'age']\nprivacy = {{k = 4}}\n")
    good = [
        incrowd("inspect", table),
        incrowd("publish", table, "-p", "p.toml", "-o", "out"),
        incrowd("verify", "out", "--original", table),
        incrowd("measure", "out", "--original", table),
    ]
    bad = [incrowd("publish", table, "--qi", "age", "-k", 4, "-o", "no"), incrowd("inspect", "\x1b.csv")]
    assert ([ran.code for ran in good], [ran.code for ran in bad]) == ([0] * 4, [2] * 2)
    for ran in (*good, *bad):
        assert not [sign for sign in ran.out + ran.err if not sign.isprintable() and sign != "\n"]
    assert "a\\x1b[2J" in good[0].out
    assert "[/bold]:smile:" in bad[0].err


COMMANDS = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u2028", "\u2029"]


def test_json_does_not_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Controls of C0 and C1 come out escaped, wherever they stand, and a machine reads them back."""
    content = {f"a{sign}b": [f"{sign}2J", {"c": sign}] for sign in COMMANDS}
    screen.print_json(content)
    shown = capsys.readouterr().out
    assert {sign for sign in shown if sign in COMMANDS} == {"\n"}, "lines of the document, and nothing else"
    assert json.loads(shown) == content


def test_json_of_a_command_escapes_names_of_columns_and_files(place: Path) -> None:
    Path("t\x9b.csv").write_text("a\x9b2J,b\x85c\n" + "1,2\n" * 5, encoding="utf-8")
    found = incrowd("inspect", "t\x9b.csv", "--json")
    assert found.code == 0, found.err
    assert not {"\x9b", "\x85"} & set(found.out)
    assert "a\x9b2J" in json.dumps(found.json, ensure_ascii=False)
    missing = incrowd("inspect", "none\x9b.csv", "--json")
    assert missing.code != 0
    assert "\x9b" not in missing.out + missing.err
    assert "none\x9b.csv" in missing.json["error"]


def test_the_next_step_can_be_pasted(place: Path) -> None:
    Path("my table.csv").write_text("age\n" + "1\n" * 5)
    ran = incrowd("publish", "my table.csv", "--qi", "age", "-k", 2, "-o", "my release")
    line = ran.out[ran.out.index("Next: ") :].splitlines()[0]
    assert incrowd(*shlex.split(line)[2:]).code == 0


# Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(seconds: float, patience: float, quiet: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """What appears on a terminal while a step takes some time."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(screen, "PATIENCE", patience)
    with screen.watching(quiet) as watch:
        watch("read")
        progress = watch("group")
        progress(0.4)
        time.sleep(seconds)
    return terminal.getvalue()


def test_a_bar_with_the_time_left_appears_once_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(0.5, 0.05, False, monkeypatch)
    assert long_work.STEPS["group"] in seen
    assert "40 %" in seen
    assert re.search(r"\d:\d\d:\d\d", seen)


def test_quick_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert screen.PATIENCE == 2.0
    assert watched(0.0, 2.0, False, monkeypatch).strip() == ""


def test_machines_see_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(0.2, 0.0, True, monkeypatch) == ""


def test_every_step_of_a_release_has_words(clinic: Path, place: Path) -> None:
    steps: list[str] = []

    def watch(step: str) -> Progress:
        steps.append(step)
        return silent

    publish_to(clinic / "patients.csv", Policy.load(clinic / "policy.toml"), "out", watch=watch)
    assert steps == ["read", "encode", "group", "generalize", "write", "verify", "measure"]
    assert set(steps) <= set(long_work.STEPS)


def test_on_a_terminal_the_bar_goes_to_standard_error_only(clinic: Path, place: Path) -> None:
    try:
        ours, theirs = pty.openpty()
    except OSError:
        pytest.skip("this machine has no pseudo-terminals: the bar on a terminal is not checked")
    ran = run("publish", *asked(clinic), "-o", "out", script="screen.PATIENCE = 0.0; main()", stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):  # while it runs, or a slow run fills the terminal and waits
            seen += piece
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    out, _ = ran.communicate()
    assert ran.returncode == 0
    assert long_work.STEPS["verify"] in seen.decode()
    assert "\x1b" not in out
    assert out.startswith("Published 400 rows")


# Ctrl-C

SLOW = """
import sys, time
from incrowd.publishing import {place}
def slow(*_):
    print("now", file=sys.stderr, flush=True)
    time.sleep(60)
{place}.{step} = slow
main()
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
@pytest.mark.parametrize(("module", "step"), [("draft", "encode"), ("pipeline", "_verified")])
@pytest.mark.usefixtures("place")
def test_ctrl_c_leaves_nothing(module: str, step: str, sent: signal.Signals, clinic: Path) -> None:
    ran = run("publish", *asked(clinic), "-o", "out", script=SLOW.format(place=module, step=step))
    assert ran.stderr is not None
    assert ran.stderr.readline() == "now\n"
    staged = os.listdir()
    ran.send_signal(sent)
    out, err = ran.communicate(timeout=30)
    assert (ran.returncode, out, err) == (1, "", "incrowd: stopped; nothing was published\n")
    assert staged or step == "encode"  # at the end there is a stage to clear away
    assert not os.listdir()
