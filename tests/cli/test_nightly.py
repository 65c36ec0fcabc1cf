"""A nightly pipeline: the series of docs/tutorials/nightly-pipeline.md, and a month of nights more.

By day `test_docs.py` runs the page itself, with its three nights.
"""

from __future__ import annotations

import json
import random
import re
import shlex
from pathlib import Path

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
    stays, dice = names["stays"], random.Random(7)
    assert isinstance(stays, pd.DataFrame)
    ids, erased = list(stays.index), [stays["ssn"].iloc[10]]
    here, met = set(ids[4:480]), 480
    for night in range(4, NIGHTS + 1):
        away = sorted(set(ids[:met]) - here)
        here -= set(dice.sample(sorted(here), 6))
        here |= {*dice.sample(away, 2), *ids[met : met + 10]}
        met += 10
        moved = dice.sample(sorted(here), 5)
        stays.loc[moved, "zip"] = dice.sample(list(stays["zip"]), 5)
        people = stays.loc[sorted(here)]
        people.to_parquet(f"night-{night}.parquet", index=False)
        words = ["--after", f"out/night-{night - 1}", "--format", "parquet", "--json"]
        if night % 10 == 0:
            erased.append(dice.choice(sorted(set(people["ssn"]) - set(erased))))
            pd.DataFrame({"ssn": erased[-1:]}).to_csv("erase.csv", index=False)
            words += ["--erase", "erase.csv"]
        asked = (f"night-{night}.parquet", "-p", "nightly.toml", "-o", f"out/night-{night}")
        ran = incrowd("publish", *asked, *words)
        assert (ran.code, ran.json["verdict"]["passed"]) == (0, True)
        reached = ran.json["verdict"]["facts"]["reached"]["series-k"]
        assert reached >= 10
    told = series(f"out/night-{NIGHTS}")
    assert (len(told.releases), told.erased) == (NIGHTS, len(erased))
    manifest = json.loads(Path(f"out/night-{NIGHTS}/release.json").read_text())
    assert manifest["series"]["lingering"] > 4
