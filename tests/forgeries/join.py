"""A good release of people of two tables, written by hand, and ways to spoil it.

Everyone is sorted by sex and age and cut into classes where the age changes, so that no two classes hold the
same person. Classes without anybody of the private table are dropped. Sensitive values are in buckets, groups
of several classes.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from forgeries.buckets import HEADER, ILLS, Bucketed, csv_text, described
from forgeries.classes import domain, manifest_text, protected, set_of, span
from forgeries.classes import manifest as plain_manifest

from incrowd.schema import Claim, Column, Kind, Role, Schema

SCHEMA = Schema(
    (
        Column("id", Role.IDENTIFIER),
        Column("age", Role.QUASI, Kind.NUMERIC),
        Column("ill", Role.SENSITIVE),
        Column("sex", Role.QUASI),
        Column("cost", Role.SENSITIVE, Kind.NUMERIC),
        Column("note", Role.KEEP),
    )
)
OWN, K, K_GROUPS = 100, 5, 4
CLAIMS = (
    Claim("k-join-anonymity", {"k": K}),
    Claim("sensitive-groups", {"k": K_GROUPS}),
    Claim("distinct-l-diversity", {"l": 2}, "ill"),
)
PUBLIC = ["street", "id", "sex", "age"]
Values = tuple[str, str]  # age, sex
Member = int | Values  # a person by number, or somebody who is none


@dataclass
class Joined(Bucketed):
    """A release with the public table, its second source, and who was put together."""

    public: list[list[str]] = field(default_factory=list)
    public_names: list[str] = field(default_factory=lambda: list(PUBLIC))
    second: list[list[str]] | None = None
    people: list[Values] = field(default_factory=list)
    classes_of: list[list[Member]] = field(default_factory=list)
    hosts: list[int] = field(default_factory=list)  # the group of each class
    numbers: list[int] = field(default_factory=list)  # what each group is called
    order: Callable[[int, Member], object] | None = None
    other_public: list[list[str]] | None = None  # handed to the verifier instead

    def write(self, folder: Path) -> None:
        folder.mkdir()
        texts = {"data.csv": csv_text([self.names, *self.rows])}
        if self.lines:
            texts["sensitive.csv"] = csv_text([self.header, *self.lines])
        said = copy.deepcopy(self.manifest)
        said.setdefault("files", {name: described(text) for name, text in texts.items()})
        if isinstance(said.get("public"), dict):
            if "kind" not in said["public"]:
                said["public"].setdefault("sha256", described(self.public_text)["sha256"])
            if self.second is not None:
                second = {"sha256": described(self.second_text)["sha256"], "rows": len(self.second)}
                said["public"].setdefault("checked_against", second)
        for name, text in texts.items():
            (folder / name).write_bytes(text)
        (folder / "release.json").write_text(manifest_text(said), encoding="utf-8")
        (folder.parent / "public.csv").write_bytes(
            self.public_text
            if self.other_public is None
            else csv_text([self.public_names, *self.other_public])
        )
        if self.second is not None:
            (folder.parent / "second.csv").write_bytes(self.second_text)
        for spoil in self.after:
            spoil(folder)

    @property
    def public_text(self) -> bytes:
        return csv_text([self.public_names, *self.public])

    @property
    def second_text(self) -> bytes:
        return csv_text([PUBLIC, *(self.second or [])])

    def values(self, member: Member) -> Values:
        return self.people[member] if isinstance(member, int) else member

    def own_of(self, members: list[Member]) -> list[int]:
        return [m for m in members if isinstance(m, int) and m < len(self.original)]

    def put_together(self, everyone: bool = False) -> None:
        """Who hides with whom: people by sex and age, cut where the age changes."""
        sort = sorted(range(len(self.people)), key=lambda i: (self.people[i][1], float(self.people[i][0])))
        classes: list[list[Member]] = [[]]
        for i in sort:
            last = classes[-1]
            if len(last) >= K and same(self.values(last[-1])) != same(self.people[i]):
                classes.append([])
            classes[-1].append(i)
        if len(classes[-1]) < K:
            classes[-2:] = [classes[-2] + classes[-1]]
        self.classes_of = [members for members in classes if everyone or self.own_of(members)]
        self.into_groups()

    def into_groups(self) -> None:
        """As many classes in a row as have twice K_GROUPS own people together."""
        self.hosts, held = [], 0
        for members in self.classes_of:
            self.hosts.append(held // (2 * K_GROUPS))
            held += len(self.own_of(members))
        rank = {host: place for place, host in enumerate(sorted(set(self.hosts)))}
        self.hosts = [rank[host] for host in self.hosts]
        groups = [
            sum(len(self.own_of(m)) for m, h in zip(self.classes_of, self.hosts, strict=True) if h == g)
            for g in range(len(rank))
        ]
        if groups[-1] < K_GROUPS:
            self.hosts = [min(host, len(groups) - 2) for host in self.hosts]
        self.numbers = list(range(1, max(self.hosts) + 2))
        random.Random(3).shuffle(self.numbers)

    def publish_people(self) -> None:
        """Rows and lines of the classes as they stand, and a manifest to match."""
        said = []
        for members, host in zip(self.classes_of, self.hosts, strict=True):
            found = [self.values(member) for member in members]
            ages = sorted({age.removesuffix(".0") for age, _ in found}, key=float)
            said += [
                (m, [span(ages), set_of({sex for _, sex in found}, 2), str(self.numbers[host])])
                for m in members
            ]
        random.Random(5).shuffle(said)
        if self.order is not None:
            told = {id(row): self.order(place, m) for place, (m, row) in enumerate(said)}
            said.sort(key=lambda line: told[id(line[1])])  # type: ignore[arg-type, return-value]
        self.rows = [list(row) for _, row in said]
        self.truth = [m if isinstance(m, int) else -1 for m, _ in said]
        self.say_lines()
        self.manifest["rows"]["published"] = len(self.rows)
        self.manifest["apart"]["groups"] = len(self.numbers)
        self.manifest["public"]["rows"] = len(self.public)
        for column in self.manifest["columns"]:
            if column["role"] == "quasi_identifier":
                column["domain"] = domain(self.schema.column(column["name"]), self.column(column["name"]))

    def say_lines(self) -> None:
        counted: Counter[tuple[int, str, str]] = Counter()
        for members, host in zip(self.classes_of, self.hosts, strict=True):
            for i in self.own_of(members):
                counted[self.numbers[host], self.original[i][2], self.original[i][4]] += 1
        self.lines = [[str(g), protected(ill), cost, str(c)] for (g, ill, cost), c in sorted(counted.items())]

    def without_values(self) -> None:
        """The same rows without groups: nothing sensitive is published."""
        self.names, self.rows, self.lines = self.names[:2], [row[:2] for row in self.rows], []
        self.say(CLAIMS[0])
        del self.manifest["apart"]
        self.manifest["columns"] = [c for c in self.manifest["columns"] if c["role"] == "quasi_identifier"]


def same(values: Values) -> tuple[float, str]:
    return float(values[0]), values[1]


def private_people(rng: random.Random) -> list[list[str]]:
    return [
        [
            f"p{i:03}",
            str(rng.randint(20, 59)),
            ILLS[i % 4],
            rng.choice("FM"),
            str(rng.randint(0, 2)),
            f"note {i}",
        ]
        for i in range(OWN)
    ]


def public_people(own: list[list[str]], rng: random.Random) -> list[list[str]]:
    """Two in three of the private table, others of their ages, much older people, and some useless rows."""
    rows = [[f"street {i}", row[0], row[3], row[1]] for i, row in enumerate(own) if i % 3]
    rows += [[f"way {i}", f"q{i:03}", rng.choice("FM"), f"{rng.randint(20, 59)}.0"] for i in range(80)]
    rows += [[f"lane {i}", f"z{i:03}", "F", str(80 + i % 10)] for i in range(20)]
    rows += [["nowhere", "", "F", "33"], ["", "x001", "", "33"], ["", "x002", "M", ""]]
    rng.shuffle(rows)
    return [*rows, ["twice", "q005", "M", "21"]]


def stand_in(
    own: list[list[str]], public: list[list[str]], confirmed: set[str] | None = None
) -> list[Values]:
    """Everybody: the own people, then those of the public table who can be used."""
    names, found = {row[0] for row in own}, [(row[1], row[3]) for row in own]
    for _, name, sex, age in public:
        if name and name not in names and sex and age and (confirmed is None or name in confirmed):
            found.append((age, sex))
        names.add(name)
    return found


def good() -> Joined:
    rng = random.Random(11)
    original = private_people(rng)
    public = public_people(original, rng)
    empty = {"age": ["1"], "sex": ["F"]}
    said = plain_manifest(SCHEMA, CLAIMS, empty)
    said["columns"] = [c for c in said["columns"] if c["role"] != "keep"]
    for column in said["columns"]:
        if column["role"] == "sensitive":
            column["apart"] = True
    said["apart"] = {"file": "sensitive.csv", "groups": 0}
    said["public"] = {"rows": len(public), "id": "id"}
    said["accepted"] = ["unsafe-join"]  # the public table lacks some of the private people
    names = ["age", "sex", "group"]
    columns = [c.name for c in SCHEMA.columns]
    release = Joined(columns, original, names, [], said, SCHEMA, CLAIMS, header=list(HEADER), public=public)
    release.people = stand_in(original, public)
    release.put_together()
    release.publish_people()
    return release


def confirm(release: Joined, but: tuple[str, ...] = ("q001", "q002", "q003")) -> None:
    """A second source: it writes ages in another way, and does not know some people as the first one does."""
    release.second = []
    for street, name, sex, age in release.public:
        if name == but[0] or street == "twice":
            continue
        spelt = f"{float(age):.2f}" if age else ""
        if name == but[1]:
            spelt = "20" if float(age) != 20 else "21"
        release.second.append([street, name, "FM"[sex == "F"] if name == but[2] else sex, spelt])
    release.second.append(["", "q999", "F", "30"])


def checked() -> Joined:
    """A good release of people whom a second source confirms."""
    release = good()
    confirm(release)
    known = {row[1] for row in release.public} - {"q001", "q002", "q003"}
    release.people = stand_in(release.original, release.public, known)
    release.put_together()
    release.publish_people()
    return release


Spoiler = Callable[[Joined], None]
JOIN_FORGERIES: dict[str, tuple[str, Spoiler]] = {}


def forgery(caught_by: str) -> Callable[[Spoiler], Spoiler]:
    def enter(spoil: Spoiler) -> Spoiler:
        JOIN_FORGERIES[spoil.__name__] = (caught_by, spoil)
        return spoil

    return enter


def large(r: Joined) -> list[Member]:
    """A class with more than k people, own ones and others."""
    return next(m for m in r.classes_of if len(m) > K and 1 < len(r.own_of(m)) < len(m))


def other_of(r: Joined, members: list[Member]) -> Member:
    """Somebody of the public table who is neither the youngest nor the oldest of the class, if possible."""
    ages = sorted(float(r.values(m)[0]) for m in members)
    others = [m for m in members if m not in r.own_of(members)]
    return min(others, key=lambda m: float(r.values(m)[0]) in (ages[0], ages[-1]))


# Who has a row


@forgery("truth")
def somebody_of_the_private_table_left_out(r: Joined) -> None:
    """The only one of that age in the class, at its end: no box holds this person any more."""
    members, gone = next(
        (members, i)
        for members in r.classes_of
        for i in r.own_of(members)
        if len(members) > K and alone_at_the_end(r, members, i)
    )
    members.remove(gone)
    r.publish_people()


@forgery("sensitive")
def values_of_somebody_left_out(r: Joined) -> None:
    """The rows could be about this person, too, but nobody's values are missing from the table."""
    members = next(m for m in r.classes_of if len(m) > K and 0 < len(r.own_of(m)) < len(m))
    gone = next(i for i in r.own_of(members) if not alone_at_the_end(r, members, i))
    members.remove(gone)
    r.publish_people()


