"""The command line."""

from incrowd.cli import (
    adversaries,  # noqa: F401  # adds `attack` and `audit`
    compare,  # noqa: F401  # adds the command `compare`
    learn,  # noqa: F401  # adds the command `learn`
    outliers,  # noqa: F401  # adds the command `outliers`
    query,  # noqa: F401  # adds the command `query`
    report,  # noqa: F401  # adds the command `report`
    reproducing,  # noqa: F401  # adds the command `reproduce`
)
from incrowd.cli.commands import main

__all__ = ["main"]
