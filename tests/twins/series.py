"""A series of releases by its definition: histories in full, atoms found anew from them each time."""

from __future__ import annotations

from typing import Any

Class = tuple[list[int], int, dict[int, int]]  # people, date, and what the row of each says


def atoms(histories: dict[int, list[Any]]) -> dict[tuple[Any, ...], list[int]]:
    """People with the same history, by history; whoever never had a row is no atom."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for person, history in sorted(histories.items()):
        if any(each is not None for each in history):
            found.setdefault(tuple(history), []).append(person)
    return found


def diverse(values: list[int], most: int) -> bool:
    """No value is more frequent than 1/l."""
    return all(values.count(value) * most <= len(values) for value in values)


def next_release(
    past: list[list[Class]],
    present: set[int],
    erased: set[int],
    values: dict[int, int],
    terms: dict[str, Any],
    method: Any,
) -> list[Class]:
    """The classes of the next release, as (people, date, rows) in no order.

    `past` is a list of releases, each a list of such classes; rows say the value of each person. `terms` are
    k, l, least, wait, tau, left and hold; `method` has parts, outermost_first, loss, loss_then and mean_loss
    over lists.
    """
    k, ell = terms["k"], terms["l"]
    today = len(past)
    everyone = sorted(present | erased | {p for release in past for people, _, _ in release for p in people})
    history = {p: [place_of(p, release) for release in past] for p in everyone}
    here = present - erased
    shown: list[Class] = []

    def ok_now(people: list[int]) -> bool:
        return ell == 1 or diverse([values[p] for p in people], ell)

    def ok_then(people: list[int]) -> bool:
        """In every release in which these had rows, by what their rows said."""
        for release in past:
            said = [rows[p] for members, _, rows in release for p in members if p in people]
            if ell > 1 and said and not diverse(said, ell):
                return False
        return True

    def whole(people: list[int]) -> bool:
        return not people or (len(people) >= k and ok_then(people))

    def may_part(people: list[int]) -> bool:
        return ok_now(people) and ok_then(people)

    def show(people: list[int]) -> None:
        if people:
            shown.append((sorted(people), today, {p: values[p] for p in people}))

    def held(people: list[int], date: int) -> bool:
        """Would the class lose much as its people are today, and was it shown as they are not long ago?"""
        lost = method.loss(people)
        much = lost > terms["tau"] * method.mean_loss(past[-1]) and lost > method.loss_then(people, date)
        return bool(much and today - date <= terms["hold"])

    for people, date, rows in past[-1] if past else []:
        gone = [p for p in people if p not in here]
        stay = [p for p in people if p in here]
        must = [p for p in gone if terms["left"] == "companions" or p in erased]
        if not gone and ok_now(people):
            large = len(people) >= 2 * terms["least"]
            if not large and held(people, date):
                shown.append((people, date, rows))
                continue
            for part in method.parts(people, terms["least"], may_part) if large else [people]:
                show(part)
        elif gone and whole(gone) and whole(stay) and ok_now(stay):
            show(stay)
        elif must:
            order = method.outermost_first(stay)
            more = max(k - len(gone), 0)
            leaving, rest = gone + order[:more], order[more:]
            if rest and whole(leaving) and whole(rest) and ok_now(rest):
                show(rest)
        else:
            shown.append((people, date, rows))

    with_row = {p for people, _, _ in shown for p in people}
    typical = terms["tau"] * method.mean_loss(shown)
    waiting = sorted(here - with_row)
    # Whoever loses their row today has, from today on, the history of those who lose it with them.
    place = {p: i for i, (people, _, _) in enumerate(shown) for p in people}
    so_far = {p: (*history[p], place.get(p)) for p in everyone}
    for own in sorted({so_far[p] for p in waiting}, key=lambda h: min(p for p in waiting if so_far[p] == h)):
        people = [p for p in waiting if so_far[p] == own]
        if len(people) < terms["least"] or not ok_now(people):
            continue
        if all(each is None for each in own):
            for part in method.parts(people, terms["least"], ok_now):
                waited = max(waits_since(p, past, present_then=terms["present_then"]) for p in part)
                if waited >= terms["wait"] or method.loss(part) <= typical:
                    show(part)
            continue
        rest = [p for p in everyone if so_far[p] == own and p not in people]
        if whole(people) and whole(rest):
            for part in method.parts(people, terms["least"], may_part):
                show(part)
    return shown


def place_of(person: int, release: list[Class]) -> int | None:
    """The place of somebody's class in a release."""
    return next((i for i, (people, _, _) in enumerate(release) if person in people), None)


def waits_since(person: int, past: list[list[Class]], present_then: list[set[int]]) -> int:
    """For how many releases somebody has been in the table without a row, without a break."""
    waited = 0
    for release, present in zip(reversed(past), reversed(present_then), strict=True):
        if person not in present or place_of(person, release) is not None:
            break
        waited += 1
    return waited


def faults(releases: list[list[Class]], k: int, ell: int) -> list[tuple[str, list[int]]]:
    """Atoms of fewer than k people, and atoms whose rows were not diverse in some release."""
    everyone = {p for release in releases for people, _, _ in release for p in people}
    history = {p: [place_of(p, release) for release in releases] for p in everyone}
    found = []
    for people in atoms(history).values():
        if len(people) < k:
            found.append(("k", people))
        for release in releases:
            said = [rows[p] for members, _, rows in release for p in members if p in people]
            if ell > 1 and said and not diverse(said, ell):
                found.append(("l", people))
    return found
