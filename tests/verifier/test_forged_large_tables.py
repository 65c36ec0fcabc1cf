"""Every forgery of equivalence classes once more, in tables of 100,000 rows, by both engines. By night only.

Among so many records some are equal and in different classes: the witness says how many are in which.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from forgeries import classes
from forgeries.classes import FORGERIES, ILLS, METHOD, Release
from support.night import NIGHT
from support.spark_sessions import WHY_NOT, sql_session
from verifier.test_in_engine import SPOILERS, plain, rejected, witness_of

from incrowd.engines.resources import Resources
from incrowd.engines.session import duck_session
from incrowd.schema import Verdict
from incrowd.verifier import CsvRows, Expected
from incrowd.verifier.in_engine import EngineFiles, verify_in_engine

pytestmark = pytest.mark.skipif(not NIGHT, reason="by night only (INCROWD_SEEDS=all): a minute for each ten")
ROWS = 100_000
ENGINES = ("duckdb", "spark")
PEOPLE = classes.people
# They claim a little more than the small release reaches; the large one, which is more even, reaches it.
TRUE_HERE = ("entropy_l_too_high", "recursive_c_too_low")


@pytest.fixture(scope="module")
def large() -> Iterator[Release]:
    """The good release with as many classes as give so many rows, and all values of `ill` in each of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "SIZES", (4, *[7] * ((ROWS - 4) // 7 + 1)))
        patch.setattr(classes, "people", in_turn)
        yield plain()


def in_turn(count: int, rng: random.Random) -> list[list[str]]:
    """People whose illnesses take turns in the order in which the good release is cut."""
    found = PEOPLE(count, rng)
    cut = sorted(range(count), key=lambda i: (found[i][5] in "cd", found[i][4]))
    for place, i in enumerate(cut):
        found[i][6] = ILLS[place % len(ILLS)][0]
    return found


@pytest.fixture(scope="module", params=ENGINES)
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("work")
    if request.param == "duckdb":
        with duck_session(folder, Resources(1_000_000_000, 2)) as opened:
            yield opened
        return
    if WHY_NOT:
        pytest.skip(WHY_NOT)
    with sql_session(request.getfixturevalue("spark"), folder) as opened:
        yield opened


def verified(release: Release, folder: Path, session: Any) -> Verdict:
    release.write(folder / "release")
    release.write_original(folder / "original.csv")
    expected = Expected(release.schema, release.claims, release.accepted, None, METHOD, release.levels)
    files, original = EngineFiles(folder / "release"), CsvRows(folder / "original.csv")
    return verify_in_engine(session, files, original, expected, witness_of(release, session, parted=True))


def test_the_good_release_is_accepted(large: Release, tmp_path: Path, session: Any) -> None:
    verdict = verified(deepcopy(large), tmp_path, session)
    assert verdict.passed, verdict.failures
    assert verdict.facts["rows"] >= ROWS


@pytest.mark.parametrize("name", [name for name in SPOILERS if name not in TRUE_HERE])
def test_no_forgery_is_accepted(name: str, large: Release, tmp_path: Path, session: Any) -> None:
    release = deepcopy(large)
    caught_by, spoil = FORGERIES[name]
    spoil(release)
    assert rejected(verified(release, tmp_path, session), caught_by)
