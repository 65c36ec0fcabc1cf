"""Re-identification risk by equivalence classes: prosecutor and marketer risk, and who is unique."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import fsum  # the order of classes must not show
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Codes, Microdata, distinct_rows
from incrowd.measures.published import ClassSizes

Ints = NDArray[np.int64]
THRESHOLDS = (Fraction(1, 5), Fraction(1, 20))


@dataclass(frozen=True, slots=True)
class ReidentificationRisk:
    """How likely rows are linked to the right persons, by equivalence classes.

    The risk of a row is the share of its class's rows that are the same person's: 1/size where everybody has
    one row. A person's risk is the highest of their rows. ``highest`` and ``mean`` are over persons
    (prosecutor), ``marketer`` is the mean over rows: the expected share of right links if all are linked.
    ``unique`` are the persons with a row in a class of nobody else, ``above`` counts those whose risk is
    above each threshold. Of no rows there is no risk: ``highest``, ``mean`` and ``marketer`` are None.
    """

    rows: int
    persons: int
    classes: int
    highest: Fraction | None
    mean: float | None
    marketer: float | None
    unique: int
    above: tuple[tuple[Fraction, int], ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "persons": self.persons,
            "classes": self.classes,
            "unique": self.unique,
            "prosecutor": {
                "highest": None if self.highest is None else str(self.highest),
                "mean": self.mean,
                "above": {f"{float(limit):g}": persons for limit, persons in self.above},
            },
            "marketer": self.marketer,
        }


def reidentification_risk(
    labels: NDArray[np.integer],
    persons: NDArray[np.integer] | None = None,
    thresholds: Iterable[Fraction] = THRESHOLDS,
) -> ReidentificationRisk:
    """Prosecutor and marketer risk of rows, given the class of each (n,) and whose it is (n,).

    Without `persons` every row is another person's.

    Examples
    --------
    >>> risk = reidentification_risk(np.array([0, 0, 0, 1, 1, 2]))
    >>> str(risk.highest), risk.mean, risk.marketer, risk.unique
    ('1', 0.5, 0.5, 1)
    >>> risk.above
    ((Fraction(1, 5), 6), (Fraction(1, 20), 6))
    """
    who = np.arange(labels.size) if persons is None else persons
    if who.shape != labels.shape:
        raise TableError("risk needs the class of each row, and whose row each is")
    limits = tuple(thresholds)
    if not labels.size:
        return ReidentificationRisk(0, 0, 0, None, None, None, 0, tuple((limit, 0) for limit in limits))
    of, person = (np.unique(each, return_inverse=True)[1].astype(np.int64) for each in (labels, who))
    count = int(person.max()) + 1
    pairs, own = np.unique(of * count + person, return_counts=True)
    class_of, person_of = pairs // count, pairs % count
    size = np.bincount(of)[class_of]
    share = own / size  # floats keep the order of such small fractions; what is decided by them is not
    risk = np.zeros(count)
    np.maximum.at(risk, person_of, share)
    worst = int(np.argmax(share))
    alone = np.bincount(class_of)[class_of] == 1
    return ReidentificationRisk(
        rows=int(labels.size),
        persons=count,
        classes=int(of.max()) + 1,
        highest=Fraction(int(own[worst]), int(size[worst])),
        mean=fsum(risk) / count,
        marketer=fsum(own * share) / labels.size,
        unique=int(np.unique(person_of[alone]).size),
        above=tuple((limit, _above(limit, own, size, person_of)) for limit in limits),
    )


def risk_of_sizes(sizes: ClassSizes, thresholds: Iterable[Fraction] = THRESHOLDS) -> ReidentificationRisk:
    """The same from the sizes of classes alone, where everybody has one row.

    Examples
    --------
    >>> risk = risk_of_sizes(ClassSizes.of(np.array([3, 2, 1])))
    >>> str(risk.highest), risk.mean, risk.marketer, risk.unique
    ('1', 0.5, 0.5, 1)
    """
    pairs, limits = sizes.pairs, tuple(thresholds)
    rows = sum(size * classes for size, classes in pairs)
    if not rows:
        return reidentification_risk(np.zeros(0, np.int64), thresholds=limits)
    # what `fsum` gives for all rows: their risks as floats, added without rounding
    added = float(sum((Fraction(1 / size) * size * classes for size, classes in pairs), Fraction(0)))
    return ReidentificationRisk(
        rows=rows,
        persons=rows,
        classes=len(sizes),
        highest=Fraction(1, sizes.smallest),
        mean=added / rows,
        marketer=added / rows,
        unique=sum(classes for size, classes in pairs if size == 1),
        above=tuple(
            (limit, sum(size * classes for size, classes in pairs if Fraction(1, size) > limit))
            for limit in limits
        ),
    )


def _above(limit: Fraction, own: Ints, size: Ints, person: Ints) -> int:
    """How many persons have a row whose risk own/size is above the limit, exactly."""
    return int(np.unique(person[own * limit.denominator > size * limit.numerator]).size)


def exact_classes(data: Microdata) -> Ints:
    """The class of each record by its exact quasi-identifiers: before anything was generalized."""
    sizes = [len(attribute) for attribute in data.attributes]
    return distinct_rows(list(data.codes.T), sizes, len(data))[1]


def linked_by_others(labels: Codes | Ints, own: NDArray[np.bool_]) -> ReidentificationRisk:
    """Journalist risk of the rows that are `own` (n,), whose classes (n,) also hold people of a public table.

    Examples
    --------
    >>> risk = linked_by_others(np.array([0, 0, 0, 1, 1]), np.array([1, 0, 0, 1, 1], dtype=bool))
    >>> str(risk.highest), risk.persons, risk.unique
    ('1/2', 3, 0)
    """
    sizes = np.bincount(labels)[labels[own]]
    if not sizes.size:
        return reidentification_risk(np.zeros(0, np.int64))
    mean = fsum(1 / sizes) / sizes.size
    return ReidentificationRisk(
        rows=int(sizes.size),
        persons=int(sizes.size),
        classes=int(np.unique(labels[own]).size),
        highest=Fraction(1, int(sizes.min())),
        mean=mean,
        marketer=mean,
        unique=int((sizes == 1).sum()),
        above=tuple(
            (limit, int((sizes * limit.numerator < limit.denominator).sum())) for limit in THRESHOLDS
        ),
    )
