"""The request: which column is what to the people in the table, and what is promised to them.

One model makes the check, the messages and the JSON Schema (``docs/policy.schema.json``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from pydantic import Field, PrivateAttr, ValidationError, model_validator

from incrowd.errors import HierarchyError, PolicyError, option, unknown
from incrowd.flow import Table, TextColumn
from incrowd.hierarchy import Family
from incrowd.hierarchy.builders import Rows, build_levels, complete, grow, read_levels
from incrowd.policy.file import Location, read_toml, sentences
from incrowd.policy.parts import (
    Columns,
    Described,
    Descriptions,
    Part,
    Plain,
    PlainGroups,
    Privacy,
    Public,
    Quasi,
    QuasiTable,
    SensitiveTable,
    Texts,
    same_name,
)
from incrowd.policy.reading import ReadAs, read_as
from incrowd.schema import Column, Kind, Role, Schema, Shape
from incrowd.values import read_texts


class Policy(Part):
    """Roles of columns, the promise, and the method that is to keep it.

    The parameters are the keys of a policy file (TOML); ``docs/policy.md`` explains each.

    Parameters
    ----------
    identifiers : list of str
        Columns that name a person. They are never published.
    quasi_identifiers : list of str, or dict
        Columns that outsiders may know. They are published generalized. A dict describes each:
        ``{"age": {"type": "numeric"}, "zip": {"hierarchy": {"prefix": [5, 3]}}}``.
    sensitive : list of str, or dict
        Columns that nobody may learn about a person. They are published unchanged.
    keep, drop : list of str
        Columns that are published unchanged since they are harmless, and columns that are not published.
    entity : str, optional
        The column that says which rows are one person's; k then counts persons.
    missing : list of str
        Texts that mean missing; by default only the empty one.
    privacy : dict
        What is promised: ``{"k": 10, "l": 3}``, also ``l_kind``, ``c``, ``t``, ``t_distance``, ``plain``,
        ``max_suppression``.
    method, options : str, dict
        A method of the catalogue (`incrowd.methods`), by default mondrian, and its options.
    accept : list of str
        Known exposures that are accepted, by name.
    totals : bool
        State how many rows have which value of each quasi-identifier, in lines of at least k persons.
    descriptions : dict
        What published columns mean, in a sentence each for the readers of a release.
    public : dict, optional
        The public table of k-join-anonymity: ``table``, ``id``, ``membership_secret``.

    Examples
    --------
    >>> policy = Policy(quasi_identifiers=["age", "zip"], sensitive=["disease"], identifiers=["name"])
    >>> policy.with_(k=10).k
    10
    >>> Policy(privacy={"kk": 10})
    Traceback (most recent call last):
    ...
    incrowd.errors.PolicyError: privacy.kk is not known: did you mean 'k'?
    """

    identifiers: Columns = Field(default=(), description="Columns that name a person: never published.")
    sensitive: SensitiveTable = Field(
        default_factory=dict, description="Columns nobody may learn about a person: published unchanged."
    )
    keep: Columns = Field(default=(), description="Harmless columns: published unchanged.")
    drop: Columns = Field(default=(), description="Columns that are not published.")
    missing: Texts = Field(default=("",), description="Texts that mean missing.")
    entity: str | None = Field(default=None, description="The column that says which rows are one person.")
    method: str = Field(default="mondrian", description="A method of the catalogue.")
    accept: Texts = Field(default=(), description="Known exposures that are accepted, by name.")
    quasi_identifiers: QuasiTable = Field(
        default_factory=dict, description="Columns that outsiders may know: published generalized."
    )
    privacy: Privacy = Field(default=Privacy(), description="What is promised.")
    options: Plain = Field(default_factory=dict, description="Options of the method.")
    public: Public | None = Field(default=None, description="The public table of k-join-anonymity.")

    totals: bool = Field(
        default=False, description="State how many rows have which value of each quasi-identifier."
    )

    descriptions: Descriptions = Field(
        default_factory=dict, description="What a column means, for the readers of a release."
    )

    _folder: Path = PrivateAttr(default=Path())

    def __init__(self, /, **parts: Any) -> None:
        """Check all parts at once; a `PolicyError` says what is wrong, and where."""
        try:
            super().__init__(**parts)
        except ValidationError as error:
            raise PolicyError(sentences(error, _keys_at)) from None

    @model_validator(mode="after")
    def _one_role_each(self) -> Self:
        seen: dict[str, Role] = {}
        for name, role in self._said():
            if name in seen:
                raise ValueError(f"column {name} has two roles: {seen[name]} and {role}; keep one of them")
            seen[name] = role
        return self

    def _said(self) -> Iterator[tuple[str, Role]]:
        named: tuple[tuple[Role, Sequence[str]], ...] = (
            (Role.IDENTIFIER, self.identifiers),
            (Role.SENSITIVE, tuple(self.sensitive)),
            (Role.KEEP, self.keep),
            (Role.DROP, self.drop),
            (Role.ENTITY, () if self.entity is None else (same_name(self.entity),)),
            (Role.QUASI, tuple(self.quasi_identifiers)),
        )
        for role, names in named:
            for name in names:
                yield name, role

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy file (TOML). Paths inside it are relative to the folder it lies in."""
        path = Path(path)
        return cls.from_dict(read_toml(path), folder=path.parent)

    @classmethod
    def of(cls, policy: object) -> Policy | None:
        """A policy however it is given: a Policy, a dict, the path of a TOML file; None stays None."""
        if policy is None or isinstance(policy, Policy):
            return policy
        if isinstance(policy, Mapping):
            return cls.from_dict(policy)
        if isinstance(policy, str | PathLike):
            return cls.load(Path(policy))
        raise PolicyError("a policy is a Policy, a dict, or the path of a policy file (TOML)")

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any], folder: str | Path | None = None) -> Policy:
        """Build from a mapping such as `to_dict` gives; `folder` is where relative paths start."""
        policy = cls(**{str(key): value for key, value in parts.items()})
        policy._folder = Path(folder or ".")
        return policy

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON Schema of a policy, for editors and other tools."""
        dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
        return dialect | cls.model_json_schema() | {"description": "A policy of incrowd, see docs/policy.md."}

    def to_dict(self) -> dict[str, Any]:
        """Whatever differs from the defaults, in words that JSON knows."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def with_(
        self,
        *,
        method: str | None = None,
        options: Mapping[str, Any] | None = None,
        accept: Sequence[str] = (),
        totals: bool | None = None,
        **privacy: Any,
    ) -> Policy:
        """A copy with another method, more options, more accepted exposures, another promise, or totals.

        The other keywords are those of ``[privacy]``; None leaves a number as it is. Options belong to
        a method: naming another method leaves the old one's behind.
        """
        parts = self.to_dict()
        kept = {} if method not in (None, self.method) else parts.get("options", {})
        changes = {key: value for key, value in privacy.items() if value is not None}
        parts |= {
            "method": method or self.method,
            "options": {**kept, **(options or {})},
            "accept": list(dict.fromkeys((*self.accept, *accept))),
            "privacy": {**parts.get("privacy", {}), **changes},
            "totals": self.totals if totals is None else totals,
        }
        return Policy.from_dict(parts, folder=self._folder)

    @property
    def folder(self) -> Path:
        """Where relative paths of the policy start."""
        return self._folder

    @property
    def k(self) -> int:
        """The least size of an equivalence class; an error if the policy has none."""
        if self.privacy.k is None:
            raise PolicyError(
                f"the policy has no k: write k = 10 under [privacy], or pass {option('k', '10')}"
            )
        return self.privacy.k

    def schema(  # type: ignore[override]  # not pydantic's old name for JSON Schema
        self, table: Table, public: Table | None = None
    ) -> Schema:
        """What every column of the table is: roles as said, kinds found out, hierarchies read or built.

        Of a `public` table to be joined, the quasi-identifiers are read too: hierarchies that are built
        then hold the values of both tables.
        """
        roles = dict(self._said())
        known = {same_name(name): name for name in table.names}
        absent = [name for name in (*roles, *self.descriptions) if name not in known]
        if absent:
            raise PolicyError(unknown("in the table", absent, table.names))
        homeless = [name for plain, name in known.items() if plain not in roles]
        if homeless:
            raise PolicyError(_without_role(homeless))
        return Schema(
            tuple(self._column(known[plain], roles[plain], table, public) for plain in known),
            frozenset(self.missing),
        )

    def _column(self, name: str, role: Role, table: Table, public: Table | None) -> Column:
        said = self.quasi_identifiers.get(same_name(name)) or self.sensitive.get(same_name(name))
        description = self.descriptions.get(same_name(name), "") if role.published else ""
        if said is None:
            return Column(name, role, description=description)
        texts = _met(table.column(name), self.missing)
        more = _met_outside(public, name, self.missing) if role is Role.QUASI else []
        read = read_as(said, texts, more, name)
        kind, format = read.kind, read.format
        quasi = said if isinstance(said, Quasi) else Quasi()
        both = [*dict.fromkeys([*texts, *_readable(more, kind, format)])]
        return Column(
            name,
            role,
            kind,
            _shape(said, kind, name),
            levels=_levels(said, read, texts, both, name, self._folder),
            order=_order(said, texts, name),
            family=_permissible(quasi, both, name),
            format=format,
            mean=quasi.mean,
            public=quasi.public,
            description=description,
            note=read.note,
        )


