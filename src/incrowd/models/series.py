"""What is promised over all releases of a series together: k people with one history, l values for them.

Or, by another adversary's reckoning, m-invariance: m values for everybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, register
from incrowd.flow import Microdata
from incrowd.models.k_anonymity import ONE_ROW_EACH
from incrowd.models.l_diversity import MINIMALITY
from incrowd.schema import Claim

SERIES = "series model"  # the family of models about several releases
KNOWS_ALL_RELEASES = (
    "knows everyone's quasi-identifiers and who is in the table at every time, all releases of the series "
    "and the program, and links rows of different releases by private values, at worst all of them"
)
KNOWS_RELEASES = (
    "knows everyone's quasi-identifiers and who is in the table at every time, and all releases of the series"
)
SAME_VALUE = "a person's value of the column never changes"
SAME_ID = "a person has one id in the whole series: a new id for somebody of an earlier release breaks this"
SERIES_ALONE = "nothing is published about the same people beside the series"


@dataclass(frozen=True)
class _SeriesModel(Limited):
    """Classes are made and torn by `incrowd.cohorts`: no guard of one table keeps such a promise."""

    name: ClassVar[str]

    def guards(self, _data: Microdata) -> tuple[Guard, ...]:
        return ()

    def infeasible(self, _data: Microdata) -> str:
        return ""


@register(SERIES, "series-k")
@dataclass(frozen=True)
class SeriesK(_SeriesModel):
    """At least k people have the same history: their class in each release, and its date, or none."""

    k: int
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        assumed = (ONE_ROW_EACH, SAME_ID, SERIES_ALONE)
        return (Claim(self.name, {"k": self.k}, "", KNOWS_ALL_RELEASES, assumed),)


@register(SERIES, "series-l")
@dataclass(frozen=True)
class SeriesL(_SeriesModel):
    """Of people with one history no value of the column has more than 1/l, in any release that shows them."""

    l: int  # noqa: E741
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Limit(2)}

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        assumed = (ONE_ROW_EACH, SAME_ID, SERIES_ALONE, MINIMALITY)
        return (Claim(self.name, {"l": self.l}, self.column, KNOWS_ALL_RELEASES, assumed),)


@register(SERIES, "m-invariance")
@dataclass(frozen=True)
class MInvariant(_SeriesModel):
    """Classes can be parted into groups of at least m values, each once; a person's are always the same."""

    m: int
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"m": Limit(2)}

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        assumed = (ONE_ROW_EACH, SAME_ID, SAME_VALUE, SERIES_ALONE, MINIMALITY)
        return (Claim(self.name, {"m": self.m}, self.column, KNOWS_RELEASES, assumed),)
