"""The claim models that the verifier knows: how each is checked, and which further checks it requires.

A claim of any other model fails: what cannot be verified is not confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from incrowd.schema import Claim
from incrowd.verifier.claims.classes import (
    distinct_diversity,
    entropy_diversity,
    frequency_diversity,
    k_anonymity,
    k_persons,
    recursive_diversity,
    sensitive_groups,
    transparent_diversity,
)
from incrowd.verifier.claims.closeness import candidate_closeness, t_closeness
from incrowd.verifier.claims.histories import m_invariance, series_k, series_l
from incrowd.verifier.claims.join_presence import even_presence
from incrowd.verifier.claims.nonhomogeneous import (
    candidate_diversity,
    global_k_one,
    global_one_k,
    k_factor,
    k_k,
    k_one,
    one_k,
)
from incrowd.verifier.claims.plain import PARAMETERS, plain
from incrowd.verifier.claims.subject import ClaimSubject
from incrowd.verifier.failure import CheckFailed, require

BUCKETS = "sensitive"  # the check of the table of sensitive values
COUNTED = "counts"  # rows say how many people of their class are private
SERIES = "chain"  # the checks of a series
MATCHES = "odds"  # the check of the stated match probabilities


@dataclass(frozen=True, slots=True)
class ClaimModel:
    """How a claim is checked.

    `check` gives what the release reaches, or raises `CheckFailed` if that is less than the claim, which must
    have exactly these `parameters`. A release with such a claim must pass what it `requires` beside the
    checks of every release. People of a public table count, too, if it `joins`; with `hides_suppression` the
    manifest must not tell how many records were suppressed.
    """

    check: Callable[[Claim, ClaimSubject], int | str]
    parameters: tuple[str, ...]
    requires: tuple[str, ...] = ()
    joins: bool = False
    hides_suppression: bool = False


MODELS: Mapping[str, ClaimModel] = {
    "k-anonymity": ClaimModel(k_anonymity, ("k",)),
    "k-persons": ClaimModel(k_persons, ("k",)),
    "distinct-l-diversity": ClaimModel(distinct_diversity, ("l",)),
    "entropy-l-diversity": ClaimModel(entropy_diversity, ("l",)),
    "recursive-l-diversity": ClaimModel(recursive_diversity, ("c", "l")),
    "frequency-l-diversity": ClaimModel(frequency_diversity, ("l",)),
    "transparent-l-diversity": ClaimModel(transparent_diversity, ("l",)),
    "candidate-l-diversity": ClaimModel(candidate_diversity, ("l",)),
    "t-closeness": ClaimModel(t_closeness, ("t", "distance")),
    "candidate-t-closeness": ClaimModel(candidate_closeness, ("t", "distance")),
    "1k-anonymity": ClaimModel(one_k, ("k",), (MATCHES,)),
    "k1-anonymity": ClaimModel(k_one, ("k",), (MATCHES,)),
    "kk-anonymity": ClaimModel(k_k, ("k",), (MATCHES,)),
    "global-1k-anonymity": ClaimModel(global_one_k, ("k",), (MATCHES,)),
    "global-k1-anonymity": ClaimModel(global_k_one, ("k",), (MATCHES,)),
    "k-factor": ClaimModel(k_factor, ("k",), (MATCHES,)),
    "sensitive-groups": ClaimModel(sensitive_groups, ("k",), (BUCKETS,)),
    "k-join-anonymity": ClaimModel(k_anonymity, ("k",), joins=True),
    "even-presence": ClaimModel(even_presence, ("k", "most", "certain"), (COUNTED,), joins=True),
    "series-k": ClaimModel(series_k, ("k",), (SERIES,)),
    "series-l": ClaimModel(series_l, ("l",), (SERIES,)),
    "m-invariance": ClaimModel(m_invariance, ("m",), (SERIES,)),
    "plain": ClaimModel(plain, PARAMETERS, hides_suppression=True),
}


def models_of(claims: Sequence[Claim]) -> list[ClaimModel]:
    """The models of claims, as far as they are known."""
    return [MODELS[claim.model] for claim in claims if claim.model in MODELS]


def requires(claims: Sequence[Claim], check: str) -> bool:
    """Must a release with these claims pass a further check?"""
    return any(check in model.requires for model in models_of(claims))


def joins(claims: Sequence[Claim]) -> bool:
    """Are the claims about people of a public table, too?"""
    return any(model.joins for model in models_of(claims))


def hides_suppression(claims: Sequence[Claim]) -> bool:
    """Would the number of suppressed records say something about outliers?"""
    return any(model.hides_suppression for model in models_of(claims))


def check_claim(claim: Claim, subject: ClaimSubject) -> int | str:
    """What the release reaches, or `CheckFailed` if that is less than the claim."""
    if claim.model not in MODELS:
        raise CheckFailed("the verifier does not know this model, so it cannot confirm the claim")
    model = MODELS[claim.model]
    exact = set(claim.parameters) == set(model.parameters)
    require(exact, "the claim does not have exactly the parameters of its model")
    return model.check(claim, subject)


def claim_name(claim: Claim) -> str:
    """What the check of a claim is called.

    Examples
    --------
    >>> claim_name(Claim("distinct-l-diversity", {"l": 2}, "disease"))
    'distinct-l-diversity (disease)'
    """
    about = [str(part) for part in (claim.column, claim.parameters.get("distance")) if part]
    return f"{claim.model} ({', '.join(about)})" if about else claim.model
