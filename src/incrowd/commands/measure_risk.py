"""The risk part of `measure`: who can be re-identified before and after, and in the population."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from incrowd.errors import PolicyError, TableError
from incrowd.flow import Microdata, Table
from incrowd.measures import Published
from incrowd.measures.population import population_risk
from incrowd.measures.risk import ReidentificationRisk, exact_classes, linked_by_others, reidentification_risk
from incrowd.measures.risk_summary import EXACT_ROWS, RiskSummary
from incrowd.policy.parts import Population
from incrowd.release.folder import ReleaseFolder
from incrowd.schema import Kind
from incrowd.values import read_column, same_name

UNKNOWN_PERSONS = "a person may have several rows, and whose each is only the audit's links say"
KNOWS_WHO = "prosecutor risk is of somebody who knows who is in the private table; no claim is about them"
NOT_RANDOMIZED = "rows overlap, and who is behind which was not drawn at random, so no claim bounds it"


@dataclass(frozen=True, slots=True, eq=False)
class RiskSubject:
    """What risk is measured on: the private people, all published rows, and the release if it is one."""

    people: Microdata
    shown: Published
    original: Table
    missing: frozenset[str]
    folder: ReleaseFolder | None = None
    population: Population | None = None


def measured_risk(subject: RiskSubject) -> RiskSummary:
    """Risk by the exact quasi-identifiers, by what was published, and in the population if one is given."""
    people, folder = subject.people, subject.folder
    classes = exact_classes(people)
    summary = _after(subject, reidentification_risk(classes, people.entity))
    if folder is not None and folder.public is not None:
        return summary
    if subject.population is None:
        return summary
    weights = population_weights(subject.population, subject)
    found = population_risk(classes, weights, people.codes, people.entity)
    return replace(summary, population=found)


def _after(subject: RiskSubject, before: ReidentificationRisk) -> RiskSummary:
    people, shown, folder = subject.people, subject.shown, subject.folder
    columns = tuple(attribute.name for attribute in people.attributes)
    labels = shown.classes[1]
    gone = max(len(people) - len(shown), 0)
    summary = RiskSummary(columns, before, suppressed=gone)
    if folder is not None and (bounded := bounded_by_assignment(summary, folder)) is not None:
        return bounded
    if folder is not None and folder.public is not None:
        mine, everyone = folder.own_rows, folder.data
        if mine is None or everyone.own is None or mine.size != labels.size:
            return replace(summary, why_not="which rows are of the private table only the audit's links say")
        return replace(
            summary,
            after=reidentification_risk(labels[mine]),
            suppressed=0,
            note=KNOWS_WHO,
            journalist_before=linked_by_others(exact_classes(everyone), everyone.own),
            journalist_after=linked_by_others(labels, mine),
        )
    if people.entity is None:
        note = EXACT_ROWS if folder is not None and folder.bucketed else ""
        return replace(summary, after=reidentification_risk(labels), note=note)
    links = None if folder is None else folder.links
    if links is None or links.size != labels.size:
        return replace(summary, why_not=UNKNOWN_PERSONS)
    return replace(summary, after=reidentification_risk(labels, people.entity[links]))


def bounded_by_assignment(summary: RiskSummary, folder: ReleaseFolder) -> RiskSummary | None:
    """The summary of a release whose rows overlap, which has no classes to count; None of others."""
    if (odds := folder.manifest.get("match_probability")) is None:
        return None
    drawn = Fraction(str(odds["drawn"]))
    if drawn == 1:
        return replace(summary, why_not=NOT_RANDOMIZED)
    return replace(summary, bound=drawn, by=_claim(folder))


def _claim(folder: ReleaseFolder) -> str:
    claimed = "k-factor" in [claim.model for claim in folder.claims]
    return "by the randomized assignment" + (" (claim k-factor)" if claimed else " that the manifest states")


def population_weights(population: Population, subject: RiskSubject) -> NDArray[np.float64]:
    """How many of the population each record stands for: (n,), at least 1."""
    people, n = subject.people, len(subject.people)
    persons = n if people.entity is None else int(people.entity.max()) + 1
    if population.fraction is not None:
        return np.full(n, float(1 / Fraction(population.fraction)))
    if population.size is not None:
        if population.size < persons:
            raise PolicyError(
                f"population.size is {population.size:,}, but the table has {persons:,} people; a population "
                "has at least as many as its sample"
            )
        return np.full(n, population.size / persons)
    return _weights_of_column(str(population.weight), subject)


def _weights_of_column(said: str, subject: RiskSubject) -> NDArray[np.float64]:
    """The weights of a column of the original, each a number of at least 1; one for each person."""
    named = {same_name(each): each for each in subject.original.names}
    name = named[same_name(said)]
    column = subject.original.column(name)
    counts = column.counts
    gone = [text is None or text in subject.missing for text in column.texts]
    if absent := int(counts[np.array(gone, dtype=np.bool_)].sum()):
        raise TableError(f"{name} is the weight of population, but is missing in {absent} rows")
    values = read_column([str(text) for text in column.texts], Kind.NUMERIC, "", name)
    numbers = np.array([float(str(value)) for value in values])
    if low := int(counts[numbers < 1].sum()):
        raise TableError(
            f"{name} is the weight of population, but is below 1 in {low} rows; a person stands for "
            "themselves at least"
        )
    weights = numbers[column.codes]
    entity = subject.people.entity
    if entity is not None:
        first = np.zeros(int(entity.max()) + 1)
        first[entity] = weights
        if other := int((first[entity] != weights).sum()):
            raise TableError(
                f"{name} is the weight of population, but differs between rows of one person "
                f"({other} rows); give each person one weight"
            )
    return weights
