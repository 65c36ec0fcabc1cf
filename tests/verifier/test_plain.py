"""The verifier of plain classes, suppressed rows and whole levels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries.plain import PLAIN_FORGERIES, claimed, good, levels, say
from hypothesis import given, settings
from hypothesis import strategies as st
from support.golden import vectors
from support.verifier_cases import Case, assert_rejected, verified
from verifier.test_verifier import Lines, verified_folder

from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier.claims import plain_neighbours
from incrowd.verifier.claims.plain_distance import ExactDistance, PlainAxis

PLAIN: Mapping[str, Any] = {"margin": "0", "form": "both", "distinct": 2, "removal": "once", "rescale": "yes"}


# Whole releases


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
def test_a_good_release_is_accepted(tmp_path: Path, hinted: bool) -> None:
    verdict = verified_folder(good(), tmp_path, hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["suppressed"] == 2
    assert verdict.facts["reached"] == {"k-anonymity": 10, "plain": 10}
    assert "levels" in verdict.required


@pytest.mark.parametrize(
    "change",
    [
        claimed(form="corner", removal="repeat"),
        claimed(p="1", d="2", rescale="no", margin="0"),
        claimed(removal="none", p="1", d="2"),
        claimed(distinct=10),
        claimed(columns={"age": "1", "zip": "0.01", "pay": "1"}),
        lambda r: say(r, max_suppression="1"),
    ],
)
def test_other_good_releases_are_accepted(tmp_path: Path, change: Any) -> None:
    release = good()
    change(release)
    verdict = verified_folder(release, tmp_path)
    assert verdict.passed, verdict.failures


def test_levels_are_stated_if_and_only_if_the_method_publishes_whole_ones(tmp_path: Path) -> None:
    release = good()
    release.levels = False
    assert verified_folder(release, tmp_path / "stated").failures[0].name == "manifest"
    del release.manifest["levels"]
    assert verified_folder(release, tmp_path / "not stated").passed


@pytest.mark.parametrize("name", PLAIN_FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str) -> None:
    caught_by, spoil = PLAIN_FORGERIES[name]
    release = good()
    spoil(release)
    verdict = verified_folder(release, tmp_path)
    assert_rejected(verdict, caught_by, ("1000", "95", "102"))


def test_the_top_level_and_missing_values(tmp_path: Path) -> None:
    release = good()
    release.original[0][2] = ""
    row = release.rows[release.truth.index(0)]
    row[1] = "missing"
    release.claims = (Claim("k-anonymity", {"k": 1}),)
    say(release)
    (tmp_path / "a").mkdir()
    verdict = verified_folder(release, tmp_path / "a")
    assert verdict.passed, verdict.failures
    levels({"zip": 2})(release)
    (tmp_path / "b").mkdir()
    assert verified_folder(release, tmp_path / "b").failures[0].name == "levels"
    for row in release.rows:
        row[1] = "*"
    say(release)
    levels({"zip": 2})(release)
    (tmp_path / "c").mkdir()
    verdict = verified_folder(release, tmp_path / "c")
    assert verdict.passed, verdict.failures


# What is known from papers


def numbers(rows: Mapping[int, Sequence[int]], group: Sequence[int], claim: Mapping[str, Any]) -> Case:
    """A table of numbers, the last sensitive; only the rows of one group are published, over its box."""
    width = len(next(iter(rows.values()))) - 1
    names = [*(f"q{j}" for j in range(width)), "s"]
    columns = [Column(n, Role.SENSITIVE if n == "s" else Role.QUASI, Kind.NUMERIC) for n in names]
    ends = [[f(rows[i][j] for i in group) for f in (min, max)] for j in range(width)]
    cells = [f"[{low},{high}]" if low < high else str(low) for low, high in ends]
    return Case(
        Lines(names, [list(map(str, row)) for row in rows.values()]),
        Lines(names, [[*cells, str(rows[i][-1])] for i in group]),
        Schema(tuple(columns)),
        [Claim("plain", {**PLAIN, "columns": dict.fromkeys(names, "1"), **claim})],
        max_suppression=Fraction(1),
    )


def holds(case: Case) -> bool:
    verdict = verified(case)
    assert [check.name for check in verdict.failures] in ([], ["plain"]), verdict.failures
    assert "stopped with an error" not in verdict.checks[-1].detail
    return verdict.passed


def figure() -> tuple[dict[int, list[int]], dict[str, Any]]:
    """The nine people of the paper's first figure, with the gender as a number that takes no part."""
    said = vectors("outliers")["figs_plain_configA"]["input"]
    rows = {row[0]: [row[2], 1 + (row[3] == "F"), row[4], row[5]] for row in said["rows"]}
    return rows, {"p": "0.65", "d": "0.86", "columns": {"q0": "1", "q2": "1", "s": "1"}}


