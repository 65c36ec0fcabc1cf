"""An opened release: manifest, claims, schema, rows, buckets, links and the original, each read once.

Every command that looks at a written release works on a `ReleaseFolder`. What it reads it keeps, so that a
report with everything in it opens each file once. The verifier has its own reader and trusts nothing that is
read here.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.encode import encode
from incrowd.errors import InputError, option
from incrowd.flow import Microdata, Table
from incrowd.join import Joined, encode_joined, join
from incrowd.measures import Published
from incrowd.measures import published as read_published
from incrowd.measures.totals import FILE as TOTALS_FILE
from incrowd.measures.totals import TOTALS
from incrowd.policy import Policy
from incrowd.policy.exposures import UNSAFE_JOIN
from incrowd.policy.parts import Population
from incrowd.policy.policy import effective_policy
from incrowd.release.audit import LINKS, SCHEMA, AuditedRequest, schema_from_dict
from incrowd.release.buckets import BucketCounts, bucket_counts
from incrowd.release.data_files import read_buckets, read_rows
from incrowd.release.hierarchies import FILE as HIERARCHIES_FILE
from incrowd.release.hierarchies import HIERARCHIES, PublishedHierarchy, read_hierarchies
from incrowd.release.ledger import EFFECTIVE, SERIES
from incrowd.release.manifest import manifest_schema
from incrowd.release.stage import audit_folder
from incrowd.schema import CLASSES, LARGE_EFFECTIVE, MANIFEST, RECORDS, Claim, Role, Schema

Ints = NDArray[np.int64]
JOINED, EVEN_PRESENCE = "k-join-anonymity", "even-presence"
PEOPLE, PRIVATE = "people", "private"  # the columns that say how many people of a class are private
BUCKETS = "apart"  # the key of the manifest that says that sensitive values are published in buckets
PUBLIC = "public"  # the key of the manifest that names the public table


@dataclass(frozen=True, eq=False)
class PublicTables:
    """The public table of a release, and the second source that confirms it, as they were read."""

    source: object
    table: Table
    id: str
    check_source: object = None
    check: Table | None = None


@dataclass(frozen=True, eq=False)
class PublicSources:
    """The public table of a release, and the second source that confirms it, before they are read."""

    table: object
    id: str
    check: object = None


@dataclass(frozen=True, eq=False)
class ReleaseFolder:
    """A release on disk, and what it was made from.

    Parameters
    ----------
    path : Path
        The folder with release.json in it.
    source : path, frame or Table
        The original; without it only what is published can be read.
    policy : Policy, optional
        Roles and hierarchies; without it they come from the audit beside the release.
    public_source, check_source : path, frame or Table
        The public table that was joined and its second source, in the place of those that the policy names.
    today : path, frame or Table
        Of a release of a series, the table of its day; `source` is then the effective table of its audit.
    sparing : bool
        Of the original read only texts that have a use, by the policy or the audit; the rest is checked.
    """

    path: Path
    source: object = None
    policy: Policy | None = None
    public_source: object = None
    check_source: object = None
    sparing: bool = False
    today: object = None

    @classmethod
    def open(
        cls,
        release: object,
        original: object = None,
        policy: Policy | None = None,
        public: object = None,
        check: object = None,
        sparing: bool = False,
    ) -> Self:
        """Open a release folder; one that is open already is returned as it is.

        Raises
        ------
        InputError
            If there is no release at this path. What is wrong inside one is for the verifier to say.
        """
        if isinstance(release, cls):
            return release
        if not isinstance(release, str | os.PathLike):
            raise InputError("a release is given by the path of its folder")
        path = Path(release)
        if not path.is_dir():
            reason = "is no folder" if path.exists() else "does not exist"
            raise InputError(f"{path} {reason}; a release is a folder with {MANIFEST} in it")
        if not (path / MANIFEST).exists():
            raise InputError(f"{path} is no release: it has no {MANIFEST}")
        folder = cls(path, original, policy, public, check, sparing)
        return folder if original is None or not folder.in_series else folder._effective()

    @property
    def in_series(self) -> bool:
        """Is the release one of a series? What cannot be read is of none."""
        try:
            return SERIES in self.manifest
        except InputError:
            return False

    def _effective(self) -> Self:
        """With the table that a release of a series was made from: its audit has it."""
        table = self.audit / EFFECTIVE
        if (self.audit / LARGE_EFFECTIVE).is_file():
            table = self.audit / LARGE_EFFECTIVE
        if not table.is_file():
            raise InputError(
                f"{self.path} is of a series, and {table} is lost: nobody knows what is behind it"
            )
        policy = None if self.policy is None else effective_policy(self.policy)
        return replace(self, source=table, policy=policy, today=self.source, sparing=False)

    # What is published

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        try:
            said = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            raise InputError(f"{self.path / MANIFEST} cannot be read") from None
        if not isinstance(said, dict):
            raise InputError(f"{self.path / MANIFEST} is no manifest")
        return said

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """What the release promises."""
        try:
            return tuple(
                Claim(
                    model=str(said["model"]),
                    parameters=dict(said["parameters"]),
                    column=str(said.get("column", "")),
                    adversary=said["adversary"],
                    assumptions=tuple(said["assumptions"]),
                )
                for said in self.manifest["claims"]
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError(f"the claims in {self.path / MANIFEST} cannot be read") from None

    @cached_property
    def method(self) -> Mapping[str, Any]:
        """The method's name and options, with the share of records that it may suppress."""
        said, rows = self.manifest.get("method"), self.manifest.get("rows")
        if not isinstance(said, dict) or not isinstance(said.get("name"), str):
            raise InputError(f"the manifest of {self.path} does not say by which method it was made")
        share = rows.get("max_suppression", "0") if isinstance(rows, dict) else "0"
        return {**said, "max_suppression": share}

    @property
    def k(self) -> int:
        """The k that all claims name."""
        sizes = [claim.parameters["k"] for claim in self.claims if "k" in claim.parameters]
        if not sizes or not isinstance(sizes[0], int) or any(size != sizes[0] for size in sizes):
            raise InputError(f"{self.path / MANIFEST} does not say for which k the release was made")
        return sizes[0]

    @property
    def joined(self) -> bool:
        """Do people of a public table have rows?"""
        return PUBLIC in self.manifest

    @property
    def bucketed(self) -> bool:
        """Are sensitive values published in buckets, in a file of their own?"""
        return BUCKETS in self.manifest

    @cached_property
    def published_schema(self) -> Schema:
        """The columns as the manifest describes them: enough to read what is published."""
        return manifest_schema(self.manifest, self.path)

    @cached_property
    def rows(self) -> Table:
        """The published rows as cells."""
        private = self.source is not None
        return read_rows(self.path, lambda: self.schema if private else self.published_schema)

    @cached_property
    def private_shares(self) -> NDArray[np.float64] | None:
        """For each row the share of private people in its class; None where rows do not say it."""
        if EVEN_PRESENCE not in [claim.model for claim in self.claims]:
            return None
        try:
            private, people = (self._numbers(name) for name in (PRIVATE, PEOPLE))
        except (KeyError, ValueError, TypeError):
            raise InputError(f"the numbers of people in the rows of {self.path} cannot be read") from None
        return private / people

    def _numbers(self, name: str) -> NDArray[np.float64]:
        column = self.rows.column(name)
        return np.array([float(text or "") for text in column.texts])[column.codes]

    @cached_property
    def buckets(self) -> Table:
        """The sensitive values by bucket, a line for each value and its count."""
        return read_buckets(self.path)

    @cached_property
    def bucket_counts(self) -> BucketCounts | None:
        """How many values the buckets have, and how frequent they are; None without buckets."""
        return bucket_counts(self.buckets, self.path) if self.bucketed else None

    @cached_property
    def totals(self) -> Table | None:
        """How many rows have which value; None where that is not stated."""
        return self._beside(TOTALS, TOTALS_FILE)

    @cached_property
    def hierarchies(self) -> Mapping[str, PublishedHierarchy]:
        """Which label lies under which, by column, as far as the release says it."""
        table, said = self._beside(HIERARCHIES, HIERARCHIES_FILE), self.manifest.get(HIERARCHIES)
        whole = said.get("whole") if isinstance(said, dict) else None
        return {} if table is None else read_hierarchies(table, whole if isinstance(whole, list) else [])

    def _beside(self, key: str, file: str) -> Table | None:
        """A file beside the rows, where the manifest has it; unlike other tables it may have no lines."""
        if key not in self.manifest:
            return None
        try:
            text = (self.path / file).read_bytes().decode()
            header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
            columns = dict(
                zip(header, zip(*lines, strict=True) if lines else ((),) * len(header), strict=True)
            )
        except (OSError, ValueError, csv.Error):
            raise InputError(f"{self.path / file} cannot be read") from None
        return tables.unprotected_table(Table.of(columns))

    # What is private: the audit, the original, the public table

    @property
    def audit(self) -> Path:
        return audit_folder(self.path.resolve())

    @property
    def has_class_files(self) -> bool:
        """Does the audit say which records share a class? So it does where an engine has published."""
        return all((self.audit / name).is_file() for name in (RECORDS, CLASSES))

    @cached_property
    def original(self) -> Table:
        if self.source is None:
            raise InputError(f"pass the table that the release was made from with {option('original')}")
        given, needed = self.source, self._needed if self.sparing else None
        return given if isinstance(given, Table) else tables.read(given, needed=needed)

    def _needed(self, names: Sequence[str]) -> list[str]:
        """Of the columns of the original those whose texts have a use."""
        if self.policy is not None:
            return self.policy.needed_of(names)
        unused = {column.name for column in self.schema.having(Role.DROP, Role.UNDECIDED)}
        return [name for name in names if name not in unused]

    @cached_property
    def schema(self) -> Schema:
        """What the columns of the original are, by the policy or by the audit beside the release."""
        if self.policy is not None:
            return self.policy.schema(self.original, None if self.public is None else self.public.table)
        try:
            return schema_from_dict(json.loads((self.audit / SCHEMA).read_text(encoding="utf-8")))
        except FileNotFoundError:
            problem = f"there is no audit beside {self.path}"
        except (OSError, ValueError, RecursionError):
            problem = f"the audit beside {self.path} cannot be read"
        raise InputError(f"{problem}; pass the policy with {option('policy')}")

    @cached_property
    def audited(self) -> AuditedRequest:
        """What the audit kept of the request that the release was made by."""
        return AuditedRequest.read(self.audit)

    @cached_property
    def population(self) -> Population | None:
        """The population that the original is a sample of, by the policy or, without one, by the audit."""
        return self.audited.population if self.policy is None else self.policy.population

    @cached_property
    def public(self) -> PublicTables | None:
        """The public table and its second source; None where no people of one have rows."""
        found = self.public_sources
        if found is None:
            return None
        second = None if found.check is None else tables.read(found.check)
        return PublicTables(found.table, tables.read(found.table), found.id, found.check, second)

    @cached_property
    def public_sources(self) -> PublicSources | None:
        """Where these tables are, which are not read yet; None where no people of one have rows."""
        said = None if self.policy is None else self.policy.public
        public, check = self.public_source, self.check_source
        if said is None and (self.policy is not None or not self._claims_a_join()):
            if public is not None or check is not None:
                leave = f"leave out {option('public')} and {option('check')}"
                raise InputError(f"the release is not joined with a public table; {leave}")
            return None
        if said is not None and self.policy is not None:
            public = self.policy.folder / said.table if public is None else public
            if check is None and said.check is not None:
                check = self.policy.folder / said.check
        if public is None:
            raise InputError(
                f"people of a public table have rows in this release; pass that table with {option('public')}"
            )
        id = said.id if said is not None else self._id_of_the_join()
        return PublicSources(public, id, check)

    def _claims_a_join(self) -> bool:
        """Does the manifest speak of people of a public table? What cannot be read speaks of none."""
        try:
            return any(claim.model == JOINED for claim in self.claims)
        except InputError:
            return False

    def _id_of_the_join(self) -> str:
        """The column that joined both tables; empty if the manifest does not say, which fails the check."""
        said = self.manifest.get(PUBLIC)
        return str(said.get("id", "")) if isinstance(said, dict) else ""

    @cached_property
    def people(self) -> Joined | None:
        """The people of both tables, those of the original first; None without a public table."""
        if self.public is None:
            return None
        public = self.public
        asked = None if self.policy is None else self.policy.public
        said = "microdata" if asked is None else asked.conflicts
        values = "public" if self.blind_join and said == "microdata" else said
        return join(
            self.original, self.schema, public.table, public.id, public.check, values, self.blind_join
        )

    @cached_property
    def blind_join(self) -> bool:
        """Was it joined without a look at who is private? By the policy or, without it, by the manifest."""
        accepted = self.manifest.get("accepted") if self.policy is None else self.policy.accept
        return not (isinstance(accepted, list | tuple) and UNSAFE_JOIN.accepted(accepted))

    @cached_property
    def data(self) -> Microdata:
        """The original as numbers; with a public table, everyone of both."""
        if self.people is None:
            return encode(self.original, self.schema)
        return encode_joined(self.original, self.schema, self.people)

    @cached_property
    def own_data(self) -> Microdata:
        """The original alone as numbers, over its own domains."""
        return self.data if self.public is None else encode(self.original, self.schema)

    @cached_property
    def shown(self) -> Published:
        """The published rows, read against the original's domains."""
        return read_published(self.rows, self.data)

    # Which record is behind which row: kept in the audit where it cannot be found out again, never trusted

    @cached_property
    def _links(self) -> Mapping[str, Any]:
        try:
            found = json.loads((self.audit / LINKS).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _of_each_row(self, key: str, dimensions: int = 1) -> Ints | None:
        """Whole numbers that the audit has under this key; None if they are not that."""
        try:
            numbers = np.array(self._links[key])
        except (KeyError, ValueError, TypeError, OverflowError):
            return None
        return numbers if numbers.ndim == dimensions and numbers.dtype == np.int64 else None

    @cached_property
    def neighbourhoods(self) -> Ints | None:
        """The k records that each row was made over, where claims count the rows that may be anybody's."""
        return self._of_each_row("records_of_each_row", 2)

    @cached_property
    def links(self) -> Ints | None:
        """The record behind each row, each record named once; None where the audit does not say so.

        The audit has it where rows have means, are non-homogeneous or bucketed, records are suppressed, or a
        person may have several rows: then it cannot be found out again.
        """
        links = self._of_each_row("record_of_each_row")
        if links is None or not links.size:
            return None
        named_once = np.unique(links).size == links.size
        return links if named_once and links.min() >= 0 and links.max() < len(self.original) else None

    @cached_property
    def people_behind_rows(self) -> Ints | None:
        """The person behind each row where people of a public table have rows, numbered as `people` are."""
        return self._of_each_row("record_of_each_row")

    @cached_property
    def own_rows(self) -> NDArray[np.bool_] | None:
        """Which rows are of the private table's people; None where the audit does not say it of everyone."""
        behind, own = self.people_behind_rows, len(self.original)
        if behind is None or not np.array_equal(np.sort(behind[behind < own]), np.arange(own)):
            return None
        mine: NDArray[np.bool_] = behind < own
        return mine


def is_folder(release: object) -> bool:
    """Is this a release, and not a published table of another tool?"""
    if isinstance(release, ReleaseFolder):
        return True
    return isinstance(release, str | os.PathLike) and Path(release).is_dir()
