"""Questions that matter to somebody: how far off are the answers of a release?

The release answers from its published files (`query/`). The truth is counted on the original by a plain
evaluation of the same question, which shares no arithmetic with those answers: so it can find them wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from operator import ge, gt, le, lt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError, PolicyError, unknown
from incrowd.flow import Codes, Microdata, Table
from incrowd.policy.file import read_toml
from incrowd.queries import Answer, Queryable
from incrowd.queries.answer import Bound, said_exactly
from incrowd.queries.asked import quantity
from incrowd.queries.columns import measured
from incrowd.queries.sql import Condition, Name, Question, parse
from incrowd.schema import Kind, Role, Schema
from incrowd.values import Value, read_texts

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}


@dataclass(frozen=True, slots=True)
class Weighted:
    """A question in SQL, and how much it matters."""

    sql: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Workload:
    """Questions, or how many boxes to ask for and which share of the domain each covers."""

    queries: tuple[Weighted, ...] = ()
    boxes: int = 0
    share: float = 0.0

    @classmethod
    def load(cls, path: str | Path) -> Workload:
        """Read a file: tables ``[[query]]`` with ``sql`` and ``weight``, or ``random`` boxes.

        Raises
        ------
        PolicyError
            If the file is no such workload. No query is quoted: it may name values of the table.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> place = tempfile.TemporaryDirectory()
        >>> file = pathlib.Path(place.name) / "workload.toml"
        >>> _ = file.write_text("[[query]]\\nsql = 'SELECT COUNT(*) WHERE age < 30'\\nweight = 2\\n")
        >>> Workload.load(file).queries
        (Weighted(sql='SELECT COUNT(*) WHERE age < 30', weight=2.0),)
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


def _weighted(said: object, number: int) -> Weighted:
    if not isinstance(said, Mapping) or not isinstance(said.get("sql"), str):
        raise PolicyError(f"query {number} of the workload needs a text 'sql'")
    strange = sorted(set(said) - {"sql", "weight"})
    if strange:
        raise PolicyError(unknown(f"in query {number} of a workload", strange, ["sql", "weight"]))
    weight = _number(said.get("weight", 1))
    if not 0 < weight < float("inf"):
        raise PolicyError(f"the weight of query {number} of the workload must be a number above 0")
    return Weighted(said["sql"], weight)


def _number(said: object) -> float:
    """A number of a file, -1 for anything else: every number that is wanted lies above 0."""
    return float(said) if isinstance(said, int | Decimal) and not isinstance(said, bool) else -1.0


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """Exact values by code, None where missing, the code of each record, and the codes under each label."""

    name: str
    kind: Kind
    codes: Codes
    values: Sequence[Value | None]
    labels: Mapping[str, range]

    def satisfies(self, one: Condition) -> NDArray[np.bool_]:
        """Who satisfies a condition, record by record; a missing value satisfies none."""
        if one.operator in ("=", "<>", "IN"):
            chosen = {code for text in one.literals for code in self._meant(text)}
            wanted = one.operator != "<>"
            by_code = [(code in chosen) is wanted for code in range(len(self.values))]
        else:
            ends = [quantity(text, self.kind, self.name) for text in one.literals]
            by_code = [value is not None and _ordered(value, one.operator, ends) for value in self.values]
        allowed = [yes and value is not None for yes, value in zip(by_code, self.values, strict=True)]
        return np.array(allowed, np.bool_)[self.codes]

    def _meant(self, text: str) -> Sequence[int]:
        """The codes that a literal stands for: those under a label, or one value."""
        if text in self.labels:
            return self.labels[text]
        (value,) = read_texts([text], self.kind)
        return [code for code, own in enumerate(self.values) if own == value]


