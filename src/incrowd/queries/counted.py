"""A question to a release that does not fit into memory: DuckDB counts the cells that are asked about."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from incrowd.engines.base import TooMany
from incrowd.engines.counted import CountedFiles, counted_tables
from incrowd.engines.resources import Resources
from incrowd.engines.table_files import TableFiles
from incrowd.errors import InputError, option
from incrowd.policy import Policy
from incrowd.predicate.sql import Question, parse
from incrowd.queries.answer import Answer
from incrowd.queries.published import published_rows
from incrowd.queries.queryable import PLACE, Queryable
from incrowd.release.data_files import rows_path
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Role, Schema


def ask_counted(
    release: object, sql: str, policy: Policy | None, continuous: bool, resources: Resources
) -> Answer:
    """Answer one query from the distinct combinations of the cells that it asks about."""
    folder, question = ReleaseFolder.open(release), parse(sql)
    schema = _asked(folder, question)
    columns = [
        column.name for column in schema.columns if column.role is not Role.SENSITIVE or not folder.bucketed
    ]
    columns += [f"{column.name}_mean" for column in schema.columns if column.mean]
    columns += ["group"] if folder.bucketed else []
    path = rows_path(folder.path)
    files = CountedFiles(TableFiles.of(path), columns, path.name, path.suffix == ".csv")
    with (
        TemporaryDirectory(prefix="incrowd-") as work,
        counted_tables([files], Path(work), resources) as (rows,),
    ):
        found = rows.combined(columns, resources.most_tuples)
    if isinstance(found, TooMany):
        raise InputError(
            f"the columns that are asked about have more than {resources.most_tuples:,} different "
            f"combinations of cells; ask about fewer columns, or raise {option('memory')}"
        )
    table, counts = found
    opened = Queryable(published_rows(folder, table, schema, policy, counts))
    return (opened.continuous() if continuous else opened).ask(sql)


def _asked(folder: ReleaseFolder, question: Question) -> Schema:
    """The columns of a release that decide on an answer, at least one quasi-identifier.

    Where bounds follow from whole classes, by their means or since one row of each is of the private table,
    these are all quasi-identifiers.
    """
    schema = folder.published_schema
    names = tuple(column.name for column in schema.columns)
    said = [one for one in (question.column, question.group) if one is not None]
    asked = {*(name.among(names, PLACE) for name in said), *question.where.by_column(names, PLACE)}
    quasi = [column.name for column in schema.having(Role.QUASI)]
    whole = folder.joined or any(column.mean for column in schema.columns)
    asked |= set(quasi if whole else [] if asked & set(quasi) else quasi[:1])
    asked |= {column.name for column in schema.having(Role.SENSITIVE)} if folder.bucketed else set()
    return Schema(tuple(column for column in schema.columns if column.name in asked), schema.missing)
