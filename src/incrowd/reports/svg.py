"""Parts of SVG pictures: escaped text, strokes, markers, round ticks, and a frame with two axes.

Colour, marker and dashes each tell lines from each other, so that a photocopy says as much as a screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

COLOURS = ("#0b5394", "#b45309", "#3d6b21", "#7b2d8b", "#444444", "#9c1c1c")  # dark enough on white
CORNERS = {  # of markers, around their middle; a circle has none
    "circle": (),
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle": ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "cross": ((-1, -0.4), (0, -0.1), (1, -0.4), (0.4, 0.3), (0.7, 1.2), (0, 0.6), (-0.7, 1.2), (-0.4, 0.3)),
}
MARKERS = tuple(CORNERS)
DASHES = ("7 4", "2 3", "9 3 2 3", "12 4", "4 2", "1 5")
WIDTH, HEIGHT = 740, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 230, 46, 58  # margins; the legend stands on the right
LEGEND, ENTRY = 66, 22  # what stands left of a name in the legend; from one entry to the next
LABEL = 32  # for the label of the upright axis, and what parts it from the numbers and these from the axis
SIZE, RING = 4.0, 6.5  # of a marker, from its middle: filled, and hollow around one at the same place
TICKS = 6
FONT = "font-family='sans-serif' font-size='{}' fill='#222'"


@dataclass(frozen=True, slots=True)
class Area:
    """The size of a picture, and the margins around what its axes enclose."""

    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = RIGHT
    top: float = TOP
    bottom: float = BOTTOM


WIDE = Area()
_NARROW_SIGNS, _BROAD_SIGNS = frozenset("ijl.,:;'|!()[] tfr-"), frozenset("mwMW%@…")


def text_width(words: str, size: float) -> float:
    """About how wide a text is, in pixels; rather more, since the font is the reader's.

    Examples
    --------
    >>> text_width("k = 10", 10) < text_width("mondrian", 10)
    True
    """
    shares = (
        0.42 if sign in _NARROW_SIGNS else 1.0 if sign in _BROAD_SIGNS or ord(sign) > 0x2E7F else 0.66
        for sign in words
    )
    return size * sum(shares)


def visible(words: str, also: str = "") -> str:
    """A text with nothing in it that commands a page: what cannot be printed becomes a �, but for `also`.

    Examples
    --------
    >>> visible("a\\x1bb"), visible("a\\nb", also="\\n")
    ('a�b', 'a\\nb')
    """
    if words.isprintable():
        return words
    return "".join(sign if sign.isprintable() or sign in also else "�" for sign in words)


def text(words: str) -> str:
    """A text that cannot be taken for a part of the picture."""
    return escape(visible(words))


def word(words: str, x: float, y: float, how: str = "", size: int = 13) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' {FONT.format(size)} {how}>{text(words)}</text>"


def number(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def stroke(x1: float, y1: float, x2: float, y2: float, how: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' {how}/>"


def path(points: Iterable[tuple[float, float]], how: str) -> str:
    """A line through points in pixels."""
    return f"<polyline points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in points)}' {how}/>"


def marker(look: int, filled: bool, x: float, y: float, hint: str = "") -> str:
    """A mark in the shape and colour of a look; the hint is shown by programs that read pictures aloud."""
    colour, size = COLOURS[look % len(COLOURS)], SIZE if filled else RING
    how = f"fill='{colour if filled else 'none'}' stroke='{colour}' stroke-width='1.5'"
    inside = f"<title>{text(hint)}</title>" if hint else ""
    corners = CORNERS[MARKERS[look % len(MARKERS)]]
    if not corners:
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{size}' {how}>{inside}</circle>"
    points = " ".join(f"{x + dx * size:.1f},{y + dy * size:.1f}" for dx, dy in corners)
    return f"<polygon points='{points}' {how}>{inside}</polygon>"


def picture(
    title: str, about: str, parts: Iterable[str], area: Area = WIDE, prefix: str = "", followed: bool = False
) -> str:
    """A whole file with a white ground, a title and a description; `prefix` is that of their ids.

    Of one image nobody hears what is inside; where links are to be `followed`, it is a group.
    """
    size, before = f"width='{area.width:g}' height='{area.height:g}'", text(prefix)
    head = (
        f"<svg xmlns='http://www.w3.org/2000/svg' {size} "
        f"viewBox='0 0 {area.width:g} {area.height:g}' role='{'group' if followed else 'img'}' "
        f"aria-labelledby='{before}title {before}about'>\n"
        f"<title id='{before}title'>{text(title)}</title>\n<desc id='{before}about'>{text(about)}</desc>\n"
        f"<rect {size} fill='#fff'/>"
    )
    return "\n".join([head, word(title, area.left, 24, "font-weight='bold'"), *parts, "</svg>", ""])


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


@dataclass(frozen=True, slots=True)
class Frame:
    """Where values lie in the picture."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]
    area: Area = WIDE

    @classmethod
    def around(cls, points: Iterable[tuple[float, float]], names: Sequence[str] = ()) -> Frame:
        """All points, and room for the names in a legend; the upright axis begins at 0 or below."""
        every = list(points)
        xs, ys = sorted({x for x, _ in every}), [y for _, y in every]
        up, along = ticks(min(0.0, *ys), max(ys)), tuple(xs) if len(xs) <= TICKS else ticks(xs[0], xs[-1])
        wide = max(text_width(number(value), 13) for value in up)
        right = max([RIGHT, *(LEGEND + text_width(name, 13) for name in names)])
        height = max(HEIGHT, TOP + ENTRY * (len(names) + 1))
        left = max(LEFT, LABEL + wide)  # the upright label stands left of the longest number
        area = Area(width=WIDTH - RIGHT + right, height=height, left=left, right=right)
        return cls(min(xs[0], along[0]), max(xs[-1], along[-1]), up[0], up[-1], along, up, area)

    def x(self, value: float) -> float:
        """A value of the axis below, in pixels; one alone stands in the middle."""
        share = (value - self.x_low) / (self.x_high - self.x_low) if self.x_high > self.x_low else 0.5
        inner = self.area.width - self.area.left - self.area.right - 40  # outermost points keep off the axis
        return self.area.left + 20 + share * inner

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return self.bottom - share * (self.bottom - self.area.top)

    @property
    def bottom(self) -> float:
        """Where the axis below lies, in pixels."""
        return self.area.height - self.area.bottom

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.area.width - self.area.right

    def x_text(self, value: float) -> str:
        """How a value of the axis below is written."""
        return number(value)

    def y_text(self, value: float) -> str:
        """How a value of the upright axis is written."""
        return number(value)

    def axes(self, x_label: str, y_label: str) -> list[str]:
        """Both axes with their ticks and labels."""
        bottom, right, left, top = self.bottom, self.right, self.area.left, self.area.top
        parts = []
        for value in self.y_ticks:
            y = self.y(value)
            parts.append(stroke(left, y, right, y, "stroke='#ddd'"))
            parts.append(word(self.y_text(value), left - 8, y + 4, "text-anchor='end'"))
        for value in self.x_ticks:
            x = self.x(value)
            parts.append(stroke(x, bottom, x, bottom + 5, "stroke='#222'"))
            parts.append(word(self.x_text(value), x, bottom + 20, "text-anchor='middle'"))
        parts.append(stroke(left, bottom, right, bottom, "stroke='#222'"))
        parts.append(stroke(left, top, left, bottom, "stroke='#222'"))
        parts.append(word(x_label, (left + right) / 2, bottom + 42, "text-anchor='middle'"))
        turned = f"text-anchor='middle' transform='rotate(-90 18 {(top + bottom) / 2:g})'"
        return [*parts, word(y_label, 18, (top + bottom) / 2, turned)]
