"""A query workload: the relative errors of a release's answers.

The release answers from its published files. The truth is counted on the original by a plain evaluation of
the same query, which shares no arithmetic with those answers: so it can find them wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.errors import InputError, PolicyError, unknown
from incrowd.flow import Codes, Microdata, Table
from incrowd.policy.file import read_toml
from incrowd.predicate import ValueDomain
from incrowd.predicate.sql import Question, parse
from incrowd.queries import Answer, Queryable
from incrowd.queries.answer import Bound, exact_text
from incrowd.queries.queryable import PLACE
from incrowd.schema import Kind, Schema
from incrowd.values import Value, read_texts


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """A question in SQL, and how much it matters."""

    sql: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Workload:
    """Questions, or how many boxes to ask for and which share of the domain each covers."""

    queries: tuple[WeightedQuery, ...] = ()
    boxes: int = 0
    share: float = 0.0

    @classmethod
    def load(cls, path: str | Path) -> Workload:
        """Read a file: tables ``[[query]]`` with ``sql`` and ``weight``, or ``random`` boxes.

        No error quotes a query: it may name values of the table.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(place.name) / "workload.toml"
        >>> _ = file.write_text("[[query]]\\nsql = 'SELECT COUNT(*) WHERE age < 30'\\nweight = 2\\n")
        >>> Workload.load(file).queries
        (WeightedQuery(sql='SELECT COUNT(*) WHERE age < 30', weight=2.0),)
        >>> place.cleanup()
        """
        path = Path(path)
        if not path.is_file():
            raise PolicyError(f"the workload {path} does not exist, or is no file")
        said = read_toml(path)
        if set(said) == {"random"}:
            return cls(**_random(said["random"]))
        if set(said) != {"query"} or not isinstance(said["query"], list) or not said["query"]:
            raise PolicyError("a workload has either tables [[query]] or random = {boxes = 100, share = 0.1}")
        return cls(tuple(_weighted(one, number) for number, one in enumerate(said["query"], 1)))


def _random(said: object) -> dict[str, Any]:
    known = {"boxes", "share"}
    if not isinstance(said, Mapping) or set(said) != known:
        raise PolicyError("random boxes need 'boxes', their number, and 'share' of the domain, no more")
    boxes, share = said["boxes"], said["share"]
    if type(boxes) is not int or not 1 <= boxes <= 100_000:
        raise PolicyError("the number of random boxes must be a whole number from 1 to 100,000")
    if not 0 < (size := _number(share)) <= 1:
        raise PolicyError("the share of random boxes must be a number above 0 and at most 1")
    return {"boxes": boxes, "share": size}


def _weighted(said: object, number: int) -> WeightedQuery:
    if not isinstance(said, Mapping) or not isinstance(said.get("sql"), str):
        raise PolicyError(f"query {number} of the workload needs a text 'sql'")
    strange = sorted(set(said) - {"sql", "weight"})
    if strange:
        raise PolicyError(unknown(f"in query {number} of a workload", strange, ["sql", "weight"]))
    weight = _number(said.get("weight", 1))
    if not 0 < weight < float("inf"):
        raise PolicyError(f"the weight of query {number} of the workload must be a number above 0")
    return WeightedQuery(said["sql"], weight)


def _number(said: object) -> float:
    """A number of a file, -1 for anything else: every number that is wanted lies above 0."""
    return float(said) if isinstance(said, int | Decimal) and not isinstance(said, bool) else -1.0


@dataclass(frozen=True, slots=True, eq=False)
class Original:
    """The table that a release was made from, asked exactly.

    ``missing`` are texts that mean missing in columns that are published as they are: those that whoever
    asks the release knows of.
    """

    table: Table
    schema: Schema
    data: Microdata
    missing: frozenset[str]
    _read: dict[str, tuple[Codes, ValueDomain]] = field(
        default_factory=dict, init=False, repr=False
    )  # those asked about

    def answer(self, question: Question, release: Queryable) -> Bound | None:
        """What SQL says; None is NULL, but that a sum of nobody is 0, as in `Queryable.ask`."""
        names = release.published.names
        taken = np.ones(len(self.table), np.bool_)
        for name, conditions in question.where.by_column(names, PLACE).items():
            codes, domain = self._column(name, release)
            taken &= domain.satisfying(conditions)[codes]
        if question.column is None:
            return int(taken.sum())
        codes, of = self._column(question.column.among(names, PLACE), release)
        count: list[int] = np.bincount(codes[taken], minlength=len(of)).tolist()
        known = [(value, n) for value, n in zip(of.values, count, strict=True) if n and value is not None]
        if question.aggregate == "COUNT":
            return sum(n for _, n in known)
        return _aggregated(question.aggregate, [(_exact(value), n) for value, n in known])

    def _column(self, name: str, release: Queryable) -> tuple[Codes, ValueDomain]:
        """The code of each record, and what codes mean."""
        if name not in self._read:
            names = [attribute.name for attribute in self.data.attributes]
            if name in names:
                j = names.index(name)
                self._read[name] = self.data.codes[:, j], ValueDomain.of(self.data.attributes[j])
            else:
                self._read[name] = self._as_written(name, release.published.column(name).kind)
        return self._read[name]

    def _as_written(self, name: str, kind: Kind) -> tuple[Codes, ValueDomain]:
        column = self.table.column(name)
        read = read_texts([text or "" for text in column.texts], kind, self.schema.column(name).format)
        pairs = zip(column.texts, read, strict=True)
        values = [None if text is None or text in self.missing else value for text, value in pairs]
        return column.codes, ValueDomain(name, kind, values)


def _exact(value: Value) -> Fraction | date:
    if isinstance(value, str):
        raise TypeError("a text is no quantity")
    return value if isinstance(value, date) else Fraction(value)


def _aggregated(aggregate: str, known: Sequence[tuple[Any, int]]) -> Bound | None:
    found: Bound | None = None
    if aggregate in ("SUM", "AVG"):
        people = 1 if aggregate == "SUM" else sum(n for _, n in known)
        found = sum((value * n for value, n in known), Fraction(0)) / people if people else None
    elif known:
        found = (min if aggregate == "MIN" else max)(value for value, _ in known)
    return found


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """One query: the truth, the answer of the release, and the relative error, None where there is none."""

    sql: str
    weight: float
    truth: Bound | None
    answer: Answer
    error: float | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "sql": self.sql,
            "weight": self.weight,
            "truth": exact_text(self.truth),
            "lower": exact_text(self.answer.lower),
            "upper": exact_text(self.answer.upper),
            "estimate": self.answer.estimate,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class WorkloadErrors:
    """All questions of a workload, in their order."""

    queries: tuple[CheckedAnswer, ...]

    @property
    def mean(self) -> float | None:
        """The weighted mean of all errors that there are."""
        told = [(one.weight, one.error) for one in self.queries if one.error is not None]
        total = sum(weight for weight, _ in told)
        return sum(weight * error for weight, error in told) / total if told else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `empty` counts truths that nothing can be divided by, `unanswered` the other gaps."""
        gaps = [one for one in self.queries if one.error is None]
        empty = sum(not one.truth for one in gaps)
        return {
            "error": self.mean,
            "empty": empty,
            "unanswered": len(gaps) - empty,
            "queries": [one.to_dict() for one in self.queries],
        }


