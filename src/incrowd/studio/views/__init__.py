"""The screens, one module each. A step appears in the page when its module exists; nothing else lists them.

A module has

* `ROUTES`, its addresses (`get` and `post` below);
* `step(studio)`, what the list of steps says about it (`StepState`);
* `commands(studio)`, the same as commands and Python (`incrowd.studio.show`).
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Handler = Callable[[Request], Awaitable[Response]]

# All steps, in their order: the module of the view, and what people read.
STEPS = (
    ("table", "Table"),
    ("columns", "Columns"),
    ("hierarchies", "Hierarchies"),
    ("guarantee", "Guarantee"),
    ("compare", "Compare"),
    ("publish", "Publish"),
    ("check", "Check"),
)
ALWAYS = ("start", "history", "running", "entrance")  # addresses that are no step

TO_DO, DONE, ATTENTION, OUT_OF_DATE = "to do", "done", "attention", "out of date"


@dataclass(frozen=True)
class StepState:
    """How far a step is; `hint` says what it lacks."""

    state: str = TO_DO
    hint: str = ""


@dataclass(frozen=True)
class ScreenStep:
    """A step of the list, as pages show it."""

    number: int
    name: str
    title: str
    state: str
    hint: str
    here: bool

    @property
    def address(self) -> str:
        return f"/{self.name}"


def present() -> list[tuple[int, str, str]]:
    """Number, name and title of each step that has a view."""
    return [
        (number, name, title)
        for number, (name, title) in enumerate(STEPS, 1)
        if find_spec(f"{__name__}.{name}") is not None
    ]


def module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")


def routes() -> Sequence[Route]:
    """The addresses of all views."""
    names = (*ALWAYS, *(name for _, name, _ in present()))
    return [route for name in names for route in module(name).ROUTES]


def get(path: str, handler: Handler) -> Route:
    return Route(path, handler, methods=["GET"])


def post(path: str, handler: Handler) -> Route:
    return Route(path, handler, methods=["POST"])
