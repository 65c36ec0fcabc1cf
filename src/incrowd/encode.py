"""The table as numbers: every quasi-identifier becomes dense integer codes over its own domain.

Only distinct texts are read; rows are translated by one look-up for each column. Texts with one canonical
form (``1`` and ``1.0``) share a code, and missing has a code like any other value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import HierarchyError, PolicyError, TableError, unknown
from incrowd.flow import Attribute, Codes, Microdata, Sensitive, Table, TextColumn
from incrowd.hierarchy import Family, Hierarchy
from incrowd.hierarchy.builders import complete, grow
from incrowd.long_work import side_by_side
from incrowd.schema import MISSING, Column, Kind, Role, Schema, Shape
from incrowd.values import Value, offsets, plural, read_column, read_texts, value_text

GAP = -1  # the number of a missing value where tables are joined
THE_PUBLIC = "the public table"


def encode(table: Table, schema: Schema) -> Microdata:
    """Number the columns of a table as its schema says.

    Examples
    --------
    >>> table = Table.of({"age": ["30", "", "7"], "sex": ["F", "M", "F"]})
    >>> age = Column("age", Role.QUASI, Kind.NUMERIC)
    >>> data = encode(table, Schema((age, Column("sex", Role.QUASI))))
    >>> data.codes.tolist(), data.attributes[0].texts, data.attributes[0].missing
    ([[2, 0], [0, 1], [1, 0]], ('', '7', '30'), 0)
    """
    absent = [column.name for column in schema.columns if column.name not in table.names]
    if absent:
        raise TableError(unknown("in the table", absent, table.names))
    quasi = schema.having(Role.QUASI)
    codes = np.empty((len(table), len(quasi)), dtype=np.int32)

    def attribute(j: int, column: Column) -> Attribute:
        met = _Met.of(column, table, schema.missing)
        domain = _domain(met)
        codes[:, j] = met.rows(domain)
        return _attribute(met, domain)

    attributes = side_by_side([partial(attribute, *each) for each in enumerate(quasi)], len(table))
    hidden = [partial(_sensitive, c, table, schema.missing) for c in schema.having(Role.SENSITIVE)]
    sensitive = side_by_side(hidden, len(table))
    return Microdata(codes, tuple(attributes), tuple(sensitive), _entity(table, schema))


def encode_texts(
    column: Column, texts: Sequence[str | None], counts: NDArray[np.int64], missing: frozenset[str]
) -> tuple[Attribute, Codes]:
    """The domain of a quasi-identifier, and the code of each of its distinct texts, whose rows were counted.

    Examples
    --------
    >>> column = Column("sex", Role.QUASI)
    >>> attribute, codes = encode_texts(column, ["F", "M", None], np.array([2, 9, 1]), frozenset({""}))
    >>> attribute.texts, codes.tolist()
    (('M', 'F', ''), [1, 0, 2])
    """
    met = replace(_Met.of(column, _distinct(column, texts), missing), counts=counts)
    domain = _domain(met)
    return _attribute(met, domain), met.rows(domain)


def encode_values(column: Column, texts: Sequence[str | None], missing: frozenset[str]) -> Sensitive:
    """A sensitive column of which each distinct text is met once; `codes` are of these texts."""
    return _sensitive(column, _distinct(column, texts), missing)


def _distinct(column: Column, texts: Sequence[str | None]) -> Table:
    """A table of one column, in which each of its texts has one row."""
    return Table((column.name,), (TextColumn(np.arange(len(texts), dtype=np.int32), tuple(texts)),))


@dataclass(frozen=True, slots=True, eq=False)
class _Met:
    """What a column really holds: its distinct texts, read, and how often each occurs.

    ``real`` are places in ``source.texts`` that occur and are not missing, ``values`` and ``texts`` what
    they say and how it is written in canonical form, ``gone`` the places that mean missing.
    """

    column: Column
    source: TextColumn
    missing_texts: frozenset[str]
    counts: NDArray[np.int64]
    real: Sequence[int]
    gone: Sequence[int]
    values: Sequence[Value]
    texts: Sequence[str]

    @classmethod
    def of(cls, column: Column, table: Table, missing_texts: frozenset[str]) -> _Met:
        source = table.column(column.name)
        counts = source.counts
        real, raw, gone = _occurring(source, missing_texts)
        values = read_column(raw, column.kind, column.format, column.name)
        _check_missing(column, values, missing_texts)
        texts = [*map(value_text, values)]
        texts = [own if own == text else text for own, text in zip(raw, texts, strict=True)]  # not both kept
        return cls(column, source, missing_texts, counts, real, gone, values, texts)

    def rows(self, domain: _Domain) -> Codes:
        """Every row's code."""
        code = {text: i for i, text in enumerate(domain.texts) if i != domain.missing}
        lookup = np.full(len(self.source.texts), -1, dtype=np.int32)
        lookup[self.real] = [code[text] for text in self.texts]
        lookup[self.gone] = domain.missing
        return lookup[self.source.codes]


