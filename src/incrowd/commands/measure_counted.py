"""`measure` for releases that do not fit into memory: from counts; what counts cannot give is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from incrowd.commands.counted_release import CountedRelease, counted_release
from incrowd.commands.measure_risk import bounded_by_assignment
from incrowd.engines.resources import Resources
from incrowd.errors import InputError, option
from incrowd.flow import Microdata
from incrowd.graph import components, consistency, levels
from incrowd.long_work import Watch
from incrowd.measures import Published, average_relative_error, measure_all, per_attribute, random_boxes
from incrowd.measures.bounds import CLASSES, NONE, LossBound
from incrowd.measures.boxes import RangeCount
from incrowd.measures.risk import risk_of_sizes
from incrowd.measures.risk_summary import RiskSummary
from incrowd.release.folder import ReleaseFolder

NOT_COUNTED = "it takes the records themselves, which DuckDB leaves where they are"
Draw = Callable[[], Callable[[], float]]  # a source of numbers from 0 to below 1
Boxes = tuple[int, float]  # how many, and which share of the domain each covers


def measure_counted(
    folder: ReleaseFolder,
    resources: Resources,
    bound: str,
    boxes: Mapping[str, Boxes],
    draw: Draw,
    watch: Watch,
) -> dict[str, Any]:
    """All facts of `measure` that counts give; ``not_computed`` says of the others why not.

    `boxes` are asked by the name of their place in the facts; `draw` makes the source of each one's numbers.
    """
    watch("read")
    with counted_release("measure", folder, resources) as counted:
        return counted_facts(counted, folder, bound, boxes, draw, watch)


def counted_facts(
    counted: CountedRelease,
    folder: ReleaseFolder,
    bound: str,
    boxes: Mapping[str, Boxes],
    draw: Draw,
    watch: Watch,
) -> dict[str, Any]:
    """The same of a release that is open."""
    watch("measure")
    facts, absent = _of_counts(counted, folder), dict[str, str]()
    why_not = "it was not asked for" if bound == NONE else NOT_COUNTED
    facts["bound"] = LossBound(folder.k, CLASSES, bound, why_not=why_not).to_dict()
    if bound != NONE:
        absent["the lower bound on the information loss"] = why_not
    if folder.population is not None:
        absent["the risk in the population"] = NOT_COUNTED
    watch("match")
    for name, (count, share) in boxes.items():
        facts[name] = _range_counts(counted, count, share, draw)
    if counted.weighed is None:
        absent["range counts and the level of anonymity"] = counted.why_not_weighed()
    else:
        facts |= _anonymity(*counted.weighed)
    notes = [f"not computed: {name}: {why}" for name, why in absent.items()]
    return facts | {"not_computed": absent, "notes": [*facts.get("notes", ()), *notes]}


def _of_counts(counted: CountedRelease, folder: ReleaseFolder) -> dict[str, Any]:
    data, shown, k = counted.data, counted.shown, folder.k
    return {
        "rows": len(shown),
        "suppressed": max(len(data) - len(shown), 0),
        "classes": len(shown.sizes),
        "smallest_class": shown.sizes.smallest,
        "k": k,
        "loss": measure_all(shown, data, k),
        "columns": per_attribute(shown, data),
        "two_way": counted.two_way().to_dict(),
        "risk": _risk(counted, folder).to_dict(),
    }


def _risk(counted: CountedRelease, folder: ReleaseFolder) -> RiskSummary:
    columns = tuple(attribute.name for attribute in counted.attributes)
    gone = max(len(counted.data) - len(counted.shown), 0)
    summary = RiskSummary(columns, risk_of_sizes(counted.exact_sizes), suppressed=gone)
    bounded = bounded_by_assignment(summary, folder)
    return bounded or replace(summary, after=risk_of_sizes(counted.shown.sizes))


def _range_counts(counted: CountedRelease, boxes: int, share: float, draw: Draw) -> dict[str, Any]:
    if (lines := counted.lines()) is None:
        return {"error": None, "why": counted.why_not_weighed()}
    data, shown, counts = lines
    drawn: list[RangeCount] = random_boxes(data, share, boxes, draw(), "discrete")
    error = average_relative_error(shown, counts.astype(np.float64), data, drawn, "discrete")
    return {"error": error.mean, "boxes": boxes, "share": share, "empty": error.empty}


def _anonymity(data: Microdata, shown: Published) -> dict[str, Any]:
    graph = consistency(shown, data)
    odds, reached, notes = levels(graph, components(graph))
    return {"anonymity": reached, "match_probability": odds, "notes": list(notes)}


def refuse_queries() -> None:
    """Queries of a workload have exact answers in memory alone."""
    raise InputError(
        "queries of a workload are compared with the original in memory alone: take "
        f"{option('engine', 'memory')}, or ask random boxes"
    )
