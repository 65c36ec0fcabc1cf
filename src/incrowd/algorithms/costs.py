"""Domains as the flat arrays that kernels read: where codes lie, and what closures cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.hierarchy import Family
from incrowd.kernels import closure, cuts, exact
from incrowd.schema import Kind, Shape
from incrowd.values import read_texts

MEASURES = ("lm", "entropy")
EXTENT = "extent"
BITS = 64
MOST_SPAN = 2**61  # wider columns leave no room for a digit
SMALL = 768  # values up to which an attribute gets a table of all pairs


def geometry_of(data: Microdata) -> cuts.Geometry:
    """Where codes lie and what a set of them costs, for all attributes end to end."""
    kernel_shape = {Shape.RANGE: cuts.RANGE, Shape.SET: cuts.SET, Shape.TREE: cuts.TREE}
    sizes = [len(attribute) for attribute in data.attributes]
    trees = _NodeTable()
    leaves = [trees.plant(attribute) for attribute in data.attributes]
    return cuts.Geometry(
        shape=np.array([kernel_shape[a.shape] for a in data.attributes], np.int8),
        scale=np.array([_scale(a) for a in data.attributes]),
        start=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        position=np.concatenate([_position(a) for a in data.attributes]),
        leaf=np.concatenate(leaves).astype(np.int32),
        parent=np.array(trees.parent, np.int32),
        high=np.array(trees.high, np.int32),
        cost=np.array(trees.cost, np.float64),
    )


def room_to_cut(n: int, geometry: cuts.Geometry) -> cuts.Work:
    """Scratch space of the kernels that cut n rows."""
    d, codes, nodes = geometry.shape.size, geometry.position.size, geometry.parent.size
    return cuts.Work(
        tally=np.zeros(1 << 12, np.int64),
        side=np.zeros(n, np.int8),
        place=np.zeros(n, np.int32),
        low=np.zeros(d, np.int64),
        high=np.zeros(d, np.int64),
        tried=np.zeros(d, np.bool_),
        stamp=np.zeros((2, codes), np.int64),
        clock=np.zeros(2, np.int64),
        child_mass=np.zeros(nodes, np.int64),
        child_low=np.zeros(nodes, np.int64),
        child_high=np.zeros(nodes, np.int64),
    )


def _scale(attribute: Attribute) -> float:
    """One over the width of the domain; 0 for a single value, which then costs nothing."""
    width = attribute.span if attribute.shape is Shape.RANGE else float(len(attribute) - 1)
    return 1.0 / width if width > 0 else 0.0


def _position(attribute: Attribute) -> NDArray[np.float64]:
    """Positions for choosing cuts; missing lies one mean gap below the smallest number."""
    if attribute.shape is not Shape.RANGE:
        return np.arange(len(attribute), dtype=np.float64)
    position = attribute.position.astype(np.float64, copy=True)
    if attribute.missing == 0:
        gap = attribute.span / max(len(attribute) - 1, 1)
        position[0] = (position[1] if len(attribute) > 1 else 0.0) - gap
    return position


@dataclass(frozen=True, slots=True, eq=False)
class ExactLine:
    """Where the codes of an attribute lie, in whole numbers from 0, without rounding.

    Ranges are measured in values, missing lying one mean gap below the smallest; leaves of a tree and values
    of a set lie one step apart. `span` is from the smallest to the largest value, missing aside; `unit` is
    what 1 is in the column's own unit.
    """

    places: NDArray[np.int64]
    span: int
    unit: int

    @classmethod
    def of(cls, attribute: Attribute) -> ExactLine:
        size = len(attribute)
        if attribute.shape is not Shape.RANGE:
            return cls(np.arange(size, dtype=np.int64), size - 1, 1)
        real, unit = _whole(attribute)
        span, others = int(real[-1]) if real.size else 0, max(size - 1, 1)
        if attribute.missing != 0:
            others, places = 1, real
        else:
            _check_digits(span * size, attribute.name)
            places = np.concatenate([[0], span + others * real])
        shrink = int(np.gcd.reduce(places, initial=0)) or 1
        shrink = int(np.gcd(np.gcd(shrink, span * others), unit * others))
        return cls(places // shrink, span * others // shrink, unit * others // shrink)


def _whole(attribute: Attribute) -> tuple[NDArray[np.int64], int]:
    """How far the values of a range lie above the smallest, in parts of its unit -> (offsets, parts)."""
    position, texts = attribute.position[attribute.real], attribute.texts[attribute.real]
    offsets = position - position[:1]
    pointless = attribute.kind is not Kind.NUMERIC or not any("." in text for text in texts)
    if pointless and bool((offsets == np.rint(offsets)).all()) and attribute.span < 2**53:
        return offsets.astype(np.int64), 1
    numbers = read_texts(texts, Kind.NUMERIC)
    exact = [Fraction(x) if isinstance(x, int | Decimal) else None for x in numbers]
    values = [Fraction(at) if x is None else x for x, at in zip(exact, position.tolist(), strict=True)]
    parts = lcm(*(value.denominator for value in values))
    _check_digits(int((values[-1] - values[0]) * parts), attribute.name)
    return np.array([int((value - values[0]) * parts) for value in values], np.int64), parts


def _check_digits(span: int, name: str) -> None:
    if span >= MOST_SPAN:
        raise PolicyError(
            f"the numbers of {name} have too many digits to compare sums of widths exactly; round them, or "
            "give the column a hierarchy"
        )


def spans_of(spans: Sequence[int], weight: int) -> exact.Spans:
    """Spans of columns as the kernels read them; the weights of one sum are at most `weight` together."""
    d, common = len(spans), lcm(*spans)
    shift = min(63 - max(spans).bit_length(), 62 - (weight * d).bit_length())
    exactly = 2 * d * weight * common < 2**53
    return exact.Spans(
        span=np.array(spans, np.int64),
        share=np.array([common // span if exactly else 1.0 / span for span in spans], np.float64),
        slack=0.0 if exactly else float(d * (d + 8)) * 2.0**-50,
        shift=shift,
        digits=-(-(common * weight * d).bit_length() // shift) + 1,
        widths=np.zeros((exact.ROWS, d), np.int64),
        times=np.ones(exact.ROWS, np.int64),
    )


class _NodeTable:
    """The trees of all attributes with their nodes numbered through; node 0 belongs to none."""

    def __init__(self) -> None:
        self.parent = [0]
        self.high = [0]
        self.cost = [0.0]

    def plant(self, attribute: Attribute) -> NDArray[np.int64]:
        """Add an attribute's tree -> the node of each of its codes."""
        tree = attribute.tree
        if attribute.shape is not Shape.TREE or tree is None:
            return np.zeros(len(attribute), np.int64)
        base = len(self.parent)
        others = max(len(attribute) - 1, 1)
        self.parent += (tree.parent + base).tolist()
        self.high += tree.high.tolist()
        self.cost += ((tree.sizes() - 1) / others).tolist()
        leaf = tree.leaf_node.astype(np.int64) + base
        if len(attribute) == len(tree.leaves):
            return leaf
        return np.append(leaf, self._hang_missing(base, len(tree.leaves)))

    def _hang_missing(self, root: int, code: int) -> int:
        """A leaf for missing beside the tree, and a new root over both."""
        missing = len(self.parent)
        self.parent += [missing + 1, missing + 1]
        self.high += [code, code]
        self.cost += [0.0, 1.0]
        self.parent[root] = missing + 1
        return missing


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """A table with what its closures cost.

    ``codes`` are those of the table, except that the sets of a family are numbered depth first, as leaves
    are. `step` is the least that two different values of one attribute can cost.
    """

    codes: Codes
    costs: closure.Costs
    step: float


