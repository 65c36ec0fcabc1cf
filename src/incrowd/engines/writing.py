"""The rows of a release, written by DuckDB: Parquet as plain texts, CSV in the one form of releases.

Whatever engine has shuffled the rows, their files are written here: the same rows have the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incrowd.engines.base import ClassCells
from incrowd.engines.class_texts import ShownClasses, csv_cell, load_words
from incrowd.engines.session import DuckSession, parquet_sql, quoted, quoted_text, remove
from incrowd.errors import TableError
from incrowd.flow import Table, TextColumn
from incrowd.schema import CLASSES, RECORDS
from incrowd.tables.checked_files import sha256_of
from incrowd.tables.csv_writer import write_csv

ROWS_A_GROUP = 122_880
ROWS_A_PART = 1_000_000  # at least, of a release in several files
PARTS = "data"  # the folder of these files
WORK = "work"  # the private folder of an engine, in the stage
LINES_AS_THEY_ARE = "(FORMAT csv, HEADER true, QUOTE '', ESCAPE '', DELIMITER e'\\x01', USE_TMP_FILE false)"
AS_TEXTS = f"(FORMAT parquet, ROW_GROUP_SIZE {ROWS_A_GROUP}, USE_TMP_FILE false)"
MOST_CHANGED = 5_000_000  # distinct private texts that need quotes or protection in CSV
_MAY_CHANGE = r"""[=+\-@\t\r",\n]"""


@dataclass(frozen=True, slots=True)
class ShuffledRows:
    """The rows of a release in their final order: class g, and the private columns p0, p1, …"""

    session: DuckSession
    folder: Path
    private: tuple[str, ...]

    @property
    def path(self) -> Path:
        """One file or, of an engine that writes several, a folder of them."""
        return self.folder / "shuffled.parquet"

    @property
    def files(self) -> list[Path]:
        """In the order of the rows."""
        return sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]

    @property
    def sql(self) -> str:
        return self.of(self.files)

    def of(self, files: Sequence[Path]) -> str:
        """The rows of some of the files."""
        listed = ", ".join(quoted_text(str(path)) for path in files)
        return f"read_parquet([{listed}], hive_partitioning = false)"

    def close_up(self, least: int) -> None:
        """Make fewer files of many, of so many rows at least, in the same order and in blocks of DuckDB.

        What a file of the release looks like, byte for byte, depends on the blocks that its rows come in.
        """
        groups = self._groups(least)
        loose = self.path.with_name("loose")
        self.path.rename(loose)
        self.path.mkdir(mode=0o700)
        for place, group in enumerate(groups):
            files = [loose / path.name for path in group]
            self.session.save(f"SELECT * FROM {self.of(files)}", self.path / f"{place:06}.parquet")
        remove(loose)

    def _groups(self, least: int) -> list[list[Path]]:
        """The files one after the other, in groups of so many rows at least."""
        found: list[list[Path]] = []
        size = least
        for path in self.files:
            if size >= least:
                found.append([])
                size = 0
            found[-1].append(path)
            size += self.session.number(f"SELECT count(*) FROM {parquet_sql(path)}")
        if len(found) > 1 and size < least:
            last = found.pop()
            found[-1] += last
        return found


def write_rows(
    rows: ShuffledRows, classes: ClassCells, columns: Sequence[str], target: Path, form: str
) -> list[Path]:
    """Shuffled rows with the texts of their classes, as one file of the release, or as a folder of parts."""
    path = target / f"data.{form}"
    if form == "csv":
        _write_csv(rows, classes, columns, path)
        return [path]
    if not rows.path.is_dir():
        _write_parquet(rows, classes, columns, {path: rows.sql})
        return [path]
    (target / PARTS).mkdir()
    rows.close_up(max(ROWS_A_PART, 2 * len(classes)))
    # Where the classes are fewer than the rows, DuckDB looks up classes for rows, which keeps their order.
    parts = [rows.of([path]) for path in rows.files]
    named = {target / PARTS / f"part-{place:05}.parquet": part for place, part in enumerate(parts)}
    _write_parquet(rows, classes, columns, named)
    return [*named]


def _write_parquet(
    rows: ShuffledRows, classes: ClassCells, columns: Sequence[str], parts: Mapping[Path, str]
) -> None:
    shown = ShownClasses.load(rows.session, classes)
    texts = dict(zip(classes.names, shown.cells, strict=True))
    texts |= {name: f"r.p{place}" for place, name in enumerate(rows.private)}
    cells = ", ".join(f"{texts[name]} AS {quoted(name)}" for name in columns)
    for path, part in parts.items():
        rows.session.run(
            f"COPY (SELECT {cells} FROM {part} r JOIN {shown.table} USING (g){shown.joins}) "
            f"TO {quoted_text(str(path))} {AS_TEXTS}"
        )
    shown.drop()


