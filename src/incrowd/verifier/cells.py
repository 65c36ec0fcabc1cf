r"""Parsing published cells: what a cell states, as text alone.

::

    cell  = "*" | atom | "{" atom "|" atom … "}"
    atom  = "missing" | "[" low "," high "]" | text

Inside texts the characters \ | { } [ ] * carry a backslash, and a text that is the word missing starts
with one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from incrowd.schema import ESCAPED, EVERYTHING, MISSING
from incrowd.verifier.failure import require

_SPECIAL = re.escape(ESCAPED)
_TEXT = re.compile(rf"(?:\\[{_SPECIAL}]|[^{_SPECIAL}])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
UNESCAPED = "a cell has a special character without a backslash"
_BETWEEN_BARS = re.compile(r"((?:\\.|[^\\|])*)(\||$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ParsedCell:
    """Everything, or any of: missing, some texts, intervals (each as the text between its brackets)."""

    everything: bool = False
    missing: bool = False
    texts: tuple[str, ...] = ()
    intervals: tuple[str, ...] = ()


def parse(cell: str) -> ParsedCell:
    r"""Read a cell.

    Examples
    --------
    >>> parse("{missing|[20,40]}")
    ParsedCell(everything=False, missing=True, texts=(), intervals=('20,40',))
    >>> parse("a\\*").texts
    ('a*',)
    """
    if cell == EVERYTHING:
        return ParsedCell(everything=True)
    if not cell.startswith("{"):
        return _of([cell])
    require(len(cell) > 1 and cell.endswith("}"), "a set has no closing brace")
    atoms = _atoms(cell[1:-1])
    require(len(atoms) > 1, "a set has only one member, which must be written without braces")
    require(len(set(atoms)) == len(atoms), "a set names the same member twice")
    return _of(atoms)


def _atoms(inside: str) -> list[str]:
    if "\\" not in inside:
        return inside.split("|")
    found = list(_BETWEEN_BARS.finditer(inside))
    require(bool(found) and found[-1].end() == len(inside), "a cell ends with a single backslash")
    # After a last atom without a bar the pattern matches once more, on nothing.
    ends = next(i for i, match in enumerate(found) if match[2] == "")
    return [match[1] for match in found[: ends + 1]]


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


def _interval(atom: str) -> str:
    """The text between the brackets."""
    require(len(atom) > 1 and atom.endswith("]"), "an interval has no closing bracket")
    inside = atom[1:-1]
    commas = inside.count(",")
    require(commas > 0, "an interval has only one end")
    if commas > 1:
        require(_TEXT.fullmatch(inside) is not None, UNESCAPED)
    return inside


def interval_ends(inside: str, most_commas: int) -> Iterator[tuple[str, str]]:
    """The two ends of an interval, for each comma that may be the one between them.

    An end that has more than `most_commas` commas is no value of the column; so a long row of commas is not
    cut at each of them, which would take quadratic time.

    Examples
    --------
    >>> list(interval_ends("5,20,7", 0)), list(interval_ends("5,20,7", 1))
    ([], [('5', '20,7'), ('5,20', '7')])
    """
    parts = inside.split(",")
    for i in range(max(1, len(parts) - 1 - most_commas), min(len(parts) - 1, 1 + most_commas) + 1):
        yield _text(",".join(parts[:i])), _text(",".join(parts[i:]))
