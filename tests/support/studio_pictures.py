"""The pictures of docs/studio.md, and the tour of the README: one visit to the demo, in a real browser.

``python tests/support/studio_pictures.py`` makes them anew. It needs Chromium.
"""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "docs" / "pictures"
sys.path.insert(0, str(ROOT / "tests"))

from PIL import Image, ImageDraw, ImageFont  # noqa: E402
from support.studio_browser import Surfer, chromium, program_in  # noqa: E402

WIDTH, HEIGHT, STRIP = 1160, 780, 44
SHOWN_WIDTH = 900  # of the tour
SECONDS = 6  # that each of its pictures stays
MOST_BYTES = 1_500_000
SHARP, COARSE = 80, 62  # qualities


class Camera:
    """Takes pictures of one visit: single ones for the page, all of them for the tour."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.frames: list[Image.Image] = []

    def shot(self, caption: str, name: str = "", to: str = "") -> None:
        """What the window shows, from `to` on if that is given; kept under a name if it has one."""
        self.page.evaluate("(to) => to ? document.querySelector(to).scrollIntoView() : scrollTo(0, 0)", to)
        self.page.wait_for_timeout(400)
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if name:
            picture.save(PLACE / f"studio-{name}.webp", quality=SHARP, method=6)
        self.frames.append(_captioned(picture, f"{len(self.frames) + 1}   {caption}"))

    def tour(self) -> None:
        first, *others = self.frames
        first.save(
            PLACE / "studio-tour.webp",
            save_all=True,
            append_images=others,
            duration=SECONDS * 1000,
            loop=0,
            quality=COARSE,
            method=6,
        )


def _captioned(picture: Image.Image, caption: str) -> Image.Image:
    """Smaller, with a sentence below."""
    height = round(picture.height * SHOWN_WIDTH / picture.width)
    frame = Image.new("RGB", (SHOWN_WIDTH, height + STRIP), "#0b5394")
    frame.paste(picture.resize((SHOWN_WIDTH, height), Image.Resampling.LANCZOS), (0, 0))
    ImageDraw.Draw(frame).text((20, height + 10), caption, "white", ImageFont.load_default(20))
    return frame


def visit(surfer: Surfer) -> None:
    """From the start page to a release that was checked."""
    with surfer.page() as page:
        page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        camera = Camera(page)
        camera.shot("incrowd studio: choose a table, drop one, or try the demo")
        page.click("text=Try the demo table")
        page.wait_for_selector("h1:has-text('Is this the table')")
        camera.shot("Table: the rows as they are in the file; below, what each column was taken for", "table")
        _next(page, "What is each column")
        camera.shot("Columns: a role for each, with its reason; who stands alone, over all rows", "columns")
        page.select_option("#role-8", "drop")
        page.wait_for_selector(".delta:has-text('to Drop')")
        camera.shot("Change a role: the risk is counted again at once. Undo takes it back")
        page.click("#undo-button")
        page.wait_for_selector("text=Undone:")
        _next(page, "made coarser")
        camera.shot("Hierarchies: none is needed; choose one where readers expect groups", "hierarchies")
        page.click("a[href='/hierarchies/4']")
        page.wait_for_selector("h1:has-text('zip')")
        page.check("[name=builder][value=prefix]")
        page.fill("#prefix", "3, 1")
        page.wait_for_selector("#preview .levels")
        camera.shot("Try one: the levels that the release would use, value by value", to="#preview")
        surfer.go(page, "/guarantee")
        camera.shot("Guarantee: what is promised, in a sentence, and what is not", "guarantee")
        _next(page, "at what price")
        page.click("#compare-form button.strong")
        page.wait_for_selector("[data-job]")
        page.wait_for_selector("[data-job]", state="detached", timeout=300_000)
        page.wait_for_selector(".frontier svg")
        page.wait_for_selector("text=A draft is being made", state="detached")
        camera.shot("Compare: every mark is a verified release; less is better in both directions", "compare")
        _next(page, "Publish")
        page.wait_for_selector("text=A draft is being made", state="detached")
        camera.shot("Publish: the promise, a draft of some records, name and format")
        page.click(".foot .btn.main")
        page.wait_for_selector("h1:has-text('published and verified')", timeout=300_000)
        page.wait_for_selector("text=The release is being read", state="detached")
        camera.shot("Published and verified: another program read the files again", "publish")
        camera.shot("Records before and after, loss by column, sizes of classes", to="#details")
        _next(page, "Does it hold")
        for waits in (".verdict.good", "table.attacks"):
            page.click(".foot .btn.main")
            page.wait_for_selector(waits, timeout=300_000)
            page.wait_for_selector("[data-job]", state="detached", timeout=300_000)  # all of them are there
        camera.shot(
            "Check: verify again, also a release from elsewhere; attack it", "check", to=".verdict.good"
        )
        page.fill("[name=c0-low]", "30")
        page.select_option("[name=c1-is]", index=1)
        page.click("#ask form button >> nth=0")
        page.wait_for_selector(".answer")
        camera.shot("Ask it: bounds that are certain, an estimate with its interval", "ask", to="#ask")
        page.click("#policy-drawer > summary")
        camera.shot("All of it as a policy file, as commands and as Python")
        camera.tour()
    with surfer.page(400, dark=True) as page:
        surfer.go(page, "/columns")
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture.save(PLACE / "studio-columns-narrow.webp", quality=SHARP, method=6)


def _next(page: Any, title: str) -> None:
    page.click(".foot .btn.main")
    page.wait_for_selector(f"h1:has-text('{title}')")


def main() -> None:
    PLACE.mkdir(exist_ok=True)
    with contextmanager(chromium)() as browser, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "clinic"  # pages show its name
        folder.mkdir()
        with program_in(folder) as program:
            visit(Surfer(browser, program))
    if (PLACE / "studio-tour.webp").stat().st_size > MOST_BYTES:
        sys.exit("the tour is too large; lower its quality or its width")


if __name__ == "__main__":
    main()
