"""Data frames in and out: pandas, polars, pyarrow and whatever else narwhals reads eagerly."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Table, TextColumn
from incrowd.tables.checked_files import check_shape, check_texts, chosen
from incrowd.tables.texts import column_of, float_text, moment_texts, with_gaps

if TYPE_CHECKING:
    import narwhals as nw

    Frame = nw.DataFrame[Any]
    Series = nw.Series[Any]

_SOURCE = "the table"
Native = Mapping[str, tuple[str, NDArray[np.int64]]]


def read_frame(source: object, columns: Sequence[str] | None = None) -> Table:
    """Read a data frame as texts, gaps as NULL; an index is not part of the table."""
    frame = _eager(source)
    check_shape(frame.columns, len(frame), _SOURCE)
    names = [frame.columns[place] for place in chosen(frame.columns, columns)]
    return Table(tuple(names), tuple(_column(frame.get_column(name), name) for name in names))


def _eager(source: object) -> Frame:
    import narwhals as nw

    try:
        return nw.from_native(source, eager_only=True)
    except nw.exceptions.DuplicateError:
        why = f"{_SOURCE} has two columns with the same name; rename one of them"
    except Exception:
        why = (
            f"a {type(source).__name__} is not a table that can be read; give the path of a CSV or Parquet "
            "file, or a pandas, polars or pyarrow frame (collect a lazy one first)"
        )
    raise TableError(why)  # here, where no exception that may show the frame is around


def _column(series: Series, name: str) -> TextColumn:
    """One column as texts. Errors of the frame's library are not passed on: they may quote cells."""
    if getattr(series.dtype, "time_zone", None) is not None:
        raise TableError(_zoned(name))
    column: TextColumn | None = None
    try:
        gaps = np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
        column = with_gaps(_present(series.filter(~series.is_null()), name, gaps), gaps)
    except TableError:
        raise
    except Exception:
        column = None  # refused below, where no exception that may quote cells is around
    if column is None:  # the name of its type without parameters, which may list values
        raise TableError(
            f"column {name!r} has the type {type(series.dtype).__name__}, which cannot be read; "
            "convert it to text, numbers or dates, or leave it out"
        )
    check_texts(column.texts, name, _SOURCE)
    return column


def _zoned(name: str) -> str:
    return f"column {name!r} has moments with a time zone; convert them to local time without one"


def _present(series: Series, name: str, gaps: NDArray[np.bool_]) -> TextColumn:
    """Texts of a column without gaps; `gaps` only tells which rows of the table they are."""
    import narwhals as nw

    if series.dtype.is_integer() and series.dtype not in (nw.Int128, nw.UInt128):
        return _by_value(series.to_numpy(), lambda values: [str(value) for value in values.tolist()])
    if series.dtype.is_float():
        return _by_value(series.to_numpy(), lambda values: [float_text(value) for value in values])
    if isinstance(series.dtype, nw.Date | nw.Datetime):
        return _by_value(series.to_numpy(), lambda values: moment_texts(values, name, _SOURCE))
    return _by_object(series.to_list(), name, gaps)


def _by_value(values: NDArray[Any], texts_of: Callable[[NDArray[Any]], list[str]]) -> TextColumn:
    distinct, codes = np.unique(values, return_inverse=True)
    return column_of(codes, texts_of(distinct))


def _by_object(values: list[Any], name: str, gaps: NDArray[np.bool_]) -> TextColumn:
    kinds = set(map(type, values))
    if len(kinds) > 1:
        _refuse_mixture(values, name, gaps)
    seen: dict[Any, int] = {}
    codes = np.fromiter((seen.setdefault(value, len(seen)) for value in values), np.int32, len(values))
    return column_of(codes, _object_texts(list(seen), name))


def _refuse_mixture(values: list[Any], name: str, gaps: NDArray[np.bool_]) -> None:
    other = next(place for place, value in enumerate(values) if type(value) is not type(values[0]))
    rows = np.flatnonzero(~gaps) + 1
    raise TableError(
        f"column {name!r} mixes types: row {rows[0]} is {type(values[0]).__name__}, "
        f"row {rows[other]} is {type(values[other]).__name__}; make them all text"
    )


def _object_texts(values: list[Any], name: str) -> list[str]:
    """Texts of values of one Python type."""
    sample = values[0] if values else ""
    if isinstance(sample, str):
        return [str(value) for value in values]
    if isinstance(sample, bool | np.bool_):
        return ["true" if value else "false" for value in values]
    if isinstance(sample, int | np.integer):
        return [str(int(value)) for value in values]
    if isinstance(sample, float | np.floating):
        return [float_text(value) for value in values]
    if isinstance(sample, Decimal):
        return [format(value if value else value.copy_abs(), "f") for value in values]
    if isinstance(sample, datetime.date | datetime.time):
        return _clock_texts(values, name)
    raise TypeError("not a plain value")


def _clock_texts(values: list[Any], name: str) -> list[str]:
    if any(getattr(value, "tzinfo", None) is not None for value in values):
        raise TableError(_zoned(name))
    texts = [value.isoformat() for value in values]
    if isinstance(values[0], datetime.time):
        return [text.rstrip("0") if "." in text else text for text in texts]
    return moment_texts(np.array([np.datetime64(text) for text in texts]), name, _SOURCE)


def as_frame(table: Table, like: object, native: Native | None = None) -> Any:
    """A frame of the same kind as `like`, made of a table's texts.

    Nothing of `like` is taken over, no index and no metadata, but for the columns that `native` names: these
    are rows of a column of `like`, with the type they have there. Categories that no row uses are left out.
    """
    import narwhals as nw

    frame = _eager(like)
    native = native or {}
    columns = [
        _gathered(frame, *native[name]).alias(name)
        if name in native
        else nw.new_series(name, column.rows(), nw.String(), backend=frame.implementation)
        for name, column in zip(table.names, table.columns, strict=True)
    ]
    return columns[0].to_frame().with_columns(*columns[1:]).to_native()


def _gathered(frame: Frame, column: str, rows: NDArray[np.int64]) -> Series:
    """Some rows of a column as a column of its own, with no category that they do not use."""
    import narwhals as nw

    native = frame.get_column(column).to_native()
    if frame.implementation.is_polars():
        taken = _of_polars(native.gather(rows))
    elif frame.implementation.is_pyarrow():
        taken = _of_arrow(native.take(rows))
    else:
        taken = type(native)(native.array.take(rows))  # neither index nor attributes come along
        taken = taken.cat.remove_unused_categories() if taken.dtype == "category" else taken
    return nw.from_native(taken, series_only=True)


def _of_polars(series: Any) -> Any:
    import polars as pl

    if isinstance(series.dtype, pl.Categorical):
        return series.cast(pl.String).cast(pl.Categorical)
    if isinstance(series.dtype, pl.Enum):
        used = set(series.drop_nulls().cast(pl.String).unique().to_list())
        return series.cast(pl.String).cast(
            pl.Enum([each for each in series.dtype.categories if each in used])
        )
    return series


def _of_arrow(array: Any) -> Any:
    # decoding and coding again is what drops the unused values of a dictionary
    return (
        array.cast(array.type.value_type).dictionary_encode() if hasattr(array.type, "index_type") else array
    )
