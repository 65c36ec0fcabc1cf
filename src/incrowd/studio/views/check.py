"""Screen 7, Check: verify a release, attack it, ask it, write reports; also of one from elsewhere."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from incrowd.errors import IncrowdError, InputError
from incrowd.studio import pages, release_commands, views
from incrowd.studio.attack_rows import attack_rows, attacked, remarks, unpromised, widest
from incrowd.studio.bench import Refusal
from incrowd.studio.guard import REPORT_POLICY, field_of, form_of
from incrowd.studio.jobs import DONE, Job
from incrowd.studio.pages import table_needed
from incrowd.studio.releases import (
    MOST_FOUND,
    FoundRelease,
    manifest_of,
    meant,
    promise_of,
    published_tables,
    releases_below,
    releases_of,
)
from incrowd.studio.session import StudioSession
from incrowd.studio.show import ShownCommand
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import StepState, get, post
from incrowd.studio.views.start import tables_in

VERIFY, ATTACK, AUDIT, REPORT, LEARN = (
    "check_verify",
    "check_attack",
    "check_audit",
    "check_report",
    "check_learn",
)
PAGES = ("readers", "private")
QUICK_ROWS = 200_000  # of a release that is opened for questions without being asked to
FIRST_COLUMNS = 12  # whose conditions are seen at once
SHOWN_COLUMNS = 40  # that have conditions of their own in the form; SQL has all


@dataclass
class Looked:
    """What this screen keeps while the studio runs; questions and answers are on no disk."""

    found: FoundRelease | None = None
    asked: dict[Path, dict[str, Any]] = field(default_factory=dict)


_LOOKED: WeakKeyDictionary[StudioSession, Looked] = WeakKeyDictionary()


def _looked(studio: Studio) -> Looked:
    return _LOOKED.setdefault(studio.session, Looked())


async def _lists(studio: Studio) -> tuple[list[FoundRelease], list[FoundRelease]]:
    """Releases, own ones first and the newest of them; and tables of the start folder.

    They are looked for in a thread, since disks can be slow.
    """
    project = studio.open.project
    own = (await asyncio.to_thread(releases_of, project))[: -MOST_FOUND - 1 : -1]
    others = await asyncio.to_thread(releases_below, studio.folder, own)
    files = await asyncio.to_thread(tables_in, studio.folder)
    return [*own, *others], published_tables((path for path, _ in files), project.table.path)


async def _meant(request: Request, studio: Studio) -> FoundRelease:
    """The release that an address or a form is about."""
    releases, tables = await _lists(studio)
    key = request.path_params.get("key") or field_of(request, "of")
    found = _looked(studio).found = meant(key, [*releases, *tables])
    return found


@table_needed
async def show_check(request: Request) -> Response:
    studio = studio_of(request)
    releases, others = await _lists(studio)
    key = request.query_params.get("of", "")
    found = meant(key, [*releases, *others]) if key else next(iter(releases), None)
    _looked(studio).found = found
    context: dict[str, Any] = {
        "found": found,
        "releases": releases,
        "others": others,
        "start": studio.folder.name,
    }
    if found is None:
        return await pages.render(request, "check.html.j2", "check", **context)
    manifest = manifest_of(found) if found.is_release else None
    rows = manifest.get("rows", {}) if manifest else {}
    context |= {
        "promise": promise_of(manifest) if found.is_release else "",
        "rows": rows.get("published") if isinstance(rows, dict) else None,
        "facts_of": _facts_of(manifest),
        "policy_fits": not found.audited,
        "jobs": {kind: _job(studio, kind, found) for kind in (VERIFY, ATTACK, AUDIT, LEARN)},
        "reports": [_report(studio, found, kind) for kind in PAGES] if found.is_release else [],
        "stamp": found.stamp,
        "can_learn": find_spec("sklearn") is not None,
        **_attacks(_job(studio, ATTACK, found)),
        **await _questions(request, studio, found, rows),
    }
    return await pages.render(request, "check.html.j2", "check", **context)


def _facts_of(manifest: Any) -> list[dict[str, str]]:
    """Columns as the manifest lists them, if it does."""
    columns = manifest.get("columns") if isinstance(manifest, dict) else None
    return [
        {"name": str(each.get("name", "")), "role": str(each.get("role", ""))}
        for each in (columns if isinstance(columns, list) else [])
        if isinstance(each, dict)
    ]


# Jobs of one release


def _job(studio: Studio, kind: str, found: FoundRelease, **more: Any) -> dict[str, Any]:
    """The newest job of a kind about this release, and whether it is about these very files."""
    job = studio.jobs.latest(kind, release=str(found.path), **more)
    return {"job": job, "fits": job is not None and _fits(studio, job, found)}


def _fits(studio: Studio, job: Job, found: FoundRelease) -> bool:
    policy = not job.asked.get("asked") or job.policy == studio.session.digest
    stamp = _stamp(found, _second(job))
    return policy and job.table == studio.open.digest and job.asked.get("stamp") == stamp


def _second(job: Job) -> FoundRelease | None:
    """The release that was attacked together with the first."""
    also = job.asked.get("also")
    return FoundRelease(Path(also), "") if also else None


def _stamp(found: FoundRelease, second: FoundRelease | None) -> str:
    return found.stamp if second is None else f"{found.stamp}-{second.stamp}"


def _attacks(known: dict[str, Any]) -> dict[str, Any]:
    result = attacked(known["job"])
    found = [] if result is None else result["attacks"]
    bounded = [each for each in found if each["limit"] is not None]
    scale = widest(bounded)
    return {
        "attacked": result,
        "attacks": attack_rows(bounded, scale),
        "unpromised": unpromised(found),
        "unpromised_count": len(found) - len(bounded),
        "remarks": [] if result is None else remarks(result),
        "scale": scale,
        "second": None if known["job"] is None else _second(known["job"]),
    }


async def _start(request: Request, kind: str, label: str, **words: Any) -> Response:
    """Start a job about the release of the form, and go back to it."""
    studio = studio_of(request)
    found = await _meant(request, studio)
    about = {"asked": "policy" if field_of(request, "against") == "policy" else "", "stamp": found.stamp}
    await studio.start(kind, "check", label.format(found.name), release=str(found.path), **(about | words))
    return RedirectResponse(f"/check?of={found.key}", 303)


@table_needed
async def verify(request: Request) -> Response:
    return await _start(request, VERIFY, "Verify {} again")


@table_needed
async def attack(request: Request) -> Response:
    """Every attack on one release, or on two together; roles and promises are those of the first."""
    studio, also = studio_of(request), field_of(request, "also")
    found = await _meant(request, studio)
    second = meant(also, (await _lists(studio))[0]) if also else None
    if found == second:
        raise InputError("choose two different releases")
    words = {"asked": "" if found.audited else "policy", "stamp": _stamp(found, second)}
    words |= {} if second is None else {"also": str(second.path)}
    return await _start(
        request, ATTACK, "Attack {} together with another" if second else "Attack {}", **words
    )


@table_needed
async def audit(request: Request) -> Response:
    facts = await studio_of(request).ask_policy("policy")
    k = facts["privacy"].get("k")
    return await _start(request, AUDIT, "Find out who fits which row of {}", k=k if isinstance(k, int) else 0)


@table_needed
async def learn(request: Request) -> Response:
    if find_spec("sklearn") is None:
        raise InputError("learning needs scikit-learn: pip install 'incrowd[learn]'")
    target = field_of(request, "target")
    if not target:
        raise InputError("say which column a classifier shall predict")
    return await _start(request, LEARN, "Learn from {}", target=target)


# Reports: pages of their own, which run nothing


def _page_file(studio: Studio, found: FoundRelease, kind: str) -> Path:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", found.name)[:60]
    known = sha256(str(found.path).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return studio.open.project.inside("reports") / f"{plain}-{known}.{kind}.html"


def _report(studio: Studio, found: FoundRelease, kind: str) -> dict[str, Any]:
    known = _job(studio, REPORT, found, private=PAGES.index(kind))
    return known | {"kind": kind, "there": _page_file(studio, found, kind).is_file()}


@table_needed
async def make_report(request: Request) -> Response:
    studio, kind = studio_of(request), field_of(request, "kind")
    if kind not in PAGES:
        raise InputError("choose the report for readers, or the private one")
    found = await _meant(request, studio)
    label = "Write the report for readers of {}" if kind == "readers" else "Write the private report of {}"
    page = _page_file(studio, found, kind)
    return await _start(request, REPORT, label, page=str(page), private=PAGES.index(kind))


@table_needed
async def read_report(request: Request) -> Response:
    """A report as it was written; it may run nothing and reach nothing."""
    studio, kind = studio_of(request), request.query_params.get("kind", PAGES[0])
    releases, _ = await _lists(studio)
    found = meant(request.path_params["key"], releases)
    page = None if kind not in PAGES else _page_file(studio, found, kind)
    if page is None or page.is_symlink() or not page.is_file():
        raise InputError("this report was not written yet; go back to Check and write it")
    headers = {"content-security-policy": REPORT_POLICY}
    if request.query_params.get("save"):
        headers["content-disposition"] = f'attachment; filename="{page.name}"'
    return HTMLResponse(page.read_bytes(), headers=headers)


# Ask


async def _questions(request: Request, studio: Studio, found: FoundRelease, rows: Any) -> dict[str, Any]:
    """The form of questions, if it is quick to open or somebody wants it; what was asked last."""
    nothing: dict[str, Any] = {
        "columns": None,
        "ask_problem": "",
        "asked": None,
        "more_columns": 0,
        "later_asked": False,
    }
    if not found.is_release:
        return nothing
    last = _looked(studio).asked.get(found.path)
    published = rows.get("published") if isinstance(rows, dict) else None
    quick = isinstance(published, int) and published <= QUICK_ROWS
    if not (quick or last or request.query_params.get("ask")):
        return nothing
    try:
        columns = await studio.ask("release_columns", release=str(found.path), stamp=found.stamp)
    except Refusal as refusal:
        return nothing | {"ask_problem": refusal.sentence}
    shown = [{**each, "number": number} for number, each in enumerate(columns)]
    more = max(len(shown) - SHOWN_COLUMNS, 0)
    fits = last if last and last["stamp"] == found.stamp else None
    return nothing | {
        "columns": shown[:SHOWN_COLUMNS],
        "all_columns": shown,
        "more_columns": more,
        "first_columns": FIRST_COLUMNS,
        "asked": fits,
        "later_asked": any(_asks(name, value) for name, value in (fits["fields"] if fits else {}).items()),
    }


def _asks(name: str, value: str) -> bool:
    """Is this a condition on a column of the second part of the form?"""
    found = re.fullmatch(r"c(\d+)-(is|low|high)", name)
    return found is not None and bool(value.strip()) and int(found[1]) >= FIRST_COLUMNS


@table_needed
async def ask(request: Request) -> Response:
    """A question by form or in SQL; it and its answer stay in memory."""
    studio = studio_of(request)
    found = await _meant(request, studio)
    if not found.is_release:
        raise InputError("questions are asked to a release; this is a table")
    fields = {name: values[-1] for name, values in form_of(request).items() if name not in ("token", "back")}
    words: dict[str, Any] = {"release": str(found.path), "stamp": found.stamp}
    noted: dict[str, Any] = {"fields": fields, "answer": None, "problem": "", "stamp": found.stamp}
    try:
        if fields.get("mode") == "sql":
            noted["answer"] = await studio.ask("ask_release", **words, sql=fields.get("sql", "")[:20_000])
        else:
            columns = await studio.ask("release_columns", **words)
            noted["answer"] = await studio.ask("ask_release", **words, form=_form(fields, columns))
    except IncrowdError as refusal:
        noted["problem"] = refusal.on_the_command_line
    _looked(studio).asked[found.path] = noted
    return RedirectResponse(f"/check?of={found.key}", 303)


def _form(fields: dict[str, str], columns: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns by their numbers, as the page gave them out."""
    operators = {"is": "=", "low": ">=", "high": "<="}
    conditions = [
        (column["name"], sign, fields.get(f"c{number}-{word}", ""))
        for number, column in enumerate(columns)
        for word, sign in operators.items()
    ]

    def name(field: str) -> str:
        given = fields.get(field, "")
        return columns[int(given)]["name"] if given.isdecimal() and int(given) < len(columns) else ""

    aggregate = fields.get("aggregate", "")
    of = "" if aggregate == "COUNT" else name("column")
    return {"aggregate": aggregate, "of": of, "conditions": conditions, "by": name("by")}


