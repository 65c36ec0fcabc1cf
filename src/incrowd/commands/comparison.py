"""What comparing methods gives: trials, who of them is on the frontier, and where results are kept."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import quote

import incrowd.measures  # noqa: F401  # registers the measures
from incrowd.contracts import catalogue
from incrowd.errors import InputError, unknown
from incrowd.measures.bounds import LossBound
from incrowd.reports.frontier import FrontierChart, FrontierPoint, safe_link
from incrowd.results import Result, Row

Level = int | str | None

E2 = "e2"  # the error of two-column tables, which needs more than the cells of quasi-identifiers
MEASURES = (*catalogue("measure"), E2)
AXES = {"gcp": "information loss (GCP)", E2: "people in the wrong cell (E2)"}  # the names of two of them


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a verified release is like, in numbers.

    ``risk`` is the largest probability that a row is somebody's: one by the size of the smallest class (with
    several rows a person, the largest share that one has of a class), or that of the draw. ``average`` is the
    mean of these shares over all rows; of a draw, the same as ``risk``. Sizes are persons, ``seconds``
    those of the processor, verifying included. ``loss`` has ``e2``, the error of two-column tables, unless it
    cannot be measured; ``words`` say it in sentences.
    """

    seconds: float
    rows: int
    classes: int
    smallest_class: int
    left_out: int
    risk: float
    average: float
    loss: Mapping[str, float]
    words: tuple[str, ...] = ()

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> TrialResult:
        """From what `asdict` gave; a ValueError if it is anything else."""
        if set(said) != set(cls.__slots__) or not isinstance(said["loss"], dict):
            raise ValueError("not a result")
        if not isinstance(said["words"], list) or not all(isinstance(line, str) for line in said["words"]):
            raise ValueError("not words")
        plain = [said[name] for name in cls.__slots__ if name not in ("loss", "words")]
        numbers = [*said["loss"].values(), *plain]
        if not all(type(number) in (int, float) and isfinite(number) for number in numbers):
            raise ValueError("not a number")
        measures = {*said["loss"], E2} == set(MEASURES)
        if not measures or not 0 < said["average"] <= said["risk"] <= 1:
            raise ValueError("not the numbers of a release")
        return cls(**{**said, "words": tuple(said["words"])})


@dataclass(frozen=True, slots=True)
class Trial:
    """One method with one k and l: its result, or why there is none.

    ``own`` says that this is what the policy itself asks for.
    """

    method: str
    k: int
    l: Level  # noqa: E741  the paper's letter
    result: TrialResult | None = None
    reason: str = ""
    own: bool = False

    @property
    def id(self) -> str:
        """What tells it from the others of a comparison, in signs that ids and addresses may have.

        Examples
        --------
        >>> Trial("mondrian", 5, "2.5").id
        'mondrian-k5-l2.5'
        """
        return f"{self.method}-k{self.k}" + ("" if self.l is None else f"-l{self.l}")

    @property
    def named(self) -> str:
        return f"{self.method}, k = {self.k}" + ("" if self.l is None else f", l = {self.l}")

    def sentence(self) -> str:
        """What came of it, in one line.

        Examples
        --------
        >>> Trial("ring", 5, None, reason="the table has fewer than 5 rows").sentence()
        'ring, k = 5: refused: the table has fewer than 5 rows'
        """
        if self.result is None:
            return f"{self.named}: refused: {self.reason.splitlines()[0]}"
        e2 = self.result.loss.get(E2)
        wrong = "" if e2 is None else f", e2 {e2:.1%}"
        return (
            f"{self.named}: gcp {self.result.loss['gcp']:.4f}{wrong}, {self.result.seconds:.2f} CPU seconds"
        )

    def to_dict(self, frontier: bool) -> dict[str, Any]:
        numbers = {} if self.result is None else asdict(self.result)
        said = {"id": self.id, "method": self.method, "k": self.k, "l": self.l, "policy": self.own}
        return {**said, "reason": self.reason, "frontier": frontier, **numbers}


@dataclass(frozen=True, slots=True)
class Skipped:
    """A method that does not go with what is asked, and why."""

    method: str
    l: Level  # noqa: E741
    reason: str

    def sentence(self) -> str:
        level = "" if self.l is None else f", l = {self.l}"
        return f"{self.method}{level}: skipped: {self.reason.splitlines()[0]}"


OnTrial = Callable[[Trial | Skipped], None]  # hears of each trial when it is finished


