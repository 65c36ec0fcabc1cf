"""Running experiments: a grid of points, processor time, published rows, boxes with people inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import process_time
from typing import TypeVar

from incrowd.flow import Microdata, Neighbourhoods, Partition, Table, TextColumn
from incrowd.generalize import generalize
from incrowd.long_work import Progress
from incrowd.measures.boxes import RangeCount
from incrowd.measures.loss import EntropyLoss, GlobalPenalty
from incrowd.measures.published import Published, published
from incrowd.publishing.render import cell_texts
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper

MOST_DRAWS = 100  # times as many boxes are drawn, at most, to find so many with somebody inside
K = TypeVar("K")
V = TypeVar("V")


def run_each(
    asked: Iterable[K],
    run: Callable[[K], V],
    progress: Progress,
    work: Callable[[K], float] = lambda _: 1.0,
    kept: Keeper = NOTHING_KEPT,
) -> dict[K, V]:
    """What came of every point, each run once; `work` says about how much time a point takes.

    What is `kept` of an earlier run is not run again; its key and the name of the work must say all that
    a point depends on.
    """
    wanted, found, done = list(dict.fromkeys(asked)), dict[K, V](), 0.0
    whole = sum(map(work, wanted))
    for each in wanted:
        before = kept.get(each)
        found[each] = run(each) if before is None else before
        if before is None:
            kept.put(each, found[each])
        done += work(each)
        progress(done / whole)
    return found


def timed(work: Callable[[], V]) -> tuple[V, float]:
    """What came of some work, and its processor seconds."""
    start = process_time()
    found = work()
    return found, process_time() - start


def rows_of(data: Microdata, partition: Partition | Neighbourhoods) -> Published:
    """The rows as they would be published, one for each record, read again."""
    regions = generalize(data, partition)
    columns = [
        TextColumn(regions.cell[regions.of, j], cell_texts(attribute, regions.cells[j]))
        for j, attribute in enumerate(data.attributes)
    ]
    names = tuple(attribute.name for attribute in data.attributes)
    return published(Table(names, tuple(columns)), data)


def loss(data: Microdata, partition: Partition | Neighbourhoods, measure: str) -> float:
    """Information loss of the published rows by EM or LM: the mean over all cells, read from their texts."""
    rows = rows_of(data, partition)
    return (EntropyLoss() if measure == "EM" else GlobalPenalty()).value(rows, data)


def inhabited(
    draw: Callable[[], list[RangeCount]], inside: Callable[[list[RangeCount]], Iterable[int]], count: int
) -> list[RangeCount]:
    """Boxes with somebody `inside`: as many, unless they are too rare among those that are drawn."""
    found: list[RangeCount] = []
    drawn = 0
    while len(found) < count and drawn < MOST_DRAWS * count:
        boxes = draw()
        found += [box for box, people in zip(boxes, inside(boxes), strict=True) if people]
        drawn += len(boxes)
    return found[:count]
