"""One Spark for all tests of a process: starting it takes longer than most of them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.night import NIGHT

from incrowd.engines.resources import Resources
from incrowd.engines.session import duck_session
from incrowd.engines.spark_session import SparkSqlSession
from incrowd.engines.spark_start import spark_session

WHY_NOT = "" if importlib.util.find_spec("pyspark") else "pyspark is not installed: Spark is not tested"
if not WHY_NOT and shutil.which("java") is None:
    WHY_NOT = "there is no Java: Spark is not tested"
needs_spark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
by_night = pytest.mark.skipif(
    not NIGHT, reason="by night only (INCROWD_SEEDS=all): it takes a minute of Spark"
)
SMALL = Resources(2_000_000_000, 2, engine="spark")
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compiled well is not worth the wait here


@contextmanager
def one_spark(folder: Path) -> Iterator[Any]:
    """A running Spark, which whatever is published meanwhile takes."""
    before = os.environ.get("JDK_JAVA_OPTIONS")
    os.environ["JDK_JAVA_OPTIONS"] = QUICK_JAVA
    try:
        with spark_session(folder, SMALL) as session:
            yield session
    finally:
        if before is None:
            del os.environ["JDK_JAVA_OPTIONS"]
        else:
            os.environ["JDK_JAVA_OPTIONS"] = before


@contextmanager
def sql_session(spark: Any, folder: Path) -> Iterator[SparkSqlSession]:
    """What engines and the verifier speak to, for small tables."""
    with spark_session(folder, SMALL, spark) as own, duck_session(folder, SMALL.beside_spark) as local:
        session = SparkSqlSession(own, local, folder)
        session.expect(0)
        yield session
