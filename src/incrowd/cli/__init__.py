"""The command line."""

from incrowd.cli.commands import main

__all__ = ["main"]
