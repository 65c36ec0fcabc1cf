"""`audit`: what a published table protects, whoever wrote it, by who fits which row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.attacks.beliefs import fewest_values
from incrowd.commands.inspect.missing_markers import WELL_KNOWN
from incrowd.contracts import Share, exact
from incrowd.encode import encode
from incrowd.errors import InputError, TableError, option, unknown
from incrowd.flow import Table, TextColumn
from incrowd.graph import Components, Graph, chances, components, consistency, levels
from incrowd.long_work import Watch, unwatched
from incrowd.measures import published as read_published
from incrowd.measures.proximity import Proximity, proximity
from incrowd.policy import Policy
from incrowd.release.folder import ReleaseFolder, is_folder
from incrowd.results import Result, Row
from incrowd.schema import Column, Kind, Role, Schema
from incrowd.values import read_texts, reading_of


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """What a published table protects. Counts are of persons and of rows; ``below`` only if k was asked."""

    records: int
    rows: int
    columns: tuple[str, ...]
    guessed: bool
    classes: Mapping[str, int]
    k: int | None
    below: Mapping[str, int]
    one_match: int
    level: Mapping[str, Any]
    posterior: Mapping[str, Any]
    values: Mapping[str, int]
    ranges: Mapping[str, Proximity]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Has everybody, and every row, k matches that nobody can rule out?"""
        return self.k is None or min(self.classes["global_1k"], self.classes["global_k1"]) >= self.k

    def headline(self) -> str:
        reached = self.classes["global_1k"]
        demanded = (
            "" if self.k is None else f"; k = {self.k} was demanded and is {'' if self.holds else 'not '}kept"
        )
        return f"every person has at least {reached:,} rows that nobody can rule out{demanded}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return ("kind of anonymity", "largest k"), self.classes.items()

    def to_dict(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "rows": self.rows,
            "suppressed": self.records - self.rows,
            "columns": list(self.columns),
            "columns_guessed": self.guessed,
            "classes": dict(self.classes),
            "k": self.k,
            "holds": self.holds,
            "below_k": dict(self.below),
            "persons_with_one_match": self.one_match,
            "level": dict(self.level),
            "largest_posterior": dict(self.posterior),
            "fewest_values": dict(self.values),
            "ranges": {name: found.to_dict() for name, found in self.ranges.items()},
            "notes": list(self.notes),
        }


def audit(
    original: object,
    published: object,
    policy: object = None,
    *,
    k: int | None = None,
    quasi_identifiers: Sequence[str] = (),
    epsilon: object = None,
    watch: Watch = unwatched,
) -> Audit:
    """Say what a published table protects, whoever wrote it.

    Parameters
    ----------
    original : path or frame
        The table that it was made from.
    published : path, frame or ReleaseFolder
        A table that any tool wrote, or the folder of a release.
    policy : Policy, dict or path, optional
        Roles, kinds and hierarchies. Without one, `quasi_identifiers` or else all columns that both tables
        have are what outsiders know, and their kinds are guessed.
    k : int, optional
        Count who has fewer matches than this.
    epsilon : decimal, optional
        For which m equal rows are (epsilon,m)-anonymous in each numeric sensitive column.
    """
    if k is not None and k < 1:
        raise InputError("k must be a whole number of at least 1")
    near = _near(epsilon)
    asked = Policy.of(policy)
    if asked is not None and quasi_identifiers:
        raise InputError(
            f"quasi-identifiers are named in the policy, or with {option('quasi_identifiers')}, not both"
        )
    watch("read")
    folder = ReleaseFolder.open(published, original, asked) if is_folder(published) else None
    if folder is not None:
        table, shown, schema = folder.original, folder.rows, _narrowed(folder.schema, quasi_identifiers)
    else:
        table = tables.read(original)
        schema, shown = _both(table, published, asked, quasi_identifiers)
    data = encode(table, schema)
    watch("match")
    graph = consistency(read_published(shown, data), data)
    found = components(graph)
    watch("level")
    level, classes, notes = levels(graph, found)
    likely = chances(graph, found, progress=watch("probabilities"))
    matches = found.matches().records[graph.record_of]
    if asked is None and folder is None:
        notes = (
            *notes,
            "kinds of columns were guessed; labels of hierarchies can be read with a policy only",
        )
    if likely.open:
        notes = (*notes, f"the probabilities of {likely.open} persons could not be sampled in time")
    buckets = None if folder is None else folder.bucket_counts
    if buckets is not None:
        notes = (*notes, buckets.note)
    return Audit(
        records=len(table),
        rows=len(shown),
        columns=tuple(a.name for a in data.attributes),
        guessed=asked is None and not quasi_identifiers and folder is None,
        classes=classes,
        k=k,
        below={} if k is None else _below(graph, found, k),
        one_match=int((matches == 1).sum()),
        level=level,
        posterior={} if likely.worst is None else likely.worst.to_dict(),
        values=fewest_values(graph, found, shown, [c.name for c in schema.having(Role.SENSITIVE)])
        if buckets is None
        else buckets.fewest,
        ranges={} if buckets is not None else _ranges(shown, schema, graph.row_of, near),
        notes=notes,
    )


