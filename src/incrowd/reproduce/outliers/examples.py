"""What sections 1 to 7 of the paper show by example or prove: nine people, and tables that try theorems.

Where the paper leaves open which columns distance is over, both settings under which its own outliers come
out are tried (docs/reproduce.md, outliers). Counterexamples are looked for among drawn tables, never written
down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from math import sqrt
from random import Random

import numpy as np

from incrowd.attacks.distinguish import COLUMN, ROW, Distinguished, Distinguisher, classes_of, distinguish
from incrowd.distance_outliers import Matrix, Setting, Space
from incrowd.encode import encode
from incrowd.flow import Microdata, Table
from incrowd.measures.proximity import Proximity, proximity
from incrowd.reproduce.rules import Finding, exact, unbroken
from incrowd.reproduce.stored import SEED
from incrowd.schema import Column, Kind, Role, Schema

# Figure 1: age, gender (0 for male), zip code, income in thousands
PEOPLE = (
    (20, 1, 6006, 20),
    (20, 0, 6011, 25),
    (20, 0, 6013, 120),
    (30, 1, 6001, 30),
    (30, 0, 6010, 50),
    (30, 0, 6022, 2_000_000),
    (40, 0, 6004, 100),
    (40, 1, 6002, 110),
    (40, 0, 6003, 130),
)
NAMES = ("Age", "Gender", "Zipcode", "Income")
JUSTIN, BILL = 2, 5
SETTINGS = ((("Age", "Zipcode", "Income"), "0.65", "0.86"), (("Age", "Income"), "0.75", "0.55"))
GROUPS = {
    "2a": ((0, 1, 2), (3, 4, 5), (6, 7, 8)),
    "2b": ((0, 1, 3, 4), (2, 6, 7, 8)),
    "3": ((0, 4, 6, 7), (1, 2, 3, 8)),
}
DRAWN = 400  # tables that are tried for a counterexample
Rows = Sequence[Sequence[int]]


def numbers(rows: Rows, names: Sequence[str]) -> Microdata:
    """A table of numbers; the last column is sensitive."""
    table = Table.of({name: [str(row[j]) for row in rows] for j, name in enumerate(names)})
    roles = [Role.QUASI] * (len(names) - 1) + [Role.SENSITIVE]
    columns = [Column(name, role, Kind.NUMERIC) for name, role in zip(names, roles, strict=True)]
    return encode(table, Schema(tuple(columns)))


@cache
def nine(which: int) -> Space:
    """Figure 1 by one of the settings; Bill is removed, and the others are scaled anew."""
    columns, p, d = SETTINGS[which]
    setting = Setting(p=p, d=d, distinct=2, margin=0, columns=columns)
    return Space.of(numbers(PEOPLE, NAMES), setting)


def in_words(which: int) -> str:
    columns, p, d = SETTINGS[which]
    return f"{', '.join(columns)}, p={p}, d={d}"


def _classes(figure: str, which: int) -> Distinguished:
    groups = [np.array([i for i in group if i != BILL]) for group in GROUPS[figure]]
    return distinguish(classes_of(nine(which), groups), nine(which))


def two_outliers() -> Finding:
    """Are Justin and Bill the outliers by all four columns, at any p and d?"""
    data, places = numbers(PEOPLE, NAMES), range(len(PEOPLE))
    spans = [max(column) - min(column) for column in zip(*PEOPLE, strict=True)]

    def apart(i: int, j: int) -> float:
        return sqrt(sum(((a - b) / s) ** 2 for a, b, s in zip(PEOPLE[i], PEOPLE[j], spans, strict=True)))

    ends = sorted({0.0, *(apart(i, j) for i, j in combinations(places, 2))})
    # from one distance to the next all is alike
    between = [(a + b) / 2 for a, b in pairwise(ends) if b - a > 1e-9]
    found = [(p, d) for d in between for p in places if _outliers(data, p, d) == {JUSTIN, BILL}]
    words = f"{len(found)} of {len(between) * len(places)} pairs of p and d make these two the outliers"
    return exact(bool(found), words, "by all four columns, every p and d that differs is tried")


def _outliers(data: Microdata, others: int, d: float) -> set[int]:
    """Who is further than d from more than so many."""
    p = f"{(others + 0.5) / len(PEOPLE):.6f}"
    setting = Setting(p=p, d=f"{d:.12f}", distinct=2, margin=0, removal="none")
    return set(np.flatnonzero(Space.of(data, setting).outliers()).tolist())


def both_kinds() -> Finding:
    """Bill by income alone, Justin by several columns, after Bill is removed; nobody else."""
    spaces = [nine(which) for which in range(len(SETTINGS))]
    found = [[np.flatnonzero(some).tolist() for some in (s.removed, s.outliers())] for s in spaces]
    words = "; ".join(f"{in_words(i)}: {len(a)} by income, {len(b)} others" for i, (a, b) in enumerate(found))
    return exact(all(each == [[BILL], [JUSTIN]] for each in found), words)


def named(figure: str, right: bool) -> Finding:
    """Is Justin named by what is certain or by a theorem, or is he not?"""
    found = {in_words(i): JUSTIN in _classes(figure, i).persons() for i in range(len(SETTINGS))}
    words = "; ".join(f"{where}: {'named' if yes else 'not named'}" for where, yes in found.items())
    return exact(set(found.values()) == {right}, words)


def association(figure: str, printed: Fraction, which: int) -> Finding:
    """The score of Justin's income where he is named."""
    found = _classes(figure, which).association
    return exact(found == printed, f"{found} ({in_words(which)})")


