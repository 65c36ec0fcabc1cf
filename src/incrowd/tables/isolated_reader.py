"""Read workbooks, files of statistics packages and DuckDB databases in a child process that may die.

Their formats are large and their readers were not made for hostile files. So a child with limits on memory
and time opens the file, as for Parquet, and sends names, notes and texts; a library's words never leave it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from incrowd.errors import TableError
from incrowd.flow import Table
from incrowd.tables.checked_files import check_shape, check_texts, chosen, too_large
from incrowd.tables.parquet_child import NULL, end_with_parent, limit
from incrowd.tables.parquet_reader import sent_rows, start_child
from incrowd.tables.texts import cell_text, column_of
from incrowd.tables.typed_rows import TypedRows


def read_isolated(
    kind: str, file: BinaryIO, source: str, columns: Sequence[str] | None, wanted: str = ""
) -> Table:
    """Read a file of a kind that `_readers` has; `wanted` is a sheet, or SQL."""
    with start_child(__name__, file.fileno(), kind, wanted) as child:
        try:
            table = _received(child, source)
        finally:
            child.kill()
    if table is None:
        raise TableError(f"{source} is damaged, or cannot be read with the memory and time allowed")
    places = chosen(table.names, columns)
    return Table(
        tuple(table.names[place] for place in places),
        tuple(table.columns[place] for place in places),
        table.notes,
    )


def _received(child: subprocess.Popen[bytes], source: str) -> Table | None:
    answer = child.stdout
    line = answer.readline() if answer else b""
    if answer is None or not line.endswith(b"\n"):
        return None
    said = json.loads(line)
    if "error" in said:
        raise TableError(f"{source} {said['error']}")
    names, rows = said["names"], said["rows"]
    check_shape(names, rows, source)
    table = sent_rows(answer, names)
    if child.wait() != 0:
        return None
    if table is None or len(table) != rows:
        raise too_large(source)
    read = []
    for name, column in zip(table.names, table.columns, strict=True):
        texts = [None if text == NULL else (text or "")[1:] for text in column.texts]
        check_texts(texts, name, source)
        read.append(column_of(column.codes, texts))
    return Table(table.names, tuple(read), tuple(f"{source}: {note}" for note in said["notes"]))


def _readers() -> dict[str, Callable[[int, str], TypedRows]]:
    from incrowd.tables import statistics_files, workbooks
    from incrowd.tables.databases import read_duckdb

    packages = {kind: statistics_files.reader(kind) for kind in statistics_files.KINDS}
    return {
        "xlsx": workbooks.read_xlsx,
        "ods": workbooks.read_ods,
        "duckdb": read_duckdb,
        **packages,
    }


def _serve(descriptor: int, kind: str, wanted: str) -> None:
    """The child's whole life: read, describe, send."""
    limit(os.fstat(descriptor).st_size)
    end_with_parent()
    try:
        found = _readers()[kind](descriptor, wanted)
        names, lines, rows = list(found.names), io.StringIO(), 0
        writer = csv.writer(lines, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for row in found.rows:
            texts = [_text(value, name) for value, name in zip(row, names, strict=True)]
            writer.writerow([NULL if text is None else f"={text}" for text in texts])
            rows += 1
    except TableError as refusal:
        sys.stdout.write(json.dumps({"error": refusal.args[0]}) + "\n")
        return
    sys.stdout.write(json.dumps({"names": names, "rows": rows, "notes": list(found.notes)}) + "\n")
    sys.stdout.flush()
    sys.stdout.buffer.write(lines.getvalue().encode("utf-8", "replace"))


def _text(value: Any, name: str) -> str | None:
    try:
        return cell_text(value)
    except TypeError:
        pass
    raise TableError(
        f"has values in column {name!r} that are no plain text, number or date (durations, lists, bytes or "
        "moments with a time zone); convert them, or leave the column out"
    )


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2], sys.argv[3])
