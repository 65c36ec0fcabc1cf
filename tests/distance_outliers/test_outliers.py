"""Outliers and plain groups against their definitions, in fractions and from texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.golden import vectors

from incrowd.distance_outliers import CellPlaces, Matrix, Setting, Space
from incrowd.distance_outliers.corners import Closing
from incrowd.encode import encode
from incrowd.errors import PolicyError
from incrowd.flow import Cells, Microdata, Partition, Table
from incrowd.generalize import generalize
from incrowd.kernels import outliers as kernel
from incrowd.schema import Column, Kind, Role, Schema, Shape

GOLDEN = vectors("outliers")

# ---- the kernel ------------------------------------------------------------------------------------------

COORDINATE = st.sampled_from([0.0, 1.0, 2.0, 3.0, float("nan")])


@st.composite
def some_counting(draw: st.DrawFn) -> tuple[Any, Any, Any, kernel.Bound, int]:
    d = draw(st.integers(1, 3))
    point = st.lists(COORDINATE, min_size=d, max_size=d)
    points = np.array(draw(st.lists(point, min_size=1, max_size=40)))
    weights = np.array(draw(st.lists(st.integers(1, 3), min_size=len(points), max_size=len(points))))
    near = draw(st.integers(0, 9))
    far = near + draw(st.sampled_from([0, 0, 1, 4]))
    least = draw(st.integers(1, int(weights.sum()) + 1))
    bound = kernel.Bound(float(near), float(far), int(weights.sum()) - least + 1, least)
    return points, weights, np.array(draw(point)), bound, draw(st.integers(1, 9))


@settings(max_examples=300, deadline=None)
@given(some_counting())
def test_a_point_is_decided_by_what_is_near_and_far(case: tuple[Any, Any, Any, kernel.Bound, int]) -> None:
    points, weights, point, bound, leaf = case
    gap = np.array([1.0, 2.0, 5.0])[: point.size]
    lone = np.isnan(points) != np.isnan(point)
    square = np.nansum((points - point) ** 2, axis=1) + (lone * gap).sum(axis=1)
    within, outside = weights[square <= bound.near].sum(), weights[square > bound.far].sum()
    forest = kernel.build(points, weights, gap, leaf)
    room = kernel.scratch(forest)
    if within >= bound.enough:
        expected = kernel.GOOD
    else:
        expected = kernel.BAD if outside >= bound.least else kernel.UNSURE
    assert kernel.decide(forest, bound, point, room) == expected
    never = bound._replace(enough=10**9, least=10**9)
    close = np.empty(len(points), np.int32)
    *counted, written = kernel.weigh(forest, never, point, room, close)
    assert counted == [within, outside]
    doubtful = np.flatnonzero((square > bound.near) & (square <= bound.far))
    assert sorted(forest.order[close[:written]].tolist()) == doubtful.tolist()


# ---- twins: from texts, by definition --------------------------------------------------------------------

ORDER = ("low", "mid", "high", "top")
ROWS = (("a", "ab", "*"), ("b", "ab", "*"), ("c", "cd", "*"), ("d", "cd", "*"), ("?", "odd", "*"))
LEAVES = {"ab": "ab", "cd": "cd", "odd": "?"}
NUMBERS = (("1", "ends", "*"), ("9", "ends", "*"), ("4", "middle", "*"))  # depth first is not by size
KINDS = {
    "numeric": (Kind.NUMERIC, ("0", "1", "2.5", "10", "-3", "")),
    "date": (Kind.DATE, ("2024-01-01", "2024-01-05", "2024-02-01", "")),
    "ordered": (Kind.ORDERED, (*ORDER, "")),
    "tree": (Kind.CATEGORICAL, ("a", "b", "c", "d", "")),
    "odd tree": (Kind.CATEGORICAL, ("a", "c", "d", "?", "")),
    "numbers in a tree": (Kind.NUMERIC, ("1", "9", "4", "")),
    "flat": (Kind.CATEGORICAL, ("x", "y", "z", "")),
}
Point = tuple[Fraction | None, ...]


def place(kind: str, text: str, column: Sequence[str]) -> Fraction | None:
    if text == "" or (kind == "odd tree" and text == "?"):
        return None
    if kind in ("numeric", "numbers in a tree"):
        return Fraction(text)
    if kind == "date":
        return Fraction(date.fromisoformat(text).toordinal())
    if kind == "flat":
        return Fraction(sorted(set(column) - {""}).index(text))
    return Fraction(ORDER.index(text) if kind == "ordered" else "abcd".index(text))


def ends(places: Sequence[Fraction | None]) -> list[Fraction | None]:
    known = sorted(x for x in places if x is not None)
    return [*sorted({*known[:1], *known[-1:]}), *([None] if None in places else [])]


def cell(kind: str, texts: Sequence[str], column: Sequence[str]) -> set[str]:
    """All texts of the original, and of a tree all leaves, that the smallest cell over a group holds."""
    held = {"" if kind == "odd tree" and text == "?" else text for text in texts}
    if kind in ("numeric", "date"):
        known = [place(kind, text, column) for text in texts if text]
        if known:
            held |= {t for t in column if t and min(known) <= place(kind, t, column) <= max(known)}  # type: ignore
    if "tree" in kind:
        rows = NUMBERS if kind == "numbers in a tree" else ROWS[: 5 if kind == "odd tree" else 4]
        real = [("?" if text == "" and kind == "odd tree" else text) for text in held]
        beside = {""} & set(real)  # missing that is no leaf
        leaves = [text for text in real if text]
        for level in range(3):
            above = {row[level] for row in rows if row[0] in leaves}
            if len(above) <= 1:
                break
        found = {row[0] for row in rows if row[level] in above}
        if level == 2:
            gone = "" in column or (kind == "odd tree" and "?" in column)
            return (found - {"?"}) | ({""} if gone else set())
        held = {"" if text == "?" and kind == "odd tree" else text for text in found} | beside
    return held


@dataclass
class Twin:
    """A table of texts, its last column (or two) sensitive; ``taking`` are the columns of the distance."""

    kinds: tuple[str, ...]
    rows: list[tuple[str, ...]]
    sensitive: int
    setting: Setting
    taking: tuple[int, ...]

    def __post_init__(self) -> None:
        self.columns = list(zip(*self.rows, strict=True))
        self.points: list[Point] = [
            tuple(place(self.kinds[j], row[j], self.columns[j]) for j in self.taking) for row in self.rows
        ]
        self.split = sum(j < len(self.kinds) - self.sensitive for j in self.taking)
        self.weights = [Fraction(self.setting.weight(f"c{j}")) for j in self.taking]
        self.least = self.setting.p0 * len(self.rows)
        self.rest = self._rest()
        whole = self.rest if self.setting.rescale == "yes" else range(len(self.rows))
        self.spans = self._spans(list(whole))

    def _spans(self, among: Sequence[int]) -> list[Fraction]:
        spans = []
        for j in range(len(self.taking)):
            known = [x for i in among if (x := self.points[i][j]) is not None]
            spans.append((max(known) - min(known)) or Fraction(1) if known else Fraction(1))
        return spans

    def _square(self, one: Point, other: Point, spans: Sequence[Fraction], first: int) -> Fraction:
        total = Fraction(0)
        for j in range(first, len(self.taking)):
            a, b = one[j], other[j]
            differ = Fraction((a is None) != (b is None)) if a is None or b is None else abs(a - b) / spans[j]
            total += self.weights[j] * differ**2
        return total

    def far(self, point: Point) -> int:
        square = self.setting.d0**2
        return sum(self._square(point, self.points[i], self.spans, 0) > square for i in self.rest)

    def bad(self, point: Point) -> bool:
        return self.far(point) >= self.least

    def _rest(self) -> list[int]:
        everybody = list(range(len(self.rows)))
        rest, square = everybody, Fraction(self.setting.d) ** 2
        while self.setting.removal != "none":
            spans = self._spans(rest if self.setting.rescale == "yes" else everybody)
            near = [
                i
                for i in rest
                if sum(self._square(self.points[i], self.points[j], spans, self.split) > square for j in rest)
                < Fraction(self.setting.p) * len(self.rows)
            ]
            settled = near == rest or self.setting.removal == "once"
            rest = near
            if settled:
                break
        return rest

    def look(self, group: Sequence[int]) -> tuple[int, tuple[set[Point], set[Point]] | None, Any]:
        """Different values, all-bad rows and columns by corners, and by people inside."""
        values = {self.points[i][self.split :] for i in group}
        quasi = range(len(self.kinds) - self.sensitive)
        cells = [cell(self.kinds[j], [self.rows[i][j] for i in group], self.columns[j]) for j in quasi]
        nodes = [
            ends([place(self.kinds[j], text, self.columns[j]) for text in cells[j]])
            for j in self.taking[: self.split]
        ]
        inside = {self.points[i][: self.split] for i in self.rest if self._inside(i, cells)}
        form = self.setting.form
        corner = None if form == "candidate" else self._lines(set(product(*nodes)), values)
        return len(values), corner, None if form == "corner" else self._lines(inside, values)

    def _inside(self, i: int, cells: Sequence[set[str]]) -> bool:
        def held(j: int) -> bool:
            text = self.rows[i][j]
            return ("" if self.kinds[j] == "odd tree" and text == "?" else text) in cells[j]

        return all(held(j) for j in range(len(cells)))

    def _lines(self, columns: set[Point], values: set[Point]) -> tuple[set[Point], set[Point]]:
        bad = {(c, s) for c in columns for s in values if self.bad((*c, *s))}
        return (
            {s for s in values if all((c, s) in bad for c in columns)},
            {c for c in columns if all((c, s) in bad for s in values)},
        )


def schema_of(kinds: Sequence[str], sensitive: int) -> Schema:
    columns = []
    for j, kind in enumerate(kinds):
        levels = NUMBERS if kind == "numbers in a tree" else ROWS[: 5 if kind == "odd tree" else 4]
        shape = Shape.RANGE if kind in ("numeric", "date") else Shape.TREE if "tree" in kind else Shape.SET
        columns.append(
            Column(
                f"c{j}",
                Role.SENSITIVE if j >= len(kinds) - sensitive else Role.QUASI,
                KINDS[kind][0],
                shape=shape,
                levels=levels if "tree" in kind else (),
                order=ORDER if kind == "ordered" else (),
            )
        )
    return Schema(tuple(columns), frozenset({"", "?"}) if "odd tree" in kinds else frozenset({""}))


@st.composite
def twins(draw: st.DrawFn) -> Twin:
    sensitive = draw(st.integers(1, 2))
    kinds = tuple(draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=sensitive + 1, max_size=4)))
    row = st.tuples(*(st.sampled_from(KINDS[kind][1]) for kind in kinds))
    rows = draw(st.lists(row, min_size=2, max_size=10))
    quasi = len(kinds) - sensitive
    taking = draw(st.sets(st.integers(0, len(kinds) - 1), min_size=1)) | {draw(st.integers(quasi, quasi))}
    weights = {f"c{j}": draw(st.sampled_from(["1", "2", "0.25"])) for j in sorted(taking)}
    setting = Setting(
        p=draw(st.sampled_from(["0.3", "0.5", "0.6", "0.75", "1"])),
        d=draw(st.sampled_from(["0.25", "0.5", "0.8", "1", "1.25"])),
        distinct=2,
        margin=draw(st.sampled_from(["0", "0.05"])),
        form=draw(st.sampled_from(["corner", "candidate", "both"])),
        removal=draw(st.sampled_from(["once", "repeat", "none"])),
        rescale=draw(st.sampled_from(["yes", "no"])),
        columns=weights,
    )
    return Twin(kinds, rows, sensitive, setting, tuple(sorted(taking)))


def space_of(twin: Twin) -> Space:
    names = [f"c{j}" for j in range(len(twin.kinds))]
    table = Table.of(dict(zip(names, map(list, twin.columns), strict=True)))
    return Space.of(encode(table, schema_of(twin.kinds, twin.sensitive)), twin.setting)


def far_counts(space: Space, rows: NDArray[np.int64]) -> list[int]:
    """From each of these records, how many of the rest lie further than the radius."""
    return [space.cloud.far(point, space.radius) for point in space.points(rows)]


def cell_of(closing: Closing, cells: Cells) -> CellPlaces:
    """The one published cell of a column."""
    if cells.sets is not None:
        return closing._set(tuple(cells.sets.of(0).tolist()))
    if cells.node is not None and cells.node[0] >= 0:
        return closing._node(int(cells.node[0]), bool(cells.missing[0]))
    return closing._range(int(cells.low[0]), int(cells.high[0]), bool(cells.missing[0]))


@settings(max_examples=150, deadline=None)
@given(twins())
def test_outliers_are_those_of_the_definition(twin: Twin) -> None:
    space = space_of(twin)
    assert np.flatnonzero(~space.removed).tolist() == twin.rest == space.rest.tolist()
    assert space.outliers().tolist() == [
        i in twin.rest and twin.bad(point) for i, point in enumerate(twin.points)
    ]
    assert far_counts(space, np.arange(len(twin.rows))) == [twin.far(point) for point in twin.points]


def places(twin: Twin, lines: Sequence[Sequence[str]], first: int) -> set[Point]:
    """Texts of the report as places; those of a missing leaf are missing."""
    return {
        tuple(
            place(twin.kinds[j], text, twin.columns[j])
            for j, text in zip(twin.taking[first:], line, strict=False)
        )
        for line in lines
    }


@settings(max_examples=250, deadline=None)
@given(twins(), st.data())
def test_groups_are_plain_by_definition(twin: Twin, data: st.DataObject) -> None:
    matrix = Matrix(space_of(twin))
    group = sorted(data.draw(st.sets(st.integers(0, len(twin.rows) - 1), min_size=1)))
    rows = np.array(group, np.int32)
    distinct, *lines = twin.look(group)
    found = matrix.look(rows)
    assert found.distinct == distinct
    for told, expected in zip((found.corner, found.candidate), lines, strict=True):
        assert (told is None) == (expected is None)
        if told is not None:
            shown = (places(twin, told.bad_rows, twin.split), places(twin, told.bad_columns, 0))
            assert shown == expected
    plain = distinct >= 2 and not any(any(line) for line in lines if line is not None)
    assert found.plain == plain
    assert matrix.plain(rows) == plain
    table = matrix.space.data
    regions = generalize(
        Microdata(table.codes[rows], table.attributes), Partition(np.zeros(rows.size, np.int32))
    )
    published = [
        cell_of(closing, cells) for closing, cells in zip(matrix._closings, regions.cells, strict=True)
    ]
    assert tuple(published) == matrix.cells(rows)


# ---- p, d and the margin ---------------------------------------------------------------------------------

# Two columns of numbers, an age and a sensitive one.
SEVEN = [(5, 20), (4, 1), (6, 2), (9, 30), (6, 4), (9, 30), (4, 0)]


def seven(p: str, d: str, margin: str) -> Matrix:
    table = Table.of({"q": [str(a) for a, _ in SEVEN], "s": [str(s) for _, s in SEVEN]})
    columns = (Column("q", Role.QUASI, Kind.NUMERIC), Column("s", Role.SENSITIVE, Kind.NUMERIC))
    setting = Setting(p=p, d=d, distinct=2, margin=margin)
    return Matrix(Space.of(encode(table, Schema(columns)), setting))


def test_what_is_plain_is_not_plain_for_every_larger_p_and_d() -> None:
    """At smaller p and d more are removed, and the rest is measured anew: nothing follows for larger ones."""
    group = np.array([1, 6], np.int32)
    smaller, larger = seven("0.55", "0.35", "0"), seven("0.6", "0.4", "0")
    assert np.flatnonzero(smaller.space.removed).tolist() == [0, 3, 5]
    assert not larger.space.removed.any()
    assert (smaller.plain(group), larger.plain(group)) == (True, False)


def test_a_margin_does_not_change_who_is_removed() -> None:
    """So that the group of the counterexample, which fails at p and d, fails with a margin, too."""
    group = np.array([1, 6], np.int32)
    with_margin = seven("0.6", "0.4", "0.05")
    assert not with_margin.space.removed.any()
    assert np.flatnonzero(with_margin.space.gone).tolist() == [0, 3, 5]
    assert not with_margin.plain(group)


@settings(max_examples=150, deadline=None)
@given(twins(), st.sampled_from(["0.02", "0.05", "0.2"]), st.data())
def test_plain_with_a_margin_is_plain_without(twin: Twin, margin: str, data: st.DataObject) -> None:
    """At the policy's own p and d, and with the same removal and scale at all larger ones."""
    matrix = Matrix(space_of(replace(twin, setting=replace(twin.setting, margin=margin))))
    exact_one = Matrix(space_of(replace(twin, setting=replace(twin.setting, margin="0"))))
    assert matrix.space.rest.tolist() == exact_one.space.rest.tolist()
    assert not (exact_one.space.gone & ~matrix.space.gone).any()
    group = np.array(sorted(data.draw(st.sets(st.integers(0, len(twin.rows) - 1), min_size=1))), np.int32)
    if matrix.plain(group):
        assert exact_one.plain(group)
        larger = data.draw(st.sampled_from(["0.3", "1"]))
        above = Fraction(str(twin.setting.p)) + Fraction(larger) * (1 - Fraction(str(twin.setting.p)))
        assert Matrix(matrix.space.at(f"{float(above):.3f}", "1.5")).plain(group)
        assert not (matrix.space.gone & ~matrix.space.removed)[group].any()


