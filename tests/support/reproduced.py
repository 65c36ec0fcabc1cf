"""The pages of docs/reproduced, which full runs of `incrowd reproduce` wrote, and their row in the docs.

``python tests/support/reproduced.py FOLDER SECONDS`` puts the results of one paper there: FOLDER is what
``incrowd reproduce PAPER -o FOLDER`` wrote, SECONDS the processor seconds that it took.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE, FOLDER = ROOT / "docs" / "reproduce.md", ROOT / "docs" / "reproduced"
VERDICTS = ("held", "not held", "undecided", "false as printed")
_ROW = re.compile(r"^\| `(\w+)` \| ([0-9,]+) \| (.*) \|$", re.MULTILINE)
_LISTED = re.compile(r"^\| \[\w+\]\(\w+\.md\) \| .* \|$", re.MULTILINE)
_VERDICT = re.compile(rf"^\| ({'|'.join(VERDICTS)}) \|", re.MULTILINE)
_PICTURE = re.compile(r"^!\[.*\]\(.*\)\n", re.MULTILINE)


def rows() -> dict[str, tuple[int, ...]]:
    """By paper: statements, each verdict, seconds; as the table of runs says."""
    found = _ROW.findall(PAGE.read_text(encoding="utf-8"))
    return {
        paper: tuple(int(cell.replace(",", "")) for cell in (first, *rest.split(" | ")))
        for paper, first, rest in found
    }


def counted(text: str) -> tuple[int, ...]:
    """How many statements a paper's own page has, and how many of each verdict."""
    verdicts = Counter(_VERDICT.findall(text))
    return (verdicts.total(), *(verdicts[word] for word in VERDICTS))


def page(paper: str, text: str) -> str:
    """A paper's own page without its pictures, which lie beside it, and with the way back."""
    title, rest = _PICTURE.sub("", text).split("\n", 1)
    about = (
        f"As `incrowd reproduce {paper} -o DIR` wrote it, at full size with all tables; without its "
        f"pictures. What was decided, and what differs: [reproduction](../reproduce.md#{paper})."
    )
    return f"{title}\n\n{about}\n{rest.rstrip()}\n"


def entered(text: str, line: str, known: re.Pattern[str]) -> str:
    """A page with this row of a table: in the place of the one that `known` finds, else behind the last."""
    name = line.split(" |")[0]
    found = list(known.finditer(text))
    old = next((each for each in found if each[0].startswith(f"{name} |")), None)
    begin, end = (old.start(), old.end()) if old else (found[-1].end() + 1, found[-1].end())
    return text[:begin] + line + ("" if old else "\n") + text[end + (not old) :]


def main(folder: Path, seconds: int) -> None:
    """Write the page of a run, and enter it into the table of runs and the list of pages."""
    (facts,) = folder.glob("*.json")
    found = json.loads(facts.read_text(encoding="utf-8"))
    paper, title = found["paper"], found["title"]
    text = (folder / f"{paper}.md").read_text(encoding="utf-8")
    (FOLDER / f"{paper}.md").write_text(page(paper, text), encoding="utf-8")
    counts = " | ".join(f"{number:,}" for number in (*counted(text), seconds))
    for place, line, known in (
        (PAGE, f"| `{paper}` | {counts} |", _ROW),
        (FOLDER / "README.md", f"| [{paper}]({paper}.md) | {title} |", _LISTED),
    ):
        said = place.read_text(encoding="utf-8")
        place.write_text(entered(said, line, known), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
