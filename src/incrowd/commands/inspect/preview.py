"""Some records before and after, from a draft that is never written.

A preview shows original records: it is private, as the table is. Large tables are sampled, so that it takes
seconds; classes of a sample reach further than those of the whole, and the preview says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.base import method
from incrowd.cells import unescaped
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.long_work import Watch, unwatched
from incrowd.measures import published_from_regions
from incrowd.policy import Policy
from incrowd.policy.columns import check_exact_columns
from incrowd.policy.exposures import NEAR_UNIQUE_KEEP, NEAR_UNIQUE_SENSITIVE
from incrowd.publishing.draft import Draft, draft
from incrowd.reports.cell_words import cell_words
from incrowd.reports.examples import row_losses
from incrowd.schema import MISSING, Column, Role

PRIVATE = "Private: this shows original records, and must not be passed on. Nothing was written."
UNCHANGED = "unchanged"
MOST_RECORDS = 100
MOST_ROWS = 50_000  # that are grouped in about a second by methods that cut
MOST_ROWS_OF_OTHERS = 3_000  # by methods that compare records with each other
CUTS = ("mondrian", "mondrian-relaxed", "topdown", "lexicographic", "hilbert", "ring")

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PreviewCell:
    """A column of a record: what the table says, the text that its row would have, and how to read that."""

    column: str
    role: str
    before: str
    after: str
    means: str
    same: bool


@dataclass(frozen=True, slots=True)
class PreviewRecord:
    """A record and its row; of one that is suppressed, nothing comes after."""

    suppressed: bool
    cells: tuple[PreviewCell, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """Records by rising loss, from a draft of `sampled` of the `rows`."""

    rows: int
    sampled: int
    method: str
    k: int
    records: tuple[PreviewRecord, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"private": PRIVATE, **asdict(self)}


def previewed(table: Table, policy: Policy, count: int, watch: Watch = unwatched) -> Preview:
    """Some records with what their rows would say; nothing is verified, and nothing is written.

    Examples
    --------
    >>> table = Table.of({"age": ["30", "31", "47", "49"], "ill": ["flu", "cold", "flu", "asthma"]})
    >>> policy = Policy(quasi_identifiers=["age"], sensitive=["ill"], privacy={"k": 2})
    >>> [(cell.before, cell.after) for cell in previewed(table, policy, 1).records[0].cells]
    [('47', '[47,49]'), ('flu', 'flu')]
    """
    if not 1 <= count <= MOST_RECORDS:
        raise InputError(f"a preview has 1 to {MOST_RECORDS} records")
    most = MOST_ROWS if policy.method in CUTS else MOST_ROWS_OF_OTHERS
    size = min(len(table), max(most, policy.k))
    made = draft(*_sample(table, policy, size), watch)
    row_of = _rows_of_records(made, size)
    chosen = _spread(_losses(made, row_of), min(count, size))
    places = {column.name: place for place, column in enumerate(made.schema.columns)}
    columns = sorted(made.schema.published, key=lambda one: (one.role is not Role.QUASI, places[one.name]))
    records = (_record(made, columns, record, int(row_of[record])) for record in chosen.tolist())
    return Preview(len(table), size, policy.method, policy.k, tuple(records))


def _sample(table: Table, policy: Policy, size: int) -> tuple[Table, Policy]:
    """Evenly spaced rows. Whether values are nearly unique is asked of the whole table, not of the sample."""
    if size == len(table):
        return table, policy
    check_exact_columns(table, policy.schema(table), policy.accept, method(policy.method).buckets)
    lenient = policy.with_(accept=(NEAR_UNIQUE_KEEP.name, NEAR_UNIQUE_SENSITIVE.name))
    return table.take(np.arange(size) * len(table) // size), lenient


def _rows_of_records(made: Draft, records: int) -> Ints:
    """The row that each record is behind; -1 for one that is suppressed."""
    found = np.full(records, -1, np.int64)
    own = made.behind < records  # others are people of a public table
    found[made.behind[own]] = np.flatnonzero(own)
    return found


def _losses(made: Draft, row_of: Ints) -> NDArray[np.float64]:
    """What each record loses; one that is suppressed loses everything."""
    everyone = made.people.everyone
    shown = published_from_regions(made.regions, everyone.attributes, made.assignment.region)
    return np.where(row_of < 0, np.inf, row_losses(shown, everyone)[row_of])


def _spread(lost: NDArray[np.float64], count: int) -> Ints:
    """Records at even steps from the least loss to the largest."""
    order = np.argsort(lost, kind="stable")
    return order[(2 * np.arange(count) + 1) * lost.size // (2 * count)].astype(np.int64)


def _record(made: Draft, columns: Sequence[Column], record: int, row: int) -> PreviewRecord:
    return PreviewRecord(row < 0, tuple(_cell(made, column, record, row) for column in columns))


def _cell(made: Draft, column: Column, record: int, row: int) -> PreviewCell:
    name, quasi = column.name, column.role is Role.QUASI
    before = _text(made.original, name, record)
    if row < 0:
        return PreviewCell(name, str(column.role), before, "", "suppressed: not published", False)
    if name not in made.table.names:
        where = "not published" if made.buckets is None else "in a bucket, in a second file"
        return PreviewCell(name, str(column.role), before, "", where, False)
    text = _text(made.table, name, row)
    if not quasi:
        return PreviewCell(name, str(column.role), before, text, UNCHANGED, True)
    gone = text == MISSING and (not before or before in made.schema.missing)
    same = gone or unescaped(text) == before
    return PreviewCell(name, str(column.role), before, text, cell_words(text, column.shape), same)


def _text(table: Table, name: str, row: int) -> str:
    column = table.column(name)
    return column.texts[column.codes[row]] or ""