# ---- exact where floats cannot tell ----------------------------------------------------------------------


def lone_pair(far: tuple[int, int], span: int) -> Space:
    """Somebody at 0, 0 and two others, one of them at `far`, in columns of this span; one of three is far."""
    rows = [(0, 0), far, (span, 0), (0, span)]
    table = Table.of({"q": [str(a) for a, _ in rows], "s": [str(b) for _, b in rows]})
    columns = (Column("q", Role.QUASI, Kind.NUMERIC), Column("s", Role.SENSITIVE, Kind.NUMERIC))
    setting = Setting(p="0.75", d="0.5", distinct=2, margin=0, removal="none")
    return Space.of(encode(table, Schema(columns)), setting)


@pytest.mark.parametrize("scale", [1, 10**6, 10**15, 10**30])
def test_at_the_radius_is_within_it_and_one_unit_more_is_not(scale: int) -> None:
    at, beyond = (3 * scale, 4 * scale), (3 * scale, 4 * scale + 1)
    assert not lone_pair(at, 10 * scale).outliers()[0]
    assert lone_pair(beyond, 10 * scale).outliers()[0]


@pytest.mark.parametrize(("weight", "removed"), [(1, []), ("1.01", [3])])
def test_a_missing_value_is_as_far_as_its_weight_says(weight: object, removed: list[int]) -> None:
    table = Table.of({"q": ["1"] * 4, "s": ["1", "2", "3", ""]})
    columns = (Column("q", Role.QUASI, Kind.NUMERIC), Column("s", Role.SENSITIVE, Kind.NUMERIC))
    setting = Setting(p="0.75", d=1, distinct=2, margin=0, weights={"s": weight})
    space = Space.of(encode(table, Schema(columns)), setting)
    assert np.flatnonzero(space.removed).tolist() == removed


