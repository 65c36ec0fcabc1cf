"""Local outlier factors against the definition, and against scikit-learn's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.night import NIGHT
from twins import density as naive

from incrowd.distance_outliers import Setting, Space
from incrowd.distance_outliers.density import LocalDensity, local_outlier_factors
from incrowd.encode import encode
from incrowd.errors import TableError
from incrowd.flow import Microdata, Table
from incrowd.schema import Column, Kind, Role, Schema

VALUE = st.one_of(st.none(), *[st.integers(0, 7)] * 6)


def numbers(records: list[naive.Record]) -> Microdata:
    """A table of numbers; the last column is sensitive."""
    width = len(records[0])
    texts = {f"c{j}": ["" if row[j] is None else str(row[j]) for row in records] for j in range(width)}
    roles = [Role.QUASI] * (width - 1) + [Role.SENSITIVE]
    schema = Schema(tuple(Column(n, role, Kind.NUMERIC) for n, role in zip(texts, roles, strict=True)))
    return encode(Table.of(texts), schema)


def factors(records: list[naive.Record], m: int) -> np.ndarray:
    setting = Setting(p="0.8", d="0.85", distinct=2, margin=0, removal="none")
    cloud = Space.of(numbers(records), setting).cloud
    return local_outlier_factors(cloud, m)[cloud.which]


@given(
    records=st.lists(st.tuples(VALUE, VALUE, st.integers(0, 9)), min_size=3, max_size=14),
    m=st.integers(1, 5),
)
@settings(max_examples=2000 if NIGHT else 200, deadline=None)
def test_factors_are_those_of_the_definition_with_ties_equal_records_and_missing_values(
    records: list[naive.Record], m: int
) -> None:
    assume(len(set(records)) > m)
    assert factors(records, m) == pytest.approx(naive.local_outlier_factors(records, m), rel=1e-9)


@given(
    records=st.lists(st.tuples(VALUE, VALUE, st.integers(0, 9)), min_size=4, max_size=9),
    rows=st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)),
    m=st.integers(1, 3),
)
@settings(max_examples=100, deadline=None)
def test_the_factor_of_somebody_elsewhere_is_that_of_the_definition(
    records: list[naive.Record], rows: tuple[int, int, int], m: int
) -> None:
    """A point that has each of its values from some record, so that all are codes of the table."""
    assume(len(set(records)) > m)
    point = tuple(records[i][j] for j, i in enumerate(rows))
    setting = Setting(p="0.8", d="0.85", distinct=2, margin=0, removal="none")
    space = Space.of(numbers(records), setting)
    codes = np.array([[axis.codes[i] for axis, i in zip(space.axes, rows, strict=True)]], np.int32)
    factor = naive.factor_at(records, point, m)
    for above, expected in ((factor * (1 - 1e-9), True), (factor * (1 + 1e-9), False)):
        density = LocalDensity.of(space.cloud, m, above)
        assert replace(space, density=density).bad(codes).tolist() == [expected]


@pytest.mark.parametrize("m", [1, 5, 20])
def test_factors_are_scikit_learns_where_no_two_distances_are_equal(m: int) -> None:
    """Scikit-learn takes m neighbours whoever else is as near, so that ties are left to it."""
    from sklearn.neighbors import LocalOutlierFactor

    dice = np.random.default_rng(4)
    points = np.concatenate([dice.normal(0, 1, (150, 3)), dice.normal(6, 0.2, (40, 3)), [[30, 0, 3]]])
    whole = np.round(points * 1e7).astype(np.int64)
    scaled = (whole - whole.min(axis=0)) / (whole.max(axis=0) - whole.min(axis=0))
    theirs = -LocalOutlierFactor(n_neighbors=m).fit(scaled).negative_outlier_factor_
    ours = factors([tuple(map(int, row)) for row in whole], m)
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert ours.argmax() == len(whole) - 1


def test_fewer_points_than_neighbours_are_refused() -> None:
    with pytest.raises(TableError, match="3 neighbours: only 3 different records"):
        factors([(1, 1), (2, 1), (2, 1), (3, 4)], 3)
