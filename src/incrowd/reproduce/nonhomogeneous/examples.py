"""What "Non-homogeneous Generalization" proves or shows by example: small tables and rings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np

from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.lexicographic import Lexicographic
from incrowd.assign import Entropy, figure_seven, one_of_disjoint_matchings
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition
from incrowd.graph.components import components
from incrowd.graph.consistency import Graph
from incrowd.graph.factor import lambda_star
from incrowd.graph.posterior import posterior
from incrowd.long_work import silent
from incrowd.reproduce.judging import Claim
from incrowd.reproduce.rules import Finding, exact, unbroken, within
from incrowd.reproduce.stored import SEED, whole_numbers
from incrowd.reproduce.trial import loss

# Tables 1 to 4: which rows each record fits, cell by cell

PEOPLE = (
    ("901152", "M", 30),
    ("901157", "F", 28),
    ("901578", "M", 15),
    ("902398", "M", 48),
    ("902301", "M", 20),
)
Printed = tuple[str, str, int, int]
TABLE_2: tuple[Printed, ...] = (*[("901***", "*", 15, 30)] * 3, *[("9023**", "M", 20, 48)] * 2)
TABLE_3: tuple[Printed, ...] = (
    ("90115*", "*", 28, 30),
    ("901***", "*", 15, 28),
    ("901***", "M", 15, 30),
    *[("9023**", "M", 20, 48)] * 2,
)
TABLE_4 = ((1, 5), (2, 3), (3, 4), (3, 4), (1, 5))  # of the values 1 to 5


def fits(person: tuple[str, str, int], row: Printed) -> bool:
    zip_code, sex, age = person
    same = all(b in ("*", a) for a, b in zip(zip_code, row[0], strict=True))
    return same and row[1] in ("*", sex) and row[2] <= age <= row[3]


def printed_graph(rows: Sequence[Printed]) -> Graph:
    return Graph.of([[j for j, row in enumerate(rows) if fits(person, row)] for person in PEOPLE])


def table_4() -> Graph:
    return Graph.of([[j for j, (low, high) in enumerate(TABLE_4) if low <= x <= high] for x in range(1, 6)])


def two_anonymous(rows: Sequence[Printed]) -> Finding:
    """The best guess of somebody who knows everybody."""
    graph = printed_graph(rows)
    worst = posterior(graph).worst
    words = f"a guess is right with {worst}; the fewest matches are {components(graph).matches().least()[0]}"
    return exact(worst == Fraction(1, 2), words)


def better_than_table_2() -> Finding:
    """Definition 3: each cell of Table 3 inside that of Table 2, and one smaller."""

    def inside(a: Printed, b: Printed) -> bool:
        prefix = all(y in ("*", x) for x, y in zip(a[0], b[0], strict=True))
        return prefix and b[1] in ("*", a[1]) and b[2] <= a[2] and a[3] <= b[3]

    pairs = list(zip(TABLE_3, TABLE_2, strict=True))
    smaller = sum(a != b for a, b in pairs)
    return exact(
        all(inside(a, b) for a, b in pairs) and smaller > 0, f"{smaller} of {len(pairs)} rows are smaller"
    )


def two_matches_in_table_4() -> Finding:
    least = table_4().degrees().least()
    return exact(min(least) >= 2, f"a record fits {least[0]} rows at least, a row holds {least[1]} records")


def second_in_table_4() -> Finding:
    found = components(table_4()).matches().records
    return exact(int(found[1]) == 1, f"matches of t1 to t5: {', '.join(map(str, found.tolist()))}")


# Theorem 1, by trying all assignments of small graphs


def assignments(rows_of: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Every way to give each record a row of its own among those that it fits."""
    for chosen in product(*rows_of):
        if len(set(chosen)) == len(chosen):
            yield chosen


def theorem_1(many: int = 150, n: int = 5) -> Finding:
    dice, against = Random(SEED), ""  # noqa: S311  # nothing is published
    for _ in range(many):
        rows_of = [sorted({i, *(j for j in range(n) if dice.random() < 0.4)}) for i in range(n)]
        graph = Graph.of(rows_of)
        ours = {
            (int(i), int(j))
            for i, j, real in zip(graph.tails, graph.indices, components(graph).effective, strict=True)
            if real
        }
        if ours != {pair for each in assignments(rows_of) for pair in enumerate(each)}:
            against = against or f"{rows_of}"
    return unbroken(many, against, f"graphs of {n} records")