def test_what_only_a_family_names_lies_nowhere() -> None:
    table = Table.of({"q": ["c", "e", "b"], "s": ["1", "2", "3"]})
    sets = (frozenset({"a", "b", "c"}), frozenset({"d", "e"}))
    quasi = Column("q", Role.QUASI, Kind.CATEGORICAL, shape=Shape.SET, family=sets)
    data = encode(table, Schema((quasi, Column("s", Role.SENSITIVE, Kind.NUMERIC))))
    matrix = Matrix(Space.of(data, Setting(p="0.8", d="0.8", distinct=2)))
    texts = data.attributes[0].texts

    def nodes(*rows: int) -> list[str]:
        return [texts[code] for code in matrix.cells(np.array(rows))[0].nodes]

    assert [nodes(0), nodes(0, 2), nodes(1), nodes(1, 2)] == [["c"], ["b", "c"], ["e"], ["b", "e"]]


def test_other_parameters_on_the_same_trees() -> None:
    space = lone_pair((3, 4), 10)
    assert space.at("0.5", "0.9").cloud is space.cloud
    expected = [[space.at(p, d).outliers().mean() for d in ("0.5", "0.9")] for p in ("0.25", "0.5", "0.75")]
    far = [np.array(far_counts(space.at("1", d), space.rest)) for d in ("0.5", "0.9")]
    shares = [Fraction(p) * space.size for p in ("0.25", "0.5", "0.75")]
    assert [[np.mean(each >= share) for each in far] for share in shares] == expected
    assert [row[0] for row in expected] == [1.0, 1.0, 0.5]


