"""A release folder: what its manifest and files must be, one spoilt thing after another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forgeries import buckets, classes
from forgeries.beside import with_totals
from forgeries.classes import METHOD, Release, described, good, manifest_text

from incrowd.schema import MANIFEST, Claim, Column, Role, Schema
from incrowd.verifier import CsvRows, Expected, Threads, digests, verify
from incrowd.verifier import folder as module
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.folder import (
    OpenedFolder,
    ReleaseFiles,
    _check_provenance,
    _domains,
    _read_manifest,
    _row_counts,
)


def verdicts(release: Release, place: Path, totals: bool = False, **asked: Any) -> Callable[[], str]:
    """Writes a release; says what the first check finds that fails, each time it is called."""
    release.write(place / "release")
    release.write_original(place / "original.csv")
    expected = Expected(
        release.schema, release.claims, method=METHOD, totals=totals, **{"max_suppression": None, **asked}
    )

    def failed() -> str:
        found = verify(place / "release", CsvRows(place / "original.csv"), expected).failures
        return found[0].name if found else ""

    assert failed() == ""
    return failed


def same_rows_otherwise(folder: Path, name: str) -> None:
    """A first cell in quotes that nothing needs; the digest is right."""
    path = folder / name
    header, rest = path.read_bytes().split(b"\n", 1)
    cell, more = rest.split(b",", 1)
    path.write_bytes(header + b'\n"' + cell + b'",' + more)
    told = folder / MANIFEST
    said = json.loads(told.read_text(encoding="utf-8"))
    said["files"][name] = described(path)
    told.write_text(manifest_text(said), encoding="utf-8")


@pytest.mark.parametrize("name", ["data.csv", "totals.csv", "hierarchies.csv"])
def test_every_file_is_written_in_its_one_form(name: str, tmp_path: Path) -> None:
    failed = verdicts(with_totals(), tmp_path, totals=True)
    same_rows_otherwise(tmp_path / "release", name)
    assert failed() == {"data.csv": "cells", "totals.csv": "totals", "hierarchies.csv": "hierarchies"}[name]


def test_so_is_the_table_of_sensitive_values(tmp_path: Path) -> None:
    failed = verdicts(buckets.good(), tmp_path)
    same_rows_otherwise(tmp_path / "release", "sensitive.csv")
    assert failed() == "sensitive"


def test_so_is_every_cell(tmp_path: Path) -> None:
    """A number with a zero before it, in every row of its class; domains are what cells name."""
    release = good()
    rows = release.wide("age")
    text = release.rows[rows[0]][release.at("age")]
    release.set_class(rows, "age", text.replace("[", "[0"))
    table = {column: release.column(column) for column in release.names}
    release.manifest["columns"] = classes.manifest(release.schema, release.claims, table)["columns"]
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    expected = Expected(release.schema, release.claims, method=METHOD)
    found = verify(tmp_path / "release", CsvRows(tmp_path / "original.csv"), expected)
    assert found.failures[0].name == "cells"


def test_rows_that_are_given_are_those_of_a_file(tmp_path: Path) -> None:
    """A caller reads Parquet; its cells must have their one form, as those of CSV."""
    release = good()
    files = ReleaseFiles(tmp_path, CsvRows(tmp_path / "rows.csv"))
    folder = OpenedFolder(files, Expected(release.schema, release.claims, method=METHOD))
    assert folder.published().canonical
    assert not folder.published().protected


def test_the_manifest_is_written_in_its_one_form(tmp_path: Path) -> None:
    release = good()
    failed = verdicts(release, tmp_path)
    path = tmp_path / "release" / MANIFEST
    text = path.read_text(encoding="utf-8")
    said = json.loads(text)
    for other in (
        text + "\n",
        json.dumps(said) + "\n",
        json.dumps(dict(reversed(said.items())), indent=2) + "\n",
    ):
        path.write_text(other, encoding="utf-8")
        assert failed() == "bytes"
    path.write_text(text, encoding="utf-8")
    assert failed() == ""


def test_signs_beyond_ascii_stand_in_the_manifest_as_they_are(tmp_path: Path) -> None:
    release = good()
    at = release.original_names.index("sex")
    for row in release.original:
        row[at] = row[at].replace("F", "♀")
    for row in release.rows:
        row[release.at("sex")] = row[release.at("sex")].replace("F", "♀")
    for row in release.rows:  # sets are sorted by their texts
        cell = row[release.at("sex")]
        if cell.startswith("{"):
            row[release.at("sex")] = (
                "{"
                + "|".join(sorted(cell[1:-1].split("|"), key=lambda atom: (atom != "missing", atom)))
                + "}"
            )
    table = {column: release.column(column) for column in release.names}
    release.manifest["columns"] = classes.manifest(release.schema, release.claims, table)["columns"]
    failed = verdicts(release, tmp_path)
    path = tmp_path / "release" / MANIFEST
    text = path.read_text(encoding="utf-8")
    assert "♀" in text
    path.write_text(json.dumps(json.loads(text), indent=2) + "\n", encoding="utf-8")
    assert failed() == "bytes"


# Parts of the rows


def parts_of(folder: Path, *names: str) -> OpenedFolder:
    """A folder with a manifest and files of these names in data/, empty as they are."""
    (folder / "data").mkdir()
    (folder / MANIFEST).write_text("{}", encoding="utf-8")
    for name in names:
        (folder / "data" / name).touch()
    return opened(folder)


def opened(folder: Path) -> OpenedFolder:
    schema, claim = Schema((Column("age", Role.QUASI),)), Claim("k-anonymity", {"k": 2})
    return OpenedFolder(ReleaseFiles(folder), Expected(schema, [claim], method=METHOD))


def test_parts_are_files_of_the_release(tmp_path: Path) -> None:
    parts = ["part-00000.parquet", "part-00001.parquet"]
    found = parts_of(tmp_path, *parts)
    assert found._all_files() == [MANIFEST, *(f"data/{part}" for part in parts)]
    with pytest.raises(CheckFailed, match="the data are not those that the manifest describes"):
        found.check_files()
    said = {f"data/{part}": described(tmp_path / "data" / part) for part in parts}
    (tmp_path / MANIFEST).write_text(json.dumps({"files": said}), encoding="utf-8")
    with pytest.raises(CheckFailed) as refused:  # by what reads Parquet, since they are empty
        found.check_files()
    assert "manifest" not in str(refused.value)


@pytest.mark.parametrize(
    "names",
    [
        [],
        ["part-00001.parquet"],
        ["part-00000.parquet", "part-00002.parquet"],
        ["part-00000.parquet", "notes.txt"],
        ["part-0.parquet"],
    ],
)
def test_parts_are_numbered_without_a_gap(names: list[str], tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="the files in data are not exactly its numbered parts"):
        parts_of(tmp_path, *names).check_files()


def test_the_folder_of_parts_is_one(tmp_path: Path) -> None:
    """Neither a file nor a link to a folder elsewhere."""
    elsewhere, release = tmp_path / "elsewhere", tmp_path / "release"
    for folder in (elsewhere, release):
        folder.mkdir()
    (elsewhere / "part-00000.parquet").touch()
    (release / MANIFEST).write_text("{}", encoding="utf-8")
    (release / "data").symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(CheckFailed, match="data is not a folder"):
        opened(release).check_files()
    (release / "data").unlink()
    (release / "data").touch()
    with pytest.raises(CheckFailed, match="data is not a folder"):
        opened(release).check_files()


# Parts of the manifest


def test_a_manifest_has_its_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / MANIFEST
    path.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(module, "LARGEST_MANIFEST", 2)
    assert _read_manifest(path) == {}
    monkeypatch.setattr(module, "LARGEST_MANIFEST", 1)
    with pytest.raises(CheckFailed, match="the manifest is too large"):
        _read_manifest(path)


def test_words_about_the_public_table_are_those_of_the_policy() -> None:
    said = {"source": "roll", "date": "2024-01-01"}
    _check_provenance({"kind": "DataFrame", **said}, said)
    _check_provenance({"checked_against": {"kind": "DataFrame"}}, {})
    for stated, asked in ((said, {}), ({}, said), ({**said, "date": "2024-01-02"}, said)):
        with pytest.raises(CheckFailed, match="only the policy can confirm"):
            _check_provenance(stated, asked)
    unknown: list[dict[str, Any]] = [{"kind": "flu"}, {"checked_against": {"kind": "flu"}}]
    for other in unknown:
        with pytest.raises(CheckFailed, match="none that is known"):
            _check_provenance(other, {})
    for kind in module.KINDS - {None}:
        _check_provenance({"kind": kind}, {})


@pytest.mark.parametrize(
    ("stated", "hidden", "found"),
    [
        ({"published": 0, "suppressed": 0}, False, (0, 0, None)),
        ({"published": 5, "suppressed": 0, "max_suppression": "1"}, False, (5, 0, 1)),
        ({"published": 5, "suppressed": 3, "max_suppression": "0"}, False, (5, 3, 0)),
        ({"published": 5, "suppressed": None, "max_suppression": "1"}, True, (5, None, 1)),
    ],
)
def test_row_counts_are_read(stated: dict[str, Any], hidden: bool, found: tuple[Any, ...]) -> None:
    assert _row_counts(stated, hidden) == found


SUPPRESSION = "a release says how many records are suppressed, and which share may be"


@pytest.mark.parametrize(
    ("stated", "hidden", "words"),
    [
        ({"published": 5}, False, "exactly its row counts"),
        ([5, 0], False, "exactly its row counts"),
        ({"published": 5, "suppressed": 0, "more": 1}, False, "exactly its row counts"),
        ({"published": 5, "suppressed": 1}, False, SUPPRESSION),
        ({"published": 5, "suppressed": None}, False, SUPPRESSION),
        ({"published": 5, "suppressed": False}, False, SUPPRESSION),
        ({"published": 5, "suppressed": None, "max_suppression": "1"}, False, SUPPRESSION),
        ({"published": 5, "suppressed": 0, "max_suppression": "1"}, True, SUPPRESSION),
        ({"published": 5, "suppressed": -1, "max_suppression": "1"}, False, SUPPRESSION),
        ({"published": 5, "suppressed": True, "max_suppression": "1"}, False, SUPPRESSION),
        (
            {"published": 5, "suppressed": 0, "max_suppression": "1.1"},
            False,
            "max_suppression is more than 1",
        ),
        ({"published": -1, "suppressed": 0}, False, "not a whole number of at least 0"),
        ({"published": True, "suppressed": 0}, False, "not a whole number of at least 0"),
        ({"published": "5", "suppressed": 0}, False, "not a whole number of at least 0"),
    ],
)
def test_row_counts_that_cannot_be(stated: Any, hidden: bool, words: str) -> None:
    with pytest.raises(CheckFailed, match=words):
        _row_counts(stated, hidden)


def test_the_share_that_may_be_suppressed_is_the_one_that_was_asked_for(tmp_path: Path) -> None:
    release = good()
    release.manifest["rows"] |= {"max_suppression": "0.5"}
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    for asked, passes in (("as stated", True), (None, False)):
        expected = Expected(release.schema, release.claims, method=METHOD, max_suppression=asked)  # type: ignore[arg-type]
        found = verify(tmp_path / "release", CsvRows(tmp_path / "original.csv"), expected)
        assert found.passed == passes
        if not passes:
            assert found.failures[0].name == "manifest"


@pytest.mark.parametrize("stated", [5, None, {"a": {}}, [{}, 5], [5]])
def test_columns_are_a_list_of_objects(stated: Any) -> None:
    with pytest.raises(CheckFailed, match="the columns in the manifest are not a list"):
        _domains(stated)
    assert _domains([{"name": "a", "domain": 1}, {"name": "b"}, {"domain": 2}]) == {"a": 1, "": 2}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["totals.csv", "hierarchies.csv", "README.md"])
def test_a_file_that_changes_after_the_rows_were_read_is_seen(
    name: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes of rows are looked at as soon as nobody reads them again, those of other files last."""
    release = with_totals()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    (tmp_path / "release" / "README.md").write_text("said", encoding="utf-8")
    said = json.loads((tmp_path / "release" / MANIFEST).read_text(encoding="utf-8"))
    said["files"] = dict(
        sorted((said["files"] | {"README.md": described(tmp_path / "release" / "README.md")}).items())
    )
    (tmp_path / "release" / MANIFEST).write_text(manifest_text(said), encoding="utf-8")
    expected = Expected(release.schema, release.claims, method=METHOD, totals=True)
    files = ReleaseFiles(tmp_path / "release", datasheet=lambda _: "said")

    def failures() -> list[str]:
        found = verify(files, CsvRows(tmp_path / "original.csv"), expected, threads=Threads(threads))
        return [check.name for check in found.failures]

    assert failures() == []
    there = OpenedFolder.rows_were_read

    def changed(folder: OpenedFolder) -> None:
        there(folder)
        with (tmp_path / "release" / name).open("a", encoding="utf-8") as file:
            file.write("x")

    monkeypatch.setattr(OpenedFolder, "rows_were_read", changed)
    assert "bytes" in failures()


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_change_while_they_are_read_are_seen(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = good()
    release.write(tmp_path / "release")
    release.write_original(tmp_path / "original.csv")
    there = OpenedFolder.rows_were_read

    def changed(folder: OpenedFolder) -> None:
        with (tmp_path / "release" / "data.csv").open("a", encoding="utf-8") as file:
            file.write("x")
        there(folder)

    monkeypatch.setattr(OpenedFolder, "rows_were_read", changed)
    expected = Expected(release.schema, release.claims, method=METHOD)
    asked = (tmp_path / "release", CsvRows(tmp_path / "original.csv"), expected)
    assert [check.name for check in verify(*asked, threads=Threads(threads)).failures] == ["bytes"]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 12, 1000])
def test_a_fingerprint_is_of_all_bytes(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are read at once."""
    monkeypatch.setattr(digests, "MOST_AT_ONCE", 4)
    data = bytes(number % 251 for number in range(size))
    (tmp_path / "file").write_bytes(data)
    said = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": size}
    assert digests.fingerprint(tmp_path / "file") == said
