"""`verify`: check a written release once more, independently, against the table it was made from."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Literal

from incrowd.contracts import Watch, unwatched
from incrowd.errors import InputError, NotVerified, TableError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.request import allowance_of, requested
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import MANIFEST, Claim, Verdict
from incrowd.verifier import Expected, PublicTable, ReleaseFiles, Witness, rows_of
from incrowd.verifier import verify as verify_folder


def verify(
    release: object,
    original: object = None,
    policy: object = None,
    *,
    public: object = None,
    check: object = None,
    watch: Watch = unwatched,
) -> Verdict:
    """Check a release against the table it was made from.

    Parameters
    ----------
    release : path or ReleaseFolder
        The folder of the release.
    original : path or frame
        The table that it was made from.
    policy : Policy, dict or path, optional
        The release must then claim exactly what the policy asks for. Without it, roles and hierarchies are
        those of the audit beside the release, and the claims those of its manifest.
    public, check : path or frame, optional
        The public table that was joined and its second source, in the place of those that the policy names.

    Returns
    -------
    Verdict
        ``verdict.passed`` is true if every required check ran and passed.

    Raises
    ------
    NotVerified
        If the release claims nothing, or cannot even be read.
    """
    folder = ReleaseFolder.open(release, original, Policy.of(policy), public, check)
    watch("read")
    schema = folder.schema
    claims = _claims_to_hold(folder) if folder.policy is None else _claims_asked(folder)
    links = folder.links if folder.public is None else folder.people_behind_rows
    return verify_folder(
        ReleaseFiles(folder.path, *_parquet(folder)),
        rows_of(folder.source, folder.original),
        Expected(schema, claims, max_suppression=_may_be_suppressed(folder.policy)),
        witness=Witness(links),
        public=_public(folder),
        progress=watch("verify"),
    )


def _may_be_suppressed(policy: Policy | None) -> Fraction | Literal["as stated"] | None:
    if policy is None:
        return "as stated"
    allowed = allowance_of(policy)
    return None if allowed is None else Fraction(allowed.share)


def _claims_to_hold(folder: ReleaseFolder) -> tuple[Claim, ...]:
    """What a release says of itself. To say it wrongly, or nothing, is to fail."""
    try:
        claims = folder.claims
    except InputError as problem:
        raise NotVerified(str(problem)) from None
    if not claims:
        raise NotVerified(f"{folder.path / MANIFEST} claims nothing, so there is nothing to confirm")
    return claims


def _claims_asked(folder: ReleaseFolder) -> tuple[Claim, ...]:
    if folder.policy is None:
        return ()
    return tuple(
        claim for model in requested(folder.policy).promised for claim in model.claims(folder.own_data)
    )


def _parquet(folder: ReleaseFolder) -> tuple[Table | None, Table | None]:
    """Rows and buckets of Parquet files, which the verifier cannot read by itself."""
    if not (folder.path / "data.parquet").exists():
        return None, None
    if (folder.path / "data.csv").exists():
        raise NotVerified(f"{folder.path} holds two data files, and a release has one")
    try:
        bucketed = (folder.path / "sensitive.parquet").exists()
        return folder.rows, folder.buckets if bucketed else None
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
    return Path(source) if isinstance(source, str | os.PathLike) else None
