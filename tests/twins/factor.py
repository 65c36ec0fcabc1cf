"""Slow twins of what makes crowds regular, in plain Python and without incrowd. For six records or so."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations

from twins.nonhomogeneous import Crowding


def is_factor(neighbourhoods: Sequence[Sequence[int]], k: int) -> bool:
    """Is every crowd k different records, its own among them, and everyone in exactly k crowds?"""
    rows = Counter(x for crowd in neighbourhoods for x in crowd)
    whole = all(len(crowd) == len(set(crowd)) == k and i in crowd for i, crowd in enumerate(neighbourhoods))
    return whole and all(rows[i] == k for i in range(len(neighbourhoods)))


def has_factor(fits: Sequence[Sequence[int]], k: int) -> bool:
    """Can each record be given k of the rows it fits, so that no row is given more than k times?"""
    given: dict[int, set[int]] = {row: set() for row in range(len(fits))}

    def give(record: int, tried: set[int]) -> bool:
        for row in fits[record]:
            if row in tried or record in given[row]:
                continue
            tried.add(row)
            for other in [None, *given[row]] if len(given[row]) < k else [*given[row]]:
                if other is None or give(other, tried):
                    given[row] -= {other}
                    given[row].add(record)
                    return True
        return False

    return all(give(record, set()) for record in range(len(fits)) for _ in range(k))


def best_factor(crowding: Crowding, k: int) -> float:
    """The least loss of all k-regular crowds: row by row, the cheapest for everyone's count so far."""
    n = len(crowding.records)
    so_far = {(0,) * n: 0.0}
    for i in range(n):
        others = [x for x in range(n) if x != i]
        options = [(i, *chosen) for chosen in combinations(others, k - 1)]
        priced = [(crowd, crowding.of(crowding.closure(crowd))) for crowd in options]
        found: dict[tuple[int, ...], float] = {}
        for counts, cost in so_far.items():
            for crowd, more in priced:
                after = tuple(count + (x in crowd) for x, count in enumerate(counts))
                if max(after) <= k and cost + more < found.get(after, float("inf")):
                    found[after] = cost + more
        so_far = found
    return so_far[(k,) * n] / n


def cheapest_assignment(cost: Sequence[Sequence[float]]) -> float:
    """The least sum of one entry from each row and column, by trying all."""
    every = permutations(range(len(cost)))
    return min(sum(cost[row][column] for column, row in enumerate(order)) for order in every)
