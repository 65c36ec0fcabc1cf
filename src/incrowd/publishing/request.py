"""What a policy asks for: an algorithm with its options, the models it must keep, who may be left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from incrowd import models
from incrowd.algorithms.base import Algorithm, check_feasible, method
from incrowd.cohorts import SeriesTerms
from incrowd.contracts import Guard, Promise
from incrowd.errors import IncrowdError, PolicyError
from incrowd.flow import Microdata
from incrowd.models import JoinTerms, KAnonymity, KPersons
from incrowd.models.k_anonymity import KFactor
from incrowd.models.l_diversity import MINIMALITY
from incrowd.models.series import MInvariant, SeriesK, SeriesL
from incrowd.policy import Policy
from incrowd.policy.exposures import CERTAIN_PRESENCE, UNEVEN_PERSONS, UNSAFE_JOIN
from incrowd.policy.parts import Series
from incrowd.publishing.suppression import OF_SIZE, Allowance, allowance_of
from incrowd.schema import Claim, Schema
from incrowd.verifier import Expected

WITHDRAWN = (*OF_SIZE, KFactor.name)  # what holds against fewer where values had a say in who shares rows


@dataclass(frozen=True)
class Request:
    """What a policy asks for; ``allowed`` is None where everybody must have a row.

    A join is ``blind`` if who is in the private table decides nothing about rows.
    """

    policy: Policy
    algorithm: Algorithm
    promised: tuple[Promise, ...]
    allowed: Allowance | None = None
    blind: bool = True

    @property
    def method(self) -> dict[str, Any]:
        """What the manifest says about the algorithm."""
        return self.algorithm.described(self.policy.options)

    def claims(self, private: Microdata) -> tuple[Claim, ...]:
        """What a release of this table may say about itself.

        Where values had a say in who shares a class, k holds against fewer, too: whoever re-runs the program
        rules out some ways to hand out the values, and with them some rows.
        """
        found = tuple(claim for model in self.promised for claim in model.claims(private))
        if not any(MINIMALITY in claim.assumptions for claim in found):
            return found
        return tuple(
            replace(claim, assumptions=(*claim.assumptions, MINIMALITY))
            if claim.model in WITHDRAWN
            else claim
            for claim in found
        )

    def expected(self, schema: Schema, private: Microdata) -> Expected:
        """What the verifier must demand of a release."""
        public = self.policy.public
        said = {} if public is None else {"source": public.source, "date": public.date}
        return Expected(
            schema,
            self.claims(private),
            self.policy.accept,
            None if self.allowed is None else Fraction(self.allowed.share),
            self.method,
            self.algorithm.full_domain,
            {key: text for key, text in said.items() if text is not None},
            self.policy.totals,
        )


def requested(policy: Policy) -> Request:
    """What the policy asks for; refused are parts that do not go together, and exposures not accepted."""
    chosen = method(policy.method)
    privacy = policy.privacy
    # Where outliers are to be hidden, all who may be left out are for that.
    left_out = "0" if privacy.plain is not None else str(privacy.max_suppression or 0)
    algorithm = chosen.configured(chosen.smallest_group(policy.k, privacy.l), policy.options, left_out)
    if policy.series is not None:
        _check_series(algorithm, policy)  # before remedies that would not do for a series
    _check_columns(algorithm, policy)
    _check_rare(policy)
    if algorithm.only_in_series and policy.series is None:
        raise PolicyError(
            f"{policy.method} is for a series: write [series] into the policy, or take mondrian"
        )
    if policy.series is not None:
        privacy = privacy.model_copy(update={"l_kind": None if privacy.l is None else "frequency"})
    promised = models.from_policy(
        privacy.model_dump(exclude={"max_suppression"}),
        list(policy.sensitive),
        algorithm.model_of_k(policy.accept),
        transparent=algorithm.transparent,
        buckets=algorithm.buckets,
        join=_join_terms(algorithm, policy),
        by_candidates=algorithm.by_candidates,
        closes=algorithm.closes,
    )
    if policy.entity is not None and UNEVEN_PERSONS.accepted(policy.accept):
        promised = tuple(KPersons(each.k) if isinstance(each, KAnonymity) else each for each in promised)
    if policy.public is not None and not algorithm.joins:
        raise PolicyError(f"{policy.method} takes no public table; leave out [public]")
    allowed = allowance_of(policy)
    _check_totals(algorithm, policy, allowed)
    for exposure, remedy in algorithm.exposures().items():
        exposure.refuse(policy.accept, remedy)
    if policy.public is not None and policy.public.conflicts == "microdata":
        UNSAFE_JOIN.refuse(policy.accept, 'write conflicts = "public" under [public]')
    if not algorithm.promises_l:
        sought = SoughtDiversity.name
        promised = tuple(SoughtDiversity(each) if each.name == sought else each for each in promised)
    if policy.series is not None:
        promised = (*promised, *_over_all_releases(algorithm, policy))
    return Request(policy, algorithm, promised, allowed, not UNSAFE_JOIN.accepted(policy.accept))


def _over_all_releases(algorithm: Algorithm, policy: Policy) -> tuple[Promise, ...]:
    """What a series promises beside what each of its releases does."""
    terms, columns = series_terms(policy), list(policy.sensitive)
    if algorithm.only_in_series:
        return tuple(MInvariant(terms.l, column) for column in columns)
    return (SeriesK(terms.k), *(SeriesL(terms.l, column) for column in columns if terms.l > 1))


def series_terms(policy: Policy) -> SeriesTerms:
    """What a policy with [series] promises over all releases, and how it waits."""
    said = policy.series or Series()
    l = 1 if policy.privacy.l is None else int(policy.privacy.l)  # noqa: E741  the paper's letter
    return SeriesTerms(policy.k, l, said.size or 0, said.wait, str(said.tau), said.left, said.hold)


def _check_series(algorithm: Algorithm, policy: Policy) -> None:
    """Refuse what no later release could go on with: a cohort is one class, and repeated as it was."""
    privacy = policy.privacy
    means = [column for column, said in policy.quasi_identifiers.items() if said.mean]
    rare = [
        column
        for column, said in policy.quasi_identifiers.items()
        if isinstance(said.hierarchy, dict) and "rare" in said.hierarchy
    ]
    problems = {
        algorithm.not_in_series: "take a method such as mondrian",
        "t is about the whole table of one release" if privacy.t is not None else "": "leave out t",
        "plain counts the people of one release" if privacy.plain is not None else "": "leave out plain",
        "whoever has no row yet waits, and nobody is suppressed"
        if Fraction(privacy.max_suppression or 0)
        else "": "leave out max_suppression",
        f"l is promised by frequency, not as {privacy.l_kind}"
        if privacy.l_kind not in (None, "frequency")
        else "": 'write l_kind = "frequency"',
        "l is a whole number there" if Fraction(privacy.l or 1).denominator > 1 else "": "round it up",
        f"{means[0]} has a mean, which no series has yet" if means else "": "leave out mean",
        f"{rare[0]} has the hierarchy rare, whose labels change with every release"
        if rare
        else "": "take another hierarchy, or none",
        "totals count one release" if policy.totals else "": "leave out totals",
        "weights are of one table"
        if policy.population is not None and policy.population.weight is not None
        else "": "leave out population.weight",
    }
    if algorithm.only_in_series:
        problems |= _problems_of_signatures(policy)
    problems.pop("", None)
    for problem, remedy in problems.items():
        raise PolicyError(f"[series]: {problem}; {remedy}")


def _problems_of_signatures(policy: Policy) -> dict[str, str]:
    """What does not go with m-invariance: its classes have one person of each value, and are made anew."""
    name, sensitive, said = policy.method, len(policy.sensitive), policy.series or Series()
    waits = [key for key in Series.model_fields if getattr(said, key) != Series.model_fields[key].default]
    l = int(policy.privacy.l or 0)  # noqa: E741  the paper's letter
    return {
        f"{name} is for one sensitive column, and there are {sensitive}"
        if sensitive != 1
        else "": "name one",
        f"{policy.keep[0]} is kept, and would link rows of one person in several releases"
        if policy.keep
        else "": "drop it, or make it a quasi-identifier",
        f"classes of {name} have l = {l} people, and k = {policy.k} is more"
        if policy.k > l
        else "": "ask for a larger l, or a smaller k",
        f"{waits[0]} is for classes that are kept, and {name} makes them anew"
        if waits
        else "": "leave it out",
    }


LEAST_L = 2  # of different values
KEEPS_L = "mondrian"  # for every sensitive column


def diversity_remedy(policy: Policy, data: Microdata) -> str:
    """What to ask for so that no class has a single sensitive value: only what is then granted."""
    if _granted(policy, data, l=LEAST_L):
        return f"ask for l = {LEAST_L} or more"
    if policy.method != KEEPS_L and _granted(policy, data, l=LEAST_L, method=KEEPS_L):
        return f"{policy.method} does not keep l here; take {KEEPS_L} with l = {LEAST_L} or more"
    return "drop the column, or publish it as a quasi-identifier"


def _granted(policy: Policy, data: Microdata, **asked: Any) -> bool:
    """Is a change of the policy accepted, and feasible on this table?"""
    try:
        check_feasible(requested(policy.with_(**asked)).promised, data)
    except IncrowdError:
        return False
    return True


def _check_totals(algorithm: Algorithm, policy: Policy, allowed: Allowance | None) -> None:
    """Refuse totals where they would say more than the adversary of the promise knows, or nothing."""
    if not policy.totals:
        return
    if algorithm.joins:
        reason = "the private people have a value would say who is likelier to be one"
        raise PolicyError(f"totals: how many of {reason}; leave out totals with {policy.method}")
    if allowed is not None and allowed.hidden:
        raise PolicyError(
            "totals: where outliers are hidden, totals would help to find out who was left out; leave out "
            "totals, or plain"
        )
    if algorithm.exact_rows:
        raise PolicyError(
            f"totals: the rows of {policy.method} are exact and say it already; leave out totals"
        )


def _join_terms(algorithm: Algorithm, policy: Policy) -> JoinTerms:
    blind = not algorithm.exposures() and not UNSAFE_JOIN.accepted(policy.accept)
    certain = CERTAIN_PRESENCE.accepted(policy.accept)
    return JoinTerms(blind, algorithm.most_present_share, certain, algorithm.least_bucket)


def _check_columns(algorithm: Algorithm, policy: Policy) -> None:
    """Refuse columns that do not go with what the algorithm publishes."""
    means = [column for column, said in policy.quasi_identifiers.items() if said.mean]
    if algorithm.joins:
        _check_joined(policy, means)
    elif algorithm.exact_rows:
        _check_exact(policy, means)
    elif algorithm.overlapping and means:
        raise PolicyError(
            f"{means[0]}: a mean is that of a class, and {policy.method} makes none; leave out mean"
        )


def _check_rare(policy: Policy) -> None:
    """Which values are rare follows from the whole private table: whoever has a row must be all who count."""
    for column, said in policy.quasi_identifiers.items():
        if not isinstance(said.hierarchy, dict) or "rare" not in said.hierarchy:
            continue
        if said.public:
            raise PolicyError(
                f"{column}: rare puts values of few people together, and public would publish each of them; "
                "leave out public"
            )
        if policy.public is not None:
            raise PolicyError(
                f"{column}: rare counts the people of the private table, and with a public table its labels "
                "would show who is private; take another hierarchy, or none"
            )
        if allowance_of(policy) is not None:
            raise PolicyError(
                f"{column}: rare counts everybody, also those who are suppressed, and its labels would tell "
                "of them; take another hierarchy, or suppress nobody"
            )


def _check_joined(policy: Policy, means: list[str]) -> None:
    """What people of a public table do not have, or what would tell them from others."""
    if policy.keep:
        raise PolicyError(
            f"{policy.keep[0]}: people of the public table have no such value, so a kept column would show "
            "who is in the private one; drop it, or make it sensitive"
        )
    if policy.entity is not None:
        raise PolicyError("entity: with a public table k counts rows, not persons; one row each")
    if means:
        raise PolicyError(f"{means[0]}: a mean would be that of both tables; leave out mean")


def _check_exact(policy: Policy, means: list[str]) -> None:
    """What would tell more about people, or does not go with buckets beside exact rows."""
    name = policy.method
    if len(policy.sensitive) != 1:
        raise PolicyError(
            f"{name} needs exactly one sensitive column, and there are {len(policy.sensitive)}; drop the "
            "others, or make them quasi-identifiers"
        )
    if policy.keep:
        raise PolicyError(
            f"{policy.keep[0]}: {name} keeps exact rows, so that kept columns would be known of everyone; "
            "drop it, or make it a quasi-identifier"
        )
    if policy.entity is not None:
        raise PolicyError(f"entity: {name} counts rows, not persons; leave it out, or use mondrian")
    if means:
        raise PolicyError(f"{means[0]}: {name} publishes exact values, which need no mean; leave out mean")


@dataclass(frozen=True)
class SoughtDiversity:
    """l that is sought and not promised."""

    promise: Promise
    name: ClassVar[str] = models.TransparentDiversity.name

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        return ()

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        return self.promise.guards(data)

    def infeasible(self, data: Microdata) -> str:
        return self.promise.infeasible(data)
