"""Releases and published tables that can be checked: found on disk, known to pages by numbers only."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.schema import MANIFEST

AUDIT = ".audit"
MOST_FOUND = 200  # of each kind that a page lists
MOST_FOLDERS = 2_000  # that are looked into
DEEPEST = 5  # folders below the start folder: another project's releases are four below it
LONGEST_MANIFEST = 1 << 24


@dataclass(frozen=True)
class Found:
    """A release, or a table that some tool published; `own` if it is one of the open project."""

    number: int
    path: Path
    place: str
    release: bool
    own: bool

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def audited(self) -> bool:
        """Is what must not be published beside it, with roles and hierarchies?"""
        return self.release and (self.path.with_name(self.path.name + AUDIT) / "schema.json").is_file()

    @property
    def stamp(self) -> str:
        """Other files give another stamp; what was found out with the old one is out of date."""
        files = sorted(_files(self.path)) if self.release else [self.path]
        known = sha256()
        for path in files:
            with suppress(OSError):
                facts = path.lstat()
                known.update(f"{path.name}\0{facts.st_size}\0{facts.st_mtime_ns}\0{facts.st_ino}\n".encode())
        return known.hexdigest()[:16]


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            yield from path.iterdir()
        else:
            yield path


@dataclass
class Numbers:
    """Numbers given out to paths: no path comes from a page, and a number always means the same path."""

    paths: list[Path] = field(default_factory=list)

    def of(self, path: Path) -> int:
        if path not in self.paths:
            self.paths.append(path)
        return self.paths.index(path)


def releases_in(own: Path, start: Path, numbers: Numbers) -> list[Found]:
    """The project's own releases, the newest first; then others below the start folder."""
    mine = sorted((path for path in _folders(own, 1) if _is_release(path)), key=_written, reverse=True)
    others = [path for path in _folders(start, DEEPEST) if _is_release(path) and path not in mine]
    found = [*((path, True) for path in mine), *((path, False) for path in others)]
    return [_found(path, start, numbers, True, is_own) for path, is_own in found[:MOST_FOUND]]


def tables_in(paths: Iterator[Path], start: Path, numbers: Numbers, original: Path) -> list[Found]:
    """Tables that may have been published by another tool."""
    found = [path for path in paths if path.resolve() != original.resolve()]
    return [_found(path, start, numbers, False, False) for path in found[:MOST_FOUND]]


def _found(path: Path, start: Path, numbers: Numbers, release: bool, own: bool) -> Found:
    place = os.path.relpath(path, start) if path.is_relative_to(start) else path.name
    return Found(numbers.of(path), path, place, release, own)


def _is_release(path: Path) -> bool:
    with suppress(OSError):
        return stat.S_ISREG((path / MANIFEST).lstat().st_mode)
    return False


def _written(path: Path) -> float:
    """When a release came; its own files have no time, its folder has."""
    with suppress(OSError):
        return path.lstat().st_ctime
    return 0.0


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


def manifest_of(found: Found) -> Mapping[str, Any] | None:
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


def chosen(number: int | None, known: list[Found]) -> Found | None:
    """The one that is meant, by its number; the first if none is."""
    if number is None:
        return known[0] if known else None
    for each in known:
        if each.number == number:
            return each
    raise InputError("this release is not in the list any more; choose again")
