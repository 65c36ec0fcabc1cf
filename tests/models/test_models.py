"""What is promised: every registered model against its naive twin, its paper's examples and its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.patients import OUTSIDE, Values, close, coded, distance, microdata, tables
from support.places import ROOT
from twins import definitions as naive
from twins import transparent as naive_transparent

from incrowd.contracts import Model, Rule, catalogue, exact, option_names
from incrowd.errors import PolicyError, TableError
from incrowd.flow import Codes
from incrowd.models import (
    CandidateCloseness,
    CandidateDiversity,
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    KPersons,
    Plain,
    RecursiveDiversity,
    SensitiveGroups,
    TransparentDiversity,
    counting,
    from_policy,
    reached,
)
from incrowd.models.counting import dense, tally

NOTES = ROOT / "docs" / "claims"
MODELS = sorted(catalogue("model"))


def decimals(low: str, high: str) -> st.SearchStrategy[str]:
    return st.decimals(low, high, places=2).map(str)


@dataclass(frozen=True)
class Example:
    """How to draw a model, and its twin: may these rows' values be a class of a table of such values?"""

    models: st.SearchStrategy[Any]
    keeps: Callable[[Any, Values, Values], bool]


def plain_values(model: Plain, values: Values, table: Values) -> bool:
    """Of a table of one column: enough different values, none of which is far from p of the table."""
    span = max(max(table) - min(table), 1)
    far = [sum(Fraction(abs(x - y), span) > model.d0 for y in table) for x in set(values)]
    return len(far) >= model.distinct and all(count < model.p0 * len(table) for count in far)


EXAMPLES = {
    "k-anonymity": Example(
        st.builds(KAnonymity, st.integers(2, 6)),
        lambda model, values, _: naive.keeps_k(range(len(values)), model.k),
    ),
    "k-persons": Example(
        st.builds(KPersons, st.integers(2, 6)),
        lambda model, values, _: naive.keeps_k(range(len(values)), model.k),
    ),
    "sensitive-groups": Example(
        st.builds(SensitiveGroups, st.integers(2, 6)),
        lambda model, values, _: naive.keeps_k(range(len(values)), model.k),
    ),
    "distinct-l-diversity": Example(
        st.builds(DistinctDiversity, st.integers(2, 5), st.just("illness")),
        lambda model, values, _: naive.keeps_distinct(values, model.l),
    ),
    "entropy-l-diversity": Example(
        st.builds(EntropyDiversity, st.integers(1, 4) | decimals("1", "5"), st.just("illness")),
        lambda model, values, _: naive.keeps_entropy(values, model.l),
    ),
    "recursive-l-diversity": Example(
        st.builds(RecursiveDiversity, decimals("0.1", "4"), st.integers(2, 4), st.just("illness")),
        lambda model, values, _: naive.keeps_recursive(values, model.c, model.l),
    ),
    "frequency-l-diversity": Example(
        st.builds(FrequencyDiversity, st.integers(2, 5), st.just("illness")),
        lambda model, values, _: naive_transparent.keeps_frequency(values, model.l),
    ),
    "transparent-l-diversity": Example(
        st.builds(TransparentDiversity, st.integers(2, 5), st.just("illness")),
        lambda model, values, _: naive_transparent.keeps_frequency(values, model.l),
    ),
    "candidate-l-diversity": Example(
        st.builds(CandidateDiversity, st.integers(2, 5), st.just("illness")),
        lambda model, values, _: naive_transparent.keeps_frequency(values, model.l),
    ),
    "t-closeness": Example(
        st.builds(close, decimals("0.01", "1"), st.sampled_from(["equal", "ordered", "hierarchical"])),
        lambda model, values, table: distance(model, values, table) <= exact(model.t),
    ),
    "candidate-t-closeness": Example(
        st.builds(CandidateCloseness, decimals("0.01", "1"), st.just("equal"), st.just("illness")),
        lambda model, values, table: distance(model, values, table) <= exact(model.t),
    ),
    "plain": Example(
        st.builds(
            Plain,
            p=decimals("0.1", "1"),
            d=decimals("0.1", "1"),
            distinct=st.integers(2, 4),
            margin=st.sampled_from(["0", "0.05"]),
            form=st.sampled_from(["corner", "candidate", "both"]),
            removal=st.just("none"),
            columns=st.just(("illness",)),
        ),
        plain_values,
    ),
}


