"""Information loss: every measure of the papers, one class each.

All are 'lower is better'. Most charge each cell and add the charges up; they differ in what a cell costs
and in what the sum is divided by. A suppressed record costs as much as a row of ``*``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from operator import mul
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Choice, Limit, Limited, catalogue, option_names, register
from incrowd.errors import PolicyError, TableError, unknown
from incrowd.flow import Attribute, Microdata
from incrowd.measures.cells import CellCoverage
from incrowd.measures.counted import frequency
from incrowd.measures.published import Published
from incrowd.schema import Shape

Costs = NDArray[np.float64]
REMOVED = Choice(("charged", "ignored"))


@dataclass(frozen=True, slots=True)
class About:
    """The meaning of a measure, for the catalogue and the docs."""

    meaning: str
    unit: str
    range: str
    paper: str
    better: str = "lower"


class Measure(Protocol):
    """Compares a published table with its original."""

    about: ClassVar[About]

    def value(self, published: Published, data: Microdata) -> float | int: ...


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredColumn:
    """One column of a published table beside the same column of its original."""

    attribute: Attribute
    cells: CellCoverage
    original: Microdata
    place: int

    @property
    def frequency(self) -> NDArray[np.int64]:
        """How many records of the original have each code."""
        return frequency(self.original, self.place)

    @property
    def by_width(self) -> bool:
        """Is a cell charged by its width? If all real values are one, it is charged by its count."""
        return self.attribute.shape is Shape.RANGE and self.attribute.span > 0


@register("measure", "dm")
@dataclass(frozen=True)
class Discernibility(Limited):
    """Sum of the squared class sizes; a record that was left out is charged the whole table."""

    removed: str = "charged"
    limits: ClassVar[Mapping[str, AnyLimit]] = {"removed": REMOVED}
    about: ClassVar = About(
        meaning="each record pays for every record of its equivalence class",
        unit="pairs of records",
        range="n to n²",
        paper="multidimensional 2.2 and kja 2.1, after Bayardo and Agrawal 2005",
    )

    def value(self, published: Published, data: Microdata) -> int:
        gone = _left_out(published, data, self.removed)
        return published.sizes.squares + gone * len(data)


@register("measure", "c_avg")
@dataclass(frozen=True)
class AverageClass(Limited):
    """Mean class size as a multiple of k."""

    k: int
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1)}
    about: ClassVar = About(
        meaning="the mean size of an equivalence class, divided by k",
        unit="multiples of k",
        range="1 (every class has k rows) to n/k; below 1 some class has fewer",
        paper="multidimensional 2.2, after LeFevre et al. 2006",
    )

    def value(self, published: Published, data: Microdata) -> float:  # noqa: ARG002
        classes = len(published.sizes)
        return len(published) / (classes * self.k) if classes else 0.0


@dataclass(frozen=True)
class CellMeasure(Limited):
    """A measure that charges each cell by itself.

    ``weights`` say how much an attribute counts, 1 if not named; ``removed`` whether a record that was left
    out costs as much as a row of ``*`` ("charged"), or nothing ("ignored").
    """

    weights: Mapping[str, float] = field(default_factory=dict)
    removed: str = "charged"
    limits: ClassVar[Mapping[str, AnyLimit]] = {"removed": REMOVED}
    about: ClassVar[About]
    per: ClassVar[str] = "cell"  # the sum is divided by the number of these: "table", "record" or "cell"

    def costs(self, column: MeasuredColumn) -> Costs:
        """What each cell costs; if a measure does not say otherwise, the share of its domain."""
        return _losses(column)

    def value(self, published: Published, data: Microdata) -> float:
        named = enumerate(published.attributes)
        return self.of_totals({a.name: self.total(published, data, j) for j, a in named}, published, data)

    def of_totals(self, totals: Mapping[str, float], published: Published, data: Microdata) -> float:
        """The measure of a table whose cells cost so much in each attribute, which may be seen one by one."""
        weights = _weights(list(totals), self.weights)
        weighed = float(sum(map(mul, weights, totals.values())))
        return _share(weighed, self._divisor(published, data, sum(weights)))

    def by_attribute(self, published: Published, data: Microdata) -> dict[str, float]:
        """The same measure as if each attribute were the only one; weights do not count."""
        divisor = self._divisor(published, data, 1.0)
        names = [attribute.name for attribute in published.attributes]
        return {name: _share(self.total(published, data, j), divisor) for j, name in enumerate(names)}

    def total(self, published: Published, data: Microdata, j: int) -> float:
        """What the cells of one attribute cost in all rows together."""
        column = MeasuredColumn(published.attributes[j], published.cells[j], data, j)
        if len(column.attribute) < 2:
            return 0.0
        costs = self.costs(column)
        gone = _left_out(published, data, self.removed)
        return float((published.tallies[j] * costs).sum()) + gone * float(costs[-1])

    def _divisor(self, published: Published, data: Microdata, weight: float) -> float:
        records = len(data) if self.removed == "charged" else len(published)
        return {"table": 1.0, "record": records, "cell": records * weight}[self.per]


@register("measure", "ncp_perimeter")
class Perimeter(CellMeasure):
    """Perimeters of the published boxes: twice the side lengths, in the columns' own units."""

    per: ClassVar = "table"
    about: ClassVar = About(
        meaning="the perimeter of each record's box, added up",
        unit="the columns' own units (values beyond the first for categories)",
        range="0 to 2n times the sum of all domain widths",
        paper="kja 2.1, Fig. 2",
    )

    def costs(self, column: MeasuredColumn) -> Costs:
        return 2.0 * _sides(column)


