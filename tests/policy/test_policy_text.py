"""Policy files edited as text: what they say is what was asked for, and nothing else of them changes."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import incrowd, listing

from incrowd.errors import InputError, PolicyError
from incrowd.examples import write_example
from incrowd.policy import Policy, PolicyText
from incrowd.policy.text import KEY_OF_ROLE
from incrowd.policy.toml_edits import rewritten, toml
from incrowd.policy.toml_places import sections
from incrowd.schema import Role

# ---- random policies, written in random ways

NAMES = ["age", "zip code", "sex", "a.b", "größe", "k", 'say "hi"', "#no", "it's"]
LISTS = ["identifiers", "keep", "drop", "undecided"]
DESCRIPTIONS = st.sampled_from(
    [{}, {"type": "numeric"}, {"hierarchy": {"prefix": [3, 1]}}, {"hierarchy": "h.csv", "public": True}]
)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """A policy as data: every column has a role, or none."""
    parts: dict[str, Any] = {}
    for name in NAMES:
        role = draw(st.sampled_from([*LISTS, "quasi_identifiers", "sensitive", ""]))
        if role == "quasi_identifiers":
            parts.setdefault(role, {})[name] = draw(DESCRIPTIONS)
        elif role == "sensitive":
            parts.setdefault(role, {})[name] = draw(st.sampled_from([{}, {"type": "categorical"}]))
        elif role:
            parts.setdefault(role, []).append(name)
    if draw(st.booleans()):
        parts["privacy"] = draw(
            st.sampled_from([{"k": 5}, {"k": 10, "l": 3, "t": Decimal("0.25")}, {"plain": {"p": 1, "d": 2}}])
        )
    if draw(st.booleans()):
        parts["options"] = {"choose": "widest"}
    if draw(st.booleans()):
        parts["missing"] = draw(st.sampled_from([["", "?"], [""], ["# no comment", "[x]", "it's", 'a"b']]))
    return parts


@st.composite
def written(draw: st.DrawFn, parts: dict[str, Any]) -> str:
    """The policy as TOML: lists over one line or many, tables inline, dotted or with headers, comments."""
    number = iter(range(1_000))

    def own_lines() -> list[str]:
        return [
            draw(st.sampled_from(["", f"# own {next(number)}", f"  # own {next(number)} [x] = 'a'"]))
        ] * draw(st.integers(0, 1))

    def comment() -> str:
        return draw(st.sampled_from(["", f"  # end {next(number)}", f"# end {next(number)} ] }} = ,"]))

    def listed(names: list[Any]) -> str:
        form = draw(st.sampled_from(["one", "trailing", "many", "last", "commas first"]))
        words = [toml(name) for name in names]
        if form == "one" or not names:
            return f"[{', '.join(words)}]"
        if form == "trailing":
            return f"[ {', '.join(words)}, ]"
        if form == "commas first":
            return "[\n    " + "\n  , ".join(f"{word} {comment()}" for word in words) + "\n]"
        last = "" if form == "last" else ","
        lines = [f"  {word}, {comment()}" for word in words[:-1]] + [f"  {words[-1]}{last} {comment()}"]
        return "\n".join([f"[{comment()}", *own_lines(), *lines, *own_lines(), "]"])

    top, below = list[str](), list[str]()
    for key in draw(st.permutations(list(parts))):
        value = parts[key]
        if isinstance(value, list):
            top += [*own_lines(), f"{key} = {listed(value)}{comment()}"]
            continue
        plain = key in ("quasi_identifiers", "sensitive") and not any(value.values())
        form = draw(st.sampled_from(["inline", "dotted", "header", "headers", *(["list"] if plain else [])]))
        if form == "list":
            top += [*own_lines(), f"{key} = {listed(list(value))}{comment()}"]
        elif form == "inline":
            top += [*own_lines(), f"{key} = {toml(value)}{comment()}"]
        elif form == "dotted":
            for name, part in value.items():
                top += [*own_lines(), f"{key} . {toml_key(name)} = {toml(part)}{comment()}"]
            top += [] if value else [f"{key} = {{}}"]
        elif form == "header":
            below += [*own_lines(), f"[{key}]{comment()}"]
            for name, part in value.items():
                below += [
                    *own_lines(),
                    f"{draw(st.sampled_from(['', '  ']))}{toml_key(name)} = {toml(part)}{comment()}",
                ]
        else:
            tables = {name: part for name, part in value.items() if isinstance(part, dict)}
            below += [
                f"[{key}]",
                *(f"{n} = {toml(p)}{comment()}" for n, p in value.items() if n not in tables),
            ]
            for name, part in tables.items():
                below += [*own_lines(), f"[{key}.{toml_key(name)}]{comment()}"]
                for inner, said in part.items():
                    below += [*own_lines(), f"{inner} = {toml(said)}{comment()}"]
    text = "\n".join([*top, *below])
    text += draw(st.sampled_from(["", "\n", "\n\n# the end\n"]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return draw(st.sampled_from(["", "\ufeff"])) + text


def toml_key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else toml(name)


documents = policies().flatmap(lambda parts: st.tuples(st.just(parts), written(parts)))

# ---- random edits, made in the text and, by other code, in the data

Edit = tuple[str, Callable[[PolicyText], PolicyText], Callable[[dict[str, Any]], dict[str, Any]]]


def canonical(parts: dict[str, Any]) -> dict[str, Any]:
    return Policy.from_dict(parts).to_dict()


def moved(parts: dict[str, Any], name: str, role: str, said: dict[str, Any]) -> dict[str, Any]:
    """A column with another role, said once more in plain words; for policies in canonical form."""
    old: dict[str, Any] = {}
    keys = {"identifier": "identifiers", "quasi_identifier": "quasi_identifiers"}
    to = keys.get(role, role)
    stays = name in parts.get(to, ())
    for key in [*LISTS, "quasi_identifiers", "sensitive"]:
        if name in parts.get(key, ()):
            old = parts[key][name] if isinstance(parts[key], dict) else {}
            if key != to:
                there = parts[key]
                rest = (
                    {n: p for n, p in there.items() if n != name}
                    if isinstance(there, dict)
                    else [n for n in there if n != name]
                )
                parts = {**parts, key: rest}
    if to in LISTS:
        return parts if stays else {**parts, to: [*parts.get(to, []), name]}
    known = ("type", "hierarchy", "values", "format") if to == "sensitive" else tuple(old)
    words = {key: word for key, word in old.items() if key in known} | said
    if to == "sensitive" and not stays and not said and set(words) == {"type"}:
        words = {}
    return {**parts, to: {**parts.get(to, {}), name: words}}


@st.composite
def edits(draw: st.DrawFn) -> Edit:
    kind = draw(st.sampled_from(["role", "described", "k", "l", "method", "options", "hierarchy", "accept"]))
    name = draw(st.sampled_from([*NAMES, "new one"]))
    if kind == "role":
        role = draw(
            st.sampled_from(["identifier", "quasi_identifier", "sensitive", "keep", "drop", "undecided"])
        )
        return name, lambda text: text.role(name, role), lambda parts: moved(parts, name, role, {})
    if kind == "described":
        said: dict[str, Any] = draw(st.sampled_from([{"type": "date"}, {"hierarchy": {"dates": ["year"]}}]))
        return (
            name,
            lambda text: text.role(name, "quasi_identifier", **said),
            lambda parts: moved(parts, name, "quasi_identifier", said),
        )
    if kind == "hierarchy":
        return (
            name,
            lambda text: text.role(name, "quasi_identifier").set(
                ("quasi_identifiers", name, "hierarchy"), "x.csv"
            ),
            lambda parts: moved(parts, name, "quasi_identifier", {"hierarchy": "x.csv"}),
        )
    key, value = {
        "k": ("privacy.k", draw(st.integers(2, 9))),
        "l": ("privacy.l", draw(st.sampled_from([2, Decimal("2.5"), None]))),
        "method": ("method", draw(st.sampled_from(["ring", "topdown", None]))),
        "options": ("options", draw(st.sampled_from([{"choose": "widest"}, {"polish": True, "n": 3}, None]))),
        "accept": ("accept", draw(st.sampled_from([["all"], [], None]))),
    }[kind]

    def in_data(parts: dict[str, Any]) -> dict[str, Any]:
        whole = {**parts, "privacy": dict(parts.get("privacy", {}))}
        table, name = (whole["privacy"], key.partition(".")[2]) if "." in key else (whole, key)
        table.pop(name, None)
        if value is not None:
            table[name] = str(value) if isinstance(value, Decimal) else value
        return whole

    return key.rpartition(".")[2], lambda text: text.set(key, value), in_data


def comments(text: str) -> set[str]:
    return set(re.findall(r"# (?:own|end) [0-9]+", text))


@settings(max_examples=240)
@given(documents, st.lists(edits(), min_size=1, max_size=4))
def test_the_text_says_what_was_asked_for_and_comments_stay(
    document: tuple[dict[str, Any], str], changes: list[Edit]
) -> None:
    parts, text = canonical(document[0]), PolicyText(document[1])
    assert text.policy.to_dict() == parts
    for name, in_text, in_data in changes:
        try:
            wanted = canonical(in_data(parts))
        except PolicyError:  # such as a prefix of dates
            with pytest.raises(PolicyError):
                in_text(text)
            continue
        edited = in_text(text)
        assert edited.policy.to_dict() == wanted
        assert edited.policy == Policy.from_dict(wanted)
        lost = comments(text.text) - comments(edited.text)
        header = ""
        for line in text.text.splitlines():
            header = line if line.startswith("[") else header
            if comments(line) & lost:  # it stood on a line that is gone, and that line was about this
                assert not line.strip().startswith("#")
                assert about(name, line) or about(name, header), (name, line, edited.text)
        assert in_text(edited).text == edited.text  # once more changes nothing
        assert edited.text.count("\r\n") in (0, edited.text.count("\n"))
        parts, text = wanted, edited


def about(name: str, line: str) -> bool:
    """Does the line name what was edited?"""
    inside = name == "options" and ("choose" in line or "polish" in line or "n = 3" in line)
    return toml(name)[1:-1] in line or name in line or inside


@given(documents)
def test_to_ask_for_what_is_said_changes_nothing(document: tuple[dict[str, Any], str]) -> None:
    said = tomllib.loads(document[1].removeprefix("\ufeff"), parse_float=Decimal)
    assert rewritten(document[1], said) == document[1]


@given(documents, documents)
def test_any_policy_can_be_made_to_say_any_other(
    one: tuple[dict[str, Any], str], other: tuple[dict[str, Any], str]
) -> None:
    """However different: lists become tables, tables lists; comments that stood alone outside lists stay."""
    said = tomllib.loads(other[1].removeprefix("\ufeff"), parse_float=Decimal)
    text = rewritten(one[1], said)
    assert Policy.from_text(text) == Policy.from_text(other[1])
    assert alone(one[1]) <= comments(text)


def alone(text: str) -> set[str]:
    """The comments that have a line of their own, outside of lists."""
    values = [entry.value for section in sections(text) for entry in section.entries]
    lines = re.finditer(r"^\ufeff?[ \t]*(# own [0-9]+)", text, re.MULTILINE)
    return {each[1] for each in lines if not any(value.start < each.start(1) < value.end for value in values)}


@given(documents)
def test_places_are_those_of_keys_and_values(document: tuple[dict[str, Any], str]) -> None:
    for section in sections(document[1]):
        for entry in section.entries:
            value = tomllib.loads(
                f"x = {document[1][entry.value.start : entry.value.end]}", parse_float=Decimal
            )
            said: Any = tomllib.loads(document[1].removeprefix("\ufeff"), parse_float=Decimal)
            for key in section.full(entry):
                said = said[key]
            assert value["x"] == said


# ---- by hand

CLINIC = """\
# The clinic's policy.

