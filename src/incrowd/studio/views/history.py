"""Undo, redo, a policy that was changed outside, the policy and the commands as text, light and dark."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from incrowd.studio import pages, views
from incrowd.studio.guard import field_of
from incrowd.studio.pages import table_needed
from incrowd.studio.state import studio_of
from incrowd.studio.views import get, post


@table_needed
async def undo(request: Request) -> Response:
    studio = studio_of(request)
    label = studio.session.undo()
    studio.say(f"Undone: {label}." if label else "There is nothing to undo.")
    return pages.back(request, "/")


@table_needed
async def redo(request: Request) -> Response:
    studio = studio_of(request)
    label = studio.session.redo()
    studio.say(f"Done again: {label}." if label else "There is nothing to do again.")
    return pages.back(request, "/")


@table_needed
async def outside(request: Request) -> Response:
    """Which policy counts, after somebody changed the file."""
    studio = studio_of(request)
    session = studio.session
    if field_of(request, "which") == "mine":
        session.keep_mine()
        studio.say("Your policy counts. The other one is kept in the history of the project.")
    else:
        text = session.outside()
        if text:
            await studio.ask("checked", text=text, folder=str(studio.open.project.folder))
        session.take_outside()
        studio.say("The policy as it was changed outside counts. Undo gives yours back.")
    return pages.back(request, "/columns")


@table_needed
async def policy(request: Request) -> Response:
    return PlainTextResponse(studio_of(request).session.text)


@table_needed
async def commands(request: Request) -> Response:
    """What each screen does, as commands."""
    studio = studio_of(request)
    shown = [each for _, name, _ in views.present() for each in views.module(name).commands(studio)]
    return PlainTextResponse("".join(f"# {each.about}\n{each.command}\n" for each in dict.fromkeys(shown)))


async def theme(request: Request) -> Response:
    """Light, dark, or as the system has it; remembered in a cookie that says nothing else."""
    chosen = field_of(request, "theme")
    answer = pages.back(request, "/")
    answer.set_cookie(
        pages.THEME_COOKIE,
        chosen if chosen in pages.THEMES else "",
        max_age=365 * 24 * 3600,
        path="/",
        samesite="strict",
        httponly=True,
    )
    return answer


ROUTES = (
    post("/undo", undo),
    post("/redo", redo),
    post("/outside", outside),
    get("/policy.toml", policy),
    get("/command", commands),
    post("/theme", theme),
)
