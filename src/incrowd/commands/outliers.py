"""`outliers`: how many records are outliers at which p and d, and a proposal.

Removal and scale are those of the whole table. In a large table only records at even steps are asked whether
they stand out, and only among each other. Every answer is one of exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import floor
from typing import Any, Literal, overload

from incrowd import tables
from incrowd.commands.outliers_density import MOST as MOST_PAIRED
from incrowd.commands.outliers_density import DensityOutliers, density_outliers
from incrowd.contracts import exact
from incrowd.distance_outliers import Setting
from incrowd.distance_outliers.counting import UNIT, DistancePart, OutlierCount, OutlierCounts, hundredths
from incrowd.encode import encode
from incrowd.errors import InputError, PolicyError, TableError, option
from incrowd.flow import Table
from incrowd.long_work import Watch, unwatched
from incrowd.models.plain import plain_of
from incrowd.policy import Policy, needed
from incrowd.publishing.memory_limit import check_fits
from incrowd.publishing.suppression import WITH_PLAIN
from incrowd.reports.chart import ChartLine, RateChart
from incrowd.results import Result, Row

PAPER = {"p": "0.8", "d": "0.85"}  # what the paper takes for all of its tables
SHARES = ("0.5", "0.6", "0.7", "0.8", "0.9", "0.95", "0.99")
MOST = 20_000  # records that are asked
FEW = Fraction(1, 100)  # of all records: more are no outliers
FEW_REMOVED = Fraction(1, 200)
DEFINITIONS = ("distance", "lof")


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """How many stand out over a grid of p and d, what makes up the distance, and a proposal.

    ``paper`` is what the paper's p and d give here, ``own`` those of the policy. The proposal is None where
    nobody stands out with its p, at any d.
    """

    records: int
    asked: int
    margin: str
    p: str
    grid: tuple[OutlierCount, ...]
    parts: tuple[DistancePart, ...]
    paper: OutlierCount | None
    own: OutlierCount | None
    proposal: OutlierCount | None
    notes: tuple[str, ...]

    def headline(self) -> str:
        if (found := self.proposal) is None:
            return f"no outliers among {self.asked:,} of {self.records:,} records: nothing to propose"
        return f"proposed: p = {found.p}, d = {found.d}; {found.share:.1%} of the records are outliers then"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = ((d, *(f"{self.at(p, d).share:.1%}" for p in self.ps)) for d in self.ds)
        return ("d", *(f"p = {p}" for p in self.ps)), rows

    @property
    def ps(self) -> tuple[str, ...]:
        return tuple(sorted({at.p for at in self.grid}, key=Fraction))

    @property
    def ds(self) -> tuple[str, ...]:
        return tuple(sorted({at.d for at in self.grid}, key=Fraction))

    def at(self, p: str, d: str) -> OutlierCount:
        """One cell of the grid."""
        return next(at for at in self.grid if (at.p, at.d) == (p, d))

    def chart(self) -> RateChart:
        """The share that stands out over d, a line for each p, and the proposal."""
        lines = [
            ChartLine(f"p = {p}", tuple((float(d), 100 * self.at(p, d).share) for d in self.ds), look)
            for look, p in enumerate(self.ps)
        ]
        if (found := self.proposal) is not None:
            point = ((float(found.d), 100 * found.share),)
            lines.append(
                ChartLine(f"proposed: {found.p}, {found.d}", point, self.ps.index(self.p), ours=False)
            )
        return RateChart("Outliers", "d", "% of records", tuple(lines), 100 / self.asked)

    def to_dict(self) -> dict[str, Any]:
        single = {"proposal": self.proposal, "paper": self.paper, "policy": self.own}
        return {
            "records": self.records,
            "asked": self.asked,
            "margin": self.margin,
            "columns": [asdict(part) for part in self.parts],
            "grid": [at.to_dict() for at in self.grid],
            **{name: None if at is None else at.to_dict() for name, at in single.items()},
            "notes": list(self.notes),
        }


@overload
def outliers(
    table: object,
    policy: object,
    *,
    p: Sequence[str] = SHARES,
    d: Sequence[str] = (),
    definition: Literal["distance"] = "distance",
    most: int | None = None,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Calibration: ...


@overload
def outliers(
    table: object,
    policy: object,
    *,
    definition: str,
    neighbours: int | None = None,
    most: int | None = None,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Calibration | DensityOutliers: ...


def outliers(
    table: object,
    policy: object,
    *,
    p: Sequence[str] = SHARES,
    d: Sequence[str] = (),
    definition: str = "distance",
    neighbours: int | None = None,
    most: int | None = None,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Calibration | DensityOutliers:
    """Find out how many records stand out at which p and d, and propose a pair of them.

    With ``definition="lof"``, how many have which local outlier factor instead; nothing is proposed then,
    since nothing can be promised about it.

    What the policy says under [privacy.plain] holds here too: columns, weights, margin, removal, rescale. Its
    p is proposed again, else 0.8; with it the d at which at most 1 % stand out, at most 0.5 % (and no more
    than may be left out) would be removed, and at 0.01 less that is not so.

    Parameters
    ----------
    table : path or frame
        The table, as for `publish`.
    policy : Policy, dict or path
        Roles and kinds; what it says about outliers, if anything.
    p, d : sequence of decimal texts
        The grid. Without `d`, distances that occur in this table.
    definition : str
        ``distance``: (p,d)-outliers; ``lof``: by the local outlier factor of Breunig et al.
    neighbours : int, optional
        For ``lof``: how many neighbours a record is compared with; without it 10, 20 and 40.
    most : int, optional
        How many records are asked, 20,000 (``lof``: 10,000) by default. Of a larger table, those at even
        steps.
    memory : str or int, optional
        What may be used, such as "20GB"; half of the machine's memory by default. More is refused.

    Raises
    ------
    PolicyError
        No column is sensitive, or the policy does not fit the table.

    Examples
    --------
    >>> ages, pays = ["20", "21", "22", "23", "90"], ["3", "5", "4", "3", "4"]
    >>> from incrowd.flow import Microdata, Table
    >>> policy = Policy(quasi_identifiers=["age"], sensitive=["pay"])
    >>> found = outliers(Table.of({"age": ages, "pay": pays}), policy, p=["0.8"], d=["0.9", "2"])
    >>> [(at.d, at.outliers) for at in found.grid]
    [('0.85', 1), ('0.9', 1), ('1.03', 0), ('2', 0)]
    """
    given = needed(policy)
    base = _base(given)
    by_distance = definition == "distance"
    if definition not in DEFINITIONS:
        raise InputError(f"definition must be {' or '.join(DEFINITIONS)}, got {definition}")
    if by_distance and neighbours is not None:
        raise InputError(f"neighbours are for the definition lof; leave out {option('neighbours')}")
    check_fits("outliers", [table], memory)
    watch("read")
    read = table if isinstance(table, Table) else tables.read(table)
    schema = given.schema(read)
    watch("encode")
    data = encode(read, schema)
    if not len(data):
        raise TableError("the table has no rows, so there are no outliers")
    if most is not None and most < 1:
        raise InputError(f"most must be at least 1, got {most}")
    if not by_distance:
        return density_outliers(data, base, neighbours, most or MOST_PAIRED, watch)
    counts = OutlierCounts.of(data, base, most or MOST)
    ps, ds = _ends(base, p, d, counts)
    progress = watch("finding outliers")
    cells = [(share, radius) for share in ps for radius in ds]
    grid = {}
    for number, at in enumerate(cells):
        grid[at] = counts.count(*at)
        progress((number + 1) / (len(cells) + 2 * len(ps)))
    allowed = exact(WITH_PLAIN if given.privacy.max_suppression is None else given.privacy.max_suppression)
    proposal = _proposal(counts, [grid[str(base.p), d] for d in ds], min(FEW_REMOVED, allowed))
    grid |= {(share, proposal.d): counts.count(share, proposal.d) for share in ps}
    own = None if given.privacy.plain is None else grid[str(base.p), str(base.d)]
    met, parts = list(grid.values()), counts.parts(proposal)
    return Calibration(
        records=len(data),
        asked=counts.asked.size,
        margin=str(base.margin),
        p=str(base.p),
        grid=tuple(sorted(met, key=lambda at: (Fraction(at.d), Fraction(at.p)))),
        parts=parts,
        paper=grid.get((PAPER["p"], PAPER["d"])),
        own=own,
        proposal=proposal if any(at.outliers or at.removed for at in met if at.p == proposal.p) else None,
        notes=tuple(_notes(met, proposal, own, parts, counts)),
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
    base: Setting, ps: Sequence[str], ds: Sequence[str], counts: OutlierCounts
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The grid: what was asked for, the policy's own, and the paper's d for comparison."""
    margin = exact(base.margin)
    shares = {str(base.p), *(replace(base, p=p, d=10**6).p for p in ps if exact(p) > margin)}
    tried = ds or counts.distances(margin)
    paper = [PAPER["d"]] if exact(PAPER["d"]) > margin else []
    distances = {str(base.d), *paper, *(replace(base, p=1, d=d).d for d in tried)}
    return tuple(sorted(map(str, shares), key=Fraction)), tuple(sorted(map(str, distances), key=Fraction))


