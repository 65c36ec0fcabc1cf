"""The verifier inside a database, part by part: numbers in words, counts, witnesses, and each check alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from forgeries.classes import METHOD
from verifier.test_in_engine import plain, witness_of

from incrowd.engines.resources import Resources
from incrowd.engines.session import DuckSession, duck_session
from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.verifier import CsvRows, Expected
from incrowd.verifier.claims.join import NEEDED
from incrowd.verifier.columns import Numbering
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.folder import CSV, HIERARCHIES_FILE, TOTALS_FILE
from incrowd.verifier.in_engine import (
    ClassWitness,
    EngineFiles,
    JoinedOriginals,
    verify_in_engine,
    whole_numbers,
)
from incrowd.verifier.in_engine import relations as module
from incrowd.verifier.in_engine.checks import EngineChecks
from incrowd.verifier.in_engine.claims import CountedClasses, check_counted
from incrowd.verifier.in_engine.parted import PartedTruth
from incrowd.verifier.in_engine.people import CountedPeople
from incrowd.verifier.in_engine.ranked_columns import QuasiColumn
from incrowd.verifier.in_engine.relations import (
    DistinctTexts,
    Packing,
    Relation,
    has_both,
    parquet_relation,
    rows_relation,
    text_sql,
)
from incrowd.verifier.in_engine.truth import TruthInEngine
from incrowd.verifier.in_engine.whole_numbers import WholeNumberColumn

AGE, ILL = Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE)
SCHEMA = Schema((AGE, ILL), frozenset([""]))
K2 = Claim("k-anonymity", {"k": 2})
Pairs = Sequence[tuple[str | None, str | None]]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckSession]:
    with duck_session(tmp_path_factory.mktemp("work"), Resources(512_000_000, 1)) as opened:
        yield opened


def relation(
    session: DuckSession, table: str, lines: Sequence[Sequence[str | None]], *names: str
) -> Relation:
    """A table of texts with these columns."""
    cells = np.empty((len(lines), len(names)), object)
    for place, line in enumerate(lines):
        cells[place] = line
    session.load(table, {n: cells[:, j] for j, n in enumerate(names)}, dict.fromkeys(names, "VARCHAR"))
    return Relation(table, names, {name: f"{table}.{name}" for name in names})


def truth(
    session: DuckSession,
    records: Pairs,
    rows: Pairs,
    cells: Sequence[str] = (),
    private: Sequence[str] = ("ill",),
    kind: type[TruthInEngine] = TruthInEngine,
) -> TruthInEngine:
    original = relation(session, "orig_", records, "age", "ill")
    released = relation(session, "rel_", rows, "age", "ill")
    texts = DistinctTexts.of(session, original, "age")
    domain = ColumnDomain(AGE, texts.texts, frozenset([""]))
    shown = cells or sorted({str(age) for age, _ in rows})
    column = QuasiColumn(AGE, domain, texts, shown, domain.regions(shown))
    return kind(session, original, released, [column], private)


PEOPLE: Pairs = [("1", "a"), ("2", "b"), ("5", "a"), ("6", "a"), (None, "c")]
ROWS: Pairs = [("[5,6]", "a"), ("[1,2]", "b"), ("[5,6]", "a"), ("missing", "c"), ("[1,2]", "a")]


def witness(session: DuckSession, *lines: tuple[str | None, str]) -> ClassWitness:
    """Which value is in the class of which cell."""
    cells = sorted({cell for _, cell in lines})
    relation(session, "wc_", [(cell, cell) for cell in cells], "class", "c0")
    relation(session, "wr_", lines, "v0", "class")
    return ClassWitness("wr_", "wc_")


TRUE = [("1", "[1,2]"), ("2", "[1,2]"), ("5", "[5,6]"), ("6", "[5,6]"), (None, "missing")]


def parted(session: DuckSession, *lines: tuple[str | None, str, str | None, int]) -> ClassWitness:
    """How many records of which value and private part are in the class of which cell."""
    found = witness(session, *((value, cell) for value, cell, _, _ in lines))
    relation(session, "wr_", [(*line[:3], str(line[3])) for line in lines], "v0", "class", "p0", "n")
    return found


ONE_EACH = [(value, cell, ill, 1) for (value, cell), (_, ill) in zip(TRUE, PEOPLE, strict=True)]


# Relations


def test_numbers_are_packed_into_words() -> None:
    sizes = [1, 2, 3, 2**30, 2**28, 4, 2**62, 7]
    packing = Packing.of(sizes)
    assert packing.words == (
        ((0, 0), (1, 1), (2, 2), (3, 4), (4, 34)),
        ((5, 0),),
        ((6, 0),),
        ((7, 0),),
    )
    assert packing.names("k") == ["k0", "k1", "k2", "k3"]
    assert Packing.of([2**32, 2**30]).words == (((0, 0), (1, 32)),)
    assert Packing.of([]).words == ()
    assert Packing.of([]).names("k") == []
    with pytest.raises(CheckFailed, match="a column has too many values"):
        Packing.of([2**62 + 1])
    with pytest.raises(CheckFailed, match="there is no such number"):
        packing.field(8, "k")


def test_packed_numbers_are_found_again(session: DuckSession) -> None:
    numbers, sizes = [3, 0, 2**30 - 1, 5, 2**20, 1], [4, 1, 2**30, 6, 2**40, 2]
    packing = Packing.of(sizes)
    words = packing.sql([f"{number}::BIGINT" for number in numbers], "k")
    found = [
        session.number(f"SELECT {packing.field(i, 'k')} FROM (SELECT {words})") for i in range(len(numbers))
    ]
    assert found == numbers


def test_null_and_empty_texts(session: DuckSession) -> None:
    for texts, both in ((["", None, "x"], True), (["", "x"], False), ([None, "x"], False)):
        found = relation(session, "some_", [(text,) for text in texts], "t")
        assert has_both(session, found, "t") == both


def test_texts_in_statements(session: DuckSession) -> None:
    assert session.rows("SELECT " + text_sql("o'ne")) == [("o'ne",)]


def test_columns_that_are_no_texts_are_cells_without_sense() -> None:
    asked = []

    def rows(sql: str) -> list[tuple[str, ...]]:
        asked.append(sql)
        return [('a"b', "VARCHAR", "YES"), ("n", "INTEGER", "YES")]

    some: Any = SimpleNamespace(rows=rows)
    found = parquet_relation(some, [Path("t'.parquet"), Path("u.parquet")])
    assert found.sql == "read_parquet(['t''.parquet', 'u.parquet'], hive_partitioning = false)"
    assert asked == [f"DESCRIBE SELECT * FROM {found.sql}"]
    assert (found.names, found.columns) == (('a"b', "n"), {'a"b': '"a""b"', "n": "'['"})


@pytest.mark.parametrize("at_once", [1, 2, 10**6])
def test_files_are_brought_in_piece_by_piece(
    at_once: int, session: DuckSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", at_once)
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n1,z\n", encoding="utf-8")
    monkeypatch.setattr("incrowd.verifier.csv_file.BYTES_AT_ONCE", 5)
    monkeypatch.setattr("incrowd.verifier.csv_file.LINES_AT_ONCE", 0)
    rows = CsvRows(tmp_path / "t.csv", delimiter=",")
    found = rows_relation(session, rows, {"b": Numbering(), "a": Numbering()}, "brought_")
    assert found.names == ("a", "b")
    shown = session.rows(f"SELECT {found.columns['a']}, {found.columns['b']} FROM {found.source} ORDER BY 2")
    assert shown == [("1", "x"), ("2", "y"), ("1", "z")]
    found = rows_relation(session, rows, {"b": Numbering()}, "brought_")
    assert session.number(f"SELECT count(*) FROM {found.source}") == 3
    empty = tmp_path / "none.csv"
    empty.write_text("a,b\n", encoding="utf-8")
    found = rows_relation(session, CsvRows(empty, delimiter=","), {"a": Numbering()}, "brought_")
    assert session.number(f"SELECT count(*) FROM {found.source}") == 0


# Truth


@pytest.fixture(params=[None, 1, 2], ids=["records at once", "one by one", "in parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if memory had room for so many records of a join."""
    if request.param is not None:
        monkeypatch.setattr(DuckSession, "joined_at_once", request.param)


