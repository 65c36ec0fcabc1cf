"""Which of the papers' classes of anonymity a graph belongs to, by the largest k of each."""

from __future__ import annotations

from fractions import Fraction

from incrowd.errors import TableError
from incrowd.graph import Components, Graph, components, lambda_star, levels


def largest(graph: Graph, found: Components | None = None) -> dict[str, int]:
    return levels(graph, components(graph) if found is None else found)[1]


def classes(graph: Graph, k: int, found: Components | None = None) -> dict[str, bool]:
    return {name: most >= k for name, most in largest(graph, found).items()}


def has_factor(graph: Graph, k: int) -> bool:
    """Can an assignment be drawn in which every match has probability at most 1/k?"""
    try:
        return lambda_star(graph) <= Fraction(1, k)
    except TableError:  # there is no assignment
        return False
