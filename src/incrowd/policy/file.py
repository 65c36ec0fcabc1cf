"""Policy files as text: read TOML without surprises, and say in one sentence each what is wrong with it."""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.errors import PolicyError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, ValidationError

MOST_BYTES = 1 << 20
MOST_PARTS = 16  # of a dotted key: far more than a policy has, and few enough to be read at once
_QUOTED = re.compile(r'"(?:\\.|[^"\\\n])*+"|\'[^\'\n]*+\'')
_LONG_KEY = re.compile(rf'(?:(?:[A-Za-z0-9_-]++|"")[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}')

Location = tuple[int | str, ...]

COMPLAINTS = {
    "int_type": "must be a whole number",
    "greater_than_equal": "must be at least {ge}",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "literal_error": "must be one of {expected}",
    "missing": "is required",
    "model_type": "must be a table",
    "value_error": "{error}",
}


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; decimals are kept exactly as they are written."""
    return parsed_toml(read_policy_text(path), str(path))


def parsed_toml(text: str, name: str = "the policy") -> dict[str, Any]:
    """The tables of a TOML text, which messages call `name`; decimals are kept exactly as written."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if _LONG_KEY.search(_QUOTED.sub('""', text)):
        raise PolicyError(f"{name} is no policy: a key has more than {MOST_PARTS} dots")
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        complaint = str(error)
    except (ValueError, RecursionError):
        complaint = "a number is too long, or tables are nested too deeply"
    raise PolicyError(f"{name} is not valid TOML: {complaint}")


def read_policy_text(path: Path) -> str:
    """The text of a policy file as it stands there, with its line breaks."""
    if not path.is_file():
        reason = "is not a regular file" if path.exists() else "does not exist"
        raise PolicyError(f"policy file {path} {reason}")
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"policy file {path} cannot be read: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise PolicyError(f"policy file {path} is larger than {MOST_BYTES} bytes, the most that is read")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"policy file {path} is not UTF-8, first in line {line}") from None


def sentences(error: ValidationError, keys_at: Callable[[Location], Iterable[str]]) -> str:
    """What is wrong, one line for each fault: where, what, and what was probably meant.

    `keys_at` lists the keys that are known at a place. What was written instead is never quoted, since
    a policy may list values of the table.
    """
    faults = error.errors(include_url=False, include_input=False)
    return "\n".join(dict.fromkeys(_sentence(fault, keys_at) for fault in faults))


def _sentence(fault: ErrorDetails, keys_at: Callable[[Location], Iterable[str]]) -> str:
    place = fault["loc"]
    if fault["type"] == "extra_forbidden":
        return f"{dotted(place)} is not known{_meant(str(place[-1]), sorted(keys_at(place[:-1])))}"
    complaint = COMPLAINTS.get(fault["type"], "").format(**fault.get("ctx", {})) or fault["msg"]
    return f"{dotted(place)} {complaint}" if place else complaint


def _meant(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.4)
    return f": did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"


def dotted(place: Location) -> str:
    """A place in a policy as TOML writes it.

    Examples
    --------
    >>> dotted(("quasi_identifiers", "zip code", "type"))
    'quasi_identifiers."zip code".type'
    """
    return ".".join(toml_key(str(part)) for part in place)


def toml_key(name: str) -> str:
    """A name as a TOML key: bare where that is allowed, else quoted."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_text(name)


def toml_text(text: str) -> str:
    r"""A text as a TOML string.

    Examples
    --------
    >>> print(toml_text('say "hi"\x7f'))
    "say \"hi\"\u007f"
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_value(value: object) -> str:
    """A text, number, list or table, on one line. A text that is a decimal number is written as one.

    Examples
    --------
    >>> toml_value({"dates": ["month", "year"]}), toml_value({"intervals": ("0.1", 1)})
    ('{dates = ["month", "year"]}', '{intervals = [0.1, 1]}')
    """
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{toml_key(str(key))} = {toml_value(part)}" for key, part in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str):
        return value if re.fullmatch(r"-?[0-9]+\.[0-9]+", value) else toml_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
