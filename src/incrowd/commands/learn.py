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
from incrowd.errors import InputError, option, unknown
from incrowd.flow import Table
from incrowd.long_work import Watch, unwatched
from incrowd.policy import Policy
from incrowd.publishing.memory_limit import check_fits
from incrowd.release.folder import ReleaseFolder
from incrowd.results import Result, Row
from incrowd.schema import Role, Schema

TESTED = 3  # of ten records
MOST = 200_000  # records that are trained on or tested with; of larger tables, about as many of them
FEWEST = 20  # records to train on and to test with, each
MOST_CLASSES = 30  # that a target may have
ROUNDS, RATE, SEED = 50, 0.2, 7  # of the classifier: half of the usual trees, of twice the weight
AMONG = (
    "rows of test people are among the training rows, since who is behind which row is not known: "
    "the drop may look smaller than it is"
)
APART = "rows of test people are not trained on, but the values of their groups are"


EVENLY = "cells are spread evenly over their values"
BY_TOTALS = "cells are spread over their values by the totals of the release"
INFORMATIVE = 0.6  # an AUC from which on ranks say something although no other class is ever named


@dataclass(frozen=True, slots=True)
class Predicted:
    """How good predictions are: how many are right, and three measures in which all classes count alike.

    ``balanced_accuracy`` is the mean share of each class that is found, ``f1`` the mean F1 of the classes
    (macro), ``auc`` the mean area under the ROC curve of each class against the rest; None where the records
    that are tested with have one class only.
    """

    accuracy: Rate
    balanced_accuracy: float
    auc: float | None
    f1: float

    def to_dict(self) -> dict[str, Any]:
        others = {"balanced_accuracy": self.balanced_accuracy, "auc": self.auc, "f1": self.f1}
        return {**self.accuracy.to_dict(), **others}


@dataclass(frozen=True, slots=True)
class Lesson:
    """How well one column is guessed from the others.

    ``majority``, ``original`` and ``release`` are guesses on the same records: always the most frequent
    class, trained on the original, trained on the release. ``lost`` and ``gained`` count records that only
    the original, only the release gets right; ``won`` and ``missed`` those that only the original, only the
    most frequent class gets right.
    """

    target: str
    classes: int
    majority: Predicted
    original: Predicted
    release: Predicted
    lost: int
    gained: int
    won: int
    missed: int

    @property
    def drop(self) -> float:
        return self.original.accuracy.share - self.release.accuracy.share

    @property
    def learnable(self) -> bool:
        """Is the original clearly better than always naming the most frequent class, to 95 %?"""
        return _paired(self.won, self.missed, self.original.accuracy.tried)[0] > 0

    @property
    def remark(self) -> str:
        """What to do where accuracy says nothing; else empty."""
        if self.learnable:
            return ""
        start = (
            f"{self.target}: even with the original, predictions are not clearly better than always naming "
            f"the commonest value ({self.original.accuracy.share:.1%} and {self.majority.accuracy.share:.1%})"
        )
        if self.original.auc is not None and self.original.auc >= INFORMATIVE:
            return f"{start}, so accuracy says nothing here; compare AUC, or choose another target"
        return f"{start}, so this comparison says nothing; choose another target"

    def interval(self) -> tuple[float, float]:
        """Where the drop lies, to 95 %: both guess on the same records, so only differences count.

        Examples
        --------
        >>> half, more, less = (Predicted(Rate(won, 100), won / 100, None, 0.5) for won in (50, 80, 70))
        >>> lesson = Lesson("sex", 2, half, more, less, lost=15, gained=5, won=35, missed=5)
        >>> round(lesson.drop, 2), [round(end, 3) for end in lesson.interval()], lesson.learnable
        (0.1, [0.015, 0.185], True)
        """
        return _paired(self.lost, self.gained, self.original.accuracy.tried)

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval()
        return {
            "target": self.target,
            "classes": self.classes,
            "majority": self.majority.to_dict(),
            "original": self.original.to_dict(),
            "release": self.release.to_dict(),
            "drop": {"share": self.drop, "low": low, "high": high},
            "learnable": self.learnable,
            "remark": self.remark,
        }


def _paired(only_one: int, only_other: int, n: int) -> tuple[float, float]:
    """Where the difference of two shares of the same n records lies, to 95 %."""
    net = only_one - only_other
    reach = USUAL * sqrt(only_one + only_other - net * net / n) / n
    return net / n - reach, net / n + reach


