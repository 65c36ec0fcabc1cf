"""Screen 6, Publish: the promise, the work, the verified release; earlier ones; next month's table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from incrowd.errors import InputError
from incrowd.schema import CHECKS
from incrowd.studio import pages, show, views, words
from incrowd.studio.bench import Refusal
from incrowd.studio.guard import field_of
from incrowd.studio.hierarchy_drafts import DRAFTS
from incrowd.studio.jobs import REFUSED, Job
from incrowd.studio.pages import table_needed
from incrowd.studio.project import TableFile, project_for, read_bytes, write_whole
from incrowd.studio.releases import (
    FoundRelease,
    as_sentence,
    files_in,
    meant,
    new_name,
    releases_of,
    wanted_name,
)
from incrowd.studio.show import ShownCommand
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import StepState, get, post
from incrowd.studio.views.start import tables_in

PUBLISH = "publish"
FORMS = {
    "csv": "CSV",
    "parquet": "Parquet, cells as texts",
    "parquet-typed": "Parquet, ranges as two columns",
}
STAGES = (  # what people see, and the steps of the work that it stands for
    ("Read", ("", "read", "join", "encode")),
    ("Generalize", ("group", "suppress", "repair", "generalize")),
    ("Write", ("write",)),
    ("Verify", ("verify",)),
    ("Measure", ("measure",)),
)
MOST_LISTED = 50
# What can be changed where, after a refusal of a kind.
CONTROLS: Mapping[str, Sequence[tuple[str, str]]] = {
    "Exposure": (("columns", "Give the column another role"),),
    "Infeasible": (
        ("guarantee", "Ask for a smaller k or l, or let more be left out"),
        ("compare", "Take another method"),
        ("columns", "Change the roles of columns"),
    ),
    "PolicyError": (("guarantee", "Change the promise"), ("columns", "Change the roles of columns")),
    "HierarchyError": (("hierarchies", "Mend the hierarchy"),),
    "TableError": (("table", "Say how the table is read"), ("columns", "Change the roles of columns")),
    "NotVerified": (("compare", "Take another method"),),
}
OTHERWISE = (("columns", "Look at the columns"), ("table", "Look at the table"))


@table_needed
async def show_publish(request: Request) -> Response:
    """Before, running, refused, or the release that was made with this policy."""
    studio = studio_of(request)
    made = await _matching(studio)
    return await _rendered(request, studio, made)


@table_needed
async def show_release(request: Request) -> Response:
    """An earlier release."""
    studio = studio_of(request)
    return await _rendered(request, studio, _of_key(request, studio))


async def _rendered(request: Request, studio: Studio, release: FoundRelease | None) -> Response:
    job = studio.jobs.latest(PUBLISH)
    ready = await studio.ask_policy("readiness")
    facts = None if release is None else await _facts(studio, release)
    all_known = await _listed(studio)
    studio.files = _other_tables(studio)
    details = None
    if release is not None and request.query_params.get("all") == "yes":
        details = await _details(studio, release)
    draft = None
    if request.query_params.get("draft") == "yes":
        draft = await _draft(studio)
    return await pages.render(
        request,
        "publish.html.j2",
        "publish",
        job=job,
        refused=_refused(studio, job),
        ready=ready,
        accepted=await _accepted(studio),
        forms=FORMS,
        check_means=CHECKS,
        new_name=new_name(studio.open.project),
        stages=_stages(job),
        release=release,
        release_facts=facts,
        current=facts is not None and await _is_current(studio, facts),
        given=files_in(release.path) if release else [],
        private=files_in(release.private) if release else [],
        details=details,
        draft=draft,
        listed=all_known,
        tables=[path.name for path in studio.files],
        elsewhere={name for _, name, _ in views.present()},
    )


# What is known


def _of_key(request: Request, studio: Studio) -> FoundRelease:
    """The release that an address means."""
    return meant(request.path_params["key"], releases_of(studio.open.project))


async def _facts(studio: Studio, release: FoundRelease) -> dict[str, Any]:
    found: dict[str, Any] = await studio.ask("release_facts", path=str(release.path), stamp=release.stamp)
    return found


async def _listed(studio: Studio) -> list[dict[str, Any]]:
    """The newest releases, with what each is; one that cannot be read says so."""
    found = []
    for release in reversed(releases_of(studio.open.project)[-MOST_LISTED:]):
        try:
            facts = await _facts(studio, release)
            found.append(
                {"release": release, "problem": "", "current": await _is_current(studio, facts), **facts}
            )
        except Refusal as refusal:
            found.append({"release": release, "problem": refusal.sentence, "current": False})
    return found


async def _is_current(studio: Studio, facts: Mapping[str, Any]) -> bool:
    """Was it made with this policy, of this table?"""
    policy = await studio.ask_policy("policy_digest")
    return bool(facts["policy"] == policy and facts["table"][:32] == studio.open.digest)


async def _matching(studio: Studio) -> FoundRelease | None:
    """The newest release that was made with the policy as it is, of the table as it is."""
    return next((one["release"] for one in await _listed(studio) if one["current"]), None)


async def _accepted(studio: Studio) -> list[dict[str, str]]:
    facts = await studio.ask_policy("policy")
    known = await studio.ask("exposures")
    return [{"name": name, "meaning": known.get(name, "")} for name in facts["accept"]]


def _stages(job: Job | None) -> list[dict[str, Any]]:
    """The stages of the work, and which is going on; words as progress tells them."""
    step = job.step if job is not None and job.running else ""
    now = next((place for place, (_, steps) in enumerate(STAGES) if step in steps), 0)
    return [
        {
            "title": title,
            "state": "past" if place < now else "now" if place == now else "",
            "words": "|".join(words.STEPS.get(each, each) for each in steps),
        }
        for place, (title, steps) in enumerate(STAGES)
    ]


def _refused(studio: Studio, job: Job | None) -> dict[str, Any] | None:
    """Why the last attempt with this policy was refused, and what can be changed."""
    if job is None or job.state != REFUSED or not job.fits(studio.session.digest, studio.open.digest):
        return None
    told = next((part for part in job.parts if "exposure" in part), None)
    present = {name for _, name, _ in views.present()}
    controls = [
        (f"/{screen}", label) for screen, label in CONTROLS.get(job.refused, OTHERWISE) if screen in present
    ]
    sentence = told["reason"] if told else job.sentence
    return {
        "sentence": as_sentence(sentence, (studio.open.table or {"columns": []})["columns"]),
        "exposure": told["exposure"] if told else "",
        "controls": [*_columns_in(studio, sentence), *controls],
    }


def _columns_in(studio: Studio, sentence: str) -> list[tuple[str, str]]:
    """Columns that a sentence names, as links to them."""
    names = (studio.open.table or {"columns": []})["columns"]
    said = [
        (f"/columns#column-{number}", f"Look at {name}")
        for number, name in enumerate(names)
        if len(name) > 1 and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence)
    ]
    return said[:3]


def _other_tables(studio: Studio) -> list[Path]:
    """Tables of the start folder and of the table's own, besides the table itself."""
    own = studio.open.project.table.path.resolve()
    folders = dict.fromkeys((studio.folder.resolve(), own.parent))
    found = [path for folder in folders if folder.is_dir() for path, _ in tables_in(folder)]
    return [path for path in found if path.resolve() != own]


