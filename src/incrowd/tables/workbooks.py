"""Sheets of workbooks: .xlsx by openpyxl, .ods by calamine. Only run inside the child of `isolated_reader`.

openpyxl tells a formula from a number and an error from an empty cell, which the faster calamine does not; it
cannot read .ods. Of a formula the stored result is taken, never computed; nothing outside the file is opened.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any

from incrowd.errors import TableError, option, unknown
from incrowd.tables.checked_files import COLUMN_LIMIT, WORKBOOK_LIMIT
from incrowd.tables.typed_rows import TypedRows

NEEDED = "is a workbook; to read it, run: pip install 'incrowd[excel]'"


def read_xlsx(descriptor: int, wanted: str) -> TypedRows:
    """The cells of a sheet, of formulas the stored results."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise TableError(NEEDED) from None
    with os.fdopen(descriptor, "rb") as file:
        _check_size(file)
        written = load_workbook(file, read_only=True, keep_links=False)
        name, notes = _sheet([sheet.title for sheet in written.worksheets], wanted)
        formulas, errors = set(), 0
        sheet = written[name]
        sheet.reset_dimensions()
        for place, row in enumerate(sheet.iter_rows()):
            formulas |= {(place, at) for at, cell in enumerate(row) if cell.data_type == "f"}
            errors += sum(cell.data_type == "e" for cell in row)
        stored = load_workbook(file, read_only=True, data_only=True, keep_links=False)[name]
        stored.reset_dimensions()
        cells = [list(row) for row in stored.iter_rows()]
        errors += sum(cell.data_type == "e" for row in cells for cell in row)
        rows = [[cell.value for cell in row] for row in cells]
    if errors:
        raise TableError(f"has cells that hold an error instead of a value in sheet {name!r}; correct them")
    empty = sum(1 for place, at in formulas if at >= len(rows[place]) or rows[place][at] is None)
    if empty:
        raise TableError(
            f"has {empty} formulas without a stored result in sheet {name!r}; save it in the program that it "
            "was made with, or paste the values"
        )
    if formulas:
        notes.append(f"{len(formulas)} cells are formulas; their stored results are taken")
    return _table(rows, notes, name)


def read_ods(descriptor: int, wanted: str) -> TypedRows:
    """The cells of a sheet; a file of this kind stores the results of its formulas."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise TableError(NEEDED) from None
    with os.fdopen(descriptor, "rb") as file:
        _check_size(file)
        book = CalamineWorkbook.from_filelike(file)
        name, notes = _sheet(book.sheet_names, wanted)
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=True)
    return _table([[None if value == "" else value for value in row] for row in rows], notes, name)


def _check_size(file: Any) -> None:
    """A workbook is a zip archive: what its directory says of its size bounds what is unpacked."""
    try:
        unpacked = sum(info.file_size for info in zipfile.ZipFile(file).infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
        unpacked = -1
    if unpacked < 0:
        raise TableError("is not a workbook of this kind, or is protected by a password")
    if unpacked > WORKBOOK_LIMIT:
        raise TableError(f"unpacks to more than {WORKBOOK_LIMIT // 1024**3} GiB; save the sheet as CSV")
    file.seek(0)


def _sheet(names: Sequence[str], wanted: str) -> tuple[str, list[str]]:
    """The sheet that is named, or the only one."""
    if wanted and wanted not in names:
        raise TableError(f"lacks a sheet: {unknown('in the workbook', [wanted], names)}")
    if not wanted and len(names) != 1:
        raise TableError(
            f"has {len(names)} sheets: {', '.join(names)}; say which is the table with {option('sheet')}"
        )
    name = wanted or names[0]
    return name, [f"sheet {name!r}"]


def _table(rows: list[list[Any]], notes: list[str], sheet: str) -> TypedRows:
    """The first row names the columns; empty rows and columns at the end are no part of the table."""
    rows = [_cut(row) for row in rows]
    while rows and not rows[-1]:
        rows.pop()
    if not rows or not rows[0]:
        raise TableError(f"has nothing in the first row of sheet {sheet!r}, where the names must be")
    names, width = rows[0], len(rows[0])
    if width > COLUMN_LIMIT or any(len(row) > width for row in rows):
        raise TableError(f"has cells in sheet {sheet!r} that are in no column with a name in its first row")
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise TableError(f"has a column in sheet {sheet!r} whose name in the first row is empty or no text")
    if not all(rows):
        raise TableError(f"has an empty row between others in sheet {sheet!r}; delete it")
    return TypedRows(names, _padded(rows[1:], width), notes)


def _cut(row: list[Any]) -> list[Any]:
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return row[:end]


def _padded(rows: list[list[Any]], width: int) -> Iterator[list[Any]]:
    for row in rows:
        yield row + [None] * (width - len(row))
