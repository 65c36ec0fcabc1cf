"""Facts of a release from its published files alone: columns, widths of cells, equivalence classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from fractions import Fraction
from math import fsum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from incrowd.cells import atoms, range_ends
from incrowd.errors import TableError, unknown
from incrowd.flow import Table, TextColumn, distinct_rows
from incrowd.measures.counted import TextCounts, text_counts
from incrowd.measures.published import ClassSizes
from incrowd.reports.cell_words import typical_cell
from incrowd.reports.ordering import order_of
from incrowd.reports.spread import bins_on_a_line, ends_of
from incrowd.schema import EVERYTHING, MISSING
from incrowd.values import Number, offsets, read_date, read_number

LISTED = 12  # values, labels or cells that are named; of the others it is said how many there are
MOST_BINS = 24
BANDS = (
    (0.0, "one value"),
    (0.1, "up to a tenth of the domain"),
    (0.25, "up to a quarter"),
    (0.5, "up to a half"),
    (1.0, "more than a half"),
)
WHOLE = "everything"
Ints = NDArray[np.int64]
CountedTexts = TextColumn | TextCounts


class PublishedColumns(Protocol):
    """Published columns by name: the texts of each, and how many rows have them."""

    @property
    def names(self) -> Sequence[str]: ...

    def column(self, name: str) -> CountedTexts: ...


def columns_of(manifest: Mapping[str, Any], rows: PublishedColumns) -> list[dict[str, Any]]:
    """Each published column with its role, and what its cells look like."""
    lacking = [
        said["name"]
        for said in manifest["columns"]
        if not said.get("apart") and said["name"] not in rows.names
    ]
    if lacking:
        raise TableError(unknown("in the published table", lacking, rows.names))
    return [_column(said, rows, manifest.get("levels") or {}) for said in manifest["columns"]]


def _column(said: Mapping[str, Any], rows: PublishedColumns, levels: Mapping[str, Any]) -> dict[str, Any]:
    name = str(said["name"])
    found: dict[str, Any] = {
        "name": name,
        "role": str(said["role"]),
        "kind": str(said["kind"]),
        "shape": str(said.get("shape", "")),
        "mean": bool(said.get("mean")),
        "apart": bool(said.get("apart")),
        "level": levels.get(name),
    }
    if said["role"] == "quasi_identifier":
        found["domain"] = _domain(said["domain"])
        found["cells"] = _cells(rows.column(name), said)
    elif not found["apart"]:
        found["texts"] = _texts(rows.column(name), found["kind"])
    return found


def widths_of(manifest: Mapping[str, Any], rows: PublishedColumns) -> dict[str, list[float | None]]:
    """By quasi-identifier the share of the domain that each distinct cell covers."""
    quasi = [said for said in manifest["columns"] if said["role"] == "quasi_identifier"]
    return {str(said["name"]): _widths(rows.column(str(said["name"])), said) for said in quasi}


def _domain(domain: Mapping[str, Any]) -> dict[str, Any]:
    if "low" in domain:
        return {"low": str(domain["low"]), "high": str(domain["high"])}
    named = [str(text) for text in domain.get("labels", domain.get("values", []))]
    return {"count": len(named), "first": named[:LISTED]}


def _texts(column: CountedTexts, kind: str) -> dict[str, Any]:
    counts = text_counts(column)
    return {
        "distinct": int((counts > 0).sum()),
        "most_frequent": _most_frequent(column, counts, kind),
        "bins": _bins(column, counts, kind),
    }


def _most_frequent(column: CountedTexts, counts: Ints, kind: str) -> list[dict[str, Any]]:
    """The texts that most rows have, in their order; if they have none, the most frequent first."""
    by_count = sorted(range(len(counts)), key=lambda code: (-counts[code], column.texts[code] or ""))
    listed = [code for code in by_count[:LISTED] if counts[code]]
    texts = [column.texts[code] or "" for code in listed]
    places = order_of(texts, kind)
    return [
        {"text": texts[place], "rows": int(counts[listed[place]])}
        for place in (range(len(texts)) if places is None else places)
    ]


def _bins(column: CountedTexts, counts: Ints, kind: str) -> list[dict[str, Any]]:
    """Numbers and dates of many values in bins of one width, missing ones last; none for other columns."""
    read = read_date if kind == "date" else read_number
    known = {code: read(text) for code, text in enumerate(column.texts) if text and text != MISSING}
    values: dict[int, Any] = {code: value for code, value in known.items() if value is not None}
    if kind not in ("numeric", "date") or len(values) < len(known) or len(values) <= LISTED:
        return []
    codes = np.array(sorted(values, key=values.__getitem__))
    numbers = bins_on_a_line(np.array(offsets([values[code] for code in codes.tolist()])))
    found: list[dict[str, Any]] = []
    for number in range(int(numbers.max()) + 1):
        inside = codes[numbers == number]
        found.append({"label": ends_of(column.texts, inside), "rows": int(counts[inside].sum())})
    gone = int(counts.sum()) - sum(int(part["rows"]) for part in found)
    return [*found, {"label": MISSING, "rows": gone}] if gone else found


def _widths(column: CountedTexts, said: Mapping[str, Any]) -> list[float | None]:
    members = (atoms(text or "") for text in column.texts)
    return [_width(found, str(said.get("shape", "")), str(said["kind"]), said["domain"]) for found in members]


def _cells(column: CountedTexts, said: Mapping[str, Any]) -> dict[str, Any]:
    shape, kind, domain = str(said.get("shape", "")), str(said["kind"]), said["domain"]
    counts = text_counts(column)
    members = [atoms(text or "") for text in column.texts]
    gone = np.array([MISSING in found for found in members], bool)
    widths = _widths(column, said)
    known = [(share, int(count)) for share, count in zip(widths, counts, strict=True) if share is not None]
    weight = sum(count for _, count in known)
    measured = shape != "node" and weight
    return {
        "distinct": int((counts > 0).sum()),
        "bands": _bands(members, widths, counts, measured=bool(measured)),
        "mean_width": fsum(share * count for share, count in known) / weight if measured else None,
        "with_missing": int(counts[gone].sum()),
        "typical": typical_cell(
            column, {"shape": shape, "kind": kind, "values": len(domain.get("values", ()))}, widths
        ),
        "most_frequent": _most_frequent(column, counts, kind),
    }


def _bands(
    members: Sequence[Sequence[str]], widths: Sequence[float | None], counts: Ints, *, measured: bool
) -> list[dict[str, Any]]:
    """How many rows have a cell of which width; where nothing tells widths, a label or everything."""
    found = dict.fromkeys([label for _, label in BANDS] if measured else ["a value or label"], 0)
    found[WHOLE] = 0
    for named, share, count in zip(members, widths, counts.tolist(), strict=True):
        if named == [EVERYTHING] or (measured and share == 1):
            found[WHOLE] += count
        elif not measured:
            found["a value or label"] += count
        elif share is not None:
            found[next(label for most, label in BANDS if share <= most)] += count
    return [{"width": label, "rows": count} for label, count in found.items()]


def _width(named: Sequence[str], shape: str, kind: str, domain: Mapping[str, Any]) -> float | None:
    """The share of the domain that a cell covers: 0 for one value, 1 for all; None if nothing tells."""
    if list(named) == [EVERYTHING]:
        return 1.0
    real = [atom for atom in named if atom != MISSING]
    if shape == "set":
        values = len(domain.get("values", ()))
        return min((len(named) - 1) / max(values - 1, 1), 1.0)
    if shape == "node":
        return None
    ends = range_ends(real[0]) if real else []
    if not ends:
        return 0.0
    inner, outer = _distance(*ends[0], kind), _distance(str(domain["low"]), str(domain["high"]), kind)
    return None if inner is None or not outer else min(inner / outer, 1.0)


def _distance(low: str, high: str, kind: str) -> float | None:
    """How far two ends lie from each other, in the column's own unit."""
    ends = [_place(text, kind) for text in (low, high)]
    if isinstance(ends[0], date) and isinstance(ends[1], date):
        return float((ends[1] - ends[0]).days)
    if ends[0] is None or ends[1] is None or isinstance(ends[0], date) or isinstance(ends[1], date):
        return None
    return float(ends[1] - ends[0])


