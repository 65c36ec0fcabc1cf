"""A pytest hook that fails a property most of whose examples were discarded, beyond what chance explains.

An example that `assume`, `reject` or a filter throws away proves nothing. Hypothesis itself complains only
where nine in ten are thrown away.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import is_hypothesis_test
from hypothesis.statistics import collector

MOST_DISCARDED = 0.5


def discarded(statistics: dict[str, Any]) -> tuple[int, int]:
    """How many generated examples were thrown away, and of how many.

    An overrun is an attempt that hypothesis itself broke off, no example.
    """
    cases = statistics.get("generate-phase", {}).get("test-cases", ())
    statuses = [case["status"] for case in cases if case["status"] != "overrun"]
    return statuses.count("invalid"), len(statuses)


@pytest.hookimpl(wrapper=True, trylast=True)  # inside the hook of hypothesis, which sets a collector too
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    if not is_hypothesis_test(getattr(item, "obj", None)):
        return (yield)
    counts: list[tuple[int, int]] = []
    theirs: Any = collector.value

    def note(statistics: Any) -> None:
        counts.append(discarded(statistics))
        if theirs is not None:
            theirs(statistics)

    with collector.with_value(note):  # type: ignore[arg-type]
        outcome = yield
    for lost, tried in counts:
        chance = math.sqrt(tried)  # two standard deviations of a half: few examples by day are no proof
        if lost > MOST_DISCARDED * tried + chance:
            pytest.fail(
                f"vacuous: {lost} of {tried} examples were discarded; draw what the property is about "
                "instead of assuming it",
                pytrace=False,
            )
    return outcome
