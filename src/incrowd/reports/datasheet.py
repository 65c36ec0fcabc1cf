"""The datasheet: README.md inside a release, for whoever gets the files and nothing else.

It follows from the manifest alone, so it says nothing that the manifest does not, and `verify` demands the
text that this module gives. What claims mean, for readers who have no proofs in mind, reports say with the
same words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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

# {others} is one less than k. Every registered model has an entry: a test says so.
MEANS: Mapping[str, str] = {
    "k-anonymity": "Every equivalence class has at least {k} people: each row has the same quasi-identifiers "
    "as the rows of at least {others} others. An adversary who looks for a person picks the right row with a "
    "probability of at most 1/{k} (prosecutor risk).",
    "k-persons": "Every equivalence class has rows of at least {k} people. Some may have more of them than "
    "others: an adversary who looks for them picks a row of theirs with a probability above 1/{k}.",
    "1k-anonymity": "Every person fits at least {k} rows.",
    "k1-anonymity": "Every row fits at least {k} people.",
    "kk-anonymity": "Every person fits at least {k} rows, and every row fits at least {k} people.",
    "global-1k-anonymity": "Every person has at least {k} rows that cannot be ruled out, even by an "
    "adversary who knows the quasi-identifiers of everybody in the table.",
    "global-k1-anonymity": "Every row has at least {k} people who cannot be ruled out, even by an adversary "
    "who knows the quasi-identifiers of everybody in the table.",
    "k-factor": "Rows differ from person to person (non-homogeneous generalization), and persons were "
    "assigned to rows at random: no person matches any row with a probability above 1/{k}, even for an "
    "adversary who knows how the release was made.",
    "distinct-l-diversity": "An adversary who finds the equivalence class of a person is still left with at "
    "least {l} different values of {column}.",
    "entropy-l-diversity": "In every equivalence class, {column} is at least as uncertain as {l} equally "
    "frequent values would be.",
    "recursive-l-diversity": "In every equivalence class, the most frequent value of {column} is less than "
    "{c} times as frequent as all values from the {l}th most frequent on, taken together.",
    "frequency-l-diversity": "In every equivalence class, no value of {column} makes up more than 1/{l}: an "
    "adversary who finds the class of a person guesses the value with a probability of at most 1/{l}.",
    "transparent-l-diversity": "Nobody has any value of {column} with a probability above 1/{l}, even for an "
    "adversary who knows the program and runs it again on every way to hand out the values.",
    "candidate-l-diversity": "Nobody has any value of {column} with a probability above 1/{l}: no value is "
    "behind more of the rows that may be a person's, even for an adversary who knows the program and runs it "
    "again on every way to hand out the values.",
    "t-closeness": "In every equivalence class, values of {column} are distributed nearly as in the whole "
    "table: the distance between the two ({distance}) is at most {t}, where 0 is equal and 1 is the largest "
    "possible difference.",
    "candidate-t-closeness": "In the rows that may be a person's, values of {column} are distributed nearly "
    "as in the whole table: the distance between the two ({distance}) is at most {t}, where 0 is equal and 1 "
    "is the largest possible difference.",
    "plain": "No equivalence class reveals that somebody in it is an outlier, nor who or which value that "
    "would be. An outlier is a person from whom a share of at least {p} of all people lies further away than "
    "{d}.",
    "sensitive-groups": "Sensitive values are published separately, in buckets of at least {k} people: an "
    "adversary who finds a person's row learns only that the value is one of its bucket.",
    "k-join-anonymity": "Every equivalence class has at least {k} people, some of them from a public table, "
    "who have rows as well. An adversary who looks for a person and does not know who is in the private "
    "table picks the right row with a probability of at most 1/{k} (journalist risk).",
    "series-k": "All releases of this series together: at least {k} people have the same history, that is "
    "the same equivalence class in every release, or no row. Whoever has all releases and links their rows "
    "still cannot tell a person from {others} others.",
    "series-l": "All releases of this series together: among people with the same history no value of "
    "{column} makes up more than 1/{l}, in every release that shows them.",
    "m-invariance": "All releases of this series together: an adversary who finds the class of a person in "
    "each of them guesses the value of {column} with a probability of at most 1/{m}. k is not promised of "
    "several releases: whoever puts them together may find that few people, or one, share all classes.",
    "even-presence": "Every row states how many people its class has, and how many are in the private "
    "table. All of a class are there with the same probability, even for an adversary who re-runs the "
    "program; it is at most {most}.",
}
UNKNOWN = "This report has no explanation of this promise; its parameters are given."
VALUES_ARE_OPEN = (
    "That sensitive values stay unknown. Nothing is promised about them here: if all rows that fit a person "
    "have the same value, that value is known."
)
VALUES_ALONE = (
    "More about sensitive values than the promises above say. Who knows that a person does not have some of "
    "the values has fewer left."
)
ROWS_ARE_FOUND = (
    "That a person's row cannot be found: rows are published unchanged. Only the link between a person and "
    "a sensitive value is protected; what all buckets together disclose about it is not counted."
)
PRESENCE = "That nobody learns who is in the table. This is assumed to be known (prosecutor)."
JOINED = (
    "Anything against an adversary who knows who is in the private table (prosecutor). Presence can be "
    "guessed better than at random: a person who fits no row is not in it."
)
TWO_AT_ONCE = (
    "Anything about two people at once. An adversary who knows one person's row learns more about the rows "
    "of others than in an equivalence class."
)
KEPT = (
    "That sensitive and kept columns together do not identify a row: they are published unchanged, and "
    "distinguish rows for an adversary who knows several of them."
)
OTHER_RELEASES = (
    "Anything about two releases taken together. A second release about the same people, or what others "
    "publish about them, may reduce an equivalence class to one person."
)
BESIDE_THE_SERIES = (
    "Anything about these data taken together with others about the same people that are not of this series."
)
ALWAYS = (
    "That columns have the right roles. A column that others know, but that is published unchanged, breaks "
    "the promise.",
    "Anonymity in the sense of a law. People must decide that; what is said here helps them.",
)


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
    if "series" in manifest:
        yield ""
        kept = not any(claim["model"] == "m-invariance" for claim in manifest["claims"])
        yield from (_series if kept else _series_made_anew)(manifest["series"])
    yield ""
    yield f"Made with {manifest['tool']}, method `{manifest['method']['name']}`. This text follows from"
    yield "`release.json`, which is exact, and for programs."


def _series(said: Mapping[str, Any]) -> Iterator[str]:
    """What a reader must know of rows that are older than the release."""
    yield f"This is release {said['number']} of a series, counted from 0. Some rows are repeated as an"
    yield "earlier release showed them: when a few people of an equivalence class leave the table, their rows"
    yield "stay, and so do those of their class, since rows that vanish would tell whose they were. The"
    yield f"oldest rows are as of release {said['oldest']}. Rows of people who left the table (lingering):"
    yield f"{said['lingering']:,}. People of the table who have no row yet (waiting): {said['waiting']:,};"
    yield f"who had one and have none now (withheld): {said['withheld']:,}."


def _series_made_anew(said: Mapping[str, Any]) -> Iterator[str]:
    """What a reader must know of people without a row, where classes are made anew in every release."""
    yield f"This is release {said['number']} of a series, counted from 0. All rows are of people who are in"
    yield "the table now. Everybody is always shown together with the same values, each of them as often, and"
    yield "whoever is left over has no row: frequent values may be rarer here than in the table. People of"
    yield f"the table who have no row yet (waiting): {said['waiting']:,}; who had one and have none now"
    yield f"(withheld): {said['withheld']:,}."


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
    parts = any(name.startswith("data/") for name in manifest.get("files", ()))
    yield "| the files in `data` | the rows |" if parts else "| `data.csv` or `data.parquet` | the rows |"
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


def meaning(model: str, parameters: Mapping[str, Any], column: str) -> str:
    """What a claim means, in a sentence or two.

    Examples
    --------
    >>> meaning("1k-anonymity", {"k": 5}, "")
    'Every person fits at least 5 rows.'
    >>> meaning("of tomorrow", {"k": 5}, "") == UNKNOWN
    True
    """
    k = parameters.get("k")
    known = {"others": k - 1 if isinstance(k, int) else k, **parameters, "column": column or "the values"}
    try:
        return MEANS[model].format_map(known)
    except KeyError:
        return UNKNOWN


def not_promised(manifest: Mapping[str, Any]) -> list[str]:
    """What the claims of a manifest do not include."""
    models = {str(claim["model"]) for claim in manifest["claims"]}
    roles = {str(column["role"]) for column in manifest["columns"]}
    about_values = any("diversity" in model or model == "t-closeness" for model in models)
    found = []
    if "sensitive" in roles:
        found.append(VALUES_ALONE if about_values else VALUES_ARE_OPEN)
    if "apart" in manifest and "public" not in manifest:
        found.append(ROWS_ARE_FOUND)
    if "match_probability" in manifest:
        found.append(TWO_AT_ONCE)
    found.append(JOINED if "public" in manifest else PRESENCE)
    if roles & {"sensitive", "keep"} and "apart" not in manifest:
        found.append(KEPT)
    return [*found, BESIDE_THE_SERIES if "series" in manifest else OTHER_RELEASES, *ALWAYS]


def questions(manifest: Mapping[str, Any]) -> list[str]:
    """What the published rows can be asked, and how far an answer can be trusted."""
    names = [str(column["name"]) for column in manifest["columns"] if column["role"] == "quasi_identifier"]
    about = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    found = [
        f"How many people have certain values of {about}? Rows whose cells lie inside the condition count "
        "with certainty, rows whose cells overlap it may count: this gives a lower and an upper bound. For "
        "an estimate, count each row by the share of its cell that lies inside."
    ]
    if "public" in manifest:
        found.append(
            "Rows are about people of two tables. Counts of rows are counts of both; about the private table "
            "alone, only the counts in the file of sensitive values are known."
        )
    if "apart" in manifest:
        found.append(
            "How often does each sensitive value occur? The second file has the exact counts, for all "
            "and for each bucket; for other parts of the table there are only estimates."
        )
    elif any(column["role"] == "sensitive" for column in manifest["columns"]):
        found.append(
            "How are sensitive and kept values distributed, and how do they depend on each other? Exactly as "
            "in the original, since these cells are unchanged; for a part of the table as exactly as the "
            "quasi-identifiers select that part."
        )
    if any(column.get("mean") for column in manifest["columns"]):
        found.append("What is the average of a column with means? Exact for whole equivalence classes.")
    found.append(
        "What cannot be asked: anything about one person, or about the order of rows, which has no meaning."
    )
    return found