# The list of steps, and the same as commands


async def step(studio: Studio) -> StepState:
    last = [job for job in (studio.jobs.latest(kind) for kind in (VERIFY, ATTACK)) if job is not None]
    jobs = [job for job in last if job.state == DONE]
    if any(job.result.get("passed") is False for job in jobs):
        return StepState(views.ATTENTION, "the verifier rejected a release")
    if any(job.kind == ATTACK and (attacked(job) or {}).get("outcome") == "broken" for job in last):
        return StepState(views.ATTENTION, "an attack broke a promise")
    if jobs and all(job.table == studio.open.digest for job in jobs):
        return StepState(views.DONE)
    return StepState(views.OUT_OF_DATE if jobs else views.TO_DO)


def commands(studio: Studio) -> tuple[ShownCommand, ...]:
    found = _looked(studio).found
    if found is None:
        return ()
    audited = _last_asked(studio, AUDIT, found)
    shown = release_commands.auditing(studio, found.path, bool(audited["asked"]), int(audited.get("k") or 0))
    if not found.is_release:
        return (shown,)
    asked = _looked(studio).asked.get(found.path)
    sql = asked["answer"]["sql"] if asked and asked["answer"] else "SELECT COUNT(*)"
    return (
        release_commands.verifying(studio, found.path, bool(_last_asked(studio, VERIFY, found)["asked"])),
        release_commands.attacking(studio, found.path, _last_asked(studio, ATTACK, found)),
        shown,
        *release_commands.reporting(studio, found.path, not found.audited),
        release_commands.querying(studio, found.path, sql),
    )


def _last_asked(studio: Studio, kind: str, found: FoundRelease) -> Mapping[str, Any]:
    """How it was asked last; if never, as the page would ask."""
    job = studio.jobs.latest(kind, release=str(found.path))
    return {"asked": "" if found.audited else "policy"} if job is None else job.asked


ROUTES = (
    get("/check", show_check),
    post("/check/verify", verify),
    post("/check/attack", attack),
    post("/check/audit", audit),
    post("/check/learn", learn),
    post("/check/report", make_report),
    get("/releases/{key}/report", read_report),
    post("/releases/{key}/query", ask),
)
