"""Who would stand out: how many records are outliers at which p and d, and a proposal.

Removal and scale are those of the whole table. In a large table only records at even steps are asked whether
they stand out, and only among each other. Every answer is one of exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import Any

import numpy as np

from incrowd import tables
from incrowd.contracts import Watch, exact, unwatched
from incrowd.distance_outliers import Setting, Space
from incrowd.distance_outliers.axes import Axis, Floats, axes_of
from incrowd.distance_outliers.cloud import Bools, Cloud, Ints
from incrowd.encode import encode
from incrowd.errors import InputError, PolicyError, TableError
from incrowd.flow import Microdata, Table
from incrowd.models.plain import plain_of
from incrowd.policy import Policy
from incrowd.publishing.suppression import WITH_PLAIN
from incrowd.reports.chart import Line
from incrowd.reports.rates import RateChart

PAPER = {"p": "0.8", "d": "0.85"}  # what the paper takes for all of its tables
SHARES = ("0.5", "0.6", "0.7", "0.8", "0.9", "0.95", "0.99")
STEPS = 9  # of d, from near pairs to far ones
PAIRED = 400  # records whose pairs show which distances there are
_UNIT = 100  # d is proposed in hundredths
_KEPT = 8  # clouds that are kept, each with its trees
MOST = 20_000  # records that are asked
FEW = Fraction(1, 100)  # of all records: more are no outliers but a crowd
FEW_REMOVED = Fraction(1, 200)


@dataclass(frozen=True, slots=True)
class Standing:
    """How many stand out at one p and d, as `publish` would take them: both are lowered by the margin.

    Of the ``asked`` records ``outliers`` stand out. Of all ``records`` ``removed`` do by their sensitive
    values alone, and would have no row. The first count has those of the second among it.
    """

    p: str
    d: str
    outliers: int
    asked: int
    removed: int
    records: int

    @property
    def share(self) -> float:
        return self.outliers / self.asked

    @property
    def removed_share(self) -> float:
        return self.removed / self.records

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"share": self.share, "removed_share": self.removed_share}


@dataclass(frozen=True, slots=True)
class Part:
    """A column's part of the squared distance between two records, on average over pairs.

    ``instead`` is the weight that would give it the part that others have on average; empty unless it has
    far more.
    """

    column: str
    weight: str
    sensitive: bool
    share: float
    instead: str = ""


@dataclass(frozen=True)
class Calibration:
    """How many stand out over a grid of p and d, what makes up the distance, and a proposal.

    ``paper`` is what the paper's p and d give here, ``own`` those of the policy. The proposal is None where
    nobody stands out with its p, at any d.
    """

    records: int
    asked: int
    margin: str
    p: str
    grid: tuple[Standing, ...]
    parts: tuple[Part, ...]
    paper: Standing | None
    own: Standing | None
    proposal: Standing | None
    notes: tuple[str, ...]

    @property
    def ps(self) -> tuple[str, ...]:
        return tuple(sorted({at.p for at in self.grid}, key=Fraction))

    @property
    def ds(self) -> tuple[str, ...]:
        return tuple(sorted({at.d for at in self.grid}, key=Fraction))

    def at(self, p: str, d: str) -> Standing:
        """One cell of the grid."""
        return next(at for at in self.grid if (at.p, at.d) == (p, d))

    def chart(self) -> RateChart:
        """The share that stands out over d, a line for each p, and the proposal."""
        lines = [
            Line(f"p = {p}", tuple((float(d), 100 * self.at(p, d).share) for d in self.ds), look)
            for look, p in enumerate(self.ps)
        ]
        if (found := self.proposal) is not None:
            point = ((float(found.d), 100 * found.share),)
            lines.append(Line(f"proposed: {found.p}, {found.d}", point, self.ps.index(self.p), ours=False))
        return RateChart("Outliers", "d", "% of records", tuple(lines), 100 / self.asked)

    def as_dict(self) -> dict[str, Any]:
        single = {"proposal": self.proposal, "paper": self.paper, "policy": self.own}
        return {
            "records": self.records,
            "asked": self.asked,
            "margin": self.margin,
            "columns": [asdict(part) for part in self.parts],
            "grid": [at.as_dict() for at in self.grid],
            **{name: None if at is None else at.as_dict() for name, at in single.items()},
            "notes": list(self.notes),
        }


def calibrate(
    source: object,
    policy: Policy,
    ps: Sequence[str] = SHARES,
    ds: Sequence[str] = (),
    most: int = MOST,
    watch: Watch = unwatched,
) -> Calibration:
    """Find out how many records stand out at which p and d, and propose a pair of them.

    What the policy says under [privacy.plain] holds here too: columns, weights, margin, removal, rescale. Its
    p is proposed again, else 0.8; with it the d at which at most 1 % stand out, at most 0.5 % (and no more
    than may be left out) would be removed, and at 0.01 less that is not so.

    Parameters
    ----------
    source : path, data frame or Table
        The table, as for `publish`.
    policy : Policy
        Roles and kinds; what it says about outliers, if anything.
    ps, ds : sequence of decimal texts
        The grid. Without `ds`, distances that occur in this table.
    most : int
        How many records are asked. Of a larger table, those at even steps.

    Raises
    ------
    PolicyError
        No column is sensitive, or the policy does not fit the table.

    Examples
    --------
    >>> ages, pays = ["20", "21", "22", "23", "90"], ["3", "5", "4", "3", "4"]
    >>> from incrowd.flow import Microdata, Table
    >>> policy = Policy(quasi_identifiers=["age"], sensitive=["pay"])
    >>> found = calibrate(Table.of({"age": ages, "pay": pays}), policy, ps=["0.8"], ds=["0.9", "2"])
    >>> [(at.d, at.outliers) for at in found.grid]
    [('0.85', 1), ('0.9', 1), ('1.03', 0), ('2', 0)]
    """
    base = _base(policy)
    watch("read")
    table = source if isinstance(source, Table) else tables.read(source)
    schema = policy.schema(table)
    watch("encode")
    data = encode(table, schema)
    if not len(data):
        raise TableError("the table has no rows, so there are no outliers")
    if most < 1:
        raise InputError(f"most must be at least 1, got {most}")
    crowd = _Crowd.of(data, base, most)
    ps, ds = _ends(base, ps, ds, crowd)
    progress = watch("finding outliers")
    cells = [(p, d) for p in ps for d in ds]
    grid = {}
    for number, (p, d) in enumerate(cells):
        grid[p, d] = crowd.standing(p, d)
        progress((number + 1) / (len(cells) + 2 * len(ps)))
    allowed = exact(WITH_PLAIN if policy.privacy.max_suppression is None else policy.privacy.max_suppression)
    proposal = _proposal(crowd, [grid[str(base.p), d] for d in ds], min(FEW_REMOVED, allowed))
    grid |= {(p, proposal.d): crowd.standing(p, proposal.d) for p in ps}
    own = None if policy.privacy.plain is None else grid[str(base.p), str(base.d)]
    met, parts = list(grid.values()), crowd.parts(proposal)
    return Calibration(
        records=len(data),
        asked=crowd.asked.size,
        margin=str(base.margin),
        p=str(base.p),
        grid=tuple(sorted(met, key=lambda at: (Fraction(at.d), Fraction(at.p)))),
        parts=parts,
        paper=grid.get((PAPER["p"], PAPER["d"])),
        own=own,
        proposal=proposal if any(at.outliers or at.removed for at in met if at.p == proposal.p) else None,
        notes=tuple(_notes(met, proposal, own, parts, crowd)),
    )


def _base(policy: Policy) -> Setting:
    """What the policy says of outliers; the paper's p and d where it says nothing."""
    if not policy.sensitive:
        raise PolicyError("outliers are found by sensitive values too, but no column is sensitive; name one")
    plain = policy.privacy.plain
    return plain_of(
        PAPER if plain is None else plain.model_dump(), policy.privacy.k or 2, list(policy.sensitive)
    )