def constrained() -> Finding:
    """Definition 4.3, of Justin in his group of Figure 2(a)."""
    space = nine(0)
    (shown,) = classes_of(space, [np.array(GROUPS["2a"][0])])
    held = Distinguisher(space, space.outliers()).constrained(JUSTIN, shown.cells)
    codes = [PEOPLE[i][2] for i in GROUPS["2a"][0]]
    here, low, high = PEOPLE[JUSTIN][2], min(codes), max(codes)
    inside = sorted(f"{row[2]:05}" for row in PEOPLE if here + low < 2 * row[2] < here + high)
    against = f"{', '.join(inside)} lie between the middles from his zip code to both ends of the group"
    return exact(held, f"distance-constrained: {held}", "exact, by definition 4.3", against)


def ranges(figure: str) -> Proximity:
    found = proximity([[Fraction(PEOPLE[i][3]) for i in group] for group in GROUPS[figure]], Fraction(4))
    assert found is not None  # noqa: S101  # every group has incomes
    return found


def lower_bound_fails() -> Finding:
    """Figure 2(a) keeps (k,e) and (epsilon,m), and Justin is found for certain."""
    found, told = ranges("2a"), _classes("2a", 0)
    words = f"k={found.values}, e={found.least_range}K, m={found.m} for epsilon=4K"
    words += f"; the score of Justin's income: {told.association}"
    return exact(found.values >= 3 and found.least_range >= 30 and told.association == 1, words)


def upper_bound_fails() -> Finding:
    """Figure 2(b) keeps ranges of 30K to 60K, and Justin is named where distance is over age and income."""
    found, told = ranges("2b"), _classes("2b", 1)
    words = f"ranges of {found.least_range}K to {found.largest_range}K; Justin's presence: {told.presence}"
    return exact(found.least_range >= 30 and found.largest_range <= 60 and told.presence == 1, words)


# Example 7.1


def expansion_makes_plain(candidate: int) -> Finding:
    """Is the group of tuples 1, 2 and 3 plain with this one (numbers of the paper), and not before?"""
    before = Matrix(_corner(0)).plain(np.array([0, 1, 2]))
    after = Matrix(_corner(0)).plain(np.array([0, 1, 2, candidate - 1]))
    return exact(not before and after, f"plain without: {before}, with: {after} ({in_words(0)})")


def _corner(which: int) -> Space:
    columns, p, d = SETTINGS[which]
    setting = Setting(p=p, d=d, distinct=3, margin=0, columns=columns, form="corner")
    return Space.of(numbers(PEOPLE, NAMES), setting)


