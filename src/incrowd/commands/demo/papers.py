"""The papers whose running example is told. Adding one is one entry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from incrowd.commands.demo import kja, multidimensional, nonhomogeneous, outliers, revisited
from incrowd.commands.demo.story import Stage, Story, Telling
from incrowd.errors import InputError, unknown

PAPERS: Mapping[str, tuple[str, Telling]] = {
    "multidimensional": (multidimensional.TITLE, multidimensional.story),
    "revisited": (revisited.TITLE, revisited.story),
    "nonhomogeneous": (nonhomogeneous.TITLE, nonhomogeneous.story),
    "kja": (kja.TITLE, kja.story),
    "outliers": (outliers.TITLE, outliers.story),
}


def check_paper(name: str) -> None:
    if name not in PAPERS:
        raise InputError(unknown("in the list of papers", [name], [*PAPERS]))


def paper_story(name: str, home: Path) -> Story:
    """Play the example of a paper in a folder: its tables, policies and releases are left there."""
    title, telling = PAPERS[name]
    return Story(name, title, tuple(telling(Stage(home))))
