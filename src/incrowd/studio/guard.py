"""Who may speak to the studio: every request is looked at here before any page sees it.

The studio listens on this computer only, and still every web page that is open in the same browser could
send it requests. So a request must come from a page of the studio itself (`Host`, `Origin`,
`Sec-Fetch-Site`), from a browser that was let in (cookie), and what changes something must carry a token
that only our pages have. A request that lacks one of these gets a sentence and changes nothing.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_FORM_BYTES = 1 << 20
MOST_FIELDS = 5_000
FORM = "application/x-www-form-urlencoded"
RAW = "application/octet-stream"
TOKEN_HEADER, TOKEN_FIELD = "x-incrowd-token", "token"
OPEN, DROP = "/open", "/drop"  # lets a browser in; takes a file as a raw body
STATIC = "/static/"

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# A report is a page of its own with its own styles; it may run nothing and reach nothing.
REPORT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    # not no-referrer: browsers then send "Origin: null" with plain forms, and a null origin is refused
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True)
class Keys:
    """The secrets of one running studio: of the cookie, of forms, and of links that let a browser in once."""

    port: int
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    form: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie_name(self) -> str:
        """Of this port: another studio on this computer has a cookie of its own."""
        return f"incrowd_{self.port}"

    @property
    def hosts(self) -> tuple[str, str]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"


def equal(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


class Turned(Exception):
    """A request that is not let in: a status, and what a person may do about it."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class RequestGuard:
    """ASGI middleware around the whole studio."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self.app = app
        self.keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await _close(receive, send)
            return
        guarded = _with_headers(send)
        try:
            self.check(scope)
            if scope["method"] == "POST" and scope["path"] != DROP:
                scope.setdefault("state", {})["form"] = await self._form(scope, receive)
        except Turned as turned:
            await _refusal(turned)(scope, receive, guarded)
            return
        await self.app(scope, receive, guarded)

    def check(self, scope: Scope) -> None:
        """All that headers say; forms are looked at afterwards."""
        headers = Headers(scope["headers"])
        method, path = scope["method"], _checked_path(scope)
        if method not in ("GET", "POST"):
            raise Turned(405, "The studio knows GET and POST only.")
        host = headers.one("host")
        if host not in self.keys.hosts:
            raise Turned(400, "This address is not the studio's. Use the address that it printed.")
        self._check_site(headers, method, path)
        if method == "POST" and headers.one("origin") != f"http://{host}":
            raise Turned(403, "This form was not sent by a page of the studio.")
        if path == OPEN or (method == "GET" and path.startswith(STATIC)):
            return
        if not equal(self._cookie(headers), self.keys.cookie):
            raise Turned(
                403,
                "This browser was not let in. Open the address that the studio printed; it works once. "
                "For another one, run: incrowd studio --link",
            )
        if method == "POST" and path == DROP:
            if headers.one("content-type") != RAW:
                raise Turned(415, "A file is sent as it is.")
            if not equal(headers.one(TOKEN_HEADER), self.keys.form):
                raise Turned(403, "This page is too old. Load it again.")

    def _check_site(self, headers: Headers, method: str, path: str) -> None:
        """Where the request comes from, by the browser's own word, which pages cannot forge."""
        site = headers.one("sec-fetch-site")
        typed = (
            site == "none"
            and method == "GET"
            and not path.startswith(STATIC)
            and headers.one("sec-fetch-mode") == "navigate"
            and headers.one("sec-fetch-dest") == "document"
        )
        if site != "same-origin" and not typed:
            raise Turned(403, "This request comes from another site, or from a browser that does not say.")
        if headers.one("sec-fetch-dest") in ("iframe", "frame", "embed", "object"):
            raise Turned(403, "The studio is shown in no other page.")

    def _cookie(self, headers: Headers) -> str:
        cookies: SimpleCookie = SimpleCookie()
        try:
            cookies.load(headers.one("cookie"))
        except CookieError:
            return ""
        found = cookies.get(self.keys.cookie_name)
        return "" if found is None else found.value

    async def _form(self, scope: Scope, receive: Receive) -> dict[str, list[str]]:
        headers = Headers(scope["headers"])
        if headers.one("content-type").partition(";")[0].strip() != FORM:
            raise Turned(415, "Forms are sent as forms.")
        form = parsed_form(await _body(receive))
        if scope["path"] == OPEN:
            return form  # it has no token yet: the link in it is one
        given = headers.one(TOKEN_HEADER) or (form.get(TOKEN_FIELD) or [""])[0]
        if not equal(given, self.keys.form):
            raise Turned(403, "This page is too old. Load it again.")
        return form


class Headers:
    """The headers of a request; one that is there twice counts as missing."""

    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self._raw = raw

    def one(self, name: str) -> str:
        found = [value for key, value in self._raw if key.lower() == name.encode()]
        return found[0].decode("latin-1") if len(found) == 1 else ""


def _checked_path(scope: Scope) -> str:
    """The path, if it is plain: no dots, no escapes, nothing that a server could read in two ways."""
    raw = scope.get("raw_path") or scope["path"].encode()
    raw = raw.partition(b"?")[0]
    path = str(scope["path"])
    plain = raw == path.encode("utf-8", "surrogateescape") and path.isascii() and path.isprintable()
    if not plain or any(part in path for part in ("//", "..", "\\", "%", ";", " ")):
        raise Turned(404, "There is no such page.")
    return path


def parsed_form(body: bytes) -> dict[str, list[str]]:
    """The fields of a form, each with its values."""
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=MOST_FIELDS, encoding="utf-8", errors="strict"
        )
    except (UnicodeDecodeError, ValueError):
        raise Turned(400, "The form cannot be read.") from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


async def _body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Turned(400, "The form was not sent to its end.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_FORM_BYTES:
            raise Turned(413, "The form is too long.")
        more = message.get("more_body", False)
    return b"".join(parts)


def _with_headers(send: Send) -> Send:
    """Every answer has the headers; a report brings its own, narrower content policy."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {key.lower() for key, _ in message.get("headers", [])}
            more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in own]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return sent


def _refusal(turned: Turned) -> Response:
    return PlainTextResponse(turned.sentence + "\n", turned.status)


async def _close(receive: Receive, send: Send) -> None:
    """No WebSocket is opened."""
    await receive()
    await send({"type": "websocket.close", "code": 1008})


def form_of(request: Request) -> dict[str, list[str]]:
    """The fields of the form that came with a request."""
    found: dict[str, list[str]] = request.scope.get("state", {}).get("form", {})
    return found


def field_of(request: Request, name: str) -> str:
    """A field of the form; empty if it is not there."""
    return (form_of(request).get(name) or [""])[-1]
