"""What the policy says of a public table, where it is read from, and the schema that two tables share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from incrowd.errors import HierarchyError, IncrowdError, PolicyError, TableError
from incrowd.flow import Table
from incrowd.join import check_public, provenance, read_sources
from incrowd.policy import Policy
from incrowd.policy.parts import Public
from incrowd.schema import Kind, Schema
from incrowd.tables import read

Columns = dict[str, Any]
Error = type[IncrowdError]

SAID: dict[str, Any] = {"table": "v.csv", "id": "ssn", "membership_secret": True}
ROLES: dict[str, Any] = {"identifiers": ["ssn"], "quasi_identifiers": ["age"], "privacy": {"k": 2}}


@pytest.mark.parametrize(
    ("public", "says"),
    [
        (None, "joins the table with a public one: write table, id and membership_secret"),
        ({**SAID, "membership_secret": False}, "does not protect against somebody who knows who is in"),
        ({"table": "v.csv", "id": "ssn"}, "write membership_secret = true under [public]"),
    ],
)
def test_membership_must_be_said_to_be_a_secret(public: dict[str, Any] | None, says: str) -> None:
    policy = Policy(**ROLES, public=public, method="kja-refine")
    with pytest.raises(PolicyError, match=re.escape(says)):
        check_public(policy)
    with pytest.raises(PolicyError, match="kja-refine"):
        read_sources(policy, Table.of({"ssn": ["1"], "age": ["2"]}))


def test_what_is_said_of_the_public_table_survives_changes(tmp_path: Path) -> None:
    said = {**SAID, "date": "2024-03-01", "conflicts": "microdata", "check": "w.csv", "source": "the county"}
    text = "".join(f'{key} = "{word}"\n' for key, word in said.items() if key != "membership_secret")
    (tmp_path / "quoted.toml").write_text(f"[public]\nmembership_secret = true\n{text}", encoding="utf-8")
    bare = text.replace('"2024-03-01"', "2024-03-01")  # a day, as TOML has it
    (tmp_path / "bare.toml").write_text(f"[public]\nmembership_secret = true\n{bare}", encoding="utf-8")
    for name in ("quoted.toml", "bare.toml"):
        assert Policy.load(tmp_path / name).with_(k=7).to_dict()["public"] == said


def lay(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_sources_are_read_beside_the_policy_and_fingerprinted(tmp_path: Path) -> None:
    lay(tmp_path, v="ssn,age\n1,30\n2,31\n", w="ssn,age\n2,31\n")
    said = {**SAID, "check": "w.csv", "source": "the county", "date": "2024-03-01"}
    sources = read_sources(Policy.from_dict({**ROLES, "public": said}, folder=tmp_path))
    assert (len(sources.public), sources.check and len(sources.check)) == (2, 1)
    assert sources.provenance == {
        "sha256": digest(tmp_path / "v.csv"),
        "rows": 2,
        "id": "ssn",
        "source": "the county",
        "date": "2024-03-01",
        "checked_against": {"sha256": digest(tmp_path / "w.csv"), "rows": 1},
    }


def test_frames_and_other_files_take_the_place_of_those_of_the_policy(tmp_path: Path) -> None:
    import pandas as pd

    lay(tmp_path, w="ssn,age\n2,31\n")
    policy = Policy.from_dict({**ROLES, "public": SAID}, folder=tmp_path / "elsewhere")
    sources = read_sources(policy, pd.DataFrame({"ssn": ["1"], "age": [30]}), tmp_path / "w.csv")
    again = {"sha256": digest(tmp_path / "w.csv"), "rows": 1}
    assert sources.provenance == {"kind": "DataFrame", "rows": 1, "id": "ssn", "checked_against": again}
    assert read_sources(policy, sources.public).provenance == {"kind": "Table", "rows": 1, "id": "ssn"}


def test_a_copy_confirms_nothing(tmp_path: Path) -> None:
    lay(tmp_path, v="ssn,age\n1,30\n", w="ssn,age\n1,30\n")
    table = read(tmp_path / "v.csv")
    with pytest.raises(PolicyError, match="are the same, byte for byte"):
        provenance(tmp_path / "v.csv", table, Public(**SAID), tmp_path / "w.csv", table)


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"v\.csv does not exist"):
        read_sources(Policy.from_dict({**ROLES, "public": SAID}, folder=tmp_path))


# ----------------------------------------------------------------------------------- the schema of two tables


def both(quasi: Columns, private: Sequence[str], public: Sequence[str]) -> Schema:
    policy = Policy(identifiers=["id"], quasi_identifiers={"q": quasi}, missing=["", "?"])
    table = Table.of({"id": [*map(str, range(len(private)))], "q": private})
    return policy.schema(table, Table.of({"q": public, "x": public}))


def test_hierarchies_are_built_over_both_tables() -> None:
    schema = both({"hierarchy": {"prefix": [2]}}, ["0123"], ["0456", "?", "0123"])
    assert schema.column("q").levels == (("0123", "01__", "*"), ("0456", "04__", "*"))


def test_what_the_public_table_cannot_mean_is_left_to_the_join() -> None:
    schema = both({"type": "numeric", "hierarchy": {"intervals": [10]}}, ["5"], ["15", "old"])
    assert [row[0] for row in schema.column("q").levels] == ["5", "15"]


@pytest.mark.parametrize(
    ("quasi", "private", "public", "error", "says"),
    [
        (
            {},
            ["90210"],
            ["01234"],
            PolicyError,
            "are numeric in the table but categorical in the public table",
        ),
        ({}, ["x"], ["1"], PolicyError, "give it one: q = {type = …}"),
        (
            {"hierarchy": {"cuts": [[0, 50]]}},
            ["5"],
            ["60"],
            HierarchyError,
            "in the public table: 1 distinct values of q lie outside its cuts",
        ),
        (
            {"hierarchy": {"cuts": [[0, 50]]}},
            ["70"],
            ["60"],
            HierarchyError,
            "1 distinct values of q lie outside",
        ),
    ],
)
def test_tables_that_have_no_schema_in_common(
    quasi: Columns, private: list[str], public: list[str], error: Error, says: str
) -> None:
    with pytest.raises(error, match=re.escape(says)) as caught:
        both(quasi, private, public)
    assert ("in the public table" in str(caught.value)) == (private != ["70"])


@pytest.mark.parametrize(("private", "public"), [(["?"], ["1"]), (["1"], ["?"])])
def test_a_table_of_gaps_has_no_say_in_the_type(private: list[str], public: list[str]) -> None:
    assert both({}, private, public).column("q").kind is Kind.NUMERIC
