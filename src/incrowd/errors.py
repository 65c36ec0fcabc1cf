"""Everything incrowd can say no with.

::

    IncrowdError
    ├── InputError              the request is wrong: exit code 2
    │   ├── TableError          a table that cannot be read or trusted
    │   ├── PolicyError         a policy that is incomplete, misspelt or contradictory
    │   └── HierarchyError      a hierarchy that is no tree, or does not cover its column
    └── Refused                 the request is understood, but not granted: exit code 1
        ├── Infeasible          the promise cannot be kept on this table
        ├── Exposure            the request has a known exposure that was not accepted by name
        └── NotVerified         the judge rejected the release

A message names columns, parameters, files, counts and, for a malformed file, line numbers. It never
quotes a cell: messages end up in logs, and logs are read by people who may not see the data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class IncrowdError(Exception):
    """Root of all errors that incrowd raises on purpose."""

    exit_code = 2


class InputError(IncrowdError):
    """The request is wrong and must be changed."""


class TableError(InputError):
    """A table cannot be read, or holds something that no release may be built on."""


class PolicyError(InputError):
    """A policy is incomplete, misspelt or contradictory."""


class HierarchyError(InputError):
    """A hierarchy is not a tree, or does not cover the column it is meant for."""


class Refused(IncrowdError):
    """The request is understood and not granted; nothing was written."""

    exit_code = 1


class Infeasible(Refused):
    """No release of this table can keep the promise that was asked for."""


class Exposure(Refused):
    """A known exposure that the caller did not accept.

    Parameters
    ----------
    name : str
        The word that ``accept`` takes.
    reason : str
        What the release would give away.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{reason}\n  to publish all the same, accept it by name: --accept {name}")
        self.name = name
        self.reason = reason


class NotVerified(Refused):
    """The judge found the release not to be what it claims."""


def unknown(what: str, got: Iterable[str], known: Sequence[str]) -> str:
    """Say which names are not known, and what was probably meant.

    Examples
    --------
    >>> print(unknown("in the table", ["agee"], ["age", "zip"]))
    not in the table: agee
      did you mean 'age' for 'agee'?
    the table has: age, zip
    """
    got = list(got)
    lines = [f"not {what}: {', '.join(got)}"]
    for name in got:
        near = difflib.get_close_matches(name, known, n=1)
        if near:
            lines.append(f"  did you mean {near[0]!r} for {name!r}?")
    place, subject = what.split(" ", 1)
    shown = ", ".join(list(known)[:40] or ["none"]) + (", …" if len(known) > 40 else "")
    lines.append(f"{subject} has: {shown}" if place == "in" else f"known are: {shown}")
    return "\n".join(lines)
