"""Publish a table about people so that nobody in it can be told from at least k-1 others.

>>> import incrowd as ic
>>> policy = ic.Policy(quasi_identifiers=["age"], sensitive=["disease"], privacy={"k": 2})
>>> policy.k
2

Every command of the command line is a function here, under the same name::

    inspect   look at a table: columns, suggested roles, risks
    publish   anonymize a table, verify the result, write it
    verify    check a written release once more, independently
    series    the history of a series of releases
    measure   what a release lost, by every measure
    attack    what each adversary gets out of a release
    audit     what a published table protects, whoever wrote it
    compare   methods and k on one table
    query     ask a release in SQL, from its published files alone
    report    one page about a release
    learn     what a classifier learns from a release
    outliers  who is an outlier, before anything is published
    methods   the catalogue of methods

Tables are paths or frames (pandas, polars, Arrow); a policy is a `Policy`, a dict or the path of a TOML file.
Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from incrowd.commands.attack import attack
    from incrowd.commands.audit import audit
    from incrowd.commands.compare import compare
    from incrowd.commands.inspect import inspect
    from incrowd.commands.learn import learn
    from incrowd.commands.measure import measure
    from incrowd.commands.methods import methods
    from incrowd.commands.outliers import outliers
    from incrowd.commands.publish import publish
    from incrowd.commands.query import query
    from incrowd.commands.report import report
    from incrowd.commands.series import series
    from incrowd.commands.verify import verify
    from incrowd.errors import (
        Exposure,
        HierarchyError,
        IncrowdError,
        Infeasible,
        InputError,
        NotVerified,
        PolicyError,
        Refused,
        TableError,
    )
    from incrowd.policy import Policy
    from incrowd.schema import Source

__all__ = [  # noqa: RUF022  # verbs first
    "attack",
    "audit",
    "compare",
    "inspect",
    "learn",
    "measure",
    "methods",
    "outliers",
    "publish",
    "query",
    "report",
    "series",
    "verify",
    "Policy",
    "Source",
    "Exposure",
    "HierarchyError",
    "IncrowdError",
    "Infeasible",
    "InputError",
    "NotVerified",
    "PolicyError",
    "Refused",
    "TableError",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in __all__:
        raise AttributeError(f"module 'incrowd' has no attribute {name!r}")
    nouns = {"Policy": "policy", "Source": "schema"}
    home = nouns.get(name) or (f"commands.{name}" if name.islower() else "errors")
    return getattr(importlib.import_module(f"incrowd.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def _command_line() -> None:
    """The program `incrowd`: signals are handled before anything large is imported."""
    import os

    # Threads of linear algebra have hardly anything to do, and spin while they wait: a third of a second.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from incrowd import long_work

    long_work.install()
    from incrowd.cli import main

    main()
