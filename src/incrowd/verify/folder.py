"""A written release: are the files what the manifest says, and the manifest what was asked for?"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.schema import FORMAT_VERSION, MANIFEST, MISSING, Claim, Role, Schema, Verdict
from incrowd.verify.exhibits import Case, Progress, silent
from incrowd.verify.fault import Fault, need
from incrowd.verify.judge import Docket, Trial
from incrowd.verify.odds import KEY as ODDS
from incrowd.verify.odds import drawn_from
from incrowd.verify.rows import CsvRows, Rows

CSV, PARQUET = "data.csv", "data.parquet"
LARGEST_MANIFEST = 2**26
KEYS = {"format", "version", "tool", "method", "claims", "accepted", "columns", "rows", "missing", "files"}
METHOD_KEYS = {"name", "options", "paper", "form"}
_TOOL = re.compile(r"incrowd [0-9A-Za-z.+]+")


def verify(
    folder: str | Path,
    original: Rows,
    schema: Schema,
    claims: Sequence[Claim],
    *,
    published: Rows | None = None,
    hint: NDArray[np.int64] | None = None,
    crowds: NDArray[np.integer] | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Judge a release folder against its original.

    Parameters
    ----------
    folder : path
        Holds the data file, the manifest and nothing else.
    original : Rows
        The table that the release was made from.
    schema : Schema
        What its columns are.
    claims : sequence of Claim
        What the release must claim, neither more nor less, and keep.
    published : Rows, optional
        The rows of data.parquet, which the judge cannot read by itself.
    hint : array of int64, optional
        For each row the record whose private part it carries; saves a search, is never trusted.
    crowds : array of shape (rows, k), optional
        For each row the k records that it was made of, for the claim of a k-factor; a hint like the other.
    progress : callable
        Told how much is done, from 0 to 1.

    Returns
    -------
    Verdict
        Never passes by omission: its `passed` needs every required check to have run and passed.
    """
    list(original.names)  # an original that cannot be read is no verdict on the release
    release = Folder(Path(folder))
    docket = Docket()
    docket.run("files", release.check_files)
    docket.run("manifest", lambda: release.check_manifest(schema, claims))
    case = Case(
        original=original,
        published=release.rows(published),
        schema=schema,
        claims=claims,
        suppressed=release.suppressed,
        stated_rows=release.stated_rows,
        accepted=release.accepted,
        protected=published is None,
        domains=release.domains,
        hint=hint,
        crowds=crowds,
        odds=release.odds,
    )
    trial = Trial(case, progress)
    trial.run(docket)
    return docket.verdict(("files", "manifest", *trial.required))


