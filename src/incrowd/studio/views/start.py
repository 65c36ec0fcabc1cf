"""The start page: earlier projects, tables of the start folder, a dropped file, the demo table."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from incrowd.errors import InputError
from incrowd.examples import write_example
from incrowd.studio import pages
from incrowd.studio.guard import field_of
from incrowd.studio.project import SUFFIX, TableFile, project_for, projects_in, table_of, whole_file
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import get, post

MOST_FILES = 200
LONGEST_LINE = 1 << 12
DEMO = "incrowd-demo"
# What `incrowd` reads, by the end of the name; a test compares.
TEXTS = (".csv", ".txt", ".tsv", ".jsonl", ".ndjson")
OTHERS = (
    *(".parquet", ".xlsx", ".xlsm", ".ods", ".dta", ".sav", ".zsav", ".sas7bdat", ".xpt"),
    *(".sqlite", ".sqlite3", ".db", ".duckdb", ".zip"),
)


def readable(name: str) -> bool:
    """May this be a table, by its name?"""
    plain = name.lower()
    return plain.endswith((*TEXTS, *OTHERS, *(f"{end}.gz" for end in TEXTS))) and not plain.startswith(".")


async def show(request: Request) -> Response:
    """The start page; while a table is open, its first screen."""
    studio = studio_of(request)
    if studio.opened is not None:
        return RedirectResponse("/table", 303)
    files = tables_in(studio.folder)
    studio.files = [path for path, _ in files]
    found = [(number, path.name, size) for number, (path, size) in enumerate(files[:MOST_FILES])]
    projects = [
        (path.name, path.name.removesuffix(SUFFIX), table_of(path)) for path in projects_in(studio.folder)
    ]
    return await pages.render(
        request,
        "start.html.j2",
        "",
        files=found,
        more=max(len(files) - MOST_FILES, 0),
        projects=list(enumerate(projects)),
        folder=studio.folder.name or "/",
        max_upload=studio.max_upload,
    )


def tables_in(folder: Path) -> list[tuple[Path, int]]:
    """Regular files of a folder that may be tables, with their sizes; no links, no hierarchies."""
    found = []
    for path in sorted(folder.iterdir(), key=lambda one: one.name.lower()):
        with suppress(OSError):
            facts = path.lstat()
            if stat.S_ISREG(facts.st_mode) and readable(path.name) and not is_hierarchy(path):
                found.append((path, facts.st_size))
    return found


def is_hierarchy(path: Path) -> bool:
    """Is this a hierarchy in the form of ARX? Its first line goes from a value up to everything."""
    if path.suffix.lower() != ".csv":
        return False
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        return file.readline(LONGEST_LINE).rstrip().endswith(b";*")


async def open_file(request: Request) -> Response:
    """A table of the start folder, by the number that the page gave it."""
    studio = studio_of(request)
    number = field_of(request, "file")
    if not number.isdecimal() or int(number) >= len(studio.files):
        raise InputError("this file is not in the list any more; choose again")
    path = studio.files[int(number)]
    if path.is_symlink() or not path.is_file():
        raise InputError(f"{path.name} is gone; choose again")
    await studio.open_project(project_for(path, studio.folder), TableFile(path.resolve()))
    return RedirectResponse("/table", 303)


async def open_project(request: Request) -> Response:
    """A project of the start folder, by its number."""
    studio = studio_of(request)
    found = list(projects_in(studio.folder))
    number = field_of(request, "project")
    if not number.isdecimal() or int(number) >= len(found):
        raise InputError("this project is not in the list any more; choose again")
    await studio.open_project(found[int(number)])
    return RedirectResponse("/columns", 303)


async def demo(request: Request) -> Response:
    """Invented patients, in a folder of their own."""
    studio = studio_of(request)
    folder = studio.folder / DEMO
    if not (folder / "patients.csv").is_file():
        try:
            write_example(folder)
        except OSError as error:
            raise InputError(f"cannot write {DEMO} into the start folder: {error.strerror}") from None
    table = folder / "patients.csv"
    await studio.open_project(folder / f"patients{SUFFIX}", TableFile(table.resolve()))
    return RedirectResponse("/table", 303)


async def drop(request: Request) -> Response:
    """A file as a raw body, streamed into a project of its own: the only copy that the studio makes."""
    studio = studio_of(request)
    name = _plain_name(request.headers.get("x-file-name", ""))
    folder = _new_folder(studio, name)
    target = folder / "dropped" / name
    try:
        (folder / "dropped").mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
        size = 0
        with whole_file(target) as file:
            async for block in request.stream():
                size += len(block)
                if size > studio.max_upload:
                    raise InputError(f"the file is larger than {pages.size_words(studio.max_upload)}")
                file.write(block)
    except InputError as error:
        _remove(folder)
        return PlainTextResponse(str(error), 413)
    except OSError as error:
        _remove(folder)
        return PlainTextResponse(f"the file cannot be kept: {error.strerror}", 507)
    except BaseException:
        _remove(folder)
        raise
    await studio.open_project(folder, TableFile(target, dropped=True))
    studio.say(f"A copy of {name} is in the project {folder.name}. It can be removed on this page.")
    return JSONResponse({"go": "/table"})


def _plain_name(given: str) -> str:
    """The name of a dropped file: its last part, with signs that every disk knows."""
    name = re.sub(r"[^\w. -]+", "-", unquote(given).replace("\\", "/").rpartition("/")[2])[-120:].strip(" .-")
    if not readable(name):
        raise InputError("this is no table that can be read; save it as CSV, Excel or Parquet")
    return name


def _new_folder(studio: Studio, name: str) -> Path:
    stem = name.split(".")[0] or "table"
    for number in range(1, 1000):
        folder = studio.folder / f"{stem}{'' if number == 1 else f'-{number}'}{SUFFIX}"
        if not os.path.lexists(folder):
            return folder
    raise InputError("there are too many projects of this name; remove some")


def _remove(folder: Path) -> None:
    for path in (folder / "dropped").glob("*"):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        (folder / "dropped").rmdir()
        folder.rmdir()


async def close(request: Request) -> Response:
    """Back to the start page; everything is saved."""
    await studio_of(request).close_project()
    return RedirectResponse("/", 303)


ROUTES = (
    get("/", show),
    post("/start/file", open_file),
    post("/start/project", open_project),
    post("/start/demo", demo),
    post("/drop", drop),
    post("/close", close),
)
