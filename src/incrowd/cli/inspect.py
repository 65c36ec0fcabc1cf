"""The command `inspect`: look at a table, and write a first policy."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from incrowd.cli import options, screen
from incrowd.cli.app import app, boundary, finish, write_new
from incrowd.errors import InputError
from incrowd.results import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from incrowd.commands.inspect import Inspection, PolicyCosts, Profile
    from incrowd.commands.inspect.preview import Preview
    from incrowd.commands.inspect.questions import RoleChoice
    from incrowd.commands.inspect.risks import Risk
    from incrowd.flow import Table
    from incrowd.schema import Role, Source

SHOWN_COMBINATIONS = 5
NEVER_PUBLISHED = ("identifier", "entity", "drop")


@app.command()
def inspect(
    table: options.TableFile,
    encoding: options.Encoding = "",
    sheet: options.Sheet = "",
    sql: options.Sql = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write a first policy here; with --costs, an improved one."),
    ] = None,
    policy: options.PolicyFile = None,
    risk: Annotated[
        options.Names,
        typer.Option("--risk", help="Columns known together, a,b,c: who is unique in them (repeat)."),
    ] = None,
    levels: Annotated[
        options.Names,
        typer.Option("--levels", help="Levels of a column's hierarchy in the policy (repeat), or all."),
    ] = None,
    preview: Annotated[
        int, typer.Option("--preview", help="Show so many records before and after; writes nothing.")
    ] = 0,
    costs: Annotated[
        bool, typer.Option("--costs", help="What each quasi-identifier of the policy costs the others.")
    ] = False,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask about each column that nobody recognises; needs a terminal.")
    ] = False,
    memory: options.MemoryLimit = None,
    as_json: options.AsJson = False,
) -> None:
    """Look at a table: columns, suggested roles, re-identification risk; write a first policy.

    Example: incrowd inspect patients.csv -o policy.toml
    """
    with boundary(as_json):
        from incrowd import tables
        from incrowd.commands.inspect import decided, inspect, policy_text
        from incrowd.publishing.memory_limit import check_fits

        if output is not None and output.exists():
            raise InputError(f"{output} exists; name a new file")
        source = options.source(table, encoding, sheet, sql)
        again = options.again(table, encoding, sheet, sql)
        if costs:
            return _costs(source, again, policy, output, memory, as_json)
        if policy is not None or risk or levels or preview:
            if output is not None or ask:
                raise InputError("-o and --ask are for a first policy; leave them out, or -p and the others")
            return _look(source, policy, risk, levels, preview, memory, as_json)
        if ask:
            _check_askable(output, as_json)
        check_fits("inspect", [source], memory)
        with screen.watching(as_json) as watch:
            watch("read")
            read = tables.read(source)
            profile = inspect(read, watch=watch)
        if ask and (answers := _answers(profile)):
            profile = decided(read, profile, answers)
        if output is not None:
            write_new(output, policy_text(profile, options.name_of(table)))
        finish(profile.to_dict(), as_json, lambda: show(profile, table, again, output))


def _look(
    source: Source | Table,
    policy: Path | None,
    risk: options.Names,
    levels: options.Names,
    preview: int,
    memory: str | None,
    as_json: bool,
) -> None:
    """Risks, levels and a preview, as a policy reads the table."""
    from incrowd.commands.inspect import inspect

    sets = [options.split_names([words]) for words in risk or []]
    given: Any = policy  # with or without one: what does not go together is refused there
    with screen.watching(as_json) as watch:
        asked: dict[str, Any] = {"levels": options.split_names(levels), "preview": preview}
        found = inspect(source, given, risk=sets, **asked, memory=memory, watch=watch)
    finish(found.to_dict(), as_json, lambda: show_look(found))


def show_look(found: Inspection) -> None:
    """Who stands out if some columns are known, what levels of hierarchies would do, and some records."""
    out = screen.console()
    if found.risks:
        persons = "" if found.known.persons is None else "; sizes of classes are persons"
        title = f"{found.rows:,} rows as they are: how many are alone, or with few, in what somebody knows"
        rows = [_risk_row(risk) for risk in found.risks]
        header = ["known together", "unique", "2 to 4", "5 to 9", "10 or more", "largest risk"]
        header += [] if found.k is None else [f"below k = {found.k}"]
        out.print(screen.table(title + persons, header, rows, right=header[1:], least=("5 to 9", "2 to 4")))
        out.print("largest risk: highest match probability (prosecutor risk), of the smallest class")
    for counts in found.levels:
        rows = [
            (str(level.level), f"{level.labels:,}", f"{level.smallest:,}", f"{level.largest:,}")
            + (() if level.below_k is None else (f"{level.below_k:,}",))
            for level in counts.levels
        ]
        header = ["level", "labels", "smallest", "largest"]
        header += [] if counts.k is None else [f"rows below k = {counts.k}"]
        out.print(screen.table(f"The hierarchy of {counts.column}, by itself", header, rows, right=header))
    if found.preview is not None:
        _show_preview(found.preview)


def _risk_row(risk: Risk) -> tuple[str, ...]:
    from incrowd.commands.inspect.inspection import odds

    many = (risk.unique, risk.below_5 - risk.unique, risk.below_10 - risk.below_5, risk.rows - risk.below_10)
    below = () if risk.below_k is None else (f"{risk.below_k:,}",)
    return (", ".join(risk.columns), *(f"{rows:,}" for rows in many), odds(risk), *below)


def _show_preview(preview: Preview) -> None:
    from incrowd.commands.inspect.preview import PRIVATE, UNCHANGED
    from incrowd.reports.cell_words import shown_cell

    out = screen.console()
    out.print(PRIVATE)
    for number, record in enumerate(preview.records, 1):
        rows = [
            (cell.column, cell.before, shown_cell(cell.after) if cell.after else "", cell.means)
            for cell in record.cells
            if cell.means != UNCHANGED
        ]
        title = f"Record {number} of {len(preview.records)}, by what it loses"
        header = ("column", "the table says", "its row would say", "which means")
        out.print(screen.table(title, header, rows))
    same = {cell.column: 1 for record in preview.records for cell in record.cells if cell.means == UNCHANGED}
    if same:
        out.print(f"Published unchanged: {listed(list(same))}")
    if preview.sampled < preview.rows:
        out.print(
            f"Drafted from {preview.sampled:,} of {preview.rows:,} rows, so that it takes seconds: of all "
            "rows, cells are narrower."
        )
    out.print(f"Not verified: a draft with {preview.method}, k = {preview.k}.")


def _costs(
    source: Source | Table,
    again: str,
    policy: Path | None,
    output: Path | None,
    memory: str | None,
    as_json: bool,
) -> None:
    from incrowd.commands.inspect import inspect
    from incrowd.commands.inspect.improved_text import improved_text

    with screen.watching(as_json) as watch:
        found = inspect(source, policy, costs=True, memory=memory, watch=watch)
    commented = True
    if output is not None and policy is not None:
        moved = {column.name: (column.advice, column.reason) for column in found.advised}
        written = policy.read_text(encoding="utf-8-sig")
        text, commented = improved_text(written, found.improved, moved)
        write_new(output, text)
    finish(found.to_dict(), as_json, lambda: show_costs(found, again, policy, output, commented))


def show_costs(
    found: PolicyCosts, again: str, policy: Path | None, output: Path | None, commented: bool
) -> None:
    """What each quasi-identifier costs, what goes with it, and what to do."""
    from incrowd.commands.inspect.costs import WIDE, points
    from incrowd.measures.two_way import percent

    out = screen.console()
    on = "" if found.sampled == found.rows else f", measured on {found.sampled:,} of them"
    rows = [(c.name, points(c.cost), points(c.coarser), c.loses) for c in found.columns]
    header = ("column", "cost", "coarser", "dropping it loses")
    out.print(screen.table(f"{found.rows:,} rows{on}; k = {found.k}", header, rows))
    unmeasured = f" (not measured with more than {WIDE} of them)" if len(found.columns) > WIDE else ""
    lines = [
        "cost: percentage points by which two-column tables of the others would be closer to the truth "
        f"without it; coarser: with three values of it{unmeasured}.",
        "What tells most costs most: drop a column because nobody needs it, not because it is dear.",
    ]
    if found.demand.too_much:
        lines.append(f"WARNING: {found.demand.sentence()}.")
    for (advice, reason), names in _advice(found).items():
        what = "publish as sensitive" if advice == "sensitive" else "drop"
        lines.append(f"Advice: {what} {', '.join(names)}: {reason}.")
    if found.advised and found.before is not None and found.after is not None:
        lines.append(
            f"Together: two-column tables of the columns that stay are wrong for {percent(found.after)} of "
            f"people instead of {percent(found.before)}."
        )
    for line in lines:
        out.print(screen.folded(line))
    if output is None:
        if found.advised and policy is not None:
            out.print(f"Next: incrowd inspect {again} -p {quote(str(policy))} --costs -o improved.toml")
        return
    changed = f"with {len(found.advised)} columns moved" if found.advised else "unchanged: nothing is advised"
    out.print(f"Wrote {output}, {changed}{'' if commented else ', without the comments'}. Read it, then:")
    out.print(f"  incrowd publish {again} -p {quote(str(output))} -o release")


def _advice(found: PolicyCosts) -> dict[tuple[str, str], list[str]]:
    blocks: dict[tuple[str, str], list[str]] = {}
    for column in found.advised:
        blocks.setdefault((column.advice, column.reason), []).append(column.name)
    return blocks


def _check_askable(output: Path | None, as_json: bool) -> None:
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(
            "--ask needs a terminal, where somebody answers; without it, undecided columns are held back"
        )
    if output is None:
        raise InputError("--ask records the answers in the policy that it writes; name its file with -o")


def _answers(profile: Profile) -> dict[str, tuple[Role, str]]:
    """Ask about every undecided column; whoever leaves (Ctrl-D) holds back the rest."""
    from incrowd.commands.inspect.questions import CHOICES, asked_at_once, question, question_of_a_series
    from incrowd.schema import Role

    out = screen.console()
    found: dict[str, tuple[Role, str]] = {}
    columns = profile.having(Role.UNDECIDED)
    if not columns:
        out.print("Nothing to ask: every column has a role.")
        return {}
    out.print(f"{len(columns)} columns are undecided. Answer each: {CHOICES}.")
    rounds = asked_at_once(columns)
    asked = 0
    while rounds:
        series = rounds.pop(0)
        many = len(series) > 1
        words = question_of_a_series(series) if many else question(series[0], profile.rows)
        out.print(f"({asked + 1} of {len(columns)}) {words}")
        try:
            answer = _answer(many)
        except EOFError:
            out.print("")
            break
        if answer is None:
            rounds[:0] = [(column,) for column in series]
            continue
        asked += len(series)
        if answer.role is not Role.UNDECIDED:
            found |= {column.name: (answer.role, answer.reason) for column in series}
    return found


def _answer(series: bool) -> RoleChoice | None:
    """What is typed, asked for until it means something; None if a series is to be asked about one by one."""
    from incrowd.commands.inspect.questions import CHOICES, EACH, answer_of

    each = f"/{EACH}" if series else ""
    while True:
        given = input(f"[k/p/n/h/d{each}, Enter = hold back] ")
        if series and given.strip().casefold() == EACH:
            return None
        if (answer := answer_of(given)) is not None:
            return answer
        screen.console().print(f"  {CHOICES}")


def show(profile: Profile, table: str, again: str, output: Path | None) -> None:
    """What `inspect` found in a table, and what to do next; `again` is how to name it on the command line."""
    out = screen.console()
    rows = [
        (c.name, str(c.kind), f"{c.distinct:,}", f"{c.missing:,}", f"{c.once:,}", _plain(c.role))
        for c in profile.columns
    ]
    header = ("column", "kind", "distinct", "missing", "once", "suggested role")
    title = f"{options.name_of(table)}: {profile.rows:,} rows"
    out.print(screen.table(title, header, rows, least=("once", "missing")))
    out.print("Why these roles:")
    for (role, reason), names in _reasons(profile).items():
        out.print(f"  {listed(names)}: {_plain(role)}; {reason}")
    for line in _read(profile):
        out.print(line)
    if profile.missing:
        out.print(
            f"Taken for missing: {', '.join(profile.missing)}; strike from the policy what is a real value"
        )
    risk = profile.risk
    if risk.columns:
        out.print(
            f"Risk now: {risk.unique:,} of {profile.rows:,} rows are unique in their suggested "
            f"quasi-identifiers; {risk.below_10:,} are in equivalence classes of fewer than ten rows."
        )
    for found in profile.combinations[:SHOWN_COMBINATIONS]:
        out.print(f"  {' + '.join(found.columns)} alone single out {found.unique:,} rows")
    for found in profile.isolating[:SHOWN_COMBINATIONS]:
        out.print(
            f"  sensitive {' + '.join(found.columns)}, published unchanged, single out {found.unique:,} rows "
            f"({found.unique / profile.rows:.0%})"
        )
    if profile.bounded:
        out.print(profile.bounded)
    if profile.demand is not None and profile.demand.too_much:
        out.print(screen.folded(f"WARNING: {profile.demand.sentence()}."))
    undecided = [c.name for c in profile.columns if c.role == "undecided"]
    if undecided:
        out.print(
            f"Held back, not published until you say what they are: {listed(undecided)}. Could anybody "
            "know this about somebody? Answer with --ask, or in the policy."
        )
    if output is None:
        out.print(f"Next: incrowd inspect {again} -o policy.toml")
    else:
        out.print(f"Wrote {output}. Read it, change what is wrong, then:")
        out.print(f"  incrowd publish {again} -p {quote(str(output))} -o release")


def _read(profile: Profile) -> Iterator[str]:
    """What was taken for what, and what only somebody who knows the data can say."""
    yield from profile.reading
    for column in profile.columns:
        if column.role in NEVER_PUBLISHED:
            continue  # however it is read, nobody will see it
        if column.readings:
            taken = "a number" if column.kind == "numeric" else "text"
            yield f"To be decided: {column.name}: {column.note}; it is {taken} until you say"
            yield from (f"  {column.name} = {way}" for way in column.readings)
        elif column.note:
            yield f"{column.name}: {column.note}"


def _plain(role: Role) -> str:
    return str(role).replace("_", "-")


def _reasons(profile: Profile) -> dict[tuple[Role, str], list[str]]:
    """Columns by their suggested role and its reason: the same reason is shown once."""
    found: dict[tuple[Role, str], list[str]] = {}
    for column in profile.columns:
        found.setdefault((column.role, column.reason), []).append(column.name)
    return found
