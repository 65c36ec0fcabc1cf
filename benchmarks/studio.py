"""Figures of the studio: its own processes, each beside a command or a plain count of the same run.

The server, the process that holds the table and the jobs are measured from outside, as a browser drives
them, on invented patients. Times are processor seconds where a ratio needs them; where a person waits, they
are seconds of the clock as a share of what may pass.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from http.cookiejar import CookieJar
from pathlib import Path
from statistics import median
from types import TracebackType

from bench import Figure

from incrowd.examples import write_example

RUNS = 5
ROWS, MANY = 300_000, 1_000_000
TICKS = os.sysconf("SC_CLK_TCK")
INCROWD = str(Path(sys.executable).parent / "incrowd")
BROWSER = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
ASSETS = 100 * 1024
LARGEST_SERVER = 120  # MB
LONGEST_PAGE, LONGEST_CHANGE, LONGEST_CANCEL = 0.1, 0.15, 2.0  # seconds that a person waits at most
EXTRA = "visit_type"  # makes eight quasi-identifiers of seven
# Roles one after the other: seven or eight quasi-identifiers, never the policy that was there before.
_OUT, _NEW = (
    ("sex", "zip", "education", "occupation", "marital_status", "admitted", EXTRA),
    ("diagnosis", "cost"),
)
CHANGES = tuple(
    change
    for new in _NEW
    for out, role in zip(
        _OUT, ("keep", "drop", "sensitive", "drop", "keep", "drop", "sensitive"), strict=True
    )
    for change in (f"{out} {role}", f"{new} quasi_identifier", f"{new} drop", f"{out} quasi_identifier")
)


class Studio:
    """`incrowd studio` as a process, and a browser of the standard library that it let in."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [INCROWD, "studio", *arguments, "--no-browser"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        if self.process.stdout is None:
            raise OSError("no address")
        self.origin, _, link = self.process.stdout.readline().strip().partition("/open#")
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self.token = ""
        self.page = self.send("/open", link=link)

    def __enter__(self) -> Studio:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def get(self, path: str) -> str:
        return self._read(urllib.request.Request(f"{self.origin}{path}", headers=BROWSER))

    def send(self, path: str, **fields: str) -> str:
        body = urllib.parse.urlencode({"token": self.token, **fields}).encode()
        return self._read(
            urllib.request.Request(f"{self.origin}{path}", body, {**BROWSER, "origin": self.origin})
        )

    def _read(self, request: urllib.request.Request) -> str:
        with self.browser.open(request) as answer:
            page: str = answer.read().decode()
        found = re.search(r'name="token" value="([^"]+)"', page)
        self.token = found[1] if found else self.token
        return page

    def opened(self) -> Studio:
        """Wait until the table is read and its first page is there."""
        while "<h1>Reading " in self.get("/table"):
            time.sleep(0.05)
        return self

    def bench(self) -> int:
        """The process that holds the table."""
        pid = self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if "bench_process" in Path(f"/proc/{child}/cmdline").read_text():
                return int(child)
        raise LookupError("no process holds the table")

    def ended_jobs(self) -> float:
        """Processor seconds of children that have ended: jobs, as long as the table is open."""
        return sum(map(int, _stat(self.process.pid)[13:15])) / TICKS

    def wait_for_job(self, path: str) -> str:
        while "data-job=" in (page := self.get(path)):
            time.sleep(0.05)
        return page


def _stat(pid: int) -> list[str]:
    """Fields of a process, the first being its state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def seconds(pid: int) -> float:
    return sum(map(int, _stat(pid)[11:13])) / TICKS


def peak(pid: int) -> float:
    """Largest memory in MB."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(line) / 1024


# A process that was started by a large one counts as large itself: so a small one starts the command.
MEASURED = (
    "import resource, subprocess, sys\n"
    "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)\n"
)


def command(*words: str, folder: Path) -> tuple[float, float]:
    """Processor seconds and largest memory (MB) of a process that runs to its end."""
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    code, used, most = ended.stdout.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(words)} ended with {code}")
    return float(used), float(most)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def slowest(times: list[float]) -> float:
    """What 95 of 100 do not exceed."""
    return sorted(times)[min(int(0.95 * len(times)), len(times) - 1)]


