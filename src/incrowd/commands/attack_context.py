"""What attacks need of a written release: whose row each is, values, classes, and the method run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.algorithms.base import Algorithm, method
from incrowd.algorithms.kja_printed import trimmed
from incrowd.algorithms.nonhomogeneous.ring import Ring
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.assign import WAYS
from incrowd.attacks.beliefs import SensitiveValues, code_of_texts, values_of
from incrowd.attacks.corrupted_rings import LaidRings
from incrowd.attacks.definetti import BucketValues, buckets_as_groups
from incrowd.attacks.disclosure import column_context
from incrowd.attacks.joined import JoinTarget, fitting
from incrowd.attacks.linked import SharedValues, known_rows, shared_values
from incrowd.attacks.outlier_density import AskedDensity
from incrowd.attacks.outliers import PLAIN, OutlierHunt, claimed_setting
from incrowd.attacks.registry import Context, NotTried, Outcome
from incrowd.attacks.target import Target
from incrowd.attacks.totals import StatedTotals
from incrowd.commands.attack_series import series_target
from incrowd.commands.learn_features import places
from incrowd.contracts import Promise, catalogue
from incrowd.distance_outliers import Setting
from incrowd.errors import IncrowdError, InputError, option
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition, Sensitive, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.long_work import silent, unwatched
from incrowd.measures import Published, published_from_regions
from incrowd.measures.buckets import BucketTable
from incrowd.models.k_anonymity import MATCHING, SensitiveGroups
from incrowd.publishing.rows import grouped
from incrowd.publishing.suppression import OF_SIZE, Allowance
from incrowd.release.folder import PublicTables, ReleaseFolder
from incrowd.schema import Claim, Column, Kind, Role, Schema

Ints = NDArray[np.int64]

BY_LINKS = "the links in the audit"
BY_ROWS = "rows that fit them and nobody else (the audit has no links)"
RERUN_OF_OTHERS = NotTried(
    "rerun",
    "run again, the method leaves out other records",
    "the original as it was when the release was made",
    Outcome.INCONCLUSIVE,
)
RERUN_OF_A_JOIN = NotTried("rerun", "rows of a class are equal, and nobody's is found by it")
RERUN_OF_A_SERIES = NotTried(
    "rerun",
    "classes of a series follow from all its tables",
    "the tables of all its releases",
    Outcome.INCONCLUSIVE,
)
RERUN_OF_EXACT_ROWS = NotTried("rerun", "rows are published as they are, and groups were drawn by chance")
NOTHING_SHARED = NotTried(
    "composition", "no sensitive or kept column stands beside the rows of all these releases"
)
NOT_FOR_TWO_TABLES = (
    "degree, probability, rerun, corruption, rows and definetti were not tried: with people of two tables, "
    "equijoin takes the place of degree, and the others speak of records of one table"
)


# ---- records of one table


class OneTable:
    """A release of records of one table, and what is asked besides: outliers, other releases.

    `source` says how it is known who is behind which row.
    """

    def __init__(
        self,
        folder: ReleaseFolder,
        asked: Setting | AskedDensity | None,
        others: Sequence[ReleaseFolder] = (),
    ) -> None:
        self.folder, self.others = folder, others
        self.density = asked if isinstance(asked, AskedDensity) else None
        self.asked = None if isinstance(asked, AskedDensity) else asked
        _ = folder.schema  # what is wrong with the request is said in this order
        self.k = k_of(folder.claims)
        _ = folder.method
        self.truth, self.source = _truth_by_links(folder), BY_LINKS
        self.everyone = Target(folder.shown, folder.data, self.truth, self.k)
        if not (self.truth >= 0).any():
            names = [column.name for column in _private(folder)]
            bucket = folder.rows.column("group").codes if folder.bucketed else None
            self.truth[:] = known_rows(self.everyone.graph, folder.original, folder.rows, names, bucket)
            self.source = BY_ROWS

    @cached_property
    def kept(self) -> Ints:
        """The records that have a row."""
        known = self.source == BY_LINKS
        return np.flatnonzero(self.truth >= 0) if known else np.arange(len(self.folder.original))

    @cached_property
    def target(self) -> Target:
        """The records that have a row: who knows who was suppressed knows more than others."""
        if self.kept.size == len(self.everyone.data):
            return self.everyone
        data = self.folder.data.take(self.kept)
        return replace(self.everyone, data=data, truth=self.truth[self.kept])

    @property
    def notes(self) -> tuple[str, ...]:
        counts = self.folder.bucket_counts
        return () if counts is None else (counts.note,)

    @property
    def context(self) -> Context:
        target, others = self.target, self.others
        trees = any(attribute.tree is not None for attribute in target.data.attributes)
        offered = {
            "release": lambda: target,
            "records": lambda: target,
            "hierarchical": lambda: target if trees else None,
            "left_out": lambda: self.everyone if self.kept.size < len(self.everyone.data) else None,
            "left_out_again": lambda: left_out_again(self.folder),
            "stated": self._stated,
            "remade": self._remade,
            "rings": lambda: laid_rings(self.folder),
            "outliers": self._outliers,
            "density": self._density,
            "series": lambda: series_target(self.folder),
            "columns": self._columns,
        }
        if not others:
            return Context(**offered)
        return Context(
            **offered,
            everyone=lambda: self.everyone,
            others=lambda: [_other_target(other) for other in others],
            shared=lambda: _shared((self.folder, *others)),
        )

    def _stated(self) -> StatedTotals | None:
        return None if self.folder.totals is None else StatedTotals.of(self.target, self.folder.totals)

    def _remade(self) -> Published | NotTried:
        return RERUN_OF_EXACT_ROWS if self.folder.bucketed else remade(self.folder, self.kept)

    def _outliers(self) -> OutlierHunt | NotTried | None:
        tables = (self.folder.original, self.folder.rows)
        claimed = claimed_setting(self.folder.claims)
        return OutlierHunt.of(self.everyone, tables, claimed, self.asked, self._mondrian)

    def _density(self) -> OutlierHunt | NotTried | None:
        if self.density is None:
            return None
        tables, setting = (self.folder.original, self.folder.rows), self.density.setting
        return self.density.hunt(OutlierHunt.of(self.everyone, tables, None, setting, self._mondrian))

    def _mondrian(self, people: Ints) -> Sequence[Ints]:
        """The classes of plain Mondrian over some records, numbered as in the original."""
        if self.k is None or people.size < self.k:
            return ()
        partition = StrictMondrian(self.k).group(self.folder.data.take(people), (), silent)
        order, starts = partition.members()
        return np.split(people[order], starts[1:-1])

    def _columns(self) -> list[Context]:
        """A context for each sensitive column that is published, beside the rows or in buckets."""
        folder, target = self.folder, self.target
        source = folder.buckets if folder.bucketed else folder.rows
        columns = [column for column in target.data.sensitive if column.name in source.names]
        if folder.bucketed:
            return [self._bucket_context(column) for column in columns]
        return [column_context(target, self._values(column)) for column in columns]

    @cached_property
    def _table(self) -> Table:
        """The original without the records that were suppressed."""
        table = self.folder.original
        return table if self.kept.size == len(table) else table.take(self.kept)

    def _bucket_context(self, column: Sensitive) -> Context:
        """Of buckets of one table: all people are of it, and on every list."""
        target, folder = self.target, self.folder
        group, original = folder.rows.column("group"), self._table.column(column.name)
        everybody = np.ones(len(target.data), np.bool_)
        own = replace(target, data=replace(target.data, own=everybody))
        lines = BucketValues.of(BucketTable.read(folder.buckets, group.texts), column, original)
        return _of_buckets(
            JoinTarget(own, everybody, group.codes),
            column,
            lines,
            folder.claims,
            value_groups=lambda: buckets_as_groups(target, group, folder.buckets, column, original),
        )

    def _values(self, column: Sensitive) -> SensitiveValues:
        """A sensitive column beside the rows, with what is promised of it."""
        original, shown = self._table.column(column.name), self.folder.rows.column(column.name)
        place = _places(column, original, self.folder.schema)
        return values_of(column, original, shown, place).promised(self.folder.claims)


def _private(folder: ReleaseFolder) -> list[Column]:
    """The columns whose values stand beside the rows as they are."""
    private = folder.schema.having(Role.SENSITIVE, Role.KEEP)
    return [column for column in private if column.name in folder.rows.names]


def _truth_by_links(folder: ReleaseFolder) -> Ints:
    truth, links = np.full(len(folder.original), -1, dtype=np.int64), folder.links
    if links is not None and links.size == len(folder.rows):
        truth[links] = np.arange(links.size)
    return truth


def _places(column: Sensitive, original: TextColumn, schema: Schema) -> NDArray[np.float64] | None:
    """Where the values of a column of numbers or dates lie, nan where one is missing."""
    if column.tree is not None or column.kind not in (Kind.NUMERIC, Kind.DATE):
        return None
    text_of = {code: text for text, code in code_of_texts(column, original).items() if code >= 0}
    texts = [None if (text := text_of.get(i)) in schema.missing else text for i in range(column.size)]
    return places(texts, column.kind, schema.column(column.name).format)


def _other_target(other: ReleaseFolder) -> Target:
    """Another release of the same records; refused if it is seen to be of others."""
    found = Target(other.shown, other.data, _truth_by_links(other), k_of(other.claims))
    graph, known = found.graph, found.known
    strange = (graph.edge(graph.record_of[known], graph.row_of[found.truth[known]]) < 0).any()
    lost = len(other.rows) == len(other.original) and (np.diff(graph.indptr)[graph.record_of] == 0).any()
    if strange or lost:
        raise InputError(
            f"{other.path} was not made from this table: its rows do not describe these records; releases "
            f"of tables that differ are not compared, so leave it out of {option('also')}"
        )
    return found


def _shared(folders: Sequence[ReleaseFolder]) -> SharedValues | NotTried:
    """The private columns beside the rows of all releases."""
    names = [column.name for column in _private(folders[0])]
    for other in folders[1:]:
        theirs = {column.name for column in _private(other)}
        names = [name for name in names if name in theirs]
    rows = [folder.rows for folder in folders]
    return shared_values(folders[0].original, rows, names) if names else NOTHING_SHARED


def _of_buckets(
    scene: JoinTarget,
    column: Sensitive,
    lines: BucketValues,
    claims: Sequence[Claim],
    **more: Callable[[], object],
) -> Context:
    """What attacks on a sensitive column in buckets may ask for."""
    own = column.codes.astype(np.int64)
    values = SensitiveValues(column.name, own, lines.value, column.size).promised(claims)
    return Context(bucketed=lambda: scene, values=lambda: values, bucket_values=lambda: lines, **more)


# ---- people of two tables


class TwoTables:
    """A release in which people of a public table have rows, and who of them is known not to exist."""

    def __init__(self, folder: ReleaseFolder, planted: object) -> None:
        public, people = folder.public, folder.people
        if public is None or people is None or not public.id:
            raise InputError(f"the manifest of {folder.path} does not say by which column people were joined")
        self.folder, self.planted, self.public, self.people = folder, planted, public, people
        nobody = np.full(len(folder.data), -1, dtype=np.int64)
        target = Target(folder.shown, folder.data, nobody, k_of(folder.claims))
        behind, own = folder.people_behind_rows, len(folder.original)
        self.behind = behind if behind is not None and fitting(target, behind) else None
        self.source = "the audit, which has no links"
        if self.behind is not None:
            rows = np.flatnonzero(self.behind < own)
            nobody[self.behind[rows]] = rows
            self.source = BY_LINKS
        self.target, self.notes = target, (NOT_FOR_TWO_TABLES,)

    @cached_property
    def lines(self) -> list[tuple[Sensitive, BucketValues]]:
        """For each sensitive column the values in buckets, numbered as the rows number these."""
        folder = self.folder
        if not folder.bucketed:
            return []
        lines = BucketTable.read(folder.buckets, folder.rows.column("group").texts)
        return [
            (column, BucketValues.of(lines, column, folder.original.column(column.name)))
            for column in folder.data.sensitive
            if column.name in lines.values
        ]

    @cached_property
    def joined(self) -> JoinTarget:
        listed = _listed(self.folder.original, self.public, len(self.folder.data))
        if not self.lines:
            return JoinTarget(self.target, listed, shares=self.folder.private_shares)
        group = self.folder.rows.column("group")
        sizes = np.bincount(self.lines[0][1].group, minlength=len(group.texts))
        return JoinTarget(self.target, listed, group.codes, sizes, self.folder.private_shares)

    @property
    def context(self) -> Context:
        offered = {
            "release": lambda: self.target,
            "joined": lambda: self.joined,
            "bucketed": lambda: self.joined if self.lines else None,
            "trimmed": self._trimmed,
            "columns": lambda: [_of_buckets(self.joined, *each, self.folder.claims) for each in self.lines],
        }
        if self.planted is not None:
            offered |= {"classes": self._classes, "planted": self._planted}
        return Context(**offered)

    def _classes(self) -> Codes | None:
        """The class in which each person has a row, -1 for nobody's; None if it is not known."""
        if self.behind is None:
            return None
        labels = np.full(len(self.folder.data), -1, np.int32)
        labels[self.behind] = self.target.graph.row_of
        return labels

    def _planted(self) -> NDArray[np.bool_]:
        if self.behind is None:
            raise InputError("who has a row in which class only the audit knows, and it is not there")
        named = tables.read(self.planted).columns[:1]
        invented = {text for column in named for text in column.texts}
        others = self.public.table.column(self.public.id).take(self.people.rows)
        flags = np.zeros(len(self.folder.data), np.bool_)
        flags[~self.joined.own] = np.array([text in invented for text in others.texts], np.bool_)[
            others.codes
        ]
        return flags

    def _trimmed(self) -> JoinTarget | None:
        """The same classes with people of the public table left out as printed: the control of trimming."""
        labels, data, k = self._classes(), self.folder.data, self.target.k
        if labels is None or k is None:
            return None
        labels[trimmed(data, self.joined.own, labels, k, "greedy")] = -1
        kept = np.flatnonzero(labels >= 0)
        classes = np.unique(labels[kept], return_inverse=True)[1].reshape(-1).astype(np.int32)
        rest = Microdata(data.codes[kept], data.attributes)
        shown = published_from_regions(generalize(rest, Partition(classes)), data.attributes)
        return JoinTarget(Target(shown, data, np.full(len(data), -1, np.int64), k), self.joined.listed)


