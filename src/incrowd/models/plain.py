"""plain: no class discloses that somebody in it is an outlier, or which value or person that would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import Guard, Rule, register
from incrowd.distance_outliers import Matrix, Setting, Space
from incrowd.errors import PolicyError
from incrowd.flow import Microdata
from incrowd.models.counting import dense, tally
from incrowd.models.k_anonymity import ONE_ROW_EACH
from incrowd.models.l_diversity import MINIMALITY, ROWS_COUNT
from incrowd.schema import Claim

KNOWS_OUTLIERS = (
    "knows everyone's quasi-identifiers, the whole release, and for every point whether somebody there would "
    "be an outlier; infers as theorems 4.1 and 4.2 of the paper do"
)
INSIDE = ", and that every value of a class belongs to somebody whose quasi-identifiers lie inside it"
SAME_SCALE = "outliers are told by these columns and weights, at the stated p and d"
WHO_IS_REMOVED = (
    "that somebody was left out is not hidden: whoever is known to be in the table and fits no row stands out"
)


@dataclass(frozen=True, slots=True, eq=False)
class PlainGuard:
    """The guard (`contracts.Plainness`): it vetoes groups of too few values, and can tell which are plain.

    Values are different combinations of sensitive values.
    """

    matrix: Matrix
    least: int

    @property
    def space(self) -> Space:
        return self.matrix.space

    def reached(self, rows: NDArray[np.int32]) -> int:
        values = self.space.values
        return tally(values.take(rows), int(values.max(initial=0)) + 1)[0].size

    def plain(self, rows: NDArray[np.int32]) -> bool:
        """Would these records (indices) as a group disclose no outlier?"""
        return self.matrix.plain(rows)

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return rows.size >= self.least and self.reached(rows) >= self.least


class _PlainClass(PlainGuard):
    def allows(self, rows: NDArray[np.int32]) -> bool:
        return self.plain(rows)


@register("model", "plain")
@dataclass(frozen=True)
class Plain(Setting):
    """Every class is plain: it has enough different values, and no row or column of bad nodes only.

    The parameters are those of `outliers.Setting`.

    References
    ----------
    Wang, Liu, "Hiding distinguished ones into crowd: privacy-preserving publishing data with outliers",
    EDBT 2009.

    Examples
    --------
    >>> Plain(p="0.8", d=0, distinct=3)
    Traceback (most recent call last):
    incrowd.errors.PolicyError: Plain: d must be a number above 0, got 0.
    """

    name: ClassVar[str]
    monotone: ClassVar[bool] = False
    more_is_safer: ClassVar[bool] = True

    def rule(self, data: Microdata) -> Rule:
        return _PlainClass(_matrix(data, self), self.distinct)

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        return (PlainGuard(_matrix(data, self), self.distinct),)

    def infeasible(self, data: Microdata) -> str:
        """Merging may break the promise, so one class of all proves nothing; only values can be too few."""
        if not len(data):
            return "the table has no rows"
        space = _matrix(data, self).space
        left = np.flatnonzero(~space.gone)
        if not left.size:
            return f"n={len(data)}: the sensitive values of all of them make them outliers; raise p or d"
        found = dense(space.values[left])[1]
        if found < self.distinct:
            of = "" if left.size == len(data) else " without those whose sensitive values are outliers"
            return f"{found} different sensitive values < distinct={self.distinct}: the table has too few{of}"
        return ""

    def claims(self, data: Microdata) -> tuple[Claim, ...]:
        axes = _matrix(data, self).space.axes
        weights = {axis.name: self.weight(axis.name) for axis in axes}
        stated = ("p", "d", "margin", "form", "distinct", "removal", "rescale")
        parameters = {name: getattr(self, name) for name in stated} | {"columns": weights}
        adversary = KNOWS_OUTLIERS + ("" if self.form == "corner" else INSIDE)
        counted = ONE_ROW_EACH if data.entity is None else ROWS_COUNT
        return (
            Claim(self.name, parameters, "", adversary, (counted, SAME_SCALE, WHO_IS_REMOVED, MINIMALITY)),
        )


def plain_of(asked: Mapping[str, Any], k: int, sensitive: Sequence[str]) -> Plain:
    """The model that a policy's [privacy.plain] asks for.

    Examples
    --------
    >>> plain_of({"p": "0.8", "d": "0.85", "rescale": False}, 15, ["income"]).distinct
    15
    """
    if not sensitive:
        raise PolicyError(
            "[privacy.plain]: it is about sensitive values, but no column is sensitive; name one"
        )
    given = {"distinct": k} | {word: value for word, value in asked.items() if value is not None}
    absent = [word for word in ("p", "d") if word not in given]
    if absent:
        raise PolicyError(f"[privacy.plain]: {absent[0]} is missing; it has no default that suits all tables")
    if isinstance(given.get("rescale"), bool):
        given["rescale"] = "yes" if given["rescale"] else "no"
    return Plain(**given)


@lru_cache(maxsize=1)  # guard, rule, claim and feasibility are asked for one table after the other
def _matrix(data: Microdata, setting: Setting) -> Matrix:
    return Matrix(Space.of(data, setting))
