"""Interfaces of what can be plugged in (models, guards, limits of options), and the register of it all.

A part is a frozen dataclass whose numbers have limits that are data: the same object makes the check,
the message, the help text and the bad values of the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError
from incrowd.flow import Codes, Microdata, Partition
from incrowd.long_work import Progress
from incrowd.schema import Claim


@dataclass(frozen=True, slots=True)
class Limit:
    """A whole number of at least `low` (and at most `high`)."""

    low: int
    high: int | None = None

    def words(self) -> str:
        top = "" if self.high is None else f" and at most {self.high}"
        return f"a whole number of at least {self.low}{top}"

    def allows(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return value >= self.low and (self.high is None or value <= self.high)

    def bad_values(self) -> tuple[object, ...]:
        over = () if self.high is None else (self.high + 1,)
        return (self.low - 1, self.low + 0.5, "many", None, True, *over)


@dataclass(frozen=True, slots=True)
class Share:
    """An exact number between `low` and `high`, given as a decimal (text, whole number or float)."""

    low: Fraction
    high: Fraction | None
    low_included: bool = False

    def words(self) -> str:
        top = "" if self.high is None else f" and at most {self.high}"
        return f"a number {'of at least' if self.low_included else 'above'} {self.low}{top}"

    def allows(self, value: object) -> bool:
        try:
            number = exact(value)
        except ValueError:
            return False
        enough = number >= self.low if self.low_included else number > self.low
        return enough and (self.high is None or number <= self.high)

    def bad_values(self) -> tuple[object, ...]:
        over = () if self.high is None else (str(float(self.high) + 0.5),)
        return (str(float(self.low) - 0.5), "many", None, True, *over)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words_allowed: tuple[str, ...]

    def words(self) -> str:
        return "one of " + ", ".join(self.words_allowed)

    def allows(self, value: object) -> bool:
        return isinstance(value, str) and value in self.words_allowed

    def bad_values(self) -> tuple[object, ...]:
        return ("no-such-word", 7, None)


@dataclass(frozen=True, slots=True)
class Switch:
    """True or false."""

    def words(self) -> str:
        return "true or false"

    def allows(self, value: object) -> bool:
        return isinstance(value, bool)

    def bad_values(self) -> tuple[object, ...]:
        return ("yes", 1, None)


@dataclass(frozen=True, slots=True)
class ColumnWeights:
    """Numbers above 0 by the names of columns."""

    def words(self) -> str:
        return "numbers above 0 for columns, as {age = 2}"

    def allows(self, value: object) -> bool:
        pairs = value.items() if isinstance(value, Mapping) else value if isinstance(value, tuple) else None
        if pairs is None:
            return False
        return all(isinstance(name, str) and _above_zero(weight) for name, weight in pairs)

    def bad_values(self) -> tuple[object, ...]:
        return ("age", 7, None, {"age": 0}, {"age": "many"}, {"age": True})


def _above_zero(value: object) -> bool:
    try:
        return exact(value) > 0
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """Whole numbers of at least `low`: a list, or a text with commas between them."""

    low: int

    def words(self) -> str:
        return f"a list of whole numbers of at least {self.low}"

    def allows(self, value: object) -> bool:
        try:
            return all(number >= self.low for number in self.read(value))
        except ValueError:
            return False

    @staticmethod
    def read(value: object) -> tuple[int, ...]:
        """The numbers.

        Examples
        --------
        >>> WholeNumbers.read("1,0,2"), WholeNumbers.read([3]), WholeNumbers.read(3)
        ((1, 0, 2), (3,), (3,))
        """
        given = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else value
        if not isinstance(given, list | tuple) or any(isinstance(number, bool | float) for number in given):
            raise ValueError("no list of whole numbers")
        try:
            return tuple(int(number) for number in given)
        except TypeError as strange:
            raise ValueError("no list of whole numbers") from strange

    def bad_values(self) -> tuple[object, ...]:
        return ([self.low - 1], [self.low + 0.5], "many", [None], None, True)


class AnyLimit(Protocol):
    """What an option may be: the check, its words, and values that it refuses."""

    def words(self) -> str: ...

    def allows(self, value: object) -> bool: ...

    def bad_values(self) -> tuple[object, ...]: ...


# No 1/3, which no decimal text can say, and no exponent that would fill the memory with zeros.
_DECIMAL = re.compile(r"[+-]?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?")


def exact(value: object) -> Fraction:
    """Read a decimal exactly as it was written: 0.1 is one tenth, not the nearest binary number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("not a number")
    if not _DECIMAL.fullmatch(str(value)):
        raise ValueError("not a decimal")
    return Fraction(str(value))


