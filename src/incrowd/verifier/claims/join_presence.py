"""The claim of even presence: how many people of each class are private, against who is behind the rows."""

from __future__ import annotations

import numpy as np

from incrowd.schema import Claim
from incrowd.verifier.claims.join import check_presence
from incrowd.verifier.claims.subject import ClaimSubject
from incrowd.verifier.columns import folded
from incrowd.verifier.failure import CheckFailed, require


def even_presence(claim: Claim, subject: ClaimSubject) -> str:
    """Everybody of a class is private with the probability that its rows state."""
    tables = subject.tables
    require(not claim.column, f"{claim.model} is about all rows, not about one column")
    if tables.counts is None:
        raise CheckFailed("the rows do not say how many people of a class are private")
    parts = [tables.coded.row_class, tables.counts.people, tables.counts.private]
    if tables.groups is not None:
        parts.append(tables.groups.codes.astype(np.int64))
    kind = folded([np.unique(part, return_inverse=True)[1] for part in parts])  # forged ones may be huge
    return check_presence(claim, tables.counts, kind, subject.graph.match < tables.own)
