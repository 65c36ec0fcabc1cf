"""A good release with a diverse draw, written by hand, and ways to spoil its parts, claim or witness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from forgeries.nonhomogeneous import UNEVEN, Holds, K, N, Overlapping, good, ring
from numpy.typing import NDArray

from incrowd.schema import Claim, Role, Schema

SIZES = (5, 3, 4, 5, 4, 3)  # of the parts; records next to each other have five different values
L = 3
DRAWN = "drawn-l-diversity (ill)"
ILL = 2  # the place of the value in a published row; in the original it is one further


@dataclass
class Diverse(Overlapping):
    """A release of rows that overlap inside parts; `parts` in the order of the file."""

    parts: Any = None

    def row_of(self, record: int) -> int:
        return self.truth.index(record)

    def value(self, record: int) -> str:
        return self.original[record][ILL + 1]

    def give(self, record: int, value: str) -> None:
        """Another value, in both tables."""
        self.original[record][ILL + 1] = self.rows[self.row_of(record)][ILL] = value


def rings(sizes: Sequence[int] = SIZES, k: int = K) -> list[list[int]]:
    """A ring over every part."""
    firsts = [0, *accumulate(sizes)]
    return [row for first, size in zip(firsts, sizes, strict=False) for row in ring(size, k, first)]


def labels(sizes: Sequence[int] = SIZES) -> NDArray[np.int64]:
    """The part of each record."""
    return np.repeat(np.arange(len(sizes)), sizes)


def diverse(l: int = L, k: int = K, holds: Holds = ()) -> Diverse:  # noqa: E741
    made = good(holds or rings(), ["k-factor"])
    release = Diverse(**vars(made))
    release.say(*made.claims, Claim("drawn-l-diversity", {"l": l, "k": k}, "ill"))
    release.parts = labels()[made.truth]
    return release


Spoiler = Callable[[Diverse], None]
DRAWN_FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        DRAWN_FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


# Parts


def parted(how: Callable[[NDArray[np.int64]], Any]) -> Spoiler:
    """Parts that are something else, said record by record."""

    def spoil(r: Diverse) -> None:
        found = how(labels())
        r.parts = found[r.truth] if isinstance(found, np.ndarray) and found.shape[:1] == (N,) else found

    return spoil


def swapped(one: int, other: int) -> Spoiler:
    """Two records exchange their parts."""

    def spoil(r: Diverse) -> None:
        p, q = r.row_of(one), r.row_of(other)
        r.parts[p], r.parts[q] = r.parts[q], r.parts[p]

    return spoil


DRAWN_FORGERIES |= {
    f"parts with {name}": (DRAWN, spoil)
    for name, spoil in {
        "nothing": parted(lambda parts: None),
        "all in one": parted(np.zeros_like),
        "each alone": parted(lambda parts: np.arange(N)),
        "two merged": parted(lambda parts: np.where(parts == 1, 0, parts)),
        "two far ones merged": parted(lambda parts: np.where(parts == 5, 0, parts)),
        "one cut below k": parted(lambda parts: np.where(np.arange(N) < 2, 9, parts)),
        "one cut into three and two": parted(lambda parts: np.where(np.arange(N) // 3 == 0, 9, parts)),
        "a row less": parted(lambda parts: parts[1:]),
        "a row more": parted(lambda parts: np.append(parts, 0)),
        "no rows": parted(lambda parts: parts[:0]),
        "two columns": parted(lambda parts: np.stack([parts, parts], axis=1)),
        "decimals": parted(lambda parts: parts + 0.5),
        "floats": parted(lambda parts: parts.astype(np.float64)),
        "texts": parted(lambda parts: parts.astype(str)),
        "objects": parted(lambda parts: parts.astype(object)),
        "truths": parted(lambda parts: parts > 2),
        "other rows": parted(lambda parts: np.roll(parts, 7)),
        "two people swapped": swapped(0, 8),
        "two people of one value swapped": swapped(0, 5),
    }.items()
}


@forgery(DRAWN)
def one_value_too_often(r: Diverse) -> None:
    r.give(1, r.value(0))


@forgery(DRAWN)
def values_exchanged_across_parts(r: Diverse) -> None:
    """The value of 0 for that of 6, which 1 has, too: every count of the whole table stays right."""
    own, other = r.value(0), r.value(6)
    r.give(0, other)
    r.give(6, own)


# Graphs


@forgery(DRAWN)
def neighbourhoods_that_reach_across_parts(r: Diverse) -> None:
    """One ring over the whole table is a k-factor, but not of the parts."""
    r.hold(ring(N, K))
    r.witness(ring(N, K))


@forgery(DRAWN)
def two_rows_that_reach_across_parts(r: Diverse) -> None:
    """Rows 1 and 6 hold one record of the other's part each, instead of one of their own."""
    holds = rings()
    holds[1], holds[6] = [1, 2, 7], [6, 3, 5]
    r.hold(holds)
    r.witness(holds)


