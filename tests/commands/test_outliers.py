"""Who would stand out: counts by definition, samples that say so, a proposal that fits, and the command."""

from __future__ import annotations

import tomllib
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bad_requests import ROWS, csv, policy
from support.commands import asked, incrowd, listing
from test_docs import code_blocks, shown_commands
from twins import density as naive_density
from twins.plain import Column, Space, Table

from incrowd import flow
from incrowd.commands.outliers import FEW, Calibration, outliers
from incrowd.commands.outliers_density import DensityOutliers
from incrowd.errors import InputError
from incrowd.examples import write_example
from incrowd.policy import Policy
from incrowd.reports.chart import ChartLine, RateChart
from incrowd.reports.svg import BOTTOM, HEIGHT, TOP

Numbers = list[int | None]


def numbers(*columns: Numbers) -> flow.Table:
    """Columns age, pay, debt: whole numbers, None for missing."""
    names = ("age", "pay", "debt")
    texts = [["" if value is None else str(value) for value in column] for column in columns]
    return flow.Table.of(dict(zip(names, texts, strict=False)))


def request(plain: dict[str, Any] | None = None, **privacy: Any) -> Policy:
    said = {} if plain is None else {"plain": plain}
    kinds = {"age": {"type": "numeric"}}
    sensitive = {"pay": {"type": "numeric"}, "debt": {"type": "numeric"}}
    return Policy(quasi_identifiers=kinds, sensitive=sensitive, privacy={"k": 2, **said, **privacy})


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example(tmp_path_factory.mktemp("clinic"), rows=500)


@pytest.fixture(scope="module")
def found(clinic: Path) -> Calibration:
    return outliers(clinic / "patients.csv", Policy.load(clinic / "policy.toml"))


# ---- counts


VALUES = st.lists(
    st.tuples(*[st.one_of(st.none(), st.integers(0, 6), st.just(40))] * 3), min_size=2, max_size=12
)


@settings(deadline=None, max_examples=60)
@given(
    VALUES,
    st.sampled_from(["once", "repeat", "none"]),
    st.booleans(),
    st.sampled_from(["0.0", "0.05"]),
    st.sampled_from(["1.0", "2.5"]),
)
def test_counts_are_those_of_the_definition(
    rows: list[tuple[int | None, ...]], removal: str, rescale: bool, margin: str, weight: str
) -> None:
    said = {"removal": removal, "rescale": rescale, "margin": margin, "weights": {"pay": weight}}
    columns = [list(column) for column in zip(*rows, strict=True)]
    ps, ds = ["0.3", "0.55", "0.8"], ["0.3", "0.55", "1", "1.05"]
    asked_for = request({"p": "0.8", "d": 1, **said})
    for at in outliers(numbers(*columns), asked_for, p=ps, d=ds).grid:
        ages = tuple(dict.fromkeys(columns[0]))
        twin = Space(
            Table(
                (Column("range", ages, tuple(map(Fraction, range(len(ages))))),),
                tuple((ages.index(row[0]),) for row in rows),
                tuple(row[1:] for row in rows),
                (Fraction(weight), Fraction(1)),
                Fraction(at.p) - Fraction(margin),
                Fraction(at.d) - Fraction(margin),
                removal=removal,
                rescale=rescale,
                margin=Fraction(margin),
            )
        )
        no_row = twin.gone | twin.table.stranded(twin.gone)
        assert (at.removed, at.outliers) == (len(no_row), len(twin.gone) + len(twin.outliers()))


def test_a_sample_says_so_and_counts_removed_records_among_all() -> None:
    """Everybody is there three times, side by side, so a third of them at even steps has the same shares."""
    columns: list[Numbers] = [[i % 23 for i in range(150)], [*range(149), 400], [i % 7 for i in range(150)]]
    thrice: list[Numbers] = [[value for value in column for _ in range(3)] for column in columns]
    one, all_, some = (
        outliers(numbers(*table), request(), d=["0.4", "0.6", "1"], most=most)
        for table, most in ((columns, 150), (thrice, 450), (thrice, 150))
    )
    assert [at.share for at in one.grid] == [at.share for at in all_.grid] == [at.share for at in some.grid]
    assert {at.removed for at in some.grid} == {3 * at.removed for at in one.grid} != {0}
    assert (some.asked, some.records) == (150, 450)
    assert "150 records at even steps of 450" in some.notes[0]
    assert not any("even steps" in note for note in (*one.notes, *all_.notes))


# ---- the proposal


def test_the_proposal_fits_and_a_hundredth_less_does_not(clinic: Path, found: Calibration) -> None:
    best = found.proposal
    assert best is not None
    less = str(Fraction(best.d) * 100 - 1)
    near = outliers(
        clinic / "patients.csv",
        Policy.load(clinic / "policy.toml"),
        p=["0.8"],
        d=[best.d, f"{less[:-2]}.{less[-2:]}"],
    )
    assert near.proposal == best
    assert Fraction(best.outliers, best.asked) <= FEW
    assert near.at(best.p, f"{less[:-2]}.{less[-2:]}").share > FEW
    assert found.paper is not None
    assert found.paper.share > 0.9  # nine columns: nearly everybody stands out at the paper's d


