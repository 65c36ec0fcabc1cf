"""What would not fit into memory is counted by an engine, or refused before it is read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.commands import incrowd as command
from support.engine_tables import by_engine

import incrowd
from incrowd.commands.report import report
from incrowd.errors import InputError
from incrowd.flow import Table
from incrowd.measures.published import ClassSizes
from incrowd.measures.risk import reidentification_risk, risk_of_sizes
from incrowd.policy import Policy
from incrowd.publishing import memory_limit
from incrowd.release import folder as opened_folders

COUNT = 300
TABLE = Table.of(
    {
        "age": [str(20 + i % 15) for i in range(COUNT)],
        "sex": ["FM"[i % 2] for i in range(COUNT)],
        "ill": [("flu", "cold", "cough")[i % 3] for i in range(COUNT)],
    }
)
POLICY = Policy(quasi_identifiers=["age", "sex"], sensitive=["ill"], privacy={"k": 4})


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("limit")
    return by_engine(TABLE, POLICY, folder, "csv").folder, folder / "table.csv"


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that no table fits into, on which no rows of a release are read into memory."""

    def read(*_: object) -> None:
        raise AssertionError("rows were read into memory")

    monkeypatch.setattr(memory_limit, "machine_memory", lambda: 1000)
    monkeypatch.setattr(opened_folders, "read_rows", read)


COUNTED: dict[str, Callable[[Path, Path], Any]] = {
    "query": lambda release, _: incrowd.query(release, "SELECT COUNT(*) WHERE sex = 'F'").lower,
    "measure": lambda release, table: incrowd.measure(release, table)["smallest_class"],
    "audit": lambda release, table: incrowd.audit(table, release).classes["k"],
    "report": lambda release, _: report(release).facts["classes"]["smallest"],
    "verify": lambda release, table: incrowd.verify(release, table).passed,
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_release_that_does_not_fit_is_counted(
    name: str, released: tuple[Path, Path], request: pytest.FixtureRequest
) -> None:
    wanted = COUNTED[name](*released)
    request.getfixturevalue("little_memory")
    assert COUNTED[name](*released) == wanted


REFUSED: dict[str, Callable[..., Any]] = {
    "attack": incrowd.attack,
    "learn": lambda release, table, **more: incrowd.learn(release, table, "ill", **more),
    "compare": lambda _, table, **more: incrowd.compare(table, POLICY, ["mondrian"], [4], **more),
    "outliers": lambda _, table, **more: incrowd.outliers(table, POLICY, p=["0.8"], d=["0.9"], **more),
    "inspect": lambda _, table, **more: incrowd.inspect(table, **more),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_commands_refuse_what_does_not_fit(
    name: str, released: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limit, "machine_memory", lambda: 1000)
    words = rf"{name} holds its tables in memory, which takes about 1 MB, and 1 MB may be used: take a sample"
    with pytest.raises(InputError, match=words):
        REFUSED[name](*released)
    with pytest.raises(InputError, match=words):
        REFUSED[name](*released, memory=500)
    assert REFUSED[name](*released, memory="1GB") is not None


def test_memory_is_taken_where_it_is_asked_for(
    released: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_limit, "machine_memory", lambda: 1000)
    release, table = released
    assert "not_computed" not in incrowd.measure(release, table, engine="memory").facts
    assert "not_computed" in incrowd.measure(release, table).facts
    assert "not_computed" not in incrowd.measure(release, table, memory="1GB").facts


def test_a_private_report_says_that_attacks_do_not_fit(
    released: tuple[Path, Path], little_memory: None
) -> None:
    made = report(*released)
    assert made.sound
    assert made.facts["attacks"] is None
    assert made.facts["attacks_why_not"].startswith("attack holds its tables in memory")
    assert made.html()


def test_what_an_engine_did_not_publish_is_not_verified_beyond_memory(
    tmp_path: Path, released: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    incrowd.publish(released[1], POLICY, tmp_path / "release")
    monkeypatch.setattr(memory_limit, "machine_memory", lambda: 1000)
    with pytest.raises(InputError, match="verify holds its tables in memory"):
        incrowd.verify(tmp_path / "release", released[1])
    assert incrowd.verify(tmp_path / "release", released[1], engine="memory").passed


def test_the_command_line_counts_and_refuses(released: tuple[Path, Path], tmp_path: Path) -> None:
    release, table = released
    words = ["--engine", "duckdb", "--memory", "512MB", "--threads", "1"]
    assert "COUNT: exactly 300" in command("query", release, "SELECT COUNT(*)", *words).out
    shown = command("measure", release, "--original", table, *words).out
    assert "not computed: the lower bound" in " ".join(shown.split())
    assert "Everybody has 4 matches." in command("audit", table, release, "--k", 4, *words).out
    assert "discloses nothing" in command("report", release, "-o", tmp_path / "page.html", *words).out
    done = command("attack", release, "--original", table, "--memory", "1KB")
    assert done.code == 2
    assert "take a sample of the rows, or allow more with --memory" in done.err


# What is measured from sizes of classes alone


@given(st.lists(st.integers(1, 40), max_size=30))
def test_risk_follows_from_the_sizes_of_classes(sizes: list[int]) -> None:
    """Exactly: the same floats as from the class of each row."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    assert risk_of_sizes(ClassSizes.of(np.array(sizes, np.int64))) == reidentification_risk(labels)


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=60), st.fractions(0, 1, max_denominator=100))
def test_sizes_have_the_quantiles_of_their_definition(sizes: list[int], share: Fraction) -> None:
    found, ordered = ClassSizes.of(np.array(sizes, np.int64)), sorted(sizes)
    place = share * (len(sizes) - 1)
    below = ordered[place.numerator // place.denominator]
    above = ordered[-(-place.numerator // place.denominator)]
    assert found.quantile(share) == below + (above - below) * (place % 1)
    assert (len(found), found.smallest) == (len(sizes), min(sizes))
    assert found.squares == sum(size * size for size in sizes)


def test_rows_that_get_lost_on_the_way_are_noticed(
    released: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from incrowd.engines import counted

    real = counted.CountedTable.coded

    def changed(table: counted.CountedTable, *given: Any) -> counted.CodedRows:
        table.table.rows += 1
        return real(table, *given)

    monkeypatch.setattr(counted.CountedTable, "coded", changed)
    with pytest.raises(incrowd.TableError, match="did a table change meanwhile"):
        incrowd.query(released[0], "SELECT COUNT(*)", engine="duckdb", memory="512MB")
