"""The verifier of releases in which people of a public table have rows, too: it accepts right ones only."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.classes import METHOD
from forgeries.join import JOIN_FORGERIES, OWN, Joined, checked, good, large, ordered_by
from hypothesis import given, settings
from hypothesis import strategies as st
from support.catalogued import catalogued
from support.golden import golden
from support.verifier_cases import Case, assert_rejected, long_texts, verified
from twins import k_join_anonymity as naive
from typer.testing import CliRunner
from verifier.test_verifier import Lines

from incrowd.cli.app import app
from incrowd.commands.verify import verify as verify_again
from incrowd.errors import InputError, TableError
from incrowd.flow import Table
from incrowd.join import join
from incrowd.release.audit import LINKS, schema_as_dict
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Claim, Column, Kind, Role, Schema, Verdict
from incrowd.verifier import CsvRows, Expected, PublicTable, Witness, verify
from incrowd.verifier.claims.join import read_people
from incrowd.verifier.columns import CodedColumn, Numbering, numbers_of
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.order import AS_PUBLIC, KEPT, MEMBERS, check_both_orders

# Most of these tables lack people of the private one, which must be accepted: unsafe-join.
ByMicrodata = partial(PublicTable, blind=False)
HINTED = pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])


def verified_folder(
    release: Joined, folder: Path, hinted: bool = False, links: Any = None, asked: Any = None, **more: Any
) -> Verdict:
    folder.mkdir(exist_ok=True)
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    second = CsvRows(folder / "second.csv") if release.second is not None else None
    given: dict[str, Any] = {
        "witness": Witness(np.array(release.truth) if hinted else links),
        "public": ByMicrodata(CsvRows(folder / "public.csv"), "id", second),
    }
    original = CsvRows(folder / "original.csv")
    return verify(
        folder / "release",
        original,
        Expected(release.schema, release.claims, ("unsafe-join",), method=METHOD, public=asked or {}),
        **(given | more),
    )


# Whole releases


@HINTED
@pytest.mark.parametrize("make", [good, checked])
def test_a_good_release_is_accepted(make: Callable[[], Joined], tmp_path: Path, hinted: bool) -> None:
    release = make()
    verdict = verified_folder(release, tmp_path, hinted)
    assert verdict.passed, verdict.failures
    facts = verdict.facts
    assert facts["own"] == OWN
    assert facts["people"] == len(release.people) > facts["rows"], (
        "the old ones of the public table have no row"
    )
    assert facts["external"] == facts["rows"] - OWN > 0
    assert facts["reached"]["k-join-anonymity"] == facts["smallest_class"] == 5
    assert facts["reached"]["sensitive-groups"] == facts["smallest_group"] >= 4
    assert ("presence" in facts) == hinted


def test_shares_of_own_people_are_told_where_links_tell(tmp_path: Path) -> None:
    release = good()
    shares = [Fraction(len(release.own_of(members)), len(members)) for members in release.classes_of]
    told = verified_folder(release, tmp_path, hinted=True).facts["presence"]
    assert told == {"least": str(min(shares)), "most": str(max(shares))}


@HINTED
def test_rows_alone_are_accepted_without_their_values(tmp_path: Path, hinted: bool) -> None:
    release = good()
    release.without_values()
    verdict = verified_folder(release, tmp_path, hinted)
    assert verdict.passed, verdict.failures
    assert "sensitive" not in verdict.required


def test_a_source_and_a_date_may_be_said(tmp_path: Path) -> None:
    release = good()
    release.manifest["public"] |= {"source": "the voters' register", "date": "2024-02-29"}
    said = {"source": "the voters' register", "date": "2024-02-29"}
    assert verified_folder(release, tmp_path / "as asked", asked=said).passed
    assert failed(verified_folder(release, tmp_path / "not asked"))[0] == "manifest"


@HINTED
@pytest.mark.parametrize("name", JOIN_FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str, hinted: bool) -> None:
    caught_by, spoil = JOIN_FORGERIES[name]
    release = good()
    private = long_texts(release.original)
    spoil(release)
    verdict = verified_folder(release, tmp_path, hinted)
    assert_rejected(verdict, caught_by, private)


def test_every_check_is_forged() -> None:
    caught = {check for check, _ in JOIN_FORGERIES.values()}
    assert caught >= {"files", "manifest", "schema", "cells", "rows", "truth", "sensitive", "order"}
    assert caught >= {"k-join-anonymity", "sensitive-groups", "distinct-l-diversity (ill)"}


def test_a_table_that_was_no_file_is_told_by_its_kind(tmp_path: Path) -> None:
    release = good()
    release.manifest["public"]["kind"] = "DataFrame"
    assert verified_folder(release, tmp_path).passed


def test_the_public_table_is_needed(tmp_path: Path) -> None:
    verdict = verified_folder(good(), tmp_path, public=None)
    assert verdict.failures[0].name == "manifest"
    assert verdict.failures[0].detail == "to verify it, the public table is needed"


def test_a_second_source_that_was_used_is_needed(tmp_path: Path) -> None:
    release = checked()
    release.write(tmp_path / "before")
    verdict = verified_folder(release, tmp_path, public=ByMicrodata(CsvRows(tmp_path / "public.csv"), "id"))
    assert verdict.failures[0].name == "manifest"
    assert "the table that confirmed the public one is needed" in verdict.failures[0].detail


def test_a_public_table_that_cannot_be_read_is_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot be read"):
        verified_folder(good(), tmp_path, public=ByMicrodata(CsvRows(tmp_path / "gone.csv"), "id"))


def test_files_of_tables_at_hand_are_compared(tmp_path: Path) -> None:
    """Rows that were read by somebody else come with their file, and the manifest must mean that one."""
    release = checked()
    assert release.second is not None
    public = ByMicrodata(
        Lines(release.public_names, release.public), "id", Lines(release.public_names, release.second)
    )
    a, b, c = (tmp_path / name for name in "abc")
    right = replace(public, file=a / "public.csv", check_file=a / "second.csv")
    assert verified_folder(release, a, public=right).passed
    wrong = replace(public, file=b / "public.csv", check_file=b / "public.csv")
    assert verified_folder(release, b, public=wrong).failures[0].name == "manifest"
    swapped = replace(public, file=c / "second.csv")
    assert verified_folder(release, c, public=swapped).failures[0].name == "manifest"


# Hints


def hints(release: Joined) -> dict[str, Any]:
    truth = np.array(release.truth)
    other = truth.copy()
    members = [m for m in large(release) if isinstance(m, int)]
    p, q = truth.tolist().index(members[0]), next(p for p, i in enumerate(release.truth) if i not in members)
    other[p], other[q] = other[q], other[p]
    beyond = truth.copy()
    beyond[0] = len(release.people)
    return {
        "two exchanged": other,
        "beyond": beyond,
        "too short": truth[:-1],
        "all the same": np.zeros_like(truth),
        "no whole numbers": truth.astype(float),
        "negative": truth - 1,
    }


@pytest.mark.parametrize("name", hints(good()))
def test_a_wrong_hint_does_no_harm(tmp_path: Path, name: str) -> None:
    verdict = verified_folder(good(), tmp_path, links=hints(good())[name])
    assert verdict.passed, verdict.failures
    assert "presence" not in verdict.facts


AGE = Column("age", Role.QUASI, Kind.NUMERIC)
SMALL = Schema((Column("id", Role.IDENTIFIER), AGE, Column("sex", Role.QUASI), Column("ill", Role.SENSITIVE)))
JOIN, GROUPS = Claim("k-join-anonymity", {"k": 1}), Claim("sensitive-groups", {"k": 1})


def test_a_hint_that_leaves_out_an_own_person_is_none() -> None:
    """It fits every row, but gives the own person's to somebody of the public table."""
    case = Case(
        Lines(["id", "age", "sex", "ill"], [["a", "30", "F", "x"]]),
        Lines(["age", "sex"], [["30", "F"]]),
        SMALL,
        [JOIN],
        public=ByMicrodata(Lines(["id", "age", "sex"], [["b", "30", "F"]]), "id"),
    )
    assert verified(case).passed
    verdict = verified(replace(case, links=np.array([1])))
    assert verdict.passed
    assert "presence" not in verdict.facts
    elsewhere = replace(
        case, original=Lines(case.original.names, [["a", "31", "F", "x"]]), links=np.array([1])
    )
    assert [check.name for check in verified(elsewhere).failures][:1] == ["truth"]


