"""The consistency graph, its matches, factors and probabilities, by definition and on the papers' graphs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from support.anonymity_classes import classes, has_factor, largest
from support.golden import golden
from support.measure_tables import box, flat, microdata, ranged, release, treed
from twins import definitions as naive

from incrowd.errors import PolicyError, TableError
from incrowd.flow import Microdata
from incrowd.graph import Graph, components, consistency, lambda_star, posterior
from incrowd.measures import Published

Adjacency = list[list[int]]


def fraction(value: Any) -> Fraction:
    return Fraction(value["num"], value["den"]) if isinstance(value, dict) else Fraction(value)


def expanded(graph: Graph) -> Adjacency:
    """For each original record the published rows that it is joined with."""
    lists = [graph.indices[a:b].tolist() for a, b in itertools.pairwise(graph.indptr)]
    return [[j for j, v in enumerate(graph.row_of) if v in lists[u]] for u in graph.record_of]


def edges_of(graph: Graph, values: Sequence[Any]) -> dict[tuple[int, int], Any]:
    """A value for each original record and published row, from one for each edge."""
    of = dict(zip(zip(graph.tails.tolist(), graph.indices.tolist(), strict=True), values, strict=True))
    pairs = itertools.product(enumerate(graph.record_of.tolist()), enumerate(graph.row_of.tolist()))
    return {(i, j): of[u, v] for (i, u), (j, v) in pairs if (u, v) in of}


def least_by_program(adjacent: Adjacency, rows: int) -> float:
    """lambda* as a linear program: every row is somebody's, nobody has two, no match is likelier than it."""
    from scipy.optimize import linprog

    edges = [(i, j) for i, rows in enumerate(adjacent) for j in rows]
    n, m = len(adjacent), len(edges)
    records, owners = np.zeros((n, m + 1)), np.zeros((rows, m + 1))
    for e, (i, j) in enumerate(edges):
        records[i, e] = owners[j, e] = 1
    below = np.vstack([np.hstack([np.eye(m), -np.ones((m, 1))]), records])
    limits = np.append(np.zeros(m), np.ones(n))
    found = linprog(np.eye(m + 1)[m], below, limits, owners, np.ones(rows), bounds=(0, None))
    assert found.success
    return float(found.fun)


@st.composite
def adjacencies(draw: st.DrawFn, largest: int = 6, sure: bool = True) -> Adjacency:
    """Rows for each record; if sure, record i always has row order[i]."""
    n = draw(st.integers(1, largest))
    order = draw(st.permutations(range(n)))
    sets = draw(st.lists(st.sets(st.integers(0, n - 1)), min_size=n, max_size=n))
    return [sorted(rows | ({order[i]} if sure else set())) for i, rows in enumerate(sets)]


@st.composite
def weighted(draw: st.DrawFn, assignments: int = 0) -> Graph:
    """A graph of up to 6 records in which records and rows may occur several times.

    It has at least so many assignments that share no pair, if there are as many records.
    """
    n = draw(st.integers(1, 6))

    def weights() -> list[int]:
        ends = sorted({*draw(st.sets(st.integers(1, n))), n})
        return [end - start for start, end in itertools.pairwise([0, *ends])]

    records, rows = weights(), weights()
    every = st.sets(st.integers(0, len(rows) - 1), min_size=1)
    fits = draw(st.lists(every, min_size=len(records), max_size=len(records)))
    record_of, row_of = ([kind for kind, w in enumerate(side) for _ in range(w)] for side in (records, rows))
    order = draw(st.permutations(range(n)))
    for shift in range(draw(st.integers(assignments, 3))):
        for i, record in enumerate(record_of):
            fits[record].add(row_of[order[(i + shift) % n]])
    return Graph.of(fits, records, rows)


# ---- edges

