"""The words of a column's name, and which of them decides what the column is.

"DeathCity" is a city, "veterans_benefits" are benefits, "age at diagnosis" is an age: the last word that is
known decides, of what stands before the first "of", "for", "in", "per"; else of the rest.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from incrowd.commands.inspect.vocabulary import (
    HOUSEHOLDS,
    NUMBERING,
    PEOPLE,
    TOGETHER,
    Topic,
    known,
    topic_of,
    word_list,
)

SHORTEST_PART = 5  # letters of a word that is looked for inside a longer one
_SPLITS = frozenset(
    word_list(
        """of for in per at by since from with when on de du des del della di da do dos das d von der vom bei
        zum zur van voor por para pour a au en et y e und and op dans"""
    )
)


@lru_cache(maxsize=4096)
def tokens(name: str) -> tuple[str, ...]:
    """The words of a name: small letters without accents, parted at signs, humps and blanks.

    Examples
    --------
    >>> tokens("patientID_no2"), tokens("marital-status"), tokens("HTTPStatus")
    (('patient', 'id', 'no2'), ('marital', 'status'), ('http', 'status'))
    """
    parted = re.sub(r"([a-zß-ÿ0-9])([A-ZÀ-Þ])", r"\1 \2", unicodedata.normalize("NFC", name))
    parted = re.sub(r"([A-Z])([A-Z][a-z]{2,})", r"\1 \2", parted)
    letters = unicodedata.normalize("NFKD", parted.casefold())
    plain = "".join(char for char in letters if not unicodedata.combining(char))
    return tuple(token for token in re.split(r"[\W_]+", plain) if token)


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The words of a name, with those that are joined from known ones taken apart.

    Examples
    --------
    >>> words("Telefonnummer"), words("STATETAX"), words("occupations")
    (('telefonnummer',), ('state', 'tax'), ('occupations',))
    """
    return tuple(word for token in tokens(name) for word in _apart(token))


def _apart(token: str) -> tuple[str, ...]:
    if known(token) or token in _SPLITS:
        return (token,)
    bare = token.rstrip("0123456789")
    if bare != token and len(bare) >= 3 and known(bare):
        return (bare,)
    for place in range(len(token) - 3, 2, -1):
        if known(token[:place]) and known(token[place:]):
            return (token[:place], token[place:])
    for place in range(1, len(token) - SHORTEST_PART + 1):  # the longest end that is known: it is the head
        if known(token[place:]) and (place >= 3 or len(token) - place > SHORTEST_PART):
            return (*_apart(token[:place]), token[place:])
    for place in range(len(token) - 1, SHORTEST_PART - 1, -1):
        if known(token[:place]):
            return (token[:place],)
    return (token,)


def parts(name: str) -> list[list[str]]:
    """The words of a name, parted where a small word such as "of" stands."""
    found: list[list[str]] = [[]]
    for word in words(name):
        if word in _SPLITS:
            found.append([])
        else:
            found[-1].append(word)
    return [part for part in found if part]


def head(name: str) -> Topic | None:
    """What the deciding word of a name stands for; None if no word is known.

    Examples
    --------
    >>> head("DeathCity").name, head("veterans_benefits").name, head("age_at_diagnosis").name
    ('place', 'money', 'age')
    """
    found = parts(name)
    flat = [word for part in found for word in part]
    together = _together(flat)
    if together is not None:
        return together
    for part in found:
        for word in reversed(part):
            topic = topic_of(word)
            if topic is not None:
                return topic
    return topic_of("".join(tokens(name)))


def _together(flat: Sequence[str]) -> Topic | None:
    """What the last pair of words means that means something together."""
    return next((TOGETHER[pair] for pair in [*pairwise(flat)][::-1] if pair in TOGETHER), None)


def numbers_something(name: str) -> bool:
    """Is the last word of the name one that numbers things, such as id, number, code?"""
    found = parts(name)
    return bool(found) and found[0][-1].rstrip("0123456789") in NUMBERING


_NUMBERS_WHOEVER = frozenset({("id",), ("uid",), ("guid",), ("uuid",), ("nr",)})


def numbers_a_person(name: str) -> bool:
    """Is it a number of a person: "patient_id", "Kundennummer", "patient"?

    So is one that is called "id" and nothing else. What else the name says may be about the person
    ("patient_age_code"); that it is a student or a citizen says no more than that it is somebody.
    """
    if tokens(name) in _NUMBERS_WHOEVER:
        return True
    found = parts(name)
    if not found or not (set(found[0]) & PEOPLE or "".join(found[0]) in PEOPLE):
        return False
    return found[0][-1] in PEOPLE | NUMBERING and not any(
        (topic := topic_of(word)) is not None and topic.role.published for word in {*found[0]} - PEOPLE
    )


def numbers_a_household(name: str) -> bool:
    """Is it a number of people who live together: "household_id"?"""
    found = parts(name)
    return len(found) == 1 and bool({*found[0]} & HOUSEHOLDS) and found[0][-1] in NUMBERING


def is_a_name(name: str) -> bool:
    """Is it called "name", and nothing else?"""
    return tokens(name) in {("name",), ("names",)}


def dates_the_record(name: str) -> bool:
    """Does it say when a record was written, and not when something happened to the person?"""
    return bool(_WRITTEN & {*tokens(name)})


_WRITTEN = frozenset(
    word_list("updated modified edited synced sync exported imported inserted loaded scraped")
)


def is_a_weight(name: str) -> bool:
    """Is it called a weight, and nothing says of what?"""
    return tokens(name) in {("weight",), ("weights",), ("wt",), ("wgt",), ("gewicht",)}


def stem(name: str) -> str:
    """A name without the number at its end: columns of one stem are a series.

    Examples
    --------
    >>> stem("diag_1"), stem("q17a"), stem("age")
    ('diag', 'q', 'age')
    """
    return re.sub(r"[_\W]*[0-9]+[a-z]?$", "", name.casefold())
