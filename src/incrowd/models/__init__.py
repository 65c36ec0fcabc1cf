"""What a release promises about its classes (size, diversity, closeness) or about who fits which row (crowd).

A model says no to classes (`guards`), says beforehand that no release can keep it (`infeasible`), and what
the manifest may say (`claims`). All of them decide in whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from incrowd.contracts import Choice, Model, Promise, catalogue
from incrowd.errors import PolicyError, TableError, unknown
from incrowd.flow import Codes, Cover, Microdata
from incrowd.models import crowd
from incrowd.models.closeness import Closeness
from incrowd.models.diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from incrowd.models.size import KAnonymity

__all__ = [
    "Closeness",
    "DistinctDiversity",
    "EntropyDiversity",
    "KAnonymity",
    "RecursiveDiversity",
    "from_policy",
    "reached",
]

WORDS = ("k", "l", "l_kind", "c", "t", "t_distance")
NEEDS = {"l_kind": "l", "c": "l", "t_distance": "t"}
KINDS = Choice(("distinct", "entropy", "recursive"))


def from_policy(
    privacy: Mapping[str, object], sensitive: Sequence[str], size: str = KAnonymity.name
) -> tuple[Promise, ...]:
    """The models that a policy's [privacy] asks for; l and t hold for every sensitive column.

    Parameters
    ----------
    privacy : mapping
        ``k`` (required), ``l``, ``l_kind`` (distinct, entropy, recursive), ``c`` (recursive only), ``t``,
        ``t_distance`` (equal, ordered, hierarchical). None counts as not given.
    sensitive : sequence of str
        Names of the sensitive columns.
    size : str
        What k means: ``k-anonymity``, or a model of crowds of one's own, which goes with k alone.

    Examples
    --------
    >>> from_policy({"k": 10, "l": 3}, ["disease"])
    (KAnonymity(k=10), DistinctDiversity(l=3, column='disease'))
    """
    given: dict[str, Any] = {word: value for word, value in privacy.items() if value is not None}
    _check_words(given)
    if not sensitive and ("l" in given or "t" in given):
        word = "l" if "l" in given else "t"
        raise PolicyError(
            f"[privacy]: {word} is about sensitive values, but no column is sensitive; name one"
        )
    if size != KAnonymity.name:
        return (_crowd(size, given),)
    models: list[Promise] = [KAnonymity(given["k"])]
    for column in sensitive:
        if "l" in given:
            models.append(_diversity(given, column))
        if "t" in given:
            models.append(Closeness(given["t"], given.get("t_distance", "equal"), column))
    return tuple(models)


def _check_words(given: Mapping[str, Any]) -> None:
    strange = [word for word in given if word not in WORDS]
    if strange:
        raise PolicyError(unknown("in [privacy]", strange, WORDS))
    if "k" not in given:
        raise PolicyError("[privacy]: k is missing; say how large a crowd must be, for example k = 10")
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


def _crowd(size: str, given: Mapping[str, Any]) -> Promise:
    also = [word for word in ("l", "t") if word in given]
    if also:
        raise PolicyError(
            f"[privacy]: {also[0]} speaks of classes, and this method makes none; leave it out, or take a "
            "partition such as mondrian"
        )
    made: Promise = catalogue(crowd.FAMILY)[size](given["k"])
    return made


def _diversity(given: Mapping[str, Any], column: str) -> Model:
    kind = given.get("l_kind", "distinct")
    if kind == "recursive":
        return RecursiveDiversity(given["c"], given["l"], column)
    return (
        EntropyDiversity(given["l"], column) if kind == "entropy" else DistinctDiversity(given["l"], column)
    )


def reached(model: Model, data: Microdata, labels: Codes) -> int | float | Fraction:
    """How strong a promise the worst class keeps: the smallest k or l, the largest t.

    Exact but for entropy l-diversity, whose float is for display only.

    Parameters
    ----------
    model : Model
        Which promise; its own k, l or t is not used (its c, distance and column are).
    data : Microdata
        The table.
    labels : array of shape (n,)
        The class of each row, numbered from 0 without gaps.
    """
    if not len(data):
        raise TableError("a table without rows reaches nothing")
    rule = model.rule(data)
    order, starts = Cover(labels).members()
    classes = np.split(order.astype(np.int32), starts[1:-1])
    worst = min if model.more_is_safer else max
    return worst(rule.reached(rows) for rows in classes)
