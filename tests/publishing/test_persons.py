"""Persons with several rows: nobody has more than one in k rows of a class, and true releases stay true.

Classes are counted here anew, from the links of the audit.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.method_names import COUNT_PERSONS
from support.requested import COLUMNS, Request, Texts, asked, folder, rows_of
from support.verifier_cases import Case, verified

from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Infeasible
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Claim, Column, Kind, Role, Schema
from incrowd.tables import write_csv
from incrowd.verifier.claims.subject import Owners


def visits(who: str, ages: list[int], ills: str) -> Table:
    return Table.of({"who": list(who), "age": [str(age) for age in ages], "ill": list(ills)})


def policy(k: int = 2, accept: tuple[str, ...] = (), **privacy: Any) -> Policy:
    return Policy(
        entity="who",
        quasi_identifiers={"age": {}},
        sensitive=["ill"],
        accept=list(accept),
        privacy={"k": k, **privacy},
    )


# ---- the promise ------------------------------------------------------------------------------------------


def test_a_person_with_most_rows_is_refused_and_told_what_helps() -> None:
    """A with eight rows, B with two: any row is A's with 0.8."""
    table = visits("AAAAAAAABB", [1] * 10, "xxxxxxxxyy")
    with pytest.raises(Infeasible, match=r"more than one in k=2 rows .* accept uneven-persons"):
        publish(table, policy())
    release = publish(table, policy(accept=("uneven-persons",)))
    (claim,) = release.manifest["claims"]
    assert claim["model"] == "k-persons"
    assert "more than chance 1/k" in claim["assumptions"][0]
    assert release.verdict.facts["reached"] == {"k-persons": 2}


def test_classes_share_their_rows_evenly() -> None:
    """Ages alone would make two classes, in one of which A has three of four rows."""
    table = visits("AAABCDEF", [1, 1, 1, 1, 9, 9, 9, 9], "xyxyxyxy")
    release = publish(table, policy())
    assert release.verdict.facts["classes"] == 1
    assert release.verdict.facts["reached"] == {"k-anonymity": 2}
    apart = publish(table, policy(accept=("uneven-persons",)))
    assert apart.verdict.facts["classes"] == 2


def test_accepting_means_nothing_where_each_has_one_row() -> None:
    table = Table.of({"age": ["1", "2", "3"], "ill": ["x", "y", "x"]})
    asked = Policy(quasi_identifiers={"age": {}}, sensitive=["ill"], accept=["all"], privacy={"k": 2})
    assert publish(table, asked).manifest["claims"][0]["model"] == "k-anonymity"


# ---- the verifier, with tables by hand ---------------------------------------------------------------------

SCHEMA = Schema(
    (Column("who", Role.ENTITY), Column("age", Role.QUASI, Kind.NUMERIC), Column("ill", Role.SENSITIVE))
)


