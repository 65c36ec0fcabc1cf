"""The methods of the catalogue by kind, and what must be accepted to publish by each."""

from __future__ import annotations

from incrowd.algorithms.catalogue import METHODS
from incrowd.policy.exposures import UNSAFE_ONE_SIDED

CROWDS = sorted(name for name, method in METHODS.items() if method.overlapping)
APART = sorted(name for name, method in METHODS.items() if method.exact_rows)
JOINS = sorted(name for name, method in METHODS.items() if method.joins)
NEED_L = [name for name, method in METHODS.items() if method.transparent and not method.overlapping]
PLAIN = [name for name, method in METHODS.items() if method.needs_plain]  # hide outliers
ALONE = [name for name in METHODS if name not in (*JOINS, *PLAIN, *NEED_L)]  # take k and nothing else
PARTITIONS = sorted(set(ALONE) - set(CROWDS) - set(APART))
IN_ROWS = [name for name in ALONE if name not in APART]  # sensitive values stand in the rows
ONE_SIDED = [name for name in CROWDS if UNSAFE_ONE_SIDED in METHODS[name](k=2).exposures()]
SAFE = [name for name in CROWDS if name not in ONE_SIDED]
ACCEPTED: dict[str, list[str]] = {
    **{name: [] for name in METHODS},
    **{name: ["unsafe-one-sided"] for name in ONE_SIDED},
    **{name: ["exact-rows", "correlated-values"] for name in APART},
}
