"""Known exposures: requests that are known to give something away, refused unless accepted by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import Exposure, PolicyError, unknown
from incrowd.flow import Microdata, Regions, Table
from incrowd.policy import Policy
from incrowd.schema import Role, Schema

EVERY = "all"  # accepts every exposure: for research
UNIQUE_SHARE = 0.05  # a kept column is near-unique if more than this share of its rows stands alone
SENSITIVE_SHARE = 0.5  # the same of a sensitive column, which outsiders hardly know
LEAST_ALONE = 20  # in fewer rows than that, values of one's own say nothing


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


def check_exact_columns(table: Table, schema: Schema, accept: Sequence[str], bucketed: bool = False) -> None:
    """Refuse to publish a column unchanged in which many have a value of their own, unless that was accepted.

    Sensitive values that are published in buckets are beside no row.
    """
    check_lone_values(
        lone_values(table, schema, Role.KEEP, Role.SENSITIVE), len(table), schema, accept, bucketed
    )


def lone_values(table: Table, schema: Schema, *roles: Role) -> dict[str, int]:
    """For each column of these roles, how many rows have a value that nobody else has."""
    persons = _persons(table, schema)
    return {
        column.name: rows_alone(table.column(column.name).codes, persons) for column in schema.having(*roles)
    }


def check_lone_values(
    lone: Mapping[str, int], rows: int, schema: Schema, accept: Sequence[str], bucketed: bool = False
) -> None:
    """The same where the rows with values of their own were counted."""
    for column in schema.having(Role.KEEP):
        alone = lone[column.name]
        if alone > UNIQUE_SHARE * rows and not NEAR_UNIQUE_KEEP.accepted(accept):
            raise Exposure(
                NEAR_UNIQUE_KEEP.name,
                f"{column.name} is to be published unchanged, but {alone} of {rows} rows have a value "
                "that nobody else has; make it a quasi-identifier, or drop it",
            )
    for column in () if bucketed else schema.having(Role.SENSITIVE):
        alone = lone[column.name]
        if near_unique(alone, rows) and not NEAR_UNIQUE_SENSITIVE.accepted(accept):
            raise Exposure(
                NEAR_UNIQUE_SENSITIVE.name,
                f"{column.name} is sensitive and would be published unchanged, but {alone} of {rows} "
                "rows have a value that nobody else has; round it, make it a quasi-identifier, or drop it",
            )


def near_unique(alone: int, rows: int) -> bool:
    """Do most rows of a sensitive column have a value that nobody else has?"""
    return alone >= LEAST_ALONE and alone > SENSITIVE_SHARE * rows


def isolating_columns(table: Table, schema: Schema) -> tuple[str, ...]:
    """One warning for all sensitive columns in which many rows have a value that nobody else has."""
    return isolating_values(lone_values(table, schema, Role.SENSITIVE), len(table), schema)


def isolating_values(lone: Mapping[str, int], rows: int, schema: Schema) -> tuple[str, ...]:
    """The same where these rows were counted."""
    found = {}
    for column in schema.having(Role.SENSITIVE):
        alone = lone[column.name]
        if alone >= LEAST_ALONE and alone > UNIQUE_SHARE * rows:
            found[column.name] = alone / rows
    if not found:
        return ()
    shares = ", ".join(f"{name} ({share:.0%} of the rows)" for name, share in found.items())
    return (
        f"sensitive values are published unchanged, and some are nobody else's: {shares}; whoever knows such "
        "a value finds the row; round it, or drop the column",
    )


def _persons(table: Table, schema: Schema) -> NDArray[np.int64] | None:
    """Whose row each is; None without an entity: then every row is a person."""
    for column in schema.having(Role.ENTITY):
        return table.column(column.name).codes.astype(np.int64)
    return None


def rows_alone(codes: NDArray[np.integer], persons: NDArray[np.int64] | None) -> int:
    """How many rows have a value (n,) that no other person (n,) has; of None, no other row.

    Examples
    --------
    >>> rows_alone(np.array([0, 1, 1, 2, 2]), np.array([0, 1, 1, 3, 4]))
    3
    >>> rows_alone(np.array([0, 1, 1, 2, 2]), None)
    1
    """
    if persons is None:
        return int((np.bincount(codes) == 1).sum())
    owner = np.zeros(int(codes.max()) + 1, np.int64)
    owner[codes] = persons  # one person of each value; who is another one shares it
    shared = np.zeros(owner.size, np.bool_)
    shared[codes[owner[codes] != persons]] = True
    return int((~shared[codes]).sum())


def warnings_of(
    schema: Schema, data: Microdata, single: Mapping[str, int], policy: Policy, remedy: str
) -> tuple[str, ...]:
    """What a publisher should know about a release that keeps its promise.

    `remedy` is what this method, or another, does about classes with a single sensitive value.
    """
    found = []
    if policy.privacy.l is None and policy.privacy.t is None:
        found += _given_away(single, remedy)
    if data.entity is None and not schema.having(Role.SENSITIVE, Role.KEEP):
        found.append("the release has no column besides the quasi-identifiers")
    return tuple(found)


def _given_away(single: Mapping[str, int], remedy: str) -> list[str]:
    """One warning for all sensitive columns, however many there are: it names the worst."""
    found = {name: rows for name, rows in single.items() if rows}
    if not found:
        return []
    worst = max(found, key=lambda name: found[name])
    others = f" ({len(found)} of {len(single)} sensitive columns have such classes; this is the worst)"
    return [
        f"{found[worst]:,} rows are in equivalence classes with a single value of {worst}: whoever finds "
        f"the class learns it; {remedy}{others if len(found) > 1 else ''}"
    ]


def single_valued_neighbourhoods(data: Microdata, candidates: NDArray[np.int64]) -> dict[str, int]:
    """For each sensitive column, for how many records all candidates (n, k) have a single value of it."""
    found = {}
    for sensitive in data.sensitive:
        first, single = sensitive.codes[candidates[:, 0]], np.arange(len(candidates))
        for others in candidates.T[1:]:  # most have two values among the first few
            single = single[sensitive.codes[others[single]] == first[single]]
        found[sensitive.name] = single.size
    return found


def single_valued_classes(data: Microdata, regions: Regions) -> dict[str, int]:
    """For each sensitive column, how many rows lie in regions with a single value of it."""
    sizes, found = regions.sizes, {}
    for sensitive in data.sensitive:
        one = np.empty(len(regions), np.int32)
        one[regions.of] = sensitive.codes  # of any row
        single = np.ones(len(regions), np.bool_)
        single[regions.of[sensitive.codes != one[regions.of]]] = False
        found[sensitive.name] = int(sizes[single].sum())
    return found
