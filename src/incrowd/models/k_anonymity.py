"""k-anonymity and its kin: what counts how many people share a class, a bucket or a neighbourhood.

With a public table (k-join-anonymity), in buckets of sensitive values (Anatomy), and without equivalence
classes: the models of non-homogeneous generalization, (1,k), (k,1), (k,k), global (1,k) and k-factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, Rule, Share, Switch, register
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata
from incrowd.models.counting import dense, tally
from incrowd.schema import Claim

MATCHING = "matching model"  # the family of models of non-homogeneous generalization
ONE_ROW_EACH = "each person has one row"
UNEVEN_PERSONS = "uneven-persons"  # by this name less is accepted
EVEN_SHARES = "a person may have several rows; nobody has more than one in k rows of a class"
UNEVEN_SHARES = (
    "a person may have several rows, and k counts persons; whoever has more rows of a class than others is "
    "behind a row of it with more than chance 1/k"
)
KNOWN = "the quasi-identifiers are all that outsiders know of a person"
DRAWN = "who is behind which row was drawn by chance that nobody can repeat"
NO_PERSONS = "with non-homogeneous methods k counts rows, not persons; use mondrian"
KNOWS_WHO_IS_IN = "knows everyone's quasi-identifiers, who is in the table, and the whole release"
KNOWS_ONE = (
    "knows one person's quasi-identifiers and the whole release, but neither who else is in the table nor "
    "how the release was made"
)
KNOWS_THE_PUBLIC = (
    "knows everyone's quasi-identifiers, the public table and the whole release, but not who of them is in "
    "the private table"
)
RE_RUNS = f"{KNOWS_THE_PUBLIC}; re-runs this program on every candidate for it"
EQUALLY_LIKELY = "of people who share a class, nobody is known beforehand to be likelier in the private table"
NOT_RE_RUN = (
    "nobody re-runs the program on candidates for the private table: rows depend on who is in it, and may "
    "show it for certain"
)
SETTLED = {  # what decided who shares a group of sensitive values
    "chance": "who shares a group was drawn by chance that nobody can repeat",
    "counts": "who shares a group follows from quasi-identifiers and published numbers alone",
    "values": "sensitive values had a say in who shares a group: not against somebody who re-runs the "
    "program (minimality)",
    "membership": "who is in the private table had a say in who shares a group: not against somebody who "
    "re-runs the program",
}


def everyone(data: Microdata) -> Codes:
    """All rows, as one class."""
    return np.arange(len(data), dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class EnoughRows:
    """The rule that a group has k rows."""

    k: int

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size >= self.k

    def reached(self, rows: NDArray[np.int32]) -> int:
        return rows.size


@dataclass(frozen=True, slots=True, eq=False)
class _EnoughPersons:
    """The rule that a group has k persons."""

    k: int
    entity: Codes
    persons: int

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size >= self.k and self.reached(rows) >= self.k

    def reached(self, rows: NDArray[np.int32]) -> int:
        return self.counts(rows).size

    def counts(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many of these rows each person has who has any."""
        return tally(self.entity.take(rows), self.persons)[1]


@dataclass(frozen=True, slots=True, eq=False)
class _EvenPersons(_EnoughPersons):
    """The rule that nobody has more than one in k rows of a group, so that it has k persons as well."""

    def reached(self, rows: NDArray[np.int32]) -> int:
        return int(rows.size // self.counts(rows).max()) if rows.size else 0


@dataclass(frozen=True)
class _ClassSize(Limited):
    """How large every class is, counted in rows or, where somebody may have several, in persons."""

    k: int
    name: ClassVar[str]
    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}  # a class of one protects nobody
    by_persons: ClassVar[type[_EnoughPersons]]
    of_persons: ClassVar[tuple[str, ...]]  # what is assumed where a person may have several rows

    def rule(self, data: Microdata) -> Rule:
        if data.entity is None:
            return EnoughRows(self.k)
        return self.by_persons(self.k, *dense(data.entity))

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        return () if data.entity is None else (self.rule(data),)

    def infeasible(self, data: Microdata) -> str:
        if data.entity is None:
            n, what = len(data), "rows"
        else:
            n, what = _EnoughPersons(self.k, *dense(data.entity)).reached(everyone(data)), "persons"
        return "" if n >= self.k else f"n={n} < k={self.k}: the table has fewer {what} than a class must have"

    def claims(self, data: Microdata) -> tuple[Claim, ...]:
        counted = (ONE_ROW_EACH,) if data.entity is None else self.of_persons
        return (Claim(self.name, {"k": self.k}, "", KNOWS_WHO_IS_IN, (*counted, KNOWN)),)


