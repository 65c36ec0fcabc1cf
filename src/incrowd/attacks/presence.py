"""Membership disclosure: who of a public table is in the private one, by the release alone.

References
----------
Nergiz, Atzori, Clifton, "Hiding the presence of individuals from shared databases", SIGMOD 2007. Sacharidis,
Mouratidis, Papadias, "k-Anonymity in the Presence of External Databases", TKDE 2010, section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from incrowd.attacks.joined import Flags, Floats, JoinTarget
from incrowd.attacks.rate import Rate
from incrowd.attacks.registry import attack
from incrowd.attacks.result import AttackResult
from incrowd.attacks.target import Ints

MARGIN = Fraction(1, 50)  # how much more often than at random claims of presence may be right
FINEST = 10**6


@dataclass(frozen=True, slots=True, eq=False)
class PresenceClaims:
    """Who is claimed to be in the private table (n,), and how often that would be right at random."""

    who: Flags
    base: Fraction

    @property
    def bound(self) -> Fraction:
        return self.base + MARGIN

    def right(self, own: Flags) -> Rate:
        return Rate(int((self.who & own).sum()), int(self.who.sum()))


@attack("presence", 110, ("joined",))
def presence(scene: JoinTarget) -> AttackResult:
    """The likelier half of those whom the release holds."""
    claims, own = likelier_half(scene), scene.own
    covered = scene.covered
    outsiders = int((~own).sum())
    absent = int((~own & ~covered).sum())
    details: dict[str, int | float | str] = {
        "claims": int(claims.who.sum()),
        "certainly_absent": absent,
        "certainly_absent_share": absent / outsiders if outsiders else 0.0,
        "base_rate": float(base_rate(scene)),
    }
    shares = published_shares(scene)
    if shares is not None and shares.size:
        details["largest_share_said"] = float(shares.max())
    return AttackResult(
        "presence",
        "table linkage",
        "the public table, about how many people the private one has, and that each class has one of them",
        claims.right(own),
        Rate(int((own & covered).sum()), int(covered.sum())),
        PresenceClaims(scene.raw.covered, Fraction(0)).right(own),
        claims.bound,
        details,
    )


def base_rate(scene: JoinTarget) -> Fraction:
    """The share of people of the private table among those whom some row holds."""
    covered = int(scene.covered.sum())
    return Fraction(int((scene.own & scene.covered).sum()), covered) if covered else Fraction(0)


def published_shares(scene: JoinTarget) -> Floats | None:
    """For each bucket the share of its rows that are of the private table, where counts are published."""
    if scene.group is None or scene.people is None:
        return None
    return scene.people / np.maximum(np.bincount(scene.group, minlength=scene.people.size), 1)


def likelier_half(scene: JoinTarget) -> PresenceClaims:
    """Half of the covered people, those who are likelier than others to be there; more where equally likely.

    Of a class it is known that somebody of the private table is in it: if each is with chance s, it is
    s / (1 - (1 - s)^m) of m rows, most in small ones. The counts of buckets give s for each; else s
    is the same for all.
    """
    share = _share_of_class(scene)
    fits = np.minimum(1.0, scene.rows / np.maximum(scene.held, 1))  # who is held may be behind no row
    somebody = 1 - (1 - np.minimum(share, 1.0)) ** scene.rows
    likely = fits * share / np.maximum(somebody, np.finfo(float).tiny)
    chance = _best(scene, np.round(likely, 12))  # equal fractions may be floats that differ in a last digit
    covered = np.flatnonzero(scene.covered)
    who = np.zeros(chance.size, np.bool_)
    if not covered.size:
        return PresenceClaims(who, Fraction(0))
    least = np.sort(chance[covered])[covered.size // 2]
    who[covered] = chance[covered] >= least
    if scene.people is None:
        return PresenceClaims(who, base_rate(scene))
    at_random = float(_best(scene, fits * share)[who].mean())
    return PresenceClaims(who, Fraction(at_random).limit_denominator(FINEST))


def _share_of_class(scene: JoinTarget) -> Floats:
    """The share of people of the private table in each class, as far as it is published."""
    shares = published_shares(scene)
    if shares is None or scene.group is None:
        return np.full(scene.rows.size, float(base_rate(scene)))
    of_rows = np.bincount(scene.target.graph.row_of, shares[scene.group], scene.rows.size)
    share: Floats = of_rows / scene.rows
    return share


def _best(scene: JoinTarget, chance: Floats) -> Floats:
    """The largest number of a class that holds each person, 0 where none does (n,)."""
    kinds, classes = scene.inside
    best = np.zeros(scene.target.graph.record_weight.size)
    np.maximum.at(best, kinds, chance[classes])
    return best[scene.kind]


def members_of(scene: JoinTarget, kinds: Ints) -> Flags:
    """Everybody of these kinds (n,)."""
    met = np.zeros(scene.target.graph.record_weight.size, np.bool_)
    met[kinds] = True
    return met[scene.kind]
