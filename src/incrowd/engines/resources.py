"""What an engine may use: memory, threads, and room on the disk."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from incrowd.errors import InputError, option
from incrowd.system import memory, processors

KB = 1000
UNITS = {"": 1, "B": 1, "KB": KB, "MB": KB**2, "GB": KB**3, "TB": KB**4}
UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
LEAST_MEMORY = 256 * KB**2
MOST_THREADS = 1024
BYTES_A_TUPLE = 140  # codes, weight, label, and the buffers of the kernels
BYTES_A_RECORD = 250  # the same where equal records are not taken together
_SIZE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,3})?)\s*([A-Za-z]*)\s*")


@dataclass(frozen=True, slots=True)
class Resources:
    """Which engine, bytes of memory and number of threads.

    How many records are cut at once follows, unless it is given.
    """

    memory: int
    threads: int
    tuples: int | None = None
    engine: str = "duckdb"
    master: str = ""  # of Spark: where its executors are

    @classmethod
    def of(cls, memory: str | int | None = None, threads: int | None = None) -> Resources:
        """As asked for; by default half of the machine's memory, and all of its processors.

        Examples
        --------
        >>> Resources.of("3GB", 2).most_tuples
        10714285
        """
        size = machine_memory() // 2 if memory is None else size_of(memory)
        if size < LEAST_MEMORY:
            raise InputError(f"{option('memory')} must be at least {LEAST_MEMORY // KB**2}MB")
        cores = processors() if threads is None else threads
        if isinstance(cores, bool) or not isinstance(cores, int) or not 1 <= cores <= MOST_THREADS:
            raise InputError(f"{option('threads')} must be a whole number from 1 to {MOST_THREADS}")
        return cls(size, cores)

    @property
    def for_database(self) -> int:
        """Bytes that the database may use; the rest is for what is computed beside it."""
        return self.memory * 7 // 10

    @property
    def for_spark(self) -> int:
        """Bytes that Java may use where the program runs; executors elsewhere have their own."""
        return self.memory // 2

    @property
    def beside_spark(self) -> Resources:
        """What DuckDB may use beside Spark."""
        return replace(self, memory=max(self.memory * 4 // 10, LEAST_MEMORY))

    @property
    def most_tuples(self) -> int:
        """How many distinct records are cut in memory at once."""
        return self.memory // 2 // BYTES_A_TUPLE if self.tuples is None else self.tuples

    @property
    def most_records(self) -> int:
        """How many records are cut in memory at once where equal ones are not taken together."""
        return self.memory // 2 // BYTES_A_RECORD if self.tuples is None else self.tuples


def size_of(text: str | int) -> int:
    """A number of bytes, as it is written.

    Examples
    --------
    >>> size_of("1.5 GB"), size_of("512MiB"), size_of(7)
    (1500000000, 536870912, 7)
    """
    found = _SIZE.fullmatch(str(text))
    unit = None if found is None else UNITS.get(found[2].upper())
    if found is None or unit is None or isinstance(text, bool):
        raise InputError(f"{option('memory')} is a size such as 3GB or 512MB")
    whole, _, part = found[1].partition(".")
    return (int(whole) * 1000 + int(f"{part:0<3}")) * unit // 1000


def machine_memory() -> int:
    """Bytes of memory that this machine has."""
    return memory()


def check_room(folder: Path, needed: int) -> None:
    """Refuse to begin what would fill the disk."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"{folder} has {words(free)} free, and about {words(needed)} are needed while the release is "
            "made; make room, or write to another disk"
        )


def words(size: int) -> str:
    """A size for people.

    Examples
    --------
    >>> words(1_530_000_000), words(12_000_000)
    ('1.5 GB', '12 MB')
    """
    return f"{size / KB**3:.1f} GB" if size >= KB**3 else f"{max(round(size / KB**2), 1)} MB"
