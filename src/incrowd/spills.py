"""Where records may be spilled to disk: a private folder beside the release, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_FOLDER: ContextVar[Path | None] = ContextVar("spills", default=None)


@contextmanager
def spilling_into(folder: Path) -> Iterator[None]:
    """Let whatever is computed inside spill into this folder, which is private and removed after a crash."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def spill_folder() -> Path | None:
    """Where to spill; None where everything has to stay in memory, as a release without a folder does.

    Examples
    --------
    >>> spill_folder()
    >>> with spilling_into(Path("private")):
    ...     print(spill_folder())
    private
    """
    return _FOLDER.get()
