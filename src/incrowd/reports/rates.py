"""Line charts of rates that range from one in thousands to all: every power of ten has the same height."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

from incrowd.reports.chart import Chart
from incrowd.reports.svg import BOTTOM, HEIGHT, TOP, Frame


@dataclass(frozen=True, slots=True)
class RateChart(Chart):
    """Lines over one axis; the other has powers of ten from `least` on, the smallest rate above 0.

    0 stands at the bottom.

    Examples
    --------
    >>> from incrowd.reports.chart import ChartLine
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
        plain = Frame.around(self.points)
        highest = max([y for _, y in self.points if y > 0], default=self.least)
        low = floor(log10(min(self.least, highest)) + 1e-9)
        high = max(low + 1, -floor(-log10(highest) + 1e-9))
        ticks = (0.0, *(round(10.0**power, 12) for power in range(low, high + 1)))
        return PowerFrame(plain.x_low, plain.x_high, 0.0, ticks[-1], plain.x_ticks, ticks)


@dataclass(frozen=True, slots=True)
class PowerFrame(Frame):
    """Ticks of equal distance: 0, then powers of ten."""

    def y(self, value: float) -> float:
        """A value of the upright axis, in pixels; what is below the first power lies between it and 0."""
        first, steps = self.y_ticks[1], len(self.y_ticks) - 1
        place = value / first if value < first else 1 + log10(value / first)
        return HEIGHT - BOTTOM - place / steps * (HEIGHT - TOP - BOTTOM)
