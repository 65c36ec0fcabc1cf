"""No release is below the lower bound that speaks of its kind."""

from __future__ import annotations

from incrowd.commands.measure_bound import BY_CLAIM
from incrowd.measures.bounds import TIGHT, loss_bound
from incrowd.publishing.pipeline import Release


def not_below_the_bound(release: Release) -> None:
    for claim in release.manifest["claims"]:
        if kind := BY_CLAIM.get(claim["model"]):
            found = loss_bound(release._draft.data, claim["parameters"]["k"], TIGHT, kind)
            assert found.least is not None
            assert found.least <= release.loss()["gcp"]
