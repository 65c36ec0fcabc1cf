"""Attacks on releases with a public table that are written: what they find, how they end, real people."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from support.commands import incrowd
from support.method_names import ACCEPTED

from incrowd.attacks.registry import AttackResult
from incrowd.commands.attack import Attacked, attack
from incrowd.policy import Policy

POLICY = """
identifiers = ["id"]
sensitive = ["ill"]
method = "{method}"
[quasi_identifiers]
age = {{type = "numeric"}}
zip = {{type = "numeric"}}
[privacy]
k = 5
{more}
[public]
table = "voters.csv"
id = "id"
membership_secret = true
"""


def write_csv(path: Path, header: list[str], rows: Sequence[tuple[object, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """900 voters, 302 of them patients, and releases. Nobody may change them."""
    folder, chance = tmp_path_factory.mktemp("town"), random.Random(3)
    voters = [(f"v{i}", chance.randrange(18, 90), chance.randrange(100)) for i in range(900)]
    patients = chance.sample(voters, 302)
    write_csv(folder / "voters.csv", ["id", "age", "zip"], voters)
    ill = [(*who, chance.choice(["flu", "cold", "gout", "none"])) for who in patients]
    write_csv(folder / "patients.csv", ["id", "age", "zip", "ill"], ill)
    diverse = 'l = 2\nl_kind = "frequency"'
    for method, more in (("kja-direct", ""), ("kja-refine", diverse), ("kja-refine-adaptive", diverse)):
        (folder / f"{method}.toml").write_text(POLICY.format(method=method, more=more), encoding="utf-8")
        words = ("publish", folder / "patients.csv", "-p", folder / f"{method}.toml")
        accepted = [word for name in ACCEPTED[method] for word in ("--accept", name)]
        done = incrowd(*words, "-o", folder / method, *accepted, "--accept", "certain-presence")
        assert done.code == 0, done.err
        if method == "kja-refine":
            continue
        unsafe = (*accepted, "--set", "trim=exact", "--accept", "unsafe-trimming")
        assert incrowd(*words, "-o", folder / f"{method}-trimmed", *unsafe).code == 0
    tight = ("--set", "first=private", "--accept", "unsafe-outline", "-o", folder / "tight")
    assert incrowd(*words, *tight).code == 0
    plain = POLICY.format(method="mondrian", more="").partition("[public]")[0]
    (folder / "plain.toml").write_text(plain, encoding="utf-8")
    done = incrowd("publish", folder / "patients.csv", "-p", folder / "plain.toml", "-o", folder / "plain")
    assert done.code == 0
    return folder


def found_in(town: Path, name: str, **more: Any) -> dict[str, AttackResult]:
    said = attack(town / name, town / "patients.csv", public=town / "voters.csv", **more)
    return {result.name: result for result in said.results}


ON_ROWS = ["order", "equijoin", "matching", "presence", "trimming"]


def test_direct_holds(town: Path) -> None:
    found = found_in(town, "kja-direct")
    assert [*found] == [*ON_ROWS, "membership"]
    assert all(result.outcome != "broken" and result.works for result in found.values())
    assert found["equijoin"].attack.tried == 302
    assert found["membership"].attack.tried == 302
    assert found["membership"].bound is None
    assert found["equijoin"].bound == Fraction(1, 5)


@pytest.mark.parametrize("method", ["kja-direct", "kja-refine-adaptive"])
def test_trimming_as_printed_is_broken(town: Path, method: str) -> None:
    found = found_in(town, f"{method}-trimmed")
    assert found["trimming"].attack.tried > 10
    assert found["trimming"].attack.won == found["trimming"].attack.tried
    assert found["trimming"].outcome == "broken"
    assert found["equijoin"].outcome == "held"


def test_refinement_holds(town: Path) -> None:
    found = found_in(town, "kja-refine")
    assert [*found] == [*ON_ROWS, "outline", "membership", "groups-ill"]
    assert all(result.outcome != "broken" for result in found.values())
    assert all(result.works for result in found.values())
    assert found["groups-ill"].details["persons_exposed"] == 0
    assert found["groups-ill"].bound == Fraction(1, 2)


def test_outlines_as_printed_are_broken(town: Path) -> None:
    """Whoever alone has an end of a group's range is of the private table."""
    found = found_in(town, "tight")
    assert found["outline"].attack.won == found["outline"].attack.tried > 10
    assert found["outline"].outcome == "broken"


