"""What "k-Anonymization Revisited" proves or shows by example: small tables, each judged exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import log
from random import Random
from statistics import fmean

from incrowd.algorithms.nonhomogeneous.neighbourhoods import Nearest
from incrowd.algorithms.partitions.forest import Forest
from incrowd.encode import encode
from incrowd.flow import Microdata, Table
from incrowd.graph.components import components
from incrowd.graph.consistency import Graph
from incrowd.graph.factor import lambda_star
from incrowd.graph.posterior import posterior
from incrowd.long_work import silent
from incrowd.reproduce.revisited.trials import KS, TABLE, Sets, set_column
from incrowd.reproduce.rules import Finding, exact, unbroken
from incrowd.reproduce.stored import SEED
from incrowd.reproduce.trial import loss
from incrowd.schema import Schema

Row = tuple[frozenset[int], ...]
RANDOM_TABLES = 60


def row(*cells: Iterable[int]) -> Row:
    return tuple(map(frozenset, cells))


# Proposition 4.5: a table and four generalizations of it

D = ((1, 3), (1, 4), (2, 4))
WHOLE = row((1, 2), (3, 4))
PROPOSITION = {
    "2": (WHOLE, WHOLE, WHOLE),
    "(1,2)": (row((1,), (3,)), WHOLE, row((1, 2), (4,))),
    "(2,1)": (row((1,), (3, 4)), row((1, 2), (4,)), row((1, 2), (4,))),
    "(2,2)": (row((1,), (3, 4)), WHOLE, row((1, 2), (4,))),
}


def degrees(rows: Sequence[Row]) -> tuple[int, int]:
    """The least number of rows that a record fits, and of records that a row holds."""
    fits = [[all(x in cell for x, cell in zip(record, each, strict=True)) for each in rows] for record in D]
    return min(map(sum, fits)), min(map(sum, zip(*fits, strict=True)))


def proposition_45(name: str, keeps: tuple[bool, bool, bool]) -> Finding:
    """Is a printed generalization (1,2), (2,1), and 2-anonymous, or not, as the proof says?"""
    rows = PROPOSITION[name]
    records, held = degrees(rows)
    alike = min(rows.count(each) for each in rows)
    words = f"least rows of a record {records}, records in a row {held}, equal rows {alike}"
    found = (records >= 2, held >= 2, alike >= 2)
    return exact(found == keeps, words, "exact, by counting")


# Figure 1 and the discussion: global (1,k)

GLOBAL_NOT_K1 = ((0, 1, 3), (1, 2, 3), (0, 2, 3), (0, 1, 3))  # which rows each of four records fits, k = 3
UNEQUAL = ((0, 3, 4), (0, 1, 2, 3, 4), (0, 2, 3), (1, 2, 3), (1, 3, 4))


def global_inside_kk() -> Finding:
    graph = Graph.of(GLOBAL_NOT_K1)
    matches, least = components(graph).matches().records.min(), graph.degrees().least()
    words = f"every record has {matches} matches or more, and a row holds {least[1]} records"
    held = not (matches >= 3 and least[1] < 3)
    return exact(held, words, counterexample=f"k=3, records that fit the rows {_lists(GLOBAL_NOT_K1)}")


def equally_probable() -> Finding:
    graph = Graph.of(UNEQUAL)
    matches, worst = components(graph).matches().records.min(), posterior(graph).worst
    least = lambda_star(graph)
    words = f"{matches} matches each; one of them with {worst}; no draw gives all less than {least}"
    against = f"k=3, records that fit the rows {_lists(UNEQUAL)}"
    return exact(
        not (matches >= 3 and max(worst or 0, least) > Fraction(1, 3)), words, counterexample=against
    )


def _lists(adjacency: Sequence[Sequence[int]]) -> str:
    return ", ".join("".join(str(j + 1) for j in rows) for rows in adjacency)


def one_k_reveals(n: int = 40, k: int = 5) -> Finding:
    """All but k records unchanged, k suppressed: (1,k), and nearly everybody's row is known."""
    graph = Graph.of([[i, *range(n - k, n)] for i in range(n - k)] + [[*range(n - k, n)]] * k)
    revealed = int((components(graph).matches().records == 1).sum())
    fits = int(graph.degrees().records.min())
    return exact(fits >= k and revealed == n - k, f"{revealed} of {n} have one match, all fit {fits} rows")


# Proposition 5.1 and the ratio of the forest, against optima by trying all


def table_of(rows: Sequence[Sequence[str]], families: Sequence[Sets]) -> Microdata:
    names = [f"A{j + 1}" for j in range(len(families))]
    columns = {name: [each[j] for each in rows] for j, name in enumerate(names)}
    schema = Schema(tuple(set_column(name, family) for name, family in zip(names, families, strict=True)))
    return encode(Table.of(columns), schema)


