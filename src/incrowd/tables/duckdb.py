"""DuckDB, locked up: the only door to it.

A connection may open the paths it is given and nothing else, loads no extension, spills only into a
private folder that is removed, and cannot be unlocked.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def memory() -> int:
    """Bytes that DuckDB may use: half of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@contextlib.contextmanager
def connection(*paths: str) -> Iterator[DuckDBPyConnection]:
    """Open an empty in-memory database that may touch these paths only."""
    import duckdb

    with tempfile.TemporaryDirectory(prefix="incrowd-") as folder:  # readable by its owner only
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "extension_directory": folder,
            "secret_directory": folder,
            "temp_directory": folder,
            "memory_limit": f"{memory() // 2**20}MiB",
        }
        with duckdb.connect(config=settings) as session:
            session.execute("SET allowed_paths = ?", [list(paths)])
            session.execute("SET enable_external_access = false")
            session.execute("SET lock_configuration = true")
            yield session
