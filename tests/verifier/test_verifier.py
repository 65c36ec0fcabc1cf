"""The verifier accepts what is right and nothing else."""

from __future__ import annotations

import ast
import contextlib
import gzip
import hashlib
import itertools
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from forgeries.classes import FORGERIES, METHOD, Release, good, manifest
from forgeries.covert import COVERT
from hypothesis import given, settings
from hypothesis import strategies as st
from support.verifier_cases import Case, assert_rejected, long_texts, verified

from incrowd import verifier as package
from incrowd.errors import InputError, TableError
from incrowd.flow import Table
from incrowd.schema import CHECKS, Check, Claim, Column, Kind, Role, Schema, Shape, Verdict
from incrowd.tables import write_parquet
from incrowd.verifier import CsvRows, Expected, ReleaseFiles, Threads, Witness, cell_coder, csv_file, verify
from incrowd.verifier.cells import parse
from incrowd.verifier.checks import AFTER_CLAIMS, BEFORE_CLAIMS, Checklist
from incrowd.verifier.claims.registry import COUNTED, MODELS
from incrowd.verifier.columns import Numbering, fold, numbers_of, restored
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.order import check_order
from incrowd.verifier.values import number, tree_of


@dataclass
class Lines:
    """Rows that are at hand."""

    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]

    def __iter__(self) -> Iterator[Sequence[str | None]]:
        return iter(self.rows)


def verified_folder(release: Release, folder: Path, hinted: bool = False) -> Verdict:
    folder.mkdir(exist_ok=True)
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    links = np.array(release.truth) if hinted else None
    original = CsvRows(folder / "original.csv")
    expected = Expected(
        release.schema, release.claims, release.accepted, method=METHOD, levels=release.levels
    )
    threads = 2 if hinted else 1  # both tables at once, or one after the other: no verdict depends on it
    return verify(folder / "release", original, expected, witness=Witness(links), threads=Threads(threads))


# Whole releases


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
def test_a_good_release_is_accepted(tmp_path: Path, hinted: bool) -> None:
    verdict = verified_folder(good(), tmp_path, hinted)
    assert verdict.passed, verdict.failures
    assert verdict.facts["rows"] == 60
    assert verdict.facts["classes"] == 9
    assert verdict.facts["smallest_class"] == 4
    assert verdict.facts["reached"]["distinct-l-diversity (ill)"] == 4


@pytest.mark.parametrize("hinted", [False, True], ids=["found", "hinted"])
@pytest.mark.parametrize("name", FORGERIES)
def test_no_forgery_is_accepted(tmp_path: Path, name: str, hinted: bool) -> None:
    caught_by, spoil = FORGERIES[name]
    release = good()
    private = long_texts(release.original)
    spoil(release)
    verdict = verified_folder(release, tmp_path, hinted)
    assert_rejected(verdict, caught_by, private)


@pytest.mark.parametrize("name", COVERT)
def test_nothing_is_said_in_secret(tmp_path: Path, name: str) -> None:
    """Whatever a release might say beside its meaning, the verifier has no ear for it."""
    caught_by, spoil = COVERT[name]
    release = good()
    private = long_texts(release.original)
    spoil(release)
    expected = Expected(release.schema, release.claims, max_suppression=None, method=METHOD)
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    verdict = verify(tmp_path / "release", CsvRows(tmp_path / "original.csv"), expected)
    assert_rejected(verdict, caught_by, private)


def test_the_catalogue_is_long_enough() -> None:
    assert len(FORGERIES) >= 100
    assert {check for check, _ in FORGERIES.values()} >= {"files", "manifest", "schema", "cells", "rows"}
    assert {check for check, _ in FORGERIES.values()} >= {"private", "truth", "order", "means", "k-anonymity"}


@pytest.mark.parametrize("links", [np.zeros(60, np.int64), np.arange(3), np.arange(60) - 1, np.ones(60)])
def test_a_wrong_hint_does_no_harm(tmp_path: Path, links: Any) -> None:
    release = good()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    original = CsvRows(tmp_path / "original.csv")
    expected = Expected(release.schema, release.claims, method=METHOD)
    assert verify(tmp_path / "release", original, expected, witness=Witness(links)).passed


