"""Measuring what is already written: our releases, and tables that any tool wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.commands.verify import (
    JoinedTables,
    check_is_release,
    claims_said,
    groups_said,
    joined_tables,
    manifest_of,
    own_rows,
    people_behind_rows,
    schema_of,
)
from incrowd.contracts import Watch, unwatched
from incrowd.encode import encode
from incrowd.errors import InputError, TableError
from incrowd.flow import Microdata, Table
from incrowd.graph import components, consistency, levels
from incrowd.join import encode_joined, join
from incrowd.measures import (
    Published,
    average_relative_error,
    covered_by,
    measure_all,
    per_attribute,
    presence,
    random_boxes,
    weights_of,
)
from incrowd.measures import published as read_published
from incrowd.policy import Policy
from incrowd.release.readback import read_release, read_sensitive
from incrowd.schema import MANIFEST, Schema

if TYPE_CHECKING:
    from incrowd.queries.workload import Workload

BOXES, SHARE = 100, 0.1  # range counts that are asked, and how much of the domain each covers


@dataclass(frozen=True, eq=False)
class _Found:
    """What there is to measure: rows, all of them and those of the private table, and its people."""

    rows: Table
    schema: Schema
    k: int
    shown: Published
    own: Published
    people: Microdata
    weights: NDArray[Any] | None
    uncounted: str = ""
    joined: Mapping[str, Any] | None = None


def measure_release(
    published: Path,
    original: Path,
    policy: Policy | None,
    watch: Watch = unwatched,
    public: Path | None = None,
    check: Path | None = None,
    workload: Path | None = None,
) -> dict[str, Any]:
    """Every measure of a release, or of a table that another tool wrote in our cell syntax.

    Where people of a public table have rows, measures are of the private table's people alone. A workload
    is a file of questions; how far off their answers are is measured too.
    """
    if published.is_dir():
        check_is_release(published)
    elif policy is None:
        raise InputError("to measure a table that is no release, pass its policy with -p")
    asked = None if workload is None else _asked(workload, published)
    watch("read")
    table = tables.read(original)
    joined = joined_tables(published, policy, public, check) if published.is_dir() else None
    found = _alone(published, table, policy) if joined is None else _joined(published, table, policy, joined)
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
        "range_counts": _range_counts(found),
    }
    if asked is not None:
        measured["workload"] = _workload(asked, found, published, table, policy)
    watch("match")
    measured |= _anonymity(found)
    buckets = groups_said(published) if published.is_dir() else None
    if buckets is not None:
        measured["sensitive_groups"] = buckets.as_dict()
        measured["notes"].append(buckets.note)
    return measured


def _alone(published: Path, table: Table, policy: Policy | None) -> _Found:
    if policy is None or published.is_dir():
        schema = schema_of(published, table, policy)
        rows, k = read_release(published, schema), _k_said(published)
    else:
        schema, rows, k = policy.schema(table), tables.read(published), policy.k
    data = encode(table, schema)
    shown = read_published(rows, data)
    return _Found(rows, schema, k, shown, shown, data, None)


def _joined(folder: Path, table: Table, policy: Policy | None, joined: JoinedTables) -> _Found:
    schema = schema_of(folder, table, policy, joined.table)
    people = join(table, schema, joined.table, joined.public.id, joined.second, "microdata")
    everyone = encode_joined(table, schema, people)
    rows = read_release(folder, schema)
    shown = read_published(rows, everyone)
    mine, behind = own_rows(folder, len(table)), people_behind_rows(folder)
    if mine is None or behind is None or mine.size != len(rows):
        raise InputError("which rows are of the private table only the audit knows, and it is not there")
    own = Published(shown.attributes, shown.cells, tuple(column[mine] for column in shown.rows))
    private = Microdata(everyone.codes[: len(table)], everyone.attributes, everyone.sensitive)
    weights, uncounted = _weights(folder, rows)
    labels = np.full(len(everyone), -1, np.int32)
    labels[behind] = np.unique(np.stack(shown.rows, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    told = presence(labels, people.own, covered_by(shown, everyone))
    least, most = told.interval or (None, None)
    about = {
        "people": len(everyone),
        "own": len(table),
        "external_rows": int((~mine).sum()),
        "presence": {"least": str(least), "most": str(most)},
        "certainly_present": told.certainly_present,
        "certainly_absent": told.absent,
    }
    return _Found(rows, schema, _k_said(folder), shown, own, private, weights, uncounted, about)


def _weights(folder: Path, rows: Table) -> tuple[NDArray[Any] | None, str]:
    """How many people of the private table stand behind each row; or why nobody can tell."""
    kind = str(manifest_of(folder)["method"]["name"])
    try:
        if "group" not in rows.names:
            return weights_of("kja-direct"), ""
        lines = read_sensitive(folder)
        number = {text: code for code, text in enumerate(sorted({*lines.column("group").texts}, key=str))}
        group, said = lines.column("group"), lines.column("count")
        counts = np.array([int(text or "") for text in said.texts], np.int64)[said.codes]
        people = np.zeros(len(number), np.int64)
        np.add.at(people, np.array([number[text] for text in group.texts])[group.codes], counts)
        named = rows.column("group")
        of_row = np.array([number.get(text, -1) for text in named.texts], np.int32)[named.codes]
        return weights_of("kja-refine", of_row, people), ""
    except TableError as problem:
        return None, f"{kind}: {problem}"


def _range_counts(found: _Found, boxes: int = BOXES, share: float = SHARE) -> dict[str, Any]:
    """The average relative error of the paper's range counts; always the same boxes for one table."""
    if found.uncounted:
        return {"error": None, "why": found.uncounted}
    drawn = random_boxes(found.people, share, boxes, _evenly(), "discrete")
    error = average_relative_error(found.shown, found.weights, found.people, drawn, "discrete")
    return {"error": error.mean, "boxes": boxes, "share": share, "empty": error.empty}


