"""The form of the guarantee: from what is typed to keys of the policy, with a reason beside what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

K_OFFERED = ("5", "10", "20")
L_KINDS = {
    "distinct": "different values",
    "entropy": "as uncertain as l equally frequent values (entropy)",
    "recursive": "no value too frequent beside the rare ones (recursive)",
    "frequency": "no value above 1 in l (frequency)",
}
T_DISTANCES = {
    "equal": "all values are equally far apart",
    "ordered": "by their order: numbers, dates, ordered values",
    "hierarchical": "by their hierarchy",
}
TEXTS = ("k", "k_own", "l", "l_kind", "c", "t", "t_distance", "p", "d", "max_suppression")
Change = tuple[tuple[str, ...], Any]


@dataclass
class Typed:
    """What was typed, what it changes in the policy, and what is wrong, by control."""

    fields: dict[str, str]
    changes: list[Change] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)


def fields_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """The fields for what the policy says."""
    privacy = facts["privacy"]
    plain = privacy.get("plain", {})
    k = str(privacy.get("k", ""))
    share = privacy.get("max_suppression")
    return {
        "k": k if k in K_OFFERED else "own" if k else "",
        "k_own": "" if k in K_OFFERED else k,
        "l": str(privacy.get("l", "")),
        "l_kind": str(privacy.get("l_kind", "distinct")),
        "c": str(privacy.get("c", "")),
        "t": str(privacy.get("t", "")),
        "t_distance": str(privacy.get("t_distance", "equal")),
        "p": str(plain.get("p", "")),
        "d": str(plain.get("d", "")),
        "max_suppression": "" if share is None else _plain_text(Decimal(str(share)) * 100),
        "totals": "yes" if facts["totals"] else "",
    }


def _plain_text(number: Decimal) -> str:
    text = format(number.normalize(), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def typed(form: Mapping[str, Sequence[str]], facts: Mapping[str, Any]) -> Typed:
    """Read the form, and find out what it changes; what cannot be read has a sentence beside it."""
    now = fields_of(facts)
    fields = {name: (form.get(name) or [""])[-1].strip()[:40] for name in (*TEXTS, "totals")}
    found = Typed(fields)
    _read_k(found, now)
    _read_l(found, now)
    _read_t(found, now)
    _read_plain(found, facts)
    _read_share(found, now)
    if fields["totals"] != now["totals"]:
        found.changes.append((("totals",), bool(fields["totals"])))
        found.labels.append("totals" if fields["totals"] else "no totals")
    return found


def _read_k(found: Typed, now: Mapping[str, str]) -> None:
    k = found.fields["k_own"] if found.fields["k"] == "own" else found.fields["k"]
    was = now["k_own"] if now["k"] == "own" else now["k"]
    if k == was:
        return
    if not re.fullmatch(r"[0-9]{1,9}", k) or int(k) < 2:
        found.problems["k"] = "k is a whole number of at least 2."
        return
    found.changes.append((("privacy", "k"), int(k)))
    found.labels.append(f"k to {k}")


def _read_l(found: Typed, now: Mapping[str, str]) -> None:
    fields = found.fields
    asked = {"l": fields["l"], "l_kind": fields["l_kind"] if fields["l"] else "", "c": fields["c"]}
    if asked["l_kind"] != "recursive":
        asked["c"] = ""
    before = {"l": now["l"], "l_kind": now["l_kind"] if now["l"] else "", "c": now["c"]}
    if asked == before:
        return
    number = _exact(asked["l"])
    if asked["l"] and (number is None or number <= 1):
        found.problems["l"] = "l is a number above 1, such as 3; empty asks for nothing."
        return
    if asked["l_kind"] and asked["l_kind"] not in L_KINDS:
        found.problems["l"] = "Choose one of the kinds of l-diversity."
        return
    c = _exact(asked["c"])
    if asked["l_kind"] == "recursive" and (c is None or c <= 0):
        found.problems["c"] = "Recursive (c,l)-diversity needs c, a number above 0 such as 2."
        return
    kind = None if asked["l_kind"] in ("", "distinct") else asked["l_kind"]
    found.changes += [
        (("privacy", "l"), _written(number)),
        (("privacy", "l_kind"), kind),
        (("privacy", "c"), _written(c)),
    ]
    found.labels.append(f"l to {asked['l']}{f', {kind}' if kind else ''}" if asked["l"] else "no l")


def _read_t(found: Typed, now: Mapping[str, str]) -> None:
    asked = (found.fields["t"], found.fields["t_distance"] if found.fields["t"] else "")
    if asked == (now["t"], now["t_distance"] if now["t"] else ""):
        return
    number = _exact(asked[0])
    if asked[0] and (number is None or not 0 < number <= 1):
        found.problems["t"] = "t is a distance above 0 and at most 1, such as 0.2; empty asks for nothing."
        return
    if asked[1] and asked[1] not in T_DISTANCES:
        found.problems["t"] = "Choose one of the distances."
        return
    distance = None if asked[1] in ("", "equal") else asked[1]
    found.changes += [(("privacy", "t"), _written(number)), (("privacy", "t_distance"), distance)]
    found.labels.append(f"t to {asked[0]}" if asked[0] else "no t")


def _read_plain(found: Typed, facts: Mapping[str, Any]) -> None:
    now = fields_of(facts)
    p, d = found.fields["p"], found.fields["d"]
    if (p, d) == (now["p"], now["d"]):
        return
    if not p and not d:
        found.changes.append((("privacy", "plain"), None))
        found.labels.append("outliers not hidden")
        return
    share, distance = _exact(p), _exact(d)
    if share is None or not 0 < share <= 1 or distance is None or distance <= 0:
        found.problems["plain"] = "p is above 0 and at most 1, and d above 0: give both, or neither."
        return
    found.changes += plain_changes(p, d)
    found.labels.append(f"outliers hidden: p = {p}, d = {d}")


def plain_changes(p: str, d: str) -> list[Change]:
    """Hide outliers by these numbers; whatever else is said about outliers stays."""
    return [
        (("privacy", "plain", "p"), _written(Decimal(p))),
        (("privacy", "plain", "d"), _written(Decimal(d))),
    ]


def _read_share(found: Typed, now: Mapping[str, str]) -> None:
    asked = found.fields["max_suppression"].removesuffix("%").strip()
    if asked == now["max_suppression"]:
        return
    number = _exact(asked)
    if asked and (number is None or not 0 <= number <= 100):
        found.problems["max_suppression"] = "This is a share from 0 to 100 %."
        return
    share = None if number is None else number / 100
    found.changes.append((("privacy", "max_suppression"), _written(share)))
    found.labels.append(f"at most {asked} % left out" if asked else "nobody left out")


def _exact(text: str) -> Decimal | None:
    """A number as it was typed; None if it is none, or has more digits than are kept."""
    if not re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,8})?", text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _written(number: Decimal | None) -> int | float | None:
    """As a policy file has it: at most fifteen digits, so the nearest float writes the same ones."""
    if number is None:
        return None
    return int(number) if number == number.to_integral_value() else float(number)
