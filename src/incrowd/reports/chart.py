"""Line charts as SVG: a single text, nothing loaded from elsewhere, readable in black and white."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite, log10

from incrowd.reports import svg
from incrowd.reports.svg import TOP, Frame


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line: its name in the legend and its points, from left to right.

    Lines of one `look` share colour and marker. Those that are not `ours` are dashed, their
    markers hollow. `band` has a low and a high end for each point, which are shaded between.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    look: int = 0
    ours: bool = True
    band: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if not self.points or not all(
            isfinite(value) for pair in (*self.points, *self.band) for value in pair
        ):
            raise ValueError("a line needs points, and they must be numbers")
        if self.band and len(self.band) != len(self.points):
            raise ValueError("a band needs two ends for each point")

    @property
    def reach(self) -> list[tuple[float, float]]:
        """The points and the ends of the band."""
        ends = [(x, y) for (x, _), pair in zip(self.points, self.band, strict=bool(self.band)) for y in pair]
        return [*self.points, *ends]

    def svg(self, frame: Frame, number_in_legend: int) -> list[str]:
        """The line, its markers, and its entry in the legend."""
        dash = "" if self.ours else f" stroke-dasharray='{svg.DASHES[self.look % len(svg.DASHES)]}'"
        how = f"fill='none' stroke='{svg.COLOURS[self.look % len(svg.COLOURS)]}' stroke-width='2'{dash}"
        parts = [*self._shade(frame), svg.path([(frame.x(x), frame.y(y)) for x, y in self.points], how)]
        for x, y in self.points:
            parts.append(
                svg.marker(self.look, self.ours, frame.x(x), frame.y(y), f"{self.name}: {svg.number(y)}")
            )
        left, y = frame.right + svg.LEGEND - 48, TOP + 12 + svg.ENTRY * number_in_legend
        parts.append(svg.stroke(left, y, left + 40, y, how))
        return [*parts, svg.marker(self.look, self.ours, left + 20, y), svg.word(self.name, left + 48, y + 4)]

    def _shade(self, frame: Frame) -> list[str]:
        """Along the low ends, and back along the high ones."""
        if not self.band:
            return []
        xs = [x for x, _ in self.points]
        low = [(frame.x(x), frame.y(max(y, frame.y_low))) for x, (y, _) in zip(xs, self.band, strict=True)]
        high = [(frame.x(x), frame.y(y)) for x, (_, y) in zip(xs, self.band, strict=True)]
        colour = svg.COLOURS[self.look % len(svg.COLOURS)]
        return [svg.path([*low, *reversed(high)], f"fill='{colour}' fill-opacity='0.15' stroke='none'")]


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
        return [point for line in self.lines for point in line.reach]

    def frame(self) -> Frame:
        """Where values lie."""
        return Frame.around(self.points, [line.name for line in self.lines])

    def svg(self) -> str:
        """The picture."""
        frame = self.frame()
        names = "; ".join(line.name for line in self.lines)
        lines = [part for number, line in enumerate(self.lines) for part in line.svg(frame, number)]
        about = f"Lines over {self.x_label}, in {self.y_label}: {names}."
        return svg.picture(self.title, about, [*frame.axes(self.x_label, self.y_label), *lines], frame.area)


# Rates, from one in thousands to all


@dataclass(frozen=True, slots=True)
class RateChart(Chart):
    """Lines over one axis; the other has powers of ten from `least` on, the smallest rate above 0.

    0 stands at the bottom.

    Examples
    --------
    >>> rates = RateChart("Rates", "d", "%", (ChartLine("p = 0.8", ((1, 100), (2, 0.02), (3, 0))),), 0.01)
    >>> rates.frame().y_ticks
    (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
    """

    least: float = 0.1

    def __post_init__(self) -> None:
        Chart.__post_init__(self)
        if self.least <= 0 or any(y < 0 for _, y in self.points):
            raise ValueError("rates are not negative, and the smallest is above 0")

    def frame(self) -> Frame:
        """Where values lie."""
        plain = Chart.frame(self)
        highest = max([y for _, y in self.points if y > 0], default=self.least)
        low = floor(log10(min(self.least, highest)) + 1e-9)
        high = max(low + 1, -floor(-log10(highest) + 1e-9))
        ticks = (0.0, *(round(10.0**power, 12) for power in range(low, high + 1)))
        return PowerFrame(plain.x_low, plain.x_high, 0.0, ticks[-1], plain.x_ticks, ticks, plain.area)


@dataclass(frozen=True, slots=True)
class PowerFrame(Frame):
    """Ticks of equal distance: 0, then powers of ten."""

    def y(self, value: float) -> float:
        """A value of the upright axis, in pixels; what is below the first power lies between it and 0."""
        first, steps = self.y_ticks[1], len(self.y_ticks) - 1
        place = value / first if value < first else 1 + log10(value / first)
        return self.bottom - place / steps * (self.bottom - self.area.top)
