"""A picture of risk against loss: a mark for each trial, and a line along those that nothing beats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log

from incrowd.reports import svg
from incrowd.reports.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, Frame

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000)
_LETTER = 6.2  # pixels, about
_BELOW = 36  # pixels below the smallest risk, for words


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A trial: its series (which has one mark), where it lies, and in words what it is.

    The best of one `group` are joined by a line and have their words beside them.
    """

    series: str
    loss: float
    risk: float
    words: str
    best: bool = False
    group: str = ""

    def __post_init__(self) -> None:
        if not (isfinite(self.loss) and 0 < self.risk <= 1):
            raise ValueError("a loss is a number, and a risk a probability above 0")


@dataclass(frozen=True, slots=True)
class FrontierChart:
    """Points over loss, with the risk upwards, where twice as much is always as high.

    Examples
    --------
    >>> chart = FrontierChart("Risk", "loss", (FrontierPoint("ring", 0.3, 0.1, "ring, k = 10", best=True),))
    >>> chart.svg().count("ring, k = 10</text>")
    1
    """

    title: str
    x_label: str
    points: tuple[FrontierPoint, ...]

    def __post_init__(self) -> None:
        if not self.points:
            raise ValueError("a picture needs a point")

    def svg(self) -> str:
        """The picture."""
        looks = {name: look for look, name in enumerate(dict.fromkeys(point.series for point in self.points))}
        groups = list(dict.fromkeys(point.group for point in self.points))
        frontier = [point for point in self.points if point.best]
        frame = RiskFrame.of(self.points)
        parts = frame.axes(self.x_label, "largest match probability")
        for number, group in enumerate(groups):
            parts += _steps([point for point in frontier if point.group == group], frame, number)
        for point in self.points:
            hint = f"{point.words}: {point.loss:.4g}, 1/{1 / point.risk:.4g}"
            parts.append(_mark(looks[point.series], frame.x(point.loss), frame.y(point.risk), hint))
        best = "; ".join(point.words for point in frontier)
        about = f"Points over {self.x_label}, largest match probability upwards. On the frontier: {best}."
        return svg.picture(
            self.title, about, [*parts, *_labels(frontier, frame), *_legend(list(looks), groups)]
        )


@dataclass(frozen=True, slots=True)
class RiskFrame(Frame):
    """Equal ratios of risk have equal heights."""

    @classmethod
    def of(cls, points: Sequence[FrontierPoint]) -> RiskFrame:
        """From a round value below the smallest risk to one above the largest."""
        losses, risks = [point.loss for point in points], [point.risk for point in points]
        low = next((step for step in _STEPS if step * min(risks) >= 0.999), 1 / min(risks))
        high = max(step for step in _STEPS if step * max(risks) <= 1.001)
        shown = [1 / step for step in _STEPS if high <= step <= low] or [max(risks), min(risks)]
        if len(shown) == 1:
            shown = [min(1.0, 2 * shown[0]), shown[0] / 2, shown[0]]
        xs = svg.ticks(min(0.0, *losses), max(losses))
        return cls(xs[0], xs[-1], min(shown), max(shown), xs, tuple(shown))

    def y_text(self, value: float) -> str:
        return f"1/{round(1 / value):,}" if value < 1 else "1"

    def y(self, value: float) -> float:
        """A risk in pixels; the smallest keeps clear of the axis, for its label stands below it."""
        share = log(value / self.y_low) / log(self.y_high / self.y_low)
        return HEIGHT - BOTTOM - _BELOW - share * (HEIGHT - TOP - BOTTOM - _BELOW)


def _mark(look: int, x: float, y: float, hint: str = "") -> str:
    """After the last shape they begin again, hollow."""
    return svg.marker(look, look // len(svg.MARKERS) % 2 == 0, x, y, hint)


def _steps(best: Sequence[FrontierPoint], frame: RiskFrame, number: int) -> list[str]:
    """What is above and to the right of this line is beaten."""
    if not best:
        return []
    ordered = sorted(best, key=lambda point: (point.loss, -point.risk))
    corners = [(frame.x(ordered[0].loss), float(TOP))]
    for point in ordered:
        corners += [(frame.x(point.loss), corners[-1][1]), (frame.x(point.loss), frame.y(point.risk))]
    corners.append((float(WIDTH - RIGHT), corners[-1][1]))
    return [svg.path(corners, _dashed(number))]


def _dashed(number: int) -> str:
    dash = ("", "7 4", "2 3", "9 3 2 3", "12 4")[number % 5]
    return f"fill='none' stroke='#777' stroke-width='1.2' stroke-dasharray='{dash or 'none'}'"


def _labels(best: Sequence[FrontierPoint], frame: RiskFrame) -> list[str]:
    """Words below and to the left of a point, where its frontier leaves room; near the axis they begin there.

    One that would hide another moves down a little; if that is not enough, it is left out.
    """
    taken: list[tuple[float, float, float]] = []
    parts = []
    for point in sorted(best, key=lambda point: (-point.risk, point.loss)):
        width = _LETTER * len(point.words)
        left = max(LEFT + 4.0, frame.x(point.loss) - 6 - width)
        for line in range(3):
            y = frame.y(point.risk) + 17 + 12 * line
            hits = (
                abs(y - other) < 12 and left < end and start < left + width for start, end, other in taken
            )
            if y < HEIGHT - BOTTOM and not any(hits):
                taken.append((left, left + width, y))
                parts.append(svg.word(point.words, left, y, size=11))
                break
    return parts


def _legend(series: Sequence[str], groups: Sequence[str]) -> list[str]:
    """A mark for each series and a line for each frontier; closer where there are many."""
    left, parts = WIDTH - RIGHT + 30, []
    step = min(22.0, (HEIGHT - TOP - 20) / (len(series) + len(groups)))
    for look, name in enumerate(series):
        y = TOP + 12 + step * look
        parts += [_mark(look, left, y), svg.word(name, left + 24, y + 4)]
    for number, group in enumerate(groups):
        y = TOP + 12 + step * (len(series) + number)
        parts.append(svg.stroke(left - 12, y, left + 12, y, _dashed(number)))
        parts.append(svg.word(f"frontier, l = {group}" if group else "frontier", left + 24, y + 4))
    return parts
