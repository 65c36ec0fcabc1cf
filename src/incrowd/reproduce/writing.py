"""Writing an outcome: into a folder of its own, which appears complete or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from incrowd.errors import InputError, Refused
from incrowd.reproduce.outcome import Outcome

PREFIX = ".incrowd-reproduce-"


def check_destination(folder: Path, name: str, replace: bool) -> None:
    """Refuse a bad destination before minutes of work: nothing but an outcome of this paper is replaced."""
    if folder.name in ("", "..") or "\0" in str(folder):
        raise InputError("the results need a folder of their own; name a new one")
    if not folder.parent.is_dir():
        raise InputError(f"the folder {folder.parent} does not exist; create it first")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} exists and is no folder; name a new one")
    if not folder.exists() or not any(folder.iterdir()):
        return
    if not (folder / f"{name}.json").is_file():
        raise InputError(f"{folder} exists and holds no results of {name}; it is not replaced")
    if not replace:
        raise InputError(f"{folder} exists; name a new folder, or replace it with --replace")


def files_of(outcome: Outcome) -> dict[str, str]:
    """Every file by its name."""
    return {
        f"{outcome.name}.json": json.dumps(outcome.to_dict(), indent=2, ensure_ascii=False) + "\n",
        f"{outcome.name}.md": outcome.markdown(),
        **{name: chart.svg() for name, chart in outcome.charts.items()},
        **outcome.files,
    }


def write(outcome: Outcome, folder: Path, replace: bool = False) -> None:
    """Write an outcome beside its destination, then give it its name if nothing else came there."""
    check_destination(folder, outcome.name, replace)
    try:
        with tempfile.TemporaryDirectory("", PREFIX, folder.parent, ignore_cleanup_errors=True) as home:
            new = Path(home, "new")
            new.mkdir()
            for name, text in files_of(outcome).items():
                (new / name).write_text(text, encoding="utf-8", newline="\n")
            _exchange(new, folder)
    except OSError as error:
        raise InputError(f"cannot write into {folder.parent}: {error.strerror}") from None


def _exchange(new: Path, folder: Path) -> None:
    """Move the old folder aside, the new one to its place; if that fails, the old one back."""
    old = new.with_name("old")
    try:
        if folder.exists():
            os.rename(folder, old)
        os.rename(new, folder)
    except BaseException as problem:
        if old.exists() and not folder.exists():
            os.rename(old, folder)
        if isinstance(problem, OSError):
            raise Refused(f"{folder} appeared while the results were made; nothing was replaced") from None
        raise
