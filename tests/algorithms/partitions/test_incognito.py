"""Incognito against trying every level vector, what is published at a level, and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.golden import vectors
from support.tables_of_codes import ONE, groups_of, ks
from twins.incognito import Column, Twin, size

from incrowd import publish
from incrowd.algorithms.partitions import levels, rollups
from incrowd.algorithms.partitions.incognito import MEASURES, Incognito, anonymous_levels
from incrowd.algorithms.partitions.levels import Rolls, ladder_of
from incrowd.contracts import Guard
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Attribute, Microdata, Partition, Table
from incrowd.generalize import generalize
from incrowd.hierarchy import Hierarchy
from incrowd.long_work import silent
from incrowd.measures import published
from incrowd.measures.loss import AverageClass, Discernibility, GlobalPenalty
from incrowd.policy import Policy
from incrowd.publishing.render import cell_texts
from incrowd.schema import Kind, Shape

GOLDEN = vectors("algorithms")


def attribute_of(name: str, column: Column) -> Attribute:
    kind, about, missing = column
    if kind == "set":
        texts = tuple(f"v{i}" for i in range(about))
        return Attribute(name, Kind.CATEGORICAL, Shape.SET, texts, np.arange(about, dtype=float))
    if kind == "tree":
        tree = Hierarchy.from_rows(about)
        assert list(tree.leaves) == [row[0] for row in about], "codes are those of the tree"
        texts = (*tree.leaves, *([""] if missing else []))
        gone = len(about) if missing else -1
        return Attribute(
            name, Kind.CATEGORICAL, Shape.TREE, texts, np.arange(len(texts), dtype=float), gone, tree
        )
    texts = (*([""] if missing else []), *map(str, about))
    position = [*([0.0] if missing else []), *(float(x - about[0]) for x in about)]
    return Attribute(name, Kind.NUMERIC, Shape.RANGE, texts, np.array(position), 0 if missing else -1)


@dataclass(frozen=True)
class Leveled:
    """A table with levels, for incrowd and for its twin."""

    points: Sequence[tuple[int, ...]]
    columns: Sequence[Column]

    @property
    def data(self) -> Microdata:
        attributes = tuple(attribute_of(f"a{j}", column) for j, column in enumerate(self.columns))
        codes = np.array(self.points, np.int32).reshape(len(self.points), len(self.columns))
        return Microdata(codes, attributes)


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, ...]]:
    """Rows of a hierarchy in depth-first order, some nodes with one child, some levels with one node."""
    part = list(range(draw(st.integers(1, 6))))
    rows = [[f"leaf {i}"] for i in part]
    for level in range(1, draw(st.integers(1, 3))):
        borders = {b: draw(st.booleans()) for b in sorted(set(part))[1:]}
        part = [sum(borders[b] for b in borders if b <= here) for here in part]
        for row, here in zip(rows, part, strict=True):
            row.append(f"level {level} node {here}")
    return [(*row, "*") for row in rows]


@st.composite
def leveled_tables(
    draw: st.DrawFn, kinds: str = "trs", most: int = 14, least: st.SearchStrategy[int] = ONE
) -> Leveled:
    columns: list[Column] = []
    for kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)):
        if kind == "t":
            columns.append(("tree", draw(trees()), draw(st.booleans())))
        elif kind == "r":
            positions = draw(st.sets(st.integers(0, 20), min_size=1, max_size=6))
            columns.append(("range", sorted(positions), draw(st.booleans())))
        else:
            columns.append(("set", draw(st.integers(1, 4)), False))
    point = st.tuples(*(st.integers(0, size(column) - 1) for column in columns))
    return Leveled(draw(st.lists(point, min_size=draw(least), max_size=most)), columns)


class NotAllEven:
    """Monotone: a group needs a record of odd index."""

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return bool((rows % 2).any())


class NotMany:
    """Not monotone: a group has at most six records."""

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size <= 6


GUARDS: list[Guard | None] = [None, NotAllEven(), NotMany()]
SHARES = ("0", "0.1", "0.35", "1")


def twin_of(table: Leveled, k: int, share: str, guard: Guard | None = None) -> Twin:
    allowed = None if guard is None else lambda rows: guard.allows(np.array(rows, np.int32))
    return Twin(table.points, table.columns, k, Fraction(share), *([allowed] if allowed else []))


XY: Column = ("tree", [("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")], False)
# What is left out narrows ranges, so that costs and floors come in different orders.
EQUAL_HEIGHTS = Leveled([(1, 2), (1, 2), (1, 1), (1, 2), (1, 2), (0, 0)], [("range", [2, 7], False), XY])
LATER_AND_LOWER = Leveled(
    [(0, 1, 2), (1, 0, 0), (1, 0, 2), (1, 1, 0), (1, 0, 1), (0, 1, 0), (0, 1, 1), (1, 1, 0)],
    [("range", [0, 7], False), ("set", 2, False), XY],
)
NARROWED = Leveled(
    list(
        zip(
            (0, 1, 2, 2, 1, 2, 1, 1, 0, 0),
            (2, 0, 1, 2, 3, 1, 3, 2, 2, 3),
            (0, 1, 0, 0, 2, 2, 0, 2, 0, 1),
            strict=True,
        )
    ),
    [XY, ("range", [3, 6, 7, 8], False), ("set", 3, False)],
)


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=100)
@given(leveled_tables(least=ks(1, 4)), ks(1, 4), st.sampled_from(SHARES), st.sampled_from(GUARDS))
@example(EQUAL_HEIGHTS, 2, "0.2", None)
@example(LATER_AND_LOWER, 3, "0.2", None)
@example(NARROWED, 3, "0.4", None)
def test_finds_what_trying_all_finds(
    measure: str, table: Leveled, k: int, share: str, guard: Guard | None
) -> None:
    expected = twin_of(table, k, share, guard).best(measure)
    recipe, guards = Incognito(k, measure, share), () if guard is None else (guard,)
    if expected is None:
        with pytest.raises(Infeasible, match="highest level"):
            recipe.group(table.data, guards, silent)
    else:
        partition = recipe.group(table.data, guards, silent)
        assert partition.levels == expected[0]
        assert groups_of(partition) == expected[1]


@settings(max_examples=100)
@given(leveled_tables(least=ks(1, 4)), ks(1, 4), st.sampled_from(SHARES), st.booleans())
def test_the_lattice_is_that_of_the_twin(table: Leveled, k: int, share: str, poor: bool) -> None:
    """Also without room to hold frequency sets or to pack rows; small sets are made in two steps as well."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(rollups, "LARGE", 0)
        if poor:
            changed.setattr(rollups, "KEPT_BYTES", 0)
            changed.setattr(levels, "MOST_PACKED", 0)
        found = anonymous_levels(table.data, k, share)
    twin = twin_of(table, k, share)
    assert list(found.anonymous) == twin.anonymous()
    assert list(found.minimal) == twin.minimal()
    assert found.nodes == len(list(twin.nodes()))
    assert found.checked <= found.nodes  # none is counted twice


