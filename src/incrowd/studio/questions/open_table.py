"""The table that the bench has opened: read once, profiled once, its columns numbered once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from incrowd import tables
from incrowd.commands.inspect import KnownColumns, Profile, inspect
from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.schema import Source


@lru_cache(maxsize=8)
def policy_from(text: str, folder: str) -> Policy:
    """What a text says; several questions ask about one text, and about the one before it."""
    return Policy.from_text(text, folder)


@dataclass
class OpenTable:
    """A table and what was found out about it; `known` follows the policy that was asked about last."""

    table: Table
    size: int
    digest: str
    _known: tuple[tuple[str, str], KnownColumns] | None = None
    remembered: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def profile(self) -> Profile:
        """Kinds, suggested roles and reasons, as `inspect` finds them."""
        return inspect(self.table)

    def summary(self) -> dict[str, Any]:
        return {
            "rows": len(self.table),
            "columns": list(self.table.names),
            "notes": list(self.table.notes),
            "size": self.size,
            "digest": self.digest,
        }

    def known(self, text: str, folder: str) -> KnownColumns:
        """The columns as a policy reads them; what the last policy read alike is not numbered again."""
        if self._known is None or self._known[0] != (text, folder):
            policy = policy_from(text, folder)
            fresh = KnownColumns.of(self.table, policy) if self._known is None else None
            self._known = (text, folder), fresh or self._known[1].under(policy)  # type: ignore[index]
        return self._known[1]


def read_table(path: str, encoding: str = "", sheet: str = "", sql: str = "") -> OpenTable:
    """Read a file whole."""
    table = tables.read(Source(path, encoding, sheet, sql))
    if not len(table):
        raise TableError(f"{Path(path).name} has no rows, so there is nothing to look at")
    digest, size = sha256(), 0
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
                size += len(block)
    return OpenTable(table, size, digest.hexdigest()[:32])
