"""Algorithm: what every anonymization algorithm declares about itself, and the catalogue of them by name.

The pipeline asks an algorithm what it takes, what it makes and what it is known to give away; it knows no
algorithm by name and none of their options.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, fields
from functools import cache
from importlib import import_module
from importlib.abc import InspectLoader
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from incrowd.contracts import AnyLimit, Guard, Limit, Limited, Promise, Switch, catalogue, option_names
from incrowd.errors import Infeasible, PolicyError, unknown
from incrowd.flow import Microdata, Neighbourhoods, Partition
from incrowd.long_work import Progress, part_of, silent
from incrowd.policy.exposures import UNSAFE_IDENTITY, UNSAFE_MATCHES, UNSAFE_ONE_SIDED, KnownExposure

REVISITED = "Gionis, Mazza, Tassa: k-Anonymization Revisited"
NONHOMOGENEOUS = (
    "Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing"
)
EXTERNAL = "Sacharidis, Mouratidis, Papadias: k-Anonymity in the Presence of External Databases"
OUTLIERS = "Wang, Liu: Hiding Distinguished Ones into Crowd"
MULTIDIMENSIONAL = "Murthy, Srinivas: Achieving Multidimensional K-Anonymity by a Greedy Approach"

K_EQUAL_ROWS = "everyone's quasi-identifiers equal those of at least k-1 others"
OVERLAPPING_BOXES = "the smallest box, node or set over each group; boxes may overlap"
LINKER = "knows everyone's quasi-identifiers, and how the release was made"
PROMISED = ("k", "max_suppression")  # fields that are no options: the policy promises them
PACKAGES = ("partitions", "transparent", "outliers", "nonhomogeneous")  # in the order of the catalogue
SERIES_METHOD = "series algorithm"  # the family of methods for series alone, which no single table is made by
EVERY = 0.2  # seconds between two words about the progress of a compiled run


@dataclass(frozen=True)
class Algorithm(Limited, ABC):
    """Decides which records share a row, or an equivalence class of rows.

    A subclass is a frozen dataclass, registered as ``"algorithm"``. Its fields besides those in `PROMISED`
    are its options, and `limits` makes their checks, messages and help. Unless it says otherwise it makes
    equivalence classes: `group` returns a partition.

    Parameters
    ----------
    k : int
        The smallest group.
    """

    k: int
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1)}

    # For the catalogue.
    name: ClassVar[str]  # as registered
    paper: ClassVar[str]
    section: ClassVar[str]
    guarantee: ClassVar[str] = K_EQUAL_ROWS
    publishes: ClassVar[str] = OVERLAPPING_BOXES
    behind: ClassVar[str] = "each row has its own record; rows of a class are equal, and shuffled"
    adversary: ClassVar[str] = LINKER
    needs: ClassVar[str] = "nothing; hierarchies are optional"
    not_claimed: ClassVar[str] = (
        "that sensitive values stay unknown (ask for l or t), that presence is not disclosed, anything "
        "about two releases of the same people"
    )

    # For the pipeline.
    joins: ClassVar[bool] = False  # takes a public table
    needs_plain: ClassVar[bool] = False  # protects outliers: needs [privacy.plain]
    needs_l: ClassVar[bool] = False  # is there for sensitive values: k alone is refused
    suppresses: ClassVar[bool] = False  # leaves records out, up to its field max_suppression
    overlapping: ClassVar[bool] = False  # non-homogeneous: makes neighbourhoods, no equivalence classes
    buckets: ClassVar[bool] = False  # publishes sensitive values in buckets, beside the rows
    exact_rows: ClassVar[bool] = False  # rows keep their exact quasi-identifiers
    transparent: ClassVar[bool] = False  # keeps l against somebody who re-runs it, with chance of its own
    closes: ClassVar[bool] = False  # non-homogeneous, and keeps t in the rows that may be anybody's
    full_domain: ClassVar[bool] = False  # publishes every column at one level of its hierarchy
    recodes: ClassVar[bool] = False  # every column is recoded for the whole table, not class by class
    only_in_series: ClassVar[bool] = False  # is for series of releases: a table alone is refused
    timed: ClassVar[bool] = False  # what it makes depends on how long it may try
    unpublished: ClassVar[Mapping[str, Any]] = {}  # options that may name values of the table: any such value
    strict: ClassVar[bool] = True  # the order of records does not matter, and equal ones stay together

    @abstractmethod
    def group(
        self, data: Microdata, guards: tuple[Guard, ...], progress: Progress
    ) -> Partition | Neighbourhoods:
        """The groups of records: none is smaller than k, and none is vetoed by a guard, or `Infeasible`."""

    @property
    def printed(self) -> bool:
        """Is this the paper's own form?"""
        return False

    @property
    def not_in_series(self) -> str:
        """Why no series of releases can be made by this algorithm; empty if one can."""
        reasons = {
            f"{self.name} joins a public table": self.joins,
            f"rows of {self.name} overlap, and a cohort is one equivalence class": self.overlapping,
            f"{self.name} publishes values in buckets, not in rows": self.buckets,
            f"{self.name} is there for outliers, which are of one release": self.needs_plain,
            f"{self.name} draws its classes again each time": self.transparent,
            f"{self.name} recodes whole columns, so that no class can be repeated as it was": self.recodes,
            f"{self.name} leaves records out, and in a series they would wait": self.suppresses,
            f"{self.name} depends on the time that it has": self.timed,
        }
        return next((reason for reason, there in reasons.items() if there), "")

    @property
    def promises_l(self) -> bool:
        """Where l is asked for, does it hold? Else it is only sought."""
        return True

    @property
    def randomizes(self) -> bool:
        """Of non-homogeneous rows: is it drawn which record is behind which?"""
        return True

    @property
    def concealed_by(self) -> str:
        """The option that asks that rows, compared with each other, give no record away; empty if not set."""
        return ""

    @property
    def assigned_by(self) -> str:
        """Of non-homogeneous rows: how the assignment is drawn, in the words of `assign.WAYS`."""
        return "matching"

    @property
    def by_candidates(self) -> bool:
        """Of non-homogeneous rows: are sensitive values promised of the k rows that may be anybody's?"""
        return False

    @property
    def most_present_share(self) -> str | None:
        """The largest share of private people in a class, where their numbers are published; else None."""
        return None

    @property
    def least_bucket(self) -> int | None:
        """How many people of the private table a bucket has at least, where that is not k; else None."""
        return None

    def exposures(self) -> Mapping[KnownExposure, str]:
        """What this configuration is known to give away, each with its remedy."""
        return {}

    def model_of_k(self, _accept: Sequence[str]) -> str:
        """The model that k is promised in, given the exposures that were accepted."""
        return "k-anonymity"

    @classmethod
    def smallest_group(cls, k: int, _l: object) -> int:
        """How many records a group needs for a policy's k and l."""
        return k

    @classmethod
    def options(cls) -> tuple[str, ...]:
        return tuple(name for name in option_names(cls) if name not in PROMISED)

    @classmethod
    def configured(cls, k: int, options: Mapping[str, Any], max_suppression: str = "0") -> Algorithm:
        """The algorithm with its options set, as a policy gives them.

        Raises
        ------
        PolicyError
            If an option is unknown, or has a value that it cannot have.
        """
        strange = [name for name in options if name not in cls.options()]
        if strange:
            raise PolicyError(unknown(f"an option of {cls.name}", strange, cls.options()))
        promised = {"k": k, "max_suppression": max_suppression} if cls.suppresses else {"k": k}
        return cls(**promised, **options)

    def described(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """What the manifest says about it: its options as they were given, but none that names values."""
        shown = {name: options[name] for name in sorted(options) if name not in self.unpublished}
        return {
            "name": self.name,
            "options": json.loads(json.dumps(shown, default=str)),
            "paper": self.paper,
            "form": "printed" if self.printed else "hardened",
        }

    @classmethod
    def to_dict(cls) -> dict[str, Any]:
        """What the catalogue says about it."""
        defaults = {field.name: field.default for field in fields(cls) if field.name in cls.options()}
        return {
            "name": cls.name,
            "hides": cls.name,
            "publishes": cls.publishes,
            "behind": cls.behind,
            "paper": cls.paper,
            "section": cls.section,
            "guarantee": cls.guarantee,
            "adversary": cls.adversary,
            "needs": cls.needs,
            "not_claimed": cls.not_claimed,
            "options": {
                name: {
                    "default": list(default) if isinstance(default, tuple) else default,
                    "must_be": cls.limits[name].words(),
                }
                for name, default in defaults.items()
            },
        }


@dataclass(frozen=True)
class Polishable(Algorithm):
    """An algorithm whose equivalence classes may be polished.

    Parameters
    ----------
    polish : bool
        Make the classes cheaper by moving records between them. Classes may overlap then, equal records may
        part, and who is in which class depends on the order of the records where costs are equal.
    """

    _: KW_ONLY
    polish: bool = False
    limits: ClassVar[Mapping[str, AnyLimit]] = {"k": Limit(1), "polish": Switch()}

    @abstractmethod
    def classes(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        """The equivalence classes before anything is polished."""

    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Partition:
        if not self.polish:
            return self.classes(data, guards, progress)
        found = self.classes(data, guards, part_of(progress, 0, 0.5))
        from incrowd.algorithms.costs import priced
        from incrowd.algorithms.polish import polished

        table = priced(data, "lm")
        labels = polished(self.k, table, found.labels, guards, part_of(progress, 0.5, 0.5))
        return Partition(labels)


class NonHomogeneous(Algorithm):
    """Every record's row is made over a neighbourhood of its own, so that rows differ.

    What protects people is the graph of who fits which row, and a randomized assignment of rows.
    `model_kept` names the model that the algorithm keeps by itself, `one_sided` says that this model is about
    rows only, or about records only.
    """

    drawn: bool  # an option: is the assignment randomized?
    model_kept: ClassVar[str]
    one_sided: ClassVar[bool] = False
    overlapping: ClassVar[bool] = True
    strict: ClassVar[bool] = False
    publishes: ClassVar[str] = (
        "for each record the smallest box, node or set over k records, each of which has k rows"
    )
    behind: ClassVar[str] = (
        "randomized: one of k disjoint assignments; with drawn = false each row has its own record"
    )
    guarantee: ClassVar[str] = "no match of a person and a row has a probability above 1/k"
    needs: ClassVar[str] = "hierarchies for columns of more than 64 categories; no t, entity or means"
    not_claimed: ClassVar[str] = Algorithm.not_claimed.replace(" (ask for l or t)", "")

    @classmethod
    def smallest_group(cls, k: int, l: object) -> int:  # noqa: E741  the paper's letter
        """With l, neighbourhoods are made of whole tuples of l."""
        asked = cls.transparent and isinstance(l, int) and not isinstance(l, bool) and l > 0
        return -(-k // l) * l if asked and isinstance(l, int) else k

    @property
    @abstractmethod
    def regular(self) -> bool:
        """Are its neighbourhoods k-regular, so that an assignment with chance 1/k for each row exists?"""

    @abstractmethod
    def group(self, data: Microdata, guards: tuple[Guard, ...], progress: Progress) -> Neighbourhoods:
        """The neighbourhood that each record's row is made over."""

    @property
    def randomizes(self) -> bool:
        return self.drawn

    def exposures(self) -> Mapping[KnownExposure, str]:
        found = {}
        if self.one_sided:
            found[UNSAFE_ONE_SIDED] = "use kk or kfactor, which keep both sides"
        if not self.drawn:
            found[UNSAFE_IDENTITY] = "leave drawn = true"
        return found

    def model_of_k(self, accept: Sequence[str]) -> str:
        """k-factor, or `model_kept` where less was accepted."""
        less = not self.regular and (self.one_sided or UNSAFE_MATCHES.accepted(accept))
        return self.model_kept if less or not self.drawn else "k-factor"


@cache
def _modules() -> tuple[str, ...]:
    """Every module of algorithms, in the order of packages and modules."""
    home = __name__.rpartition(".")[0]
    return tuple(
        f"{package}.{module.name}"
        for package in (*(f"{home}.{name}" for name in PACKAGES), home)
        for module in iter_modules(import_module(package).__path__)
        if not module.ispkg
    )


@cache
def _places() -> Mapping[str, int]:
    """The order of the modules of methods, all of them imported: importing a module registers its own."""
    for module in _modules():
        import_module(module)
    return {module: number for number, module in enumerate(_modules())}


def all_methods() -> Mapping[str, type[Algorithm]]:
    """Every algorithm by name, by packages and modules; then those that others registered, also since."""
    place = _places()
    found = catalogue("algorithm").items()
    return dict(sorted(found, key=lambda entry: place.get(entry[1].__module__, len(place))))


def method(name: str) -> type[Algorithm]:
    """Look an algorithm up by name, be it one for series alone.

    Examples
    --------
    >>> method("mondrian").section
    '2.3, Figure 2'
    """
    if name not in catalogue("algorithm"):
        _import_naming(name)
    known = {**catalogue(SERIES_METHOD), **catalogue("algorithm")}
    found: type[Algorithm] | None = known.get(name)
    if found is None:
        raise PolicyError(unknown("in the catalogue", [name], list(all_methods())))
    return found


def _import_naming(name: str) -> None:
    """Import the modules whose source names an algorithm: all of them take as long to import as numba."""
    for module in _modules():
        spec = find_spec(module)
        source = spec.loader.get_source(module) if spec and isinstance(spec.loader, InspectLoader) else None
        if source is None or f'"{name}"' in source:
            import_module(module)


def records_by_label(labels: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """The records of each label that occurs, by rising label; below 0 is the label of those in no group."""
    order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if order.size else []


def need_enough(data: Microdata, k: int) -> None:
    """Refuse a table of fewer than k records: it has no equivalence class of k."""
    if len(data) < k:
        raise Infeasible(f"n={len(data)} < k={k}: there are too few records to hide anyone")


def check_feasible(promised: Iterable[Promise], data: Microdata) -> None:
    """Refuse a table of which no release can keep these promises."""
    if reasons := [reason for model in promised if (reason := model.infeasible(data))]:
        raise Infeasible("\n".join(reasons))


@contextmanager
def watched(progress: Progress, clock: NDArray[np.int64], rows: int) -> Iterator[None]:
    """Report ``clock[1] / rows`` to `progress` while the body runs without the interpreter's lock.

    What `progress` raises is raised here after the body, which should end soon once ``clock[0]`` is below 0.
    Of several threads each has a line of the `clock`. Where nobody watches, no thread is started for it.
    """
    if progress is silent:
        yield
        return
    over = threading.Event()
    raised: list[Exception] = []

    def tell() -> None:
        while not over.wait(EVERY) and not raised:
            try:
                progress(min(1.0, int(clock[..., 1].sum()) / max(rows, 1)))
            except Exception as problem:
                raised.append(problem)
                clock[..., 0] = -1

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
    if raised:
        raise raised[0]
    progress(1.0)