@pytest.mark.usefixtures("parts")
def test_a_true_witness_is_confirmed(session: DuckSession) -> None:
    found = truth(session, PEOPLE, ROWS)
    found.count()
    assert found.private_invented() == 0
    found.check_witness(witness(session, *TRUE))
    found.compare()
    assert found.number_classes().tolist() == [2, 2, 1]
    lines, texts, counts = found.values_of("ill")
    assert lines.shape == (2, 4)
    said = {(int(c), texts[int(t)]): int(n) for c, t, n in zip(*lines, counts, strict=True)}
    assert said == {(0, "a"): 1, (0, "b"): 1, (1, "a"): 2, (2, "c"): 1}


def test_nothing_private_is_invented_where_nothing_is(session: DuckSession) -> None:
    found = truth(session, PEOPLE, ROWS, private=())
    found.count()
    assert found.private_invented() == 0
    other = truth(session, PEOPLE, [*ROWS[:3], ("missing", "x"), ("[1,2]", "x")])
    other.count()
    assert other.private_invented() == 2


def test_a_cell_without_a_number_is_noticed(session: DuckSession) -> None:
    with pytest.raises(CheckFailed, match="some rows or records have a text that has no number"):
        truth(session, PEOPLE, ROWS, cells=["[1,2]", "[5,6]"]).count()


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    ("lines", "rows", "words"),
    [
        ([*TRUE[:4], (None, "[1,2]")], ROWS, "1 values of age are not in the cells of their class"),
        ([("1", "[5,6]"), ("2", "[5,6]"), *TRUE[2:]], ROWS, "2 values of age are not in the cells"),
        ([*TRUE, ("1", "[1,6]")], [*ROWS, ("[1,6]", "a")], "1 kinds of records are in more than one class"),
        (TRUE[1:], ROWS, "1 records are in no class"),
        (TRUE[:4], ROWS, "1 records are in no class"),
        (TRUE, [("[5,6]", "b"), ("[1,2]", "a"), *ROWS[2:]], "2 rows describe no record of their class"),
        (TRUE, [*ROWS, ("[1,2]", "a")], "1 rows describe no record of their class"),
    ],
)
def test_a_false_witness_is_not(
    lines: list[tuple[str | None, str]], rows: Pairs, words: str, session: DuckSession
) -> None:
    found = truth(session, PEOPLE, rows)
    found.count()

    def check() -> None:
        found.check_witness(witness(session, *lines))
        found.compare()

    with pytest.raises(CheckFailed, match=words):
        check()


