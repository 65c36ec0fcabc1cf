"""Where compiled kernels are kept: one folder for all checkouts of a user, into which nobody else can write.

Loading compiled code runs it, so a folder counts only if it, all folders above it and each file belong to the
user or to root, and nobody else may write there. Else nothing is loaded and nothing is kept, with a warning.

The folder is named after the machine and the versions of what compiles. A file is named after what it holds:
the sources, the function, the types. Numba itself numbers its files and lists them in an index; of two
processes that write at once one may be listed with the code of the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np
from numba.core.caching import IndexDataCacheFile, _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys

from incrowd.kernels.compiling import compiling

BESIDE = Path(__file__).parent / "__kept__"  # for all users of an installation, who can only read it


@cache
def machine() -> str:
    """A name for what compiled code depends on besides its sources."""
    python = (sys.implementation.cache_tag, platform.python_version(), platform.machine())
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    cpu = (llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten())
    return hashlib.sha256(repr((python, versions, cpu)).encode()).hexdigest()[:16]


def own_folder() -> Path:
    """The user's own folder: where numba is told to keep things, else where the system keeps caches."""
    told = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    return (Path(told) if told else Path.home() / ".cache") / "incrowd" / "kernels"


def danger(*places: Path) -> str:
    """Why somebody else may have written to the first of these, which the others hold; else nothing."""
    user = os.geteuid() if hasattr(os, "geteuid") else None  # where users have no number, modes decide
    for place in places:
        found = place.lstat()
        if found.st_uid not in (0, user):
            return f"{place} belongs to another user"
        sticky = place != places[0] and found.st_mode & stat.S_ISVTX
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not sticky:
            return f"others may write into {place}"
    return ""


@cache
def usable(folder: Path, mode: int | None = None) -> Path | None:
    """The folder of this machine in `folder`, if it is safe. It is made with this mode, if one is given."""
    home = folder / machine()
    try:
        if mode is not None:
            _make(home, mode)
        home = home.resolve(strict=True)
        problem = danger(home, *home.parents)
    except (OSError, RuntimeError):
        return None  # no such folder, or no room for one
    if problem:
        warnings.warn(f"compiled kernels are neither kept nor used, since {problem}", stacklevel=2)
        return None
    return home


def _make(folder: Path, mode: int) -> None:
    for place in (*reversed(folder.parents), folder):
        if not place.exists():
            with contextlib.suppress(FileExistsError):  # another process was quicker
                place.mkdir(mode=mode)


class Kept(_Cache):
    """The compiled forms of one function, on disk."""

    def __init__(self, function: Callable[..., Any], stamp: str, options: Mapping[str, Any]) -> None:
        code = hashlib.sha256(function.__code__.co_code).hexdigest()
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        # Options count: the same function with and without a door for Python is not the same code.
        self.sources = (stamp, self.name, code, sorted(options.items()))

    @property
    def cache_path(self) -> str:
        return str(own_folder())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is kept for these types, or nothing."""
        rtsys.initialize(target_context)  # what counts references, which kept code calls
        for home in (usable(own_folder()), usable(BESIDE)):
            found = home and self._loaded(home, sig, target_context)
            if found is not None:
                return found
        target_context.refresh()  # all that numba can compile, which is loaded only where something must be
        compiling.begins()
        return None

    def _loaded(self, home: Path, sig: Any, target_context: Any) -> Any:
        file = KeptFile(home, self, sig, target_context.codegen())
        try:
            if any(danger(path) for path in file.paths):
                return None
            found = file.load(file.key)
            return None if found is None else CompileResult._rebuild(target_context, *found)
        except Exception:  # whatever is wrong with a file, compiling again mends it
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        home = usable(BESIDE, 0o755) if compiling.for_all else usable(own_folder(), 0o700)
        if home is not None and not data.library.has_dynamic_globals and not data.lifted:
            file = KeptFile(home, self, sig, data.codegen)
            with contextlib.suppress(OSError):  # a full disk: the next run compiles again
                file.save(file.key, data._reduce())

    def enable(self) -> None:
        """Nothing to do: kept code is always used."""

    def disable(self) -> None:
        """Nothing to do."""

    def flush(self) -> None:
        """Nothing to do: what is out of date has another name."""


class KeptFile(IndexDataCacheFile):
    """A compiled function for one list of types: an index with one line, and the code."""

    def __init__(self, home: Path, kept: Kept, sig: Any, codegen: Any) -> None:
        self.key = (sig, codegen.magic_tuple())
        content = hashlib.sha256(repr((kept.sources, str(sig), codegen.magic_tuple())).encode()).hexdigest()
        super().__init__(str(home), f"{kept.name}-{content[:24]}", kept.sources)

    @property
    def paths(self) -> tuple[Path, Path]:
        return Path(self._index_path), Path(self._data_path(self._data_name(1)))

    def save(self, key: Any, data: Any) -> None:
        """Code first: an index never names what is not there."""
        name = self._data_name(1)
        self._save_data(name, data)
        self._save_index({key: name})

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[Any]:
        number, aside = tempfile.mkstemp(dir=self._cache_path)  # for the user alone
        try:
            with os.fdopen(number, "wb") as file:
                yield file
                if compiling.for_all and hasattr(os, "fchmod"):
                    os.fchmod(number, 0o644)
            os.replace(aside, filepath)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
