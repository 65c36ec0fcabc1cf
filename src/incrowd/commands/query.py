"""`query`: ask a release in SQL; certain bounds and an estimate, from its published files alone."""

from __future__ import annotations

from incrowd.queries import Answer, Queryable


def query(release: object, sql: str, policy: object = None, *, continuous: bool = False) -> Answer:
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
    """
    opened = release if isinstance(release, Queryable) else Queryable.load(release, policy, continuous)
    return opened.ask(sql)
