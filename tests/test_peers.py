"""The comparison with other tools: its measures by their definitions, and a page that hides nothing."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.places import ROOT

sys.path.append(str(ROOT / "benchmarks"))

from peer_measures import Domain, columns_of, domains_of, measured
from peer_page import page, verdicts
from peer_tools import TOOLS, Missing, Table, command, jar, policy_text, python_of
from peers import CENSUS, is_known, prepared, reason, spent

from incrowd.policy import Policy

NAMES = ("age", "job")
PEOPLE = st.lists(st.tuples(st.integers(20, 25), st.sampled_from("abc")), min_size=2, max_size=9)


def written(folder: Path, name: str, rows: Sequence[tuple[str, ...]]) -> Path:
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([NAMES, *rows])
    return path


def naive(people: list[tuple[int, str]], rows: list[tuple[range, frozenset[str]]]) -> dict[str, Any]:
    """From the definitions, with exact numbers: a row has the ages and jobs that it can stand for."""
    ages, jobs = sorted({age for age, _ in people}), sorted({job for _, job in people})
    n, lost = len(people), len(people) - len(rows)
    covered = [
        ([age for age in ages if age in row[0]], [job for job in jobs if job in row[1]]) for row in rows
    ]
    losses = [Fraction(2 * lost)]
    for some_ages, some_jobs in covered:
        wide = max(ages) - min(ages)
        losses.append(Fraction(max(some_ages) - min(some_ages), wide) if wide else Fraction(0))
        losses.append(Fraction(len(some_jobs) - 1, len(jobs) - 1) if len(jobs) > 1 else Fraction(0))
    spread: Counter[tuple[int, str]] = Counter()
    for some_ages, some_jobs in covered:
        for age in some_ages:
            for job in some_jobs:
                spread[age, job] += Fraction(1, len(some_ages) * len(some_jobs))  # type: ignore[assignment]
    cells = [(age, job) for age in ages for job in jobs]
    two = sum(max(Fraction(people.count(cell)) - spread[cell], Fraction(0)) for cell in cells) / n
    one = []
    several: tuple[list[Any], ...] = (ages, jobs)
    for which, values in enumerate(several):
        for value in values:
            true = sum(person[which] == value for person in people)
            told = sum(Fraction(spread[cell]) for cell in cells if cell[which] == value)
            one.append(max(Fraction(true) - told, Fraction(0)) / n)
    equal = Counter((tuple(ages), tuple(sorted(some))) for ages, some in rows)
    told_from = sum(size * size for size in equal.values()) + lost * n
    return {
        "lost": lost,
        "smallest": min(equal.values()),
        "gcp": sum(losses) / (2 * n),
        "discernibility": Fraction(told_from, n),
        "one_way": sum(one) / 2,
        "two_way": two,
    }


@given(people=PEOPLE, data=st.data())
def test_measures_are_what_they_are_defined_as(people: list[tuple[int, str]], data: st.DataObject) -> None:
    jobs = sorted({job for _, job in people})
    kept = data.draw(st.lists(st.sampled_from(people), min_size=1, max_size=len(people)))
    rows = []
    for age, job in kept:
        low, high = data.draw(st.integers(20, age)), data.draw(st.integers(age, 25))
        more = data.draw(st.sets(st.sampled_from(jobs)))
        rows.append((range(low, high + 1), frozenset({job, *more})))
    with TemporaryDirectory() as folder:
        original = written(Path(folder), "original.csv", [(str(age), job) for age, job in people])
        texts = [(f"[{ages[0]},{ages[-1]}]", "{" + "|".join(sorted(some)) + "}") for ages, some in rows]
        published = written(Path(folder), "published.csv", texts)
        found = measured(original, published, domains_of(original, NAMES, ("age",), None))
    for name, value in naive(people, rows).items():
        assert getattr(found, name) == pytest.approx(float(value)), name


@pytest.mark.parametrize(
    ("cell", "values"),
    [
        ("*", ["1", "2", "a*b", "c"]),
        ("a\\*b", ["a*b"]),
        ("{a\\*b|c}", ["a*b", "c"]),
        ("numbers", ["1", "2"]),
        ("{numbers|c}", ["1", "2", "c"]),
    ],
)
def test_a_cell_covers_what_it_can_stand_for(cell: str, values: list[str]) -> None:
    domain = Domain("x", ("1", "2", "a*b", "c"), False, {"numbers": frozenset({"1", "2", "3"})})
    assert [domain.values[place] for place in domain.covered(cell)] == values


@pytest.mark.parametrize("cell", ["d", "[1,2]", "{d}", ""])
def test_a_cell_that_stands_for_nothing_is_no_cell(cell: str) -> None:
    with pytest.raises(ValueError, match="a cell of x stands for no value"):
        Domain("x", ("1", "2"), False, {}).covered(cell)


def test_more_rows_than_people_are_refused(tmp_path: Path) -> None:
    original = written(tmp_path, "original.csv", [("20", "a")])
    published = written(tmp_path, "published.csv", [("20", "a"), ("20", "a")])
    with pytest.raises(ValueError, match="2 rows of 1"):
        measured(original, published, domains_of(original, NAMES, ("age",), None))


def test_suppressed_rows_of_stars_are_lost_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "published.csv", [("20", "a"), ("*", "*"), ("*", "a")])
    assert columns_of(path, NAMES, stars=False) == [["20", "*"], ["a", "a"]]
    assert columns_of(path, NAMES) == [["20", "*", "*"], ["a", "*", "a"]]


# The page


def result(tool: str, **more: Any) -> dict[str, Any]:
    known = {"tool": tool, "table": "adult_arx", "n": 100, "k": 10, "limit": 300, "how": "done", "load": 1.0}
    known |= {"version": "it 1.0", "date": "2026-01-02", "seconds": 2.0, "megabytes": 90, "rows": 100}
    known |= {"lost": 0, "smallest": 10, "pycanon": 10, "gcp": 0.1, "discernibility": 12.0}
    return known | {"one_way": 0.1, "two_way": 0.2} | more


OURS, PEER = "incrowd `mondrian`", "anonypy, Mondrian"


def test_the_page_says_who_is_not_anonymous() -> None:
    text = page([result(OURS), result(PEER, smallest=3, pycanon=3)])
    assert "**3: not k-anonymous**" in text
    assert "**10, by pycanon 9**" in page([result(OURS, pycanon=9)])


def test_the_page_says_where_we_are_behind_and_who_was_stopped() -> None:
    behind = "\n".join(verdicts([result(OURS), result(PEER, gcp=0.05, seconds=5.0)]))
    assert "ahead on 0 of 1 tables and k that were compared; **not on adult_arx (k = 10)**" in behind
    assert "loses **more** on adult_arx (k = 10)" in behind
    assert "**less than 10 times on adult_arx (k = 10)**" in behind
    ahead = "\n".join(verdicts([result(OURS), result(PEER, gcp=0.2, seconds=25.0)]))
    assert "**" not in ahead
    stopped = page([result(OURS), result(PEER, how="limit", seconds=300.0)])
    assert f"| {PEER} | more than 300 |" in stopped
    assert "it did not finish" in stopped


def test_the_page_says_in_what_else_we_are_behind() -> None:
    worse = result(OURS, lost=7, megabytes=200, discernibility=12.04)
    said = "\n".join(
        verdicts([worse, result(PEER), result(OURS, k=50), result(PEER, k=50, discernibility=12.0)])
    )
    assert (
        "behind: it suppresses more rows on adult_arx (k = 10); takes more memory on adult_arx (k = 10)."
        in said
    )
    said = "\n".join(verdicts([result(OURS, one_way=0.101), result(PEER)]))
    assert "behind: it has a larger error of 1-column counts everywhere." in said
    said = "\n".join(verdicts([result(OURS, one_way=0.1004), result(PEER)]))
    assert "behind in nothing else" in said
    unknown = "\n".join(verdicts([result(OURS, megabytes=None), result(PEER)]))
    assert "memory" not in unknown


def test_what_was_skipped_is_named_with_the_reason() -> None:
    text = page([result(OURS), {**result(TOOLS[-1].name), "how": "skipped", "why": "no jar of ARX"}])
    assert f"* {TOOLS[-1].name}: no jar of ARX." in text


def test_what_nobody_tried_is_named() -> None:
    text = page([result(OURS), result(OURS, k=50), result(PEER)])
    assert f"* {PEER}: not measured on adult_arx, k = 50." in text
    assert f"* {OURS}: not measured" not in text


def test_what_was_stopped_sooner_is_tried_again() -> None:
    assert is_known(result(PEER), 600)
    assert is_known(result(PEER, how="limit"), 300)
    assert not is_known(result(PEER, how="limit"), 600)
    assert not is_known(result(PEER, how="failed"), 300)
    assert not is_known(None, 300)


def test_a_run_that_fails_says_why_and_one_that_is_stopped_says_when() -> None:
    refused = "import sys; sys.exit('incrowd: zip has too many values')"
    how, _, _, last = spent([sys.executable, "-c", refused], 20)
    ours = next(tool for tool in TOOLS if tool.ours)
    assert (how, reason(ours, last)) == ("failed", "refused: zip has too many values")
    how, seconds, _, last = spent([sys.executable, "-c", "while True: pass"], 1)
    assert (how, last) == ("limit", "")
    assert seconds < 2
    peer = next(tool for tool in TOOLS if not tool.ours)
    assert reason(peer, "KeyError: 'somebody'") == "it ended with KeyError"
    assert reason(peer, "Killed by somebody") == "it ended with an error"


def test_the_memory_of_a_run_is_its_own() -> None:
    """Not that of this process: the kernel takes a child for a copy of it until it runs another program."""
    held = bytearray(2**27)
    _, _, megabytes, _ = spent([sys.executable, "-S", "-c", "pass"], 60)
    assert 1 < megabytes < len(held) / 2**20
    _, _, more, _ = spent([sys.executable, "-S", "-c", "x = b'x' * 2**27"], 60)
    assert more > 2**27 / 2**20


def test_a_peer_that_was_stopped_is_not_said_to_be_nearly_as_fast() -> None:
    said = "\n".join(verdicts([result(OURS), result(PEER, how="limit", seconds=12.0)]))
    assert "**stopped before 10 times on adult_arx (k = 10)**" in said
    assert "less than" not in said


def test_a_peer_that_cannot_be_installed_is_skipped_and_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked: list[list[str]] = []

    def refusing(words: list[str], **_: object) -> None:
        asked.append([str(word) for word in words])
        if "pip" in asked[-1]:
            raise subprocess.CalledProcessError(1, words)

    monkeypatch.setattr(subprocess, "run", refusing)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    with pytest.raises(Missing, match=f"could not install anjana for Python {here}"):
        python_of("anjana")
    place = asked[-1].index("--only-binary")
    assert "numpy" in asked[-1][place + 1].split(",")


def test_without_a_jar_arx_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INCROWD_ARX", str(tmp_path))
    with pytest.raises(Missing, match="INCROWD_ARX"):
        jar()
    monkeypatch.setattr("shutil.which", lambda _: "java")
    (tmp_path / "libarx-3.9.2.jar").touch()
    assert jar().name == "libarx-3.9.2.jar"
    table = Table("t", tmp_path / "t.csv", ("a", "b"), ("a",), "s", tmp_path, 3)
    words, _ = command(TOOLS[-1], table, 5, tmp_path)
    assert words[:2] == ["java", "-cp"]
    assert words[-3:] == ["full", "a", "b"]


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.ours], ids=lambda tool: tool.name)
def test_what_we_are_asked_for_is_a_policy(tool: Any, tmp_path: Path) -> None:
    import tomllib

    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("1;*\n")
    table = Table("t", tmp_path / "t.csv", ("a", "b"), ("a",), "s", tmp_path, 3)
    asked = tomllib.loads(policy_text(tool, table, 7))
    assert Policy.from_dict(asked).k == 7
    assert [("hierarchy" in column) for column in asked["quasi_identifiers"].values()] == [tool.trees] * 2


def test_tools_have_names_of_their_own() -> None:
    assert not [a.name for a, b in combinations(TOOLS, 2) if a.name == b.name]


def test_a_prepared_table_has_no_empty_cell(real_data: Path, tmp_path: Path) -> None:
    from support.night import NIGHT

    if not NIGHT:
        pytest.skip("by night: it reads the census")
    table = prepared("census, 100,000 rows", real_data, tmp_path)
    columns = columns_of(table.path, CENSUS)
    assert {len(column) for column in columns} == {100_000}
    assert not [name for name, column in zip(CENSUS, columns, strict=True) if "" in column]
