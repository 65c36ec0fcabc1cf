"""Methods over a sorted row: DuckDB makes the rows that memory makes, but for the order of equal records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.engine_tables import Rows, by_engine, classes_by_engine, engine_tables, in_memory, rows_of

from incrowd.assign import Entropy, system
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.engines import in_duckdb
from incrowd.engines.in_duckdb import DuckEngine
from incrowd.engines.ordered import LabelledRows
from incrowd.errors import Infeasible, InputError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing import large_rows

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "hilbert": ("hilbert", {}),
    "ring": ("ring", {}),
    "ring, as printed": ("ring", {"rule": "pseudocode"}),
    "ring along the curve": ("ring", {"order": "hilbert"}),
}
FORMS = dict(zip(METHODS, ("csv", "csv", "parquet", "parquet"), strict=True))
COUNT = 150
PEOPLE = Table.of(
    {
        "age": [str(20 + i * 7 % 50) for i in range(COUNT)],
        "zip": [f"0{i % 4}{i % 7}00" for i in range(COUNT)],
        "sex": [("F", "M", "")[i % 3] for i in range(COUNT)],
        "ill": [("flu", "cold", "x,y", "=1", "")[i * i % 5] for i in range(COUNT)],
        "team": [f"t{i % 6}" for i in range(COUNT)],
    }
)
QUASI = {"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [5, 2]}}, "sex": {}}


def by(policy: Policy, name: str) -> Policy:
    method, options = METHODS[name]
    return Policy(
        quasi_identifiers=policy.quasi_identifiers,
        sensitive=list(policy.sensitive),
        keep=list(policy.keep),
        privacy={"k": policy.k},
        method=method,
        options=options,
        totals=policy.totals,
    )


POLICY = Policy(quasi_identifiers=QUASI, sensitive=["ill"], keep=["team"], privacy={"k": 4}, totals=True)


def cells_alone(rows: Rows, d: int) -> Rows:
    found: Rows = Counter()
    for row, count in rows.items():
        found[row[:d]] += count
    return found


@settings(max_examples=9)
@given(case=engine_tables(), name=st.sampled_from(sorted(METHODS)))
def test_rows_are_those_of_memory(case: tuple[Table, Policy], name: str) -> None:
    """All cells of all rows: at once, and piece by piece."""
    table, policy = case[0], by(case[1], name)
    wanted = cells_alone(in_memory(table, policy), len(policy.quasi_identifiers))
    with TemporaryDirectory() as folder:
        assert classes_by_engine(table, policy, Path(folder)) == wanted
        assert classes_by_engine(table, policy, Path(folder), tuples=7) == wanted


@pytest.mark.parametrize("name", METHODS)
def test_releases_are_verified(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In pieces of a few rows, from keys in many files; CSV also in memory, by the verifier that is there."""
    monkeypatch.setattr(in_duckdb, "ROWS_AT_ONCE", 23)
    monkeypatch.setattr(in_duckdb, "BYTES_A_CELL", 500_000)
    monkeypatch.setattr(in_duckdb, "ROWS_A_GROUP", 50)
    sorted_in, real = list[int](), DuckEngine._sort_in_pieces

    def counted(engine: DuckEngine, rows: str, piece: str, many: int, *words: Any) -> None:
        sorted_in.append(many)
        real(engine, rows, piece, many, *words)

    monkeypatch.setattr(DuckEngine, "_sort_in_pieces", counted)
    policy = by(POLICY, name)
    wanted = cells_alone(in_memory(PEOPLE, policy), 3)
    form = FORMS[name]
    release = by_engine(PEOPLE, policy, tmp_path, form, 30)
    assert release.blocks > 1
    assert len(sorted_in) == 2
    assert min(sorted_in) > 1
    assert cells_alone(rows_of(release), 3) == wanted
    engine = {"csv": "memory", "parquet": "duckdb"}[form]
    assert verify(release.folder, tmp_path / f"table.{form}", policy, engine=engine).passed


def distinct(rows: int) -> Table:
    """No two records are equal, so nothing is left to chance but who is behind the rows of rings."""
    rng = np.random.default_rng(3)
    return Table.of(
        {
            "age": [str(each) for each in rng.permutation(rows)],
            "sex": [("F", "M", "")[each] for each in rng.integers(0, 3, rows)],
            "ill": [("flu", "cold", "")[each] for each in rng.integers(0, 3, rows)],
        }
    )


def test_without_equal_records_hilbert_is_memory_to_the_last_value(tmp_path: Path) -> None:
    policy = Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], privacy={"k": 3}, method="hilbert")
    table = distinct(90)
    assert rows_of(by_engine(table, policy, tmp_path, tuples=20)) == in_memory(table, policy)


@st.composite
def diverse(draw: st.DrawFn) -> tuple[Table, Policy]:
    """No two records are equal; one or two sensitive columns keep l, of any kind."""
    rows, kind = (
        draw(st.integers(12, 60)),
        draw(st.sampled_from(("distinct", "entropy", "recursive", "frequency"))),
    )
    sensitive = draw(st.sampled_from((["ill"], ["ill", "job"])))
    columns = {
        "age": [str(each) for each in draw(st.permutations(range(rows)))],
        "sex": draw(st.lists(st.sampled_from(("F", "M", "")), min_size=rows, max_size=rows)),
    }
    for name in sensitive:
        columns[name] = draw(st.lists(st.sampled_from("abcd"), min_size=rows, max_size=rows))
    privacy = {"k": draw(st.integers(2, 5)), "l": draw(st.integers(2, 3)), "l_kind": kind}
    privacy |= {"c": 2} if kind == "recursive" else {}
    quasi = {"age": {"type": "numeric"}, "sex": {}}
    return Table.of(columns), Policy(
        quasi_identifiers=quasi, sensitive=sensitive, privacy=privacy, method="hilbert"
    )


