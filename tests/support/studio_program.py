"""`incrowd studio` as a process of its own, and a browser of the standard library to talk to it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

from support.studio_visitor import BROWSER


class Program:
    """The program, started in a folder; it lets itself in unless the link is left for a real browser."""

    def __init__(self, folder: Path, *arguments: str, enter: bool = True) -> None:
        self.process = subprocess.Popen(
            [str(Path(sys.executable).parent / "incrowd"), "studio", *arguments, "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.origin, _, self.token = self.address.partition("/open#")
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.form = ""
        if self.origin and enter:
            self.send("/open", link=self.token)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.end()
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def get(self, path: str) -> str:
        return self._opened(urllib.request.Request(f"{self.origin}{path}", headers=BROWSER))

    def send(self, path: str, **fields: str) -> str:
        body = urllib.parse.urlencode({"token": self.form, **fields}).encode()
        headers = {**BROWSER, "origin": self.origin}
        return self._opened(urllib.request.Request(f"{self.origin}{path}", body, headers))

    def _opened(self, request: urllib.request.Request) -> str:
        for _ in range(200):
            with self.browser.open(request) as answer:
                page: str = answer.read().decode()
            if "<h1>Reading " not in page:
                break
            request = urllib.request.Request(answer.url, headers=BROWSER)
        found = re.search(r'name="token" value="([^"]+)"', page)
        self.form = found[1] if found else self.form
        return page

    def end(self, number: int = signal.SIGKILL) -> tuple[int, str, str]:
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err
