"""Slow twins of Algorithms 3 to 6 of "k-Anonymization Revisited", in plain Python and without incrowd.

A generalised record is a tuple of frozensets, one for each attribute; a family is the list of permissible
sets of an attribute. Costs are compared after rounding to ten decimals, ties go to the smaller index.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from math import log2

Record = tuple[int, ...]
Row = tuple[frozenset[int], ...]
Families = Sequence[Sequence[frozenset[int]]]
Cost = Callable[[int, frozenset[int]], float]


def loss_measure(families: Families) -> Cost:
    """(|B| - 1) / (|A| - 1)."""
    sizes = [max(map(len, family)) for family in families]
    return lambda j, b: (len(b) - 1) / (sizes[j] - 1) if sizes[j] > 1 else 0.0


def entropy_measure(records: Sequence[Record]) -> Cost:
    """Bits that are unknown about a value, if only the set is known."""
    counts = [Counter(column) for column in zip(*records, strict=True)]

    def cost(j: int, b: frozenset[int]) -> float:
        found = [counts[j][value] for value in b if counts[j][value]]
        total = sum(found)
        return -sum(c / total * log2(c / total) for c in found) if total else 0.0

    return cost


class Crowding:
    """Records, families and a measure: closures and what they cost."""

    def __init__(self, records: Sequence[Record], families: Families, cost: Cost) -> None:
        self.records = records
        self.families = families
        self.cost = cost

    def closure(self, members: Sequence[int]) -> Row:
        return self.join([(frozenset({value}) for value in self.records[i]) for i in members])  # type: ignore[misc]

    def join(self, rows: Sequence[Sequence[frozenset[int]]]) -> Row:
        """The smallest generalised record over some."""
        unions = [frozenset().union(*cells) for cells in zip(*rows, strict=True)]
        pairs = zip(self.families, unions, strict=True)
        return tuple(min((s for s in family if union <= s), key=len) for family, union in pairs)

    def of(self, row: Row) -> float:
        return sum(self.cost(j, cell) for j, cell in enumerate(row)) / len(row)

    def with_record(self, row: Row, i: int) -> Row:
        return self.join([row, [frozenset({value}) for value in self.records[i]]])

    def loss(self, table: Sequence[Row]) -> float:
        return sum(self.of(row) for row in table) / len(table)


def nearest(crowding: Crowding, k: int) -> list[list[int]]:
    """Algorithm 3: each record with the k-1 that are cheapest to pair it with."""
    n = len(crowding.records)
    neighbourhoods = []
    for i in range(n):
        gaps = [(round(crowding.of(crowding.closure([i, j])), 10), j) for j in range(n) if j != i]
        neighbourhoods.append([i, *(j for _, j in sorted(gaps)[: k - 1])])
    return neighbourhoods


def expansion(crowding: Crowding, k: int) -> list[list[int]]:
    """Algorithm 4: each record's crowd grows by the record that adds least."""
    n = len(crowding.records)
    neighbourhoods = []
    for i in range(n):
        crowd = [i]
        while len(crowd) < k:
            here = crowding.of(crowding.closure(crowd))
            rest = [j for j in range(n) if j not in crowd]
            crowd.append(
                min(rest, key=lambda j: (round(crowding.of(crowding.closure([*crowd, j])) - here, 10), j))
            )
        neighbourhoods.append(crowd)
    return neighbourhoods


def consistent(record: Record, row: Row) -> bool:
    return all(value in cell for value, cell in zip(record, row, strict=True))


def one_k(crowding: Crowding, table: Sequence[Row], k: int) -> list[Row]:
    """Algorithm 5: in order, whoever fits fewer than k rows makes the cheapest others fit."""
    rows = list(table)
    for i, record in enumerate(crowding.records):
        lacking = k - sum(consistent(record, row) for row in rows)
        if lacking <= 0:
            continue
        others = [j for j, row in enumerate(rows) if not consistent(record, row)]
        grown = {j: crowding.with_record(rows[j], i) for j in others}
        others.sort(key=lambda j: (round(crowding.of(grown[j]) - crowding.of(rows[j]), 10), j))
        for j in others[:lacking]:
            rows[j] = grown[j]
    return rows


def effective(records: Sequence[Record], rows: Sequence[Row]) -> set[tuple[int, int]]:
    """Edges of some perfect matching, by trying all: for eight records at most."""
    n = len(records)
    fits = [[consistent(record, row) for row in rows] for record in records]
    found: set[tuple[int, int]] = set()
    for order in permutations(range(n)):
        if all(fits[i][j] for i, j in enumerate(order)):
            found.update(enumerate(order))
    return found


def effective_by_paths(records: Sequence[Record], rows: Sequence[Row]) -> set[tuple[int, int]]:
    """The same where row i fits record i: an edge counts if it closes a circle of exchanges."""
    n = len(records)
    reach = [{j for j in range(n) if consistent(records[i], rows[j])} for i in range(n)]
    changed = True
    far = [set(r) for r in reach]
    while changed:
        changed = False
        for i in range(n):
            more = set().union(*(far[j] for j in far[i])) - far[i]
            if more:
                far[i] |= more
                changed = True
    return {(i, j) for i in range(n) for j in reach[i] if i == j or i in far[j]}


def global_one_k(crowding: Crowding, table: Sequence[Row], k: int) -> list[Row]:
    """Algorithm 6: whoever has fewer than k matches widens their own row to a neighbour that is no match."""
    rows = list(table)
    records = crowding.records
    for i in range(len(records)):
        while True:
            edges = effective_by_paths(records, rows)
            if sum(edge[0] == i for edge in edges) >= k:
                break
            strangers = [
                j for j, row in enumerate(rows) if consistent(records[i], row) and (i, j) not in edges
            ]
            grown = {h: crowding.with_record(rows[i], h) for h in strangers}
            here = crowding.of(rows[i])
            best = min(strangers, key=lambda h: (round(crowding.of(grown[h]) - here, 10), h))
            rows[i] = grown[best]
    return rows


def best_k1(crowding: Crowding, k: int) -> float:
    """The least loss of any (k,1)-anonymisation: each record with its best k-1 others."""
    n = len(crowding.records)
    least = []
    for i in range(n):
        others = combinations([j for j in range(n) if j != i], k - 1)
        least.append(min(crowding.of(crowding.closure([i, *crowd])) for crowd in others))
    return sum(least) / n
