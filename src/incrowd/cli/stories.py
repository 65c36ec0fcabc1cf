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
from incrowd.publishing.pipeline import WrittenRelease
from incrowd.schema import CHECKS, Check, Role, Verdict

SHOWN_COMBINATIONS = 5
SHOWN_PER_COLUMN = ("gcp", "entropy", "tree")  # more would not fit a line; --json has all
MEANINGS = {
    "gcp": "mean share of its domain that a cell covers: 0 nothing was generalized, 1 nothing is left",
    "c_avg": "mean size of an equivalence class, divided by k; 1 is ideal",
    "dm": "discernibility: sum of the squared sizes of equivalence classes",
    "ncp": "normalized certainty penalty: sum of the shares that cells cover",
    "ncp_perimeter": "sum of the perimeters of all rows' boxes, in the units of the columns",
    "entropy": "mean number of bits of a value that a cell hides",
    "il": "information loss (IL) as the outliers paper prints it, summed over columns",
    "il_zero": "the same, but an exact number costs nothing",
    "tree": "mean height of the published nodes in their hierarchies",
}
CLASSES = {
    "k": "every equivalence class has k rows",
    "1k": "every person fits k rows",
    "k1": "every row fits k persons",
    "kk": "both: every person fits k rows, every row k persons",
    "global_1k": "every person has k rows that cannot be ruled out",
    "global_k1": "every row has k persons who cannot be ruled out",
    "k_factor": "a randomized assignment exists with no match above 1/k",
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
            f"Risk now: {risk.unique:,} of {profile.rows:,} rows are unique in their suggested "
            f"quasi-identifiers; {risk.below_10:,} are in equivalence classes of fewer than ten rows."
        )
    for found in profile.combinations[:SHOWN_COMBINATIONS]:
        out.print(f"  {' + '.join(found.columns)} alone single out {found.unique:,} rows")
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
    """Columns by their suggested role and its reason: the same reason is shown once."""
    found: dict[tuple[Role, str], list[str]] = {}
    for column in profile.columns:
        found.setdefault((column.role, column.reason), []).append(column.name)
    return found