class Limited:
    """A dataclass that checks its fields against `limits` at birth."""

    limits: ClassVar[Mapping[str, AnyLimit]] = {}

    def __post_init__(self) -> None:
        for name, limit in self.limits.items():
            value = getattr(self, name)
            if not limit.allows(value):
                shown = value if isinstance(value, int | float | str) else type(value).__name__
                raise PolicyError(f"{type(self).__name__}: {name} must be {limit.words()}, got {shown}.")


@runtime_checkable
class Guard(Protocol):
    """A veto on groups: an algorithm makes no group that a guard does not allow."""

    def allows(self, rows: NDArray[np.int32]) -> bool:
        """May these records (indices) be a group of their own?"""
        ...


@runtime_checkable
class Rule(Guard, Protocol):
    """A guard that can also say how far a class goes."""

    def reached(self, rows: NDArray[np.int32]) -> int | float | Fraction:
        """The strongest parameter that these records keep; a float is for display only."""
        ...


@runtime_checkable
class SizedGuard(Guard, Protocol):
    """A guard that can say how many records of a group are enough, whichever of them they are."""

    def enough(self, rows: NDArray[np.int32]) -> int:
        """A part of these records (indices) that has so many is allowed; more than there are if none is."""
        ...


@runtime_checkable
class Eligible(Rule, Protocol):
    """A guard against frequent values: none may be behind more than 1/l of a group.

    It names what it counts, for algorithms that look for such groups instead of waiting for a veto.
    """

    @property
    def codes(self) -> Codes:
        """The value of each record (n,), numbered 0..size-1 without gaps."""
        ...

    @property
    def size(self) -> int: ...

    @property
    def l(self) -> int: ...  # noqa: E743  the paper's letter


@runtime_checkable
class Plainness(Guard, Protocol):
    """A guard against groups that disclose outliers.

    Its veto is about the number of different sensitive values alone. A large group is often not plain though
    parts of it are, so that plainness is no reason to stop cutting: groups are repaired at the end.
    """

    @property
    def space(self) -> Any:
        """The table as points, among which outliers are found."""
        ...

    def plain(self, rows: NDArray[np.int32]) -> bool:
        """Would these records (indices) as a group disclose no outlier?"""
        ...


class Partitioner(Protocol):
    """Makes equivalence classes, whatever else it is."""

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition: ...


@runtime_checkable
class Promise(Protocol):
    """What a release promises."""

    name: ClassVar[str]  # as registered, and as in the manifest

    def claims(self, data: Microdata) -> tuple[Claim, ...]:
        """What the release may say about itself."""
        ...

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        """What an algorithm must respect beyond its own k."""
        ...

    def infeasible(self, data: Microdata) -> str:
        """Why no release of this table can keep the promise; empty if it can."""
        ...


@runtime_checkable
class Model(Promise, Protocol):
    """A promise about every class of a release."""

    monotone: ClassVar[bool]  # does merging two classes that keep it give a class that keeps it?
    more_is_safer: ClassVar[bool]  # of what `reached` says: a large l is safe, a large t is not

    def rule(self, data: Microdata) -> Rule:
        """What every class must keep."""
        ...


Part = TypeVar("Part")
_CATALOGUE: dict[str, dict[str, Any]] = {}


def register(family: str, name: str) -> Callable[[Part], Part]:
    """Enter a class into the catalogue under a name that policies use; it is its `name` from then on."""

    def enter(part: Part) -> Part:
        known = _CATALOGUE.setdefault(family, {})
        if name in known:
            raise ValueError(f"{family} {name} is registered twice")
        known[name] = part
        if isinstance(part, type):
            part.name = name  # type: ignore[attr-defined]
        return part

    return enter


def catalogue(family: str) -> Mapping[str, Any]:
    """Every registered part of a family, by name."""
    return dict(_CATALOGUE.get(family, {}))


def option_names(part: Any) -> tuple[str, ...]:
    """The names of a part's fields: the options a policy may set."""
    return tuple(field.name for field in fields(part))