def alone_at_the_end(r: Joined, members: list[Member], i: int) -> bool:
    ages = [float(r.values(m)[0]) for m in members]
    age = float(r.values(i)[0])
    return age in (min(ages), max(ages)) and ages.count(age) == 1


@forgery("truth")
def somebody_left_out_for_somebody_else(r: Joined) -> None:
    """As many rows as before; an own person's is gone, and of the public table somebody has two."""
    one, other = r.classes_of[0], r.classes_of[-1]
    one.remove(r.own_of(one)[0])
    other.append(other_of(r, other))
    r.publish_people()


@forgery("truth")
def somebody_of_the_public_table_used_twice(r: Joined) -> None:
    members = large(r)
    members.append(other_of(r, members))
    r.publish_people()


@forgery("truth")
def rows_for_nobody(r: Joined) -> None:
    r.classes_of.append([("80", "M"), ("81", "M")] * K)
    r.hosts.append(0)
    r.publish_people()


@forgery("truth")
def an_invented_person(r: Joined) -> None:
    members = large(r)
    members.append(r.values(members[0]))
    r.publish_people()


@forgery("cells")
def an_invented_person_of_an_age_that_nobody_has(r: Joined) -> None:
    members = large(r)
    members.append(("35.5", r.values(members[0])[1]))
    members.append(("99", r.values(members[0])[1]))
    r.publish_people()


