"""Whole numbers that the database reads: the same meaning as reading text by text, or the old way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session
from incrowd.schema import Column, Kind, Role, Shape
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.in_engine import ClassWitness, whole_numbers
from incrowd.verifier.in_engine.relations import Relation
from incrowd.verifier.in_engine.whole_numbers import WholeNumberColumn

AGE = Column("age", Role.QUASI, Kind.NUMERIC)
GONE = frozenset({"", "-9"})
FAR = str(2**60)
PLAIN = ["0", "7", "-3", "12", "100", "-9", "", None, FAR]
ODD = ["1.0", "1.5", "07", "+7", "-0", "1e2", " 7", "7 ", "9223372036854775808", "1_000", "0x1"]
CELLS = [
    "0",
    "7",
    "[-3,7]",
    "[0,100]",
    "{missing|7}",
    "{missing|[-3,0]}",
    "missing",
    "[-3,9223372036854775807]",
]
FORGED = [
    *(
        "[7,7]",
        "[7,-3]",
        "[-3, 7]",
        "07",
        "7.0",
        "{7}",
        "{missing}",
        "{missing|missing}",
        "{7|missing}",
        "*",
        "[",
    ),
    *("[-3,7", "-3,7]", "[[-3,7]]", "[-3,0,7]", "{missing|7", "missing|7}", "5", "[0,5]", "", "-9", "[-9,7]"),
    *("{missing|[7,7]}", "{missing|{missing|7}}", "{missing|}", "x", "+7", "-0", "MISSING", "[0,7]]", "7\n"),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckSession]:
    with duck_session(tmp_path_factory.mktemp("work"), Resources(512_000_000, 1)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_numbers, "MANY", 0)


def relation(session: DuckSession, table: str, texts: Sequence[str | None]) -> Relation:
    found = np.empty(len(texts), object)
    found[:] = texts
    session.load(table, {"t": found}, {"t": "VARCHAR"})
    return Relation(table, ("age",), {"age": "t"})


def by_database(
    session: DuckSession, texts: Sequence[str | None], cells: Sequence[str | None]
) -> WholeNumberColumn | None:
    tables = relation(session, "original", texts), relation(session, "released", cells)
    return WholeNumberColumn.of(session, AGE, tables, GONE, 0)


def held(
    session: DuckSession, found: WholeNumberColumn, texts: list[str | None], cells: list[str]
) -> set[str]:
    """Which cell holds which text, by the numbers of the database."""
    ranks = dict(session.rows(f"SELECT t, {found.of_record(0, 't').number} FROM original"))
    number = dict(session.rows("SELECT t, number FROM cells0_"))
    pairs = [(cell, text) for cell in cells for text in texts]
    inside = found.regions.hold(
        np.array([number[cell] for cell, _ in pairs], np.int64),
        np.array([ranks[text] for _, text in pairs], np.int64),
    )
    session.load(
        "pairs",
        {
            "c": np.array([number[cell] for cell, _ in pairs], np.int64),
            "v": np.array([ranks[text] for _, text in pairs], np.int64),
        },
    )
    seen = {(number[cell], ranks[text]): holds for (cell, text), holds in zip(pairs, inside, strict=True)}
    assert found.outside(session, 0, "pairs") == sum(not holds for holds in seen.values())
    return {f"{cell} {text}" for (cell, text), holds in zip(pairs, inside, strict=True) if holds}


@settings(max_examples=60)
@given(
    texts=st.lists(st.sampled_from(PLAIN), min_size=1, unique=True),
    cells=st.lists(st.sampled_from(CELLS), unique=True),
)
@example(texts=["", None, "7"], cells=["missing"])
@example(texts=["7"], cells=[])
@example(texts=["0", "7", "100"], cells=["7"])
@example(texts=["0", "7", "-3", "100"], cells=["[-3,7]", "0", "{missing|[-3,0]}", "[0,100]", "missing"])
def test_cells_hold_what_they_hold_text_by_text(
    session: DuckSession, texts: list[str | None], cells: list[str]
) -> None:
    assume({*texts} - {"", None, "-9"})
    domain, regions = ColumnDomain(AGE, texts, GONE), None
    with contextlib.suppress(CheckFailed):
        regions = domain.regions(sorted(cells), canonical=True)
    if regions is None:
        with pytest.raises(CheckFailed, match="does not occur in the original"):
            by_database(session, texts, cells)
    else:
        found = by_database(session, texts, cells)
        assert found is not None
        assert found.cell_count == len(cells)
        assert found.named() == domain.named()
        place = {cell: at for at, cell in enumerate(sorted(cells))}
        rank = dict(zip(texts, domain.ranks.tolist(), strict=True))
        wanted = {
            f"{cell} {text}"
            for cell in cells
            for text in texts
            if regions.hold(np.array([place[cell]]), np.array([rank[text]]))[0]
        }
        assert held(session, found, texts, cells) == wanted


@pytest.mark.parametrize("odd", ODD)
def test_other_texts_are_read_the_old_way(odd: str, session: DuckSession) -> None:
    assert by_database(session, ["7", odd], ["7"]) is None


@pytest.mark.parametrize(
    "column",
    [
        Column("age", Role.QUASI),
        Column("age", Role.QUASI, Kind.DATE),
        Column("age", Role.QUASI, Kind.NUMERIC, format="1.234,5"),
        Column("age", Role.QUASI, Kind.NUMERIC, Shape.SET),
    ],
    ids=["texts", "dates", "another notation", "sets"],
)
def test_other_columns_are_read_the_old_way(column: Column, session: DuckSession) -> None:
    tables = relation(session, "original", ["7"]), relation(session, "released", ["7"])
    assert WholeNumberColumn.of(session, column, tables, GONE, 0) is None


def test_few_values_are_read_the_old_way(session: DuckSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_numbers, "MANY", 100)
    assert by_database(session, ["7", "8"], ["7"]) is None


@pytest.mark.parametrize("cell", [*FORGED, None])
def test_cells_in_another_form_are_refused(cell: str | None, session: DuckSession) -> None:
    """Each of them the reader of texts refuses as well."""
    texts = ["0", "7", "-3", "100"]
    with pytest.raises(CheckFailed):
        ColumnDomain(AGE, texts, GONE).regions(["[" if cell is None else cell], canonical=True)
    with pytest.raises(CheckFailed):
        by_database(session, texts, ["7", cell])


def witness(session: DuckSession, values: Sequence[str | None]) -> ClassWitness:
    found = np.empty(len(values), object)
    found[:] = values
    session.load("w_records", {"v0": found}, {"v0": "VARCHAR"})
    return ClassWitness("w_records", "nowhere")


def test_values_of_a_witness_have_the_ranks_of_records(session: DuckSession) -> None:
    found = by_database(session, ["7", "", None, "-3", "-9"], ["7"])
    assert found is not None
    named = witness(session, ["7", None, "-3"])
    found.load_values(session, 0, named)
    ranks = session.rows(f"SELECT v0, {found.of_value(0, 'v0').number} FROM w_records")
    assert ranks == [("7", 11), (None, 0), ("-3", 1)]
    assert found.size == 12


@pytest.mark.parametrize("value", ["-4", "8", "x", "", "9223372036854775808"])
def test_no_value_of_a_witness_reaches_beyond_the_ranks(value: str, session: DuckSession) -> None:
    """Else its number would run into that of the next column, with which it is packed."""
    found = by_database(session, ["7", "-3"], ["7"])
    assert found is not None
    with pytest.raises(CheckFailed, match="have a value of age that no record has"):
        found.load_values(session, 0, witness(session, ["7", value]))


@pytest.mark.parametrize(
    "texts",
    [[str(-(2**62)), "5"], ["5", str(2**62 + 5)], ["", None]],
    ids=["too far below", "too far above", "nothing"],
)
def test_numbers_without_ranks_are_read_the_old_way(texts: list[str | None], session: DuckSession) -> None:
    assert by_database(session, texts, ["missing"]) is None
