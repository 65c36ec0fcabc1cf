"""`inspect`: look at a table before anything is promised; columns, suggested roles, risks, a first policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Literal, overload

from incrowd import tables
from incrowd.commands.inspect.costs import PolicyCosts, cost_of_columns, suggested_demand
from incrowd.commands.inspect.inspection import Inspection, inspected
from incrowd.commands.inspect.known_columns import KnownColumns
from incrowd.commands.inspect.levels import LevelCounts
from incrowd.commands.inspect.policy_text import policy_text
from incrowd.commands.inspect.profile import Profile, decided, profiled
from incrowd.commands.inspect.risks import Risk
from incrowd.errors import InputError, option
from incrowd.flow import Table
from incrowd.long_work import Watch, unwatched
from incrowd.policy import Policy, needed
from incrowd.publishing.memory_limit import check_fits

__all__ = [
    "Inspection",
    "KnownColumns",
    "PolicyCosts",
    "Profile",
    "decided",
    "inspect",
    "level_counts",
    "policy_text",
    "risk_of",
]

GivenPolicy = Policy | Mapping[str, Any] | str | PathLike[str]


@overload
def inspect(
    table: object,
    policy: None = None,
    *,
    costs: Literal[False] = False,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Profile: ...
@overload
def inspect(
    table: object,
    policy: object,
    *,
    costs: Literal[True],
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> PolicyCosts: ...
@overload
def inspect(
    table: object,
    policy: None = None,
    *,
    risk: Sequence[Sequence[str]],
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Inspection: ...
@overload
def inspect(
    table: object,
    policy: GivenPolicy,
    *,
    risk: Sequence[Sequence[str]] = (),
    levels: Sequence[str] = (),
    preview: int = 0,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Inspection: ...
def inspect(
    table: object,
    policy: object = None,
    *,
    risk: Sequence[Sequence[str]] = (),
    levels: Sequence[str] = (),
    preview: int = 0,
    costs: bool = False,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Profile | PolicyCosts | Inspection:
    """Look at a table: kinds, missing values, suggested roles with reasons, and who is unique.

    Parameters
    ----------
    table : path or frame
        CSV, TSV (also .gz) or Parquet file; pandas, polars or Arrow frame.
    policy : Policy, dict or path
        Look at the table as this policy reads it: the risk of its quasi-identifiers, and what is asked below.
    risk : sequence of sequences of str
        Columns that somebody may know together; the risk of each such set is counted.
    levels : sequence of str
        Columns with a hierarchy, or ``["all"]``: how many labels each level has, how small the smallest
        group is.
    preview : int
        So many records before and after, from a draft that is never written. It shows original records.
    costs : bool
        Measure what each quasi-identifier costs the others, and advise.
    memory : str or int, optional
        What may be used, such as "20GB"; half of the machine's memory by default. More is refused.

    Returns
    -------
    Profile, Inspection or PolicyCosts
        ``policy_text(profile, name)`` makes a first policy of a profile, with comments. A profile and an
        inspection have ``risk_of(columns)``, which is quick for every further set. Costs have an
        ``improved`` policy.
    """
    asked = needed(policy) if costs else Policy.of(policy)
    if costs and (risk or levels or preview):
        raise InputError(
            f"costs are measured by themselves; leave out {option('risk')}, {option('levels')} and "
            f"{option('preview')}, or {option('costs', True)}"
        )
    check_fits("inspect", [table], memory)
    read = _read(table, watch)
    if costs and asked is not None:
        return cost_of_columns(read, asked, watch)
    watch("inspect")
    if asked is not None or risk or levels or preview:
        return inspected(read, asked, risk, levels, preview, watch)
    profile = profiled(read)
    return replace(profile, demand=suggested_demand(read, profile))


def risk_of(
    table: object,
    columns: Sequence[str],
    policy: object = None,
    *,
    k: int | None = None,
    levels: Mapping[str, int] | None = None,
) -> Risk:
    """How exposed people are to somebody who knows just these columns, as the table stands.

    `levels` puts columns at a level of their hierarchy in the policy. Who asks again and again makes a
    `KnownColumns` once: the table is then read, and each column numbered, a single time.

    Examples
    --------
    >>> table = Table.of({"age": ["30", "30", "41"], "sex": ["F", "M", "F"]})
    >>> risk = risk_of(table, ["age", "sex"])
    >>> risk.unique, risk.highest
    (3, 1.0)
    """
    return KnownColumns.of(_read(table), Policy.of(policy)).risk_of(columns, k, levels)


def level_counts(
    table: object, column: str, policy: object = None, *, hierarchy: object = None, k: int | None = None
) -> LevelCounts:
    """How many labels each level of a column's hierarchy has, and how small its smallest group is.

    The hierarchy is that of the policy, or a file or builder as a policy would name it.

    Examples
    --------
    >>> table = Table.of({"zip": ["123", "124", "223", "224"]})
    >>> found = level_counts(table, "zip", hierarchy={"prefix": [1]}, k=3)
    >>> [(level.labels, level.smallest, level.below_k) for level in found.levels]
    [(4, 1, 4), (2, 2, 4), (1, 4, 0)]
    """
    given = Policy.of(policy)
    if hierarchy is not None:
        parts: dict[str, Any] = {"quasi_identifiers": {column: {"hierarchy": hierarchy}}}
        parts |= {} if given is None else {"missing": list(given.missing), "entity": given.entity}
        given = Policy.from_dict(parts, folder=None if given is None else given.folder)
    return KnownColumns.of(_read(table), needed(given)).level_counts(column, k)


def _read(table: object, watch: Watch = unwatched) -> Table:
    watch("read")
    return table if isinstance(table, Table) else tables.read(table)
