"""Codes that say themselves what they belong to: British postcodes, and diagnoses of ICD-10."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping

_POSTCODE = re.compile(r"([A-Z]{1,2})([0-9][0-9A-Z]?)(?:[0-9][A-Z]{2})?")
_ICD10 = re.compile(r"([A-Z][0-9][0-9A-Z])(?:\.?[0-9A-Z]{1,4})?")

CHAPTERS = (
    "A00-B99", "C00-D49", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95",
    "I00-I99", "J00-J99", "K00-K95", "L00-L99", "M00-M99", "N00-N99", "O00-O9A", "P00-P96",
    "Q00-Q99", "R00-R99", "S00-T98", "U00-U99", "V00-Y99", "Z00-Z99",
)  # fmt: skip
_FIRST = [chapter[:3] for chapter in CHAPTERS]


def _postcode(text: str) -> re.Match[str] | None:
    return _POSTCODE.fullmatch(text.upper().replace(" ", ""))


def outward(text: str) -> str | None:
    """The first half of a British postcode, of which there are about 3,000; None if it is none.

    Examples
    --------
    >>> outward("SW1A 1AA"), outward("m11ae"), outward("90210")
    ('SW1A', 'M1', None)
    """
    found = _postcode(text)
    return found and found[1] + found[2]


def area(text: str) -> str | None:
    """The letters at its beginning, of which there are 124."""
    found = _postcode(text)
    return found and found[1]


def category(text: str) -> str | None:
    """The three characters of a code of ICD-10 that name the disease; None if it is none.

    Examples
    --------
    >>> category("E11.9"), category("e119"), category("250.0")
    ('E11', 'E11', None)
    """
    found = _ICD10.fullmatch(text.strip().upper())
    return found and found[1]


def chapter(text: str) -> str | None:
    """The chapter that the disease is in.

    Examples
    --------
    >>> chapter("E11.9"), chapter("C7A.0"), chapter("D50")
    ('E00-E90', 'C00-D49', 'D50-D89')
    """
    found = category(text)
    return None if found is None else CHAPTERS[bisect_right(_FIRST, found) - 1]


POSTCODE_PARTS: Mapping[str, Callable[[str], str | None]] = {"outward": outward, "area": area}
ICD10_PARTS: Mapping[str, Callable[[str], str | None]] = {"category": category, "chapter": chapter}
