"""Hierarchy files in ARX's form: one line ``leaf;level 1;…;*`` for each leaf, no header."""

from __future__ import annotations

import csv
import io
import os
import re
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from incrowd.errors import HierarchyError
from incrowd.hierarchy.tree import Hierarchy

Rows = tuple[tuple[str, ...], ...]

MOST_BYTES = 64 * 2**20
LONGEST_LABEL = 2**16  # characters; the csv module's own limit belongs to the whole process
SEPARATORS = (";", ",")

_QUOTED = re.compile('"[^"]*"')
_FIRST_ROW = re.compile(r'(?:"[^"]*"|[^"\r\n])*')  # which may go on over line breaks inside quotes
_NEEDS_QUOTES = re.compile('[;,"\r\n\ufeff]')


def read_levels(path: str | Path) -> Rows:
    """Read a hierarchy file: UTF-8, no header, one line ``leaf;level 1;…;*`` for each leaf.

    The separator is a semicolon if the first line has one outside quotes, else a comma. What is read is
    a tree, or a `HierarchyError` names the file and the line.
    """
    path = Path(path)
    text = _file_text(path)
    first = _FIRST_ROW.match(text)
    unquoted = _QUOTED.sub("", first[0] if first else "")
    rows = _parsed(text, ";" if ";" in unquoted else ",", path.name)
    Hierarchy.from_rows(rows, path.name)
    return rows


def write_levels(path: str | Path, rows: Iterable[Sequence[str]], separator: str = ";") -> None:
    """Write rows so that `read_levels` gives them back."""
    if separator not in SEPARATORS:
        raise HierarchyError(f"{Path(path).name}: a hierarchy file is separated by ; or , and nothing else")
    lines = (separator.join(_quoted(label, len(row)) for label in row) for row in rows)
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")


def _quoted(label: str, width: int) -> str:
    if _NEEDS_QUOTES.search(label) or (not label and width == 1):
        return '"' + label.replace('"', '""') + '"'
    return label


def _file_text(path: Path) -> str:
    content = _file_bytes(path)
    try:
        text = content.decode("utf-8-sig")
        wrong = content.find(b"\0")
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        line = content.count(b"\n", 0, wrong) + 1
        raise HierarchyError(f"{path.name}, line {line}: not UTF-8 text; save the file in that encoding")
    return text


def _file_bytes(path: Path) -> bytes:
    try:
        # Without waiting: to open a pipe for reading would hang until somebody writes into it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        raise HierarchyError(f"the hierarchy file {path.name} does not exist or may not be read") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise HierarchyError(f"the hierarchy file {path.name} is not a regular file")
    with open(descriptor, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise HierarchyError(f"{path.name} is larger than {MOST_BYTES // 2**20} MiB; hierarchies are small")
    return content


def _parsed(text: str, separator: str, name: str) -> Rows:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: list[tuple[str, ...]] = []
    blank = 0
    try:
        for row in reader:
            if blank and row:
                raise HierarchyError(f"{name}, line {blank}: an empty line between others; remove it")
            if any(len(label) > LONGEST_LABEL for label in row):
                raise HierarchyError(
                    f"{name}, line {reader.line_num}: a label of more than {LONGEST_LABEL} characters"
                )
            if row:
                rows.append(tuple(row))
            else:
                blank = blank or reader.line_num
    except csv.Error:
        raise HierarchyError(
            f"{name}, line {reader.line_num}: a quote is not closed, or stands inside a label"
        ) from None
    return tuple(rows)
