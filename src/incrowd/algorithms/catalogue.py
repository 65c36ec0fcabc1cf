"""The catalogue of methods: every algorithm that is registered in a module of this package, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from incrowd.algorithms.base import Algorithm
from incrowd.contracts import catalogue
from incrowd.errors import PolicyError, unknown

FAMILY = "algorithm"
HOME = "incrowd.algorithms"
PACKAGES = tuple(
    HOME + package for package in (".partitions", ".transparent", ".outliers", ".nonhomogeneous", "")
)  # as they are listed


def _registered() -> Iterator[tuple[str, type[Algorithm]]]:
    """Import every module, which registers its algorithms; in the order of packages and modules."""
    found = [
        f"{package}.{module.name}"
        for package in PACKAGES
        for module in iter_modules(import_module(package).__path__)
        if not module.ispkg
    ]
    for module in found:
        if module != __name__:
            import_module(module)
    place = {module: number for number, module in enumerate(found)}  # others were registered from elsewhere
    yield from sorted(catalogue(FAMILY).items(), key=lambda entry: place.get(entry[1].__module__, len(found)))


METHODS: Mapping[str, type[Algorithm]] = dict(_registered())


def method(name: str) -> type[Algorithm]:
    """Look an algorithm up by name.

    Examples
    --------
    >>> method("mondrian").section
    '2.3, Figure 2'
    """
    known: Mapping[str, type[Algorithm]] = catalogue(FAMILY)
    if name not in known:
        raise PolicyError(unknown("in the catalogue", [name], list(METHODS)))
    return known[name]
