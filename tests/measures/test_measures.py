"""Reading published cells, options of the measures, and what the catalogue and the docs say of them."""

from __future__ import annotations

from collections import Counter
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.measure_tables import flat, microdata, ranged, release, treed
from support.places import TESTS

from incrowd.cells import range_ends
from incrowd.contracts import catalogue
from incrowd.errors import PolicyError, TableError
from incrowd.flow import Attribute, Microdata, Table
from incrowd.hierarchy import Hierarchy
from incrowd.measures import Published, better, measure_all, parse_cells, published
from incrowd.measures.cells import _Reader
from incrowd.measures.loss import AverageClass, CertaintyPenalty, Discernibility, EntropyLoss, GlobalPenalty
from incrowd.measures.published import group_sizes
from incrowd.schema import Kind, Shape

HERE = TESTS
NAMES = ["dm", "c_avg", "ncp_perimeter", "ncp", "gcp", "entropy", "il", "il_zero", "tree"]

# ---- reading cells ---------------------------------------------------------------------------------------


def test_ends_that_are_no_values_keep_their_own_width() -> None:
    age = ranged("age", [20, 30, 40])
    cells = parse_cells(age, ["[15, 35]", "[30.0,30.5]", "030"])
    assert [cells.codes(i) for i in range(3)] == [[0, 1], [1], [1]]
    assert (cells.upper - cells.lower).tolist() == [20.0, 0.5, 0.0]


def test_positions_may_be_distances_from_the_first_value() -> None:
    days = Attribute(
        "born",
        Kind.DATE,
        Shape.RANGE,
        ("2024-01-01", "2024-01-11", "2024-03-01"),
        np.array([0.0, 10.0, 60.0]),
    )
    cells = parse_cells(days, ["[2024-01-02,2024-02-01]", "2024-03-01", "[2023-12-31, 2024-01-11]"])
    assert [cells.codes(i) for i in range(3)] == [[1], [2], [0, 1]]
    assert (cells.upper - cells.lower).tolist() == [30.0, 0.0, 11.0]


def test_a_range_of_an_ordered_column_may_hold_commas() -> None:
    size = Attribute("size", Kind.ORDERED, Shape.RANGE, ("s", "m, or so", "l"), np.arange(3.0))
    assert parse_cells(size, ["[s,m, or so]"]).codes(0) == [0, 1]


@given(st.text("a,", max_size=8), st.integers(0, 3))
def test_ends_of_a_range_are_parted_at_every_comma_that_may_be_the_middle_one(body: str, commas: int) -> None:
    every = [(body[:at], body[at + 1 :]) for at, sign in enumerate(body) if sign == ","]
    wanted = [ends for ends in every if all(end.count(",") <= commas for end in ends)]
    assert range_ends(f"[{body}]", commas) == wanted


