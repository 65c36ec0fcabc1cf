"""What a typed value looks like as text: one way for frames and for Parquet.

Whole numbers are plain digits, floats the shortest text that reads back the same, dates ISO 8601. A whole
float loses its ``.0``, because pandas turns a whole number column with gaps into floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import TextColumn

_EXACT = 2.0**53  # beyond, not every whole number is a float
_FIRST, _LAST = np.datetime64("0001-01-01", "D"), np.datetime64("9999-12-31", "D")


def column_of(codes: NDArray[Any], texts: Sequence[str | None]) -> TextColumn:
    """A column with each text once, as met, and none that no row says."""
    merged: dict[str | None, int] = {}
    same = np.fromiter((merged.setdefault(text, len(merged)) for text in texts), np.int64, len(texts))
    codes = same[codes]
    first = np.full(len(merged), codes.size)
    first[codes[::-1]] = np.arange(codes.size - 1, -1, -1)
    order = np.argsort(first)[: int((first < codes.size).sum())]
    rank = np.empty(len(merged), dtype=np.int32)
    rank[order] = np.arange(order.size)
    distinct = list(merged)
    return TextColumn(rank[codes], tuple(distinct[place] for place in order))


def with_gaps(column: TextColumn, gaps: NDArray[np.bool_]) -> TextColumn:
    """Spread a column of the values that are there over all rows; the gaps are NULL."""
    if not gaps.any():
        return column
    codes = np.full(gaps.size, len(column.texts), dtype=np.int32)
    codes[~gaps] = column.codes
    return column_of(codes, (*column.texts, None))


def float_text(value: Any) -> str:
    """Shortest text that reads back as this float, in its own precision.

    Examples
    --------
    >>> [float_text(value) for value in (3.0, -0.0, 0.1, 1e300, float("nan"), float("-inf"))]
    ['3', '0', '0.1', '1e+300', 'NaN', '-inf']
    """
    if value != value:
        return "NaN"
    if -_EXACT < value < _EXACT and value == int(value):
        return str(int(value))
    return str(value)


def moment_texts(moments: NDArray[np.datetime64], name: str, source: str) -> list[str]:
    """ISO texts of naive moments, as fine as the finest needs: days, seconds, then fractions."""
    days = moments.astype("datetime64[D]")
    if moments.size and not (days.min() >= _FIRST and days.max() <= _LAST):
        raise TableError(f"{source}: column {name!r} holds a date outside the years 1 to 9999")
    for unit in ("D", "s", "ms", "us"):
        coarse = moments.astype(f"datetime64[{unit}]")
        if (coarse == moments).all():
            return np.datetime_as_string(coarse).tolist()  # type: ignore[no-any-return]
    return np.datetime_as_string(moments).tolist()  # type: ignore[no-any-return]


def cell_text(value: Any) -> str | None:
    """The text of a value that a workbook, a database or a statistics package holds; None is NULL.

    A moment at midnight is a day: such programs have one type for both. TypeError for what is no plain value.

    Examples
    --------
    >>> [cell_text(value) for value in (3.0, None, datetime(2012, 1, 29), datetime(2012, 1, 29, 10, 30))]
    ['3', None, '2012-01-29', '2012-01-29T10:30:00']
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return None if value != value else float_text(value)
    if isinstance(value, Decimal):
        return None if value.is_nan() else format(value if value else value.copy_abs(), "f")
    if isinstance(value, datetime) and value.tzinfo is None:
        return _moment_text(value)
    if isinstance(value, date | time) and not isinstance(value, datetime):
        return value.isoformat()
    raise TypeError("not a plain value")


def _moment_text(moment: datetime) -> str:
    """Spreadsheets count in fractions of days: a few microseconds are an error of rounding."""
    nearest = (moment + timedelta(microseconds=500_000)).replace(microsecond=0)
    if abs(nearest - moment) < timedelta(milliseconds=1):
        moment = nearest
    return moment.date().isoformat() if moment.time() == time() else moment.isoformat()
