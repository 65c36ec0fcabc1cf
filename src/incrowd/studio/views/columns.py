"""Screen 2, Columns: what each column is, who stands alone by it, and what it costs the others."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from math import log
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from incrowd.errors import InputError
from incrowd.studio import pages, show, views, words
from incrowd.studio.bench import Refusal
from incrowd.studio.guard import field_of, form_of
from incrowd.studio.jobs import DONE, Job
from incrowd.studio.pages import table_needed
from incrowd.studio.paging import Paging, asked_number
from incrowd.studio.show import ShownCommand
from incrowd.studio.state import Studio, column_number, counted, studio_of
from incrowd.studio.views import StepState, get, post

COLUMNS_A_PAGE = 60
PREVIEW_ROWS = 5
COSTS = "costs"  # the work of the guided path


@table_needed
async def show_columns(request: Request) -> Response:
    studio = studio_of(request)
    table = studio.open.table or {}
    facts = await studio.ask_policy("policy")
    columns = await _columns(studio, facts)
    find = request.query_params.get("find", "").strip()[:100]
    only = request.query_params.get("role", "")
    found = [
        column
        for column in columns
        if find.casefold() in column["name"].casefold() and only in ("", column["role"])
    ]
    page = Paging(len(found), COLUMNS_A_PAGE, asked_number(request, "page"))
    shown = found[page.start : page.end]
    asked = asked_number(request, "examples")
    for column in shown:
        hidden = column["role"] in ("identifier", "entity") and column["number"] != asked
        column["hidden"] = hidden
        column["examples"] = [] if hidden else await studio.ask("examples", column=column["name"])
    risk, problem = await _risk(studio)
    return await pages.render(
        request,
        "columns.html.j2",
        "columns",
        table=table,
        columns=shown,
        all_columns=columns,
        page=page,
        find=find,
        only=only,
        tally=_tally(columns),
        risk=risk,
        problem=problem,
        change=await _last_change(studio, risk),
        **await _told(studio, request.query_params.get("told") == "yes"),
        exposed=await studio.ask_policy("near_unique"),
        preview=await _preview(studio, columns, asked),
        costs=studio.jobs.latest(COSTS),
        costs_fit=_fits(studio, studio.jobs.latest(COSTS)),
        advised=_advised(studio.jobs.latest(COSTS), columns),
        costs_asked=_with_k(facts),
        differs=any(column["chosen"] for column in columns),
    )


def _tally(columns: list[dict[str, Any]]) -> str:
    """How many columns have which role: 1 identifier · 7 quasi-identifiers."""
    counts = Counter(c["role"] for c in columns)
    said = {role: words.ROLES[role].lower() if role else "without a role" for role in counts}
    return counted({said[role] + _plural(role, count): count for role, count in counts.items()})


def _plural(role: str, count: int) -> str:
    return "s" if count > 1 and role in ("identifier", "quasi_identifier", "entity") else ""


async def _columns(studio: Studio, facts: dict[str, Any]) -> list[dict[str, Any]]:
    found = await studio.ask("columns")
    alone = await studio.ask_policy("one_column")
    missing = (await studio.ask("missing", markers=facts["missing"]))["counts"]
    rows = (studio.open.table or {})["rows"]
    columns = []
    for number, column in enumerate(found):
        name = column["name"]
        role = facts["roles"][name]
        known = alone[name]
        columns.append(
            {
                **column,
                "number": number,
                "role": role,
                "kind": facts["described"][name].get("type") or column["kind"],
                "missing": missing[name],
                "people": known.get("people"),
                "problem": known.get("problem", ""),
                "tells": _tells(known.get("people"), rows),
                "chosen": role != column["suggested"],
            }
        )
    return columns


def _tells(people: float | None, rows: int) -> float:
    """How much a column tells, from 0 (all are equal) to 100 (all are alone), on a scale of halvings."""
    if people is None or rows < 2:
        return 0.0
    return round(100 * (1 - log(max(people, 1.0)) / log(rows)), 1)


async def _risk(studio: Studio) -> tuple[dict[str, Any] | None, str]:
    try:
        return await studio.ask_policy("risk"), ""
    except Refusal as refusal:
        return None, refusal.sentence


async def _last_change(studio: Studio, risk: dict[str, Any] | None) -> dict[str, Any] | None:
    """What the last choice did to who stands alone: the policy now against the one before it."""
    session = studio.session
    before = session.before
    if before is None:
        return None
    try:
        old = await studio.ask("risk", text=before, folder=str(studio.open.project.folder))
    except Refusal:
        return None
    then = 0 if old is None else old["unique"]
    now = 0 if risk is None else risk["unique"]
    return {"label": session.now.label, "more": now - then}


async def _told(studio: Studio, now: bool = False) -> dict[str, Any]:
    """What few facts tell; while that is not counted, the old numbers, and a page that asks for new ones."""
    here = studio.open
    found = studio.bench.known("told", **studio.policy_words())
    if found is None and now:
        with suppress(Refusal):  # why it cannot be counted is said where the risk is
            found = await studio.ask_policy("told")
    here.told = found or here.told
    return {"told": here.told, "told_fits": found is not None}


@table_needed
async def told(request: Request) -> Response:
    """What few facts tell, for a page that was there before it was counted."""
    studio = studio_of(request)
    page = pages.templates().get_template("told.html.j2")
    return HTMLResponse(page.render(table=studio.open.table, **await _told(studio, now=True)))


async def _preview(studio: Studio, columns: list[dict[str, Any]], asked: int | None) -> dict[str, Any]:
    """The first rows, identifiers covered unless somebody asked for them."""
    shown = columns[:COLUMNS_A_PAGE]
    cells = await studio.ask("rows", start=0, count=PREVIEW_ROWS, columns=[0, len(shown)])
    covered = [c["role"] in ("identifier", "entity") and c["number"] != asked for c in shown]
    return {"columns": list(zip(shown, covered, strict=True)), "cells": cells}


def _fits(studio: Studio, job: Job | None) -> bool:
    return job is not None and job.fits(studio.session.digest, studio.open.digest)


def _advised(job: Job | None, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the costs advise, with the number of each column and whether somebody chose its role."""
    said = job.result["columns"] if job is not None and job.state == DONE else []
    known = {column["name"]: column for column in columns}
    return [
        {**known[column["name"]], "advice": column["advice"], "why_advised": column["reason"]}
        for column in said
        if column["advice"] and column["name"] in known
    ]


