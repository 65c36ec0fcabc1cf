"""A policy file as text, to be edited without losing a comment: set a key, give a column another role.

An edit is made twice: in the data, which says what the policy means afterwards, and in the text, until it
says just that (`toml_edits`). What would be no policy is refused, and the text stays as it was.
"""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from incrowd.errors import InputError, PolicyError, unknown
from incrowd.long_work import cleaned_by, held
from incrowd.policy.file import dotted, parsed_toml, read_policy_text
from incrowd.policy.parts import Described, Quasi
from incrowd.policy.policy import Policy
from incrowd.policy.toml_edits import rewritten
from incrowd.policy.toml_places import Keys, parsed_keys
from incrowd.schema import Role
from incrowd.values import same_name

KEY_OF_ROLE = {
    Role.IDENTIFIER: "identifiers",
    Role.QUASI: "quasi_identifiers",
    Role.SENSITIVE: "sensitive",
    Role.KEEP: "keep",
    Role.DROP: "drop",
    Role.UNDECIDED: "undecided",
    Role.ENTITY: "entity",
}
DESCRIBED: dict[Role, type[Described]] = {Role.QUASI: Quasi, Role.SENSITIVE: Described}
Key = str | Sequence[str]


@dataclass(frozen=True)
class PolicyText:
    r"""The text of a policy file, which is one. Each edit gives another; comments, order and layout stay.

    Examples
    --------
    >>> text = PolicyText("keep = ['visit']  # harmless\n[privacy]\nk = 5  # persons\n")
    >>> edited = text.set("privacy.k", 10).role("age", "quasi_identifier", type="numeric")
    >>> print(edited.text, end="")
    keep = ['visit']  # harmless
    [privacy]
    k = 10  # persons
    <BLANKLINE>
    [quasi_identifiers]
    age = {type = "numeric"}
    >>> edited.policy.k
    10
    """

    text: str
    folder: Path = Path()

    def __post_init__(self) -> None:
        self.policy  # noqa: B018  # what is no policy is no text of one

    @classmethod
    def load(cls, path: str | Path) -> PolicyText:
        """The text of a file, with its line breaks."""
        return cls(read_policy_text(Path(path)), Path(path).parent)

    @cached_property
    def policy(self) -> Policy:
        """What the text says."""
        return Policy.from_text(self.text, self.folder)

    def set(self, key: Key, value: Any) -> PolicyText:
        """With another value of a key, such as ``privacy.k``; None takes the key out."""
        return self.set_all([(key, value)])

    def remove(self, key: Key) -> PolicyText:
        """Without a key, or without all keys of a table."""
        keys = _keys(key)
        if _at(parsed_toml(self.text), keys) is None:
            raise PolicyError(f"{dotted(keys)} is not in the policy")
        return self.set(keys, None)

    def set_all(self, changes: Sequence[tuple[Key, Any]]) -> PolicyText:
        """With several keys changed at once: only the last text must be a policy."""
        parts = parsed_toml(self.text)
        for key, value in changes:
            parts = _with_key(parts, _keys(key), _plain(value))
        return self._saying(parts)

    def role(self, column: str, role: str, **described: Any) -> PolicyText:
        """With another role of a column, and for a quasi-identifier or sensitive column how it is described.

        What was said of it stays where the new role knows it, too; but of a column that becomes sensitive a
        type alone is left to the table.
        """
        return self.roles([(column, role)], described)

    def roles(
        self, columns: Sequence[tuple[str, str]], described: Mapping[str, Any] | None = None
    ) -> PolicyText:
        """With other roles of several columns at once."""
        parts = parsed_toml(self.text)
        for column, role in columns:
            parts = _with_role(parts, column, role_named(role), _plain(described or {}))
        return self._saying(parts)

    def without(self, columns: Sequence[str]) -> PolicyText:
        """Without the roles of these columns, such as those that a new table does not have."""
        parts = parsed_toml(self.text)
        for column in columns:
            parts, _, _ = _taken_out(dict(parts), column, "")
        return self._saying(parts)

    def diff(self, other: PolicyText, name: str = "policy.toml") -> str:
        """What changes in the file if `other` takes its place; empty if nothing does."""
        old, new = (each.text.removeprefix("\ufeff").splitlines() for each in (self, other))
        lines = difflib.unified_diff(old, new, name, name, n=1, lineterm="")
        return "".join(f"{line}\n" for line in lines)

    def save(self, path: str | Path, over: PolicyText | None = None) -> None:
        """Write the file all at once: whatever happens, it holds the old text or the new one.

        `over` is the text that is expected there; another one is not overwritten.
        """
        target = Path(path).resolve()  # what a link leads to is replaced, and not the link
        if over is not None and read_policy_text(target) != over.text:
            raise InputError(f"{path} was changed meanwhile; look at it, and edit it again")
        try:
            _written(target, self.text.encode())
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from None

    def _saying(self, parts: Mapping[str, Any]) -> PolicyText:
        """The text that says these parts; they are checked first, since data says best what is wrong."""
        wanted = Policy.from_dict(parts, self.folder)
        found = replace(self, text=rewritten(self.text, parts))
        if found.policy != wanted:
            raise PolicyError("the policy cannot be edited here without changing what it says; edit the file")
        return found


