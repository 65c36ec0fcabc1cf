"""The command line: the same words as in Python; what all commands share.

Exit codes: 0 done, 1 refused or not verified or broken, 2 wrong input, 3 an attack is inconclusive.
"""

from __future__ import annotations

import gc
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from incrowd import __version__, long_work
from incrowd.cli import screen
from incrowd.errors import IncrowdError, InputError

INCONCLUSIVE = 3  # of attacks: neither held nor broken

app = typer.Typer(
    help="Publish a table about people so that each person is indistinguishable from at least k-1 others.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@contextmanager
def boundary(as_json: bool) -> Iterator[None]:
    """Turn every error into one sentence and an exit code; never a traceback, which would quote data."""
    try:
        with long_work.running():
            yield
    except IncrowdError as error:
        screen.complain(error.on_the_command_line, as_json, error.exit_code)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        long_work.clean_up()
        long_work.told()
        screen.complain(long_work.STOPPED, as_json, long_work.EXIT_CODE)
        raise typer.Exit(long_work.EXIT_CODE) from None
    except MemoryError:
        screen.complain("the table needs more memory than there is; nothing was published", as_json, 2)
        raise typer.Exit(2) from None
    except typer.Exit:
        raise
    except OSError as error:
        screen.complain(_refused_by_system(error), as_json, 2)
        raise typer.Exit(2) from None
    except Exception as error:
        screen.complain(_unexpected(error), as_json, 2)
        raise typer.Exit(2) from None


def _refused_by_system(error: OSError) -> str:
    """A name that cannot be, a disk that is full. The file's name is the user's own, not a cell."""
    where = f"{error.filename}: " if isinstance(error.filename, str) else "the operating system says: "
    return where + (error.strerror or "unknown error")


def _unexpected(error: Exception) -> str:
    """Where it happened, but not what was in hand."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else "unknown place"
    return (
        f"internal error ({type(error).__name__} in {where}). Please report this line; it holds no data. "
        "A release folder, if there is one, is complete and verified."
    )


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"incrowd {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish a table about people so that each person is indistinguishable from at least k-1 others.

    First time here? Run: incrowd demo
    """


def finish(
    content: object, as_json: bool, show: Callable[[], None], *, good: bool = True, code: int = 1
) -> None:
    """Print what a command found, for machines or for people; the exit code is `code` if it is not good."""
    if as_json:
        screen.print_json(content)
    else:
        show()
    if not good:
        raise typer.Exit(code)


def check_new(path: Path | None, suffix: str) -> None:
    if path is not None and (path.suffix != suffix or path.exists()):
        raise InputError(f"{path}: name a new file that ends in {suffix}")


def write_new(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a file, never over another one."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None


def main() -> None:
    """Run the command line."""
    # a short run that makes many small things and few cycles: looking for those takes a tenth of its time
    gc.set_threshold(100_000, 50, 50)
    screen.be_robust()
    warnings.formatwarning = _one_sentence
    long_work.install()
    app()


def _one_sentence(
    message: Warning | str,
    category: type[Warning],  # noqa: ARG001
    filename: str,  # noqa: ARG001
    lineno: int,  # noqa: ARG001
    line: str | None = None,  # noqa: ARG001
) -> str:
    """A warning without the line of source that it comes from."""
    return screen.folded(f"WARNING: {screen.visible(str(message))}") + "\n"
