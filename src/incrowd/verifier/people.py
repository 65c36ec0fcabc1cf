"""People of two tables: all records of the private one, and those of a public one who are not among them.

Those of the private table come first, then the others, each in the order of their table. Whoever of the
public table has no id, lacks a quasi-identifier, is not confirmed, or may be somebody of the private table
whose id is written differently cannot stand in; of rows with one id the first counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from incrowd.schema import Claim, Column, Role, Schema
from incrowd.verifier.domain import Bools
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.rows import Codes, Ints, Numbering, Rows, Texts, fold, numbers_of
from incrowd.verifier.values import value

MODEL = "k-join-anonymity"
PUBLIC, SECOND = "the public table", "the table that confirms the public one"
NOT_THERE = -1
_BETWEEN = dict.fromkeys(map(ord, " \t\N{NO-BREAK SPACE}-./_\0"))


def joins(claims: Sequence[Claim]) -> bool:
    """Do the claims speak of people of a public table, too?"""
    return any(claim.model == MODEL for claim in claims)


@dataclass(frozen=True, slots=True, eq=False)
class Public:
    """A public table, the column that says who is who in both tables, and a second source, if there is one.

    Only those people of the public table count whom the second source describes in the same way and no other.
    """

    rows: Rows
    id: str
    check: Rows | None = field(default=None, repr=False)

    def check_columns(self, schema: Schema) -> None:
        """All quasi-identifiers and the id are there, once; the id is never published."""
        known = [column.role for column in schema.columns if column.name == self.id]
        need(known == [Role.IDENTIFIER], "the column that joins both tables is no identifier of the original")
        wanted = [self.id, *(column.name for column in schema.having(Role.QUASI))]
        for table, what in ((self.rows, PUBLIC), (self.check, SECOND)):
            names = list(table.names) if table is not None else wanted
            lacking = [name for name in wanted if names.count(name) != 1]
            need(not lacking, f"{what} has not exactly one column {', '.join(lacking)}")


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Who may be behind rows: `own` of the private table, then others of the public one.

    ``public_place`` is everyone's row in the public table, -1 of those whom it does not have.
    """

    own: int
    columns: Mapping[str, Texts]
    public_place: Ints
    public_rows: int
    second_rows: int = 0

    def __len__(self) -> int:
        return self.public_place.size


def read_people(
    public: Public, schema: Schema, ids: Texts, quasi: Mapping[str, Codes], numbers: Mapping[str, Numbering]
) -> People:
    """Read the public table, and the second source.

    Parameters
    ----------
    ids : Texts
        The ids of the private table.
    quasi : mapping
        Its quasi-identifiers, as numbers of texts.
    numbers : mapping
        These numbers; they go on with the texts of the public table.
    """
    own = _own_ids(ids, schema)
    known = Numbering(own)
    picks = [(public.id, known), *numbers.items()]
    place = list(public.rows.names).index
    codes = numbers_of(public.rows, [(place(name), number) for name, number in picks], PUBLIC)
    person, columns = codes[0], dict(zip(numbers, codes[1:], strict=True))
    usable = _first_of_each(person) & (person >= len(own)) & ~_among(_no_id(schema), known)[person]
    usable &= ~_alike(known, len(own))[person]
    for name, column in columns.items():
        usable &= ~_among({None, *schema.missing}, numbers[name])[column]
    second_rows = 0
    if public.check is not None:
        confirmed, second_rows = _confirmed(public, public.check, schema, known, person, numbers, columns)
        usable &= confirmed
    external = np.flatnonzero(usable)
    of_own = np.full(len(known), NOT_THERE, np.int64)
    of_own[person[::-1]] = np.arange(person.size)[::-1]  # the first row of each id
    return People(
        own=len(own),
        columns={name: _joined(quasi[name], columns[name][external], numbers[name]) for name in numbers},
        public_place=np.concatenate([of_own[: len(own)], external]),
        public_rows=person.size,
        second_rows=second_rows,
    )


def _own_ids(ids: Texts, schema: Schema) -> dict[Any, int]:
    """The ids of the private table by their places: every one is there, and none twice."""
    need(not _no_id(schema) & set(ids.texts), "somebody of the original has no id")
    need(len(ids.texts) == ids.codes.size, "the original names an id twice")
    return {ids.texts[code]: place for place, code in enumerate(ids.codes.tolist())}


def _no_id(schema: Schema) -> set[str | None]:
    return {None, "", *schema.missing}


def _among(some: set[str | None], texts: Numbering) -> Bools:
    return np.fromiter((text in some for text in texts), np.bool_, len(texts))


def _alike(ids: Numbering, own: int) -> Bools:
    """Which ids differ from one of the first `own` only in what some write and others leave out.

    Whether 7 and 007 are one person nobody can tell, and nobody may stand in the own crowd.
    """
    bare = [_bare(text or "") for text in ids]
    known = set(bare[:own])
    return np.fromiter((text in known for text in bare), np.bool_, len(bare))


def _bare(id: str) -> str:
    """An id without capitals, the .0 of a float, signs between its digits, and leading zeros.

    Examples
    --------
    >>> _bare("007-12"), _bare("A 1.0")
    ('712', 'a1')
    """
    return id.casefold().removesuffix(".0").translate(_BETWEEN).lstrip("0")


def _first_of_each(person: Codes) -> Bools:
    first = np.zeros(person.size, np.bool_)
    first[np.unique(person, return_index=True)[1]] = True
    return first


def _confirmed(
    public: Public,
    second: Rows,
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
    said, first = np.unique(line[person.size :], return_index=True)
    ways = np.bincount(there[0][first], minlength=len(known))
    return np.isin(line[: person.size], said) & (ways[person] == 1), there[0].size


def _meanings(column: Column, texts: Numbering) -> Codes:
    """Texts that mean the same get the same number; what cannot be read means itself."""
    meant = Numbering()
    return np.fromiter((meant[_meaning(column, text)] for text in texts), np.int32, len(texts))


def _meaning(column: Column, text: str | None) -> Any:
    try:
        return (True, value(column, text or ""))
    except Fault:
        return (False, text)


def _joined(own: Codes, others: Codes, texts: Numbering) -> Texts:
    """One column of all people, with those texts only that some of them have."""
    used, codes = np.unique(np.concatenate([own, others]), return_inverse=True)
    all_texts = list(texts)
    return Texts(codes.reshape(-1).astype(np.int32), [all_texts[code] for code in used.tolist()])
