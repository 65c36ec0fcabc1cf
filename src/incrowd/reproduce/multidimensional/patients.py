"""Tables 1 to 4 of the multidimensional paper: the patients, grouped again, and what is printed of them.

Zip codes were replaced in most of the printed tables, and that changed their order: 53710 < 53711 < 53712
became 533448, 533449, 533441. Cuts are made in the first order, tables are shown with the replaced codes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.algorithms.partitions.single import SingleDimensional
from incrowd.attacks.linked import joined
from incrowd.encode import encode
from incrowd.flow import Microdata, Partition, Table
from incrowd.generalize import Groups, means_of
from incrowd.long_work import silent
from incrowd.measures.published import Published
from incrowd.queries import Answer, Queryable
from incrowd.reproduce.outcome import Sheet
from incrowd.reproduce.rules import Finding, exact
from incrowd.reproduce.trial import rows_of
from incrowd.schema import Column, Kind, Role, Schema

K = 2
AGE, SEX, ZIP, DISEASE = "Age", "Sex", "Zipcode", "Disease"
VOTERS = (
    ("Lee", "35", "Male", "533449"),
    ("zan", "38", "Female", "533448"),
    ("dum", "41", "Female", "533447"),
    ("wry", "29", "Male", "533446"),
    ("su", "51", "Female", "533445"),
)
PATIENTS = (
    ("35", "Male", "533449", "Flu"),
    ("35", "Female", "533441", "Cancer"),
    ("36", "Male", "533449", "Aids"),
    ("37", "Male", "533448", "Hang Nail"),
    ("37", "Female", "533441", "Hepatitis"),
    ("38", "Male", "533449", "Broken arm"),
)
FIRST_ZIP = {"533448": "53710", "533449": "53711", "533441": "53712"}
PRINTED_CUT = 533449
PRINTED_TABLE_2 = tuple(
    ("[35-38]", sex, "[533448-533449]" if sex == "Male" else "533449" if disease == "Hepatitis" else code)
    for _, sex, code, disease in PATIENTS
)
PRINTED_MEAN = "36"  # of the class [37-38]
MISPRINTS = (
    ("1", "the fifth patient has the zip code 533448", "533441", "the class of Tables 3 and 4 has one code"),
    ("2", "the fifth patient has the zip code 533449", "533441", "else two classes have one record"),
    ("3", "zip codes 53710, 53711, 53712", "533448, 533449, 533441", "not replaced as in the other tables"),
    ("4", "five rows", "six rows", "the last of Table 3 is missing"),
    ("4", "mean 36 of the class [37-38]", "37.5", "36 lies outside the range"),
    ("4", "a third column Age", "Sex", "it says Male and Female"),
    ("2.1", "C_DM is the sum of |E|/2", "the sum of |E| squared", "the first is n/2, whatever is published"),
    ("2.2.1", "the first cut is at 533449", "533441", "no code is larger; the order was another"),
    ("2.4", "the single-dimensional recoding of Table 3", "Table 2", "Table 3 is multidimensional"),
)


@dataclass(frozen=True)
class Patients:
    """The classes of single- and of multidimensional cuts, and the rows that are then published."""

    single: Partition
    strict: Partition

    @cached_property
    def data(self) -> Microdata:
        return patients((AGE, SEX, ZIP))

    def rows(self, partition: Partition) -> Published:
        return rows_of(self.data, partition)

    def means(self, partition: Partition) -> tuple[str, ...]:
        """The mean age of each patient's class."""
        by_class = means_of(self.data, Groups.of(partition.labels), (AGE,), 1)[AGE]
        return tuple(by_class[label] for label in partition.labels.tolist())


