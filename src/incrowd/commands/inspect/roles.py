"""Which role a column probably has, from its name, its values and counts; and why, in words for people.

The first rule that holds decides. What no rule recognises is *undecided*: it is held back until somebody
answers whether anybody could know it, neither published as it is, nor generalized at the cost of all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from incrowd.commands.inspect import names
from incrowd.commands.inspect.patterns import Pattern, is_a_drug
from incrowd.commands.inspect.vocabulary import (
    HEALTH,
    PERSON,
    PLACE,
    POSTCODE,
    TRAIT,
    WEIGHT_OF_SAMPLE,
    Topic,
    word_list,
)
from incrowd.schema import Kind, Role
from incrowd.values.reading import TEXT, Ambiguous, Reading

NEARLY_ALL = 0.9
FREE_TEXT_LENGTH = 40
MANY_TEXTS = 50  # more of them, over half of which occur once, are free text
FEW = 20  # below that many rows, "nearly every value is different" says nothing
REPEATING = 0.02  # the least share of distinct values for which a number of persons, not of places, is meant
MOST_LABELS = 1_000  # more numbers than that are amounts, also where the name is that of a code
QUESTION = "could anybody know this about somebody?"
LIGHTEST, HEAVIEST = 3, 400  # of a body, in kilograms or pounds
LABELLED_BY_NUMBERS = (TRAIT, PLACE, POSTCODE)  # topics whose numbers are names of things, not amounts
LABELLED_WORDS = frozenset(
    word_list(
        """occupation workclass employer employment industry department id code type cow esr occp indp mil ten
        tenure"""
    )
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What was counted in a column. Lengths are in characters, over its distinct values."""

    name: str
    kind: Kind
    rows: int
    missing: int
    distinct: int
    once: int
    shortest: int
    longest: int
    mean_length: float
    consecutive: bool
    pattern: Pattern | None = None
    spaced: bool = False  # do most values consist of several words?
    reading: Reading | Ambiguous = TEXT
    decimal: bool = False  # are some of its numbers not whole?
    middle: float | None = None  # the median of its numbers, if it is called a weight

    @property
    def distinctness(self) -> float:
        """Distinct values for each row that has one: 1 if all differ."""
        return self.distinct / max(self.rows - self.missing, 1)

    @property
    def mostly_distinct(self) -> bool:
        return self.distinct >= FEW and self.distinctness >= NEARLY_ALL

    @property
    def topic(self) -> Topic | None:
        """What the deciding word of its name stands for; an area of 12.5 is no place."""
        found = names.head(self.name)
        return None if found is PLACE and self.kind is Kind.NUMERIC and self.decimal else found

    @property
    def is_date(self) -> bool:
        """Is a date meant, also where it is open how it is to be read?"""
        return self.kind is Kind.DATE or (isinstance(self.reading, Ambiguous) and self.reading.is_date)

    @property
    def labels(self) -> bool:
        """Are its numbers only names for things, so that a range of them would mean nothing?"""
        if self.kind is not Kind.NUMERIC:
            return False
        coded = bool(LABELLED_WORDS & {*names.words(self.name)}) and self.distinct <= MOST_LABELS
        return self.postal or coded or self.topic in LABELLED_BY_NUMBERS

    @property
    def postal(self) -> bool:
        return self.topic is POSTCODE and 2 <= self.shortest <= self.longest <= 10


def _looks(role: Role) -> Callable[[Facts], bool]:
    return lambda facts: facts.pattern is not None and facts.pattern.role is role


def _is_person_number(facts: Facts) -> bool:
    """Many numbers of persons, not a few groups of persons."""
    many = facts.distinctness >= REPEATING and facts.distinct >= FEW
    return many and names.numbers_a_person(facts.name)


def _is_household_number(facts: Facts) -> bool:
    many = facts.distinctness >= REPEATING and facts.distinct >= FEW
    return many and names.numbers_a_household(facts.name)


def _weighs_no_body(facts: Facts) -> bool:
    """Called "weight" and nothing else, with numbers that are nobody's: neither kilograms nor pounds."""
    return facts.middle is not None and not LIGHTEST <= facts.middle <= HEAVIEST


