"""Screen 5, Compare: what each method and k costs, as verified trials; one of them goes into the policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from shlex import quote
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from incrowd.errors import InputError
from incrowd.studio import pages, show, views
from incrowd.studio.bench import Refusal
from incrowd.studio.guard import field_of, form_of
from incrowd.studio.jobs import DONE, Job
from incrowd.studio.pages import table_needed
from incrowd.studio.paging import asked_number
from incrowd.studio.show import ShownCommand
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import StepState, get, post

COMPARE = "compare"
CACHE = "compared"  # the folder of the project that keeps results, so that no trial is made twice
MOST_VALUES = 12  # of k or of l in one comparison
LIMITS = (5, 10, 20, 50, 100)
SURE = 1e-6  # of a risk that is a division of whole numbers


@dataclass(frozen=True)
class Compared:
    """The last comparison: its job, the trials that were finished, and what was skipped."""

    job: Job | None
    trials: Sequence[Mapping[str, Any]] = ()
    skipped: Sequence[Mapping[str, Any]] = ()
    bounds: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    planned: int | None = None

    @classmethod
    def of(cls, job: Job | None) -> Compared:
        """From the result; of a job that was killed, from what it told before."""
        if job is None:
            return cls(None)
        if isinstance(job.result, dict):
            said = job.result
            return cls(
                job, said["trials"], said["skipped"], said["bounds"], said["notes"], int(said["planned"])
            )
        trials = [part["trial"] for part in job.parts if "trial" in part]
        return cls(job, trials, [part["skipped"] for part in job.parts if "skipped" in part])

    @property
    def asked(self) -> Mapping[str, Any]:
        return {} if self.job is None else self.job.asked

    def fits(self, known: Mapping[str, Any], method: str, table: str) -> bool:
        """Were these trials made of this table, with what the policy says besides method, k and l?

        Options hold for the method that the policy has: of another one they say nothing.
        """
        if self.job is None or (self.asked.get("ground"), self.job.table) != (known["ground"], table):
            return False
        return method != self.asked["method"] or bool(known["options"] == self.asked["options"])

    def trial(self, id: str) -> Mapping[str, Any]:
        found = next((one for one in self.trials if one["id"] == id and "risk" in one), None)
        if found is None:
            raise InputError("this trial is not among those of the last comparison; choose again")
        return found


def compared(studio: Studio) -> Compared:
    """The last comparison that was asked for."""
    return Compared.of(studio.jobs.latest(COMPARE))


@table_needed
async def show_compare(request: Request) -> Response:
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    known = await studio.ask_policy("comparable")
    found = compared(studio)
    asked = _asked_of(request, found, known, facts)
    weighed = await _weighed(studio, found, asked)
    by_id = {trial["id"]: trial for trial in found.trials}
    chosen = by_id.get(weighed["chosen"]) if weighed else None
    record = None
    if chosen is not None and request.query_params.get("record") == "yes":
        record = await _record(studio, chosen)
    return await pages.render(
        request,
        "compare.html.j2",
        "compare",
        found=found,
        job=found.job,
        known=known,
        form=_form(found, known),
        fits=found.fits(known, facts["method"], studio.open.digest),
        asked=asked,
        weighed=weighed,
        rows=_rows(found, weighed),
        refused=[trial for trial in found.trials if "risk" not in trial],
        chosen=chosen,
        proposed=by_id.get(weighed["proposed"]) if weighed else None,
        better=by_id.get(weighed["better"]) if weighed else None,
        bound=_bound(found, chosen),
        here=lambda **changed: _address(asked, **changed),
        odds=odds,
        limits=LIMITS,
        ready="quasi_identifier" in facts["roles"].values() and not facts["absent"],
        record=record,
    )


def _asked_of(
    request: Request, found: Compared, known: Mapping[str, Any], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """What the address says: trial, limit, measure; else what was asked for, or what the policy says."""
    query = request.query_params
    measures = [each["name"] for each in known["measures"]]
    measure = query.get("measure", found.asked.get("measure", "gcp"))
    limit = asked_number(request, "limit")
    trial = query.get("trial", "")[:200]
    return {
        "measure": measure if measure in measures else "gcp",
        "limit": limit if limit and limit >= 1 else None,
        "trial": trial if re.fullmatch(r"[\w.-]*", trial, re.ASCII) else "",
        "own": [facts["method"], facts["privacy"].get("k"), facts["privacy"].get("l")],
    }


def _address(asked: Mapping[str, Any], **changed: Any) -> str:
    """This page with something else chosen."""
    said = {key: asked[key] for key in ("trial", "limit", "measure")} | changed
    kept = {key: value for key, value in said.items() if value and (key, value) != ("measure", "gcp")}
    return "/compare" + (f"?{urlencode(kept, safe='{}')}" if kept else "")


async def _weighed(studio: Studio, found: Compared, asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """Frontier, proposal and picture; None without a trial that gave a release."""
    done = [trial for trial in found.trials if "risk" in trial]
    if not done:
        return None
    said: dict[str, Any] = await studio.ask(
        "trade_off",
        trials=done,
        measure=asked["measure"],
        own=asked["own"],
        limit=asked["limit"],
        chosen=asked["trial"],
        link=_address(asked, trial="{id}"),
    )
    return said


def _rows(found: Compared, weighed: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The trials that gave a release, least loss first."""
    by_id = {trial["id"]: trial for trial in found.trials}
    return [by_id[id] for id in weighed["order"]] if weighed else []


