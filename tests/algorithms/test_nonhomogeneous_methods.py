"""What every method that gives each record a row of its own must keep, on tables with columns of every kind.

Who fits which row is found here anew, in plain Python and from the published texts alone.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from algorithms.test_partition_methods import CHECKS, every_class_keeps_the_promise
from hypothesis import given, reject, settings
from support.bounded_releases import not_below_the_bound
from support.method_names import ACCEPTED, CROWDS, ONE_SIDED, SAFE
from support.night import NIGHT, combined
from support.requested import Request, asked, holds, people, requests, rows_of
from support.written_forms import FORMS
from twins import definitions as naive
from twins import factor as naive_factor

from incrowd import assign
from incrowd.algorithms.base import all_methods
from incrowd.algorithms.nonhomogeneous.kfactor import KFactorNeighbourhoods
from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.contracts import catalogue
from incrowd.errors import Exposure, Infeasible, InputError, NotVerified
from incrowd.flow import Assignment, Neighbourhoods, Table
from incrowd.generalize import generalize
from incrowd.graph import components, consistency, lambda_star
from incrowd.measures import published
from incrowd.policy import Policy
from incrowd.publishing import draft as drafting
from incrowd.publishing import rows as rows_made
from incrowd.publishing.pipeline import Release, publish_to
from incrowd.publishing.rows import MatchProbability, RandomizedAssignment
from incrowd.release.data_files import read_rows
from incrowd.verifier.claims import kd_tree

QUASI = ("age", "sex", "place")


def without_classes(request: Request) -> Request:
    """The same table, asked for k alone: no person has several rows, and no mean is published."""
    quasi = tuple(name for name in request.quasi if name != "height") or ("age",)
    columns = {name: texts for name, texts in request.columns.items() if name not in ("who", "height")}
    columns.setdefault("age", ["20"] * len(request)) if quasi == ("age",) else None
    return Request(columns, asked(quasi, {"k": request.policy.k}), quasi)


def made(request: Request, method: str, **options: Any) -> Release:
    """The release; refused only where there are fewer than k people, which counts as discarded."""
    accept = [*request.policy.accept, *ACCEPTED[method]]
    try:
        return publish(request.table, request.policy.with_(accept=accept, options=options, method=method))
    except Infeasible:
        assert len(request) < request.policy.k
        reject()


def adjacency(request: Request, table: Table) -> list[list[int]]:
    """The rows that each record fits."""
    rows = list(rows_of(table))
    fits = []
    for record in range(len(request)):
        values = {name: request.columns[name][record] for name in request.quasi}
        fits.append([r for r, row in enumerate(rows) if all(holds(n, row[n], v) for n, v in values.items())])
    return fits


@pytest.mark.parametrize(
    ("fits", "k", "holds"),
    [
        ([[0, 1], [0, 1, 2], [1, 2]], 2, True),
        ([[0, 1], [0, 1, 2], [1, 2]], 3, False),
        ([[0, 1], [0, 1], [0, 2]], 2, False),
    ],
)
def test_the_search_for_a_factor(fits: list[list[int]], k: int, holds: bool) -> None:
    assert naive_factor.has_factor(fits, k) is naive.has_factor(fits, k) is holds


@pytest.mark.parametrize("method", CROWDS)
@settings(max_examples=60)
@given(request_=requests(models=["k"], rows=(4, 16)))
def test_a_release_keeps_what_it_promises(method: str, request_: Request) -> None:
    request = without_classes(request_)
    release = made(request, method)
    for check in CHECKS:
        if check is not every_class_keeps_the_promise:
            check(request, release.table)
    not_below_the_bound(release)
    fits, k = adjacency(request, release.table), request.policy.k
    fitted = Counter(row for rows in fits for row in rows)
    if method != "k1-nearest" and method != "k1-expansion":
        assert min(map(len, fits)) >= k
    if method != "one-k":
        assert min(fitted.values()) >= k
    if method in SAFE:
        assert naive_factor.has_factor(fits, k)


@pytest.mark.parametrize("method", SAFE)
@pytest.mark.parametrize("start", ["expansion", "nearest"])
@pytest.mark.parametrize("measure", ["lm", "entropy"])
def test_a_default_release_is_drawn_with_even_odds(method: str, start: str, measure: str) -> None:
    request = people(quasi=QUASI)
    wanted = {"start": start, "measure": measure}
    known = {name: word for name, word in wanted.items() if name in all_methods()[method].options()}
    release = made(request, method, **known)
    assert release is not None
    assert release.verdict.passed
    assert release.manifest["match_probability"] == {"drawn": "1/4"}
    assert [claim["model"] for claim in release.manifest["claims"]] == ["k-factor"]
    assert release.manifest["method"]["form"] == "hardened"


@pytest.mark.parametrize("method", SAFE)
def test_neighbourhoods_that_are_regular_need_no_consistency_graph(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are a k-factor by themselves, for whoever publishes and for the verifier, which is shown them."""

    def no_graph(*_: object) -> None:
        raise AssertionError("a consistency graph was built")

    monkeypatch.setattr(rows_made, "consistency", no_graph)
    monkeypatch.setattr(kd_tree.RegionSearch, "runs", no_graph)
    request = people(90, QUASI)
    written = publish_to(request.table, request.policy.with_(method=method), tmp_path / "out")
    assert [claim["model"] for claim in written.manifest["claims"]] == ["k-factor"]


