"""Parts of a verification side by side: the same results, the same error, no more threads than said."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.verifier import Threads
from incrowd.verifier.threads import ONE_THREAD

NUMBERS = st.integers(1, 4)


def fails(number: int) -> int:
    raise ValueError(number)


@settings(deadline=None)
@given(
    threads=NUMBERS,
    works=st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=8),
    sized=st.booleans(),
)
def test_results_come_in_order_and_the_first_error_is_raised(
    threads: int, works: list[tuple[bool, int]], sized: bool
) -> None:
    """The first is that of the largest where sizes are given; of equal ones of the first."""
    tasks: list[Callable[[], int]] = [
        partial(fails, place) if wrong else partial(int, place) for place, (wrong, _) in enumerate(works)
    ]
    sizes = [size for _, size in works] if sized else None
    wrong = [(-size if sized else 0, place) for place, (wrong, size) in enumerate(works) if wrong]
    if wrong:
        with pytest.raises(ValueError, match=f"^{min(wrong)[1]}$"):
            Threads(threads).all(tasks, sizes)
    else:
        assert Threads(threads).all(tasks, sizes) == list(range(len(works)))


def test_the_largest_is_begun_first() -> None:
    begun = list[int]()
    Threads(1).all([partial(begun.append, place) for place in range(4)], sizes=[1, 3, 0, 3])
    assert begun == [1, 3, 0, 2]


class Crowd:
    """Counts who is at work. The first wait until so many are, so that it does not matter who is slow."""

    def __init__(self, expected: int) -> None:
        self.now = self.most = 0
        self._expected, self._changed = expected, threading.Condition()

    def work(self) -> None:
        with self._changed:
            self.now += 1
            self.most = max(self.most, self.now)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most >= self._expected, timeout=10)
        time.sleep(0.002)
        with self._changed:
            self.now -= 1


@pytest.mark.parametrize("number", [1, 2, 3])
def test_so_many_work_and_no_more(number: int) -> None:
    threads, crowd = Threads(number), Crowd(number)
    inner: Callable[[], object] = partial(threads.all, [crowd.work] * 4)
    threads.all([inner, inner])
    assert crowd.most == number
    again = Crowd(number)
    threads.all([again.work] * 6)  # all of them are free again
    assert again.most == number


def test_the_first_is_done_by_who_asks() -> None:
    here = threading.get_ident()
    for _ in range(50):
        assert Threads(2).all([threading.get_ident, threading.get_ident])[0] == here


def test_a_busy_thread_helps_when_it_is_done() -> None:
    threads, crowd, there = Threads(2), Crowd(1), threading.Event()
    busy = threads.busy_with(lambda: there.wait(10))
    threads.all([crowd.work] * 4)
    assert crowd.most == 1
    there.set()
    assert busy()
    two = Crowd(2)
    threads.all([two.work] * 4)
    assert two.most == 2


def test_a_thread_that_becomes_free_meanwhile_helps() -> None:
    threads, two, there = Threads(2), Crowd(2), threading.Event()
    busy = threading.Thread(target=threads.busy_with(lambda: there.wait(10)))

    def free_it() -> None:
        there.set()
        busy.join()

    busy.start()
    threads.all([free_it, two.work, two.work])
    assert two.most == 2


def test_it_is_free_again_if_there_is_nothing_left_to_do() -> None:
    threads, two = Threads(2), Crowd(2)
    threads.all([lambda: None])
    threads.all([two.work, two.work])
    assert two.most == 2


@pytest.mark.parametrize("threads", [Threads(1), Threads(), ONE_THREAD, Threads(0)])
def test_without_another_thread_nothing_is_lent(threads: Threads) -> None:
    here = threading.get_ident()
    assert set(threads.all([threading.get_ident] * 3)) == {here}
    assert threads.busy_with(lambda: 1)() == 1
    assert threads.all([lambda: 3]) == [3]


def test_an_interrupt_waits_for_nobody() -> None:
    there, go_on, done = threading.Event(), threading.Event(), threading.Event()

    def interrupted() -> None:
        there.wait(10)
        raise KeyboardInterrupt

    def slow() -> None:
        there.set()
        go_on.wait(10)
        done.set()

    with pytest.raises(KeyboardInterrupt):
        Threads(2).all([interrupted, slow, lambda: None])
    assert not done.is_set()
    go_on.set()