AGE = ranged("age", [20, 30, 40, 50], missing=True)
JOB = flat("job", ["a", "b", "c", "d", "e"])
ZIP = treed("zip", [["x1", "x", "*"], ["x2", "x", "*"], ["y1", "y", "*"]], beside=True)
CELLS: list[dict[str, set[str]]] = [
    {
        "30": {"30"},
        "[20,40]": {"20", "30", "40"},
        "missing": {""},
        "{missing|[30,40]}": {"", "30", "40"},
        "{20|50}": {"20", "50"},
        "*": {"", "20", "30", "40", "50"},
    },
    {"a": {"a"}, "{a|c|e}": {"a", "c", "e"}, "{b|d}": {"b", "d"}, "{c|d}": {"c", "d"}, "*": set("abcde")},
    {"x1": {"x1"}, "x": {"x1", "x2"}, "missing": {""}, "*": {"x1", "x2", "y1", ""}},
]
RECORDS = st.tuples(*[st.sampled_from(sorted(column["*"])) for column in CELLS])
ROWS = st.tuples(*[st.sampled_from(sorted(column)) for column in CELLS])


def read(records: Sequence[Any], rows: Sequence[Any]) -> tuple[Published, Microdata]:
    data = microdata([AGE, JOB, ZIP], records)
    return release(data, rows), data


def meant(rows: Sequence[Any]) -> list[list[set[str]]]:
    return [[column[text] for column, text in zip(CELLS, row, strict=True)] for row in rows]


@settings(max_examples=150)
@given(st.lists(RECORDS, min_size=1, max_size=25), st.lists(ROWS, max_size=25))
def test_edges_by_definition(records: Sequence[Any], rows: Sequence[Any]) -> None:
    rows = rows[: len(records)]
    graph = consistency(*read(records, rows))
    expected = naive.adjacency(records, meant(rows))
    assert expanded(graph) == expected
    assert graph.left_out == len(records) - len(rows)
    assert graph.record_weight.size == len(set(records))
    assert graph.published == len(set(rows))
    degrees = graph.degrees()
    assert degrees.records[graph.record_of].tolist() == [len(adjacent) for adjacent in expected]
    assert degrees.rows[graph.row_of].tolist() == [
        sum(j in adjacent for adjacent in expected) for j in range(len(rows))
    ]


@st.composite
def people_and_rows(draw: st.DrawFn) -> tuple[Sequence[Any], Sequence[Any]]:
    """Up to 6 records, and rows for some of them; now and then a row holds another one, or nobody."""
    records = draw(st.lists(RECORDS, min_size=1, max_size=6))
    behind = draw(st.permutations(records))[: draw(st.integers(0, len(records)))]
    cells = (
        [[cell for cell, held in column.items() if x in held] for x, column in zip(each, CELLS, strict=True)]
        for each in behind
    )
    rows = [draw(st.tuples(*map(st.sampled_from, fitting))) for fitting in cells]
    if rows and not draw(st.integers(0, 3)):
        rows[0] = draw(ROWS)
    return records, rows


