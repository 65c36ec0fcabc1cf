"""A nightly pipeline: the series of docs/tutorials/nightly-pipeline.md, and a month of nights more.

By day `test_docs.py` runs the page itself, with its three nights, and a small ward has a month of them.
"""

from __future__ import annotations

import random
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.commands import incrowd
from support.night import NIGHT

from incrowd import series
from incrowd.examples import write_example

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "nightly-pipeline.md"
NIGHTS = 30


def blocks() -> list[tuple[str, str]]:
    """Language and text of each block of the page's step about series."""
    step = PAGE.read_text().split("## 6. ", 1)[1]
    return re.findall(r"```(python|console)\n(.*?)```", step, re.DOTALL)


def run(command: str, printed: list[str]) -> None:
    """A command of the page ends as the page says, and prints what it shows."""
    words, _, code = command.partition("  # exit code ")
    ran = incrowd(*shlex.split(words)[1:])
    assert ran.code == int(code or 0), command
    said = " ".join((ran.out + ran.err).split())
    assert not [line for line in printed if " ".join(line.split()) not in said], command


@pytest.mark.skipif(not NIGHT, reason="by night only (INCROWD_SEEDS=all): it takes minutes")
def test_nights_go_on_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's nights, then others on which people come, leave, return, move and are erased."""
    write_example(tmp_path / "tour", rows=3_000)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, block in blocks():
        if language == "python":
            exec(compile(block, PAGE.name, "exec"), names)
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            run(command, [line for line in lines if line.strip() not in ("", "…")])
    stays = names["stays"]
    assert isinstance(stays, pd.DataFrame)
    erased = [stays["ssn"].iloc[10]]
    go_on(Ward(stays, set(stays.index[4:480]), 480, come=10, leave=6, back=2), 4, erased, "parquet")


def test_a_month_of_nights_of_a_small_ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty nights by the page's policy, so few people that it takes seconds."""
    write_example(tmp_path / "tour", rows=200)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for language, block in blocks()[:1]:
        assert language == "python"
        exec(compile(block.partition("nights = ")[0], PAGE.name, "exec"), names)
    stays = names["stays"]
    assert isinstance(stays, pd.DataFrame)
    go_on(Ward(stays, set(stays.index[:60]), 60, come=3, leave=3, back=1), 1, [], "csv")


@dataclass
class Ward:
    """Everybody who ever comes, who is there, how many have come so far; and how many move a night."""

    stays: pd.DataFrame
    here: set[Any]
    met: int
    come: int
    leave: int
    back: int

    def night(self, dice: random.Random) -> pd.DataFrame:
        """Some leave, some return, some come for the first time, and some who are there have moved."""
        ids = list(self.stays.index)
        away = sorted(set(ids[: self.met]) - self.here)
        self.here -= set(dice.sample(sorted(self.here), self.leave))
        self.here |= {*dice.sample(away, min(self.back, len(away))), *ids[self.met : self.met + self.come]}
        self.met += self.come
        moved = dice.sample(sorted(self.here), self.leave - 1)
        self.stays.loc[moved, "zip"] = dice.sample(list(self.stays["zip"]), len(moved))
        return self.stays.loc[sorted(self.here)]


def go_on(ward: Ward, first: int, erased: list[str], kind: str) -> None:
    """The nights from `first` on, up to the thirtieth, each after the one before; all of them keep k."""
    dice = random.Random(7)
    for night in range(first, NIGHTS + 1):
        people = ward.night(dice)
        write = people.to_parquet if kind == "parquet" else people.to_csv
        write(f"night-{night}.{kind}", index=False)
        words = ["--format", kind, "--json"]
        words += ["--after", f"out/night-{night - 1}"] if night > 1 else []
        if night % 10 == 0:
            erased.append(dice.choice(sorted(set(people["ssn"]) - set(erased))))
            pd.DataFrame({"ssn": erased[-1:]}).to_csv("erase.csv", index=False)
            words += ["--erase", "erase.csv"]
        asked = (f"night-{night}.{kind}", "-p", "nightly.toml", "-o", f"out/night-{night}")
        ran = incrowd("publish", *asked, *words)
        assert (ran.code, ran.json["verdict"]["passed"]) == (0, True)
        assert ran.json["verdict"]["facts"]["reached"]["series-k"] >= 10
    told = series(f"out/night-{NIGHTS}")
    assert (len(told.releases), told.erased) == (NIGHTS, len(erased))
    assert max(each["lingering"] for each in told.releases) > 4
    assert max(each["waiting"] for each in told.releases) > 4
