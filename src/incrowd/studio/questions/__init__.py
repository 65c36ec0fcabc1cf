"""What the bench can be asked, one module for each subject; each lists its questions in `QUESTIONS`.

A question is a function of the open table (None before there is one) and of plain arguments, and answers in
words that JSON knows. Policies are passed as their text, with the folder in which their files lie.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from importlib.abc import InspectLoader
from importlib.util import find_spec
from typing import Any

Question = Callable[..., Any]

_known: dict[str, Question] = {}


def question(name: str) -> Question:
    """A question by its name.

    Only modules whose source names it are imported: all of them take longer than reading a middling table.
    """
    for module in pkgutil.iter_modules(__path__) if name not in _known else ():
        spec = find_spec(f"{__name__}.{module.name}")
        source = (
            spec.loader.get_source(spec.name) if spec and isinstance(spec.loader, InspectLoader) else None
        )
        if source is None or f'"{name}": ' in source.rpartition("\nQUESTIONS = ")[2]:
            _known.update(getattr(importlib.import_module(f"{__name__}.{module.name}"), "QUESTIONS", {}))
    return _known[name]
