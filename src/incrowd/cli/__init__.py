"""The command line: one file for each command, thin over `incrowd.commands`."""

from incrowd.cli import (  # noqa: F401  # each adds its command
    attack,
    audit,
    compare,
    demo,
    inspect,
    kernels,
    learn,
    measure,
    methods,
    outliers,
    policy,
    publish,
    query,
    report,
    reproduce,
    series,
    studio,
    verify,
)
from incrowd.cli.app import app, main

__all__ = ["main"]

# As a newcomer needs them, not by the alphabet.
_ORDER = (
    *(
        "demo",
        "studio",
        "inspect",
        "policy",
        "publish",
        "verify",
        "series",
        "measure",
        "query",
        "attack",
        "audit",
        "compare",
        "report",
    ),
    *("learn", "outliers", "methods", "reproduce", "kernels"),
)
app.registered_commands.sort(key=lambda command: _ORDER.index(getattr(command.callback, "__name__", "")))