def cheaper_candidate() -> Finding:
    """Definition 3.7 of the group with tuple 7 and with tuple 5."""
    loss = {}
    for number in (5, 7):
        group = [PEOPLE[i] for i in (0, 1, 2, number - 1)]
        total = Fraction(0)
        for j in range(3):
            low, high = min(row[j] for row in group), max(row[j] for row in group)
            least, most = min(row[j] for row in PEOPLE), max(row[j] for row in PEOPLE)
            numeric = j != 1  # gender is a tree of two leaves: 0 or 1
            total += Fraction(high - low + numeric, most - least + numeric)
        loss[number] = total
    words = f"with tuple 7 {float(loss[7]):.3f} a row, with tuple 5 {float(loss[5]):.3f}"
    against = f"Figure 1 itself: {words}"
    return exact(loss[7] < loss[5], words, "exact, by definition 3.7", against)


# Theorems, on drawn tables


def tables(many: int = DRAWN, n: int = 6) -> Iterator[tuple[Rows, str, str]]:
    """Small tables of two quasi-identifiers and a sensitive number, with p and d."""
    dice = Random(SEED)  # noqa: S311  # nothing is published
    for _ in range(many):
        rows = [tuple(dice.randrange(7) for _ in range(3)) for _ in range(n)]
        yield rows, dice.choice(("0.4", "0.5", "0.6")), dice.choice(("0.4", "0.6", "0.8"))


def _space(rows: Rows, p: str, d: str, removal: str = "none", form: str = "corner") -> Space:
    setting = Setting(p=p, d=d, distinct=2, margin=0, removal=removal, form=form)
    return Space.of(numbers(rows, ("a", "b", "s")), setting)


def theorem_4(rule: str) -> Finding:
    """Is everybody whom a theorem names in the group? 4.1 names by rows, 4.2 by columns."""
    checked = 0
    for rows, p, d in tables():
        space = _space(rows, p, d)
        for group in combinations(range(len(rows)), 3):
            found = distinguish(classes_of(space, [np.array(group)]), space)
            strangers = [t.who for t in found.inferences if t.rule == rule and t.who not in group]
            checked += any(t.rule == rule for t in found.inferences)
            if strangers:
                against = (
                    f"rows {rows}, p={p}, d={d}, group {group}: record {strangers[0]} is named and not there"
                )
                return unbroken(checked, against)
    return unbroken(checked, "")


def theorem_5_1() -> Finding:
    """Where no line of nodes is all bad, no theorem infers anything."""
    checked = 0
    for rows, p, d in tables(DRAWN // 4):
        space = _space(rows, p, d)
        matrix = Matrix(space)
        for group in map(np.array, combinations(range(len(rows)), 3)):
            if matrix.plain(group):
                checked += 1
                found = distinguish(classes_of(space, [group]), space)
                if any(t.rule in (ROW, COLUMN) for t in found.inferences):
                    return unbroken(checked, f"rows {rows}, p={p}, d={d}, group {group.tolist()}")
    return unbroken(checked, "")


def _hidden(space: Space, record: int) -> bool:
    """Is the record in some plain group?"""
    others, matrix = [i for i in range(space.size) if i != record], Matrix(space)
    groups = (g for many in range(1, len(others) + 1) for g in combinations(others, many))
    return any(matrix.plain(np.array([record, *group])) for group in groups)


def theorem_6(sensitive: bool) -> Finding:
    """6.1: no sensitive-attribute outlier is in a plain group; 6.2: every other outlier is in one."""
    checked = 0
    for rows, p, d in tables(n=5):
        space = _space(rows, p, d)
        alone = space.over({"s"}).outliers()
        for record in np.flatnonzero(space.outliers() & (alone == sensitive)).tolist():
            checked += 1
            if _hidden(space, record) == sensitive:
                return unbroken(checked, f"rows {rows}, p={p}, d={d}: record {record}, all groups tried")
    return unbroken(checked, "")


def plain_for_larger_d(removal: str) -> Finding:
    """Is a group that is plain at some d plain at every larger one?"""
    checked = 0
    for rows, p, d in tables():
        small, large = (_space(rows, p, each, removal) for each in (d, f"{float(d) + 0.2:.1f}"))
        for group in map(np.array, combinations(range(len(rows)), 3)):
            gone = small.removed | large.removed
            if not gone[group].any() and Matrix(small).plain(group):
                checked += 1
                if not Matrix(large).plain(group):
                    return unbroken(
                        checked, f"rows {rows}, p={p}, d={d} and 0.2 more, group {group.tolist()}"
                    )
    return unbroken(checked, "")
