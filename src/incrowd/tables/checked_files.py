"""Files opened with suspicion, and what every table must keep, whichever way it comes in.

Only regular files are opened, and archives that cannot explode. The limits stop files that were made to
exhaust the machine; the checks stop what would come back different from how it was written.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import unicodedata
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from incrowd.errors import TableError, unknown
from incrowd.system import open_plain

CELL_LIMIT = 64 * 1024  # bytes of UTF-8 in one cell
ROW_LIMIT = 16 * 1024 * 1024  # bytes of one row in its file, line end not counted
COLUMN_LIMIT = 10_000
NAME_LIMIT = 1024  # characters of a column name
TABLE_LIMIT = 2**31 - 1  # rows: codes are 32-bit
RATIO_LIMIT = 100  # a gzip file may not hold more than this many times its own size ...
RATIO_FREE = 16 * 1024 * 1024  # ... once it has given more than this: short repetitive tables are fine
GZIP_LIMIT = 64 * 1024**3  # bytes that a gzip file, or one file of a zip archive, may hold in all
WORKBOOK_LIMIT = 2 * 1024**3  # bytes that a workbook may unpack to
ZIP_LIMIT = 1000  # files in a zip archive
FOLDER_LIMIT = 100_000  # Parquet files in a folder
HASHED_AT_ONCE = 8 * 1024 * 1024  # bytes
_CHUNK = 256 * 1024

_ARCHIVES = {
    b"\x1f\x8b": "a gzip archive",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7z archive",
    b"PAR1": "a Parquet file",
}
_UTF_32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")


class NotThisEncoding(TableError):
    """A text is not in the encoding that was tried."""


class Stream(Protocol):
    """Bytes, some at a time; b"" at the end."""

    def read(self, size: int, /) -> bytes: ...


def sha256_of(path: Path) -> str:
    """The digest of a file, many bytes at a time: between two readings this thread may have to wait."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(min(HASHED_AT_ONCE, path.stat().st_size + 1)))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()


def open_regular(path: Path) -> BinaryIO:
    """Open a file that must be a plain one: no folder, link, device or pipe."""
    try:
        descriptor = open_plain(path)
    except ValueError:
        raise TableError("a path cannot hold a NUL character") from None
    except OSError as error:
        raise TableError(_why_not(path, error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TableError(f"{path} is not a regular file; name a CSV or Parquet file")
    return os.fdopen(descriptor, "rb")


def create(path: Path) -> BinaryIO:
    """Create a file that does not exist yet."""
    try:
        return path.open("xb")
    except FileExistsError:
        raise TableError(f"{path} exists already; nothing was written") from None
    except OSError as error:
        raise TableError(f"{path} cannot be written: {error.strerror}") from None


def _why_not(path: Path, error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return f"{path} does not exist"
    if error.errno == errno.ELOOP:
        return f"{path} is a symbolic link; name the file itself"
    return f"{path} cannot be opened: {os.strerror(error.errno or 0)}"


def check_beginning(beginning: bytes, name: str) -> None:
    """Refuse what is no UTF-8 text by its first bytes."""
    for sign, what in _ARCHIVES.items():
        if beginning.startswith(sign):
            raise TableError(f"{name} is {what} inside, not a text table; unpack it or name it rightly")
    if beginning.startswith(_UTF_32):
        raise TableError(f"{name} is encoded as UTF-32; save it as UTF-8")


class Gunzip:
    """The content of a gzip file of one member, watched while it streams."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._inflate = zlib.decompressobj(wbits=31)
        self._taken = 0
        self._given = 0

    def read(self, size: int, /) -> bytes:
        data = b""
        while not data and not self._inflate.eof:
            data = self._more(size)
        if self._inflate.eof and (self._inflate.unused_data or self._file.read(1)):
            raise TableError(f"{self._name} holds more than one gzip member; pack the table as one")
        self._given += len(data)
        self._check_growth()
        return data

    def _more(self, size: int) -> bytes:
        pending = self._inflate.unconsumed_tail or self._file.read(_CHUNK)
        if not pending:
            raise TableError(f"{self._name} ends in the middle of its gzip data; fetch it again")
        try:
            data = self._inflate.decompress(pending, size)
        except zlib.error:
            raise TableError(f"{self._name} is not a sound gzip file; fetch it again") from None
        self._taken += len(pending) - len(self._inflate.unconsumed_tail)
        return data

    def _check_growth(self) -> None:
        exploded = self._given > RATIO_FREE and self._given > RATIO_LIMIT * self._taken
        if exploded or self._given > GZIP_LIMIT:
            raise TableError(
                f"{self._name} unpacks to more than {RATIO_LIMIT} times its size, or more than "
                f"{GZIP_LIMIT // 1024**3} GiB; unpack it yourself if you trust it"
            )


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


def check_shape(names: Sequence[str], rows: int, source: str) -> None:
    """Refuse what no table of this program has: bad names, too many columns or rows."""
    check_names(names, source)
    check_size(rows, source)


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


def too_large(source: str) -> TableError:
    """Of a table whose rows did not come through whole from a child process."""
    return TableError(
        f"{source} holds a NUL character, a cell of more than {CELL_LIMIT} bytes, or a row of more than "
        f"{ROW_LIMIT} bytes"
    )


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
