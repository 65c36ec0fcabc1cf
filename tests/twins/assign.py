"""Slow twins of what draws who is behind which row, in plain Python and without incrowd.

Assignments are tuples: the row of each record. Chances are fractions, over everything that can be drawn.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations

Graph = tuple[tuple[int, ...], ...]  # the rows of each record
Assignment = tuple[int, ...]
Chances = dict[Assignment, Fraction]


def ring(n: int, k: int) -> Graph:
    """Row j is about records j .. j+k-1, counted round: so record i may have the rows i-k+1 .. i."""
    return tuple(tuple((i - step) % n for step in range(k)) for i in range(n))


def neighbourhoods(n: int, k: int) -> list[list[int]]:
    """The records that row j is about."""
    return [[(j + step) % n for step in range(k)] for j in range(n)]


def shifts(n: int, k: int) -> list[Assignment]:
    """The assignments that give everybody the row as many places before."""
    return [tuple((i - step) % n for i in range(n)) for step in range(k)]


def assignments(graph: Graph) -> list[Assignment]:
    """Every way to give each record a row of its own among those it may have."""
    return [a for a in permutations(range(len(graph))) if all(row in graph[i] for i, row in enumerate(a))]


def without(graph: Graph, taken: Assignment) -> Graph:
    """The graph without the edges of an assignment; of double edges one stays."""
    cut = [rows.index(taken[i]) for i, rows in enumerate(graph)]
    return tuple(rows[:at] + rows[at + 1 :] for rows, at in zip(graph, cut, strict=True))


def marginals(chances: Chances) -> list[dict[int, Fraction]]:
    """How likely each record has each row."""
    found: list[dict[int, Fraction]] = [defaultdict(Fraction) for _ in next(iter(chances))]
    for assignment, chance in chances.items():
        for record, row in enumerate(assignment):
            found[record][row] += chance
    return [dict(rows) for rows in found]


def worst_after_one(chances: Chances) -> tuple[Fraction, list[tuple[tuple[int, int], tuple[int, int]]]]:
    """The largest chance of a pair if another pair is known, and the (known, inferred) pairs that have it."""
    found: dict[tuple[tuple[int, int], tuple[int, int]], Fraction] = defaultdict(Fraction)
    for assignment, chance in chances.items():
        for known in enumerate(assignment):
            for inferred in enumerate(assignment):
                found[known, inferred] += chance
    given = marginals(chances)
    share = {pairs: c / given[pairs[0][0]][pairs[0][1]] for pairs, c in found.items() if pairs[0] != pairs[1]}
    largest = max(share.values())
    return largest, [pairs for pairs, chance in share.items() if chance == largest]


def one_of_all_in_turn(graph: Graph, draw: Callable[[Graph], Chances]) -> Chances:
    """Draw k assignments, each from the edges that the ones before left over, and take one of the k."""
    k = len(graph[0])
    found: Chances = defaultdict(Fraction)
    left = {graph: Fraction(1)}
    for _ in range(k):
        after: dict[Graph, Fraction] = defaultdict(Fraction)
        for rest, reached in left.items():
            for assignment, chance in draw(rest).items():
                found[assignment] += reached * chance / k
                after[without(rest, assignment)] += reached * chance
        left = after
    return dict(found)


def figure_seven(graph: Graph) -> Chances:
    """One run of Figure 7 of "Non-homogeneous generalization" from the identity: every choice it can make."""

    @cache
    def rounds(a: Assignment, waiting: frozenset[int]) -> Chances:
        if not waiting:
            return {a: Fraction(1)}
        found: Chances = defaultdict(Fraction)
        for start in waiting:
            for row in graph[start]:
                first = Fraction(1, len(waiting) * len(graph[start]))
                for path, chance in walk(a, a[start], ((start, row),), frozenset([row])):
                    moved = dict(path)
                    after = tuple(moved.get(i, row) for i, row in enumerate(a))
                    for end, more in rounds(after, waiting - set(moved)).items():
                        found[end] += first * chance * more
        return dict(found)

    Path = tuple[tuple[int, int], ...]

    def walk(a: Assignment, goal: int, path: Path, used: frozenset[int]) -> Iterator[tuple[Path, Fraction]]:
        if path[-1][1] == goal:
            yield path, Fraction(1)
            return
        robbed = a.index(path[-1][1])
        open_rows = [row for row in graph[robbed] if row not in used]
        if not open_rows:
            yield from walk(a, goal, path[:-1], used)
        for row in open_rows:
            for end, chance in walk(a, goal, (*path, (robbed, row)), used | {row}):
                yield end, chance / len(open_rows)

    return rounds(tuple(range(len(graph))), frozenset(range(len(graph))))


def walked(graph: Graph) -> Chances:
    """The matching that random walks make, record by record, each to a free row and without its loops.

    A walk without its loops takes a way with the product, over its records, of how often the walk is there on
    average if it may not go to records before on the way, and the chance of the step that is taken.
    """
    n = len(graph)
    states: dict[tuple[int | None, ...], Fraction] = {(None,) * n: Fraction(1)}
    for start in range(n):
        after: dict[tuple[int | None, ...], Fraction] = defaultdict(Fraction)
        for held, reached in states.items():
            for way, chance in _ways(graph, held, start):
                moved = dict(way)
                after[tuple(moved.get(i, row) for i, row in enumerate(held))] += reached * chance
        states = after
    return {tuple(row for row in held if row is not None): chance for held, chance in states.items()}


def _ways(
    graph: Graph, held: tuple[int | None, ...], start: int
) -> Iterator[tuple[tuple[tuple[int, int], ...], Fraction]]:
    """Every way without loops from a record to a free row, with its chance."""

    def steps(record: int) -> list[int]:
        rows = list(graph[record])
        own = held[record]
        if own is not None:
            rows.remove(own)
        return rows

    def go(
        record: int, way: tuple[tuple[int, int], ...], chance: Fraction
    ) -> Iterator[tuple[tuple[tuple[int, int], ...], Fraction]]:
        before = {i for i, _ in way}
        rows = steps(record)
        for row, times in Counter(rows).items():
            share = chance * _visits(record, before, steps, held) * Fraction(times, len(rows))
            if row not in held:
                yield (*way, (record, row)), share
            elif held.index(row) not in before | {record}:
                yield from go(held.index(row), (*way, (record, row)), share)

    yield from go(start, (), Fraction(1))


def _visits(
    record: int, barred: set[int], steps: Callable[[int], list[int]], held: tuple[int | None, ...]
) -> Fraction:
    """How often a walk from a record is there, on average, before it finds a free or a barred row."""
    jump: dict[int, dict[int, Fraction]] = {}
    ahead = [record]
    while ahead:
        i = ahead.pop()
        if i not in jump:
            near = Counter(held.index(row) for row in steps(i) if row in held)
            jump[i] = defaultdict(Fraction)
            jump[i].update({j: Fraction(c, len(steps(i))) for j, c in near.items() if j not in barred})
            ahead += jump[i]
    people = list(jump)
    # The others are left out one by one: whoever went to them goes where they would have gone.
    for out in [i for i in people if i != record]:
        stay = 1 / (1 - jump[out][out])
        for i in people:
            if i != out and jump[i][out]:
                weight = jump[i].pop(out) * stay
                for j, chance in list(jump[out].items()):
                    if j != out:
                        jump[i][j] += weight * chance
        people = [i for i in people if i != out]
    return 1 / (1 - jump[record][record])


def halves(graph: Graph) -> Iterator[tuple[Graph, Fraction]]:
    """What can be left of a graph of degree 2: a fair coin for every circuit says which way round."""
    n = len(graph)
    circuits, seen = [], set[int]()
    for first in range(n):
        if first in seen:
            continue
        record, row, way = first, graph[first][0], []
        while record not in seen:
            seen.add(record)
            way.append((record, row))
            others = [i for i in range(n) if row in graph[i] and i != record]
            if others:  # else a double edge
                record = others[0]
                row = graph[record][1 - graph[record].index(row)]
        circuits.append(dict(way))
    for coins in range(2 ** len(circuits)):
        taken: dict[int, int] = {}
        for i, circuit in enumerate(circuits):
            for record, row in circuit.items():
                back = graph[record][1 - graph[record].index(row)]
                taken[record] = back if coins >> i & 1 else row
        yield tuple((taken[i],) for i in range(n)), Fraction(1, 2 ** len(circuits))


def of_degree_three(graph: Graph) -> Chances:
    """One of three disjoint matchings: a walked one with chance 1/3, else a half of what it leaves over."""
    found: Chances = defaultdict(Fraction)
    for assignment, chance in walked(graph).items():
        found[assignment] += chance / 3
        for half, share in halves(without(graph, assignment)):
            found[tuple(rows[0] for rows in half)] += chance * share * Fraction(2, 3)
    return dict(found)


def turned(patterns: Sequence[tuple[int, Sequence[int]]]) -> Chances:
    """The law of patterns with weights: one is drawn, and where on the ring it begins. See `shifts`."""
    total = sum(weight for weight, _ in patterns)
    found: Chances = defaultdict(Fraction)
    for weight, back in patterns:
        n = len(back)
        for begin in range(n):
            found[tuple((i - back[(i + begin) % n]) % n for i in range(n))] += Fraction(weight, total * n)
    return dict(found)


def all_round(chances: Chances, k: int) -> Chances:
    """The mean of a ring's law over all places where one can begin to count, both ways round."""
    found: Chances = defaultdict(Fraction)
    for assignment, chance in chances.items():
        n = len(assignment)
        back = [(i - row) % n for i, row in enumerate(assignment)]
        for way in (back, [k - 1 - step for step in reversed(back)]):
            for one, share in turned([(1, way)]).items():
                found[one] += chance * share / 2
    return dict(found)