def test_without_links_it_may_not_be_decided_whose_values_a_group_has() -> None:
    """Two equal rows in two groups: the own person may be behind either."""
    verdicts = []
    for group in ("1", "2"):
        case = Case(
            Lines(["id", "age", "sex", "ill"], [["a", "30", "F", "x"], ["b", "40", "F", "y"]]),
            Lines(["age", "sex", "group"], [["[30,40]", "F", "1"], ["[30,40]", "F", "2"], ["40", "F", "2"]]),
            SMALL,
            [JOIN, GROUPS],
            sensitive=Lines(
                ["group", "ill", "count"], [["1", "xy"[group == "1"], "1"], ["2", "yx"[group == "1"], "1"]]
            ),
            public=ByMicrodata(Lines(["id", "age", "sex"], [["c", "40", "F"], ["d", "40", "F"]]), "id"),
        )
        verdicts.append(verified(case))
        right = {"2": [0, 2, 1], "1": [1, 0, 2]}[group]
        assert verified(replace(case, links=np.array(right))).passed
    refused = [verdict for verdict in verdicts if not verdict.passed]
    assert refused, "both cannot be right, if the verifier matches the same rows to the same people"
    assert refused[0].failures[0].name == "sensitive"
    assert "without the links in the audit folder this cannot be decided" in refused[0].failures[0].detail


