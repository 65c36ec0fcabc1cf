"""A good release of rings over tuples, written by hand, and ways to spoil its rows, values or claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from forgeries.nonhomogeneous import N, Overlapping, good, ring

from incrowd.schema import Claim, Role, Schema

L, K = 2, 4
SIZES = (5, 3, 4)  # tuples of each ring: of two records that follow each other, with different values
TRANSPARENT = "transparent-l-diversity (ill)"
ILL = 2  # the place of the value in a published row; in the original it is one further


def windows() -> list[list[int]]:
    """For each row the records of its tuple, and of the next one of the ring."""
    found: list[list[int]] = []
    for size in SIZES:
        first = len(found) // L
        for window in ring(size, K // L, first):
            found += [[L * t + i for t in window for i in range(L)]] * L
    assert len(found) == N
    return found


def tuples() -> Overlapping:
    release = good(windows(), ["k-factor"], K)
    release.say(*release.claims, Claim("transparent-l-diversity", {"l": L}, "ill"))
    release.manifest["match_probability"] = {"drawn": f"1/{K}"}
    return release


def give(r: Overlapping, record: int, value: str) -> None:
    """Another value, in both tables."""
    r.original[record][ILL + 1] = r.rows[r.truth.index(record)][ILL] = value


Spoiler = Callable[[Overlapping], None]
TRANSPARENT_FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        TRANSPARENT_FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


@forgery(TRANSPARENT)
def a_tuple_of_one_value(r: Overlapping) -> None:
    give(r, 1, r.original[0][ILL + 1])


@forgery(TRANSPARENT)
def values_exchanged_across_tuples(r: Overlapping) -> None:
    """Every count of the whole table stays right."""
    own, other = r.original[1][ILL + 1], r.original[5][ILL + 1]
    assert other == r.original[0][ILL + 1]
    give(r, 1, other)
    give(r, 5, own)


@forgery(TRANSPARENT)
def rows_of_a_tuple_that_differ(r: Overlapping) -> None:
    """A ring over single records: whoever is found in a row has its value for certain."""
    r.hold(ring(N, K))
    r.witness(ring(N, K))
    r.manifest["match_probability"] = {"drawn": f"1/{K}"}


@forgery(TRANSPARENT)
def one_wider_row_in_a_tuple(r: Overlapping) -> None:
    holds = windows()
    holds[0] = [*holds[0], 8]
    r.hold(holds)
    r.manifest["match_probability"] = {"drawn": f"1/{K}"}


def claimed(**changes: Any) -> Spoiler:
    def spoil(r: Overlapping) -> None:
        r.say(*r.claims[:-1], replace(r.claims[-1], **changes))

    return spoil


def of_persons(r: Overlapping) -> None:
    columns = [replace(c, role=Role.ENTITY) if c.name == "name" else c for c in r.schema.columns]
    r.schema = Schema(tuple(columns))
    r.say(r.claims[-1])
    del r.manifest["match_probability"]


TRANSPARENT_FORGERIES |= {
    "l one too high": (TRANSPARENT, claimed(parameters={"l": L + 1})),
    "l is huge": (TRANSPARENT, claimed(parameters={"l": 2**70})),
    "l is zero": (TRANSPARENT, claimed(parameters={"l": 0})),
    "l is true": (TRANSPARENT, claimed(parameters={"l": True})),
    "l is a text": (TRANSPARENT, claimed(parameters={"l": "2"})),
    "l and k": (TRANSPARENT, claimed(parameters={"l": L, "k": K})),
    "no l": (TRANSPARENT, claimed(parameters={})),
    "of no column": ("transparent-l-diversity", claimed(column="")),
    "of a column that is not sensitive": ("transparent-l-diversity (age)", claimed(column="age")),
    "of an unknown column": ("transparent-l-diversity (pay)", claimed(column="pay")),
    "of persons": (TRANSPARENT, of_persons),
}


@forgery("manifest")
def a_manifest_that_claims_more(r: Overlapping) -> None:
    r.manifest["claims"][-1]["parameters"]["l"] = L + 1


@forgery("manifest")
def a_manifest_in_another_order(r: Overlapping) -> None:
    r.manifest["claims"].reverse()
