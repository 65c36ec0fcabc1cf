"""What a manifest says of a file: its digest and its size."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any


def fingerprint(path: Path) -> dict[str, Any]:
    """What a manifest says of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"sha256": digest, "bytes": file.tell()}
