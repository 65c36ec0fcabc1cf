"""Buckets (Anatomy): sensitive values that are published in a table of their own, beside the rows.

Its groups take the place of classes: what a person's row gives away of a sensitive value is the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd.contracts import Rule, register
from incrowd.flow import Microdata
from incrowd.models.size import CountOfRows, EnoughRows

CHANCE = "who shares a group was drawn by chance that nobody can repeat"
ROWS_ARE_FOUND = "it says nothing about finding somebody's row"
EACH_ALONE = "what all groups together tell of how values go with quasi-identifiers is not counted"


@register("model", "sensitive-groups")
@dataclass(frozen=True)
class SensitiveGroups(CountOfRows):
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

    monotone: ClassVar[bool] = True
    more_is_safer: ClassVar[bool] = True
    assumed: ClassVar[tuple[str, ...]] = (CHANCE, ROWS_ARE_FOUND, EACH_ALONE)
    too_few: ClassVar[str] = "a group must have"
    of_persons: ClassVar[str] = "where values are published in buckets, k counts rows, not persons"

    def rule(self, _data: Microdata) -> Rule:
        return EnoughRows(self.k)
