"""Slow twins of attacks on rows and values, in plain Python and without incrowd.

A cell is a pair: the values it names, which all occur behind it, and the values it leaves possible.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations, product
from math import log

Cell = tuple[frozenset[int], frozenset[int]]
Row = tuple[Cell, ...]


# ---- rebuilding rows


def claims(rows: Iterable[Row], ranged: Sequence[bool]) -> set[tuple[int, ...]]:
    """Every combination that one row, or a pair of rows, gives away."""
    distinct = set(rows)
    found = {claim for row in distinct for claim in completed(row)}
    pairs = [(a, b) for a in distinct for b in distinct if a != b]
    return found | {claim for a, b in pairs if (claim := difference(a, b, ranged)) is not None}


def completed(row: Row) -> list[tuple[int, ...]]:
    wide = [possible for _, possible in row if len(possible) > 1]
    return list(product(*(sorted(named) for named, _ in row))) if len(wide) <= 1 else []


def difference(a: Row, b: Row, ranged: Sequence[bool]) -> tuple[int, ...] | None:
    """The one record that row a has and row b has not, if they look like crowds that differ by one."""
    claim, ranges = [], 0
    for (named, possible), (others, held), is_range in zip(a, b, ranged, strict=True):
        gone, come = named - held, others - possible
        if len(come) > 1:
            return None
        if len(possible) == 1:
            if gone:
                return None
            claim.append(min(named))
        else:
            ranges += is_range
            if len(gone) != 1 or ranges > 1:
                return None
            claim.append(min(gone))
    return tuple(claim)


# ---- beliefs


def candidates(holds: Sequence[Sequence[bool]]) -> list[set[int]]:
    """For each record the rows that it has in some assignment of all records to all rows."""
    n = len(holds)
    found: list[set[int]] = [set() for _ in range(n)]
    for rows in permutations(range(n)):
        if all(holds[i][row] for i, row in enumerate(rows)):
            for i, row in enumerate(rows):
                found[i].add(row)
    return found


def moved(mine: Counter[int], table: Counter[int]) -> float:
    """The least work between two distributions of values in order: what is left over goes to the next."""
    values = sorted(table)
    carried = work = 0.0
    for value in values[:-1]:
        carried += mine[value] / mine.total() - table[value] / table.total()
        work += abs(carried)
    return work / max(len(values) - 1, 1)


def unlike(mine: Counter[int], table: Counter[int]) -> float:
    """The same where all values are equally far apart."""
    return 1 - sum(min(mine[value] / mine.total(), table[value] / table.total()) for value in table)


def climbed(mine: Counter[int], table: Counter[int], paths: Mapping[int, Sequence[str]]) -> float:
    """The same on a tree: what is not matched below a node is carried up, at the price of a level."""
    height = len(next(iter(paths.values()))) - 1
    work = 0.0
    for level in range(height):
        over: dict[tuple[str, ...], float] = defaultdict(float)
        for value, path in paths.items():
            over[tuple(path[level:])] += mine[value] / mine.total() - table[value] / table.total()
        work += sum(map(abs, over.values())) / (2 * height)
    return work


# ---- deFinetti


def learned(
    rows: Sequence[Sequence[int]],
    sizes: Sequence[int],
    group: Sequence[int],
    value: Sequence[int],
    rounds: int,
) -> list[dict[int, float]]:
    """How likely each row has each value of its group."""
    members: dict[int, list[int]] = defaultdict(list)
    values: dict[int, Counter[int]] = defaultdict(Counter)
    for i, (g, v) in enumerate(zip(group, value, strict=True)):
        members[g].append(i)
        values[g][v] += 1
    likely = [{v: c / len(members[g]) for v, c in values[g].items()} for g in group]
    for _ in range(rounds):
        weight: dict[int, float] = defaultdict(float)
        seen: dict[tuple[int, int, int], float] = defaultdict(float)
        for row, chances in zip(rows, likely, strict=True):
            for v, chance in chances.items():
                weight[v] += chance
                for j, code in enumerate(row):
                    seen[j, code, v] += chance
        fits = []
        for row, chances in zip(rows, likely, strict=True):
            score = {
                v: sum(log((seen[j, code, v] + 1) / (weight[v] + sizes[j])) for j, code in enumerate(row))
                for v in chances
            }
            best = max(score.values())
            fits.append({v: max(2.718281828459045 ** (s - best), 1e-300) for v, s in score.items()})
        for _ in range(4):
            for g, those in members.items():
                for v, count in values[g].items():
                    total = sum(fits[i][v] for i in those)
                    for i in those:
                        fits[i][v] *= count / total
            for fit in fits:
                total = sum(fit.values())
                for v in fit:
                    fit[v] /= total
        likely = fits
    return likely
