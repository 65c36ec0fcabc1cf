"""Suppression: how many records may get no row, and the table without them.

No release states how many were suppressed. Outliers are suppressed first, so that even the number would
disclose that there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.catalogue import method
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition, Table
from incrowd.policy import Policy

WITH_PLAIN = "0.05"  # of all records, where outliers are to be hidden and the policy says nothing


@dataclass(frozen=True)
class Allowance:
    """The share of records that may be left out, as the manifest states it."""

    share: str

    def most(self, records: int) -> int:
        return int(Fraction(self.share) * records)

    def as_dict(self, published: int) -> dict[str, object]:
        """What the manifest states about rows."""
        return {"published": published, "suppressed": None, "max_suppression": self.share}


def allowance_of(policy: Policy) -> Allowance | None:
    """How many may be left out; None where everybody must have a row.

    Raises
    ------
    PolicyError
        If the policy says how many, and neither its method nor its promise leaves anybody out.
    """
    said, plain = policy.privacy.max_suppression, policy.privacy.plain is not None
    if plain:
        return Allowance(WITH_PLAIN if said is None else str(said))
    if said is None or not Fraction(said):
        return None
    if not method(policy.method).suppresses:
        raise PolicyError(
            f"[privacy]: {policy.method} leaves nobody out, so max_suppression means nothing; leave it out, "
            "or take incognito"
        )
    return Allowance(str(said))


def check_suppression(grouping: Partition | Neighbourhoods, allowed: Allowance | None) -> None:
    """Refuse a grouping that leaves out more than was allowed."""
    records = grouping.labels.size
    gone, most = records - grouping.kept.size, 0 if allowed is None else allowed.most(records)
    if gone == records:
        raise Infeasible(f"nothing can be published: all {records} records would have to be suppressed")
    if gone > most:
        share = "none" if allowed is None else f"max_suppression = {allowed.share}, {most} of {records}"
        raise Infeasible(
            f"{gone} of {records} records would have to be suppressed, and {share} may be; raise "
            "max_suppression, ask for less, or try another method"
        )


def table_of_kept(table: Table, kept: NDArray[np.int64]) -> Table:
    """The rows of those who have one."""
    return Table(table.names, tuple(column.take(kept) for column in table.columns))


def data_of_kept(data: Microdata, kept: NDArray[np.int64]) -> Microdata:
    """The same as numbers. Domains stay as they are: distances and losses are of the whole table."""
    sensitive = tuple(replace(column, codes=column.codes[kept]) for column in data.sensitive)
    entity: Codes | None = None
    if data.entity is not None:
        entity = np.unique(data.entity[kept], return_inverse=True)[1].astype(np.int32)
    return Microdata(data.codes[kept], data.attributes, sensitive, entity)
