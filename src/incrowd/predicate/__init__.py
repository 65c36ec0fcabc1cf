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
]
