"""A studio to talk to, without a browser and with one.

Each test starts a studio, so that most take a second or more. By day run the guard, the history, the first
two screens and the 25 statements of `test_acceptance`, which go through all screens; by night the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.night import NIGHT
from support.studio_browser import Surfer, chromium, program_in
from support.studio_visitor import Visitor, patients

BY_DAY = {"test_acceptance", "test_columns", "test_guard", "test_session", "test_table", "test_words"}
LATER = pytest.mark.skip(reason="by night only (INCROWD_SEEDS=all): it starts a studio for each test")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.stem not in BY_DAY and not NIGHT:
            item.add_marker(LATER)


@pytest.fixture(scope="session")
def demo_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The patients of the demo, fewer of them."""
    return patients(tmp_path_factory.mktemp("demo"))


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    """A studio without a table, and a browser that was let in."""
    with Visitor(tmp_path) as found:
        yield found


@pytest.fixture
def at_table(tmp_path: Path, demo_table: Path) -> Iterator[Visitor]:
    """A studio in which the demo table is open."""
    (tmp_path / "patients.csv").write_bytes(demo_table.read_bytes())
    with Visitor(tmp_path) as found:
        found.open("patients.csv")
        yield found


@pytest.fixture(scope="module")
def desk(demo_table: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """The same for all tests of a file, which change nothing but the policy, and take that back."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "patients.csv").write_bytes(demo_table.read_bytes())
    with Visitor(folder) as found:
        found.open("patients.csv")
        yield found


@pytest.fixture
def clean(desk: Visitor) -> Iterator[Visitor]:
    """This studio, and afterwards the policy as it was."""
    first = desk.studio.session.text
    yield desk
    while desk.studio.session.undoes and desk.studio.session.text != first:
        desk.post("/undo")
    assert desk.policy.read_text() == first


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once; skipped where there is none."""
    yield from chromium()


@pytest.fixture
def surfer(browser: Any, tmp_path: Path, demo_table: Path) -> Iterator[Surfer]:
    """A browser at a studio in which the demo table is open; nothing may be said on the console."""
    (tmp_path / "patients.csv").write_bytes(demo_table.read_bytes())
    with program_in(tmp_path, "patients.csv") as program:
        found = Surfer(browser, program)
        yield found
        assert found.heard.messages == []
        assert found.heard.outside == []
