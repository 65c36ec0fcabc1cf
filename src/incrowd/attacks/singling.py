"""Singling out and downcoding: what the release alone discloses, without knowing anybody.

Singling out makes a description that exactly one person of the table fits. Downcoding takes a generalized
cell for the smallest one over its class, so that no smaller one would have done.

References
----------
Cohen, Nissim, "Towards formalizing the GDPR's notion of singling out", PNAS 2020.
Cohen, "Attacks on deidentification's defenses", USENIX Security 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.linked import people_of
from incrowd.attacks.registry import AttackResult, Rate, attack
from incrowd.attacks.target import Ints, Target, runs
from incrowd.hierarchy import Hierarchy

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio


@attack("singling", 80, ("records",))
def singling(target: Target) -> AttackResult:
    """For each distinct row: whoever fits it and has a hash that one in c people has, c being its rows.

    The hash is of a person's number, which stands for all that can be known of somebody. About
    (1 - 1/c)^(c-1) of the descriptions fit exactly one person, at least 1/e, though hardly anybody fits one
    by chance.
    """
    sizes = target.graph.row_weight[: target.graph.published]
    formula = (1 - 1 / sizes) ** (sizes - 1)
    rates = isolated(target), _blind(sizes, len(target.data)), isolated(target.control)
    details = {"descriptions": sizes.size, "by_the_formula": float(formula.mean()) if sizes.size else 0.0}
    return AttackResult("singling", "predicate singling out", "the release alone", *rates, None, details)


def isolated(target: Target) -> Rate:
    """How many distinct rows, each with its hash, describe exactly one person."""
    sizes = target.graph.row_weight[: target.graph.published]
    starts, who = people_of(target)
    row = np.repeat(np.arange(sizes.size), np.diff(starts))
    chosen = hashed(who, row) % sizes[row].astype(np.uint64) == 0
    return Rate(int((np.bincount(row[chosen], minlength=sizes.size) == 1).sum()), sizes.size)


def hashed(who: Ints, row: Ints) -> NDArray[np.uint64]:
    """A number for each person and row that looks like chance, and is the same each time.

    Examples
    --------
    >>> int((hashed(np.arange(6000), np.zeros(6000, np.int64)) % np.uint64(6) == 0).sum()) // 100
    9
    """
    return splitmix(who.astype(np.uint64) * GOLDEN + row.astype(np.uint64))


def splitmix(mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Whole numbers turned into others that look like chance (the last steps of splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    found: NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(31))
    return found


def _blind(sizes: Ints, people: int) -> Rate:
    """The hash without the row: what it would win is added up, not tried."""
    share = people / sizes * (1 - 1 / sizes) ** (people - 1)
    return Rate(min(round(float(share.sum())), sizes.size), sizes.size)


KNOWS = "the release alone, and that cells are the smallest ones over their class"


@dataclass(frozen=True)
class NodeClaims:
    """How many nodes were claimed to be parted, how many are, and what random people would make of them.

    ``alone`` are those where somebody is the only one of the class under some child.
    """

    made: int = 0
    right: int = 0
    by_chance: float = 0.0
    alone: int = 0

    def __add__(self, other: NodeClaims) -> NodeClaims:
        chance = self.by_chance + other.by_chance
        return NodeClaims(self.made + other.made, self.right + other.right, chance, self.alone + other.alone)


@attack("downcoding", 90, ("hierarchical",))
def downcoding(target: Target) -> AttackResult:
    """Claim of each node of a tree in a class: its people are under more than one of the node's children."""
    found, smallest = claims(target), claims(target, smallest=True)
    guess = Rate(min(round(found.by_chance), found.made), found.made)
    rates = Rate(found.right, found.made), guess, Rate(smallest.right, smallest.made)
    details = {"claims": found.made, "claims_with_somebody_alone_under_a_child": found.alone}
    return AttackResult("downcoding", "downcoding", KNOWS, *rates, None, details)


def claims(target: Target, smallest: bool = False) -> NodeClaims:
    """Claims about all columns with a tree. `smallest`: about the smallest nodes, whatever is published.

    Only classes count of which it is known who is behind them: as many people can be as they have rows.
    """
    starts, who = people_of(target)
    sizes = np.diff(starts)
    known = np.flatnonzero((sizes == target.graph.row_weight[: sizes.size]) & (sizes > 0))
    people = who[runs(starts[known], sizes[known])]
    total = NodeClaims()
    for j, attribute in enumerate(target.data.attributes):
        if attribute.tree is None or not known.size:
            continue
        codes = target.data.codes[:, j]
        begin = np.cumsum(sizes[known]) - sizes[known]
        if smallest:
            low, high = (side.reduceat(codes[people], begin) for side in (np.minimum, np.maximum))
        else:
            low, high = _leaves(target, j, target.first[known])
        total += _column(attribute.tree, codes, low, high, (begin, sizes[known], people))
    return total


def _leaves(target: Target, column: int, rows: Ints) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The leaves from which to which the cells of rows go; cells that are no node go nowhere."""
    cells = target.published.cells[column]
    cell = target.published.rows[column][rows]
    one = cells.starts[cell + 1] - cells.starts[cell] == 1
    low, high = cells.first[cells.starts[cell]], cells.last[cells.starts[cell]]
    return low, np.where(one, high, low)


def _column(
    tree: Hierarchy,
    codes: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    classes: tuple[Ints, Ints, Ints],
) -> NodeClaims:
    """Claims about one column, node by node. Missing, where it is no leaf, has no node."""
    begin, sizes, people = classes
    able = np.flatnonzero((low < high) & (high < len(tree.leaves)))
    node = tree.coverings(low[able], high[able])
    table = np.bincount(codes, minlength=len(tree.leaves))
    total = NodeClaims()
    for each in np.unique(node).tolist():
        here = able[node == each]
        children = np.sort(
            tree.low[np.flatnonzero((tree.parent == each) & (np.arange(tree.parent.size) > 0))]
        )
        person = codes[people[runs(begin[here], sizes[here])]]
        child = np.searchsorted(children, person, side="right") - 1
        owner = np.repeat(np.arange(here.size), sizes[here])
        flat = np.bincount(owner * children.size + child, minlength=here.size * children.size)
        counts = flat.reshape(here.size, children.size)
        inside = np.add.reduceat(table[: int(tree.high[each]) + 1], children)
        share = inside / max(int(inside.sum()), 1)
        chance = float((1 - (share[None, :] ** sizes[here][:, None]).sum(axis=1)).sum())
        parted = (counts > 0).sum(axis=1) > 1
        total += NodeClaims(
            here.size, int(parted.sum()), chance, int((parted & (counts == 1).any(axis=1)).sum())
        )
    return total
