"""Equivalence classes that were counted in a database, as the checks of claims want them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from incrowd.schema import Claim, Role, Schema
from incrowd.verifier.claims.nonhomogeneous import K_FACTOR
from incrowd.verifier.claims.registry import check_claim
from incrowd.verifier.claims.subject import ClaimSubject, EquivalenceClasses, Histogram, _meaning
from incrowd.verifier.columns import Ints
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.in_engine.rings import WitnessedRings

COUNTED = (
    "k-anonymity",
    "k-join-anonymity",
    "distinct-l-diversity",
    "entropy-l-diversity",
    "recursive-l-diversity",
    "frequency-l-diversity",
)

Values = Callable[[str], tuple[Ints, Sequence[str], Ints]]


@dataclass(frozen=True, slots=True, eq=False)
class CountedClasses(EquivalenceClasses):
    """Classes by their counts, for one claim: how often each has each text of its sensitive column.

    ``lines`` (2, m) are class and text, ``counts`` (m,) how often, ``texts`` the texts by number.
    """

    lines: Ints = field(default_factory=lambda: np.zeros((2, 0), np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    texts: Sequence[str] = ()

    def values(self, claim: Claim) -> tuple[Ints, int]:
        """The value of each line, numbered in order, missing first; and how many values there are."""
        column = self.column(claim)
        meaning = [_meaning(column, text, self.schema.missing) for text in self.texts]
        place = {thing: place for place, thing in enumerate(sorted(set(meaning)))}
        return np.array([place[thing] for thing in meaning], np.int64)[self.lines[1]], len(place)

    def histogram(self, claim: Claim, group: Ints | None = None) -> Histogram:
        require(group is None, "values are counted by class alone")
        return self.histograms(*self.values(claim))[0]

    def histograms(self, values: Ints, size: int) -> list[Histogram]:
        key, place = np.unique(self.lines[0] * size + values, return_inverse=True)
        total = np.zeros(key.size, np.int64)
        np.add.at(total, place, self.counts)
        return [Histogram(key // size, key % size, total, size)]


def check_counted(
    claim: Claim, schema: Schema, sizes: Ints, values_of: Values, rings: WitnessedRings | None = None
) -> int | str:
    """What the release reaches, or `CheckFailed`; only claims about classes and rings are confirmed.

    `sizes` are those of the classes; `values_of` counts the texts of a private column in each.
    """
    if claim.model not in COUNTED and (claim.model != K_FACTOR or rings is None):
        raise CheckFailed("claims of this model are not checked by an engine; verify in memory")
    nothing = np.zeros(0, np.int64)
    classes = CountedClasses(schema, nothing, sizes, {})
    if claim.column in [column.name for column in schema.having(Role.SENSITIVE)]:
        lines, texts, counts = values_of(claim.column)
        classes = replace(classes, lines=lines, counts=counts, texts=texts)
    no_rows = cast(Any, None)  # such claims look at classes alone
    return check_claim(claim, ClaimSubject(classes, cast(Any, rings), no_rows))