@pytest.mark.parametrize("texts", [("20", "30", "40"), ("1,0", "2,0,5", "3")])
def test_a_cell_full_of_commas_is_read_in_steps_that_its_length_bounds(
    texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in signs that are looked at as ends of a range: twice the cell, at most twice the signs."""
    looked: list[int] = []
    place = _Reader._place

    def counted(self: _Reader, end: str) -> float | None:
        looked.append(len(end))
        return place(self, end)

    monkeypatch.setattr(_Reader, "_place", counted)
    size = Attribute("size", Kind.ORDERED, Shape.RANGE, texts, np.arange(3.0))
    for commas in range(1, 40):
        looked.clear()
        with pytest.raises(TableError, match="1 distinct cells"):
            parse_cells(size, ["[" + "x" * 9 + "," * commas + "]"])
        assert sum(looked) <= 3 * (commas + 9)


def test_a_numeric_column_of_sets_reads_ranges_by_their_values() -> None:
    age = Attribute(
        "age", Kind.NUMERIC, Shape.SET, ("30", "20", "", "40"), np.array([30.0, 20, 0, 40]), missing=2
    )
    assert parse_cells(age, ["[20,30]", "{missing|[30,50]}"]).codes(0) == [0, 1]
    assert parse_cells(age, ["{missing|[30,50]}"]).codes(0) == [0, 2, 3]


def test_ranges_over_a_tree_go_by_values_not_by_leaves() -> None:
    rows = [("30", "odd", "*"), ("10", "odd", "*"), ("20", "even", "*"), ("40", "even", "*")]
    tree = Hierarchy.from_rows(rows)
    age = Attribute("age", Kind.NUMERIC, Shape.TREE, tree.leaves, np.arange(4.0), tree=tree)
    cells = parse_cells(age, ["[5,20]", "{30|[35,45]}", "odd"])
    assert [cells.codes(i) for i in range(3)] == [[1, 2], [0, 3], [0, 1]]
    assert cells.node.tolist() == [0, 0, tree.labels.index("odd")]
    named = treed("size", [("s", "A", "*"), ("m", "A", "*")])
    with pytest.raises(TableError, match="1 distinct cells"):
        parse_cells(named, ["[s,m]"])


def test_texts_of_other_tools_are_read_but_never_before_our_own() -> None:
    column = flat("x", ["*", "a*", "[b]", "a\\*", "missing"])
    cells = parse_cells(column, ["*", "a*", "[b]", "a\\*", "missing", "\\*"])
    assert [cells.codes(i) for i in range(6)] == [[0, 1, 2, 3, 4], [1], [2], [1], [4], [0]]


def test_empty_cells_are_missing_where_missing_exists() -> None:
    column = flat("x", ["a", "?"], missing=1)
    assert parse_cells(column, [None, "", "missing"]).same.tolist() == [0, 0, 0]
    with pytest.raises(TableError, match="3 distinct cells"):
        parse_cells(flat("x", ["a"]), [None, "", "missing"])


def test_spellings_of_one_cell_are_one_class() -> None:
    data = microdata([ranged("age", [20, 30, 40])], [[20], [30], [40], [40]])
    assert release(data, [["[20,40]"], ["[20, 40]"], ["*"], ["[20,41]"]]).class_sizes.tolist() == [3, 1]


SECRET = "Zanzibar"


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        "[1,",
        f"[20,{SECRET}]",
        "[40,20]",
        "[21,29]",
        "25",
        "{}",
        f"{{20|{SECRET}}}",
        "missing",
        "[,]",
        "nan",
    ],
)
def test_unreadable_cells_are_counted_and_never_quoted(text: str) -> None:
    data = microdata([ranged("age", [20, 30])], [[20], [30]])
    with pytest.raises(TableError) as caught:
        release(data, [["20"], [text]])
    assert "1 distinct cells of the published column age" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_release_must_fit_its_original() -> None:
    data = microdata([flat("sex", ["F", "M"])], [["F"], ["M"]])
    with pytest.raises(TableError, match="did you mean 'sexx' for 'sex'"):
        published(Table.of({"sexx": ["F"]}), data)
    with pytest.raises(TableError, match="has 3 rows and the original 2"):
        release(data, [["F"], ["M"], ["M"]])
    other = microdata([flat("sex", ["M", "F"])], [["F"], ["M"]])
    table = release(data, [["F"], ["M"]])
    for part in catalogue("measure").values():
        if part is not AverageClass:  # the only one that does not look at the original
            with pytest.raises(TableError, match="another original"):
                part().value(table, other)
    with pytest.raises(TableError, match="same records"):
        better(table, release(other, [["F"], ["M"]]))
    with pytest.raises(TableError, match="same records"):
        better(table, release(data, [["F"]]))


# ---- options and limits ----------------------------------------------------------------------------------


def one_of_two_published() -> tuple[Published, Microdata]:
    data = microdata([flat("sex", ["F", "M"]), ranged("age", [20, 30])], [["F", 20], ["M", 30]])
    return release(data, [["*", "20"]]), data


def test_records_left_out_are_charged_unless_told_otherwise() -> None:
    table, data = one_of_two_published()
    assert Discernibility().value(table, data) == 1 + 2
    assert Discernibility(removed="ignored").value(table, data) == 1
    assert GlobalPenalty().value(table, data) == 3 / 4
    assert GlobalPenalty(removed="ignored").value(table, data) == 1 / 2


def test_weights_count_attributes_more_or_less() -> None:
    table, data = one_of_two_published()
    assert CertaintyPenalty(weights={"sex": 3.0}).value(table, data) == 3 * 2 + 1
    assert GlobalPenalty(weights={"sex": 3.0, "age": 0}).value(table, data) == 1.0
    with pytest.raises(PolicyError, match="did you mean 'age' for 'agee'"):
        GlobalPenalty(weights={"agee": 1.0}).value(table, data)
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(PolicyError, match="weight of age"):
            GlobalPenalty(weights={"age": weight}).value(table, data)


def test_no_rows_lose_nothing_that_is_there() -> None:
    data = microdata([flat("sex", ["F", "M"])], [])
    found = measure_all(release(data, []), data, 2)
    assert found == dict.fromkeys(NAMES, 0)


def test_single_valued_columns_cost_nothing() -> None:
    data = microdata(
        [flat("sex", ["F"]), ranged("age", [20]), treed("x", [("a", "A", "*")])], [["F", 20, "a"]]
    )
    found = measure_all(release(data, [["*", "*", "*"]]), data, 1)
    assert {name for name, value in found.items() if value} == {"dm", "c_avg"}


def test_limits_refuse_their_bad_values() -> None:
    for part in catalogue("measure").values():
        for option, limit in part.limits.items():
            for bad in limit.bad_values():
                with pytest.raises(PolicyError, match=option):
                    part(**{option: bad})


def test_rare_values_beside_common_ones_keep_their_bits() -> None:
    codes = np.repeat(np.arange(4, dtype=np.int32), [999_983, 1_234_567, 3, 5])[:, None]
    data = Microdata(codes, (flat("x", "abcd"),))
    bits = 3 / 8 * log2(8 / 3) + 5 / 8 * log2(8 / 5)
    table = release(data, [["{c|d}"]])
    assert EntropyLoss(removed="ignored").value(table, data) == pytest.approx(bits, abs=1e-14)


@given(
    st.lists(st.tuples(*[st.sampled_from([0, 1, 2**31 - 2])] * 4), max_size=40),
    st.sampled_from([3, 2**31]),
)
@settings(deadline=None)
def test_groups_of_equal_rows(rows: list[tuple[int, ...]], size: int) -> None:
    rows = [tuple(value % size for value in row) for row in rows]
    columns = [np.array([row[j] for row in rows], dtype=np.int32) for j in range(4)]
    assert sorted(group_sizes(columns, [size] * 4).tolist()) == sorted(Counter(rows).values())


# ---- catalogue and docs ----------------------------------------------------------------------------------


def test_every_measure_is_registered_and_says_what_it_is() -> None:
    parts = catalogue("measure")
    assert list(parts) == NAMES
    for part in parts.values():
        about = part.about
        assert all([about.meaning, about.unit, about.range, about.paper])
        assert about.better == "lower"


def test_docs_name_every_measure() -> None:
    page = (HERE.parent / "docs" / "measures.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| `")}
    assert rows == {f"`{name}`" for name in catalogue("measure")}
