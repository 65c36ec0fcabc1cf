"""What a policy says of one column, completed by what the table has: its kind, its shape, its hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from incrowd.errors import HierarchyError, PolicyError
from incrowd.flow import Table, TextColumn
from incrowd.hierarchy import Family
from incrowd.hierarchy.builders import Rows, build_levels, complete, grow, read_levels
from incrowd.policy.parts import Described, Quasi, same_name
from incrowd.policy.reading import ReadAs, read_as
from incrowd.schema import Column, Kind, Role, Shape
from incrowd.values import read_texts


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The table, what means missing in it, whose row each is, and where files of the policy lie."""

    table: Table
    missing: Sequence[str]
    entity: str | None
    folder: Path


def described(name: str, role: Role, said: Described | None, source: Source, public: Table | None) -> Column:
    """A column of the schema: as said, kinds found out, hierarchies read or built.

    Of a `public` table to be joined, the values are read too.
    """
    if said is None:
        return Column(name, role)
    texts = _met(source.table.column(name), source.missing)
    more = _met_outside(public, name, source.missing) if role is Role.QUASI else []
    read = read_as(said, texts, more, name)
    kind, format = read.kind, read.format
    quasi = said if isinstance(said, Quasi) else Quasi()
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
    said: Described,
    read: ReadAs,
    texts: Sequence[str],
    both: Sequence[str],
    name: str,
    source: Source,
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
