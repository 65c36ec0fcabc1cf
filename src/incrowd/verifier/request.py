"""What is verified: the tables, what was asked for, what the manifest states, and hints, never trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.schema import Claim, Column, Role, Schema, Shape
from incrowd.verifier.claims import registry
from incrowd.verifier.claims.buckets import GROUP
from incrowd.verifier.claims.join import COUNTS, PublicTable
from incrowd.verifier.columns import RowSource, as_is, restored
from incrowd.verifier.threads import ONE_THREAD, Threads

MEAN = "_mean"
Progress = Callable[[float], None]


def silent(done: float) -> None:
    """A progress that nobody watches."""


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What was asked for.

    The release must make these claims, neither more nor less, and keep them. `accepted` are exposures
    accepted by name. `max_suppression` is the share of records that may have no row, None if everybody must
    have one. `method` is what the manifest must state of the method: name, options, paper, form and whether
    whole `levels` of hierarchies are published; `public` what it must state of who published the public
    table, and when. With `totals` the release must state how many rows have which value.
    """

    schema: Schema
    claims: Sequence[Claim]
    accepted: Sequence[str] = ()
    max_suppression: Fraction | Literal["as stated"] | None = "as stated"
    method: Mapping[str, Any] | None = None
    levels: bool = False
    public: Mapping[str, str] = field(default_factory=dict)
    totals: bool = False

    def __post_init__(self) -> None:
        if not self.claims:
            raise InputError("the release claims nothing, so there is nothing to verify")

    @property
    def bucketed(self) -> bool:
        """Must sensitive values be published in buckets, in a table of their own?"""
        return registry.requires(self.claims, registry.BUCKETS)

    @property
    def randomized(self) -> bool:
        """Must the release state how likely its matches are?"""
        return registry.requires(self.claims, registry.MATCHES)

    @property
    def hierarchies(self) -> bool:
        """Must the release say which labels lie under which?"""
        return any(column.shape is Shape.TREE for column in self.schema.having(Role.QUASI))

    @property
    def counted(self) -> bool:
        """Must rows say how many people of their class are private?"""
        return registry.requires(self.claims, registry.COUNTED)

    @property
    def in_series(self) -> bool:
        """Is the release one of a series?"""
        return registry.requires(self.claims, registry.SERIES)

    @property
    def joined(self) -> bool:
        """Do people of a public table have rows, too?"""
        return registry.joins(self.claims)


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """Hints that save a search. They are checked before they are used, and never trusted.

    `links` (rows,) are for each row the record that it describes; with a public table they number people: all
    records of the original, then those of the public table who count. `neighbourhoods` (rows, k) are for each
    row the k records that it was made of, for claims of a k-factor.
    """

    links: NDArray[np.int64] | None = field(default=None, repr=False)
    neighbourhoods: NDArray[np.integer] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What a manifest states and the tables must confirm. What is None is not stated.

    Where `max_suppression` is stated, records may have no row; `suppressed` says how many have none, and is
    not stated where outliers are hidden. `groups` are those of the table of sensitive values; `public_rows`
    and `second_rows` are of the public table and of the one that confirms it.
    """

    rows: int | None = None
    suppressed: int | None = None
    max_suppression: Fraction | None = None
    domains: Mapping[str, Any] | None = None
    levels: Any = None
    match_probability: Any = None
    groups: int | None = None
    public_rows: int | None = None
    second_rows: int | None = None
    series: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTables:
    """What is published.

    `sensitive` is the table of sensitive values by group, where they are published in buckets, `totals` that
    of one-way totals, where they are stated, `hierarchies` that of labels. In CSV files
    texts are `protected` against being run as formulas. In files, each cell must be `canonical`: written in
    the one form that its meaning has.
    """

    rows: RowSource
    sensitive: RowSource | None = None
    stated: Stated = Stated()
    protected: bool = False
    canonical: bool = False
    totals: RowSource | None = None
    hierarchies: RowSource | None = None

    @property
    def undo(self) -> Callable[[str], str]:
        return restored if self.protected else as_is

    @property
    def beside_undo(self) -> Callable[[str], str]:
        """What stands beside the rows of a written release, totals and hierarchies, is always CSV."""
        return restored if self.canonical else as_is


@dataclass(frozen=True, slots=True, eq=False)
class EarlierRelease:
    """An earlier release of a series, its audit and its columns; `rows` are those of Parquet files."""

    folder: Path
    audit: Path
    schema: Schema
    rows: RowSource | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SeriesHistory:
    """A release of a series and its audit, and the table of `today`, whose people `entity` tells apart.

    `earlier` are the releases before it, the first one first. One that is `staged` is not yet the successor
    of the last of them.
    """

    today: RowSource
    entity: str
    release: Path
    audit: Path
    earlier: Sequence[EarlierRelease] = ()
    staged: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Verification:
    """Everything that one verification is given, and the `threads` that it may use."""

    original: RowSource
    published: PublishedTables
    expected: Expected
    witness: Witness = Witness()
    public: PublicTable | None = None
    threads: Threads = ONE_THREAD
    series: SeriesHistory | None = None

    @property
    def stated(self) -> Stated:
        return self.published.stated

    @property
    def schema(self) -> Schema:
        return self.expected.schema

    @property
    def max_suppression(self) -> Fraction | None:
        asked = self.expected.max_suppression
        return self.stated.max_suppression if asked == "as stated" else asked

    @property
    def private(self) -> tuple[Column, ...]:
        """The columns that rows show as they are: none where some rows are of people without such values."""
        if self.expected.joined:
            return ()
        return self.schema.having(*((Role.KEEP,) if self.expected.bucketed else (Role.SENSITIVE, Role.KEEP)))

    @property
    def means(self) -> tuple[Column, ...]:
        """The columns with a mean for each class."""
        return tuple(column for column in self.schema.published if column.mean)

    @property
    def header(self) -> tuple[str, ...]:
        """The names that the published table must have.

        A mean comes right after its column, then the group, then how many people of the class are private.
        """
        shown = [c for c in self.schema.published if c.role is Role.QUASI or c in self.private]
        pairs = ((c.name, c.name + MEAN) if c.mean else (c.name,) for c in shown)
        names = tuple(name for pair in pairs for name in pair)
        names = (*names, GROUP) if self.expected.bucketed else names
        return (*names, *COUNTS) if self.expected.counted else names
