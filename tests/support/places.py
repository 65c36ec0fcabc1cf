"""Where things lie: the tests, the checkout, real tables."""

from __future__ import annotations

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
DATA = Path(os.environ.get("INCROWD_DATA", ROOT.parent / "shared" / "data"))
