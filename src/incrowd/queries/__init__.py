"""Queries to a release, answered from its published files alone."""

from incrowd.queries.answer import Answer
from incrowd.queries.queryable import Queryable

__all__ = ["Answer", "Queryable"]
