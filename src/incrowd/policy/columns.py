"""What a policy says of a column, completed by the table: how it is read, its shape, its hierarchy.

A column that is published unchanged is refused where many have a value of their own in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import Exposure, HierarchyError, PolicyError
from incrowd.flow import Table, TextColumn
from incrowd.hierarchy import Family
from incrowd.hierarchy.builders import Rows, build_levels, complete, grow, read_levels
from incrowd.policy.exposures import NEAR_UNIQUE_KEEP, NEAR_UNIQUE_SENSITIVE
from incrowd.policy.parts import Described, Quasi
from incrowd.schema import Column, Kind, Role, Schema, Shape
from incrowd.values import Ambiguous, Reading, canonical_format, read_texts, reading_of, same_name
from incrowd.values.dates import TIME

# What a column must be for a builder that suits one kind only, where the policy does not say.
_TEXT_BUILDERS = ("prefix", "mask", "postcodes", "icd10", "rare")
KIND_OF_BUILDER = {"dates": Kind.DATE, **dict.fromkeys(_TEXT_BUILDERS, Kind.CATEGORICAL)}
PLAIN = Quasi()
UNIQUE_SHARE = 0.05  # a kept column is near-unique if more than this share of its rows stands alone
SENSITIVE_SHARE = 0.5  # the same of a sensitive column, which outsiders hardly know
LEAST_ALONE = 20  # in fewer rows than that, values of one's own say nothing


@dataclass(frozen=True, slots=True, eq=False)
class PolicySource:
    """The table, what means missing in it, whose row each is, and where files of the policy lie."""

    table: Table
    missing: Sequence[str]
    entity: str | None
    folder: Path


@dataclass(frozen=True, slots=True)
class ReadAs:
    """What a column is, the notation of its texts, and what people should know about that."""

    kind: Kind
    format: str = ""
    note: str = ""


def described(
    name: str, role: Role, said: Described | None, source: PolicySource, public: Table | None
) -> Column:
    """A column of the schema: as said, kinds found out, hierarchies read or built.

    Of a `public` table to be joined, the values are read too.
    """
    if said is None:
        return Column(name, role)
    texts = _met(source.table.column(name), source.missing)
    more = _met_outside(public, name, source.missing) if role is Role.QUASI else []
    read = read_as(said, texts, more, name)
    kind, format = read.kind, read.format
    quasi = said if isinstance(said, Quasi) else PLAIN
    both = [*dict.fromkeys([*texts, *_readable(more, kind, format)])]
    return Column(
        name,
        role,
        kind,
        _shape(said, kind, name),
        levels=_levels(said, read, texts, both, name, source, public is not None),
        order=_order(said, texts, name),
        family=_permissible(quasi, both, name),
        format=format,
        mean=quasi.mean,
        public=quasi.public,
        note=read.note,
        built={} if said.hierarchy is None or isinstance(said.hierarchy, str) else said.hierarchy,
    )


def _met(column: TextColumn, missing: Sequence[str]) -> list[str]:
    """The distinct texts that some row has and that do not mean missing."""
    texts = (column.texts[place] for place in np.flatnonzero(column.counts).tolist())
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


def read_as(said: Described, texts: Sequence[str], more: Sequence[str], name: str) -> ReadAs:
    """How the distinct `texts` of a column are read, and `more` of them in a public table."""
    if said.format:
        notation = canonical_format(said.format, said.format_kind, name)
        return _known(Reading(said.format_kind, notation, _dropped(notation)))
    kind = Kind(said.type) if said.type is not None else _kind_of_hierarchy(said)
    if kind is None:
        return _found_out(texts, more, name)
    return _declared(kind, [*texts, *more], name) if kind in (Kind.NUMERIC, Kind.DATE) else ReadAs(kind)


def _kind_of_hierarchy(said: Described) -> Kind | None:
    builder = next(iter(said.hierarchy), "") if isinstance(said.hierarchy, dict) else ""
    return KIND_OF_BUILDER.get(builder)


def _dropped(format: str) -> str:
    return "times ignored" if TIME in format else ""


def _known(reading: Reading) -> ReadAs:
    note = f"read as {reading.words()}" if reading.notation else ""
    return ReadAs(reading.kind, reading.notation, note)


def _declared(kind: Kind, texts: Sequence[str], name: str) -> ReadAs:
    """Numbers or dates by the policy's word; how they are written it leaves to the values.

    Where they are plain there is nothing to find out. What no notation fits is left to whoever reads them.
    """
    if None not in read_texts(texts, kind):
        return ReadAs(kind)
    found = reading_of(texts, name)
    if isinstance(found, Reading):
        return _known(found) if found.kind is kind else ReadAs(kind)
    ways = [f'format = "{way.notation}"' for way in found.readings if way.kind is kind and way.notation]
    if not ways:
        return ReadAs(kind)
    raise PolicyError(f"{name} is declared {kind}, but {found.why}; say which it is: {' or '.join(ways)}")


def _found_out(texts: Sequence[str], more: Sequence[str], name: str) -> ReadAs:
    """The one reading of both tables; a question if there is none."""
    found = reading_of([*texts, *more], name)
    if texts and more and found.kind is Kind.CATEGORICAL:
        kinds = [reading_of(some, name).kind for some in (texts, more)]
        if set(kinds) != {Kind.CATEGORICAL}:
            ways = "the same, but written differently" if kinds[0] is kinds[1] else f"{kinds[1]}"
            raise PolicyError(
                f"{name} has no type, and its values are {kinds[0]} in the table but {ways} in the public "
                f"table; give it one: {name} = {{type = …}}"
            )
    if isinstance(found, Ambiguous):
        taken = "numbers" if found.kind is Kind.NUMERIC else "text"
        return ReadAs(found.kind, note=f"taken as {taken}: {found.words()}")
    return _known(found)


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
    said: Described,
    read: ReadAs,
    texts: Sequence[str],
    both: Sequence[str],
    name: str,
    source: PolicySource,
    joined: bool,
) -> Rows:
    """The rows of a hierarchy: from a file, which must have `texts`, or built over the values of `both`."""
    if said.hierarchy is None:
        return ()
    if not isinstance(said.hierarchy, str):
        counted = "rare" in said.hierarchy and isinstance(said, Quasi) and not joined
        holders = _holders(source.table, name, source.entity) if counted else None
        try:
            return build_levels(said.hierarchy, both, read.kind, read.format, name, holders)
        except HierarchyError as error:
            build_levels(
                said.hierarchy, texts, read.kind, read.format, name, holders
            )  # is the private table to blame?
            raise HierarchyError(f"in the public table: {error}") from None
    rows = read_levels(source.folder / said.hierarchy)
    complete(rows, texts, name, read.kind, read.format)
    return grow(rows, read.kind, read.format, name).rows


def _holders(table: Table, name: str, entity: str | None) -> dict[str, int]:
    """How many persons have each text of a column; without an entity, every row is a person."""
    column = table.column(name)
    names = {same_name(there): there for there in table.names}
    codes = column.codes.astype(np.int64)
    if entity is not None and same_name(entity) in names:
        persons = table.column(names[same_name(entity)]).codes.astype(np.int64)
        size = int(persons.max(initial=0)) + 1
        codes = np.unique(codes * size + persons) // size
    counts = np.bincount(codes, minlength=len(column.texts)).tolist()
    return {text: count for text, count in zip(column.texts, counts, strict=True) if text is not None}


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


def check_exact_columns(table: Table, schema: Schema, accept: Sequence[str], bucketed: bool = False) -> None:
    """Refuse to publish a column unchanged in which many have a value of their own, unless that was accepted.

    Sensitive values that are published in buckets are beside no row.
    """
    check_lone_values(
        lone_values(table, schema, Role.KEEP, Role.SENSITIVE), len(table), schema, accept, bucketed
    )


def lone_values(table: Table, schema: Schema, *roles: Role) -> dict[str, int]:
    """For each column of these roles, how many rows have a value that nobody else has."""
    persons = _persons(table, schema)
    columns = {column.name: table.column(column.name) for column in schema.having(*roles)}
    if persons is None:
        return {name: int((column.counts == 1).sum()) for name, column in columns.items()}
    return {name: rows_alone(column.codes, persons) for name, column in columns.items()}


def check_lone_values(
    lone: Mapping[str, int], rows: int, schema: Schema, accept: Sequence[str], bucketed: bool = False
) -> None:
    """The same where the rows with values of their own were counted."""
    for column in schema.having(Role.KEEP):
        alone = lone[column.name]
        if alone > UNIQUE_SHARE * rows and not NEAR_UNIQUE_KEEP.accepted(accept):
            raise Exposure(
                NEAR_UNIQUE_KEEP.name,
                f"{column.name} is to be published unchanged, but {alone} of {rows} rows have a value "
                "that nobody else has; make it a quasi-identifier, or drop it",
            )
    for column in () if bucketed else schema.having(Role.SENSITIVE):
        alone = lone[column.name]
        if near_unique(alone, rows) and not NEAR_UNIQUE_SENSITIVE.accepted(accept):
            raise Exposure(
                NEAR_UNIQUE_SENSITIVE.name,
                f"{column.name} is sensitive and would be published unchanged, but {alone} of {rows} "
                "rows have a value that nobody else has; round it, make it a quasi-identifier, or drop it",
            )


def near_unique(alone: int, rows: int) -> bool:
    """Do most rows of a sensitive column have a value that nobody else has?"""
    return alone >= LEAST_ALONE and alone > SENSITIVE_SHARE * rows


def _persons(table: Table, schema: Schema) -> NDArray[np.int64] | None:
    """Whose row each is; None without an entity: then every row is a person."""
    for column in schema.having(Role.ENTITY):
        return table.column(column.name).codes.astype(np.int64)
    return None


def rows_alone(codes: NDArray[np.integer], persons: NDArray[np.int64]) -> int:
    """How many rows have a value (n,) that no other person (n,) has.

    Examples
    --------
    >>> rows_alone(np.array([0, 1, 1, 2, 2]), np.array([0, 1, 1, 3, 4]))
    3
    """
    owner = np.zeros(int(codes.max()) + 1, np.int64)
    owner[codes] = persons  # one person of each value; who is another one shares it
    shared = np.zeros(owner.size, np.bool_)
    shared[codes[owner[codes] != persons]] = True
    return int((~shared[codes]).sum())
