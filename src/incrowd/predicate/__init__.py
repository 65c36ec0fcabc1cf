"""Predicates in SQL: one form of a condition, parsed once, evaluated on codes and on the number line.

A predicate is a conjunction of conditions, each a comparison of a column with literals. Literals stay texts
until the kind of their column reads them. Two evaluations share nothing but that reading: `ValueDomain`
compares value by value (the truth about an original, the cuts of Mondrian), `intervals` computes in half
units (the answers of a release). So the first can find the second wrong.
"""

from incrowd.predicate.condition import (
    Condition,
    Intervals,
    Name,
    Operator,
    Predicate,
    ValueDomain,
    canonical,
    check_measured,
    decimals,
    in_units,
    intervals,
)

__all__ = [
    "Condition",
    "Intervals",
    "Name",
    "Operator",
    "Predicate",
    "ValueDomain",
    "canonical",
    "check_measured",
    "decimals",
    "in_units",
    "intervals",
    "parse_predicate",
]


def parse_predicate(sql: str) -> Predicate:
    """Read a condition as it stands after WHERE. An error says what is not supported, and quotes nothing.

    Examples
    --------
    >>> [(c.column.text, c.operator) for c in parse_predicate("age > 3 AND sex = 'F'").conditions]
    [('age', '>'), ('sex', '=')]
    """
    from incrowd.predicate.sql import parse_where  # the parser of SQL is heavy, and few need it

    return parse_where(sql)
