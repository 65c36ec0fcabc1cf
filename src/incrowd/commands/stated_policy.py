"""The policy that a manifest states: what it says was asked for, in words that the catalogue knows."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from incrowd.algorithms.base import method
from incrowd.policy import Policy
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Role

DIVERSITY, L_KINDS = "-l-diversity", ("distinct", "entropy", "recursive", "frequency")


def stated_policy(folder: ReleaseFolder) -> Policy:
    """The policy that asks for what the manifest states, as far as claims and method go."""
    schema, said = folder.schema, folder.method
    options, chosen = dict(said["options"]), method(str(said["name"]))
    if options.get("choose") in chosen.unpublished:
        options |= chosen.unpublished
    privacy: dict[str, Any] = {}
    for claim in folder.claims:
        given: dict[str, Any] = dict(claim.parameters)
        privacy |= {word: given[word] for word in ("k", "l", "c", "t") if word in given}
        if claim.model.endswith(DIVERSITY):
            kind = claim.model.removesuffix(DIVERSITY)
            privacy |= {"l_kind": kind} if kind in L_KINDS else {}
        if claim.model == "t-closeness":
            privacy["t_distance"] = given["distance"]
        if claim.model == "plain":
            columns = given.pop("columns")
            given["rescale"] = given["rescale"] == "yes"
            weights = {name: Decimal(weight) for name, weight in columns.items()}
            privacy["plain"] = {**given, "columns": list(columns), "weights": weights}
    if Fraction(said["max_suppression"]):
        privacy["max_suppression"] = said["max_suppression"]
    sources = folder.public_sources
    joined = sources and {"table": "", "id": sources.id, "membership_secret": True}
    names = {role: [column.name for column in schema.having(role)] for role in Role}
    return Policy(
        identifiers=names[Role.IDENTIFIER],
        quasi_identifiers={column.name: {"mean": column.mean} for column in schema.having(Role.QUASI)},
        sensitive=names[Role.SENSITIVE],
        keep=names[Role.KEEP],
        drop=names[Role.DROP],
        undecided=names[Role.UNDECIDED],
        entity=next(iter(names[Role.ENTITY]), None),
        method=chosen.name,
        options=options,
        accept=folder.manifest.get("accepted", []),
        privacy=privacy,
        public=joined,
        totals="totals" in folder.manifest,
        series={} if folder.in_series else None,
    )
