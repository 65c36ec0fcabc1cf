"""One table, one measure, every algorithm of "k-Anonymization Revisited", several k."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from incrowd.algorithms.nonhomogeneous.k_one import Expansion, Nearest
from incrowd.algorithms.nonhomogeneous.one_k import widened
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.forest import Forest
from incrowd.contracts import Progress, silent
from incrowd.flow import Microdata, Neighbourhoods, Partition, Table, TextColumn
from incrowd.generalize.closure import generalize
from incrowd.measures.loss import EntropyLoss, GlobalPenalty
from incrowd.measures.published import Published, published
from incrowd.publishing.render import cell_texts

Hide = Callable[[Microdata, int, str], Partition | Neighbourhoods]
MEASURES = {"EM": "entropy", "LM": "lm"}  # the paper's words, and those of the algorithms
BEST, FOREST, KK = "best k-anon", "forest", "(k,k)"  # the rows of Table I
NEAREST, EXPANSION = "(k,k): 3+5", "(k,k): 4+5"


def _agglomerative(distance: str, modified: bool) -> Hide:
    return lambda data, k, measure: Agglomerative(k, distance, measure, modified).group(data, (), silent)


def _forest(data: Microdata, k: int, measure: str) -> Partition:
    return Forest(k, measure).group(data, (), silent)


def _own_crowds(first: type[Nearest] | type[Expansion]) -> Hide:
    return lambda data, k, measure: widened(data, first(k, measure).neighbourhoods(data), k, measure)


def _variants(*distances: str) -> dict[str, Hide]:
    return {
        f"({distance}), Algorithm {2 if modified else 1}": _agglomerative(distance, modified)
        for distance in distances
        for modified in (False, True)
    }


VARIANTS = _variants("8", "9", "10", "11")  # those that the paper chooses the best of
NERGIZ_CLIFTON = _variants("nc")  # which it names, but did not run
CROWDS = {NEAREST: _own_crowds(Nearest), EXPANSION: _own_crowds(Expansion)}
ALGORITHMS: Mapping[str, Hide] = {**VARIANTS, **NERGIZ_CLIFTON, FOREST: _forest, **CROWDS}


def loss(data: Microdata, partition: Partition | Neighbourhoods, measure: str) -> float:
    """What the published rows lost: the mean over all cells, read from the texts of the rows themselves."""
    rows = rows_of(data, partition)
    return (EntropyLoss() if measure == "EM" else GlobalPenalty()).value(rows, data)


def rows_of(data: Microdata, partition: Partition | Neighbourhoods) -> Published:
    """The rows as they would be published, one for each record, read again."""
    regions = generalize(data, partition)
    columns = [
        TextColumn(regions.cell[regions.of, j], cell_texts(attribute, regions.cells[j]))
        for j, attribute in enumerate(data.attributes)
    ]
    names = tuple(attribute.name for attribute in data.attributes)
    return published(Table(names, tuple(columns)), data)


@dataclass(frozen=True, slots=True)
class Trial:
    """What every algorithm lost on a table by one measure, for each k."""

    data: str
    rows: int
    measure: str
    ks: tuple[int, ...]
    losses: Mapping[str, tuple[float, ...]]

    def least(self, names: Sequence[str]) -> str:
        """The algorithm with the least sum over all k, as the paper chooses."""
        return min((name for name in names if name in self.losses), key=lambda name: sum(self.losses[name]))

    @property
    def best(self) -> str:
        return self.least([*VARIANTS])

    @property
    def table(self) -> dict[str, tuple[float, ...]]:
        """The rows of Table I."""
        return {
            BEST: self.losses[self.best],
            FOREST: self.losses[FOREST],
            KK: self.losses[self.least([*CROWDS])],
        }


def trial(
    name: str, data: Microdata, measure: str, ks: Sequence[int], names: Sequence[str], told: Progress
) -> Trial:
    """Run these algorithms for these k; `told` hears how much is done."""
    losses: dict[str, list[float]] = {name: [] for name in names}
    for number, algorithm in enumerate(names):
        for k in ks:
            partition = ALGORITHMS[algorithm](data, k, MEASURES[measure])
            losses[algorithm].append(loss(data, partition, measure))
        told((number + 1) / len(names))
    found = {algorithm: tuple(values) for algorithm, values in losses.items()}
    return Trial(name, len(data), measure, tuple(ks), found)
