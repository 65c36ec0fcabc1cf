"""The sentences a release says about itself, counted again: whole numbers and fractions only.

A class is the set of rows with the same generalised texts. Texts that mean one value (1 and 1.0 in a
column of numbers) are one value; missing is a value like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier.consistency import Consistency, Tally
from incrowd.verifier.distance import Histogram, equal, farthest, hierarchical, ordered
from incrowd.verifier.exhibits import Exhibits
from incrowd.verifier.factor import has_factor
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.parameters import decimal, whole
from incrowd.verifier.plain import MODEL as PLAIN
from incrowd.verifier.plain import PARAMETERS, check_plain
from incrowd.verifier.rows import Codes, Ints
from incrowd.verifier.values import Tree, tree_of, value

CLOSE = 1e-7  # logarithms decide only what is farther from the limit than this


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """What claims speak of: the class of each row, its size in persons, sensitive texts, who fits where.

    `parts` is what somebody says of each row's part; never trusted. `tables` are needed where a claim speaks
    of values of the original, too.
    """

    schema: Schema
    row_class: Ints
    persons: Ints
    sensitive: Mapping[str, tuple[Codes, Sequence[str]]]
    graph: Consistency
    parts: NDArray[np.integer] | None = None
    tables: Exhibits | None = None

    def column(self, claim: Claim) -> Column:
        named = [column for column in self.schema.having(Role.SENSITIVE) if column.name == claim.column]
        need(len(named) == 1, "the claim speaks of no sensitive column")
        return named[0]

    def histogram(self, claim: Claim, group: Ints | None = None) -> Histogram:
        """The values of the claim's column in their order, missing first, in each class or other group."""
        column = self.column(claim)
        codes, texts = self.sensitive[column.name]
        meaning = [_meaning(column, text, self.schema.missing) for text in texts]
        place = {thing: place for place, thing in enumerate(sorted(set(meaning)))}
        ranks = np.array([place[thing] for thing in meaning], np.int64)
        return Histogram.of(self.row_class if group is None else group, ranks[codes], len(place))

    def leaves(self, claim: Claim) -> tuple[Histogram, Tree]:
        """The values of the claim's column as leaves of its hierarchy."""
        column = self.column(claim)
        codes, texts = self.sensitive[column.name]
        tree, leaf = _leaves(column, texts, self.schema.missing)
        return Histogram.of(self.row_class, leaf[codes], len(tree.leaf)), tree


def _meaning(column: Column, text: str, missing: frozenset[str]) -> tuple[int, Any]:
    """What sorts and tells apart the values of a column; all texts that mean missing are one value."""
    if text not in missing:
        return (1, value(column, text))
    named = [place for place, value in enumerate(column.order) if value in missing]
    return (1, named[0]) if named else (0, "")


def _leaves(column: Column, texts: Sequence[str], missing: frozenset[str]) -> tuple[Tree, Ints]:
    """The leaf of each text. Missing that is no leaf hangs from the root by itself."""
    need(bool(column.levels), "the column has no hierarchy")
    levels = list(column.levels)
    if len({row[-1] for row in levels}) > 1 or len(levels[0]) == 1:
        levels = [(*row, "") for row in levels]
    named = next((row[0] for row in levels if row[0] in missing), None)
    if named is None and any(text in missing for text in texts):
        named = "\0"
        levels.append((*[named] * (len(levels[0]) - 1), levels[0][-1]))
    tree = tree_of(levels)
    leaves = [named if text in missing else text for text in texts]
    places = [tree.leaf.get(leaf or "", -1) for leaf in leaves]
    need(min(places) >= 0, "the hierarchy lacks a value of the column")
    return tree, np.array(places, np.int64)


def check_claim(claim: Claim, classes: Classes) -> int | str:
    """What the release reaches, or a Fault if that is less than the claim."""
    if claim.model not in _MODELS:
        raise Fault("the judge does not know this model, so it cannot confirm it")
    parameters, check = _MODELS[claim.model]
    need(set(claim.parameters) == set(parameters), "the claim has not exactly the model's parameters")
    return check(claim, classes)


def k_anonymity(claim: Claim, classes: Classes) -> int:
    """Every class has at least k persons."""
    need(not claim.column, "k-anonymity speaks of rows, not of a column")
    smallest = int(classes.persons.min())
    need(smallest >= whole(claim, "k"), f"the smallest class has {smallest}")
    return smallest


