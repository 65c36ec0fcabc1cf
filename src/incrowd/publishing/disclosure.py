"""Disclosure beyond the promise: what rows, buckets and presence give away; for the publisher alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.assign import WAYS
from incrowd.attacks.definetti import MOST_CHOICES, Guessed, choices_of, definetti
from incrowd.attacks.rebuild import GivenAway, given_away
from incrowd.attacks.registry import Rate
from incrowd.attacks.ring import DRAWS, AfterOne, after_one
from incrowd.contracts import Promise
from incrowd.errors import Exposure, Infeasible, option
from incrowd.flow import Codes, Microdata, Neighbourhoods, Partition
from incrowd.join import JoinCounts
from incrowd.measures import Presence, Published
from incrowd.models import FrequencyDiversity
from incrowd.policy.exposures import CORRELATED_VALUES

MOST_GIVEN_AWAY = 0.01  # of the records, where rows are to be concealed
FEWER = 2_000  # rings to draw of each size where the assignment is one for comparison, which is slow
MOST_GUESSED = 1.5  # times 1/l: how often whoever learns from all buckets may be right


@dataclass(frozen=True)
class RowDisclosure:
    """The records that non-homogeneous rows give away, and what one known person discloses of others.

    ``after_one`` is there for rings only.
    """

    records: int
    rows: GivenAway
    after_one: AfterOne | None

    @property
    def share(self) -> float:
        return self.rows.records / self.records

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows_given_away": self.rows.records,
            "share": self.share,
            "claims": self.rows.claims,
            "precision": self.rows.precision,
            "after_one_known": None if self.after_one is None else self.after_one.to_dict(),
        }

    def sentences(self) -> list[str]:
        """For the publisher, in words."""
        hide = f"; to prevent it, {option('set', 'hide_rows=true')}"
        hint = hide if self.share >= MOST_GIVEN_AWAY and self.after_one else ""
        lines = [
            f"not promised: comparing rows reveals the exact quasi-identifiers of {self.rows.records:,} "
            f"persons ({self.share:.1%}), but not which row is whose{hint}"
        ]
        after = self.after_one
        if after is not None:
            chance = str(after.exact) if after.exact is not None else f"about {after.share:.3f}"
            lines.append(
                "not promised: an adversary who knows one person's row finds another's with probability "
                f"{chance}"
            )
        return lines


@dataclass(frozen=True)
class ValueDisclosure:
    """How often sensitive values are guessed where they are published in buckets beside exact rows.

    ``rate`` is that of whoever learns from all buckets together how values go with rows, ``blind`` that of
    whoever names the commonest value of the bucket.
    """

    rate: Rate
    blind: Rate
    l: int  # noqa: E741  the promise

    def to_dict(self) -> dict[str, Any]:
        return {"values_guessed": self.rate.to_dict(), "by_group_alone": self.blind.to_dict()}

    def sentences(self) -> list[str]:
        """For the publisher, in words."""
        return [
            "not promised: an adversary who learns from all buckets how values depend on rows (deFinetti) "
            f"guesses {self.rate.share:.0%} of them; from one bucket alone {self.blind.share:.0%}"
        ]


@dataclass(frozen=True)
class PresenceDisclosure:
    """How many people of a public table stand in, and what the release discloses about presence."""

    presence: Presence
    counts: JoinCounts

    def to_dict(self) -> dict[str, Any]:
        found = self.presence
        least, most = found.interval or (None, None)
        return {
            "people": self.counts.to_dict(),
            "presence": {"least": str(least), "most": str(most)},
            "certainly_present": found.certainly_present,
            "certainly_absent": found.absent,
        }

    def sentences(self) -> list[str]:
        """For the publisher, in words."""
        found, people = self.presence, self.counts
        others = int(found.rows.sum()) - people.people
        lines = [
            f"{people.people:,} of these rows are from the private table, {others:,} from the public one"
        ]
        if found.interval is not None:
            least, most = map(float, found.interval)
            lines.append(
                "not promised: that presence is secret; a person who fits a row is in the private table with "
                f"a probability from {least:.3f} to {most:.3f}"
            )
        if found.certainly_present:
            lines.append(
                f"NOTE: {found.certainly_present:,} persons are in groups without anybody of the public table"
            )
        return lines


Disclosure = RowDisclosure | ValueDisclosure | PresenceDisclosure


def row_disclosure(
    grouping: Partition | Neighbourhoods, shown: Published, data: Microdata, way: str = "matching"
) -> RowDisclosure | None:
    """What rows disclose when they are compared with each other; None where rows of a class are equal."""
    neighbourhoods = grouping.neighbourhoods
    if neighbourhoods is None:
        return None
    k = int(neighbourhoods.sizes.min())  # combinations that k records share are no secret
    found = given_away(shown, data, k)
    return RowDisclosure(len(data), found, _after_one(neighbourhoods, k, way))


def _after_one(neighbourhoods: Neighbourhoods, k: int, way: str) -> AfterOne | None:
    if neighbourhoods.parts is None or neighbourhoods.alike is None or k < 2:
        return None
    if neighbourhoods.tuples is not None:  # corruption is no part of what is claimed there
        return None
    sizes = np.bincount(neighbourhoods.parts[~neighbourhoods.alike])
    return after_one(Counter(sizes[sizes > 0].tolist()), k, WAYS[way], DRAWS if way == "matching" else FEWER)


def check_rows(found: Disclosure | None, asked: str) -> None:
    """Refuse rows that were to give nothing away, by an option of the algorithm, and give away too many."""
    if isinstance(found, RowDisclosure) and found.share >= MOST_GIVEN_AWAY:
        raise Infeasible(
            f"{asked}: the rows still reveal {found.rows.records:,} of {found.records:,} records; "
            "publish numbers as sets or with hierarchies, use fewer columns, or a method that makes classes"
        )


def value_disclosure(buckets: Codes, data: Microdata, promised: Sequence[Promise]) -> ValueDisclosure:
    """What all buckets (n,) together disclose (deFinetti) of the one sensitive column."""
    values = data.sensitive[0].codes
    step = -(-choices_of(buckets, values) // MOST_CHOICES)  # of too many, every second or third is enough
    here = np.flatnonzero(buckets % step == 0)
    sizes = [len(attribute) for attribute in data.attributes]
    found: Guessed = definetti(data.codes[here], sizes, buckets[here], values[here])
    l = next(model.l for model in promised if isinstance(model, FrequencyDiversity))  # noqa: E741
    return ValueDisclosure(found.rate, found.blind, l)


def check_values(found: ValueDisclosure, accept: Sequence[str]) -> None:
    """Refuse buckets whose values are guessed far more often than the promise suggests."""
    often = found.rate.interval()[0] > MOST_GUESSED / found.l
    if often and not CORRELATED_VALUES.accepted(accept):
        raise Exposure(
            CORRELATED_VALUES.name,
            f"{CORRELATED_VALUES.meaning}; here {found.rate.share:.0%} of the values are guessed, and "
            f"1/{found.l} was asked for; generalise rows instead, as mondrian with l and t",
        )
