"""The studio as a program: a socket on this computer only, and an end when nobody is there."""

from __future__ import annotations

import asyncio
import socket
import webbrowser
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from incrowd.errors import InputError
from incrowd.studio import links
from incrowd.studio.app import build
from incrowd.studio.child import no_core_dumps
from incrowd.studio.guard import Keys
from incrowd.studio.project import SUFFIX, TableFile, project_for
from incrowd.studio.state import Studio
from incrowd.system import SIGNALS

HOST = "127.0.0.1"
SERVERS = ("postgresql:/", "postgres:/")  # as a path has it
CHECK_EVERY = 1.0
Say = Callable[[str], None]


class _Server(uvicorn.Server):
    """Signals are handled by us: uvicorn would raise them again after the end."""

    @contextmanager
    def capture_signals(self) -> Any:
        yield


def serve(
    table: Path | None,
    *,
    project: Path | None,
    port: int,
    browser: bool,
    limits: dict[str, float],
    say: Say,
) -> None:
    """Run until somebody quits, presses Ctrl-C, or nobody has done anything for a while."""
    no_core_dumps()
    listening = bound(port)
    asyncio.run(_serve(listening, _wanted(table, project), browser, limits, say))


def bound(port: int) -> socket.socket:
    """A socket that only this computer reaches."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        raise InputError(f"port {port} cannot be used: {error.strerror}; leave --port out") from None
    listening.listen(128)  # from here on the printed address answers
    return listening


def _wanted(table: Path | None, project: Path | None) -> tuple[Path, TableFile | None] | None:
    """The folder of the project to open, and its table if it is a new one."""
    start = Path.cwd()
    if str(table).startswith(SERVERS):  # a password may be in it: it is not repeated
        raise InputError(
            "the studio opens files and reaches no server; save the table as a file first, such as "
            "\\copy TABLE TO 'table.csv' CSV HEADER in psql, or use the commands"
        )
    if table is not None and table.suffix == SUFFIX and table.is_dir():
        project, table = table, None
    if table is None and project is None:
        return None
    if table is None and project is not None:
        if not (project / "project.toml").is_file():
            raise InputError(f"{project} is no project of the studio; name a table, too, to make one")
        return project.resolve(), None
    if table is None or not table.exists():
        raise InputError(f"{table} does not exist")
    return (project or project_for(table, start)).resolve(), TableFile(table.resolve())


async def _serve(
    listening: socket.socket,
    wanted: tuple[Path, TableFile | None] | None,
    browser: bool,
    limits: dict[str, float],
    say: Say,
) -> None:
    port = listening.getsockname()[1]
    folder = Path.cwd()
    noted = links.note(port, folder)
    studio = Studio(folder, Keys(port), noted, int(limits["max_upload"]), limits["idle"])
    server = _Server(
        uvicorn.Config(
            build(studio),
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=64 * 1024,
        )
    )
    try:
        if wanted is not None:
            await studio.open_project(*wanted)
        address = links.new_link(noted)
        say(address)
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, _end, server)
        ending = asyncio.create_task(_end_when_idle(server, studio, say))
        if browser:
            loop.call_later(0.2, _open_browser, address)
        await server.serve(sockets=[listening])
        ending.cancel()
    finally:
        await studio.close_project()
        with suppress(OSError):
            links.forget(noted)


def _open_browser(address: str) -> None:
    """In the background; where there is none, the printed address is enough."""
    asyncio.get_running_loop().run_in_executor(None, webbrowser.open, address)


def _end(server: uvicorn.Server) -> None:
    server.should_exit = True


async def _end_when_idle(server: uvicorn.Server, studio: Studio, say: Say) -> None:
    told = False
    while True:
        await asyncio.sleep(CHECK_EVERY)
        left = studio.seconds_left()
        if studio.quitting or left <= 0:
            if not studio.quitting:
                say("Nobody did anything for a while: the studio ends. All choices are saved.")
            server.should_exit = True
            return
        if left < min(120, studio.idle_minutes * 30) and not told:
            say("The studio will end soon, since nobody does anything. Use the page to keep it open.")
        told = left < min(120, studio.idle_minutes * 30)
