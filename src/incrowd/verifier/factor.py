"""Can every row be given k records that it holds, so that no record serves more than k rows?

Then an assignment can be drawn in which nobody is behind any row with a probability above 1/k: the choice
falls apart into k assignments, of which one is drawn. With as many rows as records every record serves
exactly k rows; a record that may have been left out may serve fewer.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from incrowd.verifier.consistency import Consistency
from incrowd.verifier.fault import need

MOST_FLOW = 2**31 - 1  # scipy counts in 32 bits


def has_factor(graph: Consistency, k: int) -> bool:
    """By searching; every row must hold at least k records."""
    return reaches(graph, Fraction(1, k))


def reaches(graph: Consistency, level: Fraction) -> bool:
    """Can an assignment be drawn in which no match is likelier than `level`?"""
    return _largest_flow(graph, level.denominator, level.numerator) == level.denominator * graph.rows


def _largest_flow(graph: Consistency, k: int, most: int) -> int:
    """Of k units from each record and to each row, how many pass, at most `most` between any two?"""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    need(
        k * (graph.rows + graph.left_out) <= MOST_FLOW,
        "the table is too large to be searched without a witness",
    )
    record, row = graph.edges()
    records, rows = graph.record_weight, graph.row_weight
    source, sink = records.size + rows.size, records.size + rows.size + 1
    first = records.size
    pairs = np.minimum(most * records[record] * rows[row], k * np.minimum(records[record], rows[row]))
    tail = np.concatenate([np.full(first, source), record, first + np.arange(rows.size)])
    head = np.concatenate([np.arange(first), first + row, np.full(rows.size, sink)])
    room = np.concatenate([k * records, pairs, k * rows]).astype(np.int32)
    network = csr_array((room, (tail.astype(np.int32), head.astype(np.int32))), shape=(sink + 1, sink + 1))
    return int(maximum_flow(network, source, sink).flow_value)