def test_every_record_of_a_crowd_is_behind_its_row_equally_often() -> None:
    """The draw over thousands of releases of one table: each of a row's k candidates about as often."""
    table = Table.of({"age": [str(age) for age in (20, 22, 25, 31, 38, 44)], "tag": list("abcdef")})
    policy = Policy(quasi_identifiers=["age"], sensitive=["tag"], privacy={"k": 3})
    seen: Counter[tuple[str, str]] = Counter()
    draws = 400 if NIGHT else 150
    for _ in range(draws):
        shown = publish(table, policy, method="kfactor").table
        seen.update(zip(shown.column("age").rows(), shown.column("tag").rows(), strict=True))
    rows = Counter(row for row, _ in seen.elements())
    for (row, _), count in seen.items():
        copies = rows[row] / draws
        spread = (draws * copies * 2 / 9) ** 0.5
        assert abs(count - draws * copies / 3) < 6 * spread


@pytest.mark.parametrize("method", ONE_SIDED)
def test_one_side_alone_is_refused_by_a_name_that_says_unsafe(method: str) -> None:
    request = people(60, QUASI)
    with pytest.raises(Exposure, match=r"accept=\['unsafe-one-sided'\]"):
        publish(request.table, request.policy.with_(method=method))


@pytest.mark.parametrize("method", SAFE)
def test_the_printed_assignment_is_refused_by_a_name_that_says_unsafe(method: str) -> None:
    request = people(60, QUASI)
    with pytest.raises(Exposure, match=r"accept=\['unsafe-identity'\]"):
        publish(request.table, request.policy.with_(method=method, options={"drawn": False}))


@pytest.mark.parametrize("method", ["kk", "global-1k"])
def test_printed_rows_are_refused_where_no_draw_reaches_k(method: str) -> None:
    request = people(quasi=QUASI)
    printed = request.policy.with_(method=method, options={"mend": False})
    with pytest.raises(Exposure, match=r"accept=\['unsafe-matches'\]"):
        publish(request.table, printed)
    release = publish(request.table, printed, accept=["near-unique-keep", "unsafe-matches"])
    one_in = int(release.manifest["match_probability"]["drawn"].removeprefix("1/"))
    assert one_in < 4
    alone = catalogue("algorithm")[method].model_kept
    assert [claim["model"] for claim in release.manifest["claims"]] == [alone]


def test_printed_rows_are_published_where_a_draw_reaches_k() -> None:
    """Two crowds of equals: nothing needs to be mended, and the draw is from the rows' own factor."""
    table = Table.of({"a": ["1"] * 3 + ["2"] * 3, "tag": list("abcdef")})
    policy = Policy(quasi_identifiers=["a"], sensitive=["tag"], privacy={"k": 3})
    release = publish(table, policy, method="kk", options={"mend": False})
    assert release.manifest["match_probability"] == {"drawn": "1/3"}
    assert release.manifest["claims"][0]["model"] == "k-factor"


@pytest.mark.parametrize("method", SAFE)
def test_accepting_everything_does_not_lower_what_is_kept_anyway(method: str) -> None:
    request = people(60, QUASI)
    release = publish(request.table, request.policy, method=method, accept=["all"])
    assert [claim["model"] for claim in release.manifest["claims"]] == ["k-factor"]


def test_the_printed_form_is_marked() -> None:
    request = people(60, QUASI)
    asked_for = {"mend": False, "drawn": False}
    release = publish(request.table, request.policy, method="kk", options=asked_for, accept=["all"])
    assert release.manifest["method"]["form"] == "printed"
    assert set(release.manifest["match_probability"]) == {"drawn", "least"}
    assert release.manifest["match_probability"]["drawn"] == "1"
    assignment = release._draft.assignment
    assert (assignment.region == assignment.private).all()


OF_CLASSES: dict[str, dict[str, Any]] = {
    "l is about classes": {"privacy": {"k": 3, "l": 2}},
    "t is about classes": {"privacy": {"k": 3, "t": "0.5"}},
    "k counts rows": {"entity": "who"},
}
# What these do with l, and ring with t, is in tests/algorithms/nonhomogeneous/.
KEEP_L = [name for name in CROWDS if all_methods()[name].transparent]


@pytest.mark.parametrize(
    ("method", "word"),
    [
        (name, word)
        for name in CROWDS
        for word in OF_CLASSES
        if not (name in KEEP_L and word.startswith("l ")) and (name, word[:2]) != ("ring", "t ")
    ],
)
def test_what_speaks_of_classes_is_refused(method: str, word: str) -> None:
    changed = OF_CLASSES[word]
    request = people(30, ("age",))
    columns: dict[str, Any] = {**request.columns, "who": [f"w{i // 2}" for i in range(30)]}
    parts = request.policy.to_dict() | {"drop": [] if "entity" in changed else ["who"]} | changed
    policy = Policy.from_dict(parts, request.policy.folder).with_(accept=["all"])
    with pytest.raises(InputError, match=word):
        publish(Table.of(columns), policy, method=method)


