"""`audit`: what a published table protects, whoever wrote it, by who fits which row."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.attacks.beliefs import fewest_values
from incrowd.commands.audited import Audit, AuditedTables, gaps_of, guessed_schema
from incrowd.commands.counted_release import narrowed
from incrowd.contracts import Share, exact
from incrowd.encode import encode
from incrowd.errors import InputError, option
from incrowd.flow import Table, TextColumn
from incrowd.graph import Components, Graph, chances, components, consistency, levels
from incrowd.long_work import Watch, unwatched
from incrowd.measures import published as read_published
from incrowd.measures.proximity import Proximity, proximity
from incrowd.policy import Policy
from incrowd.publishing.memory_limit import engine_for_looking
from incrowd.release.folder import ReleaseFolder, is_folder
from incrowd.schema import Kind, Role, Schema
from incrowd.values import read_texts


def audit(
    original: object,
    published: object,
    policy: object = None,
    *,
    k: int | None = None,
    quasi_identifiers: Sequence[str] = (),
    epsilon: object = None,
    engine: str = "auto",
    memory: str | int | None = None,
    threads: int | None = None,
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
    engine : str
        ``"memory"``, or ``"duckdb"``: both tables are counted where they lie, and notes say what counts
        cannot give. ``"auto"`` takes DuckDB where both would need more than half of the machine's memory, or
        `memory`.
    memory, threads
        What DuckDB may use, as of `publish`.
    """
    if k is not None and k < 1:
        raise InputError("k must be a whole number of at least 1")
    near = _near(epsilon)
    asked = Policy.of(policy)
    if asked is not None and quasi_identifiers:
        raise InputError(
            f"quasi-identifiers are named in the policy, or with {option('quasi_identifiers')}, not both"
        )
    folder = ReleaseFolder.open(published, original, asked) if is_folder(published) else None
    sources = [original, published] if folder is None else [folder, folder.source]
    resources = engine_for_looking("audit", sources, engine, memory, threads)
    watch("read")
    if resources is not None:
        from incrowd.commands.audit_counted import audit_counted  # few tables need what is behind an engine

        tables_given = AuditedTables(original, published, folder, asked, tuple(quasi_identifiers))
        return audit_counted(tables_given, k, near, resources, watch)
    if folder is not None:
        table, shown, schema = folder.original, folder.rows, narrowed(folder.schema, quasi_identifiers)
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
    schema = policy.schema(table) if policy is not None else guessed_schema(table, shown, quasi)
    gaps = gaps_of(schema, shown.names)
    columns = tuple(
        TextColumn(c.codes, tuple(None if text in gaps[name] else text for text in c.texts))
        for name, c in zip(shown.names, shown.columns, strict=True)
    )
    return schema, Table(shown.names, columns)


def _below(graph: Graph, found: Components, k: int) -> dict[str, int]:
    degrees = graph.degrees()
    persons, rows = found.exposed(k)
    return {
        "persons_by_degree": int((degrees.records[graph.record_of] < k).sum()),
        "rows_by_degree": int((degrees.rows[graph.row_of] < k).sum()),
        "persons_by_matches": persons.size,
        "rows_by_matches": rows.size,
    }
