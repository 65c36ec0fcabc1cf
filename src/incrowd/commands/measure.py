"""`measure`: what a release lost, by every measure; also for tables that another tool wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.commands.measure_bound import measured_bound
from incrowd.commands.measure_risk import RiskSubject, measured_risk
from incrowd.encode import encode
from incrowd.engines.resources import Resources
from incrowd.errors import InputError, TableError, option
from incrowd.flow import Microdata, Table
from incrowd.graph import components, consistency, levels
from incrowd.long_work import Watch, unwatched
from incrowd.measures import (
    OriginalAndRelease,
    Published,
    TwoWayError,
    average_relative_error,
    covered_by,
    joined_weights,
    measure_all,
    measure_two_way,
    per_attribute,
    presence,
    random_boxes,
)
from incrowd.measures import published as read_published
from incrowd.measures.bounds import QUICK, check_effort
from incrowd.measures.risk_summary import RiskSummary
from incrowd.measures.totals import one_way_totals
from incrowd.measures.two_way import two_way_words
from incrowd.policy import Policy
from incrowd.policy.parts import Population
from incrowd.publishing.memory_limit import engine_for_looking, not_counted
from incrowd.release.folder import ReleaseFolder, is_folder
from incrowd.results import Result, Row
from incrowd.schema import Schema

if TYPE_CHECKING:
    from incrowd.queries.workload import Workload

BOXES, SHARE = ASKED = 100, 0.1  # range counts that are asked, and how much of the domain each covers


@dataclass(frozen=True, repr=False)
class Measured(Result):
    """Every measure of a release: two-column tables, information loss, classes, anonymity that is reached."""

    facts: Mapping[str, Any]

    def headline(self) -> str:
        loss = float(self.facts["loss"]["gcp"])
        tables, bound = two_way_words(self.facts["two_way"]), self.facts["bound"]
        least = "" if bound["least"] is None else f" ({bound['sentence']})"
        return (
            f"{tables}information loss (GCP) {loss:.3f}{least}; {self.facts['rows']:,} rows in "
            f"{self.facts['classes']:,} equivalence classes, the smallest of {self.facts['smallest_class']:,}"
        )

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return ("measure", "loss"), (
            (name, f"{float(value):,.4f}") for name, value in self.facts["loss"].items()
        )

    def __getitem__(self, key: str) -> Any:
        return self.facts[key]

    def to_dict(self) -> dict[str, Any]:
        return dict(self.facts)


@dataclass(frozen=True, eq=False)
class _MeasuredTables:
    """What is measured: all rows, those of the private table, its people; ``folder`` if it is a release."""

    rows: Table
    schema: Schema
    k: int
    shown: Published
    own: Published
    people: Microdata
    original: Table
    folder: ReleaseFolder | None = None
    weights: NDArray[Any] | None = None
    uncounted: str = ""
    joined: Mapping[str, Any] | None = None
    population: Population | None = None


def measure(
    release: object,
    original: object = None,
    policy: object = None,
    *,
    public: object = None,
    check: object = None,
    workload: str | Path | None = None,
    bound: str = QUICK,
    engine: str = "auto",
    memory: str | int | None = None,
    threads: int | None = None,
    watch: Watch = unwatched,
) -> Measured:
    """Measure what a release lost, or a table that another tool wrote in our cell syntax.

    Parameters
    ----------
    release : path, frame or ReleaseFolder
        The folder of a release; or a published table, which needs a policy.
    original : path or frame
        The table that it was made from.
    policy : Policy, dict or path, optional
        Roles and hierarchies; without it those of the audit beside the release.
    public, check : path or frame, optional
        The public table that was joined and its second source. Measures are of the private table's people
        alone.
    workload : path, optional
        A file of queries (TOML); how far off their answers are is measured too.
    bound : str
        How hard to look for what the information loss of no such release can be below: "none", "quick", which
        takes a few seconds, or "tight", which takes a minute or two of a table like Adult.
    engine : str
        ``"memory"``, or ``"duckdb"``: both tables are counted where they lie, and ``not_computed`` says what
        counts cannot give. ``"auto"`` takes DuckDB for a release where both would need more than half of the
        machine's memory, or `memory`.
    memory, threads
        What DuckDB may use, as of `publish`.
    """
    check_effort(bound)
    asked = Policy.of(policy)
    whole = is_folder(release)
    questions = None if workload is None else _asked(Path(workload), whole)
    given_tables = [release, *_sources(release, original), public, check]
    resources = engine_for_looking("measure", given_tables, engine, memory, threads)
    if resources is not None:
        if not whole:
            raise InputError(not_counted("measure", given_tables))
        folder = ReleaseFolder.open(release, original, asked, public, check)
        return _counted(folder, resources, bound, questions, watch)
    watch("read")
    if whole:
        folder = ReleaseFolder.open(release, original, asked, public, check)
        found = _alone(folder) if folder.public is None else _joined(folder)
    else:
        found = _by_another_tool(release, original, asked)
    watch("measure")
    sizes = found.shown.class_sizes
    measured: dict[str, Any] = {
        "rows": len(found.rows),
        "suppressed": max(len(found.people) - len(found.own), 0),
        "classes": int(sizes.size),
        "smallest_class": int(sizes.min()) if sizes.size else 0,
        "k": found.k,
        "loss": measure_all(found.own, found.people, found.k),
        "columns": per_attribute(found.own, found.people),
        "two_way": _two_way(found).to_dict(),
        "range_counts": _range_counts(found),
        "risk": _risk(found).to_dict(),
    }
    loss = float(measured["loss"]["gcp"])
    given = (found.folder, found.own, found.people, found.k, loss, bound, watch)
    measured["bound"] = measured_bound(*given).to_dict()
    if questions is not None:
        measured["workload"] = _workload(questions, found)
    watch("match")
    measured |= _anonymity(found)
    buckets = None if found.folder is None else found.folder.bucket_counts
    if buckets is not None:
        measured["sensitive_groups"] = buckets.to_dict()
        measured["notes"].append(buckets.note)
    return Measured(measured)


def _sources(release: object, original: object) -> list[object]:
    """The original, and of a release that is open already its tables, which may be read or not."""
    if not isinstance(release, ReleaseFolder):
        return [original]
    return [release.source, release.public_source, release.check_source]


def _counted(
    folder: ReleaseFolder, resources: Resources, bound: str, questions: Workload | None, watch: Watch
) -> Measured:
    from incrowd.commands.measure_counted import measure_counted, refuse_queries

    boxes = {"range_counts": ASKED}
    if questions is not None:
        if questions.queries:
            refuse_queries()
        boxes["workload"] = (questions.boxes, questions.share)
    return Measured(measure_counted(folder, resources, bound, boxes, evenly, watch))


def _by_another_tool(published: object, original: object, policy: Policy | None) -> _MeasuredTables:
    if policy is None:
        raise InputError(f"to measure a table that is no release, pass its policy with {option('policy')}")
    table = tables.read(original)
    schema, rows = policy.schema(table), tables.read(published)
    data = encode(table, schema)
    shown = read_published(rows, data)
    return _MeasuredTables(rows, schema, policy.k, shown, shown, data, table, population=policy.population)


def _alone(folder: ReleaseFolder) -> _MeasuredTables:
    data, shown = folder.data, folder.shown
    return _MeasuredTables(
        *(folder.rows, folder.schema, folder.k, shown, shown, data, folder.original, folder),
        population=folder.population,
    )


def _joined(folder: ReleaseFolder) -> _MeasuredTables:
    people, everyone, shown, own = folder.people, folder.data, folder.shown, len(folder.original)
    mine, behind = folder.own_rows, folder.people_behind_rows
    if people is None or mine is None or behind is None or mine.size != len(folder.rows):
        raise InputError("which rows are of the private table only the audit knows, and it is not there")
    private = Microdata(everyone.codes[:own], everyone.attributes, everyone.sensitive)
    weights, uncounted = _weights(folder)
    labels = np.full(len(everyone), -1, np.int32)
    labels[behind] = shown.classes[1]
    told = presence(labels, people.own, covered_by(shown, everyone))
    least, most = told.interval or (None, None)
    about = {
        "people": len(everyone),
        "own": own,
        "external_rows": int((~mine).sum()),
        "presence": {"least": str(least), "most": str(most)},
        "certainly_present": told.certainly_present,
        "certainly_absent": told.absent,
    }
    mine_alone = replace(_alone(folder), own=shown.taken(mine), people=private)
    return replace(mine_alone, weights=weights, uncounted=uncounted, joined=about)


def _weights(folder: ReleaseFolder) -> tuple[NDArray[Any] | None, str]:
    """How many people of the private table each row stands for; or why nobody can tell."""
    try:
        return joined_weights(folder.rows, folder.buckets if folder.bucketed else None), ""
    except TableError as problem:
        return None, f"{folder.method['name']}: {problem}"


def _risk(found: _MeasuredTables) -> RiskSummary:
    given = (found.people, found.shown, found.original, found.schema.missing, found.folder, found.population)
    return measured_risk(RiskSubject(*given))


def _two_way(found: _MeasuredTables) -> TwoWayError:
    if found.uncounted:
        return TwoWayError(why_not=found.uncounted)
    folder, people = found.folder, found.people
    buckets = None if folder is None or not folder.bucketed else folder.buckets
    totals = None if folder is None else one_way_totals(folder.totals, people.attributes)
    given = (found.original, found.schema, people, found.shown, found.rows, buckets, found.weights, totals)
    return measure_two_way(OriginalAndRelease(*given))


def _range_counts(found: _MeasuredTables, boxes: int = BOXES, share: float = SHARE) -> dict[str, Any]:
    """The average relative error of the paper's range counts; always the same boxes for one table."""
    if found.uncounted:
        return {"error": None, "why": found.uncounted}
    drawn = random_boxes(found.people, share, boxes, evenly(), "discrete")
    error = average_relative_error(found.shown, found.weights, found.people, drawn, "discrete")
    return {"error": error.mean, "boxes": boxes, "share": share, "empty": error.empty}


