"""The private and the public table joined for k-join-anonymity: who can stand in for whom.

Whoever is in the public table and not in the private one can stand in an equivalence class of those who are.
It must be certain that those who stand in are people, that they are others than those of the private table,
and what outsiders know of them. Whoever is in doubt is left out and counted, which costs detail and never
anybody's privacy. What is plainly wrong is an error.

The join is blind: who may have a row, and what it may say, follows from the public table alone, never from
who is in the private one. So everybody of the private table must be in the public one, beyond doubt, and is
described as it says.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.encode import GAP, THE_PUBLIC, encode, numbered
from incrowd.errors import Exposure, PolicyError, TableError, unknown
from incrowd.flow import Codes, Microdata, Table, TextColumn
from incrowd.policy import Policy
from incrowd.policy.exposures import UNSAFE_JOIN
from incrowd.policy.parts import Public
from incrowd.schema import Column, Role, Schema, Source
from incrowd.tables.checked_files import sha256_of
from incrowd.values import same_name

Flags = NDArray[np.bool_]

THE_SECOND = "the table under 'check'"
_BETWEEN = " \t\N{NO-BREAK SPACE}-./_"  # what some write between the digits of a number, and others do not


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The public table and the second source as they were read, and what the manifest says of them."""

    public: Table
    check: Table | None
    provenance: Mapping[str, Any]


def check_public(policy: Policy) -> Public:
    """What the policy says of the public table; an error unless people can hide behind its people."""
    said = policy.public
    if said is None:
        raise PolicyError(
            f"{policy.method} joins the table with a public one: write table, id and membership_secret under "
            "[public]"
        )
    if said.membership_secret is not True:
        raise PolicyError(
            f"{policy.method} counts people of the public table towards k, so it does not protect against "
            "somebody who knows who is in the private table; if that is a secret, write "
            "membership_secret = true under [public]"
        )
    return said


def read_sources(policy: Policy, public: object = None, check: object = None) -> Sources:
    """Read the public table and, if there is one, the second source: as given, else as the policy says."""
    said = check_public(policy)
    source = policy.folder / said.table if public is None else public
    table = _read(source)
    if check is None and said.check is not None:
        check = policy.folder / said.check
    second = None if check is None else _read(check)
    return Sources(table, second, provenance(source, table, said, check, second))


def _read(source: object) -> Table:
    return source if isinstance(source, Table) else tables.read(source)


def provenance(
    source: object, table: Table, public: Public, check: object = None, second: Table | None = None
) -> dict[str, Any]:
    """Which public table was joined, for the manifest: enough to see whether another one is the same.

    `check` and `second` are the second source and its table. Of a file there is the SHA-256, of anything else
    its kind.
    """
    said = {**_fingerprint(source, table), "id": public.id}
    said |= {key: text for key in ("source", "date") if (text := getattr(public, key)) is not None}
    if second is not None:
        said["checked_against"] = _fingerprint(check, second)
        if said["checked_against"].get("sha256", "") == said.get("sha256"):
            raise PolicyError("the tables under 'table' and 'check' of [public] are the same, byte for byte")
    return said


def _fingerprint(source: object, table: Table) -> dict[str, Any]:
    given = Source.of(source)
    if given is None or given.file is None or not given.file.is_file():
        return {"kind": type(source).__name__, "rows": len(table)}
    return {"sha256": sha256_of(given.file), "rows": len(table)}


@dataclass(frozen=True, slots=True)
class JoinCounts:
    """What became of the rows of the public table. They tell who is in the private one: not to be published.

    Every row of the public table is one of `nameless` (no id), `repeated` (said before),
    `both` (about somebody of the private table), `incomplete` (a quasi-identifier is missing), `alike` (an id
    that may be another's, written differently), `unconfirmed` (by the second source) and `external`, the
    people who stand in. `conflicts` of `both` are described differently by the private table.
    """

    people: int
    rows: int
    nameless: int = 0
    repeated: int = 0
    both: int = 0
    conflicts: int = 0
    incomplete: int = 0
    alike: int = 0
    unconfirmed: int = 0
    external: int = 0

    def to_dict(self) -> dict[str, int]:
        return asdict(self)

    def warnings(self) -> tuple[str, ...]:
        """What the publisher should think about, in sentences."""
        said = []
        if not self.external:
            said.append("nobody of the public table can be added, so the release is as without it")
        if not self.both:
            said.append(
                "nobody of the private table is in the public one; if some should be, ids are written "
                "differently, and people may be counted twice"
            )
        if self.alike:
            said.append(
                "ids of the public table that differ from another person's only in capitals, leading zeros, "
                f"blanks or signs between: {self.alike}; these people are not added"
            )
        return tuple(said)


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """The quasi-identifiers of everyone: first those of the private table (`own`), then who stands in.

    ``rows`` are the rows of the public table about the latter.
    """

    table: Table
    own: Flags
    counts: JoinCounts
    rows: NDArray[np.int64]


