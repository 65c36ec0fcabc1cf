"""Hierarchies that a policy describes in a line, said once more: the labels that each value must have.

The publisher builds the levels; here every label is worked out again from the line alone, value by value, so
that a value under a wrong label is found even though both sides would read the same rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any

from incrowd.schema import Column, Kind
from incrowd.verifier.failure import CheckFailed, require
from incrowd.verifier.values import decimal_text, number, places, value, written

Labels = Callable[[str], list[str]]
Chapter = tuple[str, str]

# The first and the last category of each chapter of ICD-10, with those that clinical modifications added.
CHAPTERS: tuple[Chapter, ...] = (
    ("A00", "B99"), ("C00", "D49"), ("D50", "D89"), ("E00", "E90"), ("F00", "F99"),
    ("G00", "G99"), ("H00", "H59"), ("H60", "H95"), ("I00", "I99"), ("J00", "J99"),
    ("K00", "K95"), ("L00", "L99"), ("M00", "M99"), ("N00", "N99"), ("O00", "O9A"),
    ("P00", "P96"), ("Q00", "Q99"), ("R00", "R99"), ("S00", "T98"), ("U00", "U99"),
    ("V00", "Y99"), ("Z00", "Z99"),
)  # fmt: skip


def check_built(column: Column, holders: Mapping[str, int] | None = None) -> None:
    """Every value of a hierarchy that was built has exactly the labels that its line in the policy gives it.

    `holders` is how many persons of the original have each value; None if nobody counted, where a hierarchy
    that depends on it is refused.
    """
    if not column.built:
        return
    line = _LineOfPolicy(column, holders)
    for row in column.levels:
        expected = line.labels(row[0])
        same = len(row) in (len(expected) + 1, len(expected) + 2) and all(
            got in (label, f"{label} (level {height})")
            for height, (got, label) in enumerate(zip(row[1:], expected, strict=False), 1)
        )
        require(same, f"column {column.name}: the hierarchy is not the one that the policy describes")


class _LineOfPolicy:
    """The line `built` of a column: what it makes of each value."""

    def __init__(self, column: Column, holders: Mapping[str, int] | None) -> None:
        self.column, self.line, self.holders = column, column.built, holders
        self.leaves = [row[0] for row in column.levels]
        builders: dict[str, Callable[[], Labels]] = {
            "prefix": self._prefix,
            "mask": self._mask,
            "intervals": self._intervals,
            "digits": self._digits,
            "cuts": self._cuts,
            "dates": self._dates,
            "ordered": self._ordered,
            "postcodes": self._postcodes,
            "icd10": self._icd10,
            "rare": self._rare,
            "flat": lambda: lambda _: [],
        }
        known = [name for name in self.line if name in builders]
        if len(known) != 1:
            raise CheckFailed(f"column {column.name}: nobody knows how its hierarchy was built")
        self.labels = builders[known[0]]()

    # Texts

    def _prefix(self) -> Labels:
        longest = max(map(len, self.leaves))
        return lambda text: [
            text if len(text) <= n else text[:n] + "_" * (longest - n) for n in self.line["prefix"]
        ]

    def _mask(self) -> Labels:
        return lambda text: [
            "".join("_" if place >= len(text) - n else char for place, char in enumerate(text))
            for n in self.line["mask"]
        ]

    def _ordered(self) -> Labels:
        given = [str(text) for text in self.line["ordered"]]
        values = given if self.column.kind is Kind.CATEGORICAL else [written(self._meaning(t)) for t in given]

        def labels(text: str) -> list[str]:
            place = values.index(text)
            found = []
            for size in self.line["groups"]:
                group = [values[i] for i in range(len(values)) if i // size == place // size]
                found.append(group[0] if len(group) == 1 else f"{group[0]}..{group[-1]}")
            return found

        return labels

    def _meaning(self, text: str) -> Any:
        return text if self.column.kind is Kind.ORDERED else value(self.column, text)

    def _postcodes(self) -> Labels:
        def labels(text: str) -> list[str]:
            bare = "".join(text.split()).upper()
            inward = re.search(r"[0-9][A-Z]{2}$", bare)
            outward = bare[: inward.start()] if inward and inward.start() >= 2 else bare
            area = outward[:2] if outward[1:2].isalpha() else outward[:1]
            whole = re.fullmatch(r"[A-Z]{1,2}[0-9][0-9A-Z]?", outward)
            require(whole is not None, "a value is no British postcode")
            return [{"outward": outward, "area": area}[part] for part in self.line["postcodes"]]

        return labels

    def _icd10(self) -> Labels:
        def labels(text: str) -> list[str]:
            disease = text.strip().upper()[:3]
            inside = [f"{low}-{high}" for low, high in CHAPTERS if low <= disease]
            require(re.fullmatch(r"[A-Z][0-9][0-9A-Z]", disease) is not None, "a value is no code of ICD-10")
            return [{"category": disease, "chapter": inside[-1]}[part] for part in self.line["icd10"]]

        return labels

    def _rare(self) -> Labels:
        holders = self.holders
        if holders is None:
            raise CheckFailed(f"column {self.column.name}: nobody may count who has which of its values")
        return lambda text: [text if holders.get(text, 0) >= self.line["rare"] else "Other"]

    # Numbers: all ends are multiples of the finest decimal place that occurs

    def _unit(self, *more: Any) -> int:
        return max(places(n if isinstance(n, Fraction) else number(str(n))) for n in [*self.leaves, *more])

    def _intervals(self) -> Labels:
        widths = [Fraction(number(str(width))) for width in self.line["intervals"]]
        origin, top = number(str(self.line.get("origin", 0))), self.line.get("top")
        digits = self._unit(*self.line["intervals"], origin, *([] if top is None else [top]))

        def labels(text: str) -> list[str]:
            found = []
            for width in widths:
                low = origin + floor((number(text) - origin) / width) * width
                above = number(text) if top is None else number(str(top))
                last = origin + floor((above - origin) / width) * width
                if top is not None and low >= last:
                    found.append(f"{decimal_text(last, digits)}+")
                else:
                    found.append(_between(low, low + width - Fraction(1, 10**digits), digits))
            return found

        return labels

    def _digits(self) -> Labels:
        digits = self._unit()

        def labels(text: str) -> list[str]:
            exact = number(text)
            shown = decimal_text(max(exact, -exact), digits).replace(".", "").lstrip("0")
            found = []
            for keep in self.line["digits"]:
                hidden = len(shown) - keep
                if hidden <= 0 or not shown:
                    found.append(written(exact))
                    continue
                low = shown[:keep] + "0" * hidden if keep else "1" + "0" * (hidden - 1)
                high = shown[:keep] + "9" * hidden
                near, far = Fraction(int(low), 10**digits), Fraction(int(high), 10**digits)
                ends = (near, far) if exact > 0 else (-far, -near)
                found.append(_between(ends[0], ends[1], digits))
            return found

        return labels

    def _cuts(self) -> Labels:
        levels = [[Fraction(number(str(n))) for n in level] for level in self.line["cuts"]]
        digits = self._unit(*(n for level in self.line["cuts"] for n in level))

        def labels(text: str) -> list[str]:
            found = []
            for level in levels:
                low = max(n for n in level[:-1] if n <= number(text))
                high = level[level.index(low) + 1]
                high -= Fraction(1, 10**digits) if high != level[-1] else 0
                found.append(_between(low, high, digits))
            return found

        return labels

    # Days

    def _dates(self) -> Labels:
        def labels(text: str) -> list[str]:
            year, month, _ = (int(part) for part in text.split("-"))
            return [_span(str(span), text, year, month) for span in self.line["dates"]]

        return labels


def _between(low: Fraction, high: Fraction, digits: int) -> str:
    if low == high:
        return written(low)
    return f"{decimal_text(low, digits)}{' to ' if low < 0 else '-'}{decimal_text(high, digits)}"


def _span(span: str, text: str, year: int, month: int) -> str:
    several = re.fullmatch(r"([0-9]+) years", span)
    if several:
        first = year - year % int(several[1])
        return f"{first:04d}-{first + int(several[1]) - 1:04d}" if int(several[1]) > 1 else f"{year:04d}"
    words: Sequence[tuple[str, str]] = (
        ("day", text),
        ("month", f"{year:04d}-{month:02d}"),
        ("quarter", f"{year:04d}-Q{-(-month // 3)}"),
        ("year", f"{year:04d}"),
        ("decade", f"{year // 10:03d}0s"),
    )
    return dict(words)[span]
