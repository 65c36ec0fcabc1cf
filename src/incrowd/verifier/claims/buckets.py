"""Buckets (as in Anatomy): the table of sensitive values by group, counted again from the original.

A row names its group, and the table says how often each value occurs in the group. Nothing published tells
which of a group's values is whose; so the verifier needs to know which record is behind each row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.columns import (
    CodedColumn,
    Ints,
    Numbering,
    Restoring,
    RowSource,
    fold,
    folded,
    numbers_of,
    text_ranks,
)
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.order import MOST_DEVIATIONS, check_order

GROUP, COUNT = "group", "count"
WHAT = "the table of sensitive values"
_WHOLE = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True, eq=False)
class OriginalValues:
    """The sensitive columns of the original: the number of each record's text, and the numbering itself."""

    codes: Mapping[str, Codes]
    numbers: Mapping[str, Numbering]


@dataclass(frozen=True, slots=True, eq=False)
class BucketLines:
    """The table: line i says that values ``codes[name][i]`` occur ``count[i]`` times in ``group[i]``."""

    group: Ints
    codes: Mapping[str, Codes]
    texts: Mapping[str, Sequence[str]]
    count: Ints

    @property
    def sizes(self) -> Ints:
        """How many people each group has, the groups numbered from 0."""
        sizes = np.zeros(int(self.group.max()) + 1, np.int64)
        np.add.at(sizes, self.group, self.count)
        return sizes

    def spread(self) -> tuple[Ints, dict[str, CodedColumn]]:
        """One entry for each person: the group, and the number of the value in each column."""
        columns = {
            name: CodedColumn(np.repeat(codes, self.count), self.texts[name])
            for name, codes in self.codes.items()
        }
        return np.repeat(self.group, self.count), columns


def read_lines(table: RowSource, hidden: OriginalValues, undo: Callable[[str], str]) -> BucketLines:
    """Read the table; its values get the numbers that they have in the original."""
    names = [GROUP, *hidden.codes, COUNT]
    require(
        [undo(name) for name in table.names] == names,
        f"{WHAT} does not have exactly the columns that it must have",
    )
    group, count = Numbering(), Numbering()
    values = [Restoring(numbers, undo) for numbers in hidden.numbers.values()]
    columns = numbers_of(table, list(enumerate([group, *values, count])), WHAT)
    require(columns[0].size > 0, f"{WHAT} is empty")
    return BucketLines(
        group=_whole(group, columns[0], f"a group in {WHAT} is not a whole number of at least 1") - 1,
        codes=dict(zip(hidden.codes, columns[1:-1], strict=True)),
        texts={name: list(numbers) for name, numbers in hidden.numbers.items()},
        count=_whole(count, columns[-1], f"a count in {WHAT} is not a whole number of at least 1"),
    )


def _whole(texts: Numbering, codes: Codes, otherwise: str) -> Ints:
    require(all(text is not None and _WHOLE.fullmatch(text) for text in texts), otherwise)
    return np.array([int(text) for text in texts], np.int64)[codes]


def groups_of_rows(codes: Codes, texts: Sequence[str]) -> Ints:
    """The group of each row, numbered from 0: they are called 1, 2, … without gaps."""
    called = Numbering({text: place for place, text in enumerate(texts)})
    group = _whole(called, codes, "the group of a row is not a whole number of at least 1") - 1
    require(
        int(group.max()) + 1 == len(texts), "the groups of the rows are not numbered 1, 2, … without gaps"
    )
    return group


def check_lines(lines: BucketLines, row_group: Ints, stated: int | None, people: int) -> None:
    """Both tables name the same groups, with as many people; lines are sorted, and none occurs twice.

    Only `people` of the rows may be of somebody who has values; where that is every row, a group has as many
    values as rows, else no more.
    """
    groups = int(row_group.max()) + 1
    require(stated in (None, groups), "the manifest states a different number of groups")
    require(int(lines.group.max()) < groups, f"{WHAT} has a group that no row belongs to")
    require(np.unique(lines.group).size == groups, f"rows belong to a group that {WHAT} does not have")
    _check_sorted(lines)
    total = sum(lines.count.tolist())  # as Python's whole numbers: forged ones may be huge
    wrong = total != people or (lines.sizes > np.bincount(row_group)).any()
    require(not wrong, f"the counts in {WHAT} do not add up to the sizes of the groups")


def _check_sorted(lines: BucketLines) -> None:
    """By number of the group and then by text, so that the order of lines tells nothing."""
    ranks = [lines.group]
    for name, codes in lines.codes.items():
        ranks.append(text_ranks(lines.texts[name])[codes])
    line = folded(ranks)
    require(np.unique(line).size == line.size, f"{WHAT} has the same line twice")
    require(bool((np.diff(line) > 0).all()), f"the lines of {WHAT} are not sorted by group and text")


