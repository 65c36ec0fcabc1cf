"""What only somebody who knows the data can say: a question for each undecided column, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.commands.inspect import names
from incrowd.commands.inspect.profile import ColumnProfile
from incrowd.results import LEAST_SERIES, listed
from incrowd.schema import Role


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """One of the answers: the letter for it, what it means to the person asked, and the role that follows."""

    letter: str
    words: str
    role: Role
    reason: str


ANSWERS: tuple[RoleChoice, ...] = (
    RoleChoice("k", "somebody could know it", Role.QUASI, "answered: somebody could know it"),
    RoleChoice(
        "p", "nobody knows it, it is private", Role.SENSITIVE, "answered: nobody knows it, it is private"
    ),
    RoleChoice(
        "n", "it names or numbers a person", Role.IDENTIFIER, "answered: it names or numbers a person"
    ),
    RoleChoice("h", "harmless, the same about everybody", Role.KEEP, "answered: harmless"),
    RoleChoice("d", "nobody needs it", Role.DROP, "answered: nobody needs it"),
    RoleChoice("", "hold it back for now", Role.UNDECIDED, ""),
)
CHOICES = "; ".join(f"{answer.letter or 'Enter'} = {answer.words}" for answer in ANSWERS)


def question(column: ColumnProfile, rows: int) -> str:
    """The question about a column, in one sentence without any of its values.

    Examples
    --------
    >>> from incrowd.schema import Kind
    >>> q17 = ColumnProfile("q17", Kind.NUMERIC, 5, 0, 0, Role.UNDECIDED, "")
    >>> question(q17, 100)[:45]
    'q17 (numeric, 5 values): could a neighbour, c'
    """
    lone = f", {column.once:,} of them in one row only" if column.once else ""
    gone = f", missing in {column.missing / rows:.0%}" if column.missing else ""
    return (
        f"{column.name} ({column.kind}, {column.distinct:,} values{lone}{gone}): could a neighbour, "
        "colleague, relative or anybody else know this about somebody in the table?"
    )


EACH = "e"  # not one answer for a series: ask about each of its columns
MOST_ANSWERS = 20  # values of a column that is asked about together with others


def asked_at_once(columns: Sequence[ColumnProfile]) -> list[tuple[ColumnProfile, ...]]:
    """The columns in the order in which they are asked about: a series of coded answers at once.

    A series has one name but for the number at its end, and few values in each column. What has many values
    (the year of birth among the answers to a questionnaire) is asked about by itself.
    """
    series: dict[str, list[ColumnProfile]] = {}
    for column in columns:
        alone = column.distinct > MOST_ANSWERS or bool(column.readings)
        stem = names.stem(column.name)
        numbered = stem != column.name.casefold() and stem
        key = stem if numbered and not alone else f"={column.name}"
        series.setdefault(key, []).append(column)
    found = [
        [tuple(some)] if len(some) >= LEAST_SERIES else [(column,) for column in some]
        for some in series.values()
    ]
    return sorted((one for some in found for one in some), key=lambda one: columns.index(one[0]))


def question_of_a_series(columns: Sequence[ColumnProfile]) -> str:
    """The question about columns that are asked about at once."""
    most = max(column.distinct for column in columns)
    return (
        f"{listed([column.name for column in columns])} ({len(columns)} columns of at most {most} values): "
        "could a neighbour, colleague, relative or anybody else know any of this about somebody in the "
        f"table? {EACH} = ask about each"
    )


def answer_of(text: str) -> RoleChoice | None:
    """The answer that a text means; None if it means none.

    Examples
    --------
    >>> answer_of("K ").role.value, answer_of("").role.value, answer_of("maybe")
    ('quasi_identifier', 'undecided', None)
    """
    given = text.strip().casefold()
    return next((answer for answer in ANSWERS if given == answer.letter or given == answer.words), None)
