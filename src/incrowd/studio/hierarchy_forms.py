"""The forms of the hierarchy editor: from what a policy says of a column to fields, and back.

A field is a text. What cannot be a hierarchy at all is refused here; what does not fit the column is refused
by the builder itself, with its own sentence.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from incrowd.errors import InputError

NONE, FILE, FAMILY = "none", "file", "family"
NUMBERS, DATES, TEXTS, ALL = ("numeric",), ("date",), ("categorical", "ordered"), ()
Change = tuple[tuple[str, ...], Any]


@dataclass(frozen=True)
class Builder:
    """A way to generalize: what people read, an example, and the kinds of columns it is for (all if none)."""

    name: str
    title: str
    example: str
    kinds: tuple[str, ...] = ALL

    def suits(self, kind: str) -> bool:
        return not self.kinds or kind in self.kinds


# In the order of the form. Codes of digits are read as numbers, so prefixes are for numbers, too.
BUILDERS = (
    Builder(NONE, "No hierarchy", "ranges or sets, as small as each class allows: loses least"),
    Builder("prefix", "First characters", "04101 → 0410_ → 041__", (*TEXTS, *NUMBERS)),
    Builder("mask", "Hide last characters", "04101 → 0410_ → 041__", (*TEXTS, *NUMBERS)),
    Builder("intervals", "Intervals of one width", "27 → 25-29 → 20-29", NUMBERS),
    Builder("cuts", "Intervals you choose", "27 → 18-64 → 0-120", NUMBERS),
    Builder("digits", "Leading digits", "12345 → 12000-12999", NUMBERS),
    Builder("dates", "Parts of a date", "2024-02-29 → 2024-02 → 2024", DATES),
    Builder("ordered", "Neighbours in an order", "III → III..IV"),
    Builder("postcodes", "British postcodes", "SW1A 1AA → SW1A → SW", TEXTS),
    Builder("icd10", "Diagnoses of ICD-10", "E11.9 → E11 → E00-E90", TEXTS),
    Builder("rare", "Rare values together", "Malta → Other", TEXTS),
    Builder("flat", "Nothing in between", "27 → *"),
    Builder(FAMILY, "Sets you choose", "groups that may overlap", TEXTS),
    Builder(FILE, "From a file", "leaf;level 1;…;*, the form of ARX"),
)
BY_NAME = {builder.name: builder for builder in BUILDERS}
AS_TEXT = ("prefix", "mask", "postcodes", "icd10", "rare")  # what makes numbers codes
SPANS = ("day", "month", "quarter", "year", "decade")
PARTS = {"postcodes": ("outward", "area"), "icd10": ("category", "chapter")}
FIRST_FIELDS = {
    "prefix": "4, 3",
    "mask": "1, 2",
    "intervals": "5, 10",
    "origin": "",
    "top": "",
    "digits": "2, 1",
    "cuts": "",
    "groups": "2",
    "rare": "10",
}


def fields_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the form for what a policy says of a column; the others are filled with examples."""
    hierarchy = said.get("hierarchy")
    found: dict[str, Any] = {
        **FIRST_FIELDS,
        "builder": NONE,
        "dates": ["month", "quarter", "year"],
        "years": "",
        "ordered": "",
        "family": "",
        "complete": bool(said.get("complete")),
        "public": bool(said.get("public")),
        "publish": said.get("publish") or "",
        "mean": bool(said.get("mean")),
        "file": hierarchy if isinstance(hierarchy, str) else "",
        **{name: list(parts) for name, parts in PARTS.items()},
    }
    if isinstance(hierarchy, str):
        found["builder"] = FILE
    elif isinstance(hierarchy, Mapping):
        found |= _fields_of_builder(hierarchy)
    elif said.get("family") is not None:
        found |= {"builder": FAMILY, "family": "\n".join(_joined(group) for group in said["family"])}
    return found


def _fields_of_builder(spec: Mapping[str, Any]) -> dict[str, Any]:
    name = next((key for key in spec if key in BY_NAME), "flat")
    found: dict[str, Any] = {"builder": name}
    for key in ("prefix", "mask", "intervals", "digits", "groups"):
        if key in spec:
            found[key] = ", ".join(map(str, spec[key]))
    found |= {key: str(spec[key]) for key in ("origin", "top", "rare") if key in spec}
    if name == "cuts":
        found["cuts"] = "\n".join(", ".join(map(str, level)) for level in spec["cuts"])
    if name == "ordered":
        found["ordered"] = "\n".join(map(str, spec["ordered"]))
    if name == "dates":
        spans = [str(span) for span in spec["dates"]]
        found["dates"] = [span for span in spans if span in SPANS]
        found["years"] = ", ".join(span.removesuffix(" years") for span in spans if span not in SPANS)
    if name in PARTS:
        found[name] = list(spec[name])
    return found


def _joined(values: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=";", lineterminator="").writerow(values)
    return out.getvalue()


# Back


