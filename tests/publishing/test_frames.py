"""Frames in, the same kind of frame out: pandas, polars, pyarrow."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import incrowd as ic
from incrowd.errors import TableError

N = 60
K = 3
POLICY = ic.Policy(
    quasi_identifiers=["age", "sex", "day"],
    sensitive=["ill", "cost"],
    keep=["ward", "since", "urgent"],
    identifiers=["name"],
    privacy={"k": K},
    accept=["near-unique-keep"],
)
WARDS = ["north", "south", "closed"]


def rows(n: int = N) -> dict[str, list[Any]]:
    rng = random.Random(9)
    return {
        "name": [f"person {i}" for i in range(n)],
        "age": [rng.randint(20, 60) for _ in range(n)],
        "sex": [rng.choice(["F", "M"]) for _ in range(n)],
        "day": [date(2024, rng.randint(1, 12), 1) for _ in range(n)],
        "ill": [rng.choice(["flu", "ulcer", "=cmd()"]) for _ in range(n)],
        "cost": [rng.choice([0.1, 2.5, 1e300]) for _ in range(n)],
        "ward": [rng.choice(WARDS[:2]) for _ in range(n)],
        "since": [date(2020, 1, rng.randint(1, 28)) for _ in range(n)],
        "urgent": [rng.random() < 0.5 for _ in range(n)],
    }


def of_pandas(columns: dict[str, list[Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    for name in ("day", "since"):
        frame[name] = pd.to_datetime(frame[name])
    frame["ward"] = pd.Categorical(columns["ward"], categories=WARDS)
    return frame


def of_polars(columns: dict[str, list[Any]]) -> pl.DataFrame:
    return pl.DataFrame(columns).with_columns(pl.col("ward").cast(pl.Enum(WARDS)))


def of_arrow(columns: dict[str, list[Any]]) -> pa.Table:
    table = pa.table({name: values for name, values in columns.items() if name != "ward"})
    codes = pa.array([WARDS.index(ward) for ward in columns["ward"]], pa.int32())
    wards = pa.DictionaryArray.from_arrays(codes, pa.array(WARDS))
    return table.add_column(6, "ward", wards)


MAKE: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": of_pandas,
    "polars": of_polars,
    "pyarrow": of_arrow,
}
KINDS = pytest.mark.parametrize("kind", MAKE)


def as_lists(frame: Any) -> dict[str, list[Any]]:
    if isinstance(frame, pa.Table):
        return dict(frame.to_pydict())
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return {name: frame[name].tolist() for name in frame.columns}


def types(frame: Any) -> dict[str, str]:
    if isinstance(frame, pa.Table):
        return {field.name: str(field.type) for field in frame.schema}
    return {name: str(dtype) for name, dtype in zip(frame.columns, frame.dtypes, strict=True)}


def classes(frame: Any, names: tuple[str, ...] = ("age", "sex", "day")) -> Counter[tuple[Any, ...]]:
    columns = as_lists(frame)
    return Counter(zip(*(columns[name] for name in names), strict=True))


@KINDS
def test_the_same_kind_comes_back(kind: str) -> None:
    frame = MAKE[kind](rows())
    release = ic.publish(frame, POLICY)
    assert type(release.table) is type(frame)
    assert release.verdict.passed
    assert list(as_lists(release.table)) == [name for name in rows() if name != "name"]
    assert min(classes(release.table).values()) >= K


@KINDS
def test_private_columns_keep_values_and_types(kind: str) -> None:
    frame = MAKE[kind](rows())
    table = ic.publish(frame, POLICY).table
    private = ("ill", "cost", "since", "urgent")
    assert {name: types(table)[name] for name in private} == {name: types(frame)[name] for name in private}
    names = (*private, "ward")
    assert classes(table, names) == classes(frame, names)


@KINDS
def test_generalised_columns_are_texts(kind: str) -> None:
    table = ic.publish(MAKE[kind](rows()), POLICY).table
    for name in ("age", "sex", "day"):
        assert all(isinstance(cell, str) for cell in as_lists(table)[name])


@KINDS
def test_the_input_is_not_changed(kind: str) -> None:
    frame, twin = MAKE[kind](rows()), MAKE[kind](rows())
    release = ic.publish(frame, POLICY)
    assert as_lists(release.table)
    assert frame.equals(twin)
    assert types(frame) == types(twin)


@KINDS
def test_rows_are_shuffled(kind: str) -> None:
    columns = rows(200)
    columns["since"] = [date.fromordinal(737000 + i) for i in range(200)]
    table = ic.publish(MAKE[kind](columns), POLICY).table
    order = [str(day)[:10] for day in as_lists(table)["since"]]
    assert sorted(order) == [str(day) for day in columns["since"]]
    assert order != sorted(order)


@KINDS
def test_every_kind_of_frame_gives_the_same_classes(kind: str) -> None:
    expected = classes(ic.publish(of_pandas(rows()), POLICY).table)
    assert classes(ic.publish(MAKE[kind](rows()), POLICY).table) == expected


def unused(frame: Any) -> set[str]:
    """What the column's categories say that no row does."""
    if isinstance(frame, pa.Table):
        chunks = frame.column("ward").chunks
        known = {value for chunk in chunks for value in chunk.dictionary.to_pylist()}
    elif isinstance(frame, pl.DataFrame):
        kind = frame["ward"].dtype
        assert isinstance(kind, pl.Enum)
        known = set(kind.categories.to_list())
    else:
        known = set(frame["ward"].cat.categories)
    return known - set(as_lists(frame)["ward"])