def _proposal(counts: OutlierCounts, row: Sequence[OutlierCount], few_removed: Fraction) -> OutlierCount:
    """Between the first d of the row that fits and the one before it: halve until they are neighbours.

    With removal the share need not fall everywhere as d grows. What is found fits, and 0.01 less does not.
    """

    def fits(at: OutlierCount) -> bool:
        few = Fraction(at.outliers, at.asked) <= FEW
        return few and Fraction(at.removed, at.records) <= few_removed

    low, high, found = floor(exact(counts.base.margin) * UNIT), counts.widest(), None
    for at in row:
        place = Fraction(at.d) * UNIT
        if place.denominator == 1 and fits(at):
            high, found = int(place), at
            break
        low = int(place) if place.denominator == 1 else low
    while found is None or high - low > 1:
        middle = high if found is None else (low + high) // 2
        at = counts.count(str(counts.base.p), hundredths(middle))
        if fits(at):
            high, found = middle, at
        else:
            low = middle
    return found


def _notes(
    grid: Sequence[OutlierCount],
    proposal: OutlierCount,
    own: OutlierCount | None,
    parts: Sequence[DistancePart],
    counts: OutlierCounts,
) -> Iterator[str]:
    """What is to be known before the proposal is taken."""
    records, asked = len(counts.data), counts.asked.size
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
