"""The lower bound beside a measured loss: of which releases it speaks, where it is said, and where not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import incrowd
from support.measure_tables import flat, microdata, release, treed

import incrowd as ic
from incrowd.cli.measure import _least
from incrowd.commands.measure_bound import BY_CLAIM, permitted
from incrowd.contracts import catalogue
from incrowd.errors import InputError
from incrowd.flow import Attribute, Table
from incrowd.measures.bounds import LossBound

AGES = [str(20 + 7 * i % 41) for i in range(40)]
COLUMNS = {"age": AGES, "sex": ["F", "M"] * 20, "pay": [str(i % 7) for i in range(40)]}
POLICY = {"quasi_identifiers": ["age", "sex"], "sensitive": ["pay"], "privacy": {"k": 4}}


def made(folder: Path, **said: Any) -> tuple[Path, Table]:
    table = Table.of(COLUMNS)
    ic.publish(table, {**POLICY, **said}, output=folder / "release")
    return folder / "release", table


def test_a_measured_release_says_what_no_other_can_be_below(tmp_path: Path) -> None:
    folder, table = made(tmp_path)
    found = {effort: ic.measure(folder, table, bound=effort) for effort in ("quick", "tight")}
    for effort, measured in found.items():
        bound = measured["bound"]
        assert (bound["measure"], bound["effort"], bound["kind"], bound["k"]) == ("gcp", effort, "classes", 4)
        assert 0 < bound["least"] <= measured["loss"]["gcp"]
        assert "no 4-anonymous release of this table can be below 0." in bound["sentence"]
        assert bound["sentence"] in str(measured)
    assert found["quick"]["bound"]["least"] <= found["tight"]["bound"]["least"]


def test_without_a_bound_nothing_is_said_of_it(tmp_path: Path) -> None:
    folder, table = made(tmp_path)
    measured = ic.measure(folder, table, bound="none")
    assert measured["bound"]["least"] is None
    assert "below" not in str(measured)
    for call in (ic.measure, ic.report):
        with pytest.raises(InputError, match="none, quick or tight"):
            call(folder, table, bound="good")


@pytest.mark.parametrize(
    ("method", "kind", "why_not"),
    [
        ("kfactor", "classes", ""),
        ("k1-nearest", "rows", ""),
        ("one-k", "classes", "does not claim that each row fits k records"),
        ("anatomy", "classes", "does not claim that each row fits k records"),
    ],
)
def test_a_bound_speaks_of_releases_whose_rows_fit_k_records(
    method: str, kind: str, why_not: str, tmp_path: Path
) -> None:
    accept = ["unsafe-one-sided"] if method in ("k1-nearest", "one-k") else []
    accept = ["exact-rows", "correlated-values"] if method == "anatomy" else accept
    privacy = {"k": 4, "l": 3} if method == "anatomy" else {"k": 4}
    folder, table = made(tmp_path, method=method, accept=accept, privacy=privacy)
    bound = ic.measure(folder, table)["bound"]
    assert bound["kind"] == kind
    assert why_not in bound["why_not"]
    assert (bound["least"] is None) is bool(why_not)


def test_every_claim_that_a_bound_speaks_of_is_a_model() -> None:
    known = {name for kind in ("model", "matching model") for name in catalogue(kind)}
    assert set(BY_CLAIM) <= known


def test_a_table_of_another_tool_needs_classes_of_k_and_cells_of_its_hierarchies(tmp_path: Path) -> None:
    tree = [[x, "ab" if x in "ab" else "cd", "*"] for x in "abcd"]
    original = Table.of({"q": [*"aabbccdd"]})
    policy = {"quasi_identifiers": {"q": {"hierarchy": str(tmp_path / "q.csv")}}, "privacy": {"k": 4}}
    (tmp_path / "q.csv").write_text("\n".join(";".join(row) for row in tree), encoding="utf-8")
    rows = {
        "nodes": ["ab"] * 4 + ["cd"] * 4,
        "sets": ["{a|b}"] * 2 + ["{b|a}"] * 2 + ["{c|d}"] * 4,
        "strange": ["{a|b|c}"] * 4 + ["*"] * 4,
        "small": ["ab"] * 3 + ["*"] * 5,
    }
    found = {}
    for name, cells in rows.items():
        found[name] = ic.measure(Table.of({"q": cells}), original, policy)["bound"]
    assert found["nodes"]["least"] == pytest.approx(1 / 3, rel=1e-6)
    assert found["sets"]["least"] == found["nodes"]["least"]
    assert found["strange"]["why_not"] == "q has cells that are not in its hierarchy or family"
    assert found["small"]["why_not"] == "not every equivalence class has 4 rows"


def test_a_release_with_less_loss_than_its_claim_allows_is_said_to_be_none(tmp_path: Path) -> None:
    folder, table = made(tmp_path)
    manifest = folder / "release.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    for claim in said["claims"]:
        claim["parameters"]["k"] = 40
    manifest.write_text(json.dumps(said), encoding="utf-8")
    bound = ic.measure(folder, table)["bound"]
    assert bound["least"] is None
    assert "no release of it" in bound["why_not"]


def test_which_cells_a_bound_takes_into_account() -> None:
    tree = treed("t", [("a", "ab", "*"), ("b", "ab", "*"), ("c", "c", "*")], beside=True)
    data = microdata([tree], [["a"]] * 6)
    cells = [["a"], ["ab"], ["{ab|missing}"], ["missing"], ["*"], ["{c|missing}"]]
    assert permitted(tree, release(data, cells).cells[0])
    assert not permitted(tree, release(data, [["{b|c}"]]).cells[0])
    plain = flat("f", "abcd")
    family = tuple(map(frozenset, ({0, 1}, {0}, {1}, {2}, {3}, {0, 1, 2, 3})))
    closed = Attribute("f", plain.kind, plain.shape, plain.texts, plain.position, family=family)
    data = microdata([closed], [["a"]] * 3)
    assert permitted(closed, release(data, [["{a|b}"], ["*"], ["c"]]).cells[0])
    assert not permitted(closed, release(data, [["{a|c}"]]).cells[0])


def test_a_bound_far_below_the_loss_is_called_weak() -> None:
    bound = {"effort": "quick", "least": 0.025, "sentence": "nothing can be below 0.0250"}
    for least, weak in ((0.025, False), (0.0249, True), (None, False)):
        said = _least({"bound": {**bound, "least": least}, "loss": {"gcp": 0.1}})
        assert ("may be weak" in said) == weak
    assert not _least({"bound": {**bound, "effort": "none"}, "loss": {"gcp": 0.1}})


def test_the_command_says_it_in_one_sentence(tmp_path: Path) -> None:
    folder, _ = made(tmp_path)
    lines = [",".join(COLUMNS), *(",".join(row) for row in zip(*COLUMNS.values(), strict=True))]
    original = tmp_path / "t.csv"
    original.write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = incrowd("measure", str(folder), "--original", str(original))
    assert "; no 4-anonymous release of this table can be below 0." in " ".join(said.out.split())
    assert "below" not in incrowd("measure", str(folder), "--original", str(original), "--bound", "none").out
    wrong = incrowd("measure", str(folder), "--original", str(original), "--bound", "best")
    assert wrong.code == 2
    assert "--bound takes none, quick or tight" in wrong.err


def test_the_bound_is_on_the_private_page_and_never_on_the_public_one(tmp_path: Path) -> None:
    """It is computed from the original: the release does not tell it."""
    folder, table = made(tmp_path)
    private, public = ic.report(folder, table, attacks=False), ic.report(folder)
    sentence = private.facts["measured"]["bound"]["sentence"]
    assert sentence in private.html()
    assert sentence in private.assessment()
    assert "can be below" not in public.html() + json.dumps(public.to_dict())
    for file in folder.iterdir():
        assert b"can be below" not in file.read_bytes()


def test_comparing_bounds_each_k_once_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = (Table.of(COLUMNS), POLICY, ["mondrian", "ring"], [2, 4])
    first = ic.compare(*given, cache=tmp_path)
    assert [bound.k for bound in first.bounds] == [2, 4]
    for trial, result in first.by():
        least = next(bound.least for bound in first.bounds if bound.k == trial.k)
        assert least is not None
        assert 0 < least <= result.loss["gcp"]
    monkeypatch.setattr("incrowd.commands.compare.loss_bound", lambda *_: pytest.fail("it is known"))
    again = ic.compare(*given, cache=tmp_path)
    assert again.bounds == first.bounds
    assert again.to_dict()["bounds"] == [bound.to_dict() for bound in first.bounds]
    for file in tmp_path.glob("*.json"):
        if "least" in file.read_text(encoding="utf-8"):
            file.write_text('{"least": 7.5}', encoding="utf-8")
    half = LossBound(2, "classes", "quick", 0.5)
    monkeypatch.setattr("incrowd.commands.compare.loss_bound", lambda *_: half)
    assert {bound.least for bound in ic.compare(*given, cache=tmp_path).bounds} == {0.5}
    assert ic.compare(*given, bound="none").bounds == ()


def test_whoever_interrupts_bounding_keeps_the_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_data: Any, k: int, *_: Any) -> LossBound:
        if k == 4:
            raise KeyboardInterrupt
        return LossBound(k, "classes", "quick", 0.5)

    monkeypatch.setattr("incrowd.commands.compare.loss_bound", interrupted)
    found = ic.compare(Table.of(COLUMNS), POLICY, ["mondrian"], [2, 4])
    assert found.stopped
    assert len(found.trials) == 2
    assert [bound.k for bound in found.bounds] == [2]
