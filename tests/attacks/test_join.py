"""Attacks on releases with a public table: twins, vectors, controls that break, real people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from support.tables_of_codes import CodeTable, code_tables, ks, paths_of
from twins import attacks_join as naive

from incrowd.algorithms.kja import Direct
from incrowd.algorithms.kja_printed import kept_of
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.attacks.beliefs import SensitiveValues
from incrowd.attacks.definetti import BucketValues, commonest, in_group
from incrowd.attacks.joined import JoinTarget, equijoin, listed_in_rows, reidentified
from incrowd.attacks.presence import (
    alone_at_border,
    alone_in_outline,
    base_rate,
    fakes,
    likelier_half,
    membership,
    presence,
    published_shares,
    trimming,
)
from incrowd.attacks.registry import Outcome, Rate
from incrowd.attacks.target import Target
from incrowd.errors import TableError
from incrowd.flow import Microdata, Partition, Table
from incrowd.generalize import generalize
from incrowd.join import join
from incrowd.long_work import silent
from incrowd.measures import published as read_published
from incrowd.measures import published_from_regions
from incrowd.schema import Column, Kind, Role, Schema

VECTORS = vectors("kja", "synthesis")


def people_of(points: Sequence[tuple[int, ...]], axes: list[Any], own: int) -> Microdata:
    data = CodeTable(list(points), axes).data
    return Microdata(data.codes, data.attributes, own=np.arange(len(points)) < own)


def scene_of(
    data: Microdata, labels: list[int] | Any, k: int, groups: Any = None, listed: Any = None
) -> JoinTarget:
    """A release with one row for everybody in a group, in their order."""
    labels = np.asarray(labels)
    kept = np.flatnonzero(labels >= 0)
    rest = Microdata(data.codes[kept], data.attributes)
    partition = Partition(np.unique(labels[kept], return_inverse=True)[1].reshape(-1).astype(np.int32))
    shown = published_from_regions(generalize(rest, partition), data.attributes)
    truth = np.full(len(data), -1, np.int64)
    assert data.own is not None
    mine = data.own[kept]
    truth[kept[mine]] = np.flatnonzero(mine)
    everybody = np.ones(len(data), np.bool_) if listed is None else np.asarray(listed)
    target = Target(shown, data, truth, k)
    if groups is None:
        return JoinTarget(target, everybody)
    group = np.asarray(groups, np.int32)[kept]
    return JoinTarget(target, everybody, group, np.bincount(group[mine], minlength=int(group.max()) + 1))


def who(flags: Any) -> set[int]:
    return set(np.flatnonzero(flags).tolist())


# ---- vectors


def fig1() -> tuple[list[str], JoinTarget]:
    """The paper's Figure 1, the private table published as it is."""
    said = VECTORS["fig1_equijoin"]["input"]
    names = [*said["MT"], *(name for name in said["PD"] if name not in said["MT"])]
    points = [tuple(v - 1 for v in (said["MT"] | said["PD"])[name]) for name in names]
    data = people_of(points, [("range", [1, 2, 3, 4, 5])] * 2, len(said["MT"]))
    labels = [i if i < len(said["MT"]) else -1 for i in range(len(names))]
    return names, scene_of(data, labels, 3, listed=[name in said["PD"] for name in names])


@pytest.mark.quick
def test_equijoin_of_figure_1() -> None:
    expected = VECTORS["fig1_equijoin"]["expected"]
    names, scene = fig1()
    assert [names[i] for i in sorted(who(reidentified(scene)))] == expected["reidentified"]
    listed = listed_in_rows(scene)[scene.target.graph.row_of]  # rows are those of A to G
    assert listed.tolist() == [len(expected["matches"][name]) for name in names[:7]]
    result = equijoin(scene)
    assert (result.attack.share, result.details["persons_found"]) == (1, 5)  # nobody looks for D
    assert result.outcome is Outcome.BROKEN


