"""A project on disk: the folder of one table with its policy, history, jobs, releases; no copy of the table.

::

    NAME.incrowd/            0700
      project.toml           which table: path, size, digest
      policy.toml            all choices; the state of the studio
      history/  jobs/  hierarchies/  releases/  reports/  dropped/
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from incrowd import system
from incrowd.errors import InputError

SUFFIX = ".incrowd"
FOLDERS = ("history", "jobs", "hierarchies", "releases", "reports", "dropped")
LOCK = ".lock"
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class TableFile:
    """The table of a project, and what it was when it was last read."""

    path: Path
    encoding: str = ""
    sheet: str = ""
    sql: str = ""  # a table or a view of a database
    dropped: bool = False  # the file is a copy inside the project
    size: int = 0
    digest: str = ""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def asks(self) -> str:
        """What somebody may have to say so that it can be read: encoding, sheet, or sql."""
        end = self.path.suffix.lower()
        if end in (".sqlite", ".sqlite3", ".db", ".duckdb"):
            return "sql"
        return "sheet" if end in (".xlsx", ".xlsm", ".ods", ".zip") else "encoding"


@dataclass
class Project:
    """A folder that this process has opened; only the first opener may write into it."""

    folder: Path
    table: TableFile
    read_only: bool = False
    lock: _Lock | None = None

    @property
    def name(self) -> str:
        return self.folder.name.removesuffix(SUFFIX)

    @property
    def policy(self) -> Path:
        return self.folder / "policy.toml"

    def inside(self, name: str) -> Path:
        return self.folder / name

    def changed(self, **parts: Any) -> None:
        """Another fact about the table: kept in memory and on disk."""
        self.table = replace(self.table, **parts)
        if not self.read_only:
            write_whole(self.folder / "project.toml", _project_text(self.table).encode())

    def seen(self, screen: str) -> bool:
        """Has somebody looked at this screen?"""
        return screen in self._seen()

    def looked_at(self, screen: str) -> None:
        """Note that somebody looked at a screen."""
        if not self.read_only and screen not in self._seen():
            write_whole(self.folder / "seen.json", json.dumps(sorted({*self._seen(), screen})).encode())

    def _seen(self) -> set[str]:
        try:
            return set(json.loads(read_bytes(self.folder / "seen.json") or b"[]"))
        except (ValueError, TypeError):
            return set()

    def close(self) -> None:
        if self.lock is not None:
            self.lock.close()
            self.lock = None


def project_for(table: Path, start: Path) -> Path:
    """The folder that a table's project has by default: in the start folder, or beside the table."""
    table = table.resolve()
    home = start if _within(table, start) and os.access(start, os.W_OK) else table.parent
    stem = re.sub(r"[^\w.-]+", "-", table.name.split(".")[0], flags=re.ASCII).strip("-.") or "table"
    return home / f"{stem}{SUFFIX}"


def opened(folder: Path, table: TableFile | None = None) -> Project:
    """Open a project, or make it for a table. The second who opens it may only read."""
    found = _described(folder) if (folder / "project.toml").exists() else None
    if found is None and table is None:
        raise InputError(f"{folder.name} is no project of the studio: it has no project.toml")
    if found is not None and table is not None and found.path.resolve() != table.path.resolve():
        raise InputError(
            f"{folder.name} is the project of another table, {found.name}; name another folder with --project"
        )
    _make(folder)
    lock = _locked(folder)
    project = Project(folder, found or table or TableFile(Path()), lock is None, lock)
    if found is None and lock is not None:
        project.changed()
    return project


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != system.user():
            raise InputError(f"{folder} must be a folder of your own, and no link")
        folder.chmod(0o700)
        for name in FOLDERS:
            (folder / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the project {folder}: {error.strerror}") from None


class _Lock:
    """A lock on a project, held by this process until it is let go or forgotten."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    __del__ = close


def _locked(folder: Path) -> _Lock | None:
    """The lock of a project; None if another process has it."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        system.lock(handle, wait=False)
    except OSError:
        os.close(handle)
        return None
    return _Lock(handle)


def _described(folder: Path) -> TableFile:
    try:
        said = tomllib.loads((folder / "project.toml").read_text(encoding="utf-8"))["table"]
        return TableFile(
            Path(said["path"]),
            str(said.get("encoding", "")),
            str(said.get("sheet", "")),
            str(said.get("sql", "")),
            bool(said.get("dropped", False)),
            int(said.get("size", 0)),
            str(said.get("digest", "")),
        )
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        raise InputError(f"{folder.name}/project.toml cannot be read; to begin anew, move it away") from None


def _project_text(table: TableFile) -> str:
    said = {
        "path": str(table.path),
        "encoding": table.encoding,
        "sheet": table.sheet,
        "sql": table.sql,
        "dropped": table.dropped,
        "size": table.size,
        "digest": table.digest,
    }
    lines = (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in said.items())
    return (
        "\n".join(["# The table of this project. The choices are in policy.toml.", "[table]", *lines]) + "\n"
    )


def projects_in(folder: Path) -> Iterator[Path]:
    """The projects that lie in a folder."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.is_dir() and not path.is_symlink() and (path / "project.toml").is_file():
            yield path


def table_of(folder: Path) -> str:
    """The name of a project's table; empty if it cannot be told."""
    try:
        return _described(folder).name
    except InputError:
        return ""


def _within(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder.resolve())


# Files that are there whole, or not at all


def write_whole(target: Path, content: bytes) -> None:
    """Write beside the file, then put it in place in one step: it holds the old content or the new."""
    with whole_file(target) as file:
        file.write(content)


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """A new file, which takes its name once all is written."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    new = Path(name)  # 0600
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def read_bytes(path: Path) -> bytes | None:
    """A file of ours; None if it is not there, or not a file."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError:
        return None
