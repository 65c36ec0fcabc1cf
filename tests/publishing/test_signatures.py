"""Series that promise m-invariance: what goes on, what is refused, and forgeries."""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from forgeries.signatures import FIRST, SECOND, STATES
from support.series_tables import checked, months, policy, table
from twins import signatures as twin

from incrowd.algorithms import signatures
from incrowd.commands.attack import attack
from incrowd.commands.publish import publish
from incrowd.commands.series import series
from incrowd.errors import IncrowdError, NotVerified, PolicyError, Refused
from incrowd.publishing import series as publishing
from incrowd.release.ledger import KeptLedger, Ledger
from incrowd.release.stage import audit_folder

ILLS = "abcdef"


def asked(m: int = 3, **more: Any) -> dict[str, Any]:
    return policy(m, method="m-invariance", privacy={"l": m}, **more)


def groups_of(release: Path) -> list[list[int]]:
    """A release as groups of people, from its own rows, links and ledger: rows of a group are equal."""
    ledger = KeptLedger.open(release).read()
    behind = json.loads((audit_folder(release) / "links.json").read_text())["record_of_each_row"]
    with (release / "data.csv").open(newline="") as file:
        _, *lines = csv.reader(file)
    found, cells = defaultdict[int, list[int]](list), defaultdict[int, set[str]](set)
    for record, (age, _) in zip(behind, lines, strict=True):
        person = int(ledger.with_rows[record])
        found[int(ledger.state.cohort[person])].append(person)
        cells[int(ledger.state.cohort[person])].add(age)
    assert all(len(shown) == 1 for shown in cells.values())
    return list(found.values())


def test_all_releases_together_are_m_invariant(tmp_path: Path) -> None:
    """People come, leave, return and are erased; counted by the definition, from published rows."""
    dice = random.Random(3)
    everyone = {f"p{number}": (dice.randrange(60), dice.choice(ILLS)) for number in range(140)}
    here, ids = set(list(everyone)[:80]), list(everyone)
    for number in range(5):
        people = {who: everyone[who] for who in sorted(here)}
        after, erase = tmp_path / f"m{number - 1}" if number else None, ["p1", "p2"] if number == 3 else None
        publish(table(people), asked(), tmp_path / f"m{number}", after=after, erase=erase)
        here -= set(dice.sample(sorted(here), 8))
        here |= {*ids[80 + 12 * number : 92 + 12 * number], *dice.sample(ids[:80], 4)}
    ledger = KeptLedger.open(tmp_path / "m4").read()
    places = {ledger.head.digest(who): ILLS.index(ill) for who, (_, ill) in everyone.items()}
    values = [places[person] for person in ledger.people]
    releases = [groups_of(tmp_path / f"m{number}") for number in range(5)]
    assert not twin.faults(releases, values, 3)
    assert checked(tmp_path, 4, people, asked()).passed
    assert checked(tmp_path, 4, people).facts["reached"]["m-invariance (ill)"] == 3
    assert not (ledger.state.cohort[ledger.erased] >= 0).any()
    story = series(tmp_path / "m4", erase=["p5"])
    assert story.promised == "m-invariance, m = 3"
    assert story.erasure is not None
    assert story.erasure.erased == 1
    told = attack(tmp_path / "m4", table(people)).to_dict()["attacks"]
    (found,) = (each for each in told if each["name"].startswith("series"))
    assert (found["name"], found["outcome"]) == ("series-values", "held")
    assert found["details"]["fewest"] == 3
    assert "always shown together with the same values" in (tmp_path / "m4" / "README.md").read_text()


@pytest.mark.parametrize("name", STATES)
def test_a_publisher_that_does_wrong_is_stopped(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_by, spoil = STATES[name]
    months(tmp_path, [FIRST], asked())
    assert checked(tmp_path, 0, FIRST).passed
    right = publishing.next_state
    monkeypatch.setattr(publishing, "next_state", lambda *given: spoil(right(*given)))
    with pytest.raises(NotVerified, match=rf"(?m)^  {caught_by}: "):
        publish(table(SECOND), asked(), tmp_path / "m1", after=tmp_path / "m0")
    monkeypatch.undo()
    publish(table(SECOND), asked(), tmp_path / "m1", after=tmp_path / "m0")
    assert checked(tmp_path, 1, SECOND, asked()).passed


def test_a_row_that_describes_nobody_is_seen(tmp_path: Path) -> None:
    """A counterfeit, which the paper would print and count."""
    months(tmp_path, [FIRST], asked())
    data = tmp_path / "m0" / "data.csv"
    data.write_text(data.read_text() + data.read_text().splitlines()[-1] + "\n")
    assert not checked(tmp_path, 0, FIRST, asked()).passed


def test_another_number_of_people_withheld_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    months(tmp_path, [FIRST], asked())
    said = Ledger.said
    monkeypatch.setattr(Ledger, "said", lambda own: said(own) | {"withheld": 1})
    with pytest.raises(NotVerified, match="effective: the manifest states other numbers"):
        publish(table(SECOND), asked(), tmp_path / "m1", after=tmp_path / "m0")


def test_a_value_that_changes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    months(tmp_path, [FIRST], asked())
    ledger = KeptLedger.open(tmp_path / "m0").read()
    persons = {ledger.head.digest(who): who for who in FIRST}
    one, two, _ = (persons[ledger.people[p]] for p in groups_of(tmp_path / "m0")[0][:3])
    changed = {**FIRST, one: FIRST[two], two: FIRST[one]}
    with pytest.raises(Refused, match="2 people have another sensitive value"):
        publish(table(changed), asked(), tmp_path / "m1", after=tmp_path / "m0")
    monkeypatch.setattr(signatures, "_check_unchanged", lambda *_: None)
    with pytest.raises(NotVerified, match="2 people have, in release 1, another value than before"):
        publish(table(changed), asked(), tmp_path / "m1", after=tmp_path / "m0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (asked() | {"series": None}, "m-invariance is for a series"),
        (policy(3, method="m-invariance"), "needs l, its m"),
        (asked() | {"privacy": {"k": 4, "l": 3}}, "k = 4 is more"),
        (asked(series={"wait": 2}), "wait is for classes that are kept"),
        (asked() | {"sensitive": [], "drop": ["ill"]}, "one sensitive column, and there are 0"),
        (asked() | {"identifiers": [], "keep": ["name"]}, "name is kept, and would link rows"),
        (asked() | {"identifiers": [], "sensitive": ["ill", "name"]}, "for one sensitive column"),
    ],
)
def test_what_cannot_be_is_refused(words: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=said):
        publish(table(FIRST), words, tmp_path / "m0")


def test_a_series_keeps_its_kind_of_promise(tmp_path: Path) -> None:
    months(tmp_path, [FIRST], asked())
    with pytest.raises(IncrowdError, match="was made by m-invariance, after which mondrian cannot go on"):
        publish(table(SECOND), policy(3, privacy={"l": 3}), tmp_path / "m1", after=tmp_path / "m0")


def test_too_few_values_leave_nobody_a_row(tmp_path: Path) -> None:
    people = {who: (age, "a") for who, (age, _) in FIRST.items()}
    with pytest.raises(Refused, match="nobody can have a row yet"):
        publish(table(people), asked(), tmp_path / "m0")
