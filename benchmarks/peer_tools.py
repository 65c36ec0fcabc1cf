"""The tools that are compared: how each is installed, and the command that runs it on a table."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent / "peer_programs"
JAR = "INCROWD_ARX"  # the folder that ARX's jar lies in
WANTED = {"anonypy": ("anonypy", "pandas<3"), "anjana": ("anjana", "pycanon")}
INCROWD = (sys.executable, "-c", "import incrowd; incrowd._command_line()")
SUPPRESSED = "0.1"  # of the records at most, where a method suppresses


@dataclass(frozen=True)
class Table:
    """A table as every tool gets it: no empty cells, so that no tool has to guess what they mean."""

    name: str
    path: Path
    columns: tuple[str, ...]
    numbers: tuple[str, ...]
    sensitive: str
    hierarchies: Path
    rows: int


@dataclass(frozen=True)
class Tool:
    """A program with its settings; `trees` if cells are labels of hierarchies, and not sets or ranges."""

    name: str
    tool: str
    method: str
    trees: bool
    ours: bool = False
    settings: tuple[str, ...] = ()
    classes: bool = True  # rows are equal within a class, so that k can be counted
    most: int | None = None  # rows of a table that it is tried on

    @property
    def shown(self) -> str:
        return f"**{self.name}**" if self.ours else self.name


def our(
    method: str, *settings: str, trees: bool = False, classes: bool = True, most: int | None = None
) -> Tool:
    name = f"incrowd `{method}`" + (", hierarchies" if trees and method != "incognito" else "")
    return Tool(name, "incrowd", method, trees, True, settings, classes, most)


TOOLS = (
    our("mondrian"),
    our("cells"),
    our("agglomerative", "--set", "distance=nc", most=200_000),
    our("ring", classes=False),
    our("kfactor", classes=False, most=200_000),
    Tool("anonypy, Mondrian", "anonypy", "mondrian", False),
    our("mondrian", trees=True),
    our("cells", trees=True),
    our("incognito", "--max-suppression", SUPPRESSED, trees=True),
    Tool("anjana, 10 % suppressed at most", "anjana", "levels", True),
    Tool("ARX, local recoding (fast)", "arx", "local", True),
    Tool("ARX, full domain, 10 % suppressed at most", "arx", "full", True),
)


# Peers ask for old versions of these: on a newer Python they would be compiled, for half an hour or in vain.
NOT_COMPILED = "numpy,pandas,scipy,scikit-learn"


class Missing(Exception):
    """A tool is not here; the sentence says why."""


def cache_folder() -> Path:
    told = os.environ.get("XDG_CACHE_HOME")
    return (Path(told) if told else Path.home() / ".cache") / "incrowd" / "peers"


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, which is made once and lies outside the checkout."""
    home = cache_folder() / "environments" / peer
    python = home / "bin" / "python"
    if (home / "ready").is_file():
        return python
    shutil.rmtree(home, ignore_errors=True)
    print(f"peers: installing {', '.join(WANTED[peer])}", file=sys.stderr)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True)
        pip = [str(python), "-m", "pip", "install", "-qq", "--only-binary", NOT_COMPILED]
        subprocess.run([*pip, *WANTED[peer]], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        here = ".".join(platform.python_version_tuple()[:2])
        raise Missing(f"pip could not install {peer} for Python {here}; an older one may do") from None
    (home / "ready").touch()
    return python


def version_of(tool: str) -> str:
    """The version that was measured."""
    if tool == "incrowd":
        from incrowd import __version__

        return f"incrowd {__version__}"
    if tool == "arx":
        return jar().stem
    script = f"import importlib.metadata as m; print(m.version({tool!r}))"
    done = subprocess.run([python_of(tool), "-c", script], check=True, capture_output=True, text=True)
    return f"{tool} {done.stdout.strip()}"


def jar() -> Path:
    """ARX's jar, from the folder that the environment names."""
    folder = os.environ.get(JAR, "")
    found = sorted(Path(folder).glob("*arx*.jar")) if folder else []
    if not found:
        raise Missing(f"no jar of ARX: {JAR} names the folder of one")
    if shutil.which("java") is None:
        raise Missing("no Java")
    return found[-1]


def command(tool: Tool, table: Table, k: int, work: Path) -> tuple[list[str], Path]:
    """What is run, and the file that it writes."""
    output = work / "output.csv"
    given = [str(table.path), str(k), str(output)]
    if tool.ours:
        policy = work / "policy.toml"
        policy.write_text(policy_text(tool, table, k), encoding="utf-8")
        words = ["publish", str(table.path), "-p", str(policy), "--method", tool.method, *tool.settings]
        return [*INCROWD, *words, "-o", str(work / "release")], work / "release" / "data.csv"
    if tool.tool == "arx":
        words = ["-cp", str(jar()), str(PROGRAMS / "Arx.java"), *given, str(table.hierarchies), tool.method]
        return ["java", *words, *table.columns], output
    python = str(python_of(tool.tool))
    if tool.tool == "anonypy":
        words = [str(PROGRAMS / "anonypy_mondrian.py"), *given, ",".join(table.numbers)]
    else:
        words = [str(PROGRAMS / "anjana_levels.py"), *given, str(table.hierarchies)]
    return [python, *words, *table.columns], output


def policy_text(tool: Tool, table: Table, k: int) -> str:
    """What we are asked for: the same roles as the others, and as many records suppressed."""
    lines = [f'sensitive = ["{table.sensitive}"]', "[privacy]", f"k = {k}", "[quasi_identifiers]"]
    for column in table.columns:
        kind = "numeric" if column in table.numbers else "categorical"
        tree = f'hierarchy = "{table.hierarchies / column}.csv"'
        lines.append(f'"{column}" = {{{tree if tool.trees else f"type = {chr(34)}{kind}{chr(34)}"}}}')
    return "\n".join(lines) + "\n"


def k_by_pycanon(output: Path, columns: Sequence[str]) -> int:
    """What another tool counts."""
    words = [str(PROGRAMS / "pycanon_k.py"), str(output), *columns]
    done = subprocess.run([python_of("anjana"), *words], check=True, capture_output=True, text=True)
    return int(done.stdout)
