"""A series of releases: is the chain whole, is each row current or repeated, is nobody there who was erased?

Everything is read anew from the ledgers beside the releases, whose digests form a chain, and from the rows of
every release. The table of today is the one that the last release was made from; those of earlier releases
were verified when they were published.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.schema import Claim, Role, Schema
from incrowd.verifier.chain import LedgerChain, check_read_alike, json_of
from incrowd.verifier.claims.histories import Histories, ShownRelease
from incrowd.verifier.claims.subject import BothTables, EquivalenceClasses
from incrowd.verifier.columns import Ints, Numbering, Restoring, RowSource, as_is, numbers_of
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.failure import require
from incrowd.verifier.request import (
    EarlierRelease,
    Expected,
    PublishedTables,
    SeriesHistory,
    Verification,
    silent,
)
from incrowd.verifier.seen_lines import LinesOfFiles, SeenRows
from incrowd.verifier.tables import read
from incrowd.verifier.truth import record_of_each_row

EFFECTIVE, PEOPLE, LINKS = "effective.csv", "people.csv", "links.json"
CSV_FILES = frozenset({EFFECTIVE, LINKS, PEOPLE, "schema.json"})
VALUES = "values.csv"  # only where l is promised
NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class _Ledger:
    """A ledger as far as it is needed: person, cells, class and date of each row of the effective table."""

    person: Ints
    cells: Sequence[Ints]
    cohort: Ints
    date: Ints
    known: Ints
    erased: Ints


class SeriesChecks:
    """The checks of a series. What a check learns, later ones use."""

    def __init__(self, history: SeriesHistory, schema: Schema, stated: Any) -> None:
        self._history, self._schema, self._stated = history, schema, stated
        self._places = [(each.folder, each.audit) for each in history.earlier]
        self._places.append((history.release, history.audit))
        self._chain = LedgerChain(self._places, history.staged, CSV_FILES, VALUES)
        self._people, self._texts = Numbering(), {c.name: Numbering() for c in schema.published}
        self._key = b""
        self._seen: dict[tuple[str, ...], LinesOfFiles] = {}  # most lines stand in many releases
        self._files: dict[Path, SeenRows] = {}
        self._ledgers: list[_Ledger] = []

    @property
    def _number(self) -> int:
        """That of the last release."""
        return len(self._places) - 1

    def chain(self) -> str:
        head = self._chain.check()
        self._key = self._chain.key(head)
        return f"{len(self._places)} releases"

    # effective

    def effective(self) -> str:
        check_read_alike([*(each.schema for each in self._history.earlier), self._schema])
        self._ledgers = [self._read(audit) for _, audit in self._places]
        for number, ledger in enumerate(self._ledgers):
            once = np.unique(ledger.person).size == ledger.person.size
            require(once, "somebody has two rows in the effective table")
            _check_dates(ledger, number)
            old = ledger.date < number
            if number:
                _check_repeated(ledger, old, self._ledgers[number - 1])
        today, cells = self._today()
        last = self._ledgers[-1]
        self._check_current(last, last.date == self._number, today, cells)
        counts = self._counts(last, today)
        said = self._stated if isinstance(self._stated, dict) else {}
        require(
            all(said.get(key) == count and type(said.get(key)) is int for key, count in counts.items()),
            "the manifest states other numbers of people who wait, linger or are withheld, or another date",
        )
        return f"{counts['lingering']} lingering, {counts['waiting']} waiting, {counts['withheld']} withheld"

    def _read(self, audit: Path) -> _Ledger:
        rows = self._kept(audit / EFFECTIVE)
        person, *cells = self._columns(rows, self._entity, self._people, "the effective table")
        people = self._kept(audit / PEOPLE)
        names = ("person", "cohort", "as_of", "erased")
        places = [list(people.names).index(name) for name in names]
        numbers: list[Numbering] = [Numbering() for _ in names[1:]]
        picks = [(places[0], self._people), *zip(places[1:], numbers, strict=True)]
        who, *coded = numbers_of(people, picks, "the people of a ledger")
        require(np.unique(who).size == who.size, "somebody is twice in a ledger")
        of = [
            np.array([int(text) for text in met], np.int64)[codes]
            for met, codes in zip(numbers, coded, strict=True)
        ]
        cohort, date = np.full(len(self._people), NONE), np.full(len(self._people), NONE)
        cohort[who], date[who] = of[0], of[1]
        shown = np.sort(who[of[0] != NONE])
        same = np.array_equal(shown, np.sort(person))
        require(same, "the effective table is not about exactly those who have a class in the ledger")
        at = person.astype(np.int64)
        return _Ledger(
            at, cells, cohort[at], date[at], who.astype(np.int64), who[of[2] != 0].astype(np.int64)
        )

    def _kept(self, path: Path, canonical: bool = False) -> SeenRows:
        """A file of a release or ledger, whose lines may stand in those of others."""
        if path not in self._files:
            rows = CsvRows(path, delimiter=",", canonical=canonical)
            names = (path.name, *rows.names)
            if names not in self._seen:
                self._seen[names] = LinesOfFiles(rows.names, apart=path.name == PEOPLE)
            self._files[path] = SeenRows(rows, self._seen[names])
        return self._files[path]

    @property
    def _entity(self) -> str:
        named = self._schema.having(Role.IDENTIFIER)
        require(len(named) == 1, "the effective table does not have one column that tells people apart")
        return named[0].name

    def _columns(self, rows: RowSource, entity: str, people: Any, what: str) -> list[Ints]:
        """The people of a table and all that is published of them, numbered alike in every table."""
        names = list(rows.names)
        known = set(names)
        require({entity, *self._texts} <= known, f"{what} lacks columns that are published")
        picks: list[Any] = [(names.index(entity), people)]
        picks += [(names.index(name), Restoring(met, as_is)) for name, met in self._texts.items()]
        return [codes.astype(np.int64) for codes in numbers_of(rows, picks, what)]

    def _today(self) -> tuple[Ints, list[Ints]]:
        def digest(text: str) -> str:
            return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:32]

        people = Restoring(self._people, digest)
        table = self._history.today
        person, *cells = self._columns(table, self._history.entity, people, "the table of today")
        require(np.unique(person).size == person.size, "somebody has two rows in the table of today")
        return person, cells

    def _check_current(self, last: _Ledger, current: Any, today: Ints, cells: Sequence[Ints]) -> None:
        place = np.full(len(self._people), NONE)
        place[today] = np.arange(today.size)
        at = place[last.person[current]]
        require(not (at == NONE).any(), "a current class has somebody who is not in the table of today")
        same = all((own[current] == new[at]).all() for own, new in zip(last.cells, cells, strict=True))
        require(same, "a current class does not have the values of the table of today")

    def _counts(self, last: _Ledger, today: Ints) -> dict[str, int]:
        size = len(self._people)
        shown, here, ever = (np.zeros(size, np.bool_) for _ in range(3))
        shown[last.person], here[today] = True, True
        for ledger in self._ledgers:
            ever[ledger.person] = True
        lingering = int((shown & ~here).sum())
        here[last.erased] = False
        return {
            "waiting": int((here & ~ever).sum()),
            "lingering": lingering,
            "withheld": int((here & ever & ~shown).sum()),
            "oldest": int(last.date.min()),
        }

    # erased

    def erased(self) -> str:
        before = np.zeros(0, np.int64)
        for ledger in self._ledgers:
            require(not np.setdiff1d(before, ledger.erased).size, "somebody is not erased any more")
            still = np.intersect1d(ledger.erased, ledger.person).size
            require(not still, f"{still} people who were erased have a row")
            before = ledger.erased
        return f"{before.size} people"

    # histories

    def histories(
        self, tables: BothTables, match: Ints, classes: EquivalenceClasses, claims: Sequence[Claim]
    ) -> Histories:
        """All releases, the last one as it was read already."""
        require(bool(self._ledgers), "the ledgers were not read")
        shown = [
            self._earlier(each, ledger, claims)
            for each, ledger in zip(self._history.earlier, self._ledgers, strict=False)
        ]
        last = self._ledgers[-1]
        rows = tables.coded.record_private.size == last.person.size
        require(rows, "the release was not made from the effective table of its ledger")
        shown.append(ShownRelease(classes, last.person[match], last.date[match], last.cohort[match]))
        return Histories(len(self._people), shown)

    def _earlier(self, each: EarlierRelease, ledger: _Ledger, claims: Sequence[Claim]) -> ShownRelease:
        """The rows of an earlier release, each with a record of its effective table that it may describe."""
        original = self._kept(each.audit / EFFECTIVE)
        protected = each.rows is None
        rows = self._kept(each.folder / "data.csv", canonical=True) if each.rows is None else each.rows
        published = PublishedTables(rows, protected=protected, canonical=True)
        request = Verification(original, published, Expected(each.schema, claims))
        tables = read(request, silent)
        complete = tables.coded.row_private.size == ledger.person.size
        require(complete, "an earlier release does not have a row for everybody in its effective table")
        match = record_of_each_row(tables.coded, _links(each.audit))
        row_class = tables.coded.row_class
        classes = EquivalenceClasses(each.schema, row_class, np.bincount(row_class), tables.sensitive)
        return ShownRelease(classes, ledger.person[match], ledger.date[match], ledger.cohort[match])


def _check_dates(ledger: _Ledger, number: int) -> None:
    cohorts = int(ledger.cohort.max(initial=NONE)) + 1
    low, high = np.full(cohorts, number), np.full(cohorts, NONE)
    np.minimum.at(low, ledger.cohort, ledger.date)
    np.maximum.at(high, ledger.cohort, ledger.date)
    met = np.unique(ledger.cohort)
    require(bool((low[met] == high[met]).all()), "a class has rows of different dates")
    known = bool(((ledger.date >= 0) & (ledger.date <= number)).all())
    require(known, "a class has a date before or after all releases")


def _check_repeated(ledger: _Ledger, old: Any, before: _Ledger) -> None:
    """A class with an older date is, person by person and cell by cell, one of the release before."""
    place = np.full(1 + int(max(ledger.person.max(initial=0), before.person.max(initial=0))), NONE)
    place[before.person] = np.arange(before.person.size)
    at = place[ledger.person[old]]
    require(not (at == NONE).any(), "a repeated class has somebody who had no row in the release before")
    require(
        bool((before.date[at] == ledger.date[old]).all()), "a repeated class has another date than before"
    )
    pairs = zip(ledger.cells, before.cells, strict=True)
    same = all((own[old] == earlier[at]).all() for own, earlier in pairs)
    require(same, "a repeated class does not show what the release before showed")
    pairs_of, sizes = np.unique(
        np.stack([ledger.cohort[old], before.cohort[at]], axis=1), axis=0, return_counts=True
    )
    one = np.unique(pairs_of[:, 0]).size == pairs_of.shape[0] == np.unique(pairs_of[:, 1]).size
    whole = np.array_equal(sizes, np.bincount(before.cohort)[pairs_of[:, 1]]) if pairs_of.size else True
    require(one and whole, "a repeated class has more or fewer people than in the release before")


def _links(audit: Path) -> Ints | None:
    try:
        found = np.array(json_of(audit / LINKS)["record_of_each_row"])
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return found if found.ndim == 1 and found.dtype == np.int64 else None
