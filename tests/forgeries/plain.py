"""A good release of plain classes, written by hand, and ways to spoil it.

Forty ordinary people of four classes; one whose pay stands out by itself, and one whose age does. Neither of
the last two has a row, and nobody is told how many have none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from forgeries.classes import Release, manifest

from incrowd.schema import Claim, Column, Kind, Role, Schema

ZIPS = tuple((z, z[:1] + "__", "*") for z in ("101", "102", "205", "211"))
SCHEMA = Schema(
    (
        Column("name", Role.IDENTIFIER),
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("zip", Role.QUASI, levels=ZIPS),
        Column("pay", Role.SENSITIVE, Kind.NUMERIC),
    )
)
COLUMNS = {"age": "1", "pay": "1"}
PARAMETERS: Mapping[str, Any] = {
    "p": "0.96",
    "d": "0.41",
    "margin": "0.01",
    "form": "both",
    "distinct": 5,
    "removal": "once",
    "rescale": "yes",
    "columns": COLUMNS,
}
SIZE = Claim("k-anonymity", {"k": 10})
RICH, OLD = 40, 41


def people() -> list[list[str]]:
    ordinary = [
        [f"n{i}", str(20 + i), ZIPS[i // 20 * 2 + i % 2][0], str(20 + 4 * (i * 7 % 10))] for i in range(40)
    ]
    return [*ordinary, ["rich", "39", "102", "1000"], ["old", "95", "205", "40"]]


def good() -> Release:
    original = people()
    release = Release(
        original_names=[c.name for c in SCHEMA.columns],
        original=original,
        names=["age", "zip", "pay"],
        rows=[],
        manifest={},
        schema=SCHEMA,
        claims=(SIZE, Claim("plain", PARAMETERS)),
        levels=True,
    )
    publish(release, [list(range(c, c + 10)) for c in range(0, 40, 10)])
    return release


def publish(r: Release, groups: list[list[int]]) -> None:
    """Rows over these groups, shuffled, with all that the manifest says of them."""
    rows = {}
    for group in groups:
        ages = sorted(int(r.original[i][1]) for i in group)
        for i in group:
            rows[i] = [f"[{ages[0]},{ages[-1]}]", r.original[i][2][:1] + "__", r.original[i][3]]
    r.truth = list(rows)
    random.Random(7).shuffle(r.truth)
    r.rows = [rows[i] for i in r.truth]
    say(r)


def say(r: Release, **rows: Any) -> None:
    table = {name: [row[j] for row in r.rows] for j, name in enumerate(r.names)}
    hidden = any(claim.model == "plain" for claim in r.claims)
    gone = None if hidden else len(r.original) - len(r.rows)
    counts = {"published": len(r.rows), "suppressed": gone, "max_suppression": "0.05"}
    r.manifest = manifest(r.schema, r.claims, table) | {"rows": counts | rows, "levels": {"zip": 1}}


Spoiler = Callable[[Release], None]
PLAIN_FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        PLAIN_FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def with_row_of(person: int, into: int) -> Spoiler:
    def spoil(r: Release) -> None:
        groups = [list(range(c, c + 10)) for c in range(0, 40, 10)]
        groups[into].append(person)
        publish(r, groups)

    return spoil


def claimed(**changes: Any) -> Spoiler:
    """The release claims, and is asked for, something else."""

    def spoil(r: Release) -> None:
        r.claims = (SIZE, Claim("plain", {**PARAMETERS, **changes}))
        say(r)

    return spoil


def stated(**changes: Any) -> Spoiler:
    """Somebody has a row who stands out, and the manifest says what would let that pass."""

    def spoil(r: Release) -> None:
        with_row_of(OLD, 3)(r)
        said = Claim("plain", {**PARAMETERS, **changes})
        r.manifest["claims"] = [claim.to_dict() for claim in (SIZE, said)]

    return spoil


def counts(**changes: Any) -> Spoiler:
    return lambda r: say(r, **changes)


def levels(said: Any) -> Spoiler:
    def spoil(r: Release) -> None:
        r.manifest["levels"] = said

    return spoil


PLAIN_FORGERIES |= {
    "a value that stands out everywhere": ("plain", with_row_of(RICH, 1)),
    "an age that stands out with every value": ("plain", with_row_of(OLD, 3)),
    "one combination less than claimed": ("plain", claimed(distinct=11)),
    "more people stand out": ("plain", claimed(p="0.5")),
    "more people stand out by distance": ("plain", claimed(d="0.05")),
    "people stand out after the margin": ("plain", claimed(margin="0.4")),
    "people stand out by weight": ("plain", claimed(columns={"age": "400", "pay": "400"})),
}
STATED: dict[str, dict[str, Any]] = {
    "a larger p": {"p": "1"},
    "a larger d": {"d": "3"},
    "another margin": {"margin": "0"},
    "fewer columns": {"columns": {"pay": "1"}},
    "other weights": {"columns": {"age": "0.01", "pay": "1"}},
    "another form": {"form": "candidate"},
    "a number as a number": {"p": 1},
}
CLAIMED: dict[str, dict[str, Any]] = {
    "a p of nought": {"p": "0", "margin": "0"},
    "a p above one": {"p": "1.01"},
    "p as a number": {"p": 1},
    "p as a word": {"p": "most"},
    "a margin as large as p": {"margin": "0.96", "d": "3"},
    "a margin as large as d": {"margin": "0.41"},
    "a negative margin": {"margin": "-0.01"},
    "an unknown form": {"form": "corners"},
    "an unknown removal": {"removal": "twice"},
    "a truth for rescale": {"rescale": True},
    "one value": {"distinct": 1},
    "a text for distinct": {"distinct": "5"},
    "columns as a list": {"columns": ["age", "pay"]},
    "no columns": {"columns": {}},
    "an unknown column": {"columns": {**COLUMNS, "wage": "1"}},
    "an identifier": {"columns": {**COLUMNS, "name": "1"}},
    "no sensitive column": {"columns": {"age": "1"}},
    "a weight of nought": {"columns": {"age": "0", "pay": "1"}},
    "a negative weight": {"columns": {"age": "-1", "pay": "1"}},
    "a weight as a number": {"columns": {"age": 1, "pay": "1"}},
    "one parameter more": {"beta": "1"},
}
PLAIN_FORGERIES |= {
    f"the manifest says {name}": ("manifest", stated(**said)) for name, said in STATED.items()
}
PLAIN_FORGERIES |= {f"a claim with {name}": ("plain", claimed(**said)) for name, said in CLAIMED.items()}
PLAIN_FORGERIES |= {
    "a number of suppressed rows": ("manifest", counts(suppressed=2)),
    "null without a share": ("manifest", counts(max_suppression=None)),
    "a share as a number": ("manifest", counts(max_suppression=0.05)),
    "a share in per cent": ("manifest", counts(max_suppression="5%")),
    "a negative share": ("manifest", counts(max_suppression="-0.05")),
    "a share above one": ("manifest", counts(max_suppression="1.5")),
    "a share that is too small": ("rows", counts(max_suppression="0.047")),
    "a wrong number of rows": ("rows", counts(published=39)),
    "one count more": ("manifest", counts(kept=40)),
}
PLAIN_FORGERIES |= {
    "levels one too low": ("levels", levels({"zip": 0})),
    "levels one too high": ("levels", levels({"zip": 2})),
    "levels above the top": ("levels", levels({"zip": 3})),
    "levels below nought": ("levels", levels({"zip": -1})),
    "levels of truth": ("levels", levels({"zip": True})),
    "levels as text": ("levels", levels({"zip": "1"})),
    "levels of a column without any": ("levels", levels({"zip": 1, "age": 0})),
    "levels of nothing": ("levels", levels({})),
    "levels as a list": ("levels", levels([1])),
    "levels of null": ("levels", levels(None)),
}


@forgery("manifest")
def the_number_of_suppressed_rows_is_said(r: Release) -> None:
    r.manifest["rows"] = {"published": 40, "suppressed": 2}


@forgery("rows")
def rows_dropped_beyond_the_share(r: Release) -> None:
    r.rows, r.claims = r.rows[1:], (Claim("k-anonymity", {"k": 9}), r.claims[1])
    say(r)


@forgery("rows")
def a_row_dropped_and_none_said(r: Release) -> None:
    r.claims = (SIZE,)
    say(r)
    r.manifest["rows"] = {"published": 40, "suppressed": 0}


@forgery("rows")
def rows_are_drawn_and_some_left_out(r: Release) -> None:
    r.claims = (Claim("k-factor", {"k": 10}),)
    say(r)
    r.manifest["match_probability"] = {"drawn": "1/10"}


@forgery("private")
def a_sensitive_value_is_changed(r: Release) -> None:
    r.rows[3][2] = "21"


@forgery("truth")
def a_row_of_nobody(r: Release) -> None:
    """The pay of somebody without a row stands in the class of others."""
    r.rows[0][2] = "1000"


@forgery("order")
def the_order_of_the_original(r: Release) -> None:
    r.rows = [r.rows[r.truth.index(i)] for i in sorted(r.truth)]
    r.truth.sort()


@forgery("levels")
def a_class_at_another_level(r: Release) -> None:
    """All of one class, and of it alone, say the whole domain."""
    for row in r.rows:
        row[1] = "*" if row[0].startswith("[20") else row[1]
    say(r)


@forgery("plain")
def values_apart_by_a_hair(r: Release) -> None:
    """20 and 20.0 are one value, so that a class has one combination less than it seems to have."""
    for i in range(10):
        r.original[i][3] = ["20", "20.0", "24", "24.0", "28", "28.0", "32", "32.0", "32.00", "32.000"][i]
    publish(r, [list(range(c, c + 10)) for c in range(0, 40, 10)])


@forgery("plain (pay)")
def plain_of_a_column(r: Release) -> None:
    r.claims = (SIZE, replace(r.claims[1], column="pay"))
    say(r)
