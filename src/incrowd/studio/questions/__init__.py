"""What the bench can be asked, one module for each subject; each lists its questions in `QUESTIONS`.

A question is a function of the open table (None before there is one) and of plain arguments, and answers in
words that JSON knows. Policies are passed as their text, with the folder in which their files lie.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

Question = Callable[..., Any]


def all_questions() -> Mapping[str, Question]:
    """The questions of every module of this package, by name."""
    found: dict[str, Question] = {}
    for module in pkgutil.iter_modules(__path__):
        found |= getattr(importlib.import_module(f"{__name__}.{module.name}"), "QUESTIONS", {})
    return found
