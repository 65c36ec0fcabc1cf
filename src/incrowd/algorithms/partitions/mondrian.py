"""Mondrian: cut the points again and again, always leaving k on both sides.

LeFevre's greedy algorithm as retold in "Achieving Multidimensional K-Anonymity by a Greedy Approach".
Strict cuts keep equal values together; relaxed cuts halve exactly and so bound groups by 2k-1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import K_EQUAL_ROWS, MULTIDIMENSIONAL, Polishable, need_enough, watched
from incrowd.algorithms.costs import geometry_of, room_to_cut
from incrowd.contracts import AnyLimit, Choice, Guard, register
from incrowd.errors import InputError, PolicyError, unknown
from incrowd.flow import Attribute, Microdata, Partition
from incrowd.kernels import cuts
from incrowd.kernels import mondrian as kernels
from incrowd.long_work import WORTH_THREADS, Progress, side_by_side, threads
from incrowd.predicate import Predicate, ValueDomain

if TYPE_CHECKING:  # else whoever looks the method up would load numba
    Prepared = tuple[
        kernels.Points, kernels.Points, kernels.CutRules, cuts.Geometry, kernels.Queries, cuts.Work
    ]

CHOICES = ("widest", "round-robin", "gain", "workload")
ENOUGH_DUPLICATES = 0.5  # compress equal records if at most this share of them is distinct
PROBE = 10_000
EVEN_SHARE = 1.2  # times its share of the rows, a part may keep a thread busy
Ints = NDArray[np.int64]
FORM = 'workload = ["age BETWEEN 20 AND 40 AND sex = \'F\'", {where = "age <= 36", weight = 2}]'


@dataclass(frozen=True, slots=True)
class WeightedPredicate:
    """A condition that will be asked for, and how much it matters."""

    where: Predicate
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class WorkloadLimit:
    """The limit of the option `workload`."""

    def words(self) -> str:
        return "a list of conditions in SQL"

    def allows(self, value: object) -> bool:
        return isinstance(value, list | tuple)

    def bad_values(self) -> tuple[object, ...]:
        return ("age", 7, None)


@dataclass(frozen=True)
class Mondrian(Polishable):
    """Cut until no allowable cut is left.

    Parameters
    ----------
    choose : str
        Which of the allowable cuts: of the ``widest`` column by normalised range (as printed), of each
        column in turn (``round-robin``), the one with the largest drop in loss (``gain``), or the one that
        leaves the fewest rows in doubt for a ``workload`` of queries (gain decides between equals).
    workload : tuple of WeightedPredicate
        Conditions that will be asked for: what `choose = "workload"` cuts for.
    """

    choose: str = "gain"
    workload: tuple[WeightedPredicate, ...] = ()

    paper: ClassVar[str] = MULTIDIMENSIONAL
    below_too: ClassVar[bool] = True  # try {< median} where {<= median} fails
    extra_right: ClassVar[bool] = False  # an odd record goes right
    unpublished: ClassVar[Mapping[str, Any]] = {"workload": ["a = 1"]}
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Polishable.limits,
        "choose": Choice(CHOICES),
        "workload": WorkloadLimit(),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "workload", read_workload(self.workload))
        if bool(self.workload) != (self.choose == "workload"):
            raise PolicyError('workload and choose = "workload" go together; give both or neither')

    def classes(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        need_enough(data, self.k)
        run = MondrianRun(self, data)
        return Partition(run.guarded(guards, progress) if guards else run.unguarded(progress))

    def rules(self, turn: int = 0) -> kernels.CutRules:
        """These options as the kernels read them; `turn` is the column that begins a round robin."""
        choose = CHOICES.index(self.choose)
        return kernels.CutRules(self.k, choose, self.strict, self.below_too, self.extra_right, turn)


@register("algorithm", "mondrian")
@dataclass(frozen=True)
class StrictMondrian(Mondrian):
    """Equal values of the cut column stay together: groups are disjoint boxes.

    Parameters
    ----------
    median : str
        ``two-sided`` also tries to cut below the median; ``printed`` does not, and then may stop early.
    """

    median: str = "two-sided"
    section: ClassVar[str] = "2.3, Figure 2"
    publishes: ClassVar[str] = "the smallest box, node or set over each group"
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        **Mondrian.limits,
        "median": Choice(("two-sided", "printed")),
    }

    @property
    def printed(self) -> bool:
        return self.median == "printed"

    def rules(self, turn: int = 0) -> kernels.CutRules:
        return super().rules(turn)._replace(below_too=self.median == "two-sided")


@register("algorithm", "mondrian-relaxed")
@dataclass(frozen=True)
class RelaxedMondrian(Mondrian):
    """Values at the median are shared out: group sizes lie between k and 2k-1, boxes may overlap.

    Parameters
    ----------
    odd : str
        On which side an odd record goes.
    """

    odd: str = "left"
    section: ClassVar[str] = "2.3, relaxed partitioning"
    guarantee: ClassVar[str] = K_EQUAL_ROWS + "; groups have at most 2k-1 records"
    strict: ClassVar[bool] = False
    limits: ClassVar[Mapping[str, AnyLimit]] = {**Mondrian.limits, "odd": Choice(("left", "right"))}

    def rules(self, turn: int = 0) -> kernels.CutRules:
        return super().rules(turn)._replace(extra_right=self.odd == "right")


class MondrianRun:
    """One table being cut: buffers, rules and scratch space for the kernels."""

    def __init__(self, recipe: Mondrian, data: Microdata) -> None:
        self.recipe = recipe
        self.data = data

    def unguarded(self, progress: Progress) -> NDArray[np.int32]:
        """All cuts in one compiled run, over distinct records where that pays."""
        codes = self.data.codes
        distinct = distinct_records(codes) if self.recipe.strict else None
        weights = np.zeros(0, np.int32)
        if distinct is not None:
            codes, weights = codes[distinct.first], distinct.count
        labels = cut_unguarded(self.prepare(codes, weights), progress)
        return labels if distinct is None else labels[distinct.of]

    def guarded(self, guards: tuple[Guard, ...], progress: Progress) -> NDArray[np.int32]:
        """Node by node, so that guards can veto a cut."""
        return cut_guarded(self.prepare(self.data.codes, np.zeros(0, np.int32)), guards, progress)

    def by_need(
        self,
        need: Callable[[NDArray[np.int32]], int],
        guards: tuple[Guard, ...],
        progress: Progress,
        weights: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:
        """Node by node; of each node `need` says how much both sides of its cut must weigh.

        A veto ends the node: whether another cut is tried would disclose what the guard saw.
        """
        n, d = self.data.codes.shape
        mass = np.ones(n, np.int32) if weights is None else weights
        given = np.zeros(0, np.int32) if weights is None else weights.copy()  # a buffer, overwritten
        buffers, spare, rules, geometry, queries, work = self.prepare(self.data.codes, given)
        pair = (buffers, spare)
        parts = np.empty(geometry.parent.size + 3, np.int64)
        labels = np.empty(n, np.int32)
        stack = [(cuts.Node(0, n, int(mass.sum()), 0), 0)]
        groups, done = 0, 0
        while stack:
            node, turned = stack.pop()
            source, target = pair[turned], pair[1 - turned]
            ids = source.ids[node.first : node.last]
            pieces: list[tuple[int, int]] = []
            if node.mass >= 2 * self.recipe.k:
                kernels.look_alone(source, node, work)
                cut = kernels.find_cut_alone(
                    source, node, rules._replace(k=need(ids)), geometry, queries, work
                )
                if cut.dim >= 0:
                    count = kernels.split_alone(source, target, node, cut, geometry, work, parts)
                    pieces = list(pairwise(parts[: count + 1].tolist()))
            if pieces and all(guard.allows(target.ids[a:b]) for guard in guards for a, b in pieces):
                turn = (cut.dim + 1) % d
                stack += [
                    (cuts.Node(a, b, int(mass[target.ids[a:b]].sum()), turn), 1 - turned) for a, b in pieces
                ]
                continue
            labels[ids] = groups
            groups, done = groups + 1, done + ids.size
            progress(done / n)
        return labels

    def prepare(self, codes: NDArray[np.int32], weights: NDArray[np.int32], turn: int = 0) -> Prepared:
        n = len(codes)
        small = max((len(a) for a in self.data.attributes), default=0) < 2**15
        columns: Any = np.ascontiguousarray(codes.T, dtype=np.int16 if small else np.int32)
        points = kernels.Points(columns, weights, np.arange(n, dtype=np.int32))
        spare = kernels.Points(np.empty_like(columns), np.empty_like(weights), np.empty(n, np.int32))
        geometry = geometry_of(self.data)
        queries = queries_of(self.recipe.workload, self.data.attributes)
        work = room_to_cut(n, geometry)
        return points, spare, self.recipe.rules(turn), geometry, queries, work


def cut_unguarded(prepared: Prepared, progress: Progress) -> NDArray[np.int32]:
    """Cut all points in compiled runs, of parts of a large table side by side; labels (n,)."""
    points, spare, rules, geometry, queries, work = prepared
    n = points.ids.size
    labels = np.empty(n, np.int32)
    mass = int(points.weights.sum(dtype=np.int64)) if points.weights.size else n

    def grow(node: Ints, rules: kernels.CutRules, work: cuts.Work) -> tuple[int, Ints]:
        """Groups that were made of a node, and nodes that are left."""
        rows = _rows(node)
        stack = np.empty((rows + 2 if points.weights.size else rows // rules.k + 2, 5), np.int64)
        stack[0] = node
        groups, waiting = kernels.grow(points, spare, rules, geometry, queries, work, labels, stack)
        return groups, stack[:waiting]

    def run(node: Ints, clock: Ints) -> int:
        room = work if len(nodes) == 1 else room_to_cut(_rows(node), geometry)
        return grow(node, rules, room._replace(clock=clock))[0]

    nodes = [np.array([0, n, mass, rules.turn, 0])]
    while max(map(_rows, nodes), default=0) > EVEN_SHARE * n / threads() and n >= WORTH_THREADS:
        largest = max(range(len(nodes)), key=lambda place: _rows(nodes[place]))
        groups, waiting = grow(nodes[largest], rules._replace(parts=2), work)
        if groups:
            break  # nothing that is worth a thread can be cut: one run does it all
        nodes[largest : largest + 1] = [*waiting]
    if len(nodes) > 1:
        ids = [(spare if node[4] else points).ids[node[0] : node[1]].copy() for node in nodes]
    clocks = np.zeros((len(nodes), 2), np.int64)
    with watched(progress, clocks, n):
        counts = side_by_side([partial(run, *each) for each in zip(nodes, clocks, strict=True)])
    before = 0
    for place in reversed(range(len(nodes))):  # a walk comes to right parts first
        if before:
            labels[ids[place]] += before
        before += counts[place]
    return labels


def _rows(node: Ints) -> int:
    return int(node[1] - node[0])


def cut_guarded(prepared: Prepared, guards: tuple[Guard, ...], progress: Progress) -> NDArray[np.int32]:
    """Cut node by node: where a guard vetoes a cut, the next best column is tried; labels (n,)."""
    points, spare, rules, geometry, queries, work = prepared
    pair, (d, n) = (points, spare), points.columns.shape
    weighted = points.weights.size > 0
    parts = np.empty(geometry.parent.size + 3, np.int64)
    labels = np.empty(n, np.int32)
    mass = int(points.weights.sum(dtype=np.int64)) if weighted else n
    stack = [(cuts.Node(0, n, mass, rules.turn), 0)]
    groups, done = 0, 0
    while stack:
        node, turned = stack.pop()
        source, target = pair[turned], pair[1 - turned]
        kernels.look_alone(source, node, work)
        while True:
            cut = kernels.find_cut_alone(source, node, rules, geometry, queries, work)
            if cut.dim < 0:
                labels[source.ids[node.first : node.last]] = groups
                groups, done = groups + 1, done + node.last - node.first
                progress(done / n)
                break
            count = kernels.split_alone(source, target, node, cut, geometry, work, parts)
            pieces = list(pairwise(parts[: count + 1].tolist()))
            if all(guard.allows(target.ids[a:b]) for guard in guards for a, b in pieces):
                for a, b in pieces:
                    mass = int(target.weights[a:b].sum(dtype=np.int64)) if weighted else b - a
                    stack.append((cuts.Node(a, b, mass, (cut.dim + 1) % d), 1 - turned))
                break
            work.tried[cut.dim] = True
    return labels


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRecords:
    """Distinct records: the first of each, how many there are of it, and which one each record is."""

    first: NDArray[np.int64]
    count: NDArray[np.int32]
    of: NDArray[np.int64]


def distinct_records(codes: NDArray[np.int32]) -> DistinctRecords | None:
    """The distinct records, or None where they are too many to be worth it.

    Examples
    --------
    >>> found = distinct_records(np.array([[1, 2], [1, 2], [0, 5], [1, 2]], np.int32))
    >>> found.count.tolist(), found.of.tolist()
    ([1, 3], [1, 1, 0, 1])
    """
    probe = _packed(codes[:: max(1, len(codes) // PROBE)])
    if probe is None or np.unique(probe).size > 0.95 * probe.size:
        return None
    key = _packed(codes)
    if key is None:
        return None
    _, first, of, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    if first.size > ENOUGH_DUPLICATES * key.size:
        return None
    return DistinctRecords(first, count.astype(np.int32), of)


def _packed(codes: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """One number for each record, or None if the domains are too large for 63 bits."""
    key = np.zeros(codes.shape[0], np.int64)
    room = 1
    for j in range(codes.shape[1]):
        size = int(codes[:, j].max()) + 1
        room *= size
        if room >= 2**63:
            return None
        key = key * size + codes[:, j]
    return key


def read_workload(option: object) -> tuple[WeightedPredicate, ...]:
    """Read the option `workload`: conditions in SQL, or tables with ``where`` and ``weight``.

    No message quotes a condition: it may name values of the table.

    Examples
    --------
    >>> [one.weight for one in read_workload(["age <= 36", {"where": "sex = 'F'", "weight": 2}])]
    [1.0, 2.0]
    """
    if not isinstance(option, list | tuple):
        raise PolicyError(f"workload must be a list of conditions in SQL: {FORM}")
    return tuple(_weighted(one, number) for number, one in enumerate(option, 1))


def _weighted(said: object, number: int) -> WeightedPredicate:
    if isinstance(said, WeightedPredicate):
        return said
    table = {"where": said} if isinstance(said, str) else said
    if not isinstance(table, Mapping) or not isinstance(table.get("where"), str):
        raise PolicyError(f"condition {number} of the workload must be SQL: {FORM}")
    strange = sorted(set(table) - {"where", "weight"})
    if strange:
        raise PolicyError(unknown("in a workload", strange, ["where", "weight"]))
    weight = table.get("weight", 1)
    try:
        mass = -1.0 if isinstance(weight, bool) else float(str(weight))
    except ValueError:
        mass = -1.0
    if not 0 < mass < float("inf"):
        raise PolicyError(f"the weight of condition {number} of the workload must be a number above 0")
    from incrowd.predicate.sql import parse_where  # the parser of SQL is heavy, and few need it

    try:
        return WeightedPredicate(parse_where(table["where"]), mass)
    except InputError as problem:
        raise PolicyError(f"condition {number} of the workload: {problem}") from None


def queries_of(workload: Sequence[WeightedPredicate], attributes: Sequence[Attribute]) -> kernels.Queries:
    """Prefix counts of the allowed codes of each predicate, for all attributes end to end."""
    domains = [ValueDomain.of(attribute) for attribute in attributes] if workload else []
    width = sum(len(attribute) + 1 for attribute in attributes)
    upto = np.zeros((len(workload), width), np.int32)
    edges: list[set[int]] = [set() for _ in attributes]
    for q, query in enumerate(workload):
        try:
            where = query.where.by_column([domain.name for domain in domains], "a quasi-identifier")
            allowed = [domain.satisfying(where.get(domain.name, ())) for domain in domains]
        except InputError as problem:
            raise PolicyError(f"condition {q + 1} of the workload: {problem}") from None
        upto[q] = np.concatenate([np.concatenate([[0], np.cumsum(mask)]) for mask in allowed])
        for found, mask in zip(edges, allowed, strict=True):
            found.update(np.flatnonzero(mask[1:] != mask[:-1]).tolist())
    return kernels.Queries(
        weight=np.array([query.weight for query in workload], np.float64),
        upto=upto,
        first_edge=np.concatenate([[0], np.cumsum([len(found) for found in edges])]).astype(np.int64),
        edges=np.array([code for found in edges for code in sorted(found)], np.int64),
    )
