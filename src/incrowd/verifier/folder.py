"""A written release: are the files what the manifest says, and the manifest what was asked for?"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from incrowd.errors import InputError
from incrowd.schema import FORMAT_VERSION, MANIFEST, MISSING, Claim, Role, Verdict
from incrowd.verifier.chain import SAID
from incrowd.verifier.checks import Checklist, ReleaseChecks
from incrowd.verifier.claims.join import PublicTable, stated_rows
from incrowd.verifier.claims.registry import hides_suppression
from incrowd.verifier.columns import RowSource
from incrowd.verifier.csv_file import CsvRows
from incrowd.verifier.digests import fingerprint
from incrowd.verifier.failure import CheckFailed, exactly, require
from incrowd.verifier.parquet_footer import check_container
from incrowd.verifier.request import (
    Expected,
    Progress,
    PublishedTables,
    SeriesHistory,
    Stated,
    Verification,
    Witness,
    silent,
)
from incrowd.verifier.threads import ONE_THREAD, Threads
from incrowd.verifier.values import written

CSV, PARQUET = "data.csv", "data.parquet"
PARTS = "data"  # a folder of Parquet files in the place of one; not where values are published in buckets
SENSITIVE = {CSV: "sensitive.csv", PARQUET: "sensitive.parquet"}  # only where values are published in buckets
TOTALS_FILE = "totals.csv"  # only where totals are stated
HIERARCHIES_FILE = "hierarchies.csv"  # only where columns have hierarchies
DATASHEET = "README.md"
LARGEST_MANIFEST = 2**26
KEYS = {"format", "version", "tool", "method", "claims", "accepted", "columns", "rows", "missing", "files"}
LEVELS = "levels"  # only where whole levels of hierarchies are published
SERIES = "series"  # only where the release is one of a series
TOTALS = "totals"  # only where they were asked for
HIERARCHIES = "hierarchies"  # only where columns have such
BUCKETS, MATCHES, PUBLIC = "apart", "match_probability", "public"  # only with claims about them
SHARE = "max_suppression"
METHOD_KEYS = ("name", "options", "paper", "form")
PUBLIC_KEYS = ("sha256", "kind", "rows", "id", "source", "date", "checked_against")
KINDS = {None, "DataFrame", "LazyFrame", "Table", "DuckDBPyRelation"}  # what a public table may be but a file
_TOOL = re.compile(r"incrowd [0-9]{1,3}(\.[0-9]{1,3}){2}((a|b|rc|\.dev|\.post)[0-9]{1,3})?")
_PLAIN_DECIMAL = re.compile(r"(0|[1-9][0-9]*)(\.0|\.[0-9]*[1-9])?")


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseFiles:
    """A release folder, with the rows of its Parquet files, which the verifier cannot read by itself.

    The folder holds the data file, the manifest, the sensitive values if they are in buckets, totals where
    they are stated, hierarchies where there are any, a datasheet, and nothing else. `rows` and `sensitive`
    are those of data.parquet, or of the files in data/, and of sensitive.parquet; `datasheet` gives the text
    that goes with a manifest.
    """

    folder: str | Path
    rows: RowSource | None = None
    sensitive: RowSource | None = None
    datasheet: Callable[[Mapping[str, Any]], str] | None = None


def verify(
    release: str | Path | ReleaseFiles,
    original: RowSource,
    expected: Expected,
    *,
    witness: Witness | None = None,
    public: PublicTable | None = None,
    progress: Progress = silent,
    threads: Threads = ONE_THREAD,
    series: SeriesHistory | None = None,
) -> Verdict:
    """Verify a release folder against the original table.

    The arguments are those of `verify_rows`; of a release of a `series` also what came before it. The verdict
    never passes by omission: its `passed` needs every required check to have run and passed.
    """
    for table in (original, *([public.rows] if public is not None else [])):
        list(table.names)  # a table that cannot be read is no verdict on the release
    files = release if isinstance(release, ReleaseFiles) else ReleaseFiles(release)
    folder = OpenedFolder(files, expected)
    checklist = Checklist()
    checklist.run("files", folder.check_files)
    checklist.run("manifest", lambda: folder.check_manifest(public))
    given = (original, folder.published(), expected, witness or Witness(), public, threads, series)
    request = Verification(*given)
    checks = ReleaseChecks(request, progress, folder.rows_were_read)
    required = checks.run(checklist)
    checklist.run("bytes", lambda: folder.check_bytes(checks.named_domains))
    return checklist.verdict(("files", "manifest", *required, "bytes"))


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
        self._of_rows: Callable[[], dict[str, Any]] = self._fingerprints_of_rows

    @property
    def stated(self) -> Stated:
        """What the manifest states, once it was checked."""
        return self._stated

    def published(self) -> PublishedTables:
        """What is published: the verifier reads CSV by itself, anything else is given to it."""
        rows, sensitive = self._files.rows, self._files.sensitive
        files = self._beside.items()
        beside: dict[str, Any] = {
            key: CsvRows(self.path / file, delimiter=",", canonical=True) for key, file in files
        }
        if rows is not None:
            if CSV in self._names:
                raise InputError(f"the verifier reads {CSV} by itself; pass no other rows")
            return PublishedTables(rows, sensitive, self._stated, canonical=True, **beside)
        if PARQUET in self._names or PARTS in self._names:
            raise InputError(f"{PARQUET} must be read by the caller; pass its rows in ReleaseFiles")
        if self._expected.bucketed:
            sensitive = CsvRows(self.path / SENSITIVE[CSV], delimiter=",", canonical=True)
        data = CsvRows(self.path / CSV, delimiter=",", canonical=True)
        return PublishedTables(data, sensitive, self._stated, protected=True, canonical=True, **beside)

    @property
    def _beside(self) -> dict[str, str]:
        """The files that must stand beside the rows, always CSV, by their keys in the manifest."""
        wanted = {
            TOTALS: (TOTALS_FILE, self._expected.totals),
            HIERARCHIES: (HIERARCHIES_FILE, self._expected.hierarchies),
        }
        return {key: file for key, (file, there) in wanted.items() if there}

    @property
    def _described_beside(self) -> dict[str, dict[str, Any]]:
        """What the manifest must say of them."""
        said: dict[str, dict[str, Any]] = {key: {"file": file} for key, file in self._beside.items()}
        if HIERARCHIES in said:
            whole = [column.name for column in self._expected.schema.having(Role.QUASI) if column.public]
            said[HIERARCHIES]["whole"] = whole
        return said

    def check_files(self) -> None:
        """Exactly the manifest and the data, all plain files, the data byte for byte as the manifest says.

        The data are one file, and where sensitive values are in buckets, a second one of the same format; or
        they are Parquet files in a folder, numbered from 0.
        """
        buckets, more = self._expected.bucketed, [MANIFEST, *self._beside.values()]
        allowed = [sorted([*more, name, *([SENSITIVE[name]] if buckets else [])]) for name in SENSITIVE]
        allowed += [] if buckets else [sorted([*more, PARTS])]
        what = "the rows and the sensitive values" if buckets else "one data file"
        what = ", ".join([*self._beside.values(), what])
        names = [name for name in self._names if name != DATASHEET]
        require(names in allowed, f"the folder does not hold exactly {MANIFEST} and {what}")
        files = self._all_files()
        for name in files:
            plain = stat.S_ISREG((self.path / name).lstat().st_mode)
            require(plain, f"{name} is not a regular file")
        self._manifest = _read_manifest(self.path / MANIFEST)
        found = self._fingerprints()
        same = self._manifest.get("files") == found
        require(same, "the data are not those that the manifest describes (size or SHA-256 differ)")
        for name in found:
            if name.endswith(".parquet"):
                check_container(self.path / name)

    def rows_were_read(self) -> None:
        """Nobody reads the rows again: now is the time to look at their bytes for the last time."""
        found = self._fingerprints_of_rows()
        self._of_rows = lambda: found

    def _fingerprints_of_rows(self) -> dict[str, Any]:
        return {name: fingerprint(self.path / name) for name in self._all_files() if _has_rows(name)}

    def _fingerprints(self) -> dict[str, Any]:
        """The size and the digest of every file but the manifest; other files are looked at last."""
        others = [name for name in self._all_files() if name != MANIFEST and not _has_rows(name)]
        found = self._of_rows() | {name: fingerprint(self.path / name) for name in others}
        return dict(sorted(found.items()))

    def _all_files(self) -> list[str]:
        """Every file, by its path in the folder; parts must be numbered without a gap."""
        if PARTS not in self._names:
            return self._names
        inside = self.path / PARTS
        require(stat.S_ISDIR(inside.lstat().st_mode), f"{PARTS} is not a folder")
        parts = sorted(entry.name for entry in inside.iterdir())
        wanted = [f"part-{place:05}.parquet" for place in range(len(parts))]
        require(bool(parts) and parts == wanted, f"the files in {PARTS} are not exactly its numbered parts")
        return [*(name for name in self._names if name != PARTS), *(f"{PARTS}/{part}" for part in parts)]

    def check_manifest(self, public: PublicTable | None) -> None:
        """Known keys only, and exactly what was asked for."""
        stated, expected = self._manifest, self._expected
        extra = {MATCHES: expected.randomized, BUCKETS: expected.bucketed, PUBLIC: expected.joined}
        extra |= {LEVELS: expected.levels, SERIES: expected.in_series} | dict.fromkeys(self._beside, True)
        wanted = KEYS | {key for key, there in extra.items() if there}
        require(set(stated) == wanted, "the manifest has unknown keys, or lacks some")
        require(stated["format"] == "incrowd-release", "this is not the manifest of an incrowd release")
        version = stated["version"]
        known = type(version) is int and version == FORMAT_VERSION
        require(known, "the version of the release format is unknown")
        tool = isinstance(stated["tool"], str) and bool(_TOOL.fullmatch(stated["tool"]))
        require(tool, "the tool is not named")
        require(stated["missing"] == MISSING, "missing values are not written as the word missing")
        same = _exactly(stated["method"], expected.method)
        require(same, "the method, its options, paper or form are not those that were asked for")
        domains = _domains(stated["columns"])
        same = _exactly(_without_domains(stated["columns"]), _columns(expected))
        require(same, "the columns in the manifest are not those that the policy publishes")
        _check_claims(stated["claims"], expected.claims)
        same = _exactly(stated["accepted"], sorted(expected.accepted))
        require(same, "other exposures were accepted than the manifest states")
        hidden = hides_suppression(expected.claims)
        rows, gone, share = _row_counts(stated["rows"], hidden)
        as_asked = expected.max_suppression in ("as stated", share)
        require(as_asked, "the manifest allows a different share of suppressed records than was asked for")
        groups = _groups(stated[BUCKETS], self._names) if expected.bucketed else None
        public_rows, second_rows = stated_rows(stated[PUBLIC], public) if expected.joined else (None, None)
        if expected.joined:
            _check_provenance(stated[PUBLIC], expected.public)
        same = all(_exactly(stated[key], said) for key, said in self._described_beside.items())
        require(same, "the manifest does not describe the files of totals or hierarchies as they must be")
        self._stated = Stated(
            rows=rows,
            suppressed=gone,
            max_suppression=share,
            domains=domains,
            levels=stated.get(LEVELS),
            match_probability=stated.get(MATCHES),
            groups=groups,
            public_rows=public_rows,
            second_rows=second_rows,
            series=stated.get(SERIES),
        )

    def check_bytes(self, domains: Mapping[str, Any]) -> None:
        """The manifest is, byte for byte, what it says rendered again; so is the datasheet."""
        rendered = self._rendered(domains)
        wanted = json.dumps(rendered, indent=2, ensure_ascii=False) + "\n"
        same = (self.path / MANIFEST).read_bytes() == wanted.encode()
        require(
            same, "the manifest is not written in its one form: order of keys, blanks, or forms of numbers"
        )
        if DATASHEET in self._names:
            said = None if self._files.datasheet is None else self._files.datasheet(rendered).encode()
            same = (self.path / DATASHEET).read_bytes() == said
            require(same, f"{DATASHEET} is not the text that belongs to this manifest")

    def _rendered(self, domains: Mapping[str, Any]) -> dict[str, Any]:
        """What was asked for and found out, in the order in which it is written."""
        stated, expected, count = self._manifest, self._expected, self._stated
        method = expected.method or {}
        rows: dict[str, Any] = {"published": count.rows, "suppressed": 0}
        if count.max_suppression is not None:
            rows = {**rows, "suppressed": count.suppressed, SHARE: written(count.max_suppression)}
        found: dict[str, Any] = {key: stated[key] for key in ("format", "version", "tool")}
        found["method"] = {key: method[key] for key in METHOD_KEYS}
        found["method"]["options"] = dict(sorted(method["options"].items()))
        found["claims"] = [claim.to_dict() for claim in expected.claims]
        found["accepted"] = sorted(expected.accepted)
        found["columns"] = [_with_domain(column, domains) for column in _columns(expected)]
        found |= {"rows": rows, "missing": MISSING}
        if expected.bucketed:
            found[BUCKETS] = {key: stated[BUCKETS][key] for key in ("file", "groups")}
        if expected.randomized:
            found[MATCHES] = {key: str(Fraction(stated[MATCHES][key])) for key in sorted(stated[MATCHES])}
        if expected.joined:
            found[PUBLIC] = _in_order(stated[PUBLIC])
        if expected.levels:
            found[LEVELS] = {name: stated[LEVELS][name] for name in domains if name in stated[LEVELS]}
        found |= self._described_beside
        if expected.in_series:
            found[SERIES] = {key: stated[SERIES][key] for key in SAID}
        return found | {"files": self._fingerprints()}


def _has_rows(name: str) -> bool:
    return name in (CSV, PARQUET) or name.startswith(f"{PARTS}/")


def _with_domain(column: dict[str, Any], domains: Mapping[str, Any]) -> dict[str, Any]:
    """A domain comes after the shape."""
    first = ("name", "role", "kind", "shape")
    rest = {key: value for key, value in column.items() if key not in first}
    domain = {"domain": domains[column["name"]]} if "shape" in column else {}
    return {key: column[key] for key in first if key in column} | domain | rest


def _in_order(table: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: table[key] for key in PUBLIC_KEYS if key in table}
    second = "checked_against"
    return found if second not in found else found | {second: _in_order(table[second])}


def _check_provenance(stated: Mapping[str, Any], asked: Mapping[str, str]) -> None:
    """Free words about the public table are those of the policy."""
    said = {key: stated[key] for key in ("source", "date") if key in stated}
    require(said == asked, "who published the public table, and when, only the policy can confirm")
    kinds = {stated.get("kind"), stated.get("checked_against", {}).get("kind")}
    require(kinds <= KINDS, "the kind of a public table is none that is known")


def _read_manifest(path: Path) -> Mapping[str, Any]:
    require(path.stat().st_size <= LARGEST_MANIFEST, "the manifest is too large")
    try:
        text = path.read_bytes().decode()
        stated = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise CheckFailed("the manifest is not JSON") from None
    if not isinstance(stated, dict):
        raise CheckFailed("the manifest is not a JSON object")
    return stated


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    require(len({key for key, _ in pairs}) == len(pairs), "the manifest has the same key twice")
    return dict(pairs)


def _no_constant(_: str) -> None:
    raise CheckFailed("the manifest holds something that is not a number")


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
            **({"description": column.description} if column.description else {}),
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
    wanted = [claim.to_dict() for claim in required]
    require(_exactly(stated, wanted), "the manifest does not claim exactly what was asked for")
    texts = [text for claim in wanted for text in _numbers(claim["parameters"])]
    plain = all(_PLAIN_DECIMAL.fullmatch(text) for text in texts)
    require(plain, "a number in a claim has needless zeros, a sign or an exponent")


def _numbers(parameters: Mapping[str, Any]) -> list[str]:
    """The parameters that are numbers written as texts."""
    tables = [parameters, *(table for table in parameters.values() if isinstance(table, Mapping))]
    return [
        text for table in tables for text in table.values() if str(text)[:1].isdigit() and text == str(text)
    ]


def _exactly(one: Any, other: Any) -> bool:
    """Equal, and of the same type: 1 is neither True nor 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _row_counts(stated: Any, hidden: bool) -> tuple[int, int | None, Fraction | None]:
    """Rows that are published, records that have none, and the share that may have none where that is so.

    How many have none is told, unless it is `hidden`.
    """
    some = isinstance(stated, dict) and SHARE in stated
    keys = {"published", "suppressed", *([SHARE] if some else [])}
    require(
        isinstance(stated, dict) and set(stated) == keys, "the manifest does not state exactly its row counts"
    )
    gone = stated["suppressed"]
    told = (
        "a release says how many records are suppressed, and which share may be; with plain the share alone"
    )
    number = type(gone) is int and gone >= 0
    require((gone is None if hidden else number) if some else number and gone == 0, told)
    share = exactly(stated[SHARE], SHARE) if some else None
    require(share is None or share <= 1, f"{SHARE} is more than 1")
    whole = type(stated["published"]) is int and stated["published"] >= 0
    require(whole, "a row count is not a whole number of at least 0")
    return stated["published"], gone, share