async def _details(studio: Studio, release: FoundRelease) -> dict[str, Any]:
    """Read from the release and the table; of another table nothing is shown."""
    facts = await _facts(studio, release)
    if facts["table"][:32] != studio.open.digest:
        return {"problem": "It was made from another content of the table, so that rows cannot be compared."}
    try:
        found = await studio.ask("release_details", path=str(release.path), stamp=release.stamp)
    except Refusal as refusal:
        return {"problem": refusal.sentence}
    return {"problem": "", **found}


async def _draft(studio: Studio) -> dict[str, Any]:
    try:
        return {"problem": "", **await studio.ask_policy("draft_records")}
    except Refusal as refusal:
        return {"problem": refusal.sentence}


@table_needed
async def details(request: Request) -> Response:
    """Rows before and after, loss by column and sizes of classes: loaded after the page."""
    studio = studio_of(request)
    found = await _details(studio, _of_key(request, studio))
    page = pages.templates().get_template("publish_details.html.j2")
    return HTMLResponse(page.render(details=found, parts=_parts()))


@table_needed
async def draft(request: Request) -> Response:
    """Some records before and after, from a draft: loaded after the page."""
    found = await _draft(studio_of(request))
    page = pages.templates().get_template("publish_draft.html.j2")
    return HTMLResponse(page.render(draft=found, parts=_parts()))


