"""Questions of the screen Compare: which methods fit a policy, what trials weigh, what one would change."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from incrowd.algorithms.base import K_EQUAL_ROWS, all_methods, method
from incrowd.commands.compare import KS, QUICK, WITHOUT, trial_policy, unfit
from incrowd.commands.comparison import AXES, E2, MEASURES, Comparison, Level, Trial, TrialResult
from incrowd.commands.inspect.preview import Preview, previewed
from incrowd.errors import IncrowdError
from incrowd.policy import Policy
from incrowd.reports.cell_words import shown_cell
from incrowd.schema import Role
from incrowd.studio.questions.open_table import OpenTable, policy_from
from incrowd.studio.words import METHODS

CHOSEN_BY_A_TRIAL = ("method", "options")  # keys of a policy that each trial has for itself
SHARES = ("gcp", E2, "tree")  # measures from 0 to 1, which are written in percent
SURE = 1e-9  # of a risk that is a division of whole numbers


def comparable(_opened: OpenTable | None, text: str, folder: str) -> dict[str, Any]:
    """All methods: which are quick, what each promises besides equal rows, and why one does not fit."""
    policy = policy_from(text, folder)
    k = policy.privacy.k or KS[-2]
    return {
        "methods": [
            {
                "name": name,
                "quick": name in QUICK,
                "own": name == policy.method,
                "how": METHODS.get(name, (recipe.__doc__ or "").partition("\n")[0].rstrip(".")),
                "guarantee": recipe.guarantee.removeprefix(K_EQUAL_ROWS).removeprefix("; "),
                **_reasons(policy, name, k),
            }
            for name, recipe in all_methods().items()
        ],
        "measures": [{"name": name, "words": AXES.get(name, name)} for name in MEASURES],
        "ks": sorted({*KS, *([policy.privacy.k] if policy.privacy.k else [])}),
        "ground": _ground(policy),
        "options": json.dumps(policy.to_dict().get("options", {}), sort_keys=True),
    }


def _reasons(policy: Policy, name: str, k: int) -> dict[str, str]:
    """Why a method goes with the policy under no l; else, why not under the policy's own."""
    reason = _reason(policy, name, k, None)
    if not reason or policy.privacy.l is None or _reason(policy, name, k, WITHOUT):
        return {"reason": reason, "only_without_l": ""}
    return {"reason": "", "only_without_l": reason}


def _reason(policy: Policy, name: str, k: int, level: Level) -> str:
    try:
        return unfit(trial_policy(policy, name, k, level))
    except IncrowdError as error:
        return str(error)


def _ground(policy: Policy) -> str:
    """What all trials have in common: a digest of the policy without method, options, k and l."""
    parts = {key: said for key, said in policy.to_dict().items() if key not in CHOSEN_BY_A_TRIAL}
    parts["privacy"] = {key: said for key, said in parts.get("privacy", {}).items() if key not in ("k", "l")}
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def trade_off(
    _opened: OpenTable | None,
    trials: Sequence[Mapping[str, Any]],
    measure: str,
    own: tuple[str, int | None, Level],
    limit: int | None = None,
    chosen: str = "",
    link: str = "",
) -> dict[str, Any]:
    """Which trials no other beats, the least loss below a risk, and the picture with what is chosen.

    Without a chosen one it is what is proposed, or without a limit the policy's own.
    """
    found = Comparison(tuple(_trial(said, own) for said in trials))
    done = found.by(measure)
    proposed = next((trial.id for trial, result in done if _within(result.risk, limit)), "") if limit else ""
    mine = next((trial.id for trial, _ in done if trial.own), "")
    known = {trial.id for trial, _ in done}
    first = done[0][0].id if done else ""
    at = chosen if chosen in known else (proposed or mine or first)
    said = {
        "order": [trial.id for trial, _ in done],
        "frontier": [trial.id for trial in found.frontier(measure)],
        "proposed": proposed,
        "better": _better(done, at, measure),
        "own": mine,
        "chosen": at,
        "wide": "",
        "narrow": "",
    }
    if not done:
        return said
    chart = found.chart(measure, link)
    points = tuple(replace(point, chosen=point.id == at) for point in chart.points)
    chart = replace(chart, points=points, shares=measure in SHARES, limit=1 / limit if limit else None)
    return said | {
        "wide": chart.svg(prefix="wide-"),
        "narrow": chart.svg(narrow=True, prefix="narrow-"),
    }


