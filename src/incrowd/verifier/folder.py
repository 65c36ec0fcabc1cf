"""A written release: are the files what the manifest says, and the manifest what was asked for?"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import InputError
from incrowd.schema import FORMAT_VERSION, MANIFEST, MISSING, Claim, Role, Schema, Verdict
from incrowd.verifier.buckets import KEY as APART
from incrowd.verifier.buckets import stands_apart
from incrowd.verifier.exhibits import Case, Progress, silent
from incrowd.verifier.fault import Fault, need
from incrowd.verifier.odds import KEY as ODDS
from incrowd.verifier.odds import drawn_from
from incrowd.verifier.parameters import exactly
from incrowd.verifier.people import Public, joins
from incrowd.verifier.rows import CsvRows, Rows
from incrowd.verifier.sources import KEY as PUBLIC
from incrowd.verifier.sources import Files, check_sources, fingerprint
from incrowd.verifier.verdict import Docket, Trial

CSV, PARQUET = "data.csv", "data.parquet"
VALUES = {CSV: "sensitive.csv", PARQUET: "sensitive.parquet"}  # only where values stand apart from the rows
LARGEST_MANIFEST = 2**26
KEYS = {"format", "version", "tool", "method", "claims", "accepted", "columns", "rows", "missing", "files"}
LEVELS = "levels"  # only where whole levels of hierarchies are published
SHARE = "max_suppression"
METHOD_KEYS = {"name", "options", "paper", "form"}
_TOOL = re.compile(r"incrowd [0-9A-Za-z.+]+")


def verify(
    folder: str | Path,
    original: Rows,
    schema: Schema,
    claims: Sequence[Claim],
    *,
    published: Rows | None = None,
    buckets: Rows | None = None,
    hint: NDArray[np.int64] | None = None,
    neighbourhoods: NDArray[np.integer] | None = None,
    parts: NDArray[np.integer] | None = None,
    public: Public | None = None,
    public_file: str | Path | None = None,
    check_file: str | Path | None = None,
    max_suppression: Fraction | Literal["as stated"] | None = "as stated",
    progress: Progress = silent,
) -> Verdict:
    """Judge a release folder against its original.

    Parameters
    ----------
    folder : path
        Holds the data file, the manifest, the sensitive values if they stand apart, and nothing else.
    original : Rows
        The table that the release was made from.
    schema : Schema
        What its columns are.
    claims : sequence of Claim
        What the release must claim, neither more nor less, and keep.
    published : Rows, optional
        The rows of data.parquet, which the judge cannot read by itself.
    buckets : Rows, optional
        The lines of sensitive.parquet, likewise.
    hint : array of int64, optional
        For each row the record whose private part it carries; saves a search, is never trusted.
    neighbourhoods : array of shape (rows, k), optional
        For each row the k records that it was made of, for the claim of a k-factor; a hint like the other.
    parts : array of shape (rows,), optional
        For each row the part of the table that it was drawn in, for the claim of a diverse draw; a hint, too.
    public : Public, optional
        The public table, for the claim of k-join-anonymity. Then `hint` numbers people: all records of the
        original, then those of the public table who may stand in.
    public_file, check_file : path, optional
        The files of the public table and of its second source, where their rows are no `CsvRows`. Those that
        are known must be what the manifest means, byte for byte.
    max_suppression : Fraction or None
        The share of records that the manifest must say may be left out, None if it may say none.
    progress : callable
        Told how much is done, from 0 to 1.

    Returns
    -------
    Verdict
        Never passes by omission: its `passed` needs every required check to have run and passed.
    """
    for table in (original, *([public.rows] if public is not None else [])):
        list(table.names)  # a table that cannot be read is no verdict on the release
    release = Folder(Path(folder))
    docket = Docket()
    docket.run("files", lambda: release.check_files(claims))
    files = (public_file, check_file)
    docket.run("manifest", lambda: release.check_manifest(schema, claims, public, files, max_suppression))
    case = Case(
        original=original,
        published=release.rows(published),
        schema=schema,
        claims=claims,
        suppressed=release.suppressed,
        max_suppression=release.max_suppression,
        levels=release.levels,
        stated_rows=release.stated_rows,
        accepted=release.accepted,
        protected=published is None,
        domains=release.domains,
        hint=hint,
        neighbourhoods=neighbourhoods,
        parts=parts,
        odds=release.odds,
        buckets=release.values(published, buckets, claims),
        stated_groups=release.stated_groups,
        public=public,
        stated_public=release.stated_public,
        stated_check=release.stated_check,
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
        self.max_suppression: Fraction | None = None
        self.levels: Any = None
        self.stated_groups: int | None = None
        self.stated_public: int | None = None
        self.stated_check: int | None = None
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

    def values(self, published: Rows | None, buckets: Rows | None, claims: Sequence[Claim]) -> Rows | None:
        """The table of sensitive values, read as the rows are; None where there must be none."""
        if published is not None or not stands_apart(claims):
            return buckets
        return CsvRows(self.path / VALUES[CSV], delimiter=",", marked=False)

    def check_files(self, claims: Sequence[Claim]) -> str:
        """Exactly the manifest and the data, all plain files, the data byte for byte as the manifest says.

        The data are one file, and where sensitive values stand apart, a second one of the same format.
        """
        allowed = [
            sorted([MANIFEST, name, *([VALUES[name]] if stands_apart(claims) else [])]) for name in VALUES
        ]
        what = "the rows and the sensitive values" if stands_apart(claims) else "one data file"
        need(self._names in allowed, f"the folder holds something other than {MANIFEST} and {what}, or less")
        for name in self._names:
            plain = stat.S_ISREG((self.path / name).lstat().st_mode)
            need(plain, f"{name} is not a regular file")
        self._said = _manifest(self.path / MANIFEST)
        found = {name: fingerprint(self.path / name) for name in self._names if name != MANIFEST}
        need(self._said.get("files") == found, "the manifest does not describe the data file that is there")
        return ""

    def check_manifest(
        self,
        schema: Schema,
        claims: Sequence[Claim],
        public: Public | None = None,
        files: Files = (None, None),
        max_suppression: Fraction | Literal["as stated"] | None = "as stated",
    ) -> str:
        """Known keys only, and exactly what the schema and the required claims say."""
        said = self._said
        buckets = stands_apart(claims)
        extra = {ODDS: drawn_from(claims), APART: buckets, PUBLIC: joins(claims)}
        wanted = KEYS | {key for key, there in extra.items() if there}
        stated = {LEVELS} if said.get(LEVELS) is not None else set()
        need(set(said) == wanted | stated, "the manifest has keys that are unknown or lacks some")
        need(said["format"] == "incrowd-release", "this is not the manifest of an incrowd release")
        version = said["version"]
        need(type(version) is int and version == FORMAT_VERSION, "the format's version is not known")
        need(isinstance(said["tool"], str) and bool(_TOOL.fullmatch(said["tool"])), "the tool is not named")
        need(said["missing"] == MISSING, "missing values are not written as the word missing")
        _check_method(said["method"])
        self.domains = _domains(said["columns"])
        need(
            _exactly(_plain(said["columns"]), _columns(schema, buckets, joins(claims))),
            "the columns are not those of the schema",
        )
        _check_claims(said["claims"], claims)
        self.accepted = _accepted(said["accepted"])
        self.odds = said.get(ODDS)
        self.stated_rows, self.suppressed, self.max_suppression = _row_counts(said["rows"])
        as_asked = max_suppression in ("as stated", self.max_suppression)
        need(as_asked, "the manifest lets another share of records be left out than was allowed")
        self.levels = said.get(LEVELS)
        if buckets:
            self.stated_groups = _groups(said[APART], self._names)
        if joins(claims):
            self.stated_public, self.stated_check = check_sources(said[PUBLIC], public, files)
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


def _check_method(method: Any) -> None:
    need(isinstance(method, dict) and set(method) == METHOD_KEYS, "the method is not fully described")
    need(all(isinstance(method[key], str) for key in ("name", "paper")), "the method has no name or paper")
    need(method["form"] in ("hardened", "printed"), "the method's form is neither hardened nor printed")
    need(isinstance(method["options"], dict), "the method's options are no table")


def _groups(said: Any, names: Sequence[str]) -> int:
    """How many groups the manifest says the table of sensitive values has, and in which file it is."""
    need(isinstance(said, dict) and set(said) == {"file", "groups"}, "the sensitive values are not described")
    need(said["file"] in set(VALUES.values()) & set(names), "the file of the sensitive values is not there")
    need(type(said["groups"]) is int, "the number of groups is no number")
    return int(said["groups"])


def _columns(schema: Schema, buckets: bool, joined: bool) -> list[dict[str, Any]]:
    """Where people of a public table have rows, these show quasi-identifiers only."""
    shown = schema.published
    if joined:
        shown = schema.having(Role.QUASI, *((Role.SENSITIVE,) if buckets else ()))
    return [
        {
            "name": column.name,
            "role": column.role.value,
            "kind": column.kind.value,
            **({"shape": column.shape.value} if column.role is Role.QUASI else {}),
            **({"mean": True} if column.mean else {}),
            **({"apart": True} if buckets and column.role is Role.SENSITIVE else {}),
        }
        for column in shown
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


def _row_counts(said: Any) -> tuple[int, int, Fraction | None]:
    """Rows that are published, that are suppressed, and if that is not said, the share that may be."""
    if not isinstance(said, dict) or not {"published", "suppressed"} <= set(said):
        raise Fault("the row counts are incomplete")
    unsaid = said["suppressed"] is None
    share = exactly(said.get(SHARE), SHARE) if unsaid else None
    need(share is None or share <= 1, f"{SHARE} is more than everybody")
    need(len(said) == 2 + unsaid, "the row counts say more than they may")
    counts = [said["published"], 0 if unsaid else said["suppressed"]]
    need(all(type(count) is int and count >= 0 for count in counts), "a row count is no count")
    return counts[0], counts[1], share