def _listed(table: Table, public: PublicTables, people: int) -> NDArray[np.bool_]:
    """Who of all people is in the public table: all who are not of the original, and whose id it has."""
    there = set(public.table.column(public.id).rows()) if public.id in public.table.names else set()
    listed = np.ones(people, np.bool_)
    if public.id in table.names:
        listed[: len(table)] = [who in there for who in table.column(public.id).rows()]
    return listed


# ---- the method run again


def k_of(claims: Sequence[Claim]) -> int | None:
    """What is promised about rows; the size of buckets says nothing about them."""
    claims = [claim for claim in claims if claim.model != SensitiveGroups.name]
    sizes = [size for claim in claims if isinstance(size := claim.parameters.get("k"), int)]
    return min(sizes) if sizes and min(sizes) >= 1 else None


def remade(folder: ReleaseFolder, kept: Ints) -> Published | NotTried:
    """What the release's method makes of the original, row i for the i-th that was kept; or why not."""
    data = folder.data
    try:
        if method(str(folder.method["name"])).joins:
            return RERUN_OF_A_JOIN
        if folder.in_series:
            return RERUN_OF_A_SERIES
        grouping = _grouped_again(folder, _promised(folder.claims))
        if not np.array_equal(grouping.kept, kept):
            return RERUN_OF_OTHERS
        regions = generalize(data.take(kept), grouping.of_kept())
    except (IncrowdError, TypeError, KeyError) as problem:
        reason = str(problem) if isinstance(problem, IncrowdError) else "its manifest does not say how"
        why, needed = f"the method cannot be run again: {reason}", "a manifest that says how it was made"
        return NotTried("rerun", why, needed, Outcome.INCONCLUSIVE)
    return published_from_regions(regions, data.attributes)


