"""Membership against somebody who re-runs the program on every candidate for the private table.

Each table has 6 to 8 people. Every set of them, of whatever size, is a world, and all are equally likely:
each person is private with probability 1/2, apart from the others. The adversary knows the public table, the
release, the program, who shares a class, and even the order in which people were mixed. What they conclude
of a person, counted over the worlds that give the same release, is compared with what the claim
``even-presence`` says. The same is done for whoever also knows how many people are private: then it holds
for every belief beforehand in which people are alike, however likely each number is.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from support.night import NIGHT, combined
from support.tables_of_codes import CodeTable
from support.towns import Disclosed, Town, faults, posterior, towns, value_towns, wrong_about

import incrowd as ic
from incrowd.algorithms.base import all_methods
from incrowd.algorithms.kja import BASES, Direct, Refinement
from incrowd.algorithms.kja_adaptive import AdaptiveRefinement, DirectWithValues
from incrowd.algorithms.outliers.expc import ExpC
from incrowd.errors import Exposure, Infeasible
from incrowd.flow import Microdata, Sensitive, Table
from incrowd.long_work import silent, unwatched
from incrowd.models import Closeness, DistinctDiversity, EntropyDiversity, FrequencyDiversity
from incrowd.models.plain import Plain
from incrowd.publishing.draft import draft
from incrowd.schema import Kind

KNOWN = [base for base in BASES if base in all_methods()]
TIMES = 20 if NIGHT else 1


@pytest.mark.parametrize(("base", "method"), combined(KNOWN, [Direct, Refinement]))
def test_nobody_of_a_class_is_likelier_to_be_private(method: Any, base: str) -> None:
    tables = (8 if base == "mondrian" and NIGHT else 1 if base == "cells" else 3) * TIMES
    found = faults(lambda k: method(k, base=base), towns(1, tables))
    assert set(found) == {"releases", "sizes"}
    assert found["releases"] > tables
    assert (found["sizes"] > 0) == (method is Direct)  # the other one publishes how many are private


@pytest.mark.parametrize("base", ["mondrian", "topdown"])
def test_values_of_the_whole_table_tell_nothing_of_a_class(base: str) -> None:
    """How many are private is then known, and nobody of a class is likelier for it."""
    found = faults(lambda k: DirectWithValues(k, base=base), towns(9, 3 * TIMES))
    assert set(found) == {"releases", "sizes"}
    assert found["releases"] > found["sizes"] == 0


SEVEN = [(6, 2), (3, 0), (0, 0), (3, 2), (2, 2), (6, 0), (6, 3)]


def test_seven_people_of_whom_six_were_certain() -> None:
    """Once one of them was known to be public and the others to be private, and a class of k had k-1."""
    data = CodeTable([*SEVEN], [("range", list(range(7)))] * 2).data
    town = Town(data, range(7), 3, 6)
    assert set(faults(Refinement, [town])) == {"releases", "sizes"}
    assert faults(AdaptiveRefinement, [town])["certain"]
    seen = {town.release(Refinement(3), world, {}) for world in town.worlds()}
    shares = {(len(who), private) for one in seen if one is not None for who, private in one.classes}
    assert shares == {(3, 3), (3, 2), (4, 4), (4, 3)}  # so that a class of private people alone is refused
    released = {published(SEVEN, world, asked("kja-refine", 3)) for world in map(sorted, town.worlds())}
    assert released == {"Exposure"}


@pytest.mark.parametrize("base", ["mondrian", "mondrian-relaxed"])
@pytest.mark.parametrize("presence", ["0.8", "0.6"])
def test_a_bound_on_presence_keeps_it_even(base: str, presence: str) -> None:
    """And no class has a larger share."""
    found = faults(lambda k: Refinement(k, base=base, presence=presence), towns(2, 6 * TIMES))
    assert set(found) == {"releases", "sizes"}
    assert found["releases"] > found["sizes"] == 0
    largest = Fraction(0)
    for town in towns(3, 4 * TIMES):
        way = Refinement(town.k, base=base, presence=presence)
        for world in town.all_worlds():
            seen = town.release(way, world, {})
            if seen is not None:
                largest = max(largest, *(Fraction(n or 0, len(who)) for who, n in seen.classes))
    assert 0 < largest <= Fraction(presence)


CONTROLS = {
    "adaptive": AdaptiveRefinement,
    "outline": lambda k: AdaptiveRefinement(k, first="private"),
    "trimming": lambda k: Direct(k, trim="exact"),
    "values of classes": lambda k: DirectWithValues(k, values="class"),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_what_must_be_accepted_by_name_breaks(name: str) -> None:
    found = faults(CONTROLS[name], towns(4, 8))
    assert found["certain"] > 0
    assert found["uneven"] > 0


# Values


@pytest.mark.parametrize(
    "model", [FrequencyDiversity(2, "d"), DistinctDiversity(2, "d"), EntropyDiversity("2", "d")]
)
def test_nobody_has_a_value_with_more_than_one_in_l(model: Any) -> None:
    tables = 100 if NIGHT else 3
    found = [posterior(town, Refinement(2), [model], held) for town, held in value_towns(5, tables)]
    assert len(found) == tables
    assert max(found) <= Fraction(1, 2)


def test_values_of_the_whole_table_are_guessed_by_their_share_alone() -> None:
    for town, held in value_towns(7, 20 if NIGHT else 1):
        share = Fraction(max(Counter(held).values()), len(held))
        assert posterior(town, DirectWithValues(2), [], held) == share


def test_values_of_classes_are_found_by_who_runs_the_program_again() -> None:
    """As the claim says: l holds in every class, and a veto tells of more (minimality)."""
    model, way = FrequencyDiversity(2, "d"), DirectWithValues(2, values="class")
    half = Fraction(1, 2)
    assert any(posterior(town, way, [model], held) > half for town, held in value_towns(5, 12))


def test_a_veto_that_sees_values_keeps_presence_even() -> None:
    """With t, values may be found by who re-runs the program, as the claim says; membership may not."""
    model = Closeness("0.4", "equal", "d")
    for town, held in value_towns(6, 6 if NIGHT else 3):
        by: dict[Disclosed, list[frozenset[int]]] = defaultdict(list)
        for world in town.worlds():
            for order in set(itertools.permutations(held)):
                values = dict(zip(sorted(world), order, strict=True))
                seen = town.release(Refinement(2), world, values, [model])
                if seen is not None:
                    by[seen].append(world)
        assert by
        for seen, fits in by.items():
            assert not wrong_about(town, fits, seen)


# Plain classes with a public table: why they are refused


def test_plain_classes_of_private_people_tell_who_they_are() -> None:
    """Four people aged 30, 30, 30 and 40 in one class, two of them private, with two different values.

    The definition in fractions, p = 2/3 and d = 1/2, the scale that of the list. Without the person of 40 no
    private one is near that age, whatever the value: a column of bad nodes.
    """
    ages, values, p, d = (30, 30, 30, 40), (0, 1), Fraction(2, 3), Fraction(1, 2)

    def bad(age: int, value: int, records: Sequence[tuple[int, int]]) -> bool:
        far = [Fraction(age - x, 10) ** 2 + (value - s) ** 2 > d**2 for x, s in records]
        return sum(far) >= p * len(records)

    def plain(records: Sequence[tuple[int, int]]) -> bool:
        rows = [[bad(age, value, records) for age in (30, 40)] for value in values]
        return not any(map(all, [*rows, *zip(*rows, strict=True)]))

    published = [
        set(world)
        for world in itertools.combinations(range(4), 2)
        for order in itertools.permutations(values)
        if plain([(ages[i], value) for i, value in zip(world, order, strict=True)])
    ]
    assert len(published) == 6  # of 12
    assert all(3 in world for world in published)  # where even presence says 1/2
    assert {sum(i in world for world in published) for i in range(3)} == {2}


def test_boxes_of_expc_end_at_private_people() -> None:
    """Six people of different ages, four private; everybody of the list who lies in a box would join it.

    Whoever stands at an end of a box is private in every world that gives it, whoever has which value.
    """
    ages = CodeTable([(i,) for i in range(6)], [("range", list(range(6)))]).data
    by: dict[tuple[tuple[int, ...], ...], set[frozenset[int]]] = defaultdict(set)
    for world in itertools.combinations(range(6), 4):
        for held in sorted(set(itertools.permutations((0, 0, 1, 1)))):
            named = Sensitive("d", Kind.CATEGORICAL, np.array(held, np.int32), 2)
            private = Microdata(ages.codes[list(world)], ages.attributes, (named,))
            guards = Plain(p="0.9", d="0.9", distinct=2).guards(private)
            labels = ExpC(2).group(private, guards, silent).labels
            groups = [np.array(world)[labels == label] for label in range(labels.max() + 1)]
            boxes = {(int(group.min()), int(group.max()), group.size) for group in groups}
            by[tuple(sorted(boxes))].add(frozenset(world))
    assert len(by) > 15
    assert any(high - low >= size for shown in by for low, high, size in shown)  # others of the list inside
    for shown, fits in by.items():
        ends = {end for low, high, _ in shown for end in (low, high)}
        assert all(ends <= world for world in fits)


# Several private tables


def test_two_releases_against_one_list_make_people_certain() -> None:
    """Nobody is in both private tables. Each release alone makes nobody certain; both of them together do."""
    data = CodeTable([*SEVEN], [("range", list(range(7)))] * 2).data
    town = Town(data, range(7), 3, 3)
    seen = {world: town.release(Refinement(3), world, {}) for world in town.worlds()}
    by: dict[tuple[Disclosed | None, ...], list[tuple[frozenset[int], ...]]] = defaultdict(list)
    for one, other in itertools.permutations(seen, 2):
        if not one & other:
            by[seen[one], seen[other]].append((one, other))
    certain = 0
    for releases, pairs in by.items():
        alone = [frozenset.intersection(*(w for w in seen if seen[w] == release)) for release in releases]
        together = frozenset.intersection(*(one | other for one, other in pairs))
        certain += bool(together) and not any(alone)
    assert certain


# The whole program: read, join, encode, group, generalize, render


def asked(
    method: str, k: int, accept: Sequence[str] = (), options: Mapping[str, Any] = MappingProxyType({})
) -> ic.Policy:
    return ic.Policy(
        quasi_identifiers={"x": {"type": "numeric"}, "y": {"type": "categorical"}},
        identifiers=["id"],
        sensitive=["d"],
        method=method,
        accept=list(accept),
        options=dict(options),
        public={"table": "roll.csv", "id": "id", "membership_secret": True},
    ).with_(k=k)


def published(points: Sequence[tuple[int, int]], world: Sequence[int], policy: ic.Policy) -> Any:
    """What everybody sees: rows without their order, and with groups called by what they hold."""

    def columns(people: Sequence[int]) -> dict[str, list[str]]:
        return {
            "id": [f"P{i}" for i in people],
            "x": [str(points[i][0]) for i in people],
            "y": ["abcd"[points[i][1]] for i in people],
        }

    private = Table.of({**columns(world), "d": [f"v{i}" for i in range(len(world))]})
    try:
        made = draft(private, policy, unwatched, Table.of(columns(range(len(points)))))
    except (Exposure, Infeasible) as said:
        return type(said).__name__
    names = [name for name in made.table.names if name != "group"]
    rows = list(zip(*(made.table.column(name).rows() for name in names), strict=True))
    if made.buckets is None:
        return tuple(sorted(rows))
    groups: dict[str | None, list[Any]] = defaultdict(list)
    for group, row in zip(made.table.column("group").rows(), rows, strict=True):
        groups[group].append(row)
    sizes = Counter(made.buckets.table.column("group").rows())
    return tuple(sorted((sizes[group], tuple(sorted(rows))) for group, rows in groups.items()))


def certain_by_the_program(tables: int, method: str, *about: Any) -> Counter[str]:
    """Releases, and those in which somebody is certainly private to who knows how many people are."""
    rng = np.random.default_rng(8)
    found: Counter[str] = Counter()
    for _ in range(tables):
        n, k = 6, int(rng.integers(2, 4))
        points = [(int(x), int(y)) for x, y in zip(rng.integers(0, 6, n), rng.integers(0, 3, n), strict=True)]
        policy = asked(method, k, *about)
        by: dict[Any, list[tuple[int, ...]]] = defaultdict(list)
        for size in range(1, n + 1):
            for world in itertools.combinations(range(n), size):
                by[published(points, world, policy), size].append(world)
        for (seen, _), fits in by.items():
            always = [i for i in range(n) if all(i in world for world in fits)]
            found["releases"] += not isinstance(seen, str)
            found["certain"] += bool(always) and not isinstance(seen, str)
    return found


WHOLE: list[tuple[str, dict[str, str]]] = [
    ("kja-direct", {}),
    ("kja-refine", {}),
    ("kja-refine", {"presence": "0.8"}),
]
if TIMES > 1:
    others = [base for base in KNOWN if base != "mondrian"]
    WHOLE += [(method, {"base": base}) for method in ("kja-direct", "kja-refine") for base in others]


@pytest.mark.parametrize(("method", "options"), WHOLE)
def test_the_whole_program_makes_nobody_certain(method: str, options: dict[str, str]) -> None:
    found = certain_by_the_program(1 + TIMES, method, (), options)
    assert found["releases"]
    assert not found["certain"]


def test_the_whole_program_as_it_was_does() -> None:
    assert certain_by_the_program(2, "kja-refine-adaptive", ["unsafe-adaptive"])["certain"]
