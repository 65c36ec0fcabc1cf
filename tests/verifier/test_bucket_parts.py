"""The table of sensitive values, part by part: each check refuses by itself, in its own words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from incrowd.verifier.claims.buckets import (
    BucketLines,
    OriginalValues,
    _deviations,
    check_group_numbers,
    check_lines,
    check_value_order,
    check_values,
    groups_of_rows,
    read_lines,
)
from incrowd.verifier.columns import Numbering, as_is
from incrowd.verifier.failure import CheckFailed


@dataclass
class Lines:
    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]

    def __iter__(self) -> Any:
        return iter(self.rows)


TEXTS = ["flu", "cough", "ulcer"]
HEADER = ["group", "ill", "count"]


def values(codes: Sequence[int], texts: Sequence[str] = TEXTS) -> OriginalValues:
    numbers = Numbering({text: number for number, text in enumerate(texts)})
    return OriginalValues({"ill": np.array(codes, np.int32)}, {"ill": numbers})


def lines(*said: tuple[int, int, int]) -> BucketLines:
    """Lines of group, value and count."""
    group, code, count = (np.array(column) for column in zip(*said, strict=True))
    return BucketLines(group, {"ill": code.astype(np.int32)}, {"ill": TEXTS}, count)


def test_a_table_of_one_line_is_read_and_one_of_none_is_refused() -> None:
    found = read_lines(Lines(HEADER, [["1", "flu", "2"]]), values([0, 0]), as_is)
    assert (found.group.tolist(), found.count.tolist(), found.sizes.tolist()) == ([0], [2], [2])
    with pytest.raises(CheckFailed, match="the table of sensitive values is empty"):
        read_lines(Lines(HEADER, []), values([0]), as_is)


def test_groups_are_numbered_without_gaps() -> None:
    assert groups_of_rows(np.array([1, 0], np.int32), ["2", "1"]).tolist() == [0, 1]
    for texts in (["1", "3"], ["2", "3"]):
        with pytest.raises(CheckFailed, match="without gaps"):
            groups_of_rows(np.array([0, 1], np.int32), texts)


GROUPS = np.array([0, 0, 1, 1])
RIGHT = ((0, 1, 1), (0, 0, 1), (1, 0, 2))


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ((*RIGHT, (2, 0, 1)), "has a group that no row belongs to"),
        (((0, 1, 2), (0, 0, 2)), "rows belong to a group that the table of sensitive values does not have"),
        (((0, 1, 1), (0, 1, 1), (1, 0, 2)), "has the same line twice"),
        (((0, 0, 1), (0, 1, 1), (1, 0, 2)), "not sorted by group and text"),
        (((0, 1, 1), (0, 0, 1), (1, 0, 1)), "do not add up"),
        (((0, 1, 1), (0, 0, 2), (1, 0, 1)), "do not add up"),
    ],
    ids=["beyond", "lacking", "twice", "unsorted", "too few", "moved"],
)
def test_lines_that_do_not_fit_the_groups(said: Any, words: str) -> None:
    check_lines(lines(*RIGHT), GROUPS, 2, 4)
    with pytest.raises(CheckFailed, match=words):
        check_lines(lines(*said), GROUPS, None, 4)
    with pytest.raises(CheckFailed, match="a different number of groups"):
        check_lines(lines(*RIGHT), GROUPS, 3, 4)


def test_values_are_those_of_the_records_behind_the_rows() -> None:
    """Where the links are known, and in other words where they are not."""
    match, records = np.array([2, 0, 1, 3]), values([1, 0, 0, 0])
    check_values(lines(*RIGHT), GROUPS, match, records, True)
    more = lines((0, 1, 1), (0, 0, 1), (1, 1, 1), (1, 2, 1))
    with pytest.raises(CheckFailed, match="has 2 values more than the original"):
        check_values(more, GROUPS, match, records, True)
    fewer = values([1, 0, 0, 2])  # a value that no line names
    few = lines((0, 1, 1), (0, 0, 1), (1, 0, 1))
    with pytest.raises(CheckFailed, match="in 1 groups, the table of sensitive values does not list"):
        check_values(few, GROUPS, match, fewer, True)
    elsewhere = np.array([1, 2, 0, 3])
    with pytest.raises(CheckFailed, match="in 2 groups, the table of sensitive values does not list"):
        check_values(lines(*RIGHT), GROUPS, elsewhere, records, True)
    with pytest.raises(CheckFailed, match="without the links in the audit folder this cannot be decided"):
        check_values(lines(*RIGHT), GROUPS, elsewhere, records, False)


def test_groups_of_one_record_are_looked_at_too(rng: np.random.Generator) -> None:
    """The group of the last record stands last, whatever its number."""
    with pytest.raises(CheckFailed, match="numbered in the order"):
        check_group_numbers(np.arange(30), np.arange(30))
    check_group_numbers(rng.permutation(30), np.arange(30))
    thirteen = np.concatenate([np.arange(13), rng.permutation(np.arange(13, 30))[::-1]])
    with pytest.raises(CheckFailed, match="numbered in the order"):
        check_group_numbers(thirteen, np.arange(30))


def naive_deviations(group: Sequence[int], score: Sequence[float]) -> float:
    total, variance = 0.0, 0.0
    for one in set(group):
        mine = [score[i] for i in range(len(group)) if group[i] == one]
        size = len(mine)
        a = [i - (size - 1) / 2 for i in range(size)]
        b = [x - sum(mine) / size for x in mine]
        total += sum(x * y for x, y in zip(a, b, strict=True))
        if size > 1:
            variance += sum(x * x for x in a) * sum(x * x for x in b) / (size - 1)
    return abs(total) / math.sqrt(variance) if variance > 0 else 0.0


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_deviations_are_those_of_the_formula(scale: float, rng: np.random.Generator) -> None:
    for groups in (1, 3, 8):
        group = np.unique(rng.integers(0, groups, 20), return_inverse=True)[1]
        score = rng.integers(0, 4, 20).astype(np.float64) * scale
        assert _deviations(group, score) == pytest.approx(naive_deviations(group.tolist(), score.tolist()))
    assert _deviations(np.arange(3), np.arange(3.0)) == 0


def test_rows_in_the_order_of_their_values_are_refused_and_alike_ones_count_as_one(
    rng: np.random.Generator,
) -> None:
    """Rows of one group and class are alike: only the order among kinds is looked at."""
    n = 200
    codes = np.sort(rng.integers(0, 3, n)).astype(np.int32)
    match, one = np.arange(n), np.zeros(n, np.int64)
    with pytest.raises(CheckFailed, match="reveals their sensitive values"):
        check_value_order(one, np.arange(n), match, values(codes.tolist()))
    check_value_order(one, one, match, values(codes.tolist()))
    check_value_order(np.arange(n) // 2, one, rng.permutation(n), values(codes.tolist()))
    with pytest.raises(CheckFailed, match="reveals their sensitive values"):
        check_value_order(one, np.arange(n) // 2, match, values(codes.tolist()))
    with pytest.raises(CheckFailed, match="reveals their sensitive values"):
        check_value_order(np.arange(n) % 2, np.arange(n) // 2, match, values(codes.tolist()))
