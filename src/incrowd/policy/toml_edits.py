"""Change a TOML text until it says what it should, with the smallest edits: comments, order and layout stay.

One difference is taken after the other: what is too much goes first, then what is different changes, then
what lacks comes. After each edit the text is read again: nothing is believed that `tomllib` does not say.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from incrowd.errors import PolicyError
from incrowd.policy.file import dotted, toml_key, toml_text
from incrowd.policy.toml_places import (
    Entry,
    Keys,
    Section,
    Value,
    comma_after,
    line_end,
    line_start,
    sections,
)

Span = tuple[int, int]
_GONE = object()
_REST_OF_LINE = re.compile(r"[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)")
_CANNOT = "the policy cannot be edited without losing something of its text; edit the file"


def rewritten(text: str, wanted: Mapping[str, Any]) -> str:
    r"""The text with the fewest edits after which it says what is wanted.

    Examples
    --------
    >>> print(rewritten("[privacy]  # to patients\nk = 5  # rows\n", {"privacy": {"k": 10, "l": 3}}), end="")
    [privacy]  # to patients
    k = 10  # rows
    l = 3
    """
    while (found := _difference(_said(text), wanted)) is not None:
        keys, value = found
        edited = _removed(text, keys) if value is _GONE else _with(text, keys, value)
        if edited == text:
            raise PolicyError(_CANNOT)
        text = edited
    return text


def toml(value: object) -> str:
    """A value as TOML, on one line; decimals as they are written.

    Examples
    --------
    >>> toml({"prefix": [3, 2], "by": "0.5", "at": Decimal("0.50")})
    '{prefix = [3, 2], by = "0.5", at = 0.50}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(str(key))} = {toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        written = format(value, "f")
        return written if "." in written else f"{written}.0"
    if isinstance(value, date | time | datetime):
        return value.isoformat()
    return toml_text(value) if isinstance(value, str) else str(value)


