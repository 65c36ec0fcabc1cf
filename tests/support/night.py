"""Is this `./run nightly`? Then everything is tried; by day a sample of what is many times alike."""

from __future__ import annotations

import os

NIGHT = os.environ.get("INCROWD_SEEDS") == "all"
