"""The table of modules in docs/architecture.md, made from the modules' own docstrings.

``python tests/support/module_table.py`` writes it anew.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "src" / "incrowd"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- modules: made from docstrings -->\n", "<!-- end of modules -->"


def about(path: Path) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).rstrip(".").replace("|", "\\|")


def rows() -> list[tuple[str, str, str]]:
    """Each module of the root and each package: its place, what it is for, the files inside."""
    alone = sorted(path for path in HOME.glob("*.py") if path.name != "__init__.py")
    found = [(f"`{path.name}`", about(path), "") for path in alone]
    for path in sorted(HOME.rglob("__init__.py")):
        if path.parent != HOME:
            files = sorted(each.stem for each in path.parent.glob("*.py") if each.stem != "__init__")
            found.append((f"`{path.parent.relative_to(HOME)}/`", about(path), ", ".join(files)))
    return found


def table() -> str:
    lines = ["| where | what it is for | files |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows())]) + "\n"


def shown() -> str:
    """The table as the page has it."""
    page = PAGE.read_text(encoding="utf-8")
    return page[page.index(BEGIN) + len(BEGIN) : page.index(END)]


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    new = re.sub(
        re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + table() + END, page, flags=re.DOTALL
    )
    PAGE.write_text(new, encoding="utf-8")
