"""What rows that differ from person to person tell beyond what was promised: for the publisher alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from incrowd.assign import one_of_disjoint_matchings
from incrowd.attack import AfterOne, GivenAway, after_one, given_away
from incrowd.errors import Infeasible
from incrowd.flow import Crowds, Microdata
from incrowd.measure import Published

MOST_GIVEN_AWAY = 0.01  # of the records, with hide_rows


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


def told_by(crowds: Crowds, shown: Published, data: Microdata, k: int) -> Told:
    """What the rows over these crowds tell, drawn as they are drawn.

    Parameters
    ----------
    shown : Published
        The rows.
    k : int
        Combinations that k records share are no secret.
    """
    return Told(len(data), given_away(shown, data, k), _after_one(crowds, k))


def _after_one(crowds: Crowds, k: int) -> AfterOne | None:
    if crowds.parts is None or crowds.alike is None or k < 2:
        return None
    sizes = np.bincount(crowds.parts[~crowds.alike])
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
            f"hide_rows: the rows still give away {told.rows.records:,} of {told.records:,} records; publish "
            "numbers as sets or with hierarchies, take fewer columns, or a method that makes classes"
        )
