"""Small random originals and releases whose rows overlap, with what their cells mean by definition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from support.verifier_cases import Case, verified
from twins import definitions as naive

from incrowd.schema import Check, Claim, Column, Kind, Role, Schema

Adjacency = list[list[int]]


@dataclass
class Lines:
    """Rows that are at hand."""

    names: Sequence[str]
    rows: Sequence[Sequence[str | None]]

    def __iter__(self) -> Iterator[Sequence[str | None]]:
        return iter(self.rows)


AGES = ["20", "30", "40", "50", ""]
JOBS = ["a", "b", "c", "d", "e"]
ZIPS = [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"]]
TABLE = Schema(
    (
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("job", Role.QUASI),
        Column("zip", Role.QUASI, levels=tuple(map(tuple, ZIPS))),
        Column("ill", Role.SENSITIVE),
    )
)
Record = tuple[str, str, str]
RECORDS = st.tuples(st.sampled_from(AGES), st.sampled_from(JOBS), st.sampled_from(["x1", "x2", "y1", ""]))


def with_missing(text: str, values: set[str]) -> str:
    if "" not in values:
        return text
    return "{missing|" + text.strip("{}") + "}" if text else "missing"


def age_cell(values: set[str]) -> tuple[str, set[str]]:
    """The text of the smallest range over some ages, and all ages that it holds."""
    real = sorted(values - {""})
    text = "" if not real else real[0] if len(real) == 1 else f"[{real[0]},{real[-1]}]"
    return with_missing(text, values), {a for a in AGES if a and real and real[0] <= a <= real[-1]} | (
        values & {""}
    )


def job_cell(values: set[str]) -> tuple[str, set[str]]:
    text = "|".join(sorted(values))
    return (text if len(values) == 1 else "{" + text + "}"), values


def zip_cell(values: set[str]) -> tuple[str, set[str]]:
    real = values - {""}
    if len({z[:1] for z in real}) > 1:
        return "*", {"x1", "x2", "y1", ""}
    node = "x" if len(real) > 1 else min(real, default="")
    return with_missing(node, values), {z for z, *_ in ZIPS if real and z.startswith(node)} | (values & {""})


CELLS = (age_cell, job_cell, zip_cell)
EVERYTHING = (set(AGES), set(JOBS), {"x1", "x2", "y1", ""})


@dataclass
class Tables:
    """A case without claims, and who is consistent with whom by definition."""

    case: Case
    adjacent: Adjacency

    @property
    def published(self) -> int:
        return len(list(self.case.published))

    def check(self, model: str, k: int, **changes: Any) -> Check:
        case = replace(self.case, claims=[Claim(model, {"k": k})], **changes)
        return next(check for check in verified(case).checks if check.name == model)


@st.composite
def tables(draw: st.DrawFn, most: int, fewer: bool = True) -> Tables:
    """Rows over some records each, the first of which is theirs; some records may be left out."""
    records = draw(st.lists(RECORDS, min_size=1, max_size=most))
    order = draw(st.permutations(range(len(records))))
    shown = order[draw(st.integers(0, len(order) - 1)) if fewer else 0 :]
    texts, meant = [], []
    for own in shown:
        crowd = {own} | draw(st.sets(st.integers(0, len(records) - 1), max_size=3))
        columns = [{records[i][j] for i in crowd} for j in range(3)]
        stars = [draw(st.integers(0, 5)) == 0 for _ in columns]
        cells = [
            ("*", every) if star else cell(values)
            for cell, values, every, star in zip(CELLS, columns, EVERYTHING, stars, strict=True)
        ]
        texts.append([*(text for text, _ in cells), f"ill {own % 2}"])
        meant.append([values for _, values in cells])
    names = ("age", "job", "zip", "ill")
    original = Lines(names, [(*record, f"ill {i % 2}") for i, record in enumerate(records)])
    case = Case(original, Lines(names, texts), TABLE, [], suppressed=len(records) - len(shown))
    return Tables(case, naive.adjacency(records, meant))
