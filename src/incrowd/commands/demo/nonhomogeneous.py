"""The people of "Non-homogeneous Generalization in Privacy Preserving Data Publishing" (Tables 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from incrowd.commands.demo.story import Shown, ShownTable, Stage, Step
from incrowd.graph.posterior import posterior

TITLE = "The ring: rows of one group that differ, and a randomized assignment"
HEADER = ("zip", "sex", "age", "disease")
PEOPLE = (
    ("901152", "M", 30, "flu"),
    ("901157", "F", 28, "asthma"),
    ("901578", "M", 15, "flu"),
    ("902398", "M", 48, "gout"),
    ("902301", "M", 20, "asthma"),
)
POLICY = """
# Five people are too few for a real release: one has a disease of their own.
accept = ["near-unique-sensitive"]
sensitive = ["disease"]
method = "{method}"

[quasi_identifiers]
zip = {{type = "categorical", hierarchy = {{prefix = [6, 5, 4, 3]}}}}
sex = {{type = "categorical"}}
age = {{type = "numeric"}}

[privacy]
k = 2
{options}"""


def story(stage: Stage) -> Iterator[Step]:
    yield Step("Five people", (), stage.table("people.csv", HEADER, PEOPLE))
    classes = stage.publish("people.csv", "classes", POLICY.format(method="mondrian", options=""))
    yield Step(
        "What is lost with equivalence classes (the paper's Table 2)",
        (f"All rows of a class say the same. Information loss (GCP) {classes.loss('gcp'):.3f}.",),
        ShownTable.sorted(classes.rows),
        classes.command,
    )
    options = '\n[options]\ngroups = "mondrian"\n'
    ring = stage.publish("people.csv", "ring", POLICY.format(method="ring", options=options))
    yield Step(
        "What the method does, with k = 2",
        (
            "Inside each class people stand in a ring. Everybody's row covers them and the next one, and no "
            "more.",
            f"Information loss (GCP) {ring.loss('gcp'):.3f} instead of {classes.loss('gcp'):.3f}.",
            "Which of the two a row is about is drawn: a ring has several ways to hand out its rows, and no "
            "pair of a person "
            "and a row is likelier than 1/2.",
        ),
        ShownTable.sorted(ring.rows),
        ring.command,
    )
    fitting = ring.fitting()
    yield Step(
        "What an adversary then gets",
        (
            f"Whoever knows all five and how it was made finds {min(map(len, fitting))} rows for each of "
            "them, and each is "
            f"right with a probability of at most {ring.drawn}.",
            "Somebody who also knows one person's row can be more certain of another: up to "
            f"{_after_one(ring)} here. "
            "Classes of two have the same weakness. Take a larger k against people who know each other.",
        ),
    )


def _after_one(ring: Shown) -> Fraction:
    """The largest probability of a match, one person's row being known, if all assignments are as likely."""
    graph = ring.graph()
    known = [(person, row) for person, rows in enumerate(ring.fitting()) for row in rows]
    return max(posterior(graph.without([pair])).worst or Fraction(0) for pair in known)
