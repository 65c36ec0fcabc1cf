"""A real browser at the studio: Debian's Chromium, which writes down all that should not happen."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.places import TESTS
from support.studio_program import Program

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
AXE = TESTS / "assets" / "axe.min.js"
# What axe is not asked: a region for the skip link and the live region, which are landmarks' neighbours.
RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }
}
# Milliseconds after which a test gives up on work. It takes seconds, also on a busy machine; but kernels that
# have changed are compiled first, at a low priority.
PATIENCE = 300_000
VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) => {
  console.error("CSP " + event.violatedDirective);
});
"""


@dataclass
class Heard:
    """What a page said or did that it should not."""

    messages: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


class Surfer:
    """Pages of one studio in a browser."""

    def __init__(self, browser: Any, program: Program) -> None:
        self.browser = browser
        self.program = program
        self.heard = Heard()
        self._state: Any = None

    @contextmanager
    def page(self, width: int = 1280, dark: bool = False, **context: Any) -> Iterator[Any]:
        """A page that was let in; everything that it says is written down."""
        state = {} if self._state is None else {"storage_state": self._state}
        opened = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            **state,
            **context,
        )
        opened.add_init_script(VIOLATIONS)
        page = opened.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.heard.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.heard.messages.append(str(error)))
        page.on("request", lambda request: self._hear(request.url))
        try:
            if self._state is None:
                page.goto(self.program.address)
                page.wait_for_url(lambda url: "/open" not in url)
                self._state = opened.storage_state()
            yield page
        finally:
            opened.close()

    def _hear(self, url: str) -> None:
        if not url.startswith(self.program.origin):
            self.heard.outside.append(url)

    def go(self, page: Any, path: str) -> None:
        if page.url.startswith(self.program.origin):  # a page that loads itself again would get in the way
            page.wait_for_selector("h1:not(:has-text('Reading'))")
        page.goto(f"{self.program.origin}{path}")
        page.wait_for_selector("h1:not(:has-text('Reading'))")

    def flaws(self, page: Any) -> list[str]:
        """What axe finds, with the place of each; needs a page with ``bypass_csp=True``."""
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("(rules) => axe.run(document, rules)", RULES)
        return [f"{flaw['id']}: {node['target']}" for flaw in found["violations"] for node in flaw["nodes"]]

    @staticmethod
    def too_wide(page: Any) -> int:
        """By how many pixels a page must be scrolled sideways."""
        return int(
            page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        )


def chromium() -> Iterator[Any]:
    """The browser, or a skip that says what is not tested without it."""
    if not CHROMIUM:
        pytest.skip("no chromium: pages are not looked at in a browser (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def program_in(folder: Path, *arguments: str) -> Program:
    return Program(folder, *arguments, enter=False)
