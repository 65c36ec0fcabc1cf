"""Points that an interrupted run has measured, kept for the next one: plain texts in a private folder.

The folder lies beside the output, under a name of its own, and goes when the run has ended. It is used again
only by the same program on the same tables with the same settings: `asked` says all that, the digest of the
program's own files included.

A point is what `run_each` gets for one key: numbers, texts, mappings, tuples, and dataclasses of such. It is
written as a literal of Python and read as one (`ast.literal_eval`): nothing in a file can run. A file that
cannot be read is as good as none.
"""

from __future__ import annotations

import json
import os
import shutil
from ast import literal_eval
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from incrowd import __version__
from incrowd.errors import InputError
from incrowd.tables.checked_files import sha256_of

TAG = "@"  # before a dataclass
SUFFIX, SETTINGS = ".incrowd-work", "settings.json"


@dataclass(frozen=True, slots=True)
class Keeper:
    """Keeps the points of one kind of work under its name; without a folder it keeps nothing."""

    folder: Path | None = None
    name: str = ""
    kinds: tuple[type, ...] = ()

    def of(self, name: str, *kinds: type) -> Keeper:
        """The keeper of some work whose points are of these dataclasses."""
        return Keeper(self.folder, f"{self.name}/{name}", kinds)

    def get(self, key: object) -> Any:
        """What was kept; None if nothing was."""
        if self.folder is None:
            return None
        try:
            named, value = literal_eval(self._file(key).read_text("utf-8"))
            return _whole(value, {kind.__name__: kind for kind in self.kinds}) if named == repr(key) else None
        except (OSError, ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
            return None

    def put(self, key: object, value: object) -> None:
        """Keep a point; it appears complete or not at all."""
        if self.folder is None:
            return
        file = self._file(key)
        half = file.with_suffix(".half")
        half.write_text(repr((repr(key), _plain(value))), encoding="utf-8", newline="\n")
        os.replace(half, file)

    def _file(self, key: object) -> Path:
        assert self.folder is not None  # noqa: S101  # both callers have looked
        return self.folder / f"{sha256(f'{self.name} {key!r}'.encode()).hexdigest()[:32]}.txt"


NOTHING_KEPT = Keeper()


def _plain(value: Any) -> Any:
    """Without dataclasses, which become (TAG, name, fields)."""
    if is_dataclass(value) and not isinstance(value, type):
        return TAG, type(value).__name__, {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(_plain(each) for each in value)
    return value.item() if isinstance(value, np.generic) else value


def _whole(value: Any, kinds: Mapping[str, type]) -> Any:
    """The dataclasses again."""
    if isinstance(value, tuple) and len(value) == 3 and value[0] == TAG:
        return kinds[value[1]](**_whole(value[2], kinds))
    if isinstance(value, tuple):
        return tuple(_whole(each, kinds) for each in value)
    if isinstance(value, dict):
        return {key: _whole(each, kinds) for key, each in value.items()}
    return value


# The folder


def asked(name: str, quick: bool, data: Path | None) -> dict[str, Any]:
    """What a run depends on: the program, what it was asked for, and what the tables hold."""
    home = Path(__file__).parents[1]
    code = sha256()
    for file in sorted(home.rglob("*.py")):
        code.update(file.read_bytes())
    # by what is in them, not by when: a table that is copied again is the same table
    tables = {} if data is None else {str(file.relative_to(data)): sha256_of(file) for file in _files(data)}
    return {
        "version": __version__,
        "code": code.hexdigest(),
        "run": [name, quick],
        "tables": tables,
    }


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


@contextmanager
def kept_beside(output: Path | None, settings: Mapping[str, Any]) -> Iterator[Keeper]:
    """Keep points beside the output while work goes on; they stay if it is interrupted, and go at its end."""
    if output is None:
        yield NOTHING_KEPT
        return
    folder = work_folder(output)
    _prepare(folder, settings)
    yield Keeper(folder)
    shutil.rmtree(folder, ignore_errors=True)


def work_folder(output: Path) -> Path:
    """Where points of an output are kept."""
    return output.parent / f".{output.name}{SUFFIX}"


def _prepare(folder: Path, settings: Mapping[str, Any]) -> None:
    """An empty private folder, unless one is there of the same settings."""
    wanted = json.dumps(settings, sort_keys=True)
    try:
        if folder.is_symlink() or (folder.exists() and not _ours(folder)):
            raise InputError(f"{folder} exists and was not made by incrowd reproduce; move it away")
        if folder.exists() and (folder / SETTINGS).read_text("utf-8") == wanted:
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        (folder / SETTINGS).write_text(wanted, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"cannot write into {folder.parent}: {error.strerror}") from None


def _ours(folder: Path) -> bool:
    """Only what this module writes is ever removed."""
    names = {file.suffix for file in folder.iterdir()} if folder.is_dir() else {""}
    return (folder / SETTINGS).is_file() and names <= {".txt", ".half", ".json"}
