"""Published cells as typed Parquet columns and back: ends of intervals, lists of members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from incrowd.cells import atoms, range_ends, read_cell
from incrowd.errors import PolicyError, TableError
from incrowd.flow import Attribute, Cells, Microdata, Regions, Table, TextColumn, distinct_rows
from incrowd.schema import EVERYTHING, MISSING, Role, Schema, Shape
from incrowd.tables.parquet_writer import Members, Typed, TypedSpan, write_parquet
from incrowd.values import escaped, number_text, read_number

ENDS = ("_lo", "_hi", "_missing")


def _check_names(data: Microdata, published: Sequence[str]) -> None:
    """Refuse columns that are called like the ends of another."""
    taken = {name.casefold(): name for name in published}
    for attribute in data.attributes:
        for end in ENDS if attribute.shape is Shape.RANGE else ():
            if (other := taken.get((attribute.name + end).casefold())) is not None:
                raise PolicyError(
                    f"{other}: typed columns call an end of {attribute.name} so; rename the column, or write "
                    "texts"
                )


def typed_columns(data: Microdata, regions: Regions, published: Sequence[str]) -> Mapping[str, Typed]:
    """How each range and each set is written; labels of hierarchies stay texts."""
    _check_names(data, published)
    found: dict[str, Typed] = {}
    for attribute, cells in zip(data.attributes, regions.cells, strict=True):
        if attribute.shape is Shape.RANGE:
            found[attribute.name] = _span(attribute, cells)
        elif attribute.shape is Shape.SET:
            found[attribute.name] = _members(attribute, cells)
    return found


def _span(attribute: Attribute, cells: Cells) -> TypedSpan:
    pairs = zip(cells.low.tolist(), cells.high.tolist(), strict=True)
    ends = tuple((attribute.texts[low], attribute.texts[high]) if low >= 0 else None for low, high in pairs)
    missing = tuple(bool(flag) or end is None for flag, end in zip(cells.missing, ends, strict=True))
    return TypedSpan(attribute.kind, ends, missing)


def _members(attribute: Attribute, cells: Cells) -> Members:
    if cells.sets is None:
        raise TableError(f"{attribute.name} has no sets to write")
    words = [
        MISSING if code == attribute.missing else escaped(text) for code, text in enumerate(attribute.texts)
    ]
    sets = (cells.sets.of(i).tolist() for i in range(len(cells)))
    return Members(tuple(_words(codes, words) for codes in sets))


def _words(codes: Sequence[int], words: Sequence[str]) -> tuple[str, ...]:
    """What a list says; of everything only that, as a text does: it names no value."""
    if len(codes) == len(words) > 1:
        return (EVERYTHING,)
    return tuple(sorted((words[code] for code in codes), key=lambda word: (word != MISSING, word)))


def as_cells(table: Table, schema: Schema) -> Table:
    """The cells that typed columns stand for, all others as they are, in the order of the file.

    Lists come as they are read: members joined by ``|`` in braces. What has no business in the table stays
    in it, and what makes no sense becomes NULL: the verifier must see both.
    """
    spans = {
        f"{column.name}_lo": column
        for column in schema.having(Role.QUASI)
        if column.name not in table.names and {f"{column.name}_lo", f"{column.name}_hi"} <= set(table.names)
    }
    columns: dict[str, TextColumn] = {}
    read: set[str] = set()
    for name in table.names:
        if name in spans:
            own = spans[name].name
            columns[own] = _intervals(table, own)
            read |= {f"{own}_hi", f"{own}_missing"}
        elif name not in read:
            columns[name] = table.column(name)
    return Table(tuple(columns), tuple(columns.values()))


def _intervals(table: Table, name: str) -> TextColumn:
    """Each combination of ends that occurs, read once."""
    low, high = table.column(f"{name}_lo"), table.column(f"{name}_hi")
    has = f"{name}_missing" in table.names
    gone = table.column(f"{name}_missing") if has else TextColumn(np.zeros_like(low.codes), ("false",))
    ends = (low, high, gone)
    first, codes = distinct_rows([c.codes for c in ends], [len(c.texts) for c in ends], len(low))
    cells = [_interval(*(column.texts[column.codes[row]] for column in ends)) for row in first.tolist()]
    return TextColumn(codes.astype(np.int32), tuple(cells))


def _interval(low: str | None, high: str | None, missing: str | None) -> str | None:
    """The cell of two ends; NULL where one is absent, or both are and missing is not meant."""
    if low is None or high is None:
        return MISSING if low is high and missing == "true" else None
    if missing not in ("true", "false"):
        return None
    low, high = _canonical(low), _canonical(high)
    ends = low if low == high else f"[{low},{high}]"
    return f"{{{MISSING}|{ends}}}" if missing == "true" else ends


def _canonical(text: str) -> str:
    """A number without the zeros that a decimal type adds; a date as it is."""
    number = read_number(text)
    return text if number is None else number_text(number)


def written_again(cells: Table, schema: Schema, path: Path) -> bool:
    """Is a Parquet file, byte for byte, what is written for these cells, typed or as texts?

    So it carries no metadata, row groups, dictionary entries or encodings of another's choice.
    """
    wanted = path.read_bytes()
    with TemporaryDirectory(prefix="incrowd-") as folder:
        for form in ({}, _types_of(cells, schema)):
            again = Path(folder) / f"{len(form)}.parquet"
            if not again.exists():
                write_parquet(cells, again, form)
            if again.read_bytes() == wanted:
                return True
    return False


def _types_of(cells: Table, schema: Schema) -> dict[str, Typed]:
    """How each range and each set of published cells would be typed."""
    found: dict[str, Typed] = {}
    for column in schema.having(Role.QUASI):
        if column.name not in cells.names:  # buckets have no quasi-identifiers
            continue
        parts = [read_cell(text or "") for text in cells.column(column.name).texts]
        if column.shape is Shape.RANGE:
            ends = tuple(_ends(part.atoms) for part in parts)
            found[column.name] = TypedSpan(column.kind, ends, tuple(part.missing for part in parts))
        elif column.shape is Shape.SET:
            texts = cells.column(column.name).texts
            found[column.name] = Members(tuple(tuple(atoms(text or "")) for text in texts))
    return found


def _ends(found: Sequence[str]) -> tuple[str, str] | None:
    if not found:
        return None
    return next(iter(range_ends(found[0])), (found[0], found[0]))