def _near(epsilon: object) -> Fraction | None:
    if epsilon is None:
        return None
    if not Share(Fraction(0), None, low_included=True).allows(epsilon):
        raise InputError("epsilon must be a number of at least 0, in the unit of the sensitive column")
    return exact(epsilon)


def _ranges(
    shown: Table, schema: Schema, row_of: NDArray[np.integer], epsilon: Fraction | None
) -> dict[str, Proximity]:
    """Of each numeric sensitive column that stands beside the rows, by classes of equal rows."""
    found, order = dict[str, Proximity](), np.argsort(row_of, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(row_of[order])) + 1)
    for column in schema.having(Role.SENSITIVE):
        if column.kind is not Kind.NUMERIC or column.name not in shown.names:
            continue
        texts = shown.column(column.name)
        read = read_texts([text or "" for text in texts.texts], Kind.NUMERIC, column.format)
        numbers = [Fraction(value) if isinstance(value, int | Decimal) else None for value in read]
        classes = [
            [x for code in texts.codes[some].tolist() if (x := numbers[code]) is not None] for some in rows
        ]
        if (reached := proximity(classes, epsilon)) is not None:
            found[column.name] = reached
    return found


def _both(
    table: Table, published: object, policy: Policy | None, quasi: Sequence[str]
) -> tuple[Schema, Table]:
    """What the columns are, and the rows of another tool's table as cells."""
    shown = tables.read(published, lists=True)
    schema = policy.schema(table) if policy is not None else _guessed(table, shown, quasi)
    gaps = {name: schema.missing - {""} for name in shown.names}
    for column in schema.having(Role.QUASI):  # a label above the leaves is no gap, whatever it is called
        gaps[column.name] = schema.missing - {"", *(label for row in column.levels for label in row[1:])}
    columns = tuple(
        TextColumn(c.codes, tuple(None if text in gaps[name] else text for text in c.texts))
        for name, c in zip(shown.names, shown.columns, strict=True)
    )
    return schema, Table(shown.names, columns)


def _narrowed(schema: Schema, quasi: Sequence[str]) -> Schema:
    """Only some of the quasi-identifiers of a release: what another outsider may know."""
    if not quasi:
        return schema
    names = [column.name for column in schema.having(Role.QUASI)]
    strange = [name for name in quasi if name not in names]
    if strange:
        raise InputError(unknown("a quasi-identifier of the release", strange, names))
    kept = tuple(c for c in schema.columns if c.role is not Role.QUASI or c.name in quasi)
    return Schema(kept, schema.missing)


def _guessed(table: Table, shown: Table, quasi: Sequence[str]) -> Schema:
    """The columns that were named, or else that both tables have, with kinds as `inspect` guesses them."""
    for where, there in (("in the original", table), ("in the published table", shown)):
        absent = [name for name in quasi if name not in there.names]
        if absent:
            raise TableError(unknown(where, absent, there.names))
    names = list(quasi) or [name for name in table.names if name in shown.names]
    if not names:
        raise TableError("the two tables have no column in common; name the columns alike, or pass a policy")
    used = {text for name in names for text in table.column(name).texts if text is not None}
    missing = frozenset({"", *used.intersection(WELL_KNOWN)})
    read = {name: reading_of(_real(table.column(name), missing), name) for name in names}
    columns = [Column(name, Role.QUASI, found.kind, format=found.notation) for name, found in read.items()]
    return Schema(tuple(columns), missing)


def _real(column: TextColumn, missing: frozenset[str]) -> list[str]:
    return [text for text in column.texts if text is not None and text not in missing]


def _below(graph: Graph, found: Components, k: int) -> dict[str, int]:
    degrees = graph.degrees()
    persons, rows = found.exposed(k)
    return {
        "persons_by_degree": int((degrees.records[graph.record_of] < k).sum()),
        "rows_by_degree": int((degrees.rows[graph.row_of] < k).sum()),
        "persons_by_matches": persons.size,
        "rows_by_matches": rows.size,
    }
