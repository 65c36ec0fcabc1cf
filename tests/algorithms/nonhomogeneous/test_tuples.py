"""l for (k,k), global (1,k) and kfactor: neighbourhoods over tuples, against a slow twin, and releases."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.night import NIGHT
from support.tables_of_codes import CodeTable
from twins import candidates as naive_candidates

from incrowd.algorithms.base import method
from incrowd.algorithms.nonhomogeneous.tuples import bucket_neighbourhoods
from incrowd.algorithms.transparent.method import SplitBucket
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Exposure, PolicyError
from incrowd.flow import Microdata, Neighbourhoods, Table
from incrowd.long_work import silent, unwatched
from incrowd.policy import Policy
from incrowd.publishing.draft import draft

METHODS = ["kk", "global-1k", "kfactor"]
NAMES = st.sampled_from(METHODS)


@settings(max_examples=200 if NIGHT else 40, deadline=None)
@given(
    st.integers(2, 3), st.integers(1, 3), st.integers(0, 3), st.integers(0, 9**6), st.sampled_from(METHODS)
)
def test_neighbourhoods_over_tuples_agree_with_naive(l: int, w: int, more: int, seed: int, name: str) -> None:  # noqa: E741
    """A bucket of tuples, and one that stays as it is."""
    rng = np.random.default_rng(seed)
    tuples, k = w + more, l * w
    n = l * tuples + k + 1
    points = [tuple(point) for point in rng.integers(0, 7, (n, 2)).tolist()]
    data = CodeTable(points, [("range", list(range(7)))] * 2).data
    order = rng.permutation(n)
    people, rest = np.sort(order[: l * tuples]), np.sort(order[l * tuples :])
    labels = rng.permutation(np.repeat(np.arange(tuples), l)).astype(np.int32)
    colours = np.empty(labels.size, np.int32)
    for label in range(tuples):
        colours[labels == label] = rng.permutation(l)
    buckets = [
        SplitBucket(people, labels, colours),
        SplitBucket(rest, np.zeros(rest.size, np.int32), None),
    ]
    seen: list[Neighbourhoods] = []

    def around(middle: Microdata) -> Neighbourhoods:
        seen.append(method(name)(k=w).group(middle, (), silent))  # type: ignore[arg-type]
        assert middle.codes.tolist() == naive_candidates.middles([own.tolist() for own in together], points)
        return seen[-1]

    together = [people[labels == label] for label in range(tuples)]
    found = bucket_neighbourhoods(data, buckets, l, k, around)
    (near,) = seen
    assert found.regular
    assert found.alike is not None
    groups = [set(own.tolist()) for own in together]
    for place, own in enumerate(groups):
        there = set().union(*(groups[t] for t in near.members[near.starts[place] : near.starts[place + 1]]))
        for person in own:
            assert set(found.members.reshape(n, k)[person].tolist()) == there
            assert found.alike[person] == (tuples == w)
    assert found.alike[rest].all()
    assert {*found.members.reshape(n, k)[rest].ravel().tolist()} == {*rest.tolist()}


def sick(rows: int = 90, **more: Any) -> tuple[Table, Policy]:
    rng = np.random.default_rng(3)
    columns = {
        "age": [str(20 + int(a)) for a in rng.integers(0, 60, rows)],
        "sex": ["FM"[int(s)] for s in rng.integers(0, 2, rows)],
        "ill": ["abcdef"[int(v)] for v in rng.integers(0, 6, rows)],
    }
    return Table.of(columns), Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], **more)


@pytest.mark.parametrize("name", METHODS)
def test_everybodys_rows_have_l_values(tmp_path: Path, name: str) -> None:
    table, policy = sick(privacy={"k": 5, "l": 3}, method=name)
    release = publish(table, policy, tmp_path / "out")
    claims = {claim["model"]: claim["parameters"] for claim in release.manifest["claims"]}
    assert claims == {"k-factor": {"k": 6}, "transparent-l-diversity": {"l": 3}}
    assert verify(tmp_path / "out", table, policy).passed
    made = draft(table, policy, unwatched)
    around, ill = made.randomized.neighbourhoods, made.data.sensitive[0].codes
    assert around is not None
    rows = made.regions.of[made.assignment.region].tolist()
    beliefs = naive_candidates.beliefs(around.tolist(), rows, ill[made.assignment.private].tolist())
    assert max(max(own.values()) for own in beliefs) * 3 <= 1
    assert min(Counter(map(len, beliefs))) >= 3


@pytest.mark.parametrize("name", ["kk", "global-1k"])
def test_printed_rows_keep_no_l(name: str) -> None:
    table, policy = sick(privacy={"k": 4, "l": 2}, method=name)
    for options in ({"mend": False}, {"drawn": False}):
        with pytest.raises((PolicyError, Exposure)):
            publish(table, policy, options=options)
        with pytest.raises(PolicyError):
            publish(table, policy, options=options, accept=["all"])


@pytest.mark.parametrize("name", ["k1-nearest", "k1-expansion", "one-k"])
def test_one_sided_methods_keep_no_l(name: str) -> None:
    table, policy = sick(privacy={"k": 4, "l": 2}, method=name)
    with pytest.raises(PolicyError, match="l is about classes"):
        publish(table, policy, accept=["all"])
