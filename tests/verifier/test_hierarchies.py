"""The verifier's own reading of hierarchies that a policy describes in a line: against builders; forged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import NotVerified, PolicyError
from incrowd.hierarchy import builders
from incrowd.hierarchy.builders import build_levels
from incrowd.policy import Policy
from incrowd.schema import Column, Kind, Role
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.hierarchies import check_built

NUMBERS = st.decimals(-5000, 5000, allow_nan=False, allow_infinity=False, places=1).map(
    lambda number: (
        str(Decimal(number).normalize() + 0) if number != number.to_integral_value() else str(int(number))
    )
)
DAYS = st.dates(date(1890, 1, 1), date(2030, 12, 31)).map(date.isoformat)
POSTCODES = st.from_regex(r"\A([A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}|[A-Z]{1,2}[0-9])\Z")
DISEASES = st.from_regex(r"\A[A-Z][0-9][0-9](\.[0-9])?\Z")
WORDS = st.text("abcdef0", min_size=1, max_size=6)

LINES: dict[str, tuple[dict[str, Any], Kind, st.SearchStrategy[str]]] = {
    "prefix": ({"prefix": [4, 2]}, Kind.CATEGORICAL, WORDS),
    "mask": ({"mask": [1, 3]}, Kind.CATEGORICAL, WORDS),
    "intervals": ({"intervals": [5, 10, 20], "origin": 2}, Kind.NUMERIC, NUMBERS),
    "decimals": ({"intervals": ["0.5", 1, 10]}, Kind.NUMERIC, NUMBERS),
    "ages": ({"intervals": [5, 10, 20], "top": 90}, Kind.NUMERIC, st.integers(0, 120).map(str)),
    "digits": ({"digits": [2, 1, 0]}, Kind.NUMERIC, NUMBERS),
    "cuts": ({"cuts": [[-5000, 0, 18, 65, 5000], [-5000, 18, 5000]]}, Kind.NUMERIC, NUMBERS),
    "dates": ({"dates": ["day", "month", "quarter", "year", "decade"]}, Kind.DATE, DAYS),
    "years": ({"dates": ["year", "5 years", "10 years"]}, Kind.DATE, DAYS),
    "ordered": (
        {"ordered": ["a", "b", "c", "d", "e"], "groups": [2, 4]},
        Kind.CATEGORICAL,
        st.sampled_from("abcde"),
    ),
    "postcodes": ({"postcodes": ["outward", "area"]}, Kind.CATEGORICAL, POSTCODES),
    "icd10": ({"icd10": ["category", "chapter"]}, Kind.CATEGORICAL, DISEASES),
    "rare": ({"rare": 2}, Kind.CATEGORICAL, st.sampled_from("abcdef")),
    "flat": ({"flat": True}, Kind.CATEGORICAL, WORDS),
}


def column(line: dict[str, Any], kind: Kind, texts: list[str]) -> tuple[Column, Counter[str]]:
    """A column with a hierarchy that was built over its texts, and who has which text."""
    holders = Counter(texts)
    rows = build_levels(line, [*holders], kind, column="col", holders=holders)
    return Column("col", Role.QUASI, kind, levels=rows, built=line), holders


def test_every_builder_has_a_second_reading() -> None:
    assert {next(iter(line)) for line, _, _ in LINES.values()} == set(builders._BUILDERS)


@pytest.mark.parametrize("name", LINES)
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_both_readings_agree(name: str, data: st.DataObject) -> None:
    line, kind, values = LINES[name]
    made, holders = column(line, kind, data.draw(st.lists(values, min_size=1, max_size=12)))
    check_built(made, holders)


@pytest.mark.parametrize("name", [name for name in LINES if name != "flat"])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_a_value_under_another_label_is_found(name: str, data: st.DataObject) -> None:
    """Any one label of any one value is replaced by one that another value has at that level."""
    line, kind, values = LINES[name]
    made, holders = column(line, kind, data.draw(st.lists(values, min_size=4, max_size=12)))
    place = data.draw(st.integers(0, len(made.levels) - 1))
    level = data.draw(st.integers(1, len(made.levels[0]) - 2))
    others = [row[level] for row in made.levels if row[level] != made.levels[place][level]]
    assume(others)
    row = list(made.levels[place])
    row[level] = data.draw(st.sampled_from(others))
    forged = replace(made, levels=(*made.levels[:place], tuple(row), *made.levels[place + 1 :]))
    with pytest.raises(CheckFailed, match="not the one that the policy describes"):
        check_built(forged, holders)


@pytest.mark.parametrize("name", [name for name in LINES if name != "flat"])
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_a_level_that_is_left_out_is_found(name: str, data: st.DataObject) -> None:
    line, kind, values = LINES[name]
    made, holders = column(line, kind, data.draw(st.lists(values, min_size=3, max_size=12, unique=True)))
    short = tuple((row[0], *row[2:]) for row in made.levels)
    assume(any(len(set(row[1:])) == len(row) - 1 for row in made.levels))
    with pytest.raises(CheckFailed):
        check_built(replace(made, levels=short), holders)


def test_rare_values_are_counted_again() -> None:
    made, holders = column({"rare": 3}, Kind.CATEGORICAL, ["a"] * 3 + ["b"] * 2)
    check_built(made, holders)
    with pytest.raises(CheckFailed):
        check_built(made, Counter({"a": 2, "b": 2}))  # a is rare, and published under its own name
    with pytest.raises(CheckFailed):
        check_built(made, Counter({"a": 3, "b": 3}))
    with pytest.raises(CheckFailed, match="nobody may count"):
        check_built(made, None)


def test_a_line_that_nobody_knows_is_no_proof() -> None:
    with pytest.raises(CheckFailed, match="nobody knows how"):
        check_built(Column("col", Role.QUASI, levels=(("a", "*"),), built={"magic": [1]}))


# Through the whole publisher

PEOPLE = {
    "age": [str(20 + i % 60) for i in range(120)],
    "place": [["SW1A 1AA", "SW2 1AB", "M1 1AE", "M20 3AF"][i % 4] for i in range(120)],
    "land": ["DE"] * 60 + ["FR"] * 50 + ["MT", "LU", "IS", "LI", "AD"] * 2,
    "ill": [["flu", "cold", "asthma"][i % 3] for i in range(120)],
}
HIERARCHIES: dict[str, dict[str, Any]] = {
    "age": {"intervals": [5, 10, 20], "top": 60},
    "place": {"postcodes": ["outward", "area"]},
    "land": {"rare": 10},
}

RARE = {"hierarchy": {"rare": 10}}


def asked(*names: str, **more: Any) -> dict[str, Any]:
    quasi = {name: ({"hierarchy": HIERARCHIES[name]} if name in names else {}) for name in HIERARCHIES}
    return {"quasi_identifiers": quasi, "sensitive": ["ill"], "privacy": {"k": 5}, **more}


def frame() -> Any:
    from incrowd.flow import Table

    return Table.of(PEOPLE)


def test_releases_with_ladders_are_verified_again(tmp_path: Path) -> None:
    policy = asked(*HIERARCHIES)
    publish(frame(), policy, tmp_path / "out")
    for given_policy in (policy, None):  # without one, the audit's own words are checked
        assert verify(tmp_path / "out", frame(), given_policy).passed


@pytest.mark.parametrize("name", HIERARCHIES)
def test_a_broken_builder_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The builder puts one value under the label of another, and the release would be consistent with it."""
    honest: Callable[..., builders.Rows] = builders.build_levels

    def broken(*words: Any, **more: Any) -> builders.Rows:
        rows = honest(*words, **more)
        return tuple((row[0], *rows[-1][1:]) for row in rows)

    monkeypatch.setattr("incrowd.policy.columns.build_levels", broken)
    with pytest.raises(NotVerified, match="not the one that the policy describes"):
        publish(frame(), asked(name))


