"""Broken engines: a publisher with a bug somewhere between table and bytes. The verifier must stop it.

Every case patches one step of the pipeline for a random request. If the bug had no effect (a class that was
large enough anyway), the release must be right: it is then checked once more from disk.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from campaigns.campaign import Campaign, Fault
from campaigns.tables import random_request

from incrowd import tables
from incrowd.algorithms.base import Algorithm, all_methods
from incrowd.errors import IncrowdError, NotVerified
from incrowd.flow import Table
from incrowd.publishing import draft as drafting
from incrowd.publishing import pipeline
from incrowd.publishing.pipeline import publish_to
from incrowd.publishing.render import manifest, published_table
from incrowd.tables.csv_writer import write_csv

METHODS = all_methods()

Break = Callable[[random.Random, type[Algorithm]], Any]
CLASSES = sorted(
    name
    for name, method in METHODS.items()
    if not (method.joins or method.overlapping or method.buckets or method.needs_plain)
)


@contextmanager
def patched(place: Any, name: str, value: Any) -> Iterator[None]:
    before = vars(place).get(name)
    setattr(place, name, value)
    try:
        yield
    finally:
        if before is None:
            delattr(place, name)
        else:
            setattr(place, name, before)


# In the grouping


def regrouped(change: Callable[[random.Random, Any], Any]) -> Break:
    def make(rng: random.Random, method: type[Algorithm]) -> Any:
        real = method.group

        def group(self: Any, *words: Any) -> Any:
            found: Any = real(self, *words)
            return replace(found, labels=change(rng, found.labels.copy()))

        return patched(method, "group", group)

    return make


def split_a_group(rng: random.Random, labels: Any) -> Any:
    """One record alone."""
    labels[rng.randrange(labels.size)] = labels.max() + 1
    return labels


def move_a_record(rng: random.Random, labels: Any) -> Any:
    """One record to another group, which then covers it: legal if its own stays large enough."""
    labels[rng.randrange(labels.size)] = rng.randrange(int(labels.max()) + 1)
    return np.unique(labels, return_inverse=True)[1].astype(labels.dtype)


def pair_up(rng: random.Random, labels: Any) -> Any:
    """Groups of two whatever k is."""
    return (np.arange(labels.size) // 2).astype(labels.dtype)


# In the rendering


def rendered(change: Callable[[random.Random, list[list[str | None]]], Any]) -> Break:
    def make(rng: random.Random, _: type[Algorithm]) -> Any:
        real = published_table

        def spoil(*words: Any) -> Table:
            table = real(*words)
            columns = [column.rows() for column in table.columns]
            change(rng, columns)
            return Table.of(dict(zip(table.names, columns, strict=True)))

        return patched(drafting, "published_table", spoil)

    return make


def lose_a_row(rng: random.Random, columns: list[list[str | None]]) -> None:
    at = rng.randrange(len(columns[0]))
    for column in columns:
        del column[at]


def repeat_a_row(rng: random.Random, columns: list[list[str | None]]) -> None:
    at = rng.randrange(len(columns[0]))
    for column in columns:
        column.append(column[at])


def sort_values(_: random.Random, columns: list[list[str | None]]) -> None:
    columns[-1].sort(key=str)


def shift_a_column(_: random.Random, columns: list[list[str | None]]) -> None:
    columns[0].append(columns[0].pop(0))


def say_a_name(rng: random.Random, columns: list[list[str | None]]) -> None:
    rng.choice(columns)[rng.randrange(len(columns[0]))] = "person 3"


def swap_cells(rng: random.Random, columns: list[list[str | None]]) -> None:
    column = rng.choice(columns)
    a, b = rng.sample(range(len(column)), 2)
    column[a], column[b] = column[b], column[a]


# In what it says about itself, and in what it writes


def boast(rng: random.Random, _: type[Algorithm]) -> Any:
    """The manifest promises more than the policy asks for."""
    real = manifest

    def boasting(*words: Any) -> dict[str, Any]:
        said = real(*words)
        for claim in said["claims"]:
            claim["parameters"] = dict.fromkeys(claim["parameters"], 50)
        return said

    return patched(drafting, "manifest", boasting)


def publish_the_original(_: random.Random, __: type[Algorithm]) -> Any:
    real = write_csv

    def write(table: Any, path: Path) -> None:
        real(table, path)
        if path.name == "data.csv":
            path.write_bytes((path.parents[2] / "table.csv").read_bytes())

    return patched(pipeline, "write_csv", write)


def half_a_file(rng: random.Random, _: type[Algorithm]) -> Any:
    real = write_csv

    def write(table: Any, path: Path) -> None:
        real(table, path)
        data = path.read_bytes()
        path.write_bytes(data[: rng.randrange(len(data))])

    return patched(pipeline, "write_csv", write)


BREAKS: dict[str, Break] = {
    "k: a record alone": regrouped(split_a_group),
    "k: groups of two": regrouped(pair_up),
    "k, l, t: a record in another group": regrouped(move_a_record),
    "completeness: a row lost": rendered(lose_a_row),
    "completeness: a row twice": rendered(repeat_a_row),
    "truth: values in order": rendered(sort_values),
    "truth: a column shifted": rendered(shift_a_column),
    "truth: cells swapped": rendered(swap_cells),
    "identity: a name published": rendered(say_a_name),
    "claims: more than is kept": boast,
    "bytes: the original itself": publish_the_original,
    "bytes: half a file": half_a_file,
}
# A bug that may have had no effect (a row lost where records may be suppressed): then the release is right,
# which is looked at once more.
HARMLESS = (
    "completeness: a row lost",
    "k: groups of two",
    "k, l, t: a record in another group",
    "truth: ",
    "k: a record alone",
)


def case(rng: random.Random, folder: Path) -> str:
    method, name = rng.choice(CLASSES), rng.choice(sorted(BREAKS))
    table, policy = random_request(rng, folder, method, entity=False)
    with BREAKS[name](rng, METHODS[method]):
        try:
            publish_to(table, policy, folder / "out")
        except NotVerified:
            return f"stopped: {name}"
        except IncrowdError:
            return "refused"
        except ValueError:  # the patched program stumbles over its own bug; what counts is what it leaves
            if (folder / "out").exists():
                raise Fault(f"broken engine left something: {name}", method) from None
            return f"broke off: {name}"
    if name.startswith(HARMLESS) and _right(folder, table, policy):
        return f"no effect: {name}"
    raise Fault(f"broken engine not stopped: {name}", method)


def _right(folder: Path, table: Path, policy: Any) -> bool:
    """By the test's own counting: rows by quasi-identifiers, at least k of each, nobody missing."""
    published = tables.read(folder / "out" / "data.csv")
    quasi = [published.column(name).rows() for name in policy.quasi_identifiers]
    sizes = Counter(zip(*quasi, strict=True))
    complete = len(published) == len(tables.read(table)) or policy.privacy.max_suppression is not None
    return complete and min(sizes.values()) >= policy.k


BROKEN = Campaign("broken engines", "0 published", case, nightly=5_000, in_ci=36)