identifiers = ["name", "ssn"]  # never
undecided = [  # ask Ann
  "visit",  # a word
  # two more
  "ward", "bed",
  "room"  # last
]

# what is known
[quasi_identifiers]
age = {type = "numeric"}  # years

  # to patients
[privacy]
k = 10  # enough
"""


def edited(*changes: Callable[[PolicyText], PolicyText], text: str = CLINIC) -> str:
    found = PolicyText(text)
    for change in changes:
        found = change(found)
    return found.text


def test_a_line_goes_with_its_comment_and_others_stay() -> None:
    text = edited(lambda text: text.role("visit", "keep"), lambda text: text.role("bed", "drop"))
    assert '  # two more\n  "ward",\n  "room"  # last\n]\nkeep = ["visit"]\ndrop = ["bed"]\n' in text
    assert "# a word" not in text
    assert text.startswith("# The clinic's policy.\n\nidentifiers")
    assert text.endswith("  # to patients\n[privacy]\nk = 10  # enough\n")


def test_a_list_over_lines_gets_a_line() -> None:
    assert '  "room",  # last\n  "floor",\n]' in edited(lambda text: text.role("floor", "undecided"))


def test_a_list_of_lines_becomes_a_table_of_lines() -> None:
    source = 'sensitive = [  # private\n  "ill", # a\n\n  # of money\n  "pay", "tax", # b\n  "x",  # c\n]\n'
    text = edited(
        lambda text: text.set_all(
            [("sensitive.pay.type", "numeric"), ("sensitive.x", None), ("sensitive.new", {})]
        ),
        text=source,
    )
    assert text == (
        "# private\nsensitive.ill = {}  # a\n# of money\n"
        'sensitive.pay = {type = "numeric"}\nsensitive.tax = {}  # b\nsensitive.new = {}\n'
    )


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("", "[privacy]\nk = 5\n"),
        ("# mine", "# mine\n\n[privacy]\nk = 5\n"),
        ("privacy = {}", "privacy = {k = 5}"),
        ("privacy = { l = 2 } # c", "privacy = { l = 2, k = 5 } # c"),
        ("privacy.l = 2 # c", "privacy.l = 2 # c\nprivacy.k = 5\n"),
        ("[privacy]\n\n# end", "[privacy]\nk = 5\n\n# end"),
        (
            "[privacy.plain]\np = 1\nd = 2\n[options]\n",
            "[privacy]\nk = 5\n\n[privacy.plain]\np = 1\nd = 2\n[options]\n",
        ),
    ],
    ids=["empty", "comment", "inline", "inline-more", "dotted", "header", "header-inside"],
)
def test_a_key_comes_where_its_table_is(source: str, wanted: str) -> None:
    assert edited(lambda text: text.set("privacy.k", 5), text=source) == wanted


def test_a_table_of_a_column_comes_beside_those_of_others() -> None:
    source = "[quasi_identifiers.age]\ntype = 'numeric'  # years\n\n[privacy]\nk = 5\n"
    text = edited(lambda text: text.role("zip", "quasi_identifier", hierarchy={"prefix": [3]}), text=source)
    assert "# years\n\n[quasi_identifiers.zip]\nhierarchy = {prefix = [3]}\n\n[privacy]" in text


def test_a_first_key_comes_above_the_first_header_and_its_comment() -> None:
    text = edited(lambda text: text.set("method", "ring"), text="# file\n\n# of k\n[privacy]\nk = 5\n")
    assert text == '# file\n\nmethod = "ring"\n# of k\n[privacy]\nk = 5\n'


def test_a_name_that_is_typed_in_another_form_is_the_same_column() -> None:
    text = edited(lambda text: text.role("é", "drop"), text='keep = ["e\u0301"]\n')
    assert Policy.from_text(text).to_dict() == {"drop": ["é"]}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.set("privacy.k", 1), "at least 2"),
        (lambda text: text.set("privacy.kk", 3), "did you mean 'k'"),
        (lambda text: text.set("identifiers.name", {}), "identifiers is no table"),
        (lambda text: text.set("privacy..k", 3), "followed by another part"),
        (lambda text: text.set("privacy.k = 3", 3), "a key is made of names"),
        (lambda text: text.remove("privacy.l"), "not in the policy"),
        (lambda text: text.role("age", "known"), "not among the roles"),
        (lambda text: text.role("age", "keep", type="numeric"), "are described"),
        (lambda text: text.role("ssn", "entity").role("name", "entity"), "another role first"),
        (lambda text: text.set("quasi_identifiers.name", {}), "two roles"),
    ],
)
def test_what_is_no_policy_is_refused(change: Callable[[PolicyText], PolicyText], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        change(PolicyText(CLINIC))


def test_lists_of_tables_are_left_to_people() -> None:
    with pytest.raises(PolicyError, match="edit the file"):
        PolicyText("[options]\n[[options.x]]\na = 1\n").set("method", "ring")


# ---- files and the command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_bytes(CLINIC.replace("\n", "\r\n").encode("utf-8-sig"))
    (tmp_path / "policy.toml").chmod(0o640)
    return tmp_path / "policy.toml"


def test_a_file_keeps_its_mode_its_line_breaks_and_what_leads_to_it(file: Path) -> None:
    link = file.with_name("link.toml")
    link.symlink_to(file.name)
    assert incrowd("policy", "set", link, "privacy.k=5").code == 0
    assert link.is_symlink()
    assert file.read_bytes() == CLINIC.replace("k = 10", "k = 5").replace("\n", "\r\n").encode("utf-8-sig")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(os.listdir(file.parent)) == ["link.toml", "policy.toml"]


def test_a_file_that_others_changed_is_not_overwritten(file: Path) -> None:
    before = PolicyText.load(file)
    file.write_text("method = 'ring'\n")
    with pytest.raises(InputError, match="changed meanwhile"):
        before.set("privacy.k", 5).save(file, over=before)
    assert file.read_text() == "method = 'ring'\n"


def test_whatever_fails_the_old_file_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, old = listing(file.parent), PolicyText.load(file)
    for call in ("fsync", "fchmod"):
        with monkeypatch.context() as patch:
            patch.setattr(os, call, refuse)
            with pytest.raises(InputError, match="cannot write"):
                old.set("privacy.k", 5).save(file)
    assert listing(file.parent) == before


def refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


KILLED = """
import os, sys
from incrowd.policy import PolicyText