def _bound(found: Compared, chosen: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What no release with the k of the chosen trial can lose less than."""
    if chosen is None:
        return None
    fitting = (each for each in found.bounds if each["k"] == chosen["k"] and each["least"] is not None)
    return next(fitting, None)


def _form(found: Compared, known: Mapping[str, Any]) -> dict[str, Any]:
    """What the form says: the last comparison, or quick methods and usual values."""
    asked = found.asked
    ticked = asked.get("methods") or [
        each["name"]
        for each in known["methods"]
        if (each["quick"] or each["own"]) and not each["reason"] + each["only_without_l"]
    ]
    levels = ["none" if each == 0 else str(each) for each in asked.get("l", [])]
    return {
        "ticked": set(ticked),
        "k": ", ".join(map(str, asked.get("k") or known["ks"])),
        "l": ", ".join(levels),
    }


def odds(risk: float) -> str:
    """A probability as people say it, never said smaller than it is.

    Examples
    --------
    >>> odds(0.1), odds(1.0), odds(1 / 20.25)
    ('1 in 10', '1 in 1', '1 in 20.2')
    """
    tenths = floor(10 / risk + SURE)
    return f"1 in {tenths / 10:,.1f}".removesuffix(".0")


# What is done


@table_needed
async def run(request: Request) -> Response:
    """Compare what is ticked: a job."""
    studio = studio_of(request)
    known = await studio.ask_policy("comparable")
    fitting = {each["name"] for each in known["methods"] if not each["reason"]}
    own = (await studio.ask_policy("policy"))["method"]
    names = [name for name in dict.fromkeys(form_of(request).get("method", ())) if name in fitting]
    quick = {each["name"] for each in known["methods"] if each["quick"]}
    names.sort(key=lambda name: (name not in quick, name != own))  # marks come soon; of these, the own first
    if not names:
        raise InputError("no method is ticked; tick some first")
    measures = [each["name"] for each in known["measures"]]
    measure = field_of(request, "measure")
    sizes, levels = wanted_ks(field_of(request, "k")), wanted_ls(field_of(request, "l"))
    cache = studio.open.project.inside(CACHE)
    await studio.start(
        COMPARE,
        "compare",
        f"Compare {len(names)} method{'' if len(names) == 1 else 's'}",
        tried={"methods": names, "k": sizes, "l": levels},
        methods=names,
        k=sizes,
        l=levels,
        measure=measure if measure in measures else "gcp",
        cache=str(cache),
        ground=known["ground"],
        options=known["options"],
        method=own,
    )
    return pages.back(request, "/compare")


def wanted_ks(text: str) -> list[int]:
    """Values of k as somebody types them: 5, 10 20."""
    words = re.split(r"[\s,;]+", text.strip()) if text.strip() else []
    if not words or len(words) > MOST_VALUES:
        raise InputError(f"k takes 1 to {MOST_VALUES} whole numbers, such as 5, 10, 20")
    if not all(word.isascii() and word.isdecimal() and len(word) <= 12 and int(word) >= 2 for word in words):
        raise InputError("k takes whole numbers of at least 2, such as 5, 10, 20")
    return sorted({int(word) for word in words})


def wanted_ls(text: str) -> list[int | str]:
    """Values of l; none is 0, and nothing at all is what the policy says."""
    words = re.split(r"[\s,;]+", text.strip().lower()) if text.strip() else []
    if len(words) > MOST_VALUES or not all(
        re.fullmatch(r"none|[0-9]{1,12}(\.[0-9]{1,20})?", word, re.ASCII) for word in words
    ):
        raise InputError("l takes numbers, such as 2, 3, or none; leave it empty for what the policy says")
    found: list[int | str] = [
        0 if word == "none" else int(word) if word.isdecimal() else word for word in words
    ]
    return list(dict.fromkeys(found))


@table_needed
async def use(request: Request) -> Response:
    """Method, k and l of a trial go into the policy, as one step."""
    studio = studio_of(request)
    found = compared(studio)
    if not await _fits(studio, found):
        raise InputError("these trials were made with other roles; compare again first")
    trial = found.trial(field_of(request, "trial"))
    asked = trial["method"], trial["k"], trial["l"]
    changes = await studio.ask_policy("trial_changes", trial=asked, options=_options(found, trial))
    named = f"{trial['method']}, k = {trial['k']}" + (f", l = {trial['l']}" if trial["l"] else "")
    await studio.edit(named, changes=changes)
    gone = [".".join(keys) for keys, value in changes if value is None]
    more = f" Taken out, since this method does not take it: {', '.join(gone)}." if gone else ""
    studio.say(f"The policy now asks for {named}.{more} Undo takes it back.")
    return pages.back(request, "/compare")


def _options(found: Compared, trial: Mapping[str, Any]) -> str:
    """Options hold for the method that the policy had: a trial with another method was made without."""
    return str(found.asked["options"]) if trial["method"] == found.asked["method"] else "{}"


async def _fits(studio: Studio, found: Compared) -> bool:
    facts, known = await studio.ask_policy("policy"), await studio.ask_policy("comparable")
    return found.fits(known, facts["method"], studio.open.digest)


@table_needed
async def record(request: Request) -> Response:
    """What a record becomes with a trial: loaded after the page, since it makes a draft."""
    studio = studio_of(request)
    trial = compared(studio).trial(request.query_params.get("trial", ""))
    shown = await _record(studio, trial)
    page = pages.templates().get_template("compare_record.html.j2")
    return HTMLResponse(page.render(record=shown))


async def _record(studio: Studio, trial: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = await studio.ask_policy("record_of_trial", trial=[trial["method"], trial["k"], trial["l"]])
    except Refusal as refusal:
        return {"problem": refusal.sentence}
    return {"problem": "", **found}


# What the frame asks


async def step(studio: Studio) -> StepState:
    found = compared(studio)
    if found.job is None or not found.trials:
        return StepState(views.TO_DO)
    if not await _fits(studio, found):
        return StepState(views.OUT_OF_DATE, "compared with other roles")
    return StepState(views.DONE if found.job.state == DONE else views.TO_DO)


def commands(studio: Studio) -> tuple[ShownCommand, ...]:
    asked = compared(studio).asked
    words = [f"incrowd compare {show.table_words(studio)} -p {show.policy_words(studio)}"]
    more = ""
    if asked:
        levels = ["none" if each == 0 else str(each) for each in asked["l"]]
        words += [f"--methods {','.join(asked['methods'])}", f"--k {','.join(map(str, asked['k']))}"]
        words += [f"--l {','.join(levels)}"] if levels else []
        words += [f"--sort {asked['measure']}"] if asked["measure"] != "gcp" else []
        more = f", {asked['methods']!r}, {asked['k']!r}" + (f", {asked['l']!r}" if levels else "")
    cache = show.place(studio, studio.open.project.inside(CACHE))
    words.append(f"--cache {quote(cache)}")
    given = f"{show.table_python(studio)}, {show.policy_python(studio)}{more}"
    python = f"import incrowd as ic\nprint(ic.compare({given}, cache={cache!r}))"
    return (ShownCommand("The numbers of this page", " ".join(words), python),)


ROUTES = (
    get("/compare", show_compare),
    get("/compare/record", record),
    post("/compare/run", run),
    post("/compare/use", use),
)
