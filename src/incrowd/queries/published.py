"""Published files as rows that can be queried: cells, texts of the original, class means, buckets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.cells import CellParts, range_ends, read_cell, unescaped
from incrowd.errors import HierarchyError, InputError, TableError, option
from incrowd.flow import Table, distinct_rows
from incrowd.hierarchy import Hierarchy
from incrowd.hierarchy.builders import grow, read_levels
from incrowd.measures.buckets import BucketTable
from incrowd.measures.totals import Line, lines_by_column
from incrowd.policy import Policy
from incrowd.predicate import decimals, in_units
from incrowd.queries.answer import Ints
from incrowd.queries.class_means import ClassMeans, mean_decimals, read_means
from incrowd.queries.columns import PublishedColumn, RangeColumn, ValuesColumn, Wholes, wholes
from incrowd.queries.raking import ColumnTotals, bounding, raked
from incrowd.release.folder import ReleaseFolder
from incrowd.release.hierarchies import PublishedHierarchy
from incrowd.schema import EVERYTHING, Column, Kind, Role, Schema, Shape
from incrowd.values import Value, read_date, read_number, read_texts, reading_of, same_name, value_text

Quantity = int | Decimal | date


@dataclass(frozen=True, slots=True)
class PublicKnowledge:
    """What is no secret: of a policy hierarchies that are files, texts for missing and forms of dates; and
    the hierarchies that the release itself has.
    """

    trees: Mapping[str, Hierarchy]
    missing: frozenset[str]
    formats: Mapping[str, str]
    labels: Mapping[str, PublishedHierarchy] = field(default_factory=dict)

    @classmethod
    def of(cls, policy: Policy | None, schema: Schema) -> PublicKnowledge:
        if policy is None:
            return cls({}, frozenset({""}), {})
        said = {**policy.sensitive, **policy.quasi_identifiers}
        names = {same_name(column.name): column.name for column in schema.columns}
        formats = {names[n]: part.format for n, part in said.items() if part.format and n in names}
        trees = {}
        for column in schema.having(Role.QUASI):
            file = getattr(said.get(same_name(column.name)), "hierarchy", None)
            if column.shape is Shape.TREE and isinstance(file, str):
                rows = read_levels(policy.folder / file)
                trees[column.name] = grow(rows, column.kind, formats.get(column.name, ""), column.name)
        return cls(trees, frozenset({"", *policy.missing}), formats)


def generalised(
    column: Column,
    texts: Sequence[str | None],
    means: int,
    public: PublicKnowledge,
    totals: Sequence[Line] = (),
) -> PublishedColumn:
    """A quasi-identifier from its distinct cells; `means` is how many decimals its class means have.

    Its totals may name values that no cell does, since all cells with them are `*`.
    """
    if None in texts:
        raise TableError(f"{column.name} has rows without a cell")
    cells = [read_cell(text) for text in texts if text is not None]
    if column.shape is Shape.RANGE:
        return _line(column, cells, means)
    tree = public.trees.get(column.name)
    if column.shape is Shape.TREE and tree is not None:
        return _nodes(column, cells, tree, public.missing)
    labels = public.labels.get(column.name)
    if column.shape is Shape.TREE and labels is not None:
        return _labels(column, cells, labels)
    return _sets(column, cells, [atom for cell, _ in totals for atom in read_cell(cell).atoms])


def _line(column: Column, cells: Sequence[CellParts], means: int) -> RangeColumn:
    ends = [_ends(cell, column.kind) for cell in cells]
    unread = sum(end is None for end in ends)
    if unread:
        raise TableError(f"{unread} distinct cells of {column.name} are no values or ranges of its kind")
    known = [end for pair in ends if pair for end in pair]
    scale = max((decimals(end) for end in known if not isinstance(end, date)), default=0)
    whole = scale == 0
    scale = max(scale, means + 1) if means else scale
    pairs = [(in_units(p[0], scale), in_units(p[1], scale)) if p else (0, 0) for p in ends]
    return RangeColumn(
        column.name,
        column.kind,
        wholes([low for low, _ in pairs]),
        wholes([high for _, high in pairs]),
        np.array([bool(pair) for pair in ends], np.bool_),
        np.array([cell.missing for cell in cells], np.bool_),
        scale,
        10**scale if whole else 0,
    )


def _ends(cell: CellParts, kind: Kind) -> tuple[Quantity, Quantity] | tuple[()] | None:
    """Both ends of a range; none where there is only missing, None where it cannot be read."""
    if not cell.atoms:
        return () if cell.missing and not cell.everything else None
    read: Callable[[str], Quantity | None] = read_number if kind is Kind.NUMERIC else read_date
    (atom, *more) = cell.atoms
    pairs = range_ends(atom) or [(atom, atom)]
    low, high = (read(end) for end in pairs[0])
    if more or len(pairs) > 1 or low is None or high is None or low > high:  # type: ignore[operator]
        return None
    return low, high


def _sets(column: Column, cells: Sequence[CellParts], also: Sequence[str] = ()) -> ValuesColumn:
    place: dict[str, int] = {}
    named = [[place.setdefault(unescaped(atom), len(place)) for atom in cell.atoms] for cell in cells]
    loose = column.shape is Shape.TREE
    for atom in () if loose else also:
        place.setdefault(unescaped(atom), len(place))
    everything = [] if loose else list(range(len(place)))
    members = [everything if cell.everything else ids for cell, ids in zip(cells, named, strict=True)]
    values = [] if loose else read_texts(list(place), column.kind)
    return _members(
        column,
        tuple(place),
        members,
        missing=[cell.missing for cell in cells],
        open=[cell.everything for cell in cells],
        values=values,
        meant={text: (code,) for text, code in place.items()},
        loose=loose,
    )


def _nodes(
    column: Column, cells: Sequence[CellParts], tree: Hierarchy, missing: frozenset[str]
) -> ValuesColumn:
    under = tree.under()
    leaves = range(len(tree.leaves))
    found = [
        [leaves if cell.everything else under.get(unescaped(atom)) for atom in cell.atoms or ("",)]
        if cell.atoms or cell.everything
        else []
        for cell in cells
    ]
    strange = sum(None in parts for parts in found)
    if strange:
        raise HierarchyError(
            f"the hierarchy of {column.name} lacks {strange} labels of the release; is it the one "
            "that the release was made with?"
        )
    read = zip(tree.leaves, read_texts(tree.leaves, column.kind), strict=True)
    return _members(
        column,
        tree.leaves,
        [[leaf for part in parts for leaf in part or ()] for parts in found],
        missing=[cell.missing for cell in cells],
        open=[False] * len(cells),
        values=[None if text in missing else value for text, value in read],
        meant=under,
    )


def _labels(column: Column, cells: Sequence[CellParts], labels: PublishedHierarchy) -> ValuesColumn:
    """Cells that are labels of a hierarchy which the release has, perhaps not all of it.

    Where not all of it is there, a label also stands for values without a name; of numbers and dates nobody
    can tell how large these are.
    """
    under = labels.under
    found = [
        under[EVERYTHING]
        if cell.everything
        else [part for atom in cell.atoms for part in under.get(unescaped(atom), [])]
        for cell in cells
    ]
    strange = sum(unescaped(atom) not in under for cell in cells for atom in cell.atoms)
    if strange:
        raise HierarchyError(f"{strange} labels of {column.name} in the rows are not in its hierarchy")
    unnamed = np.array([part not in labels.leaves for part in labels.parts], np.bool_)
    leaves = [part for part in labels.parts if part in labels.leaves]
    value = dict(zip(leaves, read_texts(leaves, column.kind), strict=True))
    values = [value.get(part, part) for part in labels.parts]  # a label is no number, but somebody has it
    made = _members(
        column,
        labels.parts,
        found,
        missing=[cell.missing for cell in cells],
        open=[False] * len(cells),
        values=values,
        meant=under,
    )
    return replace(made, unnamed=unnamed if unnamed.any() else None)


def _members(
    column: Column,
    texts: tuple[str, ...],
    members: Sequence[Sequence[int]],
    *,
    missing: Sequence[bool],
    open: Sequence[bool],
    values: Sequence[Value | None],
    meant: Mapping[str, Sequence[int]],
    loose: bool = False,
) -> ValuesColumn:
    number, scale = None, 0
    if column.kind in (Kind.NUMERIC, Kind.DATE) and not loose:
        number, scale = _numbers(values)
    return ValuesColumn(
        column.name,
        column.kind,
        texts,
        np.concatenate([[0], np.cumsum([len(ids) for ids in members], dtype=np.int64)]).astype(np.int64),
        np.array([code for ids in members for code in ids], dtype=np.int64),
        np.array(missing, np.bool_),
        np.array(open, np.bool_),
        np.ones(len(texts), np.bool_) if loose else np.array([v is not None for v in values], np.bool_),
        meant,
        number,
        scale,
        loose,
    )


def _numbers(values: Sequence[Value | None]) -> tuple[Wholes, int]:
    known = [value for value in values if value is not None and not isinstance(value, str)]
    scale = max((decimals(value) for value in known if not isinstance(value, date)), default=0)
    return wholes([0 if v is None or isinstance(v, str) else in_units(v, scale) for v in values]), scale


def as_written(column: Column, texts: Sequence[str | None], public: PublicKnowledge) -> ValuesColumn:
    """A sensitive or kept column from its distinct texts, which are those of the original.

    Manifests do not say of what kind a kept column is, so its texts do.
    """
    kind, format = column.kind, public.formats.get(column.name, "")
    present = [text for text in texts if text is not None and text not in public.missing]
    if column.role is Role.KEEP or not format:
        found = reading_of(present, column.name)
        kind = found.kind if column.role is Role.KEEP else kind
        format = found.notation if found.kind is kind and None in read_texts(present, kind) else format
    values = [
        None if text is None or text in public.missing else value
        for text, value in zip(texts, read_texts([text or "" for text in texts], kind, format), strict=True)
    ]
    unread = sum(value is None for value in values) - (len(texts) - len(present))
    if kind is Kind.DATE and unread:
        raise InputError(
            f"{unread} distinct texts of {column.name} cannot be read as days; pass the policy that says "
            f"how its dates are written with {option('policy')}"
        )
    named = ["" if value is None else value_text(value) for value in values]
    meant: dict[str, list[int]] = {}
    for code, (text, value) in enumerate(zip(named, values, strict=True)):
        if value is not None:
            meant.setdefault(text, []).append(code)
    described = Column(column.name, column.role, kind)
    lost = [False] * len(texts)  # a text that means missing is a value that is not known
    codes = [[code] for code in range(len(texts))]
    return _members(described, tuple(named), codes, missing=lost, open=lost, values=values, meant=meant)


@dataclass(frozen=True, slots=True, eq=False)
class QueriedBuckets:
    """Sensitive values in buckets: for each line its group, how many people have it, its texts."""

    group: NDArray[np.int64]
    count: NDArray[np.int64]
    columns: Mapping[str, tuple[PublishedColumn, NDArray[np.int32]]]


def read_buckets(
    table: Table, schema: Schema, numbers: Sequence[str | None], public: PublicKnowledge
) -> QueriedBuckets:
    """The second file; `numbers` are the texts of groups as rows have them."""
    lines = BucketTable.read(table, numbers)
    absent = [column.name for column in schema.having(Role.SENSITIVE) if column.name not in lines.values]
    if absent:
        raise InputError(f"the table of sensitive values lacks columns of the manifest: {', '.join(absent)}")
    columns = {
        column.name: (
            as_written(column, lines.values[column.name].texts, public),
            lines.values[column.name].codes,
        )
        for column in schema.having(Role.SENSITIVE)
    }
    return QueriedBuckets(lines.group, lines.count, columns)


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a release, r of them.

    ``codes`` (r,) are their cells by column, ``count`` (r,) how many rows say the same. ``classes`` (r,)
    numbers rows that are equal in their quasi-identifiers. ``means`` are class means, and which of them each
    row has. ``group`` (r,) is the group of each where sensitive values are in ``buckets``. ``uncertain`` says
    that rows may be of people of a public table, and of how many is not known; with ``at_least_one``, one of
    each class is of the private table. Where ``totals`` are stated, cells are spread by them.
    """

    columns: Mapping[str, PublishedColumn]
    codes: Mapping[str, NDArray[np.int32]]
    count: Ints
    classes: Ints
    means: Mapping[str, tuple[ClassMeans, NDArray[np.int32]]]
    about: str
    group: Ints | None = None
    buckets: QueriedBuckets | None = None
    uncertain: bool = False
    at_least_one: bool = False
    totals: Mapping[str, ColumnTotals] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that can be asked about."""
        return (*self.columns, *(self.buckets.columns if self.buckets is not None else ()))

    def column(self, name: str) -> PublishedColumn:
        if self.buckets is not None and name in self.buckets.columns:
            return self.buckets.columns[name][0]
        return self.columns[name]


def read_published(release: object, policy: Policy | None) -> DistinctRows:
    """Read the manifest, the rows and the buckets of a release; nothing else is opened."""
    folder = ReleaseFolder.open(release)
    return published_rows(folder, folder.rows, folder.published_schema, policy)


def published_rows(
    folder: ReleaseFolder, rows: Table, schema: Schema, policy: Policy | None, counts: Ints | None = None
) -> DistinctRows:
    """Rows of a release with what the files beside them say; a line stands for as many as `counts` says."""
    buckets = folder.buckets if folder.bucketed else None
    known = PublicKnowledge.of(policy or folder.policy, schema)
    known = replace(known, labels=folder.hierarchies)
    return distinct_rows_of(rows, schema, known, buckets, folder.manifest, folder.totals, counts)


def distinct_rows_of(
    rows: Table,
    schema: Schema,
    public: PublicKnowledge,
    buckets: Table | None,
    manifest: Mapping[str, Any],
    totals: Table | None = None,
    counts: Ints | None = None,
) -> DistinctRows:
    """The distinct rows of a release, with what the manifest tells of the people behind them.

    Each line of `rows` is a row, or stands for as many as `counts` says.
    """
    _check_names(rows, schema, buckets)
    stated = {} if totals is None else lines_by_column(totals)
    bounds: dict[str, ColumnTotals] = {}
    columns: dict[str, PublishedColumn] = {}
    means = {}
    for said in schema.columns:
        if buckets is not None and said.role is Role.SENSITIVE:
            continue
        texts = rows.column(said.name).texts
        if said.role is not Role.QUASI:
            columns[said.name] = as_written(said, texts, public)
            continue
        places = mean_decimals(rows.column(f"{said.name}_mean")) if said.mean else 0
        if places:  # else every class has too few known values
            means[said.name] = rows.column(f"{said.name}_mean")
        columns[said.name] = generalised(said, texts, places, public, stated.get(said.name, ()))
        if said.name in stated:
            carried = np.bincount(rows.column(said.name).codes, counts, len(texts)).astype(np.int64)
            columns[said.name] = raked(columns[said.name], carried, stated[said.name])
            if (bound := bounding(columns[said.name], stated[said.name])) is not None:
                bounds[said.name] = bound
    quasi = [column.name for column in schema.having(Role.QUASI)]
    extra = [f"{name}_mean" for name in means] + (["group"] if buckets is not None else [])
    first, which = _distinct(rows, [*columns, *extra])
    group = rows.column("group") if buckets is not None else None
    joined, method = "public" in manifest, manifest.get("method")
    return DistinctRows(
        columns,
        {name: rows.column(name).codes[first] for name in columns},
        np.bincount(which, counts, first.size).astype(np.int64),
        _distinct(rows, [*quasi, *(f"{name}_mean" for name in means)])[1][first],
        {name: (read_means(column, name), column.codes[first]) for name, column in means.items()},
        _about(manifest),
        None if group is None else group.codes[first].astype(np.int64),
        None if buckets is None or group is None else read_buckets(buckets, schema, group.texts, public),
        uncertain=joined and buckets is None,
        at_least_one=isinstance(method, dict) and method.get("name") == "kja-direct",
        totals=None if totals is None else bounds,
    )


def _check_names(rows: Table, schema: Schema, buckets: Table | None) -> None:
    """The rows must have the columns that the manifest speaks of."""
    named = [c.name for c in schema.columns if buckets is None or c.role is not Role.SENSITIVE]
    named += [f"{column.name}_mean" for column in schema.columns if column.mean]
    absent = [
        name for name in (*named, *(["group"] if buckets is not None else [])) if name not in rows.names
    ]
    if absent:
        raise InputError(f"the rows of the release lack columns of its manifest: {', '.join(absent)}")


def _distinct(rows: Table, names: Sequence[str]) -> tuple[Ints, Ints]:
    columns = [rows.column(name) for name in names]
    return distinct_rows([c.codes for c in columns], [len(c.texts) for c in columns], len(rows))


def _about(manifest: Mapping[str, Any]) -> str:
    """Whom answers speak of: those who have a row, and how many may have none."""
    if "public" in manifest:
        return "the people of the private table; people of a public one have rows among theirs"
    said = manifest.get("rows")
    rows = said if isinstance(said, dict) else {}
    if "max_suppression" in rows and rows.get("suppressed") is None:
        return f"the people who have a row; up to {rows['max_suppression']} of all records may have none"
    left = rows.get("suppressed")
    return "the people who have a row" + (
        f"; {left:,} records have none" if isinstance(left, int) and left else ""
    )