# Rings


def ring(n: int, k: int) -> list[list[int]]:
    """The rows that each record of a ring is in: its own and the k-1 before it."""
    return [[(i - j) % n for j in range(k)] for i in range(n)]


def edges_of(rows_of: Sequence[Sequence[int]]) -> Codes:
    return np.array(rows_of, np.int32)


def thirteen() -> Finding:
    many = sum(1 for _ in assignments(ring(5, 3)))
    return exact(many == 13, f"{many} assignments")


def uneven() -> Finding:
    """With which chance a record is behind the row s before its own, all assignments being as likely."""
    counts = Counter((i - row) % 5 for each in assignments(ring(5, 3)) for i, row in enumerate(each))
    whole = sum(1 for _ in assignments(ring(5, 3))) * 5
    chances = [Fraction(counts[step], whole) for step in range(3)]
    words = ", ".join(map(str, chances))
    return exact(chances == [Fraction(4, 13), Fraction(5, 13), Fraction(4, 13)], words)


def disjoint_extend(n: int = 5, k: int = 3) -> Finding:
    """Lemma 1: to any assignment, and to any two without a common pair, there is one more."""
    every = [*assignments(ring(n, k))]

    def apart(a: Sequence[int], b: Sequence[int]) -> bool:
        return all(x != y for x, y in zip(a, b, strict=True))

    pairs = [(a, b) for a, b in combinations(every, 2) if apart(a, b)]
    stuck = [pair for pair in pairs if not any(apart(c, pair[0]) and apart(c, pair[1]) for c in every)]
    alone = [a for a in every if not any(apart(a, b) for b in every)]
    against = str(next(iter([*stuck, *alone]), ""))
    return unbroken(len(every) + len(pairs), against, f"rings of {n} records, k={k}")


def all_effective() -> Finding:
    sizes = [(n, k) for n in range(3, 9) for k in range(2, n + 1)]
    against = [f"n={n}, k={k}" for n, k in sizes if not components(Graph.of(ring(n, k))).effective.all()]
    return unbroken(len(sizes), next(iter(against), ""), "rings of 3 to 8 records")


Draw = Callable[[Codes, Entropy], Codes]


def even_draw(draw: Draw, samples: int = 5, times: int = 800) -> Finding:
    """How often each pair of the ring of Figure 5 is drawn: 1/3 each, within a tenth of that."""
    edges, chances = edges_of(ring(5, 3)), []
    for sample in range(samples):
        dice = Random(f"draw {sample}").randbytes  # noqa: S311  # nothing is published
        drawn = np.array([draw(edges, dice) for _ in range(times)])
        steps = (np.arange(5) - drawn) % 5
        chances.append([(steps == step).mean() for step in range(3)])
    points = {f"t'(i-{step})": [float(each[step]) for each in chances] for step in range(3)}
    return within(points, 0.3, 11 / 30)


def disjoint_draw(edges: Codes, entropy: Entropy) -> Codes:
    return one_of_disjoint_matchings(edges, entropy).astype(np.int32)


def figure_seven_draw(edges: Codes, entropy: Entropy) -> Codes:
    return figure_seven(edges, entropy).astype(np.int32)


def columns_reveal() -> Finding:
    """One known pair tells the shift, and so every pair."""
    shifts = [tuple((i - step) % 5 for i in range(5)) for step in range(3)]
    left = [shift for shift in shifts if shift[2] == 1]  # t3 is behind t2'
    return exact(len(left) == 1 and left[0][1] == 0, f"{len(left)} of {len(shifts)} assignments is left")


def connected_without(n: int, gone: Iterable[int], k: int) -> bool:
    """Is the ring's graph one strong component when some nodes are removed?"""
    stay = [i for i in range(n) if i not in set(gone)]
    place = {node: i for i, node in enumerate(stay)}
    rows_of = [[place[j] for j in ring(n, k)[i] if j in place] for i in stay]
    return np.unique(components(Graph.of(rows_of)).record).size == 1


def vertex_connected() -> Finding:
    cases, against = 0, ""
    for n, k in ((6, 3), (7, 3), (7, 4), (8, 4)):
        for gone in combinations(range(n), k - 1):
            cases += 1
            if not against and not connected_without(n, gone, k):
                nodes = ", ".join(f"n{i + 1}" for i in gone)
                against = f"n={n}, k={k}: without {nodes} it falls apart"
    return unbroken(cases, against, "removing k-1 nodes; with k-2 it stays connected")


