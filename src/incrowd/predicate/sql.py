"""Parsing SQL: the queries and conditions that are supported, and one sentence for everything else."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from incrowd.errors import InputError
from incrowd.predicate import Condition, Name, Operator, Predicate

Aggregate = Literal["COUNT", "SUM", "AVG", "MIN", "MAX"]

LONGEST = 20_000  # characters of a query
FORM = "SELECT COUNT(*) [WHERE age <= 36 AND sex = 'F']"
EVERYBODY = Predicate()
WHERE = "age <= 36 AND sex = 'F'"
_AGGREGATES: dict[type[exp.Expr], Aggregate] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
}
_COMPARISONS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TURNED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CLAUSES = {
    "with": "WITH",
    "joins": "JOIN, or more than one table",
    "having": "HAVING",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "distinct": "DISTINCT",
    "windows": "WINDOW",
    "qualify": "QUALIFY",
}
_PARTS = {"expressions", "from", "where", "group"}

# It warns of statements that it does not know, and quotes them: a query may say more than logs should hold.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Question:
    """An aggregate over those who satisfy a predicate; for each value of `group`, if there is one."""

    aggregate: Aggregate
    column: Name | None = None
    where: Predicate = EVERYBODY
    group: Name | None = None


def parse(text: str) -> Question:
    """Read a query; an error says what is not supported.

    Examples
    --------
    >>> asked = parse("select avg(age) from clinic where sex = 'F' and age <= 36")
    >>> asked.aggregate, asked.column.text, [c.operator for c in asked.where.conditions]
    ('AVG', 'age', ['=', '<='])
    >>> parse("SELECT COUNT(*) WHERE a = 1 OR b = 2")
    Traceback (most recent call last):
    ...
    incrowd.errors.InputError: OR is not supported in queries; conditions are joined by AND
    """
    tree = _statement(text, "query", FORM)
    if not isinstance(tree, exp.Select):
        _refuse("anything but SELECT", f"write it like {FORM}")
    for name, found in tree.args.items():
        if found and name.rstrip("_") not in _PARTS:
            _refuse(_CLAUSES.get(name.rstrip("_"), name.rstrip("_").upper()))
    _check_source(tree.args.get("from_") or tree.args.get("from"))
    group = _group(tree.args.get("group"))
    aggregate, column = _selected(tree.expressions, group)
    where = tree.args.get("where")
    return Question(aggregate, column, EVERYBODY if where is None else _predicate(where.this), group)


def parse_where(text: str) -> Predicate:
    """Read a condition as it stands after WHERE. An error says what is not supported, and quotes nothing.

    Examples
    --------
    >>> [(c.column.text, c.operator) for c in parse_where("age > 3 AND sex = 'F'").conditions]
    [('age', '>'), ('sex', '=')]
    """
    return _predicate(_statement(text, "condition", WHERE))


def _refuse(what: str, advice: str = "") -> NoReturn:
    raise InputError(f"{what} is not supported in queries{'; ' + advice if advice else ''}")


def _statement(text: str, what: str, form: str) -> exp.Expr:
    if len(text) > LONGEST:
        raise InputError(f"the {what} has {len(text):,} characters; at most {LONGEST:,} are read")
    try:
        read = [tree for tree in sqlglot.parse(text) if tree is not None]
    except (SqlglotError, RecursionError):  # its own words quote the query, which may be somebody's data
        raise InputError(
            f"the {what} cannot be read as SQL; write it like {form}, a name with blanks in double quotes"
        ) from None
    if len(read) != 1:
        raise InputError(f"there must be one {what}, and there are {len(read)}; write it like {form}")
    return read[0]


def _check_source(source: exp.Expr | None) -> None:
    """The release is the only table there is, whatever it is called."""
    if source is not None and not isinstance(source.this, exp.Table):
        _refuse("a subquery")
    if source is not None and source.this.args.get("joins"):
        _refuse(_CLAUSES["joins"])


def _group(group: exp.Expr | None) -> Name | None:
    if group is None:
        return None
    if len(group.expressions) != 1 or any(
        found for name, found in group.args.items() if name != "expressions"
    ):
        _refuse("GROUP BY more than one column")
    return _name(group.expressions[0], "GROUP BY anything but a column")


def _selected(expressions: list[Any], group: Name | None) -> tuple[Aggregate, Name | None]:
    shown = [one.this if isinstance(one, exp.Alias) else one for one in expressions]
    aggregates = [one for one in shown if type(one) in _AGGREGATES]
    plain = [
        _name(one, "SELECT of anything but columns and COUNT, SUM, AVG, MIN, MAX")
        for one in shown
        if type(one) not in _AGGREGATES
    ]
    if len(aggregates) != 1:
        raise InputError(
            f"a query asks for one of COUNT, SUM, AVG, MIN, MAX, and this one for {len(aggregates)}"
        )
    if plain and [name.text.casefold() for name in plain] != ([group.text.casefold()] if group else []):
        _refuse("SELECT of a column that is not the one of GROUP BY", "no row is shown")
    (found,) = aggregates
    if isinstance(found, exp.Count) and isinstance(found.this, exp.Star):
        return "COUNT", None
    if found.expressions:
        _refuse("an aggregate of more than one column")
    kind = _AGGREGATES[type(found)]
    return kind, _name(found.this, f"{kind} of anything but a column")


def _name(found: exp.Expr | None, otherwise: str) -> Name:
    if not isinstance(found, exp.Column) or not isinstance(found.this, exp.Identifier):
        _refuse(otherwise)
    return Name(found.name, bool(found.this.args.get("quoted")))


def _predicate(tree: exp.Expr) -> Predicate:
    return Predicate(tuple(map(_condition, _conjunction(tree))))


def _conjunction(tree: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that AND joins, from left to right; without recursion, however many there are."""
    waiting = [tree]
    while waiting:
        found = waiting.pop()
        if isinstance(found, exp.And):
            waiting += [found.expression, found.this]
        elif isinstance(found, exp.Paren):
            waiting.append(found.this)
        else:
            yield found


def _condition(found: exp.Expr) -> Condition:
    if isinstance(found, exp.Or):
        _refuse("OR", "conditions are joined by AND")
    if isinstance(found, exp.Between):
        literals = (_literal(found.args["low"]), _literal(found.args["high"]))
        return Condition(_compared(found.this), "BETWEEN", literals)
    if isinstance(found, exp.In):
        if found.args.get("query") is not None or not found.expressions:
            _refuse("IN of anything but a list of values")
        return Condition(_compared(found.this), "IN", tuple(map(_literal, found.expressions)))
    operator = _COMPARISONS.get(type(found))
    if operator is None:
        _refuse(f"{found.key.upper()} in WHERE", "a column is compared by =, <>, <, <=, >, >=, BETWEEN or IN")
    if isinstance(found.expression, exp.Column):
        turned = _TURNED.get(operator, operator)
        return Condition(_compared(found.expression), turned, (_literal(found.this),))
    return Condition(_compared(found.this), operator, (_literal(found.expression),))


def _compared(found: exp.Expr) -> Name:
    return _name(found, "a comparison of anything but a column with values")


def _literal(found: exp.Expr) -> str:
    if isinstance(found, exp.Literal):
        return str(found.this)
    if isinstance(found, exp.Neg) and isinstance(found.this, exp.Literal) and not found.this.is_string:
        return f"-{found.this.this}"
    advice = "a text stands in single quotes" if isinstance(found, exp.Column) else ""
    if isinstance(found, exp.Sub):
        advice = "a day stands in single quotes: '2024-02-29'"
    _refuse("a comparison of anything but a column with numbers and texts", advice)
