"""The chart of outliers: the share of people that stands out over d, a line for each p, on powers of ten."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

WIDTH, HEIGHT = 420, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 40
SHOWN_TICKS = 5


@dataclass(frozen=True)
class Line:
    """The points of one p, in pixels."""

    p: str
    points: str
    marks: tuple[tuple[float, float, str], ...]
    proposed: bool


@dataclass(frozen=True)
class OutlierChart:
    """What a template needs to draw it."""

    lines: tuple[Line, ...]
    across: tuple[tuple[float, str], ...]
    upward: tuple[tuple[float, str], ...]
    proposal: tuple[float, float] | None


def chart_of(found: Mapping[str, Any]) -> OutlierChart:
    """The grid of `outliers` as a picture; 0 % stands at the bottom."""
    grid = found["grid"]
    ds = sorted({float(at["d"]) for at in grid})
    least = 1 / found["asked"]
    low = floor(log10(least) + 1e-9)
    first, last = ds[0], ds[-1]

    def x(d: float) -> float:
        wide = WIDTH - LEFT - RIGHT
        return round(LEFT + (wide * (d - first) / (last - first) if last > first else wide / 2), 1)

    def y(share: float) -> float:
        place = 0.0 if share <= 0 else (1 + log10(max(share, 10.0**low)) - low) / (1 - low)
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * place, 1)

    lines = []
    for p in sorted({str(at["p"]) for at in grid}, key=float):
        points = sorted((float(at["d"]), at["share"]) for at in grid if str(at["p"]) == p)
        marks = tuple((x(d), y(share), f"p = {p}, d = {d:g}: {share:.2%}") for d, share in points)
        path = " ".join(f"{across},{up}" for across, up, _ in marks)
        lines.append(Line(p, path, marks, p == str(found["p"])))
    proposal = found["proposal"]
    step = max(ceil(len(ds) / SHOWN_TICKS), 1)
    return OutlierChart(
        tuple(lines),
        tuple((x(d), f"{d:g}") for d in ds[::step]),
        ((y(0.0), "0"), *((y(10.0**n), f"{10.0 ** (n + 2):g} %") for n in range(low, 1))),
        None if proposal is None else (x(float(proposal["d"])), y(proposal["share"])),
    )
