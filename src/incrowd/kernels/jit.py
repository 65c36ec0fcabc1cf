"""The one door to numba: how every kernel is compiled.

Compiled code is kept (`kept.py`), so only the first run on a machine pays for compiling. No fast-math: sums
must not depend on the machine.

A kernel has the kernels that it calls compiled into it, also those of other files. So all files that it is
made of count, when it is decided whether what is kept is still true.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from incrowd.kernels.kept import Kept

if getattr(numba.config, "DISABLE_JIT", 0):
    raise ImportError("numba was loaded with NUMBA_DISABLE_JIT: plain Python does not run kernels truly")


def _without_blas() -> None:
    """Load numba's arrays without linear algebra, which no kernel uses: it would import most of scipy."""
    from numba.np import linalg

    def absent() -> None:
        raise ImportError("kernels have no linear algebra")

    if not hasattr(linalg, "ensure_blas"):
        return  # another numba, which loads it and starts later
    there, linalg.ensure_blas = linalg.ensure_blas, absent
    try:
        import numba.np.arraymath  # noqa: F401 -- looks once for BLAS
    finally:
        linalg.ensure_blas = there


_without_blas()

Function = TypeVar("Function", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Most of the time of compiling a small function goes into taking its arguments from Python.
_INSIDE: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_BORROWED: set[Callable[..., Any]] = set()
_HERE = Path(__file__).parent
_IMPORTED = re.compile(
    r"^from incrowd\.kernels(?:\.(\w+))? import (\(.*?\)|[^\n]*)", re.MULTILINE | re.DOTALL
)


def borrowed(function: Function) -> Function:
    """Mark a function that makes and returns no array, before it is compiled: it counts no references.

    Whoever called the outermost kernel holds every array; to count who has one in hand takes longer than
    small work on it. Numba refuses to compile such a function if it makes an array or returns a part of one.
    """
    _BORROWED.add(function)
    return function


def kernel(function: Function) -> Function:
    """Compile a function over arrays."""
    return _kept(numba.njit(**_options(function))(function), function)


def inner(function: Function) -> Function:
    """Compile a function that kernels alone call: without the code that takes arguments from Python."""
    return _inside(numba.njit(**_options(function), **_INSIDE)(function), function)


def inlined(function: Function) -> Function:
    """As `inner`, compiled into each kernel that calls it: passing many arrays costs more than small work."""
    return _inside(numba.njit(**_options(function), **_INSIDE, forceinline=True)(function), function)


def with_door(function: Function) -> Function:
    """A kernel of its own that does what a function without a door does, for Python to call."""
    return kernel(getattr(function, "py_func", function))


def _options(function: Callable[..., Any]) -> dict[str, Any]:
    return {**_OPTIONS, "_nrt": function not in _BORROWED}  # said of all, or callers would decide it


def _inside(compiled: Any, function: Function) -> Function:
    """Let Python be told, rather than run into code that is not there, if it calls what has no door."""

    def keep(result: Any) -> None:
        compiled.overloads[tuple(result.signature.args)] = result

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError(f"{function.__name__} is called by kernels alone; make it a kernel to call it")

    compiled.add_overload, compiled._compile_for_args = keep, refuse
    return cast(Function, compiled)  # kept as a part of kernels, never by itself


def _kept(compiled: Any, function: Function) -> Function:
    """Keep what is compiled for as long as all its sources are as they were."""
    if function.__closure__ is None:  # what a closure holds is in no file
        sources = stamp(Path(function.__code__.co_filename).stem)
        compiled._cache = Kept(function, sources, compiled.targetoptions)
    return cast(Function, compiled)


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