@pytest.mark.parametrize("threads", [1, 2])
def test_data_that_change_while_they_are_verified_are_refused(tmp_path: Path, threads: int) -> None:
    """Two rows change places after the file was compared with the manifest, which no other check minds."""
    release = good()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    data = tmp_path / "release" / "data.csv"

    class Changing(CsvRows):
        def pieces(self) -> Iterator[bytes]:
            header, *rows = data.read_bytes().splitlines(keepends=True)
            other = tmp_path / "other.csv"
            other.write_bytes(b"".join([header, *rows[::-1]]))
            other.replace(data)
            yield from super().pieces()

    expected = Expected(release.schema, release.claims, method=METHOD)
    original = Changing(tmp_path / "original.csv")
    verdict = verify(tmp_path / "release", original, expected, threads=Threads(threads))
    assert [check.name for check in verdict.failures] == ["bytes"]


def test_means_of_small_classes_need_acceptance(tmp_path: Path) -> None:
    release = good()
    FORGERIES["mean_of_a_tiny_class"][1](release)
    release.manifest["accepted"] = ["small-means"]
    assert not verified_folder(release, tmp_path / "not asked for").passed
    release.accepted = ("small-means",)
    assert verified_folder(release, tmp_path).passed


def test_persons_are_counted_where_they_are_declared(tmp_path: Path) -> None:
    release = good()
    columns = [replace(c, role=Role.ENTITY) if c.name == "name" else c for c in release.schema.columns]
    release.schema = Schema(tuple(columns))
    assert verified_folder(release, tmp_path).passed


def test_suppressed_rows_are_accounted_for(tmp_path: Path) -> None:
    release = good()
    gone = release.classes()[-1]
    release.rows = [row for p, row in enumerate(release.rows) if p not in gone]
    table = {name: [row[j] for row in release.rows] for j, name in enumerate(release.names)}
    release.manifest["columns"] = manifest(release.schema, release.claims, table)["columns"]
    release.manifest["rows"] = {"published": 53, "suppressed": 7, "max_suppression": "0.2"}
    release.claims = release.claims[:1]
    release.manifest["claims"] = [release.claims[0].to_dict()]
    verdict = verified_folder(release, tmp_path)
    assert verdict.passed, verdict.failures
    assert verdict.facts["suppressed"] == 7
    [rows] = [check for check in verdict.checks if check.name == "rows"]
    assert rows.detail == "7 of 60 records have no row; only the policy tells whether so many may"


def test_rows_of_parquet_are_handed_over(tmp_path: Path) -> None:
    release = good()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    original, expected = (
        CsvRows(tmp_path / "original.csv"),
        Expected(release.schema, release.claims, method=METHOD),
    )
    with pytest.raises(InputError, match=r"reads data\.csv by itself"):
        verify(ReleaseFiles(tmp_path / "release", original), original, expected)
    data, path = tmp_path / "release" / "data.parquet", tmp_path / "release" / "release.json"
    (tmp_path / "release" / "data.csv").rename(data)
    with pytest.raises(InputError, match="pass its rows"):
        verify(tmp_path / "release", original, expected)
    cells = [[restored(text) for text in row] for row in release.rows]
    rows = Lines(release.names, cells)

    def passes() -> bool:
        """With a digest that is right."""
        said = json.loads(path.read_text())
        found = data.read_bytes()
        digest = {"sha256": hashlib.sha256(found).hexdigest(), "bytes": len(found)}
        files = {name: told for name, told in said["files"].items() if not name.startswith("data.")}
        said["files"] = dict(sorted((files | {data.name: digest}).items()))
        path.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
        return verify(ReleaseFiles(tmp_path / "release", rows), original, expected).passed

    assert not passes(), "a text is no Parquet file, whatever rows are handed over"
    data.unlink()
    write_parquet(Table.of(dict(zip(release.names, map(list, zip(*cells, strict=True)), strict=True))), data)
    assert passes()
    duckdb.sql(f"COPY (FROM '{data}') TO '{data}' (FORMAT parquet, KV_METADATA {{note: 'flu'}})")
    assert not passes(), "the same rows, and free words beside them"


def test_what_cannot_be_verified_is_an_error(tmp_path: Path) -> None:
    original = Lines(["a"], [["1"]])
    schema = Schema((Column("a", Role.QUASI),))
    expected = Expected(schema, [Claim("k-anonymity", {"k": 1})])
    with pytest.raises(InputError, match="not a folder"):
        verify(tmp_path / "nothing", original, expected)
    with pytest.raises(InputError, match="claims nothing"):
        verified(Case(original, original, schema, []))
    with pytest.raises(TableError, match="cannot be read"):
        verify(tmp_path, CsvRows(tmp_path / "gone.csv"), expected)


