"""Who is told that kernels are being compiled. Knows nothing of numba, so that it costs nothing to import."""

from __future__ import annotations

from collections.abc import Callable


class Compiling:
    """How many functions were compiled because they were not kept, and who hears of the first."""

    def __init__(self) -> None:
        self.functions = 0
        self.tell: Callable[[], None] | None = None
        self.for_all = False  # keep what is compiled beside the program, not in the user's own folder

    def begins(self) -> None:
        """Count a function that must be compiled."""
        self.functions += 1
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()


compiling = Compiling()
