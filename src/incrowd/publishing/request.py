"""From a policy to the recipe that it asks for, and what is promised with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from incrowd import models
from incrowd.algorithms.catalogue import Method, method
from incrowd.contracts import Grouper, Guard, NonHomogeneous, Promise
from incrowd.errors import PolicyError
from incrowd.flow import Microdata
from incrowd.policy import Policy
from incrowd.policy.exposures import UNSAFE_MATCHES
from incrowd.schema import Claim


def asked_of(policy: Policy) -> tuple[Method, Grouper, tuple[Promise, ...]]:
    """The recipe, its first part, and what is promised with them.

    With crowds of one's own k means a draw in which nobody is behind any row with more than chance 1/k. Where
    its publisher accepted less, it means what the algorithm keeps by itself.
    """
    recipe = method(policy.method)
    privacy = policy.privacy.model_dump(exclude={"max_suppression"})
    # Where outliers are to be hidden, all who may be left out are for that.
    left_out = "0" if policy.privacy.plain is not None else str(policy.privacy.max_suppression or 0)
    grouper = recipe.grouper(_crowd_size(recipe, policy), policy.options, left_out)
    size = models.KAnonymity.name
    if isinstance(grouper, NonHomogeneous):
        less = not grouper.regular and (grouper.one_sided or UNSAFE_MATCHES.accepted(policy.accept))
        size = grouper.alone if less or not grouper.drawn else "k-factor"
    if recipe.buckets:
        _check_apart(policy)
        size = models.SensitiveGroups.name
    if recipe.joins:
        _check_joins(policy)
        promised = models.for_join(privacy, list(policy.sensitive), buckets=grouper_shows_values(grouper))
        return recipe, grouper, promised
    promised = models.from_policy(privacy, list(policy.sensitive), size, diverse=recipe.diverse)
    return recipe, grouper, _kept(grouper, promised)


def grouper_shows_values(grouper: Grouper) -> bool:
    """Does a method that joins publish sensitive values, apart from the rows?"""
    return bool(getattr(grouper, "shows_values", False))


def _check_joins(policy: Policy) -> None:
    """What people of a public table do not have, or what would tell them from others."""
    means = [column for column, said in policy.quasi_identifiers.items() if said.mean]
    if policy.keep:
        raise PolicyError(
            f"{policy.keep[0]}: people of the public table have no such value, so a kept column would show "
            "who is in the private one; drop it, or make it sensitive"
        )
    if policy.entity is not None:
        raise PolicyError("entity: with a public table k counts rows, not persons; one row each")
    if means:
        raise PolicyError(f"{means[0]}: a mean would be that of both tables; leave out mean")


def _check_apart(policy: Policy) -> None:
    """What would tell more about people, or does not go with values apart from rows."""
    name = policy.method
    means = [column for column, said in policy.quasi_identifiers.items() if said.mean]
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


def _crowd_size(recipe: Method, policy: Policy) -> int:
    """Of how many records rows are made: l different values need l of them."""
    least = policy.privacy.l
    return max(policy.k, least) if recipe.diverse and isinstance(least, int) else policy.k


def _kept(grouper: Grouper, promised: tuple[Promise, ...]) -> tuple[Promise, ...]:
    """What is sought is promised too, but for an order by sensitive values, which does not keep l."""
    if getattr(grouper, "split", "") != "printed":
        return promised
    return tuple(_Sought(each) if each.name == _Sought.name else each for each in promised)


@dataclass(frozen=True)
class _Sought:
    """l that is looked for and not promised."""

    promise: Promise
    name: ClassVar[str] = "drawn-l-diversity"

    def claims(self, _data: Microdata) -> tuple[Claim, ...]:
        return ()

    def guards(self, data: Microdata) -> tuple[Guard, ...]:
        return self.promise.guards(data)

    def infeasible(self, data: Microdata) -> str:
        return self.promise.infeasible(data)
