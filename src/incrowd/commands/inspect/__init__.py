"""`inspect`: look at a table before anything is promised; columns, suggested roles, risks, a first policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, overload

from incrowd import tables
from incrowd.commands.inspect.costs import PolicyCosts, cost_of_columns, suggested_demand
from incrowd.commands.inspect.policy_text import policy_text
from incrowd.commands.inspect.profile import Profile, decided, profiled
from incrowd.errors import InputError, option
from incrowd.flow import Table
from incrowd.long_work import Watch, unwatched
from incrowd.policy import needed

__all__ = ["PolicyCosts", "Profile", "decided", "inspect", "policy_text"]


@overload
def inspect(
    table: object, policy: None = None, *, costs: Literal[False] = False, watch: Watch = unwatched
) -> Profile: ...
@overload
def inspect(
    table: object, policy: object, *, costs: Literal[True], watch: Watch = unwatched
) -> PolicyCosts: ...
def inspect(
    table: object, policy: object = None, *, costs: bool = False, watch: Watch = unwatched
) -> Profile | PolicyCosts:
    """Look at a table: kinds, missing values, suggested roles with reasons, and who is unique.

    Parameters
    ----------
    table : path or frame
        CSV, TSV (also .gz) or Parquet file; pandas, polars or Arrow frame.
    policy : Policy, dict or path
        With `costs`: the policy whose quasi-identifiers are looked at.
    costs : bool
        Measure what each quasi-identifier costs the others, and advise.

    Returns
    -------
    Profile or PolicyCosts
        ``policy_text(profile, name)`` makes a first policy of a profile, with comments. Costs have an
        ``improved`` policy.
    """
    if policy is not None and not costs:
        raise InputError(
            f"without {option('costs', True)} a table is inspected by itself; leave out {option('policy')}"
        )
    asked = needed(policy) if costs else None
    watch("read")
    read = table if isinstance(table, Table) else tables.read(table)
    if asked is not None:
        return cost_of_columns(read, asked, watch)
    watch("inspect")
    profile = profiled(read)
    return replace(profile, demand=suggested_demand(read, profile))
