"""The releases of a project: folders that have their final name, in the order in which they were made."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from incrowd.errors import InputError
from incrowd.studio.project import Project

PRIVATE = ".audit"
MANIFEST = "release.json"
# What the verifier's checks look at, as docs/promise.md has them; a test compares the names.
CHECKS = {
    "files": "only the files that the manifest names, byte for byte",
    "manifest": "claims exactly what the policy requires",
    "schema": "the columns that the policy publishes, and no other",
    "cells": "every cell can be read, and names values of the original",
    "rows": "as many rows as there must be",
    "private": "no sensitive or kept values that the original does not have",
    "truth": "every row is true of the person behind it",
    "sensitive": "the buckets are those of the rows",
    "order": "the order of rows tells nothing",
    "domains": "domains are exactly what cells name",
    "levels": "cells are of the stated level",
    "totals": "totals are those of the original",
    "hierarchies": "labels lie where the hierarchy has them",
    "means": "means are those of the classes",
    "odds": "assignments of the stated probability exist",
    "bytes": "manifest and datasheet are what follows from all this",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")


@dataclass(frozen=True)
class Release:
    """A folder of the project: its number in pages, and what tells one content of it from another."""

    number: int
    path: Path
    stamp: str

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def private(self) -> Path:
        """What must not be given away, beside it."""
        return self.path.with_name(self.name + PRIVATE)


def as_sentence(text: str, names: Sequence[str]) -> str:
    """A message that begins with a capital letter, unless it begins with the name of a column.

    Examples
    --------
    >>> as_sentence("age is no number", ["age"]), as_sentence("all ages are", ["age"])
    ('age is no number', 'All ages are')
    """
    own = any(re.match(rf"{re.escape(name)}(?!\w)", text) for name in names)
    return text if own else text[:1].upper() + text[1:]


def releases_of(project: Project) -> list[Release]:
    """All releases, the oldest first; a stage that a crash left is none, and links are not followed."""
    found = []
    for path in project.inside("releases").iterdir():
        if path.name.startswith(".") or path.name.endswith(PRIVATE):
            continue
        with suppress(OSError):
            about = (path / MANIFEST).lstat()
            if stat.S_ISREG(about.st_mode) and not path.is_symlink():
                found.append((about.st_ctime_ns, path, f"{about.st_ino}-{about.st_ctime_ns}"))
    return [Release(number, path, stamp) for number, (_, path, stamp) in enumerate(sorted(found), 1)]


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