class Folder:
    """A release folder, trusted only as far as it has been checked."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_dir():
            raise InputError(f"{path} is no folder; a release is a folder with {MANIFEST} in it")
        self.stated_rows, self.suppressed = 0, 0
        self.accepted: Sequence[str] = ()
        self.domains: Mapping[str, Any] = {}
        self.odds: Any = None
        self._names = sorted(entry.name for entry in path.iterdir())
        self._said: Mapping[str, Any] = {}

    def rows(self, published: Rows | None) -> Rows:
        """The published rows: the judge reads CSV by itself, anything else is handed to it."""
        if published is None and PARQUET in self._names:
            raise InputError(f"{PARQUET} must be read by the caller; hand its rows over as `published`")
        if published is not None and CSV in self._names:
            raise InputError(f"the judge reads {CSV} by itself; hand over no other rows")
        return CsvRows(self.path / CSV, delimiter=",", marked=False) if published is None else published

    def check_files(self) -> str:
        """Exactly the manifest and one data file, both plain, the data byte for byte as the manifest says."""
        need(
            self._names in ([CSV, MANIFEST], [PARQUET, MANIFEST]),
            f"the folder holds something other than {MANIFEST} and one data file",
        )
        for name in self._names:
            plain = stat.S_ISREG((self.path / name).lstat().st_mode)
            need(plain, f"{name} is not a regular file")
        self._said = _manifest(self.path / MANIFEST)
        found = {name: _fingerprint(self.path / name) for name in self._names if name != MANIFEST}
        need(self._said.get("files") == found, "the manifest does not describe the data file that is there")
        return ""

    def check_manifest(self, schema: Schema, claims: Sequence[Claim]) -> str:
        """Known keys only, and exactly what the schema and the required claims say."""
        said = self._said
        wanted = KEYS | {ODDS} if drawn_from(claims) else KEYS
        need(set(said) == wanted, "the manifest has keys that are unknown or lacks some")
        need(said["format"] == "incrowd-release", "this is not the manifest of an incrowd release")
        version = said["version"]
        need(type(version) is int and version == FORMAT_VERSION, "the format's version is not known")
        need(isinstance(said["tool"], str) and bool(_TOOL.fullmatch(said["tool"])), "the tool is not named")
        need(said["missing"] == MISSING, "missing values are not written as the word missing")
        _check_method(said["method"])
        self.domains = _domains(said["columns"])
        need(_plain(said["columns"]) == _columns(schema), "the columns are not those of the schema")
        _check_claims(said["claims"], claims)
        self.accepted = _accepted(said["accepted"])
        self.odds = said.get(ODDS)
        self.stated_rows, self.suppressed = _row_counts(said["rows"])
        return ""


def _manifest(path: Path) -> Mapping[str, Any]:
    need(path.stat().st_size <= LARGEST_MANIFEST, "the manifest is too large")
    try:
        said = json.loads(path.read_bytes(), object_pairs_hook=_once, parse_constant=_no_constant)
    except ValueError:
        raise Fault("the manifest is not JSON") from None
    if not isinstance(said, dict):
        raise Fault("the manifest is not a JSON object")
    return said


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    need(len({key for key, _ in pairs}) == len(pairs), "the manifest names a key twice")
    return dict(pairs)


def _no_constant(_: str) -> None:
    raise Fault("the manifest holds something that is no number")


def _fingerprint(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"sha256": digest, "bytes": file.tell()}


def _check_method(method: Any) -> None:
    need(isinstance(method, dict) and set(method) == METHOD_KEYS, "the method is not fully described")
    need(all(isinstance(method[key], str) for key in ("name", "paper")), "the method has no name or paper")
    need(method["form"] in ("hardened", "printed"), "the method's form is neither hardened nor printed")
    need(isinstance(method["options"], dict), "the method's options are no table")


def _columns(schema: Schema) -> list[dict[str, Any]]:
    return [
        {
            "name": column.name,
            "role": column.role.value,
            "kind": column.kind.value,
            **({"shape": column.shape.value} if column.role is Role.QUASI else {}),
            **({"mean": True} if column.mean else {}),
        }
        for column in schema.published
    ]


def _domains(said: Any) -> dict[str, Any]:
    """The domain of each column that has one; whether it is true is seen once the cells are read."""
    need(
        isinstance(said, list) and all(isinstance(column, dict) for column in said), "the columns are no list"
    )
    return {column.get("name", ""): column["domain"] for column in said if "domain" in column}


def _plain(said: Any) -> list[dict[str, Any]]:
    """The columns without their domains; only a quasi-identifier may have one."""
    quasi = Role.QUASI.value
    return [{k: v for k, v in c.items() if k != "domain" or c.get("role") != quasi} for c in said]


def _check_claims(said: Any, required: Sequence[Claim]) -> None:
    """As lists: a claim that is weaker, missing, additional or out of place is another list."""
    wanted = json.loads(json.dumps([claim.as_dict() for claim in required]))
    need(_exactly(said, wanted), "the manifest does not claim exactly what is required")


def _exactly(one: Any, other: Any) -> bool:
    """Equal, and of the same type: 1 is neither True nor 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _accepted(said: Any) -> Sequence[str]:
    if not isinstance(said, list) or not all(isinstance(name, str) for name in said):
        raise Fault("the accepted exposures are no list of names")
    return said


def _row_counts(said: Any) -> tuple[int, int]:
    need(isinstance(said, dict) and set(said) == {"published", "suppressed"}, "the row counts are incomplete")
    need(all(type(count) is int and count >= 0 for count in said.values()), "a row count is no count")
    return said["published"], said["suppressed"]
