"""Composition: what several releases of the same people disclose together.

Each release alone leaves everybody k candidates. Private values stand in all of them as they are, so a
candidate row is ruled out if another release has no candidate with the same ones; and a row whose private
values nobody else has is the same person's in all, who is then inside all regions.

References
----------
Ganta, Kasiviswanathan, Smith, "Composition attacks and auxiliary information in data privacy", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from incrowd.attacks.candidates import MEMBERS
from incrowd.attacks.linked import Linked, SharedValues, chunks, link
from incrowd.attacks.registry import AttackResult, Details, Rate, attack
from incrowd.attacks.target import Flags, Floats, Ints, Pools, Target, runs

KNOWS = f"{MEMBERS}, and all of these releases of the same people"
MOST_WORK = 40_000_000  # candidates; above it, some persons stand for all
VICTIMS = 2_000


@attack("composition", 310, ("everyone", "others", "shared"))
def compositions(first: Target, others: Sequence[Target], private: SharedValues) -> tuple[AttackResult, ...]:
    """What several releases disclose together: of rows, and of each private column.

    All must be of the same records in the same order; their quasi-identifiers may differ.
    """
    releases = (first, *others)
    met = intersect(releases, private)
    exact = replace(private, shown=[private.own] * len(releases))  # everybody published as they are
    control = intersect([target.control for target in releases], exact)
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
    """Releases held against each other; entries are of the `victims`, numbers of records.

    ``candidates`` (r, v) are the rows of each release that are left to somebody, 0 if none is. ``likely`` and
    ``alone`` are by column what all together, and each one, disclose.
    """

    k: int
    private: SharedValues
    victims: Ints
    candidates: Ints
    likely: Mapping[str, LikeliestValue]
    alone: Mapping[str, Sequence[LikeliestValue]]
    linked: Linked

    @property
    def able(self) -> Flags:
        """Who has a candidate left. Nobody has none but those who were left out."""
        able: Flags = self.candidates.min(axis=0) > 0
        return able

    @property
    def below(self) -> Flags:
        """Which victims have fewer than k candidates left, or are one of fewer than k who fit linked rows."""
        few = self.able & (self.candidates.min(axis=0) < self.k)
        near = self.linked.combination[self.linked.people < self.k]
        below: Flags = few | np.isin(self.private.own[self.victims], near)
        return below


def intersect(releases: Sequence[Target], private: SharedValues) -> Intersection:
    """Hold releases against each other, for everybody; for some, where that is too much."""
    sides = [_OneRelease.of(*pair) for pair in zip(releases, private.shown, strict=True)]
    victims = _victims(sides)
    counted = [side.counted(victims, private.size) for side in sides]
    pools, of = np.unique(np.stack([each.of for each in counted], axis=1), axis=0, return_inverse=True)
    of = of.reshape(-1)
    met = _in_all(counted, pools, private.size)
    left = [np.bincount(met.owner, many, len(pools)).astype(np.int64)[of] for many in met.many]
    prior = np.bincount(private.shown[0], minlength=private.size) / max(private.shown[0].size, 1)
    weight = met.many[0].astype(np.float64)
    for many, rest in zip(met.many[1:], _outside(sides, counted, pools), strict=True):
        weight = expected(weight, many, rest[met.owner] * prior[met.combination])
    likely, alone = {}, {}
    for name, part in private.parts.items():
        likely[name] = _likeliest(met.owner, part[met.combination], weight, len(pools), of)
        alone[name] = [_alone(each, part) for each in counted]
    k = min([target.k for target in releases if target.k is not None], default=2)
    return Intersection(k, private, victims, np.stack(left), likely, alone, link(releases, private))


def expected(first: Ints | Floats, second: Ints, rest: Floats) -> Floats:
    r"""How many people with one combination are probably in two groups that have it so often.

    A group of a people and one of b have m in common; a share p of everybody has the combination. If x of
    the m have it, c1 - x and c2 - x of the others do. Where groups know nothing of each other, the likeliest
    x is about the one with

    .. math:: x q = (c_1 - x) (c_2 - x), \quad q = p (a - m) (b - m) / m

    so it goes with c1 c2 / p where groups have little in common, and is the smaller count where one is
    inside the other. ``rest`` is q. Of more groups, what the first ones have in common is the next first.

    Examples
    --------
    >>> expected(np.array([2, 2, 1]), np.array([3, 3, 1]), np.array([0.0, 2.0, 1e6])).round(6).tolist()
    [2.0, 1.0, 1e-06]
    """
    total, product = first + second + rest, (first * second).astype(np.float64)
    x: Floats = 2 * product / (total + np.sqrt(np.maximum(total * total - 4 * product, 0.0)))
    return x


def _outside(sides: Sequence[_OneRelease], counted: Sequence[_Counted], pools: Ints) -> Iterator[Floats]:
    """(a - m) (b - m) / m for each victims' pools: of each release from the second on.

    b candidates of its pool, a candidates of the first one, or people who have all pools before it, and m
    people who have this one, too.
    """
    names = [each.wanted[pools[:, r]] for r, each in enumerate(counted)]
    sizes = [np.bincount(c.owner, c.many, c.wanted.size)[pools[:, r]] for r, c in enumerate(counted)]
    before: Floats = sizes[0].astype(np.float64)
    everyone, wanted = sides[0].held.of.astype(np.int64), names[0]
    for r in range(1, len(sides)):
        width = int(sides[r].held.of.max(initial=0)) + 1
        both, of = np.unique(everyone * width + sides[r].held.of, return_inverse=True)
        everyone = of.reshape(-1).astype(np.int64)
        wanted = np.searchsorted(both, wanted * width + names[r])
        common = np.bincount(everyone, minlength=both.size)[wanted].astype(np.float64)
        yield np.maximum(before - common, 0) * np.maximum(sizes[r] - common, 0) / common
        before = common


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
class _InAll:
    """Combinations that all pools of somebody have, and how many candidates have them in each (r, m)."""

    owner: Ints
    combination: Ints
    many: Ints


def _in_all(counted: Sequence[_Counted], pools: Ints, size: int) -> _InAll:
    """What is in all pools (p, r) of somebody; the smallest pool is looked up in the others."""
    wide = np.stack([np.diff(each.starts)[pools[:, r]] for r, each in enumerate(counted)])
    keys = [np.append(each.owner * size + each.combination, -1) for each in counted]
    fewest, found = wide.argmin(axis=0), [np.zeros((2 + len(counted), 0), np.int64)]
    for r, small in enumerate(counted):
        mine = np.flatnonzero(fewest == r)
        for start, stop in chunks(wide[r][mine]):
            here = mine[start:stop]
            at = runs(small.starts[pools[here, r]], wide[r][here])
            owner, combination = np.repeat(here, wide[r][here]), small.combination[at]
            lines, hit = [owner, combination], np.ones(owner.size, np.bool_)
            for other, each in enumerate(counted):
                wanted = pools[owner, other] * size + combination
                place = np.searchsorted(keys[other][:-1], wanted)
                hit &= keys[other][place] == wanted
                lines.append(np.append(each.many, 0)[place])
            found.append(np.stack(lines)[:, hit])
    owner, combination, *many = np.concatenate(found, axis=1)
    return _InAll(owner, combination, np.stack(many))


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
        "releases": len(met.candidates),
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
    common = int(np.bincount(private.parts[name][private.shown[0]]).argmax())
    won = _right(met, likely, own)
    certain = met.able & (likely.different == 1)
    by_one = np.logical_or.reduce([one.different == 1 for one in alone])
    details: Details = {
        "releases": len(met.candidates),
        "persons_with_one_value": int(certain.sum()),
        "of_them_right": int((likely.top == own[met.victims])[certain].sum()),
        "with_one_value_by_one_release": int((met.able & by_one).sum()),
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