def _said(value: object) -> str:
    """A parameter as text; a table of them in one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {inner}" for name, inner in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def show_release(written: WrittenRelease, source: Path, joined: Path | None = None) -> None:
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
        out.print(f"  the smallest bucket has {facts['smallest_group']:,} persons")
    if buckets is not None and public is None:
        out.print("  NOT protected: who is in the table, and which row is whose (accepted: exact-rows)")
    elif odds is not None:
        out.print(f"  {_draw(odds, written.manifest['accepted'])}")
    else:
        out.print(f"  {_smallest(written, facts['smallest_class'], public is not None)}")
    for line in _told(written.disclosure):
        out.print(f"  {line}")
    if levels := written.manifest.get("levels"):
        out.print(f"  levels: {_said(levels)}")
    if gone := facts.get("suppressed", 0):
        out.print(
            f"  suppressed: {gone:,} of {facts['rows'] + gone:,} records; the release does not say how many"
        )
    out.print(f"  information loss (GCP) {written.loss()['gcp']:.4f}")
    for warning in written.warnings:
        out.print(f"  note: {warning}")
    out.print(f"Private, not to be published: {written.audit}")
    both = "" if joined is None else f" --public {quote(str(joined))}"
    out.print(f"Next: incrowd verify {quote(str(written.folder))} --original {quote(str(source))}{both}")


def _kind(facts: Mapping[str, Any], odds: object, buckets: object, public: object) -> str:
    """What kind of rows they are."""
    values = "" if buckets is None else f", with sensitive values in {facts['groups']:,} buckets,"
    if buckets is not None and public is None:
        return f"unchanged{values}"
    if odds is not None:
        return f"with {facts['classes']:,} different combinations of quasi-identifiers"
    return f"in {facts['classes']:,} equivalence classes{values}"


def _smallest(written: WrittenRelease, size: int, joined: bool) -> str:
    """The smallest class. It bounds the risk only where every person has one row."""
    said = f"the smallest equivalence class has {size:,} persons"
    risk = "journalist" if joined else "prosecutor"
    return said if written.has_entities else f"{said}: {risk} risk at most 1/{size:,}"


def _told(told: Disclosure | None) -> list[str]:
    """What the release discloses beyond the promise."""
    if told is None:
        return []
    if isinstance(told, PresenceDisclosure):
        return _standing_in(told)
    if isinstance(told, ValueDisclosure):
        return [
            "not promised: an adversary who learns from all buckets how values depend on rows (deFinetti) "
            f"guesses {told.rate.share:.0%} of them; from one bucket alone {told.blind.share:.0%}"
        ]
    hint = "; to prevent it, --set hide_rows=true" if told.share >= MOST_GIVEN_AWAY and told.after_one else ""
    lines = [
        f"not promised: comparing rows reveals the exact quasi-identifiers of {told.rows.records:,} persons "
        f"({told.share:.1%}), but not which row is whose{hint}"
    ]
    after = told.after_one
    if after is not None:
        chance = str(after.exact) if after.exact is not None else f"about {after.share:.3f}"
        lines.append(
            f"not promised: an adversary who knows one person's row finds another's with probability {chance}"
        )
    return lines


def _standing_in(told: PresenceDisclosure) -> list[str]:
    """Whose rows there are, and what that discloses about who is in the private table."""
    found, people = told.presence, told.counts
    others = int(found.rows.sum()) - people.people
    lines = [f"{people.people:,} of these rows are from the private table, {others:,} from the public one"]
    if found.interval is not None:
        least, most = map(float, found.interval)
        lines.append(
            "not promised: that presence is secret; a person who fits a row is in the private table with a "
            f"probability from {least:.3f} to {most:.3f}"
        )
    if found.certainly_present:
        lines.append(
            f"NOTE: {found.certainly_present:,} persons are in groups without anybody of the public table"
        )
    return lines


def _draw(odds: Mapping[str, str], accepted: Sequence[str]) -> str:
    unsafe = ", ".join(name for name in accepted if name.startswith("unsafe") or name == "all")
    words = (
        f"randomized assignment: a person matches each of {odds['drawn'].partition('/')[2]} rows with a "
        f"probability of exactly {odds['drawn']}, and no match has more"
    )
    if odds["drawn"] == "1":
        words = "the assignment was NOT randomized, or could not be: somebody can be found with certainty"
    return f"{words} (accepted: {unsafe})" if unsafe else words


def show_verdict(verdict: Verdict) -> None:
    """Every check, and the sum of them."""
    out = screen.console()
    rows = [(_outcome(c), c.name, c.detail or CHECKS.get(c.name, "")) for c in verdict.checks]
    out.print(screen.table("", ("", "check", ""), rows))
    out.print("All claims of the release hold." if verdict.passed else "The release is REJECTED.")


def _outcome(check: Check) -> str:
    """A check that was not run is no pass, but it is not what is wrong either."""
    if check.passed:
        return "passed"
    return "not run" if check.detail.startswith("not checked") else "FAILED"


def show_loss(loss: Mapping[str, Any]) -> None:
    """Every measure with its meaning, then column by column."""
    out = screen.console()
    rows = [(name, screen.number(value), MEANINGS.get(name, "")) for name, value in loss["loss"].items()]
    classes = f"{loss['classes']:,} equivalence classes, the smallest of {loss['smallest_class']:,}"
    title = f"{loss['rows']:,} rows in {classes}"
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
        out.print(screen.table("Level of anonymity", ("model", "k", "meaning"), reached))
    if "joined" in loss:
        found = loss["joined"]
        out.print(
            f"Measures are of the {found['own']:,} people of the private table; {found['external_rows']:,} "
            "rows are of the public one. A person who fits a row is in the private table with a probability "
            f"from {found['presence']['least']} to {found['presence']['most']}."
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
            (f"--set {n}=", f"{o['must_be']} (default {_said(o['default'])})")
            for n, o in words["options"].items()
        ]
        out.print(screen.table(method.name, ("", method.publishes), rows))
