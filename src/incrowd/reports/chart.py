"""Line charts as SVG: a single text, nothing loaded from elsewhere, readable in black and white."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from incrowd.reports.svg import (
    COLOURS,
    DASHES,
    RIGHT,
    TOP,
    WIDTH,
    Frame,
    marker,
    number,
    path,
    picture,
    stroke,
    word,
)


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line: its name in the legend and its points, from left to right.

    Lines of one `look` share colour and marker. Those that are not `ours` are dashed, their
    markers hollow.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    look: int = 0
    ours: bool = True

    def __post_init__(self) -> None:
        if not self.points or not all(isfinite(value) for point in self.points for value in point):
            raise ValueError("a line needs points, and they must be numbers")

    def svg(self, frame: Frame, number_in_legend: int) -> list[str]:
        """The line, its markers, and its entry in the legend."""
        dash = "" if self.ours else f" stroke-dasharray='{DASHES[self.look % len(DASHES)]}'"
        how = f"fill='none' stroke='{COLOURS[self.look % len(COLOURS)]}' stroke-width='2'{dash}"
        parts = [path([(frame.x(x), frame.y(y)) for x, y in self.points], how)]
        for x, y in self.points:
            parts.append(marker(self.look, self.ours, frame.x(x), frame.y(y), f"{self.name}: {number(y)}"))
        left, y = WIDTH - RIGHT + 18, TOP + 12 + 22 * number_in_legend
        parts.append(stroke(left, y, left + 40, y, how))
        return [*parts, marker(self.look, self.ours, left + 20, y), word(self.name, left + 48, y + 4)]


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of lines over one axis; the other begins at 0 unless values lie below.

    Examples
    --------
    >>> chart = Chart("Loss", "k", "bits", (ChartLine("forest", ((5, 0.9), (10, 1.3))),))
    >>> chart.svg().startswith("<svg xmlns='http://www.w3.org/2000/svg'")
    True
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[ChartLine, ...]

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValueError("a chart needs a line")

    @property
    def points(self) -> list[tuple[float, float]]:
        return [point for line in self.lines for point in line.points]

    def frame(self) -> Frame:
        """Where values lie."""
        return Frame.around(self.points)

    def svg(self) -> str:
        """The picture."""
        frame = self.frame()
        names = "; ".join(line.name for line in self.lines)
        lines = [part for number, line in enumerate(self.lines) for part in line.svg(frame, number)]
        about = f"Lines over {self.x_label}, in {self.y_label}: {names}."
        return picture(self.title, about, [*frame.axes(self.x_label, self.y_label), *lines])
