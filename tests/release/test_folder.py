"""An opened release reads each of its files once, whatever is asked of it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import incrowd as ic
from incrowd.errors import InputError
from incrowd.examples import write_example
from incrowd.release.folder import ReleaseFolder

OPENED: Counter[str] = Counter()
WATCHED: list[Path] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    """Count files opened below the watched folder, but for those that the verifier opens by itself."""
    if event != "open" or not WATCHED or not isinstance(arguments[0], str):
        return
    path = Path(arguments[0])
    if not path.is_relative_to(WATCHED[0]):
        return
    frame = sys._getframe()
    while frame.f_back is not None:
        if "/incrowd/verifier/" in frame.f_code.co_filename:
            return
        frame = frame.f_back
    OPENED[path.name] += 1


sys.addaudithook(_hook)


@contextmanager
def counted(home: Path) -> Iterator[Counter[str]]:
    OPENED.clear()
    WATCHED.append(home.resolve())
    try:
        yield OPENED
    finally:
        WATCHED.clear()


@pytest.fixture(scope="module", params=["mondrian", "ring", "anatomy", "kja-refine"])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of each kind: classes, non-homogeneous rows, buckets, two tables."""
    place = write_example(tmp_path_factory.mktemp("reads"), rows=300).resolve()
    if request.param == "kja-refine":
        ic.publish(place / "patients.csv", place / "join.toml", place / "out")
        return place
    roles = {
        "identifiers": ["name", "ssn"],
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["diagnosis"],
        "drop": ["zip", "education", "occupation", "marital_status", "admitted", "visit_type", "cost"],
    }
    ic.publish(place / "patients.csv", roles, place / "out", method=request.param, k=5, l=2, accept=["all"])
    return place


def public_of(home: Path) -> Path | None:
    joined = ReleaseFolder.open(home / "out").joined
    return home / "voters.csv" if joined else None


def test_a_private_report_opens_the_original_once(home: Path) -> None:
    public = public_of(home)
    with counted(home) as opened:
        ic.report(home / "out", home / "patients.csv", public=public)
    assert opened["patients.csv"] == 1
    assert opened["schema.json"] == 1
    assert opened["release.json"] == 1
    assert opened["data.csv"] == 2  # its rows, and its checksum
    assert opened["sensitive.csv"] <= 2
    assert opened["links.json"] <= 1
    assert opened["voters.csv"] <= 1


def test_verify_and_measure_share_what_was_read(home: Path) -> None:
    public = public_of(home)
    with counted(home) as opened:
        folder = ReleaseFolder.open(home / "out", home / "patients.csv", public=public)
        assert ic.verify(folder).passed
        assert ic.measure(folder)["rows"] == len(folder.rows)
        assert ic.attack(folder).results
    assert set(opened.values()) == {1}
    assert {"patients.csv", "release.json", "data.csv"} <= set(opened)


def test_questions_open_nothing_private(home: Path) -> None:
    with counted(home) as opened:
        ic.query(home / "out", "SELECT COUNT(*) WHERE age <= 40")
        ic.report(home / "out")
    assert set(opened) <= {
        *("README.md", "release.json", "data.csv", "sensitive.csv", "hierarchies.csv", "totals.csv"),
    }


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        ReleaseFolder.open(tmp_path / "none")
    with pytest.raises(InputError, match="it has no release"):
        ReleaseFolder.open(tmp_path)
    with pytest.raises(InputError, match="the path of its folder"):
        ReleaseFolder.open(7)


def test_without_the_original_private_things_are_not_known(home: Path) -> None:
    folder = ReleaseFolder.open(home / "out")
    with pytest.raises(InputError, match="original=…"):
        _ = folder.original
    assert len(folder.rows) == folder.manifest["rows"]["published"]