@forgery("truth")
def somebody_of_both_tables_counted_twice(r: Joined) -> None:
    """The public table has this person, who is no other than the one of the private table."""
    known = {row[1] for row in r.public}
    members = next(m for m in r.classes_of if any(r.original[i][0] in known for i in r.own_of(m)))
    twin = next(i for i in r.own_of(members) if r.original[i][0] in known)
    members.append(r.people[twin])
    r.publish_people()


def class_of(r: Joined, values: Values) -> list[Member]:
    """The class that would hold somebody with these values."""
    for members in r.classes_of:
        found = [r.values(m) for m in members]
        ages = [float(age) for age, sex in found]
        if {sex for _, sex in found} == {values[1]} and min(ages) <= float(values[0]) <= max(ages):
            return members
    raise LookupError(values)


@forgery("truth")
def somebody_without_an_id(r: Joined) -> None:
    class_of(r, ("33", "F")).append(("33", "F"))
    r.publish_people()


@forgery("truth")
def somebody_of_the_public_table_by_another_row(r: Joined) -> None:
    """q005 is there twice, with other values; only the first row counts."""
    first = next(row for row in r.public if row[1] == "q005")
    assert (first[2], float(first[3])) != ("M", 21)
    members = next(m for m in r.classes_of if r.values(m[0])[1] == "M")
    members.append(("21", "M"))
    r.publish_people()


