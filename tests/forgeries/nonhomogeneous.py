"""A good release whose rows overlap, written by hand, and ways to spoil what it claims about them.

The column `code` has a value of its own for every record, and a row names the set of records that it holds.
So every graph of records and rows can be published, and each forgery is a graph, a claim or a witness.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from forgeries.classes import Release, manifest, set_of
from numpy.typing import NDArray

from incrowd.schema import Claim, Column, Kind, Role, Schema

Holds = Sequence[Sequence[int]]  # for each row the records that it holds; row i is about record i

SCHEMA = Schema(
    (
        Column("name", Role.IDENTIFIER),
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("code", Role.QUASI),
        Column("ill", Role.SENSITIVE),
    )
)
N, K = 24, 3
MODELS = (
    "1k-anonymity",
    "k1-anonymity",
    "kk-anonymity",
    "global-1k-anonymity",
    "global-k1-anonymity",
    "k-factor",
)


def ring(n: int, k: int, first: int = 0) -> list[list[int]]:
    """Row i holds k records from i on, around a ring of n."""
    return [[first + (i + step) % n for step in range(k)] for i in range(n)]


@dataclass
class Overlapping(Release):
    """A release of rows that overlap, with the neighbourhood of each row as a witness."""

    neighbourhoods: NDArray[Any] | None = None

    def say(self, *claims: Claim) -> None:
        self.claims = claims
        self.manifest["claims"] = [claim.to_dict() for claim in claims]

    def hold(self, holds: Holds) -> None:
        """Publish another graph; the witness stays as it is."""
        ages = f"[20,{19 + len(holds)}]"
        rows = [[ages, set_of({code(i) for i in holds[p]}), f"ill {p % 5}"] for p in self.truth]
        self.rows = rows
        table = {name: [row[j] for row in rows] for j, name in enumerate(self.names)}
        self.manifest = manifest(self.schema, self.claims, table)
        drawn = {"drawn": f"1/{K}"}
        factor = any(claim.model == "k-factor" for claim in self.claims)
        self.manifest["match_probability"] = drawn if factor else {**drawn, "least": f"1/{K}"}

    def witness(self, neighbourhoods: Holds) -> None:
        """For each row, in the order of the file, the records of its neighbourhood."""
        self.neighbourhoods = np.array([neighbourhoods[p] for p in self.truth])


def code(i: int) -> str:
    return f"code {i:02}"


def good(holds: Holds = (), models: Sequence[str] = MODELS, k: int = K) -> Overlapping:
    """A ring, or another graph that keeps what these models claim."""
    holds = holds or ring(N, K)
    n = len(holds)
    truth = list(range(n))
    random.Random(5).shuffle(truth)
    release = Overlapping(
        original_names=[c.name for c in SCHEMA.columns],
        original=[[f"n{i}", str(20 + i), code(i), f"ill {i % 5}"] for i in range(n)],
        names=["age", "code", "ill"],
        rows=[],
        manifest={},
        schema=SCHEMA,
        claims=tuple(Claim(model, {"k": k}) for model in models),
        truth=truth,
    )
    release.hold(holds)
    if len(set(map(len, holds))) == 1:
        release.witness(holds)
    return release


Spoiler = Callable[[Overlapping], None]
OVERLAP_FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        OVERLAP_FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def only(*models: str, **parameters: int | str) -> tuple[Claim, ...]:
    return tuple(Claim(model, parameters or {"k": K}) for model in models)


# Graphs


def one_way() -> list[list[int]]:
    """Three rings of eight; degrees are 3 and more everywhere, but nobody of one ring can be in another.

    Rows of the first ring hold one record of the second each, rows of the second one of the third: edges that
    no assignment uses. Without them, the second ring has two of everything.
    """
    first = [[*row, 8 + i] for i, row in enumerate(ring(8, 3))]
    second = [[*row, 16 + i] for i, row in enumerate(ring(8, 2, 8))]
    return [*first, *second, *ring(8, 3, 16)]


# Everyone has three matches, and yet no row has three records such that nobody serves four rows.
UNEVEN = ([0, 1, 2], [1, 3, 4], [1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 4])


def uneven() -> list[list[int]]:
    copies = [[5 * copy + i for i in row] for copy in range(4) for row in UNEVEN]
    return [*copies, *ring(4, 3, 20)]


def with_fewer_records_in_a_row() -> list[list[int]]:
    """Row 0 holds two records; the one that it lost has another row instead."""
    rows = ring(N, K)
    rows[0], rows[5] = [0, 1], [*rows[5], 2]
    return rows


def with_fewer_rows_of_a_record() -> list[list[int]]:
    """Record 2 has two rows; the row that lost it holds another record instead."""
    rows = ring(N, K)
    rows[0] = [0, 1, 9]
    return rows


@forgery("k1-anonymity")
def a_row_with_one_record_less(r: Overlapping) -> None:
    r.hold(with_fewer_records_in_a_row())


@forgery("k1-anonymity")
def a_row_of_its_own_record_only(r: Overlapping) -> None:
    r.hold([[0], *ring(N, K)[1:-2], [*ring(N, K)[-2], 1], [*ring(N, K)[-1], 2]])


@forgery("1k-anonymity")
def a_record_with_one_row_less(r: Overlapping) -> None:
    r.hold(with_fewer_rows_of_a_record())


@forgery("kk-anonymity")
def kk_with_a_thin_row(r: Overlapping) -> None:
    r.say(*only("1k-anonymity", "kk-anonymity"))
    r.hold(with_fewer_records_in_a_row())


@forgery("kk-anonymity")
def kk_with_a_thin_record(r: Overlapping) -> None:
    r.say(*only("k1-anonymity", "kk-anonymity"))
    r.hold(with_fewer_rows_of_a_record())


@forgery("k-factor")
def a_factor_with_a_thin_row(r: Overlapping) -> None:
    r.say(*only("1k-anonymity", "k-factor"))
    r.hold(with_fewer_records_in_a_row())


@forgery("k-factor")
def a_factor_with_a_thin_record(r: Overlapping) -> None:
    r.say(*only("k1-anonymity", "k-factor"))
    r.hold(with_fewer_rows_of_a_record())


@forgery("global-1k-anonymity")
def records_with_rows_that_are_no_matches(r: Overlapping) -> None:
    r.hold(one_way())


@forgery("global-k1-anonymity")
def rows_with_records_that_are_no_matches(r: Overlapping) -> None:
    r.say(*only("kk-anonymity", "global-k1-anonymity"))
    r.hold(one_way())


@forgery("k-factor")
def a_factor_that_would_need_what_is_no_match(r: Overlapping) -> None:
    r.say(*only("kk-anonymity", "k-factor"))
    r.hold(one_way())


@forgery("k-factor")
def matches_without_a_factor(r: Overlapping) -> None:
    r.hold(uneven())


# Claims


def one_too_high(model: str) -> Spoiler:
    return lambda r: r.say(*only(model, k=K + 1))


def odd(**changes: Any) -> Spoiler:
    def spoil(r: Overlapping) -> None:
        r.say(*r.claims[:-1], replace(r.claims[-1], **changes))

    return spoil


def with_persons(model: str) -> Spoiler:
    """Six claims count rows; where a person may have several, that protects nobody."""

    def spoil(r: Overlapping) -> None:
        columns = [replace(c, role=Role.ENTITY) if c.name == "name" else c for c in r.schema.columns]
        r.schema = Schema(tuple(columns))
        r.say(*only(model))

    return spoil


OVERLAP_FORGERIES |= {f"{model} one too high": (model, one_too_high(model)) for model in MODELS}
OVERLAP_FORGERIES |= {f"{model} of persons": (model, with_persons(model)) for model in MODELS}
OVERLAP_FORGERIES |= {
    "k is zero": ("k-factor", odd(parameters={"k": 0})),
    "k is a text": ("k-factor", odd(parameters={"k": "3"})),
    "k is true": ("k-factor", odd(parameters={"k": True})),
    "k is huge": ("k-factor", odd(parameters={"k": 2**70})),
    "no k": ("k-factor", odd(parameters={})),
    "k and more": ("k-factor", odd(parameters={"k": 3, "persons": "no"})),
    "another parameter": ("k-factor", odd(parameters={"l": 3})),
    "of a column": ("k-factor (ill)", odd(column="ill")),
    "of an unknown class": ("k2-anonymity", odd(model="k2-anonymity")),
}


# Witnesses: each is wrong in one way, and must help no table that has no factor


def twice_the_same(holds: list[list[int]]) -> NDArray[Any]:
    holds[0][1] = holds[0][0]
    return np.array(holds)


def a_stranger(holds: list[list[int]]) -> NDArray[Any]:
    """Two rows exchange a record that the other does not hold; counts stay right."""
    holds[0][1], holds[9][1] = holds[9][1], holds[0][1]
    return np.array(holds)


def one_too_often(holds: list[list[int]]) -> NDArray[Any]:
    holds[0][1] = 9
    return np.array(holds)


def changed(how: Callable[[NDArray[Any]], NDArray[Any]]) -> Callable[[list[list[int]]], NDArray[Any]]:
    return lambda holds: how(np.array(holds))


WITNESSES: dict[str, Callable[[list[list[int]]], NDArray[Any]]] = {
    "a record twice": twice_the_same,
    "a record that is not held": a_stranger,
    "a record too often": one_too_often,
    "a record below all": changed(lambda w: np.where(w == 0, -1, w)),
    "a record above all": changed(lambda w: np.where(w == 0, N, w)),
    "a record far above all": changed(lambda w: np.where(w == 0, 2**64 - 1, w.astype(np.uint64))),
    "too few rows": changed(lambda w: w[1:]),
    "too few records": changed(lambda w: w[:, 1:]),
    "too many records": changed(lambda w: np.hstack([w, w[:, :1]])),
    "flat": changed(np.ravel),
    "nothing": changed(lambda w: w[:0]),
    "decimals": changed(lambda w: w + 0.5),
    "floats": changed(lambda w: w.astype(np.float64)),
    "texts": changed(lambda w: w.astype(str)),
    "objects": changed(lambda w: w.astype(object)),
    "truths": changed(lambda w: w > 0),
    "another order of rows": changed(lambda w: np.roll(w, 1, axis=0)),
}


def spoilt(name: str, r: Overlapping) -> NDArray[Any]:
    """A wrong witness for the rows of this file."""
    witness = WITNESSES[name](ring(N, K))
    return witness[r.truth] if witness.shape[:1] == (N,) else witness


def with_witness(name: str) -> Spoiler:
    def spoil(r: Overlapping) -> None:
        r.hold(uneven())
        r.neighbourhoods = spoilt(name, r)

    return spoil


OVERLAP_FORGERIES |= {f"a witness with {name}": ("k-factor", with_witness(name)) for name in WITNESSES}


@forgery("k-factor")
def the_witness_of_another_table(r: Overlapping) -> None:
    r.hold(uneven())
    r.witness(ring(N, K))


@forgery("k-factor")
def a_witness_cut_from_the_table_itself(r: Overlapping) -> None:
    """All its records are held, and most rows agree, but somebody must serve four rows."""
    r.hold(uneven())
    r.witness([row[:3] for row in uneven()])


@forgery("k-factor")
def a_witness_that_fills_a_thin_row_with_one_record(r: Overlapping) -> None:
    """Every record is named three times, one of them twice in a row that holds two records."""
    holds = ring(N, K)
    holds[0], holds[22] = [0, 1], [22, 23, 2]
    r.say(*only("k-factor"))
    r.hold(holds)
    r.witness([[0, 0, 1], *holds[1:]])


# What is said about the draw


def odds(said: Any) -> Spoiler:
    def spoil(release: Overlapping) -> None:
        if said is None:
            del release.manifest["match_probability"]
        else:
            release.manifest["match_probability"] = said

    return spoil


def odds_without_factor(said: Any) -> Spoiler:
    """Where no k-factor is claimed, the least match probability of these rows is stated as well."""

    def spoil(release: Overlapping) -> None:
        release.say(*only("kk-anonymity"))
        release.manifest["match_probability"] = said

    return spoil


ODDS: dict[str, tuple[str, Any]] = {
    "no odds": ("manifest", None),
    "odds of nothing": ("odds", []),
    "none of the odds": ("odds", {}),
    "odds and more": ("odds", {"drawn": "1/3", "least": "1/3"}),
    "odds as a float": ("odds", {"drawn": 0.25}),
    "odds in another spelling": ("odds", {"drawn": "0.3"}),
    "odds by nought": ("odds", {"drawn": "1/0"}),
    "odds above one": ("odds", {"drawn": "3/2"}),
    "a draw of two in seven": ("odds", {"drawn": "2/7"}),
    "a draw less even than claimed": ("odds", {"drawn": "1/2"}),
    "a draw that nobody can make": ("odds", {"drawn": "1/4"}),
}
ODDS_WITHOUT_FACTOR: dict[str, dict[str, Any]] = {
    "half of the odds": {"drawn": "1/3"},
    "three odds": {"drawn": "1/3", "least": "1/3", "most": "1"},
    "the least as a float": {"drawn": "1/3", "least": 0.25},
    "the least in another spelling": {"drawn": "1/3", "least": "0.3"},
    "the least by nought": {"drawn": "1/3", "least": "1/0"},
    "odds below what can be": {"drawn": "1/3", "least": "1/2"},
    "a draw of two in five": {"drawn": "2/5", "least": "1/3"},
    "a least that nobody can draw": {"drawn": "1/3", "least": "1/4"},
    "a draw below all": {"drawn": "1/4", "least": "1/4"},
    "less than the least": {"drawn": "1/3", "least": "1/30"},
}
OVERLAP_FORGERIES |= {name: (caught_by, odds(said)) for name, (caught_by, said) in ODDS.items()}
OVERLAP_FORGERIES |= {name: ("odds", odds_without_factor(said)) for name, said in ODDS_WITHOUT_FACTOR.items()}