@dataclass(frozen=True, repr=False)
class Learned(Result):
    """What was learnt of each target.

    Of ``records``, ``trained`` and ``tested`` were used: all, or ``sampled`` says that they are a sample.
    ``note`` says if rows of test people were trained on, ``spread`` how cells were spread over their values.
    """

    records: int
    trained: int
    tested: int
    sampled: bool
    rows: int
    note: str
    spread: str
    lessons: tuple[Lesson, ...]

    def headline(self) -> str:
        return "; ".join(
            one.remark
            or f"{one.target}: {one.original.accuracy.share:.1%} right from the original, "
            f"{one.release.accuracy.share:.1%} from the release"
            for one in self.lessons
        )

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = [(one.target, *line) for one in self.lessons for line in lines(one)]
        return ("target", "measure", "commonest value", "original", "release"), rows

    def to_dict(self) -> dict[str, Any]:
        facts = {name: value for name, value in vars(self).items() if name != "lessons"}
        return {**facts, "targets": [lesson.to_dict() for lesson in self.lessons]}


def lines(lesson: Lesson) -> list[tuple[str, str, str, str]]:
    """Each measure of a lesson: its name, of the commonest value, of the original, of the release."""
    found = (lesson.majority, lesson.original, lesson.release)
    shown = {
        "accuracy": [f"{one.accuracy.share:.1%}" for one in found],
        "balanced accuracy": [f"{one.balanced_accuracy:.1%}" for one in found],
        "AUC": ["" if one.auc is None else f"{one.auc:.3f}" for one in found],
        "F1 (macro)": [f"{one.f1:.3f}" for one in found],
    }
    return [(name, *each) for name, each in shown.items()]  # type: ignore[misc]


@dataclass(frozen=True, slots=True, eq=False)
class _Lessons:
    """Both tables as columns, who is trained on or tested with, and the groups of rows with buckets."""

    columns: Mapping[str, Learnable]
    train: Flags
    chosen: Flags  # all, or a sample
    rows: Ints  # those that are trained on
    group: NDArray[np.int32] | None
    buckets: Mapping[str, Floats]  # by target: people of each group and value


