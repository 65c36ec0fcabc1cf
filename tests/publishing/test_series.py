"""Series of releases: what goes on, what is refused, and that release and ledger are one."""

from __future__ import annotations

import contextlib
import csv
import json
import random
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import incrowd
from support.large_series import ENGINE, written
from support.night import NIGHT
from support.series_tables import checked, crowd, failed, months, policy, rehash, table
from twins import series as twin

from incrowd.algorithms.base import all_methods
from incrowd.commands.measure import measure
from incrowd.commands.publish import publish
from incrowd.commands.series import series
from incrowd.commands.verify import verify
from incrowd.errors import IncrowdError, InputError, NotVerified, PolicyError, Refused
from incrowd.publishing import large_series as large
from incrowd.publishing import series as publishing
from incrowd.release import stage
from incrowd.release.ledger import KeptLedger
from incrowd.release.stage import LEDGER, SUCCESSOR, audit_folder
from incrowd.verifier.chain import LedgerChain

FIRST = crowd()
ILLS = "abcd"
SUPPORTED = (
    *("agglomerative", "cells", "forest", "hilbert", "lexicographic", "mondrian", "mondrian-relaxed"),
    "topdown",
)
Moving = dict[str, tuple[int, str]]


def coming_and_going(releases: int, seed: int, size: int = 60) -> list[Moving]:
    """Tables of people who come, leave, return and change."""
    dice = random.Random(seed)
    everyone = {f"p{n}": (dice.randrange(60), dice.choice(ILLS)) for n in range(2 * size)}
    here = dict(list(everyone.items())[:size])
    found = [dict(here)]
    for _ in range(releases - 1):
        for who in dice.sample(sorted(here), 4):
            del here[who]
        away = sorted(everyone.keys() - here.keys())
        for who in dice.sample(away, min(6, len(away))):
            here[who] = everyone[who]
        for who in dice.sample(sorted(here), 3):
            here[who] = everyone[who] = (dice.randrange(60), dice.choice(ILLS))
        found.append(dict(sorted(here.items(), key=lambda _: dice.random())))
    return found


def classes_of(release: Path) -> list[twin.Class]:
    """A release as classes of people with their dates and values, from its own rows and links."""
    ledger = KeptLedger.open(release).read()
    behind = json.loads((audit_folder(release) / "links.json").read_text())["record_of_each_row"]
    with (release / "data.csv").open(newline="") as file:
        _, *lines = csv.reader(file)
    found: dict[Any, dict[int, int]] = defaultdict(dict)
    for record, (age, ill) in zip(behind, lines, strict=True):
        person = int(ledger.with_rows[record])
        found[age, int(ledger.state.as_of[ledger.state.cohort[person]])][person] = ILLS.index(ill)
    return [(sorted(rows), date, rows) for (_, date), rows in found.items()]


@pytest.mark.parametrize(
    ("seed", "asked"),
    [
        (1, policy()),
        (2, policy(series={"wait": 2, "size": 5, "tau": 1})),
        (3, policy(privacy={"l": 2})),
        (4, policy(series={"left": "companions"})),
        (5, policy(method="hilbert", keep=[], series={"wait": 1})),
    ],
    ids=["plain", "waiting", "diverse", "companions", "hilbert"],
)
def test_all_releases_together_keep_what_is_promised(seed: int, asked: Any, tmp_path: Path) -> None:
    """Counted by the definition, from the published rows of every release."""
    tables = coming_and_going(5, seed)
    erased = {3: ["p1", "p2"]}
    for number, people in enumerate(tables):
        after = tmp_path / f"m{number - 1}" if number else None
        publish(table(people), asked, tmp_path / f"m{number}", after=after, erase=erased.get(number))
    releases = [classes_of(tmp_path / f"m{number}") for number in range(5)]
    assert not twin.faults(releases, 3, asked["privacy"].get("l", 1))
    assert checked(tmp_path, 4, tables[4], asked).passed
    ledger = KeptLedger.open(tmp_path / "m4").read()
    assert int(ledger.erased.sum()) == 2
    assert not (ledger.state.cohort[ledger.erased] >= 0).any()
    again = measure(tmp_path / "m4", table(tables[4])).to_dict()
    assert again["loss"]["gcp"] == pytest.approx(series(tmp_path / "m4").releases[-1]["gcp"])


