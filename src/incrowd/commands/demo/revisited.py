"""The three records of "k-Anonymization Revisited" that tell its notions apart (Proposition 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from incrowd.commands.audit import audit
from incrowd.commands.demo.story import ShownTable, Stage, Step

TITLE = "(1,k), (k,1), (k,k): how little must be generalized so that k people fit"
HEADER = ("a", "b")
RECORDS = ((1, 3), (1, 4), (2, 4))
# As printed: the i-th row is made for the i-th record.
PRINTED: Mapping[str, Sequence[tuple[str, str]]] = {
    "2-anonymity": (("[1,2]", "[3,4]"), ("[1,2]", "[3,4]"), ("[1,2]", "[3,4]")),
    "(1,2)-anonymity": (("1", "3"), ("[1,2]", "[3,4]"), ("[1,2]", "4")),
    "(2,1)-anonymity": (("1", "[3,4]"), ("[1,2]", "4"), ("[1,2]", "4")),
    "(2,2)-anonymity": (("1", "[3,4]"), ("[1,2]", "[3,4]"), ("[1,2]", "4")),
}
NO_SIGNS = str.maketrans({"(": "", ")": "", ",": "-"})
POLICY = """
method = "{method}"

[quasi_identifiers]
a = {{type = "numeric"}}
b = {{type = "numeric"}}

[privacy]
k = 2
"""


def story(stage: Stage) -> Iterator[Step]:
    yield Step("Three records", (), stage.table("records.csv", HEADER, RECORDS))
    classes = stage.publish("records.csv", "classes", POLICY.format(method="mondrian"))
    yield Step(
        "What is lost with equivalence classes",
        (
            "Three people cannot be cut into two classes of two. One class of all three is left, and it says "
            "nothing.",
            f"Information loss (GCP) {classes.loss('gcp'):.2f}.",
        ),
        ShownTable.sorted(classes.rows),
        classes.command,
    )
    judged = [(name, *_judged(stage, name, shown)) for name, shown in PRINTED.items()]
    yield Step(
        "Four tables of the paper, and the least number of each kind",
        (
            "Rows need not be equal. Perhaps it is enough that two rows fit each record (1,2), that two "
            "records "
            "fit each row (2,1), or both (2,2).",
            "One side alone protects nobody: with (1,2) a row can be somebody's record as it is, with (2,1) "
            "somebody can fit one row only.",
            "The last column counts rows that nobody can rule out by looking at all records together.",
        ),
        ShownTable.of(
            ("table of the paper", "rows for a record", "records for a row", "not ruled out"), judged
        ),
    )
    kk = stage.publish("records.csv", "kk", POLICY.format(method="kk"))
    yield Step(
        "What the method does: (k,k)",
        (
            "A row is made over each record and its nearest neighbour; then rows are widened until everybody "
            "fits two of them.",
            f"Information loss (GCP) {kk.loss('gcp'):.2f} instead of {classes.loss('gcp'):.2f}.",
        ),
        ShownTable.sorted(kk.rows),
        kk.command,
    )
    matches = kk.components().matches().records
    yield Step(
        "What an adversary then gets",
        (
            f"Everybody keeps at least {int(matches.min())} rows that cannot be ruled out.",
            "But (k,k) counts rows, not how likely they are: if every way to hand out the rows is as likely, "
            f"some match has the probability {kk.worst_match()}.",
            "So `publish` draws the record behind each row, in such a way that no match is likelier than "
            f"{kk.drawn}. The paper has no such draw.",
        ),
    )


def _judged(stage: Stage, name: str, shown: Sequence[tuple[str, str]]) -> tuple[int, int, int]:
    """The numbers that tell the notions apart, counted on the printed rows by `audit`."""
    file = f"printed-{name.translate(NO_SIGNS)}.csv"
    stage.table(file, HEADER, shown)
    classes = audit(stage.home / "records.csv", stage.home / file, stage.home / "classes.toml").classes
    return classes["1k"], classes["k1"], classes["global_1k"]