def test_too_many_corners_are_refused() -> None:
    names = [f"q{j}" for j in range(17)]
    table = Table.of({name: ["0", "1", "1"] for name in names} | {"s": ["1", "2", "3"]})
    columns = tuple(Column(name, Role.QUASI, Kind.NUMERIC) for name in names)
    schema = Schema((*columns, Column("s", Role.SENSITIVE, Kind.NUMERIC)))
    data = encode(table, schema)
    matrix = Matrix(Space.of(data, Setting(p="0.5", d="0.5", distinct=2)))
    with pytest.raises(PolicyError, match="more than 65536 corners"):
        matrix.plain(np.arange(3))
    assert Matrix(Space.of(data, Setting(p=1, d=9, distinct=2, form="candidate"))).plain(np.arange(3))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"columns": ("age", "agee")}, "did you mean 'age'"),
        ({"columns": ("age",)}, "must be sensitive"),
        ({"columns": ("age", "pay"), "weights": {"zip": 2}}, "zip"),
        ({"weights": {"pay": 0}}, "the weight of pay must be a number above 0"),
        ({"margin": "0.8"}, "margin must be below p and d"),
        ({"distinct": 1}, "distinct must be"),
    ],
)
def test_settings_that_mean_nothing_are_refused(more: dict[str, Any], words: str) -> None:
    table = Table.of({"age": ["1", "2"], "pay": ["3", "4"]})
    columns = (Column("age", Role.QUASI, Kind.NUMERIC), Column("pay", Role.SENSITIVE, Kind.NUMERIC))
    wanted: dict[str, Any] = {"p": "0.8", "d": "0.85", "distinct": 2} | more
    with pytest.raises(PolicyError, match=words):
        Space.of(encode(table, Schema(columns)), Setting(**wanted))