@KINDS
def test_no_category_is_told_that_no_row_has(kind: str) -> None:
    frame = MAKE[kind](rows())
    assert unused(frame) == {"closed"}
    assert unused(ic.publish(frame, POLICY).table) == set()


# Gaps


def with_gaps(kind: str) -> Any:
    columns = rows()
    for name in ("age", "sex", "day", "ill", "cost"):
        columns[name][::7] = [None] * len(columns[name][::7])
    return MAKE[kind](columns)


@KINDS
def test_gaps_are_missing_and_stay_gaps(kind: str) -> None:
    """None in a number column is NaN in pandas; both are missing, and no row is lost."""
    frame = with_gaps(kind)
    release = ic.publish(frame, POLICY)
    cells = as_lists(release.table)
    gone = len(range(0, N, 7))
    assert sum("missing" in cell or cell == "*" for cell in cells["age"]) >= gone
    assert min(classes(release.table).values()) >= K
    assert sum(classes(release.table).values()) == N
    for name in ("ill", "cost"):
        assert sum(value is None or value != value for value in cells[name]) == gone


def test_nan_in_a_float_column_of_polars_is_no_number() -> None:
    """It is neither a gap nor a value that could lie in a range: the user must say which."""
    frame = of_polars(rows()).with_columns(
        pl.when(pl.col("age") > 50).then(float("nan")).otherwise(pl.col("age")).alias("age")
    )
    policy = ic.Policy.from_dict(
        POLICY.to_dict() | {"quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}, "day": {}}}
    )
    with pytest.raises(TableError, match="age is declared numeric"):
        ic.publish(frame, policy)
    named = ic.Policy.from_dict(policy.to_dict() | {"missing": ["", "NaN"]})
    cells = as_lists(ic.publish(frame, named).table)["age"]
    assert any("missing" in cell for cell in cells)


def test_whole_numbers_with_gaps_stay_whole() -> None:
    """pandas makes floats of them; 34.0 is published as 34."""
    cells = as_lists(ic.publish(with_gaps("pandas"), POLICY).table)["age"]
    assert not any(".0" in cell for cell in cells)


# Indexes of pandas, where other tools went wrong

INDEXES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "shuffled": lambda frame: frame.sample(frac=1, random_state=1),
    "subset": lambda frame: frame.iloc[10:50],
    "all the same": lambda frame: frame.set_axis([7] * len(frame)),
    "texts": lambda frame: frame.set_axis([f"person {i}" for i in range(len(frame))]),
    "several levels": lambda frame: frame.set_index(
        pd.MultiIndex.from_arrays([np.arange(len(frame)) % 2, np.arange(len(frame))])
    ),
    "named": lambda frame: frame.rename_axis("age"),
}


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_is_no_part_of_the_table(index: str) -> None:
    """pycanon took labels for places, anonypy multiplied rows of one label, anjana published them."""
    frame = INDEXES[index](of_pandas(rows()))
    plain = frame.reset_index(drop=True)
    release = ic.publish(frame, POLICY)
    table = release.table
    assert isinstance(table.index, pd.RangeIndex)
    assert table.index.name is None
    assert (table.index.start, table.index.stop) == (0, len(frame))
    assert len(table) == len(frame)
    assert classes(table) == classes(ic.publish(plain, POLICY).table)
    assert classes(table, ("ill", "ward")) == classes(plain, ("ill", "ward"))
    assert "index" not in table.columns
    assert table.attrs == {}


def test_private_values_stay_with_their_own_region() -> None:
    """On a frame whose labels are no places, each row still is about one record."""
    frame = of_pandas(rows()).sample(frac=1, random_state=2)
    frame["since"] = pd.date_range("2000-01-01", periods=N)  # tells records apart
    table = ic.publish(frame, POLICY).table
    ages = dict(zip(frame["since"], frame["age"], strict=True))
    for since, cell in zip(table["since"], table["age"], strict=True):
        low, _, high = cell.strip("[]").partition(",")
        assert int(low) <= ages[since] <= int(high or low)


def test_attributes_of_a_frame_are_not_published() -> None:
    frame = of_pandas(rows())
    frame.attrs["source"] = "ward 7, Dr. Who"
    assert ic.publish(frame, POLICY).table.attrs == {}
    arrow = of_arrow(rows()).replace_schema_metadata({"source": "ward 7"})
    assert not ic.publish(arrow, POLICY).table.schema.metadata


# What a release can do


@KINDS
def test_a_release_of_a_frame_can_be_measured_and_written(kind: str, tmp_path: Path) -> None:
    release = ic.publish(MAKE[kind](rows()), POLICY, k=5, method="single", options={"choose": "axis"})
    assert release.verdict.facts["smallest_class"] >= 5
    assert release.manifest["method"]["name"] == "single"
    assert release.manifest["method"]["options"] == {"choose": "axis"}
    assert 0 < release.loss()["gcp"] <= 1
    folder = release.write(tmp_path / "out")
    written = pd.read_csv(folder / "data.csv", dtype=str)
    assert len(written) == N
    assert classes(written) == classes(release.table)
    assert release.table is release.table


def test_a_lazy_frame_is_refused() -> None:
    with pytest.raises(TableError, match="collect a lazy one first"):
        ic.publish(of_polars(rows()).lazy(), POLICY)


def test_a_chunked_arrow_table_is_one_table() -> None:
    whole = of_arrow(rows())
    chunked = pa.concat_tables([whole.slice(0, 13), whole.slice(13)])
    assert chunked.column("age").num_chunks == 2
    table = ic.publish(chunked, POLICY).table
    assert classes(table) == classes(ic.publish(whole, POLICY).table)
    assert unused(table) == set()