def _asked(file: Path, of_a_release: bool) -> Workload:
    from incrowd.queries.workload import Workload  # it brings a reader of SQL, which few measurements need

    workload = Workload.load(file)
    if workload.queries and not of_a_release:
        raise InputError(
            "queries of a workload are answered by a release, and this is none; ask random boxes"
        )
    return workload


def _workload(asked: Workload, found: _MeasuredTables) -> dict[str, Any]:
    if not asked.queries or found.folder is None:
        return _range_counts(found, asked.boxes, asked.share)
    from incrowd.queries import Queryable
    from incrowd.queries.workload import Original, relative_errors

    # without a policy, whoever asks takes a text such as ? for a value
    missing = found.schema.missing if found.folder.policy is not None else frozenset({""})
    original = Original(found.original, found.schema, found.people, missing)
    left_out = max(len(found.people) - len(found.own), 0)
    return relative_errors(asked.queries, Queryable.load(found.folder), original, left_out).to_dict()


def evenly() -> Callable[[], float]:
    """Numbers from 0 to below 1 that look drawn and are the same every time."""
    numbers = count()
    return lambda: int.from_bytes(hashlib.sha256(str(next(numbers)).encode()).digest()[:6], "big") / 2**48


def _anonymity(found: _MeasuredTables) -> dict[str, Any]:
    if found.joined is not None:
        return {"joined": dict(found.joined), "notes": [found.uncounted] if found.uncounted else []}
    graph = consistency(found.shown, found.people)
    odds, reached, notes = levels(graph, components(graph))
    return {"anonymity": reached, "match_probability": odds, "notes": list(notes)}
