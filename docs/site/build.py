"""The site: pages of docs/ with the generated reference, built by Sphinx; every warning is an error.

    ./run docs              build it into build/site; pictures are drawn and notebooks run beside it, and must give what is shown
    ./run docs --write      first write anew what is made by programs: pictures, outputs of notebooks
    ./run docs --no-run     leave pictures and notebooks as they are, for whoever only writes text

Pages stay plain Markdown, so that any Git host shows them. Here they are staged into build/site-source: links are
made to fit, `parts.toml` becomes the table of contents, and pages of the reference are made from the program.
The finished site must have no dead link.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS, ROOT = HERE.parent, HERE.parents[1]
STAGE, SITE = ROOT / "build" / "site-source", ROOT / "build" / "site"
FROM_THE_ROOT = ("SECURITY.md", "CHANGELOG.md")  # pages of the site that lie beside docs/
COPIED = (".svg", ".webp", ".png", ".json", ".ipynb")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Part:
    """A part of the site: its title, and its pages by the names that they have under docs/."""

    title: str
    pages: tuple[str, ...]


def parts() -> list[Part]:
    found = tomllib.loads((HERE / "parts.toml").read_text(encoding="utf-8"))["part"]
    return [Part(part["title"], tuple(part["pages"])) for part in found]


def staged_name(source: Path) -> Path:
    """Where a page stands in the site: the page of a folder is its index."""
    place = source.relative_to(DOCS if DOCS in source.parents else ROOT)
    return place.with_name("index.md") if place.name == "README.md" else place


def sources() -> dict[Path, Path]:
    """Every page and file of the site, and where it is staged."""
    pages = [path for path in DOCS.rglob("*.md") if HERE not in path.parents]
    files = [path for ending in COPIED for path in DOCS.rglob(f"*{ending}") if HERE not in path.parents]
    return {path: staged_name(path) for path in [*pages, *files, *(ROOT / name for name in FROM_THE_ROOT)]}


def relinked(text: str, page: Path, places: dict[Path, Path]) -> str:
    """A page with its links made to fit the site; what the site does not have is named, not linked."""

    def mended(found: re.Match[str]) -> str:
        picture, words, link = found.groups()
        path, _, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", link):
            return found[0]
        target = (page.parent / path).resolve()
        target = target / "README.md" if target.is_dir() else target
        place = STAGE / "index.md" if target == ROOT / "README.md" else places.get(target)
        if place is None:
            return words
        there = os.path.relpath(STAGE / place, (STAGE / places[page]).parent)
        return f"{picture}[{words}]({there}{'#' + anchor if anchor and place.suffix == '.md' else ''})"

    pieces = _FENCED.split(text)
    return "".join(piece if i % 2 else _LINK.sub(mended, piece) for i, piece in enumerate(pieces))


def toctree(pages: Iterable[str], caption: str = "") -> str:
    lines = ["```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), *pages, "```"]
    return "\n".join(lines) + "\n"


def contents() -> str:
    """The table of contents beside every page, one caption for each part."""
    named = {part: [re.sub(r"/README$", "/index", page) for page in part.pages] for part in parts()}
    return "\n".join(toctree(pages, part.title) for part, pages in named.items())


@dataclass
class Stage:
    """The pages as Sphinx reads them. What did not change keeps its time, so that a second build is quick."""

    kept: set[Path] = field(default_factory=set)

    def write(self, place: Path | str, text: str) -> None:
        self.copy(place, text.encode())

    def copy(self, place: Path | str, content: bytes) -> None:
        path = STAGE / place
        self.kept.add(path)
        if path.exists() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def clean(self) -> None:
        """Remove what an earlier build staged and this one did not."""
        for path in STAGE.rglob("*"):
            if path.is_file() and path not in self.kept:
                path.unlink()


def staged() -> None:
    """Stage all pages: those that are written, and those that are made."""
    import notebooks
    import reference_pages

    stage, places = Stage(), sources()
    for source, place in places.items():
        if source.suffix != ".md":
            stage.copy(place, source.read_bytes())
            continue
        text = relinked(source.read_text(encoding="utf-8"), source, places)
        if place == Path("index.md"):
            text += "\n" + contents()
        elif place.name == "index.md":
            beside = sorted(other.stem for other in places.values() if other.parent == place.parent)
            text += "\n" + toctree(in_order(text, beside))
        stage.write(place, text)
    for source in sorted(DOCS.rglob("*.ipynb")):
        stage.write(staged_name(source).with_suffix(".md"), notebooks.page(source))
    for name, text in reference_pages.pages().items():
        stage.write(Path("reference") / f"{name}.md", text)
    stage.clean()


def in_order(text: str, names: list[str]) -> Iterator[str]:
    """Pages of a folder in the order in which its own page names them; all of them must be named."""
    linked = [Path(link.partition("#")[0]).stem for _, _, link in _LINK.findall(text)]
    order = {name: linked.index(name) for name in names if name in linked}
    yield from sorted(order, key=lambda name: order[name])


def built() -> None:
    """Stage the pages, and let Sphinx build them; whatever is wrong ends the program."""
    from dead_links import dead_links
    from sphinx.cmd.build import build_main

    staged()
    kept = ROOT / "build" / "site-doctrees"
    arguments = ["-q", "-W", "--keep-going", "-c", str(HERE), "-d", str(kept), str(STAGE), str(SITE)]
    if failed := build_main(arguments):
        sys.exit(failed)
    if dead := dead_links(SITE):
        sys.exit("links that lead nowhere:\n" + "\n".join(dead))


def written() -> None:
    """Write anew what is made by programs."""
    import notebooks
    import pictures

    pictures.write()
    notebooks.write()


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    asked.add_argument("--write", action="store_true", help="write pictures and outputs of notebooks anew")
    asked.add_argument("--no-run", dest="run", action="store_false", help="neither draw nor run notebooks")
    options = asked.parse_args()
    if options.write:
        written()
    if options.write or not options.run:
        built()
    else:
        with subprocess.Popen([sys.executable, str(HERE / "checked.py")]) as beside:
            try:
                built()
            except BaseException:
                beside.terminate()
                raise
        if beside.returncode:
            sys.exit(1)
    sys.stdout.write(f"The site is in {SITE.relative_to(ROOT)}: open {SITE.relative_to(ROOT)}/index.html\n")


if __name__ == "__main__":
    main()
