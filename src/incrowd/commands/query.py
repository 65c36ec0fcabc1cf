"""`query`: ask a release in SQL; certain bounds and an estimate, from its published files alone."""

from __future__ import annotations

from incrowd.policy import Policy
from incrowd.publishing.memory_limit import engine_for_looking
from incrowd.queries import Answer, Queryable


def query(
    release: object,
    sql: str,
    policy: object = None,
    *,
    continuous: bool = False,
    engine: str = "auto",
    memory: str | int | None = None,
    threads: int | None = None,
) -> Answer:
    """Ask a release: COUNT, SUM, AVG, MIN or MAX under conditions, by one column if wanted.

    Parameters
    ----------
    release : path, ReleaseFolder or Queryable
        The folder of the release. Who asks often opens it once: ``Queryable.load(path)``.
    sql : str
        ``SELECT AVG(age) WHERE sex = 'F'``.
    policy : Policy, dict or path, optional
        Its hierarchy files say what labels stand for.
    continuous : bool
        Estimates take numbers to lie anywhere in a range.
    engine : str
        ``"duckdb"`` counts the cells that are asked about where they lie, ``"memory"`` reads all rows;
        ``"auto"`` takes DuckDB where the rows would need more than half of the machine's memory, or `memory`.
    memory, threads
        What DuckDB may use, as of `publish`.
    """
    if isinstance(release, Queryable):
        return release.ask(sql)
    resources = engine_for_looking("query", [release], engine, memory, threads)
    if resources is not None:
        from incrowd.queries.counted import ask_counted  # few releases need what is behind an engine

        return ask_counted(release, sql, Policy.of(policy), continuous, resources)
    return Queryable.load(release, policy, continuous).ask(sql)
