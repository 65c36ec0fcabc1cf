"""Judging and measuring what is already written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.algorithms.catalogue import method
from incrowd.contracts import Watch, unwatched
from incrowd.encode import encode
from incrowd.errors import InputError, NotVerified, TableError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.request import asked_of
from incrowd.publishing.suppression import allowance_of
from incrowd.release.audit import LINKS, links_of, parts_of, schema_from_dict
from incrowd.release.readback import TableRows, original_rows, read_release, read_sensitive
from incrowd.release.stage import audit_folder
from incrowd.schema import MANIFEST, Claim, Schema, Verdict
from incrowd.verifier import Expected, PublicTable, ReleaseFiles, Witness, verify

JOINED = "k-join-anonymity"


def verify_release(
    folder: Path,
    original: Path,
    policy: Policy | None,
    watch: Watch = unwatched,
    public: Path | None = None,
    check: Path | None = None,
) -> Verdict:
    """Judge a release folder against the table it was made from.

    With a policy, the release must claim exactly what the policy asks for. Without one, roles and
    hierarchies are taken from the audit beside the release and claims from its manifest. Where people of a
    public table have rows, it is `public`, confirmed by `check`; else those that the policy names.
    """
    check_is_release(folder)
    watch("read")
    table = tables.read(original)
    joined = joined_tables(folder, policy, public, check)
    schema = schema_of(folder, table, policy, None if joined is None else joined.table)
    claims = _claims_to_hold(folder) if policy is None else _claims_asked(policy, table, schema)
    audit = audit_folder(folder.resolve())
    links = links_of(audit, len(table)) if joined is None else people_behind_rows(folder)
    return verify(
        ReleaseFiles(folder, _parquet_rows(folder, schema), _parquet_values(folder)),
        original_rows(original, table),
        Expected(schema, claims, max_suppression="as stated" if policy is None else _may_be_left_out(policy)),
        witness=Witness(links, parts=parts_of(audit, len(table))),
        public=None if joined is None else joined.public,
        progress=watch("verify"),
    )


def _may_be_left_out(policy: Policy) -> Fraction | None:
    allowed = allowance_of(policy, method(policy.method))
    return None if allowed is None else Fraction(allowed.share)


@dataclass(frozen=True, eq=False)
class JoinedTables:
    """The public table of a release: as it was read, and as the judge wants it."""

    table: Table
    public: PublicTable
    file: Path
    second: Table | None
    check_file: Path | None


def joined_tables(
    folder: Path, policy: Policy | None, public: Path | None, check: Path | None
) -> JoinedTables | None:
    """The public table and its second source; None where no people of one have rows."""
    asked = None if policy is None else policy.public
    if asked is None and (policy is not None or not _claims_a_join(folder)):
        if public is not None or check is not None:
            raise InputError("the release is not joined with a public table; leave out --public and --check")
        return None
    if policy is not None and asked is not None:
        public = public or policy.folder / asked.table
        check = check or (policy.folder / asked.check if asked.check is not None else None)
    if public is None:
        raise InputError("people of a public table have rows in this release; pass that table with --public")
    table = tables.read(public)
    second = None if check is None else tables.read(check)
    rows = None if check is None or second is None else original_rows(check, second)
    id = asked.id if asked is not None else _id_said(folder)
    source = PublicTable(original_rows(public, table), id, rows, public, check)
    return JoinedTables(table, source, public, second, check)


def _claims_a_join(folder: Path) -> bool:
    """Does the manifest speak of people of a public table? What cannot be read speaks of none."""
    try:
        return any(claim.model == JOINED for claim in claims_said(folder))
    except InputError:
        return False


def _id_said(folder: Path) -> str:
    """The column that joined both tables; empty if the manifest does not say, which the judge will mind."""
    said = manifest_of(folder).get("public")
    return str(said.get("id", "")) if isinstance(said, dict) else ""


def people_behind_rows(folder: Path) -> NDArray[np.int64] | None:
    """Who is behind each row where people of a public table have rows, too, as the audit says.

    People are numbered as the judge does: all of the private table, then those of the public one who may
    stand in. None where the audit does not say; it is never trusted.
    """
    try:
        links = json.loads((audit_folder(folder.resolve()) / LINKS).read_text(encoding="utf-8"))
        behind = np.array(links["record_of_each_row"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return behind if behind.ndim == 1 and behind.dtype == np.int64 else None


def own_rows(folder: Path, own: int) -> NDArray[np.bool_] | None:
    """Which rows are of the private table's `own` people; None where the audit does not say of everyone."""
    behind = people_behind_rows(folder)
    if behind is None or not np.array_equal(np.sort(behind[behind < own]), np.arange(own)):
        return None
    mine: NDArray[np.bool_] = behind < own
    return mine


