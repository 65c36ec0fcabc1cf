"""What each quasi-identifier costs the others, what its loss would cost, and a policy that does better.

The cost of a column is how much worse two-column tables of the *others* are because it is there: their error
with it, minus their error without it. It is measured on a sample, with Mondrian. Cost alone misleads, since
what tells most costs most: so columns are advised about by what they are, and whatever people are known by
(age, sex, places, dates) is never advised against.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from incrowd.commands.inspect.policy_text import SUGGESTED_K
from incrowd.commands.inspect.profile import Profile, profiled
from incrowd.commands.inspect.trials import Errors, TrialSample, coarsened
from incrowd.flow import Codes, Microdata, Table
from incrowd.long_work import Watch, unwatched
from incrowd.measures.bins import bits, text_bins
from incrowd.measures.demand import Demand, demand, room_for
from incrowd.measures.two_way import percent, skill
from incrowd.policy import Policy
from incrowd.results import Result, Row
from incrowd.schema import Column, Kind, Role, Schema
from incrowd.values import reading_of, same_name

MOST_ROWS = 20_000
MOST_WORK = 6_000_000  # sampled rows times the square of quasi-identifiers: what is measured in ten seconds
WIDE = 30  # with more quasi-identifiers than so many, what coarser ones gain is not measured
DETERMINED, GUESSED = 0.95, 0.9  # a column repeats another: rows that it foretells, guesses that it saves

PROTECTED = frozenset((
    "age", "agep", "agegroup", "sex", "gender", "birth", "birthdate", "birthday", "born", "dob", "date",
    "day", "month", "year", "zip", "zipcode", "postcode", "postal", "plz", "fsa", "puma", "area", "place",
    "address", "state", "province", "county", "city", "town", "region", "district", "neighbourhood",
    "neighborhood", "country",
))  # fmt: skip  # what people are known by; never advised against

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ColumnCost:
    """One quasi-identifier.

    ``cost`` is what dropping it gains for two-column tables of the others, ``coarser`` what it gains to leave
    it three values, both as shares of people in the wrong cell (None: there is no such table;
    ``coarser`` also where it was not measured). ``bits`` and ``coarse_bits`` are its detail in bins now and
    then; ``kept`` is what the release would keep of what connects it with the others, and is lost with it.
    ``advice`` is "" or where to put it.
    """

    name: str
    cost: float | None
    coarser: float | None
    bits: float
    coarse_bits: float
    kept: float | None
    advice: str = ""
    reason: str = ""

    @property
    def loses(self) -> str:
        """What goes with it, in words."""
        if self.kept is None or self.kept <= 0:
            return "nothing but its total"
        return f"{100 * self.kept:.0f} % of its connections"


@dataclass(frozen=True, eq=False, repr=False)
class PolicyCosts(Result):
    """What the quasi-identifiers of a policy cost, dearest first, and the policy without the advised ones.

    ``error`` is that of two-column tables under the policy, ``before`` and ``after`` those of the columns
    that the improved policy still publishes: under the policy, and under the improved one.
    """

    rows: int
    sampled: int
    k: int
    error: float | None
    demand: Demand
    columns: tuple[ColumnCost, ...]
    before: float | None
    after: float | None
    improved: Policy

    @property
    def advised(self) -> tuple[ColumnCost, ...]:
        return tuple(column for column in self.columns if column.advice)

    def headline(self) -> str:
        if not self.advised or self.before is None or self.after is None:
            return f"{len(self.columns)} quasi-identifiers; nothing is advised"
        return (
            f"{len(self.columns)} quasi-identifiers; without {len(self.advised)} of them two-column tables "
            f"of the others are wrong for {percent(self.after)} of people instead of {percent(self.before)}"
        )

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = ((c.name, points(c.cost), points(c.coarser), c.loses, c.advice) for c in self.columns)
        return ("column", "cost", "coarser gains", "dropping loses", "advice"), rows

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "sampled": self.sampled,
            "k": self.k,
            "error": self.error,
            "demand": self.demand.to_dict(),
            "columns": [{**asdict(column), "loses": column.loses} for column in self.columns],
            "before": self.before,
            "after": self.after,
            "improved": self.improved.to_dict(),
        }


def points(share: float | None) -> str:
    """A difference of errors, in percentage points."""
    return "" if share is None else f"{100 * share:+.2f}"


def cost_of_columns(table: Table, policy: Policy, watch: Watch = unwatched) -> PolicyCosts:
    """Measure what each quasi-identifier costs the others, on evenly spaced rows; advise by what they are."""
    schema = policy.schema(table)
    quasi = len(schema.having(Role.QUASI))
    size = min(len(table), MOST_ROWS, max(MOST_WORK // quasi**2, 1_000))
    sample = table.take(np.arange(size) * len(table) // size)
    trial = TrialSample.of(sample, schema, policy)
    progress = watch("measure")
    names = [attribute.name for attribute in trial.data.attributes]
    advice = _advice(profiled(sample), trial.data)
    with_all = trial.errors()
    found = []
    for number, attribute in enumerate(trial.data.attributes):
        name, codes = attribute.name, trial.data.codes[:, number]
        without = trial.errors(dropped=[name])
        coarse, values = coarsened(attribute, codes)
        narrower = None if coarse is None or quasi > WIDE else trial.errors(coarse=trial.tried(*coarse))
        to, reason = advice.get(name, ("", ""))
        found.append(
            ColumnCost(
                name,
                _gain(with_all, without, [name]),
                None if narrower is None else _gain(with_all, narrower, [name]),
                bits(trial.columns[name].bins.counts(codes)),
                bits(values),
                _kept(with_all, name),
                to,
                reason,
            )
        )
        progress((number + 1) / len(names))
    found = _with_one_left(found)
    moved = {column.name: column.advice for column in found if column.advice}
    gone = [name for name, to in moved.items() if to == "drop"]
    exact = [name for name in moved if name not in gone]
    then = trial.errors(dropped=gone, exact=exact) if moved else with_all
    stays = [pair for pair in with_all if not {*pair} & {*gone}]
    return PolicyCosts(
        len(table),
        size,
        policy.k,
        _mean([with_all[pair][0] for pair in with_all]),
        replace(demand(trial.data, policy.k), room=room_for(len(table), policy.k)),  # of all rows
        tuple(sorted(found, key=lambda column: -(column.cost or 0.0))),
        _mean([with_all[pair][0] for pair in stays]),
        _mean([then[pair][0] for pair in stays]),
        improved_policy(policy, moved, {name: _inferred(table, name, schema) for name in moved}),
    )


def suggested_demand(table: Table, profile: Profile, k: int = SUGGESTED_K) -> Demand | None:
    """How much detail the suggested quasi-identifiers ask for; None if there are none."""
    missing = frozenset({"", *profile.missing})
    asked = []
    for said in profile.having(Role.QUASI):
        column = table.column(said.name)
        bins = text_bins(Column(said.name, Role.QUASI, said.kind, format=said.format), column, missing)
        asked.append(bits(bins.counts(column.codes)))
    return Demand(len(asked), sum(asked), room_for(len(table), k)) if asked else None


def _gain(now: Errors, then: Errors, but: Sequence[str]) -> float | None:
    """How much smaller errors are then, over pairs without some columns."""
    return _mean([now[pair][0] - then[pair][0] for pair in then if not {*pair} & {*but}])


def _kept(errors: Errors, name: str) -> float | None:
    mine = [said for pair, said in errors.items() if name in pair]
    return skill(_mean([error for error, _ in mine]), _mean([single for _, single in mine]))


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


# ---- advice


def _advice(profile: Profile, data: Microdata) -> dict[str, tuple[str, str]]:
    """Where to put a quasi-identifier, and why: by what it is, never by its cost."""
    said = {column.name: column for column in profile.columns}
    found = {}
    for attribute in data.attributes:
        name, role = attribute.name, said[attribute.name].role
        if attribute.kind is Kind.DATE or is_protected(name):
            continue
        if role is Role.SENSITIVE:
            found[name] = "sensitive", f"{said[name].reason}, and outsiders hardly know it"
        elif role is Role.UNDECIDED:
            found[name] = "drop", "could anybody know it? If nobody can, publish it as sensitive"
    for name, by in _repeated(data):
        if found.get(name, ("",))[0] != "sensitive":
            found[name] = "drop", f"{by} says it already"
    return found


def is_protected(name: str) -> bool:
    """Does the name say that people are known by it: their age, sex, place, or a date?

    Examples
    --------
    >>> [is_protected(name) for name in ("AGEP", "age_group", "birthDate", "wage", "education")]
    [True, True, True, False, False]
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return bool(PROTECTED & {*re.split(r"[\W_]+", parted.casefold())})


