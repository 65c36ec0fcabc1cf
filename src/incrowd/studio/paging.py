"""Long lists in pages: which rows one page has, and which pages there are."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

LONGEST_NUMBER = 12


@dataclass(frozen=True)
class Paging:
    """A page of a list; a page that does not exist becomes the nearest one that does.

    Examples
    --------
    >>> last = Paging(101, 50, 9)
    >>> last.page, last.start, last.end, last.pages
    (3, 100, 101, 3)
    """

    items: int
    size: int
    asked: int | None = None

    @property
    def pages(self) -> int:
        return max(-(-self.items // self.size), 1)

    @property
    def page(self) -> int:
        return min(max(self.asked or 1, 1), self.pages)

    @property
    def start(self) -> int:
        return (self.page - 1) * self.size

    @property
    def end(self) -> int:
        return min(self.start + self.size, self.items)


def asked_number(request: Request, name: str) -> int | None:
    """A whole number in the address; None if there is none."""
    text = request.query_params.get(name, "").replace(",", "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER else None
