"""The story: a table and a policy go in, a verified release comes out.

Nothing is returned or given its final name before the judge has accepted it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.audit import LINKS, schema_as_dict
from incrowd.chance import system
from incrowd.contracts import Crowder, Progress, Promise, silent
from incrowd.drawing import Drawn, draw
from incrowd.encode import encode
from incrowd.errors import Infeasible, InputError, NotVerified, PolicyError
from incrowd.exposures import (
    SMALL_MEANS,
    check_crowds,
    check_exact_rows,
    check_exposures,
    check_names,
    told_by_classes,
    told_by_crowds,
    warnings_of,
)
from incrowd.flow import Assignment, Cover, Crowds, Microdata, Regions, Table
from incrowd.generalize import generalize
from incrowd.graph import Graph, consistency
from incrowd.measure import measure_all, published
from incrowd.methods import Method, asked_of
from incrowd.models import FrequencyDiversity
from incrowd.policy import Policy
from incrowd.readback import TableRows, original_rows, read_release, read_sensitive
from incrowd.release import Apart, domain_of, manifest, published_table, values_apart
from incrowd.schema import MANIFEST, Claim, Role, Schema, Verdict
from incrowd.stage import audit_folder, commit, stage
from incrowd.telling import Learnt, Told, check_hidden, check_learnt, learnt_from, told_by
from incrowd.typed import typed_columns
from incrowd.verify import Case, judge_rows, verify

LEAST_FOR_MEAN = 5
Watch = Callable[[str], Progress]


def unwatched(_step: str) -> Progress:
    """Nobody looks."""
    return silent


@dataclass(frozen=True, eq=False)
class Draft:
    """A release that the judge has not seen. It never leaves this module."""

    source: object
    policy: Policy
    original: Table
    schema: Schema
    data: Microdata
    regions: Regions
    drawn: Drawn
    table: Table
    claims: tuple[Claim, ...]
    manifest: Mapping[str, Any]
    warnings: tuple[str, ...]
    apart: Apart | None = None
    learnt: Learnt | None = None
    crowds: Crowds | None = None

    @cached_property
    def told(self) -> Told | Learnt | None:
        """What the release tells beyond its promise; of rows that differ it takes a while to find out."""
        if self.crowds is None:
            return self.learnt
        size = int(self.crowds.sizes.min())
        return told_by(self.crowds, published(self.table, self.data), self.data, size)

    @property
    def assignment(self) -> Assignment:
        return self.drawn.assignment


@dataclass(frozen=True, eq=False)
class Release:
    """A verified release.

    Attributes
    ----------
    table : frame or Table
        The published rows, as the kind of frame that came in.
    sensitive : frame, Table or None
        The sensitive values of each group, where they are published apart from the rows.
    verdict : Verdict
        What the judge found.
    manifest : mapping
        What the release says about itself.
    warnings : tuple of str
        What the publisher should know; not published.
    """

    verdict: Verdict
    _draft: Draft = field(repr=False)

    def __post_init__(self) -> None:
        if not self.verdict.passed:
            raise NotVerified(_failures(self.verdict))

    @cached_property
    def table(self) -> Any:
        roles = (Role.SENSITIVE, Role.KEEP) if self._draft.apart is None else (Role.KEEP,)
        return self._as_it_came(self._draft.table, self._draft.assignment.private, roles)

    @cached_property
    def sensitive(self) -> Any:
        apart = self._draft.apart
        return None if apart is None else self._as_it_came(apart.table, apart.first, (Role.SENSITIVE,))

    def _as_it_came(self, table: Table, records: NDArray[np.int64], roles: Sequence[Role]) -> Any:
        """A table as the kind of frame that came in; values of these roles keep their types."""
        draft = self._draft
        if isinstance(draft.source, str | os.PathLike | Table):
            return table
        native = {column.name: (column.name, records) for column in draft.schema.having(*roles)}
        return tables.as_frame(table, draft.source, native)

    @property
    def manifest(self) -> Mapping[str, Any]:
        return self._draft.manifest

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._draft.warnings

    @property
    def told(self) -> dict[str, Any] | None:
        """What rows that differ, or values apart, tell beyond the promise; None for other releases."""
        return None if self._draft.told is None else self._draft.told.as_dict()

    def loss(self) -> dict[str, Any]:
        """Every measure of what was lost."""
        return loss_of(self._draft.table, self._draft.data, self._draft.policy.k)

    def write(
        self, folder: str | Path, format: str = "csv", typed: bool = False, replace: bool = False
    ) -> Path:
        """Write the release and its private audit beside it; verified once more from the written bytes."""
        return _write(self._draft, Path(folder), Form(format, typed, replace), unwatched).folder


@dataclass(frozen=True)
class Form:
    """How a release is written."""

    format: str = "csv"
    typed: bool = False
    replace: bool = False

    def __post_init__(self) -> None:
        if self.format not in ("csv", "parquet"):
            raise InputError("the format of a release is csv or parquet")
        if self.typed and self.format != "parquet":
            raise InputError("typed columns need Parquet: CSV has only texts")


@dataclass(frozen=True)
class Written:
    """A release on disk, and what its publisher may know about it."""

    folder: Path
    audit: Path
    verdict: Verdict
    loss: Mapping[str, Any]
    manifest: Mapping[str, Any]
    warnings: tuple[str, ...]
    told: Told | Learnt | None = None

    def as_dict(self) -> dict[str, Any]:
        return {
            "release": str(self.folder),
            "audit": str(self.audit),
            "verdict": self.verdict.as_dict(),
            "loss": dict(self.loss),
            "manifest": dict(self.manifest),
            "warnings": list(self.warnings),
            **({} if self.told is None else {"told": self.told.as_dict()}),
        }


def publish(
    source: object,
    policy: Policy,
    *,
    k: int | None = None,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    watch: Watch = unwatched,
) -> Release:
    """Anonymize a table and verify the result; nothing is written.

    Parameters
    ----------
    source : path, frame or Table
        CSV, TSV or Parquet file; pandas, polars or Arrow frame.
    policy : Policy
        Roles, promise and method.
    k, method, options, accept
        Override the policy.

    Raises
    ------
    InputError
        If table, policy or hierarchies are wrong.
    Refused
        If the promise cannot be kept, a known exposure was not accepted, or the judge says no.
    """
    draft = _draft(source, policy.with_(method=method, options=options, accept=accept, k=k), watch)
    case = Case(
        original=TableRows(draft.original),
        published=TableRows(draft.table),
        schema=draft.schema,
        claims=draft.claims,
        accepted=draft.policy.accept,
        hint=draft.assignment.private,
        crowds=draft.drawn.crowds,
        parts=draft.drawn.parts,
        odds=draft.manifest.get("match_probability"),
        apart=None if draft.apart is None else TableRows(draft.apart.table),
    )
    return Release(judge_rows(case, watch("verify")), draft)


def publish_to(
    source: object, policy: Policy, folder: str | Path, form: Form | None = None, watch: Watch = unwatched
) -> Written:
    """Anonymize a table and write the verified release; see `publish`."""
    form = form or Form()
    destination = Path(folder)
    with stage(destination, form.replace):  # refuse a bad destination before hours of work
        pass
    return _write(_draft(source, policy, watch), destination, form, watch)


def _draft(source: object, policy: Policy, watch: Watch) -> Draft:
    """All stages up to the judge."""
    recipe, grouper, promised = asked_of(policy)
    if policy.public is not None:
        raise PolicyError(f"{recipe.name} takes no public table; leave out [public]")
    check_names(policy.accept)
    check_crowds(grouper, policy.accept)
    if recipe.apart:
        check_exact_rows(policy.accept)
    watch("read")
    table = source if isinstance(source, Table) else tables.read(source)
    schema = policy.schema(table)
    check_exposures(table, schema, policy.accept)
    watch("encode")
    data = encode(table, schema)
    _check_feasible(promised, data)
    guards = tuple(guard for model in promised for guard in model.guards(data))
    cover = grouper.group(data, guards, watch("hide"))
    watch("generalize")
    apart, learnt = None, None
    if recipe.apart and isinstance(cover, Cover):  # groups are those of sensitive values, and rows exact
        learnt = learnt_from(cover.labels, data, _l_of(promised))
        check_learnt(learnt, policy.accept)
        apart = values_apart(table, schema, cover.labels, system)
        cover = Cover(np.arange(len(data), dtype=np.int32))
    regions = _regions(data, cover, schema, policy)
    asked = grouper if isinstance(grouper, Crowder) else None
    crowd = policy.k if asked is None else asked.k
    drawn = draw(cover, asked, crowd, policy.accept, lambda: _graph(table, schema, data, regions), system)
    rows = published_table(table, schema, data, regions, drawn.assignment, apart)
    claims = tuple(claim for model in promised for claim in model.claims(data))
    pairs = zip(data.attributes, regions.cells, strict=True)
    domains = {attribute.name: domain_of(attribute, cells) for attribute, cells in pairs}
    said = manifest(schema, rows, domains, claims, _method_words(recipe, policy), policy.accept, apart)
    if drawn.odds is not None:
        said["match_probability"] = drawn.odds.as_dict()
    alike = drawn.candidates
    told = told_by_classes(data, regions) if alike is None else told_by_crowds(data, alike)
    warnings = warnings_of(schema, data, told, policy)
    crowds = cover if isinstance(cover, Crowds) else None
    made = (source, policy, table, schema, data, regions, drawn, rows, claims, said, warnings)
    draft = Draft(*made, apart, learnt, crowds)
    if policy.options.get("hide_rows") and isinstance(draft.told, Told):
        check_hidden(draft.told)
    return draft


def _l_of(promised: Sequence[Promise]) -> int:
    return next(model.l for model in promised if isinstance(model, FrequencyDiversity))


def _check_feasible(promised: Sequence[Promise], data: Microdata) -> None:
    reasons = [reason for model in promised if (reason := model.infeasible(data))]
    if reasons:
        raise Infeasible("\n".join(reasons))


def _regions(data: Microdata, cover: Cover | Crowds, schema: Schema, policy: Policy) -> Regions:
    means = tuple(column.name for column in schema.published if column.mean)
    if means and isinstance(cover, Crowds):
        raise PolicyError(
            f"{means[0]}: a mean is that of a class, and {policy.method} makes none; leave out mean"
        )
    least = 1 if SMALL_MEANS.accepted(policy.accept) else LEAST_FOR_MEAN
    return generalize(data, cover, means, least)


def _graph(table: Table, schema: Schema, data: Microdata, regions: Regions) -> Graph:
    """The consistency graph of all records and rows, both in the order of the table."""
    unmoved = Assignment(np.arange(len(data)), np.arange(len(data)))
    return consistency(published(published_table(table, schema, data, regions, unmoved), data), data)


def _method_words(recipe: Method, policy: Policy) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "options": json.loads(json.dumps(dict(policy.options), default=str)),
        "paper": recipe.paper,
        "form": "printed" if recipe.printed(policy.options) else "hardened",
    }


def _write(draft: Draft, destination: Path, form: Form, watch: Watch) -> Written:
    """Stage, verify from the staged bytes, then rename."""
    with stage(destination, form.replace) as folder:
        watch("write")
        said = _write_release(draft, folder / "release", form)
        verdict = _judge(draft, folder / "release", form, watch("verify"))
        if not verdict.passed:
            raise NotVerified(_failures(verdict))
        watch("measure")
        loss = loss_of(draft.table, draft.data, draft.policy.k)
        written = Written(
            destination, audit_folder(destination), verdict, loss, said, draft.warnings, draft.told
        )
        _write_json(
            folder / "audit" / "audit.json", written.as_dict() | {"source": _fingerprint(draft.source)}
        )
        _write_json(folder / "audit" / "schema.json", schema_as_dict(draft.schema))
        if draft.regions.means or draft.drawn.odds or draft.apart:  # only this tells whose each row is
            _write_json(folder / "audit" / LINKS, _links(draft))
        commit(folder, destination, form.replace)
    return written


def _links(draft: Draft) -> dict[str, Any]:
    """Which record is behind each row, and which part each row is from where that must be known again."""
    links = {"record_of_each_row": draft.assignment.private.tolist()}
    if draft.drawn.parts is not None and any(claim.model == "drawn-l-diversity" for claim in draft.claims):
        links["part_of_each_row"] = draft.drawn.parts.tolist()
    return links


def _write_release(draft: Draft, folder: Path, form: Form) -> dict[str, Any]:
    data = folder / f"data.{form.format}"
    if form.format == "csv":
        tables.write_csv(draft.table, data)
    else:
        typed = typed_columns(draft.data, draft.regions) if form.typed else None
        tables.write_parquet(draft.table, data, typed)
    said = {**draft.manifest, "files": {data.name: _described(data)}}
    if draft.apart is not None:
        values = folder / f"sensitive.{form.format}"
        write = tables.write_csv if form.format == "csv" else tables.write_parquet
        write(draft.apart.table, values)
        said["apart"] = {"file": values.name, **said["apart"]}
        said["files"][values.name] = _described(values)
    _write_json(folder / MANIFEST, said)
    return said


def _described(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def _judge(draft: Draft, folder: Path, form: Form, progress: Progress) -> Verdict:
    return verify(
        folder,
        original_rows(draft.source, draft.original),
        draft.schema,
        draft.claims,
        published=None if form.format == "csv" else TableRows(read_release(folder, draft.schema)),
        apart=None if form.format == "csv" or draft.apart is None else TableRows(read_sensitive(folder)),
        hint=draft.assignment.private,
        crowds=draft.drawn.crowds,
        parts=draft.drawn.parts,
        progress=progress,
    )


def loss_of(table: Table, data: Microdata, k: int) -> dict[str, Any]:
    """Every measure of a published table."""
    return measure_all(published(table, data), data, k)


def _failures(verdict: Verdict) -> str:
    lines = [f"  {check.name}: {check.detail}" for check in verdict.failures]
    skipped = [name for name in verdict.required if name not in {check.name for check in verdict.checks}]
    lines += [f"  {name}: was not checked" for name in skipped]
    return "the judge rejected the release; nothing was written\n" + "\n".join(lines)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False, default=_plain) + "\n"
    path.write_text(text, encoding="utf-8")


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else str(value)


def _fingerprint(source: object) -> dict[str, Any]:
    if not isinstance(source, str | os.PathLike):
        return {"kind": type(source).__name__}
    with Path(source).open("rb") as file:
        return {"name": Path(source).name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
