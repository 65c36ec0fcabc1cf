"""`methods`: the catalogue of methods, with what each promises, against whom, and what it does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from incrowd.algorithms.base import Algorithm
from incrowd.algorithms.catalogue import METHODS
from incrowd.results import Result, Row


class Methods(Result, Mapping[str, type[Algorithm]]):
    """Every method by its name."""

    def __getitem__(self, name: str) -> type[Algorithm]:
        return METHODS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(METHODS)

    def __len__(self) -> int:
        return len(METHODS)

    def headline(self) -> str:
        return f"{len(self)} methods: {', '.join(self)}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return ("method", "promises", "needs"), ((m.name, m.guarantee, m.needs) for m in METHODS.values())

    def to_dict(self) -> dict[str, Any]:
        return {name: method.to_dict() for name, method in METHODS.items()}


def methods() -> Methods:
    """The catalogue of methods, as a mapping by name."""
    return Methods()
