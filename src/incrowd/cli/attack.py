"""The command `attack`: what each adversary gets out of a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import INCONCLUSIVE, app, boundary, finish

if TYPE_CHECKING:
    from incrowd.attacks.registry import AttackResult, Rate
    from incrowd.commands.attack import Attacked

NOTEWORTHY = 1.5  # times what a group alone discloses


@app.command()
def attack(
    folder: options.ReleaseDir,
    original: options.Original,
    policy: options.PolicyFile = None,
    public: Annotated[
        Path | None, typer.Option(help="The public table that was joined; by default the policy's.")
    ] = None,
    planted: Annotated[
        Path | None, typer.Option(help="A table whose first column names people who do not exist.")
    ] = None,
    outliers: Annotated[
        str | None,
        typer.Option(
            metavar="P,D",
            help="Look for outliers at this p and d, if plain is not promised; over some columns alone with "
            "P,D,age+cost; by density with lof:20,1.5.",
        ),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Another release of the same people: what all disclose together. Repeatable.",
        ),
    ] = None,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    memory: options.MemoryLimit = None,
    as_json: options.AsJson = False,
) -> None:
    """What each adversary learns from a release. Exit code 0 held, 1 broken, 3 inconclusive.

    Example: incrowd attack release --original patients.csv
    """
    with boundary(as_json):
        from incrowd.attacks.registry import Outcome
        from incrowd.commands.attack import attack

        given: dict[str, Any] = {"public": public, "planted": planted, "outliers": outliers, "also": also}
        source = options.source(original, encoding, sheet, sql)
        with screen.watching(as_json) as watch:
            attacked = attack(folder, source, policy, **given, memory=memory, stoppable=True, watch=watch)
        code = 1 if attacked.outcome is Outcome.BROKEN else INCONCLUSIVE
        finish(attacked.to_dict(), as_json, lambda: show(attacked), good=attacked.holds, code=code)


def show(attacked: Attacked) -> None:
    """Each attack with its three rates, what its adversary knows, and the sum."""
    out = screen.console()
    promised = "nothing about k" if attacked.k is None else f"k = {attacked.k}"
    out.print(
        f"{attacked.rows:,} rows of {attacked.records:,} records, made by {attacked.method}: {promised}"
    )
    out.print(f"The true row is known for {attacked.known:,} of them, from {attacked.truth}.")
    if attacked.stopped:
        out.print("Stopped before all attacks were tried; these are the results so far.")
    header = ("attack", "adversary", "success", "guess", "control", "bound", "outcome")
    rows = [_attack(result) for result in attacked.results]
    out.print(screen.table("", header, rows, least=("adversary", "guess", "control")))
    for result in attacked.results:
        out.print(f"  {result.name}: the adversary knows {result.knows}")
        if result.details:
            out.print(f"    {_facts(result.details)}")
    for each in attacked.untried:
        out.print(f"Note: {each.name} was not tried: {each.reason} ({each.outcome})")
    for note in (*attacked.notes, *_remarks(attacked)):
        out.print(f"Note: {note}")
    for line in ending(attacked):
        out.print(line)


def ending(attacked: Attacked) -> Iterator[str]:
    """The sum: who broke it, what is inconclusive and what would decide it, how many ended how."""
    broken = [result.name for result in attacked.results if result.outcome == "broken"]
    if broken:
        yield f"BROKEN by {', '.join(broken)}."
    for (reason, remedy), names in attacked.doubts_alike.items():
        yield f"Inconclusive: {', '.join(names)}: {reason}. Needed: {remedy}."
    yield f"{attacked.headline()}."


def _remarks(attacked: Attacked) -> Iterator[str]:
    """What is not promised, but a publisher should know."""
    for result in attacked.results:
        below = result.details.get("persons_below_k")
        if result.outcome == "held" and below:
            words = f"{below:,} persons have fewer than {attacked.k} candidates"
            yield f"{result.name}: {words}, though on average success is within the bound"
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
        if result.name == "suppression" and result.attack.won:
            yield (
                f"{result.attack.won:,} persons fit no row: whoever knows that they are in the table knows "
                "that they were left out, and where outliers are hidden, that they stand out; raise p and d, "
                "or lower max_suppression, until nobody is removed, or publish a random sample of the table, "
                "so that many have no row"
            )
        if result.name == "suppression-rerun" and result.attack.won:
            yield (
                f"{result.attack.won:,} of {result.attack.tried:,} persons who were left out are named by "
                "whoever runs the program again: they are known to be unusual, and nothing else of them; "
                "lower max_suppression, or leave it out"
            )
        if result.name == "composition" and result.attack.won:
            yield (
                f"nothing is promised about {_several(result)}; together they leave "
                f"{result.attack.won:,} persons ({result.attack.share:.1%}) fewer than "
                f"{result.details['k']} candidates"
            )
        if result.name.startswith("composition-") and result.details["persons_with_one_value"]:
            told = result.details
            yield (
                f"{_several(result)} together leave one value of "
                f"{result.name.removeprefix('composition-')} to "
                f"{told['persons_with_one_value']:,} persons, one release alone to "
                f"{told['with_one_value_by_one_release']:,}"
            )
        if result.name in ("trimming", "outline") and result.outcome == "broken":
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


def _several(result: AttackResult) -> str:
    releases = int(result.details["releases"])
    return "two releases" if releases == 2 else f"{releases} releases"


def _attack(result: AttackResult) -> tuple[str, ...]:
    low, high = result.attack.interval()
    within = "exact" if result.attack.exact else f"{100 * low:.1f}-{100 * high:.1f}"
    success = f"{result.attack.share:.1%} ({within})" if result.attack.tried else ""
    bound = "" if result.bound is None else f"{float(result.bound):.1%}"
    kind, _, about = result.name.partition("-")
    name = result.name if about.isdecimal() else f"{kind} {about}".strip()  # of a column: may need a line
    shares = success, _share(result.guess), _share(result.control)
    word = "BROKEN" if result.outcome == "broken" else str(result.outcome)
    return name, result.adversary, *shares, bound, word


def _share(rate: Rate | None) -> str:
    return "" if rate is None or not rate.tried else f"{rate.share:.1%}"


def _facts(details: Mapping[str, int | float | str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {screen.number(value)}" for name, value in details.items())