@settings(max_examples=100)
@given(people_and_rows())
def test_people_who_may_have_been_left_out(both: tuple[Sequence[Any], Sequence[Any]]) -> None:
    """With fewer rows than records, an assignment gives every row a record, but not the reverse."""
    records, rows = both
    graph = consistency(*read(records, rows))
    adjacent = naive.adjacency(records, meant(rows))
    found = naive.assignments(adjacent, len(rows))
    if not found:
        with pytest.raises(TableError, match="not a generalisation"):
            components(graph)
        reject()
    effective = edges_of(graph, components(graph).effective.tolist())
    assert {edge for edge, is_in in effective.items() if is_in} == naive.effective(adjacent, len(rows))
    chances = posterior(graph)
    assert chances.assignments == len(found)
    exact = naive.match_chances(adjacent, len(rows))
    assert {e: p for e, p in edges_of(graph, chances.probability).items() if p} == exact
    assert chances.worst == max(exact.values(), default=None)
    hint = np.array(found[0])
    assert components(graph, hint).matches().records.tolist() == components(graph).matches().records.tolist()
    least = lambda_star(graph)
    assert float(least) == pytest.approx(least_by_program(adjacent, len(rows)) if rows else 0, abs=1e-9)
    assert largest(graph)["k_factor"] == (1 / least // 1 if rows else 0)


def test_who_was_certainly_left_out_is_no_match() -> None:
    """Two rows for three equal people; the fourth person has none, and needs none to be hidden."""
    data = microdata([JOB], [("a",), ("a",), ("a",), ("b",)])
    graph = consistency(release(data, [("a",), ("a",)]), data)
    assert components(graph).exposed(1)[0].tolist() == [3]
    assert lambda_star(graph) == Fraction(1, 3)
    assert [has_factor(graph, k) for k in (3, 4)] == [True, False]
    assert [classes(graph, k)["k_factor"] for k in (3, 4)] == [True, False]
    assert largest(graph) == {
        "k": 2,
        "1k": 0,
        "k1": 3,
        "kk": 0,
        "global_1k": 0,
        "global_k1": 3,
        "k_factor": 3,
    }
    chances = posterior(graph)
    assert (chances.assignments, chances.worst) == (6, Fraction(1, 3))


def test_an_original_and_a_table_with_other_columns_are_refused() -> None:
    shown, _ = read([("20", "a", "x1")], [("*", "*", "*")])
    with pytest.raises(TableError, match="same quasi-identifiers"):
        consistency(shown, microdata([JOB], [("a",)]))


def test_a_big_table_has_no_square() -> None:
    """Many rows in classes of ten: each record has one edge, to its class."""
    n = 30_000
    number = ranged("number", range(n))
    data = Microdata(np.arange(n, dtype=np.int32)[:, None], (number,))
    graph = consistency(release(data, [(f"[{i - i % 10},{i - i % 10 + 9}]",) for i in range(n)]), data)
    assert graph.indices.size == n
    assert set(graph.degrees().records.tolist()) == {10}
    assert classes(graph, 10) == dict.fromkeys(classes(graph, 10), True)
    assert posterior(graph).worst == Fraction(1, 10)


# ---- matches


@settings(max_examples=200)
@given(weighted())
def test_matches_by_definition(graph: Graph) -> None:
    adjacent, n = expanded(graph), len(graph)
    expected = naive.effective(adjacent, n)
    if not expected:
        with pytest.raises(TableError, match=r"not a generalisation of the original: of \d+ records, \d+ "):
            components(graph)
        assert not has_factor(graph, 1)
        reject()
    found = components(graph)
    effective = edges_of(graph, found.effective.tolist())
    assert {edge for edge, is_in in effective.items() if is_in} == expected
    matches = found.matches()
    per_record = [sum(i == a for a, _ in expected) for i in range(n)]
    per_row = [sum(j == b for _, b in expected) for j in range(n)]
    assert matches.records[graph.record_of].tolist() == per_record
    assert matches.rows[graph.row_of].tolist() == per_row
    for k in (1, 2, 3):
        records, rows = found.exposed(k)
        assert records.tolist() == [i for i, most in enumerate(per_record) if most < k]
        assert rows.tolist() == [j for j, most in enumerate(per_row) if most < k]


@settings(max_examples=100)
@given(adjacencies(), st.randoms(use_true_random=False))
def test_any_hint_leads_to_the_same_matches(adjacent: Adjacency, random: Any) -> None:
    graph = Graph.of(adjacent)
    expected = components(graph).effective.tolist()
    n = len(adjacent)
    right = random.choice(naive.assignments(adjacent, n))
    wrong = [random.randrange(-1, n + 1) for _ in range(n)]
    for hint in (right, wrong, [0] * (n + 1)):
        assert components(graph, np.array(hint)).effective.tolist() == expected
    used = components(graph, np.array(right)).flow
    assert [(i, j) for (i, j), x in edges_of(graph, used.tolist()).items() if x] == list(enumerate(right))


def test_theorem_1_on_random_graphs() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "thm1_random")
    rng = np.random.default_rng(1)
    mismatches = 0
    for _ in range(given_["trials"]):
        n = int(rng.integers(2, 7))
        holds = (rng.random((n, n)) < rng.random()) | np.eye(n, dtype=bool)
        graph = Graph.of([np.flatnonzero(row).tolist() for row in holds])
        effective = components(graph, np.arange(n)).effective
        mismatches += effective.tolist() != [bool(x) for x in possible(holds)[holds]]
    assert mismatches == expected["mismatches"]