# ---- worked examples -------------------------------------------------------------------------------------

FIGURE = GOLDEN["figs_plain_configA"]["input"]["rows"]
BOB, JUSTIN, BILL = 1, 2, 5


def figure(columns: Sequence[str], p: Any, d: Any, **more: Any) -> Space:
    """Figure 1; `columns` take part in the distance, the others are quasi-identifiers all the same."""
    texts = {name: [str(row[at]) for row in FIGURE] for name, at in (("age", 2), ("zip", 4), ("income", 5))}
    texts["gender"] = [{"M": "1", "F": "2"}[row[3]] for row in FIGURE]
    table = Table.of({name: texts[name] for name in ("age", "gender", "zip", "income")})
    roles = {"income": Role.SENSITIVE}
    schema = Schema(tuple(Column(name, roles.get(name, Role.QUASI), Kind.NUMERIC) for name in table.names))
    wanted: dict[str, Any] = {"distinct": 3, "margin": 0, "form": "corner", "columns": tuple(columns)} | more
    return Space.of(encode(table, schema), Setting(p=p, d=d, **wanted))


@pytest.mark.quick
def test_figures_2_and_3_in_configuration_a() -> None:
    expected = GOLDEN["figs_plain_configA"]["expected"]
    space = figure(("age", "zip", "income"), 0.65, 0.86)
    assert np.flatnonzero(space.removed).tolist() == [BILL]
    assert np.flatnonzero(space.outliers()).tolist() == [JUSTIN]
    names = [row[1] for row in FIGURE]
    counted = zip(space.rest.tolist(), far_counts(space, space.rest), strict=True)
    assert {names[i]: far for i, far in counted} == expected["far_counts"]
    matrix = Matrix(space)
    for group, told in expected["groups"].items():
        rows = np.array([i - 1 for i in json.loads(group)], np.int32)
        found = matrix.look(rows)
        assert found.corner is not None
        assert [int(s) for (s,) in found.corner.bad_rows] == told["all_bad_rows(S in K)"]
        columns = {(int(age), int(zip_)) for age, zip_ in found.corner.bad_columns}
        assert columns == {(age, zip_) for age, _, zip_ in told["all_bad_columns(QI)"]}
        assert (found.plain, found.distinct) == (told["plain"], told["distinct_S"])
        assert matrix.plain(rows) == told["plain"]


