"""The private ledger of a series: who had which row in which release, in the audit beside each of them.

A ledger is a head (ledger.json) and files beside it: CSV, or Parquet where an engine wrote it. The head has
the digests of these, of the manifest it belongs to, and of its parent's manifest and head: so a ledger that
was changed, or is of another series, is seen. It is written into the stage of its release and committed with
it. A parent has one successor: whoever commits first leaves its name in the parent's audit.
"""

from __future__ import annotations

import csv
import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.assign import system
from incrowd.cohorts import NONE, Codes, Flags, SeriesState
from incrowd.encode import encode_values
from incrowd.errors import InputError, NotVerified, Refused
from incrowd.flow import Table
from incrowd.kernels.compiling import compiling
from incrowd.release.audit import LINKS, SCHEMA, schema_from_dict
from incrowd.release.stage import LEDGER, SUCCESSOR, audit_folder
from incrowd.schema import CLASSES, LARGE_EFFECTIVE, LARGE_PEOPLE, MANIFEST, Role, Schema
from incrowd.tables.checked_files import sha256_of

EFFECTIVE, PEOPLE, VALUES = "effective.csv", "people.csv", "values.csv"
FILES = frozenset({EFFECTIVE, LINKS, PEOPLE, SCHEMA})
LARGE_FILES = frozenset({LARGE_EFFECTIVE, LARGE_PEOPLE, CLASSES, SCHEMA})
COLUMNS = ("person", "atom", "cohort", "as_of", "since", "present", "erased")
BLOCK = 64  # bytes of a block of SHA-256, to which a key is filled up
WORTH_COMPILED = 100_000  # people from which on compiled code is worth loading
SERIES = "series"  # the key of the manifest
FORMAT, VERSION = "incrowd-ledger", 1


@dataclass(frozen=True)
class Head:
    """What links a ledger to its release and to its parent."""

    series: str
    number: int
    key: str
    k: int
    l: int  # noqa: E741  the paper's letter
    parent: Mapping[str, str] | None = None

    @classmethod
    def first(cls, k: int, l: int) -> Head:  # noqa: E741
        """Of a new series; its name and its key come from the operating system."""
        return cls(system(16).hex(), 0, system(32).hex(), k, l)

    def digest(self, entity: str) -> str:
        """A person in the ledger: nobody without the key finds the id again."""
        return hmac.new(bytes.fromhex(self.key), entity.encode(), hashlib.sha256).hexdigest()[:32]

    def halves(self, entities: Sequence[str]) -> NDArray[np.uint64]:
        """The same of many, as two numbers each, the first half and the second (m, 2)."""
        key = bytes.fromhex(self.key).ljust(BLOCK, b"\0")
        if len(entities) >= WORTH_COMPILED or compiling.everything:
            from incrowd.kernels.keyed_digests import LONGEST, keyed_digests  # few need it

            text = np.frombuffer("\0".join(entities).encode(), np.uint8)
            ends = np.append(np.flatnonzero(text == 0), text.size)
            short = np.diff(ends, prepend=-1).max(initial=0) - 1 <= LONGEST
            if short and ends.size == len(entities):
                found = np.empty((ends.size, 2), np.uint64)
                keyed_digests(np.frombuffer(key, np.uint8), text, ends, found)
                return found
        return self._halves_one_by_one(key, entities)

    def _halves_one_by_one(self, key: bytes, entities: Sequence[str]) -> NDArray[np.uint64]:
        """The same of few, or of long ones, by the standard library."""
        inner, outer = (hashlib.sha256(bytes(byte ^ pad for byte in key)) for pad in (0x36, 0x5C))
        begin, end, found = inner.copy, outer.copy, []
        for entity in entities:
            first, second = begin(), end()
            first.update(entity.encode())
            second.update(first.digest())
            found.append(second.digest()[:16])
        return np.frombuffer(b"".join(found), ">u8").reshape(-1, 2).astype(np.uint64)

    def following(self, parent: Mapping[str, str]) -> Head:
        """That of the next release."""
        return replace(self, number=self.number + 1, parent=parent)

    def write(self, audit: Path, manifest: Path, files: Iterable[str]) -> None:
        """Write it beside these files of a ledger."""
        head = self.written(sha256_of(manifest), {name: sha256_of(audit / name) for name in sorted(files)})
        (audit / LEDGER).write_text(json.dumps(head, indent=2) + "\n", encoding="utf-8", newline="\n")

    def said(self, counts: Mapping[str, int]) -> dict[str, Any]:
        """What the manifest says of the series."""
        parent = None if self.parent is None else self.parent["manifest"]
        return {"id": self.series, "number": self.number, "parent": parent, **counts}

    def written(self, manifest: str, files: Mapping[str, str]) -> dict[str, Any]:
        parent = None if self.parent is None else dict(self.parent)
        said = {"series": self.series, "number": self.number, "key": self.key, "k": self.k, "l": self.l}
        return {"format": FORMAT, "version": VERSION, **said, "manifest": manifest, "parent": parent} | {
            "files": dict(files)
        }