def in_any_order(session: DuckSession) -> Callable[[str], dict[str, Any]]:
    """A query without an order may give its rows in any."""

    def arrays(sql: str) -> dict[str, Any]:
        found = session.arrays(sql)
        order = np.random.default_rng(3).permutation(len(found["side"]))
        return {name: column[order] for name, column in found.items()}

    return arrays


def test_lines_that_take_back_what_others_say_show_nothing(session: DuckSession) -> None:
    """Two records want the only row that holds them. The lines of a third make room for one of them."""
    people: Pairs = [("1", "a"), ("2", "a"), ("5", "a")]
    found = truth(session, people, [("[1,5]", "a"), ("5", "a"), ("5", "a")], kind=PartedTruth)
    found.count()
    here = [("1", "[1,5]", "a", 1), ("2", "[1,5]", "a", 1)]
    with pytest.raises(CheckFailed, match="1 lines of the witness are about no record"):
        found.check_witness(parted(session, *here, ("5", "[1,5]", "a", -1), ("5", "5", "a", 2)))
    found.check_witness(parted(session, *here, ("5", "5", "a", 1)))
    with pytest.raises(CheckFailed, match="1 rows describe no record of their class"):
        found.compare()


def test_a_class_has_one_number(session: DuckSession) -> None:
    found = truth(session, PEOPLE, ROWS, kind=PartedTruth)
    found.count()
    told = parted(session, *ONE_EACH)
    session.run("INSERT INTO wc_ SELECT '[1,2]' AS class, c0 FROM wc_ WHERE class = '[5,6]'")
    with pytest.raises(CheckFailed, match="1 classes of the witness have the number of another one"):
        found.check_witness(told)


