"""Publishing a table that does not fit into memory: draft, shuffle, write and verify through an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from incrowd import long_work, tables
from incrowd.algorithms.base import Algorithm
from incrowd.algorithms.kja import Direct
from incrowd.algorithms.nonhomogeneous.ring import ROW, Ring
from incrowd.algorithms.partitions.hilbert import Hilbert
from incrowd.algorithms.partitions.mondrian import StrictMondrian
from incrowd.engines.in_duckdb import duck_engine
from incrowd.engines.in_spark import frame_of, spark_engine, spark_table
from incrowd.engines.resources import Resources, check_room
from incrowd.engines.session import Session
from incrowd.engines.spark_start import running_session
from incrowd.engines.sql_engine import SqlEngine
from incrowd.engines.table_files import Inputs, TableFiles, TextTable
from incrowd.engines.writing import WORK
from incrowd.errors import InputError, PolicyError, TableError, option
from incrowd.flow import Table
from incrowd.long_work import Progress, Watch, unwatched
from incrowd.measures.totals import FILE as TOTALS_FILE
from incrowd.models import KAnonymity
from incrowd.models.k_anonymity import KFactor, KJoinAnonymity
from incrowd.models.l_diversity import ClassModel
from incrowd.models.series import SeriesK, SeriesL
from incrowd.policy import Policy
from incrowd.policy.exposures import UNSAFE_JOIN, check_names
from incrowd.publishing.large_draft import LargeDraft
from incrowd.publishing.large_join import JoinedTables, PublicFiles, public_files
from incrowd.publishing.large_stages import drafted
from incrowd.publishing.pipeline import Form, WrittenRelease
from incrowd.publishing.request import Request, requested
from incrowd.release.audit import AUDIT, POLICY, SCHEMA, kept_of_policy, schema_as_dict
from incrowd.release.data_files import data_files
from incrowd.release.hierarchies import FILE as HIERARCHIES_FILE
from incrowd.release.stage import commit, described, stage, write_json
from incrowd.reports.datasheet import FILE as DATASHEET
from incrowd.reports.datasheet import datasheet
from incrowd.results import Row
from incrowd.schema import CLASSES, MANIFEST, RECORDS, Role, Source, Verdict
from incrowd.values import same_name
from incrowd.verifier import rows_of
from incrowd.verifier.columns import RowSource
from incrowd.verifier.in_engine import (
    ClassWitness,
    EngineFiles,
    JoinedOriginals,
    Relation,
    parquet_relation,
    verify_in_engine,
)

READ_BY_VERIFIER = ("texts", "sqlite")  # the kinds of source of which the verifier has its own reader
IN_MEMORY = "or publish it in memory"


@dataclass(frozen=True, eq=False, repr=False)
class LargeRelease(WrittenRelease):
    """A verified release that an engine wrote into a folder; its rows are in no memory."""

    blocks: int = 0  # into which the rows were cut by the engine; 0 if all distinct records fitted
    engine: str = "duckdb"

    def headline(self) -> str:
        promised = ", ".join(dict.fromkeys(claim["model"] for claim in self.manifest["claims"]))
        loss = float(self.loss()["gcp"])
        return f"{self.verdict.facts['rows']:,} rows, verified: {promised}; information loss (GCP) {loss:.3f}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        return self.verdict.overview()

    @property
    def table(self) -> Any:
        """A DataFrame of the Spark that is running; without one refused: the rows are in the folder."""
        running = running_session() if self.engine == "spark" else None
        if running is not None and data_files(self.folder):
            return frame_of(running, data_files(self.folder))
        raise InputError(f"the rows do not fit into memory; read them from {self.folder}")

    @property
    def sensitive(self) -> None:
        return None

    @property
    def has_entities(self) -> bool:
        return False

    @property
    def tried(self) -> tuple[()]:
        return ()

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"engine": {"name": self.engine, "blocks": self.blocks}}

    def write(self, folder: str | Path, *_form: object, **_words: object) -> Path:
        """Refused: it is written already."""
        raise InputError(f"the release is written, to {self.folder}; copy it from there to {folder}")


def publish_large(
    source: object,
    policy: Policy,
    folder: str | Path,
    form: Form | None = None,
    resources: Resources | None = None,
    watch: Watch = unwatched,
    public: object = None,
    check: object = None,
) -> LargeRelease:
    """Anonymize a table with DuckDB or Spark, verify the result in it, and write the release.

    `public` and `check` take the place of the tables that the policy names to be joined.
    """
    form, resources, destination = form or Form(), resources or Resources.of(), Path(folder)
    request = request_for_engine(policy, form)
    files = table_files(source, policy, resources)
    joined = joined_files(policy, request, resources, public, check)
    inputs = inputs_of(policy, files, joined)
    with stage(destination, form.replace) as staged:
        work = staged / WORK
        work.mkdir(mode=0o700)
        check_room(staged, sum(map(room_needed, inputs.all)))
        with engine_of(inputs, work, (staged,), resources) as engine:
            sources = (engine.files, *inputs.beside)
            before = [each.fingerprint() for each in sources]
            release = written(
                engine,
                drafted(engine, request, resources, watch, joined),
                Written(staged, destination, form),
                watch,
                partial(_verdict, engine),
            )
            for each, said in zip(sources, before, strict=True):
                if each.fingerprint() != said:
                    raise TableError(f"{each.name} changed while the release was made; nothing was published")
        kept = release.to_dict() | {"source": before[0], POLICY: kept_of_policy(policy)}
        write_json(staged / "audit" / AUDIT, kept)
        long_work.check()
        with long_work.held():
            commit(staged, destination, form.replace)
            long_work.ignore()
    return release


def table_files(source: object, policy: Policy, resources: Resources) -> TableFiles:
    """What the engine reads of a source; refused is what it cannot read."""
    if resources.engine == "spark":
        return spark_table(source, published_names(policy))
    return TableFiles.of(source)


def joined_files(
    policy: Policy, request: Request, resources: Resources, public: object, check: object
) -> PublicFiles | None:
    """The public table of a method that joins one, and its second source."""
    if not request.algorithm.joins:
        return None
    wanted = [*policy.quasi_identifiers, *([] if policy.public is None else [same_name(policy.public.id)])]
    opened = TableFiles.of if resources.engine != "spark" else (lambda source: spark_table(source, wanted))
    return public_files(policy, public, check, opened)


def inputs_of(policy: Policy, files: TableFiles, joined: PublicFiles | None) -> Inputs:
    """What an engine reads for a policy: of the table the columns that are published, and what is joined."""
    return Inputs(files, published_names(policy), () if joined is None else tuple(joined.all))


def engine_of(
    inputs: Inputs, work: Path, folders: Sequence[Path], resources: Resources
) -> AbstractContextManager[SqlEngine]:
    """The engine that is asked for, with its private folder `work`."""
    engine = spark_engine if resources.engine == "spark" else duck_engine
    return engine(inputs, work, folders, resources)


@dataclass(frozen=True, slots=True)
class Written:
    """Where a release is staged, where it will appear, and how it is written."""

    staged: Path
    destination: Path
    form: Form


def written(
    engine: SqlEngine,
    made: LargeDraft,
    where: Written,
    watch: Watch,
    verdict_on: Callable[[LargeDraft, Path, Progress], Verdict],
) -> LargeRelease:
    """Shuffle, write into the stage, and verify what lies there.

    What classes publish is forgotten once it is written, if nobody else holds the draft.
    """
    watch("write")
    engine.shuffle()
    sensitive = made.schema.having(Role.SENSITIVE)
    if made.single is None:
        made = replace(made, single={column.name: engine.single_valued(column.name) for column in sensitive})
    release, audit = where.staged / "release", where.staged / "audit"
    if made.classes is None:
        raise ValueError("what classes publish was forgotten")
    files = engine.publish(made.classes, made.columns, release, where.form.format)
    engine.witness(made.classes, audit)
    made = replace(made, classes=None)
    engine.forget()
    said = _write_beside(made, release, files)
    write_json(audit / SCHEMA, schema_as_dict(made.schema))
    verdict = verdict_on(made, where.staged, watch("verify"))
    watch("measure")
    made_of = cast(Any, made)
    return LargeRelease(verdict, made_of, said, where.destination, blocks=made.blocks, engine=engine.name)


def _verdict(engine: SqlEngine, made: LargeDraft, staged: Path, progress: Progress) -> Verdict:
    return verified(
        engine.session,
        staged / "release",
        _originals(engine, made),
        made.request.expected(made.schema, made.data),
        staged / "audit",
        progress,
    )


def _originals(engine: SqlEngine, made: LargeDraft) -> Relation | RowSource | JoinedOriginals:
    if made.stand_ins is None:
        return original_of(engine.table, engine.files)
    return joined_originals(made.stand_ins.tables, engine.files, made.request.policy)


def joined_originals(tables: JoinedTables, files: TableFiles, policy: Policy) -> JoinedOriginals:
    """Both tables as the verifier wants them, and the second source."""
    public = tables.files
    second = None
    if tables.second is not None and public.check is not None:
        second = original_of(tables.second, public.check)
    return JoinedOriginals(
        private=original_of(tables.private, files),
        public=original_of(tables.public, public.files),
        id=tables.id,
        second=second,
        files=(_file(public.source), _file(public.check_source)),
        blind=not UNSAFE_JOIN.accepted(policy.accept),
    )


def _file(source: object) -> Path | None:
    """The file of a table, which must be the one that the manifest means; a frame has none."""
    given = Source.of(source)
    return None if given is None or given.file is None or not given.file.is_file() else given.file


def request_for_engine(policy: Policy, form: Form | None = None) -> Request:
    """What a policy asks for, if an engine can do it; refused with what to do instead, if not."""
    check_names(policy.accept)
    request = requested(policy)
    algorithm, privacy = request.algorithm, policy.privacy
    _check_method(algorithm, policy)
    if privacy.t is not None or privacy.plain is not None:
        name = "t" if privacy.t is not None else "plain"
        raise PolicyError(f"{name} is not kept by an engine: leave it out, {IN_MEMORY}")
    if request.allowed is not None:
        raise PolicyError(f"max_suppression: an engine leaves nobody out; take 0, {IN_MEMORY}")
    if policy.entity is not None:
        raise PolicyError(f"entity: an engine counts rows, not persons; keep one row each, {IN_MEMORY}")
    kept = (KAnonymity, KFactor, ClassModel, KJoinAnonymity, SeriesK, SeriesL)
    strange = [each.name for each in request.promised if not isinstance(each, kept)]
    if strange:
        raise PolicyError(f"{strange[0]} is not kept by an engine: leave it out, {IN_MEMORY}")
    for column, said in policy.quasi_identifiers.items():
        if said.mean:
            raise PolicyError(f"{column}: means are not computed by an engine; leave out mean, {IN_MEMORY}")
        if isinstance(said.hierarchy, dict) and "rare" in said.hierarchy:
            raise PolicyError(
                f"{column}: rare counts people, which an engine does not do; write the hierarchy to a file, "
                f"{IN_MEMORY}"
            )
    if form is not None and form.typed:
        raise PolicyError(f"{option('typed', True)}: an engine writes texts; leave it out, {IN_MEMORY}")
    return request


def _check_method(algorithm: Algorithm, policy: Policy) -> None:
    if policy.series is not None and not isinstance(algorithm, StrictMondrian):
        raise PolicyError(f"[series]: an engine goes on by mondrian alone; take it, {IN_MEMORY}")
    if not isinstance(algorithm, StrictMondrian | Hilbert | Ring | Direct):
        others = "kja-direct" if algorithm.joins else "mondrian, hilbert or ring"
        raise PolicyError(f"{policy.method} is not run by an engine: take {others}, {IN_MEMORY}")
    if isinstance(algorithm, Direct):
        _check_join(algorithm)
        return
    done = {
        "polish": not isinstance(algorithm, Ring) and algorithm.polish,
        "workload": isinstance(algorithm, StrictMondrian) and algorithm.choose == "workload",
        "hide_rows": isinstance(algorithm, Ring) and algorithm.hide_rows,
        "drawn = false": isinstance(algorithm, Ring) and not algorithm.drawn,
        "assignment": isinstance(algorithm, Ring) and algorithm.assignment != "matching",
        "groups": isinstance(algorithm, Ring) and algorithm.groups != ROW,
    }
    for name in (name for name, asked in done.items() if asked):
        raise PolicyError(f"{name} is not done by an engine: leave it out, {IN_MEMORY}")
    if policy.privacy.l is not None and isinstance(algorithm, Ring):
        raise PolicyError(f"l: an engine keeps it by mondrian and hilbert; take one of these, {IN_MEMORY}")


def _check_join(algorithm: Direct) -> None:
    if algorithm.base != "mondrian":
        raise PolicyError(f"base: an engine groups both tables by mondrian alone; leave it out, {IN_MEMORY}")
    if algorithm.trim != "none":
        raise PolicyError(f"trim: an engine leaves everybody of a group in it; leave it out, {IN_MEMORY}")


def published_names(policy: Policy) -> list[str]:
    """The columns that a policy publishes or joins by, in the form in which names are compared."""
    joined = [] if policy.public is None else [same_name(policy.public.id)]
    return [*policy.quasi_identifiers, *policy.sensitive, *policy.keep, *joined]


def room_needed(files: TableFiles) -> int:
    """Bytes on the disk, by experience: codes, keys, sorted rows, spills and the release itself."""
    copy = 0 if files.read_in_place else files.bytes
    return copy + 8 * files.bytes


def original_of(table: TextTable, files: TableFiles) -> Relation | RowSource:
    """The original as the verifier wants it: a file that it reads by itself, or the texts in the session."""
    named = {name: table.text(name) for name in table.names if name in table.published}
    joined = {name: table.joined([name]).removeprefix(table.relation) for name in named}
    relation = Relation(table.relation, table.names, named, joined)
    if files.kind not in READ_BY_VERIFIER:
        return relation
    return rows_of(files.given, Table((), ()))  # its own reader; the table is not looked at


def verified(
    session: Session,
    release: Path,
    original: Relation | RowSource | JoinedOriginals,
    expected: Any,
    audit: Path,
    progress: Progress,
) -> Verdict:
    """The verdict on a release folder, by the verifier's own SQL."""
    data = data_files(release)
    rows = parquet_relation(session, data) if data else None
    witness = ClassWitness.of_files(audit / RECORDS, audit / CLASSES)
    return verify_in_engine(
        session, EngineFiles(release, rows, datasheet), original, expected, witness, progress
    )


def _write_beside(made: LargeDraft, folder: Path, written: Iterable[Path]) -> dict[str, Any]:
    """Everything of a release but its rows."""
    files = {path.relative_to(folder).as_posix(): described(path) for path in written}
    for name, table in ((HIERARCHIES_FILE, made.hierarchies), (TOTALS_FILE, made.totals)):
        if table is not None:
            tables.write_csv(table, folder / name)
            files[name] = described(folder / name)
    manifest = {**made.manifest, "files": dict(sorted(files.items()))}
    (folder / DATASHEET).write_text(datasheet(manifest), encoding="utf-8", newline="\n")
    manifest["files"] = dict(sorted({**files, DATASHEET: described(folder / DATASHEET)}.items()))
    write_json(folder / MANIFEST, manifest)
    return manifest
