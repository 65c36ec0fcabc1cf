"""Publishing with a public table, from two tables to files and back."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.commands import incrowd
from support.method_names import ACCEPTED, JOINS
from support.night import combined
from support.written_forms import FORMS

from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Exposure, Infeasible, InputError, PolicyError
from incrowd.flow import Table
from incrowd.models.l_diversity import MINIMALITY
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Release, publish_to
from incrowd.tables import write_csv


def asked(method: str = "kja-refine", **more: Any) -> Policy:
    parts: dict[str, Any] = {
        "identifiers": ["id"],
        "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {"type": "categorical"}},
        "sensitive": ["ill"],
        "method": method,
        "privacy": {"k": 3},
        "public": {"table": "none.csv", "id": "id", "membership_secret": True},
        "accept": [
            *ACCEPTED[method],
            "certain-presence",
        ],  # small tables have classes of private people alone
    }
    return Policy.from_dict({**parts, **more})


def tables_of(own: int, others: int, seed: int = 0) -> tuple[Table, Table]:
    """A private table, and a public one that knows its people and others."""
    rng = np.random.default_rng(seed)
    n = own + others
    ages = [str(age) for age in rng.integers(20, 60, n)]
    sexes = ["FM"[int(sex)] for sex in rng.integers(0, 2, n)]
    ids = [f"p{number}" for number in rng.permutation(10 * n)[:n]]
    private = {
        "id": ids[:own],
        "age": ages[:own],
        "sex": sexes[:own],
        "ill": [f"i{i % 7}" for i in range(own)],
    }
    public = [*range(n)]
    rng.shuffle(public)
    shown = {
        "sex": [sexes[i] for i in public],
        "id": [ids[i] for i in public],
        "hobby": ["chess"] * len(public),
        "age": [ages[i] for i in public],
    }
    return Table.of(private), Table.of(shown)


def rows_of(table: Table) -> list[tuple[str | None, ...]]:
    return list(zip(*(column.rows() for column in table.columns), strict=True))


def holds(cell: str | None, value: str) -> bool:
    text = cell or ""
    if text.startswith("["):
        low, high = text[1:-1].split(",")
        return int(low) <= int(value) <= int(high)
    return text == "*" or value in text.strip("{}").split("|")


def check_by_hand(release: Release, private: Table, public: Table, k: int) -> None:
    """Reads the release and the two tables only."""
    rows = [row[:2] for row in rows_of(release.table)]
    assert min(Counter(rows).values()) >= k
    own = set(private.column("id").rows())
    people = [(age, sex) for _, age, sex, _ in rows_of(private)]
    people += [(age, sex) for sex, id_, _, age in rows_of(public) if id_ not in own]
    classes = Counter(rows)
    for age, sex in people[: len(private)]:
        assert any(holds(cells[0], str(age)) and holds(cells[1], str(sex)) for cells in classes)
    for cells, count in classes.items():
        inside = sum(holds(cells[0], str(age)) and holds(cells[1], str(sex)) for age, sex in people)
        assert inside >= count


@settings(max_examples=40)
@given(st.integers(4, 30), st.integers(0, 60), st.integers(2, 4), st.sampled_from(JOINS), st.integers(0, 99))
def test_a_release_is_k_join_anonymous(own: int, others: int, k: int, method: str, seed: int) -> None:
    private, public = tables_of(own, others, seed)
    release = publish(private, asked(method, privacy={"k": k}), public=public)
    assert release.verdict.passed
    check_by_hand(release, private, public, k)
    claims = [claim["model"] for claim in release.manifest["claims"]]
    if method == "kja-direct":
        assert claims == ["k-join-anonymity"]
        assert release.table.names == ("age", "sex")
        assert release.sensitive is None
    else:
        counts = ["even-presence"] if method == "kja-refine" else []
        assert claims == ["k-join-anonymity", *counts, "sensitive-groups"]
        assert release.table.names == ("age", "sex", "group", *(["people", "private"] if counts else []))
        assert method != "kja-direct-values" or len({row[0] for row in rows_of(release.sensitive)}) == 1
        values: Counter[str | None] = Counter()
        people: Counter[str | None] = Counter()
        for group, ill, count in rows_of(release.sensitive):
            values[ill] += int(count or "")
            people[group] += int(count or "")
        assert values == Counter(private.column("ill").rows())
        assert min(people.values()) >= k


def test_l_holds_for_the_groups_of_values() -> None:
    private, public = tables_of(60, 200)
    policy = asked(privacy={"k": 4, "l": 3, "l_kind": "frequency"})
    release = publish(private, policy, public=public)
    assert [claim["model"] for claim in release.manifest["claims"]][-1] == "frequency-l-diversity"
    groups: dict[str | None, list[int]] = {}
    for group, _, count in rows_of(release.sensitive):
        groups.setdefault(group, []).append(int(count or ""))
    assert all(max(counts) * 3 <= sum(counts) for counts in groups.values())


def test_boxes_are_smaller_than_without_the_public_table() -> None:
    private, public = tables_of(60, 2000)
    policy = asked()
    alone = Policy.from_dict({**policy.to_dict(), "public": None, "method": "mondrian"})
    plain = publish(private, alone).loss()["gcp"]
    for method in JOINS:
        assert publish(private, asked(method), public=public).loss()["gcp"] < plain / 2


def test_people_who_are_written_differently_do_not_confuse_the_judge() -> None:
    """An id that may be somebody of the private table stands in for nobody; others still do."""
    private, public = tables_of(12, 40)
    ids = [
        f"0{text}" if text == private.column("id").rows()[0] else text for text in public.column("id").rows()
    ]
    odd = Table.of({name: public.column(name).rows() if name != "id" else ids for name in public.names})
    with pytest.raises(Exposure) as refused:
        publish(private, asked(), public=odd)
    assert refused.value.name == "unsafe-join"
    release = publish(private, asked().with_(accept=["unsafe-join", "certain-presence"]), public=odd)
    assert release.verdict.passed
    said = release.manifest["claims"][0]
    assert "re-runs" not in said["adversary"]
    assert "nobody re-runs the program" in said["assumptions"][-1]


@pytest.mark.parametrize(
    ("method", "engine"), [*((join, "memory") for join in JOINS), ("kja-direct", "duckdb")]
)
def test_a_row_without_an_id_is_not_like_an_id_of_zeros(method: str, engine: str, tmp_path: Path) -> None:
    """Without zeros in front nothing is left of 0, as of no id at all: they were taken for one person."""
    private, public = tables_of(12, 40)
    known = private.column("id").rows()
    named = {known[0]: "0", next(text for text in public.column("id").rows() if text not in known): ""}
    renamed = [
        Table.of(
            {
                name: [named.get(text, text) if name == "id" else text for text in table.column(name).rows()]
                for name in table.names
            }
        )
        for table in (private, public)
    ]
    paths = [tmp_path / "private.csv", tmp_path / "public.csv"]
    for table, path in zip(renamed, paths, strict=True):
        write_csv(table, path)
    publish(paths[0], asked(method), tmp_path / "out", public=paths[1], engine=engine)
    assert verify(tmp_path / "out", paths[0], asked(method), public=paths[1], engine=engine).passed


def test_a_class_of_private_people_alone_is_refused() -> None:
    private, public = tables_of(30, 6)
    alone = asked(privacy={"k": 3}, accept=[])
    with pytest.raises(Exposure, match="everybody is in the private table") as refused:
        publish(private, alone, public=public)
    assert refused.value.name == "certain-presence"
    bounded = publish(private, alone.with_(options={"presence": 0.9}), public=public)
    shares = zip(*(bounded.table.column(name).rows() for name in ("private", "people")), strict=True)
    assert max(Fraction(f"{n}/{of}") for n, of in shares) <= Fraction(9, 10)
    assert bounded.manifest["claims"][1]["parameters"] == {"k": 3, "most": "0.9", "certain": "no"}
    with pytest.raises(Infeasible, match="presence"):
        publish(private, alone.with_(options={"presence": 0.5}), public=public)


def test_what_the_private_table_says_differently_must_be_accepted() -> None:
    private, public = tables_of(12, 60)
    older = [str(int(age or 0) + 1) for age in private.column("age").rows()[:2]]
    odd = {name: private.column(name).rows() for name in private.names}
    odd["age"][:2] = older
    said = asked().to_dict()["public"]
    with pytest.raises(InputError, match="described differently"):
        publish(Table.of(odd), asked(), public=public)
    release = publish(Table.of(odd), asked(public={**said, "conflicts": "public"}), public=public)
    check_by_hand(release, private, public, 3)
    with pytest.raises(Exposure, match='conflicts = "public"'):
        publish(Table.of(odd), asked(public={**said, "conflicts": "microdata"}), public=public)
    unsafe = asked(public={**said, "conflicts": "microdata"}, accept=["unsafe-join", "certain-presence"])
    assert publish(Table.of(odd), unsafe, public=public).verdict.passed


def test_the_manifest_says_where_the_people_are_from() -> None:
    private, public = tables_of(12, 40)
    said = asked(public={**asked().to_dict()["public"], "source": "the city", "date": "2024-02-29"})
    release = publish(private, said, public=public)
    assert release.manifest["public"] == {
        "kind": "Table",
        "rows": len(public),
        "id": "id",
        "source": "the city",
        "date": "2024-02-29",
    }
    assert release.told is not None
    assert set(release.told) == {"people", "presence", "certainly_present", "certainly_absent"}


@pytest.mark.parametrize("method", JOINS)
def test_what_does_not_go_with_a_public_table_is_refused(method: str) -> None:
    private, public = tables_of(12, 40)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"public": None}, "joins the table with a public one"),
        ({"public": {"table": "none.csv", "id": "id"}}, "membership_secret = true"),
        (
            {"public": {"table": "none.csv", "id": "id", "membership_secret": False}},
            "membership_secret = true",
        ),
        ({"sensitive": [], "keep": ["ill"]}, "would show who is in the private one"),
        ({"entity": "id", "identifiers": []}, "k counts rows"),
    ]
    for changed, word in wrong:
        with pytest.raises(InputError, match=word):
            publish(private, asked(method, **changed), public=public if changed.get("public", 1) else None)


def test_direct_keeps_k_alone() -> None:
    private, public = tables_of(12, 40)
    with pytest.raises(PolicyError, match="use kja-refine"):
        publish(private, asked("kja-direct", privacy={"k": 3, "l": 2}), public=public)


def test_trimming_must_be_accepted() -> None:
    private, public = tables_of(12, 40)
    policy = asked("kja-direct", options={"trim": "exact"})
    with pytest.raises(Exposure) as refused:
        publish(private, policy, public=public)
    assert refused.value.name == "unsafe-trimming"
    release = publish(private, policy.with_(accept=["unsafe-trimming"]), public=public)
    assert release.manifest["method"]["form"] == "printed"


def test_too_few_people_are_refused() -> None:
    private, public = tables_of(4, 40)
    assert publish(private, asked("kja-direct", privacy={"k": 9}), public=public).verdict.passed
    with pytest.raises(Infeasible, match="n=4 < k=9"):
        publish(private, asked(privacy={"k": 9}), public=public)


def test_other_methods_take_no_public_table() -> None:
    private, public = tables_of(12, 40)
    with pytest.raises(PolicyError, match="mondrian takes no public table"):
        publish(private, asked("mondrian"), public=public)


# Direct with values of classes


BY_CLASS: dict[str, Any] = {"options": {"values": "class"}, "accept": ["unsafe-adaptive", "certain-presence"]}


def direct(privacy: dict[str, Any], **more: Any) -> Policy:
    return asked("kja-direct-values", privacy=privacy, **{**BY_CLASS, **more})


@pytest.mark.parametrize(
    "privacy", [{"k": 6, "l": 3}, {"k": 6, "l": 2, "l_kind": "frequency"}, {"k": 6, "t": "0.7"}]
)
def test_every_class_has_k_people_and_its_private_ones_keep_l_or_t(privacy: dict[str, Any]) -> None:
    private, public = tables_of(80, 240)
    release = publish(private, direct(privacy), public=public)
    assert release.verdict.passed
    models = {claim["model"]: claim for claim in release.manifest["claims"]}
    assert models["sensitive-groups"]["parameters"] == {"k": 2}
    asked_for = next(claim for name, claim in models.items() if name.endswith(("diversity", "closeness")))
    assert MINIMALITY in asked_for["assumptions"]
    assert any("re-runs" in words for words in models["k-join-anonymity"]["assumptions"])
    values: dict[str | None, list[int]] = defaultdict(list)
    for group, _, count in rows_of(release.sensitive):
        values[group].append(int(count or ""))
    rows = {row[2]: row for row in rows_of(release.table)}
    assert len({row[:2] for row in rows.values()}) == len(rows) == len(values) > 3  # a bucket is a class
    for group, (_, _, _, people, mine) in rows.items():
        assert int(people or "") >= 6
        assert int(mine or "") == sum(values[group]) >= 2
        if "l" in privacy:
            assert len(values[group]) >= privacy["l"]
        if privacy.get("l_kind") == "frequency":
            assert max(values[group]) * 2 <= sum(values[group])


def test_values_of_classes_must_be_accepted_and_need_l_or_t() -> None:
    private, public = tables_of(40, 120)
    with pytest.raises(Exposure) as refused:
        publish(private, direct({"k": 4, "l": 2}, accept=[]), public=public)
    assert refused.value.name == "unsafe-adaptive"
    with pytest.raises(PolicyError, match="give l or t"):
        publish(private, direct({"k": 4}), public=public)


def test_a_class_of_private_people_alone_is_refused_here_too() -> None:
    private, public = tables_of(60, 6)
    with pytest.raises(Exposure) as refused:
        publish(private, direct({"k": 3, "l": 2}, accept=["unsafe-adaptive"]), public=public)
    assert refused.value.name == "certain-presence"


def test_plain_is_refused_with_every_public_table() -> None:
    private, public = tables_of(40, 120)
    with pytest.raises(PolicyError, match="plain does not go with a public table"):
        publish(private, direct({"k": 4, "plain": {"p": "0.9", "d": "0.5"}}), public=public)


def test_forged_values_of_classes_are_rejected(tmp_path: Path) -> None:
    table, path = write(tmp_path)
    policy = Policy.load(path).with_(
        method="kja-direct-values",
        l=2,
        options={"values": "class"},
        accept=["unsafe-adaptive", "certain-presence"],
    )
    folder = publish_to(table, policy, tmp_path / "out").folder
    assert verify(folder, table, policy).passed
    manifest, values = folder / "release.json", folder / "sensitive.csv"
    honest = manifest.read_bytes(), values.read_bytes()

    def forged(name: str, change: Any) -> bool:
        manifest.write_bytes(honest[0])
        values.write_bytes(honest[1])
        change()
        found = verify(folder, table, policy if name != "claims" else None, public=tmp_path / "public.csv")
        return not found.passed

    def more_l() -> None:
        said = json.loads(honest[0])
        for claim in said["claims"]:
            if claim["model"] == "distinct-l-diversity":
                claim["parameters"]["l"] = 6
        manifest.write_text(json.dumps(said), encoding="utf-8")

    def more_people() -> None:
        said = json.loads(honest[0])
        for claim in said["claims"]:
            if claim["model"] == "sensitive-groups":
                claim["parameters"]["k"] = 30
        manifest.write_text(json.dumps(said), encoding="utf-8")

    def exchanged() -> None:
        rows = list(csv.reader(honest[1].decode().splitlines()))
        rows[1][0], rows[-1][0] = rows[-1][0], rows[1][0]  # a value in another class
        values.write_text(
            "\n".join(",".join(row) for row in [rows[0], *sorted(rows[1:])]) + "\n", encoding="utf-8"
        )

    assert forged("claims", more_l)
    assert forged("claims", more_people)
    assert forged("values", exchanged)
    assert not forged("nothing", lambda: None)


# Files and commands


def write(folder: Path, own: int = 40, others: int = 300) -> tuple[Path, Path]:
    for name, table in zip(("private.csv", "public.csv"), tables_of(own, others), strict=True):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([table.names, *rows_of(table)])
    text = """
