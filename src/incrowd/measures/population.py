"""What a sample says about its population: is a unique match right, and who is unique there, too?

Somebody who has a list of the population finds one record of the sample that fits a person. How often that is
the right one follows from the sample alone (Skinner and Elliot). How many who are unique in the sample are
unique in the population needs a model: independent columns, scaled to agree with the former.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.flow import Codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_PAIRS = 10  # with fewer, what the sample says about the population is mostly chance
Z = 2.3  # with 1.96, samples of known populations had the truth inside in as few as 87 %
NEARLY = 0.99  # a sample of 1 % has seldom exactly one person in a hundred
# The least and the largest ratio of estimate and truth that `./run bench population` measured at each
# sampling fraction, with and without --held-out. docs/risk.md has the whole table.
MEASURED: Mapping[float, tuple[float, float]] = {
    0.005: (0.4, 3.3),
    0.01: (0.2, 2.6),
    0.05: (0.7, 3.8),
    0.1: (0.7, 2.5),
    0.2: (0.7, 2.3),
    0.5: (0.8, 1.5),
}


@dataclass(frozen=True, slots=True)
class PopulationRisk:
    """What a sample of the ``fraction`` of a population says about the population.

    ``unique`` classes have one person in the sample, ``pairs`` two. ``right`` is the estimated probability
    that a match of one of the former with somebody of the population is right, ``interval`` what it lies
    between with about 95 %. Of the ``unique`` about ``unique_in_population`` are unique there, too; the
    estimate was between the two ``ratios`` of the truth where that was known. ``why_not`` says why there
    is none.
    """

    fraction: float
    unique: int
    pairs: int
    right: float | None = None
    interval: tuple[float, float] | None = None
    unique_in_population: float | None = None
    ratios: tuple[float, float] | None = None
    why_not: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "fraction": self.fraction,
            "unique": self.unique,
            "pairs": self.pairs,
            "right": self.right,
            "interval": None if self.interval is None else list(self.interval),
            "unique_in_population": self.unique_in_population,
            "ratios": None if self.ratios is None else list(self.ratios),
            "why_not": self.why_not,
        }


def population_risk(
    labels: NDArray[np.integer],
    weights: Floats,
    codes: Codes | None = None,
    persons: NDArray[np.integer] | None = None,
) -> PopulationRisk:
    r"""Estimate the journalist risk of a sample in its population.

    A person stands for as many of the population as the weight says, themselves included: one over the
    probability to be in the sample. The probability that a unique match is right is

    .. math:: \frac{n_1}{n_1 + \sum (w - 1)},

    where n₁ classes have one person and the sum is over the persons of classes of two. If people were drawn
    independently, the denominator has the same expectation as the number of people of the population in
    classes with one person of the sample, whatever the population is like.

    Parameters
    ----------
    labels : array of shape (n,)
        The equivalence class of each row.
    weights : array of shape (n,)
        At least 1; the same in all rows of one person.
    codes : array of shape (n, d)
        The columns that classes are of. Without them, or where a person may have several rows, nothing is
        said about who is unique in the population.
    persons : array of shape (n,)
        Whose row each is; without it every row is another person's.

    References
    ----------
    Skinner and Elliot, "A measure of disclosure risk for microdata", JRSS B 64 (2002), 855-867. Skinner and
    Carter, "Estimation of a measure of disclosure risk for survey microdata under unequal probability
    sampling", Survey Methodology 29 (2003), 177-180. Skinner and Shlomo, "Assessing identification risk in
    survey microdata using log-linear models", JASA 103 (2008), 989-1001.

    Examples
    --------
    >>> found = population_risk(np.array([0, 1, 2, 3, 3]), np.full(5, 4.0))
    >>> found.unique, found.pairs, round(found.right, 3)
    (3, 1, 0.333)
    >>> population_risk(np.array([0, 1, 2, 3, 3]), np.ones(5)).right
    1.0
    """
    of, weight, row = _members(labels, weights, persons)
    sizes = np.bincount(of) if of.size else np.zeros(0, np.int64)
    size = sizes[of]
    unique, pairs = int((sizes == 1).sum()), int((sizes == 2).sum())
    total = _total(weights, persons)
    fraction = float(total[0] / total[1]) if total[1] else 1.0
    if not unique:
        return PopulationRisk(fraction, 0, pairs, why_not="nobody is unique in the sample")
    others = weight[size == 2] - 1
    excess = float(others.sum())
    certain = not (weight > 1).any()
    found = PopulationRisk(
        fraction,
        unique,
        pairs,
        unique / (unique + excess),
        (1.0, 1.0) if certain else _interval(unique, of[size == 2], others, float(weight.mean()) - 1),
        why_not=_why_not(fraction, pairs, certain, persons is not None),
    )
    if found.why_not or codes is None:
        return found
    alone = row[size == 1]
    rates = _rates(codes, alone) * (weights[alone] - 1)
    scale = 0.0 if certain else excess / float(rates.sum())
    return replace(
        found,
        unique_in_population=float(np.exp(-scale * rates).sum()),
        ratios=(1.0, 1.0) if certain else _ratios(fraction),
    )


def _members(
    labels: NDArray[np.integer], weights: Floats, persons: NDArray[np.integer] | None
) -> tuple[Ints, Floats, Ints]:
    """Each person once in each class: the class, the person's weight, and one of their rows in it."""
    of = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    if persons is None:
        return of, weights, np.arange(of.size)
    count = int(persons.max()) + 1 if persons.size else 1
    row = np.unique(of * count + persons, return_index=True)[1].astype(np.int64)
    return of[row], weights[row], row


