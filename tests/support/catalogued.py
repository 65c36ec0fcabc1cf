"""A release written by hand in the words of the catalogue, so that it can be verified without a policy."""

from __future__ import annotations

from typing import Any

from incrowd.algorithms.base import method
from incrowd.commands.verify import MODELS
from incrowd.contracts import catalogue
from incrowd.encode import encode
from incrowd.flow import Table


def catalogued(release: Any, name: str, accepted: tuple[str, ...] = ("near-unique-keep",)) -> None:
    """Let the manifest name a method of the catalogue, and claims their adversaries and assumptions."""
    columns = {
        column: [row[j] for row in release.original] for j, column in enumerate(release.original_names)
    }
    data = encode(Table.of(columns), release.schema)
    models = {model: made for family in MODELS for model, made in catalogue(family).items()}
    found = []
    for claim in release.claims:
        about = {"column": claim.column} if claim.column else {}
        found += models[claim.model](**claim.parameters, **about).claims(data)
    release.claims = tuple(found)
    release.manifest["claims"] = [claim.to_dict() for claim in found]
    release.manifest["method"] = method(name).configured(2, {}).described({})
    release.manifest["accepted"] = list(accepted)