# For `help`: the names of the keys, and not how they are validated.
_SHOWN: dict[str, Any] = {
    "missing": ("",),
    "entity": None,
    "method": "mondrian",
    "privacy": {},
    "options": {},
    "public": None,
    "totals": False,
    "descriptions": {},
}
Policy.__signature__ = Signature(
    [Parameter(name, Parameter.KEYWORD_ONLY, default=_SHOWN.get(name, ())) for name in Policy.model_fields]
)


def needed(policy: object) -> Policy:
    """A policy however it is given; an error where there is none."""
    given = Policy.of(policy)
    if given is None:
        raise PolicyError(f"which columns are what only a policy says; pass it with {option('policy')}")
    return given


def _keys_at(place: Location) -> Sequence[str]:
    """The keys that a policy knows at a place."""
    parts: dict[str, type[Part]] = {"privacy": Privacy, "public": Public, "sensitive": Described}
    part = parts.get(str(place[0]), Quasi) if place else Policy
    if part is Privacy and len(place) > 1 and place[1] == "plain":
        part = PlainGroups
    return tuple(part.model_fields)


def _without_role(names: Sequence[str]) -> str:
    shown = ", ".join(names[:40]) + (", …" if len(names) > 40 else "")
    return (
        f"{len(names)} columns have no role, so nothing is published: {shown}\n"
        "  put each under identifiers, quasi_identifiers, sensitive, keep or drop"
    )