def test_a_check_that_breaks_is_a_failure() -> None:
    checklist = Checklist()
    checklist.run("first", lambda: dict[str, str]()["a cell"])
    checklist.run("second", lambda: "")
    assert [check.passed for check in checklist.checks] == [False, False]
    assert checklist.checks[0].detail == "the check stopped with an error (KeyError)"
    assert not checklist.verdict(["first", "second"]).passed


def test_a_verdict_needs_every_required_check() -> None:
    assert not Verdict().passed
    assert not Verdict(("a", "b"), (Check("a", True),)).passed
    assert not Verdict(("a",), (Check("a", True), Check("b", True))).passed
    assert Verdict(("a",), (Check("a", True),)).passed


def test_every_check_that_a_claim_requires_is_one_that_is_run() -> None:
    steps = {step.name for step in (*BEFORE_CLAIMS, *AFTER_CLAIMS)}
    required = {name for model in MODELS.values() for name in model.requires}
    assert required - {COUNTED} <= steps  # columns of numbers, which the claim itself counts again
    assert [name for name in CHECKS if name not in steps] == ["files", "manifest", "bytes"]


def test_a_claim_that_nobody_knows_is_a_failure() -> None:
    table = Lines(("a",), [("1",)])
    claims = [Claim("of tomorrow", {"k": 1})]
    verdict = verified(Case(table, table, Schema((Column("a", Role.QUASI),)), claims))
    assert [check.name for check in verdict.failures] == ["of tomorrow"]
    assert "does not know this model" in verdict.failures[0].detail


# The verifier's independence


SOURCES = sorted(Path(package.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_verifier_stands_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    allowed = ("incrowd.errors", "incrowd.schema", "incrowd.verifier")
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Assert), "python -O would drop it"
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            assert not name.startswith("incrowd") or name.startswith(allowed), name
            assert name.split(".")[0] not in ("numba", "duckdb", "narwhals", "pandas"), name
            assert not name.startswith("scipy") or name in ("scipy.sparse", "scipy.sparse.csgraph"), name
    at_once = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert "scipy" not in " ".join(map(ast.unparse, at_once)), "a verdict without graphs needs none of it"


# Truth against trying all assignments


Line = tuple[str, str, str]
AGES = st.integers(0, 3)
BOXES = st.tuples(AGES, AGES).map(sorted)
SEXES = st.sampled_from(["F", "M", ""])


@st.composite
def small_tables(draw: st.DrawFn) -> tuple[list[Line], list[Line]]:
    """Records (age, sex, ill) and as many rows, mostly but not always about them."""
    n = draw(st.integers(1, 7))
    records = [(str(draw(AGES)), draw(SEXES), draw(st.sampled_from("xy"))) for _ in range(n)]
    # Every value occurs, so that every cell drawn below is legal.
    records += [(str(age), sex, "z") for age, sex in zip(range(4), ["F", "M", "", "F"], strict=True)]
    rows = []
    for age, sex, ill in records:
        low, high = draw(BOXES)
        if draw(st.booleans()):
            low, high = min(low, int(age)), max(high, int(age))
        cells = draw(st.sets(SEXES, min_size=1)) | ({sex} if draw(st.booleans()) else set())
        rows.append((str(low) if low == high else f"[{low},{high}]", _set(cells), ill))
    return records, rows


def _set(values: set[str]) -> str:
    texts = [value or "missing" for value in sorted(values)]
    if len(texts) == 3:
        return "*"
    return texts[0] if len(texts) == 1 else "{" + "|".join(texts) + "}"


def _tells(row: Line, record: Line) -> bool:
    ends = row[0].strip("[]").split(",")
    low, high, sexes = ends[0], ends[-1], row[1].strip("{}").split("|")
    known = row[1] == "*" or (record[1] or "missing") in sexes
    return low <= record[0] <= high and known and row[2] == record[2]


def _assignable(rows: list[Line], records: list[Line]) -> bool:
    """By trying: give the first row each record it may be about, and the rest to the others."""
    if not rows:
        return True
    return any(
        _tells(rows[0], record) and _assignable(rows[1:], records[:i] + records[i + 1 :])
        for i, record in enumerate(records)
    )


TRUTH_SCHEMA = Schema(
    (Column("age", Role.QUASI, Kind.NUMERIC), Column("sex", Role.QUASI), Column("ill", Role.SENSITIVE))
)


@given(small_tables())
@settings(deadline=None, max_examples=400)
def test_truth_agrees_with_trying_all_assignments(
    tables: tuple[list[Line], list[Line]],
) -> None:
    records, rows = tables
    names = ("age", "sex", "ill")
    case = Case(Lines(names, records), Lines(names, rows), TRUTH_SCHEMA, [Claim("k-anonymity", {"k": 1})])
    verdict = verified(case)
    truth = next(check for check in verdict.checks if check.name == "truth")
    assert truth.passed == _assignable(rows, records), verdict.failures


def test_long_chains_of_overlapping_classes_are_matched() -> None:
    """Row i may be about i or i+1, and only the last record is free: one long augmenting path."""
    n = 300
    records = [(str(i), "x") for i in range(n)]
    rows = [(f"[{i},{i + 1}]", "x") for i in range(n - 1)] + [("0", "x")]
    schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)))
    random.Random(1).shuffle(rows)
    claims = [Claim("k-anonymity", {"k": 1})]
    case = Case(Lines(("age", "ill"), records), Lines(("age", "ill"), rows), schema, claims)
    assert verified(case).passed
    rows[rows.index(("0", "x"))] = ("[0,1]", "x")
    rows[rows.index(("[5,6]", "x"))] = ("[4,5]", "x")
    failed = verified(replace(case, published=Lines(("age", "ill"), rows))).failures
    assert [check.name for check in failed][:1] == ["truth"]


