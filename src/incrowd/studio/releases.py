"""Releases, and tables that other tools published: found on disk, and known to pages by a key of their own.

A key stays with a folder: it is the same after a restart, and when other releases have come or gone. No path
comes from a page: a key is looked for among what was found.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.schema import MANIFEST
from incrowd.studio.project import Project

PRIVATE = ".audit"
MOST_FOUND = 200  # of each kind that a page lists
MOST_FOLDERS = 2_000  # that are looked into
DEEPEST = 5  # folders below the start folder: another project's releases are four below it
LONGEST_MANIFEST = 1 << 24
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")


@dataclass(frozen=True)
class FoundRelease:
    """A release, or a table that some tool published; `own` if it is a release of the open project."""

    path: Path
    place: str
    is_release: bool = True
    own: bool = False

    @property
    def key(self) -> str:
        """What pages call it."""
        return sha256(os.fsencode(self.path)).hexdigest()[:12]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def private(self) -> Path:
        """What must not be given away, beside it."""
        return self.path.with_name(self.name + PRIVATE)

    @property
    def audited(self) -> bool:
        """Is what must not be published beside it, with roles and hierarchies?"""
        return self.is_release and (self.private / "schema.json").is_file()

    @property
    def stamp(self) -> str:
        """Other files give another stamp; what was found out with the old one is out of date."""
        known = sha256()
        with suppress(OSError):
            for path in sorted(_files(self.path)) if self.is_release else [self.path]:
                facts = path.lstat()
                known.update(f"{path.name}\0{facts.st_size}\0{facts.st_mtime_ns}\0{facts.st_ino}\n".encode())
        return known.hexdigest()[:16]


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            yield from path.iterdir()
        else:
            yield path


# What is there


def releases_of(project: Project) -> list[FoundRelease]:
    """The project's own releases, the oldest first; a stage that a crash left is none."""
    folder = project.inside("releases")
    found = [path for path in _folders(folder, 1) if _is_release(path)]
    place = f"{project.folder.name}/{folder.name}"
    return [FoundRelease(path, f"{place}/{path.name}", own=True) for path in sorted(found, key=_written)]


def releases_below(start: Path, besides: Iterable[FoundRelease]) -> list[FoundRelease]:
    """Releases in and below a folder, besides those that are known."""
    known = {each.path for each in besides}
    found = [path for path in _folders(start, DEEPEST) if _is_release(path) and path not in known]
    return [FoundRelease(path, os.path.relpath(path, start)) for path in found[:MOST_FOUND]]


def published_tables(paths: Iterable[Path], original: Path) -> list[FoundRelease]:
    """Tables that may have been published by another tool."""
    found = [path for path in paths if path.resolve() != original.resolve()]
    return [FoundRelease(path, path.name, is_release=False) for path in found[:MOST_FOUND]]


def meant(key: str, known: Iterable[FoundRelease]) -> FoundRelease:
    """The one that a page calls so."""
    for each in known:
        if each.key == key:
            return each
    raise InputError("this release is not in the list any more; choose again")


def _is_release(path: Path) -> bool:
    if path.name.endswith(PRIVATE):
        return False
    with suppress(OSError):
        return stat.S_ISREG((path / MANIFEST).lstat().st_mode)
    return False


def _written(path: Path) -> tuple[int, Path]:
    """When a release came; of two at once, the name decides."""
    with suppress(OSError):
        return (path / MANIFEST).lstat().st_ctime_ns, path
    return 0, path


def _folders(start: Path, deepest: int) -> Iterator[Path]:
    """Folders below a folder, level by level; no links, none that are hidden, not endlessly many."""
    level, seen = [start], 0
    for _ in range(deepest):
        below: list[Path] = []
        for folder in level:
            seen += 1
            if seen > MOST_FOLDERS:
                return
            with suppress(OSError), os.scandir(folder) as entries:
                inside = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
                below += [folder / name for name in inside if not name.startswith(".")]
        yield from below
        level = below


# What it says


def manifest_of(found: FoundRelease) -> Mapping[str, Any] | None:
    """What a release says of itself; None if it cannot be read."""
    try:
        handle = os.open(found.path / MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            said = json.loads(file.read(LONGEST_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def promise_of(manifest: Mapping[str, Any] | None) -> str:
    """What a release claims, in a few words; from a file that anybody may have written."""
    if manifest is None:
        return "its manifest cannot be read"
    try:
        claims = [
            ", ".join(f"{key} = {value}" for key, value in each["parameters"].items()) or str(each["model"])
            for each in manifest["claims"]
        ]
        method = str(manifest["method"]["name"])
    except (KeyError, TypeError, AttributeError):
        return "it does not say what it promises"
    return ", ".join([*dict.fromkeys(claims), method])[:200] if claims else f"it promises nothing, {method}"


def as_sentence(text: str, names: Sequence[str]) -> str:
    """A message that begins with a capital letter, unless it begins with the name of a column.

    Examples
    --------
    >>> as_sentence("age is no number", ["age"]), as_sentence("all ages are", ["age"])
    ('age is no number', 'All ages are')
    """
    own = any(re.match(rf"{re.escape(name)}(?!\w)", text) for name in names)
    return text if own else text[:1].upper() + text[1:]


# Names and files


def new_name(project: Project) -> str:
    """A name that no release has."""
    folder = project.inside("releases")
    number = 1
    while os.path.lexists(folder / f"release-{number}") or os.path.lexists(
        folder / f"release-{number}{PRIVATE}"
    ):
        number += 1
    return f"release-{number}"


def wanted_name(project: Project, given: str) -> Path:
    """The folder that somebody wants, if it can be a new one."""
    name = given.strip() or new_name(project)
    if not _NAME.fullmatch(name) or name.lower().endswith(PRIVATE):
        raise InputError(
            "the name of a release has up to 60 letters, digits, dots, hyphens and underscores, and begins "
            "with a letter or a digit"
        )
    path = project.inside("releases") / name
    if os.path.lexists(path) or os.path.lexists(path.with_name(name + PRIVATE)):
        raise InputError(f"there is a release {name} already; give this one another name")
    return path


def files_in(folder: Path) -> list[tuple[str, int]]:
    """The files of a folder with their sizes; those of folders inside are counted together."""
    found = []
    with suppress(OSError):
        for path in sorted(folder.iterdir()):
            if path.is_symlink():
                continue
            size = path.stat().st_size
            if path.is_dir():
                size = sum(each.lstat().st_size for each in path.iterdir())
            found.append((path.name + ("/" if path.is_dir() else ""), size))
    return found