def join(
    table: Table,
    schema: Schema,
    public: Table,
    id: str,
    check: Table | None = None,
    conflicts: str = "refuse",
    blind: bool = True,
) -> Joined:
    """Everybody of the private table, then those of the public one who are surely others.

    The schema is made with the public table at hand, ``policy.schema(table, public)``. The public table has
    the column `id` and all quasi-identifiers; other columns are not looked at. `id` identifies people; its
    texts are compared exactly. Whoever is not in `check`, a second source, with the same quasi-identifiers
    cannot stand in. Somebody whom the tables describe differently is an error, or with `conflicts` "public"
    as the public table says.

    A join that is not `blind` takes people whom the public table lacks, and knows `conflicts` "microdata", as
    the private table says: who is in the private table then decides what is published.

    Examples
    --------
    >>> from incrowd.schema import Kind
    >>> patients = Table.of({"ssn": ["1", "2"], "age": ["30", "41"], "ill": ["flu", "cold"]})
    >>> voters = Table.of({"ssn": ["2", "3", "1", ""], "age": ["41.0", "30", "30", "29"]})
    >>> ssn, age = Column("ssn", Role.IDENTIFIER), Column("age", Role.QUASI, Kind.NUMERIC)
    >>> joined = join(patients, Schema((ssn, age, Column("ill", Role.SENSITIVE))), voters, "ssn")
    >>> joined.table.column("age").rows(), joined.counts.both, joined.counts.nameless
    (['30', '41.0', '30'], 2, 1)
    """
    quasi = schema.having(Role.QUASI)
    names = tuple(column.name for column in quasi)
    who = identifier_of(schema, id)
    mine = _Side.of(table, "the table", who, names, schema.missing)
    theirs = _Side.of(public, THE_PUBLIC, who, names, schema.missing)
    second = None if check is None else _Side.of(check, THE_SECOND, who, names, schema.missing)
    mine.check_one_row_each(who)
    sides = (mine, theirs) if second is None else (mine, theirs, second)
    others = tuple((side.what, side.quasi) for side in sides[1:])
    columns = [
        numbered(column, schema.missing, mine.quasi[j], {what: texts[j] for what, texts in others})
        for j, column in enumerate(quasi)
    ]
    values = [np.stack(part, axis=1) for part in zip(*columns, strict=True)]
    rows, counts = _outsiders(sides, values, conflicts, names, blind)
    if blind:
        every = np.concatenate([_places(mine, theirs), rows])
        everyone = [column.take(every) for column in theirs.quasi]
    else:
        everyone = [_stacked(a, b.take(rows)) for a, b in zip(mine.quasi, theirs.quasi, strict=True)]
    own = np.arange(len(table) + rows.size) < len(table)
    return Joined(Table(names, tuple(everyone)), own, counts, rows)


def encode_joined(table: Table, schema: Schema, joined: Joined) -> Microdata:
    """Number the quasi-identifiers of all people over common domains, and sensitive columns of the own."""
    everyone = encode(joined.table, Schema(schema.having(Role.QUASI), schema.missing))
    private = schema.having(Role.SENSITIVE)
    first = Column(joined.table.names[0], Role.QUASI)  # a schema has at least one; it is not looked at
    values = encode(table, Schema((first, *private), schema.missing)).sensitive if private else ()
    return Microdata(everyone.codes, everyone.attributes, values, own=joined.own)


