"""The curves of docs/benchmarks.md: every method is asked for something, the page says what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

sys.path.append(str(ROOT / "benchmarks"))

import growth
from growth import (
    BEGIN,
    END,
    FEW,
    USUAL,
    WITHOUT,
    Point,
    along,
    curve,
    exponent,
    points,
    policy_of,
    write_page,
)

from incrowd.algorithms.base import all_methods
from incrowd.examples import write_example

METHODS = [method for method in all_methods() if method not in WITHOUT]


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("growth") / "tour"
    write_example(folder, rows=FEW)
    return folder


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_asked_at_every_point(method: str, tour: Path) -> None:
    for point in points():
        policy = policy_of(method, point, tour)
        assert (policy.k, policy.method) == (point.k, method)
        width = min(point.d, 3) if all_methods()[method].joins else point.d
        assert len(policy.to_dict()["quasi_identifiers"]) == width


def test_curves_meet_in_the_usual_point() -> None:
    assert all(Point(*USUAL) in along(axis) for axis in "ndk")
    assert {point for axis in "ndk" for point in along(axis)} == set(points())


def found(**costs: Any) -> dict[str, Any]:
    known = [[*point, costs.get("cost", point.n / 1000)] for point in points()]
    return {"points": known, "limit": 40, "stopped": False, "load": 1.0, "date": "2026-01-02"}


def test_the_page_has_a_line_for_each_method_and_keeps_the_rest(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "benchmarks.md").write_text(f"before\n{BEGIN}old\n{END}\nafter\n", encoding="utf-8")
    join = next(method for method in METHODS if all_methods()[method].joins)
    results = {"mondrian": found(), "ring": found(cost="Refused"), join: found()}
    write_page(results, tmp_path)
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}Made by")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    lines = {line.split("`")[1]: line.split(" | ") for line in text.splitlines() if line.startswith("| `")}
    assert lines["mondrian"][1:] == [
        *("1.00", "2.00", "4.00", "8.00", "16.00"),
        *["4.00"] * 7,
        "1.0 |",
    ]
    assert set(lines["ring"][1:]) == {"–", "– |"}
    assert lines[join][6:9] == ["4.00", "4.00", "–"]
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == sorted(
        f"growth-{axis}-{kind}.svg" for axis in "ndk" for kind in ("classes", "others")
    )


def test_what_is_not_known_has_no_exponent() -> None:
    usual = Point(*USUAL)
    assert exponent({usual: 1.0}) == "–"
    assert curve("mondrian", "n", {usual: 1.0, Point(1, 1, 1): 2.0}) == {usual: 1.0}


def test_an_error_of_a_method_is_not_taken_for_the_limit(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no-such-method"):
        growth.spent("no-such-method", 20, tmp_path)