def _occurring(source: TextColumn, missing: frozenset[str]) -> tuple[list[int], list[str], list[int]]:
    """The places of distinct texts that occur and are not missing, these texts, and places of missing."""
    real, raw, gone = [], [], []
    for place in np.flatnonzero(source.counts).tolist():
        text = source.texts[place]
        if text is None or text in missing:
            gone.append(place)
        else:
            real.append(place)
            raw.append(text)
    return real, raw, gone


def _missing_values(column: Column, missing_texts: frozenset[str]) -> set[Value]:
    """If -9 means missing, -9.0 can be neither a number nor silently the same: what nobody may say."""
    found = read_texts([*missing_texts], column.kind, column.format)
    return {value for value in found if value is not None}


def _check_missing(column: Column, values: Sequence[Value], missing_texts: frozenset[str]) -> None:
    twins = len(_missing_values(column, missing_texts).intersection(values))
    if twins:
        raise TableError(
            f"{column.name} also writes {twins} of the values that mean missing in another form; "
            "name every form under 'missing'"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Domain:
    """Canonical texts by code, and which of them is missing (-1: none)."""

    texts: tuple[str, ...]
    missing: int = -1
    position: Sequence[float] | None = None
    tree: Hierarchy | None = None


def _domain(met: _Met) -> _Domain:
    if met.column.levels:
        return _leaves(met)
    if met.column.kind in (Kind.NUMERIC, Kind.DATE):
        return _measured(met)
    return _declared(met) if met.column.kind is Kind.ORDERED else _frequent(met)


def _measured(met: _Met) -> _Domain:
    """Numbers and dates in their order, missing first."""
    known = dict(zip(met.values, met.texts, strict=True))
    order = sorted(known)
    texts, position = [known[value] for value in order], offsets(order)
    if not met.gone:
        return _Domain(tuple(texts), -1, position)
    return _Domain(("", *texts), 0, [0.0, *position])


def _leaves(met: _Met) -> _Domain:
    """All leaves that the hierarchy declares, then missing, unless a leaf stands for it."""
    column = met.column
    tree = grow(column.levels, column.kind, column.format, column.name)
    complete(tree.rows, met.texts, column.name)
    stand_ins = [i for i, leaf in enumerate(tree.leaves) if leaf in met.missing_texts]
    if not stand_ins and MISSING not in met.texts:  # else the word is a value of this column
        stand_ins = [i for i, leaf in enumerate(tree.leaves) if leaf == MISSING]
    if stand_ins:
        return _Domain(tree.leaves, stand_ins[0], tree=tree)
    if met.gone:
        return _Domain((*tree.leaves, ""), len(tree.leaves), tree=tree)
    return _Domain(tree.leaves, tree=tree)


def _declared(met: _Met) -> _Domain:
    """The values of an ordered column as declared, missing first unless it has its place among them."""
    order = met.column.order
    if not order or len(set(order)) < len(order):
        raise PolicyError(
            f"{met.column.name} is ordered: its values must be named from low to high, each once"
        )
    strange = len(set(met.texts) - set(order))
    if strange:
        raise TableError(
            f"{met.column.name} is ordered, but {strange} of its values have no place in the order"
        )
    stand_ins = [i for i, text in enumerate(order) if text in met.missing_texts]
    if stand_ins:
        return _Domain(order, stand_ins[0])
    return _Domain(("", *order), 0) if met.gone else _Domain(order)


def _frequent(met: _Met) -> _Domain:
    """Categories by falling frequency, then by text; those that only a family names come last."""
    counts: dict[str, int] = dict.fromkeys((t for s in met.column.family for t in s - met.missing_texts), 0)
    for place, text in zip(met.real, met.texts, strict=True):
        counts[text] = counts.get(text, 0) + int(met.counts[place])
    ranked = [(-count, text, False) for text, count in counts.items()]
    if met.gone or any(s & met.missing_texts for s in met.column.family):
        ranked.append((-int(met.counts[met.gone].sum()), "", True))
    ranked.sort()
    missing = next((i for i, (_, _, gone) in enumerate(ranked) if gone), -1)
    return _Domain(tuple(text for _, text, _ in ranked), missing)


def _attribute(met: _Met, domain: _Domain) -> Attribute:
    column = met.column
    position = range(len(domain.texts)) if domain.position is None else domain.position
    return Attribute(
        name=column.name,
        kind=column.kind,
        shape=_shape(column),
        texts=domain.texts,
        position=np.array(position, dtype=np.float64),
        missing=domain.missing,
        tree=domain.tree,
        family=_family(met, domain),
        order=tuple(column.order),
    )


def _shape(column: Column) -> Shape:
    if column.levels:
        return Shape.TREE
    measured = column.kind in (Kind.NUMERIC, Kind.DATE)
    return Shape.RANGE if measured and column.shape is not Shape.SET else Shape.SET


def _family(met: _Met, domain: _Domain) -> tuple[frozenset[int], ...]:
    """The permissible sets as codes, small ones first: single values, the declared sets, everything."""
    column = met.column
    if not column.family:
        return ()
    if column.levels or column.kind in (Kind.NUMERIC, Kind.DATE):
        raise PolicyError(f"{column.name}: a family is for categorical and ordered columns without hierarchy")
    code = {text: i for i, text in enumerate(domain.texts) if i != domain.missing}
    code |= dict.fromkeys(met.missing_texts, domain.missing)
    sets = [frozenset(code.get(text, -1) for text in subset) for subset in column.family]  # `of` refuses -1
    family = Family.of(range(len(domain.texts)), sets, column=column.name)
    return tuple(sorted(family.members, key=lambda member: (len(member), sorted(member))))


def _sensitive(column: Column, table: Table, missing_texts: frozenset[str]) -> Sensitive:
    if column.kind is Kind.CATEGORICAL and not column.levels:
        codes, domain = _as_met(table.column(column.name), missing_texts)
    else:
        met = _Met.of(column, table, missing_texts)
        domain = _domain(met)
        codes = met.rows(domain)
    size, order = len(domain.texts), tuple(column.order)
    return Sensitive(column.name, column.kind, codes, size, domain.tree, domain.texts, domain.missing, order)


def _as_met(source: TextColumn, missing: frozenset[str]) -> tuple[Codes, _Domain]:
    """Number texts in the order of their first rows; all that mean missing are one value."""
    n = len(source)
    first = np.full(len(source.texts), n, dtype=np.int64)
    first[source.codes[::-1]] = np.arange(n)[::-1]  # of several the last stays: backwards, that is the first
    lookup = np.full(len(source.texts), -1, dtype=np.int32)
    seen: dict[str | None, int] = {}
    for place in np.argsort(first, kind="stable")[: int((first < n).sum())].tolist():
        text = source.texts[place] or ""
        lookup[place] = seen.setdefault(None if text in missing else text, len(seen))
    return lookup[source.codes], _Domain(tuple(text or "" for text in seen), seen.get(None, -1))


def _entity(table: Table, schema: Schema) -> Codes | None:
    """Whose row each is, numbered from 0 without gaps."""
    for column in schema.having(Role.ENTITY):
        source = table.column(column.name)
        counts = source.counts
        gone = [i for i, text in enumerate(source.texts) if text is None or text in schema.missing]
        nameless = int(counts[gone].sum())
        if nameless:
            raise TableError(f"{column.name} says whose row it is, but is missing in {nameless} rows")
        return (np.cumsum(counts > 0, dtype=np.int32) - 1)[source.codes]
    return None


def numbered(
    column: Column,
    missing: frozenset[str],
    private: TextColumn,
    others: Mapping[str, TextColumn],
    in_rows: bool = True,
) -> list[Codes]:
    """The rows of one quasi-identifier in each table; equal values have one number, however they are written.

    `others` are tables by what they are. Refused are texts that the column's type cannot be, and in the
    public table also those that a hierarchy or an order lacks. An error names the row where the table is not
    private, unless columns hold each distinct text once and not `in_rows`.
    """
    seen: dict[str, int] = {}

    def rows(source: TextColumn, places: Sequence[int], values: Iterable[str]) -> Codes:
        lookup = np.full(len(source.texts), GAP, np.int32)
        lookup[places] = [seen.setdefault(value, len(seen)) for value in values]
        return lookup[source.codes]

    places, texts, _ = _occurring(private, missing)
    own = read_column(texts, column.kind, column.format, column.name)
    coded = [rows(private, places, map(value_text, own))]
    for what, source in others.items():
        places, texts, _ = _occurring(source, missing)
        theirs = _PublicColumn(column, source, places, texts, what, in_rows)
        values = theirs.canonical(missing)
        if what == THE_PUBLIC:  # the second source only confirms: what it has besides does not matter
            _check_domain(theirs, values)
        coded.append(rows(source, places, values))
    return coded


@dataclass(frozen=True, slots=True, eq=False)
class _PublicColumn:
    """A column of a table that is joined, ``what`` it is: the texts that occur, and their places."""

    column: Column
    source: TextColumn
    places: Sequence[int]
    texts: Sequence[str]
    what: str
    in_rows: bool = True

    def canonical(self, missing: frozenset[str]) -> list[str]:
        """The one text of each value."""
        kind, format = self.column.kind, self.column.format
        values = read_texts(self.texts, kind, format)
        unread = [value is None for value in values]
        if any(unread):
            raise TableError(
                f"{self.count(unread)} are no {plural(kind, format)}{self.first_row(unread)}; list "
                "those that mean missing under 'missing', or declare the column categorical"
            )
        gone = _missing_values(self.column, missing)
        twins = [value in gone for value in values]
        if any(twins):
            raise TableError(
                f"{self.count(twins)} mean missing in another form{self.first_row(twins)}; name every form "
                "under 'missing'"
            )
        return [value_text(value) for value in values if value is not None]

    def count(self, wrong: Sequence[bool]) -> str:
        return f"in {self.what}, {sum(wrong)} of the {len(wrong)} distinct values of {self.column.name}"

    def first_row(self, wrong: Sequence[bool]) -> str:
        if not self.in_rows:
            return ""
        flags = np.zeros(len(self.source.texts), np.bool_)
        flags[self.places] = wrong
        return f", first in row {int(flags[self.source.codes].argmax()) + 1} (the header not counted)"


def _check_domain(met: _PublicColumn, values: Sequence[str]) -> None:
    """Where the policy says which values there are, those of the public table must be among them."""
    column = met.column
    if column.levels:
        known = set(grow(column.levels, column.kind, column.format, column.name).leaves)
    elif column.kind is Kind.ORDERED:
        known = set(column.order)
    else:
        return
    strange = [value not in known for value in values]
    if any(strange) and column.levels:
        raise HierarchyError(
            f"{met.count(strange)} are not in its hierarchy{met.first_row(strange)}; add a row to the "
            "hierarchy for each"
        )
    if any(strange):
        raise TableError(
            f"{met.count(strange)} are not in its list 'values'{met.first_row(strange)}; add them to it"
        )