@pytest.mark.quick
def test_sensitive_groups_of_figure_6() -> None:
    vector = VECTORS["sg_disclosure"]
    said, expected = vector["input"], vector["expected"]
    value = {name: int(said["SA"][name][1]) for name in said["SA"]}
    host = {name: number for number, group in enumerate(said["AT"]) for name in group}
    groups = [host[name] for name in value]
    lines = BucketValues(np.array(groups), np.array([*value.values()]))
    own = np.array([*value.values()])
    for number, key in enumerate(("sg1", "sg2")):
        here = np.array(groups) == number
        most = commonest(np.array(groups)[here], own[here], lines)[2]
        for release in ("AT_max_confidence", "JAT_ref_max_confidence_given_V_in_MT"):
            assert most == Fraction(expected[release][key]["num"], expected[release][key]["den"])
    box = {name: number for number, group in enumerate(said["JAT"]) for name in group}
    classes = np.array([box[name] for name in value])
    alone = np.array([name == "G" for name in value])
    right, sure, _ = commonest(classes[alone], own[alone], BucketValues(classes, own))
    assert (right, sure) == (Rate(1, 1), 1)
    assert expected["direct_SI_per_group_would_give"] == {"G,G1,G2": {"v3": 1}}


@pytest.mark.quick
def test_presence_of_figure_6() -> None:
    vector = VECTORS["sg_disclosure"]
    places = {"U": [1, 2], "V": [1, 3], "Y": [4, 1], "G1": [5, 4], "G2": [5, 4]}  # assumed, as in the vectors
    points = vector["input"]["MT"] | places
    names = [*points]
    box = {name: number for number, group in enumerate(vector["input"]["JAT"]) for name in group}
    data = people_of([tuple(v - 1 for v in points[n]) for n in names], [("range", [1, 2, 3, 4, 5])] * 2, 7)
    labels = [box[name] for name in names]
    scene = scene_of(data, labels, 3, groups=[label // 2 for label in labels])
    shares = published_shares(scene)
    assert shares is not None
    for share, key in zip(shares.tolist(), ("sg1", "sg2"), strict=True):
        said = vector["expected"]["JAT_presence"][key]
        assert share == pytest.approx(said["num"] / said["den"])


def inferences() -> list[dict[str, Any]]:
    said = VECTORS["trim_minimality_attack"]["input"]
    points = [tuple(point) for point in said["region_points"]]
    stays = {world: naive.trimmed(points, world, said["k"]) for world in naive.worlds(len(points))}
    seen = {world: (naive.box(points, stay), len(stay)) for world, stay in stays.items()}
    return sorted(
        (
            {
                "published_box": [list(side) for side in box],
                "published_size": size,
                "consistent_MT_sets": many,
                "surely_in_MT": surely,
                "surely_not_in_MT": out,
            }
            for (box, size), (many, surely, out) in naive.learned(seen, len(points)).items()
        ),
        key=lambda found: found["published_box"],
    )


@pytest.mark.quick
def test_every_world_of_the_trimming_vector() -> None:
    """The twin finds what the vector says, and the attack claims what is certain in groups larger than k."""
    vector = VECTORS["trim_minimality_attack"]
    expected = sorted(vector["expected"]["inferences"], key=lambda found: found["published_box"])
    assert inferences() == expected
    points, k = [tuple(point) for point in vector["input"]["region_points"]], vector["input"]["k"]
    values = sorted({point[0] for point in points})
    known = {str(found["published_box"]): found for found in expected}
    claimed = 0
    for world in naive.worlds(len(points)):
        others = [i for i in range(len(points)) if i not in world]
        own = np.array([points[i] for i in sorted(world)])
        kept = kept_of(own, np.array([points[i] for i in others]).reshape(-1, 2), k, "exact")
        stay = {*world, *(others[i] for i in kept)}
        assert stay == naive.trimmed(points, world, k)
        order = [*sorted(world), *others]
        codes = [tuple(values.index(v) for v in points[i]) for i in order]
        data = people_of(codes, [("range", values)] * 2, len(world))
        scene = scene_of(data, [0 if i in stay else -1 for i in order], k)
        found = {order[i] for i in who(alone_at_border(scene))}
        sure = known[str([list(side) for side in naive.box(points, stay)])]["surely_in_MT"]
        assert found == (set(sure) if len(stay) > k else set())
        assert found <= world
        claimed += len(found)
    assert claimed == 2 * (4 + 8 + 4)


@pytest.mark.quick
def test_dropping_rows_of_a_ring_tells_who_is_there() -> None:
    """SPEC 13.2: rows without private people are dropped one by one, and all but one pattern name people."""
    vector = VECTORS["ring_in_kja_drop_rows"]
    neighbourhoods = vector["input"]["PS_1based"]
    shown = {
        world: tuple(r for r, crowd in enumerate(neighbourhoods, 1) if {i - 1 for i in crowd} & world)
        for world in naive.worlds(vector["input"]["n"])
    }
    found = [
        {
            "rows_published_1based": list(rows),
            "worlds": many,
            "surely_in_MT": [i + 1 for i in surely],
            "surely_out": [i + 1 for i in out],
        }
        for rows, (many, surely, out) in sorted(naive.learned(shown, vector["input"]["n"]).items())
    ]
    assert found == vector["expected"]["patterns"]


@settings(max_examples=60)
@given(code_tables(least=ks(1, 4)), ks(1, 4), st.data())
def test_groups_are_published_whole_or_not_at_all(table: CodeTable, k: int, data: st.DataObject) -> None:
    """Unlike in SPEC 13.2 and 13.3: nobody of a group is left out, so who is private cannot be seen in it."""
    people = people_of(table.points, table.axes, data.draw(st.integers(1, len(table.points))))
    labels = Direct(k).group(people, (), silent).labels
    groups = StrictMondrian(k).group(Microdata(people.codes, people.attributes), (), silent).labels
    for group in set(groups.tolist()):
        here = labels[groups == group]
        assert (here >= 0).all() or (here < 0).all()
    scene = scene_of(people, labels, k)
    assert scene.rows.min() >= k


@pytest.mark.quick
def test_rows_of_the_private_table_alone_are_no_crowd() -> None:
    """SPEC 13.3: boxes over two people each, but only the private ones have rows."""
    vector = VECTORS["mt_rows_only"]
    said, expected = vector["input"], vector["expected"]
    values = sorted({*said["MT"], *said["PD"]})
    people = [*said["MT"], *said["PD"]]
    data = people_of([(values.index(v),) for v in people], [("range", values)], len(said["MT"]))
    texts = [f"[{low},{high}]" for low, high in said["rows"]]
    truth = np.array([0, 1, -1, -1])
    only = JoinTarget(Target(read_published(Table.of({"a0": texts}), data), data, truth, 2), np.ones(4, bool))
    graph = only.target.graph
    first = graph.edge(np.repeat(graph.record_of[:1], 2), graph.row_of)
    assert np.flatnonzero(first >= 0).tolist() == expected["rows_matching_victim_0"]
    assert equijoin(only).details["largest_chance"] == expected["P_breach_MT_rows_only"]
    whole = scene_of(data, [0, 1, 0, 1], said["k"])
    right = expected["P_breach_KJA_all_rows"]
    assert equijoin(whole).details["largest_chance"] == right["num"] / right["den"]


# ---- twins


@st.composite
def scenes(draw: st.DrawFn, most: int = 25) -> tuple[CodeTable, list[int], int, list[int], JoinTarget]:
    """People, the group of each (-1: none, but own people have one), k, groups of values, and the release."""
    table = draw(code_tables(most=most))
    n = len(table.points)
    own = draw(st.integers(1, n))
    label = st.integers(0, 4)
    labels = [draw(label if i < own else st.integers(-1, 4)) for i in range(n)]
    groups = [label // 2 for label in labels]
    number = {g: i for i, g in enumerate(sorted({g for g in groups if g >= 0}))}
    groups = [number.get(g, -1) for g in groups]
    k = draw(st.integers(1, 4))
    listed = [draw(st.booleans()) if i < own else True for i in range(n)]
    data = people_of(table.points, table.axes, own)
    return table, labels, k, groups, scene_of(data, labels, k, groups, listed)


@settings(max_examples=150)
@given(scenes())
def test_attacks_agree_with_naive(made: tuple[CodeTable, list[int], int, list[int], JoinTarget]) -> None:
    table, labels, k, groups, scene = made
    points, axes = table.points, table.axes
    rows = naive.rows_over(points, labels, axes)
    said = [group for group in groups if group >= 0]
    assert who(scene.covered) == set(naive.inside(points, rows))
    assert who(reidentified(scene)) == naive.reidentified(points, rows, scene.listed.tolist())
    assert who(alone_at_border(scene)) == naive.alone_at_border(points, rows, said, axes, k)
    assert who(alone_in_outline(scene)) == naive.alone_in_outline(points, rows, said, axes)
    assert base_rate(scene) == Fraction(int(scene.own.sum()), int(scene.covered.sum()))
    own = scene.own.tolist()
    classes = list(zip(rows, said, strict=True))
    mine = [
        c
        for c, there in zip(
            classes, (o for o, label in zip(own, labels, strict=True) if label >= 0), strict=True
        )
        if there
    ]
    crowd = Counter(mine)
    assert membership(scene).attack == Rate(len(crowd), len(mine), exact=True)
    assert membership(scene).details["persons_alone"] == sum(many == 1 for many in crowd.values())


@settings(max_examples=100)
@given(scenes())
def test_the_likelier_half_agrees_with_naive(
    made: tuple[CodeTable, list[int], int, list[int], JoinTarget],
) -> None:
    table, labels, _, groups, scene = made
    rows = naive.rows_over(table.points, labels, table.axes)
    assert scene.people is not None
    said = [group for group in groups if group >= 0]
    chances = naive.chances(table.points, rows, said, scene.people.tolist())
    held = sorted(chances[i] for i in naive.inside(table.points, rows))
    least = held[len(held) // 2]
    claimed = who(likelier_half(scene).who)
    assert {i for i, chance in enumerate(chances) if chance > least + Fraction(1, 10**9)} <= claimed
    assert claimed <= {i for i, chance in enumerate(chances) if chance >= least - Fraction(1, 10**9)}
    assert 2 * len(claimed) >= len(held)


@settings(max_examples=100)
@given(st.data())
def test_crowds_without_planted_people(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 20))
    own = [True, *(data.draw(st.booleans()) for _ in range(n - 1))]
    labels = [data.draw(st.integers(0 if mine else -1, 3)) for mine in own]
    planted = [not mine and data.draw(st.booleans()) for mine in own]
    found = fakes(np.array(labels), np.array(own), np.array(planted), 3)
    expected = naive.neighbourhoods(labels, own, planted)
    assert found.left.tolist() == expected
    assert found.used == sum(p and label >= 0 for p, label in zip(planted, labels, strict=True))
    assert (found.short, found.smallest) == (sum(c < 3 for c in expected), min(expected))
    nobody_else = [not mine for mine in own]
    alone = fakes(np.array(labels), np.array(own), np.array(nobody_else), 3).left.tolist()
    assert alone == naive.neighbourhoods(labels, own, nobody_else)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_commonest_values_agree_with_naive(pairs: list[tuple[int, int]]) -> None:
    groups, values = np.array(pairs).T.astype(np.int64)
    right, sure, most = commonest(groups, values, BucketValues(groups, values))
    assert (right.won, sure, most) == naive.commonest(groups.tolist(), values.tolist())


def test_every_value_of_a_set_is_somebodys() -> None:
    """The middle one too, where the ends of a range would tell nothing."""
    points = [(1,), (0,), (2,), (0,), (2,)]
    scene = scene_of(people_of(points, [("set", 3)], 1), [0] * 5, 2, groups=[0] * 5)
    assert who(alone_in_outline(scene)) == {0}
    assert who(alone_at_border(scene)) == set()


def test_a_class_of_two_groups_may_be_two_small_ones() -> None:
    points, tree = [(0,), (2,), (1,), (2,)], ("tree", paths_of(((0, 1, 2), (3, 4, 5))))
    people = people_of(points, [tree], 2)
    assert who(alone_at_border(scene_of(people, [0, 0, 1, 1], 2, groups=[0, 0, 1, 1]))) == set()
    assert who(alone_at_border(scene_of(people, [0, 0, 1, 1], 2, groups=[0, 0, 0, 0]))) == {0}


# ---- what is certain, and what is not


@pytest.mark.parametrize("how", ["exact", "greedy"])
@settings(max_examples=80)
@given(table=code_tables(kinds=("range", "set"), least=ks(1, 4)), k=ks(1, 4), data=st.data())
def test_claims_are_certain_where_people_were_trimmed(
    how: str, table: CodeTable, k: int, data: st.DataObject
) -> None:
    """Not with nodes of trees: two groups may say the same, and a class is then no group."""
    people = people_of(table.points, table.axes, data.draw(st.integers(1, len(table.points))))
    scene = scene_of(people, Direct(k, trim=how).group(people, (), silent).labels, k)
    assert (scene.own | ~alone_at_border(scene)).all()


@settings(max_examples=80)
@given(table=code_tables(least=ks(1, 4)), k=ks(1, 4), data=st.data())
def test_the_outline_of_private_people_is_certain(table: CodeTable, k: int, data: st.DataObject) -> None:
    """Boxes over groups of the private table, and all public people inside: only private ones are needed."""
    own = data.draw(st.integers(k, len(table.points)))
    people = people_of(table.points, table.axes, own)
    first = StrictMondrian(k).group(Microdata(people.codes[:own], people.attributes), (), silent).labels
    rows = naive.rows_over(table.points[:own], first.tolist(), table.axes)
    home = first.tolist()
    for point in table.points[own:]:
        held = [label for label, row in zip(first.tolist(), rows, strict=True) if naive.holds(row, point)]
        home.append(min(held, default=-1))
    scene = scene_of(people, home, k, groups=home)
    assert (scene.own | ~alone_in_outline(scene)).all()


def grid(seed: int, n: int, own: int, k: int, how: str) -> JoinTarget:
    rng = np.random.default_rng(seed)
    points = [tuple(int(v) for v in row) for row in rng.integers(0, 200, (n, 2))]
    people = people_of(points, [("range", list(range(200)))] * 2, own)
    return scene_of(people, Direct(k, trim=how).group(people, (), silent).labels, k)


def test_trimming_is_a_control_that_breaks() -> None:
    none, exact = grid(1, 3000, 900, 5, "none"), grid(1, 3000, 900, 5, "exact")
    result = trimming(none, exact)
    assert result.works
    assert result.outcome is not Outcome.BROKEN
    assert result.attack.tried > 200
    assert result.control is not None
    assert result.control.won == result.control.tried > 50
    assert trimming(exact, exact).outcome is Outcome.BROKEN
    assert trimming(none).outcome is Outcome.INCONCLUSIVE  # without a control it proves nothing


def test_presence_is_found_where_rows_are_published_as_they_are() -> None:
    scene = grid(2, 3000, 900, 5, "none")
    result = presence(scene)
    assert result.outcome is not Outcome.BROKEN
    assert result.works
    assert result.details["certainly_absent"] == int((~scene.covered).sum())


def test_classes_whose_size_tells_who_is_there_are_broken() -> None:
    """Small classes of private people alone, and large ones with one each."""
    points = [(i // 5 if i < 200 else i // 10 + 20,) for i in range(400)]
    own = [i for i in range(400) if i < 200 or i % 10 == 0]
    order = [*own, *(i for i in range(400) if i not in own)]
    data = people_of([points[i] for i in order], [("range", list(range(60)))], len(own))
    result = presence(scene_of(data, [points[i][0] for i in order], 5))
    assert result.attack == Rate(200, 200)
    assert result.outcome is Outcome.BROKEN


def test_the_control_of_groups_shows_who_stands_alone() -> None:
    scene = grid(3, 1200, 300, 5, "none")
    values = np.arange(300) % 3
    everyone = JoinTarget(scene.target, scene.listed, np.zeros(len(scene.target.published), np.int32))
    ill = SensitiveValues("ill", values, values, 3, l=Fraction(3))
    result = in_group(everyone, ill, BucketValues(np.zeros(300, np.int64), values))
    assert result.attack == Rate(100, 300, exact=True)
    assert (result.bound, result.outcome) == (Fraction(1, 3), Outcome.HELD)
    assert result.details["persons_exposed"] == 0
    alone = int(membership(everyone).details["persons_alone"])
    assert int(result.details["persons_exposed_if_by_classes"]) >= alone > 0
    one = BucketValues(np.zeros(300, np.int64), np.zeros(300, np.int64))
    alike = in_group(everyone, replace(ill, own=np.zeros(300, np.int64)), one)
    assert alike.outcome is Outcome.BROKEN
    with pytest.raises(TableError, match="no groups"):
        in_group(scene, ill, one)


def test_what_a_scene_must_say() -> None:
    _, scene = fig1()
    target = scene.target
    with pytest.raises(TableError, match="two tables"):
        JoinTarget(target, scene.listed[:-1])
    with pytest.raises(TableError, match="every row"):
        JoinTarget(target, scene.listed, np.zeros(3, np.int32))
    strangers = np.where(np.arange(len(target.data)) == 8, 0, -1)
    with pytest.raises(TableError, match="private table"):
        JoinTarget(Target(target.published, target.data, strangers, 3), scene.listed)
    with pytest.raises(TableError, match="planted"):
        fakes(np.zeros(2, np.int32), np.array([True, False]), np.array([True, False]), 2)
    with pytest.raises(TableError, match="no group"):
        fakes(np.array([-1]), np.array([True]), np.array([False]), 2)


# ---- people who do not exist


def planted_tables() -> tuple[Table, Schema, Table, Table]:
    """One private person, four people in a second source, and three beside the first who are invented."""
    schema = Schema((Column("id", Role.IDENTIFIER), Column("age", Role.QUASI, Kind.NUMERIC)))
    private = Table.of({"id": ["p"], "age": ["30"]})
    real = {"id": ["a", "b", "c", "d"], "age": ["60", "65", "70", "75"]}
    invented = {"id": ["x", "y", "z"], "age": ["30", "30", "30"]}
    public = Table.of({name: [*real[name], *invented[name]] for name in real})
    return private, schema, public, Table.of(real)


def test_planted_people_leave_nobody_to_hide_behind() -> None:
    private, schema, public, second = planted_tables()
    for check, smallest, used in ((None, 1, 3), (second, 5, 0)):
        people = join(private, schema, public, "id", check, blind=False)
        ages = [int(age or 0) for age in people.table.column("age").rows()]
        data = people_of([(age - 30,) for age in ages], [("range", list(range(30, 76)))], 1)
        labels = Direct(4).group(data, (), silent).labels
        planted = (np.array(ages) == 30) & ~people.own
        found = fakes(labels, people.own, planted, 4)
        assert (found.smallest, found.used, found.short) == (smallest, used, int(check is None))
        assert found.rate == Rate(Fraction(1, smallest), 1, exact=True)
