"""What a publisher should know about a release that keeps its promise; none of it is published.

Columns that say nothing (`*` in most rows, or held back), values that single somebody out, and classes in
which all have the same value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Cells, Microdata, Regions, Table
from incrowd.generalize import Groups
from incrowd.policy import Policy
from incrowd.policy.columns import LEAST_ALONE, UNIQUE_SHARE, lone_values
from incrowd.results import listed
from incrowd.schema import Column, Kind, Role, Schema

MOSTLY = 0.5  # of the rows


def silent_shares(data: Microdata, regions: Regions) -> dict[str, float]:
    """For each quasi-identifier, the share of rows whose cell stands for every value that the column has."""
    sizes = regions.sizes
    found = {}
    for j, (attribute, cells) in enumerate(zip(data.attributes, regions.cells, strict=True)):
        silent = _silent(attribute, cells, data.frequencies[j])[regions.cell[:, j]]
        found[attribute.name] = float(sizes[silent].sum() / max(int(sizes.sum()), 1))
    return found


def _silent(attribute: Attribute, cells: Cells, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which cells stand for every value that occurs. A column of one value has nothing to say anyway."""
    met = np.flatnonzero(counts)
    met = met[met != attribute.missing] if not attribute.missing_in_tree else met
    if met.size < 2:
        return np.zeros(len(cells), np.bool_)
    whole: NDArray[np.bool_] = (cells.low <= met[0]) & (cells.high >= met[-1])
    if cells.sets is not None:
        inside = np.concatenate([[0], np.cumsum(np.isin(cells.sets.codes, met))])
        whole &= np.diff(inside[cells.sets.starts]) == met.size
    return whole


def warnings_of_columns(schema: Schema, unmentioned: Sequence[str]) -> list[str]:
    """Columns that are not published because nobody has said what they are."""
    undecided = [column.name for column in schema.having(Role.UNDECIDED)]
    return [
        f"not published: {listed(names)}; {why}"
        for names, why in (
            (undecided, "undecided: give each a role in the policy, or leave it so"),
            (unmentioned, "the policy does not mention them, and says that the rest is dropped"),
        )
        if names
    ]


def warnings_of_silence(shares: Mapping[str, float], schema: Schema) -> list[str]:
    """One sentence for each column that says nothing in most rows."""
    return [
        f"{name} says nothing in {share:.0%} of the rows; {_remedy(schema.column(name))}"
        for name, share in shares.items()
        if share > MOSTLY
    ]


def _remedy(column: Column) -> str:
    if column.levels and column.kind in (Kind.DATE, Kind.NUMERIC):
        return "leave out its hierarchy (ranges say more), begin it with longer steps, or drop the column"
    if column.levels:
        return "add a coarser level to its hierarchy, leave it out, or drop the column"
    return "drop it, which leaves more detail to the others, or lower k"


def warnings_of(
    schema: Schema, data: Microdata, single: Mapping[str, int], policy: Policy, remedy: str
) -> tuple[str, ...]:
    """What a publisher should know about a release that keeps its promise.

    `remedy` is what this method, or another, does about classes with a single sensitive value.
    """
    found = []
    if policy.privacy.l is None and policy.privacy.t is None:
        found += _given_away(single, remedy)
    if data.entity is None and not schema.having(Role.SENSITIVE, Role.KEEP):
        found.append("the release has no column besides the quasi-identifiers")
    return tuple(found)


def _given_away(single: Mapping[str, int], remedy: str) -> list[str]:
    """One warning for all sensitive columns, however many there are: it names the worst."""
    found = {name: rows for name, rows in single.items() if rows}
    if not found:
        return []
    worst = max(found, key=lambda name: found[name])
    others = f" ({len(found)} of {len(single)} sensitive columns have such classes; this is the worst)"
    return [
        f"{found[worst]:,} rows are in equivalence classes with a single value of {worst}: whoever finds "
        f"the class learns it; {remedy}{others if len(found) > 1 else ''}"
    ]


def single_valued_neighbourhoods(data: Microdata, candidates: NDArray[np.int64]) -> dict[str, int]:
    """For each sensitive column, for how many records all candidates (n, k) have a single value of it."""
    found = {}
    for sensitive in data.sensitive:
        first, single = sensitive.codes[candidates[:, 0]], np.arange(len(candidates))
        for others in candidates.T[1:]:  # most have two values among the first few
            single = single[sensitive.codes[others[single]] == first[single]]
        found[sensitive.name] = single.size
    return found


def single_valued_classes(data: Microdata, regions: Regions) -> dict[str, int]:
    """For each sensitive column, how many rows lie in regions with a single value of it."""
    classes, sizes, found = Groups.of(regions.of), regions.sizes, {}
    for sensitive in data.sensitive:
        codes = sensitive.codes[classes.order]
        differs = np.zeros(codes.size, np.bool_)  # from the row before it, in the same class
        differs[1:] = codes[1:] != codes[:-1]
        differs[classes.starts] = False
        single = ~np.logical_or.reduceat(differs, classes.starts)
        found[sensitive.name] = int(sizes[single].sum())
    return found


def isolating_columns(table: Table, schema: Schema) -> tuple[str, ...]:
    """One warning for all sensitive columns in which many rows have a value that nobody else has."""
    return isolating_values(lone_values(table, schema, Role.SENSITIVE), len(table), schema)


def isolating_values(lone: Mapping[str, int], rows: int, schema: Schema) -> tuple[str, ...]:
    """The same where these rows were counted."""
    found = {}
    for column in schema.having(Role.SENSITIVE):
        alone = lone[column.name]
        if alone >= LEAST_ALONE and alone > UNIQUE_SHARE * rows:
            found[column.name] = alone / rows
    if not found:
        return ()
    shares = ", ".join(f"{name} ({share:.0%} of the rows)" for name, share in found.items())
    return (
        f"sensitive values are published unchanged, and some are nobody else's: {shares}; whoever knows such "
        "a value finds the row; round it, or drop the column",
    )
