"""The first cuts of a table whose distinct records do not fit: chosen from counts that the engine makes.

Every cut is the one that the kernel would make in memory: the same column, the same median, the same child of
a hierarchy, and where the gain decides, the same sums in the same order. Nodes are cut level by level, until
each has few enough records for the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.algorithms.costs import geometry_of
from incrowd.engines.base import Bounds, CutTree, Engine, Ints, NodeCut, Span, TallyOf, Zone, ZonesOf
from incrowd.engines.cut_guards import CutGuards
from incrowd.flow import Attribute, Microdata
from incrowd.kernels import cuts, mondrian
from incrowd.kernels.jit import with_door
from incrowd.long_work import Progress
from incrowd.schema import Shape

COARSE = 12  # bits of a code that are counted first
SLOTS = 6  # columns whose zones are combined in one count
extent, covering, child_of = with_door(cuts.extent), with_door(cuts.covering), with_door(cuts.child_of)


@dataclass(frozen=True, slots=True)
class Found:
    """A cut: codes low..high of a column on the left, or all children of a node of its hierarchy.

    ``parts`` are the spans of codes of each part with their masses; the last one takes whatever is in none.
    """

    column: int
    parts: tuple[tuple[int, int, int], ...]

    @property
    def low(self) -> int:
        return self.parts[0][0]

    @property
    def high(self) -> int:
        return self.parts[0][1]


@dataclass(frozen=True, slots=True)
class TopNode:
    """A node that may have to be cut: how many rows it has, and whose turn it is in a round robin."""

    mass: int
    turn: int = 0


class TopCuts:
    """A tree of cuts that grows until every leaf has at most `limit` rows, or cannot be cut.

    Where a guard refuses a cut, the node's next best column is tried, as `cut_guarded` does in memory.
    """

    def __init__(
        self,
        engine: Engine,
        attributes: tuple[Attribute, ...],
        rules: mondrian.CutRules,
        limit: int,
        guards: CutGuards | None = None,
    ) -> None:
        self._engine, self._attributes, self._rules, self._limit = engine, attributes, rules, limit
        self._guards = guards
        self._geometry = geometry_of(Microdata(np.zeros((1, len(attributes)), np.int32), attributes))
        self._cuts: dict[int, NodeCut] = {}
        self.nodes: dict[int, TopNode] = {}

    @property
    def tree(self) -> CutTree:
        return CutTree(dict(self._cuts))

    def grow(self, rows: int, progress: Progress) -> CutTree:
        """Cut the whole table."""
        self.nodes = {0: TopNode(rows)}
        left = self._large([0])
        while left:
            bounds = self._engine.node_stats(self.tree, left)
            gain = self._rules.choose == mondrian.GAIN
            found = self._cheapest(left, bounds) if gain else self._first(left, bounds)
            left = self._large([child for node, cut in found.items() for child in self._add(node, cut)])
            largest = max((self.nodes[node].mass for node in left), default=0)
            progress(1 - largest / rows)
        return self.tree

    def _large(self, nodes: Sequence[int]) -> list[int]:
        least = max(self._limit + 1, 2 * self._rules.k)
        return [node for node in nodes if self.nodes[node].mass >= least]

    def _add(self, node: int, cut: Found) -> list[int]:
        """Note a cut -> the new nodes."""
        first, d = len(self.nodes), len(self._attributes)
        children = [*range(first, first + len(cut.parts))]
        for child, (_, _, mass) in zip(children, cut.parts, strict=True):
            self.nodes[child] = TopNode(mass, (cut.column + 1) % d)
        self._cuts[node] = _node_cut(cut, children)
        return children

    def _guarded(self, found: Mapping[int, Found]) -> dict[int, Found]:
        """Of the cuts of some nodes those that no guard refuses."""
        if not self._guards or not found:
            return dict(found)
        cuts, parts, free = dict(self._cuts), {}, len(self.nodes)
        for node, cut in found.items():  # on trial, with children of their own
            parts[node] = [*range(free, free + len(cut.parts))]
            cuts[node] = _node_cut(cut, parts[node])
            free += len(cut.parts)
        kept = self._guards.kept(CutTree(cuts), parts)
        return {node: cut for node, cut in found.items() if node in kept}

    # The widest column, or the next in turn

    def _first(self, nodes: Sequence[int], bounds: Bounds) -> dict[int, Found]:
        """For each node the cut of the first of its columns, in their order, that has one."""
        orders = {node: self._order(node, bounds, i) for i, node in enumerate(nodes)}
        place = {node: i for i, node in enumerate(nodes)}
        found: dict[int, Found] = {}
        pending = [node for node in nodes if orders[node]]
        while pending:
            asked = [(node, orders[node].pop(0)) for node in pending]
            cuts = zip(asked, self._own_cuts(asked, bounds, place), strict=True)
            found |= self._guarded({node: cut for (node, _), cut in cuts if cut is not None})
            pending = [node for node in pending if node not in found and orders[node]]
        return found

    def _order(self, node: int, bounds: Bounds, i: int) -> list[int]:
        d, low, high = len(self._attributes), bounds.low[i], bounds.high[i]
        if self._rules.choose == mondrian.ROUND_ROBIN:
            order = [(self.nodes[node].turn + step) % d for step in range(d)]
        else:
            wide = [extent(j, int(low[j]), int(high[j]), self._geometry) for j in range(d)]
            order = sorted(range(d), key=lambda j: -wide[j])
        return [j for j in order if low[j] < high[j]]

    def _own_cuts(
        self, asked: Sequence[tuple[int, int]], bounds: Bounds, place: Mapping[int, int]
    ) -> list[Found | None]:
        """The cut of a column of each node, as strict Mondrian makes it; None if it has none."""
        trees = [pair for pair in asked if self._is_tree(pair[1])]
        plain = [pair for pair in asked if not self._is_tree(pair[1])]
        found: dict[int, Found | None] = {}
        for (node, column), tally in zip(trees, self._tallies(trees), strict=True):
            found[node] = self._into_children(column, tally, self.nodes[node].mass)
        for (node, column), middle in zip(plain, self._medians(plain), strict=True):
            low, high = (int(ends[place[node], column]) for ends in (bounds.low, bounds.high))
            found[node] = next(self._halves(column, middle, low, high, self.nodes[node].mass), None)
        return [found[node] for node, _ in asked]

    def _is_tree(self, column: int) -> bool:
        return self._attributes[column].shape is Shape.TREE

    def _allowable(self, mass: int, whole: int) -> bool:
        return self._rules.k <= mass <= whole - self._rules.k

    def _halves(
        self, column: int, middle: tuple[int, int, int], low: int, high: int, mass: int
    ) -> Iterator[Found]:
        """The cuts at a median: up to it, and below it."""
        code, less, equal = middle
        if self._allowable(less + equal, mass):
            left = less + equal
            yield Found(column, ((low, code, left), (code + 1, high, mass - left)))
        if self._rules.below_too and self._allowable(less, mass):
            yield Found(column, ((low, code - 1, less), (code, high, mass - less)))

    def _children(self, column: int, tally: tuple[Ints, Ints]) -> tuple[int, list[tuple[int, int, int]]]:
        """The smallest node over the codes, and the spans of its inhabited children with their masses."""
        codes, counts = tally
        start = int(self._geometry.start[column])
        top = covering(column, int(codes[0]), int(codes[-1]), self._geometry)
        leaves = self._geometry.leaf[start + codes]
        child = np.array([child_of(top, int(leaf), self._geometry) for leaf in leaves])
        spans = []
        for each in dict.fromkeys(child.tolist()):
            own = np.flatnonzero(child == each)
            spans.append((int(codes[own[0]]), int(codes[own[-1]]), int(counts[own].sum())))
        return int(top), spans

    def _into_children(self, column: int, tally: tuple[Ints, Ints], mass: int) -> Found | None:
        _, spans = self._children(column, tally)
        smallest = min(rows for _, _, rows in spans)
        return Found(column, tuple(spans)) if self._rules.k <= smallest < mass else None

    # Counting

    def _tallies(self, asked: Sequence[tuple[int, int]]) -> list[tuple[Ints, Ints]]:
        """How often each code of a column occurs in a node; a node is asked about one column at a time."""
        wanted = [TallyOf(node, column) for node, column in asked]
        return self._engine.node_tallies(self.tree, wanted) if wanted else []

    def _medians(self, asked: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
        """The lower median of a column in each node, how many rows lie below it, and how many at it."""
        if not asked:
            return []
        shifts = [max(0, (len(self._attributes[j]) - 1).bit_length() - COARSE) for _, j in asked]
        coarse = [TallyOf(node, j, shift) for (node, j), shift in zip(asked, shifts, strict=True)]
        wanted = [(self.nodes[node].mass + 1) // 2 for node, _ in asked]
        found = [
            _reached(*tally, half)
            for tally, half in zip(self._engine.node_tallies(self.tree, coarse), wanted, strict=True)
        ]
        fine = [i for i, shift in enumerate(shifts) if shift]
        if fine:
            inside = [
                TallyOf(*asked[i], 0, found[i][0] << shifts[i], ((found[i][0] + 1) << shifts[i]) - 1)
                for i in fine
            ]
            tallies = self._engine.node_tallies(self.tree, inside)
            for i, tally in zip(fine, tallies, strict=True):
                below = found[i][1]
                code, less, equal = _reached(*tally, wanted[i] - below)
                found[i] = (code, below + less, equal)
        return found

    # The largest gain

    def _cheapest(self, nodes: Sequence[int], bounds: Bounds) -> dict[int, Found]:
        """For each node the cut after which least is lost, of equal ones the first.

        A refused cut takes all others of its column with it.
        """
        options: dict[int, list[Found]] = {node: [] for node in nodes}
        for column in range(len(self._attributes)):
            self._offer(column, nodes, bounds, options)
        found: dict[int, Found] = {}
        losses = self._losses(options, dict(zip(nodes, range(len(nodes)), strict=True)), bounds)
        ranked = {node: _ranked(options[node], losses[node]) for node in nodes if options[node]}
        while ranked:
            best = {node: cuts[0] for node, cuts in ranked.items()}
            found |= self._guarded(best)
            ranked = {
                node: others
                for node, cuts in ranked.items()
                if node not in found and (others := [c for c in cuts if c.column != best[node].column])
            }
        return found

    def _offer(
        self, column: int, nodes: Sequence[int], bounds: Bounds, options: Mapping[int, list[Found]]
    ) -> None:
        asked = [
            (node, column) for i, node in enumerate(nodes) if bounds.low[i, column] < bounds.high[i, column]
        ]
        ends = {
            node: (int(bounds.low[i, column]), int(bounds.high[i, column])) for i, node in enumerate(nodes)
        }
        for (node, _), middle in zip(asked, self._medians(asked), strict=True):
            options[node] += self._halves(column, middle, *ends[node], self.nodes[node].mass)
        if self._is_tree(column):
            for (node, _), tally in zip(asked, self._tallies(asked), strict=True):
                options[node] += self._best_child(column, tally, self.nodes[node].mass)

    def _best_child(self, column: int, tally: tuple[Ints, Ints], mass: int) -> list[Found]:
        """The child that is cheapest to cut off, if there is one."""
        top, spans = self._children(column, tally)
        cost = self._geometry.cost
        best: tuple[float, int, int, int] | None = None
        for low, high, rows in spans:
            if self._allowable(rows, mass):
                inside = covering(column, low, high, self._geometry)
                drop = rows * (cost[top] - cost[inside])
                if best is None or drop > best[0] or (drop == best[0] and low < best[1]):
                    best = (drop, low, high, rows)
        if best is None:
            return []
        _, low, high, rows = best
        return [Found(column, ((low, high, rows), (0, -1, mass - rows)))]

    def _losses(
        self, options: Mapping[int, Sequence[Found]], place: Mapping[int, int], bounds: Bounds
    ) -> dict[int, list[float]]:
        """The loss of each node after each of its cuts."""
        zones = {
            (node, j): ZonesOf(node, j, tuple(sorted(_starts(own))))
            for node, found in options.items()
            for j in sorted({cut.column for cut in found})
            if (own := [cut for cut in found if cut.column == j])
        }
        sides = self._sides(zones)
        sets = [j for j, attribute in enumerate(self._attributes) if attribute.shape is Shape.SET]
        values = {i: self._values(zones, i) for i in sets}
        return {
            node: [
                self._loss(cut, zones[node, cut.column], sides[node, cut.column], values, bounds, place[node])
                for cut in found
            ]
            for node, found in options.items()
        }

    def _sides(self, zones: Mapping[tuple[int, int], ZonesOf]) -> dict[tuple[int, int], list[Zone]]:
        """The bounds of all columns in each zone of a column."""
        found: dict[tuple[int, int], list[Zone]] = {}
        every = sorted({j for _, j in zones})
        for columns in (every[at : at + SLOTS] for at in range(0, len(every), SLOTS)):
            asked = [ask for (_, j), ask in zones.items() if j in columns]
            by_node = self._engine.node_zones(self.tree, asked) if asked else {}
            for node, rows in by_node.items():
                own = [ask.column for ask in asked if ask.node == node]
                for slot, j in enumerate(own):
                    found[node, j] = [Zone((row.zones[slot],), row.low, row.high) for row in rows]
        return found

    def _values(
        self, zones: Mapping[tuple[int, int], ZonesOf], column: int
    ) -> dict[tuple[int, int], Mapping[int, frozenset[int]]]:
        """The codes of a column of sets in each zone of every column."""
        found = {}
        for j in sorted({j for _, j in zones}):
            asked = [ask for (_, of), ask in zones.items() if of == j]
            for node, values in self._engine.node_values(self.tree, asked, column).items():
                found[node, j] = values
        return found

    def _loss(
        self,
        cut: Found,
        zones: ZonesOf,
        sides: Sequence[Zone],
        values: Mapping[int, Mapping[tuple[int, int], Mapping[int, frozenset[int]]]],
        bounds: Bounds,
        i: int,
    ) -> float:
        """As `kernels.cuts.loss_after` adds it up, in the same order."""
        first = [int(bounds.low[i, cut.column]), *zones.starts]
        left_zones = {z for z, code in enumerate(first) if cut.low <= code <= cut.high}
        mass = int(bounds.mass[i])
        left = cut.parts[0][2]
        right, loss, geometry = mass - left, 0.0, self._geometry
        for j in range(len(self._attributes)):
            if bounds.low[i, j] == bounds.high[i, j]:
                continue
            if self._attributes[j].shape is Shape.SET:
                met = values[j][zones.node, cut.column]
                here, there = (
                    len(frozenset().union(*(codes for z, codes in met.items() if (z in left_zones) is side)))
                    for side in (True, False)
                )
                loss += ((here - 1) * left + (there - 1) * right) * float(geometry.scale[j])
                continue
            ends = []
            for side in (True, False):
                own = [zone for zone in sides if (zone.zones[0] in left_zones) is side]
                ends += [min(zone.low[j] for zone in own), max(zone.high[j] for zone in own)]
            a, b, c, d = ends
            loss += extent(j, a, b, geometry) * left + extent(j, c, d, geometry) * right
        return loss


def _node_cut(cut: Found, children: Sequence[int]) -> NodeCut:
    spans = [Span(low, high, child) for child, (low, high, _) in zip(children, cut.parts, strict=True)]
    return NodeCut(cut.column, tuple(spans[:-1]), children[-1])


def _ranked(cuts: Sequence[Found], losses: Sequence[float]) -> list[Found]:
    """Cuts by what is lost after them, of equal ones the first first."""
    return [cuts[i] for i in sorted(range(len(cuts)), key=lambda i: losses[i])]


def _starts(own: Sequence[Found]) -> set[int]:
    """Where zones begin, so that every cut lies between two of them."""
    found = set()
    for cut in own:
        found |= {cut.low, cut.high + 1}
    return found


def _reached(codes: Ints, counts: Ints, wanted: int) -> tuple[int, int, int]:
    """The first code up to which so many rows lie, how many lie below it, and how many at it."""
    upto = np.cumsum(counts)
    at = int(np.searchsorted(upto, wanted))
    return int(codes[at]), int(upto[at] - counts[at]), int(counts[at])
