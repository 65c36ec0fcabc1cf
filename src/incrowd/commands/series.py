"""`series`: the history of a series of releases, and what erasing people would cost before it is done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.algorithms.base import method
from incrowd.cohorts import NONE, Now, SeriesTerms
from incrowd.encode import encode
from incrowd.errors import InputError
from incrowd.publishing.cohort_classes import CohortClasses
from incrowd.publishing.series import next_state, people_to_erase
from incrowd.publishing.series_ids import ids_to_erase
from incrowd.release.audit import AUDIT
from incrowd.release.ledger import SERIES, KeptLedger, Ledger
from incrowd.reports.chart import Chart, ChartLine
from incrowd.results import Result, Row
from incrowd.schema import MANIFEST, Role

COLUMNS = ("release", "number", "rows", "present", "waiting", "lingering", "withheld", "oldest", "gcp")


@dataclass(frozen=True)
class ErasureCost:
    """What an erasure costs if the next table is as the last one.

    Of the `erased` people `shown` have a row. So that nobody sees which rows go, `others` who are in the
    table lose theirs; `withheld` of them are in cohorts that have none left at all.
    """

    erased: int
    shown: int
    others: int
    withheld: int

    def sentence(self) -> str:
        """The cost in words."""
        who = "1 person" if self.erased == 1 else f"{self.erased:,} people"
        return (
            f"erasing {who} ({self.shown:,} with a row) takes the rows of {self.others:,} others who are in "
            f"the table, {self.withheld:,} of them in classes that are withheld as a whole"
        )

    def to_dict(self) -> dict[str, int]:
        return {
            "erased": self.erased,
            "shown": self.shown,
            "others": self.others,
            "withheld": self.withheld,
        }


@dataclass(frozen=True, repr=False)
class SeriesStory(Result):
    """The releases of a series, the first one first; private, since it tells what losses were measured."""

    id: str
    k: int
    l: int  # noqa: E741  the paper's letter
    people: int
    erased: int
    method: str
    releases: tuple[Mapping[str, Any], ...]
    erasure: ErasureCost | None = None

    @property
    def promised(self) -> str:
        """What all releases keep together."""
        if method(self.method).only_in_series:
            return f"{self.method}, m = {self.l}"
        return f"k = {self.k}" + (f", l = {self.l}" if self.l > 1 else "")

    def headline(self) -> str:
        last = self.releases[-1]
        return (
            f"{len(self.releases)} releases about {self.people:,} people; in the last one {last['rows']:,} "
            f"rows, {last['waiting']:,} waiting, {last['lingering']:,} lingering, {last['withheld']:,} "
            f"withheld, information loss (GCP) {last['gcp']:.3f}"
        )

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return COLUMNS, ([each[name] for name in COLUMNS] for each in self.releases)

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"id": self.id, "k": self.k, "l": self.l, "people": self.people}
        found |= {
            "erased": self.erased,
            "method": self.method,
            "releases": [dict(each) for each in self.releases],
        }
        return found if self.erasure is None else found | {"erasure": self.erasure.to_dict()}

    def chart(self) -> Chart:
        """Loss, and who lingers, waits or is withheld, over the releases."""
        shares = {
            "information loss (GCP)": [each["gcp"] for each in self.releases],
            "rows lingering": [each["lingering"] / each["rows"] for each in self.releases],
            "people waiting": [each["waiting"] / max(each["present"], 1) for each in self.releases],
            "people withheld": [each["withheld"] / max(each["present"], 1) for each in self.releases],
        }
        lines = tuple(
            ChartLine(name, tuple(enumerate(values)), look)
            for look, (name, values) in enumerate(shares.items())
        )
        title = (
            f"{len(self.releases)} releases about {self.people:,} people; over all of them {self.promised}"
        )
        return Chart(title, "release, counted from 0", "share of rows, of people; loss", lines)


def series(release: str | Path, *, erase: object = None) -> SeriesStory:
    """The history of a series, as the ledgers beside its releases tell it.

    Parameters
    ----------
    release : path
        The last release that the history is to tell of; those before it lie beside it.
    erase : path, frame or list of ids, optional
        People who might be erased: what that would cost, if the next table were as the last one. Nothing is
        changed.

    Returns
    -------
    SeriesStory
        With ``releases``, ``erasure``, and ``chart()`` for a picture.

    Raises
    ------
    InputError, Refused
        If this is no release of a series, or its ledger is lost or was changed.
    """
    last = KeptLedger.open(Path(release))
    last.check_stated()
    chain = last.chain()
    ledger = chain[-1].read()
    cost = None if erase is None else _cost(ledger, chain[-1], erase)
    told = tuple(_told(each) for each in chain)
    head = ledger.head
    people, erased = len(ledger.people), int(ledger.erased.sum())
    return SeriesStory(head.series, head.k, head.l, people, erased, chain[-1].method, told, cost)


def _told(kept: KeptLedger) -> dict[str, Any]:
    try:
        manifest = json.loads((kept.release / MANIFEST).read_text(encoding="utf-8"))
        audit = json.loads((kept.audit / AUDIT).read_text(encoding="utf-8"))
        said, rows, loss = manifest[SERIES], manifest["rows"]["published"], float(audit["loss"]["gcp"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{kept.audit / AUDIT} cannot be read") from None
    names = ("number", "waiting", "lingering", "withheld", "oldest")
    present = rows - said["lingering"] + said["waiting"] + said["withheld"]
    found = {"release": kept.release.name, "rows": rows, "present": present, "gcp": loss}
    return found | {name: said[name] for name in names}


def _cost(ledger: Ledger, kept: KeptLedger, erase: object) -> ErasureCost:
    """The next release, made of the effective table: people as the last release showed them."""
    entity = kept.schema.having(Role.IDENTIFIER)[0].name
    known = {person: place for place, person in enumerate(ledger.people)}
    gone = people_to_erase(ids_to_erase(erase, entity), ledger.head.digest, known)
    erased = ledger.erased.copy()
    erased[gone] = True
    shown = ledger.state.cohort != NONE
    here = shown & ledger.present
    rows = np.full(shown.size, NONE)
    rows[ledger.with_rows] = np.arange(ledger.with_rows.size)
    terms = SeriesTerms(ledger.head.k, ledger.head.l)
    made_by = method(kept.method if method(kept.method).only_in_series else "mondrian")
    algorithm = made_by.configured(made_by.smallest_group(terms.k, terms.l), {})
    data = encode(ledger.effective, kept.schema)
    classes = CohortClasses(data, algorithm, (), rows, rows, ledger.head.number + 1)
    values = ledger.state.values[-1] if ledger.state.values else ()
    after = next_state(ledger.state, Now(here, erased, values), terms, classes)
    lost = here & ~erased & (after.cohort == NONE)
    none_left = ~np.isin(after.atom, after.atom[after.cohort != NONE])
    whole = lost & none_left & (after.atom == ledger.state.atom)  # companions become an atom of their own
    return ErasureCost(gone.size, int((shown & erased).sum()), int(lost.sum()), int(whole.sum()))
