r"""Parsing published cells: what a cell states, as text alone.

::

    cell  = "*" | atom | "{" atom "|" atom … "}"
    atom  = "missing" | "[" low "," high "]" | text

Inside texts the characters \ | { } [ ] * carry a backslash, and a text that is the word missing starts
with one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from incrowd.schema import ESCAPED, EVERYTHING, MISSING
from incrowd.verifier.failure import require

_SPECIAL = re.escape(ESCAPED)
_TEXT = re.compile(rf"(?:\\[{_SPECIAL}]|[^{_SPECIAL}])*+", re.DOTALL)
_SIGN = re.compile(rf"[{_SPECIAL}]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
UNESCAPED = "a cell has a special character without a backslash"
_UP_TO_A_BAR = re.compile(r"(?:\\.|[^\\|])*+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedCell:
    """Everything, or any of: missing, some texts, intervals."""

    everything: bool = False
    missing: bool = False
    texts: tuple[str, ...] = ()
    intervals: tuple[tuple[str, str], ...] = ()


def parse(cell: str) -> ParsedCell:
    r"""Read a cell.

    Examples
    --------
    >>> parse("{missing|[20,40]}")
    ParsedCell(everything=False, missing=True, texts=(), intervals=(('20', '40'),))
    >>> parse("a\\*").texts
    ('a*',)
    """
    if cell == EVERYTHING:
        return ParsedCell(everything=True)
    if not cell.startswith("{"):
        return _of([cell])
    require(cell.endswith("}"), "a set has no closing brace")
    atoms = _atoms(cell[1:-1])
    require(len(atoms) > 1, "a set has only one member, which must be written without braces")
    require(len(set(atoms)) == len(atoms), "a set names the same member twice")
    return _of(atoms)


def _atoms(inside: str) -> list[str]:
    if "\\" not in inside:
        return inside.split("|")
    found: list[str] = []
    at = -1
    while at < len(inside):
        after = _UP_TO_A_BAR.match(inside, at + 1)
        found.append(after[0] if after else "")
        at += 1 + len(found[-1])
        require(inside[at : at + 1] in ("|", ""), "a cell ends with a single backslash")
    return found


def _of(atoms: list[str]) -> ParsedCell:
    texts = tuple(_text(atom) for atom in atoms if atom != MISSING and not atom.startswith("["))
    intervals = tuple(_interval(atom) for atom in atoms if atom.startswith("["))
    return ParsedCell(missing=MISSING in atoms, texts=texts, intervals=intervals)


@lru_cache(maxsize=2**16)  # a value stands in many sets
def _text(atom: str) -> str:
    if atom == "\\" + MISSING:
        return MISSING
    require(_TEXT.fullmatch(atom) is not None, UNESCAPED)
    return _ESCAPE.sub(r"\1", atom)


def _interval(atom: str) -> tuple[str, str]:
    """The two ends; no number and no day has a comma in it."""
    require(atom.endswith("]"), "an interval has no closing bracket")
    ends = atom[1:-1].split(",")
    require(len(ends) == 2, "an interval does not have two ends")
    return _text(ends[0]), _text(ends[1])


def escaped(text: str) -> str:
    r"""A value or label as a cell must write it.

    Examples
    --------
    >>> print(escaped("a|b"), escaped("missing"))
    a\|b \missing
    """
    return "\\" + text if text == MISSING else _SIGN.sub(r"\\\g<0>", text)