@pytest.mark.parametrize("nights", [90 if NIGHT else 12])
def test_many_nights_keep_k_with_returners_and_erasures(nights: int, tmp_path: Path) -> None:
    """By day a dozen. Every third night somebody is erased who has or had a row."""
    tables, dice = coming_and_going(nights, 11, size=40), random.Random(5)
    asked, gone = policy(series={"wait": 4}), set[str]()
    for number, people in enumerate(tables):
        left = sorted(set(people) - gone)
        erase = dice.sample(left, 1) if number % 3 == 2 else None
        gone |= set(erase or ())
        after = tmp_path / f"m{number - 1}" if number else None
        publish(table(people), asked, tmp_path / f"m{number}", after=after, erase=erase)
    releases = [classes_of(tmp_path / f"m{number}") for number in range(nights)]
    assert not twin.faults(releases, 3, 1)
    assert series(tmp_path / f"m{nights - 1}").erased == len(gone)


@pytest.mark.parametrize("method", SUPPORTED)
def test_every_method_of_a_series_goes_on(method: str, tmp_path: Path) -> None:
    tables = coming_and_going(3, 7, size=40)
    months(tmp_path, tables, policy(method=method, privacy={"l": 2}))
    releases = [classes_of(tmp_path / f"m{number}") for number in range(3)]
    assert not twin.faults(releases, 3, 2)


def test_the_order_of_people_does_not_matter(tmp_path: Path) -> None:
    """The key of a ledger decides all ties: with one key, any order of the table gives the same classes."""
    months(tmp_path, [FIRST], policy())
    more = FIRST | {f"new{number}": (30 + number % 4, "abc"[number % 3]) for number in range(12)}
    backwards = dict(reversed(more.items()))
    found = []
    for people in (more, backwards):
        made = publish(table(people), policy(), tmp_path / "m1", after=tmp_path / "m0")
        ledger = KeptLedger.open(tmp_path / "m1").read()
        found.append(dict(zip(ledger.people, ledger.state.cohort.tolist(), strict=True)))
        assert made.verdict.passed
        for path in (tmp_path / "m1", audit_folder(tmp_path / "m1")):
            shutil.rmtree(path)
        (audit_folder(tmp_path / "m0") / SUCCESSOR).unlink()
    assert found[0] == found[1]


def test_nobody_is_named_in_a_ledger(tmp_path: Path) -> None:
    months(tmp_path, [FIRST], policy())
    audit = audit_folder(tmp_path / "m0")
    texts = [path.read_text() for path in audit.iterdir()]
    assert not [who for who in FIRST if any(f'"{who}"' in text for text in texts)]
    assert not any("Name p" in text for text in texts)


# What is refused


def after_first(tmp_path: Path, asked: Any, people: Any = FIRST, **more: Any) -> None:
    publish(table(people), asked, tmp_path / "m1", after=tmp_path / "m0", **more)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (policy(4), "began with k = 3"),
        (policy(2), "began with k = 3"),
        (policy(privacy={"l": 2}), "began with l = 1"),
        (policy(sensitive=[], keep=["ill"]), "ill: in the last release of the series it was sensitive"),
        (policy(sensitive=[], drop=["ill"]), "publishes other columns .*: ill is not there any more"),
        (policy(entity="name", identifiers=["id"]), "another entity: name is new, id is not there any more"),
        (policy(missing=["", "x"]), "missing: other texts mean missing"),
        (policy(quasi_identifiers={"age": {"type": "numeric", "format": "1.234,56"}}), "written as 1.234,56"),
        (policy(privacy={"t": "0.5"}), "t is about the whole table"),
        (policy(privacy={"l": 2, "l_kind": "entropy"}), "by frequency, not as entropy"),
        (policy(privacy={"max_suppression": "0.1"}), "leave out max_suppression"),
        (policy(totals=True), "leave out totals"),
        (policy(quasi_identifiers={"age": {"mean": True}}), "leave out mean"),
        ({**policy(), "entity": None, "drop": ["id"]}, "a series needs entity"),
        ({**policy(), "series": None}, "write \\[series\\]"),
    ],
)
def test_what_cannot_go_on_is_refused(asked: Any, words: str, tmp_path: Path) -> None:
    months(tmp_path, [FIRST], policy())
    with pytest.raises(IncrowdError, match=words):
        after_first(tmp_path, asked)
    assert not (audit_folder(tmp_path / "m0") / SUCCESSOR).exists()


def test_a_method_goes_on_in_a_series_or_says_why_not() -> None:
    assert {name for name, made in all_methods().items() if not _reason(made)} == set(SUPPORTED)


def _reason(made: Any) -> str:
    reason: str = made(k=3, **({"max_suppression": "0"} if made.suppresses else {})).not_in_series
    return reason