def test_rare_counts_persons_where_a_person_has_several_rows() -> None:
    """Ten rows of two persons are two."""
    from incrowd.flow import Table

    table = Table.of({**PEOPLE, "who": [str(i // 2) if i < 110 else str(55 + i % 2) for i in range(120)]})
    column = Policy.from_dict(asked("land", entity="who")).schema(table).column("land")
    assert {row[0]: row[1] for row in column.levels}["MT"] == "Other"
    by_rows = Policy.from_dict(asked("land", drop=["who"])).schema(table).column("land")
    assert {row[1] for row in by_rows.levels} == {"DE", "FR", "Other"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"public": {"table": "x.csv", "id": "who", "membership_secret": True}}, "show who is private"),
        (
            {
                "quasi_identifiers": {"land": {"hierarchy": {"rare": 10}, "public": True}},
                "method": "mondrian",
            },
            "leave out public",
        ),
        ({"method": "incognito", "privacy": {"k": 5, "max_suppression": "0.1"}}, "suppress nobody"),
    ],
)
def test_rare_is_refused_where_its_labels_would_tell_of_others(more: dict[str, Any], said: str) -> None:
    from incrowd.publishing.request import requested

    with pytest.raises(PolicyError, match=said):
        requested(Policy.from_dict(asked("land", **{"method": "kja-direct", **more})))
