"""What only somebody who knows the data can say: a question for each undecided column, and what follows."""

from __future__ import annotations

from dataclasses import dataclass

from incrowd.commands.inspect.profile import ColumnProfile
from incrowd.schema import Role


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the answers: the letter for it, what it means to the person asked, and the role that follows."""

    letter: str
    words: str
    role: Role
    reason: str


ANSWERS: tuple[Answer, ...] = (
    Answer("k", "somebody could know it", Role.QUASI, "answered: somebody could know it"),
    Answer("p", "nobody knows it, it is private", Role.SENSITIVE, "answered: nobody knows it, it is private"),
    Answer("n", "it names or numbers a person", Role.IDENTIFIER, "answered: it names or numbers a person"),
    Answer("h", "harmless, the same about everybody", Role.KEEP, "answered: harmless"),
    Answer("d", "nobody needs it", Role.DROP, "answered: nobody needs it"),
    Answer("", "hold it back for now", Role.UNDECIDED, ""),
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


def answer_of(text: str) -> Answer | None:
    """The answer that a text means; None if it means none.

    Examples
    --------
    >>> answer_of("K ").role.value, answer_of("").role.value, answer_of("maybe")
    ('quasi_identifier', 'undecided', None)
    """
    given = text.strip().casefold()
    return next((answer for answer in ANSWERS if given == answer.letter or given == answer.words), None)
