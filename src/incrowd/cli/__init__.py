"""The command line."""

from incrowd.cli import attack, compare, learn, outliers, query, report, reproduce  # noqa: F401  # add commands
from incrowd.cli.commands import main

__all__ = ["main"]
