"""Sets of values that are read many cells at once, against the reader that takes one cell at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.schema import Column, Kind, Role
from incrowd.verifier import plain_sets
from incrowd.verifier.cell_regions import Bitmap, CellRegions, ListedSets
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed

VALUES = ["a", "b", "c d", "missing", "miss", "x|y", "1", "é"]
NONE = np.empty(0, np.int64)
NO_SETS = ListedSets(NONE, np.zeros(1, np.int64), NONE, frozenset())


def domain() -> ColumnDomain:
    return ColumnDomain(Column("job", Role.QUASI, Kind.CATEGORICAL), [*VALUES, ""], frozenset({""}))


atoms = st.sampled_from(["a", "b", "c d", "missing", "miss", "\\missing", "x\\|y", "1", "é"])
sets = st.lists(atoms, min_size=1, max_size=5).map(lambda members: "{" + "|".join(members) + "}")
cells = st.lists(
    st.one_of(sets, atoms, st.sampled_from(["*", "{}", "{a|", "{a|nobody}", "{a}"])),
    min_size=1,
    max_size=12,
    unique=True,
)


def one_by_one(texts: list[str], canonical: bool) -> CellRegions:
    """As if no cell were a plain set."""
    slow = domain()
    found = [slow._read(text) for text in texts]
    if canonical:
        slow._check_form(texts, found, NO_SETS)
    return CellRegions.of(found, NO_SETS, slow.size)


def outcome(texts: list[str], canonical: bool, at_once: bool) -> object:
    try:
        regions = domain().regions(texts, canonical) if at_once else one_by_one(texts, canonical)
    except CheckFailed:
        return "refused"
    parts = (regions.low, regions.high, regions.missing, regions.spread, regions.keys)
    return [part.tolist() for part in parts]


@given(cells, st.booleans(), st.integers(1, 4))
@settings(deadline=None, max_examples=300)
def test_sets_at_once_mean_what_they_mean_one_by_one(texts: list[str], canonical: bool, batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_sets, "CELLS_AT_ONCE", batch)
        assert outcome(texts, canonical, True) == outcome(texts, canonical, False)


@pytest.mark.parametrize("good", [["{a|b}", "{b|é}"], ["{1|a|b}", "a"]])
def test_good_sets_are_listed_at_once(good: list[str]) -> None:
    found = plain_sets.plain_sets(good, {"a": 1, "b": 2, "é": 3, "1": 4}, print)
    assert found.places.tolist() == [at for at, text in enumerate(good) if "{" in text]


@pytest.mark.parametrize(
    "other", ["{b|a}", "{a|b|c d|miss|x\\|y|1|é|\\missing}", "{1|a|c d|miss|b}"], ids=["order", "all", "last"]
)
def test_another_form_of_a_set_is_refused(other: str) -> None:
    with pytest.raises(CheckFailed, match="not written in the one form"):
        domain().regions(["{a|b}", other], canonical=True)
    domain().regions(["{a|miss}", other])


def test_a_set_of_all_values_is_refused_where_none_is_missing() -> None:
    whole = ColumnDomain(Column("sex", Role.QUASI, Kind.CATEGORICAL), ["F", "M"], frozenset({""}))
    with pytest.raises(CheckFailed, match="not written in the one form"):
        whole.regions(["{F|M}", "F"], canonical=True)


@given(st.sets(st.integers(0, 300), min_size=1), st.lists(st.integers(0, 300), min_size=1))
def test_a_bitmap_counts_as_searching_does(keys: set[int], asked: list[int]) -> None:
    ascending, numbers = np.array(sorted(keys)), np.array(asked)
    found = Bitmap.of(ascending, 301)
    assert found is not None
    assert found.holds(numbers).tolist() == [number in keys for number in asked]
    assert found.below(numbers).tolist() == np.searchsorted(ascending, numbers).tolist()
    assert found.below(np.array([301])).tolist() == [len(keys)]


def test_a_bitmap_that_would_be_too_large_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("incrowd.verifier.cell_regions.MOST_BITS", 300)
    assert Bitmap.of(np.array([3]), 301) is None
    assert Bitmap.of(np.array([3]), 300) is not None
    assert Bitmap.of(np.empty(0, np.int64), 3) is None