# Against trying all assignments


IDS = st.sampled_from(["a", "b", "c", "d", "e", "f", ""])
AGES = st.integers(0, 3)
SEXES = st.sampled_from([0, 1])
NAMES = ["id", "age", "sex"]


@st.composite
def small_worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Own people, a public table, perhaps a second source; rows of people cut in order, then spoilt."""
    names = draw(st.permutations("abcdef"))[: draw(st.integers(1, 3))]
    own = [(name, (draw(AGES), draw(SEXES))) for name in names]
    public = [(draw(IDS), (draw(st.none() | AGES), draw(SEXES))) for _ in range(draw(st.integers(0, 5)))]
    second = None
    if draw(st.booleans()):
        second = [person for person in public if draw(st.integers(0, 4))] + [("z", (0, 0))]
    everybody: Any = naive.people(own, public, second)
    k = draw(st.integers(1, 3))
    order = sorted(range(len(everybody)), key=lambda i: everybody[i][1])
    cuts = [order[start : start + k] for start in range(0, len(order), k)]
    groups = [cut for cut in cuts if min(cut) < len(own)]
    rows = [closure([everybody[i][1] for i in group]) for group in groups for _ in group]
    truth = [i for group in groups for i in group]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(rows) - 1))
        spoil = draw(st.sampled_from(["drop", "double", "other"]))
        if spoil == "drop" and len(rows) > 1:
            del rows[place], truth[place]
        elif spoil == "double":
            rows.append(rows[place])
            truth.append(draw(st.integers(0, len(everybody) - 1)))
        elif spoil == "other":
            rows[place] = closure([everybody[draw(st.integers(0, len(everybody) - 1))][1] for _ in range(2)])
    mixed = draw(st.permutations(range(len(rows))))
    world = {
        "own": own,
        "public": public,
        "second": second,
        "everybody": everybody,
        "k": draw(st.integers(1, 3)),
    }
    return world | {"rows": [rows[p] for p in mixed], "truth": [truth[p] for p in mixed]}


def closure(values: Sequence[tuple[int, int]]) -> naive.Row:
    ages = [age for age, _ in values]
    return frozenset(range(min(ages), max(ages) + 1)), frozenset(sex for _, sex in values)


def texts(person: naive.Person, spelling: str = "") -> list[str]:
    name, (age, sex) = person
    return [name, "" if age is None else f"{age}{spelling}", "FM"[sex or 0]]


def cells(row: naive.Row) -> list[str]:
    low, high = min(row[0]), max(row[0])
    sexes = ["FM"[sex] for sex in sorted(row[1])]
    return [str(low) if low == high else f"[{low},{high}]", sexes[0] if len(sexes) == 1 else "{F|M}"]


def case_of(world: dict[str, Any], claims: Sequence[Claim]) -> Case:
    own = [[*texts(person), f"v{i % 2}"] for i, person in enumerate(world["own"])]
    second = world["second"]
    other = None if second is None else Lines(NAMES, [texts(person, ".0") for person in second])
    return Case(
        Lines([*NAMES, "ill"], own),
        Lines(["age", "sex"], [cells(row) for row in world["rows"]]),
        SMALL,
        claims,
        public=ByMicrodata(Lines(NAMES, [texts(person) for person in world["public"]]), "id", other),
    )


def failed(verdict: Verdict) -> list[str]:
    assert not [check for check in verdict.failures if "stopped with an error" in check.detail]
    return [check.name for check in verdict.failures]


@HINTED
@settings(max_examples=150, deadline=None)
@given(world=small_worlds())
def test_the_verifier_agrees_with_trying_all_assignments(hinted: bool, world: dict[str, Any]) -> None:
    rows, everybody, own = world["rows"], world["everybody"], len(world["own"])
    case = case_of(world, [Claim("k-join-anonymity", {"k": world["k"]})])
    if hinted:
        case = replace(case, links=np.array(world["truth"]))
    verdict = verified(case)
    true = naive.is_true(rows, everybody, own)
    crowded = naive.is_crowded(rows, world["k"])
    assert verdict.passed == (true and crowded), verdict.failures
    if true:
        assert verdict.facts["people"] == len(everybody)
        assert ("k-join-anonymity" in failed(verdict)) == (not crowded)
    else:
        assert failed(verdict)[0] in ("cells", "rows", "truth")


@settings(max_examples=150, deadline=None)
@given(small_worlds())
def test_whoever_is_found_everybody_own_has_a_row(world: dict[str, Any]) -> None:
    """All rows are one group, so that without links values fit if and only if all own people were matched."""
    rows, own = world["rows"], len(world["own"])
    counted = Counter(f"v{i % 2}" for i in range(own))
    case = replace(
        case_of(world, [JOIN, GROUPS]),
        published=Lines(["age", "sex", "group"], [[*cells(row), "1"] for row in rows]),
        sensitive=Lines(
            ["group", "ill", "count"], [["1", ill, str(c)] for ill, c in sorted(counted.items())]
        ),
    )
    verdict = verified(case)
    assert verdict.passed == naive.is_true(rows, world["everybody"], own), verdict.failures


@settings(max_examples=200, deadline=None)
@given(small_worlds(), st.data())
def test_values_are_counted_for_own_people_only(world: dict[str, Any], data: st.DataObject) -> None:
    """By the links that are handed over: in each group exactly the values of own people are accepted."""
    rows, truth, own = world["rows"], world["truth"], len(world["own"])
    groups = data.draw(st.lists(st.integers(1, 2), min_size=len(rows), max_size=len(rows)))
    groups = [sorted(set(groups)).index(group) + 1 for group in groups]
    ills = [f"v{i % 2}" for i in range(own)]
    counted = Counter((g, ills[i]) for g, i in zip(groups, truth, strict=True) if i < own)
    for _ in range(data.draw(st.integers(0, 1))):
        counted[data.draw(st.integers(1, 2)), data.draw(st.sampled_from(["v0", "v1"]))] += 1
    lines: Any = [[str(g), ill, str(c)] for (g, ill), c in sorted(counted.items())]
    case = case_of(world, [JOIN, GROUPS])
    published = Lines(
        ["age", "sex", "group"], [[*cells(r), str(g)] for r, g in zip(rows, groups, strict=True)]
    )
    sensitive = Lines(["group", "ill", "count"], lines)
    case = replace(case, published=published, sensitive=sensitive, links=np.array(truth))
    verdict = verified(case)
    said: dict[int, list[str]] = {}
    for (group, ill), count in counted.items():
        said.setdefault(group, []).extend([ill] * count)
    linked = any(list(taken) == truth for taken in naive.true_ones(rows, world["everybody"], own))
    if linked:
        complete = set(said) == set(groups) and all(said.values())
        assert verdict.passed == (complete and naive.values_fit(truth, groups, ills, said)), verdict.failures
    elif verdict.passed:
        ways = naive.true_ones(rows, world["everybody"], own)
        assert any(naive.values_fit(taken, groups, ills, said) for taken in ways)
    failed(verdict)


# The paper's figures


PLANE = Schema(
    (
        Column("id", Role.IDENTIFIER),
        Column("x", Role.QUASI, Kind.NUMERIC),
        Column("y", Role.QUASI, Kind.NUMERIC),
        Column("v", Role.SENSITIVE),
    )
)


def printed(k: int, group_of: Sequence[int], groups_k: int) -> Case:
    """The release of Fig. 5, with the values of its classes in these groups."""
    drawn, expected = golden("kja", "fig5_kja_assumed")
    values = golden("kja", "fig6_SI")[0]["SA"]
    rows, counted = [], Counter[tuple[str, str]]()
    for members, box, group in zip(drawn["groups"], expected["boxes"], group_of, strict=True):
        cell = [str(a) if a == b else f"[{a},{b}]" for a, b in box]
        rows += [[*cell, str(group)] for _ in members]
        counted.update((str(group), values[name]) for name in members if name in values)
    random.Random(1).shuffle(rows)
    own = [[name, *map(str, point), values[name]] for name, point in drawn["MT"].items()]
    return Case(
        Lines(["id", "x", "y", "v"], own),
        Lines(["x", "y", "group"], rows),
        PLANE,
        [Claim("k-join-anonymity", {"k": k}), Claim("sensitive-groups", {"k": groups_k})],
        sensitive=Lines(["group", "v", "count"], [[*key, str(c)] for key, c in sorted(counted.items())]),
        public=ByMicrodata(
            Lines(["id", "x", "y"], [[name, *map(str, point)] for name, point in drawn["PD"].items()]), "id"
        ),
    )


@pytest.mark.quick
def test_the_papers_release_is_accepted() -> None:
    drawn, expected = golden("kja", "fig5_kja_assumed")
    hosts = [host + 1 for host in expected["contained_in_AT_box"]]
    case = printed(drawn["k"], hosts, 3)
    said = golden("kja", "fig6_SI")[1]["SI"]
    for group, values in enumerate(said.values(), 1):
        lines = [line for line in case.sensitive or [] if line[0] == str(group)]
        assert sorted(values) == sorted(v or "" for _, v, count in lines for _ in range(int(count or 0)))
    verdict = verified(case)
    assert verdict.passed, verdict.failures
    assert verdict.facts["people"] == expected["JT_size"]
    assert verdict.facts["rows"] == expected["proper_subset_size"]
    assert verdict.facts["reached"] == {"k-join-anonymity": 3, "sensitive-groups": 3}


@pytest.mark.quick
def test_the_papers_release_is_not_more_than_it_is() -> None:
    hosts = [host + 1 for host in golden("kja", "fig5_kja_assumed")[1]["contained_in_AT_box"]]
    assert failed(verified(printed(4, hosts, 3))) == ["k-join-anonymity"]
    assert failed(verified(printed(3, hosts, 4))) == ["sensitive-groups"]


@pytest.mark.quick
def test_values_by_class_give_somebody_away() -> None:
    """Direct, with the values of each class: {G, G1, G2} would say v3 of the one who is private."""
    case = printed(3, [1, 2, 3, 4], 2)
    told = golden("kja", "sg_disclosure")[1]["direct_SI_per_group_would_give"]["G,G1,G2"]
    assert [["4", v, str(c)] for v, c in told.items()] == [
        line for line in case.sensitive or [] if line[0] == "4"
    ]
    assert failed(verified(case)) == ["sensitive-groups"]


# At hand


def small(**changes: Any) -> Case:
    case = Case(
        Lines(["id", "age", "sex", "ill"], [["a", "30", "F", "x"]]),
        Lines(["age", "sex"], [["[30,40]", "F"], ["[30,40]", "F"]]),
        SMALL,
        [Claim("k-join-anonymity", {"k": 2})],
        public=ByMicrodata(Lines(["sex", "id", "age"], [["F", "b", "40"], ["F", "c", "44"]]), "id"),
    )
    return replace(case, **changes)


def test_claim_and_public_table_go_together() -> None:
    assert verified(small()).passed
    without = verified(small(public=None))
    assert (without.failures[0].name, without.failures[0].detail) == (
        "schema",
        "to verify it, the public table is needed",
    )
    columns = tuple(replace(c, role=Role.DROP) if c.name == "ill" else c for c in SMALL.columns)
    unsaid = verified(small(claims=[Claim("k-anonymity", {"k": 1})], schema=Schema(columns)))
    assert (unsaid.failures[0].name, unsaid.failures[0].detail) == (
        "schema",
        "a public table is given, but no claim is about it",
    )


@pytest.mark.parametrize("parameters", [{}, {"k": 0}, {"k": "2"}, {"k": True}, {"k": 2, "l": 1}])
def test_a_claim_has_its_parameter_and_no_other(parameters: Any) -> None:
    assert failed(verified(small(claims=[Claim("k-join-anonymity", parameters)]))) == ["k-join-anonymity"]


PUBLIC_ROWS: dict[str, tuple[list[str | None], bool]] = {
    "as it is": (["F", "b", "40"], True),
    "spelt differently": (["F", "b", "40.00"], True),
    "without id": (["F", "", "40"], False),
    "with an id that means missing": (["F", "?", "40"], False),
    "with NULL for an id": (["F", None, "40"], False),
    "with the id of an own person": (["F", "a", "40"], False),
    "with that id in capitals": (["F", "A", "40"], False),
    "with that id as a number": (["F", "a.0", "40"], False),
    "with zeros and blanks in that id": (["F", "00 -a_", "40"], False),
    "with that id and more": (["F", "a1", "40"], True),
    "without sex": ([None, "b", "40"], False),
    "with a sex that means missing": (["?", "b", "40"], False),
    "without age": (["F", "b", ""], False),
}


@pytest.mark.parametrize("name", PUBLIC_ROWS)
def test_who_of_the_public_table_may_stand_in(name: str) -> None:
    row, usable = PUBLIC_ROWS[name]
    public = ByMicrodata(Lines(["sex", "id", "age"], [row, ["M", "c", "40"]]), "id")
    case = small(public=public, schema=Schema(SMALL.columns, frozenset({"", "?"})))
    verdict = verified(case)
    assert verdict.passed == usable
    assert usable or failed(verdict)[0] == "truth"


SECOND_ROWS: dict[str, tuple[list[list[str | None]], bool]] = {
    "as it is": ([["F", "b", "40"]], True),
    "spelt differently": ([["F", "b", "40.0"]], True),
    "by one of two rows": ([["M", "b", "40"], ["F", "b", "40"]], False),
    "twice": ([["F", "b", "40"], ["F", "b", "40.0"]], True),
    "by two rows that are half right": ([["M", "b", "40"], ["F", "b", "41"]], False),
    "with another id": ([["F", "c", "40"]], False),
    "with an age that is none": ([["F", "b", "forty"]], False),
    "without an age": ([["F", "b", None]], False),
    "not at all": ([], False),
}


@pytest.mark.parametrize("name", SECOND_ROWS)
def test_who_is_confirmed(name: str) -> None:
    rows, usable = SECOND_ROWS[name]
    names = ["sex", "id", "age"]
    public = ByMicrodata(Lines(names, [["F", "b", "40"], ["F", "c", "44"]]), "id", Lines(names, rows))
    verdict = verified(small(public=public))
    assert verdict.passed == usable
    assert usable or failed(verdict)[0] in ("cells", "rows")


# Order


def test_rows_by_chance_have_no_order(tmp_path: Path) -> None:
    for turn in range(12):
        release = good()
        places = random.Random(turn).sample(range(1000), 1000)
        release.order = lambda place, member, places=places: places[place]
        release.publish_people()
        for hinted in (False, True):
            assert verified_folder(release, tmp_path / f"{turn}{hinted}", hinted).passed


@pytest.mark.parametrize("own", [True, False], ids=["private", "public"])
def test_orders_among_other_rows_are_seen_where_links_tell(tmp_path: Path, own: bool) -> None:
    """Rows of one table in its order, those of the other anywhere between them."""
    release = good()
    some = sorted(
        m for members in release.classes_of for m in members if isinstance(m, int) and (m < OWN) == own
    )
    mixed = random.Random(2).sample(range(len(release.truth)), len(release.truth))
    place_of: dict[Any, int] = dict(zip(some, sorted(mixed[: len(some)]), strict=True))
    rest = iter(mixed[len(some) :])
    ordered_by(lambda _r, _p, m: place_of[m] if m in place_of else next(rest))(release)
    assert failed(verified_folder(release, tmp_path, hinted=True)) == ["order"]


def test_two_orders_raise_no_false_alarm(rng: np.random.Generator) -> None:
    for _ in range(60):
        n, own = 400, int(rng.integers(20, 380))
        people = rng.permutation(n)
        kind = np.unique(people // int(rng.integers(1, 9)), return_inverse=True)[1]
        place = np.where(rng.random(n) < 0.7, rng.permutation(n), -1)
        place[own:] = np.sort(rng.permutation(n)[own:])
        check_both_orders(kind, people, own, place, linked=True)


def seen(kind: Any, match: Any, own: int, place: Any, linked: bool = False) -> str:
    try:
        check_both_orders(np.asarray(kind), np.asarray(match), own, np.asarray(place), linked)
    except CheckFailed as fault:
        return str(fault)
    return ""


def test_own_people_first_is_seen_without_links(rng: np.random.Generator) -> None:
    """Every class has as many rows among the first as own people, which chance does not do."""
    kind = np.unique(rng.integers(0, 40, 96), return_inverse=True)[1]
    match = np.concatenate([rng.permutation(56), 56 + rng.permutation(40)])
    place = rng.permutation(96)
    assert seen(kind, match, 56, place) == MEMBERS
    assert seen(kind[::-1], match[::-1], 56, place) == MEMBERS
    mixed = rng.permutation(96)
    assert not seen(kind[mixed], match[mixed], 56, place)


def test_own_people_rather_first_are_seen_with_links(rng: np.random.Generator) -> None:
    """All classes have the same share, so that only links tell who stands before whom."""
    order = np.argsort(np.where(np.arange(400) < 200, 0.0, 0.6) + rng.random(400))
    kind, place = order % 40, rng.permutation(400)
    assert seen(kind, order, 200, place, linked=True) == MEMBERS
    assert not seen(kind, order, 200, place, linked=False)


def test_the_order_of_one_table_is_seen(rng: np.random.Generator) -> None:
    """Nobody of the public table has a row; or everybody whom it has stands in its order, others anywhere."""
    kind, place = rng.permutation(200) % 50, rng.permutation(200)
    assert seen(kind, np.arange(200), 200, place) == KEPT
    known = rng.random(400) < 0.75
    known[200:] = True
    place = np.where(known, rng.permutation(400), -1)
    slots = np.sort(rng.permutation(400)[: known.sum()])
    match = np.empty(400, np.int64)
    match[slots] = np.flatnonzero(known)[np.argsort(place[known])]
    match[np.setdiff1d(np.arange(400), slots)] = rng.permutation(np.flatnonzero(~known))
    kind = rng.permutation(400)[match] // 5
    assert seen(kind, match, 200, place, linked=True) == AS_PUBLIC


# Against the publisher, which numbers people by itself


TEXT_IDS = st.sampled_from(["a", "A", "b", "0b", "c", "c.0", "d-1", "D 1", "e", "", "?", None])
TEXT_AGES = st.sampled_from(["1", "1.0", "2", "3", "?", "", None])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", "d1"]), st.sampled_from("123")),
        min_size=1,
        unique_by=lambda p: p[0],
    ),
    st.lists(st.tuples(TEXT_IDS, TEXT_AGES), max_size=8, unique_by=lambda p: p[0]),
    st.none() | st.lists(st.tuples(TEXT_IDS, TEXT_AGES), max_size=8),
)
def test_publisher_and_verifier_number_the_same_people(own: Any, public: Any, second: Any) -> None:
    names = ("id", "age")
    schema = Schema((Column("id", Role.IDENTIFIER), AGE), frozenset({"", "?"}))
    tables = [None if rows is None else table_of(names, rows) for rows in (own, public, second)]
    assert tables[0] is not None
    assert tables[1] is not None
    joined = join(tables[0], schema, tables[1], "id", tables[2], "microdata", blind=False)
    reading = Numbering(), Numbering()
    ids, ages = numbers_of(Lines(names, own), list(enumerate(reading)), "")
    sources = ByMicrodata(Lines(names, public), "id", None if second is None else Lines(names, second))
    found = read_people(
        sources, schema, CodedColumn(ids, list(reading[0])), {"age": ages}, {"age": reading[1]}
    )
    column = found.columns["age"]
    assert [column.texts[code] for code in column.codes] == joined.table.column("age").rows()
    assert (found.own, len(found)) == (int(joined.own.sum()), joined.own.size)
    confirming = None if second is None else len(second)
    assert (found.public_rows, found.second_rows) == (len(public), confirming)


def table_of(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> Table:
    return Table.of({name: [row[j] for row in rows] for j, name in enumerate(names)})


# Once more, later


def written(release: Joined, folder: Path, linked: bool = True) -> Path:
    """A release with its audit beside it."""
    catalogued(release, "kja-refine-adaptive", "id")
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    audit = folder / "release.audit"
    audit.mkdir()
    (audit / "schema.json").write_text(json.dumps(schema_as_dict(release.schema)))
    if linked:
        (audit / LINKS).write_text(json.dumps({"record_of_each_row": release.truth}))
    return folder / "release"


@pytest.mark.parametrize("linked", [True, False])
def test_a_release_is_verified_again(tmp_path: Path, linked: bool) -> None:
    folder = written(checked(), tmp_path, linked)
    public, second = tmp_path / "public.csv", tmp_path / "second.csv"
    verdict = verify_again(folder, tmp_path / "original.csv", None, public=public, check=second)
    assert verdict.passed, verdict.failures
    assert ("presence" in verdict.facts) == linked
    other = verify_again(folder, tmp_path / "original.csv", None, public=second, check=second)
    assert failed(other)[0] == "manifest"


def test_the_public_table_must_be_passed(tmp_path: Path) -> None:
    folder = written(good(), tmp_path)
    with pytest.raises(InputError, match="pass that table with public="):
        verify_again(folder, tmp_path / "original.csv", None)
    shown = CliRunner().invoke(app, ["verify", str(folder), "--original", str(tmp_path / "original.csv")])
    assert (shown.exit_code, "--public" in shown.output) == (2, True)
    passed = ["--public", str(tmp_path / "public.csv"), "--json"]
    said = CliRunner().invoke(
        app, ["verify", str(folder), "--original", str(tmp_path / "original.csv"), *passed]
    )
    assert (said.exit_code, json.loads(said.stdout)["facts"]["own"]) == (0, OWN)


def test_a_public_table_is_not_passed_for_nothing(tmp_path: Path) -> None:
    folder = written(good(), tmp_path)
    said = json.loads((folder / "release.json").read_text())
    said["claims"] = [Claim("k-anonymity", {"k": 2}).to_dict()]
    (folder / "release.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match="leave out public="):
        verify_again(folder, tmp_path / "original.csv", None, public=tmp_path / "public.csv")


def test_a_release_that_hides_its_public_table_is_rejected(tmp_path: Path) -> None:
    release = good()
    del release.manifest["public"]
    folder = written(release, tmp_path)
    verdict = verify_again(folder, tmp_path / "original.csv", None, public=tmp_path / "public.csv")
    assert failed(verdict)[0] == "manifest"


def opened(folder: Path, records: int) -> ReleaseFolder:
    return ReleaseFolder(folder, Table.of({"age": ["1"] * records}))


def test_own_rows_are_told_by_the_audit(tmp_path: Path) -> None:
    release = good()
    folder = written(release, tmp_path)
    mine = opened(folder, OWN).own_rows
    assert mine is not None
    assert mine.tolist() == [i < OWN for i in release.truth]
    assert opened(folder, OWN + len(release.people)).own_rows is None
    for content in ("", "[]", "{}", '{"record_of_each_row": [[1]]}', '{"record_of_each_row": ["a"]}'):
        (tmp_path / "release.audit" / LINKS).write_text(content)
        assert opened(folder, OWN).own_rows is None
