"""Campaigns of CI's size: the first cases of each, always the same ones. Nights run them at length."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from campaigns import candidates, holdout
from campaigns.__main__ import seed_of
from campaigns.campaign import Campaign, Fault, Progress, State, run, run_case
from campaigns.every import CAMPAIGNS
from campaigns.mutants import SOURCE, every_mutant, explained, mutants_of, mutated
from campaigns.mutation_campaign import MUTANTS, REASONS, SETTLED, Server, case, judged, orphans
from campaigns.mutation_laboratory import NOTICED, PROGRAM
from campaigns.page import page
from support.night import NIGHT

from incrowd import assign
from incrowd.algorithms.kja_adaptive import AdaptiveRefinement

SEED = 7
DRAWN = [name for name, campaign in CAMPAIGNS.items() if not campaign.listed and campaign.in_ci]


@pytest.mark.parametrize("name", DRAWN)
def test_no_fault_but_those_known_to_be_open(name: str) -> None:
    campaign = CAMPAIGNS[name]
    progress = run(campaign, campaign.in_ci, SEED)
    assert progress.done == campaign.in_ci
    assert not progress.unexplained(), progress.examples
    assert sum(progress.ends.values()) > campaign.in_ci // 2


# Controls: what is known to break is found


def test_candidates_find_who_is_certain_where_cuts_are_adapted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "drawn_way", lambda _, k: AdaptiveRefinement(k))
    assert run(CAMPAIGNS["candidates for a private table"], 8, SEED).unexplained()


@pytest.mark.parametrize("kind", ["rows", "values"])
def test_the_hold_out_finds_a_program_without_chance(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody keeps the own row; and a veto on values whose claims do not say that they are withdrawn."""
    if kind == "rows":
        monkeypatch.setattr(assign, "one_of_disjoint_matchings", lambda edges, _: np.arange(len(edges)))
        monkeypatch.setattr(holdout, "requests_alone", lambda: [("ring", {})])
        monkeypatch.setattr(holdout, "KINDS", [holdout.rows_of_any_method])
    else:
        monkeypatch.setattr(holdout, "MINIMALITY", "nothing")
        monkeypatch.setattr(holdout, "requests_guarded", lambda: [("lexicographic", "frequency")])
        monkeypatch.setattr(holdout, "KINDS", [holdout.values_of_any_method])
    found = run(CAMPAIGNS["hold-out"], 6 if kind == "rows" else 20, SEED)
    assert set(found.unexplained()) == {"above the promise"}


# Mutants


@pytest.mark.skipif(not NIGHT, reason="by night only (INCROWD_SEEDS=all): the campaign judges them all")
def test_mutants_drawn_by_a_seed_are_noticed_or_explained() -> None:
    """The control comes first: with nothing changed, every test passes."""
    names = {f"incrowd.verifier.{name}" for name in SETTLED}
    mutants = [n for n, mutant in enumerate(every_mutant()) if mutant.module in names and mutant.function]
    quick = Server("--quick")
    ends = [judged(number, quick) for number in random.Random(SEED).sample(mutants, MUTANTS.in_ci)]
    quick.stop()
    assert ends.count("noticed") > MUTANTS.in_ci // 2


def test_whoever_is_explained_exists_and_has_a_reason() -> None:
    assert orphans() == []
    assert all(reason.split(":")[0] in REASONS for reason in explained().values())


def test_an_explanation_of_what_is_noticed_or_not_there_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = every_mutant()[0], ("incrowd.verifier.nowhere", "", "", "")
    monkeypatch.setattr("campaigns.mutation_campaign.explained", lambda: {one.key: "speed: x", other: "x"})
    with pytest.raises(Fault, match="explained, but noticed"):
        judged(0, Answering("noticed"))
    with pytest.raises(Fault, match="mutant survives"):
        judged(1, Answering("survives"))
    assert judged(0, Answering("survives")) == "survives: speed"
    assert judged(1, Answering("never ends")) == "never ends"
    assert orphans() == [other]
    with pytest.raises(Fault, match="no such mutant"):
        case(len(every_mutant()))


class Answering(Server):
    """Says the same of every mutant."""

    def __init__(self, end: str) -> None:
        self.end = end

    def judge(self, number: int) -> str:
        return self.end


def test_a_control_that_fails_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text('print(\'{"a test": "its failure"}\')')
    monkeypatch.setattr("campaigns.mutation_campaign.SERVER", broken)
    with pytest.raises(Fault, match="the control fails"):
        Server()
    broken.write_text("")
    with pytest.raises(Fault, match="broke off"):
        Server()


LINES = """def f(a, b):
    require(a + 1 < b and not a, f"{a + 1} is large")
    for x in g(strict=True):
        x |= any(b)
    raise Wrong(a + 1)
"""


def test_the_operators() -> None:
    """Nothing that only words a message, and no two with one name."""
    found = mutants_of(SOURCE / "x.py", LINES)
    assert [mutant.change for mutant in found] == [
        "require(a + 1 < b and (not a), f'{a + 1} is large') → pass",
        "a + 1 < b and (not a) → a + 1 < b or not a",
        "a + 1 < b → a + 1 <= b",
        "a + 1 → a - 1",
        "1 → 2",
        "not a → a",
        "x |= any(b) → x &= any(b)",
        "any(b) → all(b)",
        "raise Wrong(a + 1) → pass",
    ]
    assert {mutant.function for mutant in found} == {"f"}
    for mutant in found:
        assert ast.unparse(mutated(mutant, LINES)) != ast.unparse(ast.parse(LINES))


