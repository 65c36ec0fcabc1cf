"""The nouns that stages hand to each other: frozen, valid from birth; nobody writes to their arrays.

::

    Table ─ encode ─► Microdata ─ group ─► Partition ─ generalize ─► Regions ─ assign ─► Assignment
                                                                                        │
    Table (published) ◄─────────────────────── release ◄────────────────────────────────┘
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.hierarchy import Hierarchy
from incrowd.results import Attempt
from incrowd.schema import Kind, Shape

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
_ROWS_AT_ONCE, _MOST_KEYS = 16_384, 2**62  # keys up to 2^62 fit an int64


def _counted(codes: Codes, size: int) -> Ints:
    (counts := np.bincount(codes, minlength=size)).setflags(write=False)  # several stages have the same
    return counts


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of texts, each distinct text once: row i says ``texts[codes[i]]``. None is NULL."""

    codes: Codes
    texts: tuple[str | None, ...]

    @cached_property
    def counts(self) -> Ints:
        """How many rows have each text; counted once, since each stage asks for it."""
        return _counted(self.codes, len(self.texts))

    def __len__(self) -> int:
        return self.codes.size

    def __repr__(self) -> str:
        return f"TextColumn({len(self)} rows, {len(self.texts)} distinct)"

    def take(self, rows: NDArray[np.int64] | Codes) -> TextColumn:
        return TextColumn(self.codes[rows], self.texts)

    def rows(self) -> list[str | None]:
        """Every row's text, as a list."""
        return np.array([*self.texts, None], dtype=object)[:-1][self.codes].tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Named columns of texts, all of one length; iterating gives every row as a tuple.

    `notes` say what was taken for what in reading. `unread` columns, which nobody needs, are NULL in rows.

    >>> list(Table.of({"sex": ["F", "M"], "zip": ["01234", None]}))
    [('F', '01234'), ('M', None)]
    """

    names: tuple[str, ...]
    columns: tuple[TextColumn, ...]
    notes: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if len(self.names) != len(self.columns) or len(set(self.names)) != len(self.names):
            raise TableError("a table needs one distinct name for each column")
        if len({len(column) for column in self.columns}) > 1:
            raise TableError("the columns of a table must have one length")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __iter__(self) -> Iterator[tuple[str | None, ...]]:
        texts = [np.array(column.texts, dtype=object) for column in self.columns]
        for start in range(0, len(self), _ROWS_AT_ONCE):
            codes = [column.codes[start : start + _ROWS_AT_ONCE] for column in self.columns]
            yield from zip(*(t[c].tolist() for t, c in zip(texts, codes, strict=True)), strict=True)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.names)})"

    def column(self, name: str) -> TextColumn:
        if name in self.unread:
            raise TableError(f"column {name!r} was not read: nobody needs it")
        return self.columns[self.names.index(name)]

    def take(self, rows: NDArray[np.int64] | Codes) -> Table:
        return Table(self.names, tuple(column.take(rows) for column in self.columns), unread=self.unread)

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[str | None]]) -> Table:
        """Build from lists of texts.

        >>> Table.of({"sex": ["F", "M", "F"]}).column("sex").codes.tolist()
        [0, 1, 0]
        """
        coded = []
        for texts in columns.values():
            seen: dict[str | None, int] = {}
            codes = np.fromiter((seen.setdefault(text, len(seen)) for text in texts), np.int32, len(texts))
            coded.append(TextColumn(codes, tuple(seen)))
        return cls(tuple(columns), tuple(coded))


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """The domain of one quasi-identifier, numbered 0..m-1.

    Numbers and dates are numbered in their order, leaves of a hierarchy depth first, other categories
    by falling frequency. ``position[c]`` is where code c lies in the column's own unit (its rank where
    there is none), so widths are measured in values and not in ranks. Missing is a code like any other:
    the first of a range, a leaf where the hierarchy names it, else the last of a tree. ``order`` are the
    declared values of an ordered column, from low to high.
    """

    name: str
    kind: Kind
    shape: Shape
    texts: tuple[str, ...]
    position: NDArray[np.float64]
    missing: int = -1
    tree: Hierarchy | None = None
    family: tuple[frozenset[int], ...] = ()
    order: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Attribute({self.name!r}, {self.shape}, {len(self)} values)"

    @property
    def real(self) -> slice:
        """Codes of the real values of a range (everything but missing)."""
        return slice(1, None) if self.missing == 0 else slice(None)

    @property
    def span(self) -> float:
        """Distance from the smallest to the largest real value, 0 if there is only one."""
        real = self.position[self.real] if self.shape is Shape.RANGE else self.position
        return float(real[-1] - real[0]) if real.size else 0.0

    @property
    def missing_in_tree(self) -> bool:
        return self.tree is not None and 0 <= self.missing < len(self.tree.leaves)


@dataclass(frozen=True, slots=True, eq=False)
class Sensitive:
    """A sensitive column, numbered.

    Numbers, dates and ordered values are numbered in their order, missing first; values with a tree as
    its leaves, missing after them unless it is a leaf; others as met. Not every code need occur. ``texts``
    are their canonical texts, ``missing`` the code of missing (-1: none), ``order`` is as of an attribute.
    """

    name: str
    kind: Kind
    codes: Codes
    size: int
    tree: Hierarchy | None = None
    texts: tuple[str, ...] = ()
    missing: int = -1
    order: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Sensitive({self.name!r}, {self.size} values)"


@dataclass(frozen=True, eq=False)
class Microdata:
    """The table as numbers: codes (n, d), their domains, sensitive columns, whose row each is.

    Joined with a public table, `own` (n,) says who is in the private one. They stand first, and sensitive
    columns are of them alone.
    """

    codes: Codes
    attributes: tuple[Attribute, ...]
    sensitive: tuple[Sensitive, ...] = ()
    entity: Codes | None = None
    own: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        n, d = self.codes.shape
        if d != len(self.attributes):
            raise TableError("microdata needs one attribute for each column of codes")
        for column, attribute in zip(self.codes.T, self.attributes, strict=True):
            if n and not (column.min() >= 0 and column.max() < len(attribute)):
                raise TableError(f"a code of {attribute.name} lies outside its domain")

    @cached_property
    def frequencies(self) -> tuple[Ints, ...]:
        """How many lines of codes have each code of each column."""
        return tuple(map(_counted, self.codes.T, map(len, self.attributes)))

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    def __repr__(self) -> str:
        return f"Microdata({len(self)} rows, {[a.name for a in self.attributes]})"

    def take(self, rows: NDArray[np.int64]) -> Microdata:
        """Some of the rows. Domains stay as they are: distances and losses are of the whole table."""
        sensitive = tuple(replace(column, codes=column.codes[rows]) for column in self.sensitive)
        if self.entity is None:
            return Microdata(self.codes[rows], self.attributes, sensitive)
        entity = np.unique(self.entity[rows], return_inverse=True)[1].astype(np.int32)
        return Microdata(self.codes[rows], self.attributes, sensitive, entity)


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The group of each record (n,), numbered 0..g-1: rows of a group are equal.

    A record that is in no group (-1) has no row. Where every column is recoded on its own, `slabs` (n, d)
    says in which part of each column's domain a record lies; a cell then speaks for its slab, and a group is
    a combination of slabs. Where that is by whole levels of hierarchies, `levels` (d,) says which level each
    column has. `buckets` (n,) numbers the groups whose sensitive values are published together, beside the
    rows, -1 for records without a row; None where values stand in the rows. `tried`: what it was chosen from.
    """

    labels: Codes
    slabs: Codes | None = None
    levels: tuple[int, ...] | None = None
    buckets: Codes | None = None
    tried: tuple[Attempt, ...] = ()
    neighbourhoods: ClassVar[None] = None

    def __post_init__(self) -> None:
        for labels in (self.labels, self.labels if self.buckets is None else self.buckets):
            if not np.bincount(labels[labels >= 0]).all() or (labels < -1).any():
                raise ValueError("groups must be numbered from 0 without gaps")
            if ((labels >= 0) != (self.labels >= 0)).any():
                raise ValueError("whoever has a row must be in a bucket, and nobody else")
        if self.levels is not None and self.slabs is None:
            raise ValueError("levels need slabs")

    @property
    def kept(self) -> NDArray[np.int64]:
        """The records that have a row."""
        return np.flatnonzero(self.labels >= 0)

    def of_kept(self) -> Partition:
        """The same among those that have a row, numbered by their places in `kept`."""
        kept, slabs = self.kept, None
        if self.slabs is not None:
            columns = [np.unique(slab, return_inverse=True)[1] for slab in self.slabs[kept].T]
            slabs = np.stack(columns, axis=1).astype(np.int32)
        buckets = None if self.buckets is None else self.buckets[kept]
        return Partition(self.labels[kept], slabs, self.levels, buckets)

    def __len__(self) -> int:
        return int(self.labels.max()) + 1 if self.labels.size else 0

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.labels[self.labels >= 0])

    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Records sorted by group, and where each group starts: (order (kept,), starts (g+1,))."""
        order = np.argsort(self.labels, kind="stable")[np.count_nonzero(self.labels < 0) :]
        return order, np.concatenate([[0], np.cumsum(self.sizes)])


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhoods:
    """Non-homogeneous generalization: the records that each record's own row is made over.

    The row of record i is made over the records ``members[starts[i]:starts[i+1]]``, itself among them. Parts
    (n,) are what no neighbourhood leaves. Then ``whole[i, j]`` says that cell j of row i is made over all of
    its part, and ``alike[i]`` that all records of a part are equal, or all its rows: nobody is exchanged. In
    others ``tuples`` (n,) number who must get rows of one. ``row_of`` (n,) is an assignment drawn before.
    """

    starts: NDArray[np.int64]
    members: Codes
    parts: Codes | None = None
    whole: NDArray[np.bool_] | None = None
    alike: NDArray[np.bool_] | None = None
    tuples: Codes | None = None
    row_of: NDArray[np.int64] | None = None
    levels: ClassVar[None] = None
    buckets: ClassVar[None] = None
    tried: ClassVar[tuple[Attempt, ...]] = ()

    def __post_init__(self) -> None:
        owner = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))
        own = np.zeros(len(self), np.bool_)
        own[owner[self.members == owner]] = True
        if not own.all():
            raise ValueError("everyone must be in their own neighbourhood")
        if self.parts is None:
            if self.whole is not None or self.alike is not None:
                raise ValueError("what is said about parts needs parts")
        elif (np.repeat(self.parts, np.diff(self.starts)) != self.parts[self.members]).any():
            raise ValueError("a neighbourhood reaches from one part into another")

    def __len__(self) -> int:
        return self.starts.size - 1

    @property
    def neighbourhoods(self) -> Neighbourhoods:
        return self

    @property
    def labels(self) -> Codes:
        """The group of each record: every row is one of its own."""
        return np.arange(len(self), dtype=np.int32)

    @property
    def kept(self) -> NDArray[np.int64]:
        """The records that have a row: all."""
        return np.arange(len(self))

    def of_kept(self) -> Neighbourhoods:
        return self

    @property
    def sizes(self) -> NDArray[np.int64]:
        return np.diff(self.starts)

    @property
    def regular(self) -> bool:
        """Has every neighbourhood the same size k, and is everyone in k of them?"""
        if not (sizes := self.sizes).size or (sizes != sizes[0]).any():
            return False
        rows = np.sort(self.members.reshape(len(self), -1), axis=1)
        named_once = not (rows[:, 1:] == rows[:, :-1]).any()
        return named_once and bool((np.bincount(self.members, minlength=len(self)) == sizes[0]).all())


@dataclass(frozen=True, slots=True, eq=False)
class ValueSets:
    """Sets of codes, end to end: set i holds ``codes[starts[i]:starts[i+1]]``, ascending."""

    starts: NDArray[np.int64]
    codes: Codes

    def __len__(self) -> int:
        return self.starts.size - 1

    def of(self, i: int) -> Codes:
        return self.codes[self.starts[i] : self.starts[i + 1]]

    def take(self, which: NDArray[np.int64]) -> ValueSets:
        """Some of them, in the order asked for."""
        codes = [np.zeros(0, np.int32), *map(self.of, which)]
        return ValueSets(np.cumsum([part.size for part in codes]), np.concatenate(codes))


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The distinct cells of one column, c of them.

    ``low``, ``high`` (c,) are the smallest and largest real code (of a tree: of the published node), both
    -1 where there is only missing. ``missing`` (c,) says whether missing is inside; it is never set for a
    missing value that is a leaf of its tree. ``node`` (c,) are tree nodes, ``sets`` the codes of sets.
    """

    low: Codes
    high: Codes
    missing: NDArray[np.bool_]
    node: Codes | None = None
    sets: ValueSets | None = None

    def __len__(self) -> int:
        return self.low.size

    def take(self, which: NDArray[np.int64]) -> Cells:
        """Some of them, in the order asked for."""
        node = None if self.node is None else self.node[which]
        sets = None if self.sets is None else self.sets.take(which)
        return Cells(self.low[which], self.high[which], self.missing[which], node, sets)


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """What the rows say: r distinct regions, and which of them each record's row carries.

    ``cell[r, j]`` is the cell of region r in column j, an index into ``cells[j]``. ``means`` are texts per
    region for columns that publish their mean.
    """

    of: Codes
    cell: Codes
    cells: tuple[Cells, ...]
    means: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.cell.shape[0])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many records carry each region."""
        return np.bincount(self.of, minlength=len(self))


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Who is behind which row, and in which order rows appear.

    Published row p carries the region of record ``region[p]`` and the private part of record
    ``private[p]``. Both are permutations of 0..n-1.
    """

    region: NDArray[np.int64]
    private: NDArray[np.int64]

    def __post_init__(self) -> None:
        for permutation in (self.region, self.private):
            if (np.bincount(permutation, minlength=permutation.size) != 1).any():
                raise ValueError("an assignment must name every record once")


def row_keys(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], n: int) -> tuple[Ints, int]:
    """One number for each of n rows, in their lexicographic order, and a number that all lie below.

    Columns (n,) of codes below sizes[j] are digits of a mixed radix. Before a number would outgrow 64 bits,
    those that occur are numbered afresh.

    >>> row_keys([np.array([0, 1, 0]), np.array([5, 2, 5])], [2, 6], 3)
    (array([5, 8, 5]), 12)
    """
    key, top = np.zeros(n, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if top * size > _MOST_KEYS:
            met, key = np.unique(key, return_inverse=True)
            top = met.size
        key = key * size + column
        top *= size
    return key, top


def distinct_rows(columns: Sequence[NDArray[np.integer]], sizes: Sequence[int], n: int) -> tuple[Ints, Ints]:
    """Where each distinct row of columns (n,) of codes below sizes[j] is first met, and which each row is."""
    _, first, which = np.unique(row_keys(columns, sizes, n)[0], return_index=True, return_inverse=True)
    return first.astype(np.int64), which.astype(np.int64)
