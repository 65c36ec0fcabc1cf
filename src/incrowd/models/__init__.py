"""Privacy models: k-anonymity and its kin, l-diversity, t-closeness, plain, k-join-anonymity.

A model vetoes groups (`guards`), tells beforehand that no release can keep it (`infeasible`), and what the
manifest may claim (`claims`). All of them decide in whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from incrowd.contracts import Choice, Model, Promise, catalogue
from incrowd.errors import PolicyError, TableError, unknown
from incrowd.flow import Codes, Microdata, Partition
from incrowd.models.k_anonymity import (
    MATCHING,
    EvenPresence,
    KAnonymity,
    KFactor,
    KJoinAnonymity,
    KPersons,
    SensitiveGroups,
)
from incrowd.models.l_diversity import (
    CandidateDiversity,
    DistinctDiversity,
    DrawnDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
    TransparentDiversity,
)
from incrowd.models.plain import Plain, plain_of
from incrowd.models.t_closeness import CandidateCloseness, Closeness

__all__ = [
    "CandidateCloseness",
    "CandidateDiversity",
    "Closeness",
    "DistinctDiversity",
    "EntropyDiversity",
    "EvenPresence",
    "FrequencyDiversity",
    "JoinTerms",
    "KAnonymity",
    "KJoinAnonymity",
    "KPersons",
    "Plain",
    "RecursiveDiversity",
    "SensitiveGroups",
    "TransparentDiversity",
    "from_policy",
    "reached",
]

WORDS = ("k", "l", "l_kind", "c", "t", "t_distance", "plain")
NEEDS = {"l_kind": "l", "c": "l", "t_distance": "t"}
KINDS = Choice(("distinct", "entropy", "recursive", "frequency"))


@dataclass(frozen=True, slots=True)
class JoinTerms:
    """How a release that is joined with a public table is made, for what it may claim.

    `blind`: neither the join nor the groups depend on who is in the private table, but for published numbers
    of people. `presence` is the largest share of them in a class, where these numbers are published, and
    `certain` says that it may be everybody. `least` is how many private people a bucket has, where not k.
    """

    blind: bool = True
    presence: str | None = None
    certain: bool = False
    least: int | None = None

    def settled(self, given: Mapping[str, Any]) -> str:
        """What decides who shares a group of sensitive values, where these are asked for."""
        if not self.blind:
            return "membership"
        return "values" if "t" in given or given.get("l_kind") == "recursive" else "counts"


AS_USUAL = JoinTerms()


def from_policy(
    privacy: Mapping[str, object],
    sensitive: Sequence[str],
    size: str = KAnonymity.name,
    transparent: bool = False,
    buckets: bool = False,
    join: JoinTerms = AS_USUAL,
    by_candidates: bool = False,
    closes: bool = False,
) -> tuple[Promise, ...]:
    """The models that a policy's [privacy] asks for; l and t hold for every sensitive column.

    `size` is what k means: ``k-anonymity``; ``k-join-anonymity``; a model of non-homogeneous generalization,
    which goes with k alone; or ``sensitive-groups``, which needs l, by frequency. A method that is
    `transparent` keeps l by frequency, against somebody who re-runs it; where it makes no classes, k is then
    rounded up to a multiple of l. `by_candidates` says that l is counted in the k rows that may be anybody's,
    `closes` that t can be, but not against somebody who re-runs it. With a public table and `buckets`,
    sensitive values are published in these, and l and t hold for them; `join` says how both tables are
    joined.

    Examples
    --------
    >>> from_policy({"k": 10, "l": 3}, ["disease"])
    (KAnonymity(k=10), DistinctDiversity(l=3, column='disease'))
    """
    given: dict[str, Any] = {word: value for word, value in privacy.items() if value is not None}
    if size == KJoinAnonymity.name:
        return _joined(given, sensitive, buckets, join)
    _check_words(given)
    if not sensitive and ("l" in given or "t" in given):
        word = "l" if "l" in given else "t"
        raise PolicyError(
            f"[privacy]: {word} is about sensitive values, but no column is sensitive; name one"
        )
    if "plain" in given and size != KAnonymity.name:
        raise PolicyError(
            "[privacy]: plain is about equivalence classes, and this method makes none; leave it out, or "
            "use a method such as mondrian"
        )
    if size == SensitiveGroups.name:
        return _buckets(given, sensitive)
    if closes and "t" in given and not by_candidates:
        return _close(size, given, sensitive)
    if transparent and (size == KAnonymity.name or "l" in given):
        return _transparent(
            size, given, sensitive, CandidateDiversity if by_candidates else TransparentDiversity
        )
    if size != KAnonymity.name:
        if by_candidates:
            raise PolicyError(
                "[privacy]: these groups are there for l; give l, for example l = 3, or take other groups"
            )
        return (_matching(size, given),)
    models: list[Promise] = [KAnonymity(given["k"])]
    for column in sensitive:
        if "l" in given:
            models.append(_diversity(given, column))
        if "t" in given:
            models.append(Closeness(given["t"], given.get("t_distance", "equal"), column))
    if "plain" in given:
        models.append(plain_of(given["plain"], given["k"], sensitive))
    return tuple(models)


def _joined(
    given: Mapping[str, Any], sensitive: Sequence[str], buckets: bool, join: JoinTerms
) -> tuple[Promise, ...]:
    if "plain" in given:
        raise PolicyError(
            "[privacy]: plain does not go with a public table: that a class is plain tells who is private; "
            "leave it out, or use a method without a public table"
        )
    asked = from_policy(given, sensitive)
    if not buckets and len(asked) > 1:
        raise PolicyError(
            "[privacy]: this method publishes no sensitive values, so l and t mean nothing; use kja-refine"
        )
    models: list[Promise] = [KJoinAnonymity(given["k"], join.blind)]
    if join.presence is not None:
        models.append(EvenPresence(given["k"], join.presence, join.certain, join.blind))
    if join.least is not None and sensitive and len(asked) == 1:
        raise PolicyError(
            "[privacy]: where values are published by class, a class may have few private people; give l or "
            't, or leave values = "table"'
        )
    if buckets and sensitive:
        models += [SensitiveGroups(join.least or given["k"], join.settled(given)), *asked[1:]]
    return tuple(models)


def _check_words(given: Mapping[str, Any]) -> None:
    strange = [word for word in given if word not in WORDS]
    if strange:
        raise PolicyError(unknown("in [privacy]", strange, WORDS))
    if "k" not in given:
        raise PolicyError("[privacy]: k is missing; give the least size of a class, for example k = 10")
    for word, needed in NEEDS.items():
        if word in given and needed not in given:
            raise PolicyError(
                f"[privacy]: {word} means nothing without {needed}; give {needed} or drop {word}"
            )
    kind = given.get("l_kind", "distinct")
    if not KINDS.allows(kind):
        raise PolicyError(f"[privacy]: l_kind must be {KINDS.words()}")
    if ("c" in given) != (kind == "recursive"):
        raise PolicyError('[privacy]: c and l_kind = "recursive" go together; give both or neither')


def _matching(size: str, given: Mapping[str, Any]) -> Promise:
    also = [word for word in ("l", "t") if word in given]
    if also:
        raise PolicyError(
            f"[privacy]: {also[0]} is about classes, and this method makes none; leave it out, or use a "
            "method such as mondrian"
        )
    made: Promise = catalogue(MATCHING)[size](given["k"])
    return made


def _buckets(given: Mapping[str, Any], sensitive: Sequence[str]) -> tuple[Promise, ...]:
    if "l" not in given:
        raise PolicyError(
            "[privacy]: this method protects sensitive values only, since rows stay unchanged; give l, "
            "for example l = 3: no value makes up more than a third of a bucket"
        )
    if given.get("l_kind", "frequency") != "frequency":
        raise PolicyError(
            '[privacy]: with this method l has one meaning, l_kind = "frequency"; use it or leave it out'
        )
    if "t" in given:
        raise PolicyError("[privacy]: this method does not support t; leave it out, or use mondrian")
    return SensitiveGroups(given["k"]), *(DrawnDiversity(given["l"], column) for column in sensitive)


def _transparent(
    size: str, given: Mapping[str, Any], sensitive: Sequence[str], model: type[TransparentDiversity]
) -> tuple[Promise, ...]:
    """k, and l against somebody who re-runs the program."""
    if "l" not in given:
        raise PolicyError(
            "[privacy]: this method is there for l; give l, for example l = 3, or use a method such as "
            "mondrian"
        )
    for word in ("t", "plain"):
        if word in given:
            raise PolicyError(
                f"[privacy]: this method keeps k and l alone; leave out {word}, or use mondrian"
            )
    if given.get("l_kind", "frequency") != "frequency":
        raise PolicyError(
            '[privacy]: with this method l has one meaning, l_kind = "frequency"; use it or leave it out'
        )
    diversity = [model(given["l"], column) for column in sensitive]
    if size == KAnonymity.name:
        return KAnonymity(given["k"]), *diversity
    if size != KFactor.name:
        raise PolicyError(
            "[privacy]: l needs a randomized assignment over k rows for everybody, and less was asked for"
            "; leave out l, or what lowers the promise"
        )
    k = KFactor(given["k"]).k
    l = diversity[0].l  # noqa: E741
    return KFactor(-(-k // l) * l), *diversity


def _close(size: str, given: Mapping[str, Any], sensitive: Sequence[str]) -> tuple[Promise, ...]:
    """k, and t of the k rows that may be anybody's."""
    if "l" in given:
        raise PolicyError("[privacy]: this method keeps l or t, not both; leave out one, or use mondrian")
    if size != KFactor.name:
        raise PolicyError(
            "[privacy]: t needs a randomized assignment over k rows for everybody, and less was asked for"
            "; leave out t, or what lowers the promise"
        )
    distance = given.get("t_distance", "equal")
    return KFactor(given["k"]), *(CandidateCloseness(given["t"], distance, column) for column in sensitive)


def _diversity(given: Mapping[str, Any], column: str) -> Model:
    kind = given.get("l_kind", "distinct")
    if kind == "recursive":
        return RecursiveDiversity(given["c"], given["l"], column)
    if kind == "entropy":
        return EntropyDiversity(given["l"], column)
    return (FrequencyDiversity if kind == "frequency" else DistinctDiversity)(given["l"], column)


def reached(model: Model, data: Microdata, labels: Codes) -> int | float | Fraction:
    """How strong a promise the worst class keeps: the smallest k or l, the largest t.

    The model's own k, l or t is not used (its c, distance and column are). `labels` number the class of each
    row from 0 without gaps. Exact but for entropy l-diversity, whose float is for display only.
    """
    if not len(data):
        raise TableError("a table without rows reaches nothing")
    rule = model.rule(data)
    order, starts = Partition(labels).members()
    classes = np.split(order.astype(np.int32), starts[1:-1])
    worst = min if model.more_is_safer else max
    return worst(rule.reached(rows) for rows in classes)