# ---- checks over everything that is registered -----------------------------------------------------------


def guard_agrees_with_naive(name: str, model: Model, values: Values, classes: list[Codes]) -> None:
    rule = model.rule(microdata(values))
    for rows in classes:
        assert rule.allows(rows) == EXAMPLES[name].keeps(model, [values[i] for i in rows], values)


def merging_keeps_the_promise(name: str, model: Model, values: Values, classes: list[Codes]) -> None:
    if not model.monotone:  # it says so itself, and nobody relies on it
        return
    rule = model.rule(microdata(values))
    both = np.concatenate(classes)
    if all(rule.allows(rows) for rows in classes):
        assert rule.allows(both)
    one, other = (rule.reached(rows) for rows in classes)
    if model.more_is_safer:
        assert rule.reached(both) >= min(one, other) * (1 - 1e-12 * isinstance(one, float))
    else:
        assert rule.reached(both) <= max(one, other)


def claims_rebuild_the_model(name: str, model: Model, values: Values, classes: list[Codes]) -> None:
    (claim,) = model.claims(microdata(values))
    about = {"column": claim.column} if claim.column else {}
    assert claim.model == name == model.name
    assert catalogue("model")[claim.model](**claim.parameters, **about) == model
    told = [[*x.values()] if isinstance(x, Mapping) else [x] for x in claim.parameters.values()]
    assert all(type(value) in (int, str) for values_told in told for value in values_told)
    assert claim.adversary
    assert claim.assumptions


def infeasible_if_the_whole_table_fails(
    name: str, model: Model, values: Values, classes: list[Codes]
) -> None:
    why = model.infeasible(microdata(values))
    keeps = EXAMPLES[name].keeps(model, values, values)
    assert (why == "") == keeps if model.monotone else not (why and keeps)
    assert not why or "=" in why


def nobody_is_no_class(name: str, model: Model, values: Values, classes: list[Codes]) -> None:
    assert not model.rule(microdata(values)).allows(coded([]))


def rows_are_a_set_and_stay_unchanged(name: str, model: Model, values: Values, classes: list[Codes]) -> None:
    data, rows = microdata(values), classes[0]
    rule, before = model.rule(data), rows.copy()
    found = rule.reached(rows)
    assert (rows == before).all()
    assert (data.sensitive[0].codes == values).all()
    assert rule.reached(rows[::-1].copy()) == pytest.approx(found, rel=1e-12)
    assert rule.reached(rows.astype(np.int64)) == found


