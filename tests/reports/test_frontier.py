"""The picture of risk against loss: words apart from each other, the policy's choice marked, two forms."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.reports.frontier import POLICY, FrontierChart, FrontierPoint
from incrowd.reports.labels import FAR, Box, WantedLabel, placed
from incrowd.reports.svg import text_width

SPACE = "{http://www.w3.org/2000/svg}"
LEGEND = (POLICY, "frontier")
WORDS = st.sampled_from(
    ["ring, k = 5", "mondrian-relaxed, k = 1000, l = none", "kja-refine-adaptive, k = 20"]
)


def boxes(picture: str) -> dict[str, list[Box]]:
    """Where the texts of a picture stand, by the size of their letters; those that are turned left out."""
    found: dict[str, list[Box]] = {}
    for each in ET.fromstring(picture).iter(f"{SPACE}text"):
        if "transform" in each.keys():  # noqa: SIM118  an element is no mapping
            continue
        size, x, y = (float(each.get(name) or 0) for name in ("font-size", "x", "y"))
        wide = text_width(each.text or "", size)
        left = {"middle": x - wide / 2, "end": x - wide}.get(each.get("text-anchor") or "", x)
        found.setdefault(each.get("font-size") or "", []).append(
            Box(left, y - 0.8 * size, left + wide, y + 0.2 * size)
        )
    return found


points = st.builds(
    FrontierPoint,
    series=st.sampled_from(["ring", "mondrian", "kja-refine-adaptive"]),
    loss=st.floats(0, 1).map(lambda loss: round(loss, 3)),
    risk=st.integers(1, 1000).map(lambda k: 1 / k),
    words=WORDS,
    best=st.booleans(),
    group=st.sampled_from(["", "3"]),
    own=st.booleans(),
    brief=st.sampled_from(["k = 5", "k = 1000, l = none"]),
)


@given(st.lists(points, min_size=1, max_size=16), st.booleans())
def test_no_words_stand_on_others_or_outside(shown: list[FrontierPoint], narrow: bool) -> None:
    picture = FrontierChart("Risk", "information loss (GCP)", tuple(shown)).svg(narrow=narrow)
    root = ET.fromstring(picture)
    whole = Box(0, 0, float(root.get("width") or 0), float(root.get("height") or 0))
    assert whole.right <= (390 if narrow else 740)
    every = [box for size in boxes(picture).values() for box in size]
    assert all(whole.holds(box) for box in every)
    assert not [pair for pair in combinations(every, 2) if pair[0].meets(pair[1])]


sizes = st.floats(10, 120)
wanted = st.builds(WantedLabel, x=st.floats(0, 300), y=st.floats(0, 200), width=sizes, height=st.just(12.0))


@given(st.lists(wanted, max_size=30), st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), max_size=30))
def test_labels_are_inside_and_apart(labels: list[WantedLabel], marks: list[tuple[float, float]]) -> None:
    area = Box(0, 0, 300, 200)
    found = placed(labels, area, [Box.around(x, y, 5) for x, y in marks])
    there = [box for box in found if box is not None]
    assert all(area.holds(box) for box in there)
    assert not [pair for pair in combinations(there, 2) if pair[0].meets(pair[1])]
    for label, box in zip(labels, found, strict=True):
        if box is not None:
            assert box.right - box.left == pytest.approx(label.width)
    assert found == placed(labels, area, [Box.around(x, y, 5) for x, y in marks])


@given(st.lists(wanted, max_size=7))
def test_a_few_labels_all_find_room(labels: list[WantedLabel]) -> None:
    """14 lines, and one that stands beside its point takes two of them at most."""
    assert None not in placed(labels, Box(0, 0, 300, 200))


def test_words_that_moved_have_a_line_to_their_point() -> None:
    same = [WantedLabel(150, 100, 80, 12)] * 12
    found = placed(same, Box(0, 0, 300, 200))
    far = [box for box in found if box is not None and box.distance(150, 100) > FAR]
    assert far
    crowd = tuple(FrontierPoint(f"m{i}", 0.5, 0.1, f"method {i}, k = 10", best=True) for i in range(12))
    lines = re.findall("<line [^>]*stroke='#999'/>", FrontierChart("R", "loss", crowd).svg())
    assert lines


def test_what_the_policy_asks_for_is_ringed_named_and_heard() -> None:
    own = FrontierPoint("hilbert", 0.4, 0.2, "hilbert, k = 5", own=True)  # beaten, and named all the same
    best = FrontierPoint("ring", 0.2, 0.1, "ring, k = 10", best=True, brief="k = 10")
    for narrow in (False, True):
        picture = FrontierChart("R", "loss", (own, best)).svg(narrow=narrow)
        root = ET.fromstring(picture)
        texts = {each.text: each for each in root.iter(f"{SPACE}text")}
        assert texts["hilbert, k = 5"].get("font-weight") == "bold"
        assert POLICY in texts
        rings = [each for each in root.iter(f"{SPACE}circle") if each.get("stroke") == "#111"]
        assert len(rings) == 2  # at its point, and in the legend
        assert ("k = 10" in texts) == narrow
        about = root.find(f"{SPACE}desc")
        assert about is not None
        assert "What the policy asks for: hilbert, k = 5." in (about.text or "")
    without = FrontierChart("R", "loss", (best,)).svg()
    assert POLICY not in without
    assert "stroke='#111'" not in without


def test_shares_are_written_in_percent() -> None:
    points = (FrontierPoint("ring", 0.05, 0.1, "ring, k = 10", best=True),)
    texts = {each.text for each in ET.fromstring(FrontierChart("R", "E2", points, True).svg()).iter()}
    assert {"0%", "2%", "4%"} <= texts
    assert "0.02" in FrontierChart("R", "GCP", points).svg()


@pytest.mark.parametrize("narrow", [False, True])
def test_who_loses_far_more_stands_at_the_edge(narrow: bool) -> None:
    near = [FrontierPoint("ring", loss, 0.1, f"ring {loss}", best=loss == 0.1) for loss in (0.1, 0.2)]
    far = [FrontierPoint("incognito", loss, 0.1, f"incognito {loss}") for loss in (0.61, 0.7)]
    picture = FrontierChart("R", "loss", (*near, *far), shares=True).svg(narrow=narrow)
    root = ET.fromstring(picture)
    texts = {each.text for each in root.iter(f"{SPACE}text")}
    assert {"20%", "61% →", "70% →"} <= texts
    assert not {"40%", "60%"} & texts  # the scale ends before
    about = root.find(f"{SPACE}desc")
    assert about is not None
    assert "Too dear for the scale, at its edge: incognito 0.61, 61%; incognito 0.7, 70%." in (
        about.text or ""
    )
    marks = {
        title.text: box
        for box in root.iter()
        if (title := box.find(f"{SPACE}title")) is not None and title.text
    }
    assert len({tuple(sorted(box.attrib.items())) for box in marks.values()}) == len(marks)  # none on another
    alone = FrontierChart("R", "loss", (near[0], replace(far[0], best=True)), shares=True).svg(narrow=narrow)
    assert "→" not in alone  # what is on the frontier is always drawn to scale


@pytest.mark.parametrize("narrow", [False, True])
def test_a_part_of_the_frontier_that_is_many_times_as_dear_stands_at_the_edge(narrow: bool) -> None:
    near = [
        FrontierPoint("topdown", loss, loss / 4, f"topdown {loss}", best=True)
        for loss in (0.001, 0.002, 0.004)
    ]
    far = [FrontierPoint("incognito", 2 / 3, 0.0002, f"incognito {k}", best=True) for k in (2, 5)]
    picture = FrontierChart("R", "loss", (*near, *far), shares=True).svg(narrow=narrow)
    root = ET.fromstring(picture)
    texts = {each.text for each in root.iter(f"{SPACE}text")}
    assert {"0.4%", "incognito 2 and 1 more: 66.7% →"} <= texts  # equal marks have their words once
    assert "66.7% →" not in texts
    assert not {"10%", "20%", "60%"} & texts
    (line,) = (each.attrib["points"] for each in root.iter(f"{SPACE}polyline"))
    assert max(float(corner.split(",")[0]) for corner in line.split()) <= (376 if narrow else 740)
    few = FrontierChart("R", "loss", (near[0], *far), shares=True).svg(narrow=narrow)
    assert "→" not in few  # of two that matter none is the rule


@given(st.lists(points, min_size=1, max_size=8), st.booleans())
def test_ids_and_links_change_nothing_else(shown: list[FrontierPoint], narrow: bool) -> None:
    """A link is an element around its mark; what is drawn stays, and without links it is the old file."""
    plain = FrontierChart("R", "loss", tuple(shown)).svg(narrow=narrow)
    named = [replace(point, id=f"p'{i}", link=f"#<{i}>") for i, point in enumerate(shown)]
    picture = FrontierChart("R", "loss", tuple(named)).svg(narrow=narrow, prefix="narrow-")
    root = ET.fromstring(picture)
    found = {each.get("id"): each.get("href") for each in root.iter(f"{SPACE}a")}
    assert found == {f"narrow-p'{i}": f"#<{i}>" for i in range(len(shown))}
    assert (root.get("role"), root.get("aria-labelledby")) == ("group", "narrow-title narrow-about")
    ids = re.findall(" id='([^']*)'", picture)
    assert len(set(ids)) == len(ids) == len(shown) + 2
    bare = re.sub("<a [^>]*><circle [^>]*fill-opacity='0'/>|</a>", "", picture)
    bare = bare.replace("narrow-", "").replace("role='group'", "role='img'")
    assert bare == plain
    assert "<script" not in picture
    assert boxes(picture) == boxes(plain)


def test_a_point_with_an_id_alone_can_be_found() -> None:
    point = FrontierPoint("ring", 0.2, 0.1, "ring, k = 10", id="ring-k10")
    root = ET.fromstring(FrontierChart("R", "loss", (point,)).svg())
    assert [each.get("id") for each in root.iter(f"{SPACE}g")] == ["ring-k10"]
    assert root.get("role") == "img"


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", " JavaScript:x", "java\nscript:x", "data:text/html,x"]
)
def test_a_link_that_runs_something_is_refused(link: str) -> None:
    with pytest.raises(ValueError, match="scheme"):
        FrontierPoint("ring", 0.2, 0.1, "ring", link=link)
    assert FrontierPoint("ring", 0.2, 0.1, "ring", link="https://example.org/x:y").link


@pytest.mark.parametrize(("limit", "drawn"), [(1 / 10, 1), (1 / 7, 1), (1 / 500, 0), (None, 0)])
def test_a_limit_is_a_line_where_the_picture_has_it(limit: float | None, drawn: int) -> None:
    points = tuple(FrontierPoint("ring", 0.1 * k, 1 / k, f"k = {k}") for k in (5, 10, 20))
    root = ET.fromstring(FrontierChart("R", "loss", points, limit=limit).svg())
    lines = [each for each in root.iter(f"{SPACE}line") if each.get("class") == "limit"]
    assert len(lines) == drawn
    for line in lines:
        marks = sorted(
            float(str(each.get("cy"))) for each in root.iter(f"{SPACE}circle") if each.find("*") is not None
        )
        here = (
            [marks[1]]
            if limit == 1 / 10
            else [y for y in [float(str(line.get("y1")))] if marks[0] < y < marks[1]]
        )
        assert [float(str(line.get("y1")))] == here


def test_the_chosen_point_stands_out_and_links_say_what_they_are() -> None:
    points = [FrontierPoint("ring", 0.1 * k, 1 / k, f"k = {k}", best=k > 5, link=f"?k={k}") for k in (5, 10)]
    picture = FrontierChart("R", "loss", (points[0], replace(points[1], chosen=True))).svg()
    links = {str(each.get("href")): each for each in ET.fromstring(picture).iter(f"{SPACE}a")}
    assert [links[f"?k={k}"].get("aria-current") for k in (5, 10)] == [None, "true"]
    assert [links[f"?k={k}"].get("class") for k in (5, 10)] == ["mark", "mark best"]
    assert links["?k=10"].get("aria-label") == "k = 10: 1, 1/10"