def possible(holds: Any) -> Any:
    """Which edges leave the rest an assignment: by the permanent of what is left, row by row over sets."""
    n = len(holds)
    found = np.zeros((n, n), dtype=bool)
    for i, j in zip(*np.nonzero(holds), strict=True):
        rest = np.delete(np.delete(holds, i, 0), j, 1)
        taken = {frozenset[int]()}
        for row in rest:
            taken = {s | {int(v)} for s in taken for v in np.flatnonzero(row) if v not in s}
        found[i, j] = bool(taken)
    return found


# ---- factors


@settings(max_examples=150)
@given(adjacencies(largest=5), st.integers(1, 4))
def test_factors_by_definition(adjacent: Adjacency, k: int) -> None:
    assert has_factor(Graph.of(adjacent), k) == naive.has_factor(adjacent, k)


@settings(max_examples=100)
@given(weighted(), st.integers(1, 4))
def test_factors_of_equal_records(graph: Graph, k: int) -> None:
    assert has_factor(graph, k) == naive.has_factor(expanded(graph), k)


@settings(max_examples=100)
@given(weighted())
def test_least_probability_by_linear_program(graph: Graph) -> None:
    adjacent = expanded(graph)
    if naive.effective(adjacent, len(graph)):
        assert float(lambda_star(graph)) == pytest.approx(least_by_program(adjacent, len(graph)), abs=1e-9)
    else:
        with pytest.raises(TableError, match="not a generalisation"):
            lambda_star(graph)


@pytest.mark.quick
def test_a_factor_is_what_a_bounded_probability_needs() -> None:
    given_, expected = golden("nonhomogeneous_diversity", "kfactor_equivalence")
    rng = np.random.default_rng(2)
    mismatches = 0
    for _ in range(given_["random_graphs"]):
        n = int(rng.integers(2, 7))
        holds = (rng.random((n, n)) < rng.random()) | np.eye(n, dtype=bool)
        adjacent = [np.flatnonzero(row).tolist() for row in holds]
        least, graph = least_by_program(adjacent, n), Graph.of(adjacent)
        mismatches += any(has_factor(graph, k) != (least <= 1 / k + 1e-9) for k in range(1, n + 1))
        mismatches += float(lambda_star(graph)) != pytest.approx(least, abs=1e-9)
        mismatches += largest(graph)["k_factor"] != 1 / lambda_star(graph) // 1
    assert mismatches == expected["mismatches"]


# ---- probabilities


@settings(max_examples=150)
@given(weighted(assignments=1))
def test_probabilities_by_enumeration(graph: Graph) -> None:
    adjacent, n = expanded(graph), len(graph)
    exact = naive.match_chances(adjacent, n)
    found = posterior(graph)
    assert found.assignments == len(naive.assignments(adjacent, n))
    assert {edge: chance for edge, chance in edges_of(graph, found.probability).items() if chance} == exact
    assert found.worst == max(exact.values())
    assert found.worst >= lambda_star(graph)


