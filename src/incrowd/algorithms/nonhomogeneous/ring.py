"""The ring (NH): each row is made over a record and the k-1 that follow it in a row bent to a circle.

Wong, Mamoulis, Cheung, "Non-homogeneous Generalization in Privacy Preserving Data Publishing", SIGMOD 2010.
The table is cut into parts, each part becomes a ring. Who is behind which row is drawn later: any of k
assignments without a common pair is as likely, so that everybody is behind k rows with chance 1/k each.

With l, the claim of section 6 about ordered parts is false for l >= 3, and an order that is made by sensitive
values gives them away to whoever knows the rule. So rings are laid over tuples here, with one person of each
of l colours: see `algorithms.transparent`. Whole tuples are assigned to the rows of others. Anatomy's groups
are drawn without a look at people, so that rings over these keep l as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.anatomy import Anatomy
from incrowd.algorithms.base import NONHOMOGENEOUS, NonHomogeneous, method, records_by_label
from incrowd.algorithms.nonhomogeneous.tuples import over_tuples, places_in_row, tuples_by_class, windows
from incrowd.algorithms.partitions.hilbert import Hilbert, curve_order
from incrowd.algorithms.partitions.lexicographic import (
    RULES,
    CutRow,
    Ints,
    Lexicographic,
    RowPartition,
    Sought,
    eligible_parts,
    sorted_row,
)
from incrowd.algorithms.transparent.method import (
    STRATUM,
    SplitBucket,
    TransparentClasses,
    eligible_rules,
)
from incrowd.assign import WAYS, Entropy, drawn_rows, system
from incrowd.contracts import AnyLimit, Choice, Eligible, Guard, Limit, Switch, register
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition
from incrowd.generalize import generalize
from incrowd.kernels import ring as kernels
from incrowd.long_work import Progress
from incrowd.policy.exposures import UNSAFE_ASSIGNMENT, UNSAFE_ORDER, KnownExposure
from incrowd.schema import Shape

ORDERS = ("lexicographic", "hilbert")
ROW = "order"  # groups are parts of the row itself
CLASSES = (
    "mondrian",
    "mondrian-relaxed",
    "single",
    "topdown",
    "agglomerative",
    "cells",
    "forest",
    "lexicographic",
    "hilbert",
    "incognito",
    "best",
)
GROUPS = (ROW, *CLASSES, Anatomy.name)
SPLITS = ("tuples", "printed")
SPARSE = 2  # with hide_rows: how many times as many combinations as records the cells of a part leave
SHAPES = {Shape.RANGE: 0, Shape.TREE: 1, Shape.SET: 2}  # as `kernels.ring` knows them


@register("algorithm", "ring")
@dataclass(frozen=True)
class Ring(NonHomogeneous):
    """Part the records into groups of k or more, and lay a ring over each: everyone is in k rows of k.

    Parameters
    ----------
    order : str
        How records are put in a row: ``lexicographic`` (Figure 8) or ``hilbert``.
    groups : str
        Over what rings are laid: ``order`` cuts the row itself; a method that makes equivalence classes,
        over these, each in the order of the row; with l ``anatomy``, over Anatomy's groups.
    rule : str
        Of the lexicographic order: see `Lexicographic`.
    hide_rows : bool
        Do not let rows of a ring, compared with each other, give away whole records: where they would, some
        columns say the same for all of a part.
    split : str
        With l: rings of ``tuples`` that are made by chance and without regard to values; ``printed`` orders
        parts by their values, which gives values away.
    stratum : int
        With l: how many people are dealt together, at least; see `transparent`.
    assignment : str
        How the assignment is drawn: by ``matching``s, of which one known person tells little; as printed, by
        the ``draw`` of Figure 7; or by one ``shift`` for each ring, of which one known person tells all.
    drawn : bool
        Draw who is behind which row. False leaves every record behind its own row, for comparison only.
    """

    order: str = "lexicographic"
    groups: str = ROW
    rule: str = "text"
    hide_rows: bool = False
    split: str = "tuples"
    stratum: int = STRATUM
    assignment: str = "matching"
    drawn: bool = True

    paper: ClassVar[str] = NONHOMOGENEOUS
    section: ClassVar[str] = "5, Figures 5, 7 and 8; 5.3 for other groups; 6 for l: the method NH"
    needs: ClassVar[str] = "nothing; l or t for each sensitive column; no entity or means"
    model_kept: ClassVar[str] = "global-1k-anonymity"
    transparent: ClassVar[bool] = True
    closes: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(1),
        "order": Choice(ORDERS),
        "groups": Choice(GROUPS),
        "rule": Choice(RULES),
        "hide_rows": Switch(),
        "split": Choice(SPLITS),
        "stratum": Limit(1),
        "assignment": Choice(tuple(WAYS)),
        "drawn": Switch(),
    }

    @property
    def regular(self) -> bool:
        """A ring is: each record is in the neighbourhoods of k."""
        return True

    @property
    def printed(self) -> bool:
        return self.split == "printed" or self.assignment != "matching"

    @property
    def assigned_by(self) -> str:
        return self.assignment

    @property
    def promises_l(self) -> bool:
        """Not where parts are ordered by sensitive values."""
        return self.split != "printed"

    @property
    def by_candidates(self) -> bool:
        return self.groups == Anatomy.name

    @property
    def concealed_by(self) -> str:
        return "hide_rows" if self.hide_rows else ""

    def exposures(self) -> Mapping[KnownExposure, str]:
        found = dict(super().exposures())
        if self.split == "printed":
            found[UNSAFE_ORDER] = 'leave split = "tuples"'
        if self.assignment != "matching":
            found[UNSAFE_ASSIGNMENT] = 'leave assignment = "matching"'
        return found

    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy = system
    ) -> Neighbourhoods:
        """The neighbourhood that each record's row is made over.

        Guards are none, or one that names the values it counts; chance is for cutting by sensitive values.
        """
        if not guards:
            return self._rings(data, self._plain_parts(data, progress), progress)
        if self.hide_rows or self.assignment != "matching":
            raise PolicyError("hide_rows and assignment go without l and t")
        if not any(isinstance(guard, Eligible) for guard in guards):
            return self._guarded(data, guards, progress, entropy)
        rules = eligible_rules(guards)
        if len(rules) > 1 and (self.groups != ROW or self.split == "printed"):
            raise PolicyError("groups and split keep l for one sensitive column; leave them out")
        if self.groups == Anatomy.name:
            return self._over_anatomy(data, rules[0], progress, entropy)
        if self.split == "printed":
            return self._printed(data, rules[0], progress)
        if (self.order, self.groups, self.rule) != ("lexicographic", ROW, "text"):
            raise PolicyError(
                "order and rule go without l, and so do groups that are made by looking at values; leave "
                'them out, or take groups = "anatomy"'
            )
        k = self.smallest_group(self.k, rules[0].l)
        recipe = TransparentClasses(k, self.stratum)
        return tuple_rings(data, recipe.buckets(data, rules, progress, entropy), rules[0].l, k)

    def _over_anatomy(
        self, data: Microdata, rule: Eligible, progress: Progress, entropy: Entropy
    ) -> Neighbourhoods:
        """Rings over Anatomy's groups. A group with a value too often for k rows that may be anybody's,
        whoever gets which, has equal rows: that shows in the release, and in no other way tells of people.
        """
        k = self.smallest_group(self.k, rule.l)
        groups = Anatomy(k).drawn_buckets(data, (rule,), progress, entropy)
        found = replace(self, k=k)._rings(data, self._in_row(data, Partition(groups)), progress)
        most = np.bincount(
            groups * np.int64(rule.size) + rule.codes, minlength=(groups.max() + 1) * rule.size
        )
        often: NDArray[np.bool_] = most.reshape(-1, rule.size).max(axis=1) * rule.l > k
        whole = np.broadcast_to(often[groups][:, None], data.codes.shape)
        return replace(found, whole=whole, alike=np.asarray(found.alike) | often[groups])

    def _guarded(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress, entropy: Entropy
    ) -> Neighbourhoods:
        """Rings over groups that guards allow. Who gets which row is drawn at once, and looked at: where
        somebody's k rows are not allowed, all rows of the group are equal.

        There is no second draw: it would prefer some assignments to others.
        """
        rings = self._rings(data, self._plain_parts(data, progress, guards), progress)
        row_of, parts, alike = drawn_rows(rings, entropy), np.asarray(rings.parts), np.asarray(rings.alike)
        equal = generalize(data, rings).of
        failed = np.zeros(int(parts.max()) + 1, np.bool_)
        for part in records_by_label(np.where(alike, -1, parts)):
            failed[parts[part[0]]] = not _allowed(part, rings, row_of, equal, guards)
        whole = failed[parts]
        return replace(
            rings,
            whole=np.broadcast_to(whole[:, None], data.codes.shape),
            alike=alike | whole,
            row_of=np.where(whole, np.arange(len(data)), row_of),
        )

    def _printed(self, data: Microdata, rule: Eligible, progress: Progress) -> Neighbourhoods:
        sought = Sought.by(rule, self.k, per_neighbourhood=True)
        if self.order == "hilbert":
            parts = Hilbert(self.k).parts(data, (rule,), progress)
        else:
            parts = eligible_parts(data, sought, progress)
        return self._rings(data, printed_order(parts, sought), progress)

    @cached_property
    def _row(self) -> RowPartition:
        return Hilbert(self.k) if self.order == "hilbert" else Lexicographic(self.k, self.rule)

    @cached_property
    def _classes(self) -> Any:
        return None if self.groups in (ROW, Anatomy.name) else method(self.groups).configured(self.k, {})

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._row, self._classes  # their limits are checked before a table is read
        if self.hide_rows and (self.order, self.groups) != ("lexicographic", ROW):
            raise PolicyError('hide_rows goes with order = "lexicographic" and groups = "order"')
        if self.groups != ROW and (self.rule != "text" or self.split == "printed"):
            raise PolicyError('rule and split are about groups = "order"; leave them out')
        if self.assignment != "matching" and not self.drawn:
            raise PolicyError("assignment says how it is drawn, and drawn = false that it is not")

    def _plain_parts(self, data: Microdata, progress: Progress, guards: tuple[Guard, ...] = ()) -> CutRow:
        if self._classes is not None:
            return self._in_row(data, self._classes.group(data, guards, progress))
        parts = self._row.parts(data, guards, progress)
        return without_lists(data, parts) if self.hide_rows else parts

    def _in_row(self, data: Microdata, groups: Partition) -> CutRow:
        """Groups one after the other, each in the order of the row."""
        row = curve_order(data) if self.order == "hilbert" else sorted_row(data)[1]
        order = row[np.argsort(groups.labels[row], kind="stable")]
        return CutRow(order, np.concatenate([[0], np.cumsum(groups.sizes)]))

    def _rings(self, data: Microdata, parts: CutRow, progress: Progress) -> Neighbourhoods:
        n = len(data)
        members, label = np.empty((n, self.k), np.int32), np.empty(n, np.int32)
        alike = np.empty(n, np.bool_)
        kernels.lay_rings(data.codes, parts.order, parts.starts, members, label, alike)
        whole = self._made_over_parts(data, parts) if self.hide_rows else None
        progress(1.0)
        return Neighbourhoods(np.arange(n + 1) * self.k, members.ravel(), label, whole, alike)

    def _made_over_parts(self, data: Microdata, parts: CutRow) -> NDArray[np.bool_]:
        """Which cells must say what their whole part has, so that comparing rows gives no record away."""
        whole = np.zeros(data.codes.shape, np.bool_)
        kernels.tell_less(data.codes, parts.order, parts.starts, self.k, _shapes(data), whole)
        return whole


def _allowed(
    part: Ints, rings: Neighbourhoods, row_of: Ints, equal: Codes, guards: tuple[Guard, ...]
) -> bool:
    """Do guards allow the records behind the k rows that may be anybody's, for all of a part?

    Nobody can tell equal rows of a part apart, so that each of them stands for all records behind these.
    """
    members = rings.members.reshape(len(rings), -1)
    if part.size == members.shape[1]:  # everybody may have every row
        return True
    behind = {int(row_of[record]): int(record) for record in part}
    rows: dict[int, list[int]] = {int(record): [] for record in part}
    shown: dict[int, list[int]] = {}
    for row in part.tolist():
        shown.setdefault(int(equal[row]), []).append(behind[row])
        for record in members[row].tolist():
            rows[record].append(int(equal[row]))
    unit = lcm(*map(len, shown.values()))
    for mine in {tuple(sorted(own)) for own in rows.values()}:
        people = [record for kind in mine for record in shown[kind] * (unit // len(shown[kind]))]
        if not all(guard.allows(np.array(people, np.int32)) for guard in guards):
            return False
    return True


def without_lists(data: Microdata, parts: CutRow) -> CutRow:
    """Merge parts that list their records, from left to right and with the next that is not all alike.

    Where one column alone varies, its cells name only what occurs, and so whole records; and where cells
    leave hardly more combinations than there are records, a guess is as good as knowledge.
    """
    owner = np.empty(len(parts), np.int64)
    kernels.join_lists(data.codes, parts.order, parts.starts, _shapes(data), SPARSE, owner)
    sizes = np.diff(parts.starts)
    place = np.argsort(np.repeat(owner, sizes), kind="stable")
    merged = np.bincount(owner, sizes).astype(np.int64)
    return CutRow(parts.order[place], np.concatenate([[0], np.cumsum(merged[merged > 0])]))


def _shapes(data: Microdata) -> NDArray[np.int64]:
    return np.array([SHAPES[attribute.shape] for attribute in data.attributes], np.int64)


def tuple_rings(data: Microdata, buckets: Iterable[SplitBucket], l: int, k: int) -> Neighbourhoods:  # noqa: E741
    """In each class a ring of tuples, one person of each of l colours: each with the k/l - 1 that follow.

    Rows of a tuple are equal. Where a class has no colours, all its rows are.
    """
    row = places_in_row(data)
    rings = (ring for bucket in buckets for ring in tuples_by_class(bucket, l, row))
    return over_tuples(data, ((ring, windows(len(ring), k // size)) for size, ring in rings), k)


def _dealt(rows: Codes, part: Ints, parts: int, sought: Sought, drawn: Ints) -> Ints:
    """Places of the row by part, then values by falling frequency in it, then by `drawn`."""
    key = part * sought.size + sought.codes[rows]
    often = np.bincount(key, minlength=parts * sought.size)[key]
    return np.lexsort((drawn, sought.codes[rows], -often, part))


def printed_order(parts: CutRow, sought: Sought) -> CutRow:
    """Order each part so that no l records in a row of the ring have the same value, as section 6 asks.

    As many blocks as the most frequent value has records, equally long but for one; they are filled place by
    place, first all first places, with the values by falling frequency. Records of a value keep their order.

    Examples
    --------
    >>> sought = Sought(np.array([0, 0, 1, 1, 2, 2], np.int32), 3, l=3, k=3, per_neighbourhood=True)
    >>> ordered = printed_order(CutRow(np.arange(6, dtype=np.int32), np.array([0, 6])), sought)
    >>> sought.codes[ordered.order].tolist()
    [0, 1, 2, 0, 1, 2]
    """
    sizes = np.diff(parts.starts)
    part = np.repeat(np.arange(len(parts)), sizes)
    dealt = _dealt(parts.order, part, len(parts), sought, np.arange(parts.order.size))
    key = part * sought.size + sought.codes[parts.order]
    often = np.bincount(key, minlength=len(parts) * sought.size)
    blocks = often.reshape(len(parts), sought.size).max(axis=1)
    ordered = np.empty_like(parts.order)
    for p, first in enumerate(parts.starts[:-1].tolist()):
        size, q = int(sizes[p]), int(blocks[p])
        lengths = np.full(q, size // q)
        lengths[: size % q] += 1
        offset = np.arange(size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        block = np.repeat(np.arange(q), lengths)
        ordered[first + np.lexsort((block, offset))] = parts.order[dealt[first : first + size]]
    return CutRow(ordered, parts.starts)
