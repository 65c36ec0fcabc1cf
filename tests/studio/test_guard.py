"""Who is let in: forged requests of every kind get a 4xx and change nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from starlette.websockets import WebSocketDisconnect
from support.studio_visitor import BROWSER, ORIGIN, PORT, Visitor

from incrowd.studio import links
from incrowd.studio.app import build
from incrowd.studio.guard import MOST_FORM_BYTES, RequestGuard, Turned

GOOD_HOST = f"127.0.0.1:{PORT}"
HOSTS = {
    "right": GOOD_HOST,
    "rebound": f"evil.example:{PORT}",
    "other-port": "127.0.0.1:1",
    "no-port": "127.0.0.1",
    "zero": f"0.0.0.0:{PORT}",
    "trailing-dot": f"localhost.:{PORT}",
    "suffix": f"127.0.0.1.evil.example:{PORT}",
}
ORIGINS = {
    "right": ORIGIN,
    "missing": None,
    "null": "null",
    "other": "http://evil.example",
    "other-port": "http://127.0.0.1:1",
    "https": f"https://{GOOD_HOST}",
    "localhost": f"http://localhost:{PORT}",
}
SITES = {
    "right": "same-origin",
    "cross": "cross-site",
    "same-site": "same-site",
    "none": "none",
    "missing": None,
}
TOKENS = ("right", "wrong", "missing")
COOKIES = ("right", "missing", "wrong", "other-port")
PATHS = ("/columns/3", "/undo", "/theme", "/start/demo", "/quit", "/close", "/outside", "/columns/several")
ODD_PATHS = (
    *("/../etc/passwd", "/static/../guard.py", "/static/%2e%2e/guard.py", "/static/..%2fguard.py"),
    *("//columns", "/columns//3", "/columns%00", "/columns\\3", "/static/", "/static/app.py", "/columns/-1"),
    *("/columns/99999999999", "/jobs/%2e%2e", "/policy.toml/", "/columns;x=1", "/.git"),
    *(
        "/releases/1",
        "/%63olumns",
        "/columns/3%20",
        "/static/studio.css%00",
        "/static/STUDIO.CSS",
        "/jobs/x/events",
    ),
)


def forged() -> Iterator[tuple[dict[str, str], str, str]]:
    """Headers, form token and path of requests in which at least one thing is wrong."""
    for host, origin, site, token, cookie in itertools.product(HOSTS, ORIGINS, SITES, TOKENS, COOKIES):
        wrong = [each != "right" for each in (host, origin, site, token, cookie)]
        if any(wrong) and sum(wrong) <= 3:
            headers = {"host": HOSTS[host], "origin": ORIGINS[origin], "sec-fetch-site": SITES[site]}
            yield {k: v for k, v in headers.items() if v is not None}, token, cookie


FORGED = list(forged())


def state(visitor: Visitor) -> tuple[object, ...]:
    studio = visitor.studio
    return (
        visitor.policy.read_bytes(),
        studio.session.now.number,
        studio.opened is not None,
        studio.quitting,
        len(list(studio.open.project.inside("history").iterdir())),
    )


def test_forged_requests_are_refused_and_change_nothing(at_table: Visitor) -> None:
    assert len(FORGED) >= 500
    keys = at_table.studio.keys
    cookies = {
        "right": f"{keys.cookie_name}={keys.cookie}",
        "wrong": f"{keys.cookie_name}={'x' * 43}",
        "other-port": f"incrowd_1={keys.cookie}",
        "missing": "",
    }
    tokens = {"right": keys.form, "wrong": "y" * 43, "missing": ""}
    at_table.client.cookies.clear()
    before = state(at_table)
    paths = itertools.cycle(PATHS)
    for number, (headers, token, cookie) in enumerate(FORGED):
        path = next(paths)
        sent = {
            "sec-fetch-mode": "navigate",
            "sec-fetch-dest": "document",
            **headers,
            "cookie": cookies[cookie],
        }
        data = {"role": "drop", "token": tokens[token], "which": "mine", "column": "3"}
        answer = at_table.client.post(path, data=data, headers=sent, follow_redirects=False)
        assert 400 <= answer.status_code < 500, (number, path, headers, token, cookie)
    assert state(at_table) == before


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PROPFIND"]
)
def test_only_get_and_post_are_known(method: str, visitor: Visitor) -> None:
    for path in ("/", "/columns", "/static/studio.css", "/open"):
        answer = visitor.client.request(method, path, headers={**BROWSER, "origin": ORIGIN})
        assert answer.status_code == 405
        assert "access-control-allow-origin" not in answer.headers


def test_odd_paths_lead_nowhere(at_table: Visitor) -> None:
    before = state(at_table)
    for path in ODD_PATHS:
        answer = at_table.client.request("GET", f"{ORIGIN}{path}", headers=BROWSER, follow_redirects=False)
        assert 400 <= answer.status_code < 500, path
        answer = at_table.client.post(
            f"{ORIGIN}{path}",
            data={"token": at_table.studio.keys.form, "role": "drop"},
            headers={**BROWSER, "origin": ORIGIN},
            follow_redirects=False,
        )
        assert 300 <= answer.status_code < 500, path
        assert answer.headers.get("location", "/") in ("/", "/columns")
    assert state(at_table) == before


@pytest.mark.parametrize(
    "raw", [b"/a/../policy.toml", b"/./columns", b"/%2e%2e/x", b"/columns%2f3", b"//columns", b"/columns\\3"]
)
def test_a_path_that_can_be_read_in_two_ways_is_refused(raw: bytes, visitor: Visitor) -> None:
    """As it comes over the wire: clients of tests tidy paths up."""
    guard = RequestGuard(build(visitor.studio), visitor.studio.keys)
    headers = [(b"host", GOOD_HOST.encode()), *((k.encode(), v.encode()) for k, v in BROWSER.items())]
    scope = {
        "type": "http",
        "method": "GET",
        "path": unquote(raw.decode()),
        "raw_path": raw,
        "headers": headers,
    }
    with pytest.raises(Turned):
        guard.check(scope)


def test_reading_pages_needs_the_cookie_and_a_page_of_ours(at_table: Visitor) -> None:
    pages = ("/", "/table", "/columns", "/risk", "/policy.toml", "/command", "/alive", "/table/rows?page=2")
    for path in pages:
        for site in ("cross-site", "same-site"):
            assert at_table.get(path, **{"sec-fetch-site": site}).status_code == 403
        assert at_table.get(path, **{"sec-fetch-dest": "iframe"}).status_code == 403
        assert at_table.get(path, host="evil.example").status_code == 400
        assert at_table.get(path, **{"sec-fetch-site": "none"}).status_code == 200  # typed by a person
        assert at_table.get(path, **{"sec-fetch-site": "none", "sec-fetch-mode": "cors"}).status_code == 403
    at_table.client.cookies.clear()
    for path in pages:
        assert at_table.get(path).status_code == 403


def test_a_header_that_is_there_twice_counts_for_nothing(at_table: Visitor) -> None:
    twice = [*BROWSER.items(), ("host", GOOD_HOST), ("host", GOOD_HOST)]
    assert at_table.client.get("/columns", headers=twice).status_code == 400
    twice = [*BROWSER.items(), ("sec-fetch-site", "same-origin")]
    assert at_table.client.get("/columns", headers=twice).status_code == 403


def test_every_answer_has_the_headers_and_no_inline_code(at_table: Visitor) -> None:
    for path in ("/table", "/columns", "/nothing", "/static/studio.js", "/open", "/policy.toml"):
        answer = at_table.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["referrer-policy"] == "same-origin"
        if answer.headers["content-type"].startswith("text/html"):
            page = answer.text
            assert not re.search(r"\sstyle=|<style|\son[a-z]+=|hx-on|javascript:|js:", page)
            assert not re.search(r"<script(?![^>]*\ssrc=)", page)
            assert not re.search(r"(?:src|href|action)=\"(?:https?:)?//", page)


def test_a_form_that_is_no_form_is_refused(at_table: Visitor) -> None:
    headers = {**BROWSER, "origin": ORIGIN, "x-incrowd-token": at_table.studio.keys.form}
    before = state(at_table)
    for kind in ("application/json", "text/plain", "multipart/form-data; boundary=x", ""):
        sent = at_table.client.post("/undo", content=b"{}", headers={**headers, "content-type": kind})
        assert sent.status_code == 415
    form = {**headers, "content-type": "application/x-www-form-urlencoded"}
    assert (
        at_table.client.post("/undo", content=b"a=" + b"x" * MOST_FORM_BYTES, headers=form).status_code == 413
    )
    assert at_table.client.post("/undo", content=b"a=%ff\xff", headers=form).status_code == 400
    many = "&".join(f"f{i}=1" for i in range(6000)).encode()
    assert at_table.client.post("/undo", content=many, headers=form).status_code == 400
    assert state(at_table) == before


def test_no_websocket_is_opened(visitor: Visitor) -> None:
    with pytest.raises(WebSocketDisconnect), visitor.client.websocket_connect("/"):
        pass


def test_the_token_of_a_link_works_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    noted = links.note(PORT, tmp_path)
    with Visitor(tmp_path, noted=noted) as visitor:
        visitor.client.cookies.clear()
        address = links.new_link(links.running(tmp_path))
        token = address.partition("#")[2]
        assert address.startswith(f"{ORIGIN}/open#")
        assert len(token) >= 43
        headers = {**BROWSER, "origin": ORIGIN}
        for wrong in ("", "x", token[:-1], f"../{token}", "\x00"):
            answer = visitor.client.post(
                "/open", data={"link": wrong}, headers=headers, follow_redirects=False
            )
            assert answer.status_code == 403
        assert visitor.client.post("/open", data={"link": token}, headers=BROWSER).status_code == 403
        first = visitor.client.post("/open", data={"link": token}, headers=headers, follow_redirects=False)
        assert first.status_code == 303
        cookie = first.headers["set-cookie"]
        assert cookie.startswith(f"incrowd_{PORT}=")
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert visitor.get("/").status_code == 200
        again = visitor.client.post("/open", data={"link": token}, headers=headers, follow_redirects=False)
        assert again.status_code == 403
    assert token not in "".join(path.name for path in tmp_path.rglob("*"))
    links.forget(replace(noted, pid=noted.pid + 1))  # another studio had this port before
    assert noted.place.is_dir()
    links.forget(noted)
    assert not list((tmp_path / "incrowd-studio").iterdir())


def test_a_form_leads_back_to_our_own_pages_only(at_table: Visitor) -> None:
    for back in (
        "//evil.example",
        "https://evil.example",
        "/\\evil",
        "/columns//x",
        "/nothing",
        "javascript:1",
    ):
        answer = at_table.post("/undo", follow=False, back=back)
        assert answer.headers["location"] == "/"
    answer = at_table.post("/undo", follow=False, back="/columns?page=2&find=a")
    assert answer.headers["location"] == "/columns?page=2&find=a"
