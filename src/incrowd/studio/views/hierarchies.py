"""Screen 3, Hierarchies: how each quasi-identifier is generalized, what its levels are, and the risk there.

What somebody types is a draft until it is used: kept in the project, shown as it would be, and never in the
policy. Every file is written once under a new name, so undo finds the hierarchy that was there before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from incrowd.errors import InputError
from incrowd.studio import hierarchy_files as files
from incrowd.studio import hierarchy_forms as forms
from incrowd.studio import pages, show, views
from incrowd.studio.bench import Refusal
from incrowd.studio.guard import field_of, form_of
from incrowd.studio.hierarchy_drafts import (
    HierarchyDraft,
    Subject,
    as_drafted,
    draft_of,
    keep_draft,
    ladder_of,
    policy_words,
    subject_of,
    tried,
    with_draft,
)
from incrowd.studio.pages import table_needed
from incrowd.studio.paging import asked_number
from incrowd.studio.show import ShownCommand
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import StepState, get, post

LONGEST_SEARCH = 100


# Pages


@table_needed
async def show_all(request: Request) -> Response:
    """The quasi-identifiers, how each is published, and the risk at the levels of the sliders."""
    studio = studio_of(request)
    facts = await studio.ask_policy("policy")
    words = policy_words(studio, facts)
    columns = await studio.ask("hierarchies", **words)
    levels = asked_levels(request, columns)
    found = {one["name"]: one for one in await studio.ask("columns")}
    listed = [
        {
            **column,
            "distinct": found[column["name"]]["distinct"],
            "words": forms.words_of(facts["described"][column["name"]]),
            "bare": "hierarchy" not in facts["described"][column["name"]]
            and "family" not in facts["described"][column["name"]],
            "at": levels.get(column["name"], 0),
            "ladder": ladder_of(found[column["name"]], facts["described"][column["name"]]),
        }
        for column in columns
    ]
    return await pages.render(
        request, "hierarchies.html.j2", "hierarchies", columns=listed, **await _risk(studio, words, levels)
    )


@table_needed
async def show_one(request: Request) -> Response:
    """The editor of one column."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    draft = await draft_of(studio, subject)
    saved = subject
    published = _of(subject, await studio.ask("hierarchies", **subject.words))["published"]
    if draft is not None and not draft.problem:
        subject = await as_drafted(studio, subject, draft)
    columns = await studio.ask("hierarchies", **subject.words)
    column = _of(subject, columns)
    find = request.query_params.get("find", "").strip()[:LONGEST_SEARCH]
    levels = asked_levels(request, columns)
    profile = next(one for one in await studio.ask("columns") if one["name"] == subject.name)
    fields = dict(draft.fields) if draft is not None else forms.fields_of(saved.said)
    await _filled(studio, saved, fields)
    tree = None
    if column["levels"]:
        tree = await studio.ask("hierarchy_levels", **subject.words, column=subject.name, find=find)
    offered = files.offered(studio.folder, studio.open.project)
    studio.open.drafts["offered"] = offered
    return await pages.render(
        request,
        "hierarchy.html.j2",
        "hierarchies",
        column=column | {"distinct": profile["distinct"], "at": levels.get(subject.name, 0)},
        saved=forms.words_of(saved.said),
        published=published,
        words=forms.words_of(subject.said),
        draft=draft,
        fields=fields,
        builders=[one for one in forms.BUILDERS if one.suits(saved.kind) or one.name == fields["builder"]],
        spans=forms.SPANS,
        parts_of_codes=forms.PARTS,
        ladder=ladder_of(profile, saved.said),
        tree=tree,
        find=find,
        others={name: at for name, at in levels.items() if name != subject.name},
        numbers={one["name"]: one["number"] for one in columns},
        groups=await _groups(request, studio, subject, column, find),
        digest=studio.session.digest,
        offered=[(n, path.name, path.parent.name) for n, path in enumerate(offered)],
        kind=saved.kind,
        **await _risk(studio, subject.words, levels),
    )


def _of(subject: Subject, columns: list[dict[str, Any]]) -> dict[str, Any]:
    return next(one for one in columns if one["name"] == subject.name)


async def _groups(
    request: Request, studio: Studio, subject: Subject, column: Mapping[str, Any], find: str
) -> dict[str, Any] | None:
    """What can be moved; None where the hierarchy cannot be built, or there is a family."""
    if column["problem"] or "family" in subject.said:
        return None
    asked = asked_number(request, "level") or 1
    found: dict[str, Any] = await studio.ask("hierarchy_groups", of=subject.of, level=asked, find=find)
    return found


async def _filled(studio: Studio, subject: Subject, fields: dict[str, Any]) -> None:
    """Lists of values that nobody has typed yet are filled with the column's values."""
    if fields["ordered"] and fields["family"]:
        return
    try:
        values = await studio.ask(
            "hierarchy_values", text=subject.text, folder=subject.folder, column=subject.name
        )
    except Refusal:
        return
    lines = [value for value in values if value.isprintable()]
    fields["ordered"] = fields["ordered"] or "\n".join(lines)


