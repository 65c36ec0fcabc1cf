"""Points of an interrupted run: kept, and read again as what they were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from incrowd.long_work import silent
from incrowd.reproduce.kept import NOTHING_KEPT, Keeper
from incrowd.reproduce.trial import run_each


@dataclass(frozen=True)
class Point:
    loss: float
    errors: Mapping[int, float]
    name: str | None = None


VALUE = {"NH": Point(0.1, {2: 0.5}), "HS": Point(np.float64(1 / 3), {}, "x")}


def test_a_point_comes_back_as_it_was(tmp_path: Path) -> None:
    kept = Keeper(tmp_path).of("figure 9", Point)
    kept.put((1, "a"), VALUE)
    assert kept.get((1, "a")) == VALUE
    assert kept.get((2, "a")) is None
    assert Keeper(tmp_path).of("figure 10", Point).get((1, "a")) is None
    assert [file.suffix for file in tmp_path.iterdir()] == [".txt"]


def test_without_a_folder_nothing_is_kept() -> None:
    NOTHING_KEPT.put(1, 2)
    assert NOTHING_KEPT.get(1) is None


@pytest.mark.parametrize("text", ["", "(", "__import__('os').getcwd()", "('1', ('@', 'Other', {}))", "7"])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    kept = Keeper(tmp_path).of("", Point)
    kept.put(1, VALUE)
    next(tmp_path.iterdir()).write_text(text)
    assert kept.get(1) is None


def test_only_what_was_not_run_is_run(tmp_path: Path) -> None:
    kept, runs = Keeper(tmp_path).of("squares"), list[int]()

    def square(x: int) -> int:
        runs.append(x)
        if x == 3:
            raise KeyboardInterrupt
        return x * x

    with pytest.raises(KeyboardInterrupt):
        run_each([1, 2, 3], square, silent, kept=kept)
    assert run_each([2, 1, 4], square, silent, kept=kept) == {2: 4, 1: 1, 4: 16}
    assert runs == [1, 2, 3, 4]
