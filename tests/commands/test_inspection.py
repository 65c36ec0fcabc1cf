"""Risks of any columns, levels of hierarchies, records before and after: by hand, and on the screen."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import asked, incrowd, listing

from incrowd.commands.inspect import KnownColumns, inspect, level_counts, risk_of
from incrowd.commands.inspect import preview as previewing
from incrowd.commands.inspect.column_facts import numbered_values
from incrowd.commands.inspect.preview import PRIVATE, previewed
from incrowd.commands.inspect.profile import profiled
from incrowd.commands.inspect.risks import telling_combinations
from incrowd.encode import encode
from incrowd.errors import Exposure, InputError, PolicyError, TableError
from incrowd.examples import write_example
from incrowd.flow import Table
from incrowd.measures.risk import exact_classes, reidentification_risk
from incrowd.policy import Policy

cells = st.sampled_from(["a", "b", "c", "", "1", "1.0"])
lines = st.lists(st.tuples(cells, cells, st.sampled_from("pqr")), min_size=1, max_size=30)


def table_of(rows: list[tuple[str, ...]]) -> Table:
    return Table.of({name: [row[j] for row in rows] for j, name in enumerate(["x", "y", "who"])})


def classes(rows: list[tuple[Any, ...]]) -> dict[Any, list[Any]]:
    """Who is in which class: the last cell says whose row it is."""
    found: dict[Any, list[Any]] = {}
    for *known, who in rows:
        found.setdefault(tuple(known), []).append(who)
    return found


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example(tmp_path_factory.mktemp("clinic"), rows=400)


# ---- risk of any columns

WIDE = ("a", "b", "c", "d", "e")
wide_rows = st.lists(st.tuples(*(st.integers(0, most) for most in (1, 2, 3, 9, 30))), min_size=1, max_size=40)


def counted_by_hand(rows: list[tuple[int, ...]], names: tuple[str, ...], sizes: tuple[int, ...]) -> list[Any]:
    """All combinations, the most telling columns first; then those with most unique rows first."""
    column = {name: [row[WIDE.index(name)] for row in rows] for name in names}
    telling = sorted(names, key=lambda name: sum(n * n for n in Counter(column[name]).values()))
    found = []
    for size in sizes:
        for columns in combinations(telling, size):
            counts = Counter(zip(*(column[name] for name in columns), strict=True))
            found.append((columns, sum(count == 1 for count in counts.values())))
    return sorted(found, key=lambda each: (-each[1], len(each[0])))


@given(wide_rows, st.integers(1, 12), st.sampled_from([(2,), (3,), (2, 3)]))
def test_telling_combinations_are_those_of_counting_all(
    rows: list[tuple[int, ...]], most: int, sizes: tuple[int, ...]
) -> None:
    codes = {name: np.array([row[j] for row in rows]) for j, name in enumerate(WIDE)}
    found, _ = telling_combinations(codes, 10**6, sizes=sizes, most=most)
    assert [(one.columns, one.unique) for one in found] == counted_by_hand(rows, WIDE, sizes)[:most]


@given(
    wide_rows,
    st.lists(st.sets(st.sampled_from(WIDE), min_size=3).map(sorted), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_what_was_counted_under_another_policy_stays_right(
    rows: list[tuple[int, ...]], sets: list[list[str]], most: int
) -> None:
    table = Table.of({name: [str(row[j]) for row in rows] for j, name in enumerate(WIDE)})
    known = KnownColumns.of(table, Policy(quasi_identifiers=list(WIDE)))
    for names in sets:
        known = known.under(Policy(quasi_identifiers=names))
        found, bounded = known.telling(known.quasi_identifiers(), most)
        assert [(one.columns, one.unique) for one in found] == counted_by_hand(rows, tuple(names), (3,))[
            :most
        ]
        assert not bounded


def test_a_column_that_is_read_otherwise_is_counted_again() -> None:
    table = Table.of({"x": ["1", "1.0", "2"], "y": ["a", "a", "b"], "z": ["p", "p", "p"]})
    names = ["x", "y", "z"]
    as_texts = KnownColumns.of(
        table, Policy(quasi_identifiers={"x": {"type": "categorical"}, "y": {}, "z": {}})
    )
    assert as_texts.telling(names, 1)[0][0].unique == 3
    as_numbers = as_texts.under(Policy(quasi_identifiers={"x": {"type": "numeric"}, "y": {}, "z": {}}))
    assert as_numbers.telling(names, 1)[0][0].unique == 1


@given(lines, st.integers(2, 5))
def test_risk_of_rows_is_counted_as_by_hand(rows: list[tuple[str, ...]], k: int) -> None:
    found = risk_of(table_of(rows), ["x", "y"], k=k)
    sizes = Counter((x, y) for x, y, _ in rows)
    assert found.classes == len(sizes)
    assert found.unique == sum(size == 1 for size in sizes.values())
    assert (found.below_5, found.below_10, found.below_k) == tuple(
        sum(size for size in sizes.values() if size < limit) for limit in (5, 10, k)
    )
    assert (found.smallest, found.largest) == (min(sizes.values()), max(sizes.values()))
    assert (found.highest, found.rows) == (1 / min(sizes.values()), len(rows))
    assert found.mean_size == pytest.approx(sum(size * size for size in sizes.values()) / len(rows))


@given(lines, st.integers(2, 5))
def test_with_an_entity_classes_count_persons(rows: list[tuple[str, ...]], k: int) -> None:
    texts = {"type": "categorical"}  # else 1 and 1.0 were one number
    policy = Policy(quasi_identifiers={"x": texts, "y": texts}, entity="who")
    found = risk_of(table_of(rows), ["x", "y"], policy, k=k)
    groups = list(classes(rows).values())
    assert found.classes == len(groups)
    assert found.unique == sum(len(group) for group in groups if len(set(group)) == 1)
    assert found.below_k == sum(len(group) for group in groups if len(set(group)) < k)
    shares = [count / len(group) for group in groups for count in Counter(group).values()]
    assert found.highest == pytest.approx(max(shares))


def test_with_a_policy_values_are_compared_and_not_texts() -> None:
    table = Table.of({"age": ["1", "1.0", "2", "?"], "sex": ["F"] * 4})
    policy = Policy(quasi_identifiers={"age": {"type": "numeric"}, "sex": {}}, missing=["", "?"])
    assert risk_of(table, ["age"]).unique == 4
    assert risk_of(table, ["age"], policy).unique == 2


def test_it_agrees_with_measure_and_with_the_profile(clinic: Path) -> None:
    table, policy = clinic / "patients.csv", Policy.load(clinic / "policy.toml")
    found = inspect(table, policy)
    data = encode(found.known.table, policy.schema(found.known.table))
    before = reidentification_risk(exact_classes(data))
    (risk,) = found.risks
    assert set(risk.columns) == set(policy.quasi_identifiers)
    assert (risk.classes, risk.unique) == (before.classes, before.unique)
    assert risk.highest == float(before.highest or 0)
    profile = inspect(table)
    assert profile.risk_of(profile.risk.columns) == profile.risk


def test_a_column_is_numbered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from incrowd.commands.inspect import known_columns

    numbered = list[int]()

    def counting(*given: Any) -> Any:
        numbered.append(1)
        return numbered_values(*given)

    monkeypatch.setattr(known_columns, "numbered_values", counting)
    known = KnownColumns.of(table_of([("a", "b", "p"), ("a", "c", "q")]))
    for columns in (["x"], ["x", "y"], ["y"], ["y", "x"], ["x"]):
        known.risk_of(columns)
    assert len(numbered) == 2


@pytest.mark.parametrize(
    ("columns", "words"), [(["xx"], "did you mean 'x'"), ([], "at least one"), (["x", "nope"], "nope")]
)
def test_wrong_names_are_told(columns: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        risk_of(table_of([("a", "b", "p")]), columns)


def test_a_quasi_identifier_that_the_table_lacks_is_told() -> None:
    with pytest.raises(TableError, match="did you mean 'x' for 'xx'"):
        inspect(table_of([("a", "b", "p")]), {"quasi_identifiers": ["xx", "y"]})


def test_k_is_at_least_two_and_a_table_has_rows() -> None:
    with pytest.raises(InputError, match="at least 2"):
        risk_of(table_of([("a", "b", "p")]), ["x"], k=1)
    with pytest.raises(TableError, match="no rows"):
        risk_of(Table.of({"x": []}), ["x"])


def test_a_profile_keeps_the_table_to_itself() -> None:
    profile = profiled(Table.of({"age": ["canary", "7"], "sex": ["F", "M"]}))
    assert "known" not in profile.to_dict()
    assert "canary" not in repr(profile) + str(profile.risk_of(["age"]))


# ---- levels


zips = st.lists(st.sampled_from(["111", "112", "121", "211", "311", ""]), min_size=1, max_size=30)


@given(zips, st.integers(2, 6))
def test_levels_are_counted_as_by_hand(texts: list[str], k: int) -> None:
    if not any(texts):
        texts = [*texts, "111"]
    found = level_counts(Table.of({"zip": texts}), "zip", hierarchy={"prefix": [2, 1]}, k=k)
    for level, kept in enumerate((3, 2, 1)):
        groups = Counter(text[:kept] for text in texts)  # missing is a group of its own
        told = found.levels[level]
        assert (told.level, told.labels) == (level, len(groups))
        assert (told.smallest, told.largest) == (min(groups.values()), max(groups.values()))
        assert told.below_k == sum(size for size in groups.values() if size < k)
    assert (found.levels[3].labels, found.levels[3].smallest) == (1, len(texts))
    known = KnownColumns.of(
        Table.of({"zip": texts}), Policy(quasi_identifiers={"zip": {"hierarchy": {"prefix": [2, 1]}}})
    )
    assert known.risk_of(["zip"], levels={"zip": 1}).smallest == found.levels[1].smallest


def test_levels_count_persons_and_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;vowel;*\ne;vowel;*\nb;other;*\n")
    table = Table.of({"x": ["a", "a", "e", "b"], "who": ["1", "1", "2", "1"]})
    policy = Policy.from_dict({"quasi_identifiers": ["x"], "entity": "who"}, folder=tmp_path)
    found = level_counts(table, "x", policy, hierarchy="h.csv", k=2)
    assert [(level.labels, level.smallest, level.below_k) for level in found.levels] == [
        (3, 1, 4),
        (2, 1, 1),
        (1, 2, 0),
    ]


def test_levels_that_are_not_there() -> None:
    table, policy = Table.of({"x": ["a"]}), Policy(quasi_identifiers=["x"])
    with pytest.raises(PolicyError, match="no hierarchy"):
        level_counts(table, "x", policy)
    known = KnownColumns.of(table, Policy(quasi_identifiers={"x": {"hierarchy": {"flat": True}}}))
    with pytest.raises(InputError, match="levels 0 to 1"):
        known.risk_of(["x"], levels={"x": 2})


# ---- before and after


PEOPLE = Table.of(
    {
        "age": [str(20 + i % 37) for i in range(200)],
        "town": [f"t{i % 7}" for i in range(200)],
        "ill": [f"v{i % 4}" for i in range(200)],
        "name": [f"n{i}" for i in range(200)],
    }
)


def policy_of(**more: Any) -> Policy:
    said = {"quasi_identifiers": ["age", "town"], "sensitive": ["ill"], "identifiers": ["name"]}
    return Policy(**{**said, "privacy": {"k": 5}, **more})


@pytest.mark.parametrize("method", ["mondrian", "ring", "kfactor"])
def test_a_row_holds_its_record(method: str) -> None:
    found = previewed(PEOPLE, policy_of(method=method), 9)
    assert (len(found.records), found.rows, found.sampled) == (9, 200, 200)
    rows = {(row[0], row[1], row[2]) for row in PEOPLE}
    for record in found.records:
        told = {cell.column: cell for cell in record.cells}
        assert set(told) == {"age", "town", "ill"}  # what names a person is never shown
        assert tuple(told[name].before for name in ("age", "town", "ill")) in rows
        low, high = (told["age"].after.strip("[]").split(",") * 2)[:2]
        assert int(low) <= int(told["age"].before) <= int(high)
        assert told["town"].before in told["town"].after or told["town"].after == "*"
        assert told["ill"].after == told["ill"].before
        assert told["town"].same == (told["town"].before == told["town"].after)


def test_records_go_from_the_least_loss_to_the_largest_and_the_suppressed_come_last() -> None:
    lonely = Table.of({"age": ["30"] * 20 + ["31"] * 20 + ["90"], "ill": ["x", "y"] * 20 + ["z"]})
    policy = Policy(
        quasi_identifiers={"age": {"hierarchy": {"intervals": [10]}}},
        sensitive=["ill"],
        privacy={"k": 5, "max_suppression": "0.1"},
    )
    found = previewed(lonely, policy, 41)
    assert [record.suppressed for record in found.records] == [False] * 40 + [True]
    assert found.records[-1].cells[0].means == "suppressed: not published"


def test_buckets_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_of(method="anatomy", privacy={"k": 2, "l": 2}, accept=["all"])
    (record,) = previewed(PEOPLE, policy, 1).records
    assert {cell.column: cell.means for cell in record.cells}["ill"] == "in a bucket, in a second file"


def test_large_tables_are_sampled_and_asked_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previewing, "MOST_ROWS", 50)
    found = previewed(PEOPLE, policy_of(keep=["name"], identifiers=[], accept=["near-unique-keep"]), 3)
    assert (found.rows, found.sampled) == (200, 50)
    with pytest.raises(Exposure):
        previewed(PEOPLE, policy_of(keep=["name"], identifiers=[]), 3)
    pairs = Table.of({"age": [str(i % 40) for i in range(200)], "tag": [f"n{i % 100}" for i in range(200)]})
    policy = Policy(quasi_identifiers=["age"], keep=["tag"], privacy={"k": 5})
    assert previewed(pairs, policy, 1).sampled == 50  # alone in the sample, but not in the table


def test_a_preview_needs_a_policy_and_a_number(clinic: Path) -> None:
    with pytest.raises(PolicyError, match="policy=…"):
        inspect(clinic / "patients.csv", risk=[["age"]], levels=["zip"])  # type: ignore[call-overload]
    with pytest.raises(InputError, match="1 to 100"):
        previewed(PEOPLE, policy_of(), 101)


@settings(max_examples=20)
@given(st.integers(1, 60), st.integers(1, 60))
def test_as_many_records_as_asked_for_and_none_twice(rows: int, count: int) -> None:
    chosen = previewing._spread(np.zeros(rows), min(rows, count)).tolist()
    assert len(set(chosen)) == min(rows, count)


# ---- the command


def test_the_command_shows_risk_levels_and_records_and_writes_nothing(clinic: Path, tmp_path: Path) -> None:
    before = listing(clinic)
    words = ("--risk", "age,sex", "--risk", "zip", "--levels", "zip", "--preview", "2")
    ran = incrowd("inspect", *asked(clinic), *words)
    assert (ran.code, ran.err, listing(clinic)) == (0, "", before)
    assert "The hierarchy of zip" in ran.out
    assert PRIVATE in " ".join(ran.out.split())
    told = incrowd("inspect", *asked(clinic), *words, "--json").json
    assert [risk["columns"] for risk in told["risks"]][1:] == [["age", "sex"], ["zip"]]
    assert [counts["column"] for counts in told["levels"]] == ["zip"]
    assert len(told["preview"]["records"]) == 2
    assert told["preview"]["private"] == PRIVATE
    assert told["k"] == told["risks"][0]["k"] == 10


def test_the_command_without_a_policy_counts_texts(clinic: Path) -> None:
    told = incrowd("inspect", clinic / "patients.csv", "--risk", "age,sex", "--json").json
    assert told == json.loads(json.dumps(inspect(clinic / "patients.csv", risk=[["age", "sex"]]).to_dict()))
    assert (told["levels"], told["preview"], told["k"]) == ([], None, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--risk", "agee"), "did you mean 'age'"),
        (("--levels", "zip"), "pass it with -p"),
        (("--preview", "3"), "pass it with -p"),
        (("--risk", "age", "-o", "first.toml"), "leave them out"),
    ],
)
def test_the_command_says_what_is_wrong(words: tuple[str, ...], said: str, clinic: Path) -> None:
    ran = incrowd("inspect", clinic / "patients.csv", *words)
    assert ran.code == 2
    assert said in ran.err


def test_only_a_preview_shows_cells(tmp_path: Path) -> None:
    """Every cell carries a mark; what names a person is not even in the preview."""
    lines = [f"mark-n{i},mark-a{i % 4},mark-b{i % 3},mark-s{i % 2}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["name,a,b,s", *lines]) + "\n")
    (tmp_path / "p.toml").write_text(
        'identifiers = ["name"]\nsensitive = ["s"]\n[quasi_identifiers]\n'
        "a = {hierarchy = {prefix = [6]}}\nb = {}\n[privacy]\nk = 5\n"
    )
    given = ("inspect", tmp_path / "t.csv", "-p", tmp_path / "p.toml", "--levels", "all", "--risk", "a,name")
    for form in ((), ("--json",)):
        ran = incrowd(*given, *form)
        assert ran.code == 0
        assert "mark-" not in ran.out + ran.err
        shown = incrowd(*given, "--preview", "60", *form)
        assert "mark-a" in shown.out
        assert "mark-n" not in shown.out + shown.err
    for wrong in (("--preview", "101"), ("--levels", "b"), ("--risk", "c"), ("--preview", "-1")):
        ran = incrowd(*given[:4], *wrong)
        assert ran.code == 2
        assert "mark-" not in ran.out + ran.err
