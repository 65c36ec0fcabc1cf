"""Wrong requests: one message that says what, which and what now, no cell of the table, nothing written."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.bad_requests import EVERY_BAD, ROWS, Bad, csv, policy
from support.commands import Ran, incrowd, listing

MARK = re.compile(r"zq[A-Z]|73[0-9]{3}|77777")  # how the cells of the tables look


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in, and another that all temporary files go to and that must be empty in the end."""
    work, spare = tmp_path / "work", tmp_path / "spare"
    work.mkdir()
    spare.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(spare))
    yield work
    assert not list(spare.iterdir())


def lay(folder: Path, bad: Bad) -> None:
    for name, content in {"t.csv": csv(), "p.toml": policy(), **bad.files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def check_refused(ran: Ran, bad: Bad) -> None:
    message = ran.err
    assert ran.code == bad.code, message
    assert not ran.out
    assert message.startswith(("incrowd: ", "Usage: ")), message
    assert not re.search("Traceback|internal error", message), message
    assert message.count("incrowd: ") <= 1
    assert all(words in message for words in bad.says), (bad.says, message)
    assert not MARK.search(message), message


def test_every_cell_carries_a_mark() -> None:
    assert all(MARK.search(cell) for row in ROWS for cell in row)


def test_the_request_that_all_others_spoil_is_granted(place: Path) -> None:
    good = Bad("good", ())
    lay(place, good)
    assert incrowd(*good.words).code == 0
    assert {path.name for path in place.iterdir()} == {"t.csv", "p.toml", "out", "out.audit"}


@pytest.mark.parametrize("bad", EVERY_BAD[::7], ids=lambda bad: bad.id)
def test_machines_are_told_the_same_in_one_document(bad: Bad, place: Path) -> None:
    lay(place, bad)
    for_people = incrowd(*bad.words)
    ran = incrowd(*bad.words, "--json")
    assert ran.code == bad.code
    if for_people.err.startswith("incrowd: "):  # not a matter of how the command is spelt
        assert ran.json == {"error": for_people.err.removeprefix("incrowd: ")[:-1], "exit_code": bad.code}
        assert not ran.err


@pytest.mark.parametrize("bad", EVERY_BAD, ids=lambda bad: bad.id)
def test_refused_in_one_message_and_nothing_written(bad: Bad, place: Path) -> None:
    lay(place, bad)
    before = listing(place)
    ran = incrowd(*bad.words)
    check_refused(ran, bad)
    assert listing(place) == before
