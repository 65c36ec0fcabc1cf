"""What every table must keep, whichever way it comes in.

The limits stop files that were made to exhaust the machine; the checks stop what would come back
different from how it was written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from incrowd.errors import TableError, unknown

CELL_LIMIT = 64 * 1024  # bytes of UTF-8 in one cell
ROW_LIMIT = 16 * 1024 * 1024  # bytes of one row in its file, line end not counted
COLUMN_LIMIT = 10_000
NAME_LIMIT = 1024  # characters of a column name
TABLE_LIMIT = 2**31 - 1  # rows: codes are 32-bit


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse names that are absent, unsafe to print, or the same to a reader's eye."""
    check_width(len(names), source)
    met: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        _check_name(name, place, source)
        first = met.setdefault(_folded(name), place)
        if first != place:
            raise TableError(
                f"{source}: columns {first} and {place} have the same name, {name!r} "
                "(capitals, accents' encoding and outer blanks do not count); rename one of them"
            )


def check_width(columns: int, source: str) -> None:
    """Refuse a table without columns, or with too many."""
    if columns == 0:
        raise TableError(f"{source} has no columns")
    if columns > COLUMN_LIMIT:
        raise TableError(f"{source} has {columns} columns; at most {COLUMN_LIMIT} are read")


def _check_name(name: object, place: int, source: str) -> None:
    if not isinstance(name, str):
        raise TableError(f"{source}: the name of column {place} is not text; rename it")
    if not name.strip():
        raise TableError(f"{source}: column {place} has no name; give it one")
    if len(name) > NAME_LIMIT:
        raise TableError(f"{source}: the name of column {place} is longer than {NAME_LIMIT} characters")
    if "\0" in name or name.startswith("\ufeff") or not is_unicode(name):
        raise TableError(f"{source}: the name of column {place} holds a NUL, a BOM or broken Unicode")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip()


def is_unicode(text: str) -> bool:
    """Can the text be written as UTF-8? Half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_texts(texts: Iterable[str | None], name: str, source: str) -> None:
    """Refuse cells that could not be written to a file and read back the same."""
    for text in texts:
        if text is None:
            continue
        if "\0" in text or not is_unicode(text):
            raise TableError(f"{source}: column {name!r} holds a NUL character or broken Unicode")
        if len(text) * 4 > CELL_LIMIT and len(text.encode()) > CELL_LIMIT:
            raise TableError(f"{source}: column {name!r} holds a cell of more than {CELL_LIMIT} bytes")


def check_size(rows: int, source: str) -> None:
    """Refuse a table without rows, or with more than codes can count."""
    if rows == 0:
        raise TableError(f"{source} has column names but no rows; there is nothing to publish")
    if rows > TABLE_LIMIT:
        raise TableError(f"{source} has {rows} rows; at most {TABLE_LIMIT} are read")


def chosen(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    """Places of the wanted columns, in the wanted order; all of them for None."""
    if columns is not None and not columns:
        raise TableError("no column is asked for; name at least one")
    if columns is None:
        return list(range(len(names)))
    places = {name: place for place, name in enumerate(names)}
    strange = [name for name in columns if name not in places]
    if strange:
        raise TableError(unknown("in the table", strange, names))
    return [places[name] for name in columns]
