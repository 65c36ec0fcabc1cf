"""Who is behind which row: links that fit, and searches with own people first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from incrowd.verifier import truth as module
from incrowd.verifier.cell_regions import CellRegion, CellRegions, ListedSets
from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.matching import Matching, MatchingNetwork
from incrowd.verifier.truth import (
    ClassTree,
    CodedTables,
    Kinds,
    fits,
    person_of_each_row,
    record_of_each_row,
)

NONE = np.empty(0, np.int64)
NO_SETS = ListedSets(NONE, np.zeros(1, np.int64), NONE, frozenset())


def tables(
    records: Sequence[int],
    rows: Sequence[tuple[int, int]],
    private: Sequence[int] = (),
    shown: Sequence[int] = (),
) -> CodedTables:
    """Records at these ranks; a row for each range of ranks, every row a class of its own."""
    return CodedTables(
        record_private=np.array(private or [0] * len(records)),
        record_ranks=[np.array(records)],
        row_private=np.array(shown or [0] * len(rows)),
        row_class=np.arange(len(rows)),
        class_cells=[np.arange(len(rows))],
        regions=[CellRegions.of([CellRegion(low, high) for low, high in rows], NO_SETS, 9)],
    )


@pytest.mark.parametrize(
    ("links", "right"),
    [
        ([0, 1], True),
        ([1, 0], False),
        ([0, 0], False),
        ([0, 2], False),
        ([0, -1], False),
        ([0], False),
        ([0, 1, 2], False),
        ([0.0, 1.0], False),
    ],
)
def test_links_give_every_row_a_record_of_its_own(links: list[int], right: bool) -> None:
    assert fits(tables([1, 2], [(1, 2), (2, 3)]), np.array(links)) == right


def test_nobody_has_two_rows() -> None:
    three = tables([1, 2, 2], [(1, 2)] * 3)
    assert fits(three, np.array([2, 0, 1]))
    assert not fits(three, np.array([0, 0, 1]))


def test_links_have_the_private_part_of_their_rows() -> None:
    both = tables([1, 2], [(1, 2), (1, 2)], private=[0, 1], shown=[1, 0])
    assert fits(both, np.array([1, 0]))
    assert not fits(both, np.array([0, 1]))
    assert record_of_each_row(both, None).tolist() == [1, 0]


@pytest.mark.parametrize("ranks", [[1, 2], [2, 1], [1, 1]])
def test_own_people_go_before_others(ranks: list[int]) -> None:
    """One row fits both; it is the own person's."""
    assert person_of_each_row(tables(ranks, [(1, 2)]), 1, None).tolist() == [0]
    assert person_of_each_row(tables(ranks, [(1, 2)]), 1, np.array([1])).tolist() == [0]


def test_own_people_keep_a_row_while_others_find_theirs() -> None:
    """The own person fits both rows, another one only the first."""
    found = person_of_each_row(tables([2, 1], [(1, 2), (2, 3)]), 1, None)
    assert found.tolist() == [1, 0]
    with pytest.raises(CheckFailed, match="1 people of the original table have no row of their own"):
        person_of_each_row(tables([5, 1], [(1, 2)]), 1, None)
    with pytest.raises(CheckFailed, match="1 rows describe nobody of either table"):
        person_of_each_row(tables([1, 2], [(1, 2), (5, 6)]), 1, None)


def test_records_are_handed_on_along_long_chains() -> None:
    """Row i fits records i and i + 1, and the last row only the last record but one."""
    n = 7
    rows = [(i + 1, i + 2) for i in range(n - 1)] + [(n - 1, n - 1)]
    chain = tables([*range(1, n + 1)], rows)
    found = record_of_each_row(chain, None).tolist()
    assert sorted(found) == [*range(n)]
    assert all(low <= found[p] + 1 <= high for p, (low, high) in enumerate(rows))


