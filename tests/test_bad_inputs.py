"""Wrong requests: one message that says what, which and what now, no cell of the table, nothing written."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_requests import EVERY_BAD, Bad, csv, policy
from commands import Ran, incrowd, listing

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
    assert "Traceback" not in message and "internal error" not in message, message
    assert message.count("incrowd: ") <= 1
    assert all(words in message for words in bad.says), (bad.says, message)
    assert not MARK.search(message), message


@pytest.mark.parametrize("bad", EVERY_BAD, ids=lambda bad: bad.id)
def test_refused_in_one_message_and_nothing_written(bad: Bad, place: Path) -> None:
    lay(place, bad)
    before = listing(place)
    ran = incrowd(*bad.words)
    print(bad.id, "=>", ran.code, ran.err)
    check_refused(ran, bad)
    assert listing(place) == before
