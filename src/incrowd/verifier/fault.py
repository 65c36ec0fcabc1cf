"""How a check says no."""

from __future__ import annotations


class Fault(Exception):
    """A check found something wrong. The message is published in the verdict, so it quotes no cell."""


def need(condition: bool, otherwise: str) -> None:
    """Stop the check unless the condition holds."""
    if not condition:
        raise Fault(otherwise)