def sensitive_groups(claim: Claim, classes: Classes) -> int:
    """Every group of sensitive values that stand apart from the rows has at least k people."""
    need(not claim.column, "sensitive-groups speaks of groups, not of a column")
    smallest = int(classes.persons.min())
    need(smallest >= whole(claim, "k"), f"the smallest group has {smallest}")
    return smallest


def k_join_anonymity(claim: Claim, classes: Classes) -> int:
    """Every class has at least k people, of the private or the public table."""
    need(not claim.column, "k-join-anonymity speaks of rows, not of a column")
    smallest = int(classes.persons.min())
    need(smallest >= whole(claim, "k"), f"the smallest class has {smallest}")
    return smallest


def one_k(claim: Claim, classes: Classes) -> int:
    """Every record fits at least k rows."""
    k = _rows_wanted(claim, classes)
    return _records_reach(classes.graph.degrees, k, "fit")


def k_one(claim: Claim, classes: Classes) -> int:
    """Every row fits at least k records."""
    k = _rows_wanted(claim, classes)
    return _rows_reach(classes.graph.degrees, k, "fit")


def k_k(claim: Claim, classes: Classes) -> int:
    """Both."""
    return min(one_k(claim, classes), k_one(claim, classes))


def global_one_k(claim: Claim, classes: Classes) -> int:
    """Every record has at least k rows that it may be behind while all others find rows, too."""
    k = _rows_wanted(claim, classes)
    return _records_reach(classes.graph.matches, k, "match")


def global_k_one(claim: Claim, classes: Classes) -> int:
    """Every row has at least k records that may be behind it while all others find rows, too."""
    k = _rows_wanted(claim, classes)
    return _rows_reach(classes.graph.matches, k, "match")


def k_factor(claim: Claim, classes: Classes) -> int:
    """An assignment can be drawn in which no match has a probability above 1/k."""
    k = _rows_wanted(claim, classes)
    _need_factor(classes.graph, k)
    return k


def _need_factor(graph: Consistency, k: int, where: str = "") -> None:
    if graph.witnessed(k):
        return
    _rows_reach(graph.degrees, k, "fit", where)
    if not graph.left_out:
        _records_reach(graph.degrees, k, "fit", where)
    otherwise = f"no choice of {k} records{where} for every row takes none of them more than {k} times"
    need(has_factor(graph, k), otherwise)


def _rows_wanted(claim: Claim, classes: Classes) -> int:
    need(not claim.column, f"{claim.model} speaks of rows, not of a column")
    return _rows_counted(claim, classes)


def _rows_counted(claim: Claim, classes: Classes) -> int:
    several = classes.schema.having(Role.ENTITY)
    need(not several, f"{claim.model} counts rows, and here a person may have several")
    return whole(claim, "k")


def _records_reach(found: Tally, k: int, verb: str, where: str = "") -> int:
    few = found.records_below(k)
    need(not few, f"{few} records {verb} fewer than {k} rows{where}")
    return int(found.records.min())


def _rows_reach(found: Tally, k: int, verb: str, where: str = "") -> int:
    few = found.rows_below(k)
    need(not few, f"{few} rows {verb} fewer than {k} records{where}")
    return int(found.rows.min())


def drawn_diversity(claim: Claim, classes: Classes) -> int:
    """In every part no value is said by more than k/l rows, and an assignment can be drawn from k rows of the
    part for everybody: then nobody has any value with a probability above 1/l."""
    k, wanted = _rows_counted(claim, classes), whole(claim, "l")
    part = _part_of_each_row(classes)
    most = int(classes.histogram(claim, part).count.max())
    often = f"a part has a value {most} times, which is more than one in {wanted} of {k} rows"
    need(most * wanted <= k, often)
    _need_factor(classes.graph.inside(part), k, " of their part")
    return k // most


def _part_of_each_row(classes: Classes) -> Ints:
    """The parts that were handed over, numbered without gaps."""
    said = classes.parts
    if said is None:
        raise Fault("to confirm it, the parts that are kept in the audit are needed")
    fit = said.shape == (classes.graph.rows,) and said.dtype.kind in "iu"
    need(fit, "the parts that were handed over are not one number for each row")
    part: Ints = np.unique(said, return_inverse=True)[1].reshape(-1)
    return part


def distinct_diversity(claim: Claim, classes: Classes) -> int:
    """Every class has at least l different values."""
    reached = int(np.bincount(classes.histogram(claim).group).min())
    need(reached >= whole(claim, "l"), f"a class has {reached} different values")
    return reached


