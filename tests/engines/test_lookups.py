"""Columns whose texts become codes together, or one after the other: the rows are those of memory."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines.test_same_classes import PEOPLE, POLICY
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine_tables import by_engine, classes_by_engine, engine_tables, in_memory, rows_of

from incrowd import tables
from incrowd.engines.base import Lookup
from incrowd.engines.lookups import columns_at_once
from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.large import publish_large
from incrowd.publishing.pipeline import Form


def texts(count: int) -> Lookup:
    return Lookup("x", tuple(map(str, range(count))), np.zeros(count, np.int32), 1)


@pytest.mark.parametrize(
    ("sizes", "most", "wanted"),
    [
        ([], 5, []),
        ([9], 5, [[0]]),
        ([2, 3, 1], 5, [[0, 1], [2]]),
        ([2, 3, 1], 6, [[0, 1, 2]]),
        ([9, 1, 1, 9], 5, [[0], [1, 2], [3]]),
    ],
)
def test_as_many_columns_as_there_is_room_for(sizes: list[int], most: int, wanted: list[list[int]]) -> None:
    assert columns_at_once([texts(size) for size in sizes], most) == wanted


@pytest.mark.parametrize("room", [1, 60])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_release_has_the_rows_of_memory(
    form: str, room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One column at a time, and two or three; a sensitive column and a kept one come along."""
    monkeypatch.setattr(DuckSession, "joined_at_once", room)
    release = by_engine(PEOPLE, POLICY, tmp_path, form)
    assert rows_of(release) == in_memory(PEOPLE, POLICY)
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(".")} == set()


@settings(max_examples=10)
@given(case=engine_tables(), room=st.integers(1, 30))
def test_classes_are_those_of_memory(case: tuple[Table, Policy], room: int) -> None:
    table, policy = case
    d, wanted = len(policy.quasi_identifiers), Counter[tuple[str | None, ...]]()
    for row, count in in_memory(table, policy).items():
        wanted[row[:d]] += count
    with TemporaryDirectory() as folder, mock.patch.object(DuckSession, "joined_at_once", room):
        assert classes_by_engine(table, policy, Path(folder)) == wanted


WHOLE = {"small": pa.int8(), "usual": pa.int32(), "large": pa.int64(), "positive": pa.uint32()}
FAR = {"small": 127, "usual": -(2**31), "large": 2**62, "positive": 2**32 - 1}


@pytest.mark.parametrize("room", [1, 10**6], ids=["one by one", "together"])
def test_whole_numbers_are_compared_as_numbers(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typed columns of Parquet with gaps and the ends of their types, one of them categorical."""
    monkeypatch.setattr(DuckSession, "joined_at_once", room)
    numbers = np.random.default_rng(5).integers(0, 9, (200, len(WHOLE)))
    columns = {
        name: pa.array(
            [None if i % 11 == j else FAR[name] if i % 13 == 0 else int(numbers[i, j]) for i in range(200)],
            kind,
        )
        for j, (name, kind) in enumerate(WHOLE.items())
    }
    source = tmp_path / "numbers.parquet"
    pq.write_table(pa.table(columns | {"ill": pa.array([i % 5 for i in range(200)], pa.int16())}), source)
    quasi = {name: {} if name == "small" else {"type": "numeric"} for name in WHOLE}
    policy = Policy(quasi_identifiers=quasi, sensitive=["ill"], privacy={"k": 3})
    release = publish_large(source, policy, tmp_path / "out", Form("parquet"), Resources(512_000_000, 1))
    assert release.verdict.passed
    assert rows_of(release) == in_memory(tables.read(source), policy)