def unheard(_trial: Trial | Skipped) -> None:
    """Nobody waits for single trials."""


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """All trials of one table, in the order in which they were made.

    ``planned`` counts those that there should be; ``stopped`` says that they were interrupted. ``untried``
    are methods that nobody asked for. ``bounds`` says for each k what the GCP of no release can be below.
    """

    trials: tuple[Trial, ...]
    skipped: tuple[Skipped, ...] = ()
    untried: tuple[str, ...] = ()
    planned: int = 0
    stopped: bool = False
    notes: tuple[str, ...] = ()
    bounds: tuple[LossBound, ...] = ()

    def headline(self) -> str:
        done = self.by()
        if not done:
            return f"{len(self.trials):,} trials, none of which gave a release"
        trial, result = done[0]
        least = f"least information loss (GCP) {result.loss['gcp']:.3f} by {trial.method} with k = {trial.k}"
        closest = next((f"; best two-column tables by {t.method} with k = {t.k}" for t, _ in self.by(E2)), "")
        return f"{len(self.trials):,} trials; {least}{closest}"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        best = set(map(id, self.frontier()))
        rows = (
            (trial.method, trial.k, trial.l or "", f"{result.risk:.3f}", f"{result.loss['gcp']:.4f}", mark)
            for trial, result in self.by()
            for mark in ("yes" if id(trial) in best else "",)
        )
        return ("method", "k", "l", "risk", "GCP", "on the frontier"), rows

    def by(self, measure: str = "gcp") -> tuple[tuple[Trial, TrialResult], ...]:
        """The trials that gave a release, least loss first; of equal ones, least risk.

        Those of which the measure is not known are left out.
        """
        check_measures([measure])
        made = [(trial, trial.result) for trial in self.trials if trial.result is not None]
        done = [(trial, result) for trial, result in made if measure in result.loss]
        return tuple(sorted(done, key=lambda pair: (pair[1].loss[measure], pair[1].risk)))

    def frontier(self, measure: str = "gcp") -> tuple[Trial, ...]:
        """The trials that no other of the same l beats, least loss first.

        One beats another if it has less loss and no more risk, or less risk and no more loss.

        Examples
        --------
        >>> def tried(method: str, k: int, loss: float) -> Trial:
        ...     return Trial(method, k, None, TrialResult(0.1, 100, 9, k, 0, 1 / k, 1 / k, {"gcp": loss}))
        >>> trials = (tried("ring", 5, 0.2), tried("single", 5, 0.4), tried("single", 10, 0.3))
        >>> [(trial.method, trial.k) for trial in Comparison(trials).frontier()]
        [('ring', 5), ('single', 10)]
        """
        done, found = self.by(measure), []
        for trial, result in done:
            loss, same = result.loss[measure], [other for at, other in done if at.l == trial.l]
            at_most = [other for other in same if other.loss[measure] <= loss and other.risk <= result.risk]
            if all((other.loss[measure], other.risk) == (loss, result.risk) for other in at_most):
                found.append(trial)
        return tuple(found)

    def chart(self, measure: str = "gcp", link: str | None = None) -> FrontierChart:
        """Risk against loss, the frontier as a line for each l; needs a trial that gave a release.

        With a `link` each mark is one, and has the id of its trial; `{id}` in the link stands for that.
        """
        check_link(link)
        best, several = set(map(id, self.frontier(measure))), len({trial.l for trial in self.trials}) > 1
        found = {id(trial): result for trial, result in self.by(measure)}
        points = []
        for trial in self.trials:  # in this order, so that a method has one mark whatever the measure
            if (result := found.get(id(trial))) is None:
                continue
            level = f", l = {trial.l or 'none'}" if several else ""
            points.append(
                FrontierPoint(
                    series=trial.method,
                    loss=result.loss[measure],
                    risk=result.risk,
                    words=f"{trial.method}, k = {trial.k}{level}",
                    best=id(trial) in best,
                    group=str(trial.l or "none") if several else "",
                    own=trial.own,
                    brief=f"k = {trial.k}{level}",
                    id="" if link is None else trial.id,
                    link="" if link is None else link.replace("{id}", quote(trial.id)),
                )
            )
        label = AXES.get(measure, f"loss ({measure})")
        return FrontierChart("Risk against information loss", label, tuple(points), shares=measure == E2)

    def to_dict(self, measure: str = "gcp") -> dict[str, Any]:
        """Everything in words that JSON knows: sorted by the measure, refusals last."""
        best = set(map(id, self.frontier(measure)))
        ordered = [trial for trial, _ in self.by(measure)]
        ordered += [trial for trial in self.trials if trial not in ordered]
        return {
            "measure": measure,
            "planned": self.planned,
            "stopped": self.stopped,
            "trials": [trial.to_dict(id(trial) in best) for trial in ordered],
            "skipped": [asdict(skipped) for skipped in self.skipped],
            "untried": list(self.untried),
            "notes": list(self.notes),
            "bounds": [bound.to_dict() for bound in self.bounds],
        }


def check_measures(names: Iterable[str]) -> None:
    """Refuse measures that nobody knows."""
    strange = [name for name in names if name not in MEASURES]
    if strange:
        raise InputError(unknown("in the list of measures", strange, MEASURES))


def check_link(link: str | None) -> None:
    """Refuse addresses that run something when they are followed."""
    if link is not None and not safe_link(link):
        raise InputError("a link is an address without a scheme, or one of http and https")


def default_cache() -> Path:
    """Where results are kept unless somebody says otherwise: in the user's own cache folder."""
    said = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(said) if os.path.isabs(said) else Path("~/.cache").expanduser()
    return home / "incrowd" / "compare"


@dataclass(frozen=True)
class KeptTrials:
    """Results of earlier times: numbers, or the words of a refusal, which name columns and counts."""

    folder: Path

    def get(self, key: str) -> tuple[TrialResult | None, str] | None:
        """What is known; None if nothing is, or what is there cannot be right."""
        try:
            said = self._read(key)
            if isinstance(said["reason"], str) and said["reason"]:
                return None, said["reason"]
            return TrialResult.read(said["result"]), ""
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def put(self, key: str, result: TrialResult | None, reason: str) -> None:
        self._write(key, {"result": None if result is None else asdict(result), "reason": reason})

    def bound(self, key: str) -> float | None:
        """A lower bound that is known; None if none is, or what is there cannot be one."""
        try:
            least = self._read(key)["least"]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return least if type(least) is float and 0 <= least <= 1 else None

    def put_bound(self, key: str, least: float) -> None:
        self._write(key, {"least": least})

    def _read(self, key: str) -> Any:
        return json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))

    def _write(self, key: str, said: Mapping[str, Any]) -> None:
        """Keep it, for this user's eyes, all at once; where that cannot be, do without."""
        text = json.dumps(said)
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".", suffix=".new")  # mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                    file.write(text)
                Path(name).replace(self.folder / f"{key}.json")
            finally:
                Path(name).unlink(missing_ok=True)
