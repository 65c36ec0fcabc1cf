"""The one door to numba: how every kernel is compiled.

Compiled code is cached beside the module (or in the user's own cache folder), so only the first run on a
machine pays for compiling. No fast-math: sums must not depend on the machine.

A kernel has the kernels that it calls compiled into it, also those of other files. Numba looks at a kernel's
own file alone to see whether what is cached is still true; here all files that it is made of count.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_HERE = Path(__file__).parent
_IMPORTED = re.compile(
    r"^from incrowd\.kernels(?:\.(\w+))? import (\(.*?\)|[^\n]*)", re.MULTILINE | re.DOTALL
)


def kernel(function: Function) -> Function:
    """Compile a function over arrays."""
    return _stamped(numba.njit(cache=True, nogil=True, error_model="numpy")(function), function)


def inlined(function: Function) -> Function:
    """Compile a helper into each kernel that calls it: passing many arrays costs more than small work."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function)
    return _stamped(compiled, function)


def _stamped(compiled: Any, function: Function) -> Function:
    """Let the cached code of a kernel be good for as long as all its sources are as they were."""
    if compiled is not function:  # numba can be set to compile nothing
        file = compiled._cache._cache_file
        file._source_stamp = stamp(Path(function.__code__.co_filename).stem)
        file._load_index = _or_nothing(file._load_index)
    return cast(Function, compiled)


def _or_nothing(load: Callable[[], dict[Any, Any]]) -> Callable[[], dict[Any, Any]]:
    """Take an index of cached code for empty if it was written for classes that have other names by now."""

    def loaded() -> dict[Any, Any]:
        try:
            return load()
        except (AttributeError, ImportError):
            return {}

    return loaded


@cache
def stamp(module: str) -> str:
    """What the sources of a module and of all kernels that it imports hash to."""
    seen: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _HERE / f"{name}.py"
        if name not in seen and path.exists():
            seen[name] = path.read_text(encoding="utf-8")
            for single, several in _IMPORTED.findall(seen[name]):
                waiting += [single] if single else re.findall(r"\w+", several)
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()