@pytest.mark.quick
def test_the_groups_of_the_figures() -> None:
    rows, claim = figure()
    expected = vectors("outliers")["figs_plain_configA"]["expected"]["groups"]
    for group, found in expected.items():
        case = numbers(rows, json.loads(group), {**claim, "form": "corner"})
        assert holds(case) == found["plain"], group
    forms = vectors("outliers")["corner_vs_candidates"]["input"]["fig_groups_configA"]
    for group, found in forms.items():
        case = numbers(rows, json.loads(group), {**claim, "form": "candidate"})
        assert holds(case) == found["candidates"], group


@pytest.mark.quick
def test_neither_form_implies_the_other() -> None:
    said = vectors("outliers")["corner_vs_candidates"]["input"]
    for name, corner in (("unsafe", True), ("over_conservative", False)):
        one = said[name]
        rows = {int(i): row for i, row in one["D"].items()}
        claim = {"p": str(one["p"]), "d": str(one["d"]), "removal": "none"}
        found = [
            holds(numbers(rows, one["group"], {**claim, "form": form})) for form in ("corner", "candidate")
        ]
        assert found == [corner, not corner]
        assert not holds(numbers(rows, one["group"], {**claim, "form": "both"}))


@pytest.mark.quick
def test_two_plain_groups_need_not_make_one() -> None:
    said = vectors("outliers")["plain_not_union_closed"]["input"]
    rows = {int(i): row for i, row in said["D"].items()}
    claim = {"p": "0.7", "d": "0.7", "removal": "none", "form": "corner"}
    groups = (said["g1"], said["g2"], [*said["g1"], *said["g2"]])
    assert [holds(numbers(rows, group, claim)) for group in groups] == [True, True, False]


@pytest.mark.quick
def test_a_smaller_box_may_not_be_plain() -> None:
    """In the smaller box one of the four has no place, so somebody else stands in who has that value."""
    said = vectors("synthesis")["refine_breaks_plain"]["input"]
    rows, claim = figure()
    assert holds(numbers(rows, said["group"], {**claim, "form": "corner"}))
    assert not holds(numbers(rows, said["refined_box_of"], {**claim, "form": "corner"}))


# Exactly at the limits


def test_at_the_distance_is_near_and_at_the_share_is_bad() -> None:
    rows = {0: [0, 0], 1: [0, 5], 2: [0, 10], 3: [0, 10]}
    claim = {"removal": "none", "columns": {"q0": "1", "s": "1"}, "form": "corner"}
    # From 0, one of four lies at exactly one half; two lie farther away.
    assert holds(numbers(rows, [0, 1], {**claim, "p": "0.51", "d": "0.5"}))
    assert not holds(numbers(rows, [0, 1], {**claim, "p": "0.5", "d": "0.5"}))
    assert not holds(numbers(rows, [0, 1], {**claim, "p": "0.75", "d": "0.4999999999999999999999"}))
    assert holds(numbers(rows, [0, 1], {**claim, "p": "0.75000000000000000000001", "d": "0.4999999999999"}))


def test_too_many_corners() -> None:
    rows = {i: [i] * 18 for i in range(4)}
    case = numbers(rows, [0, 1, 2, 3], {"p": "1", "d": "9"})
    detail = verified(case).failures[0].detail
    assert detail.startswith("too many corners")
    some = {"q0": "1", "s": "1"}
    assert holds(numbers(rows, [0, 1, 2, 3], {"p": "1", "d": "9", "columns": some}))