@settings(max_examples=100)
@given(weighted(assignments=1), st.randoms(use_true_random=False))
def test_probabilities_when_some_people_are_known(graph: Graph, random: Any) -> None:
    """Knowing pairs is knowing that the assignment is one of those that contain them."""
    worlds = naive.assignments(expanded(graph), len(graph))
    known = random.sample(list(enumerate(random.choice(worlds))), random.randrange(len(graph)))
    left = graph.without(known)
    still = [world for world in worlds if all(world[i] == j for i, j in known)]
    found = posterior(left)
    assert found.assignments == len(still)
    unknown = set(range(len(graph))) - {i for i, _ in known}
    for (i, j), chance in edges_of(left, found.probability).items():
        if i in unknown and left.row_of[j] >= 0:
            assert chance == Fraction(sum(world[i] == j for world in still), len(still))


@pytest.mark.parametrize("known", [[(0, 2)], [(0, 0), (0, 1)], [(0, 0), (1, 0)]])
def test_knowledge_that_cannot_be_is_refused(known: list[tuple[int, int]]) -> None:
    with pytest.raises(TableError, match="contradict"):
        Graph.of([[0, 1], [0, 1, 2], [1, 2]]).without(known)


def ring(n: int, k: int) -> Adjacency:
    """Row i holds the records i .. i+k-1."""
    return [sorted((i - s) % n for s in range(k)) for i in range(n)]


def test_large_components_are_left_open_unless_all_is_possible() -> None:
    found = posterior(Graph.of([*ring(19, 3), [19]]))
    assert found.assignments is None
    assert found.probability[:-1] == (None,) * 57
    assert found.worst == 1
    assert posterior(Graph.of(ring(18, 17))).assignments == 2355301661033953  # derangements of 18
    assert posterior(Graph.of([range(30)] * 30)).worst == Fraction(1, 30)
    assert posterior(Graph.of(ring(6, 3)), most=5).worst is None
    with pytest.raises(PolicyError, match="from 0 to 18, got 19"):
        posterior(Graph.of([[0]]), most=19)


# ---- the papers' graphs


@pytest.mark.quick
@pytest.mark.parametrize("name", ["table2", "table3"])
def test_published_tables_of_the_first_section(name: str) -> None:
    given_, expected = golden("nonhomogeneous_graphs", name)
    records = given_["T"]
    zips = [[z, z[:5] + "*", z[:4] + "**", z[:3] + "***", "*"] for z, _, _ in records]
    ages = sorted({age for _, _, age in records})
    data = microdata([treed("zip", zips), flat("sex", ["F", "M"]), ranged("age", ages)], records)
    graph = consistency(release(data, [[z, s, box(*age)] for z, s, age in given_["T_star"]]), data)
    assert expanded(graph) == expected["adj_0based"]
    assert posterior(graph).assignments == expected["n_assignments"]
    assert posterior(graph).worst == fraction(expected["max_match_prob_uniform"])
    reached = largest(graph)
    assert reached["k_factor"] == expected["max_k_factor"]
    assert reached["global_1k"] == expected["min_effective_matches"]


@pytest.mark.quick
def test_neighbours_that_are_no_matches() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "table4")
    data = microdata([ranged("a", given_["T"])], [[value] for value in given_["T"]])
    graph = consistency(release(data, [[box(*ends)] for ends in given_["ranges"]]), data)
    assert [[j + 1 for j in rows] for rows in expanded(graph)] == expected["matches_1based"]
    found = components(graph)
    effective = edges_of(graph, found.effective.tolist())
    assert [[i + 1, j + 1] for (i, j), x in effective.items() if x] == expected["effective_1based"]
    assert [[i + 1, j + 1] for (i, j), x in effective.items() if not x] == expected["ineffective_1based"]
    assert found.matches().records[graph.record_of].tolist() == expected["effective_per_t"]
    of_people = np.bincount(found.record[graph.record_of])
    assert sorted(of_people[of_people > 0].tolist()) == sorted(expected["scc_sizes"])
    held = classes(graph, 2, found)
    assert held["kk"] is expected["two_two_anonymous"]
    assert held["global_1k"] is expected["global_1_2_anonymous"]
    chances = posterior(graph, found=found)
    assert (chances.assignments, chances.worst) == (expected["n_assignments"], expected["max_prob"])
    assert found.exposed(2)[0].tolist() == [1]