@pytest.mark.parametrize("method", CROWDS)
def test_means_are_refused(method: str) -> None:
    request = people(30, ("height",))
    with pytest.raises(InputError, match="height: a mean is that of a class"):
        publish(request.table, request.policy, method=method, accept=["all"])


@pytest.mark.parametrize(("method", "form"), combined(CROWDS, FORMS))
def test_what_is_written_is_judged_again(form: str, method: str, tmp_path: Path) -> None:
    request = people(90, QUASI)
    accept = [*request.policy.accept, *ACCEPTED[method]]
    policy = request.policy.with_(method=method, accept=accept)
    original = tmp_path / "people.csv"
    names = list(request.columns)
    lines = [
        ",".join(names),
        *(",".join(map(str, row)) for row in zip(*request.columns.values(), strict=True)),
    ]
    original.write_text("\n".join(lines) + "\n", encoding="utf-8")
    written = publish_to(original, policy, tmp_path / "out", FORMS[form])
    assert written.loss()["gcp"] > 0
    assert verify(tmp_path / "out", original, policy).passed
    assert verify(tmp_path / "out", original, None).passed
    rows = read_rows(tmp_path / "out", lambda: policy.schema(request.table))
    assert sorted(map(str, rows.column("tag").rows())) == sorted(map(str, request.columns["tag"]))
    said = json.loads((tmp_path / "out" / "release.json").read_text())
    factor = said["claims"][0]["model"] == "k-factor"
    assert set(said["match_probability"]) == ({"drawn"} if factor else {"drawn", "least"})


# What an adversary who knows everybody makes of it


@pytest.mark.parametrize("method", ["kk", "global-1k"])
def test_the_matching_attack_finds_the_weak_in_printed_rows_and_nobody_in_default_ones(method: str) -> None:
    request = people(400, QUASI)
    k = request.policy.k
    weak = {}
    for name, options in (("printed", {"mend": False, "drawn": False}), ("default", {})):
        release = publish(request.table, request.policy, method=method, options=options, accept=["all"])
        draft = release._draft
        graph = consistency(published(draft.table, draft.data), draft.data)
        records, rows = components(graph).exposed(k)
        weak[name] = len(records), len(rows), lambda_star(graph)
    assert weak["default"] == (0, 0, Fraction(1, k))
    assert weak["printed"][2] > Fraction(1, k)
    if method == "kk":
        assert weak["printed"][0] > 0  # Algorithm 6 leaves none of these, but rows and odds as they are


# Broken engines


@dataclass(frozen=True)
class OwnRows(KFactorNeighbourhoods):
    """Rows say exactly what records say, and claim to be over neighbourhoods of k."""

    def group(self, data: Any, *_: object) -> Neighbourhoods:
        return Neighbourhoods(np.arange(len(data) + 1), np.arange(len(data), dtype=np.int32))


def swaps_regions(regions: Any) -> Any:
    cell = regions.cell.copy()
    cell[[0, 1]] = cell[[1, 0]]
    return type(regions)(regions.of, cell, regions.cells, regions.means)


def at_random(neighbourhoods: Neighbourhoods, *_: object) -> Assignment:
    """Anyone behind any row."""
    return Assignment(assign.shuffled(len(neighbourhoods)), assign.shuffled(len(neighbourhoods)))


def as_it_came(neighbourhoods: Neighbourhoods, *_: object) -> Assignment:
    return Assignment(np.arange(len(neighbourhoods)), np.arange(len(neighbourhoods)))


@pytest.mark.parametrize("method", SAFE)
def test_a_broken_engine_is_caught(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = people(quasi=QUASI)
    policy = request.policy.with_(method=method)
    assert publish(request.table, policy).verdict.passed
    off_by_one = catalogue("algorithm")[method](k=3)
    broken: dict[str, list[tuple[Any, str, Any]]] = {
        "k-factor": [
            (all_methods()[method], "configured", lambda *_: off_by_one),
            (all_methods()[method], "configured", lambda *_: OwnRows(4)),
        ],
        "truth": [
            (assign, "by_neighbourhoods", at_random),
            (drafting, "generalize", lambda *parts: swaps_regions(generalize(*parts))),
        ],
        "order": [(assign, "by_neighbourhoods", as_it_came)],
    }
    monkeypatch.setattr(rows_made, "_from_factor", lambda found, least, *_: first_of(found))
    for caught_by, ways in broken.items():
        for owner, name, other in ways:
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, other)
                with pytest.raises(NotVerified, match=rf"\n  ({caught_by}: |.* is not a generalisation)"):
                    publish_to(request.table, policy, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def first_of(found: Any) -> RandomizedAssignment:
    """An engine that does not look whether a draw reaches k."""
    return RandomizedAssignment(assign.whole_classes(len(found)), MatchProbability(Fraction(1), Fraction(1)))
