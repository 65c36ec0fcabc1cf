"""(k,e)-anonymity and (epsilon,m)-anonymity by their definitions, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Classes = Sequence[Sequence[Fraction]]


def k_e_anonymous(classes: Classes, k: int, e: Fraction) -> bool:
    """Has every class k different numbers, and a range of at least e?"""
    return all(len(set(c)) >= k and max(c) - min(c) >= e for c in classes if c)


def epsilon_m_anonymous(classes: Classes, epsilon: Fraction, m: Fraction) -> bool:
    """Has at most 1/m of a class a number that differs from any number of it by epsilon or less?"""
    return all(
        Fraction(sum(abs(y - x) <= epsilon for y in c), len(c)) <= 1 / m for c in classes if c for x in c
    )
