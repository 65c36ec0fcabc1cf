"""Hints: what was probably meant by a value that a release does not name.

Everything that a hint names is published: values and labels of cells, totals and hierarchies. So a hint
tells nobody more than the release does.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal

from incrowd.predicate import Condition, canonical
from incrowd.queries.columns import PublishedColumn, RangeColumn, ValuesColumn, not_at_hand, remedy
from incrowd.schema import Kind
from incrowd.values import number_text

MOST_NAMED = 3  # values that a hint proposes
MOST_LISTED = 8  # values of a column that are few enough to list
CLOSE = 0.75  # how alike a value must be that is proposed without any better reason, from 0 to 1


def hints(
    columns: Mapping[str, PublishedColumn], where: Mapping[str, Sequence[Condition]]
) -> tuple[str, ...]:
    """One sentence for each value that is asked for and that the release does not name."""
    return tuple(hint for name, conditions in where.items() for hint in _hints(columns[name], conditions))


def _hints(column: PublishedColumn, conditions: Sequence[Condition]) -> Iterator[str]:
    if isinstance(column, RangeColumn):
        yield from _outside(column, conditions)
        return
    if column.compares_labels(conditions):
        yield f"{not_at_hand(column.name)}, so by < and > its rows count perhaps; {remedy(column.name)}"
    asked = [text for one in conditions if one.by_name for text in one.literals]
    for text in dict.fromkeys(asked):
        if canonical(text, column.kind) not in column.named:
            yield f"no cell, total or hierarchy names {text!r} in {column.name}{_meant(text, column)}"


def _outside(column: RangeColumn, conditions: Sequence[Condition]) -> Iterator[str]:
    if conditions and column.real.any() and not column.match(conditions).possible.any():
        low, high = (_end(int(end), column) for end in (column.low[column.real].min(), column.high.max()))
        yield f"no cell of {column.name} has what is asked for; its cells go from {low} to {high}"


def _end(units: int, column: RangeColumn) -> str:
    if column.kind is Kind.DATE:
        return date.fromordinal(units).isoformat()
    return number_text(Decimal(units).scaleb(-column.scale))


def _meant(text: str, column: ValuesColumn) -> str:
    names = sorted(column.named)
    found = likely(text, names)
    if found:
        return f": did you mean {' or '.join(map(repr, found))}?"
    if 0 < len(names) <= MOST_LISTED:
        return f"; it has {', '.join(map(repr, names))}"
    return ""


def likely(text: str, names: Iterable[str]) -> list[str]:
    """The names that a text probably means, from the surest reason that any has.

    Examples
    --------
    >>> sexes = ["Female", "Male"]
    >>> likely(" male", sexes), likely("F", sexes), likely("Mael", sexes), likely("2", sexes)
    (['Male'], ['Female'], ['Male'], [])
    """
    bare = _bare(text)
    known = {name: _bare(name) for name in names if name}
    if not bare:
        return []
    reasons = (
        lambda own: own == bare,
        lambda own: not bare.isdecimal() and one_edit(own, bare) and len(bare) > 2,
        lambda own: not bare.isdecimal() and own.startswith(bare),
        lambda own: len(own) > 2 and not own.isdecimal() and bare.startswith(own),
    )
    for reason in reasons:
        found = [name for name, own in known.items() if reason(own)]
        if found:
            return found[:MOST_NAMED] if len(found) <= MOST_NAMED else []
    close = difflib.get_close_matches(bare, known.values(), n=1, cutoff=CLOSE)
    return [name for name, own in known.items() if own in close][:1] if not bare.isdecimal() else []


def _bare(text: str) -> str:
    """A text without capitals, blanks and what joins words."""
    return "".join(sign for sign in text.casefold() if sign not in " \t\u00a0_-.'\"")


def one_edit(one: str, other: str) -> bool:
    """Does one sign too many, too few or wrong, or two in the wrong order, make the difference?

    Examples
    --------
    >>> one_edit("male", "mael"), one_edit("male", "mle"), one_edit("male", "mile"), one_edit("male", "milk")
    (True, True, True, False)
    """
    if abs(len(one) - len(other)) > 1:
        return False
    start = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    a, b = one[start:], other[start:]
    swapped = len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]
    return swapped or a[1:] == b[1:] or a[1:] == b or a == b[1:]
