"""Who shares a class in the next release of a series, where people are too many for memory.

The same decisions as in memory. Cohorts are counted by the engine, and most of them are shown or repeated as
they are; only people whose cohort must be cut or torn, and those who return, come into memory. Newcomers are
cut as any table of an engine is, by their distinct records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.cohorts import NONE, CohortCounts, Flags, Now, SeriesState, SeriesTerms, advanced
from incrowd.contracts import exact
from incrowd.encode import encode_texts, encode_values
from incrowd.engines.base import Frequencies, Lookup, Tuples
from incrowd.engines.in_duckdb import DuckEngine
from incrowd.engines.labelled import LabelledEngine
from incrowd.engines.resources import BYTES_A_RECORD, Resources, words
from incrowd.engines.series_people import NEW, UNDECIDED, SeriesPeople, SomePeople
from incrowd.engines.table_files import TextTable
from incrowd.errors import InputError, option
from incrowd.flow import Attribute, Codes, Microdata, Sensitive
from incrowd.long_work import Watch
from incrowd.publishing.cohort_classes import (
    NO_CLASS,
    CohortClasses,
    Floats,
    at_most,
    lost_by_classes,
    mean_of,
)
from incrowd.publishing.large_stages import CodedColumns, cut_classes
from incrowd.publishing.request import Request
from incrowd.schema import Role, Schema

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SeriesDomains:
    """The values of today's table and of the last release together, and sensitive ones of all releases."""

    attributes: tuple[Attribute, ...]
    quasi: tuple[Lookup, ...]
    sensitive: tuple[Sensitive, ...] = ()
    values: tuple[Lookup, ...] = ()

    @classmethod
    def of(
        cls, schema: Schema, both: Mapping[str, Frequencies], ever: Mapping[str, Sequence[str]]
    ) -> SeriesDomains:
        """`ever` has the texts of sensitive columns in all releases, where l is promised."""
        attributes, quasi = [], []
        for column in schema.having(Role.QUASI):
            met = both[column.name]
            attribute, codes = encode_texts(column, met.texts, met.counts, schema.missing)
            attributes.append(attribute)
            quasi.append(Lookup(column.name, met.texts, codes, len(attribute)))
        sensitive, values = [], []
        for column in schema.having(Role.SENSITIVE) if ever else ():
            texts = tuple(ever[column.name])
            coded = encode_values(column, texts, schema.missing)
            sensitive.append(coded)
            values.append(Lookup(column.name, texts, coded.codes, coded.size))
        return cls(tuple(attributes), tuple(quasi), tuple(sensitive), tuple(values))

    @property
    def names(self) -> list[str]:
        return [lookup.name for lookup in self.quasi]

    @property
    def coded(self) -> CodedColumns:
        return CodedColumns(self.attributes, (), self.sensitive, self.values)


class NewClasses:
    """Classes of newcomers, block by block: what the cells of each cover of their domains."""

    def __init__(self, attributes: tuple[Attribute, ...]) -> None:
        self._attributes, self._lost, self._classes = attributes, list[Floats](), 0

    def add(self, tuples: Tuples, labels: Codes) -> Codes:
        lost = lost_by_classes(Microdata(tuples.codes, self._attributes), labels)
        first, self._classes = self._classes, self._classes + lost.size
        self._lost.append(lost)
        return (np.unique(labels, return_inverse=True)[1].reshape(-1) + first).astype(np.int32)

    @property
    def lost(self) -> Floats:
        return np.concatenate([np.zeros(0), *self._lost])


