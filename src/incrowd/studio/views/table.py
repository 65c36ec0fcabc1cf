"""Screen 1, Table: its rows as they are in the file, what each column holds, and how its texts are read."""

from __future__ import annotations

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from incrowd.errors import InputError
from incrowd.studio import pages, show, views
from incrowd.studio.guard import field_of
from incrowd.studio.pages import table_needed
from incrowd.studio.paging import Paging, asked_number
from incrowd.studio.show import ShownCommand
from incrowd.studio.state import Studio, column_number, studio_of
from incrowd.studio.views import StepState, get, post

ROWS_A_PAGE = 50
COLUMNS_A_PAGE = 60
KINDS = ("numeric", "date", "categorical")
MOST_MARKERS = 100
QUERY = re.compile(
    r"\s*(?:SELECT|WITH|FROM|VALUES|TABLE)\b", re.IGNORECASE
)  # as the reader of databases has it


@table_needed
async def show_table(request: Request) -> Response:
    studio = studio_of(request)
    table = studio.open.table or {}
    names: list[str] = table["columns"]
    row = asked_number(request, "row")
    rows = Paging(table["rows"], ROWS_A_PAGE, asked_number(request, "page"))
    if row is not None:
        rows = Paging(table["rows"], ROWS_A_PAGE, (max(row, 1) - 1) // ROWS_A_PAGE + 1)
    wide = Paging(len(names), COLUMNS_A_PAGE, asked_number(request, "columns"))
    cells = await studio.ask(
        "rows", start=rows.start, count=ROWS_A_PAGE, columns=[wide.start, wide.start + COLUMNS_A_PAGE]
    )
    facts = await studio.ask_policy("policy")
    return await pages.render(
        request,
        "table.html.j2",
        "table",
        table=table,
        file=studio.open.project.table,
        another=studio.open.another,
        columns=(await _columns(studio, facts))[wide.start : wide.end],
        cells=cells,
        rows=rows,
        wide=wide,
        asked_row=row,
        markers=await studio.ask("missing", markers=facts["missing"]),
    )


async def _columns(studio: Studio, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What is known of each column, and how the policy has it read."""
    found = await studio.ask("columns")
    missing = (await studio.ask("missing", markers=facts["missing"]))["counts"]
    columns = []
    for number, column in enumerate(found):
        name = column["name"]
        said = facts["described"][name]
        role = facts["roles"][name]
        stated = (said.get("type", column["kind"]), said.get("format", column["format"])) != (
            column["kind"],
            column["format"],
        )
        columns.append(
            {
                **column,
                "number": number,
                "role": role,
                "missing": missing[name],
                "type": said.get("type", ""),
                "stated_format": said.get("format", ""),
                "now": said.get("type") or column["kind"],
                "stated": stated,
                "can_be_read": role in ("quasi_identifier", "sensitive"),
                "open": bool(column["readings"])
                and not (stated or said.get("format"))
                and role in ("quasi_identifier", "sensitive"),
            }
        )
    return columns


@table_needed
async def set_kind(request: Request) -> Response:
    """How the texts of a column are read; what does not fit its values is refused before it is written."""
    studio = studio_of(request)
    names = (studio.open.table or {})["columns"]
    name = names[column_number(request, names)]
    facts = await studio.ask_policy("policy")
    key = {"quasi_identifier": "quasi_identifiers", "sensitive": "sensitive"}.get(facts["roles"][name])
    if key is None:
        raise InputError(
            f"{name} is not published generalized, so its text stays as it is; give it another role first"
        )
    kind, format = field_of(request, "kind"), field_of(request, "format").strip()
    if kind not in (*KINDS, ""):
        raise InputError(f"{name} can be a number, a date, or a category")
    changes = [((key, name, "type"), kind or None), ((key, name, "format"), format or None)]
    words = f"{name} is read as {kind or 'found out'}{f' {format}' if format else ''}"
    await studio.edit(words, changes=changes, reads=name)
    studio.say(f"{words[0].upper()}{words[1:]}.")
    return pages.back(request, "/table")


@table_needed
async def set_missing(request: Request) -> Response:
    """Texts that mean missing, one a line; the empty text always does."""
    studio = studio_of(request)
    lines = [line.strip("\r") for line in field_of(request, "markers").split("\n")]
    markers = list(dict.fromkeys(["", *(line for line in lines if line)]))
    if len(markers) > MOST_MARKERS:
        raise InputError(f"at most {MOST_MARKERS} texts can mean missing")
    await studio.edit("what means missing", changes=[(("missing",), markers)])
    studio.say(f"{len(markers)} text{'' if len(markers) == 1 else 's'} mean missing, the empty one included.")
    return pages.back(request, "/table")


async def set_reading(request: Request) -> Response:
    """Encoding, sheet, or table of a database, of a file that could not be read."""
    studio = studio_of(request)
    given = {key: field_of(request, key).strip() for key in ("encoding", "sheet", "sql")}
    if QUERY.match(given["sql"]):
        # Conditions of a query can hold values of people, and it would be kept in the project.
        raise InputError("the studio opens a table or a view of a database; make a view of this query first")
    studio.open.project.changed(**given)
    studio.read_again()
    return RedirectResponse("/table", 303)


async def remove_copy(request: Request) -> Response:
    """A dropped file was copied into the project; take that copy away again."""
    studio = studio_of(request)
    project = studio.open.project
    if not project.table.dropped:
        raise InputError("the table is your own file; the studio does not remove it")
    path = project.table.path
    await studio.close_project()
    path.unlink(missing_ok=True)
    studio.say(
        f"The copy of {path.name} was removed. Its policy and history are still in {project.folder.name}."
    )
    return RedirectResponse("/", 303)


async def step(studio: Studio) -> StepState:
    here = studio.open
    if here.another:
        return StepState(views.ATTENTION, "the table has changed since the project was last used")
    facts = await studio.ask_policy("policy")
    waiting = sum(column["open"] for column in await _columns(studio, facts))
    if waiting:
        return StepState(views.ATTENTION, f"{waiting} columns can be read in two ways")
    return StepState(views.DONE if here.project.seen("table") else views.TO_DO)


def commands(studio: Studio) -> tuple[ShownCommand, ...]:
    return (show.profiling(studio),)


ROUTES = (
    get("/table", show_table),
    get("/table/rows", show_table),
    post("/table/kind/{number:int}", set_kind),
    post("/table/missing", set_missing),
    post("/table/reading", set_reading),
    post("/table/copy", remove_copy),
)
