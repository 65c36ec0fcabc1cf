"""Pictures of what methods do to the same twelve people, and of a table before and after.

Every picture is drawn from a release that was made and verified for it; none is drawn by hand.
``./run docs --write`` writes them to docs/pictures; ``./run docs`` fails where a picture is not what the program draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import incrowd as ic
from incrowd.algorithms.base import all_methods
from incrowd.cells import range_ends, read_cell
from incrowd.publishing.pipeline import Release
from incrowd.reports import svg

PLACE = Path(__file__).resolve().parents[1] / "pictures"
K, K_OF_OVERLAPPING = 3, 5  # twelve are four times three: rows over groups of three have nothing to overlap
PEOPLE = {  # age, last two digits of the zip code, diagnosis
    "Ada": (22, 64, "flu"), "Ben": (25, 21, "asthma"), "Cleo": (28, 45, "flu"), "Dan": (33, 58, "fracture"),
    "Eva": (35, 14, "flu"), "Finn": (40, 36, "asthma"), "Gus": (43, 76, "diabetes"), "Hana": (47, 52, "flu"),
    "Ivo": (51, 27, "diabetes"), "Jan": (57, 44, "fracture"), "Kim": (62, 67, "diabetes"), "Lea": (84, 88, "asthma"),
}  # fmt: skip
OTHERS = (  # people of the public table who are not in the private one
    *((24, 40), (27, 70), (31, 28), (37, 48), (38, 66), (45, 20), (49, 62), (53, 38), (59, 56), (66, 74)),
    *((73, 82), (80, 79)),
)
DIAGNOSES = ("flu", "asthma", "fracture", "diabetes")
AREA = svg.Area(width=440, height=330, left=52, right=14, top=40, bottom=62)
TOP_OF_AXES = {"age": (18, 90), "zip": (5, 95)}
Box = tuple[float, float, float, float]
HIERARCHY = {"hierarchy": {"intervals": [15, 30, 60]}}

OUTLIERS = {"plain": {"p": "0.8", "d": "0.7"}, "max_suppression": "0.2"}

# What a method asks for besides k.
ASKED: Mapping[str, dict[str, Any]] = {
    "best": {"options": {"seconds": 0}},
    "transparent": {"l": 2},
    "anatomy": {"l": 2, "accept": ["all"]},
    **{key: {"accept": ["unsafe-one-sided"]} for key in ("k1-nearest", "k1-expansion", "one-k")},
    **dict.fromkeys(("expc", "gnof", "gof", "remove-outliers"), OUTLIERS),
    "kja-refine-adaptive": {"accept": ["unsafe-adaptive"]},
    "kja-direct-values": {"accept": ["unsafe-adaptive"]},
}


def frames() -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """The twelve people, and the public table that has all of them and twelve others."""
    own: dict[str, list[Any]] = {
        "name": list(PEOPLE),
        **{
            name: [person[i] for person in PEOPLE.values()]
            for i, name in enumerate(("age", "zip", "diagnosis"))
        },
    }
    others = [f"other {i}" for i in range(len(OTHERS))]
    public = {
        "name": [*own["name"], *others],
        "age": [*own["age"], *(age for age, _ in OTHERS)],
        "zip": [*own["zip"], *(digits for _, digits in OTHERS)],
    }
    return own, public


def k_of(method: str) -> int:
    return K_OF_OVERLAPPING if all_methods()[method].overlapping else K


def released(method: str) -> Release:
    """A verified release of the twelve people by a method."""
    import pandas as pd

    own, public = (pd.DataFrame(columns) for columns in frames())
    kind = all_methods()[method]
    said = HIERARCHY if kind.full_domain else {}
    policy: dict[str, Any] = {
        "identifiers": ["name"],
        "quasi_identifiers": {name: {"type": "numeric", **said} for name in ("age", "zip")},
        "sensitive": ["diagnosis"],
        "method": method,
        "privacy": {"k": k_of(method)},
    }
    joined = {}
    if kind.joins:
        policy["public"] = {"table": "public.csv", "id": "name", "membership_secret": True}
        joined = {"public": public}
    return ic.publish(own, policy, **ASKED.get(method, {}), **joined)


def ends(cell: str, column: str) -> tuple[float, float]:
    """What a cell covers of an axis."""
    parts = read_cell(cell)
    if parts.everything:
        return TOP_OF_AXES[column]
    numbers = [
        float(end)
        for atom in parts.atoms
        for pair in range_ends(atom) or [atom.partition("-")[::2]]  # a label of the hierarchy is 15-29
        for end in pair
        if end  # a number alone has no second end
    ]
    return min(numbers), max(numbers)


def boxes(release: Release) -> dict[Box, int]:
    """What rows say, as boxes, and how many rows say it."""
    rows = zip(release.table["age"].astype(str), release.table["zip"].astype(str), strict=True)
    found: dict[Box, int] = {}
    for age, digits in rows:
        box = (*ends(age, "age"), *ends(digits, "zip"))
        found[box] = found.get(box, 0) + 1
    return dict(sorted(found.items()))


def frame() -> svg.Frame:
    (left, right), (low, high) = TOP_OF_AXES["age"], TOP_OF_AXES["zip"]
    return svg.Frame(left, right, low, high, (20, 40, 60, 80), (20, 40, 60, 80), AREA)


def _rectangle(box: Box, at: svg.Frame, look: int, filled: bool) -> str:
    """A box with a little room around: more where it has no width, so that a single person has one that can be seen."""
    beside, above = (6 if low == high else 3 for low, high in (box[:2], box[2:]))
    x1, x2, y1, y2 = at.x(box[0]) - beside, at.x(box[1]) + beside, at.y(box[3]) - above, at.y(box[2]) + above
    colour = svg.COLOURS[look % len(svg.COLOURS)]
    how = f"fill='{colour}' fill-opacity='{0.13 if filled else 0.03}' stroke='{colour}' stroke-width='1.4'"
    return f"<rect x='{x1:.1f}' y='{y1:.1f}' width='{x2 - x1:.1f}' height='{y2 - y1:.1f}' rx='4' {how}/>"


def people_drawn(at: svg.Frame, public: bool) -> list[str]:
    """A mark for each person, in the shape and colour of the diagnosis; people of the public table are small rings."""
    others = OTHERS if public else ()
    rings = [
        f"<circle cx='{at.x(age):.1f}' cy='{at.y(digits):.1f}' r='3' fill='#fff' stroke='#666'/>"
        for age, digits in others
    ]
    return rings + [
        svg.marker(DIAGNOSES.index(diagnosis), True, at.x(age), at.y(digits), f"{name}: {diagnosis}")
        for name, (age, digits, diagnosis) in PEOPLE.items()
    ]


def key() -> list[str]:
    """Which mark is which diagnosis, below the axes."""
    parts, x = [], AREA.left
    for look, name in enumerate(DIAGNOSES):
        parts += [
            svg.marker(look, True, x + 5, AREA.height - 10),
            svg.word(name, x + 14, AREA.height - 6, size=11),
        ]
        x += 30 + svg.text_width(name, 11)
    return parts


def summary(release: Release, found: Mapping[Box, int]) -> str:
    """What the release is, in a line: rows, how many of them differ, who has none."""
    rows = sum(found.values())
    gone = len(PEOPLE) - rows
    left_out = f", {gone} left out" if gone > 0 else ""
    return (
        f"{rows} rows, {len(found)} different{left_out}; information loss (GCP) {release.loss()['gcp']:.3f}"
    )


def method_picture(method: str) -> str:
    """What a method makes of the twelve people: each different row as a box over what it says."""
    release, kind, at = released(method), all_methods()[method], frame()
    found = boxes(release)
    if kind.exact_rows:
        buckets = bucket_colours(release)
        drawn = [_rectangle((x, x, y, y), at, group, True) for (x, y), group in buckets.items()]
        said = f"{len(buckets)} exact rows; diagnoses stand in {len(set(buckets.values()))} buckets, one colour each"
    else:
        drawn = [_rectangle(box, at, look, not kind.overlapping) for look, box in enumerate(found)]
        said = summary(release, found)
    parts = [
        svg.word(said, AREA.left, 36, size=11),
        *at.axes("age", "zip (last two digits)"),
        *drawn,
        *people_drawn(at, kind.joins),
        *key(),
    ]
    return svg.picture(
        f"{method}, k = {k_of(method)}",
        f"Twelve people by age and zip, with the rows of a release: {said}",
        parts,
        AREA,
    )


def bucket_colours(release: Release) -> dict[tuple[int, int], int]:
    """Of exact rows: the bucket of each person, by age and zip."""
    table = release.table
    return {
        (int(age), int(digits)): int(group)
        for age, digits, group in zip(table["age"], table["zip"], table["group"], strict=True)
    }


CELL, TOP_ROW = 21, 62  # heights in the picture of two tables


def before_and_after() -> str:
    """The twelve people as a table, and a release of them: names gone, three or more equal in age and zip."""
    release = released("mondrian")
    columns = [release.table[name].astype(str) for name in ("age", "zip", "diagnosis")]
    rows = sorted(zip(*columns, strict=True))
    looks = {cells: look for look, cells in enumerate(sorted({row[:2] for row in rows}))}
    before = [(name, str(age), str(digits), diagnosis) for name, (age, digits, diagnosis) in PEOPLE.items()]
    area = svg.Area(width=760, height=TOP_ROW + CELL * 12 + 46, left=20)
    parts = [
        *_table(before, ("name", "age", "zip", "diagnosis"), (24, 92, 142, 196), [None] * 12),
        svg.word("→", 338, 200, size=30),
        *_table(rows, ("age", "zip", "diagnosis"), (402, 492, 582), [looks[row[:2]] for row in rows]),
        svg.word("Whoever knows Ada, 22, zip 64, finds her diagnosis.", 24, area.height - 12, size=12),
        svg.word("Her row is one of three or more equal ones.", 402, area.height - 12, size=12),
    ]
    about = "A table of twelve people, and its release: every age and zip is shared by at least three rows."
    return svg.picture("Before, and after (k = 3)", about, parts, area)


def _table(
    rows: Sequence[Sequence[str]], names: Sequence[str], at: Sequence[int], looks: Sequence[int | None]
) -> list[str]:
    """A table of texts at given places; rows of an equivalence class have a ground of one colour."""
    parts = [
        svg.word(name, x, TOP_ROW - 10, "font-weight='bold'", 12) for name, x in zip(names, at, strict=True)
    ]
    parts.append(svg.stroke(at[0] - 6, TOP_ROW - 3, at[-1] + 96, TOP_ROW - 3, "stroke='#222'"))
    for number, (row, look) in enumerate(zip(rows, looks, strict=True)):
        y = TOP_ROW + CELL * number
        if look is not None:
            ground = f"fill='{svg.COLOURS[look % len(svg.COLOURS)]}' fill-opacity='0.14'"
            parts.append(
                f"<rect x='{at[0] - 6}' y='{y}' width='{at[-1] - at[0] + 102}' height='{CELL}' {ground}/>"
            )
        parts += [svg.word(cell, x, y + 15, size=12) for cell, x in zip(row, at, strict=True)]
    return parts


def all_pictures() -> dict[str, str]:
    """Every picture by its file, below docs/pictures."""
    methods = {f"methods/{method}.svg": method_picture(method) for method in all_methods()}
    return {"before-and-after.svg": before_and_after(), **methods}


def drawn_by_chance(name: str) -> bool:
    """Does a method draw its groups? Then no two pictures of it need to be the same."""
    return Path(name).stem in ("transparent", "anatomy")


def write() -> None:
    (PLACE / "methods").mkdir(parents=True, exist_ok=True)
    for name, text in all_pictures().items():
        (PLACE / name).write_text(text, encoding="utf-8")


def stale() -> list[str]:
    """Pictures that are not what the program draws now."""
    now = {name: text for name, text in all_pictures().items() if not drawn_by_chance(name)}
    return [
        name
        for name, text in now.items()
        if not (PLACE / name).exists() or (PLACE / name).read_text() != text
    ]


if __name__ == "__main__":
    write()