def _parquet_rows(folder: Path, schema: Schema) -> TableRows | None:
    """The rows that the judge cannot read by itself."""
    if not (folder / "data.parquet").exists():
        return None
    if (folder / "data.csv").exists():
        raise NotVerified(f"{folder} holds two data files, and a release has one")
    try:
        return TableRows(read_release(folder, schema))
    except TableError as problem:
        raise NotVerified(f"the release cannot be read, so it is not what it claims: {problem}") from None


def _parquet_values(folder: Path) -> TableRows | None:
    if not (folder / "data.parquet").exists() or not (folder / "sensitive.parquet").exists():
        return None
    try:
        return TableRows(read_sensitive(folder))
    except TableError as problem:
        raise NotVerified(f"the release cannot be read, so it is not what it claims: {problem}") from None


def schema_of(folder: Path, table: Table, policy: Policy | None, public: Table | None = None) -> Schema:
    if policy is not None:
        return policy.schema(table, public)
    path = audit_folder(folder.resolve()) / "schema.json"
    try:
        return schema_from_dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise InputError(f"there is no audit beside {folder}; pass the policy with -p") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"the audit beside {folder} cannot be read; pass the policy with -p") from None


def check_is_release(folder: Path) -> None:
    """What is no release at all is a wrong request; what is wrong inside one is for the judge."""
    if not folder.is_dir():
        reason = "is no folder" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {reason}; a release is a folder with {MANIFEST} in it")
    if not (folder / MANIFEST).exists():
        raise InputError(f"{folder} is no release: it has no {MANIFEST}")


def manifest_of(folder: Path) -> Mapping[str, Any]:
    try:
        said = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{folder / MANIFEST} cannot be read") from None
    if not isinstance(said, dict):
        raise InputError(f"{folder / MANIFEST} is no manifest")
    return said


def _claims_to_hold(folder: Path) -> tuple[Claim, ...]:
    """What a release says of itself. To say it wrongly, or nothing, is to fail."""
    try:
        claims = claims_said(folder)
    except InputError as problem:
        raise NotVerified(str(problem)) from None
    if not claims:
        raise NotVerified(f"{folder / MANIFEST} claims nothing, so there is nothing to confirm")
    return claims


def claims_said(folder: Path) -> tuple[Claim, ...]:
    try:
        return tuple(
            Claim(
                model=str(said["model"]),
                parameters=dict(said["parameters"]),
                column=str(said.get("column", "")),
                adversary=said["adversary"],
                assumptions=tuple(said["assumptions"]),
            )
            for said in manifest_of(folder)["claims"]
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"the claims in {folder / MANIFEST} cannot be read") from None


@dataclass(frozen=True)
class GroupsSaid:
    """What a release says whose sensitive values stand apart from the rows.

    ``fewest`` is for each sensitive column the fewest different values of a group, ``share`` the largest
    share that one value has in a group.
    """

    groups: int
    smallest: int
    fewest: Mapping[str, int]
    share: Mapping[str, Fraction]

    @property
    def note(self) -> str:
        most = max(self.share.values(), default=Fraction(1))
        return (
            f"sensitive values stand apart from the rows, in {self.groups:,} groups, the smallest of "
            f"{self.smallest:,}; no value has more than {most} of a group. What all groups together tell of "
            "how values go with quasi-identifiers is the attack definetti's"
        )

    def as_dict(self) -> dict[str, Any]:
        shares = {name: str(share) for name, share in self.share.items()}
        return {
            "groups": self.groups,
            "smallest": self.smallest,
            "fewest_values": dict(self.fewest),
            "largest_share": shares,
        }


def groups_said(folder: Path) -> GroupsSaid | None:
    """The groups of a release whose sensitive values stand apart; None of any other."""
    if "apart" not in manifest_of(folder):
        return None
    table = read_sensitive(folder)
    try:
        group, said = table.column("group"), table.column("count")
        counts = np.array([int(text or "") for text in said.texts], np.int64)[said.codes]
        if not counts.size or counts.min() < 1:
            raise ValueError("no counts")
    except (ValueError, OverflowError):
        raise InputError(f"the sensitive values in {folder} cannot be read") from None
    sizes = np.zeros(len(group.texts), np.int64)
    np.add.at(sizes, group.codes, counts)
    fewest, share = {}, {}
    for name in table.names[1:-1]:
        column = table.column(name)
        pairs, of = np.unique(
            group.codes.astype(np.int64) * len(column.texts) + column.codes, return_inverse=True
        )
        often = np.zeros(pairs.size, np.int64)
        np.add.at(often, of, counts)
        owner = pairs // len(column.texts)
        fewest[name] = int(np.bincount(owner).min())
        most = np.argmax(often / sizes[owner])
        share[name] = Fraction(int(often[most]), int(sizes[owner[most]]))
    return GroupsSaid(sizes.size, int(sizes.min()), fewest, share)


def _claims_asked(policy: Policy, table: Table, schema: Schema) -> tuple[Claim, ...]:
    data = encode(table, schema)
    _, _, promised = asked_of(policy)
    return tuple(claim for model in promised for claim in model.claims(data))
