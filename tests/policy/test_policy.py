"""Policies: what is accepted, what is refused and in which words, and what becomes of a table's columns."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.places import ROOT

from incrowd.errors import PolicyError
from incrowd.flow import Table
from incrowd.models import from_policy
from incrowd.policy import Policy
from incrowd.policy.file import MOST_BYTES, toml_key, toml_text
from incrowd.schema import Role, Shape

DOCS = ROOT / "docs"

DESIGN = """
identifiers = ["name", "ssn"]            # dropped
sensitive = ["disease"]
keep = ["visit_type"]
drop = ["notes"]
missing = ["", "?"]
entity = "patient_id"
method = "mondrian"

[quasi_identifiers]
age = {type = "numeric"}
sex = {type = "categorical"}
zip = {type = "categorical", hierarchy = {prefix = [5, 4, 3, 2]}}
country = {type = "categorical", hierarchy = "country.csv"}
admitted = {type = "date", hierarchy = {dates = ["month", "quarter", "year"]}}

[privacy]
k = 10
l = 3

[options]

[public]
table = "voters.csv"
id = "ssn"
membership_secret = true
"""

TABLE = Table.of(
    {
        "name": ["Ann", "Bob", "Cid"],
        "ssn": ["1", "2", "3"],
        "age": ["30", "?", "41"],
        "sex": ["F", "M", "F"],
        "zip": ["01234", "01235", "90210"],
        "country": ["NO", "SE", ""],
        "admitted": ["2024-01-31", "2024-02-01", "2023-12-31"],
        "disease": ["flu", "flu", "cold"],
        "visit_type": ["a", "a", "a"],
        "notes": ["x", "y", "z"],
        "patient_id": ["1", "2", "2"],
    }
)


def refusal(**parts: Any) -> str:
    with pytest.raises(PolicyError) as caught:
        Policy(**parts)
    assert caught.value.__cause__ is None
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(DESIGN, encoding="utf-8")
    (tmp_path / "country.csv").write_text("NO;North;*\nSE;North;*\nIT;South;*\n", encoding="utf-8")
    return tmp_path


def test_the_policy_of_the_design_is_understood(folder: Path) -> None:
    schema = Policy.load(folder / "policy.toml").schema(TABLE)
    assert [c.role for c in schema.columns] == [
        *[Role.IDENTIFIER] * 2,
        *[Role.QUASI] * 5,
        Role.SENSITIVE,
        Role.KEEP,
        Role.DROP,
        Role.ENTITY,
    ]
    assert [c.shape for c in schema.having(Role.QUASI)] == [
        Shape.RANGE,
        Shape.SET,
        Shape.TREE,
        Shape.TREE,
        Shape.TREE,
    ]
    assert schema.missing == {"", "?"}
    assert ("IT", "South", "*") in schema.column("country").levels
    assert len(schema.column("zip").levels) == len(schema.column("admitted").levels) == 3


def test_a_policy_goes_to_json_and_back(folder: Path) -> None:
    policy = Policy.load(folder / "policy.toml").with_(
        t="0.2", accept=["row-order"], options={"p": 0.5, "n": [1]}
    )
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict())), folder=folder) == policy
    assert policy.to_dict()["privacy"] == {"k": 10, "l": 3, "t": "0.2"}
    assert policy.options == {"p": "0.5", "n": [1]}


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"privacy": {"kk": 10}}, "privacy.kk is not known: did you mean 'k'?"),
        ({"quasi": ["age"]}, "quasi is not known: did you mean 'quasi_identifiers'?"),
        (
            {"quasi_identifiers": {"a b": {"typ": "date"}}},
            'quasi_identifiers."a b".typ is not known: did you mean',
        ),
        ({"sensitive": {"d": {"mean": True}}}, "sensitive.d.mean is not known"),
        ({"privacy": {"k": "10"}}, "privacy.k must be a whole number"),
        ({"privacy": {"k": True}}, "privacy.k must be a whole number"),
        ({"privacy": {"k": 10.0}}, "privacy.k must be a whole number"),
        ({"privacy": {"k": 1}}, "privacy.k must be at least 2"),
        ({"privacy": {"t": "1/3"}}, "privacy.t must be a number"),
        ({"privacy": {"t": True}}, "privacy.t must be a number"),
        ({"privacy": {"l": "3"}}, "privacy.l must be a number"),
        ({"privacy": {"t": float("nan")}}, "privacy.t must be a number"),
        ({"privacy": {"t": 1.5}}, "privacy.t must be above 0 and at most 1"),
        ({"privacy": {"l": 3, "c": 2}}, 'privacy must have both l_kind = "recursive" and c, or neither'),
        ({"privacy": {"l_kind": "entropy"}}, "privacy says l_kind, which needs l"),
        ({"privacy": {"t_distance": "equal"}}, "privacy says t_distance, which needs t"),
        ({"privacy": 10}, "privacy must be a table"),
        (
            {"quasi_identifiers": {"x": {"type": "number"}}},
            "quasi_identifiers.x.type must be one of 'numeric'",
        ),
        ({"quasi_identifiers": {"x": "numeric"}}, "quasi_identifiers.x must be a table"),
        ({"quasi_identifiers": "x"}, "quasi_identifiers must be a list of column names, or a table"),
        ({"quasi_identifiers": ["x", "x"]}, "quasi_identifiers names something twice"),
        ({"quasi_identifiers": ["e\u0301", "\u00e9"]}, "quasi_identifiers names something twice"),
        ({"quasi_identifiers": {"x": {"mean": 1}}}, "quasi_identifiers.x.mean must be true or false"),
        ({"quasi_identifiers": {"x": {"hierarchy": 5}}}, "quasi_identifiers.x.hierarchy must be the path"),
        ({"quasi_identifiers": {"x": {"values": ["a"]}}}, 'x must have both type = "ordered" and values'),
        ({"quasi_identifiers": {"x": {"type": "ordered"}}}, 'x must have both type = "ordered" and values'),
        (
            {"quasi_identifiers": {"x": {"type": "ordered", "values": ["a"], "format": "yyyy-mm"}}},
            "x has a format, which is for type",
        ),
        (
            {"quasi_identifiers": {"x": {"publish": "node"}}},
            'x says publish = "node", which needs a hierarchy',
        ),
        (
            {"quasi_identifiers": {"x": {"publish": "set", "hierarchy": "h"}}},
            "x has a hierarchy, which is published",
        ),
        (
            {"quasi_identifiers": {"x": {"family": [["a"]], "hierarchy": "h"}}},
            "x has a family, which is published",
        ),
        ({"quasi_identifiers": {"x": {"complete": True}}}, "x says complete, which is for a family"),
        ({"quasi_identifiers": {"x": {"mean": True, "publish": "set"}}}, "x says mean, which is for numbers"),
        (
            {"quasi_identifiers": {"x": {"family": "ab"}}},
            "quasi_identifiers.x.family must be a list of lists",
        ),
        ({"identifiers": "name"}, 'identifiers must be a list of texts, such as ["a", "b"]'),
        ({"missing": [1]}, "missing must be a list of texts"),
        ({"options": [1]}, "options must be a table of options"),
        ({"options": {"a": object()}}, "options must be made of texts, numbers, true and false"),
        ({"public": {"table": "v.csv"}}, "public.id is required"),
        ({"public": {"table": "v", "id": "x", "date": "1.3.2024"}}, "public.date must be a day, such as"),
        ({"public": {"table": "v", "id": "x", "date": "20240301"}}, "public.date must be a day, such as"),
        ({"public": {"table": "v", "id": "x", "check": "v"}}, "public names one file as table and as check"),
        ({"public": {"table": "v", "id": "x", "conflicts": "list"}}, "public.conflicts must be one of"),
        ({"public": {"table": "v", "id": "x", "membership_secret": 1}}, "membership_secret must be true or"),
        ({"public": {"table": "v", "id": "x", "conflict": "refuse"}}, "did you mean 'conflicts'?"),
        ({"method": 5}, "method must be a text"),
        ({"self": 1}, "self is not known"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_is_wrong_is_said_in_one_sentence(parts: dict[str, Any], words: str) -> None:
    sentence = refusal(**parts)
    assert words in sentence
    assert "\n" not in sentence


def test_every_fault_is_named_at_once() -> None:
    faults = refusal(methd="mondrian", privacy={"k": "10", "el": 3}).splitlines()
    assert len(faults) == 3


def test_a_refusal_never_quotes_what_was_written() -> None:
    said = refusal(
        quasi_identifiers={"x": {"family": [["secret"], 7], "type": "secret"}}, missing=["secret", 1]
    )
    assert "secret" not in said


@pytest.mark.parametrize("second", ["identifiers", "sensitive", "keep", "drop", "entity"])
def test_a_column_has_one_role(second: str) -> None:
    parts = {"quasi_identifiers": ["age", "sex"], second: "sex" if second == "entity" else ["sex"]}
    assert "column sex has two roles" in refusal(**parts)


def test_decimals_are_exact_and_have_one_form(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(
        "[privacy]\nk = 3\nl = 2.50\nl_kind = 'entropy'\nt = 0.1\n[options]\np = 1e-2\n", encoding="utf-8"
    )
    policy = Policy.load(path)
    assert (policy.privacy.l, policy.privacy.t, policy.options) == ("2.5", "0.1", {"p": "0.01"})
    assert Policy(privacy={"t": 0.1}).privacy.t == "0.1"
    assert Policy(privacy={"k": 3, "l": "3.00"}).privacy.l == "3.0"


def test_dots_in_values_are_no_key(tmp_path: Path) -> None:
    path, text = tmp_path / "p.toml", ".".join("a" * 100)
    path.write_text(f"keep = [{', '.join(['1.5'] * 3)!r}, '{text}']\n[privacy]\nk = 3\n", encoding="utf-8")
    assert Policy.load(path).keep[1] == text


def test_the_models_understand_what_a_policy_promises() -> None:
    policy = Policy(
        privacy={"k": 3, "l": 2, "l_kind": "recursive", "c": "1.5", "t": 0.5, "t_distance": "equal"}
    )
    assert len(from_policy(policy.privacy.model_dump(), ["disease"])) == 3
    assert len(from_policy(Policy(privacy={"k": 3}).privacy.model_dump(), [])) == 1


def test_k_may_come_later_but_must_come() -> None:
    policy = Policy(quasi_identifiers=["age", "sex"])
    assert policy.with_(k=10).k == 10
    with pytest.raises(PolicyError, match="has no k"):
        _ = policy.k


def test_overrides_are_checked_and_leave_the_rest_alone(folder: Path) -> None:
    policy = Policy.load(folder / "policy.toml").with_(options={"relaxed": True}, accept=["a"])
    changed = policy.with_(k=20, l=None, accept=["b", "a"], options={"depth": 3})
    assert (changed.k, changed.privacy.l, changed.accept) == (20, 3, ("a", "b"))
    assert changed.options == {"relaxed": True, "depth": 3}
    assert changed.folder == folder
    assert policy.k == 10
    with pytest.raises(PolicyError, match=r"privacy\.kk is not known"):
        policy.with_(kk=3)


def test_another_method_leaves_the_old_options_behind() -> None:
    policy = Policy(options={"relaxed": True})
    assert policy.with_(method="mondrian").options == {"relaxed": True}
    assert policy.with_(method="kk", options={"distance": 8}).options == {"distance": 8}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a = 1\nb = = 2\n", "line 2"),
        (b"a = 1\nb = '\xff'\n", "not UTF-8, first in line 2"),
        (b"k = " + b"9" * 5000, "not valid TOML"),
        (b"k = " + b"[" * 100_000, "not valid TOML"),
        (b"#" * (MOST_BYTES + 1), "is larger than"),
        (b"[privacy]\nk = 2024-01-01\n", "privacy.k must be a whole number"),
        (b"[options]\na = 2024-01-01\n", "options must be made of"),
        (b"[privacy]\nt = inf\n", "privacy.t must be a number"),
    ],
    ids=["no-toml", "latin-1", "long-number", "deep", "large", "date-for-k", "date-option", "infinite"],
)
def test_bad_files_are_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match=re.escape(words)):
        Policy.load(path)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="does not exist"):
        Policy.load(tmp_path / "none.toml")
    with pytest.raises(PolicyError, match="not a regular file"):
        Policy.load(tmp_path)


def test_a_byte_order_mark_and_windows_lines_are_fine(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b"\xef\xbb\xbfmethod = 'kk'\r\n[privacy]\r\nk = 4\r\n")
    assert Policy.load(tmp_path / "p.toml").k == 4


@given(st.text(), st.text())
def test_any_text_survives_toml(name: str, text: str) -> None:
    assert tomllib.loads(f"{toml_key(name)} = {toml_text(text)}") == {name: text}


def without_what_holds_anyhow(schema: Any) -> Any:
    """Objects may have more keys where nothing is said: older versions of pydantic do not say it."""
    if isinstance(schema, list):
        return [without_what_holds_anyhow(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    said = {key: value for key, value in schema.items() if (key, value) != ("additionalProperties", True)}
    return {key: without_what_holds_anyhow(value) for key, value in said.items()}


def test_the_published_schema_is_current() -> None:
    written = json.loads((DOCS / "policy.schema.json").read_text(encoding="utf-8"))
    assert without_what_holds_anyhow(written) == without_what_holds_anyhow(Policy.json_schema())


def test_every_key_is_explained() -> None:
    page = (DOCS / "policy.md").read_text(encoding="utf-8")
    schema = Policy.json_schema()
    parts = [schema, *schema["$defs"].values()]
    keys = {key for part in parts for key in part["properties"]}
    assert len(keys) > 25
    assert not {key for key in keys if f"`{key}`" not in page}


def test_the_policy_of_the_page_is_valid(tmp_path: Path) -> None:
    page = (DOCS / "policy.md").read_text(encoding="utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    (tmp_path / "policy.toml").write_text(example, encoding="utf-8")
    policy = Policy.load(tmp_path / "policy.toml")
    assert set(policy.to_dict()) >= {"identifiers", "sensitive", "keep", "drop", "entity", "public"}


@pytest.mark.parametrize("part", ["a.", '"a".', "a . ", "'a'\t."])
@pytest.mark.parametrize("form", ["{key}b = 1", "[{key}b]", "x = {{{key}b = 1}}", "x = [[{{{key}b = 1}}]]"])
def test_a_key_of_many_parts_is_refused_before_it_is_read(
    tmp_path: Path, part: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading it takes time with the square of its parts: a minute for 50,000."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    path = tmp_path / "policy.toml"
    path.write_text("keep = []\n" + form.format(key=part * 50_000))
    monkeypatch.setattr("tomllib.loads", never)
    with pytest.raises(PolicyError, match="a key has more than 16 dots"):
        Policy.load(path)
