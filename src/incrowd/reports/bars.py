"""Bars and columns that stand inside a page: their colours are the page's, light or dark.

Numbers are written beside every bar, and programs that read aloud find a title and a description; so no
picture says anything by colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.reports.svg import text

WIDTH = 360  # about as wide as a telephone, so that letters are nowhere small
THICK = 9  # of a bar
HEIGHT, LEFT, TOP, BOTTOM = 190, 44, 12, 26
LONGEST = 120  # letters of a label, which may go on over several lines


@dataclass(frozen=True, slots=True)
class Bar:
    """A label, one share for each series, the words that stand at the end, and a note below."""

    label: str
    shares: tuple[float, ...]
    said: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is shown, under an id that no other picture of the page has; `whole`: a full bar is everything.

    Examples
    --------
    >>> Picture("sizes", "Classes", (Bar("10", (0.5,), "5"), Bar("11", (0.5,), "5"))).bars().count("<rect")
    4
    """

    id: str
    title: str
    rows: tuple[Bar, ...]
    series: tuple[str, ...] = ("share",)
    whole: bool = False

    def bars(self) -> str:
        """Horizontal bars as a list, each under its label; words are the page's own, and wrap."""
        most = self._most()
        parts = [f"<ul class='bars' id='{self.id}' aria-label='{text(self.title)}'>"]
        for bar in self.rows:
            said = f"<span class='figure'>{text(bar.said)}</span>"
            parts.append(f"<li><span class='label'>{parted(text(shortened(bar.label)))}</span> {said}")
            for which, share in enumerate(bar.shares):
                wide = _rect(self._class(which), 0, 0, 100 * share / most, THICK)
                parts.append(
                    f"<svg class='bar' viewBox='0 0 100 {THICK}' preserveAspectRatio='none' "
                    "aria-hidden='true'>"
                    f"{_rect('track', 0, 0, 100, THICK)}{wide}</svg>"
                )
            parts.append(f"<span class='note'>{text(bar.note)}</span></li>" if bar.note else "</li>")
        return "\n".join([*parts, "</ul>"])

    def columns(self) -> str:
        """Upright columns over an axis; a second series is a line over them."""
        most = self._most()
        step = (WIDTH - LEFT) / max(len(self.rows), 1)
        parts = [self._head(HEIGHT), *self._axis(most, step)]
        for number, bar in enumerate(self.rows):
            high = (HEIGHT - TOP - BOTTOM) * bar.shares[0] / most
            x, wide = LEFT + step * number + step * 0.08, step * 0.84
            said = f"<title>{text(f'{bar.label}: {bar.said}')}</title>"
            parts.append(_rect(self._class(0), x, HEIGHT - BOTTOM - high, wide, high, said))
        if len(self.series) > 1:
            parts.append(self._line(most, step))
        return "\n".join([*parts, "</svg>"])

    def _most(self) -> float:
        if self.whole:
            return 1.0
        return max([share for bar in self.rows for share in bar.shares], default=0) or 1.0

    def _class(self, which: int) -> str:
        return "after" if which == len(self.series) - 1 else "before"

    def _line(self, most: float, step: float) -> str:
        """Steps, as wide as the columns."""
        points = []
        for number, bar in enumerate(self.rows):
            y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * bar.shares[-1] / most
            points += [f"{LEFT + step * number:.1f},{y:.1f}", f"{LEFT + step * (number + 1):.1f},{y:.1f}"]
        return f"<polyline class='line' points='{' '.join(points)}'/>"

    def _axis(self, most: float, step: float) -> list[str]:
        bottom = HEIGHT - BOTTOM
        parts = []
        for share in (0.0, most / 2, most):
            y = bottom - (bottom - TOP) * share / most
            parts.append(f"<path class='grid' d='M{LEFT} {y:.1f}H{WIDTH}'/>")
            parts.append(f"<text x='{LEFT - 5}' y='{y + 4:.1f}' text-anchor='end'>{percent(share)}</text>")
        last = len(self.rows) - 1
        for number, anchor in {0: "start", last // 2: "middle", last: "end"}.items():
            if last >= 0 and (number in (0, last) or last >= 4):
                at = {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor if last else "middle"]
                where = f"x='{LEFT + step * (number + at):.1f}' y='{HEIGHT - 8}'"
                word = text(shortened(self.rows[number].label, 14))
                parts.append(f"<text {where} text-anchor='{anchor if last else 'middle'}'>{word}</text>")
        return parts

    def _head(self, height: int) -> str:
        about = "; ".join(f"{bar.label}: {bar.said}" for bar in self.rows)
        return (
            f"<svg class='picture' viewBox='0 0 {WIDTH} {height}' role='img' "
            f"aria-labelledby='{self.id}-title {self.id}-desc'>\n"
            f"<title id='{self.id}-title'>{text(self.title)}</title>\n"
            f"<desc id='{self.id}-desc'>{text(about)}</desc>"
        )


def _rect(kind: str, x: float, y: float, width: float, height: float, inside: str = "") -> str:
    where = f"x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}'"
    return f"<rect class='{kind}' {where}>{inside}</rect>"


def parted(escaped: str) -> str:
    """A text of the page, which may go on in the next line after these signs: no reference has one."""
    return escaped.replace("_", "_<wbr>").replace("|", "|<wbr>").replace("/", "/<wbr>")


def shortened(label: str, longest: int = LONGEST) -> str:
    """A label that fits.

    Examples
    --------
    >>> shortened("a very long label", 8)
    'a very …'
    """
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def percent(share: float) -> str:
    """A share for people: 0 is nothing and 100 all, and what is nearly that is shown as such.

    Examples
    --------
    >>> percent(0.5), percent(0.0421), percent(0.00001), percent(0.9999), percent(1.0)
    ('50%', '4.2%', '<0.1%', '>99.9%', '100%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    shown = f"{share:.1%}"
    return shown.replace(".0%", "%")


def labelled(counts: Sequence[tuple[str, int]], total: int) -> tuple[Bar, ...]:
    """Bars for counts of a total, with the count and its share at the end.

    Examples
    --------
    >>> labelled([("F", 3)], 4)[0].said
    '3 (75%)'
    """
    shares = [(label, count, count / total if total else 0.0) for label, count in counts]
    return tuple(Bar(label, (share,), f"{count:,} ({percent(share)})") for label, count, share in shares)
