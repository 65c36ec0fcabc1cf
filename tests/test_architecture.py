"""Fences: which part may know of which, and what no part may do."""

from __future__ import annotations

import ast
import json
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest
from support.parsed import parsed

import incrowd
from incrowd.studio import questions

pytestmark = pytest.mark.quick
ROOT = Path(incrowd.__file__).parent
STAGES = ("tables", "encode", "generalize", "assign")

# Seven floors, from the ground up. A part may import what is on a lower floor, never on its own or a higher
# one: so stages do not know each other, and the verifier does not know what it verifies. Only on the ground,
# where the words are, and at the top, where people come in, a part may also import what stands before it.
FLOORS: tuple[tuple[str, ...], ...] = (
    (
        *(
            "errors",
            "system",
            "results",
            "schema",
            "values",
            "cells",
            "hierarchy",
            "flow",
            "long_work",
            "contracts",
            "predicate",
        ),
        *("kernels", "examples"),
    ),
    ("policy", *STAGES, "distance_outliers", "cohorts", "verifier", "measures"),
    ("models", "join", "graph", "algorithms", "reports"),
    ("attacks", "release", "engines"),
    ("publishing", "queries"),
    ("commands", "reproduce"),
    ("studio", "cli"),
)
LEVEL = {part: level for level, parts in enumerate(FLOORS) for part in parts}
# Narrower than their floor: all that these parts may see of incrowd.
SEES = {
    "verifier": {"errors", "schema"},
    "kernels": set[str](),
    "examples": set[str](),
    "graph": {
        "errors",
        "schema",
        "hierarchy",
        "flow",
        "contracts",
        "long_work",
        "kernels",
        "measures",
    },
    "attacks": {
        *("errors", "schema", "hierarchy", "flow", "contracts", "long_work", "kernels"),
        *("distance_outliers", "measures", "graph"),
    },
    "reports": {"errors", "schema", "values", "cells", "hierarchy", "flow", "measures"},
}
# Heavy libraries, and the parts that may open each: one, but for the verifier, which shares no door.
DOORS = {
    "numba": {"kernels"},
    "scipy": {"kernels", "verifier"},
    "duckdb": {"tables", "engines"},
    "narwhals": {"tables"},
    "polars": {"tables"},
    "pandas": {"tables"},
    "pyarrow": {"tables"},
    "openpyxl": {"tables"},
    "python_calamine": {"tables"},
    "pyreadstat": {"tables"},
    "psycopg": {"tables", "engines"},
    "pydantic": {"policy"},
    "pydantic_core": {"policy"},
    "typer": {"cli"},
    "sqlglot": {"predicate", "engines"},
    "pyspark": {"engines"},
    "py4j": {"engines"},
    "sklearn": {"commands"},
    "threadpoolctl": {"commands"},
    "click": {"cli"},
    "rich": {"cli"},
    "jinja2": {"reports", "studio"},
    "markupsafe": {"reports", "studio"},
    "starlette": {"studio"},
    "uvicorn": {"studio"},
}
# Where chance comes from, and who may draw.
DRAWS = {
    "random": {"examples", "reproduce"},
    "secrets": {"release", "studio"},
    "os.urandom": {"assign"},
    "numpy.random": set[str](),
    "np.random": set[str](),
    "uuid": set[str](),
}
UNSAFE = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "eval", "exec", "compile"}
LONGEST_FILE = 450
HEAVY = (
    *("numba", "scipy", "duckdb", "pandas", "polars", "pyarrow", "narwhals", "jinja2", "sqlglot"),
    *("sklearn", "openpyxl", "python_calamine", "pyreadstat", "psycopg", "pyspark", "starlette", "uvicorn"),
)


