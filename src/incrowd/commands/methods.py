"""`methods`: the catalogue of methods, with what each promises, against whom, and what it does not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from incrowd.algorithms.base import Algorithm, all_methods
from incrowd.results import Result, Row


class Methods(Result, Mapping[str, type[Algorithm]]):
    """Every method by its name."""

    def __getitem__(self, name: str) -> type[Algorithm]:
        return all_methods()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(all_methods())

    def __len__(self) -> int:
        return len(all_methods())

    def headline(self) -> str:
        return f"{len(self)} methods: {', '.join(self)}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return ("method", "promises", "needs"), ((m.name, m.guarantee, m.needs) for m in self.values())

    def to_dict(self) -> dict[str, Any]:
        return {name: method.to_dict() for name, method in all_methods().items()}


def methods() -> Methods:
    """The catalogue of methods, as a mapping by name."""
    return Methods()
