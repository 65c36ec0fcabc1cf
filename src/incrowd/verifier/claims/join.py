"""Claims of k-join-anonymity: people of a private table hide among people of a public one.

People are all records of the private table, then those of the public one who are not among them, each in the
order of their table. Whoever of the public table has no id, lacks a quasi-identifier, is not confirmed, or
may be another one whose id is written differently does not count; of rows with one id the first counts.
Everybody of the private table must count, too, and is described as the public table says: else rows would
tell who is private.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.schema import Claim, Column, Role, Schema
from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.columns import (
    Bools,
    CodedColumn,
    Ints,
    Numbering,
    RowSource,
    first_of_each,
    fold,
    numbers_of,
)
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.digests import fingerprint
from incrowd.verifier.failure import CheckFailed, exactly, require, whole
from incrowd.verifier.values import value

PUBLIC, SECOND = "the public table", "the table that confirms the public one"
COUNTS = ("people", "private")  # the columns that say how many people of a class are private
TABLE, MUST, MAY = {"sha256", "kind", "rows"}, {"rows", "id"}, {"source", "date", "checked_against"}
NEEDED = "to verify it, the public table is needed"
NOT_THERE = -1
_WHOLE = re.compile(r"[1-9][0-9]{0,17}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BETWEEN = dict.fromkeys(map(ord, " \t\N{NO-BREAK SPACE}-./_\0"))


@dataclass(frozen=True, slots=True, eq=False)
class PublicTable:
    """The public table that a release was joined with.

    `id` is the column that identifies people in both tables. `check` is a second source: only those people
    count whom it describes in the same way and no other. Where rows are no `CsvRows`, `file` and `check_file`
    are the files of both; the manifest must mean these, byte for byte. A join that is not `blind` was
    accepted by name: people may be missing in the public table, and are described as the private one says.
    """

    rows: RowSource
    id: str
    check: RowSource | None = field(default=None, repr=False)
    file: str | Path | None = None
    check_file: str | Path | None = None
    blind: bool = True

    def check_columns(self, schema: Schema) -> None:
        """All quasi-identifiers and the id are there, once; the id is never published."""
        known = [column.role for column in schema.columns if column.name == self.id]
        require(
            known == [Role.IDENTIFIER],
            "the column that joins both tables is not an identifier of the original table",
        )
        wanted = [self.id, *(column.name for column in schema.having(Role.QUASI))]
        for table, what in ((self.rows, PUBLIC), (self.check, SECOND)):
            names = list(table.names) if table is not None else wanted
            lacking = [name for name in wanted if names.count(name) != 1]
            require(not lacking, f"{what} does not have exactly one column {', '.join(lacking)}")


@dataclass(frozen=True, slots=True, eq=False)
class JoinedPeople:
    """Who may be behind rows: `own` people of the private table, then others of the public one.

    ``public_place`` is everyone's row in the public table, -1 of those whom it does not have.
    """

    own: int
    columns: Mapping[str, CodedColumn]
    public_place: Ints
    public_rows: int
    second_rows: int | None = None

    def __len__(self) -> int:
        return self.public_place.size


def read_people(
    public: PublicTable,
    schema: Schema,
    ids: CodedColumn,
    quasi: Mapping[str, Codes],
    numbers: Mapping[str, Numbering],
) -> JoinedPeople:
    """Read the public table, and the second source.

    `ids` and `quasi` are those of the private table, as numbers of texts; these `numbers` go on with the
    texts of the public table.
    """
    own = _own_ids(ids, schema)
    known = Numbering(own)
    picks = [(public.id, known), *numbers.items()]
    place = list(public.rows.names).index
    codes = numbers_of(public.rows, [(place(name), number) for name, number in picks], PUBLIC)
    person, columns = codes[0], dict(zip(numbers, codes[1:], strict=True))
    usable = np.isin(np.arange(person.size), first_of_each(person))
    usable &= ~_among(_no_id(schema), known)[person]
    if public.blind:
        usable &= ~_alike_in_list(_bare_ids(known, schema))[person]
    else:
        usable &= (person >= len(own)) & ~_alike(_bare_ids(known, schema), len(own))[person]
    for name, column in columns.items():
        usable &= ~_among({None, *schema.missing}, numbers[name])[column]
    second_rows = None
    if public.check is not None:
        confirmed, second_rows = _confirmed(public, public.check, schema, known, person, numbers, columns)
        usable &= confirmed
    external = np.flatnonzero(usable & (person >= len(own)))
    first = np.full(len(known), NOT_THERE, np.int64)
    first[person[::-1]] = np.arange(person.size)[::-1]  # the first row of each id
    of_own = first[: len(own)]
    if public.blind:
        _check_listed(of_own, usable)
        quasi = {name: columns[name][of_own] for name in numbers}
    return JoinedPeople(
        own=len(own),
        columns={name: _joined(quasi[name], columns[name][external], numbers[name]) for name in numbers},
        public_place=np.concatenate([of_own, external]),
        public_rows=person.size,
        second_rows=second_rows,
    )


def _check_listed(of_own: Ints, usable: Bools) -> None:
    """Everybody of the private table has a row in the public one that counts."""
    sure = of_own != NOT_THERE
    sure[sure] = usable[of_own[sure]]
    lacking = int((~sure).sum())
    words = "records of the original table are not, or not beyond doubt, in the public table"
    require(not lacking, f"{lacking} {words}")


def _own_ids(ids: CodedColumn, schema: Schema) -> dict[Any, int]:
    """The ids of the private table by their places: every one is there, and none twice."""
    require(not _no_id(schema) & set(ids.texts), "a record of the original table has no id")
    require(len(ids.texts) == ids.codes.size, "two records of the original table have the same id")
    return {ids.texts[code]: place for place, code in enumerate(ids.codes.tolist())}


def _no_id(schema: Schema) -> set[str | None]:
    return {None, "", *schema.missing}


def _among(some: set[str | None], texts: Numbering) -> Bools:
    return np.fromiter((text in some for text in texts), np.bool_, len(texts))


def _alike(bare: Sequence[str | None], own: int) -> Bools:
    """Which ids differ from one of the first `own` only in what some write and others leave out.

    Whether 7 and 007 are one person nobody can tell, and nobody may hide among rows of their own.
    """
    known = set(bare[:own])
    return np.fromiter((text in known for text in bare), np.bool_, len(bare))


def _alike_in_list(bare: Sequence[str | None]) -> Bools:
    """Which ids differ from another only in this way; who is not in the public table is refused anyhow."""
    often = Counter(bare)
    return np.fromiter((often[text] > 1 for text in bare), np.bool_, len(bare))


def _bare_ids(ids: Numbering, schema: Schema) -> list[str | None]:
    """Every id without what some write and others leave out; None of rows without an id, like nobody's."""
    nobody = _no_id(schema)
    return [None if text in nobody else _bare(text or "") for text in ids]


