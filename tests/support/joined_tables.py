"""Random private and public tables with a policy of kja-direct, and both ways to make classes of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st
from support.engine_tables import KINDS, SAID, Rows, draft_and_classes, texts_of

from incrowd import tables
from incrowd.commands.publish import publish
from incrowd.engines.resources import Resources
from incrowd.errors import IncrowdError
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.policy import Policy
from incrowd.publishing.large import engine_of, inputs_of, joined_files, request_for_engine, table_files
from incrowd.publishing.large_draft import LargeDraft

ODD_IDS = (
    "007",
    "7",
    "A-1",
    "a 1",
    "Straße",
    "STRASSE",
    "x.0",
    "x",
    "0",
    "",
    "?",
    "ı",
    "\N{KELVIN SIGN}",
    "k",
)


@dataclass(frozen=True)
class JoinCase:
    """A private table, a public one, perhaps a second source, and a policy."""

    private: Table
    public: Table
    second: Table | None
    policy: Policy

    def written(self, folder: Path) -> tuple[Path, Path, Path | None]:
        """The tables as Parquet files."""
        places = [folder / f"{name}.parquet" for name in ("private", "public", "second")]
        for table, place in zip((self.private, self.public, self.second), places, strict=True):
            if table is not None and not place.exists():
                tables.write_parquet(table, place)
        return places[0], places[1], places[2] if self.second is not None else None


def _some_rows(draw: st.DrawFn, count: int, most: int) -> list[int]:
    return draw(st.lists(st.integers(0, count - 1), max_size=most))


@st.composite
def join_cases(draw: st.DrawFn) -> JoinCase:
    """Tables that mostly can be joined: now and then somebody is missing, repeated, alike or in conflict."""
    count, own = draw(st.integers(6, 50)), draw(st.integers(2, 12))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    names = [f"{kind} {place}" for place, kind in enumerate(kinds)]
    everyone = {name: draw(texts_of(kind, count)) for name, kind in zip(names, kinds, strict=True)}
    ids = [f"p{number}" for number in range(count)]
    for row, odd in zip(_some_rows(draw, count, 4), draw(st.lists(st.sampled_from(ODD_IDS))), strict=False):
        ids[row] = odd
    unsafe = draw(st.booleans())
    mine = [row for row in range(min(own, count)) if ids[row] not in ("", "?")]
    if not unsafe:  # whoever lacks a value is in doubt, which would refuse most tables
        mine = [row for row in mine if all(everyone[name][row] for name in names)]
    mine = list({ids[row]: row for row in mine}.values()) or [count - 1]
    private = {"id": [ids[row] for row in mine], **{n: [c[row] for row in mine] for n, c in everyone.items()}}
    private["ill"] = [("flu", "cold", "")[row % 3] for row in mine]
    listed = draw(st.permutations(range(count)))
    gone = set(_some_rows(draw, count, 2)) if unsafe else set[int]()
    listed = [row for row in listed if row not in gone] + _some_rows(draw, count, 2)
    public = {"seat": [str(row) for row in listed], "id": [ids[row] for row in listed]}
    public |= {name: [column[row] for row in listed] for name, column in everyone.items()}
    second = None
    if draw(st.integers(0, 3)) == 0:
        all_of_them = [*range(count), *_some_rows(draw, count, 1)]
        rows = (all_of_them if draw(st.booleans()) else _some_rows(draw, count, 40)) or [0]
        named = {"id": [ids[row] for row in rows]}
        second = Table.of(named | {name: [c[row] for row in rows] for name, c in everyone.items()})
    accept = ["certain-presence", *(["unsafe-join"] if unsafe else [])]
    policy = Policy(
        identifiers=["id"],
        quasi_identifiers={name: SAID[kind] for name, kind in zip(names, kinds, strict=True)},
        sensitive=["ill"],
        missing=["", "?"],
        privacy={"k": draw(st.integers(2, 4))},
        method="kja-direct",
        accept=accept,
        public={"table": "x", "id": "id", "membership_secret": True},
    )
    return JoinCase(Table.of(private), Table.of(public), second, policy)


def draft_of(
    case: JoinCase, folder: Path, tuples: int | None = None, engine: str = "duckdb"
) -> tuple[LargeDraft, Rows]:
    """A draft over an engine, and its classes; nothing is written."""
    private, public, second = case.written(folder)
    policy, resources = case.policy, Resources(1_000_000_000, 2, tuples, engine)
    request = request_for_engine(policy)
    files = table_files(private, policy, resources)
    joined = joined_files(policy, request, resources, public, second)
    assert joined is not None
    with (
        TemporaryDirectory(dir=folder) as work,
        engine_of(inputs_of(policy, files, joined), Path(work), (), resources) as opened,
    ):
        return draft_and_classes(opened, request, resources, unwatched, joined)


def outcome(make: Any) -> tuple[str, Any]:
    """What came out: the classes, or the kind of refusal and its words."""
    try:
        return "made", make()
    except IncrowdError as refused:
        return type(refused).__name__, str(refused)


def by_memory(case: JoinCase) -> tuple[Rows, Any, Any]:
    """Rows, what presence discloses, and the loss of a release that is made in memory."""
    release = publish(case.private, case.policy, public=case.public, check=case.second)
    return Rows(release.table), release.told, release.loss()


def by_draft(case: JoinCase, folder: Path, tuples: int | None = None, engine: str = "duckdb") -> Any:
    """The same of a draft over an engine."""
    made, classes = draft_of(case, folder, tuples, engine)
    assert made.disclosure is not None
    return classes, made.disclosure.to_dict(), made.loss
