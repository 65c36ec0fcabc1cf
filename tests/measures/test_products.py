"""Sums of products in parts are those of numpy, and no part is so large that others compute it, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.measures import products
from incrowd.measures.products import A_ROW, MATRICES, product

sizes = st.integers(1, 6)


@given(rows=sizes | st.none(), inner=st.integers(0, 40), columns=sizes, most=st.integers(1, 30))
def test_parts_add_up_to_the_whole(rows: int | None, inner: int, columns: int, most: int) -> None:
    random = np.random.default_rng(inner)
    left = random.integers(-9, 9, inner if rows is None else (rows, inner))
    right = random.integers(-9, 9, (inner, columns)).astype(np.float64)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("MATRICES", "A_ROW"):
            patch.setattr(products, name, most)
        assert np.array_equal(product(left, right), left @ right)


class Noted(np.ndarray[Any, Any]):
    """An array that says how many products it is asked for at once."""

    asked: list[int] = []  # noqa: RUF012

    def __matmul__(self, other: Any) -> Any:
        Noted.asked.append(self.size * other.shape[1])
        return np.asarray(self) @ other


@pytest.mark.parametrize(("shape", "columns", "most"), [((50_000,), 30, A_ROW), ((20, 9_000), 70, MATRICES)])
def test_no_part_is_shared_out_to_threads(shape: tuple[int, ...], columns: int, most: int) -> None:
    Noted.asked.clear()
    left = np.ones(shape).view(Noted)
    assert (product(left, np.ones((shape[-1], columns))) == shape[-1]).all()
    assert max(Noted.asked) <= most < sum(Noted.asked) == left.size * columns