def matchable(found: CodedTables, rows: Sequence[tuple[int, int]]) -> bool:
    """By augmenting paths, one row after another."""
    ranks, own = found.record_ranks[0].tolist(), found.record_private.tolist()
    shown, taken = found.row_private.tolist(), dict[int, int]()

    def seated(row: int, seen: set[int]) -> bool:
        low, high = rows[row]
        for record in range(len(ranks)):
            if low <= ranks[record] <= high and own[record] == shown[row] and record not in seen:
                seen.add(record)
                if record not in taken or seated(taken[record], seen):
                    taken[record] = row
                    return True
        return False

    return all(seated(row, set()) for row in range(len(rows)))


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_no_row_gets_a_record_with_another_private_part(parts: int, rng: np.random.Generator) -> None:
    """Wide and narrow rows in many leaves; every second table has two private parts exchanged."""
    ends = {True: 0, False: 0}
    for number in range(40):
        n = 24
        ranks, private = rng.integers(1, 9, n), np.sort(rng.integers(0, parts, n))
        private[:parts] = np.arange(parts)
        reach = rng.integers(0, 3, n) * (rng.integers(0, 3, n) == 0)
        rows = [(max(1, r - w), min(8, r + w)) for r, w in zip(ranks.tolist(), reach.tolist(), strict=True)]
        shown = private.copy()
        if number % 2:
            a, b = rng.integers(0, n, 2)
            shown[[a, b]] = shown[[b, a]]
        if number % 3 == 0:  # who has the last private part has no row
            kept = np.flatnonzero(shown < max(parts - 1, 1))
            rows, shown = [rows[p] for p in kept.tolist()], shown[kept]
        found = tables(ranks.tolist(), rows, private.tolist(), shown.tolist())
        right = matchable(found, rows)
        ends[right] += 1
        if not right:
            with pytest.raises(CheckFailed):
                record_of_each_row(found, None)
            continue
        match = record_of_each_row(found, None)
        assert fits(found, match)
    assert ends[True] >= 15
    assert parts == 1 or ends[False] > 2


def test_no_record_is_handed_on_twice() -> None:
    """Two rows of the first kind give up records for those of the second; only one finds another."""
    row, record = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2])
    for spare, enough in ((1, False), (2, True)):
        network = MatchingNetwork.of_edges(row, record, np.array([2, 2]), np.array([2, spare, 0]))
        matching = Matching(network)
        assert matching.complete() == enough
        assert sum(matching.unmet) == 2 - spare
        assert matching.left == [0, 0, 0]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 1000])
