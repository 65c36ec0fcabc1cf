"""`learn`: what a classifier learns from a release, against what it learns from the original.

The classifier is scikit-learn's, an extra that only this part opens and only when asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.attacks.registry import USUAL, Rate
from incrowd.attacks.singling import GOLDEN, splitmix
from incrowd.commands.learn_features import (
    Flags,
    Floats,
    Ints,
    Learnable,
    as_written,
    by_group,
    generalised,
    links_by_fit,
)
from incrowd.contracts import Watch, unwatched
from incrowd.errors import InputError, option, unknown
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.release.folder import ReleaseFolder
from incrowd.results import Result, Row
from incrowd.schema import Role, Schema

TESTED = 3  # of ten records
FEWEST = 20  # records to train on and to test with, each
MOST_CLASSES = 30  # that a target may have
ROUNDS, RATE, SEED = 50, 0.2, 7  # of the classifier: half of the usual trees, of twice the weight
AMONG = (
    "rows of test people are among the training rows, since who is behind which row is not known: "
    "the drop may look smaller than it is"
)
APART = "rows of test people are not trained on, but the values of their groups are"


@dataclass(frozen=True, slots=True)
class Lesson:
    """How well one column is guessed from the others.

    ``majority``, ``original`` and ``release`` count right guesses on the same records: always the most
    frequent class, trained on the original, trained on the release. ``lost`` and ``gained`` count
    records that only the original, only the release gets right.
    """

    target: str
    classes: int
    majority: Rate
    original: Rate
    release: Rate
    lost: int
    gained: int

    @property
    def drop(self) -> float:
        return self.original.share - self.release.share

    def interval(self) -> tuple[float, float]:
        """Where the drop lies, to 95 %: both guess on the same records, so only differences count.

        Examples
        --------
        >>> lesson = Lesson("sex", 2, Rate(50, 100), Rate(80, 100), Rate(70, 100), lost=15, gained=5)
        >>> round(lesson.drop, 2), [round(end, 3) for end in lesson.interval()]
        (0.1, [0.015, 0.185])
        """
        n, net = self.original.tried, self.lost - self.gained
        reach = USUAL * sqrt(self.lost + self.gained - net * net / n) / n
        return self.drop - reach, self.drop + reach

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval()
        return {
            "target": self.target,
            "classes": self.classes,
            "majority": self.majority.to_dict(),
            "original": self.original.to_dict(),
            "release": self.release.to_dict(),
            "drop": {"share": self.drop, "low": low, "high": high},
        }


@dataclass(frozen=True, repr=False)
class Learned(Result):
    """What was learnt of each target. ``note`` says if rows of test people were trained on."""

    records: int
    tested: int
    rows: int
    note: str
    lessons: tuple[Lesson, ...]

    def headline(self) -> str:
        return "; ".join(
            f"{one.target}: {one.original.share:.1%} right from the original, {one.release.share:.1%} from "
            "the release"
            for one in self.lessons
        )

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rates = ((one.target, one.majority, one.original, one.release) for one in self.lessons)
        rows = ((name, *(f"{rate.share:.1%}" for rate in each)) for name, *each in rates)
        return ("target", "most frequent value", "original", "release"), rows

    def to_dict(self) -> dict[str, Any]:
        facts = {name: value for name, value in vars(self).items() if name != "lessons"}
        return {**facts, "targets": [lesson.to_dict() for lesson in self.lessons]}


@dataclass(frozen=True, slots=True, eq=False)
class _Lessons:
    """Both tables as columns, who is trained on, and the groups of rows where values are in buckets."""

    columns: Mapping[str, Learnable]
    train: Flags
    rows: Ints  # those that are trained on
    group: NDArray[np.int32] | None
    buckets: Mapping[str, Floats]  # by target: people of each group and value


def learn(
    release: object,
    original: object = None,
    target: str | Sequence[str] = (),
    policy: object = None,
    *,
    watch: Watch = unwatched,
) -> Learned:
    """Train a classifier on the original and on the release, and test both on the same records.

    Parameters
    ----------
    release, original : path or ReleaseFolder, path or frame
        What to train on: the folder of the release, and the table that it was made from.
    target : str or sequence of str
        Published columns to guess from the others. Numbers and dates are split at their median.
    policy : Policy, dict or path, optional
        Needed where no audit is beside the release.

    Raises
    ------
    InputError
        scikit-learn is not there, people of a public table have rows, or a target is not published, has
        one value only or too many.
    """
    _check_extra()
    folder = ReleaseFolder.open(release, original, Policy.of(policy))
    if folder.joined:
        raise InputError(
            f"{folder.path} was made with a public table, and which rows are of the private one is not "
            "published; nothing can be learnt from it as from a table"
        )
    watch("read")
    targets = [target] if isinstance(target, str) else list(target)
    _check_targets(targets, folder.original, folder.schema)
    lessons, note = _lessons(folder)
    taught = []
    for name in targets:
        watch(f"learn: {name}")
        taught.append(_lesson(lessons, name))
    records, tested = len(folder.original), int((~lessons.train).sum())
    return Learned(records, tested, int(lessons.rows.size), note, tuple(taught))


def _check_extra() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise InputError("learning needs scikit-learn: pip install 'incrowd[learn]'") from None


def _check_targets(targets: Sequence[str], table: Table, schema: Schema) -> None:
    if not targets:
        raise InputError(f"say which column to guess: {option('target')}")
    strange = [name for name in targets if name not in table.names]
    if strange:
        raise InputError(unknown("in the table", strange, table.names))
    names = [column.name for column in schema.published]
    hidden = [name for name in targets if name not in names]
    if hidden:
        raise InputError(f"not published, so nothing can be learnt about it: {', '.join(hidden)}")


def held_out(whose: Ints) -> Flags:
    """Which records are tested with, by a fixed rule: three of ten, by a hash of their number.

    Examples
    --------
    >>> held_out(np.arange(12)).nonzero()[0].tolist(), round(float(held_out(np.arange(10_000)).mean()), 2)
    ([2, 6, 8], 0.3)
    """
    held: Flags = splitmix(whose.astype(np.uint64) + GOLDEN) % np.uint64(10) < TESTED
    return held


def _lessons(folder: ReleaseFolder) -> tuple[_Lessons, str]:
    table, shown, data, schema = folder.original, folder.rows, folder.data, folder.schema
    # Rows of one person are all on one side, or the test would be about people who were trained on.
    whose = np.arange(len(table)) if data.entity is None else data.entity.astype(np.int64)
    train = ~held_out(whose)
    if min(train.sum(), (~train).sum()) < FEWEST:
        raise InputError(f"the table has {len(table)} records, too few to train on some and test with others")
    found = folder.shown
    columns = {column.name: column for column in generalised(found, data)}
    for said in schema.having(Role.SENSITIVE, Role.KEEP):
        here = shown.column(said.name) if said.name in shown.names else None
        columns[said.name] = as_written(said, table.column(said.name), here, schema)
    group, buckets = None, {}
    if folder.bucketed:
        group = shown.column("group").codes
        buckets = by_group(folder.buckets, shown.column("group").texts, table, columns)
    links = folder.links
    if links is None or links.size != len(shown):
        links = None if buckets else links_by_fit(found, data, columns.values())
    rows = np.arange(len(shown)) if links is None else np.flatnonzero(train[links])
    note = AMONG if links is None else APART if buckets else ""
    return _Lessons(columns, train, rows, group, buckets), note


def _lesson(lessons: _Lessons, target: str) -> Lesson:
    column, train = lessons.columns[target], lessons.train
    by_value = column.classes(train)
    labels = by_value[column.at]
    learnt, tested = np.flatnonzero(train & (labels >= 0)), np.flatnonzero(~train & (labels >= 0))
    _check_classes(target, labels[learnt], tested)
    points, regions = _described(lessons, target)
    rows, guessed, weight = _labelled(lessons, target, by_value)
    if not rows.size:
        raise InputError(f"no training row has information about {target}")
    truth, known = labels[tested], np.bincount(labels[learnt])
    by_original = _taught(points[learnt], labels[learnt], np.ones(learnt.size), points[tested]) == truth
    by_release = _taught(regions[rows], guessed, weight, points[tested]) == truth
    return Lesson(
        target,
        int((known > 0).sum()),
        Rate(int((truth == known.argmax()).sum()), tested.size),
        Rate(int(by_original.sum()), tested.size),
        Rate(int(by_release.sum()), tested.size),
        int((by_original & ~by_release).sum()),
        int((~by_original & by_release).sum()),
    )


def _check_classes(target: str, labels: Ints, tested: Ints) -> None:
    found = np.unique(labels).size
    if found < 2:
        raise InputError(f"{target} has one value only, so there is nothing to learn")
    if found > MOST_CLASSES:
        raise InputError(f"{target} has {found} values; a target may have at most {MOST_CLASSES}")
    if min(labels.size, tested.size) < FEWEST:
        raise InputError(f"{target} is known of too few records to train on some and test with others")


def _described(lessons: _Lessons, target: str) -> tuple[Floats, Floats]:
    """Records and rows by all columns that rows show, but the target."""
    points, regions = [np.zeros((lessons.train.size, 1))], []
    for column in lessons.columns.values():
        if column.of is not None and column.name != target:
            by_value, by_cell = column.features(lessons.train)
            points.append(by_value[column.at])
            regions.append(by_cell[column.of])
    if not regions:
        raise InputError(f"no column but {target} is published, so there is nothing to learn from")
    return np.concatenate(points[1:], axis=1), np.concatenate(regions, axis=1)


def _labelled(lessons: _Lessons, target: str, by_value: Ints) -> tuple[Ints, Ints, Floats]:
    """Rows to train on, once for each class that they leave possible, with its share as the weight."""
    column = lessons.columns[target]
    kinds = np.zeros((by_value.size, int(by_value.max()) + 1))
    known = np.flatnonzero(by_value >= 0)
    kinds[known, by_value[known]] = 1.0
    if column.of is not None:
        held, cell = column.tally(kinds), column.of[lessons.rows]
    elif lessons.group is not None and target in lessons.buckets:
        held, cell = lessons.buckets[target] @ kinds, lessons.group[lessons.rows]
    else:
        raise InputError(f"not published, so nothing can be learnt about it: {target}")
    total = held.sum(axis=1, keepdims=True)
    share = np.divide(held, total, out=np.zeros_like(held), where=total > 0)[cell]
    row, label = share.nonzero()
    return lessons.rows[row], label, share[row, label]


def _taught(features: Floats, labels: Ints, weight: Floats, asked: Floats) -> Ints:
    """What a classifier that saw these examples says of those that are asked."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    if np.unique(labels).size == 1:
        return np.full(len(asked), labels[0])
    # The order of published rows is random, and must not move a sum's last digit.
    order = np.lexsort((weight, labels, *features.T))
    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS, learning_rate=RATE, early_stopping=False, random_state=SEED
    )
    with threadpool_limits(1):  # threads that wait for each other on a busy machine take ten times as long
        model.fit(features[order], labels[order], sample_weight=weight[order])
        said: Ints = model.predict(asked)
    return said
