"""`audit` of tables that do not fit into memory: by distinct records and rows, or by equal rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.beliefs import fewest_values
from incrowd.commands.audited import Audit, AuditedTables, gaps_of, guessed_schema
from incrowd.commands.counted_release import CountedRelease, counted_pair, counted_release, texts_of
from incrowd.engines.counted import CountedFiles
from incrowd.engines.resources import Resources
from incrowd.engines.table_files import TableFiles
from incrowd.errors import InputError, option
from incrowd.flow import Codes, Table, distinct_rows
from incrowd.graph import Components, Graph, chances, components, consistency, levels
from incrowd.long_work import Watch
from incrowd.schema import Kind, Role, Source
from incrowd.values import same_name

Ints = NDArray[np.int64]
MANY = "rows and values have too many combinations for the memory that DuckDB may use"
EQUAL_ROWS = (
    "so equal rows alone were counted: if rows are true, persons who have one may have more matches than "
    "this k, not fewer"
)


def audit_counted(
    given: AuditedTables, k: int | None, epsilon: Fraction | None, resources: Resources, watch: Watch
) -> Audit:
    """The same as in memory where distinct records and rows fit; of others what equal rows say."""
    with _opened(given, resources) as counted:
        watch("match")
        found = _matched(counted, k, watch) if counted.weighed is not None else _equal_rows(counted, k)
        notes = [*found.pop("notes"), *_not_computed(counted, epsilon)]
        return Audit(
            records=len(counted.data),
            rows=len(counted.shown),
            columns=tuple(attribute.name for attribute in counted.attributes),
            guessed=False,
            k=k,
            ranges={},
            notes=tuple(notes),
            **found,
        )


@contextmanager
def _opened(given: AuditedTables, resources: Resources) -> Iterator[CountedRelease]:
    """A release with its original, or another tool's table."""
    if given.folder is not None:
        with counted_release("audit", given.folder, resources, given.quasi) as counted:
            yield counted
        return
    names = _names(given)
    files = TableFiles.of(given.published)
    rows = CountedFiles(files, names, files.name)
    with counted_pair(Path(files.given.path), rows, given.original, resources) as (shown, people):
        wanted = {same_name(name) for name in names}
        both = texts_of(people, wanted), texts_of(shown, wanted)
        policy = given.policy
        schema = guessed_schema(*both, given.quasi) if policy is None else policy.schema(both[0])
        yield CountedRelease(shown, people, resources, schema, gaps=gaps_of(schema, shown.names))


def _names(given: AuditedTables) -> list[str]:
    """The columns of another tool's table that are looked at."""
    source = Source.of(given.published)
    if source is None or source.is_server:
        raise InputError("DuckDB counts tables in files; write the published table to one")
    if given.policy is not None:
        return [*given.policy.quasi_identifiers, *given.policy.sensitive]
    if not given.quasi:
        raise InputError(
            "which columns outsiders know is not guessed of tables that DuckDB counts; name them with "
            f"{option('quasi_identifiers')}, or pass the policy with {option('policy')}"
        )
    return list(given.quasi)


def _matched(counted: CountedRelease, k: int | None, watch: Watch) -> dict[str, Any]:
    """Who fits which row, over distinct records and rows."""
    if counted.weighed is None:
        raise InputError(counted.why_not_weighed())
    data, shown = counted.weighed
    graph = consistency(shown, data)
    found = components(graph)
    watch("level")
    level, classes, notes = levels(graph, found)
    likely = chances(graph, found, progress=watch("probabilities"))
    if likely.open:
        notes = (*notes, f"the probabilities of {likely.open} persons could not be sampled in time")
    values, why_not = _values(counted, graph, found)
    return {
        "classes": classes,
        "below": {} if k is None else _below(graph, found, k),
        "one_match": _weighing(found.matches().records == 1, graph.record_weight),
        "level": level,
        "posterior": {} if likely.worst is None else likely.worst.to_dict(),
        "values": values,
        "notes": [*notes, *why_not],
    }


def _values(counted: CountedRelease, graph: Graph, found: Components) -> tuple[dict[str, int], list[str]]:
    """The fewest values among a person's matches: those of a class, if nobody fits two."""
    names = [c.name for c in counted.schema.having(Role.SENSITIVE) if c.name in counted.rows.names]
    if np.unique(found.row).size == found.row.size:
        return {name: counted.fewest_values(name) for name in names}, []
    fewest: dict[str, int] = {}
    lacking = []
    for name in names:
        if (values := counted.values_of_rows(name)) is None:
            lacking.append(f"not computed: the fewest values of {name} among the matches of a person: {MANY}")
        else:
            shown = Table((name,), (values[1],))
            fewest |= fewest_values(_by_value(counted, graph, values[0]), found, shown, [name])
    return fewest, lacking


def _by_value(counted: CountedRelease, graph: Graph, cells: list[Codes]) -> Graph:
    """The same graph, whose rows are named by other lines with these cells."""
    if counted.weighed is None:
        raise InputError(counted.why_not_weighed())
    rows, sizes = counted.weighed[1].rows, [len(each) for each in counted.shown.cells]
    both = [np.concatenate(pair) for pair in zip(rows, cells, strict=True)]
    first, which = distinct_rows(both, sizes, both[0].size)
    row_of = np.empty(first.size, np.int32)
    row_of[which[: graph.row_of.size]] = graph.row_of
    return replace(graph, row_of=row_of[which[graph.row_of.size :]])


def _below(graph: Graph, found: Components, k: int) -> dict[str, int]:
    degrees, matches, published = graph.degrees(), found.matches(), graph.row_weight[: graph.published]
    return {
        "persons_by_degree": _weighing(degrees.records < k, graph.record_weight),
        "rows_by_degree": _weighing(degrees.rows < k, published),
        "persons_by_matches": _weighing(matches.records < k, graph.record_weight),
        "rows_by_matches": _weighing(matches.rows < k, published),
    }


def _weighing(which: NDArray[np.bool_], weight: Ints) -> int:
    return int(weight[which].sum())


def _equal_rows(counted: CountedRelease, k: int | None) -> dict[str, Any]:
    """What equal rows alone say: they fit the same persons, so that as many matches are certain."""
    sizes = counted.shown.sizes
    below = sum(size * classes for size, classes in sizes.pairs if k is not None and size < k)
    names = [c.name for c in counted.schema.having(Role.SENSITIVE) if c.name in counted.rows.names]
    return {
        "classes": {"k": sizes.smallest},
        "below": {} if k is None else {"rows_by_equal_rows": below},
        "one_match": None,
        "level": {},
        "posterior": {},
        "values": {name: counted.fewest_values(name) for name in names},
        "notes": [f"{counted.why_not_weighed()}; {EQUAL_ROWS}"],
    }


def _not_computed(counted: CountedRelease, epsilon: Fraction | None) -> list[str]:
    numbers = [
        column.name
        for column in counted.schema.having(Role.SENSITIVE)
        if column.kind is Kind.NUMERIC and column.name in counted.rows.names
    ]
    if not numbers and epsilon is None:
        return []
    named = ", ".join(numbers) or "sensitive numbers"
    return [
        f"not computed: how far the values of {named} range in equal rows, which takes all rows in memory"
    ]