def _repeated(data: Microdata) -> Iterable[tuple[str, str]]:
    """Columns that a finer one foretells, and which; never both of two that foretell each other."""
    codes = [np.ascontiguousarray(column) for column in data.codes.T]
    kinds = [attribute.kind for attribute in data.attributes]
    order = sorted(range(len(codes)), key=lambda j: (len(np.unique(codes[j])), kinds[j] is Kind.NUMERIC))
    gone: set[int] = set()
    for j in order:
        if is_protected(data.attributes[j].name) or kinds[j] is Kind.DATE:
            continue
        for other in reversed(order):
            if other not in (j, *gone) and foretells(codes[other], codes[j]):
                gone.add(j)
                yield data.attributes[j].name, data.attributes[other].name
                break


def foretells(first: Codes, second: Codes) -> bool:
    """Does the first column say the second in 95 % of rows, where guessing is wrong ten times as often?

    A row is guessed by the other rows that are equal to it in the first column; one without such is missed.

    Examples
    --------
    >>> town, county = np.array([0, 0, 1, 1, 2, 2], np.int32), np.array([0, 0, 0, 0, 1, 1], np.int32)
    >>> foretells(town, county), foretells(county, town), foretells(np.arange(6, dtype=np.int32), county)
    (True, False, False)
    """
    size = int(second.max(initial=0)) + 1
    keys, counts = np.unique(first.astype(np.int64) * size + second, return_counts=True)
    group = keys // size
    order = np.lexsort([-counts, group])
    starts = np.flatnonzero(np.append(True, np.diff(group[order]) != 0)) if order.size else order
    best = counts[order][starts]
    right = int(best[best > 1].sum())
    blind = int(np.bincount(second).max(initial=0))
    wrong, n = first.size - right, first.size
    return right >= DETERMINED * n and wrong <= (1 - GUESSED) * (n - blind) and blind < n