path = sys.argv[1]
old = PolicyText.load(path)
new, raw, seen = old.set("privacy.k", 5), open(path, "rb").read(), set()
for number in range(50):
    open(path, "wb").write(raw)
    child = os.fork()
    if child == 0:
        left = [number]
        def count(event, *_):
            if event in ("open", "fsync", "os.chmod", "os.rename", "os.remove", "tempfile.mkstemp"):
                left[0] -= 1
                if left[0] < 0:
                    os._exit(9)
        sync = os.fsync
        os.fsync = lambda handle: (count("fsync"), sync(handle))
        sys.addaudithook(count)
        new.save(path, over=old)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = PolicyText.load(path).text
    assert found in (old.text, new.text)
    seen.add(found == new.text)
    if status == 0:
        break
assert status == 0 and seen == {True, False} and number > 4, (status, seen, number)
"""


def test_killed_at_any_operation_the_file_has_the_old_text_or_the_new_one(file: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED, str(file)], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_command_shows_changes_and_writes_unless_told_not_to(file: Path) -> None:
    before = listing(file.parent)
    dry = incrowd("policy", "role", file, "age=drop", "--dry-run")
    assert (dry.code, listing(file.parent)) == (0, before)
    assert '-age = {type = "numeric"}  # years\n' in dry.out
    assert '+drop = ["age"]\n' in dry.out
    told = incrowd("policy", "role", file, "age=drop", "visit=quasi-identifier", "--json").json
    assert told["written"]
    assert (
        told["policy"]
        == Policy.load(file).to_dict()
        == incrowd("policy", "show", file, "--json").json["policy"]
    )
    again = incrowd("policy", "role", file, "age=drop")
    assert "nothing was changed" in again.out
    removed = incrowd("policy", "remove", file, "privacy", "undecided", "--json").json
    assert set(removed["policy"]) == {"identifiers", "drop", "quasi_identifiers"}


def test_the_command_takes_values_as_toml_writes_them(file: Path) -> None:
    words = (
        "privacy.t=0.20",
        "method=ring",
        'quasi_identifiers."a b".hierarchy={prefix = [3]}',
        "totals=true",
    )
    assert incrowd("policy", "set", file, *words).code == 0
    said = Policy.load(file)
    assert (said.privacy.t, said.method, said.totals) == ("0.2", "ring", True)
    assert said.quasi_identifiers["a b"].hierarchy == {"prefix": [3]}
    assert "t = 0.20\r\n" in file.read_bytes().decode()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "privacy.k"), "set takes key=value"),
        (("role", "age"), "role takes column=role"),
        (("set",), "what to change"),
        (("show", "privacy.k=3"), "nothing more"),
        (("put", "privacy.k=3"), "not in the list of actions: put"),
        (("set", "privacy.k=x\ny=2"), "must be a whole number"),
        (("remove", "privacy.l"), "not in the policy"),
    ],
)
def test_the_command_says_what_is_wrong_and_changes_nothing(
    words: tuple[str, ...], said: str, file: Path
) -> None:
    before = listing(file.parent)
    ran = incrowd("policy", words[0], file, *words[1:])
    assert (ran.code, listing(file.parent)) == (2, before)
    assert said in ran.err


def test_the_demos_policy_is_shown(tmp_path: Path) -> None:
    write_example(tmp_path, rows=50)
    ran = incrowd("policy", "show", tmp_path / "policy.toml")
    assert (ran.code, ran.err) == (0, "")
    assert "Promise: {k = 10, l = 3}" in ran.out
    assert 'zip: {type = "categorical", hierarchy = {prefix = [5, 4, 3, 2]}}' in ran.out


@pytest.mark.parametrize("role", list(Role))
def test_every_role_can_be_given(role: Role) -> None:
    text = PolicyText("").role("x", role.value)
    assert list(text.policy.roles()) == [("x", role)]
    assert text.role("x", KEY_OF_ROLE[role]) == text
    assert list(text.without(["x"]).policy.roles()) == []


def test_columns_that_are_gone_are_no_longer_named_and_comments_stay() -> None:
    said = (
        'keep = ["visit"]\nentity = "person"  # whose row it is\n'
        '[quasi_identifiers]\nage = {type = "numeric"}\n# where they live\n'
        "zip = {hierarchy = {prefix = [3]}}\n"
    )
    text = PolicyText(said).without(["zip", "person", "unheard of"])
    assert dict(text.policy.roles()) == {"age": Role.QUASI, "visit": Role.KEEP}
    assert "# where they live" in text.text
    assert PolicyText(said).without([]).text == said
