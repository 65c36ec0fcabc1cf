"""Small folders on their way through a stage, for its tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from incrowd.release.stage import LOCK, PREFIX, audit_folder, commit, stage


def fill(folder: Path, text: str) -> None:
    (folder / "release" / "release.json").write_text(text)
    (folder / "release" / "data.csv").write_text(text)
    (folder / "audit" / "audit.json").write_text(text)


def put(
    destination: Path, text: str, replace: bool = False, meanwhile: Callable[[], object] = lambda: None
) -> None:
    with stage(destination, replace) as folder:
        fill(folder, text)
        meanwhile()
        commit(folder, destination, replace)


def raising(problem: BaseException) -> Callable[[], object]:
    def fail() -> None:
        raise problem

    return fail


def said(destination: Path) -> tuple[str, str]:
    """What release and audit say; a folder that is not there says nothing."""
    files = destination / "release.json", audit_folder(destination) / "audit.json"
    release, audit = (path.read_text() if path.exists() else "" for path in files)
    return release, audit


def stages(parent: Path) -> list[Path]:
    return sorted(parent.glob(PREFIX + "*"))


def dead_stage(parent: Path) -> Path:
    """A stage as a crash leaves it: nobody holds its lock."""
    dead = parent / (PREFIX + "0123456789abcdef")
    (dead / "release").mkdir(parents=True)
    (dead / "release" / "data.csv").write_text("raw")
    (dead / LOCK).touch()
    return dead
