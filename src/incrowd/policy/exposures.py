"""Known exposures: requests that are known to give something away, refused unless accepted by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.errors import Exposure, PolicyError, unknown

EVERY = "all"  # accepts every exposure: for research


@dataclass(frozen=True)
class KnownExposure:
    """An exposure: the name by which it is accepted, and what it gives away."""

    name: str
    meaning: str

    def accepted(self, accept: Sequence[str]) -> bool:
        return self.name in accept or EVERY in accept

    def refuse(self, accept: Sequence[str], remedy: str) -> None:
        """Refuse unless accepted, with the name to accept it by."""
        if not self.accepted(accept):
            raise Exposure(self.name, f"{self.meaning}; {remedy}")


NEAR_UNIQUE_KEEP = KnownExposure(
    "near-unique-keep",
    "a kept column is published unchanged; if most of its values occur once, whoever knows a person's value "
    "finds the row",
)
NEAR_UNIQUE_SENSITIVE = KnownExposure(
    "near-unique-sensitive",
    "a sensitive column is published unchanged; if most people have a value of their own, whoever knows a "
    "person's value finds the row, and with it all other sensitive columns",
)
SMALL_MEANS = KnownExposure(
    "small-means",
    "range and mean of a class of three reveal all three values; means are shown for classes below five",
)
UNSAFE_ONE_SIDED = KnownExposure(
    "unsafe-one-sided",
    "(k,1) lets a person fit a single row, (1,k) lets most rows be published unchanged: neither alone "
    "protects a person whom an adversary looks for",
)
UNSAFE_MATCHES = KnownExposure(
    "unsafe-matches",
    "everyone fits k rows, but an adversary who knows all quasi-identifiers can rule rows out, or finds some "
    "far likelier; no randomized assignment keeps every match at 1/k",
)
UNSAFE_IDENTITY = KnownExposure(
    "unsafe-identity",
    "every record keeps the row that was made for it: whoever re-runs the algorithm learns everybody's row",
)
UNSAFE_ORDER = KnownExposure(
    "unsafe-order",
    "records are ordered by their sensitive values, as printed: with l = 3 or more somebody's value is found "
    "with a probability above 1/l, and whoever knows the rule finds some with certainty",
)
UNSAFE_ASSIGNMENT = KnownExposure(
    "unsafe-assignment",
    "rows are assigned as printed: one person whose row is known tells the rows of others, with a shift "
    "those of all who are in the ring",
)
EXACT_ROWS = KnownExposure(
    "exact-rows",
    "every row keeps its exact quasi-identifiers: whoever knows a person sees that they are in the table and "
    "finds their row; only the sensitive value is hidden",
)
CORRELATED_VALUES = KnownExposure(
    "correlated-values",
    "sensitive values depend on the exact quasi-identifiers so strongly that whoever learns from all buckets "
    "together guesses them (deFinetti attack)",
)
UNSAFE_TRIMMING = KnownExposure(
    "unsafe-trimming",
    "people of the public table are taken out of groups to make boxes smaller, as printed: whoever knows the "
    "rule is certain that some of those who remain are in the private table",
)
UNSAFE_OUTLINE = KnownExposure(
    "unsafe-outline",
    "boxes end where people of the private table do, as printed: a person who is alone at an end is in that "
    "table with certainty",
)
UNEVEN_PERSONS = KnownExposure(
    "uneven-persons",
    "classes have k persons, but somebody may have most rows of one: whoever looks for them picks a row of "
    "theirs with a probability above 1/k",
)
UNSAFE_ADAPTIVE = KnownExposure(
    "unsafe-adaptive",
    "cuts are tried until one leaves enough private people on both sides: whoever re-runs the program on "
    "every candidate for the private table is certain that some are in it, or are not",
)
UNSAFE_JOIN = KnownExposure(
    "unsafe-join",
    "who is in the private table decides who may have a row, and what it says: people whom the public table "
    "lacks or describes differently are recognized as private by whoever has that table",
)
CERTAIN_PRESENCE = KnownExposure(
    "certain-presence",
    "all people of a class are in the private table, and the published numbers say so",
)
EXPOSURES = (
    NEAR_UNIQUE_KEEP,
    NEAR_UNIQUE_SENSITIVE,
    SMALL_MEANS,
    UNSAFE_ONE_SIDED,
    UNSAFE_MATCHES,
    UNSAFE_IDENTITY,
    UNSAFE_ORDER,
    UNSAFE_ASSIGNMENT,
    UNSAFE_TRIMMING,
    UNSAFE_OUTLINE,
    UNSAFE_ADAPTIVE,
    UNSAFE_JOIN,
    CERTAIN_PRESENCE,
    EXACT_ROWS,
    CORRELATED_VALUES,
    UNEVEN_PERSONS,
)


def check_names(accept: Sequence[str]) -> None:
    """Refuse to accept what nobody knows."""
    names = [EVERY, *(known.name for known in EXPOSURES)]
    strange = [name for name in accept if name not in names]
    if strange:
        raise PolicyError(unknown("in the list of exposures", strange, names))
