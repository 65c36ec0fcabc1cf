"""What the verifier is given: the staged files, the original by its own eyes, and what may help it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from incrowd.long_work import Ahead, Progress, threads
from incrowd.policy import Policy
from incrowd.policy.exposures import UNSAFE_JOIN
from incrowd.publishing.draft import Draft
from incrowd.publishing.series import SeriesDraft
from incrowd.release.data_files import data_files, read_buckets, read_rows
from incrowd.release.ledger import EFFECTIVE, KeptLedger
from incrowd.reports.datasheet import datasheet
from incrowd.schema import Source, Verdict
from incrowd.verifier import (
    EarlierRelease,
    PublicTable,
    ReleaseFiles,
    RowSource,
    SeriesHistory,
    Witness,
    read_ahead,
    rows_of,
    verify,
)

WORTH_READING_AHEAD = 2_000_000  # bytes of a file


def original_ahead(source: object, policy: Policy) -> Ahead[RowSource | None] | None:
    """Let the verifier read a large file while the publisher does, if there is a thread for it."""
    given = Source.of(source)
    path = None if given is None else given.file
    if threads() < 2 or path is None or not path.is_file() or path.stat().st_size < WORTH_READING_AHEAD:
        return None
    return Ahead(partial(read_ahead, source, policy.needed_of))


def verified(
    made: Draft,
    stage: Path,
    ahead: Ahead[RowSource | None] | None,
    progress: Progress,
    several: int,
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
        witness=witness(made),
        public=public_table(made),
        progress=progress,
        threads=several,
        series=None if series is None else _history(series, stage),
    )


def _history(series: SeriesDraft, stage: Path) -> SeriesHistory:
    """What the verifier needs of a series whose last release is still in the stage."""
    return SeriesHistory(
        rows_of(series.source, series.table),
        series.entity,
        stage / "release",
        stage / "audit",
        () if series.parent is None else earlier_releases(series.parent),
        staged=True,
    )


def earlier_releases(last: KeptLedger) -> tuple[EarlierRelease, ...]:
    """A release of a series and all before it, as the verifier wants them; the first one first."""
    return tuple(map(_earlier, last.chain()))


def _earlier(kept: KeptLedger) -> EarlierRelease:
    rows = read_rows(kept.release, lambda: kept.schema) if data_files(kept.release) else None
    return EarlierRelease(kept.release, kept.audit, kept.schema, rows)


def witness(made: Draft) -> Witness:
    """Who is behind each row, and whom it was made over: a hint, which is checked."""
    return Witness(made.behind, made.randomized.neighbourhoods)


def public_table(made: Draft) -> PublicTable | None:
    """The public table as the verifier wants it."""
    if made.stand_ins is None:
        return None
    sources = made.stand_ins.sources
    blind = not UNSAFE_JOIN.accepted(made.policy.accept)
    return PublicTable(sources.public, sources.provenance["id"], sources.check, blind=blind)
