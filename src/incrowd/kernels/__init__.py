"""Compiled loops over arrays (numba), which know nothing else of incrowd.

A module of them is read when something in it is first used: numba is heavy, and most of incrowd does
without it. So everybody may import kernels where imports belong, at the top.
"""

from __future__ import annotations

import os
import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType

# As plain Python, numbers of 8 bits overflow where compiled code widens them: results would be wrong.
os.environ.pop("NUMBA_DISABLE_JIT", None)


def __getattr__(name: str) -> ModuleType:
    found = find_spec(f"{__name__}.{name}")
    if found is None or found.loader is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found.loader = LazyLoader(found.loader)
    module = sys.modules[found.name] = globals()[name] = module_from_spec(found)
    found.loader.exec_module(module)
    return module
