"""l-diversity of a randomized assignment, where every record has a row of its own.

There are no classes whose values could be counted. Instead the table falls into parts, and who is behind
which row is drawn inside each part alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Guard, Limit, register
from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata
from incrowd.models.column import ColumnModel, dense, everyone, largest_count
from incrowd.models.nonhomogeneous import DRAWN, FAMILY, KNOWN, NO_PERSONS
from incrowd.models.size import refuse_persons

SPLIT = "which people share a part was settled by chance wherever their sensitive values had a say in it"


@dataclass(frozen=True, slots=True, eq=False)
class Drawable:
    """May records be cut into parts, each of at least k and none with a value more than floor(k/l) times?

    There are at most m = floor(n/k) parts, so no value may occur more than m floor(k/l) times. That is
    enough: dealt out value by value, round and round, m parts get floor or ceil of n/m records, at least k,
    and of each value at most the ceil of an m-th of its records. Two sets of records that can be cut can be
    cut together, so the rule is monotone.
    """

    codes: Codes
    size: int
    l: int  # noqa: E741  the paper's letter
    k: int

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.reached(rows) >= self.l

    def reached(self, rows: NDArray[np.int32]) -> int:
        """The largest l that these records keep with this k; 0 if they are fewer than k."""
        parts = rows.size // self.k
        if not parts:
            return 0
        often = -(-largest_count(self.codes, self.size, rows) // parts)  # in the part that has most
        return self.k // often


@register(FAMILY, "drawn-l-diversity")
@dataclass(frozen=True)
class DrawnDiversity(ColumnModel):
    """By the draw, nobody has any value of the column with more than chance 1/l.

    The table falls into parts. Inside each, the draw is from k rows for everybody, and each value occurs at
    most floor(k/l) times: of the k rows that may be a person's, no more than k/l say the same.

    Parameters
    ----------
    l : int
        At least 2.
    k : int
        From how many rows everybody's is drawn; at least l, since of fewer rows none is rare enough.
    column : str
        The sensitive column.

    Examples
    --------
    >>> DrawnDiversity(3, 2, "disease")
    Traceback (most recent call last):
    incrowd.errors.PolicyError: DrawnDiversity: k must be at least l=3, got 2.
    """

    l: int  # noqa: E741
    k: int
    column: str
    limits: ClassVar[Mapping[str, AnyLimit]] = {"l": Limit(2), "k": Limit(2)}
    assumed: ClassVar[tuple[str, ...]] = (KNOWN, DRAWN, SPLIT)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < self.l:
            raise PolicyError(f"DrawnDiversity: k must be at least l={self.l}, got {self.k}.")

    def rule(self, data: Microdata) -> Drawable:
        return Drawable(*dense(self.sensitive(data).codes), self.l, self.k)

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """One, which is also `Eligible` and names k.

        Raises
        ------
        PolicyError
            If rows belong to persons: k would count rows.
        """
        refuse_persons(data, NO_PERSONS)
        return (self.rule(data),)

    def shortfall(self, data: Microdata) -> str:
        n = len(data)
        if n < self.k:
            return f"n={n} < k={self.k}: the table has fewer rows than k"
        largest = self.rule(data).reached(everyone(data))
        return f"{self.column}: the whole table reaches l={largest} by a draw from k={self.k}, l={self.l}"