def relative_errors(
    queries: Sequence[WeightedQuery], release: Queryable, original: Original, left_out: int = 0
) -> WorkloadErrors:
    """Ask a release and its original the same questions.

    Bounds hold for whatever table the release was made from: where exact answers lie outside, it was another
    one. Records that were `left_out` have no row. The truth is about them too, the release's bounds are not:
    then only counts are checked.
    """
    told = []
    for number, one in enumerate(queries, 1):
        question = parse(one.sql)
        if question.group is not None:
            raise InputError(f"query {number} of the workload has GROUP BY; ask for each value by itself")
        answer = release.ask(one.sql)
        truth = original.answer(question, release)
        told.append(CheckedAnswer(one.sql, one.weight, truth, answer, _relative(truth, answer.estimate)))
    outside = sum(not _inside(one, left_out) for one in told)
    if outside:
        raise InputError(
            f"the exact answers to {outside} of {len(told)} queries lie outside the bounds that the release "
            "gives: it was made from another table; see incrowd verify"
        )
    return WorkloadErrors(tuple(told))


def _relative(truth: Bound | None, estimate: float | None) -> float | None:
    if not truth or estimate is None or isinstance(truth, date):
        return None
    return float(abs(Fraction(estimate) / Fraction(truth) - 1))


def _inside(one: CheckedAnswer, left_out: int) -> bool:
    lower, upper, truth = one.answer.lower, one.answer.upper, one.truth
    if left_out and one.answer.aggregate != "COUNT":
        return True
    if truth is None:
        return one.answer.nobody
    if lower is None or upper is None:
        return one.answer.rows > 0  # somebody, of whom nothing is certain
    least: Any = lower  # all of them numbers, or all days
    most: Any = upper + left_out if isinstance(upper, int) else upper
    return bool(least <= truth <= most)