def studio_figures(_kd: float) -> Iterator[Figure]:
    """All targets; without the extra nothing."""
    try:
        import starlette  # noqa: F401
    except ImportError:
        print("studio: skipped, it needs pip install 'incrowd[web]'", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _starting(folder)
        yield from _working(_table(folder / "some", ROWS))
        yield from _large(_table(folder / "many", MANY))


def _table(folder: Path, rows: int) -> Path:
    folder.mkdir()
    write_example(folder, rows=rows)
    return folder


def _starting(folder: Path) -> Iterator[Figure]:
    script = "import starlette.applications, uvicorn, jinja2"
    bare = median(command(sys.executable, "-c", script, folder=folder)[0] for _ in range(RUNS))
    first = []
    for _ in range(RUNS):
        with Studio(folder) as studio:
            first.append(seconds(studio.process.pid))
    yield Figure("studio: start to first page", "no table", median(first) / bare, "imports of the web", 3.0)
    import incrowd.studio
    from incrowd.studio.app import served_bytes

    static = Path(incrowd.studio.__path__[0], "static")
    size = sum(len(served_bytes(path)) for path in static.iterdir())
    yield Figure("studio: files of its pages", f"{size} bytes", size / ASSETS, "of 100 KB", 1.0)


def _working(folder: Path) -> Iterator[Figure]:
    size = f"n={ROWS} d=8"
    runs = [command(INCROWD, "inspect", "patients.csv", folder=folder) for _ in range(RUNS)]
    inspect = median(used for used, _ in runs), median(most for _, most in runs)
    yield Figure("studio: open a table", size, median(_openings(folder)) / inspect[0], "inspect", 1.3)
    with Studio(folder, "patients.csv") as studio:
        bench = studio.opened().bench()
        studio.send(f"/columns/{_column(folder, EXTRA)}", role="quasi_identifier")
        count = _bare_count(folder)
        cpus, waits = [], []
        for change in CHANGES:
            before = seconds(bench)
            name, role = change.split()
            waits.append(timed(partial(studio.send, f"/columns/{_column(folder, name)}", role=role)))
            cpus.append(seconds(bench) - before)
        ratio = sum(cpus) / len(cpus) / count  # the mean: one change is few ticks of the clock of a process
        yield Figure("studio: a role changes, processor", size, ratio, "bare class count", 3.0)
        yield Figure(
            "studio: a role changes, waiting (p95)", size, slowest(waits) / LONGEST_CHANGE, "of 150 ms", 1.0
        )
        yield from _publishing(studio, folder, size)
        yield Figure(
            "studio: peak of the server", size, peak(studio.process.pid) / LARGEST_SERVER, "of 120 MB", 1.0
        )
        yield Figure("studio: peak of the bench", size, peak(bench) / inspect[1], "peak of inspect", 1.5)
        yield _cancelling(studio, size)


def _openings(folder: Path) -> Iterator[float]:
    """Processor seconds of the process that holds the table, until its first page; each in a new project."""
    for number in range(RUNS):
        with Studio(folder, "patients.csv", "--project", f"opened-{number}.incrowd") as studio:
            yield seconds(studio.opened().bench())
        shutil.rmtree(folder / f"opened-{number}.incrowd")


def _column(folder: Path, name: str) -> int:
    with (folder / "patients.csv").open(encoding="utf-8") as file:
        return file.readline().strip().split(",").index(name)


def _bare_count(folder: Path) -> float:
    """Processor seconds of counting classes, of columns that are numbered already."""
    from incrowd import tables
    from incrowd.flow import distinct_rows

    table = tables.read(folder / "patients.csv")
    names = ["age", "sex", "zip", "education", "occupation", "marital_status", "admitted", EXTRA]
    columns = [table.column(name) for name in names]
    codes, sizes = [column.codes for column in columns], [len(column.texts) for column in columns]
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        distinct_rows(codes, sizes, len(table))
        times.append(time.process_time() - start)
    return median(times)


def _publishing(studio: Studio, folder: Path, size: str) -> Iterator[Figure]:
    policy = next(folder.glob("*.incrowd")) / "policy.toml"
    before = studio.ended_jobs()
    studio.send("/publish/start", name="by-page", form="csv")
    page = studio.wait_for_job("/publish")
    if "published and verified" not in page:
        raise RuntimeError("the studio did not publish")
    mine = studio.ended_jobs() - before
    theirs = command(
        INCROWD, "publish", "patients.csv", "-p", str(policy), "-o", "by-command", folder=folder
    )[0]
    shutil.rmtree(folder / "by-command")
    yield Figure("studio: publish", size, (mine - 0.5) / theirs, "publish, + 0.5 s", 1.15)


def _cancelling(studio: Studio, size: str) -> Figure:
    times = []
    for turn in range(RUNS):
        page = studio.send("/columns/costs", back="/columns")
        (job,) = set(re.findall(r'data-job="(\d+)"', page)) or {""}
        if not job:
            raise RuntimeError("nothing was running")
        time.sleep(0.3 * turn)
        start = time.perf_counter()
        studio.send(f"/jobs/{job}/cancel", back="/table")
        while "data-job=" in studio.get("/columns"):
            time.sleep(0.02)
        times.append(time.perf_counter() - start)
    return Figure("studio: cancel (p95)", size, slowest(times) / LONGEST_CANCEL, "of 2 s", 1.0)


def _large(folder: Path) -> Iterator[Figure]:
    size = f"n={MANY} d=7"
    inspect = command(INCROWD, "inspect", "patients.csv", folder=folder)
    with Studio(folder, "patients.csv") as studio:
        bench = studio.opened().bench()
        yield Figure("studio: open a table", size, seconds(bench) / inspect[0], "inspect", 1.3)
        studio.get("/table")
        wanted = [1, 2, MANY // 100, MANY // 50 - 1, MANY // 50]
        times = [timed(partial(studio.get, f"/table/rows?page={page}")) for page in wanted]
        yield Figure("studio: any page of rows", size, max(times) / LONGEST_PAGE, "of 100 ms", 1.0)
        change = f"/columns/{_column(folder, 'sex')}"
        roles = ("drop", "keep", "sensitive", "quasi_identifier")
        waits = [timed(partial(studio.send, change, role=role)) for role in roles]
        yield Figure(
            "studio: a role changes, waiting (most)", size, max(waits) / 2 / LONGEST_CHANGE, "of 300 ms", 1.0
        )
        yield Figure(
            "studio: peak of the server", size, peak(studio.process.pid) / LARGEST_SERVER, "of 120 MB", 1.0
        )
        yield Figure("studio: peak of the bench", size, peak(bench) / inspect[1], "peak of inspect", 1.5)
