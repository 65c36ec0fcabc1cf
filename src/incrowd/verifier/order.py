"""The order of the rows: does it still follow the original? Then neighbours in one file are so in the other.

Every test compares with a shuffled file and raises a false alarm less than once in 10^9 of them. Rows
that cannot be told apart (same class, same private part) count as one kind, so that the particular
assignment that the verifier found makes no difference.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from incrowd.verifier.columns import Bools, Ints
from incrowd.verifier.failure import CheckFailed, require

FEWEST_ROWS = 20
MOST_NEIGHBOURS = 12  # a shuffled file has 13 or more with probability below 1/13! = 1.6e-10
CORRELATION_FROM = 100  # rows from which the correlation is as good as normally distributed
MOST_DEVIATIONS = 7.0  # two-sided 2.6e-12
LOG_ODDS = math.log(2e10)

KEPT = "the rows are in the order of the original table, or in one that follows it"
AS_PUBLIC = "the rows are in the order of the public table, or in one that follows it"
MEMBERS = "the order of the rows reveals who is in the original table"


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


def check_both_orders(row_kind: Ints, match: Ints, own: int, public_place: Ints, linked: bool) -> str:
    """Refuse rows that follow the order of one of two tables, or that reveal who is in the private one.

    The first `own` people are those of the private table. ``public_place`` is everyone's row in the public
    table, -1 of those whom it does not have. Unless it is known who is behind each row (`linked`), somebody
    was found, and of equal rows nobody knows which is whose: then only orders of all rows are looked at, not
    of those of one table among the others.
    """
    if row_kind.size < FEWEST_ROWS:
        return f"not tested: fewer than {FEWEST_ROWS} rows"
    mine, place = match < own, public_place[match]
    # Whom the public table does not have comes after everybody else, as in an outer join.
    behind = np.where(place >= 0, place, public_place.max() + 1 + match)
    everyone = np.ones_like(mine)
    _check_some(row_kind, match, everyone, KEPT)
    _check_some(row_kind, behind, everyone, AS_PUBLIC)
    shares = [np.bincount(row_kind, mine)[row_kind] / np.bincount(row_kind)[row_kind]]
    if linked:
        _check_some(row_kind, match, mine, KEPT)
        _check_some(row_kind, match, ~mine, AS_PUBLIC)
        _check_some(row_kind, behind, place >= 0, AS_PUBLIC)
        shares.append(mine.astype(np.float64))
    _check_not_first(row_kind, mine)
    _check_not_first(row_kind[::-1], mine[::-1])
    for share in shares if row_kind.size >= CORRELATION_FROM else []:
        _check_correlation(share, MEMBERS)
    return ""


def _check_not_first(row_kind: Ints, mine: Bools) -> None:
    """Refuse a file whose first rows are of the own people, kind by kind exactly as many as each kind has.

    Of all choices of so many rows, those that agree with every kind have the share ∏ C(size, own) / C(n, m).
    """
    own = np.bincount(row_kind[mine], minlength=int(row_kind.max()) + 1)
    first = np.bincount(row_kind[: int(own.sum())], minlength=own.size)
    if (first == own).all():
        agreeing = sum(map(_log_choices, np.bincount(row_kind).tolist(), own.tolist()))
        likely = agreeing - _log_choices(row_kind.size, int(own.sum()))
        require(likely > -LOG_ODDS, MEMBERS)


def _log_choices(n: int, m: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)


def _check_some(row_kind: Ints, place: Ints, some: Bools, otherwise: str) -> None:
    """Some rows against the order of their places, as if these were all."""
    kinds, places = row_kind[some], place[some]
    rank = np.empty_like(places)
    rank[np.argsort(places, kind="stable")] = np.arange(places.size)
    try:
        check_order(kinds, rank, rank.size)
    except CheckFailed:
        raise CheckFailed(otherwise) from None


def _check_neighbours(place: Ints) -> None:
    """Rows that follow each other in both tables, or stand at the same place; -9 is not known.

    A set of t such coincidences has probability at most 1/(n)_t, and there are fewer than C(n, t) sets,
    so t or more of them have probability at most 1/t!.
    """
    known = place >= 0
    step = np.diff(place)[known[1:] & known[:-1]]
    same = int((place == np.arange(place.size)).sum())
    most = max(int((step == 1).sum()), int((step == -1).sum()), same)
    require(most <= MOST_NEIGHBOURS, KEPT)


def _check_places(row_kind: Ints, match: Ints, kind_size: Ints) -> None:
    """How often row p is of the kind of record p: Chatterjee's bound, exp(-t²/(4m+2t)) beyond mean m."""
    record_kind = np.empty_like(row_kind)
    record_kind[match] = row_kind
    agreeing = int((record_kind == row_kind).sum())
    mean = float((kind_size.astype(np.float64) ** 2).sum()) / row_kind.size
    slack = LOG_ODDS + math.sqrt(LOG_ODDS**2 + 4 * LOG_ODDS * mean)
    require(agreeing <= mean + slack, KEPT)


def _check_correlation(score: NDArray[np.float64], otherwise: str = KEPT) -> None:
    """Shuffling leaves a correlation of mean 0 and variance 1/(n-1) between any scores and the places."""
    places = np.arange(score.size) - (score.size - 1) / 2
    scores = score - score.mean()
    length = math.sqrt(float((scores**2).sum()) * float((places**2).sum()))
    if length > 0:
        correlation = float((scores * places).sum()) / length
        require(abs(correlation) * math.sqrt(score.size - 1) < MOST_DEVIATIONS, otherwise)
