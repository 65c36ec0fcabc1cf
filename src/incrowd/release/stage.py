"""Publishing a folder all at once or not at all.

Everything is written into a private stage beside the destination, on the same filesystem. Only what the
verifier has accepted is renamed to its final name, which happens in one step: a folder with the final name
is complete. A crash leaves at most a stage, which the next run removes. What an engine writes on the way lies
in such a folder too, never in the common one for temporary files.

A stage is alive while its lock is held. The lock is the first thing in a stage and the last to go, so a
stage without one is empty. Release and audit are two folders and two renames; what is needed to take the
first back, should the second never happen, is noted in the stage beforehand. A release of a series takes a
third: the mark of a successor, which goes into the audit of its parent, where there may be one only.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incrowd import system
from incrowd.errors import InputError, Refused, option
from incrowd.long_work import cleaned_by, held
from incrowd.schema import MANIFEST
from incrowd.tables.checked_files import sha256_of

PREFIX = ".incrowd-stage-"
LOCK = "lock"
NOTE = "commit"
AUDIT = "audit.json"  # what tells an audit from other folders, as MANIFEST does a release
LEDGER, SUCCESSOR = "ledger.json", "successor.json"  # of the audit, where a release is of a series
EPOCH = 315532800  # 1980-01-01: the time of writing tells outsiders nothing
_TRIES = 100
_NOREPLACE, _EXCHANGE = 1, 2


def audit_folder(destination: Path) -> Path:
    """Where what must not be published lies."""
    return destination.with_name(destination.name + ".audit")


@contextmanager
def stage(destination: Path, replace: bool = False) -> Iterator[Path]:
    """A private folder with ``release`` and ``audit`` inside, gone at the end unless committed.

    Refused if the destination cannot be written, or exists and `replace` is not set.
    """
    try:
        with private_folder(destination, replace) as folder:
            (folder / "release").mkdir(mode=0o700)
            (folder / "audit").mkdir(mode=0o700)
            yield folder
    except OSError as error:
        raise _cannot_write(destination, error) from None


@contextmanager
def private_folder(destination: Path, replace: bool = False) -> Iterator[Path]:
    """An empty folder beside the destination, gone at the end; after a crash the next run removes it.

    Refused as a stage is, so that a bad destination is known before hours of work.
    """
    mine: list[Path] = []
    with cleaned_by(lambda: [_discard(folder) for folder in mine]):
        try:
            _check(destination, replace)
            sweep(destination.parent)
            _check_ledger(destination)
            folder, lock = _new(destination.parent, mine)
        except OSError as error:
            raise _cannot_write(destination, error) from None
        try:
            yield folder
        finally:
            with held():
                _discard(folder)
                os.close(lock)
                if system.KEEPS_OPEN_FILES:
                    _discard(folder)


def _cannot_write(destination: Path, error: OSError) -> InputError:
    return InputError(f"cannot write into {destination.parent}: {_words(error)}")


def _words(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else "unknown error"


def _check(destination: Path, replace: bool) -> None:
    parent = destination.parent
    if destination.name in ("", "..") or "\0" in str(destination):
        raise InputError("the release needs a folder of its own; name a new one")
    if not parent.is_dir():
        raise InputError(f"the folder {parent} does not exist; create it first")
    if destination.is_symlink():
        raise InputError(f"{destination} is a link; name a new folder")
    if _exists(destination) and not replace:
        of_series = _exists(audit_folder(destination) / LEDGER)
        way = "" if of_series else f", or replace it with {option('replace', True)}"
        raise InputError(f"{destination} exists; name a new folder{way}")
    if _exists(destination) and not (destination / MANIFEST).is_file():
        raise InputError(f"{destination} exists and is no release; it is not replaced")
    private = audit_folder(destination)
    if _exists(private) and (private.is_symlink() or not (private / AUDIT).is_file()):
        raise InputError(f"{private} exists and is no audit of a release; it is not replaced")


def _check_ledger(destination: Path) -> None:
    """Not before the sweep, which takes away the ledger of a release that was never committed."""
    if _exists(audit_folder(destination) / LEDGER):
        raise InputError(
            f"{destination} is a release of a series and not replaced: even one that was retracted counts"
        )


def _exists(path: Path) -> bool:
    """Is there anything of this name, be it a link to nothing? A name that cannot be is an OSError."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _new(parent: Path, mine: list[Path]) -> tuple[Path, int]:
    """A new stage, and its lock; noted in `mine` before it is there.

    Until the lock is held, another run may take the folder for a dead one and remove it: then it is made
    once more.
    """
    for _ in range(_TRIES):
        folder = parent / (PREFIX + secrets.token_hex(8))
        mine.append(folder)
        folder.mkdir(mode=0o700)
        lock = -1
        try:
            lock = os.open(folder / LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR | system.PRIVATE, 0o600)
            system.lock(lock)
            if os.fstat(lock).st_nlink:
                return folder, lock
        except FileNotFoundError:
            continue
        except BaseException:
            _discard(folder)
            if lock >= 0:
                os.close(lock)
            raise
        os.close(lock)
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


