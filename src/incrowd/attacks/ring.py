"""Rings under corruption: what one known person discloses about another of the same ring.

In a ring of N records each has k rows, and a row can be that of k records. Every match has chance 1/k; but
whoever knows the ring and learns who is behind one row finds somebody else of it with more than 1/(k-1),
which a class of k would leave. How much more depends on the draw and is measured: many rings are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import sqrt

import numpy as np

from incrowd.attacks.registry import CAREFUL, Rate
from incrowd.attacks.target import Ints
from incrowd.flow import Codes

Draw = Callable[[Codes], Ints]

DRAWS = 40_000  # of each size
EDGES = 4_000_000  # to be drawn for all sizes together: large rings are drawn less often
SIZES = 10  # as many are tried at most, spread evenly
ENOUGH = 800  # rings of a size, before another size is worth trying
FEWEST = 8  # however large rings are
CELLS = 4_000_000  # pairs of matches that are compared in rings of one size


@dataclass(frozen=True, slots=True)
class AfterOne:
    """The largest chance of a match once another one of the same ring is known.

    ``share`` is what was measured, in rings of ``size``; the truth is above ``high`` once in two thousand
    times. ``exact`` is there where nothing had to be measured. ``tried`` are the sizes that were looked at,
    out of ``sizes`` that the release has.
    """

    share: float
    high: float
    size: int
    draws: int
    tried: tuple[int, ...]
    sizes: int
    exact: Fraction | None = None

    def to_dict(self) -> dict[str, object]:
        exact = None if self.exact is None else str(self.exact)
        return {**asdict(self), "tried": list(self.tried), "exact": exact}


def after_one(sizes: Mapping[int, int], k: int, draw: Draw, draws: int = DRAWS) -> AfterOne | None:
    """The largest posterior after one known match, over all rings of a release; None if it has none.

    `sizes` says how many rings there are of each size N >= k >= 2. N = k is a class of its own, which leaves
    exactly 1/(k-1). Parts of records that are all alike are no rings and do not count. `draw` draws the row
    of each record (n,) from the k rows that each may have (n, k), every component of this graph
    independently. At most `draws` rings of each size are drawn; `EDGES` bounds the work.

    Whoever is known is turned to the first place of the ring, forwards and backwards: so a ring of N tells 2N
    times as much. That is the mean over all places where a ring can begin. The pair that is worst is named by
    one half of the draws and measured by the other: the largest of many estimates is too large. The views of
    one ring depend on each other, so the error is estimated over rings, not over views.

    Examples
    --------
    >>> after_one({3: 7}, 3, lambda edges: edges[:, 0]).exact
    Fraction(1, 2)
    >>> shifts = lambda edges: edges[:, 0].astype(np.int64)
    >>> after_one({5: 1}, 3, shifts, draws=100).share
    1.0
    """
    if k < 2:
        raise ValueError("a ring needs at least two rows for each record")
    there = sorted(size for size, count in sizes.items() if count > 0)
    if not there:
        return None
    if there[0] < k:
        raise ValueError("a ring has at least k records")
    rings = _spread([size for size in there if size > k], k)
    known = [_measured(size, k, draw, _affordable(size, k, len(rings), draws)) for size in rings]
    if there[0] == k:  # where everybody may have every row, what one has is only taken from the others
        left = Fraction(1, k - 1)
        known.insert(0, AfterOne(float(left), float(left), k, 0, (k,), 1, left))
    worst = max(known, key=lambda found: found.share)
    return replace(
        worst,
        high=max(found.high for found in known),
        draws=sum(found.draws for found in known),
        tried=tuple(found.size for found in known),
        sizes=len(there),
        exact=worst.exact if len(known) == 1 else None,
    )


def _spread(sizes: Sequence[int], k: int) -> list[int]:
    """Those that can be drawn often enough, spread evenly: the largest always, the smallest mostly."""
    most = min(SIZES, max(1, EDGES // (ENOUGH * sizes[-1] * k))) if sizes else 0
    if len(sizes) <= most:
        return list(sizes)
    places = np.linspace(len(sizes) - 1, 0, most).round().astype(int)
    return [sizes[place] for place in places.tolist()][::-1]


def _affordable(size: int, k: int, sizes: int, draws: int) -> int:
    """Rings of one half of the draws."""
    return max(FEWEST, min(draws, EDGES // (sizes * size * k))) // 2


def _measured(size: int, k: int, draw: Draw, rings: int) -> AfterOne:
    """In rings of one size. Name the worst pair by as many rings, and measure it by as many others."""
    known, ahead, asked = _worst(views_of(size, k, draw, rings), k)
    views = views_of(size, k, draw, rings)
    is_known = views == known
    tried = is_known.sum(axis=(0, 2))
    won = (is_known & (np.roll(views, -ahead, axis=2) == asked)).sum(axis=(0, 2))
    rate = Rate(int(won.sum()), int(tried.sum()))
    spread = CAREFUL * sqrt(float(((won - rate.share * tried) ** 2).sum())) / max(rate.tried, 1)
    high = max(rate.share + spread, rate.interval(CAREFUL)[1])
    # Whoever shares the known row has k-1 others left, and one of them at least their mean.
    share = max(rate.share, 1 / (k - 1))
    return AfterOne(share, min(1.0, max(high, share)), size, 2 * rings, (size,), 1)


def views_of(size: int, k: int, draw: Draw, rings: int) -> Ints:
    """Draw rings (2, r, N): how many rows before its own each record has, both ways round."""
    places = np.arange(size)
    starts = size * np.arange(rings)
    edges = (starts[:, None, None] + (places[:, None] - np.arange(k)) % size).reshape(-1, k).astype(np.int32)
    back = (places - draw(edges).reshape(rings, size) + starts[:, None]) % size
    return np.stack([back, k - 1 - back[:, ::-1]])


def _worst(views: Ints, k: int) -> tuple[int, int, int]:
    """(s, a, t): whoever has the row s before its own tells most surely that a places on it is t before.

    Not what is largest but what is certainly large: among very many pairs, the largest is mostly chance.
    """
    known = np.bincount(views.ravel(), minlength=k).clip(1)[:, None]
    best, found = -1.0, (0, 1, 0)
    forwards, size = views[0], views.shape[2]
    first, twice_round = forwards * k, np.concatenate([forwards, forwards], axis=1)
    for ahead in range(1, size, -(-(size - 1) * k * k // CELLS)):
        pairs = (first + twice_round[:, ahead : ahead + size]).ravel()
        both = np.bincount(pairs, minlength=k * k).reshape(k, k)
        both = both + both[::-1, ::-1].T  # backwards, s and t change places and count from the other end
        share = both / known
        surely = share - 2 * np.sqrt(share * (1 - share) / known)
        at = int(surely.argmax())
        if surely.flat[at] > best:
            best, found = float(surely.flat[at]), (at // k, ahead, at % k)
    return found
