"""Publishing a folder all at once or not at all.

Everything is written into a private stage beside the destination, on the same filesystem. Only what the
judge has accepted is renamed to its final name, which happens in one step: a folder with the final name
is complete. A crash leaves at most a stage, which the next run removes.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from incrowd.errors import InputError, Refused

PREFIX = ".incrowd-stage-"
LOCK = "lock"
EPOCH = 315532800  # 1980-01-01: the time of writing tells outsiders nothing
_NOREPLACE, _EXCHANGE = 1, 2


def audit_folder(destination: Path) -> Path:
    """Where what must not be published lies."""
    return destination.with_name(destination.name + ".audit")


@contextmanager
def stage(destination: Path, replace: bool = False) -> Iterator[Path]:
    """A private folder with ``release`` and ``audit`` inside, gone at the end unless committed.

    Raises
    ------
    InputError
        If the destination cannot be written, or exists and `replace` is not set.
    """
    parent = destination.parent
    _check(destination, parent, replace)
    sweep(parent)
    try:
        folder = parent / (PREFIX + secrets.token_hex(8))
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise InputError(f"cannot write into {parent}: {_words(error)}") from None
    lock = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        (folder / "release").mkdir(mode=0o700)
        (folder / "audit").mkdir(mode=0o700)
        yield folder
    except OSError as error:
        raise InputError(f"cannot write into {parent}: {_words(error)}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _check(destination: Path, parent: Path, replace: bool) -> None:
    if not parent.is_dir():
        raise InputError(f"the folder {parent} does not exist; create it first")
    if destination.is_symlink():
        raise InputError(f"{destination} is a link; name a new folder")
    if destination.exists() and not replace:
        raise InputError(f"{destination} exists; name a new folder, or replace it with --replace")
    if destination.exists() and not (destination / "release.json").is_file():
        raise InputError(f"{destination} exists and is no release; it is not replaced")


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else "unknown error"


def commit(folder: Path, destination: Path, replace: bool = False) -> None:
    """Give a stage its final names: the audit first, the release last and in one step."""
    release, audit = folder / "release", folder / "audit"
    for path in (release, audit):
        _settle(path)
    private = audit_folder(destination)
    if private.exists():
        if destination.exists() and not replace:
            raise Refused(f"{destination} appeared while the release was made; nothing was replaced")
        _rename(audit, private, _EXCHANGE)
    else:
        _rename(audit, private, _NOREPLACE)
    os.chmod(release, 0o755)  # noqa: S103 - a release is meant to be read by others
    try:
        _rename(release, destination, _EXCHANGE if replace and destination.exists() else _NOREPLACE)
    except FileExistsError:
        raise Refused(f"{destination} appeared while the release was made; nothing was replaced") from None
    _sync(destination.parent)


def _settle(folder: Path) -> None:
    """Flush every file and forget when it was written."""
    for path in folder.iterdir():
        _sync(path)
        os.utime(path, (EPOCH, EPOCH))
    _sync(folder)
    os.utime(folder, (EPOCH, EPOCH))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _rename(source: Path, target: Path, how: int) -> None:
    """Rename without replacing, or exchange two names, in one step of the kernel where it can."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2"):
        at_cwd = -100
        if libc.renameat2(at_cwd, os.fsencode(source), at_cwd, os.fsencode(target), how) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.ENOSYS, errno.EINVAL):
            raise OSError(code, os.strerror(code), str(target))
    _rename_plainly(source, target, how)


def _rename_plainly(source: Path, target: Path, how: int) -> None:
    """For filesystems without the one-step forms: a folder that exists is never overwritten."""
    if how == _EXCHANGE:
        aside = source.with_name(source.name + "-old")
        os.rename(target, aside)
    elif target.exists():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    os.rename(source, target)


def sweep(parent: Path) -> int:
    """Remove stages that a crash left behind: those whose lock nobody holds -> how many."""
    swept = 0
    for folder in parent.glob(PREFIX + "*"):
        if folder.is_dir() and not folder.is_symlink() and _abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)
            swept += 1
    return swept


def _abandoned(folder: Path) -> bool:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # killed before the lock was made, or just being made: leave it a minute
        with contextlib.suppress(OSError):
            return _age(folder) > 60
        return False
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _age(folder: Path) -> float:
    import time

    return time.time() - folder.stat().st_mtime