def _parts() -> Any:
    return pages.templates().get_template("parts.html.j2").module


# What is done


@table_needed
async def start(request: Request) -> Response:
    """Publish: a job. The name must be new, so that nothing is replaced."""
    studio = studio_of(request)
    form = field_of(request, "form") or "csv"
    if form not in FORMS:
        raise InputError("choose a format from the list")
    path = wanted_name(studio.open.project, field_of(request, "name"))
    await studio.start(
        PUBLISH, "publish", f"Publish {path.name}", output=str(path), form=form, name=path.name
    )
    return pages.back(request, "/publish")


@table_needed
async def accept(request: Request) -> Response:
    """Accept an exposure by its name, or take that back."""
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    name = field_of(request, "exposure")
    if name not in await studio.ask("exposures"):
        raise InputError("there is no exposure of this name")
    others = [each for each in facts["accept"] if each != name]
    taken = name in facts["accept"]
    await studio.edit(
        f"{name} {'not accepted' if taken else 'accepted'}",
        changes=[(("accept",), others if taken else [*others, name])],
    )
    return pages.back(request, "/publish")


@table_needed
async def next_table(request: Request) -> Response:
    """The same policy for another table: a project of its own, which tells what no longer fits."""
    studio = studio_of(request)
    if studio.jobs.running is not None:
        raise InputError("something is running; wait for its end, or cancel it, before opening another table")
    number = field_of(request, "file")
    if not number.isdecimal() or int(number) >= len(studio.files):
        raise InputError("this table is not in the list any more; choose again")
    path = studio.files[int(number)]
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{path.name} is gone; choose again")
    old = studio.open.project
    folder = project_for(path, studio.folder)
    if folder.exists():
        raise InputError(f"{path.name} has a project already, {folder.name}; open it on the start page")
    _copied(old.folder, folder, studio.session.text)
    await studio.open_project(folder, TableFile(path.resolve()))
    studio.say(f"{path.name} has the policy of {old.table.name}. What no longer fits is told below.")
    await studio.ready()
    return RedirectResponse("/publish", 303)


def _copied(old: Path, new: Path, policy: str) -> None:
    """A new project with the policy and the hierarchies of another; no table, no release."""
    try:
        (new / "hierarchies").mkdir(mode=0o700, parents=True)
        new.chmod(0o700)
        for path in sorted((old / "hierarchies").iterdir()):
            if path.is_file() and not path.is_symlink() and path.name != DRAFTS:
                content = path.read_bytes()
                write_whole(new / "hierarchies" / path.name, content)
        write_whole(new / "policy.toml", policy.encode())
    except OSError as error:
        raise InputError(f"cannot make the project {new.name}: {error.strerror}") from None
    if read_bytes(new / "policy.toml") is None:
        raise InputError(f"cannot make the project {new.name}")


# What the frame asks


async def step(studio: Studio) -> StepState:
    if not releases_of(studio.open.project):
        return StepState(views.TO_DO)
    if await _matching(studio) is None:
        return StepState(views.OUT_OF_DATE, "published with another policy or table")
    return StepState(views.DONE)


def commands(studio: Studio) -> tuple[ShownCommand, ...]:
    project = studio.open.project
    target = show.place(studio, project.inside("releases") / new_name(project))
    table, policy = show.table_words(studio), show.policy_words(studio)
    in_python = f"{show.table_python(studio)}, {show.policy_python(studio)}, {target!r}"
    found = [
        ShownCommand(
            "The release of this policy",
            f"incrowd publish {table} -p {policy} -o {quote(target)}",
            f"import incrowd as ic\nic.publish({in_python})",
        )
    ]
    made = releases_of(project)
    if made:
        last = show.place(studio, made[-1].path)
        found.append(
            ShownCommand(
                "The loss by column of the last release",
                f"incrowd measure {quote(last)} --original {table}",
                f"import incrowd as ic\nprint(ic.measure({last!r}, {show.table_python(studio)}))",
            )
        )
    return tuple(found)


ROUTES = (
    get("/publish", show_publish),
    get("/publish/draft", draft),
    get("/releases/{key}", show_release),
    get("/releases/{key}/details", details),
    post("/publish/start", start),
    post("/publish/accept", accept),
    post("/publish/next", next_table),
)
