"""Count the system calls of a run that write, and kill it at the n-th of them.

A filter in the kernel (seccomp) stops the run, its threads and its children at the entry of every such call,
whoever makes it: Python, NumPy, DuckDB or the C library. A tracer (ptrace) counts them and notes which path
they would make. Nothing depends on time. Linux on x86-64 or ARM only; `reason_not_to_run` says what lacks.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import struct
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import NoReturn

# Numbers of the calls that write, or make, rename or remove a name; 0 where there is no such call.
_NUMBERS = {
    "x86_64": {
        "write": 1, "writev": 20, "pwrite64": 18, "pwritev": 296, "pwritev2": 328, "sendfile": 40,
        "copy_file_range": 326, "splice": 275, "open": 2, "creat": 85, "openat": 257, "openat2": 437,
        "truncate": 76, "ftruncate": 77, "fallocate": 285, "fsync": 74, "fdatasync": 75, "msync": 26,
        "rename": 82, "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265, "symlink": 88,
        "symlinkat": 266, "unlink": 87, "unlinkat": 263, "mkdir": 83, "mkdirat": 258, "rmdir": 84,
        "mknod": 133, "mknodat": 259, "chmod": 90, "fchmod": 91, "fchmodat": 268, "utimensat": 280,
        "memfd_create": 319,
    },
    "aarch64": {
        "write": 64, "writev": 66, "pwrite64": 68, "pwritev": 70, "pwritev2": 287, "sendfile": 71,
        "copy_file_range": 285, "splice": 76, "openat": 56, "openat2": 437, "truncate": 45, "ftruncate": 46,
        "fallocate": 47, "fsync": 82, "fdatasync": 83, "msync": 227, "renameat": 38, "renameat2": 276,
        "linkat": 37, "symlinkat": 36, "unlinkat": 35, "mkdirat": 34, "mknodat": 33, "fchmod": 52,
        "fchmodat": 53, "utimensat": 88, "memfd_create": 279,
    },
}  # fmt: skip
# Which argument is the path of a name that is made, and which one says how a file is opened.
_MADE = {
    "open": 0, "creat": 0, "openat": 1, "mkdir": 0, "mkdirat": 1, "mknod": 0, "mknodat": 1, "rename": 1,
    "renameat": 3, "renameat2": 3, "link": 1, "linkat": 3, "symlink": 1, "symlinkat": 2,
}  # fmt: skip
_FLAGS = {"open": 1, "openat": 2}
_MAKES = os.O_CREAT | getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY

_TRACEME, _CONT, _SETOPTIONS, _GETEVENTMSG, _SYSCALL_INFO = 0, 7, 0x4200, 0x4201, 0x420E
_OPTIONS = 2 | 4 | 8 | 0x80 | 0x100000  # follow fork, vfork, clone; stop at the filter; end with the tracer
_SECCOMP_EVENT = 7
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _TRACE = 0x7FFF0000, 0x7FF00000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


@dataclass
class Traced:
    """What became of a run: how many calls it made, which paths they made, how it ended."""

    calls: int = 0
    made: list[str] = field(default_factory=list)
    last: str = ""
    status: int = 0

    @property
    def killed(self) -> bool:
        return os.WIFSIGNALED(self.status)


def numbers() -> dict[int, str]:
    """The calls of this machine by number."""
    return {number: name for name, number in _NUMBERS.get(platform.machine(), {}).items()}


def reason_not_to_run() -> str:
    """Why calls cannot be counted here; empty if they can."""
    if sys.platform != "linux" or not numbers():
        return "system calls are counted on Linux, x86-64 and ARM, only"
    try:
        seen = traced(lambda: os.close(os.open(os.devnull, os.O_WRONLY | os.O_CREAT)), 0)
    except OSError as error:
        return f"this system does not let a process be traced: {error.strerror}"
    return "" if seen.made == [os.devnull] else "this system does not let system calls be filtered"


def traced(run: Callable[[], object], kill_at: int) -> Traced:
    """Run it apart, and kill it at the entry of the given call that writes; 0 lets it run to its end.

    The tracer is a process of its own: it waits for whatever the run starts, and must not wait for others.
    """
    ours, theirs = os.pipe()
    tracer = os.fork()
    if tracer == 0:
        _tell(run, kill_at, theirs)
    os.close(theirs)
    with os.fdopen(ours, encoding="utf-8") as told:
        said = json.load(told)
    os.waitpid(tracer, 0)
    if "error" in said:
        raise OSError(*said["error"])
    return Traced(**said)


def _tell(run: Callable[[], object], kill_at: int, where: int) -> NoReturn:
    try:
        try:
            said = asdict(_traced(run, kill_at))
        except OSError as error:
            said = {"error": [error.errno, error.strerror]}
        with os.fdopen(where, "w", encoding="utf-8") as told:
            json.dump(said, told)
    finally:
        os._exit(0)


def _traced(run: Callable[[], object], kill_at: int) -> Traced:
    child = os.fork()
    if child == 0:
        _become_traced(run)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise OSError(1, "the child could not be traced")
    _ptrace(_SETOPTIONS, child, _OPTIONS)
    return _followed(child, kill_at)


def _become_traced(run: Callable[[], object]) -> NoReturn:
    try:
        if _libc.ptrace(_TRACEME, 0, None, None) == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            _install_filter()
            run()
    finally:
        os._exit(0)


def _install_filter() -> None:
    """Let the kernel stop at the calls we count, and at no other."""
    program = [_instruction(0x20, 0, 0, 0)]  # load the number of the call
    wanted = sorted(numbers())
    for place, number in enumerate(wanted):
        program.append(_instruction(0x15, len(wanted) - place, 0, number))  # equal: jump to the last line
    program += [_instruction(0x06, 0, 0, _ALLOW), _instruction(0x06, 0, 0, _TRACE)]
    code = ctypes.create_string_buffer(b"".join(program))
    header = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _libc.prctl(_SET_SECCOMP, _FILTER, ctypes.create_string_buffer(header), 0, 0) != 0:
        os._exit(1)


def _instruction(code: int, true: int, false: int, constant: int) -> bytes:
    return struct.pack("HBBI", code, true, false, constant)


def _ptrace(request: int, process: int, data: int = 0) -> None:
    if _libc.ptrace(request, process, None, data) == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _followed(main: int, kill_at: int) -> Traced:
    """Let all processes and threads of the run go on from stop to stop until none is left."""
    found, names = Traced(), numbers()
    _ptrace(_CONT, main)
    while True:
        try:
            process, status = os.waitpid(-1, 0x40000000)  # threads too (__WALL)
        except ChildProcessError:
            return found
        if not os.WIFSTOPPED(status):
            found.status = status if process == main else found.status
            continue
        if status >> 16 == _SECCOMP_EVENT:
            _note(process, names, found)
            if kill_at and found.calls == kill_at:
                os.kill(main, signal.SIGKILL)
        stopped_by = os.WSTOPSIG(status)
        passed_on = 0 if status >> 16 or stopped_by in (signal.SIGTRAP, signal.SIGSTOP) else stopped_by
        _libc.ptrace(_CONT, process, None, passed_on)  # if it was killed meanwhile, there is nothing to go on


def _note(process: int, names: dict[int, str], found: Traced) -> None:
    said = ctypes.create_string_buffer(88)
    if _libc.ptrace(_SYSCALL_INFO, process, ctypes.c_void_p(88), said) < 0:
        return
    number, *arguments = struct.unpack_from("7Q", said.raw, 24)
    name = names.get(number, "")
    if name in _FLAGS and not arguments[_FLAGS[name]] & _MAKES:
        return  # opened to be read
    found.calls += 1
    found.last = name
    if name in _MADE:
        found.made.append(_text_at(process, arguments[_MADE[name]]))


def _text_at(process: int, address: int) -> str:
    """The path that a call was given."""
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        raw = b""
        while b"\0" not in raw:
            raw += memory.read(min(256, 4096 - (address + len(raw)) % 4096))
    return os.fsdecode(raw.split(b"\0")[0])
