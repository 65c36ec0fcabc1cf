"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import is_hypothesis_test, settings
from support.night import NIGHT
from support.places import DATA
from support.vacuity import pytest_runtest_call as pytest_runtest_call

from incrowd.kernels import kept

# Whoever started the tests may have made them ignore signals (nohup, a shell's &); what they start must not.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Compiled code stays in one folder, also where a test gives a program another home. Where the user's own
# folder is open to others it would not be kept at all, and every process of the tests would compile it all.
with warnings.catch_warnings(record=True):
    warnings.simplefilter("always")
    if kept.usable(kept.own_folder(), 0o700) is None:
        os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"incrowd-tests-{os.geteuid()}")
    else:
        os.environ["NUMBA_CACHE_DIR"] = str(kept.own_folder().parent.parent)

# What is made while tests are collected lives to the end. Looking through it for garbage again and again took
# a quarter of that time, and later some of every test's.
gc.disable()

# In CI the same examples every time: a rare one is found by runs elsewhere, not by whoever lands next.
settings.register_profile("incrowd", deadline=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("incrowd")

EXAMPLES = float(os.environ.get("INCROWD_EXAMPLES", "0.15"))  # times as many examples of each property
SEEDS = range(100) if NIGHT else (7,)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Fewer examples by day, and tests of Spark first.

    A profile would not do: most properties say themselves how many examples they want. Tests of Spark that
    stand together at one end are run by one process, and one Spark is started instead of one in each.
    """
    items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))
    tests: set[Any] = {getattr(item, "obj", None) for item in items} if EXAMPLES != 1 else set()
    for test in filter(is_hypothesis_test, tests):
        own = test._hypothesis_internal_use_settings
        test._hypothesis_internal_use_settings = settings(
            own, max_examples=max(min(own.max_examples, 10), round(EXAMPLES * own.max_examples))
        )


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # else libraries that count what is left at the end complain


@pytest.fixture(params=SEEDS, ids=lambda seed: f"seed{seed}")
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(request.param)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real tables, or a skip that says what is not tested without it."""
    if not DATA.is_dir():
        pytest.skip(f"no real tables in {DATA.name}/: set INCROWD_DATA to the folder that holds them")
    return DATA


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Spark for all tests of a process: starting it takes longer than most of them."""
    from support.spark_sessions import one_spark

    with one_spark(tmp_path_factory.mktemp("spark")) as session:
        yield session
