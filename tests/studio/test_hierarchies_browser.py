"""Hierarchies and Guarantee in a real browser: all sizes, light and dark, live, by keyboard, by dragging."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.night import NIGHT
from support.studio_browser import Surfer

from incrowd.policy import Policy

WHOLE = [(width, dark) for width in (1280, 400, 320) for dark in (False, True)]
LOOKS = WHOLE if NIGHT else [(1280, False), (400, True), (320, False)]
ZIP, EDUCATION = 4, 5


def policy(surfer: Surfer) -> Policy:
    (found,) = Path(f"/proc/{surfer.program.process.pid}/cwd").resolve().glob("*.incrowd/policy.toml")
    return Policy.load(found)


def test_both_screens_are_accessible_and_fit(surfer: Surfer) -> None:
    """In their states: a list, a draft that cannot be, an incomplete import, outliers, a refusal."""
    flaws: dict[str, Any] = {}

    def look(page: Any, state: str) -> None:
        flaws[state] = (surfer.flaws(page), surfer.too_wide(page))

    with surfer.page(bypass_csp=True) as page:
        surfer.go(page, "/hierarchies")
        page.click(f'form[action="/hierarchies/{ZIP}/suggested"] button')
        page.wait_for_selector(f"#at{ZIP}")
        surfer.go(page, f"/hierarchies/{EDUCATION}")
        page.fill("#import-text", "Master;Degree;*\nBachelor;Degree;*\n")
        page.click('form:has(#import-text) button:has-text("See how it fits")')
        page.wait_for_selector("#coverage")
        surfer.go(page, f"/hierarchies/{ZIP}?at{ZIP}=1")
        page.fill("#prefix", "1, 3")
        page.wait_for_selector("#editor-said .bad-text")
        surfer.go(page, "/guarantee")
        page.fill("#l", "3")
        page.press("#l", "Tab")
        page.wait_for_selector(".aside-note")
        page.click("text=Count outliers")
        page.wait_for_selector("svg.lines")
    for width, dark in LOOKS:
        with surfer.page(width, dark, bypass_csp=True) as page:
            for path in ("/hierarchies", f"/hierarchies/{ZIP}", f"/hierarchies/{EDUCATION}", "/guarantee"):
                surfer.go(page, path)
                if path == "/guarantee":
                    page.locator(".term summary").last.evaluate("(term) => { term.parentNode.open = true }")
                look(page, f"{path} {width} {dark}")
            page.fill("#l", "900")
            page.press("#l", "Tab")
            page.wait_for_selector("#l-problem")
            look(page, f"refused {width} {dark}")
    assert {place: found for place, found in flaws.items() if found != ([], 0)} == {}


def test_the_preview_is_live_and_used_with_one_button(surfer: Surfer) -> None:
    with surfer.page() as page:
        surfer.go(page, f"/hierarchies/{ZIP}")
        page.check('input[value="prefix"]')
        page.fill("#prefix", "3, 1")
        page.wait_for_selector("#preview .level:nth-child(4)")
        assert "Not used yet" in page.inner_text("#editor-said")
        assert page.evaluate("document.activeElement.id") == "prefix"
        page.press("#prefix", "End")
        page.keyboard.type(",")  # goes on where it was, over a swap of the preview
        assert page.input_value("#prefix") == "3, 1,"
        assert policy(surfer).quasi_identifiers["zip"].hierarchy is None
        page.click("text=Use this")
        page.wait_for_selector("text=Now published as nodes")
        assert policy(surfer).quasi_identifiers["zip"].hierarchy == {"prefix": [3, 1]}
        # the slider, by keyboard: the risk is counted again, the address says where it is, focus stays
        page.focus(f"#at{ZIP}")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("text=Risk at these levels")
        assert page.url.endswith(f"?at{ZIP}=1")
        assert page.evaluate("document.activeElement.id") == f"at{ZIP}"


def test_values_are_dragged_or_ticked_into_groups(surfer: Surfer) -> None:
    with surfer.page() as page:
        surfer.go(page, f"/hierarchies/{EDUCATION}")
        page.drag_and_drop('.value:has-text("Bachelor")', '.group[data-group="Master"]')
        # a group that is called like a value is told apart from it by its level
        page.wait_for_selector('.group[data-group="Master (level 1)"] .value:has-text("Bachelor")')
        page.focus('.value:has-text("Doctorate") input')
        page.keyboard.press("Space")
        page.focus("#to")
        page.keyboard.type("Master (level 1)")
        page.keyboard.press("Enter")
        page.wait_for_selector('.group[data-group="Master (level 1)"] .value:has-text("Doctorate")')
        page.focus('.value:has-text("Doctorate") input')
        page.keyboard.press("Control+z")
        page.wait_for_selector('.group[data-group="Doctorate"]')
    assert policy(surfer).quasi_identifiers["education"].hierarchy == "hierarchies/education-1.csv"


def test_a_file_is_put_into_the_import(surfer: Surfer, tmp_path: Path) -> None:
    (tmp_path / "levels.txt").write_text("F;*\nM;*\n")
    with surfer.page() as page:
        surfer.go(page, "/hierarchies/3")
        page.set_input_files("#import-file", str(tmp_path / "levels.txt"))
        page.wait_for_selector("#import-text:not(:placeholder-shown)")
        page.click('form:has(#import-text) button:has-text("See how it fits")')
        page.wait_for_selector("text=Every value is there")
        page.wait_for_selector("#coverage:focus")
        page.click("#coverage button:has-text('Replace')")
        page.wait_for_selector("text=Now published as nodes")


def test_k_is_chosen_by_keyboard_and_saved_at_once(surfer: Surfer) -> None:
    with surfer.page() as page:
        surfer.go(page, "/guarantee")
        page.focus("#k-10")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("text=at most 1 in 20")
        assert page.evaluate("document.activeElement.id") == "k-20"
        page.fill("#k-own", "7")
        page.press("#k-own", "Enter")
        page.wait_for_selector("text=at most 1 in 7")
        page.fill("#k-own", "5000")
        page.press("#k-own", "Tab")
        page.wait_for_selector("#k-problem")
        assert page.input_value("#k-own") == "5000"
    assert policy(surfer).privacy.k == 7


def test_both_screens_work_without_scripts(surfer: Surfer) -> None:
    with surfer.page():  # lets the browser in
        pass
    with surfer.page(java_script_enabled=False) as page:
        surfer.go(page, f"/hierarchies/{ZIP}")
        page.check('input[value="mask"]')
        page.fill("#mask", "2")
        page.click('button:has-text("Preview")')
        page.wait_for_selector("text=Not used yet")
        page.click('button:has-text("Use this")')
        page.wait_for_selector("text=Now published as nodes")
        surfer.go(page, "/guarantee")
        page.check("#k-5")
        page.click("text=Save")
        page.wait_for_selector("text=at most 1 in 5")
    found = policy(surfer)
    assert (found.privacy.k, found.quasi_identifiers["zip"].hierarchy) == (5, {"mask": [2]})
