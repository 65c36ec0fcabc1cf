"""Compiled kernels are kept where nobody else can write, under names that say what they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import int64

from incrowd.kernels import compiling, jit, kept

TWO_TYPES = """
import sys
import numpy as np
from incrowd.kernels import jit

def total(numbers):
    found = numbers[0]
    for one in numbers[1:]:
        found += one
    return found

print(jit.kernel(total)(np.array([1, 2, 4], sys.argv[1])))
"""
KERNELS = "import incrowd; incrowd._command_line()"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "caches"))
    return tmp_path / "caches" / "incrowd" / "kernels"


def doubled(numbers: Any) -> Any:
    return numbers[0] + numbers[0]


def ask(kind: str = "int64") -> tuple[bool, str]:
    """Whether a new process would have to compile `doubled`, and the warnings that it gives."""
    kept.usable.cache_clear()
    before = compiling.compiling.functions
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert jit.kernel(doubled)(np.array([3, 4], kind)) == 6
    return compiling.compiling.functions > before, " ".join(str(one.message) for one in heard)


NEW, FOUND = (True, ""), (False, "")


def test_what_is_compiled_is_the_users_own_and_used_again(place: Path) -> None:
    assert ask() == NEW
    home = place / kept.machine()
    assert {path.stat().st_mode & 0o777 for path in (place.parent, place, home)} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
    assert ask() == FOUND


def test_a_folder_into_which_others_may_write_is_refused_aloud(place: Path) -> None:
    ask()
    home = place / kept.machine()
    for open_place in (home, place, place.parents[2]):
        open_place.chmod(0o770)
        compiled, warning = ask()
        assert compiled
        assert f"others may write into {open_place}" in warning
        open_place.chmod(0o700)
    assert ask() == FOUND


def test_a_sticky_folder_above_is_no_danger(place: Path) -> None:
    """As the folder for temporary files: others may write there, but not replace what is mine."""
    ask()
    place.parents[2].chmod(0o1777)
    assert ask() == FOUND


def test_a_file_to_which_others_may_write_is_not_loaded(place: Path) -> None:
    ask()
    for file in (place / kept.machine()).iterdir():
        file.chmod(0o620)
    assert ask() == NEW


@needs_root
def test_what_belongs_to_somebody_else_is_refused_aloud(place: Path) -> None:
    ask()
    home = place / kept.machine()
    os.chown(home, 12345, -1)
    compiled, warning = ask()
    assert compiled
    assert f"{home} belongs to another user" in warning
    os.chown(home, 0, -1)
    for file in home.iterdir():
        os.chown(file, 12345, -1)
    assert ask() == NEW


def test_a_link_counts_as_what_it_leads_to(place: Path, tmp_path: Path) -> None:
    ask()
    home = place / kept.machine()
    elsewhere = tmp_path / "elsewhere"
    home.rename(elsewhere)
    home.symlink_to(elsewhere)
    assert ask() == FOUND
    elsewhere.chmod(0o777)
    assert f"others may write into {elsewhere}" in ask()[1]


def test_spoilt_files_are_compiled_again(place: Path) -> None:
    ask()
    for file in (place / kept.machine()).iterdir():
        file.write_bytes(file.read_bytes()[:20])
    assert ask() == NEW
    assert ask() == FOUND


def test_processes_at_once_do_not_take_the_code_of_each_other(place: Path) -> None:
    """Of one function for three types: a common index could list one file for two of them."""
    kinds = ("int64", "float64", "int8")
    for _ in range(2):
        started = [
            subprocess.Popen([sys.executable, "-c", TWO_TYPES, kind], stdout=subprocess.PIPE, text=True)
            for kind in kinds
        ]
        assert [process.communicate()[0].strip() for process in started] == ["7", "7.0", "7"]
    files = list((place / kept.machine()).iterdir())
    assert sorted(file.suffix for file in files) == [".nbc"] * 3 + [".nbi"] * 3


def test_without_a_place_nothing_is_kept_and_all_is_right(place: Path) -> None:
    place.parents[1].write_text("a file where the folder should be", encoding="utf-8")
    assert ask() == NEW


@pytest.mark.parametrize("what", ["numba.__version__", "llvmlite.__version__", "numpy.__version__"])
def test_another_version_has_another_folder(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = kept.machine.__wrapped__()
    monkeypatch.setattr(what, "0.0.1")
    assert kept.machine.__wrapped__() != here


def test_another_processor_has_another_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    here = kept.machine.__wrapped__()
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_name", lambda: "another")
    assert kept.machine.__wrapped__() != here


def test_python_cannot_call_what_is_compiled_without_a_door() -> None:
    """It would run into code that is not there."""

    def one(numbers: Any) -> Any:
        return numbers[0] + 1.0

    inside = jit.inner(one)

    @jit.kernel
    def ask(numbers: Any) -> Any:
        return inside(numbers)

    numbers = np.ones(3)
    for _ in range(2):  # before and after it is compiled
        with pytest.raises(TypeError, match="one is called by kernels alone"):
            inside(numbers)
        assert ask(numbers) == 2.0


def test_code_without_a_door_is_kept_apart(place: Path) -> None:
    """A kernel of the same function must not find it: calling it would end the process."""
    inside = jit.inner(doubled)
    inside.compile((int64[::1],))  # type: ignore[attr-defined]
    assert ask() == NEW
    assert ask() == FOUND


def test_who_waits_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    watched = compiling.Compiling()
    watched.tell = lambda: heard.append("compiling")
    watched.begins()
    watched.begins()
    assert (heard, watched.functions) == (["compiling"], 2)


def test_after_kernels_the_usual_methods_compile_nothing() -> None:
    """Said by a new process; the first one may still have to compile them."""
    command = [sys.executable, "-c", KERNELS, "kernels", "--json"]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    if said["compiled"]:
        said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert said == {"compiled": 0, "folder": str(kept.own_folder())}
    there = {path.name.partition("-")[0] for path in (kept.own_folder() / kept.machine()).iterdir()}
    assert {
        "csv_cells.number_rows",
        "csv_rows.join_cells",
        "two_way.count_pairs",
    } <= there


def test_what_is_compiled_ahead_ends_with_it() -> None:
    watched = compiling.Compiling()
    with watched.ahead(lambda: None, for_all=True):
        assert watched.everything
        assert watched.for_all
    assert (watched.tell, watched.for_all, watched.everything) == (None, False, False)


def test_a_warning_is_one_sentence(place: Path) -> None:
    home = place / kept.machine()
    home.mkdir(parents=True)
    home.chmod(0o777)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        kept.usable.cache_clear()
        assert kept.usable(place) is None
    assert [str(one.message) for one in heard] == [
        f"compiled kernels are neither kept nor used, since others may write into {home}"
    ]