@register("model", "k-anonymity")
@dataclass(frozen=True)
class KAnonymity(_ClassSize):
    """Every class holds at least k persons, and nobody has more than one in k of its rows.

    A person is a row, or what the column with the role ``entity`` tells apart. Without such a column
    there is no guard: an algorithm knows k and makes no class of fewer rows by itself.

    References
    ----------
    Samarati, "Protecting respondents' identities in microdata release", TKDE 2001.
    Sweeney, "k-anonymity: a model for protecting privacy", IJUFKS 2002.

    Examples
    --------
    >>> KAnonymity(1)
    Traceback (most recent call last):
    incrowd.errors.PolicyError: KAnonymity: k must be a whole number of at least 2, got 1.
    """

    by_persons: ClassVar[type[_EnoughPersons]] = _EvenPersons
    of_persons: ClassVar[tuple[str, ...]] = (EVEN_SHARES,)

    def infeasible(self, data: Microdata) -> str:
        """Too few persons, or one who has more than one in k rows, and so of a class in any release."""
        why = super().infeasible(data)
        if why or data.entity is None:
            return why
        largest = _EvenPersons(self.k, *dense(data.entity)).reached(everyone(data))
        if largest >= self.k:
            return ""
        lower = f"lower k to {largest}, " if largest >= 2 else ""
        return (
            f"entity: one person has more than one in k={self.k} rows of the table, so that no class hides "
            f"whose its rows are; merge or leave out rows of those who have most, {lower}or accept "
            f"{UNEVEN_PERSONS}: classes then have k persons, and the chance of a row is not bounded"
        )


@register("model", "k-persons")
@dataclass(frozen=True)
class KPersons(_ClassSize):
    """Every class holds at least k persons, however unevenly its rows are theirs.

    It takes the place of k-anonymity where uneven-persons was accepted.
    """

    by_persons: ClassVar[type[_EnoughPersons]] = _EnoughPersons
    of_persons: ClassVar[tuple[str, ...]] = (UNEVEN_SHARES,)


@dataclass(frozen=True)
class CountOfRows(Limited):
    """A model whose k counts rows: refused where a person has several.

    `too_few` is what the table has fewer rows than, `of_persons` why persons are refused.
    """

    k: int
    name: ClassVar[str]
    adversary: ClassVar[str] = KNOWS_WHO_IS_IN
    assumed: ClassVar[tuple[str, ...]]
    too_few: ClassVar[str]
    of_persons: ClassVar[str]
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """None: algorithms keep k by themselves."""
        refuse_persons(data, self.of_persons)
        return ()

    def infeasible(self, data: Microdata) -> str:
        n = len(data)
        return "" if n >= self.k else f"n={n} < k={self.k}: the table has fewer rows than {self.too_few}"

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        return (Claim(self.name, {"k": self.k}, "", self.adversary, (ONE_ROW_EACH, *self.assumed)),)


def refuse_persons(data: Microdata, why: str) -> None:
    """Refuse a table in which a person may have several rows."""
    if data.entity is not None:
        raise PolicyError(f"entity: {why}")


@register("model", "sensitive-groups")
@dataclass(frozen=True)
class SensitiveGroups(CountOfRows):
    """Every bucket holds at least k people: the groups of a table of sensitive values beside the rows.

    They take the place of classes: what a person's row gives away of a sensitive value is its group.

    Examples
    --------
    >>> SensitiveGroups(1)
    Traceback (most recent call last):
    incrowd.errors.PolicyError: SensitiveGroups: k must be a whole number of at least 2, got 1.
    """

    settled: str = "chance"
    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    assumed: ClassVar[tuple[str, ...]] = (
        "it says nothing about finding somebody's row",
        "what all groups together tell of how values go with quasi-identifiers is not counted",
    )
    too_few: ClassVar[str] = "a group must have"
    of_persons: ClassVar[str] = "where values are published in buckets, k counts rows, not persons"

    def rule(self, _data: Microdata) -> Rule:
        return EnoughRows(self.k)

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        assumed = (ONE_ROW_EACH, SETTLED[self.settled], *self.assumed)
        return (Claim(self.name, {"k": self.k}, "", self.adversary, assumed),)