@dataclass(frozen=True, slots=True)
class _Move:
    """A folder of the stage on its way to its final name; it is known by its inode wherever it is."""

    source: Path
    target: Path
    inode: int
    alone: bool = False  # nothing may be there before

    def forth(self) -> None:
        there = not self.alone and _exists(self.target)
        _rename(self.source, self.target, _EXCHANGE if there else _NOREPLACE)

    def back(self) -> None:
        """Put everything where it was, however far `forth` came."""
        aside = _aside(self.source)
        if _inode(self.target) == self.inode:
            _rename(self.target, self.source, _EXCHANGE if _exists(self.source) else _NOREPLACE)
        if _exists(aside) and not _exists(self.target):
            os.rename(aside, self.target)


def commit(folder: Path, destination: Path, replace: bool = False, after: Path | None = None) -> None:
    """Give a stage its final names: the audit first, the release last and in one step.

    Refused if something came to the destination since the stage was made, or if the release that it is to
    come `after`, beside it, got another successor.
    """
    _settle(folder / "audit", 0o700, 0o600)
    _settle(folder / "release", 0o755, 0o644)  # a release is meant to be read by others
    with _alone(destination.parent):
        _check_again(destination, replace)
        if after is not None:
            _mark(folder, destination, after)
        moves = _noted(folder, destination, after)
        try:
            for move in moves:
                move.forth()
                _sync(move.target.parent)
        except BaseException as problem:
            for move in reversed(moves):
                move.back()
            if isinstance(problem, FileExistsError):
                raise _appeared(destination) from None
            raise


def _mark(folder: Path, destination: Path, after: Path) -> None:
    """Write the mark of a successor; refused where the parent has one."""
    if _exists(audit_folder(after) / SUCCESSOR):
        raise Refused(
            f"another release came after {after.name} while this one was made; go on after that one"
        )
    manifest = sha256_of(folder / "release" / MANIFEST)
    mark = folder / SUCCESSOR
    text = json.dumps({"folder": destination.name, "manifest": manifest}) + "\n"
    mark.write_text(text, encoding="utf-8", newline="\n")
    os.chmod(mark, 0o600)
    os.utime(mark, (EPOCH, EPOCH))
    _sync(mark)


def _check_again(destination: Path, replace: bool) -> None:
    try:
        _check(destination, replace)
        _check_ledger(destination)
    except InputError:
        raise _appeared(destination) from None


def _appeared(destination: Path) -> Refused:
    return Refused(f"{destination} appeared while the release was made; nothing was replaced")


def _settle(folder: Path, folder_mode: int, file_mode: int) -> None:
    """Set modes whatever the umask, flush everything, and forget when it was written."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            _settle(path, folder_mode, file_mode)
            continue
        os.chmod(path, file_mode)
        os.utime(path, (EPOCH, EPOCH))
        _sync(path)
    os.chmod(folder, folder_mode)
    os.utime(folder, (EPOCH, EPOCH))
    _sync(folder)


def _sync(path: Path) -> None:
    system.flush(path)


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Nobody else commits into this folder meanwhile (where folders can be locked)."""
    if not hasattr(os, "O_DIRECTORY"):  # the renames alone have to do: none of them replaces a folder
        yield
        return
    handle = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | system.PRIVATE)
    try:
        with contextlib.suppress(OSError):
            system.lock(handle)
        yield
    finally:
        os.close(handle)


