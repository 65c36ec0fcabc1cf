"""The measures against their definitions said plainly, on drawn tables of every shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.measure_tables import close, flat, ranged, release, treed
from twins import definitions as naive

from incrowd.flow import Attribute, Microdata
from incrowd.measures import better, better_rows, measure_all, parse_cells, per_attribute
from incrowd.measures.loss import CertaintyPenalty, GlobalPenalty

NASTY = ["a", "a|b", "*", "missing", "{x}", "[1,2]", "\\", "b, c", "", "=1"]
TREE = [
    ("p", "A", "AA", "*"),
    ("q", "A", "AA", "*"),
    ("r", "B", "AA", "*"),  # a node with one child: it covers one value but lies one level up
    ("s", "C|", "CC", "*"),
    ("t", "C|", "CC", "*"),
]


def escaped(text: str) -> str:
    return "\\missing" if text == "missing" else "".join("\\" * (c in "\\|{}[]*") + c for c in text)


Cell = tuple[str, dict[str, Any]]
Case = tuple[Attribute, dict[str, Any], list[list[Cell]]]


def cell(
    text: str, partitions: set[Any], ends: tuple[int, int] | None = None, level: int | None = None
) -> Cell:
    return text, {"covers": partitions, "ends": ends, "level": level}


def shown(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else "{" + "|".join(texts) + "}"


@st.composite
def range_cells(draw: st.DrawFn, values: list[int], missing: bool) -> Cell:
    beside = missing and draw(st.booleans())
    words, gap = ["missing"] * beside, draw(st.sampled_from(["", " "]))
    which = draw(st.sampled_from(["everything", "missing", "ends", "values"]))
    if which == "everything":
        return cell("*", {None, *values} if missing else set(values), (values[0], values[-1]))
    if which == "missing" and missing:
        return cell("missing", {None})
    if which == "ends":
        inner = draw(st.sampled_from(values))
        low, high = inner - draw(st.integers(0, 9)), inner + draw(st.integers(0, 9))
        inside = {value for value in values if low <= value <= high}
        text = str(low) if low == high else f"[{low},{gap}{high}]"
        return cell(shown([*words, text]), inside | ({None} if beside else set()), (low, high))
    chosen = sorted(draw(st.sets(st.sampled_from(values), min_size=1)))
    partitions = {*chosen, None} if beside else set(chosen)
    return cell(shown([*words, *map(str, chosen)]), partitions, (chosen[0], chosen[-1]))


@st.composite
def range_cases(draw: st.DrawFn, n: int) -> Case:
    values = sorted(draw(st.sets(st.integers(-20, 20), min_size=1, max_size=6)))
    missing = draw(st.booleans())
    domain = [None, *values] if missing else list(values)
    column = {"values": domain, "ranged": True, "paths": None}
    column["original"] = draw(st.lists(st.sampled_from(domain), min_size=n, max_size=n))
    one = range_cells(values, missing)
    rows = draw(st.lists(st.tuples(one, one), min_size=n, max_size=n))
    return ranged("?", values, missing), column, [list(pair) for pair in rows]


@st.composite
def set_cases(draw: st.DrawFn, n: int) -> Case:
    texts = draw(st.lists(st.sampled_from(NASTY), unique=True, min_size=1, max_size=6))
    missing = draw(st.integers(-1, len(texts) - 1))
    domain = [None if code == missing else text for code, text in enumerate(texts)]
    column = {"values": domain, "ranged": False, "paths": None}
    column["original"] = draw(st.lists(st.sampled_from(domain), min_size=n, max_size=n))

    def published_set(codes: set[int]) -> Cell:
        words = ["missing" if code == missing else escaped(texts[code]) for code in sorted(codes)]
        return cell(shown(words), {domain[code] for code in codes})

    some = st.sets(st.sampled_from(range(len(texts))), min_size=1).map(published_set)
    one = some | st.just(cell("*", set(domain)))
    rows = draw(st.lists(st.tuples(one, one), min_size=n, max_size=n))
    return flat("?", texts, missing), column, [list(pair) for pair in rows]


@st.composite
def tree_cases(draw: st.DrawFn, n: int) -> Case:
    where = draw(st.sampled_from(["nowhere", "beside", "leaf"]))
    missing = "q" if where == "leaf" else ""
    leaves = [None if row[0] == missing else row[0] for row in TREE]
    domain = [*leaves, None] if where == "beside" else leaves
    paths = dict(zip(leaves, TREE, strict=True))
    column = {"values": domain, "ranged": False, "paths": paths}
    column["original"] = draw(st.lists(st.sampled_from(domain), min_size=n, max_size=n))

    def label(place: tuple[int, int], beside: bool) -> Cell:
        leaf, level = place
        name = TREE[leaf][level]
        partitions = {value for value, path in paths.items() if path[level] == name}
        if beside and where == "beside":
            return cell(f"{{missing|{escaped(name)}}}", {*partitions, None})
        return cell("missing" if partitions == {None} else escaped(name), partitions, level=level)

    def leaf_set(values: set[Any]) -> Cell:
        words = ["missing" if value is None else value for value in domain if value in values]
        return cell(shown(words), values)

    labels = st.builds(label, st.tuples(st.integers(0, 4), st.integers(0, 3)), st.booleans())
    one = (
        labels | st.sets(st.sampled_from(domain), min_size=1).map(leaf_set) | st.just(cell("*", set(domain)))
    )
    rows = draw(st.lists(st.tuples(one, one), min_size=n, max_size=n))
    return treed("?", TREE, where == "beside", missing), column, [list(pair) for pair in rows]


@st.composite
def tables(draw: st.DrawFn) -> list[Case]:
    n = draw(st.integers(1, 12))
    return draw(st.lists(range_cases(n) | set_cases(n) | tree_cases(n), min_size=1, max_size=3))


def built(cases: list[Case]) -> tuple[Microdata, list[list[Cell]], list[list[Cell]]]:
    """The original of a drawn table, and two releases of it."""
    names = [
        Attribute(str(j), a.kind, a.shape, a.texts, a.position, a.missing, a.tree)
        for j, (a, _, _) in enumerate(cases)
    ]
    codes = [[column["values"].index(value) for value in column["original"]] for _, column, _ in cases]
    data = Microdata(np.array(codes, dtype=np.int32).T, tuple(names))
    n = len(data)
    one, two = ([[cells[i][side] for _, _, cells in cases] for i in range(n)] for side in (0, 1))
    return data, one, two


def texts(rows: list[list[Cell]]) -> list[list[str]]:
    return [[text for text, _ in row] for row in rows]


def meanings(rows: list[list[Cell]]) -> list[list[dict[str, Any]]]:
    return [[meaning for _, meaning in row] for row in rows]


@given(tables(), st.integers(1, 4), st.integers(0, 3))
@settings(deadline=None, max_examples=200)
def test_measures_agree_with_their_definitions(cases: list[Case], k: int, removed: int) -> None:
    data, rows, _ = built(cases)
    rows = rows[: max(len(rows) - removed, 0)]
    table = release(data, texts(rows))
    expected = naive.measures([column for _, column, _ in cases], meanings(rows), k)
    found = {**measure_all(table, data, k), "xu": CertaintyPenalty(form="xu").value(table, data)}
    assert set(found) == set(expected)
    for name, value in found.items():
        assert value == close(expected[name]), name
    assert isinstance(found["dm"], int)


@given(tables())
@settings(deadline=None)
def test_measures_of_one_attribute_are_those_of_a_table_with_no_other(cases: list[Case]) -> None:
    data, rows, _ = built(cases)
    found = per_attribute(release(data, texts(rows)), data)
    for j, (_, column, _) in enumerate(cases):
        alone = naive.measures([column], [[row[j]] for row in meanings(rows)], 1)
        assert set(found[str(j)]) == set(alone) - {"dm", "c_avg", "xu"}
        for name, value in found[str(j)].items():
            assert value == close(alone[name]), name


@given(tables())
@settings(deadline=None, max_examples=100)
def test_order_agrees_with_its_definition(cases: list[Case]) -> None:
    data, one, two = built(cases)
    a, b = release(data, texts(one)), release(data, texts(two))
    pairs = zip(meanings(one), meanings(two), strict=True)
    assert better_rows(a, b).tolist() == [naive.better_row(x, y) for x, y in pairs]
    assert better(a, b) is naive.better_table(meanings(one), meanings(two))
    assert not better(a, a)


@given(tables())
@settings(deadline=None)
def test_better_releases_lose_no_more(cases: list[Case]) -> None:
    data, one, _ = built(cases)
    everything = [["*"] * len(cases)] * len(data)
    fine, coarse = release(data, texts(one)), release(data, everything)
    assert not better(coarse, fine)
    if better(fine, coarse):
        loss = [GlobalPenalty().value(table, data) for table in (fine, coarse)]
        assert loss[0] <= loss[1] + 1e-12


@given(tables())
@settings(deadline=None)
def test_cells_cover_what_their_texts_say(cases: list[Case]) -> None:
    for attribute, column, rows in cases:
        drawn = [pair[0] for pair in rows]
        cells = parse_cells(attribute, [text for text, _ in drawn])
        for i, (_, meaning) in enumerate(drawn):
            codes = {code for code, value in enumerate(column["values"]) if value in meaning["covers"]}
            real = sorted(codes - {attribute.missing})
            assert set(cells.codes(i)) == codes
            assert cells.count[i] == len(codes)
            assert cells.missing[i] == (attribute.missing in codes)
            assert (cells.low[i], cells.high[i]) == ((real[0], real[-1]) if real else (-1, -1))
