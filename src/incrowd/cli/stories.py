"""Results in words, for people at a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from incrowd.algorithms.base import Algorithm
from incrowd.cli import screen
from incrowd.commands.inspect.profile import Profile
from incrowd.publishing.disclosure import (
    MOST_GIVEN_AWAY,
    Disclosure,
    PresenceDisclosure,
    ValueDisclosure,
)
from incrowd.publishing.pipeline import Written
from incrowd.schema import Check, Role, Verdict

SHOWN_COMBINATIONS = 5
SHOWN_PER_COLUMN = ("gcp", "entropy", "tree")  # more would not fit a line; --json has all
MEANINGS = {
    "gcp": "mean share of each domain that a cell covers: 0 nothing was generalised, 1 nothing is left",
    "c_avg": "mean class size in units of k; 1 is ideal",
    "dm": "sum of squared class sizes",
    "ncp": "sum of the shares that cells cover",
    "ncp_perimeter": "sum of the perimeters of all rows' boxes, in the columns' units",
    "entropy": "mean bits of a value that a cell hides",
    "il": "information loss as the outliers paper prints it, summed over columns",
    "il_zero": "the same, an exact number costing nothing",
    "tree": "mean height of the published nodes",
}
CLASSES = {
    "k": "every row occurs k times",
    "1k": "every person fits k rows",
    "k1": "every row fits k persons",
    "kk": "both",
    "global_1k": "every person has k rows that nobody can rule out",
    "global_k1": "every row has k persons that nobody can rule out",
    "k_factor": "a draw exists in which no match is likelier than 1/k",
}
CHECKS = {
    "files": "nothing but the manifest and the data, byte for byte as it says",
    "manifest": "it says what was asked for, neither more nor less",
    "schema": "exactly the columns that may be published",
    "cells": "every cell can be read and means something in its column",
    "rows": "no row was added, and none lost but those that may be left out",
    "private": "sensitive and kept values are those of the original",
    "truth": "every row is true of a record of its own",
    "sensitive": "the values of each group are those of the records behind its rows",
    "order": "the rows do not stand in the order of the original",
    "domains": "the manifest names only values that the cells name",
    "levels": "every cell stands at the level of its hierarchy that the manifest says",
    "odds": "a draw as even as the manifest says is possible",
    "means": "class means are right, and none is of fewer than five values",
}


def show_profile(profile: Profile, source: Path, output: Path | None) -> None:
    """What `inspect` found, and what to do next."""
    out = screen.console()
    rows = [
        (c.name, str(c.kind), f"{c.distinct:,}", f"{c.missing:,}", f"{c.once:,}", _plain(c.role))
        for c in profile.columns
    ]
    header = ("column", "kind", "distinct", "missing", "once", "suggested role")
    out.print(screen.table(f"{source.name}: {profile.rows:,} rows", header, rows))
    out.print("Why these roles:")
    for (role, reason), names in _reasons(profile).items():
        out.print(f"  {', '.join(names)}: {_plain(role)}; {reason}")
    risk = profile.risk
    if risk.columns:
        out.print(
            f"Risk now: {risk.unique:,} of {profile.rows:,} rows are the only one with their suggested "
            f"quasi-identifiers; {risk.below_10:,} have fewer than nine others like them."
        )
    for found in profile.combinations[:SHOWN_COMBINATIONS]:
        out.print(f"  {' + '.join(found.columns)} are enough to single out {found.unique:,} rows")
    if profile.bounded:
        out.print(profile.bounded)
    if output is None:
        out.print(f"Next: incrowd inspect {quote(str(source))} -o policy.toml")
    else:
        out.print(f"Wrote {output}. Read it, change what is wrong, then:")
        out.print(f"  incrowd publish {quote(str(source))} -p {quote(str(output))} -o release")


def _plain(role: Role) -> str:
    return str(role).replace("_", "-")


def _reasons(profile: Profile) -> dict[tuple[Role, str], list[str]]:
    """Columns by their suggested role and its reason: the same reason is told once."""
    found: dict[tuple[Role, str], list[str]] = {}
    for column in profile.columns:
        found.setdefault((column.role, column.reason), []).append(column.name)
    return found


def _said(value: object) -> str:
    """A parameter as text; a table of them in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return str(value)


def show_release(written: Written, source: Path, joined: Path | None = None) -> None:
    """A release on disk: what it promises, what it lost, what to do next."""
    out = screen.console()
    facts = written.verdict.facts
    odds = written.manifest.get("match_probability")
    buckets, public = written.manifest.get("apart"), written.manifest.get("public")
    out.print(f"Published {facts['rows']:,} rows {_kind(facts, odds, buckets, public)} to {written.folder}")
    for claim in written.manifest["claims"]:
        about = f" for {claim['column']}" if claim.get("column") else ""
        numbers = ", ".join(f"{name} = {_said(value)}" for name, value in claim["parameters"].items())
        out.print(f"  promised and verified: {claim['model']}{about} ({numbers})")
    if buckets is not None:
        out.print(f"  the smallest group has {facts['smallest_group']:,} persons")
    if buckets is not None and public is None:
        out.print("  NOT protected: who is in the table, and everybody's row (accepted: exact-rows)")
    elif odds is not None:
        out.print(f"  {_draw(odds, written.manifest['accepted'])}")
    else:
        out.print(f"  the smallest class has {facts['smallest_class']:,} persons")
    for line in _told(written.disclosure):
        out.print(f"  {line}")
    if levels := written.manifest.get("levels"):
        out.print(f"  levels: {_said(levels)}")
    if gone := facts.get("suppressed", 0):
        out.print(
            f"  left out: {gone:,} of {facts['rows'] + gone:,} records; the release does not say how many"
        )
    out.print(f"  lost: {written.loss['gcp']:.2%} of what the quasi-identifiers said (gcp)")
    for warning in written.warnings:
        out.print(f"  note: {warning}")
    out.print(f"Private, not to be published: {written.audit}")
    both = "" if joined is None else f" --public {quote(str(joined))}"
    out.print(f"Next: incrowd verify {quote(str(written.folder))} --original {quote(str(source))}{both}")


