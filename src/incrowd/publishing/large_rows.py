"""Methods that put all records in a row, where the table does not fit into memory: hilbert and ring.

The engine sorts, the row is cut piece by piece by kernels that give what they give in one go, and parts are
made in memory. Equal records stand side by side, in an order that is drawn; all else is as in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.hilbert import Hilbert, dealing_rule, dealt
from incrowd.algorithms.partitions.lexicographic import Stretch, merged, places_of, stretches_of
from incrowd.assign import by_neighbourhoods, one_of_disjoint_matchings, rows_of_records
from incrowd.attacks.ring import AfterOne, after_one
from incrowd.contracts import Eligible, Guard
from incrowd.engines.ordered import LabelledRows, OrderedEngine, RowOrder, whole_parts
from incrowd.engines.resources import Resources, words
from incrowd.errors import InputError, option
from incrowd.flow import Attribute, Codes, Microdata, Neighbourhoods, Partition, Sensitive
from incrowd.generalize import generalize
from incrowd.kernels import hilbert as curve
from incrowd.kernels import ring as rings
from incrowd.long_work import Progress, part_of
from incrowd.models.counting import InRows
from incrowd.models.l_diversity import ClassModel
from incrowd.publishing.large_classes import ClassCollector
from incrowd.publishing.warnings import single_valued_neighbourhoods

Ints = NDArray[np.int64]
AT_ONCE = 1_000_000  # rows that are read and cut at a time, at most
BYTES_A_MEMBER = 60  # of a neighbourhood, while its row is made
BYTES_A_CELL = 20  # of each distinct row, until all are written
BYTES_DEALT = 64  # of each record, while groups with l are dealt


@dataclass(frozen=True, slots=True, eq=False)
class RowsInOrder:
    """The classes, or the rows of rings; of these also how large rings are and whose values are single."""

    classes: ClassCollector
    blocks: int  # in which rows were made; 0 if all at once
    rings: Counter[int] = field(default_factory=Counter)  # sizes of those that are drawn
    single: dict[str, int] = field(default_factory=dict)

    def disclosure(self, k: int) -> RingDisclosure:
        """Of rings: what they disclose beyond the promise."""
        after = after_one(self.rings, k, one_of_disjoint_matchings) if self.rings and k > 1 else None
        return RingDisclosure(after)


@dataclass(frozen=True)
class RingDisclosure:
    """What one known person discloses of others in rings; which records rows give away is not computed."""

    after_one: AfterOne | None

    def to_dict(self) -> dict[str, Any]:
        after = self.after_one
        return {"rows_given_away": None, "after_one_known": None if after is None else after.to_dict()}

    def sentences(self) -> list[str]:
        """For the publisher, in words."""
        lines = [
            "not computed for tables that do not fit into memory: how many records comparing rows reveals"
        ]
        if self.after_one is not None:
            chance = self.after_one.exact or f"about {self.after_one.share:.3f}"
            lines.append(
                "not promised: an adversary who knows one person's row finds another's with probability "
                f"{chance}"
            )
        return lines


@dataclass(frozen=True, slots=True)
class Guarding:
    """A sensitive column that guards cuts: its place among these in the engine, and how many codes it has."""

    place: int
    size: int


class RowMaker:
    """One table being cut in the order of its rows."""

    def __init__(
        self,
        engine: OrderedEngine,
        recipe: Hilbert | Ring,
        attributes: tuple[Attribute, ...],
        rows: int,
        promised: Sequence[tuple[ClassModel, Guarding]] = (),
    ) -> None:
        self._engine, self._recipe, self._attributes, self._rows = engine, recipe, attributes, rows
        self._promised = promised
        self._data = Microdata(np.zeros((1, len(attributes)), np.int32), attributes)

    def made(self, sensitive: Sequence[Sensitive], resources: Resources, progress: Progress) -> RowsInOrder:
        """Sort, cut, and make what each part publishes."""
        recipe, found = self._recipe, RowsInOrder(ClassCollector(self._attributes), 0)
        starts = self._parts(resources, part_of(progress, 0, 0.5))
        room = resources.most_records * 250 // (250 + BYTES_A_MEMBER * recipe.k)
        pieces = list(whole_parts(starts, min(max(room, 1), AT_ONCE)))
        for p, q in pieces:
            first, last = int(starts[p]), int(starts[q])
            own, codes = starts[p : q + 1] - first, self._engine.codes(first, last)
            if isinstance(recipe, Ring):
                self._engine.label(self._rings(codes, own, p, found, [(s, first, last) for s in sensitive]))
            else:
                labels = np.repeat(np.arange(q - p, dtype=np.int32), np.diff(own))
                regions = generalize(Microdata(codes, self._attributes), Partition(labels))
                self._engine.label(LabelledRows(found.classes.take(regions)))
            self._check_memory(found.classes, resources)
            progress(0.5 + last / self._rows / 2)
        return RowsInOrder(found.classes, len(pieces) if len(pieces) > 1 else 0, found.rings, found.single)

    def _check_memory(self, classes: ClassCollector, resources: Resources) -> None:
        needed = BYTES_A_CELL * len(self._attributes) * len(classes)
        if needed > resources.memory:
            raise InputError(
                f"{len(classes):,} rows differ so far, and their cells take about {words(needed)} of memory; "
                f"raise {option('memory')}, or take mondrian"
            )

    # Cutting the row

    def _parts(self, resources: Resources, progress: Progress) -> Ints:
        """Where parts begin in the sorted row, and its end."""
        recipe, step = self._recipe, min(AT_ONCE, max(resources.most_records, 1))
        if isinstance(recipe, Ring) and recipe.order == "lexicographic":
            by = np.argsort([len(attribute) for attribute in self._attributes], kind="stable")
            self._engine.sort(RowOrder(columns=by.tolist()))
            return self._runs(by, recipe, step, progress)
        bits = max(1, *((len(attribute) - 1).bit_length() for attribute in self._attributes))
        self._engine.sort(RowOrder(bits=bits))
        guards = self._guards(step)
        rule = dealing_rule(guards)
        if rule is not None:
            return self._dealt(rule, resources, progress)
        starts = self._cheapest(step, progress)
        return starts if not guards else merged(self._stretches(starts, step), _allowed_by(guards))

    def _pieces(self, step: int) -> Iterator[tuple[int, int]]:
        for first in range(0, self._rows, step):
            yield first, min(first + step, self._rows)

    def _on_disk(self, name: str, kind: type) -> NDArray[Any]:
        """An array with a place for each row, in a file of the private folder."""
        return np.asarray(np.memmap(self._engine.folder / name, kind, "w+", shape=(self._rows,)))

    def _cheapest(self, step: int, progress: Progress) -> Ints:
        """The parts of the Hilbert row whose boxes cost least together."""
        k, d, back = self._recipe.k, len(self._attributes), 2 * self._recipe.k - 2
        places = places_of(self._data)
        starts = np.cumsum([0, *(each.size for each in places)])
        sizes = self._on_disk("sizes", np.int32)
        least = np.full(2 * k, curve.NEVER, np.int64)
        least[-1] = 0
        for first, last in self._pieces(step):
            before = max(first - back, 0)
            codes = self._engine.codes(before, last)
            if first - before < back:  # the row begins here; what stands before it is never paid for
                codes = np.concatenate([np.zeros((back - first + before, d), np.int32), codes])
            costs = np.concatenate([least, np.zeros(last - first, np.int64)])
            curve.extend_cuts(codes, np.concatenate(places), starts, k, costs, sizes[first:last])
            least = costs[-2 * k :]
            known = least < curve.NEVER
            least[known] -= least[known].min() if known.any() else 0  # sums of all rows might not fit
            progress(last / self._rows)
        found = np.empty(self._rows // k + 1, np.int64)
        many = curve.starts_of_parts(sizes, found)
        return np.append(found[:many][::-1], self._rows)

    # Groups that keep l

    def _guards(self, step: int) -> tuple[Guard, ...]:
        """The guards of l over the places of the row; its values are in files of the private folder."""
        values: dict[int, Codes] = {}
        for _, column in self._promised:
            if column.place not in values:
                found = values[column.place] = self._on_disk(f"values{column.place}", np.int32)
                for first, last in self._pieces(step):
                    found[first:last] = self._engine.guarded(column.place, first, last)
        return tuple(model.counted(InRows(values[c.place], c.size)) for model, c in self._promised)

    def _stretches(self, starts: Ints, step: int) -> Iterator[Stretch]:
        """The parts with their boxes, some at a time."""
        places = places_of(self._data)
        for p, q in whole_parts(starts, step):
            codes = self._engine.codes(int(starts[p]), int(starts[q]))
            yield from stretches_of(codes, starts[p : q + 1], places)

    def _dealt(self, rule: Eligible, resources: Resources, progress: Progress) -> Ints:
        """Groups that are dealt from the row; then rows are sorted by these."""
        if (needed := BYTES_DEALT * self._rows) > resources.memory:
            raise InputError(
                f"l by frequency takes about {words(needed)} of memory with hilbert; raise "
                f"{option('memory')}, take another l_kind, or take mondrian"
            )
        labels = dealt(np.arange(self._rows, dtype=np.int32), rule, self._recipe.k, progress).labels
        self._engine.regroup(labels)
        return np.concatenate([[0], np.cumsum(np.bincount(labels))])

    def _runs(self, by: NDArray[np.intp], recipe: Ring, step: int, progress: Progress) -> Ints:
        """The parts of the lexicographic row: runs of equal values, short ones merged."""
        differs, begins = self._on_disk("differs", np.int32), self._on_disk("begins", np.bool_)
        for first, last in self._pieces(step):
            before = max(first - 1, 0)
            codes = self._engine.codes(before, last)
            found = np.empty(len(codes), np.int32)
            rings.first_differences(codes, np.arange(len(codes), dtype=np.int32), by, found)
            differs[first:last] = found[first - before :]
            progress(last / self._rows)
        most = 2 * recipe.k if recipe.rule == "pseudocode" else 2 * recipe.k - 1
        rings.cut_runs(differs, len(self._attributes), recipe.k, most, begins)
        return np.append(np.flatnonzero(begins), self._rows)

    # Rings

    def _rings(
        self,
        codes: Codes,
        starts: Ints,
        first_part: int,
        found: RowsInOrder,
        sensitive: Sequence[tuple[Sensitive, int, int]],
    ) -> LabelledRows:
        """Lay rings over some parts, and draw who is behind which row."""
        n, k = len(codes), self._recipe.k
        members, part = np.empty((n, k), np.int32), np.empty(n, np.int32)
        alike, order = np.empty(n, np.bool_), np.arange(n, dtype=np.int32)
        rings.lay_rings(codes, order, starts, members, part, alike)
        around = Neighbourhoods(np.arange(n + 1) * k, members.ravel(), part, None, alike)
        own = found.classes.take(generalize(Microdata(codes, self._attributes), around))
        drawn = by_neighbourhoods(around)
        behind, classes = np.empty(n, np.int64), np.empty(n, np.int32)
        behind[drawn.region] = drawn.private
        classes[drawn.private] = own[drawn.region]
        sizes = np.bincount(part[~alike])
        found.rings.update(sizes[sizes > 0].tolist())
        self._count_single(codes, behind[rows_of_records(members)], found, sensitive)
        place = order - starts[part]
        said = {"part": part.astype(np.int64) + first_part, "place": place, "own": own}
        return LabelledRows(classes, {**said, "behind": behind - starts[part]})

    def _count_single(
        self,
        codes: Codes,
        candidates: Ints,
        found: RowsInOrder,
        sensitive: Sequence[tuple[Sensitive, int, int]],
    ) -> None:
        """Of how many records every candidate has the same sensitive value."""
        columns = []
        for each, first, last in sensitive:
            values = self._engine.values(each.name, first, last)
            columns.append(Sensitive(each.name, each.kind, values, int(values.max()) + 1))
        data = Microdata(codes, self._attributes, tuple(columns))
        for name, count in single_valued_neighbourhoods(data, candidates).items():
            found.single[name] = found.single.get(name, 0) + count


def _allowed_by(guards: Sequence[Guard]) -> Callable[[Stretch], bool]:
    """Do the records of a stretch keep every promise?"""

    def allowed(this: Stretch) -> bool:
        rows = np.arange(this.first, this.last, dtype=np.int32)
        return all(guard.allows(rows) for guard in guards)

    return allowed
