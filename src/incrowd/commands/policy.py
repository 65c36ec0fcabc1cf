"""`policy`: show a policy file, and edit it so that comments, order and layout stay.

There is no ``incrowd.policy`` function, since a package has that name: in Python `PolicyText` does the same.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from incrowd.errors import InputError, unknown
from incrowd.policy import PolicyText
from incrowd.policy.toml_places import Keys, parsed_keys
from incrowd.results import Result, Row
from incrowd.schema import Role

ACTIONS = ("show", "set", "remove", "role")


@dataclass(frozen=True, repr=False)
class EditedPolicy(Result):
    """A policy file before and after; `written` says whether the file was changed."""

    path: Path
    before: PolicyText
    after: PolicyText
    written: bool

    @property
    def diff(self) -> str:
        """What changes, line by line; empty if nothing does."""
        return self.before.diff(self.after, self.path.name)

    def headline(self) -> str:
        roles = [role for _, role in self.after.policy.roles()]
        counts = ", ".join(f"{roles.count(role)} {role.replace('_', '-')}" for role in Role if role in roles)
        changed = f"; {'changed' if self.written else 'not written'}" if self.diff else ""
        return f"{self.path.name}: {counts or 'no columns'}{changed}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return ("column", "role"), self.after.policy.roles()

    def to_dict(self) -> dict[str, Any]:
        return {"policy": self.after.policy.to_dict(), "diff": self.diff, "written": self.written}


def edit_policy(
    path: str | Path, action: str, edits: Sequence[str] = (), *, dry_run: bool = False
) -> EditedPolicy:
    """Edit a policy file as the command does; what would be no policy is refused, and the file stays.

    Parameters
    ----------
    path : path
        The file.
    action : str
        ``set`` (edits are ``key=value``), ``remove`` (keys), ``role`` (``column=role``), or ``show``.
    edits : sequence of str
        All of them, or none: they are made together.
    dry_run : bool
        Say what would change, and write nothing.
    """
    if action not in ACTIONS:
        raise InputError(unknown("in the list of actions", [action], ACTIONS))
    if bool(edits) == (action == "show"):
        wanted = "nothing more" if action == "show" else "what to change"
        raise InputError(f"{action} takes {wanted}; for example {_EXAMPLES[action]}")
    before = PolicyText.load(path)
    after = _edited(before, action, edits)
    changed = after.text != before.text and not dry_run
    if changed:
        after.save(path, over=before)
    return EditedPolicy(Path(path), before, after, changed)


_EXAMPLES = {
    "show": "incrowd policy show policy.toml",
    "set": "incrowd policy set policy.toml privacy.k=5",
    "remove": "incrowd policy remove policy.toml privacy.l",
    "role": "incrowd policy role policy.toml zip=quasi_identifier",
}


def _edited(text: PolicyText, action: str, edits: Sequence[str]) -> PolicyText:
    if action == "set":
        return text.set_all([key_and_value(edit) for edit in edits])
    if action == "role":
        return text.roles([_column_and_role(edit) for edit in edits])
    for key in edits:
        text = text.remove(key)
    return text


def key_and_value(edit: str) -> tuple[Keys, Any]:
    """An edit as it is typed: a key, =, and a value as TOML writes it; other words are texts.

    Examples
    --------
    >>> key_and_value("privacy.k=5"), key_and_value("quasi_identifiers.age.hierarchy=age.csv")
    ((('privacy', 'k'), 5), (('quasi_identifiers', 'age', 'hierarchy'), 'age.csv'))
    >>> key_and_value("quasi_identifiers.zip.hierarchy={prefix = [3]}")[1]
    {'prefix': [3]}
    """
    keys, end = parsed_keys(edit)
    if not keys or not edit.startswith("=", end):
        raise InputError(f"set takes key=value; for example {_EXAMPLES['set']}")
    written = edit[end + 1 :].strip()
    try:
        said = tomllib.loads(f"x = {written}", parse_float=Decimal)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return keys, written
    return keys, said["x"] if list(said) == ["x"] else written


def _column_and_role(edit: str) -> tuple[str, str]:
    """The last = parts them: names of columns may have one, roles have none."""
    column, sign, role = edit.rpartition("=")
    if not sign or not column:
        raise InputError(f"role takes column=role; for example {_EXAMPLES['role']}")
    return column, role.strip()
