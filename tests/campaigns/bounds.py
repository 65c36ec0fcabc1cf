"""Lower bounds on information loss: none is above what is possible, found by trying everything.

Each case is a tiny table with columns of any kind: hierarchies, families, missing values. Its best classes,
its best rows that fit k records and, of few records, its best k-regular rows are found by brute force, in
fractions; and some method's classes, which cannot be better than the best.
"""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

from campaigns.campaign import Campaign, Fault
from support.bounded_tables import BoundedTable, bounded_table
from support.method_names import PARTITIONS
from twins import bounds as naive

from incrowd.algorithms.base import all_methods, method
from incrowd.errors import PolicyError
from incrowd.flow import Partition
from incrowd.generalize import generalize
from incrowd.long_work import silent
from incrowd.measures import measure_all, published_from_regions
from incrowd.measures.bounds import CLASSES, QUICK, ROWS, TIGHT, loss_bound

METHODS = [name for name in PARTITIONS if not all_methods()[name].needs_l]
REGULAR = 5  # records up to which all regular rows are tried
SAME = 1e-9


def case(rng: random.Random, _: Path) -> str:
    k = rng.randint(2, 4)
    table = bounded_table(rng, rng.randint(k, 10))
    chosen = rng.choice(METHODS)
    lost = sum(len(attribute) > 1 for attribute in table.attributes)
    whole = Fraction(lost, len(table.attributes))
    classes, rows = naive.best_classes(table.costs, k), naive.best_rows(table.costs, k)
    best = {
        CLASSES: [classes, naive.best_classes(table.costs, k, whole)],
        ROWS: [classes, rows],
    }
    if len(table.records) <= REGULAR and k < 4:
        best[CLASSES].append(naive.best_regular(table.costs, k))
    for effort in (QUICK, TIGHT):
        for kind, possible in best.items():
            least = loss_bound(table.data, k, effort, kind).least
            if least is None or not 0 <= least <= min(possible):
                raise Fault("bound above what is possible", f"{effort}, {kind}: {least} > {min(possible)}")
    return _with_method(table, k, chosen, classes)


def _with_method(table: BoundedTable, k: int, chosen: str, classes: Fraction) -> str:
    """A method's classes lose no less than the best; else the best are not."""
    try:
        found = method(chosen).configured(k, {}).group(table.data, (), silent)
    except PolicyError:
        return "bounded; the method takes no such columns"
    if not isinstance(found, Partition):
        raise Fault("no classes", chosen)
    shown = published_from_regions(generalize(table.data, found), table.attributes)
    if measure_all(shown, table.data, k)["gcp"] < float(classes) - SAME:
        raise Fault("a method below the best classes", chosen)
    return "bounded, and so is a method"


BOUNDS = Campaign(
    "lower bounds on the loss",
    "0 above what is possible",
    case,
    nightly=2_000,
    in_ci=12,
)
