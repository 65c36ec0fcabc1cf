"""A strict reading of HTML pages, for the tests of reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "wbr", "col", "hr", "img", "link", "input", "path", "polyline"}


@dataclass
class Page:
    """What a page is made of."""

    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str, str]] = field(default_factory=list)  # tag, attribute, value
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def headings(self) -> list[int]:
        return [int(tag[1]) for tag in self.tags if tag in ("h1", "h2", "h3", "h4")]

    def values(self, attribute: str) -> list[str]:
        return [value for _, name, value in self.pairs if name == attribute]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page, self.open = Page(), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"<{tag}> says an attribute twice"
        self.page.tags.append(tag)
        self.page.pairs += [(tag, name, value or "") for name, value in attrs]
        self.page.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-1:]}"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.page.texts.append(data)


def read_page(html: str) -> Page:
    """Read a page in which every element is closed where it should be."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open, f"never closed: {reader.open}"
    return reader.page


def check_page(html: str) -> Page:
    """One page that loads nothing, runs nothing, and can be read aloud."""
    page = read_page(html)
    assert html.startswith("<!doctype html>")
    assert ("html", "lang", "en") in page.pairs
    assert len(set(page.ids)) == len(page.ids)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    assert not [
        name for _, name, _ in page.pairs if name.startswith("on") or name in ("src", "srcset", "style")
    ]
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.values("href"))
    assert "://" not in html
    assert page.headings[0] == page.headings.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False))
    named = [word for value in page.values("aria-labelledby") for word in value.split()]
    assert set(named) <= set(page.ids)
    pictures = [value for tag, name, value in page.pairs if tag == "svg" and name == "role"]
    hidden = [tag for tag, name, _ in page.pairs if tag == "svg" and name == "aria-hidden"]
    assert len(pictures) == page.tags.count("desc")
    assert len(pictures) + len(hidden) == page.tags.count("svg")
    assert page.tags.count("th") == [(tag, name) for tag, name, _ in page.pairs].count(("th", "scope"))
    policy = next(value for value in page.values("content") if "default-src" in value)
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    return page