@pytest.mark.parametrize(("allowed", "most"), [("0.0", 0), ("0.05", 2)])
def test_no_more_are_removed_than_may_be_left_out(allowed: str, most: int) -> None:
    """Two of 400 have a value far from all others, one of them farther: 0.5 % may go, if anybody may."""
    pay: Numbers = [*(i % 10 for i in range(398)), 90, 100]
    table = numbers([0] * 400, pay, [0] * 400)
    best = outliers(table, request(max_suppression=allowed)).proposal
    assert best is not None
    assert best.removed == most


def test_if_nobody_stands_out_nothing_is_proposed() -> None:
    found = outliers(numbers([3] * 9, [4] * 9, [5] * 9), request())
    assert found.proposal is None
    assert any(note.startswith("there are no outliers at any p and d") for note in found.notes)


@pytest.mark.parametrize(
    ("d", "says"), [("0.06", "100% are outliers at the policy's"), (9, "there are no outliers at the")]
)
def test_a_policy_that_hides_everybody_or_nobody_is_told(d: object, says: str) -> None:
    """Ten people who differ from each other in everything."""
    table = numbers([*range(10)], [0, 9] * 5, [9, 9, 0, 0, 9, 9, 0, 0, 9, 9])
    found = outliers(table, request({"p": "0.5", "d": d}))
    assert found.own == found.at("0.5", str(d))
    assert [note for note in found.notes if note.startswith(says)]


def test_a_column_of_two_values_dominates_and_the_weight_makes_it_even() -> None:
    columns: list[Numbers] = [
        [i % 2 for i in range(60)],
        [i * 7 % 60 for i in range(60)],
        [i * 11 % 60 for i in range(60)],
    ]
    first = outliers(numbers(*columns), request()).parts[0]
    assert (first.column, bool(first.instead)) == ("age", True)
    weights = {"p": "0.8", "d": "0.85", "weights": {"age": first.instead}}
    parts = {part.column: part for part in outliers(numbers(*columns), request(weights)).parts}
    assert abs(parts["age"].share - 1 / 3) < 0.02
    assert not any(part.instead for part in parts.values())


def test_sensitive_values_that_one_rich_person_squashes_are_noticed() -> None:
    pay: Numbers = [*(i % 9 for i in range(59)), 10**6]
    table = numbers([i % 2 for i in range(60)], pay, pay)
    notes = outliers(table, request({"p": "0.8", "d": 1, "removal": "none"})).notes
    assert any("sensitive columns (pay, debt) make up" in note for note in notes)


# ---- the command


def test_the_command_prints_lines_for_the_policy(clinic: Path, found: Calibration, tmp_path: Path) -> None:
    before = listing(clinic)
    ran = incrowd("outliers", *asked(clinic), "-o", tmp_path / "a.svg")
    assert (ran.code, ran.err) == (0, "")
    pasted = ran.out[ran.out.index("[privacy.plain]") : ran.out.index("Wrote")]
    with_them = tmp_path / "policy.toml"
    text = (clinic / "policy.toml").read_text().replace('"education.csv"', f'"{clinic}/education.csv"')
    with_them.write_text(text + pasted)
    plain = Policy.load(with_them).privacy.plain
    assert plain is not None
    assert found.proposal is not None
    assert [str(plain.p), str(plain.d)] == [found.proposal.p, found.proposal.d]
    again = incrowd("outliers", clinic / "patients.csv", "-p", with_them, "--json").json
    assert again["policy"] == again["proposal"] == found.proposal.to_dict()
    assert again["grid"] == [at.to_dict() for at in found.grid]
    shown = incrowd("outliers", clinic / "patients.csv", "-p", with_them).out
    assert "proposed, the policy's" in shown
    assert listing(clinic) == before


