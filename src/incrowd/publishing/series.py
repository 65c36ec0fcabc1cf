"""The next release of a series: who is in which cohort, and the effective table that the release is made of.

The *effective table* has a row for each person with one: as they are today or, where a cohort is repeated, as
the last release showed them. From there on a release of a series is made like any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from incrowd import tables
from incrowd.algorithms.base import method
from incrowd.cohorts import NONE, Codes, Now, SeriesState, SeriesTerms, advanced
from incrowd.encode import encode
from incrowd.errors import Infeasible, InputError, PolicyError, Refused, TableError, option
from incrowd.flow import Microdata, Partition, Table, TextColumn
from incrowd.long_work import Notice, Watch
from incrowd.policy import Policy
from incrowd.policy.policy import effective_policy
from incrowd.publishing.cohort_classes import CohortClasses
from incrowd.publishing.draft import Draft, draft
from incrowd.publishing.request import requested, series_terms
from incrowd.publishing.series_ids import (
    MOST_ASKED,
    all_spellings,
    check_known,
    check_no_series,
    check_somebody_known,
    check_written_alike,
    ids_to_erase,
)
from incrowd.release.data_files import data_files, read_rows
from incrowd.release.ledger import Head, KeptLedger, Ledger, series_in
from incrowd.schema import Column, Role, Schema
from incrowd.values import same_name
from incrowd.verifier import EarlierRelease, SeriesHistory, rows_of


@dataclass(frozen=True)
class Continued:
    """What a release of a series comes after, and who must be erased: a table of ids."""

    after: Path | None = None
    erase: object = None


@dataclass(frozen=True, eq=False)
class SeriesDraft:
    """A draft of a release of a series: the ledger that is committed with it, and its parent."""

    made: Draft
    ledger: Ledger
    parent: KeptLedger | None
    source: object
    table: Table
    entity: str

    def history(self, stage: Path) -> SeriesHistory:
        """What the verifier needs of a series whose last release is still in the stage."""
        return SeriesHistory(
            rows_of(self.source, self.table),
            self.entity,
            stage / "release",
            stage / "audit",
            () if self.parent is None else earlier_releases(self.parent),
            staged=True,
        )


def earlier_releases(last: KeptLedger) -> tuple[EarlierRelease, ...]:
    """A release of a series and all before it, as the verifier wants them; the first one first."""
    return tuple(map(_earlier, last.chain()))


def _earlier(kept: KeptLedger) -> EarlierRelease:
    rows = read_rows(kept.release, lambda: kept.schema) if data_files(kept.release) else None
    return EarlierRelease(kept.release, kept.audit, kept.schema, rows)


def check_continued(policy: Policy, continued: Continued, destination: Path) -> KeptLedger | None:
    """What is wrong with going on, as far as that is known before any table is read -> the parent."""
    if policy.series is None:
        raise PolicyError(
            f"{option('after')} and {option('erase')} are for a series; write [series] into the policy"
        )
    effective_policy(policy)
    requested(policy)
    if continued.after is None:
        if continued.erase is not None:
            raise InputError(
                f"the first release of a series has nobody to erase; leave out {option('erase')}"
            )
        return None
    parent = KeptLedger.open(Path(continued.after))
    if parent.release.parent != destination.parent.resolve():
        raise InputError(
            f"a series is kept in one folder: put {destination.name} beside {parent.release.name}"
        )
    parent.check_stated()
    parent.check_last()
    if method(parent.method).only_in_series != method(policy.method).only_in_series:
        raise Refused(
            f"{parent.release.name} was made by {parent.method}, after which {policy.method} cannot go on: "
            "all releases of a series keep one kind of promise together; take a method of the same kind"
        )
    terms = series_terms(policy)
    for name, was, now in (("k", parent.head.k, terms.k), ("l", parent.head.l, terms.l)):
        if was != now:
            raise Refused(
                f"[privacy]: the series began with {name} = {was}, and all its releases together keep that, "
                f"neither less nor more; write {name} = {was}, or begin another series of other people"
            )
    parent.chain()
    return parent


def series_draft(
    source: object, policy: Policy, continued: Continued, destination: Path, watch: Watch, notice: Notice
) -> SeriesDraft:
    """All stages up to the verifier, for the next release of a series."""
    parent = check_continued(policy, continued, destination)
    effective = effective_policy(policy)
    watch("read")
    table = source if isinstance(source, Table) else tables.read(source, needed=policy.needed_of)
    table = _checked(table, policy)
    terms = series_terms(policy)
    before = None if parent is None else parent.read()
    head = Head.first(terms.k, terms.l) if parent is None else parent.head.following(parent.as_parent)
    name = entity_of(table.names, policy)
    today = _with_digests(table, name, policy, head)
    people = _People(today.column(name), before, head.digest, ids_to_erase(continued.erase, name))
    if before is None:
        _check_new(table, name, destination)
    else:
        check_names(today.names, before.effective.names)
        _check_ids(table, today, name, before)
    both = today if before is None else stacked(today, before.effective)
    schema = effective.schema(both)
    if parent is not None:
        check_columns(schema, parent.schema)
    watch("encode")
    data = encode(both, schema)
    request = requested(effective)
    values, texts = _values(data, people, () if before is None else before.texts)
    state = SeriesState.empty() if before is None else before.state
    watch("group")
    classes = CohortClasses(
        data, request.algorithm, request.promised, people.today, people.before, head.number
    )
    state = next_state(state, Now(people.present, people.erased, values), terms, classes)
    shown = np.flatnonzero(state.cohort != NONE)
    if not shown.size:
        raise Infeasible(
            "nobody can have a row yet: too few people, or their values are not diverse; ask for less"
        )
    current = state.as_of[state.cohort[shown]] == head.number
    rows = both.take(np.where(current, people.today[shown], people.before[shown]))
    texts = texts if terms.l > 1 else ()
    ledger = Ledger(head, people.digests, state, people.present, people.erased, rows, texts)
    made = draft(rows, effective, watch, notice=notice, ready=Partition(state.cohort[shown]))
    if parent is not None:
        check_columns(made.schema, parent.schema)
    return SeriesDraft(replace(made, series=ledger.said()), ledger, parent, source, table, name)


def next_state(state: SeriesState, now: Now, terms: SeriesTerms, classes: CohortClasses) -> SeriesState:
    """The state after the next release, by cohorts or by signatures, as the method wants it."""
    if not classes.algorithm.only_in_series:
        return advanced(state, now, terms, classes)
    from incrowd.algorithms.signatures import advanced_by_signatures, near_people  # few need its kernels

    return advanced_by_signatures(state, now, terms.l, near_people(classes.data, classes.today))


class _People:
    """Everybody of the series, in the order in which they came: those of a release by their digests."""

    def __init__(
        self,
        column: TextColumn,
        before: Ledger | None,
        digest: Callable[[str], str],
        erase: frozenset[str],
    ) -> None:
        now = [str(column.texts[code]) for code in column.codes.tolist()]
        old = () if before is None else before.people
        known = set(old)
        self.digests = (*old, *sorted(set(now) - known))
        number = {person: place for place, person in enumerate(self.digests)}
        self.today, self.before = np.full(len(number), NONE), np.full(len(number), NONE)
        self.today[[number[person] for person in now]] = np.arange(len(now))
        if before is not None:
            self.before[before.with_rows] = len(now) + np.arange(before.with_rows.size)
        self.present = self.today != NONE
        self.erased = np.zeros(len(number), np.bool_)
        if before is not None:
            self.erased[: len(old)] = before.erased
        self.erased[people_to_erase(erase, digest, number)] = True


def people_to_erase(
    ids: frozenset[str], digest: Callable[[str], str], number: Mapping[str, int]
) -> NDArray[np.int64]:
    """The numbers of people to be erased; refused if somebody is not known."""
    gone = {digest(text) for text in ids}
    check_known(len(gone - set(number)), len(gone))
    return np.array([number[person] for person in sorted(gone)], np.int64)


def entity_of(names: Sequence[str], policy: Policy) -> str:
    """The column of ids, as a table calls it."""
    wanted = same_name(policy.entity or "")
    return next(name for name in names if same_name(name) == wanted)


def _checked(table: Table, policy: Policy) -> Table:
    """Every column has a role, and every person one row and an id."""
    policy.schema(table)
    column = table.column(entity_of(table.names, policy))
    nobody = {code for code, text in enumerate(column.texts) if text is None or text in ("", *policy.missing)}
    without = int(np.isin(column.codes, list(nobody)).sum())
    if without:
        raise TableError(f"{policy.entity}: {without} rows have no id, and a series must know whose they are")
    several = sum(count > 1 for count in Counter(column.codes.tolist()).values())
    if several:
        raise TableError(
            f"{policy.entity}: {several} people have several rows, and a series takes one row a person; "
            "merge them first"
        )
    return table


def _with_digests(table: Table, entity: str, policy: Policy, head: Head) -> Table:
    """The columns that are published, and who it is; NULL is the empty text, as in the files of a ledger."""
    roles = dict(policy.roles())
    names, columns = [], []
    for name in table.names:
        role = roles.get(same_name(name), Role.DROP)
        if role.published or name == entity:
            column = table.column(name)
            check_gaps(name, column.texts, role, policy)
            texts = (head.digest(str(t)) if name == entity else t or "" for t in column.texts)
            names.append(name)
            columns.append(_merged(column.codes, tuple(texts)))
    return Table(tuple(names), tuple(columns))


def check_gaps(name: str, texts: Sequence[str | None], role: Role, policy: Policy) -> None:
    """Refuse NULL that a ledger could not tell from a text."""
    if None in texts and "" not in policy.missing and role is not Role.KEEP:
        raise TableError(f"{name} has NULL, which a ledger keeps as an empty text; name it under missing")


def _check_new(table: Table, entity: str, destination: Path) -> None:
    """Refuse to begin a series about people of one that lies beside it."""
    rows = [str(text) for text in table.column(entity).rows()]
    some = rows[:: 1 + len(rows) // MOST_ASKED]
    for last in series_in(destination.parent):
        check_no_series(last.knows(some), len(some), last.release.name)


def _check_ids(table: Table, today: Table, entity: str, before: Ledger) -> None:
    """Refuse a table that writes ids in another way than those before it."""
    here = dict(zip(today.column(entity).rows(), table.column(entity).rows(), strict=True))
    known = set(before.people)
    check_somebody_known(len(known & here.keys()), len(known), entity)
    new = [str(here[digest]) for digest in sorted(here.keys() - known, key=str)[:MOST_ASKED]]
    meant = {before.head.digest(text) for text in all_spellings(new)}
    check_written_alike(len(meant & (known - here.keys())), entity)


def _merged(codes: Codes, texts: tuple[str, ...]) -> TextColumn:
    """A column in which each text stands once."""
    place = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    return TextColumn(np.array([place[text] for text in texts], np.int32)[codes], tuple(place))


def stacked(one: Table, other: Table) -> Table:
    """The rows of two tables with the same columns, one after another."""
    columns = []
    for name, first in zip(one.names, one.columns, strict=True):
        second = other.column(name)
        codes = np.concatenate([first.codes, second.codes + len(first.texts)]).astype(np.int32)
        columns.append(_merged(codes, tuple(text or "" for text in (*first.texts, *second.texts))))
    return Table(one.names, tuple(columns))


def check_names(names: Sequence[str], before: Sequence[str]) -> None:
    """Refuse other columns, or another entity, than the last release was made of."""
    new, gone = sorted(set(names) - set(before)), sorted(set(before) - set(names))
    told = [*(f"{name} is new" for name in new), *(f"{name} is not there any more" for name in gone)]
    if told:
        raise Refused(
            "the policy publishes other columns than the last release of the series, or has another entity: "
            f"{', '.join(told)}; a series keeps its roles"
        )


def check_columns(schema: Schema, before: Schema) -> None:
    """Refuse a column that has another role, or is read in another way, than in the last release.

    The ledger keeps texts as tables wrote them: read in another way, rows that are repeated would lie.
    """
    was = {column.name: column for column in before.columns}
    for column in schema.columns:
        old = was.get(column.name)
        if old is None or not old.read_as(column):
            raise Refused(
                f"{column.name}: in the last release of the series it was {_words(old)}, and now it is "
                f"{_words(column)}; a series keeps its columns"
            )
    gone = sorted(set(was) - {column.name for column in schema.columns})
    if gone:
        raise Refused(f"{gone[0]} was in the last release of the series; a series keeps its columns")
    if schema.missing != before.missing:
        raise Refused(
            "missing: other texts mean missing than in the last release of the series, whose rows are "
            "repeated; a series keeps them"
        )


def _words(column: Column | None) -> str:
    if column is None:
        return "not there"
    written = f", written as {column.format}" if column.format else ""
    return f"{column.role}, {column.kind}{written}, published as {column.shape}"


def _values(
    data: Microdata, people: _People, known: tuple[tuple[str, ...], ...]
) -> tuple[tuple[Codes, ...], tuple[tuple[str, ...], ...]]:
    """The sensitive values of today by numbers that mean the same in the whole series."""
    found, texts = [], []
    for j, column in enumerate(data.sensitive):
        numbers = {text: code for code, text in enumerate(known[j] if known else ())}
        of = [numbers.setdefault(_text(column.texts, code), len(numbers)) for code in range(column.size)]
        codes = np.array([*of, NONE], np.int32)[np.append(column.codes, len(of))[people.today]]
        found.append(codes)
        texts.append(tuple(numbers))
    return tuple(found), tuple(texts)


def _text(texts: tuple[str, ...], code: int) -> str:
    return texts[code] if code < len(texts) else ""