@dataclass(eq=False)
class NextCohorts:
    """The next release in the making; `chain` are the effective tables of all releases before it."""

    engine: DuckEngine
    people: SeriesPeople
    domains: SeriesDomains
    request: Request
    terms: SeriesTerms
    resources: Resources
    chain: Sequence[Path]
    _cohorts: int = 0  # of the next release, so far
    _atoms: int = 0
    _as_of: Codes = field(default_factory=lambda: np.zeros(0, np.int32))  # of the last release's cohorts

    def decide(self, watch: Watch) -> None:
        """From everybody's state after the last release to that after this one."""
        self._atoms = self.people.last_atom()
        self._keep_the_simple()
        self._renew()
        new = self._publish_new(watch)
        self.people.settle(new)

    # Cohorts

    def _keep_the_simple(self) -> None:
        found, number = self.people.counts(), self.people.number
        size, as_of = found["size"], found["as_of"].astype(np.int32)
        counts = CohortCounts(size, found["here"], found["erased"], as_of, self._diverse_now(size))
        whole = counts.whole(self.terms)
        kept = whole | counts.stuck(self.terms)
        current = whole & ~self._held(whole, counts)
        self.people.decide(
            {
                "now": np.where(kept, np.cumsum(kept) - 1, NONE).astype(np.int32),
                "date": np.where(current, number, as_of).astype(np.int32),
            }
        )
        self._cohorts, self._as_of = int(kept.sum()), as_of

    def _diverse_now(self, size: Ints) -> Flags:
        found: Flags = np.ones(size.size, np.bool_)
        for lookup in self.domains.values:
            found &= self.people.most_frequent(lookup, size.size) * self.terms.l <= size
        return found

    def _held(self, whole: Flags, counts: CohortCounts) -> Flags:
        """Of every cohort: would it lose so much as its people are today that it is repeated for now?"""
        asked: Flags = whole & (self.people.number - counts.as_of <= self.terms.hold)
        if not asked.any():
            return asked
        then = self._lost("held_then", self.people.shown_before(self.domains.names), counts.size)
        most = exact(self.terms.tau) * mean_of(then, counts.size)
        some = self.people.rows_of_today("cohort >= 0 AND NOT erased", "cohort", self.domains.names)
        now = self._lost("held_now", some, counts.here)
        found: Flags = asked & (now > at_most(most)) & (now > then)
        return found

    def _lost(self, name: str, table: TextTable, sizes: Ints) -> Floats:
        """What the cells of each label of a table cover of their domains; 0 of labels without rows."""
        rows = self._labelled(name, table, values=False)
        lost = np.zeros(sizes.size)
        for labels, codes in rows.labelled(sizes, self.resources.most_records):
            met, dense = np.unique(labels, return_inverse=True)
            lost[met] = lost_by_classes(Microdata(codes, self.domains.attributes), dense)
        rows.forget()
        return lost

    def _labelled(self, name: str, table: TextTable, values: bool = True) -> LabelledEngine:
        """Rows with labels, as codes."""
        engine = self.engine
        rows = LabelledEngine(engine.local, engine.files, engine.folder / name, self.resources, table)
        rows.encode(self.domains.quasi, self.domains.values if values else (), ())
        return rows

    # People who come into memory

    def _renew(self) -> None:
        """Cohorts that must be cut or torn, and those who return: as in memory."""
        some = self.people.undecided(self.resources.most_records)
        if isinstance(some, int):
            raise InputError(
                f"{some:,} people return, or are in classes that have to be cut or torn, and come into "
                f"memory at once: that takes about {words(2 * BYTES_A_RECORD * some)}; "
                f"raise {option('memory')}"
            )
        old = np.unique(some.cohort[some.cohort != NONE])
        cohort = np.where(some.cohort == NONE, NONE, np.searchsorted(old, some.cohort)).astype(np.int32)
        past, dates = self._past(some), self._as_of[old]
        state = SeriesState(self.people.number, some.atom, cohort, dates, some.since, past)
        after = state
        if some.number.size:
            classes, now = self._today(some)
            after = advanced(state, now, self.terms, classes, self._atoms)
        self._atoms = max(self._atoms, int(after.atom.max(initial=0)))
        moved = np.where(after.cohort == NONE, NONE, after.cohort + self._cohorts).astype(np.int32)
        date = np.append(after.as_of, NONE)[after.cohort].astype(np.int32)
        self.people.renew(some, after.atom, moved, date)
        self._cohorts += int(after.as_of.size) if some.number.size else 0

    def _today(self, some: SomePeople) -> tuple[CohortClasses, Now]:
        """Some people as they are today."""
        rows = self._labelled("renewed", self.people.rows_of_today(UNDECIDED, names=self.domains.names))
        number, codes, values = rows.coded_rows()
        rows.forget()
        place = np.searchsorted(some.number, number)
        today = np.full(some.number.size, NONE)
        today[place] = np.arange(number.size)
        sensitive = (
            replace(column, codes=of) for column, of in zip(self.domains.sensitive, values, strict=True)
        )
        data = Microdata(codes, self.domains.attributes, tuple(sensitive))
        shown = tuple(np.append(of, NONE)[today].astype(np.int32) for of in values)
        classes = CohortClasses(
            data,
            self.request.algorithm,
            self.request.promised,
            today,
            np.full(some.number.size, NONE),
            self.people.number,
        )
        return classes, Now(some.present, some.erased, shown)

    def _past(self, some: SomePeople) -> tuple[tuple[Codes, ...], ...]:
        """What the rows of some people showed in each release, where l is promised."""
        found = []
        for effective in self.chain if self.domains.values else ():
            shown = []
            for lookup in self.domains.values:
                number, code = self.people.shown_in(effective, lookup.name, lookup)
                codes = np.full(some.number.size, NONE, np.int32)
                codes[np.searchsorted(some.number, number)] = code
                shown.append(codes)
            found.append(tuple(shown))
        return tuple(found)

    # Newcomers

    def _publish_new(self, watch: Watch) -> bool:
        """Classes of those who never had a row -> is there such a class?"""
        many, terms = self.people.newcomers(), self.terms
        if many < terms.least:
            return False
        if any(self.people.most_frequent_new(each) * terms.l > many for each in self.domains.values):
            return False
        rows = self._labelled("new", self.people.rows_of_today(NEW, names=self.domains.names))
        made = NewClasses(self.domains.attributes)
        request = replace(self.request, algorithm=replace(self.request.algorithm, k=terms.least))
        cut_classes(rows, request, self.domains.coded, many, self.resources, watch, made)
        if terms.wait and self.people.waited():
            since = self.people.least_since(rows.classes_of_labels())
        else:
            since = np.full(made.lost.size, self.people.number)
        shown: Flags = self.people.number - since >= terms.wait
        if not shown.all():
            shown |= made.lost <= at_most(self._typical)
        place = np.cumsum(shown)
        self.people.publish_new(
            rows.classes_of_labels(),
            {
                "g": np.arange(shown.size, dtype=np.int32),
                "atom": self._atoms + place,
                "cohort": np.where(shown, self._cohorts + place - 1, NONE).astype(np.int32),
            },
        )
        rows.forget()
        return True

    @cached_property
    def _typical(self) -> Fraction:
        """What the cells of a newcomers' class may cover at most: tau times what standing classes do."""
        self.people.settle(new=False)
        sizes, tau = self.people.cohort_sizes(), exact(self.terms.tau)
        if not sizes.size:
            return tau * NO_CLASS * len(self.domains.attributes)
        lost = self._lost("standing", self.people.standing(self.domains.names), sizes)
        return tau * mean_of(lost, sizes)
