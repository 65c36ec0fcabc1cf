"""Signs of sums of fractions against Fraction, also where no machine number holds the denominator."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.algorithms.costs import ExactLine, spans_of
from incrowd.errors import PolicyError
from incrowd.flow import Attribute
from incrowd.kernels import exact
from incrowd.schema import Kind, Shape

PRIMES = (99_991, 99_989, 99_971, 99_961, 99_929, 99_923, 99_907, 99_901)


def sign_of(widths: list[list[int]], times: list[int], spans: exact.Spans) -> int:
    rows = len(widths)
    spans.widths[:rows], spans.times[:rows] = widths, times
    return int(exact.sign(rows, spans))


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from(((17, 19, 74), PRIMES, (9, 10**15 + 37, 2**60 + 1))))
def test_signs_are_those_of_fractions(data: st.DataObject, spans: tuple[int, ...]) -> None:
    """Also next to 0: the last row undoes the others, but for less than any float could tell."""
    drawn = [[data.draw(st.integers(-s, s)) for s in spans] for _ in range(2)]
    times = [data.draw(st.integers(-1000, 1000)) for _ in range(2)]
    nudge = [data.draw(st.integers(-1, 1)) for _ in spans]
    rows = [*drawn, *drawn, nudge]
    weights = [*times, *(-time for time in times), data.draw(st.sampled_from((0, 1)))]
    settled = spans_of(spans, 10**12)
    assert settled.slack > 0
    for count in (1, 2, 5):
        whole = sum(
            time * Fraction(width, span)
            for row, time in zip(rows[:count], weights, strict=False)
            for width, span in zip(row, spans, strict=True)
        )
        assert sign_of(rows[:count], weights[:count], settled) == (whole > 0) - (whole < 0)
    near = [
        [abs(width) for width in drawn[0]],
        [max(abs(a) + b, 0) for a, b in zip(drawn[0], nudge, strict=True)],
    ]
    for pair in (near, [near[0], near[0]], [list(map(abs, row)) for row in drawn]):
        settled.widths[:2] = pair
        sums = [sum(map(Fraction, row, spans)) for row in pair]
        assert exact.compare_rows(settled) == (sums[0] > sums[1]) - (sums[0] < sums[1])


def test_the_least_difference_of_eight_prime_spans_is_told() -> None:
    """One over a number of 133 bits, which no float tells from 0."""
    common = lcm(*PRIMES)
    widths = [pow(common // span, -1, span) for span in PRIMES]  # so the sum is 1/common, but for whole ones
    whole = sum(Fraction(width, span) for width, span in zip(widths, PRIMES, strict=True))
    ones = int(whole)
    assert whole - ones == Fraction(1, common)
    spans = spans_of(PRIMES, 100)
    back = [[PRIMES[0] * ones, *[0] * 7], widths]
    assert sign_of(back, [-1, 1], spans) == 1
    assert sign_of(back, [1, -1], spans) == -1


def test_small_denominators_make_floats_exact() -> None:
    spans = spans_of((73, 4, 6, 13, 15), 120_000)
    assert spans.slack == 0
    assert (spans.share * spans.span == lcm(73, 4, 6, 13, 15)).all()


def line(texts: list[str], missing: bool = False) -> ExactLine:
    position = np.array([float(text or texts[1]) for text in texts])
    return ExactLine.of(
        Attribute("a", Kind.NUMERIC, Shape.RANGE, tuple(texts), position, missing=0 if missing else -1)
    )


def test_places_are_exact() -> None:
    tenths = line(["0.1", "0.2", "0.3", "0.7"])
    assert (tenths.places.tolist(), tenths.span, tenths.unit) == ([0, 1, 2, 6], 6, 10)
    gapped = line(["", "10", "20", "40"], missing=True)  # the mean gap is 10
    assert (gapped.places.tolist(), gapped.span, gapped.unit * 10) == ([0, 10, 20, 40], 30, 10)
    assert line(["5"]).places.tolist() == [0]
    long = line(["0.30000000000000004", "1"])
    assert Fraction(long.span, long.unit) == 1 - Fraction("0.30000000000000004")


def test_numbers_of_too_many_digits_are_refused() -> None:
    with pytest.raises(PolicyError, match="a have too many digits"):
        line(["0.0000000000000000000001", "1"])
