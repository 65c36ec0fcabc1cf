"""A promise to people who hide among others of a public table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, register
from incrowd.errors import PolicyError
from incrowd.flow import Microdata
from incrowd.models.column import ONE_ROW_EACH
from incrowd.schema import Claim

FAMILY = "join model"
KNOWS_THE_PUBLIC = (
    "knows everyone's quasi-identifiers, the public table and the whole release, but not who of them is in "
    "the private table"
)
MEMBERSHIP = "nobody knows who is in the private table: whoever does finds fewer than k"
REAL = "the people of the public table exist, and are described there as they are"


@register(FAMILY, "k-join-anonymity")
@dataclass(frozen=True)
class KJoinAnonymity(Limited):
    """Everyone's row equals those of at least k-1 other people, of either table.

    Parameters
    ----------
    k : int
        Smallest class, at least 2.
    """

    k: int
    name: ClassVar[str] = "k-join-anonymity"
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """None: the base keeps k by itself.

        Raises
        ------
        PolicyError
            If rows belong to persons: k would count rows.
        """
        if data.entity is not None:
            raise PolicyError("entity: with a public table k counts rows, not persons; one row each")
        return ()

    def infeasible(self, _data: Microdata) -> str:
        """Nothing can be said before the public table is joined."""
        return ""

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        return (Claim(self.name, {"k": self.k}, "", KNOWS_THE_PUBLIC, (ONE_ROW_EACH, MEMBERSHIP, REAL)),)
