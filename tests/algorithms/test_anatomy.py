"""Anatomy: groups of different values drawn by chance, and releases with sensitive values apart from rows."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2
from support.requested import Request, asked, holds, requests, rows_of
from twins import anatomy as naive_anatomy

import incrowd
from incrowd.algorithms import anatomy as hiding
from incrowd.algorithms.anatomy import Anatomy
from incrowd.assign import Entropy, system
from incrowd.commands.publish import publish
from incrowd.contracts import Eligible
from incrowd.errors import Exposure, Infeasible, InputError, NotVerified, PolicyError
from incrowd.flow import Attribute, Codes, Microdata, Partition, Table
from incrowd.long_work import silent
from incrowd.policy import Policy
from incrowd.publishing import draft as drafting
from incrowd.publishing import render
from incrowd.publishing.pipeline import Release
from incrowd.schema import Kind, Shape

ALPHA = 1e-6
VALUES = st.lists(st.integers(0, 5), min_size=2, max_size=30)


@dataclass(frozen=True)
class Rule:
    """No value in more than 1/l of a group."""

    codes: Codes
    size: int
    l: int  # noqa: E741

    def allows(self, rows: NDArray[np.int32]) -> bool:
        return bool(np.bincount(self.codes[rows]).max() * self.l <= rows.size)

    def reached(self, rows: NDArray[np.int32]) -> int:
        return int(rows.size // np.bincount(self.codes[rows]).max())


def table_of(n: int) -> Microdata:
    attribute = Attribute("a", Kind.CATEGORICAL, Shape.SET, ("x",), np.zeros(1))
    return Microdata(np.zeros((n, 1), np.int32), (attribute,))


def grouped(values: list[int], l: int, k: int, entropy: Entropy = system) -> list[int]:  # noqa: E741
    dense = sorted(set(values))
    rule = Rule(np.array([dense.index(value) for value in values], np.int32), len(dense), l)
    assert isinstance(rule, Eligible)
    labels: list[int] = Anatomy(k).drawn_buckets(table_of(len(values)), (rule,), silent, entropy).tolist()
    return labels


class Tape:
    """A source that says the same again, eight bytes at a time and all different."""

    def __init__(self, seed: int) -> None:
        self.words: Iterator[int] = (
            (x * 0x9E3779B97F4A7C15 + seed * 0xD1B54A32D192ED03) % 2**64 for x in itertools.count(1)
        )

    def __call__(self, size: int) -> bytes:
        return b"".join(next(self.words).to_bytes(8, "little") for _ in range(size // 8))


# ---- the grouper


@settings(max_examples=400)
@given(VALUES, st.integers(2, 5), st.integers(1, 8), st.integers(0, 2**32))
def test_groups_are_those_of_the_twin(values: list[int], l: int, k: int, seed: int) -> None:  # noqa: E741
    expected = naive_anatomy.anatomy(values, l, k, Tape(seed)) if len(values) >= k else None
    if expected is None:
        with pytest.raises(Infeasible):
            grouped(values, l, k, Tape(seed))
    else:
        labels = grouped(values, l, k, Tape(seed))
        found = {frozenset(i for i, g in enumerate(labels) if g == group) for group in set(labels)}
        assert found == set(map(frozenset, expected))


@settings(max_examples=300)
@given(VALUES, st.integers(2, 5), st.integers(1, 8))
def test_a_group_has_k_records_and_no_value_more_than_its_share(values: list[int], l: int, k: int) -> None:  # noqa: E741
    """And wherever no value has more than 1/l of the table, there are such groups."""
    if len(values) < k or max(Counter(values).values()) * l > len(values):
        with pytest.raises(Infeasible):
            grouped(values, l, k)
        labels = []
    else:
        labels = grouped(values, l, k)
    for group in set(labels):
        members = [value for value, g in zip(values, labels, strict=True) if g == group]
        often = max(Counter(members).values())
        assert len(members) >= max(k, l)
        assert often * l <= len(members)
        assert k > l or (often == 1 and len(members) < 2 * l)


@pytest.mark.parametrize("guards", [(), "two", "other"], ids=["none", "two", "another"])
def test_it_needs_l_and_nothing_else(guards: Any) -> None:
    rule = Rule(np.array([0, 1], np.int32), 2, 2)

    class Other:
        def allows(self, rows: object) -> bool:
            return True

    given_: dict[Any, Any] = {(): (), "two": (rule, rule), "other": (rule, Other())}
    with pytest.raises(PolicyError, match="give l alone"):
        Anatomy(2).group(table_of(2), given_[guards], silent)


def test_many_records_are_no_trouble(rng: np.random.Generator) -> None:
    values = np.minimum(rng.integers(0, 40, 60_000), rng.integers(0, 40, 60_000)).astype(np.int32)
    rule = Rule(values, 40, 9)
    partition = Partition(Anatomy(9).drawn_buckets(table_of(values.size), (rule,), silent))
    pairs = np.unique(partition.labels.astype(np.int64) * 40 + values)
    assert pairs.size == values.size  # nobody shares a value with anybody of the group
    assert (partition.sizes.min(), len(partition)) == (9, values.size // 9)


# ---- chance


def surprise(counts: list[int]) -> float:
    """How likely so uneven counts are if all are equally likely."""
    mean = sum(counts) / len(counts)
    return float(chi2.sf(sum((count - mean) ** 2 / mean for count in counts), len(counts) - 1))


def partners(draws: int) -> list[int]:
    """How often the one record of the rarest value is with each of the others."""
    values = [0] * 6 + [1] * 5 + [2]  # l = 2: the 2 is with a 0 or left over and joins any group
    seen: Counter[int] = Counter()
    for _ in range(draws):
        labels = grouped(values, 2, 2)
        seen.update(i for i in range(6) if labels[i] == labels[11])
    return [seen[i] for i in range(6)]


def test_which_record_of_a_value_is_taken_is_even(monkeypatch: pytest.MonkeyPatch) -> None:
    assert surprise(partners(3000)) > ALPHA
    monkeypatch.setattr(hiding, "shuffled", lambda n, _: np.arange(n))
    assert surprise(partners(3000)) < ALPHA


def left_over(draws: int) -> list[int]:
    """Which of the groups the left-over record joins, told by the record of value 0 in it."""
    values = [0] * 4 + [1] * 4 + [2]
    seen: Counter[int] = Counter()
    for _ in range(draws):
        labels = grouped(values, 2, 2)
        seen.update(i for i in range(4) if labels[i] == labels[8])
    return [seen[i] for i in range(4)]


def test_which_group_takes_what_is_left_is_even(monkeypatch: pytest.MonkeyPatch) -> None:
    assert surprise(left_over(2000)) > ALPHA
    monkeypatch.setattr(hiding, "shuffled", lambda n, _: np.arange(n))
    monkeypatch.setattr(hiding, "draw_below", lambda _limit, _entropy: 0)
    assert surprise(left_over(2000)) < ALPHA


def together(draws: int) -> list[int]:
    """Which groups are merged: with whom record 0 shares a group of four, of the other three pairs."""
    seen: Counter[int] = Counter()
    for _ in range(draws):
        labels = grouped([0, 0, 0, 0, 1, 1, 1, 1], 2, 4)
        seen.update(i for i in range(1, 4) if labels[i] == labels[0])
    return [seen[i] for i in range(1, 4)]


def test_which_groups_are_merged_is_even(monkeypatch: pytest.MonkeyPatch) -> None:
    assert surprise(together(2000)) > ALPHA
    monkeypatch.setattr(hiding, "shuffled", lambda n, _: np.arange(n))
    assert surprise(together(2000)) < ALPHA


# ---- releases


def request_of(request: Request, l: int = 2) -> Request:  # noqa: E741
    """The same people without anything that does not go with anatomy."""
    quasi = tuple(name for name in request.quasi if name != "height") or ("age",)
    columns = {n: texts for n, texts in request.columns.items() if n not in ("who", "height", "tag")}
    if quasi == ("age",):
        columns.setdefault("age", ["20"] * len(request))
    parts = asked(quasi, {"k": request.policy.k, "l": l}).to_dict()
    parts |= {"keep": [], "method": "anatomy", "accept": ["exact-rows", "correlated-values"]}
    return Request(columns, Policy.from_dict(parts, request.policy.folder), quasi)


def made(request: Request) -> Release:
    """The release; refused only where no groups keep l = 2, and such an example counts as discarded."""
    ill = [text or "" for text in request.columns["ill"]]
    try:
        return publish(request.table, request.policy)
    except Infeasible:
        assert max(Counter(ill).values()) * 2 > len(ill) or len(ill) < request.policy.k
        reject()


@settings(max_examples=150)
@given(requests(models=["k"]))
def test_a_release_says_what_is_true_and_hides_values_in_groups(request_: Request) -> None:
    request = request_of(request_)
    release = made(request)
    rows, lines = list(rows_of(release.table)), list(rows_of(release.sensitive))
    published = [name for name in request.columns if name in request.quasi]
    assert list(release.table.names) == [*published, "group"]
    assert release.sensitive.names == ("group", "ill", "count")
    behind = release._draft.assignment.private.tolist()
    assert sorted(behind) == list(range(len(rows)))
    for record, row in zip(behind, rows, strict=True):
        for name in request.quasi:
            told = [text for text in set(request.columns[name]) if holds(name, row[name], text)]
            assert request.columns[name][record] in told
            assert len({float(t) if name == "age" and t else t for t in told}) == 1, "a cell is one value"
    truth = Counter(
        (row["group"], request.columns["ill"][record] or "") for record, row in zip(behind, rows, strict=True)
    )
    assert truth == {(line["group"], line["ill"] or ""): int(line["count"] or 0) for line in lines}
    assert [(int(x["group"] or 0), x["ill"] or "") for x in lines] == sorted(
        (int(x["group"] or 0), x["ill"] or "") for x in lines
    )
    sizes = Counter(row["group"] for row in rows)
    assert set(sizes) == {str(i + 1) for i in range(len(sizes))}
    assert min(sizes.values()) >= max(request.policy.k, 2)
    assert all(count * 2 <= sizes[group] for (group, _), count in truth.items())
    words = {text for column in (*release.table.columns, *release.sensitive.columns) for text in column.texts}
    assert not words & set(request.columns["name"])


def clinic(n: int = 120) -> Table:
    ills = ["flu", "ulcer", "cold", "=x", "-", ""]
    return Table.of(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": [str(20 + i * 7 % 25) for i in range(n)],
            "sex": ["F" if i % 3 else "M" for i in range(n)],
            "ill": [ills[i * i % 6] for i in range(n)],
        }
    )


def policy(**parts: Any) -> Policy:
    given_: Mapping[str, Any] = {
        "identifiers": ["name"],
        "quasi_identifiers": ["age", "sex"],
        "sensitive": ["ill"],
        "privacy": {"k": 2, "l": 2},
        "method": "anatomy",
        "accept": ["exact-rows", "correlated-values"],
    }
    return Policy.from_dict({**given_, **parts})


def test_what_is_promised() -> None:
    release = publish(clinic(), policy())
    assert [(claim["model"], claim["parameters"]) for claim in release.manifest["claims"]] == [
        ("sensitive-groups", {"k": 2}),
        ("frequency-l-diversity", {"l": 2}),
    ]
    assert release.manifest["accepted"] == ["correlated-values", "exact-rows"]
    assert release.manifest["apart"] == {"groups": release.verdict.facts["groups"]}
    assert release.loss()["gcp"] == 0
    said = publish(clinic(), policy(privacy={"k": 2, "l": 2, "l_kind": "frequency"}))
    assert said.manifest["claims"] == release.manifest["claims"]


def test_other_methods_have_no_second_table() -> None:
    release = publish(clinic(), policy(), method="mondrian")
    assert release.sensitive is None
    assert "apart" not in release.manifest


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"privacy": {"k": 2}}, "protects sensitive values only.*give l"),
        ({"privacy": {"k": 2, "l": 2, "l_kind": "entropy"}}, 'l_kind = "frequency"'),
        ({"privacy": {"k": 2, "l": 2, "t": "0.5"}}, "does not support t"),
        ({"sensitive": [], "drop": ["ill"]}, "exactly one sensitive column, and there are 0"),
        ({"sensitive": ["ill", "sex"], "quasi_identifiers": ["age"]}, "exactly one .* there are 2"),
        ({"keep": ["sex"], "quasi_identifiers": ["age"]}, "sex: anatomy keeps exact rows"),
        ({"entity": "name", "identifiers": []}, "entity: anatomy counts rows"),
        ({"quasi_identifiers": {"age": {"mean": True}, "sex": {}}}, "age: anatomy publishes exact values"),
        ({"options": {"l": 2}}, "not an option of anatomy"),
    ],
)
def test_what_does_not_go_with_it_is_refused(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        publish(clinic(), policy(**parts))


def test_exact_rows_must_be_accepted_by_name() -> None:
    with pytest.raises(Exposure, match=r"finds their row(.|\n)*accept=\['exact-rows'\]"):
        publish(clinic(), policy(accept=[]))


@pytest.mark.parametrize(("old", "new"), [("sex", "group"), ("ill", "Group"), ("ill", "count")])
def test_names_that_would_clash_are_refused(old: str, new: str) -> None:
    table = clinic()
    renamed = Table(tuple(new if name == old else name for name in table.names), table.columns)
    quasi = [new if name == old else name for name in ("age", "sex")]
    with pytest.raises(PolicyError, match=f"{new}: .*rename the column"):
        publish(renamed, policy(quasi_identifiers=quasi, sensitive=[new if old == "ill" else "ill"]))


def test_other_columns_may_be_called_count() -> None:
    table = clinic()
    renamed = Table(("group", "age", "count", "ill"), table.columns)
    release = publish(renamed, policy(identifiers=["group"], quasi_identifiers=["age", "count"]))
    assert release.table.names == ("age", "count", "group")


def test_a_value_that_is_too_frequent_is_named_by_numbers_only() -> None:
    with pytest.raises(Infeasible, match="by frequency, l=40"):
        publish(clinic(), policy(privacy={"k": 2, "l": 40}))


# ---- chance in releases


def test_every_draw_is_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[int] = []

    def counted(size: int, real: Entropy = os.urandom) -> bytes:
        asked_for.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", counted)
    one, other = (publish(clinic(), policy()) for _ in range(2))
    groups = one.verdict.facts["groups"]
    assert asked_for.count(8 * 120) >= 4  # records to groups, rows to places
    assert asked_for.count(8 * groups) >= 2  # numbers of groups
    assert one.table.column("age").rows() != other.table.column("age").rows()
    assert one.table.column("group").rows() != other.table.column("group").rows()


def test_what_is_no_chance_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    falling = np.arange(120, 0, -1, dtype=np.uint64).tobytes()
    monkeypatch.setattr(os, "urandom", lambda size: (falling * (size // 960 + 1))[:size])
    with pytest.raises(NotVerified, match="order"):
        publish(clinic(), policy())


# ---- broken engines


def with_labels(labels: NDArray[np.int32]) -> Any:
    return lambda *_: Partition(np.arange(labels.size, dtype=np.int32), buckets=labels)


def one_short(real: Any) -> Any:
    """A table of values in which one count is one too small, and another too large."""

    def broken(*parts: Any) -> Any:
        buckets = real(*parts)
        group, ill, count = buckets.table.columns
        swapped = ill.codes.copy()
        other = int(np.flatnonzero(swapped != swapped[0])[-1])
        swapped[[0, other]] = swapped[[other, 0]]
        table = Table(buckets.table.names, (group, type(ill)(swapped, ill.texts), count))
        return type(buckets)(buckets.of_row, table, buckets.first)

    return broken


def test_a_broken_engine_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:

    n = 120
    in_pairs = (np.arange(n) // 2).astype(np.int32)
    alike = np.unique(clinic().column("ill").codes, return_inverse=True)[1].astype(np.int32)
    broken: list[tuple[str, Any, str, Any]] = [
        ("frequency-l-diversity", Anatomy, "group", with_labels(alike)),
        ("sensitive-groups", Anatomy, "group", with_labels(np.arange(n, dtype=np.int32))),
        ("order", render, "shuffled", lambda size, _: np.arange(size)),
        ("sensitive", drafting, "bucketed_values", one_short(render.bucketed_values)),
    ]
    for caught_by, owner, name, other in broken:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, other)
            if caught_by == "order":
                patch.setattr(Anatomy, "group", with_labels(in_pairs))
            with pytest.raises(NotVerified, match=rf"\n  {caught_by}"):
                publish(clinic(), policy(accept=["all"]))
    assert publish(clinic(), policy()).verdict.passed


def test_it_is_part_of_the_package() -> None:
    assert isinstance(incrowd.publish(clinic(), policy()), Release)