def check_values(
    lines: BucketLines, row_group: Ints, match: Ints, hidden: OriginalValues, linked: bool
) -> None:
    """In every group, the values of its rows' records are exactly those that the table lists.

    Numbers in `match` beyond the last record are people without values. Where the match was not handed over
    (`linked`) but found, others may fit as well.
    """
    of_record, of_line = _joint(lines, hidden)
    size = int(max(of_record.max(), of_line.max())) + 1
    listed = np.zeros(size, np.int64)
    np.add.at(listed, of_line, lines.count)
    lacking = int(np.maximum(listed - np.bincount(of_record, minlength=size), 0).sum())
    require(not lacking, f"{WHAT} has {lacking} values more than the original table")
    has = match < of_record.size
    of_row = row_group[has] * size + of_record[match[has]]
    groups = _differing(of_row, lines.group * size + of_line, lines.count, size)
    if groups:
        if linked:
            raise CheckFailed(f"in {groups} groups, {WHAT} does not list the values of their records")
        raise CheckFailed(
            f"without the links in the audit folder this cannot be decided: several records fit a row, and as"
            f" the verifier matches them, {groups} groups have other values than {WHAT} lists"
        )


def _joint(lines: BucketLines, hidden: OriginalValues) -> tuple[Ints, Ints]:
    """One number for each combination of sensitive texts, of records and of lines."""
    both = [np.concatenate([codes, lines.codes[name]]) for name, codes in hidden.codes.items()]
    part = fold(both, [len(hidden.numbers[name]) for name in hidden.codes])
    records = part.size - lines.group.size
    return part[:records], part[records:]


def _differing(of_row: Ints, of_line: Ints, count: Ints, size: int) -> int:
    """In how many groups the values of rows are not those of lines; both as group * size + value."""
    key, place = np.unique(np.concatenate([of_row, of_line]), return_inverse=True)
    surplus = np.bincount(place[: of_row.size], minlength=key.size)
    np.subtract.at(surplus, place[of_row.size :], count)
    return int(np.unique(key[surplus != 0] // size).size)


def check_group_numbers(row_group: Ints, match: Ints) -> None:
    """Refuse numbers of groups that follow the order in which the original has their records."""
    groups = int(row_group.max()) + 1
    first = np.full(groups, np.iinfo(np.int64).max)
    np.minimum.at(first, row_group, match)
    place = np.empty(groups, np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(groups)
    try:
        check_order(np.arange(groups), place, groups)
    except CheckFailed:
        raise CheckFailed("the groups are numbered in the order of the original table") from None


def check_value_order(row_group: Ints, row_class: Ints, match: Ints, hidden: OriginalValues) -> None:
    """Refuse rows whose order follows their sensitive values, in the whole file or inside groups.

    A row does not show its values, so its place must not either. Rows of one group that say the same count
    as one: nobody can tell them apart. Where none of them is of somebody who has values, they are left out.
    """
    kind = folded([row_group, row_class])
    has = match < next(iter(hidden.codes.values())).size
    size = np.bincount(kind[has], minlength=int(kind.max()) + 1)
    seen = size[kind] > 0
    group = np.unique(row_group[seen], return_inverse=True)[1]
    for name, codes in hidden.codes.items():
        for score in _scores(codes[match[has]], list(hidden.numbers[name])):
            even = np.bincount(kind[has], score, size.size)[kind[seen]] / size[kind[seen]]
            most = max(_deviations(np.zeros_like(group), even), _deviations(group, even))
            require(most < MOST_DEVIATIONS, "the order of the rows reveals their sensitive values")


def _scores(value: Codes, texts: Sequence[str]) -> Iterator[Ints]:
    """Orders of values in which a file may be sorted: as met in the original, by text, by frequency."""
    yield value.astype(np.int64)
    yield text_ranks(texts)[value]
    yield np.bincount(value)[value]


def _deviations(group: Ints, score: NDArray[np.float64]) -> float:
    """How far from chance the order of rows inside groups is, in standard deviations.

    In a group of s rows in random order, the sum of a_i b_i over their centred places a and scores b has mean
    0 and variance sum(a^2) sum(b^2) / (s-1); groups are independent of each other.
    """
    order = np.argsort(group, kind="stable")
    of, scores = group[order], score[order]
    sizes = np.bincount(of)
    first = np.cumsum(sizes) - sizes
    a = np.arange(of.size) - first[of] - (sizes[of] - 1) / 2
    b = scores - (np.bincount(of, scores) / sizes)[of]
    variance = np.bincount(of, a * a) * np.bincount(of, b * b) / np.maximum(sizes - 1, 1)
    total = float(variance.sum())
    return abs(float((a * b).sum())) / math.sqrt(total) if total > 0 else 0.0
