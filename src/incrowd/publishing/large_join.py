"""k-join-anonymity over an engine: two tables are joined where they are, and cut as one.

Who may have a row follows from the public table, as in `incrowd.join`; the engine compares ids and counts.
Afterwards everybody is a row of one table with one more column, which says who is private: distinct records
are cut as ever, and classes without anybody private are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.kja import with_private_people
from incrowd.encode import THE_PUBLIC, numbered
from incrowd.engines.base import Frequencies, Lookup, Tuples
from incrowd.engines.joined_people import OTHER, OWN, PRIVATE, PeopleJoin, Side
from incrowd.engines.sql_engine import SqlEngine
from incrowd.engines.table_files import TableFiles, TextTable
from incrowd.errors import InputError, TableError, option, unknown
from incrowd.flow import Attribute, Codes, Microdata, Table, TextColumn
from incrowd.join import (
    THE_SECOND,
    JoinCounts,
    check_public,
    identifier_of,
    provenance,
    refuse_conflicts,
    refuse_repeated,
    refuse_several_rows,
    refuse_unlisted,
)
from incrowd.measures import covered_by, published_from_regions
from incrowd.measures.presence import Presence
from incrowd.policy import Policy
from incrowd.policy.exposures import UNSAFE_JOIN
from incrowd.policy.parts import Public
from incrowd.publishing.disclosure import PresenceDisclosure
from incrowd.publishing.large_classes import ClassCollector, WeighedRegions
from incrowd.schema import Column, Role, Schema
from incrowd.values import same_name

Ints = NDArray[np.int64]
ONE_FILE = ("parquet", "texts", "sqlite", "frame")  # kinds of public tables that a manifest can name


@dataclass(frozen=True, slots=True, eq=False)
class PublicFiles:
    """The public table and, if there is one, its second source, as an engine reads them."""

    said: Public
    source: object
    files: TableFiles
    check_source: object = None
    check: TableFiles | None = None

    @property
    def all(self) -> list[TableFiles]:
        return [self.files, *([] if self.check is None else [self.check])]

    def fingerprint(self) -> list[dict[str, Any]]:
        """What must be the same at the end as at the start."""
        return [each.fingerprint() for each in self.all]


def public_files(policy: Policy, public: object, check: object, opened: Any) -> PublicFiles:
    """The public table as given, else as the policy says; `opened` makes files of a source."""
    said = check_public(policy)
    source = policy.folder / said.table if public is None else public
    if check is None and said.check is not None:
        check = policy.folder / said.check
    found = PublicFiles(said, source, opened(source), check, None if check is None else opened(check))
    for each, what in zip(found.all, (THE_PUBLIC, THE_SECOND), strict=False):
        if each.kind not in ONE_FILE or (each.kind != "frame" and len(each.files) != 1):
            raise InputError(
                f"{what} must be one file, so that the manifest can name its SHA-256: write it as one "
                f"Parquet or CSV file, or leave out {option('engine')}"
            )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class JoinedTables:
    """Both tables of an engine, and the second source: what was joined."""

    private: TextTable
    public: TextTable
    second: TextTable | None
    files: PublicFiles
    id: str

    @classmethod
    def open(cls, engine: SqlEngine, policy: Policy, files: PublicFiles) -> JoinedTables:
        """Look at the tables beside that of the engine."""
        wanted = [*policy.quasi_identifiers, same_name(files.said.id)]
        public = engine.beside(files.files, "public", wanted)
        second = None if files.check is None else engine.beside(files.check, "second", wanted)
        return cls(engine.table, public, second, files, files.said.id)

    def provenance(self) -> dict[str, Any]:
        """What the manifest says of the public table."""
        files = self.files
        sized = [
            None if each is None else cast(Table, range(each.rows)) for each in (self.public, self.second)
        ]
        public = cast(Table, sized[0])
        return provenance(files.source, public, files.said, files.check_source, sized[1])


def distinct_public(engine: SqlEngine, tables: JoinedTables, policy: Policy) -> dict[str, Frequencies]:
    """The distinct texts of the quasi-identifiers of the public table, by its own names for them."""
    said = {same_name(name) for name in policy.quasi_identifiers}
    return {
        name: engine.domain(name, tables.public) for name in tables.public.names if same_name(name) in said
    }


@dataclass(frozen=True, slots=True, eq=False)
class JoinedPeople:
    """Whoever may have a row: what became of both tables, and what the manifest says of the public one."""

    counts: JoinCounts
    provenance: Mapping[str, Any]


def join_people(
    engine: SqlEngine,
    schema: Schema,
    tables: JoinedTables,
    met: Sequence[Mapping[str, Frequencies]],
    policy: Policy,
) -> JoinedPeople:
    """Join, and put the people in the place of the engine's table.

    `met` are the distinct texts of the private and of the public table.
    """
    blind, quasi = not UNSAFE_JOIN.accepted(policy.accept), schema.having(Role.QUASI)
    names = [column.name for column in quasi]
    id = identifier_of(schema, tables.id)
    sides = [
        _Named.of(tables.private, "the table", id, names),
        _Named.of(tables.public, THE_PUBLIC, id, names),
    ]
    if tables.second is not None:
        sides.append(_Named.of(tables.second, THE_SECOND, id, names))
        met = [*met, {name: engine.domain(name, tables.second) for name in sides[2].quasi}]
    texts = [[found[name] for name in side.quasi] for side, found in zip(sides, met, strict=True)]
    coded, words = _numbers(quasi, schema.missing, sides, texts)
    join = PeopleJoin(engine.session, schema.missing, blind)
    read = [Side(side.table, side.id, lookups) for side, lookups in zip(sides, coded, strict=True)]
    join.read("mine_", read[0])
    refuse_several_rows(join.nameless("mine_"), join.several(), id)
    join.read("every_", read[1])
    nameless = join.nameless("every_")
    refuse_repeated(*join.list_people("every_", "listed_"), names)
    if len(read) > 2:
        join.read("every_", read[2])
        join.list_people("every_", "second_")
    engine.session.run("DROP TABLE every_")
    join.mark(confirmed=len(read) > 2)
    found = join.counted(tables.private.rows, tables.public.rows, nameless)
    if tables.files.said.conflicts == "refuse":
        refuse_conflicts(found.counts.conflicts, found.differing, names)
    if blind:
        refuse_unlisted([found.not_listed, *found.doubtful])
    engine.table = join.write(engine.folder, names, words)
    people = found.counts.people + found.counts.external
    if engine.table.rows != people:
        raise TableError(
            f"after joining there are {engine.table.rows:,} people, and {people:,} were counted; did a table "
            "change meanwhile? Nothing was published"
        )
    return JoinedPeople(found.counts, tables.provenance())


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """A table with the names that it has for the id and the quasi-identifiers."""

    table: TextTable
    id: str
    quasi: tuple[str, ...]

    @classmethod
    def of(cls, table: TextTable, what: str, id: str, names: Sequence[str]) -> _Named:
        there = {same_name(name): name for name in table.names}
        absent = [name for name in (id, *names) if same_name(name) not in there]
        if absent:
            raise TableError(unknown(f"in {what}", absent, table.names))
        return cls(table, there[same_name(id)], tuple(there[same_name(name)] for name in names))


def _numbers(
    quasi: Sequence[Column],
    missing: frozenset[str],
    sides: Sequence[_Named],
    texts: Sequence[Sequence[Frequencies]],
) -> tuple[list[list[Lookup]], list[list[str]]]:
    """For each table the number of each text of each column, and for each column a text of each number."""
    lookups: list[list[Lookup]] = [[] for _ in texts]
    words: list[list[str]] = []
    for j, column in enumerate(quasi):
        columns = [_once(side[j].texts) for side in texts]
        others = dict(zip((THE_PUBLIC, THE_SECOND), columns[1:], strict=False))
        coded = numbered(column, missing, columns[0], others, in_rows=False)
        size = 1 + max(int(codes.max(initial=-1)) for codes in coded)
        words.append([""] * size)
        for at, (found, codes) in enumerate(zip(columns, coded, strict=True)):
            lookups[at].append(Lookup(sides[at].quasi[j], found.texts, codes, max(size, 1)))
            for text, code in zip(found.texts, codes.tolist(), strict=True):
                if code >= 0:
                    words[-1][code] = text or ""
    return lookups, words


def _once(texts: Sequence[str | None]) -> TextColumn:
    return TextColumn(np.arange(len(texts), dtype=np.int32), tuple(texts))


OF_PEOPLE = Lookup(OWN, (OTHER, PRIVATE), np.array([0, 1], np.int32), 2)  # who is private, as a code


class JoinedClasses:
    """Classes of people of two tables: those with somebody private are collected, the others left out.

    How many people of each are private is counted; of those without a row some are remembered, up to a limit.
    """

    def __init__(self, classes: ClassCollector, limit: int) -> None:
        self.classes, self._limit = classes, limit
        self._private: list[Ints] = []
        self._codes: list[Codes] = []
        self._weights: list[Codes] = []
        self._remembered = 0
        self.left_out = 0

    def add(self, tuples: Tuples, labels: Codes) -> Codes:
        """The classes of a block -> the number of each tuple's class, -1 of those without a row."""
        own = tuples.values[0] == OF_PEOPLE.codes[1]
        kept = with_private_people(labels, own)
        some, found = kept >= 0, np.full(len(tuples), -1, np.int32)
        if some.any():
            part, first = Tuples(tuples.codes[some], tuples.weights[some]), len(self.classes)
            found[some] = self.classes.add(part, kept[some])
            private = np.where(own, tuples.weights, 0)[some]
            counts = np.bincount(found[some] - first, private, len(self.classes) - first)
            self._private.append(counts.astype(np.int64))
        self._leave_out(tuples, ~some)
        return found

    def _leave_out(self, tuples: Tuples, some: NDArray[np.bool_]) -> None:
        self.left_out += int(tuples.weights[some].sum(dtype=np.int64))
        room = self._limit - self._remembered
        if room > 0:
            self._codes.append(tuples.codes[some][:room])
            self._weights.append(tuples.weights[some][:room])
            self._remembered += self._weights[-1].size

    def private(self, regions: WeighedRegions) -> Ints:
        """How many people of each region are private."""
        counts = np.concatenate(self._private)
        return np.bincount(regions.of_class, counts, len(regions)).astype(np.int64)

    def presence(self, regions: WeighedRegions, attributes: tuple[Attribute, ...]) -> LargePresence:
        """What classes disclose about who is private, and who of those without a row is surely absent."""
        codes, weights = np.concatenate(self._codes), np.concatenate(self._weights)
        shown = published_from_regions(regions, attributes)
        outside = ~covered_by(shown, Microdata(codes, attributes)) if weights.size else np.zeros(0, np.bool_)
        private = self.private(regions)
        outsiders = int(regions.counts.sum() - private.sum()) + self.left_out
        absent = int(weights[outside].sum(dtype=np.int64))
        looked_at = int(weights.sum(dtype=np.int64))
        found = Presence(private, regions.counts, absent, outsiders)
        return LargePresence(found, looked_at == self.left_out)


@dataclass(frozen=True, slots=True, eq=False)
class LargePresence:
    """Presence; `complete` if all who have no row were looked at, else so many or more are surely absent."""

    presence: Presence
    complete: bool


@dataclass(frozen=True)
class LargePresenceDisclosure(PresenceDisclosure):
    """The same as in memory; how many are certainly absent may be more than is said."""

    complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        more = {} if self.complete else {"certainly_absent_at_least": True}
        return super().to_dict() | more


@dataclass(frozen=True, slots=True, eq=False)
class StandInRows:
    """What a draft knows of two tables: how they were joined, and what classes say of who is private."""

    people: JoinedPeople
    tables: JoinedTables
    presence: LargePresence

    def disclosure(self) -> LargePresenceDisclosure:
        found = self.presence
        return LargePresenceDisclosure(found.presence, self.people.counts, found.complete)