def _tells_rows_together(facts: Facts) -> bool:
    """Numbers of persons that come back: several rows for one person, and none for nobody."""
    return _is_person_number(facts) and facts.distinctness < 1 and not facts.missing


def _long_texts(facts: Facts) -> bool:
    return facts.kind is Kind.CATEGORICAL and facts.mean_length >= FREE_TEXT_LENGTH


def _lone_texts(facts: Facts) -> bool:
    many = facts.distinct > MANY_TEXTS and facts.once > facts.distinct / 2
    return facts.kind is Kind.CATEGORICAL and many


Reason = str | Callable[[Facts], str]
Rule = tuple[Callable[[Facts], bool], Role, Reason]


def _by_name(role: Role) -> Rule:
    def holds(facts: Facts) -> bool:
        return facts.topic is not None and facts.topic.role is role

    return holds, role, lambda facts: facts.topic.reason if facts.topic else ""


def _by_values(role: Role) -> Rule:
    return _looks(role), role, lambda facts: facts.pattern.reason if facts.pattern else ""


A_DATE = "a date; others may know when it happened"


def _open_date(facts: Facts) -> bool:
    """A date that can be read in two ways, with so many values that as text it would only be in the way."""
    return isinstance(facts.reading, Ambiguous) and facts.is_date and facts.distinct > MANY_TEXTS


def _what_is_open(facts: Facts) -> str:
    why = facts.reading.why if isinstance(facts.reading, Ambiguous) else ""
    return f"a date, but {why}; state how it is read, among the quasi-identifiers"


# The first rule that holds decides.
RULES: tuple[Rule, ...] = (
    (lambda f: f.distinct == 0, Role.DROP, "it is empty"),
    (lambda f: f.distinct == 1 and f.missing == 0, Role.KEEP, "every row has the same value"),
    _by_values(Role.IDENTIFIER),
    (_open_date, Role.UNDECIDED, _what_is_open),
    (
        lambda f: f.is_date and names.dates_the_record(f.name),
        Role.DROP,
        "it says when the record was written, and costs the detail of all others",
    ),
    # a moment differs in nearly every row and names nobody; digits alone may be a number all the same
    (lambda f: f.is_date and f.reading.notation != "yyyymmdd", Role.QUASI, A_DATE),
    (
        _tells_rows_together,
        Role.ENTITY,
        "a person's number that occurs several times: k then counts persons, not rows",
    ),
    (_is_person_number, Role.IDENTIFIER, "a person's number"),
    (_is_household_number, Role.IDENTIFIER, "a number of people who live together"),
    (lambda f: names.is_a_name(f.name), Role.IDENTIFIER, PERSON.reason),
    _by_name(Role.IDENTIFIER),
    (
        lambda f: (
            f.mostly_distinct and f.topic is None and f.pattern is None and names.numbers_something(f.name)
        ),
        Role.IDENTIFIER,
        "a name or number, different in nearly every row",
    ),
    (lambda f: f.consecutive, Role.IDENTIFIER, "it numbers the rows"),
    _by_name(Role.DROP),
    (_weighs_no_body, Role.DROP, f"not kilograms or pounds of a body; {WEIGHT_OF_SAMPLE.reason}"),
    _by_values(Role.DROP),
    (lambda f: f.is_date, Role.QUASI, A_DATE),
    (_long_texts, Role.DROP, "free text: it can contain anything, also names"),
    _by_name(Role.QUASI),
    _by_name(Role.SENSITIVE),
    (lambda f: is_a_drug(f.name), Role.SENSITIVE, "it is called like a drug; " + HEALTH.reason),
    _by_values(Role.SENSITIVE),
    _by_values(Role.QUASI),
    (
        lambda f: f.kind is Kind.CATEGORICAL and f.mostly_distinct and not f.spaced,
        Role.IDENTIFIER,
        "nearly every row has a different text",
    ),
    (_lone_texts, Role.DROP, "most of its texts occur once: free text can contain anything, also names"),
)


def suggest(facts: Facts) -> tuple[Role, str]:
    """The role a column probably has, and why; undecided if no rule holds."""
    for holds, role, reason in RULES:
        if holds(facts):
            return role, reason if isinstance(reason, str) else reason(facts)
    return Role.UNDECIDED, f"nothing says what it is: {QUESTION}"
