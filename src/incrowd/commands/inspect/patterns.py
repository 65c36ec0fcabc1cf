"""What the values of a column look like: e-mail, telephone, account and national numbers, codes, currencies.

A pattern is recognised if nearly all distinct values have it. Numbers with check digits must have the right
ones, so that other numbers of the same length are not taken for them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from incrowd.commands.inspect.check_digits import NATIONAL, is_a_card, is_an_iban, is_national
from incrowd.commands.inspect.vocabulary import word_list
from incrowd.schema import Role

NEARLY_ALL = 0.95
MOST_LOOKED_AT = 2_000  # distinct values: enough to know a pattern
FEW = 3  # so few distinct values show no pattern


class Pattern(NamedTuple):
    """A form that values have: its name, the role that follows, why, and how to see it."""

    name: str
    role: Role
    reason: str
    fits: Callable[[str], bool]
    least: int = FEW  # distinct values without which it could be chance
    all_together: Callable[[Sequence[str]], bool] = lambda _: True


def _matching(expression: str, flags: int = 0) -> Callable[[str], bool]:
    compiled = re.compile(expression, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "." in text or ":" in text


def _phone(text: str) -> bool:
    """At least seven digits in groups, or with a plus in front; not a plain number, date or decimal."""
    if not re.fullmatch(r"\+?[0-9(][0-9()\-./ ]{5,22}[0-9]", text):
        return False
    digits = re.sub(r"[^0-9]", "", text)
    if not 7 <= len(digits) <= 15 or re.fullmatch(r"[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4}", text):
        return False
    groups = len(re.findall(r"[0-9]+", text))
    return text.startswith("+") or (groups >= 2 and text.startswith(("0", "("))) or groups >= 3


_ICD10 = r"[A-TV-Z][0-9][0-9AB](\.?[0-9A-TV-Z]{1,4})?"
_ICD9 = r"(V[0-9]{2}|E[0-9]{3}|[0-9]{1,3})(\.[0-9]{1,2})?"


def _various_icd10(texts: Sequence[str]) -> bool:
    """Codes of other things have one or two letters in front; diagnoses have many, or points."""
    return len({text[0] for text in texts}) >= 5 or sum("." in text for text in texts) >= len(texts) / 3


def _letters_among_icd9(texts: Sequence[str]) -> bool:
    """Numbers alone would be numbers."""
    return any(text[0] in "VE" for text in texts)


_DRUG_ENDINGS = tuple(
    word_list(
        """pril sartan statin olol prazole cillin mycin floxacin azepam zolam oxetine triptan dipine gliptin
        gliflozin formin glitazone glinide tidine setron caine barbital cycline ciclovir vudine tinib zumab
        ximab mumab profen coxib dronate lukast oxaban parin terol sone solone thyroxine azole zosin afil
        zepine triptyline piride pizide buride butamide hexamide propamide azamide glitol carbose semide
        thiazide pirin cetamol codone morphine fentanil"""
    )
)
_DRUGS = frozenset(
    word_list(
        """insulin aspirin warfarin digoxin metformin ibuprofen paracetamol acetaminophen morphine heparin
        prednisone lithium methotrexate glyburide glipizide acarbose miglitol sertraline citalopram gabapentin
        tramadol examide citoglipton"""
    )
)
SHORTEST_DRUG = 7


def is_a_drug(text: str) -> bool:
    """Is every word of a text (up to two, as in "glyburide-metformin") the name of a drug?"""
    found = re.split(r"[-_ /+]+", text.casefold())
    return 1 <= len(found) <= 2 and all(
        word in _DRUGS or (len(word) >= SHORTEST_DRUG and word.isalpha() and word.endswith(_DRUG_ENDINGS))
        for word in found
    )


def _one_national(texts: Sequence[str]) -> bool:
    """All of one country: a tenth of all numbers would have right digits of some."""
    return any(_share(texts, fits) >= NEARLY_ALL for fits in NATIONAL)


_CURRENCY = (
    r"-?\(?(?:(?:[$€£¥]|US\$|USD|EUR|GBP|CHF|JPY|CAD)\s?-?[0-9][0-9.,' ]*|"
    r"[0-9][0-9.,' ]*\s?(?:[$€£¥]|USD|EUR|GBP|CHF|JPY|CAD|kr|zł))\)?"
)
_UK = r"(GIR ?0AA|[A-PR-UWYZ][A-HK-Y]?[0-9][0-9A-HJKMNPR-Y]? ?[0-9][ABD-HJLNP-UW-Z]{2})"
_FSA = r"[ABCEGHJ-NPRSTVXY][0-9][ABCEGHJ-NPRSTV-Z]( ?[0-9][ABCEGHJ-NPRSTV-Z][0-9])?"
_SEXES = frozenset(word_list("m f w d male female man woman men women other unknown nonbinary diverse u o x"))
_WOMEN = frozenset(word_list("f female woman women w"))
_AGES = r"[\[(]?[0-9]{1,3} ?(-|–|to|bis|a|à|,) ?[0-9]{1,3}[)\]]? ?(years?|yrs|jahre?|ans|años|anni|jaar).*"
_KEY = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{24,64}"
_POSITION = r"(POINT ?)?\(?-?[0-9]{1,3}\.[0-9]+[,; ]+-?[0-9]{1,3}\.[0-9]+\)?"


def _among(texts: Sequence[str]) -> bool:
    return bool(_WOMEN & {text.casefold() for text in texts})


def _pattern(name: str, role: Role, are: str, fits: Callable[[str], bool] | str, *more: Any) -> Pattern:
    """A pattern; one that is given as an expression is the same in small and in capital letters."""
    seen = _matching(fits, re.IGNORECASE) if isinstance(fits, str) else fits
    return Pattern(name, role, f"the values are {are}", seen, *more)


_PERSON, _KNOWN, _PRIVATE = Role.IDENTIFIER, Role.QUASI, Role.SENSITIVE

PATTERNS: tuple[Pattern, ...] = (
    _pattern("e-mail", _PERSON, "e-mail addresses", r"[^@\s]+@[^@\s]+\.[^@\s.]{2,}"),
    _pattern("url", _PERSON, "web addresses", r"(https?://|www\.)\S+"),
    _pattern("ip", _PERSON, "IP addresses", _ip),
    _pattern("iban", _PERSON, "bank accounts (IBAN)", is_an_iban),
    _pattern("card", _PERSON, "numbers of payment cards", is_a_card, 5),
    _pattern("national number", _PERSON, "national numbers of persons", is_national, 10, _one_national),
    _pattern("uuid", _PERSON, "keys that a computer gave", _KEY),
    _pattern("phone", _PERSON, "telephone numbers", _phone, 5),
    _pattern("position", Role.DROP, "exact positions on the map, as text", _POSITION),
    _pattern("icd-10", _PRIVATE, "diagnoses (ICD-10)", _matching(_ICD10), 5, _various_icd10),
    _pattern("icd-9", _PRIVATE, "diagnoses (ICD-9)", _matching(_ICD9), 20, _letters_among_icd9),
    _pattern("atc", _PRIVATE, "drugs (ATC)", _matching(r"[A-DGHJLMNPRSV][0-9]{2}[A-Z]{2}([0-9]{2})?")),
    _pattern("ops", _PRIVATE, "procedures (OPS)", r"[1-9]-[0-9]{2}[0-9a-z](\.[0-9a-z]{1,2})?", 5),
    _pattern("drug", _PRIVATE, "names of drugs", is_a_drug),
    _pattern("currency", _PRIVATE, "amounts of money", _CURRENCY),
    _pattern("uk postcode", _KNOWN, "British postcodes", _UK, 5),
    _pattern("fsa", _KNOWN, "Canadian postal codes", _FSA, 10),
    _pattern("age band", _KNOWN, "groups of ages", _AGES, 4),
    _pattern("sex", _KNOWN, "sexes", lambda text: text.casefold() in _SEXES, 2, _among),
)


def pattern_of(texts: Sequence[str]) -> Pattern | None:
    """The first pattern that nearly all of a column's distinct values have.

    Examples
    --------
    >>> found = pattern_of(["a@b.org", "c@d.net", "e@f.com"])
    >>> found.name, found.role.value
    ('e-mail', 'identifier')
    >>> pattern_of(["red", "green", "blue"]) is None
    True
    """
    some = [text.strip() for text in texts[:: max(1, len(texts) // MOST_LOOKED_AT)]][:MOST_LOOKED_AT]
    return next((pattern for pattern in PATTERNS if _has(some, pattern)), None)


def _has(texts: Sequence[str], pattern: Pattern) -> bool:
    if len(texts) < pattern.least or _share(texts[:50], pattern.fits) < NEARLY_ALL - 0.1:
        return False
    fitting = [text for text in texts if pattern.fits(text)]
    return len(fitting) >= NEARLY_ALL * len(texts) and pattern.all_together(fitting)


def _share(texts: Sequence[str], fits: Callable[[str], bool]) -> float:
    return sum(map(fits, texts)) / max(len(texts), 1)