def priced(data: Microdata, measure: str) -> Priced:
    """Codes and costs of a table, the cells paid by loss (``lm``) or in bits (``entropy``).

    With `EXTENT` a range is paid by how many codes it holds: then every closure that grows gets dearer, and
    equal costs tell who is inside. Loss does not, where a column has one number besides missing, or numbers
    that differ by less than a float tells.
    """
    geometry = geometry_of(data)
    if measure == EXTENT:
        geometry, measure = _in_codes(geometry, data), "lm"
    codes = data.codes.copy()
    drawers = [_Drawer(a, j, codes, geometry, measure) for j, a in enumerate(data.attributes)]
    sizes = [drawer.table.size for drawer in drawers]
    nodes = _node_costs(geometry, drawers, measure)
    costs = closure.Costs(
        kind=np.array([drawer.kind for drawer in drawers], np.int8),
        size=np.array([len(a) for a in data.attributes], np.int64),
        table=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        start=geometry.start,
        scale=geometry.scale,
        entropy=measure == "entropy",
        cost=np.concatenate([drawer.table.ravel() for drawer in drawers]),
        floor=np.concatenate([_floor(drawer.table).ravel() for drawer in drawers]),
        position=geometry.position,
        mass=np.concatenate([drawer.mass for drawer in drawers]),
        logs=np.concatenate([drawer.logs for drawer in drawers]),
        leaf=geometry.leaf,
        parent=geometry.parent,
        high=geometry.high,
        node_cost=nodes,
        node_floor=_node_floor(nodes, geometry.parent),
    )
    return Priced(codes, costs, min((drawer.step for drawer in drawers), default=1.0))


