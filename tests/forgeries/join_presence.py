"""Ways to spoil how many people, and how many private ones, the rows of a joined release say their class has.

The last two columns of its rows are `people` and `private`. The program made the release that is spoilt.
"""

from __future__ import annotations

from collections.abc import Callable

Rows = list[list[str]]
Spoiler = Callable[[Rows, list[str]], None]
CHECK = "even-presence"


def class_of(rows: Rows, first: int = 0) -> list[list[str]]:
    return [row for row in rows if row == rows[first]]


def one_more_private(rows: Rows, _names: list[str]) -> None:
    for row in class_of(rows):
        row[-1] = str(int(row[-1]) + 1)


def one_row_says_another_number(rows: Rows, _names: list[str]) -> None:
    rows[0][-1] = str(int(rows[0][-1]) + 1)


def nobody_private(rows: Rows, _names: list[str]) -> None:
    for row in class_of(rows):
        row[-1] = "0"


def fewer_people(rows: Rows, _names: list[str]) -> None:
    for row in class_of(rows):
        row[-2] = str(int(row[-2]) - 1)


def twice_the_people(rows: Rows, _names: list[str]) -> None:
    for row in class_of(rows):
        row[-2] = str(2 * int(row[-2]))


def shared_out_over_single_people(rows: Rows, _names: list[str]) -> None:
    """A class of n people that says it is n classes of one."""
    for row in class_of(rows):
        row[-2:] = ["1", "1"]


def huge(rows: Rows, _names: list[str]) -> None:
    rows[0][-1] = "9" * 18


def no_number(rows: Rows, _names: list[str]) -> None:
    rows[0][-1] = "+3"


def exchanged_classes(rows: Rows, _names: list[str]) -> None:
    other = next(i for i, row in enumerate(rows) if row[-1] != rows[0][-1])
    mine, theirs = class_of(rows), class_of(rows, other)
    for group, said in ((mine, theirs[0][-1]), (theirs, mine[0][-1])):
        for row in group:
            row[-1] = said


def no_column(rows: Rows, names: list[str]) -> None:
    for row in (*rows, names):
        del row[-1]


PRESENCE_FORGERIES: dict[str, tuple[str, Spoiler]] = {
    "one more private": (CHECK, one_more_private),
    "one row says another number": (CHECK, one_row_says_another_number),
    "nobody private": ("cells", nobody_private),
    "fewer people": (CHECK, fewer_people),
    "twice the people": (CHECK, twice_the_people),
    "classes of one": (CHECK, shared_out_over_single_people),
    "huge": (CHECK, huge),
    "no number": ("cells", no_number),
    "exchanged": (CHECK, exchanged_classes),
    "no column": ("schema", no_column),
}
