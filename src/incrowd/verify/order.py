"""Do the rows still stand in the order of the input? Then a neighbour in the file is a neighbour in it.

Every test compares with a shuffled file and raises a false alarm less than once in 10^9 of them. Rows
that cannot be told apart (same class, same private part) count as one kind, so that the particular
assignment that the judge found makes no difference.
"""

from __future__ import annotations

import math

import numpy as np

from incrowd.verify.fault import need
from incrowd.verify.rows import Ints

FEWEST_ROWS = 20
MOST_NEIGHBOURS = 12  # a shuffled file has 13 or more with probability below 1/13! = 1.6e-10
CORRELATION_FROM = 100  # rows from which the correlation is as good as normally distributed
MOST_DEVIATIONS = 7.0  # two-sided 2.6e-12
LOG_ODDS = math.log(2e10)

KEPT = "the rows stand in the order of the original table"


def check_order(row_kind: Ints, match: Ints, records: int) -> str:
    """Refuse rows in input order, reversed order, or an order that follows the input's."""
    rows = row_kind.size
    if rows < FEWEST_ROWS:
        return f"not tested: fewer than {FEWEST_ROWS} rows"
    kind_size = np.bincount(row_kind)
    _check_neighbours(np.where(kind_size[row_kind] == 1, match, -9))
    if rows == records:
        _check_places(row_kind, match, kind_size)
    if rows >= CORRELATION_FROM:
        _check_correlation(np.bincount(row_kind, match)[row_kind] / kind_size[row_kind])
    return ""


def _check_neighbours(place: Ints) -> None:
    """Rows that follow each other in both tables, or stand at the same place; -9 is not known.

    A set of t such coincidences has probability at most 1/(n)_t, and there are fewer than C(n, t) sets,
    so t or more of them have probability at most 1/t!.
    """
    known = place >= 0
    step = np.diff(place)[known[1:] & known[:-1]]
    same = int((place == np.arange(place.size)).sum())
    most = max(int((step == 1).sum()), int((step == -1).sum()), same)
    need(most <= MOST_NEIGHBOURS, KEPT)


def _check_places(row_kind: Ints, match: Ints, kind_size: Ints) -> None:
    """How often row p is of the kind of record p: Chatterjee's bound, exp(-t²/(4m+2t)) beyond mean m."""
    record_kind = np.empty_like(row_kind)
    record_kind[match] = row_kind
    agreeing = int((record_kind == row_kind).sum())
    mean = float((kind_size.astype(np.float64) ** 2).sum()) / row_kind.size
    slack = LOG_ODDS + math.sqrt(LOG_ODDS**2 + 4 * LOG_ODDS * mean)
    need(agreeing <= mean + slack, KEPT)


def _check_correlation(score: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> None:
    """Shuffling leaves a correlation of mean 0 and variance 1/(n-1) between any scores and the places."""
    places = np.arange(score.size) - (score.size - 1) / 2
    scores = score - score.mean()
    length = math.sqrt(float((scores**2).sum()) * float((places**2).sum()))
    if length > 0:
        correlation = float((scores * places).sum()) / length
        need(abs(correlation) * math.sqrt(score.size - 1) < MOST_DEVIATIONS, KEPT)
