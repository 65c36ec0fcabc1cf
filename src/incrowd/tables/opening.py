"""Files, opened with suspicion: regular files only, and archives that cannot explode."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from pathlib import Path
from typing import BinaryIO, Protocol

from incrowd.errors import TableError

RATIO_LIMIT = 100  # a gzip file may not hold more than this many times its own size ...
RATIO_FREE = 16 * 1024 * 1024  # ... once it has given more than this: short repetitive tables are fine
GZIP_LIMIT = 64 * 1024**3  # bytes that a gzip file may hold in all
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
_OTHER_ENCODINGS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class Stream(Protocol):
    """Bytes, some at a time; b"" at the end."""

    def read(self, size: int, /) -> bytes: ...


def open_regular(path: Path) -> BinaryIO:
    """Open a file that must be a plain one: no folder, link, device or pipe."""
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to must not hang
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError:
        raise TableError("a path cannot hold a NUL character") from None
    except OSError as error:
        raise TableError(_why_not(path, error)) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise TableError(f"{path} is not a regular file; name a CSV or Parquet file")
    return os.fdopen(descriptor, "rb")


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
    for sign, what in _OTHER_ENCODINGS.items():
        if beginning.startswith(sign):
            raise TableError(f"{name} is encoded as {what}; save it as UTF-8")


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