class Lines(list[tuple[str, ...]]):
    """Rows with names."""

    def __init__(self, names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
        super().__init__(rows)
        self.names = names


def case(who: str, ills: str, *claims: Claim) -> Case:
    """One class of everybody."""
    original = [(w, str(i), ill) for i, (w, ill) in enumerate(zip(who, ills, strict=True))]
    order = np.roll(np.arange(len(who))[::-1], 1)
    published = [(f"[0,{len(who) - 1}]", ills[i]) for i in order]
    return given_case(original, published, SCHEMA, claims, order)


def given_case(
    original: Sequence[tuple[str, ...]],
    published: Sequence[tuple[str, ...]],
    schema: Schema,
    claims: Sequence[Claim],
    links: Any,
) -> Case:
    tables = Lines(("who", "age", "ill"), original), Lines(("age", "ill"), published)
    return Case(*tables, schema, claims, links=links)


K, PERSONS = Claim("k-anonymity", {"k": 2}), Claim("k-persons", {"k": 2})
HALF = Claim("frequency-l-diversity", {"l": 2}, "ill")
ENTROPY = Claim("entropy-l-diversity", {"l": "1.9"}, "ill")
RECURSIVE = Claim("recursive-l-diversity", {"c": "1.2", "l": 2}, "ill")


@pytest.mark.parametrize(
    ("who", "ills", "claim", "passes"),
    [
        pytest.param("AAAAAAAABB", "xxxxxyyyyy", K, False, id="most-rows-are-one-person's"),
        pytest.param("AAAAAAAABB", "xxxxxyyyyy", PERSONS, True, id="two-persons"),
        pytest.param("AAAAAAAAAA", "xxxxxyyyyy", PERSONS, False, id="one-person"),
        pytest.param("AAAAABCDEF", "xxxxxyyyyy", K, True, id="half-of-the-rows"),
        pytest.param("AAAAABCDEF", "xxxxxyyyyy", HALF, False, id="even-in-rows-five-persons-of-six-in-votes"),
        pytest.param("AAAAABBBBB", "xxxxxyyyyy", HALF, True, id="even-in-both"),
        pytest.param("AAAAABBBBBCD", "xxxxxxxxxxyy", HALF, False, id="even-in-votes-most-in-rows"),
        pytest.param("AAAAABCDEF", "xxxxxyyyyy", ENTROPY, False, id="entropy-of-votes"),
        pytest.param("AAAAABBBBB", "xxxxxyyyyy", ENTROPY, True, id="entropy-of-both"),
        pytest.param("AAAAABCDEF", "xxxxxyyyyy", RECURSIVE, False, id="recursive-in-votes"),
        pytest.param("AAAAABBBBB", "xxxxxyyyyy", RECURSIVE, True, id="recursive-in-both"),
    ],
)
def test_the_verifier_counts_persons(who: str, ills: str, claim: Claim, passes: bool) -> None:
    verdict = verified(case(who, ills, claim))
    found = {check.name.partition(" ")[0]: check for check in verdict.checks}
    assert found[claim.model].passed is passes
    assert "stopped with an error" not in found[claim.model].detail


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
@pytest.mark.parametrize("many", [False, True], ids=["short", "long"])
def test_closeness_is_counted_in_votes(distance: str, many: bool) -> None:
    """Two classes that are alike in rows, while in votes one is half x and the other five sixths y.

    With persons of 1 to 60 rows more, the common unit of votes has more than 64 bits.
    """
    kind = Kind.ORDERED if distance == "ordered" else Kind.CATEGORICAL
    levels = (("x", "*"), ("y", "*")) if distance == "hierarchical" else ()
    order = ("x", "y") if distance == "ordered" else ()
    column = Column("ill", Role.SENSITIVE, kind, levels=levels, order=order)
    more = [(f"p{i}", "xy"[j % 2]) for i in range(2, 60, 2) for j in range(i)] if many else []
    first = [("A", "x")] * 5 + [(w, "y") for w in "BCDEF"]
    second = [("G", "x")] * 5 + [("H", "y")] * 5 + more
    both = first + second
    original = [(w, str(i), v) for i, (w, v) in enumerate(both)]
    cells = [f"[0,{len(first) - 1}]"] * len(first) + [f"[10,{len(both) - 1}]"] * len(second)
    shown = [(cell, ill) for cell, (_, ill) in zip(cells, both, strict=True)]
    links = np.concatenate([np.arange(10)[::-1], 10 + np.arange(len(second))[::-1]])
    rows = [shown[i] for i in links]
    schema = Schema((*SCHEMA.columns[:2], column))
    for t, passes in (("0.01", False), ("0.4", True)):
        claim = Claim("t-closeness", {"t": t, "distance": distance}, "ill")
        verdict = verified(given_case(original, rows, schema, [claim], links))
        found = [check for check in verdict.checks if check.name.startswith("t-closeness")]
        assert [check.passed for check in found] == [passes], found


# ---- publish, then verify from disk -----------------------------------------------------------------------


PROMISES: list[dict[str, Any]] = [
    {},
    {"l": 2},
    {"l": 2, "l_kind": "frequency"},
    {"l": "1.5", "l_kind": "entropy"},
    {"l": 2, "l_kind": "recursive", "c": 3},
    {"t": "0.6"},
]


@st.composite
def visited(draw: st.DrawFn) -> Request:
    """Persons with several rows, in tables that can keep the promise; nothing published tells rows apart."""
    quasi = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=2, unique=True))
    k, times = draw(st.integers(2, 3)), draw(st.integers(1, 3))
    persons = draw(st.integers(2 * k, 8))
    who = [f"w{i}" for i in range(persons) for _ in range(1 + (i % times))]
    n = len(who)
    columns: dict[str, Texts] = {
        name: draw(st.lists(st.sampled_from(COLUMNS[name][1]), min_size=n, max_size=n)) for name in quasi
    }
    if not any(columns.get("zip", ["0123"])):
        columns["zip"][0] = "0123"  # a hierarchy of prefixes cannot be built over nothing
    ills: Texts = ["flu" if i % 2 else "ulcer" for i in range(n)]
    columns |= {"name": [str(i) for i in range(n)], "tag": [str(i) for i in range(n)]}
    columns |= {"who": list(draw(st.permutations(who))), "ill": ills}
    privacy = {"k": k, **draw(st.sampled_from(PROMISES))}
    parts = asked(quasi, privacy, entity=True).to_dict() | {"keep": [], "drop": ["tag"]}
    return Request(columns, Policy.from_dict(parts, folder()), tuple(quasi))


