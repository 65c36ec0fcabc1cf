"""Outliers whose attributes are known: the adversary knows in which columns somebody is an outlier.

Wang and Liu leave this adversary to future work: who "not only knows that Justin is an outlier but also his
outlierness lies on the combination of age and income". A subspace is the sensitive columns with none, one,
two or all of the quasi-identifiers; a record is an outlier there by the distance over these columns.

Distance over fewer columns is never larger. So whoever is an outlier in a subspace is one over all columns,
and a row or column of nodes that is all bad there is all bad over all columns: plain classes are plain in
every subspace, and the same bound holds. What nothing is promised about is the value of somebody who is
known to be in the table: it is one that makes the person an outlier where that is known, and nowhere else.

References
----------
Wang, Liu, "Hiding distinguished ones into crowd: privacy-preserving publishing data with outliers", EDBT
2009, sections 4 and 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from incrowd.attacks.distinguish import Distinguished, ShownClass, distinguish, inside
from incrowd.attacks.outliers import RULES_OF, SOME_OUTLIERS, OutlierHunt
from incrowd.attacks.registry import AttackResult, Details, Rate, attack, one_of
from incrowd.attacks.target import Flags, Ints
from incrowd.distance_outliers import Space
from incrowd.flow import Codes

KNOWS = "everyone's quasi-identifiers, who is an outlier, and in which columns"
IN_THE_TABLE = f"{KNOWS}; who is in the table"
MOST_COLUMNS = 2  # quasi-identifiers of a subspace


@dataclass(frozen=True, eq=False)
class Subspaces:
    """A space over all columns at the p and d that is asked, who is known to be an outlier, and where.

    `names` are the quasi-identifiers of each subspace, `outlying` (subspaces, n) says who is one there.
    """

    whole: Space
    known: Flags

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        quasi = [axis.name for axis in self.whole.axes[: self.whole.quasi]]
        few = range(min(MOST_COLUMNS, len(quasi)) + 1)
        found = [some for many in few for some in combinations(quasi, many)]
        return (*found, *([tuple(quasi)] if len(quasi) > MOST_COLUMNS else []))

    @cached_property
    def spaces(self) -> tuple[Space, ...]:
        sensitive = {axis.name for axis in self.whole.axes[self.whole.quasi :]}
        return tuple(self.whole.over({*some} | sensitive) for some in self.names)

    @cached_property
    def outlying(self) -> Flags:
        people = np.flatnonzero(self.known & ~self.whole.removed)
        found = np.zeros((len(self.spaces), self.known.size), np.bool_)
        for of, space in zip(found, self.spaces, strict=True):
            of[people] = space.bad(space.points(people)) if people.size else False
            of[self.known & self.whole.removed] = True  # by sensitive values alone, so in every subspace
        return found

    def distinguished(self, classes: Sequence[ShownClass]) -> list[Distinguished]:
        """What classes reveal in each subspace; only classes with a bad line over all columns can."""
        suspects = distinguish(classes, self.whole, self.known).suspects
        pairs = zip(self.spaces, self.outlying, strict=True)
        return [distinguish(classes, space, known, suspects) for space, known in pairs]

    def values(self, classes: Sequence[ShownClass]) -> tuple[Ints, Ints, Ints]:
        """How many different values each known outlier who fits a class can have, by what is known.

        Three counts for each of them: by the classes alone, if it is known that the person is an outlier, and
        if it is known in which subspaces.
        """
        people = np.flatnonzero(self.known & ~self.whole.removed)
        counts = [self._counts(who, classes) for who in people.tolist()]
        found = np.array([each for each in counts if each], np.int64).reshape(-1, 3)
        return found[:, 0], found[:, 1], found[:, 2]

    def _counts(self, who: int, classes: Sequence[ShownClass]) -> tuple[int, int, int] | None:
        here = self.whole.data.codes[[who]]
        fitting = [shown.values for shown in classes if inside(shown.cells, here)[0]]
        if not fitting:
            return None
        values = np.unique(np.concatenate(fitting), axis=0)
        outlier = self._bad(self.whole, who, values)
        agrees = outlier.copy()
        for space, known in zip(self.spaces, self.outlying[:, who], strict=True):
            agrees[agrees] = self._bad(space, who, values[agrees]) == known
        return len(values), int(outlier.sum()), int(agrees.sum())

    @staticmethod
    def _bad(space: Space, who: int, values: Codes) -> Flags:
        """With which of these values the person would be an outlier."""
        quasi = np.repeat(space.points(np.array([who]))[:, : space.quasi], len(values), axis=0)
        return space.bad(np.hstack([quasi, values]).astype(np.int32))


@attack("subspaces", 302, ("outliers",))
def subspaces(hunt: OutlierHunt) -> tuple[AttackResult, ...]:
    """Names outliers by subspaces, then tells their values; where it was promised, or where it is asked."""
    setting = hunt.claimed or hunt.asked
    if setting is None:
        return ()
    space = hunt.space.at(str(setting.p), str(setting.d))
    outliers = space.outliers()
    known = outliers | space.removed if hunt.claimed is None else outliers
    sub, promised = Subspaces(space, known), hunt.claimed is not None
    rules = RULES_OF[setting.form] if promised else RULES_OF["both"]
    won, control = (_named(sub, classes, rules) for classes in (hunt.shown, hunt.control))
    told: Details = {"p": str(setting.p), "d": str(setting.d), "outliers": int(known.sum())}
    told["subspaces"] = len(sub.names)
    named = AttackResult(
        "subspaces",
        "outlier-aware",
        KNOWS,
        won,
        Rate(0, hunt.people.size, exact=True),
        control if hunt.control else None,
        Fraction(0) if promised else None,
        {**told, "in_a_subspace": int(sub.outlying.any(axis=0).sum())},
        SOME_OUTLIERS,
    )
    return named, _values(sub, hunt, told)


def _named(sub: Subspaces, classes: Sequence[ShownClass], rules: Sequence[str]) -> Rate:
    """Of all known outliers, and whoever else is named in some subspace."""
    found = sub.distinguished(classes)
    persons = np.unique(np.concatenate([each.persons(rules) for each in found]))
    nobody = {t.where for each in found for t in each.inferences if t.rule in rules and t.who < 0}
    everyone = np.union1d(persons, np.flatnonzero(sub.known))
    return Rate(persons.size + len(nobody), everyone.size + len(nobody), exact=True)


def _values(sub: Subspaces, hunt: OutlierHunt, told: Details) -> AttackResult:
    """One of the values that agree with all that is known, picked at random; no luck is counted."""
    alone, outlier, agreeing = sub.values(hunt.shown)
    common = np.bincount(sub.whole.values).argmax()
    guess = Rate(int((sub.whole.values[sub.known] == common).sum()), int(sub.known.sum()))
    details: Details = {
        **told,
        "values_found_for_certain": int((agreeing == 1).sum()),
        "certain_without_the_columns": int((outlier == 1).sum()),
        "rate_without_the_columns": round(one_of(outlier).share, 4),
        "rate_by_the_class_alone": round(one_of(alone).share, 4),
    }
    control = one_of(sub.values(hunt.control)[2]) if hunt.control else None
    return AttackResult(
        "subspaces-values",
        "outlier-aware",
        IN_THE_TABLE,
        one_of(agreeing),
        guess,
        control,
        None,
        details,
        SOME_OUTLIERS,
    )
