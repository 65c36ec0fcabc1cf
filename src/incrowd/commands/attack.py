"""`attack`: what each adversary gets out of a written release, and whether that is more than was promised."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from incrowd.attacks.outlier_density import AskedDensity
from incrowd.attacks.outliers import asked_setting
from incrowd.attacks.registry import (
    AttackResult,
    Context,
    NotTried,
    Outcome,
    planned_attacks,
)
from incrowd.commands.attack_context import OneTable, TwoTables
from incrowd.errors import InputError, option
from incrowd.long_work import Watch, part_of, unwatched
from incrowd.policy import Policy
from incrowd.publishing.memory_limit import check_fits
from incrowd.release.audit import SCHEMA
from incrowd.release.folder import ReleaseFolder
from incrowd.results import Result, Row

NO_BOUNDS = "nothing that is promised was put to the test"
VERIFY = "incrowd verify, which checks every claim without an adversary"
OnResult = Callable[[AttackResult | NotTried], None]  # hears of each result when it is there


def unheard(_result: AttackResult | NotTried) -> None:
    """Nobody waits for single results."""


@dataclass(frozen=True, repr=False)
class Attacked(Result):
    """What every adversary got out of a release. ``truth`` says how it is known who is behind which row.

    ``untried`` are attacks that could not be run, or that do not apply to what the method makes. ``stopped``
    says that somebody interrupted them: those that were not come to are ``untried``, and inconclusive.
    """

    records: int
    rows: int
    k: int | None
    method: str
    truth: str
    known: int
    results: tuple[AttackResult, ...]
    untried: tuple[NotTried, ...]
    notes: tuple[str, ...]
    stopped: bool = False

    @property
    def _each(self) -> tuple[AttackResult | NotTried, ...]:
        return *self.results, *self.untried

    def ended(self, outcome: Outcome) -> list[str]:
        """The names of the attacks that ended so."""
        return [each.name for each in self._each if each.outcome is outcome]

    @property
    def outcome(self) -> Outcome:
        """Broken if one attack is; held if at least one with a bound was run, and all of those held."""
        if self.ended(Outcome.BROKEN):
            return Outcome.BROKEN
        held, open_ = self.ended(Outcome.HELD), self.ended(Outcome.INCONCLUSIVE)
        return Outcome.HELD if held and not open_ else Outcome.INCONCLUSIVE

    @property
    def holds(self) -> bool:
        return self.outcome is Outcome.HELD

    @property
    def doubts(self) -> dict[str, tuple[str, str]]:
        """Of each inconclusive attack the reason, and what would make it conclusive."""
        found = {
            each.name: each.doubt
            for each in self._each
            if each.outcome is Outcome.INCONCLUSIVE and each.doubt is not None
        }
        tested = self.ended(Outcome.HELD) or self.ended(Outcome.BROKEN)
        return found if found or tested else {"every attack": (NO_BOUNDS, VERIFY)}

    @property
    def doubts_alike(self) -> dict[tuple[str, str], list[str]]:
        """The same the other way round: each reason with what would decide it, and all whom it concerns."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, doubt in self.doubts.items():
            found.setdefault(doubt, []).append(name)
        return found

    def headline(self) -> str:
        kinds = (Outcome.HELD, Outcome.BROKEN, Outcome.INCONCLUSIVE)
        held, broken, open_ = (len(self.ended(outcome)) for outcome in kinds)
        attacks = "attack" if held == 1 else "attacks"
        return f"{self.outcome.upper()}: {held} {attacks} held, {broken} broke, {open_} inconclusive"

    def overview(self) -> tuple[Row, Iterable[Row]]:
        rows = []
        for result in self.results:
            rates = f"{result.attack.share:.1%}", f"{result.guess.share:.1%}"
            bound = "" if result.bound is None else f"{float(result.bound):.1%}"
            rows.append((result.name, result.adversary, *rates, bound, str(result.outcome)))
        return ("attack", "adversary", "success", "guess", "bound", "outcome"), rows

    def to_dict(self) -> dict[str, Any]:
        lists = ("results", "untried", "notes")
        return {
            **{name: value for name, value in vars(self).items() if name not in lists},
            "outcome": str(self.outcome),
            "holds": self.holds,
            "inconclusive": {
                name: {"reason": reason, "remedy": remedy} for name, (reason, remedy) in self.doubts.items()
            },
            "attacks": [result.to_dict() for result in self.results],
            "untried": [each.to_dict() for each in self.untried],
            "notes": list(self.notes),
        }


