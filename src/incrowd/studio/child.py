"""What the processes of the studio share: lines of JSON, no core dumps, an end with their parent."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from incrowd.errors import IncrowdError
from incrowd.system import limit


def talk() -> tuple[IO[bytes], IO[bytes]]:
    """Where questions come from and answers go; whatever a library prints goes nowhere."""
    no_core_dumps()
    lines_in, lines_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1):
        os.dup2(nowhere, handle)
    return lines_in, lines_out


def no_core_dumps() -> None:
    """A dump of memory would hold the table."""
    limit("RLIMIT_CORE", 0)


def messages(lines: IO[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        yield json.loads(line)


def line_of(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=True).encode() + b"\n"


def say(out: IO[bytes], message: Mapping[str, Any]) -> None:
    out.write(line_of(message))
    out.flush()


def refusal(error: BaseException) -> dict[str, str]:
    """An error as a message: names and counts, never a cell."""
    if isinstance(error, IncrowdError):
        return {"refused": type(error).__name__, "sentence": error.on_the_command_line}
    if isinstance(error, MemoryError):
        return {"refused": "MemoryError", "sentence": "The table needs more memory than there is."}
    if isinstance(error, OSError):
        return {"refused": "OSError", "sentence": f"The operating system says: {error.strerror or 'no'}."}
    return {"refused": "Unexpected", "sentence": _place(error)}


def _place(error: BaseException) -> str:
    """Where it happened, but not what was in hand."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "unknown place"
    return f"Internal error ({type(error).__name__} in {where}). Please report this line; it holds no data."


def end_with_parent(lines: IO[bytes]) -> None:
    """Interrupt this process when nobody is left at the other end of the pipe."""

    def watch() -> None:
        while lines.read(1):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True).start()


def quiet_end() -> None:
    sys.stderr = open(os.devnull, "w", encoding="utf-8", newline="\n")  # noqa: SIM115  # a traceback would quote data
