"""Hierarchy files of a project: each is written once and never changed, so that undo finds the old one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.studio.project import Project, write_whole

FOLDER = "hierarchies"
MOST_BYTES = 64 << 20  # as hierarchies are read
MOST_FILES = 200
LONGEST_NAME = 40


def kept(project: Project, column: str, text: str) -> str:
    """Write a hierarchy as a new file; one with this very text is used again. Its path in the policy."""
    folder, content = project.inside(FOLDER), text.encode()
    stem, number = stem_of(column), 1
    while (path := folder / f"{stem}-{number}.csv").exists():
        if not path.is_symlink() and path.is_file() and path.read_bytes() == content:
            return f"{FOLDER}/{path.name}"
        number += 1
    write_whole(path, content)
    return f"{FOLDER}/{path.name}"


def is_own(file: str) -> bool:
    """Is this how a policy names a file that lies in the project?"""
    folder, _, name = file.partition("/")
    return folder == FOLDER and bool(name) and "/" not in name and not name.startswith(".")


def stem_of(column: str) -> str:
    """The name of a column as a name of files has it."""
    plain = re.sub(r"[^a-z0-9_]+", "-", column.casefold(), flags=re.ASCII).strip("-")
    return plain[:LONGEST_NAME] or "column"


def stamp(project: Project, described: Mapping[str, Mapping[str, Any]]) -> str:
    """How the hierarchy files of a policy lie on disk: another stamp, and they are read again."""
    said = []
    for name, words in sorted(described.items()):
        file = words.get("hierarchy")
        if isinstance(file, str):
            try:
                facts = os.stat(project.folder / file)
                said.append((name, file, facts.st_mtime_ns, facts.st_size, facts.st_ino))
            except (OSError, ValueError):
                said.append((name, file, 0, 0, 0))
    return sha256(repr(said).encode()).hexdigest()[:16] if said else ""


def offered(start: Path, project: Project) -> list[Path]:
    """Files that may be hierarchies: in the start folder, the table's folder, and hierarchies there."""
    table = project.table.path.parent
    folders = (project.inside(FOLDER), start, start / FOLDER, table, table / FOLDER)
    found: list[Path] = []
    for folder in dict.fromkeys(folders):
        found += _csv_files(folder)
    own = project.table.path
    unique = {path.resolve(): path for path in found if path.resolve() != own.resolve()}
    return list(unique.values())[:MOST_FILES]


def _csv_files(folder: Path) -> Iterable[Path]:
    found = []
    with suppress(OSError):
        for path in sorted(folder.iterdir(), key=lambda one: one.name.lower()):
            with suppress(OSError):
                facts = path.lstat()
                regular = stat.S_ISREG(facts.st_mode) and facts.st_size <= MOST_BYTES
                if regular and path.suffix.lower() == ".csv" and not path.name.startswith("."):
                    found.append(path)
    return found


def text_of(path: Path) -> str:
    """The text of an offered file."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError:
        raise InputError(f"{path.name} is gone or may not be read; choose again") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{path.name} is larger than {MOST_BYTES >> 20} MiB; hierarchies are small")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} is not UTF-8 text; save the file in that encoding") from None
