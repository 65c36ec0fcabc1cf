"""Releases that say more than they may: the original, or bits of it, where nobody looks.

All start from the good release of `classes`. What they change has no meaning, or a text that nobody checks:
how lines end, which cells are quoted, the order of keys, the form of a number, words in the manifest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forgeries.classes import Release, Spoiler, described, manifest, manifest_text

COVERT: dict[str, tuple[str, Spoiler]] = {}
Change = Callable[[bytes], bytes]


def the_original(r: Release) -> str:
    return "\n".join(",".join(row) for row in r.original)


def stating(caught_by: str, *path: str) -> tuple[str, Spoiler]:
    """The whole original as one text of the manifest."""

    def spoil(r: Release) -> None:
        at: Any = r.manifest
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = [the_original(r)] if isinstance(at.get(path[-1]), list) else the_original(r)

    return caught_by, spoil


def data(caught_by: str, change: Change) -> tuple[str, Spoiler]:
    """Other bytes with the same rows; the manifest is corrected."""

    def after(folder: Path) -> None:
        path, told = folder / "data.csv", folder / "release.json"
        before = path.read_bytes()
        path.write_bytes(change(before))
        assert path.read_bytes() != before
        said = json.loads(told.read_text(encoding="utf-8"))
        said["files"]["data.csv"] = described(path)
        told.write_text(manifest_text(said), encoding="utf-8")

    return caught_by, lambda r: r.after.append(after)


def told(caught_by: str, change: Change) -> tuple[str, Spoiler]:
    """Another text of the manifest with the same content."""

    def after(folder: Path) -> None:
        path = folder / "release.json"
        before = path.read_bytes()
        path.write_bytes(change(before))
        assert path.read_bytes() != before

    return caught_by, lambda r: r.after.append(after)


def cell(name: str, form: Callable[[str], str]) -> tuple[str, Spoiler]:
    """A class's cell with the same meaning in another form; the domains are what these cells name."""

    def spoil(r: Release) -> None:
        rows = r.wide(name)
        r.set_class(rows, name, form(r.rows[rows[0]][r.at(name)]))
        table = {column: r.column(column) for column in r.names}
        r.manifest["columns"] = manifest(r.schema, r.claims, table)["columns"]

    return "cells", spoil


def as_json(write: Callable[[Any], str]) -> Change:
    return lambda text: write(json.loads(text)).encode()


def reversed_keys(said: dict[str, Any]) -> str:
    return json.dumps(dict(reversed(said.items())), indent=2, ensure_ascii=False) + "\n"


def second_line(change: Change) -> Change:
    """Change one row only: a bit that differs from row to row."""

    def all_lines(text: bytes) -> bytes:
        lines = text.splitlines(keepends=True)
        return b"".join([*lines[:1], change(lines[1]), *lines[2:]])

    return all_lines


def some_are_dropped(suppressed: Any, **more: str) -> Spoiler:
    """One class is kept, all others are said to be suppressed, and everything else is corrected."""

    def spoil(r: Release) -> None:
        kept = set(r.classes()[0])
        r.rows = [row for p, row in enumerate(r.rows) if p in kept]
        r.truth = [record for p, record in enumerate(r.truth) if p in kept]
        r.claims = r.claims[:1]
        r.manifest = manifest(r.schema, r.claims, {name: r.column(name) for name in r.names})
        r.manifest["rows"] = {"published": len(r.rows), "suppressed": suppressed, **more}

    return spoil


def last(line: bytes) -> bytes:
    return line.rstrip(b"\n").rpartition(b",")[2]


def floated(text: bytes) -> bytes:
    """The size of the data file as 1234.0: equal as a number, and another text."""
    before, key, after = text.partition(b'"bytes": ')
    digits = after.split(b"\n")[0]
    return before + key + digits + b".0" + after[len(digits) :]


COVERT |= {
    "the original among the options": stating("manifest", "method", "options", "note"),
    "the original as an option": stating("manifest", "method", "options", "choose"),
    "the original as the paper": stating("manifest", "method", "paper"),
    "the original as the name of the method": stating("manifest", "method", "name"),
    "the original as an accepted exposure": stating("manifest", "accepted"),
    "the original as the tool": stating("manifest", "tool"),
    "the original in the version of the tool": (
        "manifest",
        lambda r: r.manifest.update(tool=f"incrowd 0.1.0+{the_original(r).encode().hex()}"),
    ),
    "a workload": ("manifest", lambda r: r.manifest["method"]["options"].update(workload=["age = 34"])),
    "an exposure that was not accepted": ("manifest", lambda r: r.manifest.update(accepted=["small-means"])),
    "CRLF everywhere": data("schema", lambda text: text.replace(b"\n", b"\r\n")),
    "CRLF in one row": data("cells", second_line(lambda line: line.replace(b"\n", b"\r\n"))),
    "a blank line": data("cells", second_line(lambda line: line + b"\n")),
    "a blank line at the end": data("cells", lambda text: text + b"\n"),
    "no line end at the end": data("cells", lambda text: text[:-1]),
    "quotes that nothing needs": data(
        "cells", second_line(lambda line: line.rstrip(b"\n").rpartition(b",")[0] + b',"%s"\n' % last(line))
    ),
    "quotes in the header": data("schema", lambda text: b'"age"' + text[3:]),
    "a blank after the header": data("schema", lambda text: text.replace(b"note\n", b"note \n", 1)),
    "a byte order mark": data("schema", lambda text: b"\xef\xbb\xbf" + text),
    "a number protected like a formula": data(
        "cells", lambda text: text.replace(b",-", b",'-", 1) if b",-" in text else b""
    ),
    "a manifest in UTF-16": told("files", lambda text: text.decode().encode("utf-16")),
    "a manifest with a byte order mark": told("files", lambda text: b"\xef\xbb\xbf" + text),
    "blanks at the end of the manifest": told("bytes", lambda text: text + b" \n"),
    "a manifest on one line": told("bytes", as_json(lambda said: json.dumps(said) + "\n")),
    "keys in another order": told("bytes", as_json(reversed_keys)),
    "a needless escape": told("bytes", lambda text: text.replace(b"mondrian", b"mondri\\u0061n")),
    "bytes as a float": told("bytes", floated),
    "numbers with exponent": cell("age", lambda text: text.replace("[", "[0").replace(",", ",0")),
    "an unsorted set": cell("sex", lambda text: "{" + "|".join(reversed(text.strip("{}").split("|"))) + "}"),
    "a star for a range": cell("age", lambda _: "*"),
    "dropped and counted": ("manifest", some_are_dropped(56)),
    "dropped and allowed by nobody": ("manifest", some_are_dropped(None, max_suppression="1")),
    "dropped and said to be all": ("rows", some_are_dropped(0)),
}
