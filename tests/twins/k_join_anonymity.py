"""k-join-anonymity by its definition: plain loops over all assignments, for tables of a few people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

Values = tuple[int | None, ...]
Person = tuple[str, Values]
Row = tuple[frozenset[int], ...]  # the values that each cell holds


def people(
    own: Sequence[Person], public: Sequence[Person], second: Sequence[Person] | None = None
) -> list[Person]:
    """The own people, then those of the public table who may stand in."""
    mine = {name for name, _ in own}
    found, met = list(own), set[str]()
    for name, values in public:
        first = name not in met
        met.add(name)
        confirmed = second is None or {said for other, said in second if other == name} == {values}
        if name and name not in mine and first and None not in values and confirmed:
            found.append((name, values))
    return found


def holds(row: Row, values: Values) -> bool:
    return all(value in cell for value, cell in zip(values, row, strict=True))


def assignments(
    rows: Sequence[Row], everybody: Sequence[Person], taken: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Every way to give each row a person of its own, as places in `everybody`."""
    if len(taken) == len(rows):
        yield taken
        return
    for i, (_, values) in enumerate(everybody):
        if i not in taken and holds(rows[len(taken)], values):
            yield from assignments(rows, everybody, (*taken, i))


def true_ones(rows: Sequence[Row], everybody: Sequence[Person], own: int) -> Iterator[tuple[int, ...]]:
    """Assignments in which all own people, who come first, have a row."""
    return (taken for taken in assignments(rows, everybody) if set(range(own)) <= set(taken))


def is_true(rows: Sequence[Row], everybody: Sequence[Person], own: int) -> bool:
    return any(True for _ in true_ones(rows, everybody, own))


def is_crowded(rows: Sequence[Row], k: int) -> bool:
    return all(sum(other == row for other in rows) >= k for row in rows)


def values_fit(
    taken: Sequence[int], groups: Sequence[int], ills: Sequence[str], said: Mapping[int, Sequence[str]]
) -> bool:
    """Does each group say exactly the values of its own people, the first ``len(ills)``?"""
    found: dict[int, list[str]] = {group: [] for group in groups}
    for group, person in zip(groups, taken, strict=True):
        if person < len(ills):
            found[group].append(ills[person])
    return {group: sorted(values) for group, values in found.items()} == {
        group: sorted(values) for group, values in said.items()
    }