def _with_k(facts: dict[str, Any]) -> bool:
    return "k" in facts["privacy"]


# What is changed


@table_needed
async def set_role(request: Request) -> Response:
    """Another role for one column."""
    studio = studio_of(request)
    names = (studio.open.table or {})["columns"]
    name = names[column_number(request, names)]
    role = _role(field_of(request, "role"))
    await _move(studio, f"{name} to {words.ROLES[role]}", [(name, role)])
    return pages.back(request, "/columns")


@table_needed
async def set_several(request: Request) -> Response:
    """One role for all ticked columns, as one step."""
    studio = studio_of(request)
    names = (studio.open.table or {})["columns"]
    numbers = [int(text) for text in form_of(request).get("column", ()) if text.isdecimal()]
    chosen = [names[number] for number in dict.fromkeys(numbers) if number < len(names)]
    if not chosen:
        raise InputError("no column is ticked; tick some first, then choose their role")
    role = _role(field_of(request, "role"))
    what = chosen[0] if len(chosen) == 1 else f"{len(chosen)} columns"
    await _move(studio, f"{what} to {words.ROLES[role]}", [(name, role) for name in chosen])
    return pages.back(request, "/columns")


@table_needed
async def use_suggestions(request: Request) -> Response:
    """All roles as they were suggested."""
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    found = await studio.ask("columns")
    # the entity goes first: there is one, and another column may become it
    roles = [(c["name"], c["suggested"]) for c in found if facts["roles"][c["name"]] != c["suggested"]]
    roles.sort(key=lambda each: each[1] == "entity")
    if roles:
        await _move(studio, "all roles as suggested", roles)
    return pages.back(request, "/columns")


async def _move(studio: Studio, label: str, roles: list[tuple[str, str]]) -> None:
    """Other roles; a new quasi-identifier is read as what the screen says it is, as in a first policy.

    Else codes such as 5 and 6 would be taken for numbers, and published as a range.
    """
    facts = await studio.ask_policy("policy")
    found = {column["name"]: column for column in await studio.ask("columns")}
    changes = [
        (("quasi_identifiers", name, key), value)
        for name, role in roles
        if role == "quasi_identifier" and facts["roles"][name] != role and not found[name]["readings"]
        for key, value in (("type", found[name]["kind"]), ("format", found[name]["format"]))
        if value and key not in facts["described"][name] and "type" not in facts["described"][name]
    ]
    await studio.edit(label, changes=changes, roles=roles)


