"""Publish a table about people so that everyone in it hides in a crowd of at least k.

>>> import incrowd as ic
>>> policy = ic.Policy(quasi_identifiers=["age"], sensitive=["disease"], privacy={"k": 2})
>>> policy.k
2

Names are loaded when they are first used, so importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from incrowd.errors import Exposure, IncrowdError, Infeasible, InputError, NotVerified, Refused
    from incrowd.policy import Policy
    from incrowd.publishing.pipeline import Release, publish
    from incrowd.schema import Verdict

_HOMES = {
    "Exposure": "incrowd.errors",
    "IncrowdError": "incrowd.errors",
    "Infeasible": "incrowd.errors",
    "InputError": "incrowd.errors",
    "NotVerified": "incrowd.errors",
    "Policy": "incrowd.policy",
    "Refused": "incrowd.errors",
    "Release": "incrowd.publishing.pipeline",
    "Verdict": "incrowd.schema",
    "publish": "incrowd.publishing.pipeline",
}

__all__ = [
    "Exposure",
    "IncrowdError",
    "Infeasible",
    "InputError",
    "NotVerified",
    "Policy",
    "Refused",
    "Release",
    "Verdict",
    "publish",
]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module 'incrowd' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