def identifier_of(schema: Schema, id: str) -> str:
    """The name of the id column in the private table."""
    if schema.having(Role.ENTITY):
        raise PolicyError(
            "a table that is joined with a public one has one row for each person: leave out 'entity'"
        )
    names = tuple(column.name for column in schema.columns)
    known = {same_name(name): name for name in names}
    if same_name(id) not in known:
        raise PolicyError(f"public.id: {unknown('in the table', [id], names)}")
    name = known[same_name(id)]
    if schema.column(name).role is not Role.IDENTIFIER:
        raise PolicyError(
            f"public.id: {name} identifies people and must not be published; put it under identifiers"
        )
    return name


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One of the tables: who its rows are about, and their quasi-identifiers in the schema's order.

    Of the distinct texts of `ids`, ``gone`` says which are none, ``first`` in which row each stands first
    (-1: in none).
    """

    what: str
    ids: TextColumn
    quasi: tuple[TextColumn, ...]
    gone: Flags
    first: NDArray[np.int64]

    @classmethod
    def of(cls, table: Table, what: str, id: str, names: Sequence[str], missing: frozenset[str]) -> _Side:
        there = {same_name(name): name for name in table.names}
        absent = [name for name in (id, *names) if same_name(name) not in there]
        if absent:
            raise TableError(unknown(f"in {what}", absent, table.names))
        ids, *quasi = (table.column(there[same_name(name)]) for name in (id, *names))
        gone = np.fromiter((not text or text in missing for text in ids.texts), np.bool_, len(ids.texts))
        first = np.full(gone.size, -1, np.int64)
        first[ids.codes[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of several writes the last one stays
        return cls(what, ids, tuple(quasi), gone, first)

    @property
    def named(self) -> Flags:
        """Which rows say whom they are about."""
        return ~self.gone[self.ids.codes]

    @property
    def again(self) -> Flags:
        """Which rows are about somebody who has a row before."""
        rows: Flags = self.named & (self.first[self.ids.codes] != np.arange(len(self.ids)))
        return rows

    def check_one_row_each(self, id: str) -> None:
        refuse_several_rows(int((~self.named).sum()), np.unique(self.ids.codes[self.again]).size, id)

    def place(self, texts: Sequence[str | None]) -> NDArray[np.int64]:
        """For each text the first row here that has it as id, or -1."""
        rows = dict(zip(self.ids.texts, self.first.tolist(), strict=True))
        return np.fromiter((rows.get(text, -1) for text in texts), np.int64, len(texts))


def _outsiders(
    sides: Sequence[_Side], values: Sequence[Codes], conflicts: str, names: Sequence[str], blind: bool
) -> tuple[NDArray[np.int64], JoinCounts]:
    """The rows of the public table whose people stand in, and what became of the others."""
    mine, theirs = sides[:2]
    named, again = theirs.named, theirs.again
    _check_repeated(theirs, values[1], names)
    at_home = mine.place(theirs.ids.texts)  # by distinct id: the row in the private table
    met = at_home[theirs.ids.codes]
    both = named & ~again & (met >= 0)
    differing = values[1][both] != values[0][met[both]]
    if conflicts == "refuse":
        refuse_conflicts(int(differing.any(axis=1).sum()), differing.sum(axis=0).tolist(), names)
    complete = (values[1] != GAP).all(axis=1)
    alike = (_alike_in_list(theirs) if blind else _alike(mine, theirs, at_home))[theirs.ids.codes]
    confirmed = np.ones(named.size, np.bool_)
    if len(sides) > 2:
        confirmed = _confirmed(sides[2], values[2], theirs, values[1])
    if blind:
        _check_listed(mine, theirs, (complete, ~alike, confirmed))
    left = named & ~again & ~both
    full = left & complete
    apart = full & ~alike
    sure = apart & confirmed
    counts = JoinCounts(
        people=len(mine.ids),
        rows=len(theirs.ids),
        nameless=int((~named).sum()),
        repeated=int(again.sum()),
        both=int(both.sum()),
        conflicts=int(differing.any(axis=1).sum()),
        incomplete=int(left.sum() - full.sum()),
        alike=int(full.sum() - apart.sum()),
        unconfirmed=int(apart.sum() - sure.sum()),
        external=int(sure.sum()),
    )
    return np.flatnonzero(sure), counts


def _places(mine: _Side, theirs: _Side) -> NDArray[np.int64]:
    """For each row of the private table the first row of the public one about the same person, or -1."""
    return theirs.place(mine.ids.texts)[mine.ids.codes]


def _check_listed(mine: _Side, theirs: _Side, sure: Sequence[Flags]) -> None:
    """Refuse unless everybody of the private table is surely in the public one.

    Else whoever has the public table would see that a row, or a cell, is there because of somebody private.
    """
    there = (place := _places(mine, theirs)) >= 0
    refuse_unlisted([int((~there).sum()), *(int((~flags[place[there]]).sum()) for flags in sure)])


def refuse_unlisted(counts: Sequence[int]) -> None:
    """Refuse unless these are all 0: who is not in the public table, or in it and in doubt for a reason."""
    doubt = "not in it", "without a quasi-identifier", "listed with an id like another's", "not confirmed"
    told = zip(counts, doubt, strict=True)
    if said := ", ".join(f"{n} {'is' if n == 1 else 'are'} {what}" for n, what in told if n):
        raise Exposure(
            UNSAFE_JOIN.name,
            f"everybody of the table must surely be in {THE_PUBLIC}, or it shows who is private: {said}; "
            "leave these people out, or complete the public table",
        )


def _check_repeated(theirs: _Side, values: Codes, names: Sequence[str]) -> None:
    rows = np.flatnonzero(theirs.again)
    differing = values[rows] != values[theirs.first[theirs.ids.codes[rows]]]
    people = np.unique(theirs.ids.codes[rows[differing.any(axis=1)]]).size
    refuse_repeated(people, differing.sum(axis=0).tolist(), names)


def refuse_several_rows(nameless: int, several: int, id: str) -> None:
    """Refuse a private table in which rows have no id, or people have several rows."""
    if nameless:
        raise TableError(f"{id} identifies people, but is missing in {nameless} rows of the table")
    if several:
        words = "k counts persons, so everyone must have one row"
        who = _people(several, "has", "have")
        raise TableError(f"{who} more than one row in the table, as {id} says; {words}")


def refuse_repeated(people: int, by_column: Sequence[int], names: Sequence[str]) -> None:
    """Refuse a public table that describes so many people in several ways; `by_column` says in which."""
    if people:
        raise TableError(
            f"{_people(people)} in {THE_PUBLIC} more than once and described differently, first in "
            f"{_first_column(by_column, names)}; keep one row for each"
        )


def refuse_conflicts(people: int, by_column: Sequence[int], names: Sequence[str]) -> None:
    """Refuse if the two tables describe so many people differently."""
    if people:
        raise TableError(
            f"{_people(people)} described differently by the table and by {THE_PUBLIC}, first in "
            f"{_first_column(by_column, names)}; correct one of them, or say "
            'conflicts = "public" under [public] to go by the public table'
        )


def _people(count: int, one: str = "is", several: str = "are") -> str:
    return f"1 person {one}" if count == 1 else f"{count} people {several}"


def _first_column(by_column: Sequence[int], names: Sequence[str]) -> str:
    return next(name for name, count in zip(names, by_column, strict=True) if count)


def _alike(mine: _Side, theirs: _Side, at_home: NDArray[np.int64]) -> Flags:
    """Which distinct ids may be somebody of the private table, written in another way.

    Ids are compared exactly. But if one table has 007 and the other 7, nobody can tell whether that is one
    person, and one person must not stand in their own equivalence class.
    """
    strangers = np.flatnonzero((at_home < 0) & ~theirs.gone & (theirs.first >= 0))
    known = set(bare_ids([mine.ids.texts[place] or "" for place in np.flatnonzero(mine.first >= 0).tolist()]))
    bare = bare_ids([theirs.ids.texts[place] or "" for place in strangers.tolist()])
    alike = np.zeros(at_home.size, np.bool_)
    alike[strangers] = [text in known for text in bare]
    return alike


def _alike_in_list(theirs: _Side) -> Flags:
    """Which distinct ids of the public table may be one person's, written in two ways, whoever is private."""
    met = np.flatnonzero(~theirs.gone & (theirs.first >= 0))
    bare = bare_ids([theirs.ids.texts[place] or "" for place in met.tolist()])
    often = Counter(bare)
    alike = np.zeros(theirs.gone.size, np.bool_)
    alike[met] = [often[text] > 1 for text in bare]
    return alike


