"""Ways to tamper with a release folder. Each must be noticed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any


def manifest_of(folder: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    return said


def change_a_cell(folder: Path) -> None:
    text = (folder / "data.csv").read_text(encoding="utf-8")
    (folder / "data.csv").write_text(text.replace("Asthma", "Stroke", 1), encoding="utf-8")


def drop_the_last_row(folder: Path) -> None:
    lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "data.csv").write_text("".join(lines[:-1]), encoding="utf-8")


def edit_manifest(**changes: Any) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (folder / "release.json").write_text(json.dumps({**manifest_of(folder), **changes}), encoding="utf-8")

    return edit


def cut_off(name: str) -> Callable[[Path], None]:
    def cut(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:-100])

    return cut


TAMPERED: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a cell changed": ("csv", change_a_cell),
    "a row gone": ("csv", drop_the_last_row),
    "another file": ("csv", lambda folder: (folder / "names.csv").write_text("x")),
    "no data": ("csv", lambda folder: (folder / "data.csv").unlink()),
    "no data in Parquet": ("parquet", lambda folder: (folder / "data.parquet").unlink()),
    "two data files": ("csv", lambda folder: shutil.copy(folder / "data.csv", folder / "data.parquet")),
    "Parquet cut off": ("parquet", cut_off("data.parquet")),
    "CSV cut off": ("csv", cut_off("data.csv")),
    "manifest cut off": ("csv", cut_off("release.json")),
    "manifest a list": ("csv", lambda folder: (folder / "release.json").write_text("[]")),
    "manifest very deep": ("csv", lambda folder: (folder / "release.json").write_text("[" * 100_000)),
    "claims nothing": ("csv", edit_manifest(claims=[])),
    "claims no list": ("csv", edit_manifest(claims=5)),
    "claims of texts": ("csv", edit_manifest(claims=["k-anonymity"])),
    "claims without numbers": (
        "csv",
        edit_manifest(
            claims=[{"model": "k-anonymity", "parameters": [1], "adversary": "", "assumptions": []}]
        ),
    ),
    "claims more than it keeps": (
        "csv",
        edit_manifest(
            claims=[{"model": "k-anonymity", "parameters": {"k": 300}, "adversary": "", "assumptions": []}]
        ),
    ),
    "an unknown claim": (
        "csv",
        edit_manifest(claims=[{"model": "magic", "parameters": {}, "adversary": "", "assumptions": []}]),
    ),
    "another digest": ("csv", edit_manifest(files={"data.csv": {"sha256": "0" * 64, "bytes": 1}})),
}
