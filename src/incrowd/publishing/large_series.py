"""The next release of a series over an engine: ledger, effective table, and a draft of it, committed as one.

The ledger is the one of memory in Parquet files. People have numbers in it, which they keep; the effective
table names them by these.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from incrowd import long_work
from incrowd.engines.base import Frequencies
from incrowd.engines.in_duckdb import DuckEngine, duck_engine
from incrowd.engines.labelled import LabelledEngine
from incrowd.engines.ledger_files import LedgerFiles, effective_table, with_cohorts
from incrowd.engines.resources import Resources, check_room
from incrowd.engines.series_people import SeriesPeople
from incrowd.engines.table_files import Inputs, TableFiles
from incrowd.engines.writing import WORK
from incrowd.errors import Infeasible, InputError, Refused, TableError, option
from incrowd.long_work import Progress, Watch, unwatched
from incrowd.policy import Policy
from incrowd.policy.policy import effective_policy
from incrowd.publishing.large import (
    LargeRelease,
    Written,
    original_of,
    published_names,
    request_for_engine,
    room_needed,
    written,
)
from incrowd.publishing.large_cohorts import NextCohorts, SeriesDomains
from incrowd.publishing.large_draft import LargeDraft
from incrowd.publishing.large_stages import distinct_table, drafted_labelled, wanted_names
from incrowd.publishing.pipeline import Form
from incrowd.publishing.request import Request, series_terms
from incrowd.publishing.series import (
    Continued,
    check_columns,
    check_continued,
    check_gaps,
    check_names,
    entity_of,
)
from incrowd.publishing.series_ids import (
    MOST_ASKED,
    all_spellings,
    check_known,
    check_no_series,
    check_somebody_known,
    check_written_alike,
    ids_to_erase,
)
from incrowd.release.audit import AUDIT, POLICY, kept_of_policy
from incrowd.release.data_files import data_files
from incrowd.release.ledger import LARGE_FILES, Head, KeptLedger, series_in
from incrowd.release.stage import commit, stage, write_json
from incrowd.reports.datasheet import datasheet
from incrowd.schema import CLASSES, MANIFEST, Role, Verdict
from incrowd.values import same_name
from incrowd.verifier import Expected
from incrowd.verifier.in_engine import (
    ClassWitness,
    EarlierInEngine,
    EngineFiles,
    SeriesInEngine,
    SqlSession,
    effective_rows,
    parquet_relation,
    verify_in_engine,
)

OTHER_WAY = "a series is published in one way"


def publish_large_next(
    source: object,
    policy: Policy,
    folder: str | Path,
    continued: Continued,
    form: Form | None = None,
    resources: Resources | None = None,
    watch: Watch = unwatched,
) -> LargeRelease:
    """Write the next release of a series, or the first one, and its ledger with DuckDB."""
    form, resources, destination = form or Form(), resources or Resources.of(), Path(folder)
    if form.replace:
        raise InputError(
            f"a release of a series replaces none: even one that was retracted counts; leave out "
            f"{option('replace')}"
        )
    if resources.engine == "spark":
        raise InputError(f"{OTHER_WAY}, in memory or with {option('engine', 'duckdb')}; Spark has no ledger")
    parent = check_continued(policy, continued, destination)
    if parent is not None and not parent.large:
        raise Refused(f"{OTHER_WAY}, and this one was begun in memory; leave out {option('engine')}")
    request = request_for_engine(effective_policy(policy), form)
    inputs = series_inputs(source, policy)
    chain = [] if parent is None else parent.chain()
    with nullcontext() if parent is None else parent.gone_on_after(), stage(destination) as staged:
        work = staged / WORK
        work.mkdir(mode=0o700)
        check_room(staged, 2 * room_needed(inputs.table))
        beside = [] if chain else series_in(destination.parent)
        folders = (staged, *ledger_folders([*chain, *beside]))
        with duck_engine(inputs, work, folders, resources) as engine:
            before = engine.files.fingerprint()
            making = _Making(engine, policy, request, resources, watch, chain, beside, staged)
            made = making.drafted(continued.erase)
            release = written(making.rows, made, Written(staged, destination, form), watch, making.verdict)
            if engine.files.fingerprint() != before:
                raise TableError(
                    f"{engine.files.name} changed while the release was made; nothing was published"
                )
        kept = release.to_dict() | {"source": before, POLICY: kept_of_policy(request.policy)}
        write_json(staged / "audit" / AUDIT, kept)
        long_work.check()
        with long_work.held():
            commit(staged, destination, False, None if parent is None else parent.release)
            long_work.ignore()
    return release


def series_inputs(source: object, policy: Policy) -> Inputs:
    """What an engine reads of a table of a series: the columns that are published, and who it is."""
    return Inputs(TableFiles.of(source), [*published_names(policy), same_name(policy.entity or "")])


def ledger_folders(chain: Sequence[KeptLedger]) -> list[Path]:
    """What is read of earlier releases."""
    return [folder for kept in chain for folder in (kept.release, kept.audit)]


@dataclass(eq=False)
class _Making:
    """One release of a series on its way."""

    engine: DuckEngine
    policy: Policy
    request: Request
    resources: Resources
    watch: Watch
    chain: Sequence[KeptLedger]
    beside: Sequence[KeptLedger]  # other series in the folder, where this release begins one
    staged: Path

    def drafted(self, erase: object) -> LargeDraft:
        """All stages up to the verifier; the files of the ledger are written, but for its head."""
        self.watch("read")
        today = self.engine.open()
        self.entity = entity_of(today.names, self.policy)
        self.terms, last = series_terms(self.policy), self.chain[-1] if self.chain else None
        self.head = (
            Head.first(self.terms.k, self.terms.l) if last is None else last.head.following(last.as_parent)
        )
        domains = self._domains()
        people = self._people(erase)
        self.watch("group")
        effective = [LedgerFiles.of(kept.audit).effective for kept in self.chain]
        NextCohorts(self.engine, people, domains, self.request, self.terms, self.resources, effective).decide(
            self.watch
        )
        sizes, counts = people.cohort_sizes(), people.said()
        if not sizes.size:
            raise Infeasible(
                "nobody can have a row yet: too few people, or their values are not diverse; ask for less"
            )
        audit = self.staged / "audit"
        people.write(LedgerFiles.of(audit), self.names)
        people.forget()
        self.watch("encode")
        self.rows = LabelledEngine(
            self.engine.local,
            TableFiles.of(LedgerFiles.of(audit).effective),
            self.engine.folder / "rows",
            self.resources,
            with_cohorts(self.engine.local, LedgerFiles.of(audit), self.names, self.entity),
        )
        made = drafted_labelled(self.rows, self.request, self.resources, self.watch, sizes)
        if last is not None:
            check_columns(made.schema, last.schema)
        return replace(made, series=self.head.said(counts))

    @property
    def names(self) -> list[str]:
        """The columns of the effective table: those that are published, and who it is."""
        known = {self.entity, *wanted_names(self.request, self.engine.table.names)}
        return [name for name in self.engine.table.names if name in known]

    def _people(self, erase: object) -> SeriesPeople:
        """Everybody by their numbers, and who must be erased."""
        ids = ids_to_erase(erase, self.entity)
        before = LedgerFiles.of(self.chain[-1].audit) if self.chain else None
        people = SeriesPeople(
            self.engine.local, self.engine.folder, self.engine.table, self.entity, self.head.number, before
        )
        people.identify(self.head.halves, frozenset({"", *self.policy.missing}))
        some = people.new_ids(MOST_ASKED)
        if before is None:
            self._check_new(people, some)
        else:
            check_somebody_known(people.known_here(), people.known, self.entity)
            others = all_spellings(some)
            check_written_alike(people.away(self.head.halves(others)) if others else 0, self.entity)
        people.forget_ids()
        if ids:
            check_known(people.erase(self.head.halves(sorted(ids))), len(ids))
        return people

    def _check_new(self, people: SeriesPeople, some: Sequence[str]) -> None:
        """Refuse to begin a series about people of one that lies beside it."""
        for last in self.beside:
            known = (
                people.also_in(LedgerFiles.of(last.audit), last.head.halves(some))
                if last.large
                else last.knows(some)
            )
            check_no_series(known, len(some), last.release.name)

    def _domains(self) -> SeriesDomains:
        """What columns hold, today and in the last release; refused is what a series cannot go on with."""
        engine, policy = self.engine, self.policy
        today = {name: engine.domain(name) for name in wanted_names(self.request, engine.table.names)}
        policy.schema(distinct_table(engine.table.names, today))  # every column has a role
        roles = dict(policy.roles())
        for name, met in today.items():
            check_gaps(name, met.texts, roles.get(same_name(name), Role.DROP), policy)
        before, ever = {}, {name: set(_filled(met.texts)) for name, met in today.items()}
        for kept in self.chain:
            table = effective_table(engine.local, LedgerFiles.of(kept.audit), self.entity)
            if kept is self.chain[-1]:
                check_names([*today, self.entity], table.names)
                before = {name: engine.domain(name, table) for name in today}
            for name in policy.sensitive if self.terms.l > 1 else ():
                own = next(each for each in table.names if same_name(each) == same_name(name))
                ever[own] |= set(_filled(engine.domain(own, table).texts))
        both = {name: _added([met, *([before[name]] if before else [])]) for name, met in today.items()}
        schema = self.request.policy.schema(distinct_table(self.names, both))
        if self.chain:
            check_columns(schema, self.chain[-1].schema)
        listed = {column.name: sorted(ever[column.name]) for column in schema.having(Role.SENSITIVE)}
        return SeriesDomains.of(schema, both, listed if self.terms.l > 1 else {})

    def verdict(self, made: LargeDraft, staged: Path, progress: Progress) -> Verdict:
        self.head.write(staged / "audit", staged / "release" / MANIFEST, LARGE_FILES)
        expected = made.request.expected(made.schema, made.data)
        places = (staged / "release", staged / "audit")
        return series_verdict(self.engine, places, expected, self.chain, self.entity, progress, staged=True)


def _filled(texts: Sequence[str | None]) -> list[str]:
    return [text or "" for text in texts]


def _added(parts: Sequence[Frequencies]) -> Frequencies:
    """The texts of several tables with their counts, gaps as empty texts."""
    counts: dict[str, int] = {}
    for met in parts:
        for text, count in zip(_filled(met.texts), met.counts.tolist(), strict=True):
            counts[text] = counts.get(text, 0) + count
    return Frequencies(tuple(counts), np.array([*counts.values()], np.int64))


def series_verdict(
    engine: DuckEngine,
    places: tuple[Path, Path],
    expected: Expected,
    earlier: Sequence[KeptLedger],
    entity: str,
    progress: Progress,
    staged: bool = False,
) -> Verdict:
    """The verdict on a release of a series in its folder and audit, by the verifier's own SQL."""
    session, (release, audit) = engine.session, places
    series = SeriesInEngine(
        original_of(engine.table, engine.files),
        entity,
        release,
        audit,
        [_earlier(session, kept) for kept in earlier],
        staged,
    )
    data = data_files(release)
    return verify_in_engine(
        session,
        EngineFiles(release, parquet_relation(session, data) if data else None, datasheet),
        effective_rows(session, audit, expected.schema),
        expected,
        ClassWitness.of_files(LedgerFiles.of(audit).people, audit / CLASSES),
        progress,
        series,
    )


def _earlier(session: SqlSession, kept: KeptLedger) -> EarlierInEngine:
    data = data_files(kept.release)
    rows = parquet_relation(session, data) if data else None
    return EarlierInEngine(kept.release, kept.audit, kept.schema, rows)
