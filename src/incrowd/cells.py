r"""A published cell taken apart again.

A cell is ``*``, ``missing``, a value or label, a range ``[lo,hi]``, or a set ``{a|b}`` of such atoms. Signs
of this syntax inside a value have a backslash before them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from incrowd.schema import EVERYTHING, MISSING

_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_SIGN = re.compile(r"\\.|[^\\]|\\$", re.DOTALL)


def unescaped(atom: str) -> str:
    r"""The value or label that stands in a cell.

    Examples
    --------
    >>> unescaped(r"a\|b"), unescaped(r"\missing")
    ('a|b', 'missing')
    """
    return _ESCAPE.sub(r"\1", atom)


def set_body(cell: str) -> str | None:
    """What stands between the braces of a set; None if the cell is none."""
    return cell[1:-1] if len(cell) > 1 and cell[0] == "{" and cell[-1] == "}" else None


def split_atoms(body: str) -> list[str]:
    r"""Split at bars that no backslash protects; atoms stay escaped.

    Examples
    --------
    >>> split_atoms("a|b"), split_atoms(r"a\|b|[1,2]")
    (['a', 'b'], ['a\\|b', '[1,2]'])
    """
    if "\\" not in body:
        return body.split("|")
    found = [""]
    for sign in _SIGN.findall(body):
        if sign == "|":
            found.append("")
        else:
            found[-1] += sign
    return found


def atoms(cell: str) -> list[str]:
    r"""The atoms of a cell, still escaped: the members of a set, or itself.

    Examples
    --------
    >>> atoms("{missing|[20,40]}"), atoms(r"{a\|b|c}"), atoms("F")
    (['missing', '[20,40]'], ['a\\|b', 'c'], ['F'])
    """
    body = set_body(cell)
    return [cell] if body is None else split_atoms(body)


def range_ends(atom: str, commas: int = 0) -> list[tuple[str, str]]:
    """Both ends of a range, as texts, for each comma that may be the middle one.

    Other tools write values with commas; `commas` says how many an end may hold. So a cell full of them takes
    no longer to read than any of its length.

    Examples
    --------
    >>> range_ends("[20,40]"), range_ends("20"), range_ends("[1,2,3]")
    ([('20', '40')], [], [])
    >>> range_ends("[a,b,c]", commas=1)
    [('a', 'b,c'), ('a,b', 'c')]
    """
    if not (len(atom) > 1 and atom[0] == "[" and atom[-1] == "]"):
        return []
    inside = atom.count(",")
    if not 1 <= inside <= 2 * commas + 1:
        return []
    parts = atom[1:-1].split(",")
    middles = range(max(1, inside - commas), min(commas + 1, inside) + 1)
    return [(",".join(parts[:middle]), ",".join(parts[middle:])) for middle in middles]


@dataclass(frozen=True, slots=True)
class CellParts:
    """A cell taken apart: its atoms, still escaped, whether missing is one, whether it is everything."""

    atoms: tuple[str, ...] = ()
    missing: bool = False
    everything: bool = False


def read_cell(text: str) -> CellParts:
    """Take a cell apart.

    Examples
    --------
    >>> read_cell("{missing|[20,40]}")
    CellParts(atoms=('[20,40]',), missing=True, everything=False)
    """
    if text == EVERYTHING:
        return CellParts(missing=True, everything=True)
    found = atoms(text)
    return CellParts(tuple(atom for atom in found if atom != MISSING), MISSING in found)
