"""Small tables with a sensitive column, for tests of plain groups: for incrowd and for the naive twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from support.tables_of_codes import TREES, paths_of, tree_of
from twins import plain as naive

from incrowd.distance_outliers import Matrix, Setting, Space
from incrowd.flow import Attribute, Microdata, Sensitive
from incrowd.schema import Kind, Shape


@dataclass(frozen=True, eq=False)
class Plain:
    """A guard as the model makes it."""

    space: Space

    def allows(self, rows: Any) -> bool:
        return np.unique(self.space.values[rows]).size >= self.space.setting.distinct

    def plain(self, rows: Any) -> bool:
        return Matrix(self.space).plain(rows)


@dataclass(frozen=True)
class PlainTable:
    """Columns (kind, about it, has missing), rows of codes, sensitive numbers, and a setting."""

    columns: Sequence[tuple[str, Any, bool]]
    rows: Sequence[tuple[int, ...]]
    values: Sequence[int | None]
    setting: Setting
    printed: bool = False

    @property
    def data(self) -> Microdata:
        attributes = tuple(_attribute(f"a{j}", *column) for j, column in enumerate(self.columns))
        known = sorted({value for value in self.values if value is not None})
        codes = [0 if value is None else known.index(value) + 1 for value in self.values]
        sensitive = Sensitive(
            "s",
            Kind.NUMERIC,
            np.array(codes, np.int32),
            len(known) + 1,
            texts=("", *map(str, known)),
            missing=0,
        )
        return Microdata(np.array(self.rows, np.int32), attributes, (sensitive,))

    @property
    def guard(self) -> Plain:
        return Plain(Space.of(self.data, self.setting))

    @property
    def twin(self) -> naive.Space:
        setting = self.setting
        table = naive.Table(
            columns=tuple(self._column(j) for j in range(len(self.columns))),
            rows=tuple(self.rows),
            values=tuple((value,) for value in self.values),
            weights=(Fraction(setting.weight("s")),),
            p=setting.p0,
            d=setting.d0,
            form=setting.form,
            distinct=setting.distinct,
            removal=setting.removal,
            rescale=setting.rescale == "yes",
        )
        return naive.Space(table)

    def _column(self, j: int) -> naive.Column:
        kind, about, missing = self.columns[j]
        takes = not self.setting.columns or f"a{j}" in self.setting.columns
        weight = Fraction(self.setting.weight(f"a{j}")) if takes else None
        if kind == "range":
            return naive.Column(kind, *_line(about, missing, self.printed), weight=weight)
        if kind == "set":
            place = (*range(about), *([None] if missing else []))
            axis = tuple(Fraction(-1 if where is None else where) for where in place)
            return naive.Column(kind, place, axis, weight=weight)
        size = sum(map(len, about))
        place = (*range(size), *([None] if missing else []))
        nodes = {node for path in paths_of(about) for node in path}
        axis = tuple(Fraction(-1 if where is None else where) for where in place)
        return naive.Column(kind, place, axis, tuple(nodes), weight=weight)


def _line(
    about: list[int], missing: bool, printed: bool
) -> tuple[tuple[int | None, ...], tuple[Fraction, ...]]:
    """Places and axis of numbers; missing lies a mean gap below the smallest."""
    span = Fraction(about[-1] - about[0])
    wide = span + 1 if printed else span or Fraction(1)
    where = [Fraction(x) for x in about]
    if missing:
        where = [where[0] - span / len(about), *where]
    return (*([None] if missing else []), *about), tuple(x / wide for x in where)


def _attribute(name: str, kind: str, about: Any, missing: bool) -> Attribute:
    if kind == "range":
        texts = (*([""] if missing else []), *map(str, about))
        where = np.array([*([0] if missing else []), *about], np.float64)
        return Attribute(name, Kind.NUMERIC, Shape.RANGE, texts, where, missing=0 if missing else -1)
    if kind == "set":
        texts = tuple(f"v{i}" for i in range(about)) + (("",) if missing else ())
        where = np.arange(len(texts), dtype=float)
        gone = about if missing else -1
        return Attribute(name, Kind.CATEGORICAL, Shape.SET, texts, where, missing=gone)
    tree = tree_of(paths_of(about))
    texts = (*tree.leaves, *([""] if missing else []))
    where = np.arange(len(texts), dtype=float)
    gone = len(tree.leaves) if missing else -1
    return Attribute(name, Kind.CATEGORICAL, Shape.TREE, texts, where, missing=gone, tree=tree)


@st.composite
def plain_tables(
    draw: st.DrawFn, most: int = 16, forms: tuple[str, ...] = ("corner", "candidate", "both")
) -> PlainTable:
    """Tables of up to `most` records in which every code occurs."""
    columns: list[tuple[str, Any, bool]] = []
    for _ in range(draw(st.integers(1, 3))):
        kind, missing = (
            draw(st.sampled_from(("range", "set", "tree"))),
            draw(st.sampled_from((False, False, True))),
        )
        if kind == "range":
            columns.append((kind, sorted(draw(st.sets(st.integers(0, 20), min_size=2, max_size=6))), missing))
        elif kind == "set":
            columns.append((kind, draw(st.integers(2, 4)), missing))
        else:
            columns.append((kind, draw(st.sampled_from(TREES[:2])), missing))
    sizes = [_size(column) for column in columns]
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    value = st.one_of(st.integers(0, 6), st.sampled_from((None, 9, 30)))
    table = draw(st.lists(st.tuples(row, value), min_size=4, max_size=most))
    return _whole(columns, table, draw(settings_of(len(columns), forms)))


def _size(column: tuple[str, Any, bool]) -> int:
    kind, about, missing = column
    size = about if kind == "set" else len(about) if kind == "range" else sum(map(len, about))
    return int(size) + missing


@st.composite
def settings_of(draw: st.DrawFn, columns: int, forms: tuple[str, ...]) -> Setting:
    names = [f"a{j}" for j in range(columns)]
    taking = draw(st.lists(st.sampled_from(names), unique=True))
    weights = {name: draw(st.sampled_from(("1", "2", "0.5"))) for name in (*taking, "s")}
    return Setting(
        p=draw(st.sampled_from(("0.4", "0.5", "0.6", "0.8"))),
        d=draw(st.sampled_from(("0.3", "0.5", "0.75", "1"))),
        distinct=draw(st.integers(2, 3)),
        margin=0,
        form=draw(st.sampled_from(forms)),
        removal=draw(st.sampled_from(("once", "repeat", "none"))),
        rescale=draw(st.sampled_from(("yes", "no"))),
        columns=tuple(sorted((*taking, "s"))) if len(taking) < columns else (),
        weights=weights,
    )


def _whole(
    columns: list[tuple[str, Any, bool]], table: list[tuple[tuple[int, ...], int | None]], setting: Setting
) -> PlainTable:
    """Leave codes that nobody has out of ranges and sets, as encoding does; missing as well."""
    rows, values = [list(row) for row, _ in table], [value for _, value in table]
    kept: list[tuple[str, Any, bool]] = []
    for j, (kind, about, missing) in enumerate(columns):
        met = sorted({row[j] for row in rows})
        gone = 0 if kind == "range" else _size(columns[j]) - 1
        still = missing and gone in met
        if kind == "tree":
            kept.append((kind, about, still))
            continue
        shift = 1 if kind == "range" and missing else 0
        real = [code for code in met if not (missing and code == gone)]
        new = {code: i + (1 if kind == "range" and still else 0) for i, code in enumerate(real)}
        if still:
            new[gone] = 0 if kind == "range" else len(real)
        for row in rows:
            row[j] = new[row[j]]
        kept.append((kind, [about[code - shift] for code in real] if kind == "range" else len(real), still))
    if any(kind == "range" and not about for kind, about, _ in kept):
        kept = [(kind, about or [0], missing) for kind, about, missing in kept]
    return PlainTable(kept, [tuple(row) for row in rows], values, setting)


def as_printed(table: PlainTable) -> PlainTable:
    return replace(table, printed=True)
