"""What is done with a written release, as command lines and as Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from incrowd.studio.show import ShownCommand, place, policy_python, policy_words, table_python, table_words
from incrowd.studio.state import Studio


def verifying(studio: Studio, release: Path, with_policy: bool) -> ShownCommand:
    """The verifier."""
    words, python = _about(studio, release, with_policy)
    return ShownCommand(
        "Verify again",
        f"incrowd verify {words}",
        f"import incrowd as ic\nprint(ic.verify({python}))",
    )


def attacking(studio: Studio, release: Path, asked: Mapping[str, Any]) -> ShownCommand:
    """All attacks, as they were asked for."""
    words, python = _about(studio, release, bool(asked["asked"]))
    also = place(studio, Path(asked["also"])) if asked.get("also") else ""
    return ShownCommand(
        "Attack",
        f"incrowd attack {words}{f' --also {quote(also)}' if also else ''}",
        f"import incrowd as ic\nprint(ic.attack({python}{f', also={also!r}' if also else ''}))",
    )


def auditing(studio: Studio, published: Path, with_policy: bool, k: int) -> ShownCommand:
    """Who fits which row, whatever tool wrote it."""
    where = place(studio, published)
    policy = f" -p {policy_words(studio)}" if with_policy else ""
    policy_too = f", {policy_python(studio)}" if with_policy else ""
    return ShownCommand(
        "Who fits which row",
        f"incrowd audit {table_words(studio)} {quote(where)}{policy}{f' --k {k}' if k else ''}",
        f"import incrowd as ic\n"
        f"print(ic.audit({table_python(studio)}, {where!r}{policy_too}{f', k={k}' if k else ''}))",
    )


def reporting(studio: Studio, release: Path, with_policy: bool) -> tuple[ShownCommand, ...]:
    """The page for readers, and the private one."""
    words, python = _about(studio, release, with_policy)
    where = place(studio, release)
    writes = 'import incrowd as ic\nfrom pathlib import Path\nPath("{}").write_text(ic.report({}).html())'
    return (
        ShownCommand(
            "The report for readers",
            f"incrowd report {quote(where)} -o report.html",
            writes.format("report.html", repr(where)),
        ),
        ShownCommand(
            "The private report",
            f"incrowd report {words} -o private.html",
            writes.format("private.html", python),
        ),
    )


def querying(studio: Studio, release: Path, sql: str) -> ShownCommand:
    """A question to the release."""
    where = place(studio, release)
    return ShownCommand(
        "Ask",
        f"incrowd query {quote(where)} {quote(sql)}",
        f"import incrowd as ic\nprint(ic.query({where!r}, {sql!r}))",
    )


def _about(studio: Studio, release: Path, with_policy: bool) -> tuple[str, str]:
    """A release and its original, as words of a command and of Python."""
    where = place(studio, release)
    policy = f" -p {policy_words(studio)}" if with_policy else ""
    policy_too = f", {policy_python(studio)}" if with_policy else ""
    original = table_words(studio)
    return f"{quote(where)} --original {original}{policy}", f"{where!r}, {table_python(studio)}{policy_too}"
