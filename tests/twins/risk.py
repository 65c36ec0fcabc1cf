"""Slow twins for re-identification risk: plain Python, nothing of incrowd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product


def row_risks(labels: Sequence[int], persons: Sequence[int]) -> list[Fraction]:
    """For each row, the chance that a row of its class, picked at random, is the same person's."""
    rows = list(zip(labels, persons, strict=True))
    return [
        Fraction(rows.count((label, person)), sum(other == label for other in labels))
        for label, person in rows
    ]


def person_risks(labels: Sequence[int], persons: Sequence[int]) -> dict[int, Fraction]:
    """For each person, the highest risk of their rows."""
    found: dict[int, Fraction] = {}
    for person, risk in zip(persons, row_risks(labels, persons), strict=True):
        found[person] = max(risk, found.get(person, Fraction(0)))
    return found


def unique_persons(labels: Sequence[int], persons: Sequence[int]) -> set[int]:
    """Who has a row in a class of nobody else."""
    rows = list(zip(labels, persons, strict=True))
    return {person for label, person in rows if {who for other, who in rows if other == label} == {person}}


def samples(chances: Sequence[Fraction]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """Every sample of people who are drawn independently, and how likely it is."""
    for drawn in product((False, True), repeat=len(chances)):
        likely = Fraction(1)
        for taken, chance in zip(drawn, chances, strict=True):
            likely *= chance if taken else 1 - chance
        yield tuple(i for i, taken in enumerate(drawn) if taken), likely