# Claims against counting again


ILLS = (("a", "p", "*"), ("b", "p", "*"), ("c", "q", "*"), ("", "q", "*"))


@st.composite
def grouped(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Rows (class, value), at least two classes' worth."""
    return draw(
        st.lists(
            st.tuples(st.sampled_from("UVW"), st.sampled_from(["a", "b", "c", ""])), min_size=1, max_size=14
        )
    )


def _verdict(rows: list[tuple[str, str]], claim: Claim, column: Column) -> bool:
    schema = Schema((Column("group", Role.QUASI), column))
    table = Lines(("group", column.name), rows)
    verdict = verified(Case(table, table, schema, [claim]))
    assert [check.name for check in verdict.failures if check.name != verdict.required[-1]] == []
    return verdict.passed


def _classes(rows: list[tuple[str, str]]) -> list[list[str]]:
    return [[value for g, value in rows if g == group] for group in sorted({g for g, _ in rows})]


@given(grouped(), st.integers(1, 5))
@settings(deadline=None)
def test_k_anonymity(rows: list[tuple[str, str]], k: int) -> None:
    expected = all(len(values) >= k for values in _classes(rows))
    assert _verdict(rows, Claim("k-anonymity", {"k": k}), Column("ill", Role.SENSITIVE)) == expected


@given(grouped(), st.integers(1, 4))
@settings(deadline=None)
def test_distinct_diversity(rows: list[tuple[str, str]], l: int) -> None:  # noqa: E741
    expected = all(len(set(values)) >= l for values in _classes(rows))
    claim = Claim("distinct-l-diversity", {"l": l}, "ill")
    assert _verdict(rows, claim, Column("ill", Role.SENSITIVE)) == expected


@given(grouped(), st.sampled_from(["1", "1.5", "2", "2.1", "3", "4"]))
@settings(deadline=None)
def test_entropy_diversity(rows: list[tuple[str, str]], l: str) -> None:  # noqa: E741
    def enough(values: list[str]) -> bool:
        """2^entropy >= l, to the power of the class's size so that everything is a fraction."""
        shares = [Fraction(count, len(values)) for count in Counter(values).values()]
        effective = Fraction(1)
        for share in shares:
            effective /= share ** int(share * len(values))
        return effective >= Fraction(l) ** len(values)

    claim = Claim("entropy-l-diversity", {"l": l}, "ill")
    assert _verdict(rows, claim, Column("ill", Role.SENSITIVE)) == all(map(enough, _classes(rows)))


@given(grouped(), st.sampled_from(["0.5", "1", "1.5", "2"]), st.integers(1, 3))
@settings(deadline=None)
def test_recursive_diversity(rows: list[tuple[str, str]], c: str, l: int) -> None:  # noqa: E741
    def enough(values: list[str]) -> bool:
        counts = sorted(Counter(values).values(), reverse=True)
        return counts[0] < Fraction(c) * sum(counts[l - 1 :])

    claim = Claim("recursive-l-diversity", {"c": c, "l": l}, "ill")
    assert _verdict(rows, claim, Column("ill", Role.SENSITIVE)) == all(map(enough, _classes(rows)))


def _share(values: Sequence[str], value: str) -> Fraction:
    return Fraction(list(values).count(value), len(values))


def _equal_distance(values: list[str], table: list[str]) -> Fraction:
    return sum((abs(_share(values, v) - _share(table, v)) for v in set(table)), Fraction(0)) / 2


def _ordered_distance(values: list[str], table: list[str]) -> Fraction:
    order = sorted(set(table), key=lambda text: (text != "", text))
    work = carried = Fraction(0)
    for v in order[:-1]:
        carried += _share(values, v) - _share(table, v)
        work += abs(carried)
    return work / max(len(order) - 1, 1)


def _tree_distance(values: list[str], table: list[str]) -> Fraction:
    """Least work by hand: inside p and q at cost 1/2, between them at cost 1."""
    extra = {row[0]: _share(values, row[0]) - _share(table, row[0]) for row in ILLS}
    inside, across = Fraction(0), Fraction(0)
    for parent in "pq":
        children = [extra[row[0]] for row in ILLS if row[1] == parent]
        inside += min(
            sum((x for x in children if x > 0), Fraction(0)),
            -sum((x for x in children if x < 0), Fraction(0)),
        )
        across += max(sum(children, Fraction(0)), Fraction(0))
    return inside / 2 + across


DISTANCES = {
    "equal": (_equal_distance, Column("ill", Role.SENSITIVE)),
    "ordered": (_ordered_distance, Column("ill", Role.SENSITIVE, Kind.ORDERED, order=("a", "b", "c"))),
    "hierarchical": (_tree_distance, Column("ill", Role.SENSITIVE, levels=ILLS)),
}


@pytest.mark.parametrize("distance", DISTANCES)
@given(grouped())
@settings(deadline=None, max_examples=60)
def test_closeness_is_exact(distance: str, rows: list[tuple[str, str]]) -> None:
    """The limit that a naive count finds is accepted, and a hair less is not."""
    count, column = DISTANCES[distance]
    table = [value for _, value in rows]
    worst = max(count(values, table) for values in _classes(rows))
    above = Fraction(-(-worst * 10**20 // 1), 10**20)
    for t, expected in ((above, True), (above - Fraction(1, 10**20), worst == above - Fraction(1, 10**20))):
        if t >= 0:
            text = f"{int(t * 10**20) // 10**20}.{int(t * 10**20) % 10**20:020}"
            claim = Claim("t-closeness", {"t": text, "distance": distance}, "ill")
            assert _verdict(rows, claim, column) == expected


def test_closeness_of_the_salaries() -> None:
    """Li, Li, Venkatasubramanian 2007, section 4: salaries 3k..11k; classes {3,4,5}k and {6,8,11}k."""
    salaries = [str(k) for k in range(3, 12)]
    rows = [("U", s) for s in ("3", "4", "5")] + [("V", s) for s in ("6", "8", "11")]
    rows += [("W", s) for s in salaries if s not in ("3", "4", "5", "6", "8", "11")]
    column = Column("ill", Role.SENSITIVE, Kind.NUMERIC)
    schema = Schema((Column("group", Role.QUASI), column))
    table = Lines(("group", "ill"), rows)
    claims = [Claim("t-closeness", {"t": "0.375", "distance": "ordered"}, "ill")]
    assert verified(Case(table, table, schema, claims)).facts["reached"] == {
        "t-closeness (ill, ordered)": "0.3750"
    }


# Reading


def test_csv_in_all_its_forms(tmp_path: Path) -> None:
    plain = 'age;note\n20;a\n\n30;"b;\nc"\n'
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf" + plain.encode())
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(plain.replace(";", "\t"))
    assert list(CsvRows(tmp_path / "t.csv").names) == ["age", "note"]
    assert [row for row in CsvRows(tmp_path / "t.csv") if row] == [["20", "a"], ["30", "b;\nc"]]
    assert [row for row in CsvRows(tmp_path / "t.csv.gz") if row] == [["20", "a"], ["30", "b\t\nc"]]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_names_in_quotes_are_names(tmp_path: Path, mark: str) -> None:
    """With any other delimiter, such a header is no CSV."""
    (tmp_path / "t.csv").write_text(f'"age"{mark}"no,te;s"\n"20"{mark}"a"\n', encoding="utf-8")
    assert list(CsvRows(tmp_path / "t.csv").names) == ["age", "no,te;s"]
    assert list(CsvRows(tmp_path / "t.csv")) == [["20", "a"]]


@pytest.mark.parametrize(
    "content", [b"", b'a,b\n1,"2\n', b'"a"b,c\n1,2\n', b"a,b\n1,\xff\n", b'a,b\n1,"2"3\n']
)
def test_broken_csv_is_an_error_that_quotes_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(TableError, match=r"t\.csv") as problem:
        list(CsvRows(tmp_path / "t.csv"))
    assert problem.value.__cause__ is None


def test_null_is_an_empty_private_cell_and_a_missing_value() -> None:
    names, cell = ("age", "ill"), "{missing|[1,2]}"
    original = Lines(names, [(None, None), ("1", "x"), ("2", None)])
    published = Lines(names, [(cell, "x"), (cell, ""), (cell, None)])
    schema = Schema((Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)))
    case = Case(original, published, schema, [Claim("k-anonymity", {"k": 3})])
    assert verified(case).passed
    broken = Lines(names, [(None, "x"), ("2", ""), ("2", "")])
    assert verified(replace(case, published=broken)).failures[0].name == "cells"


CELLS = st.text('ab,;"\n\r\t é', max_size=12)
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=12)
)


