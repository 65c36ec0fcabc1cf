"""Anatomy: groups of records with different sensitive values, whatever their quasi-identifiers say.

Xiao, Tao, "Anatomy: Simple and Effective Privacy Preservation", VLDB 2006; AT in section 7.4 of Wong,
Mamoulis, Cheung, "Non-homogeneous Generalization in Privacy Preserving Data Publishing", SIGMOD 2010.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import NONHOMOGENEOUS, Algorithm, need_enough
from incrowd.assign import Entropy, draw_below, shuffled, system
from incrowd.contracts import Eligible, Guard, register
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress
from incrowd.policy.exposures import EXACT_ROWS, KnownExposure

Ints = NDArray[np.int64]


@register("algorithm", "anatomy")
@dataclass(frozen=True)
class Anatomy(Algorithm):
    """Buckets of l records, no two with one value, drawn from the l most frequent values at each step.

    Every bucket keeps at least k records: where l is less, whole ones are merged at random.
    """

    paper: ClassVar[str] = NONHOMOGENEOUS
    section: ClassVar[str] = "7.4, the rival AT, after Xiao and Tao: Anatomy"
    publishes: ClassVar[str] = (
        "rows unchanged, with their bucket; sensitive values by bucket, in a second file"
    )
    behind: ClassVar[str] = "each row has its own record; whose each value of a bucket is, is not published"
    guarantee: ClassVar[str] = (
        "by the buckets alone, no sensitive value of a person has a probability above 1/l"
    )
    needs: ClassVar[str] = "l; one sensitive column, none to keep; no t, entity or means; accept exact-rows"
    not_claimed: ClassVar[str] = (
        "that rows cannot be found: they are exact. That presence, or what quasi-identifiers "
        "disclose about sensitive values, stays unknown; anything about two releases of the same people"
    )
    buckets: ClassVar[bool] = True
    needs_l: ClassVar[bool] = True
    exact_rows: ClassVar[bool] = True

    def exposures(self) -> Mapping[KnownExposure, str]:
        return {EXACT_ROWS: "to protect rows too, use mondrian with l"}

    def model_of_k(self, _accept: Sequence[str]) -> str:
        return "sensitive-groups"

    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Partition:
        """Every row by itself, in the bucket with whose sensitive values its own is published."""
        buckets = self.drawn_buckets(data, guards, progress, entropy)
        return Partition(np.arange(len(data), dtype=np.int32), buckets=buckets)

    def drawn_buckets(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Codes:
        """The bucket of each record (n,).

        Chance is asked for an order of all records, then for the group of each left-over one by rising code,
        then, where groups are merged, for an order of the groups.
        """
        rule = _only_rule(guards)
        need_enough(data, self.k)
        counts = np.bincount(rule.codes, minlength=rule.size)
        most, n = int(counts.max(initial=0)), len(data)
        if most * rule.l > n or not n:
            raise Infeasible(f"one sensitive value has {most} of {n} records, more than 1/{rule.l} of them")
        values, left = _drawn_by_size(counts, rule.l)
        group = np.repeat(np.arange(values.size // rule.l), rule.l)
        progress(0.6)
        order = shuffled(n, entropy)
        values, group = _with_left_over(values, group, left, entropy)
        labels = _dealt(rule.codes, order, values, group)
        progress(0.9)
        if self.k > rule.l:
            labels = _merged(labels, self.k, entropy)
        progress(1.0)
        return labels


def _only_rule(guards: tuple[Guard, ...]) -> Eligible:
    rules = [guard for guard in guards if isinstance(guard, Eligible)]
    if len(rules) != 1 or len(guards) != 1:
        raise PolicyError("anatomy keeps l for one sensitive column and no other promise; give l alone")
    return rules[0]


def _drawn_by_size(counts: Ints, l: int) -> tuple[Ints, list[int]]:  # noqa: E741  the paper's letter
    """The l values of each group, end to end, and the values that are left over, one entry for a record.

    At each step one of each of the l values of which most is left; of equals those with smaller codes.
    """
    heap = [(-count, code) for code, count in enumerate(counts.tolist()) if count]
    heapify(heap)
    values: list[int] = []
    while len(heap) >= l:
        largest = [heappop(heap) for _ in range(l)]
        for count, code in largest:
            values.append(code)
            if count < -1:
                heappush(heap, (count + 1, code))
    left = [code for count, code in heap for _ in range(-count)]
    return np.array(values, np.int64), sorted(left)


def _with_left_over(values: Ints, group: Ints, left: list[int], entropy: Entropy) -> tuple[Ints, Ints]:
    """Each left-over value goes to a group that lacks it, every such group with the same chance.

    There is one: of g = floor(n/l) groups, a value with at most n/l records is in fewer than g if one of
    its records is left.
    """
    groups = int(group[-1]) + 1
    for code in left:
        lacking = np.setdiff1d(np.arange(groups), group[values == code])
        if not lacking.size:
            raise Infeasible("a sensitive value is too frequent for groups without repetition")
        chosen = lacking[draw_below(lacking.size, entropy)]
        values, group = np.append(values, code), np.append(group, chosen)
    return values, group


def _dealt(codes: Codes, order: Ints, values: Ints, group: Ints) -> Codes:
    """The group of each record. The records of a value take its places in random order.

    So each time a value was drawn, every record of it that was left had the same chance.
    """
    records = order[np.argsort(codes[order], kind="stable")]
    places = np.argsort(values, kind="stable")
    labels = np.empty(codes.size, np.int32)
    labels[records] = group[places]
    return labels


def _merged(labels: Codes, k: int, entropy: Entropy) -> Codes:
    """Groups in random order, put together one after the other until they have k; the rest joins the last."""
    sizes = np.bincount(labels)
    merged = np.empty(sizes.size, np.int32)
    number, size, first = 0, 0, 0
    order = shuffled(sizes.size, entropy)
    for place, group in enumerate(order.tolist()):
        merged[group] = number
        size += int(sizes[group])
        if size >= k:
            number, size, first = number + 1, 0, place + 1
    merged[order[first:]] = number - 1
    return merged[labels]
