"""The studio as a web application: the routes of all views behind the guard; errors become sentences."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from incrowd.errors import IncrowdError
from incrowd.studio import pages, views
from incrowd.studio.bench import Refusal
from incrowd.studio.guard import RequestGuard
from incrowd.studio.jobs import Busy
from incrowd.studio.session import Conflict, ReadOnly
from incrowd.studio.state import Studio, studio_of

STATIC = Path(__file__).parent / "static"
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
NOT_COUNTED = ("/alive", "/static/")  # requests that pages send by themselves: no action of a person


def build(studio: Studio) -> ASGIApp:
    """The whole application."""
    app = Starlette(
        routes=[*views.routes(), *_static()],
        exception_handlers={
            HTTPException: _missing,
            Refusal: _refused,
            IncrowdError: _refused,
            Conflict: _conflict,
            ReadOnly: _read_only,
            Busy: _busy,
            Exception: _unexpected,
        },
    )
    app.router.redirect_slashes = False
    app.state.studio = studio
    return RequestGuard(_touching(app, studio), studio.keys)


def _touching(app: ASGIApp, studio: Studio) -> ASGIApp:
    """Note when somebody did something."""

    async def touched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith(NOT_COUNTED):
            studio.touch()
        await app(scope, receive, send)

    return touched


def _static() -> list[Route]:
    """Each file of the folder under its own address: no path comes from outside."""
    return [views.get(f"/static/{path.name}", _file(path)) for path in sorted(STATIC.iterdir())]


def served_bytes(path: Path) -> bytes:
    """A file of the folder as pages load it: ours without comments and without spaces that say nothing."""
    content = path.read_bytes()
    if path.suffix == ".css":
        text = re.sub(r"/\*.*?\*/", "", content.decode(), flags=re.DOTALL)
        text = re.sub(r" ?([{};,]) ?", r"\1", " ".join(text.split()))
        return text.replace(": ", ":").replace(";}", "}").encode()
    if path.suffix == ".js" and not path.name.endswith(".min.js"):
        lines = (line.strip() for line in content.decode().splitlines())
        return "\n".join(line for line in lines if line and not line.startswith("//")).encode()
    return content


def _file(path: Path) -> views.Handler:
    content, kind = served_bytes(path), TYPES.get(path.suffix, "text/plain; charset=utf-8")

    async def served(_request: Request) -> Response:
        return Response(content, media_type=kind)

    return served


# What is refused: a form leads back to its page, where the sentence stands; a page becomes one that says it.


async def _refused(request: Request, error: Exception) -> Response:
    sentence = error.on_the_command_line if isinstance(error, IncrowdError) else str(error)
    return await _said(request, sentence, 422)


async def _conflict(request: Request, _error: Exception) -> Response:
    return await _said(
        request, "policy.toml was changed outside of the studio. Say first which of the two counts.", 409
    )


async def _read_only(request: Request, _error: Exception) -> Response:
    return await _said(request, "Another studio has this project open. Here it can only be looked at.", 409)


async def _busy(request: Request, _error: Exception) -> Response:
    return await _said(request, "Something else is running. Wait for its end, or cancel it.", 409)


async def _said(request: Request, sentence: str, status: int) -> Response:
    studio = studio_of(request)
    if request.method == "POST":
        studio.say(sentence, bad=True)
        screen = request.url.path.split("/")[1].replace("releases", "check")
        known = {name for _, name, _ in views.present()}
        return pages.back(request, f"/{screen}" if screen in known else "/")
    return await pages.render(request, "refused.html.j2", "", status, sentence=sentence)


async def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    if status == 405:
        return PlainTextResponse("This address is asked in another way.\n", 405)
    return await pages.render(request, "refused.html.j2", "", status, sentence="There is no such page.")


async def _unexpected(_request: Request, error: Exception) -> Response:
    """Where it happened, but not what was in hand: no cell, no token, no query."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "unknown place"
    return PlainTextResponse(
        f"Internal error ({type(error).__name__} in {where}). Please report this line; it holds no data. "
        "Nothing was lost: go back, and load the page again.\n",
        500,
    )
