"""Series with DuckDB: the same classes, dates and waiting people as in memory, whatever happens."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.large_series import large_months, next_month, told, written
from support.night import NIGHT
from support.series_tables import crowd, policy

from incrowd.commands.attack import attack
from incrowd.commands.measure import measure
from incrowd.commands.publish import publish
from incrowd.commands.series import series
from incrowd.engines.resources import Resources
from incrowd.errors import IncrowdError, Infeasible, InputError, Refused
from incrowd.policy import Policy
from incrowd.publishing.large_series import publish_large_next
from incrowd.publishing.series import Continued
from incrowd.release import ledger
from incrowd.release.ledger import Head

Moving = dict[str, tuple[int, str]]
SERIES = st.fixed_dictionaries(
    {
        "wait": st.integers(0, 2),
        "tau": st.sampled_from([0.5, 1, 3]),
        "left": st.sampled_from(["repeat", "companions"]),
        "hold": st.integers(0, 2),
    }
)


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    k, larger = draw(st.integers(2, 3)), draw(st.integers(0, 2))
    said = draw(SERIES) | ({"size": k + larger} if larger else {})
    return policy(k, said, privacy={"l": 2} if draw(st.booleans()) else {})


@st.composite
def moving_people(draw: st.DrawFn) -> list[tuple[Moving, list[str]]]:
    """Tables of people who come, leave, return and change, and who must be erased each time."""
    size, kinds = draw(st.integers(12, 30)), draw(st.sampled_from(["ab", "abcd"]))
    places = st.tuples(st.integers(0, 9), st.sampled_from(kinds))
    everyone = {f"p{n}": draw(places) for n in range(size)}
    found: list[tuple[Moving, list[str]]] = []
    for release in range(draw(st.integers(2, 4))):
        if release:
            everyone |= {
                who: draw(places) for who in draw(st.lists(st.sampled_from([*everyone]), max_size=4))
            }
        away = set(draw(st.lists(st.sampled_from([*everyone]), max_size=size // 3)))
        here = {who: said for who, said in everyone.items() if who not in away}
        known = sorted({who for table, _ in found for who in table} | set(here))
        erased = draw(st.lists(st.sampled_from(known), max_size=1)) if release else []
        found.append((here, erased))
    return found


def published(folder: Path, number: int, table: Path, asked: Any, erase: list[str], **more: Any) -> Any:
    """The manifest's counts and what the ledger says; or why there is no release."""
    after = folder / f"m{number - 1}" if number else None
    try:
        made = publish(str(table), asked, folder / f"m{number}", after=after, erase=erase or None, **more)
    except Infeasible as refused:
        return str(refused)
    said = made.manifest["series"]
    return [said[key] for key in ("number", "waiting", "lingering", "withheld", "oldest")]


@settings(max_examples=200 if NIGHT else 2, deadline=None)
@given(moving_people(), requests(), st.integers(1, 3))
def test_the_same_cohorts_as_in_memory(
    tables: list[tuple[Moving, list[str]]], asked: dict[str, Any], threads: int
) -> None:
    ids = sorted({who for table, _ in tables for who in table})
    # People who are equally far out go in the order of their digests: both series have the same key.
    with TemporaryDirectory() as temporary, patch.object(ledger, "system", bytes):
        ours, theirs = Path(temporary, "ours"), Path(temporary, "theirs")
        ours.mkdir()
        theirs.mkdir()
        for number, (people, erased) in enumerate(tables):
            table = written(Path(temporary, "table.csv"), people)
            engine = {"engine": "duckdb", "memory": "300MB", "threads": threads}
            found = published(ours, number, table, asked, erased, **engine)
            assert found == published(theirs, number, table, asked, erased)
            if isinstance(found, str):
                break  # nobody can have a row: both say so in the same words
            assert told(ours / f"m{number}", ids) == told(theirs / f"m{number}", ids)
            rows = [
                sorted((folder / f"m{number}" / "data.csv").read_text().split("\n"))
                for folder in (ours, theirs)
            ]
            assert rows[0] == rows[1]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=90), max_size=6))
def test_halves_of_digests_are_those_of_one_digest(ids: list[str]) -> None:
    head = Head.first(3, 1)
    halves = head.halves(ids)
    assert [f"{int(high):016x}{int(low):016x}" for high, low in halves] == [head.digest(who) for who in ids]


