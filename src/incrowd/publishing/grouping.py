"""Who shares a row: the algorithm, who is left out for the others, the repair of groups with outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from incrowd.algorithms.base import Algorithm
from incrowd.algorithms.outliers.repair import repaired
from incrowd.contracts import Guard, Plainness, Promise, Watch, silent
from incrowd.errors import Infeasible
from incrowd.flow import Microdata, Neighbourhoods, Partition, records_by_label
from incrowd.publishing.suppression import OF_SIZE, Allowance, Saved, Suppression


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """The groups of records; `saved` says what was gained where a choice was made who is left out."""

    found: Partition | Neighbourhoods
    saved: Saved | None = None


def grouped(
    everyone: Microdata,
    algorithm: Algorithm,
    promised: Sequence[Promise],
    watch: Watch,
    private: Microdata | None = None,
    allowed: Allowance | None = None,
    totals: bool = False,
) -> Grouping:
    """Run the algorithm; groups that would disclose outliers are repaired where that is promised.

    Promises are about everyone, or about the people of the `private` table. Where records may be left out,
    and the algorithm does not do that by itself, those are who cost the others most, as readers see it who
    have `totals` or not.
    """
    whom = everyone if private is None else private
    guards = _guards(promised, whom)
    plain = next((guard for guard in guards if isinstance(guard, Plainness)), None)
    if allowed is not None and plain is None and not algorithm.suppresses:
        progress, most = watch("suppress"), allowed.most(len(everyone))
        return Grouping(*_choice(everyone, algorithm, promised, most, totals).chosen(progress))
    found = algorithm.group(everyone, guards, watch("group"))
    if isinstance(found, Partition) and algorithm.suppresses:
        _check_kept(found, everyone, promised)
    if plain is None or isinstance(found, Neighbourhoods):
        return Grouping(found)
    mended = repaired(found, everyone, plain, guards, algorithm.k, watch("repair"))
    return Grouping(replace(mended, tried=found.tried))


def _check_kept(found: Partition, everyone: Microdata, promised: Sequence[Promise]) -> None:
    """Values are promised as readers count them: in the published rows, without who was suppressed."""
    kept = found.kept
    if kept.size in (0, len(everyone)):
        return
    guards = _guards(promised, everyone.take(kept))
    for rows in records_by_label(found.of_kept().labels):
        if not all(guard.allows(rows.astype(np.int32)) for guard in guards):
            raise Infeasible(
                "without the suppressed records one equivalence class keeps less than asked for; lower "
                "max_suppression, or ask for less"
            )


def _guards(promised: Sequence[Promise], whom: Microdata) -> tuple[Guard, ...]:
    return tuple(guard for model in promised for guard in model.guards(whom))


def _choice(
    everyone: Microdata, algorithm: Algorithm, promised: Sequence[Promise], most: int, totals: bool
) -> Suppression:
    of_size = [model for model in promised if model.name in OF_SIZE]

    def by(models: Sequence[Promise], some: Microdata) -> Partition:
        if reasons := [reason for model in models if (reason := model.infeasible(some))]:
            raise Infeasible("\n".join(reasons))
        found = algorithm.group(some, _guards(models, some), silent)
        if not isinstance(found, Partition):
            raise TypeError("only of equivalence classes records can be left out")
        return found

    def by_size(some: Microdata) -> Partition:
        return by(of_size, some)

    def as_promised(some: Microdata) -> Partition:
        return by(promised, some)

    values_matter = len(of_size) < len(promised)
    floor = algorithm.k if totals else None
    return Suppression(everyone, most, by_size, as_promised if values_matter else by_size, floor)
