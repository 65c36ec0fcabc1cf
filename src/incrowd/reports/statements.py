"""Statements of papers and their verdicts as one HTML file that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from incrowd.reports.chart import Chart
from incrowd.reports.templates import templates_in

SHOWN = 3  # points of a statement that are not folded


def slug(verdict: str) -> str:
    """A verdict as the name of a class of elements."""
    return verdict.replace(" ", "-")


def counted(verdicts: Sequence[str], statements: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How often each verdict was given, in their order."""
    counts = Counter(each["verdict"] for each in statements)
    return [{"word": word, "slug": slug(word), "count": counts[word]} for word in verdicts]


def point_words(point: Mapping[str, Any]) -> str:
    """An estimate with its interval."""
    known = "" if point["low"] is None else f" ({point['low']:.3g} to {point['high']:.3g})"
    return f"{point['at']}: {point['mean']:.3g}{known}"


def statement_row(each: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of a statement, given as JSON has it."""
    points = [point_words(point) for point in each["ours"]["points"]]
    more = f"; … {len(points) - SHOWN} more" if len(points) > SHOWN else ""
    short = "; ".join([*([each["ours"]["words"]] if each["ours"]["words"] else []), *points[:SHOWN]]) + more
    interval = each["ours"]["interval"]
    return {
        **each,
        "slug": slug(each["verdict"]),
        "points": points,
        "shown": SHOWN,
        "ours_short": short,
        "interval": interval[:1].upper() + interval[1:],
    }


def picture(chart: Chart) -> dict[str, str]:
    """A chart as an image that stands in the page itself: letters and digits, which are not shortened."""
    data = b64encode(chart.svg().encode()).decode("ascii")
    return {"title": chart.title, "source": Markup("data:image/svg+xml;base64," + data)}  # noqa: S704


def render(facts: Mapping[str, Any]) -> str:
    """The page; `facts` are what its template names."""
    return _templates().get_template("statements.html.j2").render(facts=facts)


@cache
def _templates() -> Environment:
    return templates_in(Path(__file__).parent)
