"""The papers whose running example is told. Adding one is one entry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from incrowd.algorithms import base
from incrowd.commands.demo import kja, multidimensional, nonhomogeneous, outliers, revisited
from incrowd.commands.demo.story import Stage, Story, Telling
from incrowd.errors import InputError, unknown

PAPERS: Mapping[str, tuple[str, str, Telling]] = {
    "multidimensional": (multidimensional.TITLE, base.MULTIDIMENSIONAL, multidimensional.story),
    "revisited": (revisited.TITLE, base.REVISITED, revisited.story),
    "nonhomogeneous": (nonhomogeneous.TITLE, base.NONHOMOGENEOUS, nonhomogeneous.story),
    "kja": (kja.TITLE, base.EXTERNAL, kja.story),
    "outliers": (outliers.TITLE, base.OUTLIERS, outliers.story),
}


def check_paper(name: str) -> None:
    if name not in PAPERS:
        raise InputError(unknown("in the list of papers", [name], [*PAPERS]))


def paper_story(name: str, home: Path) -> Story:
    """Play the example of a paper in a folder: its tables, policies and releases are left there."""
    title, source, telling = PAPERS[name]
    return Story(name, title, source, tuple(telling(Stage(home))))
