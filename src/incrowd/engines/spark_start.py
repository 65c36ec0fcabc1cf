"""Starting Spark for one command, or taking the session that is there; in the end nothing is left of it.

A Spark that is started here listens on the loopback address alone, has no page, writes no log, and keeps what
it spills in the private folder.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from incrowd.engines.resources import Resources
from incrowd.engines.spark_session import SETTINGS, in_our_words
from incrowd.errors import InputError, option
from incrowd.long_work import cleaned_by, held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_TO_STOP = 10
SUBMITTED = "PYSPARK_GATEWAY_PORT"  # set by spark-submit, which has started Spark already
QUIET = "rootLogger.level = off\n"
LEAST_PAGE, PAGES = 2**20, 2048  # each table that is joined takes a page of memory, however small it is


def check_installed() -> None:
    """Refuse to go on without pyspark and Java."""
    if importlib.util.find_spec("pyspark") is None:
        raise InputError("Spark is not installed; run: pip install 'incrowd[spark]'")
    home = os.environ.get("JAVA_HOME", "")
    java = Path(home) / "bin" / "java" if home else shutil.which("java")
    if SUBMITTED not in os.environ and (java is None or not os.access(java, os.X_OK)):
        raise InputError("Spark needs Java 17 or later; install it, or say where it is with JAVA_HOME")


@contextmanager
def spark_session(work: Path, resources: Resources, given: Any = None) -> Iterator[SparkSession]:
    """A session with settings and names of its own, of the Spark that is `given` or running, or of a new one.

    Jobs that are still running when it is left are cancelled.
    """
    if given is None:
        check_installed()
        given = running_session()
    for name in ("py4j", "SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    if given is not None:
        if resources.master:
            raise InputError(f"Spark is running already; leave out {option('master')}")
        with _quiet_root(), _of_another(given, work) as session:
            yield session
        return
    with _quiet_root(), _started(work, resources) as session:
        yield session


@contextmanager
def _quiet_root() -> Iterator[None]:
    """What py4j says by the logger of the whole program, when Java ends under a question, reaches nobody."""
    root = logging.getLogger()
    root.addFilter(_not_of_py4j)
    try:
        yield
    finally:
        root.removeFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def running_session() -> Any:
    """The session of this program, if it has started Spark."""
    if importlib.util.find_spec("pyspark") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # about pandas, which is not used
        from pyspark.sql import SparkSession

        with suppress(ImportError):
            importlib.import_module("pyspark.testing.utils")  # Spark loads it later, and it warns

    return SparkSession.getActiveSession()


@contextmanager
def _of_another(given: Any, work: Path) -> Iterator[SparkSession]:
    """A new session beside that of a program that has started Spark; the program's own stays as it is."""
    tag = f"incrowd-{work.parent.name.rpartition('-')[2]}"
    both = _both(given, tag)
    try:
        yield both[1]
    except BaseException:
        with suppress(Exception), held():
            for session in both:
                session.interruptTag(tag)
        raise
    finally:
        with suppress(Exception):
            for session in both:
                session.removeTag(tag)


@in_our_words
def _both(given: Any, tag: str) -> tuple[Any, Any]:
    """A program's session and a new one, whose jobs can be told from those of the program's own threads."""
    both = (given, given.newSession())
    for session in both:
        session.addTag(tag)
    _set(both[1])
    return both


def _set(session: Any) -> None:
    for name, value in SETTINGS.items():
        session.conf.set(name, value)


@contextmanager
def _started(work: Path, resources: Resources) -> Iterator[SparkSession]:
    gateway: list[Any] = []
    with cleaned_by(lambda: _end(gateway[0] if gateway else None, kindly=False)):
        kindly = False
        try:
            session = _start(work, resources, gateway)
            yield session
            kindly = True
        finally:
            with held():
                _end(gateway[0] if gateway else None, kindly)


@in_our_words
def _start(work: Path, resources: Resources, gateway: list[Any]) -> SparkSession:
    """Launch Java, note it before anything else can go wrong, and open a session."""
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    on_interrupt = signal.getsignal(signal.SIGINT)
    conf = SparkConf(loadDefaults=False).setAll(list(_settings(work, resources).items()))
    with _environment(work):
        # its error stream may quote data
        quietly = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        launch: Any = java_gateway.launch_gateway
        gateway.append(launch(conf, quietly))
        context = SparkContext(conf=conf, gateway=gateway[0])
        context.setLogLevel("OFF")
        session = SparkSession(context)
        _set(session)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)  # Spark takes it over
    return session


def _settings(work: Path, resources: Resources) -> dict[str, str]:
    """What is said to Spark; anything else is said by its own files of settings, or by spark-submit."""
    log = work / "log4j2.properties"
    log.write_text(QUIET, encoding="utf-8", newline="\n")
    here = {
        "spark.app.name": "incrowd",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(work / "spill"),
        "spark.sql.warehouse.dir": str(work / "warehouse"),
        "spark.driver.memory": f"{resources.for_spark // 2**20}m",
        "spark.driver.maxResultSize": "0",
        # What joins and counts hold while they run comes before tables that were handed out earlier: these
        # stay until Java happens to clean up, and a query might get no memory beside them.
        "spark.memory.storageFraction": "0",
        "spark.buffer.pageSize": str(max(LEAST_PAGE, resources.for_spark // PAGES)),
        "spark.driver.extraJavaOptions": f'-XX:-UsePerfData "-Djava.io.tmpdir={work / "spill"}" '
        f'"-Dlog4j2.configurationFile={log.absolute().as_uri()}"',
    }
    master = resources.master
    if SUBMITTED in os.environ:
        return {"spark.master": master} if master else {}
    if master and not master.startswith(("local", "spark://127.0.0.1", "spark://localhost")):
        del here["spark.driver.host"], here["spark.driver.bindAddress"]  # executors elsewhere call it
    local = {"spark.sql.shuffle.partitions": str(max(2, 2 * resources.threads))}
    mine = master.startswith("local") or not master
    return here | {"spark.master": master or f"local[{resources.threads}]"} | (local if mine else {})


@contextmanager
def _environment(work: Path) -> Iterator[None]:
    """Words of the environment that say otherwise than the settings, and Python's place for executors."""
    spill = work / "spill"
    spill.mkdir(mode=0o700, exist_ok=True)
    said = {"SPARK_LOCAL_DIRS": str(spill), "PYSPARK_PYTHON": sys.executable}
    before = {name: os.environ.get(name) for name in said}
    os.environ.update(said)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end(gateway: Any, kindly: bool) -> None:
    """Stop Spark and its Java; after an interrupt without waiting for it."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if gateway is None:
        return
    context, java = SparkContext._active_spark_context, getattr(gateway, "proc", None)
    if context is not None and (kindly or java is None or "local" not in str(context.master)):
        stopping = threading.Thread(target=_stop, args=(context,), daemon=True)
        stopping.start()
        stopping.join(SECONDS_TO_STOP)
    if java is not None:
        java.kill()
        java.wait()
        java.stdin.close()
        with suppress(Exception):
            gateway.shutdown()
    SparkContext._active_spark_context = None
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None


def _stop(context: Any) -> None:
    with suppress(Exception):
        context.cancelAllJobs()
        context.stop()
