"""What every test keeps to: it asserts something, and a property never returns early.

An early return passes without a word. What a property is not about is not drawn at all, or thrown away by
`assume` or `reject`, which `support.vacuity` counts.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.parsed import parsed
from support.places import TESTS

# What fails by itself where a claim does not hold.
ASSERTING = {
    "assert",
    "raises",
    "fail",
    "warns",
    "assert_frame_equal",
    "assert_array_equal",
    "assert_allclose",
}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def called(node: ast.AST) -> str:
    """The last name of what is called or used as a decorator: given of `hypothesis.given(...)`."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def statements(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """All nodes of a function but those of functions inside it."""
    left: list[ast.AST] = [*function.body]
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            left += ast.iter_child_nodes(node)


def early_returns(tree: ast.AST) -> list[str]:
    """Where a property returns without a value."""
    return [
        f"{function.name}, line {node.lineno}"
        for function in functions(tree)
        if any(called(decorator) == "given" for decorator in function.decorator_list)
        for node in statements(function)
        if isinstance(node, ast.Return)
    ]


def said(function: ast.FunctionDef) -> set[str]:
    """What a function calls or names; `assert` if it asserts itself."""
    nodes = list(ast.walk(function))
    names = {called(node) for node in nodes if isinstance(node, ast.Call | ast.Name)}
    return names | ({"assert"} if any(isinstance(node, ast.Assert) for node in nodes) else set())


def trees() -> dict[str, ast.AST]:
    return {str(path.relative_to(TESTS)): tree for path, tree in parsed(TESTS).items()}


@pytest.mark.quick
def test_no_property_returns_early() -> None:
    found = {path: early_returns(tree) for path, tree in trees().items()}
    assert not {path: places for path, places in found.items() if places}


@pytest.mark.quick
def test_every_test_asserts_something() -> None:
    """Itself, or by a helper that does."""
    named = [(path, each.name, said(each)) for path, tree in trees().items() for each in functions(tree)]
    tests = [each for each in named if each[1].startswith("test_")]
    helpers = [(name, words) for _, name, words in named if not name.startswith("test_")]
    known = set(ASSERTING)
    while more := {name for name, words in helpers if words & known} - known:
        known |= more
    assert not [f"{path}::{name}" for path, name, words in tests if not words & known]


@pytest.mark.quick
def test_no_test_is_decided_by_a_clock() -> None:
    """A busy machine makes it fail for nothing. Count the steps, or show the speed in `./run bench`."""
    clocks = {
        "process_time",
        "perf_counter",
        "monotonic",
        "thread_time",
        "process_time_ns",
        "perf_counter_ns",
    }
    decided = [
        f"{path}::{function.name}"
        for path, tree in trees().items()
        for function in functions(tree)
        if function.name.startswith("test_")
        and clocks & {called(node) for node in ast.walk(function) if isinstance(node, ast.Call)}
    ]
    assert not decided


def test_early_returns_are_seen() -> None:
    tree = ast.parse(
        "@settings(max_examples=3)\n@given(x=integers())\ndef test_it(x):\n"
        "    if x > 1:\n        return\n    def inner(): return 1\n    assert inner()\n"
    )
    assert early_returns(tree) == ["test_it, line 5"]


VACUOUS = """
from hypothesis import assume, given, settings, strategies as st

@settings(database=None, derandomize=True)
@given(st.integers(0, 999))
def test_most_are_discarded(x):
    assume(x % 5 == 0)
    assert True

@settings(database=None, derandomize=True)
@given(st.integers(0, 999))
def test_few_are_discarded(x):
    assume(x % 5 != 0)
    assert True
"""


@pytest.mark.parametrize("workers", [0, 1])
def test_a_property_that_discards_most_examples_fails(workers: int, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(VACUOUS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "support.vacuity", f"--numprocesses={workers}", "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed" in done.stdout
    assert "test_most_are_discarded" in done.stdout
    assert "examples were discarded" in done.stdout
