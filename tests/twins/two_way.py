"""Slow twins for two-way tables and raking: plain Python, nothing of incrowd.

A column has ``values`` (all of them in order, None being missing), says whether it is ``ranged``, and has the
``original``, a value for each person. A cell has what it ``covers``, and ``ends`` if it is a range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

Column = dict[str, Any]
Cell = dict[str, Any]


def bin_of(column: Column, value: Any) -> str:
    """The name of the bin of a value of the column."""
    if value is None:
        return "missing"
    people = [each for each in column["original"] if each is not None]
    if column["ranged"]:
        return f"tenth {min(10 * sum(each < value for each in people) // max(len(people), 1), 9)}"
    known = [each for each in column["values"] if each is not None]
    ranked = sorted(known, key=lambda each: (-people.count(each), each))
    return f"rank {min(ranked.index(value), 9)}"


def members(column: Column, cell: Cell) -> list[Any]:
    """All values that a reader takes a cell for: of a range also whole numbers that nobody has."""
    if column["ranged"] and cell["covers"] != {None}:
        low, high = cell["ends"]
        named = cell["covers"] - {None}
        if {value for value in column["values"] if value is not None and low <= value <= high} == named:
            return [*range(low, high + 1), *([None] if None in cell["covers"] else [])]
    return list(cell["covers"])


def stretch(column: Column, value: Any) -> Any:
    """The value of the column at whose place a number between two values is counted: the one below."""
    if not column["ranged"] or value is None:
        return value
    known = [each for each in column["values"] if each is not None]
    return max([each for each in known if each <= value], default=known[0])


def shares(column: Column, cell: Cell, weight: Mapping[Any, Any] | None = None) -> dict[str, Any]:
    """How much of a cell lies in each bin; all values of a cell count alike, or by weight."""
    inside = members(column, cell)
    each = [Fraction(1) if weight is None else weight[value] for value in inside]
    found: Counter[str] = Counter()
    for value, part in zip(inside, each, strict=True):
        found[bin_of(column, stretch(column, value))] += part  # type: ignore[assignment]
    return {name: part / sum(each) for name, part in found.items()}


def variation(true: Mapping[Any, Any], other: Mapping[Any, Any]) -> Fraction:
    names = {*true, *other}
    return sum((abs(true.get(n, Fraction(0)) - other.get(n, Fraction(0))) for n in names), Fraction(0)) / 2


def one_way(column: Column, cells: Sequence[Cell], people: Sequence[Fraction]) -> Fraction:
    n = len(column["original"])
    true = {
        name: Fraction(c, n) for name, c in Counter(bin_of(column, v) for v in column["original"]).items()
    }
    found: dict[str, Fraction] = {}
    for cell, weight in zip(cells, people, strict=True):
        for name, part in shares(column, cell).items():
            found[name] = found.get(name, Fraction(0)) + weight * part / sum(people)
    return variation(true, found)


def pair_errors(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], people: Sequence[Fraction]
) -> dict[tuple[int, int], tuple[Fraction, Fraction]]:
    """For each pair of columns the error of the estimated table, and that of the product of margins."""
    errors = {}
    for i, j in combinations(range(len(columns)), 2):
        first, second = columns[i], columns[j]
        n = len(first["original"])
        a = [bin_of(first, value) for value in first["original"]]
        b = [bin_of(second, value) for value in second["original"]]
        true = {pair: Fraction(count, n) for pair, count in Counter(zip(a, b, strict=True)).items()}
        single = {
            (x, y): Fraction(p, n) * Fraction(q, n)
            for x, p in Counter(a).items()
            for y, q in Counter(b).items()
        }
        found: dict[tuple[str, str], Fraction] = {}
        for row, weight in zip(rows, people, strict=True):
            for x, p in shares(first, row[i]).items():
                for y, q in shares(second, row[j]).items():
                    found[x, y] = found.get((x, y), Fraction(0)) + weight * p * q / sum(people)
        errors[i, j] = variation(true, found), variation(true, single)
    return errors


def usable(
    place: int,
    exact: bool,
    errors: Mapping[tuple[int, int], tuple[Fraction, Fraction]],
    one_ways: Sequence[Fraction],
) -> bool:
    """Can a column be asked about, given the errors of all pairs, and of all columns alone?"""
    kept = []
    for pair, (error, single) in errors.items():
        if place in pair:
            (other,) = set(pair) - {place}
            if one_ways[other] <= one_ways[place]:
                kept.append(error == 0 or error < single or error < Fraction(1, 100))
    return exact or 2 * sum(kept) >= len(kept)


def raked(
    cells: Sequence[Sequence[int]],
    rows: Sequence[int],
    values: Sequence[int],
    of: Sequence[int],
    totals: Sequence[int],
    rounds: int,
) -> list[float]:
    """Weights of parts after so many rounds; `cells` list the parts of each, `of` the total of each part."""
    people, groups = sum(rows), sorted(set(of))
    wanted = {g: float(totals[g]) if g >= 0 else 0.0 for g in groups}
    for g, total in enumerate(totals):
        wanted.setdefault(g, float(total))
    if -1 in groups and sum(totals) < people:
        wanted[-1] = people - sum(totals)
    else:
        factor = people / sum(totals) if sum(totals) else 0.0
        wanted = {g: total * factor for g, total in wanted.items()}
    weight = dict.fromkeys(wanted, 1.0)
    for _ in range(rounds):
        found = dict.fromkeys(wanted, 0.0)
        for cell, count in zip(cells, rows, strict=True):
            mass = sum(values[part] * weight[of[part]] for part in cell)
            for part in cell:
                if mass > 0:
                    found[of[part]] += count * values[part] * weight[of[part]] / mass
        if (
            sum(abs(wanted[g] - found[g]) for g in wanted) + people - sum(found.values())
        ) / 2 <= 1e-6 * people:
            break
        for g in wanted:
            if wanted[g] <= 0:
                weight[g] = 0.0
            elif found[g] > 0:
                weight[g] *= wanted[g] / found[g]
    return [weight[g] for g in of]


def bin_shares(
    cell: Sequence[int], values: Sequence[int], weights: Sequence[int], of: Sequence[int], size: int
) -> list[float]:
    """How much of a cell lies in each bin; where all of its parts weigh nothing, by values alone."""
    mass = {part: Fraction(values[part] * weights[part]) for part in cell}
    if not sum(mass.values()):
        mass = {part: Fraction(values[part]) for part in cell}
    return [
        float(sum(mass[part] for part in cell if of[part] == b) / sum(mass.values())) for b in range(size)
    ]
