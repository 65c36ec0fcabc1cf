"""Questions to a release: its columns, and answers with certain bounds, from its published files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Any

from incrowd.errors import IncrowdError, InputError
from incrowd.queries import Answer, Queryable
from incrowd.queries.answer import Bound
from incrowd.queries.columns import PublishedColumn, RangeColumn
from incrowd.schema import Kind
from incrowd.studio.questions.open_table import OpenTable
from incrowd.values import number_text

MOST_VALUES = 200  # that a list offers
FEW_NUMBERS = 12  # that are chosen from a list; of more, from one to another
MOST_GROUPS = 200  # that a page shows
PLACES = 10**4  # bounds have four decimals, rounded outwards
AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")
KEPT = "the release that is asked"


def _opened(opened: OpenTable, release: str, stamp: str) -> Queryable:
    """Read once; another release takes its place."""
    known = opened.remembered.get(KEPT)
    if known is None or known[0] != (release, stamp):
        opened.remembered.pop(KEPT, None)
        opened.remembered[KEPT] = known = ((release, stamp), Queryable.load(release))
    found: Queryable = known[1]
    return found


def release_columns(opened: OpenTable, release: str, stamp: str) -> list[dict[str, Any]]:
    """The columns that can be asked about: kind, ends of ranges, or values to choose from."""
    published = _opened(opened, release, stamp).published
    return [_described(published.column(name)) for name in published.names]


def _described(column: PublishedColumn) -> dict[str, Any]:
    about: dict[str, Any] = {
        "name": column.name,
        "kind": str(column.kind),
        "values": [],
        "low": "",
        "high": "",
    }
    if isinstance(column, RangeColumn):
        if column.real.any():
            ends = int(column.low[column.real].min()), int(column.high[column.real].max())
            about["low"], about["high"] = (_end(end, column) for end in ends)
        return about | {"ranges": True, "groups": False}
    try:
        values = column.values()
    except IncrowdError:
        return about | {"ranges": column.kind is not Kind.CATEGORICAL, "groups": False}
    numbers = column.kind in (Kind.NUMERIC, Kind.DATE)
    if numbers:
        values = sorted(values, key=_by_size)
        about["low"], about["high"] = (values[0], values[-1]) if values else ("", "")
    few = len(values) <= (FEW_NUMBERS if numbers else MOST_VALUES)
    return about | {"ranges": numbers and not few, "groups": True, "values": values if few else []}


def _by_size(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text


def _end(units: int, column: RangeColumn) -> str:
    if column.kind is Kind.DATE:
        return date.fromordinal(units).isoformat()
    return number_text(Decimal(units).scaleb(-column.scale))


# A form as SQL


def question_sql(
    aggregate: str, of: str, conditions: Sequence[tuple[str, str, str]], by: str, kinds: Mapping[str, str]
) -> str:
    """A form as a query; conditions are (column, operator, value), empty values ask nothing.

    Examples
    --------
    >>> kinds = {"sex": "categorical", "age": "numeric"}
    >>> question_sql("AVG", "age", [("sex", "=", "F"), ("age", ">=", "30")], "", kinds)
    'SELECT AVG("age") WHERE "sex" = \\'F\\' AND "age" >= 30'
    """
    if aggregate not in AGGREGATES:
        raise InputError("choose what is asked for: how many, the sum, or the average")
    if aggregate != "COUNT" and not of:
        raise InputError(f"say of which column the {aggregate} is asked")
    said = [
        f"{_quoted(name)} {operator} {_literal(value.strip(), kinds.get(name, ''))}"
        for name, operator, value in conditions
        if value.strip()
    ]
    what = f"SELECT {aggregate}({_quoted(of) if of else '*'})"
    where = f" WHERE {' AND '.join(said)}" if said else ""
    return f"{what}{where}{f' GROUP BY {_quoted(by)}' if by else ''}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(value: str, kind: str) -> str:
    if kind == Kind.NUMERIC:
        try:
            number = Decimal(value)
        except ArithmeticError:
            raise InputError("a number was expected; write it with digits and a point") from None
        if number.is_finite():
            return number_text(number)
    return "'" + value.replace("'", "''") + "'"


def ask_release(
    opened: OpenTable,
    release: str,
    stamp: str,
    sql: str = "",
    form: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The answer to SQL or to a form, as numbers and as the page says them."""
    asked = _opened(opened, release, stamp)
    if form is not None:
        published = asked.published
        kinds = {name: str(published.column(name).kind) for name in published.names}
        conditions = [(str(a), str(b), str(c)) for a, b, c in form["conditions"]]
        sql = question_sql(form["aggregate"], form["of"], conditions, form["by"], kinds)
    if not sql.strip():
        raise InputError("nothing was asked; write a query such as SELECT COUNT(*)")
    answer = asked.ask(sql)
    groups = [{"value": value, **_shown(one)} for value, one in answer.groups.items()]
    return {
        "sql": sql,
        "by": answer.by,
        "grouped": answer.grouped() if answer.by else "",
        **_shown(answer),
        "about": answer.about,
        "hints": list(answer.hints),
        "groups": groups[:MOST_GROUPS],
        "more_groups": max(len(groups) - MOST_GROUPS, 0),
        "exactly": replace(answer, groups={}, by="").to_dict(),
    }


def _shown(answer: Answer) -> dict[str, Any]:
    return {
        "aggregate": answer.aggregate,
        "low": _text(answer.lower, up=False),
        "high": _text(answer.upper, up=True),
        "exact": answer.exact,
        "nobody": answer.nobody and answer.aggregate != "COUNT" and bool(answer.rows),
        "estimate": _estimate(answer),
        "interval": None if answer.interval is None else _interval(*answer.interval),
        "rows": answer.rows,
        "matches": answer.matches,
        "assumption": "" if answer.exact else answer.assumption,
        "bar": _bar(answer),
    }


def _text(bound: Bound | None, up: bool) -> str | None:
    """A bound to read: rounded outwards where it has more than four decimals."""
    if bound is None:
        return None
    if isinstance(bound, date):
        return bound.isoformat()
    scaled = Fraction(bound) * PLACES
    rounded = Fraction(ceil(scaled) if up else floor(scaled), PLACES)
    if rounded.denominator == 1:
        return f"{int(rounded):,}"
    return f"{float(rounded):,.4f}".rstrip("0").rstrip(".")


def _estimate(answer: Answer) -> str | None:
    if answer.estimate is None:
        return None
    if answer.aggregate == "COUNT":
        return f"{answer.estimate:,.0f}" if answer.estimate >= 10 else f"{answer.estimate:.1f}"
    return f"{answer.estimate:,.4f}".rstrip("0").rstrip(".")


def _interval(low: float, high: float) -> list[str]:
    """Whole people, rounded outwards."""
    return [f"{floor(low):,}", f"{ceil(high):,}"]


def _bar(answer: Answer) -> dict[str, float] | None:
    """Where the estimate and its interval lie between the certain bounds, from 0 to 100."""
    low, high = answer.lower, answer.upper
    if low is None or high is None or isinstance(low, date) or isinstance(high, date) or low >= high:
        return None
    width = float(Fraction(high) - Fraction(low))

    def place(value: float) -> float:
        return round(min(max(100 * (value - float(low)) / width, 0.0), 100.0), 2)

    found = {} if answer.estimate is None else {"estimate": place(answer.estimate)}
    if answer.interval is not None:
        first, last = (place(end) for end in answer.interval)
        found |= {"first": first, "wide": round(last - first, 2)}
    return found


QUESTIONS = {"release_columns": release_columns, "ask_release": ask_release}