def learn(
    release: object,
    original: object = None,
    target: str | Sequence[str] = (),
    policy: object = None,
    *,
    memory: str | int | None = None,
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
    memory : str or int, optional
        What may be used, such as "20GB"; half of the machine's memory by default. More is refused.

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
    check_fits("learn", [folder, folder.source], memory)
    watch("read")
    targets = [target] if isinstance(target, str) else list(target)
    _check_targets(targets, folder.original, folder.schema)
    lessons, note = _lessons(folder)
    taught = []
    for name in targets:
        watch(f"learn: {name}")
        taught.append(_lesson(lessons, name))
    records, chosen = len(folder.original), lessons.chosen
    used = int((chosen & lessons.train).sum()), int((chosen & ~lessons.train).sum())
    spread = EVENLY if folder.totals is None else BY_TOTALS
    sampled = not bool(chosen.all())
    return Learned(records, *used, sampled, int(lessons.rows.size), note, spread, tuple(taught))


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


def sample(whose: Ints, most: int = MOST) -> Flags:
    """Which records are used: all, or so many that they are about `most`, by another hash of their number.

    Examples
    --------
    >>> sample(np.arange(4), 4).all(), round(float(sample(np.arange(10_000), 5_000).mean()), 2)
    (np.True_, 0.5)
    """
    if whose.size <= most:
        return np.ones(whose.size, np.bool_)
    chosen: Flags = splitmix(splitmix(whose.astype(np.uint64) + GOLDEN)) % np.uint64(whose.size) < most
    return chosen


def _lessons(folder: ReleaseFolder) -> tuple[_Lessons, str]:
    table, shown, data, schema = folder.original, folder.rows, folder.data, folder.schema
    # Rows of one person are all on one side, or the test would be about people who were trained on.
    whose = np.arange(len(table)) if data.entity is None else data.entity.astype(np.int64)
    train = ~held_out(whose)
    if min(train.sum(), (~train).sum()) < FEWEST:
        raise InputError(f"the table has {len(table)} records, too few to train on some and test with others")
    found = folder.shown
    columns = {column.name: column for column in generalised(found, data, folder.totals)}
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
    chosen = sample(whose)
    if links is None:
        rows = np.flatnonzero(sample(np.arange(len(shown))))
    else:
        rows = np.flatnonzero((train & chosen)[links])
    note = AMONG if links is None else APART if buckets else ""
    return _Lessons(columns, train, chosen, rows, group, buckets), note


def _lesson(lessons: _Lessons, target: str) -> Lesson:
    column, train = lessons.columns[target], lessons.train
    by_value = column.classes(train)
    labels = by_value[column.at]
    used = lessons.chosen & (labels >= 0)
    learnt, tested = np.flatnonzero(train & used), np.flatnonzero(~train & used)
    _check_classes(target, labels[learnt], tested)
    points, regions = _described(lessons, target, np.concatenate([learnt, tested]))
    rows, guessed, weight = _labelled(lessons, target, by_value)
    if not rows.size:
        raise InputError(f"no training row has information about {target}")
    truth, known = labels[tested], np.bincount(labels[learnt], minlength=int(by_value.max()) + 1)
    commonest = np.zeros((tested.size, known.size))
    commonest[:, known.argmax()] = 1.0
    told, asked = points[: learnt.size], points[learnt.size :]
    by_original = _taught(told, labels[learnt], np.ones(learnt.size), asked, known.size)
    by_release = _taught(regions[rows], guessed, weight, asked, known.size)
    right = [each.argmax(axis=1) == truth for each in (commonest, by_original, by_release)]
    return Lesson(
        target,
        int((known > 0).sum()),
        _predicted(truth, commonest),
        _predicted(truth, by_original),
        _predicted(truth, by_release),
        lost=int((right[1] & ~right[2]).sum()),
        gained=int((~right[1] & right[2]).sum()),
        won=int((right[1] & ~right[0]).sum()),
        missed=int((~right[1] & right[0]).sum()),
    )


def _predicted(truth: Ints, chances: Floats) -> Predicted:
    """How good the chances (n, classes) of each class are, against the truth (n,)."""
    from sklearn.metrics import f1_score, recall_score, roc_auc_score

    named, there = chances.argmax(axis=1), np.unique(truth)
    curves = [roc_auc_score(truth == one, chances[:, one]) for one in there] if there.size > 1 else []
    return Predicted(
        Rate(int((named == truth).sum()), truth.size),
        float(recall_score(truth, named, labels=there, average="macro", zero_division=0)),
        float(np.mean(curves)) if curves else None,
        float(f1_score(truth, named, average="macro", zero_division=0)),
    )


def _check_classes(target: str, labels: Ints, tested: Ints) -> None:
    found = np.unique(labels).size
    if found < 2:
        raise InputError(f"{target} has one value only, so there is nothing to learn")
    if found > MOST_CLASSES:
        raise InputError(f"{target} has {found} values; a target may have at most {MOST_CLASSES}")
    if min(labels.size, tested.size) < FEWEST:
        raise InputError(f"{target} is known of too few records to train on some and test with others")


def _described(lessons: _Lessons, target: str, records: Ints) -> tuple[Floats, Floats]:
    """These records, and the rows to train on, by all columns that rows show, but the target."""
    points, regions = [], []
    for column in lessons.columns.values():
        if column.of is not None and column.name != target:
            by_value, by_cell = column.features(lessons.train)
            points.append(by_value[column.at[records]])
            regions.append(by_cell[column.of[lessons.rows]])
    if not regions:
        raise InputError(f"no column but {target} is published, so there is nothing to learn from")
    return np.concatenate(points, axis=1), np.concatenate(regions, axis=1)


def _labelled(lessons: _Lessons, target: str, by_value: Ints) -> tuple[Ints, Ints, Floats]:
    """Which of the rows to train on, once for each class that they leave possible, weighted by its share."""
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
    return row, label, share[row, label]


def _taught(features: Floats, labels: Ints, weight: Floats, asked: Floats, classes: int) -> Floats:
    """How likely each class is of those that are asked, for a classifier that saw these examples."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    chances, met = np.zeros((len(asked), classes)), np.unique(labels)
    if met.size == 1:
        chances[:, met[0]] = 1.0
        return chances
    # The order of published rows is random, and must not move a sum's last digit.
    order = np.lexsort((weight, labels, *features.T))
    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS, learning_rate=RATE, early_stopping=False, random_state=SEED
    )
    with threadpool_limits(1):  # threads that wait for each other on a busy machine take ten times as long
        model.fit(features[order], labels[order], sample_weight=weight[order])
        chances[:, model.classes_] = model.predict_proba(asked)
    return chances
