"""What a manifest says about the columns of its release."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.schema import FORMAT_VERSION, MANIFEST, Column, Kind, Role, Schema, Shape


def manifest_schema(manifest: Mapping[str, Any], where: Path) -> Schema:
    """The columns of a release, as its manifest describes them."""
    if (manifest.get("format"), manifest.get("version")) != ("incrowd-release", FORMAT_VERSION):
        raise InputError(f"{where / MANIFEST} is of another format or version than this program knows")
    try:
        return Schema(
            tuple(
                Column(
                    said["name"],
                    Role(said["role"]),
                    Kind(said["kind"]),
                    Shape(said["shape"]) if "shape" in said else Shape.SET,
                    mean=said.get("mean") is True,
                )
                for said in manifest["columns"]
            )
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"the columns in the manifest of {where} cannot be read") from None
