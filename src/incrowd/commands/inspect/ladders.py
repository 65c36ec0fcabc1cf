"""Ready-made generalization hierarchies, *ladders*, for the kinds of columns that many tables have.

They are proposed, and not used without being asked for: where readers need fixed groups they serve well, but
ranges and sets lose far less. A node of a tree with many branches soon becomes `*`.
"""

from __future__ import annotations

from collections.abc import Mapping

from incrowd.commands.inspect import names
from incrowd.commands.inspect.roles import Facts
from incrowd.commands.inspect.vocabulary import AGE, BIRTH, LATITUDE, MONEY, topic_of
from incrowd.schema import Kind

OLDEST = 90  # ages above are few, and known
MANY_CATEGORIES = 50
RARE = 10  # as k: fewer than that many persons share no class by themselves
POSTCODES: Mapping[str, tuple[int, ...]] = {
    "us": (3, 1),
    "de": (3, 2, 1),
    "fr": (2,),
    "ca": (3, 1),
}
GERMAN, FRENCH = ("plz", "postleitzahl"), ("codepostal", "code_postal", "cp")


def suggested_ladder(facts: Facts) -> Mapping[str, object]:
    """The hierarchy that suits a quasi-identifier; nothing where none does."""
    if facts.kind is Kind.DATE:
        born = BIRTH in map(topic_of, names.words(facts.name))  # the head of "birth_date" is a date
        return {"dates": ("year", "5 years", "10 years") if born else ("month", "quarter", "year")}
    if facts.postal or (facts.pattern is not None and facts.pattern.name in ("uk postcode", "fsa")):
        return _postcode(facts)
    if facts.kind is Kind.NUMERIC and not facts.labels:
        return _of_numbers(facts)
    return {"rare": RARE} if facts.kind is Kind.CATEGORICAL and facts.distinct > MANY_CATEGORIES else {}


def _of_numbers(facts: Facts) -> Mapping[str, object]:
    if facts.topic is AGE and facts.longest <= 3:
        return {"intervals": (5, 10, 20), "top": OLDEST}
    if facts.topic is LATITUDE:
        return {"intervals": ("0.01", "0.1", 1)}
    return {"digits": (2, 1)} if facts.topic is MONEY else {}


def _postcode(facts: Facts) -> Mapping[str, object]:
    """By what the values look like, else by the language of the name; five digits are American otherwise."""
    looks = "" if facts.pattern is None else facts.pattern.name
    if looks == "uk postcode":
        return {"postcodes": ("outward", "area")}
    name = facts.name.casefold().replace(" ", "").replace("-", "")
    if looks == "fsa":
        kept = POSTCODES["ca"]
    elif any(word in name for word in GERMAN):
        kept = POSTCODES["de"]
    elif any(word in name for word in FRENCH):
        kept = POSTCODES["fr"]
    else:
        kept = POSTCODES["us"]
    return {"prefix": tuple(length for length in kept if length < facts.longest)}
