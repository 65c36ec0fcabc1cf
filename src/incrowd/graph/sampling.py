"""How likely each match is if all assignments are equally likely: counted where components are small, else
sampled.

Chains that do not know of each other walk through the assignments of a component; how far they differ says
how far their mean can be trusted. The largest probability is found by one half of the chains and measured
by the other: the largest of many estimates is too large.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.graph.components import Components, GraphComponents, components
from incrowd.graph.consistency import Graph, Ints
from incrowd.graph.posterior import posterior
from incrowd.kernels import sampling
from incrowd.long_work import Progress, silent

Floats = NDArray[np.float64]

CHAINS = 8
STUDENT = {CHAINS - 1: 2.3646, CHAINS // 2 - 1: 3.1824}  # 97.5 % of Student's t, by degrees of freedom
EXACT = 12  # records of a component that is counted
SWEEPS = 1  # swaps for each record between two samples
SAMPLES = 400  # of each chain; large components get fewer, but never fewer than FEWEST
FEWEST = 40
STEPS = 40_000_000  # what sampling one component should cost, all chains together
PATIENCE = 20  # times as many steps before a component is given up


@dataclass(frozen=True)
class Estimate:
    """A probability with its 95 % interval; ``exact`` if it was counted, and then both ends are the value."""

    value: float
    low: float
    high: float
    exact: Fraction | None = None

    def to_dict(self) -> dict[str, object]:
        exact = None if self.exact is None else str(self.exact)
        return {"value": self.value, "low": self.low, "high": self.high, "exact": exact}


@dataclass(frozen=True, eq=False)
class Chances:
    """Match probabilities of a uniformly drawn assignment.

    ``value[e]`` is how likely one of the records of edge e is behind a given one of its rows, give or take
    ``spread[e]``, which is 0 where it was counted. ``sampled`` are the records in components that were
    sampled, ``open`` those in components that could not be; there, value is one in the number of matches.
    """

    value: Floats
    spread: Floats
    worst: Estimate | None
    sampled: int
    open: int


@dataclass(frozen=True, eq=False)
class Sampled:
    """What the chains found for the edges of one component: the mean of each chain (CHAINS, m)."""

    means: Floats
    samples: int

    @property
    def value(self) -> Floats:
        found: Floats = self.means.mean(axis=0)
        return found

    @property
    def spread(self) -> Floats:
        """Half of the 95 % interval of each edge."""
        return self.trust(self.means)

    def trust(self, means: Floats) -> Floats:
        """By how much the mean of some chains may be wrong; what never varied may still be one in all
        samples."""
        some = means.shape[0]
        spread: Floats = STUDENT[some - 1] * means.std(axis=0, ddof=1) / np.sqrt(some)
        least: Floats = np.maximum(spread, 1 / (some * self.samples))
        return least

    def worst(self, edges: NDArray[np.bool_]) -> Estimate | None:
        """The largest probability among these edges: named by half of the chains, measured by the others."""
        if not edges.any():
            return None
        half = self.means.shape[0] // 2
        some = self.means[:half]
        # What is certainly large: among very many edges, the largest mean of all is mostly chance.
        edge = int(np.where(edges, some.mean(axis=0) - self.trust(some), -1.0).argmax())
        other = self.means[half:, edge : edge + 1]
        value, spread = float(other.mean()), float(self.trust(other)[0])
        return Estimate(value, max(value - spread, 0.0), min(value + spread, 1.0))


def chances(
    graph: Graph,
    found: Components | None = None,
    most: int = EXACT,
    seed: int = 7,
    progress: Progress = silent,
) -> Chances:
    """Match probabilities if every assignment is equally likely, whatever the size of the graph.

    Parameters
    ----------
    graph : Graph
        The consistency graph.
    found : Components, optional
        Its components, if they are known already.
    most : int
        Up to how many records a component is counted; larger ones are sampled.
    seed : int
        Where the chains' numbers begin; the same seed finds the same.

    Examples
    --------
    >>> found = chances(Graph.of([[0, 1], [0, 1, 2], [1, 2]]))
    >>> found.worst.exact, found.value.round(3).tolist()
    (Fraction(2, 3), [0.667, 0.333, 0.333, 0.333, 0.333, 0.333, 0.667])
    """
    found = components(graph) if found is None else found
    parts = GraphComponents(found)
    label, effective = found.record[parts.tails], found.effective
    value = np.where(effective, 1 / np.maximum(parts.size[label], 1), 0.0)
    spread = np.zeros_like(value)
    worst = [_whole_worst(parts, graph)]
    sampled, given_up, unequal = 0, 0, list(parts.unequal())
    for turn, part in enumerate(unequal):
        progress(turn / len(unequal))
        edges, size = parts.edges(part), int(parts.size[part])
        alone, _, _ = parts.graph(part)
        if size <= most:
            counted = posterior(alone, most)
            value[edges] = [float(chance or 0) for chance in counted.probability]
            worst.append(None if counted.worst is None else _counted(counted.worst))
            continue
        guess = sample(alone, seed + part)
        if guess is None:
            given_up += size
            value[edges] = 1 / np.maximum(found.matches().records[parts.tails[edges]], 1)
            continue
        sampled += size
        value[edges], spread[edges] = guess.value, guess.spread
        worst.append(guess.worst(alone.real))
    known = [estimate for estimate in worst if estimate is not None]
    return Chances(value, spread, max(known, key=lambda e: e.value, default=None), sampled, given_up)


def _counted(chance: Fraction) -> Estimate:
    return Estimate(float(chance), float(chance), float(chance), chance)


def _whole_worst(parts: GraphComponents, graph: Graph) -> Estimate | None:
    """One in the size of the smallest component in which everything is possible."""
    published = np.zeros(parts.size.size, np.bool_)
    published[parts.found.row[: graph.published]] = True
    sizes = parts.size[parts.whole & published & (parts.size > 0)]
    return _counted(Fraction(1, int(sizes.min()))) if sizes.size else None


def sample(graph: Graph, seed: int = 7, found: Components | None = None) -> Sampled | None:
    """Estimate the match probabilities of a graph that is one component; None if it takes too long.

    A sample is taken after a fixed number of moves, never after so many steps: what stops behind a long
    walk is not evenly distributed.

    Examples
    --------
    >>> guess = sample(Graph.of([[0, 1], [0, 1, 2], [1, 2]]))
    >>> bool(abs(guess.value[0] - 2 / 3) <= 3 * guess.spread[0])
    True
    """
    part, flow = _part(graph), (components(graph) if found is None else found).flow
    n = part.kind.size
    most = PATIENCE * STEPS // CHAINS
    samples = int(np.clip(STEPS // (CHAINS * (SWEEPS + 1) * n), FEWEST, SAMPLES))
    pairs = graph.record_weight[graph.tails] * graph.row_weight[graph.indices]
    means = np.empty((CHAINS, pairs.size))
    for chain, mean in enumerate(means):
        state = _state(graph, flow, sampling.dice(seed, chain))
        for turns in (samples // 5, samples):  # the first are thrown away
            tally = np.zeros(pairs.size, dtype=np.int64)
            if sampling.sample(part, state, turns, SWEEPS * n, most, tally) == sampling.GAVE_UP:
                return None
        mean[:] = tally / (samples * pairs)
    return Sampled(means, samples)


def _part(graph: Graph) -> sampling.SampledComponent:
    begins = np.concatenate([np.zeros(1, np.int64), np.cumsum(graph.row_weight)])
    weight = graph.row_weight[graph.indices]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(weight)])
    return sampling.SampledComponent(
        kind=np.repeat(np.arange(graph.record_weight.size), graph.record_weight),
        row_kind=np.repeat(np.arange(graph.row_weight.size), graph.row_weight),
        indptr=graph.indptr,
        indices=graph.indices,
        first=begins[graph.indices],
        upto=before[:-1] - before[graph.indptr[graph.tails]],
        degree=np.diff(before[graph.indptr]),
    )


def _state(graph: Graph, flow: Ints, dice: Ints) -> sampling.State:
    """The assignment that the flow describes: equal records take the rows of their kind's edges in turn."""
    edge = np.repeat(np.arange(flow.size), flow)  # by record, since edges are
    by_row = np.argsort(graph.indices[edge], kind="stable")
    row = np.empty(edge.size, np.int64)
    row[by_row] = np.arange(edge.size)  # rows of one kind lie side by side
    owner = np.empty_like(row)
    owner[row] = np.arange(edge.size)
    return sampling.State(row, owner, edge[by_row].astype(np.int64), dice)