@pytest.mark.parametrize("kind", [TruthInEngine, PartedTruth])
@pytest.mark.parametrize(
    ("most", "rows", "records"),
    [
        (5, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        (100, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        (4, [1, 3, 4], [0, 1, 4]),
        (1, [1, 4], [0, 1]),
    ],
)
def test_some_classes_at_equal_steps(
    most: int, rows: list[int], records: list[int], kind: type[TruthInEngine], session: DuckSession
) -> None:
    found = truth(session, PEOPLE, ROWS, kind=kind)
    found.count()
    found.check_witness(parted(session, *ONE_EACH) if kind is PartedTruth else witness(session, *TRUE))
    found.number_classes()
    mixed: Any = SimpleNamespace(run=session.run, number=session.number, arrays=in_any_order(session))
    found._session = mixed
    place, row_kind, record_place, record_kind = found.sampled(most)
    assert sorted(place.tolist()) == rows
    assert sorted(record_place.tolist()) == records
    assert sorted(row_kind.tolist()) == sorted(record_kind.tolist())
    shown = {k: ROWS[p][1] for p, k in zip(place.tolist(), row_kind.tolist(), strict=True)}
    held = {k: PEOPLE[p][1] for p, k in zip(record_place.tolist(), record_kind.tolist(), strict=True)}
    assert shown == held
    assert len(shown) == len({(ROWS[p][0], ROWS[p][1]) for p in place.tolist()})


# Claims


def test_values_are_counted_by_class() -> None:
    lines = np.array([[0, 0, 0, 1], [0, 1, 2, 1]])
    counts, texts = np.array([2, 1, 4, 3]), ["b", "a", ""]
    classes = CountedClasses(
        SCHEMA, np.zeros(0, np.int64), np.array([7, 3]), {}, lines=lines, counts=counts, texts=texts
    )
    claim = Claim("distinct-l-diversity", {"l": 2}, "ill")
    values, size = classes.values(claim)
    assert size == 3
    assert [int(value) for value in values] == [2, 1, 0, 1]
    found = classes.histogram(claim)
    with pytest.raises(CheckFailed, match="values are counted by class alone"):
        classes.histogram(claim, np.zeros(2, np.int64))
    assert found is not None
    whole = (lines, texts, counts)
    assert check_counted(Claim("k-anonymity", {"k": 3}), SCHEMA, np.array([7, 3]), lambda _: whole) == 3
    with pytest.raises(CheckFailed, match="not checked by an engine"):
        check_counted(Claim("t-closeness", {"t": "0.5"}, "ill"), SCHEMA, np.array([7, 3]), lambda _: whole)
    with pytest.raises(CheckFailed):
        check_counted(Claim("k-anonymity", {"k": 4}), SCHEMA, np.array([7, 3]), lambda _: whole)
    with pytest.raises(CheckFailed):
        check_counted(claim, SCHEMA, np.array([7, 3]), lambda _: whole)


def test_claims_that_neither_counts_nor_rings_show_are_not_checked() -> None:
    rings: Any = SimpleNamespace(witnessed=lambda k: k == 2)
    sizes, factor = np.array([7, 3]), Claim("k-factor", {"k": 2})

    def nothing(_: str) -> Any:
        raise AssertionError("no values are asked for")

    assert check_counted(factor, SCHEMA, sizes, nothing, rings) == 2
    for claim, given in ((factor, None), (Claim("kk-anonymity", {"k": 2}), rings)):
        with pytest.raises(CheckFailed, match="not checked by an engine"):
            check_counted(claim, SCHEMA, sizes, nothing, given)


# Checks


def checks(
    session: DuckSession,
    records: Pairs = PEOPLE,
    rows: Pairs = ROWS,
    schema: Schema = SCHEMA,
    folder: Path = Path(),
    **more: Any,
) -> EngineChecks:
    """Of two tables in the session; `more` is what is expected and stated."""
    stated: dict[str, Any] = {"rows": None, "suppressed": None, "max_suppression": None, "domains": {}}
    asked: dict[str, Any] = dict.fromkeys(
        ("bucketed", "randomized", "joined", "levels", "totals", "counted", "in_series"), False
    )
    asked |= {"hierarchies": False, "max_suppression": None, "claims": [K2], "schema": schema}
    stated |= {name: more[name] for name in more if name in stated and name != "max_suppression"}
    stated |= {"max_suppression": more.get("stated_share")}
    asked |= {name: more[name] for name in more if name in asked}
    original = relation(session, "orig_", records, *more.get("names", ("age", "ill")))
    released = relation(session, "rel_", rows, *more.get("shown", ("age", "ill")))
    expected: Any = SimpleNamespace(**asked)
    told: Any = SimpleNamespace(stated=SimpleNamespace(**stated))
    files = EngineFiles(folder, released)
    return EngineChecks(session, files, original, expected, witness(session, *TRUE), told, {})


def test_the_checks_and_their_order(session: DuckSession) -> None:
    basic = [("schema", True), ("cells", True), ("rows", True), ("private", True), ("truth", True)]
    after = [("order", False), ("domains", False)]
    found = checks(session)
    assert [(name, first) for name, _, first in found.steps()] == [*basic, *after, ("k-anonymity", False)]
    found = checks(session, totals=True, hierarchies=True)
    beside = [("totals", False), ("hierarchies", False)]
    assert [(name, first) for name, _, first in found.steps()] == [
        *basic,
        *after,
        *beside,
        ("k-anonymity", False),
    ]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        *(
            ({name: True}, "only equivalence classes")
            for name in ("bucketed", "randomized", "counted", "levels")
        ),
        ({"joined": True}, NEEDED),
        ({"schema": Schema((AGE, Column("ill", Role.ENTITY)))}, "rows of one person"),
        (
            {"schema": Schema((Column("age", Role.QUASI, Kind.NUMERIC, mean=True), ILL))},
            "means are not verified",
        ),
        ({"shown": ("ill", "age")}, "the published columns are not exactly"),
        ({"names": ("age", "ills")}, "does not have exactly the columns of the policy"),
    ],
)
def test_tables_that_an_engine_does_not_verify(
    more: dict[str, Any], words: str, session: DuckSession
) -> None:
    checks(session).schema()
    with pytest.raises(CheckFailed, match=words):
        checks(session, **more).schema()


