"""Columns that say nothing: published as `*` in most rows, or held back; and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Attribute, Cells, Microdata, Regions
from incrowd.results import listed
from incrowd.schema import Column, Kind, Role, Schema

MOSTLY = 0.5  # of the rows


def silent_shares(data: Microdata, regions: Regions) -> dict[str, float]:
    """For each quasi-identifier, the share of rows whose cell stands for every value that the column has."""
    sizes = regions.sizes
    found = {}
    for j, (attribute, cells) in enumerate(zip(data.attributes, regions.cells, strict=True)):
        silent = _silent(attribute, cells, data.codes[:, j])[regions.cell[:, j]]
        found[attribute.name] = float(sizes[silent].sum() / max(int(sizes.sum()), 1))
    return found


def _silent(attribute: Attribute, cells: Cells, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which cells stand for every value that occurs. A column of one value has nothing to say anyway."""
    met = np.flatnonzero(np.bincount(codes))
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
