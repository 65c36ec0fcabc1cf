"""The tables of a verification, each read once and turned into numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from incrowd.schema import Role
from incrowd.verifier.cell_coder import Codes
from incrowd.verifier.claims.buckets import GROUP, OriginalValues
from incrowd.verifier.claims.join import COUNTS, JoinedPeople, PrivateCounts, PublicTable, read_people
from incrowd.verifier.claims.subject import BothTables
from incrowd.verifier.columns import (
    CodedColumn,
    Ints,
    Numbering,
    Restoring,
    RowSource,
    as_is,
    combined,
    first_of_each,
    fold,
    numbers_of,
    text_ranks,
)
from incrowd.verifier.domain import ColumnDomain
from incrowd.verifier.failure import require
from incrowd.verifier.hierarchies import check_built
from incrowd.verifier.request import MEAN, Progress, Verification
from incrowd.verifier.threads import Threads
from incrowd.verifier.truth import CodedTables, are_different

NO_CELL = "["  # no cell is written so, hence a generalized cell that is NULL is refused like a malformed one


def read(
    request: Verification, progress: Progress, rows_were_read: Callable[[], object] = lambda: None
) -> BothTables:
    """Read the original, then the release; say so when nobody will read the rows of the release again."""
    bucketed, undo = request.expected.bucketed, request.published.undo
    private = [c.name for c in request.private]
    hidden = {c.name: Numbering() for c in request.schema.having(Role.SENSITIVE)} if bucketed else {}
    quasi = [c.name for c in request.schema.having(Role.QUASI)]
    records = _TableReader(request.original, "the original table", as_is)
    values = {name: Numbering() for name in quasi}
    records.want(values)
    records.want({c.name: Restoring(Numbering(), as_is) for c in request.schema.having(Role.ENTITY)})
    records.want({request.public.id: Numbering()} if request.public is not None else {})
    records.want({name: Restoring(Numbering(), as_is) for name in private})
    records.want({name: Restoring(numbers, as_is) for name, numbers in hidden.items()})

    rows = _TableReader(request.published.rows, "the release", undo)
    rows.want({name: Restoring(Numbering(), undo, null=NO_CELL) for name in quasi})
    rows.want({c.name + MEAN: Numbering() for c in request.means})
    rows.want({name: Restoring(Numbering(), undo) for name in private})
    rows.want({GROUP: Numbering()} if bucketed else {})
    rows.want({name: Numbering() for name in COUNTS} if request.expected.counted else {})
    _read_both(records, rows, request.threads, progress)
    request.threads.all([partial(rows.number_as, records, name) for name in private])
    people = _people(request, request.public, records, values) if request.public is not None else None
    for name in private:
        one = not request.published.canonical or not rows.has_both(name) or records.has_both(name)
        require(one, f"column {name} of the release has both NULL and empty texts, the original not")
    progress(0.8)
    return _both(request, records, rows, hidden, people, rows_were_read)


def _read_both(records: _TableReader, rows: _TableReader, threads: Threads, progress: Progress) -> None:
    """Read both tables, at once if there is a thread for each; what is wrong with the original goes first."""

    def read_records() -> None:
        records.read(threads)
        progress(0.3)

    both: list[Callable[[], None]] = [read_records, partial(rows.read, threads)]
    threads.all(both)


def _people(
    request: Verification, public: PublicTable, records: _TableReader, numbers: Mapping[str, Numbering]
) -> JoinedPeople:
    own = {name: records.found[name].codes for name in numbers}
    return read_people(public, request.schema, records.found[public.id], own, numbers)


def _both(
    request: Verification,
    records: _TableReader,
    rows: _TableReader,
    hidden: Mapping[str, Numbering],
    people: JoinedPeople | None,
    rows_were_read: Callable[[], object],
) -> BothTables:
    schema, bucketed = request.schema, request.expected.bucketed
    found = records.found if people is None else people.columns
    originals = {c.name: found[c.name] for c in schema.having(Role.QUASI)}
    domains = [
        ColumnDomain(schema.column(name), own.texts, schema.missing) for name, own in originals.items()
    ]
    _check_hierarchies(request, records, people)
    threads = request.threads
    shown = threads.all([partial(_in_order, rows.found[name]) for name in originals])
    canonical, size = request.published.canonical, len(records if people is None else people)
    works: list[Callable[[], Any]] = [
        *(partial(d.regions, own.texts, canonical) for d, own in zip(domains, shown, strict=True)),
        partial(_private, request, records, rows, size),
        partial(_classes, shown),
        rows_were_read,
    ]
    # bytes and private parts take longest, then reading many cells
    sizes = [*(len(own.texts) for own in shown), len(rows), 0, len(rows)]
    *regions, of_private, of_classes, _ = threads.all(works, sizes)
    (record_private, row_private), (row_class, class_cells) = of_private, of_classes
    entity = [records.found[c.name].codes for c in schema.having(Role.ENTITY)]
    return BothTables(
        coded=CodedTables(
            record_private=record_private,
            record_ranks=[d.ranks[own.codes] for d, own in zip(domains, originals.values(), strict=True)],
            row_private=row_private,
            row_class=row_class,
            class_cells=class_cells,
            regions=regions,
        ),
        quasi=originals,
        entity=entity[0] if entity else None,
        means={c.name: rows.found[c.name + MEAN] for c in request.means},
        sensitive={c.name: rows.found[c.name] for c in request.private if c.role is Role.SENSITIVE},
        values={c.name: records.found[c.name] for c in request.private if c.role is Role.SENSITIVE},
        domains=dict(zip(originals, domains, strict=True)),
        cells={name: column.texts for name, column in zip(originals, shown, strict=True)},
        bucketed=OriginalValues({n: records.found[n].codes for n in hidden}, hidden) if bucketed else None,
        groups=rows.found[GROUP] if bucketed else None,
        counts=PrivateCounts.of(rows.found) if request.expected.counted else None,
        people=people,
    )


def _check_hierarchies(request: Verification, records: _TableReader, people: JoinedPeople | None) -> None:
    """Hierarchies that a policy describes are what it says; with a public table nobody may be counted."""
    entity = next((records.found[c.name].codes for c in request.schema.having(Role.ENTITY)), None)
    for column in request.schema.columns:
        counted = column.role is Role.QUASI and people is None
        check_built(
            column,
            _holders(records.found[column.name], entity) if counted and "rare" in column.built else None,
        )


def _holders(column: CodedColumn, entity: Codes | None) -> dict[str, int]:
    """How many persons have each value."""
    persons = range(column.codes.size) if entity is None else entity.tolist()
    met = Counter(value for value, _ in set(zip(column.codes.tolist(), persons, strict=True)))
    return {text: met[code] for code, text in enumerate(column.texts) if text is not None}


def _private(
    request: Verification, records: _TableReader, rows: _TableReader, size: int
) -> tuple[Ints, Ints]:
    """One number for each private part, the same in both tables for the same texts."""
    names = [c.name for c in request.private]
    if not names:
        return np.zeros(size, np.int64), np.zeros(len(rows), np.int64)
    sizes = [len(rows.found[name].texts) for name in names]
    of_records, of_rows = ([table.found[name].codes for name in names] for table in (records, rows))
    links = request.witness.links
    if links is not None and len(rows) == size and _fit(links, of_records, of_rows):
        shown = combined(of_rows, sizes)
        own = np.empty_like(shown)
        own[links] = shown
        return own, shown
    part = combined([np.concatenate(both) for both in zip(of_records, of_rows, strict=True)], sizes)
    return part[:size], part[size:]


def _fit(links: Ints, of_records: Sequence[Codes], of_rows: Sequence[Codes]) -> bool:
    """Do links give each row a record of its own with the same codes, and every record a row?"""
    size = of_rows[0].size
    if of_records[0].size != size or not are_different(links, size, size):
        return False
    return all((own[links] == shown).all() for own, shown in zip(of_records, of_rows, strict=True))


def _in_order(column: CodedColumn) -> CodedColumn:
    """The same column with its texts sorted, so that no number tells in which order rows were met."""
    rank = text_ranks(column.texts)
    texts = [column.texts[at] for at in np.argsort(rank).tolist()]
    return CodedColumn(rank.astype(np.int32)[column.codes], texts)


def _classes(columns: Sequence[CodedColumn]) -> tuple[Ints, list[Ints]]:
    """The class of each row, and for each column the cell that each class shows."""
    row_class = fold([column.codes for column in columns], [len(column.texts) for column in columns])
    first = first_of_each(row_class)
    return row_class, [column.codes[first].astype(np.int64) for column in columns]


class _TableReader:
    """One pass over a table: name the columns that are wanted, then read."""

    def __init__(self, rows: RowSource, what: str, undo: Callable[[str], str]) -> None:
        self._rows, self._what = rows, what
        self._place = {undo(name): place for place, name in enumerate(rows.names)}
        self._wanted: dict[str, Numbering | Restoring] = {}
        self.found: dict[str, CodedColumn] = {}

    def want(self, columns: Mapping[str, Numbering | Restoring]) -> None:
        self._wanted.update(columns)

    def read(self, threads: Threads) -> None:
        picks = [(self._place[name], numbers) for name, numbers in self._wanted.items()]
        codes = numbers_of(self._rows, picks, self._what, threads)
        for (name, numbers), column in zip(self._wanted.items(), codes, strict=True):
            met = numbers.numbers if isinstance(numbers, Restoring) else numbers
            self.found[name] = CodedColumn(column, list(met))

    def number_as(self, other: _TableReader, name: str) -> None:
        """Number the texts of a column as another table does, those that it does not have after them."""
        known = Numbering((text, number) for number, text in enumerate(other.found[name].texts))
        own = self.found[name]
        numbers = np.array(known.of_all(own.texts), np.int32)
        self.found[name] = CodedColumn(numbers[own.codes], list(known))

    def has_both(self, name: str) -> bool:
        """Are there NULL and the empty text in a column?"""
        return {None, ""} <= self._wanted[name].keys()

    def __len__(self) -> int:
        return next(iter(self.found.values())).codes.size
