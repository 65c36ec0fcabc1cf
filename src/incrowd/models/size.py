"""k-anonymity, and what all models have in common in which k counts rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, Rule, register
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata
from incrowd.models.column import KNOWS_WHO_IS_IN, ONE_ROW_EACH, dense, everyone, tally
from incrowd.schema import Claim


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
    k: int
    entity: Codes
    persons: int

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size >= self.k and self.reached(rows) >= self.k

    def reached(self, rows: NDArray[np.int32]) -> int:
        return tally(self.entity.take(rows), self.persons)[0].size


@dataclass(frozen=True)
class CountOfRows(Limited):
    """A model whose k counts rows: refused where a person has several.

    `too_few` is what the table has fewer rows than, `of_persons` why persons are refused.

    Parameters
    ----------
    k : int
        At least 2.
    """

    k: int
    name: ClassVar[str]
    adversary: ClassVar[str] = KNOWS_WHO_IS_IN
    assumed: ClassVar[tuple[str, ...]]
    too_few: ClassVar[str]
    of_persons: ClassVar[str]
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """None: algorithms keep k by themselves.

        Raises
        ------
        PolicyError
            If rows belong to persons.
        """
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


@register("model", "k-anonymity")
@dataclass(frozen=True)
class KAnonymity(Limited):
    """Every class holds at least k persons.

    A person is a row, or what the column with the role ``entity`` tells apart. Without such a column
    there is no guard: an algorithm knows k and makes no class of fewer rows by itself.

    Parameters
    ----------
    k : int
        Smallest class, at least 2: a class of one protects nobody.

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

    k: int
    name: ClassVar[str]
    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def rule(self, data: Microdata) -> Rule:
        if data.entity is None:
            return EnoughRows(self.k)
        return _EnoughPersons(self.k, *dense(data.entity))

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        return () if data.entity is None else (self.rule(data),)

    def infeasible(self, data: Microdata) -> str:
        n = self.rule(data).reached(everyone(data))
        what = "rows" if data.entity is None else "persons"
        return "" if n >= self.k else f"n={n} < k={self.k}: the table has fewer {what} than a class must have"

    def claims(self, data: Microdata) -> tuple[Claim, ...]:
        counted = (
            ONE_ROW_EACH if data.entity is None else "rows of one person are known as such: k counts persons"
        )
        known = "the quasi-identifiers are all that outsiders know of a person"
        return (Claim(self.name, {"k": self.k}, "", KNOWS_WHO_IS_IN, (counted, known)),)
