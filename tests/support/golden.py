"""Golden vectors: examples typed in from the papers, each with an id, an input and what is expected."""

from __future__ import annotations

import json
from typing import Any

from support.places import TESTS


def vectors(*files: str) -> dict[str, Any]:
    """All vectors of these files by their ids."""
    found: dict[str, Any] = {}
    for file in files:
        text = (TESTS / "golden" / f"{file}.json").read_text(encoding="utf-8")
        found |= {vector["id"]: vector for vector in json.loads(text)["vectors"]}
    return found


def golden(file: str, name: str) -> tuple[Any, Any]:
    """The input of one vector, and what is expected of it."""
    vector = vectors(file)[name]
    return vector["input"], vector["expected"]