@forgery(DRAWN)
def a_factor_that_needs_two_parts(r: Diverse) -> None:
    """Two parts whose rows hold all of both; only, rows of the first hold few of their own.

    Together they have a k-factor. In the first part alone nobody has fewer than three neighbours, and yet
    some record would have to serve four rows.
    """
    one, other = range(5), range(12, 17)
    holds = rings()
    for i in one:
        holds[i] = [*UNEVEN[i], *other]
    for i in other:
        holds[i] = [*one, *other]
    r.hold(holds)
    r.neighbourhoods = None
    for i in other:  # else records of both parts could be behind each other's rows
        r.give(i, f"ill {i}")


# Claims


def claimed(**changes: Any) -> Spoiler:
    def spoil(r: Diverse) -> None:
        r.say(*r.claims[:-1], replace(r.claims[-1], **changes))

    return spoil


def of_persons(r: Diverse) -> None:
    columns = [replace(c, role=Role.ENTITY) if c.name == "name" else c for c in r.schema.columns]
    r.schema = Schema(tuple(columns))
    r.say(r.claims[-1])


DRAWN_FORGERIES |= {
    "l one too high": (DRAWN, claimed(parameters={"l": L + 1, "k": K})),
    "l above k": (DRAWN, claimed(parameters={"l": 3, "k": 2})),
    "k one too high": (DRAWN, claimed(parameters={"l": L, "k": K + 1})),
    "k twice as high": (DRAWN, claimed(parameters={"l": L, "k": 2 * K})),
    "k is huge": (DRAWN, claimed(parameters={"l": L, "k": 2**70})),
    "l is huge": (DRAWN, claimed(parameters={"l": 2**70, "k": K})),
    "l is zero": (DRAWN, claimed(parameters={"l": 0, "k": K})),
    "l is true": (DRAWN, claimed(parameters={"l": True, "k": K})),
    "l is a text": (DRAWN, claimed(parameters={"l": "3", "k": K})),
    "k is zero": (DRAWN, claimed(parameters={"l": L, "k": 0})),
    "no k": (DRAWN, claimed(parameters={"l": L})),
    "no l": (DRAWN, claimed(parameters={"k": K})),
    "l, k and more": (DRAWN, claimed(parameters={"l": L, "k": K, "parts": 6})),
    "of no column": ("drawn-l-diversity", claimed(column="")),
    "of a column that is not sensitive": ("drawn-l-diversity (age)", claimed(column="age")),
    "of an unknown column": ("drawn-l-diversity (pay)", claimed(column="pay")),
    "of persons": (DRAWN, of_persons),
}


@forgery("manifest")
def a_manifest_that_claims_more(r: Diverse) -> None:
    r.manifest["claims"][-1]["parameters"]["l"] = L + 1


@forgery("manifest")
def a_manifest_that_claims_another_k(r: Diverse) -> None:
    r.manifest["claims"][-1]["parameters"]["k"] = K + 1


@forgery("manifest")
def a_manifest_in_another_order(r: Diverse) -> None:
    r.manifest["claims"].reverse()


@forgery("manifest")
def no_odds(r: Diverse) -> None:
    r.say(r.claims[-1])
    del r.manifest["match_probability"]


@forgery("odds")
def a_draw_less_even_than_claimed(r: Diverse) -> None:
    """Without the claim of a k-factor beside it, the diverse draw asks for 1/k by itself."""
    r.say(r.claims[-1])
    r.manifest["match_probability"] = {"drawn": "1/2", "least": "1/3"}
