"""Figures 8 to 13 of "Hiding Distinguished Ones into Crowd": points, statements, the command."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from incrowd.algorithms.outliers.expc import COMPONENTS
from incrowd.cli.app import app
from incrowd.distance_outliers import Space
from incrowd.errors import InputError, TableError
from incrowd.long_work import unwatched
from incrowd.reproduce.outcome import Figure
from incrowd.reproduce.outliers import figures as outliers
from incrowd.reproduce.outliers.trials import (
    EXPC,
    GNOF,
    GOF,
    INCOGNITO,
    NEEDED,
    QUASI,
    REMOVED,
    WAGE,
    OutlierSetting,
    Workers,
    information_loss,
    load_workers,
    salary_classes,
    trial,
    trials,
)

Panels = dict[str, Figure]
TINY = outliers.OutlierScale((60, 120), 60, (2, 3), ("1.1", "1.2"), ("0.8", "0.9"), 60, 60, k=3)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INCROWD_DATA", raising=False)


def write_census(folder: Path, n: int = 300) -> None:
    """A census of the same shape as the real one, with hierarchies; every third has no wage."""
    dice = Random(5)
    sizes = {"SEX": 2, "SCHL": 6, "MAR": 4, "RAC1P": 5, "COW": 6, "HISP": 5, "OCCP": 9}
    (folder / "acs2024_census" / "hierarchies").mkdir(parents=True)
    for name, size in sizes.items():
        path = folder / "acs2024_census" / "hierarchies" / f"{name}.csv"
        path.write_text("".join(f"{v};{'few' if 2 * v <= size else 'many'};*\n" for v in range(1, size + 2)))
    with gzip.open(folder / NEEDED[0].path, "wt", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*QUASI, WAGE])
        for i in range(n):
            cells: list[Any] = [
                dice.randrange(18, 70),
                *(dice.randrange(1, size + 1) for size in sizes.values()),
            ]
            if i % 10 == 1:
                cells[5] = cells[7] = ""
            writer.writerow([*cells, 0 if i % 3 == 0 else dice.randrange(1, 90) * 1000])


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    write_census(folder)
    return folder


@pytest.fixture(scope="module")
def workers(census: Path) -> Workers:
    return load_workers(census)


# Data


@given(st.lists(st.integers(1, 30), min_size=1, max_size=200))
def test_salary_classes_are_ranks_and_one_wage_is_one_class(wages: list[int]) -> None:
    found = salary_classes(np.array(wages, np.int64)).tolist()
    for wage, number in zip(wages, found, strict=True):
        below = sum(other < wage for other in wages)
        equal = sum(other == wage for other in wages)
        assert number == 50 * (below + Fraction(equal, 2)) // len(wages)
    assert 0 <= min(found) <= max(found) < 50


def test_workers_have_an_occupation_and_a_wage_and_hierarchies_what_they_have(workers: Workers) -> None:
    assert len(workers) == 300 - 100 - 20  # of the 30 without an occupation 10 have no wage either
    data = workers.first(100, 5)
    assert [attribute.name for attribute in data.attributes] == ["AGEP", "SEX", "SCHL", "MAR", "RAC1P"]
    assert data.attributes[0].tree is None
    tree = workers.first(100, 8).attributes[7].tree
    assert tree is not None
    assert set(tree.leaves) == set("123456789")  # the file has one more, which nobody has
    salary = data.sensitive[0]
    assert [int(salary.texts[code]) for code in salary.codes] == workers.salary[:100].tolist()
    with pytest.raises(TableError, match="has 180 people with a wage; 181 are needed"):
        workers.first(181, 5)


def test_real_workers_have_fifty_classes_and_the_printed_setting_makes_half_of_them_outliers(
    real_data: Path,
) -> None:
    if any(stored.missing_from(real_data) for stored in NEEDED):
        pytest.skip("no census among the real tables: its workers are not counted")
    people = load_workers(real_data)
    counts = np.bincount(people.salary)
    assert (len(people), counts.size) == (312_140, 50)
    assert 0 < counts.min() <= counts.max() <= 0.033 * len(people)
    ask = outliers.FULL.ask(2000)
    shares = [
        float(Space.of(people.first(2000, 5), each.outliers).outliers().mean())
        for each in (ask, replace(ask, d=outliers.PRINTED_D))
    ]
    assert 0.01 < shares[0] < 0.05
    assert shares[1] > 0.4


# Points


def naive_loss(workers: Workers, n: int, d: int, groups: Sequence[Sequence[int]], printed: bool) -> Fraction:
    """Definition 3.7, cell by cell; who is in no group loses all."""
    columns = [column.rows()[:n] for column in workers.table.columns[:d]]
    lost = Fraction((n - sum(map(len, groups))) * d)
    for group in groups:
        for name, column in zip(workers.table.names[:d], columns, strict=True):
            lost += len(group) * naive_cell(workers, name, column, group, printed)
    return lost / n


def naive_cell(
    workers: Workers, name: str, column: list[Any], group: Sequence[int], printed: bool
) -> Fraction:
    met = {column[i] for i in group}
    if name == "AGEP":
        ages, whole = [int(text) for text in met], [int(text) for text in column]
        more = int(printed)
        return Fraction(max(ages) - min(ages) + more, max(whole) - min(whole) + more)
    rows = workers.levels[name]
    for level in range(len(rows[0])):
        labels = {row[level] for row in rows if row[0] in met}
        if len(labels) == 1:
            return Fraction(sum(row[level] in labels for row in rows) - 1, len(rows) - 1)
    raise AssertionError("no node holds all")


@given(st.lists(st.integers(-1, 4), min_size=20, max_size=20), st.booleans())
@settings(max_examples=40, deadline=None)
def test_loss_is_that_of_definition_3_7(workers: Workers, labels: list[int], printed: bool) -> None:
    groups = [[i for i, label in enumerate(labels) if label == g] for g in sorted(set(labels) - {-1})]
    found = information_loss(workers.first(20, 5), [np.array(group) for group in groups], printed)
    assert found == pytest.approx(float(naive_loss(workers, 20, 5, groups, printed)))


@pytest.mark.parametrize("name", [EXPC, GNOF, GOF, REMOVED])
def test_every_record_is_in_a_group_or_counted_as_lost(workers: Workers, name: str) -> None:
    ask = OutlierSetting(120, 5, "0.8", "1.1", 3)
    point = trial(workers.first(120, 5), name, ask)
    assert set(point.seconds) == set(COMPONENTS)
    assert point.total == sum(point.seconds.values()) > 0
    kept = 120 - point.suppressed - point.removed
    assert point.groups * point.size == pytest.approx(kept)
    assert point.size >= 3
    assert 5 * (120 - kept) / 120 <= point.zero < point.loss <= 5


def test_points_are_asked_once_and_progress_ends_with_all(workers: Workers) -> None:
    told: list[float] = []
    asked = [(name, OutlierSetting(60, 5, "0.8", "1.2", k)) for name in (INCOGNITO, EXPC) for k in (2, 3, 2)]

    def tell(done: float) -> None:
        told.append(done)

    found = trials(workers, asked, tell)
    assert [*found] == [*dict.fromkeys(asked)]
    assert told == [0.25, 0.5, 0.75, 1.0]
    assert found[EXPC, asked[0][1]].groups > found[EXPC, asked[1][1]].groups > 0


# Statements


def forged() -> tuple[Panels, dict[str, tuple[float, ...]]]:
    """Figures as the paper describes them."""
    ns, ks = (10_000, 50_000), (5, 15)
    parts = dict(zip(COMPONENTS, (0.1, 0.0, 2.0, 0.01), strict=True))
    looked = {**parts, COMPONENTS[1]: 1.0, COMPONENTS[2]: 3.0}
    rival = (3.0, 20.0)
    made = [
        ("8", ns, {EXPC: (2.0, 10.0), GNOF: rival, GOF: rival, INCOGNITO: (0.1, 0.5)}),
        *(
            (f"9{x}", ns, {p: (t, t) for p, t in each.items()})
            for x, each in zip("abc", (parts, looked, looked), strict=True)
        ),
        ("10", ns, {EXPC: (1.0, 5.0), GNOF: rival, GOF: rival}),
        ("11", ns, {EXPC: (16.0, 16.0), GNOF: (18.0, 18.0), GOF: (18.0, 18.0)}),
        ("12a", ks, {"d = 1.1": (4.0, 3.0), "d = 1.2": (3.0, 2.0)}),
        ("12b", ks, {"p = 0.8": (4.0, 3.0), "p = 0.9": (3.0, 2.0)}),
        ("13a", ns, {EXPC: (0.4, 0.3), GNOF: (0.5, 0.4), GOF: (0.5, 0.4), REMOVED: (0.9, 0.8)}),
        ("13b", ks, {"p = 0.8": (0.3, 0.5), "p = 0.9": (0.3, 0.5)}),
        ("13c", ks, {"d = 1.1": (0.3, 0.5), "d = 1.2": (0.29, 0.49)}),
    ]
    panels = {name: Figure(name, name, "n", values, "", lines) for name, values, lines in made}
    return panels, dict.fromkeys((EXPC, GNOF, GOF), (0.001, 0.002))


def held(panels: Panels, residue: dict[str, tuple[float, ...]]) -> dict[str, bool]:
    return {each.says: each.held for each in outliers.statements([*panels.values()], residue)}


def test_the_paper_as_it_describes_itself_holds() -> None:
    found = held(*forged())
    assert [says for says, each in found.items() if not each] == []
    assert len(found) == 24


def line(figure: str, name: str, *values: float) -> Callable[[Panels], None]:
    def spoil(panels: Panels) -> None:
        assert name in panels[figure].lines
        panels[figure] = replace(panels[figure], lines={**panels[figure].lines, name: values})

    return spoil


SPOILT: list[tuple[Callable[[Panels], None], str]] = [
    (line("8", INCOGNITO, 0.1, 11.0), "Incognito is always the fastest"),
    (line("8", GOF, 1.9, 20.0), "ExpC is faster than GNOF and GOF"),
    (line("8", GNOF, 4.1, 20.0), "the gain of ExpC grows"),
    (line("8", GNOF, 3.0, 30.0), "around twice as fast"),
    (line("8", EXPC, 2.0, 1.9), "the time of ExpC grows with n"),
    (line("9b", COMPONENTS[1], 0.1, 1.0), "outlier detection takes considerable"),
    (line("9a", COMPONENTS[2], 2.0, 0.1), "expansion dominates"),
    (line("9c", COMPONENTS[3], 0.01, 0.5), "residue processing"),
    (line("10", GOF, 3.0, 4.0), "expansion of ExpC takes less"),
    (line("11", GNOF, 15.0, 18.0), "always makes the smallest"),
    (line("11", GNOF, 15.0, 18.0), "smaller groups result"),
    (line("12a", "d = 1.2", 5.0, 3.5), "faster as d grows"),
    (line("12a", "d = 1.2", 3.0, 3.0), "Figure 12a: ExpC gets faster as k"),
    (line("12b", "p = 0.9", 5.0, 3.5), "faster as p grows"),
    (line("12b", "p = 0.8", 4.0, 4.5), "Figure 12b: ExpC gets faster as k"),
    (line("13a", REMOVED, 0.3, 0.8), "ExpC always loses least"),
    (line("13a", REMOVED, 0.9, 0.35), "removing outliers always loses most"),
    (line("13b", "p = 0.9", 0.3, 1.0), "Figure 13b: ExpC always loses less than 1"),
    (line("13b", "p = 0.9", 0.3, 0.3), "Figure 13b: ExpC loses more as k"),
    (line("13b", "p = 0.9", 0.3, 0.52), "always the same with larger p"),
    (line("13c", "d = 1.2", 0.3, 1.0), "Figure 13c: ExpC always loses less than 1"),
    (line("13c", "d = 1.1", 0.3, 0.3), "Figure 13c: ExpC loses more as k"),
    (line("13c", "d = 1.2", 0.25, 0.49), "similar with larger d"),
]


@pytest.mark.parametrize(("spoil", "says"), SPOILT, ids=[f"{i} {says}" for i, (_, says) in enumerate(SPOILT)])
def test_other_numbers_break_a_statement(spoil: Callable[[Panels], None], says: str) -> None:
    panels, residue = forged()
    spoil(panels)
    assert [each for said, each in held(panels, residue).items() if says in said] == [False]


def test_many_residues_break_their_statement_and_twice_is_said_of_fifty_thousand_only() -> None:
    panels, residue = forged()
    assert not held(panels, {**residue, GOF: (0.001, 0.02)})[
        "Figure 9: residue tuples are always very few compared with the table"
    ]
    panels["8"] = replace(panels["8"], values=(10_000, 40_000))
    assert not any("twice" in says for says in held(panels, residue))


# The command


def test_the_command_prints_and_writes(census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outliers, "QUICK", TINY)
    out = tmp_path / "out"
    arguments = ["reproduce", "outliers", "--quick", "--data", str(census), "-o", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    for words in ("Five quasi-identifiers", "NOT HELD", "left out by --quick", "Wrote"):
        assert words in result.output
    names = ["8", "9a", "9b", "9c", "10", "11", "12a", "12b", "13a", "13b", "13c"]
    pictures = {f"figure{name}.svg" for name in names}
    assert {path.name for path in out.iterdir()} == {"outliers.json", "outliers.md", *pictures}
    found = json.loads((out / "outliers.json").read_text(encoding="utf-8"))
    assert [each["figure"] for each in found["figures"]] == names
    for each in found["figures"]:
        assert {len(values) for values in each["lines"].values()} == {len(each["values"])}
    assert found["figures"][6]["lines"].keys() == {"d = 1.1", "d = 1.2"}
    assert {each["columns"] for each in found["points"]} == {5, 8}
    assert any(each["d"] == outliers.PRINTED_D for each in found["standing"])


def test_without_the_census_or_its_hierarchies_nothing_is_run(census: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder of real tables was named"):
        outliers.reproduce(True, None, unwatched)
    (tmp_path / NEEDED[0].path).parent.mkdir()
    (tmp_path / NEEDED[0].path).write_bytes((census / NEEDED[0].path).read_bytes())
    with pytest.raises(InputError, match=r"levels of SEX: acs2024_census/hierarchies/SEX\.csv is not in"):
        outliers.reproduce(True, tmp_path, unwatched)


def test_the_full_run_has_the_sizes_and_the_setting_of_the_paper() -> None:
    asked = dict.fromkeys(outliers.FULL.asked())
    assert all(
        (name, outliers.FULL.ask(n)) in asked
        for name in (EXPC, GNOF, GOF)
        for n in range(10_000, 50_001, 10_000)
    )
    assert {(ask.p, ask.d, ask.k) for ask in outliers.FULL.rated()} >= {("0.8", "0.85", 15)}
    assert {ask.columns for _, ask in asked} == {5, 8}