def fewest_values_first(table: Priced) -> Priced:
    """The same table with its columns in an order in which unlike records are told apart soonest."""
    costs = table.costs
    order = np.argsort(costs.size, kind="stable")
    turned = costs._replace(
        kind=costs.kind[order],
        size=costs.size[order],
        table=costs.table[order],
        start=costs.start[order],
        scale=costs.scale[order],
    )
    return Priced(np.ascontiguousarray(table.codes[:, order]), turned, table.step)


def _in_codes(geometry: cuts.Geometry, data: Microdata) -> cuts.Geometry:
    sizes = [len(attribute) for attribute in data.attributes]
    return geometry._replace(
        position=np.concatenate([np.arange(size, dtype=np.float64) for size in sizes]),
        scale=np.array([1.0 / max(size - 1, 1) for size in sizes]),
    )


class _Drawer:
    """One attribute: how its cells are found, and its table of costs if it has one."""

    def __init__(
        self, attribute: Attribute, j: int, codes: Codes, geometry: cuts.Geometry, measure: str
    ) -> None:
        size = len(attribute)
        nodes = intervals(attribute)
        if attribute.shape is Shape.SET and attribute.family:
            rank, nodes = family_as_tree(attribute)
            codes[:, j] = rank[codes[:, j]]
        count = np.bincount(codes[:, j], minlength=size).astype(np.float64)
        self.count = count
        self.mass = np.concatenate([[0.0], np.cumsum(count)])
        self.logs = np.concatenate([[0.0], np.cumsum(_times_log(count))])
        self.table = np.zeros((0, 0))
        self.step = _step(attribute, geometry, j) if measure == "lm" else 1.0 / max(len(codes), 1)
        if nodes is None and attribute.shape is Shape.SET:
            self.kind = closure.SET
            if size > BITS:
                raise PolicyError(
                    f"{attribute.name} is published as sets and has {size} different values, more than "
                    f"{BITS}; give it a hierarchy, or take the method mondrian"
                )
        elif size <= SMALL or (nodes is not None and attribute.shape is Shape.SET):
            self.kind = closure.TABLE
            self.table = _pairs(attribute, geometry, j, count, nodes, measure)
        else:
            self.kind = closure.TREE if attribute.shape is Shape.TREE else closure.LINE


def _times_log(count: NDArray[np.float64]) -> NDArray[np.float64]:
    return count * np.log2(np.maximum(count, 1.0))


def _step(attribute: Attribute, geometry: cuts.Geometry, j: int) -> float:
    """The smallest loss of a cell over two different values."""
    if attribute.shape is not Shape.RANGE:
        return 1.0 / max(len(attribute) - 1, 1)
    gaps = np.diff(geometry.position[geometry.start[j] : geometry.start[j + 1]]) * geometry.scale[j]
    return float(gaps.min()) if gaps.size else 1.0


def intervals(attribute: Attribute) -> list[tuple[int, int]] | None:
    """The nodes of a tree as intervals of leaf codes, larger ones first; missing may hang beside it."""
    tree = attribute.tree
    if attribute.shape is not Shape.TREE or tree is None:
        return None
    nodes = {(0, len(attribute) - 1), *zip(tree.low.tolist(), tree.high.tolist(), strict=True)}
    nodes |= {(code, code) for code in range(len(attribute))}
    return sorted(nodes, key=lambda node: node[0] - node[1])


def family_as_tree(attribute: Attribute) -> tuple[NDArray[np.int32], list[tuple[int, int]]]:
    """A family of nested sets: where each code lies depth first, and the sets as intervals, larger first."""
    family = Family(frozenset(range(len(attribute))), frozenset(attribute.family))
    if not family.laminar:
        raise PolicyError(
            f"the family of {attribute.name} has sets that overlap without nesting, which this method cannot "
            "use; give it a hierarchy"
        )
    sets = sorted({*attribute.family, family.domain}, key=lambda each: (-len(each), min(each)))
    order = sorted(range(len(attribute)), key=lambda code: [*(min(s) for s in sets if code in s), code])
    rank = np.empty(len(attribute), np.int32)
    rank[order] = np.arange(len(attribute), dtype=np.int32)
    places = [sorted(rank[list(each)].tolist()) for each in sets]
    singles = [(code, code) for code in range(len(attribute))]
    return rank, [(place[0], place[-1]) for place in places] + singles


