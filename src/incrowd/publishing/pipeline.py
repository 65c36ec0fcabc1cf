"""The pipeline: request, read, encode, group, suppress, generalize, assign, render, verify, write.

All stages up to the verifier are in `publishing.draft`. Nothing is returned or given its final name before
the verifier has accepted it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import long_work, tables
from incrowd.errors import InputError, NotVerified, option
from incrowd.flow import Table
from incrowd.long_work import (
    WORTH_THREADS,
    Ahead,
    Notice,
    Progress,
    Watch,
    side_by_side,
    threads,
    unnoticed,
    unwatched,
)
from incrowd.measures import TwoWayError
from incrowd.measures.totals import FILE as TOTALS_FILE
from incrowd.measures.two_way import two_way_words
from incrowd.models import CandidateCloseness, CandidateDiversity
from incrowd.policy import Policy
from incrowd.publishing.disclosure import Disclosure
from incrowd.publishing.draft import Draft, draft
from incrowd.publishing.series import Continued, SeriesDraft, series_draft
from incrowd.publishing.suppression import Saved
from incrowd.release.audit import AUDIT, LINKS, POLICY, SCHEMA, fingerprint, kept_of_policy, schema_as_dict
from incrowd.release.data_files import read_buckets, read_rows
from incrowd.release.hierarchies import FILE as HIERARCHIES_FILE
from incrowd.release.ledger import EFFECTIVE
from incrowd.release.stage import audit_folder, commit, described, private_folder, stage, write_json
from incrowd.release.typed import typed_columns
from incrowd.reports.datasheet import FILE as DATASHEET
from incrowd.reports.datasheet import datasheet
from incrowd.results import Attempt, Result, Row
from incrowd.schema import MANIFEST, Role, Source, Verdict
from incrowd.tables.csv_writer import write_csv
from incrowd.verifier import (
    PublicTable,
    PublishedTables,
    ReleaseFiles,
    RowSource,
    Stated,
    Threads,
    Witness,
    read_ahead,
    rows_of,
    verify,
    verify_rows,
)

WORTH_READING_AHEAD = 2_000_000  # bytes of a file


@dataclass(frozen=True, eq=False, repr=False)
class Release(Result):
    """A verified release.

    Attributes
    ----------
    table : frame or Table
        The published rows, as the kind of frame that came in.
    sensitive : frame, Table or None
        The sensitive values of each bucket, where they are published in buckets.
    verdict : Verdict
        What the verifier found.
    manifest : mapping
        What the release says about itself.
    warnings : tuple of str
        What the publisher should know; not published.
    reading : tuple of str
        What was taken for what in reading the table: encoding, notations of dates and numbers; not published.
    tried : tuple of Attempt
        With the method `best`, what each method lost, or why it has no result; not published.
    """

    verdict: Verdict
    _draft: Draft
    manifest: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not self.verdict.passed:
            raise NotVerified(_failures(self.verdict))

    def headline(self) -> str:
        facts, claims = self.verdict.facts, [claim["model"] for claim in self.manifest["claims"]]
        promised = ", ".join(dict.fromkeys(claims))
        loss, tables = float(self.loss()["gcp"]), two_way_words(self.two_way.to_dict())
        return f"{facts['rows']:,} rows, verified: {promised}; {tables}information loss (GCP) {loss:.3f}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        """The first rows."""
        columns = [column.take(np.arange(min(5, len(column)))).rows() for column in self._draft.table.columns]
        return self._draft.table.names, zip(*columns, strict=True)

    @cached_property
    def table(self) -> Any:
        roles = (Role.SENSITIVE, Role.KEEP) if self._draft.buckets is None else (Role.KEEP,)
        return self._as_it_came(self._draft.table, self._draft.behind, roles)

    @cached_property
    def sensitive(self) -> Any:
        buckets = self._draft.buckets
        return None if buckets is None else self._as_it_came(buckets.table, buckets.first, (Role.SENSITIVE,))

    def _as_it_came(self, table: Table, records: NDArray[np.int64], roles: Sequence[Role]) -> Any:
        """A table as the kind of frame that came in; values of these roles keep their types."""
        draft = self._draft
        if isinstance(draft.source, str | os.PathLike | Table | Source):
            return table
        native = {column.name: (column.name, records) for column in draft.schema.having(*roles)}
        return tables.as_frame(table, draft.source, native)

    @property
    def has_entities(self) -> bool:
        """May a person have several rows?"""
        return self._draft.data.entity is not None

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._draft.warnings

    @property
    def reading(self) -> tuple[str, ...]:
        """What was taken for what: how the file was read, and columns that are not written plainly."""
        columns = (f"{c.name}: {c.note}" for c in self._draft.schema.published if c.note)
        return (*self._draft.original.notes, *columns)

    @property
    def saved(self) -> Saved | None:
        """What leaving records out saved; None where no choice was made who is left out."""
        return self._draft.saved

    @property
    def tried(self) -> tuple[Attempt, ...]:
        """The methods among which the one with the least loss was chosen; empty where no choice was made."""
        return self._draft.grouping.tried

    @property
    def disclosure(self) -> Disclosure | None:
        """What the release discloses beyond its promise; None where there is nothing to look at."""
        return self._draft.disclosure

    @property
    def told(self) -> dict[str, Any] | None:
        """The same in words that JSON knows."""
        return None if self.disclosure is None else self.disclosure.to_dict()

    def loss(self) -> dict[str, Any]:
        """Every measure of information loss."""
        return dict(self._draft.loss)

    @property
    def two_way(self) -> TwoWayError:
        """How far two-column tables of the release are off; computed from the original, so not published."""
        return self._draft.two_way

    def to_dict(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict.to_dict(),
            "two_way": self.two_way.to_dict(),
            "loss": self.loss(),
            "manifest": dict(self.manifest),
            "warnings": list(self.warnings),
            "says_nothing": self._draft.says_nothing,
            "reading": list(self.reading),
            **({} if self.told is None else {"told": self.told}),
            **({} if self.saved is None else {"suppression": self.saved.to_dict()}),
            **({"tried": [each.to_dict() for each in self.tried]} if self.tried else {}),
        }

    def write(
        self, folder: str | Path, format: str = "csv", typed: bool = False, replace: bool = False
    ) -> Path:
        """Write the release and its private audit beside it; verified once more from the written bytes."""
        if self._draft.series is not None:
            raise InputError("a release of a series is written once, with its ledger; copy the folder")
        return _write(self._draft, Path(folder), Form(format, typed, replace), unwatched).folder


@dataclass(frozen=True, eq=False, repr=False)
class WrittenRelease(Release):
    """A verified release that was written into a folder, with a private audit beside it."""

    folder: Path

    @property
    def audit(self) -> Path:
        return audit_folder(self.folder)

    def to_dict(self) -> dict[str, Any]:
        return {"release": str(self.folder), "audit": str(self.audit), **super().to_dict()}


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


def publish_in_memory(
    source: object,
    policy: Policy,
    watch: Watch = unwatched,
    public: object = None,
    check: object = None,
    notice: Notice = unnoticed,
) -> Release:
    """Anonymize a table and verify the result; nothing is written."""
    if policy.series is not None:
        raise InputError(f"a series keeps its ledger beside each release: say where, with {option('output')}")
    made = draft(source, policy, watch, public, check, notice)
    stated = Stated(
        levels=made.manifest.get("levels"), match_probability=made.manifest.get("match_probability")
    )
    sensitive = None if made.buckets is None else made.buckets.table
    verdict = verify_rows(
        made.original,
        PublishedTables(made.table, sensitive, stated, totals=made.totals, hierarchies=made.hierarchies),
        made.request.expected(made.schema, made.people.private),
        witness=_witness(made),
        public=_public_table(made),
        progress=watch("verify"),
    )
    return Release(verdict, made, made.manifest)


def publish_to(
    source: object,
    policy: Policy,
    folder: str | Path,
    form: Form | None = None,
    watch: Watch = unwatched,
    public: object = None,
    check: object = None,
    notice: Notice = unnoticed,
) -> WrittenRelease:
    """Anonymize a table and write the verified release; by a policy with [series] the first of a series."""
    form = form or Form()
    destination = Path(folder)
    if policy.series is not None:
        return publish_next(source, policy, destination, Continued(), form, watch, notice)
    with private_folder(destination, form.replace):  # a bad destination is known before hours of work
        ahead = _original_ahead(source, policy)
        made = draft(source, policy, watch, public, check, notice, reading=int(ahead is not None))
    return _write(made, destination, form, watch, ahead=ahead)


def publish_next(
    source: object,
    policy: Policy,
    folder: str | Path,
    continued: Continued,
    form: Form | None = None,
    watch: Watch = unwatched,
    notice: Notice = unnoticed,
) -> WrittenRelease:
    """Write the next release of a series, and its ledger; or the first one."""
    form, destination = form or Form(), Path(folder)
    if form.replace:
        raise InputError(
            f"a release of a series replaces none: even one that was retracted counts; leave out "
            f"{option('replace')}"
        )
    with private_folder(destination):
        made = series_draft(source, policy, continued, destination, watch, notice)
    with nullcontext() if made.parent is None else made.parent.gone_on_after():
        return _write(made.made, destination, form, watch, made)


def _write(
    made: Draft,
    destination: Path,
    form: Form,
    watch: Watch,
    series: SeriesDraft | None = None,
    ahead: Ahead[RowSource | None] | None = None,
) -> WrittenRelease:
    """Stage, verify from the staged bytes, then rename."""
    with stage(destination, form.replace) as folder:
        watch("write")
        rows, ready = len(made.data), Event()
        free = Threads(threads() if rows >= WORTH_THREADS else 1)  # for the verifier, once nobody measures

        def write_and_verify() -> WrittenRelease:
            try:
                _ = made.manifest  # and all that it is made of: what two threads need, one makes
            finally:
                ready.set()
            said = _write_release(made, folder / "release", form)
            if series is not None:
                _write_schema_and_links(made, folder / "audit")
                series.ledger.write(folder / "audit", folder / "release" / MANIFEST)
            verdict = _verified(made, folder, ahead, watch("verify"), free, series)
            return WrittenRelease(verdict, made, said, destination)

        def measure() -> dict[str, Any] | None:
            _ = made.loss  # takes nothing that the manifest does
            ready.wait()
            made.measure()
            return fingerprint(made.source if series is None else series.source)

        works: list[Callable[[], Any]] = [write_and_verify, free.busy_with(measure)]
        release: WrittenRelease
        release, source = side_by_side(works, rows)
        watch("measure")
        kept = release.to_dict() | {"source": source, POLICY: kept_of_policy(made.policy)}
        write_json(folder / "audit" / AUDIT, kept)
        if series is None:
            _write_schema_and_links(made, folder / "audit")
        after = None if series is None or series.parent is None else series.parent.release
        long_work.check()
        with long_work.held():
            commit(folder, destination, form.replace, after)
            long_work.ignore()
    return release


def _write_schema_and_links(made: Draft, audit: Path) -> None:
    write_json(audit / SCHEMA, schema_as_dict(made.schema))
    if made.linked:  # nothing else states whose row it is
        links = json.dumps(_links(made)) + "\n"  # all on one line, which is written far faster
        (audit / LINKS).write_text(links, encoding="utf-8", newline="\n")


BY_CANDIDATES = (CandidateDiversity.name, CandidateCloseness.name)


def _links(made: Draft) -> dict[str, Any]:
    """Which record is behind each row; where values are promised of rows that may be whose, also these."""
    found = {"record_of_each_row": made.behind.tolist()}
    around = made.randomized.neighbourhoods
    if around is not None and any(claim.model in BY_CANDIDATES for claim in made.claims):
        found["records_of_each_row"] = around.tolist()
    return found


def _write_release(made: Draft, folder: Path, form: Form) -> dict[str, Any]:
    data = folder / f"data.{form.format}"
    if form.format == "csv":
        write_csv(made.table, data)
    else:
        typed = typed_columns(made.data, made.regions, made.table.names) if form.typed else None
        tables.write_parquet(made.table, data, typed)
    manifest = {**made.manifest, "files": {data.name: described(data)}}
    if made.buckets is not None:
        values = folder / f"sensitive.{form.format}"
        write = write_csv if form.format == "csv" else tables.write_parquet
        write(made.buckets.table, values)
        manifest["apart"] = {"file": values.name, **manifest["apart"]}
        manifest["files"][values.name] = described(values)
    for name, table in ((HIERARCHIES_FILE, made.hierarchies), (TOTALS_FILE, made.totals)):
        if table is not None:
            write_csv(table, folder / name)
            manifest["files"][name] = described(folder / name)
    (folder / DATASHEET).write_text(datasheet(manifest), encoding="utf-8", newline="\n")
    manifest["files"][DATASHEET] = described(folder / DATASHEET)
    manifest["files"] = dict(sorted(manifest["files"].items()))
    write_json(folder / MANIFEST, manifest)
    return manifest


def _original_ahead(source: object, policy: Policy) -> Ahead[RowSource | None] | None:
    """Let the verifier read a large file while the publisher does, if there is a thread for it."""
    given = Source.of(source)
    path = None if given is None else given.file
    if threads() < 2 or path is None or not path.is_file() or path.stat().st_size < WORTH_READING_AHEAD:
        return None
    return Ahead(partial(read_ahead, source, policy.needed_of))


def _verified(
    made: Draft,
    stage: Path,
    ahead: Ahead[RowSource | None] | None,
    progress: Progress,
    threads: Threads,
    series: SeriesDraft | None,
) -> Verdict:
    """What the verifier says of the files in a stage, on so many threads."""
    folder = stage / "release"
    parquet = not (folder / "data.csv").exists()
    source: object = made.source if series is None else stage / "audit" / EFFECTIVE
    original = None if ahead is None else ahead.result()
    rows = read_rows(folder, lambda: made.schema) if parquet else None
    sensitive = read_buckets(folder) if parquet and made.buckets is not None else None
    return verify(
        ReleaseFiles(folder, rows, sensitive, datasheet),
        original or rows_of(source, made.original),
        made.request.expected(made.schema, made.people.private),
        witness=_witness(made),
        public=_public_table(made),
        progress=progress,
        threads=threads,
        series=None if series is None else series.history(stage),
    )


def _witness(made: Draft) -> Witness:
    """Who is behind each row, and whom it was made over: a hint, which is checked."""
    return Witness(made.behind, made.randomized.neighbourhoods)


def _public_table(made: Draft) -> PublicTable | None:
    """The public table as the verifier wants it."""
    if made.stand_ins is None:
        return None
    sources = made.stand_ins.sources
    return PublicTable(sources.public, sources.provenance["id"], sources.check, blind=made.request.blind)


def _failures(verdict: Verdict) -> str:
    lines = [f"  {check.name}: {check.detail}" for check in verdict.failures]
    skipped = [name for name in verdict.required if name not in {check.name for check in verdict.checks}]
    lines += [f"  {name}: was not checked" for name in skipped]
    return "the verifier rejected the release; nothing was written\n" + "\n".join(lines)
