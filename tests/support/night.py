"""Is this `./run nightly`? Then everything is tried; by day a sample of what is many times alike."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable
from typing import Any

NIGHT = os.environ.get("INCROWD_SEEDS") == "all"


def combined(*choices: Iterable[Any]) -> list[tuple[Any, ...]]:
    """All combinations by night. By day as many as the longest list has: every choice at least once."""
    lists = [list(each) for each in choices]
    if NIGHT:
        return list(itertools.product(*lists))
    return [tuple(each[i % len(each)] for each in lists) for i in range(max(map(len, lists)))]
