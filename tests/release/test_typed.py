"""Typed Parquet: ends of intervals and lists of members, read back as the cells they stand for."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.requested import COLUMNS, Request, asked, atoms, classes_of, folder, people, rows_of

from incrowd import tables
from incrowd.commands.measure import measure
from incrowd.commands.verify import verify
from incrowd.errors import PolicyError, TableError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.release.data_files import read_rows
from incrowd.release.typed import as_cells
from incrowd.schema import Column, Kind, Role, Schema

TYPED = Form("parquet", typed=True)
SCHEMA = Schema(
    (
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("day", Role.QUASI, Kind.DATE),
        Column("sex", Role.QUASI),
        Column("ill", Role.SENSITIVE),
    )
)


def release_of(request: Request, where: Path, form: Form = TYPED) -> Table:
    publish_to(request.table, request.policy, where, form)
    return read_rows(where, lambda: request.policy.schema(request.table))


def types_of(path: Path) -> dict[str, str]:
    return dict(
        duckdb.execute(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM '{path}')").fetchall()
    )


def rows_in(path: Path) -> list[dict[str, Any]]:
    found = duckdb.execute(f"SELECT * FROM '{path}'")
    names = [about[0] for about in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_typed_or_not_the_cells_are_the_same(tmp_path: Path) -> None:
    """A table with columns of all kinds; the judge has read both files."""
    rng = random.Random(5)
    n = 60
    columns: dict[str, list[str | None]] = {"name": [f"person {i}" for i in range(n)]}
    columns |= {name: [rng.choice(texts) for _ in range(n)] for name, (_, texts) in COLUMNS.items()}
    columns |= {"ill": ["flu"] * n, "tag": [f"t{i}" for i in range(n)]}
    request = Request(columns, asked(list(COLUMNS), {"k": 3}), tuple(COLUMNS))
    rows = release_of(request, tmp_path / "typed")
    texts = release_of(request, tmp_path / "texts", Form("parquet"))
    assert rows.names == texts.names
    assert by_tag(rows) == by_tag(texts)
    assert min(map(len, classes_of(request, rows))) >= 3


def by_tag(table: Table) -> list[list[list[str]]]:
    """Rows by their tag, each cell as its members: typed lists are sorted with missing among the others."""
    rows = sorted(rows_of(table), key=lambda row: str(row["tag"]))
    return [[sorted(atoms(str(cell))) for cell in row.values()] for row in rows]


SHAPES: dict[str, tuple[dict[str, Any], Sequence[str], Mapping[str, str], set[object]]] = {
    "whole numbers": (
        {"type": "numeric"},
        ["1", "2", "30", "40"],
        {"x_lo": "BIGINT", "x_hi": "BIGINT"},
        {(1, 2), (30, 40)},
    ),
    "decimals": (
        {"type": "numeric"},
        ["1.50", "2", "30", "40.25"],
        {"x_lo": "DECIMAL(38,2)", "x_hi": "DECIMAL(38,2)"},
        {("1.50", "2.00"), ("30.00", "40.25")},
    ),
    "dates": (
        {"type": "date"},
        ["2024-01-01", "2024-01-02", "2024-03-01", "2024-03-09"],
        {"x_lo": "DATE", "x_hi": "DATE"},
        {("2024-01-01", "2024-01-02"), ("2024-03-01", "2024-03-09")},
    ),
    "numbers and missing": (
        {"type": "numeric"},
        ["", "1", "", "30"],
        {"x_lo": "BIGINT", "x_hi": "BIGINT", "x_missing": "BOOLEAN"},
        {(None, None, True), (1, 30, False)},
    ),
    "categories": ({"type": "categorical"}, ["a", "a", "b", "b"], {"x": "VARCHAR[]"}, {("a",), ("b",)}),
    "everything": ({"type": "categorical"}, ["a", "b", "c", "d"], {"x": "VARCHAR[]"}, {("*",)}),
    "escapes": (
        {"type": "categorical"},
        ["a|b", "a|b", "*", "*", "missing", "missing", "", ""],
        {"x": "VARCHAR[]"},
        {("a\\|b",), ("\\*",), ("\\missing",), ("missing",)},
    ),
    "ordered": (
        {"type": "ordered", "values": ["l", "m", "h"]},
        ["l", "l", "h", "h"],
        {"x": "VARCHAR[]"},
        {("l",), ("h",)},
    ),
    "a family": (
        {"type": "categorical", "family": [["a", "b"], ["c", "d"]]},
        ["a", "b", "c", "d"],
        {"x": "VARCHAR[]"},
        {("a", "b"), ("c", "d")},
    ),
    "a hierarchy": (
        {"hierarchy": {"prefix": [3, 1]}},
        ["011", "012", "911", "912"],
        {"x": "VARCHAR"},
        {"0__", "9__"},
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_each_shape_has_its_types(shape: str, tmp_path: Path) -> None:
    said, texts, types, values = SHAPES[shape]
    policy = Policy.from_dict({"quasi_identifiers": {"x": said}, "privacy": {"k": 2}}, folder())
    if shape == "everything":  # a cut would part the four values
        policy = policy.with_(k=4)
    source = tmp_path / "people.csv"
    source.write_text("\n".join(["x", *(text or '""' for text in texts)]) + "\n")
    publish_to(source, policy, tmp_path / "out", TYPED)
    data = tmp_path / "out" / "data.parquet"
    assert types_of(data) == types
    rows = [tuple(plain(value) for value in row.values()) for row in rows_in(data)]
    assert {row if len(row) > 1 else row[0] for row in rows} == values


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return value if value is None or isinstance(value, int | bool) else str(value)


def test_a_release_of_every_kind_of_column_can_be_judged_again(tmp_path: Path) -> None:
    request = people()
    source = tmp_path / "people.parquet"
    tables.write_parquet(request.table, source)
    written = publish_to(source, request.policy, tmp_path / "out", TYPED)
    assert verify(tmp_path / "out", source, request.policy).passed
    assert verify(tmp_path / "out", source, None).passed
    assert measure(tmp_path / "out", source, None)["loss"] == pytest.approx(written.loss())
    texts = types_of(tmp_path / "out" / "data.parquet")
    assert texts["height_mean"] == "VARCHAR"
    assert texts["sex"] == "VARCHAR[]"
    assert texts["age_missing"] == "BOOLEAN"


# What is read back, and what is not


def parquet(path: Path, select: str) -> Path:
    duckdb.execute(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


LISTS = [
    ("['a']", "a"),
    ("['a', 'b']", "{a|b}"),
    ("['b', 'a']", "{b|a}"),
    ("['missing', 'a']", "{missing|a}"),
    ("['\\missing', 'a']", "{\\missing|a}"),
    ("['a\\|b', 'c']", "{a\\|b|c}"),
    ("['*']", "*"),
    ("['']", ""),
    ("['line\nfeed', 'a']", "{line\nfeed|a}"),
    ("[]", "{}"),
    ("NULL", None),
    ("['a', NULL]", None),
    ("['a|b', 'c']", None),
    ("['{a']", None),
    ("['[1,2]']", None),
    ("['a\\']", None),
]


def test_lists_are_read_as_cells(tmp_path: Path) -> None:
    """A list that would say something else once it is joined becomes NULL, which the judge refuses."""
    rows = " UNION ALL ".join(
        f"SELECT {i} AS i, CAST({x} AS VARCHAR[]) AS x" for i, (x, _) in enumerate(LISTS)
    )
    table = tables.read(parquet(tmp_path / "x.parquet", rows), lists=True)
    read = dict(zip(table.column("i").rows(), table.column("x").rows(), strict=True))
    assert read == {str(i): cell for i, (_, cell) in enumerate(LISTS)}


def test_lists_are_no_table_of_a_user(tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", "SELECT ['a'] AS x")
    with pytest.raises(TableError, match="not of a plain type"):
        tables.read(path)


@pytest.mark.parametrize("values", ["[1]", "[['a']]", "{'a': 1}"])
def test_only_lists_of_texts_are_cells(values: str, tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", f"SELECT {values} AS x")
    with pytest.raises(TableError, match="not of a plain type"):
        tables.read(path, lists=True)


@pytest.mark.parametrize(
    ("low", "high", "missing", "cell"),
    [
        ("1", "2", "false", "[1,2]"),
        ("1", "2", "true", "{missing|[1,2]}"),
        ("1", "1", "false", "1"),
        ("1.50", "2.00", "false", "[1.5,2]"),
        ("2.0", "2.00", "true", "{missing|2}"),
        ("2024-01-01", "2024-02-01", "false", "[2024-01-01,2024-02-01]"),
        (None, None, "true", "missing"),
        (None, None, "false", None),
        (None, "2", "true", None),
        ("1", None, "false", None),
        ("1", "2", None, None),
    ],
)
def test_ends_are_read_as_cells(
    low: str | None, high: str | None, missing: str | None, cell: str | None
) -> None:
    """Ends that make no sense are no cell: the judge must not be told that they are missing."""
    table = Table.of({"age_lo": [low], "age_hi": [high], "age_missing": [missing], "ill": ["x"]})
    assert as_cells(table, SCHEMA).column("age").rows() == [cell]


def test_the_judge_sees_what_has_no_business_in_the_file() -> None:
    """A column beside a text column of nearly its name, and ends of a column that is there as text."""
    names = ["age_lo", "age_hi", "day", "day_lo", "sex", "ill", "ill_missing", "sex_hi"]
    table = Table.of({name: ["1"] for name in names})
    seen = as_cells(table, SCHEMA).names
    assert seen == ("age", "day", "day_lo", "sex", "ill", "ill_missing", "sex_hi")


def test_a_table_of_texts_stays_as_it_is() -> None:
    table = Table.of({name: ["1", "2"] for name in ("age", "day", "sex", "ill")})
    assert as_cells(table, SCHEMA).names == table.names
    assert as_cells(table, SCHEMA).columns == table.columns


def test_a_typed_column_does_not_take_the_name_of_another(tmp_path: Path) -> None:
    table = Table.of({"age": ["1", "2", "3", "4"], "age_lo": ["x"] * 4})
    policy = Policy(quasi_identifiers=["age"], keep=["age_lo"], privacy={"k": 2})
    with pytest.raises(PolicyError, match="age_lo: typed columns call an end of age so; rename the column"):
        publish_to(table, policy, tmp_path / "out", TYPED)
    assert list(tmp_path.iterdir()) == []
    days = Table.of({"a": [f"2024-01-0{i}" for i in range(1, 5)], "a_lo": ["1", "2", "3", "4"]})
    both = Policy(quasi_identifiers={"a": {"type": "date"}, "a_lo": {"type": "numeric"}}, privacy={"k": 2})
    with pytest.raises(PolicyError, match="a_lo: typed columns call an end of a so"):
        publish_to(days, both, tmp_path / "out", TYPED)
    publish_to(table, policy, tmp_path / "out", Form("parquet"))