def _written(cell: str, always: bool) -> str:
    quoted = always or any(sign in cell for sign in ',"\n\r')
    return '"' + cell.replace('"', '""') + '"' if quoted else cell


@given(TABLES, st.booleans(), st.sampled_from(["\n", "\r\n"]))
@settings(deadline=None, max_examples=300)
def test_every_cell_is_read_as_it_was_written(cells: list[list[str]], always: bool, line_end: str) -> None:
    """Whatever the cells, wherever the file is cut into pieces, and however many cells share a slot."""
    names = ["h" * (i + 1) for i in range(len(cells[0]))]
    lines = [",".join(_written(cell, always) for cell in row) + line_end for row in [names, *cells]]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_file, "BYTES_AT_ONCE", 16)
        patch.setattr(csv_file, "LINES_AT_ONCE", 0)
        patch.setattr(cell_coder, "FIRST_BITS", 1)
        patch.setattr(cell_coder, "MOST_BITS", 1)
        path = Path(folder) / "t.csv"
        path.write_bytes("".join(lines).encode())
        table = CsvRows(path, delimiter=",")
        picks = [(place, Numbering()) for place in range(len(names))]
        found = numbers_of(table, picks, "the table")
        texts = [
            [list(numbers)[code] for code in codes] for codes, (_, numbers) in zip(found, picks, strict=True)
        ]
        assert [list(row) for row in zip(*texts, strict=True)] == cells
        assert [list(row) for row in table] == cells