def test_configuration_b_finds_the_same_people() -> None:
    space = figure(("age", "income"), 0.75, 0.55)
    assert np.flatnonzero(space.removed).tolist() == [BILL]
    assert np.flatnonzero(space.outliers()).tolist() == [JUSTIN]
    matrix = Matrix(space)
    assert not matrix.plain(np.array([0, 1, 2]))
    assert matrix.plain(np.array([6, 7, 8]))


TAKING = {
    "all": ("age", "gender", "zip", "income"),
    "no_gender": ("age", "zip", "income"),
    "age_income": ("age", "income"),
}


@pytest.mark.quick
@pytest.mark.parametrize("which", TAKING)
def test_which_parameters_make_justin_an_outlier(which: str) -> None:
    """All that are listed do; with gender in the distance none of them does."""
    (every,) = GOLDEN["justin_bill_outliers"]["expected"].values()
    listed = every[which]
    everybody = figure(TAKING[which], 1, 9, removal="none")
    left = figure(TAKING[which], 0.8, 0.85)
    kept = figure(TAKING[which], 0.8, 0.85, rescale="no")
    lists = [pairs for each in every.values() for pairs in each.values() if isinstance(pairs, list)]
    tried = [pair for pairs in lists for pair in pairs if pair[0] > 0.001]  # smaller ones are rounded away
    for space, name, who in (
        (everybody, "full D, {Justin,Bill}", [JUSTIN, BILL]),
        (left, "Bill removed, rescaled, {Justin}", [JUSTIN]),
        (kept, "Bill removed, scale of full D kept, {Justin}", [JUSTIN]),
    ):
        # d in the vector is a representative of an open interval, rounded; p = c/9 is a hair below here.
        for d, far in tried:
            nearby = space.at(f"{far / 9 - 1e-6:.9f}", f"{d:.5f}")
            found = np.flatnonzero(nearby.outliers()).tolist() == who
            if [d, far] in listed[name]:
                assert found, (d, far)
            elif not listed[name]:
                assert not found, (d, far)


