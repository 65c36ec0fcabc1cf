"""Example rows: typical ones, and no record beside a row that might not be its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from incrowd.encode import encode
from incrowd.flow import Table
from incrowd.measures import published
from incrowd.policy import Policy
from incrowd.reports.cell_words import cell_words, shown_cell, typical_cell
from incrowd.reports.examples import RecordSearch, chosen_rows, examples_with_records, row_losses
from incrowd.reports.ordering import order_of
from incrowd.values import escaped

CELLS = {"F": {"F"}, "M": {"M"}, "{F|M}": {"F", "M"}, "{M|X}": {"M", "X"}, "*": {"F", "M", "X"}}
records = st.tuples(st.sampled_from("FMX"), st.sampled_from("ab"))


def search_in(
    original: list[tuple[str, str]], rows: list[tuple[str, str]], links: NDArray[np.int64] | None = None
) -> RecordSearch:
    whole = [*original, ("F", "z"), ("M", "z"), ("X", "z")]  # so that every value occurs
    table = Table.of({"sex": [sex for sex, _ in whole], "ill": [ill for _, ill in whole]})
    policy = Policy.from_dict({"quasi_identifiers": ["sex"], "sensitive": ["ill"]})
    shown = Table.of({"sex": [cell for cell, _ in rows], "ill": [ill for _, ill in rows]})
    data = encode(table, policy.schema(table))
    return RecordSearch(table, data, shown, published(shown, data), ["ill"], links)


@given(st.lists(st.tuples(records, st.sampled_from(sorted(CELLS))), min_size=1, max_size=8))
def test_a_record_stands_beside_a_row_only_if_all_rows_that_fit_it_are_equal(
    pairs: list[tuple[tuple[str, str], str]],
) -> None:
    """Against the definition; rows are made so that each covers its own record."""
    pairs = [(record, cell) for record, cell in pairs if record[0] in CELLS[cell]]
    assume(pairs)
    original, rows = [record for record, _ in pairs], [(cell, record[1]) for record, cell in pairs]
    found = search_in(original, rows)
    for number, (cell, ill) in enumerate(rows):
        certain = [
            place
            for place, (sex, mine) in enumerate(original)
            if mine == ill
            and sex in CELLS[cell]
            and all(other == cell for other, its in rows if its == mine and sex in CELLS[other])
        ]
        assert found.record_of(number) == (certain[0] if certain else None)


def test_links_are_used_where_they_fit() -> None:
    original, rows = [("F", "a"), ("M", "a")], [("{F|M}", "a"), ("*", "a")]
    assert search_in(original, rows).record_of(0) is None  # either may be anybody's
    assert search_in(original, rows, np.array([1, 0])).record_of(0) == 1
    assert search_in(original, [("F", "a"), ("*", "a")], np.array([1, 0])).record_of(0) is None


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.9]), st.sampled_from("xyz")), min_size=1, max_size=40
    )
)
def test_examples_are_where_they_are_said_to_be(rows: list[tuple[float, str]]) -> None:
    lost, table = np.array([share for share, _ in rows]), Table.of({"c": [text for _, text in rows]})
    found = chosen_rows(lost, table)
    ordered, n = sorted(lost), len(rows)
    places = {"little": n // 10, "middle": n // 2, "much": 9 * n // 10, "most": n - 1}
    got = [(title, lost[likely[0]]) for title, likely in found]
    assert [share for _, share in got] == sorted({share for _, share in got})
    for title, share in got:
        assert share == ordered[min(places[title.split()[-1]], n - 1)]
    assert any("middle" in title for title, _ in got)
    assert max(share for _, share in got) == max(ordered) or len(found) == 3
    again = chosen_rows(lost[::-1], Table.of({"c": [text for _, text in rows][::-1]}))
    cells = [rows[int(likely[0])][1] for _, likely in found]
    assert cells == [rows[n - 1 - int(likely[0])][1] for _, likely in again]  # whatever the order of the file


def test_the_loss_of_rows_is_that_of_the_table() -> None:
    search = search_in([("F", "a"), ("M", "a")], [("{F|M}", "a"), ("*", "a"), ("F", "a")])
    assert row_losses(search.shown, search.data).tolist() == [0.5, 1.0, 0.0]


def test_what_was_missing_and_still_is_did_not_change() -> None:
    table = Table.of({"sex": ["?", "F", "F", "?"], "ill": ["a", "a", "b", "b"]})
    asked = {"quasi_identifiers": ["sex"], "sensitive": ["ill"], "missing": ["?"]}
    data = encode(table, Policy.from_dict(asked).schema(table))
    rows = Table.of({"sex": ["missing", "F", "{missing|F}", "{missing|F}"], "ill": ["a", "a", "b", "b"]})
    columns = [
        {"name": "sex", "role": "quasi_identifier", "apart": False, "shape": "set"},
        {"name": "ill", "role": "sensitive", "apart": False, "shape": ""},
    ]
    search = RecordSearch(table, data, rows, published(rows, data), ["ill"])
    found = [example["cells"][0] for example in examples_with_records(columns, search)]
    assert {(cell["cell"], cell["same"]) for cell in found} == {("F", True), ("{missing|F}", False)}
    assert search.is_missing(0, "sex")
    assert not search.is_missing(1, "sex")
    first = rows.take(np.array([0]))
    alone = RecordSearch(table, data, first, published(first, data), ["ill"])
    ((cell, _),) = [example["cells"] for example in examples_with_records(columns, alone)]
    assert (cell["before"], cell["cell"], cell["same"]) == ("?", "missing", True)


# ---- words and order


@given(st.lists(st.integers(-999, 9999).map(str), unique=True, max_size=9), st.booleans())
def test_numbers_stand_in_their_order(texts: list[str], gap: bool) -> None:
    places = order_of([*texts, *([""] if gap else [])], "numeric")
    assert places is not None
    assert [int(texts[place]) for place in places if place < len(texts)] == sorted(map(int, texts))
    assert not gap or places[-1] == len(texts)


@pytest.mark.parametrize(
    ("texts", "kind", "ordered"),
    [
        (["2024-02-01", "1999-12-31"], "date", ["1999-12-31", "2024-02-01"]),
        (["[30,40]", "[5,90]", "*", "[5,7]"], "numeric", ["[5,7]", "[5,90]", "[30,40]", "*"]),
        ([r"\[70-80)", r"{\[8-10)|\[90-100)}", "?"], "categorical", None),
        (["{missing|[9,12]}", "missing", "10"], "numeric", ["{missing|[9,12]}", "10", "missing"]),
        (["HS-grad", "11th"], "categorical", []),
    ],
)
def test_values_and_cells_in_their_order(texts: list[str], kind: str, ordered: list[str] | None) -> None:
    places = order_of(texts, kind)
    if ordered == []:
        assert places is None
    else:
        assert places is not None
        assert [texts[p] for p in places] == (ordered or [texts[1], texts[0], texts[2]])


@given(st.sets(st.sampled_from(["a", "b|c", "[1,2", "missing!", "\\", "d", "e", "f", "g"]), min_size=2))
def test_a_set_is_read_in_full_or_counted(values: set[str]) -> None:
    cell = "{" + "|".join(sorted(map(escaped, values))) + "}"
    said = cell_words(cell, "set")
    assert said.startswith(f"one of {len(values)} values: ")
    named = [value for value in values if value in said]
    assert len(named) == len(values) or f"{len(values) - 5} more" in said
    assert len(values) <= 6 or f"… {len(values) - 5} more" in shown_cell(cell)


def test_the_typical_cell_is_the_one_in_the_middle() -> None:
    about = {"shape": "range", "kind": "date", "values": 0}
    texts = ["2024-01-01", "[2024-01-01,2024-01-31]", "[2024-01-01,2030-01-01]", "*"]
    widths = [0.0, 0.01, 0.5, 1.0]
    said = {
        "the value itself, such as 2024-01-01": [5, 2, 1, 1],
        "a range of 30 days, such as [2024-01-01,2024-01-31]": [1, 3, 1, 1],
        "a range of about 6 years, such as [2024-01-01,2030-01-01]": [1, 1, 3, 1],
        "nothing is left: *": [1, 1, 1, 9],
    }
    for words, counts in said.items():
        rows = [text for text, count in zip(texts, counts, strict=True) for _ in range(count)]
        assert typical_cell(Table.of({"day": rows}).column("day"), about, widths) == words
    labels = Table.of({"zip": ["04__", "04__", "*"]}).column("zip")
    node = {"shape": "node", "kind": "categorical", "values": 9}
    assert typical_cell(labels, node, [None, 1.0]) == "a value or label, such as 04__"
    assert typical_cell(labels, node, [0.3, 1.0], [3, 9]) == "a label over 3 values, such as 04__"
