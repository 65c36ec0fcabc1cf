"""Claims about equivalence classes: k-anonymity and l-diversity, counted in whole numbers and fractions.

An equivalence class is the set of rows with the same generalized texts. Texts that mean one value (1 and 1.0
in a column of numbers) are one value; missing is a value like any other.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from incrowd.schema import Claim, Role
from incrowd.verifier.claims.subject import ClaimSubject
from incrowd.verifier.failure import decimal, require, whole

CLOSE = 1e-7  # logarithms decide only what is farther from the limit than this


def k_anonymity(claim: Claim, subject: ClaimSubject) -> int:
    """Every class has at least k persons; with k-join-anonymity, of either table."""
    return smallest(claim, subject, "equivalence class")


def sensitive_groups(claim: Claim, subject: ClaimSubject) -> int:
    """Every group of sensitive values, where these are published in buckets, has at least k people."""
    return smallest(claim, subject, "group of sensitive values")


def smallest(claim: Claim, subject: ClaimSubject, what: str) -> int:
    """The size of the smallest class, which must be at least k."""
    require(not claim.column, f"{claim.model} is about all rows, not about one column")
    found = int(subject.classes.persons.min())
    require(found >= whole(claim, "k"), f"the smallest {what} has only {found} persons")
    return found


def distinct_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """Every class has at least l different values."""
    reached = int(np.bincount(subject.classes.histogram(claim).group).min())
    require(reached >= whole(claim, "l"), f"one class has only {reached} different values")
    return reached


def frequency_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """No value makes up more than 1/l of a class."""
    found = subject.classes.histogram(claim)
    most = np.zeros(len(found), np.int64)
    np.maximum.at(most, found.group, found.count)
    reached = int((found.rows // most).min())
    require(
        reached >= whole(claim, "l"), f"in one class more than one in {reached + 1} rows has the same value"
    )
    return reached


def transparent_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """No value makes up more than 1/l of the rows that are equal, and each person has one row.

    That the classes tell nothing more cannot be seen in one release.
    """
    several = subject.classes.schema.having(Role.ENTITY)
    require(not several, f"{claim.model} counts rows, but here one person may have several rows")
    return frequency_diversity(claim, subject)


def entropy_diversity(claim: Claim, subject: ClaimSubject) -> str:
    """The entropy of every class is at least log l: nⁿ ≥ lⁿ · ∏ cᶜ for counts c of its n rows."""
    limit = decimal(claim, "l")
    require(limit >= 1, "l is less than 1")
    found = subject.classes.histogram(claim)
    rows, logs = found.rows, found.count * np.log(found.count)
    entropy = np.log(rows) - np.bincount(found.group, logs) / rows
    margin = entropy - math.log(limit)
    near = np.flatnonzero(np.abs(margin) <= CLOSE)
    starts = np.searchsorted(found.group, near), np.searchsorted(found.group, near, side="right")
    fair = all(_enough_entropy(found.count[a:b].tolist(), limit) for a, b in zip(*starts, strict=True))
    worst = f"{math.floor(math.exp(float(entropy.min())) * 1e4 + CLOSE) / 1e4:.4f}"
    require(fair and not (margin < -CLOSE).any(), f"one class reaches only l = {worst}")
    return worst


def _enough_entropy(counts: list[int], limit: Fraction) -> bool:
    n = sum(counts)
    taken = math.prod(count**count for count in counts)
    return bool(n**n * limit.denominator**n >= limit.numerator**n * taken)


def recursive_diversity(claim: Claim, subject: ClaimSubject) -> str:
    """In every class r₁ < c · (r_l + … + r_m), for counts r from the most to the least frequent value."""
    c, place = decimal(claim, "c"), whole(claim, "l")
    found = subject.classes.histogram(claim)
    order = np.lexsort((-found.count, found.group))
    group, count = found.group[order], found.count[order]
    first = np.searchsorted(group, np.arange(len(found)))
    tail = np.where(np.arange(group.size) - first[group] >= place - 1, count, 0)
    tails = np.bincount(group, tail).astype(np.int64).tolist()
    pairs = set(zip(count[first].tolist(), tails, strict=True))
    require(
        all(top < c * rest for top, rest in pairs), "in one class the most frequent value is too frequent"
    )
    worst = max(Fraction(top, rest) for top, rest in pairs)
    return rounded_up(worst)


def rounded_up(share: Fraction) -> str:
    """With four decimal places.

    Examples
    --------
    >>> rounded_up(Fraction(1, 3))
    '0.3334'
    """
    return f"{math.ceil(share * 10**4) / 10**4:.4f}"
