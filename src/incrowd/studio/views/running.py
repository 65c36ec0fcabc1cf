"""Jobs and the end of the studio: how far a job is, cancel, quit, and how long it stays without anybody."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse

from incrowd.errors import InputError
from incrowd.studio import pages, words
from incrowd.studio.jobs import Job
from incrowd.studio.state import Studio, studio_of
from incrowd.studio.views import get, post


def _job(request: Request, studio: Studio) -> Job:
    found = None if studio.opened is None else studio.jobs.get(request.path_params["id"])
    if found is None:
        raise InputError("there is no such job; it may be of another project")
    return found


async def show(request: Request) -> Response:
    """The screen that the job belongs to."""
    return RedirectResponse(f"/{_job(request, studio_of(request)).screen}", 303)


async def events(request: Request) -> Response:
    """Progress as server-sent events, until the job has ended."""
    studio = studio_of(request)
    id = _job(request, studio).id

    async def told() -> AsyncIterator[str]:
        async for job in studio.jobs.changes(id):
            yield f"data: {json.dumps(progress(job))}\n\n"

    return StreamingResponse(told(), media_type="text/event-stream")


def progress(job: Job) -> dict[str, object]:
    """What the page shows of a job that runs."""
    return {
        "state": job.state,
        "step": words.STEPS.get(job.step, job.step),
        "share": job.share,
        "left": pages.time_left(job),
        "parts": len(job.parts),
    }


async def cancel(request: Request) -> Response:
    studio = studio_of(request)
    job = _job(request, studio)
    await studio.jobs.cancel(job.id)
    return pages.back(request, f"/{job.screen}")


async def alive(request: Request) -> Response:
    """How long until the studio ends by itself; asking is no action."""
    return JSONResponse({"seconds": int(studio_of(request).seconds_left())})


async def stay(request: Request) -> Response:
    return pages.back(request, "/")


async def leave(request: Request) -> Response:
    """End the studio; everything is saved already."""
    studio = studio_of(request)
    studio.quitting = True
    return await pages.render(request, "ended.html.j2", "")


ROUTES = (
    get("/jobs/{id:str}", show),
    get("/jobs/{id:str}/events", events),
    post("/jobs/{id:str}/cancel", cancel),
    get("/alive", alive),
    post("/stay", stay),
    post("/quit", leave),
)