def test_a_row_too_long_and_one_too_short_do_not_make_two_good_ones(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1\n2,3,4\n")
    with pytest.raises(CheckFailed, match="more or fewer cells"):
        numbers_of(CsvRows(tmp_path / "t.csv"), [(0, Numbering())], "the table")


@pytest.mark.parametrize(
    ("cell", "texts", "missing"),
    [
        ("a", ("a",), False),
        ("missing", (), True),
        (r"\missing", ("missing",), False),
        (r"\\missing", (r"\missing",), False),
        (r"{a\|b|missing}", ("a|b",), True),
        (r"{a\\|b}", ("a\\", "b"), False),
        (r"\{a\}", ("{a}",), False),
        (r"{a\}|b}", ("a}", "b"), False),
        ("", ("",), False),
    ],
)
def test_cells_are_read(cell: str, texts: tuple[str, ...], missing: bool) -> None:
    found = parse(cell)
    assert (found.texts, found.missing, found.intervals) == (texts, missing, ())


@pytest.mark.parametrize(
    "cell",
    [
        *("{a", "{a}", "{}", "{", "[", "[1", "[1]", "a|b", "a}", "\\a", "a\\", "{a|a}", "**"),
        *("{a|bc", "[1,23", "[1,2,3]", "{a|b\\}", "{a\\|b|c\\}"),
    ],
)
def test_malformed_cells_are_refused(cell: str) -> None:
    with pytest.raises(CheckFailed):
        parse(cell)


@pytest.mark.parametrize("text", ["", "nan", "inf", "1/3", "1_000", " 1", "1e999", "--1", "٣"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(CheckFailed):
        number(text)


def test_hierarchies_are_read_again() -> None:
    tree = tree_of([("250", "250", "*"), ("250.1", "250", "*"), ("7", "7", "*")])
    assert tree.span["250"] == (0, 0)
    assert tree.span["250 (level 1)"] == (0, 1)
    assert tree.span["7"] == (2, 2)
    for rows in ([("a", "x"), ("a", "y")], [("a", "x", "1"), ("b", "x", "2")], [("a",), ("b", "c")]):
        with pytest.raises(CheckFailed):
            tree_of(rows)


def test_a_family_is_kept_also_with_missing() -> None:
    column = Column("w", Role.QUASI, family=(frozenset("ab"), frozenset("bcd")))
    original = Lines(("w",), [("a",), ("b",), ("c",), ("d",), ("",)])
    schema = Schema((column,))
    claims = [Claim("k-anonymity", {"k": 1})]
    for cells, passed in (
        (["*"] * 5, True),
        (["{a|b}", "{a|b}", "{b|c|d}", "{b|c|d}", "missing"], True),
        (["{a|b}", "{missing|a|b}", "{b|c|d}", "d", "{missing|a|b}"], True),
        (["{a|b}", "{a|b}", "{c|d}", "{c|d}", "missing"], False),
        (["{a|b|c|d}"] * 4 + ["missing"], True),
    ):
        case = Case(original, Lines(("w",), [(cell,) for cell in cells]), schema, claims)
        assert verified(case).passed is passed, cells


def test_ordered_values_as_ranges() -> None:
    column = Column("size", Role.QUASI, Kind.ORDERED, Shape.RANGE, order=("s", "m", "xl"))
    original = Lines(("size",), [("s",), ("m",), ("xl",)])
    claims = [Claim("k-anonymity", {"k": 3})]
    case = Case(original, Lines(("size",), [("[s,xl]",)] * 3), Schema((column,)), claims)
    assert verified(case).passed
    assert verified(replace(case, published=Lines(("size",), [("[m,xl]",)] * 3))).failures[0].name == "truth"


def test_folding_is_exact_beyond_64_bits() -> None:
    rng = random.Random(3)
    columns = [[rng.randrange(3) * 10**6 for _ in range(50)] for _ in range(8)]
    rows = list(zip(*columns, strict=True))
    place = {row: number for number, row in enumerate(sorted(set(rows)))}
    folded = fold([np.array(column) for column in columns], [2 * 10**6 + 1] * 8)
    assert folded.tolist() == [place[row] for row in rows]


# Order


@given(st.integers(0, 2**32), st.integers(20, 200), st.integers(1, 200))
@settings(deadline=None, max_examples=200)
def test_shuffled_rows_raise_no_alarm(seed: int, n: int, kinds: int) -> None:
    rng = random.Random(seed)
    kind = np.array([rng.randrange(kinds) for _ in range(n)])
    order = np.array(rng.sample(range(n), n))
    check_order(np.unique(kind[order], return_inverse=True)[1], order, n)


@pytest.mark.parametrize("kinds", [2, 5, 50, 400])
def test_kept_order_is_noticed_however_few_kinds_there_are(kinds: int) -> None:
    rng = random.Random(5)
    kind = np.array([rng.randrange(kinds) for _ in range(400)])
    with pytest.raises(CheckFailed):
        check_order(np.unique(kind, return_inverse=True)[1], np.arange(400), 400)


def test_an_order_that_only_follows_the_input_is_noticed() -> None:
    rng = random.Random(6)
    order = sorted(range(1000), key=lambda i: i + rng.uniform(0, 400))
    with pytest.raises(CheckFailed):
        check_order(np.arange(1000), np.array(order), 1000)


def test_few_rows_are_exempt_and_the_verdict_says_so() -> None:
    assert check_order(np.arange(19), np.arange(19), 19) == "not tested: fewer than 20 rows"


# A table with one binary private column


def test_adult_like_tables_are_matched_without_a_hint() -> None:
    """Overlapping boxes over 3,000 records with two private values: nothing but coverage tells them apart."""
    rng = random.Random(8)
    points = [(rng.randrange(60), rng.randrange(16), rng.randrange(40)) for _ in range(3000)]
    records = [(*map(str, point), rng.choice("xyyy")) for point in points]
    order = sorted(range(3000), key=lambda i: (points[i][0] // 6, points[i][1] // 4, points[i][2]))
    rows = []
    for start in range(0, 3000, 10):
        group = [points[i] for i in order[start : start + 10]]
        ends = [(min(values), max(values)) for values in zip(*group, strict=True)]
        cells = [str(a) if a == b else f"[{a},{b}]" for a, b in ends]
        rows += [(*cells, records[i][3]) for i in order[start : start + 10]]
    rng.shuffle(rows)
    names = ("age", "school", "hours", "pay")
    columns = [Column(name, Role.QUASI, Kind.NUMERIC) for name in names[:3]]
    schema = Schema((*columns, Column("pay", Role.SENSITIVE)))
    case = Case(Lines(names, records), Lines(names, rows), schema, [Claim("k-anonymity", {"k": 10})])
    assert verified(case).passed


def test_the_manifest_helper_is_what_the_verifier_expects() -> None:
    """The hand-written manifest has every key that the format has, so that no forgery fails by accident."""
    release = good()
    table = {name: [row[j] for row in release.rows] for j, name in enumerate(release.names)}
    keys = set(manifest(release.schema, release.claims, table)) | {"files"}
    assert keys == set(itertools.chain(release.manifest, ["files"]))


def test_two_words_for_missing_are_no_variety() -> None:
    """A class in which nobody's value is known, written in two ways, has one value."""
    schema = Schema(
        (Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)), frozenset({"", "?"})
    )
    records = [("1", ""), ("2", "?"), ("3", "flu"), ("4", "cold")]
    rows = [("[1,2]", "?"), ("[3,4]", "flu"), ("[1,2]", ""), ("[3,4]", "cold")]
    claim = Claim("distinct-l-diversity", {"l": 2}, "ill")
    case = Case(Lines(("age", "ill"), records), Lines(("age", "ill"), rows), schema, [claim])
    assert [check.name for check in verified(case).failures] == ["distinct-l-diversity (ill)"]


# What a cell costs


HOSTILE = (
    "[" + "," * 7,
    "[1,2",
    "{a|b",
    "{\\|",
    "\\",
    "\\a",
    "{[1,2]|",
    "9",
    "1e9",
    "{|",
    "*",
    "'=",
    ";=",
    "{a\\",
)


def steps(work: Callable[[], object]) -> int:
    """Lines of Python and calls that a piece of work takes."""
    count = 0

    def tick(_frame: Any, _event: str, _arg: Any) -> Any:
        nonlocal count
        count += 1
        return tick

    before = sys.gettrace()
    sys.settrace(tick)
    try:
        with contextlib.suppress(CheckFailed):
            work()
    finally:
        sys.settrace(before)
    return count


def read_cell(domain: ColumnDomain, text: str) -> None:
    domain.regions([restored(text)], canonical=True)


@pytest.mark.parametrize("ending", ["", "]", "}", "\\"])
@pytest.mark.parametrize("sign", HOSTILE)
def test_a_cell_costs_what_it_is_long(sign: str, ending: str) -> None:
    """Twice the cell takes at most a little more than twice the steps, in every shape."""
    for kind, shape in ((Kind.NUMERIC, Shape.RANGE), (Kind.DATE, Shape.RANGE), (Kind.CATEGORICAL, Shape.SET)):
        taken = []
        for length in (2_000, 4_000, 8_000):
            text = sign * (length // len(sign)) + ending
            domain = ColumnDomain(Column("a", Role.QUASI, kind, shape), [], frozenset({""}))
            taken.append(steps(partial(read_cell, domain, text)))
        assert taken[1] <= 2.2 * taken[0] + 200
        assert taken[2] <= 2.2 * taken[1] + 200
