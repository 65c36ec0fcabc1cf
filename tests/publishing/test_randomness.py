"""Whose row is where: drawn uniformly, from the operating system, anew each time."""

from __future__ import annotations

import inspect
import itertools
import os
import struct
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import chi2
from support.method_names import ACCEPTED, BESIDE_K, IN_ROWS
from typer.main import get_command

import incrowd
from incrowd import assign
from incrowd.cli.app import app
from incrowd.contracts import catalogue, option_names
from incrowd.flow import Table
from incrowd.policy import Policy

DRAWS = 24_000
ALPHA = 1e-6
PREDICTABLE = {"seed", "random_state", "rng", "entropy", "generator"}


def keys(*numbers: int) -> bytes:
    return struct.pack(f"={len(numbers)}Q", *numbers)


def script(*answers: bytes) -> tuple[assign.Entropy, list[int]]:
    """A source that gives these answers in turn, and a list of how many bytes it was asked for."""
    asked: list[int] = []
    left: Iterator[bytes] = iter(answers)

    def entropy(size: int) -> bytes:
        asked.append(size)
        return next(left)

    return entropy, asked


def far_from_uniform(counts: Counter[tuple[int, ...]]) -> bool:
    expected = DRAWS / 24
    statistic = sum((counts[order] - expected) ** 2 / expected for order in itertools.permutations(range(4)))
    return bool(chi2.sf(statistic, 23) < ALPHA)


def test_all_orders_are_equally_likely() -> None:
    counts = Counter(tuple(assign.shuffled(4).tolist()) for _ in range(DRAWS))
    assert sum(counts.values()) == DRAWS
    assert not far_from_uniform(counts)


def test_a_biased_shuffle_would_be_noticed(rng: np.random.Generator) -> None:
    """The well-known wrong shuffle, which swaps each place with any place, is told apart."""
    counts: Counter[tuple[int, ...]] = Counter()
    for swaps in rng.integers(0, 4, (DRAWS, 4)).tolist():
        order = [0, 1, 2, 3]
        for i, j in enumerate(swaps):
            order[i], order[j] = order[j], order[i]
        counts[tuple(order)] += 1
    assert far_from_uniform(counts)


def test_rows_are_ordered_by_all_64_bits_of_their_keys() -> None:
    source, asked = script(keys(2**63, 1, 2**64 - 1, 0))
    assert assign.shuffled(4, source).tolist() == [3, 1, 0, 2]
    assert asked == [32]


@pytest.mark.parametrize(
    "tied",
    [keys(5, 5, 1), keys(1, 5, 5), keys(5, 1, 5), keys(0, 0, 0)],
    ids=["first", "last", "apart", "all"],
)
def test_ties_are_drawn_again(tied: bytes) -> None:
    source, asked = script(tied, tied, keys(3, 1, 2))
    assert assign.shuffled(3, source).tolist() == [1, 2, 0]
    assert asked == [24, 24, 24]  # all keys anew: redrawing only the tied ones would favour some orders


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_an_order_names_every_row_once(n: int) -> None:
    assert sorted(assign.shuffled(n).tolist()) == list(range(n))


def test_whole_classes_put_each_record_behind_its_own_region() -> None:
    drawn = assign.whole_classes(50)
    assert (drawn.region == drawn.private).all()


def people(n: int = 60) -> Table:
    return Table.of({"age": [str(20 + i % 30) for i in range(n)], "note": [f"n{i}" for i in range(n)]})


def policy_of(method: str) -> Policy:
    """Everybody has a note of their own, by which rows are told apart."""
    privacy = {"k": 3, **BESIDE_K[method]}
    accept = [*ACCEPTED[method], "near-unique-sensitive"]
    return Policy(quasi_identifiers=["age"], sensitive=["note"], privacy=privacy, accept=accept)


@pytest.mark.parametrize("method", IN_ROWS)
def test_every_release_draws_from_the_operating_system(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(size: int, real: assign.Entropy = os.urandom) -> bytes:
        asked.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", counted)
    policy = policy_of(method)
    orders = [incrowd.publish(people(), policy, method=method).table.column("note").rows() for _ in range(2)]
    assert len([size for size in asked if size == 8 * 60]) >= 2
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(people().column("note").rows())  # type: ignore[type-var]


@pytest.mark.parametrize("method", IN_ROWS)
def test_what_the_system_gives_decides_the_order(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that only fall reverse the rows, and the judge refuses what is plainly no chance."""
    n = 120  # from 100 rows on the judge looks at more than neighbours
    falling = np.arange(n, 0, -1, dtype=np.uint64).tobytes()
    monkeypatch.setattr(os, "urandom", lambda size: (falling * (size // len(falling) + 1))[:size])
    policy = policy_of(method)
    with pytest.raises(incrowd.NotVerified, match="order"):
        incrowd.publish(people(n), policy, method=method)


def test_no_seed_can_be_given() -> None:
    from incrowd.commands.publish import publish
    from incrowd.publishing.pipeline import Release, publish_to

    functions = (publish, publish_to, Release.write, Policy.with_)
    offered = {name for function in functions for name in inspect.signature(function).parameters}
    offered |= set(Policy.model_fields)
    offered |= {name for part in catalogue("algorithm").values() for name in option_names(part)}
    for command in get_command(app).commands.values():  # type: ignore[attr-defined]
        offered |= {parameter.name for parameter in command.params}
    assert {"k", "method", "source", "replace"} <= offered  # the look around does see something
    assert not offered & PREDICTABLE


def test_the_state_of_an_ordinary_generator_does_not_matter() -> None:
    policy = policy_of("mondrian")
    before = np.random.get_state()
    orders = []
    try:
        for _ in range(2):
            np.random.seed(7)
            orders.append(incrowd.publish(people(), policy).table.column("note").rows())
    finally:
        np.random.set_state(before)
    assert orders[0] != orders[1]
