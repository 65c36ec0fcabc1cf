"""What each quasi-identifier costs the others, and what is advised: `inspect --costs`."""

from __future__ import annotations

from typing import Any

from incrowd.commands.inspect import inspect
from incrowd.schema import Source
from incrowd.studio.job_process import Reporter


def run(reporter: Reporter, table: dict[str, str], policy: str) -> dict[str, Any]:
    """The costs as the command prints them; `policy` is the file."""
    found = inspect(Source(**table), policy, costs=True, watch=reporter.watch)
    said = found.to_dict()
    del said["improved"]  # a policy may list values of the table; it is made again when it is asked for
    return said | {"sentence": found.demand.sentence(), "headline": found.headline()}
