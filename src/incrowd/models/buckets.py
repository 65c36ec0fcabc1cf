"""A promise about sensitive values that are published apart from the rows, in a table of their own.

Its groups take the place of classes: what a person's row gives away of a sensitive value is the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, Rule, register
from incrowd.errors import PolicyError
from incrowd.flow import Microdata
from incrowd.models.column import KNOWS_WHO_IS_IN, ONE_ROW_EACH
from incrowd.schema import Claim

CHANCE = "who shares a group was drawn by chance that nobody can repeat"
ROWS_ARE_FOUND = "it says nothing about finding somebody's row"
EACH_ALONE = "what all groups together tell of how values go with quasi-identifiers is not counted"


@dataclass(frozen=True, slots=True, eq=False)
class _EnoughPeople:
    k: int

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size >= self.k

    def reached(self, rows: NDArray[np.int32]) -> int:
        return rows.size


@register("model", "sensitive-groups")
@dataclass(frozen=True)
class SensitiveGroups(Limited):
    """Every group of the table of sensitive values holds at least k people.

    Parameters
    ----------
    k : int
        Smallest group, at least 2.

    Examples
    --------
    >>> SensitiveGroups(1)
    Traceback (most recent call last):
    incrowd.errors.PolicyError: SensitiveGroups: k must be a whole number of at least 2, got 1.
    """

    k: int
    name: ClassVar[str] = "sensitive-groups"
    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(2)}

    def rule(self, _data: Microdata) -> Rule:
        return _EnoughPeople(self.k)

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """None: a grouper is told k.

        Raises
        ------
        PolicyError
            If rows belong to persons: k would count rows.
        """
        if data.entity is not None:
            raise PolicyError("entity: with buckets of sensitive values k counts rows, not persons")
        return ()

    def infeasible(self, data: Microdata) -> str:
        n = len(data)
        return "" if n >= self.k else f"n={n} < k={self.k}: the table has fewer rows than a bucket must have"

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        assumptions = (ONE_ROW_EACH, CHANCE, ROWS_ARE_FOUND, EACH_ALONE)
        return (Claim(self.name, {"k": self.k}, "", KNOWS_WHO_IS_IN, assumptions),)
