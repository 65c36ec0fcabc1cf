"""Line charts as SVG: a single text, nothing loaded from elsewhere, readable in black and white.

Lines are told apart three times over, by colour, by marker and by dashes, so that a photocopy says as much as
a screen. Programs that read pictures aloud find a title and a description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10

COLOURS = ("#0b5394", "#b45309", "#3d6b21", "#7b2d8b", "#444444", "#9c1c1c")  # dark enough on white
MARKERS = ("circle", "square", "triangle", "diamond", "cross")
DASHES = ("7 4", "2 3", "9 3 2 3", "12 4", "4 2", "1 5")
WIDTH, HEIGHT = 740, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 230, 46, 58  # margins; the legend stands on the right
SIZE, RING = 4.0, 6.5  # of a marker, from its middle: filled, and hollow around one that says the same
TICKS = 6
FONT = "font-family='sans-serif' font-size='13' fill='#222'"


@dataclass(frozen=True, slots=True)
class Line:
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


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture of lines over one axis; the other begins at 0 unless values lie below.

    Examples
    --------
    >>> chart = Chart("Loss", "k", "bits", (Line("forest", ((5, 0.9), (10, 1.3))),))
    >>> chart.svg().startswith("<svg xmlns='http://www.w3.org/2000/svg'")
    True
    """

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]

    def __post_init__(self) -> None:
        if not self.lines:
            raise ValueError("a chart needs a line")

    def svg(self) -> str:
        """The picture."""
        frame = self.frame()
        parts = [self._head(), *self._axes(frame)]
        for number, line in enumerate(self.lines):
            parts += [_path(line, frame), *_markers(line, frame)]
            parts += _legend(line, number)
        return "\n".join([*parts, "</svg>", ""])

    def frame(self) -> Frame:
        """Where values lie."""
        return Frame.around(self.lines)

    def _head(self) -> str:
        names = "; ".join(line.name for line in self.lines)
        said = f"Lines over {self.x_label}, in {self.y_label}: {names}."
        return (
            f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' "
            f"viewBox='0 0 {WIDTH} {HEIGHT}' role='img' aria-labelledby='title about'>\n"
            f"<title id='title'>{_text(self.title)}</title>\n<desc id='about'>{_text(said)}</desc>\n"
            f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#fff'/>"
        )

    def _axes(self, frame: Frame) -> list[str]:
        middle = (LEFT + WIDTH - RIGHT) / 2
        bottom = HEIGHT - BOTTOM
        parts = [_word(self.title, LEFT, 24, "font-weight='bold'")]
        for value in frame.y_ticks:
            y = frame.y(value)
            parts.append(_stroke(LEFT, y, WIDTH - RIGHT, y, "#ddd"))
            parts.append(_word(_number(value), LEFT - 8, y + 4, "text-anchor='end'"))
        for value in frame.x_ticks:
            x = frame.x(value)
            parts.append(_stroke(x, bottom, x, bottom + 5, "#222"))
            parts.append(_word(_number(value), x, bottom + 20, "text-anchor='middle'"))
        parts.append(_stroke(LEFT, bottom, WIDTH - RIGHT, bottom, "#222"))
        parts.append(_stroke(LEFT, TOP, LEFT, bottom, "#222"))
        parts.append(_word(self.x_label, middle, HEIGHT - 16, "text-anchor='middle'"))
        turned = f"text-anchor='middle' transform='rotate(-90 18 {(TOP + bottom) / 2:g})'"
        return [*parts, _word(self.y_label, 18, (TOP + bottom) / 2, turned)]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where values lie in the picture."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]

    @classmethod
    def around(cls, lines: Sequence[Line]) -> Frame:
        xs = sorted({x for line in lines for x, _ in line.points})
        ys = [y for line in lines for _, y in line.points]
        y_ticks = ticks(min(0.0, *ys), max(ys))
        x_ticks = tuple(xs) if len(xs) <= TICKS else ticks(xs[0], xs[-1])
        return cls(
            min(xs[0], x_ticks[0]), max(xs[-1], x_ticks[-1]), y_ticks[0], y_ticks[-1], x_ticks, y_ticks
        )

    def x(self, value: float) -> float:
        """A value of the axis below, in pixels; one alone stands in the middle."""
        share = (value - self.x_low) / (self.x_high - self.x_low) if self.x_high > self.x_low else 0.5
        inner = WIDTH - LEFT - RIGHT - 40  # the outermost points keep clear of the axis
        return LEFT + 20 + share * inner

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def ticks(low: float, high: float) -> tuple[float, ...]:
    """Round values that reach around low to high, about six.

    Examples
    --------
    >>> ticks(0, 1.51)
    (0.0, 0.5, 1.0, 1.5, 2.0)
    >>> ticks(0, 0)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    high = high if high > low else low + 1.0
    rough = (high - low) / TICKS
    ten = 10.0 ** floor(log10(rough))
    step = next(size * ten for size in (1, 2, 5, 10) if size * ten >= rough * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return tuple(round(i * step, 12) for i in range(first, last + 1))


def _path(line: Line, frame: Frame) -> str:
    points = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in line.points)
    return f"<polyline points='{points}' {_stroke_of(line)}/>"


def _stroke_of(line: Line) -> str:
    dash = "" if line.ours else f" stroke-dasharray='{DASHES[line.look % len(DASHES)]}'"
    return f"fill='none' stroke='{COLOURS[line.look % len(COLOURS)]}' stroke-width='2'{dash}"


def _markers(line: Line, frame: Frame) -> list[str]:
    named = zip(line.points, (f"{line.name}: {_number(y)}" for _, y in line.points), strict=True)
    return [_marker(line, frame.x(x), frame.y(y), f"<title>{_text(name)}</title>") for (x, y), name in named]


def _marker(line: Line, x: float, y: float, inside: str = "") -> str:
    colour = COLOURS[line.look % len(COLOURS)]
    how = f"fill='{colour if line.ours else 'none'}' stroke='{colour}' stroke-width='1.5'"
    size = SIZE if line.ours else RING
    shape = MARKERS[line.look % len(MARKERS)]
    if shape == "circle":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{size}' {how}>{inside}</circle>"
    corners = {
        "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
        "triangle": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
        "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        "cross": (
            (-1, -0.4),
            (0, -0.1),
            (1, -0.4),
            (0.4, 0.3),
            (0.7, 1.2),
            (0, 0.6),
            (-0.7, 1.2),
            (-0.4, 0.3),
        ),
    }[shape]
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in corners)
    return f"<polygon points='{points}' {how}>{inside}</polygon>"


def _legend(line: Line, number: int) -> list[str]:
    left, y = WIDTH - RIGHT + 18, TOP + 12 + 22 * number
    stroke = f"<line x1='{left}' y1='{y}' x2='{left + 40}' y2='{y}' {_stroke_of(line)}/>"
    return [stroke, _marker(line, left + 20, y), _word(line.name, left + 48, y + 4)]


def _stroke(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def _word(text: str, x: float, y: float, how: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {FONT} {how}>{_text(text)}</text>"


def _text(text: str) -> str:
    """A text that cannot be taken for a part of the picture; what XML does not allow becomes a �."""
    return escape("".join(sign if sign.isprintable() else "�" for sign in text))


def _number(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
