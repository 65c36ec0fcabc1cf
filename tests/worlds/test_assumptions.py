"""Every sentence that a manifest can state under `assumptions` has a test, and no other can be stated."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from support.method_names import ACCEPTED
from support.places import TESTS

from incrowd.algorithms.base import all_methods
from incrowd.encode import encode
from incrowd.errors import IncrowdError
from incrowd.flow import Table
from incrowd.policy import Policy
from incrowd.publishing.request import requested

# What the program says of itself: the test that fails if it does otherwise.
OF_THE_PROGRAM = {
    "a person may have several rows; nobody has more than one in k rows of a class": (
        "publishing/test_persons.py::test_classes_share_their_rows_evenly"
    ),
    "a person may have several rows; values are counted in rows, and in persons, each with one vote in the "
    "table that is shared evenly by their rows": (
        "publishing/test_persons.py::test_the_verifier_counts_persons"
    ),
    "values are counted in rows: a person with several rows in a class counts several times": (
        "distance_outliers/test_outliers.py::test_groups_are_plain_by_definition"
    ),
    "outliers are told by these columns and weights, at the stated p and d": (
        "distance_outliers/test_outliers.py::test_outliers_are_those_of_the_definition"
    ),
    "who is behind which row was drawn by chance that nobody can repeat": (
        "worlds/test_rerun.py::test_nobody_is_found_behind_a_row"
    ),
    "who of those with one value goes where was drawn by chance that nobody can repeat": (
        "worlds/test_transparent.py::test_nobody_has_a_value_with_more_than_its_chance"
    ),
    "who shares a group was drawn by chance that nobody can repeat": (
        "worlds/test_rerun.py::test_what_is_claimed_of_values_holds_or_is_said_not_to"
    ),
    "who shares a group follows from quasi-identifiers and published numbers alone": (
        "worlds/test_membership.py::test_nobody_of_a_class_is_likelier_to_be_private"
    ),
}
# What it takes for granted, or does not promise: the test that shows what happens without it.
OF_THE_WORLD = {
    "each person has one row": (
        "publishing/test_persons.py::test_a_person_with_most_rows_is_refused_and_told_what_helps"
    ),
    "a person may have several rows, and k counts persons; whoever has more rows of a class than others is "
    "behind a row of it with more than chance 1/k": (
        "publishing/test_persons.py::test_accepting_means_nothing_where_each_has_one_row"
    ),
    "the quasi-identifiers are all that outsiders know of a person": (
        "attacks/test_attacks.py::test_one_known_person_in_a_ring"
    ),
    "nobody can re-run the algorithm on the original table": (
        "attacks/test_attacks.py::test_a_known_algorithm_tells_who_is_behind_its_rows"
    ),
    "not against somebody who re-runs the program (minimality)": (
        "worlds/test_rerun.py::test_a_guard_that_reads_values_tells_some_of_them"
    ),
    "before the release every way to hand out the values was as likely: none goes with quasi-identifiers": (
        "worlds/test_transparent.py::test_a_splitter_that_sees_names_gives_values_away"
    ),
    "nobody's sensitive value is known: what one known value tells of others is not counted": (
        "attacks/test_attacks.py::test_corruption_of_whole_classes_gives_what_they_promise"
    ),
    "it says nothing about finding somebody's row": (
        "publishing/test_anatomy_files.py::test_the_story_says_what_is_not_protected"
    ),
    "what all groups together tell of how values go with quasi-identifiers is not counted": (
        "publishing/test_anatomy_files.py::test_the_story_says_what_is_not_protected"
    ),
    "the distribution of the whole table may be known to everyone": (
        "attacks/test_values.py::test_skewness_counts_whose_odds_double"
    ),
    "that somebody was left out is not hidden: whoever is known to be in the table and fits no row stands "
    "out": "attacks/test_attacks.py::test_a_registered_attack_breaks_its_control",
    "nobody knows who is in the private table: whoever does finds fewer than k": (
        "attacks/test_join.py::test_rows_of_the_private_table_alone_are_no_crowd"
    ),
    "the people of the public table exist, and are described there as they are": (
        "attacks/test_join.py::test_planted_people_leave_nobody_to_hide_behind"
    ),
    "of people who share a class, nobody is known beforehand to be likelier in the private table": (
        "worlds/test_membership.py::test_nobody_of_a_class_is_likelier_to_be_private"
    ),
    "nobody re-runs the program on candidates for the private table: rows depend on who is in it, and may "
    "show it for certain": "worlds/test_membership.py::test_what_must_be_accepted_by_name_breaks",
    "who is in the private table had a say in who shares a group: not against somebody who re-runs the "
    "program": "worlds/test_membership.py::test_the_whole_program_as_it_was_does",
    "sensitive values had a say in who shares a group: not against somebody who re-runs the program "
    "(minimality)": "worlds/test_membership.py::test_a_veto_that_sees_values_keeps_presence_even",
}
WHO = ["a", "a", "b", "c", "d", "e", "f", "g"]
TABLE = Table.of(
    {
        "age": ["1", "2", "3", "4", "5", "6", "7", "8"],
        "ill": ["1", "2", "3", "4", "1", "2", "3", "4"],
        "who": WHO,
        "id": [str(i) for i in range(8)],
    }
)
PROMISES: tuple[dict[str, Any], ...] = (
    {},
    {"l": 2},
    {"l": 2, "l_kind": "frequency"},
    {"t": 0.5},
    {"l": 2, "plain": {"p": "0.8", "d": "0.5"}},
    {"plain": {"p": "0.8", "d": "0.5"}},
    {"plain": {"p": "0.8", "d": "0.5", "form": "corner"}},
)


def requests() -> Iterator[Policy]:
    for name, method in all_methods().items():
        for promise in PROMISES:
            for entity in (None, "who"):
                for accept in ([], ["all"], ["unsafe-join"], ["uneven-persons"]):
                    asked: dict[str, Any] = {
                        "quasi_identifiers": {"age": {"type": "numeric"}},
                        "sensitive": ["ill"],
                        "identifiers": ["id"] if entity else ["id", "who"],
                        "entity": entity,
                        "method": name,
                        "accept": [*ACCEPTED[name], *accept],
                        "privacy": {"k": 2, **promise},
                    }
                    if method.joins:
                        asked["public"] = {"table": "", "id": "id", "membership_secret": True}
                    yield Policy(**asked)


@cache
def stated() -> frozenset[str]:
    """All sentences that some request leads to."""
    found: set[str] = set()
    for policy in requests():
        try:
            request = requested(policy)
            claims = request.claims(encode(TABLE, policy.schema(TABLE)))
        except IncrowdError:
            continue
        found |= {sentence for claim in claims for sentence in claim.assumptions}
    return frozenset(found)


def test_every_sentence_is_known_and_said() -> None:
    assert stated() == {*OF_THE_PROGRAM, *OF_THE_WORLD}


@pytest.mark.parametrize("test", sorted({*OF_THE_PROGRAM.values(), *OF_THE_WORLD.values()}))
def test_its_test_is_there(test: str) -> None:
    path, name = test.split("::")
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