@pytest.mark.parametrize("method", sorted({*all_methods()} - {*SUPPORTED, "m-invariance"}))
def test_a_refused_method_says_that_it_is_the_series(method: str, tmp_path: Path) -> None:
    """And not what would help it in a release alone, such as to leave out entity."""
    with pytest.raises(PolicyError, match=r"^\[series\]: .*; take a method such as mondrian$"):
        publish(table(FIRST), policy(method=method), tmp_path / "m0")
    assert not list(tmp_path.iterdir())


def test_a_refused_method_says_why(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="rows of ring overlap, and a cohort is one equivalence class"):
        publish(table(FIRST), policy(method="ring"), tmp_path / "m0")


def test_tables_without_ids_are_refused(tmp_path: Path) -> None:
    rows = table(FIRST)
    nameless = rows.take(np.arange(len(rows)))
    with pytest.raises(InputError, match="1 people have several rows"):
        publish(rows.take(np.array([0, 0, 1, 2, 3])), policy(), tmp_path / "m0")
    with pytest.raises(InputError, match="1 rows have no id"):
        publish(table({**FIRST, "": (30, "a")}), policy(), tmp_path / "m0")
    with pytest.raises(InputError, match="output"):
        publish(nameless, policy())
    with pytest.raises(InputError, match="engine"):
        publish(nameless, policy(), tmp_path / "m0", engine="duckdb")
    with pytest.raises(InputError, match="replaces none"):
        publish(nameless, policy(), tmp_path / "m0", replace=True)
    assert not list(tmp_path.iterdir())


def test_a_ledger_that_is_lost_or_changed_is_refused(tmp_path: Path) -> None:
    months(tmp_path, [FIRST], policy())
    people = audit_folder(tmp_path / "m0") / "people.csv"
    good = people.read_bytes()
    people.write_bytes(good.replace(b'"1"', b'"2"', 1))
    with pytest.raises(Refused, match="was changed"):
        after_first(tmp_path, policy())
    people.write_bytes(good)
    (audit_folder(tmp_path / "m0") / LEDGER).rename(tmp_path / "kept")
    with pytest.raises(Refused, match="is lost"):
        after_first(tmp_path, policy())


@pytest.mark.parametrize("change", [{"version": 2}, {"format": "x"}, {"series": "0"}, {"number": 1}])
def test_a_head_of_another_version_or_series_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    months(tmp_path, [FIRST], policy())
    rehash(tmp_path / "m0", **change)
    for refused in (lambda: series(tmp_path / "m0"), lambda: after_first(tmp_path, policy())):
        with pytest.raises(Refused, match="ledger of m0 was changed"):
            refused()
    with contextlib.suppress(NotVerified):
        assert "chain" in failed(checked(tmp_path, 0, FIRST))


@pytest.mark.parametrize("changed", ["m0", "m1"])
def test_ledgers_that_do_not_belong_together_are_refused(changed: str, tmp_path: Path) -> None:
    """One digit of the key, which no digest but that of the next ledger covers."""
    months(tmp_path, [FIRST, FIRST], policy())
    head = audit_folder(tmp_path / changed) / LEDGER
    key = json.loads(head.read_text())["key"]
    head.write_text(head.read_text().replace(key, ("1" if key[0] == "0" else "0") + key[1:]))
    with pytest.raises(Refused, match="m0 and m1 do not belong together"):
        series(tmp_path / "m1")
    with pytest.raises(Refused, match="m0 and m1 do not belong together"):
        publish(table(FIRST), policy(), tmp_path / "m2", after=tmp_path / "m1")
    assert not (tmp_path / "m2").exists()


def test_a_release_has_one_successor(tmp_path: Path) -> None:
    months(tmp_path, [FIRST, FIRST], policy())
    with pytest.raises(Refused, match="after m0 came m1 already; go on after m1"):
        publish(table(FIRST), policy(), tmp_path / "m2", after=tmp_path / "m0")
    (tmp_path / "m1").rename(tmp_path / "retracted")
    with pytest.raises(InputError, match="m1 is of a series, and its folder is lost or was retracted"):
        publish(table(FIRST), policy(), tmp_path / "m2", after=tmp_path / "m1")
    audit_folder(tmp_path / "m1").rename(tmp_path / "retracted.audit")
    with pytest.raises(Refused, match=r"retracted still counts; put it back, and go on after m1$"):
        publish(table(FIRST), policy(), tmp_path / "m2", after=tmp_path / "m0")
    with pytest.raises(InputError, match="not replaced"):
        publish(table(FIRST), {**policy(), "series": None}, tmp_path / "m0", replace=True)
    with pytest.raises(InputError, match=r"m0 exists; name a new folder$"):
        publish(table(FIRST), policy(), tmp_path / "m0")
    with pytest.raises(InputError, match=r"m0 exists; name a new folder$"):
        publish(table(FIRST), policy(), tmp_path / "m0", after=tmp_path / "m0")