@pytest.mark.quick
def test_bill_is_an_outlier_by_income_alone() -> None:
    for p, d, expected in GOLDEN["bill_global"]["expected"]["check"]:
        assert bool(figure(("age", "income"), p, f"{d:f}").removed[BILL]) == expected


def numbers(records: dict[str, list[int]], p: Any, d: Any, form: str, distinct: int = 3) -> Matrix:
    """Two quasi-identifiers and a sensitive column of numbers, nobody removed."""
    table = Table.of({name: [str(row[j]) for row in records.values()] for j, name in enumerate("abs")})
    columns = [Column(name, Role.SENSITIVE if name == "s" else Role.QUASI, Kind.NUMERIC) for name in "abs"]
    setting = Setting(p=p, d=d, distinct=distinct, margin=0, form=form, removal="none")
    return Matrix(Space.of(encode(table, Schema(tuple(columns))), setting))


@pytest.mark.quick
def test_corners_and_people_tell_different_things() -> None:
    given_, expected = GOLDEN["corner_vs_candidates"]["input"], GOLDEN["corner_vs_candidates"]["expected"]
    for name, people_plain in (("unsafe", False), ("over_conservative", True)):
        case = given_[name]
        rows = np.array(case["group"], np.int32)
        corner, candidate, both = (
            numbers(case["D"], case["p"], case["d"], form) for form in ("corner", "candidate", "both")
        )
        assert corner.plain(rows) == expected[name]["corner_plain"]
        assert candidate.plain(rows) == people_plain
        assert not both.plain(rows)
        if name == "unsafe":
            lines = candidate.look(rows).candidate
            assert lines is not None
            assert [int(s) for (s,) in lines.bad_rows] == expected[name]["candidate_rows_all_bad"]
    groups = given_["fig_groups_configA"]
    for form, word in (("corner", "corner"), ("candidate", "candidates")):
        matrix = Matrix(figure(("age", "zip", "income"), 0.65, 0.86, form=form))
        for group, told in groups.items():
            assert matrix.plain(np.array([i - 1 for i in json.loads(group)])) == told[word]


