"""What messages advise is accepted by the method that they advise it for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.method_names import ACCEPTED, BESIDE_K, JOINS, PLAIN

import incrowd as ic
from incrowd.algorithms.base import all_methods, check_feasible
from incrowd.contracts import Choice
from incrowd.encode import encode
from incrowd.errors import Exposure, IncrowdError
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.policy import Policy
from incrowd.publishing.draft import draft
from incrowd.publishing.request import diversity_remedy, requested

NAMES = list(all_methods())
ROWS = 80
OPTION = re.compile(r'leave (\w+) = ("?)([\w-]+)\2')
METHOD = re.compile(r"\b(?:use|take|as|or) (" + "|".join(sorted(NAMES, key=len, reverse=True)) + r")\b")
KEY = re.compile(r"\b(l|t) = (\d+)")


def policy(method: str, **more: Any) -> Policy:
    """The smallest policy that a method takes."""
    privacy: dict[str, Any] = {"k": 3, **BESIDE_K[method]}
    if method in PLAIN:
        privacy["plain"] = {"p": 0.8, "d": 0.85}
    said: dict[str, Any] = {
        "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
        "sensitive": ["ill"],
        "method": method,
        "accept": ACCEPTED[method],
        "privacy": privacy,
    }
    if method in JOINS:
        said |= {
            "identifiers": ["id"],
            "public": {"table": "public.csv", "id": "id", "membership_secret": True, "conflicts": "public"},
        }
    return Policy.from_dict({**said, **more})


@pytest.fixture(scope="module")
def table() -> Table:
    """Everybody above 40 has the same illness, so classes of them have a single one."""
    ages = [20 + i % 40 for i in range(ROWS)]
    ill = ["flu" if age > 40 else ("asthma", "cold", "gout")[i % 3] for i, age in enumerate(ages)]
    return Table.of({"age": list(map(str, ages)), "sex": ["FM"[i % 2] for i in range(ROWS)], "ill": ill})


@pytest.mark.parametrize("name", NAMES)
def test_the_catalogue_advises_only_what_the_method_takes(name: str) -> None:
    advised = re.findall(r"ask for ([a-z]+(?: or [a-z]+)*)", all_methods()[name].not_claimed)
    for word in (word for words in advised for word in words.split(" or ")):
        promise: dict[str, Any] = {word: 2 if word == "l" else "0.5"}
        requested(policy(name).with_(**promise))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in JOINS])
def test_what_is_advised_against_single_values_is_granted(name: str, table: Table) -> None:
    asked = policy(name)
    data = encode(table, asked.schema(table))
    advice = diversity_remedy(asked, data)
    ((key, value),) = KEY.findall(advice)
    (method,) = METHOD.findall(advice) or [name]
    promise: dict[str, Any] = {key: int(value)}
    changed = asked.with_(method=method, **promise)
    check_feasible(requested(changed).promised, data)
    if method not in PLAIN:  # where outliers are hidden, so few records may leave nobody
        ic.publish(table, changed)


def test_only_who_keeps_l_is_told_to_ask_for_it(table: Table) -> None:
    one_sided = policy("k1-nearest").with_(accept=["unsafe-one-sided"])
    said = " ".join(draft(table, one_sided, unwatched).warnings)
    assert "k1-nearest does not keep l here; take mondrian with l = 2 or more" in said
    for name in ("mondrian", "kfactor"):
        (warning,) = draft(table, policy(name), unwatched).warnings
        assert "; ask for l = 2 or more" in warning


def test_where_no_method_can_keep_l_none_is_advised() -> None:
    """Everybody has the flu."""
    table = Table.of({"age": list(map(str, range(20))), "sex": ["F"] * 20, "ill": ["flu"] * 20})
    for name in ("mondrian", "kfactor"):
        (warning,) = draft(table, policy(name), unwatched).warnings
        assert not KEY.findall(warning)


def deviations(name: str) -> list[dict[str, Any]]:
    """Every single option of a method that differs from its default."""
    made = all_methods()[name]
    defaults = {option: facts["default"] for option, facts in made.to_dict()["options"].items()}
    found: list[dict[str, Any]] = [{}]
    for option, default in defaults.items():
        limit = made.limits[option]
        if isinstance(default, bool):
            found.append({option: not default})
        elif isinstance(limit, Choice):
            found += [{option: value} for value in limit.words_allowed if value != default]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_remedies_of_exposures_are_accepted(name: str) -> None:
    """Refused for an exposure, a request that follows the remedy is not refused for it any more."""
    for options in deviations(name):
        try:
            algorithm = all_methods()[name](k=3, **options)
        except IncrowdError:
            continue  # goes with other options only
        for exposure, remedy in algorithm.exposures().items():
            asked = policy(name, options=options, accept=[])
            leave, use = OPTION.findall(remedy), METHOD.findall(remedy)
            assert leave or use, remedy
            for option, _, value in leave:
                kept = {"true": True, "false": False}.get(value, value)
                _not_refused_for(exposure.name, asked.with_(options={option: kept}))
            for method in use:
                _not_refused_for(exposure.name, asked.with_(method=method))


def _not_refused_for(exposure: str, asked: Policy) -> None:
    """Another exposure may be left, which has a remedy of its own."""
    left = ""
    try:
        requested(asked)
    except Exposure as refused:
        left = refused.name
    assert left != exposure