@pytest.mark.parametrize("engine", [{}, ENGINE], ids=["memory", "duckdb"])
def test_of_two_runs_at_once_the_later_one_is_told_why(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another release comes before the verifier looks, or after that."""
    source = str(written(tmp_path / "t.csv", FIRST))
    publish(source, policy(), tmp_path / "m0", **engine)
    real, seen = LedgerChain.check, []

    def overtaken(self: LedgerChain) -> Any:
        seen.append(1)
        if len(seen) == 1:
            publish(source, policy(), tmp_path / "m1", after=tmp_path / "m0", **engine)
        return real(self)

    monkeypatch.setattr(LedgerChain, "check", overtaken)
    with pytest.raises(Refused, match="after m0 came m1 already; go on after m1"):
        publish(source, policy(), tmp_path / "late", after=tmp_path / "m0", **engine)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m0", "m0.audit", "m1", "m1.audit", "t.csv"]


def test_a_series_stays_in_its_folder(tmp_path: Path) -> None:
    months(tmp_path, [FIRST], policy())
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(InputError, match="put m1 beside m0"):
        publish(table(FIRST), policy(), tmp_path / "elsewhere" / "m1", after=tmp_path / "m0")
    plain = publish(table(FIRST), {**policy(), "series": None}, tmp_path / "alone")
    assert plain.verdict.passed
    with pytest.raises(InputError, match="is not of a series"):
        publish(table(FIRST), policy(), tmp_path / "m1", after=tmp_path / "alone")


@pytest.mark.parametrize("engine", [{}, ENGINE], ids=["memory", "duckdb"])
def test_columns_may_come_in_another_order(engine: Any, tmp_path: Path) -> None:
    source, turned = written(tmp_path / "t0.csv", FIRST), tmp_path / "t1.csv"
    rows = [line.split(",") for line in source.read_text().splitlines()]
    turned.write_text("".join(",".join(cells[::-1]) + "\n" for cells in rows))
    publish(str(source), policy(), tmp_path / "m0", **engine)
    made = publish(str(turned), policy(), tmp_path / "m1", after=tmp_path / "m0", **engine)
    assert made.manifest["series"]["waiting"] == 0
    publish(str(source), policy(), tmp_path / "m2", after=tmp_path / "m1", **engine)
    assert verify(tmp_path / "m1", str(turned), policy()).passed


@pytest.mark.parametrize("engine", [{}, ENGINE], ids=["memory", "duckdb"])
def test_dates_that_are_written_otherwise_are_refused(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who lingers keeps a row of the old kind, which would be read as another day: 3 April as 4 March."""
    days = [(f"p{n}", 1 + n % 12, 1 + n % 7, "abc"[n % 3]) for n in range(26)]
    roles = {"entity": "id", "sensitive": ["ill"], "privacy": {"k": 3}, "series": {}}
    asked = [
        {**roles, "quasi_identifiers": {"born": {"type": "date", "format": said}}}
        for said in ("dd/mm/yyyy", "mm/dd/yyyy")
    ]
    for number, order in enumerate((slice(None), slice(None, None, -1))):
        lines = [f"{who},{'/'.join([f'{d:02}', f'{m:02}'][order])}/2000,{ill}" for who, d, m, ill in days]
        lines = ["id,born,ill", *lines[number:]]  # in the second month the first of them has left
        (tmp_path / f"t{number}.csv").write_text("\n".join(lines) + "\n")
    publish(str(tmp_path / "t0.csv"), asked[0], tmp_path / "m0", **engine)
    second = (str(tmp_path / "t1.csv"), asked[1], tmp_path / "m1")
    with pytest.raises(Refused, match=r"written as dd/mm/yyyy, .* now it is .* written as mm/dd/yyyy"):
        publish(*second, after=tmp_path / "m0", **engine)
    for module in (publishing, large):  # a publisher that does not ask
        monkeypatch.setattr(module, "check_columns", lambda *_: None)
    with pytest.raises(NotVerified, match=r"(?m)^  effective: a column is read in another way"):
        publish(*second, after=tmp_path / "m0", **engine)


# Erasure


def test_somebody_who_is_erased_never_comes_back(tmp_path: Path) -> None:
    months(tmp_path, [FIRST], policy())
    cost = series(tmp_path / "m0", erase=["p3"]).erasure
    assert cost is not None
    assert (cost.erased, cost.shown) == (1, 1)
    after_first(tmp_path, policy(), erase=["p3"])
    first, second = (KeptLedger.open(tmp_path / name).read() for name in ("m0", "m1"))
    lost = int((second.state.cohort < 0).sum())
    assert lost - 1 == cost.others >= 2
    assert second.counts["withheld"] == cost.others
    third = publish(table(FIRST), policy(), tmp_path / "m2", after=tmp_path / "m1")
    assert third.manifest["series"]["withheld"] == cost.others
    assert first.people == second.people
    with pytest.raises(InputError, match="1 of 2 ids to erase"):
        publish(table(FIRST), policy(), tmp_path / "m3", after=tmp_path / "m2", erase=["p3", "nobody"])


# Release and ledger are one


@pytest.mark.parametrize("broken", ["m1.audit", "m1"])
def test_a_commit_that_fails_leaves_no_mark(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    months(tmp_path, [FIRST], policy())
    before = sorted(path.name for path in tmp_path.rglob("*"))
    rename = stage._rename

    def failing(source: Path, target: Path, how: int) -> None:
        if target.name == broken:
            raise OSError(28, "No space left on device")
        rename(source, target, how)

    monkeypatch.setattr(stage, "_rename", failing)
    with pytest.raises(InputError):
        after_first(tmp_path, policy())
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    monkeypatch.undo()
    after_first(tmp_path, policy())
    mark = json.loads((audit_folder(tmp_path / "m0") / SUCCESSOR).read_text())
    assert mark["folder"] == "m1"


def test_a_crash_before_the_release_takes_the_mark_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between the renames cannot clean up: the next run does."""
    months(tmp_path, [FIRST], policy())
    rename, discard = stage._rename, stage._discard

    class Died(BaseException):
        pass

    def dying(source: Path, target: Path, how: int) -> None:
        if target.name == "m1":
            raise Died
        rename(source, target, how)

    monkeypatch.setattr(stage, "_rename", dying)
    monkeypatch.setattr(stage._Move, "back", lambda _: None)
    monkeypatch.setattr(stage, "_discard", lambda _: False)
    with pytest.raises(Died):
        after_first(tmp_path, policy())
    assert (audit_folder(tmp_path / "m0") / SUCCESSOR).exists()
    monkeypatch.undo()
    assert stage._discard is discard
    after_first(tmp_path, policy())
    assert checked(tmp_path, 1, FIRST, policy()).passed


# The command line


def test_the_commands_of_a_series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, people in enumerate((FIRST, {**FIRST, "new": (30, "b")})):
        columns = ["id,name,age,ill", *(f"{who},N,{age},{ill}" for who, (age, ill) in people.items())]
        Path(f"t{number}.csv").write_text("\n".join(columns) + "\n")
    Path("ids.csv").write_text("id\np3\n")
    Path("policy.toml").write_text(
        'entity = "id"\nidentifiers = ["name"]\nsensitive = ["ill"]\n[quasi_identifiers]\nage = '
        '{type = "numeric"}\n[privacy]\nk = 3\n[series]\nwait = 2\n'
    )
    asked = ("-p", "policy.toml")
    assert incrowd("publish", "t0.csv", *asked, "-o", "m0").code == 0
    cost = incrowd("series", "m0", "--erase", "ids.csv")
    said = " ".join(cost.out.split())
    assert "If the next table is as the last one: erasing 1 person (1 with a row)" in said
    ran = incrowd("publish", "t1.csv", *asked, "-o", "m1", "--after", "m0", "--erase", "ids.csv")
    assert ran.code == 0, ran.err
    assert "release 1 of its series: waiting 1, lingering 0" in " ".join(ran.out.split())
    assert incrowd("verify", "m1", "--original", "t1.csv", *asked).code == 0
    assert incrowd("verify", "m1", "--original", "t1.csv").code == 0
    told = incrowd("series", "m1", "-o", "series.svg", "--json").json
    assert [each["release"] for each in told["releases"]] == ["m0", "m1"]
    assert told["erased"] == 1
    assert "rows lingering" in Path("series.svg").read_text()
    assert "lingering" in Path("m1/README.md").read_text()
    assert incrowd("series", "m0.audit").code == 2