def patients(names: Sequence[str], first: bool = False) -> Microdata:
    """The patients by some columns; `first`: with zip codes in the order that they had first."""
    rows = [(age, sex, FIRST_ZIP[code] if first else code) for age, sex, code, _ in PATIENTS]
    table, kinds = _table((AGE, SEX, ZIP), rows), {SEX: Kind.CATEGORICAL}
    columns = tuple(Column(name, Role.QUASI, kinds.get(name, Kind.NUMERIC)) for name in names)
    return encode(Table(tuple(names), tuple(table.column(name) for name in names)), Schema(columns))


def _table(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> Table:
    return Table.of({name: [row[j] for row in rows] for j, name in enumerate(names)})


def grouped(names: Sequence[str], first: bool) -> tuple[Partition, Partition]:
    """By single- and by multidimensional cuts."""
    data = patients(names, first)
    single = SingleDimensional(K, choose="axis").group(data, (), silent)
    return single, StrictMondrian(K, choose="widest").group(data, (), silent)


def examine() -> Patients:
    """Cut as Figure 1 does, by zip code and age; single-dimensional rows speak for slabs of each column."""
    single, strict = grouped((ZIP, AGE), first=True)
    if single.slabs is None:
        raise TypeError("single-dimensional cuts must have slabs")
    sexes = patients((SEX,)).codes[:, 0]
    slabs = np.column_stack([single.slabs[:, 1], sexes, single.slabs[:, 0]]).astype(np.int32)
    return Patients(Partition(single.labels, slabs), strict)


def cell_of(rows: Published, j: int, row: int) -> str:
    """A cell as the paper writes it."""
    texts, cells, cell = rows.attributes[j].texts, rows.cells[j], rows.rows[j][row]
    low, high = texts[cells.low[cell]], texts[cells.high[cell]]
    return low if low == high else f"[{low}-{high}]"


def classes_of(partition: Partition) -> list[list[int]]:
    """The members of each class, in the order of the first of them."""
    numbers = np.unique(partition.labels)
    return sorted(np.flatnonzero(partition.labels == number).tolist() for number in numbers)


def sizes_of(partition: Partition) -> list[int]:
    return sorted(map(len, classes_of(partition)))


# Tables


def sheets(found: Patients) -> tuple[Sheet, ...]:
    """Tables 2 to 4 side by side, Table 1, the two queries, what is misprinted."""
    single, strict = found.rows(found.single), found.rows(found.strict)
    means = found.means(found.strict)
    rows = []
    for i, patient in enumerate(PATIENTS):
        two, three = ([cell_of(each, j, i) for j in range(3)] for each in (single, strict))
        rows.append((patient[3], three[1], two[0], two[2], three[0], means[i], three[2]))
    header = (DISEASE, SEX, "2: Age", "2: Zipcode", "3, 4: Age (R)", "4: Age (M)", "3, 4: Zipcode")
    about = "The patients, 2-anonymous: Table 2 by single-dimensional, Tables 3 and 4 by strict cuts."
    return (
        Sheet("Tables 2 to 4", header, tuple(rows), about),
        Sheet(
            "Table 1, voters", ("Name", AGE, SEX, ZIP), VOTERS, f"Joined with patients: {_linked_words()}."
        ),
        Sheet("Table 1, patients", (AGE, SEX, ZIP, DISEASE), PATIENTS, "As they must have been."),
        _queries(found),
        _metrics(found),
        Sheet("Misprints", ("table or section", "printed", "must be", "because"), MISPRINTS),
    )


def _linked() -> list[tuple[str, str]]:
    voters = _table(("Name", AGE, SEX, ZIP), VOTERS)
    found = joined(voters, _table((AGE, SEX, ZIP, DISEASE), PATIENTS), [AGE, SEX, ZIP])
    return [(VOTERS[voter][0], PATIENTS[patient][3]) for voter, patient in found]


def _linked_words() -> str:
    return ", ".join(f"{name} has {disease}" for name, disease in _linked()) or "nobody is found"


@dataclass(frozen=True, slots=True)
class QueryAnswers:
    """What the two queries of section 2.4 get from a table."""

    mean: float | None
    young: Answer

    @property
    def words(self) -> tuple[str, str]:
        mean = "" if self.mean is None else f"{self.mean:g}"
        if self.young.exact:
            return mean, f"{self.young.lower}, exactly"
        return mean, f"{self.young.lower} to {self.young.upper}, evenly spread {self.young.estimate:g}"


def answers(found: Patients, partition: Partition, means: Sequence[str]) -> QueryAnswers:
    rows, names = found.rows(partition), (AGE, SEX, ZIP)
    shown = {
        name: [cell_of(rows, j, i).replace("-", ",") for i in range(len(rows))]
        for j, name in enumerate(names)
    }
    age, zip_code = (Column(name, Role.QUASI, Kind.NUMERIC, mean=name == AGE) for name in (AGE, ZIP))
    schema = Schema((age, Column(SEX, Role.QUASI), zip_code))
    release = Queryable.of(Table.of({**shown, f"{AGE}_mean": means}), schema)
    mean = release.ask(f"SELECT AVG({AGE}) WHERE {SEX} = 'Male'").estimate
    return QueryAnswers(mean, release.ask(f"SELECT COUNT(*) WHERE {SEX} = 'Male' AND {AGE} <= 36"))


def all_answers(found: Patients) -> dict[str, QueryAnswers]:
    """From Table 2, from Table 4, and from Table 4 with the mean that is printed."""
    single, strict = (found.means(partition) for partition in (found.single, found.strict))
    last = found.strict.labels == found.strict.labels[5]
    printed = [PRINTED_MEAN if wrong else mean for wrong, mean in zip(last, strict, strict=True)]
    return {
        "Table 2, with means": answers(found, found.single, single),
        "Table 4": answers(found, found.strict, strict),
        "Table 4 as printed": answers(found, found.strict, printed),
    }


def true_answers() -> tuple[Fraction, int]:
    ages = [int(age) for age, sex, *_ in PATIENTS if sex == "Male"]
    return Fraction(sum(ages), len(ages)), sum(age <= 36 for age in ages)


def _queries(found: Patients) -> Sheet:
    mean, young = true_answers()
    rows = [(name, *each.words) for name, each in all_answers(found).items()]
    header = ("from", "AVG(Age) of males", "COUNT of males of at most 36")
    return Sheet("Queries of section 2.4", header, (*rows, ("the patients", f"{float(mean):g}", f"{young}")))


def class_sizes(found: Patients) -> dict[str, list[int]]:
    """How many rows are equal, table by table."""
    return {
        "Table 2 as printed": sorted(Counter(PRINTED_TABLE_2).values()),
        "Table 2": sizes_of(found.single),
        "Table 3": sizes_of(found.strict),
    }


def penalties(sizes: Sequence[int]) -> tuple[int, Fraction, Fraction]:
    """C_DM, C_AVG, and C_DM by the printed formula."""
    return sum(s * s for s in sizes), Fraction(sum(sizes), len(sizes) * K), Fraction(sum(sizes), 2)


def _metrics(found: Patients) -> Sheet:
    rows = []
    for name, sizes in class_sizes(found).items():
        dm, avg, printed = penalties(sizes)
        rows.append((name, ", ".join(map(str, sizes)), f"{dm}", f"{float(avg):g}", f"{printed}"))
    return Sheet("Sizes of classes", ("", "sizes", "C_DM", "C_AVG", "sum of |E|/2"), tuple(rows))


def facts(found: Patients) -> dict[str, Any]:
    return {
        "classes": {"single": classes_of(found.single), "strict": classes_of(found.strict)},
        "linked": [list(pair) for pair in _linked()],
        "sizes": class_sizes(found),
    }


# What the paper says of the examples


def lee_found(_found: Patients) -> Finding:
    return exact(_linked() == [("Lee", "Flu")], _linked_words())


def two_anonymous(found: Patients) -> Finding:
    sizes = class_sizes(found)
    printed, mended = min(sizes["Table 2 as printed"]), min(sizes["Table 2"])
    words = f"smallest class {printed}; with the zip code mended {mended}"
    return exact(printed >= K, words, counterexample="the fifth row has a zip code that no other row has")


def told_apart(found: Patients) -> Finding:
    """By C_DM as it is printed."""
    sizes = class_sizes(found)
    two, three = penalties(sizes["Table 2"]), penalties(sizes["Table 3"])
    words = f"{two[2]} and {three[2]}; with squares {two[0]} and {three[0]}"
    return exact(two[2] != three[2], words, counterexample="the sum of |E|/2 is n/2, whatever is published")


def multidimensional_better(found: Patients) -> Finding:
    sizes = class_sizes(found)
    two, three = penalties(sizes["Table 2"]), penalties(sizes["Table 3"])
    words = f"{three[0]} and {float(three[1]):g} against {two[0]} and {float(two[1]):g}"
    return exact(three[0] < two[0] and three[1] < two[1], words)


EXPECTED = [[[0, 2, 3, 5], [1, 4]], [[0, 2], [1, 4], [3, 5]]]


def classes_given(found: Patients) -> Finding:
    """With zip codes in the order that they had first."""
    ours = [classes_of(found.single), classes_of(found.strict)]
    return exact(ours == EXPECTED, f"sizes {_sizes(ours)}")


def classes_with_printed_codes(_found: Patients) -> Finding:
    replaced = [classes_of(partition) for partition in grouped((ZIP, AGE), first=False)]
    against = "53712 became 533441, now the smallest of the codes"
    return exact(replaced == EXPECTED, f"sizes {_sizes(replaced)}", counterexample=against)


def first_cut(_found: Patients) -> Finding:
    right = sum(int(row[2]) > PRINTED_CUT for row in PATIENTS)
    against = f"no zip code is larger than {PRINTED_CUT}"
    return exact(right >= K, f"{right} patients on the right", counterexample=against)


def cuts_go_on(found: Patients) -> Finding:
    single, strict = len(classes_of(found.single)), len(classes_of(found.strict))
    words = f"{strict} against {single} classes, with the first order of zip codes"
    return exact(single == 2 and strict > 2, words)


def not_single(found: Patients) -> Finding:
    """Is somebody of one age mapped to two ranges in Table 3, and nobody in Table 2?"""
    ages = [row[0] for row in PATIENTS]
    ranges = [
        {age: {cell_of(rows, 0, i) for i, each in enumerate(ages) if each == age} for age in ages}
        for rows in (found.rows(found.single), found.rows(found.strict))
    ]
    several = [max(map(len, each.values())) for each in ranges]
    words = f"age 35 becomes {' or '.join(sorted(ranges[1]['35']))}"
    return exact(several[0] == 1 and several[1] > 1, words)


def mean_answered(found: Patients) -> Finding:
    got, (mean, _) = all_answers(found), true_answers()
    words = f"{got['Table 4'].words[0]}; with the printed mean {got['Table 4 as printed'].words[0]}"
    return exact(got["Table 4"].mean == mean, words)


def printed_mean_answers(found: Patients) -> Finding:
    got, (mean, _) = all_answers(found), true_answers()
    words = f"{got['Table 4 as printed'].words[0]}, truly {float(mean):g}"
    against = f"the mean {PRINTED_MEAN} of the class [37-38] lies outside its range"
    return exact(got["Table 4 as printed"].mean == mean, words, counterexample=against)


def count_answered(found: Patients) -> Finding:
    four, (_, young) = all_answers(found)["Table 4"], true_answers()
    return exact(four.young.exact and four.young.lower == young, four.words[1])


def count_unanswered(found: Patients) -> Finding:
    two = all_answers(found)["Table 2, with means"]
    return exact(not two.young.exact, two.words[1])


def _sizes(several: Sequence[Sequence[Sequence[int]]]) -> str:
    return " and ".join(", ".join(str(len(each)) for each in classes) for classes in several)
