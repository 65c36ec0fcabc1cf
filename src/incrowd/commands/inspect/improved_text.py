"""A policy file with some quasi-identifiers moved, as text: comments and order stay where that can be done.

Lines are edited, so that the reason stands beside each column that moved, and what comes out is read again.
If it does not say exactly what it should, the policy is edited as `PolicyText` does, without these reasons;
what cannot be edited is written anew, without comments.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from incrowd.errors import PolicyError
from incrowd.policy import Policy, PolicyText
from incrowd.policy.file import toml_key, toml_text
from incrowd.values import same_name

_HEADER = re.compile(r"\s*\[")
_KEY = re.compile(r"""\s*("(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)\s*=""")


def improved_text(source: str, improved: Policy, moved: Mapping[str, tuple[str, str]]) -> tuple[str, bool]:
    """The text of the improved policy, and whether the comments of the old one are in it.

    `moved` says for each column where it goes and why.
    """
    lines = _without(source.splitlines(), set(moved))
    for to in ("drop", "sensitive"):
        here = {name: why for name, (place, why) in moved.items() if place == to}
        if here:
            lines = _with(lines, to, here, improved)
    text = "\n".join(lines) + "\n"
    for edited in (text, _in_place(source, improved, moved)):
        if _says(edited, improved):
            return edited, True
    return toml_document(improved.to_dict()), False


def _in_place(source: str, improved: Policy, moved: Mapping[str, tuple[str, str]]) -> str:
    """The policy with the same columns moved, however it is written; nothing where that cannot be done."""
    described = improved.to_dict().get("sensitive", {})
    try:
        text = PolicyText(source)
        for name, (to, _) in moved.items():
            text = text.role(name, to, **(described[same_name(name)] if to == "sensitive" else {}))
    except PolicyError:
        return ""
    return text.text


def _says(text: str, improved: Policy) -> bool:
    try:
        found = Policy.from_dict(tomllib.loads(text, parse_float=Decimal)).to_dict()
    except (tomllib.TOMLDecodeError, PolicyError):
        return False
    wanted = improved.to_dict()
    same_drops = sorted(found.pop("drop", ())) == sorted(wanted.pop("drop", ()))
    return same_drops and found == wanted


def _key(line: str) -> str | None:
    found = _KEY.match(line)
    if found is None:
        return None
    word = found[1]
    if word.startswith('"'):
        try:
            return str(tomllib.loads(f"x = {word}")["x"])
        except tomllib.TOMLDecodeError:
            return None
    return word.strip("'")


def _without(lines: list[str], names: set[str]) -> list[str]:
    """The lines but for those of some quasi-identifiers, each described in one line or a table of its own."""
    tables = {f"[quasi_identifiers.{toml_key(name)}]" for name in names}
    kept, table = [], ""
    for line in lines:
        if _HEADER.match(line) and "=" not in line.partition("#")[0]:
            table = line.partition("#")[0].strip()
        if table in tables or (table == "[quasi_identifiers]" and _key(line) in names):
            continue
        kept.append(line)
    return kept


def _with(lines: list[str], key: str, columns: Mapping[str, str], improved: Policy) -> list[str]:
    """The lines with columns added to a list, which may be new, or to a table."""
    header = next((i for i, line in enumerate(lines) if line.partition("#")[0].strip() == f"[{key}]"), None)
    if header is not None:
        described = improved.to_dict()[key]
        more = [f"{toml_key(name)} = {_value(described[name])}  # {why}" for name, why in columns.items()]
        return [*lines[: header + 1], *more, *lines[header + 1 :]]
    more = [f"  {toml_text(name)},  # {why}" for name, why in columns.items()]
    top = next((i for i, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    for i, line in enumerate(lines[:top]):
        if _key(line) == key and "[" in line:
            begin, _, rest = line.partition("[")
            if not rest.partition("#")[0].strip():  # the list goes on below
                return [*lines[: i + 1], *more, *lines[i + 1 :]]
            return [*lines[:i], f"{begin}[", *more, f"  {rest.strip()}", *lines[i + 1 :]]
    return [*lines[:top], f"{key} = [", *more, "]", "", *lines[top:]]


def toml_document(parts: Mapping[str, Any]) -> str:
    """A policy as TOML, without comments: plain keys first, then tables.

    Examples
    --------
    >>> print(toml_document({"keep": ["a b"], "privacy": {"k": 3}}), end="")
    keep = ["a b"]
    <BLANKLINE>
    [privacy]
    k = 3
    """
    plain = [f"{toml_key(k)} = {_value(v)}" for k, v in parts.items() if not isinstance(v, Mapping)]
    for name, table in parts.items():
        if isinstance(table, Mapping):
            plain += ["", f"[{toml_key(name)}]", *(f"{toml_key(k)} = {_value(v)}" for k, v in table.items())]
    return "\n".join(plain) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(key)} = {_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return toml_text(value) if isinstance(value, str) else str(value)
