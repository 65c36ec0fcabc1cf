"""l for several sensitive columns at once: the plan against its slow twin, releases, refusals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.night import NIGHT
from twins import transparent as naive_transparent

from incrowd.algorithms.transparent.plan_several import plan_several
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Table
from incrowd.policy import Policy


@settings(max_examples=400 if NIGHT else 60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8, unique=True),
    st.data(),
    st.integers(2, 3),
    st.integers(2, 6),
)
def test_the_plan_agrees_with_naive(
    kinds: list[tuple[int, int]],
    data: st.DataObject,
    l: int,  # noqa: E741
    k: int,
) -> None:
    counts = data.draw(st.lists(st.integers(1, 6), min_size=len(kinds), max_size=len(kinds)))
    found = [[dict(colour) for colour in bucket.colours] for bucket in plan_several(kinds, counts, l, k)]
    assert found == naive_transparent.plan_several(kinds, counts, l, k)


@settings(max_examples=200 if NIGHT else 40, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=6, max_size=40),
    st.integers(2, 3),
    st.integers(2, 6),
)
def test_every_bucket_has_equal_colours_and_each_value_one_of_them(
    people: list[tuple[int, int, int]],
    l: int,  # noqa: E741
    k: int,
) -> None:
    """And what stays together keeps l, if all did."""
    often = Counter(people)
    kinds = list(often)
    whole = all(max(Counter(p[c] for p in people).values()) * l <= len(people) for c in range(3))
    dealt: Counter[int] = Counter()
    for bucket in plan_several(kinds, [often[kind] for kind in kinds], l, k):
        for colour in bucket.colours:
            dealt.update(dict(colour))
        values = [[{kinds[i][c] for i in colour} for colour in bucket.colours] for c in range(3)]
        if len(bucket.colours) > 1:
            assert len(bucket.colours) == l
            assert len({sum(colour.values()) for colour in bucket.colours}) == 1
            assert bucket.size >= k
            assert all(sum(map(len, own)) == len(set().union(*own)) for own in values)
        elif whole:
            (colour,) = bucket.colours
            for c in range(3):
                counts = Counter[int]()
                for kind, count in colour.items():
                    counts[kinds[kind][c]] += count
                assert max(counts.values()) * l <= bucket.size
    assert dealt == Counter({i: often[kind] for i, kind in enumerate(kinds)})


def sick(rows: int = 240, **more: Any) -> tuple[Table, Policy]:
    rng = np.random.default_rng(5)
    columns = {
        "age": [str(20 + int(a)) for a in rng.integers(0, 60, rows)],
        "sex": ["FM"[int(s)] for s in rng.integers(0, 2, rows)],
        "ill": ["abcdef"[int(v)] for v in rng.integers(0, 6, rows)],
        "pay": ["uvwxyz"[int(v)] for v in rng.integers(0, 6, rows)],
    }
    policy = Policy(quasi_identifiers=["age", "sex"], sensitive=["ill", "pay"], **more)
    return Table.of(columns), policy


@pytest.mark.parametrize("method", ["transparent", "ring"])
@pytest.mark.parametrize(("k", "l"), [(4, 2), (6, 3)])
def test_a_release_keeps_l_in_both_columns(tmp_path: Path, method: str, k: int, l: int) -> None:  # noqa: E741
    table, policy = sick(privacy={"k": k, "l": l}, method=method, options={"stratum": 60})
    release = publish(table, policy, tmp_path / "out")
    claims = [(claim["model"], claim.get("column")) for claim in release.manifest["claims"]]
    assert claims[1:] == [("transparent-l-diversity", "ill"), ("transparent-l-diversity", "pay")]
    rows = list(zip(*(release.table.column(name).rows() for name in release.table.names), strict=True))
    shown = {row[:2] for row in rows}
    assert len(shown) > 4
    for equal in shown:
        own = [row for row in rows if row[:2] == equal]
        assert len(own) >= (k if method == "transparent" else l)
        for c in (2, 3):
            assert naive_transparent.keeps_frequency([row[c] for row in own], l)
    assert verify(tmp_path / "out", table, policy).passed


def test_what_cannot_be_kept_is_refused() -> None:
    table, policy = sick(privacy={"k": 4, "l": 7}, method="transparent")
    with pytest.raises(Infeasible, match="by frequency, l=7"):
        publish(table, policy)
    table, policy = sick(privacy={"k": 4, "l": 2}, method="ring", options={"groups": "anatomy"})
    with pytest.raises(PolicyError, match="one sensitive column"):
        publish(table, policy)