identifiers = ["id"]
sensitive = ["ill"]
method = "kja-refine"
[quasi_identifiers]
age = {type = "numeric"}
sex = {type = "categorical"}
[privacy]
k = 5
[public]
table = "public.csv"
id = "id"
membership_secret = true
"""
    (folder / "policy.toml").write_text(text, encoding="utf-8")
    return folder / "private.csv", folder / "policy.toml"


@pytest.mark.parametrize(("method", "form"), combined(JOINS, FORMS))
def test_what_is_written_is_confirmed_later(method: str, form: str, tmp_path: Path) -> None:
    table, policy = write(tmp_path)
    read = Policy.load(policy).with_(method=method, accept=ACCEPTED[method])
    written = publish_to(table, read, tmp_path / "out", FORMS[form])
    said = json.loads((written.folder / "release.json").read_text(encoding="utf-8"))
    assert len(said["public"]["sha256"]) == 64
    assert verify(written.folder, table, read).passed
    assert verify(written.folder, table, None, public=tmp_path / "public.csv").passed
    with (tmp_path / "public.csv").open("a", encoding="utf-8") as file:
        file.write("F,p999999,chess,33\n")
    assert not verify(written.folder, table, read).passed


def test_the_commands(tmp_path: Path) -> None:
    table, policy = write(tmp_path)
    done = incrowd("publish", table, "-p", policy, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert "k-join-anonymity (k = 5)" in said
    assert "40 of these rows are from the private table" in said
    assert incrowd("verify", tmp_path / "out", "--original", table, "-p", policy).code == 0
    public = tmp_path / "public.csv"
    assert incrowd("verify", tmp_path / "out", "--original", table, "--public", public).code == 0
    asked_without = incrowd("verify", tmp_path / "out", "--original", table)
    assert asked_without.code == 2
    assert "--public" in asked_without.err
    measured = incrowd("measure", tmp_path / "out", "--original", table, "-p", policy, "--json")
    assert measured.code == 0, measured.err
    assert measured.json["loss"]["gcp"] == pytest.approx(
        json.loads((tmp_path / "out.audit" / "audit.json").read_text(encoding="utf-8"))["loss"]["gcp"]
    )
