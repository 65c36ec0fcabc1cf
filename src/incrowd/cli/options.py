"""Options that several commands have, and what their texts mean."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.errors import InputError
from incrowd.schema import Source

if TYPE_CHECKING:
    from incrowd.flow import Table
    from incrowd.policy import Policy

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, for machines.")]
PolicyFile = Annotated[Path | None, typer.Option("--policy", "-p", help="Policy file (TOML).")]
Original = Annotated[str, typer.Option("--original", help="The table that the release was made from.")]
Names = list[str] | None
SmallestClass = Annotated[
    int | None, typer.Option("--k", "-k", help="Least size of an equivalence class; overrides the policy.")
]
Diversity = Annotated[str | None, typer.Option("--l", help="l-diversity; overrides the policy.")]
Closeness = Annotated[str | None, typer.Option("--t", help="t-closeness; overrides the policy.")]
PlainOutliers = Annotated[
    str | None, typer.Option("--plain", help="Protect outliers: p,d such as 0.8,0.85; overrides the policy.")
]
MostLeftOut = Annotated[
    str | None,
    typer.Option("--max-suppression", help="Share of records that may be suppressed; overrides the policy."),
]
OtherMethod = Annotated[
    str | None, typer.Option("--method", help="Overrides the policy; see: incrowd methods.")
]
Settings = Annotated[Names, typer.Option("--set", help="An option of the method: name=value.")]
Picture = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write a picture (SVG) into this new file.")
]
TableFile = Annotated[
    str,
    typer.Argument(
        help="CSV, Excel, Parquet or other file (docs/reading.md), postgresql://…, or - for a pipe."
    ),
]
Encoding = Annotated[str, typer.Option("--encoding", help="How a text file is encoded, such as cp1252.")]
Sheet = Annotated[str, typer.Option("--sheet", help="The sheet of a workbook, or the file in a .zip.")]
Sql = Annotated[str, typer.Option("--sql", help="A table or a query of a database.")]
ReleaseDir = Annotated[Path, typer.Argument(help="A release.")]
Accept = Annotated[Names, typer.Option("--accept", help="Accept a known exposure by name.")]
DropRest = Annotated[bool, typer.Option("--drop-rest", help="Do not publish columns that have no role.")]
PublicTable = Annotated[
    Path | None, typer.Option("--public", help="The public table that was joined; overrides the policy.")
]
SecondSource = Annotated[
    Path | None, typer.Option("--check", help="A second source that confirms it; overrides the policy.")
]

Engine = Annotated[
    str,
    typer.Option(
        "--engine",
        help="memory, duckdb for large tables (docs/large-tables.md), spark (docs/spark.md), or auto.",
    ),
]
LookingEngine = Annotated[
    str,
    typer.Option("--engine", help="memory, duckdb to count large tables (docs/large-tables.md), or auto."),
]
EngineMemory = Annotated[str | None, typer.Option("--memory", help="What the engine may use, such as 3GB.")]
MemoryLimit = Annotated[
    str | None,
    typer.Option("--memory", help="What it may use, such as 20GB; by default half of the machine's memory."),
]
EngineThreads = Annotated[
    int | None, typer.Option("--threads", help="Threads that work at once; by default all processors.")
]
SparkMaster = Annotated[
    str | None, typer.Option("--master", help="Where Spark runs, such as local[2] or spark://host:7077.")
]

Bound = Annotated[
    str,
    typer.Option("--bound", help="Least possible information loss: none, quick, or tight (a minute or two)."),
]

PIPE = "-"

_WHOLE = re.compile(r"-?[0-9]{1,40}")
_DECIMAL = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")


def source(table: str, encoding: str, sheet: str, sql: str) -> Source | Table:
    """The table that a command is given; a pipe is read at once, since it can be read only once."""
    if table != PIPE:
        return Source(table, encoding, sheet, sql)
    from incrowd.tables import read_standard_input

    if sheet or sql:
        raise InputError("--sheet and --sql are for files and servers, not for a pipe")
    return read_standard_input(encoding)


def name_of(table: str) -> str:
    """What a table is called on the screen and in a policy."""
    return "standard input" if table == PIPE else Source(table).name


def again(table: str, encoding: str, sheet: str, sql: str) -> str:
    """How to name the same table to the next command. Addresses may hold a password: they are left out."""
    words = [quote(table) if not Source(table).is_server else "postgresql://…"]
    said = {"--encoding": encoding, "--sheet": sheet, "--sql": sql}
    words += [f"{flag} {quote(text)}" for flag, text in said.items() if text]
    return " ".join(words)


def split_names(names: list[str] | None) -> list[str]:
    return [part.strip() for name in names or [] for part in name.split(",") if part.strip()]


def demands(
    policy: Policy | None,
    *,
    l: str | None,  # noqa: E741
    t: str | None,
    plain: str | None,
    max_suppression: str | None,
    settings: Names,
    accept: Names,
    **words: int | str | None,
) -> dict[str, Any]:
    """What is promised by options, in the words of `Policy.with_`."""
    return words | {
        "l": number("l", l),
        "t": number("t", t),
        "plain": outliers_said(plain, policy),
        "max_suppression": number("max-suppression", max_suppression),
        "options": dict(setting(text) for text in settings or []),
        "accept": split_names(accept),
    }


def setting(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError("--set takes name=value, for example --set choose=widest")
    plain = {"true": True, "false": False}
    if value in plain:
        return name, plain[value]
    return name, int(value) if _WHOLE.fullmatch(value) else value


def outliers_said(text: str | None, policy: Policy | None) -> dict[str, Any] | None:
    """What is promised about outliers: that of the policy, but for p and d."""
    if text is None:
        return None
    p, sign, d = text.partition(",")
    if not sign:
        raise InputError(
            "--plain takes two numbers, p,d: for example 0.8,0.85; incrowd outliers proposes them"
        )
    whole = {} if policy is None else policy.to_dict()
    said: dict[str, Any] = whole.get("privacy", {}).get("plain", {})
    return said | {"p": number("plain", p.strip()), "d": number("plain", d.strip())}


def number(name: str, text: str | None) -> int | str | None:
    """Whole numbers as such, decimals exactly as written."""
    if text is None:
        return None
    if not _DECIMAL.fullmatch(text):
        raise InputError(f"--{name} takes a number, such as 3 or 0.25")
    return int(text) if _WHOLE.fullmatch(text) else text
