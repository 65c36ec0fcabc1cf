"""The chain of ledgers of a series: each has the digests of its files, its release, and the one before it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from incrowd.schema import MANIFEST, Role, Schema
from incrowd.verifier.digests import fingerprint
from incrowd.verifier.failure import CheckFailed, require

LEDGER, SUCCESSOR = "ledger.json", "successor.json"
HEAD = {"format", "version", "series", "number", "key", "k", "l", "manifest", "parent", "files"}
OF_SERIES = ("series-k", "series-l", "m-invariance")
DATA = "data"  # data.csv, data.parquet, or a folder of parts
READ = (Role.QUASI, Role.SENSITIVE, Role.KEEP)
FORMAT = ("incrowd-ledger", 1)
SAID = ("id", "number", "parent", "waiting", "lingering", "withheld", "oldest")


@dataclass(frozen=True, slots=True)
class LedgerChain:
    """Folder and audit of every release of a series, the first one first.

    The last may be `staged`: not yet the successor of the one before. Every ledger has exactly these `files`;
    where l is promised also `values`, if that is not empty.
    """

    places: Sequence[tuple[Path, Path]]
    staged: bool
    files: frozenset[str]
    values: str = ""

    def check(self) -> Mapping[str, Any]:
        """Nothing was changed, left out or forked, and all promise the same -> the first head."""
        heads = [json_of(audit / LEDGER) for _, audit in self.places]
        for number, (head, (folder, audit)) in enumerate(zip(heads, self.places, strict=True)):
            of_series = set(head) == HEAD and (head["format"], head["version"]) == FORMAT
            require(of_series, "a ledger is not that of a series, or of another version")
            require(
                type(head["number"]) is int and head["number"] == number,
                "a release of the series is left out",
            )
            same = all(head[key] == heads[0][key] for key in ("series", "key", "k", "l"))
            require(same, "a ledger is of another series")
            own = head["manifest"] == _digest(folder / MANIFEST)
            require(own, "a ledger does not belong to the release beside it")
            self._check_files(head, audit)
            self._check_parent(number, head)
            said = json_of(folder / MANIFEST)
            _check_manifest(number, head, said)
            if number < len(self.places) - 1:  # the last one is what all the other checks are about
                _check_rows(folder, said)
        return heads[0]

    def key(self, head: Mapping[str, Any]) -> bytes:
        """That of the digests of people."""
        try:
            return bytes.fromhex(head["key"])
        except (TypeError, ValueError):
            raise CheckFailed("the key of the series cannot be read") from None

    def _check_files(self, head: Mapping[str, Any], audit: Path) -> None:
        files, diverse = head["files"], type(head["l"]) is int and head["l"] > 1
        wanted = self.files | ({self.values} if diverse and self.values else set())
        require(isinstance(files, dict) and set(files) == wanted, "a ledger does not have exactly its files")
        changed = [name for name in sorted(wanted) if files[name] != _digest(audit / name)]
        require(not changed, "a ledger was changed")

    def _check_parent(self, number: int, head: Mapping[str, Any]) -> None:
        if not number:
            require(head["parent"] is None, "the first release of the series is left out")
            return
        folder, audit = self.places[number - 1]
        manifest = _digest(self.places[number][0] / MANIFEST)
        parent = {
            "folder": Path(folder).name,
            "manifest": _digest(folder / MANIFEST),
            "ledger": _digest(audit / LEDGER),
        }
        require(head["parent"] == parent, "a release does not follow the one before it")
        marked = (audit / SUCCESSOR).exists()
        coming = self.staged and number == len(self.places) - 1
        require(marked != coming, "a release of the series has another successor, or no mark of its own")
        if marked:
            other = json_of(audit / SUCCESSOR).get("manifest") != manifest
            require(not other, "the chain is forked: a release has another successor")


def _check_manifest(number: int, head: Mapping[str, Any], stated: Mapping[str, Any]) -> None:
    said = stated.get("series")
    parent = None if head["parent"] is None else head["parent"]["manifest"]
    wanted = {"id": head["series"], "number": number, "parent": parent}
    same = isinstance(said, dict) and tuple(said) == SAID and {key: said[key] for key in wanted} == wanted
    require(same, "a manifest says another series, number or parent than its ledger")
    found = _claimed(stated.get("claims"))
    wanted_of = _promised(head, [model for model, _ in found])
    same = {model for model, _ in found} == set(wanted_of)
    same &= all(parameters == wanted_of.get(model) for model, parameters in found)
    require(same, "a release promises another k or l over all releases than the ledgers of the series")


def _claimed(claims: object) -> list[tuple[Any, Any]]:
    """Model and parameters of each claim about all releases together."""
    if not isinstance(claims, list) or not all(isinstance(each, dict) for each in claims):
        raise CheckFailed("the claims of a manifest cannot be read")
    return [(each["model"], each.get("parameters")) for each in claims if each.get("model") in OF_SERIES]


def _promised(head: Mapping[str, Any], models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What every manifest of a series claims of all releases together."""
    if "m-invariance" in models:
        return {"m-invariance": {"m": head["l"]}}
    return {"series-k": {"k": head["k"]}} | ({"series-l": {"l": head["l"]}} if head["l"] != 1 else {})


def _check_rows(folder: Path, stated: Mapping[str, Any]) -> None:
    """Nobody exchanged the rows of an earlier release, or put others beside them."""
    files = stated.get("files")
    if not isinstance(files, dict):
        raise CheckFailed("a manifest describes no files")
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    rows = {path.as_posix() for path in paths if Path(path.parts[0]).stem == DATA}
    require(
        bool(rows) and rows <= set(files), f"{folder.name} does not hold exactly the rows of its manifest"
    )
    same = all(_same(folder / name, described) for name, described in files.items())
    require(same, f"{folder.name} was changed: its files are not those that its manifest describes")


def _same(path: Path, described: object) -> bool:
    return path.is_file() and fingerprint(path) == described


def check_read_alike(schemas: Sequence[Schema]) -> None:
    """Texts mean the same in all ledgers: else rows that are repeated would say something else."""
    for before, after in pairwise(schemas):
        was, now = ({column.name: column for column in of.having(*READ)} for of in (before, after))
        same = before.missing == after.missing and was.keys() == now.keys()
        same = same and all(old.read_as(now[name]) for name, old in was.items())
        require(same, "a column is read in another way than in the release before")


def _digest(path: Path) -> str:
    require(path.is_file(), f"{path.name} of a release or ledger is lost")
    return str(fingerprint(path)["sha256"])


def json_of(path: Path) -> dict[str, Any]:
    """A JSON object of a release or ledger."""
    require(path.is_file(), f"{path.name} of a release or ledger is lost")
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise CheckFailed(f"{path.name} of a release or ledger cannot be read")
    return said
