"""How a browser is let in: the printed address has a token behind #, which is posted and works once."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from incrowd.studio import links, pages
from incrowd.studio.guard import field_of
from incrowd.studio.state import studio_of
from incrowd.studio.views import get, post


async def show(request: Request) -> Response:
    """The page that posts the token; without scripts it is a form to paste it into."""
    return HTMLResponse(pages.templates().get_template("open.html.j2").render(theme=pages.theme_of(request)))


async def enter(request: Request) -> Response:
    """Exchange the token for a cookie of this port."""
    studio = studio_of(request)
    token = field_of(request, "link").strip()
    if studio.noted is None or not links.used(studio.noted, token):
        return PlainTextResponse(
            "This link has been used, or is of another studio. For a new one, run: incrowd studio --link\n",
            403,
        )
    answer = RedirectResponse("/", 303)
    answer.set_cookie(studio.keys.cookie_name, studio.keys.cookie, path="/", httponly=True, samesite="strict")
    return answer


ROUTES = (get("/open", show), post("/open", enter))