@pytest.mark.quick
def test_three_matches_each_and_yet_one_half() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "figure4")
    lists = given_["edges_1based_i_to_j (t_i in t'_j, incl. self-loops)"]
    graph = Graph.of([[j - 1 for j in lists[str(i)]] for i in range(1, 10)])
    found = components(graph)
    assert bool(found.effective.all()) is expected["all_edges_effective"]
    assert graph.degrees().least() == (expected["min_out_degree"], expected["min_in_degree"])
    chances = posterior(graph)
    of = edges_of(graph, chances.probability)
    assert chances.assignments == expected["n_assignments"]
    assert of[0, 0] * expected["n_assignments"] == expected["assignments_with_t1_t1'"]
    assert of[0, 0] == fraction(expected["uniform_P(t1=t1')"])
    assert of[4, 5] == fraction(expected["uniform_P(t5=t6')"])
    assert largest(graph)["k_factor"] == expected["max_k_factor"]
    assert classes(graph, 3)["global_1k"]
    assert lambda_star(graph) == Fraction(1, 2)


@pytest.mark.quick
def test_a_ring_is_not_even() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "figure5_ring")
    n = given_["n"]
    graph = Graph.of(ring(n, given_["k"]))
    assert [[(i + s) % n + 1 for s in range(3)] for i in range(n)] == expected["PS_1based"]
    chances = posterior(graph)
    assert chances.assignments == expected["n_assignments"]
    of = edges_of(graph, chances.probability)
    for i in range(n):
        assert of[i, i] == fraction(expected["P(t_i=t'_i)"])
        assert of[i, (i - 1) % n] == fraction(expected["P(t_i=t'_{i-1})"])
        assert of[i, (i - 2) % n] == fraction(expected["P(t_i=t'_{i-2})"])
    assert largest(graph)["k_factor"] == expected["max_k_factor"]
    assert lambda_star(graph) == Fraction(1, 3)


@pytest.mark.quick
def test_every_assignment_of_a_ring_extends_to_a_factor() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "lemma1_ring53")
    adjacent = ring(given_["n"], given_["k"])
    worlds = naive.assignments(adjacent, given_["n"])

    def rest(*taken: tuple[int, ...]) -> Graph:
        used = [{world[i] for world in taken} for i in range(len(adjacent))]
        return Graph.of([[j for j in rows if j not in used[i]] for i, rows in enumerate(adjacent)])

    def apart(*some: tuple[int, ...]) -> bool:
        return all(len(set(rows)) == len(rows) for rows in zip(*some, strict=True))

    assert all(has_factor(rest(world), 2) for world in worlds) is expected["every_assignment_extends"]
    pairs = [pair for pair in itertools.combinations(worlds, 2) if apart(*pair)]
    assert all(has_factor(rest(*pair), 1) for pair in pairs) is expected["every_disjoint_pair_extends"]
    triples = sum(apart(*triple) for triple in itertools.combinations(worlds, 3))
    assert triples == expected["n_factorisations"]


@pytest.mark.quick
def test_one_known_person_tells_about_the_others() -> None:
    given_, expected = golden("nonhomogeneous_graphs", "corruption_53")

    def worst(graph: Graph) -> Fraction:
        edges = zip(graph.tails.tolist(), graph.indices.tolist(), strict=True)
        return max(posterior(graph.without([edge])).worst or Fraction(0) for edge in edges)

    uniform = fraction(expected["worst_posterior_uniform_over_all_assignments"])
    assert worst(Graph.of(ring(given_["n"], given_["k"]))) == uniform
    assert worst(Graph.of([range(3)] * 3)) == fraction(expected["homogeneous_group_of_3"])
    assert worst(Graph.of([range(5)] * 5)) == fraction(expected["homogeneous_group_of_5"])


