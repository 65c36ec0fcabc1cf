"""Requests that are known to give something away: refused unless accepted by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import Grouper, NonHomogeneous
from incrowd.errors import Exposure, PolicyError, unknown
from incrowd.flow import Microdata, Regions, Table, TextColumn
from incrowd.policy import Policy
from incrowd.schema import Role, Schema

EVERY = "all"  # accepts every exposure: for research
UNIQUE_SHARE = 0.05  # a kept column is near-unique if more than this share of its rows stands alone


@dataclass(frozen=True)
class Known:
    """An exposure: the name by which it is accepted, and what it gives away."""

    name: str
    meaning: str

    def accepted(self, accept: Sequence[str]) -> bool:
        return self.name in accept or EVERY in accept


NEAR_UNIQUE_KEEP = Known(
    "near-unique-keep",
    "a kept column is published unchanged; if most of its values occur once, whoever knows a person's value "
    "finds the row",
)
SMALL_MEANS = Known(
    "small-means",
    "range and mean of a class of three reveal all three values; means are shown for classes below five",
)
UNSAFE_ONE_SIDED = Known(
    "unsafe-one-sided",
    "(k,1) lets a person fit a single row, (1,k) lets most rows be published unchanged: neither alone "
    "protects a person whom an adversary looks for",
)
UNSAFE_MATCHES = Known(
    "unsafe-matches",
    "everyone fits k rows, but an adversary who knows all quasi-identifiers can rule rows out, or finds some "
    "far likelier; no randomized assignment keeps every match at 1/k",
)
UNSAFE_IDENTITY = Known(
    "unsafe-identity",
    "every record keeps the row that was made for it: whoever re-runs the algorithm learns everybody's row",
)
UNSAFE_ORDER = Known(
    "unsafe-order",
    "records are ordered by their sensitive values, as printed: with l = 3 or more somebody's value is found "
    "with a probability above 1/l, and whoever knows the rule finds some with certainty",
)
EXACT_ROWS = Known(
    "exact-rows",
    "every row keeps its exact quasi-identifiers: whoever knows a person sees that they are in the table and "
    "finds their row; only the sensitive value is hidden",
)
CORRELATED_VALUES = Known(
    "correlated-values",
    "sensitive values depend on the exact quasi-identifiers so strongly that whoever learns from all buckets "
    "together guesses them (deFinetti attack)",
)
UNSAFE_TRIMMING = Known(
    "unsafe-trimming",
    "people of the public table are taken out of groups to make boxes smaller, as printed: whoever knows the "
    "rule is certain that some of those who remain are in the private table",
)
UNSAFE_OUTLINE = Known(
    "unsafe-outline",
    "boxes end where people of the private table do, as printed: a person who is alone at an end is in that "
    "table with certainty",
)
EXPOSURES = (
    NEAR_UNIQUE_KEEP,
    SMALL_MEANS,
    UNSAFE_ONE_SIDED,
    UNSAFE_MATCHES,
    UNSAFE_IDENTITY,
    UNSAFE_ORDER,
    UNSAFE_TRIMMING,
    UNSAFE_OUTLINE,
    EXACT_ROWS,
    CORRELATED_VALUES,
)


def check_names(accept: Sequence[str]) -> None:
    """Refuse to accept what nobody knows."""
    names = [EVERY, *(known.name for known in EXPOSURES)]
    strange = [name for name in accept if name not in names]
    if strange:
        raise PolicyError(unknown("in the list of exposures", strange, names))


def check_overlap(grouper: Grouper, accept: Sequence[str]) -> None:
    """Refuse a form of non-homogeneous generalization that is known to be unsafe and was not accepted.

    Raises
    ------
    Exposure
        With the name to accept it by.
    """
    if not isinstance(grouper, NonHomogeneous):
        return
    if grouper.one_sided and not UNSAFE_ONE_SIDED.accepted(accept):
        raise Exposure(
            UNSAFE_ONE_SIDED.name, f"{UNSAFE_ONE_SIDED.meaning}; use kk or kfactor, which keep both sides"
        )
    if not grouper.drawn and not UNSAFE_IDENTITY.accepted(accept):
        raise Exposure(UNSAFE_IDENTITY.name, f"{UNSAFE_IDENTITY.meaning}; leave drawn = true")
    if getattr(grouper, "split", "") == "printed" and not UNSAFE_ORDER.accepted(accept):
        raise Exposure(UNSAFE_ORDER.name, f'{UNSAFE_ORDER.meaning}; leave split = "distinct"')


def check_telling_boxes(grouper: Grouper, accept: Sequence[str]) -> None:
    """Refuse boxes that tell who is in the private table, by trimming or by their ends, if not accepted.

    Raises
    ------
    Exposure
        With the name to accept it by.
    """
    if getattr(grouper, "trim", "none") != "none" and not UNSAFE_TRIMMING.accepted(accept):
        raise Exposure(UNSAFE_TRIMMING.name, f'{UNSAFE_TRIMMING.meaning}; leave trim = "none"')
    if getattr(grouper, "first", "") == "private" and not UNSAFE_OUTLINE.accepted(accept):
        raise Exposure(UNSAFE_OUTLINE.name, f'{UNSAFE_OUTLINE.meaning}; leave first = "both"')


def check_exact_rows(accept: Sequence[str]) -> None:
    """Refuse to publish rows as they are if that was not accepted.

    Raises
    ------
    Exposure
        With the name to accept it by.
    """
    if not EXACT_ROWS.accepted(accept):
        raise Exposure(EXACT_ROWS.name, f"{EXACT_ROWS.meaning}; to protect rows too, use mondrian with l")


def check_exposures(table: Table, schema: Schema, accept: Sequence[str]) -> None:
    """Refuse what exposes people and was not accepted.

    Raises
    ------
    Exposure
        With the name to accept it by.
    """
    if NEAR_UNIQUE_KEEP.accepted(accept):
        return
    for column in schema.having(Role.KEEP):
        alone = _alone(table.column(column.name), _persons(table, schema))
        if alone > UNIQUE_SHARE * len(table):
            raise Exposure(
                NEAR_UNIQUE_KEEP.name,
                f"{column.name} is to be published unchanged, but {alone} of {len(table)} rows have a value "
                "that nobody else has; make it a quasi-identifier, or drop it",
            )


def _persons(table: Table, schema: Schema) -> NDArray[np.int64]:
    """Whose row each is; without an entity, every row is a person."""
    for column in schema.having(Role.ENTITY):
        return table.column(column.name).codes.astype(np.int64)
    return np.arange(len(table))


def _alone(column: TextColumn, persons: NDArray[np.int64]) -> int:
    """How many rows have a value that no other person has."""
    size = int(persons.max()) + 1
    met = np.unique(column.codes.astype(np.int64) * size + persons) // size
    return int((np.bincount(met)[column.codes] == 1).sum())


def warnings_of(schema: Schema, data: Microdata, told: Mapping[str, int], policy: Policy) -> tuple[str, ...]:
    """What a publisher should know about a release that keeps its promise."""
    found = []
    if policy.privacy.l is None and policy.privacy.t is None:
        found += _given_away(told)
    if data.entity is None and not schema.having(Role.SENSITIVE, Role.KEEP):
        found.append("the release has no column besides the quasi-identifiers")
    return tuple(found)


def _given_away(told: Mapping[str, int]) -> list[str]:
    """One warning for all sensitive columns, however many there are: it names the worst."""
    spoken = {name: rows for name, rows in told.items() if rows}
    if not spoken:
        return []
    worst = max(spoken, key=lambda name: spoken[name])
    others = f" ({len(spoken)} of {len(told)} sensitive columns have such classes; this is the worst)"
    return [
        f"{spoken[worst]:,} rows are in equivalence classes with a single value of {worst}: whoever finds "
        f"the class learns it; ask for l = 2 or more{others if len(spoken) > 1 else ''}"
    ]


def told_by_neighbourhoods(data: Microdata, candidates: NDArray[np.int64]) -> dict[str, int]:
    """For each sensitive column, for how many records all candidates (n, k) have a single value of it."""
    told = {}
    for sensitive in data.sensitive:
        codes = sensitive.codes[candidates]
        told[sensitive.name] = int((codes.min(axis=1) == codes.max(axis=1)).sum())
    return told


def told_by_classes(data: Microdata, regions: Regions) -> dict[str, int]:
    """For each sensitive column, how many rows lie in regions with a single value of it."""
    order = np.argsort(regions.of, kind="stable")
    sizes = regions.sizes
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    told = {}
    for sensitive in data.sensitive:
        codes = sensitive.codes[order]
        single = np.minimum.reduceat(codes, starts) == np.maximum.reduceat(codes, starts)
        told[sensitive.name] = int(sizes[single].sum())
    return told