@dataclass(frozen=True, eq=False)
class Ledger:
    """Where a series stands after a release.

    ``people`` are digests in the order of the state. ``texts`` are, for each sensitive column, the values
    that codes of the state mean. ``effective`` is what the release was made from: a row for each person with
    one, as they are now or, where a class is repeated, as they were.
    """

    head: Head
    people: tuple[str, ...]
    state: SeriesState
    present: Flags
    erased: Flags
    effective: Table
    texts: tuple[tuple[str, ...], ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """What the manifest tells: who waits for a first row, is shown though gone, or has lost a row."""
        shown, here = self.state.cohort != NONE, self.present & ~self.erased
        new = self.state.atom == 0
        return {
            "waiting": int((here & ~shown & new).sum()),
            "lingering": int((shown & ~self.present).sum()),
            "withheld": int((here & ~shown & ~new).sum()),
            "oldest": int(self.state.as_of.min(initial=self.head.number)),
        }

    def said(self) -> dict[str, Any]:
        """What the manifest says of the series."""
        return self.head.said(self.counts)

    @cached_property
    def with_rows(self) -> Codes:
        """The people who have a row, in the order of the effective table."""
        return np.flatnonzero(self.state.cohort != NONE).astype(np.int32)

    def write(self, audit: Path, manifest: Path) -> None:
        """Write it into an audit that has links and schema already; the head comes last."""
        write_texts(audit / EFFECTIVE, self.effective.names, self.effective)
        state, as_of = self.state, np.append(self.state.as_of, NONE)[self.state.cohort]
        columns = (state.atom, state.cohort, as_of, state.since, self.present, self.erased)
        lines = zip(self.people, *(column.astype(np.int64).tolist() for column in columns), strict=True)
        write_texts(audit / PEOPLE, COLUMNS, lines)
        files = [EFFECTIVE, LINKS, PEOPLE, SCHEMA]
        if self.texts:
            write_texts(audit / VALUES, *self._values())
            files.append(VALUES)
        self.head.write(audit, manifest, files)

    def _values(self) -> tuple[Sequence[str], Iterable[Sequence[str]]]:
        """What the rows of each release showed: a value after a sign of equality, nothing without a row."""
        names, columns = ["person"], [list(self.people)]
        for release, shown in enumerate(self.state.values):
            for j, codes in enumerate(shown):
                texts = [*(f"={text}" for text in self.texts[j]), ""]
                names.append(f"{release}:{j}")
                columns.append([texts[code] for code in codes.tolist()])
        return names, zip(*columns, strict=True)


@dataclass(frozen=True, eq=False)
class KeptLedger:
    """The ledger beside a release, as it was read: unchanged, or it is refused."""

    release: Path
    head: Head
    digest: str
    manifest: str
    large: bool = False  # of an engine, in Parquet files

    @classmethod
    def open(cls, release: Path) -> KeptLedger:
        release = release.resolve()
        audit = audit_folder(release)
        if not (release / MANIFEST).is_file():
            if (audit / LEDGER).is_file():
                raise InputError(
                    f"{release.name} is of a series, and its folder is lost or was retracted; put it back "
                    "where it was: a series goes on from all its releases, be it that nobody may read them"
                )
            raise InputError(f"{release} is no release: it has no {MANIFEST}")
        if SERIES not in _json(release / MANIFEST):
            raise InputError(
                f"{release.name} is not of a series: write [series] into its policy, and begin one with it"
            )
        if not (audit / LEDGER).is_file():
            raise Refused(
                f"the ledger of {release.name} is lost: {audit.name} has no {LEDGER}; without it nobody "
                "knows who shared a class, so the series cannot go on"
            )
        said = _json(audit / LEDGER)
        try:
            parent = None if said["parent"] is None else {str(k): str(v) for k, v in said["parent"].items()}
            head = Head(said["series"], said["number"], said["key"], said["k"], said["l"], parent)
            same = (said["format"], said["version"]) == (FORMAT, VERSION)
            same &= said["manifest"] == sha256_of(release / MANIFEST)
            same &= all(sha256_of(audit / name) == digest for name, digest in said["files"].items())
            large = set(said["files"]) == LARGE_FILES
            same &= large or set(said["files"]) >= FILES
        except (KeyError, TypeError, ValueError, AttributeError, OSError):
            same = False
        if not same:
            raise _changed(release)
        return cls(release, head, sha256_of(audit / LEDGER), sha256_of(release / MANIFEST), large)

    @property
    def audit(self) -> Path:
        return audit_folder(self.release)

    @cached_property
    def schema(self) -> Schema:
        """What the columns of the effective table are."""
        return schema_from_dict(_json(self.audit / SCHEMA))

    @property
    def method(self) -> str:
        """The name of the method that made the release."""
        said = _json(self.release / MANIFEST).get("method")
        return str(said["name"]) if isinstance(said, dict) and "name" in said else ""

    @property
    def as_parent(self) -> dict[str, str]:
        return {"folder": self.release.name, "manifest": self.manifest, "ledger": self.digest}

    def check_stated(self) -> None:
        """Refuse a head that is of another series than its manifest, or has another number or parent."""
        said = _json(self.release / MANIFEST)[SERIES]
        wanted = self.head.said({})
        if not isinstance(said, dict) or {name: said.get(name) for name in wanted} != wanted:
            raise _changed(self.release)

    def check_last(self) -> None:
        """Refuse a parent that has a successor, be it one that was retracted."""
        if not (self.audit / SUCCESSOR).exists():
            return
        name = str(_json(self.audit / SUCCESSOR).get("folder", "another release"))
        there = (self.release.parent / name / MANIFEST).is_file()
        gone = ", which is not there any more: a release that was retracted still counts; put it back, and"
        raise Refused(
            f"after {self.release.name} came {name} already{';' if there else gone} go on after {name}"
        )

    def knows(self, ids: Sequence[str]) -> int:
        """How many of these ids are those of people of the series."""
        if self.large:
            column = tables.read(self.audit / LARGE_PEOPLE, columns=["high", "low"])
            halves = zip(column.column("high").rows(), column.column("low").rows(), strict=True)
            people = {(int(high or 0), int(low or 0)) for high, low in halves}
            return sum((int(high), int(low)) in people for high, low in self.head.halves(ids))
        known = set(tables.read(self.audit / PEOPLE, columns=["person"]).column("person").texts)
        return sum(self.head.digest(each) in known for each in ids)

    @contextmanager
    def gone_on_after(self) -> Iterator[None]:
        """While the next release is made, another may come: then that is why the verifier says no."""
        try:
            yield
        except NotVerified:
            self.check_last()
            raise

    def read(self) -> Ledger:
        """All of it, in memory."""
        if self.large:
            return self._read_large()
        people = tables.read(self.audit / PEOPLE)
        numbers = {name: _whole(people, name) for name in COLUMNS[1:]}
        cohort, dates = numbers["cohort"].astype(np.int32), numbers["as_of"]
        as_of = np.full(int(cohort.max(initial=NONE)) + 1, NONE, np.int32)
        as_of[cohort[cohort != NONE]] = dates[cohort != NONE]
        values, texts = self._values() if (self.audit / VALUES).is_file() else ((), ())
        since = numbers["since"].astype(np.int32)
        state = SeriesState(self.head.number + 1, numbers["atom"], cohort, as_of, since, values)
        column = people.column("person")
        persons = tuple(str(column.texts[code]) for code in column.codes.tolist())
        flags = (numbers["present"] != 0, numbers["erased"] != 0)
        return Ledger(self.head, persons, state, *flags, tables.read(self.audit / EFFECTIVE), texts)

    def _read_large(self) -> Ledger:
        """The ledger of an engine: people have numbers, and values are in the effective table of each day."""
        people = tables.read(self.audit / LARGE_PEOPLE)
        numbers = {name: _whole(people, name) for name in ("number", *COLUMNS[1:5])}
        flags = {name: _true(people, name) for name in COLUMNS[5:]}
        order = np.argsort(numbers.pop("number"), kind="stable")
        halves = (people.column(name).rows() for name in ("high", "low"))
        digests = [f"{int(high or 0):016x}{int(low or 0):016x}" for high, low in zip(*halves, strict=True)]
        said = {name: column[order] for name, column in numbers.items()}
        cohort = said["cohort"].astype(np.int32)
        as_of = np.full(int(cohort.max(initial=NONE)) + 1, NONE, np.int32)
        as_of[cohort[cohort != NONE]] = said["as_of"][cohort != NONE]
        values, texts = self._large_values(order.size) if self.head.l > 1 else ((), ())
        since = said["since"].astype(np.int32)
        state = SeriesState(self.head.number + 1, said["atom"], cohort, as_of, since, values)
        effective, _ = self._effective_in_order()
        persons = tuple(digests[place] for place in order.tolist())
        there = (flags["present"][order], flags["erased"][order])
        return Ledger(self.head, persons, state, *there, effective, texts)

    def _effective_in_order(self) -> tuple[Table, Any]:
        """The effective table by the numbers of people, and these."""
        table = tables.read(self.audit / LARGE_EFFECTIVE)
        number = _whole(table, self.schema.having(Role.IDENTIFIER)[0].name)
        order = np.argsort(number, kind="stable")
        return table.take(order), number[order]

    def _large_values(self, people: int) -> tuple[tuple[tuple[Codes, ...], ...], tuple[tuple[str, ...], ...]]:
        """What each release showed; values that are written in two ways count as one, as in memory."""
        sensitive = self.schema.having(Role.SENSITIVE)
        known: list[dict[str, int]] = [{} for _ in sensitive]
        found = []
        for kept in self.chain():
            table, number = kept._effective_in_order()
            shown = []
            for column, numbers in zip(sensitive, known, strict=True):
                coded = encode_values(column, table.column(column.name).texts, self.schema.missing)
                canonical = [coded.texts[c] if c < len(coded.texts) else "" for c in coded.codes.tolist()]
                of = np.array([numbers.setdefault(text, len(numbers)) for text in canonical], np.int32)
                codes = np.full(people, NONE, np.int32)
                codes[number] = of[table.column(column.name).codes]
                shown.append(codes)
            found.append(tuple(shown))
        return tuple(found), tuple(tuple(numbers) for numbers in known)

    def _values(self) -> tuple[tuple[tuple[Codes, ...], ...], tuple[tuple[str, ...], ...]]:
        table = tables.read(self.audit / VALUES)
        width = sum(name.startswith("0:") for name in table.names)
        numbers: list[dict[str, int]] = [{} for _ in range(width)]
        found = []
        for release in range(self.head.number + 1):
            shown = []
            for j, known in enumerate(numbers):
                column = table.column(f"{release}:{j}")
                of = [known.setdefault(text[1:], len(known)) if text else NONE for text in column.texts]
                shown.append(np.array([*of, NONE], np.int32)[column.codes])
            found.append(tuple(shown))
        return tuple(found), tuple(tuple(known) for known in numbers)

    def chain(self) -> list[KeptLedger]:
        """This release and all before it, the first one first."""
        found = [self]
        while (parent := found[0].head.parent) is not None:
            path = self.release.parent / Path(parent["folder"]).name
            if not path.is_dir():
                raise Refused(
                    f"the release {path.name} of this series is not beside {self.release.name}; a series is "
                    "kept in one folder, with all its releases and audits"
                )
            found.insert(0, KeptLedger.open(path))
            if found[0].head.number != found[1].head.number - 1:
                raise Refused(f"{path.name} is not the release before {found[1].release.name}")
            found[1].check_follows(found[0])
        return found

    def check_follows(self, before: KeptLedger) -> None:
        """Refuse a ledger before this one that is not the one that it came after."""
        head, other = self.head, before.head
        same = dict(head.parent or {}) == before.as_parent
        same &= (head.series, head.key, head.k, head.l) == (other.series, other.key, other.k, other.l)
        if not same:
            raise Refused(
                f"the ledgers of {before.release.name} and {self.release.name} do not belong together: one "
                "of them was changed, or is of another series; the series cannot go on without the ledgers "
                "as they were written"
            )


def _changed(release: Path) -> Refused:
    return Refused(
        f"the ledger of {release.name} was changed, or is not that of this release; the series cannot go on "
        "without the ledger as it was written"
    )


def series_in(folder: Path) -> list[KeptLedger]:
    """Of each series in a folder the last ledger that can be read."""
    found: dict[str, KeptLedger] = {}
    for path in sorted(folder.iterdir()):
        if not (path / MANIFEST).is_file() or not (audit_folder(path) / LEDGER).is_file():
            continue
        with suppress(InputError, Refused):  # what cannot be read is not what this release is about
            kept = KeptLedger.open(path)
            last = found.get(kept.head.series, kept)
            found[kept.head.series] = max(last, kept, key=lambda each: each.head.number)
    return list(found.values())


def write_texts(path: Path, names: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    """A CSV file in which everything is quoted and nothing protected: it is read by programs alone."""
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerow(names)
        writer.writerows(lines)


def _whole(table: Table, name: str) -> Any:
    column = table.column(name)
    return np.array([int(text or "") for text in column.texts], np.int64)[column.codes]


def _true(table: Table, name: str) -> Flags:
    column = table.column(name)
    return np.array([text in ("true", "True", "1") for text in column.texts], np.bool_)[column.codes]


def _json(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise InputError(f"{path} cannot be read")
    return said