def _noted(folder: Path, destination: Path, after: Path | None = None) -> list[_Move]:
    """What is about to be moved, written down for whoever finds the stage if we die on the way."""
    note = {"destination": destination.name}
    if after is not None:
        note |= {"after": after.name, "mark": str(_inode(folder / SUCCESSOR))}
    note |= {name: str(_inode(folder / name)) for name in ("audit", "release")}
    with (folder / NOTE).open("x", encoding="utf-8", newline="\n") as file:
        json.dump(note, file)
        file.flush()
        os.fsync(file.fileno())
    return _moves(folder)


def _moves(folder: Path) -> list[_Move]:
    """What the note of a stage says; nothing if it has none, or only half of one."""
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
        destination = folder.parent / Path(note["destination"]).name
        marked = audit_folder(folder.parent / Path(note.get("after", "-")).name) / SUCCESSOR
        mark = [_Move(folder / SUCCESSOR, marked, int(note["mark"]), alone=True)] if "mark" in note else []
        return [
            *mark,
            _Move(folder / "audit", audit_folder(destination), int(note["audit"])),
            _Move(folder / "release", destination, int(note["release"])),
        ]
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return []


def _inode(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except (FileNotFoundError, NotADirectoryError):
        return -1


def _rename(source: Path, target: Path, how: int) -> None:
    """Rename without replacing, or exchange two names, in one step of the kernel where it can."""
    code = _renameat2(source, target, how)
    if code in (errno.ENOSYS, errno.EINVAL):
        _rename_plainly(source, target, how)
    elif code:
        raise OSError(code, os.strerror(code), str(target))


def _renameat2(source: Path, target: Path, how: int) -> int:
    """The system call -> its error number, 0 if it was done."""
    libc = system.c_library()
    at_cwd = -100
    if not hasattr(libc, "renameat2"):
        return errno.ENOSYS
    done = libc.renameat2(at_cwd, os.fsencode(source), at_cwd, os.fsencode(target), how) == 0
    return 0 if done else ctypes.get_errno()


def _rename_plainly(source: Path, target: Path, how: int) -> None:
    """For filesystems without the one-step forms: a folder that exists is never overwritten.

    An exchange then takes several steps. Whoever dies between the first and the second leaves nothing
    under the final name; the next run in the same folder puts the old one back.
    """
    if how == _NOREPLACE:
        if _exists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(source, target)
        return
    aside = _aside(source)
    os.rename(target, aside)
    try:
        os.rename(source, target)
    except BaseException:
        os.rename(aside, target)
        raise
    os.rename(aside, source)


def _aside(source: Path) -> Path:
    return source.with_name(source.name + "-old")


def sweep(parent: Path) -> int:
    """Remove stages that a crash left behind: our own, whose lock nobody holds -> how many."""
    return sum(_swept(folder) for folder in list(parent.glob(PREFIX + "*")) if _ours(folder))


def _ours(folder: Path) -> bool:
    """A stage of another user is not touched, and its note not believed."""
    with contextlib.suppress(OSError):
        found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and found.st_uid == system.user()
    return False


def _swept(folder: Path) -> bool:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | system.PRIVATE | system.NO_LINK)
    except FileNotFoundError:
        # without a lock it is empty; whoever is just making it will notice and make another
        with contextlib.suppress(OSError):
            folder.rmdir()
            return True
        return False
    except OSError:
        return False
    try:
        system.lock(lock, wait=False)
        return _discard(folder)
    except OSError:
        return False
    finally:
        os.close(lock)


def _discard(folder: Path) -> bool:
    """Remove a stage, its lock last, after taking back what was committed by half -> is it gone?

    A stage from which something could not be taken back is left for the next run: an old release may
    be inside.
    """
    try:
        _take_back(folder)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _take_back(folder: Path) -> None:
    """Undo a commit that did not get as far as the release."""
    moves = _moves(folder)
    if not moves or _inode(moves[-1].source) != moves[-1].inode:
        return
    with _alone(folder.parent):
        for move in reversed(moves):
            move.back()


def described(path: Path) -> dict[str, Any]:
    """What a manifest says of a file."""
    return {"sha256": sha256_of(path), "bytes": path.stat().st_size}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write what a release or its audit says, one thing on a line."""
    text = json.dumps(content, indent=2, ensure_ascii=False, default=_plain) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else str(value)