def is_ring(graph: Graph) -> bool:
    """Can records and rows be numbered so that record i has the rows i-k+1 .. i? By trying all orders."""
    n, k = len(graph), len(graph[0])
    fits = [set(rows) for rows in graph]
    if any(len(rows) < k for rows in fits):
        return False
    for order in permutations(range(1, n)):
        here = (0, *order)
        ends = [fits[here[i]] - fits[here[(i + 1) % n]] for i in range(n)]
        if all(len(end) == 1 for end in ends):
            row = [ends[(j + k - 1) % n] for j in range(n)]  # ends with record j+k-1
            if all(fits[here[i]] == set().union(*(row[(i - s) % n] for s in range(k))) for i in range(n)):
                return True
    return False


def revealed(n: int, k: int, size: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every set of known pairs that can be part of an assignment of the ring; record 0 among them."""
    graph = ring(n, k)

    def fill(
        records: tuple[int, ...], known: tuple[tuple[int, int], ...]
    ) -> Iterator[tuple[tuple[int, int], ...]]:
        if not records:
            yield known
            return
        for row in graph[records[0]]:
            if all(row != other for _, other in known):
                yield from fill(records[1:], (*known, (records[0], row)))

    for others in combinations(range(1, n), size - 1):
        yield from (known for known in fill((0, *others), ()) if matchable(left_over(graph, known)))


def left_over(graph: Graph, known: Sequence[tuple[int, int]]) -> Graph:
    """The rows that are left for everybody who is not known."""
    records, rows = {i for i, _ in known}, {row for _, row in known}
    return tuple(
        tuple(row for row in mine if row not in rows) for i, mine in enumerate(graph) if i not in records
    )


def matchable(graph: Graph) -> bool:
    """Can everybody have a row of their own?"""
    reached = {0}
    for rows in graph:
        reached = {taken | 1 << row for taken in reached for row in rows if not taken >> row & 1}
    return bool(reached)


def effective(graph: Graph) -> list[int]:
    """How many of each record's rows it has in some assignment."""
    before = [{0}]
    for rows in graph:
        before.append({taken | 1 << row for taken in before[-1] for row in rows if not taken >> row & 1})
    after = before[-1]
    found = []
    for i in range(len(graph) - 1, -1, -1):
        useful = {
            row for row in graph[i] for taken in after if taken >> row & 1 and taken ^ 1 << row in before[i]
        }
        found.append(len(useful))
        after = {taken ^ 1 << row for taken in after for row in useful if taken >> row & 1} & before[i]
    return found[::-1]


def connected_without(n: int, k: int, gone: Sequence[int]) -> bool:
    """Is the ring, record i and row i as one node, strongly connected without these nodes?"""
    nodes = [i for i in range(n) if i not in gone]
    forward = {i: [j for j in ring(n, k)[i] if j in nodes] for i in nodes}
    backward = {i: [j for j in nodes if i in forward[j]] for i in nodes}
    for next_to in (forward, backward):
        seen, ahead = {nodes[0]}, [nodes[0]]
        while ahead:
            new = [j for j in next_to[ahead.pop()] if j not in seen]
            seen.update(new)
            ahead += new
        if len(seen) < len(nodes):
            return False
    return True
