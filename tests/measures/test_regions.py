"""A published table that is made from regions says what reading its texts says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.encode import encode
from incrowd.flow import Assignment, Neighbourhoods, Partition, Table
from incrowd.generalize import generalize
from incrowd.measures import Published, cells, published, published_from_regions
from incrowd.measures.counted import CountedMicrodata, WeighedPublished
from incrowd.measures.loss import measure_all
from incrowd.policy import Policy
from incrowd.publishing import large_classes
from incrowd.publishing.large_classes import WeighedRegions
from incrowd.publishing.render import published_table

# Leaves of different depth, one label at two levels, a missing value inside the tree or beside it.
CITIES = ("Rome;Italy;Europe;*", "Pisa;Italy;Europe;*", "Oslo;Norway;Europe;*", "Lima;Peru;Peru;*")
HOMES = (*CITIES, ";nowhere;elsewhere;*")
CELLS = {
    "age": ["", "1", "2", "3.5", "7", "20"],
    "score": ["4", "5", "9"],
    "day": ["", "2020-01-01", "2020-03-05", "2021-12-31"],
    "job": ["", "a|b", "c", "{d}", "*", "e"],
    "city": ["", "Rome", "Pisa", "Oslo", "Lima"],
    "home": ["", "Rome", "Pisa", "Oslo", "Lima"],
    "town": ["Rome", "Pisa", "Oslo", "Lima"],
    "grade": ["", "low", "middle", "high"],
}
QUASI = {
    "age": {"type": "numeric"},
    "score": {"type": "numeric", "publish": "set"},
    "day": {"type": "date"},
    "job": {"type": "categorical"},
    "city": {"type": "categorical", "hierarchy": "cities.csv"},
    "home": {"type": "categorical", "hierarchy": "homes.csv"},
    "town": {"type": "categorical", "hierarchy": "cities.csv"},
    "grade": {"type": "ordered", "values": ["low", "middle", "high"]},
}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    folder: Path = tmp_path_factory.mktemp("policy")
    (folder / "cities.csv").write_text("\n".join(CITIES) + "\n", encoding="utf-8")
    (folder / "homes.csv").write_text("\n".join(HOMES) + "\n", encoding="utf-8")
    return Policy.from_dict({"quasi_identifiers": QUASI, "privacy": {"k": 2}}, folder=folder)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n = draw(st.integers(1, 12))
    return Table.of(
        {
            name: draw(st.lists(st.sampled_from(texts), min_size=n, max_size=n))
            for name, texts in CELLS.items()
        }
    )


@st.composite
def groupings(draw: st.DrawFn, n: int) -> Partition | Neighbourhoods:
    if draw(st.booleans()):
        labels = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
        return Partition(np.unique(labels, return_inverse=True)[1].astype(np.int32))
    around = [sorted({i, *draw(st.sets(st.integers(0, n - 1), max_size=3))}) for i in range(n)]
    starts = np.cumsum([0, *map(len, around)])
    return Neighbourhoods(starts, np.array([who for each in around for who in each], np.int32))


def parts(shown: Published) -> list[object]:
    names = ("low", "high", "lower", "upper", "missing", "count", "node", "starts", "first", "last", "same")
    cells = [{name: getattr(cells, name).tolist() for name in names} for cells in shown.cells]
    return [*cells, *(column.tolist() for column in shown.rows)]


@settings(max_examples=300)
@given(table=tables(), data=st.data())
def test_regions_say_what_their_texts_say(policy: Policy, table: Table, data: st.DataObject) -> None:
    schema = policy.schema(table)
    records, n = encode(table, schema), len(table)
    regions = generalize(records, data.draw(groupings(n)))
    order = np.array(data.draw(st.permutations(range(n))))
    rows = published_table(table, schema, records, regions, Assignment(order, order))
    read, made = published(rows, records), published_from_regions(regions, records.attributes, order)
    assert parts(made) == parts(read)
    assert made.attributes == read.attributes


@settings(deadline=None)
@given(table=tables(), data=st.data(), at_once=st.integers(1, 20))
def test_loss_of_a_few_cells_at_a_time_is_that_of_all(
    policy: Policy, table: Table, data: st.DataObject, at_once: int
) -> None:
    schema = policy.schema(table)
    records, n = encode(table, schema), len(table)
    regions = generalize(records, data.draw(groupings(n)))
    counts = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(regions), max_size=len(regions))))
    each = np.arange(len(regions), dtype=np.int32)
    weighed = WeighedRegions(each, regions.cell, regions.cells, counts=counts, of_class=each.astype(np.int64))
    tallies = tuple(
        np.array(data.draw(st.lists(st.integers(0, 9), min_size=len(a), max_size=len(a))))
        for a in records.attributes
    )
    counted = CountedMicrodata(
        records.codes, records.attributes, rows=int(counts.sum()), tallies=tallies if at_once % 2 else ()
    )
    shown = published_from_regions(weighed, records.attributes)
    rows = WeighedPublished(shown.attributes, shown.cells, shown.rows, counts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large_classes, "CELLS_AT_ONCE", at_once)
        found = large_classes.measured(weighed, counted, 2)
    if counted.tallies:
        assert found == pytest.approx(measure_all(rows, counted, 2))
    else:
        assert "entropy" not in found
        assert len(found) > 5


SAYING = st.tuples(
    st.frozensets(st.integers(0, 5), min_size=1), st.sampled_from([-0.0, 0.0, 1.5]), st.integers(-1, 1)
)


@given(said=st.lists(SAYING, min_size=1, max_size=12), collide=st.booleans(), at_once=st.integers(1, 12))
@settings(deadline=None)
def test_cells_that_say_the_same_have_one_number(
    said: list[tuple[frozenset[int], float, int]], collide: bool, at_once: int
) -> None:
    """Whatever hashes say: with equal hashes every cell is compared with the others."""
    runs = [[(code, code) for code in sorted(codes)] for codes, _, _ in said]
    starts = np.cumsum([0, *map(len, runs)])
    flat = np.array([run for each in runs for run in each], np.int32)
    ends = np.array([(end, 2.0) for _, end, _ in said])
    nodes = np.array([node for _, _, node in said], np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "_COMPARED", at_once)
        if collide:
            patch.setattr(cells, "_MIXING", np.zeros(1, np.uint64))
        found = cells._first_alike(starts, flat, ends, nodes)
    assert found.tolist() == [said.index(each) for each in said]
