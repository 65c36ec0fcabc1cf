"""What a release says about the public table whose people stand in: which file, and who vouches for it."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from pathlib import Path
from typing import Any

from incrowd.verifier.fault import Fault, need
from incrowd.verifier.people import PUBLIC, SECOND, Public
from incrowd.verifier.rows import CsvRows, Rows

KEY = "public"
TABLE, MUST, MAY = {"sha256", "kind", "rows"}, {"rows", "id"}, {"source", "date", "checked_against"}
Files = tuple[str | Path | None, str | Path | None]
_DIGEST = re.compile(r"[0-9a-f]{64}")


def fingerprint(path: Path) -> dict[str, Any]:
    """What the manifest says of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"sha256": digest, "bytes": file.tell()}


def check_sources(said: Any, public: Public | None, files: Files) -> tuple[int, int | None]:
    """How many rows the manifest says the public table and its second source have.

    It must mean those that are at hand: a file by its SHA-256, anything else by what kind of thing it was.
    """
    if public is None:
        raise Fault("to confirm it, the public table is needed")
    words = "the public table is not described, or with words that are unknown"
    need(isinstance(said, dict) and MUST <= set(said) <= TABLE | MUST | MAY, words)
    need(said["id"] == public.id, "the release was joined by another column")
    source = said.get("source", "somebody")
    need(isinstance(source, str) and bool(source), "the source of the public table has no name")
    need(_is_day(said.get("date", "2000-01-01")), "the date of the public table is no date")
    rows = _check_table({key: said[key] for key in TABLE & set(said)}, PUBLIC, public.rows, files[0])
    if public.check is None:
        unchecked = "checked_against" not in said
        need(unchecked, "to confirm it, the table that confirmed the public one is needed")
        return rows, None
    need(
        "checked_against" in said, "the release does not say that a second source confirmed the public table"
    )
    return rows, _check_table(said["checked_against"], SECOND, public.check, files[1])


def _check_table(said: Any, what: str, table: Rows, file: str | Path | None) -> int:
    known = isinstance(said, dict) and set(said) in ({"sha256", "rows"}, {"kind", "rows"})
    need(known, f"{what} is not described, or with words that are unknown")
    name, rows = said.get("sha256", said.get("kind")), said["rows"]
    need(isinstance(name, str) and bool(name), f"{what} has neither a SHA-256 nor a kind")
    need(type(rows) is int and rows >= 0, f"the rows of {what} are no count")
    if "sha256" in said:
        need(_DIGEST.fullmatch(name) is not None, f"{what} has no SHA-256")
        path = _file_of(table, file)
        same = path is None or fingerprint(path)["sha256"] == name
        need(same, f"{what} is not the one that the release was made with")
    return int(rows)


def _file_of(rows: Rows, file: str | Path | None) -> Path | None:
    """The file of a table, if it is known."""
    if file is not None:
        return Path(file)
    return rows.path if isinstance(rows, CsvRows) else None


def _is_day(text: Any) -> bool:
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
