"""Claims of non-homogeneous generalization: who is consistent with which row, and how likely each match is.

(1,k)-, (k,1)-, (k,k)-anonymity and their global forms count neighbours or matches in the consistency graph.
A k-factor gives every row k records that it holds, so that no record serves more than k rows. Then an
assignment can be drawn at random in which nobody is behind any row with a probability above 1/k: the factor
falls apart into k assignments, of which one is drawn. With as many rows as records every record serves
exactly k rows; a record that may have been left out may serve fewer.

That something was drawn cannot be seen in one release. What can be seen is whether such a draw is possible.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from incrowd.schema import Claim, Role
from incrowd.verifier.claims.consistency_graph import ConsistencyGraph, DegreeCounts
from incrowd.verifier.claims.subject import ClaimSubject, Histogram, sums_of
from incrowd.verifier.columns import Ints, folded, within
from incrowd.verifier.failure import require, whole

K_FACTOR = "k-factor"
SAFE_IN_INT64 = 2**62
MOST_FLOW = 2**31 - 1  # scipy counts in 32 bits
_SHARE = re.compile(r"1|[1-9][0-9]{0,17}/[1-9][0-9]{0,17}")


def one_k(claim: Claim, subject: ClaimSubject) -> int:
    """Every record fits at least k rows."""
    return _records_reach(subject.graph.degrees, _rows_wanted(claim, subject), "fit")


def k_one(claim: Claim, subject: ClaimSubject) -> int:
    """Every row fits at least k records."""
    return _rows_reach(subject.graph.degrees, _rows_wanted(claim, subject), "fit")


def k_k(claim: Claim, subject: ClaimSubject) -> int:
    """Both (1,k)- and (k,1)-anonymity."""
    return min(one_k(claim, subject), k_one(claim, subject))


def global_one_k(claim: Claim, subject: ClaimSubject) -> int:
    """Every record has at least k rows that it may be behind while all others find rows, too."""
    return _records_reach(subject.graph.matches, _rows_wanted(claim, subject), "match")


def global_k_one(claim: Claim, subject: ClaimSubject) -> int:
    """Every row has at least k records that may be behind it while all others find rows, too."""
    return _rows_reach(subject.graph.matches, _rows_wanted(claim, subject), "match")


def k_factor(claim: Claim, subject: ClaimSubject) -> int:
    """An assignment can be drawn in which no match has a probability above 1/k."""
    k = _rows_wanted(claim, subject)
    _require_factor(subject.graph, k)
    return k


def candidate_diversity(claim: Claim, subject: ClaimSubject) -> int:
    """No value is behind more than 1/l of the k rows that may be anybody's."""
    found = candidate_values(claim, subject, *subject.classes.values(claim))
    most = np.zeros(len(found), found.count.dtype)
    np.maximum.at(most, found.group, found.count)
    reached = int((found.rows // most).min())
    few = f"more than one in {reached + 1} of the rows that may be one person's has the same value"
    require(reached >= whole(claim, "l"), few)
    return reached


def candidate_values(claim: Claim, subject: ClaimSubject, values: Ints, size: int) -> Histogram:
    """Values of the k rows that each record may be behind; a group for each record, counted in votes.

    Nobody can tell equal rows of a component apart, so that each of them votes for all their values evenly.
    Every row may be that of k records: together all groups have the values of the whole table, each k times.
    """
    several = subject.classes.schema.having(Role.ENTITY)
    require(not several, f"{claim.model} counts rows, but here one person may have several rows")
    rows, component = subject.graph.candidates()
    of = folded([subject.classes.row_class, component])
    shown = Histogram.of(of, values, size)
    pair, often = np.unique(np.arange(len(rows))[:, None] * len(shown) + of[rows], return_counts=True)
    record, group = pair // len(shown), pair % len(shown)
    unit = math.lcm(*np.unique(shown.rows).tolist())
    kind = np.int64 if unit * rows.size < SAFE_IN_INT64 else object
    first = np.searchsorted(shown.group, np.arange(len(shown) + 1))
    many = np.diff(first)[group]
    line = within(first[group], many)  # of what is shown, the values of each pair's class
    votes = (often.astype(kind) * (unit // shown.rows[group].astype(kind))).repeat(many) * shown.count[line]
    key, place = np.unique(record.repeat(many) * size + shown.value[line], return_inverse=True)
    return Histogram(key // size, key % size, sums_of(place, votes, key.size), size)


def _require_factor(graph: ConsistencyGraph, k: int) -> None:
    if graph.witnessed(k):
        return
    _rows_reach(graph.degrees, k, "fit")
    if not graph.left_out:
        _records_reach(graph.degrees, k, "fit")
    otherwise = f"the rows cannot be given {k} records each without some record serving more than {k}"
    require(reaches(graph, Fraction(1, k)), otherwise)


def _rows_wanted(claim: Claim, subject: ClaimSubject) -> int:
    require(not claim.column, f"{claim.model} is about all rows, not about one column")
    several = subject.classes.schema.having(Role.ENTITY)
    require(not several, f"{claim.model} counts rows, but here one person may have several rows")
    return whole(claim, "k")


def _records_reach(found: DegreeCounts, k: int, verb: str) -> int:
    few = int(found.record_weight[found.records < k].sum())
    require(not few, f"{few} records {verb} fewer than {k} rows")
    return int(found.records.min())


def _rows_reach(found: DegreeCounts, k: int, verb: str) -> int:
    few = int(found.row_weight[found.rows < k].sum())
    require(not few, f"{few} rows {verb} fewer than {k} records")
    return int(found.rows.min())


def reaches(graph: ConsistencyGraph, level: Fraction) -> bool:
    """Can an assignment be drawn in which no match is likelier than `level`?"""
    return _largest_flow(graph, level.denominator, level.numerator) == level.denominator * graph.rows


def _largest_flow(graph: ConsistencyGraph, k: int, most: int) -> int:
    """Of k units from each record and to each row, how many pass, at most `most` between any two?"""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    require(
        k * (graph.rows + graph.left_out) <= MOST_FLOW,
        "the table is too large to search without the neighbourhoods as a witness",
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


def check_match_probability(stated: Any, claims: Sequence[Claim], graph: ConsistencyGraph) -> None:
    """The check `odds`: what the manifest states of match probabilities can be, and agrees with the claims.

    A randomized assignment with matches no likelier than `drawn` must exist. Where a k-factor is claimed that
    is all, and all that may be stated. Else `least` is stated, too: an assignment for it must exist. That
    none lies below `least` is confirmed only as far as the fewest neighbours of a record or row tell.
    """
    factors = [claim.parameters.get("k") for claim in claims if claim.model == K_FACTOR]
    names = ("drawn",) if factors else ("drawn", "least")
    known = isinstance(stated, dict) and set(stated) == set(names)
    require(known, f"the manifest does not state exactly these match probabilities: {', '.join(names)}")
    exact = all(isinstance(text, str) and _SHARE.fullmatch(text) for text in stated.values())
    require(exact, "a stated match probability is not a fraction")
    drawn = Fraction(stated["drawn"])
    require(drawn.numerator == 1, "the stated match probability is not one in a whole number of rows")
    for promised in factors:
        if isinstance(promised, int) and promised > 0:
            require(drawn <= Fraction(1, promised), "the stated match probability is above 1/k")
    if drawn < 1 and not graph.witnessed(drawn.denominator):
        require(reaches(graph, drawn), "no randomized assignment has the stated match probability")
    if not factors:
        _check_least(Fraction(stated["least"]), drawn, graph)


def _check_least(least: Fraction, drawn: Fraction, graph: ConsistencyGraph) -> None:
    require(least <= drawn, "the stated match probability is less than the stated least one")
    if least < drawn:
        require(reaches(graph, least), "no randomized assignment has the stated least match probability")
    fewest = int(graph.degrees.rows.min())
    if not graph.left_out:
        fewest = min(fewest, int(graph.degrees.records.min()))
    require(least >= Fraction(1, fewest), "the stated least match probability is lower than is possible")
