"""A workload of queries as cuts see it: which codes each query allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError, unknown
from incrowd.flow import Attribute
from incrowd.schema import Shape

if TYPE_CHECKING:
    from incrowd.kernels.mondrian import Queries


@dataclass(frozen=True)
class Query:
    """A conjunction of conditions and how much it matters.

    `where` gives for a column either ``(low, high)``, a closed interval of numbers or ISO dates, or the
    list of values that match.
    """

    where: Mapping[str, Sequence[str]]
    weight: float = 1.0

    @classmethod
    def from_option(cls, option: object) -> Query:
        """Read ``{where = {age = {from = 20, to = 40}, sex = ["F"]}, weight = 2}``."""
        if not isinstance(option, Mapping) or not isinstance(option.get("where"), Mapping):
            raise PolicyError("each query of a workload needs a table 'where' with its conditions")
        extra = set(option) - {"where", "weight"}
        if extra:
            raise PolicyError(unknown("in a query", sorted(extra), ["where", "weight"]))
        where = {name: _condition(name, condition) for name, condition in option["where"].items()}
        weight = option.get("weight", 1)
        try:
            mass = float(str(weight))
        except ValueError:
            mass = -1.0
        if isinstance(weight, bool) or not 0 < mass < float("inf"):
            raise PolicyError("the weight of a query must be a number above 0")
        return cls(where, mass)


@dataclass(frozen=True, slots=True)
class QueryList:
    """The limit of an option that is a list of queries."""

    def words(self) -> str:
        return "a list of queries"

    def allows(self, value: object) -> bool:
        return isinstance(value, list | tuple)

    @staticmethod
    def read(value: Iterable[object]) -> tuple[Query, ...]:
        return tuple(each if isinstance(each, Query) else Query.from_option(each) for each in value)

    def bad_values(self) -> tuple[object, ...]:
        return ("age", 7, None)


def _condition(name: str, condition: object) -> Sequence[str]:
    if isinstance(condition, Mapping) and set(condition) == {"from", "to"}:
        return (str(condition["from"]), str(condition["to"]))
    if isinstance(condition, list) and condition:
        return [str(value) for value in condition]
    raise PolicyError(f"the condition on {name} must be {{from = …, to = …}} or a list of values")


def queries_of(workload: Iterable[Query], attributes: Sequence[Attribute]) -> Queries:
    """Prefix counts of the allowed codes of each query, for all attributes end to end."""
    from incrowd.kernels.mondrian import Queries

    workload = tuple(workload)
    names = [attribute.name for attribute in attributes]
    width = sum(len(attribute) + 1 for attribute in attributes)
    upto = np.zeros((len(workload), width), np.int32)
    edges: list[set[int]] = [set() for _ in attributes]
    for q, query in enumerate(workload):
        strange = [name for name in query.where if name not in names]
        if strange:
            raise PolicyError(unknown("a quasi-identifier", strange, names))
        allowed = [_allowed(attribute, query.where.get(attribute.name)) for attribute in attributes]
        upto[q] = np.concatenate([np.concatenate([[0], np.cumsum(mask)]) for mask in allowed])
        for found, mask in zip(edges, allowed, strict=True):
            found.update(np.flatnonzero(mask[1:] != mask[:-1]).tolist())
    return Queries(
        weight=np.array([query.weight for query in workload], np.float64),
        upto=upto,
        first_edge=np.concatenate([[0], np.cumsum([len(found) for found in edges])]).astype(np.int64),
        edges=np.array([code for found in edges for code in sorted(found)], np.int64),
    )


def _allowed(attribute: Attribute, condition: Sequence[str] | None) -> NDArray[np.bool_]:
    """Which codes a condition allows; missing matches no condition."""
    if condition is None:
        return np.ones(len(attribute), np.bool_)
    if isinstance(condition, tuple) and attribute.shape is Shape.RANGE:
        return _between(attribute, condition)
    wanted = set(condition)
    if isinstance(condition, tuple):
        raise PolicyError(f"{attribute.name} is no range: its condition must be a list of values")
    mask = np.array([text in wanted for text in attribute.texts], np.bool_)
    if attribute.missing >= 0:
        mask[attribute.missing] = False
    return mask


def _between(attribute: Attribute, ends: tuple[str, ...]) -> NDArray[np.bool_]:
    mask = np.zeros(len(attribute), np.bool_)
    low, high = (_sortable(end, attribute.name) for end in ends)
    for code, text in enumerate(attribute.texts):
        if code != attribute.missing:
            mask[code] = low <= _sortable(text, attribute.name) <= high
    return mask


def _sortable(text: str, name: str) -> Decimal:
    """Numbers as they are, ISO dates as yyyymmdd: enough to compare."""
    try:
        return Decimal(text.replace("-", "") if text.count("-") == 2 else text)
    except InvalidOperation:
        raise PolicyError(f"a condition on {name} has an end that is neither a number nor a date") from None
