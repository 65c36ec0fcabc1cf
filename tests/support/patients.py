"""Small tables with one sensitive column, for the tests of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from twins import definitions as naive

from incrowd.flow import Attribute, Codes, Microdata, Sensitive
from incrowd.hierarchy import Hierarchy
from incrowd.models import Closeness
from incrowd.schema import Kind, Shape

LEAVES = [("a", "ab", "abc"), ("b", "ab", "abc"), ("c", "c", "abc"), ("d", "de", "def"), ("e", "de", "def")]
TREE = Hierarchy.from_rows([(*row, "*") for row in LEAVES])
OUTSIDE = len(LEAVES)  # the code of a missing value that the hierarchy does not name
PATHS = {**{i: (*row, "*") for i, row in enumerate(LEAVES)}, OUTSIDE: ("?", "?1", "?2", "*")}
Values = list[int]


def coded(values: Sequence[int]) -> Codes:
    return np.array(values, dtype=np.int32)


def microdata(
    values: Sequence[int],
    persons: Sequence[int] | None = None,
    kind: Kind = Kind.ORDERED,
    tree: Hierarchy | None = TREE,
) -> Microdata:
    """A table that says its values twice: as `illness`, in order, and as `branch`, leaves of a tree.

    Its one quasi-identifier says nothing.
    """
    nothing = Attribute("zip", Kind.CATEGORICAL, Shape.SET, ("0",), np.zeros(1))
    size = max([OUTSIDE, *values]) + 1
    illness = Sensitive("illness", kind, coded(values), size)
    branch = Sensitive("branch", Kind.CATEGORICAL, coded(values), size, tree)
    codes = np.zeros((len(values), 1), dtype=np.int32)
    return Microdata(codes, (nothing,), (illness, branch), None if persons is None else coded(persons))


def close(t: str, distance: str) -> Closeness:
    """t-closeness of the column that has such a distance."""
    return Closeness(t, distance, "branch" if distance == "hierarchical" else "illness")


def distance(model: Closeness, values: Values, table: Values) -> Fraction:
    twins: dict[str, Callable[[Values, Values], Fraction]] = {
        "equal": naive.equal_distance,
        "ordered": naive.ordered_distance,
        "hierarchical": lambda values, table: naive.hierarchical_distance(values, table, PATHS),
    }
    return twins[model.distance](values, table)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Values, list[Codes]]:
    """Sensitive values, and the rows of two classes that share none and are not empty."""
    values = draw(st.lists(st.integers(0, OUTSIDE), min_size=2, max_size=30))
    rows = draw(st.permutations(range(len(values))))
    cut = draw(st.integers(1, len(values) - 1))
    end = draw(st.integers(cut + 1, len(values)))
    return values, [coded(rows[:cut]), coded(rows[cut:end])]