def _with_one_left(columns: Sequence[ColumnCost]) -> list[ColumnCost]:
    """A release needs a quasi-identifier: of columns that are all advised against, the cheapest stays."""
    if any(not column.advice for column in columns):
        return list(columns)
    stays = min(columns, key=lambda column: column.cost or 0.0)
    return [replace(column, advice="", reason="") if column is stays else column for column in columns]


def _inferred(table: Table, name: str, schema: Schema) -> Kind:
    texts = [text for text in table.column(name).texts if text and text not in schema.missing]
    return reading_of(texts, name).kind


def improved_policy(policy: Policy, moved: Mapping[str, str], kinds: Mapping[str, Kind]) -> Policy:
    """The policy with some quasi-identifiers dropped, or sensitive; everything else stays.

    `kinds` are those that their values have: a type that says the same is left out.
    """
    parts = policy.to_dict()
    for name, to in moved.items():
        own = same_name(name)
        said = parts["quasi_identifiers"].pop(own)
        if to == "drop":
            parts["drop"] = [*parts.get("drop", ()), own]
        else:
            kept = {key: said[key] for key in ("type", "format", "order") if key in said}
            if name in kinds and kept.get("type") == kinds[name]:
                del kept["type"]
            parts["sensitive"] = {**parts.get("sensitive", {}), own: kept}
    return Policy.from_dict(parts, folder=policy.folder)
