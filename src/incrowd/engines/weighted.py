"""Strict Mondrian over distinct records, each with a weight: the same classes as over all records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.partitions.mondrian import MondrianRun, StrictMondrian, cut_guarded, cut_unguarded
from incrowd.contracts import Guard, Promise
from incrowd.engines.base import Tuples
from incrowd.flow import Attribute, Codes, Microdata
from incrowd.long_work import Progress
from incrowd.models.counting import Counts, dense
from incrowd.models.l_diversity import ClassModel


@dataclass(frozen=True, slots=True, eq=False)
class InWeights:
    """Values of records that stand for several rows: each counts its weight."""

    codes: Codes
    weights: Codes
    size: int

    def count(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.integer], Counts]:
        codes, weights = self.codes[rows], self.weights[rows].astype(np.int64)
        if rows.size >= self.size:
            counts = np.bincount(codes, weights, self.size).astype(np.int64)  # exact below 2^53
            values = np.flatnonzero(counts)
            return values, counts[values]
        order = np.argsort(codes, kind="stable")
        ordered = codes[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        return ordered[starts], np.add.reduceat(weights[order], starts) if starts.size else starts


def guards_of(promised: Sequence[Promise], names: Sequence[str], tuples: Tuples) -> tuple[Guard, ...]:
    """The guards of l over weighted records; k needs none, since cuts keep it."""
    found: list[Guard] = []
    for model in promised:
        if isinstance(model, ClassModel):
            codes, size = dense(tuples.values[names.index(model.column)])
            found.append(model.counted(InWeights(codes, tuples.weights, size)))
    return tuple(found)


def classes_of(
    recipe: StrictMondrian,
    attributes: tuple[Attribute, ...],
    tuples: Tuples,
    progress: Progress,
    guards: tuple[Guard, ...] = (),
    turn: int = 0,
) -> Codes:
    """The class of each tuple (m,), numbered from 0; `turn` is the column that begins a round robin."""
    data = Microdata(tuples.codes, attributes)
    run = MondrianRun(recipe, data)
    prepared = run.prepare(tuples.codes, tuples.weights.copy(), turn)  # buffers, overwritten
    if guards:
        return cut_guarded(prepared, guards, progress)
    return cut_unguarded(prepared, progress)