def candidates_left() -> Finding:
    """One known pair, any: everybody else still has k-1 candidates."""
    cases, against = 0, ""
    for n, k in ((5, 3), (6, 3), (6, 4), (7, 4)):
        graph = Graph.of(ring(n, k))
        for i, row in ((i, row) for i, rows in enumerate(ring(n, k)) for row in rows):
            cases += 1
            least = components(graph.without([(i, row)])).matches().least()[0]
            if least < k - 1:
                against = against or f"n={n}, k={k}, t{i + 1} known behind t'{row + 1}: {least}"
    return unbroken(cases, against, "rings of 5 to 7 records, one known pair")


def locally_optimal() -> Finding:
    """Could one row say less about the same records, with everybody still in k rows of k?"""
    people = [(0, 0), (0, 1), (1, 0), (1, 1)]
    rows = [(people[i], people[(i + 1) % 4]) for i in range(4)]
    cells = [tuple(frozenset(each[j] for each in row) for j in range(2)) for row in rows]
    smaller = [(frozenset({0}), frozenset({0, 1})) if i == 1 else cell for i, cell in enumerate(cells)]

    def level(boxes: Sequence[tuple[frozenset[int], ...]]) -> Fraction:
        holds = [
            [j for j, box in enumerate(boxes) if all(x in s for x, s in zip(p, box, strict=True))]
            for p in people
        ]
        return lambda_star(Graph.of(holds))

    words = f"ring: every chance {level(cells)}; with the second row 0, {{0,1}} still {level(smaller)}"
    held = level(smaller) > level(cells)
    return exact(held, words, counterexample="the records 00, 01, 10, 11, k=2, published as sets")


# 5.3: four tuples, partitioned or not


def four_tuples() -> Microdata:
    codes = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 1], [0, 1, 0]], np.int32)
    return Microdata(codes, tuple(whole_numbers(f"A{j + 1}", np.arange(2)) for j in range(3)))


def eight_and_six() -> Finding:
    data = four_tuples()
    halves = Partition(np.array([0, 0, 1, 1], np.int32))
    whole = Neighbourhoods(np.arange(0, 9, 2), np.array([0, 1, 1, 2, 2, 3, 3, 0], np.int32))
    parted, ringed = (round(loss(data, grouped, "LM") * 12) for grouped in (halves, whole))
    return exact((parted, ringed) == (8, 6), f"{parted} in two groups, {ringed} as one ring")


# Figure 8, and section 6


def large_parts_are_equal(many: int = 100) -> Finding:
    """A part of 2k or more: are its records different? The text says that large parts cost HP much."""
    dice, seen, against = Random(SEED), 0, ""  # noqa: S311  # nothing is published
    for _ in range(many):
        n, k = dice.randint(8, 40), dice.randint(2, 4)
        codes = np.array([[dice.randrange(3), dice.randrange(4)] for _ in range(n)], np.int32)
        data = Microdata(
            codes, tuple(whole_numbers(f"A{j}", np.arange(size)) for j, size in enumerate((3, 4)))
        )
        labels = Lexicographic(k).group(data, (), silent).labels
        for part in np.unique(labels):
            rows = codes[labels == part]
            if len(rows) >= 2 * k:
                seen += 1
                against = against or ("" if len(np.unique(rows, axis=0)) == 1 else f"{rows.tolist()}")
    impossible = "a part of 2k or more records that Figure 8 makes has equal records only, and costs nothing"
    return exact(bool(against), f"{seen} parts of 2k or more, all of equal records", "exact", impossible)


def never_worse(many: int = 40) -> Finding:
    """Lemma 2: rings against groups on the same parts, record by record."""
    dice, against = Random(SEED), ""  # noqa: S311  # nothing is published
    for _ in range(many):
        n, k = dice.randint(6, 30), dice.randint(2, 4)
        codes = np.array([[dice.randrange(5), dice.randrange(6)] for _ in range(n)], np.int32)
        data = Microdata(
            codes, tuple(whole_numbers(f"A{j}", np.arange(size)) for j, size in enumerate((5, 6)))
        )
        rings = Ring(k).group(data, (), silent)
        if (
            rings.parts is not None
            and loss(data, rings, "LM") > loss(data, Partition(rings.parts), "LM") + 1e-12
        ):
            against = against or f"{codes.tolist()}, k={k}"
    return unbroken(many, against, "random tables")


