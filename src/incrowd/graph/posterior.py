"""How likely each match is if all assignments are equally likely, exactly.

Components do not influence each other. In one of them, assignments are counted over how many rows of each
kind are taken: forwards for the records before one, backwards for those after it. A component in which
everything is consistent with everything needs no counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError
from incrowd.graph.components import Components, GraphComponents, components
from incrowd.graph.consistency import Graph, Ints

MOST = 18  # records of a component; 18! assignments still fit 64 bits, and so do the states


@dataclass(frozen=True)
class Posterior:
    """Match probabilities of a uniformly drawn assignment.

    ``probability[e]`` is how likely one of the records of edge e is behind one of its rows (of equal rows: a
    given one); None in components that are too large. ``assignments`` counts the ways to give every
    record its row; None if one component is too large.
    """

    assignments: int | None
    probability: tuple[Fraction | None, ...]
    real: NDArray[np.bool_]

    @property
    def worst(self) -> Fraction | None:
        """The largest known probability of a match with a published row; None if none is known."""
        pairs = zip(self.probability, self.real.tolist(), strict=True)
        return max((chance for chance, real in pairs if real and chance is not None), default=None)


def posterior(graph: Graph, most: int = MOST, found: Components | None = None) -> Posterior:
    """Match probabilities if every assignment is equally likely.

    After corruption, ask for ``posterior(graph.without(known))``.

    Parameters
    ----------
    graph : Graph
        The consistency graph.
    most : int
        Up to how many records a component is counted, at most 18.
    found : Components, optional
        The components of the graph, if they are known already.

    Raises
    ------
    PolicyError
        If `most` is out of bounds.
    TableError
        If records cannot be assigned to rows one to one.

    Examples
    --------
    >>> chances = posterior(Graph.of([[0, 1], [0, 1, 2], [1, 2]]))
    >>> chances.assignments, chances.worst
    (3, Fraction(2, 3))
    """
    if not 0 <= most <= MOST:
        raise PolicyError(f"posterior: most must be a whole number from 0 to {MOST}, got {most}.")
    found = components(graph) if found is None else found
    chances: list[Fraction | None] = [Fraction(0)] * graph.indices.size
    ways: list[int | None] = []
    parts = GraphComponents(found)
    for part in np.flatnonzero(parts.size).tolist():
        way, chance = _solved(parts.graph(part)[0], most)
        ways.append(way)
        for edge, value in zip(parts.edges(part).tolist(), chance, strict=True):
            chances[edge] = value
    known = [way for way in ways if way is not None]
    # Who is left out is a set: in which order they are does not make another assignment.
    total = prod(known) // factorial(graph.left_out) if len(known) == len(ways) else None
    return Posterior(total, tuple(chances), graph.real)


def _solved(graph: Graph, most: int) -> tuple[int | None, list[Fraction | None]]:
    """The number of assignments of one component, and the probability of each edge."""
    size = len(graph)
    if graph.indices.size == graph.record_weight.size * graph.row_weight.size:
        return factorial(size), [Fraction(1, size)] * graph.indices.size
    if size > most:
        return None, [None] * graph.indices.size
    states, record, row = _TakenRows(graph.row_weight), graph.tails, graph.indices
    turns = np.repeat(np.arange(graph.record_weight.size), graph.record_weight)
    wanted = [row[record == u] for u in range(graph.record_weight.size)]
    before = [states.only(0)]
    for u in turns:
        before.append(np.sum([states.taken(before[-1], v) for v in wanted[u]], axis=0))
    after = states.only(-1)
    total = int(before[-1][-1])
    chance: list[Fraction | None] = [None] * graph.indices.size
    for i in range(turns.size - 1, -1, -1):
        for edge in np.flatnonzero(record == turns[i]):
            v = row[edge]
            ways = int((states.taken(before[i], v) * after).sum())
            chance[edge] = Fraction(ways, total * int(graph.row_weight[v]))
        after = np.sum([states.given(after, v) for v in wanted[turns[i]]], axis=0)
    return total, chance


class _TakenRows:
    """How many rows of each kind are taken, as one number with a digit for each kind."""

    def __init__(self, rows: Ints) -> None:
        self.step = np.cumprod(np.append(1, rows + 1))
        self.size = int(self.step[-1])
        self.rows = rows

    def only(self, state: int) -> Ints:
        ways = np.zeros(self.size, dtype=np.int64)
        ways[state] = 1
        return ways

    def _free(self, v: int) -> Ints:
        """How many rows of kind v are free in each state."""
        free: Ints = self.rows[v] - np.arange(self.size) // self.step[v] % (self.rows[v] + 1)
        return free

    def taken(self, ways: Ints, v: int) -> Ints:
        """In how many ways each state is reached by taking one more row of kind v."""
        moved = np.zeros_like(ways)
        step = self.step[v]
        moved[step:] = (ways * self._free(v))[:-step]  # where none is free, nothing is moved
        return moved

    def given(self, ways: Ints, v: int) -> Ints:
        """In how many ways each state goes on if it takes one more row of kind v."""
        moved = np.zeros_like(ways)
        step = self.step[v]
        moved[:-step] = ways[step:]
        return moved * self._free(v)