def bare_ids(ids: Sequence[str]) -> list[str]:
    """Ids without capitals, leading zeros, the .0 of a float, and whatever some write between digits."""
    together = "\0".join(ids).casefold()  # one sweep over a million ids instead of a million calls
    if together.count("\0") >= max(len(ids), 1):  # never so in a table that was read
        return [bare_ids([id.replace("\0", "")])[0] for id in ids]
    together = re.sub(r"\.0(?=\0|\Z)", "", together)
    for sign in _BETWEEN:
        together = together.replace(sign, "")
    return [id.lstrip("0") for id in together.split("\0")] if ids else []


def _confirmed(second: _Side, said: Codes, theirs: _Side, values: Codes) -> Flags:
    """Which rows the second source repeats. Of somebody it describes in two ways it confirms neither."""
    rows = np.flatnonzero(second.again)
    before = second.first[second.ids.codes[rows]]
    doubtful = np.zeros(len(second.ids) + 1, np.bool_)
    doubtful[before[(said[rows] != said[before]).any(axis=1)]] = True
    doubtful[-1] = True  # where people are who have no row
    place = second.place(theirs.ids.texts)[theirs.ids.codes]
    confirmed = ~doubtful[place]
    confirmed[confirmed] = (said[place[confirmed]] == values[confirmed]).all(axis=1)
    return confirmed


def _stacked(upper: TextColumn, lower: TextColumn) -> TextColumn:
    """One column under the other, each distinct text once."""
    place = {text: i for i, text in enumerate(upper.texts)}
    lookup = np.fromiter((place.setdefault(t, len(place)) for t in lower.texts), np.int32, len(lower.texts))
    return TextColumn(np.concatenate([upper.codes, lookup[lower.codes]]), tuple(place))
