"""A written release: are the files what the manifest says, and the manifest what was asked for?"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.schema import FORMAT_VERSION, MANIFEST, MISSING, Claim, Role, Verdict
from incrowd.verifier.checks import Checklist, ReleaseChecks
from incrowd.verifier.claims.join import PublicTable, stated_rows
from incrowd.verifier.columns import RowSource
from incrowd.verifier.csv_file import CsvRows, fingerprint
from incrowd.verifier.failure import CheckFailed, exactly, require
from incrowd.verifier.request import (
    Expected,
    Progress,
    PublishedTables,
    Stated,
    Verification,
    Witness,
    silent,
)

CSV, PARQUET = "data.csv", "data.parquet"
SENSITIVE = {CSV: "sensitive.csv", PARQUET: "sensitive.parquet"}  # only where values are published in buckets
LARGEST_MANIFEST = 2**26
KEYS = {"format", "version", "tool", "method", "claims", "accepted", "columns", "rows", "missing", "files"}
LEVELS = "levels"  # only where whole levels of hierarchies are published
BUCKETS, MATCHES, PUBLIC = "apart", "match_probability", "public"  # only with claims about them
SHARE = "max_suppression"
METHOD_KEYS = {"name", "options", "paper", "form"}
_TOOL = re.compile(r"incrowd [0-9A-Za-z.+]+")


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseFiles:
    """A release folder, with the rows of its Parquet files, which the verifier cannot read by itself.

    The folder holds the data file, the manifest, the sensitive values if they are in buckets, and nothing
    else. `rows` and `sensitive` are those of data.parquet and of sensitive.parquet.
    """

    folder: str | Path
    rows: RowSource | None = None
    sensitive: RowSource | None = None


def verify(
    release: str | Path | ReleaseFiles,
    original: RowSource,
    expected: Expected,
    *,
    witness: Witness | None = None,
    public: PublicTable | None = None,
    progress: Progress = silent,
) -> Verdict:
    """Verify a release folder against the original table.

    The arguments are those of `verify_rows`. The verdict never passes by omission: its `passed` needs every
    required check to have run and passed.
    """
    for table in (original, *([public.rows] if public is not None else [])):
        list(table.names)  # a table that cannot be read is no verdict on the release
    files = release if isinstance(release, ReleaseFiles) else ReleaseFiles(release)
    folder = OpenedFolder(files, expected)
    checklist = Checklist()
    checklist.run("files", folder.check_files)
    checklist.run("manifest", lambda: folder.check_manifest(public))
    request = Verification(original, folder.published(), expected, witness or Witness(), public)
    required = ReleaseChecks(request, progress).run(checklist)
    return checklist.verdict(("files", "manifest", *required))


class OpenedFolder:
    """A release folder, trusted only as far as it has been checked."""

    def __init__(self, files: ReleaseFiles, expected: Expected) -> None:
        self.path = Path(files.folder)
        if not self.path.is_dir():
            raise InputError(f"{self.path} is not a folder; a release is a folder with {MANIFEST} in it")
        self._files, self._expected = files, expected
        self._names = sorted(entry.name for entry in self.path.iterdir())
        self._manifest: Mapping[str, Any] = {}
        self._stated = Stated(domains={})

    def published(self) -> PublishedTables:
        """What is published: the verifier reads CSV by itself, anything else is given to it."""
        rows, sensitive = self._files.rows, self._files.sensitive
        if rows is not None:
            if CSV in self._names:
                raise InputError(f"the verifier reads {CSV} by itself; pass no other rows")
            return PublishedTables(rows, sensitive, self._stated)
        if PARQUET in self._names:
            raise InputError(f"{PARQUET} must be read by the caller; pass its rows in ReleaseFiles")
        if self._expected.bucketed:
            sensitive = CsvRows(self.path / SENSITIVE[CSV], delimiter=",", marked=False)
        data = CsvRows(self.path / CSV, delimiter=",", marked=False)
        return PublishedTables(data, sensitive, self._stated, protected=True)

    def check_files(self) -> None:
        """Exactly the manifest and the data, all plain files, the data byte for byte as the manifest says.

        The data are one file, and where sensitive values are in buckets, a second one of the same format.
        """
        buckets = self._expected.bucketed
        allowed = [sorted([MANIFEST, name, *([SENSITIVE[name]] if buckets else [])]) for name in SENSITIVE]
        what = "the rows and the sensitive values" if buckets else "one data file"
        require(self._names in allowed, f"the folder does not hold exactly {MANIFEST} and {what}")
        for name in self._names:
            plain = stat.S_ISREG((self.path / name).lstat().st_mode)
            require(plain, f"{name} is not a regular file")
        self._manifest = _read_manifest(self.path / MANIFEST)
        found = {name: fingerprint(self.path / name) for name in self._names if name != MANIFEST}
        same = self._manifest.get("files") == found
        require(same, "the data are not those that the manifest describes (size or SHA-256 differ)")

    def check_manifest(self, public: PublicTable | None) -> None:
        """Known keys only, and exactly what was asked for."""
        stated, expected = self._manifest, self._expected
        extra = {MATCHES: expected.randomized, BUCKETS: expected.bucketed, PUBLIC: expected.joined}
        wanted = KEYS | {key for key, there in extra.items() if there}
        levels = {LEVELS} if stated.get(LEVELS) is not None else set()
        require(set(stated) == wanted | levels, "the manifest has unknown keys, or lacks some")
        require(stated["format"] == "incrowd-release", "this is not the manifest of an incrowd release")
        version = stated["version"]
        known = type(version) is int and version == FORMAT_VERSION
        require(known, "the version of the release format is unknown")
        tool = isinstance(stated["tool"], str) and bool(_TOOL.fullmatch(stated["tool"]))
        require(tool, "the tool is not named")
        require(stated["missing"] == MISSING, "missing values are not written as the word missing")
        _check_method(stated["method"])
        domains = _domains(stated["columns"])
        same = _exactly(_without_domains(stated["columns"]), _columns(expected))
        require(same, "the columns in the manifest are not those that the policy publishes")
        _check_claims(stated["claims"], expected.claims)
        accepted = _accepted(stated["accepted"])
        rows, suppressed, share = _row_counts(stated["rows"])
        as_asked = expected.max_suppression in ("as stated", share)
        require(as_asked, "the manifest allows a different share of suppressed records than was asked for")
        groups = _groups(stated[BUCKETS], self._names) if expected.bucketed else None
        public_rows, second_rows = stated_rows(stated[PUBLIC], public) if expected.joined else (None, None)
        self._stated = Stated(
            rows=rows,
            suppressed=suppressed,
            max_suppression=share,
            accepted=accepted,
            domains=domains,
            levels=stated.get(LEVELS),
            match_probability=stated.get(MATCHES),
            groups=groups,
            public_rows=public_rows,
            second_rows=second_rows,
        )


def _read_manifest(path: Path) -> Mapping[str, Any]:
    require(path.stat().st_size <= LARGEST_MANIFEST, "the manifest is too large")
    try:
        stated = json.loads(path.read_bytes(), object_pairs_hook=_once, parse_constant=_no_constant)
    except ValueError:
        raise CheckFailed("the manifest is not JSON") from None
    if not isinstance(stated, dict):
        raise CheckFailed("the manifest is not a JSON object")
    return stated


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len({key for key, _ in pairs}) == len(pairs), "the manifest has the same key twice")
    return dict(pairs)


def _no_constant(_: str) -> None:
    raise CheckFailed("the manifest holds something that is not a number")


def _check_method(method: Any) -> None:
    require(
        isinstance(method, dict) and set(method) == METHOD_KEYS,
        "the manifest does not fully describe the method",
    )
    require(all(isinstance(method[key], str) for key in ("name", "paper")), "the method has no name or paper")
    require(
        method["form"] in ("hardened", "printed"), "the form of the method is neither hardened nor printed"
    )
    require(isinstance(method["options"], dict), "the options of the method are not a table")


def _groups(stated: Any, names: Sequence[str]) -> int:
    """How many groups the manifest says the table of sensitive values has, and in which file it is."""
    require(
        isinstance(stated, dict) and set(stated) == {"file", "groups"},
        "the manifest does not describe the sensitive values",
    )
    require(
        stated["file"] in set(SENSITIVE.values()) & set(names),
        "the file of the sensitive values is not there",
    )
    require(type(stated["groups"]) is int, "the number of groups is not a whole number")
    return int(stated["groups"])


def _columns(expected: Expected) -> list[dict[str, Any]]:
    """Where people of a public table have rows, these show quasi-identifiers only."""
    shown, buckets = expected.schema.published, expected.bucketed
    if expected.joined:
        shown = expected.schema.having(Role.QUASI, *((Role.SENSITIVE,) if buckets else ()))
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


def _domains(stated: Any) -> dict[str, Any]:
    """The domain of each column that has one; whether it is true is seen once the cells are read."""
    require(
        isinstance(stated, list) and all(isinstance(column, dict) for column in stated),
        "the columns in the manifest are not a list",
    )
    return {column.get("name", ""): column["domain"] for column in stated if "domain" in column}


def _without_domains(stated: Any) -> list[dict[str, Any]]:
    """The columns without their domains; only a quasi-identifier may have one."""
    quasi = Role.QUASI.value
    return [{k: v for k, v in c.items() if k != "domain" or c.get("role") != quasi} for c in stated]


def _check_claims(stated: Any, required: Sequence[Claim]) -> None:
    """As lists: a claim that is weaker, missing, additional or out of place is another list."""
    wanted = json.loads(json.dumps([claim.to_dict() for claim in required]))
    require(_exactly(stated, wanted), "the manifest does not claim exactly what was asked for")


def _exactly(one: Any, other: Any) -> bool:
    """Equal, and of the same type: 1 is neither True nor 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _accepted(stated: Any) -> Sequence[str]:
    if not isinstance(stated, list) or not all(isinstance(name, str) for name in stated):
        raise CheckFailed("the accepted exposures are not a list of names")
    return stated


def _row_counts(stated: Any) -> tuple[int, int, Fraction | None]:
    """Rows that are published, that are suppressed, and if that is not stated, the share that may be."""
    if not isinstance(stated, dict) or not {"published", "suppressed"} <= set(stated):
        raise CheckFailed("the manifest does not state all row counts")
    unstated = stated["suppressed"] is None
    share = exactly(stated.get(SHARE), SHARE) if unstated else None
    require(share is None or share <= 1, f"{SHARE} is more than 1")
    require(len(stated) == 2 + unstated, "the manifest states more about row counts than it may")
    counts = [stated["published"], 0 if unstated else stated["suppressed"]]
    require(
        all(type(count) is int and count >= 0 for count in counts),
        "a row count is not a whole number of at least 0",
    )
    return counts[0], counts[1], share
