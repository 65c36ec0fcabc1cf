"""Compiled kernels that are kept must be those of today's sources, whatever file they are in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from incrowd.kernels import jit

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


def test_a_stamp_looks_at_all_that_is_called() -> None:
    """`expansion` calls `closure` and `boxes`: their texts are part of its stamp."""
    assert jit.stamp("expansion") != jit.stamp("closure")
    assert len(jit.stamp("expansion")) == 64


def test_a_kernel_is_compiled_again_when_one_that_it_calls_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba by itself would go on with the old one: the caller's own file is the same."""
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "caller.py").write_text(CALLER, encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    answers = []
    for number in (1, 2):
        (kernels / "callee.py").write_text(CALLEE.format(number=number), encoding="utf-8")
        code = (
            "import pathlib, incrowd.kernels as k, incrowd.kernels.jit as j; "
            f"here = {str(kernels)!r}; k.__path__.append(here); j._HERE = pathlib.Path(here); "
            "from incrowd.kernels.caller import ask; print(ask())"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        answers.append(ran.stdout.strip())
    assert answers == ["1", "2"]