def _better(done: Sequence[tuple[Trial, TrialResult]], at: str, measure: str) -> str:
    """The trial of least loss that is as safe as this one, loses less and promises no less; or none.

    Equivalence classes, rows that overlap, buckets and joins promise different things.
    """
    for chosen, mine in done:
        if chosen.id != at:
            continue
        for trial, other in done:
            less = other.loss[measure] < mine.loss[measure]
            as_safe = trial.k >= chosen.k and other.risk <= mine.risk * (1 + SURE)
            alike = _promised(trial) == _promised(chosen)
            if less and as_safe and alike:
                return trial.id
    return ""


def _promised(trial: Trial) -> tuple[Level, bool, bool, bool]:
    recipe = method(trial.method)
    return trial.l, recipe.overlapping, recipe.buckets, recipe.joins


def _within(risk: float, limit: int) -> bool:
    return risk * limit <= 1 + SURE


def _trial(said: Mapping[str, Any], own: tuple[str, int | None, Level]) -> Trial:
    """A trial as a job has kept it; whether it is the policy's own is asked of the policy as it is now."""
    result = None
    if "risk" in said:
        parts = {name: said[name] for name in TrialResult.__slots__}
        result = TrialResult.read({**parts, "words": list(parts["words"])})
    is_own = (said["method"], said["k"], said["l"]) == tuple(own)
    return Trial(said["method"], said["k"], said["l"], result, said["reason"], is_own)


def trial_changes(
    _opened: OpenTable | None,
    text: str,
    folder: str,
    trial: tuple[str, int, Level],
    options: str,
) -> list[tuple[list[str], Any]]:
    """The keys that make a policy ask for just what a trial did.

    `options`, as JSON, are those that it was made with.
    """
    policy = policy_from(text, folder)
    name, k, level = trial
    wanted = trial_policy(policy, name, k, WITHOUT if level is None else level).to_dict()
    wanted["options"] = json.loads(options)
    old = policy.to_dict()
    changes: list[tuple[list[str], Any]] = []
    for key in ("method", "options", "public"):
        if (old.get(key) or None) != (wanted.get(key) or None):
            changes.append(([key], wanted.get(key) or None))
    before, after = old.get("privacy", {}), wanted.get("privacy", {})
    changes += [
        (["privacy", key], after.get(key))
        for key in dict.fromkeys((*before, *after))
        if before.get(key) != after.get(key)
    ]
    return changes


def record_of_trial(
    opened: OpenTable, text: str, folder: str, trial: tuple[str, int, Level], count: int = 1
) -> dict[str, Any]:
    """What records become with a trial: from a draft that is neither verified nor written."""
    policy = policy_from(text, folder)
    name, k, level = trial
    asked = trial_policy(policy, name, k, WITHOUT if level is None else level)
    return shown_records(previewed(opened.table, asked, count))


def shown_records(found: Preview) -> dict[str, Any]:
    """Records of a preview; a cell of many values is cut, and what it means is beside it."""
    said = found.to_dict()
    for record in said["records"]:
        for cell in record["cells"]:
            cell["shown"] = shown_cell(cell["after"]) if cell["role"] == Role.QUASI else cell["after"]
    return said


QUESTIONS = {
    "comparable": comparable,
    "trade_off": trade_off,
    "trial_changes": trial_changes,
    "record_of_trial": record_of_trial,
}
