"""What adversaries got, in words for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from incrowd.attacks import AttackResult, Rate
from incrowd.cli import screen
from incrowd.cli.stories import CLASSES
from incrowd.commands.attack import Attacked
from incrowd.commands.audit import Audit

SHORT = {  # who falls short of k, and how
    "persons_by_degree": "persons fit fewer than {k} rows",
    "rows_by_degree": "rows fit fewer than {k} persons",
    "persons_by_matches": "persons have fewer than {k} matches",
    "rows_by_matches": "rows have fewer than {k} matches",
}
NOTEWORTHY = 1.5  # times what a group alone tells


def show_attacks(attacked: Attacked) -> None:
    """Each attack with its three rates, what its adversary knows, and the sum."""
    out = screen.console()
    promised = "nothing about k" if attacked.k is None else f"k = {attacked.k}"
    out.print(
        f"{attacked.rows:,} rows of {attacked.records:,} records, made by {attacked.method}: {promised}"
    )
    out.print(f"The true row is known for {attacked.known:,} of them, from {attacked.truth}.")
    header = ("attack", "adversary", "success", "guess", "control", "bound", "verdict")
    out.print(screen.table("", header, [_attack(result) for result in attacked.results]))
    for result in attacked.results:
        out.print(f"  {result.name}: the adversary knows {result.knows}")
        if result.details:
            out.print(f"    {_facts(result.details)}")
    for note in (*attacked.notes, *_remarks(attacked)):
        out.print(f"Note: {note}")
    broken = [result.name for result in attacked.results if not result.holds]
    out.print(f"BROKEN by {', '.join(broken)}." if broken else "No attack exceeds its bound.")


def _remarks(attacked: Attacked) -> Iterator[str]:
    """What is not promised, but a publisher should know."""
    for result in attacked.results:
        if result.name == "rows" and result.attack.won:
            right = float(result.details["precision"])
            yield (
                f"the release alone reveals the exact quasi-identifiers of {result.attack.won:,} persons "
                f"({result.attack.share:.1%}); of its claims {right:.1%} are right"
            )
        if result.name in ("outliers", "outliers-asked") and result.attack.won:
            at, certain = result.details, result.details["certain_classes"]
            yield (
                f"classes reveal {result.attack.won:,} persons as outliers at p = {at['p']}, d = {at['d']}; "
                f"{certain} classes certainly have one"
            )
        if result.name == "composition" and result.attack.won:
            yield (
                f"nothing is promised about two releases; together they leave {result.attack.won:,} persons "
                f"({result.attack.share:.1%}) fewer than {result.details['k']} candidates"
            )
        if result.name.startswith("composition-") and result.details["persons_with_one_value"]:
            told = result.details
            yield (
                f"two releases together leave one value of {result.name.removeprefix('composition-')} to "
                f"{told['persons_with_one_value']:,} persons, one release alone to "
                f"{told['with_one_value_by_one_release']:,}"
            )
        if result.name in ("trimming", "outline") and not result.holds:
            yield (
                f"boxes reveal that {result.attack.won:,} persons are in the private table: of these claims "
                f"({result.name}) {result.attack.share:.1%} are right, at random {result.guess.share:.1%}"
            )
        learned = result.attack.interval()[0] > NOTEWORTHY * result.guess.share
        if result.name.startswith("definetti-") and result.attack.tried and learned:
            column = result.name.removeprefix("definetti-")
            yield (
                f"all groups together reveal {column} of {result.attack.share:.1%} of the persons, one group "
                f"alone of {result.guess.share:.1%}"
            )


def _attack(result: AttackResult) -> tuple[str, ...]:
    low, high = result.attack.interval()
    success = f"{result.attack.share:.1%} ({100 * low:.1f}-{100 * high:.1f})" if result.attack.tried else ""
    bound = "" if result.bound is None else f"{float(result.bound):.1%}"
    kind, _, about = result.name.partition("-")
    return (
        result.name if about.isdecimal() else f"{kind} {about}".strip(),  # a name of a column may need a line
        result.adversary,
        success,
        _share(result.guess),
        _share(result.control),
        bound,
        verdict(result),
    )


def verdict(result: AttackResult) -> str:
    """One or two words for a result."""
    if not result.attack.tried:
        return "not tried"
    if not result.holds:
        return "BROKEN"
    if not result.works:
        return "inconclusive"
    return "holds" if result.bound is not None else "no bound"


def _share(rate: Rate | None) -> str:
    return "" if rate is None or not rate.tried else f"{rate.share:.1%}"


def _facts(details: Mapping[str, int | float | str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {screen.number(value)}" for name, value in details.items())


def show_audit(audit: Audit) -> None:
    """Every model with its largest k, who falls short, and how probable the most probable match is."""
    out = screen.console()
    how = "columns of both tables" if audit.guessed else "quasi-identifiers"
    title = f"{audit.rows:,} rows of {audit.records:,} records; {how}: {', '.join(audit.columns)}"
    rows = [(name, f"{audit.classes[name]:,}", meaning) for name, meaning in CLASSES.items()]
    out.print(screen.table(title, ("model", "k", "meaning"), rows))
    out.print(f"Suppressed rows: {audit.records - audit.rows:,}")
    out.print(f"Persons with exactly one match: {audit.one_match:,}")
    for name, count in audit.below.items():
        out.print(f"{count:,} {SHORT[name].format(k=audit.k)}")
    out.print(_level(audit.level))
    if audit.posterior:
        out.print(_posterior(audit.posterior))
    for name, fewest in audit.values.items():
        out.print(f"Fewest different values of {name} among the matches of a person: {fewest:,}")
    for note in audit.notes:
        out.print(f"Note: {note}")
    if audit.k is not None:
        out.print(
            f"Everybody has {audit.k} matches." if audit.holds else f"NOT everybody has {audit.k} matches."
        )


def _level(level: Mapping[str, Any]) -> str:
    if level["lambda"] is None:
        low, high = level["low"], level["high"]
        return f"Smallest possible highest match probability (lambda*): between {low:.4f} and {high:.4f}"
    value = f"{level['lambda']} = {level['low']:.4f}; level of anonymity {level['level']:.2f}"
    return f"Smallest possible highest match probability (lambda*): {value}"


def _posterior(found: Mapping[str, Any]) -> str:
    words = "Highest match probability if all assignments are equally likely"
    if found["exact"] is not None:
        return f"{words}: {found['exact']} = {found['value']:.4f}"
    return f"{words}: {found['value']:.4f} (sampled; 95 %: {found['low']:.4f}-{found['high']:.4f})"
