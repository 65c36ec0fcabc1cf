"""Types of the arrays that kernels loop over: numba infers them, readers and mypy need them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = int | np.int64  # inside a kernel there is no difference
Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
AnyInts = NDArray[np.integer[Any]]  # a kernel that is compiled for several widths
Marks = NDArray[np.int8]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]  # sets of codes as bits
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
