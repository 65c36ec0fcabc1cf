"""Sensitive values that stand apart from the rows: a table of groups, counted again from the original.

A row names its group, and the table says how often each value occurs in it. Nothing published tells which of
a group's values is whose; so the judge needs to know which record is behind each row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.order import MOST_DEVIATIONS, check_order
from incrowd.verifier.rows import Codes, Ints, Numbering, Restoring, Rows, fold, numbers_of

KEY = "apart"  # in the manifest
GROUP, COUNT = "group", "count"
MODEL = "sensitive-groups"
WHAT = "the table of sensitive values"
_WHOLE = re.compile(r"[1-9][0-9]{0,17}")


def stands_apart(claims: Sequence[Claim]) -> bool:
    """Do the claims speak of sensitive values apart from the rows?"""
    return any(claim.model == MODEL for claim in claims)


@dataclass(frozen=True, slots=True, eq=False)
class Hidden:
    """The sensitive columns of the original: the number of each record's text, and the numbering itself."""

    codes: Mapping[str, Codes]
    numbers: Mapping[str, Numbering]


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
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

    def spread(self) -> tuple[Ints, dict[str, tuple[Codes, Sequence[str]]]]:
        """One entry for each person: the group, and the number of the value in each column."""
        columns = {
            name: (np.repeat(codes, self.count), self.texts[name]) for name, codes in self.codes.items()
        }
        return np.repeat(self.group, self.count), columns


def read_lines(table: Rows, hidden: Hidden, undo: Callable[[str], str]) -> Lines:
    """Read the table; its values get the numbers that they have in the original."""
    names = [GROUP, *hidden.codes, COUNT]
    need(
        [undo(name) for name in table.names] == names, f"{WHAT} has not exactly the columns that it must have"
    )
    group, count = Numbering(), Numbering()
    values = [Restoring(numbers, undo) for numbers in hidden.numbers.values()]
    columns = numbers_of(table, list(enumerate([group, *values, count])), WHAT)
    need(columns[0].size > 0, f"{WHAT} is empty")
    return Lines(
        group=_whole(group, columns[0], "a group has no number") - 1,
        codes=dict(zip(hidden.codes, columns[1:-1], strict=True)),
        texts={name: list(numbers) for name, numbers in hidden.numbers.items()},
        count=_whole(count, columns[-1], "a count is not a whole number of at least 1"),
    )


def _whole(texts: Numbering, codes: Codes, otherwise: str) -> Ints:
    need(all(text is not None and _WHOLE.fullmatch(text) for text in texts), otherwise)
    return np.array([int(text) for text in texts], np.int64)[codes]


def groups_of_rows(codes: Codes, texts: Sequence[str]) -> Ints:
    """The group of each row, numbered from 0: they are called 1, 2, … without gaps."""
    called = Numbering({text: place for place, text in enumerate(texts)})
    group = _whole(called, codes, "a row names no number of a group") - 1
    need(
        int(group.max()) + 1 == len(texts), "the groups that rows name are not numbered 1, 2, … without gaps"
    )
    return group


def check_lines(lines: Lines, row_group: Ints, stated: int | None, people: int) -> None:
    """Both tables name the same groups, with as many people; lines are sorted, and none occurs twice.

    Only `people` of the rows may be of somebody who has values; where that is every row, a group has as many
    values as rows, else no more.
    """
    groups = int(row_group.max()) + 1
    need(stated in (None, groups), "there are not as many groups as the release says")
    need(int(lines.group.max()) < groups, f"{WHAT} has a group that no row names")
    need(np.unique(lines.group).size == groups, f"rows name a group that {WHAT} does not have")
    _check_sorted(lines)
    total = sum(lines.count.tolist())  # as Python's whole numbers: forged ones may be huge
    wrong = total != people or (lines.sizes > np.bincount(row_group)).any()
    need(not wrong, f"the counts in {WHAT} are not the sizes of the groups")