def attack(
    release: object,
    original: object = None,
    policy: object = None,
    *,
    also: object = None,
    outliers: str | None = None,
    public: object = None,
    planted: object = None,
    on_result: OnResult = unheard,
    stoppable: bool = False,
    memory: str | int | None = None,
    watch: Watch = unwatched,
) -> Attacked:
    """Run every attack on a release.

    Who is behind which row comes from the audit beside the release, where it was kept; else from private
    values that only one record and one row have.

    Parameters
    ----------
    release : path or ReleaseFolder
        The folder of the release that is attacked.
    original : path or frame
        The table that it was made from; it tells whether an adversary is right.
    policy : Policy, dict or path, optional
        Roles and hierarchies; without it those of the audit beside the release.
    also : path or ReleaseFolder, or a list of these, optional
        Other releases of the same people: what all of them disclose together.
    outliers : str, optional
        ``p,d``: try to distinguish outliers there, also if nothing is promised about them; ``p,d,age+cost``
        measures distance over these columns alone. ``lof:m,factor``: outliers by density instead, those
        whose local outlier factor with m neighbours is larger.
    public : path or frame, optional
        The public table that was joined, in the place of the one that the policy names.
    planted : path or frame, optional
        People of the public table who do not exist, by the ids in its first column.
    on_result : callable
        Called with each result when it is there, and with each `NotTried`. What it raises ends the attacks.
    stoppable : bool
        Interrupted (KeyboardInterrupt) after the first result, return what there is, with ``stopped`` true:
        it is then never held. Otherwise the interrupt goes on to the caller.
    memory : str or int, optional
        What may be used, such as "20GB"; half of the machine's memory by default. More is refused.
    """
    asked = Policy.of(policy)
    folder = ReleaseFolder.open(release, original, asked, public)
    others = list(also) if isinstance(also, list | tuple) else [also]
    check_fits("attack", [folder, folder.source, folder.public_source, *others], memory)
    watch("read")
    _ = folder.original  # a table that is not there is missed before anything else
    watch("match")
    attacked = _of_two_tables if folder.joined else _of_one_table
    subject: OneTable | TwoTables = attacked(folder, planted, outliers, also)
    found, stopped = _every_result(subject.context, on_result, stoppable, watch)
    untried = tuple(each for each in found if isinstance(each, NotTried))
    results = tuple(each for each in found if isinstance(each, AttackResult))
    sizes, k, method = (len(folder.original), len(folder.rows)), subject.target.k, str(folder.method["name"])
    known = subject.target.known.size
    return Attacked(*sizes, k, method, subject.source, known, results, untried, subject.notes, stopped)


def _every_result(
    context: Context, on_result: OnResult, stoppable: bool, watch: Watch
) -> tuple[list[AttackResult | NotTried], bool]:
    """One attack after the other; of those that an interrupt leaves over, that they were not tried."""
    found: list[AttackResult | NotTried] = []
    done = 0
    planned = list(planned_attacks(context))
    try:
        for number, each in enumerate(planned):
            progress = watch(f"attack {number + 1} of {len(planned)}: {each.name}")
            progress(number / len(planned))
            for result in each.run(part_of(progress, number / len(planned), 1 / len(planned))):
                on_result(result)
                found.append(result)
            done = number + 1
    except KeyboardInterrupt:
        if not (stoppable and found):
            raise
        return [*found, *(each.stopped() for each in planned[done:])], True
    return found, False


def _of_one_table(folder: ReleaseFolder, planted: object, outliers: str | None, also: object) -> OneTable:
    if folder.public_source is not None or planted is not None:
        raise InputError(
            f"{folder.path} was made without a public table; leave out {option('public')} and "
            f"{option('planted')}"
        )
    given = also if isinstance(also, list | tuple) else [] if also is None else [also]
    others = [_other(folder, each) for each in given]
    asked = None if outliers is None else AskedDensity.of(outliers) or asked_setting(outliers)
    return OneTable(folder, asked, others)


def _of_two_tables(folder: ReleaseFolder, planted: object, outliers: str | None, also: object) -> TwoTables:
    if outliers is not None:
        raise InputError(
            f"{folder.path} was made with a public table, whose people have no sensitive values; "
            f"leave out {option('outliers')}"
        )
    if also:
        raise _of_other_people(folder)
    return TwoTables(folder, planted)


def _other(folder: ReleaseFolder, also: object) -> ReleaseFolder:
    """Another release, opened; its roles and hierarchies come from its own audit, else from the policy."""
    other = ReleaseFolder.open(also)
    series = [each.path for each in (folder, other) if each.in_series]
    if series:
        raise InputError(
            f"{series[0]} is of a series, whose releases are attacked together anyway, each with the table "
            f"of its day; leave out {option('also')}"
        )
    other = ReleaseFolder.open(also, folder.original)
    if other.joined:
        raise _of_other_people(other)
    if not (other.audit / SCHEMA).exists():
        other = ReleaseFolder.open(other.path, folder.original, folder.policy)
    _ = other.rows, other.schema, other.claims  # what is wrong with it is said before anything is attacked
    return other


def _of_other_people(folder: ReleaseFolder) -> InputError:
    return InputError(
        f"{folder.path} was made with a public table, so its rows are about other people, too; "
        f"leave out {option('also')}"
    )