@forgery("truth")
def somebody_whose_age_is_not_known(r: Joined) -> None:
    members = next(m for m in r.classes_of if {r.values(i)[1] for i in m} == {"M"})
    members.append(r.values(members[0]))
    r.publish_people()
    cell = next(row[0] for row, i in zip(r.rows, r.truth, strict=True) if i == members[0])
    r.set_class([p for p, row in enumerate(r.rows) if row[:2] == [cell, "M"]], "age", f"{{missing|{cell}}}")


@forgery("truth")
def somebody_unconfirmed(r: Joined) -> None:
    confirm(r, ("q001", "", ""))


@forgery("truth")
def somebody_of_whom_sources_differ(r: Joined) -> None:
    confirm(r, ("", "q002", ""))


@forgery("truth")
def somebody_whose_sex_differs(r: Joined) -> None:
    confirm(r, ("", "", "q003"))


@forgery("truth")
def a_box_that_does_not_hold_its_person(r: Joined) -> None:
    """The youngest fall out of it."""
    members = large(r)
    ages = sorted({r.values(m)[0].removesuffix(".0") for m in members}, key=float)
    rows = [p for p, i in enumerate(r.truth) if i in members]
    r.set_class(rows, "age", span(ages[1:]))
    r.manifest["columns"][0]["domain"] = domain(SCHEMA.column("age"), r.column("age"))


@forgery("rows")
def fewer_rows_than_people_of_the_private_table(r: Joined) -> None:
    del r.rows[OWN - 1 :], r.truth[OWN - 1 :]
    r.manifest["rows"]["published"] = OWN - 1


@forgery("rows")
def more_rows_than_people(r: Joined) -> None:
    r.rows += [list(row) for row in r.rows]
    r.truth += r.truth
    r.manifest["rows"]["published"] *= 2


@forgery("rows")
def other_rows_than_it_says(r: Joined) -> None:
    r.manifest["rows"]["published"] += 1


@forgery("manifest")
def suppressed_rows(r: Joined) -> None:
    r.manifest["rows"]["suppressed"] = 1


@forgery("cells")
def an_own_id_twice(r: Joined) -> None:
    r.original[1][0] = r.original[0][0]


@forgery("cells")
def an_own_person_without_id(r: Joined) -> None:
    r.original[1][0] = ""


# What is in the rows


@forgery("schema")
def no_column_of_groups(r: Joined) -> None:
    r.names, r.rows = r.names[:2], [row[:2] for row in r.rows]


@forgery("schema")
def groups_that_nobody_asked_for(r: Joined) -> None:
    names, rows = list(r.names), [list(row) for row in r.rows]
    r.without_values()
    r.names, r.rows = names, rows


