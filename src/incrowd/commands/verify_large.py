"""`verify` for releases that do not fit into memory: the verifier's own SQL in a DuckDB session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from incrowd.commands.stated_policy import stated_policy
from incrowd.engines.duckdb_engine import DuckEngine
from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session
from incrowd.engines.table_files import TableFiles
from incrowd.engines.writing import CLASSES, RECORDS, written_again
from incrowd.errors import IncrowdError, InputError, NotVerified, option
from incrowd.long_work import Watch
from incrowd.policy import Policy
from incrowd.publishing.engine_choice import check_engine
from incrowd.publishing.large import (
    original_of,
    published_names,
    request_for_engine,
    verified,
)
from incrowd.publishing.large_draft import claimed_of, schema_of
from incrowd.release.folder import ReleaseFolder
from incrowd.release.stage import audit_folder, private_folder
from incrowd.schema import Verdict
from incrowd.verifier import Expected


def by_engine(folder: ReleaseFolder, engine: str) -> bool:
    """Is a release to be verified by an engine: asked for, or since one has published it?"""
    check_engine(engine)
    if engine != "auto":
        return engine != "memory"
    if folder.public_source is not None or folder.source is None:
        return False
    return _has_witness(folder) and (folder.path / "data.parquet").exists()


def _has_witness(folder: ReleaseFolder) -> bool:
    audit = audit_folder(folder.path)
    return all((audit / name).is_file() for name in (RECORDS, CLASSES))


def verify_large(folder: ReleaseFolder, resources: Resources, watch: Watch) -> Verdict:
    """Check a release against the table it was made from, in a private folder beside the release."""
    if not _has_witness(folder):
        raise InputError(
            f"the audit beside {folder.path} does not say which records share a class ({RECORDS}); verify "
            f"with {option('engine', 'memory')}"
        )
    files = TableFiles.of(folder.source)
    attached = files.files[0] if files.kind == "duckdb" else None
    reading = () if attached else files.files
    beside = folder.path.resolve().with_name(folder.path.resolve().name + ".verify")
    folders = (folder.path.resolve(), audit_folder(folder.path.resolve()))
    with (
        private_folder(beside) as work,
        duck_session(work, resources, reading, folders, attached) as session,
    ):
        watch("read")
        policy = _policy(folder)
        engine = DuckEngine(session, files, work, resources, published_names(policy))
        expected = _expected(folder, policy, engine)
        _check_bytes(session, folder.path.resolve(), work)
        return verified(
            session,
            folder.path.resolve(),
            original_of(engine.table, files),
            expected,
            audit_folder(folder.path.resolve()),
            watch("verify"),
        )


def _policy(folder: ReleaseFolder) -> Policy:
    if folder.policy is not None:
        return folder.policy
    try:
        return stated_policy(folder)
    except (IncrowdError, TypeError, AttributeError, KeyError) as problem:
        words = problem if isinstance(problem, IncrowdError) else "its method or claims cannot be read"
        raise NotVerified(f"the release is not what it claims: {words}") from None


def _expected(folder: ReleaseFolder, policy: Policy, engine: DuckEngine) -> Expected:
    """What the policy asks for; without one, what the manifest states, over the schema of the audit."""
    request = request_for_engine(policy)
    table = engine.open()
    if folder.policy is not None:
        schema = schema_of(engine, request, table)
        return request.expected(schema, claimed_of(schema))
    schema = folder.schema
    return replace(request.expected(schema, claimed_of(schema)), max_suppression="as stated")


def _check_bytes(session: DuckSession, folder: Path, work: Path) -> None:
    data = folder / "data.parquet"
    if data.exists() and not written_again(session, data, work):
        raise NotVerified(
            f"the release cannot be read, so it is not what it claims: {data.name} has other bytes than this "
            "version of the writer gives these rows: it says more, or another version wrote it"
        )