@register("join model", "k-join-anonymity")
@dataclass(frozen=True)
class KJoinAnonymity(CountOfRows):
    """Everyone's row equals those of at least k-1 other people, of either table.

    Where groups and join are `blind` to who is in the private table, it holds against somebody who re-runs
    the program, too.
    """

    blind: bool = True
    assumed: ClassVar[tuple[str, ...]] = (
        "nobody knows who is in the private table: whoever does finds fewer than k",
        "the people of the public table exist, and are described there as they are",
    )
    of_persons: ClassVar[str] = "with a public table k counts rows, not persons; one row each"

    def infeasible(self, _data: Microdata) -> str:
        """Nothing can be said before the public table is joined."""
        return ""

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        knows, besides = (RE_RUNS, ()) if self.blind else (KNOWS_THE_PUBLIC, (NOT_RE_RUN,))
        return (Claim(self.name, {"k": self.k}, "", knows, (ONE_ROW_EACH, *self.assumed, *besides)),)


@register("join model", "even-presence")
@dataclass(frozen=True)
class EvenPresence(Limited):
    """Everybody of a class of k or more is in the private table with one probability, which is published.

    It is the number of private people of the class by the number of its people, at most `most`; below 1,
    unless `certain`.
    """

    k: int
    most: str | float = "1"
    certain: bool = False
    blind: bool = True
    name: ClassVar[str]
    limits: ClassVar[Mapping[str, AnyLimit]] = {
        "k": Limit(2),
        "most": Share(Fraction(0), Fraction(1)),
        "certain": Switch(),
        "blind": Switch(),
    }

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        refuse_persons(data, KJoinAnonymity.of_persons)
        return ()

    def infeasible(self, _data: Microdata) -> str:
        """Nothing can be said before the public table is joined."""
        return ""

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        knows, besides = (RE_RUNS, ()) if self.blind else (KNOWS_THE_PUBLIC, (NOT_RE_RUN,))
        assumed = (ONE_ROW_EACH, EQUALLY_LIKELY, *besides)
        parameters: dict[str, int | str] = {
            "k": self.k,
            "most": str(self.most),
            "certain": "yes" if self.certain else "no",
        }
        return (Claim(self.name, parameters, "", knows, assumed),)


@dataclass(frozen=True)
class MatchingModel(CountOfRows):
    """Of the consistency graph, in which a record and a row are joined if the row's cells hold the record."""

    assumed: ClassVar[tuple[str, ...]] = (KNOWN, "nobody can re-run the algorithm on the original table")
    too_few: ClassVar[str] = "each must fit"
    of_persons: ClassVar[str] = NO_PERSONS


@register(MATCHING, "1k-anonymity")
@dataclass(frozen=True)
class OneK(MatchingModel):
    """Every record fits at least k rows."""

    adversary: ClassVar[str] = KNOWS_ONE


@register(MATCHING, "k1-anonymity")
@dataclass(frozen=True)
class KOne(MatchingModel):
    """Every row fits at least k records."""

    adversary: ClassVar[str] = KNOWS_ONE


@register(MATCHING, "kk-anonymity")
@dataclass(frozen=True)
class BothK(MatchingModel):
    """Every record fits at least k rows, and every row at least k records."""

    adversary: ClassVar[str] = KNOWS_ONE


@register(MATCHING, "global-1k-anonymity")
@dataclass(frozen=True)
class GlobalOneK(MatchingModel):
    """Every record has at least k matches: rows that some assignment of everybody gives to it."""


@register(MATCHING, "global-k1-anonymity")
@dataclass(frozen=True)
class GlobalKOne(MatchingModel):
    """Every row has at least k matches."""


@register(MATCHING, "k-factor")
@dataclass(frozen=True)
class KFactor(MatchingModel):
    """An assignment can be drawn, and was, in which no record is behind any row with more than chance 1/k."""

    assumed: ClassVar[tuple[str, ...]] = (KNOWN, DRAWN)
