"""Publish a random table, then verify it from disk: a true release is never rejected.

Over every method, with and without persons who have several rows, equivalence classes and rows that overlap,
CSV, Parquet and typed Parquet. Verified twice: with what the audit keeps, and by the policy alone.
"""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from campaigns.campaign import Campaign, Fault
from campaigns.tables import random_request

from incrowd.algorithms.base import all_methods
from incrowd.commands.verify import verify
from incrowd.errors import IncrowdError, NotVerified
from incrowd.policy import Policy
from incrowd.publishing.pipeline import Form, publish_to
from incrowd.release.stage import audit_folder

METHODS = all_methods()

FORMS = [*[Form()] * 38, Form("parquet"), Form("parquet", typed=True)]


def case(rng: random.Random, folder: Path) -> str:
    method = rng.choice(sorted(METHODS))
    chosen = METHODS[method]
    entity = not (chosen.overlapping or chosen.joins or chosen.transparent) and rng.random() < 0.4
    form = rng.choice(FORMS)
    try:
        table, policy = random_request(rng, folder, method, entity)
        publish_to(table, policy, folder / "out", form)
    except NotVerified as refusal:
        raise Fault(f"publisher and verifier disagree{_of(entity)}", f"{method}: {refusal}") from None
    except IncrowdError:
        return "refused"
    public = folder / "public.csv" if chosen.joins else None
    trip = Trip(method, entity, folder / "out", table, public)
    trip.verified(None)
    trip.verified(policy)
    return trip.without_audit(policy)


def _of(entity: bool) -> str:
    return " (entity)" if entity else ""


@dataclass(frozen=True)
class Trip:
    """A release that was written, and what it was made from."""

    method: str
    entity: bool
    release: Path
    table: Path
    public: Path | None

    def verified(self, policy: Policy | None) -> None:
        try:
            verdict = verify(self.release, self.table, policy, public=self.public)
        except IncrowdError as refusal:
            raise self._rejected(str(refusal)) from None
        if not verdict.passed:
            raise self._rejected(str(verdict.failures[0]))

    def _rejected(self, why: str) -> Fault:
        return Fault(f"a true release is rejected from disk{_of(self.entity)}", f"{self.method}: {why}")

    def without_audit(self, policy: Policy) -> str:
        """By the policy alone. Only where the release does not show whose row it is, links may be needed."""
        shutil.rmtree(audit_folder(self.release))
        if not self._needs_links(policy):
            self.verified(policy)
            return "accepted"
        try:
            passed = verify(self.release, self.table, policy, public=self.public).passed
        except IncrowdError:
            passed = False
        return "accepted, even without its links" if passed else "accepted with its links"

    def _needs_links(self, policy: Policy) -> bool:
        """Persons, means, buckets and who was left out are counted by whose row each is."""
        chosen = METHODS[self.method]
        means = any(column.mean for column in policy.quasi_identifiers.values())
        hidden = chosen.buckets or chosen.joins or policy.privacy.max_suppression is not None
        return self.entity or means or hidden


ROUND_TRIPS = Campaign("round trips", "0 true releases rejected", case, nightly=16_000, in_ci=25)
