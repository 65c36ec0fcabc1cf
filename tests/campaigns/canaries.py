"""Canaries: texts that must not get out, in identifiers, dropped columns, persons and names of files.

Every case publishes a table with marks of its own by a random method and form, runs commands over the
release, some of them wrong on purpose, and searches every byte of every file, screen and message.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaigns.campaign import Campaign, Fault
from campaigns.tables import write_table
from support.canaries import everything_in
from support.commands import Ran, incrowd

from incrowd.algorithms.base import all_methods

METHODS = all_methods()

ROWS = 48
FORMS: list[tuple[str, ...]] = [*[()] * 38, ("--format", "parquet"), ("--format", "parquet", "--typed")]
BAD = [
    ("-k", "4000"),
    ("--method", "modrian"),
    ("--set", "choose=nothing"),
    ("-l", "40"),
    ("--format", "xlsx"),
]


def case(rng: random.Random, folder: Path) -> str:
    mark = f"Kanari{rng.randrange(16**8):08x}"
    method = rng.choice(sorted(name for name in METHODS if not METHODS[name].joins))
    source = _lay(rng, folder, mark, method)
    with _inside(folder):
        words = ["publish", source, "-p", "policy.toml", "-o", "out", *rng.choice(FORMS)]
        ran = incrowd(*words, *(["--json"] if rng.random() < 0.3 else []))
        _search_screen(mark, ran, source, "publish")
        if ran.code == 2:
            raise Fault("a good request is called wrong", ran.err + ran.out)
        for what in rng.sample(BAD, 2):
            _search_screen(mark, incrowd(*words[:5], "never", *what), source, " ".join(what))
        _spoilt_source(rng, mark, source)
        if ran.code != 0:
            return "refused"
        _commands(rng, mark, source)
        _search_files(mark, Path("out"))
        _search_files(mark, Path("out.audit"), source)
    return "searched"


def _lay(rng: random.Random, folder: Path, mark: str, method: str) -> str:
    columns = {
        "name": [f"{mark}-name-{i}" for i in range(ROWS)],
        "note": [f"{mark} note # {i}" for i in range(ROWS)],
        "who": [f"{mark}-who-{i}" for i in range(ROWS)],
        "age": [str(rng.randint(20, 60)) for _ in range(ROWS)],
        "zip": [f"{rng.randint(1, 3)}{rng.randint(0, 2)}{rng.randint(0, 9)}" for _ in range(ROWS)],
        "ill": [rng.choice(["flu", "ulcer", "cough", "angina"]) for _ in range(ROWS)],
    }
    source = f"{mark}-source.csv"
    write_table(folder / source, columns)
    entity = "entity" if _takes_entity(method) else "extra"
    said = f'identifiers = ["name"{"" if entity == "entity" else ", " + chr(34) + "who" + chr(34)}]\n'
    said += f'# a comment: {mark}-comment\ndrop = ["note"]\nsensitive = ["ill"]\nmethod = "{method}"\n'
    said += 'entity = "who"\n' if entity == "entity" else ""
    said += f"accept = {['all']}\n".replace("'", '"')
    said += '[quasi_identifiers]\nage = {type = "numeric"}\nzip = {hierarchy = {prefix = [2, 1]}}\n'
    said += "[privacy]\nk = 3\n" + ("l = 2\n" if METHODS[method].buckets or method == "transparent" else "")
    if METHODS[method].needs_plain:
        said += "max_suppression = 0.5\n[privacy.plain]\np = 0.8\nd = 0.5\n"
    (folder / "policy.toml").write_text(said, encoding="utf-8")
    return source


def _takes_entity(method: str) -> bool:
    chosen = METHODS[method]
    return not (chosen.overlapping or chosen.buckets or chosen.needs_plain or chosen.transparent)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _commands(rng: random.Random, mark: str, source: str) -> None:
    every = [
        ("verify", "out", "--original", source),
        ("verify", "out", "--original", source, "-p", "policy.toml", "--json"),
        ("measure", "out", "--original", source),
        ("attack", "out", "--original", source, "--json"),
        ("audit", "out", "--json"),
        ("query", "out", "SELECT COUNT(*) WHERE age < 30"),
        ("report", "out", "-o", "page.html"),
        ("report", "out", "-o", "private.html", "--original", source),
    ]
    for words in rng.sample(every, 3):
        _search_screen(mark, incrowd(*words), source, words[0])
    if Path("page.html").exists():
        _search("page.html", Path("page.html").read_text(encoding="utf-8"), mark, "")
    if Path("private.html").exists():
        _search("private.html", Path("private.html").read_text(encoding="utf-8"), mark, source)


def _spoilt_source(rng: random.Random, mark: str, source: str) -> None:
    """The same table with something wrong in a line: the message names the line, not what stands there."""
    data = bytearray(Path(source).read_bytes())
    at = rng.randrange(len(b"name,note,who,age,zip,ill\n"), len(data))
    data[at:at] = rng.choice([b'"', b"\0", b"\xff", b",", b"\r"])
    Path("spoilt.csv").write_bytes(bytes(data))
    _search_screen(
        mark, incrowd("publish", "spoilt.csv", "-p", "policy.toml", "-o", "never2"), source, "spoilt"
    )
    shutil.rmtree("never2", ignore_errors=True)
    shutil.rmtree("never2.audit", ignore_errors=True)


def _search_screen(mark: str, ran: Ran, source: str, what: str) -> None:
    if "Traceback" in ran.err or "internal error" in ran.err + ran.out:
        raise Fault("a command breaks off", f"{what}: {ran.err or ran.out}")
    _search(what, ran.out + ran.err, mark, source)


def _search_files(mark: str, folder: Path, source: str = "") -> None:
    for name, text in everything_in(folder):
        _search(f"{folder}/{name}", text, mark, source)


def _search(what: str, text: str, mark: str, source: str) -> None:
    """A file that its owner named may be named to its owner; in what is published nothing may."""
    left = text.replace(source, "") if source else text
    if mark in left:
        at = left.index(mark)
        raise Fault(f"a canary in {what}", left[max(0, at - 60) : at + 60])


CANARIES = Campaign("canaries", "0 found", case, nightly=2_000, in_ci=4)
