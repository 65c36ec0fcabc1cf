"""Promises about who fits which row, where every record has a row of its own.

They speak of the consistency graph: a record and a row are joined if the row's cells hold the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, register
from incrowd.errors import PolicyError
from incrowd.flow import Microdata
from incrowd.models.column import KNOWS_WHO_IS_IN, ONE_ROW_EACH
from incrowd.schema import Claim

KNOWN = "the quasi-identifiers are all that outsiders know of a person"
KNOWS_ONE = (
    "knows one person's quasi-identifiers and the whole release, but neither who else is in the table nor "
    "how the release was made"
)
DRAWN = "who is behind which row was drawn by chance that nobody can repeat"
NOT_DRAWN = "nobody can re-run the algorithm on the original table"
FAMILY = "crowd model"


def refuse_persons(data: Microdata) -> None:
    """Crowds are of rows; where rows belong to persons, that is no crowd."""
    if data.entity is not None:
        raise PolicyError("entity: with non-homogeneous methods k counts rows, not persons; use mondrian")


@dataclass(frozen=True)
class CrowdModel(Limited):
    """What they have in common.

    Parameters
    ----------
    k : int
        How many must fit, at least 2.
    """

    k: int
    name: ClassVar[str]
    adversary: ClassVar[str] = KNOWS_WHO_IS_IN
    assumes: ClassVar[str] = NOT_DRAWN
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """None: the algorithms keep their k by themselves.

        Raises
        ------
        PolicyError
            If rows belong to persons: k would count rows.
        """
        refuse_persons(data)
        return ()

    def infeasible(self, data: Microdata) -> str:
        n = len(data)
        return "" if n >= self.k else f"n={n} < k={self.k}: the table has fewer rows than k"

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        assumptions = (ONE_ROW_EACH, KNOWN, self.assumes)
        return (Claim(self.name, {"k": self.k}, "", self.adversary, assumptions),)


@register(FAMILY, "1k-anonymity")
@dataclass(frozen=True)
class OneK(CrowdModel):
    """Every record fits at least k rows."""

    name: ClassVar[str] = "1k-anonymity"
    adversary: ClassVar[str] = KNOWS_ONE


@register(FAMILY, "k1-anonymity")
@dataclass(frozen=True)
class KOne(CrowdModel):
    """Every row fits at least k records."""

    name: ClassVar[str] = "k1-anonymity"
    adversary: ClassVar[str] = KNOWS_ONE


@register(FAMILY, "kk-anonymity")
@dataclass(frozen=True)
class BothK(CrowdModel):
    """Every record fits at least k rows, and every row at least k records."""

    name: ClassVar[str] = "kk-anonymity"
    adversary: ClassVar[str] = KNOWS_ONE


@register(FAMILY, "global-1k-anonymity")
@dataclass(frozen=True)
class GlobalOneK(CrowdModel):
    """Every record has at least k matches: rows that some assignment of everybody gives to it."""

    name: ClassVar[str] = "global-1k-anonymity"


@register(FAMILY, "global-k1-anonymity")
@dataclass(frozen=True)
class GlobalKOne(CrowdModel):
    """Every row has at least k matches."""

    name: ClassVar[str] = "global-k1-anonymity"


@register(FAMILY, "k-factor")
@dataclass(frozen=True)
class KFactor(CrowdModel):
    """An assignment can be drawn, and was, in which no record is behind any row with more than chance 1/k."""

    name: ClassVar[str] = "k-factor"
    assumes: ClassVar[str] = DRAWN
