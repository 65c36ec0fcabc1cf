"""A hierarchy before it is used: the column that is edited, and a draft of what somebody typed.

A draft is shown as the policy would have it, and never in the policy until it is used. What was typed is kept
in the project, for its owner alone, so that it is there after a restart; what follows from it is found out
again, since the table or the policy may be others then.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request

from incrowd.errors import IncrowdError, InputError
from incrowd.studio import hierarchy_files as files
from incrowd.studio import hierarchy_forms as forms
from incrowd.studio.project import Project, write_whole
from incrowd.studio.state import Studio, column_number

DRAFTS = ".drafts.json"  # in the folder of hierarchies: it may hold values that somebody typed
_TYPED = "hierarchies as typed"


@dataclass(frozen=True)
class HierarchyDraft:
    """A hierarchy that is looked at before it is used: the fields, the changes, and what is wrong with it."""

    fields: Mapping[str, Any]
    changes: tuple[forms.Change, ...] = ()
    problem: str = ""
    coverage: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Subject:
    """A column that is edited: its facts, what the policy says of it, and the text that is shown."""

    name: str
    number: int
    key: str
    said: Mapping[str, Any]
    kind: str  # as its values look
    text: str
    folder: str
    stamp: str

    @property
    def words(self) -> dict[str, str]:
        """As questions about hierarchies take it."""
        return {"text": self.text, "folder": self.folder, "stamp": self.stamp}

    @property
    def of(self) -> dict[str, str]:
        """The same with the column, as questions about its file take it."""
        return {**self.words, "column": self.name}


def policy_words(studio: Studio, facts: Mapping[str, Any]) -> dict[str, str]:
    return {**studio.policy_words(), "stamp": files.stamp(studio.open.project, facts["described"])}


async def subject_of(request: Request, studio: Studio) -> Subject:
    """The quasi-identifier that an address means, as the policy has it."""
    names = (studio.open.table or {})["columns"]
    number = column_number(request, names)
    name = names[number]
    facts = await studio.ask_policy("policy")
    if facts["roles"][name] != "quasi_identifier":
        raise InputError(f"{name} is no quasi-identifier, so it is not generalized; change its role first")
    profile = next(one for one in await studio.ask("columns") if one["name"] == name)
    words = policy_words(studio, facts)
    keys = {one["name"]: one["key"] for one in await studio.ask("hierarchies", **words)}
    return Subject(name, number, keys[name], facts["described"][name], profile["kind"], **words)


async def draft_of(studio: Studio, subject: Subject) -> HierarchyDraft | None:
    """The draft of a column; after a restart from what was typed before it."""
    known, name = studio.open.drafts, f"hierarchy of {subject.name}"
    typed = _typed(studio).get(subject.name)
    if name not in known and typed is not None:
        own = forms.fields_of(subject.said)["file"]
        file = typed["file"] if typed["file"] == own or files.is_own(typed["file"]) else ""
        known[name] = await tried(studio, subject, {**typed, "file": file})
    found: HierarchyDraft | None = known.get(name)
    return found


def keep_draft(studio: Studio, name: str, draft: HierarchyDraft | None) -> None:
    """Keep a draft, in memory and in the project; None takes it away."""
    known, typed = studio.open.drafts, _typed(studio)
    if draft is None and name not in typed:
        return
    if draft is None:
        known.pop(f"hierarchy of {name}", None)
        del typed[name]
    else:
        known[f"hierarchy of {name}"] = draft
        typed[name] = dict(draft.fields)
    project = studio.open.project
    if not project.read_only:
        write_whole(project.inside(files.FOLDER) / DRAFTS, json.dumps(typed).encode())


def with_draft(studio: Studio) -> set[str]:
    """The columns of which something was typed and is not used yet."""
    return set(_typed(studio))


def _typed(studio: Studio) -> dict[str, dict[str, Any]]:
    """The fields of each draft by column, read from the project once."""
    known = studio.open.drafts
    if _TYPED not in known:
        known[_TYPED] = _read(studio.open.project)
    found: dict[str, dict[str, Any]] = known[_TYPED]
    return found


def _read(project: Project) -> dict[str, dict[str, Any]]:
    """What an earlier studio kept; what is no form of hierarchies is left out."""
    try:
        said = json.loads(files.text_of(project.inside(files.FOLDER) / DRAFTS))
    except (InputError, ValueError, RecursionError):
        return {}
    return (
        {name: fields for name, fields in said.items() if _is_form(fields)} if isinstance(said, dict) else {}
    )


def _is_form(fields: Any) -> bool:
    form = forms.fields_of({})
    return (
        isinstance(fields, dict)
        and fields.keys() == form.keys()
        and all(type(fields[name]) is type(value) for name, value in form.items())
        and all(
            isinstance(part, str) for value in fields.values() if isinstance(value, list) for part in value
        )
    )


async def as_drafted(studio: Studio, subject: Subject, draft: HierarchyDraft) -> Subject:
    """The column as the policy would have it with a draft."""
    text = await studio.ask("edited", **studio.policy_words(), changes=list(draft.changes))
    facts = await studio.ask("policy", text=text, folder=subject.folder)
    stamp = files.stamp(studio.open.project, facts["described"])
    return replace(subject, text=text, said=facts["described"][subject.name], stamp=stamp)


async def tried(studio: Studio, subject: Subject, fields: Mapping[str, Any]) -> HierarchyDraft:
    """A draft of these fields, with the sentence of the builder if they do not fit."""
    try:
        changes = tuple(
            forms.changes_of(subject.key, fields, subject.kind, str(subject.said.get("type", "")))
        )
        draft = HierarchyDraft(fields, changes)
        drafted = await as_drafted(studio, subject, draft)
        if fields["builder"] == forms.FILE:
            coverage = await studio.ask("hierarchy_coverage", of=drafted.of, file=fields["file"])
            draft = replace(draft, coverage=coverage)
        columns = await studio.ask("hierarchies", **drafted.words)
        return replace(draft, problem=next(o["problem"] for o in columns if o["name"] == subject.name))
    except IncrowdError as error:
        return HierarchyDraft(fields, problem=error.on_the_command_line)


def ladder_of(profile: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any] | None:
    """The ready-made hierarchy of a column, unless it is used already."""
    spec = dict(profile["hierarchy"])
    if not spec:
        return None
    fields = forms.fields_of({"hierarchy": spec})
    if forms.spec_of(fields["builder"], fields) == said.get("hierarchy"):
        return None
    return {"spec": spec, "words": forms.builder_words(fields["builder"], fields)}
