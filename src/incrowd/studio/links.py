"""Links that let a browser in: each works once, and another can be made for a studio that runs.

A studio notes itself in a folder of its user (0700). `incrowd studio --link` puts the digest of a new token
there; whoever brings that token is let in, and the digest goes.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from incrowd.errors import InputError
from incrowd.system import user


@dataclass(frozen=True)
class Noted:
    """A studio that runs: its port, its process, and where it was started."""

    port: int
    pid: int
    folder: Path

    @property
    def place(self) -> Path:
        return _home() / str(self.port)


def _home() -> Path:
    """The folder of running studios; only its user can look into it."""
    if user() is None:
        raise InputError(
            "the studio needs a system that tells its users apart, Linux or macOS; use the commands"
        )
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    home = (
        Path(base) / "incrowd-studio"
        if base and Path(base).is_dir()
        else Path(tempfile.gettempdir()) / f"incrowd-studio-{user()}"
    )
    home.mkdir(mode=0o700, exist_ok=True)
    found = home.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user() or stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError(f"{home} must be a folder of your own that nobody else can open; remove it")
    return home


def note(port: int, folder: Path) -> Noted:
    """Say that a studio runs here."""
    noted = Noted(port, os.getpid(), folder)
    noted.place.mkdir(mode=0o700, exist_ok=True)
    for old in noted.place.iterdir():
        old.unlink()
    text = json.dumps({"pid": noted.pid, "folder": str(folder)})
    (noted.place / "studio.json").write_text(text, encoding="utf-8", newline="\n")
    return noted


def forget(noted: Noted) -> None:
    """The studio has ended: its links are worth nothing. Another one may have its port already."""
    if any(known.port == noted.port and known.pid != noted.pid for known in _all()):
        return
    for path in noted.place.glob("*"):
        path.unlink(missing_ok=True)
    noted.place.rmdir()


def new_link(noted: Noted) -> str:
    """An address that lets one browser in, once. The token is behind #: browsers send that to nobody."""
    token = secrets.token_urlsafe(32)
    (noted.place / _digest(token)).touch(mode=0o600)
    return f"http://127.0.0.1:{noted.port}/open#{token}"


def used(noted: Noted, token: str) -> bool:
    """Is this a token that nobody has used? It is used now."""
    try:
        (noted.place / _digest(token)).unlink()
    except OSError:
        return False
    return True


def running(folder: Path, port: int | None = None) -> Noted:
    """The studio that was started in a folder, or that has a port."""
    found = [noted for noted in _all() if port in (None, noted.port)]
    here = found if port is not None else [noted for noted in found if noted.folder == folder]
    if not here:
        raise InputError("no studio runs here; start one with: incrowd studio")
    if len(here) > 1:
        ports = ", ".join(str(noted.port) for noted in here)
        raise InputError(f"several studios run here; say which with --port: {ports}")
    return here[0]


def _all() -> list[Noted]:
    found = []
    for place in _home().iterdir():
        try:
            said = json.loads((place / "studio.json").read_text())
            noted = Noted(int(place.name), int(said["pid"]), Path(said["folder"]))
            os.kill(noted.pid, 0)
        except (OSError, ValueError, KeyError):
            continue
        found.append(noted)
    return found


def _digest(token: str) -> str:
    return f"{sha256(token.encode('utf-8', 'surrogateescape')).hexdigest()}.link"
