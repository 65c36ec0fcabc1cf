"""Mutants of the verifier: one operator, number or refusal changed. The forgeries must notice every one.

A mutant lives in a forked process, where its module is compiled from the changed tree. It is killed if a good
release is rejected, a forgery is accepted, or it breaks off. One that survives needs a reason in
``survivors.json``: no unexplained survivor is the bar, since some changes mean the same.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import itertools
import json
import os
import random
import resource
import secrets
import shutil
import sys
import tempfile
from collections import ChainMap, Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from campaigns.campaign import Campaign, Fault

TESTS = Path(__file__).parent.parent
SOURCE = TESTS.parent / "src" / "incrowd" / "verifier"
EXPLAINED = Path(__file__).with_name("survivors.json")
SECONDS = 180  # of processor time for a mutant that never ends; it counts as noticed
BATTERY = ("forgery", "forgeries", "good", "accepted", "rejected", "refused")

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change of one node: the how-manyth node of its module, and words by which a person finds it."""

    module: str
    place: int
    how: str
    where: str
    code: str
    twin: int = 0

    @property
    def id(self) -> str:
        """The same as long as the function says the same, wherever it stands in its file."""
        again = f" ({self.twin + 1})" if self.twin else ""
        return f"{self.module} {self.where}: {self.how}: {self.code}{again}"


def mutants_of(path: Path) -> list[Mutant]:
    """Every mutant of a module."""
    name = ".".join(["incrowd", *path.relative_to(SOURCE.parent).with_suffix("").parts])
    name = name.removesuffix(".__init__")
    found: list[Mutant] = []
    seen: Counter[tuple[str, str, str]] = Counter()
    for place, (node, where) in enumerate(_nodes(ast.parse(path.read_text(encoding="utf-8")))):
        how = _change(node)
        if how:
            code = " ".join(ast.unparse(node).split())[:100]
            found.append(Mutant(name, place, how, where, code, seen[where, how, code]))
            seen[where, how, code] += 1
    return found


def _nodes(tree: ast.AST, where: str = "module") -> Iterator[tuple[ast.AST, str]]:
    """All nodes in a fixed order with the function they are in; not the annotations, which do nothing."""
    for _name, value in ast.iter_fields(tree):
        if _name in ("annotation", "returns", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST):
                inside = where
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    inside = node.name if where == "module" else f"{where}.{node.name}"
                yield node, inside
                yield from _nodes(node, inside)


def _change(node: ast.AST) -> str:
    """How a node is changed; empty if it is left alone."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _FLIPPED:
        return "comparison flipped"
    if isinstance(node, ast.BoolOp):
        return "and for or"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return "not removed"
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return "number off by one"
    if isinstance(node, ast.Raise):
        return "refusal removed"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "call removed"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return "plus for minus"
    return ""


def _apply(node: Any) -> None:
    if isinstance(node, ast.Compare):
        node.ops[0] = _FLIPPED[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Constant):
        node.value = int(str(node.value)) + 1
    elif isinstance(node, ast.BinOp):
        node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()


class _Replacer(ast.NodeTransformer):
    """Puts another node in the place of one that cannot be changed in itself."""

    def __init__(self, target: ast.AST) -> None:
        self.target = target

    def visit(self, node: ast.AST) -> Any:
        if node is not self.target:
            return self.generic_visit(node)
        return node.operand if isinstance(node, ast.UnaryOp) else ast.copy_location(ast.Pass(), node)


def mutated(mutant: Mutant, source: str) -> ast.Module:
    """The tree of a module with the change in it."""
    tree = ast.parse(source)
    node = next(node for place, (node, _) in enumerate(_nodes(tree)) if place == mutant.place)
    if isinstance(node, ast.Raise | ast.Expr | ast.UnaryOp):
        tree = _Replacer(node).visit(tree)
    else:
        _apply(node)
    return ast.fix_missing_locations(tree)


@functools.cache
def every_mutant() -> tuple[Mutant, ...]:
    return tuple(mutant for path in sorted(SOURCE.rglob("*.py")) for mutant in mutants_of(path))


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from its changed tree."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.mutant.module:
            return None
        path = SOURCE.parent.joinpath(*name.split(".")[1:])
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        return importlib.util.spec_from_file_location(
            name, file, loader=self, submodule_search_locations=[str(path)] if path.is_dir() else None
        )

    def exec_module(self, module: ModuleType) -> None:
        file = str(module.__file__)
        tree = mutated(self.mutant, Path(file).read_text(encoding="utf-8"))
        exec(compile(tree, file, "exec"), vars(module))


def survives(mutant: Mutant) -> bool:
    """Run the forgeries against it in a process of its own."""
    child = os.fork()
    if child == 0:
        _live(mutant)
    status = os.waitpid(child, 0)[1]
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def _live(mutant: Mutant) -> NoReturn:
    code = 1
    try:
        sys.setprofile(None)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        for name in [name for name in sys.modules if name.startswith(("incrowd", "forgeries", "support"))]:
            del sys.modules[name]
        sys.meta_path.insert(0, Finder(mutant))
        with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
            for test, words in battery(mutant.module):
                place = Path(folder, secrets.token_hex(4))
                place.mkdir()
                test(**words, **({"tmp_path": place} if "tmp_path" in _names(test) else {}))
                shutil.rmtree(place)
        code = 0
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def battery(module: str) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """The tests of the verifier that look at whole releases, those of the mutant's own family first.

    They are called as plain functions: a runner of tests would take three times as long.
    """
    family = module.rsplit(".", 1)[-1].split("_")[0]
    paths = sorted(TESTS.joinpath("verifier").glob("test_*.py"), key=lambda path: family not in path.name)
    for path in paths:
        for name, test in vars(_loaded(path)).items():
            if name.startswith("test_") and any(word in name for word in BATTERY):
                yield from ((test, words) for words in _parameters(test))


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"battery_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _names(test: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(test).parameters)


def _parameters(test: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """What `parametrize` would call it with; nothing if it needs more than a folder, or draws examples."""
    chosen: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names = (
                [name.strip() for name in mark.args[0].split(",")]
                if isinstance(mark.args[0], str)
                else mark.args[0]
            )
            chosen.append([_named(names, value) for value in mark.args[1]])
    every = [dict(ChainMap(*each)) for each in itertools.product(*chosen)]
    if not hasattr(test, "hypothesis") and every and set(every[0]) | {"tmp_path"} >= _names(test):
        yield from every


def _named(names: Sequence[str], value: Any) -> dict[str, Any]:
    values = getattr(value, "values", None)
    if not isinstance(values, tuple):
        values = (value,) if len(names) == 1 else value
    return dict(zip(names, values, strict=True))


def explained() -> dict[str, str]:
    with contextlib.suppress(FileNotFoundError):
        found: dict[str, str] = json.loads(EXPLAINED.read_text(encoding="utf-8"))
        return found
    return {}


def case(rng: random.Random, _: Path) -> str:
    mutant = rng.choice(every_mutant())
    if not survives(mutant):
        return "noticed"
    if mutant.id in explained():
        return "survives, explained"
    raise Fault("mutant survives", mutant.id)


MUTANTS = Campaign("mutants of the verifier", "no unexplained survivor", case, nightly=3_000, in_ci=4)
