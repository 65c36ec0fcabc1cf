"""Statements in DuckDB's SQL, as engines and the verifier write them, in the words of Spark.

Three things have no words in Spark and are taken out of a statement. Parquet files in the place of a table
become a view. ``row_number() OVER ()``, the place of a row in its file, becomes a column of a view that has
it. And a statement that makes a table becomes a query whose rows the session keeps under a name.

Whatever a statement does not say has DuckDB's meaning: numbers of rows have 64 bits, as counts have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from incrowd.errors import TableError

if TYPE_CHECKING:
    from sqlglot import exp

PLACE = "place_in_file"  # a column of views that know it
DIALECT = "spark"


class Views(Protocol):
    """What a session calls its relations."""

    def of_files(self, patterns: Sequence[str]) -> str:
        """A view of the rows of Parquet files."""
        ...

    def with_places(self, view: str) -> str:
        """A view of the same rows that has `PLACE`, too."""
        ...


@dataclass(frozen=True, slots=True)
class SparkStatement:
    """Make a table ``name`` of a query or of ``columns``, drop it, describe a query, or run it."""

    kind: str  # "make", "empty", "drop", "describe" or "query"
    query: str = ""
    name: str = ""
    columns: tuple[tuple[str, str], ...] = ()


def translated(sql: str, views: Views) -> SparkStatement:
    """A statement of ours for Spark.

    Examples
    --------
    >>> made = translated("CREATE OR REPLACE TEMP TABLE t AS SELECT a::BIGINT << 3 AS b FROM s", None)
    >>> made.kind, made.name, made.columns
    ('make', 't', ())
    >>> made.query
    'SELECT SHIFTLEFT(CAST(a AS BIGINT), 3) AS b FROM s'
    >>> translated("DROP TABLE t", None).kind
    'drop'
    """
    import sqlglot
    from sqlglot import exp

    tree = sqlglot.parse_one(sql, read="duckdb")
    if isinstance(tree, exp.Drop):
        return SparkStatement("drop", name=next(tree.find_all(exp.Table)).name)
    if isinstance(tree, exp.Create) and isinstance(tree.this, exp.Schema):
        columns = [(each.name, each.args["kind"].sql("duckdb")) for each in tree.this.expressions]
        return SparkStatement("empty", name=tree.this.this.name, columns=tuple(columns))
    if isinstance(tree, exp.Create):
        return SparkStatement("make", _query(tree.expression, views), tree.this.name)
    if isinstance(tree, exp.Describe):
        return SparkStatement("describe", _query(tree.this, views))
    if isinstance(tree, exp.Query):
        return SparkStatement("query", _query(tree, views))
    raise TableError("Spark is asked for what it cannot do")


def _query(tree: Any, views: Views) -> str:
    from sqlglot import exp

    for call in list(tree.find_all(exp.ReadParquet)):
        table = call.parent
        name = exp.to_identifier(views.of_files(_patterns(call)))
        if isinstance(table, exp.Table):
            table.set("this", name)
    for window in list(tree.find_all(exp.Window)):
        if isinstance(window.this, exp.RowNumber) and not window.args.get("order"):
            _number(window, views)
        else:  # numbers have 32 bits there, and shifting them would lose some
            window.replace(exp.cast(window.copy(), "BIGINT"))
    for unknown in list(tree.find_all(exp.Anonymous)):
        if unknown.name.lower() == "hash":  # that of Spark has 32 bits
            unknown.set("this", "xxhash64")
    return str(tree.sql(DIALECT))


def _patterns(call: exp.ReadParquet) -> list[str]:
    """The paths that a call of read_parquet names first."""
    from sqlglot import exp

    first = call.expressions[0]
    listed = first.expressions if isinstance(first, exp.Array) else [first]
    return [each.name for each in listed]


def _number(window: exp.Window, views: Views) -> None:
    """Put the place of the row in the place of its number, all the way up from the files that have it."""
    from sqlglot import exp

    select = window.find_ancestor(exp.Select)
    inner: Any = select
    while inner is not None:
        source = inner.args["from_"].this
        if isinstance(source, exp.Table):
            known = source.name
            alias = source.args.get("alias") or exp.TableAlias(this=exp.to_identifier(known))
            source.set("this", exp.to_identifier(views.with_places(known)))
            source.set("alias", alias)
            break
        inner = source.this if isinstance(source, exp.Subquery) else None
        if not isinstance(inner, exp.Select):
            raise TableError("Spark does not know the places of these rows")
        inner.select(exp.column(PLACE), copy=False)
    window.replace(exp.paren(exp.column(PLACE) + 1))
