"""The numbers that claims and manifests say: whole ones and exact decimals, nothing else."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from incrowd.schema import Claim
from incrowd.verifier.fault import Fault, need

_DECIMAL = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?")


def whole(claim: Claim, name: str) -> int:
    number = claim.parameters[name]
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise Fault(f"{name} is not a whole number of at least 1")
    return number


def decimal(claim: Claim, name: str) -> Fraction:
    return exactly(str(claim.parameters[name]), name)


def exactly(said: Any, name: str) -> Fraction:
    """The decimal that a text says; not below nought.

    Examples
    --------
    >>> exactly("0.05", "p")
    Fraction(1, 20)
    """
    if not isinstance(said, str):
        raise Fault(f"{name} is not the text of a decimal")
    need(_DECIMAL.fullmatch(said) is not None, f"{name} is not a decimal")
    return Fraction(said)
