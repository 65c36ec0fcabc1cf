"""Downcoding: what a generalized cell discloses because no smaller one would have done.

References
----------
Cohen, "Attacks on deidentification's defenses", USENIX Security 2022.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.linked import people_of
from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints, Target, runs
from incrowd.hierarchy import Hierarchy

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
    return AttackResult(
        "downcoding",
        "downcoding",
        KNOWS,
        Rate(found.right, found.made),
        Rate(min(round(found.by_chance), found.made), found.made),
        Rate(smallest.right, smallest.made),
        None,
        {"claims": found.made, "claims_with_somebody_alone_under_a_child": found.alone},
    )


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
