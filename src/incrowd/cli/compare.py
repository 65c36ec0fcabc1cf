"""The command `compare`: which method and which k, on one table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, check_new, finish, write_new
from incrowd.errors import InputError

if TYPE_CHECKING:
    from incrowd.commands.comparison import Comparison, Level, Trial, TrialResult
    from incrowd.measures.bounds import LossBound

LEAST_NEEDED = ("seconds", "average", "suppressed", "classes")


@app.command()
def compare(
    table: options.TableFile,
    policy: options.PolicyFile = None,
    methods: Annotated[
        options.Names, typer.Option("--methods", help="Methods to try (repeat, or a,b,c).")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Try all methods, slow ones too.")] = False,
    k: Annotated[options.Names, typer.Option("--k", "-k", help="Values of k to try (as --methods).")] = None,
    l: Annotated[  # noqa: E741
        options.Names, typer.Option("--l", help="Values of l to try (as --methods); none means without l.")
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", help="The measure of information loss to sort and draw by, also e2.")
    ] = "gcp",
    accept: options.Accept = None,
    output: options.Picture = None,
    narrow: Annotated[
        bool, typer.Option("--narrow", help="Draw the picture for a column of 400 pixels.")
    ] = False,
    link: Annotated[
        str | None,
        typer.Option(
            "--link", help="Make each mark of the picture a link, such as '#{id}' or 'trial?id={id}'."
        ),
    ] = None,
    bound: options.Bound = "quick",
    memory: options.MemoryLimit = None,
    cache: Annotated[Path | None, typer.Option("--cache", help="Keep results in this folder.")] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Neither keep nor reuse results.")] = False,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    as_json: options.AsJson = False,
) -> None:
    """Try methods and k on one table: information loss and risk of each. Nothing is published.

    Example: incrowd compare patients.csv -p policy.toml --k 5,10,20 -o compared.svg
    """
    with boundary(as_json):
        from incrowd.algorithms.base import all_methods
        from incrowd.commands.compare import compare
        from incrowd.commands.comparison import check_link, check_measures, default_cache

        _check_words(methods, every, cache, no_cache)
        if (narrow or link is not None) and output is None:
            raise InputError("--narrow and --link are about the picture; name its file with -o compared.svg")
        check_link(link)
        check_measures([sort])
        check_new(output, ".svg")
        names = list(all_methods()) if every else options.split_names(methods) or None
        levels: list[Level] = list(_levels(options.split_names(l))) or [None]
        say = screen.saying(as_json)
        with screen.watching(as_json) as watch:
            found = compare(
                options.source(table, encoding, sheet, sql),
                policy,
                names,
                _numbers(options.split_names(k)) or None,
                levels,
                accept=options.split_names(accept),
                cache=None if no_cache else cache or default_cache(),
                bound=bound,
                on_trial=lambda trial: say(trial.sentence()),
                memory=memory,
                watch=watch,
            )
        drawn = output if found.by(sort) else None  # there is no picture of nothing
        if drawn is not None:
            write_new(drawn, found.chart(sort, link).svg(narrow=narrow))
        good = not found.stopped and bool(found.by(sort))
        finish(found.to_dict(sort), as_json, lambda: show_comparison(found, sort, drawn), good=good)


def _check_words(methods: Sequence[str] | None, every: bool, cache: Path | None, no_cache: bool) -> None:
    if every and methods:
        raise InputError("name methods with --methods, or take --all, not both")
    if cache is not None and no_cache:
        raise InputError("--cache and --no-cache exclude each other")


def _numbers(words: Sequence[str]) -> list[int]:
    if not all(word.isascii() and word.isdigit() and len(word) <= 12 for word in words):
        raise InputError("--k takes whole numbers, such as 5,10,20")
    return [int(word) for word in words]


def _levels(words: Sequence[str]) -> list[int | str]:
    """Whole numbers as such, decimals as they are written; 0 stands for none."""
    found: list[int | str] = []
    for word in words:
        whole, dot, rest = word.partition(".")
        digits = (whole + rest).isdigit() and word.isascii() and len(word) <= 40
        if word != "none" and (not digits or not whole or bool(dot) != bool(rest)):
            raise InputError("--l takes numbers, such as 2,3, or none for no l")
        found.append(0 if word == "none" else word if dot else int(word))
    return found


def show_comparison(found: Comparison, measure: str, output: Path | None) -> None:
    """The trials that gave a release, the frontier marked; then what was refused, skipped, not tried."""
    out = screen.console()
    if found.stopped:
        out.print(
            f"Stopped after {len(found.trials):,} of {found.planned:,} trials; these are their results."
        )
    done = found.by(measure)
    if done:
        out.print(f"Sorted by {measure}, least information loss first:")
        for line in _table(found, done, measure):
            out.print(line)
        out.print("risk: highest match probability (prosecutor risk; with a public table, journalist risk)")
        out.print("average: mean match probability over all rows (marketer risk)")
        out.print(
            "* on the frontier: no other has less loss without more risk, or less risk without more loss"
        )
        if any(trial.own for trial, _ in done):
            out.print("> what the policy asks for")
        out.print("e2: people in the wrong cell of a two-column table (docs/measures.md)")
        for line in _least(found.bounds):
            out.print(screen.folded(line))
        chosen, result = next(((t, r) for t, r in done if t.own), done[0])
        out.print(f"With {chosen.method}, k = {chosen.k}:")
        for line in result.words:
            out.print(screen.folded(line, "  "))
    for line in _rest(found):
        out.print(line)
    if output is not None:
        out.print(f"Wrote {output}.")


def _least(bounds: Sequence[LossBound]) -> list[str]:
    """What the loss of no release can be below, for all k in one sentence; then where nobody knows."""
    known = ", ".join(f"{bound.shown} with k = {bound.k}" for bound in bounds if bound.least is not None)
    said = (
        [f"No k-anonymous release of this table can have a gcp below {known} (docs/bounds.md)."]
        if known
        else []
    )
    return said + [f"k = {bound.k}: {bound.sentence}." for bound in bounds if bound.least is None]


def _table(found: Comparison, done: Sequence[tuple[Trial, TrialResult]], measure: str) -> list[str]:
    """Lines that fit the terminal; empty columns are dropped, and those that few need where room is short."""
    from incrowd.cli.layout import laid_out

    best = set(map(id, found.frontier(measure)))
    other = "gcp" if measure == "e2" else "e2"
    header = ("", "method", "k", "l", "risk", "average", measure, other, "classes", "suppressed", "seconds")
    rows = [_row(trial, result, measure, id(trial) in best) for trial, result in done]
    filled = [j for j in range(len(header)) if any(row[j] for row in rows)]
    names, cells = [header[j] for j in filled], [[row[j] for j in filled] for row in rows]
    width, numbers = screen.console().width, [name for name in names if name not in ("", "method")]
    head, body, gone = laid_out(names, cells, width, right=numbers, least=LEAST_NEEDED, gaps=(2, 1))
    return [*head, *body, *([screen.lacking(gone)] if gone else [])]


def _row(trial: Trial, result: TrialResult, measure: str, best: bool) -> tuple[str, ...]:
    return (
        ("*" if best else " ") + (">" if trial.own else ""),
        trial.method,
        str(trial.k),
        "" if trial.l is None else str(trial.l),
        f"1/{1 / result.risk:.4g}" if result.risk < 1 else "1",
        f"{result.average:.4f}",
        _loss(result, measure),
        _loss(result, "gcp" if measure == "e2" else "e2"),
        f"{result.classes:,}",
        f"{result.left_out:,}" if result.left_out else "",
        f"{result.seconds:.2f}",
    )


def _loss(result: TrialResult, measure: str) -> str:
    """A measure in figures; people in the wrong cell as a share of all."""
    if measure not in result.loss:
        return ""
    value = result.loss[measure]
    return f"{value:.1%}" if measure == "e2" else screen.number(value)


def _rest(found: Comparison) -> list[str]:
    lines: dict[tuple[str, str], list[str]] = {}
    for trial in found.trials:
        if trial.result is None:
            named = f"{trial.method}, k = {trial.k}" + (f", l = {trial.l}" if trial.l is not None else "")
            lines.setdefault(("Refused", trial.reason), []).append(named)
    for skipped in found.skipped:
        names = lines.setdefault(("Skipped", skipped.reason), [])
        names += [] if skipped.method in names else [skipped.method]
    said = [f"{what}: {'; '.join(names)}: {reason}" for (what, reason), names in lines.items()]
    said += [f"Note: {note}." for note in found.notes]
    if found.untried:
        said.append(f"Not tried: {', '.join(found.untried)}. Name them with --methods, or take --all.")
    return said