def test_attack_on_the_command_line(town: Path) -> None:
    words = ("attack", town / "kja-direct", "--original", town / "patients.csv")
    ran = incrowd(*words, "--public", town / "voters.csv", "--json")
    assert (ran.code, ran.err) == (3, "")  # of so few claims nobody knows how many would be right
    assert (ran.json["records"], ran.json["known"], ran.json["outcome"]) == (302, 302, "inconclusive")
    assert set(ran.json["inconclusive"]) <= {"presence", "trimming"}
    assert "links" in ran.json["truth"]
    with_policy = incrowd(*words, "-p", town / "kja-direct.toml", "--json")
    assert (with_policy.code, with_policy.json["known"]) == (3, 302)
    broken = incrowd("attack", town / "kja-direct-trimmed", *words[2:], "--public", town / "voters.csv")
    assert broken.code == 1
    assert "BROKEN by trimming." in broken.out
    assert "are in the private table" in broken.out


def test_the_public_table_is_asked_for(town: Path) -> None:
    ran = incrowd("attack", town / "kja-direct", "--original", town / "patients.csv")
    assert (ran.code, "--public" in ran.err) == (2, True)
    plain = ("attack", town / "plain", "--original", town / "patients.csv")
    assert incrowd(*plain).code == 0
    ran = incrowd(*plain, "--public", town / "voters.csv")
    assert (ran.code, "leave out --public" in ran.err) == (2, True)


@pytest.mark.parametrize("links", ['{"record_of_each_row": [0]}', '{"record_of_each_row": "x"}', "[", None])
def test_damaged_links_are_none(town: Path, tmp_path: Path, links: str | None) -> None:
    for name in ("kja-direct", "kja-direct.audit"):
        (tmp_path / name).mkdir()
        for file in (town / name).iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "kja-direct.audit" / "links.json"
    if links is None:  # people in another order: rows would not hold them
        behind = json.loads(path.read_text())["record_of_each_row"]
        links = json.dumps({"record_of_each_row": behind[::-1]})
    path.write_text(links, encoding="utf-8")
    policy = Policy.load(town / "kja-direct.toml")
    said = attack(tmp_path / "kja-direct", town / "patients.csv", policy)
    assert (said.known, "no links" in said.truth) == (0, True)
    found = {result.name: result for result in said.results}
    assert (found["equijoin"].attack.tried, found["equijoin"].outcome) == (302, "held")  # by candidates
    assert found["order"].doubt is not None
    assert "nobody was scored" in found["order"].doubt[0]
    assert found["trimming"].outcome == "inconclusive"
    assert found["presence"].attack.tried > 0  # who is there is known without links
    assert found["trimming"].control is None


# ---- real people


