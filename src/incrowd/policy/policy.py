"""The request: which column is what to the people in the table, and what is promised to them.

One model makes the check, the messages and the JSON Schema (``docs/policy.schema.json``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from inspect import Parameter, Signature
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from incrowd.errors import PolicyError, option, unknown
from incrowd.flow import Table
from incrowd.policy.columns import PolicySource, described
from incrowd.policy.file import Location, parsed_toml, read_toml, sentences
from incrowd.policy.parts import (
    Columns,
    Described,
    Descriptions,
    Part,
    Plain,
    PlainGroups,
    Population,
    Privacy,
    Public,
    Quasi,
    QuasiTable,
    SensitiveTable,
    Series,
    Texts,
)
from incrowd.schema import Role, Schema
from incrowd.values import same_name


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
    undecided : list of str
        Columns of which nobody has said yet what they are. They are not published.
    rest : "drop", optional
        Columns that the policy does not mention are not published; without it they are an error.
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
    population : dict, optional
        What the table is a sample of: ``fraction``, ``size`` or ``weight``; for estimates, not published.
    series : dict, optional
        One of a series about the same people: ``wait``, ``tau``, ``size``, ``left``, ``hold``.

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
    undecided: Columns = Field(
        default=(), description="Columns held back until somebody decides what they are: not published."
    )
    rest: Literal["drop"] | None = Field(
        default=None, description="What becomes of columns without a role; by default they are an error."
    )
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

    population: Population | None = Field(
        default=None, description="The population that the table is a sample of; never published."
    )

    series: Series | None = Field(
        default=None, description="The release is one of a series about the same people (docs/series.md)."
    )

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
        for name, role in self.roles():
            if name in seen:
                raise ValueError(f"column {name} has two roles: {seen[name]} and {role}; keep one of them")
            seen[name] = role
        return self

    @model_validator(mode="after")
    def _one_population(self) -> Self:
        if self.public is not None and self.population is not None:
            raise ValueError("public and population exclude each other: the public table is the population")
        return self

    def roles(self) -> Iterator[tuple[str, Role]]:
        """Every column that the policy names, with its role."""
        named: tuple[tuple[Role, Sequence[str]], ...] = (
            (Role.IDENTIFIER, self.identifiers),
            (Role.SENSITIVE, tuple(self.sensitive)),
            (Role.KEEP, self.keep),
            (Role.DROP, self.drop),
            (Role.UNDECIDED, self.undecided),
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
    def from_text(cls, text: str, folder: str | Path | None = None) -> Policy:
        """Build from the text of a policy file; `folder` is where relative paths start."""
        return cls.from_dict(parsed_toml(text), folder)

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
        rest: str | None = None,
        **privacy: Any,
    ) -> Policy:
        """A copy with another method, more options, more accepted exposures, another promise, or totals.

        `rest` says what becomes of columns that it does not mention. The other keywords are those of
        ``[privacy]``; None leaves a number as it is. Options belong to
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
        if rest is not None:
            parts["rest"] = rest
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
        roles = dict(self.roles())
        known = {same_name(name): name for name in table.names}
        weight = None if self.population is None else self.population.weight
        needed = (*roles, *self.descriptions, *(() if weight is None else (same_name(weight),)))
        absent = [name for name in needed if name not in known]
        if absent:
            raise PolicyError(unknown("in the table", absent, table.names))
        homeless = self.unmentioned(table.names)
        if homeless and self.rest is None:
            raise PolicyError(_without_role(homeless))
        roles |= {same_name(name): Role.DROP for name in homeless}
        source = PolicySource(table, self.missing, self.entity, self._folder)
        return Schema(
            tuple(
                replace(
                    described(known[plain], roles[plain], self._words_on(plain), source, public),
                    description=self.descriptions.get(plain, "") if roles[plain].published else "",
                )
                for plain in known
            ),
            frozenset(self.missing),
        )

    def _words_on(self, plain: str) -> Described | None:
        return self.quasi_identifiers.get(plain) or self.sensitive.get(plain)

    def unmentioned(self, names: Sequence[str]) -> list[str]:
        """Those of a table's columns that the policy gives no role."""
        roles = dict(self.roles())
        return [name for name in names if same_name(name) not in roles]

    def needed_of(self, names: Sequence[str]) -> list[str]:
        """Those of a table's columns whose texts have a use: published, or saying whose row it is."""
        named = (
            self.entity,
            None if self.public is None else self.public.id,
            None if self.population is None else self.population.weight,
        )
        wanted = {name for name, role in self.roles() if role.published}
        wanted |= {same_name(name) for name in named if name is not None}
        return [name for name in names if same_name(name) in wanted]


# For `help`: the names of the keys, and not how they are validated.
_SHOWN: dict[str, Any] = {
    "missing": ("",),
    "entity": None,
    "method": "mondrian",
    "privacy": {},
    "options": {},
    "public": None,
    "population": None,
    "series": None,
    "totals": False,
    "descriptions": {},
    "rest": None,
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


def effective_policy(policy: Policy) -> Policy:
    """The policy of a series as to what its audits keep: published columns, and a digest for a person."""
    if policy.entity is None:
        raise PolicyError(
            "[series]: a series needs entity, the column whose id a person has in every release"
        )
    parts = {key: said for key, said in policy.to_dict().items() if key not in ("entity", "rest")}
    kept = {"identifiers": [policy.entity], "drop": [], "undecided": []}
    return Policy.from_dict(parts | kept, folder=policy.folder)


def _keys_at(place: Location) -> Sequence[str]:
    """The keys that a policy knows at a place."""
    parts: dict[str, type[Part]] = {
        "privacy": Privacy,
        "public": Public,
        "population": Population,
        "series": Series,
        "sensitive": Described,
    }
    part = parts.get(str(place[0]), Quasi) if place else Policy
    if part is Privacy and len(place) > 1 and place[1] == "plain":
        part = PlainGroups
    return tuple(part.model_fields)


def _without_role(names: Sequence[str]) -> str:
    shown = ", ".join(names[:40]) + (", …" if len(names) > 40 else "")
    return (
        f"{len(names)} columns have no role, so nothing is published: {shown}\n"
        "  put each under identifiers, quasi_identifiers, sensitive, keep or drop; or, to publish none of "
        f'them, write rest = "drop" in the policy or pass {option("drop_rest", True)}'
    )