def _check_sorted(lines: Lines) -> None:
    """By number of the group and then by text, so that the order of lines tells nothing."""
    ranks = [lines.group]
    for name, codes in lines.codes.items():
        texts = lines.texts[name]
        place = np.empty(len(texts), np.int64)
        place[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        ranks.append(place[codes])
    line = fold(ranks, [int(rank.max()) + 1 for rank in ranks])
    need(np.unique(line).size == line.size, f"a line of {WHAT} occurs twice")
    need(bool((np.diff(line) > 0).all()), f"the lines of {WHAT} are not sorted by group and text")


def check_values(lines: Lines, row_group: Ints, match: Ints, hidden: Hidden, linked: bool) -> None:
    """In every group, the values of its rows' records are exactly those that the table says.

    Parameters
    ----------
    match : array of shape (rows,)
        The record behind each row; numbers beyond the last record are people without values.
    linked : bool
        Was the match handed over, and fits the rows? Else it was found, and others may fit as well.
    """
    of_record, of_line = _joint(lines, hidden)
    size = int(max(of_record.max(), of_line.max())) + 1
    said = np.zeros(size, np.int64)
    np.add.at(said, of_line, lines.count)
    lacking = int(np.maximum(said - np.bincount(of_record, minlength=size), 0).sum())
    need(not lacking, f"{WHAT} has {lacking} values that no record is left for")
    has = match < of_record.size
    of_row = row_group[has] * size + of_record[match[has]]
    groups = _differing(of_row, lines.group * size + of_line, lines.count, size)
    if groups:
        if linked:
            raise Fault(f"{groups} groups have other values than {WHAT} says")
        raise Fault(
            f"without the audit's links it cannot be decided whose values a group has: several records fit a "
            f"row, and as the judge matches them, {groups} groups have other values than {WHAT} says"
        )


def _joint(lines: Lines, hidden: Hidden) -> tuple[Ints, Ints]:
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


def check_numbers(row_group: Ints, match: Ints) -> None:
    """Refuse numbers of groups that follow the order in which the original has their records."""
    groups = int(row_group.max()) + 1
    first = np.full(groups, match.max(initial=0) + 1)
    np.minimum.at(first, row_group, match)
    place = np.empty(groups, np.int64)
    place[np.argsort(first, kind="stable")] = np.arange(groups)
    try:
        check_order(np.arange(groups), place, groups)
    except Fault:
        raise Fault("the groups are numbered in the order of the original table") from None


def check_places(row_group: Ints, row_class: Ints, match: Ints, hidden: Hidden) -> None:
    """Refuse rows whose order follows their sensitive values, in the whole file or inside groups.

    A row does not show its values, so its place must not either. Rows of one group that say the same count
    as one: nobody can tell them apart. Where none of them is of somebody who has values, they are left out.
    """
    kind = fold([row_group, row_class], [int(row_group.max()) + 1, int(row_class.max()) + 1])
    has = match < next(iter(hidden.codes.values())).size
    size = np.bincount(kind[has], minlength=int(kind.max()) + 1)
    seen = size[kind] > 0
    group = np.unique(row_group[seen], return_inverse=True)[1].reshape(-1)
    for name, codes in hidden.codes.items():
        for score in _scores(codes[match[has]], list(hidden.numbers[name])):
            even = np.bincount(kind[has], score, size.size)[kind[seen]] / size[kind[seen]]
            most = max(_deviations(np.zeros_like(group), even), _deviations(group, even))
            need(most < MOST_DEVIATIONS, "the rows stand in an order that tells their sensitive values")


def _scores(value: Codes, texts: Sequence[str]) -> Iterator[Ints]:
    """Orders of values in which a file may be sorted: as met in the original, by text, by frequency."""
    place = np.empty(len(texts), np.int64)
    place[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    yield value.astype(np.int64)
    yield place[value]
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
