"""Claims about equivalence classes: k-anonymity and l-diversity, counted in whole numbers and fractions.

An equivalence class is the set of rows with the same generalized texts. Texts that mean one value (1 and 1.0
in a column of numbers) are one value; missing is a value like any other.

Where a person may have several rows, nobody may have more than one in k rows of a class, and what is claimed
of values must hold counted in rows, and counted in votes: one for each person, shared by all their published
rows.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.schema import Claim, Role
from incrowd.verifier.claims.subject import ClaimSubject, Histogram
from incrowd.verifier.failure import decimal, require, whole

CLOSE = 1e-7  # logarithms decide only what is farther from the limit than this
MOST_EXACT = 2**24  # rows, or votes, of a class that whole numbers decide; of more, many digits
DIGITS, FINE = 120, Decimal("1e-60")


def k_anonymity(claim: Claim, subject: ClaimSubject) -> int:
    """Nobody has more than one in k rows of a class, so that it has k persons; of either table, if joined."""
    found, classes = smallest(claim, subject, "equivalence class"), subject.classes
    if classes.owners is None:
        return found
    rows, most = np.bincount(classes.row_class), classes.owners.largest(classes.row_class)
    shared = int((rows // most).min())
    words = f"in one class a person has more than one in {shared + 1} of the rows{classes.owners.doubt}"
    require(shared >= whole(claim, "k"), words)
    return shared


def k_persons(claim: Claim, subject: ClaimSubject) -> int:
    """Every class has at least k persons, however many rows each has."""
    return smallest(claim, subject, "equivalence class")


def sensitive_groups(claim: Claim, subject: ClaimSubject) -> int:
    """Every group of sensitive values, where these are published in buckets, has at least k people."""
    return smallest(claim, subject, "group of sensitive values")


def smallest(claim: Claim, subject: ClaimSubject, what: str) -> int:
    """The size of the smallest class, which must be at least k."""
    require(not claim.column, f"{claim.model} is about all rows, not about one column")
    found, owners = int(subject.classes.persons.min()), subject.classes.owners
    doubt = "" if owners is None else owners.doubt
    require(found >= whole(claim, "k"), f"the smallest {what} has only {found} persons{doubt}")
    return found


def distinct_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """Every class has at least l different values."""
    reached = int(np.bincount(subject.classes.histogram(claim).group).min())
    require(reached >= whole(claim, "l"), f"one class has only {reached} different values")
    return reached


def frequency_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """No value makes up more than 1/l of a class."""
    classes = subject.classes
    reached = min(map(_rarest, classes.histograms(*classes.values(claim))))
    require(
        reached >= whole(claim, "l"), f"in one class more than one in {reached + 1} rows has the same value"
    )
    return reached


def _rarest(found: Histogram) -> int:
    """The largest l such that no value makes up more than 1/l of a class."""
    most = np.zeros(len(found), found.count.dtype)
    np.maximum.at(most, found.group, found.count)
    return int((found.rows // most).min())


def transparent_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """No value makes up more than 1/l of the rows that are equal, and each person has one row.

    That the classes tell nothing more cannot be seen in one release.
    """
    several = subject.classes.schema.having(Role.ENTITY)
    require(not several, f"{claim.model} counts rows, but here one person may have several rows")
    return frequency_diversity(claim, subject)


def entropy_diversity(claim: Claim, subject: ClaimSubject) -> str:
    """The entropy of every class is at least log l: nⁿ ≥ lⁿ · ∏ cᶜ for counts c of its n rows."""
    limit, classes = decimal(claim, "l"), subject.classes
    require(limit >= 1, "l is less than 1")
    worst = math.inf
    for found in classes.histograms(*classes.values(claim)):
        entropy = _entropy(found)
        worst = min(worst, math.floor(math.exp(float(entropy.min())) * 1e4 + CLOSE) / 1e4)
        margin = entropy - math.log(limit)
        near = np.flatnonzero(np.abs(margin) <= CLOSE)
        ends = np.searchsorted(found.group, near), np.searchsorted(found.group, near, side="right")
        fair = all(_enough_entropy(found.count[a:b].tolist(), limit) for a, b in zip(*ends, strict=True))
        require(fair and not (margin < -CLOSE).any(), f"one class reaches only l = {worst:.4f}")
    return f"{worst:.4f}"


def _entropy(found: Histogram) -> NDArray[np.float64]:
    """Of each class, as floats."""
    rows, count = found.rows.astype(np.float64), found.count.astype(np.float64)
    return np.asarray(np.log(rows) - np.bincount(found.group, count * np.log(count)) / rows)


def _enough_entropy(counts: list[int], limit: Fraction) -> bool:
    """Exactly, or with so many digits that what is still undecided would be a tie of very odd shares."""
    divisor = math.gcd(*counts)
    counts = [count // divisor for count in counts]
    n = sum(counts)
    if n > MOST_EXACT:
        return _surplus(counts, limit) > FINE
    taken = math.prod(count**count for count in counts)
    return bool(n**n * limit.denominator**n >= limit.numerator**n * taken)


def _surplus(counts: list[int], limit: Fraction) -> Decimal:
    """Entropy less log l."""
    with localcontext(prec=DIGITS):
        n = Decimal(sum(counts))
        mean = sum((Decimal(count) * Decimal(count).ln() for count in counts), Decimal(0)) / n
        return n.ln() - mean - Decimal(limit.numerator).ln() + Decimal(limit.denominator).ln()


def recursive_diversity(claim: Claim, subject: ClaimSubject) -> str:
    """In every class r₁ < c · (r_l + … + r_m), for counts r from the most to the least frequent value."""
    c, place, classes = decimal(claim, "c"), whole(claim, "l"), subject.classes
    histograms = classes.histograms(*classes.values(claim))
    pairs = set().union(*(_tops_and_tails(found, place) for found in histograms))
    require(
        all(top < c * rest for top, rest in pairs), "in one class the most frequent value is too frequent"
    )
    worst = max(Fraction(top, rest) for top, rest in pairs)
    return rounded_up(worst)


def _tops_and_tails(found: Histogram, place: int) -> set[tuple[int, int]]:
    """Of each class the count of the most frequent value, and of all from the `place`-th on."""
    order = np.lexsort((-found.count, found.group))
    group, count = found.group[order], found.count[order]
    first = np.searchsorted(group, np.arange(len(found)))
    tails = np.zeros(len(found), count.dtype)
    behind = np.arange(group.size) - first[group] >= place - 1
    np.add.at(tails, group[behind], count[behind])
    return set(zip(count[first].tolist(), tails.tolist(), strict=True))


def rounded_up(share: Fraction) -> str:
    """With four decimal places.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3))
    '0.3334'
    """
    return f"{math.ceil(share * 10**4) / 10**4:.4f}"
