"""A time by which a search should end with the best that it has."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic


@dataclass(frozen=True, slots=True)
class Deadline:
    """So many seconds from now on.

    Examples
    --------
    >>> Deadline.after(1000).over(), Deadline.after(0).over()
    (False, True)
    """

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(monotonic() + seconds)

    def left(self) -> float:
        """Seconds until then; below 0 once it is over."""
        return self.at - monotonic()

    def over(self) -> bool:
        return self.left() <= 0
