"""Several threads do what one does: the same results in the same order, the same error, nothing twice."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.long_work import Ahead, side_by_side, threads, with_threads

pytestmark = pytest.mark.quick


class Late(Exception):
    """A work that fails."""


@settings(deadline=None)
@given(st.integers(1, 5), st.lists(st.booleans(), max_size=8))
def test_results_and_errors_are_those_of_one_thread(number: int, fails: list[bool]) -> None:
    begun: list[int] = []

    def work(place: int) -> int:
        begun.append(place)
        if fails[place]:
            raise Late(place)
        return place

    works = [partial(work, place) for place in range(len(fails))]
    first = fails.index(True) if True in fails else len(fails)
    with with_threads(number):
        if first < len(fails):
            with pytest.raises(Late, match=f"^{first}$"):
                side_by_side(works)
        else:
            assert side_by_side(works) == list(range(len(fails)))
    assert set(range(min(first + 1, len(fails)))) <= set(begun)
    assert len(set(begun)) == len(begun)


def test_the_first_is_done_by_who_asks_and_the_others_run_meanwhile() -> None:
    meet = threading.Barrier(2)  # nobody comes through alone

    def here() -> str:
        meet.wait()
        return threading.current_thread().name

    with with_threads(2):
        names = side_by_side([here, here])
    assert names[0] == threading.current_thread().name != names[1]


def test_work_that_is_one_of_several_has_one_thread() -> None:
    with with_threads(3):
        assert threads() == 3
        assert side_by_side([threads, threads, threads]) == [1, 1, 1]
        with with_threads(None):
            assert threads() == 3
    assert threads() >= 1


def test_an_interrupt_waits_for_nobody() -> None:
    over = threading.Event()

    def interrupted() -> None:
        raise KeyboardInterrupt

    def waiting() -> None:
        over.wait()

    with with_threads(2), pytest.raises(KeyboardInterrupt):
        side_by_side([interrupted, waiting])
    over.set()


def test_work_ahead_is_begun_before_it_is_asked_for() -> None:
    begun = threading.Event()

    def work() -> int:
        begun.set()
        return threads()

    with with_threads(2):
        ahead = Ahead(work)
        assert begun.wait(60)
        assert ahead.result() == 1


def test_work_ahead_waits_until_it_is_asked_for_where_there_is_one_thread() -> None:
    begun: list[str] = []
    with with_threads(1):
        ahead = Ahead(lambda: begun.append(threading.current_thread().name))
        assert not begun
        ahead.result()
    assert begun == [threading.current_thread().name]


@pytest.mark.parametrize("number", [1, 2])
def test_what_goes_wrong_ahead_is_raised_where_it_is_asked_for(number: int) -> None:
    def work() -> None:
        raise Late(7)

    with with_threads(number):
        ahead = Ahead(work)
        with pytest.raises(Late, match=r"^7$"):
            ahead.result()