@pytest.mark.quick
def test_classes_of_the_four_tables() -> None:
    given_, expected = golden("revisited", "prop45")
    columns = [
        ranged(f"q{j}", [members[0] for members in family[:2]]) for j, family in enumerate(given_["families"])
    ]
    data = microdata(columns, given_["D"])
    for name, rows in given_["tables"].items():
        graph = consistency(release(data, [[box(cell[0], cell[-1]) for cell in row] for row in rows]), data)
        assert expanded(graph) == expected[name]["adj_0based"]
        assert classes(graph, given_["k"]) == expected[name]["classes"]


@pytest.mark.quick
def test_one_k_reveals_most_records() -> None:
    given_, expected = golden("revisited_limits", "one_k_insecure")
    n, k = given_["n"], given_["k"]
    data = microdata([ranged("a", range(n))], [[i] for i in range(n)])
    graph = consistency(release(data, [[str(i)] if i < n - k else ["*"] for i in range(n)]), data)
    assert classes(graph, k) == expected["classes"]
    assert components(graph).exposed(k)[0].tolist() == list(range(n - k))


@pytest.mark.quick
def test_a_row_may_have_fewer_records_than_records_have_rows() -> None:
    given_, expected = golden("revisited_limits", "global_not_k1")
    graph = Graph.of(given_["adj_0based"])
    assert graph.degrees().least() == (expected["min_out"], expected["min_in"])
    matches = components(graph).matches().least()
    assert matches == (expected["min_matches_per_record"], expected["min_matches_per_generalised"])
    assert posterior(graph).assignments == expected["n_assignments"]
    held = classes(graph, given_["k"])
    assert held["global_1k"]
    assert not held["k1"]


def test_two_matches_each_mean_two_both_ways() -> None:
    given_, expected = golden("revisited_limits", "global2_implies_22")
    graphs = violations = 0
    for n in (2, 3, 4):
        off = [(i, j) for i in range(n) for j in range(n) if i != j]
        for chosen in itertools.product((False, True), repeat=len(off)):
            adjacent: list[set[int]] = [{i} for i in range(n)]
            for (i, j), there in zip(off, chosen, strict=True):
                if there:
                    adjacent[i].add(j)
            graph = Graph.of(adjacent)
            found = components(graph, np.arange(n)).matches().least()
            violations += found[0] >= given_["k"] and min(*graph.degrees().least(), found[1]) < given_["k"]
            graphs += 1
    assert (graphs, violations) == (expected["graphs"], expected["violations"])


@pytest.mark.quick
def test_three_matches_each_are_not_equally_likely() -> None:
    given_, expected = golden("revisited_limits", "global_equal_probability")
    graph = Graph.of(given_["adj_0based"])
    assert components(graph).matches().least() == tuple(expected["min_matches"])
    chances = posterior(graph)
    assert chances.assignments == expected["n_assignments"]
    assert chances.worst == fraction(expected["max_match_prob_uniform"])
    assert has_factor(graph, given_["k"]) is expected["has_3_factor"]
    assert classes(graph, given_["k"])["global_1k"]


# ---- the noun


def test_nothing_at_all() -> None:
    graph = Graph.of([])
    assert set(largest(graph).values()) == {0}
    assert lambda_star(graph) == 0
    assert (posterior(graph).assignments, posterior(graph).worst) == (1, None)


@pytest.mark.parametrize(
    ("adjacent", "records", "rows", "said"),
    [
        pytest.param([[0, 2]], [2], [1, 1], "from 0 to 1", id="a row that is not there"),
        pytest.param([[0]], [2], [1], "2 records cannot be matched with 1 rows", id="too few rows"),
        pytest.param([[0]], [1, 1], [1, 1], "a list of rows for each", id="too few lists"),
    ],
)
def test_graphs_that_are_none(adjacent: Adjacency, records: list[int], rows: list[int], said: str) -> None:
    with pytest.raises(TableError, match=said):
        Graph.of(adjacent, records, rows)
