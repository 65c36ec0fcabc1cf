"""How a value or a label stands in a published cell, so that no sign of the syntax is mistaken for it."""

from __future__ import annotations

from incrowd.schema import ESCAPED, MISSING

_ESCAPES = {ord(sign): "\\" + sign for sign in ESCAPED}


def escaped(text: str) -> str:
    r"""A value or label as it stands in a cell.

    Examples
    --------
    >>> print(escaped("a|b"), escaped("901***"), escaped("missing"))
    a\|b 901\*\*\* \missing
    """
    return "\\" + text if text == MISSING else text.translate(_ESCAPES)
