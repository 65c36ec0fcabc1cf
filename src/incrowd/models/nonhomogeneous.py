"""Models of non-homogeneous generalization: (1,k), (k,1), (k,k), global (1,k) and k-factor.

They speak of the consistency graph: a record and a row are joined if the row's cells hold the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.contracts import register
from incrowd.models.size import CountOfRows

KNOWN = "the quasi-identifiers are all that outsiders know of a person"
KNOWS_ONE = (
    "knows one person's quasi-identifiers and the whole release, but neither who else is in the table nor "
    "how the release was made"
)
DRAWN = "who is behind which row was drawn by chance that nobody can repeat"
NOT_DRAWN = "nobody can re-run the algorithm on the original table"
FAMILY = "matching model"
NO_PERSONS = "with non-homogeneous methods k counts rows, not persons; use mondrian"


@dataclass(frozen=True)
class MatchingModel(CountOfRows):
    """What they have in common.

    Parameters
    ----------
    k : int
        How many must fit, at least 2.
    """

    assumed: ClassVar[tuple[str, ...]] = (KNOWN, NOT_DRAWN)
    too_few: ClassVar[str] = "each must fit"
    of_persons: ClassVar[str] = NO_PERSONS


@register(FAMILY, "1k-anonymity")
@dataclass(frozen=True)
class OneK(MatchingModel):
    """Every record fits at least k rows."""

    adversary: ClassVar[str] = KNOWS_ONE


@register(FAMILY, "k1-anonymity")
@dataclass(frozen=True)
class KOne(MatchingModel):
    """Every row fits at least k records."""

    adversary: ClassVar[str] = KNOWS_ONE


@register(FAMILY, "kk-anonymity")
@dataclass(frozen=True)
class BothK(MatchingModel):
    """Every record fits at least k rows, and every row at least k records."""

    adversary: ClassVar[str] = KNOWS_ONE


@register(FAMILY, "global-1k-anonymity")
@dataclass(frozen=True)
class GlobalOneK(MatchingModel):
    """Every record has at least k matches: rows that some assignment of everybody gives to it."""


@register(FAMILY, "global-k1-anonymity")
@dataclass(frozen=True)
class GlobalKOne(MatchingModel):
    """Every row has at least k matches."""


@register(FAMILY, "k-factor")
@dataclass(frozen=True)
class KFactor(MatchingModel):
    """An assignment can be drawn, and was, in which no record is behind any row with more than chance 1/k."""

    assumed: ClassVar[tuple[str, ...]] = (KNOWN, DRAWN)
