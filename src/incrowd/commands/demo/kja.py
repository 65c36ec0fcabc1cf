"""The tables of "k-Anonymity in the Presence of External Databases" (Figures 1, 2 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from incrowd.commands.demo.story import Shown, ShownTable, Stage, Step, counted
from incrowd.errors import Exposure

TITLE = "k-join-anonymity: people of a public table count towards k"
PLACES = {
    **{"A": (1, 1), "B": (2, 2), "C": (1, 4), "D": (2, 3), "E": (3, 1), "F": (3, 2), "G": (5, 4)},
    **{"G1": (5, 4), "G2": (5, 4)},
    # The paper names these four without their values; any that lie where its groups do would serve.
    **{"U": (1, 2), "V": (1, 3), "X": (4, 3), "Y": (4, 1)},
}
VALUES = {"A": "v1", "B": "v2", "C": "v1", "D": "v2", "E": "v1", "F": "v2", "G": "v3"}
HEADER = ("id", "qi1", "qi2")
COLUMNS = """
identifiers = ["id"]
sensitive = ["sa"]
method = "{method}"

[quasi_identifiers]
qi1 = {{type = "numeric"}}
qi2 = {{type = "numeric"}}

[privacy]
k = 3
"""
JOIN = """
[public]
table = "{public}"
id = "id"
membership_secret = true
"""


def story(stage: Stage) -> Iterator[Step]:
    private = stage.table(
        "private.csv", (*HEADER, "sa"), [(who, *PLACES[who], value) for who, value in VALUES.items()]
    )
    public = [who for who in PLACES if who != "D"]
    yield Step("The private table, with a sensitive attribute", (), private)
    yield Step("A public table: everybody but D", (), _listed(stage, "public.csv", public))
    alone = [who for who in VALUES if sum(PLACES[who] == PLACES[other] for other in public) == 1]
    yield Step(
        "What goes wrong: both tables joined",
        (
            f"{', '.join(alone)} are the only ones of the public table with their values: the sensitive "
            "value of each is known.",
            "G is one of three with equal values, although the private table alone does not show it.",
        ),
    )
    usual = stage.publish("private.csv", "usual", COLUMNS.format(method="mondrian"))
    yield Step(
        "The usual remedy, with k = 3",
        (
            "Only people of the private table are grouped. G shares a class with people far away.",
            f"Information loss (GCP) {usual.loss('gcp'):.2f}.",
        ),
        ShownTable.sorted(usual.rows),
        usual.command,
    )
    yield _refused(stage)
    _listed(stage, "completed.csv", [*PLACES])
    joined = stage.publish(
        "private.csv", "joined", COLUMNS.format(method="kja-refine") + JOIN.format(public="completed.csv")
    )
    yield Step(
        "What the method does, with D added to the public table",
        (
            f"People of both tables are grouped: {counted(joined.facts['classes'], 'class', 'classes')} of "
            "at least "
            f"{joined.facts['smallest_class']} people, of whom some are private.",
            f"Cells are smaller: discernibility {joined.loss('dm'):.0f} instead of {usual.loss('dm'):.0f}, "
            "information "
            f"loss (GCP) {joined.loss('gcp'):.2f} instead of {usual.loss('gcp'):.2f}.",
            "Sensitive values stand in a second file, by groups; how many of a class are private is stated.",
        ),
        ShownTable.sorted(joined.rows),
        joined.command,
    )
    yield Step(
        "What an adversary then gets",
        (
            f"Of a class, from {joined.facts['presence']['least']} to {joined.facts['presence']['most']} of "
            "the people "
            "are private, and nobody of a class is likelier to be than another.",
            f"Every value is one of {joined.facts['smallest_group']} or more of a group: {_values(joined)}.",
            "That holds for somebody who has the public table and re-runs the program, and not for somebody "
            "who knows "
            "who is in the private table.",
        ),
    )


def _listed(stage: Stage, name: str, people: Sequence[str]) -> ShownTable:
    return stage.table(name, HEADER, [(who, *PLACES[who]) for who in people])


def _refused(stage: Stage) -> Step:
    """D is in the private table alone; the paper publishes them all the same."""
    says = ["The paper joins all the same. D is then known to be private, since the public table lacks them."]
    try:
        stage.publish(
            "private.csv", "lacking", COLUMNS.format(method="kja-refine") + JOIN.format(public="public.csv")
        )
    except Exposure as refusal:
        says.append(f"So publish refuses: {str(refusal).splitlines()[0]}.")
    return Step("A person whom the public table lacks", tuple(says))


def _values(joined: Shown) -> str:
    groups: dict[str, list[str]] = {}
    columns = [joined.folder.buckets.column(name).rows() for name in ("group", "sa", "count")]
    for group, value, count in zip(*columns, strict=True):
        groups.setdefault(str(group), []).append(f"{count} times {value}")
    return "; ".join(", ".join(values) for values in groups.values())