def _bare(id: str) -> str:
    """An id without capitals, the .0 of a float, signs between its digits, and leading zeros.

    Examples
    --------
    >>> _bare("007-12"), _bare("A 1.0")
    ('712', 'a1')
    """
    return id.casefold().removesuffix(".0").translate(_BETWEEN).lstrip("0")


def _confirmed(
    public: PublicTable,
    second: RowSource,
    schema: Schema,
    ids: Numbering,
    person: Codes,
    numbers: Mapping[str, Numbering],
    columns: Mapping[str, Codes],
) -> tuple[Bools, int]:
    """Which rows of the public table the second source repeats, with equal values; and how many rows it has.

    Whom it describes in several ways it confirms in none of them.
    """
    known = Numbering(ids)
    spelt = {name: Numbering(number) for name, number in numbers.items()}
    place = list(second.names).index
    picks = [(place(name), number) for name, number in {public.id: known, **spelt}.items()]
    there = numbers_of(second, picks, SECOND)
    both, sizes = [np.concatenate([person, there[0]])], [len(known)]
    for (name, texts), codes in zip(spelt.items(), there[1:], strict=True):
        means = _meanings(schema.column(name), texts)
        both.append(means[np.concatenate([columns[name], codes])])
        sizes.append(len(texts))
    line = fold(both, sizes)
    repeated, first = np.unique(line[person.size :], return_index=True)
    ways = np.bincount(there[0][first], minlength=len(known))
    return np.isin(line[: person.size], repeated) & (ways[person] == 1), there[0].size


def _meanings(column: Column, texts: Numbering) -> Codes:
    """Texts that mean the same get the same number; what cannot be read means itself."""
    meant = Numbering()
    return np.fromiter((meant[_meaning(column, text)] for text in texts), np.int32, len(texts))


def _meaning(column: Column, text: str | None) -> Any:
    try:
        return value(column, text or "")
    except CheckFailed:
        return text  # which is never equal to a number or a day


def _joined(own: Codes, others: Codes, texts: Numbering) -> CodedColumn:
    """One column of all people, with those texts only that some of them have."""
    used, codes = np.unique(np.concatenate([own, others]), return_inverse=True)
    all_texts = list(texts)
    return CodedColumn(codes.astype(np.int32), [all_texts[code] for code in used.tolist()])


def check_join_schema(public: PublicTable | None, schema: Schema) -> None:
    """What a release of two tables must have, and must not have."""
    if public is None:
        raise CheckFailed(NEEDED)
    means = any(column.mean for column in schema.published)
    require(not means, "a mean would describe people of both tables at once")
    several = schema.having(Role.ENTITY)
    require(not several, "with a public table k counts rows, but here one person may have several rows")
    public.check_columns(schema)


def check_joined_rows(rows: int, people: JoinedPeople) -> None:
    """Everybody of the private table has a row, and only people of either table do."""
    own, everyone = people.own, len(people)
    require(rows >= own, f"there are {rows} rows, fewer than the {own} people of the original table")
    require(rows <= everyone, f"there are {rows} rows, more than the {everyone} people of both tables")


