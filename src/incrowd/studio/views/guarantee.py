"""Screen 4, Guarantee: what is promised to the people in the table, against whom, and what is not.

A choice is written at once. What no release could keep is refused, with the reason beside its control; what
only this method does not keep is written, and said.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from incrowd.errors import IncrowdError, InputError
from incrowd.studio import guarantee_forms as forms
from incrowd.studio import pages, show, views
from incrowd.studio.guard import field_of, form_of
from incrowd.studio.jobs import DONE, Job
from incrowd.studio.outlier_chart import HEIGHT, WIDTH, chart_of
from incrowd.studio.pages import table_needed
from incrowd.studio.show import ShownCommand
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import StepState, get, post

OUTLIERS = "outliers"  # the work that finds p and d
REFUSED = "refused guarantee"  # among the drafts: what was typed and could not be
TRANSPARENT = "transparent"


@table_needed
async def show_guarantee(request: Request) -> Response:
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    limits = await studio.ask_policy("guarantee")
    refused: forms.Typed | None = studio.open.drafts.pop(REFUSED, None)
    fields = forms.fields_of(facts) if refused is None else refused.fields
    flaws = await studio.ask_policy("guarantee_check")
    job = studio.jobs.latest(OUTLIERS)
    return await pages.render(
        request,
        "guarantee.html.j2",
        "guarantee",
        fields=fields,
        problems=_problems(flaws, refused),
        flaws=flaws,
        limits=limits,
        promise=await studio.ask_policy("promise"),
        k_offered=forms.K_OFFERED,
        l_kinds=forms.L_KINDS,
        t_distances=forms.T_DISTANCES,
        people=limits["rows"] if limits["persons"] is None else limits["persons"],
        can_be_transparent=bool(limits["values"]) and not limits["transparent"],
        outliers=job,
        outliers_fit=job is not None and _fits(studio, job),
        outliers_used=job is not None and job.state == DONE and _is_used(job, facts),
        chart=chart_of(job.result) if job is not None and job.state == DONE else None,
        chart_size=(WIDTH, HEIGHT),
        columns=(studio.open.table or {})["columns"],
    )


def _problems(flaws: list[dict[str, str]], refused: forms.Typed | None) -> dict[str, str]:
    """The reason beside each control: of what was refused just now, else of the policy."""
    found = {flaw["control"]: flaw["sentence"] for flaw in flaws}
    found |= {} if refused is None else refused.problems
    return {
        control: f"Refused: {why}" if why[:1].islower() or ":" in why.split(" ")[0] else why
        for control, why in found.items()
    }


def _is_used(job: Job, facts: dict[str, Any]) -> bool:
    """Does the policy have the p and d that were proposed?"""
    found, plain = job.result["proposal"], facts["privacy"].get("plain", {})
    return found is not None and (str(plain.get("p")), str(plain.get("d"))) == (found["p"], found["d"])


def _fits(studio: Studio, job: Job) -> bool:
    return job.fits(studio.session.digest, studio.open.digest)


# What is changed


@table_needed
async def change(request: Request) -> Response:
    """All that the form says that the policy does not, as one step."""
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    typed = forms.typed(form_of(request), facts)
    _without_totals(studio, typed, facts)
    if not typed.problems and typed.changes:
        typed.problems = await _impossible(studio, typed)
    if typed.problems:
        studio.open.drafts[REFUSED] = typed
        return pages.back(request, "/guarantee")
    if typed.changes:
        await studio.edit(", ".join(typed.labels), changes=typed.changes)
    return pages.back(request, "/guarantee")


def _without_totals(studio: Studio, typed: forms.Typed, facts: dict[str, Any]) -> None:
    """Hiding outliers and totals exclude each other: whoever asks for one gives up the other, and is told."""
    hides = any(keys[:2] == ("privacy", "plain") and value is not None for keys, value in typed.changes)
    if hides and facts["totals"]:
        typed.changes = [change for change in typed.changes if change[0] != ("totals",)]
        typed.changes.append((("totals",), False))
        studio.say(
            "Totals were switched off: where outliers are hidden, they would help to find who was left out."
        )


async def _impossible(studio: Studio, typed: forms.Typed) -> dict[str, str]:
    """Why no release of this table could keep what is asked for, by control; empty if one could."""
    try:
        text = await studio.ask("edited", **studio.policy_words(), changes=typed.changes)
        folder = str(studio.open.project.folder)
        flaws = await studio.ask("guarantee_check", text=text, folder=folder)
    except IncrowdError as error:
        return {"form": error.on_the_command_line}
    asked = {keys[1] if keys[0] == "privacy" else keys[0] for keys, _ in typed.changes}
    asked |= {"l"} if asked & {"l_kind", "c"} else set()
    asked |= {"entity"} if "k" in asked else set()
    return {
        flaw["control"]: flaw["sentence"] for flaw in flaws if flaw["impossible"] and flaw["control"] in asked
    }


@table_needed
async def set_entity(request: Request) -> Response:
    """The column that says whose row it is, or none; the one before it becomes an identifier."""
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    names = (studio.open.table or {})["columns"]
    wanted = field_of(request, "entity")
    if wanted and not (wanted.isdecimal() and int(wanted) < len(names)):
        raise InputError("choose a column from the list")
    new = names[int(wanted)] if wanted else None
    old = next((name for name, role in facts["roles"].items() if role == "entity"), None)
    if new == old:
        return pages.back(request, "/guarantee")
    roles = [(old, "identifier")] if old is not None else []
    roles += [(new, "entity")] if new is not None else []
    await studio.edit(f"{new} says whose row it is" if new else "every row is another person", roles=roles)
    if old is not None:
        studio.say(f"{old} is an identifier now: it is not published.")
    return pages.back(request, "/guarantee")


@table_needed
async def accept(request: Request) -> Response:
    """Accept an exposure by its name, or take that back; never all at once."""
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    limits = await studio.ask_policy("guarantee")
    name = field_of(request, "exposure")
    known = {one["name"]: one["accepted"] for one in limits["exposures"]}
    if name not in known or (name == "all" and not known[name]):
        raise InputError("this exposure does not concern this policy; exposures are accepted one by one")
    others = [each for each in facts["accept"] if each != name]
    taken = name in facts["accept"]
    words = f"{name} {'not accepted' if taken else 'accepted'}"
    await studio.edit(words, changes=[(("accept",), others if taken else [*others, name])])
    return pages.back(request, "/guarantee")


@table_needed
async def be_transparent(request: Request) -> Response:
    """The method that keeps l against somebody who re-runs the program; options are of the old method."""
    studio = studio_of(request)
    changes: list[tuple[tuple[str, ...], Any]] = [(("method",), TRANSPARENT), (("options",), None)]
    facts = await studio.ask_policy("policy")
    if facts["privacy"].get("l_kind") not in (None, "frequency"):
        changes += [(("privacy", "l_kind"), "frequency"), (("privacy", "c"), None)]
    await studio.edit("method to transparent", changes=changes)
    return pages.back(request, "/guarantee")


@table_needed
async def find_outliers(request: Request) -> Response:
    """Find out who stands out at which p and d: a job."""
    studio = studio_of(request)
    await studio.start(OUTLIERS, "guarantee", "Find outliers")
    return pages.back(request, "/guarantee")


@table_needed
async def use_proposal(request: Request) -> Response:
    """The p and d that were proposed."""
    studio = studio_of(request)
    job = studio.jobs.latest(OUTLIERS)
    if job is None or job.state != DONE or not _fits(studio, job):
        raise InputError("outliers were counted with another policy; count again first")
    found = job.result["proposal"]
    if found is None:
        raise InputError("nobody stands out at any p and d that was tried: there is nothing to hide")
    facts = await studio.ask_policy("policy")
    typed = forms.Typed(forms.fields_of(facts), forms.plain_changes(found["p"], found["d"]))
    _without_totals(studio, typed, facts)
    await studio.edit(f"outliers hidden: p = {found['p']}, d = {found['d']}", changes=typed.changes)
    return pages.back(request, "/guarantee")


@table_needed
async def outlier_numbers(request: Request) -> Response:
    """What the last count of outliers found, as `incrowd outliers --json` has it."""
    job = studio_of(request).jobs.latest(OUTLIERS)
    if job is None or job.state != DONE:
        raise InputError("outliers were not counted yet")
    return JSONResponse(job.result)


# The frame


async def step(studio: Studio) -> StepState:
    flaws = await studio.ask_policy("guarantee_check")
    if flaws:
        return StepState(views.ATTENTION, flaws[0]["sentence"])
    return StepState(views.DONE if studio.open.project.seen("guarantee") else views.TO_DO)


def commands(studio: Studio) -> tuple[ShownCommand, ...]:
    table, policy = show.table_words(studio), show.policy_words(studio)
    asked = f"{show.table_python(studio)}, {show.policy_python(studio)}"
    return (
        show.publishing(studio),
        ShownCommand(
            "Who stands out at which p and d",
            f"incrowd outliers {table} -p {policy}",
            f"import incrowd as ic\nprint(ic.outliers({asked}))",
        ),
    )


ROUTES = (
    get("/guarantee", show_guarantee),
    get("/guarantee/outliers", outlier_numbers),
    post("/guarantee", change),
    post("/guarantee/entity", set_entity),
    post("/guarantee/accept", accept),
    post("/guarantee/transparent", be_transparent),
    post("/guarantee/outliers", find_outliers),
    post("/guarantee/outliers/use", use_proposal),
)
