"""The file of hierarchies: line for line what the hierarchies say of the labels that are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from verifier.test_verifier import Lines

from incrowd.schema import Column, Role
from incrowd.verifier.columns import as_is
from incrowd.verifier.failure import CheckFailed
from incrowd.verifier.labels import HEADER, check_hierarchies

ZIP = Column("zip", Role.QUASI, levels=(("a", "x", "*"), ("", "x", "*"), ("c", "y", "*")))
JOB = Column("job", Role.QUASI)


def said(
    lines: Sequence[tuple[str, ...]], *labels: str, column: Column = ZIP, header: Sequence[str] = HEADER
) -> None:
    named = {"zip": frozenset(labels), "job": frozenset(["a"])}
    check_hierarchies(Lines(header, lines), as_is, [JOB, column], frozenset([""]), named)


A, C, X, Y = (
    ("zip", "a", "x", "yes"),
    ("zip", "c", "y", "yes"),
    ("zip", "x", "*", "no"),
    ("zip", "y", "*", "no"),
)


def test_labels_and_those_above_them_are_said() -> None:
    said([A, X], "a")
    said([X], "x")
    said([A, C, X, Y], "a", "c")
    said([], "*")
    said([X], "", "x")
    said([], "")
    said([A, C, X, Y], column=replace(ZIP, public=True))


@pytest.mark.parametrize(
    "lines",
    [[A], [X], [X, A], [A, X, Y], [A, A, X], [("zip", "a", "x", "no"), X], [("zip", "a", "y", "yes"), X]],
    ids=["lacking", "no leaf", "unsorted", "more", "twice", "leaf", "above"],
)
def test_other_lines_are_refused(lines: list[tuple[str, ...]]) -> None:
    with pytest.raises(CheckFailed, match="is not what the hierarchies say"):
        said(lines, "a")


def test_the_header_is_fixed() -> None:
    with pytest.raises(CheckFailed, match="does not have exactly its four columns"):
        said([A, X], "a", header=["column", "label", "above", "root"])
