"""Composition: what two releases of the same people disclose together.

Each release alone leaves everybody k candidates. Private values stand in both as they are, so a candidate row
is ruled out if the other release has no candidate with the same ones; and a row whose private values nobody
else has is the same person's in both, who is then inside both regions.

References
----------
Ganta, Kasiviswanathan, Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incrowd.attacks.candidates import MEMBERS
from incrowd.attacks.linked import Linked, SharedValues, chunks, link
from incrowd.attacks.registry import AttackResult, Details, Rate, attack
from incrowd.attacks.target import Flags, Floats, Ints, Pools, Target, runs

KNOWS = f"{MEMBERS}, and another release of the same people"
MOST_WORK = 40_000_000  # candidates; above it, some persons stand for all
VICTIMS = 2_000


@attack("composition", 310, ("everyone", "second", "shared"))
def compositions(first: Target, second: Target, private: SharedValues) -> tuple[AttackResult, ...]:
    """What two releases disclose together: of rows, and of each private column.

    Both must be of the same records in the same order; their quasi-identifiers may differ.
    """
    met = intersect(first, second, private)
    exact = replace(private, first=private.own, second=private.own)  # everybody published as they are
    control = intersect(first.control, second.control, exact)
    about = [_about(met, control, private, name) for name in private.parts]
    return (_about_rows(met, control), *about)


# ---- what the releases disclose


@dataclass(frozen=True, eq=False)
class LikeliestValue:
    """What some candidates have in one column: the likeliest value, its probability, how many there are."""

    top: Ints
    share: Floats
    different: Ints


@dataclass(frozen=True, eq=False)
class Intersection:
    """Two releases held against each other; entries are of the `victims`, numbers of records.

    ``candidates`` (2, v) are the rows of each release that are left to somebody, 0 if none is. ``likely`` and
    ``alone`` are by column what both, and each one, disclose.
    """

    k: int
    private: SharedValues
    victims: Ints
    candidates: Ints
    likely: Mapping[str, LikeliestValue]
    alone: Mapping[str, tuple[LikeliestValue, LikeliestValue]]
    linked: Linked

    @property
    def able(self) -> Flags:
        """Who has a candidate left. Nobody has none but those who were left out."""
        able: Flags = self.candidates.min(axis=0) > 0
        return able

    @property
    def below(self) -> Flags:
        """Which victims have fewer than k candidates left, or are one of fewer than k who fit two rows."""
        few = self.able & (self.candidates.min(axis=0) < self.k)
        near = self.linked.combination[self.linked.people < self.k]
        below: Flags = few | np.isin(self.private.own[self.victims], near)
        return below


def intersect(first: Target, second: Target, private: SharedValues) -> Intersection:
    """Hold two releases against each other, for everybody; for some, where that is too much."""
    sides = (
        _OneRelease.of(first, private.first),
        _OneRelease.of(second, private.second),
    )
    victims = _victims(sides)
    one, two = (side.counted(victims, private.size) for side in sides)
    pairs, pair = np.unique(np.stack([one.of, two.of], axis=1), axis=0, return_inverse=True)
    pair = pair.reshape(-1)
    both = _in_both(one, two, pairs, private.size)
    left = [np.bincount(both.owner, many, len(pairs)).astype(np.int64)[pair] for many in both.many]
    rest = _outside(sides, one, two, pairs)[both.owner]
    prior = np.bincount(private.first, minlength=private.size) / max(private.first.size, 1)
    weight = expected(*both.many, rest * prior[both.combination])
    likely, alone = {}, {}
    for name, part in private.parts.items():
        likely[name] = _likeliest(both.owner, part[both.combination], weight, len(pairs), pair)
        alone[name] = (_alone(one, part), _alone(two, part))
    k = min([target.k for target in (first, second) if target.k is not None], default=2)
    return Intersection(k, private, victims, np.stack(left), likely, alone, link(first, second, private))


def expected(first: Ints, second: Ints, rest: Floats) -> Floats:
    r"""How many people with one combination are probably in two groups that have it so often.

    A group of a people and one of b have m in common; a share p of everybody has the combination. If x of
    the m have it, c1 - x and c2 - x of the others do. Where groups know nothing of each other, the likeliest
    x is about the one with

    .. math:: x q = (c_1 - x) (c_2 - x), \quad q = p (a - m) (b - m) / m

    so it goes with c1 c2 / p where groups have little in common, and is the smaller count where one is
    inside the other. ``rest`` is q.

    Examples
    --------
    >>> expected(np.array([2, 2, 1]), np.array([3, 3, 1]), np.array([0.0, 2.0, 1e6])).round(6).tolist()
    [2.0, 1.0, 1e-06]
    """
    total, product = first + second + rest, (first * second).astype(np.float64)
    x: Floats = 2 * product / (total + np.sqrt(np.maximum(total * total - 4 * product, 0.0)))
    return x


def _outside(sides: Sequence[_OneRelease], one: _Counted, two: _Counted, pairs: Ints) -> Floats:
    """(a - m) (b - m) / m for each pair of pools: a and b candidates, m people who have both pools."""
    everyone, of = np.unique(np.stack([side.held.of for side in sides], axis=1), axis=0, return_inverse=True)
    people = np.bincount(of.reshape(-1), minlength=len(everyone))
    width = int(everyone[:, 1].max(initial=0)) + 1
    wanted = one.wanted[pairs[:, 0]] * width + two.wanted[pairs[:, 1]]
    common = people[np.searchsorted(everyone[:, 0] * width + everyone[:, 1], wanted)]
    sizes = [np.bincount(c.owner, c.many, c.wanted.size)[pairs[:, s]] for s, c in enumerate((one, two))]
    outside: Floats = np.maximum(sizes[0] - common, 0) * np.maximum(sizes[1] - common, 0) / common
    return outside


def _alone(counted: _Counted, part: Ints) -> LikeliestValue:
    """What one release discloses."""
    value, many = part[counted.combination], counted.many.astype(np.float64)
    return _likeliest(counted.owner, value, many, counted.wanted.size, counted.of)


def _victims(sides: Sequence[_OneRelease]) -> Ints:
    """Everybody, or some by their place in the table."""
    n = sides[0].held.of.size
    work = sum(int(side.work.sum()) for side in sides)
    if work <= MOST_WORK or n <= VICTIMS:
        return np.arange(n)
    return np.arange(VICTIMS) * n // VICTIMS


@dataclass(frozen=True, eq=False)
class _Counted:
    """How many candidates with each combination a pool has: entries by pool, then combination.

    ``wanted`` are the pools, by their old numbers; ``of`` is the new number of each victim's.
    """

    of: Ints
    wanted: Ints
    starts: Ints
    owner: Ints
    combination: Ints
    many: Ints


@dataclass(frozen=True, eq=False)
class _OneRelease:
    """One release: the pools of candidates, and the combinations behind each distinct row."""

    held: Pools
    row_of: Ints
    shown: Ints
    rows: int

    @classmethod
    def of(cls, target: Target, shown: Ints) -> _OneRelease:
        return cls(target.pools, target.graph.row_of.astype(np.int64), shown, target.graph.published)

    @property
    def work(self) -> Ints:
        """How many rows each pool has, equal ones counted again."""
        weight = np.bincount(self.row_of, minlength=self.rows)
        upto = np.concatenate([[0], np.cumsum(weight[self.held.rows])])
        return np.diff(upto[self.held.starts])

    def counted(self, victims: Ints, size: int) -> _Counted:
        """Combinations among the candidates of the victims' pools."""
        wanted, of = np.unique(self.held.of[victims], return_inverse=True)
        pairs, times = np.unique(self.row_of * size + self.shown, return_counts=True)
        begin = np.searchsorted(pairs // size, np.arange(self.rows + 1))
        keys, many = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for first, last in chunks(self.work[wanted]):
            here = wanted[first:last]
            wide = np.diff(self.held.starts)[here]
            rows = self.held.rows[runs(self.held.starts[here], wide)]
            deep = begin[rows + 1] - begin[rows]
            at = runs(begin[rows], deep)
            pool = np.repeat(np.repeat(np.arange(first, last), wide), deep)
            key, place = np.unique(pool * size + pairs[at] % size, return_inverse=True)
            keys.append(key)
            many.append(np.bincount(place.reshape(-1), times[at], key.size).astype(np.int64))
        key = np.concatenate(keys)
        starts = np.searchsorted(key // size, np.arange(wanted.size + 1))
        pool, combination = key // size, key % size
        return _Counted(of.reshape(-1), wanted, starts, pool, combination, np.concatenate(many))


@dataclass(frozen=True, eq=False)
class _Both:
    """Combinations that both pools of a pair have, and how many candidates have them in each."""

    owner: Ints
    combination: Ints
    many: tuple[Ints, Ints]


def _in_both(first: _Counted, second: _Counted, pairs: Ints, size: int) -> _Both:
    """What is in both pools of each pair (m, 2); the smaller pool is looked up in the larger one."""
    sides = (first, second)
    wide = np.stack([np.diff(side.starts)[pairs[:, s]] for s, side in enumerate(sides)])
    owners, combinations = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    many: tuple[list[Ints], list[Ints]] = ([np.zeros(0, np.int64)], [np.zeros(0, np.int64)])
    for s, chosen in enumerate((wide[0] <= wide[1], wide[0] > wide[1])):
        small, large = sides[s], sides[1 - s]
        keys = np.append(large.owner * size + large.combination, -1)
        mine = np.flatnonzero(chosen)
        for start, stop in chunks(wide[s][mine]):
            here = mine[start:stop]
            at = runs(small.starts[pairs[here, s]], wide[s][here])
            owner = np.repeat(here, wide[s][here])
            wanted = pairs[owner, 1 - s] * size + small.combination[at]
            place = np.searchsorted(keys[:-1], wanted)
            hit = keys[place] == wanted
            owners.append(owner[hit])
            combinations.append(small.combination[at[hit]])
            many[s].append(small.many[at[hit]])
            many[1 - s].append(large.many[place[hit]])
    counts = (np.concatenate(many[0]), np.concatenate(many[1]))
    return _Both(np.concatenate(owners), np.concatenate(combinations), counts)


def _likeliest(owner: Ints, value: Ints, weight: Floats, owners: int, of: Ints) -> LikeliestValue:
    """The likeliest value of each owner, the first of equally likely ones; for those that `of` names."""
    size = int(value.max(initial=0)) + 1
    key, place = np.unique(owner * size + value, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weight, key.size)
    whose = key // size
    total = np.bincount(whose, mass, owners)
    share = np.round(mass / np.maximum(total[whose], 1e-300), 12)  # equal fractions, not equal floats
    ranked = np.lexsort((key, -share, whose))
    leads = ranked[np.flatnonzero(np.diff(whose[ranked], prepend=-1))]
    top, best = np.full(owners, -1, dtype=np.int64), np.zeros(owners)
    top[whose[leads]], best[whose[leads]] = key[leads] % size, share[leads]
    return LikeliestValue(top[of], best[of], np.bincount(whose, minlength=owners)[of])


# ---- how success is counted


def _about_rows(met: Intersection, control: Intersection) -> AttackResult:
    """Who has fewer than k candidates left. By each release alone, nobody should."""
    linked, own = met.linked, met.private.own
    one = linked.person >= 0
    right = int((own[linked.person[one]] == linked.combination[one]).sum())
    details: Details = {
        "k": met.k,
        "persons_with_one_candidate": int((met.candidates.min(axis=0) == 1).sum()),
        "fewest_candidates": int(met.candidates.min(axis=0)[met.able].min(initial=len(own))),
        "rows_linked": linked.people.size,
        "rows_linked_that_fewer_than_k_fit": int((linked.people < met.k).sum()),
        "the_same_by_one_release": int((linked.alone.min(axis=0) < met.k).sum()),
        "rows_linked_to_one_person": int(one.sum()),
        "of_them_right": right,
    }
    blind = Rate(0, met.victims.size)  # without the releases everybody fits everything
    return AttackResult(
        "composition", "intersection", KNOWS, _below(met), blind, _below(control), None, details
    )


def _about(met: Intersection, control: Intersection, private: SharedValues, name: str) -> AttackResult:
    """The value of one column that is likeliest if groups of one release know nothing of the other's."""
    likely, alone = met.likely[name], met.alone[name]
    own = private.parts[name][private.own]
    common = int(np.bincount(private.parts[name][private.first]).argmax())
    won = _right(met, likely, own)
    certain = met.able & (likely.different == 1)
    details: Details = {
        "persons_with_one_value": int(certain.sum()),
        "of_them_right": int((likely.top == own[met.victims])[certain].sum()),
        "with_one_value_by_one_release": int(
            (met.able & ((alone[0].different == 1) | (alone[1].different == 1))).sum()
        ),
        "success_by_one_release": max(_right(met, one, own).share for one in alone),
        "largest_posterior": float(likely.share[met.able].max(initial=0.0)),
    }
    same = replace(likely, top=np.full(likely.top.size, common))
    blind, checked = _right(met, same, own), _right(control, control.likely[name], own)
    return AttackResult(f"composition-{name}", "intersection", KNOWS, won, blind, checked, None, details)


def _below(met: Intersection) -> Rate:
    return Rate(int(met.below.sum()), met.victims.size)


def _right(met: Intersection, likely: LikeliestValue, own: Ints) -> Rate:
    able = met.able
    return Rate(int((likely.top == own[met.victims])[able].sum()), int(able.sum()))