@settings(max_examples=100)
@given(leveled_tables())
def test_every_vector_loses_what_the_twin_says(table: Leveled) -> None:
    twin, rolls = twin_of(table, 1, "0"), Rolls(table.data)
    columns = zip(*table.points, strict=True)
    counts = [np.bincount(c, minlength=size(about)) for c, about in zip(columns, table.columns, strict=True)]
    for node in twin.nodes():
        lost = [each.lost(h, c) for each, h, c in zip(rolls.ladders, node, counts, strict=True)]
        assert sum(lost) == twin.loss(node, range(len(table.points)))


@settings(max_examples=100)
@given(leveled_tables(least=ks(1, 3)), ks(1, 3), st.sampled_from(SHARES))
def test_what_is_published_costs_what_was_counted(table: Leveled, k: int, share: str) -> None:
    """Texts are read again, and measured as any release is."""
    data, twin = table.data, twin_of(table, k, share)
    partition = Incognito(k, max_suppression=share).group(data, (), silent)
    assert partition.levels is not None
    rows = texts_of(data, partition)
    shown = published(rows, data)
    groups = [sorted(group) for group in groups_of(partition)]
    assert sorted(shown.class_sizes.tolist()) == sorted(map(len, groups))
    assert GlobalPenalty().value(shown, data) == pytest.approx(
        float(twin.cost(partition.levels, groups, "loss"))
    )
    assert Discernibility().value(shown, data) == twin.cost(partition.levels, groups, "discernibility")
    assert AverageClass(1).value(shown, data) == pytest.approx(
        float(twin.cost(partition.levels, groups, "classes"))
    )


