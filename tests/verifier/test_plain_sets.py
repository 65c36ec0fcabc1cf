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

LONG = ["eight to", "nine bytes", "é" * 20, "é" * 20 + "!"]
HALF = "\ud83d"  # half of a character
VALUES = ["a", "b", "c d", "missing", "miss", "x|y", "1", "é", "N\0", HALF, *LONG]
NONE = np.empty(0, np.int64)
NO_SETS = ListedSets(NONE, np.zeros(1, np.int64), NONE, frozenset())


def domain() -> ColumnDomain:
    return ColumnDomain(Column("job", Role.QUASI, Kind.CATEGORICAL), [*VALUES, ""], frozenset({""}))


atoms = st.sampled_from(
    ["a", "b", "c d", "missing", "miss", "\\missing", "x\\|y", "1", "é", "N\0", "N", HALF, *LONG]
)
sets = st.lists(atoms, min_size=1, max_size=5).map(lambda members: "{" + "|".join(members) + "}")
cells = st.lists(
    st.one_of(sets, atoms, st.sampled_from(["*", "{}", "{a|", "{a|nobody}", "{a}", "a|b}", "", "{|a}"])),
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


def test_sets_beside_odd_cells_are_listed_at_once() -> None:
    odd = ["{missing|a}", "{N\0|a}", "{a|[1,2]}", "{a}b", "{a|b", "a|b}", "", "{", "}", "{a|x*}"]
    met = {"a": 1, "b": 2, LONG[0]: 3, LONG[3]: 4}
    found = plain_sets.plain_sets(["{a|b}", *odd, f"{{{LONG[0]}|b|{LONG[3]}}}"], met, print)
    assert found.places.tolist() == [0, len(odd) + 1]
    assert (found.starts.tolist(), found.ranks.tolist()) == ([0, 2, 5], [1, 2, 3, 2, 4])
    assert plain_sets.plain_sets(["{a|b}", HALF], met, print).places.size == 0


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


# Part by part


def listed(ranks: list[int], *starts: int, atoms: tuple[str, ...] = ()) -> ListedSets:
    places = np.arange(len(starts) - 1)
    return ListedSets(places, np.array(starts), np.array(ranks), frozenset(atoms))


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_texts_that_are_new_are_read_once(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_sets, "CELLS_AT_ONCE", at_once)
    met: dict[str, int | None] = {"a": 1}
    asked = []

    def read(cell: str) -> None:
        asked.append(cell)
        for text in cell[1:-1].split("|"):
            met.setdefault(text, {"b": 2, "c": 3}.get(text))

    texts = ["{a|b}", "a", "{b|c}", "{a|c}", "{a|x}", "{a|b|c}", "{a}"]
    found = plain_sets.plain_sets(texts, met, read)
    assert asked == ["{a|b}", "{b|c}", "{a|x}"]
    assert found.places.tolist() == [0, 2, 3, 5]
    assert found.starts.tolist() == [0, 2, 4, 6, 9]
    assert found.ranks.tolist() == [1, 2, 2, 3, 1, 3, 1, 2, 3]
    assert found.atoms == {"a", "b", "c", "x"}


@pytest.mark.parametrize(
    ("ranks", "sizes", "good"),
    [
        ([1, 2, 2, 3], [2, 2], [True, True]),
        ([1], [1], [False]),
        ([-1, -1, 1, 2], [2, 2], [False, True]),
        ([1, 2, -1, 1], [2, 2], [True, False]),
        ([2, 2, 1, 3], [2, 2], [False, True]),
        ([1, 3, 3, 1, 3], [2, 3], [True, False]),
        ([3, 1, 3], [3], [False]),
    ],
)
def test_members_are_known_and_different(ranks: list[int], sizes: list[int], good: list[bool]) -> None:
    assert plain_sets._of_different(np.array(ranks), np.array(sizes)).tolist() == good


def test_the_one_form_of_sets() -> None:
    words = ["", "1", "2", "3"]
    met: dict[str, int | None] = {"1": 1, "01": 1, "2": 2, "3": 3, "x": None}
    assert plain_sets.in_one_form(listed([1, 2, 1, 3], 0, 2, 4, atoms=("1", "2", "3")), met, words, 3)
    for other in (("01", "2", "3"), ("1", "x"), ("1", "y")):
        assert not plain_sets.in_one_form(listed([1, 2], 0, 2, atoms=other), met, words, 3)
    assert not plain_sets.in_one_form(listed([1, 2], 0, 2, atoms=("x",)), met, ["", "x", "y"], 3)
    for ranks in ([2, 1], [1, 1]):
        assert not plain_sets.in_one_form(listed(ranks, 0, 2), met, words, 3)
    assert not plain_sets.in_one_form(listed([1, 2, 3], 0, 3), met, words, 3)
