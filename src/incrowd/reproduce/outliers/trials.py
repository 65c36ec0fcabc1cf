"""Workers of CENSUS, grouped in every way of "Hiding Distinguished Ones into Crowd".

The paper's extract of IPUMS may not be passed on. In its place stand people of the American Community Survey
who have an occupation and a wage, with the hierarchies that lie beside the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.algorithms.outliers.expc import (
    COMPONENTS,
    Expanding,
    ExpC,
    NonOutliersFirst,
    OutliersFirst,
    RemoveOutliers,
)
from incrowd.algorithms.partitions.incognito import Incognito
from incrowd.distance_outliers import Matrix, Setting, Space
from incrowd.encode import encode
from incrowd.flow import Attribute, Codes, Microdata, Table, TextColumn
from incrowd.hierarchy.tree import read_levels
from incrowd.long_work import Progress, silent
from incrowd.models.plain import PlainGuard
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.stored import (
    CENSUS_COLUMNS,
    CENSUS_TABLE,
    NO_OCCUPATION,
    OCCUPATION,
    Stored,
    drawn_order,
    need_rows,
)
from incrowd.reproduce.trial import run_each, timed
from incrowd.schema import Column, Kind, Role, Schema

AGE, WAGE, SALARY = "AGEP", "WAGP", "salary"
QUASI = (*CENSUS_COLUMNS, OCCUPATION)  # the paper's order
CLASSES = 50  # of salary
RANKS, WIDTHS = "ranks", "equal widths"
Levels = tuple[tuple[str, ...], ...]
NEEDED = (
    CENSUS_TABLE,
    *(Stored(f"levels of {name}", f"acs2024_census/hierarchies/{name}.csv") for name in QUASI if name != AGE),
)


@dataclass(frozen=True, slots=True, eq=False)
class Workers:
    """Rows in a drawn order, to take samples of n rows and d quasi-identifiers of.

    `salary` (n,) is the class of each, 0..49, by the name of the coding.
    """

    table: Table
    salary: Mapping[str, Codes]
    levels: Mapping[str, Levels]

    def __len__(self) -> int:
        return len(self.table)

    def sample(self, n: int, d: int, number: int = 0, coding: str = RANKS) -> Microdata:
        """The rows number * n to (number + 1) * n: no two samples of a size share anybody.

        Age is a number, all else is in its hierarchy, the class of salary is sensitive.
        """
        need_rows(self.table, (number + 1) * n, f"{CENSUS_TABLE.name} has {{}} people with a wage")
        rows = np.arange(number * n, (number + 1) * n)
        names, columns = self.table.names[:d], [column.take(rows) for column in self.table.columns[:d]]
        salary = TextColumn(self.salary[coding][rows], tuple(map(str, range(CLASSES))))
        roles = (*map(self._column, names), Column(SALARY, Role.SENSITIVE, Kind.NUMERIC))
        return encode(Table((*names, SALARY), (*columns, salary)), Schema(roles))

    def _column(self, name: str) -> Column:
        if name == AGE:
            return Column(name, Role.QUASI, Kind.NUMERIC)
        return Column(name, Role.QUASI, Kind.CATEGORICAL, levels=self.levels[name])


def load_workers(folder: Path) -> Workers:
    """Those with an occupation and a wage; hierarchies have the values that one of them has."""
    table = CENSUS_TABLE.read(folder, [*QUASI, WAGE])
    wages = np.array([int(text or 0) for text in table.column(WAGE).texts])[table.column(WAGE).codes]
    occupation = table.column(OCCUPATION)
    known = np.array([text is not None and text not in NO_OCCUPATION for text in occupation.texts])
    rows = drawn_order(np.flatnonzero(known[occupation.codes] & (wages > 0)))
    taken = Table(QUASI, tuple(table.column(name).take(rows) for name in QUASI))
    stored = {name: read_levels(folder / one.path) for name, one in zip(QUASI[1:], NEEDED[1:], strict=True)}
    levels = {name: _levels_met(taken.column(name), tuple(rows)) for name, rows in stored.items()}
    return Workers(taken, {coding: of(wages[rows]) for coding, of in CODINGS.items()}, levels)


def _levels_met(column: TextColumn, rows: Levels) -> Levels:
    met = {column.texts[code] for code in np.unique(column.codes).tolist()}
    return tuple(tuple(row) for row in rows if row[0] in met)


def salary_classes(wages: NDArray[np.int64]) -> Codes:
    """Classes 0..49 of wages (n,) by rank, of about as many people each; one wage is in one class.

    Examples
    --------
    >>> salary_classes(np.array([700, 10, 700, 900])).tolist()
    [25, 6, 25, 43]
    """
    _, of, counts = np.unique(wages, return_inverse=True, return_counts=True)
    twice = 2 * np.cumsum(counts) - counts  # twice the middle rank of each wage
    return (twice * CLASSES // (2 * wages.size))[of].astype(np.int32)


def equal_widths(wages: NDArray[np.int64]) -> Codes:
    """Classes 0..49 of wages (n,) from the least to the largest, as wide as each other.

    Examples
    --------
    >>> equal_widths(np.array([700, 10, 700, 900])).tolist()
    [38, 0, 38, 49]
    """
    low, high = int(wages.min()), int(wages.max())
    return ((wages - low) * CLASSES // (high - low + 1)).astype(np.int32)


CODINGS = {RANKS: salary_classes, WIDTHS: equal_widths}

EXPC, GNOF, GOF, REMOVED, INCOGNITO = "ExpC", "GNOF", "GOF", "removed", "Incognito"
AS_PUBLISHED = "ExpC, as published"  # not in the figures
_, LOCAL, EXPANSION, RESIDUES = COMPONENTS
MEASURES = ("seconds", "counted", "asked")
LIMITS = {"tries": 16, "patience": 1, "merges": 8}  # which the paper does not have
PRINTED = {"loss": "printed", "values": "any", "strangers": "any"}
APPROACHES: Mapping[str, tuple[type[Expanding], Mapping[str, Any]]] = {
    EXPC: (ExpC, PRINTED),
    GNOF: (NonOutliersFirst, PRINTED),
    GOF: (OutliersFirst, PRINTED),
    REMOVED: (RemoveOutliers, PRINTED),
    AS_PUBLISHED: (ExpC, {}),
}


@dataclass(frozen=True, slots=True)
class OutlierSetting:
    """Which sample and coding, how many rows and quasi-identifiers, what counts as an outlier and as plain.

    Unless `limited`, approaches try all that the paper tries.
    """

    n: int
    columns: int
    p: str
    d: str
    k: int
    coding: str = RANKS
    limited: bool = True
    sample: int = 0

    @property
    def outliers(self) -> Setting:
        """As the paper has it: corners only, nothing taken off p and d, k different values."""
        return Setting(p=self.p, d=self.d, distinct=self.k, margin=0, form="corner")


@dataclass(frozen=True, slots=True)
class GroupingPoint:
    """What came of one approach: what each component took, groups and their records, what was lost.

    That is processor seconds, and checks as `Grouping` counts them.
    ``loss`` is Definition 3.7, the mean over all records of the sum over quasi-identifiers; ``zero`` the same
    with an exact age at no loss. A record without a row costs as much as there are quasi-identifiers.
    """

    seconds: Mapping[str, float] = field(default_factory=dict)
    groups: int = 0
    size: float = 0.0
    residue: int = 0
    suppressed: int = 0
    removed: int = 0
    loss: float = 0.0
    zero: float = 0.0
    asked: Mapping[str, int] = field(default_factory=dict)
    counted: Mapping[str, int] = field(default_factory=dict)

    def took(self, measure: str) -> float:
        """All components together, in one of the `MEASURES`."""
        return float(sum(getattr(self, measure).values()))


OutlierTrials = Mapping[tuple[str, OutlierSetting], GroupingPoint]


def trials(
    people: Workers,
    asked: Sequence[tuple[str, OutlierSetting]],
    progress: Progress,
    kept: Keeper = NOTHING_KEPT,
) -> dict[tuple[str, OutlierSetting], GroupingPoint]:
    """Every approach that is asked for, each once; samples are encoded before time counts."""
    sample = lru_cache(maxsize=1)(people.sample)

    def run(at: tuple[str, OutlierSetting]) -> GroupingPoint:
        return trial(sample(at[1].n, at[1].columns, at[1].sample, at[1].coding), *at)

    return run_each(asked, run, progress, lambda at: at[1].n, kept.of("groups", GroupingPoint))


def trial(data: Microdata, name: str, setting: OutlierSetting) -> GroupingPoint:
    """One approach on one sample. Nothing is kept from one to the next, so that none profits from another.

    Looking for outliers and growing groups count records in the same way: by a look at all of them.
    """
    if name == INCOGNITO:
        return GroupingPoint({EXPANSION: timed(partial(Incognito(setting.k).group, data, (), silent))[1]})
    space = Space.of(data, setting.outliers, scan=True)
    make, options = APPROACHES[name]
    limits = LIMITS if setting.limited else dict.fromkeys(LIMITS, 0)
    # the paper leaves delta open; it is given here, so that figures follow no default
    given = {"delta": max(2 * setting.k, 20), **options, **limits} if options else options
    found = make(setting.k, **given).grouping(data, (PlainGuard(Matrix(space), setting.k),))
    kept = sum(rows.size for rows in found.groups)
    return GroupingPoint(
        seconds=found.seconds,
        groups=len(found.groups),
        size=kept / max(len(found.groups), 1),
        residue=found.residue.size,
        suppressed=found.suppressed.size,
        removed=found.removed.size,
        loss=information_loss(data, found.groups, printed=True),
        zero=information_loss(data, found.groups, printed=False),
        asked=found.asked,
        counted=found.counted,
    )


def information_loss(data: Microdata, groups: Sequence[NDArray[np.int64]], printed: bool) -> float:
    """Definition 3.7 over all records; who is in no group loses every quasi-identifier.

    With `printed` a range costs (high - low + 1) / (Max - Min + 1), else (high - low) / (Max - Min).
    """
    sizes = np.array([rows.size for rows in groups], np.int64)
    lost = float((len(data) - sizes.sum()) * len(data.attributes))
    if not sizes.size:
        return lost / len(data)
    codes = data.codes[np.concatenate(groups)]
    starts = np.cumsum(sizes) - sizes
    low, high = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    for j, attribute in enumerate(data.attributes):
        lost += float(sizes @ _lost(attribute, low[:, j], high[:, j], printed))
    return lost / len(data)


def _lost(
    attribute: Attribute, low: NDArray[np.int32], high: NDArray[np.int32], printed: bool
) -> NDArray[np.float64]:
    """What one cell of each group costs."""
    tree = attribute.tree
    if tree is not None:
        return (tree.sizes()[tree.coverings(low, high)] - 1) / max(len(tree.leaves) - 1, 1)
    width = attribute.position[high] - attribute.position[low]
    return (width + 1) / (attribute.span + 1) if printed else width / (attribute.span or 1.0)


def rates(people: Workers, settings: Iterable[OutlierSetting]) -> dict[OutlierSetting, float]:
    """The share of records that are outliers, those whose salary alone makes them one included."""
    found = {}
    for setting in settings:
        sample = people.sample(setting.n, setting.columns, setting.sample, setting.coding)
        space = Space.of(sample, setting.outliers)
        found[setting] = float((space.removed | space.outliers()).mean())
    return found


def compile_all(people: Workers, setting: OutlierSetting) -> None:
    """Run everything once, so that no time of a figure has compiling in it."""
    data = people.sample(setting.n, setting.columns)
    for name in (EXPC, GNOF, GOF, REMOVED, INCOGNITO):
        trial(data, name, setting)
