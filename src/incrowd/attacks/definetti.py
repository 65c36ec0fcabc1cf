"""The deFinetti attack: learning from all groups together who has which value inside each.

Where exact rows are published in groups, and beside them only which sensitive values each group has, one
group alone leaves everything open. All groups together do not: values that keep company with some rows
rather than others show it. A naive Bayes model is fitted by turns: how likely each value is for each row,
given how the columns go with the values; and how the columns go with the values, given how likely they are.

References
----------
Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult, Rate
from incrowd.attacks.target import Floats, Ints

ROUNDS = 50
BALANCES = 4  # how often rows and values are evened out within a round; the next round goes on from there
SETTLED = 1e-4  # a round that changes no likelihood by more, at the mean, is the last
MOST_CHOICES = 10_000_000  # pairs of a row and a value of its group that are held at once
LEAST = 1e-300  # a likelihood that is kept from vanishing


@dataclass(frozen=True, eq=False)
class Guessed:
    """What was guessed for each row, how often it is right, and how often the group's commonest value is."""

    rate: Rate
    blind: Rate
    guesses: Ints
    rounds: int


@dataclass(frozen=True, eq=False)
class ValueGroups:
    """Exact rows (n, d) of codes below `sizes`, the group of each, and the values of one sensitive column.

    ``value`` (n,) holds the values of each group in any order; ``truth`` (n,) is that of each row, -1 where
    it is not known; `value` if None.
    """

    column: str
    codes: NDArray[np.integer]
    sizes: Sequence[int]
    group: NDArray[np.integer]
    value: NDArray[np.integer]
    truth: NDArray[np.integer] | None = None


@dataclass(frozen=True, eq=False)
class _Choices:
    """Each row with each value of its group: row, value, and a place in the list of (group, value) pairs.

    ``count`` is how often the group has the value. Choices of a row stand together, from ``start[row]`` on.
    """

    row: Ints
    value: Ints
    pair: Ints
    count: Floats
    start: Ints


def definetti(
    codes: NDArray[np.integer],
    sizes: Sequence[int],
    group: NDArray[np.integer],
    value: NDArray[np.integer],
    truth: NDArray[np.integer] | None = None,
) -> Guessed:
    """Guess the value of each row, knowing only which values its group has; arguments as in `ValueGroups`.

    Only which values a whole group has is looked at; which of its rows they stand at does not matter. Guesses
    are compared with the `truth`.

    Examples
    --------
    >>> value = np.array([0, 1, 0, 2, 1, 2] * 20)
    >>> sex_and_job = np.stack([value % 2, value], axis=1)
    >>> definetti(sex_and_job, [2, 3], np.arange(120) // 2, value).rate
    Rate(won=120, tried=120)
    """
    truth = value if truth is None else truth
    group = np.unique(group, return_inverse=True)[1].reshape(-1)
    known, value = np.unique(value, return_inverse=True)
    choices = _choices(group.astype(np.int64), value.reshape(-1).astype(np.int64), known.size)
    likely = choices.count / np.bincount(group)[group[choices.row]]
    rounds, moved = 0, 1.0
    while rounds < ROUNDS and moved >= SETTLED:
        before, rounds = likely, rounds + 1
        likely = _balanced(_fitting(codes, sizes, choices, before, known.size), choices)
        moved = float(np.abs(likely - before).mean())
    guesses = known[_likeliest(likely, choices)]
    blind = known[_likeliest(choices.count, choices)]
    return Guessed(_right(guesses, truth), _right(blind, truth), guesses, rounds)


def _right(guesses: Ints, truth: NDArray[np.integer]) -> Rate:
    known = truth >= 0
    return Rate(int((guesses == truth)[known].sum()), int(known.sum()))


def choices_of(group: NDArray[np.integer], value: NDArray[np.integer]) -> int:
    """How many pairs of a row and a value of its group there are: what an attack takes in memory."""
    group = np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)
    pairs = np.unique(group * (int(value.max(initial=0)) + 1) + value)
    distinct = np.bincount(pairs // (int(value.max(initial=0)) + 1), minlength=1)
    return int((np.bincount(group, minlength=1) * distinct).sum())


def _choices(group: Ints, value: Ints, size: int) -> _Choices:
    pairs, count = np.unique(group * size + value, return_counts=True)
    first = np.searchsorted(pairs // max(size, 1), np.arange(int(group.max(initial=-1)) + 2))
    many = np.diff(first)[group]
    row = np.repeat(np.arange(group.size), many)
    start = np.cumsum(many) - many
    pair = first[group[row]] + np.arange(row.size) - start[row]
    return _Choices(row, pairs[pair] % max(size, 1), pair, count[pair].astype(np.float64), start)


def _fitting(
    codes: NDArray[np.integer], sizes: Sequence[int], choices: _Choices, likely: Floats, values: int
) -> Floats:
    """How well each value fits each row: the product of P(column | value), every count being one larger.

    The largest of a row is 1. How common a value is need not enter: groups say how often they have it.
    """
    weight = np.bincount(choices.value, likely, values)
    score = np.zeros(likely.size)
    for j, size in enumerate(sizes):
        key = codes[choices.row, j].astype(np.int64) * values + choices.value
        if size * values > 4 * key.size:  # most combinations do not occur: number those that do
            key = np.unique(key, return_inverse=True)[1].reshape(-1)
        seen = np.bincount(key, likely)
        score += np.log((seen[key] + 1.0) / (weight[choices.value] + size))
    best = np.maximum.reduceat(score, choices.start)
    fit: Floats = np.maximum(np.exp(score - best[choices.row]), LEAST)
    return fit


def _balanced(fit: Floats, choices: _Choices) -> Floats:
    """Scaled so that a row's add up to 1, and a value's to how often the group has it (Sinkhorn)."""
    rows, pairs = choices.start.size, int(choices.pair.max(initial=-1)) + 1
    for _ in range(BALANCES):
        fit = fit * (choices.count / np.bincount(choices.pair, fit, pairs)[choices.pair])
        fit = fit / np.bincount(choices.row, fit, rows)[choices.row]
    return fit


def _likeliest(likely: Floats, choices: _Choices) -> Ints:
    """For each row which of the values has the largest likelihood, the first of equal ones."""
    best = np.maximum.reduceat(likely, choices.start)
    where = np.where(likely >= best[choices.row], np.arange(likely.size), likely.size)
    return choices.value[np.minimum.reduceat(where, choices.start)]


@attack("definetti", 230, ("value_groups",), each_column=True)
def learned(groups: ValueGroups) -> AttackResult:
    """The attack with its control: the same rows, groups as large, and one column more that shows the value.

    Blind is whoever says the commonest value of the group. Nothing is promised about this adversary.
    """
    codes, sizes, group, value = groups.codes, groups.sizes, groups.group, groups.value
    name, knows = f"definetti-{groups.column}", "every row's group, and which values each group has"
    needed = choices_of(group, value)
    if needed > MOST_CHOICES or not len(codes):
        why = {"skipped": f"{needed:,} pairs of a row and a value of its group" if needed else "no rows"}
        return AttackResult(name, "deFinetti", knows, Rate(0, 0), Rate(0, 0), None, None, why)
    found = definetti(codes, sizes, group, value, groups.truth)
    values = np.unique(value, return_inverse=True)[1].reshape(-1, 1)
    showing = np.concatenate([np.asarray(codes), values], axis=1)
    control = definetti(showing, [*sizes, int(values.max()) + 1], group, value)
    details = {"groups": int(np.unique(group).size), "rounds": found.rounds}
    return AttackResult(name, "deFinetti", knows, found.rate, found.blind, control.rate, None, details)