def test_how_many_are_left_out_is_limited_and_not_said() -> None:
    rows, claim = figure()
    case = numbers(rows, [7, 8, 9], claim)
    assert verified(replace(case, suppressed=1)).failures[0].name == "rows"
    assert verified(replace(case, max_suppression=None)).failures[0].name == "rows"
    assert verified(replace(case, max_suppression=Fraction(6, 9))).passed
    assert verified(replace(case, max_suppression=Fraction(5, 9))).failures[0].name == "rows"


# Against the definition

LEVELS = {
    "zip": (("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*"), ("e", "y", "*")),
    "room": (("3", "low", "*"), ("1", "low", "*"), ("9", "high", "*"), ("5", "high", "*")),
}
TABLE = Schema(
    (
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("zip", Role.QUASI, levels=LEVELS["zip"]),
        Column("pet", Role.QUASI),
        Column("room", Role.QUASI, Kind.NUMERIC, levels=LEVELS["room"]),
        Column("pay", Role.SENSITIVE, Kind.NUMERIC),
        Column("ill", Role.SENSITIVE),
    )
)
NAMES = [column.name for column in TABLE.columns]
QUASI = NAMES[:4]
VALUES = {
    "age": ("", "1", "2.5", "4", "7"),
    "zip": ("", "a", "b", "c", "d"),
    "pet": ("", "cat", "dog", "eel"),
    "room": ("3", "1", "9"),
    "pay": ("", "10", "20", "20.0", "40"),
    "ill": ("u", "v", "w"),
}
Place = Fraction | None


@dataclass(frozen=True)
class Cell:
    """What a cell says, which values it holds, and the places of its corners."""

    text: str
    held: frozenset[str]
    corners: tuple[Place, ...]