def _total(weights: Floats, persons: NDArray[np.integer] | None) -> tuple[int, float]:
    """How many persons there are, and how many of the population they stand for."""
    if persons is None:
        return int(weights.size), float(weights.sum())
    first = np.unique(persons, return_index=True)[1]
    return int(first.size), float(weights[first].sum())


def _interval(unique: int, of: Ints, others: Floats, typical: float) -> tuple[float, float]:
    """Between which probabilities a match is right: Wilson's interval for pairs among uniques and pairs.

    Where weights differ, pairs count for as many as would vary as much if they were equal.
    """
    by_pair = np.bincount(np.unique(of, return_inverse=True)[1], others) if of.size else np.zeros(0)
    squares = float((by_pair**2).sum())
    pairs = float(by_pair.sum()) ** 2 / squares if squares else 0.0
    each = float(by_pair.sum()) / pairs if pairs else 2 * typical
    n = unique + pairs
    share, spread = pairs / n, Z * sqrt(pairs * unique / n + Z * Z / 4)
    low, high = ((pairs + Z * Z / 2 + sign * spread) / (n + Z * Z) for sign in (-1, 1))
    low = min(max(low, 0.0), share)
    return 1 / (1 + each * high / (1 - high)), 1 / (1 + each * low / (1 - low))


def _rates(codes: Codes, rows: Ints) -> Floats:
    """How many records of the sample would have the values of these rows if columns were independent."""
    n, columns = codes.shape
    found = np.full(rows.size, float(n))
    for j in range(columns):
        found *= np.bincount(codes[:, j])[codes[rows, j]] / n
    return found


def _why_not(fraction: float, pairs: int, certain: bool, several: bool) -> str:
    if several:
        return "a person may have several rows, and there is no estimate for that"
    if certain:
        return ""
    if fraction < NEARLY * min(MEASURED):
        return f"the sample is below {min(MEASURED):.1%} of the population, where no estimate was tested"
    if pairs < LEAST_PAIRS:
        return f"only {pairs} equivalence classes have two persons, and an estimate needs {LEAST_PAIRS}"
    return ""


def _ratios(fraction: float) -> tuple[float, float]:
    """What was measured at the two tested fractions around this one; the wider of both ends."""
    below = max(limit for limit in MEASURED if NEARLY * limit <= fraction)
    above = min((limit for limit in MEASURED if limit >= NEARLY * fraction), default=below)
    return min(MEASURED[below][0], MEASURED[above][0]), max(MEASURED[below][1], MEASURED[above][1])
