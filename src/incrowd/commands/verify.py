"""`verify`: check a written release once more, independently, against its original and what was asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from incrowd import tables
from incrowd.commands.stated_policy import stated_policy
from incrowd.engines.resources import Resources
from incrowd.engines.spark_tables import is_spark
from incrowd.errors import IncrowdError, InputError, NotVerified, TableError, option
from incrowd.flow import Table
from incrowd.join import check_public
from incrowd.long_work import Watch, unwatched
from incrowd.policy import Policy
from incrowd.policy.columns import check_exact_columns
from incrowd.policy.exposures import check_names
from incrowd.publishing.engine_choice import check_engine, resources_of
from incrowd.publishing.memory_limit import check_fits, fits
from incrowd.publishing.request import Request, requested
from incrowd.publishing.series import earlier_releases
from incrowd.release.data_files import data_files, read_file
from incrowd.release.folder import ReleaseFolder
from incrowd.release.ledger import KeptLedger
from incrowd.release.typed import written_again
from incrowd.reports.datasheet import datasheet
from incrowd.schema import LARGE_EFFECTIVE, MANIFEST, Role, Source, Verdict
from incrowd.verifier import Expected, PublicTable, ReleaseFiles, SeriesHistory, Threads, Witness, rows_of
from incrowd.verifier import verify as verify_folder


def verify(
    release: object,
    original: object = None,
    policy: object = None,
    *,
    public: object = None,
    check: object = None,
    engine: str = "auto",
    memory: str | int | None = None,
    threads: int | None = None,
    master: str | None = None,
    watch: Watch = unwatched,
) -> Verdict:
    """Check a release against the table it was made from.

    Parameters
    ----------
    release : path or ReleaseFolder
        The folder of the release.
    original : path or frame
        The table that it was made from; of a release of a series the table of its day.
    policy : Policy, dict or path, optional
        The release must then be one that the policy asks for: its claims, method, options, accepted exposures
        and share of suppressed records, no others. Without it, roles, hierarchies and where a public table is
        from are those of the audit beside the release, and the manifest is taken at its word as to the rest.
    public, check : path or frame, optional
        The public table that was joined and its second source, in the place of those that the policy names.

    engine, memory, threads, master
        As of `publish`; ``"auto"`` verifies with DuckDB what an engine has published, and a Spark DataFrame
        with Spark.

    Returns
    -------
    Verdict
        ``verdict.passed`` is true if every required check ran and passed.

    Raises
    ------
    NotVerified
        If the release claims nothing, or cannot even be read.
    """
    folder = ReleaseFolder.open(release, original, Policy.of(policy), public, check, sparing=True)
    if (name := _by_engine(folder, engine, memory)) is not None:
        from incrowd.commands import verify_large  # few releases need what is behind an engine

        verified = verify_large.verify_large_series if folder.in_series else verify_large.verify_large
        return verified(folder, resources_of(name, memory, threads, master), watch)
    watch("read")
    expected = _stated(folder) if folder.policy is None else _asked(folder, requested(folder.policy))
    links = folder.links if folder.public is None else folder.people_behind_rows
    return verify_folder(
        ReleaseFiles(folder.path, *_parquet(folder), datasheet),
        rows_of(folder.source, folder.original),
        expected,
        witness=Witness(links, folder.neighbourhoods),
        public=_public(folder),
        progress=watch("verify"),
        threads=Threads(Resources.of(threads=threads).threads),
        series=_history(folder) if folder.in_series else None,
    )


def _history(folder: ReleaseFolder) -> SeriesHistory | None:
    """What came before a release of a series: the releases and ledgers beside it."""
    if folder.today is None:
        return None
    try:
        parent = KeptLedger.open(folder.path).head.parent
        beside = folder.path.resolve().parent
        last = None if parent is None else KeptLedger.open(beside / Path(parent["folder"]).name)
        earlier = () if last is None else earlier_releases(last)
    except (IncrowdError, KeyError) as problem:
        raise NotVerified(f"the release is not what it claims: {problem}") from None
    entity = next(iter(folder.schema.having(Role.IDENTIFIER))).name
    table = folder.today if isinstance(folder.today, Table) else tables.read(folder.today)
    return SeriesHistory(rows_of(folder.today, table), entity, folder.path, folder.audit, earlier)


def _by_engine(folder: ReleaseFolder, engine: str, memory: str | int | None) -> str | None:
    """The engine that a release is to be verified by: asked for, or since one has published it."""
    check_engine(engine, folder.source)
    if folder.in_series:
        return _engine_of_series(folder, engine)
    if engine != "auto":
        return None if engine == "memory" else engine
    if is_spark(folder.source):
        return "spark"
    if folder.source is None:
        return None
    sources = [folder, folder.source, folder.public_source, folder.check_source]
    if folder.has_class_files and (data_files(folder.path) or not fits("verify", sources, memory)):
        return "duckdb"
    check_fits("verify", sources, memory)
    return None


def _engine_of_series(folder: ReleaseFolder, engine: str) -> str | None:
    """A series is verified as it was published: by its ledgers."""
    large = (folder.audit / LARGE_EFFECTIVE).is_file()
    if engine != "auto" and large != (engine == "duckdb"):
        how, other = ("with DuckDB", "duckdb") if large else ("in memory", "memory")
        raise InputError(f"the series was published {how}: verify it with {option('engine', other)}")
    return "duckdb" if large and folder.today is not None else None


def _asked(folder: ReleaseFolder, request: Request) -> Expected:
    """What the policy asks for; whatever `publish` would refuse is refused here, too."""
    policy = request.policy
    check_names(policy.accept)
    if request.algorithm.joins:
        check_public(policy)
        _ = folder.people  # both tables must be joined as the policy says
    check_exact_columns(folder.original, folder.schema, policy.accept, request.algorithm.buckets)
    return request.expected(folder.schema, folder.own_data)


def _stated(folder: ReleaseFolder) -> Expected:
    """What the manifest says was asked for, in words that the catalogue knows; or it is no release."""
    schema, _, _ = (
        folder.schema,
        folder.original,
        folder.public,
    )  # what is not given is no fault of the release
    try:
        claims = folder.claims
        if not claims:
            raise InputError(f"{folder.path / MANIFEST} claims nothing, so there is nothing to confirm")
        request = requested(stated_policy(folder))
        check_names(request.policy.accept)
        check_exact_columns(folder.original, schema, request.policy.accept, request.algorithm.buckets)
        asked = request.expected(schema, folder.own_data)
        return replace(asked, max_suppression="as stated", public=folder.audited.provenance)
    except (IncrowdError, TypeError, AttributeError, KeyError) as problem:
        words = problem if isinstance(problem, IncrowdError) else "its method or claims cannot be read"
        raise NotVerified(f"the release is not what it claims: {words}") from None


def _parquet(folder: ReleaseFolder) -> tuple[Table | None, Table | None]:
    """Rows and buckets of Parquet files, which the verifier cannot read by itself."""
    files = data_files(folder.path)
    if not files:
        return None, None
    if (folder.path / "data.csv").exists():
        raise NotVerified(f"{folder.path} holds two data files, and a release has one")
    try:
        buckets = folder.buckets if (folder.path / "sensitive.parquet").exists() else None
        parts = [folder.rows] if len(files) == 1 else [read_file(path, folder.schema) for path in files]
        written = [*zip(files, parts, strict=True), (folder.path / "sensitive.parquet", buckets)]
        for path, table in written:
            if table is not None and not written_again(table, folder.schema, path):
                raise TableError(
                    f"{path.name} has other bytes than this version of the writer gives these rows: it says "
                    "more, or another version wrote it"
                )
        return folder.rows, buckets
    except TableError as problem:
        raise NotVerified(f"the release cannot be read, so it is not what it claims: {problem}") from None


def _public(folder: ReleaseFolder) -> PublicTable | None:
    """The public table as the verifier wants it."""
    joined = folder.public
    if joined is None:
        return None
    rows = rows_of(joined.source, joined.table)
    check = None if joined.check is None else rows_of(joined.check_source, joined.check)
    return PublicTable(
        rows, joined.id, check, _file(joined.source), _file(joined.check_source), folder.blind_join
    )


def _file(source: object) -> Path | None:
    """The file of a table, which must be the one that the manifest means; a frame has none."""
    given = Source.of(source)
    return None if given is None or given.file is None or not given.file.is_file() else given.file