def _ordered(value: Value, operator: str, ends: Sequence[Any]) -> bool:
    if operator == "BETWEEN":
        return bool(ends[0] <= value <= ends[1])
    return _ORDER[operator](value, ends[0])


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
    _read: dict[str, _Column] = field(default_factory=dict, init=False, repr=False)  # those asked about

    def answer(self, question: Question, release: Queryable) -> Bound | None:
        """What SQL says; None is NULL, but that a sum of nobody is 0, as in `Queryable.ask`."""
        taken = np.ones(len(self.table), np.bool_)
        for one in question.where:
            column = self._column(one.column, release)
            if one.operator not in ("=", "<>", "IN"):
                measured(release.published.column(column.name))
            taken &= column.satisfies(one)
        if question.column is None:
            return int(taken.sum())
        of = self._column(question.column, release)
        count: list[int] = np.bincount(of.codes[taken], minlength=len(of.values)).tolist()
        known = [(value, n) for value, n in zip(of.values, count, strict=True) if n and value is not None]
        if question.aggregate == "COUNT":
            return sum(n for _, n in known)
        return _aggregated(question.aggregate, [(_exact(value), n) for value, n in known])

    def _column(self, name: Name, release: Queryable) -> _Column:
        """A column by a name that the release has already answered to."""
        names = release.published.names
        alike = [own for own in names if own.casefold() == name.text.casefold()]
        own = name.text if name.text in names else alike[0]
        if own not in self._read:
            kind = release.published.column(own).kind
            quasi = self.schema.column(own).role is Role.QUASI
            self._read[own] = self._generalised(own, kind) if quasi else self._as_written(own, kind)
        return self._read[own]

    def _as_written(self, name: str, kind: Kind) -> _Column:
        column = self.table.column(name)
        texts = [None if text in self.missing else text for text in column.texts]
        return _Column(name, kind, column.codes, _values(texts, kind, self.schema.column(name).format), {})

    def _generalised(self, name: str, kind: Kind) -> _Column:
        j = [attribute.name for attribute in self.data.attributes].index(name)
        domain = self.data.attributes[j]
        texts = [None if code == domain.missing else text for code, text in enumerate(domain.texts)]
        labels = {}
        if domain.tree is not None:
            nodes = zip(domain.tree.labels, domain.tree.low.tolist(), domain.tree.high.tolist(), strict=True)
            leaves = set(domain.tree.leaves)
            labels = {label: range(low, high + 1) for label, low, high in nodes if label not in leaves}
        return _Column(name, kind, self.data.codes[:, j], _values(texts, kind), labels)


def _values(texts: Sequence[str | None], kind: Kind, format: str = "") -> list[Value | None]:
    read = read_texts([text or "" for text in texts], kind, format)
    return [None if text is None else value for text, value in zip(texts, read, strict=True)]


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
class Compared:
    """One question: the truth, what the release says, and the relative error, None where there is none."""

    sql: str
    weight: float
    truth: Bound | None
    answer: Answer
    error: float | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "sql": self.sql,
            "weight": self.weight,
            "truth": said_exactly(self.truth),
            "lower": said_exactly(self.answer.lower),
            "upper": said_exactly(self.answer.upper),
            "estimate": self.answer.estimate,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Errors:
    """All questions of a workload, in their order."""

    queries: tuple[Compared, ...]

    @property
    def mean(self) -> float | None:
        """The weighted mean of all errors that there are."""
        told = [(one.weight, one.error) for one in self.queries if one.error is not None]
        total = sum(weight for weight, _ in told)
        return sum(weight * error for weight, error in told) / total if told else None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `empty` counts truths that nothing can be divided by, `unanswered` the other gaps."""
        gaps = [one for one in self.queries if one.error is None]
        empty = sum(not one.truth for one in gaps)
        return {
            "error": self.mean,
            "empty": empty,
            "unanswered": len(gaps) - empty,
            "queries": [one.as_dict() for one in self.queries],
        }


def relative_errors(
    queries: Sequence[Weighted], release: Queryable, original: Original, left_out: int = 0
) -> Errors:
    """Ask a release and its original the same questions.

    Parameters
    ----------
    left_out : int
        Records that have no row. The truth is about them too, the release's bounds are not: then only
        counts are checked.

    Raises
    ------
    InputError
        If a question cannot be asked, or exact answers lie outside the bounds, which hold for whatever table
        the release was made from: then it was another one.
    """
    told = []
    for number, one in enumerate(queries, 1):
        question = parse(one.sql)
        if question.group is not None:
            raise InputError(f"query {number} of the workload has GROUP BY; ask for each value by itself")
        answer = release.ask(one.sql)
        truth = original.answer(question, release)
        told.append(Compared(one.sql, one.weight, truth, answer, _relative(truth, answer.estimate)))
    outside = sum(not _inside(one, left_out) for one in told)
    if outside:
        raise InputError(
            f"the exact answers to {outside} of {len(told)} queries lie outside the bounds that the release "
            "gives: it was made from another table; see incrowd verify"
        )
    return Errors(tuple(told))


def _relative(truth: Bound | None, estimate: float | None) -> float | None:
    if not truth or estimate is None or isinstance(truth, date):
        return None
    return float(abs(Fraction(estimate) / Fraction(truth) - 1))


def _inside(one: Compared, left_out: int) -> bool:
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