def _ends(
    base: Setting, ps: Sequence[str], ds: Sequence[str], crowd: _Crowd
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The grid: what was asked for, the policy's own, and the paper's d for comparison."""
    margin = exact(base.margin)
    shares = {str(base.p), *(replace(base, p=p, d=10**6).p for p in ps if exact(p) > margin)}
    tried = ds or crowd.distances(margin)
    paper = [PAPER["d"]] if exact(PAPER["d"]) > margin else []
    distances = {str(base.d), *paper, *(replace(base, p=1, d=d).d for d in tried)}
    return tuple(sorted(map(str, shares), key=Fraction)), tuple(sorted(map(str, distances), key=Fraction))


def _proposal(crowd: _Crowd, row: Sequence[Standing], few_removed: Fraction) -> Standing:
    """Between the first d of the row that fits and the one before it: halve until they are neighbours.

    With removal the share need not fall everywhere as d grows. What is found fits, and 0.01 less does not.
    """

    def fits(at: Standing) -> bool:
        few = Fraction(at.outliers, at.asked) <= FEW
        return few and Fraction(at.removed, at.records) <= few_removed

    low, high, found = floor(exact(crowd.base.margin) * _UNIT), crowd.widest(), None
    for at in row:
        place = Fraction(at.d) * _UNIT
        if place.denominator == 1 and fits(at):
            high, found = int(place), at
            break
        low = int(place) if place.denominator == 1 else low
    while found is None or high - low > 1:
        middle = high if found is None else (low + high) // 2
        at = crowd.standing(str(crowd.base.p), _hundredths(middle))
        if fits(at):
            high, found = middle, at
        else:
            low = middle
    return found


def _notes(
    grid: Sequence[Standing],
    proposal: Standing,
    own: Standing | None,
    parts: Sequence[Part],
    crowd: _Crowd,
) -> Iterator[str]:
    """What is to be known before the proposal is taken."""
    records, asked = len(crowd.data), crowd.asked.size
    if asked < records:
        yield (
            f"shares of outliers are those of {asked:,} records at even steps of {records:,}; who would be "
            "removed is counted among all"
        )
    flagged = {at.p for at in grid if at.outliers or at.removed}
    if not flagged:
        yield "there are no outliers at any p and d that was tried: plain would promise nothing here"
        return
    if proposal.p not in flagged:
        yield f"there are no outliers with p = {proposal.p}, at any d that was tried; try a smaller p"
    elif not proposal.outliers and not proposal.removed:
        yield (
            "no outliers at the proposal, and too many at a d less by 0.01: there are few records, or "
            "few different values; choose other columns or weights"
        )
    if own is not None and own.share > 10 * FEW:
        yield (
            f"{own.share:.0%} are outliers at the policy's p and d; plain groups are then hard to find, "
            "and whoever fits in none has no row"
        )
    if own is not None and not own.outliers and not own.removed:
        yield "there are no outliers at the policy's p and d: plain promises nothing there"
    even = 1 / len(parts)
    for part in parts:
        if part.instead:
            yield (
                f"{part.column} makes up {part.share:.0%} of the squared distance, its even part would be "
                f"{even:.0%}; leave it out of columns, or lower its weight: with {part.instead} it counts as "
                "much as others do"
            )
    private = [part for part in parts if part.sensitive]
    named, share = ", ".join(part.column for part in private), sum(part.share for part in private)
    if share < len(private) * even / 2:
        yield (
            f"sensitive columns ({named}) make up {share:.1%} of the squared distance; who has a rare value "
            "there hardly counts as standing out: raise their weights"
        )


def _hundredths(units: int) -> str:
    return f"{units // _UNIT}.{units % _UNIT:02}"


@dataclass(frozen=True, eq=False)
class _Nested:
    """Who of a cloud is bad, for one radius after the other.

    Who is bad stays so at a smaller p and a smaller radius. So whoever was good at smaller ones, or bad at
    larger ones, need not be asked again.
    """

    cloud: Cloud
    size: int
    known: list[tuple[Fraction, Fraction, Bools]] = field(default_factory=list)

    def bad(self, p: Fraction, radius: Fraction) -> Bools:
        found, open_ = np.zeros(len(self.cloud.points), np.bool_), np.ones(len(self.cloud.points), np.bool_)
        for share, distance, bad in self.known:
            if share >= p and distance >= radius:
                found |= bad
            if share <= p and distance <= radius:
                open_ &= bad
        ask = np.flatnonzero(open_ & ~found)
        if ask.size:
            found[ask] = self.cloud.bad(self.cloud.points[ask], radius, ceil(p * self.size))
        self.known.append((p, radius, found))
        return found


@dataclass(frozen=True, eq=False)
class _Crowd:
    """The table, who of it is asked, and what is known of them so far."""

    data: Microdata
    base: Setting
    axes: tuple[Axis, ...]
    asked: Ints
    sensitive: _Nested
    rest: dict[bytes, _Nested] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Microdata, base: Setting, most: int) -> _Crowd:
        axes, everybody = axes_of(data, base), np.ones(len(data), np.bool_)
        asked = min(most, len(data))
        told = Cloud.of([axis for axis in axes if not axis.quasi], everybody, everybody)
        return cls(data, base, axes, np.arange(asked) * len(data) // asked, _Nested(told, len(data)))

    def standing(self, p: str, d: str) -> Standing:
        """How many stand out at p and d."""
        setting = replace(self.base, p=p, d=d)
        removed = self._removed(setting)
        outliers, left = int(removed[self.asked].sum()), self._left(removed)
        if len(left.cloud):
            outliers += int(left.cloud.counts[left.bad(setting.p0, setting.d0)].sum())
        return Standing(
            str(setting.p), str(setting.d), outliers, self.asked.size, int(removed.sum()), len(self.data)
        )

    def _removed(self, setting: Setting) -> Bools:
        """Who is removed, as `Space` decides it, but that nobody is asked twice."""
        told = self.sensitive
        if setting.removal == "none":
            return np.zeros(len(self.data), np.bool_)
        found = told.bad(setting.p0, setting.d0)[told.cloud.which]
        if setting.removal == "repeat" and found.any():
            return Space.of(self.data, setting).removed
        return found

    def _left(self, removed: Bools) -> _Nested:
        """Those who are asked and not removed, scaled by all who are left."""
        key = np.packbits(removed).tobytes()
        if key not in self.rest:
            if len(self.rest) == _KEPT:
                del self.rest[next(iter(self.rest))]
            scale = ~removed if self.base.rescale == "yes" else np.ones_like(removed)
            inside = np.zeros_like(removed)
            inside[self.asked] = ~removed[self.asked]
            self.rest[key] = _Nested(Cloud.of(self.axes, inside, scale), self.asked.size)
        return self.rest[key]

    def widest(self) -> int:
        """From here on, in hundredths, nobody is further away: no column adds more than its weight."""
        square = sum((axis.weight for axis in self.axes), Fraction(0)) * _UNIT**2
        return isqrt(ceil(square)) + 1 + ceil(exact(self.base.margin) * _UNIT)

    def distances(self, margin: Fraction) -> list[str]:
        """Distances between near pairs, between far ones, and even steps from the ones to the others."""
        pairs = np.sqrt(_squares(self._left(np.zeros(len(self.data), np.bool_)).cloud).sum(axis=0))
        near, far = (float(np.quantile(pairs, q)) for q in (0.02, 0.999)) if pairs.size else (0.0, 0.0)
        least = floor(margin * _UNIT) + 1
        steps = np.linspace(near, far, STEPS) + float(margin)
        return [_hundredths(max(least, round(step * _UNIT))) for step in steps.tolist()]

    def parts(self, at: Standing) -> tuple[Part, ...]:
        """What makes up the squared distance, largest first, as scaled at this p and d."""
        cloud = self._left(self._removed(replace(self.base, p=at.p, d=at.d))).cloud
        sums = _squares(cloud).sum(axis=1)
        shares = sums / max(float(sums.sum()), np.finfo(np.float64).tiny)
        found = [
            _part(axis, self.base.weight(axis.name), share, len(self.axes))
            for axis, share in zip(self.axes, shares.tolist(), strict=True)
        ]
        return tuple(sorted(found, key=lambda part: -part.share))


def _squares(cloud: Cloud) -> Floats:
    """Squared differences (columns, pairs) between some records of a cloud, those at even steps."""
    rows = np.flatnonzero(cloud.which >= 0)
    some = min(PAIRED, rows.size)
    points = cloud.points[cloud.which[rows[np.arange(some) * rows.size // max(some, 1)]]]
    one, other = np.triu_indices(some, 1)
    found = np.empty((len(cloud.axes), one.size))
    for j, axis in enumerate(cloud.axes):
        at = cloud.scaled[j][points[:, j]]
        gone = np.isnan(at)
        apart = np.where(gone[one] == gone[other], 0.0, float(axis.weight))
        found[j] = np.where(gone[one] | gone[other], apart, (at[one] - at[other]) ** 2)
    return found


def _part(axis: Axis, weight: str, share: float, columns: int) -> Part:
    """A column dominates if it has about twice its even part: over 2/3 of two, 1/2 of three, 1/5 of nine."""
    fair = float(axis.weight) * (1 - share) / (columns - 1) / share if columns > 1 and share else 0.0
    if share <= 2 / (columns + 1) or fair < 0.01:
        return Part(axis.name, weight, not axis.quasi, share)
    return Part(axis.name, weight, not axis.quasi, share, f"{fair:.2f}".rstrip("0"))