def test_the_picture_is_a_picture(clinic: Path, found: Calibration) -> None:
    root = ET.fromstring(found.chart().svg())
    texts = ["".join(word.itertext()) for word in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {f"p = {p}" for p in found.ps} < set(texts)
    assert any(text.startswith("proposed: 0.8, ") for text in texts)


def test_rates_have_powers_of_ten_of_one_height() -> None:
    frame = RateChart("", "d", "%", (ChartLine("a", ((1, 100), (2, 0))),), 0.1).frame()
    assert frame.y_ticks == (0.0, 0.1, 1.0, 10.0, 100.0)
    heights = [frame.y(tick) for tick in frame.y_ticks]
    step = (HEIGHT - TOP - BOTTOM) / 4
    assert heights == pytest.approx([HEIGHT - BOTTOM - step * i for i in range(5)])
    with pytest.raises(ValueError, match="not negative"):
        RateChart("", "d", "%", (ChartLine("a", ((1, -1),)),), 0.1)


def lay(folder: Path, text: str) -> tuple[Path, str, Path]:
    (folder / "t.csv").write_text(csv())
    (folder / "p.toml").write_text(text)
    return folder / "t.csv", "-p", folder / "p.toml"


def test_no_cell_is_shown(tmp_path: Path) -> None:
    ran = incrowd("outliers", *lay(tmp_path, policy()), "-o", tmp_path / "x.svg")
    assert ran.code == 0
    said = ran.out + ran.err + (tmp_path / "x.svg").read_text()
    assert not [cell for row in ROWS for cell in row if cell in said]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            policy().replace('sensitive = ["ill"]', 'drop = ["ill"]'),
            "no column is sensitive",
            id="sensitive",
        ),
        pytest.param(
            'sensitive = ["ill"]\ndrop = ["name", "age", "zip", "visit"]\n',
            "no column has the role",
            id="quasi",
        ),
        pytest.param(
            policy(privacy='k = 2\n[privacy.plain]\np = 0.8\nd = 1\ncolumns = ["age"]'),
            "must be sensitive",
            id="columns",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    ran = incrowd("outliers", *lay(tmp_path, text))
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert tomllib.loads(text)


def test_files_are_not_overwritten_and_a_policy_is_needed(clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("mine")
    for words, says in (
        ((*asked(clinic), "-o", tmp_path / "a.svg"), "new file"),
        ((*asked(clinic), "-o", tmp_path / "a.png"), "ends in .svg"),
        ((clinic / "patients.csv",), "pass it with -p"),
        ((clinic / "nobody.csv", "-p", clinic / "policy.toml"), "nobody.csv"),
    ):
        ran = incrowd("outliers", *words)
        assert (ran.code, ran.out) == (2, "")
        assert says in ran.err
    assert (tmp_path / "a.svg").read_text() == "mine"


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First with the example's own policy, then with the lines that the page adds to it."""
    write_example(tmp_path / "tour")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (added,) = code_blocks("docs/outliers.md", "toml")
    commands = list(shown_commands("docs/outliers.md"))
    assert len(commands) == 3
    for command, lines in commands:
        printed = " ".join(incrowd(*command.split()[1:]).out.split())
        assert not [line for line in lines if " ".join(line.split()) not in printed]
        text = (tmp_path / "tour" / "policy.toml").read_text()
        if added not in text:
            (tmp_path / "tour" / "policy.toml").write_text(text + added)


# Density


def test_densities_are_counted_by_definition_and_against_outliers_by_distance() -> None:
    pays: Numbers = [3, 4, 5, 6, 7, 30, 31, 33, 36, 40, 90]
    ages: Numbers = [20, 21, 22, 23, 24, 60, 61, 62, 63, 64, 41]
    plain = {"p": "0.8", "d": "0.5", "margin": 0}
    privacy = {"k": 2, "plain": plain}
    policy = Policy(quasi_identifiers={"age": {}}, sensitive={"pay": {"type": "numeric"}}, privacy=privacy)
    found = outliers(numbers(ages, pays), policy, definition="lof", neighbours=3)
    assert isinstance(found, DensityOutliers)
    spread = naive_density.local_outlier_factors(list(zip(ages, pays, strict=True)), 3)
    by_distance = outliers(numbers(ages, pays), policy, p=["0.8"], d=["0.5"])
    assert found.distance == by_distance.at("0.8", "0.5").outliers > 0
    for at in found.grid:
        assert at.outliers == sum(factor > float(at.factor) for factor in spread)
        assert at.also <= min(at.outliers, found.distance)
    assert found.at(3, "1.5").outliers >= 1
    assert found.at(3, "5").share == found.at(3, "5").outliers / 11
    assert "above 1.5 (3 neighbours)" in found.headline()
    with pytest.raises(InputError, match="definition must be distance or lof, got knn"):
        outliers(numbers(ages, pays), policy, definition="knn")
    with pytest.raises(InputError, match="neighbours must be at least 1"):
        outliers(numbers(ages, pays), policy, definition="lof", neighbours=0)
    some = outliers(numbers(ages, pays), policy, definition="lof", neighbours=3, most=8)
    assert (some.asked, some.records) == (8, 11)
    assert "8 records at even steps of 11" in some.notes[1]


def test_the_command_shows_densities_and_has_no_picture_of_them(clinic: Path, tmp_path: Path) -> None:
    ran = incrowd("outliers", *asked(clinic), "--definition", "lof", "--neighbours", 5, "--json")
    assert (ran.code, {at["neighbours"] for at in ran.json["grid"]}) == (0, {5})
    ran = incrowd("outliers", *asked(clinic), "--definition", "lof", "-o", tmp_path / "a.svg")
    assert ran.code == 2
    assert "no picture of local outlier factors" in ran.err
    ran = incrowd("outliers", *asked(clinic), "--neighbours", 5)
    assert "leave out --neighbours" in ran.err
