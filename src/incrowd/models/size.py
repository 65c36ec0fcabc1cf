"""k-anonymity: nobody stands in a class of fewer than k persons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, Rule, register
from incrowd.flow import Codes, Microdata
from incrowd.models.column import KNOWS_WHO_IS_IN, ONE_ROW_EACH, dense, everyone, tally
from incrowd.schema import Claim


@dataclass(frozen=True, slots=True, eq=False)
class _EnoughRows:
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


@register("model", "k-anonymity")
@dataclass(frozen=True)
class KAnonymity(Limited):
    """Every class holds at least k persons.

    A person is a row, or what the column with the role ``entity`` tells apart. Without such a column
    there is no guard: a grouper is told k and makes no class of fewer rows by itself.

    Parameters
    ----------
    k : int
        Smallest class, at least 2: a crowd of one hides nobody.

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
    name: ClassVar[str] = "k-anonymity"
    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def rule(self, data: Microdata) -> Rule:
        if data.entity is None:
            return _EnoughRows(self.k)
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
