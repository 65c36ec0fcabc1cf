"""Predicates in SQL: one form of a condition, parsed once, evaluated on codes and on the number line.

A predicate is a conjunction of comparisons of columns with literals, which stay texts until the kind of their
column reads them. Two evaluations share nothing but that reading: `Domain` compares value by value (the truth
about an original, the cuts of Mondrian), `intervals` computes in half units (answers of a release). So the
first can find the second wrong.
"""

from incrowd.predicate.comparison import Comparison, Name, Operator, Predicate
from incrowd.predicate.domain import Domain, check_measured
from incrowd.predicate.line import Intervals, canonical, decimals, in_units, intervals

__all__ = [
    "Comparison",
    "Domain",
    "Intervals",
    "Name",
    "Operator",
    "Predicate",
    "canonical",
    "check_measured",
    "decimals",
    "in_units",
    "intervals",
    "parse_condition",
]


def parse_condition(sql: str) -> Predicate:
    """Read a condition as it stands after WHERE.

    Raises
    ------
    InputError
        If it is no condition, or one that is not supported: the message says what, and quotes nothing.

    Examples
    --------
    >>> [(c.column.text, c.operator) for c in parse_condition("age > 3 AND sex = 'F'").comparisons]
    [('age', '>'), ('sex', '=')]
    """
    from incrowd.predicate.sql import condition  # the parser of SQL is heavy, and few need it

    return condition(sql)
