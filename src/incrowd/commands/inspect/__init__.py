"""`inspect`: look at a table before anything is promised; columns, suggested roles, risks, a first policy."""

from __future__ import annotations

from incrowd import tables
from incrowd.commands.inspect.policy_text import policy_text
from incrowd.commands.inspect.profile import Profile, decided, profiled
from incrowd.contracts import Watch, unwatched
from incrowd.flow import Table

__all__ = ["Profile", "decided", "inspect", "policy_text"]


def inspect(table: object, *, watch: Watch = unwatched) -> Profile:
    """Look at a table: kinds, missing values, suggested roles with reasons, and who is unique.

    Parameters
    ----------
    table : path or frame
        CSV, TSV (also .gz) or Parquet file; pandas, polars or Arrow frame.

    Returns
    -------
    Profile
        ``policy_text(profile, name)`` makes a first policy of it, with comments.
    """
    watch("read")
    read = table if isinstance(table, Table) else tables.read(table)
    watch("inspect")
    return profiled(read)