def _kind(facts: Mapping[str, Any], odds: object, buckets: object, public: object) -> str:
    """What kind of rows they are."""
    values = "" if buckets is None else f", and their sensitive values apart in {facts['groups']:,} groups,"
    if buckets is not None and public is None:
        return f"as they are{values}"
    if odds is not None:
        return f"that say {facts['classes']:,} different things"
    return f"in {facts['classes']:,} classes{values}"


def _told(told: Disclosure | None) -> list[str]:
    """What the release tells beyond the promise."""
    if told is None:
        return []
    if isinstance(told, PresenceDisclosure):
        return _standing_in(told)
    if isinstance(told, ValueDisclosure):
        return [
            "not promised: who learns from all groups how values go with rows guesses "
            f"{told.rate.share:.0%} of them, by the group alone {told.blind.share:.0%}"
        ]
    hint = "; to prevent it, --set hide_rows=true" if told.share >= MOST_GIVEN_AWAY and told.after_one else ""
    lines = [
        f"not promised: comparing rows gives away the quasi-identifiers of {told.rows.records:,} persons "
        f"({told.share:.1%}), though not whose row is whose{hint}"
    ]
    after = told.after_one
    if after is not None:
        chance = str(after.exact) if after.exact is not None else f"about {after.share:.3f}"
        lines.append(
            f"not promised: whoever knows one person's row finds another's with a chance of {chance}"
        )
    return lines


def _standing_in(told: PresenceDisclosure) -> list[str]:
    """Whose rows there are, and what that tells about who is in the private table."""
    found, people = told.presence, told.counts
    others = int(found.rows.sum()) - people.people
    lines = [f"{people.people:,} of these rows are of the private table, {others:,} of the public one"]
    if found.interval is not None:
        least, most = map(float, found.interval)
        lines.append(
            "not promised: somebody who fits a row is in the private table with a chance from "
            f"{least:.3f} to {most:.3f}"
        )
    if found.certainly_present:
        lines.append(f"NOTE: {found.certainly_present:,} persons are in groups of the private table alone")
    return lines


def _draw(odds: Mapping[str, str], accepted: Sequence[str]) -> str:
    unsafe = ", ".join(name for name in accepted if name.startswith("unsafe") or name == "all")
    words = (
        f"as drawn, a person is behind each of {odds['drawn'].partition('/')[2]} rows with a probability of "
        f"exactly {odds['drawn']}, and nobody behind any with more"
    )
    if odds["drawn"] == "1":
        words = "who is behind which row was NOT drawn, or could not be: somebody can be found for certain"
    return f"{words} (accepted: {unsafe})" if unsafe else words


def show_verdict(verdict: Verdict) -> None:
    """Every check, and the sum of them."""
    out = screen.console()
    rows = [(_outcome(c), c.name, c.detail or CHECKS.get(c.name, "")) for c in verdict.checks]
    out.print(screen.table("", ("", "check", ""), rows))
    out.print("The release holds what it claims." if verdict.passed else "The release is REJECTED.")


def _outcome(check: Check) -> str:
    """A check that was not run is no pass, but it is not what is wrong either."""
    if check.passed:
        return "passed"
    return "not run" if check.detail.startswith("not checked") else "FAILED"


def show_loss(loss: Mapping[str, Any]) -> None:
    """Every measure with its meaning, then column by column."""
    out = screen.console()
    rows = [(name, screen.number(value), MEANINGS.get(name, "")) for name, value in loss["loss"].items()]
    title = (
        f"{loss['rows']:,} rows in {loss['classes']:,} classes, the smallest of {loss['smallest_class']:,}"
    )
    out.print(screen.table(title, ("measure", "value", "meaning"), rows))
    columns = loss["columns"]
    names = SHOWN_PER_COLUMN
    per_column = [(name, *(screen.number(values[m]) for m in names)) for name, values in columns.items()]
    out.print(screen.table("", ("column", *names), per_column))
    counted = loss["range_counts"]
    if counted["error"] is not None:
        wrong = f"{counted['error']:.1%} on average"
        out.print(f"Counts of people in boxes of {counted['share']:.0%} of the domain are wrong by {wrong}.")
    if "anonymity" in loss:
        reached = [(name, f"{loss['anonymity'][name]:,}", meaning) for name, meaning in CLASSES.items()]
        out.print(screen.table("How anonymous it is", ("class", "k", "meaning"), reached))
    if "joined" in loss:
        found = loss["joined"]
        out.print(
            f"Measures are of the {found['own']:,} people of the private table; {found['external_rows']:,} "
            "rows are of the public one. Somebody who fits a row is in the private table with a chance from "
            f"{found['presence']['least']} to {found['presence']['most']}."
        )
    for note in loss["notes"]:
        out.print(f"Note: {note}")


def show_methods(found: Sequence[type[Algorithm]]) -> None:
    """The catalogue."""
    out = screen.console()
    for method in found:
        words = method.as_dict()
        rows = [
            (key.replace("_", " "), str(words[key]))
            for key in ("guarantee", "adversary", "not_claimed", "needs")
        ]
        rows += [("paper", f"{method.paper}, {method.section}")]
        rows += [
            (f"--set {n}=", f"{o['must_be']} (default {o['default']})") for n, o in words["options"].items()
        ]
        out.print(screen.table(method.name, ("", method.publishes), rows))
