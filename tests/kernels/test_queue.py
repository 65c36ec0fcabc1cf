"""The queue of points by their keys, against heapq."""

from __future__ import annotations

import heapq

from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.kernels import queue


@settings(max_examples=200)
@given(st.integers(0, 12), st.data())
def test_points_come_in_the_order_of_a_heap(count: int, data: st.DataObject) -> None:
    """All wait under 0 at first; whoever comes out may go in again, under an equal or a larger key."""
    found, expected = queue.queue_of(count), [(0.0, i) for i in range(count)]
    while expected:
        first = queue.pop(found)
        assert first == heapq.heappop(expected)
        again = data.draw(st.sampled_from([None, 0.0, 0.25, 0.5, 1.0]))
        if again is not None and data.draw(st.booleans()):
            queue.push(first[0] + again, first[1], found)
            heapq.heappush(expected, (first[0] + again, first[1]))
        assert found.size[0] == len(expected)
