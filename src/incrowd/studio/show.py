"""What the studio does, as a command line and as Python: for whoever wants to repeat it without the page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from incrowd.studio.state import Studio


@dataclass(frozen=True)
class ShownCommand:
    """The same once for a terminal, once for Python; `about` says what it does."""

    about: str
    command: str
    python: str


def place(studio: Studio, path: Path) -> str:
    """A path as somebody would type it in the start folder."""
    resolved = path if path.is_absolute() else studio.folder / path
    return (
        os.path.relpath(resolved, studio.folder) if resolved.is_relative_to(studio.folder) else str(resolved)
    )


def table_words(studio: Studio) -> str:
    """The table on a command line, with how it is read."""
    file = studio.open.project.table
    words = [quote(place(studio, file.path))]
    words += [f"--encoding {quote(file.encoding)}"] if file.encoding else []
    words += [f"--sheet {quote(file.sheet)}"] if file.sheet else []
    words += [f"--sql {quote(file.sql)}"] if file.sql else []
    return " ".join(words)


def table_python(studio: Studio) -> str:
    """The table as Python names it."""
    file = studio.open.project.table
    path = repr(place(studio, file.path))
    said = {"encoding": file.encoding, "sheet": file.sheet, "sql": file.sql}
    more = "".join(f", {key}={value!r}" for key, value in said.items() if value)
    return f"ic.Source({path}{more})" if more else path


def policy_words(studio: Studio) -> str:
    return quote(place(studio, studio.open.project.policy))


def policy_python(studio: Studio) -> str:
    return repr(place(studio, studio.open.project.policy))


def inspecting(studio: Studio) -> ShownCommand:
    """The risk of the policy's quasi-identifiers."""
    return ShownCommand(
        "The risk of this policy",
        f"incrowd inspect {table_words(studio)} -p {policy_words(studio)}",
        f"import incrowd as ic\nprint(ic.inspect({table_python(studio)}, {policy_python(studio)}).risks[0])",
    )


def costing(studio: Studio) -> ShownCommand:
    """What each quasi-identifier costs the others."""
    return ShownCommand(
        "What each column costs",
        f"incrowd inspect {table_words(studio)} -p {policy_words(studio)} --costs",
        "import incrowd as ic\n"
        f"print(ic.inspect({table_python(studio)}, {policy_python(studio)}, costs=True))",
    )


def profiling(studio: Studio) -> ShownCommand:
    """The columns as they are, before any policy."""
    return ShownCommand(
        "The columns as they are",
        f"incrowd inspect {table_words(studio)}",
        f"import incrowd as ic\nprint(ic.inspect({table_python(studio)}))",
    )


def publishing(studio: Studio) -> ShownCommand:
    """The release that this policy asks for."""
    return ShownCommand(
        "The release of this policy",
        f"incrowd publish {table_words(studio)} -p {policy_words(studio)} -o release",
        f'import incrowd as ic\nic.publish({table_python(studio)}, {policy_python(studio)}, "release")',
    )