def asked_levels(request: Request, columns: list[dict[str, Any]]) -> dict[str, int]:
    """The levels that an address puts columns at: `at3=2`; what is too high becomes the top."""
    found = {}
    for column in columns:
        at = asked_number(request, f"at{column['number']}")
        if at and column["levels"]:
            found[column["name"]] = min(at, len(column["levels"]) - 1)
    return found


async def _risk(studio: Studio, words: Mapping[str, str], levels: Mapping[str, int]) -> dict[str, Any]:
    """The risk at these levels, and with the columns as they are."""
    try:
        now = await studio.ask("risk_at", **words, levels=dict(levels))
        before = await studio.ask("risk_at", **words, levels={})
    except Refusal as refusal:
        return {"risk": None, "risk_before": None, "risk_problem": refusal.sentence, "levels_at": levels}
    return {"risk": now, "risk_before": before, "risk_problem": "", "levels_at": levels}


@table_needed
async def level_numbers(request: Request) -> Response:
    """The levels of a column's hierarchy, as `inspect -p policy.toml --levels COLUMN --json` has them."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    column = _of(subject, await studio.ask("hierarchies", **subject.words))
    if column["problem"] or not column["levels"]:
        raise InputError(column["problem"] or f"{subject.name} has no hierarchy, so it has no levels")
    facts = await studio.ask_policy("policy")
    return JSONResponse(
        {
            "column": subject.name,
            "rows": (studio.open.table or {})["rows"],
            "k": facts["privacy"].get("k"),
            "levels": column["levels"],
        }
    )


@table_needed
async def export(request: Request) -> Response:
    """The hierarchy of a column as a file in ARX's form."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    text = await studio.ask("hierarchy_exported", of=subject.of)
    name = f"{files.stem_of(subject.name)}.csv"
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text.encode(), media_type="text/csv; charset=utf-8", headers=headers)


# What is changed


@table_needed
async def look(request: Request) -> Response:
    """Show what somebody typed as it would be; nothing is written."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    draft: HierarchyDraft | None = await tried(studio, subject, await _typed(request, studio, subject))
    if draft is not None and not draft.problem:
        drafted = await as_drafted(studio, subject, draft)
        draft = None if drafted.text == subject.text else draft
    keep_draft(studio, subject.name, draft)
    return pages.back(request, f"/hierarchies/{subject.number}")


async def _typed(request: Request, studio: Studio, subject: Subject) -> dict[str, Any]:
    """The fields of the form. A file is the imported one, or that of the policy: none comes by its path."""
    draft = await draft_of(studio, subject)
    known = draft.fields["file"] if draft is not None else forms.fields_of(subject.said)["file"]
    return forms.typed_fields(form_of(request)) | {"file": known}


@table_needed
async def use(request: Request) -> Response:
    """Use what somebody typed: one step of undo. What does not fit is refused beside the form."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    draft = await tried(studio, subject, await _typed(request, studio, subject))
    if draft.problem:
        keep_draft(studio, subject.name, draft)
        return pages.back(request, f"/hierarchies/{subject.number}")
    return await _used(request, studio, subject, draft)


async def _used(request: Request, studio: Studio, subject: Subject, draft: HierarchyDraft) -> Response:
    drafted = await as_drafted(studio, subject, draft)
    words = forms.words_of(drafted.said)
    await studio.edit(f"{subject.name}: {words}", changes=draft.changes)
    keep_draft(studio, subject.name, None)
    return pages.back(request, f"/hierarchies/{subject.number}")


@table_needed
async def discard(request: Request) -> Response:
    """Forget a draft; the policy stays as it is."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    keep_draft(studio, subject.name, None)
    return pages.back(request, f"/hierarchies/{subject.number}")


@table_needed
async def useladder_of(request: Request) -> Response:
    """The ready-made hierarchy of a column."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    profile = next(one for one in await studio.ask("columns") if one["name"] == subject.name)
    ladder = ladder_of(profile, subject.said)
    if ladder is None:
        raise InputError(f"nothing else is suggested for {subject.name}")
    draft = await tried(studio, subject, forms.fields_of({"hierarchy": ladder["spec"]}))
    if draft.problem:
        raise InputError(draft.problem)
    return await _used(request, studio, subject, draft)


