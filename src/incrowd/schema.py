"""The nouns that every part shares, as plain data: columns, claims, checks, verdicts.

Nothing here computes: the verifier imports this module and `errors` and nothing else, so whatever is here
must be too simple to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any, cast

from incrowd.errors import PolicyError
from incrowd.results import Result, Row

FORMAT_VERSION = 1
MISSING = "missing"
EVERYTHING = "*"
ESCAPED = "\\|{}[]*"
MANIFEST = "release.json"
CLASSES, RECORDS = "classes.parquet", "records.parquet"  # of the audit, where an engine has published
LARGE_EFFECTIVE, LARGE_PEOPLE = "effective.parquet", "people.parquet"  # of a ledger, where an engine wrote it


@dataclass(frozen=True, slots=True)
class Source:
    """A table that its path alone does not tell how to read.

    `encoding` is that of a text file, `sheet` the sheet of a workbook or the file inside a zip archive, `sql`
    a table or a query of a database. The path may also be the address of a PostgreSQL server.
    """

    path: str | PathLike[str]
    encoding: str = ""
    sheet: str = ""
    sql: str = ""

    @classmethod
    def of(cls, source: object) -> Source | None:
        """A path or a Source as a Source; None for anything else, such as a frame."""
        if isinstance(source, Source):
            return source
        return cls(source) if isinstance(source, str | PathLike) else None

    @property
    def is_server(self) -> bool:
        return str(self.path).startswith(("postgresql://", "postgres://"))

    @property
    def file(self) -> Path | None:
        """The file or folder; None if the table is not in one."""
        return None if self.is_server else Path(self.path)

    @property
    def name(self) -> str:
        """What it is called in messages: no folder, and nothing of an address, which may hold a password."""
        return "the database" if self.is_server else Path(self.path).name


class Role(StrEnum):
    """What a column is to the people it describes."""

    IDENTIFIER = "identifier"  # names a person: never published
    QUASI = "quasi_identifier"  # known to outsiders: published generalised
    SENSITIVE = "sensitive"  # what must not be learnt about a person: published as it is
    KEEP = "keep"  # harmless by the publisher's word: published as it is
    DROP = "drop"  # not published
    UNDECIDED = "undecided"  # not published until somebody decides
    ENTITY = "entity"  # tells which rows are one person: never published

    @property
    def published(self) -> bool:
        return self in (Role.QUASI, Role.SENSITIVE, Role.KEEP)


class Kind(StrEnum):
    """How a column's texts are read."""

    NUMERIC = "numeric"
    DATE = "date"
    ORDERED = "ordered"
    CATEGORICAL = "categorical"


class Shape(StrEnum):
    """What a published quasi-identifier cell looks like when it is not a single value."""

    RANGE = "range"  # [20,40], closed, numbers and dates
    TREE = "node"  # a label of the column's hierarchy
    SET = "set"  # {F|M}


