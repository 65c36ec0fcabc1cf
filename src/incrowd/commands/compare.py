"""`compare`: which method, which k; each is tried on the same table, verified and measured.

Releases are made in memory, and what is kept of them are numbers. A trial that fails takes no other with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache as once
from functools import cached_property
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from incrowd import __version__, tables
from incrowd.algorithms.base import all_methods, method
from incrowd.commands.comparison import (
    E2,
    Comparison,
    KeptTrials,
    Level,
    OnTrial,
    Skipped,
    Trial,
    TrialResult,
    unheard,
)
from incrowd.commands.publish import publish
from incrowd.encode import encode
from incrowd.errors import Exposure, IncrowdError, InputError, NotVerified, PolicyError, Refused
from incrowd.flow import Microdata, Table
from incrowd.long_work import Progress, Watch, unwatched
from incrowd.measures.bounds import CLASSES, NONE, LossBound, check_effort, loss_bound
from incrowd.measures.bounds import QUICK as QUICK_BOUND
from incrowd.models.k_anonymity import CountOfRows
from incrowd.policy import Policy, needed
from incrowd.policy.exposures import check_names
from incrowd.publishing.memory_limit import check_fits
from incrowd.publishing.pipeline import Release
from incrowd.publishing.request import requested
from incrowd.publishing.suppression import leaves_out
from incrowd.schema import Source
from incrowd.tables.checked_files import sha256_of

QUICK = ("mondrian", "mondrian-relaxed", "topdown", "lexicographic", "hilbert", "incognito", "ring")
KS = (2, 5, 10, 20)
STEP = "bounding the information loss"
TRIAL = "trial"  # each is a step of its own; shares are of all of them
WITHOUT = 0  # in the place of l: promise none, whatever the policy says
_WARM = 60  # records at least, on which a method runs once before its time is taken


def compare(
    table: object,
    policy: object,
    methods: Sequence[str] | None = None,
    k: Sequence[int] | None = None,
    l: Sequence[Level] = (None,),  # noqa: E741  the paper's letter
    *,
    accept: Sequence[str] = (),
    cache: str | Path | None = None,
    bound: str = QUICK_BOUND,
    on_trial: OnTrial = unheard,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Comparison:
    """Try methods on a table with several k and l; nothing is written but to the cache.

    Parameters
    ----------
    table : path or frame
        The table, as for `publish`.
    policy : Policy, dict or path
        Roles, kinds and everything else that is promised. Its options hold for its own method only.
    methods : sequence of str
        Names of the catalogue. Without it, quick ones (`QUICK`) and the policy's.
    k : sequence of int
        Without it, 2, 5, 10, 20 and the policy's.
    l : sequence of int, str or None
        None is what the policy says, 0 is no l.
    accept : sequence of str
        Known exposures that are accepted besides the policy's.
    cache : path
        A folder that keeps results for the next time; None keeps none.
    bound : str
        How hard to look for the least possible information loss at each k, as of `measure`.
    on_trial : callable
        Called with each `Trial` when it is finished: method, k, l and its result, or the reason why it was
        refused; and with each `Skipped` method. Those with the policy's own k come first. What it raises
        ends the comparison.
    memory : str or int, optional
        What may be used, such as "20GB"; half of the machine's memory by default. More is refused.

    Returns
    -------
    Comparison
        Interrupted (KeyboardInterrupt) after the first trial, what there is, with ``stopped`` true.

    Raises
    ------
    InputError
        A name is unknown, k or l cannot be, or table and policy do not fit whatever the method.

    Examples
    --------
    >>> table = Table.of({"age": [str(20 + i % 8) for i in range(40)], "pay": ["1", "2", "3", "4"] * 10})
    >>> policy = Policy(quasi_identifiers=["age"], sensitive=["pay"])
    >>> found = compare(table, policy, methods=["mondrian", "expc"], k=[5, 10])
    >>> [(trial.method, trial.k, result.classes, result.risk) for trial, result in found.by("gcp")]
    [('mondrian', 5, 8, 0.2), ('mondrian', 10, 4, 0.1)]
    >>> found.skipped
    (Skipped(method='expc', l=None, reason='expc protects outliers: give [privacy.plain]'),)
    """
    check_effort(bound)
    given = needed(policy)
    names = methods if methods is not None else (*QUICK, given.method)
    own = () if given.privacy.k is None else (given.privacy.k,)
    sizes = k if k is not None else sorted({*KS, *own})
    check_names(accept)
    check_fits("compare", [table], memory)
    every = (
        trial_policy(given, name, size, level, accept)
        for name in dict.fromkeys(names)
        for level in dict.fromkeys(l)
        for size in dict.fromkeys(sizes)
    )
    # None and the policy's own l are one request: made once, or two marks had one id
    requests = [*{(asked.method, asked.privacy.l, asked.k): asked for asked in every}.values()]
    bench = _Bench(table, given, None if cache is None else KeptTrials(Path(cache)))
    # First everything with the policy's own k: who waits sees soon how methods differ there.
    order = sorted(requests, key=lambda asked: asked.k != given.privacy.k)
    trials, skipped, stopped = _tried(bench, order, watch, on_trial)
    places = {(asked.method, asked.k, asked.privacy.l): place for place, asked in enumerate(requests)}
    trials.sort(key=lambda trial: places[trial.method, trial.k, trial.l])
    bounds: tuple[LossBound, ...] = ()
    if bound != NONE and not stopped:
        bounds, stopped = _bounds(bench, trials, bound, watch)
    tried = {asked.method for asked in requests}
    return Comparison(
        tuple(trials),
        tuple(dict.fromkeys(skipped)),
        tuple(name for name in all_methods() if name not in tried),
        len(requests) - len(skipped),
        stopped,
        tuple(_notes(given, {trial.method for trial in trials})),
        bounds,
    )


def _bounds(
    bench: _Bench, trials: Sequence[Trial], effort: str, watch: Watch
) -> tuple[tuple[LossBound, ...], bool]:
    """A lower bound for each k of which a method without public table and buckets gave a release.

    Whoever interrupts this keeps the trials, and the bounds so far.
    """
    spoken_of = {name for name, recipe in all_methods().items() if not (recipe.joins or recipe.buckets)}
    sizes = sorted({trial.k for trial in trials if trial.result is not None and trial.method in spoken_of})
    found: list[LossBound] = []
    try:
        for k in sizes:
            found.append(bench.bound(k, effort, watch(f"{STEP}, k = {k}")))
    except KeyboardInterrupt:
        return tuple(found), True
    return tuple(found), False


def trial_policy(
    policy: Policy,
    name: str,
    k: int,
    l: Level,  # noqa: E741
    accept: Sequence[str] = (),
) -> Policy:
    """The policy with another method, k and l; without what only other methods take."""
    recipe, parts = method(name), policy.to_dict()
    privacy = parts.get("privacy", {})
    if l == WITHOUT:
        parts["privacy"] = privacy = {
            key: said for key, said in privacy.items() if key not in ("l", "l_kind", "c")
        }
    parts.pop("series", None)  # one table is compared, as if it were published once
    if not recipe.joins:
        parts.pop("public", None)
    if not leaves_out(recipe) and "plain" not in privacy:
        privacy.pop("max_suppression", None)
    base = Policy.from_dict(parts, folder=policy.folder)
    return base.with_(method=name, accept=accept, k=k, l=l or None)


def _tried(
    bench: _Bench, requests: Sequence[Policy], watch: Watch, on_trial: OnTrial
) -> tuple[list[Trial], list[Skipped], bool]:
    """One trial after the other, up to the end or until somebody interrupts.

    A method that is skipped for every k is told of once.
    """
    trials: list[Trial] = []
    skipped: list[Skipped] = []
    try:
        for number, asked in enumerate(requests):
            progress = watch(f"{TRIAL} {number + 1} of {len(requests)}: {asked.method}, k = {asked.k}")
            progress(number / len(requests))
            made = bench.trial(asked)
            trials += [made] if isinstance(made, Trial) else []
            known = made in skipped
            skipped += [made] if isinstance(made, Skipped) else []
            if not known:
                on_trial(made)
            progress((number + 1) / len(requests))
    except KeyboardInterrupt:
        if not trials:
            raise
        return trials, skipped, True
    return trials, skipped, False


def _notes(policy: Policy, tried: set[str]) -> Iterable[str]:
    """What was left out of the policy so that a method could be tried."""
    alone = sorted(name for name in tried if not all_methods()[name].joins)
    if policy.public is not None and alone:
        yield f"without the public table, which they do not take: {', '.join(alone)}"
    few = sorted(name for name in tried if not leaves_out(all_methods()[name]))
    if policy.privacy.max_suppression is not None and policy.privacy.plain is None and few:
        yield f"these leave nobody out, so that max_suppression means nothing to them: {', '.join(few)}"


@dataclass(frozen=True)
class _Bench:
    """The table, and how methods are tried on it."""

    source: object
    policy: Policy
    kept: KeptTrials | None
    warm: set[tuple[str, bool]] = field(default_factory=set)

    @cached_property
    def table(self) -> Table:
        """Read when it is first needed; with results that are kept it never is."""
        table = self.source if isinstance(self.source, Table) else tables.read(self.source)
        self.policy.schema(table)  # what is wrong for every method is no matter of one trial
        return table

    @cached_property
    def ground(self) -> str:
        """What the results of all methods hang on: the program, the table, and files that a policy names."""
        described = (*self.policy.quasi_identifiers.values(), *self.policy.sensitive.values())
        named = [said.hierarchy for said in described if isinstance(said.hierarchy, str)]
        if self.policy.public is not None:
            named += [self.policy.public.table, self.policy.public.check or ""]
        files = [_digest_of_file(self.policy.folder / name) for name in named if name]
        return repr((_program(), self._content(), files))

    def _content(self) -> str:
        given = Source.of(self.source)
        if given is not None and given.file is not None and given.file.is_file():
            how = repr((given.encoding, given.sheet, given.sql))
            return "".join(given.file.suffixes[-2:]) + how + _digest_of_file(given.file)
        found = hashlib.sha256(repr(self.table.names).encode())
        for column in self.table.columns:
            found.update(repr(column.texts).encode())
            found.update(column.codes.tobytes())
        return found.hexdigest()

    def trial(self, asked: Policy) -> Trial | Skipped:
        """Try one request: numbers, or why there are none."""
        request = (asked.method, asked.k, asked.privacy.l)
        own = request == (self.policy.method, self.policy.privacy.k, self.policy.privacy.l)
        if reason := unfit(asked):
            return Skipped(asked.method, asked.privacy.l, reason)
        key = "" if self.kept is None else self.key(asked)
        if self.kept is not None and (known := self.kept.get(key)) is not None:
            return Trial(*request, known[0], known[1], own)
        table = self.table  # if this is wrong, everything is
        try:
            self._warm(table, asked)
            known = _result(table, asked), ""
        except NotVerified as error:
            return Trial(*request, None, str(error), own)
        except Refused as error:
            known = None, _words(error)
        except InputError as error:  # the table is read, and fits: so the method does not
            return Skipped(asked.method, asked.privacy.l, _words(error))
        except Exception as error:  # its text may quote data
            return Trial(*request, None, f"internal error ({type(error).__name__})", own)
        if self.kept is not None:
            self.kept.put(key, *known)
        return Trial(*request, known[0], known[1], own)

    def bound(self, k: int, effort: str, progress: Progress) -> LossBound:
        """What the loss of no release with this k can be below."""
        key = hashlib.sha256(f"{self.ground}\nbound {k} {effort}".encode()).hexdigest() if self.kept else ""
        if self.kept is not None and (known := self.kept.bound(key)) is not None:
            return LossBound(k, CLASSES, effort, known)
        found = loss_bound(self.data, k, effort, CLASSES, progress)
        if self.kept is not None and found.least is not None:
            self.kept.put_bound(key, found.least)
        return found

    @cached_property
    def data(self) -> Microdata:
        return encode(self.table, self.policy.schema(self.table))

    def key(self, asked: Policy) -> str:
        said = json.dumps(asked.to_dict())
        return hashlib.sha256(f"{self.ground}\n{said}".encode()).hexdigest()

    def _warm(self, table: Table, asked: Policy) -> None:
        """Compile and load what a method needs, on a few records: that is not part of its time."""
        needs = (asked.method, asked.privacy.l is None)
        if needs not in self.warm:
            self.warm.add(needs)
            few = np.arange(min(len(table), max(_WARM, 4 * asked.k)))
            with suppress(Exception):
                publish(table.take(few), asked)


def _result(table: Table, asked: Policy) -> TrialResult:
    began = process_time()
    release = publish(table, asked)
    seconds = process_time() - began
    facts, odds = release.verdict.facts, release.manifest.get("match_probability")
    drawn = None if odds is None else float(Fraction(odds["drawn"]))
    largest, average = _risks(release) if drawn is None else (drawn, drawn)
    return TrialResult(
        seconds=round(seconds, 3),
        rows=int(facts["rows"]),
        classes=int(facts["classes"]),
        smallest_class=int(facts["smallest_class"]),
        left_out=int(facts["suppressed"]),
        risk=largest,
        average=average,
        loss={name: _number(value) for name, value in release.loss().items()} | _e2(release),
        words=tuple(release.two_way.sentences()),
    )


def _e2(release: Release) -> dict[str, float]:
    error = release.two_way.error
    return {} if error is None else {E2: error}


def unfit(asked: Policy) -> str:
    """Why a method does not go with a request, as far as that can be told without the table."""
    recipe = method(asked.method)
    if recipe.joins and asked.public is None:
        return f"{asked.method} needs a public table; name one under [public]"
    if recipe.needs_plain and asked.privacy.plain is None:
        return f"{asked.method} protects outliers: give [privacy.plain]"
    try:
        promised = requested(asked).promised
    except (PolicyError, Exposure) as error:
        return _words(error)
    if asked.entity is not None:
        return next((f"entity: {each.of_persons}" for each in promised if isinstance(each, CountOfRows)), "")
    return ""


def _words(error: IncrowdError) -> str:
    if isinstance(error, Exposure):
        return f"{error.reason} (to try it all the same, accept {error.name})"
    return str(error)


def _risks(release: Release) -> tuple[float, float]:
    """The largest share of a class that is one person's, and the mean of these shares over all rows."""
    facts, draft = release.verdict.facts, release._draft
    if draft.data.entity is None:
        return 1 / int(facts["smallest_class"]), float(facts["classes"] / facts["rows"])
    classes, persons = draft.regions.of, draft.data.entity.astype(np.int64)
    pairs = np.unique(classes * (int(persons.max()) + 1) + persons, return_inverse=True)[1]
    shares = np.bincount(pairs)[pairs] / np.bincount(classes)[classes]
    return float(shares.max()), float(shares.mean())


def _number(value: Any) -> float:
    return int(value) if isinstance(value, int | np.integer) else float(value)


def _digest_of_file(path: Path) -> str:
    """What a file hashes to; nothing for one that is not there, which whoever reads it says better."""
    try:
        return sha256_of(path)
    except OSError:
        return ""


@once
def _program() -> str:
    """The version, and what all sources hash to: whoever changes a method need not think of the cache."""
    found, home = hashlib.sha256(__version__.encode()), Path(__file__).parents[1]
    for path in sorted(home.rglob("*.py")):
        found.update(f"\n{path.relative_to(home)}\n".encode())
        found.update(path.read_bytes())
    return found.hexdigest()
