"""The patients of "Achieving Multidimensional K-Anonymity by a Greedy Approach" (Tables 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd.commands.demo.story import ShownTable, Stage, Step, counted

TITLE = "Mondrian: cut the table where people are, not column by column"
HEADER = ("age", "sex", "zip", "disease")
# Row 5 is printed with zip 533448; Tables 3 and 4 show that it must be that of row 2.
PATIENTS = (
    (35, "M", "533449", "flu"),
    (35, "F", "533441", "cancer"),
    (36, "M", "533449", "aids"),
    (37, "M", "533448", "hang nail"),
    (37, "F", "533441", "hepatitis"),
    (38, "M", "533449", "broken arm"),
)
VOTERS = (
    ("Lee", 35, "M", "533449"),
    ("Zan", 38, "F", "533448"),
    ("Dum", 41, "F", "533447"),
    ("Wry", 29, "M", "533446"),
    ("Su", 51, "F", "533445"),
)
TABLE_3 = {("[35,36]", "M", "533449"), ("[35,37]", "F", "533441"), ("[37,38]", "M", "[533448,533449]")}
POLICY = """
# Of six patients all have a disease of their own. A real table would be refused; this one is for reading.
accept = ["near-unique-sensitive"]
sensitive = ["disease"]
method = "{method}"

[quasi_identifiers]
age = {{type = "numeric"}}
sex = {{type = "categorical"}}
zip = {{type = "numeric"}}

[privacy]
k = 2
"""


def story(stage: Stage) -> Iterator[Step]:
    patients = stage.table("patients.csv", HEADER, PATIENTS)
    yield Step("A hospital's patients", ("The names were left out.",), patients)
    voters = stage.table("voters.csv", ("name", *HEADER[:3]), VOTERS)
    yield Step("What anyone can have: the list of voters", (), voters)
    joined = [(name, row[3]) for name, *known in VOTERS for row in PATIENTS if tuple(known) == row[:3]]
    yield Step(
        "What goes wrong: both tables joined",
        tuple(
            f"{name} is the only voter with a patient's age, sex and zip, and has {ill}."
            for name, ill in joined
        ),
    )
    single = stage.publish("patients.csv", "single", POLICY.format(method="single"))
    yield Step(
        "A first remedy, with k = 2",
        (
            "Each column is cut by itself, for all patients in the same way (single-dimensional recoding).",
            f"Classes have {single.facts['smallest_class']} patients or more. Information loss (GCP) "
            f"{single.loss('gcp'):.2f}.",
        ),
        ShownTable.sorted(single.rows),
        single.command,
    )
    cut = stage.publish("patients.csv", "mondrian", POLICY.format(method="mondrian"))
    rows = {*zip(*(cut.rows.column(name).rows() for name in HEADER[:3]), strict=True)}
    printed = "the classes of the paper's Table 3" if rows == TABLE_3 else "not those of the paper's Table 3"
    yield Step(
        "What the method does",
        (
            "Mondrian cuts the table in two where it is widest, then each part in its own way, as long as k "
            "people stay on both sides.",
            f"{counted(cut.facts['classes'], 'class', 'classes')} of {cut.facts['smallest_class']}: "
            f"{printed}. "
            f"Information loss (GCP) {cut.loss('gcp'):.2f}, discernibility {cut.loss('dm'):.0f} instead of "
            f"{single.loss('dm'):.0f}.",
        ),
        ShownTable.sorted(cut.rows),
        cut.command,
    )
    diseases, fitting = cut.rows.column("disease").rows(), cut.fitting()
    found = {name: sorted(str(diseases[row]) for row in fitting[_patient(name)]) for name, _ in joined}
    yield Step(
        "What an adversary then gets",
        (
            *(
                f"{name} now fits {counted(len(ill), 'row')}: {' or '.join(ill)}."
                for name, ill in found.items()
            ),
            f"Nobody's row is found with a probability above 1/{min(map(len, fitting))}; the verifier "
            "confirmed it.",
        ),
    )


def _patient(name: str) -> int:
    """The place of a voter among the patients."""
    known = next(voter[1:] for voter in VOTERS if voter[0] == name)
    return [row[:3] for row in PATIENTS].index(known)
