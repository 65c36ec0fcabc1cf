"""Risk as `measure` says it: before and after, for every kind of release, and in the population."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.commands import incrowd

from incrowd.commands.measure import measure
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import InputError, PolicyError, TableError
from incrowd.flow import Table
from incrowd.policy import Policy

N = 240
PARTS: dict[str, Any] = {"quasi_identifiers": ["age", "sex"], "sensitive": ["ill"], "rest": "drop"}


def people() -> dict[str, list[str]]:
    return {
        "id": [f"p{i}" for i in range(N)],
        "who": [f"q{i // 2}" for i in range(N)],
        "age": ["" if i % 40 == 0 else str(20 + i * i % 71) for i in range(N)],
        "sex": ["F" if i % 3 else "M" for i in range(N)],
        "ill": [("flu", "cold", "gout", "none")[i % 4] for i in range(N)],
        "weight": [str(1 + i // 2 % 9) + (".5" if i % 4 < 2 else "") for i in range(N)],
    }


def written(folder: Path, k: int = 5, **parts: Any) -> tuple[Path, Table]:
    table = Table.of(people())
    policy = Policy.from_dict(PARTS | parts | {"privacy": {"k": k, **parts.get("privacy", {})}})
    publish(table, policy, folder / "out")
    return folder / "out", table


def rows_of(release: Path) -> list[dict[str, str]]:
    with (release / "data.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def sizes_by_hand(rows: list[tuple[str, ...]]) -> list[int]:
    counts = Counter(rows)
    return [counts[row] for row in rows]


def test_before_and_after_are_counted_on_the_table_and_on_the_file(tmp_path: Path) -> None:
    release, table = written(tmp_path)
    risk = measure(release, table)["risk"]
    columns = people()
    before = sizes_by_hand([*zip(columns["age"], columns["sex"], strict=True)])
    after = sizes_by_hand([(row["age"], row["sex"]) for row in rows_of(release)])
    for side, sizes in ((risk["before"], before), (risk["after"], after)):
        assert side["prosecutor"]["highest"] == ("1" if min(sizes) == 1 else f"1/{min(sizes)}")
        assert side["prosecutor"]["mean"] == pytest.approx(sum(1 / size for size in sizes) / N)
        assert side["prosecutor"]["above"] == {
            "0.2": sum(size < 5 for size in sizes),
            "0.05": sum(size < 20 for size in sizes),
        }
        assert side["unique"] == sizes.count(1)
        assert side["marketer"] == pytest.approx(side["classes"] / N)
    assert risk["before"]["unique"] > 0
    assert risk["after"]["unique"] == 0
    assert risk["population"] is None
    assert risk["journalist"] == {"before": None, "after": None}


def test_a_table_of_another_tool_is_counted_by_its_rows(tmp_path: Path) -> None:
    columns = people()
    shown = Table.of({"age": ["*"] * N, "sex": columns["sex"]})
    risk = measure(shown, Table.of(columns), Policy.from_dict(PARTS | {"privacy": {"k": N + 1}}))["risk"]
    assert risk["after"]["classes"] == 2
    assert risk["after"]["prosecutor"]["highest"] == f"1/{min(Counter(columns['sex']).values())}"


def test_suppressed_records_have_no_risk_and_are_named(tmp_path: Path) -> None:
    release, table = written(
        tmp_path,
        k=10,
        method="incognito",
        privacy={"max_suppression": "0.3"},
        quasi_identifiers={"age": {"hierarchy": {"intervals": [5, 10]}}, "sex": {}},
    )
    risk = measure(release, table)["risk"]
    gone = N - len(rows_of(release))
    assert gone > 0, "the case needs somebody without a row"
    assert risk["after"]["persons"] == N - gone
    assert f"{gone} records were suppressed" in " ".join(risk["sentences"])


def test_with_several_rows_a_person_risk_is_of_persons(tmp_path: Path) -> None:
    release, table = written(tmp_path, entity="who")
    risk = measure(release, table)["risk"]
    assert (risk["before"]["rows"], risk["before"]["persons"]) == (N, N // 2)
    assert risk["after"]["persons"] == N // 2
    links = json.loads((tmp_path / "out.audit" / "links.json").read_text())["record_of_each_row"]
    labels = [(row["age"], row["sex"]) for row in rows_of(release)]
    pairs = Counter(zip(labels, (record // 2 for record in links), strict=True))
    highest = max(count / Counter(labels)[label] for (label, _), count in pairs.items())
    assert eval_fraction(risk["after"]["prosecutor"]["highest"]) == pytest.approx(highest)
    (tmp_path / "out.audit" / "links.json").unlink()
    unknown = measure(release, table)["risk"]
    assert unknown["after"] is None
    assert "only the audit's links say" in unknown["why_not"]


def eval_fraction(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


@pytest.mark.parametrize("method", ["ring", "kk"])
def test_without_classes_the_claim_bounds_it(method: str, tmp_path: Path) -> None:
    release, table = written(tmp_path, method=method)
    risk = measure(release, table)["risk"]
    assert (risk["after"], risk["at_most"]) == (None, "1/5")
    assert "by the randomized assignment (claim k-factor)" in risk["by"]


def test_rows_that_were_not_drawn_have_no_bound(tmp_path: Path) -> None:
    release, table = written(tmp_path, method="kk", options={"drawn": False}, accept=["all"])
    risk = measure(release, table)["risk"]
    assert (risk["after"], risk["at_most"]) == (None, None)
    assert "no claim bounds it" in risk["sentences"][1]


def test_buckets_leave_rows_as_findable_as_before(tmp_path: Path) -> None:
    release, table = written(
        tmp_path, method="anatomy", privacy={"l": 2}, accept=["exact-rows", "correlated-values"]
    )
    risk = measure(release, table)["risk"]
    assert risk["after"] == risk["before"]
    assert any("found as before" in line for line in risk["sentences"])


def test_a_public_table_is_the_journalists(tmp_path: Path) -> None:
    columns = {name: people()[name] for name in ("id", "age", "sex", "ill")}
    columns["age"] = [age or "33" for age in columns["age"]]
    others = {"id": [f"o{i}" for i in range(N)], "age": columns["age"], "sex": columns["sex"]}
    public = Table.of({name: columns[name] + others[name] for name in others})
    parts = {
        **PARTS, "identifiers": ["id"], "sensitive": [], "method": "kja-direct", "privacy": {"k": 5},
        "public": {"table": "public.csv", "id": "id", "membership_secret": True},
    }  # fmt: skip
    policy = Policy.from_dict(parts)
    publish(Table.of(columns), policy, tmp_path / "out", public=public)
    risk = measure(tmp_path / "out", Table.of(columns), policy, public=public)["risk"]
    by_hand = sizes_by_hand([*zip(columns["age"], columns["sex"], strict=True)])
    before, after = risk["journalist"]["before"], risk["journalist"]["after"]
    assert before["prosecutor"]["mean"] == pytest.approx(sum(1 / (2 * size) for size in by_hand) / N)
    assert risk["before"]["prosecutor"]["mean"] == pytest.approx(2 * before["prosecutor"]["mean"])
    assert eval_fraction(after["prosecutor"]["highest"]) <= 1 / 5
    assert after["prosecutor"]["mean"] <= risk["after"]["prosecutor"]["mean"]
    assert any("no claim is about them" in line for line in risk["sentences"])


# ---- the population


@pytest.mark.parametrize(
    ("said", "weight"), [({"fraction": "0.25"}, 4), ({"size": 4 * N}, 4), ({"weight": "weight"}, None)]
)
def test_the_population_is_that_of_the_policy_or_of_the_audit(
    said: dict[str, Any], weight: int | None, tmp_path: Path
) -> None:
    release, table = written(tmp_path, population=said)
    found = measure(release, table)["risk"]["population"]
    columns = people()
    weights = [float(text) if weight is None else weight for text in columns["weight"]]
    sizes = sizes_by_hand([*zip(columns["age"], columns["sex"], strict=True)])
    others = sum(weight - 1 for weight, size in zip(weights, sizes, strict=True) if size == 2)
    assert found["unique"] == sizes.count(1)
    assert found["right"] == pytest.approx(sizes.count(1) / (sizes.count(1) + others))
    assert found["fraction"] == pytest.approx(N / sum(weights))
    again = Policy.from_dict(PARTS | {"privacy": {"k": 5}, "population": {"fraction": 1}})
    assert measure(release, table, again)["risk"]["population"]["right"] == 1


def test_nothing_of_the_population_is_published(tmp_path: Path) -> None:
    release, _ = written(tmp_path, population={"weight": "weight"})
    for file in release.iterdir():
        assert b"weight" not in file.read_bytes()
        assert b"population" not in file.read_bytes()
    assert b"weight" in (tmp_path / "out.audit" / "audit.json").read_bytes()


def measured(columns: dict[str, list[str]], **parts: Any) -> Any:
    policy = Policy.from_dict(PARTS | {"privacy": {"k": 2}} | parts)
    shown = Table.of({"age": ["*"] * N, "sex": ["*"] * N})
    return measure(shown, Table.of(columns), policy)["risk"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [({0: ""}, "missing in 1 rows"), ({0: "0.5", 1: "0"}, "below 1 in 2 rows"), ({7: "many"}, "weight")],
)
def test_weights_that_cannot_be_are_refused_without_a_cell(change: dict[int, str], complaint: str) -> None:
    columns = people()
    for row, text in change.items():
        columns["weight"][row] = text
    with pytest.raises(TableError, match=complaint) as refused:
        measured(columns, population={"weight": "weight"})
    assert "many" not in str(refused.value)


def test_a_person_has_one_weight() -> None:
    columns = people()
    columns["weight"] = [str(1 + i % 2) for i in range(N)]
    with pytest.raises(TableError, match="differs between rows of one person"):
        measured(columns, population={"weight": "weight"}, entity="who")


def test_a_population_is_no_smaller_than_its_sample() -> None:
    with pytest.raises(PolicyError, match="at least as many as its sample"):
        measured(people(), population={"size": N - 1})
    assert measured(people(), population={"size": N})["population"]["right"] == 1


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"population": {}}, "population must have one of fraction, size and weight"),
        ({"population": {"fraction": "0.1", "size": 9}}, "must have one of"),
        ({"population": {"fraction": 2}}, "above 0 and at most 1"),
        ({"population": {"fraction": 0}}, "above 0 and at most 1"),
        ({"population": {"weigth": "w"}}, "did you mean 'weight'"),
        (
            {"population": {"size": 9}, "public": {"table": "a.csv", "id": "id"}},
            "exclude each other",
        ),
    ],
)
def test_a_population_that_makes_no_sense_is_refused(parts: dict[str, Any], complaint: str) -> None:
    with pytest.raises(PolicyError, match=complaint):
        Policy.from_dict(PARTS | parts)


def test_a_weight_that_the_table_lacks_is_said_as_for_any_column() -> None:
    with pytest.raises(PolicyError, match="did you mean 'weight' for 'wieght'"):
        measured(people(), population={"weight": "wieght"})


def test_a_damaged_population_in_the_audit_is_said_and_does_not_stop_the_verifier(tmp_path: Path) -> None:
    release, table = written(tmp_path, population={"size": 1000})
    audit = tmp_path / "out.audit" / "audit.json"
    kept = json.loads(audit.read_text())
    audit.write_text(json.dumps(kept | {"policy": {"population": {"size": "x"}}}))
    assert verify(release, table).passed
    with pytest.raises(InputError, match="population in the audit cannot be read"):
        measure(release, table)


def test_the_screen_has_both_sides(tmp_path: Path) -> None:
    release, _ = written(tmp_path, population={"fraction": "0.25"})
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([people(), *zip(*people().values(), strict=True)])
    ran = incrowd("measure", release, "--original", tmp_path / "people.csv")
    assert ran.code == 0, ran.err
    for words in ("prosecutor, highest", "marketer", "1/5", "sample of about 25 % of its population"):
        assert words in " ".join(ran.out.split())
