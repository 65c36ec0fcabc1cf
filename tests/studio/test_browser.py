"""Table and Columns in a real browser: every size in light and dark, by keyboard alone, without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.night import NIGHT
from support.studio_browser import Surfer, program_in

from incrowd.policy import Policy

WHOLE = [(width, dark) for width in (1280, 400, 320) for dark in (False, True)]
LOOKS = WHOLE if NIGHT else [(1280, False), (400, True), (320, False)]


def policy(surfer: Surfer) -> Policy:
    (found,) = Path(f"/proc/{surfer.program.process.pid}/cwd").resolve().glob("*.incrowd/policy.toml")
    return Policy.load(found)


def test_screens_are_accessible_and_fit(surfer: Surfer) -> None:
    """axe is put into pages from outside, so these, and only these, do without the content policy."""
    flaws: dict[str, Any] = {}
    with surfer.page(bypass_csp=True) as page:
        surfer.go(page, "/columns")
        page.click("text=Measure what each column costs")
        page.wait_for_selector("table.costs")
        page.select_option("#role-8", "keep")
        page.wait_for_selector("text=Accept near-unique-keep")
    for width, dark in LOOKS:
        with surfer.page(width, dark, bypass_csp=True) as page:
            for path in ("/table", "/columns"):
                surfer.go(page, path)
                if path == "/columns":
                    page.click("#policy-drawer > summary")
                    page.locator(".term summary").last.evaluate("(term) => { term.parentNode.open = true }")
                found = surfer.flaws(page) if width != 320 or len(LOOKS) > 3 else []
                flaws[f"{path} {width} {dark}"] = (found, surfer.too_wide(page))
    assert {place: found for place, found in flaws.items() if found != ([], 0)} == {}


def test_start_pages_are_accessible_and_fit(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "a-table-with-a-rather-long-name-that-goes-on-and-on-2024-final.csv").write_text("a\n1\n")
    with program_in(tmp_path) as program:
        surfer = Surfer(browser, program)
        for width, dark in (LOOKS[0], LOOKS[-2]):
            with surfer.page(width, dark, bypass_csp=True) as page:
                for path in ("/", "/open", "/nothing") if width == 1280 else ("/",):
                    page.goto(f"{program.origin}{path}")
                    assert (path, surfer.flaws(page), surfer.too_wide(page)) == (path, [], 0)
        assert surfer.heard.outside == []


def test_a_role_is_chosen_by_keyboard_alone(surfer: Surfer) -> None:
    with surfer.page() as page:
        surfer.go(page, "/columns")
        page.focus("#role-4")
        page.keyboard.type("Dr")
        page.wait_for_selector(".delta >> text=zip to Drop")
        assert page.evaluate("document.activeElement.id") == "role-4"  # focus survives the swap
        assert "people stand alone" in page.text_content("#said")
        assert "zip" in policy(surfer).drop
        assert page.url.endswith("/columns")
        page.keyboard.press("Control+z")
        page.wait_for_selector("text=Undone: zip to Drop.")
        assert "zip" not in policy(surfer).drop
        page.keyboard.press("Control+Shift+z")
        page.wait_for_selector("text=Done again: zip to Drop.")
        page.keyboard.press("Alt+1")
        page.wait_for_url("**/table")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"


def test_costs_run_live_and_a_reload_shows_the_same(surfer: Surfer) -> None:
    with surfer.page() as page:
        surfer.go(page, "/columns")
        page.click("text=Measure what each column costs")
        page.wait_for_selector("[data-job]")
        page.reload()
        page.wait_for_selector("table.costs")
        assert page.locator("[data-job]").count() == 0


def test_without_scripts_everything_but_live_progress_works(surfer: Surfer) -> None:
    with surfer.page(java_script_enabled=True):
        pass  # lets itself in; scripts are off from here on
    with surfer.page(java_script_enabled=False) as page:
        page.goto(f"{surfer.program.origin}/columns")
        page.select_option("#role-4", "drop")
        page.locator("#column-4 button").click()
        assert page.locator(".delta").inner_text().startswith("zip to Drop")
        page.click("#undo-button")
        assert "zip" not in policy(surfer).drop
        page.click("[data-theme-switch]")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        page.click("[data-theme-switch]")
        assert page.locator("html").get_attribute("data-theme") == "light"
        page.check("input[name=column][value='2']")
        page.check("input[name=column][value='3']")
        page.select_option("#several-role", "keep")
        page.click(".several button >> text=Set")
        assert set(policy(surfer).keep) >= {"age", "sex"}
        assert page.locator("#drop").count() == 0


@pytest.mark.parametrize("colour", ["active", "none"])
def test_forced_colours_and_zoom_keep_it_readable(colour: str, surfer: Surfer) -> None:
    with surfer.page(640, forced_colors=colour, device_scale_factor=2) as page:
        surfer.go(page, "/columns")
        assert surfer.too_wide(page) == 0
        assert page.locator("#role-2").bounding_box()["height"] >= 24


def test_a_file_is_dropped_into_the_page(browser: Any, tmp_path: Path) -> None:
    rows = "\n".join(f"{20 + i % 40},{i % 2}" for i in range(60))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine.csv").write_text(f"age,sex\n{rows}\n")
    (tmp_path / "here").mkdir()
    with program_in(tmp_path / "here") as program:
        surfer = Surfer(browser, program)
        with surfer.page() as page:
            page.set_input_files("#drop-file", tmp_path / "elsewhere" / "mine.csv")
            page.wait_for_selector("text=Is this the table you mean?")
            assert "A copy of mine.csv" in page.inner_text("main")
        assert surfer.heard.messages == []
    assert (tmp_path / "here" / "mine.incrowd" / "dropped" / "mine.csv").read_text() == f"age,sex\n{rows}\n"