def _asked(file: Path, published: Path) -> Workload:
    from incrowd.queries.workload import Workload  # it brings a reader of SQL, which few measurements need

    workload = Workload.load(file)
    if workload.queries and not published.is_dir():
        raise InputError(
            "queries of a workload are answered by a release, and this is none; ask random boxes"
        )
    return workload


def _workload(
    asked: Workload, found: _Found, published: Path, table: Table, policy: Policy | None
) -> dict[str, Any]:
    if not asked.queries:
        return _range_counts(found, asked.boxes, asked.share)
    from incrowd.queries import Queryable
    from incrowd.queries.workload import Original, relative_errors

    # without a policy, whoever asks takes a text such as ? for a value
    missing = found.schema.missing if policy is not None else frozenset({""})
    original = Original(table, found.schema, found.people, missing)
    left_out = max(len(found.people) - len(found.own), 0)
    return relative_errors(asked.queries, Queryable.load(published, policy), original, left_out).as_dict()


def _evenly() -> Callable[[], float]:
    """Numbers from 0 to below 1 that look drawn and are the same every time."""
    numbers = count()
    return lambda: int.from_bytes(hashlib.sha256(str(next(numbers)).encode()).digest()[:6], "big") / 2**48


def _anonymity(found: _Found) -> dict[str, Any]:
    if found.joined is not None:
        return {"joined": dict(found.joined), "notes": [found.uncounted] if found.uncounted else []}
    graph = consistency(found.shown, found.people)
    odds, reached, notes = levels(graph, components(graph))
    return {"anonymity": reached, "match_probability": odds, "notes": list(notes)}


def _k_said(folder: Path) -> int:
    sizes = [claim.parameters["k"] for claim in claims_said(folder) if "k" in claim.parameters]
    if not sizes or not isinstance(sizes[0], int) or any(size != sizes[0] for size in sizes):
        raise InputError(f"{folder / MANIFEST} does not say for which k the release was made")
    return sizes[0]
