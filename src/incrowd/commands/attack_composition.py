"""Attacking a written release together with another one of the same people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incrowd.attacks import AttackResult, Target, compositions, private_of
from incrowd.commands.attack_outliers import Scene
from incrowd.commands.attack_result import k_of
from incrowd.commands.verify import check_is_release, claims_said, manifest_of, schema_of
from incrowd.contracts import Watch
from incrowd.encode import encode
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.measures import published as read_published
from incrowd.policy import Policy
from incrowd.release.audit import links_of
from incrowd.release.readback import read_release
from incrowd.release.stage import audit_folder
from incrowd.schema import Role, Schema

NOTHING_SHARED = (
    "composition was not tried: no sensitive or kept column is published with the rows of both releases"
)


@dataclass(frozen=True, eq=False)
class Other:
    """The other release: its rows, its roles and hierarchies."""

    folder: Path
    schema: Schema
    shown: Table


def read_other(also: Path, table: Table, policy: Policy | None) -> Other:
    """Read the other release. Its roles and hierarchies come from the audit beside it, else from the policy.

    Raises
    ------
    InputError
        If it is no release of the same people alone, or neither says what its columns are.
    """
    check_is_release(also)
    if "public" in manifest_of(also):
        raise InputError(
            f"{also} was made with a public table, so its rows are about other people, too; leave out --also"
        )
    audited = (audit_folder(also.resolve()) / "schema.json").exists()
    schema = schema_of(also, table, None if audited else policy)
    return Other(also, schema, read_release(also, schema))


def attack_composition(
    target: Target, scene: Scene, schema: Schema, other: Other, watch: Watch
) -> tuple[tuple[AttackResult, ...], tuple[str, ...]]:
    """What a release, the target of `scene`, and another one tell together; and notes."""
    ours = {c.name for c in schema.having(Role.SENSITIVE, Role.KEEP) if c.name in scene.shown.names}
    theirs = [c.name for c in other.schema.having(Role.SENSITIVE, Role.KEEP) if c.name in other.shown.names]
    names = [name for name in theirs if name in ours]
    if not names:
        return (), (NOTHING_SHARED,)
    watch("attack: composition")
    if len(target.data) < len(scene.table):  # who was left out of one may be in the other
        target = Target(scene.published, scene.data, scene.truth, scene.k)
    private = private_of(scene.table, scene.shown, other.shown, names)
    return compositions(target, _target(other, scene.table), private), ()


def _target(other: Other, table: Table) -> Target:
    """The other release; links only save a search, since nobody's row is named."""
    data = encode(table, other.schema)
    truth = np.full(len(table), -1, dtype=np.int64)
    links = links_of(audit_folder(other.folder.resolve()), len(table))
    if links is not None and links.size == len(other.shown):
        truth[links] = np.arange(links.size)
    return Target(read_published(other.shown, data), data, truth, k_of(claims_said(other.folder)))
