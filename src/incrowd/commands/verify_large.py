"""`verify` for releases that do not fit into memory: the verifier's own SQL in a session of an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from incrowd.commands.stated_policy import stated_policy
from incrowd.engines.base import OpenedTable
from incrowd.engines.in_duckdb import DuckEngine
from incrowd.engines.ledger_files import LedgerFiles, effective_table
from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession
from incrowd.engines.table_files import Inputs
from incrowd.engines.writing import written_again
from incrowd.errors import IncrowdError, InputError, NotVerified, option
from incrowd.long_work import Watch
from incrowd.policy import Policy
from incrowd.publishing.large import (
    engine_of,
    inputs_of,
    joined_files,
    joined_originals,
    original_of,
    published_names,
    request_for_engine,
    table_files,
    verified,
)
from incrowd.publishing.large_join import JoinedTables
from incrowd.publishing.large_series import ledger_folders, series_verdict
from incrowd.publishing.large_stages import checked_schema, claimed_of, schema_of, wanted_names
from incrowd.publishing.request import Request
from incrowd.release.data_files import data_files
from incrowd.release.folder import ReleaseFolder
from incrowd.release.ledger import KeptLedger
from incrowd.release.stage import audit_folder, private_folder
from incrowd.schema import RECORDS, Role, Schema, Verdict
from incrowd.values import same_name
from incrowd.verifier import Expected


def verify_large(folder: ReleaseFolder, resources: Resources, watch: Watch) -> Verdict:
    """Check a release against the table it was made from, in a private folder beside the release."""
    if not folder.has_class_files:
        raise InputError(
            f"the audit beside {folder.path} does not say which records share a class ({RECORDS}); verify "
            f"with {option('engine', 'memory')}"
        )
    beside = folder.path.resolve().with_name(folder.path.resolve().name + ".verify")
    folders = (folder.path.resolve(), audit_folder(folder.path.resolve()))
    sources = folder.public_sources  # what is not given is no fault of the release
    policy = _policy(folder)
    files, request = table_files(folder.source, policy, resources), request_for_engine(policy)
    given = (None, None) if sources is None else (sources.table, sources.check)
    public = joined_files(policy, request, resources, *given)
    with (
        private_folder(beside) as work,
        engine_of(inputs_of(policy, files, public), work, folders, resources) as engine,
    ):
        watch("read")
        table = engine.open()
        tables = None if public is None else JoinedTables.open(engine, policy, public)
        expected = _expected(folder, request, partial(schema_of, engine, request, table, tables))
        _check_bytes(engine.local, folder.path.resolve(), work)
        return verified(
            engine.session,
            folder.path.resolve(),
            original_of(engine.table, engine.files)
            if tables is None
            else joined_originals(tables, engine.files, policy),
            expected,
            audit_folder(folder.path.resolve()),
            watch("verify"),
        )


def verify_large_series(folder: ReleaseFolder, resources: Resources, watch: Watch) -> Verdict:
    """Check a release of a series against the table of its day and all releases before it."""
    release, audit = folder.path.resolve(), audit_folder(folder.path.resolve())
    beside = release.with_name(release.name + ".verify")
    try:
        kept = KeptLedger.open(release)
        chain = kept.chain()
        entity = kept.schema.having(Role.IDENTIFIER)[0].name
    except (IncrowdError, IndexError) as problem:
        raise NotVerified(f"the release is not what it claims: {problem}") from None
    policy = _policy(folder)
    request = request_for_engine(policy)
    inputs = Inputs(
        table_files(folder.today, policy, resources), [*published_names(policy), same_name(entity)]
    )
    with (
        private_folder(beside) as work,
        engine_of(inputs, work, (release, audit, *ledger_folders(chain)), resources) as engine,
    ):
        watch("read")
        engine.open()
        if not isinstance(engine, DuckEngine):
            raise InputError(f"a series is verified with {option('engine', 'duckdb')}")
        expected = _expected(folder, request, partial(_effective_schema, engine, request, audit, entity))
        _check_bytes(engine.local, release, work)
        return series_verdict(engine, (release, audit), expected, chain[:-1], entity, watch("verify"))


def _effective_schema(engine: DuckEngine, request: Request, audit: Path, entity: str) -> Schema:
    """The schema that the policy gives the effective table."""
    table = effective_table(engine.local, LedgerFiles.of(audit), entity)
    met = {name: engine.domain(name, table) for name in wanted_names(request, table.names)}
    return checked_schema(request, OpenedTable(table.names, table.rows), met)[0]


def _policy(folder: ReleaseFolder) -> Policy:
    if folder.policy is not None:
        return folder.policy
    try:
        return stated_policy(folder)
    except (IncrowdError, TypeError, AttributeError, KeyError) as problem:
        words = problem if isinstance(problem, IncrowdError) else "its method or claims cannot be read"
        raise NotVerified(f"the release is not what it claims: {words}") from None


def _expected(folder: ReleaseFolder, request: Request, of_policy: Callable[[], Schema]) -> Expected:
    """What the policy asks for; without one, what the manifest states, over the schema of the audit."""
    if folder.policy is not None:
        schema = of_policy()
        return request.expected(schema, claimed_of(schema))
    schema = folder.schema
    asked = request.expected(schema, claimed_of(schema))
    return replace(asked, max_suppression="as stated", public=folder.audited.provenance)


def _check_bytes(session: DuckSession, folder: Path, work: Path) -> None:
    for data in data_files(folder):
        if not written_again(session, data, work):
            raise NotVerified(
                f"the release cannot be read, so it is not what it claims: {data.name} has other bytes than "
                "this version of the writer gives these rows: it says more, or another version wrote it"
            )
