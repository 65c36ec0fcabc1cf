"""Figures 10 to 19 on k-join-anonymity: points against slow twins, statements that can fail, the command."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from support.night import NIGHT
from twins import kja as naive_kja
from twins import kja_figures as naive
from typer.testing import CliRunner

from incrowd.algorithms.kja import Direct, own_people
from incrowd.algorithms.kja_printed import trimmed
from incrowd.cli.app import app
from incrowd.errors import TableError
from incrowd.flow import Attribute, Microdata
from incrowd.long_work import silent
from incrowd.measures.boxes import Between, RangeCount
from incrowd.measures.counting import counts
from incrowd.reproduce import papers
from incrowd.reproduce import trial as running
from incrowd.reproduce.judging import Tables, judged
from incrowd.reproduce.kja import figures as kja
from incrowd.reproduce.kja import findings as kja_findings
from incrowd.reproduce.kja import trials as kja_trials
from incrowd.reproduce.kja.figures import JoinScale
from incrowd.reproduce.kja.letter import GroupedPeople, by_the_letter
from incrowd.reproduce.kja.panels import (
    DM,
    ERROR,
    FIGURES,
    NCP,
    RANGE,
    RATIO,
    RENTERS,
    TIME,
    JoinFound,
    Panel,
)
from incrowd.reproduce.kja.trials import (
    BASES,
    COLUMNS,
    DIR,
    GRID,
    MONDRIAN,
    PRINTED,
    REF,
    RENTERS_TABLE,
    TOPDOWN,
    UNI,
    UNTRIMMED,
    Grouping,
    JoinPoint,
    JoinSample,
    JoinSetting,
    PeopleSource,
    SmallestFirst,
    perimeters,
    queries_for,
    renters,
    trial,
    trials,
    uniform,
    variants,
    ways,
)
from incrowd.reproduce.rules import Verdict
from incrowd.schema import Kind, Shape

QUERIES = 10  # of each size


@pytest.fixture(autouse=True)
def no_real_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INCROWD_DATA", raising=False)
    monkeypatch.setattr(running, "MOST_DRAWS", 10)
    monkeypatch.setattr(kja_trials, "QUERIES", QUERIES)


def write_renters(folder: Path, n: int = 1900) -> None:
    """A table of the same shape as the real one."""
    dice = Random(4)
    (folder / RENTERS_TABLE.path).parent.mkdir(parents=True)
    with gzip.open(folder / RENTERS_TABLE.path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS[:3], "state", *COLUMNS[3:]])
        for _ in range(n):
            row = [dice.randrange(18, 80), round(dice.gauss(30, 30)) * 1000, dice.randrange(1, 6), "X"]
            writer.writerow([*row, dice.randrange(22), dice.randrange(40) * 100, dice.randrange(1, 3)])


def places(data: Microdata) -> list[tuple[float, ...]]:
    columns = [attribute.position[data.codes[:, j]] for j, attribute in enumerate(data.attributes)]
    return [tuple(row) for row in np.column_stack(columns).tolist()]


# Points


def few_values(rows: Sequence[Sequence[int]]) -> PeopleSource:
    """People with numbers below 6, of which some lie far apart."""
    places = np.array([-7.0, 0.0, 1.0, 2.0, 5.0, 40.0])
    domains = tuple(
        Attribute(f"a{j}", Kind.NUMERIC, Shape.RANGE, tuple(f"{x:.0f}" for x in places), places)
        for j in range(len(rows[0]))
    )
    return PeopleSource("TEST", domains, np.array(rows, np.int32))


ROWS = st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=32, max_size=32)


@settings(max_examples=25 if NIGHT else 8)
@given(ROWS, st.integers(1, 4), st.integers(2, 6), st.integers(1, 3), st.sampled_from([*BASES]))
def test_points_are_what_slow_twins_say(
    rows: list[tuple[int, ...]], ratio: int, k: int, d: int, base: str
) -> None:
    seed = 5
    data = few_values(rows).joined(JoinSample(8, ratio, seed), d)
    asked = queries_for(data, (90,), seed)
    boxes = [
        [(side.lower, side.upper) for side in query.sides.values() if isinstance(side, Between)]
        for query in asked[90]
    ]
    hides = ways(base, k) | variants(k)
    found = trial(data, hides, asked, k)
    assert set(found) == {*hides} | {name + UNTRIMMED for name in hides if name not in BASES}
    for name, grouping in hides.items():
        people = grouping(data)
        own, points = own_people(people.data).tolist(), places(people.data)
        labels = people.partition.labels.copy()
        if name not in BASES:
            plain = found[name + UNTRIMMED]
            assert plain.ncp == pytest.approx(naive.ncp(points, own, labels.tolist(), [47] * d))
            labels[trimmed(people.data, own_people(people.data), labels, k, "greedy")] = -1
            assert plain.ncp >= found[name].ncp - 1e-12
        point, there = found[name], labels.tolist()
        assert point.ncp == pytest.approx(naive.ncp(points, own, there, [47] * d))
        assert point.dm == pytest.approx(naive.dm(own, there))
        assert point.rows == sum(label >= 0 for label in there)
        if people.partition.buckets is None or not boxes:
            assert point.errors == {}
        else:
            buckets = np.where(labels >= 0, people.partition.buckets, -1).tolist()
            assert point.errors == {90: pytest.approx(naive.error(points, own, there, buckets, boxes))}


def as_they_come(size: int) -> bytes:
    return np.arange(size // 8, dtype=np.uint64).tobytes()


@settings(max_examples=25)
@given(ROWS, st.integers(2, 4), st.sampled_from([MONDRIAN, TOPDOWN, kja_trials.RELAXED]), st.booleans())
def test_the_letter_agrees_with_naive(rows: list[tuple[int, ...]], k: int, base: str, at_once: bool) -> None:
    data = few_values(rows).joined(JoinSample(8, 4, 3), 3)

    def groups(people: list[int]) -> list[list[int]]:
        part = Microdata(np.ascontiguousarray(data.codes[people]), data.attributes)
        labels = BASES[base](k).group(part, (), silent).labels.tolist()
        return [[people[x] for x in members] for _, members in sorted(naive.members(labels).items())]

    found = by_the_letter(data, BASES[base](k), k, as_they_come, at_once)
    assert found.who is not None
    mine: dict[int, tuple[int, list[int]]] = {}
    buckets = found.partition.buckets
    for at, (person, label) in enumerate(
        zip(found.who.tolist(), found.partition.labels.tolist(), strict=True)
    ):
        if label >= 0:
            mine.setdefault(label, (0 if buckets is None else int(buckets[at]), []))[1].append(person)
    expected = naive_kja.by_the_letter(data.codes.tolist(), own_people(data).tolist(), groups, k, at_once)
    assert sorted((home, sorted(people)) for home, people in mine.values()) == sorted(
        (home if buckets is not None else 0, people) for home, people in expected
    )
    rows_of_people = [person for _, people in expected for person in people]
    again = found.again(found.partition.labels)
    assert again == len(rows_of_people) - len(set(rows_of_people))
    assert again == 0 or not (at_once or base == MONDRIAN)  # only boxes that overlap take somebody twice


def test_the_twins_know_the_example_of_the_paper() -> None:
    """Figure 2 of the paper: perimeters of 8 and 10, 62 over seven people; DM is 25."""
    points = [(1, 1), (2, 2), (1, 4), (2, 3), (3, 1), (3, 2), (5, 4)]
    own, labels = [True] * 7, [0, 0, 0, 0, 1, 1, 1]
    assert naive.ncp(points, own, labels, [1, 1]) * 7 == 62
    assert naive.dm(own, labels) * 7 == 25
    apart = [*own, False], [*labels, -1]
    assert naive.ncp([*points, (9, 9)], *apart, [1, 1]) * 7 == 62


@settings(max_examples=25)
@given(ROWS, st.integers(2, 4), st.sampled_from([*BASES]))
def test_refinement_is_the_printed_one_nobody_gets_a_larger_box(
    rows: list[tuple[int, ...]], k: int, base: str
) -> None:
    data = few_values(rows).joined(JoinSample(8, 4, 3), 3)
    hides = ways(base, k)
    boxes = []
    for name in (base, base + REF):
        people = hides[name](data)
        labels, own = people.partition.labels, own_people(people.data)
        who = np.arange(len(data)) if people.who is None else people.who
        width = perimeters(people.data, labels)[labels[own]]
        boxes.append(width[np.argsort(who[own])])
    assert (boxes[1] <= boxes[0] + 1e-12).all()


@pytest.mark.parametrize("base", [kja_trials.RELAXED, TOPDOWN])
def test_people_who_come_first_are_not_put_together(base: str) -> None:
    data = few_values([(2, 2, 2)] * 40).joined(JoinSample(10, 4, 1), 3)  # all are equal: order decides

    def as_they_stand(each: Microdata) -> GroupedPeople:
        return GroupedPeople(each, Direct(5).grouped(each, BASES[base](5), (), silent, as_they_come))

    assert trial(data, {"as they come": as_they_stand}, {}, 5)["as they come"].dm == pytest.approx(5)
    found = trial(data, ways(base, 5), {}, 5)
    assert found[base + DIR].dm < 4
    assert found[base + REF].dm < 4


def test_groups_numbered_by_perimeter_are_the_same_groups() -> None:
    data = uniform().joined(JoinSample(300, 1, 2), 3)
    plain = BASES[TOPDOWN](5).group(data, (), silent).labels
    numbered = SmallestFirst(BASES[TOPDOWN](5)).group(data, (), silent).labels
    pairs = set(zip(plain.tolist(), numbered.tolist(), strict=True))
    assert len(pairs) == numbered.max() + 1 == plain.max() + 1
    assert (np.diff(perimeters(data, numbered)) >= 0).all()


def test_boxes_that_nobody_is_in_are_drawn_again() -> None:
    data = uniform().joined(JoinSample(20, 5, 3), 2)
    for share, boxes in queries_for(data, (1, 50), 7).items():
        assert len(boxes) == QUERIES
        assert counts(data, boxes).min() > 0
        wide = share / 100 * (GRID - 1) ** 2
        for box in boxes:
            sides = [side.upper - side.lower for side in box.sides.values() if isinstance(side, Between)]
            assert np.prod(sides) == pytest.approx(wide)
    again = queries_for(data, (1,), 7)[1]
    assert [_sides(box) for box in again] == [_sides(box) for box in queries_for(data, (1,), 7)[1]]
    assert [_sides(box) for box in again] != [_sides(box) for box in queries_for(data, (1,), 8)[1]]


def _sides(box: RangeCount) -> list[object]:
    return [*box.sides.values()]


def test_trials_have_every_sample_and_progress_is_told() -> None:
    setting, told = JoinSetting(3, 4, 2), list[float]()
    samples = [JoinSample(40, 1, seed) for seed in (1, 2)]

    def tell(done: float) -> None:
        told.append(done)

    def lines(at: JoinSetting) -> dict[str, Grouping]:
        return ways(MONDRIAN, at.k) | ways(TOPDOWN, at.k)

    both = trials(uniform(), {setting: (10,)}, samples, lines, tell)[setting]
    assert told == [0.5, 1.0]
    each = [trials(uniform(), {setting: (10,)}, [one], lines, silent)[setting] for one in samples]
    for name in (MONDRIAN, TOPDOWN + DIR, TOPDOWN + REF + UNTRIMMED):
        assert [replace(point, seconds=0) for point in both[name]] == [
            replace(one[name][0], seconds=0) for one in each
        ]
    assert each[0][MONDRIAN][0].ncp != each[1][MONDRIAN][0].ncp


def test_some_columns_are_counted_and_not_measured(tmp_path: Path) -> None:
    write_renters(tmp_path)
    data = renters(tmp_path).joined(JoinSample(600, 1, 1), 4)
    sides = [query.sides["family_size"] for query in queries_for(data, (10,), 1)[10]]
    ends = {end for side in sides if isinstance(side, Between) for end in (side.lower, side.upper)}
    assert ends <= {1.0, 2.0, 3.0, 4.0, 5.0}
    assert not any(
        isinstance(q.sides["age"], Between) and q.sides["age"].lower == int(q.sides["age"].lower)
        for q in queries_for(data, (10,), 1)[10]
    )


# Tables


def test_the_private_table_is_the_same_at_all_ratios(tmp_path: Path) -> None:
    write_renters(tmp_path)
    for source in (renters(tmp_path), uniform()):
        found = []
        for ratio in (1, 3):
            data = source.joined(JoinSample(600, ratio, 1), 4)
            own = own_people(data)
            assert (len(data), own.sum(), len(data.attributes)) == (600 * ratio, 600, 4)
            found.append(sorted(map(tuple, data.codes[own].tolist())))
            assert own[:600].all()  # as the methods want it
        assert found[0] == found[1]
        other = source.joined(JoinSample(600, 1, 2), 4)
        assert sorted(map(tuple, other.codes.tolist())) != found[0]


def test_without_others_all_ways_are_one() -> None:
    data = uniform().joined(JoinSample(100, 1, 1), 3)
    for base in BASES:
        points = trial(data, ways(base, 4), {}, 4)
        for point in points.values():  # sums of floats in another order
            assert (point.ncp, point.dm) == pytest.approx((points[base].ncp, points[base].dm))


def test_renters_are_numbers_in_their_order(tmp_path: Path) -> None:
    write_renters(tmp_path)
    people = renters(tmp_path)
    assert people.codes is not None
    assert [attribute.name for attribute in people.attributes] == [*COLUMNS]
    income = people.attributes[1]
    assert income.position[0] < 0
    assert (np.diff(income.position) > 0).all()
    assert people.most(600) == 3
    with gzip.open(tmp_path / RENTERS_TABLE.path, "rt", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    codes = people.codes[0]
    said = [a.position[code] for a, code in zip(people.attributes, codes, strict=True)]
    assert said == [float(first[name]) for name in COLUMNS]
    with pytest.raises(TableError, match="renters has 1,900 rows; 2,400 are needed"):
        people.joined(JoinSample(600, 4, 1), 2)


def test_real_renters_gain_from_others(real_data: Path) -> None:
    if RENTERS_TABLE.missing_from(real_data):
        pytest.skip("no renters among the real tables: what they gain is not looked at")
    people = renters(real_data)
    assert people.codes is not None
    assert (len(people.codes), people.most(kja.PEOPLE)) == (431_581, 100)
    points = trial(people.joined(JoinSample(10_000, 5, 1), 4), ways(MONDRIAN, 50), {}, 50)
    assert points[MONDRIAN + DIR].ncp < points[MONDRIAN + REF].ncp < points[MONDRIAN].ncp
    assert points[MONDRIAN + DIR].dm < points[MONDRIAN].dm / 3


def test_uniform_values_are_evenly_spread() -> None:
    codes = uniform().drawn(20_000, 1)
    assert (codes.min(), codes.max()) == (0, GRID - 1)
    assert np.bincount(codes[:, 5] // (GRID // 10)).min() > 1800
    assert uniform().drawn(30, 1).tolist() == uniform().drawn(20_000, 1)[:30].tolist()


# Statements


def forged() -> dict[str, Panel]:
    """Figures as the paper describes them, five samples that differ a little."""
    values = {RATIO: (1, 5, 10, 100), "k": (5, 50, 500), "d": (2, 4, 6), RANGE: (2, 10, 50)}
    found = {}
    for number, (source, base, shows) in FIGURES.items():
        overs = (RATIO, "k", RANGE if shows == ERROR else "d")
        for letter, over in zip("abc", overs, strict=True):
            lines = _forged_lines(base, shows, over)
            if shows == ERROR:
                del lines[base + DIR]
            if source == UNI:
                near = 1.05 if base == MONDRIAN else 1.1
                lines[base + REF] = tuple(near * x for x in lines[base + DIR])
            name = f"{number}{letter}"
            found[name] = Panel(
                name, over, {line: _sampled(over, values[over], at) for line, at in lines.items()}
            )
    return found


def _sampled(over: str, values: Sequence[int], line: Sequence[float]) -> dict[str, list[float]]:
    noise = (0.999, 1.0, 1.001, 1.0005, 0.9995)
    return {f"{over}={value}": [x * each for each in noise] for value, x in zip(values, line, strict=True)}


def _forged_lines(base: str, shows: str, over: str) -> dict[str, tuple[float, ...]]:
    if shows == TIME:
        plain, joined = {
            RATIO: ((1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 3.0, 9.0)),
            "k": ((3.0, 2.0, 1.0), (30.0, 29.0, 28.0)),
            "d": ((1.0, 1.1, 1.2), (20.0, 20.0, 20.0)),
        }[over]
        slower = 2.0 if base == MONDRIAN else 1.05
        return {base: plain, base + DIR: joined, base + REF: tuple(slower * x for x in joined)}
    plain, gains = {
        RATIO: ((10.0,) * 4, (1.0, 1.5, 2.0, 3.0)),
        "k": ((10.0, 20.0, 60.0), (2.0, 2.2, 2.4) if shows == ERROR else (2.0, 2.2, 2.0)),
        "d": ((10.0, 11.0, 12.0), (2.5, 2.5, 2.5)),
        RANGE: ((12.0, 11.0, 10.0), (2.5, 2.5, 2.5)),
    }[over]
    if base == TOPDOWN:
        plain = tuple(0.5 * x for x in plain)
        if shows == DM and over == "d":
            plain = (5.0, 9.0, 6.0)
    better = tuple(x / gain for x, gain in zip(plain, gains, strict=True))
    worse = tuple(x if gain == 1 else 1.2 * x for x, gain in zip(better, gains, strict=True))
    if shows == ERROR:
        worse = better
    by_direct = base == MONDRIAN and shows != ERROR
    return {
        base: plain,
        base + DIR: better if by_direct else worse,
        base + REF: worse if by_direct else better,
    }


def found_of(panels: Mapping[str, Panel], again: int = 0, refined: float = 1.0) -> JoinFound:
    points = {
        PRINTED + DIR: [JoinPoint(2.0, 5.0, 1.0)] * 5,
        PRINTED + REF: [JoinPoint(refined, refined, 1.0)] * 5,
    }
    return JoinFound(panels, {TOPDOWN + REF: [JoinPoint(1.0, 1.0, 1.0, 10, again)]}, {5: points})


NUMBERS = ("gain.", "error.")  # of the paper's own table: forged figures do not have them


def verdicts(found: JoinFound) -> dict[str, Verdict]:
    stated = judged("kja", kja_findings.CLAIMS, found, Tables())
    return {each.id.removeprefix("kja."): each.verdict for each in stated}


def test_the_paper_as_it_describes_itself_holds() -> None:
    found = verdicts(found_of(forged()))
    others = {id: verdict for id, verdict in found.items() if not id.startswith(NUMBERS)}
    assert {id for id, verdict in others.items() if verdict is not Verdict.HELD} == set()
    assert (len(others), len(found)) == (66, 92)


Spoil = tuple[str, str, int, float, str]  # panel, line, place, how many times as much, what fails
SPOILT: Sequence[Spoil] = [
    ("10b", MONDRIAN + DIR, 1, 4.0, "10.below"),
    ("11c", MONDRIAN + REF, 0, 4.0, "11.below"),
    ("10c", MONDRIAN + DIR, 2, 1.7, "10.better"),
    ("11a", MONDRIAN + REF, 1, 0.5, "11.better"),
    ("12a", TOPDOWN + REF, 3, 1.7, "12.better"),
    ("13b", TOPDOWN + DIR, 0, 0.5, "13.better"),
    ("10a", MONDRIAN + REF, 2, 2.0, "10a.gain"),
    ("10a", MONDRIAN, 2, 1.3, "10a.constant"),
    ("10b", MONDRIAN, 1, 9.0, "10b.grows"),
    ("12c", TOPDOWN + REF, 2, 0.5, "12c.grows"),
    ("11c", MONDRIAN + DIR, 0, 0.3, "11c.steady"),
    ("11b", MONDRIAN + DIR, 2, 2.0, "11b.six"),
    ("13c", TOPDOWN, 1, 0.6, "13c.fluctuates"),
    ("14a", MONDRIAN + REF, 1, 2.0, "14.below"),
    ("14a", MONDRIAN + REF, 3, 3.0, "14a.gain"),
    ("14b", MONDRIAN + REF, 0, 5.0, "14b.grows"),
    ("14b", MONDRIAN + REF, 0, 0.5, "14b.gain"),
    ("14c", MONDRIAN, 0, 0.1, "14c.falls"),
    ("14c", MONDRIAN + REF, 1, 0.5, "14c.gain"),
    ("15b", TOPDOWN + REF, 1, 0.5, "15b.gain"),
    ("15c", TOPDOWN + REF, 1, 2.0, "15c.gain"),
    ("15c", TOPDOWN, 0, 0.1, "15c.falls"),
    ("15a", TOPDOWN, 3, 3.0, "15a.accurate"),
    ("16c", MONDRIAN + REF, 1, 1.2, "16.same"),
    ("16b", MONDRIAN + DIR, 1, 3.0, "16.below"),
    ("17a", TOPDOWN + REF, 3, 1.9, "17a.margin"),
    ("18a", MONDRIAN + DIR, 3, 0.1, "18a.slower"),
    ("18a", MONDRIAN, 1, 3.0, "18a.constant"),
    ("18a", MONDRIAN + REF, 3, 2.0, "18a.twice"),
    ("18b", MONDRIAN + REF, 2, 9.0, "18b.falls"),
    ("18c", MONDRIAN, 2, 3.0, "18c.steady"),
    ("19a", TOPDOWN + REF, 2, 3.0, "19a.same"),
    ("19a", TOPDOWN + REF, 3, 0.1, "19a.slower"),
    ("19a", TOPDOWN, 1, 3.0, "19a.constant"),
    ("19b", TOPDOWN, 2, 9.0, "19b.falls"),
    ("19b", TOPDOWN + DIR, 1, 3.0, "19b.steady"),
    ("19c", TOPDOWN, 2, 0.1, "19c.grows"),
    ("19c", TOPDOWN + REF, 2, 0.1, "19c.steady"),
    ("19c", TOPDOWN + REF, 2, 100.0, "18.minutes"),
]


@pytest.mark.parametrize(("name", "line", "place", "times", "id"), SPOILT, ids=[each[-1] for each in SPOILT])
def test_other_numbers_break_a_statement(name: str, line: str, place: int, times: float, id: str) -> None:
    panels = forged()
    points = dict(panels[name].lines[line])
    at = list(points)[place]
    points[at] = [x * times for x in points[at]]
    panels[name] = replace(panels[name], lines={**panels[name].lines, line: points})
    assert verdicts(found_of(panels))[id] is Verdict.NOT_HELD


def test_the_letter_publishes_people_twice_and_that_is_false_as_printed() -> None:
    assert verdicts(found_of(forged(), again=3))["4.one_to_one"] is Verdict.FALSE
    found = verdicts(found_of(forged(), refined=9.0))
    assert (found["printed.ncp"], found["printed.dm"]) == (Verdict.NOT_HELD, Verdict.NOT_HELD)


def test_one_sample_decides_nothing() -> None:
    panels = {
        name: replace(
            panel, lines={n: {at: x[:1] for at, x in line.items()} for n, line in panel.lines.items()}
        )
        for name, panel in forged().items()
    }
    decided = {id for id, verdict in verdicts(found_of(panels)).items() if verdict is not Verdict.UNDECIDED}
    assert decided == {"4.one_to_one", "printed.ncp", "printed.dm"}


def test_of_a_table_that_is_not_there_nothing_is_decided() -> None:
    panels = {name: panel for name, panel in forged().items() if panel.data == UNI}
    found = judged("kja", kja_findings.CLAIMS, JoinFound(panels, {}, {}), Tables({}, {RENTERS: "no renters"}))
    by_data = {each.data: each.verdict for each in found}
    assert by_data == {RENTERS: Verdict.UNDECIDED, UNI: Verdict.HELD}
    assert {each.reason for each in found if each.data == RENTERS} == {"no renters"}


@pytest.mark.quick
def test_gains_are_held_beside_the_printed_ones_of_the_golden_file() -> None:
    targets = vectors("kja")
    for line, gains in targets["ratio_targets"]["expected"].items():
        assert kja_findings.GAINS[NCP, line, 50] == gains["ncp_gain"]
        assert kja_findings.GAINS[DM, line, 50] == gains["dm_gain"]
    errors = [(each["conventional"], each["REF"]) for each in targets["ARE_targets"]["input"].values()]
    assert sorted(errors) == sorted(kja_findings.ERRORS.values())
    for (base, k), (plain, refined) in kja_findings.ERRORS.items():
        assert kja_findings.GAINS[ERROR, base + REF, k] == pytest.approx(plain / refined, abs=0.02)


# The command


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(kja, "PEOPLE", 600)  # 120 of them in a quick run
    write_renters(tmp_path / "data")
    return tmp_path / "data"


def test_the_command_prints_and_writes(tiny: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["reproduce", "kja", "--quick", "--data", str(tiny), "-o", str(out)])
    assert result.exit_code == 0, result.output
    for words in ("MondrianDIR, NCP", "14.35", "held", "left out by --quick", "Wrote"):
        assert words in result.output
    pictures = {f"figure{number}{part}.svg" for number in range(10, 20) for part in "abc"}
    assert {path.name for path in out.iterdir()} == {"kja.json", "kja.md", *pictures}
    found = json.loads((out / "kja.json").read_text(encoding="utf-8"))
    assert [each["figure"] for each in found["figures"]] == [
        f"{n}{part}" for n in range(10, 20) for part in "abc"
    ]
    for each in found["figures"]:
        assert len(each["lines"]) == len(each["bands"]) == (2 if each["shows"] == ERROR else 3)
        assert {len(line) for line in each["lines"].values()} == {len(each["values"])}
    assert found["ratio"] == {RENTERS: 10, UNI: 10}
    stated = {each["id"]: each for each in found["statements"]}
    assert len(stated) == len(kja_findings.CLAIMS)
    assert stated["kja.12.below"]["verdict"] == "held"
    assert stated["kja.4.one_to_one"]["verdict"] == "false as printed"
    default = next(each["lines"] for each in found["figures"] if each["figure"] == "10a")
    (gain,) = stated["kja.gain.NCP.MondrianDIR.k50"]["ours"]["points"]
    assert gain["mean"] == pytest.approx(default[MONDRIAN][-1] / default[MONDRIAN + DIR][-1], rel=0.05)


def test_without_the_real_table_uni_alone_is_run(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kja, "SAMPLES", 1)
    monkeypatch.setattr(kja_trials, "compile_all", lambda: None)
    (tiny / RENTERS_TABLE.path).unlink()
    for folder, why in ((tiny, "is not in the folder of real tables"), (None, "no folder of real tables")):
        found = papers.reproduce("kja", quick=True, data=folder)
        assert {each["data"] for each in found.facts["figures"]} == {UNI}
        assert why in found.skipped[0]
        assert found.markdown()


def test_scales_are_those_of_the_paper(tmp_path: Path) -> None:
    uni = kja.scale_of(uniform(), quick=False)
    assert (uni.people, uni.seeds, uni.printed) == (4_300, (1, 2, 3, 4, 5), (2_000, (5, 10)))
    assert uni.values == {RATIO: (1, 5, 10, 50, 100), "k": kja.KS, "d": kja.DS, RANGE: kja.RANGES}
    assert uni.default == JoinSetting(100, 50, 4)
    asked = uni.settings(counting=True)
    assert len(asked) == 5 + 2 + 2
    assert asked[uni.default] == (2, 5, 10, 20, 50)
    assert asked[JoinSetting(100, 5, 4)] == asked[JoinSetting(1, 50, 4)] == (10,)
    assert asked[JoinSetting(100, 50, 6)] == ()
    assert set(uni.settings(counting=False).values()) == {()}
    write_renters(tmp_path, 12_000)
    real = kja.scale_of(renters(tmp_path), quick=False)
    assert (real.values[RATIO], len(real.seeds)) == ((1, 2), 5)  # no more people than there are
    assert isinstance(real, JoinScale)
