"""What a builder of hierarchies is given: a column's values, and the words of the policy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

from incrowd.errors import HierarchyError, PolicyError
from incrowd.schema import EVERYTHING, Kind
from incrowd.values import EXACT, Number, Value, number_text, read_number, value_text

Label = Callable[[Value], str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request to a builder: the column's distinct values in order, and what the policy says.

    `holders` is how many persons have each value, where that is counted.
    """

    column: str
    kind: Kind
    values: Sequence[Value]
    spec: Mapping[str, object]
    holders: Mapping[str, int] = field(default_factory=dict)

    def wrong(self, what: str) -> PolicyError:
        return PolicyError(f"the hierarchy of {self.column}: {what}")

    def needs(self, *kinds: Kind) -> None:
        if self.kind not in kinds:
            raise self.wrong(f"{next(iter(self.spec))} is for {' and '.join(kinds)} columns, not {self.kind}")

    def list_of(self, key: str) -> Sequence[object]:
        found = self.spec.get(key)
        if not isinstance(found, list | tuple) or not found:
            raise self.wrong(f"{key} must be a list with at least one entry")
        return found

    def whole(self, key: str) -> list[int]:
        found = [n for n in self.list_of(key) if isinstance(n, int) and not isinstance(n, bool) and n > 0]
        if len(found) < len(self.list_of(key)):
            raise self.wrong(f"{key} must be a list of whole numbers of at least 1")
        return found

    def numbers(self, key: str, given: Sequence[object]) -> list[Number]:
        found = [read_number(str(n)) for n in given if isinstance(n, int | float | str | Decimal)]
        numbers = [n for n in found if n is not None]
        if len(numbers) < len(given):
            raise self.wrong(f"{key} must hold numbers only")
        return numbers

    def nested(self, key: str, sizes: Sequence[int]) -> None:
        if any(b <= a or b % a for a, b in pairwise(sizes)):
            raise self.wrong(f"each entry of {key} must be a larger multiple of the one before")

    def readable(self, what: str, label: Callable[[str], str | None]) -> None:
        """Refuse a column with values that are not what the builder is for."""
        strange = sum(label(str(value)) is None for value in self.values)
        if strange:
            raise HierarchyError(
                f"{strange} of the {len(self.values)} distinct values of {self.column} are no {what}; list "
                "those that mean missing under 'missing', or take another hierarchy"
            )

    def rows(self, labels: Sequence[Label]) -> list[tuple[str, ...]]:
        return [(value_text(v), *(label(v) for label in labels), EVERYTHING) for v in self.values]


@dataclass(frozen=True, slots=True)
class Grid:
    """Numbers as whole steps of the finest decimal place that occurs among them."""

    places: int

    @classmethod
    def of(cls, numbers: Iterable[Number]) -> Grid:
        return cls(max(0, *(-int(Decimal(n).as_tuple().exponent) for n in numbers)))

    def steps(self, value: Value) -> int:
        return int(EXACT.scaleb(Decimal(value), self.places))  # type: ignore[arg-type]  # numbers only

    def text(self, step: int) -> str:
        """A step with all its decimal places."""
        return format(EXACT.scaleb(Decimal(step), -self.places), "f")

    def label(self, low: int, high: int) -> str:
        """The closed interval between two steps."""
        if low == high:
            return number_text(EXACT.scaleb(Decimal(low), -self.places))
        return (" to " if low < 0 else "-").join((self.text(low), self.text(high)))


def rising(numbers: Sequence[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))