@register("measure", "ncp")
@dataclass(frozen=True)
class CertaintyPenalty(CellMeasure):
    """Normalised certainty penalty; ``form="xu"`` counts all leaves of a generalised category."""

    form: str = "plain"
    limits: ClassVar[Mapping[str, AnyLimit]] = {"removed": REMOVED, "form": Choice(("plain", "xu"))}
    per: ClassVar = "table"
    about: ClassVar = About(
        meaning="the share of its domain that each cell covers, added up",
        unit="cells",
        range="0 to n times the number of quasi-identifiers",
        paper="nonhomogeneous Def. 8, after Xu et al. 2006",
    )

    def costs(self, column: MeasuredColumn) -> Costs:
        if self.form == "plain" or column.by_width:
            return _losses(column)
        count = column.cells.count
        return np.where(count > 1, count / len(column.attribute), 0.0)


@register("measure", "gcp")
class GlobalPenalty(CellMeasure):
    """Mean share of its domain that a cell covers: GCP, and LM for sets and trees."""

    about: ClassVar = About(
        meaning="the mean share of its domain that a cell covers",
        unit="share",
        range="0 to 1",
        paper="nonhomogeneous Def. 8 (GCP), revisited (4) (LM)",
    )


@register("measure", "entropy")
class EntropyLoss(CellMeasure):
    """Mean bits needed to tell a value again, given its cell and the original frequencies."""

    about: ClassVar = About(
        meaning="the mean number of bits that a cell leaves open",
        unit="bits",
        range="0 to log2 of the domain size",
        paper="revisited (3)",
    )

    def costs(self, column: MeasuredColumn) -> Costs:
        cells = column.cells
        frequency = column.frequency.astype(np.float64)
        weight = frequency * np.log2(np.maximum(frequency, 1.0))
        # Differences of running sums must not lose what a rare value weighs beside the common ones:
        # coarse parts are multiples of 2**-16 and add up without rounding, fine parts stay small.
        coarse = np.floor(weight * 65536.0) / 65536.0
        mass, rough, rest = (_covered(cells, x) for x in (frequency, coarse, weight - coarse))
        total = np.maximum(mass, 1.0)
        return np.maximum(np.log2(total) - (rough + rest) / total, 0.0)


@register("measure", "il")
class InformationLoss(CellMeasure):
    """Information loss as printed: a number that was not generalised still costs 1/(max-min+1)."""

    per: ClassVar = "record"
    about: ClassVar = About(
        meaning="the shares that a record's cells cover, added up, as printed (numbers count both ends)",
        unit="cells per record",
        range="a little above 0 to the number of quasi-identifiers",
        paper="outliers Def. 3.7",
    )

    def costs(self, column: MeasuredColumn) -> Costs:
        if not column.by_width:
            return _losses(column)
        return np.minimum((_sides(column) + 1.0) / (column.attribute.span + 1.0), 1.0)


