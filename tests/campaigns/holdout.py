"""Hold-out: tables that nobody has seen, all worlds of each, and what a manifest promises of them.

The seed is drawn anew for every night and printed. An adversary who re-runs the program on every world (a way
to hand out the sensitive values) must believe no more than the claims say. Where all draws can be enumerated
that is compared exactly. Where not (who is behind which of rows that overlap), runs are counted, and a case
fails above what chance allows, corrected for all comparisons of a whole night.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from campaigns.campaign import Campaign, Fault
from support.promised import (
    GUARDS,
    MINIMALITY,
    agrees,
    claims_of,
    requests_alone,
    requests_guarded,
    sampled_break,
    with_plain,
)
from support.towns import drawn_values, posterior
from support.transparent_deals import Classes, Tuples
from support.transparent_deals import posterior as after_deals
from support.transparent_worlds import drawn_table
from support.worlds import SENSITIVE, beliefs

from incrowd.algorithms.base import all_methods
from incrowd.algorithms.kja import BASES, Refinement
from incrowd.errors import IncrowdError
from incrowd.models import DistinctDiversity, EntropyDiversity, FrequencyDiversity
from incrowd.policy import Policy

NIGHTLY = 500
FALSE_ALARM = 1e-6  # of a whole night, if the program is sound
RUNS = 300
COLUMNS: tuple[Mapping[str, Any], ...] = (
    {"type": "numeric"},
    {"type": "numeric"},
    {"type": "categorical"},
    {"hierarchy": {"prefix": [1]}},
)
People = dict[str, list[str]]


def drawn_people(rng: random.Random, size: int) -> tuple[People, dict[str, Any]]:
    """People in one or two columns of any kind, and how these are described. Few values: some are alike."""
    described = {f"q{j}": dict(rng.choice(COLUMNS)) for j in range(rng.choice([1, 1, 2]))}
    few = rng.choice([3, 6, 12])
    people = {name: [f"{10 + 3 * rng.randrange(few)}" for _ in range(size)] for name in described}
    return people, described


def policy_of(
    described: Mapping[str, Any], method: str, options: Mapping[str, Any], **privacy: Any
) -> Policy:
    return Policy.from_dict(
        {
            "quasi_identifiers": dict(described),
            "sensitive": [SENSITIVE],
            "method": method,
            "options": dict(options),
            "privacy": privacy,
        }
    )


def rows_of_any_method(rng: random.Random) -> str:
    """With k alone: nobody's row is picked with more than the promise allows."""
    method, options = rng.choice(requests_alone())
    size, k = rng.choice([(4, 2), (5, 2), (5, 2), (6, 3)])
    people, described = drawn_people(rng, size)
    policy = policy_of(described, method, options, k=k)
    values = {4: "0123", 5: "01234", 6: "000123"}[size]
    try:
        claims = claims_of(people, values, policy)
    except IncrowdError:
        return "refused"
    if all_methods()[method].overlapping:
        broken = sampled_break(people, policy, Fraction(1, k), RUNS, FALSE_ALARM / NIGHTLY)
        if broken:
            raise Fault("above the promise", f"{method} {dict(options)}: {broken}")
        return "rows, counted"
    return _compared(f"{method} {dict(options)}", people, values, policy, claims)


def values_of_any_method(rng: random.Random) -> str:
    """With a guard: claims hold in all worlds, but for those that say of themselves that they do not."""
    method, guard = rng.choice(requests_guarded())
    people, described = drawn_people(rng, 4)
    values = rng.choice(["0012", "0011", "0129", "0123"])
    policy = policy_of(described, method, {}, k=2, **with_plain(method, GUARDS[guard]))
    try:
        claims = claims_of(people, values, policy)
    except IncrowdError:
        return "refused"
    held = [claim for claim in claims if MINIMALITY not in claim.assumptions]
    if not held:
        return "values, not claimed against who re-runs the program"
    return _compared(f"{method} {guard}", people, values, policy, held)


def _compared(what: str, people: People, values: str, policy: Policy, claims: Any) -> str:
    for belief in beliefs(people, values, policy):
        for claim in claims:
            if not agrees(claim, belief.row, belief.likeliest, belief.fewest):
                believed = f"row {belief.row}, value {belief.likeliest}, {belief.fewest} values"
                raise Fault("above the promise", f"{what}: {claim.model}: {believed}; {people} {values}")
    return "all worlds, exact"


def values_that_are_dealt(rng: random.Random) -> str:
    """`transparent` and `ring` with l: every world and every deal of five to eight people."""
    table = drawn_table(np.random.default_rng(rng.getrandbits(64)), rng.randint(5, 8), 1_000)
    made = rng.choice([Classes, Tuples])
    found = after_deals(made(table))
    if found.largest * table.l > 1 or found.uneven:
        raise Fault("above the promise", f"{made.__name__} {found} for l={table.l}: {table}")
    return "all worlds and draws of l, exact"


def values_beside_a_public_table(rng: random.Random) -> str:
    """`kja-refine` with l: every private table and every way to hand out its values."""
    town, held = drawn_values(np.random.default_rng(rng.getrandbits(64)))
    model = rng.choice([FrequencyDiversity(2, "d"), DistinctDiversity(2, "d"), EntropyDiversity("2", "d")])
    way = Refinement(2, base=rng.choice(BASES))
    worst = posterior(town, way, [model], held)
    if worst > Fraction(1, 2):
        raise Fault("above the promise", f"{way}, {model}: {worst}")
    return "all private tables with values, exact"


KINDS: list[Callable[[random.Random], str]] = [
    *[rows_of_any_method] * 10,
    *[values_of_any_method] * 4,
    *[values_that_are_dealt] * 4,
    *[values_beside_a_public_table] * 2,
]


def case(rng: random.Random, _: Path) -> str:
    return rng.choice(KINDS)(rng)


HOLDOUT = Campaign("hold-out", "0 beliefs above the promise", case, nightly=NIGHTLY, in_ci=3, fresh=True)
