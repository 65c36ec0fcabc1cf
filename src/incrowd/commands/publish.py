"""`publish`: anonymize a table, verify the result, write it; nothing appears unless it is accepted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.engines.resources import Resources
from incrowd.engines.spark_tables import is_spark
from incrowd.errors import InputError, PolicyError, option
from incrowd.long_work import Notice, Watch, unnoticed, unwatched, with_threads
from incrowd.policy import Policy
from incrowd.publishing.engine_choice import check_engine, engine_for, resources_of, series_engine
from incrowd.publishing.pipeline import Form, Release, publish_in_memory, publish_next, publish_to
from incrowd.publishing.series import Continued

Columns = Sequence[str] | Mapping[str, Any]


def publish(
    table: object,
    policy: object = None,
    output: str | Path | None = None,
    *,
    quasi_identifiers: Columns = (),
    sensitive: Columns = (),
    identifiers: Sequence[str] = (),
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    entity: str | None = None,
    drop_rest: bool = False,
    k: int | None = None,
    l: int | str | None = None,  # noqa: E741  the paper's letter
    t: float | str | None = None,
    plain: Mapping[str, Any] | None = None,
    max_suppression: float | str | None = None,
    method: str | None = None,
    options: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    totals: bool | None = None,
    public: object = None,
    check: object = None,
    after: str | Path | None = None,
    erase: object = None,
    format: str | None = None,
    typed: bool = False,
    replace: bool = False,
    engine: str = "auto",
    memory: str | int | None = None,
    threads: int | None = None,
    master: str | None = None,
    watch: Watch = unwatched,
    notice: Notice = unnoticed,
) -> Release:
    """Anonymize a table, verify the result and, with `output`, write it.

    Parameters
    ----------
    table : path or frame
        CSV, TSV (also .gz) or Parquet file; pandas, polars or Arrow frame; a Spark DataFrame.
    policy : Policy, dict or path, optional
        Roles of the columns, privacy and method. Without it, say the roles here.
    output : path, optional
        The folder of the release, which must not exist yet. Without it nothing is written;
        `Release.write` does so later.
    quasi_identifiers, sensitive, identifiers, keep, drop, entity
        The roles of the columns, as in a policy, if there is none. Every column needs a role.
    drop_rest : bool
        Columns without a role are not published; without it, they are an error.
    k, l, t, plain, max_suppression
        The promise; overrides the policy.
    method, options, accept
        The method, its options, and known exposures that are accepted by name; override the policy.
    totals : bool, optional
        State how many rows have which value of each quasi-identifier; overrides the policy.
    public, check : path or frame, optional
        The public table of k-join-anonymity and its second source, in the place of those of the policy.
    after : path, optional
        The release of the same series that this one comes after (``docs/series.md``). A policy with
        ``[series]`` and no `after` begins a series.
    erase : path, frame or list of ids, optional
        People who must have no row any more, by the ids of ``entity``: a table with this column, or a list.
    format, typed, replace
        How it is written: ``"csv"``, the default, or ``"parquet"``, that of Spark; typed Parquet columns;
        over an existing release.
    engine : str
        ``"memory"``, ``"duckdb"`` for tables that do not fit into memory (``docs/large-tables.md``),
        ``"spark"`` for those that do not fit on a machine (``docs/spark.md``), or ``"auto"``: memory, DuckDB
        where a file would need more than half of the machine's, and Spark for a Spark DataFrame.
    memory
        What the engine may use on this machine: ``"3GB"``.
    threads
        How many threads work at once, in an engine or in memory; all processors by default. The classes are
        the same with any number.
    master
        Where Spark's executors are, such as ``"spark://host:7077"``; by default they are threads.
    notice : callable, optional
        Called with a sentence before the work begins, where the quasi-identifiers ask for more detail than
        equivalence classes can keep.

    Returns
    -------
    Release
        With ``table``, ``verdict``, ``manifest``, ``loss()`` and ``warnings``; with `output` also ``folder``
        and ``audit``. Of an engine, the rows are in the folder alone; ``table`` of a release from a Spark
        DataFrame is a DataFrame that reads them.

    Raises
    ------
    InputError
        Table, policy or hierarchies are wrong.
    Refused
        The promise cannot be kept, a known exposure was not accepted, or the verifier says no.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 32, 47, 49], "ill": ["flu", "cold", "flu", "asthma"]})
    >>> release = publish(people, quasi_identifiers=["age"], sensitive=["ill"], k=2)
    >>> sorted(release.table["age"])
    ['[31,32]', '[31,32]', '[47,49]', '[47,49]']
    """
    roles = {
        "quasi_identifiers": quasi_identifiers,
        "sensitive": sensitive,
        "identifiers": identifiers,
        "keep": keep,
        "drop": drop,
        "entity": entity,
    }
    asked = _policy(policy, {name: said for name, said in roles.items() if said}).with_(
        method=method,
        options=options,
        accept=accept,
        rest="drop" if drop_rest else None,
        k=k,
        l=l,
        t=_decimal(t),
        plain=plain,
        max_suppression=_decimal(max_suppression),
        totals=totals,
    )
    if asked.series is not None or after is not None or erase is not None:
        if output is None:
            raise InputError(
                f"a series keeps its ledger beside each release: say where, with {option('output')}"
            )
        continued = Continued(None if after is None else Path(after), erase)
        form = Form(format or "csv", typed, replace)
        resources = series_engine(table, asked, form, continued.after, (engine, memory, threads), notice)
        if resources is not None:
            from incrowd.publishing.large_series import publish_large_next

            return publish_large_next(table, asked, output, continued, form, resources, watch)
        with with_threads(threads):
            return publish_next(table, asked, output, continued, form, watch, notice)
    if output is not None:
        spark = engine == "spark" or is_spark(table)
        form = Form(format or ("parquet" if spark else "csv"), typed, replace)
        resources = engine_for(table, asked, form, engine, memory, threads, master, notice, public)
        if resources is not None:
            from incrowd.publishing.large import publish_large  # few tables need what is behind an engine

            return publish_large(table, asked, output, form, resources, watch, public, check)
        with with_threads(threads):
            return publish_to(table, asked, output, form, watch, public, check, notice)
    if typed or replace or format is not None:
        raise InputError(f"how a release is written is said together with {option('output')}")
    if is_spark(table):
        from incrowd.publishing.large_spark import publish_frame

        check_engine(engine, table)
        given = resources_of("spark", memory, threads, master)
        return publish_frame(table, asked, given, watch, public, check)
    if engine in ("duckdb", "spark") or memory is not None or master is not None:
        raise InputError(f"an engine writes a release: say where, with {option('output')}")
    with with_threads(Resources.of(threads=threads).threads):
        return publish_in_memory(table, asked, watch, public, check, notice)


def _decimal(number: float | str | None) -> int | str | None:
    """A float as it is written: 0.1 is one tenth, not the nearest binary number."""
    return str(number) if isinstance(number, float) else number


def _policy(policy: object, roles: Mapping[str, Any]) -> Policy:
    given = Policy.of(policy)
    if given is not None and roles:
        raise InputError(
            f"{next(iter(roles))}: columns have their roles in the policy, or in the request, not in both"
        )
    if given is not None:
        return given
    if not roles:
        raise PolicyError(
            f"say what the columns are: {option('policy')} (incrowd inspect writes a first policy), or "
            f"{option('quasi_identifiers')}, {option('sensitive')}, {option('identifiers')}, "
            f"{option('keep')}, {option('drop')}"
        )
    return Policy.from_dict(roles)
