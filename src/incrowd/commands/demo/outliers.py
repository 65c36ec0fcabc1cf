"""The nine people of "Hiding Distinguished Ones into Crowd" (Figures 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd.commands.attack import attack
from incrowd.commands.demo.story import Shown, ShownTable, Stage, Step, counted

TITLE = "Plain k-anonymity: classes that reveal no outlier"
HEADER = ("name", "age", "gender", "zip", "income")
PEOPLE = (
    ("Alice", 20, "F", 6006, 20),
    ("Bob", 20, "M", 6011, 25),
    ("Justin", 20, "M", 6013, 120),
    ("Carol", 30, "F", 6001, 30),
    ("Allan", 30, "M", 6010, 50),
    ("Bill", 30, "M", 6022, 2_000_000),
    ("Ben", 40, "M", 6004, 100),
    ("Susan", 40, "F", 6002, 110),
    ("David", 40, "M", 6003, 130),
)
P, D, COLUMNS = "0.7", "0.9", "age+zip+income"
POLICY = """
# Everybody of nine has an income of their own. A real table would be refused; this one is for reading.
accept = ["near-unique-sensitive"]
identifiers = ["name"]
sensitive = ["income"]
method = "{method}"

[quasi_identifiers]
age = {{type = "numeric"}}
gender = {{type = "categorical"}}
zip = {{type = "numeric"}}

[privacy]
k = 3
{plain}"""
PLAIN = f"""max_suppression = 0.2

[privacy.plain]
p = {P}
d = {D}
columns = ["age", "zip", "income"]
"""


def story(stage: Stage) -> Iterator[Step]:
    yield Step("Nine people and their incomes, in thousands", (), stage.table("people.csv", HEADER, PEOPLE))
    usual = stage.publish("people.csv", "usual", POLICY.format(method="mondrian", plain=""))
    yield Step(
        "The usual remedy, with k = 3",
        (f"Classes of {usual.facts['smallest_class']}: nobody's row is found with a probability above 1/3.",),
        ShownTable.sorted(usual.rows),
        usual.command,
    )
    name, *_, most = max(PEOPLE, key=lambda person: person[4])
    others = ", ".join(str(income) for income in _class_of(usual, most) if income != most)
    yield Step(
        "What goes wrong",
        (
            f"An income of {most:,} stands out in any class, and everybody knows that {name} is rich: it is "
            "his.",
            f"The incomes beside it ({others}) are then those of the others: a class of two is left of "
            "three.",
            _seen(stage, usual),
        ),
    )
    plain = stage.publish("people.csv", "plain", POLICY.format(method="expc", plain=PLAIN))
    yield Step(
        f"What the method does: k = 3, and no class reveals an outlier (p = {P}, d = {D})",
        (
            "An outlier is further than d away from at least the share p of all records, by age, zip and "
            "income.",
            f"{counted(len(PEOPLE) - len(plain.rows), 'record')} cannot be hidden, since the income alone "
            "stands "
            "out, and is suppressed.",
            "ExpC grows a class until nobody in it must be an outlier, whoever has which income.",
            f"That costs: information loss (GCP) {plain.loss('gcp'):.2f} instead of {usual.loss('gcp'):.2f}.",
        ),
        ShownTable.sorted(plain.rows),
        plain.command,
    )
    yield Step(
        "What an adversary then gets",
        (
            _seen(stage, plain),
            "Who was suppressed fits no row: somebody who knows that they are in the table concludes that "
            "they "
            "stand out.",
        ),
    )


def _class_of(shown: Shown, income: int) -> list[int]:
    """All incomes of the class that has this one."""
    classes = [*zip(*(shown.rows.column(name).rows() for name in ("age", "gender", "zip")), strict=True)]
    incomes = [int(str(text)) for text in shown.rows.column("income").rows()]
    own = classes[incomes.index(income)]
    return sorted(value for each, value in zip(classes, incomes, strict=True) if each == own)


def _seen(stage: Stage, shown: Shown) -> str:
    """What the attack on outliers sees at p and d."""
    asked = None if "plain" in shown.facts["reached"] else f"{P},{D},{COLUMNS}"
    found = attack(shown.folder.path, stage.home / "people.csv", outliers=asked)
    seen = next(each for each in found.results if each.name.startswith("outliers")).details
    return (
        f"The attack `outliers` looks at {counted(int(seen['classes']), 'class', 'classes')}: in "
        f"{seen['with_a_bad_row']} an income makes an outlier of whoever has it, in "
        f"{seen['with_a_bad_column']} somebody is one whatever they earn."
    )