@register("measure", "il_zero")
class ZeroBasedLoss(CellMeasure):
    """Information loss that is 0 where nothing was generalised."""

    per: ClassVar = "record"
    about: ClassVar = About(
        meaning="the shares that a record's cells cover, added up",
        unit="cells per record",
        range="0 to the number of quasi-identifiers",
        paper="outliers Def. 3.7 without its +1",
    )


@register("measure", "tree")
class TreeLevel(CellMeasure):
    """Mean level of the published nodes; without a tree a cell is whole or lost."""

    about: ClassVar = About(
        meaning="the mean share of its tree that a cell climbed",
        unit="share",
        range="0 to 1",
        paper="revisited II, after Aggarwal et al. 2005",
    )

    def costs(self, column: MeasuredColumn) -> Costs:
        tree, cells = column.attribute.tree, column.cells
        if tree is None:
            return (cells.count > 1).astype(np.float64)
        return np.where(cells.node < 0, 0.0, tree.level[cells.node] / tree.height)


def measure_all(published: Published, data: Microdata, k: int) -> dict[str, float | int]:
    """Every registered measure of a published table.

    Examples
    --------
    >>> from incrowd.flow import Table
    >>> from incrowd.measures.published import published
    >>> from incrowd.schema import Kind
    >>> age = Attribute("age", Kind.NUMERIC, Shape.RANGE, ("20", "30", "60"), np.array([20.0, 30.0, 60.0]))
    >>> data = Microdata(np.array([[0], [1], [2], [2]], dtype=np.int32), (age,))
    >>> release = published(Table.of({"age": ["[20,30]", "[20,30]", "60", "60"]}), data)
    >>> found = measure_all(release, data, k=2)
    >>> found["dm"], found["c_avg"], found["gcp"], found["entropy"]
    (8, 1.0, 0.125, 0.5)
    """
    found = {}
    for name, part in catalogue("measure").items():
        measure: Measure = part(k=k) if "k" in option_names(part) else part()
        found[name] = measure.value(published, data)
    return found


def per_attribute(published: Published, data: Microdata) -> dict[str, dict[str, float]]:
    """For each attribute the measures that look at cells, as if it were the only attribute."""
    found: dict[str, dict[str, float]] = {attribute.name: {} for attribute in published.attributes}
    for name, part in catalogue("measure").items():
        if issubclass(part, CellMeasure):
            for column, value in part().by_attribute(published, data).items():
                found[column][name] = value
    return found


def _weights(names: Sequence[str], given: Mapping[str, float]) -> list[float]:
    strange = [name for name in given if name not in names]
    if strange:
        raise PolicyError(unknown("in the published table", strange, names))
    for name, weight in given.items():
        if not (isfinite(weight) and weight >= 0):
            raise PolicyError(f"the weight of {name} must be a number of at least 0, got {weight}")
    return [float(given.get(name, 1.0)) for name in names]


def _left_out(published: Published, data: Microdata, removed: str) -> int:
    """How many records to charge for being left out."""
    if published.attributes != data.attributes:
        raise TableError("the published table was read against another original than it is measured by")
    return len(data) - len(published) if removed == "charged" else 0


def _share(total: float, divisor: float) -> float:
    return total / divisor if divisor else 0.0


def _sides(column: MeasuredColumn) -> Costs:
    """Side length of each cell: its width where that means something, else its values beyond the first.

    Missing beside a range counts as one of the column's values: it makes the side longer by an even
    share of the domain, though never longer than the domain.
    """
    cells = column.cells
    if not column.by_width:
        return (cells.count - 1).astype(np.float64)
    width, span = cells.upper - cells.lower, column.attribute.span
    step = np.where(cells.missing & (cells.low >= 0), span / (len(column.attribute) - 1), 0.0)
    return np.maximum(width, np.minimum(span, width + step))


def _losses(column: MeasuredColumn) -> Costs:
    """Share of its domain that each cell covers: 0 for a single value, 1 for everything."""
    whole = column.attribute.span if column.by_width else len(column.attribute) - 1
    return np.minimum(_sides(column) / whole, 1.0)


def _covered(cells: CellCoverage, amount: Costs) -> Costs:
    """Sum of an amount per code over the codes of each cell."""
    running = np.concatenate([[0.0], np.cumsum(amount)])
    runs = running[cells.last + 1] - running[cells.first]
    return np.bincount(cells.owner, runs, len(cells)).astype(np.float64)