def with_column(name: str, place: int, of_own: int) -> Spoiler:
    def spoil(r: Joined) -> None:
        r.names.insert(place, name)
        for row, i in zip(r.rows, r.truth, strict=True):
            row.insert(place, protected(r.original[i][of_own]) if i < len(r.original) else "")

    return spoil


JOIN_FORGERIES["ids in the rows"] = ("schema", with_column("id", 0, 0))
JOIN_FORGERIES["sensitive values in the rows"] = ("schema", with_column("ill", 1, 2))
JOIN_FORGERIES["a kept column in the rows"] = ("schema", with_column("note", 2, 5))


@forgery("schema")
def an_id_that_is_no_identifier(r: Joined) -> None:
    r.schema = Schema((replace(SCHEMA.columns[0], role=Role.DROP), *SCHEMA.columns[1:]))


@forgery("schema")
def persons_with_several_rows(r: Joined) -> None:
    columns = [replace(c, role=Role.ENTITY) if c.name == "note" else c for c in SCHEMA.columns]
    r.schema = Schema(tuple(columns))


@forgery("schema")
def means_of_people_of_both_tables(r: Joined) -> None:
    columns = [replace(c, mean=True) if c.name == "age" else c for c in SCHEMA.columns]
    r.schema = Schema(tuple(columns))
    r.manifest["columns"][0]["mean"] = True
    r.names.insert(1, "age_mean")
    r.rows = [[row[0], "", *row[1:]] for row in r.rows]


@forgery("schema")
def a_public_table_without_a_quasi_identifier(r: Joined) -> None:
    r.public_names[2] = "gender"


@forgery("schema")
def a_public_table_with_two_columns_of_one_name(r: Joined) -> None:
    r.public_names[0] = "age"


# Sensitive values


@forgery("sensitive")
def a_value_moved_between_groups(r: Joined) -> None:
    """The costs of one illness are exchanged between two groups: every sum and total stays as it was."""
    said = {tuple(line[:3]) for line in r.lines}
    one, other = next(
        (a, b)
        for a in r.lines
        for b in r.lines
        if a[0] != b[0] and (a[1], a[3]) == (b[1], b[3]) and a[2] != b[2]
        if not said & {(a[0], a[1], b[2]), (b[0], b[1], a[2])}
    )
    one[2], other[2] = other[2], one[2]
    r.lines.sort(key=lambda line: (int(line[0]), line[1].removeprefix("'"), line[2]))


@forgery("sensitive")
def a_value_changed(r: Joined) -> None:
    r.lines[0][2] = "9"


@forgery("sensitive")
def somebody_of_the_public_table_given_a_value(r: Joined) -> None:
    r.lines[0][3] = str(int(r.lines[0][3]) + 1)


@forgery("sensitive")
def a_value_of_the_own_given_to_others(r: Joined) -> None:
    """All values together stay those of the private table, but a group has one more than own people."""
    group = str(r.numbers[r.hosts[0]])
    one = next(line for line in r.lines if line[0] == group and int(line[3]) >= 1)
    other = next(n for n in r.lines if n[0] != group and n[1:3] == one[1:3])
    one[3] = str(int(one[3]) + 1)
    if other[3] == "1":
        r.lines.remove(other)
    else:
        other[3] = str(int(other[3]) - 1)


@forgery("sensitive")
def an_own_value_left_out(r: Joined) -> None:
    r.lines.remove(next(line for line in r.lines if line[3] == "1"))


@forgery("sensitive")
def a_row_in_another_group(r: Joined) -> None:
    """An own person's; the values stay where they were."""
    p = next(p for p, i in enumerate(r.truth) if i < OWN)
    for row in (row for row in r.rows if row[:2] == r.rows[p][:2]):
        row[2] = str(r.numbers[-1] if row[2] == str(r.numbers[0]) else r.numbers[0])


@forgery("sensitive")
def a_group_of_nobody(r: Joined) -> None:
    """A class of people of the public table alone, with a group of its own and no values."""
    r.put_together(everyone=True)
    alone = next(c for c, members in enumerate(r.classes_of) if not r.own_of(members))
    r.hosts[alone] = max(r.hosts) + 1
    r.numbers.append(len(r.numbers) + 1)
    r.publish_people()