def _place(text: str, kind: str) -> Number | date | None:
    if kind == "date":
        return read_date(text)
    return read_number(text) if kind == "numeric" else None


def classes_of(names: Sequence[str], rows: Table) -> tuple[Ints, Ints]:
    """The class of each row, and the size of each class: rows that say the same in these columns."""
    columns = [rows.column(name) for name in names]
    first, labels = distinct_rows([c.codes for c in columns], [len(c.texts) for c in columns], len(rows))
    return labels, np.bincount(labels, minlength=first.size)


def size_facts(sizes: ClassSizes) -> dict[str, Any]:
    """How large classes are: the ends, the middle, and how many there are of which size.

    Examples
    --------
    >>> size_facts(ClassSizes.of(np.array([2, 2, 3])))["histogram"]
    [{'from': 2, 'to': 2, 'classes': 2, 'rows': 4}, {'from': 3, 'to': 3, 'classes': 1, 'rows': 3}]
    """
    if not len(sizes):
        return {"count": 0, "smallest": 0, "median": 0.0, "largest": 0, "histogram": []}
    return {
        "count": len(sizes),
        "smallest": sizes.smallest,
        "median": float(sizes.quantile(Fraction(1, 2))),
        "largest": int(sizes.size[-1]),
        "histogram": _histogram(sizes),
    }


def _histogram(sizes: ClassSizes) -> list[dict[str, int]]:
    """At most `MOST_BINS` bins of one width; the last takes all that is larger than nearly everything."""
    low, high = sizes.smallest, int(sizes.size[-1])
    far = max(int(sizes.quantile(Fraction(99, 100))), low)
    wide = -(-(far - low + 1) // (MOST_BINS - 1))
    bins = min((high - low) // wide + 1, MOST_BINS)
    place = np.minimum((sizes.size - low) // wide, bins - 1)
    found = []
    for number in range(bins):
        size, classes = sizes.size[place == number], sizes.classes[place == number]
        last = high if number == bins - 1 else low + (number + 1) * wide - 1
        found.append(
            {
                "from": low + number * wide,
                "to": last,
                "classes": int(classes.sum()),
                "rows": int((size * classes).sum()),
            }
        )
    return found


def values_by_class(labels: Ints, sizes: Ints, column: TextColumn) -> dict[str, int]:
    """How many values of a column a class has at the fewest, and how many rows lie in classes with one."""
    wide = len(column.texts)
    pairs = np.unique(labels * wide + column.codes)
    values = np.bincount(pairs // wide, minlength=sizes.size)
    fewest = int(values.min()) if values.size else 0
    return {"fewest_values": fewest, "rows_with_one_value": int(sizes[values == 1].sum())}
