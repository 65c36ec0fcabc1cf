"""Methods beside each other: rows by hand, who is beaten by definition, what is kept, and the command."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bad_requests import ROWS, csv, policy
from support.commands import incrowd
from test_docs import shown_commands

from incrowd.algorithms.base import all_methods
from incrowd.commands import compare as comparing
from incrowd.commands.compare import compare
from incrowd.commands.comparison import (
    Comparison,
    KeptTrials,
    Skipped,
    Trial,
    TrialResult,
    default_cache,
)
from incrowd.commands.publish import publish
from incrowd.contracts import catalogue
from incrowd.errors import InputError, NotVerified
from incrowd.examples import write_example
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.reports.frontier import POLICY, FrontierChart, FrontierPoint, RiskFrame
from incrowd.reports.svg import BOTTOM, HEIGHT, TOP

AGES = Table.of({"age": [str(i // 5) for i in range(40)], "ill": [f"v{i % 4}" for i in range(40)]})


def request(**said: Any) -> Policy:
    kinds = {"age": {"type": "numeric"}}
    return Policy(**{"quasi_identifiers": kinds, "sensitive": ["ill"], "privacy": {"k": 5}} | said)


def lay(folder: Path, text: str = "") -> tuple[Path, str, Path]:
    """A table whose every cell carries a mark, and its policy."""
    (folder / "t.csv").write_text(csv())
    (folder / "p.toml").write_text(text or policy())
    return folder / "t.csv", "-p", folder / "p.toml"


@pytest.fixture(autouse=True)
def _no_cache_of_mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))


# ---- trials


def test_numbers_are_those_of_the_release() -> None:
    """Eight ages of five people each: with k = 5 classes of five, with k = 10 of ten."""
    found = compare(AGES, request(), ["mondrian", "ring"], [5, 10])
    told = {(trial.method, trial.k): result for trial, result in found.by()}
    assert set(told) == {("mondrian", 5), ("mondrian", 10), ("ring", 5), ("ring", 10)}
    five, ten = told["mondrian", 5], told["mondrian", 10]
    assert (five.rows, five.classes, five.smallest_class, five.left_out) == (40, 8, 5, 0)
    assert (five.risk, five.average, five.loss["gcp"]) == (1 / 5, 8 / 40, 0)
    assert (ten.classes, ten.risk, ten.average) == (4, 1 / 10, 4 / 40)
    release = publish(AGES, request(), k=10)
    assert ten.loss == release.loss() | {"e2": release.two_way.error}
    assert ten.words == tuple(release.two_way.sentences())
    errors = [result.loss["e2"] for _, result in found.by("e2")]
    assert errors == sorted(errors)
    assert len(errors) == len(found.chart("e2").points) == 4
    assert (told["ring", 10].risk, told["ring", 10].average) == (1 / 10, 1 / 10)  # that of the draw
    assert [(trial.method, trial.k) for trial in found.trials if trial.own] == [("mondrian", 5)]
    assert (found.planned, found.stopped) == (4, False)
    assert set(found.untried) == set(all_methods()) - {"mondrian", "ring"}


def test_with_an_entity_classes_count_persons() -> None:
    """One class of three persons, of whom one has two of four rows, one of three with three."""
    who = ["a", "a", "b", "f", "c", "d", "e"]
    table = Table.of({"age": ["1"] * 4 + ["9"] * 3, "who": who, "ill": ["x"] * 7})
    (trial,) = compare(table, request(entity="who"), ["mondrian"], [2]).trials
    assert trial.result is not None
    assert (trial.result.classes, trial.result.smallest_class) == (2, 3)
    assert trial.result.risk == 1 / 2
    assert trial.result.average == pytest.approx((2 * 2 / 4 + 2 * 1 / 4 + 3 * 1 / 3) / 7)


def test_who_does_not_fit_is_skipped_with_the_reason() -> None:
    """Every method of the catalogue has a row, or a reason in words."""
    found = compare(AGES, request(), list(all_methods()), [5])
    assert {t.method for t in found.trials} | {s.method for s in found.skipped} == set(all_methods())
    said = {skipped.method: skipped.reason for skipped in found.skipped}
    for name, words in {
        "kja-direct": "public table",
        "expc": "[privacy.plain]",
        "k1-nearest": "accept unsafe-one-sided",
        "anatomy": "l",
        "transparent": "give l",
    }.items():
        assert words in said[name]
    assert {"mondrian", "kfactor", "agglomerative"} <= {trial.method for trial, _ in found.by()}


def test_with_and_without_l() -> None:
    methods, asked = ["mondrian", "k1-nearest"], request(privacy={"k": 5, "l": 3}).with_(accept=["all"])
    found = compare(AGES, asked, methods, [5], [0, None])
    assert [(trial.method, trial.l) for trial in found.trials] == [
        ("mondrian", None),
        ("mondrian", 3),
        ("k1-nearest", None),
    ]
    assert [(skipped.method, skipped.l) for skipped in found.skipped] == [("k1-nearest", 3)]
    assert {trial.l for trial in found.frontier()} == {None, 3}  # each l has a frontier of its own


def test_a_refusal_is_a_row() -> None:
    found = compare(AGES, request(), ["mondrian"], [5, 41])
    assert [trial.result is None for trial in found.trials] == [False, True]
    assert "k=41" in found.trials[1].reason


def test_what_only_other_methods_take_is_left_out_of_the_policy_and_noted(tmp_path: Path) -> None:
    clinic = write_example(tmp_path, rows=200)
    joined = Policy.load(clinic / "join.toml")
    found = compare(clinic / "patients.csv", joined, ["mondrian", "kja-refine"], [10])
    assert [trial.result is not None for trial in found.trials] == [True, True]
    assert found.notes == ("without the public table, which they do not take: mondrian",)
    few = compare(AGES, request(privacy={"k": 5, "max_suppression": "0.1"}), ["ring", "incognito"], [5])
    assert len(few.by()) == 2
    assert "max_suppression" in few.notes[0]


def test_a_trial_that_fails_takes_no_other_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(table: Table, asked: Policy) -> Any:
        if len(table) == len(AGES) and asked.method != "ring":
            raise {"hilbert": NotVerified("the judge"), "mondrian": KeyError("zqSecret")}[asked.method]
        return publish(table, asked)

    monkeypatch.setattr(comparing, "publish", broken)
    found = compare(AGES, request(), ["mondrian", "hilbert", "ring"], [5], cache=tmp_path / "c", bound="none")
    said = [trial.reason for trial in found.trials]
    assert said == ["internal error (KeyError)", "the judge", ""]
    assert len(list((tmp_path / "c").iterdir())) == 1  # what failed may not fail again


def test_what_is_wrong_for_every_method_is_an_error() -> None:
    for said, words in (
        ({"methods": ["modrian"]}, "did you mean 'mondrian'"),
        ({"k": [1]}, "privacy.k"),
        ({"l": [1]}, "privacy.l"),
        ({"accept": ["everything"]}, "list of exposures"),
    ):
        with pytest.raises(InputError, match=words):
            compare(AGES, request(), **said)
    with pytest.raises(InputError, match="not in the table: agee"):
        compare(AGES, request(quasi_identifiers=["agee"], drop=["age"]))


# ---- the frontier


PLACES = st.lists(
    st.tuples(st.integers(0, 4), st.integers(2, 6), st.sampled_from([None, 2, 3])), min_size=1, max_size=9
)


@settings(deadline=None)
@given(PLACES)
def test_nobody_on_the_frontier_is_beaten_and_all_others_are(places: list[tuple[int, int, Any]]) -> None:
    trials = tuple(
        Trial("m", k, l, TrialResult(0, 9, 1, k, 0, 1 / k, 1 / k, {"gcp": loss / 4}))
        for loss, k, l in places  # noqa: E741
    )
    best = [(t.result.loss["gcp"] * 4, t.k, t.l) for t in Comparison(trials).frontier() if t.result]
    unbeaten = [
        (loss, k, l)
        for loss, k, l in places  # noqa: E741
        if not any(a <= loss and b >= k and (a, b) != (loss, k) and m == l for a, b, m in places)
    ]
    assert sorted(best, key=repr) == sorted(((float(a), b, m) for a, b, m in unbeaten), key=repr)
    assert [loss for loss, _, _ in best] == sorted(loss for loss, _, _ in best)


def test_the_picture_names_the_frontier_and_survives_any_number_of_points() -> None:
    points = tuple(
        FrontierPoint(f"m{i % 24}<", i / 7, 1 / (2 + i), f"m{i % 24}<, k = {i}", i % 5 == 0)
        for i in range(40)
    )
    root = ET.fromstring(FrontierChart("R", "loss", points).svg())
    texts = ["".join(word.itertext()) for word in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"m0<, k = 0", "m23<", "frontier", "1/2", "1/20"} < set(texts)
    for alone in (FrontierPoint("m", 0, 1, "m"), FrontierPoint("m", 3e7, 1e-9, "m", best=True)):
        ET.fromstring(FrontierChart("R", "loss", (alone,)).svg())
    with pytest.raises(ValueError, match="probability above 0"):
        FrontierPoint("m", 0, 0, "m")


def test_less_risk_stands_lower_and_less_loss_further_left() -> None:
    frame = RiskFrame.of((FrontierPoint("a", 0.1, 0.5, "a"), FrontierPoint("b", 0.4, 0.05, "b")))
    assert (frame.y(0.5), frame.x(0.1)) < (frame.y(0.05), frame.x(0.4))  # pixels count from the top
    assert frame.y(0.1) - frame.y(0.2) == pytest.approx(frame.y(0.2) - frame.y(0.4))
    assert frame.y_ticks == (1 / 2, 1 / 5, 1 / 10, 1 / 20)
    assert TOP <= frame.y(0.5) < frame.y(0.05) < HEIGHT - BOTTOM


# ---- what is kept


def test_results_hang_on_the_sources_of_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    before, read = comparing._program.__wrapped__(), Path.read_bytes
    changed = Path("kernels", "mondrian.py").parts
    monkeypatch.setattr(Path, "read_bytes", lambda self: read(self) + b"#" * (self.parts[-2:] == changed))
    assert comparing._program.__wrapped__() != before


def test_results_are_kept_and_hang_on_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, _, file = lay(tmp_path, policy(zip='hierarchy = "h.csv"'))
    (tmp_path / "h.csv").write_text("".join(f"zqZip{i};zqTown{i % 2};*\n" for i in range(8)))
    kept, runs = tmp_path / "kept", []

    def counted(rows: Table, asked: Policy) -> Any:
        runs.append(asked.method)
        return publish(rows, asked)

    def again(**said: Any) -> int:
        """How many trials were made anew."""
        runs.clear()
        compare(table, Policy.load(file), ["mondrian"], [5, 50], cache=kept, **said)
        return len(runs)

    monkeypatch.setattr(comparing, "publish", counted)
    assert again() > 0
    assert again() == 0
    files = sorted(kept.iterdir())
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert kept.stat().st_mode & 0o777 == 0o700
    said = "".join(path.read_text() for path in files)
    assert not [cell for row in ROWS for cell in row if cell in said]
    changes = (
        lambda: table.write_text(csv(ROWS[:-1])),
        lambda: (tmp_path / "h.csv").write_text("".join(f"zqZip{i};zqTown{i % 4};*\n" for i in range(8))),
        lambda: file.write_text(policy(zip='hierarchy = "h.csv"', privacy="k = 5\nt = 0.9")),
        lambda: monkeypatch.setattr(comparing, "_program", lambda: "a new version"),
    )
    for change in changes:
        change()
        assert again() > 0
        assert again() == 0
    assert again(l=[2]) > 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-3],
        lambda text: "[]",
        lambda text: text.replace('"risk": 0.2', '"risk": "zqSecret"'),
        lambda text: text.replace('"risk": 0.2', '"risk": NaN'),
        lambda text: text.replace('"risk": 0.2', '"risk": 7.0'),
        lambda text: text.replace('"gcp"', '"gpc"'),
        lambda text: "[" * 100_000,
    ],
    ids=["cut", "list", "text", "nan", "no probability", "no measure", "deep"],
)
def test_what_cannot_be_right_is_made_anew(spoil: Any, tmp_path: Path) -> None:
    first = compare(AGES, request(), ["mondrian"], [5], cache=tmp_path, bound="none").trials
    (file,) = tmp_path.iterdir()
    good = file.read_text()
    file.write_text(spoil(good))
    assert file.read_text() != good
    (trial,) = compare(AGES, request(), ["mondrian"], [5], cache=tmp_path, bound="none").trials
    assert first[0].result is not None
    assert trial.result is not None
    assert trial.result.loss == first[0].result.loss
    assert json.loads(file.read_text())["result"]["loss"] == json.loads(good)["result"]["loss"]


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert compare(AGES, request(), ["mondrian"], [5], cache=tmp_path / "file").by()
    assert KeptTrials(tmp_path / "file").get("0") is None


def test_where_results_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_cache() == tmp_path / "xdg" / "incrowd" / "compare"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored
    assert default_cache() == Path.home() / ".cache" / "incrowd" / "compare"


# ---- the command


def test_the_command_shows_writes_and_keeps(tmp_path: Path) -> None:
    words = ("compare", *lay(tmp_path), "--methods", "mondrian,ring", "--methods", "single", "--k", "5,50")
    ran = incrowd(*words, "-o", tmp_path / "x.svg", "--accept", "near-unique-keep")
    assert (ran.code, ran.err) == (0, "")
    assert "*>  mondrian  5" in ran.out
    assert "Refused: mondrian, k = 50" in ran.out
    assert "n=40 < k=50" in ran.out
    said = ran.out + (tmp_path / "x.svg").read_text()
    assert not [cell for row in ROWS for cell in row if cell in said]
    assert len(list((tmp_path / "xdg/incrowd/compare").iterdir())) == 6 + 1  # a bound, of k = 5
    assert POLICY in (tmp_path / "x.svg").read_text()
    over = incrowd(*words, "-o", tmp_path / "e2.svg", "--sort", "e2", "--narrow")
    assert over.code == 0
    picture = (tmp_path / "e2.svg").read_text()
    assert "people in the wrong cell (E2)" in picture
    assert "width='390'" in picture
    told = incrowd(*words, "--json", "--sort", "dm", "--no-cache").json
    assert (told["measure"], told["planned"], len(told["trials"])) == ("dm", 6, 6)
    assert set(told["trials"][0]["loss"]) == {*catalogue("measure"), "e2"}
    assert [trial["frontier"] for trial in told["trials"]].count(True) >= 1


def test_ctrl_c_shows_what_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(table: Table, asked: Policy) -> Any:
        if asked.k == 10:
            raise KeyboardInterrupt
        return publish(table, asked)

    monkeypatch.setattr(comparing, "publish", slow)
    words = ("compare", *lay(tmp_path), "--methods", "mondrian", "--no-cache")
    ran = incrowd(*words, "--k", "2,5,10,20")
    assert (ran.code, ran.err) == (1, "")
    assert "Stopped after 2 of 4 trials" in ran.out
    told = incrowd(*words, "--k", "2,5,10,20", "--json")
    assert (told.code, told.json["stopped"], len(told.json["trials"])) == (1, True, 2)
    first = incrowd(*words, "--k", "10,20")
    assert (first.code, first.out) == (1, "")
    assert "stopped" in first.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--sort", "gpc"), "did you mean 'gcp'"),
        (("--k", "many"), "--k takes whole numbers"),
        (("--l", "2."), "--l takes numbers"),
        (("--all", "--methods", "ring"), "not both"),
        (("--cache", "c", "--no-cache"), "exclude each other"),
        (("-o", "x.png"), "ends in .svg"),
        (("--narrow",), "name its file with -o"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    ran = incrowd("compare", *lay(tmp_path), *words)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert not (tmp_path / "xdg").exists()


def test_without_any_release_there_is_no_picture(tmp_path: Path) -> None:
    ran = incrowd("compare", *lay(tmp_path), "--methods", "anatomy", "-o", tmp_path / "x.svg")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("Skipped: anatomy: ")
    assert not (tmp_path / "x.svg").exists()
    assert "pass it with -p" in incrowd("compare", tmp_path / "t.csv").err


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_example(tmp_path / "tour")
    monkeypatch.chdir(tmp_path)
    commands = list(shown_commands("docs/comparing.md"))
    assert len(commands) == 2
    for command, lines in commands:
        printed = " ".join(incrowd(*command.split()[1:]).out.split())
        assert not [line for line in lines if " ".join(line.split()) not in printed]


# ---- while it runs


def test_each_trial_is_told_when_it_is_finished() -> None:
    heard: list[Trial | Skipped] = []
    found = compare(AGES, request(), ["mondrian", "expc"], [5, 10, 50], bound="none", on_trial=heard.append)
    assert [each for each in heard if isinstance(each, Trial)] == list(found.trials)
    assert tuple(each for each in heard if isinstance(each, Skipped)) == found.skipped  # once, not for each k
    lines = [each.sentence() for each in heard]
    assert lines[0].startswith(
        "mondrian, k = 5: gcp 0.0000, e2 "
    )  # all methods with the policy's own k first
    assert lines[1] == "expc: skipped: expc protects outliers: give [privacy.plain]"
    assert lines[3].startswith("mondrian, k = 50: refused: n=40 < k=50")


def test_it_says_at_which_trial_it_is_and_how_much_is_done() -> None:
    heard: list[tuple[str, float]] = []

    def watch(step: str) -> Any:
        return lambda done: heard.append((step, done))

    found = compare(
        AGES, request(privacy={"k": 10}), ["mondrian", "hilbert"], [5, 10], bound="none", watch=watch
    )
    order = [("mondrian", 10), ("hilbert", 10), ("mondrian", 5), ("hilbert", 5)]  # the policy's own k first
    names = [f"trial {place} of 4: {method}, k = {k}" for place, (method, k) in enumerate(order, 1)]
    assert heard == [(name, (place + end) / 4) for place, name in enumerate(names) for end in (0, 1)]
    asked = [("mondrian", 5), ("mondrian", 10), ("hilbert", 5), ("hilbert", 10)]
    assert [(trial.method, trial.k) for trial in found.trials] == asked


def test_who_interrupts_in_the_middle_keeps_what_is_done_and_goes_on_next_time(tmp_path: Path) -> None:
    def stop(trial: Trial | Skipped) -> None:
        if isinstance(trial, Trial) and trial.k == 10:
            raise KeyboardInterrupt

    found = compare(AGES, request(), ["mondrian"], [5, 10, 20], cache=tmp_path / "kept", on_trial=stop)
    assert ([trial.k for trial in found.trials], found.stopped, found.planned) == ([5, 10], True, 3)
    assert len(list((tmp_path / "kept").iterdir())) == 2
    again = compare(AGES, request(), ["mondrian"], [5, 10, 20], cache=tmp_path / "kept", bound="none")
    assert again.trials[:2] == found.trials
    assert not again.stopped


def test_a_trial_has_one_id() -> None:
    found = compare(AGES, request(privacy={"k": 5, "l": 2}), ["mondrian"], [5], [None, 2, 0], bound="none")
    assert [trial.id for trial in found.trials] == ["mondrian-k5-l2", "mondrian-k5"]


def test_marks_are_links_with_the_ids_of_their_trials(tmp_path: Path) -> None:
    words = ("--methods", "mondrian", "--k", "2,3", "--no-cache", "--bound", "none")
    ran = incrowd(
        "compare", *lay(tmp_path), *words, "--json", "-o", tmp_path / "c.svg", "--link", "t?id={id}&x"
    )
    assert ran.code == 0, ran.out
    root = ET.fromstring((tmp_path / "c.svg").read_text())
    links = {each.get("id"): each.get("href") for each in root.iter("{http://www.w3.org/2000/svg}a")}
    assert links == {trial["id"]: f"t?id={trial['id']}&x" for trial in ran.json["trials"]}
    bad = incrowd("compare", *lay(tmp_path), "-o", tmp_path / "d.svg", "--link", "javascript:alert(1)")
    assert (bad.code, (tmp_path / "d.svg").exists()) == (2, False)
    assert incrowd("compare", *lay(tmp_path), "--link", "#{id}").code == 2