_NOT_SAID = cast(Shape, "")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the input table: what it is and how to read it.

    `levels` are the rows of its hierarchy as written (leaf first, top last), `order` the values of an
    ordered column from low to high, `family` its permissible sets, `format` how its numbers or dates
    are written (a notation of docs/reading.md; empty means plain numbers and ISO dates), `note` what people
    should know about that. `mean` asks for the class mean beside the range. What a hierarchy names is
    `public` where the whole of it may go with a release. The `description` is for readers. `built` is the
    line of a policy that `levels` were built by; empty if they are from a file. A `shape` that is not given
    follows from the rest: a node where there is a hierarchy, a range for numbers and dates, else a set.
    """

    name: str
    role: Role
    kind: Kind = Kind.CATEGORICAL
    shape: Shape = _NOT_SAID
    levels: tuple[tuple[str, ...], ...] = ()
    order: tuple[str, ...] = ()
    family: tuple[frozenset[str], ...] = ()
    format: str = ""
    mean: bool = False
    public: bool = False
    description: str = ""
    built: Mapping[str, Any] = field(default_factory=dict, hash=False)
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not self.shape:
            measured = self.kind in (Kind.NUMERIC, Kind.DATE) and not self.family
            plain = Shape.RANGE if measured else Shape.SET
            object.__setattr__(self, "shape", Shape.TREE if self.levels else plain)

    def read_as(self, other: Column) -> bool:
        """Do the same texts mean the same in both, and are both published in one way?"""
        ours, theirs = ((each.name, each.role, each.kind, each.shape, each.format) for each in (self, other))
        return ours == theirs


@dataclass(frozen=True, slots=True)
class Schema:
    """Every column of the input, in the input's order, each with a role."""

    columns: tuple[Column, ...]
    missing: frozenset[str] = frozenset({""})

    def __post_init__(self) -> None:
        if not self.having(Role.QUASI):
            raise PolicyError(
                "no column has the role 'quasi_identifier', so there is nothing to generalise; "
                "to publish the table unchanged, copy the file"
            )
        if len(self.having(Role.ENTITY)) > 1:
            raise PolicyError("only one column can have the role 'entity'")

    def having(self, *roles: Role) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.role in roles)

    @property
    def published(self) -> tuple[Column, ...]:
        """The columns of the release, in order (class means come right after their column)."""
        return tuple(column for column in self.columns if column.role.published)

    @property
    def trees(self) -> tuple[Column, ...]:
        """The quasi-identifiers that are generalized by a hierarchy."""
        return tuple(column for column in self.having(Role.QUASI) if column.shape is Shape.TREE)

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence a release says about itself, with the numbers to check it by.

    `model` is a registered model name; `parameters` are exact: whole numbers, or decimal text for
    what is not whole, or a table of such texts by column. `column` is the sensitive column it speaks of,
    empty for all rows as such.
    """

    model: str
    parameters: Mapping[str, int | str | Mapping[str, str]]
    column: str = ""
    adversary: str = ""
    assumptions: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "parameters": {
                name: dict(said) if isinstance(said, Mapping) else said
                for name, said in self.parameters.items()
            },
            **({"column": self.column} if self.column else {}),
            "adversary": self.adversary,
            "assumptions": list(self.assumptions),
        }


# What the verifier has found when a check passes; beside these, each claim has a check of its own.
CHECKS: Mapping[str, str] = {
    "files": "the folder holds the manifest and the data it describes, unchanged, and nothing else",
    "manifest": "the manifest states and claims exactly what was asked for",
    "schema": "only the columns that may be published are published",
    "cells": "every cell is well formed and has a meaning in its column",
    "rows": "no row was added, and none is missing except those that may be suppressed",
    "private": "sensitive and kept values are those of the original table",
    "truth": "each row correctly describes exactly one original record",
    "sensitive": "each bucket lists exactly the sensitive values of its own records",
    "order": "the rows are not in the order of the original table",
    "domains": "the manifest states exactly the values that published cells name",
    "levels": "every cell is at the hierarchy level that the manifest states for its column",
    "totals": "every total is the number of rows with such a value, and about at least k persons",
    "hierarchies": "the hierarchies name the labels that cells and totals name, and those above them",
    "means": "all class means are correct, and none is of fewer than five values unless accepted",
    "chain": "the ledgers of the series follow each other, unchanged, and no release is left out",
    "effective": "every class has one date, and is current or equal to one of the release before",
    "erased": "nobody has a row who was erased",
    "odds": "a randomized assignment with the stated match probability is possible",
    "bytes": "the manifest is, byte for byte, what it says written again, as data files are",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that the verifier looked at."""

    name: str
    passed: bool
    detail: str = ""


@dataclass(frozen=True, repr=False)
class Verdict(Result):
    """What the verifier found. It is a rejection unless every required check ran and passed."""

    required: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        ran = tuple(check.name for check in self.checks)
        return bool(self.required) and ran == self.required and all(c.passed for c in self.checks)

    @property
    def failures(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if not check.passed)

    def headline(self) -> str:
        if self.passed:
            return f"passed, all {len(self.checks)} checks"
        return f"REJECTED by {', '.join(check.name for check in self.failures) or 'a check that did not run'}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = ((check.name, "passed" if check.passed else "FAILED", check.detail) for check in self.checks)
        return ("check", "", "detail"), rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "passed": self.passed,
            "required": list(self.required),
            "checks": [{"name": c.name, "passed": c.passed, "detail": c.detail} for c in self.checks],
            "facts": dict(self.facts),
        }