def test_a_public_table_is_given_where_a_claim_is_about_it(session: DuckSession) -> None:
    found = checks(session)
    private: Any = found._given
    found._given = JoinedOriginals(private, private, "id")
    with pytest.raises(CheckFailed, match="a public table is given, but no claim is about it"):
        found.schema()


def test_published_columns_have_names_of_their_own(session: DuckSession) -> None:
    found = checks(session)
    found._release = EngineFiles(Path(), Relation("rel_", ("age", "age"), {"age": "rel_.age"}))
    with pytest.raises(CheckFailed, match="two published columns have the same name"):
        found.schema()


@pytest.mark.parametrize("totals", [False, True])
def test_with_totals_every_text_is_read(
    totals: bool, session: DuckSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else so many whole numbers are left to the database."""
    monkeypatch.setattr(whole_numbers, "MANY", 0)
    found = checks(session, totals=totals)
    found.cells()
    assert [type(each) for each in found._quasi] == [QuasiColumn if totals else WholeNumberColumn]


def test_all_cells_have_their_one_form(session: DuckSession) -> None:
    good = checks(session)
    good.cells()
    assert list(good.named_domains) == ["age"]
    assert [each.cells for each in good._quasi if isinstance(each, QuasiColumn)] == [
        ["[1,2]", "[5,6]", "missing"]
    ]
    with pytest.raises(CheckFailed, match="not written in the one form"):
        checks(session, rows=[("[01,2]", "a"), *ROWS]).cells()
    with pytest.raises(CheckFailed):
        checks(session, rows=[(None, "a"), *ROWS]).cells()
    both = [*ROWS, ("[1,2]", ""), ("[1,2]", None)]
    with pytest.raises(CheckFailed, match="column ill of the release has both NULL and empty texts"):
        checks(session, rows=both).cells()
    checks(session, [*PEOPLE, ("1", ""), ("1", None)], both).cells()
    checks(session, [*PEOPLE, ("1", ""), ("1", None)]).cells()
    built = Column("age", Role.QUASI, levels=(("1", "x"), ("2", "x")), built={"prefix": [1]})
    with pytest.raises(CheckFailed, match="not the one that the policy describes"):
        checks(session, schema=Schema((built, ILL))).cells()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rows": 5}, ""),
        ({"suppressed": 0, "max_suppression": "as stated"}, ""),
        ({"rows": 4}, "the manifest states a different number of rows"),
        ({"suppressed": 1}, "nobody may be left out"),
        ({"max_suppression": 1}, "everybody has a row"),
        ({"stated_share": 1}, "everybody has a row"),
    ],
)
def test_everybody_has_a_row(more: dict[str, Any], words: str, session: DuckSession) -> None:
    stated = {name: value for name, value in more.items() if name != "rows"}
    found = checks(session, **stated)
    found._folder.stated.rows = more.get("rows")  # type: ignore[misc]
    found.cells()
    if words:
        with pytest.raises(CheckFailed, match=words):
            found.rows()
    else:
        assert found.rows() == ""
        assert found.facts == {"rows": 5, "suppressed": 0}


def with_others(
    session: DuckSession, counts: tuple[int, int, int, int | None] = (5, 5, 8, 6), **more: Any
) -> EngineChecks:
    """Own people, everyone, and the rows of the public table and of the second source; five have rows."""
    found = checks(session, **more)
    found._original, found._released = found._given, found._release.rows  # type: ignore[assignment]
    found._people = CountedPeople(*counts, found._original)
    stated: Any = found._folder.stated
    stated.public_rows, stated.second_rows = more.get("public_rows"), more.get("second_rows")
    return found


@pytest.mark.parametrize(
    ("counts", "more", "words"),
    [
        ((5, 5, 8, 6), {}, ""),
        ((3, 7, 8, None), {"public_rows": 8, "suppressed": 0, "max_suppression": "as stated"}, ""),
        ((3, 7, 8, 6), {"public_rows": 8, "second_rows": 6}, ""),
        ((3, 7, 8, 6), {"public_rows": 9}, "a different number of rows for the public table"),
        ((3, 7, 8, 6), {"public_rows": 8, "second_rows": 5}, "a different number of rows for"),
        ((3, 7, 8, None), {"second_rows": 5}, "a different number of rows for"),
        ((3, 7, 8, 6), {"suppressed": 1}, "no row may be suppressed"),
        ((3, 7, 8, 6), {"stated_share": 1}, "no row may be suppressed"),
        ((3, 7, 8, 6), {"suppressed": 0, "stated_share": 1}, "no row may be suppressed"),
        ((3, 7, 8, 6), {"max_suppression": 1}, "no row may be suppressed"),
        ((6, 7, 8, 6), {}, "5 rows, fewer than the 6 people"),
        ((3, 4, 8, 6), {}, "5 rows, more than the 4 people"),
    ],
)
def test_rows_of_two_tables(
    counts: tuple[int, int, int, int | None], more: dict[str, Any], words: str, session: DuckSession
) -> None:
    found = with_others(session, counts, **more)
    if words:
        with pytest.raises(CheckFailed, match=words):
            found.rows()
    else:
        assert found.rows() == ""
        assert found.facts == {"rows": 5, "suppressed": 0}


def test_with_others_claims_are_about_everyone(session: DuckSession) -> None:
    found = with_others(session, joined=True)
    nothing: Any = SimpleNamespace(values_of=None)
    found._truth, found._sizes = nothing, np.array([2, 3])
    assert found.claim(Claim("k-join-anonymity", {"k": 2})) == "reaches 2"
    with pytest.raises(CheckFailed, match="the claim is about the original table only"):
        found.claim(K2)


def test_match_probabilities_are_verified_of_rings_alone(session: DuckSession) -> None:
    found = checks(session)
    found.cells()
    found.private()
    stated: Any = found._folder.stated
    stated.match_probability = {"drawn": "1", "least": "1"}
    with pytest.raises(CheckFailed, match="match probabilities are verified of rings alone"):
        found.match_probability()


def test_it_is_said_where_the_order_of_some_rows_was_looked_at(session: DuckSession) -> None:
    found = checks(session)
    found.facts["rows"] = 5
    assert found._seen(5) == ""
    assert found._seen(4) == "seen on 4 rows of whole classes"


def test_there_are_as_many_rows_as_records(session: DuckSession) -> None:
    for records, rows in ((PEOPLE[1:], ROWS), (PEOPLE, ROWS[1:])):
        found = checks(session, records, rows)
        found._original, found._released = found._given, found._release.rows  # type: ignore[assignment]
        with pytest.raises(CheckFailed, match="nobody may be left out"):
            found.rows()
    found = checks(session, [], [])
    found._original, found._released = found._given, found._release.rows  # type: ignore[assignment]
    with pytest.raises(CheckFailed, match="the release has no rows"):
        found.rows()


def test_private_parts_and_truth(session: DuckSession) -> None:
    found = checks(session)
    said = {name: step() for name, step, _ in found.steps()[:6]}
    assert [name for name, remark in said.items() if remark] == ["order"]
    assert found.facts == {"rows": 5, "suppressed": 0, "classes": 3, "smallest_class": 1}
    invented = checks(session, rows=[*ROWS[:4], ("[1,2]", "x")])
    invented.cells()
    with pytest.raises(CheckFailed, match="1 rows have sensitive and kept values that occur more often"):
        invented.private()
    with pytest.raises(CheckFailed):
        found.claim(K2)
    assert found.claim(Claim("k-anonymity", {"k": 1})) == "reaches 1"
    assert found.facts["reached"] == {"k-anonymity": 1}


def test_domains_are_those_that_cells_name(session: DuckSession) -> None:
    found = checks(session)
    found.cells()
    stated = dict(found.named_domains)
    found = checks(session, domains=stated)
    found.cells()
    found.domains()
    others: list[Any] = [None, {}, {"age": {}}]
    for other in others:
        wrong = checks(session, domains=other)
        wrong.cells()
        with pytest.raises(CheckFailed, match="a different domain of age"):
            wrong.domains()


TREE = Column(
    "age", Role.QUASI, levels=(("1", "low", "*"), ("2", "low", "*"), ("5", "high", "*"), ("6", "high", "*"))
)
IN_TREE: Pairs = [("high", "a"), ("low", "b"), ("high", "a"), ("low", "a")]


def beside(session: DuckSession, folder: Path, file: str, text: str) -> EngineChecks:
    found = checks(session, PEOPLE[:4], IN_TREE, Schema((TREE, ILL), frozenset([""])), folder)
    (folder / file).write_text(text, encoding="utf-8")
    found.cells()
    return found


def test_totals_beside_the_rows(session: DuckSession, tmp_path: Path) -> None:
    good = "column,value,rows\nage,high,2\nage,low,2\n"
    found = beside(session, tmp_path, TOTALS_FILE, good)
    found.totals()
    assert found._in_totals == {"age": {"high", "low"}}
    for wrong in (good.replace("low,2", "low,1"), good.replace("high", '"high"')):
        with pytest.raises(CheckFailed):
            beside(session, tmp_path, TOTALS_FILE, wrong).totals()


def test_every_step_is_told(session: DuckSession, tmp_path: Path) -> None:
    release = plain()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    expected = Expected(release.schema, release.claims, release.accepted, None, METHOD, release.levels)
    files, told = EngineFiles(tmp_path / "release"), list[float]()
    original = CsvRows(tmp_path / "original.csv")
    verdict = verify_in_engine(session, files, original, expected, witness_of(release, session), told.append)
    assert verdict.passed
    steps = len(verdict.required) - 3
    assert told == [(1 + i) / (steps + 1) for i in range(steps)] + [1.0]


def test_the_rows_of_a_csv_file_have_their_one_form(session: DuckSession, tmp_path: Path) -> None:
    (tmp_path / CSV).write_text('age,ill\n"1",a\n', encoding="utf-8")
    found = checks(session, folder=tmp_path)
    found._release = EngineFiles(tmp_path)
    with pytest.raises(CheckFailed, match="not written"):
        found._read_released(["age"])


def test_rows_that_describe_nobody_of_their_class_are_refused(session: DuckSession) -> None:
    found = checks(session, rows=[("[5,6]", "b"), ("[1,2]", "a"), *ROWS[2:]])
    found.cells()
    found.private()
    with pytest.raises(CheckFailed, match="describe no record of their class"):
        found.truth()


def test_one_row_is_enough(session: DuckSession) -> None:
    found = checks(session, PEOPLE[:1], [("1", "a")])
    found.cells()
    assert found.rows() == ""
    assert found.facts["rows"] == 1


def test_hierarchies_beside_the_rows(session: DuckSession, tmp_path: Path) -> None:
    good = "column,label,above,leaf\nage,high,*,no\nage,low,*,no\n"
    beside(session, tmp_path, HIERARCHIES_FILE, good).hierarchies()
    for wrong in (good.replace("age,low,*,no\n", ""), good.replace("high", '"high"')):
        with pytest.raises(CheckFailed):
            beside(session, tmp_path, HIERARCHIES_FILE, wrong).hierarchies()
    found = beside(session, tmp_path, HIERARCHIES_FILE, good.replace("age,high", "age,1,low,yes\nage,high"))
    with pytest.raises(CheckFailed):
        found.hierarchies()
    found._in_totals = {"age": frozenset(["1"])}
    found.hierarchies()
