"""DuckDB makes the classes that memory makes: over distinct records, and where it has to cut by itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.engine_tables import by_engine, classes_by_engine, engine_tables, in_memory, rows_of

from incrowd.commands.publish import publish
from incrowd.errors import Infeasible
from incrowd.flow import Table
from incrowd.policy import Policy

PEOPLE = Table.of(
    {
        "age": [str(20 + i * 7 % 50) for i in range(120)],
        "zip": [f"0{i % 4}{i % 7}00" for i in range(120)],
        "sex": [("F", "M", "")[i % 3] for i in range(120)],
        "ill": [("flu", "cold", "x,y", "=1", "")[i * i % 5] for i in range(120)],
        "team": [f"t{i % 6}" for i in range(120)],
    }
)
KINDS = ("distinct", "entropy", "recursive", "frequency")
QUASI = {"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [5, 2]}}, "sex": {}}
POLICY = Policy(quasi_identifiers=QUASI, sensitive=["ill"], keep=["team"], privacy={"k": 4}, totals=True)


@settings(max_examples=50)
@given(case=engine_tables())
def test_classes_are_those_of_memory(case: tuple[Table, Policy]) -> None:
    """By day twenty tables, by night five hundred: all at once, and cut by the engine first."""
    table, policy = case
    rows, d = in_memory(table, policy), len(policy.quasi_identifiers)
    wanted: Counter[tuple[str | None, ...]] = Counter()
    for row, count in rows.items():
        wanted[row[:d]] += count
    with TemporaryDirectory() as folder:
        assert classes_by_engine(table, policy, Path(folder)) == wanted
        assert classes_by_engine(table, policy, Path(folder), tuples=3) == wanted


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize("tuples", [None, 20], ids=["at-once", "in-blocks"])
def test_a_release_has_the_rows_and_files_of_memory(form: str, tuples: int | None, tmp_path: Path) -> None:
    release = by_engine(PEOPLE, POLICY, tmp_path, form, tuples)
    assert rows_of(release) == in_memory(PEOPLE, POLICY)
    assert bool(release.blocks) == (tuples is not None)
    given_away = [line for line in publish(PEOPLE, POLICY).warnings if "single value" in line]
    assert [line for line in release.warnings if "single value" in line] == given_away
    beside = {"README.md", "hierarchies.csv", "release.json", "totals.csv"}
    assert {path.name for path in release.folder.iterdir()} == beside | {f"data.{form}"}
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(".")} == set()
    assert release.audit.stat().st_mode & 0o777 == 0o700


def with_l(policy: Policy, kind: str, l: int) -> Policy:  # noqa: E741  the paper's letter
    recursive = kind == "recursive"
    return policy.with_(l=l, l_kind=kind, c=2) if recursive else policy.with_(l=l, l_kind=kind)


@settings(max_examples=8)
@given(
    case=st.sampled_from((["ill"], ["ill", "job"])).flatmap(engine_tables),
    kind=st.sampled_from(KINDS),
    l=st.integers(2, 3),
)
def test_cuts_that_l_refuses_are_those_of_memory(case: tuple[Table, Policy], kind: str, l: int) -> None:  # noqa: E741
    """Counted by the engine, and in blocks afterwards; two sensitive columns must both keep l."""
    table, policy = case
    policy = with_l(policy, kind, l)
    try:
        rows = in_memory(table, policy)
    except Infeasible:
        rows = Counter()
    assume(rows)
    d, wanted = len(policy.quasi_identifiers), Counter[tuple[str | None, ...]]()
    for row, count in rows.items():
        wanted[row[:d]] += count
    with TemporaryDirectory() as folder:
        assert classes_by_engine(table, policy, Path(folder)) == wanted
        assert classes_by_engine(table, policy, Path(folder), tuples=3) == wanted


def test_some_cuts_are_refused_by_l(tmp_path: Path) -> None:
    """Else the test above would show nothing: the top cuts differ with l and without."""
    policy = with_l(POLICY, "entropy", 2)
    alone = classes_by_engine(PEOPLE, POLICY, tmp_path, tuples=40)
    assert classes_by_engine(PEOPLE, policy, tmp_path, tuples=40) != alone


@pytest.mark.parametrize(
    ("kind", "tuples"),
    [("distinct", None), ("entropy", 20), ("recursive", 20), ("frequency", None), ("frequency", 20)],
)
def test_l_is_kept_as_in_memory(kind: str, tuples: int | None, tmp_path: Path) -> None:
    policy = with_l(POLICY, kind, 2)
    release = by_engine(PEOPLE, policy, tmp_path, tuples=tuples)
    assert rows_of(release) == in_memory(PEOPLE, policy)
    assert bool(release.blocks) == (tuples is not None)
    assert f"{kind}-l-diversity (ill)" in [check.name for check in release.verdict.checks]


def test_l_that_cannot_be_is_refused(tmp_path: Path) -> None:
    for tuples in (None, 3):
        with pytest.raises(Infeasible, match="ill: all 120 rows as one class"):
            by_engine(PEOPLE, POLICY.with_(l=9), tmp_path, tuples=tuples)
    assert [path.name for path in tmp_path.iterdir()] == ["table.parquet"]
