"""The slow twin of the join: people in dictionaries, one by one, without NumPy and without incrowd."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fractions import Fraction

Row = Mapping[str, str | None]


class Wrong(Exception):
    """The join must refuse, for this reason."""


def value(text: str | None, kind: str, missing: set[str]) -> object:
    """What a text says; None is missing."""
    if text is None or text in missing:
        return None
    try:
        if kind == "numeric":
            return Fraction(text)
        if kind == "date":
            return datetime.strptime(text, "%d.%m.%Y")
    except ValueError:
        raise Wrong("unread") from None
    return text


def person(row: Row, kinds: Mapping[str, str], missing: set[str]) -> tuple[object, ...]:
    return tuple(value(row[name], kind, missing) for name, kind in kinds.items())


def described_by(
    rows: Sequence[Row], kinds: Mapping[str, str], missing: set[str]
) -> list[tuple[str | None, tuple[object, ...]]]:
    return [(row["id"], person(row, kinds, missing)) for row in rows]


def has_id(row: Row, missing: set[str]) -> bool:
    return bool(row["id"]) and row["id"] not in missing


def bare(id: str | None) -> str:
    text = (id or "").casefold()
    text = text[:-2] if text.endswith(".0") else text
    return "".join(sign for sign in text if sign not in " -./_").lstrip("0")


def confirmed(id: str | None, said: object, check: Sequence[tuple[str | None, object]]) -> bool:
    """Does the second source speak of this person, and say this each time?"""
    there = [what for other, what in check if other == id]
    return bool(there) and all(what == said for what in there)


def joined(
    private: Sequence[Row],
    public: Sequence[Row],
    kinds: Mapping[str, str],
    missing: set[str],
    check: Sequence[Row] | None = None,
    conflicts: str = "refuse",
) -> tuple[list[int], dict[str, int]]:
    """The places in the public table of those who stand in, and what became of the rows."""
    if not all(has_id(row, missing) for row in private):
        raise Wrong("nameless")
    if len({row["id"] for row in private}) < len(private):
        raise Wrong("several")
    inside = dict(described_by(private, kinds, missing))
    said = described_by(public, kinds, missing)
    second = described_by(check or (), kinds, missing)
    counts = dict.fromkeys(
        ("nameless", "repeated", "both", "conflicts", "incomplete", "alike", "unconfirmed", "external"), 0
    )
    described: dict[str | None, object] = {}
    for (id, what), row in zip(said, public, strict=True):
        if has_id(row, missing) and described.setdefault(id, what) != what:
            raise Wrong("repeated")
    places = []
    seen = set()
    for place, (id, what) in enumerate(said):
        if not has_id(public[place], missing):
            fate = "nameless"
        elif id in seen:
            fate = "repeated"
        elif id in inside:
            fate = "both"
            counts["conflicts"] += what != inside[id]
        elif None in what:
            fate = "incomplete"
        elif bare(id) in {bare(other) for other in inside}:
            fate = "alike"
        elif check is not None and not confirmed(id, what, second):
            fate = "unconfirmed"
        else:
            fate = "external"
            places.append(place)
        seen.add(id)
        counts[fate] += 1
    if counts["conflicts"] and conflicts == "refuse":
        raise Wrong("conflict")
    return places, counts


def blind_joined(
    private: Sequence[Row],
    public: Sequence[Row],
    kinds: Mapping[str, str],
    missing: set[str],
    check: Sequence[Row] | None = None,
    conflicts: str = "refuse",
) -> tuple[list[int], dict[str, int]]:
    """The places in the public table of the private people and of the others, whoever is private.

    A row counts if it is the first about somebody, complete, confirmed, and if nobody else in the public
    table has an id that differs only in how it is written.
    """
    inside = dict(described_by(private, kinds, missing))
    _, counts = joined(private, public, kinds, missing, check, "refuse" if conflicts == "refuse" else "any")
    said = described_by(public, kinds, missing)
    second = described_by(check or (), kinds, missing)
    ids = {row["id"] for row in public if has_id(row, missing)}
    counts |= dict.fromkeys(("incomplete", "alike", "unconfirmed", "external"), 0)
    fate = {}
    for place, (id, what) in enumerate(said):
        if id in ids and id not in fate:
            alike = sum(bare(other) == bare(id) for other in ids) > 1
            doubts = {
                "incomplete": None in what,
                "alike": alike,
                "unconfirmed": check is not None and not confirmed(id, what, second),
            }
            fate[id] = place, next((doubt for doubt, there in doubts.items() if there), "external")
    if any(fate.get(id, (0, "gone"))[1] != "external" for id in inside):
        raise Wrong("unlisted")
    others = [end for id, end in fate.items() if id not in inside]
    for _, end in others:
        counts[end] += 1
    return [*(fate[id][0] for id in inside), *(place for place, end in others if end == "external")], counts
