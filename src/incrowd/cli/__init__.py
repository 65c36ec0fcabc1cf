"""The command line."""

from incrowd.cli import (
    adversaries,  # noqa: F401  # adds `attack` and `audit`
    outliers,  # noqa: F401  # adds the command `outliers`
    reproducing,  # noqa: F401  # adds the command `reproduce`
)
from incrowd.cli.commands import main

__all__ = ["main"]
