"""Parts of the check of t-closeness that releases of a few rows never reach."""

from __future__ import annotations

import numpy as np

from incrowd.verifier.claims.closeness import _wide


def test_sums_that_may_not_fit_64_bits_are_added_up_as_they_are() -> None:
    assert _wide(2**62 - 1) is np.int64
    assert _wide(2**62) is object
