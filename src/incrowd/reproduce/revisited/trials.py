"""ART, ADT and CMC by every algorithm of "k-Anonymization Revisited", and its Table I as printed.

ART has six independent attributes; the paper gives probabilities and permissible sets, but not how many
records it drew. The sets of ADT and CMC are our own: the paper keeps its sets for a full version that did not
appear, and says only that values close in meaning were put together, and that education had three groups.
What loses how much depends on them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from incrowd.algorithms.nonhomogeneous.neighbourhoods import (
    Expansion,
    Nearest,
    widened,
)
from incrowd.algorithms.partitions.agglomerative import Agglomerative
from incrowd.algorithms.partitions.forest import Forest
from incrowd.encode import encode
from incrowd.flow import Microdata, Neighbourhoods, Partition, Table
from incrowd.long_work import Progress, silent
from incrowd.policy import Policy
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.stored import ADULT_TABLE, SEED, Stored, drawn_order, first_rows
from incrowd.reproduce.trial import loss, run_each
from incrowd.schema import Column, Kind, Role, Schema, Shape

Sets = tuple[tuple[str, ...], ...]
BEST, FOREST, KK = ROWS = "best k-anon", "forest", "(k,k)"  # the rows of Table I
KS = (5, 10, 15, 20)


def set_column(name: str, family: Sets) -> Column:
    """A quasi-identifier that is published as one of these sets."""
    return Column(name, Role.QUASI, Kind.CATEGORICAL, Shape.SET, family=tuple(map(frozenset, family)))


# ART


@dataclass(frozen=True, slots=True)
class ArtAttribute:
    """An attribute: how likely a1, a2, … are, and the sets of them that may be published.

    ``sets`` are from-to pairs of the values' numbers; single values and the whole domain are always allowed.
    """

    shares: tuple[float, ...]
    sets: tuple[tuple[int, int], ...] = ()

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(f"a{number}" for number in range(1, len(self.shares) + 1))

    @property
    def family(self) -> Sets:
        """The sets of values, the whole domain last, so that values which nobody has are known too."""
        return (*(self.values[first - 1 : last] for first, last in self.sets), self.values)


ATTRIBUTES: Mapping[str, ArtAttribute] = {
    "A1": ArtAttribute((0.7, 0.3)),
    "A2": ArtAttribute((0.3, 0.3, 0.2, 0.2), ((1, 2), (3, 4))),
    "A3": ArtAttribute((0.25, 0.25, 0.4, 0.1), ((1, 2), (3, 4))),
    "A4": ArtAttribute(
        (*[0.07] * 6, *[0.04] * 10, *[0.02] * 9), ((1, 6), (7, 12), (13, 18), (19, 25), (1, 12), (13, 25))
    ),
    "A5": ArtAttribute((0.1,) * 10, ((1, 2), (3, 4), (6, 7), (8, 9), (1, 5), (6, 10))),
    "A6": ArtAttribute((0.05, 0.05, 0.5, 0.3, 0.1), ((1, 2), (4, 5), (3, 5))),
}


def art_table(rows: int, seed: int = SEED) -> Table:
    """Draw ART as a table of texts.

    Examples
    --------
    >>> art_table(3).names
    ('A1', 'A2', 'A3', 'A4', 'A5', 'A6')
    """
    dice = Random(seed)  # noqa: S311  # invented records, to be drawn again by anyone
    return Table.of({name: dice.choices(a.values, a.shares, k=rows) for name, a in ATTRIBUTES.items()})


def art_policy() -> Policy:
    """The policy that publishes ART as the paper does."""
    families = {name: {"family": [list(each) for each in a.family]} for name, a in ATTRIBUTES.items()}
    return Policy.from_dict({"quasi_identifiers": families, "method": "agglomerative"})


def art(rows: int, seed: int = SEED) -> Microdata:
    """Draw ART as numbers.

    Examples
    --------
    >>> data = art(100)
    >>> len(data), [len(attribute) for attribute in data.attributes]
    (100, [2, 4, 4, 25, 10, 5])
    """
    columns = [set_column(name, a.family) for name, a in ATTRIBUTES.items()]
    return encode(art_table(rows, seed), Schema(tuple(columns)))


def art_files(rows: int, seed: int = SEED) -> dict[str, str]:
    """ART and its policy as files, to be published by ``incrowd publish art.csv -p art.toml -k 10 -o …``."""
    table = art_table(rows, seed)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.names)
    writer.writerows(zip(*(column.rows() for column in table.columns), strict=True))
    title = f'# ART of "k-Anonymization Revisited", drawn with seed {seed}'
    families = (f"{name} = {{family = {json.dumps(a.family)}}}" for name, a in ATTRIBUTES.items())
    policy = [title, 'method = "agglomerative"', "", "[quasi_identifiers]", *families, ""]
    return {"art.csv": text.getvalue(), "art.toml": "\n".join(policy)}


# Real tables


def _sets(*groups: str) -> Sets:
    """Sets written as words."""
    return tuple(tuple(group.split()) for group in groups)


def _bands(low: int, high: int, *widths: int) -> Sets:
    """All whole numbers in bands of these widths, each narrower one inside a wider."""
    whole = range(low, high + 1)
    found = [[str(x) for x in whole if x // w == start] for w in widths for start in range(high // w + 1)]
    return tuple(tuple(each) for each in (*found, map(str, whole)) if each)


ADULT: Mapping[str, Sets] = {
    "age": _bands(17, 90, 5, 10, 20),
    "workclass": _sets(
        "Private Self-emp-not-inc Self-emp-inc",
        "Self-emp-not-inc Self-emp-inc",
        "Federal-gov Local-gov State-gov",
        "Without-pay Never-worked",
    ),
    "education": _sets(
        "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad",
        "Some-college Assoc-voc Assoc-acdm Bachelors",
        "Masters Prof-school Doctorate",
    ),
    "marital-status": _sets(
        "Married-civ-spouse Married-AF-spouse", "Divorced Separated Widowed Married-spouse-absent"
    ),
    "occupation": _sets(
        "Exec-managerial Prof-specialty Tech-support Adm-clerical Sales",
        "Craft-repair Machine-op-inspct Transport-moving Handlers-cleaners Farming-fishing",
        "Other-service Protective-serv Priv-house-serv Armed-Forces",
    ),
    "relationship": _sets("Husband Wife", "Own-child Other-relative", "Not-in-family Unmarried"),
    "race": _sets("Asian-Pac-Islander Amer-Indian-Eskimo Other"),
    "sex": (),
    "native-country": _sets(
        "United-States Canada Outlying-US(Guam-USVI-etc)",
        "Mexico Puerto-Rico Cuba Jamaica Haiti Dominican-Republic Honduras Guatemala Nicaragua El-Salvador "
        "Trinadad&Tobago Ecuador Columbia Peru",
        "England Germany Greece Italy Poland Portugal Ireland France Hungary Scotland Yugoslavia "
        "Holand-Netherlands",
        "Cambodia India Japan China Iran Philippines Vietnam Laos Taiwan Thailand Hong",
    ),
}
CMC: Mapping[str, Sets] = {
    "wife_age": _bands(16, 49, 5, 10),
    "wife_education": _sets("1 2", "3 4"),
    "husband_education": _sets("1 2", "3 4"),
    "children": _sets("0 1 2", "1 2", "3 4", "5 6 7 8", "3 4 5 6 7 8", "9 10 11 12 13 14 15 16"),
    "wife_religion": (),
    "wife_working": (),
    "husband_occupation": (),
    "standard_of_living": _sets("1 2", "3 4"),
    "media_exposure": (),
}


@dataclass(frozen=True, slots=True)
class RealTable(Stored):
    """A stored table, the columns that are used of it with their permissible sets, and how many rows."""

    families: Mapping[str, Sets]
    rows: int

    def load(self, folder: Path, seed: int = SEED) -> Microdata:
        """A sample as numbers; of a table that is taken whole, its rows in a drawn order."""
        whole = self.read(folder, [*self.families])
        drawn = drawn_order(np.arange(len(whole)), f"{self.name} {seed}")
        mixed = Table(whole.names, tuple(column.take(drawn) for column in whole.columns))
        table = first_rows(mixed, self.rows, len(self.families), f"{self.path} has {{}} rows")
        return encode(table, Schema(tuple(self._column(name, table) for name in self.families)))

    def _column(self, name: str, table: Table) -> Column:
        """A column with its sets; where there are none, single values and everything are left."""
        met = tuple(text for text in table.column(name).texts if text is not None)
        return set_column(name, self.families[name] or (met,))


ADT_TABLE = RealTable("ADT", ADULT_TABLE.path, ADULT, 5000)
CMC_TABLE = RealTable("CMC", "cmc/cmc.csv", CMC, 1473)


# Table I as printed: mean loss of a cell for each k


def _three(*rows: Sequence[float]) -> Mapping[str, Sequence[float]]:
    return dict(zip(ROWS, rows, strict=True))


TABLE: Mapping[tuple[str, str], Mapping[str, Sequence[float]]] = {
    ("ART", "EM"): _three((0.65, 0.98, 1.13, 1.22), (0.89, 1.25, 1.42, 1.51), (0.53, 0.83, 0.99, 1.08)),
    ("ADT", "EM"): _three((0.66, 0.93, 1.08, 1.18), (1.02, 1.45, 1.63, 1.73), (0.50, 0.75, 0.90, 1.00)),
    ("CMC", "EM"): _three((0.67, 0.95, 1.08, 1.20), (0.99, 1.31, 1.46, 1.53), (0.54, 0.80, 0.98, 1.10)),
    ("ART", "LM"): _three((0.12, 0.19, 0.23, 0.25), (0.15, 0.24, 0.28, 0.31), (0.10, 0.16, 0.19, 0.22)),
    ("ADT", "LM"): _three((0.14, 0.20, 0.24, 0.26), (0.22, 0.37, 0.46, 0.53), (0.09, 0.13, 0.16, 0.18)),
    ("CMC", "LM"): _three((0.14, 0.21, 0.25, 0.28), (0.19, 0.31, 0.40, 0.44), (0.11, 0.17, 0.20, 0.23)),
}


def printed(data: str, measure: str, row: str, k: int) -> float | None:
    """The printed number; None for a k that the paper does not have."""
    return TABLE[data, measure][row][KS.index(k)] if k in KS else None


Grouping = Callable[[Microdata, int, str], Partition | Neighbourhoods]
MEASURES = {"EM": "entropy", "LM": "lm"}  # the paper's words, and those of the algorithms
NEAREST, EXPANSION = "(k,k): 3+5", "(k,k): 4+5"


def _agglomerative(distance: str, modified: bool) -> Grouping:
    return lambda data, k, measure: Agglomerative(k, distance, measure, modified).group(data, (), silent)


def _forest(data: Microdata, k: int, measure: str) -> Partition:
    return Forest(k, measure).group(data, (), silent)


def _neighbourhoods(first: type[Nearest] | type[Expansion]) -> Grouping:
    return lambda data, k, measure: widened(data, first(k, measure).neighbourhoods(data), k, measure)


def _variants(*distances: str) -> dict[str, Grouping]:
    return {
        f"({distance}), Algorithm {2 if modified else 1}": _agglomerative(distance, modified)
        for distance in distances
        for modified in (False, True)
    }


VARIANTS = _variants("8", "9", "10", "11")  # those that the paper chooses the best of
NERGIZ_CLIFTON = _variants("nc")  # which it names, but did not run
KK_ALGORITHMS = {NEAREST: _neighbourhoods(Nearest), EXPANSION: _neighbourhoods(Expansion)}
ALGORITHMS: Mapping[str, Grouping] = {**VARIANTS, **NERGIZ_CLIFTON, FOREST: _forest, **KK_ALGORITHMS}


@dataclass(frozen=True, slots=True)
class LossTrial:
    """What every algorithm lost on one sample of a table by one measure, for each k."""

    data: str
    rows: int
    seed: int
    measure: str
    ks: tuple[int, ...]
    losses: Mapping[str, tuple[float, ...]]

    def least(self, names: Sequence[str]) -> str:
        """The algorithm with the least sum over all k, as the paper chooses."""
        return min((name for name in names if name in self.losses), key=lambda name: sum(self.losses[name]))

    @property
    def best(self) -> str:
        return self.least([*VARIANTS])

    @property
    def table(self) -> dict[str, tuple[float, ...]]:
        """The rows of Table I."""
        chosen = {BEST: self.best, FOREST: FOREST, KK: self.least([*KK_ALGORITHMS])}
        return {row: self.losses[name] for row, name in chosen.items()}


@dataclass(frozen=True, slots=True, eq=False)
class LossSample:
    """A table, or a sample of it."""

    name: str
    seed: int
    data: Microdata


def trial(
    sample: LossSample,
    measure: str,
    ks: Sequence[int],
    names: Sequence[str],
    progress: Progress,
    kept: Keeper = NOTHING_KEPT,
) -> LossTrial:
    """Run these algorithms for these k; `progress` hears how much is done."""
    data = sample.data

    def losses(algorithm: str) -> tuple[float, ...]:
        run = ALGORITHMS[algorithm]
        return tuple(loss(data, run(data, k, MEASURES[measure]), measure) for k in ks)

    kept = kept.of(f"{sample.name} {len(data)} {sample.seed} {measure} {tuple(ks)}")
    found = run_each(names, losses, progress, kept=kept)
    return LossTrial(sample.name, len(data), sample.seed, measure, tuple(ks), found)


@dataclass(frozen=True, slots=True)
class Curve:
    """What one row of Table I loses at each size, for one measure and k: over several draws."""

    measure: str
    row: str
    k: int
    draws: Mapping[int, tuple[float, ...]]

    @property
    def means(self) -> dict[int, float]:
        return {rows: fmean(losses) for rows, losses in self.draws.items()}

    @property
    def implied_rows(self) -> float | None:
        """How many records would lose what is printed, between two sizes that were tried.

        Over the logarithm of the size the loss is nearly straight.
        """
        target = printed("ART", self.measure, self.row, self.k)
        means = sorted(self.means.items())
        for (low, more), (high, less) in pairwise(means):
            if target is not None and less <= target <= more:
                share = (more - target) / (more - less)
                return exp(log(low) + share * log(high / low))
        return None

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "row": self.row,
            "k": self.k,
            "losses": {str(rows): list(losses) for rows, losses in self.draws.items()},
            "printed": printed("ART", self.measure, self.row, self.k),
            "implied_rows": self.implied_rows,
        }


def curves(
    best: Mapping[str, str],
    ks: Sequence[int],
    sizes: Sequence[int],
    seeds: Sequence[int],
    progress: Progress,
    kept: Keeper = NOTHING_KEPT,
) -> tuple[Curve, ...]:
    """Draw ART of each size with each seed and run the algorithms of Table I, the `best` of each measure."""
    draws = [(rows, seed, measure) for rows in sizes for seed in seeds for measure in best]

    def run(draw: tuple[int, int, str]) -> LossTrial:
        rows, seed, measure = draw
        sample = LossSample("ART", seed, art(rows, seed))
        return trial(sample, measure, ks, (best[measure], FOREST, EXPANSION), silent)

    about = kept.of(f"curves {tuple(ks)} {best}", LossTrial)
    found = run_each(draws, run, progress, lambda draw: draw[0] ** 1.5, about)  # about how the time grows

    def losses(rows: int, measure: str, name: str, i: int) -> tuple[float, ...]:
        return tuple(found[rows, seed, measure].losses[name][i] for seed in seeds)

    return tuple(
        Curve(measure, row, k, {rows: losses(rows, measure, name, i) for rows in sizes})
        for measure in best
        for row, name in ((BEST, best[measure]), (FOREST, FOREST), (KK, EXPANSION))
        for i, k in enumerate(ks)
    )
