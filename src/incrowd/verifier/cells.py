r"""What a published cell says, as text alone.

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
from incrowd.verifier.fault import Fault, need

_SPECIAL = re.escape(ESCAPED)
_TEXT = re.compile(rf"(?:\\[{_SPECIAL}]|[^{_SPECIAL}])*", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_BETWEEN_BARS = re.compile(r"((?:\\.|[^\\|])*)(\||$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Cell:
    """Everything, or any of: missing, some texts, one interval (as low and high may be cut)."""

    everything: bool = False
    missing: bool = False
    texts: tuple[str, ...] = ()
    intervals: tuple[tuple[tuple[str, str], ...], ...] = ()


def parse(cell: str) -> Cell:
    r"""Read a cell.

    Examples
    --------
    >>> parse("{missing|[20,40]}")
    Cell(everything=False, missing=True, texts=(), intervals=((('20', '40'),),))
    >>> parse("a\\*").texts
    ('a*',)
    """
    if cell == EVERYTHING:
        return Cell(everything=True)
    if not cell.startswith("{"):
        return _of([cell])
    need(len(cell) > 1 and cell.endswith("}"), "a set has no end")
    atoms = _atoms(cell[1:-1])
    need(len(atoms) > 1, "a set has one member, which must be written bare")
    need(len(set(atoms)) == len(atoms), "a set names a member twice")
    return _of(atoms)


def _atoms(inside: str) -> list[str]:
    if "\\" not in inside:
        return inside.split("|")
    found = list(_BETWEEN_BARS.finditer(inside))
    need(bool(found) and found[-1].end() == len(inside), "an escape has no end")
    # After a last atom without a bar the pattern matches once more, on nothing.
    ends = next(i for i, match in enumerate(found) if match[2] == "")
    return [match[1] for match in found[: ends + 1]]


def _of(atoms: list[str]) -> Cell:
    texts = tuple(_text(atom) for atom in atoms if atom != MISSING and not atom.startswith("["))
    intervals = tuple(_interval(atom) for atom in atoms if atom.startswith("["))
    return Cell(missing=MISSING in atoms, texts=texts, intervals=intervals)


@lru_cache(maxsize=2**16)  # a value stands in many sets
def _text(atom: str) -> str:
    if atom == "\\" + MISSING:
        return MISSING
    need(_TEXT.fullmatch(atom) is not None, "a text has a sign that is not escaped")
    return _ESCAPE.sub(r"\1", atom)


def _interval(atom: str) -> tuple[tuple[str, str], ...]:
    """The ends, for each comma that may be the one between them."""
    need(len(atom) > 1 and atom.endswith("]"), "an interval has no end")
    parts = atom[1:-1].split(",")
    if len(parts) < 2:
        raise Fault("an interval has one end")
    cuts = range(1, len(parts))
    return tuple((_text(",".join(parts[:i])), _text(",".join(parts[i:]))) for i in cuts)
