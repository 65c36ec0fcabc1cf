"""Values that are ruled out, descriptions that single somebody out, and nodes that tell of their children."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from attacks.test_values import classes
from hypothesis import given
from hypothesis import strategies as st
from support.measure_tables import flat, microdata, release, treed
from twins import attacks_two_releases as more

from incrowd.attacks.beliefs import ValueCounts
from incrowd.attacks.disclosure import Commonest, backgrounds, ruled_out
from incrowd.attacks.registry import Rate
from incrowd.attacks.singling import claims, downcoding, isolated, singling
from incrowd.attacks.target import Target, as_they_are


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=9), min_size=1, max_size=4), st.integers(1, 3)
)
def test_the_largest_posterior_agrees_with_naive(groups: list[list[int]], known: int) -> None:
    """Whichever values are ruled out, none leaves a value likelier."""
    counts = np.array([[Counter(group)[value] for value in range(5)] for group in groups])
    common = Commonest.of(ValueCounts.of_table(counts), known + 1)
    top, out, share = ruled_out(common, known)
    for g, group in enumerate(groups):
        assert share[g] == pytest.approx(more.after_ruling_out(group, known))
        assert Counter(group)[int(top[g])] == max(Counter(group).values())
        gone = [value for value in out[g].tolist() if value >= 0]
        assert len(gone) == min(known, len(set(group)) - 1)
        assert top[g] not in gone
    target, values = classes([len(group) for group in groups], [v for group in groups for v in group], 5)
    found = backgrounds(target, values)[known - 1]
    assert found.details["largest_posterior"] == pytest.approx(
        max(more.after_ruling_out(group, known) for group in groups)
    )
    left = [[v for v in group if v not in out[g]] for g, group in enumerate(groups)]
    assert found.attack.tried == sum(len(group) for group in left)
    assert found.attack.won == sum(group.count(int(top[g])) for g, group in enumerate(left))


def test_even_values_reach_the_bound_and_no_more() -> None:
    """Five classes with four values twice each: 1/(l-b), to the letter."""
    target, values = classes([8] * 5, [0, 0, 1, 1, 2, 2, 3, 3] * 5)
    found = backgrounds(target, replace(values, l=Fraction(4)))
    assert [result.bound for result in found] == [Fraction(1, 3), Fraction(1, 2), None]
    assert [result.attack.share for result in found] == pytest.approx([1 / 3, 1 / 2, 1])
    assert [result.outcome for result in found] == ["held", "held", "no bound"]
    assert found[2].details["persons_with_one_value_left"] == 40


def test_a_frequent_value_breaks_the_bound() -> None:
    """One value six times of eight, though no more than a quarter was promised."""
    target, values = classes([8] * 50, [0, 0, 0, 0, 0, 0, 1, 2] * 50)
    one = backgrounds(target, replace(values, l=Fraction(4)))[0]
    assert (one.attack.won, one.attack.tried, one.outcome) == (300, 350, "broken")
    nothing = backgrounds(target, values)
    assert {result.outcome for result in nothing} == {"no bound"}


def test_knowing_as_much_as_there_is_bounds_nothing() -> None:
    """With l = 2 and one value ruled out, the other one is certain."""
    target, values = classes([4] * 9, [0, 0, 1, 1] * 9)
    one, two, _ = backgrounds(target, replace(values, l=Fraction(2)))
    assert (one.bound, two.bound) == (None, None)
    assert one.attack.share == 1


# ---- singling out


def test_descriptions_single_out_as_often_as_the_formula_says() -> None:
    """26 classes of 200: near 0.37, though 26 people, not one, fit a hash without its class."""
    target, _ = classes([200] * 26, [0] * 5200)
    found = singling(target)
    assert found.details["by_the_formula"] == pytest.approx((199 / 200) ** 199)
    low, high = found.attack.interval()
    assert low < found.details["by_the_formula"] < high  # type: ignore[operator]
    assert (found.guess.won, found.bound) == (0, None)


def test_whoever_stands_alone_is_singled_out() -> None:
    target, _ = classes([1] * 5 + [2] * 3, [0] * 11)
    exact = Target(as_they_are(target.data), target.data, np.arange(11))
    assert isolated(exact).tried == 8
    assert isolated(exact).won >= 5
    assert isolated(target).won >= 5  # a class of one needs no hash


# ---- downcoding

LEAVES = "uvwxyz"
PATHS = [("u", "uv", "uvw", "*"), ("v", "uv", "uvw", "*"), ("w", "w", "uvw", "*")]
PATHS += [(leaf, "xyz", "xyz", "*") for leaf in "xyz"]
NODES = [*(frozenset({leaf}) for leaf in range(6)), *map(frozenset, ({0, 1}, {0, 1, 2}, {3, 4, 5}, range(6)))]
SPELT = [*LEAVES, "uv", "uvw", "xyz", "*"]


@given(st.lists(st.tuples(st.sets(st.integers(0, 5), min_size=1), st.booleans()), min_size=1, max_size=4))
def test_claims_about_nodes_agree_with_naive(drawn: list[tuple[set[int], bool]]) -> None:
    """Classes by letters; each says the smallest node over its leaves, or the root."""
    records, rows, right, made, alone, chance = [], [], 0, 0, 0, 0.0
    everybody = [leaf for leaves, _ in drawn for leaf in sorted(leaves)]
    for c, (leaves, whole) in enumerate(drawn):
        node = NODES[-1] if whole else min((n for n in NODES if leaves <= n), key=len)
        records += [("abcd"[c], LEAVES[leaf]) for leaf in sorted(leaves)]
        rows += [("abcd"[c], SPELT[NODES.index(node)])] * len(leaves)
        if len(node) > 1:
            under = more.under_children(node, sorted(leaves), NODES)
            table = more.under_children(node, everybody, NODES)
            made, right = made + 1, right + (len(under) > 1)
            alone += len(under) > 1 and 1 in under.values()
            chance += 1 - sum((many / table.total()) ** len(leaves) for many in table.values())
    data = microdata([flat("q", "abcd"), treed("t", PATHS)], records)
    found = claims(Target(release(data, rows), data, np.arange(len(records))))
    assert (found.made, found.right, found.alone) == (made, right, alone)
    assert found.by_chance == pytest.approx(chance)


def test_smallest_nodes_tell_and_fixed_ones_do_not() -> None:
    """Forty classes of two who share a leaf: the root says that they do not, the leaf says nothing."""
    leaves = [LEAVES[i % 6] for i in range(20) for _ in range(2)] + ["u", "x"] * 20
    names = [f"{i:02}" for i in range(40) for _ in range(2)]
    data = microdata(
        [flat("q", sorted(set(names))), treed("t", PATHS)], list(zip(names, leaves, strict=True))
    )
    fixed = downcoding(Target(release(data, [(name, "*") for name in names]), data, np.arange(80)))
    assert (fixed.attack.won, fixed.attack.tried) == (20, 40)
    assert (fixed.control, fixed.bound) == (Rate(20, 20), None)
    assert fixed.works
