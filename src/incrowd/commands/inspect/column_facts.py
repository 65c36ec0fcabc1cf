"""What is counted in a column before its role is suggested: kinds, missing values, lengths, patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from incrowd.commands.inspect import names
from incrowd.commands.inspect.patterns import pattern_of
from incrowd.commands.inspect.roles import Facts
from incrowd.flow import Codes, TextColumn
from incrowd.schema import Kind
from incrowd.values import Ambiguous, Reading, read_texts, reading_of


def counted_texts(
    column: TextColumn, means_missing: frozenset[str]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """How many rows have each text, and which texts mean missing."""
    counts = column.counts
    missing = np.zeros(len(column.texts), np.bool_)
    for met in {None, *means_missing}.intersection(column.texts):
        missing[column.texts.index(met)] = True
    return counts, missing


def texts_at(column: TextColumn, real: NDArray[np.bool_]) -> list[str]:
    """The distinct texts of a column that are marked."""
    some = column.texts if real.all() else [column.texts[code] for code in np.flatnonzero(real).tolist()]
    return [text or "" for text in some]


def numbered_values(column: TextColumn, means_missing: frozenset[str]) -> Codes:
    """The column's values numbered without gaps; all that means missing is one value."""
    counts, missing = counted_texts(column, means_missing)
    real = (counts > 0) & ~missing
    number = np.where(real, np.cumsum(real), 0).astype(np.int32)
    return number[column.codes]


def facts_of(name: str, column: TextColumn, means_missing: frozenset[str]) -> Facts:
    counts, missing = counted_texts(column, means_missing)
    real = (counts > 0) & ~missing
    texts = texts_at(column, real)
    reading = _by_days(reading_of(texts, name))
    kind = reading.kind
    lengths = list(map(len, texts)) or [0]
    signs = "".join(texts)
    return Facts(
        name=name,
        kind=kind,
        rows=len(column),
        missing=int(counts[missing].sum()),
        distinct=len(texts),
        once=int((counts[real] == 1).sum()),
        shortest=min(lengths),
        longest=max(lengths),
        mean_length=sum(lengths) / len(lengths),
        consecutive=len(texts) == len(column) > 1 and _consecutive(texts, reading),
        pattern=pattern_of(texts),
        spaced=" " in signs and 2 * sum(" " in text.strip() for text in texts) > len(texts),
        reading=reading,
        decimal="." in signs or "," in signs,
        middle=_median(texts, counts[real], reading) if names.is_a_weight(name) else None,
    )


def _by_days(reading: Reading | Ambiguous) -> Reading | Ambiguous:
    """Moments whose day is certain are read as days; the policy states it, so nobody is surprised."""
    if isinstance(reading, Ambiguous) and reading.day_is_certain:
        return replace(reading.readings[0], note="times of day left out, though they differ")
    return reading


def _median(texts: Sequence[str], counts: NDArray[np.int64], reading: Reading | Ambiguous) -> float | None:
    if reading.kind is not Kind.NUMERIC:
        return None
    read = read_texts(texts, reading.kind, reading.notation)
    numbers = np.array([float(number) for number in read])  # type: ignore[arg-type]
    order = np.argsort(numbers)
    return float(numbers[order][np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)])


def _consecutive(texts: Sequence[str], reading: Reading | Ambiguous) -> bool:
    if reading.kind is not Kind.NUMERIC:
        return False
    numbers = [
        number for number in read_texts(texts, reading.kind, reading.notation) if isinstance(number, int)
    ]
    return len(set(numbers)) == len(texts) and max(numbers) - min(numbers) == len(texts) - 1
