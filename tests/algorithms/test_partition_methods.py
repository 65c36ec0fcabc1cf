"""What every method that makes classes must keep, on tables with columns of every kind.

Classes are counted here anew, in plain Python and from the published texts alone.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.bounded_releases import not_below_the_bound
from support.method_names import ACCEPTED, BESIDE_K, JOINS, PARTITIONS, PLAIN
from support.requested import Request, asked, classes_of, holds, requests, rows_of
from support.verifier_cases import Case, verified
from twins import definitions as naive
from twins import transparent as naive_transparent

from incrowd.algorithms.base import all_methods
from incrowd.commands.publish import publish
from incrowd.errors import Infeasible, PolicyError
from incrowd.flow import Partition, Table
from incrowd.generalize import generalize
from incrowd.policy import Policy
from incrowd.publishing.draft import Draft
from incrowd.publishing.pipeline import Release
from incrowd.publishing.render import published_table

# Methods that cut through equal values break ties by the order of records.
STRICT = [name for name in PARTITIONS if all_methods()[name].strict]


def made(request: Request, method: str, **options: Any) -> Release | None:
    """The release, or None where no release can keep the promise: the whole table as one class does not."""
    try:
        return publish(request.table, request.policy, method=method, options=options or None)
    except Infeasible:
        assert not keeps(request, list(range(len(request))))
        return None


def suited(request: Request, method: str) -> Request:
    """What a method that is for l can be asked for: l by frequency, one row each. Others take anything."""
    if not all_methods()[method].needs_l:
        return request
    privacy = {"k": request.policy.k, "l": 2, "l_kind": "frequency"}
    columns = {name: texts for name, texts in request.columns.items() if name != "who"}
    return Request(columns, asked(request.quasi, privacy), request.quasi)


def keeps(request: Request, members: Sequence[int]) -> bool:
    """Does a class keep everything that was asked for?"""
    privacy = request.policy.privacy
    table = [ord((text or " ")[0]) for text in request.columns["ill"]]
    persons = [hash(person) for person in request.persons]
    if not naive.keeps_even_k([persons[i] for i in members], request.policy.k):
        return False
    everybody = naive.as_votes(table, persons, range(len(table)))
    ways = ([table[i] for i in members], table), (naive.as_votes(table, persons, members), everybody)
    return all(keeps_values(privacy, *way) for way in ways)


def keeps_values(privacy: Any, values: list[int], table: list[int]) -> bool:
    if privacy.t is not None and naive.equal_distance(values, table) > Fraction(str(privacy.t)):
        return False
    if privacy.l is None:
        return True
    if privacy.l_kind == "frequency":
        return naive_transparent.keeps_frequency(values, int(privacy.l))
    if privacy.l_kind == "entropy":
        return naive.keeps_entropy(values, privacy.l)
    if privacy.l_kind == "recursive":
        return naive.keeps_recursive(values, privacy.c or 0, int(privacy.l))
    return naive.keeps_distinct(values, int(privacy.l))


def everyone_is_there_once(request: Request, table: Table) -> None:
    tags = table.column("tag").rows()
    assert sorted(map(str, tags)) == sorted(map(str, request.columns["tag"]))


def columns_are_those_of_the_schema(request: Request, table: Table) -> None:
    shown = [name for name in request.columns if name not in ("name", "who")]
    means = {"height": ["height", "height_mean"]}
    assert list(table.names) == [each for name in shown for each in means.get(name, [name])]


def every_row_holds_its_own_record(request: Request, table: Table) -> None:
    for row in rows_of(table):
        record = request.columns["tag"].index(row["tag"])
        assert all(holds(name, row[name], request.columns[name][record]) for name in request.quasi)


def private_parts_are_kept(request: Request, table: Table) -> None:
    had = Counter(zip(request.columns["ill"], request.columns["tag"], strict=True))
    assert had == Counter(zip(table.column("ill").rows(), table.column("tag").rows(), strict=True))


def every_class_keeps_the_promise(request: Request, table: Table) -> None:
    assert all(keeps(request, members) for members in classes_of(request, table))


def missing_never_vanishes(request: Request, table: Table) -> None:
    """Each missing value is in a cell that says so; no cell is empty instead."""
    for row in rows_of(table):
        record = request.columns["tag"].index(row["tag"])
        for name in request.quasi:
            assert row[name]
            if not request.columns[name][record]:
                assert row[name] == "*" or "missing" in str(row[name])


def no_name_is_told(request: Request, table: Table) -> None:
    told = {text for column in table.columns for text in column.texts}
    assert not told & {*request.columns["name"], *request.columns.get("who", [])}


CHECKS: list[Callable[[Request, Table], None]] = [
    everyone_is_there_once,
    columns_are_those_of_the_schema,
    every_row_holds_its_own_record,
    private_parts_are_kept,
    every_class_keeps_the_promise,
    missing_never_vanishes,
    no_name_is_told,
]


@pytest.mark.parametrize("method", PARTITIONS)
@settings(max_examples=150)
@given(request_=requests())
def test_a_release_keeps_what_it_promises(method: str, request_: Request) -> None:
    request_ = suited(request_, method)
    before = copy.deepcopy(dict(request_.columns))
    release = made(request_, method)
    assert request_.columns == before
    if release is not None:  # else `made` has found that it cannot be
        assert release.verdict.passed
        for check in CHECKS:
            check(request_, release.table)
        not_below_the_bound(release)


POLISHABLE = [name for name in PARTITIONS if "polish" in all_methods()[name].options()]


@settings(max_examples=150)
@given(method=st.sampled_from(POLISHABLE), request_=requests())
def test_a_polished_release_keeps_what_it_promises(method: str, request_: Request) -> None:
    release = made(request_, method, polish=True)
    if release is not None:  # else `made` has found that it cannot be
        assert release.manifest["method"]["options"] == {"polish": True}
        assert release.verdict.passed
        for check in CHECKS:
            check(request_, release.table)
        not_below_the_bound(release)


@pytest.mark.parametrize("method", STRICT)
@settings(max_examples=60)
@given(request_=requests(), rng=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(method: str, request_: Request, rng: Any) -> None:
    order = list(range(len(request_)))
    rng.shuffle(order)
    one, other = made(request_, method), made(request_.taken(order), method)
    if one is None or other is None:
        assert one is other
    else:
        assert sorted(map(by_tag, rows_of(one.table))) == sorted(map(by_tag, rows_of(other.table)))


def by_tag(row: dict[str, str | None]) -> list[str]:
    return [str(row["tag"]), *map(str, row.values())]


@pytest.mark.parametrize("method", STRICT)
@settings(max_examples=60)
@given(request_=requests(models=["k"], entities=False))
def test_equal_records_have_equal_rows(method: str, request_: Request) -> None:
    release = made(request_, method)
    assert release is not None
    rows = {row["tag"]: tuple(row[name] for name in request_.quasi) for row in rows_of(release.table)}
    seen: dict[tuple[str | None, ...], tuple[str | None, ...]] = {}
    for i, tag in enumerate(request_.columns["tag"]):
        record = tuple(request_.columns[name][i] for name in request_.quasi)
        assert seen.setdefault(record, rows[tag]) == rows[tag]


def merged(draft: Draft, a: int, b: int) -> Case:
    """The case of a release in which two classes have become one."""
    labels = np.where(draft.regions.of == a, b, draft.regions.of)
    dense = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    means = tuple(column.name for column in draft.schema.published if column.mean)
    regions = generalize(draft.data, Partition(dense), means)
    table = published_table(draft.original, draft.schema, draft.data, regions, draft.assignment)
    return Case(draft.original, table, draft.schema, draft.claims)


@pytest.mark.parametrize("method", PARTITIONS)
@settings(max_examples=60)
@given(
    request_=requests(rows=(16, 24), widest=2, copies=(8, 8, 4)),
    pair=st.tuples(st.integers(0, 999), st.integers(0, 999)),
)
def test_merging_two_classes_keeps_every_promise(
    method: str, request_: Request, pair: tuple[int, int]
) -> None:
    """Which two is drawn before there are any: methods that draw by chance make other classes each time."""
    release = made(suited(request_, method), method)
    if release is None or len(release._draft.regions) < 2:
        reject()
    first = pair[0] % len(release._draft.regions)
    second = pair[1] % (len(release._draft.regions) - 1)
    case = merged(release._draft, first, second + (second >= first))
    verdict = verified(case)
    assert verdict.passed, verdict.failures


@pytest.mark.parametrize("method", PARTITIONS)
@settings(max_examples=40)
@given(request_=requests(models=["k"], means=False))
def test_rows_without_anything_private_are_judged_too(method: str, request_: Request) -> None:
    """Without the tag the judge must find out which row is about whom.

    Means are left out: where regions overlap, several ways to match rows and records are true, and only
    one of them has the published means.
    """
    request_ = suited(request_, method)
    columns = {name: texts for name, texts in request_.columns.items() if name not in ("tag", "who")}
    parts = request_.policy.to_dict() | {"keep": [], "entity": None}
    policy = Policy.from_dict(parts, request_.policy.folder)
    try:
        release = publish(Table.of(columns), policy, method=method)
    except Infeasible:
        one = range(len(request_))
        assert not keeps(request_, one) if all_methods()[method].needs_l else len(request_) < policy.k
        reject()
    draft = release._draft
    unaided = Case(draft.original, draft.table, draft.schema, draft.claims)
    assert verified(unaided).passed
    cells = Counter(tuple(row[name] for name in request_.quasi) for row in rows_of(release.table))
    assert min(cells.values()) >= policy.k


@pytest.mark.parametrize("method", [name for name in all_methods() if name not in (*JOINS, *PLAIN)])
def test_a_method_is_refused_with_k_alone_if_it_says_that_it_needs_l(method: str) -> None:
    """So whoever asks every method for what it says it needs leaves none out."""
    columns = {"age": ["1", "2", "3", "4", "5", "6"], "ill": [*"abcabc"]}
    policy = Policy(quasi_identifiers=["age"], sensitive=["ill"], privacy={"k": 3}, method=method)
    policy = policy.with_(accept=ACCEPTED[method])
    assert publish(Table.of(columns), policy.with_(**BESIDE_K[method])).verdict.passed
    if all_methods()[method].needs_l:
        with pytest.raises(PolicyError, match="give l"):
            publish(Table.of(columns), policy)


@pytest.mark.parametrize("method", all_methods())
def test_the_catalogue_says_everything_about_a_method(method: str) -> None:
    said = all_methods()[method].to_dict()
    for word in ("paper", "section", "guarantee", "adversary", "needs", "not_claimed", "publishes"):
        assert said[word], word
    assert said["name"] == method
    assert set(said["options"]) == set(all_methods()[method].options())
