"""A picture of risk against loss: a mark for each trial, and a line along those that nothing beats.

It has two forms: one for a page, with the legend at the right, and a narrow one for a telephone or a column,
with the legend below. Words never stand on each other (`reports.labels`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite, log

from incrowd.reports import svg
from incrowd.reports.labels import FAR, Box, WantedLabel, placed
from incrowd.reports.svg import Area, Frame, text_width

_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000)
_BELOW = 36  # pixels below the smallest risk, for words
_WIDE, _NARROW = Area(), Area(width=390, left=62, right=14)
_SMALL, _NORMAL = 11, 13  # of letters
_LINE = 20  # of a legend below the picture
_OWN = 9.5  # of the ring around what the policy asks for
_FAR_OUT = 2.0  # times as dear as the dearest that matters: beyond that, losses are not drawn to scale
_LEAP = 5.0  # times as dear as the next that matters: beyond that, even what matters is not drawn to scale
_APART = 15  # marks at the edge
_TOUCHED = 12  # around a mark that is a link: 24 pixels across
_SCHEME = re.compile(r"\s*(?!https?:)[^/?#]*:", re.IGNORECASE)
POLICY = "what the policy asks for"
LIMIT = "your limit"


def safe_link(link: str) -> bool:
    """Does a link run nothing when it is followed, whoever wrote it?

    Examples
    --------
    >>> safe_link("#ring-k5"), safe_link("https://example.org/a:b"), safe_link("javascript:alert(1)")
    (True, True, False)
    """
    return not _SCHEME.match(link)


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A trial: its series (which has one mark), where it lies, and in words what it is.

    The best of one `group` are joined by a line and have their words beside them; so has what the policy asks
    for itself (`own`). `brief` are the words where room is short, and the mark says the series. A point with
    an `id` or a `link` can be found, or followed, in a page; the `chosen` one of them stands out.
    """

    series: str
    loss: float
    risk: float
    words: str
    best: bool = False
    group: str = ""
    own: bool = False
    brief: str = ""
    id: str = ""
    link: str = ""
    chosen: bool = False

    def __post_init__(self) -> None:
        if not safe_link(self.link):
            raise ValueError("a link is an address without a scheme, or one of http and https")
        if not (isfinite(self.loss) and 0 < self.risk <= 1):
            raise ValueError("a loss is a number, and a risk a probability above 0")


Spot = tuple[FrontierPoint, float, float]  # and where its mark is drawn, in pixels


@dataclass(frozen=True, slots=True)
class FrontierChart:
    """Points over loss, with the risk upwards, where twice as much is always as high.

    `shares` says that losses are shares, which are written in percent. `limit` is a risk that somebody can
    answer for: a line, drawn where it is in the picture. Points that lose far more than all others that
    matter stand at the right edge, with their loss and an arrow: else they would squeeze the others.

    Examples
    --------
    >>> chart = FrontierChart("Risk", "loss", (FrontierPoint("ring", 0.3, 0.1, "ring, k = 10", best=True),))
    >>> chart.svg().count("ring, k = 10</text>")
    1
    """

    title: str
    x_label: str
    points: tuple[FrontierPoint, ...]
    shares: bool = False
    limit: float | None = None

    def __post_init__(self) -> None:
        if not self.points:
            raise ValueError("a picture needs a point")

    def svg(self, *, narrow: bool = False, prefix: str = "") -> str:
        """The picture, for a page or for a column of 400 pixels.

        All ids begin with `prefix`, so that one page may have several pictures.
        """
        looks = {name: look for look, name in enumerate(dict.fromkeys(point.series for point in self.points))}
        groups = list(dict.fromkeys(point.group for point in self.points))
        frontier = [point for point in self.points if point.best]
        legend = _Legend.of(list(looks), groups, any(point.own for point in self.points))
        frame = RiskFrame.of(self.points, legend.below(_NARROW) if narrow else _WIDE, self.shares)
        spots = frame.spots(self.points)
        parts = _beaten(frontier, frame) if len(groups) == 1 else []
        parts += frame.axes(f"← less is better · {self.x_label}", "highest match probability")
        for number, group in enumerate(groups):
            parts += _steps([point for point in frontier if point.group == group], frame, number)
        labels, leaders = _labels(spots, frame, narrow)
        parts += [*_limit(self.limit, frame), *leaders]
        for point, x, y in sorted(spots, key=lambda spot: (spot[0].chosen, spot[0].own)):  # on top of others
            hint = f"{point.words}: {frame.x_text(point.loss)}, {_odds(point.risk)}"
            parts += [_ring(x, y)] if point.own else []
            mark = _mark(looks[point.series], x, y, hint)
            parts.append(_linked(mark, point, (x, y), prefix, hint) if point.id or point.link else mark)
        words = [*parts, *labels, *legend.svg(frame.area, narrow)]
        linked = any(point.link for point in self.points)
        return svg.picture(self.title, self._about(frame), words, frame.area, prefix, followed=linked)

    def _about(self, frame: RiskFrame) -> str:
        best = "; ".join(point.words for point in self.points if point.best)
        own = "; ".join(point.words for point in self.points if point.own)
        asked = f" {POLICY[0].upper()}{POLICY[1:]}: {own}." if own else ""
        far = "; ".join(
            f"{point.words}, {frame.x_text(point.loss)}" for point in self.points if frame.beyond(point)
        )
        edge = f" Too dear for the scale, at its edge: {far}." if far else ""
        return (
            f"Points over {self.x_label}, highest match probability upwards. On the frontier: {best}."
            f"{asked}{edge}"
        )


