"""The catalogue of attacks: what each adversary needs, and in which order they are tried.

To add an attack, write a function in a module of this package, name what it needs, and describe it in
docs/attacks.md. Whoever attacks offers a `Context`; an attack whose needs are not met does not apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby, product
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar

from incrowd.attacks.result import AttackResult
from incrowd.contracts import Watch, catalogue, register, unwatched

NEEDS: Mapping[str, str] = {
    "release": "the published rows, the people, and whose row each is as far as that is known (`Target`)",
    "records": "the same where all rows are those of one table's records (`Target`)",
    "hierarchical": "the same where some quasi-identifier has a hierarchy (`Target`)",
    "everyone": "the same with the records that were suppressed (`Target`)",
    "remade": "what the method makes of the original, run again, a row for each record (`Published`)",
    "outliers": "who is an outlier, at a setting that is promised or asked for (`OutlierHunt`)",
    "second": "another release of the same people (`Target`)",
    "shared": "the private values that both releases show (`SharedValues`)",
    "joined": "the release of people of two tables (`JoinTarget`)",
    "bucketed": "the same where sensitive values are published in buckets (`JoinTarget`)",
    "trimmed": "the same classes, people of the public table left out as printed (`JoinTarget`)",
    "classes": "the class in which each person has a row, -1 for nobody's (array)",
    "planted": "who of the public table does not exist (array)",
    "columns": "a context for each sensitive column",
    # of one sensitive column
    "values": "its value in each record and each row, and what is promised of it (`SensitiveValues`)",
    "beliefs": "what everybody's candidates say of it (`Beliefs`)",
    "beliefs_within_t": "the same where t-closeness is promised of it (`Beliefs`)",
    "control_beliefs": "what they say where all who can be mistaken for each other share a value (`Beliefs`)",
    "value_groups": "groups of exact rows, and which values each group has (`ValueGroups`)",
    "bucket_values": "the values of each bucket (`BucketValues`)",
}


class Context:
    """What adversaries may ask for by the names of `NEEDS`; each is made when first asked for, and kept."""

    def __init__(self, **makers: Callable[[], object]) -> None:
        if strange := makers.keys() - NEEDS.keys():
            raise ValueError(f"nobody needs {', '.join(sorted(strange))}")
        self._makers = makers
        self._made: dict[str, Any] = {}

    def offers(self, needs: Iterable[str]) -> bool:
        return self._makers.keys() >= {*needs}

    def get(self, need: str) -> Any:
        """None, or `NotTried` with a reason, if it is not there after all."""
        if need not in self._made:
            self._made[need] = self._makers[need]() if need in self._makers else None
        return self._made[need]


@dataclass(frozen=True, slots=True)
class NotTried:
    """Why a need cannot be met; said in a note."""

    why: str


Run = TypeVar("Run", bound=Callable[..., "AttackResult | tuple[AttackResult, ...]"])


@dataclass(frozen=True, slots=True)
class Attack:
    """An adversary: a function of what it `needs`, then of what it `uses` where that is there (else None).

    Attacks are tried by ascending `place`. One of each sensitive column is run in the context of each. One
    that is `watched` takes a `progress`.
    """

    name: str
    place: int
    needs: tuple[str, ...]
    uses: tuple[str, ...]
    each_column: bool
    watched: bool
    run: Callable[..., AttackResult | tuple[AttackResult, ...]]


def attack(
    name: str,
    place: int,
    needs: tuple[str, ...],
    uses: tuple[str, ...] = (),
    *,
    each_column: bool = False,
    watched: bool = False,
) -> Callable[[Run], Run]:
    """Enter a function into the catalogue of attacks."""
    if strange := {*needs, *uses} - NEEDS.keys():
        raise ValueError(f"{name} needs what nobody offers: {', '.join(sorted(strange))}")

    def enter(run: Run) -> Run:
        register("attack", name)(Attack(name, place, needs, uses, each_column, watched, run))
        return run

    return enter


def attacks() -> tuple[Attack, ...]:
    """Every attack, in the order in which they are tried."""
    for module in iter_modules([str(Path(__file__).parent)]):
        import_module(f"incrowd.attacks.{module.name}")
    return tuple(sorted(catalogue("attack").values(), key=lambda entered: entered.place))


def every_result(context: Context, watch: Watch = unwatched) -> Iterator[AttackResult | NotTried]:
    """The results of every attack whose needs a context meets, and why others were not tried."""
    for each_column, some in groupby(attacks(), lambda attack: attack.each_column):
        contexts = (context.get("columns") or ()) if each_column else (context,)
        for here, attack in product(contexts, list(some)):
            if here.offers(attack.needs):
                yield from _tried(attack, here, watch)


def _tried(attack: Attack, context: Context, watch: Watch) -> Iterator[AttackResult | NotTried]:
    progress = watch(f"attack: {attack.name}")
    given = [context.get(need) for need in attack.needs]
    untried = [need for need in given if isinstance(need, NotTried)]
    if untried or any(need is None for need in given):
        yield from untried
        return
    more = {"progress": progress} if attack.watched else {}
    found = attack.run(*given, *(context.get(use) for use in attack.uses), **more)
    yield from found if isinstance(found, tuple) else (found,)
