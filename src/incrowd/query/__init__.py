"""Questions to a release, answered from its published files alone."""

from incrowd.query.answer import Answer
from incrowd.query.queryable import Queryable

__all__ = ["Answer", "Queryable"]
