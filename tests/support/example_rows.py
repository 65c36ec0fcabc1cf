"""The example rows of a private report, held against the files."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.cells import atoms


def check_examples(examples: Sequence[Mapping[str, Any]], folder: Path, original: Path) -> None:
    """The row is published, the record is in the original, and the row describes it (age, sex)."""
    with (folder / "data.csv").open(newline="") as file:
        rows = [{name: text.removeprefix("'") for name, text in row.items()} for row in csv.DictReader(file)]
    with original.open(newline="") as file:
        people = list(csv.DictReader(file))
    assert 1 <= len(examples) <= 3
    for example in examples:
        cells = example["cells"]
        before, after = ({cell["column"]: cell[key] for cell in cells} for key in ("before", "cell"))
        assert any(all(person[name] == text for name, text in before.items()) for person in people)
        beside = {name: text for name, text in after.items() if name in rows[0] and "more}" not in text}
        assert any(all(row[name] == text for name, text in beside.items()) for row in rows)
        if ends := re.fullmatch(r"\[(\d+),(\d+)\]", after["age"]):
            assert int(ends[1]) <= int(before["age"]) <= int(ends[2])
        else:
            assert after["age"] in ("*", before["age"])
        assert after["sex"] == "*" or before["sex"] in atoms(after["sex"])
        same = {cell["column"] for cell in cells if cell["same"]}
        assert same == {name for name, text in after.items() if text == before[name]}