FIRST = crowd()
SECOND = {who: said for who, said in FIRST.items() if who != "p0"} | {"new": (31, "a")}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two months with DuckDB."""
    folder = tmp_path_factory.mktemp("series")
    large_months(folder, [FIRST, SECOND], policy())
    return folder


def test_commands_read_the_ledger_of_an_engine(begun: Path) -> None:
    story = series(begun / "m1", erase=["p5"])
    assert [each["lingering"] for each in story.releases] == [0, 1]
    assert story.erasure is not None
    assert (story.erasure.erased, story.erasure.shown) == (1, 1)
    assert measure(begun / "m1", str(begun / "t1.csv"), policy()).to_dict()
    found = attack(begun / "m1", str(begun / "t1.csv"), policy())
    ours = {each.name: each.attack.won for each in found.results if each.name.startswith("series")}
    theirs = written_in_memory(begun)
    assert ours == {each.name: each.attack.won for each in theirs if each.name.startswith("series")}
    assert ours


def written_in_memory(begun: Path) -> Any:
    """The attacks on the same two months in memory."""
    folder = begun / "memory"
    folder.mkdir()
    for number in range(2):
        after = folder / f"m{number - 1}" if number else None
        publish(str(begun / f"t{number}.csv"), policy(), folder / f"m{number}", after=after)
    return attack(folder / "m1", str(begun / "t1.csv"), policy()).results


@pytest.mark.parametrize(
    ("asked", "more", "words"),
    [
        (policy(), {"engine": "memory"}, "was begun with DuckDB"),
        (policy(), {"engine": "spark"}, "no ledger with Spark"),
        (policy(method="hilbert"), {}, "by mondrian alone"),
        (policy(method="agglomerative"), {}, "by mondrian alone"),
        (policy(k=4), {}, "began with k = 3"),
        (policy(), {"replace": True}, "replaces none"),
        (policy(), {"erase": ["nobody"]}, "neither in the table nor in any release"),
        (policy(keep=["name"], identifiers=[]), {}, "publishes other columns"),
        (policy(quasi_identifiers={"age": {"type": "categorical"}}), {}, "a series keeps its columns"),
    ],
    ids=["memory", "spark", "hilbert", "method", "k", "replace", "erase", "columns", "type"],
)
def test_what_cannot_go_on_is_refused(asked: Any, more: dict[str, Any], words: str, begun: Path) -> None:
    before = sorted(path.name for path in begun.iterdir())
    table = written(begun / "t1.csv", SECOND)
    with pytest.raises(IncrowdError, match=words):
        publish(str(table), asked, begun / "m2", after=begun / "m1", **({"engine": "duckdb"} | more))
    assert sorted(path.name for path in begun.iterdir()) == before


def test_a_series_that_was_begun_in_memory_stays_there(tmp_path: Path) -> None:
    table = str(written(tmp_path / "t0.csv", FIRST))
    publish(table, policy(), tmp_path / "m0")
    with pytest.raises(Refused, match="begun in memory"):
        publish(table, policy(), tmp_path / "m1", after=tmp_path / "m0", engine="duckdb")
    publish(table, policy(), tmp_path / "m1", after=tmp_path / "m0")


@pytest.mark.parametrize(
    ("line", "words"),
    [(",x,20,a\n", "1 rows have no id"), ("p1,x,20,a\n", "1 people have several rows")],
    ids=["missing", "twice"],
)
def test_tables_without_ids_are_refused(line: str, words: str, tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", FIRST)
    with table.open("a") as file:
        file.write(line)
    with pytest.raises(IncrowdError, match=words):
        publish(str(table), policy(), tmp_path / "m0", engine="duckdb", memory="300MB")


def test_too_many_people_to_cut_again_are_refused(tmp_path: Path) -> None:
    """All of them come back at once with room for ten."""
    asked, few = policy(), Resources(300_000_000, 1, tuples=10)
    large_months(tmp_path, [FIRST], policy(series={"size": 26}))
    table = written(tmp_path / "t1.csv", FIRST)
    with pytest.raises(InputError, match=r"26 people return, .* raise memory"):
        publish_large_next(
            str(table), Policy.from_dict(asked), tmp_path / "m1", Continued(tmp_path / "m0"), resources=few
        )


@pytest.mark.parametrize("said", [{}, {"hold": 2}], ids=["as it is", "some cohorts are repeated"])
def test_few_at_a_time_are_cut_as_all_at_once(said: dict[str, int], tmp_path: Path) -> None:
    """Newcomers in blocks by DuckDB first, and classes read a few at a time; some cohorts are gone."""
    people = {f"p{n}": (n % 50, "abc"[n % 3]) for n in range(120)}
    stay = {who: of for who, of in people.items() if who > "p3" and of[0] not in range(20, 30)}
    later = stay | {f"q{n}": (n, "b") for n in range(12)}
    cramped = Resources(300_000_000, 1, tuples=40)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    for number, each in enumerate((people, later)):
        table = written(tmp_path / "t.csv", each)
        after = tmp_path / "a" / f"m{number - 1}" if number else None
        publish_large_next(
            str(table),
            Policy.from_dict(policy(series=said)),
            tmp_path / "a" / f"m{number}",
            Continued(after),
            resources=cramped,
        )
        next_month(tmp_path / "b", number, each, policy(series=said))
        ids = [*people, *later]
        assert told(tmp_path / "a" / f"m{number}", ids) == told(tmp_path / "b" / f"m{number}", ids)