@settings(max_examples=40)
@given(case=diverse())
def test_groups_of_the_curve_keep_l_as_in_memory(case: tuple[Table, Policy]) -> None:
    """Merged from left to right or, by frequency, dealt; at once and in pieces."""
    table, policy = case
    try:
        rows = in_memory(table, policy)
    except Infeasible:
        rows = Counter()
    assume(rows)
    with TemporaryDirectory() as folder:
        for tuples in (None, 7):
            assert classes_by_engine(table, policy, Path(folder), tuples=tuples) == cells_alone(rows, 2)


@pytest.mark.parametrize("kind", ["distinct", "frequency"])
def test_l_of_the_curve_is_verified(kind: str, tmp_path: Path) -> None:
    """To the last value the rows of memory, and more than without l."""
    policy = Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], privacy={"k": 2}, method="hilbert")
    table, wanted = distinct(90), policy.with_(l=2, l_kind=kind)
    release = by_engine(table, wanted, tmp_path, tuples=20)
    assert rows_of(release) == in_memory(table, wanted) != in_memory(table, policy)
    assert f"{kind}-l-diversity (ill)" in [check.name for check in release.verdict.checks]


def test_dealing_that_takes_too_much_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_rows, "BYTES_DEALT", 10**9)
    with pytest.raises(InputError, match=r"about .* of memory with hilbert; raise .* or take mondrian"):
        by_engine(PEOPLE, by(POLICY, "hilbert").with_(l=2, l_kind="frequency"), tmp_path)


def equal_people(rows: int) -> tuple[Table, Policy]:
    """All records are equal but for the sensitive value: which classes these are in is left to ties alone."""
    columns = {"age": ["30"] * rows, "ill": [("flu", "cold")[i * 2 // rows] for i in range(rows)]}
    policy = Policy(quasi_identifiers=["age"], sensitive=["ill"], privacy={"k": 3}, method="hilbert")
    return Table.of(columns), policy


def test_who_of_equal_records_comes_first_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory the order of the table decides; here the flu, which is first there, is found everywhere."""
    table, policy = equal_people(60)
    asked: list[int] = []

    def counted(size: int) -> bytes:
        asked.append(size)
        return system(size)

    real = DuckEngine.__init__

    def with_entropy(self: DuckEngine, *given: Any, **words: Any) -> None:
        entropy: Entropy = counted
        real(self, *given, **{**words, "entropy": entropy})

    monkeypatch.setattr(DuckEngine, "__init__", with_entropy)
    release = by_engine(table, policy, tmp_path)
    assert asked == [8 * 60, 8 * 60]  # for ties, and, never the same numbers, for the order of rows
    ties = [line["ill"] for line in _sorted_row(table, policy, tmp_path)]
    assert ties not in (sorted(ties), sorted(ties, reverse=True))
    assert rows_of(release) == Counter({("30", "flu"): 30, ("30", "cold"): 30})


def _sorted_row(table: Table, policy: Policy, folder: Path) -> list[dict[str, str]]:
    """The sorted row itself, as the engine has it before it is cut."""
    found: list[dict[str, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        real = DuckEngine.label

        def seen(self: DuckEngine, rows: LabelledRows) -> None:
            if not found:
                found.extend({"ill": text} for (text,) in self.session.rows(f"SELECT p0 FROM {self._row}"))
            real(self, rows)

        patch.setattr(DuckEngine, "label", seen)
        classes_by_engine(table, policy, folder)
    return found


def test_rows_that_take_too_much_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_rows, "BYTES_A_CELL", 10_000_000)
    with pytest.raises(InputError, match=r"rows differ so far, and their cells take about .* take mondrian"):
        by_engine(PEOPLE, by(POLICY, "ring"), tmp_path)


def test_too_little_room_for_sorting_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_duckdb, "BYTES_A_COLUMN", 10**15)
    with pytest.raises(InputError, match="are needed while the release is made"):
        by_engine(PEOPLE, by(POLICY, "hilbert"), tmp_path)


def test_rings_warn_of_single_values_as_memory_does(tmp_path: Path) -> None:
    """Where all have one value, whoever is behind which row."""
    table = Table.of({"age": [str(i % 11) for i in range(60)], "ill": ["flu"] * 60})
    policy = Policy(quasi_identifiers=["age"], sensitive=["ill"], privacy={"k": 3}, method="ring")
    single = [line for line in by_engine(table, policy, tmp_path, tuples=20).warnings if "single" in line]
    wanted = [line for line in publish(table, policy).warnings if "single" in line]
    assert [line.split(";")[0] for line in single] == [line.split(";")[0] for line in wanted]
    assert single


def test_rings_say_what_is_stated_and_what_is_not_computed(tmp_path: Path) -> None:
    release = by_engine(PEOPLE, by(POLICY, "ring"), tmp_path)
    assert release.manifest["match_probability"] == {"drawn": "1/4"}
    disclosure = release.disclosure
    assert disclosure is not None
    sentences = disclosure.sentences()
    assert sentences[0].startswith("not computed")
    assert "knows one person's row" in sentences[1]
    assert disclosure.to_dict()["after_one_known"] is not None