def _said(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"), parse_float=Decimal)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        raise PolicyError(_CANNOT) from None


def _difference(said: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[Keys, Any] | None:
    """The first place that says something else: what goes before what changes, and that before what comes."""
    found = sorted(_differences(said, wanted, ()), key=lambda each: (each[2] is not _GONE, each[1] is _GONE))
    return (found[0][0], found[0][2]) if found else None


def _differences(
    said: Mapping[str, Any], wanted: Mapping[str, Any], keys: Keys
) -> Iterator[tuple[Keys, Any, Any]]:
    """Each place with what is there and what should be; tables are looked into where both are one."""
    for key in dict.fromkeys([*said, *wanted]):
        was, now = said.get(key, _GONE), wanted.get(key, _GONE)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            yield from _differences(was, now, (*keys, key))
        elif not _same(was, now):
            yield (*keys, key), was, now


def _same(was: Any, now: Any) -> bool:
    """True is not 1, and 1.0 is not 1."""
    if isinstance(was, list) and isinstance(now, list | tuple):
        return len(was) == len(now) and all(map(_same, was, now))
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        return list(was) == list(now) and all(_same(was[key], now[key]) for key in was)
    return type(was) is type(now) and bool(was == now)


# ---- where something is


def _value_at(text: str, keys: Keys) -> Value | None:
    """The value that a key has in one place; None where it is spread over sections or dotted keys."""
    for section in sections(text):
        for entry in section.entries:
            full = section.full(entry)
            if keys[: len(full)] == full:
                return _inside(entry.value, keys[len(full) :])
    return None


def _inside(value: Value, keys: Keys) -> Value | None:
    if not keys:
        return value
    for entry in value.entries:
        if keys[: len(entry.keys)] == entry.keys:
            return _inside(entry.value, keys[len(entry.keys) :])
    return None


def _inline_table(text: str, keys: Keys) -> tuple[Value, Keys] | None:
    """The innermost inline table that a key lies in, and the rest of the key."""
    for cut in range(len(keys) - 1, 0, -1):
        found = _value_at(text, keys[:cut])
        if found is not None and found.kind == "table":
            return found, keys[cut:]
    return None


# ---- something goes


def _removed(text: str, keys: Keys) -> str:
    if (inline := _inline_table(text, keys)) is not None:
        return _without_entry(text, *inline)
    spans = [
        (line_start(text, entry.start), line_end(text, entry.value.end))
        for section in sections(text)
        for entry in section.entries
        if section.full(entry)[: len(keys)] == keys
    ]
    headers = [section for section in sections(text) if section.keys[: len(keys)] == keys]
    return _cut(text, [*spans, *((line_start(text, h.start), line_end(text, h.end)) for h in headers)])


def _without_entry(text: str, table: Value, keys: Keys) -> str:
    """An inline table without the first entry of a key, and without one of its commas."""
    number = next((n for n, each in enumerate(table.entries) if each.keys[: len(keys)] == keys), None)
    if number is None:
        return text
    entry = table.entries[number]
    if number:
        return _cut(text, [(table.entries[number - 1].value.end, entry.value.end)])
    if len(table.entries) > 1:
        return _cut(text, [(entry.start, table.entries[1].start)])
    return _cut(text, [(table.start + 1, table.end - 1)])


def _cut(text: str, spans: Sequence[Span]) -> str:
    """The text without some spans, which may overlap."""
    parts, at = [], 0
    for start, end in sorted(spans):
        parts.append(text[at : max(at, start)])
        at = max(at, end)
    return "".join([*parts, text[at:]])


# ---- something changes or comes


def _with(text: str, keys: Keys, value: Any) -> str:
    there = _value_at(text, keys)
    if there is not None:
        if there.kind == "list" and isinstance(value, list | tuple):
            return _with_list(text, there, keys, value)
        if there.kind == "list" and isinstance(value, Mapping) and "\n" in text[there.start : there.end]:
            return _as_lines(text, there, value)
        return text[: there.start] + toml(value) + text[there.end :]
    if _exists(text, keys):  # a table that is spread over sections or dotted keys, and shall be none
        return _removed(text, keys)
    return _added(text, keys, value)


def _exists(text: str, keys: Keys) -> bool:
    return any(
        each[: len(keys)] == keys
        for section in sections(text)
        for each in (section.keys, *map(section.full, section.entries))
    )


def _added(text: str, keys: Keys, value: Any) -> str:
    """With a key that is not there yet: in the table of its neighbours, however that is written."""
    if (inline := _inline_table(text, keys)) is not None:
        table, rest = inline
        more = f"{dotted(rest)} = {toml(value)}"
        at = table.entries[-1].value.end if table.entries else table.start + 1
        end = at if table.entries else table.end - 1  # what is between empty braces is nothing but space
        return text[:at] + (f", {more}" if table.entries else more) + text[end:]
    parent, every = keys[:-1], sections(text)
    own = next((section for section in every if section.keys == parent), None)
    if own is not None and (parent or not isinstance(value, Mapping)):
        return _with_line(text, own, own.entries, keys, value)
    if not parent:
        return _with_section(text, keys, value)
    for section in every:
        beside = [entry for entry in section.entries if section.full(entry)[: len(parent)] == parent]
        if beside and len(section.keys) < len(parent):
            return _with_line(text, section, beside, keys, value)
    if any(section.keys[: len(parent)] == parent for section in every):
        return (
            _with_section(text, keys, value)
            if isinstance(value, Mapping)
            else _with_header(text, keys, value)
        )
    return _added(text, parent, {keys[-1]: value})


def _with_line(text: str, section: Section, beside: Sequence[Entry], keys: Keys, value: Any) -> str:
    """With a line below the last of some entries, indented as that; below the header where there is none."""
    line = f"{dotted(keys[len(section.keys) :])} = {toml(value)}"
    if beside:
        last = beside[-1]
        indent = text[line_start(text, last.start) : last.start]
        return _with_lines(text, line_end(text, last.value.end), [f"{indent}{line}"])
    if section.keys:
        return _with_lines(text, line_end(text, section.end), [line])
    return _with_lines(text, _top(text), [line])


def _top(text: str) -> int:
    """Where a first entry comes: before the first header and the comments right above it, else at the end."""
    first = next((section.start for section in sections(text) if section.keys), None)
    if first is None:
        return len(text)
    at = line_start(text, first)
    while at and (above := line_start(text, at - 1)) < at and text[above:at].lstrip().startswith("#"):
        at = above
    return at


def _with_section(text: str, keys: Keys, table: Mapping[str, Any]) -> str:
    """With a section at the end, or below the last one of its neighbours."""
    lines = [f"[{dotted(keys)}]", *(f"{toml_key(str(key))} = {toml(part)}" for key, part in table.items())]
    near = [section for section in sections(text) if keys[:-1] and section.keys[: len(keys) - 1] == keys[:-1]]
    if not near:
        return _with_lines(text, len(text), [""] * bool(text.strip()) + lines)
    last = near[-1].entries[-1].value.end if near[-1].entries else near[-1].end
    return _with_lines(text, line_end(text, last), ["", *lines])


def _with_header(text: str, keys: Keys, value: Any) -> str:
    """With a header for a table of which only tables inside it have one."""
    first = next(section for section in sections(text) if section.keys[: len(keys) - 1] == keys[:-1])
    lines = [f"[{dotted(keys[:-1])}]", f"{toml_key(keys[-1])} = {toml(value)}", ""]
    return _with_lines(text, line_start(text, first.start), lines)


def _with_lines(text: str, at: int, lines: Sequence[str]) -> str:
    """With whole lines at a place where a line begins, or at the end, ended as the text ends its lines."""
    ending = "\r\n" if "\r\n" in text else "\n"
    before = text[:at]
    gap = ending if before.removeprefix("\ufeff") and not before.endswith("\n") else ""
    return before + gap + "".join(line + ending for line in lines) + text[at:]


# ---- lists


def _as_lines(text: str, there: Value, table: Mapping[str, Any]) -> str:
    """A list of names over several lines as a table: a line for each name, with the comment that it had."""
    lines = (
        (line_start(text, entry.start), entry.keys)
        for section in sections(text)
        for entry in section.entries
        if entry.value == there
    )
    start, own = next(lines, (-1, ()))
    if start < 0:  # a list inside another value
        return text[: there.start] + toml(table) + text[there.end :]
    names = list(_said(f"x = {text[there.start : there.end]}")["x"])
    found, at, left = list[str](), there.start + 1, list(zip(names, there.items, strict=True))
    while at < there.end:
        first = [item.end for _, item in left[:1] if item.start < line_end(text, at)]  # may end lines below
        end = line_end(text, max([at, *first]))
        here = [name for name, item in left if item.start < end]
        last = max((item.end for _, item in left[: len(here)]), default=at)
        comment = text[text.find("#", last, end) : end].rstrip() if "#" in text[last:end] else ""
        new = [f"{dotted((*own, name))} = {toml(table[name])}" for name in here if name in table]
        if comment and (new or not here):  # that of a name that is gone goes with it
            new = [*new[:-1], f"{new[-1]}  {comment}" if new else comment]
        found, left, at = [*found, *new], left[len(here) :], end
    found += [f"{dotted((*own, name))} = {toml(part)}" for name, part in table.items() if name not in names]
    return _with_lines(_cut(text, [(start, line_end(text, there.end))]), start, found)


def _with_list(text: str, there: Value, keys: Keys, wanted: Sequence[Any]) -> str:
    """A list with other items: some taken out or put at the end; written anew where that does not do."""
    items: Any = _said(text)
    for key in keys:
        items = items[key]
    gone = [number for number, item in enumerate(items) if not any(_same(item, each) for each in wanted)]
    kept = [item for number, item in enumerate(items) if number not in set(gone)]
    if not _same(kept, list(wanted[: len(kept)])):
        return text[: there.start] + toml(wanted) + text[there.end :]
    if gone:
        return _without_items(text, there, set(gone))
    return _with_items(text, there, [toml(item) for item in wanted[len(kept) :]])


def _without_items(text: str, there: Value, gone: set[int]) -> str:
    """Each with its comma; where it was alone in its line, the line with its comment."""
    spans = list[Span]()
    for number in gone:
        item = there.items[number]
        comma = comma_after(text, item.end)
        end = item.end if comma is None else comma + 1
        begin = line_start(text, item.start)
        rest = _REST_OF_LINE.match(text, end if "\n" not in text[item.end : end] else item.end)
        spans += [] if comma is None else [(comma, comma + 1)]
        if rest is not None and not text[begin : item.start].strip():
            spans.append((begin, rest.end()))
        else:
            spans.append(
                _with_space(text, there, item, end if "\n" not in text[item.end : end] else item.end)
            )
    last = max((n for n in range(len(there.items)) if n not in gone), default=None)
    if last is not None and last < len(there.items) - 1 and comma_after(text, there.items[-1].end) is None:
        comma = comma_after(text, there.items[last].end)
        spans += [] if comma is None else [(comma, comma + 1)]
    return _cut(text, spans)


def _with_space(text: str, there: Value, item: Value, end: int) -> Span:
    """An item among others of its line, and the space that parts it from them."""
    start = item.start
    while text[start - 1] in " \t":
        start -= 1
    if start != there.start + 1:
        return start, end
    while text[end] in " \t":
        end += 1
    return item.start, end


def _with_items(text: str, there: Value, more: Sequence[str]) -> str:
    close = there.end - 1
    if not there.items:
        begin = line_start(text, close)
        if begin > there.start and not text[begin:close].strip():  # the bracket has a line of its own
            return _with_lines(text, begin, [f"{text[begin:close]}  {item}," for item in more])
        return text[:close] + ", ".join(more) + text[close:]
    last = there.items[-1]
    comma = comma_after(text, last.end)
    begin, end = line_start(text, last.start), line_end(text, last.end if comma is None else comma)
    if begin > there.start and not text[begin : last.start].strip() and end <= close:
        indent = text[begin : last.start]
        longer = _with_lines(text, end, [f"{indent}{item}," for item in more])
        return longer if comma is not None else longer[: last.end] + "," + longer[last.end :]
    if comma is None:
        return text[: last.end] + "".join(f", {item}" for item in more) + text[last.end :]
    return text[: comma + 1] + "".join(f" {item}," for item in more) + text[comma + 1 :]