CHECKS = [
    guard_agrees_with_naive,
    merging_keeps_the_promise,
    claims_rebuild_the_model,
    infeasible_if_the_whole_table_fails,
    nobody_is_no_class,
    rows_are_a_set_and_stay_unchanged,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", MODELS)
@settings(deadline=None, max_examples=80)
@given(drawn=st.data(), table=tables())
def test_model(
    name: str, check: Callable[..., None], drawn: st.DataObject, table: tuple[Values, list[Codes]]
) -> None:
    check(name, drawn.draw(EXAMPLES[name].models), *table)


GOOD: dict[str, Any] = {"k": 3, "l": 2, "c": "2", "t": "0.2", "distance": "equal", "column": "illness"}
GOOD |= {"p": "0.8", "d": "0.8", "margin": "0", "distinct": 2, "form": "both", "removal": "once"}
GOOD |= {"rescale": "yes", "columns": (), "weights": (), "settled": "counts"}


@pytest.mark.parametrize("name", MODELS)
def test_limits_reject_what_they_call_bad(name: str) -> None:
    part = catalogue("model")[name]
    fields = {field: GOOD[field] for field in option_names(part)}
    assert isinstance(part(**fields), Model)
    assert part.limits
    for field, limit in part.limits.items():
        for bad in (*limit.bad_values(), "1/3", "nan", math.inf, [2]):
            with pytest.raises(PolicyError, match=rf"{part.__name__}: {field} must be"):
                part(**{**fields, field: bad})


@pytest.mark.parametrize("name", MODELS)
def test_claim_note_exists_in_its_form(name: str) -> None:
    note = (NOTES / f"{name}.md").read_text(encoding="utf-8")
    assert name in note
    for word in ("Before:", "Does:", "After:", "Why:", "Not claimed:", "Checked by:"):
        assert f"\n{word}" in note


@pytest.mark.parametrize(
    ("model", "at_edge"),
    [
        pytest.param(close("1", "equal"), True, id="t-of-one-is-allowed"),
        pytest.param(EntropyDiversity(1, "illness"), True, id="entropy-of-one-is-allowed"),
    ],
)
def test_included_ends(model: Model, at_edge: bool) -> None:
    assert model.rule(microdata([0, 0, 1])).allows(coded([2])) is at_edge


@pytest.mark.parametrize(
    "make", [lambda: Closeness(0, "equal", "x"), lambda: RecursiveDiversity("0", 2, "x")]
)
def test_excluded_ends(make: Callable[[], Model]) -> None:
    with pytest.raises(PolicyError, match="above 0"):
        make()


# ---- examples of the papers ------------------------------------------------------------------------------

# l-diversity (Machanavajjhala et al. 2006), the inpatient table of 12 rows in its order: heart disease 0,
# viral infection 1, cancer 2. The classes are the 4-anonymous table's and the 3-diverse table's.
INPATIENTS = [0, 0, 1, 1, 2, 0, 1, 1, 2, 2, 2, 2]
FOUR_ANONYMOUS = coded([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
THREE_DIVERSE = coded([0, 2, 2, 0, 1, 1, 1, 1, 0, 0, 2, 2])


@pytest.mark.parametrize(("labels", "l"), [(FOUR_ANONYMOUS, 1), (THREE_DIVERSE, 3)])
def test_inpatient_table(labels: Codes, l: int) -> None:  # noqa: E741
    data = microdata(INPATIENTS)
    assert reached(KAnonymity(2), data, labels) == 4
    assert reached(DistinctDiversity(2, "illness"), data, labels) == l


def test_inpatient_table_by_hand() -> None:
    """Each 3-diverse class counts 2, 1, 1: entropy 3/2 bits, and 2 < c * 1 only for c above 2."""
    data = microdata(INPATIENTS)
    assert reached(EntropyDiversity(1, "illness"), data, THREE_DIVERSE) == pytest.approx(2**1.5)
    assert reached(RecursiveDiversity(2, 2, "illness"), data, THREE_DIVERSE) == 2
    assert reached(RecursiveDiversity("2.01", 2, "illness"), data, THREE_DIVERSE) == 3
    assert reached(FrequencyDiversity(2, "illness"), data, THREE_DIVERSE) == 2
    assert reached(FrequencyDiversity(2, "illness"), data, FOUR_ANONYMOUS) == 1


# ---- entropy: floats only where they are sure ------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(-3, 3))
def test_entropy_next_to_the_edge(counts: Values, step: int) -> None:
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    data, rows = microdata(values), np.arange(len(values), dtype=np.int32)
    edge = Fraction(EntropyDiversity(1, "illness").rule(data).reached(rows)) + Fraction(step, 10**16)
    l = str(Decimal(max(edge, Fraction(1)).numerator) / Decimal(max(edge, Fraction(1)).denominator))  # noqa: E741
    assert EntropyDiversity(l, "illness").rule(data).allows(rows) == naive.keeps_entropy(values, l)


def test_even_shares_are_exact_and_quick_at_any_size() -> None:
    data = microdata([0, 1, 2] * 100_000)
    rows = np.arange(300_000, dtype=np.int32)
    assert EntropyDiversity(3, "illness").rule(data).allows(rows)
    assert not EntropyDiversity("3.00000000000000000001", "illness").rule(data).allows(rows)
    assert not EntropyDiversity(3, "illness").rule(data).allows(rows[1:])


def test_ties_of_uneven_shares_are_kept_and_small() -> None:
    """Shares of 1/2 and four times 1/8 have 2 bits, as four even shares have: a tie with five values."""
    values = [0] * 400_000 + [1, 2, 3, 4] * 100_000
    rows = np.arange(len(values), dtype=np.int32)
    assert EntropyDiversity(4, "illness").rule(microdata(values)).allows(rows)
    assert not EntropyDiversity("4.0000000000000001", "illness").rule(microdata(values)).allows(rows)


# ---- persons, missing values, words ----------------------------------------------------------------------


def test_nobody_has_more_than_one_in_k_rows() -> None:
    """A has eight rows of a class and B two: any row is A's with 0.8, and two persons are not enough."""
    data = microdata([0] * 8 + [1] * 2, persons=[4] * 8 + [9] * 2)
    (guard,) = KAnonymity(2).guards(data)
    assert not guard.allows(coded(range(10)))
    assert guard.allows(coded([0, 1, 8, 9]))
    assert reached(KAnonymity(2), data, coded([0] * 10)) == 1
    assert reached(KPersons(2), data, coded([0] * 10)) == 2
    assert "one in k rows" in " ".join(KAnonymity(2).claims(data)[0].assumptions)
    assert "more than chance 1/k" in " ".join(KPersons(2).claims(data)[0].assumptions)


def test_who_has_too_many_rows_is_said_with_what_helps() -> None:
    data = microdata([0] * 12, persons=[0] * 4 + list(range(1, 9)))
    assert KAnonymity(3).infeasible(data) == ""
    why = KAnonymity(4).infeasible(data)
    assert why.startswith("entity: one person has more than one in k=4 rows of the table")
    assert "lower k to 3, or accept uneven-persons" in why
    assert KPersons(4).infeasible(data) == ""
    assert "lower k" not in KAnonymity(2).infeasible(microdata([0] * 4, persons=[0, 0, 0, 1]))


def test_k_counts_persons() -> None:
    data = microdata([0, 1, 2, 0], persons=[4, 4, 4, 9])
    for model in (KAnonymity(3), KPersons(3)):
        (guard,) = model.guards(data)
        assert not guard.allows(coded([0, 1, 2, 3]))
        assert model.infeasible(data) == "n=2 < k=3: the table has fewer persons than a class must have"
        assert reached(model, data, coded([0, 0, 1, 1])) == 1
        assert "several rows" in " ".join(model.claims(data)[0].assumptions)
    assert KAnonymity(2).rule(data).allows(coded([2, 3]))


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.integers(2, 6))
def test_persons_agree_with_naive(persons: Values, k: int) -> None:
    data = microdata([0] * len(persons), persons=persons)
    half = np.arange(0, len(persons), 2, dtype=np.int32)
    assert KPersons(k).rule(data).allows(half) == naive.keeps_k(persons[::2], k)
    assert KAnonymity(k).rule(data).allows(half) == naive.keeps_even_k(persons[::2], k)


IN_PERSONS = [
    name for name in MODELS if name not in ("k-anonymity", "k-persons", "sensitive-groups", "plain")
]


@pytest.mark.parametrize("name", IN_PERSONS)
@settings(deadline=None, max_examples=60)
@given(drawn=st.data(), table=tables(), persons=st.lists(st.integers(0, 5), min_size=30, max_size=30))
def test_values_are_counted_in_rows_and_in_persons(
    name: str, drawn: st.DataObject, table: tuple[Values, list[Codes]], persons: Values
) -> None:
    """Each person has one vote, shared by their rows: as if each row were there so many times."""
    model, (values, classes) = drawn.draw(EXAMPLES[name].models), table
    persons = persons[: len(values)]
    data, keeps = microdata(values, persons=persons), EXAMPLES[name].keeps
    rule, everybody = model.rule(data), naive.as_votes(values, persons, range(len(values)))
    for rows in classes:
        in_rows = keeps(model, [values[i] for i in rows], values)
        in_persons = keeps(model, naive.as_votes(values, persons, rows.tolist()), everybody)
        assert rule.allows(rows) == (in_rows and in_persons)
    if all(rule.allows(rows) for rows in classes):
        assert rule.allows(np.concatenate(classes))
    assert "one vote" in " ".join(model.claims(data)[0].assumptions)


@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical"])
def test_votes_of_many_sizes_stay_exact(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The common unit of many sizes does not fit into 64 bits: whole numbers of any length say the same."""
    values, persons = [0, 1, 2, 1, 0, 3, 4, 4, 1], [0, 0, 0, 1, 1, 2, 3, 3, 3]
    rows, models = coded([0, 3, 5, 6]), (close("1", name), FrequencyDiversity(2, "illness"))
    short = [model.rule(microdata(values, persons=persons)).reached(rows) for model in models]
    monkeypatch.setattr(counting, "SMALL", 0)
    assert [model.rule(microdata(values, persons=persons)).reached(rows) for model in models] == short
    large = [size for size in range(1, 60) for _ in range(size)]
    data = microdata([i % 5 for i in range(len(large))], persons=large)
    assert counting.InPersons.of(data.sensitive[0].codes, 5, coded(large)).unit > 2**63
    everybody = np.arange(len(large), dtype=np.int32)
    assert EntropyDiversity("4.9", "illness").rule(data).allows(everybody)
    assert not EntropyDiversity("4.9999", "illness").rule(data).allows(everybody)


def test_k_of_rows_is_the_groupers_own() -> None:
    data = microdata([0, 1])
    assert KAnonymity(3).guards(data) == ()
    assert KAnonymity(3).infeasible(data).startswith("n=2 < k=3: the table has fewer rows")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (DistinctDiversity(3, "illness"), "illness: only 2 distinct values, l=3"),
        (
            EntropyDiversity("1.9", "illness"),
            "illness: the whole table as one class reaches l=1.88 by entropy, l=1.9",
        ),
        (
            RecursiveDiversity(1, 2, "illness"),
            "illness: 2 distinct values; the whole table as one class reaches l=1 with c=1, l=2",
        ),
        (
            FrequencyDiversity(2, "illness"),
            "illness: the whole table as one class reaches l=1 by frequency, l=2",
        ),
    ],
    ids=["distinct", "entropy", "recursive", "frequency"],
)
def test_infeasible_says_how_far_it_goes(model: Model, words: str) -> None:
    assert model.infeasible(microdata([0, 0, 1])) == words


def test_largest_entropy_that_is_named_does_hold() -> None:
    data = microdata([0, 0, 1, 1, 2, 2])
    assert "l=3.00 by" in EntropyDiversity(4, "illness").infeasible(data)
    assert EntropyDiversity("3.00", "illness").infeasible(data) == ""


@pytest.mark.parametrize("name", MODELS)
def test_no_rows_keep_nothing(name: str) -> None:
    part = catalogue("model")[name]
    model = part(**{field: GOOD[field] for field in option_names(part)})
    empty = microdata([])
    assert "no rows" in model.infeasible(empty) or "n=0" in model.infeasible(empty)
    with pytest.raises(TableError, match="without rows"):
        reached(model, empty, coded([]))


def test_a_misspelt_column_is_named() -> None:
    with pytest.raises(PolicyError, match="did you mean 'illness' for 'ilness'"):
        DistinctDiversity(2, "ilness").guards(microdata([0, 1]))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, OUTSIDE), st.integers(0, 3)), min_size=1, max_size=25))
def test_reached_is_the_worst_class(rows: list[tuple[int, int]]) -> None:
    values = [value for value, _ in rows]
    labels, groups = dense(coded([label for _, label in rows]))
    classes = [[v for v, g in zip(values, labels, strict=True) if g == group] for group in range(groups)]
    data, model = microdata(values), close("1", "ordered")
    assert reached(KAnonymity(2), data, labels) == min(map(len, classes))
    assert reached(DistinctDiversity(2, "illness"), data, labels) == min(len(set(c)) for c in classes)
    assert reached(model, data, labels) == max(distance(model, c, values) for c in classes)


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), max_size=40), st.sampled_from([21, 1000]))
def test_tally_counts(codes: Values, size: int) -> None:
    values, counts = tally(coded(codes), size)
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == {c: codes.count(c) for c in codes}
    assert (np.diff(values) > 0).all()


def test_every_rule_is_a_rule() -> None:
    data = microdata([0, 1, 2], persons=[0, 1, 2])
    for model in from_policy({"k": 2, "l": 2, "t": 1}, ["illness"]):
        assert isinstance(model, Model)
        assert isinstance(model.rule(data), Rule)
        assert all(guard.allows(coded([0, 1])) for guard in model.guards(data))
