"""The one door to numba: how every kernel is compiled.

Compiled code is cached beside the module (or in the user's own cache folder), so only the first run on a
machine pays for compiling. No fast-math: sums must not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function over arrays."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)


def inlined(function: Function) -> Function:
    """Compile a helper into each kernel that calls it: passing many arrays costs more than small work."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function)
    return cast(Function, compiled)
