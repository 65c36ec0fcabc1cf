"""The methods of the catalogue by kind, and what must be accepted to publish by each."""

from __future__ import annotations

from typing import Any

from incrowd.algorithms.base import all_methods
from incrowd.policy.exposures import UNSAFE_ONE_SIDED

CROWDS = sorted(name for name, method in all_methods().items() if method.overlapping)
APART = sorted(name for name, method in all_methods().items() if method.exact_rows)
JOINS = sorted(name for name, method in all_methods().items() if method.joins)
PLAIN = [name for name, method in all_methods().items() if method.needs_plain]  # hide outliers
ALONE = [name for name in all_methods() if name not in (*JOINS, *PLAIN)]  # take one table, for any values
# What each must promise beside k. Three, so that classes of transparent may have any k that three divides.
BESIDE_K: dict[str, dict[str, Any]] = {
    name: {"l": 3} if method.needs_l else {} for name, method in all_methods().items()
}
PARTITIONS = sorted(set(ALONE) - set(CROWDS) - set(APART))
# A person may have several rows; where l holds against who re-runs the program, nobody may.
COUNT_PERSONS = [name for name in PARTITIONS if not all_methods()[name].transparent]
IN_ROWS = [name for name in ALONE if name not in APART]  # sensitive values stand in the rows
ONE_SIDED = [name for name in CROWDS if UNSAFE_ONE_SIDED in all_methods()[name](k=2).exposures()]
SAFE = [name for name in CROWDS if name not in ONE_SIDED]
ACCEPTED: dict[str, list[str]] = {
    **{name: [] for name in all_methods()},
    **{name: ["unsafe-one-sided"] for name in ONE_SIDED},
    **{name: ["exact-rows", "correlated-values"] for name in APART},
    "kja-refine-adaptive": ["unsafe-adaptive"],
}
