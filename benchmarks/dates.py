"""Figures of reading: a table with dates against the same table with these columns as plain text.

Before notations were read by a closed list, days such as 2024-02-29 took 1.06 to 1.16 of the time of text
here (other notations were not read). They may take 1.3 times as long as then.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path

from bench import Figure, cpu, peak_mb

from incrowd import Policy
from incrowd.encode import encode
from incrowd.tables import read

ROWS = 200_000
BEFORE = 1.1
NOTATIONS: dict[str, tuple[Callable[[date, random.Random], str], float | None]] = {
    "yyyy-mm-dd": (lambda day, _: day.isoformat(), 1.3 * BEFORE),
    "dd/mm/yyyy": (lambda day, _: f"{day:%d/%m/%Y}", None),
    "Mon dd, yyyy": (lambda day, _: f"{day:%B} {day.day}, {day.year}", None),
    "yyyy-mm-dd time": (lambda day, dice: f"{day.isoformat()} {dice.randrange(24):02}:00", None),
}


def date_figures(_kd: float) -> Iterator[Figure]:
    """File to codes, with what each column is worked out from its texts; as text, the policy says so."""
    for notation, (written, goal) in NOTATIONS.items():
        dice = random.Random(6)
        first, size = date(1930, 1, 1), 35_000  # days
        lines = ["born,seen,sex,ward"]
        for _ in range(ROWS):
            days = (first + timedelta(dice.randrange(size)) for _ in range(2))
            lines.append(",".join([*(f'"{written(day, dice)}"' for day in days), dice.choice("FM"), "w1"]))
        with tempfile.TemporaryDirectory() as name:
            file = Path(name, "dates.csv")
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            seconds = cpu(partial(_codes, file, {}), 3)
            plain = cpu(partial(_codes, file, {"type": "categorical"}), 3)
        said, ratio = f"n={ROWS} 2 of 4 columns", seconds / plain
        yield Figure(f"reading dates, {notation}", said, ratio, "as text", goal, memory=peak_mb())


def _codes(file: Path, said: dict[str, str]) -> None:
    policy = Policy.from_dict(
        {
            "quasi_identifiers": {"born": said, "seen": said, "sex": {}, "ward": {}},
            "privacy": {"k": 10},
        }
    )
    table = read(file)
    encode(table, policy.schema(table))