def verified_again(method: str, request: Request, format: str) -> None:
    """From disk, with nothing but the original: nobody has more than one in k rows of a class."""
    with tempfile.TemporaryDirectory() as place:
        source, release = Path(place, "visits.csv"), Path(place, "release")
        write_csv(request.table, source)
        wanted = Policy.from_dict(request.policy.to_dict() | {"method": method}, folder())
        try:
            publish_to(source, wanted, release, Form(format))
        except Infeasible:
            reject()
        for told in (None, wanted):
            verdict = verify(release, source, told)
            assert verdict.passed, verdict.failures
        opened = ReleaseFolder.open(release, source)
        assert opened.links is not None
        cells = [tuple(row[name] for name in request.quasi) for row in rows_of(opened.rows)]
        rows = Counter(cells)
        of = Counter(zip(cells, [request.persons[i] for i in opened.links], strict=True))
        assert all(count * wanted.k <= rows[shown] for (shown, _), count in of.items())


@pytest.mark.parametrize("method", COUNT_PERSONS)
@settings(max_examples=12)
@given(request_=visited())
def test_a_true_release_is_verified_again(method: str, request_: Request) -> None:
    """Twelve tables for each method here, ten times as many every night."""
    verified_again(method, request_, "csv")


@settings(max_examples=3)  # every Parquet file is read by a process of its own
@given(method=st.sampled_from(COUNT_PERSONS), request_=visited())
def test_a_true_release_in_parquet_is_verified_again(method: str, request_: Request) -> None:
    verified_again(method, request_, "parquet")


def test_without_links_persons_are_counted_by_any_assignment_that_fits() -> None:
    """Two boxes share an age. By the links A has one row of each; any other assignment may give A both."""
    original = [("A", "5", "x"), ("B", "5", "x"), ("A", "5", "x"), ("C", "5", "x")]
    shown = [("[1,5]", "x"), ("[5,9]", "x"), ("[1,5]", "x"), ("[5,9]", "x")]
    ages = [("D", "1", "y"), ("E", "9", "y")]
    both = given_case([*original, *ages], [*shown, ("[1,5]", "y"), ("[5,9]", "y")], SCHEMA, [K], None)
    apart, together = np.array([0, 2, 1, 3, 4, 5]), np.array([0, 1, 2, 3, 4, 5])
    found = {}
    for name, links in (("apart", apart), ("together", together), ("none", None)):
        checks = {check.name: check for check in verified(replace(both, links=links)).checks}
        found[name] = checks["k-anonymity"]
    assert found["apart"].passed
    assert not found["together"].passed
    assert "links" not in found["together"].detail
    assert found["none"].passed or "the links of the audit say whose row each is" in found["none"].detail


# ---- some rows of a person are suppressed -----------------------------------------------------------------


def test_votes_are_shared_by_the_rows_that_are_published() -> None:
    """What readers count is kept, or refused at once: the verifier never has to reject a release."""
    ends: Counter[str] = Counter()
    for seed in range(60):
        rng = random.Random(seed)
        table = visits(
            "".join(rng.choice("ABCDEFGHIJKLMNOPQR") for _ in range(20)),
            [rng.choice([7, 20, 31, 100]) for _ in range(20)],
            "".join(rng.choice("xyz") for _ in range(20)),
        )
        asked = policy(2, t="0.3", max_suppression=0.3).with_(method="incognito")
        try:
            release = publish(table, asked)
        except Infeasible as refusal:
            ends["refused" if "without the suppressed records" in str(refusal) else "infeasible"] += 1
        else:
            ends["suppressed" if len(release.table) < 20 else "whole"] += 1
    assert ends["refused"]
    assert ends["suppressed"]


def test_a_vote_is_not_thinned_by_rows_that_nobody_sees() -> None:
    """A has three rows, two of them suppressed: the last one has the whole vote."""
    owners = Owners.of(np.array([0, 0, 0, 1, 2]), np.array([2, 3, 4]), linked=True)
    assert owners is not None
    assert owners.rows_of_owner.tolist() == [1, 1, 1]
