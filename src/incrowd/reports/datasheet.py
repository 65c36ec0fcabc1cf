"""The datasheet: README.md inside a release, for whoever gets the files and nothing else.

It follows from the manifest alone, so it says nothing that the manifest does not, and `verify` demands the
text that this module gives.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from incrowd.reports.words import meaning, not_promised, questions

FILE = "README.md"

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~])")

ROLES: Mapping[str, str] = {
    "quasi_identifier": "generalized",
    "sensitive": "as in the original",
    "keep": "as in the original",
}
CELLS: Mapping[str, Sequence[tuple[str, str]]] = {
    "range": (
        ("`34`", "exactly this value"),
        ("`[20,40]`", "from 20 to 40, both included"),
        ("`{missing|[20,40]}`", "from 20 to 40, or not known"),
    ),
    "set": (("`A`", "exactly this value"), ("`{A|B}`", "one of these values")),
    "node": (
        ("`041__`", "a label: one of the values under it; hierarchies.csv says which label lies under which"),
        ("`{missing|041__}`", "one of these values, or not known"),
    ),
}
ALWAYS_CELLS = (("`*`", "any value of the column, or none"), ("`missing`", "not known"))


def datasheet(manifest: Mapping[str, Any]) -> str:
    """The text of the datasheet; `manifest` is the one of the release, its `files` are not looked at."""
    parts = (
        _head(manifest),
        _promises(manifest),
        _files(manifest),
        _columns(manifest),
        _cells(manifest),
        _reading(manifest),
        _asking(manifest),
    )
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _head(manifest: Mapping[str, Any]) -> Iterator[str]:
    rows = manifest["rows"]
    yield "# About these data"
    yield ""
    people = "people; some are of a public table" if "public" in manifest else "people"
    yield f"{rows['published']:,} rows about {people}. Cells were made coarser (generalized), not changed at"
    yield "random: what a row says is true of the person behind it. Rows are in random order."
    if rows["suppressed"] is None:
        yield f"Up to a share of {rows['max_suppression']} of all records may have been left out."
    elif rows["suppressed"]:
        people = rows["published"] + rows["suppressed"]
        yield f"{rows['suppressed']:,} of {people:,} records were left out, because they would have made the"
        yield "rows of others coarser: who is unusual is missing here more often than others."
    yield ""
    yield f"Made with {manifest['tool']}, method `{manifest['method']['name']}`. This text follows from"
    yield "`release.json`, which is exact, and for programs."


def _promises(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## What is promised to the people in it"
    yield ""
    for claim in manifest["claims"]:
        said = meaning(claim["model"], claim["parameters"], _plain(claim.get("column", "")))
        yield f"* **{claim['model']}**: {said}"
    assumed = dict.fromkeys(text for claim in manifest["claims"] for text in claim["assumptions"])
    if assumed:
        yield ""
        yield f"Assumed: {'; '.join(assumed)}."
    yield ""
    yield "Not promised:"
    yield ""
    yield from (f"* {text}" for text in not_promised(manifest))


def _files(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## Files"
    yield ""
    yield "| file | what it has |"
    yield "|---|---|"
    yield "| `data.csv` or `data.parquet` | the rows |"
    if "apart" in manifest:
        yield f"| `{manifest['apart']['file']}` | sensitive values, by the number of the group (bucket) |"
    if "totals" in manifest:
        yield f"| `{manifest['totals']['file']}` | how many rows of the original have which value |"
    if "hierarchies" in manifest:
        yield f"| `{manifest['hierarchies']['file']}` | which label lies under which |"
    yield "| `release.json` | promises, columns, fingerprints of the files |"


def _columns(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## Columns"
    yield ""
    yield "| column | cells | |"
    yield "|---|---|---|"
    for column in manifest["columns"]:
        where = ", in the file of sensitive values" if column.get("apart") else ""
        name, words = _plain(column["name"]), _plain(column.get("description", ""))
        yield f"| {name} | {ROLES[column['role']]}{where} | {words} |"
        if column.get("mean"):
            yield f"| {name}\\_mean | mean of the rows with equal cells | |"
    if "apart" in manifest:
        yield "| group | number of the group, without a meaning of its own | |"
    if any(claim["model"] == "even-presence" for claim in manifest["claims"]):
        yield "| people, private | size of the row's class, and how many of it are of the private table | |"


def _cells(manifest: Mapping[str, Any]) -> Iterator[str]:
    shapes = dict.fromkeys(column["shape"] for column in manifest["columns"] if "shape" in column)
    yield "## What a generalized cell means"
    yield ""
    yield "| cell | |"
    yield "|---|---|"
    lines = dict.fromkeys([line for shape in shapes for line in CELLS[shape]] + [*ALWAYS_CELLS])
    yield from (f"| {cell.replace('|', chr(92) + '|')} | {words} |" for cell, words in lines)
    yield ""
    yield "A backslash before a sign means the sign itself. In CSV, a text that a spreadsheet would run as a"
    yield "formula has an apostrophe before it. Rows with equal generalized cells are an equivalence class."


def _reading(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## Reading it"
    yield ""
    yield "Read every generalized column as text, or programs will guess numbers where they can."
    yield ""
    yield "```python"
    yield 'import pandas as pd; rows = pd.read_csv("data.csv", dtype=str, keep_default_na=False)'
    yield 'import polars as pl; rows = pl.read_csv("data.csv", infer_schema=False)'
    ranges = [column["name"] for column in manifest["columns"] if column.get("shape") == "range"]
    if ranges:
        yield f'ends = rows[{ranges[0]!r}].str.extract(r"\\[([^,]+),([^\\]]+)\\]")  # both ends (pandas)'
    yield "```"
    yield ""
    yield "```r"
    yield 'rows <- read.csv("data.csv", colClasses = "character", check.names = FALSE, na.strings = NULL)'
    yield "```"
    yield ""
    yield "Excel: Data, From Text/CSV, then choose Text for all columns; a double click turns some cells into"
    yield "dates."
    yield ""
    yield '`incrowd query . "SELECT COUNT(*) WHERE …"` answers from these files, with certain bounds.'


def _asking(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## What to ask, and what not"
    yield ""
    yield from (f"* {text}" for text in questions(manifest))
    if "totals" in manifest:
        yield "* The totals are exact. For an estimate, spread a cell over its values by how common they are"
        yield "  in the totals, not evenly: `incrowd query` does so."
    yield "* Do not try to find out who is behind a row, and do not join these data with others about the"
    yield "  same people."


def _plain(text: object) -> str:
    """A text of others inside Markdown: no sign of it is taken for a mark."""
    return _MARKS.sub(r"\\\1", str(text))
