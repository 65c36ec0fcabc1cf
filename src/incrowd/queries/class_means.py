"""Class means of a release: published decimals, known to half of their last place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import TextColumn
from incrowd.predicate import in_units
from incrowd.queries.columns import Wholes, wholes
from incrowd.values import read_number


@dataclass(frozen=True, slots=True, eq=False)
class ClassMeans:
    """Class means by distinct text, in units of 10^-scale; `half` is how far off they may be."""

    mean: Wholes
    known: NDArray[np.bool_]
    half: int
    scale: int


def read_means(column: TextColumn, name: str) -> ClassMeans:
    """Published means: a decimal each, or nothing where too few values are known."""
    read = [None if not text else read_number(text) for text in column.texts]
    if any(number is None and text for number, text in zip(read, column.texts, strict=True)):
        raise TableError(f"a published mean of {name} is no number")
    places = mean_decimals(column)
    return ClassMeans(
        wholes([0 if number is None else in_units(number, places + 1) for number in read]),
        np.array([number is not None for number in read], np.bool_),
        5,
        places + 1,
    )


def mean_decimals(column: TextColumn) -> int:
    """How many decimals means are written with, trailing zeros included."""
    return max((len(text.partition(".")[2]) for text in column.texts if text), default=0)
