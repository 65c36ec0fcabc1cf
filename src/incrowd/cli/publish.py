"""The command `publish`: anonymize, verify, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary
from incrowd.errors import on_the_command_line
from incrowd.long_work import unnoticed

if TYPE_CHECKING:
    from incrowd.publishing.pipeline import WrittenRelease as Written
    from incrowd.results import Attempt


@app.command()
def publish(
    table: options.TableFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The release: a folder that does not exist yet.")
    ],
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    policy: options.PolicyFile = None,
    qi: Annotated[
        options.Names, typer.Option(help="Quasi-identifiers, if there is no policy file (repeat, or a,b,c).")
    ] = None,
    sensitive: Annotated[
        options.Names, typer.Option("--sensitive", "--sa", help="Sensitive columns (as --qi).")
    ] = None,
    identifiers: Annotated[options.Names, typer.Option(help="Columns that name a person (as --qi).")] = None,
    keep: Annotated[options.Names, typer.Option(help="Columns published unchanged (as --qi).")] = None,
    drop: Annotated[options.Names, typer.Option(help="Columns not published (as --qi).")] = None,
    drop_rest: options.DropRest = False,
    method: options.OtherMethod = None,
    k: options.SmallestClass = None,
    l: options.Diversity = None,  # noqa: E741
    t: options.Closeness = None,
    plain: options.PlainOutliers = None,
    max_suppression: options.MostLeftOut = None,
    settings: options.Settings = None,
    accept: options.Accept = None,
    totals: Annotated[
        bool | None,
        typer.Option("--totals/--no-totals", help="State how many rows have which value (docs/totals.md)."),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="csv or parquet; by default csv, with --engine spark parquet.")
    ] = None,
    typed: Annotated[
        bool, typer.Option("--typed", help="Parquet: intervals as two columns, sets as lists.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the release once the new one is verified.")
    ] = False,
    after: Annotated[
        Path | None, typer.Option("--after", help="The release of the series that it comes after.")
    ] = None,
    erase: Annotated[
        Path | None,
        typer.Option(
            "--erase", help="People whose rows must go: a table with their ids in the column of entity."
        ),
    ] = None,
    engine: options.Engine = "auto",
    memory: options.EngineMemory = None,
    threads: options.EngineThreads = None,
    master: options.SparkMaster = None,
    as_json: options.AsJson = False,
) -> None:
    """Anonymize, verify, write. Nothing appears at the output unless the verifier accepts it.

    Example: incrowd publish patients.csv -p policy.toml -o release
    """
    with boundary(as_json):
        from incrowd.commands.publish import publish
        from incrowd.policy import Policy
        from incrowd.publishing.pipeline import WrittenRelease

        given = Policy.of(policy)
        limits: dict[str, Any] = {"l": l, "t": t, "plain": plain, "max_suppression": max_suppression}
        asked = options.demands(given, k=k, method=method, settings=settings, accept=accept, **limits)
        with screen.watching(as_json) as watch:
            written = publish(
                options.source(table, encoding, sheet, sql),
                given,
                output,
                quasi_identifiers=options.split_names(qi),
                sensitive=options.split_names(sensitive),
                identifiers=options.split_names(identifiers),
                keep=options.split_names(keep),
                drop=options.split_names(drop),
                drop_rest=drop_rest,
                **asked,
                totals=totals,
                after=after,
                erase=erase,
                format=format,
                typed=typed,
                replace=replace,
                engine=engine,
                memory=memory,
                threads=threads,
                master=master,
                watch=watch,
                notice=unnoticed if as_json else screen.notice,
            )
        if as_json:
            screen.print_json(written.to_dict())
        elif isinstance(written, WrittenRelease):
            public = None if given is None else given.public
            again = options.again(table, encoding, sheet, sql)
            show(written, again, None if given is None or public is None else given.folder / public.table)


def show(written: Written, original: str, joined: Path | None = None) -> None:
    """A release on disk: what it promises, what it lost, what to do next with the `original`."""
    out = screen.console()
    facts = written.verdict.facts
    odds = written.manifest.get("match_probability")
    buckets, public = written.manifest.get("apart"), written.manifest.get("public")
    out.print(f"Published {facts['rows']:,} rows {_kind(facts, odds, buckets, public)} to {written.folder}")
    for claim in written.manifest["claims"]:
        about = f" for {claim['column']}" if claim.get("column") else ""
        numbers = ", ".join(
            f"{name} = {screen.parameter(value)}" for name, value in claim["parameters"].items()
        )
        out.print(f"  promised and verified: {claim['model']}{about} ({numbers})")
    if buckets is not None:
        out.print(f"  the smallest bucket has {facts['smallest_group']:,} persons")
    if buckets is not None and public is None:
        out.print("  NOT protected: who is in the table, and which row is whose (accepted: exact-rows)")
    elif odds is not None:
        out.print(f"  {_draw(odds, written.manifest['accepted'])}")
    else:
        out.print(f"  {_smallest(written, facts['smallest_class'], public is not None)}")
    for line in () if written.disclosure is None else written.disclosure.sentences():
        out.print(f"  {on_the_command_line(line)}")
    if levels := written.manifest.get("levels"):
        out.print(f"  levels: {screen.parameter(levels)}")
    if series := written.manifest.get("series"):
        words = ", ".join(f"{name} {series[name]:,}" for name in ("waiting", "lingering", "withheld"))
        out.print(
            f"  release {series['number']} of its series: {words}; oldest rows of release {series['oldest']}"
        )
    if written.saved is not None:
        out.print(screen.folded(written.saved.sentence(), "  "))
    elif gone := facts.get("suppressed", 0):
        told = written.manifest["rows"]["suppressed"] is not None
        said = "says" if told else "does not say"
        out.print(f"  suppressed: {gone:,} of {facts['rows'] + gone:,} records; the release {said} how many")
    for line in written.two_way.sentences():
        out.print(screen.folded(line, "  "))
    out.print(f"  information loss (GCP) {written.loss()['gcp']:.4f}")
    if written.tried:
        _show_tried(written.tried)
    for line in written.reading:
        out.print(f"  {line}")
    for warning in written.warnings:
        out.print(f"  note: {warning}")
    out.print(f"Private, not to be published: {written.audit}")
    both = "" if joined is None else f" --public {quote(str(joined))}"
    out.print(f"Next: incrowd verify {quote(str(written.folder))} --original {original}{both}")


def _show_tried(tried: Sequence[Attempt]) -> None:
    """The methods among which the release was chosen, with what they lose."""
    out = screen.console()
    out.print(f"  chosen by the least {tried[0].measure} among:")
    for each in tried:
        given = ", ".join(f"{name}={screen.parameter(value)}" for name, value in each.options.items())
        name = f"{each.method} ({given})" if given else each.method
        result = each.reason if each.loss is None else f"{screen.number(each.loss)}, {each.seconds:.1f} s"
        out.print(screen.folded(f"{name}: {result}{'; published' if each.won else ''}", "    "))


def _kind(facts: Mapping[str, Any], odds: object, buckets: object, public: object) -> str:
    """What kind of rows they are."""
    values = "" if buckets is None else f", with sensitive values in {facts['groups']:,} buckets,"
    if buckets is not None and public is None:
        return f"unchanged{values}"
    if odds is not None:
        return f"with {facts['classes']:,} different combinations of quasi-identifiers"
    return f"in {facts['classes']:,} equivalence classes{values}"


def _smallest(written: Written, size: int, joined: bool) -> str:
    """The smallest class, and the risk, which it bounds only where each has one row and nobody stands in.

    Where a person may have several rows, the largest share that anybody has of a class is the risk.
    """
    said = f"the smallest equivalence class has {size:,} persons"
    least = written.verdict.facts["reached"].get("k-anonymity") if written.has_entities else size
    return said if joined or least is None else f"{said}: prosecutor risk at most 1/{least:,}"


def _draw(odds: Mapping[str, str], accepted: Sequence[str]) -> str:
    unsafe = ", ".join(name for name in accepted if name.startswith("unsafe") or name == "all")
    words = (
        f"randomized assignment: a person matches each of {odds['drawn'].partition('/')[2]} rows with a "
        f"probability of exactly {odds['drawn']}, and no match has more"
    )
    if odds["drawn"] == "1":
        words = "the assignment was NOT randomized, or could not be: somebody can be found with certainty"
    return f"{words} (accepted: {unsafe})" if unsafe else words