@pytest.fixture(scope="module")
def florida(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tenth of the people of the public list, and those of the private table among them."""
    source, folder = real_data / "acs2024_join", tmp_path_factory.mktemp("florida")
    with gzip.open(source / "public_list.csv.gz", "rt", encoding="utf-8") as file:
        people = [row for i, row in enumerate(csv.DictReader(file)) if i < 20_000]
    with (source / "truth.csv").open(encoding="utf-8") as file:
        names = {row["record_id"]: row["person_id"] for row in csv.DictReader(file)}
    listed = {row["person_id"] for row in people}
    with (source / "microdata.csv").open(encoding="utf-8") as file:
        rows = [row | {"person_id": names[row["record_id"]]} for row in csv.DictReader(file)]
    quasi = ["PUMA", "AGEP", "SEX", "RAC1P", "HISP", "MAR"]
    mine = [
        tuple(row[c] for c in ("person_id", *quasi, "HICOV")) for row in rows if row["person_id"] in listed
    ]
    write_csv(folder / "private.csv", ["person_id", *quasi, "HICOV"], mine)
    public = [tuple(row[c] for c in ("person_id", *quasi)) for row in people]
    write_csv(folder / "public.csv", ["person_id", *quasi], public)
    return folder


def attacked(folder: Path, method: str, **options: str) -> Attacked:
    from incrowd.commands.publish import publish

    asked = Policy.model_validate(
        {
            "identifiers": ["person_id"],
            "sensitive": ["HICOV"],
            "quasi_identifiers": {
                name: {"type": "numeric" if name == "AGEP" else "categorical"}
                for name in ("PUMA", "AGEP", "SEX", "RAC1P", "HISP", "MAR")
            },
            "method": method,
            "privacy": {"k": 10},
            "options": options,
            "accept": ["unsafe-trimming"] if options else [],
            "public": {"table": "public.csv", "id": "person_id", "membership_secret": True},
        }
    )
    name = "-".join((method, *options.values()))
    publish(folder / "private.csv", asked, public=folder / "public.csv").write(folder / name)
    return attack(folder / name, folder / "private.csv", public=folder / "public.csv")


def test_real_people_in_one_step(florida: Path) -> None:
    said = attacked(florida, "kja-direct")
    found = {result.name: result for result in said.results}
    assert said.outcome != "broken"
    assert all(result.works for result in said.results)
    for name in ("presence", "trimming"):
        result = found[name]
        assert result.attack.share - float(result.details["base_rate"]) <= 0.02  # THREATS E
    assert found["membership"].attack.share > 0.2
    assert found["trimming"].control is not None
    assert found["trimming"].control.won == found["trimming"].control.tried


def test_real_people_trimmed_as_printed(florida: Path) -> None:
    said = attacked(florida, "kja-direct", trim="greedy")
    found = {result.name: result for result in said.results}
    assert found["trimming"].attack.won == found["trimming"].attack.tried > 0
    assert said.outcome == "broken"


@pytest.fixture(scope="module")
def two_steps(florida: Path) -> dict[str, AttackResult]:
    return {result.name: result for result in attacked(florida, "kja-refine").results}


def test_real_people_in_two_steps(two_steps: dict[str, AttackResult]) -> None:
    found = two_steps
    assert all(result.works for result in found.values())
    assert all(result.outcome != "broken" for result in found.values())
    assert int(found["groups-HICOV"].details["persons_exposed_if_by_classes"]) > 0


def test_who_planted_people_discounts_them(town: Path, tmp_path: Path) -> None:
    """All voters who are no patients are said not to exist: what is left are the patients of each class."""
    with (town / "voters.csv").open(encoding="utf-8") as file:
        voters = [line.split(",")[0] for line in file.read().splitlines()[1:]]
    with (town / "patients.csv").open(encoding="utf-8") as file:
        patients = {line.split(",")[0] for line in file.read().splitlines()[1:]}
    planted = tmp_path / "planted.csv"
    planted.write_text(
        "\n".join(["id", *(id_ for id_ in voters if id_ not in patients)]) + "\n", encoding="utf-8"
    )
    words = ["attack", town / "kja-direct", "--original", town / "patients.csv"]
    words += ["-p", town / "kja-direct.toml"]
    ran = incrowd(*words, "--planted", planted, "--json")
    found = {result["name"]: result for result in ran.json["attacks"]}
    assert ran.code == 1  # far fewer than k are left
    assert found["planted"]["details"]["planted_used"] > 0
    assert found["planted"]["attack"]["won"] == found["membership"]["attack"]["won"]
    planted.write_text("id\nnobody\n", encoding="utf-8")
    ran = incrowd(*words, "--planted", planted, "--json")
    found = {result["name"]: result for result in ran.json["attacks"]}
    assert found["planted"]["details"] == {
        "planted_used": 0,
        "persons_below_k": 0,
        "smallest_crowd": found["planted"]["details"]["smallest_crowd"],
    }
    assert found["planted"]["holds"]