@forgery("sensitive-groups")
def a_group_of_fewer_than_k_of_the_private_table(r: Joined) -> None:
    """A class with enough rows, but few own people, is a group by itself: then their values are known."""
    few = next(c for c, members in enumerate(r.classes_of) if 0 < len(r.own_of(members)) < K_GROUPS)
    r.hosts[few] = max(r.hosts) + 1
    r.numbers.append(len(r.numbers) + 1)
    random.Random(4).shuffle(r.numbers)
    r.publish_people()
    r.say(*CLAIMS[:2])


@forgery("distinct-l-diversity (ill)")
def more_diversity_claimed_than_kept(r: Joined) -> None:
    r.say(*CLAIMS[:2], Claim("distinct-l-diversity", {"l": 9}, "ill"))


# Classes and claims


@forgery("k-join-anonymity")
def a_class_of_fewer_than_k(r: Joined) -> None:
    members = next(m for m in r.classes_of if len(m) - len(r.own_of(m)) > len(m) - K)
    while len(members) >= K:
        members.remove(other_of(r, members))
    r.publish_people()


@forgery("k-join-anonymity")
def more_claimed_than_kept(r: Joined) -> None:
    r.say(Claim("k-join-anonymity", {"k": K + 1}), *CLAIMS[1:])


@forgery("k-join-anonymity (ill)")
def classes_of_a_column(r: Joined) -> None:
    r.say(replace(CLAIMS[0], column="ill"), *CLAIMS[1:])


@forgery("k-anonymity")
def k_anonymity_by_the_help_of_others(r: Joined) -> None:
    r.say(*CLAIMS, Claim("k-anonymity", {"k": 2}))


@forgery("distinct-l-diversity (ill)")
def diversity_of_what_is_not_published(r: Joined) -> None:
    r.without_values()
    r.say(CLAIMS[0], CLAIMS[2])


# Order


def ordered_by(key: Callable[[Joined, int, Member], object]) -> Spoiler:
    def spoil(r: Joined) -> None:
        r.order = lambda place, member: key(r, place, member)
        r.publish_people()

    return spoil


def public_row(r: Joined, member: Member) -> int:
    """The person's first row in the public table; those whom it does not have come after all."""
    assert isinstance(member, int)
    names = [row[1] for row in r.public]
    own = {row[0] for row in r.original}
    others = [i for i, name in enumerate(names) if name and name not in own and names.index(name) == i]
    others = [i for i in others if r.public[i][2] and r.public[i][3]]
    if member >= OWN:
        return others[member - OWN]
    name = r.original[member][0]
    return names.index(name) if name in names else len(names) + member


JOIN_FORGERIES["rows in the order of the private table"] = ("order", ordered_by(lambda r, p, m: m))
JOIN_FORGERIES["rows in the order of the public table"] = (
    "order",
    ordered_by(lambda r, p, m: public_row(r, m)),
)
JOIN_FORGERIES["own people first"] = ("order", ordered_by(lambda r, p, m: (m >= OWN, p)))  # type: ignore[operator]


@forgery("order")
def classes_with_most_own_people_first(r: Joined) -> None:
    share = {m: len(r.own_of(members)) / len(members) for members in r.classes_of for m in members}
    ordered_by(lambda _r, place, m: (-share[m], place))(r)


