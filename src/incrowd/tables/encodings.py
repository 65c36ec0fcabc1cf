"""How the letters of a text file are stored: as stated, as its first bytes say, as UTF-8, or else as cp1252.

UTF-8 is what most files are, and hardly any other text is UTF-8 by accident. Windows programs of Western
Europe and America write cp1252, which nearly any bytes can be read as: so it is taken only where what comes
out looks like text of these languages, and said. Where it does not, somebody must state the encoding.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

from incrowd.errors import TableError, option, unknown
from incrowd.tables.checked_files import NotThisEncoding, Stream

UTF_8, WESTERN = "utf-8", "cp1252"
ENCODINGS = (
    *(UTF_8, "ascii", "utf-16", "utf-16-le", "utf-16-be", "latin-1", WESTERN),
    *("cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258"),
    *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)),
    *("cp437", "cp850", "cp852", "cp866", "koi8-r", "koi8-u", "mac-roman"),
    *("shift_jis", "cp932", "euc-jp", "gb18030", "gbk", "big5", "euc-kr", "cp949"),
)
_BY_CODEC = {codecs.lookup(name).name: name for name in reversed(ENCODINGS)}
_CHUNK = 64 * 1024

# Three letters of a row that are not English, or a sign of trade between two letters: as Cyrillic, Polish or
# Japanese bytes look when they are read as cp1252, and as hardly any Western word does.
_ODD = re.compile(
    "[\u0080-\u024f\u2010-\u2122]{3}|[A-Za-zÀ-ÿ][¡¢£¤¥¦§¨©«¬®¯±²³¶¸¹»¼½¾¿][A-Za-zÀ-ÿ]|[\u0080-\u009f]"
    "|[A-Za-zÀ-ÿ]{3}[¹²³¼½¾¯¥£¢¤¦¨]|[£¥¢¤¯¦¼½¾¹²³][A-Za-zÀ-ÿ]|[a-zß-ÿ][ŸŠŽŒ]"
    "|[ÂÃ][\u00a0-\u00bf€‚ƒ„…†‡ˆ‰Š‹Œ‘’“”•–—˜™š›œ]|â€"  # UTF-8 with a broken character somewhere
)


def known_encoding(name: str) -> str:
    """The name by which an encoding is known here.

    Examples
    --------
    >>> known_encoding("UTF8"), known_encoding("Windows-1252"), known_encoding("ISO-8859-1")
    ('utf-8', 'cp1252', 'latin-1')
    """
    try:
        found = _BY_CODEC.get(codecs.lookup(name.strip()).name)
    except (LookupError, ValueError):
        found = None
    if found is None:
        raise TableError(unknown("an encoding that is read", [name], ENCODINGS))
    return found


def seen_encoding(beginning: bytes) -> str:
    """The encoding that the first bytes of a text tell; UTF-8 if they tell none.

    Examples
    --------
    >>> [seen_encoding(text) for text in ("age".encode("utf-16"), "age".encode("utf-16-be"), b"age")]
    ['utf-16', 'utf-16-be', 'utf-8']
    """
    if beginning.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return UTF_8  # UTF-32: refused by whoever reads it
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = beginning[:64] if len(beginning) % 2 == 0 or len(beginning) > 64 else beginning[:-1]
    if len(head) >= 4:
        if not any(head[1::2]) and all(head[::2]):
            return "utf-16-le"
        if not any(head[::2]) and all(head[1::2]):
            return "utf-16-be"
    return UTF_8


def looks_western(texts: Iterable[str | None]) -> bool:
    """Do texts that were read as cp1252 look like it?"""
    return not any(text and not text.isascii() and _ODD.search(text) for text in texts)


class Recoded:
    """A stream of another encoding, as UTF-8."""

    def __init__(self, stream: Stream, encoding: str, name: str) -> None:
        self._stream, self._encoding, self._name = stream, encoding, name
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._ended = False

    def read(self, size: int, /) -> bytes:
        data = b""
        while not data and not self._ended:
            chunk = self._stream.read(min(size, _CHUNK))
            self._ended = not chunk
            data = self._recoded(chunk)
        return data

    def _recoded(self, chunk: bytes) -> bytes:
        try:
            return self._decoder.decode(chunk, final=not chunk).encode()
        except UnicodeError:
            pass  # raised below, where no exception that holds the bytes is around
        raise NotThisEncoding(
            f"{self._name} is not {self._encoding}; say how its letters are stored with {option('encoding')}"
        )


class Replayed:
    """A stream of which the first bytes were looked at."""

    def __init__(self, beginning: bytes, stream: Stream) -> None:
        self._beginning, self._stream = beginning, stream

    def read(self, size: int, /) -> bytes:
        given, self._beginning = self._beginning, b""
        return given or self._stream.read(size)
