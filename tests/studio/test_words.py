"""What the studio takes from elsewhere: the words of the glossary, and files of others by their digest."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest
from support.places import ROOT, TESTS

from incrowd.algorithms.base import all_methods
from incrowd.attacks.registry import attacks
from incrowd.long_work import STEPS
from incrowd.schema import Kind, Role
from incrowd.studio import views, words
from incrowd.studio.app import served_bytes

STATIC = ROOT / "src" / "incrowd" / "studio" / "static"
MOST_BYTES = 100_000  # of all that a page loads
DIGESTS = {
    STATIC / "htmx.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",  # 2.0.11
    TESTS
    / "assets"
    / "axe.min.js": "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878",  # 4.14.0
}


@pytest.mark.parametrize("path", DIGESTS, ids=lambda path: path.name)
def test_files_of_others_are_those_that_were_chosen(path: Path) -> None:
    assert sha256(path.read_bytes()).hexdigest() == DIGESTS[path]


def test_pages_load_little() -> None:
    assert sum(len(served_bytes(path)) for path in STATIC.iterdir()) < MOST_BYTES


@pytest.mark.parametrize("term", words.GLOSSARY)
def test_terms_mean_what_the_glossary_says(term: str) -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    (meaning,) = re.findall(rf"^\| \*\*{re.escape(term)}\*\* \| (.*?) \|", page, re.MULTILINE)
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning).replace("`", "")
    assert words.GLOSSARY[term] == plain
    assert words.meaning(term).endswith(".")
    assert plain.startswith(words.meaning(term).removesuffix("."))


def test_every_role_kind_and_step_has_a_word() -> None:
    assert set(words.ROLES) == set(words.ROLE_MEANS) == {str(role) for role in Role}
    assert set(words.KINDS) == {str(kind) for kind in Kind}
    assert set(STEPS) <= set(words.STEPS)
    assert set(words.METHODS) <= set(all_methods())
    assert len(set(words.METHODS.values())) == len(words.METHODS)  # or nobody could choose by them


def test_every_attack_has_words() -> None:
    assert set(words.ATTACKS) == {attack.name for attack in attacks()}
    assert len(set(words.ATTACKS.values())) == len(words.ATTACKS)
    for name in ("degree", "corruption-1", "background-2-diagnosis", "outliers nearby", "series-linking"):
        assert words.attack_words(name)


def test_the_addresses_of_the_docs_are_those_of_the_program() -> None:
    page = (ROOT / "docs" / "studio.md").read_text(encoding="utf-8")
    said = re.findall(r"`(/[^`]+)`", page.partition("## Addresses")[2].partition("\n## ")[0])
    names = {"KEY": "{key}", "ID": "{id:str}", "N": "{number:int}", "4": "{number:int}"}
    known = {route.path for route in views.routes()}
    assert len(said) > 15
    for address in said:
        path = "/".join(names.get(part, part) for part in address.partition("?")[0].split("/"))
        assert path in known, address
