"""Counting people in boxes from published rows, how far off that is, and what a crowd from outside tells."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measures.test_definitions import Case, built, meanings, tables, texts
from support.golden import golden
from support.measure_tables import box, close, flat, microdata, ranged, release, treed
from twins import counting as naive

import incrowd
from incrowd.encode import encode
from incrowd.errors import IncrowdError, PolicyError, TableError
from incrowd.flow import Attribute, Microdata, Table, distinct_rows
from incrowd.measures import (
    Among,
    Between,
    Published,
    RangeCount,
    average_relative_error,
    covered_by,
    estimates,
    exact_estimate,
    measure_own,
    presence,
    published,
    random_boxes,
    weights_of,
)
from incrowd.measures.boxes import How
from incrowd.measures.counting import RelativeError, counts
from incrowd.schema import Kind, Shape

# ---- the papers' examples --------------------------------------------------------------------------------


def estimate(table: Published, weights: Any, query: RangeCount, how: Any = "continuous") -> float:
    return float(estimates(table, weights, [query], how)[0])


def fraction(value: Any) -> Fraction:
    return Fraction(value["num"], value["den"]) if isinstance(value, dict) else Fraction(value)


def joined(people_: dict[str, list[int]], own: set[str]) -> Microdata:
    """A joined table over whole numbers, in the order given."""
    columns = zip(*people_.values(), strict=True)
    attributes = [
        ranged(name, range(min(c), max(c) + 1)) for name, c in zip("xy", map(list, columns), strict=True)
    ]
    data = microdata(attributes, list(people_.values()))
    return Microdata(data.codes, data.attributes, own=np.array([name in own for name in people_]))


def hidden(data: Microdata, people_: dict[str, list[int]], groups: Sequence[Sequence[str]]) -> Published:
    """The rows of all groups, one after the other: the box around each."""
    rows = []
    for group in groups:
        sides = zip(*(people_[name] for name in group), strict=True)
        rows += [[box(min(side), max(side)) for side in map(list, sides)]] * len(group)
    return release(data, rows)


def asked(sides: Sequence[Sequence[int]]) -> RangeCount:
    return RangeCount({name: Between(side[0], side[1]) for name, side in zip("xy", sides, strict=True)})


@pytest.mark.quick
@pytest.mark.parametrize("how", ["continuous", "discrete"])
@pytest.mark.parametrize("row", range(5))
def test_range_counts_of_the_join_paper(row: int, how: How) -> None:
    given_, expected = golden("kja", "range_count")
    query, wanted = asked(given_["queries"][row]), expected["rows"][row]
    assert given_["queries"][row] == wanted["R"]
    data = joined(given_["JT"], set(given_["MT"]))
    groups = np.repeat(given_["host_sg"], [len(group) for group in given_["JAT"]])
    weights = weights_of("kja-refine", groups, np.array(given_["sg_sizes"]), exact=True)
    for name, table, behind in [
        ("AT", hidden(data, given_["MT"], given_["AT"]), None),
        ("JAT_REF", hidden(data, given_["JT"], given_["JAT"]), weights),
    ]:
        answer = exact_estimate(table, behind, query, how)
        assert answer == fraction(wanted[f"{name}_{how}"])
        assert estimate(table, behind, query, how) == close(answer)
        error = average_relative_error(table, behind, data, [query], how)
        assert error.actual.tolist() == [wanted["actual"]]
        assert error.mean == close(fraction(wanted[f"{name}_{how}_relerr"]))


@pytest.mark.quick
def test_modified_measures_of_figures_2_and_5() -> None:
    given_, expected = golden("kja", "fig5_kja_assumed")
    everyone = {**given_["MT"], **given_["PD"]}
    data = joined(everyone, set(given_["MT"]))
    assert len(data) == expected["JT_size"]
    table = hidden(data, everyone, given_["groups"])
    own = np.array([name in given_["MT"] for group in given_["groups"] for name in group])
    assert len(table) == expected["proper_subset_size"]
    found = measure_own(table, own, data, given_["k"])
    assert (found["ncp_perimeter"], found["dm"]) == (expected["modified_ncp"], expected["modified_dm"])
    assert (found["ncp_perimeter"], found["dm"]) == (24, 13)
    inside = covered_by(table, data)
    assert [name for name, i in zip(everyone, inside, strict=True) if not i] == expected["unused"]

    given_, expected = golden("kja", "fig2_ncp")
    alone = joined(given_["MT"], set(given_["MT"]))
    table = hidden(alone, given_["MT"], given_["groups"])
    found = measure_own(table, np.ones(7, dtype=np.bool_), alone, given_["k"])
    assert (found["ncp_perimeter"], found["dm"]) == (expected["ncp_perimeter"], expected["DM"]) == (62, 25)


@pytest.mark.quick
def test_presence_of_the_join_paper() -> None:
    given_, expected = golden("kja", "sg_disclosure")
    hosts = golden("kja", "range_count")[0]["host_sg"]
    names = [name for group in given_["JAT"] for name in group]
    labels = np.repeat(hosts, [len(group) for group in given_["JAT"]])
    own = np.array([name in given_["MT"] for name in names])
    found = presence(labels, own)
    wanted = [fraction(expected["JAT_presence"][f"sg{i}"]) for i in (1, 2)]
    assert found.shares.tolist() == [close(share) for share in wanted]
    assert found.interval == (min(wanted), max(wanted))
    with_x = presence(np.append(labels, -1), np.append(own, False))
    assert (with_x.absent, with_x.outsiders) == (1, 6)
    assert with_x.interval == (Fraction(0), max(wanted))


# ---- against the twins -----------------------------------------------------------------------------------


@st.composite
def sides(draw: st.DrawFn, case: Case) -> tuple[Between | Among | None, dict[str, Any] | None]:
    """A side of a box, for incrowd and for the twin."""
    _, column, _ = case
    which = draw(st.sampled_from(["between", "among", "anything"]))
    if which == "anything":
        return None, None
    if which == "between" and column["ranged"]:
        ends = sorted(draw(st.tuples(st.integers(-25, 25), st.integers(-25, 25))))
        missing = draw(st.booleans())
        return Between(ends[0], ends[1], missing), {"ends": ends, "missing": missing}
    flags = draw(st.lists(st.booleans(), min_size=len(column["values"]), max_size=len(column["values"])))
    wanted = {value for value, flag in zip(column["values"], flags, strict=True) if flag}
    return Among(np.array(flags)), {"values": wanted}


def query_of(pairs: Sequence[tuple[Between | Among | None, Any]]) -> RangeCount:
    return RangeCount({str(j): side for j, (side, _) in enumerate(pairs) if side is not None})


@given(tables(), st.data())
@settings(max_examples=120)
def test_estimates_and_counts_agree_with_the_twin(cases: list[Case], drawn: st.DataObject) -> None:
    data, rows, _ = built(cases)
    table = release(data, texts(rows))
    columns, records = (
        [c for _, c, _ in cases],
        list(zip(*(c["original"] for _, c, _ in cases), strict=True)),
    )
    pairs = [[drawn.draw(sides(case)) for case in cases] for _ in range(2)]
    ways = [drawn.draw(st.booleans()) for _ in cases]
    how: dict[str, How] = {str(j): "continuous" if way else "discrete" for j, way in enumerate(ways)}
    n = len(data)
    weights = drawn.draw(st.lists(st.fractions(0, 3, max_denominator=7), min_size=n, max_size=n))
    queries, plain = [query_of(pair) for pair in pairs], [[side for _, side in pair] for pair in pairs]
    wanted = [naive.estimate(columns, meanings(rows), weights, side, ways) for side in plain]
    exact = np.array([*weights, None], dtype=object)[:-1]
    assert [exact_estimate(table, exact, query, how) for query in queries] == wanted
    assert estimates(table, exact, queries, how).tolist() == [close(w) for w in wanted]
    actual = [naive.actual(records, side) for side in plain]
    assert counts(data, queries).tolist() == actual
    for floor in (0, 2):
        found = average_relative_error(table, exact, data, queries, how, floor)
        mean = naive.average_error(actual, wanted, floor)
        assert found.mean == (mean if mean is None else close(mean))
        assert found.empty == actual.count(0)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=30))
def test_weights_agree_with_the_twin(rows: list[tuple[int, bool]]) -> None:
    dense = sorted({group for group, _ in rows})
    groups = [dense.index(group) for group, _ in rows]
    people_ = [sum(own for group, own in rows if group == g) for g in dense]
    found = weights_of("kja-refine", np.array(groups), np.array(people_), exact=True)
    assert found is not None
    assert found.tolist() == naive.refined_weights(groups, people_)
    floats = weights_of("kja-refine", np.array(groups), np.array(people_))
    assert floats is not None
    assert floats.sum() == close(sum(people_))


@given(st.lists(st.tuples(st.integers(-1, 3), st.booleans()), min_size=1, max_size=30))
def test_presence_agrees_with_the_twin(rows: list[tuple[int, bool]]) -> None:
    dense = [-1, *sorted({group for group, _ in rows} - {-1})]
    labels = [dense.index(group) - 1 for group, _ in rows]
    own = [flag and label >= 0 for label, (_, flag) in zip(labels, rows, strict=True)]
    found, wanted = presence(np.array(labels), np.array(own)), naive.presence(labels, own)
    shares = wanted.pop("shares")
    assert found.shares.tolist() == [close(share) for share in shares]
    assert found.certain.tolist() == wanted.pop("certain")
    assert {name: getattr(found, name) for name in wanted} == wanted
    if shares:
        assert found.interval == (Fraction(0) if wanted["absent"] else min(shares), max(shares))
    else:
        assert found.interval is None


def test_nobody_inside_a_row_is_called_absent() -> None:
    labels, own = np.array([0, 0, -1, -1]), np.array([True, True, False, False])
    inside = np.array([True, True, True, False])
    assert presence(labels, own).absent == 2
    found = presence(labels, own, inside)
    assert (found.absent, found.outsiders, found.interval) == (1, 2, (Fraction(0), Fraction(1)))
    assert presence(labels, own, np.ones(4, dtype=np.bool_)).interval == (Fraction(1), Fraction(1))


@given(tables(), st.data())
@settings(max_examples=50)
def test_who_is_covered_agrees_with_the_twin(cases: list[Case], drawn: st.DataObject) -> None:
    data, rows, _ = built(cases)
    rows = rows[: drawn.draw(st.integers(0, 3))]
    found = covered_by(release(data, texts(rows)), data)
    records = zip(*(column["original"] for _, column, _ in cases), strict=True)
    assert found.tolist() == [naive.covered(record, meanings(rows)) for record in records]


def test_many_rows_and_people_are_looked_at_in_blocks(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_module("incrowd.measures.presence"), "_PAIRS_AT_ONCE", 50)
    attributes = [ranged("x", range(40)), ranged("y", range(40))]
    data = microdata(attributes, rng.integers(0, 40, (400, 2)).tolist())
    corners = [(x, y, min(x + w, 39), min(y + w, 39)) for x, y, w in rng.integers(0, 34, (60, 3)).tolist()]
    boxes = [(x, y, min(xx, x + 5), min(yy, y + 5)) for x, y, xx, yy in corners]
    table = release(data, [[box(x, xx), box(y, yy)] for x, y, xx, yy in boxes])
    wanted = [any(x <= a <= xx and y <= b <= yy for x, y, xx, yy in boxes) for a, b in data.codes.tolist()]
    assert 0 < sum(wanted) < 400
    assert covered_by(table, data).tolist() == wanted


# ---- what must hold --------------------------------------------------------------------------------------


@given(tables(), st.sampled_from(["continuous", "discrete"]))
@settings(max_examples=50)
def test_a_box_over_everything_counts_everybody(cases: list[Case], how: How) -> None:
    data, rows, _ = built(cases)
    table = release(data, texts(rows))
    everything = RangeCount(
        {
            a.name: Between(-99, 99, True) if a.shape is Shape.RANGE else Among(np.ones(len(a), dtype=bool))
            for a in data.attributes
        }
    )
    assert exact_estimate(table, None, everything, how) == len(data) == counts(data, [everything])[0]
    assert exact_estimate(table, None, RangeCount({}), how) == estimate(table, None, RangeCount({}), how)


@given(tables(), st.data())
@settings(max_examples=50)
def test_a_side_and_its_opposite_make_the_whole(cases: list[Case], drawn: st.DataObject) -> None:
    data, rows, _ = built(cases)
    table = release(data, texts(rows))
    first, flags = data.attributes[0], drawn.draw(st.integers(0, 2 ** len(data.attributes[0]) - 1))
    half = np.array([bool(flags >> code & 1) for code in range(len(first))])
    parts = [RangeCount({first.name: Among(side)}) for side in (half, ~half)]
    assert sum(exact_estimate(table, None, part) for part in parts) == len(table)


def test_gaps_between_named_values_hold_nobody() -> None:
    data = microdata([ranged("age", [20, 30, 40, 90])], [[20], [90]])
    table = release(data, [["{20|90}"], ["[20,90]"]])
    middle = RangeCount({"age": Between(25, 60)})
    assert exact_estimate(table, None, middle) == Fraction(35, 70)
    assert exact_estimate(table, None, middle, "discrete") == Fraction(2, 4)


def test_missing_beside_a_range_is_one_of_its_values() -> None:
    data = microdata([ranged("age", [20, 30, 40], missing=True)], [[20], [30], [""]])
    table = release(data, [["{missing|[20,40]}"], ["{missing|30}"], ["missing"]])
    answers = {side: exact_estimate(table, None, RangeCount({"age": side})) for side in AGES}
    assert list(answers.values()) == [
        Fraction(3, 4) * Fraction(1, 2) + Fraction(1, 2),
        Fraction(3, 4) * Fraction(1, 2) + Fraction(1, 4) + 1 + 1,
        Fraction(1, 4) + Fraction(1, 2) + 1,
    ]


AGES = [Between(20, 30), Between(20, 30, missing=True), Between(50, 60, missing=True)]


def test_labels_count_by_their_leaves_and_sets_by_their_values() -> None:
    tree = [("p", "A", "*"), ("q", "A", "*"), ("r", "A", "*"), ("s", "B", "*")]
    data = microdata([treed("t", tree), flat("f", "xyz")], [["p", "x"], ["s", "y"]])
    table = release(data, [["A", "{x|y}"], ["*", "z"]])
    query = RangeCount(
        {"t": Among(np.array([True, False, False, True])), "f": Among(np.array([1, 0, 1], bool))}
    )
    assert exact_estimate(table, None, query) == Fraction(1, 3) * Fraction(1, 2) + Fraction(1, 2)


def test_values_with_an_order_and_no_distance_are_counted() -> None:
    size = Attribute("size", Kind.ORDERED, Shape.RANGE, ("s", "m", "l", "xl"), np.arange(4.0))
    table = release(microdata([size], [["s"], ["xl"]]), [["[s,l]"], ["[s,l]"]])
    assert exact_estimate(table, None, RangeCount({"size": Between(0, 1)})) == Fraction(4, 3)


def test_columns_too_many_for_one_number_are_told_apart(rng: np.random.Generator) -> None:
    columns = [rng.integers(0, 3, 200, dtype=np.int32) for _ in range(5)]
    first, which = distinct_rows(columns, [2**31 - 1] * 5, 200)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert [rows[first[w]] for w in which] == rows
    assert len(first) == len(set(rows))
    assert [rows[i] for i in first] == sorted(set(rows))


def test_errors_where_nobody_is() -> None:
    found = RelativeError(np.array([0, 10]), np.array([3.0, 5.0]))
    assert (found.mean, found.empty, found.errors.tolist()) == (0.5, 1, [0.5])
    assert RelativeError(np.array([0, 10]), np.array([3.0, 5.0]), floor=2).errors.tolist() == [1.5, 0.5]
    assert RelativeError(np.array([0]), np.array([3.0])).mean is None


def error_of(method: str, k: int) -> float:
    """The average relative error of a release of invented people."""
    dice = random.Random(11)
    rows = [
        (int(99 * dice.random() ** 3), int(50 * dice.random() ** 2), dice.choice("abc")) for _ in range(600)
    ]
    columns = dict(
        zip(("x", "y", "ill"), zip(*((str(x), str(y), v) for x, y, v in rows), strict=True), strict=True)
    )
    table = Table.of(columns)
    policy = incrowd.Policy(
        quasi_identifiers=["x", "y"],
        sensitive=["ill"],
        privacy={"k": k, **({"l": 2} if method == "anatomy" else {})},
        accept=["exact-rows", "correlated-values"] if method == "anatomy" else [],
    )
    data = encode(table, policy.schema(table))
    shown = published(incrowd.publish(table, policy, method=method).table, data)
    boxes = random_boxes(data, 0.1, 60, random.Random(4).random)
    found = average_relative_error(shown, weights_of("anatomy"), data, boxes)
    assert found.mean is not None
    return found.mean


def test_releases_answer_the_better_the_less_they_lost() -> None:
    for method in ("mondrian", "ring"):
        assert 0 < error_of(method, 5) < error_of(method, 100) / 2
    assert error_of("anatomy", 5) == 0


# ---- boxes at random -------------------------------------------------------------------------------------


def two_columns() -> Microdata:
    attributes = [ranged("x", [10, 11, 15, 30], missing=True), flat("f", "abcdefgh", missing=3)]
    return Microdata(np.zeros((1, 2), np.int32), tuple(attributes))


def test_a_random_box_has_its_share_of_the_volume() -> None:
    for query in random_boxes(two_columns(), 0.25, 50, random.Random(5).random):
        x, f = query.sides["x"], query.sides["f"]
        assert isinstance(x, Between)
        assert isinstance(f, Among)
        assert x.lower >= 10
        assert x.upper <= 30
        assert x.upper - x.lower == close(0.5 * 20)
        assert not x.missing
        (codes,) = np.nonzero(f.allowed)
        assert codes.tolist() == list(range(codes[0], codes[0] + 4))


@pytest.mark.parametrize(
    ("place", "x", "f"), [(0.0, (10, 11), [0, 1, 2, 3]), (0.999999, (15, 30), [4, 5, 6, 7])]
)
def test_random_boxes_reach_both_ends(place: float, x: tuple[int, int], f: list[int]) -> None:
    (query,) = random_boxes(two_columns(), 0.25, 1, lambda: place, {"x": "discrete"})
    side, letters = query.sides["x"], query.sides["f"]
    assert side == Between(*x)
    assert isinstance(letters, Among)
    assert np.flatnonzero(letters.allowed).tolist() == f
    (whole,) = random_boxes(two_columns(), 1.0, 1, lambda: place)
    assert whole.sides["x"] == Between(10, 30)


@given(st.integers(1, 30), st.floats(0.001, 1), st.integers(0, 9))
def test_sides_of_whole_values_agree_with_the_twin(size: int, share: float, seed: int) -> None:
    data = Microdata(np.zeros((1, 1), np.int32), (flat("f", [str(i) for i in range(size)]),))
    (query,) = random_boxes(data, share, 1, random.Random(seed).random)
    side = query.sides["f"]
    assert isinstance(side, Among)
    first, last = naive.whole_side(size, share, random.Random(seed).random)
    assert np.flatnonzero(side.allowed).tolist() == list(range(first, last + 1))


def test_columns_with_one_value_take_no_share_of_the_volume() -> None:
    attributes = [
        ranged("x", range(101)),
        ranged("one", [4]),
        flat("only", "a"),
        ranged("none", [], missing=True),
    ]
    data = Microdata(np.zeros((1, 4), np.int32), tuple(attributes))
    for query in random_boxes(data, 0.1, 5, random.Random(1).random):
        x = query.sides["x"]
        assert isinstance(x, Between)
        assert x.upper - x.lower == close(10)
        assert query.sides["one"] == Between(4, 4)
        assert all(query.sides[name].allowed.tolist() == [True] for name in ("only", "none"))  # type: ignore[union-attr]


def test_places_of_random_boxes_are_even() -> None:
    data = Microdata(np.zeros((1, 1), np.int32), (flat("f", "abcde"),))
    boxes = random_boxes(data, 0.4, 4000, random.Random(3).random)
    starts = np.bincount([int(np.flatnonzero(query.sides["f"].allowed)[0]) for query in boxes])  # type: ignore[union-attr]
    assert starts.size == 4
    assert abs(starts - 1000).max() < 120  # over four standard deviations


# ---- what is refused -------------------------------------------------------------------------------------

DATA = microdata([ranged("age", [20, 30]), flat("sex", "FM")], [[20, "F"], [30, "M"]])
TABLE = release(DATA, [["[20,30]", "F"], ["[20,30]", "M"]])
YES = np.ones(2, dtype=np.bool_)
WRONG: dict[str, tuple[Callable[[], object], type[IncrowdError], str]] = {
    "direct": (lambda: weights_of("kja-direct"), TableError, "does not say how many people"),
    "unknown kind": (lambda: weights_of("anatomi"), PolicyError, "did you mean 'anatomy'"),
    "no groups": (lambda: weights_of("kja-refine"), TableError, "needs the group of each row"),
    "strange group": (
        lambda: weights_of("kja-refine", np.array([0, 1]), np.array([1])),
        TableError,
        "a group that the table of sensitive values does not have",
    ),
    "more people than rows": (
        lambda: weights_of("kja-refine", np.array([0, 0, 1]), np.array([1, 2])),
        TableError,
        "more people than published rows",
    ),
    "people without rows": (
        lambda: weights_of("kja-refine", np.array([0, 0]), np.array([1, 1])),
        TableError,
        "more people than published rows",
    ),
    "few weights": (lambda: estimate(TABLE, np.ones(1), RangeCount({})), TableError, "one weight for each"),
    "negative weights": (
        lambda: exact_estimate(TABLE, np.array([1.0, -1.0]), RangeCount({})),
        TableError,
        "none below 0",
    ),
    "weights that are none": (
        lambda: estimate(TABLE, np.array([1.0, np.nan]), RangeCount({})),
        TableError,
        "none below 0",
    ),
    "unknown column": (
        lambda: estimate(TABLE, None, RangeCount({"agee": Between(1, 2)})),
        PolicyError,
        "not a quasi-identifier: agee",
    ),
    "unknown column counted": (
        lambda: counts(DATA, [RangeCount({"agee": Between(1, 2)})]),
        PolicyError,
        "not a quasi-identifier: agee",
    ),
    "unknown way": (
        lambda: estimate(TABLE, None, RangeCount({}), "both"),
        PolicyError,
        "continuous or as discrete",
    ),
    "way of an unknown column": (
        lambda: estimate(TABLE, None, RangeCount({}), {"agee": "discrete"}),
        PolicyError,
        "did you mean 'age'",
    ),
    "between categories": (
        lambda: estimate(TABLE, None, RangeCount({"sex": Between(0, 1)})),
        PolicyError,
        "the values of sex lie on no line",
    ),
    "flags of another column": (
        lambda: estimate(TABLE, None, RangeCount({"age": Among(np.ones(3, dtype=np.bool_))})),
        PolicyError,
        "yes or no to each of its values",
    ),
    "ends the wrong way round": (lambda: Between(2, 1), PolicyError, "lower end of a box"),
    "ends that are none": (lambda: Between(float("nan"), 1), PolicyError, "lower end of a box"),
    "another original": (
        lambda: average_relative_error(TABLE, None, two_columns(), []),
        TableError,
        "another original",
    ),
    "floor below 0": (
        lambda: average_relative_error(TABLE, None, DATA, [], floor=-1),
        PolicyError,
        "at least 0, got -1",
    ),
    "no volume": (lambda: random_boxes(DATA, 0.0, 1, lambda: 0.5), PolicyError, "above 0"),
    "too much volume": (lambda: random_boxes(DATA, 10, 1, lambda: 0.5), PolicyError, "at most 1"),
    "own people without a row": (
        lambda: presence(np.array([0, -1]), YES),
        TableError,
        "1 people of the private table have no published row",
    ),
    "groups with gaps": (lambda: presence(np.array([0, 2]), YES), TableError, "without gaps"),
    "people of another table": (lambda: presence(np.array([0]), YES), TableError, "group of each person"),
    "covered people of another table": (
        lambda: presence(np.array([0, 0]), YES, YES[:1]),
        TableError,
        "group of each person",
    ),
    "covered by another release": (
        lambda: covered_by(TABLE, two_columns()),
        TableError,
        "another original",
    ),
    "rows of whom": (lambda: measure_own(TABLE, YES[:1], DATA, 2), TableError, "for each published row"),
    "more rows than people": (
        lambda: measure_own(
            TABLE, YES, Microdata(DATA.codes, DATA.attributes, own=np.array([True, False])), 2
        ),
        TableError,
        "2 rows cannot be about 1 people",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    act, error, words = WRONG[case]
    with pytest.raises(error, match=words) as caught:
        act()
    assert "\n" not in str(caught.value) or "did you mean" in str(caught.value)
