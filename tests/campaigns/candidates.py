"""k-join-anonymity: every candidate for the private table of random towns, re-run.

Nobody is certainly private, no crowd is below k, and everybody of a class is private with the share that its
rows state. Exact; each case is one town with one method, base and bound on presence.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from campaigns.campaign import Campaign, Fault
from support.towns import drawn_town, faults_in

from incrowd.algorithms.kja import BASES, Direct, KJoinAnonymization, Refinement

PRESENCE = ("1", "1", "0.8", "0.6")


def drawn_way(rng: random.Random, k: int) -> KJoinAnonymization:
    if rng.random() < 0.4:
        return Direct(k, base=rng.choice(BASES))
    presence = rng.choice(PRESENCE)
    bases = BASES if presence == "1" else ("mondrian", "mondrian-relaxed")
    return Refinement(k, base=rng.choice(bases), presence=presence)


def case(rng: random.Random, _: Path) -> str:
    town = drawn_town(np.random.default_rng(rng.getrandbits(64)))
    way = drawn_way(rng, town.k)
    found = faults_in(town, way)
    releases = found.pop("releases")
    found.pop("sizes")
    for kind, times in found.items():
        raise Fault(kind, f"{way}: {times} of {releases} releases")
    return "releases of all candidates" if releases else "refused for all candidates"


CANDIDATES = Campaign(
    "candidates for a private table",
    "0 certain, 0 crowds below k, 0 uneven",
    case,
    nightly=1_000,
    in_ci=3,
    fresh=True,
)