@pytest.mark.quick
def test_two_plain_groups_may_be_no_plain_group_together() -> None:
    case, expected = GOLDEN["plain_not_union_closed"]["input"], GOLDEN["plain_not_union_closed"]["expected"]
    matrix = numbers(case["D"], case["p"], case["d"], "corner", distinct=2)
    union = np.array([*case["g1"], *case["g2"]])
    assert matrix.plain(np.array(case["g1"])) == expected["g1_plain"]
    assert matrix.plain(np.array(case["g2"])) == expected["g2_plain"]
    found = matrix.look(union)
    assert found.plain == expected["union_plain"] == matrix.plain(union)
    assert found.corner is not None
    assert found.corner.bad_rows == ()
    assert [[int(x) for x in c] for c in found.corner.bad_columns] == expected["union_bad_columns"]


def test_the_matrix_says_what_the_search_says() -> None:
    """`plain_matrix_form`: plain is no all-bad row and no all-bad column of the whole matrix."""
    rng = np.random.default_rng(5)
    records = {str(i): rng.integers(0, 6, 3).tolist() for i in range(14)}
    matrix = numbers(records, "0.6", "0.6", "corner", distinct=2)
    seen = set()
    for _ in range(60):
        rows = rng.choice(14, rng.integers(2, 6), replace=False).astype(np.int32)
        values = matrix.values(rows)
        bad = matrix.bad(matrix.corners(matrix.cells(rows)), values)
        expected = len(values) >= 2 and not bad.all(axis=1).any() and not bad.all(axis=0).any()
        assert matrix.plain(rows) == expected
        seen.add(bool(expected))
    assert seen == {True, False}