def module_of(path: Path) -> str:
    parts = ("incrowd", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def trees() -> dict[str, ast.Module]:
    """All modules, parsed once and not before a test asks."""
    return {module_of(path): tree for path, tree in parsed(ROOT).items()}


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """What fences ask about a module: few of its nodes, found once for all fences."""
    kinds = (ast.Import, ast.ImportFrom, ast.Name, ast.Attribute, ast.Call, ast.Assert)
    return tuple(node for node in ast.walk(tree) if isinstance(node, kinds))


def offenders(fence: Callable[[str, ast.AST], list[str]]) -> dict[str, list[str]]:
    """What a fence finds, by module. A test for each module would take longer than all fences."""
    found = {module: fence(module, tree) for module, tree in trees().items() if module != "incrowd"}
    return {module: names for module, names in found.items() if names}


def part_of(module: str) -> str:
    """The part that a module belongs to: its first name below incrowd, or incrowd itself."""
    return module.split(".")[1] if "." in module else module


def imports(tree: ast.AST) -> Iterator[str]:
    """Every name that is imported anywhere in a module, also inside functions, in full."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(tree: ast.AST) -> set[str]:
    """The modules of incrowd that a module imports. The version is everybody's to read."""
    named = {name for name in imports(tree) if name.split(".")[0] == "incrowd"} - {"incrowd.__version__"}
    return {name if name in trees() else name.rpartition(".")[0] for name in named}


def uses(tree: ast.AST) -> set[str]:
    """Names called or looked up that matter to the fences: plain, or as `module.name`."""
    plain = {node.id for node in nodes(tree) if isinstance(node, ast.Name)}
    dotted = {
        f"{node.value.id}.{node.attr}"
        for node in nodes(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return plain | dotted


def _below(here: str) -> set[str]:
    """What one may import: parts on lower floors; on the ground and at the top also those before it."""
    own_floor = next((floor for floor in (FLOORS[0], FLOORS[-1]) if here in floor), ())
    before = set(own_floor[: own_floor.index(here)]) if own_floor else set[str]()
    return before | {part for part in LEVEL if LEVEL[part] < LEVEL[here]}


def climbs(module: str, tree: ast.AST) -> list[str]:
    """What a module imports although it may not."""
    here = part_of(module)
    theres = {part_of(name) for name in own(tree)} - {here}
    low_enough = SEES.get(here, _below(here))
    return sorted(theres - low_enough)


def strange_doors(module: str, tree: ast.AST) -> list[str]:
    libraries = {name.split(".")[0] for name in imports(tree)}
    return sorted(name for name in libraries & set(DOORS) if part_of(module) not in DOORS[name])


def strange_draws(module: str, tree: ast.AST) -> list[str]:
    """Sources of chance that a module touches although they are not its own."""
    touched = {*imports(tree), *uses(tree)}
    first = {name.split(".")[0] for name in imports(tree)}
    found = {source for source in DRAWS if source in touched or source in first}
    found |= {source for source in DRAWS for name in touched if name.startswith(f"{source}.")}
    return sorted(source for source in found if part_of(module) not in DRAWS[source])


def unsafe(tree: ast.AST) -> list[str]:
    called = {
        node.func.id for node in nodes(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return sorted(UNSAFE & (called | {name.split(".")[0] for name in imports(tree)}))


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return list(found.args[1])
    return []


def test_there_are_at_most_seven_floors() -> None:
    assert len(FLOORS) <= 7


def test_every_part_has_a_level() -> None:
    assert {part_of(module) for module in trees()} - {"incrowd"} <= set(LEVEL)


def test_imports_go_down_only() -> None:
    assert not offenders(climbs), "these must not import what they do"


def test_no_import_cycles() -> None:
    assert not cycle({name: own(tree) - {name} for name, tree in trees().items() if name != "incrowd"})


def test_the_package_itself_imports_nothing_of_its_own() -> None:
    """Names are loaded when asked for; what type checkers read costs nothing."""
    at_once = [node for node in trees()["incrowd"].body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert not own(ast.Module(list(at_once), []))


def test_each_heavy_library_has_one_door() -> None:
    assert not offenders(strange_doors)


def test_chance_comes_from_where_it_may() -> None:
    assert not offenders(strange_draws)


def test_nothing_runs_text_or_loads_objects() -> None:
    assert not offenders(lambda _, tree: unsafe(tree))


def test_every_module_is_looked_at() -> None:
    """A fence that all modules stand outside of finds all of them."""
    everywhere = offenders(lambda module, _: [module])
    assert set(everywhere) == {module_of(path) for path in ROOT.rglob("*.py")} - {"incrowd"}
    assert {"incrowd.verifier.checks", "incrowd.kernels.jit", "incrowd.cli.app"} <= set(everywhere)


def test_measures_multiply_matrices_in_one_place() -> None:
    """A product that numpy shares out to threads of its own takes processors from what runs beside it."""

    def multiplies(node: ast.AST) -> bool:
        return isinstance(node, ast.MatMult) or (isinstance(node, ast.Attribute) and node.attr == "dot")

    found = {module for module, tree in trees().items() if any(map(multiplies, ast.walk(tree)))}
    assert "incrowd.measures.products" in found
    assert {module for module in found if part_of(module) == "measures"} == {"incrowd.measures.products"}


def test_the_verifier_needs_the_standard_library_numpy_and_scipy_only() -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "scipy", "incrowd"}
    for module, tree in trees().items():
        if part_of(module) == "verifier":
            assert {name.split(".")[0] for name in imports(tree)} <= allowed, module


def test_the_verifier_does_not_assert() -> None:
    """`python -O` would leave assertions out."""
    for module, tree in trees().items():
        if part_of(module) == "verifier":
            assert not [node for node in nodes(tree) if isinstance(node, ast.Assert)], module


def test_few_names_serve_two_classes() -> None:
    """The verifier has nouns of its own, and may call them as the publisher does: they count all the same."""
    homes: dict[str, list[str]] = {}
    for module, tree in trees().items():
        for node in nodes(tree):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module)
    shared = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert len(shared) < 20, shared


def test_files_have_a_subject_and_an_end() -> None:
    for path in ROOT.rglob("*.py"):
        assert path.name not in ("utils.py", "core.py", "helpers.py", "common.py"), path.name
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGEST_FILE, f"{path.relative_to(ROOT)} has {lines} lines"


LOADED = "import sys, json; print(json.dumps([m for m in sys.argv[1:] if m in sys.modules]), file=sys.stderr)"
HELP = (
    "import sys, json; wanted, sys.argv[1:] = sys.argv[1:], ['--help']; from incrowd.cli import main\n"
    "try: main()\n"
    "except SystemExit: pass\n"
    "print(json.dumps([m for m in wanted if m in sys.modules]), file=sys.stderr)"
)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(f"import incrowd; {LOADED}", id="import incrowd"),
        pytest.param(f"import incrowd.cli; {LOADED}", id="import incrowd.cli"),
        pytest.param(HELP, id="incrowd --help"),
    ],
)
def test_looking_costs_nothing_heavy(script: str) -> None:
    ran = subprocess.run([sys.executable, "-c", script, *HEAVY, "sys"], capture_output=True, text=True)
    assert json.loads(ran.stderr) == ["sys"]  # the probe does see what is loaded


def test_a_method_is_looked_up_without_its_loops() -> None:
    """Who asks what a method promises does not wait for numba."""
    script = f"from incrowd.algorithms.base import all_methods; assert len(all_methods()) > 10; {LOADED}"
    ran = subprocess.run(
        [sys.executable, "-c", script, "numba", "scipy", "sys"], capture_output=True, text=True
    )
    assert json.loads(ran.stderr) == ["sys"]


def test_the_process_that_talks_to_the_browser_holds_no_data() -> None:
    """Neither tables nor numbers are loaded there: the bench has them."""
    script = f"import incrowd.studio.server; {LOADED}"
    heavy = ("numpy", "pydantic", "numba", "duckdb", "incrowd.flow", "incrowd.tables", "sys")
    ran = subprocess.run([sys.executable, "-c", script, *heavy], capture_output=True, text=True)
    assert json.loads(ran.stderr) == ["sys"]


def test_a_question_of_the_studio_imports_its_own_module_alone() -> None:
    """Of every module of questions, all that it lists is found, and with it no other module."""
    names = [module.name for module in pkgutil.iter_modules(questions.__path__)]
    listed = {
        asked: function
        for name in names
        for asked, function in getattr(import_module(f"{questions.__name__}.{name}"), "QUESTIONS", {}).items()
    }
    assert len(listed) > 30
    assert {asked: questions.question(asked) for asked in listed} == listed
    with pytest.raises(KeyError):
        questions.question("no such question")
    script = (
        "import sys; from incrowd.studio.questions import question; question('columns')\n"
        "print(*(m for m in sys.modules if m.startswith('incrowd.studio.questions.')))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert set(loaded.split()) == {f"{questions.__name__}.{name}" for name in ("rows", "open_table")}


def test_nothing_but_its_command_imports_the_studio() -> None:
    importers = {
        module for module, tree in trees().items() if any("incrowd.studio" in name for name in own(tree))
    }
    assert {module for module in importers if part_of(module) != "studio"} == {"incrowd.cli.studio"}


PLANTED = {
    "a stage in a stage": (climbs, "incrowd.encode", "from incrowd.tables.checked_files import chosen"),
    "a stage in the verifier": (
        climbs,
        "incrowd.verifier.cells",
        "def f():\n    from incrowd.tables import read",
    ),
    "a helper in the verifier": (climbs, "incrowd.verifier.cells", "from incrowd import values"),
    "the pipeline in a model": (climbs, "incrowd.models.k_anonymity", "import incrowd.publishing.pipeline"),
    "numba in a stage": (strange_doors, "incrowd.algorithms.partitions.mondrian", "import numba as nb"),
    "duckdb in the command line": (strange_doors, "incrowd.cli.demo", "def f():\n    from duckdb import x"),
    "random in a stage": (strange_draws, "incrowd.assign", "from random import shuffle"),
    "numpy's chance": (strange_draws, "incrowd.assign", "import numpy as np\nnp.random.default_rng(7)"),
    "numpy's chance by name": (strange_draws, "incrowd.assign", "from numpy.random import default_rng"),
    "entropy elsewhere": (strange_draws, "incrowd.publishing.render", "import os\nos.urandom(8)"),
}


@pytest.mark.parametrize("case", PLANTED)
def test_the_fences_hold_something_back(case: str) -> None:
    fence, module, source = PLANTED[case]
    assert fence(module, ast.parse(source))


@pytest.mark.parametrize("source", ["import pickle", "from yaml import load", "eval('1')", "exec('1')"])
def test_unsafe_code_is_seen(source: str) -> None:
    assert unsafe(ast.parse(source))


def test_a_cycle_is_seen() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
