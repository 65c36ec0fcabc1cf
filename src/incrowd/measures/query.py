"""Answering counts and averages from published cells, and when such an answer is exact.

A condition says for some columns which codes match. A class of equal rows either matches as a whole, not at
all, or in part; only of the last kind one has to guess, and the guess is that values lie evenly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError, unknown
from incrowd.flow import Codes
from incrowd.measures.published import Published

Allowed = Mapping[str, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Count:
    """How many records satisfy a condition: at least, at most, and if values lie evenly in their cells."""

    least: int
    most: int
    estimate: Fraction

    @property
    def exact(self) -> bool:
        return self.least == self.most


def count(published: Published, allowed: Allowed) -> Count:
    """Count the records that satisfy a condition, from the published rows alone.

    Parameters
    ----------
    published : Published
        The release.
    allowed : mapping of column name to array of shape (m,)
        Which codes of a column match; a column that is not named matches always.
    """
    share = _shares(published, allowed)
    whole = [all(part == 1 for part in row) for row in zip(*share, strict=True)]
    some = [all(part > 0 for part in row) for row in zip(*share, strict=True)]
    guess = [_product(row) for row in zip(*share, strict=True)]
    return Count(sum(whole), sum(some), sum(guess, Fraction(0)))


def average(published: Published, means: NDArray[np.object_], allowed: Allowed) -> Fraction | None:
    """The average of a column with published means, over the rows that satisfy a condition.

    Rows count by the share of their cell that matches; the answer is exact where the condition matches
    the release. None if no row can satisfy it.
    """
    share = _shares(published, allowed)
    weights = [_product(row) for row in zip(*share, strict=True)]
    total = sum(weights, Fraction(0))
    if not total:
        return None
    return sum((w * Fraction(str(mean)) for w, mean in zip(weights, means, strict=True)), Fraction(0)) / total


def predicate_matches(satisfied: NDArray[np.bool_], labels: Codes) -> bool:
    """Does a release match a predicate: is no class partly satisfied?

    Parameters
    ----------
    satisfied : array of shape (n,)
        Whether each original record satisfies the predicate.
    labels : array of shape (n,)
        The class of each record.

    Examples
    --------
    >>> predicate_matches(np.array([True, True, False]), np.array([0, 0, 1], np.int32))
    True
    """
    sizes = np.bincount(labels)
    hits = np.bincount(labels[satisfied], minlength=sizes.size)
    return bool(((hits == 0) | (hits == sizes)).all())


def _shares(published: Published, allowed: Allowed) -> list[list[Fraction]]:
    """For each column the share of each row's cell that matches."""
    names = [attribute.name for attribute in published.attributes]
    strange = [name for name in allowed if name not in names]
    if strange:
        raise PolicyError(unknown("a quasi-identifier", strange, names))
    shares = []
    for j, name in enumerate(names):
        cells = published.cells[j]
        mask = allowed.get(name)
        if mask is None:
            shares.append([Fraction(1)] * len(published))
            continue
        upto = np.concatenate([[0], np.cumsum(mask)])
        inside = np.bincount(cells.owner, upto[cells.last + 1] - upto[cells.first], len(cells))
        per_cell = [Fraction(int(hit), int(size)) for hit, size in zip(inside, cells.count, strict=True)]
        shares.append([per_cell[cell] for cell in published.rows[j].tolist()])
    return shares


def _product(parts: tuple[Fraction, ...]) -> Fraction:
    product = Fraction(1)
    for part in parts:
        product *= part
    return product
