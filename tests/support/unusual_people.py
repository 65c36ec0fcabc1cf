"""A town in which a few people are unusual, so that leaving some of them out pays for every method."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from incrowd.flow import Table
from incrowd.policy import Policy

K = 4


def town(n: int = 120, seed: int = 3) -> Table:
    """Most are young and earn little; every fortieth is anything."""
    rng = random.Random(seed)
    ages = [rng.randint(20, 30) if i % 40 else rng.randint(60, 99) for i in range(n)]
    pay = [rng.randint(1, 9) * 100 if i % 40 else rng.randint(1, 90) * 1000 for i in range(n)]
    return Table.of(
        {
            "age": [str(age) for age in ages],
            "pay": [str(each) for each in pay],
            "sex": [rng.choice("FM") for _ in range(n)],
            "ill": [rng.choice(["flu", "gout", "cold"]) for _ in range(n)],
        }
    )


def asked(method: str = "mondrian", share: str = "0.05", **more: Any) -> Policy:
    """A policy for it; without a share everybody has a row."""
    privacy = {"k": K, **({"max_suppression": share} if share else {}), **more.pop("privacy", {})}
    quasi = {"age": {"type": "numeric"}, "pay": {"type": "numeric"}, "sex": {"type": "categorical"}}
    return Policy(quasi_identifiers=quasi, sensitive=["ill"], method=method, privacy=privacy, **more)


def values_along(table: Table, column: str) -> Table:
    """The same people, whose values follow a column, so that l and t forbid most cuts of it."""
    texts = [float(text or 0) for text in table.column(column).rows()]
    rank = np.argsort(np.argsort(texts, kind="stable"))
    columns = {name: table.column(name).rows() for name in table.names}
    columns["ill"] = [("flu", "gout", "cold")[3 * place // len(table)] for place in rank.tolist()]
    return Table.of(columns)