@dataclass(frozen=True)
class Twin:
    """The definition in fractions: a table with its records as texts."""

    records: list[tuple[str, ...]]

    def place(self, name: str, text: str) -> Place:
        if not text:
            return None
        if name in ("age", "pay", "room"):
            return Fraction(text) * 10  # to one decimal
        if name == "zip":
            return Fraction([row[0] for row in LEVELS["zip"]].index(text))
        at = NAMES.index(name)
        return Fraction(sorted({record[at] for record in self.records} - {""}).index(text))

    def cell(self, name: str, texts: set[str], everything: bool) -> Cell:
        own = {record[NAMES.index(name)] for record in self.records}
        real, missing = texts - {""}, "" in texts
        whole, label = own - {""}, ""
        if name in LEVELS:
            rows = LEVELS[name]
            labels = [label for j in range(3) for label in dict.fromkeys(row[j] for row in rows)]
            below = {label: {row[0] for row in rows if label in row} for label in labels}
            label = next(label for label in labels if below[label] >= real)
            whole, real = below["*"], below[label] if real else set()
        if everything or label == "*":
            return Cell("*", frozenset(own | whole | {""}), self.ends(name, whole, "" in own))
        held = real
        if name == "age" and real:
            low, high = min(real, key=Fraction), max(real, key=Fraction)
            held = {text for text in own - {""} if Fraction(low) <= Fraction(text) <= Fraction(high)}
            label = low if low == high else f"[{low},{high}]"
        atoms = [label] if label and real else sorted(real)
        atoms += ["missing"] if missing else []
        text = atoms[0] if len(atoms) == 1 else "{" + "|".join(atoms) + "}"
        return Cell(text, frozenset(held | ({""} if missing else set())), self.ends(name, real, missing))

    def ends(self, name: str, texts: set[str], missing: bool) -> tuple[Place, ...]:
        places = [self.place(name, text) for text in texts]
        known = [place for place in places if place is not None]
        found: set[Place] = {min(known), max(known)} if known else set()
        return (*found, *([None] if missing else []))

    def spans(self, names: Sequence[str], scale: Sequence[int]) -> dict[str, Fraction]:
        spans = {}
        for name in names:
            places = [self.place(name, self.records[i][NAMES.index(name)]) for i in scale]
            known = [place for place in places if place is not None]
            spans[name] = (max(known) - min(known) if known else Fraction(0)) or Fraction(1)
        return spans

    def bad(
        self,
        point: Mapping[str, Place],
        weights: Mapping[str, Fraction],
        members: Sequence[int],
        spans: Mapping[str, Fraction],
        terms: tuple[Fraction, Fraction],
    ) -> bool:
        far = 0
        for i in members:
            square = Fraction(0)
            for name, here in point.items():
                there = self.place(name, self.records[i][NAMES.index(name)])
                one = (here is None) != (there is None)
                both = here is not None and there is not None
                step = (here - there) / spans[name] if both else Fraction(int(one))  # type: ignore[operator]
                square += weights[name] * step**2
            far += square > terms[1] ** 2
        return far >= terms[0] * len(self.records)

    def plain(self, rows: Sequence[tuple[tuple[Cell, ...], int]], said: Mapping[str, Any]) -> bool:
        margin = Fraction(said["margin"])
        terms = (Fraction(said["p"]) - margin, Fraction(said["d"]) - margin)
        weights = {name: Fraction(weight) for name, weight in said["columns"].items()}
        rest = self.rest(said, weights, (Fraction(said["p"]), Fraction(said["d"])))
        if not rest:  # the verifier confirms nothing where nobody is left to be ordinary
            return False
        everyone = range(len(self.records))
        spans = self.spans(list(weights), rest if said["rescale"] == "yes" else everyone)
        known = [name for name in QUASI if name in weights]
        for cells in {cells for cells, _ in rows}:
            mine = [i for own, i in rows if own == cells]
            values = {tuple(self.point(i, weights, NAMES[4:]).items()) for i in mine}
            corners = [
                tuple(zip(known, places, strict=True))
                for places in product(*(cells[QUASI.index(name)].corners for name in known))
            ]
            people = {
                tuple(self.point(i, weights, QUASI).items())
                for i in rest
                if all(self.records[i][j] in cells[j].held for j in range(4))
            }
            both: dict[str, Any] = {"corner": corners, "candidate": people}
            forms = [both[form] for form in both if said["form"] in (form, "both")]
            good = {
                (s, c): not self.bad({**dict(c), **dict(s)}, weights, rest, spans, terms)
                for form in forms
                for s, c in product(values, form)
            }
            for form in forms:
                rows_fine = all(any(good[s, c] for c in form) for s in values)
                if not rows_fine or not all(any(good[s, c] for s in values) for c in form):
                    return False
            if len(values) < said["distinct"]:
                return False
        return True

    def point(self, i: int, weights: Mapping[str, Fraction], names: Sequence[str]) -> dict[str, Place]:
        return {n: self.place(n, self.records[i][NAMES.index(n)]) for n in names if n in weights}

    def rest(
        self, said: Mapping[str, Any], weights: Mapping[str, Fraction], terms: tuple[Fraction, Fraction]
    ) -> list[int]:
        everyone = list(range(len(self.records)))
        rest, names = everyone, [name for name in NAMES[4:] if name in weights]
        while said["removal"] != "none":
            spans = self.spans(names, rest if said["rescale"] == "yes" else everyone)
            points = {i: self.point(i, weights, names) for i in rest}
            kept = [i for i in rest if not self.bad(points[i], weights, rest, spans, terms)]
            done = len(kept) == len(rest) or said["removal"] == "once"
            rest = kept
            if done:
                break
        return rest


