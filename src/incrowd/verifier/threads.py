"""Independent parts of a verification, done at the same time where threads are free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from threading import Lock, Semaphore, Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")
_Work = tuple[int, Callable[[], Result]]  # and its place among all


class Threads:
    """So many threads, the one that asks among them; others may be busy with something else for a while."""

    def __init__(self, number: int = 1) -> None:
        self._free = Semaphore(max(number, 1) - 1)

    def busy_with(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Something that takes one of the threads, from now on until it is done; none if none is free."""
        if not self._free.acquire(blocking=False):
            return work

        def freeing() -> Result:
            try:
                return work()
            finally:
                self._free.release()

        return freeing

    def all(self, works: Sequence[Callable[[], Result]], sizes: Sequence[int] | None = None) -> list[Result]:
        """Do all of these, by this thread and those that are free; what each returns, in their order.

        They are begun in their order, or the largest first if `sizes` are given, so that nobody waits long
        for the last one. The first is done by this thread, and after one has failed no other is begun: so
        what is raised is what one thread would raise. A thread that becomes free meanwhile helps, too.

        Examples
        --------
        >>> Threads(2).all([lambda: 1 + 1, lambda: 2 + 2])
        [2, 4]
        """
        places = range(len(works))
        order = places if sizes is None else sorted(places, key=lambda place: -sizes[place])
        todo, helpers = _Works([works[place] for place in order]), list[Thread]()

        def get_help() -> None:
            while self._free.acquire(blocking=False):
                one = todo.next()
                if one is None:
                    self._free.release()
                    return
                helpers.append(Thread(target=self._help, args=(todo, one), daemon=True))
                helpers[-1].start()

        todo.do(todo.next(), get_help)
        if helpers:
            self._free.release()  # a thread that only waits may help a helper
            for helper in helpers:
                helper.join()
            self._free.acquire()
        return [result for _, result in sorted(zip(order, todo.results(), strict=True), key=itemgetter(0))]

    def _help(self, works: _Works[Result], one: _Work[Result]) -> None:
        try:
            works.do(one)
        finally:
            self._free.release()


class _Works(Generic[Result]):
    """Things to do, each by the thread that comes first."""

    def __init__(self, works: Sequence[Callable[[], Result]]) -> None:
        self._waiting = iter(enumerate(works))
        self._done: dict[int, Result] = {}
        self._failed: dict[int, BaseException] = {}
        self._lock = Lock()

    def do(self, one: _Work[Result] | None, before_each: Callable[[], object] = lambda: None) -> None:
        """Do one after the other while there are any. An interrupt goes on at once, and waits for nobody."""
        while one is not None:
            before_each()
            place, work = one
            try:
                self._done[place] = work()
            except BaseException as problem:
                self._failed[place] = problem
                if isinstance(problem, KeyboardInterrupt):
                    raise
            one = self.next()

    def next(self) -> _Work[Result] | None:
        """What nobody has begun yet."""
        with self._lock:
            return None if self._failed else next(self._waiting, None)

    def results(self) -> list[Result]:
        if self._failed:
            raise self._failed[min(self._failed)]
        return [self._done[place] for place in sorted(self._done)]


ONE_THREAD = Threads()