def typed_fields(form: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What somebody typed, as `fields_of` has it, but for the file: paths do not come from a browser."""
    several = ("dates", *PARTS)
    found = {
        key: (form.get(key) or [""])[-1].replace("\r\n", "\n").strip("\n")
        for key in (*FIRST_FIELDS, "builder", "years", "ordered", "family", "publish")
    }
    return (
        found
        | {key: list(form.get(key, ())) for key in several}
        | {key: bool((form.get(key) or [""])[-1]) for key in ("complete", "public", "mean")}
    )


def changes_of(key: str, fields: Mapping[str, Any], kind: str, stated: str) -> list[Change]:
    """The keys of the policy that a form sets; None takes one out.

    `kind` is what the values look like, `stated` what the policy says that they are.
    """
    name = str(fields["builder"])
    if name not in BY_NAME:
        raise InputError("choose one of the ways to generalize")
    said: dict[str, Any] = dict.fromkeys(("hierarchy", "family", "complete", "public", "publish", "mean"))
    if name == NONE:
        said["publish"] = fields["publish"] if fields["publish"] in ("range", "set") else None
        said["mean"] = True if fields["mean"] else None
    elif name == FAMILY:
        said["family"] = _family(fields["family"])
        said["complete"] = True if fields["complete"] else None
    else:
        said["hierarchy"] = fields["file"] if name == FILE else spec_of(name, fields)
        said["public"] = True if fields["public"] else None
        if name == FILE and not said["hierarchy"]:
            raise InputError("choose a file first: paste one, or take one of the folder")
    if name in AS_TEXT and "numeric" in (kind, stated):
        said |= {"type": "categorical", "format": None}
    elif BY_NAME[name].kinds == NUMBERS and kind == "numeric" and stated == "categorical":
        said["type"] = "numeric"
    return [(("quasi_identifiers", key, word), value) for word, value in said.items()]


def spec_of(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a policy says for a builder."""
    if name in ("prefix", "mask", "digits"):
        return {name: _whole(fields[name], name)}
    if name == "intervals":
        spec: dict[str, Any] = {name: _numbers(fields[name], name)}
        spec |= {key: _number(fields[key], key) for key in ("origin", "top") if str(fields[key]).strip()}
        return spec
    if name == "cuts":
        lines = [line for line in str(fields[name]).split("\n") if line.strip()]
        if not lines:
            raise InputError("cuts: write where intervals begin and the last ends, such as 0, 18, 65, 120")
        return {name: [_numbers(line, name) for line in lines]}
    if name == "dates":
        return {name: _spans(fields)}
    if name == "ordered":
        lines = [line.strip("\r") for line in str(fields[name]).split("\n")]
        return {name: [line for line in lines if line], "groups": _whole(fields["groups"], "groups")}
    if name in PARTS:
        return {name: [part for part in PARTS[name] if part in fields[name]]}
    if name == "rare":
        found = _whole(fields[name], name)
        if len(found) != 1:
            raise InputError("rare: write one whole number, such as 10")
        return {name: found[0]}
    return {"flat": True}


def _spans(fields: Mapping[str, Any]) -> list[str]:
    chosen = [span for span in SPANS[:3] if span in fields["dates"]]
    years = {1: "year"} if "year" in fields["dates"] else {}
    if str(fields["years"]).strip():
        years |= {count: f"{count} years" for count in _whole(fields["years"], "years together")}
    if "decade" in fields["dates"]:
        years[10] = "decade"
    return [*chosen, *(years[count] for count in sorted(years))]


def _family(text: str) -> list[list[str]]:
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=";", strict=True) if row]
    except csv.Error:
        raise InputError("sets: a quote is not closed, or stands inside a value") from None
    groups = [[value.strip() for value in row if value.strip()] for row in rows]
    if not groups:
        raise InputError("sets: write one set a line, its values separated by semicolons")
    return groups


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"[,;\s]+", str(text).strip()) if part]


def _whole(text: str, what: str) -> list[int]:
    parts = _parts(text)
    if not parts or not all(re.fullmatch(r"[0-9]{1,9}", part) for part in parts):
        raise InputError(f"{what}: write whole numbers with commas between them, such as 4, 3")
    return [int(part) for part in parts]


def _numbers(text: str, what: str) -> list[int | float]:
    parts = _parts(text)
    if not parts:
        raise InputError(f"{what}: write numbers with commas between them, such as 5, 10")
    return [_number(part, what) for part in parts]


def _number(text: str, what: str) -> int | float:
    """A number as a policy file keeps it: decimals exactly as they are written."""
    try:
        exact = Decimal(str(text).strip())
    except InvalidOperation:
        raise InputError(f"{what}: write numbers only, with a point before decimals") from None
    if not exact.is_finite() or abs(exact) > 10**15:
        raise InputError(f"{what}: the number is too large")
    if exact == exact.to_integral_value():
        return int(exact)
    if Decimal(repr(float(exact))) != exact:
        raise InputError(f"{what}: at most fifteen digits are kept exactly")
    return float(exact)


# In words


def words_of(said: Mapping[str, Any]) -> str:
    """How a column is generalized, in a few words."""
    fields = fields_of(said)
    name = fields["builder"]
    if name == FILE:
        return f"the file {str(fields['file']).rpartition('/')[2]}"
    if name == NONE:
        return "no hierarchy"
    if name == FAMILY:
        return f"{len(said['family'])} sets of your choice"
    return builder_words(name, fields)


def builder_words(name: str, fields: Mapping[str, Any]) -> str:
    """A builder with its numbers."""
    if name == "prefix":
        return f"first {fields['prefix']} characters"
    if name == "mask":
        return f"without the last {fields['mask']} characters"
    if name == "intervals":
        top = f", {fields['top']} and over together" if fields["top"] else ""
        return f"intervals of {fields['intervals']}{top}"
    if name == "dates":
        return ", ".join(_spans(fields))
    if name == "ordered":
        return f"neighbours in groups of {fields['groups']}"
    return {
        "digits": f"first {fields['digits']} digits",
        "cuts": "intervals of your choice",
        "postcodes": "parts of British postcodes",
        "icd10": "categories and chapters of ICD-10",
        "rare": f"values of fewer than {fields['rare']} people together",
    }.get(name, "nothing between a value and everything")
