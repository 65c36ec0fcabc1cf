"""A series of releases: is the chain whole, is each row current or repeated, is nobody there who was erased?

Everything is read anew from the ledgers beside the releases, whose digests form a chain, and from the rows of
every release. The table of today is the one that the last release was made from; those of earlier releases
were verified when they were published.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.schema import MANIFEST, Claim, Role, Schema
from incrowd.verifier.claims.histories import Histories, ShownRelease
from incrowd.verifier.claims.subject import BothTables, EquivalenceClasses
from incrowd.verifier.columns import Ints, Numbering, Restoring, RowSource, as_is, numbers_of
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.digests import fingerprint
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.request import (
    EarlierRelease,
    Expected,
    PublishedTables,
    SeriesHistory,
    Verification,
    silent,
)
from incrowd.verifier.tables import read
from incrowd.verifier.truth import record_of_each_row

LEDGER, SUCCESSOR, LINKS = "ledger.json", "successor.json", "links.json"
EFFECTIVE, PEOPLE = "effective.csv", "people.csv"
FILES = {EFFECTIVE, LINKS, PEOPLE, "schema.json"}
VALUES = "values.csv"  # only where l is promised
HEAD = {"format", "version", "series", "number", "key", "k", "l", "manifest", "parent", "files"}
SAID = ("id", "number", "parent", "waiting", "lingering", "withheld", "oldest")
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
        self._people, self._texts = Numbering(), {c.name: Numbering() for c in schema.published}
        self._key = b""
        self._ledgers: list[_Ledger] = []

    @property
    def _number(self) -> int:
        """That of the last release."""
        return len(self._places) - 1

    # chain

    def chain(self) -> str:
        heads = [_json(audit / LEDGER) for _, audit in self._places]
        for number, (head, (folder, audit)) in enumerate(zip(heads, self._places, strict=True)):
            require(set(head) == HEAD, "a ledger is not that of a series")
            require(
                type(head["number"]) is int and head["number"] == number,
                "a release of the series is left out",
            )
            same = all(head[key] == heads[0][key] for key in ("series", "key", "k", "l"))
            require(same, "a ledger is of another series")
            own = head["manifest"] == _digest(folder / MANIFEST)
            require(own, "a ledger does not belong to the release beside it")
            _check_files(head["files"], audit, self._values_are_kept(head))
            self._check_parent(number, head)
            self._check_manifest(number, head, folder)
        try:
            self._key = bytes.fromhex(heads[0]["key"])
        except (TypeError, ValueError):
            raise CheckFailed("the key of the series cannot be read") from None
        return f"{len(heads)} releases"

    def _values_are_kept(self, head: Mapping[str, Any]) -> bool:
        return type(head["l"]) is int and head["l"] > 1

    def _check_parent(self, number: int, head: Mapping[str, Any]) -> None:
        if not number:
            require(head["parent"] is None, "the first release of the series is left out")
            return
        folder, audit = self._places[number - 1]
        manifest = _digest(self._places[number][0] / MANIFEST)
        parent = {
            "folder": Path(folder).name,
            "manifest": _digest(folder / MANIFEST),
            "ledger": _digest(audit / LEDGER),
        }
        require(head["parent"] == parent, "a release does not follow the one before it")
        marked = (audit / SUCCESSOR).exists()
        coming = self._history.staged and number == self._number
        require(marked != coming, "a release of the series has another successor, or no mark of its own")
        if marked:
            other = _json(audit / SUCCESSOR).get("manifest") != manifest
            require(not other, "the chain is forked: a release has another successor")

    def _check_manifest(self, number: int, head: Mapping[str, Any], folder: Path) -> None:
        said = _json(folder / MANIFEST).get("series")
        parent = None if head["parent"] is None else head["parent"]["manifest"]
        wanted = {"id": head["series"], "number": number, "parent": parent}
        same = isinstance(said, dict) and tuple(said) == SAID and {key: said[key] for key in wanted} == wanted
        require(same, "a manifest says another series, number or parent than its ledger")

    # effective

    def effective(self) -> str:
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
        rows = CsvRows(audit / EFFECTIVE, delimiter=",")
        person, *cells = self._columns(rows, self._entity, self._people, "the effective table")
        people = CsvRows(audit / PEOPLE, delimiter=",")
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
        shown.append(ShownRelease(classes, last.person[match], last.date[match]))
        return Histories(len(self._people), shown)

    def _earlier(self, each: EarlierRelease, ledger: _Ledger, claims: Sequence[Claim]) -> ShownRelease:
        """The rows of an earlier release, each with a record of its effective table that it may describe."""
        original = CsvRows(each.audit / EFFECTIVE, delimiter=",")
        protected = each.rows is None
        rows = (
            CsvRows(each.folder / "data.csv", delimiter=",", canonical=True)
            if each.rows is None
            else each.rows
        )
        published = PublishedTables(rows, protected=protected, canonical=True)
        request = Verification(original, published, Expected(each.schema, claims))
        tables = read(request, silent)
        complete = tables.coded.row_private.size == ledger.person.size
        require(complete, "an earlier release does not have a row for everybody in its effective table")
        match = record_of_each_row(tables.coded, _links(each.audit))
        row_class = tables.coded.row_class
        classes = EquivalenceClasses(each.schema, row_class, np.bincount(row_class), tables.sensitive)
        return ShownRelease(classes, ledger.person[match], ledger.date[match])


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


def _check_files(files: Any, audit: Path, values: bool) -> None:
    wanted = FILES | ({VALUES} if values else set())
    require(isinstance(files, dict) and set(files) == wanted, "a ledger does not have exactly its files")
    changed = [name for name in sorted(wanted) if files[name] != _digest(audit / name)]
    require(not changed, "a ledger was changed")


def _links(audit: Path) -> Ints | None:
    try:
        found = np.array(_json(audit / LINKS)["record_of_each_row"])
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return found if found.ndim == 1 and found.dtype == np.int64 else None


def _digest(path: Path) -> str:
    require(path.is_file(), f"{path.name} of a release or ledger is lost")
    return str(fingerprint(path)["sha256"])


def _json(path: Path) -> dict[str, Any]:
    require(path.is_file(), f"{path.name} of a release or ledger is lost")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise CheckFailed(f"{path.name} of a release or ledger cannot be read")
    return said