def _odds(risk: float) -> str:
    return f"1/{1 / risk:.4g}" if risk < 1 else "1"


@dataclass(frozen=True, slots=True)
class RiskFrame(Frame):
    """Equal ratios of risk have equal heights."""

    shares: bool = False

    @classmethod
    def of(cls, points: Sequence[FrontierPoint], area: Area = _WIDE, shares: bool = False) -> RiskFrame:
        """From a round value below the smallest risk to one above the largest."""
        losses, risks = _to_scale(points), [point.risk for point in points]
        low = next((step for step in _STEPS if step * min(risks) >= 0.999), 1 / min(risks))
        high = max(step for step in _STEPS if step * max(risks) <= 1.001)
        shown = [1 / step for step in _STEPS if high <= step <= low] or [max(risks), min(risks)]
        if len(shown) == 1:
            shown = list(dict.fromkeys([min(1.0, 2 * shown[0]), shown[0] / 2, shown[0]]))
        xs = svg.ticks(min(0.0, *losses), max(losses))
        found = cls(xs[0], xs[-1], min(shown), max(shown), xs, tuple(shown), area, shares)
        odds = max(text_width(found.y_text(risk), _NORMAL) for risk in shown)
        found = replace(found, area=replace(area, left=max(area.left, odds + 34)))  # the axis has words, too
        widest = max(text_width(found.x_text(x), _NORMAL) for x in xs) + 6
        room = (found.x(xs[-1]) - found.x(xs[0])) / (len(xs) - 1)
        return replace(found, x_ticks=xs[:: max(1, -int(-widest // room))])

    def beyond(self, point: FrontierPoint) -> bool:
        """Is it dearer than the scale reaches?"""
        return point.loss > self.x_high

    def spots(self, points: Sequence[FrontierPoint]) -> list[Spot]:
        """Where marks are drawn; of those at the edge the dearest farthest to the right."""
        found = {place: (self.x(point.loss), self.y(point.risk)) for place, point in enumerate(points)}
        edge: dict[float, list[tuple[str, float]]] = {}  # at each height, what stands there: equals together
        for place in sorted(found, key=lambda place: -points[place].loss):
            point, y = points[place], found[place][1]
            if self.beyond(point):
                row, one = edge.setdefault(y, []), (point.series, point.loss)
                row += [] if one in row else [one]
                found[place] = self.edge - _APART * row.index(one), y
        return [(point, *found[place]) for place, point in enumerate(points)]

    @property
    def edge(self) -> float:
        """Where marks stand that are dearer than the scale reaches."""
        return self.right - _OWN

    def corner(self, loss: float) -> float:
        """Where the frontier turns at a loss."""
        return self.edge if loss > self.x_high else self.x(loss)

    def x_text(self, value: float) -> str:
        return f"{100 * value:.4g}%" if self.shares else svg.number(value)

    def y_text(self, value: float) -> str:
        return f"1/{round(1 / value):,}" if value < 1 else "1"

    def y(self, value: float) -> float:
        """A risk in pixels; the smallest keeps clear of the axis, for its label stands below it."""
        share = log(value / self.y_low) / log(self.y_high / self.y_low)
        return self.bottom - _BELOW - share * (self.bottom - self.area.top - _BELOW)


def _to_scale(points: Sequence[FrontierPoint]) -> list[float]:
    """Losses that are drawn to scale: all, unless those that matter would have less than half the width.

    Where few of those that matter lose many times as much as the others, these others matter.
    """
    every = [point.loss for point in points]
    matter = sorted({point.loss for point in points if point.best or point.own or point.chosen})
    leaps = [place for place, (low, high) in enumerate(pairwise(matter), 1) if high > _LEAP * low > 0]
    if leaps and 2 * leaps[-1] > len(matter) and leaps[-1] > 1:
        matter = matter[: leaps[-1]]
    near = [loss for loss in every if loss <= _FAR_OUT * (matter[-1] if matter else 0.0)]
    return near if near and max(every) > _FAR_OUT * max(near) else every


def _mark(look: int, x: float, y: float, hint: str = "") -> str:
    """After the last shape they begin again, hollow."""
    return svg.marker(look, look // len(svg.MARKERS) % 2 == 0, x, y, hint)


def _linked(mark: str, point: FrontierPoint, at: tuple[float, float], prefix: str, hint: str) -> str:
    """A mark that can be found by its id and followed; fingers need more room than eyes."""
    name = f" id='{svg.text(prefix + point.id)}'" if point.id else ""
    if not point.link:
        return f"<g{name}>{mark}</g>"
    kind = f" class='mark{' best' if point.best else ''}'" + (" aria-current='true'" if point.chosen else "")
    x, y = at
    room = f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{_TOUCHED}' fill='#fff' fill-opacity='0'/>"
    return f"<a{name}{kind} href='{svg.text(point.link)}' aria-label='{svg.text(hint)}'>{room}{mark}</a>"


def _limit(risk: float | None, frame: RiskFrame) -> list[str]:
    """The risk that somebody can answer for; one beyond the picture is not drawn."""
    if risk is None or not frame.y_low * 0.999 <= risk <= frame.y_high * 1.001:
        return []
    y, how = frame.y(risk), "class='limit' stroke='#9c1c1c' stroke-width='1.5' stroke-dasharray='6 4'"
    words = svg.word(LIMIT, frame.right - 2, y - 5, "class='limit' text-anchor='end'", _SMALL)
    return [svg.stroke(frame.area.left, y, frame.right, y, how), words]


def _ring(x: float, y: float) -> str:
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{_OWN}' fill='none' stroke='#111' stroke-width='2'/>"


def _corners(best: Sequence[FrontierPoint], frame: RiskFrame) -> list[tuple[float, float]]:
    """What is above and to the right of these steps is beaten."""
    ordered = sorted(best, key=lambda point: (point.loss, -point.risk))
    corners = [(frame.corner(ordered[0].loss), float(frame.area.top))]
    for point in ordered:
        x = frame.corner(point.loss)
        corners += [(x, corners[-1][1]), (x, frame.y(point.risk))]
    return [*corners, (frame.right, corners[-1][1])]


def _beaten(best: Sequence[FrontierPoint], frame: RiskFrame) -> list[str]:
    if not best:
        return []
    around = [*_corners(best, frame), (frame.right, float(frame.area.top))]
    return [f"<polygon points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in around)}' fill='#f1f3f6'/>"]


def _steps(best: Sequence[FrontierPoint], frame: RiskFrame, number: int) -> list[str]:
    return [svg.path(_corners(best, frame), _dashed(number))] if best else []


def _dashed(number: int) -> str:
    dash = ("", "7 4", "2 3", "9 3 2 3", "12 4")[number % 5]
    return f"fill='none' stroke='#777' stroke-width='1.2' stroke-dasharray='{dash or 'none'}'"


def _labels(spots: Sequence[Spot], frame: RiskFrame, narrow: bool) -> tuple[list[str], list[str]]:
    """Words at the frontier and at what the policy asks for, which stands best; lines to those that moved.

    What is too dear for the scale has its loss beside it.
    """
    named = [spot for spot in spots if spot[0].best or spot[0].own or frame.beyond(spot[0])]
    named.sort(key=lambda spot: (not spot[0].own, frame.beyond(spot[0]), -spot[0].risk, spot[0].loss))
    equals = Counter((point.series, x, y) for point, x, y in named)
    named = list({(point.series, x, y): (point, x, y) for point, x, y in reversed(named)}.values())[::-1]
    words = [_said(point, frame, narrow, equals[point.series, x, y] - 1) for point, x, y in named]
    wanted = [
        WantedLabel(x, y, text_width(said, _SMALL) + 2, _SMALL + 3)
        for (_, x, y), said in zip(named, words, strict=True)
    ]
    marks = [Box.around(x, y, _OWN if point.own else svg.RING) for point, x, y in spots]
    area = Box(frame.area.left + 2, frame.area.top, frame.right, frame.bottom - 1)
    labels, leaders = [], []
    for (point, _, _), said, want, box in zip(named, words, wanted, placed(wanted, area, marks), strict=True):
        if box is None:  # the mark still says it to whoever points at it
            continue
        weight = "font-weight='bold' " if point.own else ""
        halo = f"{weight}stroke='#fff' stroke-width='3' paint-order='stroke'"
        labels.append(svg.word(said, box.left + 1, box.bottom - 3, halo, _SMALL))
        if box.distance(want.x, want.y) > FAR:
            leaders.append(svg.stroke(want.x, want.y, *box.nearest(want.x, want.y), "stroke='#999'"))
    return labels, leaders


def _said(point: FrontierPoint, frame: RiskFrame, narrow: bool, equals: int) -> str:
    """What stands beside a mark, and beside how many others at the same place."""
    words = (point.brief if narrow and point.brief else point.words) + (
        f" and {equals} more" if equals else ""
    )
    if not frame.beyond(point):
        return words
    loss = f"{100 * point.loss:.3g}% →" if frame.shares else f"{svg.number(point.loss)} →"
    return f"{words}: {loss}" if point.best or point.own else loss


@dataclass(frozen=True, slots=True)
class _Legend:
    """A mark for each series, a line for each frontier, and the ring: what is drawn, and its words."""

    entries: tuple[tuple[str, int, str], ...]

    @classmethod
    def of(cls, series: Sequence[str], groups: Sequence[str], own: bool) -> _Legend:
        marks = [("mark", look, name) for look, name in enumerate(series)]
        lines = [
            ("line", number, f"frontier, l = {group}" if group else "frontier")
            for number, group in enumerate(groups)
        ]
        return cls((*marks, *lines, *([("ring", 0, POLICY)] if own else [])))

    def below(self, area: Area) -> Area:
        """A narrow picture, high enough for the legend below it."""
        more = _LINE * (self._lines(area)[-1][1] + 1) + 6
        return replace(area, height=area.height + more, bottom=area.bottom + more)

    def _lines(self, area: Area) -> list[tuple[float, int]]:
        """Where each entry begins, and in which line."""
        x, line, found = 0.0, 0, []
        for _, _, words in self.entries:
            wide = 36 + text_width(words, _NORMAL)
            if x and x + wide > area.width - 20:
                x, line = 0.0, line + 1
            found.append((x, line))
            x += wide
        return found

    def svg(self, area: Area, narrow: bool) -> list[str]:
        if narrow:
            top = area.height - 14 - _LINE * self._lines(area)[-1][1]
            places = [(22.0 + x, top + _LINE * line) for x, line in self._lines(area)]
        else:  # closer where there are many
            step = min(22.0, (area.height - area.top - 20) / len(self.entries))
            places = [
                (area.width - area.right + 30.0, area.top + 12 + step * number)
                for number in range(len(self.entries))
            ]
        return [
            part
            for (kind, which, words), (x, y) in zip(self.entries, places, strict=True)
            for part in (_sign(kind, which, x, y), svg.word(words, x + 18, y + 4))
        ]


def _sign(kind: str, which: int, x: float, y: float) -> str:
    if kind == "line":
        return svg.stroke(x - 12, y, x + 12, y, _dashed(which))
    return _ring(x, y) if kind == "ring" else _mark(which, x, y)
