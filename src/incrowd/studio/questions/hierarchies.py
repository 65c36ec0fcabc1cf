"""Questions about hierarchies: how each quasi-identifier is published, its levels, and the risk there.

All of it is what the release would have: the hierarchy of a policy, read or built as `publish` does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from incrowd.commands.inspect import KnownColumns
from incrowd.commands.inspect.levels import Group, HierarchyLevels, levels_of
from incrowd.errors import IncrowdError
from incrowd.hierarchy.builders import Rows
from incrowd.policy import Policy
from incrowd.policy.columns import PolicySource, described
from incrowd.policy.file import parsed_toml
from incrowd.policy.parts import Quasi
from incrowd.schema import Column, Kind, Role, Shape
from incrowd.studio.questions.open_table import OpenTable, policy_from
from incrowd.values import same_name

MOST_SHOWN = 200  # labels of one level; more are found by searching
MOST_VALUES = 2_000  # that a form is filled with
REMEMBERED = 4
PUBLISHED_AS = {Shape.RANGE: "ranges", Shape.SET: "sets", Shape.TREE: "nodes"}
FLAT = {"flat": True}
Of = Mapping[str, str]  # a column of a policy: text, folder, stamp of the hierarchy files, column


def known_with(opened: OpenTable, text: str, folder: str, stamp: str) -> KnownColumns:
    """The columns as a policy reads them; files are read again when `stamp` says that they have changed."""
    held: dict[Any, KnownColumns] = opened.remembered.setdefault("hierarchies", {})
    key = text, folder, stamp
    if key not in held:
        found = opened.known(text, folder).under(policy_from(text, folder))
        while len(held) >= REMEMBERED:
            held.pop(next(iter(held)))
        held[key] = found
    return held[key]


def policy_of(known: KnownColumns) -> Policy:
    if known.policy is None:
        raise LookupError("these columns were read without a policy")
    return known.policy


def said_of(policy: Policy, name: str) -> Quasi:
    return policy.quasi_identifiers.get(same_name(name)) or Quasi()


def overview(opened: OpenTable, text: str, folder: str, stamp: str) -> list[dict[str, Any]]:
    """Every quasi-identifier: what it is published as, and the levels of its hierarchy, or what is wrong."""
    known = known_with(opened, text, folder, stamp)
    policy = policy_of(known)
    keys = written_names(text)
    found = []
    for name in known.quasi_identifiers():
        said = said_of(policy, name)
        one: dict[str, Any] = {
            "name": name,
            "number": opened.table.names.index(name),
            "key": keys.get(same_name(name), name),
            "problem": "",
            "levels": [],
            "missing": 0,
        }
        try:
            column = schema_column(opened, policy, name, said)
            one |= {"kind": str(column.kind), "published": PUBLISHED_AS[column.shape]}
            if said.hierarchy is not None:
                one["levels"] = [asdict(level) for level in known.level_counts(name, policy.privacy.k).levels]
        except IncrowdError as error:
            one |= {"kind": _profiled_kind(opened, name), "problem": error.on_the_command_line}
            one["published"] = "nodes" if said.hierarchy is not None else "sets"
        found.append(one)
    return found


def written_names(text: str) -> dict[str, str]:
    """The names of quasi-identifiers as the policy writes them, by the form in which they are compared."""
    return {same_name(str(name)): str(name) for name in parsed_toml(text).get("quasi_identifiers", ())}


def schema_column(opened: OpenTable, policy: Policy, name: str, said: Quasi) -> Column:
    """The column as the release would have it; remembered, since its values are read for it."""
    if isinstance(said.hierarchy, str):
        return described(name, Role.QUASI, said, source_of(opened, policy), None)
    key = ("schema column", name, said.model_dump_json(), policy.missing, policy.entity)
    if key not in opened.remembered:
        opened.remembered[key] = described(name, Role.QUASI, said, source_of(opened, policy), None)
    column: Column = opened.remembered[key]
    return column


def source_of(opened: OpenTable, policy: Policy) -> PolicySource:
    return PolicySource(opened.table, policy.missing, policy.entity, policy.folder)


def _profiled_kind(opened: OpenTable, name: str) -> str:
    return next((str(one.kind) for one in opened.profile.columns if one.name == name), str(Kind.CATEGORICAL))


def problems(opened: OpenTable, text: str, folder: str, stamp: str) -> list[str]:
    """Why a hierarchy or family of the policy does not fit the table; `stamp` is that of its files."""
    policy, found = policy_from(text, folder), []
    names = {same_name(name): name for name in opened.table.names}
    for plain, said in policy.quasi_identifiers.items():
        if plain in names and (said.hierarchy is not None or said.family is not None):
            key = ("problem", plain, said.model_dump_json(), policy.missing, policy.entity, folder, stamp)
            if key not in opened.remembered:
                opened.remembered[key] = _problem(opened, policy, names[plain], said)
            found += [opened.remembered[key]] if opened.remembered[key] else []
    return found


def _problem(opened: OpenTable, policy: Policy, name: str, said: Quasi) -> str:
    try:
        schema_column(opened, policy, name, said)
    except IncrowdError as error:
        return error.on_the_command_line
    return ""


def risk_at(
    opened: OpenTable, text: str, folder: str, stamp: str, levels: Mapping[str, int]
) -> dict[str, Any] | None:
    """The risk of the quasi-identifiers with some of them at a level of their hierarchy."""
    known = known_with(opened, text, folder, stamp)
    names = known.quasi_identifiers()
    if not names:
        return None
    return asdict(known.risk_of(names, policy_of(known).privacy.k, levels)) | {
        "persons": known.persons is not None
    }


def levels(
    opened: OpenTable, text: str, folder: str, stamp: str, column: str, find: str = ""
) -> dict[str, Any]:
    """The labels of every level with their people, and how many a search found; lists are capped."""
    known = known_with(opened, text, folder, stamp)
    policy = policy_of(known)
    counts = known.level_counts(column, policy.privacy.k)
    tree = levels_of(opened.table, column, said_of(policy, column), policy)
    wanted = _wanted(tree.tree, find)
    found = []
    for count in counts.levels:
        groups = tree.groups(count.level, known.persons)
        met = [one for one in groups if wanted is None or one.label in wanted[count.level]]
        shown = [asdict(one) for one in met[:MOST_SHOWN]]
        found.append(asdict(count) | {"shown": shown, "found": len(met)})
    return {"levels": found, "persons": known.persons is not None, "k": policy.privacy.k}


def _wanted(rows: Rows, find: str) -> list[set[str]] | None:
    """The labels of each level that have something to do with what is searched; None is all."""
    if not find:
        return None
    plain = find.casefold()
    met = [row for row in rows if any(plain in label.casefold() for label in row)]
    return [set(labels) for labels in zip(*met, strict=True)] or [set() for _ in rows[0]]


def values(opened: OpenTable, text: str, folder: str, column: str) -> list[str]:
    """The distinct values of a column in their order, to fill a form with; none if there are too many."""
    policy = policy_from(text, folder)
    rows = schema_column(opened, policy, column, _bare(said_of(policy, column), FLAT)).levels
    return [row[0] for row in rows] if len(rows) <= MOST_VALUES else []


def _bare(said: Quasi, hierarchy: Any) -> Quasi:
    """The same reading of a column with another hierarchy."""
    return Quasi(type=said.type, format=said.format, values=said.values, hierarchy=hierarchy)


def tree_with_groups(opened: OpenTable, of: Of) -> tuple[HierarchyLevels, Rows]:
    """The hierarchy of a column, or a flat one where it has none, with a level of groups to move values in.

    A hierarchy without a level between values and everything gets one in which each value is a group.
    """
    policy, column = policy_from(of["text"], of["folder"]), of["column"]
    said = said_of(policy, column)
    if said.hierarchy is None:
        said = _bare(said, FLAT)
    tree = levels_of(opened.table, column, said, policy)
    rows = tree.tree
    if len(rows[0]) == 2:
        rows = tuple((leaf, leaf, root) for leaf, root in rows)
    return tree, rows


def groups(opened: OpenTable, of: Of, level: int, find: str = "") -> dict[str, Any]:
    """What can be moved to another group of a level: labels of the level below, each with its group now.

    `number` is the place of a label among all of its level; the list is capped.
    """
    known = known_with(opened, of["text"], of["folder"], of["stamp"])
    tree, rows = tree_with_groups(opened, of)
    level = min(max(level, 1), len(rows[0]) - 2)
    sizes = {one.label: one for one in tree.groups(level - 1, known.persons)}
    group_of = dict.fromkeys(row[level - 1] for row in rows)
    group_of.update({row[level - 1]: row[level] for row in rows})
    plain = find.casefold()
    met = [
        (number, label, str(group))
        for number, (label, group) in enumerate(group_of.items())
        if not plain or plain in label.casefold() or plain in str(group).casefold()
    ]
    # the values of one group stand together
    order = {group: place for place, group in enumerate(dict.fromkeys(group_of.values()))}
    met.sort(key=lambda one: (order[one[2]], one[0]))
    return {
        "level": level,
        "most": len(rows[0]) - 2,
        "items": [_item(number, label, group, sizes.get(label)) for number, label, group in met[:MOST_SHOWN]],
        "found": len(met),
        "all": len(group_of),
        "groups": len(order),
        "names": list(order)[:MOST_SHOWN],
    }


def _item(number: int, label: str, group: str, size: Group | None) -> dict[str, Any]:
    return {"number": number, "label": label, "group": group, "people": 0 if size is None else size.people}


def labels_at(rows: Sequence[Sequence[str]], level: int) -> list[str]:
    """The labels of a level in the order in which they are numbered."""
    return list(dict.fromkeys(row[level] for row in rows))


QUESTIONS = {
    "hierarchies": overview,
    "hierarchy_problems": problems,
    "hierarchy_levels": levels,
    "hierarchy_values": values,
    "hierarchy_groups": groups,
    "risk_at": risk_at,
}
