"""What a reader of typed values hands over before they become texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TypedRows:
    """Column names, rows of values, and what was taken for what."""

    names: Sequence[str]
    rows: Iterable[Sequence[Any]]
    notes: Sequence[str] = ()
