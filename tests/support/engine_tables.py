"""Random tables with a policy for engines: numbers in several notations, dates, sets, hierarchies, gaps."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from incrowd import tables
from incrowd.commands.publish import publish
from incrowd.engines.in_duckdb import DuckEngine
from incrowd.engines.resources import Resources
from incrowd.engines.session import duck_session
from incrowd.engines.table_files import TableFiles
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.policy import Policy
from incrowd.publishing.large import LargeRelease, publish_large, published_names, request_for_engine
from incrowd.publishing.large_classes import WeighedRegions
from incrowd.publishing.large_draft import ClassFacts, LargeDraft
from incrowd.publishing.large_stages import drafted
from incrowd.publishing.pipeline import Form
from incrowd.publishing.render import cell_texts

CHOICES = ("widest", "round-robin", "gain")
KINDS = ("number", "decimal", "date", "set", "many", "tree", "ordered", "family")
DIGITS = "0123456789"
Rows = Counter[tuple[str | None, ...]]


VALUES: Mapping[str, Sequence[str]] = {
    "number": [*map(str, (0, 1, 2, 3, 5, 8, 30, 31, 90)), ""],
    "decimal": ["1", "1.0", "1.5", "-2", "-2.25", "10", "", "1e2"],
    "date": ["2024-01-01", "2024-01-31", "2024-02-29", "2025-07-01", ""],
    "set": ["F", "M", "", "a|b", "=1+1", "missing"],
    "many": [f"v{i}" for i in range(70)],
    "tree": ["01111", "01112", "01222", "02111", "02112", "09999", ""],
    "ordered": ["low", "mid", "high", "top"],
    "family": ["N", "E", "S", "W", ""],
}


def texts_of(kind: str, count: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(VALUES[kind]), min_size=count, max_size=count)


SAID: Mapping[str, Any] = {
    "number": {"type": "numeric"},
    "decimal": {"type": "numeric"},
    "date": {"type": "date"},
    "set": {"type": "categorical"},
    "many": {"type": "categorical"},
    "tree": {"hierarchy": {"prefix": [5, 3, 1]}},
    "ordered": {"type": "ordered", "values": ["low", "mid", "high", "top"]},
    "family": {"type": "categorical", "family": [["N", "S"], ["E", "W"]]},
}


@st.composite
def engine_tables(draw: st.DrawFn, sensitive: Sequence[str] = ("ill",)) -> tuple[Table, Policy]:
    """A table of a few columns, and a policy of strict Mondrian for it."""
    count = draw(st.integers(4, 60))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    names = [f"{kind} {place}" for place, kind in enumerate(kinds)]
    columns = {name: draw(texts_of(kind, count)) for name, kind in zip(names, kinds, strict=True)}
    for name in sensitive:
        values = st.sampled_from(["flu", "x,y", '"', ""])
        columns[name] = draw(st.lists(values, min_size=count, max_size=count))
    options = {
        "choose": draw(st.sampled_from(CHOICES)),
        "median": draw(st.sampled_from(("two-sided", "printed"))),
    }
    policy = Policy(
        quasi_identifiers={name: SAID[kind] for name, kind in zip(names, kinds, strict=True)},
        sensitive=list(sensitive),
        privacy={"k": draw(st.integers(2, 4))},
        options=options,
    )
    return Table.of(columns), policy


def in_memory(table: Table, policy: Policy) -> Rows:
    """The rows of a release that is made in memory."""
    return Counter(publish(table, policy).table)


def _source(table: Table, folder: Path, form: str) -> Path:
    source = folder / f"table.{form}"
    if form == "csv" and not source.exists():
        with source.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([table.names, *table])
    elif not source.exists():
        tables.write_parquet(table, source)
    return source


def classes_by_engine(table: Table, policy: Policy, folder: Path, tuples: int | None = None) -> Rows:
    """The cells of each class and how many rows it has, as DuckDB makes them; nothing is written."""
    files, resources = TableFiles.of(_source(table, folder, "parquet")), Resources(512_000_000, 1, tuples)
    with TemporaryDirectory(dir=folder) as work, duck_session(Path(work), resources, files.files) as session:
        engine = DuckEngine(session, session, files, Path(work), resources, published_names(policy))
        return draft_and_classes(engine, request_for_engine(policy), resources, unwatched)[1]


def draft_and_classes(*given: Any) -> tuple[LargeDraft, Rows]:
    """What `drafted` makes of these, with the cells of each class and how many rows it has.

    A draft does not keep the regions of its classes: they are taken where it looks at them.
    """
    met: list[WeighedRegions] = []
    look = ClassFacts.of

    def looked(regions: WeighedRegions, *more: Any, **words: Any) -> ClassFacts:
        met.append(regions)
        return look(regions, *more, **words)

    with mock.patch.object(ClassFacts, "of", looked):
        made = drafted(*given)
    (regions,) = met
    pairs = zip(made.data.attributes, regions.cells, strict=True)
    texts = [cell_texts(*pair) for pair in pairs]
    cells = ([texts[j][code] for j, code in enumerate(row)] for row in regions.cell.tolist())
    return made, Counter(dict(zip(map(tuple, cells), regions.counts.tolist(), strict=True)))


def by_engine(
    table: Table, policy: Policy, folder: Path, form: str = "parquet", tuples: int | None = None
) -> LargeRelease:
    """The release that DuckDB makes of the same table, from a Parquet file or from CSV."""
    source = _source(table, folder, form)
    place = folder / f"release-{form}-{tuples}"
    resources = Resources(512_000_000, 1, tuples)
    return publish_large(source, policy, place, Form(form), resources)


def rows_of(release: LargeRelease) -> Rows:
    """The published rows, whatever their order."""
    path = release.folder / "data.parquet"
    if path.exists():
        return Counter(tables.read(path))
    return Counter(tables.unprotected_table(tables.read(release.folder / "data.csv")))