@table_needed
async def bring(request: Request) -> Response:
    """Import a hierarchy, pasted or of the folder: how it fits is shown before it replaces anything."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    text = field_of(request, "text").replace("\r\n", "\n")
    if number := field_of(request, "chosen"):
        offered = studio.open.drafts.get("offered", [])
        place, _, name = number.partition(" ")
        if not place.isdecimal() or int(place) >= len(offered) or offered[int(place)].name != name:
            raise InputError("this file is not in the list any more; choose again")
        text = files.text_of(offered[int(place)])
    if not text.strip():
        raise InputError("paste the lines of a hierarchy, or choose a file")
    file = files.kept(studio.open.project, subject.name, text if text.endswith("\n") else f"{text}\n")
    fields = forms.fields_of(subject.said) | {"builder": forms.FILE, "file": file}
    draft = await tried(studio, subject, fields)
    if draft.coverage is None:
        raise InputError(draft.problem)
    keep_draft(studio, subject.name, draft)
    return pages.back(request, f"/hierarchies/{subject.number}")


@table_needed
async def replace_by_file(request: Request) -> Response:
    """Use an imported file after its coverage was shown: as it is, or with the absent values added."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    draft = await draft_of(studio, subject)
    if draft is None or draft.coverage is None:
        raise InputError("no file was imported for this column; import one first")
    if field_of(request, "how") == "complete":
        text = await studio.ask("hierarchy_completed", of=subject.of, file=draft.fields["file"])
        file = files.kept(studio.open.project, subject.name, text)
        draft = await tried(studio, subject, {**draft.fields, "file": file})
        if draft.problem:
            raise InputError(draft.problem)
    elif draft.problem:
        studio.say(
            f"The hierarchy of {subject.name} was replaced and is not complete: publishing is refused until "
            "it is. Undo brings the old one back.",
            bad=True,
        )
    return await _used(request, studio, subject, draft)


@table_needed
async def move(request: Request) -> Response:
    """Move ticked values to another group, rename a group, add or take out a level: a new file."""
    studio = studio_of(request)
    subject = await subject_of(request, studio)
    if field_of(request, "digest") != studio.session.digest:
        raise InputError("the policy has changed since this page was shown; look again, then move")
    draft = await draft_of(studio, subject)
    if draft is not None and not draft.problem:
        subject = await as_drafted(studio, subject, draft)
    level, what = field_of(request, "level"), field_of(request, "do")
    asked: dict[str, Any] = {
        "of": subject.of,
        "level": int(level) if level.isdecimal() and len(level) < 4 else 1,
    }
    text, label = await _moved(request, studio, asked, what)
    file = files.kept(studio.open.project, subject.name, text)
    fields = forms.fields_of(subject.said) | {"builder": forms.FILE, "file": file}
    changes = forms.changes_of(subject.key, fields, subject.kind, str(subject.said.get("type", "")))
    await studio.edit(f"{subject.name}: {label}", changes=changes)
    keep_draft(studio, subject.name, None)
    return pages.back(request, f"/hierarchies/{subject.number}")


async def _moved(request: Request, studio: Studio, asked: dict[str, Any], what: str) -> tuple[str, str]:
    """The text of the new hierarchy, and what was done, without a value."""
    if what in ("add", "remove"):
        text = await studio.ask(f"hierarchy_level_{'added' if what == 'add' else 'removed'}", **asked)
        return text, f"level {asked['level']} {'split in two' if what == 'add' else 'taken out'}"
    to = field_of(request, "to").strip()
    if what == "rename":
        text = await studio.ask("hierarchy_renamed", **asked, group=field_of(request, "group"), to=to)
        return text, f"a group of level {asked['level']} renamed"
    items = [int(number) for number in form_of(request).get("item", ()) if number.isdecimal()]
    text = await studio.ask("hierarchy_moved", **asked, items=items, to=to)
    return text, f"{len(items)} moved to another group"


# The frame


async def step(studio: Studio) -> StepState:
    facts = await studio.ask_policy("policy")
    problems = await studio.ask("hierarchy_problems", **policy_words(studio, facts))
    if problems:
        return StepState(views.ATTENTION, problems[0])
    if any(facts["roles"].get(name) == "quasi_identifier" for name in with_draft(studio)):
        return StepState(views.ATTENTION, "a hierarchy is looked at, and not used yet")
    return StepState(views.DONE if studio.open.project.seen("hierarchies") else views.TO_DO)


def commands(studio: Studio) -> tuple[ShownCommand, ...]:
    table, policy = show.table_words(studio), show.policy_words(studio)
    asked = f"{show.table_python(studio)}, {show.policy_python(studio)}"
    return (
        ShownCommand(
            "The levels of this page",
            f"incrowd inspect {table} -p {policy} --levels all",
            f'import incrowd as ic\nlook = ic.inspect({asked}, levels=["all"])\nprint(look.levels)\n'
            'print(look.risk_of(look.risks[0].columns, levels={"COLUMN": 1}))  # the slider',
        ),
        show.publishing(studio),
    )


ROUTES = (
    get("/hierarchies", show_all),
    get("/hierarchies/{number:int}", show_one),
    get("/hierarchies/{number:int}/levels", level_numbers),
    get("/hierarchies/{number:int}/file.csv", export),
    post("/hierarchies/{number:int}", use),
    post("/hierarchies/{number:int}/draft", look),
    post("/hierarchies/{number:int}/discard", discard),
    post("/hierarchies/{number:int}/suggested", useladder_of),
    post("/hierarchies/{number:int}/import", bring),
    post("/hierarchies/{number:int}/replace", replace_by_file),
    post("/hierarchies/{number:int}/move", move),
)
