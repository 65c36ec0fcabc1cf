"""Watching a compiled run from outside: it counts rows, a thread tells how many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import Progress

EVERY = 0.2  # seconds


@contextmanager
def watched(progress: Progress, clock: NDArray[np.int64], rows: int) -> Iterator[None]:
    """Report ``clock[1] / rows`` to `progress` while the body runs without the interpreter's lock."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(EVERY):
            progress(min(1.0, int(clock[1]) / max(rows, 1)))

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
    progress(1.0)
