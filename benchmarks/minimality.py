"""How often guarded l gives values away to somebody who re-runs the program: the table of docs/promise.md.

Random tables of 5 to 8 people, l by frequency. Every way to hand out the values is run by each method; a
release counts if somebody has a value with more than 1/l, or for certain, among all worlds that give it.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from incrowd.algorithms.base import method
from incrowd.errors import Infeasible
from incrowd.flow import Attribute, Microdata, Sensitive
from incrowd.long_work import silent
from incrowd.models import FrequencyDiversity
from incrowd.schema import Kind, Shape

METHODS = ("mondrian", "mondrian-relaxed", "hilbert", "topdown", "agglomerative", "lexicographic")
MOST_WORLDS = 420
World = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Quasi-identifiers, the values that were handed out, and what is asked."""

    points: Microdata
    values: World
    l: int  # noqa: E741  the paper's letter
    k: int

    def data(self, world: World) -> Microdata:
        column = Sensitive("s", Kind.CATEGORICAL, np.array(world, np.int32), max(world) + 1)
        return Microdata(self.points.codes, self.points.attributes, (column,))


@dataclass
class Tally:
    """Releases by what they give away: all, with somebody above 1/l, with somebody certain; and tables."""

    tables: int = 0
    releases: int = 0
    above: int = 0
    certain: int = 0

    def row(self, name: str) -> str:
        above, certain = (100 * part / max(self.releases, 1) for part in (self.above, self.certain))
        return f"| `{name}` | {self.tables} | {self.releases:,} | {above:.1f} | {certain:.1f} |"


def drawn_people(rng: np.random.Generator) -> People:
    """A table for which l can be kept, with few enough worlds."""
    while True:
        n, l = int(rng.integers(5, 9)), int(rng.choice([2, 2, 2, 3]))  # noqa: E741
        k, size = int(rng.integers(2, n // 2 + 1)), int(rng.integers(2, 6))
        codes = rng.integers(0, size, (n, int(rng.integers(1, 3)))).astype(np.int32)
        drawn = rng.integers(0, int(rng.integers(l, 5)), n)
        values = tuple(np.unique(drawn, return_inverse=True)[1].reshape(-1).tolist())
        if max(Counter(values).values()) * l > n or len(set(itertools.permutations(values))) > MOST_WORLDS:
            continue
        texts, at = tuple(map(str, range(size))), np.arange(size, dtype=np.float64)
        axes = tuple(Attribute(f"q{j}", Kind.NUMERIC, Shape.RANGE, texts, at) for j in range(codes.shape[1]))
        return People(Microdata(codes, axes), values, l, k)


def seen(people: People, world: World, name: str) -> frozenset[tuple[frozenset[int], World]] | None:
    """The classes that a method makes, with their values; None where it refuses."""
    data = people.data(world)
    guards = FrequencyDiversity(people.l, "s").guards(data)
    try:
        labels = method(name)(people.k).group(data, guards, silent).labels
    except Infeasible:
        return None
    groups = [np.flatnonzero(labels == label).tolist() for label in range(int(labels.max()) + 1)]
    return frozenset((frozenset(group), tuple(sorted(world[i] for i in group))) for group in groups)


def count(people: People, name: str, tally: Tally) -> None:
    """Run a method on every world, and add what its releases give away."""
    by_view: dict[object, list[World]] = defaultdict(list)
    for world in sorted(set(itertools.permutations(people.values))):
        by_view[seen(people, world, name)].append(world)
    by_view.pop(None, None)
    for worlds in by_view.values():
        most = max(max(Counter(own).values()) for own in zip(*worlds, strict=True))
        tally.releases += len(worlds)
        tally.above += len(worlds) * (most * people.l > len(worlds))
        tally.certain += len(worlds) * (most == len(worlds))
    tally.tables += 1


def measured(tables: int, seed: int, names: Sequence[str] = METHODS) -> dict[str, Tally]:
    rng, found = np.random.default_rng(seed), {name: Tally() for name in names}
    for _ in range(tables):
        people = drawn_people(rng)
        for name, tally in found.items():
            count(people, name, tally)
    return found


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="./run bench minimality", description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)
    asked = parser.parse_args(words)
    print("| method | tables | releases | above 1/l, % | certain, % |\n|---|---|---|---|---|")
    for name, tally in measured(asked.tables, asked.seed).items():
        print(tally.row(name), flush=True)


if __name__ == "__main__":
    main()
