"""Which role a column probably has, from its name and from counts; and why, in words for people.

The rules err on the careful side: what nobody recognises is taken for something that outsiders may know.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from incrowd.schema import Kind, Role
from incrowd.values.reading import TEXT, Ambiguous, Reading

NEARLY_ALL = 0.9
FREE_TEXT_LENGTH = 40
FEW = 20  # below that many rows, "nearly every value is different" says nothing
REPEATING = 0.02  # the least share of distinct values for which a number of persons, not of places, is meant


class Words(NamedTuple):
    """Words of column names, and what they stand for."""

    words: frozenset[str]
    meaning: str


def _words(text: str, meaning: str) -> Words:
    return Words(frozenset(text.split()), meaning)


NAMES_A_PERSON = _words(
    "ssn email mail phone telephone mobile fax passport iban surname forename firstname lastname "
    "fullname username login mrn address street url homepage ipaddress licence license",
    "it names a person, or is a way to contact them",
)
NUMBERS_A_PERSON = _words(
    "patient person subject member customer client user employee student respondent participant pid mrn ssn",
    "a person's number",
)
NUMBERS_SOMETHING = _words(
    "id uid uuid guid key nbr number no num code name record row index case serial",
    "a name or number",
)
WEIGHS_A_SAMPLE = _words(
    "wgt fnlwgt afnlwgt pwgtp wgtp sampleweight samplingweight", "a sampling weight reveals its stratum"
)
OUTSIDERS_KNOW = _words(
    "age agegroup sex gender zip zipcode postcode postal plz fsa birth birthdate birthday born dob race "
    "ethnicity ethnic hispanic marital married relationship education degree school country nationality "
    "citizenship state county city town region district neighbourhood neighborhood occupation "
    "profession job workclass employer household children family height language veteran agep rac1p "
    "hisp schl mar occp puma",
    "neighbours, colleagues or public registers know it",
)
ONLY_LABELS = _words(
    "sex gender race ethnicity ethnic hispanic marital country nationality citizenship state county city "
    "town region district occupation workclass employer id code type rac1p hisp mar cit cow puma esr mil ten",
    "digits that are labels",
)
A_POSTAL_CODE = _words("zip zipcode postcode postal plz fsa", "a postal code")
NOBODY_MAY_LEARN = _words(
    "diagnosis diagnoses diag disease icd illness disorder symptom condition cancer hiv infection "
    "outcome result test lab glucose treatment therapy medication medicine drug dose procedure "
    "hospitalized icu intubated readmitted death mortality pregnancy contraceptive disability insurance "
    "income salary wage wages earnings pay capital debt loan credit balance wealth cost charge charges "
    "price payment score grade mark religion belief party vote orientation union offence offense crime "
    "conviction pincp wagp hincp dis hicov glu serum payer",
    "a person may want to keep it private",
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
    reading: Reading | Ambiguous = TEXT

    @property
    def distinctness(self) -> float:
        """Distinct values for each row that has one: 1 if all differ."""
        return self.distinct / max(self.rows - self.missing, 1)

    @property
    def mostly_distinct(self) -> bool:
        return self.distinct >= FEW and self.distinctness >= NEARLY_ALL

    @property
    def is_date(self) -> bool:
        """Is a date meant, also where it is open how it is to be read?"""
        return self.kind is Kind.DATE or (isinstance(self.reading, Ambiguous) and self.reading.is_date)

    @property
    def labels(self) -> bool:
        """Are its numbers only names for things, so that a range of them would mean nothing?"""
        return self.kind is Kind.NUMERIC and (self.postal or says(self.name, ONLY_LABELS))

    @property
    def postal(self) -> bool:
        return says(self.name, A_POSTAL_CODE) and 2 <= self.shortest == self.longest <= 10


def tokens(name: str) -> list[str]:
    """The words of a name.

    Examples
    --------
    >>> tokens("patientID_no2"), tokens("marital-status")
    (['patient', 'id', 'no2'], ['marital', 'status'])
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return [token for token in re.split(r"[\W_]+", parted.casefold()) if token]


def says(name: str, words: Words) -> bool:
    """Is a word of the name, or the name without its gaps, one of the words or a longer form of one?"""
    found = tokens(name)
    return any(
        token == word
        or (len(word) >= 5 and token.startswith(word))
        or (len(word) >= 6 and token.endswith(word))
        for token in (*found, "".join(found))
        for word in words.words
    )


def _is_name(facts: Facts) -> bool:
    found = tokens(facts.name)
    return found == ["name"] or ("name" in found and bool({"first", "last", "full", "given"} & set(found)))


def _is_person_number(facts: Facts) -> bool:
    """Many numbers of persons, not a few groups of persons."""
    many = facts.distinctness >= REPEATING and facts.distinct >= FEW
    return many and says(facts.name, NUMBERS_A_PERSON) and not says(facts.name, OUTSIDERS_KNOW)


def _tells_rows_together(facts: Facts) -> bool:
    """Numbers of persons that come back: several rows for one person, and none for nobody."""
    return _is_person_number(facts) and facts.distinctness < 1 and not facts.missing


A_DATE = "a date; others may know when it happened"

Rule = tuple[Callable[[Facts], bool], Role, str]

# The first rule that holds decides.
RULES: tuple[Rule, ...] = (
    (lambda f: f.distinct == 0, Role.DROP, "it is empty"),
    (lambda f: f.distinct == 1 and f.missing == 0, Role.KEEP, "every row has the same value"),
    # a moment differs in nearly every row and names nobody; digits alone may be a number all the same
    (lambda f: f.is_date and f.reading.notation != "yyyymmdd", Role.QUASI, A_DATE),
    (
        _tells_rows_together,
        Role.ENTITY,
        "a person's number that occurs several times: k then counts persons, not rows",
    ),
    (_is_person_number, Role.IDENTIFIER, NUMBERS_A_PERSON.meaning),
    (_is_name, Role.IDENTIFIER, NAMES_A_PERSON.meaning),
    (lambda f: says(f.name, NAMES_A_PERSON), Role.IDENTIFIER, NAMES_A_PERSON.meaning),
    (lambda f: says(f.name, WEIGHS_A_SAMPLE), Role.DROP, WEIGHS_A_SAMPLE.meaning),
    (
        lambda f: f.mostly_distinct and says(f.name, NUMBERS_SOMETHING),
        Role.IDENTIFIER,
        "a name or number, different in nearly every row",
    ),
    (lambda f: f.consecutive, Role.IDENTIFIER, "it numbers the rows"),
    (
        lambda f: f.kind is Kind.CATEGORICAL and f.mean_length >= FREE_TEXT_LENGTH,
        Role.DROP,
        "free text: it can contain anything, also names",
    ),
    (lambda f: f.is_date, Role.QUASI, A_DATE),
    (lambda f: says(f.name, OUTSIDERS_KNOW), Role.QUASI, OUTSIDERS_KNOW.meaning),
    (lambda f: says(f.name, NOBODY_MAY_LEARN), Role.SENSITIVE, NOBODY_MAY_LEARN.meaning),
    (
        lambda f: f.kind is Kind.CATEGORICAL and f.mostly_distinct,
        Role.IDENTIFIER,
        "nearly every row has a different text",
    ),
)


def suggest(facts: Facts) -> tuple[Role, str]:
    """The role a column probably has, and why."""
    found = ((role, reason) for holds, role, reason in RULES if holds(facts))
    return next(found, (Role.QUASI, "outsiders may know it"))