def frequency_diversity(claim: Claim, classes: Classes) -> int:
    """No value makes up more than 1/l of a class."""
    found = classes.histogram(claim)
    most = np.zeros(len(found), np.int64)
    np.maximum.at(most, found.group, found.count)
    reached = int((found.rows // most).min())
    need(reached >= whole(claim, "l"), f"a class has a value in more than one of {reached + 1} rows")
    return reached


def entropy_diversity(claim: Claim, classes: Classes) -> str:
    """The entropy of every class is at least log l: nⁿ ≥ lⁿ · ∏ cᶜ for counts c of its n rows."""
    limit = decimal(claim, "l")
    need(limit >= 1, "l is below 1")
    found = classes.histogram(claim)
    rows, logs = found.rows, found.count * np.log(found.count)
    entropy = np.log(rows) - np.bincount(found.group, logs) / rows
    margin = entropy - math.log(limit)
    near = np.flatnonzero(np.abs(margin) <= CLOSE)
    starts = np.searchsorted(found.group, near), np.searchsorted(found.group, near, side="right")
    fair = all(_enough_entropy(found.count[a:b].tolist(), limit) for a, b in zip(*starts, strict=True))
    worst = f"{math.floor(math.exp(float(entropy.min())) * 1e4 + CLOSE) / 1e4:.4f}"
    need(fair and not (margin < -CLOSE).any(), f"a class reaches {worst}")
    return worst


def _enough_entropy(counts: list[int], limit: Fraction) -> bool:
    n = sum(counts)
    taken = math.prod(count**count for count in counts)
    return bool(n**n * limit.denominator**n >= limit.numerator**n * taken)


def recursive_diversity(claim: Claim, classes: Classes) -> str:
    """In every class r₁ < c · (r_l + … + r_m), for counts r from the most to the least frequent value."""
    c, place = decimal(claim, "c"), whole(claim, "l")
    found = classes.histogram(claim)
    order = np.lexsort((-found.count, found.group))
    group, count = found.group[order], found.count[order]
    first = np.searchsorted(group, np.arange(len(found)))
    tail = np.where(np.arange(group.size) - first[group] >= place - 1, count, 0)
    tails = np.bincount(group, tail).astype(np.int64).tolist()
    pairs = set(zip(count[first].tolist(), tails, strict=True))
    need(all(top < c * rest for top, rest in pairs), "a class has a value that is too frequent")
    worst = max(Fraction(top, rest) for top, rest in pairs)
    return _rounded_up(worst)


def t_closeness(claim: Claim, classes: Classes) -> str:
    """No class is farther than t from the whole table, in earth mover's distance."""
    limit, distance = decimal(claim, "t"), str(claim.parameters["distance"])
    if distance == "equal":
        worst = farthest(equal(classes.histogram(claim)))
    elif distance == "ordered":
        need(classes.column(claim).kind is not Kind.CATEGORICAL, "the column has no order")
        worst = farthest(ordered(classes.histogram(claim)))
    elif distance == "hierarchical":
        worst = farthest(hierarchical(*classes.leaves(claim)))
    else:
        raise Fault("the judge does not know this distance")
    need(worst <= limit, f"a class is {_rounded_up(worst)} away from the whole table")
    return _rounded_up(worst)


def plain(claim: Claim, classes: Classes) -> int:
    """Nobody of a class stands out, whichever of its values is whose."""
    if classes.tables is None:
        raise Fault("its sensitive columns are not in the rows")
    return check_plain(claim, classes.schema, classes.tables)


def _rounded_up(share: Fraction) -> str:
    return f"{math.ceil(share * 10**4) / 10**4:.4f}"


Checker = Callable[[Claim, Classes], int | str]
_MODELS: Mapping[str, tuple[tuple[str, ...], Checker]] = {
    "k-anonymity": (("k",), k_anonymity),
    "k-join-anonymity": (("k",), k_join_anonymity),
    "sensitive-groups": (("k",), sensitive_groups),
    "1k-anonymity": (("k",), one_k),
    "k1-anonymity": (("k",), k_one),
    "kk-anonymity": (("k",), k_k),
    "global-1k-anonymity": (("k",), global_one_k),
    "global-k1-anonymity": (("k",), global_k_one),
    "k-factor": (("k",), k_factor),
    "distinct-l-diversity": (("l",), distinct_diversity),
    "entropy-l-diversity": (("l",), entropy_diversity),
    "recursive-l-diversity": (("c", "l"), recursive_diversity),
    "frequency-l-diversity": (("l",), frequency_diversity),
    "drawn-l-diversity": (("l", "k"), drawn_diversity),
    "t-closeness": (("t", "distance"), t_closeness),
    PLAIN: (PARAMETERS, plain),
}
