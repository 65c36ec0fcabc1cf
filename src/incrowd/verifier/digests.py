"""What a manifest says of a file: its digest and its size."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

MOST_AT_ONCE = 2**23  # bytes: between two readings this thread may have to wait for another


def fingerprint(path: Path) -> dict[str, Any]:
    """What a manifest says of a file."""
    digest, read = hashlib.sha256(), 0
    buffer = memoryview(bytearray(min(MOST_AT_ONCE, path.stat().st_size + 1)))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
            read += size
    return {"sha256": digest.hexdigest(), "bytes": read}