def test_a_mutant_that_acts_on_import_is_loaded_though_pytest_collects_its_module(tmp_path: Path) -> None:
    number = next(n for n, mutant in enumerate(every_mutant()) if mutant.text == "MISSING_RANK = 0")
    tests = [
        "src/incrowd/verifier/cell_regions.py::incrowd.verifier.cell_regions.Bitmap.of",
        "tests/verifier/test_domain.py::test_ranges_have_one_form[missing-ranks4]",
    ]
    asked, told = tmp_path / "asked.json", tmp_path / "told.txt"
    asked.write_text(json.dumps([number, dict.fromkeys(tests, 1.0)]), encoding="utf-8")
    subprocess.run([sys.executable, PROGRAM, "--anew", asked, told], capture_output=True)
    assert told.read_text(encoding="utf-8").splitlines() == [*tests, NOTICED]


def test_a_mutant_is_known_by_what_it_says_not_by_its_line() -> None:
    mutants = every_mutant()
    assert len(mutants) > 2_000
    assert len({mutant.key for mutant in mutants}) == len({mutant.id for mutant in mutants}) == len(mutants)
    moved = mutants_of(SOURCE / "x.py", "\n\n" + LINES)
    assert [mutant.key for mutant in moved] == [m.key for m in mutants_of(SOURCE / "x.py", LINES)]


# The runner


def lottery(rng: random.Random, _: Path) -> str:
    drawn = rng.randrange(4)
    if drawn == 0:
        raise Fault("lost", "nothing drawn")
    return "won" if drawn == 1 else "again"


LOTTERY = Campaign("lottery", "", lottery, nightly=100, in_ci=10)


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    whole = run(LOTTERY, 40, 3)
    state = tmp_path / "state.json"
    run(LOTTERY, 13, 3, State(state))
    assert run(LOTTERY, 40, 3, State(state)) == whole
    assert run(LOTTERY, 40, 4, State(state)) != whole, "another seed begins anew"


def test_a_fault_that_was_mended_is_none_when_the_run_goes_on(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    before = run(LOTTERY, 40, 3, State(state))
    mended = Campaign("lottery", "", lambda rng, _: "won", nightly=100, in_ci=10)
    assert run(mended, 40, 3, State(state)).done == 40, "nothing is left to do but what failed"
    after = run(mended, 50, 3, State(state))
    assert before.faults["lost"] > 0
    assert after.faults == {}
    assert after.examples == {}
    assert sum(after.ends.values()) == after.done == 50


def test_tables_that_nobody_has_seen_have_a_seed_of_their_own_until_they_are_done(tmp_path: Path) -> None:
    unseen = Campaign("lottery", "", lottery, nightly=100, in_ci=10, fresh=True)
    state = State(tmp_path / "state.json")
    first = seed_of(unseen, state, 20)
    assert first != seed_of(unseen, state, 20)
    run(unseen, 10, first, state)
    assert seed_of(unseen, state, 20) == first
    run(unseen, 20, first, state)
    assert seed_of(unseen, state, 20) != first
    day = seed_of(LOTTERY, state, 20)
    assert 2026_01_01 < day < 2226_01_01, "others have the day's"


def test_a_case_can_be_run_again_by_its_number() -> None:
    progress = run(LOTTERY, 40, 3)
    number = progress.examples["lost"][0][0]
    with pytest.raises(Fault, match="lost"):
        run_case(LOTTERY, 3, number)


def test_what_nobody_expected_and_what_never_ends_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: random.Random, __: Path) -> str:
        raise KeyError("x")

    def endless(_: random.Random, __: Path) -> str:
        while True:
            str.upper("x")
            random.Random(1)

    monkeypatch.setattr("campaigns.campaign.STEPS", 1_000)
    monkeypatch.setattr("campaigns.campaign.LONG", 0.2)
    with pytest.raises(Fault, match="uncaught KeyError"):
        run_case(Campaign("broken", "", broken, 1, 1), 1, 0)
    with pytest.raises(Fault, match="hang"):
        run_case(Campaign("endless", "", endless, 1, 1), 1, 0)


def test_what_takes_long_and_ends_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = []

    def slow(_: random.Random, __: Path) -> str:
        tries.append(1)
        while len(tries) == 1:
            str.upper("x")
        return "done"

    monkeypatch.setattr("campaigns.campaign.LONG", 0.2)
    assert run_case(Campaign("slow", "", slow, 1, 1), 1, 0) == "done, slow at first"


def test_the_page_has_every_figure() -> None:
    progress = Progress(1, 10, {"accepted": 8}, {"strange": 2}, {"strange": [[4, "a `b`|c"]]})
    text = page({"round trips": progress}, "2026-01-01")
    assert "| round trips | 0 true releases rejected | 1 | 10 | 16,000 | 0 | 2 |" in text
    assert "**not explained**" in text
    assert "a 'b'/c" in text


def test_every_module_of_the_verifier_has_mutants() -> None:
    empty = [path.name for path in SOURCE.rglob("*.py") if not mutants_of(path)]
    assert set(empty) <= {"__init__.py", "digests.py", "failure.py", "subject.py", "registry.py"}
