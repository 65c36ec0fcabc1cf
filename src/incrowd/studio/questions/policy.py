"""Questions about policies: a first one, what a text says, and what an edit makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from incrowd.commands.inspect import policy_text
from incrowd.policy import Policy, PolicyText
from incrowd.policy.exposures import EXPOSURES
from incrowd.schema import Role
from incrowd.studio.questions.open_table import OpenTable, policy_from
from incrowd.values import same_name


def first_policy(opened: OpenTable, name: str) -> str:
    """The policy that `inspect` proposes, with its comments."""
    return policy_text(opened.profile, name)


def policy_facts(opened: OpenTable, text: str, folder: str) -> dict[str, Any]:
    """What a policy says of this table: the role of every column, the promise, and what does not fit."""
    policy = policy_from(text, folder)
    roles = dict(policy.roles())
    rest = Role.DROP if policy.rest == "drop" else None
    names = opened.table.names
    known = {same_name(name) for name in names}
    return {
        "roles": {name: str(roles.get(same_name(name), rest or "")) for name in names},
        "described": {
            name: (
                said.model_dump(mode="json", exclude_defaults=True) if (said := _said(policy, name)) else {}
            )
            for name in names
        },
        "absent": [name for name in roles if name not in known],
        "without_role": policy.unmentioned(names) if policy.rest is None else [],
        "missing": list(policy.missing),
        "entity": policy.entity,
        "privacy": policy.privacy.model_dump(mode="json", exclude_none=True),
        "method": policy.method,
        "options": policy.to_dict().get("options", {}),
        "accept": list(policy.accept),
        "totals": policy.totals,
        "keys": sorted(policy.to_dict()),
    }


def _said(policy: Policy, name: str) -> Any:
    plain = same_name(name)
    return policy.quasi_identifiers.get(plain) or policy.sensitive.get(plain)


def edited(
    _opened: OpenTable | None,
    text: str,
    folder: str,
    changes: Sequence[tuple[Sequence[str], Any]] = (),
    roles: Sequence[tuple[str, str]] = (),
    gone: Sequence[str] = (),
) -> str:
    """The policy with keys set (None takes one out), columns in other roles, or gone; comments stay."""
    policy = PolicyText(text, Path(folder))
    if gone:
        policy = policy.without(gone)
    for column, role in roles:
        policy = policy.role(column, role)
    if changes:
        policy = policy.set_all([(tuple(keys), value) for keys, value in changes])
    return policy.text


def checked(_opened: OpenTable | None, text: str, folder: str) -> bool:
    """Is this text a policy? If not, the error says why."""
    PolicyText(text, Path(folder))
    return True


def exposures(_opened: OpenTable | None) -> dict[str, str]:
    """The known exposures by name, and what each gives away."""
    return {known.name: known.meaning for known in EXPOSURES}


QUESTIONS = {
    "first_policy": first_policy,
    "policy": policy_facts,
    "edited": edited,
    "checked": checked,
    "exposures": exposures,
}
