"""What columns say about each other: siblings, redundancy, and sensitive columns that isolate people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from incrowd.commands.inspect import names
from incrowd.commands.inspect.vocabulary import (
    AGE,
    BIRTH,
    LATITUDE,
    PLACE,
    POSTCODE,
    TIME,
    word_list,
)
from incrowd.flow import Codes, row_keys
from incrowd.policy.columns import rows_alone
from incrowd.schema import Role

LEAST_SIBLINGS = 3
MOST_SIBLING_VALUES = 20
DETERMINED = 0.95  # of the rows in which one column says the other
ERROR_GONE = 0.9  # of the error of guessing the other column's commonest value
MOST_ROWS_PAIRED = 20_000
MOST_KEYS = 1 << 26

_ANYTHING = frozenset(
    word_list("yes no y n true false t f ja nein oui non si nee j 0 1 2 unknown other none na n/a")
)  # values that columns have who are no siblings


def siblings(roles: Mapping[str, Role], values: Mapping[str, frozenset[str]]) -> dict[str, tuple[Role, str]]:
    """Undecided columns that have a sibling with a role: that role, and which sibling it is.

    Siblings are three or more columns with the same values, unless these are such that columns without any
    relation have them (yes and no, numbers); or three or more with one name but for a number at the end.
    Where their roles differ, none is shared.

    Examples
    --------
    >>> same = dict.fromkeys(("metformin", "arcabose", "unheard"), frozenset({"No", "Up", "Steady"}))
    >>> siblings({"metformin": Role.SENSITIVE, "arcabose": Role.SENSITIVE, "unheard": Role.UNDECIDED}, same)
    {'unheard': (<Role.SENSITIVE: 'sensitive'>, 'metformin')}
    """
    found = {}
    for name, role in roles.items():
        if role is not Role.UNDECIDED:
            continue
        family = [other for other in roles if other == name or _akin(name, other, values)]
        known = [other for other in family if roles[other] in (Role.QUASI, Role.SENSITIVE)]
        if len(family) >= LEAST_SIBLINGS and len({roles[other] for other in known}) == 1:
            found[name] = (roles[known[0]], known[0])
    return found


def _akin(name: str, other: str, values: Mapping[str, frozenset[str]]) -> bool:
    own, theirs = values[name], values[other]
    if names.stem(name) == names.stem(other) and names.stem(name):
        return True
    telling = 2 <= len(own) <= MOST_SIBLING_VALUES and not all(_says_little(text) for text in own)
    return telling and own == theirs


def _says_little(text: str) -> bool:
    return text.casefold() in _ANYTHING or text.replace(".", "").lstrip("-").isdecimal()


_SEX = frozenset(word_list("sex gender geschlecht sexe sexo genero sesso genere geslacht"))
_TIMES = (AGE, BIRTH, TIME)
_PLACES = (PLACE, POSTCODE, LATITUDE)


def may_give_way(name: str, by: str) -> bool:
    """May a column be dropped because another determines it? What everybody asks for, only if by its like.

    Whose cycle is counted is a woman: that is no reason to drop the sex.

    Examples
    --------
    >>> may_give_way("sex", "cycle_day"), may_give_way("age", "date_of_birth"), may_give_way("state", "city")
    (False, True, True)
    """
    if _SEX & {*names.words(name)}:
        return bool(_SEX & {*names.words(by)})
    own, other = names.head(name), names.head(by)
    return all(other in alike for alike in (_TIMES, _PLACES) if own in alike)


def redundant(codes: Mapping[str, Codes]) -> dict[str, str]:
    """Columns that another one nearly always determines: each with the column that says it already.

    Of two that determine each other, the one with more values stays, else the first. Of many rows, evenly
    spaced ones are looked at.

    Examples
    --------
    >>> district, region = np.array([0, 1, 2, 3] * 9, np.int32), np.array([0, 0, 1, 1] * 9, np.int32)
    >>> redundant({"region": region, "district": district})
    {'region': 'district'}
    """
    rows = len(next(iter(codes.values()), ()))
    some = {name: column[:: -(-rows // MOST_ROWS_PAIRED) or 1] for name, column in codes.items()}
    order = sorted(some, key=lambda name: -len(np.unique(some[name])))  # the finest first; stable
    gone: dict[str, str] = {}
    for place, name in enumerate(order):
        finer = [other for other in order[:place] if other not in gone and may_give_way(name, other)]
        by = next((other for other in finer if _determines(some[other], some[name])), None)
        if by is not None:
            gone[name] = by
    return {name: gone[name] for name in codes if name in gone}


def _determines(one: Codes, other: Codes) -> bool:
    """Does a value of one column say that of the other in nearly all rows?

    A value that occurs once says nothing: whatever stands beside it would be determined.
    """
    rows, size = len(one), int(other.max()) + 1
    pairs, counts = np.unique(one.astype(np.int64) * size + other, return_counts=True)
    most = np.zeros(int(one.max()) + 1, np.int64)
    np.maximum.at(most, pairs // size, counts)
    right = int(most[most >= 2].sum())
    blind = int(np.bincount(other).max())
    if blind == rows:
        return False
    return right >= DETERMINED * rows and rows - right <= (1 - ERROR_GONE) * (rows - blind)


def rows_alone_in(columns: Sequence[Codes], persons: NDArray[np.int64]) -> int:
    """How many rows have values in these columns (n,), taken together, that no other person (n,) has."""
    key, top = row_keys(columns, [int(column.max()) + 1 for column in columns], len(persons))
    if top > MOST_KEYS:
        key = np.unique(key, return_inverse=True)[1].astype(np.int64)
    return rows_alone(key, persons)
