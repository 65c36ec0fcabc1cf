"""Attacks as a page shows them: intervals and bounds on one scale, and what is not promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from incrowd.studio.jobs import DONE, Job

ORDER = ("broken", "inconclusive", "held", "no bound")
MOST_SHOWN = 200  # of those about which nothing is promised
BY_CLASS = "homogeneity-"  # the attack that names the commonest value of a class


def attacked(job: Job | None) -> dict[str, Any] | None:
    """What a job found; of one that runs, or was ended at once, what it has told so far. None: nothing yet.

    Nothing is held before all attacks were tried.
    """
    if job is None or isinstance(job.result, dict):
        return None if job is None else {"whole": job.state == DONE, **job.result}
    told = [part["attack"] for part in job.parts if "attack" in part]
    untried = [part["untried"] for part in job.parts if "untried" in part]
    if not told and not untried:
        return None
    broken = any(each["outcome"] == "broken" for each in told)
    return {
        "whole": False,
        "outcome": "broken" if broken else "inconclusive",
        "attacks": told,
        "untried": untried,
        "doubts": [],
        "notes": [],
        "k": None,
        "truth": "",
    }


def widest(attacks: Sequence[Mapping[str, Any]]) -> float:
    """The share at the right end of the scale: a little more than the largest that is shown."""
    shares = [share for each in attacks for share in _shares(each)]
    return min(1.25 * max(shares, default=1.0), 1.0) or 1.0


def _shares(each: Mapping[str, Any]) -> list[float]:
    rate = each["attack"]
    found = [rate["high"] if rate["tried"] else 0.0, 0.0 if each["limit"] is None else each["limit"]]
    return [*found, each["guess"]["share"]]


def attack_rows(attacks: Sequence[Mapping[str, Any]], scale: float) -> list[dict[str, Any]]:
    """The attacks, those that broke something first; marks from 0 to 100."""
    rows = [_row(each, scale) for each in attacks]
    return sorted(
        rows, key=lambda row: ORDER.index(row["outcome"]) if row["outcome"] in ORDER else len(ORDER)
    )


def gain(each: Mapping[str, Any]) -> float:
    """How much oftener an attack is right than guessing."""
    return float(each["attack"]["share"] - each["guess"]["share"])


def unpromised(attacks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Those without a bound, what gains most first, no more than a page can show."""
    without = [each for each in attacks if each["limit"] is None]
    return [_row(each, 1.0) for each in sorted(without, key=gain, reverse=True)[:MOST_SHOWN]]


def _row(each: Mapping[str, Any], scale: float) -> dict[str, Any]:
    rate = each["attack"]

    def place(share: float) -> float:
        return round(min(100 * share / scale, 100.0), 2)

    low, high = place(rate["low"]), place(rate["high"])
    return {
        **each,
        "tried": rate["tried"],
        "mark": place(rate["share"]),
        "from": low,
        "wide": max(round(high - low, 2), 0.4),
        "line": None if each["limit"] is None else place(each["limit"]),
        "blind": place(each["guess"]["share"]) if each["guess"]["tried"] else None,
    }


def remarks(found: Mapping[str, Any]) -> list[str]:
    """What nothing is promised about, and a publisher should know."""
    said = _of_values(found["attacks"])
    for each in found["attacks"]:
        name, won, details = each["name"], each["attack"]["won"], each["details"]
        if name == "composition":
            left = f"{won:,.0f} people ({_percent(each['attack'])})" if won else "nobody"
            said.append(f"The two releases together leave {left} fewer than {details['k']} candidates.")
        if name.startswith("composition-") and details.get("persons_with_one_value"):
            said.append(
                f"Two releases together leave one value of {name.removeprefix('composition-')} to "
                f"{details['persons_with_one_value']:,} people, one release alone to "
                f"{details['with_one_value_by_one_release']:,}."
            )
        if name == "suppression" and won:
            said.append(
                f"{won:,.0f} people fit no row: whoever knows that they are in the table knows they were "
                "left out. Lower max_suppression until nobody is."
            )
        if each["outcome"] == "held" and details.get("persons_below_k"):
            said.append(
                f"{name}: {details['persons_below_k']:,} people have fewer than "
                f"{found['k'] or 'k'} candidates, "
                "though success is within the bound on average."
            )
    return said


def _percent(rate: Mapping[str, Any]) -> str:
    return f"{100 * rate['share']:.1f} %"


def _of_values(attacks: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is learnt of sensitive values where nothing is promised about them: it breaks no promise."""
    open_ = [each for each in attacks if each["name"].startswith(BY_CLASS) and each["limit"] is None]
    if not open_:
        return []
    most, learnt = max(open_, key=gain), ""
    alone = [each for each in open_ if each["details"].get("persons_with_one_value")]
    if gain(most) > 0:
        column, right, guess = most["name"].removeprefix(BY_CLASS), most["attack"], most["guess"]
        learnt = (
            f" Most is learnt of {column}: the commonest value of a person's class is right for "
            f"{_percent(right)} of people, the commonest value of the table for {_percent(guess)}."
        )
    if alone:
        worst = max(each["details"]["persons_with_one_value"] for each in alone)
        columns = "1 sensitive column" if len(alone) == 1 else f"{len(alone):,} sensitive columns"
        learnt += (
            f" In {columns}, whole classes have one value, so that it is known of everybody in them (up to "
            f"{worst:,} people); an l of 2 or more rules that out."
        )
    return [f"How often somebody's sensitive value can be guessed is not promised.{learnt}"] if learnt else []
