"""One round of deFinetti's attack: how columns go with values, and how well values fit rows.

See `attacks.definetti`.

Kinds of rows of a group stand together, and so do the values of a group: group g has the kinds from
``kinds[g]`` and the values from ``pairs[g]`` on, up to the next group's. A choice is a kind with a value of
its group; those of kind i stand from ``start[i]`` on, in the order of the values.
"""

from __future__ import annotations

import numpy as np

from incrowd.kernels.arrays import Codes, Floats, Ints
from incrowd.kernels.jit import kernel

LEAST = 1e-300  # a likelihood that is kept from vanishing


@kernel
def count_choices(
    kinds: Ints, pairs: Ints, start: Ints, value: Codes, codes: Codes, rows: Floats, place: Ints,
    number: Codes, likely: Floats, weight: Floats, table: Floats,
) -> None:  # fmt: skip
    """Likelihoods (c,) -> expected rows of each value (v,), and with each code of each column (t,).

    Column j of a kind with `codes` (m, d) has the place ``place[j] + code * v + value`` in the table; of
    further columns `number` (c, s) says the places.
    """
    values, dense, sparse = weight.size, place.size, number.shape[1]
    for g in range(kinds.size - 1):
        for i in range(kinds[g], kinds[g + 1]):
            c = start[i]
            for p in range(pairs[g], pairs[g + 1]):
                often = likely[c] * rows[i]
                weight[value[p]] += often
                for j in range(dense):
                    table[place[j] + np.int64(codes[i, j]) * values + value[p]] += often
                for j in range(sparse):
                    table[number[c, j]] += often
                c += 1


@kernel
def fit_choices(
    kinds: Ints, pairs: Ints, start: Ints, value: Codes, count: Floats, codes: Codes, rows: Floats,
    place: Ints, number: Codes, table: Floats, against: Floats, balances: int, likely: Floats,
) -> float:  # fmt: skip
    """Logarithms of what was counted (t,), less `against` (v,) -> new likelihoods (c,), how far they moved.

    The product over the columns, then scaled in turns so that a row's add up to 1 and a value's to how often
    its group has it, ``count`` (p,): Sinkhorn. Moved is the sum over the choices of all rows.
    """
    values, dense, sparse = against.size, place.size, number.shape[1]
    most = 0
    for g in range(kinds.size - 1):
        most = max(most, (kinds[g + 1] - kinds[g]) * (pairs[g + 1] - pairs[g]))
    fit, scale, moved = np.empty(most), np.empty(values), 0.0
    for g in range(kinds.size - 1):
        first, many = pairs[g], pairs[g + 1] - pairs[g]
        for i in range(kinds[g], kinds[g + 1]):
            at, best = (i - kinds[g]) * many, -np.inf
            for p in range(many):
                score = -against[value[first + p]]
                for j in range(dense):
                    score += table[place[j] + np.int64(codes[i, j]) * values + value[first + p]]
                for j in range(sparse):
                    score += table[number[start[i] + p, j]]
                fit[at + p] = score
                best = max(best, score)
            for p in range(many):
                fit[at + p] = max(np.exp(fit[at + p] - best), LEAST)
        for _ in range(balances):
            scale[:many] = 0.0
            for i in range(kinds[g], kinds[g + 1]):
                at = (i - kinds[g]) * many
                for p in range(many):
                    scale[p] += fit[at + p] * rows[i]
            for p in range(many):
                scale[p] = count[first + p] / scale[p]
            for i in range(kinds[g], kinds[g + 1]):
                at, total = (i - kinds[g]) * many, 0.0
                for p in range(many):
                    fit[at + p] *= scale[p]
                    total += fit[at + p]
                for p in range(many):
                    fit[at + p] /= total
        for i in range(kinds[g], kinds[g + 1]):
            at = (i - kinds[g]) * many
            for p in range(many):
                moved += rows[i] * abs(fit[at + p] - likely[start[i] + p])
                likely[start[i] + p] = fit[at + p]
    return moved


@kernel
def likeliest(kinds: Ints, pairs: Ints, start: Ints, value: Codes, likely: Floats, best: Ints) -> None:
    """Likelihoods (c,) -> of each kind of row (m,) the value with the largest, the first of equal ones."""
    for g in range(kinds.size - 1):
        for i in range(kinds[g], kinds[g + 1]):
            top = pairs[g]
            for p in range(pairs[g], pairs[g + 1]):
                if likely[start[i] + p - pairs[g]] > likely[start[i] + top - pairs[g]]:
                    top = p
            best[i] = value[top]