def _met(column: TextColumn, missing: Sequence[str]) -> list[str]:
    """The distinct texts that some row has and that do not mean missing."""
    texts = (column.texts[place] for place in np.unique(column.codes).tolist())
    return [text for text in texts if text is not None and text not in missing]


def _met_outside(public: Table | None, name: str, missing: Sequence[str]) -> list[str]:
    """The same of a public table, where it has the column; that it must is said by whoever joins."""
    names = {} if public is None else {same_name(there): there for there in public.names}
    there = names.get(same_name(name))
    return [] if public is None or there is None else _met(public.column(there), missing)


def _readable(texts: Sequence[str], kind: Kind, format: str) -> list[str]:
    """Those that have a value; who joins says in which rows the others are."""
    values = read_texts(texts, kind, format)
    return [text for text, value in zip(texts, values, strict=True) if value is not None]


def _shape(said: Described, kind: Kind, name: str) -> Shape:
    """Ranges for what lies on a line, nodes where there is a tree, sets otherwise."""
    on_a_line = kind in (Kind.NUMERIC, Kind.DATE)
    if said.hierarchy is not None:
        return Shape.TREE
    if not isinstance(said, Quasi):
        return Shape.RANGE if on_a_line else Shape.SET
    if said.publish == "range" and not on_a_line:
        raise PolicyError(f"{name} is {kind}, and only numbers and dates are published as ranges")
    if said.mean and kind is not Kind.NUMERIC:
        raise PolicyError(f"{name} is {kind}, and only numbers have a mean")
    if said.family is not None and on_a_line:
        raise PolicyError(f"{name} is {kind}; a family is for categorical and ordered columns")
    return Shape.RANGE if on_a_line and said.publish != "set" else Shape.SET


def _levels(
    said: Described, read: ReadAs, texts: Sequence[str], both: Sequence[str], name: str, folder: Path
) -> Rows:
    """The rows of a hierarchy: from a file, which must have `texts`, or built over the values of `both`."""
    if said.hierarchy is None:
        return ()
    if not isinstance(said.hierarchy, str):
        try:
            return build_levels(said.hierarchy, both, read.kind, read.format, name)
        except HierarchyError as error:
            build_levels(
                said.hierarchy, texts, read.kind, read.format, name
            )  # is the private table to blame?
            raise HierarchyError(f"in the public table: {error}") from None
    rows = read_levels(folder / said.hierarchy)
    complete(rows, texts, name, read.kind, read.format)
    return grow(rows, read.kind, read.format, name).rows


def _order(said: Described, texts: Sequence[str], name: str) -> tuple[str, ...]:
    unlisted = len(set(texts) - set(said.values)) if said.values else 0
    if unlisted:
        raise PolicyError(f"{name} has {unlisted} distinct values that its list 'values' does not name")
    return said.values


def _permissible(said: Quasi, texts: Sequence[str], name: str) -> tuple[frozenset[str], ...]:
    """The sets of the family and, if asked for, the intersections it lacks; single values need no word."""
    if said.family is None:
        return ()
    declared = {frozenset(subset) for subset in said.family}
    domain = frozenset(texts).union(*declared)
    closed = Family.of(domain, declared, said.complete, name)
    large = (
        member for member in closed.members if len(member) > 1 and (member in declared or member != domain)
    )
    return tuple(sorted(large, key=lambda member: (len(member), sorted(member))))
