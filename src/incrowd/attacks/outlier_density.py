"""Outliers by density: who knows whose local outlier factor is large looks for them in classes.

Nothing is promised about it, since `plain` is about (p,d)-outliers. Only what follows from the people inside
a class is used, which is certain; the paper's theorems speak of corners and of distance.

References
----------
Breunig, Kriegel, Ng, Sander, "LOF: identifying density-based local outliers", SIGMOD 2000.
Wang, Liu, "Hiding distinguished ones into crowd: privacy-preserving publishing data with outliers", EDBT
2009, sections 3.1 and 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from incrowd.attacks.distinguish import CERTAIN, NOTHING, Distinguished, Distinguisher, ShownClass
from incrowd.attacks.outliers import OutlierHunt
from incrowd.attacks.registry import AttackResult, Details, NotTried, Rate, attack
from incrowd.distance_outliers import Setting
from incrowd.distance_outliers.density import LocalDensity
from incrowd.errors import InputError, option

KNOWS = "everyone's quasi-identifiers, whose local outlier factor is large, and with which values it would be"
PREFIX = "lof:"
MOST = 5000  # records: every pair of them is looked at, and every node
SOME = "a factor at which plain Mondrian discloses an outlier (incrowd outliers --definition lof)"


@dataclass(frozen=True, slots=True)
class AskedDensity:
    """Whose local outlier factor with so many neighbours is above a number is an outlier."""

    neighbours: int
    factor: float
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> AskedDensity | None:
        """What ``lof:M,FACTOR`` or ``lof:M,FACTOR,age+cost`` says; None for anything else.

        Examples
        --------
        >>> AskedDensity.of("lof:20,1.5,age+cost")
        AskedDensity(neighbours=20, factor=1.5, columns=('age', 'cost'))
        """
        if not text.startswith(PREFIX):
            return None
        m, factor, columns = (*text.removeprefix(PREFIX).split(",", 2), "", "")[:3]
        try:
            over = tuple(name.strip() for name in columns.split("+")) if columns else ()
            asked = cls(int(m), float(factor), over)
        except ValueError:
            asked = cls(0, 0.0)
        if asked.neighbours < 1 or not 0 < asked.factor < float("inf"):
            raise InputError(
                f"{option('outliers')} takes neighbours and a factor behind {PREFIX}, as in lof:20,1.5: "
                "neighbours at least 1, the factor above 0; perhaps the columns to measure over, as in "
                "lof:20,1.5,age+cost"
            )
        return asked

    @property
    def setting(self) -> Setting:
        """Nobody is removed and p and d do not matter: distance, columns and scale are those of `plain`."""
        return Setting(p=1, d=1, distinct=2, margin=0, removal="none", columns=self.columns)

    def hunt(self, found: OutlierHunt | NotTried | None) -> OutlierHunt | NotTried | None:
        """The same classes, where outliers are those by density."""
        if not isinstance(found, OutlierHunt):
            return found
        if found.space.size > MOST:
            why = f"the table has more than {MOST:,} records, and every pair is looked at"
            return NotTried("density", why, "a sample of the table")
        density = LocalDensity.of(found.space.cloud, self.neighbours, self.factor)
        return replace(found, space=replace(found.space, density=density))


@attack("density", 305, ("density",))
def outliers_density(hunt: OutlierHunt) -> AttackResult:
    """Names outliers by density who are certainly in a class, or certainly outliers there."""
    density = hunt.space.density
    if density is None:
        raise ValueError("who looks for outliers by density needs densities")
    adversary = Distinguisher(hunt.space, hunt.space.outliers())
    found = _certain(adversary, hunt.shown)
    told: Details = {
        "neighbours": density.m,
        "factor": density.above,
        "outliers": found.outliers.size,
        "certain_classes": found.certain_classes,
        "certain_persons": found.persons(CERTAIN).size,
        "highest_association_score": str(found.association),
    }
    control = _exact(_certain(adversary, hunt.control)) if hunt.control else None
    guess = Rate(0, hunt.people.size, exact=True)
    rates = (_exact(found), guess, control)
    return AttackResult("density", "outlier-aware", KNOWS, *rates, None, told, SOME)


def _exact(found: Distinguished) -> Rate:
    rate = found.rate(CERTAIN)
    return Rate(rate.won, rate.tried, exact=True)


def _certain(adversary: Distinguisher, classes: Sequence[ShownClass]) -> Distinguished:
    """What follows from the people inside each class."""
    look = adversary.candidate.look_cells
    looked = [look(each.cells, each.values).candidate or NOTHING for each in classes]
    suspects = tuple(where for where, lines in enumerate(looked) if lines)
    inferences = [
        inference
        for where in suspects
        for inference in adversary.inferred(where, classes[where], NOTHING, looked[where])
    ]
    outliers = adversary.known.nonzero()[0]
    return Distinguished(len(classes), outliers, 0, 0, 0, suspects, tuple(inferences))
