"""Evaluating a predicate on the distinct values of a column: codes to a mask, value by value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge, gt, le, lt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.flow import Attribute
from incrowd.predicate.condition import Condition, quantity
from incrowd.schema import Kind
from incrowd.values import Value, read_texts

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


def check_measured(name: str, kind: Kind) -> None:
    """Refuse to add up or to order what lies on no line."""
    if kind not in (Kind.NUMERIC, Kind.DATE):
        raise InputError(f"{name} is {kind}; only numbers and dates have an order here")


@dataclass(frozen=True, slots=True, eq=False)
class ValueDomain:
    """The distinct values of a column by code, None where missing, and the codes under each label.

    Examples
    --------
    >>> age = ValueDomain("age", Kind.NUMERIC, [20, 35, None])
    >>> from incrowd.predicate.sql import parse_where
    >>> age.satisfying(parse_where("age < 36 AND age <> 20").conditions).tolist()
    [False, True, False]
    """

    name: str
    kind: Kind
    values: Sequence[Value | None]
    labels: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, attribute: Attribute) -> ValueDomain:
        """The domain of a quasi-identifier; inner nodes of its hierarchy are labels."""
        read = read_texts(attribute.texts, attribute.kind)
        values = [None if code == attribute.missing else value for code, value in enumerate(read)]
        labels = {}
        if attribute.tree is not None:
            leaves = set(attribute.tree.leaves)
            labels = {label: codes for label, codes in attribute.tree.under().items() if label not in leaves}
        return cls(attribute.name, attribute.kind, values, labels)

    def __len__(self) -> int:
        return len(self.values)

    def satisfying(self, conditions: Sequence[Condition]) -> NDArray[np.bool_]:
        """Which codes satisfy all conditions: (m,). A missing value satisfies none."""
        mask = np.ones(len(self), np.bool_)
        for one in conditions:
            mask &= self._satisfying(one)
        return mask

    def _satisfying(self, one: Condition) -> NDArray[np.bool_]:
        if one.by_name:
            chosen = {code for text in one.literals for code in self._named(text)}
            wanted = one.operator != "<>"
            by_code = [(code in chosen) is wanted for code in range(len(self))]
        else:
            check_measured(self.name, self.kind)
            ends = [quantity(text, self.kind, self.name) for text in one.literals]
            by_code = [value is not None and _ordered(value, one.operator, ends) for value in self.values]
        known = zip(by_code, self.values, strict=True)
        return np.array([yes and value is not None for yes, value in known], np.bool_)

    def _named(self, text: str) -> Sequence[int]:
        """The codes that a literal stands for: those under a label, or one value."""
        if text in self.labels:
            return self.labels[text]
        (value,) = read_texts([text], self.kind)
        return [code for code, own in enumerate(self.values) if own == value]


def _ordered(value: Value, operator: str, ends: Sequence[Any]) -> bool:
    if operator == "BETWEEN":
        return bool(ends[0] <= value <= ends[1])
    return _ORDER[operator](value, ends[0])
