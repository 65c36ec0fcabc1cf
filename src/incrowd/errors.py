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
        └── NotVerified         the verifier rejected the release

A message names columns, parameters, files, counts and, for a malformed file, line numbers. It never
quotes a cell: messages end up in logs, and logs are read by people who may not see the data.

What to do about it is said in the words of whoever asked: `option` stands for ``replace=True`` in Python and
for ``--replace`` on the command line.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence

_OPTION = re.compile("\ue000([^\ue001]*)\ue001")  # private signs, which no name of a column may hold


_FLAGS = {"policy": "-p", "quasi_identifiers": "--qi"}  # that differ from the parameter's name


def option(name: str, value: str | bool | None = None) -> str:
    """A parameter in a message, shown as Python or as the command line writes it.

    Examples
    --------
    >>> error = InputError(f"it exists; to replace it, pass {option('replace', True)}")
    >>> print(error)
    it exists; to replace it, pass replace=True
    >>> error.on_the_command_line
    'it exists; to replace it, pass --replace'
    """
    return f"\ue000{name}={'' if value is None else value}\ue001"


def in_python(message: str) -> str:
    """A message with its options as Python writes them.

    Examples
    --------
    >>> in_python(f"pass {option('policy')}, or {option('accept', 'small-means')}")
    "pass policy=…, or accept=['small-means']"
    """

    def shown(found: re.Match[str]) -> str:
        name, _, value = found[1].partition("=")
        if name == "accept" and value:
            return f"accept=[{value!r}]"
        return f"{name}={value or '…'}"

    return _OPTION.sub(shown, message)


def on_the_command_line(message: str) -> str:
    """A message with its options as the command line writes them.

    Examples
    --------
    >>> on_the_command_line(f"pass {option('policy')}, or {option('accept', 'small-means')}")
    'pass -p, or --accept small-means'
    """

    def shown(found: re.Match[str]) -> str:
        name, _, value = found[1].partition("=")
        flag = _FLAGS.get(name) or "--" + name.replace("_", "-")
        return flag if value in ("", "True") else f"{flag} {value}"

    return _OPTION.sub(shown, message)


class IncrowdError(Exception):
    """Root of all errors that incrowd raises on purpose."""

    exit_code = 2

    def __str__(self) -> str:
        return in_python(super().__str__())

    @property
    def on_the_command_line(self) -> str:
        return on_the_command_line(super().__str__())


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
        super().__init__(f"{reason}\n  to publish all the same, accept it by name: {option('accept', name)}")
        self.name = name
        self.reason = reason


class NotVerified(Refused):
    """The verifier found the release not to be what it claims."""


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
