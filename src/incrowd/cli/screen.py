"""What a person sees: progress on standard error, results on standard output."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from incrowd.kernels.compiling import SENTENCE, compiling
from incrowd.long_work import STEPS, Progress, unwatched

if TYPE_CHECKING:
    from rich.console import Console

    from incrowd.long_work import Watch

PATIENCE = 2.0  # seconds before a bar appears

ANONYMITY = {  # kinds of anonymity, as measures and audits name them
    "k": "every equivalence class has k rows",
    "1k": "every person fits k rows",
    "k1": "every row fits k persons",
    "kk": "both: every person fits k rows, every row k persons",
    "global_1k": "every person has k rows that cannot be ruled out",
    "global_k1": "every row has k persons who cannot be ruled out",
    "k_factor": "a randomized assignment exists with no match above 1/k",
}

INDENT = "  "  # of tables
_COMMAND = re.compile("(^| )incrowd [a-z]+ ")  # a line that can be pasted
_CONTROLS = re.compile("[\x7f-\x9f\u2028\u2029]")  # JSON allows them bare, and terminals obey some


def console() -> Console:
    """Standard output, coloured if it is a terminal."""
    from rich.console import Console

    class Screen(Console):
        def print(self, *things: Any, **how: Any) -> None:
            super().print(*(self._fitted(thing) for thing in things), **how)

        def _fitted(self, thing: Any) -> Any:
            """Texts without commands to the terminal, in lines that fit it. Into a file they stay whole."""
            if not isinstance(thing, str):
                return thing
            folding = self.is_terminal or "COLUMNS" in os.environ
            lines = visible(thing).split("\n")
            return "\n".join(in_lines(line, self.width) if folding else line for line in lines)

        def on_broken_pipe(self) -> None:
            _reader_left()

    return Screen(highlight=False, markup=False, emoji=False, soft_wrap=True)


def in_lines(line: str, width: int) -> str:
    """A sentence in lines of a terminal, indented as its first; what can be pasted stays whole.

    Examples
    --------
    >>> print(in_lines("  note: nobody is left out", 16))
      note: nobody
        is left out
    >>> print(in_lines("Next: incrowd verify release", 16))
    Next: incrowd verify release
    """
    if cell_width(line) <= width or _COMMAND.search(line):
        return line
    return folded(line.lstrip(" "), line[: len(line) - len(line.lstrip(" "))], width)


def visible(text: str) -> str:
    r"""A text without signs that command a terminal: names of columns and files are not ours.

    Examples
    --------
    >>> print(visible("age\x1b[2J"))
    age\x1b[2J
    """
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


def _reader_left() -> None:
    """Nobody takes the rest (`head` has seen enough, a disk is full): the exit code stays what it is."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def be_robust() -> None:
    """Let a column's name that the terminal cannot show come out escaped, rather than end the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _line_sign() -> str:
    """What a line is made of: a sign that the terminal can show, also that of a Windows without UTF-8."""
    try:
        "─".encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return "-"
    return "─"


def print_json(content: object) -> None:
    """One JSON document on standard output."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    try:
        text = json.dumps(content, indent=2, ensure_ascii=ascii_only, default=str)
        sys.stdout.write(_CONTROLS.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text) + "\n")
        sys.stdout.flush()  # a full disk is noticed here, where it can still be told
    except BrokenPipeError:
        _reader_left()


def complain(message: str, as_json: bool, exit_code: int) -> None:
    """Say what is wrong: one sentence on standard error, or a JSON document for machines."""
    if as_json:
        with contextlib.suppress(OSError):
            return print_json({"error": message, "exit_code": exit_code})
    sys.stderr.write(f"incrowd: {visible(message)}\n")
    try:
        sys.stdout.flush()
    except OSError:  # what is left would be tried once more at exit, and fail once more
        _reader_left()


def notice(sentence: str) -> None:
    """Say something on standard error before the work begins."""
    sys.stderr.write(folded(f"WARNING: {sentence}.") + "\n")


def saying(quiet: bool) -> Callable[[str], None]:
    """Says sentences on standard error while the work goes on: on a terminal, and not of quick work."""
    began = monotonic()

    def say(sentence: str) -> None:
        if monotonic() - began >= PATIENCE:
            sys.stderr.write(folded(sentence) + "\n")

    return say if not quiet and sys.stderr.isatty() else lambda _sentence: None


@contextmanager
def watching(quiet: bool) -> Iterator[Watch]:
    """A bar with the time left for each step, shown once the work has taken two seconds."""
    if quiet or not sys.stderr.isatty():
        yield unwatched
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True

    def watch(step: str) -> Progress:
        for task in bar.tasks:
            bar.update(task.id, completed=1.0)
        task_id = bar.add_task(STEPS.get(step, step), total=1.0)
        return lambda done: bar.update(task_id, completed=done)

    timer.start()
    compiling.tell = lambda: bar.console.print(SENTENCE, highlight=False)
    try:
        yield watch
    finally:
        compiling.tell = None
        timer.cancel()
        timer.join()  # it may be starting the bar at this very moment
        bar.stop()


def table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    least: Sequence[str] = (),
    width: int | None = None,
) -> Any:
    """A table for `console().print` that fits the terminal (`layout.laid_out`); the indent is two signs."""
    from rich.text import Text

    from incrowd.cli.layout import laid_out

    room = (width or console().width) - 2 * len(INDENT)
    names = [visible(name) for name in header]
    cells = [[visible(cell).replace("\n", " ") for cell in row] for row in rows]
    head, body, gone = laid_out(names, cells, room, right=right, least=least)
    shown = Text(f"{folded(title, width=room)}\n" if title else "")
    rule = _line_sign() * (max(map(cell_width, [*head, *body])) + 2)
    shown.append("\n" + "".join(f"{INDENT}{line}\n" for line in head), "bold")
    shown.append(f" {rule}\n" + "".join(f"{INDENT}{line}\n" for line in body))
    if gone:
        shown.append(folded(lacking(gone), INDENT, room) + "\n")
    return shown


def lacking(columns: Sequence[str]) -> str:
    """Which columns a table does not show."""
    return f"no room here for: {', '.join(filter(None, columns))}; --json has all"


def cell_width(text: str) -> int:
    """How many places of a terminal a text takes: some signs take two."""
    from rich.cells import cell_len

    return cell_len(text)


def folded(text: str, indent: str = "", width: int = 80) -> str:
    """A sentence in lines of at most so many signs, but for names that are longer."""
    from incrowd.cli import layout

    return layout.folded(visible(text), indent, width)


def number(value: object) -> str:
    """A number for people."""
    if isinstance(value, float):
        return f"{value:,.4f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def facts(pairs: Mapping[str, object]) -> list[tuple[str, str]]:
    """Rows of a two-column table."""
    return [(name.replace("_", " "), number(value)) for name, value in pairs.items()]


def parameter(value: object) -> str:
    """A parameter as text; a table of them in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
