"""Pages: templates with the frame of every screen around them; with htmx only what is inside it.

A view answers a GET with `render`, and a POST with `back`, which leads to a GET. So a form does the same
with scripts and without.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from math import floor, log10
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from incrowd.kernels.compiling import SENTENCE
from incrowd.reports.templates import harmless, templates_in
from incrowd.studio import views, words
from incrowd.studio.bench import Refusal
from incrowd.studio.guard import field_of
from incrowd.studio.jobs import Job
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import Handler, ScreenStep

THEMES = ("", "light", "dark")
THEME_COOKIE = "incrowd_theme"


def table_needed(handler: Handler) -> Handler:
    """A screen about the open table: without one, the start page; while it is read, a page that says so."""

    @functools.wraps(handler)
    async def shown(request: Request) -> Response:
        studio = studio_of(request)
        if studio.opened is None:
            return RedirectResponse("/", 303)
        if studio.open.project.read_only:
            studio.session.outside()  # follow the studio that writes
        if not await studio.ready():
            if request.method == "POST" or (studio.open.problem and request.url.path != "/table"):
                return RedirectResponse("/table", 303)
            return await _not_ready(request, studio)
        return await handler(request)

    return shown


async def _not_ready(request: Request, studio: Studio) -> Response:
    here = studio.open
    template = "unreadable.html.j2" if here.problem else "opening.html.j2"
    sentence, choices = _choices(here.problem)
    page = await render(
        request, template, "table", file=here.project.table, problem=sentence, choices_of_file=choices
    )
    page.background = BackgroundTask(compiled)  # while somebody waits anyway: no later page waits for it
    return page


def _choices(problem: str) -> tuple[str, list[str]]:
    """Why a table could not be read, and the sheets, files or tables among which somebody can choose.

    Examples
    --------
    >>> _choices("a.db has 2 tables: staff, visits; say which, or a query, with --sql")
    ('a.db has 2 tables', ['staff', 'visits'])
    """
    found = re.fullmatch(r"(.* (?:has|holds) \d+ (?:tables|sheets|files)): (.+); say which.*", problem)
    return (problem, []) if found is None else (found[1], found[2].split(", "))


async def render(request: Request, template: str, screen: str, status: int = 200, **context: Any) -> Response:
    """A page, or with htmx its inner part and what changed in the frame."""
    studio = studio_of(request)
    fragment = request.headers.get("hx-request") == "true"
    frame = await _frame(studio, screen)
    text = (
        templates()
        .get_template(template)
        .render(
            layout="fragment.html.j2" if fragment else "page.html.j2",
            fragment=fragment,
            screen=screen,
            token=studio.keys.form,
            theme=theme_of(request),
            address=_own_address(request),
            **frame,
            **context,
        )
    )
    return HTMLResponse(text, status)


def back(request: Request, default: str) -> Response:
    """After a form: to the page that it came from, if that is one of ours, else to the default."""
    wanted = field_of(request, "back")
    known = {"/", *(f"/{name}" for _, name, _ in views.present())}
    path = wanted.partition("?")[0]
    plain = wanted.isascii() and wanted.isprintable() and not any(sign in wanted for sign in "\\ <>\"'#")
    first = "/" + path.split("/")[1] if path.startswith("/") else ""
    return RedirectResponse(wanted if plain and first in known and "//" not in path else default, 303)


def theme_of(request: Request) -> str:
    chosen = request.cookies.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def _own_address(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


# The frame


async def _frame(studio: Studio, screen: str) -> dict[str, Any]:
    here = studio.opened
    waiting = here is not None and here.table is None and not here.problem
    notices = [] if waiting else studio.taken_notices()  # for the page that comes after
    empty = {
        "project": None,
        "steps": [],
        "choices": "",
        "lines": [],
        "shown": [],
        "undoes": "",
        "redoes": "",
        "running": None,
        "outside": None,
        "facts": None,
        "previous_step": None,
        "next_step": None,
        "notices": notices,
        "idle_seconds": int(studio.seconds_left()),
        "branches": 0,
        "policy_problem": "",
        "opened": None,
    }
    if here is None:
        return empty
    frame = empty | {"project": here.project, "opened": here, "running": here.jobs.running}
    if here.table is None or not here.session.started:
        return frame
    outside = await _outside(studio)
    facts, problem = await _facts(studio)
    if screen:
        here.project.looked_at(screen)
    steps = await _steps(studio, screen)
    place = next((number for number, step in enumerate(steps) if step.here), None)
    shown = views.module(screen).commands(studio) if place is not None else ()
    return frame | {
        "steps": steps,
        "facts": facts,
        "policy_problem": problem,
        "choices": choices(facts) if facts else "",
        "lines": here.session.marked(),
        "shown": shown,
        "undoes": here.session.undoes,
        "redoes": here.session.redoes,
        "branches": here.session.branches,
        "outside": outside,
        "previous_step": steps[place - 1] if place else None,
        "next_step": steps[place + 1] if place is not None and place + 1 < len(steps) else None,
    }


async def _facts(studio: Studio) -> tuple[dict[str, Any] | None, str]:
    try:
        return await studio.ask_policy("policy"), ""
    except Refusal as refusal:
        return None, refusal.sentence


async def _outside(studio: Studio) -> dict[str, str] | None:
    """The policy as somebody else left it, and why it is none, if it is not."""
    text = studio.session.outside()
    if text is None:
        return None
    problem = "the file is gone" if not text else ""
    if text:
        try:
            await studio.ask("checked", text=text, folder=str(studio.open.project.folder))
        except Refusal as refusal:
            problem = refusal.sentence
    return {"problem": problem}


async def _steps(studio: Studio, screen: str) -> list[ScreenStep]:
    found = []
    for number, name, title in views.present():
        try:
            state = await views.module(name).step(studio)
        except Refusal as refusal:
            state = views.StepState(views.ATTENTION, refusal.sentence)
        found.append(ScreenStep(number, name, title, state.state, state.hint, name == screen))
    return found


def choices(facts: Mapping[str, Any]) -> str:
    """What was chosen so far, in one line."""
    quasi = sum(role == "quasi_identifier" for role in facts["roles"].values())
    privacy = facts["privacy"]
    said = [f"{quasi} quasi-identifier{'' if quasi == 1 else 's'}"]
    said += [f"{name} = {privacy[name]}" for name in ("k", "l", "t") if name in privacy]
    said += ["plain"] if "plain" in privacy else []
    return ", ".join([*said, f"method {facts['method']}"])


# Templates


@cache
def compiled() -> None:
    """Read all templates, which is done once."""
    for name in templates().list_templates(extensions=["j2"]):
        templates().get_template(name)


@cache
def templates() -> Environment:
    made = templates_in(Path(__file__).parent / "templates", also="\n\t")
    made.filters |= {
        "number": number,
        "percent": percent,
        "tenths": tenths,
        "fine": fine,
        "breakable": breakable,
        "kinds": kinds,
        "people": people,
        "bytes": size_words,
        "meaning": words.meaning,
        "attack_words": words.attack_words,
        "duration": duration,
        "time_left": time_left,
    }
    made.globals |= {
        "roles": words.ROLES,
        "role_means": words.ROLE_MEANS,
        "kinds": words.KINDS,
        "work_steps": words.STEPS,
        "parted": parted,
    }
    return made


def number(value: int | float) -> str:
    """With commas between thousands; small averages with one place."""
    if isinstance(value, float) and value < 10 and value != int(value):
        return f"{value:.1f}"
    return f"{round(value):,}"


def percent(part: float, whole: float = 1.0) -> str:
    """A share; never 0 % or 100 % of what is not quite."""
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.05:
        return "< 0.1 %"
    if 99.95 <= share < 100:
        return "> 99.9 %"
    return f"{share:.1f} %" if share % 1 else f"{share:.0f} %"


def tenths(share: float) -> str:
    """A share in a column of shares: all with one decimal, so that they can be compared by eye.

    Examples
    --------
    >>> percent(0.5), tenths(0.5), tenths(0.0999), tenths(0.00001), tenths(0)
    ('50 %', '50.0 %', '10.0 %', '< 0.1 %', '0 %')
    """
    said = percent(share)
    return said if "." in said or share in (0, 1) else said.replace(" %", ".0 %")


def fine(share: float) -> str:
    """A share among shares that may all be small: below 1 % with two digits that count.

    Examples
    --------
    >>> fine(0.127), fine(0.0999), fine(0.00213), fine(0.000134), fine(1e-7), fine(0)
    ('12.7 %', '10.0 %', '0.21 %', '0.013 %', '< 0.001 %', '0 %')
    """
    if not 0 < share < 0.00995:
        return tenths(share)
    if share < 0.00001:
        return "< 0.001 %"
    return f"{100 * share:.{1 - floor(log10(100 * share))}f} %"


def breakable(name: str) -> Markup:
    """A name or a cell that may go on in the next line after such a sign, not in the midst of a word.

    Examples
    --------
    >>> breakable("payer_code<"), breakable("{A|B}")
    (Markup('payer_<wbr>code&lt;'), Markup('{A|<wbr>B}'))
    """
    return Markup("<wbr>").join(re.split(r"(?<=[_|,])", harmless(name)))


def kinds(bits: float) -> str:
    """How many equally frequent kinds so many bits tell apart, roughly.

    Examples
    --------
    >>> kinds(17.2), kinds(3.3)
    ('about 150,000', 'about 10')
    """
    return f"about {float(f'{2**bits:.2g}'):,.0f}" if bits < 40 else "more than a million million"


def people(count: float) -> str:
    """How many people are left to guess among."""
    return "1 person" if round(count, 1) < 1.05 else f"{number(count)} people"


def size_words(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if amount >= 10 or unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GB"


def duration(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def time_left(job: Job) -> str:
    """How long the present step will take, or why that is not known."""
    if job.compiling:
        return SENTENCE
    return "" if job.time_left is None else f"about {duration(job.time_left)} left"


def parted(counts: Sequence[int], width: float = 100.0) -> list[tuple[float, float]]:
    """Where the parts of a bar begin and how wide they are; a part that is there can be seen."""
    whole = sum(counts) or 1
    least = 0.8
    wide = [max(width * count / whole, least) if count else 0.0 for count in counts]
    scale = width / (sum(wide) or 1)
    found, start = [], 0.0
    for each in wide:
        found.append((round(start, 3), round(each * scale, 3)))
        start += each * scale
    return found


Refused = Callable[[Request, Exception], Awaitable[Response]]
