"""What commands that look at tables need of memory: refused before it is used up, or counted by an engine.

A process that asks for more memory than there is is killed without a word. So how much a command will need is
estimated from the sizes of its files, and compared with what it may use.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from incrowd.engines.resources import Resources, machine_memory, size_of, words
from incrowd.engines.spark_tables import is_spark
from incrowd.errors import InputError, option
from incrowd.publishing.engine_choice import BYTES_A_CELL as PUBLISHING_A_CELL
from incrowd.publishing.engine_choice import memory_needed, resources_of
from incrowd.release.data_files import rows_path
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Source

# Measured: bytes for each cell of both tables, a million rows of eight columns and their original.
LOOKING_AT_A_CELL = 25
BYTES_A_CELL = {"verify": 47, "learn": 47, "compare": 47, "attack": 110}
LOOKING = ("auto", "memory", "duckdb")
SAMPLE = "take a sample of the rows"


def engine_for_looking(
    command: str, given: Sequence[object], engine: str, memory: str | int | None, threads: int | None
) -> Resources | None:
    """What DuckDB may use to count a release and its tables, or None to read them into memory."""
    if engine not in LOOKING:
        raise InputError(f"{option('engine')} of {command} is one of {', '.join(LOOKING)}")
    if engine == "memory":
        if memory is not None:
            raise InputError(f"{option('memory')} is for {option('engine', 'duckdb')}")
        _ = Resources.of(threads=threads)  # refused is what makes no sense
        return None
    resources = resources_of("duckdb", memory, threads, None)
    if engine == "duckdb":
        return resources
    return None if fits(command, given, memory) else resources


def check_fits(
    command: str, given: Sequence[object], memory: str | int | None = None, remedy: str = SAMPLE
) -> None:
    """Refuse what a command would have to hold in memory, and cannot."""
    needed, allowed = _needed(command, given), _allowed(memory)
    if not fits(command, given, memory):
        raise InputError(
            f"{command} holds its tables in memory, which takes about {words(needed)}, and {words(allowed)} "
            f"may be used: {remedy}, or allow more with {option('memory')}"
        )


def fits(command: str, given: Sequence[object], memory: str | int | None = None) -> bool:
    """May a command hold its tables in memory?"""
    return _needed(command, given) <= _allowed(memory)


def not_counted(command: str, given: Sequence[object]) -> str:
    """Why a table that is no release is not counted by DuckDB."""
    return (
        f"{command} counts releases with DuckDB, and this is a table that another tool wrote, which is read "
        f"into memory, about {words(_needed(command, given))}: take {option('engine', 'memory')}, or a sample"
    )


def _allowed(memory: str | int | None) -> int:
    """Bytes that may be used: as asked for, or half of what the machine has."""
    return machine_memory() // 2 if memory is None else size_of(memory)


def _needed(command: str, given: Sequence[object]) -> int:
    return sum(map(_of_one, given)) * BYTES_A_CELL.get(command, LOOKING_AT_A_CELL) // PUBLISHING_A_CELL


def _of_one(given: object) -> int:
    """Bytes that a release or a table takes in memory; 0 for what is in memory already, or is not there."""
    if isinstance(given, ReleaseFolder):
        return memory_needed(rows_path(given.path))
    if given is None or is_spark(given):
        return 0
    if isinstance(given, str | os.PathLike) and (Path(given) / "release.json").exists():
        return memory_needed(rows_path(Path(given)))
    return memory_needed(given) if Source.of(given) is not None else 0