def written_again(session: DuckSession, path: Path, folder: Path) -> bool:
    """Is a Parquet file, byte for byte, what is written for the rows that it is read as?

    So it carries no metadata, row groups, dictionary entries or encodings of another's choice.
    """
    again = folder / "again.parquet"
    session.run(
        f"COPY (SELECT * FROM read_parquet({quoted_text(str(path))}, hive_partitioning = false)) "
        f"TO {quoted_text(str(again))} {AS_TEXTS}"
    )
    try:
        return sha256_of(path) == sha256_of(again)
    finally:
        again.unlink()


def _write_csv(rows: ShuffledRows, classes: ClassCells, columns: Sequence[str], path: Path) -> None:
    """Every line is put together here, since DuckDB quotes by rules of its own."""
    session = rows.session
    empty = '""' if len(columns) == 1 else ""
    shown = ShownClasses.load(session, classes, csv=True, empty=empty)
    joins = "".join(_changed(rows, place) for place in range(len(rows.private)))
    cells = []
    for name in columns:
        if name in classes.names:
            cells.append(shown.cells[classes.names.index(name)])
        else:
            place = rows.private.index(name)
            cells.append(f"coalesce(changed{place}.cell, nullif(r.p{place}, ''), {quoted_text(empty)})")
    line = " || ',' || ".join(cells)
    joined = f"{rows.sql} r JOIN {shown.table} USING (g){shown.joins}{joins}"
    session.run(
        f"COPY (SELECT {line} AS {quoted(_header(columns, rows.folder))} FROM {joined}) "
        f"TO {quoted_text(str(path))} {LINES_AS_THEY_ARE}"
    )
    shown.drop()


def write_witness(
    session: DuckSession,
    classes: ClassCells,
    decoded: str,
    target: Path,
    more: Sequence[str] = (),
    order: Sequence[str] = (),
) -> None:
    """Records with their classes, and the cells of these: two files, as private as the table.

    `decoded` gives the codes q0, q1, … of each record and its class g, and what `more` is said of it.
    """
    shown = ShownClasses.load(session, classes)
    session.run(
        f"COPY (SELECT g AS class, {_named(shown)} FROM {shown.table}{shown.joins}) "
        f"TO {quoted_text(str(target / CLASSES))} (FORMAT parquet)"
    )
    shown.drop()
    joins = ""
    for j, values in enumerate(classes.values):
        load_words(session, f"values{j}_", values)
        joins += f" JOIN values{j}_ ON values{j}_.x = q{j}"
    cells = ", ".join(f"values{j}_.t AS v{j}" for j in range(len(classes.values)))
    path = quoted_text(str(target / RECORDS))
    also, by = "".join(f", {name}" for name in more), f" ORDER BY {', '.join(order)}" if order else ""
    session.run(
        f"COPY (SELECT {cells}, g AS class{also} FROM {decoded}{joins}{by}) TO {path} (FORMAT parquet)"
    )
    for j in range(len(classes.values)):
        session.run(f"DROP TABLE values{j}_")


def write_classes(session: DuckSession, classes: ClassCells, labelled: str, label: str, target: Path) -> None:
    """The cells of the class that each label has, by a relation of label and g: a file as private as that."""
    shown = ShownClasses.load(session, classes)
    session.run(
        f"COPY (SELECT m.{label} AS class, {_named(shown)} "
        f"FROM {labelled} m JOIN {shown.table} USING (g){shown.joins}) "
        f"TO {quoted_text(str(target / CLASSES))} (FORMAT parquet)"
    )
    shown.drop()


def _named(shown: ShownClasses) -> str:
    return ", ".join(f"{cell} AS c{j}" for j, cell in enumerate(shown.cells))


def _changed(rows: ShuffledRows, place: int) -> str:
    """A table of the private texts that CSV writes otherwise, and how it is joined."""
    found = rows.session.arrays(
        f"SELECT DISTINCT p{place} AS t FROM {rows.sql} "
        f"WHERE regexp_matches(p{place}, {quoted_text(_MAY_CHANGE)}) LIMIT {MOST_CHANGED + 1}"
    )["t"]
    if found.size > MOST_CHANGED:
        raise TableError(
            f"{rows.private[place]}: more than {MOST_CHANGED:,} different values need quotes or protection "
            "in CSV; publish as Parquet"
        )
    cells = np.empty(found.size, object)
    cells[:] = [csv_cell(text, "") for text in found.tolist()]
    table = f"changed{place}"
    rows.session.load(
        table, {"text": found.astype(object), "cell": cells}, {"text": "VARCHAR", "cell": "VARCHAR"}
    )
    return f" LEFT JOIN {table} ON {table}.text = r.p{place}"


def _header(columns: Sequence[str], folder: Path) -> str:
    """The first line of the file, as every release has it."""
    empty, path = TextColumn(np.zeros(0, np.int32), ()), folder / "header.csv"
    write_csv(Table(tuple(columns), (empty,) * len(columns)), path)
    line = path.read_text(encoding="utf-8").removesuffix("\n")
    path.unlink()
    return line
