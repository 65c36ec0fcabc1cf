"""Pictures: every point where it belongs, every text harmless, everything inside the frame."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.reports.chart import Chart, ChartLine, RateChart
from incrowd.reports.svg import (
    BOTTOM,
    DASHES,
    HEIGHT,
    LEFT,
    MARKERS,
    RIGHT,
    TOP,
    WIDTH,
    Frame,
    number,
    text_width,
    ticks,
)

SPACE = "{http://www.w3.org/2000/svg}"
OURS = ChartLine("forest", ((5, 0.89), (10, 1.25), (15, 1.42), (20, 1.51)), 1)
THEIRS = ChartLine("forest, printed", ((5, 0.9), (10, 1.2)), 1, ours=False)


def drawn(*lines: ChartLine, title: str = "Loss") -> ET.Element:
    return ET.fromstring(Chart(title, "k", "bits", lines or (OURS, THEIRS)).svg())


def polylines(root: ET.Element) -> list[list[tuple[float, float]]]:
    found = []
    for each in root.iter(f"{SPACE}polyline"):
        pairs = [point.split(",") for point in (each.get("points") or "").split()]
        found.append([(float(x), float(y)) for x, y in pairs])
    return found


def test_points_lie_where_the_axes_say() -> None:
    root = drawn()
    ours, theirs = polylines(root)
    assert [x for x, _ in ours] == sorted(x for x, _ in ours)
    assert ours[0][0] == theirs[0][0]
    frame = Frame.around([*OURS.points, *THEIRS.points])
    assert (frame.y_low, frame.y_high) == (0.0, 2.0)
    assert frame.y(0) == HEIGHT - BOTTOM
    assert frame.y(2) == TOP
    assert ours[3][1] == pytest.approx(HEIGHT - BOTTOM - 1.51 / 2 * (HEIGHT - TOP - BOTTOM), abs=0.06)


def test_more_is_higher_and_equal_steps_are_equal() -> None:
    ((_, a), (_, b), (_, c)) = polylines(drawn(ChartLine("x", ((1, 0), (2, 1), (3, 2)))))[0]
    assert a > b > c
    assert a - b == pytest.approx(b - c, abs=0.11)


def test_ours_are_solid_and_theirs_dashed_with_hollow_markers() -> None:
    ours, theirs = drawn().iter(f"{SPACE}polyline")
    assert ours.get("stroke-dasharray") is None
    assert theirs.get("stroke-dasharray") in DASHES
    assert ours.get("stroke") == theirs.get("stroke")
    fills = {each.get("fill") for each in drawn(THEIRS).iter(f"{SPACE}polygon")}
    assert fills == {"none"}


def test_lines_differ_without_colour() -> None:
    looks = [ChartLine(str(look), ((1, 1),), look) for look in range(len(MARKERS))]
    shapes = set()
    for line in looks:
        root = drawn(line)
        polygons = [each.get("points") or "" for each in root.iter(f"{SPACE}polygon")]
        shapes.add(polygons[0] if polygons else "circle")
    assert len(shapes) == len(MARKERS)
    assert len(set(DASHES)) == len(DASHES)


def test_the_legend_names_every_line_and_stands_beside_the_lines() -> None:
    words = {each.text: each for each in drawn().iter(f"{SPACE}text")}
    for line in (OURS, THEIRS):
        assert float(words[line.name].get("x") or 0) > WIDTH - RIGHT
    assert {"Loss", "k", "bits", "5", "20", "0", "1.5"} <= set(words)


@pytest.mark.parametrize("kind", [Chart, RateChart])
def test_a_legend_of_many_long_names_is_not_cut(kind: type[Chart]) -> None:
    names = [f"another tool, 10 % suppressed at most, {i}" for i in range(25)]
    lines = tuple(ChartLine(name, ((0, 1), (1, 2)), i) for i, name in enumerate(names))
    root = ET.fromstring(kind("Loss", "k", "bits", lines).svg())
    found = {text.text: text for text in root.iter(f"{SPACE}text") if text.text in names}
    assert set(found) == set(names)
    for name, text in found.items():
        assert float(text.get("x", "")) + len(name) * 0.55 * 13 < float(root.get("width", ""))
        assert float(text.get("y", "")) < float(root.get("height", ""))


def test_a_picture_can_be_heard() -> None:
    root = drawn()
    assert root.get("role") == "img"
    title, about = root.find(f"{SPACE}title"), root.find(f"{SPACE}desc")
    assert title is not None
    assert title.text == "Loss"
    assert root.get("aria-labelledby") == f"{title.get('id')} {about.get('id') if about is not None else ''}"
    hints = [each.text for each in root.iter(f"{SPACE}title")]
    assert "forest: 0.89" in hints


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = Chart("Loss", "k", "bits", (OURS,)).svg()
    assert text.count("http") == 1  # the name of the format
    assert not [word for word in ("href", "url(", "<script", "<style", "<image") if word in text]


@given(st.text(max_size=30))
def test_texts_are_only_texts(text: str) -> None:
    root = drawn(ChartLine(text, ((1, 1), (2, 2)), 0), title=text)
    assert len(list(root.iter(f"{SPACE}polyline"))) == 1
    title = root.find(f"{SPACE}title")
    assert title is not None
    assert (title.text or "") == "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


def test_signs_of_the_format_are_escaped() -> None:
    text = Chart("<script>&'\"", "k", "bits", (OURS,)).svg()
    assert "<script>" not in text
    assert "&lt;script&gt;&amp;&#x27;&quot;" in text


numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 6))


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8))
def test_everything_stays_inside_the_frame(points: list[tuple[float, float]]) -> None:
    for line in polylines(drawn(ChartLine("x", tuple(sorted(points))))):
        for x, y in line:
            assert LEFT - 0.1 <= x <= WIDTH - RIGHT + 0.1
            assert TOP - 0.1 <= y <= HEIGHT - BOTTOM + 0.1


@given(numbers, numbers)
def test_ticks_reach_around_the_values_in_equal_steps(one: float, other: float) -> None:
    low, high = sorted((one, other))
    found = ticks(low, high)
    step = found[1] - found[0]
    assert found[0] <= low + 1e-6 * step
    assert found[-1] >= high - 1e-6 * step
    assert all(math.isclose(b - a, step, rel_tol=1e-6) for a, b in pairwise(found))
    assert 2 <= len(found) <= 9


@pytest.mark.parametrize("points", [(), ((1, math.nan),), ((math.inf, 1),)])
def test_a_line_needs_numbers(points: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(ValueError, match="must be numbers"):
        ChartLine("x", points)


def test_a_chart_needs_a_line() -> None:
    with pytest.raises(ValueError, match="needs a line"):
        Chart("x", "y", "z", ())


def test_a_band_lies_around_its_line_and_inside_the_frame() -> None:
    band = ((0.5, 1.0), (1.0, 1.6), (1.2, 1.7), (1.4, 3.4))
    root = drawn(ChartLine(OURS.name, OURS.points, band=band))
    shade, line = polylines(root)
    low, high = shade[:4], shade[:3:-1]
    assert [x for x, _ in low] == [x for x, _ in high] == [x for x, _ in line]
    assert all(a > b > c for (_, a), (_, b), (_, c) in zip(low, line, high, strict=True))  # down is larger
    assert min(y for _, y in shade) >= TOP
    with pytest.raises(ValueError, match="two ends for each point"):
        ChartLine("x", ((1, 1), (2, 2)), band=((0, 1),))
    with pytest.raises(ValueError, match="must be numbers"):
        ChartLine("x", ((1, 1),), band=((0, math.inf),))


@pytest.mark.parametrize("highest", [0.9, 9000, 4_000_000])
def test_long_numbers_leave_room_for_the_label_of_their_axis(highest: float) -> None:
    frame = Chart("Checks", "people", "asked", (ChartLine("ExpC", ((1, 1), (2, highest))),)).frame()
    longest = max(text_width(number(value), 13) for value in frame.y_ticks)
    assert frame.area.left - 8 - longest >= 24
    assert (frame.area.left == LEFT) == (highest < 1000)
