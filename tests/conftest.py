"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from support.places import DATA
from support.vacuity import pytest_runtest_call as pytest_runtest_call

# In CI the same examples every time: a rare one is found by runs elsewhere, not by whoever lands next.
settings.register_profile("incrowd", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("incrowd")

SEEDS = range(100) if os.environ.get("INCROWD_SEEDS") == "all" else (7,)


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed{seed}")
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real tables, or a skip that says what is not tested without it."""
    if not DATA.is_dir():
        pytest.skip(f"no real tables in {DATA.name}/: set INCROWD_DATA to the folder that holds them")
    return DATA