class PricedByDefinition:
    """What any set of records costs, by the definitions: the smallest permissible sets over it."""

    def __init__(self, rows: Sequence[Sequence[str]], families: Sequence[Sets], measure: str) -> None:
        self.rows, self.measure = rows, measure
        self.domains = [set(family[-1]) for family in families]  # the whole domain is the last set
        singles = [[{value} for value in sorted(domain)] for domain in self.domains]
        self.sets = [
            sorted([*alone, *map(set, family)], key=len)
            for alone, family in zip(singles, families, strict=True)
        ]

    def cost(self, records: Iterable[int]) -> float:
        chosen = list(records)
        return fmean(self._cell(j, {self.rows[i][j] for i in chosen}) for j in range(len(self.sets)))

    def _cell(self, j: int, met: set[str]) -> float:
        smallest = next(each for each in self.sets[j] if met <= each)
        if self.measure == "LM":
            return (len(smallest) - 1) / (len(self.domains[j]) - 1)
        values = [each[j] for each in self.rows if each[j] in smallest]
        shares = [values.count(value) / len(values) for value in set(values)]
        return -sum(share * log(share, 2) for share in shares)

    def best_rows(self, k: int, who: Iterable[int] | None = None) -> float:
        """The least total cost of rows that each hold k records: the best k-1 others for each record."""
        n = len(self.rows)
        return sum(
            min(self.cost((i, *others)) for others in combinations([j for j in range(n) if j != i], k - 1))
            for i in (range(n) if who is None else who)
        )

    def best_classes(self, k: int) -> float:
        """The least total cost of classes of k records and more."""

        def least(left: tuple[int, ...]) -> float:
            if not left:
                return 0.0
            first, rest = left[0], left[1:]
            found = float("inf")
            for size in range(k - 1, len(rest) + 1):
                for others in combinations(rest, size):
                    after = tuple(i for i in rest if i not in others)
                    if not after or len(after) >= k:
                        price = (size + 1) * self.cost((first, *others))
                        found = min(found, price + least(after))
            return found

        return least(tuple(range(len(self.rows))))


FAMILIES: tuple[Sets, ...] = ((tuple("ab"), tuple("abc")), (tuple("pq"), tuple("rs"), tuple("pqrs")))


def random_tables(n: int) -> Iterable[list[tuple[str, str]]]:
    dice = Random(SEED)  # noqa: S311  # nothing is published
    for _ in range(RANDOM_TABLES):
        yield [(dice.choice("abc"), dice.choice("pqrs")) for _ in range(n)]


def factor_lm(k: int = 3) -> Finding:
    """Algorithm 3 by LM, at most k-1 times the optimum."""
    worst, against = 0.0, ""
    for rows in random_tables(7):
        data = table_of(rows, FAMILIES)
        ours = loss(data, Nearest(k, "lm").neighbourhoods(data), "LM") * len(rows)
        best = PricedByDefinition(rows, FAMILIES, "LM").best_rows(k)
        worst = max(worst, ours / best if best else 0.0)
        if ours > (k - 1) * best + 1e-9:
            against = against or f"{rows}: {ours:.3f} against {best:.3f}"
    return unbroken(RANDOM_TABLES, against, f"at most {worst:.3g} times the optimum, bound {k - 1}")


BAD_FAMILIES: tuple[Sets, ...] = (
    (tuple("ab"), tuple("abch")),
    (("p", "q"), ("p", "q", *(f"r{i}" for i in range(8)))),
)


def factor_em(k: int = 3) -> Finding:
    """Algorithm 3 by entropy: three records whose pairs are dear and whose triple is cheap."""
    rows = [("a", "p"), ("b", "p"), ("c", "p"), *[("h", "q")] * 20]
    rows += [("h", f"r{i}") for i in range(8) for _ in range(8)]
    data = table_of(rows, BAD_FAMILIES)
    ours = loss(data, Nearest(k, "entropy").neighbourhoods(data), "EM") * len(rows)
    best = PricedByDefinition(rows, BAD_FAMILIES, "EM").best_rows(
        k, range(3)
    )  # the others have k-1 equals: they lose 0
    words = f"{ours:.3f} against {best:.3f} bits, {ours / best:.2f} times as much; the bound is {k - 1}"
    against = "87 records: ap, bp, cp, 20 of hq and 8 of each hr1 to hr8; sets ab and pq"
    return exact(ours <= (k - 1) * best + 1e-9, words, counterexample=against)


def forest_ratio(k: int = 3) -> Finding:
    worst, against = 0.0, ""
    for rows in random_tables(7):
        data = table_of(rows, FAMILIES)
        ours = loss(data, Forest(k, "lm").group(data, (), silent), "LM") * len(rows)
        best = PricedByDefinition(rows, FAMILIES, "LM").best_classes(k)
        worst = max(worst, ours / best if best else 0.0)
        if ours > (3 * k - 3) * best + 1e-9:
            against = against or f"{rows}: {ours:.3f} against {best:.3f}"
    return unbroken(RANDOM_TABLES, against, f"at most {worst:.3g} times the optimum, bound {3 * k - 3}")


def larger_first() -> Finding:
    """Does the division by log|A ∪ B| in (10) prefer the larger union, also of a negative price?"""
    small, large = (-0.5 / log(size) for size in (2, 8))
    words = f"a price of -0.5 becomes {small:.3f} for a union of 2, {large:.3f} for one of 8"
    return exact(large < small, words, counterexample="a negative numerator, which (9) and (10) have often")


# The percentages of the text, against the paper's own table


def own_percentages(more: str, less: str, bounds: tuple[float, float]) -> Finding:
    """What Table I says of them, with its two digits."""
    gains = {
        f"{data} {measure} k={k}": 1 - b / a
        for (data, measure), rows in TABLE.items()
        for k, a, b in zip(KS, rows[more], rows[less], strict=True)
    }
    outside = {at: gain for at, gain in gains.items() if not bounds[0] <= round(gain, 2) <= bounds[1]}
    words = f"{min(gains.values()):.1%} to {max(gains.values()):.1%}"
    against = ", ".join(f"{at} {gain:.1%}" for at, gain in outside.items())
    return exact(not outside, words, "exact, from Table I as printed", against)
