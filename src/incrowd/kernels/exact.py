"""Sums of fractions, compared exactly: by floats, and digit by digit where these are too near.

Widths of columns are whole numbers in the column's own unit, and count as shares of its span. Sums of such
shares have a common denominator that may be larger than any machine's number, so it is never made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from incrowd.kernels.arrays import Floats, Ints
from incrowd.kernels.jit import borrowed, kernel

ROWS = 8  # of widths in one sum


class Spans(NamedTuple):
    """The span of each column (d,), whole and positive, and what a width of 1 counts.

    Where the common denominator is small, that is a whole number, sums of floats are exact, and `slack` is 0.
    Otherwise it is one over the span; two sums that differ by more than `slack` in floats are in this order,
    times the sum of the weights, if shares are weighted. `shift` is how many bits a digit has, and `digits`
    how many of them tell every sum from 0. `widths` (ROWS, d) with their `times` (ROWS,) are room for a sum.
    """

    span: Ints
    share: Floats
    slack: float
    shift: int
    digits: int
    widths: Ints
    times: Ints


@kernel
@borrowed
def sign(rows: int, spans: Spans) -> Any:
    """Is the sum of the first rows of widths, each so many times and by span, above 0 (1), 0, or below (-1)?

    Asked where floats are too near to tell; if these are exact, it is 0. Otherwise by long division: `total`
    counts units of the last digit, and what is left over of each width is less than a unit, so that all of
    them together are less than `rest`. Widths are used up.
    """
    widths, times, span = spans.widths, spans.times, spans.span
    total, rest = np.int64(0), np.int64(0)
    for digit in range(spans.digits + 1 if spans.slack else 0):
        shift = spans.shift if digit else 0
        total <<= shift
        rest = np.int64(0)
        for t in range(rows):
            for j in range(span.size):
                if widths[t, j]:
                    scaled = widths[t, j] << shift
                    whole = scaled // span[j]
                    widths[t, j] = scaled - whole * span[j]
                    total += times[t] * whole
                    if widths[t, j]:
                        rest += abs(times[t])
        if rest == 0 or abs(total) >= rest:
            return 0 if total == 0 else 1 if total > 0 else -1
    return 0


@kernel
@borrowed
def compare_rows(spans: Spans) -> Any:
    """Is the sum of the first row of widths less than that of the second (-1), equal (0), or more (1)?

    What is equal in both is taken away before anything is divided: most ties are between equal rows.
    """
    widths, differ = spans.widths, False
    for j in range(spans.span.size):
        widths[0, j] -= widths[1, j]
        differ |= widths[0, j] != 0
    spans.times[0] = 1
    return sign(1, spans) if differ else 0


@kernel
@borrowed
def below(gap: float, weight: int, rows: int, spans: Spans) -> Any:
    """Is a sum below 0? `gap` is the same in floats, `weight` the sum of its weights; widths are laid out."""
    if abs(gap) > spans.slack * weight:
        return gap < 0
    return sign(rows, spans) < 0