def test_pairs_come_in_pieces_each_once(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", most)
    found = tables([1, 2, 3, 4, 5], [(1, 3), (2, 2), (2, 4), (3, 5), (5, 5)])
    kinds = Kinds(found, ClassTree(found), np.arange(5), np.arange(5))
    pieces = [(row.tolist(), record.tolist()) for row, record in kinds._candidates(kinds.rows, kinds.records)]
    pairs = [pair for piece in pieces for pair in zip(*piece, strict=True)]
    assert len(set(pairs)) == len(pairs)
    assert {(p, r) for p, r in pairs if found.consistent(np.array([p]), np.array([r]))[0]} == {
        *((0, r) for r in (0, 1, 2)),
        (1, 1),
        *((2, r) for r in (1, 2, 3)),
        *((3, r) for r in (2, 3, 4)),
        (4, 4),
    }
    together = [record for _, records in pieces for record in dict.fromkeys(records)]
    assert together == [*dict.fromkeys(record for _, record in pairs)]
    counts = [records.count(record) for _, records in pieces for record in dict.fromkeys(records)]
    ends = [0]
    for _, records in pieces:
        ends.append(ends[-1] + len(set(records)))
    shares = (np.cumsum(counts) // most).tolist()
    assert [shares[a] for a in ends[:-1]] == sorted(set(shares))


@pytest.mark.parametrize("unknown", [1, 2, 5])
def test_no_row_has_a_private_part_that_nobody_has(unknown: int) -> None:
    """It fits everybody otherwise, in all leaves of the tree, and there are people enough."""
    rows = [*((i, i) for i in range(1, 9)), (1, 8)]
    people = [*range(1, 9)] * 2
    everybody = tables(people, rows, shown=[0] * 9)
    assert fits(everybody, person_of_each_row(everybody, 0, None))
    with pytest.raises(CheckFailed, match="1 rows describe nobody of either table"):
        person_of_each_row(tables(people, rows, shown=[0] * 8 + [unknown]), 0, None)


def classes(
    records: Sequence[tuple[int, int]], rows: Sequence[tuple[int, int]], ranges: Sequence[tuple[int, int]]
) -> CodedTables:
    """Records as (rank, private part), rows as (class, private part), the range of ranks of each class."""
    return CodedTables(
        record_private=np.array([private for _, private in records], np.int64),
        record_ranks=[np.array([rank for rank, _ in records], np.int64)],
        row_private=np.array([private for _, private in rows], np.int64),
        row_class=np.array([number for number, _ in rows], np.int64),
        class_cells=[np.arange(len(ranges))],
        regions=[CellRegions.of([CellRegion(low, high) for low, high in ranges], NO_SETS, 9)],
    )


RECORDS = [(1, 0), (2, 1), (2, 0), (5, 1), (6, 1), (8, 0)]
ROWS = [(1, 1), (0, 0), (1, 0), (0, 1), (1, 1), (0, 0)]


@pytest.mark.parametrize("most", [1, 2, 1000])
@pytest.mark.parametrize("some", [1, 3, 1000])
def test_where_classes_do_not_overlap_counting_is_enough(
    most: int, some: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", most)
    monkeypatch.setattr(module, "SOME", some)
    monkeypatch.setattr(module, "Kinds", None)  # no search
    apart = classes(RECORDS, ROWS, [(1, 3), (4, 8)])
    match = record_of_each_row(apart, None)
    assert match.tolist() == [3, 0, 5, 1, 4, 2]
    assert fits(apart, match)


@pytest.mark.parametrize(
    ("rows", "ranges"),
    [
        pytest.param(ROWS, [(1, 5), (4, 8)], id="one record fits two classes"),
        pytest.param(ROWS[:-1], [(1, 3), (4, 8)], id="a record has no row"),
        pytest.param([*ROWS, (0, 0)], [(1, 3), (4, 8)], id="a row more than records"),
        pytest.param(ROWS, [(1, 3), (4, 6)], id="a record fits no class"),
        pytest.param([(0, 1), *ROWS[1:]], [(1, 3), (4, 8)], id="a row in the wrong class"),
        pytest.param([(1, 0), *ROWS[1:]], [(1, 3), (4, 8)], id="a row with another's private part"),
    ],
)
def test_all_else_is_searched(rows: list[tuple[int, int]], ranges: list[tuple[int, int]]) -> None:
    found = classes(RECORDS, rows, ranges)
    for some in (1, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "SOME", some)
            assert module._record_of_each_row_by_counting(found, ClassTree(found)) is None
    true = (rows == ROWS and ranges[1] == (4, 8)) or len(rows) < len(RECORDS)
    if true:
        assert fits(found, record_of_each_row(found, None))
    else:
        with pytest.raises(CheckFailed):
            record_of_each_row(found, None)


def test_no_rows_and_no_records_are_no_fault() -> None:
    nobody = classes([], [], [(1, 3)])
    assert record_of_each_row(nobody, None).size == 0


def test_few_records_are_looked_at_before_all_of_them_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where classes overlap, all records would be looked at for nothing."""
    asked: list[int] = []
    plain = module._only_class

    def watched(found: CodedTables, tree: ClassTree, records: Ints) -> object:
        asked.append(records.size)
        return plain(found, tree, records)

    monkeypatch.setattr(module, "_only_class", watched)
    overlapping = tables([1] * 5000, [(1, 2), (1, 3)] * 2500)
    assert fits(overlapping, record_of_each_row(overlapping, None))
    assert asked == [1000]


def most_given(edges: set[tuple[int, int]], demand: list[int], supply: list[int]) -> int:
    """How many rows can get a record, by augmenting paths, one record at a time."""
    held: dict[tuple[int, int], int] = {}
    met = 0
    for row in [row for row, wanted in enumerate(demand) for _ in range(wanted)]:
        seen: set[int] = set()

        def finds(row: int, seen: set[int]) -> bool:
            for record in sorted(record for at, record in edges if at == row and record not in seen):
                seen.add(record)
                users = [other for (other, of), count in held.items() if of == record and count]
                if sum(held.get((other, record), 0) for other in users) < supply[record]:
                    held[row, record] = held.get((row, record), 0) + 1
                    return True
                for other in users:
                    if finds(other, seen):
                        held[other, record] -= 1
                        held[row, record] = held.get((row, record), 0) + 1
                        return True
            return False

        met += finds(row, seen)
    return met


def test_what_is_forced_leaves_as_much_to_be_met(rng: np.random.Generator) -> None:
    """What edges give is theirs to give, nothing is lost by it, and no edge is left that can give nothing."""
    given_some = 0
    for _ in range(150):
        rows, records = (int(n) for n in rng.integers(1, 7, 2))
        edges = {(r, c) for r in range(rows) for c in range(records) if rng.random() < rng.choice([0.2, 0.5])}
        if not edges:
            continue
        demand, supply = rng.integers(1, 4, rows), rng.integers(1, 4, records)
        row, record = (np.array(side) for side in zip(*sorted(edges), strict=True))
        network = MatchingNetwork.of_edges(row, record, demand, supply)
        parts, rest = network.without_the_forced()
        to_row, of_record = np.zeros(rows, np.int64), np.zeros(records, np.int64)
        for record_of, row_of, amount in parts:
            assert (amount > 0).all()
            assert {*zip(row_of.tolist(), record_of.tolist(), strict=True)} <= edges
            np.add.at(to_row, row_of, amount)
            np.add.at(of_record, record_of, amount)
        assert (rest.demand == demand - to_row).all()
        assert (rest.supply == supply - of_record).all()
        assert (rest.demand >= 0).all()
        assert (rest.supply >= 0).all()
        left = {*zip(rest.row_of_each_edge.tolist(), rest.records.tolist(), strict=True)}
        assert left <= edges
        assert all(rest.demand[r] and rest.supply[c] for r, c in left)
        asked = [(edges, network), (left, rest)]
        most, fewer = (most_given(some, of.demand.tolist(), of.supply.tolist()) for some, of in asked)
        assert most == int(to_row.sum()) + fewer
        given_some += bool(to_row.sum())
    assert given_some > 50
