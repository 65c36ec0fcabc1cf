"""Write Parquet: plain columns built from the published rows, and nothing else in the file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import TableError
from incrowd.flow import Codes, Table
from incrowd.schema import Kind
from incrowd.tables.checked_files import check_names, create
from incrowd.tables.parquet_child import connection

_BIGINT = 2**63
_DECIMAL_DIGITS = 38


@dataclass(frozen=True, slots=True)
class TypedSpan:
    """How a generalised column of numbers or dates is written typed: as `name_lo` and `name_hi`.

    ``ends[c]`` are the ends of ``texts[c]`` of the column: equal for a single value, None where only
    missing is meant. ``missing[c]`` says whether missing is meant (too); if it ever is, a column
    `name_missing` is written.
    """

    kind: Kind
    ends: tuple[tuple[str, str] | None, ...]
    missing: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Members:
    """How a generalised column of categories is written typed: as a list of texts.

    ``members[c]`` are the values that ``texts[c]`` of the column stands for.
    """

    members: tuple[tuple[str, ...], ...]


Typed = TypedSpan | Members


@dataclass(frozen=True, slots=True)
class _Part:
    """A column of the file: its name, its type, and the value of each row."""

    name: str
    type: str
    values: NDArray[Any]


def write_parquet(
    table: Table, path: str | os.PathLike[str], typed: Mapping[str, Typed] | None = None
) -> None:
    """Write a table to a Parquet file that does not exist yet, through to the disk.

    Columns are texts, NULL stays NULL, and the file carries no metadata of its own. Texts that no row
    says leave no trace in it. Columns that `typed` names are written as their ends, or as lists of their
    members, instead of as texts.
    """
    typed = typed or {}
    parts = [part for name in table.names for part in _parts(table, name, typed.get(name))]
    check_names([part.name for part in parts], "the table to write")
    path = Path(path).absolute()
    create(path).close()
    if not _written(parts, path):
        path.unlink(missing_ok=True)
        raise TableError(f"{path} cannot be written; is there room on the disk?")


def _parts(table: Table, name: str, typed: Typed | None) -> list[_Part]:
    column = table.column(name)
    if typed is None:
        return [_Part(name, "VARCHAR", _rows(column.texts, column.codes))]
    described = typed.members if isinstance(typed, Members) else typed.ends
    if len(described) != len(column.texts):
        raise TableError(f"column {name!r} has {len(column.texts)} texts, typed values for {len(described)}")
    if isinstance(typed, Members):
        return [_Part(name, "VARCHAR[]", _rows([list(each) for each in typed.members], column.codes))]
    return _span_parts(name, typed, column.codes)


def _span_parts(name: str, span: TypedSpan, codes: Codes) -> list[_Part]:
    kind = _span_type(name, span)
    lo = [ends[0] if ends else None for ends in span.ends]
    hi = [ends[1] if ends else None for ends in span.ends]
    parts = [_Part(f"{name}_lo", kind, _rows(lo, codes)), _Part(f"{name}_hi", kind, _rows(hi, codes))]
    if any(span.missing):
        parts.append(_Part(f"{name}_missing", "BOOLEAN", np.array(span.missing)[codes]))
    return parts


def _rows(values: Sequence[object], codes: Codes) -> NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):  # one by one: NumPy would turn lists into further axes
        array[place] = value
    return array[codes]


def _span_type(name: str, span: TypedSpan) -> str:
    """The plainest type that holds every end exactly."""
    texts = [end for ends in span.ends if ends for end in ends]
    if span.kind is Kind.DATE:
        return "TIMESTAMP" if any(len(text) > len("2024-02-29") for text in texts) else "DATE"
    try:
        numbers = [Decimal(text) for text in texts]
    except InvalidOperation:
        raise TableError(f"column {name!r} holds ends that are no numbers; write texts") from None
    scale = max((-_exponent(number) for number in numbers), default=0)
    whole = max((number.adjusted() + 1 for number in numbers), default=1)
    if scale <= 0 and all(-_BIGINT <= number < _BIGINT for number in numbers):
        return "BIGINT"
    if max(scale, 0) + max(whole, 1) <= _DECIMAL_DIGITS:
        return f"DECIMAL({_DECIMAL_DIGITS}, {max(scale, 0)})"
    if all(Decimal(repr(float(number))) == number for number in numbers):
        return "DOUBLE"
    raise TableError(f"column {name!r} holds numbers with too many digits for a typed column; write texts")


def _exponent(number: Decimal) -> int:
    if not number.is_finite():
        raise TableError("a number that is not finite cannot be written typed; write texts")
    return int(number.normalize().as_tuple().exponent)


def _written(parts: list[_Part], path: Path) -> bool:
    """Let DuckDB write; say only whether it could, since its errors may quote cells."""
    import duckdb

    try:
        with connection(str(path)) as session:
            session.register("rows_", {f"c{place}": part.values for place, part in enumerate(parts)})
            cells = ", ".join(
                f"CAST(c{place} AS {part.type}) AS {_quoted(part.name)}" for place, part in enumerate(parts)
            )
            target = "(FORMAT parquet, USE_TMP_FILE false)"
            session.execute(f"COPY (SELECT {cells} FROM rows_) TO ? {target}", [str(path)])  # noqa: S608
        with path.open("rb") as file:
            os.fsync(file.fileno())
    except (duckdb.Error, OSError):
        return False
    return True


def _quoted(name: str) -> str:
    """The one place where a name enters a statement: a Parquet file must carry it."""
    return '"' + name.replace('"', '""') + '"'
