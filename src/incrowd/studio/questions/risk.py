"""Questions about risk: who stands alone in the quasi-identifiers, in one column, in three."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from incrowd.commands.inspect import KnownColumns
from incrowd.errors import IncrowdError
from incrowd.policy import Policy
from incrowd.policy.columns import UNIQUE_SHARE, near_unique
from incrowd.policy.exposures import NEAR_UNIQUE_KEEP, NEAR_UNIQUE_SENSITIVE
from incrowd.schema import Role
from incrowd.studio.questions.open_table import OpenTable, policy_from
from incrowd.values import same_name

SHOWN_TRIPLES = 4
PUBLISHED_UNCHANGED = (Role.SENSITIVE, Role.KEEP)
QUICK_ROWS = 100_000_000  # that may be read to find the worst triples while somebody waits


def risk(opened: OpenTable, text: str, folder: str) -> dict[str, Any] | None:
    """The risk of a policy's quasi-identifiers over all rows; None if it has none."""
    known = opened.known(text, folder)
    names = known.quasi_identifiers()
    if not names:
        return None
    policy = known.policy
    return asdict(known.risk_of(names, None if policy is None else policy.privacy.k)) | {
        "persons": known.persons is not None
    }


def one_column(opened: OpenTable, text: str, folder: str) -> dict[str, dict[str, Any]]:
    """For each column by itself: among how many people one is left to guess, and how many stand alone."""
    policy = policy_from(text, folder)
    return {name: _alone(opened, policy, name) for name in opened.table.names}


def _alone(opened: OpenTable, policy: Policy, name: str) -> dict[str, Any]:
    key = ("one column", name, _reading(policy, name))
    if key not in opened.remembered:
        opened.remembered[key] = _counted_alone(opened, policy, name)
    found: dict[str, Any] = opened.remembered[key]
    return found


def _counted_alone(opened: OpenTable, policy: Policy, name: str) -> dict[str, Any]:
    try:
        found = KnownColumns.of(opened.table, policy).risk_of([name])
    except IncrowdError as error:
        return {"people": None, "alone": 0, "problem": error.on_the_command_line}
    return {"people": found.mean_size, "alone": found.unique}


def reads(opened: OpenTable, text: str, folder: str, column: str) -> bool:
    """Can the values of a column be read as a policy says? If not, the error says how many cannot."""
    KnownColumns.of(opened.table, policy_from(text, folder)).codes(column)
    return True


def _reading(policy: Policy | None, name: str) -> tuple[Any, ...]:
    """All that decides how a column is numbered."""
    if policy is None:
        return ()
    plain = same_name(name)
    said = policy.quasi_identifiers.get(plain) or policy.sensitive.get(plain)
    described = None if said is None else said.model_dump_json()
    return described, policy.missing, policy.entity


def told(opened: OpenTable, text: str, folder: str) -> dict[str, Any]:
    """What few facts tell: which quasi-identifiers, and which columns that are published unchanged."""
    return {"known": triples(opened, text, folder), "unchanged": unchanged(opened, text, folder)}


def triples(opened: OpenTable, text: str, folder: str) -> dict[str, Any]:
    """The three quasi-identifiers (two, if there are no more) that single out most people; what was left out.

    Where people have several rows they are ranked by rows, and counted by people.
    """
    known = opened.known(text, folder)
    names = known.quasi_identifiers()
    found, bounded = known.telling(names, SHOWN_TRIPLES, QUICK_ROWS) if len(names) > 1 else ((), "")
    return {
        "bounded": bounded,
        "worst": [
            {
                "columns": list(one.columns),
                "unique": one.unique if known.persons is None else known.risk_of(one.columns).unique,
            }
            for one in found
        ],
    }


def unchanged(opened: OpenTable, text: str, folder: str) -> dict[str, Any]:
    """Columns that are published as they are, and which of them, or two together, single out many rows."""
    known = opened.known(text, folder)
    roles = dict(known.policy.roles()) if known.policy is not None else {}
    names = [name for name in opened.table.names if roles.get(same_name(name)) in PUBLISHED_UNCHANGED]
    key = ("unchanged", *((name, _reading(known.policy, name)) for name in names))
    if key not in opened.remembered:
        found = known.isolating(names, QUICK_ROWS) if names else ()
        opened.remembered[key] = [{"columns": list(one.columns), "unique": one.unique} for one in found]
    return {"columns": len(names), "found": opened.remembered[key][:SHOWN_TRIPLES]}


def near_unique_columns(opened: OpenTable, text: str, folder: str) -> list[dict[str, Any]]:
    """Columns that are published unchanged though their values single people out, and the exposure's name."""
    policy = policy_from(text, folder)
    rows = len(opened.table)
    found = []
    by_plain = {same_name(name): name for name in opened.table.names}
    for plain, role in policy.roles():
        name = by_plain.get(plain)
        if name is None or role not in PUBLISHED_UNCHANGED:
            continue
        count = _alone(opened, policy, name)["alone"]
        exposure = None
        if role is Role.KEEP and count > UNIQUE_SHARE * rows:
            exposure = NEAR_UNIQUE_KEEP
        elif role is Role.SENSITIVE and near_unique(count, rows):
            exposure = NEAR_UNIQUE_SENSITIVE
        if exposure is not None:
            found.append(
                {
                    "column": name,
                    "alone": count,
                    "exposure": exposure.name,
                    "meaning": exposure.meaning,
                    "accepted": exposure.accepted(policy.accept),
                }
            )
    return found


QUESTIONS = {
    "risk": risk,
    "one_column": one_column,
    "told": told,
    "reads": reads,
    "near_unique": near_unique_columns,
}
