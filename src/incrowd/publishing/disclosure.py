"""What a release tells beyond what it promises: for the publisher alone, and reason enough to refuse some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.assign import one_of_disjoint_matchings
from incrowd.attacks import AfterOne, GivenAway, Guessed, Rate, after_one, definetti, given_away
from incrowd.attacks.definetti import MOST_CHOICES, choices_of
from incrowd.errors import Exposure, Infeasible
from incrowd.flow import Codes, Microdata, Neighbourhoods
from incrowd.join import JoinCounts
from incrowd.measures import Presence, Published
from incrowd.policy.exposures import CORRELATED_VALUES

MOST_GIVEN_AWAY = 0.01  # of the records, with hide_rows
MOST_GUESSED = 1.5  # times 1/l: how often whoever learns from all groups may be right


@dataclass(frozen=True)
class Told:
    """What `publish` says about a draw: the records that rows give away, and what one known person tells.

    ``after_one`` is there for rings only.
    """

    records: int
    rows: GivenAway
    after_one: AfterOne | None

    @property
    def share(self) -> float:
        return self.rows.records / self.records

    def as_dict(self) -> dict[str, Any]:
        return {
            "rows_given_away": self.rows.records,
            "share": self.share,
            "claims": self.rows.claims,
            "precision": self.rows.precision,
            "after_one_known": None if self.after_one is None else self.after_one.as_dict(),
        }


def told_by(neighbourhoods: Neighbourhoods, shown: Published, data: Microdata, k: int) -> Told:
    """What the rows over these crowds tell, drawn as they are drawn.

    Parameters
    ----------
    shown : Published
        The rows.
    k : int
        Combinations that k records share are no secret.
    """
    return Told(len(data), given_away(shown, data, k), _after_one(neighbourhoods, k))


def _after_one(neighbourhoods: Neighbourhoods, k: int) -> AfterOne | None:
    if neighbourhoods.parts is None or neighbourhoods.alike is None or k < 2:
        return None
    sizes = np.bincount(neighbourhoods.parts[~neighbourhoods.alike])
    return after_one(Counter(sizes[sizes > 0].tolist()), k, one_of_disjoint_matchings)


def check_hidden(told: Told) -> None:
    """Refuse a release whose rows were to give nothing away, and do.

    Raises
    ------
    Infeasible
        If the rows give away the whole record of too many people.
    """
    if told.share >= MOST_GIVEN_AWAY:
        raise Infeasible(
            f"hide_rows: the rows still reveal {told.rows.records:,} of {told.records:,} records; publish "
            "numbers as sets or with hierarchies, use fewer columns, or a method that makes classes"
        )


@dataclass(frozen=True)
class Learnt:
    """What `publish` says about sensitive values apart from exact rows: how often they are guessed.

    ``rate`` is that of whoever learns from all groups together how values go with rows, ``blind`` that of
    whoever names the commonest value of the group.
    """

    rate: Rate
    blind: Rate
    l: int  # noqa: E741  the promise

    def as_dict(self) -> dict[str, Any]:
        return {"values_guessed": self.rate.as_dict(), "by_group_alone": self.blind.as_dict()}


def learnt_from(groups: Codes, data: Microdata, l: int) -> Learnt:  # noqa: E741
    """What all groups of sensitive values together tell (deFinetti), for the one sensitive column.

    Parameters
    ----------
    groups : array of shape (n,)
        The group of each record.
    """
    values = data.sensitive[0].codes
    step = -(
        -choices_of(groups, values) // MOST_CHOICES
    )  # of too many groups, every second or third is enough
    here = np.flatnonzero(groups % step == 0)
    sizes = [len(attribute) for attribute in data.attributes]
    found: Guessed = definetti(data.codes[here], sizes, groups[here], values[here])
    return Learnt(found.rate, found.blind, l)


def check_learnt(learnt: Learnt, accept: Sequence[str]) -> None:
    """Refuse values apart that are guessed far more often than the promise suggests.

    Raises
    ------
    Exposure
        With the name to accept it by.
    """
    often = learnt.rate.interval()[0] > MOST_GUESSED / learnt.l
    if often and not CORRELATED_VALUES.accepted(accept):
        raise Exposure(
            CORRELATED_VALUES.name,
            f"{CORRELATED_VALUES.meaning}; here {learnt.rate.share:.0%} of the values are guessed, and "
            f"1/{learnt.l} was asked for; generalise rows instead, as mondrian with l and t",
        )


@dataclass(frozen=True)
class StandingIn:
    """What `publish` says about people of a public table who stand in: how many, and what presence tells."""

    presence: Presence
    counts: JoinCounts

    def as_dict(self) -> dict[str, Any]:
        found = self.presence
        least, most = found.interval or (None, None)
        return {
            "people": self.counts.as_dict(),
            "presence": {"least": str(least), "most": str(most)},
            "certainly_present": found.certainly_present,
            "certainly_absent": found.absent,
        }
