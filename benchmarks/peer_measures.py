"""What a published table lost, by one definition for whoever made it.

Cells are written as docs/release-format.md says: a value, `[low,high]`, `{a|b}`, a label, or `*`.
A cell covers the values of its column, as they occur in the original, that it can stand for.

- smallest class: the smallest number of rows with equal cells.
- GCP: the mean over cells of (largest - smallest covered) / (largest - smallest) for numbers, of
  (covered - 1) / (values - 1) for categories; all cells of a lost row count as 1.
- discernibility: how many rows a row cannot be told from, itself included, on average over the original's
  rows; a lost row counts as n.
- error of counts: a row counts evenly for all that its cells cover. Of all people, the share that is missing
  in the cells of the table of counts that they belong to: the mean over columns, or over pairs of columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

Codes = NDArray[np.int64]
BLOCK = 8192  # rows whose shares are multiplied at once
_INTERVAL = re.compile(r"\[(-?[0-9.]+),(-?[0-9.]+)\]")
_MEMBERS = re.compile(r"(?:[^\\|]|\\.)+")


@dataclass(frozen=True)
class Domain:
    """A column of the original: its distinct values, and the values under each label of its hierarchy."""

    name: str
    values: tuple[str, ...]
    numeric: bool
    labels: Mapping[str, frozenset[str]]

    @cached_property
    def place(self) -> dict[str, int]:
        return {value: place for place, value in enumerate(self.values)}

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        return np.array([float(value) for value in self.values]) if self.numeric else np.zeros(0)

    def covered(self, cell: str) -> list[int]:
        """Places of the values that a cell can stand for; a cell that stands for none is an error."""
        found = sorted(set(self._covered(cell)))
        if not found:
            raise ValueError(f"a cell of {self.name} stands for no value of the original")
        return found

    def _covered(self, cell: str) -> list[int]:
        if cell == "*":
            return list(range(len(self.values)))
        if cell.startswith("{") and cell.endswith("}"):
            return [place for member in _MEMBERS.findall(cell[1:-1]) for place in self._covered(member)]
        ends = _INTERVAL.fullmatch(cell)
        if ends and self.numeric:
            low, high = float(ends[1]), float(ends[2])
            return np.flatnonzero((self.numbers >= low) & (self.numbers <= high)).tolist()
        text = re.sub(r"\\(.)", r"\1", cell)
        if text in self.place:
            return [self.place[text]]
        return [self.place[value] for value in self.labels.get(text, ()) if value in self.place]

    def loss(self, places: Sequence[int]) -> float:
        """The share of the domain that a cell covers."""
        if len(self.values) < 2:
            return 0.0
        if self.numeric:
            found = self.numbers[list(places)]
            return float((found.max() - found.min()) / (self.numbers.max() - self.numbers.min()))
        return (len(places) - 1) / (len(self.values) - 1)


@dataclass(frozen=True)
class Measured:
    """What one published table lost."""

    rows: int
    lost: int
    smallest: int
    gcp: float
    discernibility: float
    one_way: float
    two_way: float


def columns_of(path: Path, names: Sequence[str], stars: bool = True) -> list[list[str]]:
    """Columns of a CSV file, row by row; without `stars`, rows of nothing but * are suppressed ones."""
    with path.open(newline="", encoding="utf-8") as lines:
        reader = csv.reader(lines)
        header = next(reader)
        places = [header.index(name) for name in names]
        rows = [tuple(row[place] for place in places) for row in reader]
    kept = [row for row in rows if stars or any(cell != "*" for cell in row)]
    return [list(column) for column in zip(*kept, strict=True)] if kept else [[] for _ in names]


def domains_of(
    table: Path, names: Sequence[str], numbers: Sequence[str], hierarchies: Path | None
) -> list[Domain]:
    """The columns of an original."""
    found = []
    for name, column in zip(names, columns_of(table, names), strict=True):
        numeric = name in numbers
        values = sorted(set(column), key=float) if numeric else sorted(set(column))
        tree = None if hierarchies is None else hierarchies / f"{name}.csv"
        labels = _labels(tree) if tree is not None and tree.is_file() else {}
        found.append(Domain(name, tuple(values), numeric, labels))
    return found


def _labels(tree: Path) -> dict[str, frozenset[str]]:
    """The leaves under each label. A label of two levels that does not hold the same leaves is an error."""
    levels: dict[tuple[int, str], set[str]] = {}
    with tree.open(newline="", encoding="utf-8") as lines:
        for leaf, *above in csv.reader(lines, delimiter=";"):
            for level, label in enumerate(above):
                levels.setdefault((level, label), set()).add(leaf)
    found: dict[str, frozenset[str]] = {}
    for (_, label), leaves in levels.items():
        if found.setdefault(label, frozenset(leaves)) != leaves:
            raise ValueError(f"{tree.name} has a label with different values on two levels")
    return found


def measured(original: Path, published: Path, domains: Sequence[Domain], stars: bool = True) -> Measured:
    """All measures of a published table."""
    names = [domain.name for domain in domains]
    truth, given = columns_of(original, names), columns_of(published, names, stars)
    n, rows = len(truth[0]), len(given[0])
    if not 0 < rows <= n:
        raise ValueError(f"{rows} rows of {n} were published")
    cells, codes = _coded(given)
    distinct, sizes = _distinct(codes)
    covers = [
        [domain.covered(cell) for cell in column] for domain, column in zip(domains, cells, strict=True)
    ]
    lost = n - rows
    cost = float(lost * len(domains))
    for j, domain in enumerate(domains):
        losses = np.array([domain.loss(places) for places in covers[j]])
        cost += float(losses[distinct[:, j]] @ sizes)
    widths = [len(domain.values) for domain in domains]
    shares = [_shares(column, width) for column, width in zip(covers, widths, strict=True)]
    placed = [[domain.place[text] for text in column] for domain, column in zip(domains, truth, strict=True)]
    exact = [_shares([[place] for place in range(width)], width) for width in widths]
    true = _counts(exact, *_distinct(np.array(placed, dtype=np.int64).T))
    one_way, two_way = _errors(true, _counts(shares, distinct, sizes), widths, n)
    return Measured(
        rows=rows,
        lost=lost,
        smallest=int(sizes.min()),
        gcp=cost / (n * len(domains)),
        discernibility=(float((sizes.astype(np.float64) ** 2).sum()) + float(lost) * n) / n,
        one_way=one_way,
        two_way=two_way,
    )


def _coded(columns: Sequence[Sequence[str]]) -> tuple[list[list[str]], Codes]:
    """Distinct cells of each column, and rows as their places."""
    cells, codes = [], []
    for column in columns:
        places: dict[str, int] = {}
        codes.append([places.setdefault(cell, len(places)) for cell in column])
        cells.append(list(places))
    return cells, np.array(codes, dtype=np.int64).T


def _distinct(codes: Codes) -> tuple[Codes, Codes]:
    """Distinct rows, and how many rows are equal to each."""
    order = np.lexsort(codes.T)
    rows = codes[order]
    first = np.flatnonzero(np.append(True, (rows[1:] != rows[:-1]).any(axis=1)))
    return rows[first], np.diff(np.append(first, len(rows)))


def _shares(covers: Sequence[Sequence[int]], width: int) -> Any:
    """One line for each distinct cell: it counts evenly for all that it covers."""
    ends = np.cumsum([0, *(len(places) for places in covers)])
    places = np.fromiter((place for cover in covers for place in cover), np.int64, ends[-1])
    share = np.repeat(1.0 / np.diff(ends), np.diff(ends))
    return csr_array((share, places, ends), shape=(len(covers), width))


def _counts(shares: Sequence[Any], distinct: Codes, sizes: Codes) -> NDArray[np.float64]:
    """Tables of counts for all pairs of columns at once: one block of the matrix is one table."""
    width = sum(part.shape[1] for part in shares)
    found = np.zeros((width, width))
    for begin in range(0, len(distinct), BLOCK):
        rows, weight = distinct[begin : begin + BLOCK], sizes[begin : begin + BLOCK]
        parts = [part[rows[:, j]] for j, part in enumerate(shares)]
        dense = hstack(parts).toarray()
        found += dense.T @ (dense * weight[:, None])
    return found


def _errors(
    true: NDArray[np.float64], estimated: NDArray[np.float64], widths: Sequence[int], n: int
) -> tuple[float, float]:
    """Means over columns and over pairs of the share of people that is missing where it belongs."""
    missing = np.maximum(true - estimated, 0.0) / n
    ends = np.cumsum([0, *widths])
    spans = [slice(low, high) for low, high in pairwise(ends.tolist())]
    single = np.maximum(_margin(true, spans) - _margin(estimated, spans), 0.0) / n
    one = [float(single[span].sum()) for span in spans]
    two = [float(missing[a, b].sum()) for j, a in enumerate(spans) for b in spans[j + 1 :]]
    return float(np.mean(one)), float(np.mean(two)) if two else 0.0


def _margin(counts: NDArray[np.float64], spans: Sequence[slice]) -> NDArray[np.float64]:
    """Counts of single columns: the rows of a table of counts, summed over another column or over itself."""
    return np.concatenate([counts[span, spans[0]].sum(axis=1) for span in spans])