def laid_rings(folder: ReleaseFolder) -> LaidRings | None:
    """The rings that the release's method lays, run again; None for others, and where values had a say."""
    try:
        algorithm = _configured(folder)
        if not isinstance(algorithm, Ring) or any(claim.column for claim in folder.claims):
            return None
        found = algorithm.group(folder.data, (), silent)
    except (IncrowdError, TypeError, KeyError):
        return None
    shown = published_from_regions(generalize(folder.data, found), folder.data.attributes)
    return LaidRings(found, shown, WAYS[algorithm.assigned_by], algorithm.assigned_by)


def left_out_again(folder: ReleaseFolder) -> NDArray[np.bool_] | None:
    """Who has no row if the method is run again without sensitive values; None where these had a say.

    Or where it cannot be run again: the attack `rerun` says why.
    """
    if any(claim.model == PLAIN for claim in folder.claims) or folder.method["max_suppression"] == "0":
        return None
    try:
        grouping = _grouped_again(folder, _promised([c for c in folder.claims if c.model in OF_SIZE]))
    except (IncrowdError, TypeError, KeyError):
        return None
    return grouping.labels < 0


def _grouped_again(folder: ReleaseFolder, promised: Sequence[Promise]) -> Partition | Neighbourhoods:
    left_out = _left_out(folder)
    allowed = Allowance(left_out) if Fraction(left_out) else None
    stated = folder.totals is not None
    return grouped(folder.data, _configured(folder), promised, unwatched, None, allowed, stated).found


def _left_out(folder: ReleaseFolder) -> str:
    """The share of records that the method itself may leave out."""
    removed = any(claim.model == PLAIN for claim in folder.claims)  # before the method, not by it
    return "0" if removed else str(folder.method["max_suppression"])


def _configured(folder: ReleaseFolder) -> Algorithm:
    recipe, options = method(str(folder.method["name"])), dict(folder.method.get("options") or {})
    return recipe.configured(k_of(folder.claims) or 0, options, _left_out(folder))


def _promised(claims: Sequence[Claim]) -> tuple[Promise, ...]:
    """The models that a release claims."""
    known = {**catalogue("model"), **catalogue(MATCHING)}
    columns = [{"column": claim.column} if claim.column else {} for claim in claims]
    return tuple(
        known[claim.model](**claim.parameters, **column)
        for claim, column in zip(claims, columns, strict=True)
    )