@st.composite
def cases(draw: st.DrawFn) -> tuple[Twin, list[tuple[tuple[Cell, ...], int]], dict[str, Any]]:
    n = draw(st.integers(3, 9))
    twin = Twin([tuple(draw(st.sampled_from(VALUES[name])) for name in NAMES) for _ in range(n)])
    label = [draw(st.integers(-1, 1)) for _ in range(n)]
    label[draw(st.integers(0, n - 1))] = 0
    rows = []
    for group in {*label} - {-1}:
        mine = [i for i in range(n) if label[i] == group]
        stars = draw(st.sampled_from([(), (), (0,), (1, 2), (3,)]))
        cells = tuple(
            twin.cell(name, {twin.records[i][j] for i in mine}, j in stars) for j, name in enumerate(QUASI)
        )
        rows += [(cells, i) for i in mine]
    named = draw(st.sets(st.sampled_from(NAMES))) | {draw(st.sampled_from(NAMES[4:]))}
    said = {
        "p": draw(st.sampled_from(["0.25", "0.5", "0.6", "0.75", "1"])),
        "d": draw(st.sampled_from(["0.25", "0.5", "0.75", "1", "1.25"])),
        "margin": draw(st.sampled_from(["0", "0", "0.05"])),
        "form": draw(st.sampled_from(["corner", "candidate", "both"])),
        "distinct": 2,
        "removal": draw(st.sampled_from(["once", "repeat", "none"])),
        "rescale": draw(st.sampled_from(["yes", "no"])),
        "columns": {name: draw(st.sampled_from(["1", "1", "2", "0.25"])) for name in sorted(named)},
    }
    return twin, rows, said


@settings(deadline=None, max_examples=200)
@given(cases())
def test_the_verifier_agrees_with_the_definition(
    case: tuple[Twin, list[tuple[tuple[Cell, ...], int]], dict[str, Any]],
) -> None:
    twin, rows, said = case
    published = [[*(cell.text for cell in cells), *twin.records[i][4:]] for cells, i in rows]
    verdict = verified(
        Case(
            Lines(NAMES, twin.records),
            Lines(NAMES, published),
            TABLE,
            [Claim("plain", said)],
            max_suppression=Fraction(1),
        )
    )
    assert "stopped with an error" not in verdict.checks[-1].detail
    assert {check.name for check in verdict.failures} <= {"plain"}, verdict.failures
    assert verdict.passed == twin.plain(rows, said)


# Counting


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from(["0.5", "0.45", "0.7071067811865475", "1"]))
def test_counts_are_those_of_fractions(seed: int, gaps: bool, distance: str) -> None:
    """By parts and by sweeps; on a grid, so that many lie at the very distance."""
    rng = np.random.default_rng(seed)
    reach, columns = Fraction(distance), 3
    places = [None, *range(-2, 9)]
    records = [rng.integers(0 if gaps else 3, 8, 70) for _ in range(columns)]
    axes = [PlainAxis(places, r, Fraction(w)) for r, w in zip(records, ("1", "2", "0.5"), strict=True)]
    points = [rng.integers(0 if gaps else 1, len(places), 30) for _ in range(columns)]
    members = np.arange(5, 70)
    exact = ExactDistance(axes, members, reach)
    many = [
        int(exact.near([np.full(65, p[i]) for p in points], [r[members] for r in records]).sum())
        for i in range(30)
    ]
    limit = int(rng.integers(-1, 30))
    expected = [count <= limit for count in many]
    assert _brute(axes, points, members, reach) == many
    with pytest.MonkeyPatch.context() as patch:
        for parts in (plain_neighbours.PARTS_EACH, 0):
            patch.setattr(plain_neighbours, "PARTS_EACH", parts)
            patch.setattr(plain_neighbours, "RECORDS_A_PART", 10**9)
            patch.setattr(plain_neighbours, "RECORDS", 16)
            patch.setattr(plain_neighbours, "CHUNKS", 1)
            patch.setattr(plain_neighbours, "PAIRS_AT_ONCE", 100)
            field = plain_neighbours.NearbyCounts(axes, members, members, reach)
            assert field.few(points, limit).tolist() == expected


def _brute(axes: list[PlainAxis], points: list[Any], members: Any, reach: Fraction) -> list[int]:
    spans = []
    for axis in axes:
        known = [p for p in (axis.places[c] for c in axis.records[members]) if p is not None]
        spans.append((max(known) - min(known) if known else 0) or 1)
    found = []
    for point in zip(*points, strict=True):
        near = 0
        for record in zip(*(axis.records[members] for axis in axes), strict=True):
            square = Fraction(0)
            for axis, span, a, b in zip(axes, spans, point, record, strict=True):
                here, there = axis.places[a], axis.places[b]
                if here is None or there is None:
                    square += axis.weight * (here is not there)
                else:
                    square += axis.weight * Fraction(here - there, span) ** 2
            near += square <= reach**2
        found.append(near)
    return found