def role_named(role: str) -> Role:
    """A role by its name or by its key in a policy.

    Examples
    --------
    >>> role_named("quasi-identifiers").value, role_named("keep").value
    ('quasi_identifier', 'keep')
    """
    plain = role.replace("-", "_")
    for each, key in KEY_OF_ROLE.items():
        if plain in (each.value, key):
            return each
    raise PolicyError(unknown("among the roles", [role], [each.value for each in KEY_OF_ROLE]))


def _keys(key: Key) -> Keys:
    if not isinstance(key, str):
        return tuple(key)
    keys, end = parsed_keys(key)
    if not keys or end != len(key):
        raise PolicyError(
            "a key is made of names with dots between them, such as privacy.k; others are quoted"
        )
    return keys


def _plain(value: Any) -> Any:
    """A value as a policy file has it: decimals exactly as they are written."""
    if isinstance(value, float):
        return Decimal(str(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items() if part is not None}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


def _at(parts: Any, keys: Keys) -> Any:
    for key in keys:
        parts = parts.get(key) if isinstance(parts, Mapping) else None
    return parts


def _with_key(parts: Mapping[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    """The data with another value at a place; a list of columns becomes a table where one is described."""
    head, *rest = keys
    found = dict(parts)
    if rest:
        below = found.get(head, {})
        if isinstance(below, list) and head in ("quasi_identifiers", "sensitive"):
            below = {str(name): {} for name in below}
        if not isinstance(below, Mapping):
            raise PolicyError(f"{head} is no table, so it has no {dotted(tuple(rest))}")
        found[head] = _with_key(below, tuple(rest), value)
    elif value is None:
        found.pop(head, None)
    else:
        found[head] = value
    return found


def _with_role(parts: Mapping[str, Any], column: str, role: Role, more: Mapping[str, Any]) -> dict[str, Any]:
    key = KEY_OF_ROLE[role]
    if more and role not in DESCRIBED:
        raise PolicyError(f"{column}: only quasi-identifiers and sensitive columns are described")
    found, was, said = _taken_out(deepcopy(dict(parts)), column, key)
    if role is Role.ENTITY:
        other = found.get(key)
        if other is not None and same_name(str(other)) != same_name(column):
            raise PolicyError(f"{other} is the entity, and there is one; give it another role first")
        found[key] = column
        return found
    there = found.get(key, {} if role is Role.QUASI or more else [])
    if role not in DESCRIBED:
        found[key] = there if was == key else [*there, column]
        return found
    words = {name: word for name, word in said.items() if name in DESCRIBED[role].model_fields} | dict(more)
    if role is Role.SENSITIVE and was != key and not more and set(words) == {"type"}:
        words = {}  # found out from the table; it shall not make a table of a list
    if isinstance(there, list) and not words:
        found[key] = there if was == key else [*there, column]
        return found
    table = {str(name): {} for name in there} if isinstance(there, list) else dict(there)
    mine = next((name for name in table if same_name(name) == same_name(column)), column)
    found[key] = {**table, mine: words}
    return found


def _taken_out(
    parts: dict[str, Any], column: str, stays: str
) -> tuple[dict[str, Any], str, Mapping[str, Any]]:
    """The data without the role of a column, unless it `stays`; which it was, and what was said of it."""
    plain = same_name(column)
    for key in KEY_OF_ROLE.values():
        there = parts.get(key)
        if isinstance(there, str):
            if same_name(there) == plain:
                parts = parts if key == stays else {name: part for name, part in parts.items() if name != key}
                return parts, key, {}
        elif isinstance(there, list | Mapping):
            mine = next((name for name in there if isinstance(name, str) and same_name(name) == plain), None)
            if mine is None:
                continue
            if isinstance(there, list):
                rest: Any = [name for name in there if name != mine]
                return (parts if key == stays else {**parts, key: rest}), key, {}
            rest = {name: part for name, part in there.items() if name != mine}
            return (parts if key == stays else {**parts, key: rest}), key, there[mine]
    return parts, "", {}


def _written(target: Path, content: bytes) -> None:
    """Beside the file first, with its mode, then in its place in one step."""
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o644
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    new = Path(name)
    with cleaned_by(lambda: new.unlink(missing_ok=True)):
        try:
            with os.fdopen(handle, "wb") as file:
                if hasattr(os, "fchmod"):  # Windows has none before Python 3.13
                    os.fchmod(file.fileno(), mode)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            with held():
                new.replace(target)
        finally:
            new.unlink(missing_ok=True)