def _role(given: str) -> str:
    if given not in words.ROLES:
        raise InputError("choose a role from the list")
    return given


@table_needed
async def accept(request: Request) -> Response:
    """Accept a known exposure by its name, or take that back."""
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    name = field_of(request, "exposure")
    if name not in {one["exposure"] for one in await studio.ask_policy("near_unique")}:
        raise InputError("this exposure is not one of these columns any more")
    accepted = [each for each in facts["accept"] if each != name]
    taken = name in facts["accept"]
    await studio.edit(
        f"{name} {'not accepted' if taken else 'accepted'}",
        changes=[(("accept",), accepted if taken else [*accepted, name])],
    )
    return pages.back(request, "/columns")


@table_needed
async def forget_absent(request: Request) -> Response:
    """Take the columns out of the policy that the table does not have."""
    studio = studio_of(request)
    absent = (await studio.ask_policy("policy"))["absent"]
    if not absent:
        raise InputError("the table has every column that the policy names")
    what = absent[0] if len(absent) == 1 else f"{len(absent)} columns that are not there"
    await studio.edit(f"without {what}", gone=absent)
    return pages.back(request, "/columns")


@table_needed
async def measure_costs(request: Request) -> Response:
    """Measure what each quasi-identifier costs the others: a job."""
    studio = studio_of(request)
    await studio.start(COSTS, "columns", "Measure what each column costs")
    return pages.back(request, "/columns")


@table_needed
async def take_advice(request: Request) -> Response:
    """What is ticked of all that the costs advise, in one step."""
    studio = studio_of(request)
    job = studio.jobs.latest(COSTS)
    if job is None or job.state != DONE or not _fits(studio, job):
        raise InputError("the costs were measured with other roles; measure again first")
    columns = await _columns(studio, await studio.ask_policy("policy"))
    ticked = form_of(request).get("column", ())
    moved = [(one["name"], one["advice"]) for one in _advised(job, columns) if str(one["number"]) in ticked]
    if not moved:
        raise InputError("no advice is ticked; tick what you want to follow")
    await _move(studio, "the advice on columns", moved)
    what = "1 column was" if len(moved) == 1 else f"{len(moved)} columns were"
    studio.say(f"{what} moved as advised. Undo takes it back.")
    return pages.back(request, "/columns")


@table_needed
async def risk_numbers(request: Request) -> Response:
    """The risk of the policy's quasi-identifiers, as `inspect -p policy.toml --json` has it."""
    return JSONResponse(await studio_of(request).ask_policy("risk"))


async def step(studio: Studio) -> StepState:
    facts = await studio.ask_policy("policy")
    roles = list(facts["roles"].values())
    if facts["absent"]:
        return StepState(views.ATTENTION, f"the table has no column {facts['absent'][0]}")
    if "quasi_identifier" not in roles:
        return StepState(views.ATTENTION, "no column is a quasi-identifier")
    open_ = roles.count("undecided") + len(facts["without_role"])
    if open_:
        waiting = "1 column waits" if open_ == 1 else f"{open_} columns wait"
        return StepState(views.ATTENTION, f"{waiting} for a decision")
    if any(not one["accepted"] for one in await studio.ask_policy("near_unique")):
        return StepState(views.ATTENTION, "a column that is published unchanged singles people out")
    return StepState(views.DONE if studio.open.project.seen("columns") else views.TO_DO)


def commands(studio: Studio) -> tuple[ShownCommand, ...]:
    return show.inspecting(studio), show.costing(studio), show.publishing(studio)


ROUTES = (
    get("/columns", show_columns),
    get("/columns/told", told),
    get("/risk", risk_numbers),
    post("/columns/several", set_several),
    post("/columns/suggested", use_suggestions),
    post("/columns/accept", accept),
    post("/columns/absent", forget_absent),
    post("/columns/costs", measure_costs),
    post("/columns/advice", take_advice),
    post("/columns/{number:int}", set_role),
)
