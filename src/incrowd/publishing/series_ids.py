"""The ids of a series: who must be erased, and whether a table writes ids as the tables before it did.

Nobody can see that somebody got a new id. But a table whose ids are all new, or differ from known ones in
blanks, zeros in front or ".0" alone, was mostly read or written in another way: as whole numbers, say, whose
zeros are gone. Its people would count as others, and all releases together would give them away.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np

from incrowd import tables
from incrowd.errors import InputError, Refused, TableError, option
from incrowd.values import same_name

MOST_DIGITS = 18  # to which numbers are filled up with zeros
MOST_ASKED = 2_000  # newcomers, in the order of their digests: what is wrong with many shows in these


def spellings(text: str) -> set[str]:
    """The same id as other tables may write it.

    Examples
    --------
    >>> sorted(spellings(" A7 "))
    ['A7']
    >>> {"007", "7", "7.0"} <= spellings("07"), "07" in spellings("07")
    (True, False)
    """
    bare = text.strip()
    whole = bare.removesuffix(".0")
    found = {bare}
    if whole.isascii() and whole.isdigit():
        digits = whole.lstrip("0") or "0"
        found |= {f"{digits}.0", *(digits.zfill(width) for width in range(1, MOST_DIGITS + 1))}
    return found - {text}


def all_spellings(ids: Iterable[str]) -> list[str]:
    """Those of many ids, each once."""
    return sorted({other for text in ids for other in spellings(text)})


def check_somebody_known(here: int, known: int, entity: str) -> None:
    """Refuse a table with nobody of the series."""
    if known and not here:
        raise TableError(
            f"{entity}: none of the {known:,} people of the series is in this table; write ids as in the "
            "tables before, or leave this release out until somebody is back; other people are a series of "
            "their own"
        )


def check_written_alike(strange: int, entity: str) -> None:
    """Refuse new ids that are those of people who have gone, but for the way they are written."""
    if strange:
        raise TableError(
            f"{entity}: {strange} new ids differ only by blanks, zeros in front or .0 at the end from ids of "
            "people who are not in this table any more; a person keeps one id, text for text: write it as in "
            "the tables before"
        )


def check_no_series(known: int, asked: int, last: str) -> None:
    """Refuse to begin a series about people of another one."""
    if known:
        raise Refused(
            f"{known:,} of {asked:,} ids are those of people of {last}, the last release of a series in this "
            f"folder: go on after it, with {option('after')}; a second series about the same people breaks "
            "what both promise, and one about others belongs in another folder"
        )


def ids_to_erase(erase: object, entity: str) -> frozenset[str]:
    """The ids to erase: those of a list, or of the entity's column in a table.

    The column must have that name: the first id of a file without a header would be lost as one.
    """
    if erase is None:
        return frozenset()
    if isinstance(erase, list | tuple | set | frozenset):
        return frozenset(map(str, erase))
    table = tables.read(os.fspath(erase) if isinstance(erase, os.PathLike) else erase)
    named = [name for name in table.names if same_name(name) == same_name(entity)]
    if not named:
        raise InputError(
            f"the ids to erase need a column {entity}; a file of ids alone needs this name as its first line"
        )
    column = table.column(named[0])
    met = np.unique(column.codes).tolist()
    return frozenset(str(text) for code in met if (text := column.texts[code]))


def check_known(strange: int, ids: int) -> None:
    """Refuse ids to erase that nobody has."""
    if strange:
        raise InputError(
            f"{strange} of {ids} ids to erase are neither in the table nor in any release of the "
            "series; ids are compared text for text"
        )