def texts_of(data: Microdata, partition: Partition) -> Table:
    """What the rows of those say who have one."""
    kept = Microdata(data.codes[partition.kept], data.attributes)
    regions = generalize(kept, partition.of_kept())
    said: dict[str, list[str | None]] = {}
    for j, attribute in enumerate(data.attributes):
        words = cell_texts(attribute, regions.cells[j])
        said[attribute.name] = [words[cell] for cell in regions.cell[regions.of, j]]
    return Table.of(said)


@pytest.mark.quick
def test_the_patients() -> None:
    vector = GOLDEN["incognito_patients_k2"]
    people = vector["input"]["patients(age,sex,zip)"]
    zips = sorted({code for _, _, code in people})
    table = Leveled(
        [(age - 35, "FM".index(sex), zips.index(code)) for age, sex, code in people],
        [
            ("range", [35, 36, 37, 38], False),
            ("set", 2, False),
            ("tree", [(code, code[:-1] + "_", code[:-2] + "__") for code in zips], False),
        ],
    )
    found = anonymous_levels(table.data, vector["input"]["k"])
    assert [list(node) for node in found.anonymous] == vector["expected"]["k_anonymous_nodes"]
    assert [list(node) for node in found.minimal] == vector["expected"]["minimal_nodes"]


def levels_of(column: Column) -> list[list[int]]:
    return [part.tolist() for part in ladder_of(attribute_of("a", column)).parts]


