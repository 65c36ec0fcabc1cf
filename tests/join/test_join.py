"""Two tables side by side: who stands in is surely somebody else, and all others are counted or refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from twins import join as naive_join

from incrowd.encode import encode
from incrowd.errors import Exposure, HierarchyError, IncrowdError, PolicyError, TableError
from incrowd.examples import write_example
from incrowd.flow import Table
from incrowd.hierarchy.builders import read_levels
from incrowd.join import Joined, check_public, encode_joined, read_sources
from incrowd.join import join as blind_join
from incrowd.policy import Policy
from incrowd.schema import Column, Kind, Role, Schema
from incrowd.tables import read

join = partial(blind_join, blind=False)  # with people whom the public table lacks, as unsafe-join accepts


Row = Mapping[str, str | None]
Error = type[IncrowdError]

KINDS = {"age": "numeric", "born": "date", "sex": "categorical"}
MISSING = frozenset({"", "?"})
SCHEMA = Schema(
    (
        Column("ill", Role.SENSITIVE),
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("id", Role.IDENTIFIER),
        Column("born", Role.QUASI, Kind.DATE, format="dd.mm.yyyy"),
        Column("sex", Role.QUASI),
    ),
    MISSING,
)


def table_of(rows: Sequence[Row], names: Sequence[str]) -> Table:
    return Table.of({name: [row[name] for row in rows] for name in names})


# ---------------------------------------------------------------------------------------------- the slow twin

IDS = ("1", "01", "1.0", "2", "3", "a", "A", "a-b", "ab", "b")
WRITTEN: dict[str, tuple[tuple[str | None, ...], ...]] = {  # each value in several forms
    "age": (("30", "30.0", "3e1"), ("31", "031"), ("", "?", None)),
    "born": (("01.02.2000", "1.2.2000"), ("02.02.2000",), ("", None)),
    "sex": (("F",), ("M",), ("f",), ("?", None)),
}
SAYS = {
    "nameless": "id identifies people, but is missing in",
    "several": "more than one row in the table",
    "repeated": "in the public table more than once and described differently",
    "conflict": "described differently by the table and by the public table",
    "unread": "are no ",
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], list[Row], list[Row] | None]:
    """Three lists that mostly agree about people, in different words, with gaps, doubles and faults."""
    slips = draw(st.sampled_from([0, 0, 1, 3]))
    truth = {
        id: {name: draw(st.integers(0, len(forms) - 1)) for name, forms in WRITTEN.items()} for id in IDS
    }
    if draw(st.booleans()):  # mostly nothing is missing
        truth = {
            id: {"age": said["age"] % 2, "born": said["born"] % 2, "sex": 0} for id, said in truth.items()
        }

    def row(id: str | None) -> Row:
        said = {name: forms[truth[id or "1"][name]] for name, forms in WRITTEN.items()}
        return {"id": id, **{name: draw(st.sampled_from(forms)) for name, forms in said.items()}}

    def listed(ids: Sequence[str | None], faulty: bool) -> list[Row]:
        rows = [dict(row(id)) for id in ids]
        for _ in range(slips if rows and faulty else 0):
            slip = draw(st.sampled_from(rows))
            name = draw(st.sampled_from([*WRITTEN, *WRITTEN, "id"]))
            forms = [text for texts in WRITTEN.get(name, ()) for text in texts]
            slip[name] = draw(st.sampled_from([*forms, *forms, "", None, "no"]))
        return [*rows]

    private = listed(draw(st.lists(st.sampled_from(IDS), min_size=1, unique=True)), draw(st.booleans()))
    anybody = st.lists(st.sampled_from((*IDS, *IDS, None, "", "?")).filter(lambda id: id != "?"), max_size=14)
    public = listed(draw(anybody), True)
    check = listed(draw(anybody), True) if draw(st.booleans()) else None
    return private, public, check


def surely_listed(public: list[Row], check: list[Row] | None) -> list[Row]:
    """The people of the public table who may be private, one by one, by the twin."""
    found = []
    for row in public:
        try:
            naive_join.blind_joined([row], public, KINDS, set(MISSING), check)
        except naive_join.Wrong:
            continue
        found.append(row)
    return found


@st.composite
def listed_tables(draw: st.DrawFn) -> tuple[list[Row], list[Row], list[Row] | None]:
    """A public table, people of it who are private, beyond doubt but for rare slips, and a second source."""
    seldom = st.integers(0, 7).map(lambda number: number == 0)

    def cell(name: str) -> str | None:
        forms = WRITTEN[name]
        return draw(st.sampled_from(forms[2 if draw(seldom) else draw(st.integers(0, 1))]))

    ids = draw(st.lists(st.sampled_from((*IDS, "c", "d", "e", "f", "5", "6")), min_size=3, unique=True))
    public: list[Row] = [{"id": id, **{name: cell(name) for name in KINDS}} for id in ids]
    check = [row for row in public if not draw(seldom)] if draw(st.booleans()) else None
    sure = surely_listed(public, check)
    assume(sure)
    pool = public if draw(seldom) else sure
    private = draw(st.lists(st.sampled_from(pool), min_size=1, unique_by=lambda row: row["id"]))
    return [{**row, "sex": "M"} if draw(seldom) else row for row in private], public, check


@given(listed_tables(), st.sampled_from(["refuse", "public"]))
def test_the_blind_join_is_that_of_the_slow_twin(
    three: tuple[list[Row], list[Row], list[Row] | None], conflicts: str
) -> None:
    private, public, check = three
    names = ("id", *KINDS)
    mine, theirs = table_of(private, names), table_of(public, names)
    second = None if check is None else table_of(check, names)
    try:
        places, counts = naive_join.blind_joined(private, public, KINDS, set(MISSING), check, conflicts)
    except naive_join.Wrong as wrong:
        unlisted = str(wrong) == "unlisted"
        said = "must surely be in the public table" if unlisted else SAYS[str(wrong)]
        with pytest.raises(Exposure if unlisted else TableError, match=said):
            blind_join(mine, SCHEMA, theirs, "id", second, conflicts)
        reject()
    found = blind_join(mine, SCHEMA, theirs, "id", second, conflicts)
    for name in KINDS:
        assert found.table.column(name).rows() == [public[place][name] for place in places]
    assert found.own.tolist() == [place < len(private) for place in range(len(places))]
    assert found.counts.to_dict() == {"people": len(private), "rows": len(public), **counts}


@given(listed_tables(), st.data())
def test_who_may_have_a_row_does_not_depend_on_who_is_private(
    three: tuple[list[Row], list[Row], list[Row] | None], data: st.DataObject
) -> None:
    """Any two candidates for the private table that are not refused are joined to the same people."""
    _, public, check = three
    names = ("id", *KINDS)
    theirs = table_of(public, names)
    second = None if check is None else table_of(check, names)
    found = []
    sure = surely_listed(public, check)
    for _ in range(2):
        some = data.draw(st.lists(st.sampled_from(sure), min_size=1, unique_by=lambda row: row["id"]))
        joined = blind_join(table_of(some, names), SCHEMA, theirs, "id", second)
        found.append(Counter(zip(*(joined.table.column(name).rows() for name in KINDS), strict=True)))
    assert found[0] == found[1]


@given(tables(), st.sampled_from(["refuse", "microdata"]))
def test_the_join_is_that_of_the_slow_twin(
    three: tuple[list[Row], list[Row], list[Row] | None], conflicts: str
) -> None:
    private, public, check = three
    names = ("id", *KINDS)
    sides = [None if rows is None else table_of(rows, names) for rows in three]
    mine, theirs, second = sides[0], sides[1], sides[2]
    assert mine is not None
    assert theirs is not None
    try:
        places, counts = naive_join.joined(private, public, KINDS, set(MISSING), check, conflicts)
    except naive_join.Wrong as wrong:
        with pytest.raises(TableError, match=SAYS[str(wrong)]):
            join(mine, SCHEMA, theirs, "id", second, conflicts)
        reject()
    found = join(mine, SCHEMA, theirs, "id", second, conflicts)
    assert found.table.names == tuple(KINDS)
    people = [*private, *(public[place] for place in places)]
    for name in KINDS:
        assert found.table.column(name).rows() == [row[name] for row in people]
    assert found.own.tolist() == [True] * len(private) + [False] * len(places)
    assert found.counts.to_dict() == {"people": len(private), "rows": len(public), **counts}
    check_codes(mine, found, [naive_join.person(row, KINDS, set(MISSING)) for row in people])


def check_codes(table: Table, joined: Joined, people: Sequence[tuple[object, ...]]) -> None:
    """Two people have one code if and only if they have one value."""
    private = Table((*table.names, "ill"), (*table.columns, table.column("id")))
    data = encode_joined(private, SCHEMA, joined)
    assert data.own is joined.own
    assert [attribute.name for attribute in data.attributes] == list(KINDS)
    for (a, one), (b, other) in permutations(enumerate(people), 2):
        assert (
            (data.codes[a] == data.codes[b]) == np.array([x == y for x, y in zip(one, other, strict=True)])
        ).all()
    assert [sensitive.codes.size for sensitive in data.sensitive] == [len(table)]


def test_every_row_has_one_fate() -> None:
    private = Table.of({"id": ["p1", "p2"], "age": ["1", "2"]})
    public = Table.of(
        {
            "id": ["p1", None, "e1", "e1", "P2", "e2", "e3", ""],
            "age": ["1.0", "1", "4", "4.0", "2", None, "5", "9"],
        }
    )
    schema = Schema((Column("id", Role.IDENTIFIER), Column("age", Role.QUASI, Kind.NUMERIC)))
    check = Table.of({"id": ["e1", "e2"], "age": ["4", "7"]})
    found = join(private, schema, public, "id", check)
    fates = found.counts.to_dict()
    assert {key: fates[key] for key in list(fates)[2:]} == {
        "nameless": 2, "repeated": 1, "both": 1, "conflicts": 0, "incomplete": 1, "alike": 1,
        "unconfirmed": 1, "external": 1,
    }  # fmt: skip
    assert found.table.column("age").rows() == ["1", "2", "4"]
    assert len(found.counts.warnings()) == 1


def test_the_second_source_confirms_people_whole_and_without_doubt() -> None:
    columns = (Column("id", Role.IDENTIFIER), Column("q", Role.QUASI), Column("r", Role.QUASI))
    private = Table.of({"id": ["p"], "q": ["x"], "r": ["x"]})
    public = Table.of({"id": [*"abcde"], "q": ["x"] * 5, "r": [*"abcde"]})
    second = {"id": [*"aabbcdd", None], "q": [*"xxxyyxx", "x"], "r": [*"aabbcdz", "e"]}
    found = join(private, Schema(columns), public, "id", Table.of(second))
    assert found.table.column("r").rows() == ["x", "a"]  # b and d are doubtful, c is half right, e is nobody
    assert found.counts.unconfirmed == 4


def test_without_anybody_to_stand_in_it_is_the_table_alone() -> None:
    private = Table.of({"id": ["1", "2"], "q": ["x", "y"], "ill": ["a", "b"]})
    schema = Schema((Column("id", Role.IDENTIFIER), Column("q", Role.QUASI), Column("ill", Role.SENSITIVE)))
    found = join(private, schema, Table.of({"id": [], "q": []}), "id")
    assert found.counts.external == 0
    assert [note[:20] for note in found.counts.warnings()] == ["nobody of the public", "nobody of the privat"]
    alone, data = encode(private, schema), encode_joined(private, schema, found)
    assert (data.codes == alone.codes).all()
    assert (data.sensitive[0].codes == alone.sensitive[0].codes).all()
    assert data.own is not None
    assert data.own.all()


def test_domains_are_those_of_everyone() -> None:
    private = Table.of({"id": ["1", "2"], "age": ["40", "50"]})
    public = Table.of({"age": ["20", "90", ""], "name": ["x", "y", "z"], "id": ["8", "9", "10"]})
    schema = Schema((Column("id", Role.IDENTIFIER), Column("age", Role.QUASI, Kind.NUMERIC)))
    data = encode_joined(private, schema, join(private, schema, public, "id"))
    assert data.attributes[0].texts == ("20", "40", "50", "90")  # and no missing: nobody who stands in has it
    assert data.codes[:, 0].tolist() == [1, 2, 0, 3]
    assert data.sensitive == ()


def test_names_of_columns_may_be_composed_otherwise() -> None:
    private = Table.of({"id\u00e9": ["1"], "\u00e2ge": ["40"]})
    public = Table.of({"a\u0302ge": ["20"], "ide\u0301": ["2"]})
    schema = Schema((Column("id\u00e9", Role.IDENTIFIER), Column("\u00e2ge", Role.QUASI)))
    assert join(private, schema, public, "ide\u0301").table.column("\u00e2ge").rows() == ["40", "20"]


@pytest.mark.parametrize("id", ["7", "007", " 7", "7.0", "0-0-7"])
def test_an_id_that_may_be_the_same_lets_nobody_stand_in(id: str) -> None:
    """One person in two forms would hide behind themself."""
    schema = Schema((Column("id", Role.IDENTIFIER), Column("q", Role.QUASI)))
    private = Table.of({"id": ["7", "x\0y"], "q": ["a", "b"]})
    found = join(private, schema, Table.of({"id": [id, "8"], "q": ["a", "a"]}), "id")
    assert (found.counts.both, found.counts.alike, found.counts.external) == (id == "7", id != "7", 1)


def test_inputs_are_not_changed() -> None:
    private, public = Table.of({"id": ["1"], "q": ["a"]}), Table.of({"id": ["2", "2"], "q": ["a", "a"]})
    before = [column.codes.copy() for table in (private, public) for column in table.columns]
    join(private, Schema((Column("id", Role.IDENTIFIER), Column("q", Role.QUASI))), public, "id", public)
    after = [column.codes for table in (private, public) for column in table.columns]
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


# --------------------------------------------------------------------------------------------------- refusals

MARK = re.compile(r"zq[A-Z]|73[0-9]{3}")  # every cell carries one
PRIVATE = {"who": ["zqA", "zqB"], "age": ["73001", "73002"], "zip": ["zqZ1", "zqZ2"]}
PUBLIC = {"who": ["zqB", "zqC", "zqD"], "age": ["73002", "73003", "73001"], "zip": ["zqZ2", "zqZ1", "zqZ2"]}
TREE = (("zqZ1", "zqT", "*"), ("zqZ2", "zqT", "*"))
Columns = dict[str, Any]


def with_(columns: Columns, **changed: object) -> Columns:
    return {name: texts for name, texts in {**columns, **changed}.items() if texts is not None}


@dataclass(frozen=True)
class Bad:
    """Two tables that cannot be joined, and the words that say why."""

    id: str
    says: tuple[str, ...]
    error: Error = TableError
    private: Columns = field(default_factory=dict)
    public: Columns = field(default_factory=dict)
    check: Columns | None = None
    age: Columns = field(default_factory=dict)
    zip: Columns = field(default_factory=dict)
    who: Role = Role.IDENTIFIER
    column: str = "who"

    def run(self) -> Joined:
        schema = Schema(
            (
                Column("who", self.who),
                Column("age", Role.QUASI, **{"kind": Kind.NUMERIC, **self.age}),
                Column("zip", Role.QUASI, **self.zip),
            ),
            frozenset({"", "-9"}),
        )
        private, public = with_(PRIVATE, **self.private), with_(PUBLIC, **self.public)
        check = None if self.check is None else Table.of(with_(PUBLIC, **self.check))
        return join(Table.of(private), schema, Table.of(public), self.column, check)


ORDER = {"kind": Kind.ORDERED, "order": ("zqZ1", "zqZ2")}
DATES = {"kind": Kind.DATE, "format": "dd.mm.yyyy"}
DAYS = ["01.02.2000", "02.02.2000"]
BADS = (
    Bad(
        "no id column",
        ("public.id", "not in the table: whom", "did you mean 'who'"),
        PolicyError,
        column="whom",
    ),
    Bad("id is kept", ("public.id: who", "put it under identifiers"), PolicyError, who=Role.KEEP),
    Bad("id is known", ("public.id: who", "put it under identifiers"), PolicyError, who=Role.QUASI),
    Bad("id of several rows", ("one row for each person", "entity"), PolicyError, who=Role.ENTITY),
    Bad("no id in the public table", ("not in the public table: who", "has: age, zip"), public={"who": None}),
    Bad(
        "no column in the public table",
        ("not in the public table: zip", "has: who, age"),
        public={"zip": None},
    ),
    Bad("no column in the check", ("not in the table under 'check': age",), check={"age": None}),
    Bad("no id in the check", ("not in the table under 'check': who",), check={"who": None}),
    Bad(
        "id missing", ("who identifies people", "missing in 2 rows of the table"), private={"who": ["", None]}
    ),
    Bad("id missing by its word", ("missing in 1 rows of the table",), private={"who": ["zqA", "-9"]}),
    Bad(
        "id twice",
        ("1 person has more than one row in the table", "k counts"),
        private={"who": ["zqA", "zqA"]},
    ),
    Bad(
        "public id twice",
        ("1 person is in the public table more than once", "first in age", "keep one row"),
        public={"who": ["zqC", "zqC", "zqC"], "zip": ["zqZ1"] * 3},
    ),
    Bad(
        "conflict",
        ("1 person is described differently", "the public table", "first in zip", 'conflicts = "public"'),
        public={"zip": ["zqZ1"] * 3},
    ),
    Bad(
        "conflicts",
        ("2 people are", "first in age"),
        public={"who": ["zqB", "zqA", "zqD"], "age": ["73009"] * 3},
    ),
    Bad("conflict by a gap", ("1 person is", "first in age"), public={"age": ["", "73003", "73001"]}),
    Bad(
        "conflict by the word for a gap",
        ("1 person is", "first in age"),
        public={"age": ["-9", "73003", "73001"]},
    ),
    Bad("conflict by a gap at home", ("1 person is", "first in age"), private={"age": ["73001", None]}),
    Bad(
        "text in numbers",
        (
            "in the public table, 1 of the 3 distinct values of age are no numbers",
            "first in row 2 ",
            "'missing'",
        ),
        public={"age": ["73002", "zqOld", "73001"]},
    ),
    Bad(
        "text in numbers at home",
        ("age is declared numeric, but 1 of its 2",),
        private={"age": ["73001", "zqOld"]},
        public={"age": ["73002", "zqOld", "73001"]},
    ),
    Bad(
        "text in numbers of the check",
        ("in the table under 'check', 1 of the 3 distinct values of age are no numbers", "first in row 3 "),
        check={"age": ["73002", "73001", "zqOld"]},
    ),
    Bad(
        "dates of another form",
        (
            "in the public table, 2 of the 3 distinct values of age are no dates (dd.mm.yyyy)",
            "first in row 2 ",
        ),
        private={"age": DAYS},
        public={"age": [DAYS[1], "2000-02-01", "2000-02-02"]},
        age=DATES,
    ),
    Bad(
        "missing in another form",
        ("in the public table, 1 of the 3 distinct values of age mean missing in another form", "row 2 "),
        public={"age": ["73002", "-9.0", "73001"]},
    ),
    Bad(
        "not in the order",
        ("in the public table, 1 of the 2 distinct values of zip are not in its list 'values'", "row 3 "),
        public={"zip": ["zqZ2", "zqZ2", "zqZ9"]},
        zip=ORDER,
    ),
    Bad(
        "not in the hierarchy",
        (
            "in the public table, 1 of the 2 distinct values of zip are not in its hierarchy",
            "row 3 ",
            "add a row",
        ),
        HierarchyError,
        public={"zip": ["zqZ2", "zqZ2", "zqZ9"]},
        zip={"levels": TREE},
    ),
)


@pytest.mark.parametrize("bad", BADS, ids=lambda bad: bad.id)
def test_refused_in_words_that_quote_no_cell(bad: Bad) -> None:
    with pytest.raises(bad.error) as caught:
        bad.run()
    message = str(caught.value)
    assert all(words in message for words in bad.says), message
    assert not MARK.search(message), message
    assert not any(day in message for day in DAYS)


def test_the_tables_that_all_others_spoil_can_be_joined() -> None:
    assert all(
        MARK.search(cell) for columns in (PRIVATE, PUBLIC) for texts in columns.values() for cell in texts
    )
    for spoilt in (
        Bad("", ()),
        Bad("", (), check={}),
        Bad("", (), zip=ORDER),
        Bad("", (), zip={"levels": TREE}),
    ):
        assert spoilt.run().counts.external == 2


def test_nouns_show_no_cell() -> None:
    found = Bad("", ()).run()
    assert not MARK.search(f"{found!r} {found.counts!r} {found.counts.warnings()}")


# ----------------------------------------------------------------------------------------------- whole tables


def test_the_clinic_and_the_roll_of_its_region(tmp_path: Path) -> None:
    folder = write_example(tmp_path, rows=300)
    policy = Policy.load(folder / "join.toml")
    said, sources, patients = check_public(policy), read_sources(policy), read(folder / "patients.csv")
    schema = policy.schema(patients, sources.public)
    assert [column.name for column in schema.having(Role.QUASI)] == ["age", "sex", "zip"]
    found = blind_join(patients, schema, sources.public, said.id, sources.check, said.conflicts)
    assert found.counts.both + found.counts.external == found.counts.rows == len(sources.public)
    assert found.counts.both == 300
    data = encode_joined(patients, schema, found)
    assert len(data) == len(patients) + found.counts.external
    assert {len(values.codes) for values in data.sensitive} == {300}


PEOPLE = ("PUMA", "AGEP", "SEX", "RAC1P", "HISP", "MAR")


def census(real_data: Path) -> tuple[Table, Table, Schema]:
    folder = real_data / "acs2024_join"
    truth = read(folder / "truth.csv")
    person = dict(zip(truth.column("record_id").rows(), truth.column("person_id").rows(), strict=True))
    records = read(folder / "microdata.csv")
    ids = Table.of({"person_id": [person[record] for record in records.column("record_id").rows()]})
    names = (*PEOPLE, "DIS", "PINCP")
    private = Table((*ids.names, *names), (*ids.columns, *(records.column(name) for name in names)))
    levels = {name: read_levels(folder / "hierarchies" / f"{name}.csv") for name in PEOPLE}
    quasi = tuple(Column(name, Role.QUASI, levels=levels[name]) for name in PEOPLE)
    sensitive = (Column("DIS", Role.SENSITIVE), Column("PINCP", Role.SENSITIVE, Kind.NUMERIC))
    who = Column("person_id", Role.IDENTIFIER)
    return private, read(folder / "public_list.csv.gz"), Schema((who, *quasi, *sensitive))


def test_a_sample_of_florida_is_found_in_the_list_of_florida(real_data: Path) -> None:
    private, public, schema = census(real_data)
    found = blind_join(private, schema, public, "person_id")
    inside = set(private.column("person_id").rows())
    outside = [i for i, id in enumerate(public.column("person_id").rows()) if id not in inside]
    assert found.counts.to_dict() == {
        **dict.fromkeys(found.counts.to_dict(), 0),
        "people": 16479, "rows": 164799, "both": 16479, "external": 148320,
    }  # fmt: skip
    for name in PEOPLE:
        there = public.column(name).rows()
        expected = [*private.column(name).rows(), *(there[i] for i in outside)]
        assert found.table.column(name).rows() == expected
    data = encode_joined(private, schema, found)
    alone = encode(private, schema)
    assert (data.codes[: len(private)] == alone.codes).all()  # the hierarchies declare the domains


def test_fakes_in_the_list_are_not_confirmed(real_data: Path) -> None:
    """Somebody who adds people to one list, to know who in a crowd is nobody, does not get them in."""
    private, public, schema = census(real_data)
    rows = np.arange(5000)
    honest = Table(public.names, tuple(column.take(rows) for column in public.columns))
    listed = {name: honest.column(name).rows() for name in honest.names}
    poisoned = {name: [*texts, *texts[:40]] for name, texts in listed.items()}
    poisoned["person_id"][-40:] = [f"FAKE{i}" for i in range(40)]
    trusting = join(private, schema, Table.of(poisoned), "person_id")
    checked = join(private, schema, Table.of(poisoned), "person_id", honest)
    assert trusting.counts.external - checked.counts.external == checked.counts.unconfirmed == 40
    assert join(private, schema, honest, "person_id").counts.external == checked.counts.external
