"""A query workload as Mondrian's cuts need it: which codes each predicate allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from incrowd.errors import InputError, PolicyError, unknown
from incrowd.flow import Attribute
from incrowd.predicate import Predicate, ValueDomain

if TYPE_CHECKING:
    from incrowd.kernels.mondrian import Queries

FORM = 'workload = ["age BETWEEN 20 AND 40 AND sex = \'F\'", {where = "age <= 36", weight = 2}]'


@dataclass(frozen=True, slots=True)
class WeightedPredicate:
    """A condition that will be asked for, and how much it matters."""

    where: Predicate
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class WorkloadLimit:
    """The limit of the option `workload`."""

    def words(self) -> str:
        return "a list of conditions in SQL"

    def allows(self, value: object) -> bool:
        return isinstance(value, list | tuple)

    def bad_values(self) -> tuple[object, ...]:
        return ("age", 7, None)

    @staticmethod
    def read(value: object) -> tuple[WeightedPredicate, ...]:
        return read_workload(value)


def read_workload(option: object) -> tuple[WeightedPredicate, ...]:
    """Read the option `workload`: conditions in SQL, or tables with ``where`` and ``weight``.

    Raises
    ------
    PolicyError
        If it is anything else. No condition is quoted: it may name values of the table.

    Examples
    --------
    >>> [one.weight for one in read_workload(["age <= 36", {"where": "sex = 'F'", "weight": 2}])]
    [1.0, 2.0]
    """
    if not isinstance(option, list | tuple):
        raise PolicyError(f"workload must be a list of conditions in SQL: {FORM}")
    return tuple(_weighted(one, number) for number, one in enumerate(option, 1))


def _weighted(said: object, number: int) -> WeightedPredicate:
    from incrowd.predicate.sql import parse_where  # the parser of SQL is heavy, and few need it

    if isinstance(said, WeightedPredicate):
        return said
    table = {"where": said} if isinstance(said, str) else said
    if not isinstance(table, Mapping) or not isinstance(table.get("where"), str):
        raise PolicyError(f"condition {number} of the workload must be SQL: {FORM}")
    strange = sorted(set(table) - {"where", "weight"})
    if strange:
        raise PolicyError(unknown("in a workload", strange, ["where", "weight"]))
    weight = table.get("weight", 1)
    try:
        mass = -1.0 if isinstance(weight, bool) else float(str(weight))
    except ValueError:
        mass = -1.0
    if not 0 < mass < float("inf"):
        raise PolicyError(f"the weight of condition {number} of the workload must be a number above 0")
    try:
        return WeightedPredicate(parse_where(table["where"]), mass)
    except InputError as problem:
        raise PolicyError(f"condition {number} of the workload: {problem}") from None


def queries_of(workload: Sequence[WeightedPredicate], attributes: Sequence[Attribute]) -> Queries:
    """Prefix counts of the allowed codes of each predicate, for all attributes end to end."""
    from incrowd.kernels.mondrian import Queries

    domains = [ValueDomain.of(attribute) for attribute in attributes] if workload else []
    width = sum(len(attribute) + 1 for attribute in attributes)
    upto = np.zeros((len(workload), width), np.int32)
    edges: list[set[int]] = [set() for _ in attributes]
    for q, query in enumerate(workload):
        try:
            where = query.where.by_column([domain.name for domain in domains], "a quasi-identifier")
            allowed = [domain.satisfying(where.get(domain.name, ())) for domain in domains]
        except InputError as problem:
            raise PolicyError(f"condition {q + 1} of the workload: {problem}") from None
        upto[q] = np.concatenate([np.concatenate([[0], np.cumsum(mask)]) for mask in allowed])
        for found, mask in zip(edges, allowed, strict=True):
            found.update(np.flatnonzero(mask[1:] != mask[:-1]).tolist())
    return Queries(
        weight=np.array([query.weight for query in workload], np.float64),
        upto=upto,
        first_edge=np.concatenate([[0], np.cumsum([len(found) for found in edges])]).astype(np.int64),
        edges=np.array([code for found in edges for code in sorted(found)], np.int64),
    )
