"""Which tables are Spark's: DataFrames, and what its catalog lists. Asked without loading Spark."""

from __future__ import annotations

from incrowd.schema import Source

CATALOG = "spark:"  # the path of a table or query of the session's catalog


def is_spark(source: object) -> bool:
    """Is it a DataFrame of Spark, or a table of its catalog?"""
    return is_frame(source) or is_listed(source)


def is_frame(source: object) -> bool:
    """Is it a DataFrame of Spark?"""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "sparkSession")


def is_listed(source: object) -> bool:
    """Is it a table, view or query of Spark's catalog?"""
    given = Source.of(source)
    return given is not None and str(given.path) == CATALOG
