"""The papers whose experiments can be run again. Adding one is one entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from incrowd.errors import InputError, unknown
from incrowd.long_work import Watch, unwatched
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.kja import figures as kja
from incrowd.reproduce.multidimensional import figures as multidimensional
from incrowd.reproduce.nonhomogeneous import figures as nonhomogeneous
from incrowd.reproduce.outcome import Outcome
from incrowd.reproduce.outliers import figures as outliers
from incrowd.reproduce.revisited import figures as revisited


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper by its short name, and what runs its experiments.

    `run` gets whether it is to be quick, the folder of real tables, who watches, and what is kept.
    """

    name: str
    title: str
    run: Callable[[bool, Path | None, Watch, Keeper], Outcome]


PAPERS: Mapping[str, Paper] = {
    paper.name: paper
    for paper in (
        Paper("revisited", revisited.TITLE, revisited.reproduce),
        Paper("nonhomogeneous", nonhomogeneous.TITLE, nonhomogeneous.reproduce),
        Paper("kja", kja.TITLE, kja.reproduce),
        Paper("outliers", outliers.TITLE, outliers.reproduce),
        Paper("multidimensional", multidimensional.TITLE, multidimensional.reproduce),
    )
}


def paper(name: str) -> Paper:
    """A paper by its name; if there is none, the error names those that there are."""
    if name not in PAPERS:
        raise InputError(unknown("in the list of papers", [name], [*PAPERS]))
    return PAPERS[name]


def reproduce(
    name: str,
    quick: bool = False,
    data: Path | None = None,
    watch: Watch = unwatched,
    kept: Keeper = NOTHING_KEPT,
) -> Outcome:
    """Run the experiments of a paper again; `quick` runs a small part that takes seconds.

    What needs a table that is not in the folder `data` is skipped, and the outcome says so.
    """
    asked = paper(name)
    check_data(data)
    return asked.run(quick, data, watch, kept.of(name))


def check_data(data: Path | None) -> None:
    """Refuse a folder of real tables that is not there."""
    if data is not None and not data.is_dir():
        raise InputError(
            f"the folder of real tables {data} does not exist; leave out --data to do without it"
        )
