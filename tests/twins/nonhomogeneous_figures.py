"""Slow twin of GCP in the figures of "Non-homogeneous Generalization": plain Python, without incrowd."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Rows = Sequence[Sequence[str]]


def coded(rows: Rows) -> tuple[list[tuple[int, ...]], list[int]]:
    """Values as places in the order of those that occur, column by column; and the sizes of the domains."""
    domains = [
        sorted({row[j] for row in rows}, key=lambda text: (not text.isdigit(), text.zfill(9)))
        for j in range(len(rows[0]))
    ]
    return [tuple(d.index(text) for d, text in zip(domains, row, strict=True)) for row in rows], [
        len(d) for d in domains
    ]


def gcp(
    points: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
    neighbourhoods: Sequence[Sequence[int]],
    ranges: bool,
) -> Fraction:
    """Mean over all cells of (values of the cell - 1) / (values of the domain - 1); a row for each crowd."""
    total = Fraction(0)
    for crowd in neighbourhoods:
        for j, size in enumerate(sizes):
            values = {points[i][j] for i in crowd}
            wide = max(values) - min(values) if ranges else len(values) - 1
            total += Fraction(wide, size - 1) if size > 1 else 0
    return total / (len(neighbourhoods) * len(sizes))


def whole_parts(parts: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Everybody's row says what all of their part have."""
    return [part for part in parts for _ in part]


def rings(parts: Sequence[Sequence[int]], k: int) -> list[list[int]]:
    """Everybody's row is made over them and the k-1 that follow in their part, round and round."""
    return [[part[(at + step) % len(part)] for step in range(k)] for part in parts for at in range(len(part))]
