"""A promise in words: one sentence that says all of it, and one that says what it is not.

The words follow docs/promise.md, and whom it holds against is what the manifest's claims will say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from incrowd.algorithms.base import Algorithm
from incrowd.models.l_diversity import MINIMALITY
from incrowd.policy import Policy
from incrowd.policy.exposures import UNEVEN_PERSONS
from incrowd.publishing.suppression import WITH_PLAIN
from incrowd.schema import Claim
from incrowd.values import number_text

K_FACTOR = "k-factor"

MOST_NAMED = 4


def _list(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"each of the {len(names)} sensitive columns"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True)
class Promised:
    """A policy with its method, its sensitive columns that the table has, and the claims of its release."""

    policy: Policy
    recipe: type[Algorithm]
    sensitive: Sequence[str]
    claims: Sequence[Claim]

    def sentence(self) -> str:
        """All that holds, who may have no row, and against whom."""
        parts = [self._size(), *self._values(), self._left_out()]
        return f"{'; '.join(parts)}; and all of it holds against {self._adversary()}."

    def _size(self) -> str:
        k, recipe = self.policy.k, self.recipe
        if recipe.joins:
            return (
                f"Everyone's row equals those of at least {k - 1} other people, some of whom are in the "
                "public table only"
            )
        if recipe.exact_rows:
            return f"Sensitive values are published apart from exact rows, in buckets of at least {k} people"
        if recipe.overlapping and self.claims[0].model != K_FACTOR:
            return f"Only this is promised, for k = {k}: {recipe.guarantee}"
        if recipe.overlapping:
            return (
                f"No match of a person and a row has a probability above 1 in {k}, since rows are assigned "
                "to people at random"
            )
        if self.policy.entity is not None:
            if UNEVEN_PERSONS.accepted(self.policy.accept):
                return (
                    f"Everyone shares their published quasi-identifiers with at least {k - 1} other persons; "
                    "somebody may have most rows of a class"
                )
            return (
                f"Everyone shares their published quasi-identifiers with at least {k - 1} other persons, and "
                f"nobody has more than 1 in {k} rows of a class"
            )
        return (
            f"Everyone shares their published quasi-identifiers with at least {k - 1} others, so that "
            f"whoever looks for a person picks the right row with a probability of at most 1 in {k}"
        )

    def _values(self) -> Iterator[str]:
        privacy = self.policy.privacy
        names = _list(self.sensitive) if self.sensitive else "the sensitive columns"
        if privacy.l is not None:
            yield self._diversity(str(privacy.l), names)
        if privacy.t is not None:
            yield (
                f"the values of {names} in every class are distributed as in the whole table, up to a "
                f"distance of {privacy.t}"
            )
        if privacy.plain is not None:
            plain = privacy.plain
            yield (
                f"no class reveals that somebody in it is an outlier (further than {plain.d} from a share of "
                f"{plain.p} of all)"
            )

    def _diversity(self, l: str, names: str) -> str:  # noqa: E741 - its name in the papers
        kind, where = self.policy.privacy.l_kind, "bucket" if self.recipe.buckets else "class"
        if self.recipe.transparent:
            return f"nobody has any value of {names} with a probability above 1 in {l}"
        if kind == "entropy":
            return f"every {where} is as uncertain about {names} as {l} equally frequent values"
        if kind == "recursive":
            c = self.policy.privacy.c
            return f"in every {where} the most frequent value of {names} is below {c} times the rarer ones"
        if kind == "frequency" or self.recipe.buckets:
            return f"no value of {names} makes up more than 1 in {l} of a {where}"
        return f"every {where} has at least {l} different values of {names}"

    def _adversary(self) -> str:
        knows = " and ".join(dict.fromkeys(claim.adversary for claim in self.claims[:1]))
        return f"somebody who {knows}{', but does not re-run the program' if self._guarded() else ''}"

    def _guarded(self) -> bool:
        """Did sensitive values have a say in who shares a class?"""
        return any(MINIMALITY in claim.assumptions for claim in self.claims)

    def _left_out(self) -> str:
        privacy = self.policy.privacy
        share = privacy.max_suppression
        if share is None and privacy.plain is not None:
            share = WITH_PLAIN
        if share is None or not Decimal(str(share)):
            return "nobody is left out"
        return f"at most {number_text(Decimal(str(share)) * 100)} % of the records are left out"

    def not_promised(self) -> str:
        """What people take such a promise for, and it is not."""
        privacy = self.policy.privacy
        if privacy.l is None and privacy.t is None:
            first = "that sensitive values stay unknown (a whole class may have the same; ask for l or t)"
        else:
            first = "that nobody learns a value from what else they know about somebody"
        return (
            f"It is not promised {first}, that it stays unknown who is in the table, anything about two "
            "releases of the same people put side by side, or anonymity in the sense of data protection law."
        )

    def rerun(self) -> str:
        """Where values decide who shares a class, whoever re-runs the program learns something from that."""
        if not self._guarded():
            return ""
        return (
            f"{self.policy.method} keeps this by its counts, but not against somebody who re-runs the "
            "program: that a class was not cut further says something about its values (minimality)."
        )
