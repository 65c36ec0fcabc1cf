"""What differs between Linux, macOS and Windows (docs/platforms.md): locks, owners, limits, signals."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def _module(name: str) -> Any:
    """A module of the standard library that not every system has."""
    try:
        return import_module(name)
    except ImportError:
        return None


fcntl: ModuleType | None = _module("fcntl")
msvcrt: ModuleType | None = _module("msvcrt")
resource: ModuleType | None = _module("resource")

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
PRIVATE: int = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)  # not for children; bytes as they are
# O_NONBLOCK: opening a pipe that nobody writes to must not hang
READ: int = os.O_RDONLY | NO_LINK | PRIVATE | getattr(os, "O_NONBLOCK", 0)
NOWHERE = {"win32": r"NUL:\nowhere", "darwin": "/dev"}.get(
    sys.platform, "/proc"
)  # nobody can make a file there
APART = resource is not None and Path("/dev/fd").is_dir()  # may a child with limits read an open file?
KEEPS_OPEN_FILES = os.name == "nt"  # a file that is open cannot be removed
ASSUMED_MEMORY = 4 * 2**30  # bytes, where the system does not say
_WAIT = 0.05  # seconds between two tries to lock


def open_plain(path: Path) -> int:
    """Open a file to be read, and no link; a system that cannot refuse links is asked for them first."""
    if not NO_LINK and path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return os.open(path, READ)


def lock(handle: int, wait: bool = True) -> None:
    """Lock an open file for this process alone; `OSError` if another has it and we do not wait."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    if msvcrt is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    while True:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return
        except OSError:
            if not wait:
                raise
        time.sleep(_WAIT)


def user() -> int | None:
    """The number of the user; None where users have none, so that nobody can tell whose a file is."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def flush(path: Path) -> None:
    """Have the disk keep a file, or a folder where folders can be opened."""
    if KEEPS_OPEN_FILES and path.is_dir():
        return
    handle = os.open(path, (os.O_RDWR if KEEPS_OPEN_FILES else os.O_RDONLY) | PRIVATE)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """Bytes of memory that this machine has."""
    if not hasattr(os, "sysconf"):
        return ASSUMED_MEMORY
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def limit(name: str, value: int) -> None:
    """Lower a limit of this process, as far as the system knows it (macOS bounds no address space)."""
    if resource is None:
        return
    which = getattr(resource, name)
    hard = resource.getrlimit(which)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(ValueError) if sys.platform == "darwin" else contextlib.nullcontext():
        resource.setrlimit(which, (value, value))


def c_library() -> Any:
    """The system's own functions; None where they cannot be asked for by name."""
    try:
        return ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):
        return None