def test_levels_of_numbers_double_from_the_smallest() -> None:
    assert levels_of(("range", [3, 5, 9, 10, 17], False)) == [
        [0, 1, 2, 3, 4],
        [0, 1, 2, 2, 3],
        [0, 0, 1, 1, 2],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
    ]
    assert levels_of(("range", [7], True)) == [[0, 1], [0, 0]]
    assert levels_of(("range", [7], False)) == [[0]]
    tenths = Attribute("a", Kind.NUMERIC, Shape.RANGE, ("0", ".1", ".4", ".6"), np.array([0, 0.1, 0.4, 0.6]))
    assert [part.tolist() for part in ladder_of(tenths).parts[1:3]] == [[0, 0, 1, 2], [0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("level", "said"),
    [(0, ["Rome", "missing"]), (1, ["Italy", "missing"]), (2, ["*", "*"]), (3, ["*", "*"])],
)
def test_the_node_of_the_level_is_published_whoever_is_there(level: int, said: list[str]) -> None:
    """Rome alone would be the smallest node. `world` has all leaves, so it is everything, missing too."""
    rows = [
        ("Rome", "Italy", "world", "*"),
        ("Pisa", "Italy", "world", "*"),
        ("Bonn", "Germany", "world", "*"),
    ]
    data = Leveled([(0,), (3,)], [("tree", rows, True)]).data
    partition = Incognito(1, levels=(level,)).group(data, (), silent)
    assert texts_of(data, partition).column("a0").rows() == said


def test_everything_also_holds_values_that_nobody_has() -> None:
    data = Leveled([(0,), (1,)], [("set", 3, False)]).data
    assert texts_of(data, Incognito(1, levels=(1,)).group(data, (), silent)).column("a0").rows() == ["*", "*"]


ROOMS: dict[str, Any] = {"range": ("range", list(range(8)), False), "set": ("set", 2, False)}


def test_given_levels_are_checked_and_never_chosen() -> None:
    data = Leveled([(i, i % 2) for i in range(8)], [ROOMS["range"], ROOMS["set"]]).data
    partition = Incognito(2, levels="2,0").group(data, (), silent)  # type: ignore[arg-type]
    assert partition.levels == (2, 0)
    assert groups_of(partition) == {
        frozenset({0, 2}),
        frozenset({1, 3}),
        frozenset({4, 6}),
        frozenset({5, 7}),
    }
    with pytest.raises(Infeasible, match=r"at these levels .*\(max_suppression = 0: 0 of 8"):
        Incognito(3, levels=(2, 0)).group(data, (), silent)
    with pytest.raises(PolicyError, match=r"levels has 1 numbers, one for each of 2 quasi-identifiers"):
        Incognito(2, levels=(2,)).group(data, (), silent)
    with pytest.raises(PolicyError, match="a1 has the levels 0 to 1, not 2"):
        Incognito(2, levels=(2, 2)).group(data, (), silent)


def test_records_of_small_classes_are_left_out_within_the_limit() -> None:
    """Nine of ten are in two classes; with a tenth left out nothing is generalised."""
    data = Leveled([(0,)] * 5 + [(1,)] * 4 + [(7,)], [ROOMS["range"]]).data
    partition = Incognito(4, max_suppression="0.1").group(data, (), silent)
    assert (partition.levels, partition.labels.tolist()) == ((0,), [0] * 5 + [1] * 4 + [-1])
    assert Incognito(4, max_suppression="0.099").group(data, (), silent).levels == (3,)


def test_the_release_is_judged_and_names_its_levels() -> None:
    table = Table.of({"age": [str(20 + i % 8) for i in range(24)], "ill": [str(i % 12) for i in range(24)]})
    policy = Policy(quasi_identifiers={"age": {"type": "numeric"}}, sensitive=["ill"], privacy={"k": 6})
    release = publish(table, policy, method="incognito", options={"levels": [1]})
    assert set(release.table.column("age").rows()) == {"[20,21]", "[22,23]", "[24,25]", "[26,27]"}
    assert release.manifest["method"]["options"] == {"levels": [1]}


def test_a_release_that_leaves_records_out_is_judged(tmp_path: Path) -> None:
    """The one from abroad has no row; the node at the level is said, though one city of two has people."""
    (tmp_path / "town.csv").write_text("Rome;Italy;*\nPisa;Italy;*\nBonn;Germany;*\n")
    towns, ages = ["Rome"] * 9 + ["Bonn"], ["30", "31", "30", "31", "30", "31", "30", "31", "31", "40"]
    table = Table.of({"town": towns, "age": ages, "ill": [str(i) for i in range(10)]})
    quasi = {"town": {"hierarchy": str(tmp_path / "town.csv")}, "age": {"type": "numeric"}}
    asked = {"k": 4, "max_suppression": "0.1"}
    policy = Policy(quasi_identifiers=quasi, sensitive=["ill"], privacy=asked)
    release = publish(table, policy, method="incognito", options={"levels": [1, 1]})
    assert release.verdict.passed
    assert release.table.column("town").rows() == ["Italy"] * 9
    assert set(release.table.column("age").rows()) == {"[30,31]"}


def test_too_many_vectors_and_bad_options_are_refused() -> None:
    columns = [("set", 2, False)] * 20
    data = Leveled([(0,) * 20, (1,) * 20], columns).data
    with pytest.raises(PolicyError, match="1048576 ways to choose a level for each of 20 columns"):
        Incognito(2).group(data, (), silent)
    assert len(Incognito(2, levels=(1,) * 20).group(data, (), silent)) == 1
    with pytest.raises(Infeasible, match="n=2 < k=3"):
        Incognito(3).group(data, (), silent)
    for name, limit in Incognito.limits.items():
        for bad in limit.bad_values():
            with pytest.raises(PolicyError, match=f"{name} must be"):
                Incognito(**{"k": 2, name: bad})  # type: ignore[arg-type]


def test_frequency_sets_of_many_rows_are_those_of_numpy() -> None:
    """Many distinct rows, so that places in the hash table collide."""
    codes = np.random.default_rng(7).integers(0, 60, (6000, 3), dtype=np.int32)
    data = Leveled([], [("range", list(range(60)), False)] * 3).data
    rolls = Rolls(Microdata(codes, data.attributes))
    for node in ((0, 0, 0), (2, 0, 1), (6, 6, 6)):
        made, _ = rolls.rolled(rolls.distinct, (0, 1, 2), node)
        rows, counts = np.unique(codes >> np.array(node), axis=0, return_counts=True)
        order = np.lexsort(made.rows.T[::-1])
        assert (made.rows[order] == rows).all()
        assert (made.weights[order] == counts).all()
