"""One file of a zip archive, watched while it unpacks."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, BinaryIO

from incrowd.errors import TableError, option, unknown
from incrowd.tables.checked_files import GZIP_LIMIT, RATIO_FREE, RATIO_LIMIT, ZIP_LIMIT, Stream

_MOST_NAMED = 20
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


@contextlib.contextmanager
def member_of(file: BinaryIO, source: str, wanted: str) -> Iterator[tuple[str, Stream]]:
    """The name and the content of the only table in an archive, or of the one that is named."""
    with _opened(file, source) as archive:
        found = _chosen(archive, source, wanted)
        with _problems_named(source), archive.open(found) as stream:
            yield found.filename, _Watched(stream, found.compress_size, source)


@contextlib.contextmanager
def _opened(file: BinaryIO, source: str) -> Iterator[zipfile.ZipFile]:
    with _problems_named(source):
        archive = zipfile.ZipFile(file)
    with archive:
        yield archive


@contextlib.contextmanager
def _problems_named(source: str) -> Iterator[None]:
    broken = False
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError):
        broken = True
    if broken:
        raise TableError(f"{source} is not a sound zip archive; pack the table again")


def _chosen(archive: zipfile.ZipFile, source: str, wanted: str) -> zipfile.ZipInfo:
    files = [info for info in archive.infolist() if not info.is_dir() and "__MACOSX/" not in info.filename]
    if len(files) > ZIP_LIMIT:
        raise TableError(f"{source} holds {len(files)} files; at most {ZIP_LIMIT} are looked at")
    names = [info.filename for info in files]
    if wanted:
        if names.count(wanted) != 1:
            raise TableError(unknown(f"in {source}", [wanted], names))
        files = [info for info in files if info.filename == wanted]
    if len(files) != 1:
        shown = ", ".join(names[:_MOST_NAMED]) or "none"
        raise TableError(
            f"{source} holds {len(files)} files: {shown}; say which is the table with {option('sheet')}"
        )
    (found,) = files
    if found.flag_bits & 1 or found.compress_type not in _METHODS:
        raise TableError(f"{source} is encrypted, or packed in an unusual way; unpack it yourself")
    return found


class _Watched:
    """A stream that may not grow out of all proportion to what it was packed into."""

    def __init__(self, stream: IO[bytes], packed: int, source: str) -> None:
        self._stream, self._packed, self._source = stream, packed, source
        self._given = 0

    def read(self, size: int, /) -> bytes:
        with _problems_named(self._source):
            data = self._stream.read(size)
        self._given += len(data)
        if (
            self._given > RATIO_FREE and self._given > RATIO_LIMIT * self._packed
        ) or self._given > GZIP_LIMIT:
            raise TableError(
                f"{self._source} unpacks to more than {RATIO_LIMIT} times its size, or more than "
                f"{GZIP_LIMIT // 1024**3} GiB; unpack it yourself if you trust it"
            )
        return data
