"""Compiled kernels that are kept must be those of today's sources, whatever file they are in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

from incrowd.kernels import jit

COMMAND = "import incrowd; incrowd._command_line()"
CALLER = """
from incrowd.kernels.callee import value
from incrowd.kernels.jit import kernel


@kernel
def ask():
    return value()
"""
CALLEE = """
from incrowd.kernels.jit import kernel


@kernel
def value():
    return {number}
"""
RENAMED = """
from typing import NamedTuple

from incrowd.kernels.jit import kernel


class {name}(NamedTuple):
    number: int


@kernel
def number_of(given):
    return given.number


def ask():
    return number_of({name}(7))
"""


def test_kernels_are_never_plain_python(tmp_path: Path) -> None:
    """There `right += side[i]` stays in the eight bits of a mark: rows would be lost, figures wrong."""
    table = tmp_path / "people.csv"
    table.write_text("age\n" + "".join(f"{20 + i % 9}\n" for i in range(90)))
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "publish", table, "--qi", "age", "--k", "3", "-o", tmp_path / "out"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "data.csv").exists()


def test_a_stamp_looks_at_all_that_is_called() -> None:
    """`k_one` calls `closure` and `boxtree`: their texts are part of its stamp."""
    assert len({jit.stamp(name) for name in ("k_one", "closure", "boxtree", "no such module")}) == 4
    assert len(jit.stamp("k_one")) == 64


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba by itself would go on with the old one: the caller's own file is the same."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "caller.py").write_text(CALLER, encoding="utf-8")
    answers = []
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    for number in (1, 2):
        (kernels / "callee.py").write_text(CALLEE.format(number=number), encoding="utf-8")
        answers.append(_asked(kernels))
    assert answers == ["1", "2"]


def test_a_kernel_is_compiled_again_when_a_class_that_it_takes_has_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is cached names the classes of arguments: an index with names that are gone cannot be read."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    answers = []
    for name in ("Before", "After"):
        (kernels / "caller.py").write_text(RENAMED.format(name=name), encoding="utf-8")
        answers.append(_asked(kernels))
    assert answers == ["7", "7"]


def test_a_borrowed_function_makes_and_returns_no_array() -> None:
    """Nobody counts who holds it: it would stay for ever, or go while it is used."""

    def add_up(numbers: np.ndarray) -> int:
        total = 0
        for i in range(numbers.size):
            total += numbers[i]
        return total

    def copied(numbers: np.ndarray) -> int:
        return numbers.copy().size

    def rest(numbers: np.ndarray) -> np.ndarray:
        return numbers[1:]

    assert jit.kernel(jit.borrowed(add_up))(np.arange(5)) == 10
    with pytest.raises(NumbaError, match="NRT required but not enabled"):
        jit.kernel(jit.borrowed(copied))(np.arange(5))
    with pytest.raises(NumbaError, match="Only accept returning of array passed into the function"):
        jit.kernel(jit.borrowed(rest))(np.arange(5))


def _asked(kernels: Path) -> str:
    """What `ask` of the caller in this folder answers, in a process of its own.

    Python's own kept code would pass for new, where a file changed within a second and kept its length.
    """
    code = (
        "import pathlib, incrowd.kernels as k, incrowd.kernels.jit as j; "
        f"here = {str(kernels)!r}; k.__path__.append(here); j._HERE = pathlib.Path(here); "
        "from incrowd.kernels.caller import ask; print(ask())"
    )
    return subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
