"""The child process that opens a Parquet file: what it may do, and what it sends.

Started anew for each file, so it imports little: DuckDB and nothing of tables. Why there is a child at all
is said in `parquet_reader`.

`connection` is the only door to DuckDB: it may open the paths it is given and nothing else, loads no
extension, keeps everything in memory, and cannot be unlocked. So a run that is killed leaves nothing of the
table in a folder for temporary files.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from incrowd import system
from incrowd.system import NOWHERE
from incrowd.tables.checked_files import check_width

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NULL = "-"  # a NULL as the child writes it; any other cell is its text after one sign
LIST = "VARCHAR[]"
_SECONDS, _SECONDS_PER_MIB = 300, 10  # of processor time that a file may take to read
_SPARE = 4 * 1024**3  # address space of the child beyond what DuckDB may use
_PARENT_DEATH_SIGNAL = 1
_MEMBER = r"\*|\\?missing|(\\[\\|{}\[\]*]|[^\\|{}\[\]*])*"  # of a cell: what would end it is escaped


def memory() -> int:
    """Bytes that DuckDB may use: half of the machine."""
    return system.memory() // 2


@contextlib.contextmanager
def connection(*paths: str, attached: str = "") -> Iterator[DuckDBPyConnection]:
    """Open an empty in-memory database that may touch these paths only, or read the one that is attached."""
    import duckdb

    settings: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "extension_directory": NOWHERE,
        "secret_directory": NOWHERE,
        "temp_directory": "",  # no spilling: nothing that it does here needs to sort or to gather
        "memory_limit": f"{memory() // 2**20}MiB",
    }
    with duckdb.connect(config=settings) as session:
        session.execute("SET allowed_paths = ?", [list(paths)])
        if attached:
            session.execute(f"ATTACH '{attached}' AS source (READ_ONLY)")  # a number, no name of the user's
            session.execute("USE source")
        session.execute("SET enable_external_access = false")
        session.execute("SET lock_configuration = true")
        yield session


def limit(size: int) -> None:
    """Bound what a file of some size can cost, and leave no core dump with data in it."""
    seconds = _SECONDS + _SECONDS_PER_MIB * (size // 2**20)
    system.limit("RLIMIT_AS", memory() + _SPARE)
    system.limit("RLIMIT_CPU", seconds)
    system.limit("RLIMIT_CORE", 0)


def end_with_parent() -> None:
    """Nobody is left to end us if the parent is killed (Linux; elsewhere the closed pipe has to do)."""
    with contextlib.suppress(AttributeError):
        system.c_library().prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _describe(session: DuckDBPyConnection, path: str) -> tuple[list[str], list[str], int]:
    """Names as they stand in the file, types, number of rows."""
    schema = session.execute("SELECT name, num_children FROM parquet_schema(?)", [path]).fetchall()
    names = _top_names(schema)
    check_width(len(names), "the file")
    types = [row[1] for row in session.execute(f"DESCRIBE {_select('*', len(names), path)}").fetchall()]
    (rows,) = session.execute("SELECT num_rows FROM parquet_file_metadata(?)", [path]).fetchall()[0]
    return names, types, rows


def _top_names(schema: list[tuple[str, int | None]]) -> list[str]:
    """Names of the columns among all elements of a schema, each followed by its own elements."""
    names, inside = [], 0
    for name, children in schema[1:]:
        if inside == 0:
            names.append(name)
        else:
            inside -= 1
        inside += children or 0
    return names


def _select(cells: str, width: int, path: str) -> str:
    names = ", ".join(f"c{place}" for place in range(width))
    return f"SELECT {cells} FROM read_parquet('{path}', hive_partitioning = false) AS t({names})"  # noqa: S608


def _text(place: int, kind: str) -> str:
    """The text of a cell. A list is written as a set: its members in braces, a single one bare.

    A list with a member that is NULL or not escaped as a cell's members are becomes NULL: joined, it would
    say something else than it does in the file.
    """
    cell = f"c{place}"
    if kind != LIST:
        return f"CAST({cell} AS VARCHAR)"
    sound = f"len(list_filter({cell}, lambda x: regexp_full_match(x, '{_MEMBER}', 's'))) = len({cell})"
    several = f"'{{' || array_to_string({cell}, '|') || '}}'"
    return f"(CASE WHEN {sound} THEN CASE len({cell}) WHEN 1 THEN {cell}[1] ELSE {several} END END)"


def serve(descriptor: int) -> None:
    """The child's whole life: describe the file, learn which columns are wanted, send them."""
    limit(os.fstat(descriptor).st_size)
    end_with_parent()
    path = f"/dev/fd/{descriptor}"
    with connection(path, "/dev/stdout") as session:
        names, types, rows = _describe(session, path)
        sys.stdout.write(json.dumps([names, types, rows]) + "\n")
        sys.stdout.flush()
        places: list[int] = json.loads(sys.stdin.readline())
        cells = ", ".join(f"coalesce('=' || {_text(place, types[place])}, '{NULL}')" for place in places)
        copy = f"COPY ({_select(cells, len(names), path)}) TO '/dev/stdout' (FORMAT csv, HEADER false)"
        session.execute(copy)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
