"""Links of a built site that lead nowhere: to no file, or to no place on its page. Links to other hosts are not tried."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """The places of a page, and what it links to or loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value or "")
            elif name in ("href", "src"):
                self.links.add(value or "")


def dead_links(site: Path) -> list[str]:
    """Every dead link as `page: link`, in order."""
    pages = {path.resolve(): _Page(path) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            there = target.is_file() and (not place or target not in pages or place in pages[target].places)
            if not there:
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(found)