def diverse_ring(values: str, l: int) -> Finding:  # noqa: E741  # the paper's letter
    """An order in which l neighbours differ, every assignment of its ring: who sees a value too often?"""
    n = len(values)
    every = [*assignments(ring(n, l))]
    broken = 0
    for each in every:  # `each[i]` is the row of record i: rows carry the values of records
        value = {row: values[i] for i, row in enumerate(each)}
        counts = [Counter(value[row] for row in rows) for rows in ring(n, l)]
        broken += any(max(count.values()) > 1 for count in counts)
    words = f"{broken} of {len(every)} assignments show somebody a value more than once among {l} rows"
    against = f"the order {values}, l={l}"
    return exact(not broken, words, counterexample=against)


# What the paper says of all these


def _claims() -> Iterator[Claim[Any]]:
    def claim(
        name: str, section: str, says: str, judge: Callable[[], Finding], printed: str = ""
    ) -> Claim[Any]:
        return Claim(name, section, says, lambda _figures: judge(), printed=printed or None)

    half = "knowing everybody, one finds out who is behind a row with probability 1/2 at most"
    yield claim("table2", "1, Table 2", half, partial(two_anonymous, TABLE_2), "1/2")
    yield claim("table3", "1, Table 3", half, partial(two_anonymous, TABLE_3), "1/2")
    says = "Table 3 is better than Table 2 whatever the measure: every cell is smaller or equal"
    yield claim("table3.better", "1, 3.2", says, better_than_table_2)
    says = "every record of Table 4 has two matches and every row two"
    yield claim("table4.two", "4.1", says, two_matches_in_table_4, "2")
    says = "in Table 4, t2 can only be behind t2'"
    yield claim("table4.second", "4.1", says, second_in_table_4, "1")
    says = "a match is effective if and only if its record can be reached from its row"
    yield claim("theorem1", "4.1.1, Theorem 1", says, theorem_1)
    says = "to assignments of a ring without common pairs one more can be found, up to k"
    yield claim("lemma1", "4.2.1, Lemma 1", says, disjoint_extend)
    yield claim("ring.effective", "5.1", "every match of a ring is effective", all_effective)
    says = "a ring is locally optimal: nothing can be taken away"
    yield claim("ring.optimal", "5.1", says, locally_optimal)
    says = "a ring loses no more than a homogeneous generalization of the same partition"
    yield claim("lemma2", "5.1, Lemma 2", says, never_worse)
    says = "the ring over five records with k=3 has 13 assignments"
    yield claim("figure5.13", "5.2", says, thirteen, "13")
    says = "if all are as likely, matches with the row before have 5/13, the others 4/13"
    yield claim("figure5.uneven", "5.2", says, uneven, "4/13, 5/13, 4/13")
    says = "one known pair of a shift assignment tells everybody's row"
    yield claim("columns", "5.2", says, columns_reveal)
    says = "one of k disjoint assignments, drawn, gives every match 1/k"
    yield claim("draw", "5.2", says, partial(even_draw, disjoint_draw), "1/3")
    says = "the algorithm of Figure 7 gives every match 1/k"
    yield claim("figure7", "5.2, Figure 7", says, partial(even_draw, figure_seven_draw), "1/3")
    says = "a ring stays connected when any k-1 nodes are removed"
    yield claim("ring.connected", "5.2", says, vertex_connected, "k-1")
    says = "with one pair known everybody else has at least k-1 possible rows"
    yield claim("corruption", "5.2", says, candidates_left, "k-1")
    says = "four tuples lose 8/(|A|-1) in two groups and 6/(|A|-1) as one ring"
    yield claim("four", "5.3", says, eight_and_six, "8, 6")
    says = "the partitioning makes large partitions that cost a homogeneous generalization much"
    yield claim("figure8.large", "7.2", says, large_parts_are_equal)
    says = "a ring over s1, s2, s1, s2 is 2-diverse"
    yield claim("diverse.two", "6", says, partial(diverse_ring, "abab", 2))
    says = "a ring whose l neighbours have different values is l-diverse (l=3)"
    yield claim("diverse.three", "6", says, partial(diverse_ring, "abcabc", 3))


CLAIMS = tuple(_claims())