@forgery("order")
def rows_in_the_order_of_their_values(r: Joined) -> None:
    """All of a class say the same; classes stand in the order of what their own people have."""
    random.Random(8).shuffle(r.original)
    r.people = stand_in(r.original, r.public)
    r.put_together()
    for row in r.original:
        row[4] = str(int(row[1]) // 8)
    ordered_by(lambda _r, place, m: (float(r.values(m)[0]), place))(r)
    r.say(*CLAIMS[:2])


@forgery("order")
def groups_numbered_in_the_order_of_the_private_table(r: Joined) -> None:
    r.hosts = [c for c, _ in enumerate(r.classes_of)]
    first = sorted(r.hosts, key=lambda host: min(r.own_of(r.classes_of[host])))
    r.numbers = [first.index(host) + 1 for host in r.hosts]
    r.publish_people()
    r.say(CLAIMS[0], Claim("sensitive-groups", {"k": 1}))


# Manifest


@forgery("manifest")
def no_word_about_the_public_table(r: Joined) -> None:
    del r.manifest["public"]


@forgery("manifest")
def nothing_about_the_public_table(r: Joined) -> None:
    r.manifest["public"] = None


@forgery("manifest")
def another_public_table(r: Joined) -> None:
    r.other_public = [*r.public, ["", "q777", "F", "30"]]


@forgery("truth")
def another_public_table_that_is_called_the_one(r: Joined) -> None:
    """The manifest means this table, but its rows were made with another."""
    used = next(m for members in r.classes_of for m in members if isinstance(m, int) and m >= OWN)
    place = public_row(r, used)
    r.public = [row for i, row in enumerate(r.public) if i != place]
    r.manifest["public"]["rows"] -= 1


@forgery("rows")
def a_public_table_with_more_rows(r: Joined) -> None:
    r.manifest["public"]["rows"] += 1


@forgery("manifest")
def a_public_table_without_its_rows(r: Joined) -> None:
    del r.manifest["public"]["rows"]


def public_says(**words: object) -> Spoiler:
    def spoil(r: Joined) -> None:
        r.manifest["public"] |= words

    return spoil


_WORDS: dict[str, dict[str, object]] = {
    "another digest": {"sha256": "0" * 64},
    "no digest": {"sha256": ""},
    "a digest in capitals": {"sha256": "A" * 64},
    "rows as a text": {"rows": "204"},
    "rows as a truth": {"rows": True},
    "another id": {"id": "street"},
    "an id that is no name": {"id": 5},
    "an unknown word": {"path": "voters.csv"},
    "no source": {"source": ""},
    "a source that is no name": {"source": ["x"]},
    "a date in words": {"date": "yesterday"},
    "a date without dashes": {"date": "20240101"},
    "a digest and a kind": {"sha256": "0" * 64, "kind": "DataFrame"},
    "a kind that is no name": {"kind": 5},
    "a second source that is not there": {"checked_against": {"sha256": "0" * 64, "rows": 5}},
}
for _name, _words in _WORDS.items():
    JOIN_FORGERIES[f"public: {_name}"] = ("manifest", public_says(**_words))


@forgery("manifest")
def a_second_source_that_is_not_said(r: Joined) -> None:
    confirm(r, ("", "", ""))
    r.manifest["public"]["sha256"] = described(r.public_text)["sha256"]
    r.after.append(unsaid)


def unsaid(folder: Path) -> None:
    path = folder / "release.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    del said["public"]["checked_against"]
    path.write_text(manifest_text(said), encoding="utf-8")


@forgery("manifest")
def another_second_source(r: Joined) -> None:
    confirm(r, ("", "", ""))
    r.manifest["public"]["checked_against"] = {"sha256": "0" * 64, "rows": 204}


@forgery("manifest")
def a_second_source_with_more_words(r: Joined) -> None:
    confirm(r, ("", "", ""))
    digest = described(r.second_text)["sha256"]
    r.manifest["public"]["checked_against"] = {"sha256": digest, "rows": 204, "id": "id"}


@forgery("rows")
def a_second_source_with_more_rows(r: Joined) -> None:
    confirm(r, ("", "", ""))
    r.manifest["public"]["checked_against"] = {"sha256": described(r.second_text)["sha256"], "rows": 1}


@forgery("truth")
def somebody_of_both_tables_with_a_different_id(r: Joined) -> None:
    """The public table writes P-000 for p000: this may be the same person, who must not be counted twice."""
    r.public.append(["", "P-000", r.original[0][3], r.original[0][1]])
    next(m for m in r.classes_of if 0 in m).append((r.original[0][1], r.original[0][3]))
    r.publish_people()


@forgery("truth")
def somebody_whom_the_second_source_describes_in_two_ways(r: Joined) -> None:
    confirm(r, ("", "", ""))
    known = next(row for row in r.second or [] if row[1] == "q001")
    (r.second or []).append([*known[:3], "59" if float(known[3]) != 59 else "58"])


@forgery("manifest")
def a_kept_column_in_the_manifest(r: Joined) -> None:
    r.manifest["columns"].append({"name": "note", "role": "keep", "kind": "categorical"})


@forgery("manifest")
def a_public_table_without_its_claim(r: Joined) -> None:
    r.say(*CLAIMS[1:])


@forgery("schema")
def a_public_table_of_which_nothing_is_said(r: Joined) -> None:
    r.say(*CLAIMS[1:])
    del r.manifest["public"]
    r.manifest["columns"].append({"name": "note", "role": "keep", "kind": "categorical"})


@forgery("files")
def values_that_no_claim_speaks_of(r: Joined) -> None:
    lines = [list(line) for line in r.lines]
    r.without_values()
    r.lines = lines
