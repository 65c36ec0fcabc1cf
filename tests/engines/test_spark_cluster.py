"""Spark from the command line: a cluster of two workers, and an interrupt in the middle. By night only."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from engines.test_same_classes import PEOPLE
from support.engine_tables import _source
from support.spark_sessions import by_night, needs_spark

from incrowd.engines.writing import WORK

pytestmark = [needs_spark, by_night]
POLICY = """
quasi_identifiers = ["age", "zip", "sex"]
sensitive = ["ill"]
keep = ["team"]
[privacy]
k = 4
"""
COMMAND = [sys.executable, "-c", "import incrowd; incrowd._command_line()"]
LOOKS = 3000  # at a log, five a second: a busy machine starts Spark slowly


@contextmanager
def started(folder: Path, name: str, sign: str, *words: str) -> Iterator[Path]:
    """A part of a cluster, once its log has a sign; ended with the block, by its number."""
    import pyspark

    home = Path(pyspark.__file__).parent
    log = folder / f"{name}.log"
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(home)}
    with log.open("w") as file:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), *words],
            stdout=file,
            stderr=file,
            env=environment,
            cwd=folder,
        )
    try:
        wait_for(process, lambda: sign in log.read_text(), name)
        yield log
    finally:
        process.kill()
        process.wait()


def wait_for(process: subprocess.Popen[bytes], sign: object, what: str) -> None:
    for _ in range(LOOKS):
        if callable(sign) and sign():
            return
        assert process.poll() is None, f"{what} ended"
        threading.Event().wait(0.2)
    raise AssertionError(f"{what} does not start")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A standalone master with two workers, all on the loopback address."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    own = ("--host", "127.0.0.1", "--webui-port", "0")
    worker = ("org.apache.spark.deploy.worker.Worker", *own, "--cores", "1", "--memory", "1g")
    master = ("org.apache.spark.deploy.master.Master", *own, "--port", str(port))
    registered = "Successfully registered with master"
    with (
        started(folder, "master", "elected leader", *master),
        started(folder, "one", registered, *worker, "--work-dir", str(folder / "w1"), address),
        started(folder, "two", registered, *worker, "--work-dir", str(folder / "w2"), address),
    ):
        yield address


def words(folder: Path, *more: str) -> list[str]:
    (folder / "policy.toml").write_text(POLICY)
    source = _source(PEOPLE, folder, "parquet")
    publish = ["publish", str(source), "-p", str(folder / "policy.toml"), "-o", str(folder / "release")]
    return [*COMMAND, *publish, "--engine", "spark", "--memory", "1GB", *more]


def test_a_cluster_of_two_workers_publishes(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("cluster")
    with cluster(place) as address:
        ran = subprocess.run(words(tmp_path, "--master", address, "--json"), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["engine"]["name"] == "spark"
    assert ran.stderr == ""
    assert {path.name for path in tmp_path.iterdir()} == {
        *("table.parquet", "policy.toml", "release", "release.audit")
    }
    executors = [path for worker in ("w1", "w2") for path in (place / worker).glob("app-*/*")]
    assert len(executors) == 2  # both were asked


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda s: s.name)
def test_an_interrupt_leaves_nothing(sent: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(words(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    coded = f".incrowd-stage-*/{WORK}/coded.parquet"
    wait_for(process, lambda: any(tmp_path.glob(coded)), "publish")
    process.send_signal(sent)
    out, err = process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err == b"incrowd: stopped; nothing was published\n"
    assert {path.name for path in tmp_path.iterdir()} == {"table.parquet", "policy.toml"}
