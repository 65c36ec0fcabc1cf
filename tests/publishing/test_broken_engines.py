"""Broken engines: whatever stage is faulty, the verifier says no and nothing is written."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.method_names import BESIDE_K, PARTITIONS
from support.requested import people

from incrowd import assign
from incrowd.algorithms.base import Algorithm, all_methods
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.commands.publish import publish
from incrowd.errors import NotVerified
from incrowd.flow import Assignment, Cells, Microdata, Partition, Regions, Table
from incrowd.generalize import generalize
from incrowd.publishing import draft as drafting
from incrowd.publishing.pipeline import Release, publish_to
from incrowd.publishing.render import published_table

K = 4


class Identity(StrictMondrian):
    """Everyone is a group of one."""

    def group(self, data: Microdata, *_: object) -> Partition:
        return Partition(np.arange(len(data), dtype=np.int32))


def groups_by(made: Callable[[str], Algorithm]) -> Callable[[pytest.MonkeyPatch, str], None]:
    def spoil(patch: pytest.MonkeyPatch, method: str) -> None:
        other = made(method)
        patch.setattr(all_methods()[method], "configured", lambda *_: other)

    return spoil


def draws(who: Callable[[int], Assignment]) -> Callable[[pytest.MonkeyPatch, str], None]:
    """Another way to draw who is behind which row."""

    def spoil(patch: pytest.MonkeyPatch, method: str) -> None:
        patch.setattr(assign, "whole_classes", lambda n, _entropy: who(n))

    return spoil


def keeps_order(n: int) -> Assignment:
    return Assignment(np.arange(n), np.arange(n))


def reverses_order(n: int) -> Assignment:
    return Assignment(np.arange(n)[::-1], np.arange(n)[::-1])


def shuffles_private_parts(n: int) -> Assignment:
    """Values of others, as if classes did not matter."""
    return Assignment(assign.shuffled(n), assign.shuffled(n))


def sorts_by_illness(patch: pytest.MonkeyPatch, method: str) -> None:
    """Rows by their sensitive value, and else as they came."""
    illness = people().columns["ill"]
    order = np.array(sorted(range(len(illness)), key=lambda i: str(illness[i])))
    draws(lambda n: Assignment(order, order))(patch, method)


def spoils_regions(spoiled: Callable[[Regions], Regions]) -> Callable[[pytest.MonkeyPatch, str], None]:
    def spoil(patch: pytest.MonkeyPatch, method: str) -> None:
        patch.setattr(drafting, "generalize", lambda *arguments: spoiled(generalize(*arguments)))

    return spoil


def with_cells(regions: Regions, j: int, cells: Cells) -> Regions:
    return replace(regions, cells=(*regions.cells[:j], cells, *regions.cells[j + 1 :]))


def forgets_missing(regions: Regions) -> Regions:
    ages = regions.cells[0]
    return with_cells(regions, 0, replace(ages, missing=np.zeros_like(ages.missing)))


def shrinks_boxes(regions: Regions) -> Regions:
    """Every interval ends one value too early."""
    ages = regions.cells[0]
    return with_cells(regions, 0, replace(ages, high=np.maximum(ages.high - 1, ages.low)))


def swaps_boxes(regions: Regions) -> Regions:
    """Two classes say what the other should."""
    cell = regions.cell.copy()
    cell[[0, 1]] = cell[[1, 0]]
    return replace(regions, cell=cell)


def tells_full_precision(regions: Regions) -> Regions:
    """Means as binary floats have them."""
    means = tuple(text and repr(float(text) + 1 / 3) for text in regions.means["height"])
    return replace(regions, means={"height": means})


def tells_small_means(regions: Regions) -> Regions:
    means = tuple(text or "170.0" for text in regions.means["height"])
    return replace(regions, means={"height": means})


def spoils_rows(spoiled: Callable[[Table], Table]) -> Callable[[pytest.MonkeyPatch, str], None]:
    def spoil(patch: pytest.MonkeyPatch, method: str) -> None:
        patch.setattr(drafting, "published_table", lambda *parts: spoiled(published_table(*parts)))

    return spoil


def drops_missing(table: Table) -> Table:
    """Rows with a gap are lost, as `dropna` would."""
    gap = [code for code, text in enumerate(table.column("age").texts) if "missing" in str(text)]
    kept = np.flatnonzero(~np.isin(table.column("age").codes, gap))
    return Table(table.names, tuple(column.take(kept) for column in table.columns))


def adds_index(table: Table) -> Table:
    rows = Table.of({"index": [str(i) for i in range(len(table))]})
    return Table((*table.names, "index"), (*table.columns, *rows.columns))


def keeps_names(table: Table) -> Table:
    """The identifier goes along, under the name of a column that may be published."""
    names = Table.of({"tag": people().columns["name"]})
    return Table(table.names, (*table.columns[:-1], *names.columns))


BROKEN: dict[str, tuple[str, Callable[[pytest.MonkeyPatch, str], None]]] = {
    "identity": ("k-anonymity", groups_by(lambda _: Identity(K))),
    "off_by_one_k": ("k-anonymity", groups_by(lambda method: all_methods()[method](K - 1))),
    "keeps_order": ("order", draws(keeps_order)),
    "reverses_order": ("order", draws(reverses_order)),
    "sa_sorted": ("order", sorts_by_illness),
    "shuffles_private_parts": ("truth", draws(shuffles_private_parts)),
    "drops_nan": ("rows", spoils_rows(drops_missing)),
    "forgets_missing": ("truth", spoils_regions(forgets_missing)),
    "wrong_box": ("truth", spoils_regions(shrinks_boxes)),
    "swapped_boxes": ("truth", spoils_regions(swaps_boxes)),
    "mean_full_precision": ("means", spoils_regions(tells_full_precision)),
    "small_means": ("means", spoils_regions(tells_small_means)),
    "adds_index": ("schema", spoils_rows(adds_index)),
    "keeps_names": ("private", spoils_rows(keeps_names)),
}


# Whole columns make classes of eleven and more here: one too small by one, or for a mean, does not come up.
# Nor does one for a mean where k = 4 and l = 3: a class with equally many of three colours has six or more.
NEVER = {("off_by_one_k", "incognito"), ("small_means", "incognito"), ("small_means", "transparent")}


@pytest.mark.parametrize(
    ("name", "method"),
    [pair for pair in itertools.product(BROKEN, PARTITIONS) if pair not in NEVER],
)
def test_a_broken_engine_is_caught_and_nothing_is_written(
    name: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught_by, spoil = BROKEN[name]
    request = people(quasi=("age", "height")) if method == "single" else people()
    policy = request.policy.with_(method=method, **BESIDE_K[method])
    assert publish(request.table, policy).verdict.passed, "whole, it is accepted"
    spoil(monkeypatch, method)
    for output in (None, tmp_path / "out"):
        with pytest.raises(NotVerified, match=rf"\n  {caught_by}: ") as caught:
            publish(request.table, policy, output)
        assert not any(str(tag) in str(caught.value) for tag in request.columns["name"])
    assert list(tmp_path.iterdir()) == []


def test_a_verifier_that_breaks_down_is_no_verifier_that_agrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("incrowd.verifier.checks.record_of_each_row", broken)
    with pytest.raises(NotVerified) as caught:
        publish_to(people().table, people().policy, tmp_path / "out")
    assert "stopped with an error (RuntimeError)" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_verdict_that_did_not_pass_makes_no_release() -> None:
    release = publish(people().table, people().policy)
    with pytest.raises(NotVerified):
        Release(replace(release.verdict, checks=release.verdict.checks[:-1]), release._draft, {})
