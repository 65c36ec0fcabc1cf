"""How a check fails, and the exact numbers that claims and manifests may state."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from incrowd.schema import Claim

_DECIMAL = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?")


class CheckFailed(Exception):
    """A check found something wrong. The message is published in the verdict, so it quotes no cell."""


def require(condition: bool, otherwise: str) -> None:
    """Stop the check unless the condition holds."""
    if not condition:
        raise CheckFailed(otherwise)


def whole(claim: Claim, name: str) -> int:
    """A parameter that must be a whole number of at least 1."""
    number = claim.parameters[name]
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise CheckFailed(f"{name} is not a whole number of at least 1")
    return number


def decimal(claim: Claim, name: str) -> Fraction:
    """A parameter that must be a decimal number of at least 0."""
    return exactly(str(claim.parameters[name]), name)


def exactly(stated: Any, name: str) -> Fraction:
    """The decimal number that a text states; at least 0.

    Examples
    --------
    >>> exactly("0.05", "p")
    Fraction(1, 20)
    """
    if not isinstance(stated, str):
        raise CheckFailed(f"{name} is not a decimal number written as text")
    require(_DECIMAL.fullmatch(stated) is not None, f"{name} is not a decimal number")
    return Fraction(stated)
