"""Memory or an engine: as asked for, or by how much memory a table would need."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from incrowd.engines.resources import Resources, machine_memory, words
from incrowd.engines.spark_tables import is_spark
from incrowd.errors import IncrowdError, InputError, Refused, option
from incrowd.long_work import Notice
from incrowd.policy import Policy
from incrowd.policy.policy import effective_policy
from incrowd.publishing.pipeline import Form
from incrowd.release.ledger import KeptLedger
from incrowd.schema import Source

ENGINES = ("auto", "memory", "duckdb", "spark")
BYTES_A_CELL = 47  # measured: 376 bytes for a row of eight columns, the verifier included
TIMES_A_TEXT = 14  # the same against the bytes of a CSV file
PACKED = 8  # times as large is what a packed file holds, or a Parquet file
SPARSE = 60  # times as large a table in memory may be as its Parquet file


def engine_for(
    source: object,
    policy: Policy,
    form: Form,
    engine: str,
    memory: str | int | None,
    threads: int | None,
    master: str | None,
    notice: Notice,
    public: object = None,
) -> Resources | None:
    """What the engine may use, or None for memory; where that follows from an estimate, it is said.

    `public` is a table to be joined, in the place of the one that the policy names.
    """
    check_engine(engine, source)
    if engine == "memory":
        if memory is not None:
            raise InputError(f"{option('memory')} is for {option('engine', 'duckdb')}")
        _ = Resources.of(threads=threads)  # refused is what makes no sense
        return None
    name = "spark" if is_spark(source) else engine
    resources = resources_of(name, memory, threads, master)
    if name != "auto":
        return resources
    if public is None and policy.public is not None:
        public = policy.folder / policy.public.table
    needed = memory_needed(source) + (0 if public is None else memory_needed(public))
    allowed = machine_memory() // 2 if memory is None else resources.memory
    if needed <= allowed:
        return None
    from incrowd.engines.table_files import TableFiles  # few tables need what is behind an engine
    from incrowd.publishing.large import joined_files, request_for_engine

    try:
        request = request_for_engine(policy, form)
        TableFiles.of(source)
        joined_files(policy, request, resources, public, None)
    except IncrowdError as problem:
        notice(f"about {words(needed)} of memory are needed, and DuckDB cannot take this over: {problem}")
        return None
    notice(f"about {words(needed)} of memory would be needed: published with DuckDB (engine duckdb)")
    return resources


def series_engine(
    source: object,
    policy: Policy,
    form: Form,
    after: Path | None,
    asked: tuple[str, str | int | None, int | None],
    notice: Notice,
) -> Resources | None:
    """The same for a release of a series, as asked for by engine, memory and threads.

    It goes on as it was begun.
    """
    engine, memory, threads = asked
    if engine == "spark" or is_spark(source):
        raise InputError(
            f"a series has no ledger with Spark; publish it in memory, or with {option('engine', 'duckdb')}"
        )
    if after is None:
        begun = effective_policy(policy) if policy.series is not None else policy
        return engine_for(source, begun, form, engine, memory, threads, None, notice)
    check_engine(engine, source)
    large = KeptLedger.open(after).large
    if engine != "auto" and large != (engine == "duckdb"):
        how, other = ("with DuckDB", "duckdb") if large else ("in memory", "memory")
        raise Refused(
            f"the series was begun {how}, and its ledgers can only go on so; take {option('engine', other)}"
        )
    if not large and memory is not None:
        raise InputError(f"{option('memory')} is for {option('engine', 'duckdb')}")
    return resources_of("duckdb", memory, threads, None) if large else None


def resources_of(engine: str, memory: str | int | None, threads: int | None, master: str | None) -> Resources:
    """What an engine may use, as asked for."""
    if master is not None and engine != "spark":
        raise InputError(f"{option('master')} is for {option('engine', 'spark')}")
    named = "duckdb" if engine == "auto" else engine
    return replace(Resources.of(memory, threads), engine=named, master=master or "")


def check_engine(engine: str, source: object) -> None:
    if engine not in ENGINES:
        raise InputError(f"{option('engine')} is one of {', '.join(ENGINES)}")
    if engine not in ("auto", "spark") and is_spark(source):
        raise InputError(f"a table of Spark is published by Spark: leave out {option('engine')}")


def memory_needed(source: object) -> int:
    """About how many bytes it takes to publish a file in memory; 0 for what is no file."""
    given = Source.of(source)
    path = None if given is None or given.is_server else Path(given.path)
    if path is None or not os.path.exists(path):
        return 0
    if path.is_dir() or path.suffix.lower() == ".parquet":
        return _of_parquet(path)
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        return TIMES_A_TEXT * path.stat().st_size
    if path.suffix.lower() in (".gz", ".zip"):
        return TIMES_A_TEXT * PACKED * path.stat().st_size
    return 0


def _of_parquet(path: Path) -> int:
    """Of a small file its size is enough; a large one tells in its footer how many cells it has."""
    files = [path] if path.is_file() else sorted(path.glob("*.parquet"))
    size = sum(file.stat().st_size for file in files)
    if SPARSE * size < machine_memory() // 16:
        return SPARSE * size
    from incrowd.engines.session import duck_session, quoted_text

    listed = "[" + ", ".join(quoted_text(str(file.absolute())) for file in files) + "]"
    first = quoted_text(str(files[0].absolute()))
    with (
        TemporaryDirectory(prefix="incrowd-") as folder,
        duck_session(Path(folder), Resources.of(), files) as session,
    ):
        rows = session.number(f"SELECT sum(num_rows) FROM parquet_file_metadata({listed})")  # noqa: S608
        columns = session.number(
            f"SELECT count(*) FROM parquet_schema({first}) WHERE type IS NOT NULL"  # noqa: S608
        )
    return rows * columns * BYTES_A_CELL
