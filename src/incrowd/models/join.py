"""k-join-anonymity: equivalence classes of people of a private and a public table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.contracts import register
from incrowd.flow import Microdata
from incrowd.models.size import CountOfRows

FAMILY = "join model"
KNOWS_THE_PUBLIC = (
    "knows everyone's quasi-identifiers, the public table and the whole release, but not who of them is in "
    "the private table"
)
MEMBERSHIP = "nobody knows who is in the private table: whoever does finds fewer than k"
REAL = "the people of the public table exist, and are described there as they are"


@register(FAMILY, "k-join-anonymity")
@dataclass(frozen=True)
class KJoinAnonymity(CountOfRows):
    """Everyone's row equals those of at least k-1 other people, of either table.

    Parameters
    ----------
    k : int
        Smallest class, at least 2.
    """

    adversary: ClassVar[str] = KNOWS_THE_PUBLIC
    assumed: ClassVar[tuple[str, ...]] = (MEMBERSHIP, REAL)
    of_persons: ClassVar[str] = "with a public table k counts rows, not persons; one row each"

    def infeasible(self, _data: Microdata) -> str:
        """Nothing can be said before the public table is joined."""
        return ""