@dataclass(frozen=True, slots=True, eq=False)
class PrivateCounts:
    """What rows say of their class: how many people it has, and how many are private; both (rows,)."""

    people: Ints
    private: Ints

    @classmethod
    def of(cls, columns: Mapping[str, CodedColumn]) -> PrivateCounts:
        return cls(*(_whole_numbers(columns[name], name) for name in COUNTS))


def _whole_numbers(column: CodedColumn, name: str) -> Ints:
    whole = all(text is not None and _WHOLE.fullmatch(text) for text in column.texts)
    require(whole, f"a number under {name} is not a whole number of at least 1")
    return np.array([int(text or "") for text in column.texts], np.int64)[column.codes]


def check_presence(claim: Claim, counts: PrivateCounts, kind: Ints, mine: Bools) -> str:
    """The largest share of private people in a class, if it is not above what is claimed.

    Rows of one `kind` (rows,) say the same in all columns. They are whole classes, each with k people and as
    many private ones as they say; where several classes say the same, there are as many rows as all of them
    have people. `mine` says which rows are of private people.
    """
    first = first_of_each(kind)
    rows, own = np.bincount(kind), np.bincount(kind, mine).astype(np.int64)
    people, private = counts.people[first], counts.private[first]
    least = whole(claim, "k")
    require(bool((people >= least).all()), f"a class has fewer than {least} people")
    require(bool((private <= people).all()), "a class has more private people than people")
    require(not (rows % people).any(), "a class has not as many rows as its rows say that it has people")
    wrong = int((own != rows // people * private).sum())
    words = "classes have another number of private people than their rows say"
    require(not wrong, f"{wrong} {words}, as far as it is known who is behind which row")
    reached = max(map(Fraction, private.tolist(), people.tolist()))
    most, certain = exactly(claim.parameters["most"], "most"), claim.parameters["certain"]
    require(certain in ("yes", "no"), "whether presence may be certain is neither yes nor no")
    require(reached <= most, "a class has a larger share of private people than is claimed")
    require(reached < 1 or certain == "yes", "everybody of a class is private, and that was not accepted")
    return str(reached)


def presence(row_class: Ints, mine: Bools) -> dict[str, str]:
    """The least and the largest share that people of the private table have in a class."""
    sizes = np.bincount(row_class).tolist()
    own = np.bincount(row_class[mine], minlength=len(sizes)).tolist()
    shares = [Fraction(part, size) for part, size in zip(own, sizes, strict=True)]
    return {"least": str(min(shares)), "most": str(max(shares))}


def stated_rows(stated: Any, public: PublicTable | None) -> tuple[int, int | None]:
    """How many rows the manifest says the public table and its second source have.

    It must mean those that are given: a file by its SHA-256, anything else by what kind of thing it was.
    """
    if public is None:
        raise CheckFailed(NEEDED)
    words = "the manifest does not describe the public table, or has unknown keys for it"
    require(isinstance(stated, dict) and MUST <= set(stated) <= TABLE | MUST | MAY, words)
    require(stated["id"] == public.id, "the manifest states a different column that identifies people")
    source = stated.get("source", "somebody")
    require(isinstance(source, str) and bool(source), "the source of the public table has no name")
    require(_is_day(stated.get("date", "2000-01-01")), "the date of the public table is not a date")
    rows = _check_table({key: stated[key] for key in TABLE & set(stated)}, PUBLIC, public.rows, public.file)
    if public.check is None:
        unchecked = "checked_against" not in stated
        require(unchecked, "to verify it, the table that confirmed the public one is needed")
        return rows, None
    require(
        "checked_against" in stated,
        "the manifest does not say that a second source confirmed the public table",
    )
    return rows, _check_table(stated["checked_against"], SECOND, public.check, public.check_file)


def _check_table(stated: Any, what: str, table: RowSource, file: str | Path | None) -> int:
    known = isinstance(stated, dict) and set(stated) in ({"sha256", "rows"}, {"kind", "rows"})
    require(known, f"the manifest does not describe {what}, or has unknown keys for it")
    name, rows = stated.get("sha256", stated.get("kind")), stated["rows"]
    require(
        isinstance(name, str) and bool(name), f"the manifest gives neither a SHA-256 nor a kind for {what}"
    )
    require(type(rows) is int and rows >= 0, f"the number of rows of {what} is not a whole number")
    if "sha256" in stated:
        require(_DIGEST.fullmatch(name) is not None, f"the manifest gives no valid SHA-256 for {what}")
        path = _file_of(table, file)
        same = path is None or fingerprint(path)["sha256"] == name
        require(same, f"{what} is not the one that the release was made with")
    return int(rows)


def _file_of(rows: RowSource, file: str | Path | None) -> Path | None:
    """The file of a table, if it is known."""
    if file is not None:
        return Path(file)
    return rows.path if isinstance(rows, CsvRows) else None


def _is_day(text: Any) -> bool:
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
