"""What is compiled, and who is told of it. It imports no numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SENTENCE = "compiling, once on this machine: from a quarter of a minute to a minute"


class Compiling:
    """How many functions were compiled because they were not kept, and who hears of the first."""

    def __init__(self) -> None:
        self.functions = 0
        self.tell: Callable[[], None] | None = None
        self.for_all = False  # keep what is compiled beside the program, not in the user's own folder
        self.everything = False  # also what only large tables need

    @contextmanager
    def ahead(self, tell: Callable[[], None] | None, for_all: bool) -> Iterator[None]:
        """Compile before anybody waits for it: everything that runs meanwhile."""
        self.tell, self.for_all, self.everything = tell, for_all, True
        try:
            yield
        finally:
            self.tell, self.for_all, self.everything = None, False, False

    def begins(self) -> None:
        """Count a function that must be compiled."""
        self.functions += 1
        tell, self.tell = self.tell, None
        if tell is not None:
            tell()


compiling = Compiling()
