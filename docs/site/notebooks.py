"""Notebooks of the tutorials: run in a kernel of their own, held against the outputs they are stored with, shown as pages.

A cell with the tag `varies` draws something by chance: it must run, and its output may differ.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat

HERE = Path(__file__).resolve().parents[1] / "tutorials"
SECONDS = 120  # that a cell may take
Notebook = Any


def found() -> list[Path]:
    return sorted(HERE.glob("*.ipynb"))


def read(path: Path) -> Notebook:
    return nbformat.read(path, as_version=4)


def ran(path: Path) -> Notebook:
    """A notebook with the outputs of a fresh kernel, in an empty folder; a cell that fails raises."""
    from nbclient import NotebookClient

    notebook = read(path)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="incrowd-notebook-") as home:
        client = NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": home}}
        )
        manager = client.create_kernel_manager()
        manager.transport, manager.ip = "ipc", str(Path(home) / "kernel")  # sockets of this user, and no port
        client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the run
    return notebook


def texts(cell: Any) -> list[str]:
    """What a cell printed and showed, as texts; in how many pieces it was printed is chance."""
    shown: list[str] = []
    printing = ""
    for output in cell.get("outputs", ()):
        stream = output.get("name", "") if output.get("output_type") == "stream" else ""
        if stream and stream == printing:
            shown[-1] += output["text"]
            continue
        said, printing = output.get("text") or output.get("data", {}), stream
        shown += [said] if isinstance(said, str) else [str(said[kind]) for kind in sorted(said)]
    return shown


def changed(stored: Notebook, fresh: Notebook) -> list[int]:
    """Numbers of the cells whose outputs differ, but for those that vary."""
    pairs = enumerate(zip(stored.cells, fresh.cells, strict=True), 1)
    return [
        number
        for number, (old, new) in pairs
        if "varies" not in old.metadata.get("tags", ()) and texts(old) != texts(new)
    ]


def write() -> None:
    for path in found():
        nbformat.write(ran(path), path)


def stale() -> list[str]:
    """Notebooks that do not give what they are stored with, and in which cells."""
    cells = {path.name: changed(read(path), ran(path)) for path in found()}
    return [f"{name}, cells {', '.join(map(str, numbers))}" for name, numbers in cells.items() if numbers]


def page(path: Path) -> str:
    """A notebook as a page: its text, its code, and what the code gave, as it is stored."""
    notebook = read(path)
    file = f"\n[This notebook as a file]({path.name}).\n"
    pieces = [piece for cell in notebook.cells for piece in _shown(cell)]
    return "\n".join([pieces[0], file, *pieces[1:]])


def _shown(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield str(cell.source) + "\n"
        return
    yield f"```python\n{cell.source}\n```\n"
    for output in cell.outputs:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            yield f"<div class='output'>\n{_one_piece(data['image/svg+xml'])}\n</div>\n"
        elif "text/html" in data:
            yield f"<div class='output'>\n{_one_piece(data['text/html'])}\n</div>\n"
        else:
            yield f"```text\n{(output.get('text') or data.get('text/plain', '')).rstrip()}\n```\n"


def _one_piece(html: str) -> str:
    """HTML without empty lines, at which Markdown would end it."""
    return re.sub(r"\n\s*", "\n", html.strip())
