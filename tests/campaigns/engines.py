"""Memory and an engine on the same random tables: the same rows, verified, or the same refusal.

Hierarchies, sets, ranges, families, gaps, l of all kinds, all methods that engines run, a public table and a
second source; the distinct records all at once, or so few of them that the engine makes the first cuts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from campaigns.campaign import Campaign, Fault
from support.engine_tables import CHOICES, KINDS, SAID, VALUES, draft_and_classes
from support.spark_sessions import WHY_NOT, one_spark

from incrowd import tables
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.engines.resources import Resources
from incrowd.errors import IncrowdError, NotVerified
from incrowd.flow import Table
from incrowd.long_work import unwatched
from incrowd.policy import Policy
from incrowd.publishing.large import (
    LargeRelease,
    engine_of,
    inputs_of,
    joined_files,
    publish_large,
    request_for_engine,
    table_files,
)
from incrowd.publishing.pipeline import Form
from incrowd.release.data_files import data_files

METHODS = (*["mondrian"] * 5, "hilbert", "ring", "kja-direct")
L_KINDS = ("distinct", "entropy", "recursive", "frequency")
WHOLE = 0.1  # of the tables on Spark are published and verified there; of the others classes are compared
IDS = ("007", "7", "A-1", "a 1", "Straße", "x.0", "x")
Columns = dict[str, list[str]]


def drawn_columns(rng: random.Random, rows: int) -> tuple[Columns, dict[str, Any]]:
    """A few quasi-identifiers, and what a policy says of them."""
    kinds = [rng.choice(KINDS) for _ in range(rng.randint(1, 4))]
    names = [f"{kind} {place}" for place, kind in enumerate(kinds)]
    columns = {
        name: [rng.choice(VALUES[kind]) for _ in range(rows)] for name, kind in zip(names, kinds, strict=True)
    }
    return columns, {name: SAID[kind] for name, kind in zip(names, kinds, strict=True)}


def drawn_policy(rng: random.Random, method: str, quasi: dict[str, Any]) -> Policy:
    privacy: dict[str, Any] = {"k": rng.randint(2, 4)}
    options: dict[str, Any] = {}
    if method == "mondrian":
        options = {"choose": rng.choice(CHOICES), "median": rng.choice(("two-sided", "printed"))}
        if rng.random() < 0.5:
            privacy |= {"l": rng.randint(2, 3), "l_kind": rng.choice(L_KINDS)}
            privacy |= {"c": 2} if privacy["l_kind"] == "recursive" else {}
    if method == "ring":
        options = {"order": rng.choice(("lexicographic", "hilbert"))}
    joined = {"table": "x", "id": "id", "membership_secret": True} if method == "kja-direct" else None
    unsafe = ["unsafe-join"] if joined and rng.random() < 0.5 else []
    return Policy(
        identifiers=["id"],
        quasi_identifiers=quasi,
        sensitive=["ill"],
        privacy=privacy,
        method=method,
        options=options,
        accept=["certain-presence", *unsafe] if joined else [],
        totals=not joined and rng.random() < 0.3,
        public=joined,
    )


def drawn_tables(rng: random.Random, method: str) -> tuple[Table, Table | None, Table | None, dict[str, Any]]:
    """The private table and, for a join, the public one and perhaps a second source."""
    rows = rng.choice((6, 12, 30, 60, 120))
    columns, quasi = drawn_columns(rng, rows)
    ids = [f"p{row}" for row in range(rows)]
    if method == "kja-direct" and rng.random() < 0.3:
        ids[rng.randrange(rows)] = rng.choice(IDS)
    ills = [rng.choice(("flu", "x,y", '"', "=1", "")) for _ in range(rows)]
    if method != "kja-direct":
        return Table.of({"id": ids, **columns, "ill": ills}), None, None, quasi
    own = [row for row in range(rows) if rng.random() < 0.3 and all(c[row] for c in columns.values())] or [0]
    private = _rows({"id": ids, **columns, "ill": ills}, own)
    listed = rng.sample(range(rows), rows)
    second = _rows({"id": ids, **columns}, rng.sample(range(rows), rows)) if rng.random() < 0.3 else None
    return private, _rows({"id": ids, **columns}, listed), second, quasi


def _rows(columns: Columns, rows: list[int]) -> Table:
    return Table.of({name: [texts[row] for row in rows] for name, texts in columns.items()})


def compared(rng: random.Random, folder: Path, engine: str, whole: bool = True) -> str:
    """One table, published twice; unless it is to be a `whole` release, classes alone are compared."""
    method = rng.choice(METHODS)
    private, public, second, quasi = drawn_tables(rng, method)
    policy = drawn_policy(rng, method, quasi)
    wanted = _ended(lambda: publish(private, policy, public=public, check=second))
    given = enumerate((private, public, second))
    places = [_written(table, folder / f"{place}.parquet") for place, table in given]
    resources = Resources(1_000_000_000, 2, rng.choice((None, None, 3)), engine)
    trip = EngineTrip(policy, resources, folder, places)
    found = _ended(trip.published if whole else trip.classes)
    if isinstance(wanted, str) or isinstance(found, str):
        if wanted != found:
            raise Fault("another end than in memory", f"{method}: {_said(wanted)} and {_said(found)}")
        return f"refused by both ({method})"
    if not whole:
        if found != _cells(Counter(wanted.table), len(quasi)):
            raise Fault("other classes than in memory", method)
        return f"the same classes ({method})"
    _check_rows(method, wanted.table, trip.out, len(quasi))
    trip.verified()
    return f"the same rows ({method})"


@dataclass(frozen=True)
class EngineTrip:
    """A request to an engine: the policy, what it may use, and the tables, of which two may be None."""

    policy: Policy
    resources: Resources
    folder: Path
    places: Sequence[Path | None]

    @property
    def out(self) -> Path:
        return self.folder / "release"

    def published(self) -> LargeRelease:
        private, public, second = self.places
        form = Form("parquet")
        return publish_large(
            private, self.policy, self.out, form, self.resources, public=public, check=second
        )

    def classes(self) -> Counter[Any]:
        """The cells of each class and how many rows it has; nothing is written."""
        private, public, second = self.places
        request = request_for_engine(self.policy)
        files = table_files(private, self.policy, self.resources)
        joined = joined_files(self.policy, request, self.resources, public, second)
        work = self.folder / "work"
        work.mkdir(mode=0o700)
        with engine_of(inputs_of(self.policy, files, joined), work, (), self.resources) as engine:
            return draft_and_classes(engine, request, self.resources, unwatched, joined)[1]

    def verified(self) -> None:
        private, public, second = self.places
        again = verify(self.out, private, self.policy, public=public, check=second, engine="duckdb")
        if not again.passed:
            raise Fault("a true release is rejected from disk", str(again.failures[0]))


def _check_rows(method: str, wanted: Table, out: Path, quasi: int) -> None:
    files = data_files(out)
    shown = tables.read(files[0] if len(files) == 1 else files[0].parent)
    both = [Counter(wanted), Counter(shown)]
    if method in ("hilbert", "ring"):  # which of equal records comes first is drawn
        both = [_cells(rows, quasi) for rows in both]
    if both[0] != both[1]:
        raise Fault("other rows than in memory", method)


def _cells(rows: Counter[Any], quasi: int) -> Counter[Any]:
    return Counter(row[:quasi] for row in rows.elements())


def _written(table: Table | None, path: Path) -> Path | None:
    if table is None:
        return None
    tables.write_parquet(table, path)
    return path


def _ended(make: Any) -> Any:
    """The release, or the kind of refusal; what the verifier rejects is a fault."""
    try:
        return make()
    except NotVerified as refusal:
        raise Fault("publisher and verifier disagree", str(refusal)) from None
    except IncrowdError as refusal:
        return type(refusal).__name__


def _said(end: object) -> str:
    return end if isinstance(end, str) else "a release"


def by_duckdb(rng: random.Random, folder: Path) -> str:
    return compared(rng, folder, "duckdb")


@cache
def _one_spark() -> ExitStack:
    """Started with the first case, for all of them; it ends with the program."""
    stack = ExitStack()
    stack.enter_context(one_spark(Path(mkdtemp(prefix="campaign-spark-"))))
    return stack


def by_spark(rng: random.Random, folder: Path) -> str:
    if WHY_NOT:
        return "not run: " + WHY_NOT
    _one_spark()
    return compared(rng, folder, "spark", whole=rng.random() < WHOLE)


ENGINE_TABLES = Campaign("memory and DuckDB", "0 tables that end otherwise", by_duckdb, nightly=500, in_ci=4)
SPARK_TABLES = Campaign("memory and Spark", "0 tables that end otherwise", by_spark, nightly=500, in_ci=0)
