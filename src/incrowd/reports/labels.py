"""Where the words of a picture stand: beside their points, never on each other, and always the same way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import hypot

BESIDE = 7.0  # pixels between a point and words that stand beside it
APART = 2.0  # pixels at least between two labels
FAR = 12.0  # pixels from which on a line leads from a point to its words


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a picture, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, x: float, y: float, size: float) -> Box:
        return cls(x - size, y - size, x + size, y + size)

    def meets(self, other: Box, apart: float = 0.0) -> bool:
        """Do both have a part in common, or are they less than so far apart?"""
        return (
            self.left < other.right + apart
            and other.left < self.right + apart
            and self.top < other.bottom + apart
            and other.top < self.bottom + apart
        )

    def holds(self, other: Box) -> bool:
        return (
            self.left <= other.left
            and self.top <= other.top
            and other.right <= self.right
            and other.bottom <= self.bottom
        )

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """The place in the box that is nearest to a point."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)

    def distance(self, x: float, y: float) -> float:
        near = self.nearest(x, y)
        return hypot(near[0] - x, near[1] - y)


@dataclass(frozen=True, slots=True)
class WantedLabel:
    """A label that is to stand at a point, and how large it is."""

    x: float
    y: float
    width: float
    height: float

    def beside(self) -> Iterator[Box]:
        """The places around the point, the preferred ones first: a frontier leaves room below on the left."""
        left, right = self.x - BESIDE - self.width, self.x + BESIDE
        above, below = self.y - BESIDE - self.height, self.y + BESIDE / 2
        middle = self.y - self.height / 2
        corners = ((left, below), (right, above), (right, below), (left, above), (left, middle))
        for x, y in (*corners, (right, middle), (self.x - self.width / 2, self.y + 1.4 * BESIDE)):
            yield self._at(x, y)

    def in_line(self, top: float, area: Box, others: Iterable[Box]) -> Iterator[Box]:
        """The places in one line: as near to the point as it goes, or just beside what stands there."""
        xs = [self.x - self.width / 2]
        for other in others:
            xs += [other.left - APART - self.width, other.right + APART]
        for x in xs:
            yield self._at(min(max(x, area.left), area.right - self.width), top)

    def _at(self, x: float, y: float) -> Box:
        return Box(x, y, x + self.width, y + self.height)


def placed(wanted: Sequence[WantedLabel], area: Box, marks: Sequence[Box] = ()) -> list[Box | None]:
    """A box for each label: inside the area, none on another; None for one that finds no room.

    Labels are placed one after the other, so that the first stand best. Each takes the first free place
    beside its point; else, of all lines of the picture, the nearest free place. They keep off `marks` where
    they can.

    Examples
    --------
    >>> both = placed([WantedLabel(50, 50, 30, 10)] * 2, Box(0, 0, 100, 100))
    >>> both[0].meets(both[1])
    False
    """
    found: list[Box | None] = []
    for label in wanted:
        taken = [box for box in found if box is not None]
        found.append(_place(label, area, taken, marks) or _place(label, area, taken, ()))
    return found


def _place(label: WantedLabel, area: Box, taken: Sequence[Box], marks: Sequence[Box]) -> Box | None:
    def free(box: Box) -> bool:
        others = any(box.meets(other, APART) for other in taken)
        return area.holds(box) and not others and not any(box.meets(mark) for mark in marks)

    beside = next(filter(free, label.beside()), None)
    if beside is not None:
        return beside
    step, places = label.height + APART, []
    for line in range(int((area.bottom - area.top - label.height) // step) + 1):
        top = area.top + line * step
        band = Box(area.left, top, area.right, top + label.height)
        there = [box for box in (*taken, *marks) if box.meets(band, APART)]
        places += [box for box in label.in_line(top, area, there) if free(box)]
    return min(places, key=lambda box: (box.distance(label.x, label.y), box.top, box.left), default=None)