def _pairs(
    attribute: Attribute,
    geometry: cuts.Geometry,
    j: int,
    count: NDArray[np.float64],
    nodes: list[tuple[int, int]] | None,
    measure: str,
) -> NDArray[np.float64]:
    """What the smallest cell over codes low..high costs, for all pairs; below the diagonal nothing."""
    size = len(attribute)
    wide = np.zeros((size, size))
    for low in range(size):
        if measure == "entropy":
            wide[low, low:] = _entropies(count[low:])
        elif nodes is not None:
            wide[low, low:] = np.arange(size - low) / max(size - 1, 1)
        else:
            position = geometry.position[geometry.start[j] : geometry.start[j + 1]]
            wide[low, low:] = (position[low:] - position[low]) * geometry.scale[j]
    if nodes is None:
        return wide
    table = np.zeros_like(wide)
    for low, high in nodes:
        table[low : high + 1, low : high + 1] = wide[low, high]
    return np.triu(table)


def _entropies(count: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bits of the first one, two, … counts; summed from here, so that large tables cost no digits."""
    mass = np.cumsum(count)
    some = np.maximum(mass, 1.0)
    found = np.where(mass > 0, np.log2(some) - np.cumsum(_times_log(count)) / some, 0.0)
    found[0] = 0.0
    return np.maximum(found, 0.0)


def _floor(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least cost of any pair around low..high."""
    upper = np.where(np.tri(len(table), k=-1, dtype=bool), np.inf, table)
    down = np.minimum.accumulate(upper, axis=0)
    return np.ascontiguousarray(np.minimum.accumulate(down[:, ::-1], axis=1)[:, ::-1])


def _node_costs(geometry: cuts.Geometry, drawers: list[_Drawer], measure: str) -> NDArray[np.float64]:
    """What the nodes of all trees cost; in bits, from how often their leaves occur."""
    if measure == "lm":
        return geometry.cost
    parts: list[NDArray[np.float64]] = [np.zeros(geometry.parent.size), np.zeros(geometry.parent.size)]
    for j, drawer in enumerate(drawers):
        for node, count in zip(geometry.leaf[geometry.start[j] :], drawer.count, strict=False):
            at = int(node)
            while at and count:
                parts[0][at] += count
                parts[1][at] += _times_log(count)
                if geometry.parent[at] == at:
                    break
                at = int(geometry.parent[at])
    some = np.maximum(parts[0], 1.0)
    return np.maximum(np.log2(some) - parts[1] / some, 0.0)


def _node_floor(cost: NDArray[np.float64], parent: NDArray[np.int32]) -> NDArray[np.float64]:
    """The least cost of a node or one above it."""
    floor, above = cost.copy(), parent
    while True:
        lower = np.minimum(floor, floor[above])
        if (lower == floor).all() and (above == parent[above]).all():
            return floor
        floor, above = lower, parent[above]


def groups_of(ids: NDArray[np.int64], table: Priced, spare: int = 0) -> closure.GroupBounds:
    """Records as groups 0..g-1, ids (n,) -> groups, with room for `spare` more."""
    count, d = (int(ids.max()) + 1 if ids.size else 0), table.codes.shape[1]
    rows = count + spare
    sets = bool((table.costs.kind == closure.SET).any())
    groups = closure.GroupBounds(
        low=np.full((rows, d), np.iinfo(np.int32).max, np.int32),
        high=np.full((rows, d), -1, np.int32),
        bits=np.zeros((rows, d if sets else 0), np.uint64),
        cost=np.zeros(rows),
        size=np.zeros(rows, np.int64),
        first=np.full(rows, np.iinfo(np.int64).max),
    )
    np.minimum.at(groups.low, ids, table.codes)
    np.maximum.at(groups.high, ids, table.codes)
    if sets:
        for j in np.flatnonzero(table.costs.kind == closure.SET):
            bits = np.left_shift(np.uint64(1), table.codes[:, j].astype(np.uint64))
            np.bitwise_or.at(groups.bits[:, j], ids, bits)
    np.add.at(groups.size, ids, 1)
    np.minimum.at(groups.first, ids, np.arange(ids.size))
    closure.price(count, groups, table.costs)
    return groups


def cost_of(labels: NDArray[np.integer], table: Priced) -> float:
    """What all rows cost together, if these are the classes of the records, numbered from 0 without gaps."""
    groups = groups_of(labels.astype(np.int64), table)
    return float((groups.cost * groups.size).sum())
