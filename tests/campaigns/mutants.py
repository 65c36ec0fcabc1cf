"""Mutants of the verifier: every one that there is, in a fixed order, each known by what it changes.

A mutant changes one operator, number, truth value, call or refusal. What only words a message (the second
argument of `require`, what is raised) is left alone: it decides nothing. So are decorators and `strict` of
`zip`. `mutation_testing` runs them.
"""

from __future__ import annotations

import ast
import copy
import functools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent.parent.parent / "src" / "incrowd" / "verifier"
SURVIVORS = Path(__file__).with_name("survivors.json")

_FLIPPED: dict[type[Any], type[Any]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip
_OTHER = {"any": "all", "min": "max", "minimum": "maximum"}
_OTHER |= {there: here for here, there in _OTHER.items()}
_SILENT = {"annotation", "returns", "type_params", "decorator_list"}  # fields that decide nothing
_GUARDS = {"strict", "repr"}  # arguments that change nothing as long as the code is right

Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Mutant:
    """One change. `place` is the how-manyth node of its module, `part` the how-manyth operator in it.

    `lines` are those of its statement. Outside all functions (`function` is empty) it acts on import.
    """

    module: str
    function: str
    text: str
    change: str
    at: tuple[int, int]
    lines: tuple[int, int]
    place: int
    part: int = 0

    @property
    def id(self) -> str:
        return f"{self.module}:{self.at[0]}:{self.at[1]}: {self.change}"

    @property
    def key(self) -> Key:
        """The same as long as the line and its function are called the same, wherever they stand."""
        return self.module, self.function, self.text, self.change


@dataclass(frozen=True)
class _Place:
    """Where a node is: its function, its statement, and whether it only words a message."""

    function: str = ""
    scope: str = ""
    lines: tuple[int, int] = (0, 0)
    wording: bool = False


def module_file(module: str) -> Path:
    path = SOURCE.parent.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def every_mutant() -> tuple[Mutant, ...]:
    """Sorted by module, line, column and what is changed."""
    return tuple(mutant for path in sorted(SOURCE.rglob("*.py")) for mutant in mutants_of(path))


def mutants_of(path: Path, source: str = "") -> list[Mutant]:
    """Every mutant of a module."""
    name = ".".join(["incrowd", *path.relative_to(SOURCE.parent).with_suffix("").parts])
    name = name.removesuffix(".__init__")
    source = source or path.read_text(encoding="utf-8")
    texts = source.splitlines()
    found: list[Mutant] = []
    for number, (node, place) in enumerate(_nodes(ast.parse(source), _Place())):
        for part in range(0 if place.wording else _parts(node)):
            before, after = _changed(node, part)
            at = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
            text = texts[at[0] - 1].strip()
            change = f"{before} → {after}"
            found.append(Mutant(name, place.function, text, change, at, place.lines, number, part))
    return _told_apart(sorted(found, key=lambda mutant: (mutant.at, mutant.place, mutant.part)))


def _told_apart(mutants: list[Mutant]) -> list[Mutant]:
    """The second of several with the same key says so."""
    seen: Counter[Key] = Counter()
    found = []
    for mutant in mutants:
        seen[mutant.key] += 1
        again = seen[mutant.key]
        change = f"{mutant.change} ({again})" if again > 1 else mutant.change
        found.append(Mutant(**{**vars(mutant), "change": change}))
    return found


def _nodes(tree: ast.AST, place: _Place) -> Iterator[tuple[ast.AST, _Place]]:
    """All nodes in a fixed order; not the annotations, which do nothing."""
    for name, value in ast.iter_fields(tree):
        if name in _SILENT or (isinstance(tree, ast.keyword) and tree.arg in _GUARDS):
            continue
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST):
                inside = _inside(tree, name, index, node, place)
                yield node, inside
                yield from _nodes(node, inside)


def _inside(tree: ast.AST, name: str, index: int, node: ast.AST, place: _Place) -> _Place:
    function, scope, lines, wording = place.function, place.scope, place.lines, place.wording
    if isinstance(tree, ast.FunctionDef | ast.ClassDef | ast.Lambda) and name == "body":
        own = getattr(tree, "name", "<lambda>")
        scope = f"{scope}.{own}" if scope else own
        function = scope if not isinstance(tree, ast.ClassDef) else function
    if isinstance(node, ast.stmt):
        lines = _lines(node)
    if isinstance(tree, ast.Raise):
        wording = True
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "require":
        wording = wording or (name == "args" and index == 1)
    return _Place(function, scope, lines, wording)


def _lines(statement: ast.stmt) -> tuple[int, int]:
    """The lines of a statement without what it holds: of an `if` those of its condition."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return statement.lineno, max(last, statement.lineno)


def _parts(node: ast.AST) -> int:
    """In how many ways a node is changed."""
    if isinstance(node, ast.Compare):
        return len(node.ops)
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        return int(type(node.op) in _FLIPPED)
    if isinstance(node, ast.UnaryOp):
        return int(isinstance(node.op, ast.Not | ast.Invert))
    if isinstance(node, ast.Constant):
        return int(isinstance(node.value, int))
    if isinstance(node, ast.Call):
        return int(_called(node) in _OTHER)
    return int(
        isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    )


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _changed(node: Any, part: int) -> tuple[str, str]:
    """A node before and after, in one line each."""
    after = _new(copy.deepcopy(node), part)
    return tuple(" ".join(ast.unparse(each).split())[:100] for each in (node, after))  # type: ignore[return-value]


def _new(node: Any, part: int) -> ast.AST:
    """What stands in the place of a node; the node may be changed in itself."""
    if isinstance(node, ast.Compare):
        node.ops[part] = _FLIPPED[type(node.ops[part])]()
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        node.op = _FLIPPED[type(node.op)]()
    elif isinstance(node, ast.UnaryOp):
        return node.operand
    elif isinstance(node, ast.Constant):
        number: Any = node.value
        node.value = not number if isinstance(number, bool) else number + 1
    elif isinstance(node, ast.Call):
        where = "id" if isinstance(node.func, ast.Name) else "attr"
        setattr(node.func, where, _OTHER[_called(node)])
    else:
        return ast.copy_location(ast.Pass(), node)
    changed: ast.AST = node
    return changed


class _Replacer(ast.NodeTransformer):
    def __init__(self, target: ast.AST, part: int) -> None:
        self.target, self.part = target, part

    def visit(self, node: ast.AST) -> Any:
        return _new(node, self.part) if node is self.target else self.generic_visit(node)


def mutated(mutant: Mutant, source: str) -> ast.Module:
    """The tree of a module with the change in it."""
    tree = ast.parse(source)
    node = next(node for number, (node, _) in enumerate(_nodes(tree, _Place())) if number == mutant.place)
    changed: ast.Module = _Replacer(node, mutant.part).visit(tree)
    return ast.fix_missing_locations(changed)


def explained(path: Path = SURVIVORS) -> dict[Key, str]:
    """Why each survivor of `survivors.json` survives."""
    listed = json.loads(path.read_text(encoding="utf-8"))
    found = {(e["module"], e["function"], e["line"], e["change"]): e["reason"] for e in listed}
    if len(found) < len(listed):
        raise ValueError(f"{path.name} explains a mutant twice")
    return found
